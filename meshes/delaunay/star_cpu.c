/* The phases of star.h as parallel loops over points. */
#include "meshes/delaunay/star.h"

/* Number of threads for a loop over count points. */
static int threads_for_stars(const cvtm_device *device, int64_t count) {
  enum { WORTH_THREADS = 4096 };
  return count < WORTH_THREADS ? 1 : cvtm_device_threads(device);
}

static cvtm_status bound_points(cvtm_device *device, const double *points, int64_t count,
                                cvtm_bounds *bounds) {
  double x0 = points[0], x1 = points[0], y0 = points[1], y1 = points[1];
  int64_t unusable = 0;
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static) \
    reduction(min : x0, y0) reduction(max : x1, y1) reduction(+ : unusable)
  for (int64_t i = 0; i < count; ++i) {
    const double x = points[2 * i], y = points[2 * i + 1];
    unusable += !(fabs(x) <= CVTM_LARGEST_COORDINATE && fabs(y) <= CVTM_LARGEST_COORDINATE);
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
    if (y < y0) y0 = y;
    if (y > y1) y1 = y;
  }
  *bounds = (cvtm_bounds){{x0, y0}, {x1, y1}, unusable == 0};
  return CVTM_OK;
}

static cvtm_status snap_points(cvtm_device *device, cvtm_snapping snapping, double *points,
                               int64_t count, uint64_t *keys, int32_t *index) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    const cvtm_grid_point p = {cvtm_snap_coordinate(&snapping.x, points + 2 * i),
                               cvtm_snap_coordinate(&snapping.y, points + 2 * i + 1)};
    keys[i] = cvtm_star_key(p);
    index[i] = (int32_t)i;
  }
  return CVTM_OK;
}

static cvtm_status mark_distinct(cvtm_device *device, const uint64_t *keys, int64_t count,
                                 int32_t *distinct) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t k = 0; k < count; ++k) distinct[k] = k == 0 || keys[k] != keys[k - 1];
  return CVTM_OK;
}

static cvtm_status compact_keys(cvtm_device *device, const uint64_t *keys, const int32_t *index,
                                const int32_t *distinct, const int64_t *sums, int64_t count,
                                uint64_t *tree_keys, cvtm_grid_point *place, int32_t *vertex) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t k = 0; k < count; ++k) {
    if (!distinct[k]) continue;
    tree_keys[sums[k]] = keys[k];
    place[sums[k]] = cvtm_star_place(keys[k]);
    vertex[sums[k]] = index[k];
  }
  return CVTM_OK;
}

static cvtm_status weigh_points(cvtm_device *device, const double *weights, cvtm_star_scale scale,
                                const int32_t *index, const int32_t *distinct, const int64_t *sums,
                                int64_t count, int64_t *weight, int32_t *vertex) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t k = 0; k < count; ++k)
    if (distinct[k])
      cvtm_star_weigh(weights, scale, index, distinct, k, count, weight + sums[k],
                      vertex + sums[k]);
  return CVTM_OK;
}

static cvtm_status find_heaviest(cvtm_device *device, const cvtm_star_tree *tree, int32_t level,
                                 int64_t *heaviest) {
  const int64_t squares = (int64_t)1 << 2 * level;
#pragma omp parallel for num_threads(threads_for_stars(device, squares)) schedule(static)
  for (int64_t code = 0; code < squares; ++code)
    cvtm_star_set_heaviest(tree, level, code, heaviest);
  return CVTM_OK;
}

static cvtm_status divide_keys(cvtm_device *device, const uint64_t *tree_keys, int64_t count,
                               int32_t levels, int32_t *start) {
  const int64_t bins = (int64_t)1 << 2 * levels;
  const int shift = CVTM_STAR_KEY_BITS - 2 * levels;
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t b = 0; b <= bins; ++b)
    start[b] = b == bins ? (int32_t)count
                         : (int32_t)cvtm_lower_bound_64(tree_keys, 0, count, (uint64_t)b << shift);
  return CVTM_OK;
}

/* Adds atomically; returns the old value. */
static int32_t add_to(int32_t *sum, int32_t value) {
  int32_t before;
#pragma omp atomic capture
  {
    before = *sum;
    *sum += value;
  }
  return before;
}

