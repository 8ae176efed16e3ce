/* Inside grid_cuda.cu only: phases in which a warp marches down a strip of the grid, a few rows
 * at a time in its registers. A lane holds the columns 2 I and 2 I + 1, so that it meets one
 * node of each colour in a row, and coarse column I is its own. Neighbours are shuffled; no
 * warp waits for another. The lanes at the rim of a strip only lend their values. */
#ifndef CVTMESH_LCP_GRID_CUDA_MARCH_H
#define CVTMESH_LCP_GRID_CUDA_MARCH_H

#include "lcp/grid_cycle.h"

#include <type_traits>

namespace {

constexpr int march_rim = 2, march_pairs = 32 - 2 * march_rim;
constexpr int down_pairs = march_pairs - 1; /* four colours and a residual reach one further */
constexpr int march_warps = 4, march_threads = 32 * march_warps;

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

/* A warp's way: lanes beyond the grid read its nearest nodes and hold 0 in their stead. */
struct strip {
  int width, height, pair, first, end; /* pair: I; the warp owns rows first (even) .. end - 1 */
  int column_x, column_y;              /* the lane's columns, moved into the grid */
  bool has_x, has_y;                   /* are they in the grid anyway? */
  bool owner;                          /* does the lane own them? */

  /* pairs: what a warp owns between march_rim lanes before and the others behind. */
  __device__ strip(int64_t nodes_x, int64_t nodes_y, int rows, int pairs)
      : width(static_cast<int>(nodes_x)), height(static_cast<int>(nodes_y)) {
    const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) >> 5;
    const int64_t x =
        2 * ((blockIdx.x * static_cast<int64_t>(march_warps) + warp) * pairs + lane - march_rim);
    pair = static_cast<int>(x / 2);
    first = static_cast<int>((blockIdx.z * static_cast<int64_t>(gridDim.y) + blockIdx.y) * rows);
    end = height - first > rows ? first + rows : height;
    has_x = x >= 0 && x < nodes_x;
    has_y = x >= 0 && x + 1 < nodes_x;
    column_x = static_cast<int>(x < 0 ? 0 : has_x ? x : nodes_x - 1 - !(nodes_x & 1));
    column_y = has_y || (nodes_x & 1) == 0 ? column_x + 1 : column_x;
    owner = lane >= march_rim && lane < march_rim + pairs;
  }

