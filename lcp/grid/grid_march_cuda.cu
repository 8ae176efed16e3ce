/* The V-cycle's phases on the five-point problem with constant links as marches: a warp marches
 * down a strip of the grid and holds a few lines of it in registers, so that a phase reads and
 * writes global memory once where the reference reads it for each colour. A lane holds columns 2 I
 * and 2 I + 1: it meets one node of each colour on a line, and coarse column I is its own. Values
 * of neighbours are shuffled; lanes at the rim of a strip compute what the next strip owns, so that
 * no warp waits for another.
 *
 * A cycle takes 1.3 to 2.1 times as long with the reference kernels at 1024 x 1024, and 2.8 to 4.2
 * times at 4096 x 4096 (H200); at 255 x 255 as long. Marches that loaded links, too, took 1.2 to
 * 1.3 times as long as the reference. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_march_correct.h"

#include <algorithm>

namespace {

/* --- launches --- */

constexpr int blocks_per_sm = 4; /* which bounds the registers of each */

constant_operator constant_operator_of(double link, double outer, double mass) {
  constant_operator op = {link, outer, mass, {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    op.diagonal[k] = mass + ((link + (k > 0 ? outer : link)) + (link + (k > 1 ? outer : link)));
    op.inverse[k] = 1 / op.diagonal[k];
  }
  return op;
}

/* True if all nodes have the same stencil. */
bool is_uniform(const cvtm_grid_problem *shape) {
  return !shape->diagonal && !shape->neumann && !(shape->mass > 0);
}

uniform_operator uniform_operator_of(double link) {
  const double diagonal = (link + link) + (link + link);
  return uniform_operator{constant_stencil{link, diagonal, 1 / diagonal}};
}

/* Calls launch with the operator of a problem for which cvtm_grid_can_march. */
template <typename Launch>
void with_operator(const cvtm_grid_problem *shape, Launch launch) {
  const double c = shape->constant;
  if (shape->diagonal) {
    launch(diagonal_operator{c, 0.0});
  } else if (is_uniform(shape)) {
    launch(uniform_operator_of(c));
  } else {
    launch(constant_operator_of(c, shape->neumann ? 0.0 : c, shape->mass));
  }
}

/* The number of lines that each warp owns. With it the blocks fill as few rounds of full_round
 * blocks as possible. It is at most max_lines, since warps that are far apart no longer share the
 * cache. */
int lines_of(int64_t width, int64_t height) {
  const int64_t full_round = 528, max_lines = 64;
  const int64_t across = march_blocks(width, height, 1).across;
  const int64_t rounds = (height * across + max_lines * full_round - 1) / (max_lines * full_round);
  const int64_t down = rounds * full_round > across ? rounds * full_round / across : 1;
  const int64_t lines = (height + down - 1) / down;
  return static_cast<int>((lines + slack_lines - 1) / slack_lines * slack_lines);
}

int lines_of(const cvtm_grid_top *top) { return lines_of(top->shape->width, top->shape->height); }

/* Launches kernel(problem, op, arguments), whose warps own lines_of(...) lines each. */
template <typename Operator, typename Kernel, typename... Arguments>
cvtm_status launch_march(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const Operator &op, Arguments... arguments) {
  const march_blocks grid(top->shape->width, top->shape->height, lines_of(top));
  return launch_phase(top, name, kernel, grid.count, march_threads, cache_bytes, top->problem, op,
                      arguments...);
}

/* coarse.support_changed = 0, and the flag behind it, top->changed. */
cvtm_status clear_changes(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const size_t bytes = static_cast<size_t>(coarse->width * coarse->height) + 1;
  CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->support_changed, 0, bytes, stream_of(top)));
  return CVTM_OK;
}

/* --- kernels --- */

template <bool interior, typename Operator>
__device__ void pre_smooth_strip(const strip<interior> &s, const cvtm_grid_problem *p,
                                 const Operator &op, const cvtm_grid_level *coarse,
                                 unsigned *slacks) {
  using Cached = cached_lines<true, strip<interior>>;
  const Cached lines(s, p, p->x, s.first - 3, s.end + 3);
  sweep_lines<interior> m;
  restriction<Cached> below(lines, coarse, slacks);
  march(s.first - 3, s.end + 3, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    lines.wait_for(j);
    m.template sweep<odd>(lines, op, j, s.inside(j, lines.x(j)));
    lines.store(p->d, j - 2, m.x[2]);
    if (j - 3 < s.first) return;
    below.template take<!odd>(j - 3, m.x[3], m.template residuals<odd>(lines, op, j));
  });
}

