/* L-BFGS-B: minimises f(x) subject to lower <= x <= upper. All vectors are in device memory. Byrd,
 * Lu, Nocedal & Zhu 1995; subspace step with projection after Morales & Nocedal 2011; approximate
 * Cauchy point and parallel step lengths after Fei, Rong, Wang & Wang 2014; line search by More &
 * Thuente 1994. */
#pragma once

#include "base/device.h"

#include <stddef.h>

CVTM_API_BEGIN

enum { CVTM_LBFGSB_MAX_HISTORY = 128 };

/* Enqueues an evaluation on `stream` (cudaStream_t, NULL on the CPU): reads x[n], writes f[0] = the
 * value, g[n] = the gradient, all in device memory. The function may also write any number to f[1],
 * which is `measure` in the records. A batch of p problems is evaluated together: x[p][n], f[p][2],
 * g[p][n]. The function must not allocate, wait or read results on the host: on CUDA it is captured
 * into a graph once and replayed. If it cannot be captured, the host calls it in every round
 * instead. */
typedef cvtm_status (*cvtm_objective)(void *context, const double *x, double *f, double *g,
                                      void *stream);
/* An evaluation of data on the host: writes g[n] and returns the value. */
typedef double (*cvtm_host_objective)(void *context, const double *x, double *g);

/* X(code, name in reports) */
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

/* The record of an iteration; iteration 0 is the start. */
typedef struct cvtm_lbfgsb_progress {
  int64_t iteration, evaluations;
  double f;
  double measure;            /* f[1] of the accepted evaluation */
  double projected_gradient; /* max-norm of x - clip(x - g) */
  double step;               /* accepted step length of the line search, 0 at the start */
  double cauchy;             /* t^c of the iteration */
  int64_t active;            /* number of variables at a bound */
} cvtm_lbfgsb_progress;

/* Called on the host for every iteration in order, perhaps some iterations late. A nonzero result
 * stops the run. Not called in a batch. */
typedef int (*cvtm_lbfgsb_monitor)(void *context, const cvtm_lbfgsb_progress *progress);

typedef enum cvtm_lbfgsb_cauchy {
  CVTM_LBFGSB_CAUCHY_APPROXIMATE, /* min(t*, t^1), Fei et al., section 4.1 */
  CVTM_LBFGSB_CAUCHY_EXACT        /* the first local minimiser along the projected gradient path,
                                     Byrd et al., section 4 */
} cvtm_lbfgsb_cauchy;

/* A value of 0 disables a tolerance or limit. Each comment ends with the default. A round is an
 * evaluation and the decisions that follow it. */
typedef struct cvtm_lbfgsb_options {
  int history;               /* m, 1 .. 128; 8 */
  int64_t max_iterations;    /* 1000 */
  int64_t max_evaluations;   /* 0 */
  double max_seconds;        /* 0 */
  double gradient_tolerance; /* the run stops when projected_gradient is at most this, and always
                                when it is 0; 0 */
  double decrease_tolerance; /* the run stops when the mean of (f_old - f) / max(|f_old|, |f|) over
                                the last 10 iterations is at most this. With 0 here and no
                                gradient_tolerance, it stops when the mean is at most 8 DBL_EPSILON;
                                with 0 and a gradient_tolerance, only when neither f nor the
                                projected gradient decreased in these iterations; 0 */
  int search_evaluations;    /* limit of one line search; 20 */
  double search_decrease;    /* sufficient decrease; 1e-3 */
  double search_curvature;   /* 0.9 */
  double search_width;       /* relative width of the interval that ends a search; 0.1 */
  cvtm_lbfgsb_cauchy cauchy; /* approximate */
  int host_rounds; /* CUDA: the host enqueues the rounds, at most this many between two polls of the
                      device; with 0 a graph runs them if capture is possible; 0 */
  int time_evaluations; /* nonzero: also sets result.evaluation_seconds on CUDA, by repeating
                           evaluations after the run; 0 */
  cvtm_lbfgsb_monitor monitor;
  void *monitor_context;
  double measure_tolerance; /* the run stops when the measure is at most this; 0 */
  CVTM_RESERVED(7);
} cvtm_lbfgsb_options;

void cvtm_lbfgsb_defaults(cvtm_lbfgsb_options *options);

typedef struct cvtm_lbfgsb_result {
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double f, projected_gradient;
  int64_t active;
  int64_t start_projected;   /* number of start values outside the box, which were moved onto it */
  int64_t restarts;          /* number of times that the history was dropped */
  double seconds;            /* duration of the call, including evaluations */
  double evaluation_seconds; /* duration of the evaluations alone; on CUDA 0 unless time_evaluations
                                is set */
  int captured;              /* nonzero: the loop ran entirely on the device, as a graph */
  CVTM_RESERVED(8);
} cvtm_lbfgsb_result;

typedef struct cvtm_lbfgsb cvtm_lbfgsb;

/* Allocates all memory for n variables, at most 8 n (2 m + 12) bytes and a small constant; with m >
 * 20 at most 8 n (2 m + 20) bytes and 32 MiB. On CUDA m > 20 needs cuBLAS, which is loaded at run
 * time (CVTM_ERROR_UNSUPPORTED without it), and the host drives the loop. A solver can minimise
 * many times. */
cvtm_status cvtm_lbfgsb_create(cvtm_device *device, int64_t n, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver);
/* cvtm_lbfgsb_create for `problems` independent problems of n variables each. CUDA solves each
 * problem in one block, or by the lanes of a warp if n <= 32; the CPU in one thread. Bounds, scale
 * and x are then [problems][n]. */
