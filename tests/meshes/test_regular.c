/* The regular triangulation of weighted points: every triangle's power circle is empty in exact
 * arithmetic, the triangles fill the convex hull, and with equal weights it is Delaunay's. */
#include "test_devices.h"

#include "meshes/device_delaunay.h"
#include "meshes/delaunay/grid.h"
#include "point_sets.h"

static cvtm_device *device;
static uint64_t random_state;

/* Points and weights as the triangulation rounds them. */
typedef struct rounded {
  cvtm_grid_point *place;
  int64_t *weight;
} rounded;

static rounded round_all(const double *points, const double *weights, int64_t count) {
  rounded r = {allocated(count, sizeof *r.place), allocated(count, sizeof *r.weight)};
  double *copy = new_points(count), step = 0, least = weights[0];
  assert_true(r.place && r.weight);
  memcpy(copy, points, (size_t)(2 * count) * sizeof *copy);
  assert_ok(cvtm_snap_to_steps(copy, count, r.place, &step, NULL));
  double most = weights[0];
  for (int64_t i = 0; i < count; ++i) least = fmin(least, weights[i]);
  for (int64_t i = 0; i < count; ++i) most = fmax(most, weights[i]);
  for (; (most - least) / step / step > 0x1p61; step *= 2)
    for (int64_t i = 0; i < count; ++i) /* points lie on the larger steps already */
      r.place[i] = (cvtm_grid_point){r.place[i].x / 2, r.place[i].y / 2};
  for (int64_t i = 0; i < count; ++i)
    r.weight[i] = (int64_t)rint((weights[i] - least) / step / step);
  free(copy);
  return r;
}

/* The sign of: is d above the plane through a, b and c (counterclockwise), all lifted to
 * |p|^2 - weight, or to |p|^2? */
static int above(const rounded *r, const int32_t *abc, int64_t d, int weighted) {
  cvtm_int128 sum = 0;
  for (int k = 0; k < 3; ++k) {
    const int32_t a = abc[k];
    const cvtm_grid_point b = r->place[abc[(k + 1) % 3]], c = r->place[abc[(k + 2) % 3]];
    const int64_t x = (int64_t)r->place[a].x - r->place[d].x;
    const int64_t y = (int64_t)r->place[a].y - r->place[d].y;
    const int64_t lift = x * x + y * y + (weighted ? r->weight[d] - r->weight[a] : 0);
    sum += (cvtm_int128)lift * cvtm_orient(r->place[d], b, c);
  }
  return sum > 0 ? -1 : sum < 0;
}

/* Where powers tie distances decide, and of points on one circle the first is a corner of all
 * triangles. */
static void assert_right(const rounded *r, const int32_t *abc, int64_t d) {
  const int power = above(r, abc, d, 1), distance = power == 0 ? above(r, abc, d, 0) : 1;
  assert_true(power >= 0 && distance >= 0);
  for (int k = 0; k < 3 && distance == 0; ++k)
    if (!cvtm_precedes(r->place[d], r->place[abc[k]])) return;
  assert_true(distance > 0);
}

static int compare_int64(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* No point lies below a triangle, no edge is twice in one direction, and the triangles are as many
 * as the vertices that they use and those on their border ask for. The border has no reentrant
 * corner if no point is outside it. */
static void assert_regular(const cvtm_mesh *mesh, const double *weights) {
  const int64_t n = mesh->vertex_count, edges = 3 * mesh->triangle_count;
  rounded r = round_all(mesh->points, weights, n);
  int64_t *edge = allocated(edges + 1, sizeof *edge), border = 0, used = 0;
  char *is_used = calloc((size_t)n, 1);
  assert_true(edge && is_used);
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *v = mesh->triangles + 3 * t;
    assert_true(v[0] < v[1] && v[0] < v[2]);
    assert_true(t == 0 || v[0] > v[-3] || (v[0] == v[-3] && v[1] > v[-2]));
    assert_true(cvtm_orient(r.place[v[0]], r.place[v[1]], r.place[v[2]]) > 0);
    for (int64_t d = 0; d < n; ++d) assert_right(&r, v, d);
    for (int k = 0; k < 3; ++k) edge[3 * t + k] = (int64_t)v[k] * n + v[(k + 1) % 3];
    for (int k = 0; k < 3; ++k) is_used[v[k]] = 1;
  }
  qsort(edge, (size_t)edges, sizeof *edge, compare_int64);
  for (int64_t e = 0; e < edges; ++e) {
    assert_true(e == 0 || edge[e] > edge[e - 1]);
    const int64_t from = edge[e] / n, to = edge[e] % n, back = to * n + from;
    if (bsearch(&back, edge, (size_t)edges, sizeof *edge, compare_int64)) continue;
    ++border;
    for (int64_t d = 0; d < n; ++d)
      assert_true(cvtm_orient(r.place[from], r.place[to], r.place[d]) >= 0);
  }
  for (int64_t i = 0; i < n; ++i) used += is_used[i];
  if (edges > 0) assert_int_equal(mesh->triangle_count, 2 * used - 2 - border);
  if (edges > 0) assert_int_equal(mesh->coincident_count, n - used);
  assert_int_equal(mesh->collinear != 0, edges == 0);
  free_all(edge, is_used, r.place, r.weight);
}

