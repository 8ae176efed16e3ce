/* Sites of several classes: their numbers, the start, and the descent of the coupled energy. */
#include "cvt/classes.h"

#include "base/clock.h"
#include "base/select.h"
#include "cvt/descent.h"
#include "cvt/local_mean.h"
#include "cvt/site_updates.h"

#include <math.h>
#include <stdlib.h>

void cvtm_classes_defaults(cvtm_classes_options *options) {
  *options = (cvtm_classes_options){.union_weight = 0.5};
  cvtm_cvt_defaults(&options->cvt);
}

/* --- numbers of sites ------------------------------------------------------------------------- */

static double integral_of(cvtm_domain domain, const float *intensity) {
  double sum = 0;
  for (int y = 0; y < domain.height; ++y) {
    double row = 0;
    for (int x = 0; x < domain.width; ++x) row += (double)intensity[(int64_t)y * domain.width + x];
    sum += row;
  }
  return sum;
}

/* Rounds the shares down. The remaining sites go to the classes with the largest remainders, and
 * among equal remainders to the first class. */
static void round_shares(const double *share, int classes, int64_t count, int64_t *start) {
  int64_t number[CVTM_CLASSES_MAX], left = count;
  for (int k = 0; k < classes; ++k) left -= number[k] = (int64_t)floor(share[k]);
  for (; left > 0; --left) {
    int best = 0;
    for (int k = 1; k < classes; ++k)
      if (share[k] - (double)number[k] > share[best] - (double)number[best]) best = k;
    ++number[best];
  }
  start[0] = 0;
  for (int k = 0; k < classes; ++k) start[k + 1] = start[k] + number[k];
}

cvtm_status cvtm_classes_share(const double *amount, int classes, int64_t count, int64_t *start,
                               cvtm_error *error) {
  double share[CVTM_CLASSES_MAX], total = 0;
  if (classes < 1 || classes > CVTM_CLASSES_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%d classes; 1 to %d", classes, CVTM_CLASSES_MAX);
  for (int k = 0; k < classes; ++k) total += amount[k];
  if (!(total > 0) || !isfinite(total))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the amounts of the classes are all zero");
  for (int k = 0; k < classes; ++k) share[k] = amount[k] * ((double)count / total);
  round_shares(share, classes, count, start);
  return CVTM_OK;
}

/* --- plans ------------------------------------------------------------------------------------ */

typedef struct class_plan {
  cvtm_cvt *cvt; /* NULL: the class has no sites */
  int64_t first, count;
} class_plan;

/* The state of one cvtm_classes_solve. */
typedef struct classes_run {
  cvtm_device *device;
  cvtm_domain domain;
  const cvtm_classes_options *options;
  class_plan plan[CVTM_CLASSES_MAX];
  int classes;
  int64_t count;
  cvtm_cvt *all;                                 /* the plan of the union */
  double energy[CVTM_CLASSES_MAX], union_energy; /* energies of the resulting sites */
  cvtm_stop stop; /* why the descent of the last class that was placed alone stopped */
} classes_run;

static cvtm_status no_memory_for_sites(const classes_run *r) {
  return cvtm_fail(cvtm_device_error(r->device), CVTM_ERROR_MEMORY,
                   "no memory for %lld sites of several classes", (long long)r->count);
}

/* rho = q^2, where q = scale * intensity is a number of sites per unit of area; where q varies
 * within a cell, the number of sites follows its mean. */
static cvtm_status set_density(classes_run *r, int64_t count, const float *intensity, double scale,
                               float *rho) {
  const cvtm_domain domain = r->domain;
  const int64_t pixels = (int64_t)domain.width * domain.height;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double s = scale * (double)intensity[p];
    rho[p] = (float)(s * s);
  }
  CVTM_TRY(
      cvtm_density_of_local_mean(domain, (double)count, NULL, rho, cvtm_device_error(r->device)));
  double sites = 0;
  for (int64_t p = 0; p < pixels; ++p) sites += sqrt((double)rho[p]);
  const double factor = (double)count / sites;
  for (int64_t p = 0; p < pixels; ++p) rho[p] *= (float)(factor * factor);
  return CVTM_OK;
}

static void add_intensity(cvtm_domain domain, const float *intensity, double scale, float *sum) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) sum[p] += (float)(scale * (double)intensity[p]);
}

/* Places a class alone. Classes have different seeds, since otherwise classes of equal intensity
 * would coincide. All classes together have half of the time. After a request to stop, the sites
 * are sampled without a descent. */
