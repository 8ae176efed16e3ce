#include "density/segmentation.h"

#include "base/host.h"
#include "base/select.h"
#include "density/region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_segmentation_defaults(cvtm_segmentation_options *options) {
  *options = (cvtm_segmentation_options){.first = CVTM_FIRST_CURVE_GROW, .seed_value = 0.05};
  cvtm_segment_defaults(&options->segment);
}

static cvtm_status add_discs(const cvtm_disc *discs, int count, cvtm_seed seed, cvtm_seeds *seeds,
                             cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < count && status == CVTM_OK; ++k)
    status = cvtm_seeds_add_disc(seeds, discs[k].x, discs[k].y, discs[k].radius, seed, error);
  return status;
}

static cvtm_status collect_seeds(const cvtm_segmentation_options *o, int width, int height,
                                 cvtm_seeds *seeds, cvtm_error *error) {
  cvtm_status status = cvtm_seeds_create(width, height, seeds, error);
  if (status == CVTM_OK && o->seeds_file != NULL)
    status = cvtm_seeds_add_image(seeds, o->seeds_file, error);
  if (status == CVTM_OK)
    status = add_discs(o->inside, o->inside_count, CVTM_SEED_INSIDE, seeds, error);
  if (status == CVTM_OK)
    status = add_discs(o->outside, o->outside_count, CVTM_SEED_OUTSIDE, seeds, error);
  if (status == CVTM_OK && cvtm_seeds_count(seeds, CVTM_SEED_INSIDE) == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pixel is marked as inside",
                       o->seeds_file != NULL ? o->seeds_file : "the seeds");
  return status;
}

static cvtm_status read_first_region(const char *path, int width, int height, uint8_t *inside,
                                     cvtm_error *error) {
  cvtm_region region = {0};
  const cvtm_status status = cvtm_region_read(path, width, height, &region, error);
  if (status == CVTM_OK) memcpy(inside, region.inside, (size_t)width * (size_t)height);
  cvtm_region_free(&region);
  return status;
}

/* s->inside = the region within the first curve, which is no disc. */
static cvtm_status make_first_region(const cvtm_segmentation_options *o, cvtm_segmentation *s,
                                     cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  if (o->first == CVTM_FIRST_CURVE_GROW)
    return cvtm_seeds_grow(&s->seeds, s->shades, o->segment.k, s->inside, error);
  if (o->first == CVTM_FIRST_CURVE_FILE)
    return read_first_region(o->first_file, width, height, s->inside, error);
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int within = i > 0 && j > 0 && i < width - 1 && j < height - 1;
      s->inside[(size_t)j * (size_t)width + (size_t)i] = (uint8_t)within;
    }
  }
  return CVTM_OK;
}

/* s->u = the signed distance to the first curve on the unit square, negative inside. */
static cvtm_status make_first_level_set(const cvtm_segmentation_options *o, cvtm_segmentation *s,
                                        cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  if (o->first == CVTM_FIRST_CURVE_DISC)
    return cvtm_level_set_of_disc(width, height, o->first_disc.x, o->first_disc.y,
                                  o->first_disc.radius, s->u, error);
  const cvtm_status status = make_first_region(o, s, error);
  return status == CVTM_OK ? cvtm_level_set_of_region(width, height, s->inside, s->u, error)
                           : status;
}

typedef struct recorder {
  cvtm_segmentation *segmentation;
  const cvtm_segment_options *options;
} recorder;

/* Appends a step to the history, and calls the caller's monitor. */
static int record_step(void *context, const cvtm_segment_progress *progress) {
  const recorder *r = context;
  r->segmentation->history[r->segmentation->history_count++] = *progress;
  return r->options->monitor != NULL &&
         r->options->monitor(r->options->monitor_context, progress) != 0;
}

