#include "cli/watch.h"

#include "base/clock.h"
#include "base/host.h"
#include "cli/cli.h"
#include "run/job.h"
#include "run/json.h"

#include <stdio.h>

int cli_view_size(const cli_options *options, int *width, int *height) {
  char unused;
  *width = 1280;
  *height = 800;
  if (options->view.size == NULL ||
      (sscanf(options->view.size, "%dx%d%c", width, height, &unused) == 2 && *width >= 16 &&
       *height >= 16 && *width <= 16384 && *height <= 16384))
    return CLI_EXIT_OK;
  return cli_usage_error(options->command, "--window: '%s' is not WxH with sides of 16 to 16384",
                         options->view.size);
}

#if CVTMESH_HAVE_VIEWER

#include "density/density.h"
#include "viewer/page.h"
#include "viewer/render.h"
#include "viewer/surface.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct picture {
  char *path;
  int64_t iteration, sites;
  double ratio;
} picture;

struct cli_watch {
  const cli_options *options;
  const cvtm_run *run;
  int64_t count; /* number of sites at the end */
  double bound;
  cvtm_surface *surface;
  cvtm_render *render;
  cvtm_view view;
  cvtm_view_frame frame;
  unsigned char *pixels;
  picture *pictures;
  int64_t made, capacity;
  double last_time;
  cvtm_status status; /* of the first picture that failed, or CVTM_OK */
  cvtm_error error;
};

int cli_watch_check(const cli_options *options) {
  int width, height;
  return options->view.watch == NULL ? CLI_EXIT_OK : cli_view_size(options, &width, &height);
}

static cvtm_status make_folder(const char *path, cvtm_error *error) {
  struct stat found;
  if (mkdir(path, 0777) == 0) return CVTM_OK;
  const int reason = errno;
  if (reason == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path,
                   strerror(reason == EEXIST ? ENOTDIR : reason));
}

static void close_context(cli_watch *w) {
  cvtm_render_destroy(w->render);
  w->render = NULL;
  if (w->surface) w->surface->destroy(w->surface);
  w->surface = NULL;
  cvtm_view_frame_free(&w->frame);
  free(w->pixels);
  w->pixels = NULL;
}

