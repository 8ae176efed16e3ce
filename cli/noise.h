/* `run --noise`: what kind of noise the sites shall be. */
#ifndef CVTMESH_CLI_NOISE_H
#define CVTMESH_CLI_NOISE_H

#include "cli/options.h"
#include "cvt/cvt.h"

#include <cjson/cJSON.h>

typedef struct cli_noise_result {
  double energy; /* of cvtm_gaussian_noise, for each site */
} cli_noise_result;

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_noise_check(const cli_options *options);
/* Sets the defaults of options that depend on --noise. */
void cli_noise_choose(cli_options *options);
/* Samples the sites that were not given, and moves all but the fixed ones to blue noise. The sites
 * of a tessellation have the square root of its density, so blue noise is made for that root. Fails
 * with the device's error. */
cvtm_status cli_noise_solve(const cli_options *options, cvtm_device *device, cvtm_domain domain,
                            const float *density, int64_t fixed, int64_t given, double *sites,
                            int64_t count, cvtm_cvt_result *result, cli_noise_result *noise);
/* Adds `noise` with --noise blue. */
void cli_noise_report(const cli_options *options, const cli_noise_result *noise, cJSON *report);

#endif
