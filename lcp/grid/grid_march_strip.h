/* For marches only: the strip of a grid that a warp marches down, five-point operators, the lines
 * of the problem that are read, relaxation and residual at a node. Each set of constant
 * coefficients has its own operator type, so that a march loads only the other coefficients. */
#pragma once

#include "base/cuda_utils.h"
#include "lcp/grid/grid_node.h"

#include <type_traits>

namespace {

constexpr int march_warps = 4, march_threads = 32 * march_warps;

constexpr int rim = 2;              /* number of lanes on each side of a strip that own no nodes */
constexpr int pairs = 32 - 2 * rim; /* number of pairs of columns that a warp owns */

/* The number of strips that cover a width. */
__host__ __device__ int64_t strips_of(int64_t width) {
  return (width + 2 * pairs - 1) / (2 * pairs);
}

constexpr int64_t max_march_width = 1 << 28; /* lines_down counts the bytes of a line in 31 bits */

/* Returns array + lines * width by one instruction, without a 64-bit multiplication. */
template <typename T>
__device__ T *lines_down(T *array, int lines, int width) {
  T *at;
  asm("mad.wide.s32 %0, %1, %2, %3;"
      : "=l"(at)
      : "r"(lines), "r"(width * static_cast<int>(sizeof(T))), "l"(array));
  return at;
}

/* Parity of a line, as a template argument. */
using odd_line = std::true_type;
using even_line = std::false_type;

__device__ double from_west(double value) { return __shfl_up_sync(0xffffffffU, value, 1); }
__device__ double from_east(double value) { return __shfl_down_sync(0xffffffffU, value, 1); }

/* The values of a lane on a line: at columns 2 I and 2 I + 1. */
struct node_pair {
  double x, y;
};

__device__ node_pair splat(double value) { return node_pair{value, value}; }

/* The thread blocks of a march in which each warp passes over `lines` lines: how many side by side,
 * and in all. */
struct march_blocks {
  int across, count;

  __host__ __device__ march_blocks(int64_t width, int64_t height, int lines)
      : across(static_cast<int>((strips_of(width) + march_warps - 1) / march_warps)),
        count(static_cast<int>(across * ((height + lines - 1) / lines))) {}
};

/* True if lines of this width can be read from the array 16 bytes at a time. */
__device__ bool is_aligned(int64_t width, const double *array) {
  return (width & 1) == 0 && (reinterpret_cast<uintptr_t>(array) & 15) == 0;
}

/* The strip that a warp marches down. Lanes beyond the grid read its nearest nodes, but have the
 * value 0. interior: all nodes that the warp reads are in the grid. */
template <bool interior = false>
struct strip {
  static constexpr bool is_inside = interior;
  int width, height, across;
  int pair, first, end;   /* pair: I; the warp owns lines first (even) .. end - 1 */
  int column_x, column_y; /* the lane's columns, or the nearest columns in the grid */
  bool in_x, in_y;        /* the lane's columns are in the grid */
  bool owner;             /* the lane owns its columns */

  /* Strip `number`, with `count` lines that begin at line `from`. */
  __device__ strip(int64_t nodes_x, int64_t nodes_y, int64_t number, int64_t from, int count)
      : width(static_cast<int>(nodes_x)),
        height(static_cast<int>(nodes_y)),
        across(static_cast<int>(number)) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int64_t x = 2 * (number * pairs + lane - rim);
    pair = static_cast<int>(x / 2);
    first = static_cast<int>(from);
    end = height - first > count ? first + count : height;
    in_x = x >= 0 && x < nodes_x;
    in_y = x >= 0 && x + 1 < nodes_x;
    column_x = static_cast<int>(x < 0 ? 0 : in_x ? x : nodes_x - 1 - !(nodes_x & 1));
    column_y = in_y || (nodes_x & 1) == 0 ? column_x + 1 : column_x;
    owner = lane >= rim && lane < rim + pairs;
  }
  template <bool other>
  __device__ explicit strip(const strip<other> &s)
      : width(s.width),
        height(s.height),
        across(s.across),
        pair(s.pair),
        first(s.first),
        end(s.end),
        column_x(s.column_x),
        column_y(s.column_y),
        in_x(s.in_x),
        in_y(s.in_y),
        owner(s.owner) {}

