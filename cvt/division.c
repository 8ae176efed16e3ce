#include "cvt/division.h"

#include "base/primitives.h"
#include "base/select.h"
#include "lbfgsb/lbfgsb_ranks.h"

#include <stdlib.h>

enum { MOMENTS = sizeof(cvtm_cell_moments) / sizeof(double) };

_Static_assert(MOMENTS * sizeof(double) == sizeof(cvtm_cell_moments), "moments are doubles alone");

enum { ARRAYS = 3 };

static void list_own_arrays(cvtm_division *v, cvtm_array arrays[ARRAYS]) {
  const int64_t own = v->parts ? v->parts->own : 0;
  arrays[0] = (cvtm_array)CVTM_ARRAY(v->sites, 2 * own);
  arrays[1] = (cvtm_array)CVTM_ARRAY(v->best, 2 * own);
  arrays[2] = (cvtm_array)CVTM_ARRAY(v->scale, 2 * own);
}

cvtm_status cvtm_division_create(cvtm_cvt *cvt) {
  cvtm_division *v = calloc(1, sizeof *v);
  if (!v) return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "out of memory");
  v->table = CVTM_TABLE(cvt->device, cvtm_division);
  cvt->division = v;
  return cvtm_device_allocate(cvt->device, cvt->capacity, CVTM_TYPED(v->order));
}

static void forget_parts(cvtm_cvt *cvt) {
  cvtm_array arrays[ARRAYS];
  list_own_arrays(cvt->division, arrays);
  cvtm_device_free_all(cvt->device, arrays, ARRAYS);
  cvtm_parts_destroy(cvt->division->parts);
  cvt->division->parts = NULL;
}

void cvtm_division_destroy(cvtm_cvt *cvt) {
  if (!cvt->division) return;
  forget_parts(cvt);
  cvtm_device_free(cvt->device, cvt->division->order);
  free(cvt->division);
  cvt->division = NULL;
}

cvtm_status cvtm_division_reserve(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  cvtm_division *v = cvt->division;
  cvtm_array arrays[ARRAYS];
  if (!v) return CVTM_OK;
  if (v->parts && v->parts->count == task->count && v->parts->density == cvt->density.value)
    return CVTM_OK;
  forget_parts(cvt);
  cvtm_status status = cvtm_parts_create(cvt->device, cvt->domain, cvt->density.value, &v->parts);
  if (status == CVTM_OK)
    status = cvtm_parts_divide(v->parts, task->count, cvtm_lbfgsb_block(2 * task->count) / 2);
  list_own_arrays(v, arrays);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(cvt->device, arrays, ARRAYS);
  if (status != CVTM_OK) forget_parts(cvt);
  return status;
}

/* The order of the site tree, with the fixed sites first. */
static cvtm_status set_order(const cvtm_cvt_task *task) {
  cvtm_device *device = task->cvt->device;
  const cvtm_division *v = task->cvt->division;
  const int32_t *index = cvtm_site_tree_get_view(task->cvt->tree).index;
  const int64_t n = task->count;
  size_t bytes = 0;
  void *memory = NULL;
  if (task->fixed == 0)
    return cvtm_device_copy(device, v->order, index, (size_t)n * sizeof *v->order);
  cvtm_status status = cvtm_scan_workspace(device, n, &bytes);
  const size_t of_workspace = (bytes + 7) / 8 * 8, of_sums = (size_t)(n + 1) * sizeof(int64_t);
  if (status == CVTM_OK)
    status =
        cvtm_device_scratch(device, of_workspace + of_sums + (size_t)n * sizeof(int32_t), &memory);
  if (status != CVTM_OK) return status;
  int64_t *before = (int64_t *)(void *)((char *)memory + of_workspace);
  int32_t *flags = (int32_t *)(void *)(before + n + 1);
  status = v->table->flag_fixed(device, index, n, task->fixed, flags);
  if (status == CVTM_OK) status = cvtm_scan_64(device, flags, n, before, memory, bytes);
  return status == CVTM_OK
             ? v->table->put_fixed_first(device, index, before, n, task->fixed, v->order)
             : status;
}

cvtm_status cvtm_division_begin(const cvtm_cvt_task *task, const double *sites) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_division *v = cvt->division;
  if (!v) return CVTM_OK;
  cvtm_status status = cvtm_division_reserve(task);
  if (status == CVTM_OK) status = cvtm_site_tree_sort(cvt->tree, sites, task->count);
  if (status == CVTM_OK) status = set_order(task);
  if (status != CVTM_OK) return status;
  v->parts->tree_clipping = cvt->tree_clipping;
  return v->table->collect(cvt->device, sites, v->order + v->parts->first, v->parts->own, 2,
                           v->sites);
}

enum { SLAB = 1 << 20 /* items of each rank that are exchanged at once */ };

