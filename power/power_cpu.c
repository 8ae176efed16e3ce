#include "base/primitives.h"
#include "power/power_cell_host.h"
#include "power/power_kernels.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* One polygon per thread. */
typedef struct cpu_state {
  int threads;
  cvtm_power_cell cell[];
} cpu_state;

static void destroy_state_cpu(cvtm_power *power) {
  cpu_state *state = power->state;
  if (!state) return;
  for (int t = 0; t < state->threads; ++t) cvtm_power_cell_release(&state->cell[t]);
  free(state);
  power->state = NULL;
}

static cvtm_status create_state_cpu(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  const int threads = cvtm_device_threads(device);
  cpu_state *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->cell[0]);
  int good = state != NULL;
  if (good) {
    state->threads = threads;
    power->state = state;
    for (int t = 0; t < threads; ++t)
      good &= cvtm_power_cell_grow(&state->cell[t], CVTM_CELL_CORNERS);
  }
  if (good) return CVTM_OK;
  destroy_state_cpu(power);
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for %d cells", threads);
}

static cvtm_status weigh_cpu(cvtm_power *power, const double *weight) {
  const int threads = cvtm_device_threads(power->cvt->device);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t place = 0; place < tree.count; ++place) {
    power->sorted_weight[place] = weight[tree.index[place]];
    power->place_of[tree.index[place]] = (int32_t)place;
  }
  cvtm_power_weigh(power->sorted_weight, tree.count, tree.leaf_count, power->heaviest);
  return CVTM_OK;
}

/* A row of couplings, if there is room. */
static void couple(cvtm_power *power, const cvtm_power_view *view, int64_t place,
                   const cvtm_power_cell *cell) {
  const int32_t i = view->tree.index[place], corners = cell->polygon.count;
  int32_t first, degree = 0;
  double diagonal = 0;
#pragma omp atomic capture
  {
    first = *power->edges;
    *power->edges += corners;
  }
  power->degree[i] = 0;
  if (first > power->edge_capacity - corners) return;
  for (int32_t k = 0; k < corners; ++k) {
    const cvtm_power_link link = cvtm_power_edge(view, power->cvt->domain, &power->cvt->density,
                                                 place, cell, k, power->target, power->bridge);
    if (link.index < 0) continue;
    const int32_t entry = first + degree++;
    power->neighbor[entry] = link.index;
    power->coupling[entry] = link.coupling;
    memcpy(power->arm + 4 * (int64_t)entry, link.arm, sizeof link.arm);
    diagonal += link.coupling;
  }
  power->first[i] = first;
  power->degree[i] = degree;
  power->diagonal[i] = diagonal;
}

static void integrate(const cvtm_cvt *cvt, const cvtm_site_tree_view *tree, int64_t place,
                      cvtm_cell *cell, cvtm_cell_sums *sums) {
  cvtm_cell_walk rows;
  *sums = (cvtm_cell_sums){0, 0, 0, 0};
  if (cell->count < 3) return;
  cvtm_cell_set_slopes(cell);
  cvtm_cell_begin_walk(cvt->domain, tree->position[2 * place], tree->position[2 * place + 1], cell,
                       &rows);
  cvtm_cell_add_rows(&cvt->density, cell, &rows, rows.first, rows.last, sums);
}

static cvtm_status cells_cpu(cvtm_power *power) {
  cvtm_cvt *cvt = power->cvt;
  cpu_state *state = power->state;
  const cvtm_power_view view = cvtm_power_view_of(power);
  int no_memory = 0;
#pragma omp parallel for num_threads(state->threads) schedule(dynamic, 32) reduction(| : no_memory)
  for (int64_t place = 0; place < view.tree.count; ++place) {
    cvtm_power_cell *cell = &state->cell[omp_get_thread_num()];
    const int32_t i = view.tree.index[place];
    if (!cvtm_power_cut_out(&view, cvt->domain, place, NULL, cell)) {
      no_memory = 1;
      continue;
    }
    power->hidden[i] = cell->polygon.count < 3;
    integrate(cvt, &view.tree, place, &cell->polygon, &cvt->sums[i]);
    couple(power, &view, place, cell);
  }
  if (no_memory)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY,
                     "no memory for a cell with very many corners");
  return CVTM_OK;
}

