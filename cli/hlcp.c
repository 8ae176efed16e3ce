/* cvtmesh hlcp: horizontal linear complementarity problems. */
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/solvers.h"
#include "density/density.h"
#include "lcp/hlcp.h"
#include "lcp/hlcp/problems.h"
#include "lcp/matrix_market.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUGGEST_SWEEPS = 10 };
/* The work that cvtm_hlcp_check_theory_within may do for a report. It gives sharp bounds up to some
 * 80,000 unknowns, and takes a second or two at most. */
static const int64_t report_work = 300000000;

typedef struct history {
  cli_history residuals; /* a double for each iteration */
  int verbose;
} history;

typedef struct problem {
  int64_t width, height; /* of a film; 0: z and w are vectors */
  cli_options options;   /* with the chosen values in place of automatic ones */
  cvtm_hlcp_problem given;
  cli_hlcp_memory memory;
  cvtm_device *device;
  cvtm_hlcp_options settings;
  cvtm_hlcp *solver;
  double *q, *z, *w; /* device memory */
  double *z_out, *w_out;
  cvtm_hlcp_result result;
  history history;
  int warning_count;
  char warnings[CVTM_HLCP_WARNINGS][CVTM_HLCP_WARNING_LENGTH];
} problem;

/* A cvtm_hlcp_monitor. Without memory for the residual the solver stops, and the command fails. */
static int record_hlcp_step(void *context, const cvtm_hlcp_progress *progress) {
  history *h = context;
  if (h->verbose)
    fprintf(stderr, "iteration %lld  residual %.6e\n", (long long)progress->iteration,
            progress->residual);
  double *residual = cli_history_add(&h->residuals, sizeof *residual);
  if (residual == NULL) return 1;
  *residual = progress->residual;
  return cli_interrupted();
}

/* --- what is given -------------------------------------------------------------------- */

/* Exactly one of --example, --problem and --matrix-a must be given. */
static int check_source(const cli_options *o) {
  const int files = o->hlcp.matrix_a != NULL;
  const int named = cli_option_given(o, "problem"), example = cli_option_given(o, "example");
  if (files + named + example != 1)
    return cli_usage_error(CLI_HLCP, "one of --example, --problem and --matrix-a is needed");
  if (files && o->hlcp.rhs == NULL) return cli_usage_error(CLI_HLCP, "--rhs is missing");
  if (o->hlcp.film != NULL && !named)
    return cli_usage_error(CLI_HLCP, "--film goes with --problem bearing");
  if (o->hlcp.film != NULL && cli_option_given(o, "size"))
    return cli_usage_error(CLI_HLCP, "--film has the size of its picture, not of --size");
  if (!files && (o->hlcp.matrix_b != NULL || o->hlcp.rhs != NULL))
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
  const int code = cli_hlcp_splitting_check(o);
  if (code != CLI_EXIT_OK) return code;
  const int is_jacobi = o->hlcp.method == (int)CVTM_HLCP_MMJ;
  if (!is_jacobi && o->hlcp.method != (int)CVTM_HLCP_MMGS) return CLI_EXIT_OK;
  const double beta = is_jacobi ? 0 : 1;
  const int other_alpha = cli_option_given(o, "alpha") && o->hlcp.alpha != 1;
  if (!other_alpha && !(cli_option_given(o, "beta") && o->hlcp.beta != beta)) return CLI_EXIT_OK;
  return cli_usage_error(CLI_HLCP, "%s has alpha = 1 and beta = %g; mmaor takes others",
                         cvtm_hlcp_method_name((cvtm_hlcp_method)o->hlcp.method), beta);
}

