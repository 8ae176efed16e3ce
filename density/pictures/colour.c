#include "density/pictures/colour.h"

#include "base/srgb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_BT709 = 1, CODE_SRGB = 13 };

static const double srgb_chromaticities[8] = {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06};

/* --- Matrices --- */

static void multiply_3x3(const double a[3][3], const double b[3][3], double product[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

static int invert(const double a[3][3], double inverse[3][3]) {
  const double determinant = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
                             a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                             a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
  if (!(fabs(determinant) > 1e-9)) return 0;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3, m = (i + 1) % 3, n = (i + 2) % 3;
      inverse[i][j] = (a[k][m] * a[l][n] - a[k][n] * a[l][m]) / determinant;
    }
  }
  return 1;
}

/* XYZ of a chromaticity at Y = 1. */
static int xyz_of(const double xy[2], double xyz[3]) {
  if (!(xy[1] > 1e-6)) return 0;
  xyz[0] = xy[0] / xy[1];
  xyz[1] = 1;
  xyz[2] = (1 - xy[0] - xy[1]) / xy[1];
  return 1;
}

/* Bradford's transform from `white` to D50 (ICC.1:2010, annex E). */
static int adapt_to_d50(const double white[3], double matrix[3][3]) {
  static const double cone[3][3] = {
      {0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}};
  static const double d50[3] = {0.9642, 1, 0.8249};
  double back[3][3], scaled[3][3];
  if (!invert(cone, back)) return 0;
  for (int i = 0; i < 3; ++i) {
    const double from = cone[i][0] * white[0] + cone[i][1] * white[1] + cone[i][2] * white[2];
    const double to = cone[i][0] * d50[0] + cone[i][1] * d50[1] + cone[i][2] * d50[2];
    if (!(fabs(from) > 1e-6)) return 0;
    for (int j = 0; j < 3; ++j) scaled[i][j] = cone[i][j] * to / from;
  }
  multiply_3x3(back, scaled, matrix);
  return 1;
}

int cvtm_colour_to_xyz(const double chromaticities[8], double matrix[3][3]) {
  double white[3], column[3], primaries[3][3], inverse[3][3], adapted[3][3];
  if (!xyz_of(chromaticities, white)) return 0;
  for (int c = 0; c < 3; ++c) {
    const double *xy = chromaticities + 2 + 2 * c;
    /* Not at Y = 1: the y of a primary may be 0. */
    column[0] = xy[0];
    column[1] = xy[1];
    column[2] = 1 - xy[0] - xy[1];
    for (int i = 0; i < 3; ++i) primaries[i][c] = column[i];
  }
  if (!invert(primaries, inverse) || !adapt_to_d50(white, adapted)) return 0;
  for (int c = 0; c < 3; ++c) {
    const double weight =
        inverse[c][0] * white[0] + inverse[c][1] * white[1] + inverse[c][2] * white[2];
    for (int i = 0; i < 3; ++i) primaries[i][c] *= weight;
  }
  multiply_3x3(adapted, primaries, matrix);
  return 1;
}

int cvtm_colour_set_matrix(const double to_xyz[3][3], cvtm_colour *colour) {
  double srgb[3][3], inverse[3][3];
  if (!cvtm_colour_to_xyz(srgb_chromaticities, srgb) || !invert(srgb, inverse)) return 0;
  multiply_3x3(inverse, to_xyz, colour->matrix);
  for (int i = 0; i < 3; ++i) {
    double *row = colour->matrix[i];
    const double sum = row[0] + row[1] + row[2];
    if (!isfinite(sum)) return 0;
    for (int j = 0; j < 3 && fabs(sum - 1) < 0.01; ++j) row[j] /= sum;
  }
  return 1;
}

/* --- Curves --- */

static void fill_gamma(double gamma, float *curve) {
  for (int i = 0; i < CVTM_COLOUR_STEPS; ++i)
    curve[i] = (float)pow((double)i / (CVTM_COLOUR_STEPS - 1), 1 / gamma);
}

static void fill_srgb(float *curve) {
  for (int i = 0; i < CVTM_COLOUR_STEPS; ++i)
    curve[i] = (float)cvtm_srgb_to_linear((double)i / (CVTM_COLOUR_STEPS - 1));
}

static void copy_curves(cvtm_colour *colour) {
  for (size_t c = 1; c < 3; ++c)
    memcpy(colour->curves + c * CVTM_COLOUR_STEPS, colour->curves,
           CVTM_COLOUR_STEPS * sizeof *colour->curves);
}

/* --- Code points and chunks of PNG --- */

