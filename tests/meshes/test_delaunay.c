/* Delaunay triangulations checked by exact integer arithmetic of the test's own. */
#include "testing.h"

#include <omp.h>

#include "meshes/delaunay/torus.h"
#include "point_sets.h"

__extension__ typedef __int128 int128;

static uint64_t random_state;

/* ---- The checks ---- */

/* Places in steps above the lowest, y up. */
typedef struct place {
  int64_t x, y;
} place;

typedef struct side {
  int32_t from, to, apex; /* a directed edge of a triangle and the corner across */
} side;

static int64_t orient(place a, place b, place c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* 1: d is inside the circle, 0: on it. */
static int side_of_circle(place a, place b, place c, place d) {
  const place p = {a.x - d.x, a.y - d.y}, q = {b.x - d.x, b.y - d.y}, r = {c.x - d.x, c.y - d.y};
  const int128 p2 = p.x * p.x + p.y * p.y, q2 = q.x * q.x + q.y * q.y, r2 = r.x * r.x + r.y * r.y;
  const int128 determinant =
      p2 * (q.x * r.y - q.y * r.x) - q2 * (p.x * r.y - p.y * r.x) + r2 * (p.x * q.y - p.y * q.x);
  return (determinant > 0) - (determinant < 0);
}

static int compare_places(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return (a->y > b->y) - (a->y < b->y);
}

/* No point is inside the circle of a triangle, and none on it precedes all corners: so points on
 * one circle are the fan of the first of them. */
static void check_circle(place a, place b, place c, place d) {
  const int where = side_of_circle(a, b, c, d);
  assert_true(where <= 0);
  if (where == 0)
    assert_false(compare_places(&d, &a) < 0 && compare_places(&d, &b) < 0 &&
                 compare_places(&d, &c) < 0);
}

static int compare_sides(const void *left, const void *right) {
  const side *a = left, *b = right;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

/* Computes the step by its definition. Checks that each point moved by at most half a step and that
 * all points lie on the grid of that step. */
static place *grid_of(const cvtm_mesh *mesh, const double *points) {
  double low[2] = {points[0], points[1]}, high[2] = {points[0], points[1]};
  for (int64_t k = 0; k < 2 * mesh->vertex_count; ++k) {
    low[k % 2] = fmin(low[k % 2], points[k]);
    high[k % 2] = fmax(high[k % 2], points[k]);
  }
  const double span = fmax(high[0] - low[0], high[1] - low[1]);
  int exponent = 0;
  if (span > 0 && frexp(span, &exponent) == 0.5) exponent--;
  const double step = span > 0 ? fmax(ldexp(1.0, exponent - 30), 0x1p-1074) : 1;
  place *grid = allocated(mesh->vertex_count, sizeof *grid);
  low[0] = mesh->points[0];
  high[1] = mesh->points[1];
  for (int64_t k = 0; k < 2 * mesh->vertex_count; ++k) {
    assert_true(fabs(mesh->points[k] - points[k]) <= step / 2);
    low[0] = k % 2 == 0 ? fmin(low[0], mesh->points[k]) : low[0];
    high[1] = k % 2 == 1 ? fmax(high[1], mesh->points[k]) : high[1];
  }
  for (int64_t i = 0; i < mesh->vertex_count; ++i) {
    const double x = (mesh->points[2 * i] - low[0]) / step;
    const double y = (high[1] - mesh->points[2 * i + 1]) / step;
    assert_true(x == rint(x) && x >= 0 && x <= 0x1p30);
    assert_true(y == rint(y) && y >= 0 && y <= 0x1p30);
    grid[i] = (place){(int64_t)x, (int64_t)y};
  }
  return grid;
}

/* Twice the area of the convex hull of sorted distinct places (monotone chains). */
static int128 hull_area(const place *sorted, int64_t count) {
  place *hull = allocated(2 * count + 1, sizeof *hull);
  int128 twice = 0;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t size = 0;
    for (int64_t i = 0; i < count; ++i) {
      const place p = pass ? sorted[count - 1 - i] : sorted[i];
      while (size > 1 && orient(hull[size - 2], hull[size - 1], p) <= 0) --size;
      hull[size++] = p;
    }
    for (int64_t k = 0; k + 1 < size; ++k)
      twice += (int128)hull[k].x * hull[k + 1].y - (int128)hull[k].y * hull[k + 1].x;
  }
  free(hull);
  return twice;
}

/* Places that occur, sorted, without repetition. */
static place *distinct_places(const place *grid, int64_t count, int64_t *distinct) {
  place *sorted = allocated(count, sizeof *sorted);
  memcpy(sorted, grid, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_places);
  *distinct = 0;
  for (int64_t i = 0; i < count; ++i)
    if (i == 0 || compare_places(&sorted[i], &sorted[i - 1]) != 0)
      sorted[(*distinct)++] = sorted[i];
  return sorted;
}

/* Orientation, order, and areas that add up to the hull's: the triangles cover it once. */
static void check_triangles(const cvtm_mesh *mesh, const place *grid, int128 area) {
  int128 sum = 0;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *v = mesh->triangles + 3 * t;
    for (int k = 0; k < 3; ++k) assert_in_range(v[k], 0, mesh->vertex_count - 1);
    assert_true(v[0] < v[1] && v[0] < v[2]);
    const int64_t twice = orient(grid[v[0]], grid[v[1]], grid[v[2]]);
    assert_true(twice > 0);
    sum += twice;
    if (t > 0) assert_true(v[-3] < v[0] || (v[-3] == v[0] && v[-2] < v[1]));
  }
  assert_true(sum == area);
}