static void make_star(const cvtm_star_tree *tree, int weighted, int32_t place, int32_t visits,
                      const cvtm_star_output *output) {
  cvtm_star_corners triangles[CVTM_STAR_ROOM];
  cvtm_star_fan fan = cvtm_star_fan_in(triangles, CVTM_STAR_ROOM, NULL);
  cvtm_star_counts *counts = output->counts;
  const cvtm_star_outcome outcome = cvtm_star_make(tree, weighted, place, visits, NULL, &fan);
  if (outcome == CVTM_STAR_DONE) {
    const int32_t at = add_to(&counts->triangles, fan.count);
    if (fan.open) add_to(&counts->open, 1);
    cvtm_star_store(tree, weighted, place, visits, at, &fan, output);
    return;
  }
  output->deferred[add_to(&counts->deferred, 1)] = place;
  if (outcome == CVTM_STAR_UNLINKED) add_to(&counts->unlinked, 1);
}

static cvtm_status make_stars(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                              int64_t count, int32_t visits, const cvtm_star_output *output) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(dynamic, 256)
  for (int64_t k = 0; k < count; ++k) {
    const int32_t place = list ? list[k] : (int32_t)k;
    if (tree->weight)
      make_star(tree, 1, place, visits, output);
    else
      make_star(tree, 0, place, visits, output);
  }
  return CVTM_OK;
}

static cvtm_status flag_undecided(cvtm_device *device, const cvtm_star_tree *tree,
                                  const int32_t *list, int64_t count, int32_t *undecided) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t k = 0; k < count; ++k) undecided[tree->vertex[list[k]]] = 1;
  return CVTM_OK;
}

static void mark_hull(const cvtm_star_tree *tree, const cvtm_star_fan *fan, int32_t *undecided) {
  for (int k = 0; k < 2 && fan->open; ++k) {
    int32_t *const flag = undecided + tree->vertex[fan->end[k]];
    if (*flag)
#pragma omp atomic write
      *flag = 2;
  }
}

static cvtm_status adopt_triangles(cvtm_device *device, const cvtm_star_tree *tree, int32_t visits,
                                   int32_t *undecided, cvtm_star_corners *adopted,
                                   const cvtm_star_output *output) {
#pragma omp parallel for num_threads(threads_for_stars(device, tree->count)) schedule(dynamic, 256)
  for (int64_t k = 0; k < tree->count; ++k) {
    cvtm_star_corners triangles[CVTM_STAR_ROOM];
    cvtm_star_fan fan = cvtm_star_fan_in(triangles, CVTM_STAR_ROOM, undecided);
    if (undecided[tree->vertex[k]]) continue;
    (void)cvtm_star_make(tree, 0, (int32_t)k, visits, NULL, &fan);
    mark_hull(tree, &fan, undecided);
    const int32_t count = cvtm_star_kept(&fan);
    const int32_t at = add_to(&output->counts->adopted, count);
    for (int32_t t = 0; t < count && at + t < output->room; ++t) {
      adopted[at + t] = triangles[t];
      add_to(&output->fan_count[triangles[t].first], 1);
    }
  }
  return CVTM_OK;
}

static cvtm_status sort_adopted_triangles(cvtm_device *device, const cvtm_star_tree *tree,
                                          const int32_t *list, int64_t count,
                                          const int32_t *undecided,
                                          const cvtm_star_corners *adopted, int64_t adopted_count,
                                          const cvtm_star_output *output) {
  const int threads = threads_for_stars(device, tree->count);
  for (int64_t k = 0; k < count; ++k) {
    const int32_t v = tree->vertex[list[k]];
    output->fan_start[v] = add_to(&output->counts->triangles, output->fan_count[v]);
    output->fan_count[v] = 0;
    output->counts->open += undecided[v] == 2;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t t = 0; t < adopted_count; ++t) {
    const int32_t v = adopted[t].first;
    output->fans[output->fan_start[v] + add_to(&output->fan_count[v], 1)] = adopted[t];
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t k = 0; k < count; ++k) {
    const int32_t v = tree->vertex[list[k]];
    cvtm_star_sort(output->fans + output->fan_start[v], output->fan_count[v]);
  }
  return CVTM_OK;
}

static cvtm_status collect_fans(cvtm_device *device, const cvtm_star_output *output,
                                const int64_t *first, int64_t count, cvtm_star_corners *triangles) {
#pragma omp parallel for num_threads(threads_for_stars(device, count)) schedule(static)
  for (int64_t v = 0; v < count; ++v) cvtm_star_collect_fan(output, first, v, triangles);
  return CVTM_OK;
}

const cvtm_star_table cvtm_star_table_cpu = {
    bound_points,           snap_points,  mark_distinct, compact_keys,   weigh_points,
    find_heaviest,          divide_keys,  make_stars,    flag_undecided, adopt_triangles,
    sort_adopted_triangles, collect_fans,
};
