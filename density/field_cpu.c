#include "density/field_kernels.h"

/* Waking many threads for few pixels takes longer than the work. */
static int threads_for_pixels(const cvtm_device *device, int64_t pixels) {
  const int64_t useful = 1 + pixels / 16384;
  const int threads = cvtm_device_threads(device);
  return useful < threads ? (int)useful : threads;
}

static cvtm_status cpu_laplacian(cvtm_device *device, const cvtm_lcp_grid *grid, double sign,
                                 const double *v, double *out) {
  const int threads = threads_for_pixels(device, grid->width * grid->height);
  (void)threads; /* without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t j = 0; j < grid->height; ++j) {
    for (int64_t i = 0; i < grid->width; ++i)
      out[j * grid->width + i] = cvtm_field_laplacian(grid, sign, v, i, j);
  }
  return CVTM_OK;
}

static cvtm_status cpu_displace(cvtm_device *device, int64_t count, const double *v,
                                const double *up, const double *down, double *out) {
  const int threads = threads_for_pixels(device, count);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t p = 0; p < count; ++p) out[p] = v[p] + up[p] - down[p];
  return CVTM_OK;
}

static cvtm_status cpu_at_least(cvtm_device *device, int64_t count, double least, const double *v,
                                double *out) {
  const int threads = threads_for_pixels(device, count);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t p = 0; p < count; ++p) out[p] = fmax(v[p], least);
  return CVTM_OK;
}

static cvtm_status cpu_detector(cvtm_device *device, const cvtm_level_set *set) {
  const int threads = threads_for_pixels(device, set->width * set->height);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t j = 0; j <= set->height; ++j) {
    for (int64_t i = 0; i <= set->width; ++i) cvtm_level_detector(set, i, j);
  }
  return CVTM_OK;
}

static cvtm_status cpu_advance(cvtm_device *device, const cvtm_level_set *set) {
  const int threads = threads_for_pixels(device, set->width * set->height);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t j = 0; j < set->height; ++j) {
    double sum[CVTM_LEVEL_SUMS] = {0};
    for (int64_t i = 0; i < set->width; ++i) cvtm_level_advance(set, i, j, sum);
    for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) set->partial[CVTM_LEVEL_SUMS * j + k] = sum[k];
  }
  for (int k = 0; k < CVTM_LEVEL_SUMS; ++k) {
    set->sums[k] = 0;
    for (int64_t j = 0; j < set->height; ++j) set->sums[k] += set->partial[CVTM_LEVEL_SUMS * j + k];
  }
  return CVTM_OK;
}

const cvtm_field_table cvtm_field_table_cpu = {
    cpu_laplacian, cpu_displace, cpu_at_least, cpu_detector, cpu_advance,
};
