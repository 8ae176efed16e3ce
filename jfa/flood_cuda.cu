#include "base/cuda_check.h"
#include "jfa/flood.h"

enum {
  BLOCK = 256,
  WARP = 32,
  WARPS = BLOCK / WARP,
  NAME_BLOCKS = 4096, /* they take further pixels in turn */
  PASS_BLOCKS = 5,    /* of a pass on a multiprocessor */
  CHAIN = 16          /* pixels of a column, `step` apart, that a thread of a pass does in turn */
};

static __device__ int64_t first_index(void) {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

static __device__ int64_t index_stride(void) {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

static __device__ int64_t pixels_of(const cvtm_flood &flood) {
  return static_cast<int64_t>(flood.domain.width) * flood.domain.height;
}

static __global__ void __launch_bounds__(BLOCK) seed_kernel(cvtm_flood flood, uint32_t *words) {
  const int packed = cvtm_flood_scale_of(&flood).packed;
  for (int64_t place = first_index(); place < flood.tree.count; place += index_stride())
    cvtm_seed_place(&flood, packed, place, words);
}

static __global__ void __launch_bounds__(BLOCK)
    recall_kernel(cvtm_flood flood, const double *sites, const int32_t *labels, uint32_t *words) {
  const int packed = cvtm_flood_scale_of(&flood).packed;
  for (int64_t p = first_index(); p < pixels_of(flood); p += index_stride())
    words[p] = cvtm_recall_word(&flood, packed, sites, labels[p]);
}

static __global__ void __launch_bounds__(BLOCK) limit_kernel(cvtm_flood flood) {
  const int32_t levels = cvtm_circle_levels(&flood);
  int32_t step = 1;
  for (int64_t k = first_index(); k < INT64_C(1) << 2 * levels; k += index_stride()) {
    const int32_t column = static_cast<int32_t>(k & ((1 << levels) - 1));
    const int32_t row = static_cast<int32_t>(k >> levels);
    step = max(step, cvtm_covering_step(2 * cvtm_empty_radius(&flood, column, row)));
  }
  step = __reduce_max_sync(0xFFFFFFFFu, step);
  if (threadIdx.x % WARP == 0) atomicMax(flood.first_step, step);
}

/* --- a pass ------------------------------------------------------------------------ *
 * A thread goes down a column in steps, and holds the three rows that a pixel hears of: three
 * words are read a pixel, not nine, and the squares along x are taken once for three pixels.
 * The least key tells where the best word is; it is read again from there. Offsets fit 32 bits:
 * there are at most 2^30 pixels. */

/* The words `step` to the left and right of a pixel and its own, in the order of tags: squares
 * of distances along x, and y. */
typedef struct heard_row {
  uint32_t offset; /* of the row */
  float x2[3], y[3];
} heard_row;

/* What passes are compiled for: words that are positions; a torus; whether there are columns to
 * the left and to the right. */
template <bool PACKED, bool PERIODIC, bool LEFT, bool RIGHT>
struct chain {
  const cvtm_flood &flood;
  const cvtm_flood_scale &scale;
  const uint32_t *from;
  uint32_t column[3]; /* here, to the left, to the right */
  float x;

  static __device__ constexpr bool is_heard(int c) {
    return c == 0 || (c == 1 && LEFT) || (c == 2 && RIGHT);
  }

  __device__ heard_row hear(uint32_t offset) const {
    heard_row row;
    row.offset = offset;
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (!is_heard(c)) continue;
      const uint32_t word = from[offset + column[c]];
      float seed_x;
      cvtm_seed_position(&flood, PACKED, word, &seed_x, &row.y[c]);
      row.x2[c] = cvtm_flood_square(word, cvtm_flood_gap(x, seed_x, PERIODIC, scale.period_x));
    }
    return row;
  }

  /* The least key with those of row r of three. */
  template <int R>
  __device__ uint32_t least_key(const heard_row &row, float y, uint32_t least) const {
#pragma unroll
    for (int c = 0; c < 3; ++c)
      if (is_heard(c))
        least = min(least, cvtm_flood_key(PACKED, row.x2[c],
                                          cvtm_flood_gap(y, row.y[c], PERIODIC, scale.period_y),
                                          4 * R + c));
    return least;
  }

  /* Where the row is that is `step` below row j, or above for a negative step; j's own where
   * there is none. */
  __device__ uint32_t row_offset(int j, int step) const {
    const uint32_t width = static_cast<uint32_t>(flood.domain.width);
    return static_cast<uint32_t>(cvtm_step_along(j, step, flood.domain.height, PERIODIC)) * width;
  }

  /* The pixels (i, j), (i, j + step) and so on. */
  __device__ void flood_down(int step, int i, int j, uint32_t *to) {
    const int height = flood.domain.height, width = flood.domain.width;
    column[0] = static_cast<uint32_t>(i);
    column[1] = static_cast<uint32_t>(cvtm_step_along(i, -step, width, PERIODIC));
    column[2] = static_cast<uint32_t>(cvtm_step_along(i, step, width, PERIODIC));
    x = scale.origin + static_cast<float>(i) * scale.step;
    float y = scale.origin + static_cast<float>(j) * scale.step;
    const float y_step = static_cast<float>(step) * scale.step;
    const uint32_t stride = static_cast<uint32_t>(step) * static_cast<uint32_t>(width);
    heard_row above = hear(row_offset(j, -step));
    heard_row here = hear(row_offset(j, 0));
#pragma unroll
    for (int k = 0; k < CHAIN; ++k) {
      const int next = j + step;
      const heard_row below = hear(next < height ? here.offset + stride : row_offset(j, step));
      uint32_t least = least_key<0>(here, y, UINT32_MAX);
      if (k > 0 || above.offset != here.offset) least = least_key<1>(above, y, least);
      if (PERIODIC || next < height) least = least_key<2>(below, y, least);
      const uint32_t c = least & 3, r = least & 12;
      const uint32_t row = r == 0 ? here.offset : r == 4 ? above.offset : below.offset;
      to[here.offset + column[0]] = from[row + (c == 0   ? column[0]
                                                : c == 1 ? column[1]
                                                         : column[2])];
      if (next >= height) return;
      j = next;
      y += y_step;
      above = here;
      here = below;
    }
  }
};

template <bool PACKED, bool PERIODIC, bool LEFT, bool RIGHT>
static __device__ void flood_down(const cvtm_flood &flood, const cvtm_flood_scale &scale, int step,
                                  int i, int j, const uint32_t *__restrict__ from,
                                  uint32_t *__restrict__ to) {
  chain<PACKED, PERIODIC, LEFT, RIGHT> down = {flood, scale, from, {0, 0, 0}, 0};
  down.flood_down(step, i, j, to);
}

static __global__ void __launch_bounds__(BLOCK, PASS_BLOCKS)
    pass_kernel(cvtm_flood flood, int step, const uint32_t *__restrict__ from,
                uint32_t *__restrict__ to) {
  const int left = static_cast<int>(blockIdx.x) * WARP;
  const int i = left + static_cast<int>(threadIdx.x) % WARP;
  const int number = static_cast<int>(blockIdx.y) * WARPS + static_cast<int>(threadIdx.x) / WARP;
  const int shift = 31 - __clz(step); /* a power of two */
  const int j = ((number >> shift) * CHAIN << shift) + (number & (step - 1));
  const int width = flood.domain.width;
  if (i >= width || j >= flood.domain.height || step > *flood.first_step) return;
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&flood);
  if (!scale.packed && flood.domain.periodic)
    flood_down<false, true, true, true>(flood, scale, step, i, j, from, to);
  else if (!scale.packed)
    flood_down<false, false, true, true>(flood, scale, step, i, j, from, to);
  else if (flood.domain.periodic)
    flood_down<true, true, true, true>(flood, scale, step, i, j, from, to);
  else if (left + WARP <= step)
    flood_down<true, false, false, true>(flood, scale, step, i, j, from, to);
  else if (left + step >= width)
    flood_down<true, false, true, false>(flood, scale, step, i, j, from, to);
  else
    flood_down<true, false, true, true>(flood, scale, step, i, j, from, to);
}

