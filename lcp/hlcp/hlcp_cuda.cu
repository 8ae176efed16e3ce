#include "base/cuda_utils.h"
#include "base/device_kernels.h"
#include "lcp/hlcp/hlcp_kernels.h"

namespace {

constexpr int block_size = 128;
constexpr int resident_blocks = 16; /* per multiprocessor; limits the registers of a thread */
constexpr int check_size = 1024;
constexpr int part_height = 16; /* lines of the grid in a part of the pixels */
/* rows of a block of the splitting; the fastest of 1 to 32 on an H200 */
constexpr int automatic_block = 4;

__host__ __device__ int64_t cuda_parts(int64_t n) { return (n + block_size - 1) / block_size; }

struct row_sums {
  double half, a, b; /* half: see cvtm_hlcp_residual; a, b: the diagonal entries */
};

/* Loads of the matrices, which are read once, are marked evict-first; x stays in the cache. */
__device__ row_sums sum_row(const cvtm_hlcp_arrays &s, int64_t row) {
  row_sums sums = {0, 0, 0};
  const int64_t end_a = cvtm_sell_end(&s.a, row), end_b = cvtm_sell_end(&s.b, row);
#pragma unroll 5
  for (int64_t k = cvtm_sell_first(&s.a, row); k < end_a; k += CVTM_SLICE_ROWS) {
    const int32_t column = __ldcs(s.a.column + k);
    const double value = __ldcs(s.a.value + k);
    sums.half += value * cvtm_hlcp_plus(__ldg(s.x + column));
    sums.a += column == row ? value : 0;
  }
#pragma unroll 3
  for (int64_t k = cvtm_sell_first(&s.b, row); k < end_b; k += CVTM_SLICE_ROWS) {
    const int32_t column = __ldcs(s.b.column + k);
    const double value = __ldcs(s.b.value + k);
    sums.half += value * cvtm_hlcp_minus(__ldg(s.x + column));
    sums.b += column == row ? value : 0;
  }
  return sums;
}

__global__ void __launch_bounds__(block_size, resident_blocks) residual(cvtm_hlcp_arrays s) {
  const int64_t parts = cuda_parts(s.n);
  for (int64_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const int64_t row = part * block_size + threadIdx.x;
    double r = 0;
    if (row < s.n) {
      const row_sums sums = sum_row(s, row);
      r = cvtm_hlcp_residual(sums.half, s.gamma, s.q[row]);
      s.change[row] = cvtm_hlcp_change(r, sums.a, sums.b, s.alpha, s.share);
    }
    const double squares = cvtm_block_sum<block_size>(r * r);
    if (threadIdx.x == 0) s.partial[part] = squares;
  }
}

__global__ void __launch_bounds__(check_size)
    check(cvtm_hlcp_arrays s, int64_t parts, int claimed, uint64_t handle) {
  double sum = 0;
  for (int64_t part = threadIdx.x; part < parts; part += check_size) sum += s.partial[part];
  sum = cvtm_block_sum<check_size>(sum);
  if (threadIdx.x != 0) return;
  cvtm_hlcp_check(s.state, sum, s.gamma);
  if (claimed) cudaGraphSetConditional(handle, static_cast<unsigned>(s.state->go_on));
}

/* Solves systems in which no unknown depends on another. */
__global__ void __launch_bounds__(block_size) correct_rows(cvtm_hlcp_arrays s) {
  if (!s.state->apply) return;
  const cvtm_sell &lower = s.systems.lower;
  for (int64_t e = cvtm_first_thread(); e < s.n; e += cvtm_thread_count()) {
    const int64_t end = cvtm_sell_end(&lower, e);
    double sum = 0;
#pragma unroll 2
    for (int64_t k = cvtm_sell_first(&lower, e); k < end; k += CVTM_SLICE_ROWS) {
      sum += __ldcs(lower.value + k) * __ldg(s.change + __ldcs(lower.column + k));
    }
    s.x[e] += s.change[e] - sum;
  }
}

/* Solves a block of at most `group` rows, with one lane for each row. The lanes exchange solutions
 * by shuffles. Columns ascend, so the entries outside the block come first. */
template <int group>
__device__ void correct_block(const cvtm_hlcp_arrays &s, int64_t block) {
  const int lane = threadIdx.x % group;
  const cvtm_hlcp_systems &t = s.systems;
  int64_t first = 0, e = s.n;
  if (block < t.blocks) {
    first = cvtm_hlcp_block_start(s.n, t.blocks, block);
    e = first + lane;
    if (e >= cvtm_hlcp_block_start(s.n, t.blocks, block + 1)) e = s.n;
  }
  const int is_row = e < s.n;
  double sum = 0, value = 0, right = 0;
  int64_t k = 0, end = 0, source = -1; /* source: the lane of the next entry in the block */
  if (is_row) {
    right = s.change[e];
    k = cvtm_sell_first(&t.lower, e);
    end = cvtm_sell_end(&t.lower, e);
    for (; k < end; k += CVTM_SLICE_ROWS) {
      const int32_t column = __ldcs(t.lower.column + k);
      value = __ldcs(t.lower.value + k);
      if (column >= s.n) {
        source = column - s.n - first;
        break;
      }
      sum += value * __ldg(s.change + column);
    }
  }
#pragma unroll
  for (int from = 0; from < group - 1; ++from) {
    const double d = __shfl_sync(~0U, right - sum, from, group);
    if (source == from) {
      sum += value * d;
      source = -1;
      k += CVTM_SLICE_ROWS;
      if (k < end) {
        source = t.lower.column[k] - s.n - first;
        value = t.lower.value[k];
      }
    }
  }
  if (is_row) s.x[e] += right - sum;
}

/* Solves each block by a group of lanes. No lane of a warp is missing, as the shuffles require. */
template <int group>
__global__ void __launch_bounds__(block_size, resident_blocks) correct_small(cvtm_hlcp_arrays s) {
  if (!s.state->apply) return;
  const int64_t lane = threadIdx.x % 32, groups = 32 / group;
  for (int64_t warp = cvtm_first_thread() / 32; warp * groups < s.systems.blocks;
       warp += cvtm_thread_count() / 32)
    correct_block<group>(s, warp * groups + lane / group);
}

/* Solves each splitting by one thread, row after row, as in the paper. */
__global__ void correct_by_threads(cvtm_hlcp_arrays s) {
  const cvtm_hlcp_systems &t = s.systems;
  if (!s.state->apply) return;
  for (int64_t k = cvtm_first_thread(); k < t.blocks; k += cvtm_thread_count()) {
    const int64_t end = cvtm_hlcp_block_start(s.n, t.blocks, k + 1);
    for (int64_t e = cvtm_hlcp_block_start(s.n, t.blocks, k); e < end; ++e)
      cvtm_hlcp_solve_unknown(&s, e);
  }
}

__host__ __device__ int64_t cuda_pixel_parts(int64_t width, int64_t height) {
  return (width + block_size - 1) / block_size * ((height + part_height - 1) / part_height);
}

/* Updates a part of the pixels. A thread updates part_height pixels of a column. All loads precede
 * the first store, so that they overlap. */
__device__ void update_pixels(const cvtm_hlcp_pixels &s, int64_t part, int64_t parts) {
  const int64_t across = (s.links.width + block_size - 1) / block_size;
  const int64_t i = part % across * block_size + threadIdx.x;
  const int64_t first = part / across * part_height, height = s.links.height;
  const int64_t rows = i >= s.links.width             ? 0
                       : height - first < part_height ? height - first
                                                      : part_height;
  double sums[2] = {0, 0};
  unsigned changed = 0;
#pragma unroll 4
  for (int r = 0; r < rows; ++r)
    changed |= static_cast<unsigned>(cvtm_hlcp_add_pixel(&s, i, first + r, sums)) << r;
  for (int r = 0; changed >> r != 0; ++r) {
    if (changed >> r & 1) cvtm_hlcp_set_diagonal(&s, (first + r) * s.links.width + i);
  }
  for (int k = 0; k < 2; ++k) {
    const double sum = cvtm_block_sum<block_size>(sums[k]);
    if (threadIdx.x == 0) s.squares[k * parts + part] = sum;
  }
}

__global__ void __launch_bounds__(block_size) pixels(cvtm_hlcp_pixels s) {
  const int64_t parts = cuda_pixel_parts(s.links.width, s.links.height);
  for (int64_t part = blockIdx.x; part < parts; part += gridDim.x) update_pixels(s, part, parts);
}

cvtm_status cuda_residual(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  const unsigned blocks = cvtm_cuda_cap(cuda_parts(s->n));
  residual<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*s);
  return cvtm_cuda_launched(device, "residual");
}

