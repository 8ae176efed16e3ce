/* The plan: a density on a device, buffers, and sites. */
#include "base/primitives.h"
#include "base/ranks.h"
#include "base/select.h"
#include "cvt/density_scan.h"
#include "cvt/decomposition.h"
#include "cvt/site_updates.h"
#include "jfa/site_tree_kernels.h"

#include <stdlib.h>

static int64_t count_plan_pixels(cvtm_domain domain) {
  return (int64_t)domain.width * domain.height;
}

static cvtm_status check_plan(cvtm_device *device, cvtm_domain domain, const float *density,
                              int64_t capacity) {
  cvtm_error *error = cvtm_device_error(device);
  if (domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a domain of %d x %d pixels; a side has 1 to %d",
                     domain.width, domain.height, CVTM_MAX_SIDE);
  }
  if (capacity < 1 || capacity > INT32_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a plan has 1 to 2^31 - 1 sites, not %lld",
                     (long long)capacity);
  if (!density && cvtm_ranks_lead(device))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no density");
  return CVTM_OK;
}

/* Checks the arguments and integrates the density. Only rank 0 has the density; it sends the sums
 * to the other ranks. Only rank 0 gets *squares, which is NULL after a failure. */
static cvtm_status check_density(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, cvtm_density_sums *sums, double **squares) {
  cvtm_status status = check_plan(device, domain, density, capacity);
  if (status == CVTM_OK && cvtm_ranks_lead(device))
    status = cvtm_density_scan_squares(domain, density, sums, squares, cvtm_device_error(device));
  if (status == CVTM_OK) status = cvtm_ranks_broadcast(device, sums, sizeof *sums);
  if (status == CVTM_OK) return CVTM_OK;
  free(*squares);
  *squares = NULL;
  return status;
}

static void keep_sums(cvtm_cvt *cvt, const cvtm_density_sums *sums, double *squares) {
  cvt->mass = sums->mass;
  cvt->sqrt_integral = sums->sqrt_integral;
  free(cvt->square_roots);
  cvt->square_roots = squares;
}

static cvtm_arrays plan_arrays(cvtm_cvt *cvt) {
  const int64_t n = cvt->capacity,
                descent_sites = cvt->global_count > 0 || cvt->decomposition ? 0 : n;
  return (cvtm_arrays){{
      CVTM_ARRAY(cvt->sites, 2 * n),
      CVTM_ARRAY(cvt->best, 2 * descent_sites),
      CVTM_ARRAY(cvt->scale, 2 * descent_sites),
      CVTM_ARRAY(cvt->moments, n),
      CVTM_ARRAY(cvt->second, descent_sites),
      CVTM_ARRAY(cvt->distance, n),
      CVTM_ARRAY(cvt->value, 2 * CVTM_CVT_WINDOW),
      CVTM_ARRAY(cvt->least, CVTM_CVT_WINDOW + 1),
  }};
}

static cvtm_status allocate_plan(cvtm_cvt *cvt) {
  cvtm_device *device = cvt->device;
  const int64_t n = cvt->capacity;
  CVTM_TRY(cvtm_reduce_reserve(device, n));
  CVTM_TRY(cvtm_device_allocate_arrays(device, plan_arrays(cvt)));
  CVTM_TRY(cvt->global_count > 0
               ? cvtm_site_tree_create_part(device, cvt->domain, n, cvt->global_count, &cvt->tree)
               : cvtm_site_tree_create(device, cvt->domain, n, &cvt->tree));
  return !cvt->decomposition ? cvt->table->create_state(cvt) : CVTM_OK;
}

/* Copies the density (device memory) from rank 0 to the other ranks. */
static cvtm_status share_density(cvtm_cvt *cvt, float *value) {
  const size_t bytes = (size_t)count_plan_pixels(cvt->domain) * sizeof *value;
  return cvtm_ranks_broadcast_on_device(cvt->device, value, bytes);
}

/* Adds to an out-of-memory error that the memory was for the density. */
static cvtm_status explain_memory(cvtm_cvt *cvt, cvtm_status status) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  const cvtm_error reason = *error;
  if (status != CVTM_ERROR_MEMORY) return status;
  return cvtm_fail(error, status, "the density of %d x %d pixels: %s", cvt->domain.width,
                   cvt->domain.height, reason.message);
}

/* Copies the density to the device; with several ranks, from rank 0 to the devices of all ranks.
 * Does not free an earlier density. */
