#include "base/cuda_check.h"
#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

/* Every reduction has the same shape: a fixed number of blocks, each with a fixed set of
 * rows, writes partial[entry * parts + block]; a controller of one block combines them in a
 * fixed order and decides. Same n, same bits. */
enum {
  THREADS = 256,
  WARP = 32,
  ROWS = 128,        /* rows of a chunk in shared memory */
  STRIDE = ROWS + 1, /* keeps columns in different banks */
  MOST_PARTS = 528,  /* four blocks for each of 132 multiprocessors */
  /* Vectors in shared memory behind the 2 m columns. */
  AT_S = 0,
  AT_Y = 1,
  AT_G = 2, /* scaled gradient, zero on rows that are not free */
  AT_FREE = 3,
  AT_FIXED = 4,
  AT_ROW = 5, /* 1 on rows that exist */
  VECTORS = 6,
  /* Entries of pass A that one thread owns: 906 at m = 20, on 256 threads. */
  OWNED = 4
};

static int64_t cuda_parts(int64_t n) {
  const int64_t parts = n <= 0 ? 1 : (n - 1) / THREADS + 1;
  if (parts > MOST_PARTS) return MOST_PARTS;
  return parts;
}

/* The figure `entry` over the threads of a block, in thread 0; buffer has THREADS doubles. */
static __device__ double block_combine(int entry, double value, double *buffer) {
  const int thread = (int)threadIdx.x;
  __syncthreads();
  buffer[thread] = value;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) {
      buffer[thread] = cvtm_lbfgsb_combine(entry, buffer[thread], buffer[thread + half]);
    }
  }
  return buffer[0];
}

static __device__ void write_partial(const cvtm_lbfgsb_arrays &arrays, int entry, double value) {
  arrays.partial[(int64_t)entry * gridDim.x + blockIdx.x] = value;
}

static __device__ void block_figure(const cvtm_lbfgsb_arrays &arrays, int entry, double value,
                                    double *buffer) {
  const double combined = block_combine(entry, value, buffer);
  if (threadIdx.x == 0) write_partial(arrays, entry, combined);
}

/* In a controller: figures[0 .. entries - 1] from the partial ones, one warp for each. */
static __device__ void combine_parts(const cvtm_lbfgsb_arrays &arrays, int64_t parts, int entries,
                                     double *figures) {
  const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
  for (int entry = warp; entry < entries; entry += THREADS / WARP) {
    double value = cvtm_lbfgsb_neutral(entry);
    for (int64_t part = lane; part < parts; part += WARP) {
      value = cvtm_lbfgsb_combine(entry, value, arrays.partial[entry * parts + part]);
    }
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
      const double other = __shfl_down_sync(0xffffffffu, value, (unsigned)offset);
      value = cvtm_lbfgsb_combine(entry, value, other);
    }
    if (lane == 0) figures[entry] = value;
  }
  __syncthreads();
}

static __global__ void start_rows(cvtm_lbfgsb_arrays arrays) {
  __shared__ double buffer[THREADS];
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  double moved = 0.0;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < arrays.n; i += stride) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    const double x = cvtm_clamp(row.x, row.lower, row.upper);
    if (x != row.x) moved += 1.0;
    arrays.x[i] = x;
    arrays.trial_x[i] = x;
    arrays.g[i] = 0.0;
    arrays.d[i] = 0.0;
  }
  for (int entry = 0; entry < CVTM_SUM_COLUMNS; ++entry) {
    block_figure(arrays, entry, entry == CVTM_SUM_ACTIVE ? moved : cvtm_lbfgsb_neutral(entry),
                 buffer);
  }
}

static __global__ void start_control(cvtm_lbfgsb_arrays arrays, int64_t parts) {
  combine_parts(arrays, parts, CVTM_SUM_COLUMNS, arrays.sums);
  if (threadIdx.x == 0) cvtm_lbfgsb_begin(arrays.state);
}

