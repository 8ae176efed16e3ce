#include "density/segmentation.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/select.h"
#include "base/srgb.h"
#include "base/text.h"
#include "density/condition.h"
#include "density/field_kernels.h"
#include "density/pictures/image_formats.h"
#include "density/region.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- shades ----------------------------------------------------------------------------------- */

cvtm_status cvtm_shades_of_image(const cvtm_image *image, double **shades, cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  double low = 0, high = 1;
  *shades = NULL;
  for (size_t p = 0; p < count; ++p) {
    if (isfinite(image->value[p]) || (image->masked > 0 && isnan(image->value[p]))) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the image's value at pixel (%zu, %zu) is not finite",
                     p % (size_t)image->width, p / (size_t)image->width);
  }
  *shades = malloc(count * sizeof **shades);
  if (*shades == NULL) return cvtm_no_memory(error, "a segmentation");
  if (image->is_data) {
    low = high = (double)image->value[0];
    for (size_t p = 0; p < count; ++p) { /* fmin and fmax ignore NaN */
      low = fmin(low, (double)image->value[p]);
      high = fmax(high, (double)image->value[p]);
    }
  }
  const double scale = high > low ? 1 / (high - low) : 0;
  for (size_t p = 0; p < count; ++p) {
    const double value = (double)image->value[p];
    /* pixels without data: white in pictures, the minimum in data */
    if (isnan(value))
      (*shades)[p] = !image->is_data;
    else
      (*shades)[p] = image->is_data ? (value - low) * scale : cvtm_linear_to_srgb(value);
  }
  return CVTM_OK;
}

/* Blurs a row or column of `count` values, `stride` apart. */
static void blur_line(double *line, int64_t count, int64_t stride, const double *weights,
                      int radius, double *copy) {
  for (int64_t i = 0; i < count; ++i) copy[i] = line[i * stride];
  for (int64_t i = 0; i < count; ++i) {
    double sum = weights[0] * copy[i];
    for (int k = 1; k <= radius; ++k) {
      const int64_t before = i >= k ? i - k : k - i - 1,
                    after = i + k < count ? i + k : 2 * count - 1 - i - k;
      sum += weights[k] * (copy[before < count ? before : count - 1] + copy[after > 0 ? after : 0]);
    }
    line[i * stride] = sum;
  }
}

cvtm_status cvtm_shades_blur(int width, int height, double sigma, double *shades,
                             cvtm_error *error) {
  if (!(sigma > 0)) return CVTM_OK;
  const int longer = width > height ? width : height;
  const int radius = 4 * sigma < longer ? (int)ceil(4 * sigma) : longer;
  double *weights = malloc(((size_t)radius + 1 + (size_t)longer) * sizeof *weights);
  if (weights == NULL) return cvtm_no_memory(error, "a segmentation");
  double *copy = weights + radius + 1, total = 0;
  for (int k = 0; k <= radius; ++k) {
    weights[k] = exp(-0.5 * k * k / (sigma * sigma));
    total += k == 0 ? weights[k] : 2 * weights[k];
  }
  for (int k = 0; k <= radius; ++k) weights[k] /= total;
  for (int64_t j = 0; j < height; ++j)
    blur_line(shades + j * width, width, 1, weights, radius, copy);
  for (int64_t i = 0; i < width; ++i) blur_line(shades + i, height, width, weights, radius, copy);
  free(weights);
  return CVTM_OK;
}

/* --- seeds ------------------------------------------------------------------------------------ */

cvtm_status cvtm_seeds_create(int width, int height, cvtm_seeds *seeds, cvtm_error *error) {
  *seeds = (cvtm_seeds){width, height, calloc((size_t)width * (size_t)height, 1)};
  return seeds->mark != NULL ? CVTM_OK : cvtm_no_memory(error, "a segmentation");
}

void cvtm_seeds_free(cvtm_seeds *seeds) {
  free(seeds->mark);
  *seeds = (cvtm_seeds){0};
}