/* --- the last pass ------------------------------------------------------------------ */

/* Words become names. Of lanes side by side with the same word the first looks it up. */
static __global__ void __launch_bounds__(BLOCK) name_kernel(cvtm_flood flood, uint32_t *words) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int packed = cvtm_flood_scale_of(&flood).packed;
  const int64_t pixels = pixels_of(flood);
  for (int64_t p = first_index(); p - lane < pixels; p += index_stride()) { /* whole warps */
    const uint32_t word = p < pixels ? words[p] : CVTM_NO_SEED;
    const uint32_t left = __shfl_up_sync(0xFFFFFFFFu, word, 1);
    const bool is_head = lane == 0 || word != left;
    const unsigned heads = __ballot_sync(0xFFFFFFFFu, is_head) & (0xFFFFFFFFu >> (WARP - 1 - lane));
    int32_t name = -1;
    if (is_head) name = cvtm_name_of_word(&flood, packed, word);
    __syncwarp();
    name = __shfl_sync(0xFFFFFFFFu, name, WARP - 1 - __clz(static_cast<int>(heads)));
    if (p < pixels) words[p] = static_cast<uint32_t>(name);
  }
}

static __global__ void __launch_bounds__(BLOCK)
    label_kernel(cvtm_flood flood, const int32_t *__restrict__ names,
                 int32_t *__restrict__ labels) {
  const int i = static_cast<int>(blockIdx.x) * WARP + static_cast<int>(threadIdx.x) % WARP;
  const int j = static_cast<int>(blockIdx.y) * WARPS + static_cast<int>(threadIdx.x) / WARP;
  if (i >= flood.domain.width || j >= flood.domain.height) return;
  labels[static_cast<int64_t>(j) * flood.domain.width + i] = cvtm_last_label(&flood, i, j, names);
}

