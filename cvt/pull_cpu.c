#include "cvt/pull.h"

static cvtm_status pull_cpu(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const cvtm_domain domain = cvt->domain;
  int good = 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(cvtm_device_threads(cvt->device)) \
    reduction(&& : good)
  for (int32_t row = 0; row < domain.height; ++row) {
    for (int32_t column = 0; column < domain.width && good; ++column) {
      double value = 0;
      good = good && cvtm_pull_to_pixel(&tree, domain, column, row, phi, &value);
      by_density[(int64_t)row * domain.width + column] = (float)value;
    }
  }
  if (!good) *crowded = 1;
  return CVTM_OK;
}

const cvtm_pull_table cvtm_pull_cpu = {pull_cpu};
