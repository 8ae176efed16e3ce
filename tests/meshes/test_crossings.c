/* The sweep against the comparison of every edge with every other. */

#include "testing.h"

#include "meshes/delaunay/crossings.h"

enum { POINTS_MAX = 64, EDGES_MAX = 96 };

static uint32_t state_of_random = 12345;

static int random_below(int limit) {
  state_of_random = state_of_random * 1664525u + 1013904223u;
  return (int)((uint64_t)(state_of_random >> 8) * (uint64_t)limit >> 24);
}

/* Whole numbers in doubles: everything below is exact. */
static int turn(const double *a, const double *b, const double *c) {
  const double area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  return (area > 0) - (area < 0);
}

typedef enum contact { APART, TOUCH, CROSS } contact;

static contact meeting(const double *a, const double *b, const double *c, const double *d) {
  const int ac = turn(a, b, c), ad = turn(a, b, d), ca = turn(c, d, a), cb = turn(c, d, b);
  if (ac * ad > 0 || ca * cb > 0) return APART;
  if (ac != 0 || ad != 0) return ac * ad < 0 && ca * cb < 0 ? CROSS : TOUCH;
  double shared[2];
  for (int axis = 0; axis < 2; ++axis) {
    shared[axis] = fmin(fmax(a[axis], b[axis]), fmax(c[axis], d[axis])) -
                   fmax(fmin(a[axis], b[axis]), fmin(c[axis], d[axis]));
  }
  if (shared[0] < 0 || shared[1] < 0) return APART;
  return shared[0] == 0 && shared[1] == 0 ? TOUCH : CROSS;
}

/* Few places, so that ends coincide, touch and lie on one line. */
static void make_points(double *points, int count, int side) {
  for (int k = 0; k < 2 * count; ++k) points[k] = random_below(side);
}

/* ---- Edges of any kind ---- */

TEST(crossed_edges_are_those_of_every_pair) {
  int some = 0, none = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const int n = 2 + random_below(trial % 2 ? 8 : POINTS_MAX - 2);
    const int m = 1 + random_below(trial % 3 ? 12 : EDGES_MAX - 1);
    static const int sides[] = {2, 3, 5, 9, 100, 1000000};
    double points[2 * POINTS_MAX];
    int32_t edges[2 * EDGES_MAX];
    uint8_t expected[EDGES_MAX] = {0}, crossed[EDGES_MAX];
    make_points(points, n, sides[random_below(6)]);
    for (int k = 0; k < 2 * m; ++k) edges[k] = random_below(n);
    int64_t wanted = 0, found;
    for (int e = 0; e < m; ++e) {
      for (int f = 0; f < e; ++f)
        if (meeting(points + 2 * edges[2 * e], points + 2 * edges[2 * e + 1],
                    points + 2 * edges[2 * f], points + 2 * edges[2 * f + 1]) == CROSS)
          expected[e] = expected[f] = 1;
    }
    for (int e = 0; e < m; ++e) wanted += expected[e];
    assert_ok(cvtm_find_crossed(points, n, edges, m, crossed, &found, NULL));
    assert_int_equal(found, wanted);
    assert_memory_equal(crossed, expected, (size_t)m);
    some += wanted > 0;
    none += wanted == 0;
  }
  assert_true(some > 1000 && none > 1000);
}

/* ---- Rings ---- */

typedef struct rings {
  int64_t count, start[EDGES_MAX + 1];
  double points[2 * 4 * EDGES_MAX];
} rings;

static int64_t after(const rings *r, int64_t ring, int64_t k) {
  return k + 1 < r->start[ring + 1] ? k + 1 : r->start[ring];
}

static int pair_is_bad(const rings *r, int64_t p, int64_t e, int64_t q, int64_t f) {
  const int64_t e2 = after(r, p, e), f2 = after(r, q, f);
  const contact how =
      meeting(r->points + 2 * e, r->points + 2 * e2, r->points + 2 * f, r->points + 2 * f2);
  return how == CROSS || (how == TOUCH && p == q && e2 != f && f2 != e);
}

/* The two neighbours of a place on a ring: corners, or the ends of the edge it lies on; 0: it lies
 * on none. */
static int neighbours(const rings *r, int64_t ring, const double *place, const double *next[2]) {
  for (int64_t k = r->start[ring]; k < r->start[ring + 1]; ++k) {
    const int64_t end = after(r, ring, k);
    const double *a = r->points + 2 * k, *b = r->points + 2 * end;
    if (meeting(a, b, place, place) == APART) continue;
    next[0] = a;
    next[1] = b;
    if (place[0] == b[0] && place[1] == b[1]) next[1] = r->points + 2 * after(r, ring, end);
    if (place[0] == a[0] && place[1] == a[1]) continue; /* the edge before is found too */
    return 1;
  }
  return 0;
}

