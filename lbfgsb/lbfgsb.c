#include "lbfgsb/lbfgsb.h"

#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  MOST_ROUNDS = 16,     /* between two polls of a CUDA device; well below the ring */
  CHECK_CHUNK = 1 << 16 /* bounds looked at in one copy */
};

struct cvtm_lbfgsb {
  cvtm_device *device;
  const cvtm_lbfgsb_table *table;
  cvtm_lbfgsb_options options;
  int64_t n;
  int64_t finite_bounds; /* of 2 n */
  cvtm_lbfgsb_arrays arrays;
  /* Owned, in device memory; `arrays` shows them while they are in use. */
  double *lower, *upper, *scale;
  int *request;
  /* On the host: what the last poll read. */
  cvtm_lbfgsb_state *seen;
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
  if (options->max_iterations < 0 || options->max_evaluations < 0 ||
      !(options->max_seconds >= 0.0)) {
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

static const cvtm_lbfgsb_table *find_table(const cvtm_device *device) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) return &cvtm_lbfgsb_table_cuda;
#endif
  (void)device;
  return &cvtm_lbfgsb_table_cpu;
}

/* One block of doubles, or nothing more once something failed. */
static void allocate(cvtm_lbfgsb *solver, int64_t count, size_t size, void **memory,
                     cvtm_status *status) {
  if (*status == CVTM_OK) *status = cvtm_device_allocate(solver->device, count, size, memory);
}

static void allocate_doubles(cvtm_lbfgsb *solver, int64_t count, double **memory,
                             cvtm_status *status) {
  void *block = NULL;
  allocate(solver, count, sizeof(double), &block, status);
  *memory = block;
}

static cvtm_status allocate_arrays(cvtm_lbfgsb *solver) {
  cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const int64_t n = solver->n;
  const int m = solver->options.history;
  const int64_t tiles = n / CVTM_LBFGSB_TILE + 1;
  const int64_t entries = cvtm_lbfgsb_get_layout(m, 1).entries;
  cvtm_status status = CVTM_OK;
  void *state = NULL, *dense = NULL, *request = NULL;
  arrays->n = n;
  allocate_doubles(solver, n, &arrays->x, &status);
  allocate_doubles(solver, n, &arrays->g, &status);
  allocate_doubles(solver, n, &arrays->trial_x, &status);
  allocate_doubles(solver, n, &arrays->trial_g, &status);
  allocate_doubles(solver, n, &arrays->d, &status);
  allocate_doubles(solver, tiles * CVTM_LBFGSB_TILE * 2 * m, &arrays->w, &status);
  allocate_doubles(solver, 2, &arrays->values, &status);
  allocate_doubles(solver, solver->table->parts(n) * entries, &arrays->partial, &status);
  allocate_doubles(solver, entries, &arrays->sums, &status);
  allocate_doubles(solver, entries, &arrays->rows, &status);
  allocate(solver, 1, sizeof(cvtm_lbfgsb_state), &state, &status);
  allocate(solver, 1, sizeof(cvtm_lbfgsb_dense), &dense, &status);
  allocate(solver, 1, sizeof(int), &request, &status);
  arrays->state = state;
  arrays->dense = dense;
  arrays->request = solver->request = request;
  return status;
}

cvtm_status cvtm_lbfgsb_create(cvtm_device *device, int64_t n, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver) {
  cvtm_error *error = cvtm_device_error(device);
  if (n < 0 || n > INT64_MAX / 1024) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld variables", (long long)n);
  }
  cvtm_lbfgsb_options defaults;
  cvtm_lbfgsb_defaults(&defaults);
  if (!options) options = &defaults;
  cvtm_status status = check_options(error, options);
  if (status != CVTM_OK) return status;
  cvtm_lbfgsb *result = calloc(1, sizeof *result);
  cvtm_lbfgsb_state *seen = malloc(sizeof *seen);
  if (!result || !seen) {
    free(result);
    free(seen);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  result->device = device;
  result->table = find_table(device);
  result->options = *options;
  result->n = n;
  result->seen = seen;
  status = allocate_arrays(result);
  if (status != CVTM_OK) {
    cvtm_lbfgsb_destroy(result);
    return status;
  }
  *solver = result;
  return CVTM_OK;
}

