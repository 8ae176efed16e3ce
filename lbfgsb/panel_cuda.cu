#include "base/cuda_check.h"
#include "lbfgsb/panel_kernels.h"

enum {
  COLUMNS = CVTM_PANEL_COLUMNS,
  ENTRIES = CVTM_PANEL_ENTRIES,
  WARP = 32,
  THREADS = 128,
  ONE_BLOCK = 2048, /* rows that one block does in less time than a second launch takes */
  MOST_PARTS = 528, /* four blocks for each of 132 multiprocessors */
  LANES = 4         /* threads that add up one entry of all parts */
};

static int64_t cuda_parts(int64_t rows) {
  if (rows <= ONE_BLOCK) return 1;
  const int64_t parts = (rows - 1) / (2 * THREADS) + 1;
  if (parts > MOST_PARTS) return MOST_PARTS;
  return parts;
}

/* A thread holds all 64 sums of its rows in registers, so every element is read once. */
static __global__ void __launch_bounds__(THREADS)
    multiply_rows(int64_t rows, const double *__restrict__ a, const double *__restrict__ b,
                  double *partial) {
  __shared__ double sums[THREADS / WARP][ENTRIES];
  double own[ENTRIES];
#pragma unroll
  for (int e = 0; e < ENTRIES; ++e) own[e] = 0.0;
  const int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t r = (int64_t)blockIdx.x * THREADS + threadIdx.x; r < rows; r += stride) {
    double left[COLUMNS], right[COLUMNS];
#pragma unroll
    for (int p = 0; p < COLUMNS; ++p) {
      left[p] = a[p * rows + r];
      right[p] = b[p * rows + r];
    }
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e) own[e] += left[e / COLUMNS] * right[e % COLUMNS];
  }
  const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
#pragma unroll
  for (int e = 0; e < ENTRIES; ++e) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
      own[e] += __shfl_down_sync(0xffffffffu, own[e], (unsigned)offset);
    }
    if (lane == 0) sums[warp][e] = own[e];
  }
  __syncthreads();
  for (int e = (int)threadIdx.x; e < ENTRIES; e += THREADS) {
    double sum = sums[0][e];
    for (int w = 1; w < THREADS / WARP; ++w) sum += sums[w][e];
    partial[(int64_t)blockIdx.x * ENTRIES + e] = sum;
  }
}

static __global__ void add_parts(const double *partial, int64_t parts, double *product) {
  __shared__ double sums[LANES][ENTRIES];
  const int entry = (int)threadIdx.x % ENTRIES, lane = (int)threadIdx.x / ENTRIES;
  double sum = 0.0;
  for (int64_t part = lane; part < parts; part += LANES) sum += partial[part * ENTRIES + entry];
  sums[lane][entry] = sum;
  __syncthreads();
  if (lane != 0) return;
  for (int l = 1; l < LANES; ++l) sum += sums[l][entry];
  product[entry] = sum;
}

extern "C" {

static cvtm_status cuda_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                                double *product, double *partial) {
  const int64_t parts = cuda_parts(rows);
  const cudaStream_t stream = cvtm_cuda_stream(device);
  multiply_rows<<<static_cast<unsigned>(parts), THREADS, 0, stream>>>(
      rows, a, b, parts == 1 ? product : partial);
  const cvtm_status status = cvtm_cuda_launched(device, "multiply_rows");
  if (status != CVTM_OK || parts == 1) return status;
  add_parts<<<1, LANES * ENTRIES, 0, stream>>>(partial, parts, product);
  return cvtm_cuda_launched(device, "add_parts");
}

extern const cvtm_panel_table cvtm_panel_table_cuda = {cuda_parts, cuda_product};

}  // extern "C"
