/* Resident thread blocks per multiprocessor: few enough to leave registers for a batch. */
#define CVTM_PHASE_RESIDENT 5

#include "lcp/krylov.h"
#include "lcp/launch_cuda.h"
#include "lcp/sparse/sell_kernels.h"
#include "lcp/sparse/sparse_kernels.h"

namespace {

constexpr int block_size = 256, krylov_block = 128;
constexpr int sum_blocks_resident = 4; /* as CVTM_PHASE_RESIDENT */

CVTM_SPARSE_ROW_PHASES(CVTM_PHASE_CUDA)

/* --- sums ------------------------------------------------------------------------------ */

/* Adds the lanes pairwise; the sum is in lane 0. */
__device__ void join_lanes(cvtm_sums *lanes) {
  const int lane = static_cast<int>(threadIdx.x);
  __syncthreads();
  for (int half = CVTM_SUM_LANES / 2; half > 0; half /= 2) {
    if (lane < half) cvtm_sums_join(&lanes[lane], &lanes[lane + half]);
    __syncthreads();
  }
}

template <cvtm_sum_kind kind, bool relaxes>
__global__ void __launch_bounds__(CVTM_SUM_LANES, sum_blocks_resident)
    sum_blocks(const __grid_constant__ cvtm_level level, const __grid_constant__ cvtm_level next,
               bool has_next, double *vector, double omega, int64_t first, int64_t last,
               cvtm_sums *partial, const cvtm_sparse_state *state) {
  double *const at = cvtm_sum_vector(&level, state, kind, vector);
  const double scale = state->scale;
  __shared__ cvtm_sums lanes[CVTM_SUM_LANES];
  const cvtm_level *coarser = has_next ? &next : nullptr;
  const int64_t blocks = cvtm_sum_blocks(last - first);
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t start = first + block * CVTM_SUM_BLOCK;
    const int64_t end = start + CVTM_SUM_BLOCK < last ? start + CVTM_SUM_BLOCK : last;
    cvtm_sums sums = {{0, 0, 0, 0}};
    for (int64_t row = start + threadIdx.x; row < end; row += CVTM_SUM_LANES) {
      const cvtm_sums here =
          cvtm_sum_row(&level, coarser, at, kind, relaxes ? omega : 0, scale, row);
      cvtm_sums_join(&sums, &here);
    }
    lanes[threadIdx.x] = sums;
    join_lanes(lanes);
    if (threadIdx.x == 0) partial[block] = lanes[0];
    __syncthreads();
  }
}

__global__ void __launch_bounds__(CVTM_SUM_LANES)
    finish_sums(const cvtm_sums *partial, int64_t blocks, cvtm_sum_use use,
                cvtm_sparse_state *state) {
  __shared__ cvtm_sums lanes[CVTM_SUM_LANES];
  cvtm_sums sums = {{0, 0, 0, 0}};
  for (int64_t block = threadIdx.x; block < blocks; block += CVTM_SUM_LANES)
    cvtm_sums_join(&sums, &partial[block]);
  lanes[threadIdx.x] = sums;
  join_lanes(lanes);
  if (threadIdx.x > 0) return;
  state->sums = lanes[0];
  cvtm_use_sums(state, use);
}

using sum_kernel = void (*)(cvtm_level, cvtm_level, bool, double *, double, int64_t, int64_t,
                            cvtm_sums *, const cvtm_sparse_state *);

sum_kernel kernel_of(cvtm_sum_kind kind, bool relaxes) {
  switch (kind) {
    case CVTM_SUM_NORM:
      return relaxes ? sum_blocks<CVTM_SUM_NORM, true> : sum_blocks<CVTM_SUM_NORM, false>;
    case CVTM_SUM_RESIDUAL:
      return relaxes ? sum_blocks<CVTM_SUM_RESIDUAL, true> : sum_blocks<CVTM_SUM_RESIDUAL, false>;
    case CVTM_SUM_LINE_SEARCH:
      return sum_blocks<CVTM_SUM_LINE_SEARCH, false>;
    case CVTM_SUM_ENERGY:
      return sum_blocks<CVTM_SUM_ENERGY, false>;
    default:
      return sum_blocks<CVTM_SUM_ACTIVE_SET, false>;
  }
}

