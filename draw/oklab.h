/* OKLab, a perceptually uniform colour space (Ottosson 2020). */
#pragma once

#include <math.h>

typedef struct cvtm_oklab {
  double l, a, b; /* lightness in [0, 1]; from green to red; from blue to yellow */
} cvtm_oklab;

/* Converts to linear red, green and blue, clamped to [0, 1]. */
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

/* OKLab of a colour of linear light, which may lie outside [0, 1]. */
static inline cvtm_oklab cvtm_oklab_of_linear(const double rgb[3]) {
  const double l = cbrt(0.4122214708 * rgb[0] + 0.5363325363 * rgb[1] + 0.0514459929 * rgb[2]);
  const double m = cbrt(0.2119034982 * rgb[0] + 0.6806995451 * rgb[1] + 0.1073969566 * rgb[2]);
  const double s = cbrt(0.0883024619 * rgb[0] + 0.2817188376 * rgb[1] + 0.6299787005 * rgb[2]);
  return (cvtm_oklab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
                      1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
                      0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

static inline double cvtm_oklab_distance(cvtm_oklab p, cvtm_oklab q) {
  return sqrt((p.l - q.l) * (p.l - q.l) + (p.a - q.a) * (p.a - q.a) + (p.b - q.b) * (p.b - q.b));
}
