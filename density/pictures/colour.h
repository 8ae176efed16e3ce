/* From encoded samples to linear light by what a file says of its colours: an ICC profile, code
 * points of ITU-T H.273, or a gamma and chromaticities as in PNG. Linear light is red, green and
 * blue with the primaries and the white of sRGB; colours beyond these have components below 0 or
 * above 1. */
#ifndef CVTMESH_DENSITY_PICTURES_COLOUR_H
#define CVTMESH_DENSITY_PICTURES_COLOUR_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is said. The first that is given counts: code points, profile, is_srgb, the
 * rest (PNG, third edition, section 4.3). */
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
  CVTM_COLOUR_SRGB,   /* the others' fields are unused */
  CVTM_COLOUR_MATRIX, /* a curve for each colour, then a matrix; of grey one curve */
  CVTM_COLOUR_PROFILE /* tables of a profile, evaluated by lcms2 */
} cvtm_colour_kind;

enum { CVTM_COLOUR_STEPS = 65536 };

typedef struct cvtm_colour {
  cvtm_colour_kind kind;
  int colours;         /* 1, 3 or 4 */
  float *curves;       /* of MATRIX: 3 curves of CVTM_COLOUR_STEPS values; of grey the first */
  double matrix[3][3]; /* of MATRIX with 3 colours */
  void *context, *transform; /* of PROFILE: of lcms2 */
} cvtm_colour;

/* Makes *colour for samples of 1 (grey), 3 (red, green, blue) or 4 (ink) colours. A profile that is
 * damaged, of another number of colours, or in a build without lcms2, counts as not given. Curves
 * and primaries within 0.001 of sRGB become sRGB, so that its files keep their bits. Profiles are
 * applied relative to their white, with black point compensation. Light above the reference white
 * of PQ and HLG (203 cd/m2, ITU-R BT.2408) is above 1. */
cvtm_status cvtm_colour_create(const cvtm_colour_source *source, int colours, cvtm_colour *colour,
                               cvtm_error *error);
void cvtm_colour_destroy(cvtm_colour *colour);

/* Light of `count` pixels of 16-bit samples that lie together; of ink 65535 is all of it. The kind
 * is not CVTM_COLOUR_SRGB. light: 3 * count. */
void cvtm_colour_light(const cvtm_colour *colour, const uint16_t *samples, size_t count,
                       float *light);

#endif
