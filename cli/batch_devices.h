/* The devices of a batch: several handles to each, lent to one run at a time. */
#ifndef CVTMESH_CLI_BATCH_DEVICES_H
#define CVTMESH_CLI_BATCH_DEVICES_H

#include "base/device.h"
#include "cli/options.h"

#include <cjson/cJSON.h>

typedef struct batch_devices batch_devices;

/* Opens those of --device: auto and all mean every CUDA device, shared out among the ranks of
 * this machine, and auto the CPU where there is none. jobs: the most that there can be to do. */
cvtm_status batch_devices_open(const cli_options *options, int local_rank, int local_size,
                               int64_t jobs, batch_devices **devices, cvtm_error *error);
/* How many runs can compute at once. */
int batch_devices_handles(const batch_devices *devices);
/* Threads that should read, compute and write so that the devices need not wait. */
int batch_devices_lanes(const batch_devices *devices);
/* CPU threads for each of them. */
int batch_devices_threads(const batch_devices *devices);
/* Waits for a free one, in the order of giving back. */
cvtm_device *batch_devices_lend(batch_devices *devices);
void batch_devices_give_back(batch_devices *devices, cvtm_device *device);
/* "2 x NVIDIA H200, 16 runs at a time on each" */
void batch_devices_describe(const batch_devices *devices, char *text, size_t capacity);
/* Adds `devices`: name, description, runs_at_a_time of each. */
void batch_devices_report(const batch_devices *devices, cJSON *report);
void batch_devices_close(batch_devices *devices);

#endif
