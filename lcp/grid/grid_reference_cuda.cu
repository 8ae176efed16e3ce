/* Every phase of a solve by kernels that call the node functions of lcp/grid, one node per thread:
 * the reference of the specialised kernels, which also does the cycles that those cannot do.
 * CVTMESH_PLAIN=grid makes a solver use nothing else. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_nested.h"
#include "lcp/grid/grid_smoother.h"

namespace {

/* Blocks for for_nodes, at most max_parts: their partial sums are added up. */
dim3 summing_blocks(const cvtm_grid_top *top) {
  dim3 grid = blocks_for_nodes(top);
  while (static_cast<int64_t>(grid.x) * grid.y > max_parts && grid.y > 1) grid.y = (grid.y + 1) / 2;
  return grid;
}

/* --- the iteration --- */

__global__ void clip_start_kernel(const cvtm_grid_problem *problem, int warm, int into_d) {
  const cvtm_grid_problem p = *problem;
  double *out = into_d ? p.d : p.x;
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    const double value = warm ? p.x[k] : 0.0;
    out[k] = cvtm_grid_masked(&p, k)
                 ? 0.0
                 : cvtm_lcp_clip(value, cvtm_grid_lower(&p, k), cvtm_grid_upper(&p, k));
  });
}

__global__ void begin_iteration_kernel(cvtm_grid_state *state, cvtm_grid_stop_rule rule) {
  cvtm_grid_begin(state, &rule);
}

__global__ void raise_limit_kernel(cvtm_grid_state *state, int64_t limit) {
  state->loop.limit = limit;
  state->loop.go_on = 1;
}

/* Norms at x, or at d for MEASURE_COLD_START. */
__global__ void measure_kernel(const cvtm_grid_problem *problem, cvtm_grid_measured what,
                               cvtm_grid_state *state, double *partial, double *history) {
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD_START ? p.d : p.x;
  double sum[3] = {0, 0, 0}; /* squares, rounding, maximum */
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    if (cvtm_grid_masked(&p, j * p.width + i)) return;
    const cvtm_grid_natural_terms n = cvtm_grid_natural_residual(&p, x, i, j);
    sum[0] += n.residual * n.residual;
    sum[1] += n.size * n.size;
    if (!(fabs(n.residual) <= sum[2])) sum[2] = fabs(n.residual);
  });
  if (!reduce_grid(sum, 2, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  if (what == MEASURE_COLD_START) {
    state->cold_norm = sqrt(sum[0]);
  } else {
    cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], what == MEASURE_ITERATION);
  }
}

__global__ void smooth_kernel(const cvtm_grid_problem *problem, int colour, double omega) {
  const cvtm_grid_problem p = *problem;
  for_nodes((p.width + 1) / 2, p.height, [&](int64_t half, int64_t j) {
    const int64_t i = 2 * half + ((j + colour) & 1), k = j * p.width + i;
    if (i >= p.width) return;
    if (!cvtm_grid_masked(&p, k)) p.x[k] = cvtm_grid_relaxed(&p, p.x, i, j, omega);
  });
}

/* Four blocks per multiprocessor: enough to hide the latency of memory. */
__global__ void __launch_bounds__(tile_x *tile_y, 4)
    measure_energy_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                          double *partial) {
  const cvtm_grid_problem p = *problem;
  double sum[3] = {0, 0, 0}; /* counts below 2^53 are exact */
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    if (cvtm_grid_masked(&p, k)) return;
    sum[0] += cvtm_grid_node_energy(&p, i, j);
    sum[1] += p.x[k] <= cvtm_grid_lower(&p, k);
    sum[2] += p.x[k] >= cvtm_grid_upper(&p, k);
  });
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->energy = sum[0];
  state->active_lower = static_cast<int64_t>(sum[1]);
  state->active_upper = static_cast<int64_t>(sum[2]);
}

/* --- the V-cycle on the five-point problem --- */

__global__ void mark_active_kernel(const cvtm_grid_problem *problem, int only_masked) {
  const cvtm_grid_problem p = *problem;
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    p.active[k] =
        static_cast<uint8_t>(only_masked ? cvtm_grid_masked(&p, k) : cvtm_grid_is_active(&p, k));
  });
}

