#include "base/cuda_check.h"
#include "lcp/grid/grid_cuda_march.h"
#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_cuda_tiles.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_kernels.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_nested.h"
#include "lcp/grid/grid_relax.h"
#include "lcp/launch_cuda.h"

#include <algorithm>
#include <type_traits>

namespace {

constexpr int tile_x = 32, tile_y = 8;
constexpr int tail_threads = 512;
constexpr int64_t tail_nodes = 34 * 34;
constexpr int max_small = 12;              /* levels of a tail in shared memory */
constexpr size_t small_bytes = 200 * 1024; /* and what they may take */

__device__ int64_t node_x() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
/* Tall grids go on in the third direction of blocks. */
__device__ int64_t node_y() {
  return (blockIdx.z * static_cast<int64_t>(gridDim.y) + blockIdx.y) * blockDim.y + threadIdx.y;
}

dim3 tiles(int64_t width, int64_t height) {
  const int64_t down = (height + tile_y - 1) / tile_y, limit = 1 << 15;
  return dim3(static_cast<unsigned>((width + tile_x - 1) / tile_x),
              static_cast<unsigned>(down < limit ? down : limit),
              static_cast<unsigned>((down + limit - 1) / limit));
}

dim3 tile() { return dim3(tile_x, tile_y); }

/* Calls work(i, j) for each node of a grid, by any number of tiles. */
template <typename Work>
__device__ void for_tiles(int64_t width, int64_t height, Work work) {
  const int64_t step_x = static_cast<int64_t>(gridDim.x) * tile_x;
  const int64_t step_y = static_cast<int64_t>(gridDim.z) * gridDim.y * tile_y;
  for (int64_t j = node_y(); j < height; j += step_y)
    for (int64_t i = node_x(); i < width; i += step_x) work(i, j);
}

/* Tiles for kernels that do with any number of them. */
dim3 striding_tiles(int64_t width, int64_t height) {
  return dim3(cvtm_cuda_blocks(width, tile_x), cvtm_cuda_rows(height, tile_y));
}

/* Rows of tiles are dealt out so that no more than max_parts blocks reduce. */
dim3 reducing_tiles(int64_t width, int64_t height) {
  dim3 grid = striding_tiles(width, height);
  while (static_cast<int64_t>(grid.x) * grid.y > max_parts && grid.y > 1) grid.y = (grid.y + 1) / 2;
  return grid;
}

/* --- the five-point problem --- */

__global__ void start_kernel(const cvtm_grid_problem *problem, int warm, int into_d) {
  const cvtm_grid_problem p = *problem;
  double *out = into_d ? p.d : p.x;
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    const double value = warm ? p.x[k] : 0.0;
    out[k] = cvtm_grid_masked(&p, k)
                 ? 0.0
                 : cvtm_grid_clip(value, cvtm_grid_lower(&p, k), cvtm_grid_upper(&p, k));
  });
}

__global__ void smooth_kernel(const cvtm_grid_problem *problem, int colour, double omega) {
  const cvtm_grid_problem p = *problem;
  for_tiles((p.width + 1) / 2, p.height, [&](int64_t half, int64_t j) {
    const int64_t i = 2 * half + ((j + colour) & 1), k = j * p.width + i;
    if (i >= p.width) return;
    if (!cvtm_grid_masked(&p, k)) p.x[k] = cvtm_grid_relaxed(&p, p.x, i, j, omega);
  });
}

__global__ void begin_kernel(cvtm_grid_state *state, cvtm_grid_stop_rule course) {
  cvtm_grid_begin(state, &course);
}

__global__ void resume_kernel(cvtm_grid_state *state, int64_t limit) {
  state->loop.limit = limit;
  state->loop.go_on = 1;
}

__global__ void mark_kernel(const cvtm_grid_problem *problem, int truncated) {
  const cvtm_grid_problem p = *problem;
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    p.active[k] = static_cast<uint8_t>(cvtm_grid_is_active(&p, truncated, k));
  });
}

__global__ void descend_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse,
                               cvtm_grid_rules rules) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {&p, nullptr};
  for_tiles(coarse.width, coarse.height,
            [&](int64_t x, int64_t y) { cvtm_grid_restrict(&f, &coarse, &rules, x, y); });
}

__global__ void correct_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse,
                               int searched) {
  const cvtm_grid_problem p = *problem;
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    const double moved = cvtm_grid_corrected(&p, &coarse, i, j);
    if (searched) {
      p.d[k] = moved - p.x[k];
    } else {
      p.x[k] = moved;
    }
  });
}

__global__ void search_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                              double *partial) {
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  double sum[2] = {0, 0};
  for_tiles(p.width, p.height,
            [&](int64_t i, int64_t j) { cvtm_grid_add_line_search(&p, i, j, &sum[0], &sum[1]); });
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

__global__ void step_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state) {
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_line_search_step(state);
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    p.x[j * p.width + i] = cvtm_grid_stepped(&p, j * p.width + i, step);
  });
}

/* As many blocks at once as hide the way to the memory. */
__global__ void __launch_bounds__(tile_x *tile_y, 4)
    finish_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state, double *partial) {
  const cvtm_grid_problem p = *problem;
  double sum[3] = {0, 0, 0}; /* counts below 2^53 are exact */
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    if (cvtm_grid_masked(&p, k)) return;
    sum[0] += cvtm_grid_node_energy(&p, i, j);
    sum[1] += p.x[k] <= cvtm_grid_lower(&p, k);
    sum[2] += p.x[k] >= cvtm_grid_upper(&p, k);
  });
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->energy = sum[0];
  state->active_lower = static_cast<int64_t>(sum[1]);
  state->active_upper = static_cast<int64_t>(sum[2]);
}

__global__ void keep_best_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state,
                                 int back) {
  const cvtm_grid_problem p = *problem;
  if (back ? state->loop.improved : !state->loop.improved) return;
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    const int64_t k = j * p.width + i;
    if (back) {
      p.x[k] = p.d[k];
    } else {
      p.d[k] = p.x[k];
    }
  });
}

/* What chained cycles have left in d, if it is not in x. */
__global__ void bring_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state,
                             double *x) {
  if (state->loop.iteration == 0) return;
  const cvtm_grid_problem p = *problem;
  if (p.d == x) return;
  for_tiles(p.width, p.height,
            [&](int64_t i, int64_t j) { x[j * p.width + i] = p.d[j * p.width + i]; });
}

