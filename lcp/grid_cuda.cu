#include "base/cuda_check.h"
#include "lcp/grid_cycle.h"

namespace {

constexpr int tile_x = 32, tile_y = 8;
constexpr int tail_threads = 1024;
/* Blocks that leave partial sums: enough to fill any device several times. */
constexpr int64_t max_parts = 4096;

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

/* --- reductions: every block leaves partial sums, the last one to arrive adds them in order --- */

/* Sums (a maximum where is_max) over the block, in a fixed order; the result is thread 0's. */
template <int count>
__device__ void reduce_block(double (&value)[count], int maximum_at) {
  __shared__ double shared[count][32];
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int lane = thread & 31, warp = thread >> 5;
  const int warps = static_cast<int>(blockDim.x * blockDim.y + 31) / 32;
  for (int c = 0; c < count; ++c) {
    for (int step = 16; step > 0; step >>= 1) {
      const double other = __shfl_down_sync(0xffffffffU, value[c], step);
      if (c != maximum_at) {
        value[c] += other;
      } else if (!(other <= value[c])) {
        value[c] = other;
      }
    }
    if (lane == 0) shared[c][warp] = value[c];
  }
  __syncthreads();
  if (thread == 0) {
    for (int c = 0; c < count; ++c) {
      for (int w = 1; w < warps; ++w) {
        if (c != maximum_at) {
          value[c] += shared[c][w];
        } else if (!(shared[c][w] <= value[c])) {
          value[c] = shared[c][w];
        }
      }
    }
  }
  __syncthreads();
}

/* True in all threads of the last block; its thread 0 then holds the sums over all blocks. */
template <int count>
__device__ bool reduce_grid(double (&value)[count], int maximum_at, double *partial,
                            cvtm_grid_state *state) {
  __shared__ bool last;
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const unsigned blocks = gridDim.x * gridDim.y;
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  reduce_block(value, maximum_at);
  if (thread == 0) {
    for (int c = 0; c < count; ++c) partial[block * count + c] = value[c];
    __threadfence();
    last = atomicAdd(&state->arrived, 1U) == blocks - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  for (int c = 0; c < count; ++c) value[c] = 0;
  for (unsigned b = static_cast<unsigned>(thread); b < blocks; b += blockDim.x * blockDim.y) {
    for (int c = 0; c < count; ++c) {
      const double other = __ldcg(partial + b * count + c);
      if (c != maximum_at) {
        value[c] += other;
      } else if (!(other <= value[c])) {
        value[c] = other;
      }
    }
  }
  reduce_block(value, maximum_at);
  if (thread == 0) state->arrived = 0;
  return true;
}

/* Rows of tiles are dealt out so that no more than max_parts blocks reduce. */
dim3 reducing_tiles(int64_t width, int64_t height) {
  dim3 grid = tiles(width, height);
  grid.z = 1;
  while (static_cast<int64_t>(grid.x) * grid.y > max_parts && grid.y > 1) grid.y = (grid.y + 1) / 2;
  return grid;
}

int64_t partials_cuda(int64_t width, int64_t height) {
  const dim3 grid = reducing_tiles(width, height);
  return CVTM_GRID_SUMS * static_cast<int64_t>(grid.x) * grid.y;
}

/* --- the five-point problem ----------------------------------------------------------------- */

__global__ void start_kernel(const cvtm_grid_problem *problem, int warm, int into_d) {
  const cvtm_grid_problem p = *problem;
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  const int64_t k = j * p.width + i;
  const double value = warm ? p.x[k] : 0.0;
  double *out = into_d ? p.d : p.x;
  out[k] = cvtm_grid_masked(&p, k)
               ? 0.0
               : cvtm_grid_clip(value, cvtm_grid_lower(&p, k), cvtm_grid_upper(&p, k));
}

__global__ void smooth_kernel(const cvtm_grid_problem *problem, int colour, double omega) {
  const cvtm_grid_problem p = *problem;
  const int64_t j = node_y(), i = 2 * node_x() + ((j + colour) & 1);
  if (i >= p.width || j >= p.height) return;
  const int64_t k = j * p.width + i;
  if (!cvtm_grid_masked(&p, k)) p.x[k] = cvtm_grid_relaxed(&p, p.x, i, j, omega);
}

enum measured { MEASURE_COLD, MEASURE_START, MEASURE_COUNTED };

__global__ void measure_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                               double *partial, double *history, measured what) {
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD ? p.d : p.x;
  double sum[3] = {0, 0, 0};
  const int64_t i = node_x();
  for (int64_t j = node_y(); j < p.height && i < p.width; j += gridDim.y * blockDim.y) {
    const int64_t k = j * p.width + i;
    if (cvtm_grid_masked(&p, k)) continue;
    const cvtm_grid_natural r = cvtm_grid_natural_residual(&p, x, i, j);
    sum[0] += r.residual * r.residual;
    sum[1] += r.size * r.size;
    if (!(fabs(r.residual) <= sum[2])) sum[2] = fabs(r.residual);
  }
  if (!reduce_grid(sum, 2, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  if (what == MEASURE_COLD) {
    state->cold = sqrt(sum[0]);
  } else {
    cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], what == MEASURE_COUNTED);
  }
}

__global__ void begin_kernel(cvtm_grid_state *state, cvtm_grid_course course) {
  cvtm_grid_begin(state, &course);
}

__global__ void resume_kernel(cvtm_grid_state *state, int64_t limit) {
  state->course.limit = limit;
  state->course.go_on = 1;
}

__global__ void mark_kernel(const cvtm_grid_problem *problem, int truncated) {
  const cvtm_grid_problem p = *problem;
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  const int64_t k = j * p.width + i;
  p.active[k] = static_cast<uint8_t>(cvtm_grid_now_active(&p, truncated, k));
}

__global__ void descend_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse,
                               cvtm_grid_rules rules) {
  const cvtm_grid_problem p = *problem;
  const int64_t x = node_x(), y = node_y();
  if (x < coarse.width && y < coarse.height) cvtm_grid_descend(&p, &coarse, &rules, x, y);
}

