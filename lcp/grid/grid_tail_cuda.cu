/* The tail of the V-cycle: all small levels in one block, so that barriers within the block stand
 * where tiles need a launch for each level and phase. Operators and vectors are in shared memory,
 * with a margin of zeros around each. The grid is one block, whatever the cap on blocks: block
 * barriers separate the levels.
 *
 * With tiles on all levels a cycle takes 1.15 to 1.6 times as long at 255 x 255, and 1.2 to 1.6
 * times at 1024 x 1024 (H200). */
#include "base/select.h"
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_smoother.h"

namespace {

constexpr int tail_threads = 512;
constexpr int max_small_levels = 12;           /* levels that fit in small_levels */
constexpr size_t max_small_bytes = 160 * 1024; /* of shared memory for all of them */

/* cvtm_grid_coarse_neighbour_sum on lines of `pitch` numbers, where nodes outside the grid hold 0.
 */
__device__ double small_neighbour_sum(const double *e, int pitch, const double link[3][3]) {
  const double north =
      (link[0][0] * e[-pitch - 1] + link[0][1] * e[-pitch]) + link[0][2] * e[-pitch + 1];
  const double beside = link[1][0] * e[-1] + link[1][2] * e[1];
  const double south =
      (link[2][0] * e[pitch - 1] + link[2][1] * e[pitch]) + link[2][2] * e[pitch + 1];
  return (north + beside) + south;
}

/* --- in shared memory: a level --- */

extern __shared__ double small_memory[];

/* A level in shared memory: arrays with a margin of zeros, one behind the other. */
struct small_level {
  int first, width, height; /* first: offset of its arrays in small_memory */
  int pitch, size;          /* of an array with its margin: a line, all of it */

  __device__ int at(int x, int y) const { return (y + 1) * pitch + x + 1; }
  __device__ double *array(int number) const { return small_memory + (first + number * size); }
  __device__ double *plane(int p) const { return array(p); }
  __device__ double *e() const { return array(CVTM_GRID_PLANES); }
  __device__ double *r() const { return array(CVTM_GRID_PLANES + 1); }
  __device__ double *residual() const { return array(CVTM_GRID_PLANES + 2); }
  __device__ double *inverse() const { return array(CVTM_GRID_PLANES + 3); }
  __device__ void stencil(int k, double link[3][3]) const {
    link[0][0] = plane(CVTM_GRID_SOUTH_EAST)[k - pitch - 1];
    link[0][1] = plane(CVTM_GRID_SOUTH)[k - pitch];
    link[0][2] = plane(CVTM_GRID_SOUTH_WEST)[k - pitch + 1];
    link[1][0] = plane(CVTM_GRID_EAST)[k - 1];
    link[1][1] = plane(CVTM_GRID_DIAGONAL)[k];
    link[1][2] = plane(CVTM_GRID_EAST)[k];
    link[2][0] = plane(CVTM_GRID_SOUTH_WEST)[k];
    link[2][1] = plane(CVTM_GRID_SOUTH)[k];
    link[2][2] = plane(CVTM_GRID_SOUTH_EAST)[k];
  }
};

constexpr int small_arrays = CVTM_GRID_PLANES + 4; /* of a level */

__device__ small_level small_from(const cvtm_grid_level *level, int first) {
  small_level s;
  s.first = first;
  s.width = static_cast<int>(level->width);
  s.height = static_cast<int>(level->height);
  s.pitch = s.width + 2;
  s.size = s.pitch * (s.height + 2);
  return s;
}

/* Calls work(x, y) for all nodes of a grid, then waits for all threads if `wait`. Each line goes to
 * 2^n threads, so that no division is needed. */
template <bool wait = true, typename Work>
__device__ void for_small(int width, int height, Work work) {
  int bits = width > 1 ? 32 - __clz(width - 1) : 0;
  if ((1 << bits) > tail_threads) bits = 31 - __clz(tail_threads);
  const int thread = static_cast<int>(threadIdx.x);
  for (int y = thread >> bits; y < height; y += tail_threads >> bits) {
    for (int x = thread & ((1 << bits) - 1); x < width; x += 1 << bits) work(x, y);
  }
  if (wait) __syncthreads();
}

__device__ double small_relaxed(small_level s, int k, const double (&link)[3][3]) {
  return (s.r()[k] + small_neighbour_sum(s.e() + k, s.pitch, link)) * s.inverse()[k];
}

__device__ void relax_small(small_level s, int sweeps) {
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    const int cx = colour & 1, cy = (colour >> 1) & 1;
    for_small((s.width + 1 - cx) / 2, (s.height + 1 - cy) / 2, [&](int x, int y) {
      const int k = s.at(2 * x + cx, 2 * y + cy);
      double link[3][3];
      s.stencil(k, link);
      s.e()[k] = small_relaxed(s, k, link);
    });
  }
}

