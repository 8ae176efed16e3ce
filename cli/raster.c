#include "cli/raster.h"

#include "density/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cli_raster_create(int width, int height, cli_colour ground, cli_raster *raster,
                              cvtm_error *error) {
  size_t rows = (size_t)height, count = (size_t)width * rows;
  *raster = (cli_raster){.width = width, .height = height};
  raster->canvas = malloc(count * 3 * sizeof(float));
  raster->layer = calloc(count * 4, sizeof(float));
  raster->area = calloc(((size_t)width + 2) * rows, sizeof(float));
  if (raster->canvas == NULL || raster->layer == NULL || raster->area == NULL) {
    cli_raster_destroy(raster);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a picture of %d x %d pixels",
                     width, height);
  }
  for (size_t i = 0; i < count; ++i) {
    memcpy(raster->canvas + 3 * i, ground.channel, sizeof ground.channel);
  }
  return CVTM_OK;
}

void cli_raster_destroy(cli_raster *raster) {
  free(raster->canvas);
  free(raster->layer);
  free(raster->area);
  *raster = (cli_raster){0};
}

/* --- Coverage --- */

/* The part of the picture that a shape touches: pixels [x0, x1) x [y0, y1). */
typedef struct pixel_box {
  int x0, y0, x1, y1;
} pixel_box;

static int clamp_int(double value, int low, int high) {
  if (!(value > low)) return low;
  return value < high ? (int)value : high;
}

static pixel_box find_box(const cli_raster *raster, const double *corners, int count) {
  double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
  for (int i = 0; i < count; ++i) {
    left = fmin(left, corners[2 * i]);
    right = fmax(right, corners[2 * i]);
    top = fmin(top, corners[2 * i + 1]);
    bottom = fmax(bottom, corners[2 * i + 1]);
  }
  return (pixel_box){
      clamp_int(floor(left), 0, raster->width), clamp_int(floor(top), 0, raster->height),
      clamp_int(ceil(right), 0, raster->width), clamp_int(ceil(bottom), 0, raster->height)};
}

/* One row of an edge: `rise` (signed) is the part of the row's height that it crosses between
 * x = a and b (a <= b). Adds to row[i] the change of coverage from pixel i - 1 to pixel i. */
static void add_row(float *row, double a, double b, double rise) {
  int first = (int)a, last = (int)ceil(b);
  if (last <= first + 1) { /* within one pixel */
    double middle = 0.5 * (a + b) - first;
    row[first] += (float)(rise * (1 - middle));
    row[first + 1] += (float)(rise * middle);
    return;
  }
  double slope = 1 / (b - a), covered = 0;
  for (int i = first; i < last; ++i) { /* the area right of the edge, pixel by pixel */
    double from = fmax(a, i), to = fmin(b, i + 1);
    double passed_before = (from - a) * slope, passed_after = (to - a) * slope;
    double now = 0.5 * (passed_before + passed_after) * (to - from) + (i + 1 - to) * passed_after;
    row[i] += (float)(rise * (now - covered));
    covered = now;
  }
  row[last] += (float)(rise * (1 - covered));
}

static void add_edge(cli_raster *raster, pixel_box box, const double *p, const double *q) {
  if (p[1] == q[1]) return;
  double sign = p[1] < q[1] ? 1 : -1;
  const double *upper = p[1] < q[1] ? p : q, *lower = p[1] < q[1] ? q : p;
  double slope = (lower[0] - upper[0]) / (lower[1] - upper[1]);
  int first = clamp_int(floor(upper[1]), box.y0, box.y1);
  int last = clamp_int(ceil(lower[1]), box.y0, box.y1);
  for (int y = first; y < last; ++y) {
    double from = fmax(upper[1], y), to = fmin(lower[1], y + 1);
    if (to <= from) continue;
    double a = upper[0] + (from - upper[1]) * slope, b = upper[0] + (to - upper[1]) * slope;
    a = fmin(fmax(a, box.x0), box.x1);
    b = fmin(fmax(b, box.x0), box.x1);
    float *row = raster->area + (size_t)y * ((size_t)raster->width + 2);
    add_row(row, fmin(a, b), fmax(a, b), sign * (to - from));
  }
}

