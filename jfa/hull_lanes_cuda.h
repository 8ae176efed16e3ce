/* Inside cell_by_hull.h only, on CUDA: the steps of hull construction that use vectors on a CPU
 * (hull_search.h). */
#pragma once

#include "jfa/hull_search.h"

/* A candidate for the next corner of the hull after corner p. pole: its number; out, across: the
 * components, along p and perpendicular to p, of the step from p to the pole, times |p|. */
typedef struct cvtm_hull_step {
  float out, across;
  int32_t pole;
} cvtm_hull_step;

/* True if b is a better next corner than a. */
CVTM_HD int cvtm_hull_better(const cvtm_hull_step *a, const cvtm_hull_step *b) {
  return b->out * a->across > a->out * b->across;
}

/* The next corner after corner `at`: no pole is to the left of the line through both corners, and
 * the origin is to the right. CVTM_HULL_NONE if there is none. CVTM_HULL_TURN is added if the step
 * leads from y < 0 to y >= 0. */
CVTM_HD int32_t cvtm_hull_next(const cvtm_hull *hull, int32_t at, int32_t count) {
  const cvtm_hull_pole p = hull->pole[at * hull->stride];
  cvtm_hull_step best = {-1, 0, -1}; /* worse than every candidate */
  for (int32_t first = 0; first < count; first += CVTM_HULL_STEP) {
    for (int32_t k = first; k < first + CVTM_HULL_STEP; ++k) {
      const cvtm_hull_pole q = hull->pole[k * hull->stride];
      const float dx = q.x - p.x, dy = q.y - p.y;
      const cvtm_hull_step step = {CVTM_FMAF(p.x, dx, p.y * dy), p.y * dx - p.x * dy, k};
      if (step.across > 0 && cvtm_hull_better(&best, &step)) best = step;
    }
  }
  if (best.pole < 0) return CVTM_HULL_NONE;
  const int turn = p.y < 0 && !(hull->pole[best.pole * hull->stride].y < 0);
  return best.pole | (turn ? CVTM_HULL_TURN : 0);
}

/* Sets scratch[k] to the next corner after pole k, for the poles of this lane. */
CVTM_INLINE void cvtm_hull_find_next(cvtm_lanes lanes, cvtm_hull *hull, int32_t count) {
  for (int32_t k = lanes.lane; k < count; k += lanes.count)
    hull->scratch[k * hull->stride] = cvtm_hull_next(hull, k, count);
}

/* The point where two bisectors meet. A bisector parallel to an axis gives an exact coordinate. */
CVTM_HD void cvtm_hull_corner(double ax, double ay, double bx, double by, double *x, double *y) {
  const double a = 0.5 * (ax * ax + ay * ay), b = 0.5 * (bx * bx + by * by);
  const double scale = CVTM_CORNER_SCALE(ax, ay, bx, by);
  *x = ay == 0 ? 0.5 * ax : by == 0 ? 0.5 * bx : CVTM_CORNER_X(ay, a, by, b, scale);
  *y = ax == 0 ? 0.5 * ay : bx == 0 ? 0.5 * by : CVTM_CORNER_Y(ax, a, bx, b, scale);
}

/* True if (x, y) is within rounding of the bisector with (dx, dy). */
CVTM_HD int cvtm_hull_on_bisector(double dx, double dy, double x, double y) {
  const double d2 = dx * dx + dy * dy;
  return cvtm_within_rounding(fabs(dx * x + dy * y - 0.5 * d2), d2 * (x * x + y * y));
}

/* Computes the corners of the cell. Returns the squared distance of the farthest corner, or
 * infinity if consecutive bisectors do not all turn in the same sense. Sets *good to 1 if each
 * corner of this lane is within rounding of its two bisectors. */
CVTM_INLINE double cvtm_hull_set_corners(const cvtm_hull_search *s, const cvtm_hull *hull,
                                         int32_t sides, cvtm_cell *cell, int *good) {
  double largest = 0;
  *good = 1;
  for (int32_t k = s->lanes.lane; k < sides; k += s->lanes.count) {
    const int32_t next = k + 1 < sides ? k + 1 : 0;
    double ax, ay, bx, by, x, y;
    cvtm_hull_neighbor(s, hull->slot[hull->order[k * hull->stride] * hull->stride], &ax, &ay);
    cvtm_hull_neighbor(s, hull->slot[hull->order[next * hull->stride] * hull->stride], &bx, &by);
    cvtm_hull_corner(ax, ay, bx, by, &x, &y);
    cell->x[k * cell->stride] = x;
    cell->y[k * cell->stride] = y;
    const double r2 = x * x + y * y;
    if (!(r2 < HUGE_VAL && ax * by < ay * bx)) largest = HUGE_VAL;
    if (r2 > largest) largest = r2;
    *good &= cvtm_hull_on_bisector(ax, ay, x, y) & cvtm_hull_on_bisector(bx, by, x, y);
  }
  cell->count = sides;
  return cvtm_lanes_largest(s->lanes, largest);
}
