/* `run --watch DIR`: pictures of the optimisation every so many iterations, drawn without a
 * display, and one page DIR/index.html with all of them. */
#ifndef CVTMESH_CLI_WATCH_H
#define CVTMESH_CLI_WATCH_H

#include "base/device.h"
#include "base/domain.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cvt/cvt.h"

typedef struct cli_watch cli_watch;

/* Usage errors of --watch and --size; CLI_EXIT_OK otherwise. */
int cli_watch_check(const cli_options *options);

/* Makes the folder and an OpenGL context of the calling thread. Everything is borrowed until
 * cli_watch_last; the progress is told of every record before a picture is made. count sites will
 * there be in the end, and bound is that of their energy. CVTM_ERROR_UNSUPPORTED in a build without
 * the viewer. */
cvtm_status cli_watch_start(const cli_options *options, cvtm_device *device, cvtm_domain domain,
                            const float *density, const cvtm_cvt *cvt, int64_t count, double bound,
                            cli_progress *progress, cli_watch **watch, cvtm_error *error);
/* A cvtm_cvt_monitor; context is the cli_watch. Asks to stop when a picture cannot be made, which
 * cli_watch_last then reports. */
int cli_watch_monitor(void *context, const cvtm_cvt_record *record);
/* The picture of the final sites, by the same thread; frees what draws. */
cvtm_status cli_watch_last(cli_watch *watch, const double *sites, const cvtm_cvt_result *result,
                           cvtm_error *error);
/* The page; report: JSON text. */
cvtm_status cli_watch_page(const cli_watch *watch, const char *report, cvtm_error *error);
/* NULL is allowed. */
void cli_watch_destroy(cli_watch *watch);

#endif
