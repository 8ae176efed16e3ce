#include "draw/likeness.h"

#include "draw/disc.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A Gaussian filter: weight[0] is the weight of the centre, weight[k] that of the two values at a
 * distance of k pixels. */
typedef struct gaussian {
  int reach;
  double *weight;
} gaussian;

static int make_gaussian(double sigma, gaussian *g) {
  g->reach = (int)ceil(4 * sigma);
  g->weight = malloc(((size_t)g->reach + 1) * sizeof *g->weight);
  if (g->weight == NULL) return 0;
  double sum = 0;
  for (int k = 0; k <= g->reach; ++k) {
    g->weight[k] = k == 0 ? 1 : exp(-0.5 * (k / sigma) * (k / sigma));
    sum += k == 0 ? g->weight[k] : 2 * g->weight[k];
  }
  for (int k = 0; k <= g->reach; ++k) g->weight[k] /= sum;
  return 1;
}

/* The index in 0 .. size - 1 of the pixel at index k of the mirrored picture. */
static int mirror(int k, int size) {
  const int period = 2 * size;
  k %= period;
  if (k < 0) k += period;
  return k < size ? k : period - 1 - k;
}

/* Blurs a row; `wide` is a buffer of width + 2 * reach numbers. */
static void blur_row(const gaussian *g, const float *from, int width, double *wide, float *to) {
  for (int i = -g->reach; i < width + g->reach; ++i)
    wide[i + g->reach] = (double)from[mirror(i, width)];
  for (int i = 0; i < width; ++i) {
    const double *centre = wide + i + g->reach;
    double sum = g->weight[0] * centre[0];
    for (int k = 1; k <= g->reach; ++k) sum += g->weight[k] * (centre[-k] + centre[k]);
    to[i] = (float)sum;
  }
}

/* Computes row j of the picture blurred along its columns; `sum` is a buffer of width numbers. */
static void blur_across(const gaussian *g, const float *from, int width, int height, int j,
                        double *sum, float *to) {
  for (int i = 0; i < width; ++i) sum[i] = 0;
  for (int k = -g->reach; k <= g->reach; ++k) {
    const float *row = from + (size_t)mirror(j + k, height) * (size_t)width;
    const double weight = g->weight[abs(k)];
    for (int i = 0; i < width; ++i) sum[i] += weight * (double)row[i];
  }
  for (int i = 0; i < width; ++i) to[i] = (float)sum[i];
}

/* Planes of so many values are blurred by one thread. */
enum { SMALL = 1 << 15 };

/* Blurs `image` in place; `other` is a buffer of the same size. Returns 0 if memory runs out. */
static int blur(const gaussian *g, float *image, float *other, int width, int height) {
  int failed = 0;
#pragma omp parallel reduction(| : failed) if ((int64_t)width * height > SMALL)
  {
    double *buffer = malloc(((size_t)width + 2 * (size_t)g->reach) * sizeof *buffer);
    failed |= buffer == NULL;
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j) {
      const size_t at = (size_t)j * (size_t)width;
      if (!failed) blur_row(g, image + at, width, buffer, other + at);
    }
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j) {
      if (!failed)
        blur_across(g, other, width, height, j, buffer, image + (size_t)j * (size_t)width);
    }
    free(buffer);
  }
  return !failed;
}

cvtm_status cvtm_plane_blur(float *plane, int width, int height, double sigma, cvtm_error *error) {
  gaussian g = {0, NULL};
  float *other = malloc((size_t)width * (size_t)height * sizeof *other);
  const int good =
      other != NULL && make_gaussian(sigma, &g) && blur(&g, plane, other, width, height);
  free(g.weight);
  free(other);
  if (good) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to blur %d x %d pixels", width, height);
}

/* The blurred pictures a and b, and the local means of their values, squares and product. */
typedef struct comparison {
  float *a, *b, *mean_a, *mean_b, *square_a, *square_b, *product, *other;
  float *memory;
} comparison;

static int allocate_comparison(comparison *c, size_t pixels) {
  float **part[] = {&c->a,        &c->b,        &c->mean_a,  &c->mean_b,
                    &c->square_a, &c->square_b, &c->product, &c->other};
  enum { PARTS = sizeof part / sizeof part[0] };
  c->memory = malloc(PARTS * pixels * sizeof *c->memory);
  if (c->memory == NULL) return 0;
  for (int k = 0; k < PARTS; ++k) *part[k] = c->memory + (size_t)k * pixels;
  return 1;
}

