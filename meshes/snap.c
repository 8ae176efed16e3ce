#include "meshes/snap.h"

#include <math.h>
#include <stdint.h>

typedef struct bounds {
  double low[2], high[2];
} bounds;

/* Coordinates beyond this could overflow when rounded to the grid. */
static const double largest_coordinate = 1e300;

static cvtm_status find_bounds(const double *points, int64_t count, bounds *box,
                               cvtm_error *error) {
  for (int axis = 0; axis < 2; ++axis) box->low[axis] = box->high[axis] = points[axis];
  for (int64_t i = 0; i < count; ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      const double v = points[2 * i + axis];
      if (!(fabs(v) <= largest_coordinate)) {
        return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld: coordinate %g is %s", (long long)i,
                         v, isfinite(v) ? "too large" : "not finite");
      }
      if (v < box->low[axis]) box->low[axis] = v;
      if (v > box->high[axis]) box->high[axis] = v;
    }
  }
  return CVTM_OK;
}

/* The exponent of the step: the longer side of the box is 2^29 to 2^30 steps. Points
 * that are on their grid already stay where they are. */
static int step_exponent(const bounds *box) {
  const double span = fmax(box->high[0] - box->low[0], box->high[1] - box->low[1]);
  int exponent = 0;
  if (span > 0) {
    if (frexp(span, &exponent) == 0.5) exponent--;
    exponent -= CVTM_GRID_BITS;
  } else {
    /* One place only: any step does that divides both coordinates. */
    const double size = fmax(fabs(box->low[0]), fabs(box->low[1]));
    const double small = fmin(fabs(box->low[0]), fabs(box->low[1]));
    (void)frexp(small > 0 ? small : size, &exponent);
    exponent -= 53;
  }
  return exponent < -1074 ? -1074 : exponent;
}

/* One axis: rounds `count` coordinates to multiples of 2^exponent in place and stores
 * them in steps above the lowest; with `flip`, below the highest. */
static void snap_axis(double *coordinates, int64_t count, double low, double high, int exponent,
                      int flip, int32_t *grid) {
  const double size = fmax(fabs(low), fabs(high));
  /* That far from zero, doubles are multiples of the step already (and could
   * overflow if counted in steps). */
  const int already = size >= ldexp(1.0, exponent + 60);
  const double first = already ? low : rint(ldexp(low, -exponent));
  const double last = already ? high : rint(ldexp(high, -exponent));
#pragma omp parallel for schedule(static) if (count >= 1 << 15)
  for (int64_t i = 0; i < count; ++i) {
    double *v = coordinates + 2 * i;
    const double steps = already ? *v : rint(ldexp(*v, -exponent));
    const double offset = flip ? last - steps : steps - first;
    grid[2 * i] = (int32_t)(already ? ldexp(offset, -exponent) : offset);
    if (!already) *v = ldexp(steps, exponent) + 0.0; /* no negative zero */
  }
}

cvtm_status cvtm_snap_to_steps(double *points, int64_t count, cvtm_grid_point *grid, double *step,
                               cvtm_error *error) {
  bounds box;
  const cvtm_status status = find_bounds(points, count, &box, error);
  if (status != CVTM_OK) return status;
  const int exponent = step_exponent(&box);
  snap_axis(points, count, box.low[0], box.high[0], exponent, 0, &grid[0].x);
  snap_axis(points + 1, count, box.low[1], box.high[1], exponent, 1, &grid[0].y);
  *step = ldexp(1.0, exponent);
  return CVTM_OK;
}

cvtm_status cvtm_snap_points(double *points, int64_t count, cvtm_grid_point *grid,
                             cvtm_error *error) {
  double step;
  return cvtm_snap_to_steps(points, count, grid, &step, error);
}