  /* True if the warp owns no column of the grid. */
  __device__ bool is_empty() const { return 2 * across * pairs >= width; }
  /* True if the grid has all columns of the warp, and nine lines above and six lines below the
   * lines that the warp owns: more than any march reads. */
  __device__ bool is_interior() const {
    return __all_sync(0xffffffffU, in_x && in_y) && first >= 9 && end + 6 <= height;
  }
  /* True if the lane's first (second) node, or a neighbour of this node, is owned. */
  __device__ bool near_owned_x() const {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    return lane >= rim && lane <= rim + pairs;
  }
  __device__ bool near_owned_y() const {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    return lane >= rim - 1 && lane < rim + pairs;
  }
  __device__ bool has_x() const { return interior || in_x; }
  __device__ bool has_y() const { return interior || in_y; }
  __device__ bool has_line(int j) const {
    return interior || static_cast<unsigned>(j) < static_cast<unsigned>(height);
  }
  __device__ bool owns_line(int j) const {
    return static_cast<unsigned>(j - first) < static_cast<unsigned>(end - first);
  }
  /* Line j, or the nearest line of the grid. */
  __device__ int line(int j) const {
    return interior ? j : j < 0 ? 0 : j < height ? j : height - 1;
  }
  /* The position of the lane's first node of line j, or of the nearest node of the grid. */
  template <typename T>
  __device__ T *at(T *array, int j) const {
    return lines_down(array + column_x, line(j), width);
  }
  /* The offset of the value read for the lane's second node from the value read for the first: 1,
   * or 0 if the width is odd and the second node is beyond the grid. */
  __device__ int beside() const { return interior ? 1 : column_y - column_x; }

  /* The value, or 0 outside the grid. */
  __device__ node_pair inside(int j, node_pair value) const {
    return node_pair{has_x() && has_line(j) ? value.x : 0.0,
                     has_y() && has_line(j) ? value.y : 0.0};
  }
  /* Stores the nodes of line j that the warp owns. */
  template <bool is_wide>
  __device__ void store(double *array, int j, node_pair value) const {
    if (!owner || !owns_line(j)) return;
    double *to = at(array, j);
    if (is_wide) {
      if (has_x()) *reinterpret_cast<double2 *>(to) = make_double2(value.x, value.y);
      return;
    }
    if (has_x()) to[0] = value.x;
    if (has_y()) to[1] = value.y;
  }
  /* Loads the flags of both columns, in bits 0-7 and 8-15. */
  __device__ unsigned load_flags(const uint8_t *array, int j) const {
    const uint8_t *from = at(array, j);
    if ((width & 1) == 0) return *reinterpret_cast<const uint16_t *>(from);
    return from[0] | from[beside()] << 8;
  }
};

/* Calls work(strip), unless the strip is empty. If the warp meets no boundary, the argument has the
 * type strip<true>. */
template <typename Work>
__device__ void for_strip(const strip<> &s, Work work) {
  if (s.is_empty()) return;
  if (s.is_interior()) {
    work(strip<true>(s));
  } else {
    work(s);
  }
}

/* for_strip with the calling warp's strip; the strips of the grid have `count` lines each. */
template <typename Work>
__device__ void for_own_strip(int64_t nodes_x, int64_t nodes_y, int count, int block, Work work) {
  const int across = march_blocks(nodes_x, nodes_y, count).across;
  const int number = block % across * march_warps + static_cast<int>(threadIdx.x >> 5);
  for_strip(strip<>(nodes_x, nodes_y, number, static_cast<int64_t>(block / across) * count, count),
            work);
}

/* The four neighbours of a node. */
struct neighbours {
  double west, east, north, south;
};

/* Constant links. Values beyond the boundary are 0, so that links across it count only in the
 * diagonal entry. */
