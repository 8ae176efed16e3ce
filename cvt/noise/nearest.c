#include "cvt/nearest.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- points in square cells ---------------------------------------------------------------- */

typedef struct cell_list {
  cvtm_domain domain;
  int columns, rows;
  double width, height; /* of a cell */
  int64_t *start;       /* columns * rows + 1 */
  int32_t *order; /* points of cell c: order[start[c]] .. order[start[c + 1] - 1], ascending */
} cell_list;

static int cell_on_axis(double x, double side, int cells) {
  const double k = floor(x / side);
  return k < 0 ? 0 : k >= cells ? cells - 1 : (int)k;
}

/* Finds the cells first .. last along an axis that contain all points within `radius` of x. On a
 * torus numbers outside 0 .. cells - 1 mean periodic images of cells. */
static void cells_near(double x, double radius, double side, int cells, int periodic, int *first,
                       int *last) {
  const double low = floor((x - radius) / side), high = floor((x + radius) / side);
  if (periodic && high - low + 1 >= cells) {
    *first = 0;
    *last = cells - 1;
  } else {
    *first = periodic ? (int)low : (int)fmax(low, 0);
    *last = periodic ? (int)high : (int)fmin(high, cells - 1);
    if (!periodic && *first > cells - 1) *first = cells - 1;
    if (!periodic && *last < 0) *last = 0;
  }
}

/* The difference of two coordinates; on a torus, of their nearest periodic images. */
static double difference(double a, double b, double side, int periodic) {
  double d = a - b;
  if (periodic) {
    if (d > 0.5 * side) d -= side;
    if (d < -0.5 * side) d += side;
  }
  return d;
}

static int cells_along(double length, double side, double most) {
  return (int)fmax(1, fmin(floor(length / side), most));
}

static int cell_of(const cell_list *list, const double *point) {
  return cell_on_axis(point[1], list->height, list->rows) * list->columns +
         cell_on_axis(point[0], list->width, list->columns);
}

static void free_list(cell_list *list) {
  free(list->start);
  free(list->order);
  list->start = NULL;
  list->order = NULL;
}

/* Makes cells of about `side` pixels, at most 4 per point. A point outside the domain belongs to
 * the nearest cell. Overwrites *list without freeing it; on failure (CVTM_ERROR_MEMORY) it is
 * empty. */
static cvtm_status create_list(cvtm_domain domain, const double *points, int64_t count, double side,
                               cell_list *list, cvtm_error *error) {
  const double width = domain.width, height = domain.height;
  const double least = sqrt(width * height / (4 * (double)count + 1));
  cell_list made = {.domain = domain};
  side = fmax(side, least);
  made.columns = cells_along(width, side, 1 << 15);
  made.rows = cells_along(height, side, 1 << 15);
  made.width = width / made.columns;
  made.height = height / made.rows;
  const size_t cells = (size_t)made.columns * (size_t)made.rows;
  made.start = calloc(cells + 2, sizeof *made.start);
  made.order = malloc((size_t)count * sizeof *made.order + 1);
  if (made.start == NULL || made.order == NULL) {
    free_list(&made);
    *list = made;
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  }
  /* start[c + 1] becomes the index at which the next point of cell c is stored. */
  for (int64_t i = 0; i < count; ++i) ++made.start[cell_of(&made, points + 2 * i) + 2];
  for (size_t c = 0; c < cells; ++c) made.start[c + 2] += made.start[c + 1];
  for (int64_t i = 0; i < count; ++i)
    made.order[made.start[cell_of(&made, points + 2 * i) + 1]++] = (int32_t)i;
  *list = made;
  return CVTM_OK;
}

/* --- the nearest point --------------------------------------------------------------------- */

/* The least squared distance from point i to another one in the cells within `radius`. */
static double search(const cell_list *list, const double *points, int64_t i, double radius) {
  const cvtm_domain domain = list->domain;
  const double *p = points + 2 * i;
  double least = INFINITY;
  int x0, x1, y0, y1;
  cells_near(p[0], radius, list->width, list->columns, domain.periodic, &x0, &x1);
  cells_near(p[1], radius, list->height, list->rows, domain.periodic, &y0, &y1);
  for (int y = y0; y <= y1; ++y) {
    const int64_t row = (int64_t)((y + list->rows) % list->rows) * list->columns;
    for (int x = x0; x <= x1; ++x) {
      const int64_t cell = row + (x + list->columns) % list->columns;
      for (int64_t k = list->start[cell]; k < list->start[cell + 1]; ++k) {
        const int64_t j = list->order[k];
        if (j == i) continue;
        const double *q = points + 2 * j;
        const double dx = difference(q[0], p[0], domain.width, domain.periodic);
        const double dy = difference(q[1], p[1], domain.height, domain.periodic);
        least = fmin(least, dx * dx + dy * dy);
      }
    }
  }
  return least;
}

/* The distance from point i to its nearest point. */
static double nearest_distance(const cell_list *list, const double *points, int64_t i,
                               double spacing) {
  const double most = 2.0 * (list->domain.width + list->domain.height);
  double radius = spacing, square = search(list, points, i, radius);
  while (square > radius * radius && radius < most) {
    radius *= 2;
    square = search(list, points, i, radius);
  }
  return sqrt(square);
}

cvtm_status cvtm_nearest_distances_measure(cvtm_domain domain, const double *points, int64_t count,
                                           int threads, cvtm_nearest_distances *distances,
                                           cvtm_error *error) {
  const double spacing = sqrt((double)domain.width * domain.height / fmax((double)count, 1));
  *distances = (cvtm_nearest_distances){count, NAN, NAN};
  if (count < 2) return CVTM_OK;
  cell_list list;
  double *distance = malloc((size_t)count * sizeof *distance);
  if (distance == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  const cvtm_status status = create_list(domain, points, count, spacing, &list, error);
  if (status == CVTM_OK) {
    if (threads < 1) threads = omp_get_max_threads();
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) distance[i] = nearest_distance(&list, points, i, spacing);
    double sum = 0;
    distances->least = INFINITY;
    for (int64_t i = 0; i < count; ++i) {
      sum += distance[i];
      distances->least = fmin(distances->least, distance[i]);
    }
    distances->mean = sum / (double)count;
    free_list(&list);
  }
  free(distance);
  return status;
}
