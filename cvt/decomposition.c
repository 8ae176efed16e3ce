#include "cvt/decomposition.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "base/select.h"
#include "lbfgsb/lbfgsb_ranks.h"

#include <stdlib.h>
#include <string.h>

/* --- subdomains ------------------------------------------------------------------------------- */

static cvtm_status no_memory_to_divide(const cvtm_subdomain *p) {
  return cvtm_fail(cvtm_device_error(p->device), CVTM_ERROR_MEMORY,
                   "no memory to divide %lld sites", (long long)p->count);
}

cvtm_status cvtm_subdomain_create(cvtm_device *device, cvtm_domain domain, const float *density,
                                  cvtm_subdomain **result) {
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  cvtm_subdomain *p = calloc(1, sizeof *p);
  if (!p) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  p->device = device;
  p->table = CVTM_TABLE(device, cvtm_subdomain);
  p->domain = domain;
  p->density = density;
  p->rank = ranks ? ranks->rank : 0;
  p->size = ranks ? ranks->size : 1;
  const size_t size = (size_t)p->size;
  p->first_block = cvtm_scratch_zeros(&p->memory, size + 1, sizeof *p->first_block);
  p->matrix = cvtm_scratch_take(&p->memory, size * size, sizeof *p->matrix);
  p->matrix_row = cvtm_scratch_take(&p->memory, size * size, sizeof *p->matrix_row);
  p->gathered = cvtm_scratch_take(&p->memory, size, sizeof *p->gathered);
  p->room = cvtm_scratch_zeros(&p->memory, 2 * size, sizeof *p->room);
  if (p->memory.failed) {
    const cvtm_status status = no_memory_to_divide(p);
    cvtm_subdomain_destroy(p);
    return status;
  }
  *result = p;
  return CVTM_OK;
}

static cvtm_arrays subdomain_arrays(cvtm_subdomain *p) {
  const int64_t pieces = p->pieces, lists = p->size * pieces;
  const int64_t partial =
      p->block > 0 && p->block < CVTM_SUBDOMAIN_PIECE ? (p->own + p->block - 1) / p->block : pieces;
  return (cvtm_arrays){{
      CVTM_ARRAY(p->marked, p->words),
      CVTM_ARRAY(p->kept, p->words),
      CVTM_ARRAY(p->covered, p->size * p->words),
      CVTM_ARRAY(p->missed, 1),
      CVTM_ARRAY(p->cover, 1),
      CVTM_ARRAY(p->counts, lists),
      CVTM_ARRAY(p->offsets, lists + 1),
      CVTM_ARRAY(p->partial, 2 * partial),
      CVTM_ARRAY(p->sums, 2 * p->blocks),
  }};
}

static void free_subdomain(cvtm_subdomain *p) {
  cvtm_device_free_arrays(p->device, subdomain_arrays(p));
  cvtm_device_free(p->device, p->sent);
  p->sent = NULL;
  if (p->room) memset(p->room, 0, 2 * (size_t)p->size * sizeof *p->room);
  free(p->staging);
  p->staging = NULL;
  cvtm_cvt_destroy(p->plan);
  p->plan = NULL;
}

void cvtm_subdomain_destroy(cvtm_subdomain *p) {
  if (!p) return;
  free_subdomain(p);
  cvtm_scratch_free(&p->memory);
  free(p);
}

static cvtm_status allocate_subdomain(cvtm_subdomain *p) {
  const int64_t bits = p->size * p->words / 2, sums = 2 * p->blocks;
  CVTM_TRY(cvtm_scan_reserve(p->device, p->size * p->pieces));
  CVTM_TRY(cvtm_device_allocate_arrays(p->device, subdomain_arrays(p)));
  CVTM_TRY(cvtm_device_fill(p->device, p->kept, 0, (size_t)p->words * sizeof *p->kept));
  if (cvtm_device_get_kind(p->device) == CVTM_DEVICE_CPU) return CVTM_OK;
  p->staging = malloc((size_t)(bits > sums ? bits : sums) * sizeof *p->staging);
  return p->staging ? CVTM_OK : no_memory_to_divide(p);
}

/* The first site of a rank; the number of all sites for rank `size`. */
static int64_t first_site(const cvtm_subdomain *p, int rank) {
  const int64_t first = p->first_block[rank] * p->block;
  return first < p->count ? first : p->count;
}