static cvtm_status set_mark(cvtm_seeds *seeds, int i, int j, cvtm_seed seed, cvtm_error *error) {
  uint8_t *mark = &seeds->mark[(size_t)j * (size_t)seeds->width + (size_t)i];
  if (*mark != CVTM_SEED_NONE && *mark != seed) {
    return cvtm_fail(
        error, CVTM_ERROR_INPUT,
        "the seeds contradict each other: pixel (%d, %d) is marked as inside and as outside", i, j);
  }
  *mark = (uint8_t)seed;
  return CVTM_OK;
}

cvtm_status cvtm_seeds_add_disc(cvtm_seeds *seeds, double x, double y, double radius,
                                cvtm_seed seed, cvtm_error *error) {
  if (!(x >= 0 && y >= 0 && x < seeds->width && y < seeds->height)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "a seed at %g, %g is outside the image of %d x %d pixels", x, y, seeds->width,
                     seeds->height);
  }
  if (!(radius >= 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the radius of a seed must be 0 or more, not %g",
                     radius);
  cvtm_status status = set_mark(seeds, (int)x, (int)y, seed, error);
  const int top = (int)fmax(0, floor(y - radius));
  const int left = (int)fmax(0, floor(x - radius));
  const int bottom = (int)fmin(seeds->height - 1, ceil(y + radius));
  const int right = (int)fmin(seeds->width - 1, ceil(x + radius));
  for (int j = top; j <= bottom && status == CVTM_OK; ++j)
    for (int i = left; i <= right && status == CVTM_OK; ++i)
      if (hypot(i + 0.5 - x, j + 0.5 - y) <= radius) status = set_mark(seeds, i, j, seed, error);
  return status;
}

static cvtm_seed seed_of(const cvtm_image *image, size_t p) {
  const double value = (double)image->value[p];
  if (isnan(value)) return CVTM_SEED_NONE;
  if (image->is_data)
    return value > 0 ? CVTM_SEED_INSIDE : value < 0 ? CVTM_SEED_OUTSIDE : CVTM_SEED_NONE;
  if (image->alpha != NULL && image->alpha[p] < 0.5f) return CVTM_SEED_NONE;
  const double shade = cvtm_linear_to_srgb(value);
  return shade > 0.75 ? CVTM_SEED_INSIDE : shade < 0.25 ? CVTM_SEED_OUTSIDE : CVTM_SEED_NONE;
}

cvtm_status cvtm_seeds_add_image(cvtm_seeds *seeds, const cvtm_input *source, cvtm_error *error) {
  const char *path = source->name;
  cvtm_image image = {0};
  cvtm_status status = cvtm_image_open(source, 0, &image, error);
  if (status != CVTM_OK) return status;
  if (image.width != seeds->width || image.height != seeds->height) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: the seeds have %d x %d pixels, but the image has %d x %d", path,
                       image.width, image.height, seeds->width, seeds->height);
  }
  for (int j = 0; j < seeds->height && status == CVTM_OK; ++j) {
    for (int i = 0; i < seeds->width && status == CVTM_OK; ++i) {
      const size_t p = (size_t)j * (size_t)seeds->width + (size_t)i;
      const cvtm_seed seed = seed_of(&image, p);
      if (isnan(image.value[p]) && image.masked == 0)
        status =
            cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the seed at pixel (%d, %d) is nan", path, i, j);
      else if (seed != CVTM_SEED_NONE)
        status = set_mark(seeds, i, j, seed, error);
    }
  }
  cvtm_image_free(&image);
  return status;
}

int64_t cvtm_seeds_count(const cvtm_seeds *seeds, cvtm_seed seed) {
  int64_t count = 0;
  for (int64_t p = 0; p < (int64_t)seeds->width * seeds->height; ++p)
    count += seeds->mark[p] == seed;
  return count;
}

