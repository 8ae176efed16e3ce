#include "draw/raster.h"

#include "base/geometry.h"
#include "base/portable.h"
#include "base/srgb.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_raster_create(int width, int height, cvtm_colour ground, cvtm_raster *raster,
                               cvtm_error *error) {
  size_t rows = (size_t)height, count = (size_t)width * rows;
  *raster = (cvtm_raster){.width = width, .height = height};
  raster->canvas = malloc(count * 3 * sizeof(float));
  raster->layer = calloc(count * 4, sizeof(float));
  raster->area = calloc(((size_t)width + 2) * rows, sizeof(float));
  if (raster->canvas == NULL || raster->layer == NULL || raster->area == NULL) {
    cvtm_raster_destroy(raster);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a picture of %d x %d pixels",
                     width, height);
  }
  for (size_t i = 0; i < count; ++i) {
    memcpy(raster->canvas + 3 * i, ground.channel, sizeof ground.channel);
  }
  return CVTM_OK;
}

void cvtm_raster_destroy(cvtm_raster *raster) {
  free(raster->canvas);
  free(raster->layer);
  free(raster->area);
  *raster = (cvtm_raster){0};
}

/* --- Coverage --- */

static cvtm_pixel_box find_box(const cvtm_raster *raster, const double *corners, int count) {
  double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
  for (int i = 0; i < count; ++i) {
    left = fmin(left, corners[2 * i]);
    right = fmax(right, corners[2 * i]);
    top = fmin(top, corners[2 * i + 1]);
    bottom = fmax(bottom, corners[2 * i + 1]);
  }
  return (cvtm_pixel_box){cvtm_clamp_pixel(floor(left), 0, raster->width),
                          cvtm_clamp_pixel(floor(top), 0, raster->height),
                          cvtm_clamp_pixel(ceil(right), 0, raster->width),
                          cvtm_clamp_pixel(ceil(bottom), 0, raster->height)};
}

static void add_area(void *accumulator, int x, int y, double change) {
  cvtm_raster *raster = accumulator;
  raster->area[(size_t)y * ((size_t)raster->width + 2) + (size_t)x] += (float)change;
}

/* Adds the colour, weighted by the accumulated coverage, to the layer, and zeroes the
 * accumulator. */
static void flush_box(cvtm_raster *raster, cvtm_pixel_box box, cvtm_colour colour) {
  for (int y = box.y0; y < box.y1; ++y) {
    float *row = raster->area + (size_t)y * ((size_t)raster->width + 2);
    float *target = raster->layer + 4 * ((size_t)y * (size_t)raster->width + (size_t)box.x0);
    float sum = 0;
    for (int x = box.x0; x < box.x1; ++x, target += 4) {
      sum += row[x];
      float coverage = fabsf(sum), free_share = 1 - target[3];
      if (coverage < 1e-5f) continue;
      if (coverage > free_share) coverage = free_share;
      for (int c = 0; c < 3; ++c) target[c] += coverage * colour.channel[c];
      target[3] += coverage;
    }
    memset(row + box.x0, 0, (size_t)(box.x1 - box.x0 + 2) * sizeof *row);
  }
}

/* --- Shapes --- */

void cvtm_raster_polygon(cvtm_raster *raster, const double *corners, int count,
                         cvtm_colour colour) {
  if (count < 3) return;
  cvtm_pixel_box box = find_box(raster, corners, count);
  if (box.x0 >= box.x1 || box.y0 >= box.y1) return;
  for (int i = 0; i < count; ++i) {
    int next = i + 1 < count ? i + 1 : 0;
    cvtm_cover_edge(corners + 2 * (size_t)i, corners + 2 * (size_t)next, 1, box, add_area, raster);
  }
  flush_box(raster, box, colour);
}

