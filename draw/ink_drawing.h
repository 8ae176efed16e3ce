/* Drawings by dots of several inks as pictures: rendered, blurred and compared with another. A
 * picture is three planes of linear red, green and blue, one after another. */
#ifndef CVTMESH_DRAW_INK_DRAWING_H
#define CVTMESH_DRAW_INK_DRAWING_H

#include "base/domain.h"
#include "draw/inks.h"
#include "draw/likeness.h"

CVTM_API_BEGIN

/* A canvas of a domain that is enlarged by `scale`. */
cvtm_domain cvtm_canvas_of(cvtm_domain domain, double scale);

/* Renders dots on white paper: those of ink k are start[k] .. start[k + 1) - 1 of centres and
 * radii, in pixels of the domain. rgb: three planes of the canvas. mean: of each ink, the share of
 * the canvas that its dots cover. Inks are filters; where a pixel is partly covered by two inks,
 * they overlap in it as if they were independent. */
cvtm_status cvtm_ink_drawing_render(const cvtm_inks *inks, cvtm_domain domain, double scale,
                                    const double *centres, const double *radii,
                                    const int64_t *start, float *rgb, double *mean,
                                    cvtm_error *error);

/* The means of a plane over squares of `side` pixels: `to` has ceil(width / side) x
 * ceil(height / side) values. */
void cvtm_plane_shrink(const float *from, int width, int height, int side, float *to);

/* How near two blurred pictures are: distances of their colours in OKLab, where 0.02 is about what
 * the eye just sees, and the likeness of their luminances. */
typedef struct cvtm_colour_likeness {
  double mean, rms;
  cvtm_likeness luminance;
} cvtm_colour_likeness;

/* Both pictures are blurred in place by a Gaussian of standard deviation `sigma` pixels. */
cvtm_status cvtm_colour_likeness_measure(float *drawing, float *picture, int width, int height,
                                         double sigma, cvtm_colour_likeness *likeness,
                                         cvtm_error *error);

CVTM_API_END

#endif
