/* Inks on white paper: the mixed colour of dots of several inks, and the coverages of inks for a
 * colour. Colours are linear red, green and blue in [0, 1], relative to the paper. */
#pragma once

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

enum { CVTM_INKS_MAX = 16 };

typedef struct cvtm_inks {
  int count;
  double colour[CVTM_INKS_MAX][3]; /* the colour of paper fully covered by each ink */
} cvtm_inks;

/* Sets process cyan (#00aeef), magenta (#ec008c), yellow (#fff200) and black (#000000). */
void cvtm_inks_cmyk(cvtm_inks *inks);

/* Mixes the inks: the mean colour of paper of which ink k covers the fraction coverage[k], by the
 * Neugebauer equations (1937) with Demichel's fractions, that is, as if dots of different inks were
 * placed independently. Inks act as filters, so their colours multiply, and the sum over all
 * 2^count overprints is the product over the inks of 1 - coverage[k] (1 - colour[k]). */
void cvtm_inks_mix(const cvtm_inks *inks, const double *coverage, double rgb[3]);

/* Inverts cvtm_inks_mix for a colour in [0, 1]: finds the coverages whose mixed colour is nearest
 * to rgb in OKLab's metric at rgb. Among coverages with nearly the same error it chooses those
 * whose inks differ least from the colour in lightness (the minimal brightness variation criterion
 * of Shaked, Arad, Fitzhugh & Sobel 1996), then those with least ink. The darkest ink is chosen
 * first, so black replaces the grey component of the other inks, and replaces more of it the darker
 * the colour is. */
void cvtm_inks_separate_colour(const cvtm_inks *inks, const double rgb[3], double *coverage);
/* Approximates cvtm_inks_separate_colour, faster: minimises a weighted sum of the error of the
 * colour, the variation of lightness and the ink, so the colour is not the nearest one. */
void cvtm_inks_separate_roughly(const cvtm_inks *inks, const double rgb[3], double *coverage);

/* Separates the colours of three planes of `pixels` floats, which are clamped to [0, 1];
 * coverage[k]: `pixels` floats. Computes the coverages on a grid of colours by
 * cvtm_inks_separate_colour, and interpolates them. */
cvtm_status cvtm_inks_separate(const cvtm_inks *inks, const float *rgb, int64_t pixels,
                               float *const *coverage, cvtm_error *error);

/* Chooses at most `count` inks for a picture. The colours that dots of one ink can give lie on the
 * line from white to the ink. So each colour of the picture is extended along the line from white
 * to the boundary of the gamut, and these full colours are clustered in OKLab by k-means. Each
 * cluster gives a candidate, as light as the darkest colours of the cluster allow. Inks are
 * selected greedily from the candidates, then exchanged, to minimise the mean square error in OKLab
 * of the picture's colours after separation, weighted by the square root of their area. The inks
 * are in order of luminance, the lightest first. A picture with few colours gets fewer inks. Fails
 * with CVTM_ERROR_INPUT if the picture is white. */
cvtm_status cvtm_inks_choose(const float *rgb, int64_t pixels, int count, cvtm_inks *inks,
                             cvtm_error *error);

CVTM_API_END
