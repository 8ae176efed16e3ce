/* The optimisation of `run`, and the evaluation of its result. */
#include "base/clock.h"
#include "base/ranks.h"
#include "cli/domain_refine.h"
#include "cli/preset.h"
#include "cli/run_job.h"

#include <math.h>
#include <stdlib.h>

/* The energy of the sites, with the masses and centroids of their cells, which of several ranks
 * rank 0 has. */
static cvtm_status evaluate_sites(cli_run_job *r, cvtm_cvt_energy energy,
                                  cvtm_voronoi_method voronoi, double *value) {
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  return cvtm_cvt_evaluate(r->cvt, r->sites, r->count, energy, voronoi, value,
                           cvtm_ranks_lead(r->device) ? &moments : NULL);
}

/* The largest distance from a site that may move to the centroid of its cell. */
static double largest_offset(const cli_run_job *r) {
  double largest = 0;
  for (int64_t i = r->fixed; i < r->count; ++i) {
    double dx = fabs(r->centroid[2 * i] - r->sites[2 * i]);
    double dy = fabs(r->centroid[2 * i + 1] - r->sites[2 * i + 1]);
    if (r->domain.periodic) {
      dx = fmin(dx, fabs(r->domain.width - dx));
      dy = fmin(dy, fabs(r->domain.height - dy));
    }
    largest = fmax(largest, hypot(dx, dy));
  }
  return largest;
}

/* Of several ranks all get the sites of rank 0. */
static cvtm_status share_sites(cli_run_job *r) {
  return cvtm_ranks_broadcast(r->device, r->sites, 2 * (size_t)r->count * sizeof *r->sites);
}

/* For --iterations 0 or when every site is fixed: samples and evaluates, moves nothing. */
static cvtm_status keep_start(cli_run_job *r) {
  cvtm_cvt_record record = {r->count, 0, 0, 0, 0};
  cvtm_status status = CVTM_OK;
  if (cvtm_ranks_lead(r->device))
    status = cvtm_cvt_sample(r->domain, r->density, r->count - r->given, (uint64_t)r->options.seed,
                             (cvtm_cvt_start)r->options.start, r->sites + 2 * r->given,
                             cvtm_device_error(r->device));
  if (status == CVTM_OK) status = share_sites(r);
  if (status != CVTM_OK) return status;
  status = evaluate_sites(r, (cvtm_cvt_energy)r->options.energy,
                          (cvtm_voronoi_method)r->options.voronoi, &record.energy);
  if (status != CVTM_OK) return status;
  if (cvtm_ranks_lead(r->device)) record.gradient_norm = largest_offset(r);
  r->result.stop = r->fixed == r->count ? CVTM_STOP_GRADIENT : CVTM_STOP_ITERATIONS;
  r->result.evaluations = 1;
  r->result.objective = record.energy;
  r->result.gradient_norm = record.gradient_norm;
  (void)cli_progress_monitor(&r->progress, &record);
  return CVTM_OK;
}

static cvtm_cvt_options descent_options(cli_run_job *r) {
  cvtm_cvt_options settings;
  cvtm_cvt_defaults(&settings);
  settings.method = (cvtm_cvt_method)r->options.method;
  settings.energy = (cvtm_cvt_energy)r->options.energy;
  settings.voronoi = (cvtm_voronoi_method)r->options.voronoi;
  settings.max_iterations = r->options.iterations;
  settings.tolerance = r->options.tolerance;
  settings.gradient_tolerance = r->options.gradient_tolerance;
  settings.max_seconds = r->options.time_limit;
  if (r->options.order != CLI_ORDER_NONE) settings.max_seconds *= 0.75; /* the order has the rest */
  if (r->options.domain.kind != CLI_DOMAIN_NONE && cli_domain_refines(&r->options))
    settings.max_seconds *= 0.85; /* the refinement has the rest */
  settings.fixed = r->fixed;
  settings.effort = (cvtm_cvt_effort)r->options.effort;
  settings.start = (cvtm_cvt_start)r->options.start;
  settings.seed = (uint64_t)r->options.seed;
  cli_preset_descent(&r->options, &settings);
  settings.monitor = r->watch != NULL ? cli_watch_monitor : cli_progress_monitor;
  settings.monitor_context = r->watch != NULL ? (void *)r->watch : (void *)&r->progress;
  settings.live = r->watch != NULL;
  return settings;
}

/* The mesh of a domain that is not refined drops sites that lie too close to its boundary. This
 * moves them elsewhere and descends again, unless the user or the time limit ended the run; the
 * mesh may still have fewer sites than were asked for. */
