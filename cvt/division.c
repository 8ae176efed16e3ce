#include "cvt/division.h"

#include "base/primitives.h"
#include "base/select.h"
#include "lbfgsb/lbfgsb_ranks.h"

#include <stdlib.h>
#include <string.h>

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

/* Divides the task's sites; their order and positions follow. */
static cvtm_status reserve(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  cvtm_division *v = cvt->division;
  cvtm_array arrays[ARRAYS];
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

static cvtm_status divide(const cvtm_cvt_task *task, const double *sites) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_division *v = cvt->division;
  cvtm_status status = reserve(task);
  if (status == CVTM_OK) status = cvtm_site_tree_sort(cvt->tree, sites, task->count);
  if (status == CVTM_OK) status = set_order(task);
  if (status != CVTM_OK) return status;
  v->parts->tree_clipping = cvt->tree_clipping;
  return v->table->collect(cvt->device, sites, v->order + v->parts->first, v->parts->own, 2,
                           v->sites);
}

static cvtm_status begin_divided(const cvtm_cvt_task *task, int restored) {
  return restored ? reserve(task) : divide(task, task->cvt->sites);
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

static cvtm_status share_moments(const cvtm_cvt *cvt) {
  return share_items(cvt, (const double *)(const void *)cvtm_parts_moments(cvt->division->parts),
                     MOMENTS, (double *)(void *)cvt->moments);
}

/* --- the evaluator ------------------------------------------------------------------------------
 */

static cvtm_status prepare_divided(const cvtm_cvt_task *task) {
  if (task->energy == CVTM_CVT_EXACT) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_UNSUPPORTED,
                   "ranks divide the exact energy alone");
}

static cvtm_status evaluate_own(const cvtm_cvt_task *task, const double *sites, double *value,
                                double *gradient) {
  cvtm_parts *parts = task->cvt->division->parts;
  const cvtm_status status = cvtm_parts_evaluate(parts, sites);
  if (status != CVTM_OK) return status;
  return gradient ? cvtm_parts_finish(parts, task->fixed, value, gradient)
                  : cvtm_parts_total(parts, task->fixed, value, NULL);
}

static cvtm_status evaluate_all(const cvtm_cvt_task *task, const double *sites, double *value,
                                double *gradient) {
  if (gradient)
    return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_UNSUPPORTED,
                     "ranks evaluate the gradient of their own sites alone");
  cvtm_status status = divide(task, sites);
  if (status == CVTM_OK) status = evaluate_own(task, task->cvt->division->sites, value, NULL);
  return status == CVTM_OK ? share_moments(task->cvt) : status;
}

static cvtm_own_sites get_own(const cvtm_cvt_task *task) {
  const cvtm_division *v = task->cvt->division;
  const int64_t first = v->parts->first, own = v->parts->own, fixed = task->fixed - first;
  return (cvtm_own_sites){first,    own,     fixed < 0 ? 0 : fixed < own ? fixed : own,
                          v->sites, v->best, v->scale};
}

static cvtm_cell_moments *get_moments(const cvtm_cvt *cvt) {
  return cvtm_parts_moments(cvt->division->parts);
}

static cvtm_status end_divided(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  const cvtm_status status = share_items(cvt, cvt->division->sites, 2, cvt->sites);
  return status == CVTM_OK ? share_moments(cvt) : status;
}

static cvtm_status create_solver(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options,
                                 cvtm_lbfgsb **solver) {
  const cvtm_parts *p = task->cvt->division->parts;
  const cvtm_lbfgsb_share share = {2 * p->first, 2 * p->own, 2 * p->count};
  return cvtm_lbfgsb_create_divided(task->cvt->device, &share, options, solver);
}

static cvtm_status agree(const cvtm_cvt *cvt, int64_t *decision) {
  return cvtm_ranks_agree(cvt->device, decision);
}

/* --- the state of a descent ---------------------------------------------------------------------
 *
 * The order of the sites, then arrays of all ranks, so that other numbers of ranks can restore
 * them: each is that of rank 0, then that of rank 1, and so on. */

static size_t array_bytes(const cvtm_cvt_task *task, int in_solver) {
  return (size_t)task->count * (sizeof(int32_t) + (in_solver ? 6U : 4U) * sizeof(double));
}

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

/* Memory on the host to gather arrays of numbers. */
typedef struct gathering {
  cvtm_device *device;
  unsigned char *to; /* where rank 0 puts the next numbers; NULL on the other ranks */
  double *slab;      /* SLAB numbers */
  double *start;     /* ranks + 1: where the numbers of each rank start in those of all */
  int64_t *counts;   /* ranks */
} gathering;

/* The numbers from `at` on, up to SLAB of them. */
static cvtm_status gather_slab(gathering *g, const double *own, int64_t at) {
  const cvtm_ranks *ranks = cvtm_device_ranks(g->device);
  const int64_t end = clamp(at + SLAB, 0, (int64_t)g->start[ranks->size]);
  for (int r = 0; r < ranks->size; ++r) {
    const int64_t first = (int64_t)g->start[r], from = clamp(first, at, end),
                  to = clamp((int64_t)g->start[r + 1], at, end);
    g->counts[r] = to - from;
    if (r == ranks->rank && to > from)
      memcpy(g->slab + (from - at), own + (from - first), (size_t)(to - from) * sizeof *own);
  }
  const cvtm_status status = cvtm_ranks_gather(g->device, g->slab, g->counts);
  if (status != CVTM_OK || !g->to) return status;
  memcpy(g->to, g->slab, (size_t)(end - at) * sizeof *own);
  g->to += (size_t)(end - at) * sizeof *own;
  return CVTM_OK;
}

