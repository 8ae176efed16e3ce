#include "lbfgsb/lbfgsb.h"

#include "base/clock.h"
#include "base/table_select.h"
#include "lbfgsb/inputs_kernels.h"
#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  MOST_ROUNDS = 16, /* enqueued between two looks at a CUDA device; well below the ring */
  TIMED_EVALUATIONS = 100
};

/* A run: the caller's objective (NULL in reverse communication), and what the host knows. */
typedef struct run {
  cvtm_lbfgsb *solver;
  cvtm_objective objective;
  void *context;
  double start_time;
  double evaluation_seconds;
  int64_t reported, taken; /* records that the monitor has seen, that the device knows of */
  int requested;
  int captured;
} run;

struct cvtm_lbfgsb {
  cvtm_device *device;
  const cvtm_lbfgsb_table *table;
  const cvtm_lbfgsb_inputs_table *inputs;
  cvtm_lbfgsb_options options;
  int64_t n, problems;
  int64_t most;          /* n may become, with one problem */
  int64_t total;         /* n * problems */
  int64_t finite_bounds; /* of 2 total */
  cvtm_lbfgsb_arrays arrays;
  /* Owned, in device memory; `arrays` shows them while they are in use. */
  double *lower, *upper, *scale;
  cvtm_lbfgsb_orders *orders;
  cvtm_lbfgsb_inputs *found;
  cvtm_lbfgsb_mailbox *mailbox; /* the host's side */
  /* On the host: the states, one for each problem, as last read; they survive a run. */
  cvtm_lbfgsb_state *seen;
  run talk; /* the run in reverse communication */
};

static const char *const stop_names[] = {
#define CVTM_STOP_NAME(code, name) name,
    CVTM_STOP_LIST(CVTM_STOP_NAME)
#undef CVTM_STOP_NAME
};

const char *cvtm_stop_name(cvtm_stop stop) {
  const size_t count = sizeof stop_names / sizeof *stop_names;
  return (size_t)stop < count ? stop_names[(size_t)stop] : "unknown";
}

void cvtm_lbfgsb_defaults(cvtm_lbfgsb_options *options) {
  memset(options, 0, sizeof *options);
  options->history = 8;
  options->max_iterations = 1000;
  options->search_evaluations = 20;
  options->search_decrease = 1e-3;
  options->search_curvature = 0.9;
  options->search_width = 0.1;
}

static cvtm_status check_options(cvtm_error *error, const cvtm_lbfgsb_options *options) {
  if (options->history < 1 || options->history > CVTM_LBFGSB_MAX_HISTORY) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "history must be 1 to %d, not %d",
                     CVTM_LBFGSB_MAX_HISTORY, options->history);
  }
  if (options->cauchy != CVTM_LBFGSB_CAUCHY_APPROXIMATE &&
      options->cauchy != CVTM_LBFGSB_CAUCHY_EXACT) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown Cauchy point %d", (int)options->cauchy);
  }
  if (options->max_iterations < 0 || options->max_evaluations < 0 ||
      !(options->max_seconds >= 0.0) || !(options->poll_seconds >= 0.0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a limit is negative");
  }
  if (!(options->gradient_tolerance >= 0.0) || !(options->decrease_tolerance >= 0.0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a tolerance is negative");
  }
  if (options->search_evaluations < 1) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a line search needs at least one evaluation");
  }
  if (!(options->search_decrease > 0.0 && options->search_decrease < options->search_curvature &&
        options->search_curvature < 1.0 && options->search_width >= 0.0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the line search needs 0 < decrease < curvature < 1 and width >= 0");
  }
  return CVTM_OK;
}

/* One block, or nothing more once something failed. */
static void *allocate(cvtm_lbfgsb *solver, int64_t count, size_t size, cvtm_status *status) {
  void *block = NULL;
  if (*status == CVTM_OK) *status = cvtm_device_allocate(solver->device, count, size, &block);
  return block;
}

static size_t w_bytes(const cvtm_lbfgsb *solver) {
  const size_t real = solver->options.single_history ? sizeof(float) : sizeof(double);
  return (size_t)(cvtm_lbfgsb_w_count(solver->n, solver->options.history) * solver->problems) *
         real;
}

/* Zeros for what kernels read before anything is written there. The start kernel loads `dense` and
 * `sums` with the rest of a problem's data, and block 0 combines the blocks' partial figures in
 * pairs, of which the last may lie beyond the figures of a pass. No result depends on these values;
 * compute-sanitizer's initcheck would report the reads. */
static cvtm_status clear_arrays(cvtm_lbfgsb *solver) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const size_t problems = (size_t)solver->problems;
  const size_t figures = problems * (size_t)arrays->entries * sizeof(double);
  cvtm_device *device = solver->device;
  cvtm_status status = cvtm_device_fill(device, arrays->barrier, 0, sizeof *arrays->barrier);
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->dense, 0, problems * sizeof *arrays->dense);
  }
  if (status == CVTM_OK) status = cvtm_device_fill(device, arrays->sums, 0, figures);
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->partial, 0, (size_t)arrays->parts * figures);
  }
  return status;
}

