/* The triangulation by the stars of a device is that of the host, triangle for triangle. */
#include "test_devices.h"

#include "meshes/device_delaunay.h"
#include "point_sets.h"

static cvtm_device *device;
static uint64_t random_state;

static void assert_of_host(const double *points, int64_t count, cvtm_mesh *mesh) {
  cvtm_mesh host = {0};
  assert_ok(cvtm_delaunay(points, count, &host, NULL));
  assert_same_mesh(mesh, &host);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, mesh, &host);
}

/* Returns how many stars were left undecided; if none, the mesh is compared with the host's. */
static int64_t undecided(const double *points, int64_t count) {
  cvtm_device_delaunay *d = NULL;
  int64_t left = -1;
  assert_device_ok(device, cvtm_device_delaunay_create(device, count, &d));
  assert_copy_in(device, cvtm_device_delaunay_points(d), points,
                 (size_t)(2 * count) * sizeof *points);
  assert_device_ok(device, cvtm_device_delaunay_build(d, &left));
  if (left == 0) {
    cvtm_mesh mesh = {0};
    assert_device_ok(device, cvtm_device_delaunay_copy_out(d, &mesh));
    assert_of_host(points, count, &mesh);
  }
  cvtm_device_delaunay_destroy(d);
  return left;
}

static void triangulate(const double *points, int64_t count) {
  assert_int_equal(undecided(points, count), 0);
}

/* ---- Tests ---- */

TEST(test_few_points) {
  const double points[] = {3, 4, 10, -2, 7.5, 8, 7, 7};
  for (int64_t n = 1; n <= 4; ++n) triangulate(points, n);
  const double clockwise[] = {0, 0, 0, 1, 1, 0}, square[] = {0, 0, 1, 0, 0, 1, 1, 1};
  triangulate(clockwise, 3);
  triangulate(square, 4);
}

TEST(test_random_sets) {
  random_state = 1;
  double points[2 * 300];
  for (int round = 0; round < 1000; ++round) {
    const int n = 1 + random_below(&random_state, round % 10 == 0 ? 300 : 64);
    fill_random(points, n, 640, &random_state);
    triangulate(points, n);
  }
}

/* On a few grid lines nearly everything is coincident, collinear or cocircular. */
TEST(test_integer_sets) {
  random_state = 2;
  double points[2 * 200];
  for (int round = 0; round < 1000; ++round) {
    const int n = 1 + random_below(&random_state, 200), lines = 1 + random_below(&random_state, 16);
    fill_integers(points, n, lines, &random_state);
    triangulate(points, n);
  }
}

TEST(test_lattices) {
  enum { SIDE = 60 };
  double *points = new_points(SIDE * SIDE);
  for (int shear = 0; shear < 3; ++shear) {
    fill_lattice(points, SIDE, shear);
    triangulate(points, SIDE * SIDE);
  }
  free(points);
}

/* All integer points on circles, with and without their centre. */
TEST(test_cocircular) {
  static const int radius2[] = {25, 1105, 5525, 27625, 71825};
  for (size_t c = 0; c < sizeof radius2 / sizeof radius2[0]; ++c) {
    double points[2 * 400];
    const int n = fill_circle(points, radius2[c]);
    assert_true(n >= 12);
    triangulate(points, n);
    points[2 * n] = points[2 * n + 1] = 0;
    triangulate(points, n + 1);
    /* Two such circles that overlap. */
    for (int k = 0; k < n; ++k) {
      points[2 * (n + k)] = points[2 * k] + 7;
      points[2 * (n + k) + 1] = points[2 * k + 1] + 1;
    }
    triangulate(points, 2 * (int64_t)n);
  }
}

TEST(test_collinear) {
  random_state = 3;
  double points[2 * 100];
  for (int direction = 0; direction < 4; ++direction) {
    fill_line(points, 100, direction, &random_state);
    triangulate(points, 100);
    points[0] = points[1] = 1000; /* one beside the line makes a fan */
    triangulate(points, 100);
  }
}

TEST(test_coincident) {
  double points[2 * 300];
  fill_one_place(points, 300);
  triangulate(points, 300);
  random_state = 4;
  fill_copies(points, 300, &random_state);
  triangulate(points, 300);
}

TEST(test_clusters) {
  random_state = 5;
  enum { COUNT = 4000 };
  double *points = new_points(COUNT);
  for (int round = 0; round < 4; ++round) {
    fill_clusters(points, COUNT, round == 3, &random_state);
    triangulate(points, round == 0 ? 400 : COUNT);
  }
  free(points);
}

TEST(test_extreme_and_nearly_degenerate_sets) { each_hard_set(triangulate); }