static cvtm_status figures_cpu(cvtm_power *power, const double *weight) {
  cvtm_cvt *cvt = power->cvt;
  cvtm_device *device = cvt->device;
  const int64_t n = power->count;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    power->missing[i] = power->target - cvt->sums[i].mass;
    power->dual[i] = cvt->sums[i].second + weight[i] * power->missing[i];
    cvt->second[i] = cvt->sums[i].second;
  }
  const struct {
    cvtm_reduction reduction;
    const double *x;
    double *result;
  } reductions[] = {{CVTM_REDUCE_SUM, power->dual, power->figures},
                    {CVTM_REDUCE_SUM, cvt->second, power->figures + 1},
                    {CVTM_REDUCE_MAX_ABS, power->missing, power->figures + 2},
                    {CVTM_REDUCE_SUM, power->hidden, power->figures + 4}};
  power->figures[5] = (double)*power->edges;
  cvtm_status status = cvtm_dot(device, power->missing, power->missing, n, power->figures + 3,
                                cvt->workspace, cvt->workspace_bytes);
  for (size_t k = 0; status == CVTM_OK && k < sizeof reductions / sizeof reductions[0]; ++k)
    status = cvtm_reduce(device, reductions[k].reduction, reductions[k].x, n, reductions[k].result,
                         cvt->workspace, cvt->workspace_bytes);
  return status;
}

/* Threads of a loop over the sites that is worth so few operations a site. */
static int threads_of(const cvtm_power *power) {
  return power->count < 20000 ? 1 : cvtm_device_threads(power->cvt->device);
}

static cvtm_status predict_cpu(cvtm_power *power, const double *sites) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->missing[i] -= cvtm_power_gain_row(power, sites, i);
  return CVTM_OK;
}

/* --- conjugate gradients ---------------------------------------------------------------- */

static cvtm_status dot(cvtm_power *power, const double *x, const double *y, double *result) {
  cvtm_cvt *cvt = power->cvt;
  return cvtm_dot(cvt->device, x, y, power->count, result, cvt->workspace, cvt->workspace_bytes);
}

/* image = the couplings applied to the direction. */
static void apply(cvtm_power *power) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->image[i] = cvtm_power_apply_row(power, power->direction, i);
}

static void advance(cvtm_power *power, double length) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) {
    power->step[i] += length * power->direction[i];
    power->residual[i] -= length * power->image[i];
    power->preconditioned[i] = cvtm_power_precondition(power, i);
  }
}

static void turn(cvtm_power *power, double share) {
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i)
    power->direction[i] = power->preconditioned[i] + share * power->direction[i];
}

static cvtm_status solve_cpu(cvtm_power *power, double tolerance, int32_t most) {
  cvtm_cvt *cvt = power->cvt;
  double sum = 0, product = 0, square = 0;
  cvtm_status status = cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, power->missing, power->count, &sum,
                                   cvt->workspace, cvt->workspace_bytes);
  for (int64_t i = 0; i < power->count; ++i) {
    power->step[i] = 0;
    power->residual[i] = power->missing[i] - sum / (double)power->count;
    power->direction[i] = power->preconditioned[i] = cvtm_power_precondition(power, i);
  }
  if (status == CVTM_OK) status = dot(power, power->residual, power->preconditioned, &square);
  cvtm_power_cg cg = cvtm_power_cg_begin(square, tolerance, most);
  while (status == CVTM_OK && cg.running) {
    apply(power);
    status = dot(power, power->direction, power->image, &product);
    cvtm_power_cg_measure(&cg, product);
    advance(power, cg.length);
    if (status == CVTM_OK) status = dot(power, power->residual, power->preconditioned, &square);
    cvtm_power_cg_decide(&cg, square);
    turn(power, cg.turn);
  }
  *power->iterations = cg.iteration;
  return status;
}

const cvtm_power_table cvtm_power_table_cpu = {
    .create_state = create_state_cpu,
    .destroy_state = destroy_state_cpu,
    .weigh = weigh_cpu,
    .cells = cells_cpu,
    .figures = figures_cpu,
    .predict = predict_cpu,
    .solve = solve_cpu,
};
