#include "density/density.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

void cvtm_density_defaults(cvtm_density_options *options) {
  *options = (cvtm_density_options){.gamma = 1, .from = CVTM_DENSITY_FROM_AUTO};
}

static cvtm_status check_options(const cvtm_density_options *options, cvtm_error *error) {
  if (!(options->gamma > 0) || !isfinite(options->gamma)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "gamma must be positive, not %g", options->gamma);
  }
  if (!(options->floor >= 0) || !(options->floor <= FLT_MAX)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the density's floor must be zero or positive, not %g", options->floor);
  }
  return CVTM_OK;
}

static cvtm_status bad_value(const cvtm_image *image, size_t i, const char *name,
                             const char *reason, cvtm_error *error) {
  size_t width = (size_t)image->width;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the value %g at pixel (%zu, %zu) %s", name,
                   (double)image->value[i], i % width, i / width, reason);
}

/* Checks every value and finds the largest. */
static cvtm_status check_values(const cvtm_image *image, size_t count, const char *name,
                                double *max, cvtm_error *error) {
  *max = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = (double)image->value[i];
    if (!isfinite(value)) return bad_value(image, i, name, "is not finite", error);
    if (value < 0) return bad_value(image, i, name, "is negative", error);
    if (value > *max) *max = value;
  }
  return CVTM_OK;
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

static cvtm_status zero_everywhere(const cvtm_image *image, const cvtm_density_options *options,
                                   const char *name, double brightest, double darkest,
                                   cvtm_error *error) {
  const char *reason;
  if (!image->is_data && !options->invert && darkest >= 1) {
    reason = "no dark pixel, so the density is zero everywhere; try --invert";
  } else if (!image->is_data && options->invert && brightest <= 0) {
    reason = "no bright pixel, so the density is zero everywhere; try without --invert";
  } else if (image->is_data && brightest <= 0) {
    reason =
        "every value is zero, so the density is zero everywhere; try data with positive "
        "values";
  } else if (image->is_data && options->invert && darkest >= brightest) {
    reason =
        "all values are equal, so the inverted density is zero everywhere; try without "
        "--invert";
  } else {
    reason = "the density is too small for single precision everywhere; try a smaller --gamma";
  }
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", name, reason);
}

static cvtm_status convert(const cvtm_image *image, size_t count,
                           const cvtm_density_options *options, const char *name, double max,
                           float *density, cvtm_error *error) {
  cvtm_density_from from = options->from;
  if (from == CVTM_DENSITY_FROM_AUTO) {
    from = image->is_data ? CVTM_DENSITY_FROM_DENSITY : CVTM_DENSITY_FROM_TONE;
  }
  /* Pictures are dense where dark, data where large. */
  int reversed = image->is_data ? options->invert : !options->invert;
  double top = image->is_data ? max : 1;
  double min = (double)image->value[0];
  int positive = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = (double)image->value[i];
    if (value < min) min = value;
    if (reversed) value = value < top ? top - value : 0;
    if (options->gamma != 1) value = pow(value, options->gamma);
    if (from == CVTM_DENSITY_FROM_SIZE && !(value > 0)) {
      return bad_value(image, i, name, "makes a size of zero, which asks for infinite density",
                       error);
    }
    double rho = density_of(value, from);
    if (rho < options->floor) rho = options->floor;
    if (!(rho <= FLT_MAX)) {
      return bad_value(image, i, name, "makes a density beyond single precision", error);
    }
    density[i] = (float)rho;
    if (density[i] > 0) positive = 1;
  }
  return positive ? CVTM_OK : zero_everywhere(image, options, name, max, min, error);
}

cvtm_status cvtm_density_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **density, cvtm_error *error) {
  *density = NULL;
  cvtm_status status = check_options(options, error);
  if (status != CVTM_OK) return status;
  if (image->width < 1 || image->height < 1 || image->value == NULL) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: the image has no pixels", name);
  }
  size_t count = (size_t)image->width * (size_t)image->height;
  double max = 0;
  status = check_values(image, count, name, &max, error);
  if (status != CVTM_OK) return status;
  float *made = malloc(count * sizeof *made);
  if (made == NULL) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory for %d x %d pixels", name,
                     image->width, image->height);
  }
  status = convert(image, count, options, name, max, made, error);
  if (status != CVTM_OK) {
    free(made);
    return status;
  }
  *density = made;
  return CVTM_OK;
}
