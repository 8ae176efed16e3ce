/* cvtmesh run: density image -> centroidal Voronoi tessellation -> files. */
#include "base/clock.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/condition.h"
#include "cli/domain.h"
#include "cli/equal_mass.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/watch.h"
#include "cvt/cvt.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* code, name in the report's `seconds` */
#define PHASE_LIST(X)               \
  X(PHASE_READ, "read")             \
  X(PHASE_SAMPLE, "sample")         \
  X(PHASE_OPTIMIZE, "optimize")     \
  X(PHASE_EVALUATION, "evaluation") \
  X(PHASE_MESH, "mesh")             \
  X(PHASE_WRITE, "write")

typedef enum phase {
#define PHASE_CODE(code, name) code,
  PHASE_LIST(PHASE_CODE)
#undef PHASE_CODE
      PHASE_COUNT
} phase;

static const char *const phase_names[] = {
#define PHASE_NAME(code, name) name,
    PHASE_LIST(PHASE_NAME)
#undef PHASE_NAME
};

struct cli_run_job {
  cli_options options; /* becomes the values that were in effect */
  cvtm_device *device; /* borrowed; NULL before the solution */
  cvtm_domain domain;
  float *density; /* that of `made` */
  cvtm_pipeline_result made;
  double *sites;
  int64_t count, fixed, given; /* given: fixed sites and those of --init */
  int64_t moved;               /* at the end, out of obstacles */
  double bound;
  cvtm_cvt *cvt;
  cvtm_cvt_result result;
  cli_equal_mass equal; /* of --equal-mass; else empty */
  const char *stop_reason;
  double energy, energy_pixel; /* of the final sites */
  double *mass, *centroid;
  cvtm_mesh mesh;
  cvtm_cells cells;
  cvtm_quality quality;
  cli_domain shape; /* of --domain; else empty */
  cli_progress progress;
  cli_watch *watch; /* NULL without --watch */
  double seconds[PHASE_COUNT], start, phase_start;
};

typedef cli_run_job run;

static void start_phase(run *r) { r->phase_start = cvtm_clock(); }

static void end_phase(run *r, phase which) {
  double now = cvtm_clock();
  r->seconds[which] += now - r->phase_start;
  r->phase_start = now;
}

int cli_run_check(const cli_options *options) {
  if (options->points == 0 && options->init == NULL && options->fixed == NULL &&
      options->density_from != CVTM_DENSITY_FROM_SIZE)
    return cli_usage_error(options->command, "--points is missing");
  if (options->output.count == 0 && options->picture == NULL && options->density_out == NULL &&
      options->report == NULL && options->view.watch == NULL)
    return cli_usage_error(options->command, "--output is missing");
  int code = cli_watch_check(options);
  if (code == CLI_EXIT_OK) code = cli_condition_check(options);
  if (code == CLI_EXIT_OK) code = cli_segment_check(options);
  if (code == CLI_EXIT_OK) code = cli_domain_check(options);
  if (code == CLI_EXIT_OK) code = cli_equal_mass_check(options);
  return code == CLI_EXIT_OK ? cli_outputs_check_names(options) : code;
}

