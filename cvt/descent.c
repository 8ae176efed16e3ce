/* Minimisation by Lloyd's method and by L-BFGS-B. The sites stay in device memory. */
#include "cvt/descent.h"

#include "base/clock.h"
#include "cvt/moves_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_cvt_defaults(cvtm_cvt_options *options) {
  *options = (cvtm_cvt_options){.method = CVTM_CVT_LBFGSB,
                                .energy = CVTM_CVT_EXACT,
                                .voronoi = CVTM_VORONOI_EXACT,
                                .max_iterations = 300,
                                .tolerance = 1e-6,
                                .history = 8,
                                .lloyd_steps = 5,
                                .effort = CVTM_CVT_EFFORT_NORMAL,
                                .start = CVTM_CVT_START_STRATIFIED,
                                .seed = 1};
}

typedef struct run {
  const cvtm_cvt_task *task;
  const cvtm_cvt_options *options;
  double start, deadline;
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double decrease[CVTM_CVT_WINDOW]; /* relative, of the last iterations of Lloyd's method */
  double last[2], best;             /* values and least energy of Lloyd's method */
  int timed;                        /* evaluations are done when a call returns */
  double seconds;                   /* spent in them so far, if timed */
  int64_t enqueued;                 /* evaluations in those seconds */
} run;

static size_t bytes_of(int64_t count) { return 2 * (size_t)count * sizeof(double); }

static cvtm_status enqueue(run *r, const double *x, double *f, double *g) {
  const double start = r->timed ? cvtm_clock() : 0;
  const cvtm_status status = cvtm_cvt_enqueue(r->task, x, f, g);
  if (r->timed) r->seconds += cvtm_clock() - start;
  ++r->enqueued;
  return status;
}

/* Tells the monitor and remembers its wish, and the gradient's, to stop. */
static void report(run *r, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = r->options;
  if (r->stop == CVTM_STOP_REQUEST) return;
  if (record->gradient_norm <= o->gradient_tolerance) r->stop = CVTM_STOP_GRADIENT;
  if (o->monitor && o->monitor(o->monitor_context, record)) r->stop = CVTM_STOP_REQUEST;
}

int cvtm_cvt_relay(void *options, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = options;
  cvtm_cvt_record unknown = *record;
  unknown.sites = 0;
  return o->monitor(o->monitor_context, &unknown);
}

/* --- Lloyd's method ---------------------------------------------------------------- */

static double mean_decrease(const run *r) {
  double sum = 0;
  for (int k = 0; k < CVTM_CVT_WINDOW; ++k) sum += r->decrease[k];
  return sum / CVTM_CVT_WINDOW;
}

double cvtm_cvt_deadline(const cvtm_cvt_options *options, double start) {
  return options->max_seconds > 0 ? start + options->max_seconds : INFINITY;
}

static void decide_lloyd_stop(run *r, double energy) {
  const cvtm_cvt_options *o = r->options;
  if (r->iterations > 0) {
    const double before = r->last[0], larger = fmax(fabs(before), fabs(energy));
    r->decrease[r->iterations % CVTM_CVT_WINDOW] = larger > 0 ? (before - energy) / larger : 0;
  }
  if (r->stop != CVTM_STOP_NONE) return;
  if (o->tolerance > 0 && r->iterations >= CVTM_CVT_WINDOW && mean_decrease(r) <= o->tolerance)
    r->stop = CVTM_STOP_DECREASE;
  else if (o->max_iterations > 0 && r->iterations >= o->max_iterations)
    r->stop = CVTM_STOP_ITERATIONS;
  else if (cvtm_clock() >= r->deadline)
    r->stop = CVTM_STOP_TIME;
}

static cvtm_status record_lloyd(run *r, const double value[2]) {
  if (!isfinite(value[0])) {
    return cvtm_fail(cvtm_device_error(r->task->cvt->device), CVTM_ERROR_EVALUATION,
                     "the energy is not finite after %lld iterations", (long long)r->iterations);
  }
  const cvtm_cvt_record record = {r->task->count, r->iterations, value[0], value[1],
                                  r->iterations > 0 ? 1 : 0};
  r->best = fmin(r->best, value[0]);
  report(r, &record);
  decide_lloyd_stop(r, value[0]);
  memcpy(r->last, value, sizeof r->last);
  return CVTM_OK;
}

/* Steps between two looks at the energies: a device of its own does a window of them, unless
 * time is short. So other stops than the limit of iterations may come some steps late. */
