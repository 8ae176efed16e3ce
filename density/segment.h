/* Segmentation by a level set under constraints (Klement, Oberhuber & Sevcovic): the curve u = 0
 * moves by
 *
 *     u_t = Q div(g grad u / Q),  Q = sqrt(eps^2 + |grad u|^2),  g = 1 / (1 + K |grad I|^2),
 *
 * on the unit square (longer side 1, Neumann), inside where u < 0, with lower <= u <= upper: what
 * belongs to the object has a negative upper bound, what does not a positive lower one.
 * Semi-implicit finite volumes: divided by Q and integrated over a pixel, every step is one LCP
 * with a symmetric five-point M-matrix,
 *
 *     b_p u_p + tau sum_q a_pq (u_p - u_q) <= b_p u_p^n,  b_p = h^2 / mean Q,  a_pq = g_pq / Q_pq,
 *
 * solved by multigrid, starting from u^n + (u^n - u^(n-1)). The motion decreases the energy, the
 * integral of g Q. */
#ifndef CVTMESH_DENSITY_SEGMENT_H
#define CVTMESH_DENSITY_SEGMENT_H

#include "lcp/lcp.h"

CVTM_API_BEGIN

typedef struct cvtm_segment_progress {
  int64_t step;   /* 0: the start */
  double change;  /* h ||u^(n+1) - u^n||_2 */
  double area;    /* share of the pixels with u < 0 */
  double energy;  /* the integral of g Q over the unit square */
  int64_t cycles; /* of multigrid, in this step */
  int stalled;    /* the step's LCP was not solved */
} cvtm_segment_progress;

/* Called on the host after every step; nonzero asks to stop. */
typedef int (*cvtm_segment_monitor)(void *context, const cvtm_segment_progress *progress);

typedef struct cvtm_segment_options {
  double k;              /* K >= 0: how much an edge holds the curve; 10 */
  double epsilon;        /* 1 */
  double tau;            /* the step in time; 5e-3 */
  int64_t max_steps;     /* 200 */
  double tolerance;      /* stop when the change is less; 5e-4 */
  double step_tolerance; /* of the LCPs: the fall of the natural residual; 3e-5 */
  cvtm_segment_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_segment_options;

void cvtm_segment_defaults(cvtm_segment_options *options);

/* code, name in reports */
#define CVTM_SEGMENT_STOP_LIST(X)            \
  X(CVTM_SEGMENT_CONVERGED, "tolerance")     \
  X(CVTM_SEGMENT_STEPS, "steps")             \
  X(CVTM_SEGMENT_INTERRUPTED, "interrupted") \
  X(CVTM_SEGMENT_STEP_FAILED, "a step's LCP did not converge")

typedef enum cvtm_segment_stop {
#define CVTM_SEGMENT_STOP_CODE(code, name) code,
  CVTM_SEGMENT_STOP_LIST(CVTM_SEGMENT_STOP_CODE)
#undef CVTM_SEGMENT_STOP_CODE
} cvtm_segment_stop;

const char *cvtm_segment_stop_name(cvtm_segment_stop stop);

typedef struct cvtm_segment_result {
  cvtm_segment_stop stop;
  int64_t steps, cycles;       /* cycles of all steps */
  double change, area, energy; /* of the last step */
  double seconds;
  CVTM_RESERVED(8);
} cvtm_segment_result;

typedef struct cvtm_segment cvtm_segment;

/* Allocates all memory for images of one size, except for the solver's operators, which the first
 * step allocates. No later step allocates, and none copies a field to or from the host. */
cvtm_status cvtm_segment_create(cvtm_device *device, int width, int height,
                                const cvtm_segment_options *options, cvtm_segment **segment);
void cvtm_segment_destroy(cvtm_segment *segment);
/* All of width * height doubles in host memory: the image, presmoothed or not, in [0, 1]; the
 * bounds, NULL for none; u, the start (clipped to the bounds). CVTM_ERROR_INPUT if the bounds
 * contradict. On return u is the last step's. */
cvtm_status cvtm_segment_solve(cvtm_segment *segment, const double *image, const double *lower,
                               const double *upper, double *u, cvtm_segment_result *result);

CVTM_API_END
#endif
