#include "meshes/contour.h"

#include "base/coverage.h"
#include "base/options.h"
#include "base/portable.h"
#include "meshes/domain/contour_steps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_contour_defaults(cvtm_contour_options *options) {
  options->corner_angle = 40;
  options->smallest = 1;
  options->border = CVTM_BORDER_EMPTY;
  options->smooth = 0;
}

void cvtm_contour_free(cvtm_contour *contour) {
  free(contour->start);
  free(contour->points);
  free(contour->corner);
  free(contour->left);
  free(contour->right);
  free(contour->twin);
  free(contour->region);
  free(contour->region_area);
  *contour = (cvtm_contour){0};
}

cvtm_status cvtm_contour_no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the contour");
}

cvtm_status cvtm_contour_allocate(int64_t arcs, int64_t points, cvtm_contour *made,
                                  cvtm_error *error) {
  made->start = calloc((size_t)arcs + 1, sizeof *made->start);
  made->left = malloc(((size_t)arcs + 1) * sizeof *made->left);
  made->right = malloc(((size_t)arcs + 1) * sizeof *made->right);
  made->points = malloc(((size_t)points + 1) * 2 * sizeof *made->points);
  made->corner = calloc((size_t)points + 1, 1);
  const int all = made->start && made->left && made->right && made->points && made->corner;
  return all ? CVTM_OK : cvtm_contour_no_memory(error);
}

static double arc_area(const cvtm_contour *c, int64_t arc) {
  return cvtm_ring_area(c->points + 2 * c->start[arc], c->start[arc + 1] - c->start[arc]);
}

void cvtm_contour_drop_small(cvtm_contour *made, double smallest, int64_t *points) {
  const int64_t arc = made->arc_count - 1;
  if (!cvtm_contour_is_closed(made, arc) || fabs(arc_area(made, arc)) >= smallest) return;
  *points = made->start[arc];
  --made->arc_count;
  ++made->dropped;
}

/* ---- From masks, labels and polygons ---- */

/* Area of the regions: by Green's theorem, arc by arc. */
static double regions_area(const cvtm_contour *c) {
  double twice = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int side = (c->left[arc] != 0) - (c->right[arc] != 0);
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1] && side != 0; ++k) {
      const double *a = c->points + 2 * k, *b = a + 2;
      twice += side * ((b[0] - a[0]) * (a[1] + b[1])); /* y down: left is positive */
    }
  }
  return 0.5 * twice;
}

static cvtm_status check_size(int width, int height, const cvtm_contour_options *options,
                              cvtm_error *error) {
  if (width < 1 || height < 1 || !options || !(options->corner_angle > 0) ||
      !(options->smallest >= 0) || !(options->smooth >= 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no contour of %d x %d pixels", width, height);
  }
  return CVTM_OK;
}

static cvtm_status contour_of(const cvtm_contour_picture *picture,
                              const cvtm_contour_options *options, cvtm_contour *contour,
                              cvtm_error *error) {
  const int least = 3; /* pixels of a side, so that the images of a square on a torus differ */
  cvtm_contour made = {0};
  if (picture->border == CVTM_BORDER_PERIODIC &&
      (picture->width < least || picture->height < least))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a periodic domain has %d x %d pixels or more", least,
                     least);
  const int smooth = picture->labels != NULL && options->smooth > 0;
  cvtm_status status = cvtm_contour_trace(picture, smooth ? 0 : options->smallest, &made, error);
  if (status == CVTM_OK && picture->labels != NULL)
    status = cvtm_contour_count_areas(picture, &made, error);
  if (status == CVTM_OK && smooth) {
    cvtm_contour_drop_specks(&made, options->smallest);
    status = cvtm_contour_smooth(picture, options->smooth, &made, error);
  }
  if (status == CVTM_OK && picture->border != CVTM_BORDER_EMPTY)
    status = cvtm_contour_add_sides(picture, &made, error);
  if (status == CVTM_OK && smooth) status = cvtm_contour_fit(picture, &made, error);
  if (status == CVTM_OK && made.arc_count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       made.dropped > 0 ? "the domain is empty: nothing in it is larger than %g "
                                          "square pixels"
                                        : "the domain is empty: no pixel is at least half covered",
                       options->smallest);
  }
  if (status == CVTM_OK) {
    made.area = regions_area(&made);
    status = cvtm_contour_find_corners(&made, picture, options->corner_angle, error);
  }
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  *contour = made;
  return CVTM_OK;
}

cvtm_status cvtm_contour_of_mask(const float *coverage, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (coverage[p] >= 0 && coverage[p] <= 1) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "coverage at pixel (%d, %d) is %g",
                       (int)(p % width), (int)(p / width), (double)coverage[p]);
  }
  if (status != CVTM_OK) return status;
  const cvtm_contour_picture picture = {coverage, NULL, width, height, options->border};
  return contour_of(&picture, options, contour, error);
}

cvtm_status cvtm_contour_of_labels(const int32_t *labels, int width, int height,
                                   const cvtm_contour_options *options, cvtm_contour *contour,
                                   cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (labels[p] >= 0) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the label of pixel (%d, %d) is %" PRId32,
                       (int)(p % width), (int)(p / width), labels[p]);
  }
  if (status != CVTM_OK) return status;
  const int flat = options->smooth > 0 && options->border == CVTM_BORDER_EMPTY;
  const cvtm_contour_picture picture = {NULL, labels, width, height,
                                        flat ? CVTM_BORDER_FLAT : options->border};
  return contour_of(&picture, options, contour, error);
}