cvtm_status cvtm_subdomain_divide(cvtm_subdomain *p, int64_t count, int64_t block) {
  free_subdomain(p);
  p->count = count;
  p->block = block;
  p->blocks = (count + block - 1) / block;
  for (int r = 0; r <= p->size; ++r) p->first_block[r] = p->blocks * r / p->size;
  p->first = first_site(p, p->rank);
  p->own = first_site(p, p->rank + 1) - p->first;
  p->pieces = (p->own + CVTM_SUBDOMAIN_PIECE - 1) / CVTM_SUBDOMAIN_PIECE;
  const int64_t words = cvtm_tree_cover_words(cvtm_site_tree_levels(p->domain, count));
  p->words = words + words % 2; /* ranks exchange the words as 64-bit numbers */
  return allocate_subdomain(p);
}

/* Sets the bins that each rank covers, from its sites and the kept bins. */
static cvtm_status find_covers(cvtm_subdomain *p, const double *sites) {
  const cvtm_status status = p->table->cover(p, sites, p->covered + p->rank * p->words);
  for (int r = 0; r < p->size; ++r) p->gathered[r] = p->words / 2;
  return status == CVTM_OK ? cvtm_ranks_gather_on_device(p->device, (double *)(void *)p->covered,
                                                         p->gathered, p->staging)
                           : status;
}

/* Counts the sites that each rank sends to each other rank. */
static cvtm_status count_exchange(cvtm_subdomain *p, const double *sites) {
  double *row = p->matrix_row + (int64_t)p->rank * p->size;
  int64_t before = 0;
  cvtm_status status = p->table->count(p, sites);
  if (status == CVTM_OK)
    status = cvtm_scan_64(p->device, p->counts, p->size * p->pieces, p->offsets);
  for (int q = 0; status == CVTM_OK && q < p->size; ++q) {
    int64_t end = before;
    if (q != p->rank)
      status = cvtm_device_copy_out(p->device, &end, p->offsets + (q + 1) * p->pieces, sizeof end);
    row[q] = 2 * (double)(end - before);
    before = end;
    p->gathered[q] = p->size;
  }
  if (status == CVTM_OK) status = cvtm_ranks_gather(p->device, p->matrix_row, p->gathered);
  p->ghosts_before = 0;
  p->local = p->own;
  for (int k = 0; k < p->size * p->size; ++k) {
    p->matrix[k] = (int64_t)p->matrix_row[k];
    if (k % p->size != p->rank) continue;
    p->local += p->matrix[k] / 2;
    if (k / p->size < p->rank) p->ghosts_before += p->matrix[k] / 2;
  }
  return status;
}

static cvtm_status make_own_room(cvtm_subdomain *p, int64_t near, int64_t leaving) {
  cvtm_device_free(p->device, p->sent);
  cvtm_cvt_destroy(p->plan);
  p->sent = NULL;
  p->plan = NULL;
  CVTM_TRY(cvtm_device_allocate(p->device, 2 * leaving, CVTM_TYPED(p->sent)));
  return cvtm_cvt_create_part(p->device, p->domain, p->density, near, p->count, &p->plan);
}

/* Allocates memory for own and ghost sites, and for the sites to send, with some reserve. Each rank
 * finds from the matrix which ranks need more memory. If none does, no rank waits for another. Else
 * the ranks wait for each other, and all fail if one has no memory. */
static cvtm_status make_room(cvtm_subdomain *p) {
  cvtm_status status = CVTM_OK;
  int grows = 0;
  for (int r = 0; r < p->size; ++r) {
    const int64_t own = first_site(p, r + 1) - first_site(p, r);
    int64_t *room = p->room + 2 * (int64_t)r, near = own, leaving = 0;
    for (int q = 0; q < p->size; ++q) {
      near += p->matrix[q * p->size + r] / 2;
      leaving += p->matrix[r * p->size + q] / 2;
    }
    if (room[0] > 0 && near <= room[0] && leaving <= room[1]) continue;
    const int64_t most = near + (near - own) / 2 + 64;
    grows = 1;
    room[0] = most < p->count ? most : p->count;
    room[1] = leaving + leaving / 8;
    if (r == p->rank) status = make_own_room(p, room[0], room[1]);
  }
  if (!grows) return CVTM_OK;
  status = cvtm_ranks_all_succeed(p->device, status);
  if (status != CVTM_OK) memset(p->room, 0, 2 * (size_t)p->size * sizeof *p->room);
  return status;
}

