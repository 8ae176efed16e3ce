/* A k-d tree without pointers: the points of a node are a range of `order`, with the median in the
 * middle; the two halves are its children. */
#include "draw/nearest.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 8 }; /* ranges of at most this many points are searched linearly */

typedef struct kd_tree {
  const double *points;
  int32_t *order;
  unsigned char *axis; /* the axis of a range, at the index of its median */
} kd_tree;

static double coordinate(const double *points, const int32_t *order, int32_t at, int axis) {
  return points[2 * (int64_t)order[at] + axis];
}

/* Reorders [first, end) such that no point before `middle` has a larger coordinate than the point
 * at `middle`, and no point after `middle` a smaller one (Hoare's selection). */
static void select_median(const double *points, int32_t *order, int32_t first, int32_t end,
                          int32_t middle, int axis) {
  int32_t low = first, high = end - 1;
  while (low < high) {
    const double pivot = coordinate(points, order, low + (high - low) / 2, axis);
    int32_t i = low, j = high;
    while (i <= j) {
      while (coordinate(points, order, i, axis) < pivot) ++i;
      while (coordinate(points, order, j, axis) > pivot) --j;
      if (i > j) break;
      const int32_t kept = order[i];
      order[i++] = order[j];
      order[j--] = kept;
    }
    if (middle <= j) {
      high = j;
    } else if (middle >= i) {
      low = i;
    } else {
      return;
    }
  }
}

int cvtm_split_points(const double *points, int32_t *order, int32_t first, int32_t end) {
  double least[2], most[2];
  for (int axis = 0; axis < 2; ++axis) {
    least[axis] = most[axis] = coordinate(points, order, first, axis);
    for (int32_t k = first + 1; k < end; ++k) {
      const double value = coordinate(points, order, k, axis);
      if (value < least[axis]) least[axis] = value;
      if (value > most[axis]) most[axis] = value;
    }
  }
  const int axis = most[1] - least[1] > most[0] - least[0];
  select_median(points, order, first, end, first + (end - first) / 2, axis);
  return axis;
}

static void split_range(kd_tree *tree, int32_t first, int32_t end) {
  while (end - first > LEAF) {
    const int32_t middle = first + (end - first) / 2;
    tree->axis[middle] = (unsigned char)cvtm_split_points(tree->points, tree->order, first, end);
    split_range(tree, first, middle);
    first = middle + 1;
  }
}

/* The nearest points found so far, by distance, then by index. */
typedef struct found_points {
  int32_t self;
  int degree, count;
  double x, y;
  double distance[CVTM_NEAREST_MAX]; /* squared */
  int32_t index[CVTM_NEAREST_MAX];
} found_points;

static void offer_point(found_points *found, const kd_tree *tree, int32_t at) {
  const int32_t index = tree->order[at];
  if (index == found->self) return;
  const double dx = tree->points[2 * (int64_t)index] - found->x;
  const double dy = tree->points[2 * (int64_t)index + 1] - found->y;
  const double distance = dx * dx + dy * dy;
  int k = found->count;
  if (k == found->degree) {
    --k;
    if (distance > found->distance[k] ||
        (distance == found->distance[k] && index > found->index[k]))
      return;
  } else {
    ++found->count;
  }
  while (k > 0 && (found->distance[k - 1] > distance ||
                   (found->distance[k - 1] == distance && found->index[k - 1] > index))) {
    found->distance[k] = found->distance[k - 1];
    found->index[k] = found->index[k - 1];
    --k;
  }
  found->distance[k] = distance;
  found->index[k] = index;
}

/* Searches a range. A subtree that is as far away as the last neighbour is skipped: of many
 * coincident points any may be listed, and visiting all would take quadratic time. */
static void search_range(found_points *found, const kd_tree *tree, int32_t first, int32_t end) {
  if (end - first <= LEAF) {
    for (int32_t k = first; k < end; ++k) offer_point(found, tree, k);
    return;
  }
  const int32_t middle = first + (end - first) / 2;
  const int axis = tree->axis[middle];
  const double beyond =
      (axis == 0 ? found->x : found->y) - coordinate(tree->points, tree->order, middle, axis);
  const int is_left = beyond < 0;
  search_range(found, tree, is_left ? first : middle + 1, is_left ? middle : end);
  offer_point(found, tree, middle);
  if (found->count == found->degree && beyond * beyond >= found->distance[found->degree - 1])
    return;
  search_range(found, tree, is_left ? middle + 1 : first, is_left ? end : middle);
}

static void fill_lists(const kd_tree *tree, int32_t count, int degree, int threads,
                       int32_t *nearest) {
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads)
  for (int32_t at = 0; at < count;
       ++at) { /* in the order of the tree, so that neighbours are in the cache */
    const int32_t i = tree->order[at];
    found_points found = {.self = i,
                          .degree = degree,
                          .x = tree->points[2 * (int64_t)i],
                          .y = tree->points[2 * (int64_t)i + 1]};
    search_range(&found, tree, 0, count);
    memcpy(nearest + (int64_t)i * degree, found.index, (size_t)degree * sizeof *nearest);
  }
}

cvtm_status cvtm_nearest_lists(const double *points, int32_t count, int degree, int threads,
                               int32_t *nearest, cvtm_error *error) {
  kd_tree tree = {points, malloc((size_t)count * sizeof *tree.order), malloc((size_t)count)};
  const int has_memory = tree.order != NULL && tree.axis != NULL;
  if (has_memory) {
    for (int32_t i = 0; i < count; ++i) tree.order[i] = i;
    split_range(&tree, 0, count);
    fill_lists(&tree, count, degree, threads > 0 ? threads : omp_get_num_procs(), nearest);
  }
  free(tree.order);
  free(tree.axis);
  return has_memory
             ? CVTM_OK
             : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %ld points", (long)count);
}