/* The same on a grid of at most 32 nodes: one warp, a node per thread, without block barriers. */
__device__ void relax_small_by_warp(small_level s, int sweeps) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 32) {
    const int x = lane % s.width, y = lane / s.width, k = s.at(x, y < s.height ? y : 0);
    const int colour = y < s.height ? (x & 1) + 2 * (y & 1) : 4;
    double link[3][3];
    s.stencil(k, link);
    for (int pass = 0; pass < 4 * sweeps; ++pass) {
      if ((pass & 3) == colour) s.e()[k] = small_relaxed(s, k, link);
      __syncwarp();
    }
  }
  __syncthreads();
}

/* --- in shared memory: transfers --- */

__device__ bool is_bilinear(const cvtm_grid_level *c) {
  return !c->weight && c->halved_x && c->halved_y;
}

/* The residual restricted to node (x, y) of level s. */
__device__ double restrict_bilinear(small_level f, small_level s, const cvtm_grid_level *c, int x,
                                    int y) {
  const double west = c->neumann && x == 0 ? 1.0 : 0.5;
  const double east = c->neumann && x + 1 == s.width ? 1.0 : 0.5;
  const double *at = f.residual() + f.at(2 * x, 2 * y);
  double row[3];
  for (int d = 0; d < 3; ++d, at += f.pitch) row[d] = (west * at[0] + at[1]) + east * at[2];
  return ((c->neumann && y == 0 ? 1.0 : 0.5) * row[0] + row[1]) +
         (c->neumann && y + 1 == s.height ? 1.0 : 0.5) * row[2];
}

__device__ double restrict_any(small_level f, const cvtm_grid_level *c, int x, int y) {
  double sum = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, f.width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, f.height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      sum += cvtm_grid_basis(c, x, y, i, j) *
             f.residual()[f.at(static_cast<int>(i), static_cast<int>(j))];
    }
  }
  return sum;
}

__device__ void restrict_small(small_level f, small_level s, const cvtm_grid_level *c) {
  for_small(f.width, f.height, [&](int x, int y) {
    const int k = f.at(x, y);
    double link[3][3];
    f.stencil(k, link);
    f.residual()[k] =
        (f.r()[k] + small_neighbour_sum(f.e() + k, f.pitch, link)) - link[1][1] * f.e()[k];
  });
  const bool bilinear = is_bilinear(c);
  for_small(s.width, s.height, [&](int x, int y) {
    s.r()[s.at(x, y)] = bilinear ? restrict_bilinear(f, s, c, x, y) : restrict_any(f, c, x, y);
  });
}

__device__ double interpolated_bilinear(small_level s, const cvtm_grid_level *c, int i, int j) {
  int x = i / 2, y = j / 2, west = x - !(i & 1), north = y - !(j & 1);
  if (c->neumann) {
    west = west < 0 ? 0 : west;
    north = north < 0 ? 0 : north;
    x = x < s.width ? x : s.width - 1;
    y = y < s.height ? y : s.height - 1;
  }
  const double *e = s.e();
  return 0.25 * ((e[s.at(west, north)] + e[s.at(x, north)]) + (e[s.at(west, y)] + e[s.at(x, y)]));
}

