/* Cells of equal mass. Lloyd's method or L-BFGS-B moves the sites to lower transport cost, whose
 * gradient at the right weights is 2 m_i (x_i - c_i). Every evaluation finds the weights, starting
 * from the weights of the last evaluation. */
#include "cvt/equal_mass.h"

#include "base/clock.h"
#include "base/select.h"
#include "base/geometry.h"
#include "base/primitives.h"
#include "cvt/descent.h"
#include "cvt/site_updates.h"
#include "cvt/equal_mass/balance.h"

#include <math.h>
#include <stdlib.h>

/* If the tolerance is at most `usual`, the final masses are balanced to `finest`, as far as
 * rounding errors permit; this takes one more step of Newton's method. */
static const double usual = 1e-6, finest = 1e-9;
/* The relative decrease at which the initial CVT stops; its sites are only a start, since its cells
 * have only nearly equal masses. */
static const double start_tolerance = 5e-4;

enum { WORTH_THREADS = 1 << 20 /* pixels */ };

typedef struct equal_mass_run {
  cvtm_cvt_task task;
  const cvtm_cvt_options *options;
  cvtm_power *power;
  double deadline; /* by cvtm_clock; infinite if there is none */
  int started;     /* nonzero: a cost was finite, or the initial sites were moved apart */
  cvtm_stop stop;
  cvtm_power_effort effort;
  cvtm_equal_mass_result result;
} equal_mass_run;

double cvtm_equal_mass_bound(cvtm_domain domain, const float *density, int64_t count) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  double mass = 0;
  int64_t area = 0;
  for (int64_t p = 0; p < pixels; ++p) {
    mass += (double)density[p];
    area += density[p] > 0;
  }
  return CVTM_HEXAGON_MOMENT * mass * (double)area / (double)count;
}

/* Returns rho^2, scaled to at most 1 (malloc'd); NULL if memory runs out. */
static float *square_of(cvtm_domain domain, const float *density) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *square = malloc((size_t)pixels * sizeof *square), most = 0;
  if (!square) return NULL;
#pragma omp parallel for schedule(static) reduction(max : most) if (pixels >= WORTH_THREADS)
  for (int64_t p = 0; p < pixels; ++p) most = density[p] > most ? density[p] : most;
#pragma omp parallel for schedule(static) if (pixels >= WORTH_THREADS)
  for (int64_t p = 0; p < pixels; ++p) {
    const float share = density[p] / most;
    square[p] = share * share;
  }
  return square;
}

cvtm_status cvtm_equal_mass_sample(cvtm_domain domain, const float *density, int64_t count,
                                   uint64_t seed, cvtm_cvt_start start, double *sites,
                                   cvtm_error *error) {
  float *square = square_of(domain, density);
  if (!square) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
  const cvtm_status status = cvtm_cvt_sample(domain, square, count, seed, start, sites, error);
  free(square);
  return status;
}

/* Fails if sites coincide, because the masses of coincident sites cannot be equal. Called when
 * cells are empty, for a message that names the sites. */
static cvtm_status check_distinct(cvtm_cvt *cvt, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  cvtm_placed *order = malloc((size_t)count * sizeof *order);
  double *sites = malloc(2 * (size_t)count * sizeof *sites);
  cvtm_status status = order && sites ? cvtm_cvt_get_sites(cvt, sites, count)
                                      : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for sites");
  if (status != CVTM_OK) count = 0;
  for (int64_t i = 0; i < count; ++i) order[i] = (cvtm_placed){sites[2 * i], sites[2 * i + 1], i};
  if (count > 0) qsort(order, (size_t)count, sizeof *order, cvtm_compare_placed);
  for (int64_t k = 1; k < count && status == CVTM_OK; ++k)
    if (order[k].x == order[k - 1].x && order[k].y == order[k - 1].y)
      status = cvtm_fail(error, CVTM_ERROR_INPUT,
                         "sites %lld and %lld coincide, so their cells cannot have equal masses",
                         (long long)order[k - 1].index, (long long)order[k].index);
  free(order);
  free(sites);
  return status;
}

/* --- evaluation -------------------------------------------------------------------------- */

/* Corrects the gradient and the largest distance to their values at balanced masses. */
static cvtm_status correct(equal_mass_run *r, double *value, double *gradient) {
  cvtm_cvt *cvt = r->task.cvt;
  CVTM_TRY(r->power->table->correct(r->power, r->task.fixed, gradient));
  return cvtm_reduce(cvt->device, CVTM_REDUCE_MAX, cvt->distance, r->task.count, value + 1);
}

/* Evaluates the transport cost at x; NaN where the masses cannot be balanced. */
static cvtm_status evaluate_cost(equal_mass_run *r, const double *x, double *value,
                                 double *gradient) {
  cvtm_cvt *cvt = r->task.cvt;
  cvtm_power_figures figures;
  int known;
  CVTM_TRY(cvtm_power_estimate(r->power, x, &figures, &known, &r->effort));
  CVTM_TRY(cvt->table->finish(cvt, r->task.count, r->task.fixed, value, gradient));
  if (gradient) CVTM_TRY(correct(r, value, gradient));
  const double cost = known ? figures.dual : NAN;
  ++r->result.descent.evaluations;
  r->started |= isfinite(cost);
  return cvtm_device_copy_in(cvt->device, value, &cost, sizeof cost);
}

