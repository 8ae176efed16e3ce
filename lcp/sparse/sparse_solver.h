/* Inside lcp only: the common part of psor, pdas and multigrid for stored matrices: a hierarchy in
 * device memory and its V-cycle, the problem in colour order, the loop, the best iterate. */
#pragma once

#include "lcp/krylov.h"
#include "lcp/lcp_solver.h"
#include "lcp/sparse/sparse_kernels.h"

/* --- hierarchy.c: coarse levels follow from the grid of the unknowns or, without a grid, from
 * aggregates of unknowns --- */

typedef struct cvtm_hierarchy_options {
  int64_t width, height; /* 0, 0: no grid */
  int levels;            /* largest number of levels; CVTM_LEVELS_MAX: no limit */
  int is_symmetric; /* 0: zeros make the pattern symmetric, and interpolation from aggregates is
                       piecewise constant, so that it does not overshoot */
} cvtm_hierarchy_options;

typedef struct cvtm_hierarchy {
  cvtm_device *device;
  const cvtm_sparse_table *table;
  int count;
  cvtm_level level[CVTM_LEVELS_MAX];
  uint8_t *has_bounds; /* cvtm_level.has_bounds for all levels */
  int32_t *order;      /* the user's row for each row of level 0; device memory */
  void *owned[16 * CVTM_LEVELS_MAX];
  int owned_count;
} cvtm_hierarchy;

/* Creates a hierarchy. The matrix must be square with a positive diagonal, as checked before. */
cvtm_status cvtm_hierarchy_create(cvtm_device *device, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options, cvtm_hierarchy *hierarchy);
void cvtm_hierarchy_destroy(cvtm_hierarchy *hierarchy);

/* Allocates device memory that the hierarchy frees. */
cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *hierarchy, cvtm_arrays arrays);

/* All functions below enqueue their work. */

/* Makes all rows of level `top` inactive, and sets the matrices of corrections below
 * accordingly. */
cvtm_status cvtm_hierarchy_reset(cvtm_hierarchy *hierarchy, int top);
/* Gauss-Seidel on the first `colours` colours. */
cvtm_status cvtm_hierarchy_relax(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int64_t colours);
/* Gauss-Seidel on all colours, `sweeps` times. */
cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int sweeps);
/* Updates the Galerkin products below `top` where its active rows have changed. */
cvtm_status cvtm_hierarchy_update_galerkin(const cvtm_hierarchy *hierarchy, int top);
/* Runs a V-cycle for the correction on level `first`, with a sweep before and after it. */
cvtm_status cvtm_hierarchy_cycle(const cvtm_hierarchy *hierarchy, int first);

/* --- sparse_solver.c, pdas.c --- */

typedef struct cvtm_sparse_solver cvtm_sparse_solver;

/* Enqueues an iteration with `top` as the finest level. The caller applies the stop rule. */
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
  cvtm_sum_kind checked_by; /* the sum that gives the natural residual after an iteration */
  double last_omega; /* > 0: this sum also relaxes, with this omega, the last colour of the sweep
                        that ends an iteration */
  cvtm_sparse_iteration iteration; /* NULL: the host takes part in each iteration */
  cvtm_sparse_loop loop[CVTM_LEVELS_MAX];
  cvtm_sparse_state *state; /* device memory */
  cvtm_sparse_state host;   /* copy of the state, as of the last poll */
  cvtm_sums *partial;
  double *direction;      /* as many doubles as rows of level 0 */
  double *best;           /* twice the rows of level 0: see cvtm_sparse_state.kept */
  int64_t reported;       /* the last iteration reported to the monitor */
  int falls_back_to_pdas; /* nonzero: the loop of level 0 ends undecided if it converges slowly */
  cvtm_krylov *krylov;    /* for pdas; may be NULL */
  void *own;              /* data of the method, freed with the solver */
};

/* Checks the options and sets up everything except the loops. *lcp: a cvtm_sparse_solver, which the
 * caller frees by cvtm_sparse_close, also after a failure, unless it is NULL. */
cvtm_status cvtm_sparse_open(const cvtm_lcp_table *table, cvtm_device *device,
                             const cvtm_csr *matrix, const cvtm_hierarchy_options *hierarchy,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp);
/* Records the iteration as a loop, once for each of the `loops` finest levels. */
cvtm_status cvtm_sparse_record(cvtm_sparse_solver *solver, cvtm_sparse_iteration iteration,
                               int loops);
void cvtm_sparse_close(cvtm_lcp *lcp);

/* Copies the problem to level 0. *target: the tolerance of the 2-norm of the natural residual. */
cvtm_status cvtm_sparse_load(cvtm_sparse_solver *solver, const double *b, const double *lower,
                             const double *upper, const double *x, int warm, double *target);
/* Measures the 2-norm of the natural residual on a level. Waits for the device. */
cvtm_status cvtm_sparse_norm(cvtm_sparse_solver *solver, int level, double *norm);
/* Resets the iteration state for level `top` and applies the stop rule to the start. last_omega: as
 * in cvtm_sparse_check. */
cvtm_status cvtm_sparse_begin(cvtm_sparse_solver *solver, int top, double target, int64_t limit,
                              int64_t window, double last_omega);
/* Applies the stop rule to x after an iteration. last_omega > 0: relaxes the last colour first. */
cvtm_status cvtm_sparse_check(cvtm_sparse_solver *solver, int top, double last_omega);
/* Copies the state to solver.host and calls the monitor, which may stop the solve. */
cvtm_status cvtm_sparse_poll(cvtm_sparse_solver *solver, int top);
/* Iterates on level `top` until the stop rule decides, or pdas is to take over. */
cvtm_status cvtm_sparse_run(cvtm_sparse_solver *solver, int top);
/* Copies the best iterate of level 0 to x, and fills in the result. */
cvtm_status cvtm_sparse_unload(cvtm_sparse_solver *solver, double *x, cvtm_lcp_result *result);

/* The methods. Options have been checked; method is not auto. *lcp as for cvtm_sparse_open. */
cvtm_status cvtm_psor_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             const cvtm_lcp_options *options, cvtm_lcp **lcp);
cvtm_status cvtm_sparse_multigrid_create(cvtm_device *device, const cvtm_csr *matrix,
                                         int is_symmetric, int64_t width, int64_t height,
                                         const cvtm_lcp_options *options, cvtm_lcp **lcp);
cvtm_status cvtm_pdas_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                             int64_t width, int64_t height, const cvtm_lcp_options *options,
                             cvtm_lcp **lcp);
/* The primal-dual active set method as the continuation of another method: prepare allocates its
 * memory, without that of BiCGStab if is_band; continue iterates until the stop rule decides. */
cvtm_status cvtm_pdas_prepare(cvtm_sparse_solver *solver, int is_band);
cvtm_status cvtm_pdas_continue(cvtm_sparse_solver *solver, double target);