static cvtm_status place_all_in_mesh(cli_run_job *r, const cvtm_cvt_options *settings) {
  enum { ROUNDS = 5, ITERATIONS = 20 };
  const cvtm_stop stop = r->result.stop;
  cvtm_cvt_options options = *settings;
  options.max_iterations = ITERATIONS;
  options.max_seconds = 0;
  options.monitor = NULL;
  options.live = 0;
  if (stop == CVTM_STOP_REQUEST || stop == CVTM_STOP_TIME) return CVTM_OK;
  for (int round = 0; round < ROUNDS; ++round) {
    cvtm_cvt_result found;
    int64_t moved = 0;
    cvtm_status status = cli_domain_move_dropped(&r->shape, r->domain, r->density, r->sites,
                                                 r->count, &moved, cvtm_device_error(r->device));
    if (status == CVTM_OK && moved > 0)
      status = cvtm_cvt_optimize(r->cvt, &options, r->sites, r->count, &found);
    if (status != CVTM_OK || moved == 0) return status;
    r->result.evaluations += found.evaluations;
    r->result.objective = found.objective;
    r->result.gradient_norm = found.gradient_norm;
  }
  return CVTM_OK;
}

/* With --boundary sliding, a quarter of --time-limit is left for the sliding. */
static cvtm_status optimize_energy(cli_run_job *r) {
  const cvtm_cvt_options settings = descent_options(r);
  cvtm_cvt_options locked = settings;
  if (r->options.domain.sliding) locked.max_seconds *= 0.75;
  cvtm_status status =
      cli_checkpoint_attach(&r->checkpoint, &r->progress, cvtm_device_error(r->device));
  if (status != CVTM_OK) return status;
  if (r->checkpoint.path != NULL || r->checkpoint.resumed != NULL)
    locked.checkpoint = &r->checkpoint.solve;
  status = cvtm_cvt_solve(r->cvt, &locked, r->given, r->sites, r->count, &r->result);
  if (status != CVTM_OK) cli_checkpoint_explain(&r->checkpoint, cvtm_device_error(r->device));
  cli_checkpoint_close(&r->checkpoint);
  if (status == CVTM_OK && r->options.domain.sliding)
    status = cvtm_cvt_slide(r->cvt, &r->shape.contour, &settings, &r->shape.boundary, r->sites,
                            r->count, &r->result, &r->shape.slides);
  if (status == CVTM_OK && r->options.domain.kind != CLI_DOMAIN_NONE &&
      !cli_domain_refines(&r->options))
    status = place_all_in_mesh(r, &settings);
  return status;
}

/* hold: computes weights, but moves no site. */
static cvtm_status optimize_equal_mass(cli_run_job *r, int hold) {
  const cvtm_cvt_options settings = descent_options(r);
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  const cvtm_status status =
      cli_equal_mass_solve(&r->options, r->cvt, r->domain, r->density, &settings, r->given, hold,
                           r->sites, r->count, &moments, &r->equal, cvtm_device_error(r->device));
  r->result = r->equal.result.descent;
  r->energy = r->result.objective;
  return status;
}

/* The energy of the run is that of the union of the classes, in units of its bound. */
static cvtm_status optimize_colours(cli_run_job *r) {
  const double hexagon = 5 / (18 * sqrt(3.0)); /* the energy of a cell at the bound */
  cvtm_error *error = cvtm_device_error(r->device);
  r->bound = hexagon * (double)r->count;
  cli_progress_start(&r->progress, &r->options, r->count, 2 * r->bound);
  const cvtm_cvt_options settings = descent_options(r);
  cvtm_status status = cli_colours_solve(&r->options, r->device, &settings, &r->colours, r->sites);
  cli_progress_finish(&r->progress);
  if (status == CVTM_OK) status = cli_history_check(&r->progress.history, error);
  r->result = r->colours.solved.descent;
  r->energy = r->colours.solved.union_ratio * r->bound;
  r->moved = cvtm_pipeline_move_sites(&r->made, r->sites, r->count);
  r->stop_reason =
      r->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(r->result.stop);
  return status;
}

