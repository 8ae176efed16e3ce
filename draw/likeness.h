/* How much a drawing looks like a picture from a distance: both are blurred, then compared. */
#ifndef CVTMESH_DRAW_LIKENESS_H
#define CVTMESH_DRAW_LIKENESS_H

#include "base/status.h"

CVTM_API_BEGIN

/* Figures of the blurred drawing a and picture b. A figure is NaN where a constant picture or
 * drawing leaves it undefined. */
typedef struct cvtm_likeness {
  double contrast;    /* standard deviation of a over that of b */
  double correlation; /* of a and b */
  double ssim;        /* mean structural similarity (Wang, Bovik, Sheikh & Simoncelli 2004), with
                         windows as wide as the blur */
} cvtm_likeness;

/* drawing, picture: width * height values in linear light, 0 black to 1 white. They are blurred by
 * a Gaussian of standard deviation `sigma` pixels and mirrored at the border. */
cvtm_status cvtm_likeness_measure(const float *drawing, const float *picture, int width, int height,
                                  double sigma, cvtm_likeness *likeness, cvtm_error *error);

/* Blurs width * height values in place by a Gaussian of standard deviation `sigma` pixels; they are
 * mirrored at the border. */
cvtm_status cvtm_plane_blur(float *plane, int width, int height, double sigma, cvtm_error *error);

CVTM_API_END

#endif