static cvtm_status copy_density(cvtm_cvt *cvt, const float *density) {
  const int64_t area = count_plan_pixels(cvt->domain);
  const size_t bytes = (size_t)area * sizeof *density;
  void *value = NULL;
  cvtm_status status = cvtm_device_allocate_large(cvt->device, area, sizeof *density, &value);
  if (status == CVTM_OK && cvtm_ranks_lead(cvt->device))
    status = cvtm_device_copy_in(cvt->device, value, density, bytes);
  if (status == CVTM_OK) status = share_density(cvt, value);
  if (status != CVTM_OK) {
    cvtm_device_free(cvt->device, value);
    return explain_memory(cvt, status);
  }
  cvt->density.value = cvt->own_density = value;
  cvt->host_density = NULL;
  return CVTM_OK;
}

static cvtm_status create_plan(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                               int64_t global_count, cvtm_cvt **result) {
  cvtm_cvt *cvt = calloc(1, sizeof *cvt);
  if (!cvt) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  cvt->device = device;
  cvt->domain = domain;
  cvt->capacity = capacity;
  cvt->global_count = global_count;
  cvt->table = CVTM_TABLE(device, cvtm_cvt_table);
  cvt->updates = CVTM_TABLE(device, cvtm_site_updates);
  cvt->density = (cvtm_density_view){NULL, domain.width, domain.height, domain.periodic != 0};
  cvtm_status status = CVTM_OK;
  const int divided = global_count == 0 && cvtm_device_ranks(device);
  cvt->evaluator = divided ? &cvtm_evaluator_of_ranks : &cvtm_evaluator_of_device;
  if (divided) status = cvtm_decomposition_create(cvt);
  if (status == CVTM_OK) status = allocate_plan(cvt);
  if (status != CVTM_OK) {
    cvtm_cvt_destroy(cvt);
    return status;
  }
  *result = cvt;
  return CVTM_OK;
}

/* Creates a plan with the integrals of a density on the host, but without the density. */
static cvtm_status create_scanned(cvtm_device *device, cvtm_domain domain, const float *density,
                                  int64_t capacity, cvtm_cvt **result) {
  cvtm_density_sums sums;
  double *squares = NULL;
  cvtm_status status = check_density(device, domain, density, capacity, &sums, &squares);
  if (status == CVTM_OK) status = create_plan(device, domain, capacity, 0, result);
  if (status == CVTM_OK)
    keep_sums(*result, &sums, squares);
  else
    free(squares);
  return status;
}

cvtm_status cvtm_cvt_create(cvtm_device *device, cvtm_domain domain, const float *density,
                            int64_t capacity, cvtm_cvt **result) {
  cvtm_cvt *cvt = NULL;
  cvtm_status status = create_scanned(device, domain, density, capacity, &cvt);
  if (status == CVTM_OK) status = copy_density(cvt, density);
  if (status == CVTM_OK)
    *result = cvt;
  else
    cvtm_cvt_destroy(cvt);
  return status;
}