cvtm_status cvtm_contour_of_frame(int width, int height, const cvtm_contour_options *options,
                                  cvtm_contour *contour, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  cvtm_status status = check_size(width, height, options, error);
  if (status != CVTM_OK) return status;
  const size_t pixels = (size_t)width * (size_t)height;
  int32_t *labels = malloc(pixels * sizeof *labels);
  if (labels == NULL) return cvtm_contour_no_memory(error);
  for (size_t k = 0; k < pixels; ++k) labels[k] = 1;
  const cvtm_contour_picture picture = {
      NULL, labels, width, height,
      options->border == CVTM_BORDER_PERIODIC ? CVTM_BORDER_PERIODIC : CVTM_BORDER_FLAT};
  status = contour_of(&picture, options, contour, error);
  free(labels);
  return status;
}

/* One ring, begun at a corner if it has any. */
static void add_ring(const double *p, int64_t n, double sharp, cvtm_contour *made,
                     int64_t *points) {
  const int64_t arc = made->arc_count++;
  int64_t first = 0;
  for (int64_t k = n - 1; k >= 0; --k) {
    const double *a = p + 2 * ((k + n - 1) % n), *b = p + 2 * k, *c = p + 2 * ((k + 1) % n);
    if (cvtm_turn_cosine(a, b, c) <= sharp) first = k;
  }
  for (int64_t k = 0; k <= n; ++k) {
    const int64_t at = (first + k) % n;
    const double *a = p + 2 * ((at + n - 1) % n), *b = p + 2 * at, *c = p + 2 * ((at + 1) % n);
    made->corner[*points] = cvtm_turn_cosine(a, b, c) <= sharp;
    memcpy(made->points + 2 * (*points)++, b, 2 * sizeof *b);
  }
  made->left[arc] = 1; /* outer rings run counterclockwise, holes clockwise */
  made->right[arc] = 0;
  made->start[arc + 1] = *points;
}

cvtm_status cvtm_contour_check_inside(const double *points, int64_t count, int width, int height,
                                      cvtm_error *error) {
  for (int64_t k = 0; k < count; ++k) {
    const double x = points[2 * k], y = points[2 * k + 1];
    if (x >= 0 && y >= 0 && x <= width && y <= height) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the polygon's corner at (%g, %g) is outside the image of %d x %d pixels", x,
                     y, width, height);
  }
  return CVTM_OK;
}

cvtm_status cvtm_contour_finish_polygons(int width, int height, const cvtm_contour_options *options,
                                         cvtm_contour *made, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  if (made->arc_count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the domain is empty: nothing in it is larger than %g square pixels",
                       options->smallest);
  }
  if (status == CVTM_OK && options->border == CVTM_BORDER_PERIODIC)
    status = cvtm_contour_pair_rings(made, width, height, error);
  if (status == CVTM_OK) made->area = regions_area(made);
  return status;
}

cvtm_status cvtm_contour_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                     const cvtm_contour_options *options, cvtm_contour *contour,
                                     cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  const int64_t rings = polygons->ring_count, total = polygons->start[rings];
  cvtm_contour made = {0};
  cvtm_status status = check_size(width, height, options, error);
  if (status == CVTM_OK)
    status = cvtm_contour_check_inside(polygons->points, total, width, height, error);
  if (status == CVTM_OK) status = cvtm_contour_allocate(rings, total + rings, &made, error);
  int64_t points = 0;
  for (int64_t r = 0; r < rings && status == CVTM_OK; ++r) {
    const int64_t first = polygons->start[r];
    add_ring(polygons->points + 2 * first, polygons->start[r + 1] - first,
             cos(options->corner_angle * CVTM_PI / 180), &made, &points);
    cvtm_contour_drop_small(&made, options->smallest, &points);
  }
  if (status == CVTM_OK)
    status = cvtm_contour_finish_polygons(width, height, options, &made, error);
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  *contour = made;
  return CVTM_OK;
}

/* ---- Coverage ---- */

/* (width + 1) * height: the last entry of a row takes changes beyond its last pixel. */
typedef struct accumulator {
  double *change;
  int width;
} accumulator;

static void add_change(void *context, int x, int y, double change) {
  const accumulator *to = context;
  to->change[(int64_t)y * (to->width + 1) + x] += change;
}

cvtm_status cvtm_contour_coverage(const cvtm_contour *contour, int width, int height,
                                  float *coverage, cvtm_error *error) {
  double *rows = calloc((size_t)(width + 1) * (size_t)height, sizeof *rows);
  if (rows == NULL) return cvtm_contour_no_memory(error);
  const cvtm_pixel_box all = {0, 0, width, height};
  accumulator to = {rows, width};
  for (int64_t arc = 0; arc < contour->arc_count; ++arc) {
    const int side = (contour->left[arc] != 0) - (contour->right[arc] != 0);
    for (int64_t k = contour->start[arc]; k + 1 < contour->start[arc + 1] && side != 0; ++k) {
      cvtm_cover_edge(contour->points + 2 * k, contour->points + 2 * k + 2, side, all, add_change,
                      &to);
    }
  }
  for (int j = 0; j < height; ++j) {
    double sum = 0;
    for (int i = 0; i < width; ++i) {
      sum += rows[(int64_t)j * (width + 1) + i];
      /* Rounding errors put the share slightly outside 0 .. 1. */
      const double share = sum < 1e-6 ? 0 : sum > 1 - 1e-6 ? 1 : sum;
      coverage[(int64_t)j * width + i] = (float)share;
    }
  }
  free(rows);
  return CVTM_OK;
}