static cvtm_mesh triangulate(const double *points, const double *weights, int64_t count) {
  cvtm_mesh mesh = {0};
  cvtm_error error = {CVTM_OK, ""};
  cvtm_delaunay_report report;
  const cvtm_status status =
      cvtm_regular_triangulation(device, points, weights, count, &mesh, &report, &error);
  if (status != CVTM_OK) fail_msg("%s", error.message);
  assert_int_equal(report.on_device, cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA);
  return mesh;
}

/* Triangulates, checks, and compares with the host's mesh, if the device is another. Returns how
 * many points have no triangles. */
static int64_t check(const double *points, const double *weights, int64_t count) {
  cvtm_mesh mesh = triangulate(points, weights, count), host = {0};
  const int64_t hidden = mesh.coincident_count;
  assert_regular(&mesh, weights);
  assert_ok(cvtm_regular_triangulation(NULL, points, weights, count, &host, NULL, NULL));
  assert_same_mesh(&mesh, &host);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &mesh, &host);
  return hidden;
}

static void fill_weights(double *weights, int count, double size) {
  for (int k = 0; k < count; ++k) weights[k] = size * random_unit(&random_state);
}

/* ---- Tests ---- */

static void check_delaunay(const double *points, const double *weights, int64_t n) {
  cvtm_mesh mesh = triangulate(points, weights, n), delaunay = {0};
  assert_ok(cvtm_delaunay(points, n, &delaunay, NULL));
  assert_same_mesh(&mesh, &delaunay);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &mesh, &delaunay);
}

TEST(test_equal_weights) {
  random_state = 1;
  double points[2 * 200], weights[200];
  for (int k = 0; k < 200; ++k) weights[k] = -3.25;
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + random_below(&random_state, 200);
    if (round % 2) fill_integers(points, n, 1 + random_below(&random_state, 16), &random_state);
    if (round % 2 == 0) fill_random(points, n, 640, &random_state);
    check_delaunay(points, weights, n);
  }
}

/* From weights that hide no point to such that hide nearly all. */
TEST(test_random_weights) {
  random_state = 2;
  double points[2 * 120], weights[120];
  int64_t hidden = 0, all = 0;
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + random_below(&random_state, round % 10 == 0 ? 120 : 40);
    fill_random(points, n, 640, &random_state);
    fill_weights(weights, n, pow(10, round % 7));
    hidden += check(points, weights, n);
    all += n;
  }
  assert_true(hidden > all / 20 && hidden < all / 2);
}

/* Integers: bisectors through points, equal powers of many points, and points at one place. */
TEST(test_integer_weights) {
  random_state = 3;
  double points[2 * 100], weights[100];
  for (int round = 0; round < 300; ++round) {
    const int n = 1 + random_below(&random_state, 100), lines = 1 + random_below(&random_state, 12);
    fill_integers(points, n, lines, &random_state);
    for (int k = 0; k < n; ++k) weights[k] = random_below(&random_state, 1 + round % 40);
    check(points, weights, n);
  }
}

/* Points on a plane once lifted: every circle passes by all, and distances decide. */
TEST(test_equal_powers) {
  random_state = 4;
  double points[2 * 80], weights[80];
  for (int round = 0; round < 100; ++round) {
    const int n = 3 + random_below(&random_state, 78);
    fill_integers(points, n, 2 + round % 30, &random_state);
    for (int k = 0; k < n; ++k)
      weights[k] = points[2 * k] * points[2 * k] + points[2 * k + 1] * points[2 * k + 1] +
                   3 * points[2 * k] - points[2 * k + 1];
    check_delaunay(points, weights, n);
  }
}

