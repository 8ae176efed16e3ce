#include "cvt/division.h"

#include <string.h>

static cvtm_status collect_items(cvtm_device *device, const double *from, const int32_t *order,
                                 int64_t count, int width, double *to) {
  const size_t bytes = (size_t)width * sizeof *to;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t k = 0; k < count; ++k)
    memcpy(to + width * k, from + width * (int64_t)order[k], bytes);
  return CVTM_OK;
}

static cvtm_status spread_items(cvtm_device *device, const double *from, const int32_t *order,
                                int64_t count, int width, double *to) {
  const size_t bytes = (size_t)width * sizeof *to;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t k = 0; k < count; ++k)
    memcpy(to + width * (int64_t)order[k], from + width * k, bytes);
  return CVTM_OK;
}

static cvtm_status flag_fixed(cvtm_device *device, const int32_t *index, int64_t count,
                              int64_t fixed, int32_t *flags) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t k = 0; k < count; ++k) flags[k] = index[k] < fixed;
  return CVTM_OK;
}

static cvtm_status put_fixed_first(cvtm_device *device, const int32_t *index, const int64_t *before,
                                   int64_t count, int64_t fixed, int32_t *order) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t k = 0; k < count; ++k) order[cvtm_division_place(before, fixed, k)] = index[k];
  return CVTM_OK;
}

const cvtm_division_table cvtm_division_cpu = {collect_items, spread_items, flag_fixed,
                                               put_fixed_first};
