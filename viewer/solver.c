#include "viewer/solver.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/portable.h"
#include "viewer/mailbox.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct cvtm_solver {
  cvtm_solver_options options;
  cvtm_points *points;
  pthread_t thread;
  int started;

  /* shared, under `lock` */
  pthread_mutex_t lock;
  pthread_cond_t wake;  /* signals a command, or the end */
  pthread_cond_t fresh; /* signals a new state */
  cvtm_solver_command *queue;
  int64_t queued, queue_capacity;
  uint64_t sent;
  int quit;
  cvtm_status status;
  cvtm_error error;

  /* under `density_lock`; only the solver's thread writes */
  pthread_mutex_t density_lock;
  float *density;
  uint64_t density_version;

  cvtm_mailbox box;
  cvtm_view_state states[CVTM_MAILBOX_SLOTS];

  /* used by the solver's thread alone */
  cvtm_cvt *cvt;
  int64_t plan_capacity;
  double *sites;
  int64_t count, capacity, fixed, held; /* held: the site that is kept in place; -1: none */
  double bound; /* reference energy of bound_count sites, cvtm_cvt_plan_bound */
  int64_t bound_count;
  double reference; /* the density that the brush paints */
  int paused, converged, dirty;
  int64_t steps; /* number of iterations to run while paused */
  uint64_t applied, draws;
  int64_t base; /* iterations of the preceding descents */
  cvtm_cvt_record record;
  cvtm_view_history history;
  double milliseconds, clock;
  cvtm_status publishing; /* status of the publications during the current descent */
};

/* ---- Dabs of the brush on a density of width * height pixels ---- */

/* At its centre a dab changes the density by this fraction of the difference to the target. */
static const double dab_strength = 0.3;

/* The density after a dab. distance: from the centre, in radii of the dab. */
static float dabbed(float rho, double reference, cvtm_brush brush, double distance) {
  const double soft = 0.5 + 0.5 * cos(CVTM_PI * distance);
  switch (brush) {
    case CVTM_BRUSH_DENSE:
      return (float)((double)rho + dab_strength * soft * fmax(reference - (double)rho, 0));
    case CVTM_BRUSH_SPARSE:
      return (float)((double)rho * (1 - dab_strength * soft));
    default:
      return 0;
  }
}

/* Nonzero if the density would be zero everywhere after the dab. */
static int empties_density(const float *density, cvtm_domain domain,
                           const cvtm_solver_command *dab) {
  if (dab->brush != CVTM_BRUSH_OBSTACLE) return 0;
  for (int y = 0; y < domain.height; ++y)
    for (int x = 0; x < domain.width; ++x)
      if (density[(int64_t)y * domain.width + x] > 0 &&
          hypot(x + 0.5 - dab->x, y + 0.5 - dab->y) >= dab->radius)
        return 0;
  return 1;
}

/* Changes the density: dense dabs raise it towards `reference` and sparse dabs lower it, less so
 * towards the edge of the dab; an obstacle sets it to 0. dab->radius > 0. */
static void dab_pixels(float *density, cvtm_domain domain, double reference,
                       const cvtm_solver_command *dab) {
  const int x0 = (int)fmax(floor(dab->x - dab->radius), 0);
  const int y0 = (int)fmax(floor(dab->y - dab->radius), 0);
  const int x1 = (int)fmin(ceil(dab->x + dab->radius), domain.width);
  const int y1 = (int)fmin(ceil(dab->y + dab->radius), domain.height);
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      const double distance = hypot(x + 0.5 - dab->x, y + 0.5 - dab->y) / dab->radius;
      float *rho = &density[(int64_t)y * domain.width + x];
      if (distance < 1) *rho = dabbed(*rho, reference, dab->brush, distance);
    }
  }
}

/* ---- States ---- */

static double wrap(double x, double size) {
  const double wrapped = x - size * floor(x / size);
  return wrapped >= 0 && wrapped < size ? wrapped : 0;
}

static void swap_sites(double *sites, int64_t i, int64_t j) {
  for (int c = 0; c < 2; ++c) {
    const double kept = sites[2 * i + c];
    sites[2 * i + c] = sites[2 * j + c];
    sites[2 * j + c] = kept;
  }
}

