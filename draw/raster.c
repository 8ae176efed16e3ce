#include "draw/raster.h"

#include "base/coverage.h"
#include "base/portable.h"
#include "base/srgb.h"

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

/* Adds the colour by the accumulated coverage and clears the accumulator. */
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

/* A rectangle about the segment, its ends rounded off by a half square. */
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
  /* The polygon has the disc's area, so that small dots keep their weight. */
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

/* sRGB bytes of linear values i / ENCODE_STEPS. */
static void fill_encoding(unsigned char *table) {
  for (int i = 0; i <= ENCODE_STEPS; ++i) {
    double v = (double)i / ENCODE_STEPS;
    table[i] = (unsigned char)(255 * cvtm_linear_to_srgb(v) + 0.5);
  }
}

void cvtm_raster_encode(const cvtm_raster *raster, unsigned char *pixels) {
  const size_t count = (size_t)raster->width * (size_t)raster->height * 3;
  unsigned char table[ENCODE_STEPS + 1];
  fill_encoding(table);
  for (size_t i = 0; i < count; ++i) {
    const double place = (double)raster->canvas[i] * ENCODE_STEPS + 0.5;
    pixels[i] = table[cvtm_clamp_pixel(place, 0, ENCODE_STEPS)];
  }
}