static cvtm_status allocate_arrays(cvtm_lbfgsb *solver) {
  cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const int64_t total = solver->total, problems = solver->problems;
  const int m = solver->options.history;
  cvtm_status status = CVTM_OK;
  void *mapped = NULL, *host = NULL;
  arrays->n = solver->n;
  arrays->problems = problems;
  arrays->entries = (cvtm_lbfgsb_get_layout(m, 1).entries + 1) / 2 * 2;
  arrays->parts = solver->table->parts(solver->device, solver->n, problems);
  const int64_t figures = problems * arrays->entries;
  arrays->x = allocate(solver, total, sizeof(double), &status);
  arrays->g = allocate(solver, total, sizeof(double), &status);
  arrays->trial_x = allocate(solver, total, sizeof(double), &status);
  arrays->trial_g = allocate(solver, total, sizeof(double), &status);
  arrays->d = allocate(solver, total, sizeof(double), &status);
  arrays->w = allocate(solver, (int64_t)w_bytes(solver), 1, &status);
  arrays->values = allocate(solver, 2 * problems, sizeof(double), &status);
  arrays->partial = allocate(solver, arrays->parts * figures, sizeof(double), &status);
  arrays->sums = allocate(solver, figures, sizeof(double), &status);
  arrays->rows = allocate(solver, figures, sizeof(double), &status);
  if (solver->options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT) {
    arrays->breakpoints = allocate(solver, total, sizeof(double), &status);
    arrays->breakpoint_rows = allocate(solver, total, sizeof(int64_t), &status);
    arrays->breakpoint_count = allocate(solver, problems, sizeof(int64_t), &status);
    arrays->walk = allocate(solver, problems, sizeof(cvtm_lbfgsb_walk), &status);
  }
  arrays->state = allocate(solver, problems, sizeof(cvtm_lbfgsb_state), &status);
  arrays->dense = allocate(solver, problems, sizeof(cvtm_lbfgsb_dense), &status);
  if (cvtm_device_get_kind(solver->device) == CVTM_DEVICE_CPU) {
    arrays->work = allocate(solver, problems, sizeof(cvtm_lbfgsb_work), &status);
  }
  solver->orders = allocate(solver, 1, sizeof *solver->orders, &status);
  solver->found = allocate(solver, 1, sizeof *solver->found, &status);
  arrays->orders = solver->orders;
  arrays->flag = allocate(solver, 1, sizeof(int), &status);
  arrays->barrier = allocate(solver, 1, sizeof *arrays->barrier, &status);
  if (status == CVTM_OK) status = clear_arrays(solver);
  if (status == CVTM_OK) {
    status =
        cvtm_device_allocate_mapped(solver->device, sizeof(cvtm_lbfgsb_mailbox), &host, &mapped);
  }
  solver->mailbox = host;
  arrays->mailbox = mapped;
  return status;
}

cvtm_status cvtm_lbfgsb_create_batch(cvtm_device *device, int64_t problems, int64_t n,
                                     const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver) {
  cvtm_error *error = cvtm_device_error(device);
  if (n < 0 || n > INT64_MAX / 4096) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld variables", (long long)n);
  }
  if (problems < 1 || problems > INT32_MAX || n > INT64_MAX / 4096 / problems) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld problems of %lld variables",
                     (long long)problems, (long long)n);
  }
  cvtm_lbfgsb_options defaults;
  cvtm_lbfgsb_defaults(&defaults);
  if (!options) options = &defaults;
  cvtm_status status = check_options(error, options);
  if (status != CVTM_OK) return status;
  cvtm_lbfgsb *result = calloc(1, sizeof *result);
  if (!result) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  result->device = device;
  result->table = CVTM_TABLE(device, cvtm_lbfgsb_table);
  result->inputs = CVTM_TABLE(device, cvtm_lbfgsb_inputs_table);
  result->options = *options;
  result->n = result->most = n;
  result->problems = problems;
  result->total = n * problems;
  result->seen = calloc((size_t)problems, sizeof *result->seen);
  if (result->seen) {
    status = allocate_arrays(result);
  } else {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  if (status != CVTM_OK) {
    cvtm_lbfgsb_destroy(result);
    return status;
  }
  *solver = result;
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_create(cvtm_device *device, int64_t n, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver) {
  return cvtm_lbfgsb_create_batch(device, 1, n, options, solver);
}

void cvtm_lbfgsb_destroy(cvtm_lbfgsb *solver) {
  if (!solver) return;
  const cvtm_lbfgsb_arrays *a = &solver->arrays;
  void *const owned[] = {a->x,          a->g,          a->trial_x,          a->trial_g,
                         a->d,          a->w,          a->values,           a->partial,
                         a->sums,       a->rows,       a->breakpoints,      a->breakpoint_rows,
                         a->walk,       a->state,      a->breakpoint_count, a->dense,
                         a->work,       a->flag,       a->barrier,          solver->orders,
                         solver->lower, solver->upper, solver->scale,       solver->found};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    if (owned[i]) cvtm_device_free(solver->device, owned[i]);
  }
  cvtm_device_free_mapped(solver->device, solver->mailbox);
  free(solver->seen);
  free(solver);
}

