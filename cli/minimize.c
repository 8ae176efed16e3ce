/* cvtmesh minimize: L-BFGS-B on a problem of MINPACK-2. */
#include "base/clock.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "run/output.h"
#include "run/json.h"
#include "cli/solvers.h"
#include "lbfgsb/problems/minpack2.h"

#include <stdlib.h>
#include <string.h>

typedef struct history {
  run_history list; /* array of cvtm_lbfgsb_progress */
  double start_objective;
  int keep, verbose;
} history;

typedef struct solution {
  cli_options options; /* with the chosen values in place of automatic ones */
  cvtm_minpack2_kind kind;
  cvtm_minpack2_options sizes;
  cvtm_device *device;
  cvtm_minpack2 *problem;
  cvtm_lbfgsb *solver;
  int64_t n;
  double *x; /* device memory */
  cvtm_lbfgsb_result result;
  history history;
  double setup, solve, write; /* seconds */
} solution;

/* A cvtm_lbfgsb_monitor. Stops the optimiser if memory runs out; the command then fails. */
static int record_lbfgsb_step(void *context, const cvtm_lbfgsb_progress *progress) {
  history *h = context;
  if (progress->iteration == 0) h->start_objective = progress->f;
  if (h->verbose)
    fprintf(stderr, "iteration %lld  f %.15g  projected gradient %.3e  step %.3g  active %lld\n",
            (long long)progress->iteration, progress->f, progress->projected_gradient,
            progress->step, (long long)progress->active);
  if (h->keep) {
    cvtm_lbfgsb_progress *next = run_history_add(&h->list, sizeof *next);
    if (next == NULL) return 1;
    *next = *progress;
  }
  return cli_interrupted();
}

static int unknown_problem(const char *name) {
  char names[128] = "";
  size_t length = 0;
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind)
    length += (size_t)snprintf(names + length, sizeof names - length, " %s",
                               cvtm_minpack2_name((cvtm_minpack2_kind)kind));
  return cli_usage_error(CLI_MINIMIZE, "there is no problem '%s'; there are%s", name, names);
}

/* Sets a parameter of the problem by NAME=VALUE. */
static int set_parameter(solution *s, const char *text) {
  const char *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
  if (equals == NULL)
    return cli_usage_error(CLI_MINIMIZE, "--param: '%s' is not of the form name=value", text);
  int k = 0;
  const char *name = NULL;
  while ((name = cvtm_minpack2_parameter_name(s->kind, k)) != NULL &&
         (strlen(name) != length || strncmp(name, text, length) != 0))
    ++k;
  if (name == NULL)
    return cli_usage_error(CLI_MINIMIZE, "--param: %s has no parameter '%.*s'",
                           cvtm_minpack2_name(s->kind), (int)length, text);
  char *end;
  s->sizes.parameter[k] = strtod(equals + 1, &end);
  if (end == equals + 1 || *end != '\0')
    return cli_usage_error(CLI_MINIMIZE, "--param: '%s' is not a number", equals + 1);
  return CLI_EXIT_OK;
}

/* Sets the sizes that are given; refuses sizes that the problem does not have. */
static int set_sizes(solution *s) {
  cli_options *o = &s->options;
  const int ring = s->kind == CVTM_MINPACK2_GL1, atoms = s->kind == CVTM_MINPACK2_LJ;
  const struct {
    const char *name;
    int64_t *given, *size;
    int belongs;
  } rows[] = {
      {"nx", &o->minimize.nx, &s->sizes.nx, !ring && !atoms},
      {"ny", &o->minimize.ny, &s->sizes.ny, !ring && !atoms},
      {"n", &o->minimize.n, &s->sizes.variables, ring},
      {"atoms", &o->minimize.atoms, &s->sizes.atoms, atoms},
  };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    if (*rows[k].given != 0 && !rows[k].belongs)
      return cli_usage_error(CLI_MINIMIZE, "--%s: the problem %s has no such size", rows[k].name,
                             cvtm_minpack2_name(s->kind));
    if (*rows[k].given != 0) *rows[k].size = *rows[k].given;
    if (rows[k].belongs) *rows[k].given = *rows[k].size;
  }
  if (!atoms && cli_option_given(o, "dim"))
    return cli_usage_error(CLI_MINIMIZE, "--dim: the problem %s has no dimension",
                           cvtm_minpack2_name(s->kind));
  s->sizes.dimension = (int)o->minimize.dimension;
  return CLI_EXIT_OK;
}