/* True if c lies in the sector from a to b, counterclockwise around p. */
static int in_sector(const double *p, const double *a, const double *b, const double *c) {
  if (turn(p, a, b) > 0) return turn(p, a, c) > 0 && turn(p, c, b) > 0;
  return !(turn(p, b, c) > 0 && turn(p, c, a) > 0);
}

static int alternate(const double *p, const double *a[2], const double *b[2]) {
  return in_sector(p, a[0], a[1], b[0]) != in_sector(p, a[0], a[1], b[1]);
}

/* Rings none of whose edges cross or run along each other may still cross in a corner. */
static int cross_in_corner(const rings *r, int64_t p, int64_t q) {
  for (int64_t k = r->start[p]; k < r->start[p + 1]; ++k) {
    const double *place = r->points + 2 * k, *own[2], *others[2];
    if (neighbours(r, p, place, own) && neighbours(r, q, place, others) &&
        alternate(place, own, others))
      return 1;
  }
  return 0;
}

static int64_t ring_of(const rings *r, int64_t edge) {
  int64_t ring = 0;
  while (r->start[ring + 1] <= edge) ++ring;
  return ring;
}

static int any_bad_pair(const rings *r) {
  const int64_t n = r->start[r->count];
  for (int64_t e = 0; e < n; ++e) {
    for (int64_t f = 0; f < e; ++f)
      if (pair_is_bad(r, ring_of(r, e), e, ring_of(r, f), f)) return 1;
  }
  for (int64_t p = 0; p < r->count; ++p) {
    for (int64_t q = 0; q < r->count; ++q)
      if (p != q && cross_in_corner(r, p, q)) return 1;
  }
  return 0;
}

static int inside(const rings *r, int64_t ring, double x, double y) {
  int odd = 0;
  for (int64_t k = r->start[ring]; k < r->start[ring + 1]; ++k) {
    const double *a = r->points + 2 * k, *b = r->points + 2 * after(r, ring, k);
    if ((a[1] > y) == (b[1] > y)) continue;
    odd ^= x < a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]);
  }
  return odd;
}

/* By a place on the longest edge that is no corner of another ring. */
static int runs_wrong(const rings *r, int64_t ring) {
  double area = 0, longest = 0, place[2] = {0, 0};
  for (int64_t k = r->start[ring]; k < r->start[ring + 1]; ++k) {
    const double *a = r->points + 2 * k, *b = r->points + 2 * after(r, ring, k);
    area += b[0] * a[1] - a[0] * b[1];
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    if (length <= longest) continue;
    longest = length;
    place[0] = a[0] + 0.4863 * (b[0] - a[0]);
    place[1] = a[1] + 0.4863 * (b[1] - a[1]);
  }
  int hole = 0;
  for (int64_t other = 0; other < r->count; ++other)
    if (other != ring) hole ^= inside(r, other, place[0], place[1]);
  return (area > 0) == hole;
}

static void check_rings(const rings *r, int *good, int *bad, int compare_ways) {
  uint8_t reversed[EDGES_MAX];
  int64_t pair[2];
  assert_ok(cvtm_check_rings(r->points, r->start, r->count, reversed, pair, NULL));
  assert_int_equal(pair[0] >= 0, any_bad_pair(r));
  if (pair[0] >= 0) {
    ++*bad;
    const int64_t p = ring_of(r, pair[0]), q = ring_of(r, pair[1]);
    assert_true(pair_is_bad(r, p, pair[0], q, pair[1]) ||
                (p != q && (cross_in_corner(r, p, q) || cross_in_corner(r, q, p))));
    return;
  }
  ++*good;
  for (int64_t k = 0; k < r->count && compare_ways; ++k)
    assert_int_equal(reversed[k], runs_wrong(r, k));
}

TEST(rings_are_refused_as_by_every_pair) {
  int good = 0, bad = 0;
  for (int trial = 0; trial < 100000; ++trial) {
    static const int sides[] = {2, 3, 4, 6, 30, 1000000};
    rings r = {.count = 1 + random_below(3)};
    for (int64_t k = 0; k < r.count; ++k) r.start[k + 1] = r.start[k] + 3 + random_below(4);
    make_points(r.points, (int)r.start[r.count], sides[random_below(6)]);
    check_rings(&r, &good, &bad, 0);
  }
  assert_true(good > 1000 && bad > 1000);
}

