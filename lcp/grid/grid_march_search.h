/* For grid_march_cuda.cu only: the line search along the interpolated correction. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_SEARCH_H
#define CVTMESH_LCP_GRID_GRID_MARCH_SEARCH_H

#include "lcp/grid/grid_march_correct.h"

namespace {

constexpr int search_lines = 8; /* of a tile */

/* x and the lower bounds of a tile's lines and of one more on each side. Every lane copies its own
 * nodes into shared memory, all lines at once, and reads them back: with loads line by line the
 * kernel takes 1.3 times as long at 16384 x 16384 (H200). */
constexpr int tile_lines = search_lines + 2;
constexpr size_t tile_cache_bytes = march_threads * 2 * tile_lines * 2 * sizeof(double);

template <typename Strip>
struct cached_tile {
  const Strip &s;
  const cvtm_grid_problem *p;

  __device__ double2 *slot_x(int j) const {
    extern __shared__ double2 march_memory[];
    return march_memory + (j - s.first + 1) * march_threads + threadIdx.x;
  }
  __device__ double2 *slot_lower(int j) const { return slot_x(j) + tile_lines * march_threads; }
  __device__ void copy(double2 *to, const double *array, int j) const {
    const double *from = s.at(array, j);
    if (is_aligned(p->width, array)) {
      cvtm_copy_start(to, from, 16);
    } else {
      cvtm_copy_start(&to->x, from, 8);
      cvtm_copy_start(&to->y, from + s.beside(), 8);
    }
  }
  __device__ void load() const {
#pragma unroll
    for (int k = 0; k < tile_lines; ++k) {
      copy(slot_x(s.first - 1 + k), p->d, s.first - 1 + k);
      if (p->lower) copy(slot_lower(s.first - 1 + k), p->lower, s.first - 1 + k);
    }
    cvtm_copy_group();
    cvtm_copy_wait<0>();
  }
  __device__ node_pair x(int j) const { return s.inside(j, node_pair{slot_x(j)->x, slot_x(j)->y}); }
  template <bool second>
  __device__ double lower(int j) const {
    if (!p->lower) return -static_cast<double>(INFINITY);
    return second ? slot_lower(j)->y : slot_lower(j)->x;
  }
  template <bool second>
  __device__ double upper(int j) const {
    return s.at(p->upper, j)[second ? s.beside() : 0];
  }
  template <bool second>
  __device__ double b(int j) const {
    return s.at(p->b, j)[second ? s.beside() : 0];
  }
  __device__ unsigned flags(int j) const { return s.load_flags(p->active, j); }
};

/* Adds r'd and d'Ad over a tile where the correction may leave the bounds: the slope only where the
 * bounds make a difference, which is where b is read. */
template <bool interior, typename Operator>
__device__ void line_search_bounded(const strip<interior> &s, const cvtm_grid_problem *p,
                                    const Operator &op, const cvtm_grid_level *coarse,
                                    double (&sum)[2]) {
  const cached_tile<strip<interior>> lines = {s, p};
  lines.load();
  correction<loaded_coarse<strip<interior>>> from(s, coarse, s.first - 1);
  node_pair step[3] = {splat(0), splat(0), splat(0)}, over[2] = {splat(0), splat(0)};
  march(s.first - 1, s.end, [&](auto parity, int j) {
    step[2] = step[1];
    step[1] = step[0];
    over[1] = over[0];
    const node_pair x = lines.x(j);
    node_pair q;
    const node_pair moved = from.template next<decltype(parity)::value>(lines, j, x, &q);
    step[0] = node_pair{moved.x - x.x, moved.y - x.y};
    over[0] = node_pair{step[0].x - q.x, step[0].y - q.y};
    const neighbours cx = neighbours_of<false>(step[2], step[1], step[0]);
    const neighbours cy = neighbours_of<true>(step[2], step[1], step[0]);
    const bool owned = s.owner && s.owns_line(j - 1);
    if (__any_sync(0xffffffffU, owned && (over[1].x != 0 || over[1].y != 0))) {
      const node_pair north = lines.x(j - 2), line = lines.x(j - 1);
      const double rx = residual_of<false, interior>(lines, op, j - 1, north, line, x);
      const double ry = residual_of<true, interior>(lines, op, j - 1, north, line, x);
      if (owned) {
        sum[0] += over[1].x * rx;
        sum[0] += over[1].y * ry;
      }
    }
    if (!owned) return;
    /* Outside the grid the step is 0. */
    const auto ax = op.template at<interior>(p, 2 * s.pair, j - 1);
    const auto ay = op.template at<interior>(p, 2 * s.pair + 1, j - 1);
    sum[1] += step[1].x * (ax.diagonal * step[1].x - ax.around(cx));
    sum[1] += step[1].y * (ay.diagonal * step[1].y - ay.around(cy));
  });
}

/* The same where no node leaves its bounds: there d is the interpolated e, and r'd is the coarse
 * residual times e, so that x and b are not read. Returns 0 if a node may leave its bounds. Then
 * line_search_bounded must add the curvature, and to the slope the difference that the bounds make.
 */
template <bool interior, typename Operator>
__device__ int line_search_unbounded(const strip<interior> &s, const cvtm_grid_problem *p,
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
