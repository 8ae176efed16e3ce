/* For .cu files only: what launchers and kernels of several rooms share. */
#pragma once

#include "base/device.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* --- launchers -------------------------------------------------------------------------------- */

static inline cudaStream_t cvtm_cuda_stream(const cvtm_device *device) {
  return static_cast<cudaStream_t>(cvtm_device_stream(device));
}

static inline cvtm_status cvtm_cuda_status_of(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return CVTM_OK;
    case cudaErrorMemoryAllocation:
      return CVTM_ERROR_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return CVTM_ERROR_DEVICE_UNAVAILABLE;
    default:
      return CVTM_ERROR_DEVICE;
  }
}

/* Turns a cudaError_t into a cvtm_status, with a message in the device's error. what: the name of
 * the call or kernel for the message. The runtime's last error is cleared, so that a later check
 * does not report it again. */
static inline cvtm_status cvtm_cuda_check(cvtm_device *device, cudaError_t code, const char *what) {
  if (code == cudaSuccess) return CVTM_OK;
  (void)cudaGetLastError();
  return cvtm_fail(cvtm_device_error(device), cvtm_cuda_status_of(code), "%s: %s: %s",
                   cvtm_device_name(device), what, cudaGetErrorString(code));
}

/* For tests: the n-th call of CUDA from now on fails. That call is not made; a launch is made, but
 * reported as failed. n = 0: no call fails. CVTMESH_FAIL_CUDA=n in the environment counts from the
 * start of the program. */
extern "C" void cvtm_cuda_fail_call(int64_t n);
/* Counts a call. Returns nonzero if the call has to fail. */
extern "C" int cvtm_cuda_call_fails(void);
/* The largest number of blocks in a launch: 2^20, or the environment's CVTMESH_TEST_MAX_BLOCKS. */
extern "C" int64_t cvtm_cuda_most_blocks(void);

/* Makes `call`, unless a test makes it fail, and returns its status. */
#define CVTM_CUDA_CALL(device, call) \
  cvtm_cuda_check((device), cvtm_cuda_call_fails() ? cudaErrorUnknown : (call), #call)

/* Fails if the last launch was refused. Errors of the kernel are reported by a later call that
 * waits. */
static inline cvtm_status cvtm_cuda_launched(cvtm_device *device, const char *kernel) {
  const cudaError_t code = cudaGetLastError();
  return cvtm_cuda_check(device, cvtm_cuda_call_fails() ? cudaErrorUnknown : code, kernel);
}

/* Launches kernel<<<blocks, threads>>>(arguments) on the device's stream. Fails if the launch is
 * refused. */
#define CVTM_LAUNCH(device, kernel, blocks, threads, ...)                     \
  (kernel<<<(blocks), (threads), 0, cvtm_cuda_stream(device)>>>(__VA_ARGS__), \
   cvtm_cuda_launched((device), #kernel))

/* Makes `call`; if it fails, the function with this macro returns its status. */
#define CVTM_CUDA_TRY(device, call)                                    \
  do {                                                                 \
    const cvtm_status cvtm_cuda_try_ = CVTM_CUDA_CALL((device), call); \
    if (cvtm_cuda_try_ != CVTM_OK) return cvtm_cuda_try_;              \
  } while (0)

/* The number of multiprocessors of an H100 or H200. On every device, the numbers of blocks of some
 * kernels are multiples of it, or limited by a multiple. */
enum { CVTM_CUDA_PARTS = 132 };

/* The smaller of `blocks` and cvtm_cuda_most_blocks. The kernel must work with any number of
 * blocks. */
static inline unsigned cvtm_cuda_cap(int64_t blocks) {
  const int64_t most = cvtm_cuda_most_blocks();
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* The number of blocks for `count` elements: at least 1, at most cvtm_cuda_most_blocks. */
static inline unsigned cvtm_cuda_blocks(int64_t count, int block_size) {
  const int64_t blocks = count / block_size + (count % block_size != 0);
  return cvtm_cuda_cap(blocks < 1 ? 1 : blocks);
}

/* As cvtm_cuda_blocks, for the y or z dimension of a launch, which allows fewer blocks than x. */
static inline unsigned cvtm_cuda_rows(int64_t count, int block_size) {
  const unsigned blocks = cvtm_cuda_blocks(count, block_size), most = 65535;
  return blocks < most ? blocks : most;
}

/* *blocks: how many blocks the device runs at once, the limit of a cooperative launch. */
template <typename Kernel>
static inline cvtm_status cvtm_cuda_resident_blocks(cvtm_device *device, Kernel kernel, int threads,
                                                    unsigned *blocks) {
  int each = 0, number = 0, processors = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device,
                cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number));
  CVTM_CUDA_TRY(device, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
  *blocks = static_cast<unsigned>(each) * static_cast<unsigned>(processors);
  return CVTM_OK;
}

/* An entry of cvtm_arrays. */
template <typename T>
static inline cvtm_array cvtm_array_of(T **memory, int64_t count) {
  return {reinterpret_cast<void **>(memory), count, sizeof(T)};
}

/* --- device functions ------------------------------------------------------------------------- */

/* In a one-dimensional grid a thread takes element cvtm_first_thread() and every
 * cvtm_thread_count()-th element after it. */
static __device__ inline int64_t cvtm_first_thread() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
static __device__ inline int64_t cvtm_thread_count() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

/* The sum over the 32 lanes of a warp, in lane 0. Lane k adds the value of lane k + 16, then the
 * values of lanes k + 8, k + 4, k + 2 and k + 1. All lanes must call. */
static __device__ inline double cvtm_warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xFFFFFFFFu, value, offset);
  }
  return value;
}

