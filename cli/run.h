/* Stages of `run`, besides run/stages.h. Each returns CLI_EXIT_OK, or an exit code after a
 * message. */
#pragma once

#include "cli/cli.h"
#include "run/stages.h"

/* Checks the options against each other, before any file is read or written. */
int cli_run_check(const cli_options *options);
/* cli_run_check, but a run that writes no file is allowed. */
int cli_run_check_values(const cli_options *options);

/* --domain auto: a mesh covers the frame of the picture, unless points or dots are also written,
 * options determine where sites are, or the run is divided among ranks. */
void cli_run_choose_domain(cli_options *options);

/* progress: zero before. Both progress and options are borrowed as long as the run lives. */
int cli_run_create(cli_options *options, cli_progress *progress, cvtm_run **run);
int cli_run_place(const cli_progress *progress, cvtm_run *run, cvtm_device *device);
/* Writes every file of the options, and the page of --watch. */
int cli_run_write(const cli_progress *progress, cvtm_run *run);
