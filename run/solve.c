/* The optimisation of `run`, and the evaluation of its result. */
#include "base/clock.h"
#include "base/portable.h"
#include "base/random.h"
#include "base/ranks.h"
#include "run/domain.h"
#include "run/json.h"
#include "run/job.h"
#include "cvt/gaussian.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* --- cells of equal mass -------------------------------------------------------------------- */

cvtm_status run_equal_mass_check(const cvtm_run_options *options, cvtm_error *error) {
  if (!options->equal_mass.on) {
    if (options->given & CVTM_RUN_GIVEN_MASS_TOLERANCE)
      return run_usage_error(error, "--mass-tolerance needs --equal-mass");
    if (options->equal_mass.weights_out != NULL)
      return run_usage_error(error, "--weights-out needs --equal-mass");
    return CVTM_OK;
  }
  if (options->preset != CVTM_RUN_PRESET_NONE)
    return run_usage_error(error, "--preset does not go with --equal-mass");
  if (options->domain.kind != 0)
    return run_usage_error(error,
                           "--equal-mass does not go with --domain or --min-angle; --within FILE "
                           "keeps the sites inside a shape");
  if (options->live) return run_usage_error(error, "--watch cannot show the cells of --equal-mass");
  return CVTM_OK;
}

static cvtm_status hold_sites(cvtm_run *r, const cvtm_cvt_moments *moments) {
  run_equal_mass *made = &r->equal;
  cvtm_status status = cvtm_equal_mass_sample(
      r->domain, r->density, r->count - r->given, (uint64_t)r->options.seed, r->options.start,
      r->sites + 2 * r->given, cvtm_device_error(r->device));
  if (status == CVTM_OK)
    status = cvtm_equal_mass_weights(r->cvt, r->sites, r->count, made->tolerance, made->weights,
                                     moments, &made->result);
  made->result.descent.stop =
      r->options.iterations == 0 ? CVTM_STOP_ITERATIONS : CVTM_STOP_GRADIENT;
  return status;
}

static float *square_of(cvtm_domain domain, const float *density) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *square = malloc((size_t)pixels * sizeof *square);
  for (int64_t p = 0; square != NULL && p < pixels; ++p)
    square[p] = fminf(density[p] * density[p], FLT_MAX);
  return square;
}

void run_equal_mass_free(run_equal_mass *made) {
  free(made->weights);
  free(made->drawn);
}

void run_equal_mass_report(const run_equal_mass *made, cJSON *report) {
  const cvtm_equal_mass_result *result = &made->result;
  cJSON *entry = cJSON_AddObjectToObject(report, "equal_mass");
  run_json_real(entry, "mass", result->target);
  run_json_real(entry, "tolerance", made->tolerance);
  cJSON_AddBoolToObject(entry, "converged", result->converged);
  run_json_real(entry, "least_mass", made->least);
  run_json_real(entry, "largest_mass", made->most);
  run_json_real(entry, "largest_deviation", result->deviation);
  run_json_real(entry, "rms_deviation", result->deviation_rms);
  run_json_integer(entry, "start_iterations", result->start_iterations);
  run_json_integer(entry, "newton_steps", result->newton_steps);
  run_json_integer(entry, "diagrams", result->diagrams);
  run_json_integer(entry, "solver_iterations", result->solver_iterations);
  run_json_real(entry, "seconds_start", result->seconds_start);
  run_json_real(entry, "seconds_diagrams", result->seconds_diagrams);
  run_json_real(entry, "seconds_solver", result->seconds_solver);
}

/* --- blue noise ----------------------------------------------------------------------------- */