void cvtm_lbfgsb_destroy(cvtm_lbfgsb *solver) {
  if (!solver) return;
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  void *const owned[] = {arrays->x,     arrays->g,     arrays->trial_x, arrays->trial_g,
                         arrays->d,     arrays->w,     arrays->values,  arrays->partial,
                         arrays->sums,  arrays->rows,  arrays->state,   arrays->dense,
                         solver->lower, solver->upper, solver->scale,   solver->request};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    if (owned[i]) cvtm_device_free(solver->device, owned[i]);
  }
  free(solver->seen);
  free(solver);
}

/* Host copies of a part of the two bounds (or of the scale in `low`). */
typedef struct chunk {
  double low[CHECK_CHUNK], high[CHECK_CHUNK];
} chunk;

static cvtm_status fetch(cvtm_lbfgsb *solver, const double *array, double absent, int64_t first,
                         int64_t count, double *to) {
  if (array) {
    return cvtm_device_copy_out(solver->device, to, array + first, (size_t)count * sizeof *to);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = absent;
  return CVTM_OK;
}

static cvtm_status check_bounds_chunk(cvtm_error *error, const chunk *values, int64_t first,
                                      int64_t count, int64_t *finite) {
  for (int64_t i = 0; i < count; ++i) {
    const double low = values->low[i], high = values->high[i];
    if (!(low <= high)) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "bounds of variable %lld: lower %g, upper %g",
                       (long long)(first + i), low, high);
    }
    if (low == HUGE_VAL || high == -HUGE_VAL) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                       "bounds of variable %lld leave no finite value: lower %g, upper %g",
                       (long long)(first + i), low, high);
    }
    *finite += cvtm_is_finite(low) + cvtm_is_finite(high);
  }
  return CVTM_OK;
}

static cvtm_status check_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper,
                                int64_t *finite) {
  cvtm_error *error = cvtm_device_error(solver->device);
  chunk *values = malloc(sizeof *values);
  if (!values) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = CVTM_OK;
  *finite = 0;
  for (int64_t first = 0; status == CVTM_OK && first < solver->n; first += CHECK_CHUNK) {
    const int64_t count = solver->n - first < CHECK_CHUNK ? solver->n - first : CHECK_CHUNK;
    status = fetch(solver, lower, -HUGE_VAL, first, count, values->low);
    if (status == CVTM_OK) status = fetch(solver, upper, HUGE_VAL, first, count, values->high);
    if (status == CVTM_OK) status = check_bounds_chunk(error, values, first, count, finite);
  }
  free(values);
  return status;
}

/* *own = a copy of `array`, allocated at the first use; NULL stays NULL in *shown. */
static cvtm_status keep(cvtm_lbfgsb *solver, const double *array, double **own,
                        const double **shown) {
  *shown = NULL;
  if (!array) return CVTM_OK;
  cvtm_status status = CVTM_OK;
  if (!*own) allocate_doubles(solver, solver->n, own, &status);
  if (status == CVTM_OK) {
    status = cvtm_device_copy(solver->device, *own, array, (size_t)solver->n * sizeof **own);
  }
  if (status == CVTM_OK) *shown = *own;
  return status;
}