/* Element i of an array in device memory. */
static cvtm_status fetch(const cvtm_lbfgsb *solver, const double *array, int64_t i, double *value) {
  return array ? cvtm_device_copy_out(solver->device, value, array + i, sizeof *value) : CVTM_OK;
}

static cvtm_status refuse_bounds(const cvtm_lbfgsb *solver, const double *lower,
                                 const double *upper, int64_t i) {
  double low = -HUGE_VAL, high = HUGE_VAL;
  cvtm_status status = fetch(solver, lower, i, &low);
  if (status == CVTM_OK) status = fetch(solver, upper, i, &high);
  if (status != CVTM_OK) return status;
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "bounds of variable %lld%s: lower %g, upper %g", (long long)i,
                   low <= high ? " leave no finite value" : "", low, high);
}

static cvtm_status refuse_scale(const cvtm_lbfgsb *solver, const double *scale, int64_t i) {
  double value = 1.0;
  const cvtm_status status = fetch(solver, scale, i, &value);
  if (status != CVTM_OK) return status;
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "scale of variable %lld is %g", (long long)i, value);
}

static cvtm_status check_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper,
                                int64_t *finite) {
  cvtm_device *device = solver->device;
  cvtm_lbfgsb_inputs found = {0, 0};
  cvtm_status status = cvtm_device_fill(device, solver->found, 0, sizeof found);
  if (status == CVTM_OK)
    status = solver->inputs->check_bounds(device, lower, upper, solver->total, solver->found);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, &found, solver->found, sizeof found);
  if (status != CVTM_OK) return status;
  *finite = found.finite;
  return found.bad ? refuse_bounds(solver, lower, upper, solver->total - found.bad) : CVTM_OK;
}

static cvtm_status check_scale(cvtm_lbfgsb *solver, const double *scale) {
  cvtm_device *device = solver->device;
  cvtm_lbfgsb_inputs found = {0, 0};
  cvtm_status status = cvtm_device_fill(device, solver->found, 0, sizeof found);
  if (status == CVTM_OK)
    status = solver->inputs->check_scale(device, scale, solver->total, solver->found);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, &found, solver->found, sizeof found);
  if (status != CVTM_OK) return status;
  return found.bad ? refuse_scale(solver, scale, solver->total - found.bad) : CVTM_OK;
}

/* What a run has learnt holds no longer. */
static void forget(cvtm_lbfgsb *solver) {
  memset(solver->seen, 0, (size_t)solver->problems * sizeof *solver->seen);
}

/* *own = a copy of `array`, allocated at the first use; NULL stays NULL in *shown. */
static cvtm_status keep(cvtm_lbfgsb *solver, const double *array, double **own,
                        const double **shown) {
  *shown = NULL;
  if (!array) return CVTM_OK;
  cvtm_status status = CVTM_OK;
  if (!*own) *own = allocate(solver, solver->most * solver->problems, sizeof(double), &status);
  if (status == CVTM_OK) {
    status = cvtm_device_copy(solver->device, *own, array, (size_t)solver->total * sizeof **own);
  }
  if (status == CVTM_OK) *shown = *own;
  return status;
}

cvtm_status cvtm_lbfgsb_set_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper) {
  int64_t finite = 0;
  cvtm_status status = lower || upper ? check_bounds(solver, lower, upper, &finite) : CVTM_OK;
  if (status != CVTM_OK) return status;
  if (finite == 0) lower = upper = NULL;
  forget(solver);
  solver->finite_bounds = 0;
  solver->arrays.upper = NULL;
  status = keep(solver, lower, &solver->lower, &solver->arrays.lower);
  if (status == CVTM_OK) status = keep(solver, upper, &solver->upper, &solver->arrays.upper);
  if (status != CVTM_OK) {
    solver->arrays.lower = solver->arrays.upper = NULL;
    return status;
  }
  solver->finite_bounds = finite;
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_set_size(cvtm_lbfgsb *solver, int64_t n) {
  if (n < 0 || n > solver->most || solver->problems > 1) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "%lld variables for a solver of %lld problems that was made for %lld",
                     (long long)n, (long long)solver->problems, (long long)solver->most);
  }
  forget(solver);
  solver->n = solver->total = solver->arrays.n = n;
  solver->arrays.parts = solver->table->parts(solver->device, n, 1);
  solver->arrays.lower = solver->arrays.upper = solver->arrays.scale = NULL;
  solver->finite_bounds = 0;
  /* The blocks that share the rows are not as many as before. */
  return cvtm_device_fill(solver->device, solver->arrays.barrier, 0,
                          sizeof *solver->arrays.barrier);
}

cvtm_status cvtm_lbfgsb_set_scaling(cvtm_lbfgsb *solver, const double *scale) {
  const cvtm_status status = scale ? check_scale(solver, scale) : CVTM_OK;
  if (status != CVTM_OK) return status;
  forget(solver);
  return keep(solver, scale, &solver->scale, &solver->arrays.scale);
}