static cvtm_status read_files(problem *p, cvtm_error *error) {
  const cli_options *o = &p->options;
  cvtm_status status = cvtm_matrix_market_read(o->hlcp.matrix_a, &p->given.a, error);
  if (status != CVTM_OK) return status;
  status = o->hlcp.matrix_b != NULL ? cvtm_matrix_market_read(o->hlcp.matrix_b, &p->given.b, error)
                                    : cli_identity(p->given.a.rows, &p->given.b, error);
  if (status != CVTM_OK) return status;
  return cli_read_vector(o->hlcp.rhs, p->given.a.rows, &p->given.q, error);
}

/* A film of oil: the picture's brightness is its thickness. */
static cvtm_status read_film(problem *p, cvtm_error *error) {
  const char *path = p->options.hlcp.film;
  const float e = (float)p->options.hlcp.eccentricity;
  cvtm_image image;
  cvtm_status status = cli_read_image(&p->options, path, 0, &image, error);
  if (status != CVTM_OK) return status;
  p->width = image.width;
  p->height = image.height;
  for (int64_t k = 0; k < p->width * p->height && !image.is_data; ++k)
    image.value[k] = 1 + e * (2 * image.value[k] - 1);
  cvtm_error detail = {CVTM_OK, ""};
  status =
      cvtm_hlcp_film(p->width, p->height, image.value, p->options.hlcp.supply, &p->given, &detail);
  cvtm_image_free(&image);
  return status == CVTM_OK ? status : cvtm_fail(error, status, "%s: %.300s", path, detail.message);
}

static cvtm_status read_problem(problem *p, cvtm_error *error) {
  cli_options *o = &p->options;
  if (o->hlcp.matrix_a != NULL) return read_files(p, error);
  if (o->hlcp.film != NULL) return read_film(p, error);
  const int is_bearing = cli_option_given(o, "problem");
  if (!cli_option_given(o, "size")) o->hlcp.size = is_bearing ? 1024 : 256;
  if (is_bearing)
    return cvtm_hlcp_bearing(o->hlcp.size, o->hlcp.eccentricity, o->hlcp.supply, &p->given, error);
  return cvtm_hlcp_example((int)o->hlcp.example, o->hlcp.size, o->hlcp.mu, o->hlcp.nu, &p->given,
                           error);
}

/* --omega: `ratio`, a number, or a file of numbers; by default that of the paper's example. */
static cvtm_status read_omega(const cli_options *o, int64_t rows, cli_hlcp_memory *memory,
                              cvtm_hlcp_options *settings, cvtm_error *error) {
  const char *text = o->hlcp.omega;
  settings->scaling = CVTM_HLCP_OMEGA_RATIO;
  settings->omega = 1;
  if (text == NULL && cli_option_given(o, "example")) {
    settings->scaling = CVTM_HLCP_OMEGA_NUMBER;
    settings->omega = cvtm_hlcp_example_omega((int)o->hlcp.example);
  }
  if (text == NULL || strcmp(text, "ratio") == 0) return CVTM_OK;
  char *end;
  settings->scaling = CVTM_HLCP_OMEGA_NUMBER;
  settings->omega = strtod(text, &end);
  if (end != text && *end == '\0') return CVTM_OK;
  settings->scaling = CVTM_HLCP_OMEGA_VECTOR;
  const cvtm_status status = cli_read_vector(text, rows, &memory->omega, error);
  settings->omega_vector = memory->omega;
  return status;
}

