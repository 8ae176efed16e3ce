/* Jump flooding. A thread floods a chain of pixels in one column, `step` apart, and keeps the three
 * rows of candidates in registers: it reads three codes per pixel, not nine. With one pixel per
 * thread flooding takes 1.5 times as long at 2048^2 and 8192^2 (H200). All other kernels take a
 * pixel or a site per thread. */
#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "base/plain.h"
#include "jfa/jfa_kernels.h"

enum { BLOCK = 256, WARP = 32, CHAIN = 8 /* pixels, at most */ };

static __device__ int64_t pixels_of(const cvtm_diagram &diagram) {
  return static_cast<int64_t>(diagram.domain.width) * diagram.domain.height;
}

static __global__ void __launch_bounds__(BLOCK)
    set_seeds_kernel(cvtm_diagram diagram, uint32_t *codes) {
  for (int64_t place = cvtm_first_thread(); place < diagram.tree.count;
       place += cvtm_thread_count())
    cvtm_set_seed(&diagram, place, codes);
}

static __global__ void __launch_bounds__(BLOCK)
    warm_start_kernel(cvtm_diagram diagram, const double *sites, const int32_t *labels,
                      uint32_t *codes) {
  for (int64_t p = cvtm_first_thread(); p < pixels_of(diagram); p += cvtm_thread_count())
    codes[p] = cvtm_warm_start_code(&diagram, sites, labels[p]);
}

/* Candidates of one row, in the order of tags: in the pixel's column, in the column `step` before
 * it, in the column `step` after it. */
struct candidate_row {
  uint32_t offset; /* of the row; there are at most 2^30 pixels */
  float x2[3], y[3];
};

template <bool PERIODIC>
static __device__ candidate_row read_candidates(const cvtm_diagram &diagram,
                                                const cvtm_flood_scale &scale,
                                                const uint32_t *__restrict__ from, int row,
                                                const int *column, float x) {
  candidate_row candidates;
  candidates.offset = static_cast<uint32_t>(row) * static_cast<uint32_t>(diagram.domain.width);
#pragma unroll
  for (int c = 0; c < 3; ++c) {
    const uint32_t code = from[candidates.offset + column[c]];
    float seed_x;
    cvtm_code_position(code, &seed_x, &candidates.y[c]);
    candidates.x2[c] =
        cvtm_flood_x2(code, cvtm_flood_difference(x, seed_x, PERIODIC, scale.period_x));
  }
  return candidates;
}

/* The least key of a row whose first tag is `tag`. */
template <bool PERIODIC>
static __device__ uint32_t least_key(const cvtm_flood_scale &scale, const candidate_row &row,
                                     float y, uint32_t tag) {
  uint32_t least = UINT32_MAX;
#pragma unroll
  for (uint32_t c = 0; c < 3; ++c) {
    const float dy = cvtm_flood_difference(y, row.y[c], PERIODIC, scale.period_y);
    least = min(least, cvtm_flood_key(cvtm_flood_distance2(row.x2[c], dy), tag + c));
  }
  return least;
}

/* Floods the pixels (i, j), (i, j + step) and so on, LENGTH of them or down to the last row. */
template <int LENGTH, bool PERIODIC>
static __device__ void flood_chain(const cvtm_diagram &diagram, const cvtm_flood_scale &scale,
                                   int step, int i, int j, const uint32_t *__restrict__ from,
                                   uint32_t *__restrict__ to) {
  const int width = diagram.domain.width, height = diagram.domain.height;
  const int column[3] = {i, cvtm_step_along(i, -step, width, PERIODIC),
                         cvtm_step_along(i, step, width, PERIODIC)};
  const float x = scale.origin + static_cast<float>(i) * scale.step;
  candidate_row above = read_candidates<PERIODIC>(
      diagram, scale, from, cvtm_step_along(j, -step, height, PERIODIC), column, x);
  candidate_row own = read_candidates<PERIODIC>(diagram, scale, from, j, column, x);
#pragma unroll
  for (int k = 0; k < LENGTH; ++k, j += step) {
    if (j >= height) break;
    const candidate_row below = read_candidates<PERIODIC>(
        diagram, scale, from, cvtm_step_along(j, step, height, PERIODIC), column, x);
    const float y = scale.origin + static_cast<float>(j) * scale.step;
    const uint32_t least =
        min(least_key<PERIODIC>(scale, own, y, 0),
            min(least_key<PERIODIC>(scale, above, y, 4), least_key<PERIODIC>(scale, below, y, 8)));
    const uint32_t r = least & 12, c = least & 3;
    to[own.offset + i] = from[(r == 0   ? own.offset
                               : r == 4 ? above.offset
                                        : below.offset) +
                              (c == 0   ? column[0]
                               : c == 1 ? column[1]
                                        : column[2])];
    above = own;
    own = below; /* the row of the next j, if that is in the domain */
  }
}

/* Chains that cover a column. */
static __host__ __device__ int chains_of(int height, int step, int length) {
  return (height + length * step - 1) / (length * step) * step;
}

