#include "cvt/shares.h"

static cvtm_status pack(cvtm_device *device, const cvtm_cell_moments *moments, const int32_t *index,
                        int64_t first, int64_t end, double *packed) {
  (void)device;
  for (int64_t p = first; p < end; ++p) cvtm_shares_pack(&moments[index[p]], packed + 4 * p);
  return CVTM_OK;
}

static cvtm_status unpack(cvtm_device *device, const double *packed, const int32_t *index,
                          int64_t first, int64_t end, int64_t count, cvtm_cell_moments *moments) {
  (void)device;
  for (int64_t p = 0; p < count; ++p)
    if (p < first || p >= end) cvtm_shares_unpack(packed + 4 * p, &moments[index[p]]);
  return CVTM_OK;
}

const cvtm_shares_table cvtm_shares_cpu = {pack, unpack};
