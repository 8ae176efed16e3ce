#include "cvt/site_updates.h"

static cvtm_status keep_best_cpu(cvtm_device *device, const double *sites, int64_t count,
                                 const double *value, double *least, double *best) {
  const int better = value[0] < least[0];
  least[1] = better ? value[0] : least[0];
  return better ? cvtm_device_copy(device, best, sites, 2 * (size_t)count * sizeof *best) : CVTM_OK;
}

static cvtm_status bounds_cpu(cvtm_device *device, cvtm_domain domain, const double *sites,
                              int64_t count, int64_t fixed, double *lower, double *upper) {
  (void)device;
  for (int64_t k = 0; k < 2 * count; ++k)
    cvtm_cvt_bounds_of(domain, sites, fixed, k, lower + k, upper + k);
  return CVTM_OK;
}

static cvtm_status scale_cpu(cvtm_device *device, const cvtm_cell_moments *sums, int64_t count,
                             double mean, double root, double *scale) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < count; ++i)
    scale[2 * i] = scale[2 * i + 1] = cvtm_cvt_scale_of(&sums[i], mean, root);
  return CVTM_OK;
}

static cvtm_status energy_keys_cpu(cvtm_device *device, const cvtm_cell_moments *sums,
                                   int64_t fixed, int64_t movable, uint64_t *keys, int32_t *sites) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < movable; ++i) {
    keys[i] = cvtm_cvt_energy_key(sums[fixed + i].second);
    sites[i] = (int32_t)(fixed + i);
  }
  return CVTM_OK;
}

static cvtm_status transfer_cpu(cvtm_device *device, const cvtm_cvt_transfer *transfer,
                                int64_t *moved) {
  (void)device;
  int64_t k = 0;
  for (; cvtm_cvt_transfers(transfer, k); ++k) cvtm_cvt_transfer_site(transfer, k);
  *moved = k;
  return CVTM_OK;
}

static cvtm_status repel_cpu(cvtm_device *device, const cvtm_cvt_repulsion *repulsion) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(dynamic, 256)
  for (int64_t place = 0; place < repulsion->tree.count; ++place)
    cvtm_cvt_repel_site(repulsion, place);
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

static cvtm_status enlarge_cpu(cvtm_device *device, const double *from, int64_t numbers,
                               double factor, double *to) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t k = 0; k < numbers; ++k) to[k] = factor * from[k];
  return CVTM_OK;
}

static cvtm_status add_moments_cpu(cvtm_device *device, const cvtm_cell_moments *more,
                                   int64_t count, double weight, cvtm_cell_moments *sums) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < count; ++i) sums[i] = cvtm_cvt_add_moments(&sums[i], &more[i], weight);
  return CVTM_OK;
}

const cvtm_site_updates_table cvtm_site_updates_cpu = {
    .keep_best = keep_best_cpu,
    .bounds = bounds_cpu,
    .scale = scale_cpu,
    .energy_keys = energy_keys_cpu,
    .transfer = transfer_cpu,
    .repel = repel_cpu,
    .halve = halve_cpu,
    .enlarge = enlarge_cpu,
    .add_moments = add_moments_cpu,
};