cvtm_status cvtm_lbfgsb_set_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper) {
  int64_t finite = 0;
  cvtm_status status = check_bounds(solver, lower, upper, &finite);
  if (status != CVTM_OK) return status;
  if (finite == 0) lower = upper = NULL;
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

static cvtm_status check_scale(cvtm_lbfgsb *solver, const double *scale) {
  cvtm_error *error = cvtm_device_error(solver->device);
  chunk *values = malloc(sizeof *values);
  if (!values) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = CVTM_OK;
  for (int64_t first = 0; status == CVTM_OK && first < solver->n; first += CHECK_CHUNK) {
    const int64_t count = solver->n - first < CHECK_CHUNK ? solver->n - first : CHECK_CHUNK;
    status = fetch(solver, scale, 1.0, first, count, values->low);
    for (int64_t i = 0; status == CVTM_OK && i < count; ++i) {
      if (values->low[i] > 0.0 && cvtm_is_finite(values->low[i])) continue;
      status = cvtm_fail(error, CVTM_ERROR_ARGUMENT, "scale of variable %lld is %g",
                         (long long)(first + i), values->low[i]);
    }
  }
  free(values);
  return status;
}

cvtm_status cvtm_lbfgsb_set_scaling(cvtm_lbfgsb *solver, const double *scale) {
  const cvtm_status status = scale ? check_scale(solver, scale) : CVTM_OK;
  if (status != CVTM_OK) return status;
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
  solver->options = *options;
  return CVTM_OK;
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A run: the caller's objective, and what the host knows between two polls. */
typedef struct run {
  cvtm_lbfgsb *solver;
  cvtm_objective objective;
  void *context;
  double start_time;
  int64_t start_projected;
  int64_t reported; /* records that the monitor has seen */
  int requested;
} run;

static cvtm_status begin(run *current, const double *x) {
  cvtm_lbfgsb *solver = current->solver;
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const cvtm_lbfgsb_options *options = &solver->options;
  cvtm_device *device = solver->device;
  cvtm_lbfgsb_state *state = solver->seen;
  const int m = options->history, no_request = (int)CVTM_STOP_NONE;
  memset(state, 0, sizeof *state);
  state->max_iterations = options->max_iterations;
  state->max_evaluations = options->max_evaluations;
  state->gradient_tolerance = options->gradient_tolerance;
  state->decrease_tolerance = options->decrease_tolerance;
  state->search_options.decrease = options->search_decrease;
  state->search_options.curvature = options->search_curvature;
  state->search_options.width = options->search_width;
  state->search_options.evaluations = options->search_evaluations;
  state->history = m;
  state->bounded = solver->finite_bounds > 0;
  state->boxed = state->bounded && solver->finite_bounds == 2 * solver->n;
  const size_t w_bytes = ((size_t)(solver->n / CVTM_LBFGSB_TILE) + 1) * CVTM_LBFGSB_TILE * 2 *
                         (size_t)m * sizeof(double);
  cvtm_status status = cvtm_device_copy_in(device, arrays->state, state, sizeof *state);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_in(device, solver->request, &no_request, sizeof no_request);
  }
  if (status == CVTM_OK) status = cvtm_device_fill(device, arrays->w, 0, w_bytes);
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->dense, 0, sizeof *arrays->dense);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_fill(device, arrays->values, 0, 2 * sizeof *arrays->values);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_copy(device, arrays->x, x, (size_t)solver->n * sizeof *x);
  }
  if (status == CVTM_OK) status = solver->table->start(device, arrays, m);
  double projected = 0.0;
  if (status == CVTM_OK) {
    status =
        cvtm_device_copy_out(device, &projected, arrays->sums + CVTM_SUM_ACTIVE, sizeof projected);
  }
  current->start_projected = (int64_t)projected;
  return status;
}

/* One evaluation and everything that follows from it; phases that are not due do nothing. */
static cvtm_status enqueue_round(const run *current) {
  const cvtm_lbfgsb *solver = current->solver;
  const cvtm_lbfgsb_table *table = solver->table;
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  cvtm_device *device = solver->device;
  const int m = solver->options.history;
  cvtm_status status = current->objective(current->context, arrays->trial_x, arrays->values,
                                          arrays->trial_g, cvtm_device_stream(device));
  if (status == CVTM_OK) status = table->search(device, arrays, m);
  if (status == CVTM_OK) status = table->update(device, arrays, m);
  if (status == CVTM_OK && solver->finite_bounds > 0) {
    status = table->restrict_rows(device, arrays, m);
  }
  if (status == CVTM_OK) status = table->step(device, arrays, m);
  if (status == CVTM_OK) status = table->fall_back(device, arrays, m);
  if (status == CVTM_OK) status = table->trial(device, arrays, m);
  return status;
}

