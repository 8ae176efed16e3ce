#include "base/device.h"

#include "base/device_kernels.h"
#include "base/host.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { MAX_THREADS = 4096 };

static int default_threads(void) {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
  return threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
#else
  return 1;
#endif
}

int cvtm_cuda_count(const char **reason) {
#if CVTMESH_HAVE_CUDA
  return cvtm_cuda_count_devices(reason);
#else
  if (reason) *reason = "this build has no CUDA support";
  return 0;
#endif
}

int64_t cvtm_cuda_memory(int index) {
#if CVTMESH_HAVE_CUDA
  return cvtm_cuda_memory_of_device(index);
#else
  (void)index;
  return 0;
#endif
}

/* Reads `cuda` (device 0) or `cuda:N`; nonzero if the name has that form. */
static int parse_cuda_name(const char *name, int *index) {
  if (strncmp(name, "cuda", 4) != 0) return 0;
  *index = 0;
  if (name[4] == '\0') return 1;
  if (name[4] != ':' || name[5] == '\0') return 0;
  int value = 0;
  for (const char *digit = name + 5; *digit; ++digit) {
    if (*digit < '0' || *digit > '9' || value > (INT_MAX - 9) / 10) return 0;
    value = 10 * value + (*digit - '0');
  }
  *index = value;
  return 1;
}

static void close_device(cvtm_device *device) {
  if (device->scratch) device->table->release(device, device->scratch);
  for (int k = 0; k < device->workspace_count; ++k)
    device->table->release(device, device->workspaces[k]);
  if (device->table->close) device->table->close(device);
  free(device);
}

static cvtm_status open_device(const cvtm_device_table *table, cvtm_device_kind kind, int index,
                               int threads, cvtm_device **result, cvtm_error *error) {
  cvtm_device *device = calloc(1, sizeof *device);
  if (!device) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  device->table = table;
  device->kind = kind;
  device->index = index;
  device->threads = threads > 0 ? threads : default_threads();
  if (kind == CVTM_DEVICE_CPU)
    snprintf(device->name, sizeof device->name, "cpu");
  else
    snprintf(device->name, sizeof device->name, "cuda:%d", index);
  const cvtm_status status = table->open(device, index);
  if (status != CVTM_OK) {
    cvtm_fail(error, status, "%s", device->error.message);
    close_device(device);
    return status;
  }
  *result = device;
  return CVTM_OK;
}

static cvtm_status open_cuda(int index, int threads, cvtm_device **device, cvtm_error *error) {
  const char *reason = "";
  const int count = cvtm_cuda_count(&reason);
  if (count == 0) {
    return cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE, "cuda: %s", reason);
  }
  if (index >= count) {
    return cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE, "cuda:%d: this machine has %d device%s",
                     index, count, count == 1 ? "" : "s");
  }
#if CVTMESH_HAVE_CUDA
  return open_device(&cvtm_device_table_cuda, CVTM_DEVICE_CUDA, index, threads, device, error);
#else
  (void)threads;
  (void)device;
  return CVTM_ERROR_DEVICE_UNAVAILABLE; /* no CUDA device was found */
#endif
}

cvtm_status cvtm_device_create(const char *name, int threads, cvtm_device **device,
                               cvtm_error *error) {
  if (!name || !device) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no device name or result");
  if (threads < 0 || threads > MAX_THREADS) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "threads must be 0 to %d, not %d", MAX_THREADS,
                     threads);
  }
  int index = 0;
  if (parse_cuda_name(name, &index)) return open_cuda(index, threads, device, error);
  const int is_auto = strcmp(name, "auto") == 0;
  if (!is_auto && strcmp(name, "cpu") != 0) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "unknown device '%s': use cpu, cuda, cuda:N or auto", name);
  }
  if (is_auto && open_cuda(0, threads, device, NULL) == CVTM_OK) return CVTM_OK;
  return open_device(&cvtm_device_table_cpu, CVTM_DEVICE_CPU, 0, threads, device, error);
}

void cvtm_device_destroy(cvtm_device *device) {
  if (!device) return;
  cvtm_device_activate(device);
  close_device(device);
}

cvtm_status cvtm_device_share(cvtm_device *device) {
  CVTM_TRY(cvtm_device_activate(device));
  return device->table->share ? device->table->share(device) : CVTM_OK;
}

cvtm_device_kind cvtm_device_get_kind(const cvtm_device *device) { return device->kind; }

const char *cvtm_device_name(const cvtm_device *device) { return device->name; }