/* cvtm_grid_interpolated_any in shared memory and 32-bit indices, which spill fewer registers. */
__device__ double interpolated_any(small_level s, const cvtm_grid_level *c, int i, int j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  double sum = 0;
  for (int ky = 0; ky < count_y; ++ky) {
    for (int kx = 0; kx < count_x; ++kx) {
      const int x = static_cast<int>(x0) + kx, y = static_cast<int>(y0) + ky;
      if (x < 0 || x >= s.width || y < 0 || y >= s.height) continue;
      sum += cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky) * s.e()[s.at(x, y)];
    }
  }
  return sum;
}

__device__ void prolong_small(small_level f, small_level s, const cvtm_grid_level *c) {
  const bool bilinear = is_bilinear(c);
  for_small(f.width, f.height, [&](int i, int j) {
    f.e()[f.at(i, j)] +=
        bilinear ? interpolated_bilinear(s, c, i, j) : interpolated_any(s, c, i, j);
  });
}

/* --- in shared memory: operators --- */

struct small_levels {
  cvtm_grid_level level[max_small_levels];
  int bottom;   /* the last level */
  int galerkin; /* P'AP is computed below the first level */
};

/* Copies a level's operator to shared memory; the caller waits. */
__device__ void load_small(small_level s, const cvtm_grid_level &c) {
  const int count = s.width * s.height;
  for_small<false>(s.width, s.height, [&](int x, int y) {
    const int k = y * s.width + x, at = s.at(x, y);
    double plane[CVTM_GRID_PLANES];
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p) plane[p] = __ldcg(c.coefficient + p * count + k);
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p) s.plane(p)[at] = plane[p];
    s.inverse()[at] = plane[CVTM_GRID_DIAGONAL] > 0 ? 1 / plane[CVTM_GRID_DIAGONAL] : 0.0;
  });
}

/* P'AP of level s below level f with bilinear interpolation, in shared and in global memory. The
 * margins of f make its stencils outside the grid 0. */
__device__ void galerkin_small(small_level f, small_level s, const cvtm_grid_level &c) {
  const int count = s.width * s.height;
  for_small(s.width, s.height, [&](int x, int y) {
    double across[3], along[3], q[5][5] = {}, sum[3][3] = {};
    cvtm_grid_closed_form_weights(c.neumann, x, s.width, across);
    cvtm_grid_closed_form_weights(c.neumann, y, s.height, along);
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
      for (int dx = 0; dx < 3; ++dx) {
        double link[3][3];
        f.stencil(f.at(2 * x + dx, 2 * y + dy), link);
        cvtm_grid_add_stencil(along[dy] * across[dx], dx, dy, link, q);
      }
    }
    cvtm_grid_add_all_to_parents(&c, x, y, across, along, 0, q, sum);
    const double row[CVTM_GRID_PLANES] = {-sum[1][1], sum[1][2], sum[2][1], sum[2][2], sum[2][0]};
    const int k = y * s.width + x, at = s.at(x, y);
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p)
      c.coefficient[p * count + k] = s.plane(p)[at] = row[p];
    s.inverse()[at] = row[0] > 0 ? 1 / row[0] : 0.0;
  });
}

/* --- in shared memory: the V-cycle --- */

__device__ void cycle_small_levels(const small_level *small, const small_levels &tail) {
  const int bottom = tail.bottom, sweeps = cvtm_grid_bottom_sweeps(&tail.level[bottom]);
  for (int l = 0; l < bottom; ++l) {
    relax_small(small[l], 1);
    restrict_small(small[l], small[l + 1], &tail.level[l + 1]);
  }
  if (small[bottom].width * small[bottom].height <= 32) {
    relax_small_by_warp(small[bottom], sweeps);
  } else {
    relax_small(small[bottom], sweeps);
  }
  for (int l = bottom - 1; l >= 0; --l) {
    prolong_small(small[l], small[l + 1], &tail.level[l + 1]);
    relax_small(small[l], 1);
  }
}

