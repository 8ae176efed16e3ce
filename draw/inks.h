/* Inks on white paper: the colour that dots of several inks give, and the dots that a colour needs.
 * Colours are linear red, green and blue in [0, 1], relative to the paper. */
#ifndef CVTMESH_DRAW_INKS_H
#define CVTMESH_DRAW_INKS_H

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

enum { CVTM_INKS_MAX = 16 };

typedef struct cvtm_inks {
  int count;
  double colour[CVTM_INKS_MAX][3]; /* of paper that the ink covers */
} cvtm_inks;

/* Process cyan (#00aeef), magenta (#ec008c) and yellow (#fff200), and black (#000000). */
void cvtm_inks_cmyk(cvtm_inks *inks);

/* The mean colour of paper that ink k covers to the share coverage[k]: the Neugebauer equations
 * (1937) with Demichel's shares, that is, dots of different inks overlap as if they were placed
 * independently, and inks are filters, whose colours multiply. For these the sum over all 2^count
 * overprints is the product over the inks of 1 - coverage[k] (1 - colour[k]). */
void cvtm_inks_mix(const cvtm_inks *inks, const double *coverage, double rgb[3]);

/* The inverse for one colour in [0, 1]: the coverages whose mixed colour comes nearest to rgb, by
 * OKLab's metric at rgb; of coverages that give a colour nearly as well those of inks that differ
 * least from it in lightness (the minimal brightness variation criterion of Shaked, Arad, Fitzhugh
 * & Sobel 1996), and then those of least ink. So greys are mixed from coloured inks where they are
 * light, and black ink takes their place the more the darker they are. */
void cvtm_inks_separate_colour(const cvtm_inks *inks, const double rgb[3], double *coverage);
/* A faster approximation: minimises one weighted sum of the errors of colour and lightness and of
 * the ink, so that its colour is not the nearest. */
void cvtm_inks_separate_roughly(const cvtm_inks *inks, const double rgb[3], double *coverage);

/* The same for three planes of `pixels` floats, which are clamped to [0, 1]; coverage[k]: `pixels`
 * floats. Coverages are computed for a cube of colours and interpolated. */
cvtm_status cvtm_inks_separate(const cvtm_inks *inks, const float *rgb, int64_t pixels,
                               float *const *coverage, cvtm_error *error);

/* Coverages whose mixed colour comes nearer to rgb than that of `first`, and which lie near
 * `first`: the squares of changes count more the smaller the coverage is, and an ink of coverage 0
 * is not added. Planes as above; `adjusted` may not be `first`. */
void cvtm_inks_adjust(const cvtm_inks *inks, const float *rgb, int64_t pixels, float *const *first,
                      float *const *adjusted);

/* Chooses at most `count` inks for a picture. A colour made by dots of one ink lies on the line
 * from white to the ink; so each colour of the picture is continued on that line as far as colours
 * go, and these full colours are clustered in OKLab (k-means from a start that takes the farthest
 * colour next). A candidate is as light as the darkest colours of its cluster allow. Of the
 * candidates, that ink is taken next, and later exchanged, which lowers most the mean square error
 * in OKLab of the picture's colours separated into the inks; a colour counts by the square root of
 * the area that it has. The inks come in the order of luminance, the lightest first. A picture of
 * few colours gets fewer inks; a white one is CVTM_ERROR_INPUT. */
cvtm_status cvtm_inks_choose(const float *rgb, int64_t pixels, int count, cvtm_inks *inks,
                             cvtm_error *error);

CVTM_API_END

#endif
