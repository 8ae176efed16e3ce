/* A handle of a device that stores arrays and runs kernels: `cpu` (OpenMP) or `cuda[:N]`. The
 * handle owns a stream, scratch memory and the last error message. One thread at a time may use a
 * handle; every call makes its device current for the calling thread. On CUDA, calls enqueue their
 * work on the device's stream, in order, and do not wait for it unless stated otherwise; on the CPU
 * the work is done when the call returns. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_device cvtm_device;

typedef enum cvtm_device_kind { CVTM_DEVICE_CPU, CVTM_DEVICE_CUDA } cvtm_device_kind;

/* Opens `cpu`, `cuda`, `cuda:N` or `auto` (CUDA where it works, else the CPU).
 * `cuda` and `cuda:N` never fall back on the CPU, but fail with CVTM_ERROR_DEVICE_UNAVAILABLE.
 * threads: the number of CPU threads, 0 for OpenMP's default. The caller destroys the device. */
cvtm_status cvtm_device_create(const char *name, int threads, cvtm_device **device,
                               cvtm_error *error);
void cvtm_device_destroy(cvtm_device *device);
/* Prepares a handle for a GPU on which many handles work at once; to be called before the first
 * allocation. The handle then keeps freed memory for its next allocations, and a thread that waits
 * for the device leaves its core to other threads. Does nothing on the CPU. */
cvtm_status cvtm_device_share(cvtm_device *device);

cvtm_device_kind cvtm_device_get_kind(const cvtm_device *device);
/* "cpu" or "cuda:N"; valid as long as the device. */
const char *cvtm_device_name(const cvtm_device *device);
/* A description for people, such as "NVIDIA H200" or "2 threads"; valid as long as the device. */
const char *cvtm_device_description(const cvtm_device *device);
/* CPU threads that kernels of this handle may use (at least 1). */
int cvtm_device_threads(const cvtm_device *device);
/* The error of the last failing call on this device; pass it to cvtm_fail. */
cvtm_error *cvtm_device_error(cvtm_device *device);
/* cudaStream_t of a CUDA device, NULL on the CPU. */
void *cvtm_device_stream(const cvtm_device *device);
/* Makes the handle enqueue its work on `stream`, which belongs to the caller and must outlive the
 * handle. NULL: CUDA's default stream; it cannot be captured, so the host drives all loops. To be
 * called before anything is made with the handle. Does nothing on the CPU. */
void cvtm_device_set_stream(cvtm_device *device, void *stream);
/* Makes the device current for the calling thread (no-op on the CPU). */
cvtm_status cvtm_device_activate(cvtm_device *device);

/* The number of usable CUDA devices. If `reason` is not NULL, *reason is set to the reason why the
 * number is 0, or to "" if it is not 0. */
int cvtm_cuda_count(const char **reason);
/* The memory of CUDA device `index` in bytes; 0 if there is no such device. */
int64_t cvtm_cuda_memory(int index);

/* Allocates `count` elements of `size` bytes, uninitialised, aligned to 64 bytes (256 on CUDA).
 * count = 0 gives a valid pointer. CVTM_ERROR_MEMORY also if count * size overflows. */
cvtm_status cvtm_device_allocate(cvtm_device *device, int64_t count, size_t size, void **memory);
/* cvtm_device_allocate for an array that may be larger than a CUDA device's memory. If the array
 * needs more than two thirds of the device's free memory, it gets two thirds, and kernels read the
 * other bytes from the host (not after cvtm_device_share). */
cvtm_status cvtm_device_allocate_large(cvtm_device *device, int64_t count, size_t size,
                                       void **memory);
void cvtm_device_free(cvtm_device *device, void *memory);
/* The last two arguments of an allocation, for a pointer of any type:
 * cvtm_device_allocate(device, count, CVTM_TYPED(pointer)). */
#define CVTM_TYPED(pointer) sizeof *(pointer), (void **)&(pointer)

/* One of the arrays that are allocated and freed together. memory: the address of the pointer,
 * which is NULL before; count: elements; size: bytes of an element. */
typedef struct cvtm_array {
  void **memory;
  int64_t count;
  size_t size;
} cvtm_array;
/* The initialiser of a cvtm_array, for a pointer of any type. */
#define CVTM_ARRAY(pointer, count) \
  { (void **)&(pointer), (count), sizeof *(pointer) }

