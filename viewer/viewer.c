#include "viewer/viewer.h"

#include "base/clock.h"
#include "density/density.h"
#include "meshes/mesh_file.h"
#include "viewer/control.h"
#include "viewer/mailbox.h"
#include "viewer/points.h"
#include "viewer/render.h"
#include "viewer/solver.h"
#include "viewer/surface.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- A thread that builds a frame from the newest state once the reader has taken the last frame
 * ---- */

typedef struct builder {
  cvtm_solver *solver;
  pthread_t thread;
  atomic_int quit;
  atomic_int status; /* set after `error` */
  cvtm_error error;
  cvtm_mailbox box;
  cvtm_view_frame frames[CVTM_MAILBOX_SLOTS];
} builder;

static void *build_states(void *context) {
  builder *b = context;
  const cvtm_view_state *state = NULL;
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && !atomic_load(&b->quit)) {
    if (!cvtm_mailbox_wanted(&b->box)) { /* the reader has not taken the last frame */
      nanosleep(&(struct timespec){0, 2000000}, NULL);
      continue;
    }
    if (!cvtm_solver_take(b->solver, &state)) {
      cvtm_solver_wait(b->solver, 0.05);
      continue;
    }
    cvtm_view_frame *frame = &b->frames[b->box.back];
    status = cvtm_view_state_copy(&frame->state, state, &b->error);
    if (status == CVTM_OK) status = cvtm_view_frame_build(frame, &b->error);
    if (status == CVTM_OK) cvtm_mailbox_publish(&b->box);
  }
  atomic_store(&b->status, (int)status);
  return NULL;
}

static cvtm_status start_builder(cvtm_solver *solver, builder **result, cvtm_error *error) {
  builder *b = calloc(1, sizeof *b);
  if (!b) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  b->solver = solver;
  atomic_init(&b->quit, 0);
  atomic_init(&b->status, CVTM_OK);
  cvtm_mailbox_open(&b->box);
  if (pthread_create(&b->thread, NULL, build_states, b) != 0) {
    free(b);
    return cvtm_fail(error, CVTM_ERROR_MEMORY,
                     "the thread that makes the geometry cannot be started");
  }
  *result = b;
  return CVTM_OK;
}

/* Called before the solver is stopped. */
static void stop_builder(builder *b) {
  if (!b) return;
  atomic_store(&b->quit, 1);
  pthread_join(b->thread, NULL);
  for (int k = 0; k < CVTM_MAILBOX_SLOTS; ++k) cvtm_view_frame_free(&b->frames[k]);
  free(b);
}

/* Returns 0 if there is no newer frame; else sets *frame, valid until the next call. */
static int take_frame(builder *b, const cvtm_view_frame **frame) {
  if (!cvtm_mailbox_take(&b->box)) return 0;
  *frame = &b->frames[b->box.front];
  return 1;
}

/* Returns CVTM_OK, or the error that ended the thread. */
static cvtm_status builder_error(builder *b, cvtm_error *error) {
  const cvtm_status status = (cvtm_status)atomic_load(&b->status);
  if (status != CVTM_OK) *error = b->error;
  return status;
}

/* ---- The viewer ---- */

typedef struct viewer {
  const cvtm_viewer_options *options;
  cvtm_surface *surface;
  cvtm_render *render;
  cvtm_points *points;
  cvtm_solver *solver;
  builder *builder;
  cvtm_control control;
  cvtm_script script;
  uint64_t density_version;
  cvtm_status density_status; /* status of the last call of visit */
  cvtm_error *error;
  unsigned char *pixels;
  int64_t pixel_capacity, frames;
  double start, note_until;
  char device[320], note[640];
} viewer;

static void say(const viewer *v, const char *line) {
  if (v->options->say) v->options->say(v->options->say_context, line);
}

static void note(viewer *v, const char *text) {
  snprintf(v->note, sizeof v->note, "%s", text);
  v->control.view.note = v->note;
  v->control.changed = 1;
  v->note_until = cvtm_clock() + 4;
}

