/* L-BFGS-B: minimise f(x) subject to lower <= x <= upper, with everything of
 * size n in device memory. Byrd, Lu, Nocedal & Zhu 1995; subspace step with
 * projection after Morales & Nocedal 2011; approximate Cauchy point and parallel
 * step lengths after Fei, Rong, Wang & Wang 2014; line search by More & Thuente 1994. */
#ifndef CVTMESH_LBFGSB_LBFGSB_H
#define CVTMESH_LBFGSB_LBFGSB_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_LBFGSB_MAX_HISTORY = 20 };

/* Enqueues one evaluation on `stream` (cudaStream_t, NULL on the CPU): reads
 * x[n], writes f[0] = the value, g[n] = the gradient, all in device memory.
 * f[1] may receive a figure of the caller's, which the history keeps as `measure`.
 * Asynchronous, no allocation, no host read, capturable in a graph. */
typedef cvtm_status (*cvtm_objective)(void *context, const double *x, double *f, double *g,
                                      void *stream);

/* code, name in reports */
#define CVTM_STOP_LIST(X)                 \
  X(CVTM_STOP_NONE, "running")            \
  X(CVTM_STOP_GRADIENT, "gradient")       \
  X(CVTM_STOP_DECREASE, "decrease")       \
  X(CVTM_STOP_ITERATIONS, "iterations")   \
  X(CVTM_STOP_EVALUATIONS, "evaluations") \
  X(CVTM_STOP_TIME, "time")               \
  X(CVTM_STOP_REQUEST, "request")         \
  X(CVTM_STOP_LINE_SEARCH, "line search") \
  X(CVTM_STOP_NOT_FINITE, "not finite")

typedef enum cvtm_stop {
#define CVTM_STOP_CODE(code, name) code,
  CVTM_STOP_LIST(CVTM_STOP_CODE)
#undef CVTM_STOP_CODE
} cvtm_stop;

const char *cvtm_stop_name(cvtm_stop stop);

/* One iteration as the history keeps it; iteration 0 is the start. */
typedef struct cvtm_lbfgsb_progress {
  int64_t iteration, evaluations;
  double f;
  double measure;            /* f[1] of the accepted evaluation */
  double projected_gradient; /* max-norm of x - clip(x - g) */
  double step;               /* accepted step length of the line search, 0 at the start */
  double cauchy;             /* t^c of the iteration */
  int64_t active;            /* variables at a bound */
} cvtm_lbfgsb_progress;

/* Called on the host for every iteration in order, possibly a few iterations late;
 * nonzero asks to stop. */
typedef int (*cvtm_lbfgsb_monitor)(void *context, const cvtm_lbfgsb_progress *progress);

/* Zero of a tolerance or a limit switches it off. */
typedef struct cvtm_lbfgsb_options {
  int history;               /* m, 1 .. 20; 8 */
  int64_t max_iterations;    /* 1000 */
  int64_t max_evaluations;   /* 0 */
  double max_seconds;        /* 0 */
  double gradient_tolerance; /* stop when projected_gradient <= this; 0 */
  double decrease_tolerance; /* stop when the mean of (f_old - f) / max(|f_old|, |f|) over the
                                last 10 iterations <= this; 0: only when neither f nor the
                                projected gradient got any smaller in them */
  int search_evaluations;    /* most evaluations of one line search; 20 */
  double search_decrease;    /* sufficient decrease; 1e-3 */
  double search_curvature;   /* 0.9 */
  double search_width;       /* relative width of the interval at which it gives up; 0.1 */
  cvtm_lbfgsb_monitor monitor;
  void *monitor_context;
} cvtm_lbfgsb_options;

void cvtm_lbfgsb_defaults(cvtm_lbfgsb_options *options);

typedef struct cvtm_lbfgsb_result {
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double f, projected_gradient;
  int64_t active;
  int64_t start_projected; /* start values that lay outside the box and were moved onto it */
  int64_t restarts;        /* times the history was dropped */
  double seconds;
} cvtm_lbfgsb_result;

typedef struct cvtm_lbfgsb cvtm_lbfgsb;

/* Allocates everything for n variables; a solver can minimise many times. */
cvtm_status cvtm_lbfgsb_create(cvtm_device *device, int64_t n, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver);
void cvtm_lbfgsb_destroy(cvtm_lbfgsb *solver);

/* lower, upper: n doubles in device memory, copied; NULL or infinities for none.
 * lower > upper or NaN is refused with the index. */
cvtm_status cvtm_lbfgsb_set_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper);
/* The solver works on y with x_i = scale_i y_i (scale_i > 0, n doubles in device
 * memory, copied; NULL: all ones). projected_gradient is then that of y. Drops the history. */
cvtm_status cvtm_lbfgsb_set_scaling(cvtm_lbfgsb *solver, const double *scale);
/* Replaces the limits, tolerances and monitor; `history` must stay. */
cvtm_status cvtm_lbfgsb_set_options(cvtm_lbfgsb *solver, const cvtm_lbfgsb_options *options);

/* x: n doubles in device memory, the start on entry (projected onto the box), the
 * best point found on return, whatever the stop. The objective is never evaluated
 * outside the box. CVTM_ERROR_EVALUATION if it is not finite at the start. */
cvtm_status cvtm_lbfgsb_minimize(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                                 void *context, cvtm_lbfgsb_result *result);

#ifdef __cplusplus
}
#endif
#endif
