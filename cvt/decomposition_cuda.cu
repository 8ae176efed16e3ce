#include "cvt/decomposition.h"
#include "cvt/evaluate_cuda.h"

namespace {

enum { THREADS = 256, WARPS = THREADS / 32, ROUNDS = CVTM_SUBDOMAIN_PIECE / THREADS };

/* Marks the bins of the sites. If adjacent lanes have sites in one bin, only the first lane marks
 * the bin: many atomic operations on a word would wait for each other. */
__global__ void mark_kernel(cvtm_domain domain, int32_t coarse, const double *sites, int64_t own,
                            uint32_t *marked) {
  const int lane = threadIdx.x % 32;
  for (int64_t i = cvtm_first_thread(); i - lane < own; i += cvtm_thread_count()) {
    const int32_t bin = i < own ? cvtm_subdomain_bin(domain, coarse, sites + 2 * i) : -1;
    const int32_t before = __shfl_up_sync(0xFFFFFFFFu, bin, 1);
    if (bin < 0 || (lane > 0 && bin == before)) continue;
    if (!cvtm_subdomain_has(marked, bin)) cvtm_set_bits(marked + bin / 32, 1u << bin % 32);
  }
}

/* Finds the coarse bins of this thread's sites in the block's piece; -1: no site. */
__device__ void find_bins(cvtm_domain domain, int32_t coarse, const double *sites, int64_t own,
                          int32_t bin[ROUNDS]) {
  for (int k = 0; k < ROUNDS; ++k) {
    const int64_t i =
        static_cast<int64_t>(blockIdx.x) * CVTM_SUBDOMAIN_PIECE + k * THREADS + threadIdx.x;
    bin[k] = i < own ? cvtm_subdomain_bin(domain, coarse, sites + 2 * i) : -1;
  }
}

__global__ void __launch_bounds__(THREADS)
    count_kernel(cvtm_domain domain, int32_t coarse, const double *sites, int64_t own, int rank,
                 int size, const uint32_t *covered, int64_t words, int32_t *counts) {
  int32_t bin[ROUNDS];
  find_bins(domain, coarse, sites, own, bin);
  for (int q = 0; q < size; ++q) {
    int32_t count = 0;
    for (int k = 0; k < ROUNDS && q != rank; ++k)
      count += __syncthreads_count(bin[k] >= 0 && cvtm_subdomain_has(covered + q * words, bin[k]));
    if (threadIdx.x == 0) counts[static_cast<int64_t>(q) * gridDim.x + blockIdx.x] = count;
  }
}

/* Returns the number of earlier threads of the block that have `yes` set. *all = the number of all
 * threads of the block that have `yes` set. */
__device__ int32_t count_before(bool yes, int32_t *all) {
  __shared__ int32_t warps[WARPS];
  const unsigned votes = __ballot_sync(0xFFFFFFFFu, yes), lane = threadIdx.x % 32;
  __syncthreads(); /* an earlier call has read its counts */
  if (lane == 0) warps[threadIdx.x / 32] = __popc(votes);
  __syncthreads();
  int32_t before = __popc(votes & ((1u << lane) - 1));
  *all = 0;
  for (unsigned w = 0; w < WARPS; ++w) {
    if (w < threadIdx.x / 32) before += warps[w];
    *all += warps[w];
  }
  return before;
}

__global__ void __launch_bounds__(THREADS)
    write_kernel(cvtm_domain domain, int32_t coarse, const double *sites, int64_t own, int rank,
                 int size, const uint32_t *covered, int64_t words, const int64_t *offsets,
                 double *sent) {
  int32_t bin[ROUNDS];
  find_bins(domain, coarse, sites, own, bin);
  for (int q = 0; q < size; ++q) {
    int64_t at = offsets[static_cast<int64_t>(q) * gridDim.x + blockIdx.x];
    if (at == offsets[static_cast<int64_t>(q) * gridDim.x + blockIdx.x + 1]) continue;
    for (int k = 0; k < ROUNDS && q != rank; ++k) {
      const bool yes = bin[k] >= 0 && cvtm_subdomain_has(covered + q * words, bin[k]);
      int32_t all;
      const int64_t slot = at + count_before(yes, &all);
      const int64_t i =
          static_cast<int64_t>(blockIdx.x) * CVTM_SUBDOMAIN_PIECE + k * THREADS + threadIdx.x;
      if (yes) {
        sent[2 * slot] = sites[2 * i];
        sent[2 * slot + 1] = sites[2 * i + 1];
      }
      at += all;
    }
  }
}

/* Each thread block finds the energy and the largest distance of at most `piece` sites, and sets
 * their gradient if it is wanted. */
__global__ void __launch_bounds__(THREADS) piece_kernel(cvtm_subdomain_sums s, int64_t piece) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * piece;
  const int64_t end = first + piece < s.own ? first + piece : s.own;
  double energy = 0, distance = 0;
  for (int64_t i = first + threadIdx.x; i < end; i += THREADS) {
    const cvtm_cell_moments moments = s.moments[i];
    energy += moments.second;
    distance =
        cvtm_cvt_larger(distance, cvtm_cvt_finish_site(&moments, i, s.fixed - s.first, s.gradient));
  }
  cvtm_cvt_join_block<THREADS>(&energy, &distance);
  if (threadIdx.x != 0) return;
  s.partial[2 * blockIdx.x] = energy;
  s.partial[2 * blockIdx.x + 1] = distance;
}