  __device__ bool row(int j) const {
    return static_cast<unsigned>(j) < static_cast<unsigned>(height);
  }
  __device__ bool owns_row(int j) const { return j >= first && j < end; }
  /* Where row j begins, or the nearest row of the grid. */
  __device__ int64_t start(int j) const {
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
  /* Asks the L2 cache for row j. */
  __device__ void prefetch(const void *array, int size, int j) const {
    const char *at = static_cast<const char *>(array) + size * (start(j) + column_x);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
  }
  /* 0 outside the grid. */
  __device__ two inside(int j, two value) const {
    return two{has_x && row(j) ? value.x : 0.0, has_y && row(j) ? value.y : 0.0};
  }
  /* Row j as far as the warp owns it. */
  template <bool is_wide>
  __device__ void store(double *array, int j, two value) const {
    if (!owner || !owns_row(j)) return;
    double *at = array + place(j);
    if (is_wide) {
      if (has_x) *reinterpret_cast<double2 *>(at) = make_double2(value.x, value.y);
      return;
    }
    if (has_x) at[0] = value.x;
    if (has_y) at[1] = value.y;
  }
  /* Flags of both columns: bits 0-7 and 8-15. */
  __device__ unsigned load_flags(const uint8_t *array, int j) const {
    const uint8_t *at = array + start(j);
    if ((width & 1) == 0) return *reinterpret_cast<const uint16_t *>(at + column_x);
    return at[column_x] | at[column_y] << 8;
  }
};

/* --- kinds of five-point problems --- */

/* A constant operator with a Dirichlet boundary, the same at every node. inverse: of its
 * diagonal where that is a power of two, so that multiplying gives the bits of dividing;
 * else 0. */
struct uniform_rows {
  static constexpr bool stored = false; /* are there links or a mask in memory? */
  double link, diagonal, inverse;
  __device__ double links(const cvtm_grid_problem *, int64_t, int64_t, double (&to)[4]) const {
    to[0] = to[1] = to[2] = to[3] = link;
    return diagonal;
  }
  __device__ double divide(double sum, double, double) const {
    return inverse > 0 ? sum * inverse : sum / diagonal;
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

/* A constant operator whose rows differ at the boundary. */
struct framed_rows {
  static constexpr bool stored = false;
  double link, outer, own;
  double diagonal[3], inverse[3]; /* inside, at a side, at a corner */
  __device__ double links(const cvtm_grid_problem *p, int64_t i, int64_t j, double (&to)[4]) const {
    /* Beyond the boundary values are 0: there, links matter to the diagonal alone. */
    to[0] = to[1] = to[2] = to[3] = link;
    const double across = (i > 0 ? link : outer) + (i + 1 < p->width ? link : outer);
    const double down = (j > 0 ? link : outer) + (j + 1 < p->height ? link : outer);
    return own + (across + down);
  }
  __device__ double divide(double sum, double by, double) const {
    return sum * (by == diagonal[0] ? inverse[0] : by == diagonal[1] ? inverse[1] : inverse[2]);
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

/* The same with a diagonal of its own at each node. */
struct weighted_rows {
  static constexpr bool stored = false;
  double link, outer;
  __device__ double links(const cvtm_grid_problem *p, int64_t i, int64_t j, double (&to)[4]) const {
    const int width = static_cast<int>(p->width), height = static_cast<int>(p->height);
    const int x = static_cast<int>(i), y = static_cast<int>(j);
    const int64_t row = y < 0 ? 0 : y < height ? y : height - 1; /* beyond, any value does */
    to[0] = to[1] = to[2] = to[3] = link;
    const double across = (x > 0 ? link : outer) + (x + 1 < width ? link : outer);
    const double down = (y > 0 ? link : outer) + (y + 1 < height ? link : outer);
    return p->diagonal[row * width + (x < 0 ? 0 : x < width ? x : width - 1)] + (across + down);
  }
  __device__ double divide(double sum, double by, double old) const {
    return by > 0 ? sum / by : old;
  }
  __device__ bool masked(const cvtm_grid_problem *, int64_t) const { return false; }
};

struct stored_rows {
  static constexpr bool stored = true;
  __device__ double links(const cvtm_grid_problem *p, int64_t i, int64_t j, double (&to)[4]) const {
    return cvtm_grid_links(p, i, j, to);
  }
  __device__ double divide(double sum, double diagonal, double old) const {
    return diagonal > 0 ? sum / diagonal : old;
  }
  __device__ bool masked(const cvtm_grid_problem *p, int64_t k) const {
    return cvtm_grid_masked(p, k);
  }
};

/* --- one row --- */

/* Around one of a lane's two nodes. */
struct cross {
  double west, east, north, south;
};

template <bool second>
__device__ double node_of(two row) {
  return second ? row.y : row.x;
}

template <bool second>
__device__ cross cross_of(two north, two row, two south) {
  const double beside = second ? from_east(row.x) : from_west(row.y);
  return second ? cross{row.x, beside, north.y, south.y} : cross{beside, row.y, north.x, south.x};
}

__device__ double weigh(const cross &c, const double (&link)[4]) {
  return (link[0] * c.west + link[1] * c.east) + (link[2] * c.north + link[3] * c.south);
}

/* What a row of the five-point problem has beside x, on its way through a march. Upper bounds
 * are rare: they are read again where they are needed. */
struct row_data {
  two b, lower;
};

template <bool wide>
__device__ row_data load_data(const strip &s, const cvtm_grid_problem *p, int j) {
  row_data data = {s.load<wide>(p->b, j), both(-static_cast<double>(INFINITY))};
  if (p->lower) data.lower = s.load<wide>(p->lower, j);
  return data;
}

/* The value of the lane's first or second node of row j moved into its bounds. */
template <bool second>
__device__ double clip(const strip &s, const cvtm_grid_problem *p, int j, double value, two lower) {
  const double low = node_of<second>(lower);
  value = value < low ? low : value;
  if (p->upper) {
    const double high = p->upper[s.start(j) + (second ? s.column_y : s.column_x)];
    value = value > high ? high : value;
  }
  return value;
}

/* Is the value at a bound? */
template <bool second>
__device__ bool bound(const strip &s, const cvtm_grid_problem *p, int j, double value, two lower) {
  return value <= node_of<second>(lower) ||
         (p->upper && value >= p->upper[s.start(j) + (second ? s.column_y : s.column_x)]);
}

/* Projected Gauss-Seidel at the lane's first or second node of row j, in place. */
template <bool second, typename Rows>
__device__ void relax(const strip &s, const cvtm_grid_problem *p, const Rows &rows, int j,
                      two north, two &row, two south, const row_data &d) {
  const cross c = cross_of<second>(north, row, south);
  double &value = second ? row.y : row.x;
  if (Rows::stored && (!s.row(j) || !(second ? s.has_y : s.has_x))) return;
  if (Rows::stored && rows.masked(p, s.place(j) + second)) return;
  double link[4];
  const double diagonal = rows.links(p, 2 * s.pair + second, j, link);
  const double sum = node_of<second>(d.b) + weigh(c, link);
  const double relaxed = clip<second>(s, p, j, rows.divide(sum, diagonal, value), d.lower);
  value = s.row(j) && (second ? s.has_y : s.has_x) ? relaxed : 0.0;
}

/* A x at the lane's nodes of row j, as diagonal times x and the sum over the neighbours. */
struct product {
  two held, around;
};

template <typename Rows>
__device__ product multiply(const strip &s, const cvtm_grid_problem *p, const Rows &rows, int j,
                            two north, two row, two south) {
  const cross x = cross_of<false>(north, row, south), y = cross_of<true>(north, row, south);
  product out = {both(0), both(0)};
  double link[4];
  if (!Rows::stored || (s.row(j) && s.has_x)) {
    out.held.x = rows.links(p, 2 * s.pair, j, link) * row.x;
    out.around.x = weigh(x, link);
  }
  if (!Rows::stored || (s.row(j) && s.has_y)) {
    out.held.y = rows.links(p, 2 * s.pair + 1, j, link) * row.y;
    out.around.y = weigh(y, link);
  }
  return out;
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
template <bool bounded, bool stored>
__device__ void gather(const strip &s, const cvtm_grid_level *c, int y, int j,
                       const yield_row &fine, gathered *sum) {
  const int x = s.pair, width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  double weight[3], down = 1;
  if constexpr (stored) {
    if (y < 0 || y >= height || x < 0 || x >= width || j >= s.height) return;
    for (int d = 0; d < 3; ++d) {
      weight[d] = 2 * x + d < s.width ? cvtm_grid_basis(c, x, y, 2 * x + d, j) : 0.0;
    }
  } else {
    const bool last = y + 1 == height && j == 2 * y + 2;
    down = (j & 1) || (c->neumann && (j == 0 || last)) ? 1.0 : 0.5;
    weight[0] = c->neumann && x == 0 ? 1.0 : 0.5;
    weight[1] = 1;
    weight[2] = c->neumann && x + 1 == width ? 1.0 : 0.5;
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

template <bool bounded>
__device__ void gather_store(const strip &s, const cvtm_grid_level *c, int y, const gathered &sum) {
  if (!s.owner || s.pair >= c->width || y >= c->height || !s.owns_row(2 * y)) return;
  const int64_t k = y * c->width + s.pair;
  c->r[k] = sum.residual;
  if (!bounded) return;
  c->lower[k] = sum.lower;
  c->upper[k] = sum.upper;
}

/* Rows between what a march works on and what it asks the L2 cache for. */
constexpr int ahead = 5;

__device__ void prefetch(const strip &s, const cvtm_grid_problem *p, const double *x, int j) {
  s.prefetch(x, sizeof(double), j);
  s.prefetch(p->b, sizeof(double), j);
  if (p->lower) s.prefetch(p->lower, sizeof(double), j);
  if (p->diagonal) s.prefetch(p->diagonal, sizeof(double), j);
}

/* Can all arrays of a problem be read 16 bytes at a time? */
__device__ bool all_wide(const strip &s, const cvtm_grid_problem *p) {
  return s.wide(p->x) && s.wide(p->d) && s.wide(p->b) && s.wide(p->lower) && s.wide(p->upper);
}

/* Rows on their way through a red-black sweep: x of rows j .. j - 4, the others of j .. j - 3. */
struct sweeping {
  two x[5];
  row_data at[4];

  __device__ sweeping() {
    for (int k = 0; k < 5; ++k) x[k] = both(0);
    for (int k = 0; k < 4; ++k) at[k] = row_data{both(0), both(0)};
  }
  /* Makes room for row j; the caller fills x[0] and at[0] or, before the next one, at[1]. */
  __device__ void shift() {
#pragma unroll
    for (int k = 4; k > 0; --k) x[k] = x[k - 1];
#pragma unroll
    for (int k = 3; k > 0; --k) at[k] = at[k - 1];
  }
  /* The sweep moves on: red in row j - 1, black in row j - 2. */
  template <bool odd, typename Rows>
  __device__ void sweep(const strip &s, const cvtm_grid_problem *p, const Rows &rows, int j) {
    relax<!odd>(s, p, rows, j - 1, x[2], x[1], x[0], at[1]);
    relax<!odd>(s, p, rows, j - 2, x[3], x[2], x[1], at[2]);
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

/* Is a value at a bound? */
__device__ bool at_bound(double x, double lower, double upper) { return x <= lower || x >= upper; }

/* Keeps the active nodes of a lane whose nodes of row j have changed, and marks the coarse nodes
 * whose bases hold them; all write the same 1. Seldom called, so not part of the march. */
__device__ __noinline__ void keep_active(uint8_t *active, uint8_t *marked, int64_t coarse_width,
                                         int64_t coarse_height, int pair, int j, unsigned before,
                                         unsigned now) {
  const bool x_changed = (before & 0xff) != (now & 0xff);
  if (x_changed) active[0] = static_cast<uint8_t>(now);
  if (before >> 8 != now >> 8) active[1] = static_cast<uint8_t>(now >> 8);
  for (int y = j / 2 - !(j & 1); y <= j / 2; ++y) {
    if (y < 0 || y >= coarse_height) continue;
    uint8_t *row = marked + y * coarse_width;
    if (pair < coarse_width) row[pair] = 1;
    if (x_changed && pair > 0) row[pair - 1] = 1;
  }
}

/* What row j yields, and its active nodes. */
template <bool bounded, typename Rows>
__device__ yield_row descend_row(const strip &s, const cvtm_grid_problem *p, const Rows &rows,
                                 int truncated, const cvtm_grid_level *coarse, int j, two north,
                                 two x, two south, const row_data &d, unsigned before) {
  const product ax = multiply(s, p, rows, j, north, x, south);
  const bool has_x = s.has_x && s.row(j), has_y = s.has_y && s.row(j);
  bool off_x = has_x && truncated && bound<false>(s, p, j, x.x, d.lower);
  bool off_y = has_y && truncated && bound<true>(s, p, j, x.y, d.lower);
  if (Rows::stored) {
    off_x = off_x || (has_x && rows.masked(p, s.place(j)));
    off_y = off_y || (has_y && rows.masked(p, s.place(j) + 1));
  }
  const unsigned now = (off_x ? 1U : 0U) | (off_y ? 256U : 0U);
  before &= (s.has_x ? 0xffU : 0U) | (s.has_y ? 0xff00U : 0U);
  if (s.owner && s.owns_row(j) && before != now) {
    keep_active(p->active + s.place(j), coarse->marked, coarse->width, coarse->height, s.pair, j,
                before, now);
  }
  off_x = off_x || !has_x;
  off_y = off_y || !has_y;
  const double none = static_cast<double>(INFINITY);
  yield_row out;
  out.residual[0] = off_x ? 0.0 : (d.b.x + ax.around.x) - ax.held.x;
  out.residual[1] = off_y ? 0.0 : (d.b.y + ax.around.y) - ax.held.y;
  out.residual[2] = from_east(out.residual[0]);
  if (bounded) {
    out.lower[0] = off_x ? -none : d.lower.x - x.x;
    out.lower[1] = off_y ? -none : d.lower.y - x.y;
    out.lower[2] = from_east(out.lower[0]);
    const two upper = p->upper ? s.load<false>(p->upper, j) : both(none);
    out.upper[0] = off_x ? none : upper.x - x.x;
    out.upper[1] = off_y ? none : upper.y - x.y;
    out.upper[2] = from_east(out.upper[0]);
  }
  return out;
}

template <bool bounded, bool wide, typename Rows>
__device__ void descend_strip(const strip &s, const cvtm_grid_problem *p, const Rows &rows,
                              const cvtm_grid_level *coarse, int truncated) {
  sweeping m;
  gathered sum = gather_none();
  unsigned before[3] = {0, 0, 0};
  two asked = s.load<wide>(p->x, s.first - 3);
  row_data data = load_data<wide>(s, p, s.first - 4);
  unsigned flags = s.load_flags(p->active, s.first - 4);
  march(s.first - 3, s.end + 3, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    m.shift();
    m.x[0] = s.inside(j, asked);
    m.at[1] = data;
    before[2] = before[1];
    before[1] = before[0];
    before[0] = flags;
    asked = s.load<wide>(p->x, j + 1);
    data = load_data<wide>(s, p, j);
    flags = s.load_flags(p->active, j);
    prefetch(s, p, p->x, j + ahead);
    m.template sweep<odd>(s, p, rows, j);
    s.store<wide>(p->d, j - 2, m.x[2]);
    if (j - 3 < s.first) return;
    const yield_row fine = descend_row<bounded>(s, p, rows, truncated, coarse, j - 3, m.x[4],
                                                m.x[3], m.x[2], m.at[3], before[2]);
    const int y = (j - 3) / 2;
    if (odd) { /* the last row of one support and the first of the next */
      gather<bounded, Rows::stored>(s, coarse, y - 1, j - 3, fine, &sum);
      gather_store<bounded>(s, coarse, y - 1, sum);
      sum = gather_none();
    }
    gather<bounded, Rows::stored>(s, coarse, y, j - 3, fine, &sum);
  });
}

/* Smoothing, active nodes, and what the first coarse level gets: x -> d. The marks are 0. */
template <bool bounded, typename Rows>
__global__ void __launch_bounds__(march_threads)
    descend_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse,
                  int truncated, int rows_each) {
  const cvtm_grid_problem p = *problem;
  const strip s(p.width, p.height, rows_each, march_pairs);
  if (all_wide(s, &p)) {
    descend_strip<bounded, true>(s, &p, rows, &coarse, truncated);
  } else {
    descend_strip<bounded, false>(s, &p, rows, &coarse, truncated);
  }
}

/* --- up --- */

/* The coarse correction at column I of two coarse rows. */
struct coarse_rows {
  double north, here;
};

/* e of coarse row y; beyond a Neumann boundary it goes on as it is. */
__device__ double load_coarse(const strip &s, const cvtm_grid_level *c, int y) {
  const int width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  const int x = s.pair < 0 ? 0 : s.pair < width ? s.pair : width - 1;
  const int row = y < 0 ? 0 : y < height ? y : height - 1;
  const double value = c->e[row * c->width + x];
  return c->neumann || (x == s.pair && row == y) ? value : 0.0;
}

/* The interpolated correction in row j. */
template <bool odd, bool stored>
__device__ two prolong_row(const strip &s, const cvtm_grid_level *c, int j, const coarse_rows &e) {
  if constexpr (stored) {
    two out = both(0);
    if (s.row(j) && s.has_x) out.x = cvtm_grid_prolonged(c, c->e, 2 * s.pair, j);
    if (s.row(j) && s.has_y) out.y = cvtm_grid_prolonged(c, c->e, 2 * s.pair + 1, j);
    return out;
  }
  const double below = from_west(e.here) + e.here;
  if (odd) return two{0.5 * below, e.here};
  return two{0.25 * ((from_west(e.north) + e.north) + below), 0.5 * (e.north + e.here)};
}

/* Reads d (the smoothed x) and the coarse correction row by row, one row ahead. */
template <bool wide, bool stored>
struct correction {
  two asked;
  row_data data;
  unsigned flags;
  coarse_rows e;
  double coarse;

  __device__ correction(const strip &s, const cvtm_grid_problem *p, const cvtm_grid_level *c, int j)
      : asked(s.load<wide>(p->d, j)),
        data(load_data<wide>(s, p, j)),
        flags(s.load_flags(p->active, j)),
        coarse(load_coarse(s, c, (j + 1) >> 1)) { /* j is odd, perhaps below 0 */
    e.north = 0;
    e.here = load_coarse(s, c, (j - 1) >> 1);
  }
  /* d of row j, its data, and where the correction leads; asks for the next row. */
  template <bool odd>
  __device__ two next(const strip &s, const cvtm_grid_problem *p, const cvtm_grid_level *c, int j,
                      two *x, row_data *now) {
    if (!odd) {
      e.north = e.here;
      e.here = coarse;
    }
    const unsigned active = flags;
    *x = s.inside(j, asked);
    *now = data;
    asked = s.load<wide>(p->d, j + 1);
    data = load_data<wide>(s, p, j + 1);
    flags = s.load_flags(p->active, j + 1);
    prefetch(s, p, p->d, j + ahead);
    if (!odd && !stored) coarse = load_coarse(s, c, (j >> 1) + 1);
    const two change = prolong_row<odd, stored>(s, c, j, e);
    return s.inside(j, two{active & 0xff ? x->x : clip<false>(s, p, j, x->x + change.x, now->lower),
                           active >> 8 ? x->y : clip<true>(s, p, j, x->y + change.y, now->lower)});
  }
};

template <bool wide, typename Rows>
__device__ void search_strip(const strip &s, const cvtm_grid_problem *p, const Rows &rows,
                             const cvtm_grid_level *coarse, double (&sum)[2]) {
  correction<wide, Rows::stored> from(s, p, coarse, s.first - 1);
  two x[3] = {both(0), both(0), both(0)}, step[3] = {both(0), both(0), both(0)};
  two b = both(0), next_b = both(0);
  march(s.first - 1, s.end, [&](auto parity, int j) {
    row_data data;
    x[2] = x[1];
    x[1] = x[0];
    step[2] = step[1];
    step[1] = step[0];
    b = next_b;
    const two moved = from.template next<decltype(parity)::value>(s, p, coarse, j, &x[0], &data);
    next_b = data.b;
    step[0] = two{moved.x - x[0].x, moved.y - x[0].y};
    const product ax = multiply(s, p, rows, j - 1, x[2], x[1], x[0]);
    const product ad = multiply(s, p, rows, j - 1, step[2], step[1], step[0]);
    if (!s.owner || !s.owns_row(j - 1)) return;
    /* Outside the grid the step is 0. */
    sum[0] += step[1].x * ((b.x + ax.around.x) - ax.held.x);
    sum[1] += step[1].x * (ad.held.x - ad.around.x);
    sum[0] += step[1].y * ((b.y + ax.around.y) - ax.held.y);
    sum[1] += step[1].y * (ad.held.y - ad.around.y);
  });
}

/* Slope and bend of the correction. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads)
    search_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, int rows_each,
                 cvtm_grid_state *state, double *partial) {
  if (!state->search) return;
  const cvtm_grid_problem p = *problem;
  const strip s(p.width, p.height, rows_each, march_pairs);
  double sum[2] = {0, 0};
  if (all_wide(s, &p)) {
    search_strip<true>(s, &p, rows, &coarse, sum);
  } else {
    search_strip<false>(s, &p, rows, &coarse, sum);
  }
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->bend = sum[1];
}

/* Adds the natural residual of one node. */
template <bool second>
__device__ void add_natural(const strip &s, const cvtm_grid_problem *p, int j, double (&sum)[3],
                            double x, double held, double around, const row_data &d) {
  const double b = node_of<second>(d.b), f = held - (b + around);
  const double r = x - clip<second>(s, p, j, x - f, d.lower);
  const double size = fabs(b) + 2 * fabs(held);
  sum[0] += r * r;
  sum[1] += size * size;
  if (!(fabs(r) <= sum[2])) sum[2] = fabs(r);
}

/* Norms of the lane's nodes of row j, whose neighbours' rows are final. */
template <typename Rows>
__device__ void natural_row(const strip &s, const cvtm_grid_problem *p, const Rows &rows, int j,
                            two north, two x, two south, const row_data &d, double (&sum)[3]) {
  const product ax = multiply(s, p, rows, j, north, x, south);
  if (!s.owner || !s.owns_row(j)) return;
  if (s.has_x && !rows.masked(p, s.place(j))) {
    add_natural<false>(s, p, j, sum, x.x, ax.held.x, ax.around.x, d);
  }
  if (s.has_y && !rows.masked(p, s.place(j) + 1)) {
    add_natural<true>(s, p, j, sum, x.y, ax.held.y, ax.around.y, d);
  }
}

template <bool wide, typename Rows>
__device__ void ascend_strip(const strip &s, const cvtm_grid_problem *p, const Rows &rows,
                             const cvtm_grid_level *coarse, int searched, double step,
                             double (&sum)[3]) {
  sweeping m;
  correction<wide, Rows::stored> from(s, p, coarse, s.first - 3);
  march(s.first - 3, s.end + 2, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    two x;
    m.shift();
    two moved = from.template next<odd>(s, p, coarse, j, &x, &m.at[0]);
    if (searched) {
      moved.x = clip<false>(s, p, j, x.x + step * (moved.x - x.x), m.at[0].lower);
      moved.y = clip<true>(s, p, j, x.y + step * (moved.y - x.y), m.at[0].lower);
      moved = s.inside(j, moved);
      if (Rows::stored && s.row(j)) {
        if (s.has_x && rows.masked(p, s.place(j))) moved.x = 0;
        if (s.has_y && rows.masked(p, s.place(j) + 1)) moved.y = 0;
      }
    }
    m.x[0] = moved;
    m.template sweep<odd>(s, p, rows, j);
    s.store<wide>(p->x, j - 2, m.x[2]);
    natural_row(s, p, rows, j - 3, m.x[4], m.x[3], m.x[2], m.at[3], sum);
  });
}

/* The step along the correction, smoothing, norms: d -> x. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads)
    ascend_march(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, int searched,
                 int rows_each, cvtm_grid_state *state, double *partial, double *history) {
  const cvtm_grid_problem p = *problem;
  const strip s(p.width, p.height, rows_each, march_pairs);
  const double step = searched ? cvtm_grid_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  if (all_wide(s, &p)) {
    ascend_strip<true>(s, &p, rows, &coarse, searched, step, sum);
  } else {
    ascend_strip<false>(s, &p, rows, &coarse, searched, step, sum);
  }
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
}

template <bool wide, typename Rows>
__device__ void measure_strip(const strip &s, const cvtm_grid_problem *p, const Rows &rows,
                              const double *x, double (&sum)[3]) {
  two row[3] = {both(0), both(0), both(0)};
  two asked = s.load<wide>(x, s.first - 1);
  row_data data = load_data<wide>(s, p, s.first - 2);
  march(s.first - 1, s.end, [&](auto, int j) {
    row[2] = row[1];
    row[1] = row[0];
    row[0] = s.inside(j, asked);
    const row_data now = data;
    asked = s.load<wide>(x, j + 1);
    data = load_data<wide>(s, p, j);
    prefetch(s, p, x, j + ahead);
    natural_row(s, p, rows, j - 1, row[2], row[1], row[0], now, sum);
  });
}

/* Norms at x (or d), as ascend takes them. */
template <typename Rows>
__global__ void __launch_bounds__(march_threads)
    measure_march(const cvtm_grid_problem *problem, Rows rows, int rows_each, measured what,
                  cvtm_grid_state *state, double *partial, double *history) {
  const cvtm_grid_problem p = *problem;
  const strip s(p.width, p.height, rows_each, march_pairs);
  const double *x = what == MEASURE_COLD ? p.d : p.x;
  double sum[3] = {0, 0, 0};
  if (all_wide(s, &p)) {
    measure_strip<true>(s, &p, rows, x, sum);
  } else {
    measure_strip<false>(s, &p, rows, x, sum);
  }
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  if (what == MEASURE_COLD) {
    state->cold = sqrt(sum[0]);
  } else {
    cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], what == MEASURE_COUNTED);
  }
}

/* --- coarse levels --- */

/* Links of a coarse row. */
struct link_row {
  two diagonal, east, south, south_east, south_west;
};

/* What a known row has in one place. */
__device__ two known(unsigned kind_x, unsigned kind_y, double plain) {
  return two{kind_x == CVTM_GRID_PLAIN ? plain : 0.0, kind_y == CVTM_GRID_PLAIN ? plain : 0.0};
}

/* With no diagonal, and so no value, outside the grid. kinds: of the lane's rows; where a warp
 * knows them all, nothing is loaded. */
template <bool wide>
__device__ link_row load_links(const strip &s, const cvtm_grid_level *level,
                               const cvtm_grid_plain &plain, int y, unsigned kinds) {
  const int64_t plane = level->width * level->height;
  const unsigned kind_x = s.has_x && s.row(y) ? kinds & 0xff : CVTM_GRID_EMPTY;
  const unsigned kind_y = s.has_y && s.row(y) ? kinds >> 8 : CVTM_GRID_EMPTY;
  if (__all_sync(0xffffffffU, kind_x != CVTM_GRID_ANY && kind_y != CVTM_GRID_ANY)) {
    const two side = known(kind_x, kind_y, plain.side);
    const two corner = known(kind_x, kind_y, plain.corner);
    return link_row{known(kind_x, kind_y, plain.diagonal), side, side, corner, corner};
  }
  const double *at = level->coefficient;
  link_row links;
  links.diagonal = s.inside(y, s.load<wide>(at, y));
  links.east = s.load<wide>(at + CVTM_GRID_EAST * plane, y);
  links.south = s.load<wide>(at + CVTM_GRID_SOUTH * plane, y);
  links.south_east = s.load<wide>(at + CVTM_GRID_SOUTH_EAST * plane, y);
  links.south_west = s.load<wide>(at + CVTM_GRID_SOUTH_WEST * plane, y);
  return links;
}

/* Sum of link times e over the eight neighbours of the lane's first or second node, as
 * cvtm_grid_coarse_around; `above`: links of the row to the north. */
template <bool second>
__device__ double weigh_nine(const link_row &above, const link_row &own, two north, two row,
                             two south) {
  if (second) {
    const double over = (above.south_east.x * north.x + above.south.y * north.y) +
                        from_east(above.south_west.x) * from_east(north.x);
    const double beside = own.east.x * row.x + own.east.y * from_east(row.x);
    const double under = (own.south_west.y * south.x + own.south.y * south.y) +
                         own.south_east.y * from_east(south.x);
    return (over + beside) + under;
  }
  const double over =
      (from_west(above.south_east.y) * from_west(north.y) + above.south.x * north.x) +
      above.south_west.y * north.y;
  const double beside = from_west(own.east.y) * from_west(row.y) + own.east.x * row.y;
  const double under =
      (own.south_west.x * from_west(south.y) + own.south.x * south.x) + own.south_east.x * south.y;
  return (over + beside) + under;
}

/* What a level's sweeps read beside its links. */
struct level_data {
  two r, lower, upper;
};

template <bool bounded, bool wide>
__device__ level_data load_level(const strip &s, const cvtm_grid_level *level, int y) {
  level_data data;
  data.r = s.load<wide>(level->r, y);
  if (bounded) {
    data.lower = s.load<wide>(level->lower, y);
    data.upper = s.load<wide>(level->upper, y);
  }
  return data;
}

template <bool bounded>
__device__ double settle(double sum, double diagonal, double lower, double upper) {
  if (!(diagonal > 0)) return 0.0;
  return bounded ? cvtm_grid_clip(sum / diagonal, lower, upper) : sum / diagonal;
}

/* Two colours of a row, one after the other. */
template <bool bounded>
__device__ void relax_row(const level_data &d, const link_row &above, const link_row &own,
                          two north, two &row, two south) {
  const double x = d.r.x + weigh_nine<false>(above, own, north, row, south);
  row.x = settle<bounded>(x, own.diagonal.x, d.lower.x, d.upper.x);
  const double y = d.r.y + weigh_nine<true>(above, own, north, row, south);
  row.y = settle<bounded>(y, own.diagonal.y, d.lower.y, d.upper.y);
}

/* The same for an even row, where e is 0 all around. */
template <bool bounded>
__device__ two relax_first(const level_data &d, const link_row &own) {
  two row;
  row.x = settle<bounded>(d.r.x, own.diagonal.x, d.lower.x, d.upper.x);
  const double y = d.r.y + (own.east.x * row.x + own.east.y * from_east(row.x));
  row.y = settle<bounded>(y, own.diagonal.y, d.lower.y, d.upper.y);
  return row;
}

/* What row y yields: its residuals and slacks, nothing where a node is cut or outside. */
template <bool bounded>
__device__ yield_row level_yield(const strip &s, int y, const level_data &d, const link_row &above,
                                 const link_row &own, two north, two row, two south, bool cut_x,
                                 bool cut_y) {
  const bool off_x = cut_x || !s.has_x || !s.row(y), off_y = cut_y || !s.has_y || !s.row(y);
  const double none = static_cast<double>(INFINITY);
  yield_row out;
  const double x =
      (d.r.x + weigh_nine<false>(above, own, north, row, south)) - own.diagonal.x * row.x;
  const double z =
      (d.r.y + weigh_nine<true>(above, own, north, row, south)) - own.diagonal.y * row.y;
  out.residual[0] = off_x ? 0.0 : x;
  out.residual[1] = off_y ? 0.0 : z;
  out.residual[2] = from_east(out.residual[0]);
  if (bounded) {
    out.lower[0] = off_x ? -none : d.lower.x - row.x;
    out.lower[1] = off_y ? -none : d.lower.y - row.y;
    out.lower[2] = from_east(out.lower[0]);
    out.upper[0] = off_x ? none : d.upper.x - row.x;
    out.upper[1] = off_y ? none : d.upper.y - row.y;
    out.upper[2] = from_east(out.upper[0]);
  }
  return out;
}

/* Is a node cut from the next level's bases? Its owner keeps that. */
__device__ bool truncate(const strip &s, const cvtm_grid_level *level, bool owned, int64_t k,
                         double e, double lower, double upper) {
  if (level->active == nullptr) return false;
  if (owned) cvtm_grid_truncate(level, k, e);
  return at_bound(e, lower, upper);
}

template <bool bounded>
__device__ yield_row level_row(const strip &s, const cvtm_grid_level *level, int y,
                               const level_data &d, const link_row &above, const link_row &own,
                               two north, two row, two south) {
  bool cut_x = false, cut_y = false;
  if (bounded) {
    const bool owned = s.owner && s.owns_row(y);
    cut_x = truncate(s, level, owned && s.has_x, s.place(y), row.x, d.lower.x, d.upper.x);
    cut_y = truncate(s, level, owned && s.has_y, s.place(y) + 1, row.y, d.lower.y, d.upper.y);
  }
  return level_yield<bounded>(s, y, d, above, own, north, row, south, cut_x, cut_y);
}

template <bool bounded, bool stored, bool wide>
__device__ void down_strip(const strip &s, const cvtm_grid_level *level,
                           const cvtm_grid_level *coarse, const cvtm_grid_plain &plain) {
  unsigned kinds = s.load_flags(level->kind, s.first - 2);
  unsigned kinds_odd = s.load_flags(level->kind, s.first - 3);
  two before = both(0), even = both(0); /* rows j - 3 and j - 2 */
  link_row links_before = {both(0), both(0), both(0), both(0), both(0)}, links_even = links_before;
  level_data data_even = {both(0), both(0), both(0)};
  gathered sum = gather_none();
#pragma unroll 2
  for (int j = s.first - 2; j <= s.end + 2; j += 2) {
    const level_data data_next = load_level<bounded, wide>(s, level, j);
    const level_data data_odd = load_level<bounded, wide>(s, level, j - 1);
    const link_row links_next = load_links<wide>(s, level, plain, j, kinds);
    const link_row links_odd = load_links<wide>(s, level, plain, j - 1, kinds_odd);
    kinds = s.load_flags(level->kind, j + 2);
    kinds_odd = s.load_flags(level->kind, j + 1);
    const two next = relax_first<bounded>(data_next, links_next);
    two odd = both(0);
    relax_row<bounded>(data_odd, links_even, links_odd, even, odd, next);
    s.store<wide>(level->half, j, next);
    s.store<wide>(level->half, j - 1, odd);
    if (j - 2 >= s.first) {
      const int y = j / 2 - 1;
      const yield_row outer = level_row<bounded>(s, level, j - 2, data_even, links_before,
                                                 links_even, before, even, odd);
      gather<bounded, stored>(s, coarse, y - 1, j - 2, outer, &sum);
      gather_store<bounded>(s, coarse, y - 1, sum);
      sum = gather_none();
      gather<bounded, stored>(s, coarse, y, j - 2, outer, &sum);
      const yield_row middle =
          level_row<bounded>(s, level, j - 1, data_odd, links_even, links_odd, even, odd, next);
      gather<bounded, stored>(s, coarse, y, j - 1, middle, &sum);
    }
    before = odd;
    even = next;
    links_before = links_odd;
    links_even = links_next;
    data_even = data_next;
  }
}

/* From e = 0: smoothing, and what the next level gets. The smoothed e goes to `half`. */
template <bool bounded, bool stored>
__global__ void __launch_bounds__(march_threads)
    down_march(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_plain plain,
               int rows_each) {
  const strip s(level.width, level.height, rows_each, down_pairs);
  /* A level's planes begin at even places where its rows do. */
  if ((level.width & 1) == 0) {
    down_strip<bounded, stored, true>(s, &level, &coarse, plain);
  } else {
    down_strip<bounded, stored, false>(s, &level, &coarse, plain);
  }
}

/* `half` and the next level's correction in row j. */
template <bool odd, bool stored, bool wide>
__device__ two lift_row(const strip &s, const cvtm_grid_level *level, const cvtm_grid_level *coarse,
                        int j, const coarse_rows &e) {
  const two half = s.load<wide>(level->half, j);
  const two change = prolong_row<odd, stored>(s, coarse, j, e);
  const unsigned cut = level->active ? s.load_flags(level->active, j) : 0;
  return s.inside(
      j, two{cut & 0xff ? half.x : half.x + change.x, cut >> 8 ? half.y : half.y + change.y});
}

template <bool bounded, bool stored, bool wide>
__device__ void up_strip(const strip &s, const cvtm_grid_level *level,
                         const cvtm_grid_level *coarse, const cvtm_grid_plain &plain) {
  unsigned kinds = s.load_flags(level->kind, s.first);
  unsigned kinds_odd = s.load_flags(level->kind, s.first - 1);
  coarse_rows e = {0, load_coarse(s, coarse, (s.first >> 1) - 1)};
  two odd = lift_row<true, stored, wide>(s, level, coarse, s.first - 1, e), even = both(0);
  link_row links_even = {both(0), both(0), both(0), both(0), both(0)};
#pragma unroll 2
  for (int j = s.first; j <= s.end; j += 2) {
    e.north = e.here;
    e.here = load_coarse(s, coarse, j >> 1);
    const level_data data_odd = load_level<bounded, wide>(s, level, j - 1);
    const level_data data_next = load_level<bounded, wide>(s, level, j);
    const link_row links_odd = load_links<wide>(s, level, plain, j - 1, kinds_odd);
    const link_row links_next = load_links<wide>(s, level, plain, j, kinds);
    kinds = s.load_flags(level->kind, j + 2);
    kinds_odd = s.load_flags(level->kind, j + 1);
    two next = lift_row<false, stored, wide>(s, level, coarse, j, e);
    const two after = lift_row<true, stored, wide>(s, level, coarse, j + 1, e);
    relax_row<bounded>(data_next, links_odd, links_next, odd, next, after);
    relax_row<bounded>(data_odd, links_even, links_odd, even, odd, next);
    s.store<wide>(level->e, j - 1, odd);
    s.store<wide>(level->e, j, next);
    even = next;
    odd = after;
    links_even = links_next;
  }
}

/* The next level's correction, smoothing: half -> e. */
template <bool bounded, bool stored>
__global__ void __launch_bounds__(march_threads)
    up_march(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_plain plain, int rows_each) {
  const strip s(level.width, level.height, rows_each, march_pairs);
  if ((level.width & 1) == 0) {
    up_strip<bounded, stored, true>(s, &level, &coarse, plain);
  } else {
    up_strip<bounded, stored, false>(s, &level, &coarse, plain);
  }
}

} /* namespace */

#endif