static int check_problem(solution *s) {
  const cli_options *o = &s->options;
  s->kind = cvtm_minpack2_find(o->run.input.name);
  if (s->kind == CVTM_MINPACK2_COUNT) return unknown_problem(o->run.input.name);
  cvtm_minpack2_defaults(s->kind, &s->sizes);
  int code = set_sizes(s);
  for (int k = 0; k < o->minimize.parameters.count && code == CLI_EXIT_OK; ++k)
    code = set_parameter(s, o->minimize.parameters.item[k]);
  return code == CLI_EXIT_OK ? cli_outputs_check_known(o, "npy", "x") : code;
}

static cvtm_status fill_vector(solution *s, double *array, double value) {
  double *values = malloc((size_t)s->n * sizeof *values);
  if (values == NULL)
    return cvtm_fail(cvtm_device_error(s->device), CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t k = 0; k < s->n; ++k) values[k] = value;
  const cvtm_status status =
      cvtm_device_copy_in(s->device, array, values, (size_t)s->n * sizeof *values);
  free(values);
  return status;
}

static cvtm_status set_bounds(solution *s) {
  double *lower = NULL, *upper = NULL;
  const cvtm_arrays bounds = {{CVTM_ARRAY(lower, s->n), CVTM_ARRAY(upper, s->n)}};
  if (s->options.minimize.bounds == CLI_BOUNDS_NONE) return CVTM_OK;
  cvtm_status status = cvtm_device_allocate_arrays(s->device, bounds);
  if (status == CVTM_OK && s->options.minimize.bounds == CLI_BOUNDS_NATURAL) {
    status = cvtm_minpack2_bounds(s->problem, lower, upper);
  } else {
    if (status == CVTM_OK) status = fill_vector(s, lower, -1);
    if (status == CVTM_OK) status = fill_vector(s, upper, 1);
  }
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_bounds(s->solver, lower, upper);
  cvtm_device_free_arrays(s->device, bounds);
  return status;
}

void cli_minimize_settings(const cli_options *o, cvtm_lbfgsb_options *settings) {
  cvtm_lbfgsb_defaults(settings);
  settings->history = (int)o->minimize.memory;
  settings->max_iterations = o->run.iterations;
  settings->max_evaluations = o->run.iterations == 0 ? 1 : o->minimize.evaluations;
  settings->max_seconds = o->run.time_limit;
  settings->gradient_tolerance = o->run.gradient_tolerance;
  settings->decrease_tolerance = o->run.tolerance;
  settings->cauchy = (cvtm_lbfgsb_cauchy)o->minimize.cauchy;
  settings->time_evaluations = o->run.report != NULL;
}

static int create_problem(solution *s) {
  CLI_TRY(cli_open_device(&s->options, &s->device));
  const cvtm_error *detail = cvtm_device_error(s->device);
  cvtm_status status = cvtm_minpack2_create(s->device, s->kind, &s->sizes, &s->problem);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_MINIMIZE, "%s", detail->message);
  if (status == CVTM_OK) {
    cvtm_lbfgsb_options settings;
    s->n = cvtm_minpack2_variables(s->problem);
    cli_minimize_settings(&s->options, &settings);
    settings.monitor = record_lbfgsb_step;
    settings.monitor_context = &s->history;
    status = cvtm_lbfgsb_create(s->device, s->n, &settings, &s->solver);
  }
  if (status == CVTM_OK) status = set_bounds(s);
  if (status == CVTM_OK) status = cvtm_device_allocate(s->device, s->n, CVTM_TYPED(s->x));
  if (status == CVTM_OK) status = cvtm_minpack2_start(s->problem, s->x);
  if (status == CVTM_OK) status = cvtm_device_synchronize(s->device);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WORKING, status, detail);
}