/* The vertices on the boundary of --domain, copied. */
static cvtm_status take_boundary(const run *r, double **fixed, int64_t *count, cvtm_error *error) {
  const size_t bytes = 2 * (size_t)r->shape.boundary.vertex_count * sizeof **fixed;
  *fixed = malloc(bytes);
  if (*fixed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the boundary");
  memcpy(*fixed, r->shape.boundary.points, bytes);
  *count = r->shape.boundary.vertex_count;
  return CVTM_OK;
}

static cvtm_status read_sites(const run *r, const char *path, double **sites, int64_t *count,
                              cvtm_error *error) {
  const cvtm_status status = cvtm_points_read(path, sites, count, error);
  if (status != CVTM_OK) return status;
  return cli_require_inside(path, *sites, *count, r->domain, error);
}

/* Fixed sites first, then those of --init, else room for samples. */
static int place_given_sites(run *r) {
  cli_options *options = &r->options;
  cvtm_error error = {CVTM_OK, ""};
  double *fixed = NULL, *init = NULL;
  int64_t init_count = 0;
  cvtm_status status = CVTM_OK;
  int code = CLI_EXIT_OK;
  if (options->fixed != NULL) status = read_sites(r, options->fixed, &fixed, &r->fixed, &error);
  if (options->domain.kind != CLI_DOMAIN_NONE) status = take_boundary(r, &fixed, &r->fixed, &error);
  if (status == CVTM_OK && options->init != NULL)
    status = read_sites(r, options->init, &init, &init_count, &error);
  r->count = options->points > 0 ? options->points : r->fixed + init_count;
  if (status != CVTM_OK) {
    code = cli_failed(CLI_READING, status, &error);
  } else if (r->fixed > r->count) {
    code = cli_usage_error(CLI_RUN, "%s: %lld fixed sites are more than the %lld of --points",
                           options->fixed, (long long)r->fixed, (long long)r->count);
  } else if (init_count > 0 && r->fixed + init_count != r->count) {
    code = cli_usage_error(CLI_RUN,
                           "%s: %lld sites, fixed ones included, are not the %lld of --points",
                           options->init, (long long)(r->fixed + init_count), (long long)r->count);
  } else {
    r->sites = malloc(2 * (size_t)r->count * sizeof *r->sites);
    if (r->sites == NULL) {
      cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
      code = cli_failed(CLI_WORKING, error.status, &error);
    } else {
      const size_t pair = 2 * sizeof *r->sites;
      if (r->fixed > 0) memcpy(r->sites, fixed, (size_t)r->fixed * pair);
      if (init_count > 0) memcpy(r->sites + 2 * r->fixed, init, (size_t)init_count * pair);
      r->given = r->fixed + init_count;
    }
  }
  free(fixed);
  free(init);
  return code;
}

static cvtm_status read_domain(run *r, cvtm_error *error) {
  float *segmented = NULL;
  if (r->options.segment.on) {
    segmented = malloc((size_t)r->domain.width * (size_t)r->domain.height * sizeof *segmented);
    if (segmented == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
    cvtm_segmentation_coverage(&r->made.segmentation, segmented);
  }
  const cvtm_status status =
      cli_domain_read(&r->options, r->domain, segmented, r->made.density, &r->shape, error);
  free(segmented);
  return status;
}

/* Where the density has the sizes s, as many sites as hexagons whose centres are s apart. */
static cvtm_status count_by_size(run *r, cvtm_error *error) {
  const double most = 1e9;
  const int64_t pixels = (int64_t)r->domain.width * r->domain.height;
  double sites = 0; /* s^-2 is the root of the density, or with equal masses the density */
  for (int64_t p = 0; p < pixels; ++p) {
    const double rho = (double)r->made.density[p];
    sites += 2 / sqrt(3.0) * (r->options.equal_mass.on ? rho : sqrt(rho));
  }
  if (sites > most)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the sizes ask for %.3g sites; at most %g",
                     r->options.input, sites, most);
  r->options.points = (int64_t)fmax(round(sites), 1);
  return CVTM_OK;
}

static int read_density(run *r, cvtm_device *device) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status =
      cli_read_conditioned(device, r->options.input, &r->options, &r->made, &error);
  r->domain = (cvtm_domain){r->made.width, r->made.height, r->options.periodic};
  const int by_size = r->options.density_from == CVTM_DENSITY_FROM_SIZE && r->options.points == 0 &&
                      r->options.init == NULL;
  if (status == CVTM_OK && r->options.domain.kind != CLI_DOMAIN_NONE) {
    status = read_domain(r, &error);
    if (status == CVTM_OK) r->options.points = r->shape.figures.sites;
  } else if (status == CVTM_OK && by_size) {
    status = count_by_size(r, &error);
  }
  r->density = r->made.density;
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  return CLI_EXIT_OK;
}

/* Energy of the sites as they are, with masses and centroids. */
static cvtm_status evaluate(run *r, cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                            double *value) {
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  return cvtm_cvt_evaluate(r->cvt, r->sites, r->count, energy, voronoi, value, &moments);
}

