#include "cvt/density_scan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  BANDS = 256,
  WORTH_THREADS = 1 << 20 /* pixels; with fewer, one thread is as fast */,
  SQUARE = CVTM_DENSITY_SQUARE
};

static cvtm_status refuse_density(cvtm_domain domain, const float *density, cvtm_error *error) {
  const int64_t area = (int64_t)domain.width * domain.height;
  for (int64_t p = 0; p < area; ++p) {
    if (density[p] >= 0 && density[p] <= FLT_MAX) continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "density at pixel (%d, %d) is %g",
                     (int)(p % domain.width), (int)(p / domain.width), (double)density[p]);
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the density is zero everywhere");
}

/* Adds `count` pixels of a row. Returns 1 if a pixel is negative or not finite. */
static int add_pixels(const float *rho, int count, cvtm_density_sums *sums) {
  int bad = 0;
  for (int i = 0; i < count; ++i) {
    bad |= !(rho[i] >= 0 && rho[i] <= FLT_MAX);
    sums->mass += (double)rho[i];
    sums->sqrt_integral += sqrt((double)rho[i]);
  }
  return bad;
}

/* Adds the pixels of a row of squares. If sqrt_integral is not NULL, sets it to the integrals of
 * sqrt(rho) over these squares. Partial sums by square and row keep the sums accurate for large
 * images. Returns 1 if a pixel is negative or not finite. */
static int scan_squares(cvtm_domain domain, const float *density, int64_t row,
                        cvtm_density_sums *sums, double *sqrt_integral) {
  const int first = (int)row * SQUARE;
  const int last = first + SQUARE < domain.height ? first + SQUARE : domain.height;
  const int64_t across = cvtm_density_squares(domain.width);
  cvtm_density_sums all = {0, 0};
  int bad = 0;
  if (sqrt_integral)
    memset(sqrt_integral + row * across, 0, (size_t)across * sizeof *sqrt_integral);
  for (int j = first; j < last; ++j) {
    const float *rho = density + (int64_t)j * domain.width;
    for (int64_t k = 0; k < across; ++k) {
      const int i = (int)k * SQUARE, count = i + SQUARE < domain.width ? SQUARE : domain.width - i;
      cvtm_density_sums part = {0, 0};
      bad |= add_pixels(rho + i, count, &part);
      all.mass += part.mass;
      all.sqrt_integral += part.sqrt_integral;
      if (sqrt_integral) sqrt_integral[row * across + k] += part.sqrt_integral;
    }
  }
  sums->mass += all.mass;
  sums->sqrt_integral += all.sqrt_integral;
  return bad;
}

cvtm_status cvtm_density_scan(cvtm_domain domain, const float *density, cvtm_density_sums *sums,
                              double *sqrt_integral, cvtm_error *error) {
  const int64_t area = (int64_t)domain.width * domain.height;
  const int64_t rows = cvtm_density_squares(domain.height);
  const int bands = (int)(rows < BANDS ? rows : BANDS);
  cvtm_density_sums part[BANDS];
  int bad = 0;
#pragma omp parallel for schedule(static) reduction(| : bad) if (area >= WORTH_THREADS)
  for (int b = 0; b < bands; ++b) {
    part[b] = (cvtm_density_sums){0, 0};
    for (int64_t row = rows * b / bands; row < rows * (b + 1) / bands; ++row)
      bad |= scan_squares(domain, density, row, &part[b], sqrt_integral);
  }
  cvtm_density_sums total = {0, 0};
  for (int b = 0; b < bands; ++b) {
    total.mass += part[b].mass;
    total.sqrt_integral += part[b].sqrt_integral;
  }
  if (bad || !(total.mass > 0)) return refuse_density(domain, density, error);
  *sums = total;
  return CVTM_OK;
}

cvtm_status cvtm_density_scan_squares(cvtm_domain domain, const float *density,
                                      cvtm_density_sums *sums, double **sqrt_integral,
                                      cvtm_error *error) {
  const int64_t squares = cvtm_density_squares(domain.width) * cvtm_density_squares(domain.height);
  *sqrt_integral = malloc((size_t)squares * sizeof **sqrt_integral);
  if (!*sqrt_integral)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for sums of the density");
  const cvtm_status status = cvtm_density_scan(domain, density, sums, *sqrt_integral, error);
  if (status == CVTM_OK) return CVTM_OK;
  free(*sqrt_integral);
  *sqrt_integral = NULL;
  return status;
}