void cvtm_seeds_bounds(const cvtm_seeds *seeds, double value, double *lower, double *upper) {
  for (int64_t p = 0; p < (int64_t)seeds->width * seeds->height; ++p) {
    upper[p] = seeds->mark[p] == CVTM_SEED_INSIDE ? -value : (double)INFINITY;
    lower[p] = seeds->mark[p] == CVTM_SEED_OUTSIDE ? value : -(double)INFINITY;
  }
}

/* --- the first curve -------------------------------------------------------------------------- */

/* Fills slowness with 1 + K |grad I|^2 by central differences, mirrored at the border. */
static void fill_slowness(int width, int height, const double *shades, double k, double *slowness) {
  const double h = 1.0 / (width > height ? width : height);
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t p = j * width + i;
      const double x = shades[i + 1 < width ? p + 1 : p] - shades[i > 0 ? p - 1 : p];
      const double y = shades[j + 1 < height ? p + width : p] - shades[j > 0 ? p - width : p];
      slowness[p] = 1 + k * (x * x + y * y) / (4 * h * h);
    }
  }
}

static int is_border(int width, int height, int64_t p) {
  const int64_t i = p % width, j = p / width;
  return i == 0 || j == 0 || i == width - 1 || j == height - 1;
}

cvtm_status cvtm_seeds_grow(const cvtm_seeds *seeds, const double *shades, double k,
                            uint8_t *inside, cvtm_error *error) {
  const int width = seeds->width, height = seeds->height;
  const int64_t count = (int64_t)width * height;
  double *slowness = malloc(3 * (size_t)count * sizeof *slowness);
  if (slowness == NULL) return cvtm_no_memory(error, "a segmentation");
  double *from_inside = slowness + count, *from_outside = slowness + 2 * count;
  const int bordered = cvtm_seeds_count(seeds, CVTM_SEED_OUTSIDE) == 0;
  fill_slowness(width, height, shades, k, slowness);
  for (int64_t p = 0; p < count; ++p) {
    const int mark = seeds->mark[p];
    const int outside = mark == CVTM_SEED_OUTSIDE ||
                        (bordered && mark != CVTM_SEED_INSIDE && is_border(width, height, p));
    from_inside[p] = mark == CVTM_SEED_INSIDE ? 0 : (double)INFINITY;
    from_outside[p] = outside ? 0 : (double)INFINITY;
  }
  cvtm_eikonal(width, height, NULL, slowness, 0, from_inside);
  cvtm_eikonal(width, height, NULL, slowness, 0, from_outside);
  for (int64_t p = 0; p < count; ++p) inside[p] = from_inside[p] < from_outside[p];
  free(slowness);
  return CVTM_OK;
}

/* Fails if all values of the level set have the same sign. */
static cvtm_status check_first_curve(int64_t members, int64_t count, cvtm_error *error) {
  if (members > 0 && members < count) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "the first curve encloses %s",
                   members == 0 ? "nothing" : "the whole image");
}

cvtm_status cvtm_level_set_of_region(int width, int height, const uint8_t *inside, double *u,
                                     cvtm_error *error) {
  const int64_t count = (int64_t)width * height;
  int64_t members = 0;
  for (int64_t p = 0; p < count; ++p) members += inside[p] != 0;
  CVTM_TRY(check_first_curve(members, count, error));
  cvtm_signed_distance(width, height, inside, u);
  for (int64_t p = 0; p < count; ++p) u[p] /= width > height ? width : height;
  return CVTM_OK;
}

