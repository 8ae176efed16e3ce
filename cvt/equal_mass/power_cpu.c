#include "cvt/equal_mass/power_cpu.h"

#include "base/primitives.h"
#include "cvt/cell_host.h"

#include <stdlib.h>

void cvtm_power_cell_release(cvtm_power_cell *cell) {
  cvtm_cell_release(&cell->polygon);
  free(cell->other);
  cell->other = NULL;
}

int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity) {
  int32_t *other = malloc((size_t)capacity * sizeof *other);
  if (!other || !cvtm_cell_grow(&cell->polygon, capacity)) {
    free(other);
    return 0;
  }
  free(cell->other);
  cell->other = other;
  return 1;
}

int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t place,
                       const cvtm_cell_box *start, cvtm_power_cell *cell) {
  cvtm_cell_box box;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, place, &box);
  if (start) box = *start;
  while (cvtm_power_cut_from(view, domain, &box, &o, cell) == CVTM_CELL_OVERFLOW) {
    const int32_t capacity = cell->polygon.capacity;
    if (capacity > INT32_MAX / 2 || !cvtm_power_cell_grow(cell, 2 * capacity)) return 0;
  }
  return 1;
}

static void destroy_state_cpu(cvtm_power *power) {
  cvtm_power_state_cpu *state = power->state;
  if (!state) return;
  for (int t = 0; t < state->threads; ++t) cvtm_power_cell_release(&state->cell[t]);
  free(state->is_ring);
  free(state->cut);
  free(state);
  power->state = NULL;
}

static cvtm_status create_state_cpu(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  const int threads = cvtm_device_threads(device);
  const size_t n = (size_t)power->count;
  cvtm_power_state_cpu *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->cell[0]);
  int good = state != NULL;
  if (good) {
    state->threads = threads;
    power->state = state;
    state->is_ring = calloc(n, sizeof *state->is_ring);
    state->cut = calloc(n, sizeof *state->cut);
    good = state->is_ring && state->cut;
    for (int t = 0; t < threads; ++t)
      good &= cvtm_power_cell_grow(&state->cell[t], CVTM_CELL_CORNERS);
  }
  if (good) return CVTM_OK;
  destroy_state_cpu(power);
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for %lld cells",
                   (long long)power->count);
}

static cvtm_status set_weights_cpu(cvtm_power *power, const double *weight) {
  const int threads = cvtm_device_threads(power->cvt->device);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t place = 0; place < tree.count; ++place) {
    power->sorted_weight[place] = weight[tree.index[place]];
    power->place_of[tree.index[place]] = (int32_t)place;
  }
  cvtm_power_set_max_weights(power->sorted_weight, tree.count, tree.leaf_count, power->max_weight);
  return CVTM_OK;
}

static cvtm_status figures_cpu(cvtm_power *power, const double *weight) {
  cvtm_cvt *cvt = power->cvt;
  cvtm_device *device = cvt->device;
  const int64_t n = power->count;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    power->deficit[i] = power->target - cvt->moments[i].mass;
    power->dual[i] = cvt->moments[i].second + weight[i] * power->deficit[i];
    cvt->second[i] = cvt->moments[i].second;
  }
  const struct {
    cvtm_reduction reduction;
    const double *x;
    double *result;
  } reductions[] = {{CVTM_REDUCE_SUM, power->dual, power->figures},
                    {CVTM_REDUCE_SUM, cvt->second, power->figures + 1},
                    {CVTM_REDUCE_MAX_ABS, power->deficit, power->figures + 2},
                    {CVTM_REDUCE_SUM, power->empty, power->figures + 4}};
  power->figures[5] = (double)*power->edges;
  cvtm_status status = cvtm_dot(device, power->deficit, power->deficit, n, power->figures + 3,
                                cvt->workspace, cvt->workspace_bytes);
  for (size_t k = 0; status == CVTM_OK && k < sizeof reductions / sizeof reductions[0]; ++k)
    status = cvtm_reduce(device, reductions[k].reduction, reductions[k].x, n, reductions[k].result,
                         cvt->workspace, cvt->workspace_bytes);
  return status;
}

/* The number of threads for a loop that does few operations per site. */
static int threads_of(const cvtm_power *power) {
  return power->count < 20000 ? 1 : cvtm_device_threads(power->cvt->device);
}

static cvtm_status predict_cpu(cvtm_power *power, const double *sites) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->deficit[i] -= cvtm_power_gain_row(power, sites, i);
  return CVTM_OK;
}

