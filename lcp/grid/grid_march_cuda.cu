/* The V-cycle's phases on the five-point problem as marches: a warp marches down a strip of the
 * grid and holds a few lines of it in registers, so that a phase reads and writes global memory
 * once where the reference reads it for each colour. A lane holds columns 2 I and 2 I + 1: it meets
 * one node of each colour on a line, and coarse column I is its own. Values of neighbours are
 * shuffled; lanes at the rim of a strip compute what the next strip owns, so that no warp waits for
 * another.
 *
 * With constant links, no mass and a Dirichlet boundary, cycles are chained: one march does
 * post_smooth_and_measure and the next cycle's pre_smooth_and_restrict. At 4096 x 4096 it takes
 * 0.35 ms of a cycle's 0.66 ms and moves 2.1 TB/s. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_march_search.h"

#include <algorithm>

namespace {

/* --- kernels --- */

/* Blocks that share a multiprocessor, which bounds the registers of each. */
template <typename Operator>
constexpr int blocks_per_sm() {
  return Operator::stored ? 2 : 4;
}

template <bool bounded, bool interior, typename Operator>
__device__ void pre_smooth_strip(const strip<Operator::rim, interior> &s,
                                 const cvtm_grid_problem *p, const Operator &op,
                                 const cvtm_grid_level *coarse, int truncated, unsigned *slacks) {
  using Cached = cached_lines<true, 3, false, strip<Operator::rim, interior>>;
  const Cached lines(s, p, p->x, s.first - 3, s.end + 3);
  sweep_lines<interior> m;
  restriction<bounded, false, interior, Operator, Cached> below(lines, op, coarse, truncated,
                                                                slacks);
  march(s.first - 3, s.end + 3, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    lines.wait_for(j);
    m.template sweep<odd>(lines, op, j, s.inside(j, lines.x(j)));
    lines.store(p->d, j - 2, m.x[2]);
    if (j - 3 < s.first) return;
    below.template take<!odd>(j - 3, m.x[3], m.template residuals<odd>(lines, op, j));
  });
}

/* Pre-smoothing, active nodes, residual and bounds for the coarse level: x -> d.
 * coarse.support_changed is 0 before. */
template <bool bounded, typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    pre_smooth_and_restrict_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int truncated, int lines_each,
                                  unsigned *slacks, launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  for_own_strip<Operator::rim>(
      p.width, p.height, lines_each, part.block(), [&](const auto &s, auto interior) {
        pre_smooth_strip<bounded, decltype(interior)::value>(s, &p, op, &coarse, truncated, slacks);
      });
}

/* Slope and curvature of the correction. Warps take tiles round-robin. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    line_search_march(const cvtm_grid_problem *problem, Operator op, cvtm_grid_level coarse,
                      const unsigned *slacks, cvtm_grid_state *state, double *partial) {
  pdl_trigger_and_wait();
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  const int strips = static_cast<int>(strips_of(p.width, Operator::rim));
  const int64_t tiles = strips * ((p.height + search_lines - 1) / search_lines);
  double sum[2] = {0, 0};
  for (int64_t t = blockIdx.x * static_cast<int64_t>(march_warps) + (threadIdx.x >> 5); t < tiles;
       t += gridDim.x * march_warps) {
    const int across = static_cast<int>(t % strips);
    const strip<Operator::rim> tile(p.width, p.height, across, t / strips * search_lines,
                                    search_lines);
    for_strip(tile, [&](const auto &s, auto interior) {
      constexpr bool is_interior = decltype(interior)::value;
      if constexpr (!Operator::stored) {
        if (line_search_unbounded<is_interior>(s, &p, op, &coarse, slacks, sum)) return;
      }
      line_search_bounded<is_interior>(s, &p, op, &coarse, sum);
    });
  }
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

/* The step along the correction, post-smoothing, norms: d -> x. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    post_smooth_and_measure_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int searched, int lines_each,
                                  cvtm_grid_state *state, double *partial, double *history,
                                  int claimed, cudaGraphConditionalHandle handle,
                                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = searched ? cvtm_grid_line_search_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  for_own_strip<Operator::rim>(
      p.width, p.height, lines_each, part.block(), [&](const auto &s, auto interior) {
        post_smooth_strip<decltype(interior)::value>(s, &p, op, &coarse, searched, step, sum);
      });
  if (!reduce_grid(sum, 2, partial, state, part) || threadIdx.x != 0) return;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* post_smooth_and_measure and the next cycle's pre_smooth_and_restrict: d -> x, which are then
 * swapped, as the two arrays of active nodes are. The norms are those of the iterate between the
 * two phases, which is not stored. */