cvtm_status cvtm_lbfgsb_set_options(cvtm_lbfgsb *solver, const cvtm_lbfgsb_options *options) {
  cvtm_error *error = cvtm_device_error(solver->device);
  const cvtm_status status = check_options(error, options);
  if (status != CVTM_OK) return status;
  if (options->history != solver->options.history) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "history is %d and cannot become %d",
                     solver->options.history, options->history);
  }
  if (options->cauchy != solver->options.cauchy ||
      !options->single_history != !solver->options.single_history) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the kinds of Cauchy point and history cannot change");
  }
  solver->options = *options;
  return CVTM_OK;
}

static int on_cpu(const cvtm_lbfgsb *solver) {
  return cvtm_device_get_kind(solver->device) == CVTM_DEVICE_CPU;
}

/* --- the states, between host and device ------------------------------------------------- */

static void apply_options(const cvtm_lbfgsb *solver, cvtm_lbfgsb_state *state) {
  const cvtm_lbfgsb_options *options = &solver->options;
  state->max_iterations = options->max_iterations;
  state->max_evaluations = options->max_evaluations;
  state->gradient_tolerance = options->gradient_tolerance;
  state->decrease_tolerance = options->decrease_tolerance;
  state->search_options.decrease = options->search_decrease;
  state->search_options.curvature = options->search_curvature;
  state->search_options.width = options->search_width;
  state->search_options.evaluations = options->search_evaluations;
  state->history = options->history;
  state->bounded = solver->finite_bounds > 0;
  state->boxed = state->bounded && solver->finite_bounds == 2 * solver->total;
  state->exact = options->cauchy == CVTM_LBFGSB_CAUCHY_EXACT;
  state->single = options->single_history != 0;
  state->monitored = options->monitor != NULL && solver->problems == 1;
  state->recorded = 0;
}

static cvtm_status write_states(cvtm_lbfgsb *solver) {
  return cvtm_device_copy_in(solver->device, solver->arrays.state, solver->seen,
                             (size_t)solver->problems * sizeof *solver->seen);
}

static cvtm_status read_states(cvtm_lbfgsb *solver) {
  return cvtm_device_copy_out(solver->device, solver->seen, solver->arrays.state,
                              (size_t)solver->problems * sizeof *solver->seen);
}

static int count_running(const cvtm_lbfgsb *solver) {
  int count = 0;
  for (int64_t p = 0; p < solver->problems; ++p) count += solver->seen[p].running != 0;
  return count;
}

/* No orders, an empty mailbox, a flag that lets the loop begin. */
static cvtm_status clear_signals(cvtm_lbfgsb *solver) {
  const cvtm_lbfgsb_orders orders = {0, (int)CVTM_STOP_NONE};
  const int flag = count_running(solver);
  solver->mailbox->recorded = 0;
  const cvtm_status status =
      cvtm_device_copy_in(solver->device, solver->orders, &orders, sizeof orders);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(solver->device, solver->arrays.flag, &flag, sizeof flag);
}

/* --- starting, going on, ending ----------------------------------------------------------- */

static cvtm_status begin(cvtm_lbfgsb *solver, const double *x) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  cvtm_device *device = solver->device;
  forget(solver);
  for (int64_t p = 0; p < solver->problems; ++p) {
    apply_options(solver, solver->seen + p);
    solver->seen[p].running = 1;
  }
  cvtm_status status = cvtm_device_activate(device);
  if (status == CVTM_OK) status = write_states(solver);
  if (status == CVTM_OK) status = clear_signals(solver);
  if (status == CVTM_OK) status = cvtm_device_fill(device, arrays->w, 0, w_bytes(solver));
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->dense, 0,
                              (size_t)solver->problems * sizeof *arrays->dense);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->values, 0,
                              2 * (size_t)solver->problems * sizeof *arrays->values);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy(device, arrays->x, x, (size_t)solver->total * sizeof *x);
  }
  if (status == CVTM_OK)
    status = solver->table->start(device, arrays, solver->options.history,
                                  solver->options.single_history != 0);
  if (status == CVTM_OK) status = read_states(solver);
  return status;
}

static cvtm_status enqueue_evaluation(run *current) {
  const cvtm_lbfgsb_arrays *arrays = &current->solver->arrays;
  const int timed = on_cpu(current->solver);
  const double before = timed ? cvtm_clock() : 0.0;
  const cvtm_status status =
      current->objective(current->context, arrays->trial_x, arrays->values, arrays->trial_g,
                         cvtm_device_stream(current->solver->device));
  if (timed) current->evaluation_seconds += cvtm_clock() - before;
  return status;
}

/* Everything that follows from an evaluation; what is not due does nothing. */
static cvtm_status enqueue_decisions(const cvtm_lbfgsb *solver) {
  return solver->table->round(solver->device, &solver->arrays, solver->options.history,
                              solver->options.single_history != 0);
}

static cvtm_status enqueue_round(void *context) {
  run *current = context;
  const cvtm_status status = enqueue_evaluation(current);
  return status == CVTM_OK ? enqueue_decisions(current->solver) : status;
}

