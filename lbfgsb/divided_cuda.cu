/* The passes of divided.h on CUDA. A block of rows is cut into chunks. A block of threads computes
 * a chunk as it computes a problem of a batch in lbfgsb_cuda.cu. */
#include "base/cuda_utils.h"
#include "lbfgsb/divided.h"
#include "lbfgsb/passes_cuda.h"

enum {
  CHUNKS = 4, /* largest number of chunks of a block of rows */
  ROW_WARPS = 8,
  COMBINE_THREADS = 256,
  /* other passes than those of cvtm_lbfgsb_pass: the trial point of a step, and pass_commit */
  PASS_MOVE = 16,
  PASS_COMMIT
};

static constexpr int CHUNK_UNIT = CVTM_LBFGSB_CPU_PART; /* divides the number of rows of a block */

/* The data of a pass that the host passes by value. */
struct pass_inputs {
  cvtm_lbfgsb_state state;
  double q[CVTM_LBFGSB_PAIR];
  int pass, speculative, commit;
};

static __host__ __device__ int64_t chunk_rows(int64_t block) {
  return ((block / CHUNK_UNIT - 1) / CHUNKS + 1) * CHUNK_UNIT;
}

static __host__ __device__ int64_t chunks_of_block(int64_t block) {
  return (block - 1) / chunk_rows(block) + 1;
}

/* The first row of a chunk, among the rows of this rank. */
static __device__ int64_t chunk_start(int64_t block, int64_t chunk) {
  const int64_t block_chunks = chunks_of_block(block);
  return chunk / block_chunks * block + chunk % block_chunks * chunk_rows(block);
}

/* The arrays of a chunk, which may have no rows. */
static __device__ cvtm_lbfgsb_arrays chunk_arrays(const cvtm_lbfgsb_arrays &all, int64_t chunk,
                                                  int m) {
  const int64_t rows = chunk_rows(all.block), first = chunk_start(all.block, chunk);
  const int64_t left = all.block - chunk % chunks_of_block(all.block) * rows;
  cvtm_lbfgsb_arrays one = all;
  one.n = all.n - first;
  if (one.n > left) one.n = left;
  if (one.n > rows) one.n = rows;
  if (one.n < 0) one.n = 0;
  one.x += first;
  one.g += first;
  one.trial_x += first;
  one.trial_g += first;
  one.d += first;
  one.w += cvtm_lbfgsb_at(first, 0, m);
  if (one.lower) one.lower += first;
  if (one.upper) one.upper += first;
  if (one.scale) one.scale += first;
  one.partial += chunk * all.entries;
  return one;
}

/* Fills the shared memory of a block of threads for its chunk. */
static __device__ block_group load_chunk(const cvtm_lbfgsb_arrays &all, const pass_inputs &inputs) {
  shared_memory *shared = block_memory();
  copy_words(&shared->state, &inputs.state);
  copy_words(&shared->if_accepted, &inputs.state);
  copy_doubles(shared->model.q, inputs.q, CVTM_LBFGSB_PAIR);
  if (threadIdx.x == 0) shared->arrays = chunk_arrays(all, blockIdx.x, inputs.state.history);
  __syncthreads();
  return {0, 1};
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Runs pass A, or the pass over the rows that leave the free set. */
template <int BLOCKS, int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    products_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all,
                    const __grid_constant__ pass_inputs inputs) {
  const block_group on = load_chunk(all, inputs);
  if (inputs.pass == CVTM_PASS_A) {
    pass_a<BLOCKS, WARPS>(on, inputs.speculative);
  } else {
    pass_restrict<BLOCKS, WARPS>(on);
  }
}

/* Runs the passes without products with W. */
static __global__ void __launch_bounds__(ROW_WARPS *WARP)
    rows_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all,
                const __grid_constant__ pass_inputs inputs) {
  const block_group on = load_chunk(all, inputs);
  switch (inputs.pass) {
    case CVTM_PASS_START:
      pass_start(on);
      break;
    case CVTM_PASS_SEARCH:
      pass_search(on);
      break;
    case CVTM_PASS_B:
      pass_b(on, inputs.commit);
      break;
    case PASS_MOVE:
      pass_trial(on);
      break;
    default:
      pass_commit(on);
      break;
  }
}

/* The nearest breakpoint among the chunks of a block. The row is relative to the first row of this
 * rank. */
static __device__ cvtm_lbfgsb_nearest nearest_of_chunks(const cvtm_lbfgsb_arrays &all,
                                                        int64_t chunks) {
  cvtm_lbfgsb_nearest found = {HUGE_VAL, HUGE_VAL};
  for (int64_t k = 0; k < chunks; ++k) {
    const int64_t chunk = blockIdx.x * chunks + k;
    const double *own = all.partial + chunk * all.entries;
    cvtm_lbfgsb_nearest other = {own[CVTM_MIN_BREAKPOINT], own[CVTM_NEAREST_ROW]};
    if (other.row >= 0.0) other.row += static_cast<double>(chunk_start(all.block, chunk));
    found = cvtm_lbfgsb_combine_nearest(found, other);
  }
  return found;
}

