/* Inside grid_cuda.cu only: phases in which a warp marches down a strip of the grid, a few rows
 * at a time in its registers. A lane holds the columns 2 I and 2 I + 1, so that it meets one
 * node of each colour in a row, and coarse column I is its own. Neighbours are shuffled; no
 * warp waits for another. The lanes at the rim of a strip only lend their values. */
#ifndef CVTMESH_LCP_GRID_GRID_CUDA_MARCH_H
#define CVTMESH_LCP_GRID_GRID_CUDA_MARCH_H

#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_kernels.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_nested.h"
#include "lcp/grid/grid_relax.h"

#include <type_traits>

namespace {

constexpr int least_rim = 2, most_rim = 3; /* of any strip */
constexpr int march_warps = 4, march_threads = 32 * march_warps;

/* Pairs of columns that a warp owns, and strips of a grid, side by side. */
__host__ __device__ constexpr int pairs_within(int rim) { return 32 - 2 * rim; }
__host__ __device__ int64_t strips_of(int64_t width, int rim) {
  const int span = 2 * pairs_within(rim);
  return (width + span - 1) / span;
}

/* Rows by parity, known when a march is compiled. */
using odd_row = std::true_type;
using even_row = std::false_type;

__device__ double from_west(double value) { return __shfl_up_sync(0xffffffffU, value, 1); }
__device__ double from_east(double value) { return __shfl_down_sync(0xffffffffU, value, 1); }

/* Part of a row: columns 2 I and 2 I + 1. */
struct two {
  double x, y;
};

__device__ two both(double value) { return two{value, value}; }

/* A warp's way: lanes beyond the grid read its nearest nodes and hold 0 in their stead. rim: lanes
 * on each side that own nothing. within: all that the warp meets is in the grid. */
template <int rim, bool within = false>
struct strip {
  static constexpr int pairs = pairs_within(rim);
  int width, height, across;
  int pair, first, end;   /* pair: I; the warp owns rows first (even) .. end - 1 */
  int column_x, column_y; /* the lane's columns, moved into the grid */
  bool in_x, in_y;        /* are they in the grid anyway? */
  bool owner;             /* does the lane own them? */

  /* Strip `number` from row `from` on. */
  __device__ strip(int64_t nodes_x, int64_t nodes_y, int64_t number, int64_t from, int rows)
      : width(static_cast<int>(nodes_x)),
        height(static_cast<int>(nodes_y)),
        across(static_cast<int>(number)) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int64_t x = 2 * (number * pairs + lane - rim);
    pair = static_cast<int>(x / 2);
    first = static_cast<int>(from);
    end = height - first > rows ? first + rows : height;
    in_x = x >= 0 && x < nodes_x;
    in_y = x >= 0 && x + 1 < nodes_x;
    column_x = static_cast<int>(x < 0 ? 0 : in_x ? x : nodes_x - 1 - !(nodes_x & 1));
    column_y = in_y || (nodes_x & 1) == 0 ? column_x + 1 : column_x;
    owner = lane >= rim && lane < rim + pairs;
  }
  /* That of a warp in a grid of blocks. */
  __device__ strip(int64_t nodes_x, int64_t nodes_y, int rows)
      : strip(nodes_x, nodes_y, blockIdx.x * static_cast<int64_t>(march_warps) + (threadIdx.x >> 5),
              (blockIdx.z * static_cast<int64_t>(gridDim.y) + blockIdx.y) * rows, rows) {}
  template <bool other>
  __device__ explicit strip(const strip<rim, other> &s)
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

  /* Does the warp own anything? */
  __device__ bool is_empty() const { return 2 * across * pairs >= width; }
  /* Are the warp's columns, and so many rows before those it owns and six behind, in the grid? */
  __device__ bool is_within(int before) const {
    return __all_sync(0xffffffffU, in_x && in_y) && first >= before && end + 6 <= height;
  }
  /* Is the lane's first (second) node owned, or next to one that is? */
  __device__ bool lends_x() const {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    return lane >= rim && lane <= rim + pairs;
  }
  __device__ bool lends_y() const {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    return lane >= rim - 1 && lane < rim + pairs;
  }
  __device__ bool has_x() const { return within || in_x; }
  __device__ bool has_y() const { return within || in_y; }
  __device__ bool row(int j) const {
    return within || static_cast<unsigned>(j) < static_cast<unsigned>(height);
  }
  __device__ bool owns_row(int j) const {
    return static_cast<unsigned>(j - first) < static_cast<unsigned>(end - first);
  }
  /* Where row j begins, or the nearest row of the grid. */
  __device__ int64_t start(int j) const {
    if (within) return j * static_cast<int64_t>(width);
    return (j < 0 ? 0 : j < height ? j : height - 1) * static_cast<int64_t>(width);
  }
  __device__ int64_t place(int j) const { return j * static_cast<int64_t>(width) + 2 * pair; }
  /* May rows of this array be read 16 bytes at a time? */
  __device__ bool wide(const double *array) const {
    return (width & 1) == 0 && (reinterpret_cast<uintptr_t>(array) & 15) == 0;
  }

  template <bool is_wide>
  __device__ two load(const double *array, int j) const {
    const double *at = array + start(j);
    if (!is_wide) return two{at[column_x], at[column_y]};
    const double2 loaded = *reinterpret_cast<const double2 *>(at + column_x);
    return two{loaded.x, loaded.y};
  }
  /* 0 outside the grid. */
  __device__ two inside(int j, two value) const {
    return two{has_x() && row(j) ? value.x : 0.0, has_y() && row(j) ? value.y : 0.0};
  }
  /* Row j as far as the warp owns it. */
  template <bool is_wide>
  __device__ void store(double *array, int j, two value) const {
    if (!owner || !owns_row(j)) return;
    double *at = array + place(j);
    if (is_wide) {
      if (has_x()) *reinterpret_cast<double2 *>(at) = make_double2(value.x, value.y);
      return;
    }
    if (has_x()) at[0] = value.x;
    if (has_y()) at[1] = value.y;
  }
  /* Those of row j, of nodes that the warp owns. */
  __device__ void store_flags(uint8_t *array, int j, unsigned flags) const {
    uint8_t *at = array + place(j);
    if ((width & 1) == 0) {
      if (has_x()) *reinterpret_cast<uint16_t *>(at) = static_cast<uint16_t>(flags);
      return;
    }
    if (has_x()) at[0] = static_cast<uint8_t>(flags);
    if (has_y()) at[1] = static_cast<uint8_t>(flags >> 8);
  }
  /* Flags of both columns: bits 0-7 and 8-15. */
  __device__ unsigned load_flags(const uint8_t *array, int j) const {
    const uint8_t *at = array + start(j);
    if ((width & 1) == 0) return *reinterpret_cast<const uint16_t *>(at + column_x);
    return at[column_x] | at[column_y] << 8;
  }
};