cvtm_status sum(cvtm_device *device, const cvtm_level *level, const cvtm_level *next,
                double *vector, cvtm_sum_kind kind, double last_omega, cvtm_sum_use use,
                cvtm_sums *partial, cvtm_sparse_state *state) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  int64_t blocks = 0;
  for (int part = 0; part < 2; ++part) {
    int64_t first;
    const int64_t last = cvtm_sum_part(level, last_omega, part, &first);
    if (first == last) continue;
    const int64_t here = cvtm_sum_blocks(last - first);
    kernel_of(kind, part == 0)<<<cvtm_cuda_blocks(here, 1), CVTM_SUM_LANES, 0, stream>>>(
        *level, next != nullptr ? *next : *level, next != nullptr, vector, last_omega, first, last,
        partial + blocks, state);
    CVTM_TRY(cvtm_cuda_launched(device, "sum_blocks"));
    blocks += here;
  }
  finish_sums<<<1, CVTM_SUM_LANES, 0, stream>>>(partial, blocks, use, state);
  return cvtm_cuda_launched(device, "finish_sums");
}

/* --- checks ------------------------------------------------------------------------------ */

__global__ void check_start(int64_t *verdict, int64_t count) {
  verdict[0] = count;
  verdict[1] = count;
}

__device__ void check_row(const double *b, const double *lower, const double *upper,
                          int64_t *verdict, int64_t i) {
  const int found = cvtm_check_entry(b, lower, upper, i);
  if (found != 0)
    atomicMin(reinterpret_cast<unsigned long long *>(verdict + found - 1),
              static_cast<unsigned long long>(i));
}

cvtm_status check(cvtm_device *device, const double *b, const double *lower, const double *upper,
                  int64_t count, int64_t *verdict) {
  check_start<<<1, 1, 0, cvtm_cuda_stream(device)>>>(verdict, count);
  CVTM_TRY(cvtm_cuda_launched(device, "check_start"));
  return launch_rows<check_row, block_size>(device, "check", 0, count, b, lower, upper, verdict);
}

/* --- sliced matrices and colourings --- */

/* Colours a row. All threads that write *left write the value 1. */
__device__ void colour_row(const cvtm_sell *graph, const int32_t *from, int32_t *to, int32_t *left,
                           int64_t row) {
  to[row] = cvtm_colour_row(graph, row, from);
  if (to[row] < 0) *left = 1;
}

cvtm_status colour_cuda(cvtm_device *device, const cvtm_sell *graph, const int32_t *from,
                        int32_t *to, int32_t *left) {
  return launch_rows<colour_row, block_size>(device, "colour_rows", 0, graph->rows, *graph, from,
                                             to, left);
}

CVTM_SELL_PHASES(CVTM_PHASE_CUDA)

/* --- BiCGStab --- */

__global__ void krylov_scalars(cvtm_krylov_state *state, cvtm_krylov_pass pass) {
  cvtm_krylov_decide(state, pass);
}

cvtm_status krylov_pass_cuda(cvtm_device *device, const cvtm_krylov_view *view,
                             cvtm_krylov_pass pass) {
  if (cvtm_krylov_is_scalar(pass)) {
    krylov_scalars<<<1, 1, 0, cvtm_cuda_stream(device)>>>(view->state, pass);
    return cvtm_cuda_launched(device, "krylov_scalars");
  }
  return launch_rows<cvtm_krylov_element, krylov_block>(device, "krylov_vectors", 0, view->n, *view,
                                                        pass);
}

}  // namespace

extern "C" const cvtm_sparse_table cvtm_sparse_table_cuda = {
    sum, check, CVTM_SPARSE_ROW_PHASES(CVTM_PHASE_CUDA_NAME)};

extern "C" const cvtm_sell_table cvtm_sell_table_cuda = {colour_cuda,
                                                         CVTM_SELL_PHASES(CVTM_PHASE_CUDA_NAME)};

extern "C" const cvtm_krylov_table cvtm_krylov_table_cuda = {krylov_pass_cuda};