cvtm_status cli_hlcp_settings(const cli_options *o, int64_t rows, cli_hlcp_memory *memory,
                              cvtm_hlcp_options *settings, cvtm_error *error) {
  cvtm_hlcp_defaults(settings);
  settings->method = (cvtm_hlcp_method)o->hlcp.method;
  settings->alpha = o->hlcp.alpha;
  settings->beta = o->hlcp.beta;
  settings->gamma = o->hlcp.gamma;
  settings->rule = (cvtm_hlcp_rule)o->hlcp.rule;
  settings->split = (cvtm_hlcp_split)o->hlcp.split;
  settings->splits = o->hlcp.splits;
  settings->start = o->hlcp.start;
  settings->tolerance = o->tolerance;
  settings->max_iterations = o->iterations;
  if (cli_option_given(o, "splits") && o->hlcp.splits < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--splits: %lld is less than 1",
                     (long long)o->hlcp.splits);
  if (o->hlcp.weights != NULL) {
    const cvtm_status status = cvtm_matrix_market_read(o->hlcp.weights, &memory->weights, error);
    if (status != CVTM_OK) return status;
    settings->weights = &memory->weights;
  }
  const cvtm_status status = cli_hlcp_splitting_read(o, rows, &memory->splitting, error);
  if (status != CVTM_OK) return status;
  if (memory->splitting.given.count > 0) {
    memory->splitting.given.weights = settings->weights;
    settings->multisplitting = &memory->splitting.given;
  }
  return read_omega(o, rows, memory, settings, error);
}

void cli_hlcp_memory_free(cli_hlcp_memory *memory) {
  cli_hlcp_splitting_free(&memory->splitting);
  cvtm_csr_free(&memory->weights);
  free(memory->omega);
  memory->omega = NULL;
}

/* --- solving -------------------------------------------------------------------------- */

static cvtm_status check_theory(problem *p, cvtm_error *error) {
  if (!p->options.check) return CVTM_OK;
  cvtm_hlcp_check check;
  const cvtm_status status =
      cvtm_hlcp_check_theory(&p->given.a, &p->given.b, &p->settings, &check, error);
  if (status != CVTM_OK) return status;
  p->warning_count = cvtm_hlcp_warnings(&check, &p->settings, p->warnings);
  for (int k = 0; k < p->warning_count && !p->options.quiet; ++k)
    fprintf(stderr, "cvtmesh: warning: %s\n", p->warnings[k]);
  return status;
}

static cvtm_status set_up(problem *p) {
  const int64_t n = p->given.a.rows;
  double **const vectors[] = {&p->q, &p->z, &p->w};
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k)
    status = cvtm_device_allocate(p->device, n, CVTM_TYPED(*vectors[k]));
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(p->device, p->q, p->given.q, (size_t)n * sizeof *p->q);
  if (status == CVTM_OK && p->options.hlcp.suggest)
    status =
        cvtm_hlcp_suggest(p->device, &p->given.a, &p->given.b, p->q, SUGGEST_SWEEPS, &p->settings);
  if (status == CVTM_OK)
    status = cvtm_hlcp_create(p->device, &p->given.a, &p->given.b, &p->settings, &p->solver);
  return status;
}

