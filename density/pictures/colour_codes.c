/* Colour primaries and transfer characteristics by their code points in ITU-T H.273 (2021). */
#include "density/pictures/colour.h"

#include "base/srgb.h"

#include <math.h>
#include <string.h>

int cvtm_colour_primaries(int primaries, double chromaticities[8]) {
  static const struct {
    int code;
    double chromaticities[8]; /* x, y of white, red, green, blue */
  } known[] = {{1, {0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06}},       /* BT.709, sRGB */
               {4, {0.310, 0.316, 0.67, 0.33, 0.21, 0.71, 0.14, 0.08}},         /* BT.470 M */
               {5, {0.3127, 0.3290, 0.64, 0.33, 0.29, 0.60, 0.15, 0.06}},       /* BT.470 B, G */
               {6, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}}, /* BT.601, 525 */
               {7, {0.3127, 0.3290, 0.630, 0.340, 0.310, 0.595, 0.155, 0.070}},
               {9, {0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046}},   /* BT.2020 */
               {11, {0.314, 0.351, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},    /* DCI P3 */
               {12, {0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060}},  /* Display P3 */
               {22, {0.3127, 0.3290, 0.630, 0.340, 0.295, 0.605, 0.155, 0.077}}}; /* EBU 3213 */
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
    if (known[k].code != primaries) continue;
    memcpy(chromaticities, known[k].chromaticities, sizeof known[k].chromaticities);
    return 1;
  }
  return 0;
}

static double from_bt709(double v) {
  const double alpha = 1.09929682680944, beta = 0.018053968510807;
  return v < 4.5 * beta ? v / 4.5 : pow((v + alpha - 1) / alpha, 1 / 0.45);
}

static double from_gamma_22(double v) { return pow(v, 2.2); }
static double from_gamma_28(double v) { return pow(v, 2.8); }
static double from_linear(double v) { return v; }
static double from_srgb(double v) { return cvtm_srgb_to_linear(v); }

/* SMPTE ST 2084, relative to the reference white. */
static double from_pq(double v) {
  const double m1 = 2610.0 / 16384, m2 = 2523.0 / 32, c1 = 107.0 / 128;
  const double c2 = 2413.0 / 128, c3 = 2392.0 / 128, peak = 10000, reference = 203;
  const double root = pow(v, 1 / m2);
  return pow(fmax(root - c1, 0) / (c2 - c3 * root), 1 / m1) * peak / reference;
}

static double from_hlg_scene(double v) {
  const double a = 0.17883277, b = 0.28466892, c = 0.55991073;
  return v <= 0.5 ? v * v / 3 : (exp((v - c) / a) + b) / 12;
}

/* ARIB STD-B67; the reference white is the signal 0.75. */
static double from_hlg(double v) { return from_hlg_scene(v) / from_hlg_scene(0.75); }

int cvtm_colour_transfer(int transfer, float *curve) {
  static const struct {
    int code;
    double (*decode)(double encoded);
  } known[] = {{1, from_bt709},  {4, from_gamma_22}, {5, from_gamma_28}, {6, from_bt709},
               {8, from_linear}, {13, from_srgb},    {14, from_bt709},   {15, from_bt709},
               {16, from_pq},    {18, from_hlg}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
    if (known[k].code != transfer) continue;
    for (int i = 0; i < CVTM_COLOUR_STEPS; ++i)
      curve[i] = (float)known[k].decode((double)i / (CVTM_COLOUR_STEPS - 1));
    return 1;
  }
  return 0;
}
