/* Inside equal_mass only: weights with which the power cells of given sites have equal masses. */
#pragma once

#include "cvt/equal_mass/power_kernels.h"

/* The work that was done to find weights. */
typedef struct cvtm_power_effort {
  int64_t steps;             /* steps of Newton's method */
  int64_t evaluations;       /* diagrams integrated */
  int64_t solver_iterations; /* iterations of conjugate gradients */
  double seconds_evaluation, seconds_solver;
} cvtm_power_effort;

/* Allocates memory for `count` sites of a plan, which must outlive *power. All weights are 0. */
cvtm_status cvtm_power_create(cvtm_cvt *cvt, int64_t count, cvtm_power **power);
void cvtm_power_destroy(cvtm_power *power);

/* Enqueues the computation of the moments, couplings and figures of the power cells of the sites in
 * the plan's tree. */
cvtm_status cvtm_power_enqueue(cvtm_power *power, const double *weight);

/* Solves the linear system of the last diagram's couplings by cvtm_power_table.solve. First builds
 * a hierarchy if there is none, or if the last one has cost too many iterations. *iterations: the
 * number of iterations of conjugate gradients. */
cvtm_status cvtm_power_solve(cvtm_power *power, double tolerance, int32_t max_iterations,
                             int32_t *iterations);

/* Estimates the transport cost of the sites (device memory) without exact masses. Changes
 * power->weight until the gain that Newton's method predicts is small compared with the cost. Adds
 * this gain to figures->dual, which is then correct to second order. power->step is the predicted
 * change of the weights, for cvtm_power_table.correct. The plan's moments are those of the power
 * cells. *known = 0 if no step brings the masses close enough to the target, so that the cost is
 * unknown. Adds to *effort; errors as cvtm_power_balance. */
cvtm_status cvtm_power_estimate(cvtm_power *power, const double *sites, cvtm_power_figures *figures,
                                int *known, cvtm_power_effort *effort);

/* Changes power->weight until the mass of every power cell of the sites (device memory) differs
 * from the target by at most tolerance * target. The plan's moments are then those of the power
 * cells. *converged = 0 if no step brings the masses nearer to the target; the weights are then the
 * best found. Adds to *effort. CVTM_ERROR_INPUT if sites coincide, so that some cells are empty
 * whatever the weights; CVTM_ERROR_EVALUATION if the cost is not finite. */
cvtm_status cvtm_power_balance(cvtm_power *power, const double *sites, double tolerance,
                               cvtm_power_figures *figures, int *converged,
                               cvtm_power_effort *effort);
