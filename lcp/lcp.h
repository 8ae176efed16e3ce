/* Linear complementarity problems with bounds: find x with
 *
 *     lower <= x <= upper,  F = A x - b,
 *     F_i >= 0 where x_i = lower_i,  F_i <= 0 where x_i = upper_i,  F_i = 0 elsewhere.
 *
 * A bound may be infinite. A problem is solved if its natural residual r_i = x_i - clip(x_i - F_i,
 * lower_i, upper_i) is small. A has one of two forms: any sparse matrix, or a five-point operator
 * on a grid of pixels that is never stored as a matrix. */
#pragma once

#include "base/device.h"
#include "lcp/sparse.h"

CVTM_API_BEGIN

/* X(code, name)
 *   psor   projected multicolour SOR
 *   tnnmg  truncated nonsmooth Newton multigrid (Graser & Kornhuber)
 *   pdas   primal-dual active set, a semismooth Newton method; any M- or H-matrix
 *   lemke  Lemke's path with lexicographic pivots, on the host with a dense matrix; any diagonal.
 *          Finds a solution or a ray if A is positive semidefinite or a P-matrix.
 *
 * auto chooses tnnmg if A is symmetric, else pdas; and lemke for up to 2000 rows if the diagonal is
 * not positive, or if the other method finds no solution. tnnmg needs a symmetric positive definite
 * matrix. On a stored matrix it continues as pdas if its cycles stall. With the option `nested` it
 * also does so if its cycles are still slow after 20, for example if coefficients jump by orders of
 * magnitude. Symmetry and a positive diagonal are checked, definiteness is not; result->stop tells
 * whether a solution was found. If the matrix is not symmetric, pdas continues beyond the
 * tolerance, while it makes progress, until another norm has fallen by the same factor: the 1-norm
 * of the natural residual of the problem whose rows are divided by powers of two, such that the
 * diagonal entries are in [1, 2). */
#define CVTM_LCP_METHOD_LIST(X) \
  X(CVTM_LCP_AUTO, "auto")      \
  X(CVTM_LCP_PSOR, "psor")      \
  X(CVTM_LCP_TNNMG, "tnnmg")    \
  X(CVTM_LCP_PDAS, "pdas")      \
  X(CVTM_LCP_LEMKE, "lemke")

typedef enum cvtm_lcp_method {
#define CVTM_LCP_METHOD_CODE(code, name) code,
  CVTM_LCP_METHOD_LIST(CVTM_LCP_METHOD_CODE)
#undef CVTM_LCP_METHOD_CODE
} cvtm_lcp_method;

/* code, name in reports
 * tolerance    the norm of the residual is at most its target
 * iterations   the limit of iterations is reached
 * stalled      the residual no longer falls
 * diverged     the residual has grown by a factor of 10^6 or is not finite
 * rounding     the residual no longer falls, and is no larger than its rounding errors
 * interrupted  the monitor has asked to stop
 * ray          no path of lemke ends at a solution, but a solution may exist. A is not positive
 *              semidefinite
 * infeasible   there is no solution. lemke has found a vector y with y'F < 0 for every x within the
 *              bounds, but y'F >= 0 would hold for a solution */
#define CVTM_LCP_STOP_LIST(X)            \
  X(CVTM_LCP_CONVERGED, "tolerance")     \
  X(CVTM_LCP_ITERATIONS, "iterations")   \
  X(CVTM_LCP_STALLED, "stalled")         \
  X(CVTM_LCP_DIVERGED, "diverged")       \
  X(CVTM_LCP_ROUNDING, "rounding")       \
  X(CVTM_LCP_INTERRUPTED, "interrupted") \
  X(CVTM_LCP_RAY, "ray")                 \
  X(CVTM_LCP_INFEASIBLE, "infeasible")

typedef enum cvtm_lcp_stop {
#define CVTM_LCP_STOP_CODE(code, name) code,
  CVTM_LCP_STOP_LIST(CVTM_LCP_STOP_CODE)
#undef CVTM_LCP_STOP_CODE
} cvtm_lcp_stop;

const char *cvtm_lcp_method_name(cvtm_lcp_method method);
const char *cvtm_lcp_stop_name(cvtm_lcp_stop stop);
/* Nonzero if the iterate is a solution: the tolerance was reached, or rounding errors prevent it.
 */
int cvtm_lcp_is_solved(cvtm_lcp_stop stop);

typedef struct cvtm_lcp_progress {
  int64_t iteration; /* sweeps of psor, corrections of multigrid, steps of pdas, pivots of lemke; 0:
                        the start. Multigrid measures after a cycle; on a stored matrix, after the
                        next cycle's first sweep */
  double natural_residual; /* 2-norm */
  double natural_residual_max;
} cvtm_lcp_progress;

/* Called on the host for every iteration, in order, perhaps a few iterations late. A nonzero result
 * stops the solve. */