/* Pre-smoothing, active nodes, residual for the coarse level: x -> d.
 * coarse.support_changed is 0 before. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    pre_smooth_and_restrict_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int lines_each, unsigned *slacks,
                                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { pre_smooth_strip(s, &p, op, &coarse, slacks); });
}

/* Slope and curvature of the correction. Warps take tiles round-robin. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    line_search_march(const cvtm_grid_problem *problem, Operator op, cvtm_grid_level coarse,
                      const unsigned *slacks, cvtm_grid_state *state, double *partial) {
  pdl_trigger_and_wait();
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  const int strips = static_cast<int>(strips_of(p.width));
  const int64_t tiles = strips * ((p.height + search_lines - 1) / search_lines);
  double sum[2] = {0, 0};
  for (int64_t t = blockIdx.x * static_cast<int64_t>(march_warps) + (threadIdx.x >> 5); t < tiles;
       t += gridDim.x * march_warps) {
    const int across = static_cast<int>(t % strips);
    const strip<> tile(p.width, p.height, across, t / strips * search_lines, search_lines);
    for_strip(tile, [&](const auto &s) {
      if (line_search_unbounded(s, &p, op, &coarse, slacks, sum)) return;
      line_search_bounded(s, &p, op, &coarse, sum);
    });
  }
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

/* The step along the correction, post-smoothing, norms: d -> x. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    post_smooth_and_measure_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int lines_each, cvtm_grid_state *state,
                                  double *partial, double *history, int claimed,
                                  cudaGraphConditionalHandle handle, launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_line_search_step(state);
  double sum[3] = {0, 0, 0};
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { post_smooth_strip(s, &p, op, &coarse, step, sum); });
  if (!reduce_grid(sum, 2, partial, state, part) || threadIdx.x != 0) return;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* Norms at x, or at d for MEASURE_COLD_START, as post_smooth_and_measure_march takes them. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    measure_march(const cvtm_grid_problem *problem, Operator op, int lines_each,
                  cvtm_grid_measured what, cvtm_grid_state *state, double *partial, double *history,
                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD_START ? p.d : p.x;
  double sum[3] = {0, 0, 0};
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { measure_strip(s, &p, op, x, sum); });
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

/* Doubles that hold the slacks of a grid. */
int64_t slack_doubles(int64_t width, int64_t height) {
  return (strips_of(width) * ((height + slack_lines - 1) / slack_lines) + 1) / 2;
}

} /* namespace */

bool cvtm_grid_can_march(const cvtm_grid_problem *shape) {
  return shape->constant > 0 && !shape->horizontal && !shape->mask &&
         (!shape->diagonal || shape->neumann) && shape->width < max_march_width;
}

unsigned *cvtm_grid_slacks_of(const cvtm_grid_top *top) {
  return reinterpret_cast<unsigned *>(top->partial);
}

double *cvtm_grid_sums_of(const cvtm_grid_top *top) {
  return top->partial + slack_doubles(top->shape->width, top->shape->height);
}

int64_t cvtm_grid_partial_doubles_cuda(int64_t width, int64_t height) {
  int64_t blocks = std::max(max_parts, static_cast<int64_t>(search_blocks));
  blocks = std::max<int64_t>(blocks, march_blocks(width, height, lines_of(width, height)).count);
  return slack_doubles(width, height) + CVTM_GRID_SUMS * blocks;
}

cvtm_status cvtm_grid_measure_march(const cvtm_grid_top *top, cvtm_grid_measured what) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status = launch_march(top, "measure_march", measure_march<Operator>, op, lines_of(top), what,
                          top->state, cvtm_grid_sums_of(top), top->history);
  });
  return status;
}

cvtm_status cvtm_grid_pre_smooth_and_restrict_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = clear_changes(top, coarse);
  if (status != CVTM_OK) return status;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status =
        launch_march(top, "pre_smooth_and_restrict_march", pre_smooth_and_restrict_march<Operator>,
                     op, *coarse, lines_of(top), cvtm_grid_slacks_of(top));
  });
  return status;
}

cvtm_status cvtm_grid_line_search_march(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    status = launch_pdl(top->device, "line_search_march", line_search_march<decltype(op)>,
                        dim3(cvtm_cuda_cap(search_blocks)), march_threads, tile_cache_bytes,
                        top->problem, op, *coarse, cvtm_grid_slacks_of(top), top->state,
                        cvtm_grid_sums_of(top));
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
    status =
        launch_march(top, "post_smooth_and_measure_march", post_smooth_and_measure_march<Operator>,
                     op, *coarse, lines_of(top), top->state, cvtm_grid_sums_of(top), top->history,
                     claimed, static_cast<cudaGraphConditionalHandle>(handle));
  });
  return status;
}
