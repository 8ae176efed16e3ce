/* Inside noise/: the target of Gaussian blue noise. The density is given by the width of the kernel
 * at each point and by the potential (the integral of kernel times density). */
#pragma once

#include "base/device.h"
#include "base/domain.h"
#include "base/portable.h"

#include <math.h>

CVTM_C_BEGIN

/* Values at nodes, with CVTM_TARGET_MARGIN rows and columns outside the domain on each side. */
typedef struct cvtm_target {
  cvtm_domain domain;
  int columns, rows; /* with the margins */
  double step[2]; /* distance between nodes, in pixels; the first inner node is half a step inside
                     the domain */
  double *log_width; /* coefficients of a cubic B-spline */
  double *potential; /* values, for Keys' cubic convolution (1981) */
} cvtm_target;

enum { CVTM_TARGET_MARGIN = 2 };

/* density: width * height, >= 0, finite, not all 0, proportional to the wanted density of `count`
 * points. width: the width of kernels, in units of the local spacing 1 / sqrt(local density). The
 * local density is the mean with Gaussian weights of the kernel's own width, so that the width is
 * finite where the density is 0. Sets the potential to 0. *target is empty on failure
 * (CVTM_ERROR_MEMORY), else cvtm_target_free frees its arrays. *masses, unless masses is NULL: the
 * number of points wanted in each cell, an array that the caller frees. */
cvtm_status cvtm_target_create(cvtm_domain domain, const float *density, int64_t count,
                               double width, int threads, cvtm_target *target, double **masses,
                               cvtm_error *error);
/* Computes the potential of the masses on the device. Sets the device's error on failure. */
cvtm_status cvtm_target_add_potential(cvtm_device *device, const double *masses,
                                      cvtm_target *target);
void cvtm_target_free(cvtm_target *target);

CVTM_C_END

/* --- interpolation ------------------------------------------------------------------------- */

typedef struct cvtm_target_value {
  double log_width, potential;
  double width_by[2], potential_by[2]; /* derivatives of both with respect to x and y */
} cvtm_target_value;

/* Four nodes along each axis, their weights, and the derivatives of the weights. */
typedef struct cvtm_target_stencil {
  int first[2]; /* the first of the four nodes along each axis */
  double spline[2][4], spline_by[2][4], keys[2][4], keys_by[2][4];
} cvtm_target_stencil;

/* Sets the weights of four nodes, and the derivatives of the weights, at the fraction t of the
 * distance from the second node to the third. */
CVTM_HD void cvtm_spline_weights(double t, double *w, double *dw) {
  const double u = 1 - t;
  w[0] = u * u * u / 6;
  w[1] = 2.0 / 3 - t * t + t * t * t / 2;
  w[2] = 2.0 / 3 - u * u + u * u * u / 2;
  w[3] = t * t * t / 6;
  dw[0] = -u * u / 2;
  dw[1] = -2 * t + 1.5 * t * t;
  dw[2] = 2 * u - 1.5 * u * u;
  dw[3] = t * t / 2;
}

CVTM_HD void cvtm_keys_weights(double t, double *w, double *dw) {
  w[0] = t * (-0.5 + t * (1 - 0.5 * t));
  w[1] = 1 + t * t * (-2.5 + 1.5 * t);
  w[2] = t * (0.5 + t * (2 - 1.5 * t));
  w[3] = t * t * (-0.5 + 0.5 * t);
  dw[0] = -0.5 + t * (2 - 1.5 * t);
  dw[1] = t * (-5 + 4.5 * t);
  dw[2] = 0.5 + t * (4 - 4.5 * t);
  dw[3] = t * (-1 + 1.5 * t);
}

CVTM_HD cvtm_target_stencil cvtm_target_stencil_at(const cvtm_target *target, double x, double y) {
  cvtm_target_stencil s;
  const double place[2] = {x, y};
  const int nodes[2] = {target->columns, target->rows};
  for (int axis = 0; axis < 2; ++axis) {
    const double u = place[axis] / target->step[axis] - 0.5 + CVTM_TARGET_MARGIN;
    const int i = (int)fmin(fmax(floor(u), 1), nodes[axis] - 3);
    s.first[axis] = i - 1;
    cvtm_spline_weights(u - i, s.spline[axis], s.spline_by[axis]);
    cvtm_keys_weights(u - i, s.keys[axis], s.keys_by[axis]);
  }
  return s;
}

/* Moves a coordinate into the domain: by periods on a torus, else to the nearest point. */
CVTM_HD double cvtm_into_domain(double x, double side, int periodic) {
  if (periodic) {
    x -= side * floor(x / side);
    return x < side ? x : 0;
  }
  return fmin(fmax(x, 0), side);
}

/* Interpolates at a point inside the domain. */
CVTM_HD cvtm_target_value cvtm_target_at(const cvtm_target *target, double x, double y) {
  const cvtm_target_stencil s = cvtm_target_stencil_at(target, x, y);
  cvtm_target_value v = {0, 0, {0, 0}, {0, 0}};
  for (int j = 0; j < 4; ++j) {
    const int64_t row = (int64_t)(s.first[1] + j) * target->columns + s.first[0];
    double sum[4] = {0, 0, 0, 0}; /* values and derivatives along the row */
    for (int i = 0; i < 4; ++i) {
      sum[0] += s.spline[0][i] * target->log_width[row + i];
      sum[1] += s.spline_by[0][i] * target->log_width[row + i];
      sum[2] += s.keys[0][i] * target->potential[row + i];
      sum[3] += s.keys_by[0][i] * target->potential[row + i];
    }
    v.log_width += s.spline[1][j] * sum[0];
    v.width_by[0] += s.spline[1][j] * sum[1];
    v.width_by[1] += s.spline_by[1][j] * sum[0];
    v.potential += s.keys[1][j] * sum[2];
    v.potential_by[0] += s.keys[1][j] * sum[3];
    v.potential_by[1] += s.keys_by[1][j] * sum[2];
  }
  for (int axis = 0; axis < 2; ++axis) {
    v.width_by[axis] /= target->step[axis];
    v.potential_by[axis] /= target->step[axis];
  }
  return v;
}