/* ---- Pictures and files ---- */

static cvtm_status write_view_picture(viewer *v, const char *path) {
  const cvtm_view *view = &v->control.view;
  const int64_t bytes = 3 * (int64_t)view->width * view->height;
  if (bytes > v->pixel_capacity) {
    free(v->pixels);
    v->pixels = malloc((size_t)bytes);
    v->pixel_capacity = v->pixels ? bytes : 0;
    if (!v->pixels) return cvtm_fail(v->error, CVTM_ERROR_MEMORY, "out of memory");
  }
  CVTM_TRY(cvtm_render_read(view->width, view->height, v->pixels, v->error));
  return cvtm_png_write(path, view->width, view->height, 3, v->pixels, v->error);
}

static cvtm_status write_mesh(viewer *v, const cvtm_view_state *state, const char *path) {
  cvtm_mesh mesh = {0};
  const cvtm_mesh_file_options settings = {.domain = state->domain};
  cvtm_status status = cvtm_delaunay(state->sites, state->count, &mesh, v->error);
  if (status == CVTM_OK) status = cvtm_mesh_write(path, &mesh, &settings, v->error);
  cvtm_mesh_free(&mesh);
  return status;
}

/* Saves the state on the screen. If a file cannot be written, the viewer reports it and
 * continues. */
static void save_screen(viewer *v) {
  const cvtm_view_frame *frame = v->control.frame;
  const char *prefix = v->options->save ? v->options->save : "cvtmesh-view";
  if (!frame) return;
  const size_t size = strlen(prefix) + sizeof v->error->message + 64;
  char *path = malloc(size), *text = malloc(size);
  cvtm_status status = CVTM_OK;
  if (!path || !text) status = cvtm_fail(v->error, CVTM_ERROR_MEMORY, "out of memory");
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    static const char *const extensions[] = {"png", "csv", "obj"};
    snprintf(path, size, "%s.%s", prefix, extensions[k]);
    status = k == 0   ? write_view_picture(v, path)
             : k == 1 ? cvtm_points_write(path, frame->state.sites, frame->state.count, v->error)
                      : write_mesh(v, &frame->state, path);
  }
  if (text && status == CVTM_OK) snprintf(text, size, "saved %s.png, .csv, .obj", prefix);
  if (text && status != CVTM_OK) snprintf(text, size, "not saved: %s", v->error->message);
  note(v, text ? text : "not saved: out of memory");
  say(v, text ? text : "not saved: out of memory");
  free(text);
  free(path);
}

/* ---- One frame ---- */

static void show_density(void *context, const float *density, cvtm_domain domain) {
  viewer *v = context;
  v->density_status = cvtm_render_set_density(v->render, density, domain, v->error);
}

/* Takes new states, frames and densities from the other threads without waiting. */
static cvtm_status take_updates(viewer *v) {
  const cvtm_view_frame *frame = NULL;
  int64_t count = 0;
  if (take_frame(v->builder, &frame)) {
    v->control.frame = frame;
    v->control.changed = 1;
    cvtm_render_set_frame(v->render, frame);
  }
  if (cvtm_points_take(v->points, &count)) {
    int renewed = 0;
    const unsigned buffer = cvtm_render_sites_buffer(v->render, count, &renewed);
    CVTM_TRY(cvtm_points_copy(v->points, buffer, renewed, v->error));
    v->control.changed = 1;
  }
  v->density_status = CVTM_OK;
  cvtm_solver_visit_density(v->solver, &v->density_version, show_density, v);
  if (v->density_status != CVTM_OK) return v->density_status;
  CVTM_TRY(builder_error(v->builder, v->error));
  return cvtm_solver_error(v->solver, v->error);
}

static cvtm_status draw_view(viewer *v) {
  if (v->frames == 0) v->start = cvtm_clock();
  const cvtm_status status = cvtm_render_draw(v->render, &v->control.view, v->error);
  ++v->frames;
  v->control.changed = 0;
  return status;
}