/* --- launchers ------------------------------------------------------------------- */

static unsigned pixel_blocks(const cvtm_flood *flood) {
  return cvtm_cuda_blocks(static_cast<int64_t>(flood->domain.width) * flood->domain.height, BLOCK);
}

static cvtm_status seed_all(cvtm_device *device, const cvtm_flood *flood, uint32_t *words) {
  seed_kernel<<<cvtm_cuda_blocks(flood->tree.count, BLOCK), BLOCK, 0, cvtm_cuda_stream(device)>>>(
      *flood, words);
  return cvtm_cuda_launched(device, "seed_kernel");
}

static cvtm_status start_cuda(cvtm_device *device, const cvtm_flood *flood, uint32_t *words) {
  const size_t pixels = static_cast<size_t>(flood->domain.width) * flood->domain.height;
  const cvtm_status status = cvtm_device_fill(device, words, 0xFF, pixels * sizeof *words);
  return status == CVTM_OK ? seed_all(device, flood, words) : status;
}

static cvtm_status recall_cuda(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                               const int32_t *labels, uint32_t *words) {
  recall_kernel<<<pixel_blocks(flood), BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, sites, labels,
                                                                             words);
  const cvtm_status status = cvtm_cuda_launched(device, "recall_kernel");
  return status == CVTM_OK ? seed_all(device, flood, words) : status;
}

static cvtm_status limit_cuda(cvtm_device *device, const cvtm_flood *flood) {
  const cvtm_status status = cvtm_device_fill(device, flood->first_step, 0, sizeof(int32_t));
  if (status != CVTM_OK) return status;
  limit_kernel<<<cvtm_cuda_blocks(INT64_C(1) << 2 * cvtm_circle_levels(flood), BLOCK), BLOCK, 0,
                 cvtm_cuda_stream(device)>>>(*flood);
  return cvtm_cuda_launched(device, "limit_kernel");
}

static cvtm_status pass_cuda(cvtm_device *device, const cvtm_flood *flood, int step,
                             const uint32_t *from, uint32_t *to) {
  const int width = flood->domain.width, height = flood->domain.height;
  const int chains = (height + CHAIN * step - 1) / (CHAIN * step) * step;
  const dim3 grid(static_cast<unsigned>((width + WARP - 1) / WARP),
                  static_cast<unsigned>((chains + WARPS - 1) / WARPS));
  pass_kernel<<<grid, BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, step, from, to);
  return cvtm_cuda_launched(device, "pass_kernel");
}

static cvtm_status finish_cuda(cvtm_device *device, const cvtm_flood *flood, uint32_t *words,
                               int32_t *labels) {
  const dim3 grid(static_cast<unsigned>((flood->domain.width + WARP - 1) / WARP),
                  static_cast<unsigned>((flood->domain.height + WARPS - 1) / WARPS));
  unsigned blocks = pixel_blocks(flood);
  if (blocks > NAME_BLOCKS) blocks = NAME_BLOCKS;
  name_kernel<<<blocks, BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, words);
  const cvtm_status status = cvtm_cuda_launched(device, "name_kernel");
  if (status != CVTM_OK) return status;
  label_kernel<<<grid, BLOCK, 0, cvtm_cuda_stream(device)>>>(
      *flood, reinterpret_cast<const int32_t *>(words), labels);
  return cvtm_cuda_launched(device, "label_kernel");
}

extern "C" const cvtm_flood_table cvtm_flood_table_cuda = {
    start_cuda, recall_cuda, limit_cuda, pass_cuda, finish_cuda,
};