/* Nonzero if a site is held; during a descent that is the first site after the fixed sites. */
static int holds(const cvtm_solver *s) { return s->held >= s->fixed; }

static void fill_figures(const cvtm_solver *s, cvtm_view_state *state, cvtm_view_phase phase) {
  state->domain = s->options.domain;
  state->count = s->count;
  state->iteration = s->base + s->record.iteration;
  state->ratio = s->record.energy / s->bound;
  state->gradient_norm = s->record.gradient_norm;
  state->milliseconds = s->milliseconds;
  state->lloyd = s->options.cvt.method == CVTM_CVT_LLOYD;
  state->phase = phase;
  state->commands = s->applied;
  state->history = s->history;
}

static void publish_state(cvtm_solver *s) {
  cvtm_mailbox_publish(&s->box);
  pthread_mutex_lock(&s->lock);
  pthread_cond_broadcast(&s->fresh);
  pthread_mutex_unlock(&s->lock);
}

/* Publishes the state during a descent, when the sites are on the device. */
static cvtm_status publish_current(cvtm_solver *s) {
  cvtm_device *device = s->options.device;
  const double *current = cvtm_cvt_current_sites(s->cvt);
  cvtm_view_state *state = &s->states[s->box.back];
  CVTM_TRY(cvtm_view_state_reserve(state, s->count, cvtm_device_error(device)));
  CVTM_TRY(cvtm_device_copy_out(device, state->sites, current,
                                2 * (size_t)s->count * sizeof *state->sites));
  if (s->points) CVTM_TRY(cvtm_points_publish(s->points, current, s->count));
  if (holds(s)) swap_sites(state->sites, s->held, s->fixed);
  if (s->options.domain.periodic) {
    for (int64_t i = 0; i < s->count; ++i) {
      state->sites[2 * i] = wrap(state->sites[2 * i], s->options.domain.width);
      state->sites[2 * i + 1] = wrap(state->sites[2 * i + 1], s->options.domain.height);
    }
  }
  fill_figures(s, state, s->paused ? CVTM_VIEW_PAUSED : CVTM_VIEW_RUNNING);
  publish_state(s);
  return CVTM_OK;
}

/* Publishes the state between descents. */
static cvtm_status publish_result(cvtm_solver *s) {
  cvtm_device *device = s->options.device;
  cvtm_view_state *state = &s->states[s->box.back];
  CVTM_TRY(cvtm_view_state_reserve(state, s->count, cvtm_device_error(device)));
  memcpy(state->sites, s->sites, 2 * (size_t)s->count * sizeof *s->sites);
  fill_figures(s, state, s->converged ? CVTM_VIEW_CONVERGED : CVTM_VIEW_PAUSED);
  publish_state(s);
  return CVTM_OK;
}

/* ---- Commands ---- */

static cvtm_status reserve_sites(cvtm_solver *s, int64_t count) {
  if (cvtm_grow(&s->sites, 2 * sizeof *s->sites, &s->capacity, count)) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(s->options.device), CVTM_ERROR_MEMORY,
                   "no memory for %lld sites", (long long)count);
}

/* Draws `count` new random sites from the density. */
static cvtm_status sample_sites(cvtm_solver *s, int64_t count, double *sites) {
  return cvtm_cvt_sample(s->options.domain, s->density, count, s->options.seed + s->draws++,
                         s->options.start, sites, cvtm_device_error(s->options.device));
}

static cvtm_status reseed(cvtm_solver *s) {
  s->held = -1;
  s->base = 0;
  s->record = (cvtm_cvt_record){0};
  memset(&s->history, 0, sizeof s->history);
  if (s->count == s->fixed) return CVTM_OK;
  return sample_sites(s, s->count - s->fixed, s->sites + 2 * s->fixed);
}

/* Removes `fewer` sites at equal steps of the list. */
static void thin(cvtm_solver *s, int64_t fewer) {
  const int64_t movable = s->count - s->fixed;
  if (fewer >= movable) fewer = movable - (s->fixed == 0);
  if (fewer <= 0) return;
  const int64_t kept = movable - fewer;
  for (int64_t k = 0; k < kept; ++k) {
    const int64_t from = s->fixed + k * movable / kept;
    memmove(s->sites + 2 * (s->fixed + k), s->sites + 2 * from, 2 * sizeof *s->sites);
  }
  s->count = s->fixed + kept;
  s->held = -1;
}