/* Adds the colour by the accumulated coverage and clears the accumulator. */
static void flush_box(cli_raster *raster, pixel_box box, cli_colour colour) {
  for (int y = box.y0; y < box.y1; ++y) {
    float *row = raster->area + (size_t)y * ((size_t)raster->width + 2);
    float *target = raster->layer + 4 * ((size_t)y * (size_t)raster->width + (size_t)box.x0);
    float sum = 0;
    for (int x = box.x0; x < box.x1; ++x, target += 4) {
      sum += row[x];
      float coverage = fabsf(sum), room = 1 - target[3];
      if (coverage < 1e-5f) continue;
      if (coverage > room) coverage = room;
      for (int c = 0; c < 3; ++c) target[c] += coverage * colour.channel[c];
      target[3] += coverage;
    }
    memset(row + box.x0, 0, (size_t)(box.x1 - box.x0 + 2) * sizeof *row);
  }
}

/* --- Shapes --- */

void cli_raster_polygon(cli_raster *raster, const double *corners, int count, cli_colour colour) {
  if (count < 3) return;
  pixel_box box = find_box(raster, corners, count);
  if (box.x0 >= box.x1 || box.y0 >= box.y1) return;
  for (int i = 0; i < count; ++i) {
    int next = i + 1 < count ? i + 1 : 0;
    add_edge(raster, box, corners + 2 * (size_t)i, corners + 2 * (size_t)next);
  }
  flush_box(raster, box, colour);
}

/* A rectangle about the segment, its ends rounded off by a half square. */
void cli_raster_line(cli_raster *raster, double x0, double y0, double x1, double y1, double width,
                     cli_colour colour) {
  double dx = x1 - x0, dy = y1 - y0, length = sqrt(dx * dx + dy * dy);
  if (!(length > 0)) return;
  double ux = 0.5 * width * dx / length, uy = 0.5 * width * dy / length;
  const double corners[12] = {x0 - uy, y0 + ux, x0 - ux, y0 - uy, x0 + uy, y0 - ux,
                              x1 + uy, y1 - ux, x1 + ux, y1 + uy, x1 - uy, y1 + ux};
  cli_raster_polygon(raster, corners, 6, colour);
}

void cli_raster_disc(cli_raster *raster, double x, double y, double radius, cli_colour colour) {
  enum { MOST = 96 };
  const double pi = 3.14159265358979323846;
  double corners[2 * MOST];
  int count = clamp_int(12 + 4 * radius, 12, MOST);
  /* The polygon has the disc's area, so that small dots keep their weight. */
  double angle = 2 * pi / count, reach = radius * sqrt(angle / sin(angle));
  for (int i = 0; i < count; ++i) {
    corners[2 * i] = x + reach * cos(i * angle);
    corners[2 * i + 1] = y + reach * sin(i * angle);
  }
  cli_raster_polygon(raster, corners, count, colour);
}

void cli_raster_merge(cli_raster *raster, double opacity) {
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

/* --- Writing --- */

enum { ENCODE_STEPS = 1 << 14 };

/* sRGB bytes of linear values i / ENCODE_STEPS (IEC 61966-2-1). */
static void fill_encoding(unsigned char *table) {
  for (int i = 0; i <= ENCODE_STEPS; ++i) {
    double v = (double)i / ENCODE_STEPS;
    double encoded = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
    table[i] = (unsigned char)(255 * encoded + 0.5);
  }
}

cvtm_status cli_raster_write(const cli_raster *raster, const char *path, cvtm_error *error) {
  size_t count = (size_t)raster->width * (size_t)raster->height * 3;
  unsigned char *pixels = malloc(count);
  unsigned char *table = malloc(ENCODE_STEPS + 1);
  if (pixels == NULL || table == NULL) {
    free(pixels);
    free(table);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  }
  fill_encoding(table);
  for (size_t i = 0; i < count; ++i) {
    pixels[i] = table[clamp_int((double)raster->canvas[i] * ENCODE_STEPS + 0.5, 0, ENCODE_STEPS)];
  }
  cvtm_status status = cvtm_png_write(path, raster->width, raster->height, 3, pixels, error);
  free(pixels);
  free(table);
  return status;
}