__global__ void correct_kernel(const cvtm_grid_problem *problem, cvtm_grid_level coarse,
                               int searched) {
  const cvtm_grid_problem p = *problem;
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  const int64_t k = j * p.width + i;
  const double moved = cvtm_grid_corrected(&p, &coarse, i, j);
  if (searched) {
    p.d[k] = moved - p.x[k];
  } else {
    p.x[k] = moved;
  }
}

__global__ void search_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                              double *partial) {
  const cvtm_grid_problem p = *problem;
  double sum[2] = {0, 0};
  const int64_t i = node_x();
  for (int64_t j = node_y(); j < p.height && i < p.width; j += gridDim.y * blockDim.y) {
    cvtm_grid_search(&p, i, j, &sum[0], &sum[1]);
  }
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->slope = sum[0];
  state->bend = sum[1];
}

__global__ void step_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state) {
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_step(state);
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  p.x[j * p.width + i] = cvtm_grid_moved(&p, j * p.width + i, step);
}

__global__ void finish_kernel(const cvtm_grid_problem *problem, cvtm_grid_state *state,
                              double *partial) {
  const cvtm_grid_problem p = *problem;
  double sum[3] = {0, 0, 0}; /* counts below 2^53 are exact */
  const int64_t i = node_x();
  for (int64_t j = node_y(); j < p.height && i < p.width; j += gridDim.y * blockDim.y) {
    const int64_t k = j * p.width + i;
    if (cvtm_grid_masked(&p, k)) continue;
    sum[0] += cvtm_grid_energy(&p, i, j);
    sum[1] += p.x[k] <= cvtm_grid_lower(&p, k);
    sum[2] += p.x[k] >= cvtm_grid_upper(&p, k);
  }
  if (!reduce_grid(sum, -1, partial, state)) return;
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  state->energy = sum[0];
  state->active_lower = static_cast<int64_t>(sum[1]);
  state->active_upper = static_cast<int64_t>(sum[2]);
}

__global__ void keep_best_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state,
                                 int back) {
  const cvtm_grid_problem p = *problem;
  if (back ? state->course.improved : !state->course.improved) return;
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  const int64_t k = j * p.width + i;
  if (back) {
    p.x[k] = p.d[k];
  } else {
    p.d[k] = p.x[k];
  }
}

__global__ void coarsen_data_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                    cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  const int64_t x = node_x(), y = node_y();
  if (x < c.width && y < c.height) cvtm_grid_coarsen_data(&f, &c, &level, x, y);
}

__global__ void coarsen_links_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                     cvtm_grid_level level) {
  const cvtm_grid_problem f = *fine, c = *coarse;
  const int64_t x = node_x(), y = node_y();
  if (x <= c.width && y <= c.height) cvtm_grid_coarsen_links(&f, &c, &level, x, y);
}

__global__ void prolong_start_kernel(const cvtm_grid_problem *fine, const cvtm_grid_problem *coarse,
                                     cvtm_grid_level level) {
  const cvtm_grid_problem p = *fine;
  const int64_t i = node_x(), j = node_y();
  if (i >= p.width || j >= p.height) return;
  p.x[j * p.width + i] = cvtm_grid_started(&p, &level, coarse->x, i, j);
}

/* --- coarse levels ------------------------------------------------------------------------------
 */

__device__ void operator_row(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                             int64_t y, int all) {
  const int due = cvtm_grid_due(f, c, x, y, all);
  c->fresh[y * c->width + x] = static_cast<uint8_t>(due);
  if (due) cvtm_grid_galerkin(f, c, x, y);
}