static int64_t lloyd_window(const run *r, int64_t steps) {
  const int64_t most = r->options->max_iterations;
  const int single = r->timed || r->deadline < INFINITY || r->options->live;
  int64_t window = single ? 1 : CVTM_CVT_WINDOW;
  if (steps >= 0 && window > steps - r->iterations) window = steps - r->iterations;
  if (most > 0 && window > most - r->iterations) window = most - r->iterations;
  return window;
}

/* `steps` moves, each but the start (`steps` = 0) followed by an evaluation, all on the device;
 * then their records go to the monitor. The best state is kept in cvt->best. */
static cvtm_status do_lloyd_steps(run *r, int64_t steps) {
  const cvtm_cvt_task *task = r->task;
  cvtm_cvt *cvt = task->cvt;
  const int64_t evaluations = steps > 0 ? steps : 1;
  double values[2 * CVTM_CVT_WINDOW];
  cvtm_status status = cvtm_device_copy_in(cvt->device, cvt->least, &r->best, sizeof r->best);
  for (int64_t k = 0; status == CVTM_OK && k < evaluations; ++k) {
    double *value = cvt->value + 2 * k, *least = cvt->least + k;
    if (steps > 0) status = cvt->table->lloyd(cvt, cvt->sites, task->count, task->fixed);
    if (status == CVTM_OK) status = enqueue(r, cvt->sites, value, NULL);
    if (status == CVTM_OK)
      status = cvt->moves->keep_best(cvt->device, cvt->sites, task->count, value, least, cvt->best);
  }
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, values, cvt->value,
                                  2 * (size_t)evaluations * sizeof *values);
  for (int64_t k = 0; status == CVTM_OK && k < evaluations; ++k) {
    r->iterations += steps > 0;
    ++r->evaluations;
    status = record_lloyd(r, values + 2 * k);
  }
  return status;
}

/* At most `steps` moves (negative: no limit). A site that is where it belongs to the last bit ends
 * the run, as does any stop. */
static cvtm_status run_lloyd(run *r, int64_t steps) {
  cvtm_status status = do_lloyd_steps(r, 0);
  while (status == CVTM_OK && r->stop == CVTM_STOP_NONE && r->iterations != steps)
    status = do_lloyd_steps(r, lloyd_window(r, steps));
  return status;
}

cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps) {
  cvtm_cvt *cvt = task->cvt;
  cvtm_status status = cvtm_cvt_enqueue(task, cvt->sites, cvt->value, NULL);
  for (int k = 0; status == CVTM_OK && k < steps; ++k) {
    status = cvt->table->lloyd(cvt, cvt->sites, task->count, task->fixed);
    if (status == CVTM_OK) status = cvtm_cvt_enqueue(task, cvt->sites, cvt->value, NULL);
  }
  return status;
}

/* --- L-BFGS-B ---------------------------------------------------------------------- */

static cvtm_status objective(void *context, const double *x, double *f, double *g, void *stream) {
  (void)stream; /* the device's own */
  return enqueue(context, x, f, g);
}

static int watch(void *context, const cvtm_lbfgsb_progress *progress) {
  run *r = context;
  if (progress->iteration == 0) return 0; /* Lloyd's last state, recorded already */
  const cvtm_cvt_record record = {r->task->count, r->iterations + progress->iteration, progress->f,
                                  progress->measure, progress->step};
  report(r, &record);
  return r->stop != CVTM_STOP_NONE;
}

/* No bounds on a torus where all sites move. */
static cvtm_status set_bounds(const cvtm_cvt_task *task) {
  cvtm_cvt *cvt = task->cvt;
  const int64_t n = 2 * task->count;
  void *memory = NULL;
  if (cvt->domain.periodic && task->fixed == 0)
    return cvtm_lbfgsb_set_bounds(cvt->solver, NULL, NULL);
  cvtm_status status = cvtm_device_scratch(cvt->device, 2 * bytes_of(task->count), &memory);
  if (status != CVTM_OK) return status;
  double *lower = memory, *upper = lower + n;
  status = cvt->moves->bounds(cvt->device, cvt->domain, cvt->sites, task->count, task->fixed, lower,
                              upper);
  return status == CVTM_OK ? cvtm_lbfgsb_set_bounds(cvt->solver, lower, upper) : status;
}

