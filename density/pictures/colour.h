/* Converts encoded samples to linear light by the colour information of a file: an ICC profile,
 * code points of ITU-T H.273, or a gamma and chromaticities as in PNG. Linear light is red, green
 * and blue with the primaries and the white of sRGB; colours outside this gamut have components
 * below 0 or above 1. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The colour information of a file; all zero: none. The first of these that is given applies: code
 * points, profile, is_srgb, gamma and chromaticities (PNG, third edition, section 4.3). */
typedef struct cvtm_colour_source {
  int has_codes, primaries, transfer; /* ColourPrimaries and TransferCharacteristics of H.273 */
  const unsigned char *profile;       /* borrowed; NULL: none */
  size_t profile_size;
  int is_srgb;
  double gamma; /* encoded = light^gamma; 0: not given */
  int has_chromaticities;
  double chromaticities[8]; /* x, y of white, red, green, blue */
} cvtm_colour_source;

typedef enum cvtm_colour_kind {
  CVTM_COLOUR_SRGB,   /* without the other fields */
  CVTM_COLOUR_MATRIX, /* a curve for each colour, then a matrix; for grey one curve */
  CVTM_COLOUR_PROFILE /* tables of a profile, evaluated by lcms2 */
} cvtm_colour_kind;

enum { CVTM_COLOUR_STEPS = 65536 };

typedef struct cvtm_colour {
  cvtm_colour_kind kind;
  int colours;               /* 1, 3 or 4 */
  float *curves;             /* MATRIX: 3 curves of CVTM_COLOUR_STEPS values; grey uses the first */
  double matrix[3][3];       /* MATRIX with 3 colours */
  void *context, *transform; /* PROFILE: handles of lcms2 */
} cvtm_colour;

/* Makes *colour for samples of 1 (grey), 3 (red, green, blue) or 4 (ink) colours. A profile is
 * ignored if it is damaged, has another number of colours, or the build has no lcms2. Curves and
 * primaries within 0.001 of sRGB are replaced by sRGB, so that sRGB files give the same bits with
 * and without a profile. Profiles are applied relative to their white, with black point
 * compensation. Light above the reference white of PQ and HLG (203 cd/m2, ITU-R BT.2408) is above
 * 1. */
cvtm_status cvtm_colour_create(const cvtm_colour_source *source, int colours, cvtm_colour *colour,
                               cvtm_error *error);
void cvtm_colour_destroy(cvtm_colour *colour);

/* Converts `count` pixels of interleaved 16-bit samples; an ink sample of 65535 is full ink.
 * colour->kind must not be CVTM_COLOUR_SRGB. light: 3 * count. */
void cvtm_colour_light(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                       float *light);
