/* A density that is constant on each pixel, its rows, sums over runs of pixels, and the moments of
 * a cell. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "base/portable.h"
#include "jfa/cell_scanlines.h"

#include <stdint.h>

/* The integrals of rho, rho x, rho y and rho (x^2 + y^2) over a cell, or sums over the centres of
 * its pixels. x and y are relative to the site of the cell. */
typedef struct cvtm_cell_moments {
  double mass, x, y, second;
} cvtm_cell_moments;

CVTM_HD void cvtm_cell_moments_add(cvtm_cell_moments *to, const cvtm_cell_moments *from) {
  to->mass += from->mass;
  to->x += from->x;
  to->y += from->y;
  to->second += from->second;
}

typedef struct cvtm_density_view {
  const float *value; /* width * height */
  int32_t width, height, periodic;
} cvtm_density_view;

/* The density of column k of a row; on a torus k may be any integer. */
CVTM_HD double cvtm_density_at(const float *row, int32_t k, const cvtm_density_view *density) {
  return (double)row[density->periodic ? cvtm_cell_wrap(k, density->width) : k];
}

/* Row j of the density; on a torus j may be any integer. */
CVTM_HD const float *cvtm_density_row(const cvtm_density_view *density, int32_t j) {
  const int32_t wrapped = density->periodic ? cvtm_cell_wrap(j, density->height) : j;
  return density->value + (int64_t)wrapped * density->width;
}

/* Returns (double)k. cvtm_to_double and cvtm_to_floor avoid a GPU's slow conversion
 * instructions. */
CVTM_HD double cvtm_to_double(int32_t k) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(0x43300000, k ^ (int32_t)0x80000000) - 4503601774854144.0;
#else
  return (double)k;
#endif
}

/* The largest integer that is not above v, for |v| < 2^31. */
CVTM_HD int32_t cvtm_to_floor(double v) {
#ifdef __CUDA_ARCH__
  return __double2loint(__dadd_rd(v, 6755399441055744.0));
#else
  return cvtm_cell_floor(v);
#endif
}

/* Sums of rho, rho x and rho x^2 at the centres of consecutive pixels of a row. */
typedef struct cvtm_pixel_run {
  double s0, s1, s2;
} cvtm_pixel_run;

typedef struct cvtm_pixel_quad {
  float w[4];
} cvtm_pixel_quad;

/* Pixels i .. i + 3 of n pixels; 0 beyond the last. */
CVTM_HD cvtm_pixel_quad cvtm_pixel_quad_read(const float *pixel, int32_t i, int32_t n) {
  const cvtm_pixel_quad quad = {{i < n ? pixel[i] : 0, i + 1 < n ? pixel[i + 1] : 0,
                                 i + 2 < n ? pixel[i + 2] : 0, i + 3 < n ? pixel[i + 3] : 0}};
  return quad;
}

/* Adds four pixels. x: the centre of the first. */
CVTM_HD void cvtm_pixel_run_add_quad(const cvtm_pixel_quad *quad, double x, cvtm_pixel_run *run) {
  const double w0 = (double)quad->w[0], w1 = (double)quad->w[1];
  const double w2 = (double)quad->w[2], w3 = (double)quad->w[3];
  const double s0 = (w0 + w1) + (w2 + w3), s1 = CVTM_FMA(3, w3, CVTM_FMA(2, w2, w1));
  const double s2 = CVTM_FMA(9, w3, CVTM_FMA(4, w2, w1)), s1x = CVTM_FMA(s0, x, s1);
  run->s0 += s0;
  run->s1 += s1x;
  run->s2 += CVTM_FMA(x, s1 + s1x, s2);
}

/* Adds n pixels, of which the first has its centre at x. Eight pixels are read before the first is
 * used, so that the latencies of the reads overlap. */
CVTM_HD void cvtm_pixel_run_add(const float *pixel, int32_t n, double x, cvtm_pixel_run *run) {
  const cvtm_pixel_quad first = cvtm_pixel_quad_read(pixel, 0, n);
  const cvtm_pixel_quad second = cvtm_pixel_quad_read(pixel, 4, n);
  cvtm_pixel_run_add_quad(&first, x, run);
  if (n > 4) cvtm_pixel_run_add_quad(&second, x + 4, run);
  for (int32_t i = 8; i < n; i += 4) {
    const cvtm_pixel_quad quad = cvtm_pixel_quad_read(pixel, i, n);
    cvtm_pixel_run_add_quad(&quad, x + cvtm_to_double(i), run);
  }
}

/* The sums over columns first .. last - 1 of a row, with x relative to sx. */
CVTM_HD cvtm_pixel_run cvtm_pixel_run_sum(const cvtm_density_view *density, const float *row,
                                          double sx, int32_t first, int32_t last) {
  cvtm_pixel_run run = {0, 0, 0};
  int32_t k = first;
  while (k < last) { /* one pass per period of the image */
    int32_t wrapped = k, n = last - k;
    if (density->periodic) {
      wrapped = cvtm_cell_wrap(k, density->width);
      n = n < density->width - wrapped ? n : density->width - wrapped;
    }
    cvtm_pixel_run_add(row + wrapped, n, cvtm_to_double(k) + 0.5 - sx, &run);
    k += n;
  }
  return run;
}
