#include "bench/command/cvt_start.h"

#include "density/density.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 1 };

/* The place of pixel k of `count` among the `cells` pixels of a side of the picture: its neighbour
 * on the left, and how far it is on the way to the next. */
static int place_of(int k, int count, int cells, double *way) {
  const double t = (k + 0.5) * cells / count - 0.5;
  const int left = t <= 0 ? 0 : t >= cells - 1 ? (cells > 1 ? cells - 2 : 0) : (int)t;
  *way = t <= left ? 0 : t >= left + 1 ? (cells > 1) : t - left;
  return left;
}

static void stretch(const float *from, int width, int height, int side, float *density) {
  for (int j = 0; j < side; ++j) {
    double v, u;
    const int row = place_of(j, side, height, &v), next = row + (height > 1);
    for (int i = 0; i < side; ++i) {
      const int column = place_of(i, side, width, &u), right = column + (width > 1);
      const float *a = from + (size_t)row * (size_t)width, *b = from + (size_t)next * (size_t)width;
      const double above = a[column] * (1 - u) + a[right] * u,
                   below = b[column] * (1 - u) + b[right] * u;
      density[(size_t)j * (size_t)side + (size_t)i] = (float)(above * (1 - v) + below * v);
    }
  }
}

static cvtm_status read_density(const char *path, int side, float *density, cvtm_error *error) {
  cvtm_image image = {0};
  cvtm_density_options settings;
  float *own = NULL;
  cvtm_density_defaults(&settings);
  cvtm_status status = cvtm_image_read(path, &image, error);
  if (status == CVTM_OK) status = cvtm_density_from_image(&image, &settings, path, &own, error);
  if (status == CVTM_OK) stretch(own, image.width, image.height, side, density);
  free(own);
  cvtm_image_free(&image);
  return status;
}

cvtm_status cli_cvt_start(cvtm_device *device, const cli_options *options, int side, int64_t sites,
                          double *start, double *bound, cvtm_cvt **cvt) {
  const cvtm_domain domain = {side, side, 0};
  const size_t pixels = (size_t)side * (size_t)side;
  cvtm_error *error = cvtm_device_error(device);
  float *density = malloc(pixels * sizeof *density);
  cvtm_status status = CVTM_OK;
  *cvt = NULL;
  if (density == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  if (options->density != NULL) {
    status = read_density(options->density, side, density, error);
  } else {
    for (size_t p = 0; p < pixels; ++p) density[p] = 1;
  }
  if (status == CVTM_OK)
    status = cvtm_cvt_sample(domain, density, sites, SEED, CVTM_CVT_START_RANDOM, start, error);
  if (status == CVTM_OK) status = cvtm_cvt_create(device, domain, density, sites, cvt);
  if (status == CVTM_OK && bound != NULL) *bound = cvtm_cvt_energy_bound(domain, density, sites);
  free(density);
  return status;
}

void cli_cvt_start_print(const cli_options *options) {
  if (options->density != NULL)
    printf("Density: %s, stretched over the square; random start.\n", options->density);
  else
    printf("Uniform density, random start.\n");
}
