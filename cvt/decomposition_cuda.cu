#include "base/cuda_utils.h"
#include "cvt/decomposition.h"

namespace {

enum { THREADS = 256, WARPS = THREADS / 32, ROUNDS = CVTM_SUBDOMAIN_PIECE / THREADS };

int32_t coarse_of(const cvtm_subdomain *p) {
  return cvtm_tree_coarse(cvtm_site_tree_levels(p->domain, p->count));
}

/* If adjacent lanes have sites in one bin, only one lane marks it: many atomic operations on a word
 * would wait for each other. */
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

__global__ void cover_kernel(cvtm_domain domain, int32_t coarse, const uint32_t *marked,
                             uint32_t *covered) {
  const int64_t bins = INT64_C(1) << 2 * coarse;
  for (int64_t k = cvtm_first_thread(); k < bins; k += cvtm_thread_count()) {
    const int32_t bin = static_cast<int32_t>(k);
    if (!cvtm_subdomain_has(marked, bin)) continue;
    for (int beside = 0; beside < 9; ++beside) {
      const int32_t other =
          cvtm_subdomain_beside(domain, coarse, bin, beside % 3 - 1, beside / 3 - 1);
      if (other >= 0) cvtm_set_bits(covered + other / 32, 1u << other % 32);
    }
  }
}

/* The coarse bins of this thread's sites in the block's piece; -1: no site. */
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

/* The number of earlier threads of the block with `yes` set; *all: the number in the block. */
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

/* Adds over the block; the result is in thread 0. */
__device__ void join_block(double *energy, double *distance) {
  __shared__ double distances[WARPS];
  *energy = cvtm_block_sum<THREADS>(*energy);
  for (int offset = 16; offset > 0; offset /= 2)
    *distance = cvtm_cvt_larger(*distance, __shfl_down_sync(0xFFFFFFFFu, *distance, offset));
  if (threadIdx.x % 32 == 0) distances[threadIdx.x / 32] = *distance;
  __syncthreads();
  for (int w = 1; threadIdx.x == 0 && w < WARPS; ++w)
    *distance = cvtm_cvt_larger(*distance, distances[w]);
}

/* Each block sums `piece` sites. */
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
  join_block(&energy, &distance);
  if (threadIdx.x != 0) return;
  s.partial[2 * blockIdx.x] = energy;
  s.partial[2 * blockIdx.x + 1] = distance;
}

/* Each thread combines `count` of the `pieces` pieces into each of its sums. */
__global__ void join_kernel(const double *partial, int64_t pieces, int64_t count, int64_t sums,
                            double *sum) {
  for (int64_t b = cvtm_first_thread(); b < sums; b += cvtm_thread_count()) {
    double energy = 0, distance = 0;
    for (int64_t k = b * count; k < (b + 1) * count && k < pieces; ++k) {
      energy += partial[2 * k];
      distance = cvtm_cvt_larger(distance, partial[2 * k + 1]);
    }
    sum[2 * b] = energy;
    sum[2 * b + 1] = distance;
  }
}

cvtm_status join(cvtm_device *device, const double *partial, int64_t pieces, int64_t count,
                 int64_t sums, double *sum) {
  join_kernel<<<cvtm_cuda_blocks(sums, 32), 32, 0, cvtm_cuda_stream(device)>>>(partial, pieces,
                                                                               count, sums, sum);
  return cvtm_cuda_launched(device, "join_kernel");
}

cvtm_status cover_cuda(const cvtm_subdomain *p, const double *sites, uint32_t *covered) {
  const cudaStream_t stream = cvtm_cuda_stream(p->device);
  const size_t bytes = static_cast<size_t>(p->words) * sizeof *covered;
  const int32_t coarse = coarse_of(p);
  cvtm_status status = cvtm_device_fill(p->device, p->marked, 0, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy(p->device, covered, p->kept, bytes);
  if (status != CVTM_OK) return status;
  if (p->own > 0)
    mark_kernel<<<cvtm_cuda_blocks(p->own, THREADS), THREADS, 0, stream>>>(p->domain, coarse, sites,
                                                                           p->own, p->marked);
  cover_kernel<<<cvtm_cuda_blocks(INT64_C(1) << 2 * coarse, THREADS), THREADS, 0, stream>>>(
      p->domain, coarse, p->marked, covered);
  return cvtm_cuda_launched(p->device, "cover_kernel");
}

cvtm_status count_cuda(const cvtm_subdomain *p, const double *sites) {
  if (p->pieces == 0) return CVTM_OK;
  count_kernel<<<static_cast<unsigned>(p->pieces), THREADS, 0, cvtm_cuda_stream(p->device)>>>(
      p->domain, coarse_of(p), sites, p->own, p->rank, p->size, p->covered, p->words, p->counts);
  return cvtm_cuda_launched(p->device, "count_kernel");
}

cvtm_status write_cuda(const cvtm_subdomain *p, const double *sites) {
  if (p->pieces == 0) return CVTM_OK;
  write_kernel<<<static_cast<unsigned>(p->pieces), THREADS, 0, cvtm_cuda_stream(p->device)>>>(
      p->domain, coarse_of(p), sites, p->own, p->rank, p->size, p->covered, p->words, p->offsets,
      p->sent);
  return cvtm_cuda_launched(p->device, "write_kernel");
}

cvtm_status finish_cuda(cvtm_device *device, const cvtm_subdomain_sums *s) {
  const int64_t most = CVTM_SUBDOMAIN_PIECE, piece = s->block < most ? s->block : most;
  const int64_t pieces = (s->own + piece - 1) / piece, blocks = (s->own + s->block - 1) / s->block;
  if (pieces == 0) return CVTM_OK;
  piece_kernel<<<static_cast<unsigned>(pieces), THREADS, 0, cvtm_cuda_stream(device)>>>(*s, piece);
  const cvtm_status status = cvtm_cuda_launched(device, "piece_kernel");
  if (status != CVTM_OK) return status;
  return join(device, s->partial, pieces, s->block / piece, blocks, s->sums);
}

cvtm_status total_cuda(cvtm_device *device, const double *sums, int64_t blocks, double *value) {
  return join(device, sums, blocks, blocks, 1, value);
}

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
    order[cvtm_decomposition_place(before, fixed, k)] = index[k];
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

extern "C" const cvtm_subdomain_table cvtm_subdomain_cuda = {
    cover_cuda,    count_cuda,   write_cuda, finish_cuda,    total_cuda,
    collect_items, spread_items, flag_fixed, put_fixed_first};
