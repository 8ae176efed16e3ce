/* cvtmesh view: the optimisation in a window, or in pictures without one. */
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/summary.h"
#include "cli/watch.h"

#if CVTMESH_HAVE_VIEWER

#include "base/file.h"
#include "run/input.h"
#include "run/output.h"
#include "run/page.h"
#include "run/stages.h"
#include "run/stipples.h"
#include "cvt/cell_mass.h"
#include "cvt/cvt.h"
#include "meshes/mesh_file.h"
#include "viewer/control.h"
#include "viewer/viewer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct view {
  cli_options options;
  cvtm_device *device;
  cvtm_domain domain;
  float *density;
  float *tone; /* ink wanted in each pixel; NULL: data or points */
  double *sites;
  int64_t count, fixed;
  unsigned char *script;
  cvtm_viewer_options viewer;
  cvtm_viewer_result result;
} view;

static void say(void *context, const char *line) {
  const view *v = context;
  if (!v->options.quiet) fprintf(stderr, "cvtmesh view: %s\n", cli_visible(line));
}

/* ---- Input ---- */

/* Nonzero for point files. NPY files with two columns are points, others are pictures. */
static int names_points(const char *path) {
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  if (strcmp(path, "-") == 0) return 0;
  if (strcmp(extension, "npy") != 0) return cvtm_points_format_known(path);
  double *points = NULL;
  int64_t count = 0;
  if (cvtm_points_read(path, &points, &count, NULL) != CVTM_OK) return 0;
  free(points);
  return 1;
}