/* Collects own and ghost sites, and sorts them. */
static cvtm_status gather_sites(cvtm_subdomain *p, const double *sites) {
  CVTM_TRY(find_covers(p, sites));
  CVTM_TRY(count_exchange(p, sites));
  CVTM_TRY(make_room(p));
  CVTM_TRY(p->table->write(p, sites));
  const size_t bytes = 2 * (size_t)p->own * sizeof *sites;
  const cvtm_tree_cover cover = {p->covered + p->rank * p->words, p->kept, p->missed,
                                 (int32_t)p->ghosts_before, (int32_t)(p->ghosts_before + p->own)};
  cvtm_status status =
      cvtm_ranks_exchange(p->device, p->sent, p->matrix, p->plan->sites, 2 * p->own);
  if (status == CVTM_OK)
    status = cvtm_device_copy(p->device, p->plan->sites + 2 * p->ghosts_before, sites, bytes);
  if (status == CVTM_OK) status = cvtm_device_fill(p->device, p->missed, 0, sizeof *p->missed);
  if (status == CVTM_OK) status = cvtm_device_copy_in(p->device, p->cover, &cover, sizeof cover);
  return status == CVTM_OK
             ? cvtm_site_tree_sort_part(p->plan->tree, p->plan->sites, p->local, p->count, p->cover)
             : status;
}

cvtm_status cvtm_subdomain_evaluate(cvtm_subdomain *p, const double *sites) {
  int64_t lacking = 1;
  cvtm_status status = CVTM_OK;
  for (int again = 0; status == CVTM_OK && lacking > 0; again = 1) {
    status = gather_sites(p, sites);
    const double start = cvtm_clock();
    if (status == CVTM_OK) p->plan->tree_clipping = p->tree_clipping;
    if (status == CVTM_OK)
      status = p->plan->table->part_moments(p->plan, p->local, p->missed, &lacking);
    p->seconds = cvtm_clock() - start;
    p->repeats += again;
  }
  return status;
}

cvtm_cell_moments *cvtm_subdomain_moments(const cvtm_subdomain *p) {
  return p->plan->moments + p->ghosts_before;
}

cvtm_status cvtm_subdomain_finish(cvtm_subdomain *p, int64_t fixed, double *sums,
                                  double *gradient) {
  const cvtm_subdomain_sums job = {
      cvtm_subdomain_moments(p), p->first, p->own, fixed, p->block, p->partial, sums, gradient};
  return p->table->finish(p->device, &job);
}

cvtm_status cvtm_subdomain_total(cvtm_subdomain *p, int64_t fixed, double *value,
                                 double *gradient) {
  cvtm_status status =
      cvtm_subdomain_finish(p, fixed, p->sums + 2 * p->first_block[p->rank], gradient);
  for (int r = 0; r < p->size; ++r)
    p->gathered[r] = 2 * (p->first_block[r + 1] - p->first_block[r]);
  if (status == CVTM_OK)
    status = cvtm_ranks_gather_on_device(p->device, p->sums, p->gathered, p->staging);
  return status == CVTM_OK ? p->table->join(p->device, p->sums, p->blocks, p->blocks, 1, value)
                           : status;
}

/* --- the decomposition of a descent ----------------------------------------------------------- */

enum { MOMENTS = sizeof(cvtm_cell_moments) / sizeof(double) };

_Static_assert(MOMENTS * sizeof(double) == sizeof(cvtm_cell_moments), "moments are doubles alone");

static cvtm_arrays own_arrays(cvtm_decomposition *v) {
  const int64_t own = v->subdomain ? v->subdomain->own : 0;
  return (cvtm_arrays){
      {CVTM_ARRAY(v->sites, 2 * own), CVTM_ARRAY(v->best, 2 * own), CVTM_ARRAY(v->scale, 2 * own)}};
}

cvtm_status cvtm_decomposition_create(cvtm_cvt *cvt) {
  cvtm_decomposition *v = calloc(1, sizeof *v);
  if (!v) return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "out of memory");
  cvt->decomposition = v;
  return cvtm_device_allocate(cvt->device, cvt->capacity, CVTM_TYPED(v->order));
}