cvtm_status cvtm_cvt_create_borrowed(cvtm_device *device, cvtm_domain domain, const float *density,
                                     const float *on_device, int64_t capacity, cvtm_cvt **result) {
  cvtm_cvt *cvt = NULL;
  if (!cvtm_ranks_lead(device))
    on_device = NULL;
  else if (!on_device && cvtm_device_get_kind(device) == CVTM_DEVICE_CPU)
    on_device = density;
  cvtm_status status = create_scanned(device, domain, density, capacity, &cvt);
  if (status == CVTM_OK)
    status = on_device
                 ? share_density(
                       cvt, (float *)(uintptr_t)on_device) /* only rank 0 is here, and only reads */
                 : copy_density(cvt, density);
  if (status != CVTM_OK) {
    cvtm_cvt_destroy(cvt);
    return status;
  }
  if (on_device) cvt->density.value = on_device;
  cvt->host_density = density;
  *result = cvt;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_create_view(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, cvtm_cvt **result) {
  CVTM_TRY(check_plan(device, domain, density, capacity));
  CVTM_TRY(create_plan(device, domain, capacity, 0, result));
  (*result)->density.value = density;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_create_part(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, int64_t global_count, cvtm_cvt **result) {
  CVTM_TRY(create_plan(device, domain, capacity, global_count, result));
  (*result)->density.value = density;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_view_density(cvtm_cvt *cvt, const float *density) {
  if (cvt->square_roots || !density)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_ARGUMENT,
                     density ? "the plan has a density of its own" : "no density");
  cvt->density.value = density;
  return CVTM_OK;
}

static cvtm_arrays label_arrays(cvtm_cvt *cvt) {
  const int64_t area = count_plan_pixels(cvt->domain);
  return (cvtm_arrays){{
      CVTM_ARRAY(cvt->labels, area),
      CVTM_ARRAY(cvt->pixels, area),
      CVTM_ARRAY(cvt->pixels_alt, area),
      CVTM_ARRAY(cvt->keys, area),
      CVTM_ARRAY(cvt->keys_alt, area),
  }};
}

static void release_labels(cvtm_cvt *cvt) {
  cvtm_voronoi_destroy(cvt->voronoi);
  cvt->voronoi = NULL;
  cvtm_device_free_arrays(cvt->device, label_arrays(cvt));
}

void cvtm_cvt_destroy(cvtm_cvt *cvt) {
  if (!cvt) return;
  cvt->table->destroy_state(cvt);
  cvtm_decomposition_destroy(cvt);
  cvtm_lbfgsb_destroy(cvt->solver);
  release_labels(cvt);
  cvtm_site_tree_destroy(cvt->tree);
  cvtm_device_free(cvt->device, cvt->own_density);
  cvtm_device_free_arrays(cvt->device, plan_arrays(cvt));
  free(cvt->square_roots);
  free(cvt);
}

cvtm_status cvtm_cvt_set_density(cvtm_cvt *cvt, const float *density) {
  cvtm_density_sums sums;
  double *squares = NULL;
  float *old = cvt->own_density;
  CVTM_TRY(check_density(cvt->device, cvt->domain, density, cvt->capacity, &sums, &squares));
  cvtm_status status = copy_density(cvt, density);
  if (status != CVTM_OK) {
    free(squares);
    return status;
  }
  cvtm_device_free(cvt->device, old);
  keep_sums(cvt, &sums, squares);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_find_density(cvtm_cvt *cvt, const float **density, float **copied) {
  const size_t bytes = (size_t)count_plan_pixels(cvt->domain) * sizeof **density;
  *copied = NULL;
  *density = cvt->host_density;
  if (*density) return CVTM_OK;
  float *copy = malloc(bytes);
  if (!copy)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for a density");
  const cvtm_status status = cvtm_device_copy_out(cvt->device, copy, cvt->density.value, bytes);
  if (status == CVTM_OK)
    *density = *copied = copy;
  else
    free(copy);
  return status;
}

/* Allocates at the first use, since most plans do not need these 28 bytes per pixel. */
cvtm_status cvtm_cvt_prepare_labels(cvtm_cvt *cvt) {
  if (cvt->voronoi) return CVTM_OK;
  cvtm_device *device = cvt->device;
  cvtm_status status = cvtm_device_allocate_arrays(device, label_arrays(cvt));
  if (status == CVTM_OK) status = cvtm_sort_reserve(device, count_plan_pixels(cvt->domain));
  if (status == CVTM_OK)
    status = cvtm_voronoi_create(device, cvt->domain, cvt->capacity, &cvt->voronoi);
  if (status != CVTM_OK) release_labels(cvt);
  return status;
}

/* --- sites ------------------------------------------------------------------------------------ */

/* Clamps or wraps the plan's sites into the domain. */
static cvtm_status move_inside(cvtm_cvt *cvt, int64_t count) {
  return cvt->updates->rescale(cvt->device, cvt->domain, 1, count, cvt->sites);
}

cvtm_status cvtm_cvt_put_sites(cvtm_cvt *cvt, const double *sites, int64_t count) {
  const cvtm_status status =
      cvtm_device_copy_in(cvt->device, cvt->sites, sites, cvtm_site_bytes(count));
  return status == CVTM_OK ? move_inside(cvt, count) : status;
}

cvtm_status cvtm_cvt_get_sites(cvtm_cvt *cvt, double *sites, int64_t count) {
  CVTM_TRY(move_inside(cvt, count));
  return cvtm_device_copy_out(cvt->device, sites, cvt->sites, cvtm_site_bytes(count));
}

double *cvtm_cvt_take_sites(cvtm_cvt *cvt) {
  double *sites = cvt->sites;
  cvt->sites = NULL;
  return sites;
}
