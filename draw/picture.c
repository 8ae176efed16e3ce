#include "draw/picture.h"

#include "base/host.h"
#include "base/select.h"
#include "base/portable.h"
#include "base/file.h"
#include "density/density.h"
#include "draw/formats.h"
#include "draw/raster.h"
#include "meshes/polygon_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SIDE = 16384 };

void cvtm_picture_defaults(cvtm_picture_options *options) {
  *options = (cvtm_picture_options){.layers = CVTM_PICTURE_CELLS | CVTM_PICTURE_CELL_EDGES |
                                              CVTM_PICTURE_SITES};
}

/* Data that the drawing functions share. */
typedef struct picture {
  const cvtm_picture_options *options;
  const float *density;
  cvtm_domain domain;
  const cvtm_mesh *mesh;
  const cvtm_cells *cells;
  double scale;     /* pixels of the picture per pixel of the domain */
  double reference; /* square root of the density that is drawn as tone 1 */
  int even;         /* nonzero: the density is nearly constant */
  double *tone;     /* tone of each cell in [0, 1]; NULL without cells */
  double *area;     /* the area of each cell, in square pixels of the picture */
  double *spacing;  /* the spacing at each site, in pixels of the picture; scales dots and lines */
  cvtm_raster raster;
} picture;

/* --- Colour --- */

/* The depth of the colour for a tone. Lightness is the cube root of luminance. */
static double depth_of(const picture *p, double tone) {
  tone = fmin(fmax(tone, 0), 1);
  return 1 - cbrt(p->options->invert ? tone : 1 - tone);
}

/* The strength of the density's tint below other layers. */
static const double tint_strength = 0.4;

/* The depth of a line or dot on a background of this depth: larger by `amount` on a light
 * background, smaller on a dark one. */
static double contrast_depth(double depth, double amount) {
  return depth < 0.5 ? depth + amount : depth - amount;
}

/* --- Tones --- */

/* Sorts the sample and returns two of its quantiles. */
static void find_quantiles(double *sample, size_t count, double *low, double *high) {
  qsort(sample, count, sizeof *sample, cvtm_compare_doubles);
  *low = sample[(size_t)(0.01 * (double)(count - 1))];
  *high = sample[(size_t)(0.995 * (double)(count - 1))];
  if (!(*high > 0)) *high = sample[count - 1];
}

/* Sets the density that is drawn as tone 1: a high quantile, or 1 for stipples of a picture, whose
 * densities are at most 1, so that its tones are kept. */