static void forget_subdomain(cvtm_cvt *cvt) {
  cvtm_device_free_arrays(cvt->device, own_arrays(cvt->decomposition));
  cvtm_subdomain_destroy(cvt->decomposition->subdomain);
  cvt->decomposition->subdomain = NULL;
}

void cvtm_decomposition_destroy(cvtm_cvt *cvt) {
  if (!cvt->decomposition) return;
  forget_subdomain(cvt);
  cvtm_device_free(cvt->device, cvt->decomposition->order);
  free(cvt->decomposition);
  cvt->decomposition = NULL;
}

/* Divides the task's sites among the ranks, without setting their order and positions. */
static cvtm_status reserve(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  cvtm_decomposition *v = cvt->decomposition;
  if (v->subdomain && v->subdomain->count == task->count &&
      v->subdomain->density == cvt->density.value)
    return CVTM_OK;
  forget_subdomain(cvt);
  cvtm_status status =
      cvtm_subdomain_create(cvt->device, cvt->domain, cvt->density.value, &v->subdomain);
  if (status == CVTM_OK)
    status =
        cvtm_subdomain_divide(v->subdomain, task->count, cvtm_lbfgsb_block(2 * task->count) / 2);
  if (status == CVTM_OK) status = cvtm_device_allocate_arrays(cvt->device, own_arrays(v));
  status = cvtm_ranks_all_succeed(cvt->device, status);
  if (status != CVTM_OK) forget_subdomain(cvt);
  return status;
}

/* Numbers the sites in the order of the site tree, with the fixed sites first. */
static cvtm_status set_order(const cvtm_cvt_task *task) {
  cvtm_device *device = task->cvt->device;
  const cvtm_decomposition *v = task->cvt->decomposition;
  const int32_t *index = cvtm_site_tree_get_view(task->cvt->tree).index;
  const int64_t n = task->count;
  void *memory = NULL;
  if (task->fixed == 0)
    return cvtm_device_copy(device, v->order, index, (size_t)n * sizeof *v->order);
  const size_t bytes = (size_t)(n + 1) * (sizeof(int64_t) + sizeof(int32_t));
  CVTM_TRY(cvtm_device_scratch(device, bytes, &memory));
  int64_t *before = memory;
  int32_t *flags = (int32_t *)(void *)(before + n + 1);
  CVTM_TRY(v->subdomain->table->flag_fixed(device, index, n, task->fixed, flags));
  CVTM_TRY(cvtm_scan_64(device, flags, n, before));
  return v->subdomain->table->put_fixed_first(device, index, before, n, task->fixed, v->order);
}

static cvtm_status divide(const cvtm_cvt_task *task, const double *sites) {
  cvtm_cvt *cvt = task->cvt;
  const cvtm_decomposition *v = cvt->decomposition;
  CVTM_TRY(reserve(task));
  CVTM_TRY(cvtm_site_tree_sort(cvt->tree, sites, task->count));
  CVTM_TRY(set_order(task));
  v->subdomain->tree_clipping = cvt->tree_clipping;
  return v->subdomain->table->collect(cvt->device, sites, v->order + v->subdomain->first,
                                      v->subdomain->own, 2, v->sites);
}

static cvtm_status begin_divided(const cvtm_cvt_task *task, int restored) {
  return restored ? reserve(task) : divide(task, task->cvt->sites);
}

enum { SLAB = 1 << 20 /* items of each rank per exchange */ };

/* Memory for one slab of each rank. */
typedef struct slabs {
  double *all;
  double *staging; /* copy of `all` on the host, if the GPUs do not exchange data; else NULL */
  int64_t *counts; /* how many numbers each rank has in the slab */
} slabs;

