/* Inside base only: the members of a device handle, and the operations that differ between the CPU
 * and CUDA. device.c checks the arguments before it calls a function of the table; these functions
 * write error messages to device->error. The CPU has no function (NULL) where it has nothing to
 * do. */
#pragma once

#include "base/device.h"

CVTM_C_BEGIN

typedef struct cvtm_device_table {
  /* Opens CUDA device `index` (ignored on the CPU): sets the description and, on CUDA, the stream,
   * multiprocessors, memory and identity. */
  cvtm_status (*open)(cvtm_device *device, int index);
  /* Releases what open has made, also if open has failed. */
  void (*close)(cvtm_device *device);
  cvtm_status (*share)(cvtm_device *device);
  cvtm_status (*activate)(cvtm_device *device);
  cvtm_status (*allocate)(cvtm_device *device, size_t bytes, void **memory);
  cvtm_status (*allocate_large)(cvtm_device *device, size_t bytes, void **memory);
  void (*release)(cvtm_device *device, void *memory);
  cvtm_status (*copy_in)(cvtm_device *device, void *to, const void *from, size_t bytes);
  /* Enqueues a copy from memory of allocate_mapped. */
  cvtm_status (*start_copy_in)(cvtm_device *device, void *to, const void *from, size_t bytes);
  cvtm_status (*copy_out)(cvtm_device *device, void *to, const void *from, size_t bytes);
  cvtm_status (*copy)(cvtm_device *device, void *to, const void *from, size_t bytes);
  cvtm_status (*fill)(cvtm_device *device, void *memory, int byte, size_t bytes);
  cvtm_status (*synchronize)(cvtm_device *device);
  cvtm_status (*query)(cvtm_device *device, int *idle);
  cvtm_status (*allocate_mapped)(cvtm_device *device, size_t bytes, void **host, void **mapped);
  void (*release_mapped)(cvtm_device *device, void *host);
  cvtm_status (*post)(cvtm_device *device, void *to, const void *from, size_t bytes);
  cvtm_status (*loop_try)(cvtm_device *device, cvtm_loop_body body, void *context);
  /* On CUDA, captures the body and sets loop->state, which loop_release frees, also after a
   * failure. */
  cvtm_status (*loop_prepare)(cvtm_loop *loop);
  cvtm_status (*loop_run)(cvtm_loop *loop);
  void (*loop_release)(cvtm_loop *loop);
} cvtm_device_table;

/* The size at least doubles, so there are at most as many workspaces as bits in a size. */
enum { CVTM_LEAST_WORKSPACE = 4096, CVTM_WORKSPACES = 64 };

struct cvtm_device {
  const cvtm_device_table *table;
  cvtm_device_kind kind;
  int index;           /* number of the CUDA device */
  int multiprocessors; /* 0 on the CPU */
  size_t memory;       /* total bytes of the CUDA device */
  uint64_t identity;   /* part of the UUID of the CUDA device */
  int threads;
  void *stream;
  void *own_stream;        /* made with the handle on CUDA; `stream` may be the caller's */
  void *pool;              /* memory pool on CUDA after cvtm_device_share */
  void *side_stream;       /* stream of cvtm_device_post, created at its first use */
  void *mapped;            /* mapped blocks that are kept on CUDA after cvtm_device_share */
  void *kept_loop;         /* the graph of a loop that has ended, for the next loop */
  int loop_open;           /* nonzero while a body is captured that has not claimed the condition */
  uint64_t loop_condition; /* handle of the condition of the body that is captured */
  const struct cvtm_ranks *ranks; /* ranks.h; NULL: none */
  void *scratch;
  size_t scratch_bytes;
  /* The workspace of primitives.c, and all workspaces, of which it is the last. */
  void *workspace, *workspaces[CVTM_WORKSPACES];
  size_t workspace_bytes;
  int workspace_count;
  cvtm_error error;
  char name[32];
  char description[256];
};

struct cvtm_loop {
  cvtm_device *device;
  cvtm_loop_body body;
  void *context;
  const int *flag;
  void *state;
};

extern const cvtm_device_table cvtm_device_table_cpu, cvtm_device_table_cuda;
/* cvtm_cuda_count in a build with CUDA. */
int cvtm_cuda_count_devices(const char **reason);
/* cvtm_cuda_memory in a build with CUDA. */
int64_t cvtm_cuda_memory_of_device(int index);

CVTM_C_END