static int solve_minimize(solution *s) {
  s->history.keep = s->options.minimize.history && s->options.run.report != NULL;
  s->history.verbose = s->options.verbose && !s->options.quiet;
  cli_catch_signals();
  cvtm_status status =
      cvtm_lbfgsb_minimize(s->solver, s->x, cvtm_minpack2_evaluate, s->problem, &s->result);
  if (status == CVTM_OK) status = run_history_check(&s->history.list, cvtm_device_error(s->device));
  if (status == CVTM_OK) return CLI_EXIT_OK;
  const int code = cli_failed(CLI_WORKING, status, cvtm_device_error(s->device));
  return status == CVTM_ERROR_EVALUATION ? CLI_EXIT_INPUT : code;
}

int cli_minimize_converged(const cli_options *o, const cvtm_lbfgsb_result *result) {
  const int exhausted = o->run.tolerance == 0 && o->run.gradient_tolerance == 0;
  return result->stop == CVTM_STOP_GRADIENT || result->stop == CVTM_STOP_DECREASE ||
         (result->stop == CVTM_STOP_LINE_SEARCH && exhausted);
}

static int converged(const solution *s) { return cli_minimize_converged(&s->options, &s->result); }

/* The shape of x in its file: (ny, nx), (4, ny, nx), (atoms, dimension) or (n). Returns the number
 * of dimensions. */
static int shape_of(const solution *s, int64_t *shape) {
  int dimensions = 0;
  if (s->kind == CVTM_MINPACK2_GL2) shape[dimensions++] = 4;
  if (s->kind == CVTM_MINPACK2_GL1) {
    shape[dimensions++] = s->n;
  } else if (s->kind == CVTM_MINPACK2_LJ) {
    shape[dimensions++] = s->sizes.atoms;
    shape[dimensions++] = s->sizes.dimension;
  } else {
    shape[dimensions++] = s->sizes.ny;
    shape[dimensions++] = s->sizes.nx;
  }
  return dimensions;
}

