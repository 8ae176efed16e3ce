#include "cvt/noise/blue_noise.h"

#include "base/primitives.h"
#include "base/select.h"
#include "cvt/noise/noise_kernels.h"

#include <stdlib.h>

/* --- sums of kernels ----------------------------------------------------------------------- */

struct cvtm_kernels {
  cvtm_device *device;
  const cvtm_noise_table *table;
  cvtm_kernel_cells cells;
  int64_t count;
};

/* Lists all arrays. sorts: nonzero: also the arrays that CUDA needs for sorting. */
static cvtm_arrays kernel_arrays(cvtm_kernel_cells *c, int sorts) {
  const int64_t n = c->capacity, stored = n + CVTM_KERNEL_LANES;
  const int64_t most = cvtm_kernel_most_cells(n), sorted = sorts ? n : 0;
  return (cvtm_arrays){{
      CVTM_ARRAY(c->classes, CVTM_WIDTH_CLASSES),
      CVTM_ARRAY(c->starts, most + 1),
      CVTM_ARRAY(c->order, n),
      CVTM_ARRAY(c->x, stored),
      CVTM_ARRAY(c->y, stored),
      CVTM_ARRAY(c->variance, stored),
      CVTM_ARRAY(c->strength, stored),
      CVTM_ARRAY(c->cell, n),
      CVTM_ARRAY(c->keys, sorted),
      CVTM_ARRAY(c->keys_alt, sorted),
      CVTM_ARRAY(c->order_alt, sorted),
      CVTM_ARRAY(c->cell_count, sorts ? most : 0),
      CVTM_ARRAY(c->least, 1),
  }};
}

/* The sums are part of an objective, which CUDA captures. */
static cvtm_status reserve_workspace(cvtm_device *device, int64_t capacity) {
  CVTM_TRY(cvtm_sort_reserve(device, capacity));
  CVTM_TRY(cvtm_scan_reserve(device, cvtm_kernel_most_cells(capacity)));
  return cvtm_reduce_reserve(device, capacity);
}

/* Zeroes the arrays, because lanes read beyond the last source. */
static cvtm_status clear(cvtm_device *device, const cvtm_kernel_cells *c) {
  double *const stored[] = {c->x, c->y, c->variance, c->strength};
  const size_t bytes = (size_t)(c->capacity + CVTM_KERNEL_LANES) * sizeof(double);
  for (int k = 0; k < 4; ++k) CVTM_TRY(cvtm_device_fill(device, stored[k], 0, bytes));
  return CVTM_OK;
}

cvtm_status cvtm_kernels_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_kernels **kernels) {
  const int sorts = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  cvtm_kernels *k = calloc(1, sizeof *k);
  if (k == NULL || capacity > INT32_MAX / 4 - CVTM_WIDTH_CLASSES) {
    free(k);
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY,
                     "no memory for the kernels of %lld points", (long long)capacity);
  }
  k->device = device;
  k->table = CVTM_TABLE(device, cvtm_noise_table);
  k->cells.domain = domain;
  k->cells.capacity = capacity;
  cvtm_status status = sorts ? reserve_workspace(device, capacity) : CVTM_OK;
  if (status == CVTM_OK)
    status = cvtm_device_allocate_arrays(device, kernel_arrays(&k->cells, sorts));
  if (status == CVTM_OK) status = clear(device, &k->cells);
  if (status != CVTM_OK) {
    cvtm_kernels_destroy(k);
    return status;
  }
  *kernels = k;
  return CVTM_OK;
}

void cvtm_kernels_destroy(cvtm_kernels *k) {
  if (k == NULL) return;
  cvtm_device_free_arrays(k->device, kernel_arrays(&k->cells, 0));
  free(k);
}

cvtm_status cvtm_kernels_set(cvtm_kernels *k, const cvtm_kernel_source *sources, int64_t count) {
  k->count = count;
  return k->table->sort(k->device, &k->cells, sources, count);
}

cvtm_status cvtm_kernels_sum(const cvtm_kernels *k, const cvtm_kernel_source *places, int64_t count,
                             cvtm_kernel_sum *sums) {
  return k->table->sums(k->device, &k->cells, places, NULL, count, sums);
}

/* As cvtm_kernels_sum, at the sources of the last cvtm_kernels_set. Faster, because consecutive
 * points are close to each other. */
static cvtm_status sum_at_sources(const cvtm_kernels *k, const cvtm_kernel_source *sources,
                                  cvtm_kernel_sum *sums) {
  return k->table->sums(k->device, &k->cells, sources, k->cells.order, k->count, sums);
}

/* --- energy and gradient ------------------------------------------------------------------- */

struct cvtm_blue_noise {
  cvtm_device *device;
  const cvtm_noise_table *table;
  cvtm_noise_points points;
  cvtm_kernels *kernels;
};

static cvtm_arrays noise_arrays(cvtm_noise_points *p) {
  const int64_t nodes = (int64_t)p->target.columns * p->target.rows;
  return (cvtm_arrays){{
      CVTM_ARRAY(p->target.log_width, nodes),
      CVTM_ARRAY(p->target.potential, nodes),
      CVTM_ARRAY(p->local, p->count),
      CVTM_ARRAY(p->source, p->count),
      CVTM_ARRAY(p->sum, p->count),
      CVTM_ARRAY(p->term, p->count),
  }};
}

/* Allocates the arrays and copies the target from the host. */
static cvtm_status allocate_points(cvtm_device *device, const cvtm_target *target,
                                   cvtm_noise_points *p) {
  const size_t bytes = (size_t)target->columns * (size_t)target->rows * sizeof(double);
  p->target = *target;
  p->target.log_width = p->target.potential = NULL;
  CVTM_TRY(cvtm_device_allocate_arrays(device, noise_arrays(p)));
  CVTM_TRY(cvtm_device_copy_in(device, p->target.log_width, target->log_width, bytes));
  return cvtm_device_copy_in(device, p->target.potential, target->potential, bytes);
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
  if (b == NULL) return;
  cvtm_kernels_destroy(b->kernels);
  cvtm_device_free_arrays(b->device, noise_arrays(&b->points));
  free(b);
}

cvtm_status cvtm_blue_noise_evaluate(void *context, const double *x, double *f, double *g,
                                     void *stream) {
  const cvtm_blue_noise *b = context;
  const cvtm_noise_points *p = &b->points;
  (void)stream;
  CVTM_TRY(b->table->place(b->device, p, x));
  CVTM_TRY(cvtm_kernels_set(b->kernels, p->source, p->count));
  CVTM_TRY(sum_at_sources(b->kernels, p->source, p->sum));
  return b->table->gradient(b->device, p, f, g);
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
