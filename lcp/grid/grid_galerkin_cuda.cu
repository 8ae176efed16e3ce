/* P'AP on coarse levels. galerkin_bilinear_kernel saves 10 to 18 % of a cycle of tnnmg on a torsion
 * problem at 1024 x 1024 and 4096 x 4096 beside galerkin_kernel (H200); one cluster of blocks for
 * all small levels saved nothing. Most stencils do not change from one cycle to the next: a block
 * first reads the flags of its tile, all threads at once, and computes nothing if none is set.
 *
 * galerkin_bilinear_kernel  bilinear interpolation, below a problem without stored links or below
 *                           another level; flags as bits in shared memory
 * galerkin_kernel           any coarsening and any weights */
#include "base/select.h"
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_galerkin.h"

namespace {

/* The tiles of a level, of tile_x columns and `lines` lines; a block each. */
struct level_tiles {
  int across, count;

  __host__ __device__ level_tiles(const cvtm_grid_level &level, int lines)
      : across(static_cast<int>((level.width + tile_x - 1) / tile_x)),
        count(static_cast<int>(across * ((level.height + lines - 1) / lines))) {}
};

/* below_problem: the finer level is the problem, not `finer`. rounds: tiles of `rounds` * tile_y
 * lines.
 */
__global__ void __launch_bounds__(tile_x *tile_y, 2)
    galerkin_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer, cvtm_grid_level coarse,
                    int below_problem, int all, int rounds, const uint8_t *changed,
                    launch_part part) {
  pdl_trigger_and_wait();
  if (!all && changed && !*changed) return;
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {below_problem ? &p : nullptr, &finer};
  const level_tiles tiles(coarse, tile_y * rounds);
  const int tile = part.block();
  const int64_t left = static_cast<int64_t>(tile % tiles.across) * tile_x;
  const int64_t top = static_cast<int64_t>(tile / tiles.across) * tile_y * rounds;
  const int64_t x = left + threadIdx.x;
  int any = all;
  if (!all) {
    const uint8_t *flags = below_problem ? coarse.support_changed : finer.stencil_changed;
    const int64_t width = below_problem ? coarse.width : finer.width;
    const int64_t height = below_problem ? coarse.height : finer.height;
    const int scale_x = below_problem || !coarse.halved_x ? 1 : 2;
    const int scale_y = below_problem || !coarse.halved_y ? 1 : 2;
    /* The nodes that cvtm_grid_needs_galerkin reads, with one more on each side. */
    const int across = scale_x * tile_x + 4, down = scale_y * tile_y * rounds + 4;
    const int64_t first_i = left * scale_x - 1, first_j = top * scale_y - 1;
#pragma unroll 4
    for (int n = static_cast<int>(threadIdx.y * tile_x + threadIdx.x); n < across * down;
         n += tile_x * tile_y) {
      const int64_t i = first_i + n % across, j = first_j + n / across;
      any |= i >= 0 && j >= 0 && i < width && j < height ? flags[j * width + i] : 0;
    }
  }
  any = __syncthreads_or(any);
  for (int64_t y = top + threadIdx.y; y < top + tile_y * rounds; y += tile_y) {
    if (x >= coarse.width || y >= coarse.height) continue;
    if (any) {
      cvtm_grid_update_galerkin(&f, &coarse, x, y, all);
    } else {
      coarse.stencil_changed[y * coarse.width + x] = 0;
    }
  }
}

/* --- bilinear interpolation --- */

/* Flags of the finer nodes around a tile as bits, 32 columns to a word, in shared memory. */
template <int lines, int words>
struct near_bits {
  uint32_t word[lines][words];

  /* From the node (left, top) on; nodes outside the grid count as `outside`. True if the calling
   * warp has read a flag that is set. All warps call. */
  __device__ bool load(const uint8_t *flags, int64_t width, int64_t height, int64_t left,
                       int64_t top, bool outside) {
    const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
    constexpr int rounds = (lines + tile_y - 1) / tile_y;
    bool set[rounds][words];
    uint32_t any = 0;
#pragma unroll
    for (int t = 0; t < rounds; ++t) {
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const int64_t i = left + 32 * w + lane, j = top + t * tile_y + warp;
        const bool inside = i >= 0 && i < width && j >= 0 && j < height;
        set[t][w] = inside ? flags[j * width + i] != 0 : outside;
      }
    }
#pragma unroll
    for (int t = 0; t < rounds; ++t) {
      const int r = t * tile_y + warp;
#pragma unroll
      for (int w = 0; w < words; ++w) {
        const uint32_t bits = __ballot_sync(0xffffffffU, set[t][w]);
        if (lane == 0 && r < lines) word[r][w] = bits;
        any |= bits;
      }
    }
    return any != 0;
  }
  /* 32 bits of a line, from bit `first` on. */
  __device__ uint32_t at(int line, int first) const {
    const int w = first >> 5;
    return __funnelshift_r(word[line][w], w + 1 < words ? word[line][w + 1] : 0U, first & 31);
  }
};