cvtm_status cvtm_seeds_select(const cvtm_seeds *seeds, const double *u, uint8_t *inside,
                              cvtm_error *error) {
  const int64_t width = seeds->width, height = seeds->height, count = width * height;
  int64_t *stack = malloc((size_t)count * sizeof *stack), top = 0;
  if (stack == NULL) return cvtm_no_memory(error, "a segmentation");
  memset(inside, 0, (size_t)count);
  for (int64_t p = 0; p < count; ++p) {
    if (seeds->mark[p] != CVTM_SEED_INSIDE || !(u[p] < 0)) continue;
    inside[p] = 1;
    stack[top++] = p;
  }
  while (top > 0) {
    const int64_t p = stack[--top], i = p % width, j = p / width;
    const int64_t near[4] = {i > 0 ? p - 1 : p, i + 1 < width ? p + 1 : p, j > 0 ? p - width : p,
                             j + 1 < height ? p + width : p};
    for (int k = 0; k < 4; ++k) {
      if (inside[near[k]] || !(u[near[k]] < 0)) continue;
      inside[near[k]] = 1;
      stack[top++] = near[k];
    }
  }
  free(stack);
  return CVTM_OK;
}

cvtm_status cvtm_level_set_of_disc(int width, int height, double x, double y, double radius,
                                   double *u, cvtm_error *error) {
  const double side = width > height ? width : height;
  int64_t members = 0;
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const double distance = hypot(i + 0.5 - x, j + 0.5 - y) - radius;
      u[(int64_t)j * width + i] = distance / side;
      members += distance < 0;
    }
  }
  return check_first_curve(members, (int64_t)width * height, error);
}

/* --- the level set ---------------------------------------------------------------------------- */

enum { REFRESH = 10 }; /* number of steps that share the transfer operators of multigrid */

struct cvtm_segment {
  cvtm_device *device;
  const cvtm_field_table *table;
  cvtm_segment_options options;
  cvtm_level_set set;
  cvtm_lcp *lcp;
  double *lower, *upper; /* in device memory, like the arrays of `set` */
};

void cvtm_segment_defaults(cvtm_segment_options *options) {
  *options = (cvtm_segment_options){.k = 10,
                                    .epsilon = 1,
                                    .tau = 5e-3,
                                    .max_steps = 200,
                                    .tolerance = 5e-4,
                                    .step_tolerance = 3e-5};
}

CVTM_DEFINE_NAMES(cvtm_segment_stop_name, cvtm_segment_stop, CVTM_SEGMENT_STOP_LIST)

/* --- setup ------------------------------------------------------------------------------------ */

static cvtm_status check_segment_options(const cvtm_segment_options *o, cvtm_error *error) {
  if (!(o->k >= 0) || !isfinite(o->k))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "K must be finite and 0 or more, not %g", o->k);
  if (!(o->epsilon > 0) || !isfinite(o->epsilon))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "epsilon must be finite and positive, not %g",
                     o->epsilon);
  if (!(o->tau > 0) || !isfinite(o->tau))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the time step must be finite and positive, not %g", o->tau);
  if (o->max_steps < 0 || !(o->tolerance >= 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "max_steps and tolerance must be 0 or more, not %lld and %g",
                     (long long)o->max_steps, o->tolerance);
  return CVTM_OK;
}

static cvtm_arrays segment_arrays(cvtm_segment *s) {
  cvtm_level_set *set = &s->set;
  const int64_t pixels = set->width * set->height;
  const int64_t across = (set->width + 1) * set->height, down = set->width * (set->height + 1);
  return (cvtm_arrays){{
      CVTM_ARRAY(set->image, pixels),
      CVTM_ARRAY(set->u, pixels),
      CVTM_ARRAY(set->before, pixels),
      CVTM_ARRAY(set->next, pixels),
      CVTM_ARRAY(set->diagonal, pixels),
      CVTM_ARRAY(set->right, pixels),
      CVTM_ARRAY(s->lower, pixels),
      CVTM_ARRAY(s->upper, pixels),
      CVTM_ARRAY(set->detector_horizontal, across),
      CVTM_ARRAY(set->horizontal, across),
      CVTM_ARRAY(set->detector_vertical, down),
      CVTM_ARRAY(set->vertical, down),
      CVTM_ARRAY(set->partial, CVTM_LEVEL_SUMS * set->height),
      CVTM_ARRAY(set->sums, CVTM_LEVEL_SUMS),
  }};
}

