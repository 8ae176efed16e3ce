/* Tours: lattices whose shortest tour is known, random points, and points that share places. */
#include "testing.h"

#include "base/random.h"
#include "draw/nearest.h"
#include "draw/tour.h"

static double *random_points(int64_t count, uint64_t seed) {
  double *points = doubles(2 * count);
  for (int64_t i = 0; i < count; ++i) cvtm_random_uniform2(seed, 0, (uint64_t)i, points + 2 * i);
  return points;
}

static int32_t *tour_of(const double *points, int64_t count, int threads) {
  int32_t *order = allocated(count, sizeof *order);
  assert_ok(cvtm_tour_create(points, count, threads, order, NULL));
  char *seen = calloc((size_t)count, 1);
  for (int64_t k = 0; k < count; ++k) {
    assert_in_range(order[k], 0, count - 1);
    assert_int_equal(seen[order[k]]++, 0);
  }
  free(seen);
  return order;
}

/* A cvtm_tour_stop: counts down. */
static int count_down(void *context) { return (*(int *)context)-- <= 0; }

TEST(test_stopped_tours) {
  enum { COUNT = 5000 };
  double *points = random_points(COUNT, 8);
  int32_t *whole = tour_of(points, COUNT, 2), *order = allocated(COUNT, sizeof *order);
  double before = INFINITY;
  const int looks[] = {0, 5, 60, 100000000};
  for (int k = 0; k < 4; ++k) {
    int left = looks[k];
    assert_ok(cvtm_tour_create_until(points, COUNT, 2, count_down, &left, order, NULL));
    char seen[COUNT] = {0};
    for (int i = 0; i < COUNT; ++i) assert_int_equal(seen[order[i]]++, 0);
    const double length = cvtm_tour_length(points, COUNT, order, 1);
    assert_true(length < before);
    before = length;
  }
  assert_memory_equal(order, whole, COUNT * sizeof *order);
  free_all(order, whole, points);
}

static double bound_of(const double *points, int64_t count) {
  double bound = -1;
  assert_ok(cvtm_tour_bound(points, count, 2, &bound, NULL));
  return bound;
}

static double distance(const double *points, int32_t i, int32_t j) {
  return hypot(points[2 * j] - points[2 * i], points[2 * j + 1] - points[2 * i + 1]);
}

/* Compares with all distances. */
TEST(test_nearest_lists) {
  enum { COUNT = 700, DEGREE = 5 };
  double *points = random_points(COUNT, 3);
  static int32_t nearest[COUNT * DEGREE];
  assert_ok(cvtm_nearest_lists(points, COUNT, DEGREE, 2, nearest, NULL));
  for (int32_t i = 0; i < COUNT; ++i) {
    for (int k = 0; k < DEGREE; ++k) {
      const double listed = distance(points, i, nearest[i * DEGREE + k]);
      int nearer = 0;
      for (int32_t j = 0; j < COUNT; ++j) nearer += j != i && distance(points, i, j) < listed;
      assert_int_equal(nearer, k);
    }
  }
  free(points);
}

/* The length of long tours is 0.7124 sqrt(n A); that of shorter ones is larger, since points near
 * the border have fewer neighbours: the shortest of 10,000 points is about 1 % longer. */
TEST(test_uniform_points) {
  enum { COUNT = 10000 };
  double *points = random_points(COUNT, 7);
  int32_t *order = tour_of(points, COUNT, 1);
  const double length = cvtm_tour_length(points, COUNT, order, 1);
  assert_true(length < 1.05 * cvtm_tour_estimate(COUNT, 1));
  assert_true(length > 0.99 * cvtm_tour_estimate(COUNT, 1));
  assert_true(bound_of(points, COUNT) < length);
  free_all(order, points);
}

TEST(test_threads_do_not_matter) {
  enum { COUNT = 3000 };
  double *points = random_points(COUNT, 11);
  int32_t *one = tour_of(points, COUNT, 1), *four = tour_of(points, COUNT, 4);
  assert_memory_equal(one, four, COUNT * sizeof *one);
  free_all(one, four, points);
}

/* The shortest tour of a square lattice with an even side has as many steps as points. */
TEST(test_lattice) {
  enum { SIDE = 40, COUNT = SIDE * SIDE };
  double points[2 * COUNT];
  for (int i = 0; i < COUNT; ++i) {
    points[2 * i] = 5 + i % SIDE;
    points[2 * i + 1] = 7 + i / SIDE;
  }
  int32_t *order = tour_of(points, COUNT, 2);
  assert_int_equal(order[0], 0);
  const double length = cvtm_tour_length(points, COUNT, order, 1);
  assert_true(fabs(bound_of(points, COUNT) - COUNT) < 1e-9);
  assert_true(length >= COUNT - 1e-9 && length < 1.01 * COUNT);
  free(order);
}

/* The shortest of all tours whose first points are order[0 .. fixed). */
static double shortest_tour(const double *points, int32_t *order, int fixed, int count) {
  if (fixed >= count) return cvtm_tour_length(points, count, order, 1);
  double shortest = INFINITY;
  for (int k = fixed; k < count; ++k) {
    const int32_t a = order[fixed], b = order[k];
    order[fixed] = b;
    order[k] = a;
    shortest = fmin(shortest, shortest_tour(points, order, fixed + 1, count));
    order[fixed] = a;
    order[k] = b;
  }
  return shortest;
}

