#include "cli/noise.h"

#include "base/portable.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cvt/gaussian.h"

#include <math.h>
#include <stdlib.h>

int cli_noise_check(const cli_options *options) {
  static const char *const of_tessellations[] = {"preset",  "method", "energy",
                                                 "voronoi", "watch",  "gradient-tolerance"};
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
  if (!cli_option_given(options, "tolerance")) options->tolerance = gaussian.tolerance;
  if (cli_option_given(options, "iterations")) return;
  options->iterations = gaussian.max_iterations;
  if (options->effort == CVTM_CVT_EFFORT_LOW) options->iterations /= 2;
  if (options->effort >= CVTM_CVT_EFFORT_HIGH) options->iterations *= 2;
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

/* Moves sites by a random vector with a standard deviation of half the local spacing along each
 * axis: strata may be the squares of a grid, which the descent would find again. `root`: the wanted
 * density but for a factor; `total`: of sites. */
static void shake(cvtm_domain domain, const float *root, int64_t total, uint64_t seed,
                  double *sites, int64_t count) {
  const uint64_t stream = 2; /* cvtm_cvt_sample draws from 0 and 1 */
  const double side[2] = {domain.width, domain.height};
  double mass = 0;
  for (int64_t p = 0; p < (int64_t)domain.width * domain.height; ++p) mass += (double)root[p];
  for (int64_t i = 0; i < count; ++i) {
    double *place = sites + 2 * i, draw[2];
    const int64_t x = (int64_t)fmin(place[0], side[0] - 1),
                  y = (int64_t)fmin(place[1], side[1] - 1);
    const double spacing = sqrt(mass / ((double)total * (double)root[y * domain.width + x]));
    cvtm_random_uniform2(seed, stream, (uint64_t)i, draw);
    const double length = 0.5 * spacing * sqrt(-2 * log(1 - draw[0]));
    const double moved[2] = {place[0] + length * cos(2 * CVTM_PI * draw[1]),
                             place[1] + length * sin(2 * CVTM_PI * draw[1])};
    for (int axis = 0; axis < 2; ++axis)
      if (moved[axis] >= 0 && moved[axis] < side[axis]) place[axis] = moved[axis];
  }
}

cvtm_status cli_noise_solve(const cli_options *options, cvtm_device *device, cvtm_domain domain,
                            const float *density, int64_t fixed, int64_t given, double *sites,
                            int64_t count, cvtm_cvt_result *result, cli_noise_result *noise) {
  cvtm_error *error = cvtm_device_error(device);
  cvtm_gaussian_options gaussian;
  cvtm_lbfgsb_result found;
  cvtm_gaussian_defaults(&gaussian);
  gaussian.max_iterations = options->iterations;
  gaussian.tolerance = options->tolerance;
  gaussian.max_seconds = options->time_limit;
  gaussian.fixed = fixed;
  gaussian.monitor = ask_to_stop;
  cvtm_status status = cvtm_cvt_sample(domain, density, count - given, (uint64_t)options->seed,
                                       (cvtm_cvt_start)options->start, sites + 2 * given, error);
  if (status != CVTM_OK) return status;
  float *root = root_of(domain, density);
  if (root == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a density");
  shake(domain, root, count, (uint64_t)options->seed, sites + 2 * given, count - given);
  status = cvtm_gaussian_noise(device, domain, root, &gaussian, sites, count, &found);
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