template <bool bounded, typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    end_cycle_and_begin_next_march(cvtm_grid_problem *problem, Operator op, cvtm_grid_level coarse,
                                   cvtm_grid_rules rules, int lines_each, unsigned *slacks,
                                   cvtm_grid_state *state, double *partial, double *history,
                                   int claimed, cudaGraphConditionalHandle handle,
                                   launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = rules.searched ? cvtm_grid_line_search_step(state) : 1.0;
  const bool only_lower_aligned = p.lower && !p.upper && is_aligned(p.width, p.x) &&
                                  is_aligned(p.width, p.d) && is_aligned(p.width, p.b) &&
                                  is_aligned(p.width, p.lower);
  double sum[3] = {0, 0, 0};
  const auto chained = [&](const auto &s, auto interior) {
    constexpr bool is_interior = decltype(interior)::value;
    if (is_interior && only_lower_aligned) {
      chained_strip<bounded, is_interior, is_interior>(s, &p, op, &coarse, rules, step, slacks,
                                                       sum);
    } else {
      chained_strip<bounded, false, is_interior>(s, &p, op, &coarse, rules, step, slacks, sum);
    }
  };
  for_own_strip<Operator::rim>(p.width, p.height, lines_each, part.block(), chained,
                               9); /* five lines, and two for each of the sweeps */
  if (!reduce_grid(sum, 2, partial, state, part) || threadIdx.x != 0) return;
  problem->x = p.d;
  problem->d = p.x;
  problem->active = p.active_next;
  problem->active_next = p.active;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* d = the iterate that the last end_cycle_and_begin_next_march measured, if there was one. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    store_last_iterate_march(const cvtm_grid_problem *problem, Operator op, cvtm_grid_level coarse,
                             int searched, int lines_each, const cvtm_grid_state *state,
                             launch_part part) {
  pdl_trigger_and_wait();
  if (state->loop.iteration == 0) return;
  cvtm_grid_problem p = *problem;
  p.d = problem->x; /* as before that march */
  p.x = problem->d;
  p.active = problem->active_next;
  const double step = searched ? cvtm_grid_line_search_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  for_own_strip<Operator::rim>(
      p.width, p.height, lines_each, part.block(), [&](const auto &s, auto interior) {
        post_smooth_strip<decltype(interior)::value>(s, &p, op, &coarse, searched, step, sum);
      });
}

/* Norms at x, or at d for MEASURE_COLD_START, as post_smooth_and_measure_march takes them. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm<Operator>())
    measure_march(const cvtm_grid_problem *problem, Operator op, int lines_each,
                  cvtm_grid_measured what, cvtm_grid_state *state, double *partial, double *history,
                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD_START ? p.d : p.x;
  double sum[3] = {0, 0, 0};
  for_own_strip<Operator::rim>(p.width, p.height, lines_each, part.block(),
                               [&](const auto &s, auto interior) {
                                 measure_strip<decltype(interior)::value>(s, &p, op, x, sum);
                               });
  if (!reduce_grid(sum, 2, partial, state, part) || threadIdx.x != 0) return;
  if (what == MEASURE_COLD_START) {
    state->cold_norm = sqrt(sum[0]);
  } else {
    cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], what == MEASURE_ITERATION);
  }
}

/* --- launchers --- */

/* Line search blocks: as many as run at a time. */
constexpr int search_blocks = 528;

constant_operator constant_operator_of(double link, double outer, double mass) {
  constant_operator op = {link, outer, mass, {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    op.diagonal[k] = mass + ((link + (k > 0 ? outer : link)) + (link + (k > 1 ? outer : link)));
    op.inverse[k] = 1 / op.diagonal[k];
  }
  return op;
}

/* Calls launch with the operator of the problem. */
template <typename Launch>
void with_operator(const cvtm_grid_problem *shape, Launch launch) {
  const double c = shape->constant;
  if (shape->horizontal || shape->mask) {
    launch(stored_operator());
  } else if (shape->diagonal && shape->neumann && c > 0) {
    launch(diagonal_operator{c, 0.0});
  } else if (shape->diagonal || !(c > 0)) {
    launch(stored_operator());
  } else if (shape->neumann || shape->mass > 0) {
    launch(constant_operator_of(c, shape->neumann ? 0.0 : c, shape->mass));
  } else {
    const double diagonal = (c + c) + (c + c);
    launch(uniform_operator{constant_stencil{c, diagonal, 1 / diagonal}});
  }
}

/* Lines that each warp owns: so many that the blocks fill as few rounds of full_round blocks as
 * possible; at most max_lines, since warps that are far apart no longer share the cache. */
int lines_of(int64_t width, int64_t height, int rim) {
  const int64_t full_round = 528, max_lines = 64;
  const int64_t across = march_blocks(width, height, rim, 1).across;
  const int64_t rounds = (height * across + max_lines * full_round - 1) / (max_lines * full_round);
  const int64_t down = rounds * full_round > across ? rounds * full_round / across : 1;
  const int64_t lines = (height + down - 1) / down;
  return static_cast<int>((lines + slack_lines - 1) / slack_lines * slack_lines);
}

template <typename Operator>
int lines_of(const cvtm_grid_top *top) {
  return lines_of(top->shape->width, top->shape->height, Operator::rim);
}

/* Launches kernel(problem, op, arguments), whose warps own lines_of(...) lines each. */
template <typename Operator, typename Kernel, typename... Arguments>
cvtm_status launch_march(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const Operator &op, Arguments... arguments) {
  const march_blocks grid(top->shape->width, top->shape->height, Operator::rim,
                          lines_of<Operator>(top));
  return launch_phase(top, name, kernel, grid.count, march_threads, cache_bytes, top->problem, op,
                      arguments...);
}

/* Doubles that hold the slacks of a grid. */
int64_t slack_doubles(int64_t width, int64_t height) {
  return (strips_of(width, most_rim) * ((height + slack_lines - 1) / slack_lines) + 1) / 2;
}

/* coarse.support_changed = 0, and the flag behind it, top->changed. */
cvtm_status clear_changes(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const size_t bytes = static_cast<size_t>(coarse->width * coarse->height) + 1;
  CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->support_changed, 0, bytes, stream_of(top)));
  return CVTM_OK;
}

