#include "base/cuda_check.h"
#include "lcp/grid_cycle.h"

namespace {

constexpr int tile_x = 32, tile_y = 8;
constexpr int tail_threads = 512;
constexpr int max_small = 12;              /* levels of a tail in shared memory */
constexpr size_t small_bytes = 200 * 1024; /* and what they may take */
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
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
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

/* Fine nodes that a block of a windowed phase owns. */
constexpr int span_x = 64, span_y = 32;

dim3 spans(int64_t width, int64_t height) {
  const int64_t down = (height + span_y - 1) / span_y, limit = 1 << 15;
  return dim3(static_cast<unsigned>((width + span_x - 1) / span_x),
              static_cast<unsigned>(down < limit ? down : limit),
              static_cast<unsigned>((down + limit - 1) / limit));
}

int64_t partials_cuda(int64_t width, int64_t height) {
  const dim3 grid = reducing_tiles(width, height), windows = spans(width + 1, height + 1);
  const int64_t few = static_cast<int64_t>(grid.x) * grid.y;
  const int64_t many = static_cast<int64_t>(windows.x) * windows.y * windows.z;
  return CVTM_GRID_SUMS * (few > many ? few : many);
}

/* --- the five-point problem --- */

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

/* --- coarse levels --- */

__device__ void operator_row(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x,
                             int64_t y, int all) {
  const int due = cvtm_grid_due(f, c, x, y, all);
  c->fresh[y * c->width + x] = static_cast<uint8_t>(due);
  if (due) cvtm_grid_galerkin(f, c, x, y);
}

/* Blocks near no change have nothing to do. */
__global__ void galerkin_kernel(const cvtm_grid_problem *problem, cvtm_grid_level finer,
                                cvtm_grid_level coarse, int first, int all) {
  const cvtm_grid_problem p = *problem;
  const cvtm_grid_finer f = {first ? &p : nullptr, &finer};
  const int64_t x = node_x(), y = node_y();
  if (!all) {
    const uint8_t *flags = first ? coarse.marked : finer.fresh;
    const int64_t width = first ? coarse.width : finer.width;
    const int64_t height = first ? coarse.height : finer.height;
    const int scale_x = first || !coarse.halved_x ? 1 : 2;
    const int scale_y = first || !coarse.halved_y ? 1 : 2;
    const int across = scale_x * tile_x + 2, down = scale_y * tile_y + 2;
    const int64_t left = (x - threadIdx.x) * scale_x - (first ? 1 : 0);
    const int64_t top = (y - threadIdx.y) * scale_y - (first ? 1 : 0);
    int any = 0;
    for (int n = static_cast<int>(threadIdx.y * tile_x + threadIdx.x); n < across * down;
         n += tile_x * tile_y) {
      const int64_t i = left + n % across, j = top + n / across;
      if (i >= 0 && j >= 0 && i < width && j < height) any |= flags[j * width + i];
    }
    if (!__syncthreads_or(any)) {
      if (x < coarse.width && y < coarse.height) coarse.fresh[y * coarse.width + x] = 0;
      return;
    }
  }
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

/* --- windows: a whole phase of a cycle in shared memory --- */

/* A block owns span_x x span_y fine nodes and works on a window that is wider by the reach of
 * its phase; window nodes outside the grid hold 0. */
constexpr int window_threads = 256;

template <int reach>
struct window {
  static constexpr int width = span_x + 1 + 2 * reach, height = span_y + 1 + 2 * reach;
  static constexpr int size = width * height;
  int64_t left, top;                              /* grid indices of the window's first node */
  int64_t first;                                  /* and its place in the grid's arrays */
  int grid_width, begin_x, end_x, begin_y, end_y; /* the part of the window inside the grid */

  __device__ window(int64_t nodes_x, int64_t nodes_y)
      : left(blockIdx.x * static_cast<int64_t>(span_x) - reach),
        top((blockIdx.z * static_cast<int64_t>(gridDim.y) + blockIdx.y) * span_y - reach),
        first(top * nodes_x + left),
        grid_width(static_cast<int>(nodes_x)),
        begin_x(left < 0 ? reach : 0),
        end_x(static_cast<int>(nodes_x - left < width ? nodes_x - left : width)),
        begin_y(top < 0 ? reach : 0),
        end_y(static_cast<int>(nodes_y - top < height ? nodes_y - top : height)) {}

  __device__ bool inside(int wx, int wy) const {
    return wx >= begin_x && wx < end_x && wy >= begin_y && wy < end_y;
  }
  __device__ int64_t place(int wx, int wy) const {
    return first + wy * static_cast<int64_t>(grid_width) + wx;
  }

  /* Nodes that this block, and no other, writes. */
  __device__ static bool owns(int at) {
    const int wx = at % width, wy = at / width;
    return wx >= reach && wx < reach + span_x && wy >= reach && wy < reach + span_y;
  }

  /* value(i, j, k) into all nodes of a tile; k: the node's place in the grid's arrays. */
  template <typename Value>
  __device__ void load(double *tile, Value value) const {
    for (int n = static_cast<int>(threadIdx.x); n < size; n += window_threads) {
      const int wx = n % width, wy = n / width;
      tile[n] = inside(wx, wy) ? value(left + wx, top + wy, place(wx, wy)) : 0.0;
    }
  }

  /* work(i, j, k, at) for the nodes at least `reach` away from the window's edge. */
  template <typename Work>
  __device__ void inner(Work work) const {
    for (int n = static_cast<int>(threadIdx.x); n < (span_x + 1) * (span_y + 1);
         n += window_threads) {
      const int wx = n % (span_x + 1) + reach, wy = n / (span_x + 1) + reach;
      if (wx < end_x && wy < end_y) work(left + wx, top + wy, place(wx, wy), wy * width + wx);
    }
  }

  /* One colour of a red-black order, at least `ring` away from the edge. */
  template <int ring, typename Work>
  __device__ void red_black(int colour, Work work) const {
    constexpr int half = (width - 2 * ring + 1) / 2, rows = height - 2 * ring;
    const int odd = static_cast<int>((left + top + colour) & 1);
    for (int n = static_cast<int>(threadIdx.x); n < half * rows; n += window_threads) {
      const int wy = n / half + ring;
      const int wx = 2 * (n % half) + ((ring + wy + odd) & 1) + ring;
      if (wx < width - ring && inside(wx, wy)) {
        work(left + wx, top + wy, place(wx, wy), wy * width + wx);
      }
    }
  }

  /* One colour of a four-colour order. */
  template <int ring, typename Work>
  __device__ void four_colour(int colour, Work work) const {
    constexpr int half_x = (width - 2 * ring + 1) / 2, half_y = (height - 2 * ring + 1) / 2;
    const int odd_x = static_cast<int>((left + ring + colour) & 1);
    const int odd_y = static_cast<int>((top + ring + (colour >> 1)) & 1);
    for (int n = static_cast<int>(threadIdx.x); n < half_x * half_y; n += window_threads) {
      const int wx = 2 * (n % half_x) + odd_x + ring, wy = 2 * (n / half_x) + odd_y + ring;
      if (wx < width - ring && wy < height - ring && inside(wx, wy)) {
        work(left + wx, top + wy, place(wx, wy), wy * width + wx);
      }
    }
  }
};

/* What kind of five-point problem: a constant operator with a Dirichlet boundary and no mask
 * has the same links everywhere. inverse: of its diagonal where that is a power of two, so
 * that multiplying gives the bits of dividing; else 0. */
struct uniform_rows {
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

struct varying_rows {
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

/* As cvtm_grid_around, where nodes outside the grid hold 0: the same values. */
template <int pitch>
__device__ double around(const double *x, const double link[4]) {
  return (link[0] * x[-1] + link[1] * x[1]) + (link[2] * x[-pitch] + link[3] * x[pitch]);
}

/* A red-black sweep; the outermost ring only lends its values, the next one gives red ones. */
template <int reach, typename Rows>
__device__ void red_black_sweep(const window<reach> &w, const cvtm_grid_problem *p,
                                const Rows &rows, double *tile) {
  const auto relax_node = [&](int64_t i, int64_t j, int64_t k, int at) {
    if (rows.masked(p, k)) return;
    double link[4];
    const double diagonal = rows.links(p, i, j, link);
    const double sum = p->b[k] + around<window<reach>::width>(tile + at, link);
    tile[at] = cvtm_grid_clip(rows.divide(sum, diagonal, tile[at]), cvtm_grid_lower(p, k),
                              cvtm_grid_upper(p, k));
  };
  __syncthreads();
  w.template red_black<1>(0, relax_node);
  __syncthreads();
  w.template red_black<2>(1, relax_node);
  __syncthreads();
}

/* Sums residuals and bounds of a window over the supports of the coarse nodes that it owns.
 * residual[at] is NaN for active nodes; slack(k, at, &lower, &upper) gives the room of a node. */
template <int reach, typename Slack>
__device__ void restrict_window(const window<reach> &w, const double *residual,
                                const cvtm_grid_level *coarse, int bounded, int64_t fine_width,
                                int64_t fine_height, Slack slack) {
  constexpr int across = span_x / 2, down = span_y / 2, pitch = window<reach>::width;
  for (int n = static_cast<int>(threadIdx.x); n < across * down; n += window_threads) {
    const int64_t x = (w.left + reach) / 2 + n % across, y = (w.top + reach) / 2 + n / across;
    if (x >= coarse->width || y >= coarse->height) continue;
    cvtm_grid_room room = cvtm_grid_room_start(0);
    double sum = 0;
    for (int dy = 0; dy < 3; ++dy) {
      for (int dx = 0; dx < 3; ++dx) {
        const int64_t i = 2 * x + dx, j = 2 * y + dy;
        if (i >= fine_width || j >= fine_height) continue;
        const int at = static_cast<int>(j - w.top) * pitch + static_cast<int>(i - w.left);
        const double weight = cvtm_grid_basis(coarse, x, y, i, j);
        if (isnan(residual[at]) || !(weight > 0)) continue;
        sum += weight * residual[at];
        if (bounded) {
          double lower, upper;
          slack(j * fine_width + i, at, &lower, &upper);
          cvtm_grid_room_add(&room, 0, weight, lower, upper);
        }
      }
    }
    const int64_t k = y * coarse->width + x;
    coarse->r[k] = sum;
    if (bounded) cvtm_grid_room_store(&room, 0, coarse, k);
  }
}

/* Marks the coarse nodes whose bases hold fine node (i, j). All write the same 1. */
__device__ void mark_parents(const cvtm_grid_level *coarse, int64_t i, int64_t j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(1, i, &x0), count_y = cvtm_grid_parents(1, j, &y0);
  for (int64_t y = y0; y < y0 + count_y; ++y) {
    for (int64_t x = x0; x < x0 + count_x; ++x) {
      if (x >= 0 && y >= 0 && x < coarse->width && y < coarse->height) {
        coarse->marked[y * coarse->width + x] = 1;
      }
    }
  }
}

/* Smoothing, active nodes, and what the first coarse level gets: x -> d. The marks are 0. */
template <typename Rows>
__global__ void __launch_bounds__(window_threads)
    descend_window(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse,
                   cvtm_grid_rules rules) {
  using view = window<3>;
  __shared__ double tile[view::size];
  __shared__ double residual[view::size];
  const cvtm_grid_problem p = *problem;
  const view w(p.width, p.height);
  w.load(tile, [&](int64_t, int64_t, int64_t k) { return p.x[k]; });
  red_black_sweep(w, &p, rows, tile);
  w.inner([&](int64_t i, int64_t j, int64_t k, int at) {
    const double x = tile[at];
    const int active =
        rows.masked(&p, k) ||
        (rules.truncated && (x <= cvtm_grid_lower(&p, k) || x >= cvtm_grid_upper(&p, k)));
    double link[4];
    const double diagonal = rows.links(&p, i, j, link);
    residual[at] = active ? static_cast<double>(NAN)
                          : (p.b[k] + around<view::width>(tile + at, link)) - diagonal * x;
    if (!view::owns(at)) return;
    p.d[k] = x;
    if (active == p.active[k]) return;
    p.active[k] = static_cast<uint8_t>(active);
    mark_parents(&coarse, i, j);
  });
  __syncthreads();
  restrict_window(w, residual, &coarse, rules.bounded, p.width, p.height,
                  [&](int64_t k, int at, double *lower, double *upper) {
                    *lower = cvtm_grid_lower(&p, k) - tile[at];
                    *upper = cvtm_grid_upper(&p, k) - tile[at];
                  });
}

/* Where the coarse correction leads from d (the smoothed x). */
__device__ double corrected(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t i,
                            int64_t j, int64_t k) {
  const double x = p->d[k];
  if (p->active[k]) return x;
  return cvtm_grid_clip(x + cvtm_grid_prolonged(c, c->e, i, j), cvtm_grid_lower(p, k),
                        cvtm_grid_upper(p, k));
}

/* Slope and bend of the correction. */
template <typename Rows>
__global__ void __launch_bounds__(window_threads)
    search_window(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse,
                  cvtm_grid_state *state, double *partial) {
  using view = window<1>;
  __shared__ double tile[view::size];
  __shared__ double step[view::size];
  const cvtm_grid_problem p = *problem;
  const view w(p.width, p.height);
  w.load(tile, [&](int64_t, int64_t, int64_t k) { return p.d[k]; });
  w.load(step,
         [&](int64_t i, int64_t j, int64_t k) { return corrected(&p, &coarse, i, j, k) - p.d[k]; });
  __syncthreads();
  double sum[2] = {0, 0};
  w.inner([&](int64_t i, int64_t j, int64_t k, int at) {
    if (!view::owns(at)) return;
    double link[4];
    const double diagonal = rows.links(&p, i, j, link);
    const double r = (p.b[k] + around<view::width>(tile + at, link)) - diagonal * tile[at];
    sum[0] += step[at] * r;
    sum[1] += step[at] * (diagonal * step[at] - around<view::width>(step + at, link));
  });
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->bend = sum[1];
}

/* The step along the correction, smoothing, norms: d -> x. */
template <typename Rows>
__global__ void __launch_bounds__(window_threads)
    ascend_window(const cvtm_grid_problem *problem, Rows rows, cvtm_grid_level coarse, int searched,
                  cvtm_grid_state *state, double *partial, double *history) {
  using view = window<3>;
  __shared__ double tile[view::size];
  const cvtm_grid_problem p = *problem;
  const view w(p.width, p.height);
  const double step = searched ? cvtm_grid_step(state) : 1.0;
  w.load(tile, [&](int64_t i, int64_t j, int64_t k) {
    const double value = corrected(&p, &coarse, i, j, k);
    if (!searched) return value;
    if (rows.masked(&p, k)) return 0.0;
    const double x = p.d[k];
    return cvtm_grid_clip(x + step * (value - x), cvtm_grid_lower(&p, k), cvtm_grid_upper(&p, k));
  });
  red_black_sweep(w, &p, rows, tile);
  double sum[3] = {0, 0, 0};
  w.inner([&](int64_t i, int64_t j, int64_t k, int at) {
    if (!view::owns(at)) return;
    const double x = tile[at];
    p.x[k] = x;
    if (rows.masked(&p, k)) return;
    double link[4];
    const double diagonal = rows.links(&p, i, j, link);
    const double held = diagonal * x;
    const double f = held - (p.b[k] + around<view::width>(tile + at, link));
    const double r = x - cvtm_grid_clip(x - f, cvtm_grid_lower(&p, k), cvtm_grid_upper(&p, k));
    const double size = fabs(p.b[k]) + 2 * fabs(held);
    sum[0] += r * r;
    sum[1] += size * size;
    if (!(fabs(r) <= sum[2])) sum[2] = fabs(r);
  });
  if (!reduce_grid(sum, 2, partial, state) || threadIdx.x != 0) return;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
}

/* As cvtm_grid_coarse_around, where nodes outside the grid hold 0. */
__device__ double coarse_around(const double *e, int pitch, const double link[3][3]) {
  const double north =
      (link[0][0] * e[-pitch - 1] + link[0][1] * e[-pitch]) + link[0][2] * e[-pitch + 1];
  const double beside = link[1][0] * e[-1] + link[1][2] * e[1];
  const double south =
      (link[2][0] * e[pitch - 1] + link[2][1] * e[pitch]) + link[2][2] * e[pitch + 1];
  return (north + beside) + south;
}

template <int ring>
__device__ void relax_window(const window<4> &w, const cvtm_grid_level *level, int bounded,
                             int colour, double *tile) {
  __syncthreads();
  w.four_colour<ring>(colour, [&](int64_t i, int64_t j, int64_t k, int at) {
    double link[3][3];
    cvtm_grid_coarse_row(level, i, j, link);
    double value = 0;
    if (link[1][1] > 0) {
      /* At the window's edge, where e is still 0 all around. */
      const double sum = ring > 0 ? coarse_around(tile + at, window<4>::width, link) : 0.0;
      value = (level->r[k] + sum) / link[1][1];
      if (bounded) value = cvtm_grid_clip(value, level->lower[k], level->upper[k]);
    }
    tile[at] = value;
  });
}

/* From e = 0: smoothing, and what the next level gets. The smoothed e goes to `half`. */
__global__ void __launch_bounds__(window_threads)
    down_window(cvtm_grid_level level, cvtm_grid_level coarse, int bounded) {
  using view = window<4>;
  __shared__ double tile[view::size];
  __shared__ double residual[view::size];
  const view w(level.width, level.height);
  for (int n = static_cast<int>(threadIdx.x); n < view::size; n += window_threads) tile[n] = 0;
  relax_window<0>(w, &level, bounded, 0, tile);
  relax_window<1>(w, &level, bounded, 1, tile);
  relax_window<2>(w, &level, bounded, 2, tile);
  relax_window<3>(w, &level, bounded, 3, tile);
  __syncthreads();
  w.inner([&](int64_t i, int64_t j, int64_t k, int at) {
    double link[3][3];
    cvtm_grid_coarse_row(&level, i, j, link);
    residual[at] =
        (level.r[k] + coarse_around(tile + at, view::width, link)) - link[1][1] * tile[at];
    if (view::owns(at)) level.half[k] = tile[at];
  });
  __syncthreads();
  restrict_window(w, residual, &coarse, bounded, level.width, level.height,
                  [&](int64_t k, int at, double *lower, double *upper) {
                    *lower = level.lower[k] - tile[at];
                    *upper = level.upper[k] - tile[at];
                  });
}

/* The next level's correction, smoothing: half -> e. */
__global__ void __launch_bounds__(window_threads)
    up_window(cvtm_grid_level level, cvtm_grid_level coarse, int bounded) {
  using view = window<4>;
  __shared__ double tile[view::size];
  const view w(level.width, level.height);
  w.load(tile, [&](int64_t i, int64_t j, int64_t k) {
    return level.half[k] + cvtm_grid_prolonged(&coarse, coarse.e, i, j);
  });
  relax_window<1>(w, &level, bounded, 0, tile);
  relax_window<2>(w, &level, bounded, 1, tile);
  relax_window<3>(w, &level, bounded, 2, tile);
  relax_window<4>(w, &level, bounded, 3, tile);
  __syncthreads();
  w.inner([&](int64_t, int64_t, int64_t k, int at) {
    if (view::owns(at)) level.e[k] = tile[at];
  });
}

/* --- small levels in shared memory --- */

/* A small level in shared memory: arrays with a rim of zeros. */
struct small_level {
  double *e, *r, *lower, *upper, *plane[CVTM_GRID_PLANES];
  int width, height, pitch, size; /* the size with its rim */

  __device__ int at(int64_t x, int64_t y) const {
    return static_cast<int>((y + 1) * pitch + x + 1);
  }
  __device__ void row(int k, double link[3][3]) const {
    link[0][0] = plane[CVTM_GRID_SOUTH_EAST][k - pitch - 1];
    link[0][1] = plane[CVTM_GRID_SOUTH][k - pitch];
    link[0][2] = plane[CVTM_GRID_SOUTH_WEST][k - pitch + 1];
    link[1][0] = plane[CVTM_GRID_EAST][k - 1];
    link[1][1] = plane[CVTM_GRID_DIAGONAL][k];
    link[1][2] = plane[CVTM_GRID_EAST][k];
    link[2][0] = plane[CVTM_GRID_SOUTH_WEST][k];
    link[2][1] = plane[CVTM_GRID_SOUTH][k];
    link[2][2] = plane[CVTM_GRID_SOUTH_EAST][k];
  }
};

/* Arrays of a small level: e, r, the planes, and bounds where there are any. */
__host__ __device__ int small_arrays(int bounded) { return CVTM_GRID_PLANES + (bounded ? 4 : 2); }

__device__ double *cut_small(small_level *s, const cvtm_grid_level *level, int bounded,
                             double *memory) {
  s->width = static_cast<int>(level->width);
  s->height = static_cast<int>(level->height);
  s->pitch = s->width + 2;
  s->size = s->pitch * (s->height + 2);
  s->e = memory;
  s->r = s->e + s->size;
  for (int p = 0; p < CVTM_GRID_PLANES; ++p) s->plane[p] = s->r + (p + 1) * s->size;
  s->lower = s->r + (CVTM_GRID_PLANES + 1) * s->size;
  s->upper = s->lower + s->size;
  return memory + small_arrays(bounded) * s->size;
}

__device__ void relax_small(const small_level &s, int bounded, int sweeps) {
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    const int cx = colour & 1, cy = (colour >> 1) & 1;
    for_nodes((s.width + 1 - cx) / 2, (s.height + 1 - cy) / 2, [&](int64_t x, int64_t y) {
      const int k = s.at(2 * x + cx, 2 * y + cy);
      double link[3][3];
      s.row(k, link);
      if (!(link[1][1] > 0)) return;
      const double value = (s.r[k] + coarse_around(s.e + k, s.pitch, link)) / link[1][1];
      s.e[k] = bounded ? cvtm_grid_clip(value, s.lower[k], s.upper[k]) : value;
    });
  }
}

__device__ void restrict_small(const small_level &f, const small_level &s, const cvtm_grid_level *c,
                               const cvtm_grid_rules *rules) {
  for_nodes(s.width, s.height, [&](int64_t x, int64_t y) {
    cvtm_grid_room room = cvtm_grid_room_start(rules->averaged);
    double sum = 0;
    int64_t i0, i1, j0, j1;
    cvtm_grid_support(c->halved_x, x, f.width, &i0, &i1);
    cvtm_grid_support(c->halved_y, y, f.height, &j0, &j1);
    for (int64_t j = j0; j <= j1; ++j) {
      for (int64_t i = i0; i <= i1; ++i) {
        const double weight = cvtm_grid_basis(c, x, y, i, j);
        if (!(weight > 0)) continue;
        const int k = f.at(i, j);
        double link[3][3];
        f.row(k, link);
        sum += weight * ((f.r[k] + coarse_around(f.e + k, f.pitch, link)) - link[1][1] * f.e[k]);
        if (rules->bounded) {
          cvtm_grid_room_add(&room, rules->averaged, weight, f.lower[k] - f.e[k],
                             f.upper[k] - f.e[k]);
        }
      }
    }
    const int k = s.at(x, y);
    s.r[k] = sum;
    if (!rules->bounded) return;
    const double scale = rules->averaged && room.weight > 0 ? room.weight : 1.0;
    s.lower[k] = room.lower / scale;
    s.upper[k] = room.upper / scale;
  });
}

__device__ void prolong_small(const small_level &f, const small_level &s,
                              const cvtm_grid_level *c) {
  for_nodes(f.width, f.height, [&](int64_t i, int64_t j) {
    int64_t x0, y0;
    const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
    const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
    double sum = 0;
    for (int ky = 0; ky < count_y; ++ky) {
      for (int kx = 0; kx < count_x; ++kx) {
        const int64_t x = x0 + kx, y = y0 + ky;
        if (x < 0 || x >= s.width || y < 0 || y >= s.height) continue;
        sum += cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky) * s.e[s.at(x, y)];
      }
    }
    f.e[f.at(i, j)] += sum;
  });
}

/* The whole V-cycle of the small levels in one block's shared memory. */
__global__ void __launch_bounds__(tail_threads)
    tail_shared(const cvtm_grid_problem *problem, const cvtm_grid_level *levels,
                cvtm_grid_rules rules, int first, int last, int below_problem) {
  extern __shared__ double memory[];
  __shared__ small_level small[max_small];
  const cvtm_grid_problem p = *problem;
  for (int l = first; l <= last; ++l) {
    const cvtm_grid_finer f = {l == first && below_problem ? &p : nullptr, &levels[l - 1]};
    const cvtm_grid_level c = levels[l];
    for_nodes(c.width, c.height, [&](int64_t x, int64_t y) { operator_row(&f, &c, x, y, 0); });
  }
  if (threadIdx.x == 0) {
    double *next = memory;
    for (int l = first; l <= last; ++l) {
      next = cut_small(&small[l - first], &levels[l], rules.bounded, next);
    }
  }
  __syncthreads();
  for (int l = first; l <= last; ++l) {
    const small_level s = small[l - first];
    for_nodes(small_arrays(rules.bounded) * static_cast<int64_t>(s.size), 1,
              [&](int64_t k, int64_t) { s.e[k] = 0; });
    const cvtm_grid_level c = levels[l];
    for_nodes(s.width, s.height, [&](int64_t x, int64_t y) {
      const int64_t k = y * s.width + x;
      const int at = s.at(x, y);
      for (int plane = 0; plane < CVTM_GRID_PLANES; ++plane) {
        s.plane[plane][at] = c.coefficient[plane * c.width * c.height + k];
      }
      if (l != first) return;
      s.r[at] = c.r[k];
      if (!rules.bounded) return;
      s.lower[at] = c.lower[k];
      s.upper[at] = c.upper[k];
    });
  }
  for (int l = first; l < last; ++l) {
    relax_small(small[l - first], rules.bounded, rules.pre);
    restrict_small(small[l - first], small[l - first + 1], &levels[l + 1], &rules);
  }
  relax_small(small[last - first], rules.bounded, CVTM_GRID_BOTTOM_SWEEPS);
  for (int l = last - 1; l >= first; --l) {
    prolong_small(small[l - first], small[l - first + 1], &levels[l + 1]);
    relax_small(small[l - first], rules.bounded, rules.post);
  }
  const small_level s = small[0];
  double *e = levels[first].e;
  for_nodes(s.width, s.height, [&](int64_t x, int64_t y) { e[y * s.width + x] = s.e[s.at(x, y)]; });
}

/* --- launchers --- */

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

/* One sweep before and after, and both directions halved: the phases work in windows. */
bool windowed(const cvtm_grid_rules *rules, const cvtm_grid_level *coarse) {
  return rules->pre == 1 && rules->post == 1 && !rules->averaged && coarse->halved_x &&
         coarse->halved_y;
}

/* Calls launch with the kind of rows that the problem has. */
template <typename Launch>
void with_rows(const cvtm_grid_problem *shape, Launch launch) {
  if (shape->horizontal || shape->diagonal || shape->mask || shape->neumann ||
      !(shape->constant > 0)) {
    launch(varying_rows());
    return;
  }
  int exponent = 0;
  const double c = shape->constant, diagonal = (c + c) + (c + c);
  launch(uniform_rows{c, diagonal, frexp(c, &exponent) == 0.5 ? 1 / diagonal : 0.0});
}

/* A last odd node goes to the block of the last coarse node, or to one more. */
dim3 spans_of(const cvtm_grid_level *coarse) {
  return spans(2 * coarse->width + 1, 2 * coarse->height + 1);
}

cvtm_status descend_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (windowed(&top->rules, coarse)) {
    const size_t marks = static_cast<size_t>(coarse->width * coarse->height);
    CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->marked, 0, marks, stream_of(top)));
    with_rows(top->shape, [&](auto rows) {
      descend_window<<<spans_of(coarse), window_threads, 0, stream_of(top)>>>(top->problem, rows,
                                                                              *coarse, top->rules);
    });
    return cvtm_cuda_launched(top->device, "descend_window");
  }
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
  if (windowed(&top->rules, coarse)) {
    down_window<<<spans_of(coarse), window_threads, 0, stream_of(top)>>>(*level, *coarse,
                                                                         top->rules.bounded);
    return cvtm_cuda_launched(top->device, "down_window");
  }
  clear_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level);
  const cvtm_status status = relax(top, level, top->rules.pre);
  if (status != CVTM_OK) return status;
  down_kernel<<<nodes_of(coarse), tile(), 0, stream_of(top)>>>(*level, *coarse, top->rules);
  return cvtm_cuda_launched(top->device, "down_kernel");
}