cvtm_status cvtm_segment_create(cvtm_device *device, int width, int height,
                                const cvtm_segment_options *options, cvtm_segment **segment) {
  CVTM_DEFAULT_OPTIONS(cvtm_segment, options)
  cvtm_error *error = cvtm_device_error(device);
  *segment = NULL;
  CVTM_TRY(check_segment_options(options, error));
  cvtm_segment *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->device = device;
  s->table = CVTM_TABLE(device, cvtm_field_table);
  s->options = *options;
  s->set.width = width;
  s->set.height = height;
  const double longer = width > height ? width : height;
  s->set.h = 1 / longer;
  s->set.per_h2 = longer * longer;
  s->set.epsilon = options->epsilon;
  s->set.k = options->k;
  s->set.tau = options->tau;
  cvtm_lcp_options lcp_options;
  cvtm_lcp_defaults(&lcp_options);
  lcp_options.tolerance = options->step_tolerance;
  lcp_options.nested = 0; /* every step has a good initial guess */
  cvtm_status status = cvtm_lcp_create_grid(device, width, height, &lcp_options, &s->lcp);
  if (status == CVTM_OK) status = cvtm_device_allocate_arrays(device, segment_arrays(s));
  if (status == CVTM_OK)
    *segment = s;
  else
    cvtm_segment_destroy(s);
  return status;
}

void cvtm_segment_destroy(cvtm_segment *s) {
  if (s == NULL) return;
  cvtm_lcp_destroy(s->lcp);
  cvtm_device_free_arrays(s->device, segment_arrays(s));
  free(s);
}

/* --- solving ---------------------------------------------------------------------------------- */

static cvtm_status copy_field(cvtm_segment *s, double *to, const double *from) {
  if (from == NULL) return CVTM_OK;
  const size_t bytes = (size_t)(s->set.width * s->set.height) * sizeof *from;
  return cvtm_device_copy_in(s->device, to, from, bytes);
}

/* Checks the bounds and the start. */
static cvtm_status check_bounds(cvtm_segment *s, const double *lower, const double *upper,
                                const double *u) {
  cvtm_error *error = cvtm_device_error(s->device);
  for (int64_t p = 0; p < s->set.width * s->set.height; ++p) {
    const double low = lower ? lower[p] : -(double)INFINITY;
    const double high = upper ? upper[p] : (double)INFINITY;
    if (!(low <= high)) {
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "at pixel (%lld, %lld) the lower bound exceeds the upper bound",
                       (long long)(p % s->set.width), (long long)(p / s->set.width));
    }
    if (!isfinite(u[p])) {
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the first level set is not finite at pixel (%lld, %lld)",
                       (long long)(p % s->set.width), (long long)(p / s->set.width));
    }
  }
  return CVTM_OK;
}

static void clip(int64_t pixels, const double *lower, const double *upper, double *u) {
  for (int64_t p = 0; p < pixels; ++p) {
    if (lower && u[p] < lower[p])
      u[p] = lower[p];
    else if (upper && u[p] > upper[p])
      u[p] = upper[p];
  }
}

/* Sets the LCP of the next step, and reads the sums of the previous step. */
static cvtm_status prepare_step(cvtm_segment *s, cvtm_segment_progress *progress) {
  const double h = s->set.h, pixels = (double)s->set.width * (double)s->set.height;
  double sums[CVTM_LEVEL_SUMS];
  CVTM_TRY(s->table->advance(s->device, &s->set));
  CVTM_TRY(cvtm_device_copy_out(s->device, sums, s->set.sums, sizeof sums));
  progress->change = h * sqrt(sums[CVTM_LEVEL_CHANGE]);
  progress->area = sums[CVTM_LEVEL_INSIDE] / pixels;
  progress->energy = h * h * sums[CVTM_LEVEL_ENERGY];
  return CVTM_OK;
}

