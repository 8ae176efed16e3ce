#include "density/bias.h"

#include "base/select.h"
#include "base/primitives.h"
#include "density/field_kernels.h"
#include "density/links.h"
#include "lcp/hlcp/grid.h"

#include <math.h>
#include <stdlib.h>

enum { NEWTON_STEPS = 200 };

struct cvtm_bias {
  cvtm_device *device;
  cvtm_bias_options options;
  cvtm_links links;
  cvtm_hlcp_grid *newton;
  double *memory;        /* device memory: all that follows */
  double *q, *x, *z, *w; /* right side; unknowns */
};

/* The weights above and below rho, of which the smaller is 1. */
static void weights_of(double p, double *a, double *b) {
  *a = p > 0.5 ? p / (1 - p) : 1;
  *b = p > 0.5 ? 1 : (1 - p) / p;
}

static cvtm_status open_solver(cvtm_bias *s) {
  const int64_t count = s->links.grid.width * s->links.grid.height;
  cvtm_status status = cvtm_device_allocate(s->device, 4 * count, CVTM_TYPED(s->memory));
  if (status != CVTM_OK) return status;
  double **const vectors[] = {&s->q, &s->x, &s->z, &s->w};
  for (int k = 0; k < 4; ++k) *vectors[k] = s->memory + k * count;
  return cvtm_hlcp_grid_create(s->device, s->links.grid.width, s->links.grid.height,
                               s->options.tolerance, NEWTON_STEPS, &s->newton);
}

cvtm_status cvtm_bias_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                             const cvtm_bias_options *options, cvtm_bias **bias) {
  cvtm_error *error = cvtm_device_error(device);
  *bias = NULL;
  if (options == NULL) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "smoothing has no default of p and lambda");
  }
  if (!(options->p > 0 && options->p < 1)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a bias of %g is not between 0 and 1", options->p);
  }
  if (!(options->lambda > 0) || !isfinite(options->lambda)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "smoothing with lambda %g", options->lambda);
  }
  cvtm_bias *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->device = device;
  s->options = *options;
  cvtm_status status = cvtm_links_create(device, width, height, mask, options->lambda, &s->links);
  if (status == CVTM_OK) status = open_solver(s);
  if (status == CVTM_OK)
    *bias = s;
  else
    cvtm_bias_destroy(s);
  return status;
}

cvtm_status cvtm_bias_solve(cvtm_bias *s, const double *rho, double *u, cvtm_hlcp_result *result) {
  const cvtm_field_table *table = CVTM_TABLE(s->device, cvtm_field_table);
  double a, b;
  weights_of(s->options.p, &a, &b);
  cvtm_status status = table->laplacian(s->device, &s->links.grid, -1, rho, s->q);
  if (status == CVTM_OK)
    status =
        cvtm_hlcp_grid_solve(s->newton, &s->links.grid, a, b, s->q, s->x, 0, s->z, s->w, result);
  if (status != CVTM_OK) return status;
  return table->displace(s->device, s->links.grid.width * s->links.grid.height, rho, s->z, s->w, u);
}

void cvtm_bias_destroy(cvtm_bias *s) {
  if (s == NULL) return;
  cvtm_hlcp_grid_destroy(s->newton);
  cvtm_device_free(s->device, s->memory);
  cvtm_links_destroy(&s->links);
  free(s);
}