static cvtm_status scatter_sites(cvtm_solver *s, int64_t more) {
  if (more < 0) {
    thin(s, -more);
    return CVTM_OK;
  }
  if (more == 0 || s->count + more > INT32_MAX / 4) return CVTM_OK;
  CVTM_TRY(reserve_sites(s, s->count + more));
  CVTM_TRY(sample_sites(s, more, s->sites + 2 * s->count));
  s->count += more;
  return CVTM_OK;
}

static void set_site(cvtm_solver *s, int64_t i, double x, double y) {
  s->sites[2 * i] = fmin(fmax(x, 0), s->options.domain.width);
  s->sites[2 * i + 1] = fmin(fmax(y, 0), s->options.domain.height);
}

static cvtm_status add_site(cvtm_solver *s, double x, double y) {
  CVTM_TRY(reserve_sites(s, s->count + 1));
  set_site(s, s->count++, x, y);
  return CVTM_OK;
}

static void delete_site(cvtm_solver *s, int64_t i) {
  if (i < 0 || i >= s->count || s->count == 1) return;
  memmove(s->sites + 2 * i, s->sites + 2 * i + 2,
          2 * (size_t)(s->count - i - 1) * sizeof *s->sites);
  --s->count;
  if (i < s->fixed) --s->fixed;
  s->held = -1;
}

static void dab_density(cvtm_solver *s, const cvtm_solver_command *dab) {
  pthread_mutex_lock(&s->density_lock);
  dab_pixels(s->density, s->options.domain, s->reference, dab);
  ++s->density_version;
  pthread_mutex_unlock(&s->density_lock);
}

/* Replaces sites in an obstacle by random sites, since no gradient moves them out. */
static cvtm_status leave_obstacle(cvtm_solver *s, const cvtm_solver_command *dab) {
  const cvtm_domain domain = s->options.domain;
  for (int64_t i = s->fixed; i < s->count; ++i) {
    const double x = s->sites[2 * i], y = s->sites[2 * i + 1];
    if (hypot(x - dab->x, y - dab->y) >= dab->radius) continue;
    const int64_t px = (int64_t)fmin(x, domain.width - 1);
    const int64_t py = (int64_t)fmin(y, domain.height - 1);
    if (s->density[py * domain.width + px] > 0) continue;
    CVTM_TRY(sample_sites(s, 1, s->sites + 2 * i));
  }
  return CVTM_OK;
}

static cvtm_status paint(cvtm_solver *s, const cvtm_solver_command *dab) {
  if (!(dab->radius > 0) || empties_density(s->density, s->options.domain, dab)) return CVTM_OK;
  dab_density(s, dab);
  return dab->brush == CVTM_BRUSH_OBSTACLE ? leave_obstacle(s, dab) : CVTM_OK;
}

static void flip_method(cvtm_solver *s) {
  s->options.cvt.method =
      s->options.cvt.method == CVTM_CVT_LLOYD ? CVTM_CVT_LBFGSB : CVTM_CVT_LLOYD;
}

/* Nonzero for pause and step, which do not interrupt a descent. */
static int is_soft(const cvtm_solver_command *command) {
  return command->kind == CVTM_SOLVE_PAUSE || command->kind == CVTM_SOLVE_STEP;
}

static void apply_soft(cvtm_solver *s, const cvtm_solver_command *command) {
  if (command->kind == CVTM_SOLVE_STEP) {
    s->paused = 1;
    ++s->steps;
  } else {
    s->paused = !s->paused;
    s->steps = 0;
  }
}