static cvtm_status place_class(classes_run *r, class_plan *plan, const float *rho, double *sites) {
  const cvtm_cvt_options *o = &r->options->cvt;
  cvtm_cvt_options alone = *o;
  cvtm_cvt_result found;
  double *own = sites + 2 * plan->first;
  alone.seed += (uint64_t)(plan - r->plan);
  alone.max_seconds *= 0.5 * (double)plan->count / (double)r->count;
  if (alone.monitor) alone.monitor = cvtm_cvt_relay;
  alone.monitor_context = (void *)(uintptr_t)o;
  CVTM_TRY(cvtm_cvt_create(r->device, r->domain, rho, plan->count, &plan->cvt));
  if (r->stop == CVTM_STOP_REQUEST)
    return cvtm_cvt_sample(r->domain, rho, plan->count, alone.seed, alone.start, own,
                           cvtm_device_error(r->device));
  CVTM_TRY(cvtm_cvt_solve(plan->cvt, &alone, 0, own, plan->count, &found));
  r->stop = found.stop;
  return CVTM_OK;
}

static cvtm_status no_intensity(const classes_run *r, int k) {
  return cvtm_fail(cvtm_device_error(r->device), CVTM_ERROR_ARGUMENT,
                   "class %d has sites, but no intensity", k);
}

/* Creates the plans, and places each class alone. */
static cvtm_status place_classes(classes_run *r, const float *const *intensity, double *sites) {
  const size_t pixels = (size_t)r->domain.width * (size_t)r->domain.height;
  float *rho = malloc(pixels * sizeof *rho), *sum = calloc(pixels, sizeof *sum);
  cvtm_status status = rho != NULL && sum != NULL ? CVTM_OK : no_memory_for_sites(r);
  for (int k = 0; status == CVTM_OK && k < r->classes; ++k) {
    class_plan *plan = &r->plan[k];
    if (plan->count == 0) continue;
    const double scale = (double)plan->count / integral_of(r->domain, intensity[k]);
    if (!isfinite(scale)) {
      status = no_intensity(r, k);
      break;
    }
    status = set_density(r, plan->count, intensity[k], scale, rho);
    add_intensity(r->domain, intensity[k], scale, sum);
    if (status == CVTM_OK) status = place_class(r, plan, rho, sites);
  }
  if (status == CVTM_OK) status = set_density(r, r->count, sum, 1, rho);
  if (status == CVTM_OK) status = cvtm_cvt_create(r->device, r->domain, rho, r->count, &r->all);
  free(rho);
  free(sum);
  return status;
}

/* --- the coupled energy ----------------------------------------------------------------------- */

/* *energy = the energy of a plan's last evaluation, summed in the order of the sites. */
static cvtm_status sum_energy(cvtm_cvt *cvt, int64_t count, double *energy) {
  cvtm_cell_moments *sums = NULL;
  const cvtm_status status = cvtm_cvt_read_cell_moments(cvt, count, &sums);
  *energy = 0;
  for (int64_t i = 0; status == CVTM_OK && i < count; ++i) *energy += sums[i].second;
  free(sums);
  return status;
}

/* Evaluates the cells of a plan's sites. measures: nonzero: also sets *energy. */
static cvtm_status evaluate_plan(cvtm_cvt *cvt, const double *sites, int64_t count, int measures,
                                 double *energy) {
  const cvtm_cvt_task task = {cvt, count, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT};
  CVTM_TRY(cvtm_cvt_enqueue(&task, sites, cvt->value, NULL));
  return measures ? sum_energy(cvt, count, energy) : CVTM_OK;
}

/* Adds the moments of a site's two cells. Energy, gradient and Lloyd's step of the coupled energy
 * follow from the sums as from the moments of a single cell. Lloyd's step moves a site to the mean
 * of both centroids, weighted by their masses, and so never raises the energy. measures: nonzero:
 * also sets the energies of r. */
static cvtm_status evaluate_coupled(classes_run *r, const double *sites, int measures,
                                    double *value, double *gradient) {
  cvtm_cvt *all = r->all;
  cvtm_status status = evaluate_plan(all, sites, r->count, measures, &r->union_energy);
  for (int k = 0; status == CVTM_OK && k < r->classes; ++k) {
    const class_plan *plan = &r->plan[k];
    if (plan->cvt == NULL) continue;
    status =
        evaluate_plan(plan->cvt, sites + 2 * plan->first, plan->count, measures, &r->energy[k]);
    if (status == CVTM_OK)
      status = all->updates->add_moments(r->device, plan->cvt->moments, plan->count,
                                         r->options->union_weight, all->moments + plan->first);
  }
  return status == CVTM_OK ? all->table->finish(all, r->count, 0, value, gradient) : status;
}

