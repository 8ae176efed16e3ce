/* The CUDA table of phases. Specialised kernels run the cycles that they support, plain kernels all
 * others. The plain kernels call the functions of grid_node.h, one node per thread. With
 * CVTMESH_PLAIN=grid a solver uses plain kernels only. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_galerkin.h"

namespace {

/* The thread blocks for for_nodes: at most max_parts, since one block adds all partial sums. */
dim3 summing_blocks(const cvtm_grid_top *top) {
  dim3 grid = blocks_for_nodes(top);
  while (static_cast<int64_t>(grid.x) * grid.y > max_parts && grid.y > 1) grid.y = (grid.y + 1) / 2;
  return grid;
}

/* --- the iteration --- */

__global__ void begin_iteration_kernel(cvtm_grid_state *state, cvtm_grid_stop_rule rule) {
  cvtm_grid_begin(state, &rule);
}

__global__ void raise_limit_kernel(cvtm_grid_state *state, int64_t limit) {
  state->loop.limit = limit;
  state->loop.go_on = 1;
}

/* Computes the norms at x, or at d for MEASURE_COLD_START. */
__global__ void measure_kernel(const cvtm_grid_problem *problem, cvtm_grid_measured what,
                               cvtm_grid_state *state, double *partial, double *history) {
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD_START ? p.d : p.x;
  cvtm_grid_norms norms = {0, 0, 0};
  for_nodes(p.width, p.height,
            [&](int64_t i, int64_t j) { cvtm_grid_add_node_natural(&p, x, i, j, &norms); });
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  if (!reduce_norms(&norms, partial, state, block, gridDim.x * gridDim.y)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  enter_norms(norms, what, state, history);
}

/* Four thread blocks per multiprocessor are enough to hide the latency of memory. */
__global__ void __launch_bounds__(tile_x *tile_y, 4)
    measure_energy_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                          double *partial) {
  const cvtm_grid_problem p = *problem;
  double sum[3] = {0, 0, 0}; /* counts below 2^53 are exact */
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
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

/* --- the V-cycle on the five-point problem --- */

/* Restricts the residual of the problem to node (x, y) of the level below. */
__device__ void restrict_problem(const cvtm_grid_problem *p, const cvtm_grid_level *coarse,
                                 int64_t x, int64_t y) {
  const cvtm_grid_finer f = {p, nullptr};
  cvtm_grid_restrict(&f, coarse, x, y);
}

__global__ void line_search_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                                   double *partial) {
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  double sum[2] = {0, 0};
  for_nodes(p.width, p.height,
            [&](int64_t i, int64_t j) { cvtm_grid_add_line_search(&p, i, j, &sum[0], &sum[1]); });
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

/* Relaxes a node on line j: number `half` of the nodes of one colour. */
__device__ void smooth(const cvtm_grid_problem *p, int colour, double omega, int64_t half,
                       int64_t j) {
  const int64_t i = 2 * half + ((j + colour) & 1), k = j * p->width + i;
  if (i >= p->width) return;
  if (!cvtm_grid_masked(p, k)) p->x[k] = cvtm_grid_relaxed(p, p->x, i, j, omega);
}

__global__ void step_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state) {
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_line_search_step(state);
  for_nodes(p.width, p.height, [&](int64_t i, int64_t j) {
    p.x[j * p.width + i] = cvtm_grid_stepped(&p, j * p.width + i, step);
  });
}

/* --- the V-cycle on coarse levels --- */

__device__ void clear(const cvtm_grid_level *level, int64_t x, int64_t y) {
  level->e[y * level->width + x] = 0;
}

/* Relaxes the node of a colour with number half_x in x and half_y in y. */
__device__ void relax(const cvtm_grid_level *level, int colour, int64_t half_x, int64_t half_y) {
  const int64_t x = 2 * half_x + (colour & 1), y = 2 * half_y + (colour >> 1);
  if (x >= level->width || y >= level->height) return;
  level->e[y * level->width + x] = cvtm_grid_coarse_relaxed(level, x, y);
}

__device__ void restrict_level(const cvtm_grid_level *level, const cvtm_grid_level *coarse,
                               int64_t x, int64_t y) {
  const cvtm_grid_finer f = {nullptr, level};
  cvtm_grid_restrict(&f, coarse, x, y);
}

/* --- launchers --- */

#define NODE_PHASE(name, parameters, width, height, function, ...)             \
  cvtm_status name##_cuda parameters {                                         \
    return launch_nodes<function>(top, #name, (width), (height), __VA_ARGS__); \
  }
CVTM_GRID_NODE_PHASES(NODE_PHASE)

cvtm_status begin_iteration_cuda(const cvtm_grid_top *top, const cvtm_grid_stop_rule *rule) {
  begin_iteration_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, *rule);
  return cvtm_cuda_launched(top->device, "begin_iteration_kernel");
}

