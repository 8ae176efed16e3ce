/* Creates a solver: options, memory, bounds and scaling. */
#include "base/select.h"
#include "base/ranks.h"
#include "lbfgsb/lbfgsb_private.h"

#include <stdlib.h>
#include <string.h>

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

static cvtm_status check_lbfgsb_options(cvtm_error *error, const cvtm_lbfgsb_options *options) {
  if (options->history < 1 || options->history > CVTM_LBFGSB_MAX_HISTORY) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "history must be 1 to %d, not %d",
                     CVTM_LBFGSB_MAX_HISTORY, options->history);
  }
  if (options->cauchy != CVTM_LBFGSB_CAUCHY_APPROXIMATE &&
      options->cauchy != CVTM_LBFGSB_CAUCHY_EXACT)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown Cauchy point %d", (int)options->cauchy);
  if (options->max_iterations < 0 || options->max_evaluations < 0 || !(options->max_seconds >= 0.0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a limit is negative");
  if (!(options->gradient_tolerance >= 0.0) || !(options->decrease_tolerance >= 0.0) ||
      !(options->measure_tolerance >= 0.0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a tolerance is negative");
  if (options->search_evaluations < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a line search needs at least one evaluation");
  if (!(options->search_decrease > 0.0 && options->search_decrease < options->search_curvature &&
        options->search_curvature < 1.0 && options->search_width >= 0.0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the line search needs 0 < decrease < curvature < 1 and width >= 0");
  }
  return CVTM_OK;
}

int64_t cvtm_lbfgsb_block(int64_t total) {
  const int64_t parts = cvtm_lbfgsb_cpu_parts(total);
  return ((parts - 1) / CVTM_DIVIDED_BLOCKS + 1) * CVTM_LBFGSB_CPU_PART;
}

/* The number of parts of a pass: panels on CUDA need no partial sums. */
static int64_t panels_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)problems;
  return cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? cvtm_lbfgsb_cpu_parts(n) : 1;
}

static const cvtm_lbfgsb_table panels_table = {
    .parts = panels_parts, .start = cvtm_panels_start, .round = cvtm_panels_round};

static const cvtm_lbfgsb_table divided_table = {
    .parts = cvtm_divided_parts, .start = cvtm_divided_start, .round = cvtm_divided_round};

/* Chooses the table; with CVTMESH_PLAIN=panels that of panels.c, unless there is a share. */
static const cvtm_lbfgsb_table *find_table(cvtm_device *device, int64_t n,
                                           const cvtm_lbfgsb_options *options,
                                           const cvtm_lbfgsb_share *share) {
  if (share) return &divided_table;
  if (cvtm_uses_plain("panels")) return &panels_table;
#if CVTMESH_HAVE_CUDA
  if (n <= CVTM_LBFGSB_SMALL && cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA &&
      !cvtm_uses_plain("small"))
    return &cvtm_lbfgsb_small_cuda;
#else
  (void)n;
#endif
  return options->history > CVTM_LBFGSB_SHORT ? &panels_table
                                              : CVTM_TABLE(device, cvtm_lbfgsb_table);
}

/* Takes an array from the solver's block; without a block, only counts its bytes. */
static void *take(cvtm_lbfgsb *solver, int64_t count, size_t size) {
  void *array = solver->block ? (char *)solver->block + solver->taken : NULL;
  solver->taken += ((size_t)count * size + 255) / 256 * 256;
  return array;
}

size_t cvtm_lbfgsb_w_bytes(const cvtm_lbfgsb *solver) {
  const int m = solver->options.history;
  const int64_t each = solver->is_small ? 2 * m * solver->n : cvtm_lbfgsb_w_count(solver->n, m);
  return (size_t)(each * solver->problems) * sizeof(double);
}

/* The number of entries of arrays->partial. */
static int64_t count_partial(const cvtm_lbfgsb *solver) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  if (solver->table == &panels_table)
    return arrays->parts * cvtm_lbfgsb_get_layout(solver->options.history, 0).entries;
  return arrays->parts * solver->problems * arrays->entries;
}

size_t cvtm_lbfgsb_values_bytes(const cvtm_lbfgsb *solver) {
  const cvtm_divided *divided = solver->arrays.divided;
  return 2 * (size_t)(divided ? cvtm_divided_own_blocks(divided) : solver->problems) *
         sizeof(double);
}

/* Zeroes memory that kernels read before they write it: every kernel loads `model` and `sums`, and
 * block 0 combines the partial sums of the thread blocks by pairs of adjacent entries, of which the
 * last pair may have one entry more than the pass. No result depends on these values, but
 * compute-sanitizer's initcheck would report the reads. */
static cvtm_status clear_arrays(cvtm_lbfgsb *solver) {
  const cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const size_t problems = (size_t)solver->problems;
  const size_t figures = problems * (size_t)arrays->entries * sizeof(double);
  cvtm_device *device = solver->device;
  CVTM_TRY(cvtm_device_fill(device, arrays->barrier, 0, sizeof *arrays->barrier));
  CVTM_TRY(cvtm_device_fill(device, arrays->model, 0, problems * solver->model_bytes));
  CVTM_TRY(cvtm_device_fill(device, arrays->sums, 0, figures));
  return cvtm_device_fill(device, arrays->partial, 0,
                          (size_t)count_partial(solver) * sizeof(double));
}

/* Takes the data of the decisions, unless panels.c handles the history. */
static void take_decisions(cvtm_lbfgsb *solver) {
  cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const int64_t problems = solver->problems, figures = problems * arrays->entries;
  arrays->state = take(solver, problems, sizeof(cvtm_lbfgsb_state));
  arrays->requests = take(solver, 1, sizeof *arrays->requests);
  if (solver->is_small) return;
  arrays->sums = take(solver, figures, sizeof(double));
  arrays->reduced = take(solver, figures, sizeof(double));
  if (solver->options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT)
    arrays->walk = take(solver, problems, sizeof(cvtm_lbfgsb_walk));
  arrays->model = take(solver, problems, sizeof(cvtm_lbfgsb_model));
  if (cvtm_device_get_kind(solver->device) == CVTM_DEVICE_CPU)
    arrays->work = take(solver, problems, sizeof(cvtm_lbfgsb_work));
}

/* Takes the arrays of the solver; without a block, only counts their bytes. */
static void take_arrays(cvtm_lbfgsb *solver, int divided, int exact) {
  cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  const int64_t total = solver->total, problems = solver->problems;
  solver->taken = 0;
  arrays->x = take(solver, total, sizeof(double));
  arrays->g = take(solver, total, sizeof(double));
  arrays->trial_x = take(solver, total, sizeof(double));
  arrays->trial_g = take(solver, total, sizeof(double));
  arrays->d = take(solver, total, sizeof(double));
  arrays->w = take(solver, (int64_t)cvtm_lbfgsb_w_bytes(solver), 1);
  arrays->values =
      take(solver, 2 * (divided ? (int64_t)CVTM_DIVIDED_BLOCKS : problems), sizeof(double));
  arrays->partial = take(solver, count_partial(solver), sizeof(double));
  if (exact) arrays->breakpoints = take(solver, total, sizeof(double));
  if (exact && !divided) {
    arrays->breakpoint_rows = take(solver, total, sizeof(int64_t));
    arrays->breakpoint_count = take(solver, problems, sizeof(int64_t));
  }
  if (!divided && solver->table != &panels_table) take_decisions(solver);
  solver->found = take(solver, 1, sizeof *solver->found);
  arrays->flag = take(solver, 1, sizeof(int));
  arrays->barrier = take(solver, 1, sizeof *arrays->barrier);
}

/* Allocates all arrays of the solver. share: NULL unless the variables are divided. */
static cvtm_status allocate_arrays(cvtm_lbfgsb *solver, const cvtm_lbfgsb_share *share) {
  cvtm_lbfgsb_arrays *arrays = &solver->arrays;
  cvtm_device *device = solver->device;
  const int exact = solver->options.cauchy == CVTM_LBFGSB_CAUCHY_EXACT && !solver->is_small;
  const int64_t problems = solver->problems;
  const int m = solver->options.history;
  void *mapped = NULL, *host = NULL;
  arrays->n = solver->n;
  arrays->block = cvtm_lbfgsb_block(solver->n);
  arrays->problems = problems;
  arrays->entries = (cvtm_lbfgsb_get_layout(m, 1).entries + 1) / 2 * 2;
  if (share) arrays->entries = CVTM_DIVIDED_STRIDE;
  if (solver->is_small) arrays->entries = 0;
  arrays->parts = solver->table->parts(device, solver->n, problems);
  take_arrays(solver, share != NULL, exact);
  CVTM_TRY(cvtm_device_allocate(device, (int64_t)solver->taken, 1, &solver->block));
  take_arrays(solver, share != NULL, exact);
  if (share)
    CVTM_TRY(cvtm_divided_create(device, arrays, solver->n, exact, &arrays->divided));
  else if (solver->table == &panels_table)
    CVTM_TRY(cvtm_panels_create(device, arrays, m, exact, &arrays->panels));
  CVTM_TRY(clear_arrays(solver));
  if (problems == 1)
    CVTM_TRY(cvtm_device_allocate_mapped(device, sizeof(cvtm_lbfgsb_mailbox), &host, &mapped));
  solver->mailbox = host;
  arrays->mailbox = mapped;
  return CVTM_OK;
}

static cvtm_status check_sizes(cvtm_error *error, int64_t problems, int64_t n) {
  if (n < 0 || n > INT64_MAX / 4096)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no problem has %lld variables", (long long)n);
  if (problems < 1 || problems > INT32_MAX || n > INT64_MAX / 4096 / problems) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a batch cannot have %lld problems of %lld variables", (long long)problems,
                     (long long)n);
  }
  return CVTM_OK;
}

