#include "density/pipeline.h"

#include "base/host.h"
#include "base/select.h"
#include "density/take.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH_THREADS = 1 << 20 /* pixels */ };

void cvtm_pipeline_defaults(cvtm_pipeline_options *options) {
  *options = (cvtm_pipeline_options){0};
  cvtm_density_defaults(&options->tone);
  cvtm_condition_defaults(&options->condition);
}

/* --- regions ------------------------------------------------------------------------------- */

static cvtm_status read_region(const cvtm_image *image, const char *name, const cvtm_input *source,
                               cvtm_region *region, cvtm_error *error) {
  if (source->array == NULL && strcmp(source->name, "alpha") == 0)
    return cvtm_region_of_alpha(image, name, region, error);
  return cvtm_region_open(source, image->width, image->height, region, error);
}

static void scale_region(const cvtm_region *region, size_t count, double factor, double *density) {
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (size_t p = 0; p < count; ++p)
    if (region->inside[p]) density[p] *= factor;
}

static cvtm_status apply_weights(const cvtm_pipeline_options *o, const cvtm_image *image,
                                 const char *name, double *density, cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < o->weight_count && status == CVTM_OK; ++k) {
    cvtm_region region = {0};
    status = read_region(image, name, &o->weights[k].region, &region, error);
    if (status == CVTM_OK) scale_region(&region, count, o->weights[k].factor, density);
    cvtm_region_free(&region);
  }
  return status;
}

/* Makes the region of the pixels with data. */
static cvtm_status data_region(const cvtm_image *image, cvtm_region *region, cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  *region = (cvtm_region){.width = image->width, .height = image->height, .inside = malloc(count)};
  if (region->inside == NULL) return cvtm_no_memory(error, "a picture");
  memset(region->inside, 1, count);
  for (size_t p = 0; p < count; ++p)
    if (isnan(image->value[p])) region->inside[p] = 0;
  return CVTM_OK;
}

/* Sets result->mask to the intersection of the pixels with data and the regions `within`, minus the
 * obstacles. */
static cvtm_status make_mask(const cvtm_pipeline_options *o, const cvtm_image *image,
                             const char *name, cvtm_pipeline_result *r, cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  const int has_holes = image->masked > 0, obstacles = o->within_count + has_holes;
  const int regions = obstacles + o->obstacle_count;
  if (regions == 0) return CVTM_OK;
  r->mask = malloc(count);
  r->regions = calloc((size_t)regions, sizeof *r->regions);
  if (r->mask == NULL || r->regions == NULL) return cvtm_no_memory(error, "a picture");
  r->first_obstacle = obstacles;
  memset(r->mask, 1, count);
  for (int k = 0; k < regions; ++k) {
    const int obstacle = k >= obstacles;
    const cvtm_input *source = obstacle        ? &o->obstacles[k - obstacles]
                               : k < has_holes ? NULL
                                               : &o->within[k - has_holes];
    cvtm_region *region = &r->regions[r->region_count];
    CVTM_TRY(source == NULL ? data_region(image, region, error)
                            : read_region(image, name, source, region, error));
    ++r->region_count;
    for (size_t p = 0; p < count; ++p) r->mask[p] &= (uint8_t)(region->inside[p] != obstacle);
  }
  return CVTM_OK;
}

/* --- the density --------------------------------------------------------------------------- */

static cvtm_status check_range(const char *path, const double *density, size_t count,
                               cvtm_error *error) {
  double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most) if (count >= WORTH_THREADS)
  for (size_t p = 0; p < count; ++p) most = density[p] > most ? density[p] : most;
  if (most > (double)FLT_MAX)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the weights give a density too large for single precision", path);
  if (most > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: weights and domain leave no pixel with a density above zero;"
                   " --floor or --invert may help",
                   path);
}

/* Nonzero if a step after the tone changes the density. */
static int shapes(const cvtm_image *image, const cvtm_pipeline_options *o) {
  return image->masked > 0 || o->weight_count > 0 || o->within_count > 0 || o->obstacle_count > 0 ||
         cvtm_condition_wanted(&o->condition);
}

/* Applies the steps after the tone to result->precise. device may be NULL if no step needs it. */
static cvtm_status shape_density(cvtm_device *device, const cvtm_image *image, const char *name,
                                 const cvtm_pipeline_options *o, cvtm_pipeline_result *r,
                                 cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  r->precise = malloc(count * sizeof *r->precise);
  if (r->precise == NULL) return cvtm_no_memory(error, "a picture");
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (size_t p = 0; p < count; ++p) r->precise[p] = (double)r->density[p];
  CVTM_TRY(apply_weights(o, image, name, r->precise, error));
  CVTM_TRY(make_mask(o, image, name, r, error));
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (size_t p = 0; p < count; ++p)
    if (r->mask != NULL && !r->mask[p]) r->precise[p] = 0;
  cvtm_status status = check_range(name, r->precise, count, error);
  if (status == CVTM_OK && cvtm_condition_wanted(&o->condition)) {
    status = cvtm_density_condition(device, r->width, r->height, r->mask, &o->condition, r->precise,
                                    &r->condition);
    if (status != CVTM_OK) *error = *cvtm_device_error(device);
  }
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (size_t p = 0; p < count; ++p) r->density[p] = (float)r->precise[p];
  if (!o->precise) {
    free(r->precise);
    r->precise = NULL;
  }
  return status;
}

