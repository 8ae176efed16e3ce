/* One run in stages, so that a batch can read and write while a device computes. A stage
 * returns CLI_EXIT_OK if the next may follow; else the exit code, after a message. */
#ifndef CVTMESH_CLI_RUN_H
#define CVTMESH_CLI_RUN_H

#include "base/device.h"
#include "cli/options.h"

typedef struct cli_run_job cli_run_job;

/* What the options ask of each other, before any file is touched. */
int cli_run_check(const cli_options *options);

/* Copies the options; their strings stay the caller's. */
int cli_run_create(const cli_options *options, cli_run_job **job);
/* The picture, its density and the first sites. device: where smoothing and segmentation
 * work; NULL: on the CPU. */
int cli_run_read(cli_run_job *job, cvtm_device *device);
/* Minimises and evaluates. The device may serve other runs afterwards; it is borrowed until
 * the job is destroyed, for its name. */
int cli_run_solve(cli_run_job *job, cvtm_device *device);
/* Mesh, quality, and every file that the options name; needs no device. */
int cli_run_write(cli_run_job *job);
void cli_run_print_summary(const cli_run_job *job);
void cli_run_destroy(cli_run_job *job);

#endif