cvtm_status run_noise_check(const cvtm_run_options *options, cvtm_error *error) {
  static const struct {
    int given;
    const char *name;
  } of_tessellations[] = {{CVTM_RUN_GIVEN_PRESET, "preset"},
                          {CVTM_RUN_GIVEN_METHOD, "method"},
                          {CVTM_RUN_GIVEN_WATCH, "watch"},
                          {CVTM_RUN_GIVEN_GRADIENT_TOLERANCE, "gradient-tolerance"}};
  if (options->noise != CVTM_RUN_NOISE_BLUE) return CVTM_OK;
  if (options->equal_mass.on)
    return run_usage_error(error, "--equal-mass does not go with --noise blue");
  if (options->domain.kind != CVTM_RUN_DOMAIN_NONE)
    return run_usage_error(error, "--noise blue cannot keep the boundary of a --domain");
  for (size_t k = 0; k < sizeof of_tessellations / sizeof of_tessellations[0]; ++k)
    if ((int)options->given & of_tessellations[k].given)
      return run_usage_error(error,
                             "--%s is an option of tessellations and does not go with --noise blue",
                             of_tessellations[k].name);
  return CVTM_OK;
}

void run_noise_choose(cvtm_run_options *options) {
  cvtm_gaussian_options gaussian;
  if (options->noise != CVTM_RUN_NOISE_BLUE) return;
  cvtm_gaussian_defaults(&gaussian);
  if (!(options->given & CVTM_RUN_GIVEN_TOLERANCE)) options->tolerance = gaussian.tolerance;
  if (options->given & CVTM_RUN_GIVEN_ITERATIONS) return;
  options->iterations = gaussian.max_iterations;
  if (options->effort == CVTM_CVT_EFFORT_LOW) options->iterations /= 2;
  if (options->effort >= CVTM_CVT_EFFORT_HIGH) options->iterations *= 2;
}

static int ask_to_stop(void *context, const cvtm_lbfgsb_progress *progress) {
  (void)progress;
  return run_interrupted(context);
}

static float *root_of(cvtm_domain domain, const float *density) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *root = malloc((size_t)pixels * sizeof *root);
  for (int64_t p = 0; root != NULL && p < pixels; ++p) root[p] = sqrtf(density[p]);
  return root;
}

/* Moves each site by a random vector with a standard deviation of half the local spacing along each
 * axis, because strata may be the squares of a grid, to which the descent would return. root: the
 * wanted density up to a factor; total: number of sites. */
static void shake(cvtm_domain domain, const float *root, int64_t total, uint64_t seed,
                  double *sites, int64_t count) {
  const uint64_t stream = 2; /* cvtm_cvt_sample draws from 0 and 1 */
  const double side[2] = {domain.width, domain.height};
  double mass = 0;
  for (int64_t p = 0; p < (int64_t)domain.width * domain.height; ++p) mass += (double)root[p];
  for (int64_t i = 0; i < count; ++i) {
    double *place = sites + 2 * i, draw[2];
    const int64_t x = (int64_t)fmin(place[0], side[0] - 1),
                  y = (int64_t)fmin(place[1], side[1] - 1);
    const double spacing = sqrt(mass / ((double)total * (double)root[y * domain.width + x]));
    cvtm_random_uniform2(seed, stream, (uint64_t)i, draw);
    const double length = 0.5 * spacing * sqrt(-2 * log(1 - draw[0]));
    const double moved[2] = {place[0] + length * cos(2 * CVTM_PI * draw[1]),
                             place[1] + length * sin(2 * CVTM_PI * draw[1])};
    for (int axis = 0; axis < 2; ++axis)
      if (moved[axis] >= 0 && moved[axis] < side[axis]) place[axis] = moved[axis];
  }
}

/* Samples the sites that were not given, and moves all but the fixed ones to blue noise. The sites
 * of a tessellation follow the square root of its density, so blue noise is made for that root.
 * Fails with the device's error. */
