#include "base/clock.h"
#include "base/primitives.h"
#include "base/ranks.h"
#include "base/search.h"
#include "cvt/cell_host.h"
#include "cvt/evaluate_kernels.h"
#include "cvt/integral.h"
#include "cvt/integral_batch.h"
#include "cvt/pixel_sum.h"
#include "cvt/shares.h"

#include <stdlib.h>

#include <omp.h>

/* One polygon for each thread. It grows when a cell needs more corners, and never shrinks. */
typedef struct cpu_state {
  cvtm_shares shares; /* of a device with ranks */
  int threads;
  cvtm_cell cell[];
} cpu_state;

static void destroy_state_cpu(cvtm_cvt *cvt) {
  cpu_state *state = cvt->state;
  if (!state) return;
  cvtm_shares_free(cvt->device, &state->shares);
  for (int t = 0; t < state->threads; ++t) cvtm_cell_release(&state->cell[t]);
  free(state);
  cvt->state = NULL;
}

static cvtm_status create_state_cpu(cvtm_cvt *cvt) {
  const int threads = cvtm_device_threads(cvt->device);
  cpu_state *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->cell[0]);
  int good = state != NULL;
  if (good) {
    state->threads = threads;
    cvt->state = state;
    for (int t = 0; t < threads; ++t) good &= cvtm_cell_grow(&state->cell[t], CVTM_CELL_CORNERS);
  }
  if (good && cvtm_device_ranks(cvt->device))
    return cvtm_shares_create(cvt->device, cvt->capacity, &state->shares);
  if (good) return CVTM_OK;
  destroy_state_cpu(cvt);
  return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for %d cells",
                   threads);
}

/* Sums over the pixel centres of a site's cell without its polygon; returns 0 if that is undecided.
 */
static int sum_centres(const cvtm_cvt *cvt, const cvtm_site_tree_view *tree, int64_t place,
                       cvtm_cell_moments *sums) {
  cvtm_hull_pole poles[CVTM_PIXEL_SITES];
  cvtm_pixel_bound bounds[CVTM_PIXEL_SITES];
  int32_t places[CVTM_PIXEL_SITES], scratch[CVTM_HULL_SCRATCH];
  cvtm_hull hull = {.stride = 1,
                    .capacity = CVTM_PIXEL_SITES,
                    .reach = CVTM_HULL_REACH,
                    .pole = poles,
                    .place = places,
                    .scratch = scratch};
  const cvtm_lanes one = {.lane = 0, .count = 1};
  const cvtm_cell_status status =
      cvtm_pixel_sum(tree, cvt->domain, &cvt->density, place, 1, one, &hull, bounds, sums);
  if (status == CVTM_CELL_DONE) return 1;
  *sums = (cvtm_cell_moments){0, 0, 0, 0};
  return 0;
}

/* The sites of a block are evaluated together. */
enum { BLOCK = CVTM_SHARES_BLOCK };

/* A thread's part of an evaluation. */
typedef struct cell_sums {
  const cvtm_cvt *cvt;
  cvtm_site_tree_view tree;
  cvtm_cvt_energy energy;
  cvtm_cell *cell;
  cvtm_batch batch; /* of cells whose integrals are due */
} cell_sums;

static void sum_polygon(const cell_sums *s, int64_t place, cvtm_cell_moments *sums) {
  const cvtm_cvt *cvt = s->cvt;
  cvtm_cell *cell = s->cell;
  cvtm_cell_walk rows;
  cvtm_cell_set_slopes(cell);
  cvtm_cell_begin_walk(cvt->domain, s->tree.position[2 * place], s->tree.position[2 * place + 1],
                       cell, &rows);
  if (s->energy == CVTM_CVT_EXACT) {
    cvtm_integral_add_rows(&cvt->density, cell, &rows, rows.first, rows.last, sums);
    return;
  }
  const double tolerance = cvtm_cell_tolerance(cvt->domain, cell);
  for (int32_t j = rows.first; j <= rows.last; ++j)
    cvtm_pixel_sum_polygon_row(&s->tree, cvt->domain, &cvt->density, place, cell, tolerance, &rows,
                               j, sums);
}

/* Sets the moments of one site's cell, or adds the cell to the batch; returns 0 if memory ran out.
 */
CVTM_INLINE int sum_cell(cell_sums *s, int64_t place) {
  const cvtm_cvt *cvt = s->cvt;
  const double sx = s->tree.position[2 * place], sy = s->tree.position[2 * place + 1];
  const int32_t index = s->tree.index[place];
  cvtm_cell_moments *sums = &cvt->moments[index];
  *sums = (cvtm_cell_moments){0, 0, 0, 0};
  if (!isfinite(sx) || !isfinite(sy)) {
    sums->mass = sums->x = sums->y = sums->second = NAN;
    return 1;
  }
  if (cvt->tree_clipping) {
    if (!cvtm_cell_cut_out_by_tree(&s->tree, cvt->domain, place, s->cell)) return 0;
  } else {
    if (s->energy == CVTM_CVT_PIXEL && sum_centres(cvt, &s->tree, place, sums)) return 1;
    if (!cvtm_cell_cut_out(&s->tree, cvt->domain, place, s->cell)) return 0;
  }
  if (s->cell->count < 3) return 1;
  if (s->energy != CVTM_CVT_EXACT ||
      !cvtm_batch_add(&s->batch, cvt->domain, s->cell, sx, sy, index))
    sum_polygon(s, place, sums);
  return 1;
}