static __global__ void search_rows(cvtm_lbfgsb_arrays arrays) {
  __shared__ double buffer[THREADS];
  if (!arrays.state->running) return;
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  double slope = 0.0;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < arrays.n; i += stride) {
    slope += arrays.trial_g[i] * arrays.d[i];
  }
  for (int entry = 0; entry < CVTM_SUM_COLUMNS; ++entry) {
    block_figure(arrays, entry, entry == CVTM_SUM_SLOPE ? slope : cvtm_lbfgsb_neutral(entry),
                 buffer);
  }
}

static __global__ void search_control(cvtm_lbfgsb_arrays arrays, int64_t parts) {
  const int running = arrays.state->running;
  if (running) combine_parts(arrays, parts, CVTM_SUM_COLUMNS, arrays.rows);
  __syncthreads();
  if (threadIdx.x == 0) {
    cvtm_lbfgsb_decide_search(arrays.state, arrays.values,
                              running ? arrays.rows[CVTM_SUM_SLOPE] : 0.0, *arrays.request);
  }
}

/* An entry of pass A as a masked dot product of vectors in shared memory. */
struct product {
  int a, b, mask; /* vector numbers; a < 0: nothing */
};

static __device__ product make_product(int a, int b, int mask) {
  product made;
  made.a = a;
  made.b = b;
  made.mask = mask;
  return made;
}

static __device__ product find_product(const cvtm_lbfgsb_state *state,
                                       const cvtm_lbfgsb_layout &layout, int entry) {
  const int m = state->history, k = state->count, vectors = 2 * m;
  const product none = make_product(-1, 0, 0);
  if (entry == CVTM_SUM_FREE_GG) {
    return make_product(vectors + AT_G, vectors + AT_G, vectors + AT_ROW);
  }
  if (k == 0) return none;
  if (entry == CVTM_SUM_YY) {
    return make_product(vectors + AT_Y, vectors + AT_Y, vectors + AT_ROW);
  }
  if (entry < CVTM_SUM_COLUMNS) return none;
  if (entry < layout.wg) {
    const int y = entry < layout.s_s;
    const int p = entry - (y ? layout.y_s : layout.s_s);
    return p < k ? make_product(y ? p : m + p, vectors + AT_S, vectors + AT_ROW) : none;
  }
  if (entry < layout.wg + 2 * m) {
    const int p = entry - layout.wg;
    return p % m < k ? make_product(p, vectors + AT_G, vectors + AT_ROW) : none;
  }
  if (!state->bounded) {
    const int p = entry - layout.y_y; /* S follows Y here too */
    return p % m < k ? make_product(p, vectors + AT_Y, vectors + AT_ROW) : none;
  }
  if (entry < layout.sy) {
    const int y = entry < layout.ss;
    const int packed = entry - (y ? layout.yy : layout.ss);
    int p = 0;
    while ((p + 1) * (p + 2) / 2 <= packed) ++p;
    const int q = packed - p * (p + 1) / 2;
    if (p >= k) return none;
    return y ? make_product(p, q, vectors + AT_FREE)
             : make_product(m + p, m + q, vectors + AT_FIXED);
  }
  const int p = (entry - layout.sy) / m, q = (entry - layout.sy) % m;
  if (p >= k || q >= k) return none;
  const int over_free = cvtm_lbfgsb_age(state, p) <= cvtm_lbfgsb_age(state, q);
  return make_product(m + p, q, vectors + (over_free ? AT_FREE : AT_FIXED));
}