__global__ void restore_kernel(cvtm_grid_problem *problem, cvtm_grid_problem shape) {
  *problem = shape;
}

__global__ void coarsen_data_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                    cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  for_tiles(c.width, c.height,
            [&](int64_t x, int64_t y) { cvtm_grid_coarsen_data(&f, &c, &level, x, y); });
}

__global__ void coarsen_links_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                     cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  for_tiles(c.width + 1, c.height + 1,
            [&](int64_t x, int64_t y) { cvtm_grid_coarsen_links(&f, &c, &level, x, y); });
}

__global__ void prolong_start_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                     cvtm_grid_level level) {
  const cvtm_grid_problem p = *fine;
  for_tiles(p.width, p.height, [&](int64_t i, int64_t j) {
    p.x[j * p.width + i] = cvtm_grid_nested_start_value(&p, &level, coarse->x, i, j);
  });
}

/* --- coarse levels --- */

__device__ void operator_row(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                             int64_t y, int all) {
  const int due = cvtm_grid_needs_galerkin(f, c, x, y, all);
  c->stencil_changed[y * c->width + x] = static_cast<uint8_t>(due);
  if (due) cvtm_grid_galerkin(f, c, x, y);
}

/* Blocks near no change have nothing to do; each has `tall` tiles one below the other. */
__global__ void galerkin_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                                cvtm_grid_level coarse, int first, int all, int tall,
                                const uint8_t *changed) {
  pdl_trigger_and_wait();
  if (!all && changed && !*changed) return;
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  const int64_t x = node_x(), y = (node_y() - threadIdx.y) * tall;
  int any = all;
  if (!all) {
    const uint8_t *flags = first ? coarse.support_changed : finer.stencil_changed;
    const int64_t width = first ? coarse.width : finer.width;
    const int64_t height = first ? coarse.height : finer.height;
    const int scale_x = first || !coarse.halved_x ? 1 : 2;
    const int scale_y = first || !coarse.halved_y ? 1 : 2;
    /* One more all around, as cvtm_grid_needs_galerkin may look. */
    const int across = scale_x * tile_x + 4, down = scale_y * tile_y * tall + 4;
    const int64_t left = (x - threadIdx.x) * scale_x - 1, top = y * scale_y - 1;
#pragma unroll 4
    for (int n = static_cast<int>(threadIdx.y * tile_x + threadIdx.x); n < across * down;
         n += tile_x * tile_y) {
      const int64_t i = left + n % across, j = top + n / across;
      any |= i >= 0 && j >= 0 && i < width && j < height ? flags[j * width + i] : 0;
    }
  }
  any = __syncthreads_or(any);
  for (int64_t row = y + threadIdx.y; row < y + tile_y * tall; row += tile_y) {
    if (x >= coarse.width || row >= coarse.height) continue;
    if (any) {
      operator_row(&f, &coarse, x, row, all);
    } else {
      coarse.stencil_changed[row * coarse.width + x] = 0;
    }
  }
}

/* --- coarse operators with interpolation in closed form --- */

/* Flags of the finer nodes around a block's rows as bits, 32 columns to a word. */
template <int rows, int words>
struct near_bits {
  uint32_t word[rows][words];

  /* All by whole warps; left and top: where the flags begin. Returns whether this warp has found
   * any. */
  __device__ bool load(const uint8_t *flags, int64_t width, int64_t height, int64_t left,
                       int64_t top, bool outside) {
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    constexpr int turns = (rows + tile_y - 1) / tile_y;
    bool set[turns][words];
    uint32_t any = 0;
#pragma unroll
    for (int t = 0; t < turns; ++t) {
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const int64_t i = left + 32 * w + lane, j = top + t * tile_y + warp;
        const bool inside = i >= 0 && i < width && j >= 0 && j < height;
        set[t][w] = inside ? flags[j * width + i] != 0 : outside;
      }
    }
#pragma unroll
    for (int t = 0; t < turns; ++t) {
      const int r = t * tile_y + warp;
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const uint32_t bits = __ballot_sync(0xffffffffU, set[t][w]);
        if (lane == 0 && r < rows) word[r][w] = bits;
        any |= bits;
      }
    }
    return any != 0;
  }
  /* 32 bits of a row from bit `first` on. */
  __device__ uint32_t at(int row, int first) const {
    const int w = first >> 5;
    return __funnelshift_r(word[row][w], w + 1 < words ? word[row][w + 1] : 0U, first & 31);
  }
};

/* A row of which a part lies beyond the finer level. Seldom called, so not part of the kernel. */
__device__ __noinline__ void galerkin_edge(const cvtm_grid_level *f, const cvtm_grid_level *c,
                                           int64_t x, int64_t y) {
  double across[3], along[3], q[5][5] = {}, sum[3][3] = {};
  cvtm_grid_closed_form_weights(c->neumann, x, c->width, across);
  cvtm_grid_closed_form_weights(c->neumann, y, c->height, along);
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      double link[3][3];
      cvtm_grid_coarse_stencil(f, 2 * x + dx, 2 * y + dy, link);
      cvtm_grid_add_stencil(along[dy] * across[dx], dx, dy, link, q);
    }
  }
  cvtm_grid_add_all_to_parents(c, x, y, across, along, 0, q, sum);
  cvtm_grid_store_stencil(c, x, y, sum, 0);
}

/* As galerkin_kernel where both directions are halved and no weights are stored; below a problem
 * without links of its own (first), or below a level of which nothing is cut. A block's flags are
 * looked at once. */
