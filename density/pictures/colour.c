#include "density/pictures/colour.h"

#include "base/srgb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if CVTMESH_HAVE_LCMS2
#include <limits.h>

#include <lcms2_plugin.h>
#endif

enum { CODE_BT709 = 1, CODE_SRGB = 13 };

static const double srgb_chromaticities[8] = {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06};

/* --- Code points of ITU-T H.273 (2021) --- */

/* Finds the chromaticities of a code point; returns 0 if it is unknown. */
static int find_primaries(int primaries, double chromaticities[8]) {
  static const struct {
    int code;
    double chromaticities[8]; /* x, y of white, red, green, blue */
  } known[] = {{1, {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06}},       /* BT.709, sRGB */
               {4, {0.310, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08}},         /* BT.470 M */
               {5, {0.3127, 0.3290, 0.64, 0.33, 0.29, 0.60, 0.15, 0.06}},       /* BT.470 B, G */
               {6, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}}, /* BT.601, 525 */
               {7, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}},
               {9, {0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046}},   /* BT.2020 */
               {11, {0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},    /* DCI P3 */
               {12, {0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},  /* Display P3 */
               {22, {0.3127, 0.3290, 0.630, 0.340, 0.295, 0.605, 0.155, 0.077}}}; /* EBU 3213 */
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
    if (known[k].code != primaries) continue;
    memcpy(chromaticities, known[k].chromaticities, sizeof known[k].chromaticities);
    return 1;
  }
  return 0;
}

static double from_bt709(double v) {
  const double alpha = 1.09929682680944, beta = 0.018053968510807;
  return v < 4.5 * beta ? v / 4.5 : pow((v + alpha - 1) / alpha, 1 / 0.45);
}

static double from_gamma_22(double v) { return pow(v, 2.2); }
static double from_gamma_28(double v) { return pow(v, 2.8); }
static double from_linear(double v) { return v; }
static double from_srgb(double v) { return cvtm_srgb_to_linear(v); }

/* The decoding function of SMPTE ST 2084, relative to the reference white. */
static double from_pq(double v) {
  const double m1 = 2610.0 / 16384, m2 = 2523.0 / 32, c1 = 107.0 / 128;
  const double c2 = 2413.0 / 128, c3 = 2392.0 / 128, peak = 10000, reference = 203;
  const double root = pow(v, 1 / m2);
  return pow(fmax(root - c1, 0) / (c2 - c3 * root), 1 / m1) * peak / reference;
}

static double from_hlg_scene(double v) {
  const double a = 0.17883277, b = 0.28466892, c = 0.55991073;
  return v <= 0.5 ? v * v / 3 : (exp((v - c) / a) + b) / 12;
}

/* The decoding function of ARIB STD-B67; the reference white is the signal 0.75. */
static double from_hlg(double v) { return from_hlg_scene(v) / from_hlg_scene(0.75); }

/* Fills the curve of a transfer characteristic; returns 0 if it is unknown. */
static int fill_transfer(int transfer, float *curve) {
  static const struct {
    int code;
    double (*decode)(double encoded);
  } known[] = {{1, from_bt709},  {4, from_gamma_22}, {5, from_gamma_28}, {6, from_bt709},
               {8, from_linear}, {13, from_srgb},    {14, from_bt709},   {15, from_bt709},
               {16, from_pq},    {18, from_hlg}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
    if (known[k].code != transfer) continue;
    for (int i = 0; i < CVTM_COLOUR_STEPS; ++i)
      curve[i] = (float)known[k].decode((double)i / (CVTM_COLOUR_STEPS - 1));
    return 1;
  }
  return 0;
}

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

/* Computes the XYZ of a chromaticity at Y = 1. */
static int xyz_of(const double xy[2], double xyz[3]) {
  if (!(xy[1] > 1e-6)) return 0;
  xyz[0] = xy[0] / xy[1];
  xyz[1] = 1;
  xyz[2] = (1 - xy[0] - xy[1]) / xy[1];
  return 1;
}

