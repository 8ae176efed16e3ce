/* Inside lcp only: the common head of every solver behind a cvtm_lcp, and the stopping
 * rule that all of them share. A solver embeds cvtm_lcp as its first member. */
#ifndef CVTMESH_LCP_LCP_STATE_H
#define CVTMESH_LCP_LCP_STATE_H

#include "base/portable.h"
#include "lcp/lcp.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_lcp_table {
  /* Arguments as in cvtm_lcp_solve; pointers, b and the bounds are checked beforehand.
   * Fills in everything of the result but `seconds` and `setup_seconds`. */
  cvtm_status (*solve)(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                       double *x, int warm, cvtm_lcp_result *result);
  /* Frees the whole solver, the head included. */
  void (*destroy)(cvtm_lcp *lcp);
} cvtm_lcp_table;

struct cvtm_lcp {
  const cvtm_lcp_table *table;
  cvtm_device *device;
  int64_t rows;
  cvtm_lcp_options options; /* checked; method is never auto */
  double setup_seconds;
  int64_t *verdict; /* device memory: 2 numbers for the check of b and the bounds */
};

/* Fills in the head: checks and copies the options, allocates what the dispatch needs.
 * On failure nothing is left to free. The solver's destroy calls close. */
cvtm_status cvtm_lcp_open(cvtm_lcp *lcp, const cvtm_lcp_table *table, cvtm_device *device,
                          int64_t rows, const cvtm_lcp_options *options);
void cvtm_lcp_close(cvtm_lcp *lcp);

#ifdef __cplusplus
}
#endif

/* --- stopping --------------------------------------------------------------------- */

enum { CVTM_LCP_WINDOW = 10 }; /* iterations over which progress is judged */

/* Lives in device memory where the loop does. */
typedef struct cvtm_lcp_course {
  double target;                  /* of the 2-norm of the natural residual */
  double cold;                    /* 2-norm at clip(0); 0: not known */
  double first;                   /* 2-norm at the start of this solve */
  double norm, maximum;           /* of the last iterate */
  double best;                    /* smallest 2-norm so far */
  double rounding;                /* of the 2-norm of that iterate */
  double marker;                  /* smallest 2-norm at the end of the last window */
  double recent[CVTM_LCP_WINDOW]; /* 2-norms, by iteration modulo the window */
  int64_t iteration, limit;
  int64_t window;   /* iterations without progress that count as a stall */
  int32_t roams;    /* iterates may be far outside the box for a while: no sign of divergence */
  int32_t go_on;    /* the flag of the loop */
  int32_t improved; /* the last iterate is the best so far, or as good as rounding lets one be */
  int32_t stop;     /* cvtm_lcp_stop once go_on is 0 */
} cvtm_lcp_course;

/* Not better than in an earlier window, but on the way down: cycles that move a free boundary
 * first raise the residual. */
CVTM_HD int cvtm_lcp_is_falling(const cvtm_lcp_course *course) {
  const int64_t most = CVTM_LCP_WINDOW;
  const int64_t count = course->iteration < most ? course->iteration + 1 : most;
  double largest = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (course->recent[k] < course->norm) return 0;
    if (course->recent[k] > largest) largest = course->recent[k];
  }
  return course->norm < 0.99 * largest;
}

/* The best iterate is as good as any: rounding hides what is left. Where it hides by far more than
 * there was to begin with, nothing is known. */
CVTM_HD int32_t cvtm_lcp_reason_to_give_up(const cvtm_lcp_course *course) {
  const int is_blind = course->cold > 0 && course->rounding > 1e4 * course->cold;
  return course->best <= course->rounding && !is_blind ? CVTM_LCP_ROUNDING : CVTM_LCP_STALLED;
}

/* Takes in the norms of the iterate after `iteration` iterations (0: the start). `rounding`
 * is the size of the rounding errors in the residual's 2-norm. */
CVTM_HD void cvtm_lcp_judge(cvtm_lcp_course *course, double norm, double maximum, double rounding) {
  course->norm = norm;
  course->maximum = maximum;
  course->go_on = 0;
  if (course->iteration == 0) {
    course->first = course->best = course->marker = norm;
    course->rounding = rounding;
  }
  course->improved = norm < course->best || norm <= course->rounding || course->iteration == 0;
  course->recent[course->iteration % CVTM_LCP_WINDOW] = norm;
  if (norm < course->best) {
    course->best = norm;
    course->rounding = rounding;
  }
  if (!isfinite(norm) || (!course->roams && norm > 1e6 * course->first + rounding)) {
    course->stop = CVTM_LCP_DIVERGED;
  } else if (norm <= course->target && isfinite(course->target)) {
    course->stop = CVTM_LCP_CONVERGED;
  } else {
    const int is_last = course->iteration >= course->limit;
    course->go_on = !is_last;
    if (is_last) course->stop = CVTM_LCP_ITERATIONS;
    if (course->iteration > 0 && course->iteration % course->window == 0) {
      const int as_good = course->best <= course->rounding; /* chance may still lower it a little */
      if (course->best > (as_good ? 0.5 : 0.99) * course->marker &&
          (as_good || !cvtm_lcp_is_falling(course))) {
        course->go_on = 0;
        course->stop = cvtm_lcp_reason_to_give_up(course);
      }
      course->marker = course->best;
    }
  }
}

/* Geometric mean of the last reductions, at most a window of them; NaN before the first. */
CVTM_HD double cvtm_lcp_rate(const cvtm_lcp_course *course) {
  const int64_t steps =
      course->iteration < CVTM_LCP_WINDOW ? course->iteration : CVTM_LCP_WINDOW - 1;
  if (steps == 0) return (double)NAN;
  const double before = course->recent[(course->iteration - steps) % CVTM_LCP_WINDOW];
  return before > 0 ? pow(course->norm / before, 1.0 / (double)steps) : 0;
}

#endif