static cvtm_status correct_cpu(cvtm_power *power, int64_t fixed, double *gradient) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) {
    const double distance = cvtm_power_correct_row(power, i, gradient);
    if (i >= fixed) power->cvt->distance[i] = distance;
  }
  return CVTM_OK;
}

/* --- conjugate gradients ---------------------------------------------------------------- */

static cvtm_status dot_vectors(cvtm_power *power, const double *x, const double *y,
                               double *result) {
  cvtm_cvt *cvt = power->cvt;
  return cvtm_dot(cvt->device, x, y, power->count, result, cvt->workspace, cvt->workspace_bytes);
}

/* product = the matrix of couplings times the direction. */
static void multiply_couplings(cvtm_power *power) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->product[i] = cvtm_power_apply_row(power, power->direction, i);
}

static void move_along(cvtm_power *power, double alpha) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) {
    power->step[i] += alpha * power->direction[i];
    power->residual[i] -= alpha * power->product[i];
  }
}

/* The number of threads for the rows of a level. */
static int threads_of_level(const cvtm_power *power, const cvtm_power_level *level) {
  return level->matrix.count < 5000 ? 1 : threads_of(power);
}

static void go_down(const cvtm_power *power, const cvtm_power_level *fine,
                    const cvtm_power_level *coarse) {
#pragma omp parallel num_threads(threads_of_level(power, fine))
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < fine->matrix.count; ++i) cvtm_power_set_residual(fine, i);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < coarse->matrix.count; ++i) cvtm_power_restrict(fine, coarse, i);
  }
}

static void go_up(const cvtm_power *power, const cvtm_power_level *level,
                  const cvtm_power_level *finer) {
#pragma omp parallel for num_threads(threads_of_level(power, level)) schedule(static)
  for (int64_t i = 0; i < level->matrix.count; ++i) cvtm_power_correct_level(level, finer, i);
}

/* Solves the coarsest level. */
static void solve_coarsest(const cvtm_power_hierarchy *h) {
  const cvtm_power_level *level = &h->level[h->levels - 1];
  const int64_t n = level->matrix.count;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += h->inverse[i * n + j] * level->right[j];
    cvtm_power_set_correction(level, level - 1, i, sum);
  }
}

/* The preconditioned residual, by a V-cycle. */
static void precondition(cvtm_power *power) {
  const cvtm_power_level *level = power->hierarchy.level;
  const int32_t last = power->hierarchy.levels - 1;
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) cvtm_power_begin_cycle(level, i);
  for (int32_t l = 0; l < last; ++l) go_down(power, &level[l], &level[l + 1]);
  if (power->hierarchy.inverse) solve_coarsest(&power->hierarchy);
  for (int32_t l = power->hierarchy.inverse ? last - 1 : last; l > 0; --l)
    go_up(power, &level[l], &level[l - 1]);
  go_up(power, level, NULL);
}

static void update_direction(cvtm_power *power, double beta) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->direction[i] = power->preconditioned[i] + beta * power->direction[i];
}

static cvtm_status solve_cpu(cvtm_power *power, double tolerance, int32_t max_iterations) {
  cvtm_cvt *cvt = power->cvt;
  double sum = 0, product = 0, square = 0;
  cvtm_status status = cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, power->deficit, power->count, &sum,
                                   cvt->workspace, cvt->workspace_bytes);
  for (int64_t i = 0; i < power->count; ++i) {
    power->step[i] = 0;
    power->direction[i] = 0;
    power->residual[i] = power->deficit[i] - sum / (double)power->count;
  }
  precondition(power);
  update_direction(power, 0);
  if (status == CVTM_OK)
    status = dot_vectors(power, power->residual, power->preconditioned, &square);
  cvtm_cg cg = cvtm_cg_begin(square, tolerance, max_iterations);
  while (status == CVTM_OK && cg.running) {
    multiply_couplings(power);
    status = dot_vectors(power, power->direction, power->product, &product);
    cvtm_cg_set_alpha(&cg, product);
    move_along(power, cg.alpha);
    precondition(power);
    if (status == CVTM_OK)
      status = dot_vectors(power, power->residual, power->preconditioned, &square);
    cvtm_cg_set_beta(&cg, square);
    update_direction(power, cg.beta);
  }
  *power->iterations = cg.iteration;
  return status;
}

const cvtm_power_table cvtm_power_table_cpu = {
    .create_state = create_state_cpu,
    .destroy_state = destroy_state_cpu,
    .set_weights = set_weights_cpu,
    .cells = cvtm_power_cells_cpu,
    .figures = figures_cpu,
    .predict = predict_cpu,
    .correct = correct_cpu,
    .solve = solve_cpu,
};