static cvtm_status find_reference(picture *p, cvtm_error *error) {
  enum { SAMPLE = 1 << 16 };
  size_t count = (size_t)p->domain.width * (size_t)p->domain.height;
  size_t stride = count / SAMPLE + 1, taken = 0;
  double *sample = malloc((count / stride + 1) * sizeof *sample);
  if (sample == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (size_t i = 0; i < count; i += stride) sample[taken++] = sqrt((double)p->density[i]);
  double low, high;
  find_quantiles(sample, taken, &low, &high);
  free(sample);
  p->even = low > 0.98 * high;
  p->reference = high > 0 ? high : 1;
  if ((p->options->layers & CVTM_PICTURE_STIPPLES) && high <= 1) p->reference = 1;
  return CVTM_OK;
}

static double pixel_tone(const picture *p, int x, int y) {
  double value = (double)p->density[(size_t)y * (size_t)p->domain.width + (size_t)x];
  return p->even ? 0.35 : fmin(sqrt(value) / p->reference, 1);
}

/* The mean tone of the pixels whose centres lie in the convex polygon; if there are none, the tone
 * at the mean of the corners. */
static double polygon_tone(const picture *p, const double *corners, int count) {
  double top = INFINITY, bottom = -INFINITY, mx = 0, my = 0;
  for (int i = 0; i < count; ++i) {
    top = fmin(top, corners[2 * i + 1]);
    bottom = fmax(bottom, corners[2 * i + 1]);
    mx += corners[2 * i] / count;
    my += corners[2 * i + 1] / count;
  }
  double sum = 0;
  int64_t pixels = 0;
  int first = (int)fmax(ceil(top - 0.5), 0);
  int last = (int)fmin(floor(bottom - 0.5), p->domain.height - 1);
  for (int y = first; y <= last; ++y) {
    double left = INFINITY, right = -INFINITY, level = y + 0.5;
    for (int i = 0; i < count; ++i) {
      const double *a = corners + 2 * i, *b = corners + 2 * ((i + 1) % count);
      if ((a[1] <= level) == (b[1] <= level)) continue;
      double x = a[0] + (level - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
      left = fmin(left, x);
      right = fmax(right, x);
    }
    if (!(left <= right)) continue;
    int from = (int)fmax(ceil(left - 0.5), 0);
    int to = (int)fmin(floor(right - 0.5), p->domain.width - 1);
    for (int x = from; x <= to; ++x, ++pixels) sum += pixel_tone(p, x, y);
  }
  if (pixels > 0) return sum / (double)pixels;
  int x = (int)fmin(fmax(mx, 0), p->domain.width - 1);
  int y = (int)fmin(fmax(my, 0), p->domain.height - 1);
  return pixel_tone(p, x, y);
}

static const double *cell_corners(const picture *p, int64_t i, int *count) {
  *count = (int)(p->cells->start[i + 1] - p->cells->start[i]);
  return p->cells->corners + 2 * p->cells->start[i];
}

/* Computes the tones of cells from their areas if there is no density: small cells are dark. */
static cvtm_status tones_from_areas(picture *p, cvtm_error *error) {
  int64_t count = p->cells->count;
  double *sample = malloc(((size_t)count + 1) * sizeof *sample);
  if (sample == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t i = 0; i < count; ++i) {
    p->tone[i] = sample[i] = p->area[i] > 0 ? 1 / p->area[i] : 0;
  }
  double low = 0, high = 1;
  if (count > 0) find_quantiles(sample, (size_t)count, &low, &high);
  free(sample);
  p->even = low > 0.5 * high;
  for (int64_t i = 0; i < count; ++i) {
    p->tone[i] = p->even ? 0.35 : fmin(p->tone[i] / high, 1);
  }
  return CVTM_OK;
}

/* The spacing of a site is the square root of the area of its cell. It is limited to little more
 * than the distance to the nearest site, because cells at the border of a dark shape are long and
 * narrow. */
static void find_spacing(picture *p) {
  const double *points = p->mesh->points;
  for (int64_t i = 0; i < p->cells->count; ++i) {
    double nearest = INFINITY;
    for (int64_t k = p->cells->start[i]; k < p->cells->start[i + 1]; ++k) {
      int32_t other = p->cells->neighbors[k];
      if (other < 0) continue;
      double dx = points[2 * (size_t)other] - points[2 * i];
      double dy = points[2 * (size_t)other + 1] - points[2 * i + 1];
      nearest = fmin(nearest, sqrt(dx * dx + dy * dy));
    }
    p->spacing[i] = fmin(sqrt(p->area[i]), 1.1 * nearest * p->scale);
  }
}

static cvtm_status measure_cells(picture *p, cvtm_error *error) {
  size_t count = (size_t)p->cells->count;
  p->tone = malloc((count + 1) * sizeof *p->tone);
  p->area = malloc((count + 1) * sizeof *p->area);
  p->spacing = malloc((count + 1) * sizeof *p->spacing);
  if (p->tone == NULL || p->area == NULL || p->spacing == NULL) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  }
  for (int64_t i = 0; i < p->cells->count; ++i) {
    int corners;
    const double *corner = cell_corners(p, i, &corners);
    p->area[i] = fabs(cvtm_ring_area(corner, corners)) * p->scale * p->scale;
  }
  find_spacing(p);
  if (p->density == NULL) return tones_from_areas(p, error);
  for (int64_t i = 0; i < p->cells->count; ++i) {
    int corners;
    const double *corner = cell_corners(p, i, &corners);
    p->tone[i] = corners > 0 ? polygon_tone(p, corner, corners) : 0;
  }
  return CVTM_OK;
}

/* --- Layers --- */

/* The tone at a point of the domain, interpolated bilinearly over a pixel of the picture or of the
 * domain, whichever is larger. */
static double smooth_tone(const picture *p, double x, double y) {
  double reach = fmax(1, 1 / p->scale), sum = 0, weights = 0;
  int x0 = (int)fmax(ceil(x - reach - 0.5), 0);
  int y0 = (int)fmax(ceil(y - reach - 0.5), 0);
  int x1 = (int)fmin(floor(x + reach - 0.5), p->domain.width - 1);
  int y1 = (int)fmin(floor(y + reach - 0.5), p->domain.height - 1);
  for (int j = y0; j <= y1; ++j) {
    for (int i = x0; i <= x1; ++i) {
      double weight = (reach - fabs(i + 0.5 - x)) * (reach - fabs(j + 0.5 - y));
      sum += weight * pixel_tone(p, i, j);
      weights += weight;
    }
  }
  return weights > 0 ? sum / weights : 0;
}

static void draw_density(picture *p) {
  /* below other layers the density is only a light tint */
  double strength = p->options->layers == CVTM_PICTURE_DENSITY ? 1 : tint_strength;
  double ground = p->options->invert ? 1 : 0;
  for (int y = 0; y < p->raster.height; ++y) {
    for (int x = 0; x < p->raster.width; ++x) {
      double tone = smooth_tone(p, (x + 0.5) / p->scale, (y + 0.5) / p->scale);
      cvtm_colour colour = cvtm_picture_colour(ground + strength * (depth_of(p, tone) - ground));
      size_t at = (size_t)y * (size_t)p->raster.width + (size_t)x;
      memcpy(p->raster.layer + 4 * at, colour.channel, sizeof colour.channel);
      p->raster.layer[4 * at + 3] = 1;
    }
  }
  cvtm_raster_merge(&p->raster, 1);
}

/* A buffer for corners that grows to the largest polygon. */
typedef struct corner_buffer {
  double *corners;
  int64_t capacity;
} corner_buffer;

static cvtm_status scale_corners(const picture *p, const double *corners, int count,
                                 corner_buffer *buffer, cvtm_error *error) {
  if (!cvtm_grow(&buffer->corners, 2 * sizeof *buffer->corners, &buffer->capacity, count))
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int i = 0; i < 2 * count; ++i) buffer->corners[i] = corners[i] * p->scale;
  return CVTM_OK;
}

