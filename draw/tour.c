#include "draw/tour.h"

#include "base/point_order.h"
#include "draw/nearest.h"
#include "draw/tour_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finds the rectangle of the points. */
static cvtm_status measure_points(const double *points, int64_t count, double *left, double *top,
                                  double *side, cvtm_error *error) {
  const double largest = 1e150; /* whose square is finite */
  double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < 2 * count; ++k) {
    if (!(fabs(points[k]) <= largest))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld has a coordinate that is not finite",
                       (long long)(k / 2));
    least[k % 2] = fmin(least[k % 2], points[k]);
    most[k % 2] = fmax(most[k % 2], points[k]);
  }
  *left = least[0];
  *top = least[1];
  *side = fmax(most[0] - least[0], most[1] - least[1]);
  return CVTM_OK;
}

/* The squared distance to (0, 0). */
static double origin_distance(const double *points, int32_t i) {
  const double *p = points + 2 * (int64_t)i;
  return p[0] * p[0] + p[1] * p[1];
}

static double squared_distance(const double *points, int32_t i, int32_t j) {
  const double dx = points[2 * (int64_t)i] - points[2 * (int64_t)j];
  const double dy = points[2 * (int64_t)i + 1] - points[2 * (int64_t)j + 1];
  return dx * dx + dy * dy;
}

