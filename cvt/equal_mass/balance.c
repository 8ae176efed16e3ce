/* The dual of semi-discrete optimal transport is the sum over the cells of the integral of rho (|x
 * - x_i|^2 - w_i), plus target * sum of w_i. It is concave in the weights, and its gradient is
 * target - mass (Aurenhammer, Hoffmann & Aronov 1998; de Goes et al. 2012, section 4). A damped
 * Newton method finds its maximum (Kitagawa, Merigot & Thibert 2019). */
#include "cvt/equal_mass/balance.h"

#include "base/select.h"
#include "base/clock.h"
#include "base/primitives.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_STEPS = 200, WINDOW = 20, MAX_HALVINGS = 24, MAX_CG_ITERATIONS = 2000 };

static const double sufficient = 1e-4; /* Armijo's constant: the least gain / predicted gain */
/* Newton's method stops if WINDOW steps leave more than this share of the sum of (target -
 * mass)^2. */
static const double stagnant = 0.9;
static const double rounding = 1e-13; /* rounding error of the dual, relative to the energy */
/* Regularisation of cvtm_power_coupling. It begins with the largest value or, after a small move of
 * the sites, with the usual one. Later it is the largest value times the largest relative deviation
 * of a mass. */
static const double largest_regularisation = 0.1, usual_regularisation = 1e-3;
static const double loosest_cg_tolerance = 0.1, predicted_cg_tolerance = 0.3;
/* For the correction of cvtm_power_estimate: the wanted root mean square of the relative deviations
 * of the masses after the correction, and the bounds of the tolerance of its linear system. */
static const double corrected = 3e-5, finest_correction = 0.01, coarsest_correction = 0.3;
/* The largest gain of the dual, relative to the energy, for which a correction suffices. */
static const double correctable = 1e-5;

/* --- memory --------------------------------------------------------------------------- */

/* Lists all arrays in device memory. */
static cvtm_arrays power_arrays(cvtm_power *p) {
  const int64_t n = p->count;
  return (cvtm_arrays){{
      CVTM_ARRAY(p->weight, n),
      CVTM_ARRAY(p->trial, n),
      CVTM_ARRAY(p->sorted_weight, n),
      CVTM_ARRAY(p->max_weight, n + 4),
      CVTM_ARRAY(p->deficit, n),
      CVTM_ARRAY(p->dual, n),
      CVTM_ARRAY(p->empty, n),
      CVTM_ARRAY(p->figures, CVTM_POWER_FIGURES),
      CVTM_ARRAY(p->first, n),
      CVTM_ARRAY(p->degree, n),
      CVTM_ARRAY(p->neighbor, p->edge_capacity),
      CVTM_ARRAY(p->coupling, p->edge_capacity),
      CVTM_ARRAY(p->diagonal, n),
      CVTM_ARRAY(p->edge_offset, 4 * p->edge_capacity),
      CVTM_ARRAY(p->hint_first, n),
      CVTM_ARRAY(p->hint_degree, n),
      CVTM_ARRAY(p->hint, p->edge_capacity),
      CVTM_ARRAY(p->slot_of, n),
      CVTM_ARRAY(p->sites, 2 * n),
      CVTM_ARRAY(p->edges, 1),
      CVTM_ARRAY(p->step, n),
      CVTM_ARRAY(p->residual, n),
      CVTM_ARRAY(p->preconditioned, n),
      CVTM_ARRAY(p->direction, n),
      CVTM_ARRAY(p->product, n),
      CVTM_ARRAY(p->next_direction, n),
      CVTM_ARRAY(p->iterations, 1),
  }};
}

static cvtm_status allocate_all(cvtm_power *p) {
  cvtm_device *device = p->cvt->device;
  CVTM_TRY(cvtm_device_allocate_arrays(device, power_arrays(p)));
  CVTM_TRY(cvtm_vector_fill(device, p->weight, 0, p->count));
  /* The first diagram has empty rows as hints. */
  const size_t bytes = (size_t)p->count * sizeof *p->degree;
  CVTM_TRY(cvtm_device_fill(device, p->first, 0, bytes));
  CVTM_TRY(cvtm_device_fill(device, p->degree, 0, bytes));
  return p->table->create_state(p);
}