/* Computes the record of each block of this rank from its chunks, in their order. */
static __global__ void __launch_bounds__(COMBINE_THREADS)
    record_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all,
                  const __grid_constant__ cvtm_lbfgsb_state state,
                  const __grid_constant__ cvtm_divided_pass pass, double *records) {
  __shared__ cvtm_lbfgsb_nearest nearest;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t chunks = chunks_of_block(all.block);
  double *record = records + blockIdx.x * static_cast<int64_t>(pass.stride);
  for (int e = thread; e < pass.entries; e += COMBINE_THREADS) {
    const double *from = all.partial + blockIdx.x * chunks * all.entries + e;
    double value = *from;
    for (int64_t k = 1; k < chunks; ++k)
      value = cvtm_lbfgsb_combine(e, value, from[k * all.entries]);
    record[e] = value;
  }
  if (thread < 2) record[pass.entries + thread] = all.values[2 * blockIdx.x + thread];
  if (pass.pass != CVTM_PASS_A) return;
  __syncthreads();
  if (thread == 0) {
    nearest = nearest_of_chunks(all, chunks);
    const int known = nearest.row >= 0.0 && nearest.row < HUGE_VAL;
    record[CVTM_MIN_BREAKPOINT] = nearest.t;
    record[CVTM_NEAREST_ROW] = known ? nearest.row + static_cast<double>(pass.first) : nearest.row;
  }
  __syncthreads();
  if (!pass.has_row) return;
  const int m = state.history, known = nearest.row >= 0.0 && nearest.row < HUGE_VAL;
  const int64_t i = known ? static_cast<int64_t>(nearest.row) : 0;
  double *row = record + pass.entries + 2;
  if (thread <= 2 * m)
    row[thread] = known ? read_row(all, state, i, thread, pass.speculative) : 0.0;
}

/* Combines entry e of the records of all blocks, by a warp; the last entry is f[1]. */
static __device__ double combine_records(const cvtm_divided_pass &pass, const double *records,
                                         int e) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, is_measure = e == pass.entries + 1;
  const int kind = is_measure ? 0 : e == pass.entries ? static_cast<int>(CVTM_SUM_COLUMNS) : e;
  double value = is_measure ? -HUGE_VAL : cvtm_lbfgsb_identity(kind);
  for (int64_t b = lane; b < pass.blocks; b += WARP)
    value = cvtm_lbfgsb_combine(kind, value, records[b * pass.stride + e]);
  return warp_combine(kind, value);
}

/* Combines the records of all blocks: for each entry, the lanes of a warp take the blocks
 * round-robin, and are then combined. */
static __global__ void __launch_bounds__(COMBINE_THREADS)
    combine_kernel(const __grid_constant__ cvtm_divided_pass pass, const double *records,
                   double *total) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int e = static_cast<int>(cvtm_first_thread()) / WARP;
  const int has_nearest = pass.pass == CVTM_PASS_A;
  if (e >= pass.entries + 2 || (has_nearest && e == CVTM_MIN_BREAKPOINT)) return;
  if (!has_nearest || e != CVTM_NEAREST_ROW) {
    const double value = combine_records(pass, records, e);
    if (lane == 0) total[e] = value;
    return;
  }
  cvtm_lbfgsb_nearest found = {HUGE_VAL, HUGE_VAL};
  for (int64_t b = lane; b < pass.blocks; b += WARP) {
    const double *record = records + b * pass.stride;
    found =
        cvtm_lbfgsb_combine_nearest(found, {record[CVTM_MIN_BREAKPOINT], record[CVTM_NEAREST_ROW]});
  }
  found = warp_combine_nearest(found);
  if (lane == 0) {
    total[CVTM_MIN_BREAKPOINT] = found.t;
    total[CVTM_NEAREST_ROW] = found.row;
  }
  const int known = found.row >= 0.0 && found.row < HUGE_VAL, row = pass.entries + 2;
  const int64_t block = known ? static_cast<int64_t>(found.row) / pass.block : 0;
  for (int c = row + lane; c < pass.stride; c += WARP) total[c] = records[block * pass.stride + c];
}

static __global__ void __launch_bounds__(COMBINE_THREADS)
    read_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all,
                const __grid_constant__ cvtm_lbfgsb_state state, const int32_t *rows, int count,
                double *w) {
  const int columns = 2 * state.history + 1;
  for (int64_t e = cvtm_first_thread(); e < count * columns; e += cvtm_thread_count())
    w[e] = read_row(all, state, rows[e / columns], static_cast<int>(e % columns), 0);
}

/* --- the table -------------------------------------------------------------------------------- */

static const void *find_products(int m) {
  typedef void (*kernel)(cvtm_lbfgsb_arrays, pass_inputs);
  const int blocks = column_blocks(m);
  const kernel found = blocks == 1   ? products_kernel<1, warps_for(1)>
                       : blocks == 2 ? products_kernel<2, warps_for(2)>
                                     : products_kernel<3, warps_for(3)>;
  return reinterpret_cast<const void *>(found);
}

