#include "base/cuda_utils.h"
#include "cvt/division.h"

namespace {

enum { THREADS = 256 };

__global__ void collect_kernel(const double *from, const int32_t *order, int64_t count, int width,
                               double *to) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    for (int w = 0; w < width; ++w) to[width * k + w] = from[width * int64_t{order[k]} + w];
}

__global__ void spread_kernel(const double *from, const int32_t *order, int64_t count, int width,
                              double *to) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    for (int w = 0; w < width; ++w) to[width * int64_t{order[k]} + w] = from[width * k + w];
}

__global__ void flag_fixed_kernel(const int32_t *index, int64_t count, int64_t fixed,
                                  int32_t *flags) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    flags[k] = index[k] < fixed;
}

__global__ void put_fixed_first_kernel(const int32_t *index, const int64_t *before, int64_t count,
                                       int64_t fixed, int32_t *order) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    order[cvtm_division_place(before, fixed, k)] = index[k];
}

cvtm_status collect_items(cvtm_device *device, const double *from, const int32_t *order,
                          int64_t count, int width, double *to) {
  collect_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      from, order, count, width, to);
  return cvtm_cuda_launched(device, "collect_kernel");
}

cvtm_status spread_items(cvtm_device *device, const double *from, const int32_t *order,
                         int64_t count, int width, double *to) {
  spread_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      from, order, count, width, to);
  return cvtm_cuda_launched(device, "spread_kernel");
}

cvtm_status flag_fixed(cvtm_device *device, const int32_t *index, int64_t count, int64_t fixed,
                       int32_t *flags) {
  flag_fixed_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      index, count, fixed, flags);
  return cvtm_cuda_launched(device, "flag_fixed_kernel");
}

cvtm_status put_fixed_first(cvtm_device *device, const int32_t *index, const int64_t *before,
                            int64_t count, int64_t fixed, int32_t *order) {
  put_fixed_first_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0,
                           cvtm_cuda_stream(device)>>>(index, before, count, fixed, order);
  return cvtm_cuda_launched(device, "put_fixed_first_kernel");
}

}  // namespace

extern "C" const cvtm_division_table cvtm_division_cuda = {collect_items, spread_items, flag_fixed,
                                                           put_fixed_first};