/* --- kinds of five-point problems --- */

/* Around one of a lane's two nodes. */
struct cross {
  double west, east, north, south;
};

/* A row of a constant operator. Beyond the boundary values are 0: there, links matter to the
 * diagonal alone. */
struct constant_row {
  double link, diagonal, inverse;
  __device__ double around(const cross &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double divide(double sum, double) const { return sum * inverse; }
};

/* A constant operator with a Dirichlet boundary, the same at every node. */
struct uniform_rows {
  static constexpr bool stored = false; /* are there links or a mask in memory? */
  static constexpr bool chains = true;  /* are cycles chained? Others lack the registers for it, */
  static constexpr int rim = 3;         /* and need one lane less at the rim */
  constant_row row;
  template <bool within>
  __device__ constant_row at(const cvtm_grid_problem *, int64_t, int64_t) const {
    return row;
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

/* A constant operator whose rows differ at the boundary. */
struct framed_rows {
  static constexpr bool stored = false, chains = false;
  static constexpr int rim = 2;
  double link, outer, own;
  double diagonal[3], inverse[3]; /* inside, at a side, at a corner */
  template <bool within>
  __device__ constant_row at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (within) return constant_row{link, diagonal[0], inverse[0]};
    const double across = (i > 0 ? link : outer) + (i + 1 < p->width ? link : outer);
    const double down = (j > 0 ? link : outer) + (j + 1 < p->height ? link : outer);
    const double by = own + (across + down);
    const double inverted = by == diagonal[0]   ? inverse[0]
                            : by == diagonal[1] ? inverse[1]
                                                : inverse[2];
    return constant_row{link, by, inverted};
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

/* The same with a diagonal of its own at each node. */
struct weighted_row {
  double link, diagonal;
  __device__ double around(const cross &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double divide(double sum, double old) const {
    return diagonal > 0 ? sum / diagonal : old;
  }
};

struct weighted_rows {
  static constexpr bool stored = false, chains = false;
  static constexpr int rim = 2;
  double link, outer;
  template <bool within>
  __device__ weighted_row at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (within) return weighted_row{link, p->diagonal[j * p->width + i] + 4 * link};
    const int width = static_cast<int>(p->width), height = static_cast<int>(p->height);
    const int x = static_cast<int>(i), y = static_cast<int>(j);
    const int64_t row = y < 0 ? 0 : y < height ? y : height - 1; /* beyond, any value does */
    const double across = (x > 0 ? link : outer) + (x + 1 < width ? link : outer);
    const double down = (y > 0 ? link : outer) + (y + 1 < height ? link : outer);
    const double own = p->diagonal[row * width + (x < 0 ? 0 : x < width ? x : width - 1)];
    return weighted_row{link, own + (across + down)};
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

struct stored_row {
  double link[4], diagonal;
  __device__ double around(const cross &c) const {
    return (link[0] * c.west + link[1] * c.east) + (link[2] * c.north + link[3] * c.south);
  }
  __device__ double divide(double sum, double old) const {
    return diagonal > 0 ? sum / diagonal : old;
  }
};

struct stored_rows {
  static constexpr bool stored = true, chains = false;
  static constexpr int rim = 2;
  template <bool within>
  __device__ stored_row at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    stored_row row;
    row.diagonal = cvtm_grid_links(p, i, j, row.link);
    return row;
  }
  __device__ bool masked(const cvtm_grid_problem *p, int64_t k) const {
    return cvtm_grid_masked(p, k);
  }
};

/* --- rows on their way --- */

__device__ void copy_async(void *to, const void *from, int bytes) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else if (bytes == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
  }
}

/* Rows of the five-point problem, some of them not there yet. Every lane copies its own nodes
 * into shared memory and reads them back, so that none waits for another. */
constexpr int far_ahead = 6;             /* the same for a diagonal, which waits in the L2 cache */
constexpr int kept_x = 4, kept_rows = 8; /* rows in shared memory: of x, of all others */
constexpr size_t kept_bytes = march_threads * ((kept_x + 2 * kept_rows) * 2 * sizeof(double) +
                                               kept_rows * 2 * sizeof(uint32_t));

/* flagged: active nodes, too; ahead: rows between what arrives and what is asked for; easy: as in
 * turn_march. */
template <bool flagged, int ahead, bool easy, typename Strip>
struct rows_kept {
  static constexpr bool has_upper = !easy;
  const Strip &s;
  const cvtm_grid_problem *p;
  const double *source; /* of x */
  char *base;           /* what the lane keeps */
  int last;             /* row that is asked for at all */
  bool aligned;

  __device__ bool wide() const { return easy || aligned; }
  __device__ bool has_lower() const { return easy || p->lower; }

  __device__ rows_kept(const Strip &strip, const cvtm_grid_problem *problem, const double *x,
                       int from, int to)
      : s(strip), p(problem), source(x), last(to) {
    extern __shared__ double2 march_memory[];
    base = reinterpret_cast<char *>(march_memory) + 16 * threadIdx.x;
    aligned = s.wide(p->x) && s.wide(p->d) && s.wide(p->b) && s.wide(p->lower);
    for (int j = from; j < from + ahead; ++j) ask(j);
  }
  __device__ double2 *slot_x(int j) const {
    return reinterpret_cast<double2 *>(base + (j & (kept_x - 1)) * (16 * march_threads));
  }
  __device__ double2 *slot_b(int j) const {
    return reinterpret_cast<double2 *>(base +
                                       (kept_x + (j & (kept_rows - 1))) * (16 * march_threads));
  }
  __device__ double2 *slot_lower(int j) const {
    return reinterpret_cast<double2 *>(base + (kept_x + kept_rows + (j & (kept_rows - 1))) *
                                                  (16 * march_threads));
  }
  __device__ uint32_t *slot_flags(int j, int which) const {
    return reinterpret_cast<uint32_t *>(base - 12 * threadIdx.x +
                                        (kept_x + 2 * kept_rows) * (16 * march_threads) +
                                        (2 * (j & (kept_rows - 1)) + which) * (4 * march_threads));
  }
  __device__ void copy(double2 *to, const double *array, int64_t start) const {
    if (wide()) {
      copy_async(to, array + start + s.column_x, 16);
    } else {
      copy_async(&to->x, array + start + s.column_x, 8);
      copy_async(&to->y, array + start + s.column_y, 8);
    }
  }
  __device__ void copy_flag(uint32_t *to, const uint8_t *from) const {
    copy_async(to, from - (reinterpret_cast<uintptr_t>(from) & 3), 4);
  }
  __device__ void ask(int j) const {
    if (j <= last) {
      const int64_t start = s.start(j);
      copy(slot_x(j), source, start);
      copy(slot_b(j), p->b, start);
      if (has_lower()) copy(slot_lower(j), p->lower, start);
      if (flagged) {
        copy_flag(slot_flags(j, 0), p->active + start + s.column_x);
        if (!wide()) copy_flag(slot_flags(j, 1), p->active + start + s.column_y);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  /* Row j is there from now on, and row j + ahead asked for. */
  __device__ void arrive(int j) const {
    if (!easy && p->diagonal) {
      const int far = j + far_ahead < s.height ? j + far_ahead : s.height - 1;
      const double *at = p->diagonal + (far < 0 ? 0 : far) * static_cast<int64_t>(s.width);
      asm volatile("prefetch.global.L2 [%0];" ::"l"(at + s.column_x));
    }
    ask(j + ahead);
    asm volatile("cp.async.wait_group %0;" ::"n"(ahead) : "memory");
  }
  __device__ two x(int j) const {
    const double2 value = *slot_x(j);
    return two{value.x, value.y};
  }
  template <bool second>
  __device__ double b(int j) const {
    return second ? slot_b(j)->y : slot_b(j)->x;
  }
  template <bool second>
  __device__ double lower(int j) const {
    if (!has_lower()) return -static_cast<double>(INFINITY);
    return second ? slot_lower(j)->y : slot_lower(j)->x;
  }
  /* Upper bounds are rare: they are read where they are needed. */
  template <bool second>
  __device__ double upper(int j) const {
    if (!p->upper) return static_cast<double>(INFINITY);
    return p->upper[s.start(j) + (second ? s.column_y : s.column_x)];
  }
  /* Flags of both columns: bits 0-7 and 8-15. */
  __device__ unsigned flags(int j) const {
    const uintptr_t at =
        reinterpret_cast<uintptr_t>(p->active) + static_cast<uintptr_t>(s.start(j));
    const unsigned in_x = 8 * static_cast<unsigned>((at + s.column_x) & 3);
    if (wide()) return *slot_flags(j, 0) >> in_x & 0xffffU;
    const unsigned in_y = 8 * static_cast<unsigned>((at + s.column_y) & 3);
    return (*slot_flags(j, 0) >> in_x & 0xffU) | (*slot_flags(j, 1) >> in_y & 0xffU) << 8;
  }
  __device__ void store(double *array, int j, two value) const {
    if (wide()) {
      s.template store<true>(array, j, value);
    } else {
      s.template store<false>(array, j, value);
    }
  }
};

/* The same from memory, each row when it is needed. */
template <typename Strip>
struct rows_read {
  static constexpr bool has_upper = true;
  const Strip &s;
  const cvtm_grid_problem *p;
  template <bool second>
  __device__ double at(const double *array, int j) const {
    return array[s.start(j) + (second ? s.column_y : s.column_x)];
  }
  template <bool second>
  __device__ double b(int j) const {
    return at<second>(p->b, j);
  }
  template <bool second>
  __device__ double lower(int j) const {
    return p->lower ? at<second>(p->lower, j) : -static_cast<double>(INFINITY);
  }
  template <bool second>
  __device__ double upper(int j) const {
    return p->upper ? at<second>(p->upper, j) : static_cast<double>(INFINITY);
  }
  __device__ unsigned flags(int j) const { return s.load_flags(p->active, j); }
};

/* The value of the lane's first or second node of row j moved into its bounds. */
template <bool second, typename Kept>
__device__ double clip(const Kept &kept, int j, double value) {
  const double low = kept.template lower<second>(j);
  value = value < low ? low : value;
  if (Kept::has_upper && kept.p->upper) {
    const double high = kept.template upper<second>(j);
    value = value > high ? high : value;
  }
  return value;
}

/* Is the value at a bound? */
template <bool second, typename Kept>
__device__ bool bound(const Kept &kept, int j, double value) {
  return value <= kept.template lower<second>(j) ||
         (Kept::has_upper && kept.p->upper && value >= kept.template upper<second>(j));
}

/* --- one row --- */

template <bool second>
__device__ double node_of(two row) {
  return second ? row.y : row.x;
}

template <bool second>
__device__ cross cross_of(two north, two row, two south) {
  const double beside = second ? from_east(row.x) : from_west(row.y);
  return second ? cross{row.x, beside, north.y, south.y} : cross{beside, row.y, north.x, south.x};
}

/* b - A x at the lane's first or second node of row j. */
template <bool second, bool within, typename Rows, typename Kept>
__device__ double residual(const Kept &kept, const Rows &rows, int j, two north, two row,
                           two south) {
  const cross c = cross_of<second>(north, row, south);
  const auto &s = kept.s;
  if (Rows::stored && (!s.row(j) || !(second ? s.has_y() : s.has_x()))) return 0.0;
  const auto a = rows.template at<within>(kept.p, 2 * s.pair + second, j);
  return (kept.template b<second>(j) + a.around(c)) - a.diagonal * node_of<second>(row);
}

/* Projected Gauss-Seidel at the lane's first or second node of row j, in place; returns the
 * residual that it leaves, and the one before. */
template <bool second, bool within, typename Rows, typename Kept>
__device__ double relax(const Kept &kept, const Rows &rows, int j, two north, two &row, two south,
                        double *before) {
  const cross c = cross_of<second>(north, row, south);
  const auto &s = kept.s;
  double &value = second ? row.y : row.x;
  const bool has = s.row(j) && (second ? s.has_y() : s.has_x());
  *before = 0;
  if (Rows::stored && !has) return 0.0;
  if (Rows::stored && rows.masked(kept.p, s.place(j) + second)) return 0.0;
  const auto a = rows.template at<within>(kept.p, 2 * s.pair + second, j);
  const double sum = kept.template b<second>(j) + a.around(c);
  *before = sum - a.diagonal * value;
  const double relaxed = clip<second>(kept, j, a.divide(sum, value));
  value = has ? relaxed : 0.0;
  return sum - a.diagonal * value;
}

/* --- down --- */

/* What a fine row yields: residuals (0 where active) and slacks (infinite there) of the lane's
 * nodes and of the next one to the east. */
struct yield_row {
  double residual[3], lower[3], upper[3];
};

/* What a coarse node gathers over its support. */
struct gathered {
  double residual, lower, upper;
};

__device__ gathered gather_none() {
  return gathered{0.0, -static_cast<double>(INFINITY), static_cast<double>(INFINITY)};
}

/* Adds fine row j to the coarse node of this lane in coarse row y. */
template <bool bounded, bool stored, bool within, int rim>
__device__ void gather(const strip<rim, within> &s, const cvtm_grid_level *c, int y, int j,
                       const yield_row &fine, gathered *sum) {
  const int x = s.pair, width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  double weight[3] = {0.5, 1, 0.5}, down = j & 1 ? 1.0 : 0.5;
  if constexpr (stored) {
    if (y < 0 || y >= height || x < 0 || x >= width || j >= s.height) return;
    down = 1;
    for (int d = 0; d < 3; ++d) {
      weight[d] = 2 * x + d < s.width ? cvtm_grid_basis(c, x, y, 2 * x + d, j) : 0.0;
    }
  } else if (!within && c->neumann) {
    if (j == 0 || (y + 1 == height && j == 2 * y + 2)) down = 1;
    if (x == 0) weight[0] = 1;
    if (x + 1 == width) weight[2] = 1;
  }
  const double row =
      (weight[0] * fine.residual[0] + weight[1] * fine.residual[1]) + weight[2] * fine.residual[2];
  sum->residual += down * row;
  if constexpr (bounded) {
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      if (stored && !(weight[d] > 0)) continue;
      if (fine.lower[d] > sum->lower) sum->lower = fine.lower[d];
      if (fine.upper[d] < sum->upper) sum->upper = fine.upper[d];
    }
  }
}

template <bool bounded, bool within, int rim>
__device__ void gather_store(const strip<rim, within> &s, const cvtm_grid_level *c, int y,
                             const gathered &sum) {
  if (!s.owner || !s.owns_row(2 * y)) return;
  if (!within && (s.pair >= c->width || y >= c->height)) return;
  const int64_t k = y * c->width + s.pair;
  c->r[k] = sum.residual;
  if (!bounded) return;
  c->lower[k] = sum.lower;
  c->upper[k] = sum.upper;
}

/* Rows on their way through a red-black sweep: x of rows j .. j - 4. */
template <bool within>
struct sweeping {
  two x[5];
  double left, leaves; /* residuals of the black nodes of rows j - 3 and j - 2, */
  double before;       /* and of the red one of row j - 1 before the sweep */

  __device__ sweeping() : left(0), leaves(0), before(0) {
    for (int k = 0; k < 5; ++k) x[k] = both(0);
  }
  /* Row j comes; the sweep moves on: red in row j - 1, black in row j - 2. */
  template <bool odd, typename Rows, typename Kept>
  __device__ void sweep(const Kept &kept, const Rows &rows, int j, two row) {
#pragma unroll
    for (int k = 4; k > 0; --k) x[k] = x[k - 1];
    x[0] = row;
    left = leaves;
    (void)relax<!odd, within>(kept, rows, j - 1, x[2], x[1], x[0], &before);
    double unused;
    leaves = relax<!odd, within>(kept, rows, j - 2, x[3], x[2], x[1], &unused);
  }
  /* Residuals of row j - 3. */
  template <bool odd, typename Rows, typename Kept>
  __device__ two residuals(const Kept &kept, const Rows &rows, int j) const {
    const double red = residual<!odd, within>(kept, rows, j - 3, x[4], x[3], x[2]);
    return odd ? two{red, left} : two{left, red};
  }
};

/* Calls advance(parity, j) for rows j = from .. to, the first one odd. */
template <typename Advance>
__device__ void march(int from, int to, Advance advance) {
  for (int j = from;; j += 2) {
    advance(odd_row(), j);
    if (j == to) return;
    advance(even_row(), j + 1);
    if (j + 1 == to) return;
  }
}

/* Calls work with the strip of a warp that meets no boundary, or with that of any other. before:
 * rows that the march looks at ahead of those the warp owns. */
template <int rim, typename Work>
__device__ void along(const strip<rim> &s, Work work, int before = 6) {
  if (s.is_empty()) return;
  if (s.is_within(before)) {
    work(strip<rim, true>(s), std::true_type());
  } else {
    work(s, std::false_type());
  }
}

/* Keeps the active nodes of a lane whose nodes of row j have changed, and marks the coarse nodes
 * whose bases hold them; all write the same 1. Seldom called, so not part of the march. */
__device__ __noinline__ void keep_active(uint8_t *active, uint8_t *marked, int64_t coarse_width,
                                         int64_t coarse_height, int pair, int j, unsigned before,
                                         unsigned now) {
  const bool x_changed = (before & 0xff) != (now & 0xff);
  if (x_changed) active[0] = static_cast<uint8_t>(now);
  if (before >> 8 != now >> 8) active[1] = static_cast<uint8_t>(now >> 8);
  marked[coarse_width * coarse_height] = 1; /* top->changed */
  for (int y = j / 2 - !(j & 1); y <= j / 2; ++y) {
    if (y < 0 || y >= coarse_height) continue;
    uint8_t *row = marked + y * coarse_width;
    if (pair < coarse_width) row[pair] = 1;
    if (x_changed && pair > 0) row[pair - 1] = 1;
  }
}

/* The high words of numbers from 0 on are in the order of the numbers. */
__device__ unsigned high_word(double value) { return static_cast<unsigned>(__double2hiint(value)); }

/* The least distance to a bound of the inactive nodes of slack_rows rows, rounded down; so few
 * rows that a line search has little to do where nodes come to lie beyond their bounds. */
constexpr int slack_rows = 4;
constexpr unsigned slack_most = 0x7ff00000U; /* of infinity */

/* How far the inactive node may move. */
template <bool second, typename Kept>
__device__ unsigned slack_of(const Kept &kept, int j, double x, bool off) {
  if (off) return slack_most;
  unsigned slack = high_word(x - kept.template lower<second>(j));
  if (Kept::has_upper && kept.p->upper)
    slack = min(slack, high_word(kept.template upper<second>(j) - x));
  return slack;
}

/* What row j yields, and its active nodes. apart: they go to an array of their own, else only those
 * that change are written. */
template <bool bounded, bool apart, typename Rows, typename Kept>
__device__ yield_row descend_row(const Kept &kept, const Rows &rows, int truncated,
                                 const cvtm_grid_level *coarse, int j, two x, two left,
                                 unsigned *slack) {
  const auto &s = kept.s;
  const cvtm_grid_problem *p = kept.p;
  const bool has_x = s.has_x() && s.row(j), has_y = s.has_y() && s.row(j);
  bool off_x = has_x && truncated && bound<false>(kept, j, x.x);
  bool off_y = has_y && truncated && bound<true>(kept, j, x.y);
  if (Rows::stored) {
    off_x = off_x || (has_x && rows.masked(p, s.place(j)));
    off_y = off_y || (has_y && rows.masked(p, s.place(j) + 1));
  }
  const unsigned now = (off_x ? 1U : 0U) | (off_y ? 256U : 0U);
  const unsigned before = kept.flags(j) & ((s.has_x() ? 0xffU : 0U) | (s.has_y() ? 0xff00U : 0U));
  if (s.owner && s.owns_row(j)) {
    uint8_t *active = apart ? p->active_next : p->active;
    if (apart) s.store_flags(active, j, now);
    if (before != now) {
      keep_active(active + s.place(j), coarse->support_changed, coarse->width, coarse->height,
                  s.pair, j, before, now);
    }
  }
  off_x = off_x || !has_x;
  off_y = off_y || !has_y;
  if (!bounded && !Rows::stored) {
    if (s.lends_x()) *slack = min(*slack, slack_of<false>(kept, j, x.x, off_x));
    if (s.lends_y()) *slack = min(*slack, slack_of<true>(kept, j, x.y, off_y));
  }
  const double none = static_cast<double>(INFINITY);
  yield_row out;
  out.residual[0] = off_x ? 0.0 : left.x;
  out.residual[1] = off_y ? 0.0 : left.y;
  out.residual[2] = from_east(out.residual[0]);
  if (bounded) {
    out.lower[0] = off_x ? -none : kept.template lower<false>(j) - x.x;
    out.lower[1] = off_y ? -none : kept.template lower<true>(j) - x.y;
    out.lower[2] = from_east(out.lower[0]);
    out.upper[0] = off_x ? none : kept.template upper<false>(j) - x.x;
    out.upper[1] = off_y ? none : kept.template upper<true>(j) - x.y;
    out.upper[2] = from_east(out.upper[0]);
  }
  return out;
}

/* The place of a strip's slack in row j. */
template <int rim, bool within>
__device__ int64_t slack_place(const strip<rim, within> &s, int j) {
  return j / slack_rows * strips_of(s.width, rim) + s.across;
}

/* What the next level gets, gathered row by row. */
template <bool bounded, bool apart, bool within, typename Rows, typename Kept>
struct restriction {
  const Kept &kept;
  const Rows &rows;
  const cvtm_grid_level *coarse;
  int truncated;
  unsigned *slacks;
  gathered sum;
  unsigned slack;

  __device__ restriction(const Kept &rows_there, const Rows &kind, const cvtm_grid_level *level,
                         int is_truncated, unsigned *to_slacks)
      : kept(rows_there),
        rows(kind),
        coarse(level),
        truncated(is_truncated),
        slacks(to_slacks),
        sum(gather_none()),
        slack(slack_most) {}
  /* Row j, from the first one that the warp owns on, with its residuals. */
  template <bool odd>
  __device__ void take(int j, two x, two left) {
    const auto &s = kept.s;
    const yield_row fine =
        descend_row<bounded, apart>(kept, rows, truncated, coarse, j, x, left, &slack);
    if (!bounded && !Rows::stored && (j % slack_rows == slack_rows - 1 || j == s.end - 1)) {
      slack = __reduce_min_sync(0xffffffffU, slack);
      if ((threadIdx.x & 31) == 0 && j < s.end) slacks[slack_place(s, j)] = slack;
      slack = slack_most;
    }
    const int y = j / 2;
    if (!odd) { /* the last row of one support and the first of the next */
      gather<bounded, Rows::stored>(s, coarse, y - 1, j, fine, &sum);
      gather_store<bounded>(s, coarse, y - 1, sum);
      sum = gather_none();
    }
    gather<bounded, Rows::stored>(s, coarse, y, j, fine, &sum);
  }
};

template <bool bounded, bool within, typename Rows>
__device__ void descend_strip(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                              const Rows &rows, const cvtm_grid_level *coarse, int truncated,
                              unsigned *slacks) {
  using kept_rows_of = rows_kept<true, 3, false, strip<Rows::rim, within>>;
  const kept_rows_of kept(s, p, p->x, s.first - 3, s.end + 3);
  sweeping<within> m;
  restriction<bounded, false, within, Rows, kept_rows_of> below(kept, rows, coarse, truncated,
                                                                slacks);
  march(s.first - 3, s.end + 3, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    kept.arrive(j);
    m.template sweep<odd>(kept, rows, j, s.inside(j, kept.x(j)));
    kept.store(p->d, j - 2, m.x[2]);
    if (j - 3 < s.first) return;
    below.template take<!odd>(j - 3, m.x[3], m.template residuals<odd>(kept, rows, j));
  });
}

/* Blocks at a time on a multiprocessor: what their registers then have to do with. */
template <typename Rows>
constexpr int crowd() {
  return Rows::stored ? 2 : 4;
}

/* Smoothing, active nodes, and what the first coarse level gets: x -> d. The marks are 0. */
template <bool bounded, typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    descend_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse,
                  int truncated, int rows_each, unsigned *slacks) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  along(strip<Rows::rim>(p.width, p.height, rows_each), [&](const auto &s, auto within) {
    descend_strip<bounded, decltype(within)::value>(s, &p, rows, &coarse, truncated, slacks);
  });
}

/* --- up --- */

/* The coarse correction at column I of two coarse rows. */
struct coarse_rows {
  double north, here;
};

/* e of coarse row y; beyond a Neumann boundary it goes on as it is. */
template <bool within, int rim>
__device__ double load_coarse(const strip<rim, within> &s, const cvtm_grid_level *c, int y) {
  const int width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  if (within) return c->e[(y < height ? y : height - 1) * c->width + s.pair];
  const int x = s.pair < 0 ? 0 : s.pair < width ? s.pair : width - 1;
  const int row = y < 0 ? 0 : y < height ? y : height - 1;
  const double value = c->e[row * c->width + x];
  return c->neumann || (x == s.pair && row == y) ? value : 0.0;
}

/* The interpolated correction in row j. */
template <bool odd, bool stored, bool within, int rim>
__device__ two prolong_row(const strip<rim, within> &s, const cvtm_grid_level *c, int j,
                           const coarse_rows &e) {
  if constexpr (stored) {
    two out = both(0);
    if (s.row(j) && s.has_x()) out.x = cvtm_grid_interpolated(c, c->e, 2 * s.pair, j);
    if (s.row(j) && s.has_y()) out.y = cvtm_grid_interpolated(c, c->e, 2 * s.pair + 1, j);
    return out;
  }
  const double below = from_west(e.here) + e.here;
  if (odd) return two{0.5 * below, e.here};
  return two{0.25 * ((from_west(e.north) + e.north) + below), 0.5 * (e.north + e.here)};
}

/* The coarse correction, read a row ahead. */
struct correction {
  coarse_rows e;
  double coarse;

  template <typename Strip>
  __device__ correction(const Strip &s, const cvtm_grid_level *c, int j)
      : coarse(load_coarse(s, c, (j + 1) >> 1)) { /* j is odd, perhaps below 0 */
    e.north = 0;
    e.here = load_coarse(s, c, (j - 1) >> 1);
  }
  /* Where the correction leads from x in row j. */
  template <bool odd, bool stored, typename Kept>
  __device__ two next(const Kept &kept, const cvtm_grid_level *c, int j, two x, two *free) {
    const auto &s = kept.s;
    if (!odd) {
      e.north = e.here;
      e.here = coarse;
      if (!stored) coarse = load_coarse(s, c, (j >> 1) + 1);
    }
    const unsigned active = kept.flags(j);
    const two change = prolong_row<odd, stored>(s, c, j, e);
    *free = s.inside(j, two{active & 0xff ? 0.0 : change.x, active >> 8 ? 0.0 : change.y});
    return s.inside(j, two{active & 0xff ? x.x : clip<false>(kept, j, x.x + change.x),
                           active >> 8 ? x.y : clip<true>(kept, j, x.y + change.y)});
  }
};

/* r'd and d'Ad over a tile, where nodes may come to lie beyond their bounds. */
template <bool within, typename Rows>
__device__ void search_rows(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                            const Rows &rows, const cvtm_grid_level *coarse, double (&sum)[2]) {
  const rows_read<strip<Rows::rim, within>> kept = {s, p};
  correction from(s, coarse, s.first - 1);
  two x[3] = {both(0), both(0), both(0)}, step[3] = {both(0), both(0), both(0)};
  two over[2] = {both(0), both(0)};
  march(s.first - 1, s.end, [&](auto parity, int j) {
    x[2] = x[1];
    x[1] = x[0];
    step[2] = step[1];
    step[1] = step[0];
    over[1] = over[0];
    x[0] = s.inside(j, s.template load<false>(p->d, j));
    two q;
    const two moved =
        from.template next<decltype(parity)::value, Rows::stored>(kept, coarse, j, x[0], &q);
    step[0] = two{moved.x - x[0].x, moved.y - x[0].y};
    over[0] = Rows::stored ? step[0] : two{step[0].x - q.x, step[0].y - q.y};
    const cross cx = cross_of<false>(step[2], step[1], step[0]);
    const cross cy = cross_of<true>(step[2], step[1], step[0]);
    const double rx = residual<false, within>(kept, rows, j - 1, x[2], x[1], x[0]);
    const double ry = residual<true, within>(kept, rows, j - 1, x[2], x[1], x[0]);
    if (!s.owner || !s.owns_row(j - 1)) return;
    /* Outside the grid the step is 0. */
    if (!Rows::stored || s.has_x()) {
      const auto a = rows.template at<within>(p, 2 * s.pair, j - 1);
      sum[0] += over[1].x * rx;
      sum[1] += step[1].x * (a.diagonal * step[1].x - a.around(cx));
    }
    if (!Rows::stored || s.has_y()) {
      const auto a = rows.template at<within>(p, 2 * s.pair + 1, j - 1);
      sum[0] += over[1].y * ry;
      sum[1] += step[1].y * (a.diagonal * step[1].y - a.around(cy));
    }
  });
}

constexpr int search_tile = 8; /* rows */

/* The same where no node leaves its bounds: there d is the interpolated e of the coarse level, and
 * r'd its residual times e, so that x and b are not looked at. Returns 0 where some node may leave
 * them after all: then the slope lacks what is cut off there, and the bend the tile. */
template <bool within, typename Rows>
__device__ int search_free(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                           const Rows &rows, const cvtm_grid_level *c, const unsigned *slacks,
                           double (&sum)[2]) {
  constexpr int lines = search_tile / 2;
  const int y = s.first >> 1;
  double e[lines + 2], r[lines];
  unsigned cut[search_tile + 2], slack = slack_most, reach = 0;
#pragma unroll
  for (int k = 0; k < lines + 2; ++k) e[k] = load_coarse(s, c, y - 1 + k);
#pragma unroll
  for (int k = 0; k < search_tile + 2; ++k) cut[k] = s.load_flags(p->active, s.first - 1 + k);
#pragma unroll
  for (int k = 0; k < lines; ++k) {
    const bool owned = s.owner && s.pair < c->width && y + k < c->height;
    r[k] = owned ? c->r[(y + k) * c->width + s.pair] : 0.0;
  }
#pragma unroll
  for (int k = -slack_rows; k < search_tile + slack_rows; k += slack_rows) {
    const int j = s.first + k;
    if (j >= 0 && j < s.height) slack = min(slack, slacks[slack_place(s, j)]);
  }
  two step[search_tile + 2];
#pragma unroll
  for (int k = 0; k < search_tile + 2; ++k) {
    const int j = s.first - 1 + k;
    const coarse_rows at = {e[k > 0 ? (k - 1) / 2 : 0], e[(k + 1) / 2]};
    const two q =
        k & 1 ? prolong_row<false, false>(s, c, j, at) : prolong_row<true, false>(s, c, j, at);
    step[k] = s.inside(j, two{cut[k] & 0xff ? 0.0 : q.x, cut[k] >> 8 ? 0.0 : q.y});
    reach = max(reach, max(high_word(fabs(step[k].x)), high_word(fabs(step[k].y))));
  }
#pragma unroll
  for (int k = 0; k < lines; ++k) sum[0] += e[k + 1] * r[k];
  if (__any_sync(0xffffffffU, reach >= slack)) return 0;
#pragma unroll
  for (int k = 1; k <= search_tile; ++k) {
    const cross cx = cross_of<false>(step[k - 1], step[k], step[k + 1]);
    const cross cy = cross_of<true>(step[k - 1], step[k], step[k + 1]);
    if (!s.owner) continue;
    const auto ax = rows.template at<within>(p, 2 * s.pair, s.first - 1 + k);
    const auto ay = rows.template at<within>(p, 2 * s.pair + 1, s.first - 1 + k);
    sum[1] += step[k].x * (ax.diagonal * step[k].x - ax.around(cx));
    sum[1] += step[k].y * (ay.diagonal * step[k].y - ay.around(cy));
  }
  return 1;
}

/* Slope and bend of the correction. Every warp has every so-manieth tile. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    search_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse,
                 const unsigned *slacks, cvtm_grid_state *state, double *partial) {
  pdl_trigger_and_wait();
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  const int strips = static_cast<int>(strips_of(p.width, Rows::rim));
  const int64_t tiles = strips * ((p.height + search_tile - 1) / search_tile);
  double sum[2] = {0, 0};
  for (int64_t t = blockIdx.x * static_cast<int64_t>(march_warps) + (threadIdx.x >> 5); t < tiles;
       t += gridDim.x * march_warps) {
    const int across = static_cast<int>(t % strips);
    const strip<Rows::rim> place(p.width, p.height, across, t / strips * search_tile, search_tile);
    along(place, [&](const auto &s, auto within) {
      constexpr bool is = decltype(within)::value;
      if constexpr (!Rows::stored) {
        if (search_free<is>(s, &p, rows, &coarse, slacks, sum)) return;
      }
      search_rows<is>(s, &p, rows, &coarse, sum);
    });
  }
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

/* Adds the natural residual of one node, whose residual is `left`. */
template <bool second, bool within, typename Rows, typename Kept>
__device__ void add_natural(const Kept &kept, const Rows &rows, int j, double x, double left,
                            double (&sum)[3]) {
  const auto &s = kept.s;
  if (!(second ? s.has_y() : s.has_x()) || rows.masked(kept.p, s.place(j) + second)) return;
  const auto a = rows.template at<within>(kept.p, 2 * s.pair + second, j);
  const double r = x - clip<second>(kept, j, x + left);
  const double size = fabs(kept.template b<second>(j)) + 2 * fabs(a.diagonal * x);
  sum[0] += r * r;
  sum[1] += size * size;
  if (!(fabs(r) <= sum[2])) sum[2] = fabs(r);
}

/* Norms of the lane's nodes of row j. */
template <bool within, typename Rows, typename Kept>
__device__ void natural_row(const Kept &kept, const Rows &rows, int j, two x, two left,
                            double (&sum)[3]) {
  if (!kept.s.owner || !kept.s.owns_row(j)) return;
  add_natural<false, within>(kept, rows, j, x.x, left.x, sum);
  add_natural<true, within>(kept, rows, j, x.y, left.y, sum);
}

/* Row j of d, moved along the correction. */
template <bool odd, typename Rows, typename Kept>
__device__ two corrected(const Kept &kept, const Rows &rows, const cvtm_grid_level *coarse,
                         int searched, double step, int j, correction *from) {
  const auto &s = kept.s;
  const two x = s.inside(j, kept.x(j));
  two free;
  two moved = from->template next<odd, Rows::stored>(kept, coarse, j, x, &free);
  if (searched) {
    moved.x = clip<false>(kept, j, x.x + step * (moved.x - x.x));
    moved.y = clip<true>(kept, j, x.y + step * (moved.y - x.y));
    moved = s.inside(j, moved);
    if (Rows::stored && s.row(j)) {
      if (s.has_x() && rows.masked(kept.p, s.place(j))) moved.x = 0;
      if (s.has_y() && rows.masked(kept.p, s.place(j) + 1)) moved.y = 0;
    }
  }
  return moved;
}

template <bool within, typename Rows>
__device__ void ascend_strip(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                             const Rows &rows, const cvtm_grid_level *coarse, int searched,
                             double step, double (&sum)[3]) {
  const rows_kept<true, 3, false, strip<Rows::rim, within>> kept(s, p, p->d, s.first - 3,
                                                                 s.end + 2);
  sweeping<within> m;
  correction from(s, coarse, s.first - 3);
  march(s.first - 3, s.end + 2, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    kept.arrive(j);
    m.template sweep<odd>(kept, rows, j,
                          corrected<odd>(kept, rows, coarse, searched, step, j, &from));
    kept.store(p->x, j - 2, m.x[2]);
    const two left = m.template residuals<odd>(kept, rows, j);
    natural_row<within>(kept, rows, j - 3, m.x[3], left, sum);
  });
}

/* The step along the correction, smoothing, norms: d -> x. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    ascend_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, int searched,
                 int rows_each, cvtm_grid_state *state, double *partial, double *history,
                 int claimed, cudaGraphConditionalHandle handle) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = searched ? cvtm_grid_line_search_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  along(strip<Rows::rim>(p.width, p.height, rows_each), [&](const auto &s, auto within) {
    ascend_strip<decltype(within)::value>(s, &p, rows, &coarse, searched, step, sum);
  });
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* ascend and the next cycle's descend in one march: the iterate between them, whose norms these
 * are, is not stored. */
template <bool bounded, bool easy, bool within, typename Rows>
__device__ void turn_strip(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                           const Rows &rows, const cvtm_grid_level *coarse,
                           const cvtm_grid_rules &rules, double step, unsigned *slacks,
                           double (&sum)[3]) {
  using kept_rows_of = rows_kept<true, 2, easy, strip<Rows::rim, within>>;
  const kept_rows_of kept(s, p, p->d, s.first - 5, s.end + 5);
  sweeping<within> up, down;
  correction from(s, coarse, s.first - 5);
  restriction<bounded, true, within, Rows, kept_rows_of> below(kept, rows, coarse, rules.truncated,
                                                               slacks);
  march(s.first - 5, s.end + 5, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    kept.arrive(j);
    up.template sweep<odd>(kept, rows, j,
                           corrected<odd>(kept, rows, coarse, rules.searched, step, j, &from));
    down.template sweep<odd>(kept, rows, j - 2, up.x[2]);
    const two left = odd ? two{down.before, up.left} : two{up.left, down.before};
    natural_row<within>(kept, rows, j - 3, up.x[3], left, sum);
    kept.store(p->x, j - 4, down.x[2]);
    if (j - 5 < s.first) return;
    below.template take<!odd>(j - 5, down.x[3], down.template residuals<odd>(kept, rows, j - 2));
  });
}

/* From the end of a cycle to the coarse levels of the next: d -> x, which then change places, as
 * the two arrays of active nodes do. */
template <bool bounded, typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    turn_march(cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, cvtm_grid_rules rules,
               int rows_each, unsigned *slacks, cvtm_grid_state *state, double *partial,
               double *history, int claimed, cudaGraphConditionalHandle handle) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = rules.searched ? cvtm_grid_line_search_step(state) : 1.0;
  const strip<Rows::rim> any(p.width, p.height, rows_each);
  const bool easy =
      p.lower && !p.upper && any.wide(p.x) && any.wide(p.d) && any.wide(p.b) && any.wide(p.lower);
  double sum[3] = {0, 0, 0};
  const auto turn = [&](const auto &s, auto within) {
    constexpr bool is = decltype(within)::value;
    if (is && easy) {
      turn_strip<bounded, is, is>(s, &p, rows, &coarse, rules, step, slacks, sum);
    } else {
      turn_strip<bounded, false, is>(s, &p, rows, &coarse, rules, step, slacks, sum);
    }
  };
  along(any, turn, 9); /* five rows, and two for each of the sweeps that follow them */
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  problem->x = p.d;
  problem->d = p.x;
  problem->active = p.active_next;
  problem->active_next = p.active;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* The iterate that the last turn has measured, if there was one: in d. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    settle_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, int searched,
                 int rows_each, const cvtm_grid_state *state) {
  pdl_trigger_and_wait();
  if (state->loop.iteration == 0) return;
  cvtm_grid_problem p = *problem;
  p.d = problem->x; /* as before that turn */
  p.x = problem->d;
  p.active = problem->active_next;
  const double step = searched ? cvtm_grid_line_search_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  along(strip<Rows::rim>(p.width, p.height, rows_each), [&](const auto &s, auto within) {
    ascend_strip<decltype(within)::value>(s, &p, rows, &coarse, searched, step, sum);
  });
}