/* Renews the operators in some steps only, because the coefficients change little. */
static cvtm_status refresh_operators(cvtm_segment *s, int64_t step) {
  const cvtm_lcp_grid grid = {.width = s->set.width,
                              .height = s->set.height,
                              .diagonal = s->set.diagonal,
                              .horizontal = s->set.horizontal,
                              .vertical = s->set.vertical};
  return step % REFRESH == 0 ? cvtm_lcp_set_grid(s->lcp, &grid) : CVTM_OK;
}

static cvtm_status step_level_set(cvtm_segment *s, int has_lower, int has_upper,
                                  cvtm_segment_progress *progress) {
  const double *lower = has_lower ? s->lower : NULL, *upper = has_upper ? s->upper : NULL;
  cvtm_lcp_result result;
  CVTM_TRY(refresh_operators(s, progress->step));
  double *const last = s->set.u;
  s->set.u = s->set.next;
  s->set.next = last;
  CVTM_TRY(cvtm_lcp_solve(s->lcp, s->set.right, lower, upper, s->set.u, 1, &result));
  progress->stalled = !cvtm_lcp_is_solved(result.stop);
  ++progress->step;
  progress->cycles = result.iterations;
  return prepare_step(s, progress);
}

static int monitor_stops(const cvtm_segment *s, const cvtm_segment_progress *progress) {
  return s->options.monitor != NULL && s->options.monitor(s->options.monitor_context, progress);
}

static cvtm_status run_steps(cvtm_segment *s, int has_lower, int has_upper,
                             cvtm_segment_result *result) {
  cvtm_segment_progress progress = {0};
  CVTM_TRY(prepare_step(s, &progress));
  result->stop = monitor_stops(s, &progress) ? CVTM_SEGMENT_INTERRUPTED : CVTM_SEGMENT_STEPS;
  while (result->stop == CVTM_SEGMENT_STEPS && progress.step < s->options.max_steps) {
    CVTM_TRY(step_level_set(s, has_lower, has_upper, &progress));
    result->cycles += progress.cycles;
    if (monitor_stops(s, &progress)) result->stop = CVTM_SEGMENT_INTERRUPTED;
    if (progress.change < s->options.tolerance) result->stop = CVTM_SEGMENT_CONVERGED;
    if (progress.stalled) result->stop = CVTM_SEGMENT_STEP_FAILED;
  }
  result->steps = progress.step;
  result->change = progress.change;
  result->area = progress.area;
  result->energy = progress.energy;
  return CVTM_OK;
}

cvtm_status cvtm_segment_solve(cvtm_segment *s, const double *image, const double *lower,
                               const double *upper, double *u, cvtm_segment_result *result) {
  const double start = cvtm_clock();
  const int64_t pixels = s->set.width * s->set.height;
  const size_t bytes = (size_t)pixels * sizeof *u;
  cvtm_segment_result found = {0};
  CVTM_TRY(check_bounds(s, lower, upper, u));
  clip(pixels, lower, upper, u);
  CVTM_TRY(copy_field(s, s->set.image, image));
  CVTM_TRY(copy_field(s, s->lower, lower));
  CVTM_TRY(copy_field(s, s->upper, upper));
  CVTM_TRY(copy_field(s, s->set.u, u));
  CVTM_TRY(copy_field(s, s->set.before, u));
  CVTM_TRY(s->table->detector(s->device, &s->set));
  CVTM_TRY(run_steps(s, lower != NULL, upper != NULL, &found));
  CVTM_TRY(cvtm_device_copy_out(s->device, u, s->set.u, bytes));
  found.seconds = cvtm_clock() - start;
  *result = found;
  return CVTM_OK;
}

/* --- all steps ------------------------------------------------------------------------------ */

void cvtm_segmentation_defaults(cvtm_segmentation_options *options) {
  *options = (cvtm_segmentation_options){.first = CVTM_FIRST_CURVE_GROW, .seed_value = 0.05};
  cvtm_segment_defaults(&options->segment);
}