TEST(test_few_points) {
  for (int count = 1; count <= 8; ++count) {
    double *points = random_points(count, (uint64_t)(20 + count));
    int32_t *order = tour_of(points, count, 1);
    const double length = cvtm_tour_length(points, count, order, 1);
    int32_t all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const double shortest = shortest_tour(points, all, 1, count);
    assert_true(length <= 1.05 * shortest + 1e-12);
    assert_true(bound_of(points, count) <= shortest + 1e-12);
    free_all(order, points);
  }
}

/* Ten points in each of 300 places; on a line; all in one place. */
TEST(test_degenerate_points) {
  enum { COUNT = 3000, PLACES = 300 };
  double *points = random_points(COUNT, 5);
  for (int i = PLACES; i < 2 * COUNT; ++i)
    if (i >= 2 * PLACES) points[i] = points[i - 2 * PLACES];
  int32_t *order = tour_of(points, COUNT, 2);
  int moves = 0;
  for (int k = 1; k < COUNT; ++k) moves += order[k] % PLACES != order[k - 1] % PLACES;
  assert_int_equal(moves, PLACES - 1);
  free(order);
  for (int i = 0; i < COUNT; ++i) points[2 * i] = points[2 * i + 1] = -3.5e100 * (i * 7 % COUNT);
  order = tour_of(points, COUNT, 2);
  const double line = 2 * (COUNT - 1) * 3.5e100 * sqrt(2);
  assert_true(fabs(cvtm_tour_length(points, COUNT, order, 1) / line - 1) < 1e-12);
  free(order);
  for (int i = 0; i < 2 * COUNT; ++i) points[i] = 4;
  order = tour_of(points, COUNT, 2);
  assert_true(cvtm_tour_length(points, COUNT, order, 1) == 0);
  free_all(order, points);
}

TEST(test_known_longest_edge) {
  const double points[] = {9, 0, 0, 0, 0, 4, 9, 4, 14, 2};
  int32_t order[] = {1, 0, 4, 3, 2};
  cvtm_tour_open(points, 5, order); /* 1-0 and 3-2 are 9 long; the first of them is removed */
  const int32_t expected[] = {1, 2, 3, 4, 0};
  assert_memory_equal(order, expected, sizeof order);
}

/* A tour loses its longest edge, and starts at the end nearer to (0, 0). */
TEST(test_open) {
  enum { COUNT = 2000 };
  double *points = random_points(COUNT, 31);
  int32_t *order = tour_of(points, COUNT, 1);
  const double closed = cvtm_tour_length(points, COUNT, order, 1);
  cvtm_tour_open(points, COUNT, order);
  const int32_t first = order[0], last = order[COUNT - 1];
  const double removed = distance(points, first, last);
  assert_true(fabs(closed - cvtm_tour_length(points, COUNT, order, 0) - removed) < 1e-9);
  for (int k = 1; k < COUNT; ++k) assert_true(distance(points, order[k - 1], order[k]) <= removed);
  assert_true(hypot(points[2 * first], points[2 * first + 1]) <=
              hypot(points[2 * last], points[2 * last + 1]));
  free_all(order, points);
}

static double side_of(const double *a, const double *b, const double *c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/* Dense clusters far from each other: long edges do not cross what lies between. */
TEST(test_long_edges_cross_none) {
  enum { COUNT = 3000, LONGEST = 20, SEEDS = 8 };
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    double *points = random_points(COUNT, seed);
    for (int i = 0; i < 2 * COUNT; ++i) points[i] = pow(points[i], 4);
    int32_t *order = tour_of(points, COUNT, 2);
    for (int round = 0, taken[LONGEST]; round < LONGEST; ++round) {
      double longest = 0;
      for (int k = 0; k < COUNT; ++k) {
        int is_taken = 0;
        for (int j = 0; j < round; ++j) is_taken |= taken[j] == k;
        const double length = distance(points, order[k], order[(k + 1) % COUNT]);
        if (is_taken || length <= longest) continue;
        longest = length;
        taken[round] = k;
      }
      const double *a = points + 2 * order[taken[round]];
      const double *b = points + 2 * order[(taken[round] + 1) % COUNT];
      for (int k = 0; k < COUNT; ++k) {
        const double *c = points + 2 * order[k], *d = points + 2 * order[(k + 1) % COUNT];
        assert_false(side_of(a, b, c) * side_of(a, b, d) < 0 &&
                     side_of(c, d, a) * side_of(c, d, b) < 0);
      }
    }
    free_all(order, points);
  }
}

TEST(test_errors) {
  cvtm_error error = {CVTM_OK, ""};
  double points[] = {0, 0, 1, NAN};
  int32_t order[2];
  assert_refused(cvtm_tour_create(points, 0, 1, order, &error));
  assert_int_equal(cvtm_tour_create(points, 2, 1, order, &error), CVTM_ERROR_INPUT);
}

TEST_MAIN()