/* Operators seldom change: they are loaded before the kernels ahead have ended, and a second time
 * if `changed` says that they have changed since (NULL: not known). */
__global__ void __launch_bounds__(tail_threads)
    tail_kernel(const __grid_constant__ small_levels tail, const uint8_t *changed) {
  __shared__ small_level small[max_small_levels];
  const int thread = static_cast<int>(threadIdx.x);
  int end = 0;
  for (int l = 0; l <= tail.bottom; ++l) {
    const small_level s = small_from(&tail.level[l], end);
    if (l == thread) small[l] = s;
    end += s.size * small_arrays;
  }
  for (int k = thread; k < end; k += tail_threads) small_memory[k] = 0;
  __syncthreads();
#pragma unroll 1
  for (bool waited = false;; waited = true) {
    const int loaded = waited && tail.galerkin ? 0 : tail.bottom;
    for (int l = 0; l <= loaded; ++l) load_small(small[l], tail.level[l]);
    if (waited) {
      __syncthreads();
      for (int l = loaded + 1; l <= tail.bottom; ++l) {
        galerkin_small(small[l - 1], small[l], tail.level[l]);
      }
      break;
    }
    pdl_wait();
    pdl_trigger(); /* only now: see prolong_and_post_smooth_tile */
    if (changed && !__ldcg(changed)) break;
  }
  const small_level s = small[0];
  const cvtm_grid_level &level = tail.level[0];
  for_small(s.width, s.height, [&](int x, int y) { s.r()[s.at(x, y)] = level.r[y * s.width + x]; });
  cycle_small_levels(small, tail);
  for_small<false>(s.width, s.height,
                   [&](int x, int y) { level.e[y * s.width + x] = s.e()[s.at(x, y)]; });
}

/* --- launchers --- */

/* Bytes of shared memory for levels first .. last; 0: they are not a tail. */
size_t small_bytes(const cvtm_grid_level *levels, int first, int last) {
  if (levels[first].width * levels[first].height > CVTM_GRID_TAIL_NODES ||
      last - first >= max_small_levels || cvtm_uses_plain("tail")) {
    return 0;
  }
  int64_t nodes = 0;
  for (int l = first; l <= last; ++l) nodes += (levels[l].width + 2) * (levels[l].height + 2);
  const size_t bytes = static_cast<size_t>(nodes * small_arrays) * sizeof(double);
  return bytes <= max_small_bytes ? bytes : 0;
}

} /* namespace */

int cvtm_grid_is_tail_cuda(const cvtm_grid_top * /* top */, const cvtm_grid_level *levels,
                           int first, int last) {
  return small_bytes(levels, first, last) > 0;
}

int cvtm_grid_last_before_tail(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                               int last) {
  int small = first;
  while (small < last && !cvtm_grid_is_tail_cuda(top, levels, small, last)) ++small;
  for (int l = small + 1; l <= last; ++l) {
    if (!levels[l].halved_x || !levels[l].halved_y || levels[l].weight) return last;
  }
  return small;
}

cvtm_status cvtm_grid_tail_cycle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                      int first, int last) {
  const size_t bytes = small_bytes(levels, first, last);
  if (bytes == 0) return cvtm_grid_reference_table_cuda.tail_cycle(top, levels, first, last);
  small_levels small = {};
  small.bottom = last - first;
  small.galerkin = cvtm_grid_last_before_tail(top, levels, first, last) == first;
  for (int l = first; l <= last; ++l) small.level[l - first] = levels[l];
  return launch_pdl(top->device, "tail_kernel", tail_kernel, 1, tail_threads, bytes, small,
                    top->changed);
}
