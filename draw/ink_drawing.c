#include "draw/ink_drawing.h"

#include "draw/disc.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static double mean_of_plane(const float *value, int64_t pixels) {
  double sum = 0;
  for (int64_t p = 0; p < pixels; ++p) sum += (double)value[p];
  return sum / (double)pixels;
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
    mean[k] = mean_of_plane(coverage, pixels);
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

/* Into the first plane of `to`. */
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