/* Reads a point file: the points are the sites, the density is 1. */
static cvtm_status read_sites(view *v, cvtm_error *error) {
  cli_options *o = &v->options;
  CVTM_TRY(cvtm_points_open(&o->run.input, &v->sites, &v->count, error));
  CVTM_TRY(cli_domain_of_points(o, o->run.input.name, v->sites, v->count, &v->domain, NULL, error));
  CVTM_TRY(run_require_inside(o->run.input.name, v->sites, v->count, v->domain, error));
  const size_t pixels = (size_t)v->domain.width * (size_t)v->domain.height;
  v->density = malloc(pixels * sizeof *v->density);
  if (v->density == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (size_t p = 0; p < pixels; ++p) v->density[p] = 1;
  return CVTM_OK;
}

/* Sets the sites: first fixed ones, then those of --init, then samples of the density. */
static cvtm_status place_sites(view *v, cvtm_error *error) {
  const cli_options *o = &v->options;
  double *fixed = NULL, *init = NULL;
  int64_t given = 0;
  cvtm_status status = CVTM_OK;
  if (o->run.fixed.name != NULL) status = cvtm_points_open(&o->run.fixed, &fixed, &v->fixed, error);
  if (status == CVTM_OK && o->run.fixed.name != NULL)
    status = run_require_inside(o->run.fixed.name, fixed, v->fixed, v->domain, error);
  if (status == CVTM_OK && o->run.init.name != NULL)
    status = cvtm_points_open(&o->run.init, &init, &given, error);
  if (status == CVTM_OK) {
    const int64_t least = v->fixed + given;
    v->count = o->run.points > least ? o->run.points : least > 0 ? least : 2000;
    v->sites = malloc(2 * (size_t)v->count * sizeof *v->sites);
    if (v->sites == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  if (status == CVTM_OK) {
    const size_t pair = 2 * sizeof *v->sites;
    if (v->fixed > 0) memcpy(v->sites, fixed, (size_t)v->fixed * pair);
    if (given > 0) memcpy(v->sites + 2 * v->fixed, init, (size_t)given * pair);
    const int64_t sampled = v->count - v->fixed - given;
    if (sampled > 0)
      status = cvtm_cvt_sample(v->domain, v->density, sampled, (uint64_t)o->run.seed, o->run.start,
                               v->sites + 2 * (v->fixed + given), error);
  }
  free(fixed);
  free(init);
  return status;
}

static cvtm_status read_view_input(view *v, cvtm_error *error) {
  if (names_points(v->options.run.input.name)) return read_sites(v, error);
  CVTM_TRY(run_read_density(&v->options.run.input, &v->options.run, &v->density, &v->tone,
                            &v->domain, error));
  if (v->options.run.dots == CVTM_RUN_DOTS_TONE &&
      v->options.run.density_from != CVTM_DENSITY_FROM_TONE)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --dots tone needs --density-from tone",
                     v->options.run.input.name);
  return place_sites(v, error);
}

static cvtm_status read_script(view *v, cvtm_error *error) {
  size_t size = 0;
  if (v->options.view.script == NULL) return CVTM_OK;
  return cvtm_text_read(v->options.view.script, 1 << 20, &v->script, &size, error);
}

/* ---- Display ---- */

static void set_up_viewer(view *v) {
  const cli_options *o = &v->options;
  cvtm_viewer_options *settings = &v->viewer;
  cvtm_cvt_defaults(&settings->cvt);
  settings->cvt.method = o->run.method;
  settings->cvt.energy = o->run.energy;
  settings->cvt.voronoi = o->run.voronoi;
  settings->cvt.max_iterations = o->run.iterations;
  settings->cvt.tolerance = o->run.tolerance;
  settings->cvt.gradient_tolerance = o->run.gradient_tolerance;
  settings->cvt.max_seconds = o->run.time_limit;
  settings->cvt.fixed = v->fixed;
  run_preset_descent(&o->run, &settings->cvt);
  settings->device = v->device;
  settings->domain = v->domain;
  settings->density = v->density;
  settings->sites = v->sites;
  settings->count = v->count;
  settings->start = o->run.start;
  settings->seed = (uint64_t)o->run.seed;
  settings->title = o->run.input.name;
  settings->fill = (cvtm_fill)o->view.colour;
  settings->dark = o->run.dark;
  settings->paused = o->view.paused || o->run.iterations == 0;
  settings->pinned = o->view.pinned;
  settings->offscreen = o->view.shot != NULL || o->view.record != NULL;
  settings->script = (const char *)v->script;
  settings->script_name = o->view.script;
  settings->frames = o->view.frames;
  settings->shot = o->view.shot;
  settings->record = o->view.record;
  settings->save = o->view.save;
  settings->interrupted = cli_interrupted;
  settings->say = say;
  settings->say_context = v;
}

static int check_view_options(view *v) {
  enum { PREFIX_MAX = 500 }; /* the viewer appends to it in a buffer */
  const cli_options *o = &v->options;
  cvtm_error error = {CVTM_OK, ""};
  if (strlen(o->view.save) > PREFIX_MAX ||
      (o->view.record != NULL && strlen(o->view.record) > PREFIX_MAX))
    return cli_usage_error(o->command, "--save and --record: a name has at most %d bytes",
                           PREFIX_MAX);
  if (cli_view_size(o, &v->viewer.width, &v->viewer.height) != CLI_EXIT_OK) return CLI_EXIT_USAGE;
  if (o->text.layers != NULL &&
      cvtm_layers_parse(o->text.layers, &v->viewer.layers, &error) != CVTM_OK)
    return cli_usage_error(o->command, "--layers: %s", error.message);
  return CLI_EXIT_OK;
}

/* ---- Results ---- */

/* Makes the dots of drawings as `run` does. */
static cvtm_status make_stipples(view *v, const cvtm_mesh *mesh, const cvtm_cells *cells,
                                 run_stipples *stipples, cvtm_error *error) {
  cli_options *o = &v->options;
  if (!run_stipples_wanted(&o->run)) return CVTM_OK;
  if (o->run.dots == CVTM_RUN_DOTS_AUTO)
    o->run.dots = v->tone != NULL ? CVTM_RUN_DOTS_MASS : CVTM_RUN_DOTS_EQUAL;
  double *mass = malloc((size_t)cells->count * sizeof *mass);
  if (mass == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for dots");
  cvtm_status status = cvtm_cells_mass(cells, mesh->points, v->domain, v->density, mass, error);
  const run_stipples_source source = {v->domain, v->tone, mass, mesh, cells, NULL};
  if (status == CVTM_OK) status = run_stipples_make(&o->run, &source, stipples, error);
  free(mass);
  if (status == CVTM_OK && !o->quiet) cli_stipples_print(stipples, stderr, "cvtmesh view: tone: ");
  return status;
}

static cvtm_status write_outputs(view *v, cvtm_error *error) {
  cvtm_mesh mesh = {0};
  cvtm_cells cells = {0};
  run_stipples stipples = {0};
  if (v->options.run.output.count == 0) return CVTM_OK;
  cvtm_status status = cvtm_delaunay(v->result.sites, v->result.count, &mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, v->domain, &cells, error);
  if (status == CVTM_OK) status = make_stipples(v, &mesh, &cells, &stipples, error);
  if (status == CVTM_OK) {
    const run_scene scene = {.options = &v->options.run,
                             .domain = v->domain,
                             .sites = v->result.sites,
                             .count = v->result.count,
                             .density = v->density,
                             .mesh = &mesh,
                             .cells = &cells,
                             .radius = stipples.radius};
    status = run_scene_write(&scene, error);
  }
  run_stipples_free(&stipples);
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&mesh);
  return status;
}

static void print_view_summary(const view *v) {
  const cvtm_viewer_result *r = &v->result;
  char line[256];
  snprintf(line, sizeof line, "%s, %s, ratio %.6f; %s in %.2f s: %.1f a second",
           cli_count(r->count, "site", "sites"),
           cli_count(r->iterations, "iteration", "iterations"), r->ratio,
           cli_count(r->frames, "frame", "frames"), r->seconds,
           r->seconds > 0 ? (double)r->frames / r->seconds : 0);
  say((void *)(uintptr_t)v, line);
}

/* The caller frees the content of `v` in any case. */
static int perform_view(view *v) {
  cli_options *o = &v->options;
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(check_view_options(v));
  if (run_stipples_check(&o->run, &error) == CVTM_OK) (void)run_page_check(&o->run, &error);
  CLI_TRY(cli_result(CLI_VIEW, CLI_READING, error.status, &error));
  CLI_TRY(cli_outputs_check(o));
  cvtm_status status = read_view_input(v, &error);
  if (status == CVTM_OK) status = read_script(v, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  if (o->view.record != NULL) (void)mkdir(o->view.record, 0777); /* it may exist already */
  CLI_TRY(cli_open_device(o, &v->device));
  cli_catch_signals();
  set_up_viewer(v);
  status = cvtm_viewer_run(&v->viewer, &v->result, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  print_view_summary(v);
  status = write_outputs(v, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  return cli_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

int cli_view(const cli_options *options) {
  view v = {.options = *options};
  run_preset_apply(&v.options.run);
  const int code = perform_view(&v);
  free(v.result.sites);
  free(v.script);
  free(v.sites);
  free(v.density);
  free(v.tone);
  cvtm_device_destroy(v.device);
  return code;
}

#else

int cli_view(const cli_options *options) {
  cvtm_error error;
  (void)options;
  cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED,
            "this build has no viewer: it needs GLFW 3.3 and libepoxy");
  return cli_failed(CLI_WORKING, error.status, &error);
}

#endif
