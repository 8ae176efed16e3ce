/* --preset and --preview: defaults of several options at once. Options that are given keep their
 * values. */
#ifndef CVTMESH_CLI_PRESET_H
#define CVTMESH_CLI_PRESET_H

#include "cli/options.h"
#include "cvt/cvt.h"

/* Replaces defaults by those of the preset and of a preview. */
void cli_preset_apply(cli_options *options);
/* In a preview: no more sites than it has time for. */
void cli_preview_limit(cli_options *options);
/* Says on stderr what a preview left out. */
void cli_preview_print(const cli_options *options);
/* Sets what has no option: of the paper's pipeline a history of m = 8, the approximate Cauchy point
 * (of L-BFGS-B in every descent) and no steps of Lloyd's method before. */
void cli_preset_descent(const cli_options *options, cvtm_cvt_options *settings);

#endif
