/* Transfers of sites from cells of little energy to cells of much. In an optimal tessellation all
 * cells have nearly the same energy (Gersho 1979), and one site more or less changes the total by
 * about that much. */
#include "base/primitives.h"
#include "cvt/solve.h"

#include <math.h>
#include <string.h>

enum { TRANSFER_ARRAYS = 7 };

static void list_transfers(cvtm_solve *s, cvtm_array arrays[TRANSFER_ARRAYS]) {
  const cvtm_array list[TRANSFER_ARRAYS] = {
      CVTM_ARRAY(s->kept, 2 * s->count),
      CVTM_ARRAY(s->keys, s->count),
      CVTM_ARRAY(s->keys_alt, s->count),
      CVTM_ARRAY(s->order, s->count),
      CVTM_ARRAY(s->order_alt, s->count),
      CVTM_ARRAY(s->moved, 1),
      {&s->workspace, (int64_t)s->workspace_bytes, 1},
  };
  memcpy(arrays, list, sizeof list);
}

cvtm_status cvtm_solve_allocate_transfers(cvtm_solve *s) {
  cvtm_device *device = s->cvt->device;
  cvtm_status status = cvtm_sort_workspace(device, s->count, &s->workspace_bytes);
  cvtm_array arrays[TRANSFER_ARRAYS];
  list_transfers(s, arrays);
  return status == CVTM_OK ? cvtm_device_allocate_all(device, arrays, TRANSFER_ARRAYS) : status;
}

void cvtm_solve_free_transfers(cvtm_solve *s) {
  cvtm_array arrays[TRANSFER_ARRAYS];
  list_transfers(s, arrays);
  cvtm_device_free_all(s->cvt->device, arrays, TRANSFER_ARRAYS);
}

static cvtm_status transfer_sites(cvtm_solve *s, int64_t most, double contrast,
                                  int64_t *transfers) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_transfer transfer = {.domain = cvt->domain,
                                      .sites = cvt->sites,
                                      .moments = cvt->moments,
                                      .order = s->order,
                                      .movable = s->count - s->options->fixed,
                                      .most = most,
                                      .contrast = contrast,
                                      .seed = s->options->seed,
                                      .draw = s->draws};
  *transfers = 0;
  if (transfer.movable < 2) return CVTM_OK;
  cvtm_status status = cvt->updates->energy_keys(cvt->device, cvt->moments, s->options->fixed,
                                                 transfer.movable, s->keys, s->order);
  if (status == CVTM_OK)
    status = cvtm_sort_pairs(cvt->device, s->keys, s->order, s->keys_alt, s->order_alt,
                             transfer.movable, 64, s->workspace, s->workspace_bytes);
  if (status == CVTM_OK) status = cvtm_device_fill(cvt->device, s->moved, 0, sizeof *s->moved);
  if (status == CVTM_OK) status = cvt->updates->transfer(cvt->device, &transfer, s->moved);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, transfers, s->moved, sizeof *transfers);
  return status;
}

cvtm_status cvtm_solve_transfer(cvtm_solve *s, int64_t most, double contrast, int64_t *transfers) {
  cvtm_status status = CVTM_OK;
  ++s->draws;
  if (!cvtm_checkpoint_replays(s->checkpoint))
    status = transfer_sites(s, most, contrast, transfers);
  if (status == CVTM_OK) status = cvtm_checkpoint_note(s->checkpoint, transfers);
  if (status == CVTM_OK && (*transfers < 0 || *transfers > s->count))
    status =
        cvtm_fail(cvtm_device_error(s->cvt->device), CVTM_ERROR_INPUT, "the checkpoint is damaged");
  return status;
}

static cvtm_status copy_sites(const cvtm_solve *s, double *to, const double *from) {
  return cvtm_device_copy(s->cvt->device, to, from, 2 * (size_t)s->count * sizeof *to);
}

cvtm_status cvtm_solve_keep(cvtm_solve *s, const cvtm_cvt_result *found) {
  s->result.objective = found->objective;
  s->result.gradient_norm = found->gradient_norm;
  if (!s->kept) return CVTM_OK;
  const cvtm_array kept = CVTM_ARRAY(s->kept, 2 * s->count);
  cvtm_checkpoint_keep_device(s->checkpoint, &kept);
  return cvtm_checkpoint_replays(s->checkpoint) ? CVTM_OK : copy_sites(s, s->kept, s->cvt->sites);
}

cvtm_status cvtm_solve_restore(cvtm_solve *s) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  ++s->result.evaluations;
  if (cvtm_checkpoint_replays(s->checkpoint)) return CVTM_OK;
  const cvtm_status status = copy_sites(s, s->cvt->sites, s->kept);
  return status == CVTM_OK ? cvtm_cvt_enqueue(&task, s->cvt->sites, s->cvt->value, NULL) : status;
}

/* A transfer after which the descent does not end lower is undone, and the next one is half as
 * large. */
cvtm_status cvtm_solve_search(cvtm_solve *s, const cvtm_search *search) {
  int64_t most = s->count / 50 + 1;
  cvtm_cvt_options options = *s->options;
  options.max_iterations = search->iterations;
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)s->options;
  for (int round = 0; round < search->rounds && most > 0; ++round) {
    /* A request to stop sets s->deadline to 0. */
    if (cvtm_solve_is_late(s, fmin(search->deadline, s->deadline))) break;
    cvtm_cvt_result found;
    int64_t transfers = 0;
    cvtm_status status = cvtm_solve_transfer(s, most, contrast_of_search, &transfers);
    if (status != CVTM_OK || transfers == 0) return status;
    status = cvtm_solve_descend(s, &options, search->deadline, &found);
    if (status != CVTM_OK) return status;
    if (found.objective < s->result.objective) {
      ++s->result.rounds;
      s->result.transfers += transfers;
      status = cvtm_solve_keep(s, &found);
    } else {
      most = transfers / 2;
      status = cvtm_solve_restore(s);
    }
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}