/* Boxes and diamonds between grid lines: nested, touching in corners or along sides, crossing. */
static void add_shape(rings *r, int x, int y, int size, int diamond, int turned) {
  static const int box[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  static const int rhombus[4][2] = {{0, -1}, {1, 0}, {0, 1}, {-1, 0}};
  const int(*shape)[2] = diamond ? rhombus : box;
  const int64_t first = r->start[r->count];
  for (int k = 0; k < 4; ++k) {
    r->points[2 * (first + k)] = x + size * shape[turned ? 3 - k : k][0];
    r->points[2 * (first + k) + 1] = y + size * shape[turned ? 3 - k : k][1];
  }
  r->start[++r->count] = first + 4;
}

TEST(holes_are_told_as_by_every_ring) {
  int good = 0, bad = 0;
  for (int trial = 0; trial < 40000; ++trial) {
    rings r = {.count = 0};
    const int wanted = 1 + random_below(6);
    while (r.count < wanted) {
      add_shape(&r, random_below(24), random_below(24), 1 + random_below(12), random_below(2),
                random_below(2));
      /* Half of the trials keep what touches or is nested alone. */
      if (trial % 2 == 0 && any_bad_pair(&r)) {
        if (random_below(8) == 0) break;
        --r.count;
      }
    }
    check_rings(&r, &good, &bad, 1);
  }
  assert_true(good > 10000 && bad > 5000);
}

/* Two rings that touch in the lowest corner of both, one within the other, and a third in it. */
TEST(rings_may_share_their_lowest_corner) {
  rings r = {.count = 3,
             .start = {0, 3, 6, 9},
             .points = {0, 0, 40, -20, 40, 20, 0, 0, 30, 10, 30, -10, 0, 0, 20, -1, 20, 1}};
  int good = 0, bad = 0;
  check_rings(&r, &good, &bad, 1);
  assert_int_equal(good, 1);
}

/* A point that ends nowhere is no edge, and two rings of one point are no crossing. */
TEST(points_are_no_edges) {
  rings r = {.count = 2, .start = {0, 3, 6}, .points = {5, 5, 5, 5, 5, 5, 0, 0, 10, 0, 5, 10}};
  int good = 0, bad = 0;
  check_rings(&r, &good, &bad, 0);
  assert_int_equal(good, 1);
}

/* Teeth that a vertical line meets all: 250,000 of them are no matter for the sweep. */
TEST(many_long_edges) {
  const int64_t teeth = 250000, n = 4 * teeth + 2, start[] = {0, n};
  double *points = doubles(n * 2);
  for (int64_t k = 0; k < teeth; ++k) {
    static const double x[4] = {1, 100, 100, 1};
    for (int64_t j = 0; j < 4; ++j) {
      points[2 * (4 * k + j)] = x[j];
      points[2 * (4 * k + j) + 1] = (double)(4 * k + j);
    }
  }
  const double back[4] = {0, (double)n, 0, 0};
  memcpy(points + 2 * (n - 2), back, sizeof back);
  uint8_t reversed[1];
  int64_t pair[2];
  assert_ok(cvtm_check_rings(points, start, 1, reversed, pair, NULL));
  assert_true(pair[0] < 0);
  assert_int_equal(reversed[0], 1); /* y is down */
  points[2 * (n / 2)] = -1;         /* the tooth crosses the way back */
  assert_ok(cvtm_check_rings(points, start, 1, reversed, pair, NULL));
  assert_true(pair[0] >= 0);
  free(points);
}

/* A spike of a second ring reaches `by` steps of the grid beyond the right side of a square. */
TEST(only_deep_crossings_are_deep) {
  const int64_t start[] = {0, 4, 7};
  const double side = 0x1p30, half = 0x1p29;
  for (double by = -2; by <= 100; by += 2) {
    const double points[14] = {0, 0, side, 0, side, side, 0, side, 9, 9, side + by, half, 9, half};
    int64_t pair[2];
    assert_ok(cvtm_find_deep_crossing(points, start, 2, 32, pair, NULL));
    /* The box, and with it the grid's step, has grown to 2. */
    assert_int_equal(pair[0] >= 0, by > 64);
    if (by <= 64) continue;
    assert_int_equal(pair[0] < 4 ? pair[0] : pair[1], 1);
    assert_true((pair[0] < 4 ? pair[1] : pair[0]) >= 4);
  }
}

TEST_MAIN()
