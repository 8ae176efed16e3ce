/* For marches only: how they are launched. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_LAUNCH_H
#define CVTMESH_LCP_GRID_GRID_MARCH_LAUNCH_H

#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_march_restrict.h"

namespace {

constexpr int blocks_per_sm = 4; /* which bounds the registers of each */

inline constant_operator constant_operator_of(double link, double outer, double mass) {
  constant_operator op = {link, outer, mass, {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    op.diagonal[k] = mass + ((link + (k > 0 ? outer : link)) + (link + (k > 1 ? outer : link)));
    op.inverse[k] = 1 / op.diagonal[k];
  }
  return op;
}

/* True if all nodes have the same stencil. */
inline bool is_uniform(const cvtm_grid_problem *shape) {
  return !shape->diagonal && !shape->neumann && !(shape->mass > 0);
}

inline uniform_operator uniform_operator_of(double link) {
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
inline int lines_of(int64_t width, int64_t height) {
  const int64_t full_round = 528, max_lines = 64;
  const int64_t across = march_blocks(width, height, 1).across;
  const int64_t rounds = (height * across + max_lines * full_round - 1) / (max_lines * full_round);
  const int64_t down = rounds * full_round > across ? rounds * full_round / across : 1;
  const int64_t lines = (height + down - 1) / down;
  return static_cast<int>((lines + slack_lines - 1) / slack_lines * slack_lines);
}

inline int lines_of(const cvtm_grid_top *top) {
  return lines_of(top->shape->width, top->shape->height);
}

/* Launches kernel(problem, op, arguments), whose warps own lines_of(...) lines each. */
template <typename Operator, typename Kernel, typename... Arguments>
cvtm_status launch_march(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const Operator &op, Arguments... arguments) {
  const march_blocks grid(top->shape->width, top->shape->height, lines_of(top));
  return launch_phase(top, name, kernel, grid.count, march_threads, cache_bytes, top->problem, op,
                      arguments...);
}

/* coarse.support_changed = 0, and the flag behind it, top->changed. */
inline cvtm_status clear_changes(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const size_t bytes = static_cast<size_t>(coarse->width * coarse->height) + 1;
  CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->support_changed, 0, bytes, stream_of(top)));
  return CVTM_OK;
}

} /* namespace */

#endif
