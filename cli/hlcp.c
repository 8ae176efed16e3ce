/* cvtmesh hlcp: horizontal linear complementarity problems. */
#include "base/file.h"
#include "base/npy.h"
#include "lcp/problems/complementarity.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "run/output.h"
#include "run/json.h"
#include "cli/solvers.h"
#include "lcp/hlcp.h"
#include "lcp/matrix_market.h"

#include <stdlib.h>
#include <string.h>

typedef struct history {
  run_history residuals; /* one double per iteration */
  int verbose;
} history;

typedef struct problem {
  cli_options options; /* with the chosen values in place of automatic ones */
  cvtm_hlcp_problem given;
  double *omega; /* owned; settings.omega points to it; NULL: no file */
  cvtm_device *device;
  cvtm_hlcp_options settings;
  cvtm_hlcp *solver;
  double *q, *z, *w; /* device memory */
  double *z_out, *w_out;
  cvtm_hlcp_result result;
  history history;
} problem;

/* A cvtm_hlcp_monitor. Stops the solver if memory runs out; the command then fails. */
static int record_hlcp_step(void *context, const cvtm_hlcp_progress *progress) {
  history *h = context;
  if (h->verbose)
    fprintf(stderr, "iteration %lld  residual %.6e\n", (long long)progress->iteration,
            progress->residual);
  double *residual = run_history_add(&h->residuals, sizeof *residual);
  if (residual == NULL) return 1;
  *residual = progress->residual;
  return cli_interrupted();
}

/* --- input -------------------------------------------------------------------------------- */

/* Fails unless one of --example and --matrix-a is given. */
static int check_source(const cli_options *o) {
  const int files = o->hlcp.matrix_a != NULL;
  if (files == cli_option_given(o, "example"))
    return cli_usage_error(CLI_HLCP, "one of --example and --matrix-a is needed");
  if (files && o->hlcp.rhs.name == NULL) return cli_usage_error(CLI_HLCP, "--rhs is missing");
  if (!files && (o->hlcp.matrix_b != NULL || o->hlcp.rhs.name != NULL))
    return cli_usage_error(CLI_HLCP, "--matrix-b and --rhs go with --matrix-a");
  return CLI_EXIT_OK;
}

static int check_outputs(const cli_options *o) {
  const char *const paths[] = {o->hlcp.output_z, o->hlcp.output_w};
  for (int k = 0; k < 2; ++k) {
    char buffer[16];
    if (paths[k] == NULL) continue;
    if (strcmp(cvtm_file_extension(paths[k], buffer, sizeof buffer), "npy") != 0)
      return cli_usage_error(CLI_HLCP, "%s: z and w are written as .npy", paths[k]);
  }
  return cli_outputs_check(o);
}

int cli_hlcp_check(const cli_options *o) {
  const cvtm_hlcp_options *given = &o->hlcp.solver;
  const int is_jacobi = given->method == CVTM_HLCP_MMJ;
  if (!is_jacobi && given->method != CVTM_HLCP_MMGS) return CLI_EXIT_OK;
  const double beta = is_jacobi ? 0 : 1;
  const int other_alpha = cli_option_given(o, "alpha") && given->alpha != 1;
  if (!other_alpha && !(cli_option_given(o, "beta") && given->beta != beta)) return CLI_EXIT_OK;
  return cli_usage_error(CLI_HLCP, "%s sets alpha = 1 and beta = %g; use mmaor for other values",
                         cvtm_hlcp_method_name(given->method), beta);
}

static cvtm_status make_identity(int64_t n, cvtm_csr *matrix, cvtm_error *error) {
  CVTM_TRY(cvtm_csr_create(n, n, n, matrix, error));
  for (int64_t i = 0; i < n; ++i) {
    matrix->row_start[i + 1] = i + 1;
    matrix->column[i] = (int32_t)i;
    matrix->value[i] = 1;
  }
  return CVTM_OK;
}

static cvtm_status read_files(problem *p, cvtm_error *error) {
  const cli_options *o = &p->options;
  CVTM_TRY(cvtm_matrix_market_read(o->hlcp.matrix_a, &p->given.a, error));
  CVTM_TRY(o->hlcp.matrix_b != NULL ? cvtm_matrix_market_read(o->hlcp.matrix_b, &p->given.b, error)
                                    : make_identity(p->given.a.rows, &p->given.b, error));
  return cli_read_vector(&o->hlcp.rhs, p->given.a.rows, &p->given.q, error);
}

