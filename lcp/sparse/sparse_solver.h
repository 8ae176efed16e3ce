/* Inside lcp only: what psor, pdas and multigrid for stored matrices share: a hierarchy of matrices
 * in device memory and its V-cycle, the problem in colour order, the loop, the best iterate. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_SOLVER_H
#define CVTMESH_LCP_SPARSE_SPARSE_SOLVER_H

#include "lcp/krylov.h"
#include "lcp/lcp_solver.h"
#include "lcp/sparse/sparse_kernels.h"

/* --- hierarchy.c: coarse levels come from the grid of the unknowns if there is one, else from
 * aggregation --- */

typedef struct cvtm_hierarchy_options {
  int64_t width, height; /* 0, 0: no grid */
  int levels;            /* at most; CVTM_LEVELS_MAX for no limit */
  int is_symmetric;      /* else zeros are added to the pattern until it is, and interpolation from
                            aggregates is piecewise constant, so that it does not overshoot */
} cvtm_hierarchy_options;

typedef struct cvtm_hierarchy {
  cvtm_device *device;
  const cvtm_sparse_table *table;
  int count;
  cvtm_level level[CVTM_LEVELS_MAX];
  cvtm_level *level_device; /* the same in device memory */
  uint8_t *has_bounds;      /* cvtm_level.has_bounds of all levels */
  int32_t *order;           /* the user's row of each row of level 0; device memory */
  void *owned[16 * CVTM_LEVELS_MAX];
  int owned_count;
} cvtm_hierarchy;

/* The matrix has been checked: square, positive diagonal. */
cvtm_status cvtm_hierarchy_create(cvtm_device *device, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options, cvtm_hierarchy *hierarchy);
void cvtm_hierarchy_destroy(cvtm_hierarchy *hierarchy);

/* Device memory that the hierarchy frees. */
cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *hierarchy, cvtm_arrays arrays);

/* All that follows is enqueued. */

/* Makes all rows of level `top` inactive, and the matrices of corrections below it those of that.
 */
cvtm_status cvtm_hierarchy_reset(cvtm_hierarchy *hierarchy, int top);
/* Gauss-Seidel on the first `colours` colours. */
cvtm_status cvtm_hierarchy_relax(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int64_t colours);
/* Gauss-Seidel on all colours, `sweeps` times. */
cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int sweeps);
/* Updates the Galerkin products below `top` where its active rows have changed. */
cvtm_status cvtm_hierarchy_update_galerkin(const cvtm_hierarchy *hierarchy, int top);
/* A V-cycle for the correction on level `first`, with a sweep before and after. */
cvtm_status cvtm_hierarchy_cycle(const cvtm_hierarchy *hierarchy, int first);

/* --- sparse_solver.c, pdas.c --- */

typedef struct cvtm_sparse_solver cvtm_sparse_solver;

/* Enqueues one iteration with level `top` as the finest; the caller judges the iterate. */
typedef cvtm_status (*cvtm_sparse_iteration)(cvtm_sparse_solver *solver, int top);

typedef struct cvtm_sparse_loop {
  cvtm_sparse_solver *solver;
  int top;
  cvtm_loop *loop;
} cvtm_sparse_loop;

struct cvtm_sparse_solver {
  cvtm_lcp head;
  cvtm_hierarchy hierarchy;
  int is_symmetric;
  cvtm_sum_kind judged_by; /* the sum that gives the natural residual after an iteration */
  double last_omega;       /* > 0: an iteration ends with a sweep whose last colour is left to that
                              sum, relaxed by this omega */
  cvtm_sparse_iteration iteration; /* NULL: the host takes part in every iteration */
  cvtm_sparse_loop loop[CVTM_LEVELS_MAX];
  cvtm_sparse_state *state; /* device memory */
  cvtm_sparse_state host;   /* its last copy */
  cvtm_sums *partial;
  double *direction;      /* rows of level 0 */
  double *best;           /* twice the rows of level 0: see cvtm_sparse_state.kept */
  int64_t reported;       /* the last iteration that the monitor has seen */
  int falls_back_to_pdas; /* leaves the loop of level 0 undecided if it is slow */
  cvtm_krylov *krylov;    /* of pdas, or NULL */
  void *own;              /* of the method; freed with the solver */
};

/* Checks the options and sets everything up but the loops. *lcp: a cvtm_sparse_solver, which the
 * caller frees by cvtm_sparse_close, also after a failure unless it is NULL. */
cvtm_status cvtm_sparse_open(const cvtm_lcp_table *table, cvtm_device *device,
                             const cvtm_csr *matrix, const cvtm_hierarchy_options *hierarchy,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp);
/* Records the iteration as a loop for each of the `loops` finest levels. */
cvtm_status cvtm_sparse_record(cvtm_sparse_solver *solver, cvtm_sparse_iteration iteration,
                               int loops);
void cvtm_sparse_close(cvtm_lcp *lcp);

/* Copies the problem to level 0. *target: the 2-norm of the natural residual to reach. */
cvtm_status cvtm_sparse_load(cvtm_sparse_solver *solver, const double *b, const double *lower,
                             const double *upper, const double *x, int warm, double *target);
/* The 2-norm of the natural residual on a level. Synchronises. */
cvtm_status cvtm_sparse_norm(cvtm_sparse_solver *solver, int level, double *norm);
/* Resets the iteration state for level `top` and judges the start; last_omega as in
 * cvtm_sparse_judge. */
cvtm_status cvtm_sparse_begin(cvtm_sparse_solver *solver, int top, double target, int64_t limit,
                              int64_t window, double last_omega);
/* Judges x after an iteration; if last_omega > 0, after relaxing the last colour. Enqueued. */
cvtm_status cvtm_sparse_judge(cvtm_sparse_solver *solver, int top, double last_omega);
/* Copies the state to solver.host and calls the monitor, which may stop the iteration. */
cvtm_status cvtm_sparse_poll(cvtm_sparse_solver *solver, int top);
/* Iterates on level `top` until the stop rule decides, or pdas is to take over. */
cvtm_status cvtm_sparse_run(cvtm_sparse_solver *solver, int top);
/* The best iterate of level 0 to x, and the result. */
cvtm_status cvtm_sparse_unload(cvtm_sparse_solver *solver, double *x, cvtm_lcp_result *result);

/* The methods. Options are checked, auto is resolved. *lcp as for cvtm_sparse_open. */
cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp);
cvtm_status cvtm_sparse_multigrid_create(cvtm_device *device, const cvtm_csr *matrix,
                                         int is_symmetric, int64_t width, int64_t height,
                                         const cvtm_lcp_options *options, cvtm_lcp **lcp);
cvtm_status cvtm_pdas_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             int64_t width, int64_t height, const cvtm_lcp_options *options,
                             cvtm_lcp **lcp);
/* The primal-dual active set method as the continuation of another: allocates its memory, without
 * that of BiCGStab if is_band; iterates from the current iterate until the stop rule decides. */
cvtm_status cvtm_pdas_prepare(cvtm_sparse_solver *solver, int is_band);
cvtm_status cvtm_pdas_continue(cvtm_sparse_solver *solver, double target);

#endif