/* Large enough for any number of sites of the plan. */
static cvtm_status create_solver(cvtm_cvt *cvt, const cvtm_lbfgsb_options *options) {
  cvtm_lbfgsb_destroy(cvt->solver);
  cvt->solver = NULL;
  cvt->solver_count = 0;
  cvt->solver_history = options->history;
  return cvtm_lbfgsb_create(cvt->device, 2 * cvt->capacity, options, &cvt->solver);
}

/* The solver of the last descent is kept; its bounds hold for as many sites, unless some are
 * fixed. */
cvtm_status cvtm_cvt_prepare_solver(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options,
                                    int equal_mass) {
  cvtm_cvt *cvt = task->cvt;
  const double n = (double)task->count;
  cvtm_status status = cvt->solver && cvt->solver_history == options->history
                           ? cvtm_lbfgsb_set_options(cvt->solver, options)
                           : create_solver(cvt, options);
  const int fits = cvt->solver_count == task->count;
  if (status == CVTM_OK && !fits) status = cvtm_lbfgsb_set_size(cvt->solver, 2 * task->count);
  if (status == CVTM_OK && (!fits || task->fixed > 0 || cvt->solver_fixed > 0))
    status = set_bounds(task);
  cvt->solver_fixed = task->fixed;
  cvt->solver_count = status == CVTM_OK ? task->count : 0;
  if (status == CVTM_OK)
    status = cvt->moves->scale(cvt->device, cvt->sums, task->count, cvt->mass / n,
                               equal_mass ? 0 : cvt->root / n, cvt->scale);
  return status == CVTM_OK ? cvtm_lbfgsb_set_scaling(cvt->solver, cvt->scale) : status;
}

/* What Lloyd's steps left of the limits. The evaluation of the final sites is within the limit of
 * time. */
static cvtm_lbfgsb_options remaining_options(run *r) {
  const cvtm_cvt_options *o = r->options;
  const double evaluation = r->enqueued > 0 ? r->seconds / (double)r->enqueued : 0;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.history = o->history;
  options.max_iterations = o->max_iterations > 0 ? o->max_iterations - r->iterations : 0;
  options.max_seconds =
      r->deadline < INFINITY ? fmax(r->deadline - evaluation - cvtm_clock(), 1e-9) : 0;
  options.decrease_tolerance = o->tolerance;
  if (o->monitor || o->gradient_tolerance > 0) options.monitor = watch;
  options.monitor_context = r;
  options.host_rounds = o->live != 0;
  return options;
}

static cvtm_status run_lbfgsb(run *r) {
  cvtm_cvt *cvt = r->task->cvt;
  const cvtm_lbfgsb_options options = remaining_options(r);
  cvtm_lbfgsb_result result;
  cvtm_status status = cvtm_cvt_prepare_solver(r->task, &options, 0);
  if (status != CVTM_OK) return status;
  cvt->solver_runs = 1;
  status = cvtm_lbfgsb_minimize(cvt->solver, cvt->sites, objective, r, &result);
  cvt->solver_runs = 0;
  if (status != CVTM_OK) return status;
  if (r->stop == CVTM_STOP_NONE) r->stop = result.stop;
  r->iterations += result.iterations;
  r->evaluations += result.evaluations;
  return CVTM_OK;
}

const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt) {
  return cvt->solver_runs ? cvtm_lbfgsb_point(cvt->solver) : cvt->sites;
}

/* --- from start to end ------------------------------------------------------------- */

static double wrap(double x, double size) {
  const double wrapped = x - size * floor(x / size);
  return wrapped >= 0 && wrapped < size ? wrapped : 0;
}

/* Clamped into the rectangle, or wrapped into the period. */
static void move_inside(cvtm_domain domain, double *sites, int64_t count) {
  const double size[2] = {(double)domain.width, (double)domain.height};
  for (int64_t k = 0; k < 2 * count; ++k) {
    const double s = size[k % 2];
    sites[k] = domain.periodic ? wrap(sites[k], s) : fmin(fmax(sites[k], 0), s);
  }
}

cvtm_status cvtm_cvt_put_sites(cvtm_cvt *cvt, const double *sites, int64_t count) {
  double *inside = malloc(bytes_of(count));
  if (!inside)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for sites");
  memcpy(inside, sites, bytes_of(count));
  move_inside(cvt->domain, inside, count);
  const cvtm_status status = cvtm_device_copy_in(cvt->device, cvt->sites, inside, bytes_of(count));
  free(inside);
  return status;
}

cvtm_status cvtm_cvt_get_sites(cvtm_cvt *cvt, double *sites, int64_t count) {
  const cvtm_status status = cvtm_device_copy_out(cvt->device, sites, cvt->sites, bytes_of(count));
  if (status == CVTM_OK) move_inside(cvt->domain, sites, count);
  return status;
}

