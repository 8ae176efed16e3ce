/* The devices of a batch. Each device has several handles; a handle is lent to one run at a
 * time. */
#ifndef CVTMESH_CLI_BATCH_DEVICES_H
#define CVTMESH_CLI_BATCH_DEVICES_H

#include "base/device.h"
#include "cli/batch_ranks.h"
#include "cli/options.h"

#include <cjson/cJSON.h>

typedef struct batch_devices batch_devices;

/* Opens the devices of --device. `auto` and `all` mean every CUDA device, divided among the ranks
 * of this machine; `auto` means the CPU if there is none. jobs: an upper bound of the number of
 * jobs. */
cvtm_status batch_devices_open(const cli_options *options, const batch_ranks *ranks, int64_t jobs,
                               batch_devices **devices, cvtm_error *error);
/* The number of lanes that keeps all devices busy. */
int batch_devices_lanes(const batch_devices *devices);
/* The number of CPU threads of each lane. */
int batch_devices_threads(const batch_devices *devices);
/* Waits until a handle is free; the handle that was returned first is lent first. */
cvtm_device *batch_devices_lend(batch_devices *devices);
void batch_devices_give_back(batch_devices *devices, cvtm_device *device);
/* "2 x NVIDIA H200, 16 runs at a time on each" */
void batch_devices_describe(const batch_devices *devices, char *text, size_t capacity);
/* Adds the array `devices`, with name, description and runs_at_a_time of each. */
void batch_devices_report(const batch_devices *devices, cJSON *report);
void batch_devices_close(batch_devices *devices);

#endif