static cvtm_status draw_cells(picture *p, cvtm_error *error) {
  corner_buffer buffer = {NULL, 0};
  cvtm_status status = CVTM_OK;
  for (int64_t i = 0; status == CVTM_OK && i < p->cells->count; ++i) {
    int count;
    const double *corners = cell_corners(p, i, &count);
    status = scale_corners(p, corners, count, &buffer, error);
    if (status != CVTM_OK) break;
    cvtm_raster_polygon(&p->raster, buffer.corners, count,
                        cvtm_picture_colour(depth_of(p, p->tone[i])));
  }
  free(buffer.corners);
  if (status == CVTM_OK) cvtm_raster_merge(&p->raster, 1);
  return status;
}

/* The depth of the background on which lines and dots are drawn, for a tone. */
static double ground_depth(const picture *p, double tone) {
  unsigned layers = p->options->layers;
  double paper = p->options->invert ? 1 : 0, depth = depth_of(p, tone);
  if (layers & (CVTM_PICTURE_CELLS | CVTM_PICTURE_TRIANGLES)) return depth;
  return layers & CVTM_PICTURE_DENSITY ? paper + tint_strength * (depth - paper) : paper;
}

/* The colour of lines: little contrast on filled cells, full contrast on paper. */
static cvtm_colour line_colour(const picture *p, double tone, double amount) {
  unsigned filled = p->options->layers & (CVTM_PICTURE_CELLS | CVTM_PICTURE_TRIANGLES);
  return cvtm_picture_colour(contrast_depth(ground_depth(p, tone), filled ? amount : 0.58));
}

/* The width of a line between sites of this spacing, pixels. */
static double line_width(double spacing) { return fmin(fmax(0.055 * spacing, 0.4), 3); }

static void draw_cell_edges(picture *p) {
  for (int64_t i = 0; i < p->cells->count; ++i) {
    int count;
    const double *c = cell_corners(p, i, &count);
    const int32_t *neighbors = p->cells->neighbors + p->cells->start[i];
    for (int k = 0; k < count; ++k) {
      int32_t other = neighbors[k];
      if (other < i) continue; /* on the border, or drawn with the other cell */
      const double *a = c + 2 * k, *b = c + 2 * ((k + 1) % count);
      double tone = 0.5 * (p->tone[i] + p->tone[other]);
      double spacing = 0.5 * (p->spacing[i] + p->spacing[other]);
      cvtm_raster_line(&p->raster, a[0] * p->scale, a[1] * p->scale, b[0] * p->scale,
                       b[1] * p->scale, line_width(spacing), line_colour(p, tone, 0.15));
    }
  }
  cvtm_raster_merge(&p->raster, 1);
}