/* `count` own numbers on the host, and those of the other ranks. */
static cvtm_status gather_numbers(gathering *g, const double *own, int64_t count) {
  const cvtm_ranks *ranks = cvtm_device_ranks(g->device);
  for (int r = 0; r < ranks->size; ++r) g->counts[r] = 1;
  g->start[0] = 0;
  g->start[ranks->rank + 1] = (double)count;
  cvtm_status status = cvtm_ranks_gather(g->device, g->start + 1, g->counts);
  for (int r = 0; r < ranks->size; ++r) g->start[r + 1] += g->start[r];
  for (int64_t at = 0; status == CVTM_OK && (double)at < g->start[ranks->size]; at += SLAB)
    status = gather_slab(g, own, at);
  return status;
}

/* The first piece of a solver's state is the same on every rank; each is a whole number of
 * doubles. */
static cvtm_status gather_solver(gathering *g, cvtm_lbfgsb *solver, unsigned char *own) {
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  cvtm_status status = cvtm_lbfgsb_save(solver, own);
  (void)cvtm_lbfgsb_save_pieces(solver, pieces);
  if (g->to) memcpy(g->to, own, pieces[0].bytes);
  if (g->to) g->to += pieces[0].bytes;
  own += pieces[0].bytes;
  for (int k = 1; status == CVTM_OK && k < CVTM_LBFGSB_PIECES; own += pieces[k++].bytes)
    status = gather_numbers(g, (const double *)(const void *)own,
                            (int64_t)(pieces[k].bytes / sizeof(double)));
  return status;
}

static cvtm_status gather_state(gathering *g, const cvtm_cvt_task *task, int in_solver,
                                void *scratch) {
  const cvtm_cvt *cvt = task->cvt;
  const cvtm_division *v = cvt->division;
  const double *const arrays[] = {v->sites, v->best, v->scale};
  const int64_t numbers = 2 * v->parts->own;
  const size_t of_order = (size_t)task->count * sizeof *v->order;
  cvtm_status status = CVTM_OK;
  if (g->to) {
    status = cvtm_device_copy_out(cvt->device, g->to, v->order, of_order);
    g->to += of_order;
  }
  for (int k = 0; status == CVTM_OK && k < (in_solver ? 3 : 2); ++k) {
    status =
        cvtm_device_copy_out(cvt->device, scratch, arrays[k], (size_t)numbers * sizeof(double));
    if (status == CVTM_OK) status = gather_numbers(g, scratch, numbers);
  }
  return status == CVTM_OK && in_solver ? gather_solver(g, cvt->solver, scratch) : status;
}

static cvtm_status save(const cvtm_cvt_task *task, int in_solver, unsigned char *to) {
  const cvtm_cvt *cvt = task->cvt;
  const size_t size = (size_t)cvt->division->parts->size,
               own = 2 * (size_t)cvt->division->parts->own * sizeof(double),
               of_solver = in_solver ? cvtm_lbfgsb_save_bytes(cvt->solver) : 0;
  void *scratch = malloc((own > of_solver ? own : of_solver) + 1);
  double *memory = malloc((SLAB + size + 1) * sizeof *memory);
  gathering g = {cvt->device, to, memory, memory + SLAB, malloc(size * sizeof *g.counts)};
  const cvtm_status status =
      scratch && memory && g.counts
          ? gather_state(&g, task, in_solver, scratch)
          : cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "out of memory");
  free(scratch);
  free(memory);
  free(g.counts);
  return status;
}

static cvtm_status restore(const cvtm_cvt_task *task, int in_solver, const unsigned char *from) {
  const cvtm_cvt *cvt = task->cvt;
  const cvtm_division *v = cvt->division;
  double *const arrays[] = {v->sites, v->best, v->scale};
  const size_t pair = 2 * sizeof(double), of_order = (size_t)task->count * sizeof *v->order;
  cvtm_status status = cvtm_device_copy_in(cvt->device, v->order, from, of_order);
  from += of_order + (size_t)v->parts->first * pair;
  for (int k = 0; status == CVTM_OK && k < (in_solver ? 3 : 2);
       ++k, from += (size_t)task->count * pair)
    status = cvtm_device_copy_in(cvt->device, arrays[k], from, (size_t)v->parts->own * pair);
  return status;
}

static cvtm_status restore_solver(const cvtm_cvt *cvt, const unsigned char *from) {
  cvtm_lbfgsb *solver = cvt->solver;
  const size_t bytes = cvtm_lbfgsb_save_bytes(solver);
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  unsigned char *own = malloc(bytes);
  if (!own) return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "out of memory");
  (void)cvtm_lbfgsb_save_pieces(solver, pieces);
  size_t before = 0;
  for (int k = 0; k < CVTM_LBFGSB_PIECES; before += pieces[k++].bytes)
    memcpy(own + before, from + pieces[k].at, pieces[k].bytes);
  const cvtm_status status = cvtm_lbfgsb_restore(solver, own, bytes, NULL);
  free(own);
  return status;
}

const cvtm_evaluator cvtm_evaluator_of_ranks = {.waits = 1,
                                                .prepare = prepare_divided,
                                                .evaluate_all = evaluate_all,
                                                .begin = begin_divided,
                                                .own = get_own,
                                                .evaluate = evaluate_own,
                                                .moments = get_moments,
                                                .end = end_divided,
                                                .create_solver = create_solver,
                                                .agree = agree,
                                                .array_bytes = array_bytes,
                                                .save = save,
                                                .restore = restore,
                                                .restore_solver = restore_solver};
