#include "cvt/noise/blue_noise.h"

#include "base/primitives.h"
#include "base/select.h"
#include "cvt/noise/noise_kernels.h"

#include <stdlib.h>

struct cvtm_blue_noise {
  cvtm_device *device;
  const cvtm_noise_table *table;
  cvtm_noise_points points;
  cvtm_kernels *kernels;
};

enum { ARRAYS = 7 };

static void list_noise_arrays(cvtm_noise_points *p, cvtm_array *list) {
  const int64_t nodes = (int64_t)p->target.columns * p->target.rows;
  const cvtm_array arrays[ARRAYS] = {
      CVTM_ARRAY(p->target.log_width, nodes),
      CVTM_ARRAY(p->target.potential, nodes),
      CVTM_ARRAY(p->local, p->count),
      CVTM_ARRAY(p->source, p->count),
      CVTM_ARRAY(p->sum, p->count),
      CVTM_ARRAY(p->term, p->count),
      {&p->workspace, (int64_t)p->workspace_bytes, 1},
  };
  memcpy(list, arrays, sizeof arrays);
}

/* target: on the host. */
static cvtm_status allocate_points(cvtm_device *device, const cvtm_target *target,
                                   cvtm_noise_points *p) {
  const size_t bytes = (size_t)target->columns * (size_t)target->rows * sizeof(double);
  cvtm_array arrays[ARRAYS];
  p->target = *target;
  p->target.log_width = p->target.potential = NULL;
  cvtm_status status = cvtm_reduce_workspace(device, p->count, &p->workspace_bytes);
  list_noise_arrays(p, arrays);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(device, arrays, ARRAYS);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, p->target.log_width, target->log_width, bytes);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, p->target.potential, target->potential, bytes);
  return status;
}

cvtm_status cvtm_blue_noise_create(cvtm_device *device, cvtm_domain domain, const float *density,
                                   double width, int64_t count, cvtm_blue_noise **made) {
  cvtm_error *error = cvtm_device_error(device);
  cvtm_target target;
  double *masses = NULL;
  cvtm_blue_noise *b = calloc(1, sizeof *b);
  if (b == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  b->device = device;
  b->table = CVTM_TABLE(device, cvtm_noise_table);
  b->points.count = count;
  cvtm_status status = cvtm_target_create(domain, density, count, width / sqrt(2.0),
                                          cvtm_device_threads(device), &target, &masses, error);
  if (status == CVTM_OK) status = cvtm_target_add_potential(device, masses, &target);
  free(masses);
  if (status == CVTM_OK) status = allocate_points(device, &target, &b->points);
  cvtm_target_free(&target);
  if (status == CVTM_OK) status = cvtm_kernels_create(device, domain, count, &b->kernels);
  if (status != CVTM_OK) {
    cvtm_blue_noise_destroy(b);
    return status;
  }
  *made = b;
  return CVTM_OK;
}

void cvtm_blue_noise_destroy(cvtm_blue_noise *b) {
  cvtm_array arrays[ARRAYS];
  if (b == NULL) return;
  cvtm_kernels_destroy(b->kernels);
  list_noise_arrays(&b->points, arrays);
  cvtm_device_free_all(b->device, arrays, ARRAYS);
  free(b);
}

cvtm_status cvtm_blue_noise_evaluate(void *context, const double *x, double *f, double *g,
                                     void *stream) {
  const cvtm_blue_noise *b = context;
  const cvtm_noise_points *p = &b->points;
  (void)stream;
  cvtm_status status = b->table->place(b->device, p, x);
  if (status == CVTM_OK) status = cvtm_kernels_set(b->kernels, p->source, p->count);
  if (status == CVTM_OK) status = cvtm_kernels_sum_at_sources(b->kernels, p->source, p->sum);
  if (status == CVTM_OK) status = b->table->gradient(b->device, p, f, g);
  return status;
}

cvtm_status cvtm_blue_noise_widths(const cvtm_blue_noise *b, const double *x, double *width) {
  const cvtm_noise_points *p = &b->points;
  const size_t bytes = (size_t)p->count * sizeof *p->source;
  cvtm_kernel_source *source = malloc(bytes);
  cvtm_status status = CVTM_OK;
  if (source == NULL)
    status = cvtm_fail(cvtm_device_error(b->device), CVTM_ERROR_MEMORY, "no memory for %lld points",
                       (long long)p->count);
  if (status == CVTM_OK) status = b->table->place(b->device, p, x);
  if (status == CVTM_OK) status = cvtm_device_copy_out(b->device, source, p->source, bytes);
  for (int64_t i = 0; i < p->count && status == CVTM_OK; ++i) width[i] = source[i].width;
  free(source);
  return status;
}