/* Does some steps of Lloyd's method with all weights 0. */
static cvtm_status move_sites_apart(equal_mass_run *r) {
  enum { STEPS = 10 };
  cvtm_device *device = r->task.cvt->device;
  cvtm_status status = cvtm_cvt_prepare(&r->task);
  if (status == CVTM_OK) status = cvtm_cvt_enqueue_lloyd(&r->task, STEPS);
  if (status == CVTM_OK) status = cvtm_vector_fill(device, r->power->weight, 0, r->task.count);
  r->power->has_sites = 0;
  r->result.descent.evaluations += STEPS + 1;
  return status;
}

/* Evaluates the cost of the initial sites. First moves the sites apart if they are so close to each
 * other that no step balances the masses. */
static cvtm_status evaluate_start(equal_mass_run *r, double *value) {
  const double *sites = r->task.cvt->sites;
  cvtm_status status = evaluate_cost(r, sites, value, NULL);
  if (r->started || (status != CVTM_OK && status != CVTM_ERROR_INPUT)) return status;
  status = check_distinct(r->task.cvt, r->task.count);
  if (status == CVTM_OK) status = move_sites_apart(r);
  r->started = 1;
  return status == CVTM_OK ? evaluate_cost(r, sites, value, NULL) : status;
}

/* The evaluation of a cvtm_cvt_objective. The cost is NaN at a trial point of L-BFGS-B where sites
 * coincide. */
static cvtm_status evaluate_transport_cost(void *context, const double *x, double *value,
                                           double *gradient) {
  equal_mass_run *r = context;
  const double undefined[2] = {NAN, NAN};
  if (!r->started) return evaluate_start(r, value);
  const cvtm_status status = evaluate_cost(r, x, value, gradient);
  if (status != CVTM_ERROR_INPUT || !gradient) return status;
  return cvtm_device_copy_in(r->task.cvt->device, value, undefined, sizeof undefined);
}

/* --- weights of given sites, and descents ----------------------------------------------------- */

static cvtm_status check_masses(cvtm_cvt *cvt, double tolerance, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (!cvt->square_roots)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the plan has no density of its own");
  if (!(tolerance > 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the tolerance of the masses must be positive, not %g", tolerance);
  if (count < 1 || count > cvt->capacity)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; 1 to %lld are possible",
                     (long long)count, (long long)cvt->capacity);
  return CVTM_OK;
}

/* Reads the weights, shifted to mean 0. */
static cvtm_status read_weights(const equal_mass_run *r, double *weights) {
  const int64_t n = r->task.count;
  const cvtm_status status = cvtm_device_copy_out(r->task.cvt->device, weights, r->power->weight,
                                                  (size_t)n * sizeof *weights);
  double mean = 0;
  for (int64_t i = 0; status == CVTM_OK && i < n; ++i) mean += weights[i] / (double)n;
  for (int64_t i = 0; status == CVTM_OK && i < n; ++i) weights[i] -= mean;
  return status;
}

/* Balances the masses of the final sites to the tolerance, and fills in the result. */
static cvtm_status finish_equal_mass(equal_mass_run *r, double tolerance, const double *sites,
                                     double *weights, const cvtm_cvt_moments *moments) {
  cvtm_cvt *cvt = r->task.cvt;
  cvtm_equal_mass_result *result = &r->result;
  cvtm_power_figures figures;
  double value[2];
  int finer;
  const double wanted = tolerance <= usual ? fmin(tolerance, finest) : tolerance;
  cvtm_status status =
      cvtm_power_balance(r->power, cvt->sites, wanted, &figures, &finer, &r->effort);
  if (status == CVTM_ERROR_INPUT) (void)check_distinct(cvt, r->task.count); /* names the sites */
  if (status == CVTM_OK)
    status = cvt->table->finish(cvt, r->task.count, r->task.fixed, cvt->value, NULL);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, value, cvt->value, sizeof value);
  if (status == CVTM_OK)
    status = cvtm_cvt_count_empty(cvt, r->task.count, &result->descent.empty_cells);
  if (status == CVTM_OK && moments)
    status = cvtm_cvt_read_moments(cvt, sites, r->task.count, moments);
  if (status == CVTM_OK) status = read_weights(r, weights);
  if (status != CVTM_OK) return status;
  result->descent.stop = r->stop;
  result->descent.objective = figures.energy;
  result->descent.gradient_norm = value[1];
  result->target = r->power->target;
  result->deviation = figures.deviation / r->power->target;
  result->converged = result->deviation <= tolerance;
  result->deviation_rms = sqrt(figures.square / (double)r->task.count) / r->power->target;
  result->newton_steps = r->effort.steps;
  result->diagrams = r->effort.evaluations;
  result->solver_iterations = r->effort.solver_iterations;
  result->seconds_diagrams = r->effort.seconds_evaluation;
  result->seconds_solver = r->effort.seconds_solver;
  return CVTM_OK;
}