static cvtm_status read_final(run *r, double value[2]) {
  cvtm_cvt *cvt = r->task->cvt;
  ++r->evaluations;
  const cvtm_status status = enqueue(r, cvt->sites, cvt->value, NULL);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(cvt->device, value, cvt->value, 2 * sizeof *value);
}

/* Evaluates the final state, or that of Lloyd's method if it was better: a diagram that is
 * not exact can mislead a descent. On CUDA the time of this evaluation stands for all. On the CPU
 * the last evaluation of Lloyd's method need not be repeated. */
static cvtm_status finish(run *r, int evaluated, cvtm_cvt_result *result) {
  cvtm_cvt *cvt = r->task->cvt;
  const double before = cvtm_clock();
  double value[2] = {r->last[0], r->last[1]}, seconds = 0;
  cvtm_status status = r->timed && evaluated ? CVTM_OK : read_final(r, value);
  seconds = cvtm_clock() - before;
  if (status == CVTM_OK && !(value[0] <= r->best)) {
    status = cvtm_device_copy(cvt->device, cvt->sites, cvt->best, bytes_of(r->task->count));
    if (status == CVTM_OK) status = read_final(r, value);
  }
  if (status != CVTM_OK) return status;
  result->stop = r->stop;
  result->iterations = r->iterations;
  result->evaluations = r->evaluations;
  result->objective = value[0];
  result->gradient_norm = value[1];
  result->seconds = cvtm_clock() - r->start;
  result->seconds_evaluation =
      fmin(r->timed ? r->seconds : seconds * (double)r->evaluations, result->seconds);
  result->seconds_optimizer = result->seconds - result->seconds_evaluation;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_descend(const cvtm_cvt_task *task, const cvtm_cvt_options *options,
                             double deadline, cvtm_cvt_result *result) {
  const int lbfgsb = options->method == CVTM_CVT_LBFGSB;
  run r = {.task = task,
           .options = options,
           .start = cvtm_clock(),
           .deadline = deadline,
           .stop = CVTM_STOP_NONE,
           .best = INFINITY,
           .timed = cvtm_device_get_kind(task->cvt->device) == CVTM_DEVICE_CPU};
  cvtm_status status = run_lloyd(&r, lbfgsb ? options->lloyd_steps : -1);
  const int goes_on = lbfgsb && r.stop == CVTM_STOP_NONE;
  if (status == CVTM_OK && goes_on) status = run_lbfgsb(&r);
  return status == CVTM_OK ? finish(&r, !goes_on, result) : status;
}

cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty) {
  cvtm_cell_sums *sums = NULL;
  const cvtm_status status = cvtm_cvt_read_sums(cvt, count, &sums);
  if (status != CVTM_OK) return status;
  *empty = 0;
  for (int64_t i = 0; i < count; ++i) *empty += !(sums[i].mass > 0);
  free(sums);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *o, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (o->method != CVTM_CVT_LLOYD && o->method != CVTM_CVT_LBFGSB)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown method %d", (int)o->method);
  if (o->history < 1 || o->history > CVTM_LBFGSB_MAX_HISTORY)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a history of %d; 1 to %d", o->history,
                     CVTM_LBFGSB_MAX_HISTORY);
  if (o->fixed < 0 || o->fixed > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld fixed sites of %lld", (long long)o->fixed,
                     (long long)count);
  if (o->lloyd_steps < 0 || o->max_iterations < 0 || !(o->tolerance >= 0) ||
      !(o->gradient_tolerance >= 0) || !(o->max_seconds >= 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a limit or tolerance is negative");
  return CVTM_OK;
}

cvtm_status cvtm_cvt_optimize(cvtm_cvt *cvt, const cvtm_cvt_options *options, double *sites,
                              int64_t count, cvtm_cvt_result *result) {
  const cvtm_cvt_task task = {cvt, count, options->fixed, options->energy, options->voronoi};
  const double start = cvtm_clock();
  cvtm_cvt_result found = {0};
  cvtm_status status = cvtm_cvt_check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_check_options(cvt, options, count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  if (status == CVTM_OK)
    status = cvtm_cvt_descend(&task, options, cvtm_cvt_deadline(options, start), &found);
  if (status == CVTM_OK && result) status = cvtm_cvt_count_empty(cvt, count, &found.empty_cells);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  found.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = found;
  return status;
}
