/* One run in stages, so that a batch can read and write files while a device computes. Each stage
 * returns CLI_EXIT_OK, or the exit code after a message; then no further stage may follow. */
#ifndef CVTMESH_CLI_RUN_H
#define CVTMESH_CLI_RUN_H

#include "base/device.h"
#include "base/domain.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cvt/cvt.h"

typedef struct cli_run_job cli_run_job;

/* Checks the options against each other, before any file is read or written. */
int cli_run_check(const cli_options *options);
/* The same, but a run that writes no file is allowed. */
int cli_run_check_values(const cli_options *options);

/* Copies the options; their strings must outlive the job. */
int cli_run_create(const cli_options *options, cli_run_job **job);
/* Reads the image, computes its density and takes the sites of --fixed and --init. device: for
 * smoothing and segmentation; NULL: the CPU. */
int cli_run_read(cli_run_job *job, cvtm_device *device);
/* Before cli_run_solve: the array that was read is also in the memory of the device of the run,
 * with `pixels` values, and stays there unchanged. array: its values on the host. Where they are
 * the density, bit for bit, the device uses that array and gets no copy. */
void cli_run_lend(cli_run_job *job, const float *array, int64_t pixels, const float *on_device);
/* Minimises the energy and evaluates the result. Other runs may use the device afterwards, but it
 * must outlive the job, which reports its name. */
int cli_run_solve(cli_run_job *job, cvtm_device *device);
/* --order: puts the sites into the order of a pen. A signal or --time-limit stops this early; the
 * files then differ from those of a run without. */
int cli_run_order(cli_run_job *job);
/* Is the mesh so large that a CUDA device makes it sooner? */
int cli_run_mesh_is_large(const cli_run_job *job);
/* Computes mesh, cells and quality. device: for a large mesh; NULL: the CPU. */
int cli_run_mesh(cli_run_job *job, cvtm_device *device);
/* Writes every file that the options name; uses no device. */
int cli_run_write(cli_run_job *job);
/* Writes the files that other options name, once the mesh is made. asked: the options of the job,
 * of which those of the outputs may be others. An SVG of dots needs cli_run_keep_tone. */
int cli_run_save(cli_run_job *job, const cli_options *asked);
/* Before cli_run_read: the job keeps the ink of the picture, whatever its outputs are. */
void cli_run_keep_tone(cli_run_job *job);
/* After the mesh: false if a solver did not converge, or a mesh misses its smallest angle. */
int cli_run_converged(const cli_run_job *job);
void cli_run_print_summary(const cli_run_job *job);
void cli_run_destroy(cli_run_job *job);

/* --preset and --effort preview: defaults of several options at once. Options that are given keep
 * their values. */

/* Replaces defaults by those of the preset and of a preview. */
void cli_preset_apply(cli_options *options);
/* Says on stderr what a preview left out. */
void cli_preview_print(const cli_options *options);
/* Sets what has no option: of the paper's pipeline a history of m = 8, the approximate Cauchy point
 * (of L-BFGS-B in every descent) and no steps of Lloyd's method before. */
void cli_preset_descent(const cli_options *options, cvtm_cvt_options *settings);

/* `run --watch DIR`: draws a picture of the optimisation every --every iterations, without a
 * display, and writes the page DIR/index.html with all of them. */

typedef struct cli_watch cli_watch;

/* --window of `view` and `run --watch`, or its default; 0 if it is no size. */
int cli_view_size(const cli_options *options, int *width, int *height);
/* Checks --watch and --window. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
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
