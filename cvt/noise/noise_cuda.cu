#include "base/cuda_utils.h"
#include "base/primitives.h"
#include "cvt/noise/noise_kernels.h"

namespace {

enum { THREADS = 256, SUM_THREADS = 128, LANES = CVTM_KERNEL_LANES };

/* --- sorting ------------------------------------------------------------------------------- */

__device__ void copy_variance(const cvtm_kernel_source *source, double *variance, int64_t i) {
  variance[i] = source[i].variance;
}

/* Counts the sources of each class, and finds the largest variance of each class. Positive doubles
 * have the same order as their bits read as integers, so atomicMax works on the bits. */
__global__ void classes_kernel(const cvtm_kernel_source *source, int64_t count, const double *least,
                               cvtm_width_class *classes) {
  __shared__ unsigned long long number[CVTM_WIDTH_CLASSES], widest[CVTM_WIDTH_CLASSES];
  for (int c = threadIdx.x; c < CVTM_WIDTH_CLASSES; c += THREADS) number[c] = widest[c] = 0;
  __syncthreads();
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count()) {
    const double variance = source[i].variance;
    const int c = cvtm_width_class_of(variance, *least);
    atomicAdd(&number[c], 1ULL);
    atomicMax(&widest[c], static_cast<unsigned long long>(__double_as_longlong(variance)));
  }
  __syncthreads();
  for (int c = threadIdx.x; c < CVTM_WIDTH_CLASSES; c += THREADS) {
    if (number[c] == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long *>(&classes[c].count), number[c]);
    atomicMax(reinterpret_cast<unsigned long long *>(&classes[c].widest), widest[c]);
  }
}

/* Chooses the cells of all classes, in one thread. */
__global__ void shape_kernel(cvtm_domain domain, const double *least, cvtm_width_class *classes) {
  (void)cvtm_width_classes_shape(domain, *least, classes);
}

__device__ void find_cell(const cvtm_kernel_cells *cells, const cvtm_kernel_source *source,
                          int64_t i) {
  const int c = cvtm_width_class_of(source[i].variance, *cells->least);
  const int32_t cell = cvtm_kernel_cell_of(&cells->classes[c], source[i].x, source[i].y);
  cells->keys[i] = static_cast<uint64_t>(cell);
  cells->order[i] = static_cast<int32_t>(i);
  atomicAdd(&cells->cell_count[cell], 1);
}

__device__ void store_source(const cvtm_kernel_cells *cells, const cvtm_kernel_source *source,
                             int64_t at) {
  cvtm_kernel_store(cells, source, cells->order[at], at);
}

cvtm_status divide_into_classes(cvtm_device *device, const cvtm_kernel_cells *cells,
                                const cvtm_kernel_source *source, int64_t count) {
  cvtm_status status =
      launch_rows<copy_variance, THREADS>(device, "variances", 0, count, source, cells->strength);
  if (status == CVTM_OK)
    status = cvtm_reduce(device, CVTM_REDUCE_MIN, cells->strength, count, cells->least);
  if (status == CVTM_OK)
    status =
        cvtm_device_fill(device, cells->classes, 0, CVTM_WIDTH_CLASSES * sizeof *cells->classes);
  if (status == CVTM_OK)
    status = CVTM_LAUNCH(device, classes_kernel, cvtm_cuda_blocks(count, THREADS), THREADS, source,
                         count, cells->least, cells->classes);
  return status == CVTM_OK
             ? CVTM_LAUNCH(device, shape_kernel, 1, 1, cells->domain, cells->least, cells->classes)
             : status;
}

/* The number of bits that the number of any cell needs. */
int bits_of_cells(const cvtm_kernel_cells *cells) {
  return 64 - cvtm_leading_zeros(static_cast<uint64_t>(cvtm_kernel_most_cells(cells->capacity)));
}