cvtm_status up_cuda(const cvtm_grid_top *top, const cvtm_grid_level *level,
                    const cvtm_grid_level *coarse) {
  if (windowed(&top->rules, coarse)) {
    up_window<<<spans_of(coarse), window_threads, 0, stream_of(top)>>>(*level, *coarse,
                                                                       top->rules.bounded);
    return cvtm_cuda_launched(top->device, "up_window");
  }
  prolong_kernel<<<nodes_of(level), tile(), 0, stream_of(top)>>>(*level, *coarse);
  return relax(top, level, top->rules.post);
}

cvtm_status tail_cuda(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                      const cvtm_grid_level *levels, int first, int last) {
  size_t bytes = 0;
  for (int l = first; l <= last; ++l) {
    bytes += static_cast<size_t>((levels[l].width + 2) * (levels[l].height + 2)) *
             static_cast<size_t>(small_arrays(top->rules.bounded)) * sizeof(double);
  }
  if (bytes <= small_bytes && last - first < max_small) {
    CVTM_CUDA_TRY(top->device,
                  cudaFuncSetAttribute(tail_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(small_bytes)));
    tail_shared<<<1, tail_threads, bytes, stream_of(top)>>>(top->problem, top->levels, top->rules,
                                                            first, last, finer == nullptr);
    return cvtm_cuda_launched(top->device, "tail_shared");
  }
  tail_kernel<<<1, tail_threads, 0, stream_of(top)>>>(top->problem, top->levels, top->rules, first,
                                                      last, finer == nullptr);
  return cvtm_cuda_launched(top->device, "tail_kernel");
}