static cvtm_status create_slabs(const cvtm_cvt *cvt, int width, slabs *s) {
  const cvtm_ranks *ranks = cvtm_device_ranks(cvt->device);
  const cvtm_subdomain *p = cvt->decomposition->subdomain;
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

/* Exchanges a slab, the items `from` .. `from` + SLAB - 1 of each rank, or fewer at the end. */
static cvtm_status share_slab(const cvtm_cvt *cvt, const double *own, int width, int64_t from,
                              const slabs *s, double *to) {
  const cvtm_decomposition *v = cvt->decomposition;
  const cvtm_subdomain *p = v->subdomain;
  int64_t before = 0;
  cvtm_status status = CVTM_OK;
  for (int r = 0; r < p->size; ++r) {
    const int64_t left = first_site(p, r + 1) - first_site(p, r) - from;
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
      status = v->subdomain->table->spread(cvt->device, s->all + before,
                                           v->order + first_site(p, r) + from, s->counts[r] / width,
                                           width, to);
  return status;
}

/* Gathers the items of all ranks, `width` numbers each, in `to`, in the caller's order. */
static cvtm_status share_items(const cvtm_cvt *cvt, const double *own, int width, double *to) {
  const cvtm_subdomain *p = cvt->decomposition->subdomain;
  slabs s = {NULL, NULL, NULL};
  const int64_t most =
      (p->blocks + p->size - 1) / p->size * p->block; /* items of a rank, at most */
  cvtm_status status = cvtm_ranks_all_succeed(cvt->device, create_slabs(cvt, width, &s));
  for (int64_t from = 0; status == CVTM_OK && from < most; from += SLAB)
    status = share_slab(cvt, own, width, from, &s, to);
  free(s.counts);
  free(s.staging);
  return status;
}

static cvtm_status share_moments(const cvtm_cvt *cvt) {
  return share_items(
      cvt, (const double *)(const void *)cvtm_subdomain_moments(cvt->decomposition->subdomain),
      MOMENTS, (double *)(void *)cvt->moments);
}

/* --- the evaluator ---------------------------------------------------------------------------- */

static cvtm_status prepare_divided(const cvtm_cvt_task *task) {
  if (task->energy == CVTM_CVT_EXACT) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_UNSUPPORTED,
                   "only the exact energy can be divided among ranks");
}

static cvtm_status evaluate_own(const cvtm_cvt_task *task, const double *sites, double *value,
                                double *gradient) {
  cvtm_subdomain *subdomain = task->cvt->decomposition->subdomain;
  CVTM_TRY(cvtm_subdomain_evaluate(subdomain, sites));
  return gradient ? cvtm_subdomain_finish(subdomain, task->fixed, value, gradient)
                  : cvtm_subdomain_total(subdomain, task->fixed, value, NULL);
}

static cvtm_status evaluate_all_divided(const cvtm_cvt_task *task, const double *sites,
                                        double *value, double *gradient) {
  if (gradient)
    return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_UNSUPPORTED,
                     "a rank evaluates the gradient of its own sites only");
  CVTM_TRY(divide(task, sites));
  CVTM_TRY(evaluate_own(task, task->cvt->decomposition->sites, value, NULL));
  return share_moments(task->cvt);
}

static cvtm_own_sites get_own_divided(const cvtm_cvt_task *task) {
  const cvtm_decomposition *v = task->cvt->decomposition;
  const int64_t first = v->subdomain->first, own = v->subdomain->own, fixed = task->fixed - first;
  return (cvtm_own_sites){first,    own,     fixed < 0 ? 0 : fixed < own ? fixed : own,
                          v->sites, v->best, v->scale};
}

static cvtm_cell_moments *get_moments_divided(const cvtm_cvt *cvt) {
  return cvtm_subdomain_moments(cvt->decomposition->subdomain);
}

static cvtm_status end_divided(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  CVTM_TRY(share_items(cvt, cvt->decomposition->sites, 2, cvt->sites));
  return share_moments(cvt);
}

static cvtm_status create_solver_divided(const cvtm_cvt_task *task,
                                         const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver) {
  const cvtm_subdomain *p = task->cvt->decomposition->subdomain;
  const cvtm_lbfgsb_share share = {2 * p->first, 2 * p->own, 2 * p->count};
  return cvtm_lbfgsb_create_divided(task->cvt->device, &share, options, solver);
}

/* --- the state of a descent ---------------------------------------------------------------------
 *
 * The bytes are the order of the sites, then the arrays. An array consists of the parts of rank 0,
 * 1 and so on, so that any number of ranks can restore the state. */

static size_t array_bytes_divided(const cvtm_cvt_task *task, int in_solver) {
  return (size_t)task->count * (sizeof(int32_t) + (in_solver ? 6U : 4U) * sizeof(double));
}

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