/* Runs all steps. taken: the image if its values may be overwritten by the density, else NULL. */
static cvtm_status run_steps(cvtm_device *device, const cvtm_image *image, cvtm_image *taken,
                             const char *name, const cvtm_pipeline_options *options,
                             cvtm_pipeline_result *result, cvtm_error *error) {
  const int has_steps = options->precise || shapes(image, options);
  const int needs_device = cvtm_condition_wanted(&options->condition);
  cvtm_device *cpu = NULL;
  *result = (cvtm_pipeline_result){.width = image->width, .height = image->height};
  cvtm_status status =
      taken != NULL && !has_steps
          ? cvtm_density_take(taken, &options->tone, name, &result->density, error)
          : cvtm_density_from_image(image, &options->tone, name, &result->density, error);
  if (status == CVTM_OK && device == NULL && needs_device)
    status = cvtm_device_create("cpu", options->threads, &cpu, error);
  result->condition.converged = 1;
  if (status == CVTM_OK && has_steps)
    status = shape_density(device != NULL ? device : cpu, image, name, options, result, error);
  cvtm_device_destroy(cpu);
  if (status != CVTM_OK) cvtm_pipeline_free(result);
  return status;
}

cvtm_status cvtm_pipeline_run(cvtm_device *device, const cvtm_image *image, const char *name,
                              const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                              cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_pipeline, options)
  return run_steps(device, image, NULL, name, options, result, error);
}

cvtm_status cvtm_pipeline_take(cvtm_device *device, cvtm_image *image, const char *name,
                               const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                               cvtm_error *error) {
  return run_steps(device, image, image, name, options, result, error);
}

void cvtm_pipeline_free(cvtm_pipeline_result *result) {
  free(result->density);
  free(result->precise);
  free(result->mask);
  for (int k = 0; k < result->region_count; ++k) cvtm_region_free(&result->regions[k]);
  free(result->regions);
  *result = (cvtm_pipeline_result){0};
}

/* --- sites --------------------------------------------------------------------------------- */

/* Nonzero if a site may be at (x, y). */
static int is_free(const cvtm_pipeline_result *r, double x, double y) {
  for (int k = 0; k < r->region_count; ++k) {
    if (cvtm_region_contains(&r->regions[k], x, y) == (k >= r->first_obstacle)) return 0;
  }
  return 1;
}

/* Finds the pixel in the mask whose centre is nearest to a point. The mask is not empty. */
static void nearest_centre(const cvtm_pipeline_result *r, const double *place, double *centre) {
  const int width = r->width, height = r->height;
  const int i0 = (int)fmin(place[0], width - 1), j0 = (int)fmin(place[1], height - 1);
  double least = INFINITY;
  for (int ring = 0; ring <= (width > height ? width : height) && ring - 1 < least; ++ring) {
    for (int j = j0 - ring; j <= j0 + ring; ++j) {
      const int across = j == j0 - ring || j == j0 + ring || ring == 0 ? 1 : 2 * ring;
      for (int i = i0 - ring; i <= i0 + ring; i += across) {
        if (i < 0 || j < 0 || i >= width || j >= height) continue;
        const double off = hypot(i + 0.5 - place[0], j + 0.5 - place[1]);
        if (off >= least || !r->mask[(int64_t)j * width + i]) continue;
        least = off;
        centre[0] = i + 0.5;
        centre[1] = j + 0.5;
      }
    }
  }
}

/* Moves a site towards the nearest pixel centre in the mask until it is `margin` inside the
 * mask. */
static void move_out(const cvtm_pipeline_result *r, double *site) {
  const double margin = 1e-3; /* pixels */
  double centre[2] = {site[0], site[1]}, low = 0, high = 1;
  nearest_centre(r, site, centre);
  const double dx = centre[0] - site[0], dy = centre[1] - site[1];
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    if (is_free(r, site[0] + middle * dx, site[1] + middle * dy))
      high = middle;
    else
      low = middle;
  }
  const double beyond = fmin(high + margin / hypot(dx, dy), 1);
  if (is_free(r, site[0] + beyond * dx, site[1] + beyond * dy)) high = beyond;
  site[0] += high * dx;
  site[1] += high * dy;
}

int64_t cvtm_pipeline_move_sites(const cvtm_pipeline_result *r, double *sites, int64_t count) {
  int64_t moved = 0;
  if (r->mask == NULL) return 0;
  for (int64_t k = 0; k < count; ++k) {
    if (is_free(r, sites[2 * k], sites[2 * k + 1])) continue;
    move_out(r, sites + 2 * k);
    ++moved;
  }
  return moved;
}