/* Computes Bradford's transform from `white` to D50 (ICC.1:2010, annex E). */
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

/* Computes the matrix from linear light with these primaries to XYZ relative to D50. Returns 0 if
 * the primaries lie on one line. */
static int find_matrix_to_xyz(const double chromaticities[8], double matrix[3][3]) {
  double white[3], column[3], primaries[3][3], inverse[3][3], adapted[3][3];
  if (!xyz_of(chromaticities, white)) return 0;
  for (int c = 0; c < 3; ++c) {
    const double *xy = chromaticities + 2 + 2 * c;
    /* not scaled to Y = 1, because the y of a primary may be 0 */
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

/* Sets colour->matrix, which converts the linear light of a picture to linear light with the
 * primaries and white of sRGB. to_xyz: the matrix that converts the light of the picture to XYZ
 * (D50). If white is mapped to within 0.01 of white, the matrix is scaled to map it exactly to
 * white. Returns 0 if the matrix is not finite. */
static int set_matrix(const double to_xyz[3][3], cvtm_colour *colour) {
  double srgb[3][3], inverse[3][3];
  if (!find_matrix_to_xyz(srgb_chromaticities, srgb) || !invert(srgb, inverse)) return 0;
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

static void copy_curves(cvtm_colour *colour) {
  for (size_t c = 1; c < 3; ++c)
    memcpy(colour->curves + c * CVTM_COLOUR_STEPS, colour->curves,
           CVTM_COLOUR_STEPS * sizeof *colour->curves);
}

/* --- ICC profiles by lcms2 --- */

/* Profiles with curves and a matrix become CVTM_COLOUR_MATRIX; lcms2 evaluates the others. */

#if CVTMESH_HAVE_LCMS2

/* lcms2 reports a failed allocation as an unreadable profile, so failed allocations are counted
 * here. lcms2 does not check whether creating a mutex failed, so it gets no mutexes; only one
 * thread uses each context. */
static _Thread_local int failed_allocations;

static void *checked(void *memory) {
  failed_allocations += memory == NULL;
  return memory;
}

static void *allocate_for_lcms(cmsContext context, cmsUInt32Number size) {
  (void)context;
  return checked(malloc(size));
}

static void free_for_lcms(cmsContext context, void *memory) {
  (void)context;
  free(memory);
}

static void *checked_realloc(cmsContext context, void *memory, cmsUInt32Number size) {
  (void)context;
  return checked(realloc(memory, size));
}

static void *create_mutex(cmsContext context) { return context; }

static void destroy_mutex(cmsContext context, void *mutex) {
  (void)context;
  (void)mutex;
}

static cmsBool lock_mutex(cmsContext context, void *mutex) {
  (void)context;
  (void)mutex;
  return TRUE;
}

static cmsContext create_context(void) {
  cmsPluginMutex mutexes = {.base = {cmsPluginMagicNumber, 2060, cmsPluginMutexSig, NULL},
                            .CreateMutexPtr = create_mutex,
                            .DestroyMutexPtr = destroy_mutex,
                            .LockMutexPtr = lock_mutex,
                            .UnlockMutexPtr = destroy_mutex};
  cmsPluginMemHandler memory = {
      .base = {cmsPluginMagicNumber, 2060, cmsPluginMemHandlerSig, &mutexes.base},
      .MallocPtr = allocate_for_lcms,
      .FreePtr = free_for_lcms,
      .ReallocPtr = checked_realloc};
  return cmsCreateContext(&memory, NULL);
}

static int has_tables(cmsHPROFILE profile) {
  static const cmsTagSignature tables[] = {cmsSigAToB0Tag, cmsSigAToB1Tag, cmsSigDToB0Tag,
                                           cmsSigDToB1Tag};
  for (size_t k = 0; k < sizeof tables / sizeof tables[0]; ++k)
    if (cmsIsTag(profile, tables[k])) return 1;
  return 0;
}

static int read_curve(cmsHPROFILE profile, cmsTagSignature tag, float *curve) {
  const cmsToneCurve *tone = cmsReadTag(profile, tag);
  const float most = 1000;
  if (tone == NULL) return 0;
  for (int i = 0; i < CVTM_COLOUR_STEPS; ++i) {
    const float light = cmsEvalToneCurveFloat(tone, (cmsFloat32Number)i / (CVTM_COLOUR_STEPS - 1));
    curve[i] = light >= 0 ? fminf(light, most) : 0; /* 0 for NaN */
  }
  return 1;
}

/* Takes the curves and the matrix of a profile; returns 0 if it does not consist of these. */
static int take_curves(cmsHPROFILE profile, cvtm_colour *colour) {
  static const cmsTagSignature curves[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
  static const cmsTagSignature columns[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                            cmsSigBlueColorantTag};
  double to_xyz[3][3];
  if (has_tables(profile) || cmsGetPCS(profile) != cmsSigXYZData) return 0;
  if (colour->colours == 1) return read_curve(profile, cmsSigGrayTRCTag, colour->curves);
  if (colour->colours != 3) return 0;
  for (size_t c = 0; c < 3; ++c) {
    const cmsCIEXYZ *xyz = cmsReadTag(profile, columns[c]);
    if (xyz == NULL || !read_curve(profile, curves[c], colour->curves + c * CVTM_COLOUR_STEPS))
      return 0;
    to_xyz[0][c] = xyz->X;
    to_xyz[1][c] = xyz->Y;
    to_xyz[2][c] = xyz->Z;
  }
  return set_matrix(to_xyz, colour);
}

/* A profile of linear light with the primaries and white of sRGB; NULL on failure. */
static cmsHPROFILE create_linear(cmsContext context) {
  const cmsCIExyY white = {0.3127, 0.3290, 1};
  const cmsCIExyYTRIPLE primaries = {{0.64, 0.33, 1}, {0.30, 0.60, 1}, {0.15, 0.06, 1}};
  cmsToneCurve *line = cmsBuildGamma(context, 1);
  if (line == NULL) return NULL;
  cmsToneCurve *const lines[3] = {line, line, line};
  cmsHPROFILE linear = cmsCreateRGBProfileTHR(context, &white, &primaries, lines);
  cmsFreeToneCurve(line);
  return linear;
}

static void take_transform(cmsHPROFILE profile, cvtm_colour *colour) {
  const cmsUInt32Number format = colour->colours == 1   ? TYPE_GRAY_16
                                 : colour->colours == 3 ? TYPE_RGB_16
                                                        : TYPE_CMYK_16;
  cmsHPROFILE linear = create_linear(colour->context);
  if (linear == NULL) return;
  colour->transform = cmsCreateTransformTHR(colour->context, profile, format, linear, TYPE_RGB_FLT,
                                            INTENT_RELATIVE_COLORIMETRIC,
                                            cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE);
  cmsCloseProfile(linear);
  if (colour->transform != NULL) colour->kind = CVTM_COLOUR_PROFILE;
}

/* Sets *colour from the profile, or leaves it as CVTM_COLOUR_SRGB if the profile is not usable. */
static cvtm_status from_profile(const cvtm_colour_source *source, cvtm_colour *colour,
                                cvtm_error *error) {
  const cmsColorSpaceSignature space = colour->colours == 1   ? cmsSigGrayData
                                       : colour->colours == 3 ? cmsSigRgbData
                                                              : cmsSigCmykData;
  if (source->profile_size > INT_MAX) return CVTM_OK;
  failed_allocations = 0;
  colour->context = create_context();
  cmsHPROFILE profile = NULL;
  if (colour->context != NULL)
    profile = cmsOpenProfileFromMemTHR(colour->context, source->profile,
                                       (cmsUInt32Number)source->profile_size);
  if (profile != NULL && cmsGetColorSpace(profile) == space) {
    if (take_curves(profile, colour))
      colour->kind = CVTM_COLOUR_MATRIX;
    else
      take_transform(profile, colour);
  }
  if (profile != NULL) cmsCloseProfile(profile);
  if (colour->context == NULL || failed_allocations > 0)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the colour profile");
  return CVTM_OK;
}

#endif

/* --- Code points and chunks of PNG --- */

static void from_codes(const cvtm_colour_source *source, cvtm_colour *colour) {
  double chromaticities[8], to_xyz[3][3];
  if (!fill_transfer(source->transfer, colour->curves)) fill_transfer(CODE_SRGB, colour->curves);
  copy_curves(colour);
  if (!find_primaries(source->primaries, chromaticities))
    memcpy(chromaticities, srgb_chromaticities, sizeof chromaticities);
  if (find_matrix_to_xyz(chromaticities, to_xyz) && set_matrix(to_xyz, colour))
    colour->kind = CVTM_COLOUR_MATRIX;
}

/* Nonzero if a gamma means sRGB: writers of sRGB give 1/2.2 as an approximation for simple readers.
 * With other primaries the gamma is meant literally. */
static int is_gamma_of_srgb(double gamma) { return gamma == 0 || fabs(gamma * 2.2 - 1) < 0.01; }

static int are_those_of_srgb(const cvtm_colour_source *source) {
  double largest = 0;
  for (int k = 0; k < 8 && source->has_chromaticities; ++k)
    largest = fmax(largest, fabs(source->chromaticities[k] - srgb_chromaticities[k]));
  return largest < 1e-4;
}

static void from_chunks(const cvtm_colour_source *source, cvtm_colour *colour) {
  double to_xyz[3][3];
  if (source->gamma == 0)
    fill_transfer(CODE_SRGB, colour->curves);
  else
    fill_gamma(source->gamma, colour->curves);
  copy_curves(colour);
  if (find_matrix_to_xyz(source->has_chromaticities ? source->chromaticities : srgb_chromaticities,
                         to_xyz) &&
      set_matrix(to_xyz, colour))
    colour->kind = CVTM_COLOUR_MATRIX;
}

/* --- The public functions --- */

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
  if (source->profile != NULL) return CVTMESH_HAVE_LCMS2;
  return !source->is_srgb && colours != 4 &&
         !(is_gamma_of_srgb(source->gamma) && are_those_of_srgb(source));
}

cvtm_status cvtm_colour_create(const cvtm_colour_source *source, int colours, cvtm_colour *colour,
                               cvtm_error *error) {
  *colour = (cvtm_colour){.colours = colours};
  if (source == NULL || !says_something(source, colours)) return CVTM_OK;
  colour->curves = malloc((size_t)3 * CVTM_COLOUR_STEPS * sizeof *colour->curves);
  if (colour->curves == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the tone curves of the picture");
  cvtm_status status = CVTM_OK;
  if (source->has_codes && colours != 4) {
    from_codes(source, colour);
#if CVTMESH_HAVE_LCMS2
  } else if (source->profile != NULL) {
    status = from_profile(source, colour, error);
#endif
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
#if CVTMESH_HAVE_LCMS2
  if (colour->kind == CVTM_COLOUR_PROFILE) {
    cmsDoTransform(colour->transform, samples, light, (cmsUInt32Number)count);
    return;
  }
#endif
  apply_curves(colour, samples, count, light);
}

void cvtm_colour_destroy(cvtm_colour *colour) {
#if CVTMESH_HAVE_LCMS2
  if (colour->transform != NULL) cmsDeleteTransform(colour->transform);
  if (colour->context != NULL) cmsDeleteContext(colour->context);
#endif
  free(colour->curves);
  *colour = (cvtm_colour){.colours = colour->colours};
}