/* A run_writer. */
static cvtm_status write_minimiser(void *context, const char *path, const char *extension,
                                   cvtm_error *error) {
  (void)extension;
  const solution *s = context;
  int64_t shape[CVTM_NPY_MAX_DIMENSIONS];
  const int dimensions = shape_of(s, shape);
  const size_t bytes = (size_t)s->n * sizeof(double);
  double *x = malloc(bytes);
  if (x == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_status status = cvtm_device_copy_out(s->device, x, s->x, bytes);
  if (status == CVTM_OK)
    status = cvtm_npy_write(path, 'f', (int)sizeof *x, dimensions, shape, x, error);
  else
    *error = *cvtm_device_error(s->device);
  free(x);
  return status;
}

static const char *stop_reason(const solution *s) {
  return s->result.stop == CVTM_STOP_REQUEST ? "interrupted" : cvtm_stop_name(s->result.stop);
}

static void add_history(cJSON *report, const history *h) {
  cJSON *array = cJSON_AddArrayToObject(report, "history");
  const cvtm_lbfgsb_progress *records = h->list.records;
  for (int64_t k = 0; k < h->list.count; ++k) {
    const cvtm_lbfgsb_progress *record = &records[k];
    cJSON *entry = run_json_item(array);
    run_json_integer(entry, "iteration", record->iteration);
    run_json_integer(entry, "evaluations", record->evaluations);
    run_json_real(entry, "objective", record->f);
    run_json_real(entry, "projected_gradient", record->projected_gradient);
    run_json_real(entry, "step", record->step);
    run_json_real(entry, "cauchy", record->cauchy);
    run_json_integer(entry, "active", record->active);
  }
}

static cvtm_status write_minimize_report(const solution *s, cvtm_error *error) {
  if (s->options.run.report == NULL) return CVTM_OK;
  const cvtm_lbfgsb_result *result = &s->result;
  cJSON *report = cli_report_begin(s->device, &s->options);
  run_json_text(report, "problem", cvtm_minpack2_name(s->kind));
  run_json_text(report, "title", cvtm_minpack2_title(s->kind));
  cJSON *parameters = cJSON_AddObjectToObject(report, "parameters");
  const char *name;
  for (int k = 0; (name = cvtm_minpack2_parameter_name(s->kind, k)) != NULL; ++k)
    run_json_real(parameters, name, s->sizes.parameter[k]);
  run_json_integer(report, "variables", s->n);
  run_json_real(report, "start_objective", s->history.start_objective);
  run_json_real(report, "objective", result->f);
  run_json_integer(report, "iterations", result->iterations);
  run_json_integer(report, "evaluations", result->evaluations);
  run_json_real(report, "projected_gradient", result->projected_gradient);
  run_json_integer(report, "active", result->active);
  run_json_integer(report, "start_projected", result->start_projected);
  run_json_integer(report, "restarts", result->restarts);
  run_json_text(report, "stop_reason", stop_reason(s));
  cJSON_AddBoolToObject(report, "converged", converged(s));
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "setup", s->setup);
  run_json_real(seconds, "minimize", result->seconds);
  run_json_real(seconds, "evaluation", result->evaluation_seconds);
  run_json_real(seconds, "optimizer", result->seconds - result->evaluation_seconds);
  run_json_real(seconds, "write", s->write);
  if (s->options.minimize.history) add_history(report, &s->history);
  return run_json_write(s->options.run.report, report, error);
}

static void print_minimize_summary(const solution *s) {
  const cvtm_lbfgsb_result *result = &s->result;
  fprintf(stderr,
          "%s: %s on %s (%s)\n  f = %.15g, projected gradient %.3g, %lld active\n"
          "  %s, %s, %.3f seconds; stopped by: %s\n",
          cvtm_minpack2_title(s->kind), cli_count(s->n, "variable", "variables"),
          cvtm_device_name(s->device), cvtm_device_description(s->device), result->f,
          result->projected_gradient, (long long)result->active,
          cli_count(result->iterations, "iteration", "iterations"),
          cli_count(result->evaluations, "evaluation", "evaluations"), result->seconds,
          stop_reason(s));
  if (result->start_projected > 0)
    fprintf(stderr, "  %s of the start lay outside the bounds and %s moved onto them\n",
            cli_count(result->start_projected, "value", "values"),
            cli_word(result->start_projected, "was", "were"));
}

static int finish_minimize(solution *s) {
  cvtm_error error = {CVTM_OK, ""};
  const double start = cvtm_clock();
  cvtm_status status = run_outputs_write(&s->options.run, write_minimiser, s, &error);
  s->write = cvtm_clock() - start;
  if (status == CVTM_OK) status = write_minimize_report(s, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!s->options.quiet) print_minimize_summary(s);
  if (s->result.stop == CVTM_STOP_REQUEST) return CLI_EXIT_INTERRUPTED;
  return converged(s) ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

static int perform_minimize(solution *s) {
  CLI_TRY(check_problem(s));
  const double start = cvtm_clock();
  CLI_TRY(create_problem(s));
  s->setup = cvtm_clock() - start;
  CLI_TRY(solve_minimize(s));
  return finish_minimize(s);
}

int cli_minimize(const cli_options *options) {
  solution s = {.options = *options};
  const int code = perform_minimize(&s);
  cvtm_lbfgsb_destroy(s.solver);
  cvtm_minpack2_destroy(s.problem);
  cvtm_device_free(s.device, s.x);
  cvtm_device_destroy(s.device);
  free(s.history.list.records);
  return code;
}