/* For --iterations 0 and when every site is fixed: the start is the result. */
static cvtm_status keep_start(run *r) {
  cvtm_cvt_record record = {r->count, 0, 0, 0, 0};
  cvtm_status status = cvtm_cvt_sample(r->domain, r->density, r->count - r->given,
                                       (uint64_t)r->options.seed, (cvtm_cvt_start)r->options.start,
                                       r->sites + 2 * r->given, cvtm_device_error(r->device));
  if (status != CVTM_OK) return status;
  status = evaluate(r, (cvtm_cvt_energy)r->options.energy, (cvtm_voronoi_method)r->options.voronoi,
                    &record.energy);
  if (status != CVTM_OK) return status;
  for (int64_t i = r->fixed; i < r->count; ++i) {
    double dx = fabs(r->centroid[2 * i] - r->sites[2 * i]);
    double dy = fabs(r->centroid[2 * i + 1] - r->sites[2 * i + 1]);
    if (r->domain.periodic) {
      dx = fmin(dx, fabs(r->domain.width - dx));
      dy = fmin(dy, fabs(r->domain.height - dy));
    }
    record.gradient_norm = fmax(record.gradient_norm, hypot(dx, dy));
  }
  r->result.stop = r->fixed == r->count ? CVTM_STOP_GRADIENT : CVTM_STOP_ITERATIONS;
  r->result.evaluations = 1;
  r->result.objective = record.energy;
  r->result.gradient_norm = record.gradient_norm;
  (void)cli_progress_monitor(&r->progress, &record);
  return CVTM_OK;
}

static cvtm_cvt_options descent_options(run *r) {
  cvtm_cvt_options how;
  cvtm_cvt_defaults(&how);
  how.method = (cvtm_cvt_method)r->options.method;
  how.energy = (cvtm_cvt_energy)r->options.energy;
  how.voronoi = (cvtm_voronoi_method)r->options.voronoi;
  how.max_iterations = r->options.iterations;
  how.tolerance = r->options.tolerance;
  how.gradient_tolerance = r->options.gradient_tolerance;
  how.max_seconds = r->options.time_limit;
  how.fixed = r->fixed;
  how.effort = (cvtm_cvt_effort)r->options.effort;
  how.start = (cvtm_cvt_start)r->options.start;
  how.seed = (uint64_t)r->options.seed;
  how.reseed = r->options.reseed;
  how.monitor = r->watch != NULL ? cli_watch_monitor : cli_progress_monitor;
  how.monitor_context = r->watch != NULL ? (void *)r->watch : (void *)&r->progress;
  how.live = r->watch != NULL;
  return how;
}

/* Sites that have no place in the mesh beside the boundary get one elsewhere, unless the run was
 * ended: then, and where none of that helps, the mesh has fewer than were asked for. */