static cvtm_status add_discs(const cvtm_disc *discs, int count, cvtm_seed seed, cvtm_seeds *seeds,
                             cvtm_error *error) {
  for (int k = 0; k < count; ++k)
    CVTM_TRY(cvtm_seeds_add_disc(seeds, discs[k].x, discs[k].y, discs[k].radius, seed, error));
  return CVTM_OK;
}

static cvtm_status collect_seeds(const cvtm_segmentation_options *o, int width, int height,
                                 cvtm_seeds *seeds, cvtm_error *error) {
  CVTM_TRY(cvtm_seeds_create(width, height, seeds, error));
  if (o->seeds.name != NULL) CVTM_TRY(cvtm_seeds_add_image(seeds, &o->seeds, error));
  CVTM_TRY(add_discs(o->inside, o->inside_count, CVTM_SEED_INSIDE, seeds, error));
  CVTM_TRY(add_discs(o->outside, o->outside_count, CVTM_SEED_OUTSIDE, seeds, error));
  return cvtm_seeds_count(seeds, CVTM_SEED_INSIDE) == 0
             ? cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pixel is marked as inside",
                         o->seeds.name != NULL ? o->seeds.name : "the seeds")
             : CVTM_OK;
}

static cvtm_status read_first_region(const cvtm_input *source, int width, int height,
                                     uint8_t *inside, cvtm_error *error) {
  cvtm_region region = {0};
  const cvtm_status status = cvtm_region_open(source, width, height, &region, error);
  if (status == CVTM_OK) memcpy(inside, region.inside, (size_t)width * (size_t)height);
  cvtm_region_free(&region);
  return status;
}

/* Sets s->inside to the region within the first curve, for all kinds but CVTM_FIRST_CURVE_DISC. */
static cvtm_status make_first_region(const cvtm_segmentation_options *o, cvtm_segmentation *s,
                                     cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  if (o->first == CVTM_FIRST_CURVE_GROW)
    return cvtm_seeds_grow(&s->seeds, s->shades, o->segment.k, s->inside, error);
  if (o->first == CVTM_FIRST_CURVE_REGION)
    return read_first_region(&o->first_region, width, height, s->inside, error);
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int within = i > 0 && j > 0 && i < width - 1 && j < height - 1;
      s->inside[(size_t)j * (size_t)width + (size_t)i] = (uint8_t)within;
    }
  }
  return CVTM_OK;
}

/* Sets s->u to the signed distance to the first curve on the unit square, negative inside. */
static cvtm_status make_first_level_set(const cvtm_segmentation_options *o, cvtm_segmentation *s,
                                        cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  if (o->first == CVTM_FIRST_CURVE_DISC)
    return cvtm_level_set_of_disc(width, height, o->first_disc.x, o->first_disc.y,
                                  o->first_disc.radius, s->u, error);
  CVTM_TRY(make_first_region(o, s, error));
  return cvtm_level_set_of_region(width, height, s->inside, s->u, error);
}

typedef struct recorder {
  cvtm_segmentation *segmentation;
  const cvtm_segment_options *options;
} recorder;

/* Appends a step to the history, and calls the monitor of the options; nonzero: stop. */
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
  CVTM_TRY(collect_seeds(o, width, height, &s->seeds, error));
  s->u = malloc(count * sizeof *s->u);
  s->inside = malloc(count);
  if (s->u == NULL || s->inside == NULL) return cvtm_no_memory(error, "a picture");
  CVTM_TRY(cvtm_shades_of_image(image, &s->shades, error));
  CVTM_TRY(cvtm_shades_blur(width, height, o->sigma, s->shades, error));
  CVTM_TRY(make_first_level_set(o, s, error));
  CVTM_TRY(move_curve(device, o, s, error));
  return cvtm_seeds_select(&s->seeds, s->u, s->inside, error);
}

/* Prefixes the message with the picture's name unless the message begins with a file name. */
static cvtm_status name_picture(const cvtm_segmentation_options *o, const char *name,
                                cvtm_status status, cvtm_error *error) {
  const char *files[] = {name, o->seeds.name, o->first_region.name};
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
