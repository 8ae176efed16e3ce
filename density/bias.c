#include "density/bias.h"

#include "base/table_select.h"
#include "base/primitives.h"
#include "density/field_kernels.h"
#include "density/links.h"
#include "lcp/hlcp/grid.h"

#include <math.h>
#include <stdlib.h>

enum { NEWTON_STEPS = 200, SWEEPS = 1000000 };

struct cvtm_bias {
  cvtm_device *device;
  cvtm_bias_options options;
  cvtm_links links;
  cvtm_hlcp_grid *newton; /* one of these two is NULL */
  cvtm_hlcp *sweeps;
  double *memory;        /* device memory: all that follows */
  double *q, *x, *z, *w; /* right side; unknowns */
};

/* The weights above and below rho, of which the smaller is 1. */
static void weights_of(double p, double *a, double *b) {
  *a = p > 0.5 ? p / (1 - p) : 1;
  *b = p > 0.5 ? 1 : (1 - p) / p;
}

/* --- the matrices of the sweeps ------------------------------------------------------------ */

static int joined(const cvtm_links *links, const uint8_t *mask, int64_t p, int di, int dj) {
  const int64_t width = links->grid.width, height = links->grid.height;
  const int64_t i = p % width + di, j = p / width + dj;
  if (i < 0 || j < 0 || i >= width || j >= height) return 0;
  return mask == NULL || (mask[p] && mask[j * width + i]);
}

/* lambda L + diagonal I. */
static cvtm_status make_matrix(const cvtm_links *links, const uint8_t *mask, double lambda,
                               double diagonal, cvtm_csr *matrix, cvtm_error *error) {
  static const int steps[5][2] = {{0, -1}, {-1, 0}, {0, 0}, {1, 0}, {0, 1}};
  const int64_t width = links->grid.width, count = width * links->grid.height;
  const cvtm_status status = cvtm_csr_create(count, count, 5 * count, matrix, error);
  if (status != CVTM_OK) return status;
  int64_t entry = 0;
  for (int64_t p = 0; p < count; ++p) {
    int64_t own = 0;
    int neighbours = 0;
    matrix->row_start[p] = entry;
    for (int k = 0; k < 5; ++k) {
      const int di = steps[k][0], dj = steps[k][1], itself = di == 0 && dj == 0;
      if (!itself && !joined(links, mask, p, di, dj)) continue;
      if (itself) own = entry;
      neighbours += !itself;
      matrix->column[entry] = (int32_t)(p + di + dj * width);
      matrix->value[entry++] = -lambda;
    }
    matrix->value[own] = diagonal + lambda * neighbours;
  }
  matrix->row_start[count] = entry;
  return CVTM_OK;
}

/* For p > 1/2 the weights of z and w are exchanged: HLCP(B, A, -q) satisfies Theorem 2. */
static cvtm_status open_sweeps(cvtm_bias *s, const uint8_t *mask) {
  cvtm_error *error = cvtm_device_error(s->device);
  cvtm_csr a = {0}, b = {0};
  double first, second;
  weights_of(s->options.p > 0.5 ? 1 - s->options.p : s->options.p, &first, &second);
  cvtm_status status = make_matrix(&s->links, mask, s->options.lambda, first, &a, error);
  if (status == CVTM_OK)
    status = make_matrix(&s->links, mask, s->options.lambda, second, &b, error);
  cvtm_hlcp_options options;
  cvtm_hlcp_defaults(&options);
  options.method = s->options.method;
  options.scaling = CVTM_HLCP_OMEGA_NUMBER;
  options.omega = 1;
  options.start = 0;
  options.tolerance = s->options.tolerance;
  options.max_iterations = s->options.max_sweeps > 0 ? s->options.max_sweeps : SWEEPS;
  options.monitor = s->options.monitor;
  options.monitor_context = s->options.monitor_context;
  if (status == CVTM_OK) status = cvtm_hlcp_create(s->device, &a, &b, &options, &s->sweeps);
  cvtm_csr_free(&a);
  cvtm_csr_free(&b);
  return status;
}

/* --- the public interface ------------------------------------------------------------------ */

static cvtm_status open_solver(cvtm_bias *s, const uint8_t *mask) {
  const int64_t count = s->links.grid.width * s->links.grid.height;
  cvtm_status status = cvtm_device_allocate(s->device, 4 * count, CVTM_TYPED(s->memory));
  if (status != CVTM_OK) return status;
  double **const vectors[] = {&s->q, &s->x, &s->z, &s->w};
  for (int k = 0; k < 4; ++k) *vectors[k] = s->memory + k * count;
  if (s->options.method != CVTM_HLCP_NEWTON) return open_sweeps(s, mask);
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
  if (status == CVTM_OK) status = open_solver(s, mask);
  if (status == CVTM_OK)
    *bias = s;
  else
    cvtm_bias_destroy(s);
  return status;
}

cvtm_status cvtm_bias_solve(cvtm_bias *s, const double *rho, double *u, cvtm_hlcp_result *result) {
  const cvtm_field_table *table = CVTM_TABLE(s->device, cvtm_field_table);
  const int mirrored = s->newton == NULL && s->options.p > 0.5;
  cvtm_status status = table->laplacian(s->device, &s->links.grid, mirrored ? 1 : -1, rho, s->q);
  if (status == CVTM_OK && s->newton != NULL) {
    double a, b;
    weights_of(s->options.p, &a, &b);
    status =
        cvtm_hlcp_grid_solve(s->newton, &s->links.grid, a, b, s->q, s->x, 0, s->z, s->w, result);
  } else if (status == CVTM_OK) {
    status = cvtm_hlcp_solve(s->sweeps, s->q, s->x, 0, s->z, s->w, result);
  }
  if (status != CVTM_OK) return status;
  const double *up = mirrored ? s->w : s->z, *down = mirrored ? s->z : s->w;
  return table->displace(s->device, s->links.grid.width * s->links.grid.height, rho, up, down, u);
}

void cvtm_bias_destroy(cvtm_bias *s) {
  if (s == NULL) return;
  cvtm_hlcp_grid_destroy(s->newton);
  cvtm_hlcp_destroy(s->sweeps);
  cvtm_device_free(s->device, s->memory);
  cvtm_links_destroy(&s->links);
  free(s);
}
