/* Saves a run as bytes, and restores it. */
#include "lbfgsb/lbfgsb_private.h"
#include "lbfgsb/stopping.h"

#include <string.h>

/* The bytes before the saved arrays. */
typedef struct saved_header {
  char magic[8];
  int32_t version, byte_order;
  int32_t device_kind, history, bounded, exact;
  int64_t problems, n;
  uint64_t state_bytes;
} saved_header;

enum {
  SAVED_VERSION = 5,
  SAVED_ARRAYS = 11,
  COMMON_ARRAYS = 4 /* complete on every rank */
};

_Static_assert(1 + (int)SAVED_ARRAYS - (int)COMMON_ARRAYS == (int)CVTM_LBFGSB_PIECES,
               "a piece for each divided array");

static saved_header make_header(const cvtm_lbfgsb *solver) {
  saved_header header = {.magic = "cvtmlbb",
                         .version = SAVED_VERSION,
                         .byte_order = 0x01020304,
                         .device_kind = (int32_t)cvtm_device_get_kind(solver->device),
                         .history = solver->options.history,
                         .bounded = solver->finite_bounds > 0,
                         .exact = solver->options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT,
                         .problems = solver->problems,
                         .n = solver->everywhere,
                         .state_bytes = sizeof(cvtm_lbfgsb_state)};
  return header;
}

/* An array in device memory that belongs to a saved run. If it is divided among ranks, this rank
 * has `bytes` of its `all` bytes, beginning at `first`. */
typedef struct saved_array {
  void *memory;
  size_t bytes, first, all;
} saved_array;

/* An array of n elements of `size` bytes; this rank has `count` elements, from `first` on. */
static saved_array divide_array(void *memory, int64_t first, int64_t count, int64_t n,
                                size_t size) {
  return (saved_array){memory, (size_t)count * size, (size_t)first * size, (size_t)n * size};
}

/* Lists the arrays, first those that every rank has completely. */
static void list_saved(const cvtm_lbfgsb *solver, saved_array *list) {
  const cvtm_lbfgsb_arrays *a = &solver->arrays;
  const int64_t problems = solver->problems, figures = problems * a->entries;
  const cvtm_lbfgsb_share all_rows = {0, solver->total, solver->total};
  const cvtm_lbfgsb_share *share = a->divided ? cvtm_divided_share(a->divided) : &all_rows;
  const int64_t first = share->first, count = share->count, n = share->total;
  const int64_t values = (int64_t)(cvtm_lbfgsb_values_bytes(solver) / (2 * sizeof(double)));
  const int64_t blocks = a->divided ? (n + a->block - 1) / a->block : values;
  const size_t number = sizeof(double), w = cvtm_lbfgsb_w_bytes(solver);
  const int m = solver->options.history;
  const saved_array columns = {a->w, w, (size_t)cvtm_lbfgsb_w_count(first, m) * number,
                               a->divided ? (size_t)cvtm_lbfgsb_w_count(n, m) * number : w};
  const saved_array all[SAVED_ARRAYS] = {
      divide_array(a->state, 0, problems, problems, sizeof *a->state),
      divide_array(a->model, 0, problems, problems, solver->model_bytes),
      divide_array(a->sums, 0, figures, figures, number),
      divide_array(a->reduced, 0, figures, figures, number),
      divide_array(a->values, a->divided ? (first + a->block - 1) / a->block : 0, values, blocks,
                   2 * number),
      divide_array(a->x, first, count, n, number),
      divide_array(a->g, first, count, n, number),
      divide_array(a->trial_x, first, count, n, number),
      divide_array(a->trial_g, first, count, n, number),
      divide_array(a->d, first, count, n, number),
      columns};
  memcpy(list, all, sizeof all);
}

int64_t cvtm_lbfgsb_save_pieces(const cvtm_lbfgsb *solver, cvtm_lbfgsb_piece *pieces) {
  saved_array list[SAVED_ARRAYS];
  size_t at = sizeof(saved_header);
  list_saved(solver, list);
  for (int i = 0; i < COMMON_ARRAYS; ++i) at += list[i].bytes;
  pieces[0] = (cvtm_lbfgsb_piece){0, at};
  for (int i = COMMON_ARRAYS; i < SAVED_ARRAYS; at += list[i++].all)
    pieces[1 + i - COMMON_ARRAYS] =
        (cvtm_lbfgsb_piece){(int64_t)(at + list[i].first), list[i].bytes};
  return (int64_t)at;
}

