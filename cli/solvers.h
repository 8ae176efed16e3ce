/* From options to the settings of the solvers, for the commands and for the Python package. */
#pragma once

#include "lbfgsb/lbfgsb.h"
#include "cli/options.h"
#include "lcp/hlcp.h"

/* Fills in the settings, except for the monitors. */
void cli_minimize_settings(const cli_options *options, cvtm_lbfgsb_options *settings);
/* True if the optimiser stopped at a minimum. Without tolerances it descends as far as rounding
 * allows; then a line search that finds no lower value is the normal end. */
int cli_minimize_converged(const cli_options *options, const cvtm_lbfgsb_result *result);

void cli_lcp_settings(const cli_options *options, cvtm_lcp_options *settings);

/* mmj and mmgs have fixed alpha and beta. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message.
 */
int cli_hlcp_check(const cli_options *options);
/* rows: number of rows of A. If --omega names a file, *omega, NULL before, gets its contents, to
 * which the settings point; free it whatever is returned. */
cvtm_status cli_hlcp_settings(const cli_options *options, int64_t rows, double **omega,
                              cvtm_hlcp_options *settings, cvtm_error *error);
