/* The line search of Moré & Thuente, "Line search algorithms with guaranteed sufficient decrease",
 * ACM TOMS 20 (1994). It finds a step with
 *    f(step) <= f(0) + decrease step f'(0)  and  |f'(step)| <= curvature |f'(0)|.
 * A search is a state; each call of cvtm_search_advance takes one evaluation. */
#pragma once

#include "base/portable.h"

#include <math.h>

/* decrease, curvature: parameters of the two conditions. width: relative width of the interval that
 * ends the search. evaluations: the limit of one search. */
typedef struct cvtm_search_options {
  double decrease, curvature, width;
  int evaluations;
} cvtm_search_options;

typedef enum cvtm_search_outcome {
  CVTM_SEARCH_AGAIN,     /* evaluate at the new step */
  CVTM_SEARCH_CONVERGED, /* both conditions hold */
  CVTM_SEARCH_STUCK      /* no further progress; the last step is the best of the search */
} cvtm_search_outcome;

typedef struct cvtm_search {
  double f0, slope0;
  double best_step, best_f, best_slope;    /* the end of the interval with the lower value */
  double other_step, other_f, other_slope; /* the other end */
  double low, high;                        /* bounds of the next step */
  double max_step;
  double width, width_before;
  int bracketed;
  int modified; /* nonzero: stage 1, which may use the auxiliary function psi */
} cvtm_search;

/* Nonzero if value is neither infinite nor NaN. */
CVTM_HD int cvtm_is_finite(double value) { return value - value == 0.0; }

