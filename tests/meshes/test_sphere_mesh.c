/* Triangulations of the sphere against every point and every triangle.
 * tests/cli/test_sphere_grid.py has the C-grid on their dual. */
#include "testing.h"

#include "base/file.h"
#include "base/sphere.h"
#include "meshes/sphere.h"
#include "sphere_points.h"

typedef __int128 wide;

static const double pi = 3.14159265358979323846;

/* Latitudes and longitudes: four points of each quadrilateral lie on one circle. */
static double *lattice_points(int rows, int columns, int64_t *count) {
  double *points = doubles(3 * ((int64_t)rows * columns + 2));
  cvtm_vector_store(points, 0, cvtm_vector_of(0, 0, 1));
  cvtm_vector_store(points, 1, cvtm_vector_of(0, 0, -1));
  *count = 2;
  for (int j = 1; j <= rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      const double y = pi * j / (rows + 1) - 0.5 * pi, x = 2 * pi * i / columns;
      cvtm_vector_store(points, (*count)++,
                        cvtm_vector_of(cos(y) * cos(x), cos(y) * sin(x), sin(y)));
    }
  }
  return points;
}

/* An icosahedral grid of 10 * 4^levels + 2 points, each moved by up to `jitter` of a spacing. */
static double *icosahedral_points(int levels, double jitter, int64_t *count) {
  double *points = doubles(36);
  const double golden = 0.5 + sqrt(1.25);
  for (int k = 0; k < 12; ++k) {
    double at[3] = {0, 0, 0};
    at[k / 4] = k & 1 ? -1 : 1;
    at[(k / 4 + 1) % 3] = k & 2 ? -golden : golden;
    cvtm_vector_store(points, k, cvtm_vector_unit(cvtm_vector_of(at[0], at[1], at[2])));
  }
  *count = 12;
  for (int level = 0; level < levels; ++level) {
    cvtm_sphere_mesh mesh;
    assert_ok(cvtm_sphere_delaunay(points, *count, &mesh, NULL));
    free(points);
    *count = 4 * *count - 6;
    assert_ok(cvtm_sphere_refine(&mesh, *count, &points, NULL));
    cvtm_sphere_mesh_free(&mesh);
  }
  uint64_t seed = 5;
  const double reach = jitter * sqrt(8 * pi / sqrt(3.0) / (double)*count);
  for (int64_t i = 0; i < *count; ++i) {
    const cvtm_vector aside = {2 * random_unit(&seed) - 1, 2 * random_unit(&seed) - 1,
                               2 * random_unit(&seed) - 1};
    cvtm_vector_store(points, i,
                      cvtm_vector_unit(cvtm_vector_add(cvtm_vector_load(points, i), reach, aside)));
  }
  return points;
}

/* --- triangulations --------------------------------------------------------------------------- */

/* The determinant of the differences to the first point, of points rounded to 2^-39. */
static wide exact_volume(const double *points, const int32_t c[3], int64_t p) {
  int64_t at[4][3];
  for (int k = 0; k < 4; ++k)
    for (int axis = 0; axis < 3; ++axis)
      at[k][axis] = llrint(ldexp(points[3 * (k < 3 ? c[k] : p) + axis], 39));
  wide d[3][3];
  for (int k = 0; k < 3; ++k)
    for (int axis = 0; axis < 3; ++axis) d[k][axis] = (wide)at[k + 1][axis] - at[0][axis];
  return d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) +
         d[0][1] * (d[1][2] * d[2][0] - d[1][0] * d[2][2]) +
         d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
}

/* No point lies outside the plane of a triangle, every edge has one triangle on each side, and the
 * degrees have Euler's sum. */
static void check_delaunay(const double *points, int64_t count) {
  cvtm_sphere_mesh mesh;
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = cvtm_sphere_delaunay(points, count, &mesh, &error);
  if (status != CVTM_OK) fail_msg("%s", error.message);
  assert_int_equal(mesh.count, count);
  assert_int_equal(mesh.triangle_count, 2 * count - 4);
  assert_memory_equal(mesh.points, points, 3 * (size_t)count * sizeof *points);
  unsigned char *joined = calloc((size_t)(count * count), 1);
  int64_t sum = 6 * count;
  for (int64_t t = 0; t < mesh.triangle_count; ++t) {
    const int32_t *c = mesh.triangles + 3 * t;
    for (int64_t p = 0; p < count; ++p) assert_true(exact_volume(points, c, p) <= 0);
    for (int k = 0; k < 3; ++k) {
      const int64_t edge = c[k] * count + c[(k + 1) % 3];
      assert_int_equal(joined[edge], 0);
      joined[edge] = 1;
    }
    sum -= 3;
    assert_true(c[0] < c[1] && c[0] < c[2] && (t == 0 || c[-3] <= c[0]));
  }
  for (int64_t e = 0; e < count * count; ++e)
    assert_int_equal(joined[e], joined[e % count * count + e / count]);
  assert_int_equal(sum, 12);
  free(joined);
  cvtm_sphere_mesh_free(&mesh);
}

