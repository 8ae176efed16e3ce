/* For lbfgsb_cuda.cu only: asynchronous copies from device to shared memory. From compute
 * capability 9.0 on they are bulk copies that complete on an mbarrier; before, cp.async. */
#ifndef CVTMESH_LBFGSB_COPY_CUDA_H
#define CVTMESH_LBFGSB_COPY_CUDA_H

#include "lbfgsb/memory_cuda.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BULK_COPIES 0
#else
#define BULK_COPIES 1
#endif

/* What a lane copies of every tile. With bulk copies lanes 0 to 2 copy one run each: the columns
 * before, between and after column `missing` of Y and of S (-1: none is missing, one run). Without
 * them lane l copies the 16-byte words l, l + 32, .. of the whole tile. */
struct lane_copy {
  unsigned first, bytes; /* of its run, in elements and in bytes */
  unsigned all;          /* bytes of the tile */
};

template <typename Real>
static __device__ lane_copy plan_copy(int m, int missing) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, whole = !BULK_COPIES || missing < 0;
  const int first = lane == 0 || whole ? 0 : lane == 1 ? missing + 1 : m + missing + 1;
  const int last = whole ? 2 * m : lane == 0 ? missing : lane == 1 ? m + missing : 2 * m;
  const int columns = lane < (whole ? 1 : 3) ? last - first : 0;
  lane_copy plan;
  plan.first = static_cast<unsigned>(first * TILE);
  plan.bytes = static_cast<unsigned>(columns * TILE) * sizeof(Real);
  plan.all = static_cast<unsigned>((whole ? 2 * m : 2 * m - 2) * TILE) * sizeof(Real);
  return plan;
}

static __device__ unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

#if BULK_COPIES

/* The mbarrier expects one arrival, that of expect_bytes. */
static __device__ void init_mbarrier(uint64_t *barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ void expect_bytes(uint64_t *barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

/* By one thread. W is read once in a round, other data sooner again, hence evict_first. */
static __device__ void copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

static __device__ void wait_for_load(uint64_t *barrier, unsigned parity) {
  unsigned done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  } while (!done);
}

/* Orders ordinary accesses before it with bulk copies after it. */
static __device__ void fence_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }

/* The same for shared memory only, so loads of device memory may stay in flight. */
static __device__ void fence_tiles() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Starts to load a tile, by all lanes of a warp. */
template <typename Real>
static __device__ void load_tile(const lane_copy &plan, Real *slot, const Real *tile,
                                 uint64_t *barrier) {
  if (threadIdx.x % WARP == 0) expect_bytes(barrier, plan.all);
  if (plan.bytes > 0) copy_bulk(slot + plan.first, tile + plan.first, plan.bytes, barrier);
}

/* Starts to load `model` and `sums`, which block 0 needs at its first decision. */
static __device__ void load_model(const cvtm_lbfgsb_arrays &all, int64_t problem) {
  shared_memory *shared = block_memory();
  const unsigned bytes = static_cast<unsigned>(all.entries) * sizeof(double);
  if (threadIdx.x != 0) return;
  expect_bytes(&shared->model_loaded, sizeof shared->model + bytes);
  copy_bulk(&shared->model, all.model + problem, sizeof shared->model, &shared->model_loaded);
  copy_bulk(shared->sums, all.sums + problem * all.entries, bytes, &shared->model_loaded);
}

#else

static __device__ void init_mbarrier(uint64_t *) {}
static __device__ void fence_copies() {}
static __device__ void fence_tiles() {}

static __device__ void wait_for_load(uint64_t *, unsigned) {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
}

template <typename Real>
static __device__ void load_tile(const lane_copy &plan, Real *slot, const Real *tile, uint64_t *) {
  const unsigned words = plan.all / sizeof(int4), lane = threadIdx.x % WARP;
  for (unsigned i = lane; i < words; i += WARP) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     shared_address(reinterpret_cast<int4 *>(slot) + i)),
                 "l"(reinterpret_cast<const int4 *>(tile) + i)
                 : "memory");
  }
}

static __device__ void load_model(const cvtm_lbfgsb_arrays &all, int64_t problem) {
  copy_words(&block_memory()->model, all.model + problem);
  copy_doubles(block_memory()->sums, all.sums + problem * all.entries,
               static_cast<int>(all.entries));
}

#endif

#endif