template <bool first, int rows>
__global__ void __launch_bounds__(tile_x *tile_y)
    galerkin_bilinear_kernel(const cvtm_grid_problem *problem,
                             const __grid_constant__ cvtm_grid_level finer,
                             const __grid_constant__ cvtm_grid_level coarse, int all,
                             const uint8_t *changed) {
  constexpr int changed_rows = first ? rows + 2 : 2 * rows + 1;
  __shared__ near_bits<changed_rows, first ? 2 : 3> changes;
  __shared__ near_bits<2 * rows + 3, 3> cuts;
  pdl_trigger_and_wait();
  if (!all && changed && !*changed) return;
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  const int64_t left = node_x() - threadIdx.x, x = node_x();
  const int64_t top = (node_y() - threadIdx.y) / tile_y * rows;
  bool any = first ? changes.load(coarse.support_changed, coarse.width, coarse.height, left - 1,
                                  top - 1, false)
                   : changes.load(finer.stencil_changed, finer.width, finer.height, 2 * left,
                                  2 * top, false);
  any = __syncthreads_or(any || all);
  if (first && any) {
    cuts.load(p.active, p.width, p.height, 2 * left - 1, 2 * top - 1, true);
    __syncthreads();
  }
  const int lane = static_cast<int>(threadIdx.x), scale = first ? 1 : 2;
  for (int r = static_cast<int>(threadIdx.y); r < rows; r += tile_y) {
    const int64_t y = top + r;
    if (x >= coarse.width || y >= coarse.height) continue;
    uint32_t due = all ? 7 : 0;
    for (int d = 0; d < 3; ++d) due |= changes.at(scale * r + d, scale * lane) & 7U;
    coarse.stencil_changed[y * coarse.width + x] = due != 0;
    if (due == 0) continue;
    const bool inside = x > 0 && y > 0 && 2 * x + 3 < finer.width && 2 * y + 3 < finer.height;
    if (!first && !inside) {
      galerkin_edge(&finer, &coarse, x, y);
      continue;
    }
    uint32_t cut = 0;
    if (first) {
#pragma unroll
      for (int t = 0; t < 5; ++t) cut |= (cuts.at(2 * r + t, 2 * lane) & 31U) << (5 * t);
    }
    double sum[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    cvtm_grid_constant_stencil plain;
    const bool is_plain = cut == 0 && cvtm_grid_galerkin_is_constant(&f, x, y, &plain);
    if (is_plain) {
      cvtm_grid_constant_entries(plain, sum);
    } else if (first) {
      cvtm_grid_galerkin_five(&p, &coarse, x, y, cut, sum);
    } else {
      cvtm_grid_galerkin_halved(&f, &coarse, x, y, 0, 1, 1, sum);
    }
    cvtm_grid_store_stencil(&coarse, x, y, sum, is_plain);
  }
}

/* Blocks of a cluster, and the largest level that they do. */
constexpr int team_blocks = 8, team_threads = 512;
constexpr int64_t team_nodes = tail_nodes;

/* The operators of several small levels, one after the other, in one cluster of blocks. */
__global__ void __launch_bounds__(team_threads)
    galerkin_team(const cvtm_grid_problem *problem, const cvtm_grid_level *levels, int first,
                  int last, int below_problem, const uint8_t *changed) {
  pdl_trigger_and_wait();
  if (changed && !*changed) return;
  const cvtm_grid_problem p = *problem;
  for (int l = first; l <= last; ++l) {
    const cvtm_grid_finer f = {l == first && below_problem ? &p : nullptr, &levels[l - 1]};
    const cvtm_grid_level c = levels[l];
    const int width = static_cast<int>(c.width), count = static_cast<int>(c.width * c.height);
    for (int k = static_cast<int>(blockIdx.x * team_threads + threadIdx.x); k < count;
         k += team_blocks * team_threads) {
      operator_row(&f, &c, k % width, k / width, 0);
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }
}

__global__ void weights_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                               cvtm_grid_level coarse, int first) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  for_tiles(coarse.blocks_x, coarse.blocks_y,
            [&](int64_t x, int64_t y) { cvtm_grid_compute_weights(&f, &coarse, x, y); });
}

__global__ void clear_kernel(cvtm_grid_level level) {
  for_tiles(level.width, level.height,
            [&](int64_t x, int64_t y) { level.e[y * level.width + x] = 0; });
}

__global__ void relax_kernel(cvtm_grid_level level, int bounded, int colour) {
  const int64_t from_x = colour & 1, from_y = colour >> 1;
  for_tiles((level.width - from_x + 1) / 2, (level.height - from_y + 1) / 2,
            [&](int64_t half_x, int64_t half_y) {
              const int64_t x = 2 * half_x + from_x, y = 2 * half_y + from_y;
              level.e[y * level.width + x] = cvtm_grid_coarse_relaxed(&level, bounded, x, y);
            });
}

__global__ void down_kernel(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_rules rules) {
  const cvtm_grid_finer f = {nullptr, &level};
  for_tiles(coarse.width, coarse.height,
            [&](int64_t x, int64_t y) { cvtm_grid_restrict(&f, &coarse, &rules, x, y); });
}

__global__ void truncate_kernel(cvtm_grid_level level) {
  for_tiles(level.width, level.height, [&](int64_t x, int64_t y) {
    const int64_t k = y * level.width + x;
    cvtm_grid_truncate(&level, k, level.e[k]);
  });
}

__global__ void prolong_kernel(cvtm_grid_level level, cvtm_grid_level coarse) {
  for_tiles(level.width, level.height, [&](int64_t x, int64_t y) {
    level.e[y * level.width + x] = cvtm_grid_prolonged(&level, &coarse, x, y);
  });
}

/* --- the small levels in one block --- */

/* Calls work(x, y) for all nodes of a grid, then waits. */
template <typename Work>
__device__ void for_nodes(int64_t width, int64_t height, Work work) {
  const int count = static_cast<int>(width * height), across = static_cast<int>(width);
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) {
    work(k % across, k / across);
  }
  __syncthreads();
}

__device__ void tail_relax(const cvtm_grid_level *level, int bounded, int sweeps) {
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    const int cx = colour & 1, cy = (colour >> 1) & 1;
    for_nodes((level->width + 1 - cx) / 2, (level->height + 1 - cy) / 2, [&](int64_t x, int64_t y) {
      level->e[(2 * y + cy) * level->width + 2 * x + cx] =
          cvtm_grid_coarse_relaxed(level, bounded, 2 * x + cx, 2 * y + cy);
    });
  }
}