static cvtm_status solve_noise(cvtm_run *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  const int64_t sampled = r->count - r->given;
  const uint64_t seed = (uint64_t)r->options.seed;
  cvtm_gaussian_options gaussian;
  cvtm_lbfgsb_result found;
  cvtm_gaussian_defaults(&gaussian);
  gaussian.max_iterations = r->options.iterations;
  gaussian.tolerance = r->options.tolerance;
  gaussian.max_seconds = r->options.time_limit;
  gaussian.fixed = r->fixed;
  gaussian.monitor = ask_to_stop;
  gaussian.monitor_context = &r->options;
  CVTM_TRY(cvtm_cvt_sample(r->domain, r->density, sampled, seed, r->options.start,
                           r->sites + 2 * r->given, error));
  float *root = root_of(r->domain, r->density);
  if (root == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a density");
  shake(r->domain, root, r->count, seed, r->sites + 2 * r->given, sampled);
  cvtm_status status =
      cvtm_gaussian_noise(r->device, r->domain, root, &gaussian, r->sites, r->count, &found);
  free(root);
  if (status != CVTM_OK) return status;
  r->result.stop = found.stop;
  r->result.iterations = found.iterations;
  r->result.evaluations = found.evaluations;
  r->result.seconds_evaluation = found.evaluation_seconds;
  r->result.seconds_optimizer = found.seconds - found.evaluation_seconds;
  r->noise_energy = found.f / (double)r->count;
  return CVTM_OK;
}

/* --- the optimisation ----------------------------------------------------------------------- */

static int announce(const cvtm_run *r, cvtm_run_event event, const cvtm_cvt_record *record,
                    cvtm_status status) {
  const cvtm_run_options *o = &r->options;
  /* with several inks the objective sums two energies: of the classes, of their union */
  const double bound = r->colours.count > 0 ? 2 * r->bound : r->bound;
  const cvtm_run_progress now = {event, r, record, r->count, bound, status};
  return o->progress != NULL && o->progress(o->context, &now);
}

/* A cvtm_cvt_monitor whose context is the run. It also asks to stop if memory runs out for the
 * record, which run_history_check reports later. */
static int record_iteration(void *context, const cvtm_cvt_record *record) {
  cvtm_run *r = context;
  if (record->sites == r->count) {
    cvtm_cvt_record *copy = run_history_add(&r->history, sizeof *copy);
    if (copy == NULL) return 1;
    *copy = *record;
  }
  const int stop = announce(r, CVTM_RUN_ITERATION, record, CVTM_OK);
  return run_interrupted(&r->options) || stop;
}

/* Computes the energy of the sites, with the masses and centroids of their cells; of several ranks
 * only rank 0 has the results. in_plan: nonzero if the plan has the sites from its last call. */
static cvtm_status evaluate_sites(cvtm_run *r, int in_plan, cvtm_cvt_energy energy,
                                  cvtm_voronoi_method voronoi, double *value) {
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  const cvtm_cvt_moments *wanted = cvtm_ranks_lead(r->device) ? &moments : NULL;
  return in_plan
             ? cvtm_cvt_evaluate_again(r->cvt, r->sites, r->count, energy, voronoi, value, wanted)
             : cvtm_cvt_evaluate(r->cvt, r->sites, r->count, energy, voronoi, value, wanted);
}

/* The largest distance from a site that may move to the centroid of its cell. */
static double largest_offset(const cvtm_run *r) {
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

/* Sends the sites of rank 0 to all ranks. */
static cvtm_status share_sites(cvtm_run *r) {
  return cvtm_ranks_broadcast(r->device, r->sites, 2 * (size_t)r->count * sizeof *r->sites);
}

/* For --iterations 0, or when every site is fixed: samples and evaluates without moves. */
static cvtm_status keep_start(cvtm_run *r) {
  cvtm_cvt_record record = {r->count, 0, 0, 0, 0};
  cvtm_status status = CVTM_OK;
  if (cvtm_ranks_lead(r->device))
    status =
        cvtm_cvt_sample(r->domain, r->density, r->count - r->given, (uint64_t)r->options.seed,
                        r->options.start, r->sites + 2 * r->given, cvtm_device_error(r->device));
  if (status == CVTM_OK) status = share_sites(r);
  if (status != CVTM_OK) return status;
  status = evaluate_sites(r, 0, r->options.energy, r->options.voronoi, &record.energy);
  if (status != CVTM_OK) return status;
  if (cvtm_ranks_lead(r->device)) record.gradient_norm = largest_offset(r);
  r->result.stop = r->fixed == r->count ? CVTM_STOP_GRADIENT : CVTM_STOP_ITERATIONS;
  r->result.evaluations = 1;
  r->result.objective = record.energy;
  r->result.gradient_norm = record.gradient_norm;
  (void)record_iteration(r, &record);
  return CVTM_OK;
}

static cvtm_cvt_options descent_options(cvtm_run *r) {
  cvtm_cvt_options settings;
  cvtm_cvt_defaults(&settings);
  settings.method = r->options.method;
  settings.energy = r->options.energy;
  settings.voronoi = r->options.voronoi;
  settings.max_iterations = r->options.iterations;
  settings.tolerance = r->options.tolerance;
  settings.gradient_tolerance = r->options.gradient_tolerance;
  settings.max_seconds = r->options.time_limit;
  if (r->options.order != CVTM_RUN_ORDER_NONE)
    settings.max_seconds *= 0.75; /* the rest is for the order */
  if (r->options.domain.kind != CVTM_RUN_DOMAIN_NONE && run_domain_refines(&r->options))
    settings.max_seconds *= 0.85; /* the rest is for the refinement */
  settings.fixed = r->fixed;
  settings.effort = r->options.effort;
  settings.start = r->options.start;
  settings.seed = (uint64_t)r->options.seed;
  run_preset_descent(&r->options, &settings);
  settings.monitor = record_iteration;
  settings.monitor_context = r;
  settings.live = r->options.live;
  return settings;
}

/* The mesh of a domain that is not refined drops sites that are too close to its boundary. Moves
 * these sites elsewhere and descends again, unless the user or the time limit ended the run. The
 * mesh may still have fewer sites than were asked for. */
static cvtm_status place_all_in_mesh(cvtm_run *r, const cvtm_cvt_options *settings) {
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
    cvtm_status status = run_domain_move_dropped(&r->shape, r->domain, r->density, r->sites,
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

/* With --boundary sliding, a quarter of --time-limit is reserved for sliding. */
static cvtm_status optimize_energy(cvtm_run *r) {
  const cvtm_cvt_options settings = descent_options(r);
  cvtm_cvt_options locked = settings;
  if (r->options.domain.sliding) locked.max_seconds *= 0.75;
  CVTM_TRY(run_checkpoint_attach(&r->checkpoint, &r->history, cvtm_device_error(r->device)));
  if (r->checkpoint.path != NULL) locked.checkpoint = &r->checkpoint.solve;
  cvtm_status status = cvtm_cvt_solve(r->cvt, &locked, r->given, r->sites, r->count, &r->result);
  if (status != CVTM_OK) run_checkpoint_explain(&r->checkpoint, cvtm_device_error(r->device));
  run_checkpoint_close(&r->checkpoint);
  if (status == CVTM_OK && r->options.domain.sliding)
    status = cvtm_cvt_slide(r->cvt, &r->shape.contour, &settings, &r->shape.boundary, r->sites,
                            r->count, &r->result, &r->shape.slides);
  if (status == CVTM_OK && r->options.domain.kind != CVTM_RUN_DOMAIN_NONE &&
      !run_domain_refines(&r->options))
    status = place_all_in_mesh(r, &settings);
  return status;
}

/* hold: nonzero: computes weights without moving sites. */
static cvtm_status optimize_equal_mass(cvtm_run *r, int hold) {
  const cvtm_cvt_options settings = descent_options(r);
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  run_equal_mass *made = &r->equal;
  made->tolerance = r->options.equal_mass.tolerance;
  made->weights = malloc((size_t)r->count * sizeof *made->weights);
  made->drawn = square_of(r->domain, r->density);
  if (made->weights == NULL || made->drawn == NULL)
    return cvtm_fail(cvtm_device_error(r->device), CVTM_ERROR_MEMORY, "out of memory");
  const cvtm_status status =
      hold ? hold_sites(r, &moments)
           : cvtm_equal_mass_solve(r->cvt, &settings, made->tolerance, r->given, r->sites,
                                   made->weights, r->count, &moments, &made->result);
  made->least = INFINITY;
  made->most = 0;
  for (int64_t i = 0; i < r->count && status == CVTM_OK; ++i) {
    made->least = fmin(made->least, r->mass[i] / made->result.target);
    made->most = fmax(made->most, r->mass[i] / made->result.target);
  }
  r->result = made->result.descent;
  r->energy = r->result.objective;
  return status;
}

/* The energy of the run is that of the union of the classes, in units of its bound. */
static cvtm_status optimize_colours(cvtm_run *r) {
  const double hexagon = 5 / (18 * sqrt(3.0)); /* the energy of a cell at the bound */
  cvtm_error *error = cvtm_device_error(r->device);
  r->bound = hexagon * (double)r->count;
  (void)announce(r, CVTM_RUN_BEGINS, NULL, CVTM_OK);
  const cvtm_cvt_options settings = descent_options(r);
  cvtm_status status =
      run_colours_solve(&r->options, r->device, &settings, &r->cvt, &r->colours, r->sites);
  (void)announce(r, CVTM_RUN_ENDS, NULL, status);
  if (status == CVTM_OK) status = run_history_check(&r->history, error);
  r->result = r->colours.solved.descent;
  r->energy = r->colours.solved.union_ratio * r->bound;
  r->moved = cvtm_pipeline_move_sites(&r->made, r->sites, r->count);
  r->stop_reason =
      r->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(r->result.stop);
  return status;
}

cvtm_status run_make_plan(cvtm_run *r) {
  if (r->colours.count > 0 || r->cvt != NULL) return CVTM_OK;
  return cvtm_cvt_create_borrowed(r->device, r->domain, r->density, r->on_device, r->count,
                                  &r->cvt);
}

/* With --domain sites on the boundary must stay. */
static void move_out_of_obstacles(cvtm_run *r) {
  const int64_t first = r->options.iterations == 0 ? r->given : r->fixed;
  if (r->options.domain.kind == CVTM_RUN_DOMAIN_NONE && !r->options.equal_mass.on)
    r->moved = cvtm_pipeline_move_sites(&r->made, r->sites + 2 * first, r->count - first);
}

cvtm_status run_optimize(cvtm_run *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  if (r->colours.count > 0) return optimize_colours(r);
  r->mass = malloc((size_t)r->count * sizeof *r->mass);
  r->centroid = malloc(2 * (size_t)r->count * sizeof *r->centroid);
  if (r->mass == NULL || r->centroid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  cvtm_status status = CVTM_OK;
  r->bound = r->options.equal_mass.on ? cvtm_equal_mass_bound(r->domain, r->density, r->count)
                                      : cvtm_cvt_plan_bound(r->cvt, r->count);
  (void)announce(r, CVTM_RUN_BEGINS, NULL, CVTM_OK);
  const int hold = r->options.iterations == 0 || r->fixed == r->count;
  if (status == CVTM_OK && r->options.equal_mass.on)
    status = optimize_equal_mass(r, hold);
  else if (status == CVTM_OK && hold)
    status = keep_start(r);
  else if (status == CVTM_OK && r->options.noise == CVTM_RUN_NOISE_BLUE)
    status = solve_noise(r);
  else if (status == CVTM_OK)
    status = optimize_energy(r);
  if (status == CVTM_OK) move_out_of_obstacles(r);
  (void)announce(r, CVTM_RUN_ENDS, NULL, status);
  if (status == CVTM_OK) status = run_history_check(&r->history, error);
  r->stop_reason =
      r->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(r->result.stop);
  return status;
}

/* Makes a new plan for r->count sites, and grows the arrays that belong to the sites. */
static cvtm_status plan_again(cvtm_run *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  double *mass = realloc(r->mass, (size_t)r->count * sizeof *mass);
  if (mass != NULL) r->mass = mass;
  double *centroid = realloc(r->centroid, 2 * (size_t)r->count * sizeof *centroid);
  if (centroid != NULL) r->centroid = centroid;
  if (mass == NULL || centroid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  r->fixed = r->given = r->shape.boundary_vertices;
  cvtm_cvt_destroy(r->cvt);
  r->cvt = NULL;
  const cvtm_status status = run_make_plan(r);
  if (status == CVTM_OK) r->bound = cvtm_cvt_plan_bound(r->cvt, r->count);
  return status;
}

/* Least time for the refinement if --time-limit is given: in a preview, and otherwise. */
static const double preview_seconds = 2, least_seconds = 10;

cvtm_status run_refine(cvtm_run *r) {
  enum { RELAXATIONS = 3 };
  cvtm_error *error = cvtm_device_error(r->device);
  if (r->options.domain.kind == CVTM_RUN_DOMAIN_NONE || r->options.equal_mass.on) return CVTM_OK;
  if (r->options.time_limit > 0)
    r->shape.limit.deadline =
        fmax(r->solve_start + r->options.time_limit,
             cvtm_clock() + (r->options.preview.on ? preview_seconds : least_seconds));
  const cvtm_status status = run_domain_refine(&r->options, &r->shape, &r->sites, &r->count, error);
  if (status != CVTM_OK || !r->shape.refined) return status;
  /* where refinement has kept all sites of the tessellation, no relaxation is needed */
  const cvtm_refine_figures *made = &r->shape.refinement;
  const int64_t changes =
      made->added_on_boundary + made->added_for_angles + made->added_for_areas + made->removed;
  cvtm_status next = plan_again(r);
  for (int round = 0; changes > 0 && round < RELAXATIONS && next == CVTM_OK; ++round) {
    int64_t moved = 0;
    double energy;
    next = evaluate_sites(r, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &energy);
    if (next == CVTM_OK) next = run_domain_relax(&r->shape, r->sites, r->centroid, &moved, error);
    if (moved == 0) break;
  }
  if (next == CVTM_OK) next = run_domain_raise_angles(&r->shape, r->sites, error);
  return next;
}

cvtm_status run_evaluate_result(cvtm_run *r) {
  if (r->options.equal_mass.on) return CVTM_OK; /* the solver has computed the results */
  cvtm_status status = cvtm_ranks_agree(r->device, &r->moved);
  if (status == CVTM_OK && r->moved > 0) status = share_sites(r);
  const int pixel = r->options.energy == CVTM_CVT_PIXEL;
  const int in_plan = r->moved == 0 && r->options.domain.kind == CVTM_RUN_DOMAIN_NONE &&
                      r->options.noise != CVTM_RUN_NOISE_BLUE;
  if (status == CVTM_OK && pixel)
    status = evaluate_sites(r, in_plan, CVTM_CVT_PIXEL, CVTM_VORONOI_EXACT, &r->energy_pixel);
  if (status == CVTM_OK)
    status = evaluate_sites(r, in_plan || pixel, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &r->energy);
  if (status != CVTM_OK) return status;
  if (r->options.noise == CVTM_RUN_NOISE_BLUE) r->result.gradient_norm = largest_offset(r);
  r->result.empty_cells = 0;
  for (int64_t i = 0; cvtm_ranks_lead(r->device) && i < r->count; ++i)
    r->result.empty_cells += !(r->mass[i] > 0);
  return CVTM_OK;
}