static void multiply_images(comparison *c, size_t pixels) {
  for (size_t p = 0; p < pixels; ++p) {
    const float a = c->a[p], b = c->b[p];
    c->mean_a[p] = a;
    c->mean_b[p] = b;
    c->square_a[p] = a * a;
    c->square_b[p] = b * b;
    c->product[p] = a * b;
  }
}

static double mean_of(const float *value, size_t pixels) {
  double sum = 0;
  for (size_t p = 0; p < pixels; ++p) sum += (double)value[p];
  return sum / (double)pixels;
}

static void correlate(const comparison *c, size_t pixels, cvtm_likeness *l) {
  const double mean_a = mean_of(c->a, pixels), mean_b = mean_of(c->b, pixels);
  double aa = 0, bb = 0, ab = 0;
  for (size_t p = 0; p < pixels; ++p) {
    const double a = (double)c->a[p] - mean_a, b = (double)c->b[p] - mean_b;
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  l->contrast = bb > 0 ? sqrt(aa / bb) : (double)NAN;
  l->correlation = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : (double)NAN;
}

static double structural_similarity(const comparison *c, size_t pixels) {
  const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
  double sum = 0;
  for (size_t p = 0; p < pixels; ++p) {
    const double a = (double)c->mean_a[p], b = (double)c->mean_b[p];
    const double va = (double)c->square_a[p] - a * a, vb = (double)c->square_b[p] - b * b;
    const double ab = (double)c->product[p] - a * b;
    sum += (2 * a * b + c1) * (2 * ab + c2) /
           ((a * a + b * b + c1) * (fmax(va, 0) + fmax(vb, 0) + c2));
  }
  return sum / (double)pixels;
}

cvtm_status cvtm_likeness_measure(const float *drawing, const float *picture, int width, int height,
                                  double sigma, cvtm_likeness *likeness, cvtm_error *error) {
  const size_t pixels = (size_t)width * (size_t)height;
  comparison c = {0};
  gaussian g = {0, NULL};
  int good = make_gaussian(sigma, &g) && allocate_comparison(&c, pixels);
  for (size_t p = 0; p < pixels && good; ++p) {
    c.a[p] = drawing[p];
    c.b[p] = picture[p];
  }
  good = good && blur(&g, c.a, c.other, width, height) && blur(&g, c.b, c.other, width, height);
  if (good) {
    float *const local[] = {c.mean_a, c.mean_b, c.square_a, c.square_b, c.product};
    correlate(&c, pixels, likeness);
    multiply_images(&c, pixels);
    for (int k = 0; k < 5 && good; ++k) good = blur(&g, local[k], c.other, width, height);
  }
  if (good) likeness->ssim = structural_similarity(&c, pixels);
  free(g.weight);
  free(c.memory);
  if (good) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to compare %d x %d pixels", width,
                   height);
}

/* --- drawings by several inks ----------------------------------------------------------------- */

cvtm_domain cvtm_canvas_of(cvtm_domain domain, double scale) {
  return (cvtm_domain){(int)fmax(ceil(domain.width * scale - 1e-9), 1),
                       (int)fmax(ceil(domain.height * scale - 1e-9), 1), domain.periodic};
}

/* Lays an ink over the picture. */
static void lay_ink(const double colour[3], const float *coverage, int64_t pixels, float *rgb) {
  for (int c = 0; c < 3; ++c) {
    const float absorbed = (float)(1 - colour[c]);
    float *plane = rgb + c * pixels;
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < pixels; ++p) plane[p] *= 1 - coverage[p] * absorbed;
  }
}

cvtm_status cvtm_ink_drawing_render(const cvtm_inks *inks, cvtm_domain domain, double scale,
                                    const double *centres, const double *radii,
                                    const int64_t *start, float *rgb, double *mean,
                                    cvtm_error *error) {
  const cvtm_disc_grid grid = cvtm_disc_grid_make(cvtm_canvas_of(domain, scale), 1);
  const int64_t pixels = (int64_t)grid.width * grid.height;
  const size_t count = (size_t)start[inks->count] + 1;
  float *coverage = malloc((size_t)pixels * sizeof *coverage);
  double *scaled = malloc(3 * count * sizeof *scaled), *size = scaled + 2 * count;
  cvtm_status status = CVTM_OK;
  if (coverage == NULL || scaled == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to render %d x %d pixels",
                       grid.width, grid.height);
  for (int64_t i = 0; status == CVTM_OK && i < start[inks->count]; ++i) {
    scaled[2 * i] = scale * centres[2 * i];
    scaled[2 * i + 1] = scale * centres[2 * i + 1];
    size[i] = scale * radii[i];
  }
  for (int64_t p = 0; status == CVTM_OK && p < 3 * pixels; ++p) rgb[p] = 1;
  for (int k = 0; status == CVTM_OK && k < inks->count; ++k) {
    mean[k] = 0;
    if (start[k] == start[k + 1]) continue;
    status = cvtm_disc_coverage(&grid, scaled + 2 * start[k], size + start[k],
                                start[k + 1] - start[k], coverage, error);
    if (status != CVTM_OK) break;
    mean[k] = mean_of(coverage, (size_t)pixels);
    lay_ink(inks->colour[k], coverage, pixels, rgb);
  }
  free(coverage);
  free(scaled);
  return status;
}

