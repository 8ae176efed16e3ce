/* For marches only: the lines of the problem that a march reads, and relaxation and
 * residual at a node. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_LINES_H
#define CVTMESH_LCP_GRID_GRID_MARCH_LINES_H

#include "base/cuda_copies.h"
#include "lcp/grid/grid_march_operators.h"
#include "lcp/grid/grid_march_strip.h"

namespace {

/* --- lines in shared memory --- */

/* Lines of the five-point problem. Every lane copies its own nodes into shared memory ahead of
 * their use and reads them back, so that no lane waits for another. */
constexpr int prefetch_ahead = 6; /* lines by which the diagonal is prefetched into the L2 cache */
constexpr int cached_x = 4,
              cached_other = 8; /* lines in shared memory: of x, of the other arrays */
constexpr int cached_e = 2;     /* lines of the coarse correction in shared memory */
constexpr size_t lines_bytes = march_threads * ((cached_x + 2 * cached_other) * 2 * sizeof(double) +
                                                cached_other * 2 * sizeof(uint32_t));
constexpr size_t cache_bytes = lines_bytes + march_threads * cached_e * sizeof(double);

constexpr int lines_ahead = 3; /* between the line waited for and the one requested */

/* flagged: copy active nodes too. */
template <bool flagged, typename Strip>
struct cached_lines {
  const Strip &s;
  const cvtm_grid_problem *p;
  const double *source; /* array that x is read from */
  char *base;           /* the lane's slots */
  int last;             /* the last line to request */
  bool aligned;         /* all arrays may be read 16 bytes at a time */

  __device__ cached_lines(const Strip &strip, const cvtm_grid_problem *problem, const double *x,
                          int from, int to)
      : s(strip), p(problem), source(x), last(to) {
    extern __shared__ double2 march_memory[];
    base = reinterpret_cast<char *>(march_memory) + 16 * threadIdx.x;
    aligned = is_aligned(p->width, p->x) && is_aligned(p->width, p->d) &&
              is_aligned(p->width, p->b) && is_aligned(p->width, p->lower);
    for (int j = from; j < from + lines_ahead; ++j) request(j);
  }
  __device__ double2 *slot_x(int j) const {
    return reinterpret_cast<double2 *>(base + (j & (cached_x - 1)) * (16 * march_threads));
  }
  __device__ double2 *slot_b(int j) const {
    return reinterpret_cast<double2 *>(base + (cached_x + (j & (cached_other - 1))) *
                                                  (16 * march_threads));
  }
  __device__ double2 *slot_lower(int j) const {
    return reinterpret_cast<double2 *>(base + (cached_x + cached_other + (j & (cached_other - 1))) *
                                                  (16 * march_threads));
  }
  __device__ uint32_t *slot_flags(int j, int which) const {
    return reinterpret_cast<uint32_t *>(
        base - 12 * threadIdx.x + (cached_x + 2 * cached_other) * (16 * march_threads) +
        (2 * (j & (cached_other - 1)) + which) * (4 * march_threads));
  }
  __device__ void copy(double2 *to, const double *from) const {
    if (aligned) {
      cvtm_copy_start(to, from, 16);
    } else {
      cvtm_copy_start(&to->x, from, 8);
      cvtm_copy_start(&to->y, from + s.beside(), 8);
    }
  }
  __device__ void copy_flag(uint32_t *to, const uint8_t *from) const {
    cvtm_copy_start(to, from - (reinterpret_cast<uintptr_t>(from) & 3), 4);
  }
  __device__ void request(int j) const {
    if (j <= last) {
      copy(slot_x(j), s.at(source, j));
      copy(slot_b(j), s.at(p->b, j));
      if (p->lower) copy(slot_lower(j), s.at(p->lower, j));
      if (flagged) {
        const uint8_t *from = s.at(p->active, j);
        copy_flag(slot_flags(j, 0), from);
        if (!aligned) copy_flag(slot_flags(j, 1), from + s.beside());
      }
    }
    cvtm_copy_group();
  }
  /* Waits for line j and requests line j + lines_ahead. */
  __device__ void wait_for(int j) const {
    if (p->diagonal) {
      const int far = j + prefetch_ahead < s.height ? j + prefetch_ahead : s.height - 1;
      const double *at = p->diagonal + (far < 0 ? 0 : far) * static_cast<int64_t>(s.width);
      asm volatile("prefetch.global.L2 [%0];" ::"l"(at + s.column_x));
    }
    request(j + lines_ahead);
    cvtm_copy_wait<lines_ahead>();
  }
  __device__ node_pair x(int j) const {
    const double2 value = *slot_x(j);
    return node_pair{value.x, value.y};
  }
  template <bool second>
  __device__ double b(int j) const {
    return second ? slot_b(j)->y : slot_b(j)->x;
  }
  template <bool second>
  __device__ double lower(int j) const {
    if (!p->lower) return -static_cast<double>(INFINITY);
    return second ? slot_lower(j)->y : slot_lower(j)->x;
  }
  /* Upper bounds are rare: they are read from global memory where they are needed. */
  template <bool second>
  __device__ double upper(int j) const {
    if (!p->upper) return static_cast<double>(INFINITY);
    return s.at(p->upper, j)[second ? s.beside() : 0];
  }
  /* Flags of both columns, in bits 0-7 and 8-15. */
  __device__ unsigned flags(int j) const {
    const unsigned at = static_cast<unsigned>(reinterpret_cast<uintptr_t>(p->active)) +
                        static_cast<unsigned>(s.line(j)) * static_cast<unsigned>(s.width);
    const unsigned in_x = 8 * ((at + s.column_x) & 3);
    if (aligned) return *slot_flags(j, 0) >> in_x & 0xffffU;
    const unsigned in_y = 8 * ((at + s.column_y) & 3);
    return (*slot_flags(j, 0) >> in_x & 0xffU) | (*slot_flags(j, 1) >> in_y & 0xffU) << 8;
  }
  __device__ void store(double *array, int j, node_pair value) const {
    if (aligned) {
      s.template store<true>(array, j, value);
    } else {
      s.template store<false>(array, j, value);
    }
  }
};

