/* The transfer function of sRGB (IEC 61966-2-1), for values in [0, 1]. */
#pragma once

#include <math.h>

static inline double cvtm_srgb_to_linear(double encoded) {
  return encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4);
}

static inline double cvtm_linear_to_srgb(double linear) {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}
