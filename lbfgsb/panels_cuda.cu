/* The passes of panels.h on CUDA. W is column-major: a column of Y or S has n doubles, padded to
 * full tiles. cuBLAS multiplies the panels. */
#include "base/cuda_libraries.h"
#include "base/cuda_utils.h"
#include "lbfgsb/panels.h"

#include <stdlib.h>
#include <string.h>

enum {
  THREADS = 256,
  FIGURES = CVTM_SUM_COLUMNS, /* number of entries of a block */
  VECTORS = 3                 /* factors of W'V: g over free rows, s, y */
};

static constexpr int64_t MAX_BLOCKS = 528; /* limit on the thread blocks of a pass */
static constexpr int64_t CHUNK = 1 << 16;  /* number of listed rows multiplied together */

struct panels_cuda {
  cvtm_cublas *cublas;
  double *figures, *figures_seen; /* [MAX_BLOCKS][FIGURES]: host and device addresses */
  double *vectors;                /* [VECTORS][stride] */
  double *wq;                     /* [stride] */
  double *products;               /* [2][m x VECTORS] */
  double *q;                      /* [2m] */
  double *columns;                /* [2m + 1][CHUNK] of listed rows */
  double *gram;                   /* [2m x 2m] and [2m] */
  int32_t *rows;                  /* [CVTM_PANELS_BATCH] */
  double *read;                   /* [CVTM_PANELS_BATCH][2m + 1] */
};

/* The number of rows of a column of W, with padding. */
static __host__ __device__ int64_t stride_of(int64_t n) {
  return (n + CVTM_LBFGSB_TILE - 1) / CVTM_LBFGSB_TILE * CVTM_LBFGSB_TILE;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* The reductions of a pass by a thread or a block: the entries before CVTM_SUM_COLUMNS. */
struct figures {
  double value[FIGURES];
};

static __device__ figures empty_figures() {
  figures own;
  for (int e = 0; e < FIGURES; ++e) own.value[e] = cvtm_lbfgsb_identity(e);
  return own;
}

/* Writes the block's figures. The order is fixed: thread t adds the figures of thread t + 128, then
 * those of t + 64, and so on. */
static __device__ void write_figures(const figures &own, int nearest, double *to) {
  __shared__ figures all[THREADS];
  const int thread = static_cast<int>(threadIdx.x);
  all[thread] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half)
      cvtm_lbfgsb_combine_entries(all[thread].value, all[thread + half].value, FIGURES, nearest);
  }
  __syncthreads();
  if (thread < FIGURES) to[blockIdx.x * FIGURES + thread] = all[0].value[thread];
}

/* Runs a pass that calls add_row(&arrays, i, sums) for all rows. */
template <auto add_row>
static __global__ void __launch_bounds__(THREADS)
    rows_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays, double *to) {
  figures own = empty_figures();
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    add_row(&arrays, i, own.value);
  }
  write_figures(own, 0, to);
}

/* Runs pass A without the products with W. Stores the factors of these products in `vectors`. */
static __global__ void __launch_bounds__(THREADS)
    update_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays,
                  const __grid_constant__ cvtm_lbfgsb_state state, double *vectors, double *to) {
  const int64_t stride = stride_of(arrays.n);
  double *w = arrays.w;
  figures own = empty_figures();
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    cvtm_lbfgsb_variable row;
    const cvtm_lbfgsb_pair pair = cvtm_lbfgsb_accept_row(&arrays, i, &row);
    const int is_free = cvtm_lbfgsb_is_free(&row);
    cvtm_lbfgsb_add_point(&arrays, &row, i, is_free, own.value);
    vectors[i] = is_free ? row.g : 0.0;
    vectors[stride + i] = pair.s;
    vectors[2 * stride + i] = pair.y;
    if (!state.store_pair) continue;
    own.value[CVTM_SUM_YY] += pair.y * pair.y;
    w[state.newest * stride + i] = pair.y;
    w[(state.history + state.newest) * stride + i] = pair.s;
  }
  write_figures(own, 1, to);
}