TEST(no_point_is_outside_a_triangle) {
  int64_t count;
  double *random = random_sphere(400, 1), *lattice = lattice_points(15, 24, &count);
  check_delaunay(lattice, count);
  check_delaunay(random, 400);
  for (int64_t i = 100; i < 400; ++i) /* three quarters within a thousandth of the radius */
    for (int axis = 0; axis < 3; ++axis)
      random[3 * i + axis] = (axis == 2) + 1e-3 * random[3 * i + axis];
  for (int64_t i = 100; i < 400; ++i)
    cvtm_vector_store(random, i, cvtm_vector_unit(cvtm_vector_load(random, i)));
  check_delaunay(random, 400);
  static const double cube[24] = {1, 1, 1,  -1, 1, 1,  1, -1, 1,  -1, -1, 1,
                                  1, 1, -1, -1, 1, -1, 1, -1, -1, -1, -1, -1};
  double corners[24];
  for (int k = 0; k < 24; ++k) corners[k] = cube[k] / sqrt(3.0);
  check_delaunay(corners, 8);
  free_all(random, lattice);
}

/* Points of three circles, nearly: where rounded numbers lie is decided by few units of
 * determinants of 120 bits. */
TEST(near_ties_are_decided_exactly) {
  uint64_t seed = 11;
  for (int trial = 0; trial < 3000; ++trial) {
    double points[45];
    const cvtm_vector axis = cvtm_vector_unit(cvtm_vector_of(
        random_unit(&seed) - 0.5, random_unit(&seed) - 0.5, random_unit(&seed) - 0.5));
    cvtm_vector e1, e2;
    cvtm_tangents(axis, &e1, &e2);
    for (int k = 0; k < 15; ++k) {
      const double z = 0.7 * (k % 3 - 1), r = sqrt(1 - z * z);
      const double turn = 0.4 * pi * ((double)(k / 3) + 0.9 * random_unit(&seed));
      const cvtm_vector aside = {r * (cos(turn) * e1.x + sin(turn) * e2.x),
                                 r * (cos(turn) * e1.y + sin(turn) * e2.y),
                                 r * (cos(turn) * e1.z + sin(turn) * e2.z)};
      cvtm_vector_store(points, k, cvtm_vector_add(aside, z, axis));
    }
    check_delaunay(points, 15);
  }
}

TEST(triangles_do_not_depend_on_the_order_of_points) {
  enum { N = 1000 };
  double *points = random_sphere(N, 2), *turned = doubles(3 * N);
  cvtm_sphere_mesh a, b;
  for (int64_t i = 0; i < N; ++i)
    cvtm_vector_store(turned, (i * 7 + 3) % N, cvtm_vector_load(points, i));
  assert_ok(cvtm_sphere_delaunay(points, N, &a, NULL));
  assert_ok(cvtm_sphere_delaunay(turned, N, &b, NULL));
  unsigned char *known = calloc((size_t)N * N, 1);
  for (int64_t h = 0; h < 3 * a.triangle_count; ++h) {
    const int32_t from = a.triangles[h], to = a.triangles[h % 3 == 2 ? h - 2 : h + 1];
    known[(from * 7 + 3) % N * N + (to * 7 + 3) % N] = 1;
  }
  for (int64_t h = 0; h < 3 * b.triangle_count; ++h)
    assert_int_equal(known[b.triangles[h] * N + b.triangles[h % 3 == 2 ? h - 2 : h + 1]], 1);
  free_all(points, turned, known);
  cvtm_sphere_mesh_free(&a);
  cvtm_sphere_mesh_free(&b);
}

TEST(bad_points_are_refused) {
  cvtm_sphere_mesh mesh = {0};
  cvtm_error error;
  double *points = random_sphere(100, 3);
  assert_refused(cvtm_sphere_delaunay(points, 3, &mesh, &error));
  memcpy(points + 3 * 60, points + 3 * 20, 3 * sizeof *points);
  assert_int_equal(cvtm_sphere_delaunay(points, 100, &mesh, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "too near"));
  for (int64_t i = 50; i < 100; ++i) /* a cluster in which the sphere is flat */
    cvtm_vector_store(
        points, i,
        cvtm_vector_unit(cvtm_vector_of(1, 1e-7 * points[3 * i], 1e-7 * points[3 * i + 1])));
  assert_int_equal(cvtm_sphere_delaunay(points, 100, &mesh, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "too near"));
  points[3 * 60] = NAN;
  assert_int_equal(cvtm_sphere_delaunay(points, 100, &mesh, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "point 61"));
  free(points);
  points = random_sphere(100, 3);
  for (int64_t i = 0; i < 100; ++i) points[3 * i] = fabs(points[3 * i]);
  assert_int_equal(cvtm_sphere_delaunay(points, 100, &mesh, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "surround"));
  assert_null(mesh.points);
  free(points);
}