/* The triangulation does not depend on the points' order. */
TEST(test_order) {
  random_state = 5;
  enum { COUNT = 60 };
  double points[2 * COUNT], weights[COUNT], turned[2 * COUNT], turned_weights[COUNT];
  for (int round = 0; round < 50; ++round) {
    fill_integers(points, COUNT, 12, &random_state);
    for (int k = 0; k < COUNT; ++k) /* the weight belongs to the place: no coincident points tie */
      weights[k] = (int)(points[2 * k] * 5 + points[2 * k + 1] * 3) % 7;
    for (int k = 0; k < COUNT; ++k) {
      memcpy(turned + 2 * k, points + 2 * (COUNT - 1 - k), 2 * sizeof *turned);
      turned_weights[k] = weights[COUNT - 1 - k];
    }
    cvtm_mesh a = triangulate(points, weights, COUNT);
    cvtm_mesh b = triangulate(turned, turned_weights, COUNT);
    double sums[2] = {0, 0};
    assert_int_equal(a.triangle_count, b.triangle_count);
    for (int64_t t = 0; t < a.triangle_count; ++t) {
      const cvtm_mesh *both[2] = {&a, &b};
      for (int m = 0; m < 2; ++m) { /* of the triangles' places, in any order */
        double x = 1, y = 1;
        for (int k = 0; k < 3; ++k) {
          const double *p = both[m]->points + 2 * (ptrdiff_t)both[m]->triangles[3 * t + k];
          x *= 17 + 3 * p[0] + 5 * p[1];
          y *= 29 + 7 * p[0] + 2 * p[1];
        }
        sums[m] += x + 3 * y;
      }
    }
    assert_true(sums[0] == sums[1]);
    CALL_EACH(cvtm_mesh_free, cvtm_mesh, &a, &b);
  }
}

/* Weights that decide the grid's step, and such as no grid can hold. */
TEST(test_large_weights) {
  const double points[] = {0, 0, 1, 0, 1, 1, 0, 1, 0.5, 0.25};
  double weights[5] = {0, 0, 0, 0, -1e12};
  cvtm_mesh mesh = triangulate(points, weights, 5);
  assert_int_equal(mesh.triangle_count, 2);
  assert_int_equal(mesh.coincident_count, 1);
  cvtm_mesh_free(&mesh);
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e301, -1e301};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
    cvtm_error error = {CVTM_OK, ""};
    weights[2] = bad[k];
    assert_int_equal(cvtm_regular_triangulation(device, points, weights, 5, &mesh, NULL, &error),
                     CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, "weight"));
  }
}

/* A density of sites that changes, and weights that change with it, as cells of equal mass have. */
TEST(test_many_points) {
  random_state = 6;
  enum { COUNT = 20000 };
  double *points = new_points(COUNT), *weights = doubles(COUNT);
  for (int kind = 0; kind < 3; ++kind) {
    for (int k = 0; k < COUNT; ++k) {
      double *p = points + 2 * (ptrdiff_t)k;
      p[0] = 1024 * pow(random_unit(&random_state), kind == 1 ? 2 : 1);
      p[1] = 1024 * random_unit(&random_state);
      const double area = 1024. * 1024 / COUNT;
      weights[k] = kind == 0   ? area * random_unit(&random_state)
                   : kind == 1 ? 40 * p[0] - 9 * p[1] + p[0] * random_unit(&random_state) / 10
                   : k == 7    ? 1e5
                               : 0; /* one hides those around it */
    }
    cvtm_mesh mesh = triangulate(points, weights, COUNT), host = {0};
    assert_ok(cvtm_regular_triangulation(NULL, points, weights, COUNT, &host, NULL, NULL));
    assert_same_mesh(&mesh, &host);
    int64_t border = 0;
    rounded r = round_all(points, weights, COUNT);
    for (int64_t t = 0; t < mesh.triangle_count; ++t)
      for (int k = 0; k < 64; ++k) /* of these 64 points none lies below */
        assert_right(&r, mesh.triangles + 3 * t, random_below(&random_state, COUNT));
    free_all(r.place, r.weight);
    border = 2 * (COUNT - mesh.coincident_count) - 2 - mesh.triangle_count;
    assert_true(border >= 3 && border < 200);
    assert_true(kind == 1 || mesh.coincident_count > 100);
    CALL_EACH(cvtm_mesh_free, cvtm_mesh, &mesh, &host);
  }
  free_all(points, weights);
}

TEST_DEVICE_MAIN_AS(device, 0)
