/* Settings of the solvers from options, for the commands and for the Python package. */
#pragma once

#include "lbfgsb/lbfgsb.h"
#include "cli/options.h"
#include "lcp/hlcp.h"

/* Sets all settings except the monitors. */
void cli_minimize_settings(const cli_options *options, cvtm_lbfgsb_options *settings);
/* True if the optimiser stopped at a minimum. Without tolerances it descends as far as rounding
 * allows; the normal end is then a line search that finds no lower value. */
int cli_minimize_converged(const cli_options *options, const cvtm_lbfgsb_result *result);

void cli_lcp_settings(const cli_options *options, cvtm_lcp_options *settings);

/* Refuses alpha and beta where mmj and mmgs have other ones. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE
 * after a message. */
int cli_hlcp_check(const cli_options *options);
/* Sets the settings of the solver. rows: number of rows of A. *omega: NULL before; if --omega names
 * a file, gets its contents, to which the settings point. *omega must be freed also on failure. */
cvtm_status cli_hlcp_settings(const cli_options *options, int64_t rows, double **omega,
                              cvtm_hlcp_options *settings, cvtm_error *error);
