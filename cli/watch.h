/* `run --watch DIR`: draws a picture of the optimisation every --every iterations, without a
 * display, and writes the page DIR/index.html with all pictures. */
#pragma once

#include "cli/options.h"

typedef struct cli_watch cli_watch;

/* Reads --window of `view` and `run --watch`, or sets its default. Returns CLI_EXIT_OK, or
 * CLI_EXIT_USAGE after a message. */
int cli_view_size(const cli_options *options, int *width, int *height);
/* Checks --watch and --window. Returns an exit code. */
int cli_watch_check(const cli_options *options);

/* Follows a run: at its beginning creates the folder, and an OpenGL context of the calling thread;
 * draws pictures; frees the context after the last picture. options and run are borrowed until
 * cli_watch_destroy. Returns nonzero on failure; cli_watch_status then returns the error. */
int cli_watch_event(const cli_options *options, const cvtm_run_progress *now, cli_watch **watch);
/* Returns CVTM_OK, or the error of the first picture that failed. */
cvtm_status cli_watch_status(const cli_watch *watch, cvtm_error *error);
/* Writes the page, with the report of the run. */
cvtm_status cli_watch_page(const cli_watch *watch, const cvtm_run *run, cvtm_error *error);
/* NULL is allowed. */
void cli_watch_destroy(cli_watch *watch);