/* Allocates a solver and its arrays. share: NULL unless the variables are divided. */
static cvtm_status allocate_solver(cvtm_device *device, int64_t problems, int64_t n,
                                   const cvtm_lbfgsb_share *share,
                                   const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver) {
  cvtm_error *error = cvtm_device_error(device);
  CVTM_DEFAULT_OPTIONS(cvtm_lbfgsb, options)
  cvtm_status status = check_sizes(error, problems, n);
  if (status == CVTM_OK) status = check_lbfgsb_options(error, options);
  if (status != CVTM_OK) return status;
  if (share && options->history > CVTM_LBFGSB_SHORT)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "history is %d; with divided variables it is at most %d", options->history,
                     (int)CVTM_LBFGSB_SHORT);
  cvtm_lbfgsb *result = calloc(1, sizeof *result);
  if (!result) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  result->device = device;
  result->table = find_table(device, n, options, share);
#if CVTMESH_HAVE_CUDA
  result->is_small = result->table == &cvtm_lbfgsb_small_cuda;
#endif
  result->model_bytes = result->is_small                 ? 0
                        : result->table == &panels_table ? cvtm_panels_model_bytes()
                                                         : sizeof(cvtm_lbfgsb_model);
  result->rows = CVTM_TABLE(device, cvtm_lbfgsb_rows_table);
  result->options = *options;
  result->n = result->capacity = n;
  result->problems = problems;
  result->total = n * problems;
  result->everywhere = share ? share->total : result->total;
  result->states = calloc((size_t)problems, sizeof *result->states);
  if (result->states)
    status = allocate_arrays(result, share);
  else
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  if (status != CVTM_OK) {
    cvtm_lbfgsb_destroy(result);
    return status;
  }
  *solver = result;
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_create_batch(cvtm_device *device, int64_t problems, int64_t n,
                                     const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver) {
  return allocate_solver(device, problems, n, NULL, options, solver);
}