__global__ void __launch_bounds__(tail_threads)
    tail_kernel(const cvtm_grid_level *levels, cvtm_grid_rules rules, int first, int last) {
  pdl_wait();
  pdl_trigger(); /* not before: see up_tile */
  for (int l = first; l <= last; ++l) {
    const cvtm_grid_finer finer = {nullptr, &levels[l - 1]};
    const cvtm_grid_level f = levels[l], c = levels[l < last ? l + 1 : l];
    for_nodes(f.width, f.height, [&](int64_t x, int64_t y) {
      f.e[y * f.width + x] = 0;
      if (l > first && f.active) operator_row(&finer, &f, x, y, 0);
    });
    if (l == last) break;
    const cvtm_grid_finer above = {nullptr, &f};
    tail_relax(&f, rules.bounded, rules.pre);
    if (f.active) {
      for_nodes(f.width * f.height, 1,
                [&](int64_t k, int64_t) { cvtm_grid_truncate(&f, k, f.e[k]); });
    }
    for_nodes(c.width, c.height,
              [&](int64_t x, int64_t y) { cvtm_grid_restrict(&above, &c, &rules, x, y); });
  }
  const cvtm_grid_level bottom = levels[last];
  tail_relax(&bottom, rules.bounded, cvtm_grid_bottom_sweeps(&bottom));
  for (int l = last - 1; l >= first; --l) {
    const cvtm_grid_level f = levels[l], c = levels[l + 1];
    for_nodes(f.width, f.height, [&](int64_t x, int64_t y) {
      f.e[y * f.width + x] = cvtm_grid_prolonged(&f, &c, x, y);
    });
    tail_relax(&f, rules.bounded, rules.post);
  }
}

/* As cvtm_grid_coarse_neighbour_sum, where nodes outside the grid hold 0. */
__device__ double coarse_around(const double *e, int pitch, const double link[3][3]) {
  const double north =
      (link[0][0] * e[-pitch - 1] + link[0][1] * e[-pitch]) + link[0][2] * e[-pitch + 1];
  const double beside = link[1][0] * e[-1] + link[1][2] * e[1];
  const double south =
      (link[2][0] * e[pitch - 1] + link[2][1] * e[pitch]) + link[2][2] * e[pitch + 1];
  return (north + beside) + south;
}

/* --- small levels in shared memory --- */

extern __shared__ double small_memory[];

/* A small level in shared memory: arrays with a rim of zeros, one behind the other. */
struct small_level {
  int first, width, height, pitch, size; /* where it begins; the size of an array with its rim */

  __device__ int at(int x, int y) const { return (y + 1) * pitch + x + 1; }
  __device__ double *array(int number) const { return small_memory + (first + number * size); }
  __device__ double *plane(int p) const { return array(p); }
  __device__ double *e() const { return array(CVTM_GRID_PLANES); }
  __device__ double *r() const { return array(CVTM_GRID_PLANES + 1); }
  __device__ double *rest() const { return array(CVTM_GRID_PLANES + 2); }
  __device__ double *inverse() const { return array(CVTM_GRID_PLANES + 3); }
  __device__ double *lower() const { return array(CVTM_GRID_PLANES + 4); }
  __device__ double *upper() const { return array(CVTM_GRID_PLANES + 5); }
  __device__ void row(int k, double link[3][3]) const {
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

/* Arrays of a small level: four of its own, the planes, and bounds where there are any. */
__host__ __device__ int small_arrays(int bounded) { return CVTM_GRID_PLANES + (bounded ? 6 : 4); }

__device__ small_level small_from(const cvtm_grid_level *level, int first) {
  small_level s;
  s.first = first;
  s.width = static_cast<int>(level->width);
  s.height = static_cast<int>(level->height);
  s.pitch = s.width + 2;
  s.size = s.pitch * (s.height + 2);
  return s;
}

/* Calls work(x, y) for all nodes of a small grid, then waits. Rows are dealt out without a
 * division, to 2^n threads each. */
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

__device__ double small_relaxed(small_level s, int bounded, int k, const double (&link)[3][3]) {
  const double value = (s.r()[k] + coarse_around(s.e() + k, s.pitch, link)) * s.inverse()[k];
  return bounded ? cvtm_grid_clip(value, s.lower()[k], s.upper()[k]) : value;
}

__device__ void relax_small(small_level s, int bounded, int sweeps) {
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    const int cx = colour & 1, cy = (colour >> 1) & 1;
    for_small((s.width + 1 - cx) / 2, (s.height + 1 - cy) / 2, [&](int x, int y) {
      const int k = s.at(2 * x + cx, 2 * y + cy);
      double link[3][3];
      s.row(k, link);
      s.e()[k] = small_relaxed(s, bounded, k, link);
    });
  }
}

/* The same on a grid that one warp holds, a node per thread: no other warp takes part. */
__device__ void relax_bottom(small_level s, int bounded, int sweeps) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 32) {
    const int x = lane % s.width, y = lane / s.width, k = s.at(x, y < s.height ? y : 0);
    const int colour = y < s.height ? (x & 1) + 2 * (y & 1) : 4;
    double link[3][3];
    s.row(k, link);
    for (int turn = 0; turn < 4 * sweeps; ++turn) {
      if ((turn & 3) == colour) s.e()[k] = small_relaxed(s, bounded, k, link);
      __syncwarp();
    }
  }
  __syncthreads();
}

/* Is interpolation the closed form in both directions? */
__device__ bool is_bilinear(const cvtm_grid_level *c) {
  return !c->weight && c->halved_x && c->halved_y;
}

/* What one node of the next level gathers. */
__device__ double restrict_bilinear(small_level f, small_level s, const cvtm_grid_level *c, int x,
                                    int y) {
  const double west = c->neumann && x == 0 ? 1.0 : 0.5;
  const double east = c->neumann && x + 1 == s.width ? 1.0 : 0.5;
  const double *at = f.rest() + f.at(2 * x, 2 * y);
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
      sum +=
          cvtm_grid_basis(c, x, y, i, j) * f.rest()[f.at(static_cast<int>(i), static_cast<int>(j))];
    }
  }
  return sum;
}

__device__ void restrict_room(small_level f, small_level s, const cvtm_grid_level *c, int averaged,
                              int x, int y) {
  cvtm_grid_correction_bounds room = cvtm_grid_bounds_start(averaged);
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, f.width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, f.height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const double weight = cvtm_grid_basis(c, x, y, i, j);
      const int k = f.at(static_cast<int>(i), static_cast<int>(j));
      if (!(weight > 0)) continue;
      cvtm_grid_bounds_add(&room, averaged, weight, f.lower()[k] - f.e()[k],
                           f.upper()[k] - f.e()[k]);
    }
  }
  const double scale = averaged && room.weight > 0 ? room.weight : 1.0;
  s.lower()[s.at(x, y)] = room.lower / scale;
  s.upper()[s.at(x, y)] = room.upper / scale;
}

