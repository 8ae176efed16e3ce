#include "base/host.h"
#include "base/select.h"
#include "base/srgb.h"
#include "density/take.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void cvtm_density_defaults(cvtm_density_options *options) {
  *options = (cvtm_density_options){
      .gamma = 1, .from = CVTM_DENSITY_FROM_AUTO, .white = 1, .contrast = 1, .dot_ratio = 1};
}

static cvtm_status check_density_options(const cvtm_density_options *options, cvtm_error *error) {
  if (!(options->gamma > 0) || !isfinite(options->gamma))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "gamma must be positive, not %g", options->gamma);
  if (!(options->floor >= 0) || !(options->floor <= FLT_MAX))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the density's floor must be zero or positive, not %g", options->floor);
  if (!(options->white > options->black) || !(options->contrast > 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "white must be above black, and the contrast positive; black is %g, white %g, "
                     "the contrast %g",
                     options->black, options->white, options->contrast);
  }
  if (!(options->dot_ratio > 0 && options->dot_ratio <= 1))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the ratio of dot sizes must be in (0, 1], not %g",
                     options->dot_ratio);
  return CVTM_OK;
}

static cvtm_status bad_value(const cvtm_image *image, size_t i, const char *name,
                             const char *reason, cvtm_error *error) {
  size_t width = (size_t)image->width;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the value %g at pixel (%zu, %zu) %s", name,
                   (double)image->value[i], i % width, i / width, reason);
}

/* Threads share the pixels in blocks; from each block only the first bad pixel is reported. */
enum { BLOCK = 1 << 14 };

/* Returns the largest value; *first: the index of the first value that is negative or not finite;
 * `count` if there is none. */
static double scan_values(const float *value, int64_t count, int64_t *first) {
  int64_t bad = count;
  float max = 0;
#pragma omp parallel for schedule(static) reduction(min    \
                                                    : bad) \
    reduction(max                                          \
              : max) if (count >= 64 * BLOCK)
  for (int64_t start = 0; start < count; start += BLOCK) {
    const int64_t end = start + BLOCK < count ? start + BLOCK : count;
    /* The bits of nonnegative floats, read as integers, have the order of the floats. */
    int32_t most = 0;
    int wrong = 0;
    for (int64_t i = start; i < end; ++i) {
      int32_t bits;
      memcpy(&bits, value + i, sizeof bits);
      wrong |= !(value[i] >= 0 && value[i] <= FLT_MAX);
      most = bits > most ? bits : most;
    }
    int64_t i = start;
    while (wrong && i < end && value[i] >= 0 && value[i] <= FLT_MAX) ++i;
    if (wrong && i < bad) bad = i;
    float block_max;
    memcpy(&block_max, &most, sizeof block_max);
    if (!wrong && block_max > max) max = block_max;
  }
  *first = bad;
  return (double)max;
}

/* Checks every value and finds the largest value. */
static cvtm_status check_values(const cvtm_image *image, size_t count, const char *name,
                                double *max, cvtm_error *error) {
  int64_t first;
  *max = scan_values(image->value, (int64_t)count, &first);
  if (first == (int64_t)count) return CVTM_OK;
  const char *reason = isfinite(image->value[first]) ? "is negative" : "is not finite";
  return bad_value(image, (size_t)first, name, reason, error);
}

static double density_of(double value, cvtm_density_from from) {
  switch (from) {
    case CVTM_DENSITY_FROM_TONE:
      return value * value;
    case CVTM_DENSITY_FROM_SIZE:
      return 1 / (value * value * value * value);
    default:
      return value;
  }
}

static int changes_levels(const cvtm_density_options *options) {
  return options->black != 0 || options->white != 1 || options->contrast != 1;
}

static cvtm_status zero_everywhere(const cvtm_image *image, const cvtm_density_options *options,
                                   const char *name, double brightest, double darkest,
                                   cvtm_error *error) {
  const cvtm_status bad = CVTM_ERROR_INPUT;
  if (changes_levels(options))
    return cvtm_fail(error, bad,
                     "%s: with these levels the density is zero everywhere; try other values of "
                     "--levels",
                     name);
  if (!image->is_data && !options->invert && darkest >= 1)
    return cvtm_fail(error, bad,
                     "%s: no pixel is dark, so the density is zero everywhere; try --invert", name);
  if (!image->is_data && options->invert && brightest <= 0)
    return cvtm_fail(
        error, bad,
        "%s: no pixel is bright, so the density is zero everywhere; try without --invert", name);
  if (image->is_data && brightest <= 0)
    return cvtm_fail(error, bad,
                     "%s: every value is zero, so the density is zero everywhere; try data with "
                     "positive values",
                     name);
  if (image->is_data && options->invert && darkest >= brightest)
    return cvtm_fail(error, bad,
                     "%s: all values are equal, so the inverted density is zero everywhere; try "
                     "without --invert",
                     name);
  return cvtm_fail(error, bad,
                   "%s: the density is too small for single precision everywhere; try a smaller "
                   "--gamma",
                   name);
}

