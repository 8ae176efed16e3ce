#include "viewer/colours.h"

#include <math.h>
#include <string.h>

/* Lightness, a, b in OKLab (Ottosson 2020). */
typedef struct oklab {
  double l, a, b;
} oklab;

/* From paper over sand and sea green to night blue; and from night over sea green to pale gold. */
static const oklab light_ramp[] = {{0.975, 0.001, 0.012},   {0.915, -0.006, 0.034},
                                   {0.830, -0.032, 0.038},  {0.720, -0.060, 0.012},
                                   {0.600, -0.058, -0.032}, {0.475, -0.034, -0.066},
                                   {0.345, -0.010, -0.076}, {0.225, 0.000, -0.052}};
static const oklab dark_ramp[] = {{0.205, -0.003, -0.022}, {0.285, -0.018, -0.048},
                                  {0.390, -0.046, -0.052}, {0.505, -0.074, -0.026},
                                  {0.625, -0.080, 0.022},  {0.745, -0.058, 0.072},
                                  {0.860, -0.020, 0.096},  {0.955, 0.002, 0.060}};

static double encode(double linear) {
  const double c = fmin(fmax(linear, 0), 1);
  return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
}

static void to_srgb(oklab colour, unsigned char rgba[4]) {
  double l = colour.l + 0.3963377774 * colour.a + 0.2158037573 * colour.b;
  double m = colour.l - 0.1055613458 * colour.a - 0.0638541728 * colour.b;
  double s = colour.l - 0.0894841775 * colour.a - 1.2914855480 * colour.b;
  l = l * l * l;
  m = m * m * m;
  s = s * s * s;
  const double linear[3] = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                            -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
  for (int c = 0; c < 3; ++c) rgba[c] = (unsigned char)(255 * encode(linear[c]) + 0.5);
  rgba[3] = 255;
}

static oklab on_ramp(const oklab *ramp, int stops, double t) {
  const double place = t * (stops - 1);
  const int k = place < stops - 1 ? (int)place : stops - 2;
  const double f = place - k;
  return (oklab){ramp[k].l + (ramp[k + 1].l - ramp[k].l) * f,
                 ramp[k].a + (ramp[k + 1].a - ramp[k].a) * f,
                 ramp[k].b + (ramp[k + 1].b - ramp[k].b) * f};
}

/* Hues a golden angle apart, so that neighbours in number differ. */
static oklab site_colour(int dark, int k) {
  const double hue = 2.399963229728653 * k, wave = 0.5 + 0.5 * sin(1.7 * k);
  const double chroma = dark ? 0.075 : 0.065;
  return (oklab){dark ? 0.42 + 0.16 * wave : 0.80 + 0.10 * wave, chroma * cos(hue),
                 chroma * sin(hue)};
}

/* Six sides are the rule and stay in the background. */
static oklab sides_colour(int dark, int sides) {
  const double rule = dark ? 0.30 : 0.94;
  if (sides == 6) return (oklab){rule, 0, dark ? -0.012 : 0.008};
  if (sides < 6) return (oklab){sides == 5 ? 0.70 : 0.55, 0.135, sides == 5 ? 0.075 : 0.095};
  return (oklab){sides == 7 ? 0.62 : 0.47, sides == 7 ? -0.045 : 0.02, sides == 7 ? -0.115 : -0.15};
}

void cvtm_palette_fill(int dark, unsigned char pixels[CVTM_PALETTE_ROWS][CVTM_PALETTE_WIDTH][4]) {
  enum { STOPS = sizeof light_ramp / sizeof light_ramp[0] };
  for (int k = 0; k < CVTM_PALETTE_WIDTH; ++k) {
    const double t = (double)k / (CVTM_PALETTE_WIDTH - 1);
    to_srgb(on_ramp(dark ? dark_ramp : light_ramp, STOPS, t), pixels[0][k]);
    to_srgb(site_colour(dark, k), pixels[1][k]);
    to_srgb(sides_colour(dark, k), pixels[2][k]);
  }
}

const cvtm_theme *cvtm_theme_of(int dark) {
  static const cvtm_theme themes[2] = {{{0.925f, 0.918f, 0.902f},
                                        {0.984f, 0.978f, 0.962f},
                                        {0.09f, 0.13f, 0.18f},
                                        {0.74f, 0.33f, 0.16f},
                                        {0.78f, 0.22f, 0.30f},
                                        {0.90f, 0.36f, 0.26f},
                                        {0.16f, 0.46f, 0.82f},
                                        {0.06f, 0.46f, 0.47f}},
                                       {{0.055f, 0.063f, 0.080f},
                                        {0.082f, 0.094f, 0.120f},
                                        {0.92f, 0.93f, 0.92f},
                                        {1.00f, 0.70f, 0.36f},
                                        {1.00f, 0.48f, 0.50f},
                                        {1.00f, 0.50f, 0.38f},
                                        {0.42f, 0.70f, 1.00f},
                                        {0.40f, 0.82f, 0.74f}}};
  return &themes[dark != 0];
}