template <int LENGTH>
static __global__ void __launch_bounds__(BLOCK)
    pass_kernel(cvtm_diagram diagram, int step, const uint32_t *__restrict__ from,
                uint32_t *__restrict__ to) {
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&diagram);
  const int width = diagram.domain.width, periodic = diagram.domain.periodic;
  const int64_t chains =
      static_cast<int64_t>(width) * chains_of(diagram.domain.height, step, LENGTH);
  for (int64_t p = cvtm_first_thread(); p < chains; p += cvtm_thread_count()) {
    const int i = static_cast<int>(p % width), chain = static_cast<int>(p / width);
    const int j = chain / step * LENGTH * step + chain % step;
    if (j >= diagram.domain.height) continue;
    if (periodic)
      flood_chain<LENGTH, true>(diagram, scale, step, i, j, from, to);
    else
      flood_chain<LENGTH, false>(diagram, scale, step, i, j, from, to);
  }
}

static __global__ void __launch_bounds__(BLOCK)
    find_places_kernel(cvtm_diagram diagram, uint32_t *codes) {
  for (int64_t p = cvtm_first_thread(); p < pixels_of(diagram); p += cvtm_thread_count())
    codes[p] = cvtm_place_of_code(&diagram, codes[p]);
}

static __global__ void __launch_bounds__(BLOCK)
    final_label_kernel(cvtm_diagram diagram, const uint32_t *__restrict__ places,
                       int32_t *__restrict__ labels) {
  const int width = diagram.domain.width;
  for (int64_t p = cvtm_first_thread(); p < pixels_of(diagram); p += cvtm_thread_count())
    labels[p] = cvtm_final_label(&diagram, static_cast<int>(p) % width, static_cast<int>(p) / width,
                                 places);
}

/* --- launchers ------------------------------------------------------------------- */

static unsigned pixel_blocks(const cvtm_diagram *diagram) {
  return cvtm_cuda_blocks(static_cast<int64_t>(diagram->domain.width) * diagram->domain.height,
                          BLOCK);
}

static cvtm_status set_all_seeds(cvtm_device *device, const cvtm_diagram *diagram,
                                 uint32_t *codes) {
  set_seeds_kernel<<<cvtm_cuda_blocks(diagram->tree.count, BLOCK), BLOCK, 0,
                     cvtm_cuda_stream(device)>>>(*diagram, codes);
  return cvtm_cuda_launched(device, "set_seeds_kernel");
}

static cvtm_status set_seeds_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                  uint32_t *codes) {
  const size_t pixels = static_cast<size_t>(diagram->domain.width) * diagram->domain.height;
  const cvtm_status status = cvtm_device_fill(device, codes, 0xFF, pixels * sizeof *codes);
  return status == CVTM_OK ? set_all_seeds(device, diagram, codes) : status;
}

static cvtm_status warm_start_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                   const double *sites, const int32_t *labels, uint32_t *codes) {
  warm_start_kernel<<<pixel_blocks(diagram), BLOCK, 0, cvtm_cuda_stream(device)>>>(*diagram, sites,
                                                                                   labels, codes);
  const cvtm_status status = cvtm_cuda_launched(device, "warm_start_kernel");
  return status == CVTM_OK ? set_all_seeds(device, diagram, codes) : status;
}

template <int LENGTH>
static cvtm_status launch_pass(cvtm_device *device, const cvtm_diagram *diagram, int step,
                               const uint32_t *from, uint32_t *to) {
  const int64_t chains =
      static_cast<int64_t>(diagram->domain.width) * chains_of(diagram->domain.height, step, LENGTH);
  pass_kernel<LENGTH><<<cvtm_cuda_blocks(chains, BLOCK), BLOCK, 0, cvtm_cuda_stream(device)>>>(
      *diagram, step, from, to);
  return cvtm_cuda_launched(device, "pass_kernel");
}

static cvtm_status pass_cuda(cvtm_device *device, const cvtm_diagram *diagram, int step,
                             const uint32_t *from, uint32_t *to) {
  return cvtm_uses_plain("flooding") ? launch_pass<1>(device, diagram, step, from, to)
                                     : launch_pass<CHAIN>(device, diagram, step, from, to);
}

static cvtm_status final_pass_cuda(cvtm_device *device, const cvtm_diagram *diagram,
                                   uint32_t *codes, int32_t *labels) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  find_places_kernel<<<pixel_blocks(diagram), BLOCK, 0, stream>>>(*diagram, codes);
  const cvtm_status status = cvtm_cuda_launched(device, "find_places_kernel");
  if (status != CVTM_OK) return status;
  final_label_kernel<<<pixel_blocks(diagram), BLOCK, 0, stream>>>(*diagram, codes, labels);
  return cvtm_cuda_launched(device, "final_label_kernel");
}

extern "C" const cvtm_jfa_table cvtm_jfa_table_cuda = {
    set_seeds_cuda,
    warm_start_cuda,
    pass_cuda,
    final_pass_cuda,
};
