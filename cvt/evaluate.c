/* Plans and evaluations; descent.c minimises. */
#include "cvt/cvt.h"

#include "base/table_select.h"
#include "base/primitives.h"
#include "cvt/density_scan.h"
#include "cvt/descent.h"
#include "cvt/site_updates.h"

#include <math.h>
#include <stdlib.h>

/* Sites farther out than this cannot be placed to a pixel any more. */
static const double farthest = 1e9;

/* --- the plan ------------------------------------------------------------------- */

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

static cvtm_status check_plan(cvtm_device *device, cvtm_domain domain, const float *density,
                              int64_t capacity, cvtm_density_sums *sums, double **squares) {
  cvtm_error *error = cvtm_device_error(device);
  if (domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a domain of %d x %d pixels; 1 to %d a side",
                     domain.width, domain.height, CVTM_MAX_SIDE);
  }
  if (capacity < 1 || capacity > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; 1 to 2^31 - 1", (long long)capacity);
  }
  if (!density) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no density");
  return cvtm_density_scan_squares(domain, density, sums, squares, error);
}

static void keep_sums(cvtm_cvt *cvt, const cvtm_density_sums *sums, double *squares) {
  cvt->mass = sums->mass;
  cvt->root = sums->root;
  free(cvt->square_roots);
  cvt->square_roots = squares;
}

enum { ARRAYS = 9 };

static void list_arrays(cvtm_cvt *cvt, cvtm_array arrays[ARRAYS]) {
  const int64_t n = cvt->capacity;
  const cvtm_array list[ARRAYS] = {
      {(void **)&cvt->sites, 2 * n, sizeof(double)},
      {(void **)&cvt->best, 2 * n, sizeof(double)},
      {(void **)&cvt->scale, 2 * n, sizeof(double)},
      {(void **)&cvt->moments, n, sizeof *cvt->moments},
      {(void **)&cvt->second, n, sizeof(double)},
      {(void **)&cvt->distance, n, sizeof(double)},
      {(void **)&cvt->value, 2 * CVTM_CVT_WINDOW, sizeof(double)},
      {(void **)&cvt->least, CVTM_CVT_WINDOW + 1, sizeof(double)},
      {&cvt->workspace, (int64_t)cvt->workspace_bytes, 1},
  };
  memcpy(arrays, list, sizeof list);
}

static cvtm_status allocate_plan(cvtm_cvt *cvt, const float *density) {
  cvtm_device *device = cvt->device;
  const int64_t n = cvt->capacity, area = pixels_of(cvt->domain);
  void *value = NULL;
  cvtm_status status = cvtm_device_allocate(device, area, sizeof(float), &value);
  cvt->density =
      (cvtm_density_view){value, cvt->domain.width, cvt->domain.height, cvt->domain.periodic != 0};
  if (status == CVTM_OK) status = cvtm_reduce_workspace(device, n, &cvt->workspace_bytes);
  cvtm_array arrays[ARRAYS];
  list_arrays(cvt, arrays);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(device, arrays, ARRAYS);
  if (status == CVTM_OK) status = cvtm_site_tree_create(device, cvt->domain, n, &cvt->tree);
  if (status == CVTM_OK) status = cvt->table->create_state(cvt);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, value, density, (size_t)area * sizeof(float));
  return status;
}

cvtm_status cvtm_cvt_create(cvtm_device *device, cvtm_domain domain, const float *density,
                            int64_t capacity, cvtm_cvt **result) {
  cvtm_density_sums sums;
  double *squares = NULL;
  cvtm_status status = check_plan(device, domain, density, capacity, &sums, &squares);
  if (status != CVTM_OK) return status;
  cvtm_cvt *cvt = calloc(1, sizeof *cvt);
  if (!cvt) {
    free(squares);
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  }
  cvt->device = device;
  cvt->domain = domain;
  cvt->capacity = capacity;
  cvt->table = CVTM_TABLE(device, cvtm_cvt_table);
  cvt->updates = CVTM_TABLE(device, cvtm_site_updates);
  keep_sums(cvt, &sums, squares);
  status = allocate_plan(cvt, density);
  if (status != CVTM_OK) {
    cvtm_cvt_destroy(cvt);
    return status;
  }
  *result = cvt;
  return CVTM_OK;
}