void cvtm_plane_shrink(const float *from, int width, int height, int side, float *to) {
  const int columns = (width + side - 1) / side, rows = (height + side - 1) / side;
#pragma omp parallel for schedule(static)
  for (int j = 0; j < rows; ++j) {
    const int bottom = (j + 1) * side < height ? (j + 1) * side : height;
    for (int i = 0; i < columns; ++i) {
      const int right = (i + 1) * side < width ? (i + 1) * side : width;
      double sum = 0;
      for (int y = j * side; y < bottom; ++y)
        for (int x = i * side; x < right; ++x) sum += (double)from[(int64_t)y * width + x];
      to[(int64_t)j * columns + i] =
          (float)(sum / ((double)(bottom - j * side) * (right - i * side)));
    }
  }
}

double cvtm_plane_at(const float *plane, int width, int height, double x, double y) {
  /* fmin and fmax would be function calls */
  const double u = x < 0 ? 0 : x > width - 1 ? width - 1 : x;
  const double v = y < 0 ? 0 : y > height - 1 ? height - 1 : y;
  const int i = (int)u, j = (int)v, right = i + 1 < width, below = j + 1 < height ? width : 0;
  const float *at = plane + (int64_t)j * width + i;
  const double s = u - i, t = v - j;
  return (1 - t) * ((1 - s) * (double)at[0] + s * (double)at[right]) +
         t * ((1 - s) * (double)at[below] + s * (double)at[below + right]);
}

static void compare_colours(const float *a, const float *b, int64_t pixels,
                            cvtm_colour_likeness *likeness) {
  double sum = 0, squares = 0;
  for (int64_t p = 0; p < pixels; ++p) {
    double one[3], other[3];
    for (int c = 0; c < 3; ++c) {
      one[c] = (double)a[c * pixels + p];
      other[c] = (double)b[c * pixels + p];
    }
    const double distance =
        cvtm_oklab_distance(cvtm_oklab_of_linear(one), cvtm_oklab_of_linear(other));
    sum += distance;
    squares += distance * distance;
  }
  likeness->mean = sum / (double)pixels;
  likeness->rms = sqrt(squares / (double)pixels);
}

/* Writes the luminance to the first plane of `to`. */
static void find_luminance(const float *rgb, int64_t pixels, float *to) {
  for (int64_t p = 0; p < pixels; ++p)
    to[p] = (float)(0.2126 * (double)rgb[p] + 0.7152 * (double)rgb[pixels + p] +
                    0.0722 * (double)rgb[2 * pixels + p]);
}

cvtm_status cvtm_colour_likeness_measure(float *drawing, float *picture, int width, int height,
                                         double sigma, cvtm_colour_likeness *likeness,
                                         cvtm_error *error) {
  const int64_t pixels = (int64_t)width * height;
  float *grey = malloc(2 * (size_t)pixels * sizeof *grey);
  cvtm_status status = CVTM_OK;
  if (grey == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to compare %d x %d pixels", width,
                     height);
  find_luminance(drawing, pixels, grey);
  find_luminance(picture, pixels, grey + pixels);
  status =
      cvtm_likeness_measure(grey, grey + pixels, width, height, sigma, &likeness->luminance, error);
  for (int c = 0; status == CVTM_OK && c < 3; ++c) {
    status = cvtm_plane_blur(drawing + c * pixels, width, height, sigma, error);
    if (status == CVTM_OK)
      status = cvtm_plane_blur(picture + c * pixels, width, height, sigma, error);
  }
  if (status == CVTM_OK) compare_colours(drawing, picture, pixels, likeness);
  free(grey);
  return status;
}