const char *cvtm_device_description(const cvtm_device *device) { return device->description; }

int cvtm_device_threads(const cvtm_device *device) { return device->threads; }

cvtm_error *cvtm_device_error(cvtm_device *device) { return &device->error; }

void *cvtm_device_stream(const cvtm_device *device) { return device->stream; }

void cvtm_device_set_stream(cvtm_device *device, void *stream) {
  if (device->kind == CVTM_DEVICE_CUDA) device->stream = stream;
}

cvtm_status cvtm_device_activate(cvtm_device *device) {
  return device->table->activate ? device->table->activate(device) : CVTM_OK;
}

static cvtm_status allocate(cvtm_device *device, int64_t count, size_t size, void **memory,
                            cvtm_status (*get)(cvtm_device *, size_t, void **)) {
  if (count < 0 || !memory) {
    return cvtm_fail(&device->error, CVTM_ERROR_ARGUMENT, "cannot allocate %lld elements",
                     (long long)count);
  }
  /* No allocator grants more than half of the address space. Rounding up a smaller size cannot
   * overflow. */
  if (size != 0 && (uint64_t)count > (uint64_t)(SIZE_MAX / 2) / size) {
    return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "%lld elements of %zu bytes are too many",
                     (long long)count, size);
  }
  CVTM_TRY(cvtm_device_activate(device));
  return get(device, (size_t)count * size, memory);
}

cvtm_status cvtm_device_allocate(cvtm_device *device, int64_t count, size_t size, void **memory) {
  return allocate(device, count, size, memory, device->table->allocate);
}

cvtm_status cvtm_device_allocate_large(cvtm_device *device, int64_t count, size_t size,
                                       void **memory) {
  return allocate(device, count, size, memory, device->table->allocate_large);
}

void cvtm_device_free(cvtm_device *device, void *memory) {
  if (!memory) return;
  cvtm_device_activate(device);
  device->table->release(device, memory);
}

cvtm_status cvtm_device_allocate_arrays(cvtm_device *device, cvtm_arrays arrays) {
  for (const cvtm_array *a = arrays.array; a->memory != NULL; ++a)
    CVTM_TRY(cvtm_device_allocate(device, a->count, a->size, a->memory));
  return CVTM_OK;
}

void cvtm_device_free_arrays(cvtm_device *device, cvtm_arrays arrays) {
  for (const cvtm_array *a = arrays.array; a->memory != NULL; ++a) {
    cvtm_device_free(device, *a->memory);
    *a->memory = NULL;
  }
}

enum {
  STAGE = 1 << 26, /* bytes of a stage */
  STAGES = 4,      /* copies of fewer stages are left to CUDA */
  PIECE = 1 << 20  /* bytes that a thread copies at a time */
};

/* CUDA copies from unpinned memory with one thread, at a fraction of the bandwidth. Here many
 * threads copy to pinned stages: they fill one stage while CUDA copies from another. */
static cvtm_status copy_in_by_stages(cvtm_device *device, char *to, const char *from,
                                     size_t bytes) {
  void *stages = NULL, *mapped = NULL;
  int second = 0;
  cvtm_status status = device->table->allocate_mapped(device, 2 * (size_t)STAGE, &stages, &mapped);
  for (size_t at = 0; status == CVTM_OK && at < bytes; at += STAGE, second = !second) {
    const size_t left = bytes - at < STAGE ? bytes - at : STAGE;
    char *stage = (char *)stages + (second ? STAGE : 0);
#pragma omp parallel for num_threads(device->threads) schedule(static)
    for (size_t k = 0; k < left; k += PIECE)
      memcpy(stage + k, from + at + k, left - k < PIECE ? left - k : PIECE);
    status = device->table->synchronize(device);
    if (status == CVTM_OK) status = device->table->start_copy_in(device, to + at, stage, left);
  }
  if (status == CVTM_OK) status = device->table->synchronize(device);
  if (stages) device->table->release_mapped(device, stages);
  return status;
}

cvtm_status cvtm_device_copy_in(cvtm_device *device, void *to, const void *from_host,
                                size_t bytes) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || bytes == 0) return status;
  return device->kind == CVTM_DEVICE_CUDA && bytes >= (size_t)STAGES * STAGE
             ? copy_in_by_stages(device, to, from_host, bytes)
             : device->table->copy_in(device, to, from_host, bytes);
}