/* Every inner edge is locally Delaunay (so the whole is), and so is the choice of diagonals;
 * returns the number of border edges. */
static int64_t check_edges(const cvtm_mesh *mesh, const place *grid) {
  const int64_t count = 3 * mesh->triangle_count;
  side *sides = allocated(count + 1, sizeof *sides);
  for (int64_t k = 0; k < count; ++k) {
    const int32_t *v = mesh->triangles + (k - k % 3);
    sides[k] = (side){v[k % 3], v[(k + 1) % 3], v[(k + 2) % 3]};
  }
  qsort(sides, (size_t)count, sizeof *sides, compare_sides);
  int64_t border = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (k > 0) assert_true(compare_sides(&sides[k - 1], &sides[k]) != 0);
    const side twin = {sides[k].to, sides[k].from, 0};
    const side *found = bsearch(&twin, sides, (size_t)count, sizeof *sides, compare_sides);
    if (!found)
      ++border;
    else
      check_circle(grid[sides[k].from], grid[sides[k].to], grid[sides[k].apex], grid[found->apex]);
  }
  free(sides);
  return border;
}

static void check_circles(const cvtm_mesh *mesh, const place *grid) {
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *v = mesh->triangles + 3 * t;
    for (int64_t i = 0; i < mesh->vertex_count; ++i)
      check_circle(grid[v[0]], grid[v[1]], grid[v[2]], grid[i]);
  }
}

/* The first vertex of every place has a triangle, the others none. */
static void check_vertices(const cvtm_mesh *mesh, const place *grid, int brute) {
  char *used = calloc((size_t)mesh->vertex_count, 1);
  assert_non_null(used);
  for (int64_t k = 0; k < 3 * mesh->triangle_count; ++k) used[mesh->triangles[k]] = 1;
  int64_t unused = 0;
  for (int64_t i = 0; i < mesh->vertex_count; ++i) {
    unused += !used[i];
    int first = 1;
    for (int64_t k = 0; brute && k < i; ++k) first &= compare_places(&grid[k], &grid[i]) != 0;
    if (brute) assert_int_equal(used[i], first);
  }
  assert_int_equal(unused, mesh->coincident_count);
  free(used);
}

