#include "base/cuda_utils.h"
#include "base/primitives_kernels.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace {

/* Sorts by CUB. Called twice: without storage, to get the size of the storage, and with storage. */
cudaError_t sort(void *storage, size_t &bytes, cub::DoubleBuffer<uint64_t> &keys,
                 cub::DoubleBuffer<int32_t> &values, int64_t count, int bits, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, values, count, 0, bits, stream);
}

cvtm_status cuda_sort_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  cub::DoubleBuffer<uint64_t> keys;
  cub::DoubleBuffer<int32_t> values;
  *bytes = 0;
  if (count == 0) return CVTM_OK;
  CVTM_CUDA_TRY(device, sort(nullptr, *bytes, keys, values, count, 64, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

cvtm_status cuda_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits,
                            void *workspace, size_t bytes) {
  cub::DoubleBuffer<uint64_t> key_buffers(keys, keys_alt);
  cub::DoubleBuffer<int32_t> value_buffers(values, values_alt);
  CVTM_CUDA_TRY(device, sort(workspace, bytes, key_buffers, value_buffers, count, bits,
                             cvtm_cuda_stream(device)));
  /* The buffer with the result depends on the number of passes alone, so this decision is also
   * correct when a captured graph runs again. */
  const size_t size = static_cast<size_t>(count);
  if (key_buffers.Current() != keys) {
    CVTM_TRY(cvtm_device_copy(device, keys, keys_alt, size * sizeof *keys));
  }
  if (value_buffers.Current() != values)
    return cvtm_device_copy(device, values, values_alt, size * sizeof *values);
  return CVTM_OK;
}

struct widen {
  __host__ __device__ int64_t operator()(int32_t count) const { return count; }
};

cudaError_t scan(void *storage, size_t &bytes, const int32_t *counts, int64_t *sums, int64_t count,
                 cudaStream_t stream) {
  const auto wide = thrust::make_transform_iterator(counts, widen());
  return cub::DeviceScan::InclusiveSum(storage, bytes, wide, sums, count, stream);
}

cvtm_status cuda_scan_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  *bytes = 0;
  if (count == 0) return CVTM_OK;
  CVTM_CUDA_TRY(device, scan(nullptr, *bytes, nullptr, nullptr, count, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

/* The inclusive sums, shifted by one element, are the exclusive sums and the total. */
cvtm_status cuda_scan_64(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums,
                         void *workspace, size_t bytes) {
  CVTM_TRY(cvtm_device_fill(device, sums, 0, sizeof *sums));
  CVTM_CUDA_TRY(device, scan(workspace, bytes, counts, sums + 1, count, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

/* Reduces blocks of elements in the order of cvtm_reduce: a block of threads for each block of
 * elements, a thread for each lane. */
template <cvtm_reduction reduction, bool is_dot>
__global__ void __launch_bounds__(CVTM_REDUCE_LANES)
    reduce_blocks(const double *x, const double *y, int64_t count, int64_t blocks,
                  double *partial) {
  __shared__ double lanes[CVTM_REDUCE_LANES];
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t start = block * CVTM_REDUCE_BLOCK;
    const int64_t end = start + CVTM_REDUCE_BLOCK < count ? start + CVTM_REDUCE_BLOCK : count;
    double joined = cvtm_reduce_identity(reduction);
    for (int64_t i = start + lane; i < end; i += CVTM_REDUCE_LANES) {
      double value = is_dot ? x[i] * y[i] : x[i];
      if (reduction == CVTM_REDUCE_MAX_ABS) value = fabs(value);
      joined = cvtm_reduce_join(reduction, joined, value);
    }
    lanes[lane] = joined;
    __syncthreads();
    for (int half = CVTM_REDUCE_LANES / 2; half >= 32; half /= 2) {
      if (lane < half) lanes[lane] = cvtm_reduce_join(reduction, lanes[lane], lanes[lane + half]);
      __syncthreads();
    }
    if (lane < 32) {
      joined = lanes[lane];
      for (int half = 16; half > 0; half /= 2)
        joined = cvtm_reduce_join(reduction, joined, __shfl_down_sync(0xffffffffu, joined, half));
      if (lane == 0) partial[block] = joined;
    }
    __syncthreads(); /* before the lanes are written again */
  }
}

template <cvtm_reduction reduction, bool is_dot>
cvtm_status launch_reduce(cvtm_device *device, const double *x, const double *y, int64_t count,
                          double *partial) {
  const int64_t blocks = count == 0 ? 1 : (count + CVTM_REDUCE_BLOCK - 1) / CVTM_REDUCE_BLOCK;
  reduce_blocks<reduction, is_dot>
      <<<cvtm_cuda_blocks(blocks, 1), CVTM_REDUCE_LANES, 0, cvtm_cuda_stream(device)>>>(
          x, y, count, blocks, partial);
  return cvtm_cuda_launched(device, "reduce_blocks");
}

cvtm_status cuda_reduce_blocks(cvtm_device *device, cvtm_reduction reduction, const double *x,
                               const double *y, int64_t count, double *partial) {
  switch (reduction) {
    case CVTM_REDUCE_SUM:
      return y ? launch_reduce<CVTM_REDUCE_SUM, true>(device, x, y, count, partial)
               : launch_reduce<CVTM_REDUCE_SUM, false>(device, x, y, count, partial);
    case CVTM_REDUCE_MIN:
      return launch_reduce<CVTM_REDUCE_MIN, false>(device, x, y, count, partial);
    case CVTM_REDUCE_MAX:
      return launch_reduce<CVTM_REDUCE_MAX, false>(device, x, y, count, partial);
    default:
      return launch_reduce<CVTM_REDUCE_MAX_ABS, false>(device, x, y, count, partial);
  }
}

CVTM_VECTOR_PHASES(CVTM_PHASE_CUDA)

} /* namespace */

const cvtm_primitives_table cvtm_primitives_table_cuda = {
    cuda_sort_workspace, cuda_sort_pairs,    cuda_scan_workspace,
    cuda_scan_64,        cuda_reduce_blocks, CVTM_VECTOR_PHASES(CVTM_PHASE_CUDA_NAME)};