static cvtm_status read_problem(problem *p, cvtm_error *error) {
  const cli_options *o = &p->options;
  if (o->hlcp.matrix_a != NULL) return read_files(p, error);
  return cvtm_hlcp_example((int)o->hlcp.example, o->hlcp.size, &p->given, error);
}

/* Reads --omega: `ratio`, a number, or a file of numbers; default: that of the paper's example. */
static cvtm_status read_omega(const cli_options *o, int64_t rows, double **omega,
                              cvtm_hlcp_options *settings, cvtm_error *error) {
  const cvtm_input *source = &o->hlcp.omega;
  const char *text = source->array == NULL ? source->name : NULL;
  settings->scaling = CVTM_HLCP_OMEGA_RATIO;
  settings->omega = 1;
  if (source->name == NULL && cli_option_given(o, "example")) {
    settings->scaling = CVTM_HLCP_OMEGA_NUMBER;
    settings->omega = cvtm_hlcp_example_omega((int)o->hlcp.example);
  }
  if (source->name == NULL || (text != NULL && strcmp(text, "ratio") == 0)) return CVTM_OK;
  char *end;
  settings->scaling = CVTM_HLCP_OMEGA_NUMBER;
  if (text != NULL) settings->omega = strtod(text, &end);
  if (text != NULL && end != text && *end == '\0') return CVTM_OK;
  settings->scaling = CVTM_HLCP_OMEGA_VECTOR;
  const cvtm_status status = cli_read_vector(source, rows, omega, error);
  settings->omega_vector = *omega;
  return status;
}

cvtm_status cli_hlcp_settings(const cli_options *o, int64_t rows, double **omega,
                              cvtm_hlcp_options *settings, cvtm_error *error) {
  *settings = o->hlcp.solver;
  settings->tolerance = o->run.tolerance;
  settings->max_iterations = o->run.iterations;
  if (cli_option_given(o, "splits") && settings->splits < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--splits: %lld is less than 1",
                     (long long)settings->splits);
  return read_omega(o, rows, omega, settings, error);
}

/* --- solving -------------------------------------------------------------------------- */

static cvtm_arrays vectors_of(problem *p) {
  const int64_t n = p->given.a.rows;
  return (cvtm_arrays){{CVTM_ARRAY(p->q, n), CVTM_ARRAY(p->z, n), CVTM_ARRAY(p->w, n)}};
}

static cvtm_status set_up(problem *p) {
  const int64_t n = p->given.a.rows;
  CVTM_TRY(cvtm_device_allocate_arrays(p->device, vectors_of(p)));
  CVTM_TRY(cvtm_device_copy_in(p->device, p->q, p->given.q, (size_t)n * sizeof *p->q));
  return cvtm_hlcp_create(p->device, &p->given.a, &p->given.b, &p->settings, &p->solver);
}

static cvtm_status solve_hlcp(problem *p) {
  const int64_t n = p->given.a.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  p->history.verbose = p->options.verbose && !p->options.quiet;
  cli_catch_signals();
  CVTM_TRY(cvtm_hlcp_solve(p->solver, p->q, NULL, 0, p->z, p->w, &p->result));
  CVTM_TRY(run_history_check(&p->history.residuals, cvtm_device_error(p->device)));
  p->z_out = malloc(bytes + 1);
  p->w_out = malloc(bytes + 1);
  if (p->z_out == NULL || p->w_out == NULL)
    return cvtm_fail(cvtm_device_error(p->device), CVTM_ERROR_MEMORY, "out of memory");
  CVTM_TRY(cvtm_device_copy_out(p->device, p->z_out, p->z, bytes));
  return cvtm_device_copy_out(p->device, p->w_out, p->w, bytes);
}

/* --- results -------------------------------------------------------------------------- */

static int64_t count_positive(const double *values, int64_t n, double *largest) {
  int64_t count = 0;
  *largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    count += values[i] > 0;
    *largest = values[i] > *largest ? values[i] : *largest;
  }
  return count;
}

static void add_lists(cJSON *report, const problem *p) {
  cJSON *records = cJSON_AddArrayToObject(report, "history");
  const double *residuals = p->history.residuals.records;
  for (int64_t k = 0; k < p->history.residuals.count; ++k) {
    cJSON *record = run_json_item(records);
    run_json_integer(record, "iteration", k);
    run_json_real(record, "residual", residuals[k]);
  }
}