struct constant_stencil {
  double link, diagonal, inverse;
  __device__ double around(const neighbours &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double relax(double sum, double) const { return cvtm_relax_by_inverse(sum, inverse); }
};

/* Constant links, no mass and a Dirichlet boundary: the same stencil at every node. */
struct uniform_operator {
  constant_stencil stencil;
  template <bool interior>
  __device__ constant_stencil at(const cvtm_grid_problem *, int64_t, int64_t) const {
    return stencil;
  }
};

/* Constant links and constant mass; diagonal entries at the boundary differ. */
struct constant_operator {
  double link, outer, mass;
  double diagonal[3], inverse[3]; /* inside, at a side, at a corner */
  template <bool interior>
  __device__ constant_stencil at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (interior) return constant_stencil{link, diagonal[0], inverse[0]};
    const double across = (i > 0 ? link : outer) + (i + 1 < p->width ? link : outer);
    const double down = (j > 0 ? link : outer) + (j + 1 < p->height ? link : outer);
    const double entry = mass + (across + down);
    const double inverted = entry == diagonal[0]   ? inverse[0]
                            : entry == diagonal[1] ? inverse[1]
                                                   : inverse[2];
    return constant_stencil{link, entry, inverted};
  }
};

/* Constant links; a part of the diagonal is in memory. */
struct diagonal_stencil {
  double link, diagonal;
  __device__ double around(const neighbours &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double relax(double sum, double old) const { return cvtm_relax(sum, diagonal, old); }
};

struct diagonal_operator {
  double link, outer;
  template <bool interior>
  __device__ diagonal_stencil at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (interior) return diagonal_stencil{link, p->diagonal[j * p->width + i] + 4 * link};
    const int width = static_cast<int>(p->width), height = static_cast<int>(p->height);
    const int x = static_cast<int>(i), y = static_cast<int>(j);
    const int64_t line = y < 0        ? 0
                         : y < height ? y
                                      : height - 1; /* any value will do beyond the boundary */
    const double across = (x > 0 ? link : outer) + (x + 1 < width ? link : outer);
    const double down = (y > 0 ? link : outer) + (y + 1 < height ? link : outer);
    const double own = p->diagonal[line * width + (x < 0 ? 0 : x < width ? x : width - 1)];
    return diagonal_stencil{link, own + (across + down)};
  }
};

/* --- lines in shared memory --- */

/* Lines of the five-point problem. Every lane copies its own nodes to shared memory in advance and
 * reads them from there, so that no lane waits for another. */
constexpr int prefetch_ahead = 6; /* lines by which the L2 prefetch of the diagonal is ahead */
constexpr int cached_x = 4,
              cached_other = 8; /* number of lines in shared memory: of x, of the other arrays */
constexpr int cached_e = 2;     /* number of lines of the coarse correction in shared memory */
constexpr size_t lines_bytes = march_threads * ((cached_x + 2 * cached_other) * 2 * sizeof(double) +
                                                cached_other * 2 * sizeof(uint32_t));
constexpr size_t cache_bytes = lines_bytes + march_threads * cached_e * sizeof(double);

constexpr int lines_ahead = 3; /* lines from the awaited line to the requested line */

/* flagged: also copies the flags of active nodes. */
template <bool flagged, typename Strip>
struct cached_lines {
  const Strip &s;
  const cvtm_grid_problem *p;
  const double *source; /* the array from which x is read */
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
  /* Upper bounds are rare, and are read from global memory when needed. */
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

/* A value projected onto the bounds of the lane's first or second node of line j. */
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
  return cvtm_residual(lines.template b<second>(j) + a.around(c), a.diagonal,
                       value_of<second>(line));
}

/* Projected Gauss-Seidel, in place, at the lane's first or second node of line j. Returns the new
 * residual. */
template <bool second, bool interior, typename Operator, typename Lines>
__device__ double relax(const Lines &lines, const Operator &op, int j, node_pair north,
                        node_pair &line, node_pair south) {
  const neighbours c = neighbours_of<second>(north, line, south);
  const auto &s = lines.s;
  double &value = second ? line.y : line.x;
  const bool has = s.has_line(j) && (second ? s.has_y() : s.has_x());
  const auto a = op.template at<interior>(lines.p, 2 * s.pair + second, j);
  const double sum = lines.template b<second>(j) + a.around(c);
  const double relaxed = clip<second>(lines, j, a.relax(sum, value));
  value = has ? relaxed : 0.0;
  return cvtm_residual(sum, a.diagonal, value);
}

} /* namespace */