/* The sum over a block of THREADS threads in thread 0, and 0 in the other threads. The sums of the
 * warps are added from the first warp to the last. All threads must call. */
template <int THREADS>
static __device__ double cvtm_block_sum(double value) {
  __shared__ double sums[THREADS / 32];
  value = cvtm_warp_sum(value);
  __syncthreads(); /* other threads may still read the sums of an earlier call */
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return 0.0;
  for (int w = 1; w < THREADS / 32; ++w) value += sums[w];
  return value;
}

/* True in all threads of the last block that calls this function; that block sees what the other
 * blocks wrote before their calls. *ended must be 0 before the kernel and is 0 afterwards. Each
 * block of a one-dimensional grid calls once. */
static __device__ inline bool cvtm_last_block(int32_t *ended) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    unsigned *const counter = reinterpret_cast<unsigned *>(ended);
    last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1; /* wraps to 0 */
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

/* --- one thread per row ----------------------------------------------------------------------- */

namespace {

/* An argument of a row function. It converts to the value or, where the function takes a pointer,
 * to the address of the value. */
template <typename T>
struct row_argument {
  const T &value;
  __device__ operator const T &() const { return value; }
  __device__ operator const T *() const { return &value; }
};

/* Calls function(arguments, row) for rows first .. end - 1. resident: the least number of blocks
 * per multiprocessor, which limits the registers; 0: no limit. */
template <auto function, int block, int resident, typename... Arguments>
__global__ void __launch_bounds__(block, resident)
    for_rows(int64_t first, int64_t end, const __grid_constant__ Arguments... arguments) {
  const int64_t stride = gridDim.x * static_cast<int64_t>(block);
  for (int64_t row = first + blockIdx.x * static_cast<int64_t>(block) + threadIdx.x; row < end;
       row += stride) {
    function(row_argument<Arguments>{arguments}..., row);
  }
}

/* Launches for_rows. Structs among the arguments are copied. */
template <auto function, int block, int resident = 0, typename... Arguments>
cvtm_status launch_rows(cvtm_device *device, const char *name, int64_t first, int64_t end,
                        Arguments... arguments) {
  for_rows<function, block, resident>
      <<<cvtm_cuda_blocks(end - first, block), block, 0, cvtm_cuda_stream(device)>>>(first, end,
                                                                                     arguments...);
  return cvtm_cuda_launched(device, name);
}

}  // namespace

/* --- copies from global to shared memory ------------------------------------------------------ */

/* Copies that a thread starts now and waits for later. They are written in assembly, because with
 * cuda_pipeline.h the compiler may move a thread's reads before its wait where no block barrier
 * follows. */

/* Starts to copy 16, 8 or 4 aligned bytes. */
static __device__ inline void cvtm_copy_start(void *to, const void *from, int bytes) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else if (bytes == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
  }
}

/* Makes a group of the copies that the thread has started since its last group. */
static __device__ inline void cvtm_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all groups of the thread except the last `later` groups. */
template <int later>
static __device__ void cvtm_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}
