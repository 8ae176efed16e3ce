#include "density/seeds.h"

#include "base/host.h"
#include "base/srgb.h"
#include "density/eikonal.h"
#include "density/pictures/image_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- shades -------------------------------------------------------------------------------- */

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
    for (size_t p = 0; p < count; ++p) { /* fmin and fmax pass over NaN */
      low = fmin(low, (double)image->value[p]);
      high = fmax(high, (double)image->value[p]);
    }
  }
  const double scale = high > low ? 1 / (high - low) : 0;
  for (size_t p = 0; p < count; ++p) {
    const double value = (double)image->value[p];
    /* Without data: as white paper, as the least of data. */
    if (isnan(value))
      (*shades)[p] = !image->is_data;
    else
      (*shades)[p] = image->is_data ? (value - low) * scale : cvtm_linear_to_srgb(value);
  }
  return CVTM_OK;
}

/* One line of `count` values, `stride` apart. */
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

/* --- seeds --------------------------------------------------------------------------------- */

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
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the seeds contradict: pixel (%d, %d) is marked as inside and as outside", i,
                     j);
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
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a seed with a radius of %g", radius);
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

cvtm_status cvtm_seeds_add_image(cvtm_seeds *seeds, const char *path, cvtm_error *error) {
  cvtm_image image = {0};
  cvtm_status status = cvtm_image_read(path, &image, error);
  if (status != CVTM_OK) return status;
  if (image.width != seeds->width || image.height != seeds->height) {
    status =
        cvtm_fail(error, CVTM_ERROR_INPUT, "%s: seeds of %d x %d pixels for an image of %d x %d",
                  path, image.width, image.height, seeds->width, seeds->height);
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

/* --- the first curve ----------------------------------------------------------------------- */

/* 1 + K |grad I|^2 by central differences, mirrored at the border. */
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

/* Fails if all values have the same sign. */
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
  const cvtm_status status = check_first_curve(members, count, error);
  if (status != CVTM_OK) return status;
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