/* Two blocks at a time on a multiprocessor, since most of them only read flags. */
template <bool below_problem, int lines>
__global__ void __launch_bounds__(tile_x *tile_y, !below_problem && lines == tile_y ? 2 : 0)
    galerkin_bilinear_kernel(const cvtm_grid_problem *problem,
                             const __grid_constant__ cvtm_grid_level finer,
                             const __grid_constant__ cvtm_grid_level coarse, int all,
                             const uint8_t *changed, launch_part part) {
  constexpr int changed_lines = below_problem ? lines + 2 : 2 * lines + 1;
  __shared__ near_bits<changed_lines, below_problem ? 2 : 3> changes;
  __shared__ near_bits<2 * lines + 3, 3> truncated;
  pdl_trigger_and_wait();
  if (!all && changed && !*changed) return;
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {below_problem ? &p : nullptr, &finer};
  const level_tiles tiles(coarse, lines);
  const int tile = part.block();
  const int left = tile % tiles.across * tile_x, top = tile / tiles.across * lines;
  const int64_t x = left + static_cast<int>(threadIdx.x);
  bool any = below_problem ? changes.load(coarse.support_changed, coarse.width, coarse.height,
                                          left - 1, top - 1, false)
                           : changes.load(finer.stencil_changed, finer.width, finer.height,
                                          2 * left, 2 * top, false);
  any = __syncthreads_or(any || all);
  if (below_problem && any) {
    truncated.load(p.active, p.width, p.height, 2 * left - 1, 2 * top - 1, true);
    __syncthreads();
  }
  const int lane = static_cast<int>(threadIdx.x), scale = below_problem ? 1 : 2;
  for (int r = static_cast<int>(threadIdx.y); r < lines; r += tile_y) {
    const int64_t y = top + r;
    if (x >= coarse.width || y >= coarse.height) continue;
    uint32_t due = all ? 7 : 0;
    for (int d = 0; d < 3; ++d) due |= changes.at(scale * r + d, scale * lane) & 7U;
    coarse.stencil_changed[y * coarse.width + x] = due != 0;
    if (due == 0) continue;
    uint32_t truncated_bits = 0;
    if (below_problem) {
#pragma unroll
      for (int t = 0; t < 5; ++t)
        truncated_bits |= (truncated.at(2 * r + t, 2 * lane) & 31U) << (5 * t);
    }
    double sum[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    cvtm_grid_constant_stencil constant;
    const bool is_constant =
        truncated_bits == 0 && cvtm_grid_galerkin_is_constant(&f, x, y, &constant);
    if (is_constant) {
      cvtm_grid_constant_entries(constant, sum);
    } else {
      cvtm_grid_galerkin_bilinear(&f, &coarse, x, y, truncated_bits, sum);
    }
    cvtm_grid_store_stencil(&coarse, x, y, sum, is_constant);
  }
}

/* --- launchers --- */

cvtm_status galerkin_level(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                           const cvtm_grid_level *coarse, int all) {
  cvtm_status status = CVTM_OK;
  const bool large = coarse->width * coarse->height > 1 << 20;
  const bool halved = coarse->halved_x && coarse->halved_y;
  if (halved && !coarse->weight && !cvtm_uses_plain("bilinear") &&
      (finer || !top->shape->horizontal)) {
    with_flag(finer == nullptr, [&](auto below_problem) {
      with_flag(large, [&](auto is_large) {
        constexpr int lines = decltype(is_large)::value ? 4 * tile_y : tile_y;
        status = launch_phase(top, "galerkin_bilinear_kernel",
                              galerkin_bilinear_kernel<decltype(below_problem)::value, lines>,
                              level_tiles(*coarse, lines).count, tile_threads_xy(), 0, top->problem,
                              finer ? *finer : *coarse, *coarse, all, top->changed);
      });
    });
    return status;
  }
  const int rounds = large ? 4 : 1;
  return launch_phase(top, "galerkin_kernel", galerkin_kernel,
                      level_tiles(*coarse, tile_y * rounds).count, tile_threads_xy(), 0,
                      top->problem, finer ? *finer : *coarse, *coarse, finer == nullptr, all,
                      rounds, top->changed);
}

} /* namespace */

cvtm_status cvtm_grid_galerkin_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                    int first, int last, int all) {
  if (cvtm_uses_plain("galerkin")) {
    return cvtm_grid_reference_table_cuda.galerkin(top, levels, first, last, all);
  }
  if (!all) last = cvtm_grid_last_before_tail(top, levels, first, last);
  cvtm_status status = CVTM_OK;
  for (int l = first; l <= last && status == CVTM_OK; ++l) {
    const bool below_problem = l == top->number + 1;
    status = galerkin_level(top, below_problem ? nullptr : &levels[l - 1], &levels[l], all);
  }
  return status;
}