/* Runs pass B, once W has been multiplied by q. */
static __global__ void __launch_bounds__(THREADS)
    step_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays,
                const __grid_constant__ cvtm_lbfgsb_state state, const double *wq, double *to) {
  const double factor = state.needs_fallback ? state.truncation : 1.0;
  figures own = empty_figures();
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    const double g = arrays.g[i];
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], g);
    cvtm_lbfgsb_step_row(&arrays, &state, &row, i, g, state.count > 0 ? wq[i] : 0.0, factor,
                         own.value);
  }
  write_figures(own, 0, to);
}

static __global__ void __launch_bounds__(THREADS)
    move_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays, double step) {
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    cvtm_lbfgsb_move_row(&arrays, i, step);
  }
}

/* Sets to[c * column_step + r * row_step] to listed row r of column c, with g as the last column.
 * The first half of the columns begins at W, the second half m columns later. */
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays, const int32_t *rows, int count,
                  int half, int m, int64_t column_step, int64_t row_step, double *to) {
  const int64_t stride = stride_of(arrays.n);
  const double *w = arrays.w;
  const int64_t all = static_cast<int64_t>(count) * (2 * half + 1);
  for (int64_t e = cvtm_first_thread(); e < all; e += cvtm_thread_count()) {
    const int c = static_cast<int>(e / count), r = static_cast<int>(e % count);
    const int64_t i = rows[r];
    const double value = c == 2 * half ? cvtm_lbfgsb_scaled_gradient(&arrays, i)
                                       : w[(c < half ? c : m + c - half) * stride + i];
    to[c * column_step + r * row_step] = value;
  }
}

/* --- the table -------------------------------------------------------------------------------- */

static unsigned pass_blocks(int64_t n) {
  const int64_t blocks = (n - 1) / THREADS + 1;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}