cvtm_status cvtm_equal_mass_weights(cvtm_cvt *cvt, const double *sites, int64_t count,
                                    double tolerance, double *weights,
                                    const cvtm_cvt_moments *moments,
                                    cvtm_equal_mass_result *result) {
  const double start = cvtm_clock();
  equal_mass_run r = {.task = {cvt, count, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT}};
  cvtm_status status = check_masses(cvt, tolerance, count);
  if (status == CVTM_OK) status = cvtm_cvt_check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_power_create(cvt, count, &r.power);
  if (status == CVTM_OK) status = finish_equal_mass(&r, tolerance, sites, weights, moments);
  cvtm_power_destroy(r.power);
  r.result.descent.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = r.result;
  return status;
}

/* If some sites are not given, computes the sites (host) by a CVT without weights, in at most half
 * of the time limit. */
static cvtm_status place_by_cvt(equal_mass_run *r, int64_t given, double *sites) {
  cvtm_cvt *cvt = r->task.cvt;
  const double start = cvtm_clock();
  cvtm_cvt_options options = *r->options;
  cvtm_cvt_result found;
  if (given == r->task.count) return cvtm_cvt_check_sites(cvt, sites, given);
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)r->options;
  options.max_seconds *= 0.5;
  options.tolerance = options.effort < CVTM_CVT_EFFORT_HIGH
                          ? fmax(10 * options.tolerance, start_tolerance)
                          : 10 * options.tolerance;
  const float *density = NULL;
  float *copied = NULL, *square = NULL;
  cvtm_status status = cvtm_cvt_find_density(cvt, &density, &copied);
  if (status == CVTM_OK && !(square = square_of(cvt->domain, density)))
    status =
        cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for a density");
  if (status == CVTM_OK) status = cvtm_cvt_set_density(cvt, square);
  if (status == CVTM_OK)
    status = cvtm_cvt_solve(cvt, &options, given, sites, r->task.count, &found);
  const cvtm_status restored = square ? cvtm_cvt_set_density(cvt, density) : CVTM_OK;
  free(copied);
  free(square);
  if (status == CVTM_OK) status = restored;
  if (status != CVTM_OK) return status;
  r->result.start_iterations = found.iterations;
  r->result.descent.levels = found.levels;
  r->result.descent.coarse_iterations = found.coarse_iterations;
  r->result.descent.rounds = found.rounds;
  r->result.descent.transfers = found.transfers;
  r->result.seconds_start = cvtm_clock() - start;
  if (found.stop == CVTM_STOP_REQUEST) r->stop = CVTM_STOP_REQUEST;
  return CVTM_OK;
}

static cvtm_status descend_equal_mass(equal_mass_run *r) {
  const cvtm_cvt_objective cost = {.evaluate = evaluate_transport_cost,
                                   .context = r,
                                   .synchronous = 1,
                                   .keeps_masses = 1,
                                   .undefined = "the masses cannot be balanced"};
  cvtm_descent d = {
      .task = &r->task, .objective = &cost, .options = r->options, .deadline = r->deadline};
  if (r->stop == CVTM_STOP_NONE && cvtm_clock() >= r->deadline) r->stop = CVTM_STOP_TIME;
  if (r->stop != CVTM_STOP_NONE) return CVTM_OK;
  const cvtm_status status = cvtm_descent_run(&d);
  r->stop = d.stop;
  r->result.descent.iterations = d.state.iterations;
  return status;
}

cvtm_status cvtm_equal_mass_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, double tolerance,
                                  int64_t given, double *sites, double *weights, int64_t count,
                                  const cvtm_cvt_moments *moments, cvtm_equal_mass_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_cvt, options)
  const double start = cvtm_clock();
  equal_mass_run r = {.task = {cvt, count, options->fixed, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT},
                      .options = options,
                      .deadline = cvtm_cvt_deadline(options, start)};
  cvtm_error *error = cvtm_device_error(cvt->device);
  cvtm_status status = check_masses(cvt, tolerance, count);
  if (status == CVTM_OK) status = cvtm_cvt_check_options(cvt, options, count);
  if (status == CVTM_OK && (given < options->fixed || given > count))
    status = cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites, %lld given and %lld fixed",
                       (long long)count, (long long)given, (long long)options->fixed);
  if (status == CVTM_OK && options->energy != CVTM_CVT_EXACT)
    status = cvtm_fail(error, CVTM_ERROR_ARGUMENT, "cells of equal mass need the exact energy");
  if (status == CVTM_OK) status = place_by_cvt(&r, given, sites);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_power_create(cvt, count, &r.power);
  if (status == CVTM_OK) status = descend_equal_mass(&r);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  if (status == CVTM_OK) status = finish_equal_mass(&r, tolerance, sites, weights, moments);
  cvtm_power_destroy(r.power);
  r.result.descent.seconds = cvtm_clock() - start;
  r.result.descent.seconds_evaluation = r.effort.seconds_evaluation;
  r.result.descent.seconds_optimizer = r.result.descent.seconds - r.effort.seconds_evaluation;
  if (status == CVTM_OK && result) *result = r.result;
  return status;
}