/* Parameters of the conversion from values to densities. */
typedef struct conversion {
  cvtm_density_from from; /* not AUTO */
  int reversed;           /* nonzero: `top` - value replaces the value */
  double top, gamma, floor;
  double dot_ratio;
  const cvtm_density_options *levels; /* NULL: no change of levels */
} conversion;

static conversion choose_conversion(const cvtm_image *image, const cvtm_density_options *options,
                                    double max) {
  conversion c = {options->from,
                  0,
                  image->is_data ? max : 1,
                  options->gamma,
                  options->floor,
                  options->dot_ratio,
                  changes_levels(options) ? options : NULL};
  if (c.from == CVTM_DENSITY_FROM_AUTO)
    c.from = image->is_data ? CVTM_DENSITY_FROM_DENSITY : CVTM_DENSITY_FROM_TONE;
  /* pictures are dense where they are dark, data where values are large */
  c.reversed = image->is_data ? options->invert : !options->invert;
  return c;
}

static double level_of(double value, const cvtm_density_options *o) {
  const double encoded = cvtm_linear_to_srgb(fmin(fmax(value, 0), 1));
  const double level = (encoded - o->black) / (o->white - o->black);
  return cvtm_srgb_to_linear(fmin(fmax(0.5 + (level - 0.5) * o->contrast, 0), 1));
}

/* The tone of a value. */
static inline double tone_of(double value, const conversion *c) {
  if (c->levels != NULL) value = level_of(value, c->levels);
  if (c->reversed) value = value < c->top ? c->top - value : 0;
  return c->gamma != 1 ? pow(value, c->gamma) : value;
}

static inline double convert_value(double value, const conversion *c) {
  double tone = tone_of(value, c);
  if (c->dot_ratio != 1) {
    const double size = c->dot_ratio + (1 - c->dot_ratio) * tone;
    tone /= size * size;
  }
  const double rho = density_of(tone, c->from);
  return rho < c->floor ? c->floor : rho;
}

/* Converts count values. Sets *positive if a density is above 0; returns 1 if a density is not
 * finite. */
CVTM_INLINE int convert_values(const float *value, int64_t count, const conversion *c,
                               float *density, int *positive) {
  int wrong = 0, above = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double rho = convert_value((double)value[i], c);
    wrong |= !(rho <= FLT_MAX);
    density[i] = (float)rho;
    above |= density[i] > 0;
  }
  *positive |= above;
  return wrong;
}

/* convert_values, with separate loops with constant options for the default conversions of pictures
 * and of data. */
static int convert_block(const float *value, int64_t count, const conversion *c, float *density,
                         int *positive) {
  const double floor = c->floor;
  if (c->dot_ratio != 1 || c->levels != NULL)
    return convert_values(value, count, c, density, positive);
  if (c->from == CVTM_DENSITY_FROM_DENSITY && !c->reversed && c->gamma == 1) {
    const conversion data = {CVTM_DENSITY_FROM_DENSITY, 0, 0, 1, floor, 1, NULL};
    return convert_values(value, count, &data, density, positive);
  }
  if (c->from == CVTM_DENSITY_FROM_TONE && c->reversed && c->gamma == 1) {
    const conversion picture = {CVTM_DENSITY_FROM_TONE, 1, c->top, 1, floor, 1, NULL};
    return convert_values(value, count, &picture, density, positive);
  }
  return convert_values(value, count, c, density, positive);
}

static cvtm_status refuse_value(const cvtm_image *image, size_t i, const conversion *c,
                                const char *name, cvtm_error *error) {
  if (c->from == CVTM_DENSITY_FROM_SIZE && !(tone_of((double)image->value[i], c) > 0))
    return bad_value(image, i, name, "gives a size of zero, so an infinite density", error);
  return bad_value(image, i, name, "gives a density too large for single precision", error);
}

/* Converts all values. `density` may be the array of the image's values. */
static cvtm_status convert(const cvtm_image *image, size_t count,
                           const cvtm_density_options *options, const char *name, double max,
                           float *density, cvtm_error *error) {
  const conversion c = choose_conversion(image, options, max);
  const int64_t pixels = (int64_t)count;
  const float *value = image->value;
  int64_t bad = pixels;
  int positive = 0;
  double least = max; /* least value in blocks without a density above 0 */
#pragma omp parallel for schedule(static) reduction(min           \
                                                    : bad, least) \
    reduction(|                                                   \
              : positive) if (pixels >= 64 * BLOCK)
  for (int64_t start = 0; start < pixels; start += BLOCK) {
    const int64_t end = start + BLOCK < pixels ? start + BLOCK : pixels;
    float made[BLOCK];
    int64_t i = start;
    int above = 0;
    if (convert_block(value + start, end - start, &c, made, &above)) {
      while (i < end && convert_value((double)value[i], &c) <= FLT_MAX) ++i;
      if (i < bad) bad = i;
      continue;
    }
    for (i = start; !above && i < end; ++i) least = fmin(least, (double)value[i]);
    memcpy(density + start, made, (size_t)(end - start) * sizeof *made);
    positive |= above;
  }
  if (bad < pixels) return refuse_value(image, (size_t)bad, &c, name, error);
  return positive ? CVTM_OK : zero_everywhere(image, options, name, max, least, error);
}