cvtm_status cli_run_optimize(cli_run_job *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  if (r->colours.count > 0) return optimize_colours(r);
  r->mass = malloc((size_t)r->count * sizeof *r->mass);
  r->centroid = malloc(2 * (size_t)r->count * sizeof *r->centroid);
  if (r->mass == NULL || r->centroid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  cvtm_status status =
      cvtm_cvt_create_borrowed(r->device, r->domain, r->density, r->on_device, r->count, &r->cvt);
  if (status != CVTM_OK) return status;
  r->bound = r->options.equal_mass.on ? cvtm_equal_mass_bound(r->domain, r->density, r->count)
                                      : cvtm_cvt_plan_bound(r->cvt, r->count);
  cli_progress_start(&r->progress, &r->options, r->count, r->bound);
  if (r->options.view.watch != NULL)
    status = cli_watch_start(&r->options, r->device, r->domain, r->density, r->cvt, r->count,
                             r->bound, &r->progress, &r->watch, error);
  const int hold = r->options.iterations == 0 || r->fixed == r->count;
  if (status == CVTM_OK && r->options.equal_mass.on)
    status = optimize_equal_mass(r, hold);
  else if (status == CVTM_OK && hold)
    status = keep_start(r);
  else if (status == CVTM_OK && r->options.noise == CLI_NOISE_BLUE)
    status = cli_noise_solve(&r->options, r->device, r->domain, r->density, r->fixed, r->given,
                             r->sites, r->count, &r->result, &r->noise);
  else if (status == CVTM_OK)
    status = optimize_energy(r);
  cli_progress_finish(&r->progress);
  if (status == CVTM_OK) status = cli_history_check(&r->progress.history, error);
  if (status == CVTM_OK && r->watch != NULL)
    status = cli_watch_last(r->watch, r->sites, &r->result, error);
  r->stop_reason =
      r->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(r->result.stop);
  return status;
}

/* Grows what belongs to the sites to r->count, for which a new plan is made. */
static cvtm_status plan_again(cli_run_job *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  double *mass = realloc(r->mass, (size_t)r->count * sizeof *mass);
  if (mass != NULL) r->mass = mass;
  double *centroid = realloc(r->centroid, 2 * (size_t)r->count * sizeof *centroid);
  if (centroid != NULL) r->centroid = centroid;
  if (mass == NULL || centroid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  r->fixed = r->given = r->shape.boundary.vertex_count;
  cvtm_cvt_destroy(r->cvt);
  r->cvt = NULL;
  const cvtm_status status =
      cvtm_cvt_create_borrowed(r->device, r->domain, r->density, r->on_device, r->count, &r->cvt);
  if (status == CVTM_OK) r->bound = cvtm_cvt_plan_bound(r->cvt, r->count);
  return status;
}

/* The refinement has these after a descent that --time-limit ended; in a preview it has the first.
 */
static const double preview_seconds = 2, least_seconds = 10;

cvtm_status cli_run_refine(cli_run_job *r) {
  enum { RELAXATIONS = 3 };
  const cvtm_domain image = {r->domain.width, r->domain.height, r->options.periodic};
  cvtm_error *error = cvtm_device_error(r->device);
  if (r->options.domain.kind == CLI_DOMAIN_NONE || r->options.equal_mass.on) return CVTM_OK;
  if (r->options.time_limit > 0)
    r->shape.deadline =
        fmax(r->solve_start + r->options.time_limit,
             cvtm_clock() + (r->options.preview.on ? preview_seconds : least_seconds));
  const cvtm_status status =
      cli_domain_refine(&r->options, image, &r->shape, &r->sites, &r->count, error);
  if (status != CVTM_OK || !r->shape.refined) return status;
  cvtm_status next = plan_again(r);
  for (int round = 0; round < RELAXATIONS && next == CVTM_OK; ++round) {
    int64_t moved = 0;
    double energy;
    next = evaluate_sites(r, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &energy);
    if (next == CVTM_OK)
      next = cli_domain_relax(&r->options, image, &r->shape, r->sites, r->count, r->centroid,
                              &moved, error);
    if (moved == 0) break;
  }
  if (next == CVTM_OK)
    next = cli_domain_raise_angles(&r->options, image, &r->shape, r->sites, r->count, error);
  return next;
}

cvtm_status cli_run_evaluate_result(cli_run_job *r) {
  if (r->options.equal_mass.on) return CVTM_OK; /* the solver has computed all of it */
  const int64_t first = r->options.iterations == 0 ? r->given : r->fixed;
  /* With --domain sites on the boundary must stay. */
  if (r->options.domain.kind == CLI_DOMAIN_NONE)
    r->moved = cvtm_pipeline_move_sites(&r->made, r->sites + 2 * first, r->count - first);
  cvtm_status status = cvtm_ranks_agree(r->device, &r->moved);
  if (status == CVTM_OK && r->moved > 0) status = share_sites(r);
  if (status == CVTM_OK && r->options.energy == CVTM_CVT_PIXEL)
    status = cvtm_cvt_evaluate(r->cvt, r->sites, r->count, CVTM_CVT_PIXEL, CVTM_VORONOI_EXACT,
                               &r->energy_pixel, NULL);
  if (status == CVTM_OK) status = evaluate_sites(r, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &r->energy);
  if (status != CVTM_OK) return status;
  if (r->options.noise == CLI_NOISE_BLUE) r->result.gradient_norm = largest_offset(r);
  r->result.empty_cells = 0;
  for (int64_t i = 0; cvtm_ranks_lead(r->device) && i < r->count; ++i)
    r->result.empty_cells += !(r->mass[i] > 0);
  return CVTM_OK;
}