/* The value of the lane's first or second node of line j moved into its bounds. */
template <bool second, typename Lines>
__device__ double clip(const Lines &lines, int j, double value) {
  const double low = lines.template lower<second>(j);
  value = value < low ? low : value;
  if (lines.p->upper) {
    const double high = lines.template upper<second>(j);
    value = value > high ? high : value;
  }
  return value;
}

/* True if the value is at a bound. */
template <bool second, typename Lines>
__device__ bool is_at_bound(const Lines &lines, int j, double value) {
  return value <= lines.template lower<second>(j) ||
         (lines.p->upper && value >= lines.template upper<second>(j));
}

/* --- one node --- */

template <bool second>
__device__ double value_of(node_pair line) {
  return second ? line.y : line.x;
}

template <bool second>
__device__ neighbours neighbours_of(node_pair north, node_pair line, node_pair south) {
  const double beside = second ? from_east(line.x) : from_west(line.y);
  return second ? neighbours{line.x, beside, north.y, south.y}
                : neighbours{beside, line.y, north.x, south.x};
}

/* b - A x at the lane's first or second node of line j. */
template <bool second, bool interior, typename Operator, typename Lines>
__device__ double residual_of(const Lines &lines, const Operator &op, int j, node_pair north,
                              node_pair line, node_pair south) {
  const neighbours c = neighbours_of<second>(north, line, south);
  const auto &s = lines.s;
  const auto a = op.template at<interior>(lines.p, 2 * s.pair + second, j);
  return (lines.template b<second>(j) + a.around(c)) - a.diagonal * value_of<second>(line);
}

/* Projected Gauss-Seidel at the lane's first or second node of line j, in place. Returns the
 * residual that it leaves. */
template <bool second, bool interior, typename Operator, typename Lines>
__device__ double relax(const Lines &lines, const Operator &op, int j, node_pair north,
                        node_pair &line, node_pair south) {
  const neighbours c = neighbours_of<second>(north, line, south);
  const auto &s = lines.s;
  double &value = second ? line.y : line.x;
  const bool has = s.has_line(j) && (second ? s.has_y() : s.has_x());
  const auto a = op.template at<interior>(lines.p, 2 * s.pair + second, j);
  const double sum = lines.template b<second>(j) + a.around(c);
  const double relaxed = clip<second>(lines, j, a.divide(sum, value));
  value = has ? relaxed : 0.0;
  return sum - a.diagonal * value;
}

} /* namespace */

#endif