typedef int (*cvtm_lcp_monitor)(void *context, const cvtm_lcp_progress *progress);

/* Each comment ends with the default; without one, the default is 0 or NULL. */
typedef struct cvtm_lcp_options {
  cvtm_lcp_method method; /* auto */
  double tolerance; /* stop when the 2-norm of the natural residual has fallen by this factor from
                       its value at the cold start clip(0); 1e-8 */
  double absolute_tolerance; /* or when this norm is at most this number; 0: never */
  int64_t max_iterations;    /* 0: 100000 sweeps of psor, 100 pivots of lemke for each row, 200
                                iterations of the other methods */
  double omega;              /* relaxation of psor, in (0, 2); 1 */
  int nested;                /* start multigrid on coarser grids, unless warm; 1 */
  cvtm_lcp_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_lcp_options;

void cvtm_lcp_defaults(cvtm_lcp_options *options);

typedef struct cvtm_lcp_result {
  cvtm_lcp_method method; /* the method that was used; never auto */
  cvtm_lcp_stop stop;
  int64_t iterations;
  double natural_residual, natural_residual_max;
  int64_t active_lower, active_upper; /* number of x_i at a bound */
  double energy;                      /* 1/2 x'Ax - b'x; NaN if A is not symmetric */
  double rate;                        /* geometric mean of the last reductions of the residual */
  double seconds, setup_seconds;
  CVTM_RESERVED(8);
} cvtm_lcp_result;

typedef struct cvtm_lcp cvtm_lcp;

/* Checks and copies a matrix; sets up colouring, hierarchy and all memory. If width * height =
 * rows, the unknowns are the nodes of a grid, row by row (geometric hierarchy). If both are 0,
 * there is no grid (hierarchy by aggregation). CVTM_ERROR_INPUT: a grid with another number of
 * nodes, or a matrix that the method cannot solve. */
cvtm_status cvtm_lcp_create(cvtm_device *device, const cvtm_csr *matrix, int64_t width,
                            int64_t height, const cvtm_lcp_options *options, cvtm_lcp **lcp);

/* A five-point operator on width x height nodes, x fastest. The arrays are in device memory, and
 * are borrowed until the next call of cvtm_lcp_set_grid:
 *     (A x)_p = diagonal_p x_p + sum over the four links of p: link (x_p - x_q).
 * x_q is 0 if a link leaves the grid or leads to a masked node. There, links of weight 0 give a
 * Neumann boundary, other links a Dirichlet boundary. Multigrid converges fast if links jump by a
 * factor of 100 from node to node. If links jump at random by a factor of 10^6, it does not
 * converge within the default limit; use a stored matrix then. */
typedef struct cvtm_lcp_grid {
  int64_t width, height;
  const double *diagonal;   /* width * height, >= mass; NULL: `mass` everywhere */
  double mass;              /* >= 0 */
  const double *horizontal; /* (width + 1) * height: entry (i, j) joins (i - 1, j) and (i, j) */
  const double *vertical;   /* width * (height + 1): entry (i, j) joins (i, j - 1) and (i, j) */
  double constant;          /* weight of all links if horizontal and vertical are NULL */
  int neumann; /* nonzero: Neumann boundary. Links that leave the grid are 0: `constant` does not
                  hold for them, and arrays must have 0 there. Coarse grids treat nodes as pixel
                  centres (Neumann), or as points between the boundaries (Dirichlet) */
  const uint8_t *mask; /* width * height, 0: no unknown, x = 0; NULL: all 1 */
} cvtm_lcp_grid;

/* Allocates all memory for grids of one size; no solve allocates. */
cvtm_status cvtm_lcp_create_grid(cvtm_device *device, int64_t width, int64_t height,
                                 const cvtm_lcp_options *options, cvtm_lcp **lcp);
/* Sets the coefficients, for example in each time step. The work is enqueued, but the first call
 * with arrays of links waits: if the links in one direction are more than three times as strong,
 * coarse grids halve that side first, and their memory is reallocated. Later calls keep this
 * layout; for links of another ratio, which then take more cycles, create another solver. The
 * arrays may also change between solves without a call: the weights of interpolation remain those
 * of the last call, which suffices while coefficients change little. On failure no coefficients are
 * set. */
cvtm_status cvtm_lcp_set_grid(cvtm_lcp *lcp, const cvtm_lcp_grid *grid);
void cvtm_lcp_destroy(cvtm_lcp *lcp);

/* b, lower, upper, x: rows doubles in device memory; lower, upper may be NULL. x: the start if warm
 * (clipped to the bounds), else ignored; on return the best iterate. CVTM_ERROR_INPUT names a row
 * with lower > upper, NaN or infinite b. A solve that does not converge is no error: see
 * result->stop. */
cvtm_status cvtm_lcp_solve(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                           double *x, int warm, cvtm_lcp_result *result);

CVTM_API_END