static cvtm_status write_hlcp_report(const problem *p, cvtm_error *error) {
  if (p->options.run.report == NULL) return CVTM_OK;
  const cvtm_hlcp_result *result = &p->result;
  double largest_z, largest_w;
  const int64_t positive_z = count_positive(p->z_out, p->given.a.rows, &largest_z);
  const int64_t positive_w = count_positive(p->w_out, p->given.a.rows, &largest_w);
  cJSON *report = cli_report_begin(p->device, &p->options);
  run_json_text(report, "method", cvtm_hlcp_method_name(p->settings.method));
  run_json_integer(report, "unknowns", p->given.a.rows);
  run_json_integer(report, "splits", result->splits);
  run_json_integer(report, "iterations", result->iterations);
  run_json_integer(report, "linear_iterations", result->linear_iterations);
  run_json_real(report, "residual", result->residual);
  run_json_real(report, "max_complementarity", result->max_complementarity);
  run_json_integer(report, "z_positive", positive_z);
  run_json_integer(report, "w_positive", positive_w);
  run_json_real(report, "z_max", largest_z);
  run_json_real(report, "w_max", largest_w);
  run_json_text(report, "stop_reason", cvtm_lcp_stop_name(result->stop));
  cJSON_AddBoolToObject(report, "converged", result->stop == CVTM_LCP_CONVERGED);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "setup", result->setup_seconds);
  run_json_real(seconds, "solve", result->seconds);
  add_lists(report, p);
  return run_json_write(p->options.run.report, report, error);
}

static cvtm_status write_vector(const problem *p, const char *path, const double *values,
                                cvtm_error *error) {
  const int64_t n = p->given.a.rows;
  if (path == NULL) return CVTM_OK;
  return cvtm_npy_write(path, 'f', (int)sizeof *values, 1, &n, values, error);
}

static void print_hlcp_summary(const problem *p) {
  const cvtm_hlcp_result *r = &p->result;
  fprintf(stderr,
          "%s: %s on %s (%s)\n  %s, residual %.6e, %.4f seconds; "
          "stopped by: %s\n",
          cvtm_hlcp_method_name(p->settings.method),
          cli_count(p->given.a.rows, "unknown", "unknowns"), cvtm_device_name(p->device),
          cvtm_device_description(p->device), cli_count(r->iterations, "iteration", "iterations"),
          r->residual, r->seconds, cvtm_lcp_stop_name(r->stop));
  if (r->stop != CVTM_LCP_CONVERGED && p->settings.method != CVTM_HLCP_NEWTON)
    fprintf(stderr, "  --method newton may converge where the sweeps do not\n");
}

static int finish_hlcp(const problem *p) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = write_vector(p, p->options.hlcp.output_z, p->z_out, &error);
  if (status == CVTM_OK) status = write_vector(p, p->options.hlcp.output_w, p->w_out, &error);
  if (status == CVTM_OK) status = write_hlcp_report(p, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!p->options.quiet) print_hlcp_summary(p);
  if (p->result.stop == CVTM_LCP_INTERRUPTED) return CLI_EXIT_INTERRUPTED;
  return p->result.stop == CVTM_LCP_CONVERGED ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

static int perform_hlcp(problem *p) {
  CLI_TRY(check_source(&p->options));
  CLI_TRY(cli_hlcp_check(&p->options));
  CLI_TRY(check_outputs(&p->options));
  CLI_TRY(cli_open_device(&p->options, &p->device));
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = read_problem(p, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_HLCP, "%s", error.message);
  if (status == CVTM_OK)
    status = cli_hlcp_settings(&p->options, p->given.a.rows, &p->omega, &p->settings, &error);
  p->settings.monitor = record_hlcp_step;
  p->settings.monitor_context = &p->history;
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  /* problems that the solver refuses are bad input */
  status = set_up(p);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, cvtm_device_error(p->device));
  status = solve_hlcp(p);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, cvtm_device_error(p->device));
  return finish_hlcp(p);
}

int cli_hlcp(const cli_options *options) {
  problem p = {.options = *options};
  const int code = perform_hlcp(&p);
  cvtm_hlcp_destroy(p.solver);
  cvtm_device_free_arrays(p.device, vectors_of(&p));
  cvtm_device_destroy(p.device);
  cvtm_hlcp_problem_free(&p.given);
  free(p.omega);
  free(p.z_out);
  free(p.w_out);
  free(p.history.residuals.records);
  return code;
}