/* Runs a pass over `blocks` blocks of rows, with a block of threads for each chunk. */
static cvtm_status launch(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                          const pass_inputs *inputs, int64_t blocks) {
  const int m = inputs->state.history;
  const int products = inputs->pass == CVTM_PASS_A || inputs->pass == CVTM_PASS_RESTRICT;
  const int warps = products ? warps_for(column_blocks(m)) : ROW_WARPS;
  int stages = 1;
  if (blocks == 0) return CVTM_OK;
  if (products) CVTM_CUDA_TRY(device, find_stages(warps, &stages));
  const void *kernel = products ? find_products(m) : reinterpret_cast<const void *>(rows_kernel);
  const size_t sums = static_cast<size_t>(CVTM_SUM_COLUMNS * warps * WARP) * sizeof(double);
  const size_t bytes =
      products ? shared_bytes(arrays, warps, stages, m) : sizeof(shared_memory) + sums;
  const dim3 grid(static_cast<unsigned>(blocks * chunks_of_block(arrays->block)));
  const dim3 threads(static_cast<unsigned>(warps * WARP));
  cvtm_lbfgsb_arrays all = *arrays;
  pass_inputs given = *inputs;
  void *arguments[] = {&all, &given};
  CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  return CVTM_CUDA_CALL(
      device, cudaLaunchKernel(kernel, grid, threads, arguments, bytes, cvtm_cuda_stream(device)));
}

static pass_inputs make_inputs(const cvtm_lbfgsb_arrays *arrays, int pass) {
  pass_inputs inputs = {*arrays->state, {0.0}, pass, 0, 0};
  for (int p = 0; p < CVTM_LBFGSB_PAIR; ++p) inputs.q[p] = arrays->model->q[p];
  return inputs;
}

extern "C" {

static int64_t count_chunks(int64_t n) {
  const int64_t units = cvtm_lbfgsb_cpu_parts(n) + CHUNKS - 1, most = CVTM_DIVIDED_BLOCKS * CHUNKS;
  return units < most ? units : most;
}

static cvtm_status cuda_pass(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                             const cvtm_divided_pass *pass, double *records) {
  pass_inputs inputs = make_inputs(arrays, pass->pass);
  inputs.speculative = pass->speculative;
  inputs.commit = pass->commit;
  const cvtm_status status = launch(device, arrays, &inputs, pass->own_blocks);
  if (status != CVTM_OK || pass->own_blocks == 0) return status;
  record_kernel<<<static_cast<unsigned>(pass->own_blocks), COMBINE_THREADS, 0,
                  cvtm_cuda_stream(device)>>>(*arrays, inputs.state, *pass, records);
  return cvtm_cuda_launched(device, "record_kernel");
}

static cvtm_status cuda_combine(cvtm_device *device, const cvtm_divided_pass *pass,
                                const double *records, double *total) {
  const unsigned warps = COMBINE_THREADS / WARP;
  const unsigned blocks = (static_cast<unsigned>(pass->entries) + 2 + warps - 1) / warps;
  combine_kernel<<<blocks, COMBINE_THREADS, 0, cvtm_cuda_stream(device)>>>(*pass, records, total);
  CVTM_TRY(cvtm_cuda_launched(device, "combine_kernel"));
  return cvtm_device_synchronize(device);
}

static int64_t count_blocks(const cvtm_lbfgsb_arrays *arrays) {
  return (arrays->n + arrays->block - 1) / arrays->block;
}

static cvtm_status cuda_move(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays) {
  const pass_inputs inputs = make_inputs(arrays, PASS_MOVE);
  return launch(device, arrays, &inputs, count_blocks(arrays));
}

static cvtm_status cuda_commit(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays) {
  const pass_inputs inputs = make_inputs(arrays, PASS_COMMIT);
  return launch(device, arrays, &inputs, count_blocks(arrays));
}

static cvtm_status cuda_read_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                  const int32_t *rows, int count, double *w) {
  const int64_t numbers = static_cast<int64_t>(count) * (2 * arrays->state->history + 1);
  const size_t bytes = static_cast<size_t>(numbers) * sizeof(double);
  void *memory = nullptr;
  CVTM_TRY(cvtm_device_scratch(device, bytes, &memory));
  double *on_device = static_cast<double *>(memory);
  read_kernel<<<cvtm_cuda_blocks(numbers, COMBINE_THREADS), COMBINE_THREADS, 0,
                cvtm_cuda_stream(device)>>>(*arrays, *arrays->state, rows, count, on_device);
  CVTM_TRY(cvtm_cuda_launched(device, "read_kernel"));
  return cvtm_device_copy_out(device, w, on_device, bytes);
}

extern const cvtm_divided_table cvtm_divided_table_cuda = {
    count_chunks, cuda_pass, cuda_combine, cuda_move, cuda_commit, cuda_read_rows};

}  // extern "C"