/* Row r of a chunk in pass A: takes the trial point over. */
static __device__ void update_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, double *vectors,
                                  double *gradient, double *breakpoint, double *active) {
  const double x = arrays.trial_x[i], g = arrays.trial_g[i];
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, x, g);
  vectors[AT_S * STRIDE] = (x - arrays.x[i]) / row.scale;
  vectors[AT_Y * STRIDE] = (g - arrays.g[i]) * row.scale;
  arrays.x[i] = x;
  arrays.g[i] = g;
  const double t = cvtm_lbfgsb_breakpoint(&row);
  const int is_free = t > 0.0;
  *gradient =
      cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, *gradient, cvtm_lbfgsb_projected_gradient(&row));
  if (is_free) *breakpoint = cvtm_lbfgsb_combine(CVTM_MIN_BREAKPOINT, *breakpoint, t);
  if (x == row.lower || x == row.upper) *active += 1.0;
  vectors[AT_G * STRIDE] = is_free ? row.g : 0.0;
  vectors[AT_FREE * STRIDE] = is_free ? 1.0 : 0.0;
  vectors[AT_FIXED * STRIDE] = is_free ? 0.0 : 1.0;
  vectors[AT_ROW * STRIDE] = 1.0;
}

/* The same where rows with 0 < t_i <= t^c are to change sides. */
static __device__ int restrict_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, double *vectors) {
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], arrays.g[i]);
  const double t = cvtm_lbfgsb_breakpoint(&row);
  const int hit = t > 0.0 && t <= arrays.state->cauchy;
  vectors[AT_G * STRIDE] = hit ? row.g : 0.0;
  vectors[AT_FREE * STRIDE] = vectors[AT_FIXED * STRIDE] = hit ? 1.0 : 0.0;
  vectors[AT_ROW * STRIDE] = 1.0;
  return hit;
}

/* The columns of a chunk; a new pair goes from shared memory into W at the same time. */
static __device__ void load_columns(const cvtm_lbfgsb_arrays &arrays, int64_t first, int store,
                                    double *shared) {
  const cvtm_lbfgsb_state *state = arrays.state;
  const int m = state->history, k = state->count, newest = state->newest;
  for (int e = (int)threadIdx.x; e < 2 * k * ROWS; e += THREADS) {
    const int column = e / ROWS, r = e % ROWS;
    const int p = column % k, side = column / k; /* Y, then S */
    const int64_t i = first + r;
    double value = 0.0;
    if (i < arrays.n) {
      double *place = arrays.w + cvtm_lbfgsb_at(i, side * m + p, m);
      if (store && p == newest) {
        value = shared[(2 * m + (side ? AT_S : AT_Y)) * STRIDE + r];
        *place = value;
      } else {
        value = *place;
      }
    }
    shared[(side * m + p) * STRIDE + r] = value;
  }
}

/* Pass A (restricting = 0) and its correction (1): shared memory holds a chunk of rows, and
 * each thread owns some entries of the result and sums them over the chunk. */