static void draw_sites(picture *p) {
  const double *points = p->mesh->points;
  unsigned filled = p->options->layers & (CVTM_PICTURE_CELLS | CVTM_PICTURE_TRIANGLES);
  for (int64_t i = 0; i < p->cells->count; ++i) {
    double depth = ground_depth(p, p->tone[i]), radius = fmin(0.08 * p->spacing[i], 5);
    double contrast = !filled ? 0.75 : depth < 0.5 ? 0.3 + 0.3 * depth : 0.4;
    cvtm_raster_disc(&p->raster, points[2 * i] * p->scale, points[2 * i + 1] * p->scale, radius,
                     cvtm_picture_colour(contrast_depth(depth, contrast)));
  }
  cvtm_raster_merge(&p->raster, 1);
}

static double triangle_tone(const picture *p, const int32_t *corner) {
  if (p->density == NULL) {
    return (p->tone[corner[0]] + p->tone[corner[1]] + p->tone[corner[2]]) / 3;
  }
  double corners[6];
  for (int k = 0; k < 3; ++k) {
    memcpy(corners + 2 * k, p->mesh->points + 2 * (size_t)corner[k], 2 * sizeof *corners);
  }
  return polygon_tone(p, corners, 3);
}

static void draw_triangles(picture *p) {
  for (int64_t t = 0; t < p->mesh->triangle_count; ++t) {
    const int32_t *corner = p->mesh->triangles + 3 * t;
    double corners[6];
    for (int k = 0; k < 6; ++k) {
      corners[k] = p->mesh->points[2 * (size_t)corner[k / 2] + (size_t)(k % 2)] * p->scale;
    }
    cvtm_raster_polygon(&p->raster, corners, 3,
                        cvtm_picture_colour(depth_of(p, triangle_tone(p, corner))));
  }
  cvtm_raster_merge(&p->raster, 1);
}

static cvtm_status draw_mesh_edges(picture *p, cvtm_error *error) {
  int32_t *edges = NULL;
  int64_t count = 0;
  const cvtm_status status = cvtm_mesh_edges(p->mesh, &edges, &count, error);
  if (status != CVTM_OK) return status;
  for (int64_t k = 0; k < count; ++k) {
    const int32_t i = edges[2 * k], j = edges[2 * k + 1];
    const double *a = p->mesh->points + 2 * (int64_t)i, *b = p->mesh->points + 2 * (int64_t)j;
    double width = line_width(0.5 * (p->spacing[i] + p->spacing[j]));
    cvtm_raster_line(&p->raster, a[0] * p->scale, a[1] * p->scale, b[0] * p->scale, b[1] * p->scale,
                     width, line_colour(p, 0.5 * (p->tone[i] + p->tone[j]), 0.18));
  }
  free(edges);
  cvtm_raster_merge(&p->raster, 1);
  return CVTM_OK;
}

/* Draws a dot at each site. The tone is the fraction of the cell that the dot covers. */
static void draw_stipples(picture *p) {
  const double *points = p->mesh->points;
  cvtm_colour colour = cvtm_picture_colour(p->options->invert ? 0 : 1);
  for (int64_t i = 0; i < p->cells->count; ++i) {
    double radius = sqrt(p->area[i] * p->tone[i] / CVTM_PI);
    cvtm_raster_disc(&p->raster, points[2 * i] * p->scale, points[2 * i + 1] * p->scale, radius,
                     colour);
  }
  cvtm_raster_merge(&p->raster, 1);
}

static cvtm_status draw_layers(picture *p, cvtm_error *error) {
  unsigned layers = p->options->layers;
  cvtm_status status = CVTM_OK;
  if (layers & CVTM_PICTURE_STIPPLES) {
    draw_stipples(p);
    return CVTM_OK;
  }
  if ((layers & CVTM_PICTURE_DENSITY) && p->density != NULL) draw_density(p);
  if (layers & CVTM_PICTURE_CELLS) status = draw_cells(p, error);
  if (status != CVTM_OK) return status;
  if (layers & CVTM_PICTURE_TRIANGLES) draw_triangles(p);
  if (layers & CVTM_PICTURE_CELL_EDGES) draw_cell_edges(p);
  if (layers & CVTM_PICTURE_MESH_EDGES) status = draw_mesh_edges(p, error);
  if (status != CVTM_OK) return status;
  if (layers & CVTM_PICTURE_SITES) draw_sites(p);
  return CVTM_OK;
}