extern "C" {

static void cuda_close(cvtm_device *device, void *memory) {
  panels_cuda *own = static_cast<panels_cuda *>(memory);
  void *const owned[] = {own->vectors, own->wq,   own->products, own->q,
                         own->columns, own->gram, own->rows,     own->read};
  for (void *block : owned) {
    if (block) cvtm_device_free(device, block);
  }
  cvtm_device_free_mapped(device, own->figures);
  cvtm_cublas_close(own->cublas);
  free(own);
}

static cvtm_status allocate_own(cvtm_device *device, panels_cuda *own, int64_t n, int m) {
  const int64_t stride = stride_of(n), columns = 2 * m;
  void *host = nullptr, *seen = nullptr;
  cvtm_status status =
      cvtm_device_allocate_mapped(device, MAX_BLOCKS * FIGURES * sizeof(double), &host, &seen);
  own->figures = static_cast<double *>(host);
  own->figures_seen = static_cast<double *>(seen);
  if (status != CVTM_OK) return status;
  return cvtm_device_allocate_arrays(
      device, {{
                  cvtm_array_of(&own->vectors, VECTORS * stride),
                  cvtm_array_of(&own->wq, stride),
                  cvtm_array_of(&own->products, columns * VECTORS),
                  cvtm_array_of(&own->q, columns),
                  cvtm_array_of(&own->columns, (columns + 1) * (n < CHUNK ? n : CHUNK)),
                  cvtm_array_of(&own->gram, columns * columns + columns),
                  cvtm_array_of(&own->rows, CVTM_PANELS_BATCH),
                  cvtm_array_of(&own->read, CVTM_PANELS_BATCH * (columns + 1)),
              }});
}

static cvtm_status cuda_open(cvtm_device *device, int64_t n, int m, void **memory) {
  panels_cuda *own = static_cast<panels_cuda *>(calloc(1, sizeof(panels_cuda)));
  if (!own) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = cvtm_cublas_open(device, &own->cublas);
  if (status == CVTM_OK) status = allocate_own(device, own, n, m);
  if (status != CVTM_OK) {
    cuda_close(device, own);
    return status;
  }
  *memory = own;
  return CVTM_OK;
}

/* Waits, then combines the figures of the blocks in the order of their indices. */
static cvtm_status collect(cvtm_device *device, const panels_cuda *own, int64_t n, int nearest,
                           double *result) {
  CVTM_TRY(cvtm_device_synchronize(device));
  memcpy(result, own->figures, FIGURES * sizeof *result);
  for (unsigned block = 1; block < pass_blocks(n); ++block) {
    cvtm_lbfgsb_combine_entries(result, own->figures + block * FIGURES, FIGURES, nearest);
  }
  return CVTM_OK;
}

/* Sets result to W'V for the k stored pairs, in the order of cvtm_lbfgsb_get_layout(m, 0). */
static cvtm_status multiply_vectors(cvtm_device *device, panels_cuda *own,
                                    const cvtm_lbfgsb_arrays *arrays, double *result) {
  const int m = arrays->state->history, k = arrays->state->count, n = static_cast<int>(arrays->n);
  const int stride = static_cast<int>(stride_of(n));
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(m, 0);
  /* for each vector, the entries of its products with Y and with S */
  const int places[VECTORS][2] = {
      {layout.wg, layout.wg + m}, {layout.y_s, layout.s_s}, {layout.y_y, layout.s_y}};
  double products[2 * VECTORS * CVTM_LBFGSB_MAX_HISTORY];
  memset(result + CVTM_SUM_COLUMNS, 0,
         static_cast<size_t>(layout.entries - CVTM_SUM_COLUMNS) * sizeof *result);
  if (k == 0) return CVTM_OK;
  for (int half = 0; half < 2; ++half) {
    const double *w = arrays->w + static_cast<int64_t>(half) * m * stride;
    const cvtm_status status =
        cvtm_cublas_multiply(own->cublas, k, VECTORS, n, w, stride, own->vectors, stride, 0.0,
                             own->products + half * VECTORS * k, k);
    if (status != CVTM_OK) return status;
  }
  const size_t bytes = 2 * VECTORS * static_cast<size_t>(k) * sizeof(double);
  const cvtm_status status = cvtm_device_copy_out(device, products, own->products, bytes);
  if (status != CVTM_OK) return status;
  for (int half = 0; half < 2; ++half) {
    for (int v = 0; v < VECTORS; ++v) {
      const double *from = products + (half * VECTORS + v) * k;
      memcpy(result + places[v][half], from, static_cast<size_t>(k) * sizeof *from);
    }
  }
  return CVTM_OK;
}

static cvtm_status pass_a(cvtm_device *device, panels_cuda *own, const cvtm_lbfgsb_arrays *arrays,
                          double *result) {
  update_kernel<<<pass_blocks(arrays->n), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *arrays, *arrays->state, own->vectors, own->figures_seen);
  CVTM_TRY(cvtm_cuda_launched(device, "update_kernel"));
  CVTM_TRY(multiply_vectors(device, own, arrays, result));
  return collect(device, own, arrays->n, 1, result);
}

static cvtm_status pass_b(cvtm_device *device, panels_cuda *own, const cvtm_lbfgsb_arrays *arrays,
                          const double *q, double *result) {
  const int m = arrays->state->history, k = arrays->state->count, n = static_cast<int>(arrays->n);
  const int stride = static_cast<int>(stride_of(n));
  const double *w = arrays->w;
  cvtm_status status =
      cvtm_device_copy_in(device, own->q, q, 2 * static_cast<size_t>(m) * sizeof *q);
  for (int half = 0; half < 2 && k > 0 && status == CVTM_OK; ++half) {
    status = cvtm_cublas_apply(own->cublas, n, k, w + static_cast<int64_t>(half) * m * stride,
                               stride, own->q + half * m, half, own->wq);
  }
  if (status != CVTM_OK) return status;
  step_kernel<<<pass_blocks(n), THREADS, 0, cvtm_cuda_stream(device)>>>(*arrays, *arrays->state,
                                                                        own->wq, own->figures_seen);
  status = cvtm_cuda_launched(device, "step_kernel");
  return status == CVTM_OK ? collect(device, own, n, 0, result) : status;
}

