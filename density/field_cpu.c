#include "density/field_kernels.h"

/* The number of threads for a loop: waking many threads for few pixels costs more than it saves. */
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

CVTM_FIELD_PHASES(CVTM_PHASE_CPU)

const cvtm_field_table cvtm_field_table_cpu = {.laplacian = cpu_laplacian,
                                               .detector = cpu_detector,
                                               .advance = cpu_advance,
                                               CVTM_FIELD_PHASES(CVTM_PHASE_CPU_NAME)};