cvtm_status cvtm_power_create(cvtm_cvt *cvt, int64_t count, cvtm_power **result) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count > INT32_MAX / 13)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; at most %ld of equal mass",
                     (long long)count, (long)(INT32_MAX / 13));
  cvtm_power *p = calloc(1, sizeof *p);
  if (!p) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory");
  p->cvt = cvt;
  p->count = count;
  /* Cells have six corners on average, and a few more at the border of the domain. A CPU makes some
   * cells twice, and may need entries for both versions. */
  p->edge_capacity = 12 * count + 64;
  p->target = cvt->mass / (double)count;
  p->regularisation = largest_regularisation;
  p->worth_hierarchy = cvtm_device_get_kind(cvt->device) == CVTM_DEVICE_CPU ? 10 : 150;
  p->table = CVTM_TABLE(cvt->device, cvtm_power_table);
  const cvtm_status status = allocate_all(p);
  if (status != CVTM_OK) {
    cvtm_power_destroy(p);
    return status;
  }
  *result = p;
  return CVTM_OK;
}

void cvtm_power_destroy(cvtm_power *p) {
  if (!p) return;
  p->table->destroy_state(p);
  cvtm_power_hierarchy_release(p->cvt->device, &p->hierarchy);
  cvtm_device_free_arrays(p->cvt->device, power_arrays(p));
  free(p);
}

/* --- one diagram ------------------------------------------------------------------------ */

static void swap(int32_t **a, int32_t **b) {
  int32_t *c = *a;
  *a = *b;
  *b = c;
}

cvtm_status cvtm_power_enqueue(cvtm_power *p, const double *weight) {
  swap(&p->first, &p->hint_first);
  swap(&p->degree, &p->hint_degree);
  swap(&p->neighbor, &p->hint);
  CVTM_TRY(p->table->set_weights(p, weight));
  CVTM_TRY(cvtm_device_fill(p->cvt->device, p->edges, 0, sizeof *p->edges));
  CVTM_TRY(p->table->cells(p));
  return p->table->figures(p, weight);
}

/* Evaluates the diagram of the sites in the plan's tree, and reads its figures. */
static cvtm_status evaluate_diagram(cvtm_power *p, const double *weight,
                                    cvtm_power_figures *figures, cvtm_power_effort *effort) {
  const double start = cvtm_clock();
  double values[CVTM_POWER_FIGURES];
  CVTM_TRY(cvtm_power_enqueue(p, weight));
  CVTM_TRY(cvtm_device_copy_out(p->cvt->device, values, p->figures, sizeof values));
  *figures = (cvtm_power_figures){values[0], values[1], values[2], values[3], values[4], values[5]};
  ++effort->evaluations;
  effort->seconds_evaluation += cvtm_clock() - start;
  if (figures->edges > (double)p->edge_capacity)
    return cvtm_fail(cvtm_device_error(p->cvt->device), CVTM_ERROR_INTERNAL,
                     "%.0f edges of %lld cells exceed the memory for them", figures->edges,
                     (long long)p->count);
  return CVTM_OK;
}

/* --- one step ----------------------------------------------------------------------------- */

/* Builds a hierarchy for the present couplings, or keeps the last one. Sites and weights change
 * little between systems, so a hierarchy is kept until the iterations that a new one would have
 * saved take as long as building a new one. */
static cvtm_status prepare_hierarchy(cvtm_power *p) {
  cvtm_power_hierarchy *h = &p->hierarchy;
  const cvtm_power_matrix matrix = {p->count,    p->first,    p->degree,
                                    p->neighbor, p->coupling, p->diagonal};
  const cvtm_power_level finest = {.matrix = matrix,
                                   .right = p->residual,
                                   .correction = p->preconditioned,
                                   .scratch = p->product};
  if (h->levels > 0 && p->excess < p->worth_hierarchy) {
    h->level[0] = finest;
    return CVTM_OK;
  }
  p->excess = 0;
  p->fresh = 1;
  return cvtm_power_hierarchy_build(p->cvt->device, &finest, p->slot_of, h);
}

/* Counts the iterations beyond fresh_rate. The first system of a new hierarchy raises fresh_rate if
 * it needs more iterations per digit. */
static void count_excess(cvtm_power *p, double tolerance, int32_t iterations) {
  const double digits = -log10(tolerance);
  if (p->fresh) p->fresh_rate = fmax(p->fresh_rate, (double)iterations / digits);
  p->fresh = 0;
  p->excess += fmax(iterations - p->fresh_rate * digits, 0);
}