/* Writes the files of this frame before the frame is shown. */
static cvtm_status write_files(viewer *v) {
  cvtm_status status = CVTM_OK;
  if (v->control.save) {
    v->control.save = 0;
    save_screen(v);
  }
  if (v->script.shot[0]) {
    status = write_view_picture(v, v->script.shot);
    v->script.shot[0] = '\0';
  }
  if (status == CVTM_OK && v->options->record) {
    const size_t size = strlen(v->options->record) + 40;
    char *path = malloc(size);
    if (!path) return cvtm_fail(v->error, CVTM_ERROR_MEMORY, "out of memory");
    snprintf(path, size, "%s/frame-%06lld.png", v->options->record, (long long)v->frames);
    status = write_view_picture(v, path);
    free(path);
  }
  return status;
}

/* ---- The loop ---- */

static int converged(const viewer *v) {
  const cvtm_view_frame *frame = v->control.frame;
  return frame && frame->state.phase == CVTM_VIEW_CONVERGED &&
         frame->state.commands >= v->control.sent;
}

/* Nonzero if the viewer has to end. */
static int finished(const viewer *v) {
  const cvtm_viewer_options *o = v->options;
  if (v->surface->lost) return 1;
  if (v->control.save || v->script.shot[0]) return 0;
  if (v->control.quit || (o->interrupted && o->interrupted())) return 1;
  if (o->frames > 0) return v->frames >= o->frames && cvtm_script_over(&v->script);
  if (!o->offscreen || v->frames == 0) return 0;
  return o->script ? cvtm_script_over(&v->script) : converged(v);
}

/* Nonzero if a frame has to be drawn. In a window: if it differs from the last frame. Offscreen:
 * every requested frame; a frame in which the script only waits, or the viewer waits for
 * convergence, is drawn only if frames are recorded. */
static int wants_frame(const viewer *v, int waits) {
  const cvtm_viewer_options *o = v->options;
  if (!o->offscreen) return v->control.changed || v->script.shot[0];
  if (!v->control.frame) return 0;
  const int passing = waits || (!o->script && o->frames == 0 && !converged(v));
  return !passing || (o->record && v->control.changed);
}

static void expire_note(viewer *v) {
  if (!v->control.view.note[0] || cvtm_clock() < v->note_until) return;
  v->control.view.note = "";
  v->control.changed = 1;
}

static cvtm_status show(viewer *v) {
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && !finished(v)) {
    int waits = 0;
    status = take_updates(v);
    if (status == CVTM_OK && v->control.frame)
      status = cvtm_script_play(&v->script, &v->control, v->surface, &waits, v->error);
    if (status != CVTM_OK) break;
    expire_note(v);
    const int wanted = wants_frame(v, waits);
    if (wanted) status = draw_view(v);
    if (wanted && status == CVTM_OK) status = write_files(v);
    if (wanted && status == CVTM_OK) v->surface->present(v->surface);
    v->surface->poll(v->surface, wanted ? 0 : 0.005);
  }
  if (v->surface->lost) {
    say(v, "the connection to the display was lost");
    return CVTM_OK; /* the result is valid even if the display is lost */
  }
  return status;
}

/* ---- The run ---- */

static int cuda_index(const cvtm_device *device) {
  int index = -1;
  if (cvtm_device_get_kind(device) != CVTM_DEVICE_CUDA ||
      sscanf(cvtm_device_name(device), "cuda:%d", &index) != 1)
    return -1;
  return index;
}

static void on_event(void *context, const cvtm_event *event) {
  viewer *v = context;
  cvtm_control_event(&v->control, event);
}