/* Ready to go on from where the states stopped: those that have a point get a direction. */
static cvtm_status go_on(cvtm_lbfgsb *solver) {
  int stopped = 0;
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->seen + p;
    apply_options(solver, state);
    if (state->running) continue;
    ++stopped;
    state->running = 1;
    state->stop = (int)CVTM_STOP_NONE;
    if (state->phase != (int)CVTM_PHASE_START) state->phase = (int)CVTM_PHASE_RESUME;
  }
  cvtm_status status = write_states(solver);
  if (status == CVTM_OK) status = clear_signals(solver);
  if (status == CVTM_OK && stopped > 0) status = enqueue_decisions(solver);
  if (status == CVTM_OK) status = read_states(solver);
  return status;
}

static cvtm_status request_stop(run *current, cvtm_stop stop) {
  const int code = (int)stop;
  if (current->requested) return CVTM_OK;
  current->requested = 1;
  return cvtm_device_post(current->solver->device, &current->solver->orders->stop, &code,
                          sizeof code);
}

/* Gives the monitor the records that are new and passes wishes to stop on. */
static cvtm_status deliver(run *current) {
  cvtm_lbfgsb *solver = current->solver;
  const cvtm_lbfgsb_options *options = &solver->options;
  const int64_t recorded = __atomic_load_n(&solver->mailbox->recorded, __ATOMIC_ACQUIRE);
  cvtm_status status = CVTM_OK;
  for (; status == CVTM_OK && current->reported < recorded; ++current->reported) {
    const cvtm_lbfgsb_progress record = solver->mailbox->ring[current->reported % CVTM_LBFGSB_RING];
    if (options->monitor(options->monitor_context, &record)) {
      status = request_stop(current, CVTM_STOP_REQUEST);
    }
  }
  if (status == CVTM_OK && current->reported - current->taken >= CVTM_LBFGSB_RING / 4) {
    current->taken = current->reported;
    status = cvtm_device_post(solver->device, &solver->orders->taken, &current->taken,
                              sizeof current->taken);
  }
  if (status == CVTM_OK && options->max_seconds > 0.0 &&
      cvtm_clock() - current->start_time >= options->max_seconds) {
    status = request_stop(current, CVTM_STOP_TIME);
  }
  return status;
}

/* Rounds between two looks: as many as take some 20 ms, so that slow evaluations are not
 * repeated in vain after the end. */
static int next_rounds(const cvtm_lbfgsb_options *options, int rounds, double seconds) {
  const int wish = options->host_rounds;
  const int most = wish > 0 && wish < MOST_ROUNDS ? wish : MOST_ROUNDS;
  const double each = seconds / rounds;
  int next = 2 * rounds;
  while (next > 1 && next * each > 0.02) next /= 2;
  return next < most ? next : most;
}

/* The host enqueues every round. */
static cvtm_status iterate_by_host(run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_status status = CVTM_OK;
  int rounds = 1;
  while (status == CVTM_OK && count_running(solver) > 0) {
    const double before = cvtm_clock();
    for (int round = 0; status == CVTM_OK && round < rounds; ++round) {
      status = enqueue_round(current);
    }
    if (status == CVTM_OK) status = read_states(solver);
    if (status == CVTM_OK) status = deliver(current);
    if (!on_cpu(solver)) rounds = next_rounds(&solver->options, rounds, cvtm_clock() - before);
  }
  return status;
}

static void wait_a_little(const cvtm_lbfgsb_options *options) {
  const double seconds = options->poll_seconds > 0.0 ? options->poll_seconds : 50e-6;
  struct timespec pause;
  pause.tv_sec = (time_t)seconds;
  pause.tv_nsec = (long)((seconds - (double)pause.tv_sec) * 1e9);
  (void)nanosleep(&pause, NULL);
}

/* The device runs the loop alone; it comes back at the end, or with a full mailbox. */
static cvtm_status iterate_by_graph(run *current, cvtm_loop *loop) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_status status = CVTM_OK;
  for (;;) {
    int idle = 0;
    status = cvtm_loop_run(loop);
    while (status == CVTM_OK && !idle) {
      status = cvtm_device_query(solver->device, &idle);
      if (status == CVTM_OK) status = deliver(current);
      if (status == CVTM_OK && !idle) wait_a_little(&solver->options);
    }
    if (status != CVTM_OK) break;
    status = read_states(solver);
    const int running = count_running(solver);
    if (status != CVTM_OK || running == 0) break;
    current->taken = current->reported;
    status = cvtm_device_copy_in(solver->device, &solver->orders->taken, &current->taken,
                                 sizeof current->taken);
    if (status != CVTM_OK) break;
    status = cvtm_device_copy_in(solver->device, solver->arrays.flag, &running, sizeof running);
    if (status != CVTM_OK) break;
  }
  if (status != CVTM_OK) (void)cvtm_device_synchronize(solver->device);
  return status;
}

static cvtm_status iterate(run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_loop *loop = NULL;
  if (count_running(solver) == 0) return CVTM_OK;
  if (on_cpu(solver) || solver->options.host_rounds) return iterate_by_host(current);
  cvtm_status status = cvtm_loop_try(solver->device, enqueue_round, current);
  if (status == CVTM_ERROR_UNSUPPORTED) return iterate_by_host(current);
  if (status == CVTM_OK)
    status = cvtm_loop_create(solver->device, enqueue_round, current, solver->arrays.flag, &loop);
  if (status != CVTM_OK) return status;
  current->captured = 1;
  status = iterate_by_graph(current, loop);
  cvtm_loop_destroy(loop);
  return status;
}