__global__ void galerkin_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                                cvtm_grid_level coarse, int first, int all) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  const int64_t x = node_x(), y = node_y();
  if (x < coarse.width && y < coarse.height) operator_row(&f, &coarse, x, y, all);
}

__global__ void weights_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                               cvtm_grid_level coarse, int first) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  const int64_t x = node_x(), y = node_y();
  if (x < coarse.blocks_x && y < coarse.blocks_y) cvtm_grid_weights(&f, &coarse, x, y);
}

__global__ void clear_kernel(cvtm_grid_level level) {
  const int64_t x = node_x(), y = node_y();
  if (x < level.width && y < level.height) level.e[y * level.width + x] = 0;
}

__global__ void relax_kernel(cvtm_grid_level level, int bounded, int colour) {
  const int64_t x = 2 * node_x() + (colour & 1), y = 2 * node_y() + (colour >> 1);
  if (x < level.width && y < level.height) {
    level.e[y * level.width + x] = cvtm_grid_coarse_relaxed(&level, bounded, x, y);
  }
}

__global__ void down_kernel(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_rules rules) {
  const int64_t x = node_x(), y = node_y();
  if (x < coarse.width && y < coarse.height) cvtm_grid_down(&level, &coarse, &rules, x, y);
}

__global__ void prolong_kernel(cvtm_grid_level level, cvtm_grid_level coarse) {
  const int64_t x = node_x(), y = node_y();
  if (x >= level.width || y >= level.height) return;
  level.e[y * level.width + x] += cvtm_grid_prolonged(&coarse, coarse.e, x, y);
}

/* --- the small levels in one block
 * ----------------------------------------------------------------- */

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
    tail_kernel(const cvtm_grid_problem *problem, const cvtm_grid_level *levels,
                cvtm_grid_rules rules, int first, int last, int below_problem) {
  const cvtm_grid_problem p = *problem;
  for (int l = first; l <= last; ++l) {
    const cvtm_grid_finer f = {l == first && below_problem ? &p : nullptr, &levels[l - 1]};
    const cvtm_grid_level c = levels[l];
    for_nodes(c.width, c.height, [&](int64_t x, int64_t y) {
      c.e[y * c.width + x] = 0;
      operator_row(&f, &c, x, y, 0);
    });
  }
  for (int l = first; l < last; ++l) {
    const cvtm_grid_level f = levels[l], c = levels[l + 1];
    tail_relax(&f, rules.bounded, rules.pre);
    for_nodes(c.width, c.height,
              [&](int64_t x, int64_t y) { cvtm_grid_down(&f, &c, &rules, x, y); });
  }
  const cvtm_grid_level bottom = levels[last];
  tail_relax(&bottom, rules.bounded, CVTM_GRID_BOTTOM_SWEEPS);
  for (int l = last - 1; l >= first; --l) {
    const cvtm_grid_level f = levels[l], c = levels[l + 1];
    for_nodes(f.width, f.height, [&](int64_t x, int64_t y) {
      f.e[y * f.width + x] += cvtm_grid_prolonged(&c, c.e, x, y);
    });
    tail_relax(&f, rules.bounded, rules.post);
  }
}

/* --- launchers
 * ---------------------------------------------------------------------------------------- */

cudaStream_t stream_of(const cvtm_grid_top *top) { return cvtm_cuda_stream(top->device); }
dim3 nodes_of(const cvtm_grid_top *top) { return tiles(top->shape->width, top->shape->height); }
dim3 nodes_of(const cvtm_grid_level *level) { return tiles(level->width, level->height); }

cvtm_status start_cuda(const cvtm_grid_top *top, int warm, int into_d) {
  start_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, warm, into_d);
  return cvtm_cuda_launched(top->device, "start_kernel");
}

cvtm_status launch_measure(const cvtm_grid_top *top, measured what) {
  measure_kernel<<<reducing_tiles(top->shape->width, top->shape->height), tile(), 0,
                   stream_of(top)>>>(top->problem, top->state, top->partial, top->history, what);
  return cvtm_cuda_launched(top->device, "measure_kernel");
}

cvtm_status measure_cold_cuda(const cvtm_grid_top *top) {
  return launch_measure(top, MEASURE_COLD);
}

cvtm_status measure_cuda(const cvtm_grid_top *top, int counted) {
  return launch_measure(top, counted ? MEASURE_COUNTED : MEASURE_START);
}

cvtm_status begin_cuda(const cvtm_grid_top *top, const cvtm_grid_course *course) {
  begin_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, *course);
  return cvtm_cuda_launched(top->device, "begin_kernel");
}