size_t cvtm_lbfgsb_save_bytes(const cvtm_lbfgsb *solver) {
  saved_array list[SAVED_ARRAYS];
  size_t bytes = sizeof(saved_header);
  list_saved(solver, list);
  for (int i = 0; i < SAVED_ARRAYS; ++i) bytes += list[i].bytes;
  return bytes;
}

cvtm_status cvtm_lbfgsb_save(cvtm_lbfgsb *solver, void *bytes) {
  const saved_header header = make_header(solver);
  saved_array list[SAVED_ARRAYS];
  char *to = (char *)bytes + sizeof header;
  if (solver->states->history == 0) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "there is no run to save");
  }
  memcpy(bytes, &header, sizeof header);
  list_saved(solver, list);
  for (int i = 0; i < SAVED_ARRAYS; ++i) {
    CVTM_TRY(cvtm_device_copy_out(solver->device, to, list[i].memory, list[i].bytes));
    to += list[i].bytes;
  }
  return CVTM_OK;
}

static cvtm_status check_header(const cvtm_lbfgsb *solver, const void *bytes, size_t count) {
  cvtm_error *error = cvtm_device_error(solver->device);
  const saved_header wanted = make_header(solver);
  saved_header found;
  if (count < sizeof found)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the saved run of %zu bytes is too short", count);
  memcpy(&found, bytes, sizeof found);
  if (memcmp(found.magic, wanted.magic, sizeof found.magic) != 0 ||
      found.byte_order != wanted.byte_order || found.state_bytes != wanted.state_bytes ||
      found.version != wanted.version)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the bytes are not a run saved by this version");
  if (found.n != wanted.n || found.problems != wanted.problems || found.history != wanted.history) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the saved run has %lld problems of %lld variables, history %d; "
                     "this solver has %lld of %lld, history %d",
                     (long long)found.problems, (long long)found.n, found.history,
                     (long long)wanted.problems, (long long)wanted.n, wanted.history);
  }
  if (found.device_kind != wanted.device_kind || found.bounded != wanted.bounded ||
      found.exact != wanted.exact) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the saved run had another kind of device, bounds or Cauchy point");
  }
  if (count != cvtm_lbfgsb_save_bytes(solver)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the saved run has %zu bytes, not %zu", count,
                     cvtm_lbfgsb_save_bytes(solver));
  }
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_restore(cvtm_lbfgsb *solver, const void *bytes, size_t count,
                                cvtm_lbfgsb_evaluation *at) {
  cvtm_status status = check_header(solver, bytes, count);
  if (status != CVTM_OK) return status;
  saved_array list[SAVED_ARRAYS];
  const char *from = (const char *)bytes + sizeof(saved_header);
  list_saved(solver, list);
  for (int i = 0; status == CVTM_OK && i < SAVED_ARRAYS; ++i) {
    status = cvtm_device_copy_in(solver->device, list[i].memory, from, list[i].bytes);
    from += list[i].bytes;
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_read_states(solver);
  for (int64_t p = 0; status == CVTM_OK && p < solver->problems; ++p) {
    if (!cvtm_lbfgsb_state_is_valid(solver->states + p, solver->options.history,
                                    solver->everywhere)) {
      status = cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_INPUT,
                         "the saved run is damaged");
    } else {
      cvtm_lbfgsb_apply_options(solver, solver->states + p);
    }
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_write_states(solver);
  if (status == CVTM_OK)
    status = cvtm_lbfgsb_clear_signals(solver, cvtm_lbfgsb_count_running(solver));
  if (status != CVTM_OK) {
    cvtm_lbfgsb_forget_run(solver);
    return status;
  }
  cvtm_lbfgsb_start_reverse_run(solver, at);
  return CVTM_OK;
}