static void reverse_order(int32_t *order, int64_t count) {
  for (int64_t i = 0, j = count - 1; i < j; ++i, --j) {
    const int32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

/* Moves order[first] to the start. */
static void rotate_order(int32_t *order, int64_t count, int64_t first) {
  reverse_order(order, first);
  reverse_order(order + first, count - first);
  reverse_order(order, count);
}

static void start_at_origin(const double *points, int64_t count, int32_t *order) {
  int64_t first = 0;
  for (int64_t k = 1; k < count; ++k)
    if (origin_distance(points, order[k]) < origin_distance(points, order[first])) first = k;
  rotate_order(order, count, first);
  if (count > 2 && squared_distance(points, order[0], order[count - 1]) <
                       squared_distance(points, order[0], order[1]))
    reverse_order(order + 1, count - 1);
}

/* The arrays of the steps, for distinct points. The greedy tour gives the points new numbers, so
 * that neighbours lie side by side in memory. */
typedef struct tour_arrays {
  cvtm_placed *placed;           /* all points, those in one place side by side */
  int32_t *group;                /* distinct + 1: where the points of a place start in placed[] */
  double *unit, *sorted;         /* 2 * distinct: in the unit square; the same in greedy order */
  int32_t *nearest, *renumbered; /* degree * distinct */
  int32_t *greedy, *rank;        /* distinct: the greedy order, and its inverse */
  int32_t *tour;                 /* distinct */
} tour_arrays;

static void free_arrays(tour_arrays *a) {
  free(a->placed);
  free(a->group);
  free(a->unit);
  free(a->sorted);
  free(a->nearest);
  free(a->renumbered);
  free(a->greedy);
  free(a->rank);
  free(a->tour);
}

static cvtm_status allocate_arrays(tour_arrays *a, int64_t count, cvtm_error *error) {
  const size_t n = (size_t)count;
  *a = (tour_arrays){.placed = malloc(n * sizeof *a->placed),
                     .group = malloc((n + 1) * sizeof *a->group),
                     .unit = malloc(2 * n * sizeof *a->unit),
                     .sorted = malloc(2 * n * sizeof *a->sorted),
                     .nearest = malloc(CVTM_TOUR_DEGREE * n * sizeof *a->nearest),
                     .renumbered = malloc(CVTM_TOUR_DEGREE * n * sizeof *a->renumbered),
                     .greedy = malloc(n * sizeof *a->greedy),
                     .rank = malloc(n * sizeof *a->rank),
                     .tour = malloc(n * sizeof *a->tour)};
  if (a->placed && a->group && a->unit && a->sorted && a->nearest && a->renumbered && a->greedy &&
      a->rank && a->tour)
    return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
}

/* Groups points that share a place. Returns the number of places. */
static int32_t group_points(tour_arrays *a, const double *points, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    a->placed[i] = (cvtm_placed){points[2 * i], points[2 * i + 1], i};
  qsort(a->placed, (size_t)count, sizeof *a->placed, cvtm_compare_placed);
  int32_t distinct = 0;
  for (int64_t i = 0; i < count; ++i)
    if (i == 0 || a->placed[i].x != a->placed[i - 1].x || a->placed[i].y != a->placed[i - 1].y)
      a->group[distinct++] = (int32_t)i;
  a->group[distinct] = (int32_t)count;
  return distinct;
}

static void renumber_points(const tour_arrays *a, int64_t count, int degree) {
  for (int64_t k = 0; k < count; ++k) a->rank[a->greedy[k]] = (int32_t)k;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t i = a->greedy[k];
    memcpy(a->sorted + 2 * k, a->unit + 2 * i, 2 * sizeof *a->sorted);
    for (int j = 0; j < degree; ++j)
      a->renumbered[k * degree + j] = a->rank[a->nearest[i * degree + j]];
  }
}

static cvtm_status find_tour(const tour_arrays *a, int32_t count, int threads, cvtm_tour_stop stop,
                             void *context, cvtm_error *error) {
  const int degree = count > CVTM_TOUR_DEGREE ? CVTM_TOUR_DEGREE : (int)count - 1;
  cvtm_status status = cvtm_nearest_lists(a->unit, count, degree, threads, a->nearest, error);
  if (status == CVTM_OK)
    status = cvtm_tour_greedy(a->unit, count, a->nearest, degree, threads, a->greedy, error);
  if (status != CVTM_OK) return status;
  renumber_points(a, count, degree);
  status =
      cvtm_tour_improve(a->sorted, count, a->renumbered, degree, stop, context, a->tour, error);
  if (status != CVTM_OK) return status;
  for (int32_t k = 0; k < count; ++k) a->tour[k] = a->greedy[a->tour[k]];
  return CVTM_OK;
}

cvtm_status cvtm_tour_create(const double *points, int64_t count, int threads, int32_t *order,
                             cvtm_error *error) {
  return cvtm_tour_create_until(points, count, threads, NULL, NULL, order, error);
}

cvtm_status cvtm_tour_create_until(const double *points, int64_t count, int threads,
                                   cvtm_tour_stop stop, void *context, int32_t *order,
                                   cvtm_error *error) {
  if (count < 1 || count > 1 << 30)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a tour of %lld points", (long long)count);
  double left = 0, top = 0, side = 0;
  cvtm_status status = measure_points(points, count, &left, &top, &side, error);
  if (status != CVTM_OK) return status;
  tour_arrays a;
  status = allocate_arrays(&a, count, error);
  if (status == CVTM_OK) {
    const int32_t distinct = group_points(&a, points, count);
    for (int32_t i = 0; i < distinct; ++i) {
      a.unit[2 * (int64_t)i] = side > 0 ? (a.placed[a.group[i]].x - left) / side : 0;
      a.unit[2 * (int64_t)i + 1] = side > 0 ? (a.placed[a.group[i]].y - top) / side : 0;
    }
    a.tour[0] = 0;
    if (distinct > 1) status = find_tour(&a, distinct, threads, stop, context, error);
    int64_t at = 0;
    for (int32_t k = 0; status == CVTM_OK && k < distinct; ++k)
      for (int32_t i = a.group[a.tour[k]]; i < a.group[a.tour[k] + 1]; ++i)
        order[at++] = (int32_t)a.placed[i].index;
  }
  if (status == CVTM_OK) start_at_origin(points, count, order);
  free_arrays(&a);
  return status;
}

void cvtm_tour_open(const double *points, int64_t count, int32_t *order) {
  int64_t longest = count - 1; /* the edge before order[0] */
  double length = squared_distance(points, order[count - 1], order[0]);
  for (int64_t k = 0; k + 1 < count; ++k) {
    const double here = squared_distance(points, order[k], order[k + 1]);
    if (here <= length) continue;
    length = here;
    longest = k;
  }
  if (longest + 1 < count) rotate_order(order, count, longest + 1);
  if (origin_distance(points, order[count - 1]) < origin_distance(points, order[0]))
    reverse_order(order, count);
}

double cvtm_tour_length(const double *points, int64_t count, const int32_t *order, int closed) {
  double sum = closed ? sqrt(squared_distance(points, order[count - 1], order[0])) : 0;
  for (int64_t k = 0; k + 1 < count; ++k)
    sum += sqrt(squared_distance(points, order[k], order[k + 1]));
  return sum;
}

cvtm_status cvtm_tour_bound(const double *points, int64_t count, int threads, double *bound,
                            cvtm_error *error) {
  *bound = 0;
  if (count < 3) {
    if (count == 2) *bound = 2 * sqrt(squared_distance(points, 0, 1));
    return CVTM_OK;
  }
  int32_t *nearest = malloc(2 * (size_t)count * sizeof *nearest);
  if (nearest == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the neighbours of %lld points",
                     (long long)count);
  cvtm_status status = cvtm_nearest_lists(points, (int32_t)count, 2, threads, nearest, error);
  for (int64_t k = 0; status == CVTM_OK && k < 2 * count; ++k)
    *bound += 0.5 * sqrt(squared_distance(points, (int32_t)(k / 2), nearest[k]));
  free(nearest);
  return status;
}

double cvtm_tour_estimate(int64_t count, double area) {
  return 0.7124 * sqrt((double)count * area);
}
