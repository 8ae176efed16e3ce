#include "cvt/pull.h"

static cvtm_status pull_cpu(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const cvtm_domain domain = cvt->domain;
  const cvtm_lanes lanes = {0, 1};
  int good = 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(cvtm_device_threads(cvt->device)) \
    reduction(&& : good)
  for (int32_t row = 0; row < domain.height; row += CVTM_PULL_HEIGHT) {
    cvtm_pull_near near;
    for (int32_t column = 0; column < domain.width && good; column += CVTM_PULL_WIDTH)
      good = cvtm_pull_to_tile(&tree, domain, lanes, column, row, phi, &near, by_density);
  }
  if (!good) *crowded = 1;
  return CVTM_OK;
}

const cvtm_pull_table cvtm_pull_cpu = {pull_cpu};