static void fill_results(const run *current, cvtm_lbfgsb_result *results) {
  const cvtm_lbfgsb *solver = current->solver;
  for (int64_t p = 0; p < solver->problems; ++p) {
    const cvtm_lbfgsb_state *seen = solver->seen + p;
    cvtm_lbfgsb_result *result = results + p;
    memset(result, 0, sizeof *result);
    result->stop = (cvtm_stop)seen->stop;
    result->iterations = seen->iteration;
    result->evaluations = seen->evaluations;
    result->f = seen->f;
    result->projected_gradient = seen->projected_gradient;
    result->active = seen->active;
    result->start_projected = seen->start_projected;
    result->restarts = seen->restarts;
    result->seconds = cvtm_clock() - current->start_time;
    result->evaluation_seconds = current->evaluation_seconds;
    result->captured = current->captured;
  }
}

static int64_t most_evaluations(const cvtm_lbfgsb *solver) {
  int64_t most = 0;
  for (int64_t p = 0; p < solver->problems; ++p) {
    if (solver->seen[p].evaluations > most) most = solver->seen[p].evaluations;
  }
  return most;
}

/* What the evaluations of the run took: those repeated here at its last point stand for all. */
static cvtm_status time_evaluations(run *current) {
  const cvtm_lbfgsb *solver = current->solver;
  const int64_t evaluations = most_evaluations(solver);
  const int64_t repeated = evaluations < TIMED_EVALUATIONS ? evaluations : TIMED_EVALUATIONS;
  if (repeated == 0) return CVTM_OK;
  const double before = cvtm_clock();
  cvtm_status status = CVTM_OK;
  for (int64_t i = 0; status == CVTM_OK && i < repeated; ++i) status = enqueue_evaluation(current);
  if (status == CVTM_OK) status = cvtm_device_synchronize(solver->device);
  current->evaluation_seconds = (cvtm_clock() - before) / (double)repeated * (double)evaluations;
  return status;
}

/* x = the best point; the status that the caller gets. */
static cvtm_status end(run *current, cvtm_status status, double *x, cvtm_lbfgsb_result *results) {
  cvtm_lbfgsb *solver = current->solver;
  /* x is the best point so far even where an evaluation failed. */
  const cvtm_status copied =
      cvtm_device_copy(solver->device, x, solver->arrays.x, (size_t)solver->total * sizeof *x);
  if (status == CVTM_OK) status = copied;
  if (status == CVTM_OK) status = cvtm_device_synchronize(solver->device);
  if (status != CVTM_OK) return status;
  if (results) fill_results(current, results);
  if (current->objective && solver->options.time_evaluations && !on_cpu(solver)) {
    status = time_evaluations(current);
    if (status != CVTM_OK) return status;
    for (int64_t p = 0; results && p < solver->problems; ++p) {
      results[p].evaluation_seconds = current->evaluation_seconds;
    }
  }
  for (int64_t p = 0; p < solver->problems; ++p) {
    const cvtm_lbfgsb_state *seen = solver->seen + p;
    if (seen->stop != (int)CVTM_STOP_NOT_FINITE || seen->phase != (int)CVTM_PHASE_START) continue;
    if (solver->problems > 1) {
      return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_EVALUATION,
                       "problem %lld: the objective or its gradient is not finite at the start",
                       (long long)p);
    }
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_EVALUATION,
                     "the objective or its gradient is not finite at the start");
  }
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_minimize(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = cvtm_clock();
  const cvtm_status status = begin(solver, x);
  if (status != CVTM_OK) return status;
  return end(&current, iterate(&current), x, result);
}

cvtm_status cvtm_lbfgsb_resume(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                               void *context, cvtm_lbfgsb_result *result) {
  run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = cvtm_clock();
  if (solver->seen->history == 0) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "there is no run to resume");
  }
  const cvtm_status status = go_on(solver);
  if (status != CVTM_OK) return status;
  return end(&current, iterate(&current), x, result);
}

/* --- reverse communication ------------------------------------------------------------------ */

static void show_evaluation(const cvtm_lbfgsb *solver, cvtm_lbfgsb_evaluation *at) {
  at->x = solver->arrays.trial_x;
  at->f = solver->arrays.values;
  at->g = solver->arrays.trial_g;
}

static void start_talk(cvtm_lbfgsb *solver) {
  const run fresh = {.solver = solver};
  solver->talk = fresh;
  solver->talk.start_time = cvtm_clock();
}

cvtm_status cvtm_lbfgsb_start(cvtm_lbfgsb *solver, const double *x, cvtm_lbfgsb_evaluation *at) {
  start_talk(solver);
  show_evaluation(solver, at);
  return begin(solver, x);
}

static cvtm_status check_talk(const cvtm_lbfgsb *solver) {
  if (solver->talk.solver && solver->seen->history > 0) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "there is no run: start or restore one first");
}

