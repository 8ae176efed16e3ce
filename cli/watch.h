/* `run --watch DIR`: draws a picture of the optimisation every --every iterations, without a
 * display, and writes the page DIR/index.html with all of them. */
#ifndef CVTMESH_CLI_WATCH_H
#define CVTMESH_CLI_WATCH_H

#include "base/device.h"
#include "base/domain.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cvt/cvt.h"

typedef struct cli_watch cli_watch;

/* --size of `view` and `run --watch`, or its default; 0 if it is no size. */
int cli_view_size(const cli_options *options, int *width, int *height);
/* Checks --watch and --size. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_watch_check(const cli_options *options);

/* Creates the folder, and an OpenGL context of the calling thread. Every argument is borrowed until
 * cli_watch_last. The monitor passes each record to `progress` first. count: the final number of
 * sites; bound: the lower bound of their energy. Fails with CVTM_ERROR_UNSUPPORTED in a build
 * without the viewer. */
cvtm_status cli_watch_start(const cli_options *options, cvtm_device *device, cvtm_domain domain,
                            const float *density, const cvtm_cvt *cvt, int64_t count, double bound,
                            cli_progress *progress, cli_watch **watch, cvtm_error *error);
/* A cvtm_cvt_monitor; context is the cli_watch. Asks to stop if a picture fails; cli_watch_last
 * then returns the error. */
int cli_watch_monitor(void *context, const cvtm_cvt_record *record);
/* Draws the final sites, in the same thread, and frees the OpenGL context. */
cvtm_status cli_watch_last(cli_watch *watch, const double *sites, const cvtm_cvt_result *result,
                           cvtm_error *error);
/* Writes the page. report: JSON text that it shows. */
cvtm_status cli_watch_page(const cli_watch *watch, const char *report, cvtm_error *error);
/* NULL is allowed. */
void cli_watch_destroy(cli_watch *watch);

#endif
