/* For marches only: a red-black sweep down a strip, active nodes, and restriction. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_RESTRICT_H
#define CVTMESH_LCP_GRID_GRID_MARCH_RESTRICT_H

#include "lcp/grid/grid_march_lines.h"
#include "lcp/grid/grid_transfer.h"

namespace {

/* --- restriction --- */

/* Residuals of the lane's nodes of a fine line, 0 where active, and of the next one to the east. */
struct fine_line {
  double residual[3];
};

/* Adds fine line j to the sum of the lane's node of coarse line y. */
template <bool odd, bool interior>
__device__ void gather(const strip<interior> &s, const cvtm_grid_level *c, int y, int j,
                       const fine_line &fine, double *sum) {
  const int x = s.pair, width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  double weight[3] = {0.5, 1, 0.5}, down = odd ? 1.0 : 0.5;
  if (!interior && c->neumann) {
    if (j == 0 || (y + 1 == height && j == 2 * y + 2)) down = 1;
    if (x == 0) weight[0] = 1;
    if (x + 1 == width) weight[2] = 1;
  }
  const double line =
      (weight[0] * fine.residual[0] + weight[1] * fine.residual[1]) + weight[2] * fine.residual[2];
  *sum += down * line;
}

template <bool interior>
__device__ void gather_store(const strip<interior> &s, const cvtm_grid_level *c, int y,
                             double sum) {
  if (!s.owner || !s.owns_line(2 * y)) return;
  if (!interior && (s.pair >= c->width || y >= c->height)) return;
  *lines_down(c->r + s.pair, y, static_cast<int>(c->width)) = sum;
}

/* A red-black sweep while it marches down: x of lines j .. j - 4. */
template <bool interior>
struct sweep_lines {
  node_pair x[5];
  double black_residual, next_black_residual; /* of the black nodes of lines j - 3 and j - 2 */

  __device__ sweep_lines() : black_residual(0), next_black_residual(0) {
    for (int k = 0; k < 5; ++k) x[k] = splat(0);
  }
  /* Reads line j, relaxes red on line j - 1 and black on line j - 2. */
  template <bool odd, typename Operator, typename Lines>
  __device__ void sweep(const Lines &lines, const Operator &op, int j, node_pair line) {
#pragma unroll
    for (int k = 4; k > 0; --k) x[k] = x[k - 1];
    x[0] = line;
    black_residual = next_black_residual;
    (void)relax<!odd, interior>(lines, op, j - 1, x[2], x[1], x[0]);
    next_black_residual = relax<!odd, interior>(lines, op, j - 2, x[3], x[2], x[1]);
  }
  /* Residuals of line j - 3. */
  template <bool odd, typename Operator, typename Lines>
  __device__ node_pair residuals(const Lines &lines, const Operator &op, int j) const {
    const double red = residual_of<!odd, interior>(lines, op, j - 3, x[4], x[3], x[2]);
    return odd ? node_pair{red, black_residual} : node_pair{black_residual, red};
  }
};

/* Calls advance(parity, j) for lines j = from .. to; `from` is odd. */
template <typename Advance>
__device__ void march(int from, int to, Advance advance) {
  for (int j = from;; j += 2) {
    advance(odd_line(), j);
    if (j == to) return;
    advance(even_line(), j + 1);
    if (j + 1 == to) return;
  }
}

/* Stores those flags of a lane's nodes of line j that have changed, and marks the coarse nodes
 * whose supports contain these nodes (all warps write the same 1). Few lanes call it; not inlined,
 * so that the marches need fewer registers. */
__device__ __noinline__ void store_changed_flags(uint8_t *active, uint8_t *marked,
                                                 int64_t coarse_width, int64_t coarse_height,
                                                 int pair, int j, unsigned before, unsigned now) {
  const bool x_changed = (before & 0xff) != (now & 0xff);
  if (x_changed) active[0] = static_cast<uint8_t>(now);
  if (before >> 8 != now >> 8) active[1] = static_cast<uint8_t>(now >> 8);
  marked[coarse_width * coarse_height] = 1; /* top->changed */
  for (int y = j / 2 - !(j & 1); y <= j / 2; ++y) {
    if (y < 0 || y >= coarse_height) continue;
    uint8_t *line = marked + y * coarse_width;
    if (pair < coarse_width) line[pair] = 1;
    if (x_changed && pair > 0) line[pair - 1] = 1;
  }
}