cvtm_status cvtm_power_solve(cvtm_power *p, double tolerance, int32_t max_iterations,
                             int32_t *iterations) {
  CVTM_TRY(prepare_hierarchy(p));
  CVTM_TRY(p->table->solve(p, tolerance, max_iterations));
  return cvtm_device_copy_out(p->cvt->device, iterations, p->iterations, sizeof *iterations);
}

/* Sets power->step to the change of the weights that removes the deficit to first order. */
static cvtm_status solve_system(cvtm_power *p, double tolerance, cvtm_power_effort *effort) {
  const double start = cvtm_clock();
  int32_t iterations = 0;
  const cvtm_status status = cvtm_power_solve(p, tolerance, MAX_CG_ITERATIONS, &iterations);
  if (status == CVTM_OK) count_excess(p, tolerance, iterations);
  effort->solver_iterations += iterations;
  effort->seconds_solver += cvtm_clock() - start;
  return status;
}

static cvtm_status find_slope(cvtm_power *p, double *slope) {
  cvtm_cvt *cvt = p->cvt;
  CVTM_TRY(cvtm_dot(cvt->device, p->deficit, p->step, p->count, p->figures));
  return cvtm_device_copy_out(cvt->device, slope, p->figures, sizeof *slope);
}

static void take_trial(cvtm_power *p) {
  double *weight = p->weight;
  p->weight = p->trial;
  p->trial = weight;
}

static cvtm_status try_step(cvtm_power *p, double length, cvtm_power_figures *figures,
                            cvtm_power_effort *effort) {
  cvtm_device *device = p->cvt->device;
  cvtm_status status =
      cvtm_device_copy(device, p->trial, p->weight, (size_t)p->count * sizeof *p->trial);
  if (status == CVTM_OK) status = cvtm_vector_axpy(device, length, p->step, p->trial, p->count);
  return status == CVTM_OK ? evaluate_diagram(p, p->trial, figures, effort) : status;
}

/* True if the new weights are better. No cell may become empty, because a cell without edges is not
 * part of the linear systems. If the gain of the dual is within rounding errors, the squared
 * deficits are compared. */
static int is_better(const cvtm_power_figures *found, const cvtm_power_figures *last, double gain) {
  const double noise = rounding * (last->energy + fabs(last->dual));
  if (found->empty > 0) return 0;
  if (fabs(found->dual - last->dual) <= noise) return found->square < last->square;
  return found->dual >= last->dual + sufficient * gain;
}

/* The tolerance of the linear system of a Newton step. The step reduces the largest relative
 * deviation d to about d^2, and need not reduce it below the tolerance of the masses. */
static double cg_tolerance(double deviation, double tolerance) {
  return fmin(fmax(deviation, 0.3 * tolerance / deviation), loosest_cg_tolerance);
}

/* Adds power->step to the weights, and halves the step until the new weights are better. *moved = 0
 * if no step makes them better. */
static cvtm_status search_along(cvtm_power *p, double slope, cvtm_power_figures *figures,
                                int *moved, cvtm_power_effort *effort) {
  double length = 1;
  cvtm_status status = CVTM_OK;
  p->regularisation = largest_regularisation * fmin(figures->deviation / p->target, 1);
  *moved = 0;
  ++effort->steps;
  for (int k = 0; status == CVTM_OK && !*moved && k < MAX_HALVINGS; ++k, length /= 2) {
    cvtm_power_figures found;
    status = try_step(p, length, &found, effort);
    if (status != CVTM_OK || !is_better(&found, figures, length * slope)) continue;
    *figures = found;
    *moved = 1;
    take_trial(p);
  }
  return status;
}

/* Does one step of Newton's method; *moved = 0 if the weights do not become better. */
static cvtm_status newton_step(cvtm_power *p, double tolerance, cvtm_power_figures *figures,
                               int *moved, cvtm_power_effort *effort) {
  const double deviation = fmin(figures->deviation / p->target, 1);
  double slope = 0;
  CVTM_TRY(solve_system(p, cg_tolerance(deviation, tolerance), effort));
  CVTM_TRY(find_slope(p, &slope));
  return search_along(p, slope, figures, moved, effort);
}

/* --- the weights ----------------------------------------------------------------------------- */

/* Starts from the weights of the last sites, changed by the step that the last couplings predict
 * for the new sites. *good = 0 if a cell is then empty. */