static cvtm_status open_context(cli_watch *w, cvtm_error *error) {
  const cvtm_domain domain = w->run->domain;
  int width, height;
  (void)cli_view_size(w->options, &width, &height);
  w->frame.state.domain = domain;
  w->view = (cvtm_view){.width = width,
                        .height = height,
                        .scale = 1,
                        .layers = CVTM_LAYER_CELLS | CVTM_LAYER_CELL_EDGES | CVTM_LAYER_SITES |
                                  CVTM_LAYER_PLOT | CVTM_LAYER_FIGURES,
                        .dark = w->options->run.dark,
                        .device = cvtm_device_name(w->run->device),
                        .tool = "",
                        .note = ""};
  cvtm_view_fit(&w->view, domain);
  w->pixels = malloc(3 * (size_t)width * (size_t)height);
  if (w->pixels == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  CVTM_TRY(cvtm_headless_create(width, height, -1, &w->surface, error));
  CVTM_TRY(cvtm_render_create(&w->render, error));
  return cvtm_render_set_density(w->render, w->run->density, domain, error);
}

/* The path of a file in the folder, malloc'd; NULL if memory runs out. */
static char *path_in_folder(const cli_watch *w, const char *name) {
  const char *folder = w->options->view.watch;
  const size_t size = strlen(folder) + strlen(name) + 2;
  char *path = malloc(size);
  if (path != NULL) snprintf(path, size, "%s/%s", folder, name);
  return path;
}

static cvtm_status add_picture(cli_watch *w, cvtm_error *error) {
  if (!cvtm_grow(&w->pictures, sizeof *w->pictures, &w->capacity, w->made + 1))
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  char name[40];
  snprintf(name, sizeof name, "frame-%06lld.png", (long long)w->made + 1);
  char *path = path_in_folder(w, name);
  if (path == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  picture *p = &w->pictures[w->made++];
  p->path = path;
  p->iteration = w->frame.state.iteration;
  p->sites = w->frame.state.count;
  p->ratio = w->frame.state.ratio;
  return cvtm_png_write(p->path, w->view.width, w->view.height, 3, w->pixels, error);
}

/* Draws the state of the frame, and writes the picture. */
static cvtm_status draw_frame(cli_watch *w, cvtm_error *error) {
  CVTM_TRY(cvtm_view_frame_build(&w->frame, error));
  cvtm_render_set_frame(w->render, &w->frame);
  CVTM_TRY(cvtm_render_set_sites(w->render, error));
  CVTM_TRY(cvtm_render_draw(w->render, &w->view, error));
  CVTM_TRY(cvtm_render_read(w->view.width, w->view.height, w->pixels, error));
  return add_picture(w, error);
}

static void set_figures(cli_watch *w, int64_t sites, int64_t iteration, double energy,
                        double gradient_norm) {
  cvtm_view_state *state = &w->frame.state;
  /* the bound is inversely proportional to the number of sites */
  state->ratio = energy / (w->bound * (double)w->count / (double)sites);
  state->count = sites;
  state->iteration = iteration;
  state->gradient_norm = gradient_norm;
  state->lloyd = w->options->run.method == CVTM_CVT_LLOYD;
}

static void wrap_sites(cvtm_view_state *state) {
  const double size[2] = {(double)state->domain.width, (double)state->domain.height};
  for (int64_t k = 0; state->domain.periodic && k < 2 * state->count; ++k)
    state->sites[k] -= size[k % 2] * floor(state->sites[k] / size[k % 2]);
}

static cvtm_status draw_current(cli_watch *w, int64_t sites) {
  cvtm_view_state *state = &w->frame.state;
  CVTM_TRY(cvtm_view_state_reserve(state, sites, &w->error));
  cvtm_status status =
      cvtm_device_copy_out(w->run->device, state->sites, cvtm_cvt_current_sites(w->run->cvt),
                           2 * (size_t)sites * sizeof *state->sites);
  if (status != CVTM_OK)
    return cvtm_fail(&w->error, status, "%s", cvtm_device_error(w->run->device)->message);
  wrap_sites(state);
  return draw_frame(w, &w->error);
}

static void draw_iteration(cli_watch *w, const cvtm_cvt_record *record) {
  const double now = cvtm_clock();
  cvtm_view_state *state = &w->frame.state;
  if (record->sites == 0 || w->run->options.iterations == 0 || w->run->fixed == w->run->count)
    return; /* no site moves */
  set_figures(w, record->sites, record->iteration, record->energy, record->gradient_norm);
  if (record->iteration > 0)
    state->milliseconds = 0.8 * state->milliseconds + 0.2e3 * (now - w->last_time);
  if (record->sites == w->count)
    cvtm_view_history_add(&state->history, record->iteration, state->ratio, state->gradient_norm);
  if (w->status == CVTM_OK && record->iteration % w->options->view.every == 0)
    w->status = draw_current(w, record->sites);
  w->last_time = cvtm_clock();
}

/* Draws the final sites. */
static void draw_last(cli_watch *w) {
  const cvtm_cvt_result *result = &w->run->result;
  cvtm_view_state *state = &w->frame.state;
  if (w->status == CVTM_OK) w->status = cvtm_view_state_reserve(state, w->count, &w->error);
  if (w->status == CVTM_OK) {
    set_figures(w, w->count, result->iterations, result->objective, result->gradient_norm);
    memcpy(state->sites, w->run->sites, 2 * (size_t)w->count * sizeof *state->sites);
    state->phase = result->stop == CVTM_STOP_REQUEST ? CVTM_VIEW_PAUSED : CVTM_VIEW_CONVERGED;
    w->status = draw_frame(w, &w->error);
  }
  const cvtm_view_history history = state->history;
  close_context(w);
  w->frame.state.history = history;
}

int cli_watch_event(const cli_options *options, const cvtm_run_progress *now, cli_watch **watch) {
  cli_watch *w = *watch;
  if (now->event == CVTM_RUN_BEGINS) {
    *watch = w = calloc(1, sizeof *w);
    if (w == NULL) return 1;
    w->options = options;
    w->run = now->run;
    w->count = now->sites;
    w->bound = now->bound;
    w->last_time = cvtm_clock();
    w->status = make_folder(options->view.watch, &w->error);
    if (w->status == CVTM_OK) w->status = open_context(w, &w->error);
  }
  if (w == NULL) return 1;
  if (now->event == CVTM_RUN_ITERATION) draw_iteration(w, now->record);
  if (now->event == CVTM_RUN_ENDS && now->status == CVTM_OK) draw_last(w);
  return w->status != CVTM_OK;
}

cvtm_status cli_watch_status(const cli_watch *w, cvtm_error *error) {
  if (w == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  return w->status == CVTM_OK ? CVTM_OK : cvtm_fail(error, w->status, "%s", w->error.message);
}

/* The report without the history, of which the page has a plot; freed by cJSON_free. */
static char *text_of(const cvtm_run *run) {
  cJSON *report = run_report_make(run);
  cJSON_DeleteItemFromObject(report, "history");
  char *text = run_json_print(report, 1);
  cJSON_Delete(report);
  return text;
}

cvtm_status cli_watch_page(const cli_watch *w, const cvtm_run *run, cvtm_error *error) {
  const char *input = w->options->run.input.name;
  const size_t title_size = strlen(input) + 40;
  char *title = malloc(title_size);
  char *path = path_in_folder(w, "index.html");
  cvtm_page_picture *pictures = malloc((size_t)(w->made + 1) * sizeof *pictures);
  char *report = text_of(run);
  if (title == NULL || path == NULL || pictures == NULL || report == NULL) {
    free(title);
    free(path);
    free(pictures);
    cJSON_free(report);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  for (int64_t k = 0; k < w->made; ++k) {
    const picture *p = &w->pictures[k];
    pictures[k] = (cvtm_page_picture){p->path, p->iteration, p->sites, p->ratio};
  }
  snprintf(title, title_size, "%s: %s", input, cli_count(w->count, "site", "sites"));
  const cvtm_html_page page = {.title = title,
                               .dark = w->options->run.dark,
                               .pictures = pictures,
                               .picture_count = w->made,
                               .history = &w->frame.state.history,
                               .report = report};
  const cvtm_status status = cvtm_page_write(path, &page, error);
  free(pictures);
  free(path);
  free(title);
  cJSON_free(report);
  return status;
}

void cli_watch_destroy(cli_watch *w) {
  if (w == NULL) return;
  close_context(w);
  for (int64_t k = 0; k < w->made; ++k) free(w->pictures[k].path);
  free(w->pictures);
  free(w);
}

#else

int cli_watch_check(const cli_options *options) {
  cvtm_error error;
  if (options->view.watch == NULL) return CLI_EXIT_OK;
  (void)cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED,
                  "--watch: this build has no viewer, which needs GLFW 3.3 and libepoxy");
  return cli_failed(CLI_WORKING, error.status, &error);
}

int cli_watch_event(const cli_options *options, const cvtm_run_progress *now, cli_watch **watch) {
  (void)options, (void)now, (void)watch;
  return 1;
}

cvtm_status cli_watch_status(const cli_watch *watch, cvtm_error *error) {
  (void)watch, (void)error;
  return CVTM_ERROR_UNSUPPORTED;
}

cvtm_status cli_watch_page(const cli_watch *watch, const cvtm_run *run, cvtm_error *error) {
  (void)watch, (void)run, (void)error;
  return CVTM_ERROR_UNSUPPORTED;
}

void cli_watch_destroy(cli_watch *watch) { (void)watch; }

#endif