/* Memory for a slab of every rank. */
typedef struct slabs {
  double *all;
  double *staging; /* the same on the host, where the GPUs do not exchange it; else NULL */
  int64_t *counts; /* numbers of each rank */
} slabs;

static cvtm_status create_slabs(const cvtm_cvt *cvt, int width, slabs *s) {
  const cvtm_ranks *ranks = cvtm_device_ranks(cvt->device);
  const cvtm_parts *p = cvt->division->parts;
  const int64_t most = p->count < p->size * SLAB ? p->count : p->size * SLAB;
  const size_t bytes = (size_t)(width * most) * sizeof(double);
  const int through_host =
      p->size > 1 && !ranks->nccl && cvtm_device_get_kind(cvt->device) == CVTM_DEVICE_CUDA;
  s->staging = through_host ? malloc(bytes) : NULL;
  s->counts = malloc((size_t)p->size * sizeof *s->counts);
  if (!s->counts || (through_host && !s->staging))
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "out of memory");
  return cvtm_device_scratch(cvt->device, bytes, (void **)&s->all);
}

/* Items from .. from + SLAB - 1 of each rank, as far as it has them. */
static cvtm_status share_slab(const cvtm_cvt *cvt, const double *own, int width, int64_t from,
                              const slabs *s, double *to) {
  const cvtm_division *v = cvt->division;
  const cvtm_parts *p = v->parts;
  int64_t before = 0;
  cvtm_status status = CVTM_OK;
  for (int r = 0; r < p->size; ++r) {
    const int64_t left = cvtm_parts_first(p, r + 1) - cvtm_parts_first(p, r) - from;
    s->counts[r] = width * (left < 0 ? 0 : left < SLAB ? left : SLAB);
    if (r == p->rank && left > 0)
      status = cvtm_device_copy(cvt->device, s->all + before, own + width * from,
                                (size_t)s->counts[r] * sizeof *own);
    before += s->counts[r];
  }
  if (status == CVTM_OK)
    status = cvtm_ranks_gather_on_device(cvt->device, s->all, s->counts, s->staging);
  before = 0;
  for (int r = 0; status == CVTM_OK && r < p->size; before += s->counts[r++])
    if (s->counts[r] > 0)
      status =
          v->table->spread(cvt->device, s->all + before, v->order + cvtm_parts_first(p, r) + from,
                           s->counts[r] / width, width, to);
  return status;
}

/* Items of `width` numbers, of which this rank has its own, come in the caller's order to `to`. */
static cvtm_status share_items(const cvtm_cvt *cvt, const double *own, int width, double *to) {
  const cvtm_parts *p = cvt->division->parts;
  slabs s = {NULL, NULL, NULL};
  int64_t most = 0;
  for (int r = 0; r < p->size; ++r) {
    const int64_t items = cvtm_parts_first(p, r + 1) - cvtm_parts_first(p, r);
    most = items > most ? items : most;
  }
  cvtm_status status = create_slabs(cvt, width, &s);
  for (int64_t from = 0; status == CVTM_OK && from < most; from += SLAB)
    status = share_slab(cvt, own, width, from, &s, to);
  free(s.counts);
  free(s.staging);
  return status;
}

cvtm_status cvtm_division_share_moments(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  if (!cvt->division) return CVTM_OK;
  return share_items(cvt, (const double *)(const void *)cvtm_parts_moments(cvt->division->parts),
                     MOMENTS, (double *)(void *)cvt->moments);
}

cvtm_status cvtm_division_end(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  if (!cvt->division) return CVTM_OK;
  const cvtm_status status = share_items(cvt, cvt->division->sites, 2, cvt->sites);
  return status == CVTM_OK ? cvtm_division_share_moments(task) : status;
}

cvtm_status cvtm_division_evaluate(const cvtm_cvt_task *task, const double *sites, double *value,
                                   double *gradient) {
  const cvtm_division *v = task->cvt->division;
  if (!v) return cvtm_cvt_enqueue(task, sites, value, gradient);
  const cvtm_status status = cvtm_parts_evaluate(v->parts, sites);
  if (status != CVTM_OK) return status;
  return gradient ? cvtm_parts_finish(v->parts, task->fixed, value, gradient)
                  : cvtm_parts_total(v->parts, task->fixed, value, NULL);
}

cvtm_own_sites cvtm_division_own(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  const cvtm_division *v = cvt->division;
  if (!v) return (cvtm_own_sites){0, task->count, task->fixed, cvt->sites, cvt->best, cvt->scale};
  const int64_t first = v->parts->first, own = v->parts->own, fixed = task->fixed - first;
  return (cvtm_own_sites){first,    own,     fixed < 0 ? 0 : fixed < own ? fixed : own,
                          v->sites, v->best, v->scale};
}

cvtm_cell_moments *cvtm_division_moments(const cvtm_cvt *cvt) {
  return cvt->division ? cvtm_parts_moments(cvt->division->parts) : cvt->moments;
}
