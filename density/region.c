#include "density/region.h"

#include "base/host.h"
#include "base/srgb.h"
#include "density/pictures/image_formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- polygons ------------------------------------------------------------------------------ */

/* Intersects the rings with the line on which one coordinate is `at`. Lists the other coordinate
 * (axis) of the crossings in ascending order, and returns their number. */
static int64_t crossings(const cvtm_polygons *polygons, int axis, double at, double *where) {
  int64_t count = 0;
  for (int64_t ring = 0; ring < polygons->ring_count; ++ring) {
    const int64_t first = polygons->start[ring], end = polygons->start[ring + 1];
    for (int64_t k = first; k < end; ++k) {
      const double *p = polygons->points + 2 * k;
      const double *q = polygons->points + 2 * (k + 1 < end ? k + 1 : first);
      const double p0 = p[1 - axis], q0 = q[1 - axis];
      if ((p0 <= at) == (q0 <= at)) continue;
      where[count++] = p[axis] + (at - p0) / (q0 - p0) * (q[axis] - p[axis]);
    }
  }
  qsort(where, (size_t)count, sizeof *where, cvtm_compare_doubles);
  return count;
}

/* The first pixel of a row or column whose centre is not before x. */
static int first_pixel(double x, int count) {
  const double pixel = ceil(x - 0.5);
  return pixel < 0 ? 0 : pixel < count ? (int)pixel : count;
}

/* Marks the inside pixels of a row or column of `count` pixels, `step` apart in memory. */
static void mark_line(const double *where, int64_t crossed, int count, int64_t step,
                      uint8_t *inside) {
  for (int64_t k = 0; k + 1 < crossed; k += 2) {
    const int first = first_pixel(where[k], count), end = first_pixel(where[k + 1], count);
    for (int i = first; i < end; ++i) inside[i * step] = 1;
    const double middle = 0.5 * (where[k] + where[k + 1]);
    if (first == end && where[k] < where[k + 1] && middle >= 0 && middle < count)
      inside[(int64_t)middle * step] = 1;
  }
}

cvtm_status cvtm_region_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                    uint8_t *inside, cvtm_error *error) {
  const int64_t points = polygons->start[polygons->ring_count];
  double *where = malloc((size_t)(points > 0 ? points : 1) * sizeof *where);
  if (where == NULL) return cvtm_no_memory(error, "a region");
  memset(inside, 0, (size_t)width * (size_t)height);
  for (int j = 0; j < height; ++j) {
    const int64_t crossed = crossings(polygons, 0, j + 0.5, where);
    mark_line(where, crossed, width, 1, inside + (size_t)j * (size_t)width);
  }
  for (int i = 0; i < width; ++i) {
    const int64_t crossed = crossings(polygons, 1, i + 0.5, where);
    mark_line(where, crossed, height, width, inside + i);
  }
  free(where);
  return CVTM_OK;
}

/* Marks the pixels that an edge passes through. */
static void mark_edge(const double *p, const double *q, cvtm_region *region) {
  const double *top = p[1] < q[1] ? p : q, *bottom = p[1] < q[1] ? q : p;
  const double slope = bottom[1] > top[1] ? (bottom[0] - top[0]) / (bottom[1] - top[1]) : 0;
  const int last_row = (int)fmin(floor(bottom[1]), region->height - 1);
  for (int j = (int)fmax(floor(top[1]), 0); j <= last_row; ++j) {
    double a = top[0] + slope * (fmax(top[1], j) - top[1]);
    double b = top[0] + slope * (fmin(bottom[1], j + 1.0) - top[1]);
    if (!(bottom[1] > top[1])) b = bottom[0];
    const int last = (int)fmin(floor(fmax(a, b)), region->width - 1);
    for (int i = (int)fmax(floor(fmin(a, b)), 0); i <= last; ++i)
      region->divided[(int64_t)j * region->width + i] = 1;
  }
}

static void mark_edges(cvtm_region *region) {
  const cvtm_polygons *polygons = &region->polygons;
  for (int64_t ring = 0; ring < polygons->ring_count; ++ring) {
    const int64_t first = polygons->start[ring], end = polygons->start[ring + 1];
    for (int64_t k = first; k < end; ++k)
      mark_edge(polygons->points + 2 * k, polygons->points + 2 * (k + 1 < end ? k + 1 : first),
                region);
  }
}

