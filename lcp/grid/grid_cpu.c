/* The CPU's table of phases, and those of them that go node by node. */
#include "lcp/grid/grid_cpu.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_nested.h"

static int64_t partial_doubles_cpu(int64_t width, int64_t height) {
  (void)width;
  return CVTM_GRID_SUMS * height;
}

static cvtm_status clip_start_cpu(const cvtm_grid_top *top, int warm, int into_d) {
  const cvtm_grid_problem *p = top->problem;
  double *out = into_d ? p->d : p->x;
  const int64_t count = p->width * p->height;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < count; ++k) {
    const double value = warm ? p->x[k] : 0.0;
    out[k] = cvtm_grid_masked(p, k)
                 ? 0.0
                 : cvtm_lcp_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
  }
  return CVTM_OK;
}

static cvtm_status measure_cold_start_cpu(const cvtm_grid_top *top) {
  top->state->cold_norm = sqrt(measure_lines(top, top->problem->d).squares);
  return CVTM_OK;
}

static cvtm_status begin_iteration_cpu(const cvtm_grid_top *top, const cvtm_grid_stop_rule *rule) {
  cvtm_grid_begin(top->state, rule);
  return CVTM_OK;
}

static cvtm_status raise_limit_cpu(const cvtm_grid_top *top, int64_t limit) {
  top->state->loop.limit = limit;
  top->state->loop.go_on = 1;
  return CVTM_OK;
}

static cvtm_status measure_cpu(const cvtm_grid_top *top, int counted) {
  cvtm_grid_judge_norms(top, measure_lines(top, top->problem->x), counted);
  return CVTM_OK;
}

static cvtm_status measure_energy_cpu(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
  double *partial = top->partial;
  int64_t lower = 0, upper = 0;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) reduction(+ : lower, upper)
  for (int64_t j = 0; j < p->height; ++j) {
    partial[j] = 0;
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      if (cvtm_grid_masked(p, k)) continue;
      partial[j] += cvtm_grid_node_energy(p, i, j);
      lower += p->x[k] <= cvtm_grid_lower(p, k);
      upper += p->x[k] >= cvtm_grid_upper(p, k);
    }
  }
  top->state->energy = 0;
  for (int64_t j = 0; j < p->height; ++j) top->state->energy += partial[j];
  top->state->active_lower = lower;
  top->state->active_upper = upper;
  return CVTM_OK;
}

static int is_tail_cpu(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                       int last) {
  (void)top;
  (void)levels;
  return first == last;
}

static cvtm_status mark_masked_cpu(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_masked(p, k);
  }
  return CVTM_OK;
}

static cvtm_status coarsen_data_cpu(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                    const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < c->height; ++y) {
    for (int64_t x = 0; x < c->width; ++x) cvtm_grid_coarsen_data(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status coarsen_links_cpu(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                     const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y <= c->height; ++y) {
    for (int64_t x = 0; x <= c->width; ++x) cvtm_grid_coarsen_links(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status prolong_solution_cpu(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                        const cvtm_grid_level *level) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    for (int64_t i = 0; i < p->width; ++i) {
      p->x[j * p->width + i] = cvtm_grid_nested_start_value(p, level, coarse->problem->x, i, j);
    }
  }
  return CVTM_OK;
}

const cvtm_grid_table cvtm_grid_table_cpu = {
    .partial_doubles = partial_doubles_cpu,
    .clip_start = clip_start_cpu,
    .measure_cold_start = measure_cold_start_cpu,
    .begin_iteration = begin_iteration_cpu,
    .raise_limit = raise_limit_cpu,
    .measure = measure_cpu,
    .smooth = cvtm_grid_smooth_cpu,
    .measure_energy = measure_energy_cpu,
    .pre_smooth_and_restrict = cvtm_grid_pre_smooth_and_restrict_cpu,
    .galerkin = cvtm_grid_galerkin_cpu,
    .coarse_pre_smooth_and_restrict = cvtm_grid_coarse_pre_smooth_and_restrict_cpu,
    .is_tail = is_tail_cpu,
    .tail_cycle = cvtm_grid_tail_cycle_cpu,
    .coarse_prolong_and_post_smooth = cvtm_grid_coarse_prolong_and_post_smooth_cpu,
    .prolong_and_correct = cvtm_grid_prolong_and_correct_cpu,
    .post_smooth_and_measure = cvtm_grid_post_smooth_and_measure_cpu,
    .mark_masked = mark_masked_cpu,
    .interpolation_weights = cvtm_grid_interpolation_weights_cpu,
    .coarsen_data = coarsen_data_cpu,
    .coarsen_links = coarsen_links_cpu,
    .prolong_solution = prolong_solution_cpu,
};