/* The residual, from the problem to the level below it. */
__global__ void restrict_problem_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {&p, nullptr};
  for_nodes(coarse.width, coarse.height,
            [&](int64_t x, int64_t y) { cvtm_grid_restrict(&f, &coarse, x, y); });
}

__global__ void correct_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse) {
  const cvtm_grid_problem p = *problem;
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    p.d[k] = cvtm_grid_corrected(&p, &coarse, i, j) - p.x[k];
  });
}

__global__ void line_search_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                                   double *partial) {
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  double sum[2] = {0, 0};
  for_nodes(p.width, p.height,
            [&](int64_t i, int64_t j) { cvtm_grid_add_line_search(&p, i, j, &sum[0], &sum[1]); });
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

__global__ void step_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state) {
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_line_search_step(state);
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    p.x[j * p.width + i] = cvtm_grid_stepped(&p, j * p.width + i, step);
  });
}

/* --- the V-cycle on coarse levels --- */

/* below_problem: the finer level is the problem, not `finer`. */
__global__ void galerkin_reference_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                                          cvtm_grid_level coarse, int below_problem, int all) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {below_problem ? &p : nullptr, &finer};
  for_nodes(coarse.width, coarse.height,
            [&](int64_t x, int64_t y) { cvtm_grid_update_galerkin(&f, &coarse, x, y, all); });
}

__global__ void weights_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                               cvtm_grid_level coarse, int first) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  for_nodes(coarse.blocks_x, coarse.blocks_y,
            [&](int64_t x, int64_t y) { cvtm_grid_compute_weights(&f, &coarse, x, y); });
}

__global__ void clear_kernel(cvtm_grid_level level) {
  for_nodes(level.width, level.height,
            [&](int64_t x, int64_t y) { level.e[y * level.width + x] = 0; });
}

__global__ void relax_kernel(cvtm_grid_level level, int colour) {
  const int64_t from_x = colour & 1, from_y = colour >> 1;
  for_nodes((level.width - from_x + 1) / 2, (level.height - from_y + 1) / 2,
            [&](int64_t half_x, int64_t half_y) {
              const int64_t x = 2 * half_x + from_x, y = 2 * half_y + from_y;
              level.e[y * level.width + x] = cvtm_grid_coarse_relaxed(&level, x, y);
            });
}

__global__ void restrict_level_kernel(cvtm_grid_level level, cvtm_grid_level coarse) {
  const cvtm_grid_finer f = {nullptr, &level};
  for_nodes(coarse.width, coarse.height,
            [&](int64_t x, int64_t y) { cvtm_grid_restrict(&f, &coarse, x, y); });
}

__global__ void prolong_kernel(cvtm_grid_level level, cvtm_grid_level coarse) {
  for_nodes(level.width, level.height, [&](int64_t x, int64_t y) {
    level.e[y * level.width + x] += cvtm_grid_interpolated(&coarse, coarse.e, x, y);
  });
}

/* --- the nested start --- */

__global__ void coarsen_data_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                    cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  for_nodes(c.width, c.height,
            [&](int64_t x, int64_t y) { cvtm_grid_coarsen_data(&f, &c, &level, x, y); });
}

__global__ void coarsen_links_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                     cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  for_nodes(c.width + 1, c.height + 1,
            [&](int64_t x, int64_t y) { cvtm_grid_coarsen_links(&f, &c, &level, x, y); });
}

__global__ void prolong_solution_kernel(const cvtm_grid_problem *fine,
                                        const cvtm_grid_problem *coarse, cvtm_grid_level level) {
  const cvtm_grid_problem p = *fine;
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    p.x[j * p.width + i] = cvtm_grid_nested_start_value(&p, &level, coarse->x, i, j);
  });
}

/* --- launchers of phases that only this table has --- */

cvtm_status launch_measure(const cvtm_grid_top *top, cvtm_grid_measured what) {
  return launch_nodes(top, "measure_kernel", measure_kernel, summing_blocks(top), top->problem,
                      what, top->state, cvtm_grid_sums_of(top), top->history);
}

cvtm_status measure_cold_start_reference(const cvtm_grid_top *top) {
  return launch_measure(top, MEASURE_COLD_START);
}

cvtm_status measure_reference(const cvtm_grid_top *top, int counted) {
  return launch_measure(top, counted ? MEASURE_ITERATION : MEASURE_START);
}