cvtm_status cvtm_device_copy_out(cvtm_device *device, void *to_host, const void *from,
                                 size_t bytes) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || bytes == 0) return status;
  if (device->kind == CVTM_DEVICE_CUDA) cvtm_touch_pages(to_host, bytes);
  return device->table->copy_out(device, to_host, from, bytes);
}

cvtm_status cvtm_device_copy(cvtm_device *device, void *to, const void *from, size_t bytes) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || bytes == 0) return status;
  return device->table->copy(device, to, from, bytes);
}

cvtm_status cvtm_device_fill(cvtm_device *device, void *memory, int byte, size_t bytes) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || bytes == 0) return status;
  return device->table->fill(device, memory, byte, bytes);
}

cvtm_status cvtm_device_synchronize(cvtm_device *device) {
  CVTM_TRY(cvtm_device_activate(device));
  return device->table->synchronize ? device->table->synchronize(device) : CVTM_OK;
}

cvtm_status cvtm_device_query(cvtm_device *device, int *idle) {
  CVTM_TRY(cvtm_device_activate(device));
  return device->table->query(device, idle);
}

cvtm_status cvtm_device_allocate_mapped(cvtm_device *device, size_t bytes, void **host,
                                        void **mapped) {
  CVTM_TRY(cvtm_device_activate(device));
  return device->table->allocate_mapped(device, bytes, host, mapped);
}

void cvtm_device_free_mapped(cvtm_device *device, void *host) {
  if (!host) return;
  cvtm_device_activate(device);
  device->table->release_mapped(device, host);
}

cvtm_status cvtm_device_post(cvtm_device *device, void *to, const void *from_host, size_t bytes) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || bytes == 0) return status;
  return device->table->post(device, to, from_host, bytes);
}

cvtm_status cvtm_device_scratch(cvtm_device *device, size_t bytes, void **memory) {
  if (bytes > device->scratch_bytes || !device->scratch) {
    void *grown = NULL;
    if (bytes > (size_t)INT64_MAX) {
      return cvtm_fail(&device->error, CVTM_ERROR_MEMORY,
                       "out of memory for %zu bytes of scratch memory", bytes);
    }
    CVTM_TRY(cvtm_device_allocate(device, (int64_t)bytes, 1, &grown));
    cvtm_device_free(device, device->scratch);
    device->scratch = grown;
    device->scratch_bytes = bytes;
  }
  *memory = device->scratch;
  return CVTM_OK;
}

cvtm_status cvtm_loop_try(cvtm_device *device, cvtm_loop_body body, void *context) {
  CVTM_TRY(cvtm_device_activate(device));
  if (device->ranks)
    return cvtm_fail(&device->error, CVTM_ERROR_UNSUPPORTED,
                     "a CUDA graph cannot contain communication between ranks");
  return device->table->loop_try ? device->table->loop_try(device, body, context) : CVTM_OK;
}

cvtm_status cvtm_loop_create(cvtm_device *device, cvtm_loop_body body, void *context,
                             const int *flag, cvtm_loop **loop) {
  if (!body || !flag || !loop)
    return cvtm_fail(&device->error, CVTM_ERROR_ARGUMENT, "a loop needs a body and a flag");
  CVTM_TRY(cvtm_device_activate(device));
  cvtm_loop *made = calloc(1, sizeof *made);
  if (!made) return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  made->device = device;
  made->body = body;
  made->context = context;
  made->flag = flag;
  cvtm_status status = device->table->loop_prepare ? device->table->loop_prepare(made) : CVTM_OK;
  if (status != CVTM_OK) {
    cvtm_loop_destroy(made);
    return status;
  }
  *loop = made;
  return CVTM_OK;
}

cvtm_status cvtm_loop_run(cvtm_loop *loop) {
  CVTM_TRY(cvtm_device_activate(loop->device));
  return loop->device->table->loop_run(loop);
}

void cvtm_loop_destroy(cvtm_loop *loop) {
  if (!loop) return;
  cvtm_device_activate(loop->device);
  if (loop->device->table->loop_release) loop->device->table->loop_release(loop);
  free(loop);
}

int cvtm_loop_claim(cvtm_device *device, uint64_t *handle) {
  const int open = device->loop_open;
  device->loop_open = 0;
  *handle = open ? device->loop_condition : 0;
  return open;
}

/* --- plain kernels (base/select.h) ------------------------------------------------------------ */

int cvtm_uses_plain(const char *name) {
  const char *at = getenv("CVTMESH_PLAIN");
  const size_t length = strlen(name);
  while (at) {
    if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ',')) return 1;
    at = strchr(at, ',');
    if (at) ++at;
  }
  return 0;
}