template <int restricting>
static __global__ void __launch_bounds__(THREADS) update_rows(cvtm_lbfgsb_arrays arrays) {
  extern __shared__ double shared[];
  const cvtm_lbfgsb_state *state = arrays.state;
  if (!state->running || !(restricting ? state->due_restrict : state->due_update)) return;
  const int m = state->history, thread = (int)threadIdx.x;
  const int store = !restricting && state->store_pair;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, state->bounded);
  double *vectors = shared + 2 * m * STRIDE;
  product products[OWNED];
  double sums[OWNED];
  for (int o = 0; o < OWNED; ++o) {
    const int entry = thread + o * THREADS;
    products[o] =
        entry < layout.entries ? find_product(state, layout, entry) : make_product(-1, 0, 0);
    sums[o] = 0.0;
  }
  double gradient = cvtm_lbfgsb_neutral(CVTM_MAX_GRADIENT), active = 0.0;
  double breakpoint = cvtm_lbfgsb_neutral(CVTM_MIN_BREAKPOINT);
  for (int64_t first = (int64_t)blockIdx.x * ROWS; first < arrays.n;
       first += (int64_t)gridDim.x * ROWS) {
    int wanted = !restricting;
    if (thread < ROWS) {
      for (int v = 0; v < VECTORS; ++v) vectors[v * STRIDE + thread] = 0.0;
      if (first + thread < arrays.n) {
        if (restricting) {
          wanted = restrict_row(arrays, first + thread, vectors + thread);
        } else {
          update_row(arrays, first + thread, vectors + thread, &gradient, &breakpoint, &active);
        }
      }
    }
    if (!__syncthreads_or(wanted)) continue;
    load_columns(arrays, first, store, shared);
    __syncthreads();
    for (int o = 0; o < OWNED; ++o) {
      if (products[o].a < 0) continue;
      const double *a = shared + products[o].a * STRIDE, *b = shared + products[o].b * STRIDE;
      const double *mask = shared + products[o].mask * STRIDE;
      double sum = 0.0;
      for (int r = 0; r < ROWS; ++r) sum += a[r] * b[r] * mask[r];
      sums[o] += sum;
    }
    __syncthreads();
  }
  for (int o = 0; o < OWNED; ++o) {
    const int entry = thread + o * THREADS;
    const int is_sum = entry >= CVTM_SUM_FREE_GG && entry != CVTM_SUM_ACTIVE;
    if (is_sum && entry < layout.entries) write_partial(arrays, entry, sums[o]);
  }
  block_figure(arrays, CVTM_MAX_GRADIENT, gradient, shared);
  block_figure(arrays, CVTM_MIN_BREAKPOINT, breakpoint, shared);
  block_figure(arrays, CVTM_MIN_TRUNCATION, cvtm_lbfgsb_neutral(CVTM_MIN_TRUNCATION), shared);
  block_figure(arrays, CVTM_SUM_ACTIVE, active, shared);
}

static __global__ void update_control(cvtm_lbfgsb_arrays arrays, int64_t parts) {
  const cvtm_lbfgsb_state *state = arrays.state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const int due = state->running && state->due_update;
  if (due) combine_parts(arrays, parts, layout.entries, arrays.sums);
  __syncthreads();
  if (threadIdx.x == 0) {
    cvtm_lbfgsb_decide_direction(arrays.state, arrays.dense, &layout, arrays.sums, *arrays.request);
  }
}

static __global__ void restrict_control(cvtm_lbfgsb_arrays arrays, int64_t parts) {
  const cvtm_lbfgsb_state *state = arrays.state;
  if (!state->running || !state->due_restrict) return;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, 1);
  combine_parts(arrays, parts, layout.entries, arrays.rows);
  __syncthreads();
  if (threadIdx.x == 0) {
    cvtm_lbfgsb_decide_restrict(arrays.state, arrays.dense, &layout, arrays.sums, arrays.rows);
  }
}

/* Pass B; falling_back: the truncated step. */
template <int falling_back>
static __global__ void __launch_bounds__(THREADS) step_rows(cvtm_lbfgsb_arrays arrays) {
  __shared__ double buffer[THREADS];
  __shared__ double q[2 * CVTM_LBFGSB_MAX_HISTORY];
  const cvtm_lbfgsb_state *state = arrays.state;
  if (!state->running || !(falling_back ? state->due_fallback : state->due_step)) return;
  const int m = state->history, k = state->count;
  const double factor = falling_back ? state->truncation : 1.0;
  if ((int)threadIdx.x < 2 * m) q[threadIdx.x] = arrays.dense->q[threadIdx.x];
  __syncthreads();
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  double slope = 0.0, dd = 0.0;
  double largest = HUGE_VAL, truncation = HUGE_VAL;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < arrays.n; i += stride) {
    const double g = arrays.g[i];
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], g);
    const double *w = arrays.w + cvtm_lbfgsb_at(i, 0, m);
    double wq = 0.0, limit;
    for (int p = 0; p < k; ++p) {
      wq += w[p * CVTM_LBFGSB_TILE] * q[p] + w[(m + p) * CVTM_LBFGSB_TILE] * q[m + p];
    }
    const double d = cvtm_lbfgsb_direction(state, &row, wq, factor, &limit);
    arrays.d[i] = d;
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
    largest = cvtm_lbfgsb_combine(CVTM_MIN_STEP, largest, cvtm_lbfgsb_largest_step(&row, row.x, d));
    truncation = cvtm_lbfgsb_combine(CVTM_MIN_TRUNCATION, truncation, limit);
    slope += g * d;
    dd += (d / row.scale) * (d / row.scale);
  }
  block_figure(arrays, 0, 0.0, buffer);
  block_figure(arrays, CVTM_MIN_STEP, largest, buffer);
  block_figure(arrays, CVTM_MIN_TRUNCATION, truncation, buffer);
  block_figure(arrays, CVTM_SUM_SLOPE, slope, buffer);
  block_figure(arrays, CVTM_SUM_DD, dd, buffer);
  block_figure(arrays, CVTM_SUM_ACTIVE, 0.0, buffer);
}