/* Triangulates and checks everything that can be checked; the caller frees the mesh. */
static cvtm_mesh triangulated(const double *points, int64_t count) {
  cvtm_mesh mesh = {0};
  assert_ok(cvtm_delaunay(points, count, &mesh, NULL));
  assert_int_equal(mesh.vertex_count, count);
  place *grid = grid_of(&mesh, points);
  int64_t distinct = 0;
  place *sorted = distinct_places(grid, count, &distinct);
  assert_int_equal(mesh.coincident_count, count - distinct);
  const int128 area = hull_area(sorted, distinct);
  assert_int_equal(mesh.collinear != 0, area == 0);
  check_triangles(&mesh, grid, area);
  if (area > 0) {
    const int64_t border = check_edges(&mesh, grid);
    /* Euler: V - E + T = 1 with 2 E = 3 T + border. */
    assert_int_equal(mesh.triangle_count, 2 * distinct - 2 - border);
    check_vertices(&mesh, grid, count <= 500);
  }
  if (count <= 500) check_circles(&mesh, grid);
  free_all(sorted, grid);
  return mesh;
}

static void triangulate(const double *points, int64_t count) {
  cvtm_mesh mesh = triangulated(points, count);
  /* Its own points give the same mesh again. */
  cvtm_mesh again = triangulated(mesh.points, count);
  assert_same_mesh(&mesh, &again);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &again, &mesh);
}

/* ---- Tests ---- */

TEST(test_few_points) {
  const double points[] = {3, 4, 10, -2, 7.5, 8, 7, 7};
  for (int64_t n = 1; n <= 4; ++n) triangulate(points, n);
  const double clockwise[] = {0, 0, 0, 1, 1, 0}, counterclockwise[] = {0, 0, 1, 0, 0, 1};
  triangulate(clockwise, 3);
  triangulate(counterclockwise, 3);
  /* The corners of the grid, and the points beside them. */
  double corners[2 * 16];
  for (int k = 0; k < 16; ++k) {
    const int x = k % 4, y = k / 4;
    corners[2 * k] = x < 2 ? x : 0x1p30 - 3 + x;
    corners[2 * k + 1] = y < 2 ? y : 0x1p30 - 3 + y;
  }
  triangulate(corners, 16);
  cvtm_mesh mesh = triangulated(counterclockwise, 3);
  /* With y up the points are (0, 0), (1, 0), (0, -1). */
  assert_int_equal(mesh.triangle_count, 1);
  assert_int_equal(mesh.triangles[1], 2);
  assert_int_equal(mesh.triangles[2], 1);
  cvtm_mesh_free(&mesh);
}

TEST(test_small_random_sets) {
  random_state = 1;
  double points[2 * 64];
  for (int round = 0; round < 600; ++round) {
    const int n = 1 + random_below(&random_state, 64);
    fill_random(points, n, 640, &random_state);
    triangulate(points, n);
  }
}

/* On a few grid lines nearly everything is coincident, collinear or cocircular. */
TEST(test_small_integer_sets) {
  random_state = 2;
  double points[2 * 48];
  for (int round = 0; round < 2000; ++round) {
    const int n = 1 + random_below(&random_state, 48), lines = 1 + random_below(&random_state, 8);
    fill_integers(points, n, lines, &random_state);
    triangulate(points, n);
  }
}

TEST(test_lattices) {
  double points[2 * 20 * 20];
  for (int shear = 0; shear < 3; ++shear) {
    fill_lattice(points, 20, shear);
    triangulate(points, 400);
  }
}

/* 32 integer points on the circle of radius^2 1105, with and without its centre. */
TEST(test_cocircular) {
  double points[2 * 64];
  const int n = fill_circle(points, 1105);
  assert_int_equal(n, 32);
  triangulate(points, n);
  points[2 * n] = points[2 * n + 1] = 0;
  triangulate(points, n + 1);
}

TEST(test_collinear) {
  random_state = 3;
  double points[2 * 100];
  for (int direction = 0; direction < 4; ++direction) {
    fill_line(points, 100, direction, &random_state);
    cvtm_mesh mesh = triangulated(points, 100);
    assert_true(mesh.collinear);
    assert_int_equal(mesh.triangle_count, 0);
    assert_true(mesh.coincident_count > 0);
    cvtm_mesh_free(&mesh);
    /* One point beside the line makes a fan. */
    points[0] = points[1] = 1000;
    triangulate(points, 100);
  }
}