static cvtm_status request_stop(run *current, cvtm_stop stop) {
  const int code = (int)stop;
  if (current->requested) return CVTM_OK;
  current->requested = 1;
  return cvtm_device_copy_in(current->solver->device, current->solver->request, &code, sizeof code);
}

/* Reads the state, tells the monitor what is new, and passes wishes to stop on. */
static cvtm_status poll(run *current) {
  cvtm_lbfgsb *solver = current->solver;
  cvtm_lbfgsb_state *seen = solver->seen;
  cvtm_status status =
      cvtm_device_copy_out(solver->device, seen, solver->arrays.state, sizeof *seen);
  const cvtm_lbfgsb_options *options = &solver->options;
  for (; status == CVTM_OK && current->reported < seen->recorded; ++current->reported) {
    if (!options->monitor) continue;
    const cvtm_lbfgsb_progress *record = &seen->ring[current->reported % CVTM_LBFGSB_RING];
    if (options->monitor(options->monitor_context, record)) {
      status = request_stop(current, CVTM_STOP_REQUEST);
    }
  }
  if (status == CVTM_OK && options->max_seconds > 0.0 &&
      now() - current->start_time >= options->max_seconds) {
    status = request_stop(current, CVTM_STOP_TIME);
  }
  return status;
}

/* Rounds between polls: one on the CPU, where a poll costs nothing; on CUDA as many as take
 * some 20 ms, so that slow evaluations are not repeated in vain after the end. */
static int next_rounds(const run *current, int rounds, double seconds) {
  if (cvtm_device_get_kind(current->solver->device) == CVTM_DEVICE_CPU) return 1;
  const double each = seconds / rounds;
  int next = 2 * rounds;
  while (next > 1 && next * each > 0.02) next /= 2;
  return next < MOST_ROUNDS ? next : MOST_ROUNDS;
}

static cvtm_status iterate(run *current) {
  cvtm_status status = CVTM_OK;
  int rounds = 1;
  do {
    const double before = now();
    for (int round = 0; status == CVTM_OK && round < rounds; ++round) {
      status = enqueue_round(current);
    }
    if (status == CVTM_OK) status = poll(current);
    rounds = next_rounds(current, rounds, now() - before);
  } while (status == CVTM_OK && current->solver->seen->running);
  return status;
}

static void fill_result(const run *current, cvtm_lbfgsb_result *result) {
  const cvtm_lbfgsb_state *seen = current->solver->seen;
  result->stop = (cvtm_stop)seen->stop;
  result->iterations = seen->iteration;
  result->evaluations = seen->evaluations;
  result->f = seen->f;
  result->projected_gradient = seen->projected_gradient;
  result->active = seen->active;
  result->start_projected = current->start_projected;
  result->restarts = seen->restarts;
  result->seconds = now() - current->start_time;
}

cvtm_status cvtm_lbfgsb_minimize(cvtm_lbfgsb *solver, double *x, cvtm_objective objective,
                                 void *context, cvtm_lbfgsb_result *result) {
  cvtm_device *device = solver->device;
  run current = {.solver = solver, .objective = objective, .context = context};
  current.start_time = now();
  cvtm_status status = cvtm_device_activate(device);
  if (status == CVTM_OK) status = begin(&current, x);
  if (status != CVTM_OK) return status;
  status = iterate(&current);
  /* x is the best point so far even where an evaluation failed. */
  const cvtm_status copied =
      cvtm_device_copy(device, x, solver->arrays.x, (size_t)solver->n * sizeof *x);
  if (status == CVTM_OK) status = copied;
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  if (status != CVTM_OK) return status;
  if (result) fill_result(&current, result);
  if (solver->seen->stop == (int)CVTM_STOP_NOT_FINITE && solver->seen->recorded == 0) {
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_EVALUATION,
                     "the objective or its gradient is not finite at the start");
  }
  return CVTM_OK;
}

const double *cvtm_lbfgsb_point(const cvtm_lbfgsb *solver) { return solver->arrays.x; }