/* x = d, if chained cycles have left the iterate in d. */
__global__ void copy_iterate_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state,
                                    double *x) {
  if (state->loop.iteration == 0) return;
  const cvtm_grid_problem p = *problem;
  if (p.d == x) return;
  for_nodes(p.width, p.height,
            [&](int64_t i, int64_t j) { x[j * p.width + i] = p.d[j * p.width + i]; });
}

__global__ void restore_problem_kernel(cvtm_grid_problem *problem, cvtm_grid_problem shape) {
  *problem = shape;
}

} /* namespace */

unsigned *cvtm_grid_slacks_of(const cvtm_grid_top *top) {
  return reinterpret_cast<unsigned *>(top->partial);
}

double *cvtm_grid_sums_of(const cvtm_grid_top *top) {
  return top->partial + slack_doubles(top->shape->width, top->shape->height);
}

int64_t cvtm_grid_partial_doubles_cuda(int64_t width, int64_t height) {
  int64_t blocks = std::max(max_parts, static_cast<int64_t>(search_blocks));
  for (int rim = least_rim; rim <= most_rim; ++rim) {
    const int lines = lines_of(width, height, rim);
    blocks = std::max<int64_t>(blocks, march_blocks(width, height, rim, lines).count);
  }
  return slack_doubles(width, height) + CVTM_GRID_SUMS * blocks;
}