cvtm_status cvtm_lbfgsb_advance(cvtm_lbfgsb *solver, int *running) {
  cvtm_status status = check_talk(solver);
  if (status == CVTM_OK) status = cvtm_device_activate(solver->device);
  if (status == CVTM_OK) status = enqueue_decisions(solver);
  if (status == CVTM_OK) status = read_states(solver);
  if (status == CVTM_OK) status = deliver(&solver->talk);
  if (status == CVTM_OK) *running = count_running(solver) > 0;
  return status;
}

cvtm_status cvtm_lbfgsb_finish(cvtm_lbfgsb *solver, double *x, cvtm_lbfgsb_result *result) {
  cvtm_status status = check_talk(solver);
  if (status != CVTM_OK) return status;
  for (int64_t p = 0; p < solver->problems; ++p) {
    cvtm_lbfgsb_state *state = solver->seen + p;
    if (!state->running) continue;
    state->running = 0;
    state->stop = (int)CVTM_STOP_REQUEST;
  }
  status = write_states(solver);
  return end(&solver->talk, status, x, result);
}

/* --- saving ----------------------------------------------------------------------------------- */

/* What stands before the saved arrays. */
typedef struct saved_header {
  char magic[8];
  int32_t version, byte_order;
  int32_t device_kind, history, single, bounded, exact, unused;
  int64_t problems, n;
  uint64_t state_bytes;
} saved_header;

enum { SAVED_VERSION = 2, SAVED_ARRAYS = 11 };

static saved_header make_header(const cvtm_lbfgsb *solver) {
  saved_header header = {.magic = "cvtmlbb",
                         .version = SAVED_VERSION,
                         .byte_order = 0x01020304,
                         .device_kind = (int32_t)cvtm_device_get_kind(solver->device),
                         .history = solver->options.history,
                         .single = solver->options.single_history != 0,
                         .bounded = solver->finite_bounds > 0,
                         .exact = solver->options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT,
                         .problems = solver->problems,
                         .n = solver->n,
                         .state_bytes = sizeof(cvtm_lbfgsb_state)};
  return header;
}

typedef struct saved_array {
  void *memory;
  size_t bytes;
} saved_array;

static void list_saved(const cvtm_lbfgsb *solver, saved_array *list) {
  const cvtm_lbfgsb_arrays *a = &solver->arrays;
  const size_t vector = (size_t)solver->total * sizeof(double), problems = (size_t)solver->problems;
  const size_t figures = problems * (size_t)a->entries * sizeof(double);
  const saved_array all[SAVED_ARRAYS] = {{a->state, problems * sizeof *a->state},
                                         {a->dense, problems * sizeof *a->dense},
                                         {a->sums, figures},
                                         {a->rows, figures},
                                         {a->values, 2 * problems * sizeof(double)},
                                         {a->x, vector},
                                         {a->g, vector},
                                         {a->trial_x, vector},
                                         {a->trial_g, vector},
                                         {a->d, vector},
                                         {a->w, w_bytes(solver)}};
  memcpy(list, all, sizeof all);
}

size_t cvtm_lbfgsb_save_bytes(const cvtm_lbfgsb *solver) {
  saved_array list[SAVED_ARRAYS];
  size_t bytes = sizeof(saved_header);
  list_saved(solver, list);
  for (int i = 0; i < SAVED_ARRAYS; ++i) bytes += list[i].bytes;
  return bytes;
}

cvtm_status cvtm_lbfgsb_save(cvtm_lbfgsb *solver, void *bytes) {
  const saved_header header = make_header(solver);
  saved_array list[SAVED_ARRAYS];
  char *to = (char *)bytes + sizeof header;
  cvtm_status status = CVTM_OK;
  if (solver->seen->history == 0) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "there is no run to save");
  }
  memcpy(bytes, &header, sizeof header);
  list_saved(solver, list);
  for (int i = 0; status == CVTM_OK && i < SAVED_ARRAYS; ++i) {
    status = cvtm_device_copy_out(solver->device, to, list[i].memory, list[i].bytes);
    to += list[i].bytes;
  }
  return status;
}

