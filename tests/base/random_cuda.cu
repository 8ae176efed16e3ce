/* The generator as a kernel sees it, for test_random.c. */
#include "base/cuda_utils.h"
#include "base/random.h"

static __global__ void draw(uint64_t seed, uint64_t stream, int64_t count, double *numbers) {
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count())
    numbers[i] = cvtm_random_uniform(seed, stream, static_cast<uint64_t>(i));
}

extern "C" cvtm_status test_draw_cuda(cvtm_device *device, uint64_t seed, uint64_t stream,
                                      int64_t count, double *numbers) {
  draw<<<cvtm_cuda_blocks(count, 128), 128, 0, cvtm_cuda_stream(device)>>>(seed, stream, count,
                                                                           numbers);
  return cvtm_cuda_launched(device, "draw");
}