static cvtm_status place_all_in_mesh(run *r, const cvtm_cvt_options *how) {
  enum { ROUNDS = 5, ITERATIONS = 20 };
  const cvtm_stop stop = r->result.stop;
  cvtm_cvt_options options = *how;
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

/* A boundary that slides has a quarter of the time. */
static cvtm_status optimize(run *r) {
  const cvtm_cvt_options how = descent_options(r);
  cvtm_cvt_options locked = how;
  if (r->options.domain.sliding) locked.max_seconds *= 0.75;
  cvtm_status status =
      cvtm_cvt_solve(r->cvt, r->density, &locked, r->given, r->sites, r->count, &r->result);
  if (status == CVTM_OK && r->options.domain.sliding)
    status = cvtm_cvt_slide(r->cvt, &r->shape.contour, &how, &r->shape.boundary, r->sites, r->count,
                            &r->result, &r->shape.slides);
  if (status == CVTM_OK && r->options.domain.kind != CLI_DOMAIN_NONE)
    status = place_all_in_mesh(r, &how);
  return status;
}

/* hold: the sites stay as they are. */
static cvtm_status optimize_equal_mass(run *r, int hold) {
  const cvtm_cvt_options how = descent_options(r);
  const cvtm_cvt_moments moments = {r->mass, r->centroid, NULL};
  const cvtm_status status =
      cli_equal_mass_solve(&r->options, r->cvt, r->domain, r->density, &how, r->given, hold,
                           r->sites, r->count, &moments, &r->equal, cvtm_device_error(r->device));
  r->result = r->equal.result.descent;
  r->energy = r->result.objective;
  return status;
}

static cvtm_status solve(run *r) {
  cvtm_error *error = cvtm_device_error(r->device);
  r->mass = malloc((size_t)r->count * sizeof *r->mass);
  r->centroid = malloc(2 * (size_t)r->count * sizeof *r->centroid);
  if (r->mass == NULL || r->centroid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  cvtm_status status = cvtm_cvt_create(r->device, r->domain, r->density, r->count, &r->cvt);
  if (status != CVTM_OK) return status;
  r->bound = r->options.equal_mass.on ? cvtm_equal_mass_bound(r->domain, r->density, r->count)
                                      : cvtm_cvt_energy_bound(r->domain, r->density, r->count);
  cli_progress_start(&r->progress, &r->options, r->count, r->bound);
  if (r->options.view.watch != NULL)
    status = cli_watch_start(&r->options, r->device, r->domain, r->density, r->cvt, r->count,
                             r->bound, &r->progress, &r->watch, error);
  const int hold = r->options.iterations == 0 || r->fixed == r->count;
  if (status == CVTM_OK && r->options.equal_mass.on)
    status = optimize_equal_mass(r, hold);
  else if (status == CVTM_OK)
    status = hold ? keep_start(r) : optimize(r);
  cli_progress_finish(&r->progress);
  if (status == CVTM_OK) status = cli_history_check(&r->progress.history, error);
  if (status == CVTM_OK && r->watch != NULL)
    status = cli_watch_last(r->watch, r->sites, &r->result, error);
  r->stop_reason =
      r->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(r->result.stop);
  return status;
}

static cvtm_status evaluate_result(run *r) {
  if (r->options.equal_mass.on) return CVTM_OK; /* known already */
  const int64_t first = r->options.iterations == 0 ? r->given : r->fixed;
  /* A mesh that keeps its boundary has sites on it. */
  if (r->options.domain.kind == CLI_DOMAIN_NONE)
    r->moved = cvtm_pipeline_move_sites(&r->made, r->sites + 2 * first, r->count - first);
  cvtm_status status = evaluate(r, CVTM_CVT_PIXEL, CVTM_VORONOI_EXACT, &r->energy_pixel);
  if (status == CVTM_OK) status = evaluate(r, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &r->energy);
  if (status != CVTM_OK) return status;
  r->result.empty_cells = 0;
  for (int64_t i = 0; i < r->count; ++i) r->result.empty_cells += !(r->mass[i] > 0);
  return CVTM_OK;
}

/* With --domain the constrained mesh, and cells that end at the boundary. */
static cvtm_status triangulate(run *r, cvtm_error *error) {
  if (r->options.domain.kind != CLI_DOMAIN_NONE) {
    cvtm_status status = cli_domain_triangulate(&r->shape, r->sites, r->mass, r->centroid,
                                                &r->count, &r->mesh, error);
    if (status == CVTM_OK) status = cvtm_cells_of_domain(&r->mesh, &r->cells, error);
    if (status == CVTM_OK) status = cvtm_quality_compute(&r->mesh, NULL, &r->quality, error);
    return status;
  }
  if (r->options.equal_mass.on) {
    cvtm_status status = cvtm_power_diagram(r->domain, r->sites, r->equal.weights, r->count,
                                            (int)r->options.threads, &r->cells, &r->mesh, error);
    if (status == CVTM_OK) status = cvtm_quality_compute(&r->mesh, &r->domain, &r->quality, error);
    return status;
  }
  cvtm_status status = cvtm_delaunay(r->sites, r->count, &r->mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&r->mesh, r->domain, &r->cells, error);
  if (status == CVTM_OK) status = cvtm_quality_compute(&r->mesh, &r->domain, &r->quality, error);
  return status;
}

static cvtm_status write_outputs(run *r, cvtm_error *error) {
  const cli_scene scene = {&r->options,
                           r->domain,
                           r->sites,
                           r->count,
                           r->options.equal_mass.on ? r->equal.drawn : r->density,
                           r->mass,
                           &r->mesh,
                           &r->cells,
                           r->options.domain.kind != CLI_DOMAIN_NONE ? &r->shape.regions : NULL};
  cvtm_status status = cli_scene_write(&scene, error);
  if (status == CVTM_OK && r->options.equal_mass.weights_out != NULL)
    status = cvtm_npy_write(r->options.equal_mass.weights_out, 'f', (int)sizeof(double), 1,
                            &r->count, r->equal.weights, error);
  if (status != CVTM_OK || r->options.density_out == NULL) return status;
  const int64_t shape[2] = {r->domain.height, r->domain.width};
  return cvtm_npy_write(r->options.density_out, 'f', (int)sizeof(float), 2, shape, r->density,
                        error);
}

static void add_history(cJSON *report, const cli_progress *progress) {
  cJSON *history = cJSON_AddArrayToObject(report, "history");
  const cvtm_cvt_record *records = progress->history.records;
  for (int64_t k = 0; k < progress->history.count; ++k) {
    const cvtm_cvt_record *record = &records[k];
    cJSON *entry = cJSON_CreateObject();
    cli_json_integer(entry, "iteration", record->iteration);
    cli_json_real(entry, "energy", record->energy);
    cli_json_real(entry, "gradient_norm", record->gradient_norm);
    cli_json_real(entry, "step", record->step);
    cli_json_append(history, entry);
  }
}

static cJSON *make_report(const run *r) {
  cJSON *report = cli_report_begin(r->device, &r->options);
  cli_json_integer(report, "seed", r->options.seed);
  cli_json_integer(report, "width", r->domain.width);
  cli_json_integer(report, "height", r->domain.height);
  cli_json_integer(report, "sites", r->count);
  cli_json_integer(report, "sites_asked", r->options.points);
  cli_json_integer(report, "fixed_sites", r->fixed);
  cli_json_integer(report, "iterations", r->result.iterations);
  cli_json_integer(report, "evaluations", r->result.evaluations);
  cli_json_integer(report, "levels", r->result.levels);
  cli_json_integer(report, "coarse_iterations", r->result.coarse_iterations);
  cli_json_integer(report, "search_rounds", r->result.rounds);
  cli_json_integer(report, "transferred_sites", r->result.transfers);
  cli_json_text(report, "stop_reason", r->stop_reason);
  cli_json_real(report, "energy", r->energy);
  cli_json_real(report, "energy_bound", r->bound);
  cli_json_real(report, "energy_ratio", r->energy / r->bound);
  if (r->options.equal_mass.on)
    cli_equal_mass_report(&r->equal, report);
  else
    cli_json_real(report, "energy_pixel", r->energy_pixel);
  cli_json_text(report, "objective", r->options.energy == CVTM_CVT_PIXEL ? "pixel" : "exact");
  cli_json_real(report, "gradient_norm", r->result.gradient_norm);
  cli_json_real(report, "tolerance", r->options.tolerance);
  cli_json_integer(report, "empty_cells", r->result.empty_cells);
  if (r->made.mask != NULL) cli_json_integer(report, "moved_sites", r->moved);
  cli_json_integer(report, "coincident_sites", r->mesh.coincident_count);
  cJSON_AddBoolToObject(report, "collinear", r->mesh.collinear != 0);
  cli_condition_report(&r->options, &r->made, report);
  add_history(report, &r->progress);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  for (int k = 0; k < PHASE_COUNT; ++k) cli_json_real(seconds, phase_names[k], r->seconds[k]);
  cli_json_real(seconds, "total", cvtm_clock() - r->start);
  cli_json_real(seconds, "optimize_evaluation", r->result.seconds_evaluation);
  cli_json_real(seconds, "optimize_optimizer", r->result.seconds_optimizer);
  if (r->options.domain.kind != CLI_DOMAIN_NONE) cli_domain_report(&r->shape, report);
  cli_json_quality(report, &r->quality);
  return report;
}

static cvtm_status write_report(const run *r, cvtm_error *error) {
  if (r->options.report == NULL) return CVTM_OK;
  cJSON *report = make_report(r);
  return cli_json_write(r->options.report, report, error);
}

static cvtm_status write_watch_page(const run *r, cvtm_error *error) {
  if (r->watch == NULL) return CVTM_OK;
  cJSON *report = make_report(r);
  cJSON_DeleteItemFromObject(report, "history"); /* the page has a plot */
  char *text = cli_json_print(report, 1);
  const cvtm_status status =
      text != NULL ? cli_watch_page(r->watch, text, error)
                   : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a report");
  cJSON_free(text);
  cJSON_Delete(report);
  return status;
}

static const char *stop_text(const run *r) {
  switch (r->result.stop) {
    case CVTM_STOP_GRADIENT:
      return "every site that moves is near enough to its centroid";
    case CVTM_STOP_DECREASE:
      return "the energy hardly decreases any more (--tolerance)";
    case CVTM_STOP_ITERATIONS:
      return "the limit on iterations (--iterations)";
    case CVTM_STOP_TIME:
      return "the time limit (--time-limit)";
    case CVTM_STOP_REQUEST:
      return "interrupted; the best state was kept";
    case CVTM_STOP_LINE_SEARCH:
      return "no step decreases the energy any further";
    default:
      return r->stop_reason;
  }
}

static void print_name(const char *path, int *first) {
  fprintf(stderr, "%s%s", *first ? "" : ", ", strcmp(path, "-") == 0 ? "standard output" : path);
  *first = 0;
}

static void print_written(const cli_options *options) {
  int first = 1;
  fprintf(stderr, "  wrote      ");
  for (int k = 0; k < options->output.count; ++k) print_name(options->output.item[k], &first);
  if (options->picture != NULL) print_name(options->picture, &first);
  if (options->density_out != NULL) print_name(options->density_out, &first);
  if (options->equal_mass.weights_out != NULL) print_name(options->equal_mass.weights_out, &first);
  if (options->report != NULL) print_name(options->report, &first);
  if (options->view.watch != NULL) print_name(options->view.watch, &first);
  fputc('\n', stderr);
}

void cli_run_print_summary(const cli_run_job *r) {
  const cvtm_quality_figures *inner = &r->quality.inner;
  fprintf(stderr, "%s: %d x %d pixels, %lld sites, on %s (%s)\n", r->options.input, r->domain.width,
          r->domain.height, (long long)r->count, cvtm_device_name(r->device),
          cvtm_device_description(r->device));
  fprintf(stderr, "  energy     %.6f of the bound; sites within %.2g px of their centroids\n",
          r->energy / r->bound, r->result.gradient_norm);
  fprintf(stderr, "  stopped    after %lld iterations, %lld evaluations: %s\n",
          (long long)r->result.iterations, (long long)r->result.evaluations, stop_text(r));
  if (r->options.equal_mass.on) cli_equal_mass_print_summary(&r->equal);
  if (inner->triangles > 0)
    fprintf(stderr,
            "  mesh       %lld triangles; smallest angle %.1f degrees, mean %.1f; mean Q %.4f;"
            " degree 6 at %.1f %%\n",
            (long long)r->mesh.triangle_count, inner->min_angle, inner->mean_min_angle,
            inner->mean_q, 100 * r->quality.degree6_share);
  else
    fprintf(stderr, "  mesh       %lld triangles\n", (long long)r->mesh.triangle_count);
  if (r->options.domain.kind != CLI_DOMAIN_NONE) cli_domain_print_summary(&r->shape);
  if (r->count < r->options.points)
    fprintf(stderr, "  note       %lld of the %lld sites asked for: no room for the others\n",
            (long long)r->count, (long long)r->options.points);
  if (r->mesh.coincident_count > 0)
    fprintf(stderr, "  note       %lld sites share another's place\n",
            (long long)r->mesh.coincident_count);
  if (r->moved > 0)
    fprintf(stderr, "  note       %lld sites were moved into the domain, or out of an obstacle\n",
            (long long)r->moved);
  if (r->result.empty_cells > 0)
    fprintf(stderr, "  note       %lld cells have no mass\n", (long long)r->result.empty_cells);
  if (cli_option_given(&r->options, "voronoi") && r->options.energy != CVTM_CVT_PIXEL)
    fprintf(stderr, "  note       --voronoi has an effect only with --energy pixel\n");
  fprintf(stderr, "  seconds    %.2f: optimize %.2f, mesh %.2f, write %.2f\n",
          cvtm_clock() - r->start, r->seconds[PHASE_OPTIMIZE], r->seconds[PHASE_MESH],
          r->seconds[PHASE_WRITE]);
  print_written(&r->options);
}

int cli_run_create(const cli_options *options, cli_run_job **job) {
  run *r = calloc(1, sizeof *r);
  if (r == NULL) {
    cvtm_error error;
    cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory");
    return cli_failed(CLI_WORKING, error.status, &error);
  }
  r->options = *options;
  *job = r;
  return CLI_EXIT_OK;
}

int cli_run_read(cli_run_job *r, cvtm_device *device) {
  start_phase(r);
  r->start = r->phase_start;
  int code = read_density(r, device);
  if (code != CLI_EXIT_OK) return code;
  end_phase(r, PHASE_READ);
  code = place_given_sites(r);
  if (code != CLI_EXIT_OK) return code;
  r->options.points = r->count;
  end_phase(r, PHASE_SAMPLE);
  return CLI_EXIT_OK;
}

int cli_run_solve(cli_run_job *r, cvtm_device *device) {
  start_phase(r);
  r->device = device;
  r->options.device = cvtm_device_name(device);
  cvtm_status status = solve(r);
  end_phase(r, PHASE_OPTIMIZE);
  if (status == CVTM_OK) status = evaluate_result(r);
  cvtm_cvt_destroy(r->cvt);
  r->cvt = NULL;
  end_phase(r, PHASE_EVALUATION);
  if (status == CVTM_OK) return CLI_EXIT_OK;
  return cli_failed(CLI_WORKING, status, cvtm_device_error(device));
}

int cli_run_write(cli_run_job *r) {
  cvtm_error error = {CVTM_OK, ""};
  start_phase(r);
  cvtm_status status = triangulate(r, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  end_phase(r, PHASE_MESH);
  status = write_outputs(r, &error);
  end_phase(r, PHASE_WRITE);
  if (status == CVTM_OK) status = write_report(r, &error);
  if (status == CVTM_OK) status = write_watch_page(r, &error);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WRITING, status, &error);
}

void cli_run_destroy(cli_run_job *r) {
  if (r == NULL) return;
  cli_watch_destroy(r->watch);
  cli_progress_free(&r->progress);
  cvtm_cells_free(&r->cells);
  cvtm_mesh_free(&r->mesh);
  cli_domain_free(&r->shape);
  cvtm_cvt_destroy(r->cvt);
  cli_equal_mass_free(&r->equal);
  free(r->mass);
  free(r->centroid);
  free(r->sites);
  cvtm_pipeline_free(&r->made);
  free(r);
}

static int run_on(cli_run_job *job, cvtm_device *device) {
  int code = cli_run_read(job, device);
  if (code == CLI_EXIT_OK) code = cli_run_solve(job, device);
  if (code == CLI_EXIT_OK) code = cli_run_write(job);
  return code;
}

int cli_run(const cli_options *options) {
  int code = cli_run_check(options);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_device *device = NULL;
  cvtm_status status = cvtm_device_create(options->device, (int)options->threads, &device, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_RUN, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);

  cli_catch_signals();
  cli_run_job *job = NULL;
  code = cli_run_create(options, &job);
  if (code == CLI_EXIT_OK) code = run_on(job, device);
  if (code == CLI_EXIT_OK && !options->quiet) cli_run_print_summary(job);
  if (code == CLI_EXIT_OK && options->equal_mass.on && !job->equal.result.converged)
    code = CLI_EXIT_NOT_CONVERGED;
  if (code == CLI_EXIT_OK && cli_interrupted()) code = CLI_EXIT_INTERRUPTED;
  cli_run_destroy(job);
  cvtm_device_destroy(device);
  return code;
}