static cvtm_status check_header(const cvtm_lbfgsb *solver, const void *bytes, size_t count) {
  cvtm_error *error = cvtm_device_error(solver->device);
  const saved_header wanted = make_header(solver);
  saved_header found;
  if (count < sizeof found) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a saved run of %zu bytes is too short", count);
  }
  memcpy(&found, bytes, sizeof found);
  if (memcmp(found.magic, wanted.magic, sizeof found.magic) != 0 ||
      found.byte_order != wanted.byte_order || found.state_bytes != wanted.state_bytes ||
      found.version != wanted.version) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "not a run saved by this version");
  }
  if (found.n != wanted.n || found.problems != wanted.problems || found.history != wanted.history) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "saved: %lld problems of %lld variables, history %d; "
                     "this solver: %lld of %lld, history %d",
                     (long long)found.problems, (long long)found.n, found.history,
                     (long long)wanted.problems, (long long)wanted.n, wanted.history);
  }
  if (found.device_kind != wanted.device_kind || found.single != wanted.single ||
      found.bounded != wanted.bounded || found.exact != wanted.exact) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the saved run had another kind of device, history, bounds or Cauchy point");
  }
  if (count != cvtm_lbfgsb_save_bytes(solver)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a saved run of %zu bytes, not %zu", count,
                     cvtm_lbfgsb_save_bytes(solver));
  }
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_restore(cvtm_lbfgsb *solver, const void *bytes, size_t count,
                                cvtm_lbfgsb_evaluation *at) {
  cvtm_status status = check_header(solver, bytes, count);
  if (status != CVTM_OK) return status;
  saved_array list[SAVED_ARRAYS];
  const char *from = (const char *)bytes + sizeof(saved_header);
  list_saved(solver, list);
  for (int i = 0; status == CVTM_OK && i < SAVED_ARRAYS; ++i) {
    status = cvtm_device_copy_in(solver->device, list[i].memory, from, list[i].bytes);
    from += list[i].bytes;
  }
  if (status == CVTM_OK) status = read_states(solver);
  for (int64_t p = 0; status == CVTM_OK && p < solver->problems; ++p) {
    if (!cvtm_lbfgsb_state_is_sound(solver->seen + p, solver->options.history, solver->n)) {
      status = cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_INPUT,
                         "the saved run is damaged");
    } else {
      apply_options(solver, solver->seen + p);
    }
  }
  if (status == CVTM_OK) status = write_states(solver);
  if (status == CVTM_OK) status = clear_signals(solver);
  if (status != CVTM_OK) {
    forget(solver);
    return status;
  }
  start_talk(solver);
  if (at) show_evaluation(solver, at);
  return CVTM_OK;
}

/* --- everything on the host ----------------------------------------------------------------- */

typedef struct host_run {
  cvtm_device *device;
  cvtm_lbfgsb *solver;
  double *on_device, *at_x, *at_g;
} host_run;

static cvtm_status evaluate_on_host(const host_run *host, const cvtm_lbfgsb_evaluation *at,
                                    cvtm_host_objective objective, void *context) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  double *x = host->at_x, *g = host->at_g;
  cvtm_status status = cvtm_device_copy_out(host->device, x, at->x, bytes);
  if (status != CVTM_OK) return status;
  const double before = cvtm_clock();
  const double f = objective(context, x, g);
  host->solver->talk.evaluation_seconds += cvtm_clock() - before;
  status = cvtm_device_copy_in(host->device, at->f, &f, sizeof f);
  return status == CVTM_OK ? cvtm_device_copy_in(host->device, at->g, g, bytes) : status;
}

static cvtm_status set_host_bounds(const host_run *host, const double *lower, const double *upper) {
  const int64_t n = host->solver->n;
  const size_t bytes = (size_t)n * sizeof(double);
  cvtm_status status = CVTM_OK;
  if (lower) status = cvtm_device_copy_in(host->device, host->on_device, lower, bytes);
  if (status == CVTM_OK && upper) {
    status = cvtm_device_copy_in(host->device, host->on_device + n, upper, bytes);
  }
  if (status != CVTM_OK) return status;
  return cvtm_lbfgsb_set_bounds(host->solver, lower ? host->on_device : NULL,
                                upper ? host->on_device + n : NULL);
}

static cvtm_status solve_on_host(const host_run *host, double *x, cvtm_host_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  const size_t bytes = (size_t)host->solver->n * sizeof(double);
  cvtm_lbfgsb_evaluation at = {NULL, NULL, NULL};
  int running = 1;
  cvtm_status status = cvtm_device_copy_in(host->device, host->on_device, x, bytes);
  if (status == CVTM_OK) status = cvtm_lbfgsb_start(host->solver, host->on_device, &at);
  while (status == CVTM_OK && running) {
    status = evaluate_on_host(host, &at, objective, context);
    if (status == CVTM_OK) status = cvtm_lbfgsb_advance(host->solver, &running);
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_finish(host->solver, host->on_device, result);
  const cvtm_status copied = cvtm_device_copy_out(host->device, x, host->on_device, bytes);
  return status == CVTM_OK ? copied : status;
}

cvtm_status cvtm_lbfgsb_minimize_host(cvtm_device *device, int64_t n, const double *lower,
                                      const double *upper, double *x, cvtm_host_objective objective,
                                      void *context, const cvtm_lbfgsb_options *options,
                                      cvtm_lbfgsb_result *result) {
  host_run host = {.device = device};
  cvtm_status status = cvtm_lbfgsb_create(device, n, options, &host.solver);
  if (status != CVTM_OK) return status;
  void *memory = NULL;
  host.at_x = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_x);
  host.at_g = malloc((size_t)(n > 0 ? n : 1) * sizeof *host.at_g);
  if (host.at_x && host.at_g) {
    status = cvtm_device_allocate(device, 2 * n, sizeof(double), &memory);
  } else {
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  }
  host.on_device = memory;
  if (status == CVTM_OK) status = set_host_bounds(&host, lower, upper);
  if (status == CVTM_OK) status = solve_on_host(&host, x, objective, context, result);
  cvtm_device_free(device, memory);
  free(host.at_x);
  free(host.at_g);
  cvtm_lbfgsb_destroy(host.solver);
  return status;
}

const double *cvtm_lbfgsb_point(const cvtm_lbfgsb *solver) { return solver->arrays.x; }