cvtm_status pre_smooth_and_restrict_reference(const cvtm_grid_top *top,
                                              const cvtm_grid_level *coarse) {
  cvtm_status status = cvtm_grid_smooth_reference(top, 1);
  if (status != CVTM_OK) return status;
  status = launch_nodes(top, "restrict_problem_kernel", restrict_problem_kernel,
                        blocks_for_nodes(coarse), top->problem, *coarse);
  if (status != CVTM_OK) return status;
  if (top->changed) CVTM_CUDA_TRY(top->device, cudaMemsetAsync(top->changed, 1, 1, stream_of(top)));
  return launch_nodes(top, "mark_active_kernel", mark_active_kernel, blocks_for_nodes(top),
                      top->problem, 0);
}

cvtm_status galerkin_reference(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                               int last, int all) {
  for (int l = first; l <= last; ++l) {
    const cvtm_grid_level *coarse = &levels[l];
    const int below_problem = l == top->number + 1;
    galerkin_reference_kernel<<<blocks_for_nodes(coarse), tile_threads_xy(), 0, stream_of(top)>>>(
        top->problem, below_problem ? *coarse : levels[l - 1], *coarse, below_problem, all);
  }
  return cvtm_cuda_launched(top->device, "galerkin_reference_kernel");
}

cvtm_status relax_level(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const dim3 grid = blocks_for_nodes((level->width + 1) / 2, (level->height + 1) / 2);
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    relax_kernel<<<grid, tile_threads_xy(), 0, stream_of(top)>>>(*level, colour & 3);
  }
  return cvtm_cuda_launched(top->device, "relax_kernel");
}

cvtm_status coarse_pre_smooth_and_restrict_reference(const cvtm_grid_top *top,
                                                     const cvtm_grid_level *level,
                                                     const cvtm_grid_level *coarse) {
  clear_kernel<<<blocks_for_nodes(level), tile_threads_xy(), 0, stream_of(top)>>>(*level);
  const cvtm_status status = relax_level(top, level, 1);
  if (status != CVTM_OK) return status;
  return launch_nodes(top, "restrict_level_kernel", restrict_level_kernel, blocks_for_nodes(coarse),
                      *level, *coarse);
}

int is_tail_reference(const cvtm_grid_top * /* top */, const cvtm_grid_level * /* levels */,
                      int first, int last) {
  return first == last;
}

cvtm_status tail_cycle_reference(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                 int /* first */, int last) {
  const cvtm_grid_level *level = &levels[last];
  clear_kernel<<<blocks_for_nodes(level), tile_threads_xy(), 0, stream_of(top)>>>(*level);
  return relax_level(top, level, cvtm_grid_bottom_sweeps(level));
}

cvtm_status coarse_prolong_and_post_smooth_reference(const cvtm_grid_top *top,
                                                     const cvtm_grid_level *level,
                                                     const cvtm_grid_level *coarse) {
  prolong_kernel<<<blocks_for_nodes(level), tile_threads_xy(), 0, stream_of(top)>>>(*level,
                                                                                    *coarse);
  return relax_level(top, level, 1);
}

cvtm_status prolong_and_correct_reference(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  correct_kernel<<<blocks_for_nodes(top), tile_threads_xy(), 0, stream_of(top)>>>(top->problem,
                                                                                  *coarse);
  line_search_kernel<<<summing_blocks(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, top->state, cvtm_grid_sums_of(top));
  return cvtm_cuda_launched(top->device, "correct_kernel");
}

cvtm_status post_smooth_and_measure_reference(const cvtm_grid_top *top,
                                              const cvtm_grid_level * /* coarse */) {
  const cvtm_status status = cvtm_grid_step_and_smooth_reference(top);
  return status == CVTM_OK ? measure_reference(top, 1) : status;
}

} /* namespace */

/* --- launchers of phases that both tables have --- */

cvtm_status cvtm_grid_clip_start_reference(const cvtm_grid_top *top, int warm, int into_d) {
  return launch_nodes(top, "clip_start_kernel", clip_start_kernel, blocks_for_nodes(top),
                      top->problem, warm, into_d);
}

