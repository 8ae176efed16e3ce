#include "cli/batch_devices.h"

#include "cli/report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  DEVICES_MAX = 64,
  NAME_SIZE = 24,
  RUNS_PER_GPU = 12, /* more gain nothing (tests/bench/batch_throughput.py) */
};

struct batch_devices {
  char name[DEVICES_MAX][NAME_SIZE];
  int count; /* of devices */
  int runs;  /* handles of each device */
  int threads;
  int is_cuda;
  cvtm_device **handle; /* handle[k] belongs to device k % count */
  int handles;          /* runs that can compute at the same time */
  cvtm_device **idle;   /* a ring buffer of handles that are not lent */
  int first, idle_count;
  pthread_mutex_t lock;
  pthread_cond_t returned;
};

/* Adds the CUDA devices of this rank: all if it is alone on its machine, else every local_size-th;
 * ranks share devices if there are fewer devices than ranks. */
static void add_all(batch_devices *devices, int local_rank, int local_size) {
  const int found = cvtm_cuda_count(NULL);
  if (found == 0) return;
  const int step = local_size < found ? local_size : found;
  for (int k = local_rank % found % step; k < found && devices->count < DEVICES_MAX; k += step)
    snprintf(devices->name[devices->count++], NAME_SIZE, "cuda:%d", k);
}

static cvtm_status add_names(batch_devices *devices, const char *names, int local_rank,
                             int local_size, cvtm_error *error) {
  const int is_auto = strcmp(names, "auto") == 0;
  if (is_auto || strcmp(names, "all") == 0) {
    add_all(devices, local_rank, local_size);
    if (devices->count == 0) strcpy(devices->name[devices->count++], is_auto ? "cpu" : "cuda");
    return CVTM_OK;
  }
  while (*names != '\0') {
    const size_t length = strcspn(names, ",");
    if (length == 0 || length >= NAME_SIZE || devices->count == DEVICES_MAX)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--device: '%s' is no list of devices", names);
    memcpy(devices->name[devices->count++], names, length);
    names += length + (names[length] == ',');
  }
  return CVTM_OK;
}

/* On the CPU many runs with one thread each use the cores best. A run gets several threads only if
 * there are fewer jobs than cores. */
static void share_out(batch_devices *devices, const cli_options *options, const batch_ranks *ranks,
                      int64_t jobs) {
  const int available = options->threads > 0 ? (int)options->threads : batch_ranks_cores(ranks);
  const int most = devices->is_cuda ? RUNS_PER_GPU : available;
  const int64_t needed = (jobs + devices->count - 1) / devices->count;
  devices->runs = options->batch.jobs > 0 ? (int)options->batch.jobs : most;
  if (needed < devices->runs) devices->runs = needed > 1 ? (int)needed : 1;
  devices->threads = available / devices->runs;
  if (devices->is_cuda || devices->threads < 1) devices->threads = 1;
  devices->handles = devices->count * devices->runs;
}

static cvtm_status open_handles(batch_devices *devices, cvtm_error *error) {
  devices->handle = calloc((size_t)devices->handles, sizeof(cvtm_device *));
  devices->idle = calloc((size_t)devices->handles, sizeof(cvtm_device *));
  if (devices->handle == NULL || devices->idle == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for devices");
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < devices->handles && status == CVTM_OK; ++k) {
    cvtm_device **handle = &devices->handle[k];
    status = cvtm_device_create(devices->name[k % devices->count], devices->threads, handle, error);
    if (status == CVTM_OK && (status = cvtm_device_share(*handle)) != CVTM_OK)
      (void)cvtm_fail(error, status, "%s", cvtm_device_error(*handle)->message);
    devices->idle[k] = *handle;
  }
  devices->idle_count = devices->handles;
  return status;
}

static void close_handles(batch_devices *devices) {
  for (int k = 0; devices->handle != NULL && k < devices->handles; ++k)
    cvtm_device_destroy(devices->handle[k]);
  free(devices->handle);
  free(devices->idle);
  devices->handle = devices->idle = NULL;
}

cvtm_status batch_devices_open(const cli_options *options, const batch_ranks *ranks, int64_t jobs,
                               batch_devices **result, cvtm_error *error) {
  /* With the default of 8 connections, further streams would wait for one another. */
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  batch_devices *devices = calloc(1, sizeof *devices);
  if (devices == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for devices");
  pthread_mutex_init(&devices->lock, NULL);
  pthread_cond_init(&devices->returned, NULL);
  cvtm_status status = add_names(devices, options->device, batch_ranks_local_rank(ranks),
                                 batch_ranks_local_size(ranks), error);
  if (status == CVTM_OK) {
    devices->is_cuda = strncmp(devices->name[0], "cuda", 4) == 0;
    share_out(devices, options, ranks, jobs);
    status = open_handles(devices, error);
  }
  if (status != CVTM_OK && devices->is_cuda && strcmp(options->device, "auto") == 0) {
    close_handles(devices); /* CUDA devices exist, but this build or its driver cannot use them */
    devices->count = 1;
    devices->is_cuda = 0;
    strcpy(devices->name[0], "cpu");
    share_out(devices, options, ranks, jobs);
    status = open_handles(devices, error);
  }
  if (status == CVTM_OK)
    *result = devices;
  else
    batch_devices_close(devices);
  return status;
}

void batch_devices_close(batch_devices *devices) {
  if (devices == NULL) return;
  close_handles(devices);
  pthread_cond_destroy(&devices->returned);
  pthread_mutex_destroy(&devices->lock);
  free(devices);
}

int batch_devices_lanes(const batch_devices *devices) {
  return devices->is_cuda ? 2 * devices->handles : devices->handles + 1;
}

int batch_devices_threads(const batch_devices *devices) { return devices->threads; }

cvtm_device *batch_devices_lend(batch_devices *devices) {
  pthread_mutex_lock(&devices->lock);
  while (devices->idle_count == 0) pthread_cond_wait(&devices->returned, &devices->lock);
  cvtm_device *device = devices->idle[devices->first];
  devices->first = (devices->first + 1) % devices->handles;
  --devices->idle_count;
  pthread_mutex_unlock(&devices->lock);
  return device;
}

void batch_devices_give_back(batch_devices *devices, cvtm_device *device) {
  pthread_mutex_lock(&devices->lock);
  devices->idle[(devices->first + devices->idle_count) % devices->handles] = device;
  ++devices->idle_count;
  pthread_cond_signal(&devices->returned);
  pthread_mutex_unlock(&devices->lock);
}

void batch_devices_describe(const batch_devices *devices, char *text, size_t capacity) {
  snprintf(text, capacity, "%d x %s (%s), %d run%s at a time on each", devices->count,
           cvtm_device_name(devices->handle[0]), cvtm_device_description(devices->handle[0]),
           devices->runs, devices->runs == 1 ? "" : "s");
}

void batch_devices_report(const batch_devices *devices, cJSON *report) {
  cJSON *array = cJSON_AddArrayToObject(report, "devices");
  for (int k = 0; k < devices->count; ++k) {
    cJSON *entry = cJSON_CreateObject();
    cli_json_device(entry, devices->handle[k]);
    cli_json_integer(entry, "runs_at_a_time", devices->runs);
    cli_json_append(array, entry);
  }
}
