/* For marches only: the strip of the grid that a warp marches down. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_STRIP_H
#define CVTMESH_LCP_GRID_GRID_MARCH_STRIP_H

#include "lcp/grid/grid_kernels.h"

#include <type_traits>

namespace {

constexpr int march_warps = 4, march_threads = 32 * march_warps;

constexpr int rim = 2;              /* lanes on each side of a strip that own nothing */
constexpr int pairs = 32 - 2 * rim; /* of columns that a warp owns */

/* Strips that cover a width. */
__host__ __device__ int64_t strips_of(int64_t width) {
  return (width + 2 * pairs - 1) / (2 * pairs);
}

constexpr int64_t max_march_width = 1 << 28; /* lines_down counts the bytes of a line in 31 bits */

/* Returns array + lines * width by one instruction; the compiler would multiply in 64 bits. */
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

/* The lane's part of a line: columns 2 I and 2 I + 1. */
struct node_pair {
  double x, y;
};

__device__ node_pair splat(double value) { return node_pair{value, value}; }

/* Blocks of warps that march down a grid: how many side by side, and in all, with `count` lines
 * each. */
struct march_blocks {
  int across, count;

  __host__ __device__ march_blocks(int64_t width, int64_t height, int lines)
      : across(static_cast<int>((strips_of(width) + march_warps - 1) / march_warps)),
        count(static_cast<int>(across * ((height + lines - 1) / lines))) {}
};

/* True if lines of that width can be read 16 bytes at a time from the array. */
__device__ bool is_aligned(int64_t width, const double *array) {
  return (width & 1) == 0 && (reinterpret_cast<uintptr_t>(array) & 15) == 0;
}

/* The strip that a warp marches down. Lanes beyond the grid read its nearest nodes, and hold 0 for
 * them. interior: all nodes that the warp reads are in
 * the grid. */
template <bool interior = false>
struct strip {
  static constexpr bool is_inside = interior;
  int width, height, across;
  int pair, first, end;   /* pair: I; the warp owns lines first (even) .. end - 1 */
  int column_x, column_y; /* the lane's columns, or the nearest ones in the grid */
  bool in_x, in_y;        /* the lane's columns are in the grid */
  bool owner;             /* the lane owns its columns */

  /* Strip `number`, `count` lines from line `from` on. */
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
  /* True if the warp's columns are in the grid, and nine lines above and six lines below those that
   * it owns. */
  __device__ bool is_interior() const {
    return __all_sync(0xffffffffU, in_x && in_y) && first >= 9 && end + 6 <= height;
  }
  /* True if the lane's first (second) node is owned, or next to a node that is. */
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
  /* Where the lane's first node of line j is, or the nearest node of the grid. */
  template <typename T>
  __device__ T *at(T *array, int j) const {
    return lines_down(array + column_x, line(j), width);
  }
  /* 1 if the lane's second node is right of the first; 0 beyond the grid. */
  __device__ int beside() const { return interior ? 1 : column_y - column_x; }

  /* 0 outside the grid. */
  __device__ node_pair inside(int j, node_pair value) const {
    return node_pair{has_x() && has_line(j) ? value.x : 0.0,
                     has_y() && has_line(j) ? value.y : 0.0};
  }
  /* The nodes of line j that the warp owns. */
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
  /* Flags of both columns, in bits 0-7 and 8-15. */
  __device__ unsigned load_flags(const uint8_t *array, int j) const {
    const uint8_t *from = at(array, j);
    if ((width & 1) == 0) return *reinterpret_cast<const uint16_t *>(from);
    return from[0] | from[beside()] << 8;
  }
};

/* Calls work with a strip; strips whose warp meets no boundary have a different type. */
template <typename Work>
__device__ void for_strip(const strip<> &s, Work work) {
  if (s.is_empty()) return;
  if (s.is_interior()) {
    work(strip<true>(s));
  } else {
    work(s);
  }
}

/* The same for the calling warp's strip of a grid whose strips have `count` lines each. */
template <typename Work>
__device__ void for_own_strip(int64_t nodes_x, int64_t nodes_y, int count, int block, Work work) {
  const int across = march_blocks(nodes_x, nodes_y, count).across;
  const int number = block % across * march_warps + static_cast<int>(threadIdx.x >> 5);
  for_strip(strip<>(nodes_x, nodes_y, number, static_cast<int64_t>(block / across) * count, count),
            work);
}

} /* namespace */

#endif