static void from_codes(const cvtm_colour_source *source, cvtm_colour *colour) {
  double chromaticities[8], to_xyz[3][3];
  if (!cvtm_colour_transfer(source->transfer, colour->curves)) fill_srgb(colour->curves);
  copy_curves(colour);
  if (!cvtm_colour_primaries(source->primaries, chromaticities))
    memcpy(chromaticities, srgb_chromaticities, sizeof chromaticities);
  if (cvtm_colour_to_xyz(chromaticities, to_xyz) && cvtm_colour_set_matrix(to_xyz, colour))
    colour->kind = CVTM_COLOUR_MATRIX;
}

/* Writers of sRGB give a gamma of 1/2.2 for readers that know no better. With other primaries than
 * those of sRGB it is meant. */
static int is_gamma_of_srgb(double gamma) { return gamma == 0 || fabs(gamma * 2.2 - 1) < 0.01; }

static int are_those_of_srgb(const cvtm_colour_source *source) {
  double largest = 0;
  for (int k = 0; k < 8 && source->has_chromaticities; ++k)
    largest = fmax(largest, fabs(source->chromaticities[k] - srgb_chromaticities[k]));
  return largest < 1e-4;
}

static void from_chunks(const cvtm_colour_source *source, cvtm_colour *colour) {
  double to_xyz[3][3];
  if (source->gamma == 0) {
    fill_srgb(colour->curves);
  } else {
    fill_gamma(source->gamma, colour->curves);
  }
  copy_curves(colour);
  if (cvtm_colour_to_xyz(source->has_chromaticities ? source->chromaticities : srgb_chromaticities,
                         to_xyz) &&
      cvtm_colour_set_matrix(to_xyz, colour))
    colour->kind = CVTM_COLOUR_MATRIX;
}

/* --- What all share --- */

static int is_nearly_srgb(const cvtm_colour *colour) {
  const double tolerance = 0.001;
  for (int i = 0; i < 3 && colour->colours == 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (!(fabs(colour->matrix[i][j] - (i == j)) <= tolerance)) return 0;
  for (size_t i = 0; i < CVTM_COLOUR_STEPS; ++i) {
    const double light = cvtm_srgb_to_linear((double)i / (CVTM_COLOUR_STEPS - 1));
    for (size_t c = 0; c < (size_t)colour->colours; ++c)
      if (!(fabs((double)colour->curves[c * CVTM_COLOUR_STEPS + i] - light) <= tolerance)) return 0;
  }
  return 1;
}

static int says_something(const cvtm_colour_source *source, int colours) {
  if (source->has_codes && colours != 4)
    return source->primaries != CODE_BT709 || source->transfer != CODE_SRGB;
  if (source->profile != NULL) return cvtm_colour_reads_profiles();
  return !source->is_srgb && colours != 4 &&
         !(is_gamma_of_srgb(source->gamma) && are_those_of_srgb(source));
}

cvtm_status cvtm_colour_create(const cvtm_colour_source *source, int colours, cvtm_colour *colour,
                               cvtm_error *error) {
  *colour = (cvtm_colour){.colours = colours};
  if (source == NULL || !says_something(source, colours)) return CVTM_OK;
  colour->curves = malloc((size_t)3 * CVTM_COLOUR_STEPS * sizeof *colour->curves);
  if (colour->curves == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the curves of colours");
  cvtm_status status = CVTM_OK;
  if (source->has_codes && colours != 4) {
    from_codes(source, colour);
  } else if (source->profile != NULL) {
    status = cvtm_colour_from_profile(source, colour, error);
  } else {
    from_chunks(source, colour);
  }
  if (status == CVTM_OK && colour->kind == CVTM_COLOUR_MATRIX && is_nearly_srgb(colour))
    colour->kind = CVTM_COLOUR_SRGB;
  if (status != CVTM_OK || colour->kind == CVTM_COLOUR_SRGB) cvtm_colour_destroy(colour);
  return status;
}

static void apply_curves(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                         float *light) {
  const float *curve[3];
  for (size_t c = 0; c < 3; ++c) curve[c] = colour->curves + c * CVTM_COLOUR_STEPS;
  if (colour->colours == 1) {
    for (size_t i = 0; i < count; ++i)
      light[3 * i] = light[3 * i + 1] = light[3 * i + 2] = curve[0][samples[i]];
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    double part[3];
    for (size_t c = 0; c < 3; ++c) part[c] = (double)curve[c][samples[3 * i + c]];
    for (size_t c = 0; c < 3; ++c) {
      const double *row = colour->matrix[c];
      light[3 * i + c] = (float)(row[0] * part[0] + row[1] * part[1] + row[2] * part[2]);
    }
  }
}

void cvtm_colour_light(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                       float *light) {
  if (colour->kind == CVTM_COLOUR_PROFILE) {
    cvtm_colour_transform(colour, samples, count, light);
  } else {
    apply_curves(colour, samples, count, light);
  }
}

void cvtm_colour_destroy(cvtm_colour *colour) {
  cvtm_colour_free_profile(colour);
  free(colour->curves);
  *colour = (cvtm_colour){.colours = colour->colours};
}