static cvtm_status no_memory(const cvtm_image *image, const char *name, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory for %d x %d pixels", name,
                   image->width, image->height);
}

/* Sets pixels without data to 0. */
static void clear_masked(const cvtm_image *image, float *plane) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  for (size_t i = 0; image->masked > 0 && i < count; ++i)
    if (isnan(image->value[i])) plane[i] = 0;
}

/* Copies the values, and gives pixels without data the value of a pixel with data, so that they do
 * not affect the result. */
static cvtm_status fill_masked(const cvtm_image *image, const char *name, float **filled,
                               cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  size_t first = 0;
  while (first < count && isnan(image->value[first])) ++first;
  if (first == count) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pixel has data", name);
  *filled = malloc(count * sizeof **filled);
  if (*filled == NULL) return no_memory(image, name, error);
  for (size_t i = 0; i < count; ++i)
    (*filled)[i] = image->value[isnan(image->value[i]) ? first : i];
  return CVTM_OK;
}

/* Makes the density. own: memory for the density, which may be image->value; NULL: the function
 * allocates the memory. */
static cvtm_status make_density(const cvtm_image *image, const cvtm_density_options *options,
                                const char *name, float *own, float **density, cvtm_error *error) {
  *density = NULL;
  CVTM_TRY(check_density_options(options, error));
  if (image->width < 1 || image->height < 1 || image->value == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: the image has no pixels", name);
  if (image->is_data && changes_levels(options)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: data has no black, white or contrast; use --gamma", name);
  }
  size_t count = (size_t)image->width * (size_t)image->height;
  double max = 0;
  CVTM_TRY(check_values(image, count, name, &max, error));
  float *made = own != NULL ? own : malloc(count * sizeof *made);
  if (made == NULL) return no_memory(image, name, error);
  if (own == NULL) cvtm_prefer_large_pages(made, count * sizeof *made);
  cvtm_status status = convert(image, count, options, name, max, made, error);
  if (status != CVTM_OK) {
    if (own == NULL) free(made);
    return status;
  }
  *density = made;
  return CVTM_OK;
}

cvtm_status cvtm_density_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **density, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_density, options)
  if (image->masked == 0) return make_density(image, options, name, NULL, density, error);
  cvtm_image whole = *image;
  cvtm_status status = fill_masked(image, name, &whole.value, error);
  *density = NULL;
  if (status != CVTM_OK) return status;
  status = make_density(&whole, options, name, whole.value, density, error);
  if (status != CVTM_OK) free(whole.value);
  if (status == CVTM_OK) clear_masked(image, *density);
  return status;
}

cvtm_status cvtm_density_take(cvtm_image *image, const cvtm_density_options *options,
                              const char *name, float **density, cvtm_error *error) {
  if (image->masked > 0) return cvtm_density_from_image(image, options, name, density, error);
  float *own = image->storage == NULL ? image->value : NULL;
  CVTM_TRY(make_density(image, options, name, own, density, error));
  if (own != NULL) image->value = NULL;
  return CVTM_OK;
}

cvtm_status cvtm_tone_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                 const char *name, float **tone, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_density, options)
  const size_t count = (size_t)image->width * (size_t)image->height;
  *tone = NULL;
  if (image->is_data) return CVTM_OK;
  const conversion c = choose_conversion(image, options, 1);
  float *made = malloc(count * sizeof *made);
  if (made == NULL) return no_memory(image, name, error);
#pragma omp parallel for schedule(static) if (count >= 64 * BLOCK)
  for (size_t i = 0; i < count; ++i) made[i] = (float)tone_of((double)image->value[i], &c);
  clear_masked(image, made);
  *tone = made;
  return CVTM_OK;
}

cvtm_status cvtm_colours_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **rgb, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_density, options)
  const size_t count = 3 * (size_t)image->width * (size_t)image->height;
  conversion c = choose_conversion(image, options, 1);
  *rgb = NULL;
  if (image->rgb == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: data has no colours", name);
  float *made = malloc(count * sizeof *made);
  if (made == NULL) return no_memory(image, name, error);
  c.reversed = 1;
#pragma omp parallel for schedule(static) if (count >= 64 * BLOCK)
  for (size_t i = 0; i < count; ++i) made[i] = (float)(1 - tone_of((double)image->rgb[i], &c));
  *rgb = made;
  return CVTM_OK;
}