cvtm_status cvtm_lbfgsb_create_batch(cvtm_device *device, int64_t problems, int64_t n,
                                     const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver);
void cvtm_lbfgsb_destroy(cvtm_lbfgsb *solver);

/* Changes the number of variables of a solver of one problem; CVTM_ERROR_ARGUMENT: n is larger than
 * at the creation of the solver. Drops bounds, scale and history. Runs have the bits of a solver
 * made for n. */
cvtm_status cvtm_lbfgsb_set_size(cvtm_lbfgsb *solver, int64_t n);
/* lower, upper: n doubles in device memory, copied; NULL or infinite: no bounds. Fails for lower >
 * upper and NaN, and names the index. Drops the history. */
cvtm_status cvtm_lbfgsb_set_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper);
/* Makes the solver work on y with x_i = scale_i y_i; projected_gradient is then with respect to y.
 * scale: n doubles in device memory, copied; NULL: all ones. Fails for a scale that is not positive
 * and finite, and names the index. Drops the history. */
cvtm_status cvtm_lbfgsb_set_scaling(cvtm_lbfgsb *solver, const double *scale);
/* Replaces limits, tolerances and monitor. `history` and `cauchy` must not change. */
cvtm_status cvtm_lbfgsb_set_options(cvtm_lbfgsb *solver, const cvtm_lbfgsb_options *options);

/* Minimises. x: n doubles in device memory: on entry the start, which is projected onto the box; on
 * return the best point found, for any stop. The objective is never evaluated outside the box.
 * Fails with CVTM_ERROR_EVALUATION if the objective is not finite at the start. result: one for
 * each problem, or NULL. */
cvtm_status cvtm_lbfgsb_minimize(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                                 void *context, cvtm_lbfgsb_result *result);
/* Continues the last run of this solver, or the restored run, with its history and the current
 * limits of the options. x is only written. After a stop by the limit of iterations, the iterates
 * are bit for bit those of a run without the stop. CVTM_ERROR_ARGUMENT: there is no run. */
cvtm_status cvtm_lbfgsb_resume(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                               void *context, cvtm_lbfgsb_result *result);
/* Minimises over n variables on the host in one call. lower and upper may be NULL; x is the start
 * and the result; a failure does not change it. On CUDA each evaluation copies x and g between host
 * and device. */
cvtm_status cvtm_lbfgsb_minimize_host(cvtm_device *device, int64_t n, const double *lower,
                                      const double *upper, double *x, cvtm_host_objective objective,
                                      void *context, const cvtm_lbfgsb_options *options,
                                      cvtm_lbfgsb_result *result);

/* Reverse communication: the caller evaluates the objective, at any time.
 *
 *   cvtm_lbfgsb_start(solver, x, &at);
 *   do {
 *     ... at.f[0] and at.g from at.x, in device memory, enqueued or done ...
 *     cvtm_lbfgsb_advance(solver, &running);
 *   } while (running);
 *   cvtm_lbfgsb_finish(solver, x, &result); */
typedef struct cvtm_lbfgsb_evaluation {
  const double *x;
  double *f, *g;
} cvtm_lbfgsb_evaluation;

/* Begins a run from x. The pointers in *at do not change during the run. */
cvtm_status cvtm_lbfgsb_start(cvtm_lbfgsb *solver, const double *x, cvtm_lbfgsb_evaluation *at);
/* Uses the evaluation at at->x. Then at->x is the next point, unless *running = 0. Waits for the
 * device. running NULL: does not wait, and may be captured into a graph if the history has at most
 * 20 pairs. cvtm_lbfgsb_poll or a later call says whether the run has ended; evaluations after its
 * end are not used. */
cvtm_status cvtm_lbfgsb_advance(cvtm_lbfgsb *solver, int *running);
/* Waits for the device; then *running = 0 if the run has ended. */
cvtm_status cvtm_lbfgsb_poll(cvtm_lbfgsb *solver, int *running);
/* Ends the run, even if it is still running. x: the best point found. result may be NULL; for a
 * large batch that has ended, this saves copying its states. */
cvtm_status cvtm_lbfgsb_finish(cvtm_lbfgsb *solver, double *x, cvtm_lbfgsb_result *result);
/* Between start and finish: problem p still runs if element p * *stride of the result, in device
 * memory that the solver owns, is not 0. The evaluations of other problems are not used. */
const int *cvtm_lbfgsb_running(const cvtm_lbfgsb *solver, int64_t *stride);

/* The complete state of a run as bytes on the host, without bounds, scale and options. It can be
 * saved between two calls of advance, or after a run. Only the same version, on one kind of machine
 * and device, can restore the bytes; restore checks this (CVTM_ERROR_INPUT). */
size_t cvtm_lbfgsb_save_bytes(const cvtm_lbfgsb *solver);
cvtm_status cvtm_lbfgsb_save(cvtm_lbfgsb *solver, void *bytes);
/* Restores a run into a solver created for the same n, history and bounds. Then the caller calls
 * resume, or evaluates at at->x and calls advance. at: as in cvtm_lbfgsb_start; may be NULL. */
cvtm_status cvtm_lbfgsb_restore(cvtm_lbfgsb *solver, const void *bytes, size_t count,
                                cvtm_lbfgsb_evaluation *at);

/* The best point so far: n doubles in device memory that the solver owns. In a monitor, the point
 * belongs to the latest iteration, which may be later than the reported iteration. */
const double *cvtm_lbfgsb_point(const cvtm_lbfgsb *solver);

CVTM_API_END
