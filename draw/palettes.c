#include "draw/palettes.h"

#include "base/srgb.h"
#include "draw/oklab.h"

#include <math.h>
#include <string.h>

/* From paper over sand and sea green to night blue; and from night over sea green to pale gold. */
static const cvtm_oklab light_ramp[] = {{0.975, 0.001, 0.012},   {0.915, -0.006, 0.034},
                                        {0.830, -0.032, 0.038},  {0.720, -0.060, 0.012},
                                        {0.600, -0.058, -0.032}, {0.475, -0.034, -0.066},
                                        {0.345, -0.010, -0.076}, {0.225, 0.000, -0.052}};
static const cvtm_oklab dark_ramp[] = {{0.205, -0.003, -0.022}, {0.285, -0.018, -0.048},
                                       {0.390, -0.046, -0.052}, {0.505, -0.074, -0.026},
                                       {0.625, -0.080, 0.022},  {0.745, -0.058, 0.072},
                                       {0.860, -0.020, 0.096},  {0.955, 0.002, 0.060}};

static void to_srgb(cvtm_oklab colour, unsigned char rgba[4]) {
  double linear[3];
  cvtm_oklab_to_linear(colour, linear);
  for (int c = 0; c < 3; ++c) rgba[c] = (unsigned char)(255 * cvtm_linear_to_srgb(linear[c]) + 0.5);
  rgba[3] = 255;
}

static cvtm_oklab on_ramp(const cvtm_oklab *ramp, int stops, double t) {
  const double place = t * (stops - 1);
  const int k = place < stops - 1 ? (int)place : stops - 2;
  const double f = place - k;
  return (cvtm_oklab){ramp[k].l + (ramp[k + 1].l - ramp[k].l) * f,
                      ramp[k].a + (ramp[k + 1].a - ramp[k].a) * f,
                      ramp[k].b + (ramp[k + 1].b - ramp[k].b) * f};
}

/* From paper to ink: lightness falls evenly, the hue turns from warm sand over sea green to night
 * blue. Columns: a, b at even steps of lightness. */
static const double paper_lightness = 0.975, ink_lightness = 0.20;
static const double hues[][2] = {{0.001, 0.011},   {0.002, 0.030},   {-0.012, 0.030},
                                 {-0.038, 0.004},  {-0.046, -0.030}, {-0.036, -0.056},
                                 {-0.018, -0.068}, {-0.006, -0.062}, {-0.002, -0.046}};

cvtm_colour cvtm_picture_colour(double depth) {
  enum { STEPS = sizeof hues / sizeof hues[0] - 1 };
  depth = fmin(fmax(depth, 0), 1);
  const double place = depth * STEPS;
  const int step = place < STEPS ? (int)place : STEPS - 1;
  const double t = place - step;
  double rgb[3];
  cvtm_oklab_to_linear((cvtm_oklab){paper_lightness + (ink_lightness - paper_lightness) * depth,
                                    hues[step][0] * (1 - t) + hues[step + 1][0] * t,
                                    hues[step][1] * (1 - t) + hues[step + 1][1] * t},
                       rgb);
  return (cvtm_colour){{(float)rgb[0], (float)rgb[1], (float)rgb[2]}};
}

/* Hues a golden angle apart, so that neighbours in number differ. */
static cvtm_oklab site_colour(int dark, int k) {
  const double hue = 2.399963229728653 * k, wave = 0.5 + 0.5 * sin(1.7 * k);
  const double chroma = dark ? 0.075 : 0.065;
  return (cvtm_oklab){dark ? 0.42 + 0.16 * wave : 0.80 + 0.10 * wave, chroma * cos(hue),
                      chroma * sin(hue)};
}

/* Six sides are the rule and stay in the background. */
static cvtm_oklab sides_colour(int dark, int sides) {
  const double rule = dark ? 0.30 : 0.94;
  if (sides == 6) return (cvtm_oklab){rule, 0, dark ? -0.012 : 0.008};
  if (sides < 6) return (cvtm_oklab){sides == 5 ? 0.70 : 0.55, 0.135, sides == 5 ? 0.075 : 0.095};
  return (cvtm_oklab){sides == 7 ? 0.62 : 0.47, sides == 7 ? -0.045 : 0.02,
                      sides == 7 ? -0.115 : -0.15};
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