static cvtm_status apply(cvtm_solver *s, const cvtm_solver_command *command, int *painted) {
  s->dirty |= !is_soft(command);
  switch (command->kind) {
    case CVTM_SOLVE_PAUSE:
      apply_soft(s, command);
      return CVTM_OK;
    case CVTM_SOLVE_STEP:
      apply_soft(s, command);
      s->dirty = 1; /* a step runs even if the descent has converged */
      return CVTM_OK;
    case CVTM_SOLVE_RESEED:
      return reseed(s);
    case CVTM_SOLVE_METHOD:
      flip_method(s);
      return CVTM_OK;
    case CVTM_SOLVE_SCATTER:
      return scatter_sites(s, command->site);
    case CVTM_SOLVE_ADD:
      return add_site(s, command->x, command->y);
    case CVTM_SOLVE_DELETE:
      delete_site(s, command->site);
      return CVTM_OK;
    case CVTM_SOLVE_HOLD:
      if (command->site < 0 || command->site >= s->count) return CVTM_OK;
      s->held = command->site;
      set_site(s, s->held, command->x, command->y);
      return CVTM_OK;
    case CVTM_SOLVE_LET_GO:
      s->held = -1;
      return CVTM_OK;
    case CVTM_SOLVE_PAINT:
      *painted = 1;
      return paint(s, command);
  }
  return CVTM_OK;
}

/* ---- The thread ---- */

/* Creates the plan for the number of sites, or updates its density if `painted`. */
static cvtm_status prepare_plan(cvtm_solver *s, int painted) {
  if (!s->cvt || s->count > s->plan_capacity) {
    cvtm_cvt_destroy(s->cvt);
    s->cvt = NULL;
    s->plan_capacity = s->count + s->count / 4;
    CVTM_TRY(cvtm_cvt_create(s->options.device, s->options.domain, s->density, s->plan_capacity,
                             &s->cvt));
  } else if (painted) {
    CVTM_TRY(cvtm_cvt_set_density(s->cvt, s->density));
  }
  if (painted || s->count != s->bound_count) {
    s->bound = cvtm_cvt_energy_bound(s->options.domain, s->density, s->count);
    s->bound_count = s->count;
  }
  return CVTM_OK;
}

static void take_time(cvtm_solver *s) {
  const double time = cvtm_clock(), passed = 1e3 * (time - s->clock);
  s->milliseconds = s->milliseconds > 0 ? 0.8 * s->milliseconds + 0.2 * passed : passed;
  s->clock = time;
}

/* Executes pauses and steps at the head of the queue; returns nonzero if there were any. */
static int take_soft(cvtm_solver *s) {
  int64_t taken = 0;
  while (taken < s->queued && is_soft(&s->queue[taken])) apply_soft(s, &s->queue[taken++]);
  if (taken == 0) return 0;
  s->queued -= taken;
  memmove(s->queue, s->queue + taken, (size_t)s->queued * sizeof *s->queue);
  s->applied += (uint64_t)taken;
  return 1;
}

/* The monitor of a descent: publishes a state if the reader has taken the last state, and waits
 * while paused. Returns nonzero to end the descent. */
static int publish_and_wait(void *context, const cvtm_cvt_record *record) {
  cvtm_solver *s = context;
  const int first = record->iteration == 0;
  s->record = *record;
  if (!first) take_time(s);
  if (!first || s->base == 0)
    cvtm_view_history_add(&s->history, s->base + record->iteration, record->energy / s->bound,
                          record->gradient_norm);
  int publish = first || s->paused || cvtm_mailbox_wanted(&s->box);
  cvtm_status status = CVTM_OK;
  /* the drawing thread shows new sites in every frame, but geometry of some states only */
  if (!publish && s->points && cvtm_points_wanted(s->points))
    status = cvtm_points_publish(s->points, cvtm_cvt_current_sites(s->cvt), s->count);
  pthread_mutex_lock(&s->lock);
  for (;;) {
    publish |= take_soft(s);
    if (publish) {
      pthread_mutex_unlock(&s->lock);
      status = publish_current(s);
      publish = 0;
      pthread_mutex_lock(&s->lock);
      continue;
    }
    if (status != CVTM_OK || s->quit || s->queued > 0 || !s->paused || s->steps > 0) break;
    pthread_cond_wait(&s->wake, &s->lock);
  }
  if (s->paused && s->steps > 0) --s->steps;
  s->publishing = status;
  const int stop = status != CVTM_OK || s->quit || s->queued > 0;
  pthread_mutex_unlock(&s->lock);
  s->clock = cvtm_clock();
  return stop;
}

