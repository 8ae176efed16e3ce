/* For grid_march_cuda.cu only: the line search along the interpolated correction. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_SEARCH_H
#define CVTMESH_LCP_GRID_GRID_MARCH_SEARCH_H

#include "lcp/grid/grid_march_correct.h"

namespace {

/* Adds r'd and d'Ad over a tile where the correction may leave the bounds. */
template <int rim, bool interior, typename Operator>
__device__ void line_search_bounded(const strip<rim, interior> &s, const cvtm_grid_problem *p,
                                    const Operator &op, const cvtm_grid_level *coarse,
                                    double (&sum)[2]) {
  const global_lines<strip<rim, interior>> lines = {s, p};
  correction from(s, coarse, s.first - 1);
  node_pair x[3] = {splat(0), splat(0), splat(0)}, step[3] = {splat(0), splat(0), splat(0)};
  node_pair over[2] = {splat(0), splat(0)};
  march(s.first - 1, s.end, [&](auto parity, int j) {
    x[2] = x[1];
    x[1] = x[0];
    step[2] = step[1];
    step[1] = step[0];
    over[1] = over[0];
    x[0] = s.inside(j, s.template load<false>(p->d, j));
    node_pair q;
    const node_pair moved = from.template next<decltype(parity)::value>(lines, coarse, j, x[0], &q);
    step[0] = node_pair{moved.x - x[0].x, moved.y - x[0].y};
    over[0] = node_pair{step[0].x - q.x, step[0].y - q.y};
    const neighbours cx = neighbours_of<false>(step[2], step[1], step[0]);
    const neighbours cy = neighbours_of<true>(step[2], step[1], step[0]);
    const double rx = residual_of<false, interior>(lines, op, j - 1, x[2], x[1], x[0]);
    const double ry = residual_of<true, interior>(lines, op, j - 1, x[2], x[1], x[0]);
    if (!s.owner || !s.owns_line(j - 1)) return;
    /* Outside the grid the step is 0. */
    {
      const auto a = op.template at<interior>(p, 2 * s.pair, j - 1);
      sum[0] += over[1].x * rx;
      sum[1] += step[1].x * (a.diagonal * step[1].x - a.around(cx));
    }
    {
      const auto a = op.template at<interior>(p, 2 * s.pair + 1, j - 1);
      sum[0] += over[1].y * ry;
      sum[1] += step[1].y * (a.diagonal * step[1].y - a.around(cy));
    }
  });
}

constexpr int search_lines = 8; /* of a tile */

/* The same where no node leaves its bounds: there d is the interpolated e, and r'd is the coarse
 * residual times e, so that x and b are not read. Returns 0 if a node may leave its bounds. Then
 * line_search_bounded must add the curvature, and to the slope the difference that the bounds make.
 */
template <int rim, bool interior, typename Operator>
__device__ int line_search_unbounded(const strip<rim, interior> &s, const cvtm_grid_problem *p,
                                     const Operator &op, const cvtm_grid_level *c,
                                     const unsigned *slacks, double (&sum)[2]) {
  constexpr int lines = search_lines / 2;
  const int y = s.first >> 1;
  double e[lines + 2], r[lines];
  unsigned cut[search_lines + 2], slack = slack_most, reach = 0;
#pragma unroll
  for (int k = 0; k < lines + 2; ++k) e[k] = load_coarse(s, c, y - 1 + k);
#pragma unroll
  for (int k = 0; k < search_lines + 2; ++k) cut[k] = s.load_flags(p->active, s.first - 1 + k);
#pragma unroll
  for (int k = 0; k < lines; ++k) {
    const bool owned = s.owner && s.pair < c->width && y + k < c->height;
    r[k] = owned ? c->r[(y + k) * c->width + s.pair] : 0.0;
  }
#pragma unroll
  for (int k = -slack_lines; k < search_lines + slack_lines; k += slack_lines) {
    const int j = s.first + k;
    if (j >= 0 && j < s.height) slack = min(slack, slacks[slack_place(s, j)]);
  }
  node_pair step[search_lines + 2];
#pragma unroll
  for (int k = 0; k < search_lines + 2; ++k) {
    const int j = s.first - 1 + k;
    const coarse_lines at = {e[k > 0 ? (k - 1) / 2 : 0], e[(k + 1) / 2]};
    const node_pair q = k & 1 ? interpolate_line<false>(at) : interpolate_line<true>(at);
    step[k] = s.inside(j, node_pair{cut[k] & 0xff ? 0.0 : q.x, cut[k] >> 8 ? 0.0 : q.y});
    reach = max(reach, max(high_word(fabs(step[k].x)), high_word(fabs(step[k].y))));
  }
#pragma unroll
  for (int k = 0; k < lines; ++k) sum[0] += e[k + 1] * r[k];
  if (__any_sync(0xffffffffU, reach >= slack)) return 0;
#pragma unroll
  for (int k = 1; k <= search_lines; ++k) {
    const neighbours cx = neighbours_of<false>(step[k - 1], step[k], step[k + 1]);
    const neighbours cy = neighbours_of<true>(step[k - 1], step[k], step[k + 1]);
    if (!s.owner) continue;
    const auto ax = op.template at<interior>(p, 2 * s.pair, s.first - 1 + k);
    const auto ay = op.template at<interior>(p, 2 * s.pair + 1, s.first - 1 + k);
    sum[1] += step[k].x * (ax.diagonal * step[k].x - ax.around(cx));
    sum[1] += step[k].y * (ay.diagonal * step[k].y - ay.around(cy));
  }
  return 1;
}

} /* namespace */

#endif
