/* Summaries of results. */
#pragma once

#include "cli/options.h"
#include "run/domain.h"
#include "run/page.h"
#include "run/stipples.h"

#include <stdio.h>

/* Prints the summary on stderr. options: those of the command. */
void cli_run_print_summary(const cli_options *options, const cvtm_run *run);
void cli_refine_print_summary(const cvtm_refine_options *refine,
                              const cvtm_refine_figures *figures);
void cli_order_print_summary(const run_point_order *order);
void cli_plot_print(const run_plot *plot);
/* Prints the machines of --plotter on stdout. */
int cli_print_plotters(void);
void cli_world_print(const cvtm_run_options *options, cvtm_domain domain);
/* Prints a line that begins with `title` if the dots were measured. */
void cli_stipples_print(const run_stipples *stipples, FILE *stream, const char *title);
