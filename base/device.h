/* One handle for a place where arrays live and kernels run: `cpu` (OpenMP) or
 * `cuda[:N]`. It owns a stream, scratch memory and the last error message. A
 * handle is used by one thread at a time; every call makes its device current
 * for the calling thread. Work is enqueued in order on the device's stream and
 * is asynchronous unless a function says otherwise (on the CPU it is done when
 * the call returns). */
#ifndef CVTMESH_BASE_DEVICE_H
#define CVTMESH_BASE_DEVICE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

typedef struct cvtm_device cvtm_device;

typedef enum cvtm_device_kind { CVTM_DEVICE_CPU, CVTM_DEVICE_CUDA } cvtm_device_kind;

/* Opens `cpu`, `cuda`, `cuda:N` or `auto` (CUDA where it works, else the CPU).
 * `cuda` never falls back: CVTM_ERROR_DEVICE_UNAVAILABLE says why not.
 * threads: CPU threads to use, 0 for OpenMP's default. The caller destroys. */
cvtm_status cvtm_device_create(const char *name, int threads, cvtm_device **device,
                               cvtm_error *error);
void cvtm_device_destroy(cvtm_device *device);
/* Prepares a handle that works beside many others. Call it before the first allocation. Freed
 * memory then stays with the handle for its next allocations, and a thread that waits for the
 * device leaves the core to other threads. Does nothing on the CPU. */
cvtm_status cvtm_device_share(cvtm_device *device);

cvtm_device_kind cvtm_device_get_kind(const cvtm_device *device);
/* "cpu" or "cuda:N". */
const char *cvtm_device_name(const cvtm_device *device);
/* A description for people, such as "NVIDIA H200" or "2 threads". */
const char *cvtm_device_description(const cvtm_device *device);
/* CPU threads that kernels of this handle may use (at least 1). */
int cvtm_device_threads(const cvtm_device *device);
/* The error of the last failing call on this device; pass it to cvtm_fail. */
cvtm_error *cvtm_device_error(cvtm_device *device);
/* cudaStream_t of a CUDA device, NULL on the CPU. */
void *cvtm_device_stream(const cvtm_device *device);
/* Makes the device current for the calling thread (no-op on the CPU). */
cvtm_status cvtm_device_activate(cvtm_device *device);

/* Number of CUDA devices that this build and this machine can use; *reason
 * (may be NULL) says why it is 0. */
int cvtm_cuda_count(const char **reason);
/* The memory of CUDA device `index` in bytes; 0 if there is no such device. */
int64_t cvtm_cuda_memory(int index);

/* count elements of `size` bytes, uninitialised, aligned to 64 bytes (256 on CUDA).
 * count = 0 gives a valid pointer. Fails if count * size overflows. */
cvtm_status cvtm_device_allocate(cvtm_device *device, int64_t count, size_t size, void **memory);
/* The same for an array that may be larger than a CUDA device's memory. At most two thirds of the
 * free memory are used on the device; kernels read the other bytes from the host's memory. */
cvtm_status cvtm_device_allocate_large(cvtm_device *device, int64_t count, size_t size,
                                       void **memory);
void cvtm_device_free(cvtm_device *device, void *memory);
/* The last two arguments of an allocation, for a pointer of any type:
 * cvtm_device_allocate(device, count, CVTM_TYPED(pointer)). */
#define CVTM_TYPED(pointer) sizeof *(pointer), (void **)&(pointer)

/* One of the arrays that are allocated and freed together: a pointer, NULL before, and its extent.
 */
typedef struct cvtm_array {
  void **memory;
  int64_t count;
  size_t size;
} cvtm_array;
/* The initialiser of a cvtm_array, for a pointer of any type. */
#define CVTM_ARRAY(pointer, count) \
  { (void **)&(pointer), (count), sizeof *(pointer) }

/* A list of such arrays; memory is NULL in the entry after the last one. */
enum { CVTM_ARRAYS_MAX = 32 };
typedef struct cvtm_arrays {
  cvtm_array array[CVTM_ARRAYS_MAX];
} cvtm_arrays;

/* Stops at the first that fails; cvtm_device_free_arrays frees those that came before it. */
cvtm_status cvtm_device_allocate_arrays(cvtm_device *device, cvtm_arrays arrays);
/* The pointers are NULL afterwards. */
void cvtm_device_free_arrays(cvtm_device *device, cvtm_arrays arrays);

/* Host to device, device to host (both wait until done), device to device (enqueued). */
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

/* Memory that kernels write and the host reads while they run: `bytes` zeroed bytes at *host,
 * which kernels see at *mapped (the same on the CPU). Freed by cvtm_device_free_mapped(*host). */
cvtm_status cvtm_device_allocate_mapped(cvtm_device *device, size_t bytes, void **host,
                                        void **mapped);
void cvtm_device_free_mapped(cvtm_device *device, void *host);
/* Copies to device memory at once, beside what runs on the stream, and waits for the copy. */
cvtm_status cvtm_device_post(cvtm_device *device, void *to, const void *from_host, size_t bytes);

/* A growing scratch buffer for one call: contents are lost, and the pointer is
 * void, at the next request on this device. Never used across public calls.
 * Growing allocates, so a phase that must not allocate asks once beforehand. A loop's
 * body must not use it: a later request may move what the captured graph points to. */
cvtm_status cvtm_device_scratch(cvtm_device *device, size_t bytes, void **memory);

/* A loop whose condition lives on the device: body enqueues the work of one
 * round, and the rounds repeat while *flag != 0 (tested before each round; flag
 * points to device memory and is written by the body's kernels). On the CPU it is a while
 * loop; on CUDA the body is captured once into a graph with a conditional node,
 * so that the host takes no part in it. The body may only enqueue kernels,
 * fills and device-to-device copies. run enqueues the whole loop. */
typedef struct cvtm_loop cvtm_loop;
typedef cvtm_status (*cvtm_loop_body)(void *context);
/* Tests whether a loop can be made of a body that may break the rules. On CUDA the body is captured
 * on trial (and called once more by cvtm_loop_create). CVTM_ERROR_UNSUPPORTED: the body cannot be
 * captured, so the host must drive its loop. Any other status is that of a failure. On the CPU the
 * answer is always CVTM_OK, and the body is not called. */
cvtm_status cvtm_loop_try(cvtm_device *device, cvtm_loop_body body, void *context);
cvtm_status cvtm_loop_create(cvtm_device *device, cvtm_loop_body body, void *context,
                             const int *flag, cvtm_loop **loop);
cvtm_status cvtm_loop_run(cvtm_loop *loop);
void cvtm_loop_destroy(cvtm_loop *loop);
/* For a body whose last kernel knows whether another round follows. While the body is captured on
 * CUDA, this returns 1 and a handle, which the kernel passes to cudaGraphSetConditional. That saves
 * a kernel in every round, and the flag is tested before the first round only. Otherwise it returns
 * 0, and the flag alone decides. */
int cvtm_loop_claim(cvtm_device *device, uint64_t *handle);

CVTM_API_END
#endif
