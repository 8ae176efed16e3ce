#include "cvt/nearest.h"

#include "cvt/noise/cell_list.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* The least squared distance from point i to another one in the cells within `radius`. */
static double search(const cvtm_cell_list *list, const double *points, int64_t i, double radius) {
  const cvtm_domain domain = list->domain;
  const double *p = points + 2 * i;
  double least = INFINITY;
  int x0, x1, y0, y1;
  cvtm_cells_near(p[0], radius, list->width, list->columns, domain.periodic, &x0, &x1);
  cvtm_cells_near(p[1], radius, list->height, list->rows, domain.periodic, &y0, &y1);
  for (int y = y0; y <= y1; ++y) {
    const int64_t row = (int64_t)((y + list->rows) % list->rows) * list->columns;
    for (int x = x0; x <= x1; ++x) {
      const int64_t cell = row + (x + list->columns) % list->columns;
      for (int64_t k = list->start[cell]; k < list->start[cell + 1]; ++k) {
        const int64_t j = list->order[k];
        if (j == i) continue;
        const double *q = points + 2 * j;
        const double dx = cvtm_difference(q[0], p[0], domain.width, domain.periodic);
        const double dy = cvtm_difference(q[1], p[1], domain.height, domain.periodic);
        least = fmin(least, dx * dx + dy * dy);
      }
    }
  }
  return least;
}

/* Of point i. */
static double nearest_distance(const cvtm_cell_list *list, const double *points, int64_t i,
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
  cvtm_cell_list list;
  double *distance = malloc((size_t)count * sizeof *distance);
  if (distance == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  const cvtm_status status = cvtm_cell_list_create(domain, points, count, spacing, &list, error);
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
    cvtm_cell_list_free(&list);
  }
  free(distance);
  return status;
}