__device__ void restrict_small(small_level f, small_level s, const cvtm_grid_level *c,
                               const cvtm_grid_rules *rules) {
  for_small(f.width, f.height, [&](int x, int y) {
    const int k = f.at(x, y);
    double link[3][3];
    f.row(k, link);
    f.rest()[k] = (f.r()[k] + coarse_around(f.e() + k, f.pitch, link)) - link[1][1] * f.e()[k];
  });
  const bool bilinear = is_bilinear(c);
  for_small(s.width, s.height, [&](int x, int y) {
    s.r()[s.at(x, y)] = bilinear ? restrict_bilinear(f, s, c, x, y) : restrict_any(f, c, x, y);
    if (rules->bounded) restrict_room(f, s, c, rules->averaged, x, y);
  });
}

__device__ double prolonged_bilinear(small_level s, const cvtm_grid_level *c, int i, int j) {
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

__device__ double prolonged_any(small_level s, const cvtm_grid_level *c, int i, int j) {
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
    f.e()[f.at(i, j)] += bilinear ? prolonged_bilinear(s, c, i, j) : prolonged_any(s, c, i, j);
  });
}

/* The levels of a tail. */
struct small_levels {
  cvtm_grid_level level[max_small];
  int bottom; /* the last one */
  int makes;  /* are operators below the first one made there? */
};

/* A level's operator into shared memory; the caller waits. */
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

/* A level's operator from the one above it, with bilinear interpolation; into the memory of the
 * device, too. What lies beyond the grid is 0. */
__device__ void make_small(small_level f, small_level s, const cvtm_grid_level &c) {
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
        f.row(f.at(2 * x + dx, 2 * y + dy), link);
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

/* The V-cycle of the levels in shared memory. */
__device__ void cycle_small(const small_level *small, const small_levels &tail,
                            const cvtm_grid_rules &rules) {
  const int bottom = tail.bottom, sweeps = cvtm_grid_bottom_sweeps(&tail.level[bottom]);
  for (int l = 0; l < bottom; ++l) {
    relax_small(small[l], rules.bounded, rules.pre);
    restrict_small(small[l], small[l + 1], &tail.level[l + 1], &rules);
  }
  if (small[bottom].width * small[bottom].height <= 32) {
    relax_bottom(small[bottom], rules.bounded, sweeps);
  } else {
    relax_small(small[bottom], rules.bounded, sweeps);
  }
  for (int l = bottom - 1; l >= 0; --l) {
    prolong_small(small[l], small[l + 1], &tail.level[l + 1]);
    relax_small(small[l], rules.bounded, rules.post);
  }
}

/* The whole V-cycle of the small levels in one block's shared memory. The operators, which seldom
 * change, are looked at before the larger levels are ready. */
__global__ void __launch_bounds__(tail_threads)
    tail_shared(const __grid_constant__ small_levels tail, cvtm_grid_rules rules,
                const uint8_t *changed) {
  __shared__ small_level small[max_small];
  const int thread = static_cast<int>(threadIdx.x);
  int end = 0;
  for (int l = 0; l <= tail.bottom; ++l) {
    const small_level s = small_from(&tail.level[l], end);
    if (l == thread) small[l] = s;
    end += s.size * small_arrays(rules.bounded);
  }
  for (int k = thread; k < end; k += tail_threads) small_memory[k] = 0;
  __syncthreads();
#pragma unroll 1
  for (bool waited = false;; waited = true) {
    const int loaded = waited && tail.makes ? 0 : tail.bottom;
    for (int l = 0; l <= loaded; ++l) load_small(small[l], tail.level[l]);
    if (waited) {
      __syncthreads();
      for (int l = loaded + 1; l <= tail.bottom; ++l) {
        make_small(small[l - 1], small[l], tail.level[l]);
      }
      break;
    }
    pdl_wait();
    pdl_trigger(); /* not before: see up_tile */
    if (changed && !__ldcg(changed)) break;
  }
  const small_level s = small[0];
  const cvtm_grid_level &level = tail.level[0];
  for_small(s.width, s.height, [&](int x, int y) {
    const int k = y * s.width + x, at = s.at(x, y);
    s.r()[at] = level.r[k];
    if (!rules.bounded) return;
    s.lower()[at] = level.lower[k];
    s.upper()[at] = level.upper[k];
  });
  cycle_small(small, tail, rules);
  for_small<false>(s.width, s.height,
                   [&](int x, int y) { level.e[y * s.width + x] = s.e()[s.at(x, y)]; });
}

/* --- launchers --- */

cudaStream_t stream_of(const cvtm_grid_top *top) { return cvtm_cuda_stream(top->device); }
dim3 nodes_of(const cvtm_grid_top *top) {
  return striding_tiles(top->shape->width, top->shape->height);
}
dim3 nodes_of(const cvtm_grid_level *level) { return striding_tiles(level->width, level->height); }

cvtm_status start_cuda(const cvtm_grid_top *top, int warm, int into_d) {
  start_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, warm, into_d);
  return cvtm_cuda_launched(top->device, "start_kernel");
}

template <int team = 1, typename... Parameters, typename... Arguments>
cvtm_status launch_next(const cvtm_grid_top *top, const char *name, void (*kernel)(Parameters...),
                        dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  return launch_pdl<team>(top->device, name, kernel, grid, block, shared, arguments...);
}

