/* What the sweeps of multisplitting would need, from a small part of the picture. */
#include "density/bias.h"

#include <math.h>
#include <stdlib.h>

enum {
  SIDE = 64,   /* of the part */
  SWEEPS = 400 /* that are run on it */
};

/* Residuals of the sweeps, the start first. */
typedef struct trace {
  double residual[SWEEPS + 1];
  int64_t last;
} trace;

static int keep_residual(void *context, const cvtm_hlcp_progress *progress) {
  trace *t = context;
  if (progress->iteration > SWEEPS) return 1;
  t->residual[progress->iteration] = progress->residual;
  t->last = progress->iteration;
  return 0;
}

/* Copies the middle of the picture, both in device memory. */
static cvtm_status copy_middle(cvtm_device *device, int width, int height, const double *rho,
                               int columns, int rows, double *part) {
  const double *from = rho + (int64_t)((height - rows) / 2) * width + (width - columns) / 2;
  cvtm_status status = CVTM_OK;
  for (int j = 0; j < rows && status == CVTM_OK; ++j)
    status = cvtm_device_copy(device, part + (int64_t)j * columns, from + (int64_t)j * width,
                              (size_t)columns * sizeof *part);
  return status;
}

/* Extrapolates the residuals to the tolerance by the mean factor of the second half of the sweeps.
 */
static void extrapolate(const trace *t, double tolerance, int converged,
                        cvtm_bias_forecast *forecast) {
  const int64_t half = t->last / 2;
  forecast->sweeps = t->last;
  forecast->factor = 0;
  if (t->last < 2 || !(t->residual[half] > 0)) return;
  forecast->factor = pow(t->residual[t->last] / t->residual[half], 1.0 / (double)(t->last - half));
  if (converged) return;
  forecast->sweeps = -1;
  if (!(forecast->factor < 1)) return;
  const double more = log(tolerance / t->residual[t->last]) / log(forecast->factor);
  if (more < 1e15) forecast->sweeps = t->last + (int64_t)ceil(fmax(more, 0));
}

cvtm_status cvtm_bias_forecast_sweeps(cvtm_device *device, int width, int height,
                                      const cvtm_bias_options *options, const double *rho,
                                      cvtm_bias_forecast *forecast) {
  const int columns = width < SIDE ? width : SIDE, rows = height < SIDE ? height : SIDE;
  const int64_t count = (int64_t)columns * rows;
  trace seen = {.last = 0};
  cvtm_bias_options part = {0};
  cvtm_bias *bias = NULL;
  cvtm_hlcp_result result = {.stop = CVTM_LCP_CONVERGED};
  void *memory = NULL;
  if (options == NULL)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "smoothing has no default of p and lambda");
  part = *options;
  part.method = CVTM_HLCP_MMGS;
  part.tolerance *= sqrt((double)count / ((double)width * height));
  part.max_sweeps = SWEEPS;
  part.monitor = keep_residual;
  part.monitor_context = &seen;
  cvtm_status status = cvtm_device_allocate(device, 2 * count, sizeof(double), &memory);
  double *own = memory;
  if (status == CVTM_OK) status = copy_middle(device, width, height, rho, columns, rows, own);
  if (status == CVTM_OK) status = cvtm_bias_create(device, columns, rows, NULL, &part, &bias);
  if (status == CVTM_OK) status = cvtm_bias_solve(bias, own, own + count, &result);
  cvtm_bias_destroy(bias);
  if (memory != NULL) cvtm_device_free(device, memory);
  if (status == CVTM_OK)
    extrapolate(&seen, part.tolerance, result.stop == CVTM_LCP_CONVERGED, forecast);
  return status;
}
