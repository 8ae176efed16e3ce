/* OKLab, a space of colours of even steps to the eye (Ottosson 2020). */
#ifndef CVTMESH_DRAW_OKLAB_H
#define CVTMESH_DRAW_OKLAB_H

#include <math.h>

typedef struct cvtm_oklab {
  double l, a, b; /* lightness in [0, 1]; green to red, blue to yellow */
} cvtm_oklab;

/* Linear red, green and blue, clamped to [0, 1]. */
static inline void cvtm_oklab_to_linear(cvtm_oklab colour, double rgb[3]) {
  double l = colour.l + 0.3963377774 * colour.a + 0.2158037573 * colour.b;
  double m = colour.l - 0.1055613458 * colour.a - 0.0638541728 * colour.b;
  double s = colour.l - 0.0894841775 * colour.a - 1.2914855480 * colour.b;
  l *= l * l;
  m *= m * m;
  s *= s * s;
  rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
  rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
  rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
  for (int c = 0; c < 3; ++c) rgb[c] = fmin(fmax(rgb[c], 0), 1);
}

#endif
