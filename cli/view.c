/* cvtmesh view: the optimisation in a window, or in pictures without one. */
#include "cli/cli.h"

#if CVTMESH_HAVE_VIEWER

#include "base/file.h"
#include "base/npy.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/run.h"
#include "cli/stipples.h"
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

/* ---- What is read ---- */

/* NPY files of two columns are points, others are pictures. */
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
  cvtm_status status = cvtm_points_read(o->input, &v->sites, &v->count, error);
  if (status == CVTM_OK)
    status = cli_domain_of_points(o, o->input, v->sites, v->count, &v->domain, NULL, error);
  if (status == CVTM_OK)
    status = cli_require_inside(o->input, v->sites, v->count, v->domain, error);
  if (status != CVTM_OK) return status;
  const size_t pixels = (size_t)v->domain.width * (size_t)v->domain.height;
  v->density = malloc(pixels * sizeof *v->density);
  if (v->density == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (size_t p = 0; p < pixels; ++p) v->density[p] = 1;
  return CVTM_OK;
}

/* Sets the sites: fixed ones, then those of --init, then samples of the density. */
static cvtm_status place_sites(view *v, cvtm_error *error) {
  const cli_options *o = &v->options;
  double *fixed = NULL, *init = NULL;
  int64_t given = 0;
  cvtm_status status = CVTM_OK;
  if (o->fixed != NULL) status = cvtm_points_read(o->fixed, &fixed, &v->fixed, error);
  if (status == CVTM_OK && o->fixed != NULL)
    status = cli_require_inside(o->fixed, fixed, v->fixed, v->domain, error);
  if (status == CVTM_OK && o->init != NULL)
    status = cvtm_points_read(o->init, &init, &given, error);
  if (status == CVTM_OK) {
    const int64_t least = v->fixed + given;
    v->count = o->points > least ? o->points : least > 0 ? least : 2000;
    v->sites = malloc(2 * (size_t)v->count * sizeof *v->sites);
    if (v->sites == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  if (status == CVTM_OK) {
    const size_t pair = 2 * sizeof *v->sites;
    if (v->fixed > 0) memcpy(v->sites, fixed, (size_t)v->fixed * pair);
    if (given > 0) memcpy(v->sites + 2 * v->fixed, init, (size_t)given * pair);
    const int64_t sampled = v->count - v->fixed - given;
    if (sampled > 0)
      status = cvtm_cvt_sample(v->domain, v->density, sampled, (uint64_t)o->seed,
                               (cvtm_cvt_start)o->start, v->sites + 2 * (v->fixed + given), error);
  }
  free(fixed);
  free(init);
  return status;
}

static cvtm_status read_view_input(view *v, cvtm_error *error) {
  if (names_points(v->options.input)) return read_sites(v, error);
  cvtm_status status =
      cli_read_density(v->options.input, &v->options, &v->density, &v->tone, &v->domain, error);
  if (status != CVTM_OK) return status;
  if (v->options.dots == CLI_DOTS_TONE && v->options.density_from != CVTM_DENSITY_FROM_TONE)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --dots tone needs the density of a tone",
                     v->options.input);
  return place_sites(v, error);
}

static cvtm_status read_script(view *v, cvtm_error *error) {
  size_t size = 0;
  if (v->options.view.script == NULL) return CVTM_OK;
  return cvtm_text_read(v->options.view.script, 1 << 20, &v->script, &size, error);
}

/* ---- What is shown ---- */

static void set_up_viewer(view *v) {
  const cli_options *o = &v->options;
  cvtm_viewer_options *settings = &v->viewer;
  cvtm_cvt_defaults(&settings->cvt);
  settings->cvt.method = (cvtm_cvt_method)o->method;
  settings->cvt.energy = (cvtm_cvt_energy)o->energy;
  settings->cvt.voronoi = (cvtm_voronoi_method)o->voronoi;
  settings->cvt.max_iterations = o->iterations;
  settings->cvt.tolerance = o->tolerance;
  settings->cvt.gradient_tolerance = o->gradient_tolerance;
  settings->cvt.max_seconds = o->time_limit;
  settings->cvt.fixed = v->fixed;
  cli_preset_descent(o, &settings->cvt);
  settings->device = v->device;
  settings->domain = v->domain;
  settings->density = v->density;
  settings->sites = v->sites;
  settings->count = v->count;
  settings->start = (cvtm_cvt_start)o->start;
  settings->seed = (uint64_t)o->seed;
  settings->title = o->input;
  settings->fill = (cvtm_fill)o->view.colour;
  settings->dark = o->view.dark;
  settings->paused = o->view.paused || o->iterations == 0;
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
    return cli_usage_error(o->command, "--save and --record: names of at most %d bytes",
                           PREFIX_MAX);
  if (!cli_view_size(o, &v->viewer.width, &v->viewer.height))
    return cli_usage_error(o->command, "--window: '%s' is not WxH with sides of 16 to 16384",
                           o->view.size);
  if (o->layers != NULL && cvtm_layers_parse(o->layers, &v->viewer.layers, &error) != CVTM_OK)
    return cli_usage_error(o->command, "--layers: %s", error.message);
  v->options.layers =
      NULL; /* --layers is for the window; pictures among the outputs have their own layers */
  return CLI_EXIT_OK;
}

/* ---- What is left ---- */

/* The dots of drawings, as those of `run`. */
static cvtm_status make_stipples(view *v, const cvtm_mesh *mesh, const cvtm_cells *cells,
                                 cli_stipples *stipples, cvtm_error *error) {
  cli_options *o = &v->options;
  if (!cli_stipples_wanted(o)) return CVTM_OK;
  if (o->dots == CLI_DOTS_AUTO) o->dots = v->tone != NULL ? CLI_DOTS_MASS : CLI_DOTS_EQUAL;
  double *mass = malloc((size_t)cells->count * sizeof *mass);
  if (mass == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for dots");
  cvtm_status status = cvtm_cells_mass(cells, mesh->points, v->domain, v->density, mass, error);
  const cli_stipples_source source = {v->domain, v->tone, mass, mesh, cells, NULL};
  if (status == CVTM_OK) status = cli_stipples_make(o, &source, stipples, error);
  free(mass);
  if (status == CVTM_OK && !o->quiet) cli_stipples_print(stipples, stderr, "cvtmesh view: tone: ");
  return status;
}

static cvtm_status write_outputs(view *v, cvtm_error *error) {
  cvtm_mesh mesh = {0};
  cvtm_cells cells = {0};
  cli_stipples stipples = {0};
  if (v->options.output.count == 0) return CVTM_OK;
  cvtm_status status = cvtm_delaunay(v->result.sites, v->result.count, &mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, v->domain, &cells, error);
  if (status == CVTM_OK) status = make_stipples(v, &mesh, &cells, &stipples, error);
  if (status == CVTM_OK) {
    const cli_scene scene = {.options = &v->options,
                             .domain = v->domain,
                             .sites = v->result.sites,
                             .count = v->result.count,
                             .density = v->density,
                             .mesh = &mesh,
                             .cells = &cells,
                             .radius = stipples.radius};
    status = cli_scene_write(&scene, error);
  }
  cli_stipples_free(&stipples);
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&mesh);
  return status;
}

static void print_view_summary(const view *v) {
  const cvtm_viewer_result *r = &v->result;
  char line[256];
  snprintf(line, sizeof line, "%lld %s, %lld %s, ratio %.6f; %lld %s in %.2f s: %.1f a second",
           (long long)r->count, cli_word(r->count, "site", "sites"), (long long)r->iterations,
           cli_word(r->iterations, "iteration", "iterations"), r->ratio, (long long)r->frames,
           cli_word(r->frames, "frame", "frames"), r->seconds,
           r->seconds > 0 ? (double)r->frames / r->seconds : 0);
  say((void *)(uintptr_t)v, line);
}

/* The caller frees what `v` holds, whatever is returned. */
static int perform_view(view *v) {
  cli_options *o = &v->options;
  int code = check_view_options(v);
  if (code == CLI_EXIT_OK) code = cli_stipples_check(o);
  if (code == CLI_EXIT_OK) code = cli_page_check(o);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(o);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = read_view_input(v, &error);
  if (status == CVTM_OK) status = read_script(v, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  if (o->view.record != NULL) (void)mkdir(o->view.record, 0777); /* it may exist */
  code = cli_open_device(o, &v->device);
  if (code != CLI_EXIT_OK) return code;
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
  view v;
  memset(&v, 0, sizeof v);
  v.options = *options;
  cli_preset_apply(&v.options);
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
