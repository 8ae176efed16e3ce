#include "base/ranks.h"

#include "base/device_kernels.h"

void cvtm_device_set_ranks(cvtm_device *device, const cvtm_ranks *ranks) { device->ranks = ranks; }

const cvtm_ranks *cvtm_device_ranks(const cvtm_device *device) { return device->ranks; }

static cvtm_status check(cvtm_device *device, int failed) {
  if (!failed) return CVTM_OK;
  return cvtm_fail(&device->error, CVTM_ERROR_INTERNAL, "the ranks cannot reach each other");
}

cvtm_status cvtm_ranks_agree(cvtm_device *device, int64_t *value) {
  return device->ranks ? check(device, device->ranks->agree(value)) : CVTM_OK;
}

cvtm_status cvtm_ranks_gather(cvtm_device *device, double *all, const int64_t *counts) {
  return device->ranks ? check(device, device->ranks->gather(all, counts)) : CVTM_OK;
}