/* Random points, points on the pixels' corners, a graded set, a thin strip, a hub with rings. */
TEST(test_many_points) {
  random_state = 8;
  enum { COUNT = 30000, KINDS = 5 };
  double *points = new_points(COUNT);
  for (int kind = 0; kind < KINDS; ++kind) {
    for (int k = 0; k < COUNT; ++k) {
      const double x = random_unit(&random_state), y = random_unit(&random_state);
      const double angle = 2 * acos(-1.0) * k / 100;
      double *p = points + 2 * (ptrdiff_t)k;
      p[0] = kind == 1 ? rint(200 * x) : kind == 2 ? exp(8 * x) : 4096 * x;
      p[1] = kind == 1 ? rint(200 * y) : kind == 2 ? exp(8 * y) : (kind == 3 ? 0.5 : 4096.0) * y;
      if (kind == 4) p[0] = (k / 100) * cos(angle);
      if (kind == 4) p[1] = (k / 100) * sin(angle);
    }
    triangulate(points, COUNT);
  }
  free(points);
}

/* A hub has many neighbours nearly on a circle; these, and not the hub, find its triangles. */
TEST(test_hubs) {
  enum { COUNT = 2000, ROWS = 3 };
  double *points = new_points(ROWS * COUNT);
  for (int hub = 0; hub < 3; ++hub) {
    for (int k = 0; k < ROWS * COUNT; ++k) {
      const double angle = k * (2 * acos(-1.0) / COUNT), distance = 1 + k / COUNT;
      points[2 * k] = 5 * hub + distance * cos(angle);
      points[2 * k + 1] = distance * sin(angle);
    }
    points[2 * hub * COUNT] = 5 * hub; /* first, in the middle, or last of all */
    points[2 * hub * COUNT + 1] = 0;
    triangulate(points, ROWS * COUNT);
  }
  /* A row, and one point above its end. */
  for (int k = 0; k < COUNT; ++k) {
    points[2 * k] = k;
    points[2 * k + 1] = k == 0 ? -1 : 0;
  }
  triangulate(points, COUNT);
  free(points);
}

/* What would take too long is left to the host, and the mesh is the same. */
TEST(test_host_completes) {
  enum { COUNT = 20000 };
  double *points = new_points(COUNT);
  fill_ring(points, COUNT, 0);
  assert_true(undecided(points, COUNT) > 0);
  cvtm_mesh mesh = {0};
  cvtm_delaunay_report report;
  assert_ok(cvtm_delaunay_on(device, points, COUNT, &mesh, &report, NULL));
  assert_false(report.on_device);
  assert_of_host(points, COUNT, &mesh);
  free(points);
}

TEST(test_whole_call) {
  enum { COUNT = 5000 };
  random_state = 9;
  double *points = new_points(COUNT);
  fill_random(points, COUNT, 1, &random_state);
  cvtm_mesh mesh = {0};
  cvtm_delaunay_report report;
  assert_ok(cvtm_delaunay_on(device, points, COUNT, &mesh, &report, NULL));
  assert_int_equal(report.on_device, cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA);
  assert_of_host(points, COUNT, &mesh);
  free(points);
}

/* The points that the device has are those that it takes. */
TEST(test_resident_points) {
  enum { COUNT = 3000 };
  random_state = 11;
  double *points = new_points(COUNT), *other = new_points(COUNT);
  fill_random(points, COUNT, 1, &random_state);
  fill_random(other, COUNT, 1, &random_state);
  double *resident = copied_in(device, points, 2 * COUNT, sizeof *points);
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  cvtm_mesh mesh = {0};
  cvtm_delaunay_report report;
  assert_ok(cvtm_delaunay_resident(device, is_cuda ? other : points, resident, COUNT, &mesh,
                                   &report, NULL));
  assert_int_equal(report.on_device, is_cuda);
  assert_of_host(points, COUNT, &mesh);
  double *kept = copied_out(device, resident, 2 * COUNT, sizeof *kept);
  assert_memory_equal(kept, points, 2 * COUNT * sizeof *points);
  cvtm_device_free(device, resident);
  free_all(points, other, kept);
}

TEST(test_bad_input) {
  double points[] = {0, 0, 1, 0, 0, 1};
  cvtm_mesh mesh = {.vertex_count = 77};
  cvtm_error error = {CVTM_OK, ""};
  assert_refused(cvtm_delaunay_on(device, points, 0, &mesh, NULL, &error));
  assert_refused(cvtm_delaunay_on(device, NULL, 3, &mesh, NULL, &error));
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e301};
  for (size_t k = 0; k < 4 * sizeof bad / sizeof bad[0]; ++k) {
    points[4] = points[5] = points[0] = points[1] = 0.5;
    points[k / 4 < 2 ? k / 4 : 2 + k / 4] = bad[k % 4];
    assert_int_equal(cvtm_delaunay_on(device, points, 3, &mesh, NULL, &error), CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, k / 4 < 2 ? "point 0" : "point 2"));
  }
  assert_int_equal(mesh.vertex_count, 77);
  assert_null(mesh.points);
}

TEST_DEVICE_MAIN_AS(device, 0)
