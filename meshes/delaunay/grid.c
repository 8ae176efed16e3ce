#include "meshes/delaunay/grid.h"

#include <math.h>
#include <stdint.h>

static cvtm_status find_bounds(const double *points, int64_t count, cvtm_bounds *box,
                               cvtm_error *error) {
  for (int axis = 0; axis < 2; ++axis) box->low[axis] = box->high[axis] = points[axis];
  for (int64_t i = 0; i < count; ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      const double v = points[2 * i + axis];
      if (!(fabs(v) <= CVTM_LARGEST_COORDINATE))
        return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld: coordinate %g is %s", (long long)i,
                         v, isfinite(v) ? "too large" : "not finite");
      if (v < box->low[axis]) box->low[axis] = v;
      if (v > box->high[axis]) box->high[axis] = v;
    }
  }
  box->usable = 1;
  return CVTM_OK;
}

int cvtm_snap_exponent(const cvtm_bounds *box) {
  const double span = fmax(box->high[0] - box->low[0], box->high[1] - box->low[1]);
  int exponent = 0;
  if (span > 0) {
    if (frexp(span, &exponent) == 0.5) exponent--;
    exponent -= CVTM_GRID_BITS;
  } else {
    /* All points coincide: any step works that divides both coordinates. */
    const double size = fmax(fabs(box->low[0]), fabs(box->low[1]));
    const double small = fmin(fabs(box->low[0]), fabs(box->low[1]));
    (void)frexp(small > 0 ? small : size, &exponent);
    exponent -= 53;
  }
  return exponent < -1074 ? -1074 : exponent;
}

static cvtm_snap_axis axis_for(double low, double high, int exponent, int flip) {
  const double size = fmax(fabs(low), fabs(high));
  /* So far from zero, all doubles are already multiples of the step. */
  const int already = size >= ldexp(1.0, exponent + 60);
  return (cvtm_snap_axis){.first = already ? low : rint(ldexp(low, -exponent)),
                          .last = already ? high : rint(ldexp(high, -exponent)),
                          .exponent = exponent,
                          .flip = flip,
                          .already = already};
}

cvtm_snapping cvtm_snapping_for(const cvtm_bounds *bounds, int exponent) {
  return (cvtm_snapping){axis_for(bounds->low[0], bounds->high[0], exponent, 0),
                         axis_for(bounds->low[1], bounds->high[1], exponent, 1)};
}

cvtm_status cvtm_snap_to_steps(double *points, int64_t count, cvtm_grid_point *grid, double *step,
                               cvtm_error *error) {
  cvtm_bounds box;
  CVTM_TRY(find_bounds(points, count, &box, error));
  const cvtm_snapping snapping = cvtm_snapping_for(&box, cvtm_snap_exponent(&box));
#pragma omp parallel for schedule(static) if (count >= 1 << 15)
  for (int64_t i = 0; i < count; ++i) {
    grid[i].x = cvtm_snap_coordinate(&snapping.x, points + 2 * i);
    grid[i].y = cvtm_snap_coordinate(&snapping.y, points + 2 * i + 1);
  }
  *step = ldexp(1.0, snapping.x.exponent);
  return CVTM_OK;
}

cvtm_status cvtm_grid_of_points(const double *points, int64_t count, cvtm_grid_point *grid,
                                cvtm_error *error) {
  cvtm_bounds box;
  CVTM_TRY(find_bounds(points, count, &box, error));
  const cvtm_snapping snapping = cvtm_snapping_for(&box, cvtm_snap_exponent(&box));
  for (int64_t i = 0; i < count; ++i) {
    double place[2] = {points[2 * i], points[2 * i + 1]};
    grid[i].x = cvtm_snap_coordinate(&snapping.x, place);
    grid[i].y = cvtm_snap_coordinate(&snapping.y, place + 1);
  }
  return CVTM_OK;
}

cvtm_status cvtm_snap_points(double *points, int64_t count, cvtm_grid_point *grid,
                             cvtm_error *error) {
  double step;
  return cvtm_snap_to_steps(points, count, grid, &step, error);
}