template <bool within, typename Rows>
__device__ void measure_strip(const strip<Rows::rim, within> &s, const cvtm_grid_problem *p,
                              const Rows &rows, const double *x, double (&sum)[3]) {
  const rows_kept<false, 3, false, strip<Rows::rim, within>> kept(s, p, x, s.first - 1, s.end);
  two row[3] = {both(0), both(0), both(0)};
  march(s.first - 1, s.end, [&](auto, int j) {
    row[2] = row[1];
    row[1] = row[0];
    kept.arrive(j);
    row[0] = s.inside(j, kept.x(j));
    const two left = {residual<false, within>(kept, rows, j - 1, row[2], row[1], row[0]),
                      residual<true, within>(kept, rows, j - 1, row[2], row[1], row[0])};
    natural_row<within>(kept, rows, j - 1, row[1], left, sum);
  });
}

enum measured { MEASURE_COLD, MEASURE_START, MEASURE_COUNTED };

/* Norms at x (or d), as ascend takes them. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads, crowd<Rows>())
    measure_march(const cvtm_grid_problem *problem, Rows rows, int rows_each, measured what,
                  cvtm_grid_state *state, double *partial, double *history) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD ? p.d : p.x;
  double sum[3] = {0, 0, 0};
  along(strip<Rows::rim>(p.width, p.height, rows_each), [&](const auto &s, auto within) {
    measure_strip<decltype(within)::value>(s, &p, rows, x, sum);
  });
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  if (what == MEASURE_COLD) {
    state->cold_norm = sqrt(sum[0]);
  } else {
    cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], what == MEASURE_COUNTED);
  }
}

} /* namespace */

#endif