framed_rows framed(double link, double outer, double own) {
  framed_rows rows = {link, outer, own, {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    rows.diagonal[k] = own + ((link + (k > 0 ? outer : link)) + (link + (k > 1 ? outer : link)));
    rows.inverse[k] = 1 / rows.diagonal[k];
  }
  return rows;
}

/* Calls launch with the kind of rows that the problem has. */
template <typename Launch>
void with_rows(const cvtm_grid_problem *shape, Launch launch) {
  const double c = shape->constant;
  if (shape->horizontal || shape->mask) {
    launch(stored_rows());
  } else if (shape->diagonal && shape->neumann && c > 0) {
    launch(weighted_rows{c, 0.0});
  } else if (shape->diagonal) {
    launch(stored_rows());
  } else if (!(c > 0)) {
    launch(stored_rows());
  } else if (shape->neumann || shape->mass > 0) {
    launch(framed(c, shape->neumann ? 0.0 : c, shape->mass));
  } else {
    const double diagonal = (c + c) + (c + c);
    launch(uniform_rows{constant_row{c, diagonal, 1 / diagonal}});
  }
}

/* Rows that each warp of a march owns: as few rounds of blocks as can be, all of them full. */
int march_rows(int64_t width, int64_t height, int rim) {
  const int64_t crowd = 528, most = 64; /* blocks at a time; rows: long ways part neighbours */
  const int64_t span = 2 * pairs_within(rim) * march_warps, across = (width + span - 1) / span;
  const int64_t rounds = (height * across + most * crowd - 1) / (most * crowd);
  const int64_t down = rounds * crowd > across ? rounds * crowd / across : 1;
  const int64_t rows = (height + down - 1) / down;
  return static_cast<int>((rows + slack_rows - 1) / slack_rows * slack_rows);
}
dim3 marches(int64_t width, int64_t height, int rim) {
  const int64_t span = 2 * pairs_within(rim) * march_warps, rows = march_rows(width, height, rim);
  const int64_t down = (height + rows - 1) / rows, limit = 1 << 15;
  return dim3(static_cast<unsigned>((width + span - 1) / span),
              static_cast<unsigned>(down < limit ? down : limit),
              static_cast<unsigned>((down + limit - 1) / limit));
}

/* Launches kernel(problem, rows, arguments), each of whose warps has rows_of(...) rows. */
template <typename Rows>
int rows_of(const cvtm_grid_top *top) {
  return march_rows(top->shape->width, top->shape->height, Rows::rim);
}
template <typename Rows, typename Kernel, typename... Arguments>
cvtm_status launch_march(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const Rows &rows, Arguments... arguments) {
  return launch_next(top, name, kernel, marches(top->shape->width, top->shape->height, Rows::rim),
                     march_threads, kept_bytes, top->problem, rows, arguments...);
}

/* Calls launch with a flag that kernels know when they are compiled. */
template <typename Launch>
void with_flag(bool flag, Launch launch) {
  flag ? launch(std::true_type()) : launch(std::false_type());
}

/* The operator of a level where it is constant. */
cvtm_grid_constant_stencil plain_of(const cvtm_grid_top *top, const cvtm_grid_level *level) {
  cvtm_grid_constant_stencil plain = cvtm_grid_constant_stencil_of(top->shape);
  for (int64_t w = top->shape->width; w > level->width; w /= 2)
    plain = cvtm_grid_galerkin_constant(plain);
  return plain;
}

/* A level whose tiles all run at once. */
constexpr int64_t early_nodes = 1 << 18;

constexpr int search_blocks = 528; /* as many as run at a time */

/* At the head of `partial`: how far nodes are from their bounds, for the line search. */
int64_t slack_doubles(int64_t width, int64_t height) {
  return (strips_of(width, most_rim) * ((height + slack_rows - 1) / slack_rows) + 1) / 2;
}
unsigned *slacks_of(const cvtm_grid_top *top) { return reinterpret_cast<unsigned *>(top->partial); }
double *sums_of(const cvtm_grid_top *top) {
  return top->partial + slack_doubles(top->shape->width, top->shape->height);
}

/* Launches kernel(level, coarse, plain, more), whose tiles own so many pairs of nodes each way. */
template <typename Kernel, typename... More>
cvtm_status launch_tiles(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const cvtm_grid_level *level, const cvtm_grid_level *coarse, int own_x,
                         int own_y, More... more) {
  const int64_t limit = 1 << 15, across = (level->width + 1) / 2, down = (level->height + 1) / 2;
  const int64_t tiles_y = (down + own_y - 1) / own_y;
  const dim3 grid(static_cast<unsigned>((across + own_x - 1) / own_x),
                  static_cast<unsigned>(tiles_y < limit ? tiles_y : limit),
                  static_cast<unsigned>((tiles_y + limit - 1) / limit));
  return launch_next(top, name, kernel, grid, dim3(quads_x, quads_y), tile_bytes, *level, *coarse,
                     plain_of(top, level), more...);
}

int64_t partials_cuda(int64_t width, int64_t height) {
  const dim3 tiled = reducing_tiles(width, height);
  int64_t blocks =
      std::max(static_cast<int64_t>(tiled.x) * tiled.y, static_cast<int64_t>(search_blocks));
  for (int rim = least_rim; rim <= most_rim; ++rim) {
    const dim3 marched = marches(width, height, rim);
    blocks = std::max(blocks, static_cast<int64_t>(marched.x) * marched.y * marched.z);
  }
  return slack_doubles(width, height) + CVTM_GRID_SUMS * blocks;
}

cvtm_status launch_measure(const cvtm_grid_top *top, measured what) {
  cvtm_status status = CVTM_OK;
  with_rows(top->shape, [&](auto rows) {
    status =
        launch_march(top, "measure_march", measure_march<decltype(rows)>, rows,
                     rows_of<decltype(rows)>(top), what, top->state, sums_of(top), top->history);
  });
  return status;
}

cvtm_status measure_cold_cuda(const cvtm_grid_top *top) {
  return launch_measure(top, MEASURE_COLD);
}

cvtm_status measure_cuda(const cvtm_grid_top *top, int counted) {
  return launch_measure(top, counted ? MEASURE_COUNTED : MEASURE_START);
}

cvtm_status begin_cuda(const cvtm_grid_top *top, const cvtm_grid_stop_rule *course) {
  begin_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, *course);
  return cvtm_cuda_launched(top->device, "begin_kernel");
}

cvtm_status resume_cuda(const cvtm_grid_top *top, int64_t limit) {
  resume_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, limit);
  return cvtm_cuda_launched(top->device, "resume_kernel");
}

cvtm_status smooth_cuda(const cvtm_grid_top *top, int sweeps) {
  const dim3 grid = striding_tiles((top->shape->width + 1) / 2, top->shape->height);
  for (int colour = 0; colour < 2 * sweeps; ++colour) {
    smooth_kernel<<<grid, tile(), 0, stream_of(top)>>>(top->problem, colour & 1, top->rules.omega);
  }
  return cvtm_cuda_launched(top->device, "smooth_kernel");
}