static cvtm_status evaluate_classes(void *context, const double *sites, double *value,
                                    double *gradient) {
  classes_run *r = context;
  CVTM_TRY(evaluate_coupled(r, sites, 0, value, gradient));
  return cvtm_device_synchronize(r->device);
}

/* Evaluates the sites of r->all; sets objective, gradient_norm, empty_cells and the ratios. */
static cvtm_status evaluate_result(classes_run *r, cvtm_classes_result *result) {
  double value[2];
  CVTM_TRY(evaluate_coupled(r, r->all->sites, 1, r->all->value, NULL));
  CVTM_TRY(cvtm_device_copy_out(r->device, value, r->all->value, sizeof value));
  CVTM_TRY(cvtm_cvt_count_empty(r->all, r->count, &result->descent.empty_cells));
  result->descent.objective = value[0];
  result->descent.gradient_norm = value[1];
  for (int k = 0; k < r->classes; ++k)
    result->ratio[k] = r->plan[k].cvt != NULL
                           ? r->energy[k] / (CVTM_HEXAGON_MOMENT * (double)r->plan[k].count)
                           : 0;
  result->union_ratio = r->union_energy / (CVTM_HEXAGON_MOMENT * (double)r->count);
  return CVTM_OK;
}

static cvtm_status descend_classes(classes_run *r, double deadline, cvtm_classes_result *result) {
  const cvtm_cvt_task task = {r->all, r->count, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT};
  const cvtm_cvt_objective coupled = {.evaluate = evaluate_classes,
                                      .context = r,
                                      .synchronous = 1,
                                      .keeps_masses = 1,
                                      .undefined = "the energy of the classes is not finite"};
  cvtm_descent d = {.task = &task,
                    .objective = &coupled,
                    .options = &r->options->cvt,
                    .deadline = deadline,
                    .timed = 1};
  const cvtm_status status = cvtm_descent_run(&d);
  result->descent.stop = d.stop;
  result->descent.iterations = d.state.iterations;
  result->descent.evaluations = d.state.evaluations + 1;
  result->descent.seconds_evaluation = d.state.seconds;
  return status;
}

/* --- the solver ------------------------------------------------------------------------------- */

static void destroy_run(classes_run *r) {
  if (r->options->plan != NULL) *r->options->plan = NULL;
  for (int k = 0; k < r->classes; ++k) cvtm_cvt_destroy(r->plan[k].cvt);
  cvtm_cvt_destroy(r->all);
}

static cvtm_status check_run(const classes_run *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  const cvtm_cvt_options *o = &r->options->cvt;
  if (!(r->options->union_weight >= 0) || !isfinite(r->options->union_weight))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the weight of the union must be 0 or more");
  if (o->fixed != 0 || o->energy != CVTM_CVT_EXACT)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "several classes need the exact energy, and no site may be fixed");
  return r->count > 0 ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no sites");
}

cvtm_status cvtm_classes_solve(cvtm_device *device, cvtm_domain domain,
                               const float *const *intensity, int classes, const int64_t *start,
                               const cvtm_classes_options *options, double *sites,
                               cvtm_classes_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_classes, options)
  const double begin = cvtm_clock(), deadline = cvtm_cvt_deadline(&options->cvt, begin);
  classes_run r = {.device = device,
                   .domain = domain,
                   .options = options,
                   .classes = classes,
                   .count = start[classes]};
  cvtm_classes_result found = {0};
  CVTM_TRY(check_run(&r));
  for (int k = 0; k < classes; ++k)
    r.plan[k] = (class_plan){NULL, start[k], start[k + 1] - start[k]};
  cvtm_status status = place_classes(&r, intensity, sites);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(r.all, sites, r.count);
  found.descent.stop = r.stop;
  if (options->plan != NULL) *options->plan = r.all;
  if (status == CVTM_OK && options->union_weight > 0 && r.stop != CVTM_STOP_REQUEST)
    status = descend_classes(&r, deadline, &found);
  if (status == CVTM_OK) status = evaluate_result(&r, &found);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(r.all, sites, r.count);
  destroy_run(&r);
  found.descent.seconds = cvtm_clock() - begin;
  found.descent.seconds_optimizer = found.descent.seconds - found.descent.seconds_evaluation;
  if (status == CVTM_OK && result) *result = found;
  return status;
}