static void set_up_control(viewer *v) {
  const cvtm_viewer_options *o = v->options;
  cvtm_view *view = &v->control.view;
  cvtm_control_init(&v->control, v->solver, o->domain);
  if (o->layers) view->layers = o->layers;
  view->fill = o->fill;
  view->dark = o->dark;
  snprintf(v->device, sizeof v->device, "%s", cvtm_device_name(o->device));
  view->device = v->device;
  v->surface->handler = on_event;
  v->surface->handler_context = v;
  const cvtm_event size = {.kind = CVTM_EVENT_RESIZE,
                           .width = v->surface->width,
                           .height = v->surface->height,
                           .scale = v->surface->scale};
  cvtm_control_event(&v->control, &size);
}

static void say_what_draws(viewer *v) {
  char line[640];
  snprintf(line, sizeof line, "solves on %s (%.200s), draws on %.150s (%s); sites by %s",
           cvtm_device_name(v->options->device), cvtm_device_description(v->options->device),
           cvtm_render_name(), v->surface->name, cvtm_points_path(v->points));
  say(v, line);
}

static cvtm_status create_parts(viewer *v) {
  const cvtm_viewer_options *o = v->options;
  CVTM_TRY(o->offscreen ? cvtm_headless_create(o->width, o->height, cuda_index(o->device),
                                               &v->surface, v->error)
                        : cvtm_window_create(o->title, o->width, o->height, &v->surface, v->error));
  CVTM_TRY(cvtm_render_create(&v->render, v->error));
  CVTM_TRY(cvtm_points_create(o->device, o->pinned, &v->points, v->error));
  say_what_draws(v);
  const cvtm_solver_options settings = {.device = o->device,
                                        .domain = o->domain,
                                        .density = o->density,
                                        .sites = o->sites,
                                        .count = o->count,
                                        .cvt = o->cvt,
                                        .start = o->start,
                                        .seed = o->seed,
                                        .paused = o->paused};
  CVTM_TRY(cvtm_solver_start(&settings, v->points, &v->solver, v->error));
  CVTM_TRY(start_builder(v->solver, &v->builder, v->error));
  set_up_control(v);
  return CVTM_OK;
}

/* Fills the result from the last frame or, without a frame, from the initial sites. */
static cvtm_status fill_result(viewer *v, cvtm_viewer_result *result) {
  const cvtm_viewer_options *o = v->options;
  const cvtm_view_state *state = v->control.frame ? &v->control.frame->state : NULL;
  const double *sites = state ? state->sites : o->sites;
  cvtm_viewer_result found = {.count = state ? state->count : o->count,
                              .iterations = state ? state->iteration : 0,
                              .ratio = state ? state->ratio : 0,
                              .gradient_norm = state ? state->gradient_norm : 0,
                              .frames = v->frames,
                              .seconds = v->frames > 0 ? cvtm_clock() - v->start : 0};
  const size_t bytes = 2 * (size_t)found.count * sizeof *found.sites;
  found.sites = malloc(bytes);
  if (!found.sites) return cvtm_fail(v->error, CVTM_ERROR_MEMORY, "out of memory");
  memcpy(found.sites, sites, bytes);
  *result = found;
  return CVTM_OK;
}

/* Ends the threads, then destroys the objects that they used. */
static void stop(viewer *v) {
  stop_builder(v->builder);
  cvtm_solver_stop(v->solver);
  cvtm_points_destroy(v->points);
  if (!v->surface) return;
  if (!v->surface->lost) cvtm_render_destroy(v->render);
  v->surface->destroy(v->surface);
}

cvtm_status cvtm_viewer_run(const cvtm_viewer_options *options, cvtm_viewer_result *result,
                            cvtm_error *error) {
  viewer v = {.options = options, .error = error};
  cvtm_script_init(&v.script, options->script_name, options->script ? options->script : "");
  cvtm_status status = create_parts(&v);
  if (status == CVTM_OK) status = show(&v);
  if (status == CVTM_OK) status = fill_result(&v, result);
  if (status == CVTM_OK && options->shot && v.frames > 0)
    status = write_view_picture(&v, options->shot);
  stop(&v);
  free(v.pixels);
  return status;
}