cvtm_status free_active_cuda(const cvtm_grid_top *top) {
  mark_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, 0);
  return cvtm_cuda_launched(top->device, "mark_kernel");
}

/* One sweep before and after, and both directions halved: the phases are marches. */
bool in_marches(const cvtm_grid_rules *rules, const cvtm_grid_level *coarse) {
  return rules->pre == 1 && rules->post == 1 && !rules->averaged && coarse->halved_x &&
         coarse->halved_y;
}

/* With the one behind them: top->changed. */
cvtm_status clear_marks(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const size_t marks = static_cast<size_t>(coarse->width * coarse->height) + 1;
  CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->support_changed, 0, marks, stream_of(top)));
  return CVTM_OK;
}

cvtm_status descend_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (in_marches(&top->rules, coarse)) {
    cvtm_status status = clear_marks(top, coarse);
    if (status != CVTM_OK) return status;
    with_rows(top->shape, [&](auto rows) {
      with_flag(top->rules.bounded, [&](auto bounded) {
        status = launch_march(
            top, "descend_march", descend_march<decltype(bounded)::value, decltype(rows)>, rows,
            *coarse, top->rules.truncated, rows_of<decltype(rows)>(top), slacks_of(top));
      });
    });
    return status;
  }
  const cvtm_status status = smooth_cuda(top, top->rules.pre);
  if (status != CVTM_OK) return status;
  descend_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(top->problem, *coarse,
                                                                  top->rules);
  mark_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->rules.truncated);
  if (top->changed) CVTM_CUDA_TRY(top->device, cudaMemsetAsync(top->changed, 1, 1, stream_of(top)));
  return cvtm_cuda_launched(top->device, "descend_kernel");
}

cvtm_status galerkin_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                          const cvtm_grid_level *coarse, int all) {
  cvtm_status status = CVTM_OK;
  const bool large = coarse->width * coarse->height > 1 << 20;
  const bool halved = coarse->halved_x && coarse->halved_y;
  if (halved && !coarse->weight &&
      !(finer ? finer->active != nullptr : top->shape->horizontal != nullptr)) {
    with_flag(finer == nullptr, [&](auto first) {
      with_flag(large, [&](auto tall) {
        constexpr int rows = decltype(tall)::value ? 4 * tile_y : tile_y;
        const int64_t blocks = (coarse->height + rows - 1) / rows;
        status = launch_next(top, "galerkin_bilinear_kernel",
                             galerkin_bilinear_kernel<decltype(first)::value, rows>,
                             tiles(coarse->width, blocks * tile_y), tile(), 0, top->problem,
                             finer ? *finer : *coarse, *coarse, all, top->changed);
      });
    });
    return status;
  }
  const int tall = large ? 4 : 1;
  return launch_next(top, "galerkin_kernel", galerkin_kernel,
                     tiles(coarse->width, (coarse->height + tall - 1) / tall), tile(), 0,
                     top->problem, finer ? *finer : *coarse, *coarse, finer == nullptr, all, tall,
                     top->changed);
}

cvtm_status weights_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                         const cvtm_grid_level *coarse) {
  weights_kernel<<<striding_tiles(coarse->blocks_x, coarse->blocks_y), tile(), 0, stream_of(top)>>>(
      top->problem, finer ? *finer : *coarse, *coarse, finer == nullptr);
  return cvtm_cuda_launched(top->device, "weights_kernel");
}

cvtm_status relax(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const dim3 grid = striding_tiles((level->width + 1) / 2, (level->height + 1) / 2);
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    relax_kernel<<<grid, tile(), 0, stream_of(top)>>>(*level, top->rules.bounded, colour & 3);
  }
  return cvtm_cuda_launched(top->device, "relax_kernel");
}

cvtm_status down_cuda(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
  if (in_marches(&top->rules, coarse)) {
    cvtm_status status = CVTM_OK;
    with_flag(top->rules.bounded, [&](auto bounded) {
      with_flag(coarse->weight != nullptr, [&](auto stored) {
        status = launch_tiles(top, "down_tile",
                              down_tile<decltype(bounded)::value, decltype(stored)::value>, level,
                              coarse, down_x, down_y,
                              level->width * level->height <= early_nodes ? top->changed : nullptr);
      });
    });
    return status;
  }
  clear_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level);
  const cvtm_status status = relax(top, level, top->rules.pre);
  if (status != CVTM_OK) return status;
  if (level->active) {
    truncate_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level);
  }
  down_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(*level, *coarse, top->rules);
  return cvtm_cuda_launched(top->device, "down_kernel");
}

cvtm_status up_cuda(const cvtm_grid_top *top, const cvtm_grid_level *level,
                    const cvtm_grid_level *coarse) {
  if (in_marches(&top->rules, coarse)) {
    cvtm_status status = CVTM_OK;
    with_flag(top->rules.bounded, [&](auto bounded) {
      with_flag(coarse->weight != nullptr, [&](auto stored) {
        status =
            launch_tiles(top, "up_tile", up_tile<decltype(bounded)::value, decltype(stored)::value>,
                         level, coarse, up_x, up_y);
      });
    });
    return status;
  }
  prolong_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level, *coarse);
  return relax(top, level, top->rules.post);
}

/* Shared memory for the tail that begins with level `first`; 0 if it has to do without. */
size_t tail_bytes(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first, int last) {
  int64_t nodes = 0;
  for (int l = first; l <= last; ++l) nodes += (levels[l].width + 2) * (levels[l].height + 2);
  const size_t bytes =
      static_cast<size_t>(nodes * small_arrays(top->rules.bounded)) * sizeof(double);
  return bytes <= small_bytes && last - first < max_small && !levels[first].active ? bytes : 0;
}

/* The last level whose operator the tail does not make itself. */
int last_apart(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first, int last) {
  int small = first;
  while (small < last && levels[small].width * levels[small].height > tail_nodes) ++small;
  for (int l = small + 1; l <= last; ++l) {
    if (!levels[l].halved_x || !levels[l].halved_y || levels[l].weight) return last;
  }
  return tail_bytes(top, levels, small, last) > 0 ? small : last;
}

