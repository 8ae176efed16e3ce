#include "base/cuda_utils.h"
#include "tests/bench/panel.h"

enum {
  COLUMNS = CVTM_PANEL_COLUMNS,
  ENTRIES = COLUMNS * COLUMNS,
  HALF = COLUMNS / 2, /* columns of B that a thread has */
  OWNED = COLUMNS * HALF,
  WARP = 32,
  THREADS = 256,
  ROWS = THREADS / 2, /* of a block at a time */
  WARPS = ROWS / WARP,
  ONE_BLOCK = 2 * ROWS, /* rows that one block does in less time than a second launch takes */
  MAX_PARTS = 2 * CVTM_CUDA_PARTS,
  LANES = 4 /* threads that add up one entry of all parts */
};

static int64_t parts_of_panel(int64_t rows) {
  if (rows <= ONE_BLOCK) return 1;
  const int64_t parts = (rows - 1) / ROWS + 1;
  if (parts > MAX_PARTS) return MAX_PARTS;
  return parts;
}

/* The product over the rows of a part, 8 x 4 sums in a thread's registers. The two halves of a
 * block have the same rows and four columns of B each, so that A is read from the cache once more.
 */
static __device__ void multiply_part(int64_t part, int64_t parts, int64_t rows,
                                     const double *__restrict__ a, const double *__restrict__ b,
                                     double *partial) {
  __shared__ double sums[WARPS][ENTRIES];
  const int half = (int)threadIdx.x / ROWS, row = (int)threadIdx.x % ROWS;
  const int lane = row % WARP, warp = row / WARP;
  const int64_t stride = parts * ROWS;
  double own[OWNED];
#pragma unroll
  for (int e = 0; e < OWNED; ++e) own[e] = 0.0;
#pragma unroll 2
  for (int64_t r = part * ROWS + row; r < rows; r += stride) {
    double left[COLUMNS], right[HALF];
#pragma unroll
    for (int p = 0; p < COLUMNS; ++p) left[p] = a[p * rows + r];
#pragma unroll
    for (int q = 0; q < HALF; ++q) right[q] = b[(half * HALF + q) * rows + r];
#pragma unroll
    for (int e = 0; e < OWNED; ++e) own[e] += left[e / HALF] * right[e % HALF];
  }
#pragma unroll
  for (int e = 0; e < OWNED; ++e) {
    own[e] = cvtm_warp_sum(own[e]);
    if (lane == 0) sums[warp][e / HALF * COLUMNS + half * HALF + e % HALF] = own[e];
  }
  __syncthreads();
  if ((int)threadIdx.x < ENTRIES) {
    double sum = sums[0][threadIdx.x];
    for (int w = 1; w < WARPS; ++w) sum += sums[w][threadIdx.x];
    partial[part * ENTRIES + threadIdx.x] = sum;
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(THREADS, 2)
    multiply_parts(int64_t parts, int64_t rows, const double *__restrict__ a,
                   const double *__restrict__ b, double *partial) {
  for (int64_t part = blockIdx.x; part < parts; part += gridDim.x) {
    multiply_part(part, parts, rows, a, b, partial);
  }
}

/* Adds the parts, LANES threads for an entry. */
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

int64_t cvtm_panel_workspace(int64_t rows) { return ENTRIES * parts_of_panel(rows); }

cvtm_status cvtm_panel_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                               double *product, double *partial) {
  const int64_t parts = parts_of_panel(rows);
  const cudaStream_t stream = cvtm_cuda_stream(device);
  multiply_parts<<<cvtm_cuda_cap(parts), THREADS, 0, stream>>>(parts, rows, a, b,
                                                               parts == 1 ? product : partial);
  const cvtm_status status = cvtm_cuda_launched(device, "multiply_parts");
  if (status != CVTM_OK || parts == 1) return status;
  add_parts<<<1, LANES * ENTRIES, 0, stream>>>(partial, parts, product);
  return cvtm_cuda_launched(device, "add_parts");
}

}  // extern "C"