cvtm_status raise_limit_cuda(const cvtm_grid_top *top, int64_t limit) {
  raise_limit_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, limit);
  return cvtm_cuda_launched(top->device, "raise_limit_kernel");
}

cvtm_status smooth_cuda(const cvtm_grid_top *top, int sweeps) {
  const int64_t width = (top->shape->width + 1) / 2, height = top->shape->height;
  for (int colour = 0; colour < 2 * sweeps; ++colour)
    CVTM_TRY(launch_nodes<smooth, 4>(top, "smooth", width, height, top->problem, colour & 1,
                                     top->omega));
  return CVTM_OK;
}

cvtm_status measure_energy_cuda(const cvtm_grid_top *top) {
  measure_energy_kernel<<<summing_blocks(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, top->state, cvtm_grid_sums_of(top));
  return cvtm_cuda_launched(top->device, "measure_energy_kernel");
}

cvtm_status measure_plain(const cvtm_grid_top *top, cvtm_grid_measured what) {
  measure_kernel<<<summing_blocks(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, what, top->state, cvtm_grid_sums_of(top), top->history);
  return cvtm_cuda_launched(top->device, "measure_kernel");
}

cvtm_status pre_smooth_and_restrict_plain(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  CVTM_TRY(smooth_cuda(top, 1));
  CVTM_TRY(launch_nodes<restrict_problem>(top, "restrict_problem", coarse->width, coarse->height,
                                          top->problem, coarse));
  if (top->changed) CVTM_CUDA_TRY(top->device, cudaMemsetAsync(top->changed, 1, 1, stream_of(top)));
  return launch_nodes<cvtm_grid_mark_active>(top, "mark_active", top->shape->width,
                                             top->shape->height, top->problem, 0);
}

/* Relaxes a level. from_zero: the sweeps start from e = 0. */
cvtm_status relax_level(const cvtm_grid_top *top, const cvtm_grid_level *level, bool from_zero,
                        int sweeps) {
  const int64_t width = (level->width + 1) / 2, height = (level->height + 1) / 2;
  cvtm_status status = CVTM_OK;
  if (from_zero) status = launch_nodes<clear>(top, "clear", level->width, level->height, level);
  for (int colour = 0; colour < 4 * sweeps && status == CVTM_OK; ++colour)
    status = launch_nodes<relax>(top, "relax", width, height, level, colour & 3);
  return status;
}

cvtm_status coarse_pre_smooth_and_restrict_plain(const cvtm_grid_top *top,
                                                 const cvtm_grid_level *level,
                                                 const cvtm_grid_level *coarse) {
  CVTM_TRY(relax_level(top, level, true, 1));
  return launch_nodes<restrict_level>(top, "restrict_level", coarse->width, coarse->height, level,
                                      coarse);
}

cvtm_status coarse_prolong_and_post_smooth_plain(const cvtm_grid_top *top,
                                                 const cvtm_grid_level *level,
                                                 const cvtm_grid_level *coarse) {
  CVTM_TRY(launch_nodes<cvtm_grid_prolong, 6>(top, "prolong", level->width, level->height, level,
                                              coarse));
  return relax_level(top, level, false, 1);
}

cvtm_status prolong_and_correct_plain(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  CVTM_TRY(launch_nodes<cvtm_grid_correct>(top, "correct", top->shape->width, top->shape->height,
                                           top->problem, coarse));
  line_search_kernel<<<summing_blocks(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, top->state, cvtm_grid_sums_of(top));
  return cvtm_cuda_launched(top->device, "line_search_kernel");
}

/* ------ P'AP ------
 *
 * P'AP on coarse levels. galerkin_bilinear_kernel saves 10 to 18 % of a cycle of tnnmg on a torsion
 * problem at 1024 x 1024 and 4096 x 4096, compared with galerkin_kernel (H200); one cluster of
 * blocks for all small levels saved nothing. Most stencils do not change from one cycle to the
 * next: a block first reads the flags of its tile, all threads at once, and computes nothing if no
 * flag is set.
 *
 *   galerkin_bilinear_kernel  bilinear interpolation, below a problem without stored links or below
 *                             another level; flags as bits in shared memory
 *   galerkin_kernel           any coarsening and any weights */

/* The tiles of a level, with tile_x columns and `lines` lines each. A thread block works on one
 * tile. */
struct level_tiles {
  int across, count;

  __host__ __device__ level_tiles(const cvtm_grid_level &level, int lines)
      : across(static_cast<int>((level.width + tile_x - 1) / tile_x)),
        count(static_cast<int>(across * ((level.height + lines - 1) / lines))) {}
};

/* below_problem: the finer level is the problem instead of `finer`. A tile has `rounds` * tile_y
 * lines. */
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
    /* all nodes that cvtm_grid_needs_galerkin reads, and a few more */
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