cvtm_status operators_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                           int last, int all) {
  bool has_teams = false;
  if (!all) last = last_apart(top, levels, first, last);
  cvtm_status status = has_pdl_and_clusters(top->device, &has_teams);
  for (int l = first; l <= last && !status; ++l) {
    const bool below_problem = l == top->number + 1;
    if (has_teams && !all && l < last && levels[l].width * levels[l].height <= team_nodes) {
      return launch_next<team_blocks>(top, "galerkin_team", galerkin_team, team_blocks,
                                      team_threads, 0, top->problem, top->levels, l, last,
                                      below_problem, top->changed);
    }
    status = galerkin_cuda(top, below_problem ? nullptr : &levels[l - 1], &levels[l], all);
  }
  return status;
}

cvtm_status tail_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                      int last) {
  if (levels[first].width * levels[first].height > tail_nodes) { /* the only one */
    clear_kernel<<<nodes_of(&levels[first]), tile(), 0, stream_of(top)>>>(levels[first]);
    return relax(top, &levels[first], cvtm_grid_bottom_sweeps(&levels[first]));
  }
  const size_t bytes = tail_bytes(top, levels, first, last);
  if (bytes > 0) {
    small_levels small = {};
    small.bottom = last - first;
    small.makes = last_apart(top, levels, first, last) == first;
    for (int l = first; l <= last; ++l) small.level[l - first] = levels[l];
    return launch_next(top, "tail_shared", tail_shared, 1, tail_threads, bytes, small, top->rules,
                       top->changed);
  }
  return launch_next(top, "tail_kernel", tail_kernel, 1, tail_threads, 0, top->levels, top->rules,
                     first, last);
}

cvtm_status correct_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (in_marches(&top->rules, coarse)) {
    if (!top->rules.searched) return CVTM_OK; /* ascend corrects */
    cvtm_status status = CVTM_OK;
    with_rows(top->shape, [&](auto rows) {
      status = launch_next(top, "search_march", search_march<decltype(rows)>, search_blocks,
                           march_threads, 0, top->problem, rows, *coarse, slacks_of(top),
                           top->state, sums_of(top));
    });
    return status;
  }
  correct_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, *coarse,
                                                               top->rules.searched);
  if (top->rules.searched) {
    search_kernel<<<reducing_tiles(top->shape->width, top->shape->height), tile(), 0,
                    stream_of(top)>>>(top->problem, top->state, sums_of(top));
  }
  return cvtm_cuda_launched(top->device, "correct_kernel");
}

cvtm_status ascend_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (in_marches(&top->rules, coarse)) {
    cvtm_status status = CVTM_OK;
    uint64_t handle = 0;
    const int claimed = cvtm_loop_claim(top->device, &handle);
    with_rows(top->shape, [&](auto rows) {
      status =
          launch_march(top, "ascend_march", ascend_march<decltype(rows)>, rows, *coarse,
                       top->rules.searched, rows_of<decltype(rows)>(top), top->state, sums_of(top),
                       top->history, claimed, static_cast<cudaGraphConditionalHandle>(handle));
    });
    return status;
  }
  if (top->rules.searched) {
    step_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->state);
  }
  const cvtm_status status = smooth_cuda(top, top->rules.post);
  return status ? status : measure_cuda(top, 1);
}

int chains_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  bool chains = false;
  with_rows(top->shape, [&](auto rows) { chains = decltype(rows)::chains; });
  return chains && in_marches(&top->rules, coarse);
}

cvtm_status turn_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  cvtm_status status = clear_marks(top, coarse);
  if (status != CVTM_OK) return status;
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(top->device, &handle);
  with_rows(top->shape, [&](auto rows) {
    if constexpr (decltype(rows)::chains) {
      with_flag(top->rules.bounded, [&](auto bounded) {
        status = launch_march(
            top, "turn_march", turn_march<decltype(bounded)::value, decltype(rows)>, rows, *coarse,
            top->rules, rows_of<decltype(rows)>(top), slacks_of(top), top->state, sums_of(top),
            top->history, claimed, static_cast<cudaGraphConditionalHandle>(handle));
      });
    }
  });
  return status;
}

cvtm_status settle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_rows(top->shape, [&](auto rows) {
    if constexpr (decltype(rows)::chains) {
      status = launch_march(top, "settle_march", settle_march<decltype(rows)>, rows, *coarse,
                            top->rules.searched, rows_of<decltype(rows)>(top), top->state);
    }
  });
  if (status != CVTM_OK) return status;
  bring_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->state,
                                                             top->shape->x);
  restore_kernel<<<1, 1, 0, stream_of(top)>>>(top->problem, *top->shape);
  return cvtm_cuda_launched(top->device, "bring_kernel");
}

cvtm_status coarsen_data_cuda(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                              const cvtm_grid_level *level) {
  coarsen_data_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(top->problem,
                                                                       coarse->problem, *level);
  return cvtm_cuda_launched(top->device, "coarsen_data_kernel");
}

cvtm_status coarsen_links_cuda(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level) {
  coarsen_links_kernel<<<striding_tiles(level->width + 1, level->height + 1), tile(), 0,
                         stream_of(top)>>>(top->problem, coarse->problem, *level);
  return cvtm_cuda_launched(top->device, "coarsen_links_kernel");
}

cvtm_status prolong_start_cuda(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level) {
  prolong_start_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, coarse->problem,
                                                                     *level);
  return cvtm_cuda_launched(top->device, "prolong_start_kernel");
}

cvtm_status keep_best_cuda(const cvtm_grid_top *top, int back) {
  keep_best_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->state, back);
  return cvtm_cuda_launched(top->device, "keep_best_kernel");
}

cvtm_status finish_cuda(const cvtm_grid_top *top) {
  finish_kernel<<<reducing_tiles(top->shape->width, top->shape->height), tile(), 0,
                  stream_of(top)>>>(top->problem, top->state, sums_of(top));
  return cvtm_cuda_launched(top->device, "finish_kernel");
}

} /* namespace */

const cvtm_grid_table cvtm_grid_table_cuda = {
    partials_cuda,    start_cuda,   measure_cold_cuda, begin_cuda,         resume_cuda,
    measure_cuda,     smooth_cuda,  keep_best_cuda,    finish_cuda,        descend_cuda,
    operators_cuda,   down_cuda,    tail_nodes,        tail_cuda,          up_cuda,
    correct_cuda,     ascend_cuda,  chains_cuda,       turn_cuda,          settle_cuda,
    free_active_cuda, weights_cuda, coarsen_data_cuda, coarsen_links_cuda, prolong_start_cuda,
};
