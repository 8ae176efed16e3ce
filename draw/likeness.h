/* Compares a drawing with a picture as they look from a distance: blurs both, then compares them. A
 * colour picture is three consecutive planes of linear red, green and blue. */
#pragma once

#include "base/domain.h"
#include "draw/inks.h"

CVTM_API_BEGIN

/* Measures of the blurred drawing a and the blurred picture b. NaN: undefined, because a or b is
 * constant. */
typedef struct cvtm_likeness {
  double contrast;    /* standard deviation of a over that of b */
  double correlation; /* correlation of a and b */
  double ssim;        /* mean structural similarity (Wang, Bovik, Sheikh & Simoncelli 2004), with
                         windows as wide as the blur */
} cvtm_likeness;

/* drawing, picture: width * height values in linear light, 0 black to 1 white. Both are mirrored at
 * the border and blurred by a Gaussian of standard deviation `sigma` pixels. */
cvtm_status cvtm_likeness_measure(const float *drawing, const float *picture, int width, int height,
                                  double sigma, cvtm_likeness *likeness, cvtm_error *error);

/* Blurs width * height values in place by a Gaussian of standard deviation `sigma` pixels; the
 * values are mirrored at the border. */
cvtm_status cvtm_plane_blur(float *plane, int width, int height, double sigma, cvtm_error *error);

/* --- drawings by dots of several inks --------------------------------------------------------- */

/* The domain enlarged by `scale`, in pixels of the drawing. */
cvtm_domain cvtm_canvas_of(cvtm_domain domain, double scale);

/* Renders dots on white paper. The dots of ink k are start[k] .. start[k + 1] - 1 of centres and
 * radii, in pixels of the domain. rgb: three planes of the canvas. mean: the fraction of the canvas
 * that each ink covers. Inks act as filters; two inks that partly cover a pixel overlap there as if
 * they were independent. */
cvtm_status cvtm_ink_drawing_render(const cvtm_inks *inks, cvtm_domain domain, double scale,
                                    const double *centres, const double *radii,
                                    const int64_t *start, float *rgb, double *mean,
                                    cvtm_error *error);

/* Averages a plane over squares of `side` pixels: `to` has ceil(width / side) x ceil(height / side)
 * values. */
void cvtm_plane_shrink(const float *from, int width, int height, int side, float *to);

/* The value of a plane at a point, where pixel (i, j) is at (i, j): bilinear interpolation inside,
 * the nearest value of the border outside. */
double cvtm_plane_at(const float *plane, int width, int height, double x, double y);

/* Mean and root mean square distance in OKLab of the colours of two blurred pictures (the eye just
 * sees a distance of about 0.02), and the likeness of their luminances. */
typedef struct cvtm_colour_likeness {
  double mean, rms;
  cvtm_likeness luminance;
} cvtm_colour_likeness;

/* drawing, picture: three planes each, red, green and blue, of width * height values in [0, 1] of
 * linear light. Both are blurred in place by a Gaussian of standard deviation `sigma` pixels. */
cvtm_status cvtm_colour_likeness_measure(float *drawing, float *picture, int width, int height,
                                         double sigma, cvtm_colour_likeness *likeness,
                                         cvtm_error *error);

CVTM_API_END