static cvtm_status descend_and_publish(cvtm_solver *s) {
  cvtm_cvt_options settings = s->options.cvt;
  cvtm_cvt_result result = {0};
  const int held = holds(s);
  settings.fixed = s->fixed + held;
  settings.monitor = publish_and_wait;
  settings.monitor_context = s;
  settings.live = 1;
  if (s->base > 0 && settings.lloyd_steps > 1) settings.lloyd_steps = 1;
  if (held) swap_sites(s->sites, s->held, s->fixed);
  s->clock = cvtm_clock();
  s->publishing = CVTM_OK;
  cvtm_status status = cvtm_cvt_optimize(s->cvt, &settings, s->sites, s->count, &result);
  if (held) swap_sites(s->sites, s->held, s->fixed);
  if (status == CVTM_OK) status = s->publishing; /* a failure rather than a request to stop */
  if (status != CVTM_OK) return status;
  s->base += result.iterations;
  s->record.iteration = 0;
  s->record.energy = result.objective;
  s->record.gradient_norm = result.gradient_norm;
  s->converged = result.stop != CVTM_STOP_REQUEST;
  s->dirty = !s->converged;
  return s->converged ? publish_result(s) : CVTM_OK;
}

/* Waits for commands and takes them; returns 0 if the thread has to end. */
static int take_commands(cvtm_solver *s, cvtm_solver_command **commands, int64_t *count) {
  pthread_mutex_lock(&s->lock);
  while (!s->quit && s->queued == 0 && !s->dirty) pthread_cond_wait(&s->wake, &s->lock);
  *commands = s->queue;
  *count = s->queued;
  s->queue = NULL;
  s->queued = s->queue_capacity = 0;
  const int quit = s->quit;
  pthread_mutex_unlock(&s->lock);
  return !quit;
}

static cvtm_status work(cvtm_solver *s) {
  cvtm_status status = CVTM_OK;
  cvtm_solver_command *commands = NULL;
  int64_t count = 0;
  while (status == CVTM_OK && take_commands(s, &commands, &count)) {
    int painted = 0;
    for (int64_t k = 0; status == CVTM_OK && k < count; ++k)
      status = apply(s, &commands[k], &painted);
    free(commands);
    commands = NULL;
    s->applied += (uint64_t)count;
    if (status == CVTM_OK) status = prepare_plan(s, painted);
    if (status != CVTM_OK) break;
    if (s->dirty) {
      s->converged = 0;
      status = descend_and_publish(s);
    } else if (count > 0) {
      status = publish_result(s);
    }
  }
  free(commands);
  return status;
}

