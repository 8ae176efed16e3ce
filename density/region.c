#include "density/region.h"

#include "density/image_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- polygons ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Where the rings cross the horizontal line at y; returns how often. */
static int64_t crossings(const cvtm_polygons *polygons, double y, double *x) {
  int64_t count = 0;
  for (int64_t ring = 0; ring < polygons->ring_count; ++ring) {
    const int64_t first = polygons->start[ring], end = polygons->start[ring + 1];
    for (int64_t k = first; k < end; ++k) {
      const double *p = polygons->points + 2 * k;
      const double *q = polygons->points + 2 * (k + 1 < end ? k + 1 : first);
      if ((p[1] <= y) == (q[1] <= y)) continue;
      x[count++] = p[0] + (y - p[1]) / (q[1] - p[1]) * (q[0] - p[0]);
    }
  }
  qsort(x, (size_t)count, sizeof *x, ascending);
  return count;
}

/* The first pixel of a row whose centre is not left of x. */
static int first_pixel(double x, int width) {
  const double pixel = ceil(x - 0.5);
  return pixel < 0 ? 0 : pixel < width ? (int)pixel : width;
}

cvtm_status cvtm_region_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                    uint8_t *inside, cvtm_error *error) {
  const int64_t points = polygons->start[polygons->ring_count];
  double *x = malloc((size_t)(points > 0 ? points : 1) * sizeof *x);
  if (x == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for polygons");
  memset(inside, 0, (size_t)width * (size_t)height);
  for (int j = 0; j < height; ++j) {
    const int64_t count = crossings(polygons, j + 0.5, x);
    for (int64_t k = 0; k + 1 < count; k += 2) {
      const int first = first_pixel(x[k], width), end = first_pixel(x[k + 1], width);
      if (first < end) memset(inside + (size_t)j * (size_t)width + first, 1, (size_t)(end - first));
    }
  }
  free(x);
  return CVTM_OK;
}

static cvtm_status read_polygons(const char *path, int width, int height, uint8_t *inside,
                                 cvtm_error *error) {
  cvtm_polygons polygons = {0};
  cvtm_status status = cvtm_polygons_read(path, &polygons, error);
  if (status == CVTM_OK) status = cvtm_region_of_polygons(&polygons, width, height, inside, error);
  cvtm_polygons_free(&polygons);
  return status;
}

/* --- images -------------------------------------------------------------------------------- */

static void mark_image(const cvtm_image *image, uint8_t *inside) {
  const double half = image->is_data ? 0 : cvtm_srgb_to_linear(0.5);
  for (size_t p = 0; p < (size_t)image->width * (size_t)image->height; ++p) {
    inside[p] = image->alpha != NULL ? image->alpha[p] > 0.5f : (double)image->value[p] > half;
  }
}

static cvtm_status read_image(const char *path, int width, int height, uint8_t *inside,
                              cvtm_error *error) {
  cvtm_image image = {0};
  cvtm_status status = cvtm_image_read(path, &image, error);
  if (status != CVTM_OK) return status;
  if (image.width != width || image.height != height) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: a region of %d x %d pixels for a picture of %d x %d", path, image.width,
                       image.height, width, height);
  } else {
    mark_image(&image, inside);
  }
  cvtm_image_free(&image);
  return status;
}

/* --- the public interface ------------------------------------------------------------------ */

static cvtm_status allocate(int width, int height, uint8_t **inside, cvtm_error *error) {
  *inside = malloc((size_t)width * (size_t)height);
  if (*inside != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a region of %d x %d pixels", width,
                   height);
}

cvtm_status cvtm_region_read(const char *path, int width, int height, uint8_t **inside,
                             cvtm_error *error) {
  cvtm_status status = allocate(width, height, inside, error);
  if (status != CVTM_OK) return status;
  status = cvtm_polygon_format_known(path) ? read_polygons(path, width, height, *inside, error)
                                           : read_image(path, width, height, *inside, error);
  if (status == CVTM_OK) return status;
  free(*inside);
  *inside = NULL;
  return status;
}

cvtm_status cvtm_region_of_alpha(const cvtm_image *image, const char *name, uint8_t **inside,
                                 cvtm_error *error) {
  *inside = NULL;
  if (image->alpha == NULL) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the picture has no alpha channel", name);
  }
  const cvtm_status status = allocate(image->width, image->height, inside, error);
  if (status == CVTM_OK) mark_image(image, *inside);
  return status;
}