cvtm_status cuda_check(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(device, &handle);
  check<<<1, check_size, 0, cvtm_cuda_stream(device)>>>(*s, cuda_parts(s->n), claimed, handle);
  return cvtm_cuda_launched(device, "check");
}

template <int group>
cvtm_status launch_small(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  const int64_t threads = s->systems.blocks * group;
  const unsigned blocks = cvtm_cuda_blocks(threads, block_size);
  correct_small<group><<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*s);
  return cvtm_cuda_launched(device, "correct_small");
}

cvtm_status launch_threads(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  const int given = static_cast<int>(s->systems.block_threads), threads = given > 0 ? given : 32;
  const unsigned blocks = cvtm_cuda_blocks(s->systems.blocks, threads);
  correct_by_threads<<<blocks, threads, 0, cvtm_cuda_stream(device)>>>(*s);
  return cvtm_cuda_launched(device, "correct_by_threads");
}

cvtm_status cuda_correct(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  const cvtm_hlcp_systems *t = &s->systems;
  if (t->block_threads > 0 || (t->chained && t->largest > CVTM_HLCP_SMALL_BLOCK))
    return launch_threads(device, s);
  if (!t->chained) {
    const unsigned blocks = cvtm_cuda_cap(cuda_parts(s->n));
    correct_rows<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(*s);
    return cvtm_cuda_launched(device, "correct_rows");
  }
  if (t->largest <= 2) return launch_small<2>(device, s);
  if (t->largest <= 4) return launch_small<4>(device, s);
  if (t->largest <= 8) return launch_small<8>(device, s);
  if (t->largest <= 16) return launch_small<16>(device, s);
  return launch_small<CVTM_HLCP_SMALL_BLOCK>(device, s);
}

CVTM_HLCP_ROW_PHASES(CVTM_PHASE_CUDA)

cvtm_status cuda_pixels(cvtm_device *device, const cvtm_hlcp_pixels *s) {
  const int64_t blocks = cuda_pixel_parts(s->links.width, s->links.height);
  pixels<<<cvtm_cuda_cap(blocks), block_size, 0, cvtm_cuda_stream(device)>>>(*s);
  return cvtm_cuda_launched(device, "pixels");
}

}  // namespace

const cvtm_hlcp_table cvtm_hlcp_table_cuda = {
    automatic_block,  0,           cuda_parts,
    cuda_residual,    cuda_check,  cuda_correct,
    cuda_pixel_parts, cuda_pixels, CVTM_HLCP_ROW_PHASES(CVTM_PHASE_CUDA_NAME)};