TEST(test_coincident) {
  double points[2 * 300];
  fill_one_place(points, 300);
  cvtm_mesh mesh = triangulated(points, 300);
  assert_int_equal(mesh.coincident_count, 299);
  assert_true(mesh.collinear);
  cvtm_mesh_free(&mesh);
  random_state = 4;
  fill_copies(points, 300, &random_state);
  triangulate(points, 300);
}

TEST(test_clusters) {
  random_state = 5;
  double points[2 * 400];
  fill_clusters(points, 400, 0, &random_state);
  triangulate(points, 400);
}

TEST(test_extreme_and_nearly_degenerate_sets) { each_hard_set(triangulate); }

TEST(test_many_points) {
  random_state = 8;
  enum { COUNT = 100000 };
  double *points = new_points(COUNT);
  fill_random(points, COUNT, 4096, &random_state);
  cvtm_mesh mesh = triangulated(points, COUNT);
  assert_int_equal(mesh.coincident_count, 0);
  cvtm_mesh_free(&mesh);
  /* A hub: its fan is longer than what is sorted in place. */
  fill_ring(points, 5000, 0);
  points[0] = points[1] = 0;
  mesh = triangulated(points, 5000);
  cvtm_mesh_free(&mesh);
  free(points);
}

static int compare_triangles(const void *left, const void *right) {
  return memcmp(left, right, 3 * sizeof(int32_t));
}

/* The triangles in the names given, in an order of their own. */
static void rename_triangles(cvtm_mesh *mesh, const int32_t *name) {
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    int32_t *v = mesh->triangles + 3 * t, renamed[3];
    int least = 0;
    for (int k = 0; k < 3; ++k) {
      renamed[k] = name[v[k]];
      if (renamed[k] < renamed[least]) least = k;
    }
    for (int k = 0; k < 3; ++k) v[k] = renamed[(least + k) % 3];
  }
  qsort(mesh->triangles, (size_t)mesh->triangle_count, 3 * sizeof(int32_t), compare_triangles);
}

/* Diagonals of cocircular points do not depend on the points' order. */
TEST(test_order_does_not_matter) {
  enum { COUNT = 400 };
  random_state = 9;
  double points[2 * COUNT], shuffled[2 * COUNT];
  int32_t name[COUNT], same[COUNT];
  for (int k = 0; k < COUNT; ++k) {
    points[2 * k] = k % 20;
    points[2 * k + 1] = k / 20;
    name[k] = same[k] = k;
  }
  for (int k = COUNT - 1; k > 0; --k) {
    const int other = random_below(&random_state, k + 1);
    const int32_t swap = name[k];
    name[k] = name[other];
    name[other] = swap;
  }
  for (int k = 0; k < COUNT; ++k)
    memcpy(shuffled + 2 * k, points + (ptrdiff_t)2 * name[k], 2 * sizeof(double));
  cvtm_mesh a = triangulated(points, COUNT), b = triangulated(shuffled, COUNT);
  rename_triangles(&a, same);
  rename_triangles(&b, name);
  assert_int_equal(a.triangle_count, b.triangle_count);
  assert_memory_equal(a.triangles, b.triangles, (size_t)a.triangle_count * 3 * sizeof(int32_t));
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &a, &b);
}

/* Large enough that threads share the work: random points, a lattice, one column, a few clusters,
 * and points of which many coincide. */
TEST(test_threads) {
  enum { COUNT = 40000, KINDS = 5 };
  const int threads[] = {2, 5}, before = omp_get_max_threads();
  double *points = new_points(COUNT);
  random_state = 10;
  for (int kind = 0; kind < KINDS; ++kind) {
    for (int k = 0; k < COUNT; ++k) {
      const double x = random_unit(&random_state), y = random_unit(&random_state);
      double *p = points + 2 * (ptrdiff_t)k;
      p[0] = kind == 0 ? x : kind == 1 ? k % 200 : kind == 2 ? (k == 0) : k % 3 + 1e-9 * x;
      p[1] = kind == 0 ? y : kind == 1 ? k / 200 : kind == 2 ? k : k % 2 + 1e-9 * y;
      if (kind == 4) p[0] = rint(100 * x);
      if (kind == 4) p[1] = rint(100 * y);
    }
    omp_set_num_threads(1);
    cvtm_mesh mesh = triangulated(points, COUNT);
    for (int t = 0; t < 2; ++t) {
      omp_set_num_threads(threads[t]);
      cvtm_mesh other = {0};
      assert_ok(cvtm_delaunay(points, COUNT, &other, NULL));
      assert_same_mesh(&mesh, &other);
      cvtm_mesh_free(&other);
    }
    cvtm_mesh_free(&mesh);
  }
  omp_set_num_threads(before);
  free(points);
}