static cvtm_status read_polygons(const char *path, cvtm_region *region, cvtm_error *error) {
  CVTM_TRY(cvtm_polygons_read(path, &region->polygons, error));
  cvtm_polygons_turn(&region->polygons, region->height);
  CVTM_TRY(cvtm_region_of_polygons(&region->polygons, region->width, region->height, region->inside,
                                   error));
  region->divided = calloc((size_t)region->width * (size_t)region->height, 1);
  if (region->divided == NULL) return cvtm_no_memory(error, "a region");
  mark_edges(region);
  return CVTM_OK;
}

/* Nonzero inside the polygons, by the even-odd rule. */
static int is_within(const cvtm_polygons *polygons, double x, double y) {
  int odd = 0;
  for (int64_t ring = 0; ring < polygons->ring_count; ++ring) {
    const int64_t first = polygons->start[ring], end = polygons->start[ring + 1];
    for (int64_t k = first; k < end; ++k) {
      const double *p = polygons->points + 2 * k;
      const double *q = polygons->points + 2 * (k + 1 < end ? k + 1 : first);
      if ((p[1] <= y) == (q[1] <= y)) continue;
      odd ^= p[0] + (y - p[1]) / (q[1] - p[1]) * (q[0] - p[0]) > x;
    }
  }
  return odd;
}

int cvtm_region_contains(const cvtm_region *region, double x, double y) {
  const int64_t i = (int64_t)fmin(fmax(x, 0), region->width - 1);
  const int64_t j = (int64_t)fmin(fmax(y, 0), region->height - 1);
  const int64_t p = j * region->width + i;
  const int exact = region->divided != NULL && region->divided[p];
  return exact ? is_within(&region->polygons, x, y) : region->inside[p];
}

/* --- images -------------------------------------------------------------------------------- */

static cvtm_status mark_image(const cvtm_image *image, const char *name, uint8_t *inside,
                              cvtm_error *error) {
  const double half = image->is_data ? 0 : cvtm_srgb_to_linear(0.5);
  for (int64_t p = 0; p < (int64_t)image->width * image->height; ++p) {
    if (isnan(image->value[p]) && image->masked == 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the value at pixel (%d, %d) is nan", name,
                       (int)(p % image->width), (int)(p / image->width));
    inside[p] = isnan(image->value[p]) ? 0
                : image->alpha != NULL ? image->alpha[p] > 0.5f
                                       : (double)image->value[p] > half;
  }
  return CVTM_OK;
}

static cvtm_status read_image(const cvtm_input *source, cvtm_region *region, cvtm_error *error) {
  const char *path = source->name;
  cvtm_image image = {0};
  cvtm_status status = cvtm_image_open(source, 0, &image, error);
  if (status != CVTM_OK) return status;
  if (image.width != region->width || image.height != region->height) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: the region has %d x %d pixels, but the picture has %d x %d", path,
                       image.width, image.height, region->width, region->height);
  } else {
    status = mark_image(&image, path, region->inside, error);
  }
  cvtm_image_free(&image);
  return status;
}

/* --- the public interface ------------------------------------------------------------------ */

void cvtm_region_free(cvtm_region *region) {
  free(region->inside);
  free(region->divided);
  cvtm_polygons_free(&region->polygons);
  *region = (cvtm_region){0};
}

static cvtm_status allocate_region(int width, int height, cvtm_region *region, cvtm_error *error) {
  *region = (cvtm_region){.width = width, .height = height};
  region->inside = malloc((size_t)width * (size_t)height);
  return region->inside != NULL ? CVTM_OK : cvtm_no_memory(error, "a region");
}

cvtm_status cvtm_region_open(const cvtm_input *source, int width, int height, cvtm_region *region,
                             cvtm_error *error) {
  const int has_polygons = source->array == NULL && cvtm_polygon_format_known(source->name);
  cvtm_status status = allocate_region(width, height, region, error);
  if (status == CVTM_OK)
    status = has_polygons ? read_polygons(source->name, region, error)
                          : read_image(source, region, error);
  if (status != CVTM_OK) cvtm_region_free(region);
  return status;
}

cvtm_status cvtm_region_read(const char *path, int width, int height, cvtm_region *region,
                             cvtm_error *error) {
  const cvtm_input source = {path, NULL};
  return cvtm_region_open(&source, width, height, region, error);
}

cvtm_status cvtm_region_of_alpha(const cvtm_image *image, const char *name, cvtm_region *region,
                                 cvtm_error *error) {
  *region = (cvtm_region){0};
  if (image->alpha == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the picture has no alpha channel", name);
  cvtm_status status = allocate_region(image->width, image->height, region, error);
  if (status == CVTM_OK) status = mark_image(image, name, region->inside, error);
  if (status != CVTM_OK) cvtm_region_free(region);
  return status;
}