cvtm_status sort_cuda(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *source, int64_t count) {
  const int64_t most = cvtm_kernel_most_cells(cells->capacity);
  CVTM_TRY(divide_into_classes(device, cells, source, count));
  CVTM_TRY(cvtm_device_fill(device, cells->cell_count, 0,
                            static_cast<size_t>(most) * sizeof *cells->cell_count));
  CVTM_TRY(launch_rows<find_cell, THREADS>(device, "cells", 0, count, *cells, source));
  CVTM_TRY(cvtm_scan_64(device, cells->cell_count, most, cells->starts));
  CVTM_TRY(cvtm_sort_pairs(device, cells->keys, cells->order, cells->keys_alt, cells->order_alt,
                           count, bits_of_cells(cells)));
  return launch_rows<store_source, THREADS>(device, "store", 0, count, *cells, source);
}

/* --- sums ---------------------------------------------------------------------------------- */

/* The sum over the LANES threads of a point, in the order of the CPU's lanes. */
__device__ double sum_lanes(unsigned mask, double value) {
  static_assert(LANES == 4, "two halvings");
  value += __shfl_xor_sync(mask, value, 1);
  return value + __shfl_xor_sync(mask, value, 2);
}

__device__ void add_class(const cvtm_kernel_cells *cells, const cvtm_width_class *c,
                          const cvtm_kernel_source *p, double square, int lane,
                          cvtm_kernel_sum *s) {
  cvtm_kernel_walk walk = cvtm_kernel_walk_from(c, cells->domain.periodic, p->x, p->y, square);
  cvtm_kernel_run run;
  while (cvtm_kernel_walk_next(cells, c, &walk, &run)) {
    for (int64_t j = run.begin + lane; j < run.end; j += LANES) {
      const cvtm_kernel_sum term =
          cvtm_kernel_term(cells, j, cells->strength[j], run.x, run.y, square);
      s->value += term.value;
      s->by_x += term.by_x;
      s->by_y += term.by_y;
      s->by_log_width += term.by_log_width;
    }
  }
}

/* LANES threads compute the sum at a point. Each takes every LANES-th source of a run, as a lane of
 * the CPU does, so that both devices add in the same order. */
__global__ void __launch_bounds__(SUM_THREADS)
    sums_kernel(cvtm_kernel_cells cells, const cvtm_kernel_source *place, const int32_t *order,
                int64_t count, cvtm_kernel_sum *sum) {
  const int lane = threadIdx.x % LANES;
  const unsigned mask = ((1U << LANES) - 1) << (threadIdx.x % 32 - lane);
  for (int64_t k = cvtm_first_thread() / LANES; k < count; k += cvtm_thread_count() / LANES) {
    const int64_t i = order != nullptr ? order[k] : k;
    const cvtm_kernel_source p = place[i];
    cvtm_kernel_sum s = {0, 0, 0, 0};
    for (int c = 0; c < CVTM_WIDTH_CLASSES; ++c)
      if (cells.classes[c].count > 0)
        add_class(&cells, &cells.classes[c], &p, p.width * p.width, lane, &s);
    s.value = p.width * sum_lanes(mask, s.value);
    s.by_x = p.width * sum_lanes(mask, s.by_x);
    s.by_y = p.width * sum_lanes(mask, s.by_y);
    s.by_log_width = p.width * sum_lanes(mask, s.by_log_width);
    if (lane == 0) sum[i] = s;
  }
}

cvtm_status sums_cuda(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *place, const int32_t *order, int64_t count,
                      cvtm_kernel_sum *sum) {
  return CVTM_LAUNCH(device, sums_kernel, cvtm_cuda_blocks(LANES * count, SUM_THREADS), SUM_THREADS,
                     *cells, place, order, count, sum);
}

/* --- points -------------------------------------------------------------------------------- */

cvtm_status gradient_cuda(cvtm_device *device, const cvtm_noise_points *points, double *f,
                          double *g) {
  CVTM_TRY(
      launch_rows<cvtm_noise_gradient, THREADS>(device, "gradient", 0, points->count, *points, g));
  return cvtm_reduce(device, CVTM_REDUCE_SUM, points->term, points->count, f);
}

CVTM_NOISE_PHASES(CVTM_PHASE_CUDA)

}  // namespace

extern "C" const cvtm_noise_table cvtm_noise_table_cuda = {sort_cuda, sums_cuda, gradient_cuda,
                                                           CVTM_NOISE_PHASES(CVTM_PHASE_CUDA_NAME)};