TEST(quality_of_an_octahedron) {
  static const double points[18] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality q;
  assert_ok(cvtm_sphere_delaunay(points, 6, &mesh, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &q, NULL));
  const double found[] = {q.min_angle, q.mean_min_angle,     q.max_angle,
                          q.not_six,   q.min_arc * 180 / pi, q.max_arc * 180 / pi};
  static const double expected[] = {60, 60, 60, 1, 90, 90};
  for (int k = 0; k < 6; ++k) assert_true(fabs(found[k] - expected[k]) <= 1e-12 * expected[k]);
  assert_int_equal(q.degree[4], 6);
  assert_int_equal(q.obtuse, 0);
  cvtm_sphere_mesh_free(&mesh);
}

/* Points that are moved by a quarter of their spacing make many obtuse triangles. */
TEST(raised_triangles_are_not_obtuse) {
  int64_t count;
  double *points = icosahedral_points(3, 0.22, &count);
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality before, after;
  assert_ok(cvtm_sphere_delaunay(points, count, &mesh, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &before, NULL));
  assert_true(before.obtuse > 20 && before.min_angle < 35);
  assert_ok(cvtm_sphere_raise(&mesh, 12, 45, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &after, NULL));
  assert_int_equal(after.obtuse, 0);
  assert_true(after.min_angle >= 45 && after.max_angle <= 89);
  assert_memory_equal(mesh.points, points, 36 * sizeof *points); /* the fixed ones */
  check_delaunay(mesh.points, mesh.count);
  cvtm_sphere_mesh_free(&mesh);
  free(points);
}

/* A point between two others of a regular grid has four neighbours, and angles of 90 degrees
 * however it moves. */
TEST(a_point_with_four_neighbours_is_left_out) {
  int64_t count;
  double *points = icosahedral_points(3, 0, &count);
  double *more = doubles(3 * (count + 2));
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality q;
  memcpy(more, points, 3 * (size_t)count * sizeof *more);
  assert_ok(cvtm_sphere_delaunay(points, count, &mesh, NULL));
  for (int k = 0; k < 2; ++k) {
    const int32_t *c = mesh.triangles + 3 * (300 + 400 * (int64_t)k);
    cvtm_vector_store(more, count + k,
                      cvtm_vector_unit(cvtm_vector_add(cvtm_vector_load(points, c[0]), 1,
                                                       cvtm_vector_load(points, c[1]))));
  }
  cvtm_sphere_mesh_free(&mesh);
  assert_ok(cvtm_sphere_delaunay(more, count + 2, &mesh, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &q, NULL));
  assert_int_equal(q.degree[4], 2);
  assert_ok(cvtm_sphere_raise(&mesh, 12, 45, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &q, NULL));
  assert_int_equal(mesh.count, count);
  assert_int_equal(q.obtuse, 0);
  assert_true(q.min_angle >= 45);
  check_delaunay(mesh.points, mesh.count);
  cvtm_sphere_mesh_free(&mesh);
  free_all(points, more);
}

/* Eight points around another: however they move, it has an angle of 45 degrees at most. */
TEST(a_point_with_eight_neighbours_loses_one) {
  int64_t count;
  double *points = icosahedral_points(3, 0, &count);
  double *more = doubles(3 * (count + 2)), reach = 0;
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality q;
  assert_ok(cvtm_sphere_delaunay(points, count, &mesh, NULL));
  memcpy(more, points, 3 * (size_t)count * sizeof *more);
  const int32_t centre = mesh.triangles[3 * 700];
  int32_t h = mesh.leaves[centre], beside[8] = {[6] = (int32_t)count, (int32_t)count + 1};
  const cvtm_vector at = cvtm_vector_load(points, centre);
  cvtm_vector e1, e2;
  cvtm_tangents(at, &e1, &e2);
  for (int k = 0; k < 6; ++k) {
    beside[k] = mesh.triangles[h % 3 == 2 ? h - 2 : h + 1];
    reach += cvtm_arc(at, cvtm_vector_load(points, beside[k])) / 6;
    h = mesh.twins[h % 3 == 0 ? h + 2 : h - 1];
  }
  for (int k = 0; k < 8; ++k) {
    const cvtm_vector aside = cvtm_vector_add(at, reach * cos(pi * k / 4), e1);
    const cvtm_vector to = cvtm_vector_add(aside, reach * sin(pi * k / 4), e2);
    cvtm_vector_store(more, beside[k], cvtm_vector_unit(to));
  }
  cvtm_sphere_mesh_free(&mesh);
  assert_ok(cvtm_sphere_delaunay(more, count + 2, &mesh, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &q, NULL));
  assert_int_equal(q.degree[8], 1);
  assert_ok(cvtm_sphere_raise(&mesh, 12, 46, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &q, NULL));
  assert_true(mesh.count < count + 2 && q.degree[8] == 0 && q.min_angle >= 46);
  check_delaunay(mesh.points, mesh.count);
  cvtm_sphere_mesh_free(&mesh);
  free_all(points, more);
}