cvtm_status correct_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (windowed(&top->rules, coarse)) {
    if (!top->rules.searched) return CVTM_OK; /* ascend corrects */
    with_rows(top->shape, [&](auto rows) {
      search_window<<<spans_of(coarse), window_threads, 0, stream_of(top)>>>(
          top->problem, rows, *coarse, top->state, top->partial);
    });
    return cvtm_cuda_launched(top->device, "search_window");
  }
  correct_kernel<<<nodes_of(top), tile(), 0, stream_of(top)>>>(top->problem, *coarse,
                                                               top->rules.searched);
  if (top->rules.searched) {
    search_kernel<<<reducing_tiles(top->shape->width, top->shape->height), tile(), 0,
                    stream_of(top)>>>(top->problem, top->state, top->partial);
  }
  return cvtm_cuda_launched(top->device, "correct_kernel");
}

cvtm_status ascend_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (windowed(&top->rules, coarse)) {
    with_rows(top->shape, [&](auto rows) {
      ascend_window<<<spans_of(coarse), window_threads, 0, stream_of(top)>>>(
          top->problem, rows, *coarse, top->rules.searched, top->state, top->partial, top->history);
    });
    return cvtm_cuda_launched(top->device, "ascend_window");
  }
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
    up_cuda,        34 * 34,           tail_cuda,          correct_cuda,
    ascend_cuda,    coarsen_data_cuda, coarsen_links_cuda, prolong_start_cuda,
    keep_best_cuda, finish_cuda,
};
