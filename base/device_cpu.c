#include "base/device_kernels.h"
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cvtm_status cpu_open(cvtm_device *device, int index) {
  (void)index;
  snprintf(device->description, sizeof device->description, "%d thread%s", device->threads,
           device->threads == 1 ? "" : "s");
  return CVTM_OK;
}

static cvtm_status cpu_allocate(cvtm_device *device, size_t bytes, void **memory) {
  void *block = cvtm_host_allocate(bytes);
  if (!block)
    return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory: %zu bytes", bytes);
  *memory = block;
  return CVTM_OK;
}

static void cpu_release(cvtm_device *device, void *memory) {
  (void)device;
  free(memory);
}

static cvtm_status cpu_copy(cvtm_device *device, void *to, const void *from, size_t bytes) {
  (void)device;
  memmove(to, from, bytes);
  return CVTM_OK;
}

static cvtm_status cpu_fill(cvtm_device *device, void *memory, int byte, size_t bytes) {
  (void)device;
  memset(memory, byte, bytes);
  return CVTM_OK;
}

static cvtm_status cpu_query(cvtm_device *device, int *idle) {
  (void)device;
  *idle = 1;
  return CVTM_OK;
}

static cvtm_status cpu_allocate_mapped(cvtm_device *device, size_t bytes, void **host,
                                       void **mapped) {
  CVTM_TRY(cpu_allocate(device, bytes, host));
  memset(*host, 0, bytes);
  *mapped = *host;
  return CVTM_OK;
}

static cvtm_status cpu_loop_run(cvtm_loop *loop) {
  while (*loop->flag != 0) CVTM_TRY(loop->body(loop->context));
  return CVTM_OK;
}

const cvtm_device_table cvtm_device_table_cpu = {
    .open = cpu_open,
    .allocate = cpu_allocate,
    .allocate_large = cpu_allocate,
    .release = cpu_release,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .query = cpu_query,
    .allocate_mapped = cpu_allocate_mapped,
    .release_mapped = cpu_release,
    .post = cpu_copy,
    .loop_run = cpu_loop_run,
};