cvtm_status cvtm_grid_begin_iteration_reference(const cvtm_grid_top *top,
                                                const cvtm_grid_stop_rule *rule) {
  begin_iteration_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, *rule);
  return cvtm_cuda_launched(top->device, "begin_iteration_kernel");
}

cvtm_status cvtm_grid_raise_limit_reference(const cvtm_grid_top *top, int64_t limit) {
  raise_limit_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, limit);
  return cvtm_cuda_launched(top->device, "raise_limit_kernel");
}

cvtm_status cvtm_grid_smooth_reference(const cvtm_grid_top *top, int sweeps) {
  const dim3 grid = blocks_for_nodes((top->shape->width + 1) / 2, top->shape->height);
  for (int colour = 0; colour < 2 * sweeps; ++colour) {
    smooth_kernel<<<grid, tile_threads_xy(), 0, stream_of(top)>>>(top->problem, colour & 1,
                                                                  top->omega);
  }
  return cvtm_cuda_launched(top->device, "smooth_kernel");
}

cvtm_status cvtm_grid_step_and_smooth_reference(const cvtm_grid_top *top) {
  step_kernel<<<blocks_for_nodes(top), tile_threads_xy(), 0, stream_of(top)>>>(top->problem,
                                                                               top->state);
  return cvtm_grid_smooth_reference(top, 1);
}

cvtm_status cvtm_grid_measure_energy_reference(const cvtm_grid_top *top) {
  return launch_nodes(top, "measure_energy_kernel", measure_energy_kernel, summing_blocks(top),
                      top->problem, top->state, cvtm_grid_sums_of(top));
}

cvtm_status cvtm_grid_mark_masked_reference(const cvtm_grid_top *top) {
  return launch_nodes(top, "mark_active_kernel", mark_active_kernel, blocks_for_nodes(top),
                      top->problem, 1);
}

cvtm_status cvtm_grid_interpolation_weights_reference(const cvtm_grid_top *top,
                                                      const cvtm_grid_level *finer,
                                                      const cvtm_grid_level *coarse) {
  return launch_nodes(top, "weights_kernel", weights_kernel,
                      blocks_for_nodes(coarse->blocks_x, coarse->blocks_y), top->problem,
                      finer ? *finer : *coarse, *coarse, finer == nullptr);
}

cvtm_status cvtm_grid_coarsen_data_reference(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                             const cvtm_grid_level *level) {
  return launch_nodes(top, "coarsen_data_kernel", coarsen_data_kernel, blocks_for_nodes(coarse),
                      top->problem, coarse->problem, *level);
}

cvtm_status cvtm_grid_coarsen_links_reference(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                              const cvtm_grid_level *level) {
  coarsen_links_kernel<<<blocks_for_nodes(level->width + 1, level->height + 1), tile_threads_xy(),
                         0, stream_of(top)>>>(top->problem, coarse->problem, *level);
  return cvtm_cuda_launched(top->device, "coarsen_links_kernel");
}

cvtm_status cvtm_grid_prolong_solution_reference(const cvtm_grid_top *top,
                                                 const cvtm_grid_top *coarse,
                                                 const cvtm_grid_level *level) {
  return launch_nodes(top, "prolong_solution_kernel", prolong_solution_kernel,
                      blocks_for_nodes(top), top->problem, coarse->problem, *level);
}

const cvtm_grid_table cvtm_grid_reference_table_cuda = {
    cvtm_grid_partial_doubles_cuda,
    cvtm_grid_clip_start_reference,
    measure_cold_start_reference,
    cvtm_grid_begin_iteration_reference,
    cvtm_grid_raise_limit_reference,
    measure_reference,
    cvtm_grid_smooth_reference,
    cvtm_grid_measure_energy_reference,
    pre_smooth_and_restrict_reference,
    galerkin_reference,
    coarse_pre_smooth_and_restrict_reference,
    is_tail_reference,
    tail_cycle_reference,
    coarse_prolong_and_post_smooth_reference,
    prolong_and_correct_reference,
    post_smooth_and_measure_reference,
    cvtm_grid_mark_masked_reference,
    cvtm_grid_interpolation_weights_reference,
    cvtm_grid_coarsen_data_reference,
    cvtm_grid_coarsen_links_reference,
    cvtm_grid_prolong_solution_reference,
};