/* Memory on the host that gathers arrays of numbers. */
typedef struct gathering {
  cvtm_device *device;
  unsigned char *to; /* where rank 0 writes the next numbers; NULL on other ranks */
  double *slab;      /* SLAB numbers */
  double *start;     /* ranks + 1: index of each rank's first number among all */
  int64_t *counts;   /* ranks */
} gathering;

/* Gathers at most SLAB numbers, beginning with index `at`. */
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
  CVTM_TRY(cvtm_ranks_gather(g->device, g->slab, g->counts));
  if (!g->to) return CVTM_OK;
  memcpy(g->to, g->slab, (size_t)(end - at) * sizeof *own);
  g->to += (size_t)(end - at) * sizeof *own;
  return CVTM_OK;
}

/* Gathers the `count` numbers (host) of this rank and those of the other ranks. */
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

/* Gathers a solver's state. Its first piece is equal on all ranks, the other pieces are doubles. */
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
  const cvtm_decomposition *v = cvt->decomposition;
  const double *const arrays[] = {v->sites, v->best, v->scale};
  const int64_t numbers = 2 * v->subdomain->own;
  const size_t order_bytes = (size_t)task->count * sizeof *v->order;
  cvtm_status status = CVTM_OK;
  if (g->to) {
    status = cvtm_device_copy_out(cvt->device, g->to, v->order, order_bytes);
    g->to += order_bytes;
  }
  for (int k = 0; status == CVTM_OK && k < (in_solver ? 3 : 2); ++k) {
    status =
        cvtm_device_copy_out(cvt->device, scratch, arrays[k], (size_t)numbers * sizeof(double));
    if (status == CVTM_OK) status = gather_numbers(g, scratch, numbers);
  }
  return status == CVTM_OK && in_solver ? gather_solver(g, cvt->solver, scratch) : status;
}

static cvtm_status save_divided(const cvtm_cvt_task *task, int in_solver, unsigned char *to) {
  const cvtm_cvt *cvt = task->cvt;
  const size_t size = (size_t)cvt->decomposition->subdomain->size,
               own = 2 * (size_t)cvt->decomposition->subdomain->own * sizeof(double),
               solver_bytes = in_solver ? cvtm_lbfgsb_save_bytes(cvt->solver) : 0;
  cvtm_scratch memory = {0};
  void *scratch = cvtm_scratch_take(&memory, own > solver_bytes ? own : solver_bytes, 1);
  gathering g = {cvt->device, to, cvtm_scratch_take(&memory, SLAB, sizeof *g.slab),
                 cvtm_scratch_take(&memory, size + 1, sizeof *g.start),
                 cvtm_scratch_take(&memory, size, sizeof *g.counts)};
  cvtm_status status =
      memory.failed ? cvtm_no_memory(cvtm_device_error(cvt->device), "a checkpoint") : CVTM_OK;
  status = cvtm_ranks_all_succeed(cvt->device, status);
  if (status == CVTM_OK) status = gather_state(&g, task, in_solver, scratch);
  cvtm_scratch_free(&memory);
  return status;
}

static cvtm_status restore_divided(const cvtm_cvt_task *task, int in_solver,
                                   const unsigned char *from) {
  const cvtm_cvt *cvt = task->cvt;
  const cvtm_decomposition *v = cvt->decomposition;
  double *const arrays[] = {v->sites, v->best, v->scale};
  const size_t pair = 2 * sizeof(double), order_bytes = (size_t)task->count * sizeof *v->order;
  cvtm_status status = cvtm_device_copy_in(cvt->device, v->order, from, order_bytes);
  from += order_bytes + (size_t)v->subdomain->first * pair;
  for (int k = 0; status == CVTM_OK && k < (in_solver ? 3 : 2);
       ++k, from += (size_t)task->count * pair)
    status = cvtm_device_copy_in(cvt->device, arrays[k], from, (size_t)v->subdomain->own * pair);
  return status;
}

static cvtm_status restore_solver_divided(const cvtm_cvt *cvt, const unsigned char *from) {
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
                                                .evaluate_all = evaluate_all_divided,
                                                .begin = begin_divided,
                                                .own = get_own_divided,
                                                .evaluate = evaluate_own,
                                                .moments = get_moments_divided,
                                                .end = end_divided,
                                                .create_solver = create_solver_divided,
                                                .array_bytes = array_bytes_divided,
                                                .save = save_divided,
                                                .restore = restore_divided,
                                                .restore_solver = restore_solver_divided};
