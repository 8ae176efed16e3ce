/* For .cu files only: copies from global to shared memory that a thread starts and waits for later.
 * By assembly: the wait of cuda_pipeline.h lets the compiler move a thread's reads before it where
 * no block barrier follows. */
#ifndef CVTMESH_BASE_CUDA_COPIES_H
#define CVTMESH_BASE_CUDA_COPIES_H

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

/* Waits for all groups of the thread but the last `later`. */
template <int later>
static __device__ void cvtm_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

#endif
