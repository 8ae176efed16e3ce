#include "cli/noise.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "noise/gaussian.h"

#include <math.h>
#include <stdlib.h>

int cli_noise_check(const cli_options *options) {
  static const char *const of_tessellations[] = {"method", "energy", "voronoi",           "effort",
                                                 "reseed", "watch",  "gradient-tolerance"};
  const cli_command command = options->command;
  if (options->noise != CLI_NOISE_BLUE) return CLI_EXIT_OK;
  if (options->equal_mass.on)
    return cli_usage_error(command, "--equal-mass makes a tessellation, which --noise blue is not");
  if (options->domain.kind != 0)
    return cli_usage_error(command, "--noise blue cannot keep the boundary of a --domain");
  for (size_t k = 0; k < sizeof of_tessellations / sizeof of_tessellations[0]; ++k)
    if (cli_option_given(options, of_tessellations[k]))
      return cli_usage_error(command, "--%s is of tessellations; --noise blue makes none",
                             of_tessellations[k]);
  return CLI_EXIT_OK;
}

void cli_noise_choose(cli_options *options) {
  cvtm_gaussian_options gaussian;
  if (options->noise != CLI_NOISE_BLUE) return;
  cvtm_gaussian_defaults(&gaussian);
  if (!cli_option_given(options, "iterations")) options->iterations = gaussian.max_iterations;
  if (!cli_option_given(options, "tolerance")) options->tolerance = gaussian.tolerance;
  /* Strata leave peaks in the spectrum. */
  if (!cli_option_given(options, "start")) options->start = CVTM_CVT_START_RANDOM;
}

static int ask_to_stop(void *context, const cvtm_lbfgsb_progress *progress) {
  (void)context;
  (void)progress;
  return cli_interrupted();
}

static float *root_of(cvtm_domain domain, const float *density) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *root = malloc((size_t)pixels * sizeof *root);
  for (int64_t p = 0; root != NULL && p < pixels; ++p) root[p] = sqrtf(density[p]);
  return root;
}

cvtm_status cli_noise_solve(const cli_options *options, cvtm_domain domain, const float *density,
                            int64_t fixed, int64_t given, double *sites, int64_t count,
                            cvtm_cvt_result *result, cli_noise_result *noise, cvtm_error *error) {
  cvtm_gaussian_options gaussian;
  cvtm_lbfgsb_result found;
  cvtm_gaussian_defaults(&gaussian);
  gaussian.max_iterations = options->iterations;
  gaussian.tolerance = options->tolerance;
  gaussian.max_seconds = options->time_limit;
  gaussian.fixed = fixed;
  gaussian.threads = (int)options->threads;
  gaussian.monitor = ask_to_stop;
  cvtm_status status = cvtm_cvt_sample(domain, density, count - given, (uint64_t)options->seed,
                                       (cvtm_cvt_start)options->start, sites + 2 * given, error);
  if (status != CVTM_OK) return status;
  float *root = root_of(domain, density);
  if (root == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a density");
  status = cvtm_gaussian_noise(domain, root, &gaussian, sites, count, &found, error);
  free(root);
  if (status != CVTM_OK) return status;
  result->stop = found.stop;
  result->iterations = found.iterations;
  result->evaluations = found.evaluations;
  result->seconds_evaluation = found.evaluation_seconds;
  result->seconds_optimizer = found.seconds - found.evaluation_seconds;
  noise->energy = found.f / (double)count;
  return CVTM_OK;
}

void cli_noise_report(const cli_options *options, const cli_noise_result *noise, cJSON *report) {
  if (options->noise != CLI_NOISE_BLUE) return;
  cJSON *entry = cJSON_AddObjectToObject(report, "noise");
  cli_json_text(entry, "kind", "blue");
  cli_json_real(entry, "energy", noise->energy);
}