static cvtm_status move_curve(cvtm_device *device, const cvtm_segmentation_options *o,
                              cvtm_segmentation *s, cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  const size_t count = (size_t)width * (size_t)height;
  recorder steps = {s, &o->segment};
  cvtm_segment_options options = o->segment;
  options.monitor = record_step;
  options.monitor_context = &steps;
  double *bounds = malloc(2 * count * sizeof *bounds);
  s->history = malloc((size_t)(options.max_steps + 1) * sizeof *s->history);
  if (bounds == NULL || s->history == NULL) {
    free(bounds);
    return cvtm_no_memory(error, "a picture");
  }
  cvtm_seeds_bounds(&s->seeds, o->seed_value, bounds, bounds + count);
  cvtm_segment *segment = NULL;
  cvtm_status status = cvtm_segment_create(device, width, height, &options, &segment);
  if (status == CVTM_OK) {
    const int has_lower = cvtm_seeds_count(&s->seeds, CVTM_SEED_OUTSIDE) > 0;
    status = cvtm_segment_solve(segment, s->shades, has_lower ? bounds : NULL, bounds + count, s->u,
                                &s->result);
  }
  if (status != CVTM_OK) *error = *cvtm_device_error(device);
  cvtm_segment_destroy(segment);
  free(bounds);
  return status;
}

static cvtm_status segment_image(cvtm_device *device, const cvtm_image *image,
                                 const cvtm_segmentation_options *o, cvtm_segmentation *s,
                                 cvtm_error *error) {
  const int width = image->width, height = image->height;
  const size_t count = (size_t)width * (size_t)height;
  cvtm_status status = collect_seeds(o, width, height, &s->seeds, error);
  s->u = malloc(count * sizeof *s->u);
  s->inside = malloc(count);
  if (status == CVTM_OK && (s->u == NULL || s->inside == NULL))
    status = cvtm_no_memory(error, "a picture");
  if (status == CVTM_OK) status = cvtm_shades_of_image(image, &s->shades, error);
  if (status == CVTM_OK) status = cvtm_shades_blur(width, height, o->sigma, s->shades, error);
  if (status == CVTM_OK) status = make_first_level_set(o, s, error);
  if (status == CVTM_OK) status = move_curve(device, o, s, error);
  if (status == CVTM_OK) status = cvtm_seeds_select(&s->seeds, s->u, s->inside, error);
  return status;
}

/* Puts the picture's name before a message that begins with no file's name. */
static cvtm_status name_picture(const cvtm_segmentation_options *o, const char *name,
                                cvtm_status status, cvtm_error *error) {
  const char *files[] = {name, o->seeds_file, o->first_file};
  if (status != CVTM_ERROR_INPUT) return status;
  for (int k = 0; k < 3; ++k)
    if (files[k] != NULL && strncmp(error->message, files[k], strlen(files[k])) == 0) return status;
  const cvtm_error reason = *error;
  return cvtm_fail(error, status, "%s: %s", name, reason.message);
}

cvtm_status cvtm_segmentation_run(cvtm_device *device, const cvtm_image *image, const char *name,
                                  const cvtm_segmentation_options *options, cvtm_segmentation *made,
                                  cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_segmentation, options)
  *made = (cvtm_segmentation){0};
  const cvtm_status status = segment_image(device, image, options, made, error);
  if (status != CVTM_OK) cvtm_segmentation_free(made);
  return name_picture(options, name, status, error);
}

void cvtm_segmentation_free(cvtm_segmentation *made) {
  free(made->shades);
  free(made->u);
  free(made->inside);
  free(made->history);
  cvtm_seeds_free(&made->seeds);
  *made = (cvtm_segmentation){0};
}

void cvtm_segmentation_coverage(const cvtm_segmentation *s, float *coverage) {
  const int64_t pixels = (int64_t)s->seeds.width * s->seeds.height;
  double most = 0;
  for (int64_t p = 0; p < pixels; ++p) most = fmax(most, fabs(s->u[p]));
  for (int64_t p = 0; p < pixels; ++p) {
    const double u = s->inside[p] ? s->u[p] : fabs(s->u[p]);
    coverage[p] = (float)(0.5 - 0.5 * u / most);
  }
}