cvtm_status cvtm_lbfgsb_create(cvtm_device *device, int64_t n, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver) {
  return allocate_solver(device, 1, n, NULL, options, solver);
}

cvtm_status cvtm_lbfgsb_create_divided(cvtm_device *device, const cvtm_lbfgsb_share *share,
                                       const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver) {
  cvtm_lbfgsb *made = NULL;
  cvtm_status status = allocate_solver(device, 1, share->count, share, options, &made);
  status = cvtm_ranks_all_succeed(device, status);
  if (status == CVTM_OK)
    status = cvtm_divided_set_share(device, &made->arrays, share->count, share);
  if (status == CVTM_OK)
    *solver = made;
  else
    cvtm_lbfgsb_destroy(made);
  return status;
}

void cvtm_lbfgsb_destroy(cvtm_lbfgsb *solver) {
  if (!solver) return;
  void *const owned[] = {solver->block, solver->lower, solver->upper, solver->scale};
  for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k)
    cvtm_device_free(solver->device, owned[k]);
  cvtm_panels_destroy(solver->device, solver->arrays.panels);
  cvtm_divided_destroy(solver->device, solver->arrays.divided);
  cvtm_device_free_mapped(solver->device, solver->mailbox);
  free(solver->states);
  free(solver);
}