/* High words of numbers >= 0 are ordered as the numbers. */
__device__ unsigned high_word(double value) { return static_cast<unsigned>(__double2hiint(value)); }

/* A slack: the least distance to a bound of the inactive nodes of a strip's slack_lines lines,
 * rounded down (its high word). If a correction is smaller, no node of these lines leaves its
 * bounds, and the line search need not read them. */
constexpr int slack_lines = 4;
constexpr unsigned slack_most = 0x7ff00000U; /* of infinity */

/* The slack of a node. */
template <bool second, typename Lines>
__device__ unsigned slack_of(const Lines &lines, int j, double x, bool off) {
  if (off) return slack_most;
  unsigned slack = high_word(x - lines.template lower<second>(j));
  if (lines.p->upper) slack = min(slack, high_word(lines.template upper<second>(j) - x));
  return slack;
}

/* Returns what coarse nodes gather from line j, and stores those of its flags of active nodes
 * that have changed. */
template <typename Lines>
__device__ fine_line gather_line(const Lines &lines, const cvtm_grid_level *coarse, int j,
                                 node_pair x, node_pair residual, unsigned *slack) {
  const auto &s = lines.s;
  const bool has_x = s.has_x() && s.has_line(j), has_y = s.has_y() && s.has_line(j);
  bool off_x = has_x && is_at_bound<false>(lines, j, x.x);
  bool off_y = has_y && is_at_bound<true>(lines, j, x.y);
  const unsigned now = (off_x ? 1U : 0U) | (off_y ? 256U : 0U);
  const unsigned before = lines.flags(j) & ((s.has_x() ? 0xffU : 0U) | (s.has_y() ? 0xff00U : 0U));
  if (s.owner && s.owns_line(j) && before != now) {
    store_changed_flags(s.at(lines.p->active, j), coarse->support_changed, coarse->width,
                        coarse->height, s.pair, j, before, now);
  }
  off_x = off_x || !has_x;
  off_y = off_y || !has_y;
  if (s.near_owned_x()) *slack = min(*slack, slack_of<false>(lines, j, x.x, off_x));
  if (s.near_owned_y()) *slack = min(*slack, slack_of<true>(lines, j, x.y, off_y));
  fine_line out;
  out.residual[0] = off_x ? 0.0 : residual.x;
  out.residual[1] = off_y ? 0.0 : residual.y;
  out.residual[2] = from_east(out.residual[0]);
  return out;
}

/* Where the slack of a strip's line j is. */
template <bool interior>
__device__ int64_t slack_place(const strip<interior> &s, int j) {
  return static_cast<unsigned>(j) / slack_lines * strips_of(s.width) + s.across;
}

/* Restriction to the first coarse level, line by line. */
template <typename Lines>
struct restriction {
  const Lines &lines;
  const cvtm_grid_level *coarse;
  unsigned *slacks;
  double sum;
  unsigned slack;

  __device__ restriction(const Lines &march_lines, const cvtm_grid_level *level,
                         unsigned *to_slacks)
      : lines(march_lines), coarse(level), slacks(to_slacks), sum(0), slack(slack_most) {}
  /* Adds line j with its residuals; called for each line from the first that the warp owns. */
  template <bool odd>
  __device__ void take(int j, node_pair x, node_pair residual) {
    const auto &s = lines.s;
    const fine_line fine = gather_line(lines, coarse, j, x, residual, &slack);
    if ((j & (slack_lines - 1)) == slack_lines - 1 || j == s.end - 1) {
      slack = __reduce_min_sync(0xffffffffU, slack);
      if ((threadIdx.x & 31) == 0 && j < s.end) slacks[slack_place(s, j)] = slack;
      slack = slack_most;
    }
    const int y = j >> 1;
    if (!odd) { /* the last line of one support and the first of the next */
      gather<odd>(s, coarse, y - 1, j, fine, &sum);
      gather_store(s, coarse, y - 1, sum);
      sum = 0;
    }
    gather<odd>(s, coarse, y, j, fine, &sum);
  }
};

} /* namespace */

#endif