/* Draws a rectangle around the segment, with half a square at each end. */
void cvtm_raster_line(cvtm_raster *raster, double x0, double y0, double x1, double y1, double width,
                      cvtm_colour colour) {
  double dx = x1 - x0, dy = y1 - y0, length = sqrt(dx * dx + dy * dy);
  if (!(length > 0)) return;
  double ux = 0.5 * width * dx / length, uy = 0.5 * width * dy / length;
  const double corners[12] = {x0 - uy, y0 + ux, x0 - ux, y0 - uy, x0 + uy, y0 - ux,
                              x1 + uy, y1 - ux, x1 + ux, y1 + uy, x1 - uy, y1 + ux};
  cvtm_raster_polygon(raster, corners, 6, colour);
}

void cvtm_raster_disc(cvtm_raster *raster, double x, double y, double radius, cvtm_colour colour) {
  enum { MOST = 96 };
  double corners[2 * MOST];
  int count = cvtm_clamp_pixel(12 + 4 * radius, 12, MOST);
  /* The polygon has the area of the disc, so that small dots are not too light. */
  double angle = 2 * CVTM_PI / count, reach = radius * sqrt(angle / sin(angle));
  for (int i = 0; i < count; ++i) {
    corners[2 * i] = x + reach * cos(i * angle);
    corners[2 * i + 1] = y + reach * sin(i * angle);
  }
  cvtm_raster_polygon(raster, corners, count, colour);
}

void cvtm_raster_merge(cvtm_raster *raster, double opacity) {
  size_t count = (size_t)raster->width * (size_t)raster->height;
  float strength = (float)opacity;
  for (size_t i = 0; i < count; ++i) {
    float *canvas = raster->canvas + 3 * i, *layer = raster->layer + 4 * i;
    if (layer[3] == 0) continue;
    for (int c = 0; c < 3; ++c) {
      canvas[c] = canvas[c] * (1 - strength * layer[3]) + strength * layer[c];
    }
    memset(layer, 0, 4 * sizeof *layer);
  }
}

/* --- Encoding --- */

enum { ENCODE_STEPS = 1 << 14 };

/* Tabulates the sRGB bytes of the linear values i / ENCODE_STEPS. */
static void fill_encoding(unsigned char *table) {
  for (int i = 0; i <= ENCODE_STEPS; ++i) {
    double v = (double)i / ENCODE_STEPS;
    table[i] = (unsigned char)(255 * cvtm_linear_to_srgb(v) + 0.5);
  }
}

void cvtm_light_encode(const float *light, int64_t count, int step, unsigned char *bytes) {
  unsigned char table[ENCODE_STEPS + 1];
  fill_encoding(table);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    const double place = (double)light[i] * ENCODE_STEPS + 0.5;
    bytes[step * i] = table[cvtm_clamp_pixel(place, 0, ENCODE_STEPS)];
  }
}

void cvtm_raster_encode(const cvtm_raster *raster, unsigned char *pixels) {
  cvtm_light_encode(raster->canvas, 3 * (int64_t)raster->width * raster->height, 1, pixels);
}

/* --- Palettes --------------------------------------------------------------------------------- */

/* The light theme goes from paper over sand and sea green to night blue, the dark theme from night
 * blue over sea green to pale gold. */
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

/* The colours of pictures, from paper to ink: lightness decreases linearly, and the hue changes
 * from warm sand over sea green to night blue. hues: a, b at equal steps of lightness. */
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

/* Hues are a golden angle apart, so that consecutive numbers have different hues. */
static cvtm_oklab site_colour(int dark, int k) {
  const double hue = 2.399963229728653 * k, wave = 0.5 + 0.5 * sin(1.7 * k);
  const double chroma = dark ? 0.075 : 0.065;
  return (cvtm_oklab){dark ? 0.42 + 0.16 * wave : 0.80 + 0.10 * wave, chroma * cos(hue),
                      chroma * sin(hue)};
}

/* Six sides, the most frequent number, get an inconspicuous colour. */
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