cvtm_status resume_cuda(const cvtm_grid_top *top, int64_t limit) {
  resume_kernel<<<1, 1, 0, stream_of(top)>>>(top->state, limit);
  return cvtm_cuda_launched(top->device, "resume_kernel");
}

cvtm_status smooth_cuda(const cvtm_grid_top *top, int sweeps) {
  const dim3 grid = tiles((top->shape->width + 1) / 2, top->shape->height);
  for (int colour = 0; colour < 2 * sweeps; ++colour) {
    smooth_kernel<<<grid, tile(), 0, stream_of(top)>>>(top->problem, colour & 1, top->rules.omega);
  }
  return cvtm_cuda_launched(top->device, "smooth_kernel");
}

cvtm_status free_active_cuda(const cvtm_grid_top *top) {
  mark_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, 0);
  return cvtm_cuda_launched(top->device, "mark_kernel");
}

cvtm_status descend_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_status status = smooth_cuda(top, top->rules.pre);
  if (status != CVTM_OK) return status;
  descend_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(top->problem, *coarse,
                                                                  top->rules);
  mark_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->rules.truncated);
  return cvtm_cuda_launched(top->device, "descend_kernel");
}

cvtm_status galerkin_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                          const cvtm_grid_level *coarse, int all) {
  galerkin_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(
      top->problem, finer ? *finer : *coarse, *coarse, finer == nullptr, all);
  return cvtm_cuda_launched(top->device, "galerkin_kernel");
}

cvtm_status weights_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                         const cvtm_grid_level *coarse) {
  weights_kernel<<<tiles(coarse->blocks_x, coarse->blocks_y), tile(), 0, stream_of(top)>>>(
      top->problem, finer ? *finer : *coarse, *coarse, finer == nullptr);
  return cvtm_cuda_launched(top->device, "weights_kernel");
}

cvtm_status relax(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  const dim3 grid = tiles((level->width + 1) / 2, (level->height + 1) / 2);
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    relax_kernel<<<grid, tile(), 0, stream_of(top)>>>(*level, top->rules.bounded, colour & 3);
  }
  return cvtm_cuda_launched(top->device, "relax_kernel");
}

cvtm_status down_cuda(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
  clear_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level);
  const cvtm_status status = relax(top, level, top->rules.pre);
  if (status != CVTM_OK) return status;
  down_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(*level, *coarse, top->rules);
  return cvtm_cuda_launched(top->device, "down_kernel");
}

cvtm_status up_cuda(const cvtm_grid_top *top, const cvtm_grid_level *level,
                    const cvtm_grid_level *coarse) {
  prolong_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level, *coarse);
  return relax(top, level, top->rules.post);
}

cvtm_status tail_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                      const cvtm_grid_level *levels, int first, int last) {
  (void)levels; /* the host's copy */
  tail_kernel<<<1, tail_threads, 0, stream_of(top)>>>(top->problem, top->levels, top->rules, first,
                                                      last, finer == nullptr);
  return cvtm_cuda_launched(top->device, "tail_kernel");
}

cvtm_status correct_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  correct_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, *coarse,
                                                               top->rules.searched);
  if (top->rules.searched) {
    search_kernel<<<reducing_tiles(top->shape->width, top->shape->height), tile(), 0,
                    stream_of(top)>>>(top->problem, top->state, top->partial);
  }
  return cvtm_cuda_launched(top->device, "correct_kernel");
}

cvtm_status ascend_cuda(const cvtm_grid_top *top) {
  if (top->rules.searched) {
    step_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, top->state);
  }
  const cvtm_status status = smooth_cuda(top, top->rules.post);
  return status ? status : measure_cuda(top, 1);
}

cvtm_status coarsen_data_cuda(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                              const cvtm_grid_level *level) {
  coarsen_data_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(top->problem,
                                                                       coarse->problem, *level);
  return cvtm_cuda_launched(top->device, "coarsen_data_kernel");
}

cvtm_status coarsen_links_cuda(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level) {
  coarsen_links_kernel<<<tiles(level->width + 1, level->height + 1), tile(), 0, stream_of(top)>>>(
      top->problem, coarse->problem, *level);
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
                  stream_of(top)>>>(top->problem, top->state, top->partial);
  return cvtm_cuda_launched(top->device, "finish_kernel");
}

} /* namespace */

const cvtm_grid_table cvtm_grid_table_cuda = {
    partials_cuda,  start_cuda,        measure_cold_cuda,  begin_cuda,
    resume_cuda,    measure_cuda,      smooth_cuda,        free_active_cuda,
    descend_cuda,   galerkin_cuda,     weights_cuda,       down_cuda,
    up_cuda,        64 * 64,           tail_cuda,          correct_cuda,
    ascend_cuda,    coarsen_data_cuda, coarsen_links_cuda, prolong_start_cuda,
    keep_best_cuda, finish_cuda,
};