cvtm_status cvtm_grid_measure_march(const cvtm_grid_top *top, cvtm_grid_measured what) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status =
        launch_march(top, "measure_march", measure_march<Operator>, op, lines_of<Operator>(top),
                     what, top->state, cvtm_grid_sums_of(top), top->history);
  });
  return status;
}

cvtm_status cvtm_grid_pre_smooth_and_restrict_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = clear_changes(top, coarse);
  if (status != CVTM_OK) return status;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    with_flag(top->rules.bounded, [&](auto bounded) {
      status = launch_march(top, "pre_smooth_and_restrict_march",
                            pre_smooth_and_restrict_march<decltype(bounded)::value, Operator>, op,
                            *coarse, top->rules.truncated, lines_of<Operator>(top),
                            cvtm_grid_slacks_of(top));
    });
  });
  return status;
}

cvtm_status cvtm_grid_line_search_march(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    status = launch_pdl(top->device, "line_search_march", line_search_march<decltype(op)>,
                        dim3(cvtm_cuda_cap(search_blocks)), march_threads, 0, top->problem, op,
                        *coarse, cvtm_grid_slacks_of(top), top->state, cvtm_grid_sums_of(top));
  });
  return status;
}

cvtm_status cvtm_grid_post_smooth_and_measure_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(top->device, &handle);
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status = launch_march(top, "post_smooth_and_measure_march",
                          post_smooth_and_measure_march<Operator>, op, *coarse, top->rules.searched,
                          lines_of<Operator>(top), top->state, cvtm_grid_sums_of(top), top->history,
                          claimed, static_cast<cudaGraphConditionalHandle>(handle));
  });
  return status;
}

int cvtm_grid_march_chains(const cvtm_grid_top *top) {
  bool chains = false;
  with_operator(top->shape, [&](auto op) { chains = decltype(op)::chains; });
  return chains;
}

cvtm_status cvtm_grid_end_cycle_and_begin_next_march(const cvtm_grid_top *top,
                                                     const cvtm_grid_level *coarse) {
  cvtm_status status = clear_changes(top, coarse);
  if (status != CVTM_OK) return status;
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(top->device, &handle);
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    if constexpr (Operator::chains) {
      with_flag(top->rules.bounded, [&](auto bounded) {
        status =
            launch_march(top, "end_cycle_and_begin_next_march",
                         end_cycle_and_begin_next_march<decltype(bounded)::value, Operator>, op,
                         *coarse, top->rules, lines_of<Operator>(top), cvtm_grid_slacks_of(top),
                         top->state, cvtm_grid_sums_of(top), top->history, claimed,
                         static_cast<cudaGraphConditionalHandle>(handle));
      });
    }
  });
  return status;
}

cvtm_status cvtm_grid_store_last_iterate_march(const cvtm_grid_top *top,
                                               const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    if constexpr (Operator::chains) {
      status = launch_march(top, "store_last_iterate_march", store_last_iterate_march<Operator>, op,
                            *coarse, top->rules.searched, lines_of<Operator>(top), top->state);
    }
  });
  if (status != CVTM_OK) return status;
  copy_iterate_kernel<<<blocks_for_nodes(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, top->state, top->shape->x);
  restore_problem_kernel<<<1, 1, 0, stream_of(top)>>>(top->problem, *top->shape);
  return cvtm_cuda_launched(top->device, "copy_iterate_kernel");
}
