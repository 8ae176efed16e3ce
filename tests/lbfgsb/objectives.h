/* Objectives of the tests, one row at a time, so that the CPU and CUDA run the same code:
 * two problems of MINPACK-2 (Averick et al. 1992), quadratics, chained Rosenbrock, and
 * functions that are not finite everywhere. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/portable.h"
#include "base/status.h"

typedef enum problem_kind {
  PROBLEM_TORSION,    /* elastic-plastic torsion, c */
  PROBLEM_BEARING,    /* journal bearing, eccentricity e, half width b */
  PROBLEM_QUADRATIC,  /* sum a_i x_i^2 / 2 - b_i x_i + coupling (x_i - x_i+1)^2 / 2 */
  PROBLEM_ROSENBROCK, /* chained */
  PROBLEM_BARRIER,    /* sum 10 x_i - log x_i: NaN for x_i <= 0 */
  PROBLEM_POISON      /* finite where x_i = 1 for all i, else NaN */
} problem_kind;

typedef struct problem {
  problem_kind kind;
  int64_t n;
  int nx, ny;
  double c, e, b;
  const double *diagonal, *linear; /* quadratic, [n] */
  double coupling;
  int waits; /* CUDA: the evaluation synchronises, so it cannot be captured */
} problem;

/* The gradient of row i in *g; returns the row's part of the value. */
CVTM_HD double problem_torsion(const problem *p, const double *x, int64_t k, double *g) {
  const int nx = p->nx, ny = p->ny;
  const int i = (int)(k % nx), j = (int)(k / nx);
  const double hx = 1.0 / (nx + 1), hy = 1.0 / (ny + 1), w = hx * hy, v = x[k];
  const double left = i > 0 ? x[k - 1] : 0.0, right = i < nx - 1 ? x[k + 1] : 0.0;
  const double below = j > 0 ? x[k - nx] : 0.0, above = j < ny - 1 ? x[k + nx] : 0.0;
  double sum = (right - v) * (right - v) / (hx * hx) + (above - v) * (above - v) / (hy * hy);
  if (i == 0) sum += v * v / (hx * hx);
  if (j == 0) sum += v * v / (hy * hy);
  *g = w * ((2.0 * v - left - right) / (hx * hx) + (2.0 * v - below - above) / (hy * hy) - p->c);
  return w * (0.5 * sum - p->c * v);
}

CVTM_HD double problem_bearing_film(const problem *p, int i, double hx) {
  const double h = 1.0 + p->e * cos(i * hx);
  return h * h * h;
}

CVTM_HD double problem_bearing(const problem *p, const double *x, int64_t k, double *g) {
  const int nx = p->nx, ny = p->ny;
  const int i = (int)(k % nx) + 1, j = (int)(k / nx) + 1;
  const double hx = 2.0 * 3.14159265358979323846 / (nx + 1), hy = 2.0 * p->b / (ny + 1);
  const double w = hx * hy, v = x[k];
  const double before = problem_bearing_film(p, i - 1, hx), here = problem_bearing_film(p, i, hx);
  const double after = problem_bearing_film(p, i + 1, hx);
  const double h_left = w * (before + here) / (2.0 * hx * hx);
  const double h_right = w * (here + after) / (2.0 * hx * hx);
  const double vertical = w * (4.0 * here + before + after) / (6.0 * hy * hy);
  const double left = i > 1 ? x[k - 1] : 0.0, right = i < nx ? x[k + 1] : 0.0;
  const double below = j > 1 ? x[k - nx] : 0.0, above = j < ny ? x[k + nx] : 0.0;
  const double load = p->e * w * sin(i * hx);
  double sum = h_right * (right - v) * (right - v) + vertical * (above - v) * (above - v);
  if (i == 1) sum += h_left * v * v;
  if (j == 1) sum += vertical * v * v;
  *g = h_right * (v - right) + h_left * (v - left) + vertical * (2.0 * v - below - above) - load;
  return 0.5 * sum - load * v;
}

CVTM_HD double problem_quadratic(const problem *p, const double *x, int64_t i, double *g) {
  const double v = x[i];
  double value = 0.5 * p->diagonal[i] * v * v - p->linear[i] * v;
  *g = p->diagonal[i] * v - p->linear[i];
  if (i + 1 < p->n) {
    const double difference = v - x[i + 1];
    value += 0.5 * p->coupling * difference * difference;
    *g += p->coupling * difference;
  }
  if (i > 0) *g += p->coupling * (v - x[i - 1]);
  return value;
}

CVTM_HD double problem_rosenbrock(const problem *p, const double *x, int64_t i, double *g) {
  const double v = x[i];
  double value = 0.0;
  *g = 0.0;
  if (i + 1 < p->n) {
    const double t = x[i + 1] - v * v;
    value = 100.0 * t * t + (1.0 - v) * (1.0 - v);
    *g = -400.0 * v * t - 2.0 * (1.0 - v);
  }
  if (i > 0) *g += 200.0 * (v - x[i - 1] * x[i - 1]);
  return value;
}

CVTM_HD double problem_row(const problem *p, const double *x, int64_t i, double *g) {
  switch (p->kind) {
    case PROBLEM_TORSION:
      return problem_torsion(p, x, i, g);
    case PROBLEM_BEARING:
      return problem_bearing(p, x, i, g);
    case PROBLEM_QUADRATIC:
      return problem_quadratic(p, x, i, g);
    case PROBLEM_ROSENBROCK:
      return problem_rosenbrock(p, x, i, g);
    case PROBLEM_BARRIER:
      *g = 10.0 - 1.0 / x[i];
      return 10.0 * x[i] - log(x[i]);
    default:
      *g = 1.0;
      return x[i] == 1.0 ? 1.0 : sqrt(-1.0);
  }
}

CVTM_C_BEGIN

/* Enqueues an evaluation on a CUDA stream; context is a problem with device pointers.
 * f[1] is the largest |x_i|. Only in builds with CUDA. */
cvtm_status problem_evaluate_cuda(void *context, const double *x, double *f, double *g,
                                  void *stream);

CVTM_C_END