/* The number of variable i of this process among all variables. */
static long long number_of(const cvtm_lbfgsb *solver, int64_t i) {
  const cvtm_divided *divided = solver->arrays.divided;
  return i + (divided ? cvtm_divided_share(divided)->first : 0);
}

/* Reads element i of an array in device memory; without an array *value is unchanged. */
static cvtm_status read_element(const cvtm_lbfgsb *solver, const double *array, int64_t i,
                                double *value) {
  return array ? cvtm_device_copy_out(solver->device, value, array + i, sizeof *value) : CVTM_OK;
}

static cvtm_status report_bad_bounds(const cvtm_lbfgsb *solver, const double *lower,
                                     const double *upper, int64_t i) {
  double low = -HUGE_VAL, high = HUGE_VAL;
  CVTM_TRY(read_element(solver, lower, i, &low));
  CVTM_TRY(read_element(solver, upper, i, &high));
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "bounds of variable %lld%s: lower %g, upper %g", number_of(solver, i),
                   low <= high ? " leave no finite value" : "", low, high);
}

static cvtm_status report_bad_scale(const cvtm_lbfgsb *solver, const double *scale, int64_t i) {
  double value = 1.0;
  CVTM_TRY(read_element(solver, scale, i, &value));
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "scale of variable %lld is %g", number_of(solver, i), value);
}

/* Sets found->finite to the sum over all ranks. Fails if another rank has an invalid input. */
static cvtm_status share_findings(cvtm_lbfgsb *solver, cvtm_lbfgsb_inputs *found) {
  int64_t sums[] = {found->finite, found->bad != 0};
  if (!solver->arrays.divided) return CVTM_OK;
  const cvtm_status status = cvtm_ranks_sum(solver->device, sums, 2);
  found->finite = sums[0];
  if (status != CVTM_OK || found->bad || sums[1] == 0) return status;
  return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                   "bounds or scale of another rank's variables are wrong");
}

/* Checks bounds and scale; collective if the variables are divided. */
static cvtm_status check_inputs(cvtm_lbfgsb *solver, const double *lower, const double *upper,
                                const double *scale, cvtm_lbfgsb_inputs *found) {
  cvtm_device *device = solver->device;
  if (!lower && !upper && !scale) return share_findings(solver, found);
  CVTM_TRY(cvtm_device_fill(device, solver->found, 0, sizeof *found));
  CVTM_TRY(solver->rows->check(device, lower, upper, scale, solver->total, solver->found));
  CVTM_TRY(cvtm_device_copy_out(device, found, solver->found, sizeof *found));
  return share_findings(solver, found);
}

void cvtm_lbfgsb_forget_run(cvtm_lbfgsb *solver) {
  memset(solver->states, 0, sizeof *solver->states);
}

/* Copies `array` to *own, which is allocated at first use, and sets *shown to *own. If `array` is
 * NULL, sets *shown to NULL. */
