#include "cli/equal_mass.h"

#include "cli/cli.h"
#include "cli/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

int cli_equal_mass_check(const cli_options *options) {
  const cli_command command = options->command;
  if (!options->equal_mass.on) {
    if (cli_option_given(options, "mass-tolerance"))
      return cli_usage_error(command, "--mass-tolerance belongs to --equal-mass");
    if (options->equal_mass.weights_out != NULL)
      return cli_usage_error(command, "--weights-out belongs to --equal-mass");
    return CLI_EXIT_OK;
  }
  if (options->energy != CVTM_CVT_EXACT)
    return cli_usage_error(command, "--equal-mass needs --energy exact");
  if (options->preset != CLI_PRESET_NONE)
    return cli_usage_error(command, "--preset is of plain tessellations, not of --equal-mass");
  if (options->domain.kind != 0)
    return cli_usage_error(command,
                           "--equal-mass cannot keep the boundary of a --domain, nor "
                           "angles: --within FILE keeps the sites in a shape");
  if (options->view.watch != NULL)
    return cli_usage_error(command, "--watch cannot show the cells of --equal-mass");
  return CLI_EXIT_OK;
}

static cvtm_status hold_sites(const cli_options *options, cvtm_cvt *cvt, cvtm_domain domain,
                              const float *density, int64_t given, double *sites, int64_t count,
                              const cvtm_cvt_moments *moments, cli_equal_mass *made,
                              cvtm_error *error) {
  cvtm_status status =
      cvtm_equal_mass_sample(domain, density, count - given, (uint64_t)options->seed,
                             (cvtm_cvt_start)options->start, sites + 2 * given, error);
  if (status == CVTM_OK)
    status = cvtm_equal_mass_weights(cvt, sites, count, options->equal_mass.tolerance,
                                     made->weights, moments, &made->result);
  made->result.descent.stop = options->iterations == 0 ? CVTM_STOP_ITERATIONS : CVTM_STOP_GRADIENT;
  return status;
}

static float *square_of(cvtm_domain domain, const float *density) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *square = malloc((size_t)pixels * sizeof *square);
  for (int64_t p = 0; square != NULL && p < pixels; ++p)
    square[p] = fminf(density[p] * density[p], FLT_MAX);
  return square;
}

void cli_equal_mass_free(cli_equal_mass *made) {
  free(made->weights);
  free(made->drawn);
}

cvtm_status cli_equal_mass_solve(const cli_options *options, cvtm_cvt *cvt, cvtm_domain domain,
                                 const float *density, const cvtm_cvt_options *settings,
                                 int64_t given, int hold, double *sites, int64_t count,
                                 const cvtm_cvt_moments *moments, cli_equal_mass *made,
                                 cvtm_error *error) {
  made->tolerance = options->equal_mass.tolerance;
  made->weights = malloc((size_t)count * sizeof *made->weights);
  made->drawn = square_of(domain, density);
  if (made->weights == NULL || made->drawn == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const cvtm_status status =
      hold ? hold_sites(options, cvt, domain, density, given, sites, count, moments, made, error)
           : cvtm_equal_mass_solve(cvt, settings, made->tolerance, given, sites, made->weights,
                                   count, moments, &made->result);
  if (status != CVTM_OK) return status;
  made->least = INFINITY;
  made->most = 0;
  for (int64_t i = 0; i < count; ++i) {
    made->least = fmin(made->least, moments->mass[i] / made->result.target);
    made->most = fmax(made->most, moments->mass[i] / made->result.target);
  }
  return CVTM_OK;
}

void cli_equal_mass_report(const cli_equal_mass *made, cJSON *report) {
  const cvtm_equal_mass_result *result = &made->result;
  cJSON *entry = cJSON_AddObjectToObject(report, "equal_mass");
  cli_json_real(entry, "mass", result->target);
  cli_json_real(entry, "tolerance", made->tolerance);
  cJSON_AddBoolToObject(entry, "converged", result->converged);
  cli_json_real(entry, "least_mass", made->least);
  cli_json_real(entry, "largest_mass", made->most);
  cli_json_real(entry, "largest_deviation", result->deviation);
  cli_json_real(entry, "rms_deviation", result->deviation_rms);
  cli_json_integer(entry, "start_iterations", result->start_iterations);
  cli_json_integer(entry, "newton_steps", result->newton_steps);
  cli_json_integer(entry, "diagrams", result->diagrams);
  cli_json_integer(entry, "solver_iterations", result->solver_iterations);
  cli_json_real(entry, "seconds_start", result->seconds_start);
  cli_json_real(entry, "seconds_diagrams", result->seconds_diagrams);
  cli_json_real(entry, "seconds_solver", result->seconds_solver);
}

void cli_equal_mass_print_summary(const cli_equal_mass *made) {
  const cvtm_equal_mass_result *result = &made->result;
  fprintf(stderr, "  masses     equal to %.1e; %lld %s, %lld Newton %s\n", result->deviation,
          (long long)result->diagrams, cli_word(result->diagrams, "diagram", "diagrams"),
          (long long)result->newton_steps, cli_word(result->newton_steps, "step", "steps"));
  if (!result->converged)
    fprintf(stderr, "  note       rounding keeps the masses from --mass-tolerance %g\n",
            made->tolerance);
}
