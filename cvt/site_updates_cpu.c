#include "cvt/site_updates.h"

static cvtm_status keep_best_cpu(cvtm_device *device, const double *sites, int64_t count,
                                 const double *value, double *least, double *best) {
  const int better = value[0] < least[0];
  least[1] = better ? value[0] : least[0];
  return better ? cvtm_device_copy(device, best, sites, 2 * (size_t)count * sizeof *best) : CVTM_OK;
}

static cvtm_status transfer_cpu(cvtm_device *device, const cvtm_cvt_transfer *transfer,
                                int64_t *moved) {
  (void)device;
  int64_t k = 0;
  for (; cvtm_cvt_transfers(transfer, k); ++k) cvtm_cvt_transfer_site(transfer, k);
  *moved = k;
  return CVTM_OK;
}

static cvtm_status halve_cpu(cvtm_device *device, const cvtm_density_view *density, float *half) {
  const int32_t width = (density->width + 1) / 2, height = (density->height + 1) / 2;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int32_t j = 0; j < height; ++j)
    for (int32_t i = 0; i < width; ++i)
      half[(int64_t)j * width + i] = cvtm_pyramid_pixel(density, i, j);
  return CVTM_OK;
}

CVTM_SITE_PHASES(CVTM_PHASE_CPU)

const cvtm_site_updates_table cvtm_site_updates_cpu = {.keep_best = keep_best_cpu,
                                                       .transfer = transfer_cpu,
                                                       .halve = halve_cpu,
                                                       CVTM_SITE_PHASES(CVTM_PHASE_CPU_NAME)};