CVTM_HD double cvtm_clamp(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

CVTM_HD double cvtm_max3(double a, double b, double c) {
  const double ab = a > b ? a : b;
  return ab > c ? ab : c;
}

/* Starts a search with value f and slope < 0 at step 0; step: the first trial. */
CVTM_HD void cvtm_search_start(cvtm_search *search, double f, double slope, double step,
                               double max_step) {
  search->f0 = search->best_f = search->other_f = f;
  search->slope0 = search->best_slope = search->other_slope = slope;
  search->best_step = search->other_step = 0.0;
  search->low = 0.0;
  search->high = 5.0 * step;
  search->max_step = max_step;
  search->width = max_step;
  search->width_before = 2.0 * max_step;
  search->bracketed = 0;
  search->modified = 1;
}

/* Finds r of the minimiser a + r (b - a) of the cubic with values fa, fb and slopes da, db at a and
 * b. */
CVTM_HD double cvtm_search_cubic(double a, double fa, double da, double b, double fb, double db) {
  const double theta = 3.0 * (fa - fb) / (b - a) + da + db;
  const double s = cvtm_max3(fabs(theta), fabs(da), fabs(db));
  double root = s * sqrt((theta / s) * (theta / s) - (da / s) * (db / s));
  if (b < a) root = -root;
  return ((root - da) + theta) / (((root - da) + root) + db);
}

/* Case 3 of section 4: a lower value, slopes of the same sign, smaller |slope|. The cubic is used
 * only if it tends to infinity in the direction of the step, or has its minimum beyond the step. */
CVTM_HD double cvtm_search_extrapolate(const cvtm_search *search, double step, double f,
                                       double slope) {
  const double x = search->best_step, fx = search->best_f, dx = search->best_slope;
  const double theta = 3.0 * (fx - f) / (step - x) + dx + slope;
  const double s = cvtm_max3(fabs(theta), fabs(dx), fabs(slope));
  const double square = (theta / s) * (theta / s) - (dx / s) * (slope / s);
  double root = s * sqrt(square > 0.0 ? square : 0.0);
  if (step > x) root = -root;
  const double r = ((root - slope) + theta) / ((root + (dx - slope)) + root);
  const double cubic = r < 0.0 && root != 0.0 ? step + r * (x - step)
                       : step > x             ? search->high
                                              : search->low;
  const double secant = step + slope / (slope - dx) * (x - step);
  const int cubic_is_closer = fabs(cubic - step) < fabs(secant - step);
  if (!search->bracketed) {
    return cvtm_clamp(cubic_is_closer ? secant : cubic, search->low, search->high);
  }
  const double next = cubic_is_closer ? cubic : secant;
  const double limit = step + 0.66 * (search->other_step - step);
  return step > x ? (next < limit ? next : limit) : (next > limit ? next : limit);
}

/* Replaces an end of the interval by the trial (step, f, slope). */
CVTM_HD void cvtm_search_update_interval(cvtm_search *search, double step, double f, double slope,
                                         double opposite) {
  if (f > search->best_f) {
    search->other_step = step;
    search->other_f = f;
    search->other_slope = slope;
    return;
  }
  if (opposite < 0.0) {
    search->other_step = search->best_step;
    search->other_f = search->best_f;
    search->other_slope = search->best_slope;
  }
  search->best_step = step;
  search->best_f = f;
  search->best_slope = slope;
}

/* Section 4: computes the next trial from the interval and the trial (step, f, slope), and updates
 * the interval. */
CVTM_HD double cvtm_search_step(cvtm_search *search, double step, double f, double slope) {
  const double x = search->best_step, fx = search->best_f, dx = search->best_slope;
  const double opposite = slope * (dx < 0.0 ? -1.0 : 1.0);
  double next;
  if (f > fx) {
    /* case 1: a higher value; the interval now brackets a minimum */
    const double cubic = x + cvtm_search_cubic(x, fx, dx, step, f, slope) * (step - x);
    const double quadratic = x + dx / ((fx - f) / (step - x) + dx) / 2.0 * (step - x);
    next = fabs(cubic - x) < fabs(quadratic - x) ? cubic : cubic + (quadratic - cubic) / 2.0;
    search->bracketed = 1;
  } else if (opposite < 0.0) {
    /* case 2: a lower value, slopes of opposite sign; the interval now brackets a minimum */
    const double cubic = step + cvtm_search_cubic(step, f, slope, x, fx, dx) * (x - step);
    const double secant = step + slope / (slope - dx) * (x - step);
    next = fabs(cubic - step) > fabs(secant - step) ? cubic : secant;
    search->bracketed = 1;
  } else if (fabs(slope) < fabs(dx)) {
    next = cvtm_search_extrapolate(search, step, f, slope);
  } else if (search->bracketed) {
    /* case 4: a lower value, slopes of the same sign, |slope| not smaller */
    const double y = search->other_step;
    next = step +
           cvtm_search_cubic(step, f, slope, y, search->other_f, search->other_slope) * (y - step);
  } else {
    next = step > x ? search->high : search->low;
  }
  cvtm_search_update_interval(search, step, f, slope, opposite);
  return next;
}

/* cvtm_search_step for psi(step) = f(step) - f(0) - decrease f'(0) step. Stage 1 lasts until
 * a step has a sufficiently low value and a slope >= 0. It uses psi at steps whose value is not
 * sufficiently low, but not above the best one. tilt: the product decrease * f'(0). */
CVTM_HD double cvtm_search_modified_step(cvtm_search *search, double step, double f, double slope,
                                         double tilt) {
  search->best_f -= search->best_step * tilt;
  search->best_slope -= tilt;
  search->other_f -= search->other_step * tilt;
  search->other_slope -= tilt;
  const double next = cvtm_search_step(search, step, f - step * tilt, slope - tilt);
  search->best_f += search->best_step * tilt;
  search->best_slope += tilt;
  search->other_f += search->other_step * tilt;
  search->other_slope += tilt;
  return next;
}

/* A bound on the rounding error in the difference of two values of size f, sums of many terms. */
CVTM_HD double cvtm_search_noise(double f) { return 1e-13 * fabs(f); }

/* Nonzero if the interval is too narrow for another trial. */
CVTM_HD int cvtm_search_is_stuck(const cvtm_search *search, const cvtm_search_options *options,
                                 double step) {
  return search->bracketed && (step <= search->low || step >= search->high ||
                               search->high - search->low <= options->width * search->high);
}

/* Takes the value and the slope at *step. For CVTM_SEARCH_AGAIN, *step becomes the next trial. */
CVTM_HD cvtm_search_outcome cvtm_search_advance(cvtm_search *search,
                                                const cvtm_search_options *options, double f,
                                                double slope, double *step) {
  const double tilt = options->decrease * search->slope0;
  const double enough = search->f0 + *step * tilt;
  if (search->modified && f <= enough && slope >= 0.0) search->modified = 0;
  /* near a minimum the values differ only by rounding errors; then the slope alone decides (the
   * approximate condition of Hager & Zhang 2005, (4.1)) */
  const int low = f <= enough || f <= search->f0 + cvtm_search_noise(search->f0);
  if (low && fabs(slope) <= options->curvature * -search->slope0) return CVTM_SEARCH_CONVERGED;
  if (cvtm_search_is_stuck(search, options, *step)) return CVTM_SEARCH_STUCK;
  if (*step == search->max_step && f <= enough && slope <= tilt) return CVTM_SEARCH_STUCK;
  if (*step == 0.0) return CVTM_SEARCH_STUCK;

  double next;
  if (search->modified && f <= search->best_f && f > enough) {
    next = cvtm_search_modified_step(search, *step, f, slope, tilt);
  } else {
    next = cvtm_search_step(search, *step, f, slope);
  }
  if (search->bracketed) {
    if (fabs(search->other_step - search->best_step) >= 0.66 * search->width_before) {
      next = search->best_step + 0.5 * (search->other_step - search->best_step);
    }
    search->width_before = search->width;
    search->width = fabs(search->other_step - search->best_step);
    const int ordered = search->best_step < search->other_step;
    search->low = ordered ? search->best_step : search->other_step;
    search->high = ordered ? search->other_step : search->best_step;
  } else {
    search->low = next + 1.1 * (next - search->best_step);
    search->high = next + 4.0 * (next - search->best_step);
  }
  next = cvtm_clamp(next, 0.0, search->max_step);
  if (cvtm_search_is_stuck(search, options, next)) next = search->best_step;
  *step = next;
  return CVTM_SEARCH_AGAIN;
}