static void release_pixels(cvtm_cvt *cvt) {
  cvtm_voronoi_destroy(cvt->voronoi);
  cvt->voronoi = NULL;
  void **arrays[] = {(void **)&cvt->labels, (void **)&cvt->pixels, (void **)&cvt->pixels_alt,
                     (void **)&cvt->keys, (void **)&cvt->keys_alt};
  for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; ++a) {
    cvtm_device_free(cvt->device, *arrays[a]);
    *arrays[a] = NULL;
  }
}

void cvtm_cvt_destroy(cvtm_cvt *cvt) {
  if (!cvt) return;
  cvt->table->destroy_state(cvt);
  cvtm_lbfgsb_destroy(cvt->solver);
  release_pixels(cvt);
  cvtm_site_tree_destroy(cvt->tree);
  cvtm_device_free(cvt->device, (void *)(uintptr_t)cvt->density.value);
  cvtm_array arrays[ARRAYS];
  list_arrays(cvt, arrays);
  cvtm_device_free_all(cvt->device, arrays, ARRAYS);
  free(cvt->square_roots);
  free(cvt);
}

cvtm_status cvtm_cvt_set_density(cvtm_cvt *cvt, const float *density) {
  cvtm_density_sums sums;
  double *squares = NULL;
  void *value = NULL;
  const int64_t area = pixels_of(cvt->domain);
  cvtm_status status =
      check_plan(cvt->device, cvt->domain, density, cvt->capacity, &sums, &squares);
  if (status != CVTM_OK) return status;
  status = cvtm_device_allocate(cvt->device, area, sizeof(float), &value);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(cvt->device, value, density, (size_t)area * sizeof(float));
  if (status != CVTM_OK) {
    cvtm_device_free(cvt->device, value);
    free(squares);
    return status;
  }
  cvtm_device_free(cvt->device, (void *)(uintptr_t)cvt->density.value);
  cvt->density.value = value;
  keep_sums(cvt, &sums, squares);
  return CVTM_OK;
}

/* The pixel energy needs 28 bytes more per pixel; most plans never ask for it. */
static cvtm_status prepare_pixels(cvtm_cvt *cvt) {
  if (cvt->voronoi) return CVTM_OK;
  cvtm_device *device = cvt->device;
  const int64_t area = pixels_of(cvt->domain);
  size_t bytes = 0;
  void *workspace = NULL;
  cvtm_status status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->labels);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->pixels);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->pixels_alt);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(uint64_t), (void **)&cvt->keys);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(uint64_t), (void **)&cvt->keys_alt);
  if (status == CVTM_OK) status = cvtm_sort_workspace(device, area, &bytes);
  if (status == CVTM_OK && bytes > cvt->workspace_bytes) {
    status = cvtm_device_allocate(device, (int64_t)bytes, 1, &workspace);
    if (status == CVTM_OK) {
      cvtm_device_free(device, cvt->workspace);
      cvt->workspace = workspace;
      cvt->workspace_bytes = bytes;
    }
  }
  if (status == CVTM_OK)
    status = cvtm_voronoi_create(device, cvt->domain, cvt->capacity, &cvt->voronoi);
  if (status != CVTM_OK) release_pixels(cvt);
  return status;
}

/* --- one evaluation -------------------------------------------------------------- */

/* The pixel energy on a diagram that may be wrong. */
static int uses_labels(const cvtm_cvt_task *e) {
  return e->energy == CVTM_CVT_PIXEL && e->voronoi != CVTM_VORONOI_EXACT;
}

static int bits_for(int64_t largest) {
  int bits = 1;
  while (bits < 63 && largest >> bits) ++bits;
  return bits;
}

/* Cell by cell, without labels. */
static cvtm_status enqueue_cells(cvtm_cvt *cvt, const double *sites, int64_t count,
                                 cvtm_cvt_energy energy) {
  const cvtm_status status = cvtm_site_tree_sort(cvt->tree, sites, count);
  return status == CVTM_OK ? cvt->table->cell_moments(cvt, count, energy) : status;
}