/* ---- On a torus ---- */

typedef struct torus_corner {
  int64_t point, right, above;
  place at; /* in steps of 2^-22 */
} torus_corner;

static torus_corner corner_of(const cvtm_torus_mesh *t, int64_t count, int32_t v) {
  const double *p = t->mesh.points + 2 * (int64_t)v;
  const int32_t own[3] = {v, 0, 0};
  const int32_t *copy = v < count ? own : t->copies + 3 * (v - count);
  assert_true(ldexp(p[0], 22) == rint(ldexp(p[0], 22)) && ldexp(p[1], 22) == rint(ldexp(p[1], 22)));
  return (torus_corner){
      copy[0], copy[1], copy[2], {(int64_t)ldexp(p[0], 22), (int64_t)ldexp(-p[1], 22)}};
}

/* With all copies of the points. */
static void check_torus_circle(const cvtm_torus_mesh *t, int64_t count, cvtm_domain d,
                               const torus_corner c[3]) {
  const int64_t width = (int64_t)d.width << 22, height = (int64_t)d.height << 22;
  const int wide = (int)ceil(hypot(d.width, d.height) / d.width) + 1;
  const int high = (int)ceil(hypot(d.width, d.height) / d.height) + 1;
  for (int32_t i = 0; i < count; ++i)
    for (int k = 0; k < (2 * wide + 1) * (2 * high + 1); ++k) {
      place q = corner_of(t, count, i).at;
      q.x += (k % (2 * wide + 1) - wide) * width;
      q.y += (k / (2 * wide + 1) - high) * height;
      check_circle(c[0].at, c[1].at, c[2].at, q);
    }
}

/* The side from corner a to b is that from d to c, or a copy of it. */
static int is_twin(torus_corner a, torus_corner b, torus_corner c, torus_corner d) {
  return a.point == d.point && b.point == c.point && b.right - a.right == c.right - d.right &&
         b.above - a.above == c.above - d.above;
}

static int count_twins(const cvtm_torus_mesh *t, int64_t count, torus_corner a, torus_corner b) {
  int found = 0;
  for (int64_t h = 0; h < 3 * t->mesh.triangle_count; ++h) {
    const int64_t after = h % 3 == 2 ? h - 2 : h + 1;
    found += is_twin(a, b, corner_of(t, count, t->mesh.triangles[h]),
                     corner_of(t, count, t->mesh.triangles[after]));
  }
  return found;
}

static cvtm_torus_mesh check_torus(const double *points, int64_t count, cvtm_domain d,
                                   int64_t distinct) {
  cvtm_torus_mesh t = {0};
  int128 area = 0;
  assert_ok(cvtm_delaunay_torus(NULL, points, count, d, &t, NULL));
  assert_int_equal(t.mesh.triangle_count, 2 * distinct);
  assert_int_equal(t.mesh.coincident_count, count - distinct);
  assert_int_equal(t.mesh.vertex_count, count + t.copy_count);
  for (int32_t v = 0; v < t.mesh.vertex_count; ++v) {
    const torus_corner c = corner_of(&t, count, v);
    const double *own = t.mesh.points + 2 * c.point, *p = t.mesh.points + 2 * (int64_t)v;
    assert_true(p[0] == own[0] + (double)c.right * d.width);
    assert_true(p[1] == own[1] - (double)c.above * d.height);
    assert_true(own[0] >= 0 && own[0] < d.width && own[1] >= 0 && own[1] < d.height);
  }
  for (int64_t k = 0; k < t.mesh.triangle_count; ++k) {
    const int32_t *v = t.mesh.triangles + 3 * k;
    torus_corner c[3];
    for (int j = 0; j < 3; ++j) c[j] = corner_of(&t, count, v[j]);
    const int64_t twice = orient(c[0].at, c[1].at, c[2].at);
    assert_true(twice > 0 && v[0] < v[1] && v[0] < v[2]);
    area += twice;
    assert_true(c[0].right * c[1].right * c[2].right == 0);
    assert_true(c[0].above * c[1].above * c[2].above == 0);
    if (k > 0) assert_true(memcmp(v, v - 3, 3 * sizeof *v) != 0 && v[0] >= v[-3]);
    for (int j = 0; j < 3; ++j) assert_int_equal(count_twins(&t, count, c[j], c[(j + 1) % 3]), 1);
    check_torus_circle(&t, count, d, c);
  }
  assert_true(area == 2 * ((int128)d.width << 22) * ((int128)d.height << 22));
  return t;
}