static cvtm_status copy_vector(cvtm_lbfgsb *solver, const double *array, double **own,
                               const double **shown) {
  *shown = NULL;
  if (!array) return CVTM_OK;
  if (!*own)
    CVTM_TRY(cvtm_device_allocate(solver->device, solver->capacity * solver->problems,
                                  sizeof(double), (void **)own));
  CVTM_TRY(cvtm_device_copy(solver->device, *own, array, (size_t)solver->total * sizeof **own));
  *shown = *own;
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_set_bounds(cvtm_lbfgsb *solver, const double *lower, const double *upper) {
  cvtm_lbfgsb_inputs found = {0, 0};
  CVTM_TRY(check_inputs(solver, lower, upper, NULL, &found));
  if (found.bad) return report_bad_bounds(solver, lower, upper, solver->total - found.bad);
  if (found.finite == 0) lower = upper = NULL;
  cvtm_lbfgsb_forget_run(solver);
  solver->finite_bounds = 0;
  solver->arrays.upper = NULL;
  cvtm_status status = copy_vector(solver, lower, &solver->lower, &solver->arrays.lower);
  if (status == CVTM_OK) status = copy_vector(solver, upper, &solver->upper, &solver->arrays.upper);
  if (status != CVTM_OK) {
    solver->arrays.lower = solver->arrays.upper = NULL;
    return status;
  }
  solver->finite_bounds = found.finite;
  return CVTM_OK;
}

/* Drops everything that belongs to the old number of variables. */
static void resize(cvtm_lbfgsb *solver, int64_t n, int64_t everywhere) {
  cvtm_lbfgsb_forget_run(solver);
  solver->n = solver->total = n;
  solver->everywhere = everywhere;
  solver->arrays.lower = solver->arrays.upper = solver->arrays.scale = NULL;
  solver->finite_bounds = 0;
}

cvtm_status cvtm_lbfgsb_set_share(cvtm_lbfgsb *solver, const cvtm_lbfgsb_share *share) {
  if (!solver->arrays.divided)
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "the variables of this solver are not divided");
  CVTM_TRY(cvtm_divided_set_share(solver->device, &solver->arrays, solver->capacity, share));
  resize(solver, share->count, share->total);
  return CVTM_OK;
}

cvtm_status cvtm_lbfgsb_set_size(cvtm_lbfgsb *solver, int64_t n) {
  if (solver->arrays.divided)
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "the size of a divided problem is changed by its shares");
  if (n < 0 || n > solver->capacity || solver->problems > 1) {
    return cvtm_fail(cvtm_device_error(solver->device), CVTM_ERROR_ARGUMENT,
                     "%lld variables for a solver of %lld problems that was made for %lld",
                     (long long)n, (long long)solver->problems, (long long)solver->capacity);
  }
  resize(solver, n, n);
  solver->arrays.n = n;
  solver->arrays.block = cvtm_lbfgsb_block(n);
  solver->arrays.parts = solver->table->parts(solver->device, n, 1);
  /* another number of thread blocks may share the rows */
  return cvtm_device_fill(solver->device, solver->arrays.barrier, 0,
                          sizeof *solver->arrays.barrier);
}

cvtm_status cvtm_lbfgsb_set_scaling(cvtm_lbfgsb *solver, const double *scale) {
  cvtm_lbfgsb_inputs found = {0, 0};
  CVTM_TRY(check_inputs(solver, NULL, NULL, scale, &found));
  if (found.bad) return report_bad_scale(solver, scale, solver->total - found.bad);
  cvtm_lbfgsb_forget_run(solver);
  return copy_vector(solver, scale, &solver->scale, &solver->arrays.scale);
}

cvtm_status cvtm_lbfgsb_set_options(cvtm_lbfgsb *solver, const cvtm_lbfgsb_options *options) {
  CVTM_DEFAULT_OPTIONS(cvtm_lbfgsb, options)
  cvtm_error *error = cvtm_device_error(solver->device);
  CVTM_TRY(check_lbfgsb_options(error, options));
  if (options->history != solver->options.history) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "history is %d and cannot become %d",
                     solver->options.history, options->history);
  }
  if (options->cauchy != solver->options.cauchy)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the kind of Cauchy point cannot change");
  solver->options = *options;
  return CVTM_OK;
}

const double *cvtm_lbfgsb_point(const cvtm_lbfgsb *solver) { return solver->arrays.x; }