cvtm_status cover_cuda(const cvtm_subdomain *p, const double *sites, uint32_t *covered) {
  const size_t bytes = static_cast<size_t>(p->words) * sizeof *covered;
  const int32_t coarse = cvtm_subdomain_coarse(p);
  cvtm_status status = cvtm_device_fill(p->device, p->marked, 0, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy(p->device, covered, p->kept, bytes);
  if (status != CVTM_OK) return status;
  if (p->own > 0)
    status = CVTM_LAUNCH(p->device, mark_kernel, cvtm_cuda_blocks(p->own, THREADS), THREADS,
                         p->domain, coarse, sites, p->own, p->marked);
  if (status != CVTM_OK) return status;
  return launch_rows<cvtm_subdomain_cover, THREADS>(p->device, "cover", 0, INT64_C(1) << 2 * coarse,
                                                    p->domain, coarse, p->marked, covered);
}

cvtm_status count_cuda(const cvtm_subdomain *p, const double *sites) {
  if (p->pieces == 0) return CVTM_OK;
  return CVTM_LAUNCH(p->device, count_kernel, static_cast<unsigned>(p->pieces), THREADS, p->domain,
                     cvtm_subdomain_coarse(p), sites, p->own, p->rank, p->size, p->covered,
                     p->words, p->counts);
}

cvtm_status write_cuda(const cvtm_subdomain *p, const double *sites) {
  if (p->pieces == 0) return CVTM_OK;
  return CVTM_LAUNCH(p->device, write_kernel, static_cast<unsigned>(p->pieces), THREADS, p->domain,
                     cvtm_subdomain_coarse(p), sites, p->own, p->rank, p->size, p->covered,
                     p->words, p->offsets, p->sent);
}

CVTM_SUBDOMAIN_PHASES(CVTM_PHASE_CUDA)

cvtm_status finish_cuda(cvtm_device *device, const cvtm_subdomain_sums *s) {
  const int64_t most = CVTM_SUBDOMAIN_PIECE, piece = s->block < most ? s->block : most;
  const int64_t pieces = (s->own + piece - 1) / piece, blocks = (s->own + s->block - 1) / s->block;
  if (pieces == 0) return CVTM_OK;
  CVTM_TRY(CVTM_LAUNCH(device, piece_kernel, static_cast<unsigned>(pieces), THREADS, *s, piece));
  return join_cuda(device, s->partial, pieces, s->block / piece, blocks, s->sums);
}

}  // namespace

extern "C" const cvtm_subdomain_table cvtm_subdomain_cuda = {
    cover_cuda, count_cuda, write_cuda, finish_cuda, CVTM_SUBDOMAIN_PHASES(CVTM_PHASE_CUDA_NAME)};