TEST(test_torus) {
  static const cvtm_domain domains[] = {{64, 64, 1}, {17, 50, 1}, {60, 9, 1}};
  double points[2 * 64];
  random_state = 11;
  for (int set = 0; set < 12; ++set) {
    const cvtm_domain d = domains[set % 3];
    const int64_t count = set < 6 ? set + 1 : 4 * set;
    const double spread = set % 4 == 3 ? 1e-3 : 1; /* a cluster: copies from far away */
    for (int64_t k = 0; k < count; ++k) {
      points[2 * k] = d.width * (spread * random_unit(&random_state) - 2);
      points[2 * k + 1] = d.height * (spread * random_unit(&random_state) + 3);
    }
    cvtm_torus_mesh t = check_torus(points, count, d, count);
    cvtm_torus_mesh_free(&t);
  }
}

/* Integers, of which most lie on one circle or share a place, and the whole lattice. */
TEST(test_torus_cocircular) {
  enum { WIDTH = 7, HEIGHT = 5, COUNT = WIDTH * HEIGHT };
  const cvtm_domain d = {WIDTH, HEIGHT, 1};
  double points[2 * COUNT];
  random_state = 12;
  for (int set = 0; set < 150; ++set) {
    const int count = set == 0 ? COUNT : 3 + set % 8;
    char taken[COUNT] = {0};
    int64_t distinct = 0;
    for (int k = 0; k < count; ++k) {
      const int at = set == 0 ? k : random_below(&random_state, COUNT);
      points[2 * k] = at % WIDTH;
      points[2 * k + 1] = at / WIDTH;
      distinct += !taken[at]++;
    }
    cvtm_torus_mesh t = check_torus(points, count, d, distinct);
    cvtm_torus_mesh_free(&t);
  }
  points[1] = NAN;
  cvtm_torus_mesh none = {0};
  assert_int_equal(cvtm_delaunay_torus(NULL, points, COUNT, d, &none, NULL), CVTM_ERROR_INPUT);
  assert_refused(cvtm_delaunay_torus(NULL, points, 0, d, &none, NULL));
}

TEST(test_bad_input) {
  double points[] = {0, 0, 1, 0, 0, 1};
  cvtm_mesh mesh = {.vertex_count = 77};
  cvtm_error error = {CVTM_OK, ""};
  assert_refused(cvtm_delaunay(points, 0, &mesh, &error));
  assert_refused(cvtm_delaunay(points, -1, &mesh, &error));
  assert_refused(cvtm_delaunay(points, (int64_t)INT32_MAX + 1, &mesh, &error));
  assert_refused(cvtm_delaunay(NULL, 3, &mesh, &error));
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e301};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
    points[5] = bad[k];
    assert_int_equal(cvtm_delaunay(points, 3, &mesh, &error), CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, "point 2"));
  }
  assert_int_equal(mesh.vertex_count, 77);
  assert_null(mesh.points);
  assert_int_equal(cvtm_delaunay(points, 3, &mesh, NULL), CVTM_ERROR_INPUT);
}

TEST_MAIN()