/* A list of arrays; memory is NULL in the entry after the last array. */
enum { CVTM_ARRAYS_MAX = 32 };
typedef struct cvtm_arrays {
  cvtm_array array[CVTM_ARRAYS_MAX];
} cvtm_arrays;

/* Allocates the arrays up to the first that fails; cvtm_device_free_arrays frees the others. */
cvtm_status cvtm_device_allocate_arrays(cvtm_device *device, cvtm_arrays arrays);
/* Frees the arrays and sets their pointers to NULL. */
void cvtm_device_free_arrays(cvtm_device *device, cvtm_arrays arrays);

/* copy_in (to the device) and copy_out (to the host) wait; copy (within the device) is enqueued. */
cvtm_status cvtm_device_copy_in(cvtm_device *device, void *to, const void *from_host, size_t bytes);
cvtm_status cvtm_device_copy_out(cvtm_device *device, void *to_host, const void *from,
                                 size_t bytes);
cvtm_status cvtm_device_copy(cvtm_device *device, void *to, const void *from, size_t bytes);
/* Sets every byte; enqueued. */
cvtm_status cvtm_device_fill(cvtm_device *device, void *memory, int byte, size_t bytes);
/* Waits for all enqueued work and reports its errors. */
cvtm_status cvtm_device_synchronize(cvtm_device *device);
/* *idle = 1 if all enqueued work is done. Does not wait; reports errors of that work. */
cvtm_status cvtm_device_query(cvtm_device *device, int *idle);

/* Allocates `bytes` zeroed bytes that kernels write and the host reads while the kernels run. Their
 * address is *host for the host, *mapped for kernels (on the CPU both are equal). Freed by
 * cvtm_device_free_mapped(*host). */
cvtm_status cvtm_device_allocate_mapped(cvtm_device *device, size_t bytes, void **host,
                                        void **mapped);
void cvtm_device_free_mapped(cvtm_device *device, void *host);
/* Copies to device memory while enqueued work goes on, and waits for the copy. */
cvtm_status cvtm_device_post(cvtm_device *device, void *to, const void *from_host, size_t bytes);

/* *memory: a scratch buffer of at least `bytes` bytes, valid until the next request on this device
 * or the end of the public call. A request may allocate, so a phase that must not allocate needs an
 * earlier request of the same size. A loop's body must not use the buffer: a later request may move
 * the memory to which the captured graph points. */
cvtm_status cvtm_device_scratch(cvtm_device *device, size_t bytes, void **memory);

/* A loop whose condition is in device memory. The body enqueues the work of one round. Rounds
 * repeat while *flag, which the body's kernels write, is not 0; it is tested before each round. On
 * the CPU this is a while loop. On CUDA the body is captured once into a graph with a conditional
 * node, so that the loop runs without the host. The body may only enqueue kernels, fills and
 * device-to-device copies. cvtm_loop_run enqueues all rounds. */
typedef struct cvtm_loop cvtm_loop;
typedef cvtm_status (*cvtm_loop_body)(void *context);
/* Tests whether a loop can be made of a body that may do what a capture forbids. On CUDA this
 * captures the body on trial; cvtm_loop_create calls the body once more. CVTM_ERROR_UNSUPPORTED:
 * the body cannot be captured, so the host must drive its loop; other errors are those of the body
 * or of CUDA. On the CPU the result is CVTM_OK, and the body is not called. */
cvtm_status cvtm_loop_try(cvtm_device *device, cvtm_loop_body body, void *context);
cvtm_status cvtm_loop_create(cvtm_device *device, cvtm_loop_body body, void *context,
                             const int *flag, cvtm_loop **loop);
cvtm_status cvtm_loop_run(cvtm_loop *loop);
void cvtm_loop_destroy(cvtm_loop *loop);
/* For a body whose last kernel decides whether another round follows. While the body is captured on
 * CUDA, returns 1 and a handle, which that kernel must pass to cudaGraphSetConditional; this saves
 * a kernel in every round, and *flag is only tested before the first round. Returns 0 otherwise;
 * then *flag is tested before each round. */
int cvtm_loop_claim(cvtm_device *device, uint64_t *handle);

CVTM_API_END