static cvtm_status cuda_pass(cvtm_device *device, void *memory, const cvtm_lbfgsb_arrays *arrays,
                             cvtm_lbfgsb_pass pass, const double *q, int entries, double *result) {
  panels_cuda *own = static_cast<panels_cuda *>(memory);
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const unsigned blocks = pass_blocks(arrays->n);
  (void)entries;
  if (pass == CVTM_PASS_A) return pass_a(device, own, arrays, result);
  if (pass == CVTM_PASS_B) return pass_b(device, own, arrays, q, result);
  if (pass == CVTM_PASS_START) {
    rows_kernel<cvtm_lbfgsb_start_row><<<blocks, THREADS, 0, stream>>>(*arrays, own->figures_seen);
  } else {
    rows_kernel<cvtm_lbfgsb_search_row><<<blocks, THREADS, 0, stream>>>(*arrays, own->figures_seen);
  }
  CVTM_TRY(cvtm_cuda_launched(device, "pass without products"));
  return collect(device, own, arrays->n, 0, result);
}

static cvtm_status cuda_move(cvtm_device *device, void *memory, const cvtm_lbfgsb_arrays *arrays) {
  (void)memory;
  move_kernel<<<pass_blocks(arrays->n), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *arrays, arrays->state->step);
  return cvtm_cuda_launched(device, "move_kernel");
}

static cvtm_status gather_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                               const int32_t *rows, int count, int half, int64_t column_step,
                               int64_t row_step, double *to) {
  const int64_t all = static_cast<int64_t>(count) * (2 * half + 1);
  gather_kernel<<<cvtm_cuda_blocks(all, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *arrays, rows, count, half, arrays->state->history, column_step, row_step, to);
  return cvtm_cuda_launched(device, "gather_kernel");
}

static cvtm_status cuda_gram(cvtm_device *device, void *memory, const cvtm_lbfgsb_arrays *arrays,
                             const int32_t *rows, int64_t count, double *gram, double *wg) {
  panels_cuda *own = static_cast<panels_cuda *>(memory);
  const int k = arrays->state->count, size = 2 * k;
  const int chunk = static_cast<int>(arrays->n < CHUNK ? arrays->n : CHUNK);
  const size_t entries = static_cast<size_t>(size) * static_cast<size_t>(size);
  double *sums = own->gram + entries;
  if (k == 0) return CVTM_OK;
  cvtm_status status = CVTM_OK;
  for (int64_t first = 0; first < count && status == CVTM_OK; first += chunk) {
    const int now = count - first < chunk ? static_cast<int>(count - first) : chunk;
    const double beta = first > 0 ? 1.0 : 0.0;
    status = gather_rows(device, arrays, rows + first, now, k, chunk, 1, own->columns);
    if (status == CVTM_OK) {
      status =
          cvtm_cublas_square(own->cublas, size, now, own->columns, chunk, beta, own->gram, size);
    }
    if (status == CVTM_OK) {
      status = cvtm_cublas_multiply(own->cublas, size, 1, now, own->columns, chunk,
                                    own->columns + static_cast<int64_t>(size) * chunk, chunk, beta,
                                    sums, size);
    }
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(device, gram, own->gram, entries * sizeof *gram);
  }
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(device, wg, sums, static_cast<size_t>(size) * sizeof *wg);
}

static cvtm_status cuda_read_rows(cvtm_device *device, void *memory,
                                  const cvtm_lbfgsb_arrays *arrays, const int32_t *rows, int count,
                                  double *w) {
  panels_cuda *own = static_cast<panels_cuda *>(memory);
  const int m = arrays->state->history, columns = 2 * m + 1;
  cvtm_status status =
      cvtm_device_copy_in(device, own->rows, rows, static_cast<size_t>(count) * sizeof *rows);
  if (status == CVTM_OK) {
    status = gather_rows(device, arrays, own->rows, count, m, 1, columns, own->read);
  }
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(
      device, w, own->read, static_cast<size_t>(count) * static_cast<size_t>(columns) * sizeof *w);
}

extern const cvtm_panels_table cvtm_panels_table_cuda = {cuda_open, cuda_close, cuda_pass,
                                                         cuda_move, cuda_gram,  cuda_read_rows};

}  // extern "C"