/* Sets the moments of the cells at places first .. end - 1; returns 0 if memory ran out. */
CVTM_INLINE int sum_block(cell_sums *s, int64_t first, int64_t end) {
  int good = 1;
  cvtm_batch_clear(&s->batch);
  for (int64_t place = first; place < end; ++place) {
    good &= sum_cell(s, place);
    if (place + 1 == end || cvtm_batch_is_full(&s->batch))
      cvtm_batch_integrate(&s->batch, s->cvt->moments);
  }
  return good;
}

static int sum_block_baseline(cell_sums *s, int64_t first, int64_t end) {
  return sum_block(s, first, end);
}

CVTM_WIDE static int sum_block_wide(cell_sums *s, int64_t first, int64_t end) {
  return sum_block(s, first, end);
}

static cvtm_status cell_moments_cpu(cvtm_cvt *cvt, int64_t count, cvtm_cvt_energy energy) {
  const int32_t wanted = 1;
  const cvtm_status status = cvtm_site_tree_build_boxes(cvt->tree, &wanted);
  if (status != CVTM_OK) return status;
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  int (*const sum)(cell_sums *, int64_t, int64_t) =
      cvtm_has_wide_vectors() ? sum_block_wide : sum_block_baseline;
  cpu_state *state = cvt->state;
  const cvtm_ranks *ranks = cvtm_device_ranks(cvt->device);
  const double start = cvtm_clock();
  int64_t begin, end;
  int failed = 0;
  cvtm_shares_own(&state->shares, ranks, count, &begin, &end);
#pragma omp parallel num_threads(state->threads) reduction(| : failed)
  {
    cell_sums s;
    s.cvt = cvt;
    s.tree = tree;
    s.energy = energy;
    s.cell = &state->cell[omp_get_thread_num()];
    s.batch.density = cvt->density;
#pragma omp for schedule(dynamic, 1)
    for (int64_t first = begin; first < end; first += BLOCK)
      failed |= !sum(&s, first, first + BLOCK < end ? first + BLOCK : end);
  }
  if (!failed && ranks)
    return cvtm_shares_exchange(&state->shares, cvt->device, tree.index, count,
                                cvtm_clock() - start, cvt->moments);
  if (!failed) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY,
                   "no memory for a cell with very many corners");
}

static cvtm_status pixel_keys_cpu(cvtm_cvt *cvt) {
  const int64_t area = (int64_t)cvt->domain.width * cvt->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t p = 0; p < area; ++p) {
    cvt->keys[p] = (uint64_t)(uint32_t)cvt->labels[p];
    cvt->pixels[p] = (int32_t)p;
  }
  return CVTM_OK;
}

static cvtm_status label_moments_cpu(cvtm_cvt *cvt, const double *sites, int64_t count) {
  const int64_t area = (int64_t)cvt->domain.width * cvt->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(dynamic, 64)
  for (int64_t i = 0; i < count; ++i) {
    cvtm_cell_moments sums = {0, 0, 0, 0};
    for (int64_t k = cvtm_lower_bound_64(cvt->keys, 0, area, (uint64_t)i);
         k < area && cvt->keys[k] == (uint64_t)i; ++k) {
      cvtm_cvt_add_pixel(&cvt->density, cvt->pixels[k], sites[2 * i], sites[2 * i + 1], &sums);
    }
    cvt->moments[i] = sums;
  }
  return CVTM_OK;
}

static cvtm_status finish_cpu(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                              double *gradient) {
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    cvt->second[i] = cvt->moments[i].second;
    cvt->distance[i] = cvtm_cvt_finish_site(&cvt->moments[i], i, fixed, gradient);
  }
  const cvtm_status status = cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, cvt->second, count, value,
                                         cvt->workspace, cvt->workspace_bytes);
  if (status != CVTM_OK) return status;
  return cvtm_reduce(cvt->device, CVTM_REDUCE_MAX, cvt->distance, count, value + 1, cvt->workspace,
                     cvt->workspace_bytes);
}

static cvtm_status lloyd_cpu(cvtm_cvt *cvt, double *sites, int64_t count, int64_t fixed) {
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t i = fixed; i < count; ++i)
    cvtm_cvt_lloyd_step(cvt->domain, &cvt->moments[i], i, sites);
  return CVTM_OK;
}

const cvtm_cvt_table cvtm_cvt_table_cpu = {
    .create_state = create_state_cpu,
    .destroy_state = destroy_state_cpu,
    .cell_moments = cell_moments_cpu,
    .pixel_keys = pixel_keys_cpu,
    .label_moments = label_moments_cpu,
    .finish = finish_cpu,
    .lloyd = lloyd_cpu,
};
