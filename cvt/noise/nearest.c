#include "cvt/nearest.h"

#include "base/device.h"
#include "jfa/site_query.h"

#include <math.h>
#include <stdlib.h>

/* The distance from the point at a slot of the tree to the nearest other point. */
static double nearest_distance(const cvtm_site_tree_view *tree, cvtm_metric metric, int64_t slot) {
  cvtm_nearest nearest = cvtm_nearest_none();
  double x, y;
  cvtm_tree_position(tree, slot, &x, &y);
  cvtm_search_range(tree, metric, x, y, 0, slot, &nearest);
  cvtm_search_range(tree, metric, x, y, slot + 1, tree->count, &nearest);
  return sqrt(nearest.distance2);
}

/* Measures all distances. distance: one number for each point, in the caller's order. */
static cvtm_status measure_all(cvtm_device *device, cvtm_domain domain, const double *points,
                               int64_t count, double *distance) {
  cvtm_site_tree *tree = NULL;
  cvtm_status status = cvtm_site_tree_create(device, domain, count, &tree);
  if (status == CVTM_OK) status = cvtm_site_tree_build(tree, points, count);
  if (status == CVTM_OK) {
    const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
#pragma omp parallel for schedule(dynamic, 256) num_threads(cvtm_device_threads(device))
    for (int64_t slot = 0; slot < count; ++slot)
      distance[view.index[slot]] = nearest_distance(&view, cvtm_metric_of(domain), slot);
  }
  cvtm_site_tree_destroy(tree);
  return status;
}

cvtm_status cvtm_nearest_distances_measure(cvtm_domain domain, const double *points, int64_t count,
                                           int threads, cvtm_nearest_distances *distances,
                                           cvtm_error *error) {
  *distances = (cvtm_nearest_distances){count, NAN, NAN};
  if (count < 2) return CVTM_OK;
  cvtm_device *device = NULL;
  double *distance = malloc((size_t)count * sizeof *distance);
  if (distance == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  cvtm_status status = cvtm_device_create("cpu", threads, &device, error);
  if (status == CVTM_OK) {
    status = measure_all(device, domain, points, count, distance);
    if (status != CVTM_OK && error != NULL) *error = *cvtm_device_error(device);
  }
  if (status == CVTM_OK) {
    double sum = 0;
    distances->least = INFINITY;
    for (int64_t i = 0; i < count; ++i) {
      sum += distance[i];
      distances->least = fmin(distances->least, distance[i]);
    }
    distances->mean = sum / (double)count;
  }
  cvtm_device_destroy(device);
  free(distance);
  return status;
}
