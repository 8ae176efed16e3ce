#include "viewer/points.h"

#include "viewer/mailbox.h"
#include "viewer/points_kernels.h"

#include <epoxy/gl.h>
#include <stdlib.h>

typedef enum points_path { POINTS_HOST, POINTS_PINNED, POINTS_INTEROP } points_path;

typedef struct slot {
  float *memory; /* on the host, pinned or on the device */
  int64_t count, capacity;
} slot;

struct cvtm_points {
  cvtm_device *device;
  points_path path;
  cvtm_mailbox box;
  slot slots[CVTM_MAILBOX_SLOTS];
  slot narrowed;  /* pinned copies: the single-precision sites in device memory */
  void *stream;   /* interop: the stream of the drawing thread */
  void *resource; /* interop: the registered buffer */
};

const char *cvtm_points_path(const cvtm_points *points) {
  static const char *const names[] = {"host memory", "pinned copies", "CUDA-OpenGL interop"};
  return names[points->path];
}

static points_path choose_path(cvtm_device *device, int pinned) {
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CPU) return POINTS_HOST;
#if CVTMESH_HAVE_CUDA
  if (!pinned && cvtm_points_cuda_shared(device)) return POINTS_INTEROP;
#else
  (void)pinned;
#endif
  return POINTS_PINNED;
}

cvtm_status cvtm_points_create(cvtm_device *device, int pinned, cvtm_points **result,
                               cvtm_error *error) {
  cvtm_points *points = calloc(1, sizeof *points);
  if (!points) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  points->device = device;
  points->path = choose_path(device, pinned);
  cvtm_mailbox_open(&points->box);
#if CVTMESH_HAVE_CUDA
  if (points->path == POINTS_INTEROP) {
    const cvtm_status status = cvtm_points_cuda_stream(&points->stream, error);
    if (status != CVTM_OK) {
      free(points);
      return status;
    }
  }
#endif
  *result = points;
  return CVTM_OK;
}

static void free_slot(cvtm_points *points, slot *s, points_path path) {
  if (!s->memory) return;
  if (path == POINTS_HOST) free(s->memory);
  if (path == POINTS_INTEROP) cvtm_device_free(points->device, s->memory);
#if CVTMESH_HAVE_CUDA
  if (path == POINTS_PINNED) cvtm_points_cuda_unpin(s->memory);
#endif
  *s = (slot){0};
}

void cvtm_points_destroy(cvtm_points *points) {
  if (!points) return;
#if CVTMESH_HAVE_CUDA
  cvtm_points_cuda_unregister(points->resource);
  cvtm_points_cuda_stream_end(points->stream);
#endif
  for (int k = 0; k < CVTM_MAILBOX_SLOTS; ++k) free_slot(points, &points->slots[k], points->path);
  free_slot(points, &points->narrowed, POINTS_INTEROP);
  free(points);
}

static cvtm_status reserve_slot(cvtm_points *points, slot *s, points_path path, int64_t count) {
  if (count <= s->capacity) return CVTM_OK;
  const int64_t wanted = count + count / 4 + 16;
  void *memory = NULL;
  cvtm_status status = CVTM_OK;
  free_slot(points, s, path);
  if (path == POINTS_HOST) {
    memory = malloc(2 * (size_t)wanted * sizeof(float));
    if (!memory)
      status = cvtm_fail(cvtm_device_error(points->device), CVTM_ERROR_MEMORY, "out of memory");
  } else if (path == POINTS_INTEROP) {
    status = cvtm_device_allocate(points->device, 2 * wanted, sizeof(float), &memory);
  } else {
#if CVTMESH_HAVE_CUDA
    status = cvtm_points_cuda_pin(points->device, 2 * (size_t)wanted * sizeof(float), &memory);
#endif
  }
  if (status != CVTM_OK) return status;
  s->memory = memory;
  s->capacity = wanted;
  return CVTM_OK;
}

int cvtm_points_wanted(cvtm_points *points) { return cvtm_mailbox_wanted(&points->box); }

static cvtm_status fill_slot(cvtm_points *points, slot *s, const double *sites, int64_t count) {
  cvtm_status status = CVTM_OK;
  if (points->path == POINTS_HOST) {
    for (int64_t k = 0; k < 2 * count; ++k) s->memory[k] = (float)sites[k];
    return CVTM_OK;
  }
#if CVTMESH_HAVE_CUDA
  if (points->path == POINTS_INTEROP) {
    status = cvtm_points_cuda_narrow(points->device, sites, s->memory, 2 * count);
    return status == CVTM_OK ? cvtm_device_synchronize(points->device) : status;
  }
  status = reserve_slot(points, &points->narrowed, POINTS_INTEROP, count);
  if (status == CVTM_OK)
    status = cvtm_points_cuda_narrow(points->device, sites, points->narrowed.memory, 2 * count);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(points->device, s->memory, points->narrowed.memory,
                                  2 * (size_t)count * sizeof(float));
#endif
  return status;
}

cvtm_status cvtm_points_publish(cvtm_points *points, const double *sites, int64_t count) {
  slot *s = &points->slots[points->box.back];
  CVTM_TRY(reserve_slot(points, s, points->path, count));
  CVTM_TRY(fill_slot(points, s, sites, count));
  s->count = count;
  cvtm_mailbox_publish(&points->box);
  return CVTM_OK;
}

int cvtm_points_take(cvtm_points *points, int64_t *count) {
  *count = 0;
  if (!cvtm_mailbox_take(&points->box)) return 0;
  *count = points->slots[points->box.front].count;
  return 1;
}

cvtm_status cvtm_points_copy(cvtm_points *points, unsigned buffer, int renewed, cvtm_error *error) {
  const slot *s = &points->slots[points->box.front];
  const size_t bytes = 2 * (size_t)s->count * sizeof(float);
#if CVTMESH_HAVE_CUDA
  if (points->path == POINTS_INTEROP) {
    cvtm_status status = CVTM_OK;
    if (renewed || !points->resource) {
      cvtm_points_cuda_unregister(points->resource);
      status = cvtm_points_cuda_register(buffer, &points->resource, error);
    }
    if (status != CVTM_OK) return status;
    return cvtm_points_cuda_copy(points->resource, points->stream, s->memory, bytes, error);
  }
#endif
  (void)renewed;
  (void)error;
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)bytes, s->memory);
  return CVTM_OK;
}