static void *serve_commands(void *context) {
  cvtm_solver *s = context;
  /* on the CPU, solver and drawing share the cores; drawing has priority */
  if (cvtm_device_get_kind(s->options.device) == CVTM_DEVICE_CPU)
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
  const cvtm_status status = work(s);
  cvtm_cvt_destroy(s->cvt);
  s->cvt = NULL;
  pthread_mutex_lock(&s->lock);
  s->status = status;
  s->error = *cvtm_device_error(s->options.device);
  pthread_cond_broadcast(&s->fresh);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* ---- Functions for other threads ---- */

static cvtm_status copy_inputs(cvtm_solver *s, const cvtm_solver_options *options) {
  const size_t pixels = (size_t)options->domain.width * (size_t)options->domain.height;
  s->capacity = options->count;
  s->count = options->count;
  s->sites = malloc(2 * (size_t)options->count * sizeof *s->sites);
  s->density = malloc(pixels * sizeof *s->density);
  if (!s->sites || !s->density) return CVTM_ERROR_MEMORY;
  memcpy(s->sites, options->sites, 2 * (size_t)options->count * sizeof *s->sites);
  memcpy(s->density, options->density, pixels * sizeof *s->density);
  for (size_t p = 0; p < pixels; ++p) s->reference = fmax(s->reference, (double)s->density[p]);
  return CVTM_OK;
}

cvtm_status cvtm_solver_start(const cvtm_solver_options *options, cvtm_points *points,
                              cvtm_solver **solver, cvtm_error *error) {
  if (options->count < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "there are no sites at the start");
  cvtm_solver *s = calloc(1, sizeof *s);
  if (!s) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->options = *options;
  s->points = points;
  s->fixed = options->cvt.fixed;
  s->held = -1;
  s->paused = options->paused;
  s->dirty = 1;
  s->draws = 1;
  s->density_version = 1;
  cvtm_mailbox_open(&s->box);
  pthread_mutex_init(&s->lock, NULL);
  pthread_mutex_init(&s->density_lock, NULL);
  pthread_cond_init(&s->wake, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&s->fresh, &clock);
  pthread_condattr_destroy(&clock);
  cvtm_status status = copy_inputs(s, options);
  if (status == CVTM_OK && pthread_create(&s->thread, NULL, serve_commands, s) != 0)
    status = CVTM_ERROR_MEMORY;
  s->started = status == CVTM_OK;
  if (status != CVTM_OK) {
    cvtm_solver_stop(s);
    return cvtm_fail(error, status, "no memory or no thread for %lld sites",
                     (long long)options->count);
  }
  *solver = s;
  return CVTM_OK;
}

void cvtm_solver_stop(cvtm_solver *s) {
  if (!s) return;
  pthread_mutex_lock(&s->lock);
  s->quit = 1;
  pthread_cond_broadcast(&s->wake);
  pthread_mutex_unlock(&s->lock);
  if (s->started) pthread_join(s->thread, NULL);
  pthread_cond_destroy(&s->wake);
  pthread_cond_destroy(&s->fresh);
  pthread_mutex_destroy(&s->lock);
  pthread_mutex_destroy(&s->density_lock);
  for (int k = 0; k < CVTM_MAILBOX_SLOTS; ++k) cvtm_view_state_free(&s->states[k]);
  free(s->queue);
  free(s->density);
  free(s->sites);
  free(s);
}

/* Nonzero for a new position of a dragged site, if the last one queued has not been taken. */
static int replaces_last(const cvtm_solver *s, const cvtm_solver_command *command) {
  if (command->kind != CVTM_SOLVE_HOLD || s->queued == 0) return 0;
  const cvtm_solver_command *last = &s->queue[s->queued - 1];
  return last->kind == CVTM_SOLVE_HOLD && last->site == command->site;
}

uint64_t cvtm_solver_send(cvtm_solver *s, const cvtm_solver_command *command) {
  uint64_t sent = 0;
  pthread_mutex_lock(&s->lock);
  if (replaces_last(s, command)) {
    s->queue[s->queued - 1] = *command;
    sent = s->sent;
  } else {
    if (cvtm_grow(&s->queue, sizeof *s->queue, &s->queue_capacity, s->queued + 1)) {
      s->queue[s->queued++] = *command;
      sent = ++s->sent;
    }
  }
  pthread_cond_broadcast(&s->wake);
  pthread_mutex_unlock(&s->lock);
  return sent;
}

int cvtm_solver_take(cvtm_solver *s, const cvtm_view_state **state) {
  if (!cvtm_mailbox_take(&s->box)) return 0;
  *state = &s->states[s->box.front];
  return 1;
}

void cvtm_solver_wait(cvtm_solver *s, double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const double whole = floor(seconds);
  until.tv_sec += (time_t)whole;
  until.tv_nsec += (long)((seconds - whole) * 1e9);
  if (until.tv_nsec >= 1000000000L) {
    ++until.tv_sec;
    until.tv_nsec -= 1000000000L;
  }
  pthread_mutex_lock(&s->lock);
  if (cvtm_mailbox_wanted(&s->box) && s->status == CVTM_OK)
    (void)pthread_cond_timedwait(&s->fresh, &s->lock, &until);
  pthread_mutex_unlock(&s->lock);
}

void cvtm_solver_visit_density(cvtm_solver *s, uint64_t *version, cvtm_density_visit visit,
                               void *context) {
  pthread_mutex_lock(&s->density_lock);
  if (*version != s->density_version) {
    *version = s->density_version;
    visit(context, s->density, s->options.domain);
  }
  pthread_mutex_unlock(&s->density_lock);
}

cvtm_status cvtm_solver_error(cvtm_solver *s, cvtm_error *error) {
  pthread_mutex_lock(&s->lock);
  const cvtm_status status = s->status;
  if (status != CVTM_OK) *error = s->error;
  pthread_mutex_unlock(&s->lock);
  return status;
}