/* Neighbours that disagree do not matter. */
TEST(neighbours_are_joined) {
  enum { N = 300, MOST = 12 };
  double *points = random_sphere(N, 17);
  cvtm_sphere_mesh mesh, joined;
  int32_t *rings = allocated(MOST * N, sizeof *rings);
  assert_ok(cvtm_sphere_delaunay(points, N, &mesh, NULL));
  for (int32_t i = 0; i < N; ++i) {
    int32_t h = mesh.leaves[i], count = 0, ring[N];
    do {
      ring[count++] = mesh.triangles[h % 3 == 2 ? h - 2 : h + 1];
      h = mesh.twins[h % 3 == 0 ? h + 2 : h - 1];
    } while (h != mesh.leaves[i]);
    for (int k = 0; k < MOST; ++k) rings[MOST * i + k] = k < count ? ring[count - 1 - k] : -1;
  }
  for (int pass = 0; pass < 2; ++pass) {
    assert_ok(cvtm_sphere_join(points, N, rings, MOST, &joined, NULL));
    assert_memory_equal(mesh.triangles, joined.triangles, 6 * (N - 2) * sizeof(int32_t));
    assert_memory_equal(mesh.leaves, joined.leaves, N * sizeof(int32_t));
    cvtm_sphere_mesh_free(&joined);
    rings[MOST * 7 + 1] = 8;
  }
  cvtm_sphere_mesh_free(&mesh);
  free_all(points, rings);
}

/* --- files ------------------------------------------------------------------------------------ */

/* libnetcdf, which looks for a map in the file, takes its header. */
static void write_grid(const double *points, int64_t count, int64_t least_wide, const char *path,
                       unsigned char **bytes, size_t *size) {
  cvtm_sphere_mesh mesh;
  cvtm_sphere_grid grid;
  cvtm_geographic_grid map;
  cvtm_error error;
  const cvtm_sphere_labels labels = {1, NULL, NULL, NULL, least_wide};
  assert_ok(cvtm_sphere_delaunay(points, count, &mesh, NULL));
  assert_ok(cvtm_sphere_grid_create(&mesh, NULL, &grid, NULL));
  assert_ok(cvtm_sphere_grid_write(&grid, &labels, path, NULL));
  assert_ok(cvtm_file_read(path, SIZE_MAX / 2, bytes, size, NULL));
  assert_int_not_equal(cvtm_geographic_grid_read(path, &map, &error), CVTM_OK);
  if (cvtm_netcdf_known()) assert_non_null(strstr(error.message, "no variable"));
  remove(path);
  cvtm_sphere_grid_free(&grid);
  cvtm_sphere_mesh_free(&mesh);
}

/* With 64-bit data (CDF-5) a header is longer, and the numbers are the same. */
TEST(large_files_have_wide_headers) {
  enum { N = 300, HEADER = 8192 };
  double *points = random_sphere(N, 23);
  for (int ugrid = 0; ugrid < 2; ++ugrid) {
    const char *path = ugrid ? "wide.ugrid.nc" : "wide.nc";
    unsigned char *narrow, *broad;
    size_t size, broad_size;
    write_grid(points, N, 0, path, &narrow, &size);
    write_grid(points, N, 1, path, &broad, &broad_size);
    assert_memory_equal(narrow, "CDF\2", 4);
    assert_memory_equal(broad, "CDF\5", 4);
    assert_in_range(broad_size - size, 500, HEADER);
    assert_true(size > 4 * HEADER);
    assert_memory_equal(narrow + HEADER, broad + broad_size - size + HEADER, size - HEADER);
    free_all(narrow, broad);
  }
  free(points);
}

TEST_MAIN()
