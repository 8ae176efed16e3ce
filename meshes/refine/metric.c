#include "meshes/refine/metric.h"

#include <stdlib.h>

void cvtm_metric_field_free(cvtm_metric_field *field) {
  free(field->log);
  *field = (cvtm_metric_field){0};
}

static int64_t count_cells(const cvtm_metric_field *f) { return (int64_t)f->width * f->height; }

static cvtm_metric logarithm(cvtm_metric m, double least, double ratio) {
  cvtm_metric_axes a = cvtm_metric_axes_of(m);
  const double floor = fmax(least, fmax(a.value[0], least) / (ratio * ratio));
  for (int k = 0; k < 2; ++k) a.value[k] = log(fmax(a.value[k], floor));
  return cvtm_metric_of_axes(a);
}

static cvtm_metric exponential(cvtm_metric m) {
  cvtm_metric_axes a = cvtm_metric_axes_of(m);
  for (int k = 0; k < 2; ++k) a.value[k] = exp(a.value[k]);
  return cvtm_metric_of_axes(a);
}

/* det (|H|)^(-1/6) |H|, the smaller eigenvalue raised to what the ratio allows. */
static cvtm_metric optimal(cvtm_metric hessian, double ratio) {
  cvtm_metric_axes a = cvtm_metric_axes_of(hessian);
  for (int k = 0; k < 2; ++k) a.value[k] = fabs(a.value[k]);
  const double most = fmax(a.value[0], a.value[1]), floor = most / (ratio * ratio);
  if (!(most > 0)) return (cvtm_metric){0, 0, 0};
  for (int k = 0; k < 2; ++k) a.value[k] = fmax(a.value[k], floor);
  const double factor = pow(a.value[0] * a.value[1], -1.0 / 6);
  for (int k = 0; k < 2; ++k) a.value[k] *= factor;
  return cvtm_metric_of_axes(a);
}

cvtm_status cvtm_metric_of_hessians(cvtm_metric_field *f, double ratio, cvtm_error *error) {
  const double longest = 32; /* times the mean length */
  const int64_t cells = count_cells(f);
  double sum = 0;
  for (int64_t k = 0; k < cells; ++k) {
    f->log[k] = optimal(f->log[k], ratio);
    sum += sqrt(fmax(cvtm_metric_determinant(f->log[k]), 0));
  }
  const double mean = sum / (double)cells;
  if (!(mean > 0 && isfinite(mean)))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the field is linear: it asks for no size anywhere");
  for (int64_t k = 0; k < cells; ++k)
    f->log[k] = logarithm(f->log[k], mean / (longest * longest), ratio);
  return CVTM_OK;
}

cvtm_status cvtm_metric_of_given(cvtm_metric_field *f, double ratio, cvtm_error *error) {
  for (int64_t k = 0; k < count_cells(f); ++k) {
    const cvtm_metric m = f->log[k];
    if (!(m.xx > 0 && cvtm_metric_determinant(m) > 0 && isfinite(m.xx + m.yy)))
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the metric (%g, %g, %g) in row %lld, column %lld is not positive definite",
                       m.xx, m.xy, m.yy, (long long)(k / f->width), (long long)(k % f->width));
    f->log[k] = logarithm(m, 0, ratio);
  }
  return CVTM_OK;
}

cvtm_metric cvtm_metric_at(const cvtm_metric_field *f, double x, double y) {
  const double u = fmin(fmax((x - f->left) / f->step - 0.5, 0), f->width - 1);
  const double v = fmin(fmax((y - f->upper) / f->step - 0.5, 0), f->height - 1);
  const int64_t i = (int64_t)u, j = (int64_t)v;
  const int64_t right = i + 1 < f->width, below = j + 1 < f->height ? f->width : 0;
  const double s = u - (double)i, t = v - (double)j;
  const cvtm_metric *at = f->log + j * f->width + i;
  const double w[4] = {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t};
  const cvtm_metric *const near[4] = {at, at + right, at + below, at + below + right};
  cvtm_metric sum = {0, 0, 0};
  for (int k = 0; k < 4; ++k) {
    sum.xx += w[k] * near[k]->xx;
    sum.xy += w[k] * near[k]->xy;
    sum.yy += w[k] * near[k]->yy;
  }
  return exponential(sum);
}

double cvtm_metric_mean_density(const cvtm_metric_field *f) {
  double sum = 0;
  for (int64_t k = 0; k < count_cells(f); ++k) sum += exp(0.5 * (f->log[k].xx + f->log[k].yy));
  return sum / (double)count_cells(f);
}