static cvtm_status begin_predicted(cvtm_power *p, const double *sites, cvtm_power_figures *figures,
                                   int *good, cvtm_power_effort *effort) {
  cvtm_status status = p->table->predict(p, sites);
  if (status == CVTM_OK) status = solve_system(p, predicted_cg_tolerance, effort);
  if (status == CVTM_OK) status = try_step(p, 1, figures, effort);
  *good = status == CVTM_OK && !(figures->empty > 0);
  if (*good) take_trial(p);
  return status;
}

/* Starts from the predicted weights. If a cell is empty, starts from the last weights, and if a
 * cell is still empty, from equal weights. */
static cvtm_status find_start(cvtm_power *p, const double *sites, cvtm_power_figures *figures,
                              cvtm_power_effort *effort) {
  int good = 0;
  cvtm_status status = CVTM_OK;
  p->regularisation = p->has_sites ? usual_regularisation : largest_regularisation;
  if (p->has_sites) status = begin_predicted(p, sites, figures, &good, effort);
  if (status != CVTM_OK || good) return status;
  status = evaluate_diagram(p, p->weight, figures, effort);
  if (status != CVTM_OK || !(figures->empty > 0)) return status;
  status = cvtm_vector_fill(p->cvt->device, p->weight, 0, p->count);
  p->regularisation = largest_regularisation;
  if (status == CVTM_OK) status = evaluate_diagram(p, p->weight, figures, effort);
  if (status != CVTM_OK) return status;
  if (figures->empty > 0)
    return cvtm_fail(cvtm_device_error(p->cvt->device), CVTM_ERROR_INPUT,
                     "sites coincide or nearly do, so their cells cannot have equal masses");
  if (isfinite(figures->dual)) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(p->cvt->device), CVTM_ERROR_EVALUATION,
                   "the transport cost is not finite");
}

static cvtm_status keep_sites(cvtm_power *p, const double *sites) {
  const cvtm_status status =
      cvtm_device_copy(p->cvt->device, p->sites, sites, 2 * (size_t)p->count * sizeof *p->sites);
  p->has_sites = status == CVTM_OK;
  return status;
}

static double correction_tolerance(const cvtm_power *p, const cvtm_power_figures *figures) {
  const double rms = sqrt(figures->square / (double)p->count) / p->target;
  return fmin(fmax(corrected / rms, finest_correction), coarsest_correction);
}

cvtm_status cvtm_power_estimate(cvtm_power *p, const double *sites, cvtm_power_figures *figures,
                                int *known, cvtm_power_effort *effort) {
  cvtm_status status = cvtm_site_tree_build(p->cvt->tree, sites, p->count);
  if (status == CVTM_OK) status = find_start(p, sites, figures, effort);
  *known = 0;
  for (int k = 0, moved = 1; status == CVTM_OK && moved && k < MAX_STEPS; ++k) {
    double slope = 0;
    status = solve_system(p, correction_tolerance(p, figures), effort);
    if (status == CVTM_OK) status = find_slope(p, &slope);
    *known = 0.5 * slope <= correctable * figures->energy;
    if (*known) figures->dual += 0.5 * slope;
    if (*known || status != CVTM_OK) break;
    status = search_along(p, slope, figures, &moved, effort);
  }
  return status == CVTM_OK ? keep_sites(p, sites) : status;
}

cvtm_status cvtm_power_balance(cvtm_power *p, const double *sites, double tolerance,
                               cvtm_power_figures *figures, int *converged,
                               cvtm_power_effort *effort) {
  int regularised = 0;      /* nonzero: the last step failed, so the regularisation was raised */
  double before = INFINITY; /* figures->square at the start of the last WINDOW steps */
  cvtm_status status = cvtm_site_tree_build(p->cvt->tree, sites, p->count);
  if (status == CVTM_OK) status = find_start(p, sites, figures, effort);
  for (int k = 0; status == CVTM_OK && k < MAX_STEPS; ++k) {
    int moved = 0;
    if (figures->deviation <= tolerance * p->target) break;
    if (k % WINDOW == 0) {
      if (figures->square > stagnant * before) break;
      before = figures->square;
    }
    status = newton_step(p, tolerance, figures, &moved, effort);
    if (status == CVTM_OK && !moved) {
      p->regularisation = largest_regularisation; /* shortens the step */
      status = evaluate_diagram(p, p->weight, figures, effort);
      if (regularised) break;
    }
    regularised = !moved;
  }
  if (status == CVTM_OK) status = keep_sites(p, sites);
  *converged = status == CVTM_OK && figures->deviation <= tolerance * p->target;
  return status;
}
