#include "cvt/sphere/sphere_phases.h"

CVTM_DEFINE_WIDTHS(void, cvtm_sphere_evaluate_site,
                   (const cvtm_sphere_work *work, const double *x, double *gradient, int64_t i),
                   (work, x, gradient, i))

static cvtm_status cells_cpu(cvtm_device *device, const cvtm_sphere_work *work, const double *x,
                             double *gradient) {
  void (*const evaluate)(const cvtm_sphere_work *, const double *, double *, int64_t) =
      cvtm_has_wide_vectors() ? cvtm_sphere_evaluate_site_wide : cvtm_sphere_evaluate_site_baseline;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(dynamic, 256)
  for (int64_t i = 0; i < work->tree.count; ++i) evaluate(work, x, gradient, i);
  return CVTM_OK;
}

CVTM_SPHERE_PHASES(CVTM_PHASE_CPU)

const cvtm_sphere_table cvtm_sphere_cpu = {.cells = cells_cpu,
                                           CVTM_SPHERE_PHASES(CVTM_PHASE_CPU_NAME)};
