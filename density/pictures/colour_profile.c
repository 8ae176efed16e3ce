/* ICC profiles by lcms2. Those of curves and a matrix become such; others stay with lcms2. */
#include "density/pictures/colour.h"

#if CVTMESH_HAVE_LCMS2

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include <lcms2_plugin.h>

/* lcms2 takes a profile that it has no memory for as one that it cannot read, and does not check
 * its mutexes: so its allocations are counted here, and its mutexes, of contexts that one thread
 * uses, are none. */
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

int cvtm_colour_reads_profiles(void) { return 1; }

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
    curve[i] = light >= 0 ? fminf(light, most) : 0; /* not NaN */
  }
  return 1;
}

/* Returns 0 if the profile is not one of curves and a matrix. */
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
  return cvtm_colour_set_matrix(to_xyz, colour);
}

/* Linear light with the primaries and white of sRGB; NULL on failure. */
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

cvtm_status cvtm_colour_from_profile(const cvtm_colour_source *source, cvtm_colour *colour,
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
    if (take_curves(profile, colour)) {
      colour->kind = CVTM_COLOUR_MATRIX;
    } else {
      take_transform(profile, colour);
    }
  }
  if (profile != NULL) cmsCloseProfile(profile);
  if (colour->context == NULL || failed_allocations > 0)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the colour profile");
  return CVTM_OK;
}

void cvtm_colour_transform(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                           float *light) {
  cmsDoTransform(colour->transform, samples, light, (cmsUInt32Number)count);
}

void cvtm_colour_free_profile(cvtm_colour *colour) {
  if (colour->transform != NULL) cmsDeleteTransform(colour->transform);
  if (colour->context != NULL) cmsDeleteContext(colour->context);
}

#else

int cvtm_colour_reads_profiles(void) { return 0; }

cvtm_status cvtm_colour_from_profile(const cvtm_colour_source *source, cvtm_colour *colour,
                                     cvtm_error *error) {
  (void)source;
  (void)colour;
  (void)error;
  return CVTM_OK;
}

void cvtm_colour_transform(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                           float *light) {
  (void)colour;
  (void)samples;
  (void)count;
  (void)light;
}

void cvtm_colour_free_profile(cvtm_colour *colour) { (void)colour; }

#endif