template <int falling_back>
static __global__ void step_control(cvtm_lbfgsb_arrays arrays, int64_t parts) {
  const cvtm_lbfgsb_state *state = arrays.state;
  if (!state->running || !(falling_back ? state->due_fallback : state->due_step)) return;
  combine_parts(arrays, parts, CVTM_SUM_COLUMNS, arrays.rows);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (falling_back) {
    cvtm_lbfgsb_decide_fallback(arrays.state, arrays.rows);
  } else {
    cvtm_lbfgsb_decide_step(arrays.state, arrays.rows);
  }
}

static __global__ void trial_rows(cvtm_lbfgsb_arrays arrays) {
  const cvtm_lbfgsb_state *state = arrays.state;
  if (!state->running || !state->due_trial) return;
  const double step = state->step;
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < arrays.n; i += stride) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, arrays.d[i], step);
  }
}

static unsigned grid_of(const cvtm_lbfgsb_arrays *arrays) {
  return static_cast<unsigned>(cuda_parts(arrays->n));
}

static size_t shared_bytes(int m) {
  return sizeof(double) * STRIDE * static_cast<size_t>(2 * m + VECTORS);
}

extern "C" {

static cvtm_status cuda_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  start_rows<<<grid_of(arrays), THREADS, 0, stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "start_rows");
  if (status != CVTM_OK) return status;
  start_control<<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "start_control");
}

static cvtm_status cuda_search(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  search_rows<<<grid_of(arrays), THREADS, 0, stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "search_rows");
  if (status != CVTM_OK) return status;
  search_control<<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "search_control");
}

static cvtm_status cuda_update(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  update_rows<0><<<grid_of(arrays), THREADS, shared_bytes(m), stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "update_rows");
  if (status != CVTM_OK) return status;
  update_control<<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "update_control");
}

static cvtm_status cuda_restrict(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  update_rows<1><<<grid_of(arrays), THREADS, shared_bytes(m), stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "update_rows (restricting)");
  if (status != CVTM_OK) return status;
  restrict_control<<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "restrict_control");
}

static cvtm_status cuda_step(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  step_rows<0><<<grid_of(arrays), THREADS, 0, stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "step_rows");
  if (status != CVTM_OK) return status;
  step_control<0><<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "step_control");
}

static cvtm_status cuda_fall_back(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  step_rows<1><<<grid_of(arrays), THREADS, 0, stream>>>(*arrays);
  const cvtm_status status = cvtm_cuda_launched(device, "step_rows (falling back)");
  if (status != CVTM_OK) return status;
  step_control<1><<<1, THREADS, 0, stream>>>(*arrays, grid_of(arrays));
  return cvtm_cuda_launched(device, "step_control (falling back)");
}

static cvtm_status cuda_trial(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  (void)m;
  trial_rows<<<grid_of(arrays), THREADS, 0, cvtm_cuda_stream(device)>>>(*arrays);
  return cvtm_cuda_launched(device, "trial_rows");
}

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cuda = {
    cuda_parts,    cuda_start, cuda_search,    cuda_update,
    cuda_restrict, cuda_step,  cuda_fall_back, cuda_trial,
};

}  // extern "C"