/* Flags of the finer nodes around a tile, in shared memory, as bits: 32 columns in a word. */
template <int lines, int words>
struct near_bits {
  uint32_t word[lines][words];

  /* Loads the flags from node (left, top) on; nodes outside the grid get `outside`. Called by all
   * warps. Returns true if the calling warp has read a flag that is set. */
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
  /* The 32 bits of a line that begin with bit `first`. */
  __device__ uint32_t at(int line, int first) const {
    const int w = first >> 5;
    return __funnelshift_r(word[line][w], w + 1 < words ? word[line][w + 1] : 0U, first & 31);
  }
};

/* Two thread blocks share a multiprocessor, since most of them only read flags. */
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
      cvtm_grid_galerkin_halved(&f, &coarse, x, y, truncated_bits, 0, sum);
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
  if (halved && !coarse->weight && !uses_plain("bilinear") && (finer || !top->shape->horizontal)) {
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

cvtm_status galerkin_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                          int last, int all) {
  if (!all) last = cvtm_grid_last_before_tail(top, levels, first, last);
  cvtm_status status = CVTM_OK;
  for (int l = first; l <= last && status == CVTM_OK; ++l) {
    const bool below_problem = l == top->number + 1;
    status = galerkin_level(top, below_problem ? nullptr : &levels[l - 1], &levels[l], all);
  }
  return status;
}

/* ------ which phase runs where ------ */

bool marches(const cvtm_grid_top *top) {
  return cvtm_grid_can_march(top->shape) && !uses_plain("march");
}

bool marches(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top) && is_specialised(coarse);
}

bool has_tiles(const cvtm_grid_level *coarse) {
  return is_specialised(coarse) && !uses_plain("tiles");
}

cvtm_status measure_norms(const cvtm_grid_top *top, cvtm_grid_measured what) {
  return marches(top) ? cvtm_grid_measure_march(top, what) : measure_plain(top, what);
}

cvtm_status measure_cold_start_cuda(const cvtm_grid_top *top) {
  return measure_norms(top, MEASURE_COLD_START);
}

cvtm_status measure_cuda(const cvtm_grid_top *top, int counted) {
  return measure_norms(top, counted ? MEASURE_ITERATION : MEASURE_START);
}

cvtm_status pre_smooth_and_restrict_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top, coarse) ? cvtm_grid_pre_smooth_and_restrict_march(top, coarse)
                              : pre_smooth_and_restrict_plain(top, coarse);
}

cvtm_status coarse_pre_smooth_and_restrict_cuda(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse) {
  return has_tiles(coarse) ? cvtm_grid_pre_smooth_and_restrict_tiles(top, level, coarse)
                           : coarse_pre_smooth_and_restrict_plain(top, level, coarse);
}

cvtm_status tail_cycle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                            int last) {
  if (cvtm_grid_is_tail_cuda(top, levels, first, last))
    return cvtm_grid_tail_cycle_cuda(top, levels, first, last);
  return relax_level(top, &levels[last], true, cvtm_grid_bottom_sweeps(&levels[last]));
}

cvtm_status coarse_prolong_and_post_smooth_cuda(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse) {
  return has_tiles(coarse) ? cvtm_grid_prolong_and_post_smooth_tiles(top, level, coarse)
                           : coarse_prolong_and_post_smooth_plain(top, level, coarse);
}

/* If the next phase is a march, enqueues only the line search: post_smooth_and_measure then
 * prolongs and corrects in its own march. */
cvtm_status prolong_and_correct_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top, coarse) ? cvtm_grid_line_search_march(top, coarse)
                              : prolong_and_correct_plain(top, coarse);
}

cvtm_status post_smooth_and_measure_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (marches(top, coarse)) return cvtm_grid_post_smooth_and_measure_march(top, coarse);
  step_kernel<<<blocks_for_nodes(top), tile_threads_xy(), 0, stream_of(top)>>>(top->problem,
                                                                               top->state);
  CVTM_TRY(cvtm_cuda_launched(top->device, "step_kernel"));
  CVTM_TRY(smooth_cuda(top, 1));
  return measure_cuda(top, 1);
}

} /* namespace */

const cvtm_grid_table cvtm_grid_table_cuda = {cvtm_grid_partial_doubles_cuda,
                                              measure_cold_start_cuda,
                                              begin_iteration_cuda,
                                              raise_limit_cuda,
                                              measure_cuda,
                                              smooth_cuda,
                                              measure_energy_cuda,
                                              pre_smooth_and_restrict_cuda,
                                              galerkin_cuda,
                                              coarse_pre_smooth_and_restrict_cuda,
                                              cvtm_grid_is_tail_cuda,
                                              tail_cycle_cuda,
                                              coarse_prolong_and_post_smooth_cuda,
                                              prolong_and_correct_cuda,
                                              post_smooth_and_measure_cuda,
                                              CVTM_GRID_NODE_PHASES(CVTM_PHASE_CUDA_NAME)};