static cvtm_status enqueue_pixel(cvtm_cvt *cvt, const double *sites, int64_t count,
                                 cvtm_voronoi_method voronoi) {
  cvtm_status status = cvtm_voronoi_compute(cvt->voronoi, sites, count, voronoi, cvt->labels);
  if (status == CVTM_OK) status = cvt->table->pixel_keys(cvt);
  if (status == CVTM_OK)
    status = cvtm_sort_pairs(cvt->device, cvt->keys, cvt->pixels, cvt->keys_alt, cvt->pixels_alt,
                             pixels_of(cvt->domain), bits_for(count - 1), cvt->workspace,
                             cvt->workspace_bytes);
  if (status == CVTM_OK) status = cvt->table->label_moments(cvt, sites, count);
  return status;
}

cvtm_status cvtm_cvt_enqueue(const cvtm_cvt_task *task, const double *sites, double *value,
                             double *gradient) {
  cvtm_cvt *cvt = task->cvt;
  cvtm_status status = uses_labels(task) ? enqueue_pixel(cvt, sites, task->count, task->voronoi)
                                         : enqueue_cells(cvt, sites, task->count, task->energy);
  if (status == CVTM_OK)
    status = cvt->table->finish(cvt, task->count, task->fixed, value, gradient);
  return status;
}

cvtm_status cvtm_cvt_check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count < 1 || count > cvt->capacity || !sites) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; the plan has room for %lld",
                     (long long)count, (long long)cvt->capacity);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (fabs(sites[2 * i]) <= farthest && fabs(sites[2 * i + 1]) <= farthest) continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "site %lld is (%g, %g)", (long long)i,
                     sites[2 * i], sites[2 * i + 1]);
  }
  return CVTM_OK;
}

cvtm_status cvtm_cvt_prepare(const cvtm_cvt_task *task) {
  if (task->energy != CVTM_CVT_EXACT && task->energy != CVTM_CVT_PIXEL)
    return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_ARGUMENT, "unknown energy %d",
                     (int)task->energy);
  return uses_labels(task) ? prepare_pixels(task->cvt) : CVTM_OK;
}

cvtm_status cvtm_cvt_read_cell_moments(cvtm_cvt *cvt, int64_t count, cvtm_cell_moments **sums) {
  const size_t bytes = (size_t)count * sizeof **sums;
  *sums = malloc(bytes);
  if (!*sums)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for moments");
  const cvtm_status status = cvtm_device_copy_out(cvt->device, *sums, cvt->moments, bytes);
  if (status != CVTM_OK) {
    free(*sums);
    *sums = NULL;
  }
  return status;
}

cvtm_status cvtm_cvt_read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  const cvtm_cvt_moments *moments) {
  cvtm_cell_moments *sums = NULL;
  const cvtm_status status = cvtm_cvt_read_cell_moments(cvt, count, &sums);
  if (status != CVTM_OK) return status;
  for (int64_t i = 0; i < count; ++i) {
    const cvtm_cell_moments *s = &sums[i];
    if (moments->mass) moments->mass[i] = s->mass;
    if (moments->second) moments->second[i] = s->second;
    if (moments->centroid) {
      moments->centroid[2 * i] = sites[2 * i] + (s->mass > 0 ? s->x / s->mass : 0);
      moments->centroid[2 * i + 1] = sites[2 * i + 1] + (s->mass > 0 ? s->y / s->mass : 0);
    }
  }
  free(sums);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_evaluate(cvtm_cvt *cvt, const double *sites, int64_t count,
                              cvtm_cvt_energy energy, cvtm_voronoi_method voronoi, double *value,
                              const cvtm_cvt_moments *moments) {
  const cvtm_cvt_task task = {cvt, count, 0, energy, voronoi};
  const size_t bytes = 2 * (size_t)count * sizeof(double);
  double result = 0;
  cvtm_status status = cvtm_cvt_check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK) status = cvtm_device_copy_in(cvt->device, cvt->sites, sites, bytes);
  if (status == CVTM_OK) status = cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, &result, cvt->value, sizeof result);
  if (status == CVTM_OK && moments) status = cvtm_cvt_read_moments(cvt, sites, count, moments);
  if (status == CVTM_OK && value) *value = result;
  return status;
}