/* --- All layers --- */

int cvtm_picture_side(cvtm_domain domain, int64_t sites, int64_t asked) {
  const double width = domain.width, height = domain.height;
  const double aspect = fmax(width, height) / fmin(width, height);
  return asked > 0 ? (int)asked : (int)fmin(fmax(10 * sqrt((double)sites * aspect), 1600), 2048);
}

static cvtm_status check_picture(const picture *p, cvtm_error *error) {
  unsigned layers = p->options->layers;
  if (p->options->long_side < 0 || p->options->long_side > LARGEST_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a picture's side is at most %d pixels, not %d",
                     LARGEST_SIDE, p->options->long_side);
  }
  int needs_sites = (layers & ~(unsigned)CVTM_PICTURE_DENSITY) != 0;
  if (needs_sites && (p->mesh == NULL || p->cells == NULL)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the picture's layers need a mesh and its cells");
  }
  return CVTM_OK;
}

static cvtm_status write_raster(const cvtm_raster *raster, const char *path,
                                cvtm_pixels_writer write, cvtm_error *error) {
  unsigned char *pixels = malloc((size_t)raster->width * (size_t)raster->height * 3);
  if (pixels == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_raster_encode(raster, pixels);
  const cvtm_status status = write(path, raster->width, raster->height, 3, pixels, error);
  free(pixels);
  return status;
}

cvtm_status cvtm_raster_write(const cvtm_raster *raster, const char *path, cvtm_error *error) {
  return write_raster(raster, path, cvtm_png_write, error);
}

static cvtm_status draw_picture(picture *p, const char *path, cvtm_error *error) {
  const int64_t sites = p->mesh != NULL ? p->mesh->vertex_count : 0;
  int side = cvtm_picture_side(p->domain, sites, p->options->long_side);
  int longer = p->domain.width > p->domain.height ? p->domain.width : p->domain.height;
  p->scale = (double)side / longer;
  int width = (int)fmax(floor(p->domain.width * p->scale + 0.5), 1);
  int height = (int)fmax(floor(p->domain.height * p->scale + 0.5), 1);
  cvtm_status status = CVTM_OK;
  if (p->density != NULL) status = find_reference(p, error);
  if (status == CVTM_OK && p->cells != NULL && p->mesh != NULL) status = measure_cells(p, error);
  if (status == CVTM_OK) {
    cvtm_colour ground = cvtm_picture_colour(p->options->invert ? 1 : 0);
    status = cvtm_raster_create(width, height, ground, &p->raster, error);
  }
  if (status == CVTM_OK) status = draw_layers(p, error);
  const cvtm_pixels_writer write = p->options->write != NULL ? p->options->write : cvtm_png_write;
  if (status == CVTM_OK) status = write_raster(&p->raster, path, write, error);
  return status;
}

cvtm_status cvtm_picture_write(const char *path, const float *density, cvtm_domain domain,
                               const cvtm_mesh *mesh, const cvtm_cells *cells,
                               const cvtm_picture_options *options, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_picture, options)
  picture p = {.options = options,
               .density = density,
               .domain = domain,
               .mesh = mesh,
               .cells = cells,
               .reference = 1};
  cvtm_status status = check_picture(&p, error);
  if (status == CVTM_OK) status = draw_picture(&p, path, error);
  free(p.tone);
  free(p.area);
  free(p.spacing);
  cvtm_raster_destroy(&p.raster);
  return status;
}

/* --- the formats of pictures --- */

const cvtm_format cvtm_format_png = {
    .extension = "png", .help = "PNG: what --layers names", .write_pixels = cvtm_png_write};

/* Writes pixels of three channels. */
static cvtm_status write_ppm(const char *path, int width, int height, int channels,
                             const unsigned char *pixels, cvtm_error *error) {
  cvtm_output *output;
  const cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  fprintf(stream, "P6\n%d %d\n255\n", width, height);
  fwrite(pixels, (size_t)channels, (size_t)width * (size_t)height, stream);
  return cvtm_output_commit(output, error);
}

const cvtm_format cvtm_format_ppm = {
    .extension = "ppm", .help = "PPM: the same, without compression", .write_pixels = write_ppm};
