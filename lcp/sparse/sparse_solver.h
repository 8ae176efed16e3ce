/* Inside lcp only: what psor, pdas and the multigrid methods for sparse matrices have in
 * common: the problem in colour order, the loop, the best iterate. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_SOLVER_H
#define CVTMESH_LCP_SPARSE_SPARSE_SOLVER_H

#include "lcp/sparse/sparse_hierarchy.h"

typedef struct cvtm_sparse_solver cvtm_sparse_solver;

/* One iteration with level `top` as the finest, without its judgement. */
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
  cvtm_sum_kind judged_by; /* the pass that gives the natural residual after an iteration */
  double last_omega;       /* > 0: an iteration ends with a sweep that leaves the last colour
                              to that pass, relaxed by this */
  cvtm_sparse_iteration iteration; /* NULL: the host takes part in every iteration */
  cvtm_sparse_loop loop[CVTM_LEVELS_MAX];
  cvtm_sweep_state *state; /* device memory */
  cvtm_sweep_state host;   /* its last copy */
  cvtm_sums *partial;
  double *direction; /* as long as level 0 */
  double *best;      /* twice as long: see cvtm_sweep_state.kept */
  int64_t reported;  /* the last iteration that the monitor has seen */
  int hands_over;    /* leaves the course of level 0 undecided where that is slow */
  void *own;         /* of the method; freed with the solver */
};

/* Checks the matrix and sets everything up; loops for `loops` levels from the finest. On
 * failure nothing is left. The caller frees by cvtm_sparse_close. */
cvtm_status cvtm_sparse_open(const cvtm_lcp_table *table, cvtm_device *device,
                             const cvtm_csr *matrix, const cvtm_hierarchy_options *hierarchy,
                             const cvtm_lcp_options *options, cvtm_sparse_solver **solver);
cvtm_status cvtm_sparse_record(cvtm_sparse_solver *solver, cvtm_sparse_iteration iteration,
                               int loops);
void cvtm_sparse_close(cvtm_sparse_solver *solver);

/* Copies the problem to level 0; *target is the 2-norm to reach. */
cvtm_status cvtm_sparse_load(cvtm_sparse_solver *solver, const double *b, const double *lower,
                             const double *upper, const double *x, int warm, double *target);
/* The 2-norm of the natural residual on a level. Waits. */
cvtm_status cvtm_sparse_norm(cvtm_sparse_solver *solver, int level, double *norm);
/* A new course for level `top`; judges the start, last_omega as in cvtm_sparse_judge. */
cvtm_status cvtm_sparse_begin(cvtm_sparse_solver *solver, int top, double target, int64_t limit,
                              int64_t window, double last_omega);
/* Judges x after an iteration; last_omega > 0: once the last colour has been relaxed. Enqueued. */
cvtm_status cvtm_sparse_judge(cvtm_sparse_solver *solver, int top, double last_omega);
/* Copies the state to solver.host and tells the monitor, which may stop the course. */
cvtm_status cvtm_sparse_look(cvtm_sparse_solver *solver, int top);
/* Iterates until the course of level `top` stops, or is to be handed over. */
cvtm_status cvtm_sparse_run(cvtm_sparse_solver *solver, int top);
/* The best iterate of level 0 to x, and its figures. */
cvtm_status cvtm_sparse_unload(cvtm_sparse_solver *solver, double *x, cvtm_lcp_result *result);

/* The methods; options are checked, auto is resolved. */
cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp);
cvtm_status cvtm_sparse_multigrid_create(cvtm_device *device, const cvtm_csr *matrix,
                                         int is_symmetric, int64_t width, int64_t height,
                                         const cvtm_lcp_options *options, cvtm_lcp **lcp);
/* The primal-dual active set method from where the course of another one has come to: memory for
 * it, and its iterations until the course stops. */
cvtm_status cvtm_pdas_prepare(cvtm_sparse_solver *solver);
cvtm_status cvtm_pdas_go_on(cvtm_sparse_solver *solver, double target);
cvtm_status cvtm_pdas_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             int64_t width, int64_t height, const cvtm_lcp_options *options,
                             cvtm_lcp **lcp);

#endif
