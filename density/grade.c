#include "density/grade.h"

#include "density/links.h"

#include <math.h>
#include <stdlib.h>

struct cvtm_grade {
  cvtm_device *device;
  cvtm_links links;
  cvtm_lcp *lcp;
};

static cvtm_status open_solver(cvtm_grade *g, double tolerance) {
  const int64_t width = g->links.grid.width, height = g->links.grid.height;
  cvtm_lcp_options options;
  cvtm_lcp_defaults(&options);
  options.tolerance = 0;
  options.absolute_tolerance = tolerance;
  const cvtm_status status = cvtm_lcp_create_grid(g->device, width, height, &options, &g->lcp);
  cvtm_lcp_grid grid = g->links.grid;
  grid.mass = 1;
  return status == CVTM_OK ? cvtm_lcp_set_grid(g->lcp, &grid) : status;
}

cvtm_status cvtm_grade_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double lambda, double tolerance, cvtm_grade **grade) {
  cvtm_error *error = cvtm_device_error(device);
  *grade = NULL;
  if (!(lambda > 0) || !isfinite(lambda) || !(tolerance > 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "grading with lambda %g to a tolerance of %g",
                     lambda, tolerance);
  }
  cvtm_grade *g = calloc(1, sizeof *g);
  if (g == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  g->device = device;
  cvtm_status status = cvtm_links_create(device, width, height, mask, lambda, &g->links);
  if (status == CVTM_OK) status = open_solver(g, tolerance);
  if (status == CVTM_OK)
    *grade = g;
  else
    cvtm_grade_destroy(g);
  return status;
}

cvtm_status cvtm_grade_solve(cvtm_grade *grade, const double *rho, const double *upper, double *u,
                             cvtm_lcp_result *result) {
  return cvtm_lcp_solve(grade->lcp, rho, rho, upper, u, 0, result);
}

void cvtm_grade_destroy(cvtm_grade *g) {
  if (g == NULL) return;
  cvtm_lcp_destroy(g->lcp);
  cvtm_links_destroy(&g->links);
  free(g);
}