static cvtm_status solve_hlcp(problem *p) {
  const int64_t n = p->given.a.rows;
  const size_t bytes = (size_t)n * sizeof(double);
  p->history.verbose = p->options.verbose && !p->options.quiet;
  cli_catch_signals();
  cvtm_status status = cvtm_hlcp_solve(p->solver, p->q, NULL, 0, p->z, p->w, &p->result);
  if (status == CVTM_OK)
    status = cli_history_check(&p->history.residuals, cvtm_device_error(p->device));
  p->z_out = malloc(bytes + 1);
  p->w_out = malloc(bytes + 1);
  if (status == CVTM_OK && (p->z_out == NULL || p->w_out == NULL))
    status = cvtm_fail(cvtm_device_error(p->device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = cvtm_device_copy_out(p->device, p->z_out, p->z, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_out(p->device, p->w_out, p->w, bytes);
  return status;
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
  cJSON *warnings = cJSON_AddArrayToObject(report, "warnings");
  for (int k = 0; k < p->warning_count; ++k)
    cli_json_append(warnings, cJSON_CreateString(p->warnings[k]));
  cJSON *records = cJSON_AddArrayToObject(report, "history");
  const double *residuals = p->history.residuals.records;
  for (int64_t k = 0; k < p->history.residuals.count; ++k) {
    cJSON *record = cJSON_CreateObject();
    cli_json_integer(record, "iteration", k);
    cli_json_real(record, "residual", residuals[k]);
    cli_json_append(records, record);
  }
}

/* What the theorems say of the solved problem. Theorem 2 is about matrices and Omega; Theorem 3
 * about the AOR family besides, with a limit of alpha. */
static cvtm_status add_theory(cJSON *report, const problem *p, cvtm_error *error) {
  cvtm_hlcp_check check;
  const cvtm_hlcp_options *s = &p->settings;
  const int64_t work = p->options.check ? INT64_MAX : report_work;
  const cvtm_status status =
      cvtm_hlcp_check_theory_within(&p->given.a, &p->given.b, s, work, &check, error);
  if (status == CVTM_ERROR_MEMORY) return status;
  if (status != CVTM_OK) {
    cJSON_AddNullToObject(report, "theory"); /* Newton's method takes matrices that have none */
    return CVTM_OK;
  }
  cJSON *theory = cJSON_AddObjectToObject(report, "theory");
  const int second = check.a_not_h_plus < 0 && check.b_not_h_plus < 0 &&
                     check.omega_too_small < 0 && check.b_dominates < 0 && check.signs_differ < 0;
  const int is_fixed = s->method == CVTM_HLCP_MMJ || s->method == CVTM_HLCP_MMGS;
  const int is_within = s->beta > 0 && s->beta <= s->alpha && s->alpha < check.alpha_limit;
  cJSON_AddBoolToObject(theory, "a_is_h_plus", check.a_not_h_plus < 0);
  cJSON_AddBoolToObject(theory, "b_is_h_plus", check.b_not_h_plus < 0);
  cJSON_AddBoolToObject(theory, "omega_is_large_enough", check.omega_too_small < 0);
  cJSON_AddBoolToObject(theory, "a_dominates_b", check.b_dominates < 0);
  cJSON_AddBoolToObject(theory, "signs_agree", check.signs_differ < 0);
  cJSON_AddBoolToObject(theory, "theorem_2", second);
  cli_json_real(theory, "spectral_radius_bound", check.spectral_bound);
  cli_json_real(theory, "alpha_limit", check.alpha_limit);
  if (s->method != CVTM_HLCP_NEWTON && s->multisplitting == NULL)
    cJSON_AddBoolToObject(theory, "theorem_3", second && (is_fixed || is_within));
  return CVTM_OK;
}

static cvtm_status write_hlcp_report(const problem *p, cvtm_error *error) {
  if (p->options.report == NULL) return CVTM_OK;
  const cvtm_hlcp_result *result = &p->result;
  double largest_z, largest_w;
  const int64_t positive_z = count_positive(p->z_out, p->given.a.rows, &largest_z);
  const int64_t positive_w = count_positive(p->w_out, p->given.a.rows, &largest_w);
  cJSON *report = cli_report_begin(p->device, &p->options);
  cli_json_text(report, "method", cvtm_hlcp_method_name(p->settings.method));
  cli_json_integer(report, "unknowns", p->given.a.rows);
  cli_json_integer(report, "splits", result->splits);
  cli_json_integer(report, "iterations", result->iterations);
  cli_json_integer(report, "linear_iterations", result->linear_iterations);
  cli_json_real(report, "residual", result->residual);
  cli_json_real(report, "max_complementarity", result->max_complementarity);
  cli_json_integer(report, "z_positive", positive_z);
  cli_json_integer(report, "w_positive", positive_w);
  cli_json_real(report, "z_max", largest_z);
  cli_json_real(report, "w_max", largest_w);
  cli_json_text(report, "stop_reason", cvtm_lcp_stop_name(result->stop));
  cJSON_AddBoolToObject(report, "converged", result->stop == CVTM_LCP_CONVERGED);
  if (p->options.hlcp.suggest) {
    cJSON *suggested = cJSON_AddObjectToObject(report, "suggested");
    cli_json_real(suggested, "alpha", p->settings.alpha);
    cli_json_real(suggested, "beta", p->settings.beta);
    cli_json_real(suggested, "omega_ratio", p->settings.omega);
  }
  const cvtm_status status = add_theory(report, p, error);
  if (status != CVTM_OK) {
    cJSON_Delete(report);
    return status;
  }
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  cli_json_real(seconds, "setup", result->setup_seconds);
  cli_json_real(seconds, "solve", result->seconds);
  add_lists(report, p);
  return cli_json_write(p->options.report, report, error);
}

/* Of a film as an array of height x width. */
static cvtm_status write_vector(const problem *p, const char *path, const double *values,
                                cvtm_error *error) {
  const int64_t n = p->given.a.rows, shape[2] = {p->height, p->width};
  if (path == NULL) return CVTM_OK;
  if (p->width == 0) return cvtm_npy_write(path, 'f', (int)sizeof *values, 1, &n, values, error);
  double *lines = malloc((size_t)n * sizeof *lines);
  if (lines == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t k = 0; k < n; ++k)
    lines[k] = values[cvtm_hlcp_film_unknown(p->width, p->height, k % p->width, k / p->width)];
  const cvtm_status status = cvtm_npy_write(path, 'f', (int)sizeof *lines, 2, shape, lines, error);
  free(lines);
  return status;
}

static void print_hlcp_summary(const problem *p) {
  const cvtm_hlcp_result *r = &p->result;
  fprintf(stderr,
          "%s: %lld %s on %s (%s)\n  %lld %s, residual %.6e, %.4f seconds; "
          "stopped by: %s\n",
          cvtm_hlcp_method_name(p->settings.method), (long long)p->given.a.rows,
          cli_word(p->given.a.rows, "unknown", "unknowns"), cvtm_device_name(p->device),
          cvtm_device_description(p->device), (long long)r->iterations,
          cli_word(r->iterations, "iteration", "iterations"), r->residual, r->seconds,
          cvtm_lcp_stop_name(r->stop));
  if (p->options.hlcp.suggest)
    fprintf(stderr, "  suggested: alpha = beta = %g, omega = %g times the ratio\n",
            p->settings.alpha, p->settings.omega);
  if (r->stop != CVTM_LCP_CONVERGED && p->settings.method != CVTM_HLCP_NEWTON)
    fprintf(stderr, "  --check says what the theory asks for; --method newton does without it\n");
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
  int code = check_source(&p->options);
  if (code == CLI_EXIT_OK) code = cli_hlcp_check(&p->options);
  if (code == CLI_EXIT_OK) code = check_outputs(&p->options);
  if (code != CLI_EXIT_OK) return code;
  code = cli_open_device(&p->options, &p->device);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = read_problem(p, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_HLCP, "%s", error.message);
  if (status == CVTM_OK)
    status = cli_hlcp_settings(&p->options, p->given.a.rows, &p->memory, &p->settings, &error);
  p->settings.direct = p->width > 0;
  p->settings.monitor = record_hlcp_step;
  p->settings.monitor_context = &p->history;
  if (status == CVTM_OK) status = check_theory(p, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  /* Problems that the solver refuses are bad input. */
  status = set_up(p);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, cvtm_device_error(p->device));
  status = solve_hlcp(p);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, cvtm_device_error(p->device));
  return finish_hlcp(p);
}

int cli_hlcp(const cli_options *options) {
  problem p;
  memset(&p, 0, sizeof p);
  p.options = *options;
  const int code = perform_hlcp(&p);
  cvtm_hlcp_destroy(p.solver);
  if (p.device != NULL) {
    cvtm_device_free(p.device, p.q);
    cvtm_device_free(p.device, p.z);
    cvtm_device_free(p.device, p.w);
  }
  cvtm_device_destroy(p.device);
  cvtm_hlcp_problem_free(&p.given);
  cli_hlcp_memory_free(&p.memory);
  free(p.z_out);
  free(p.w_out);
  free(p.history.residuals.records);
  return code;
}
