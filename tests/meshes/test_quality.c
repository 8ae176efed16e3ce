/* Quality of triangles and meshes that are known. */
#include "testing.h"

#include <omp.h>

#include "meshes/mesh.h"
#include "splitmix64.h"

static void assert_near(double a, double b, double tolerance) {
  if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

static cvtm_quality quality_of(double *points, int64_t vertices, int32_t *triangles, int64_t count,
                               const cvtm_domain *domain) {
  const cvtm_mesh mesh = {
      .vertex_count = vertices, .triangle_count = count, .points = points, .triangles = triangles};
  cvtm_quality quality;
  assert_ok(cvtm_quality_compute(&mesh, domain, &quality, NULL));
  return quality;
}

static cvtm_quality_figures one_triangle(double ax, double ay, double bx, double by, double cx,
                                         double cy) {
  double points[] = {ax, ay, bx, by, cx, cy};
  int32_t triangles[] = {0, 1, 2}, turned[] = {2, 1, 0};
  const cvtm_quality q = quality_of(points, 3, triangles, 1, NULL);
  const cvtm_quality r = quality_of(points, 3, turned, 1, NULL);
  assert_int_equal(q.all.triangles, 1);
  assert_int_equal(q.inner.triangles, 1);
  assert_int_equal(q.interior_vertices, 0);
  assert_near(q.all.min_angle, r.all.min_angle, 1e-12);
  assert_near(q.all.min_q, r.all.min_q, 1e-12);
  assert_near(q.all.max_aspect, r.all.max_aspect, 1e-9 * q.all.max_aspect);
  assert_near(q.all.mean_q, q.all.min_q, 0);
  assert_near(q.all.mean_min_angle, q.all.min_angle, 0);
  assert_near(q.all.mean_area, q.all.max_area, 0);
  return q.all;
}

TEST(test_known_triangles) {
  cvtm_quality_figures f = one_triangle(0, 0, 2, 0, 1, sqrt(3.0));
  assert_near(f.min_angle, 60, 1e-12);
  assert_near(f.min_q, 1, 1e-14);
  assert_near(f.max_aspect, 1, 1e-14);
  assert_near(f.min_area, sqrt(3.0), 1e-14);
  assert_int_equal(f.angle_histogram[CVTM_ANGLE_BINS - 1], 1);
  assert_int_equal(f.degenerate, 0);

  f = one_triangle(7, 7, 8, 7, 7, 8); /* right, isosceles */
  assert_near(f.min_angle, 45, 1e-12);
  assert_near(f.min_q, 2 * sqrt(3.0) * 0.5 / ((1 + sqrt(0.5)) * sqrt(2.0)), 1e-14);
  assert_near(f.max_aspect, 2 / (2 / sqrt(3.0)), 1e-14);

  f = one_triangle(0, 0, 4, 0, 0, 3);
  assert_near(f.min_angle, atan2(3, 4) * 180 / acos(-1.0), 1e-12);
  assert_near(f.min_q, 2 * sqrt(3.0) * 6 / (6 * 5), 1e-14);
  assert_near(f.max_area, 6, 0);
  assert_near(f.max_aspect, 5 / 2.4 * sqrt(3.0) / 2, 1e-14);
  assert_int_equal(f.angle_histogram[7], 1);

  f = one_triangle(0, 0, 10, 0, 5, 0.5); /* obtuse: the smallest angle is at a longer side */
  assert_near(f.min_angle, atan2(0.5, 5) * 180 / acos(-1.0), 1e-12);
  assert_int_equal(f.angle_histogram[1], 1);
}

TEST(test_slivers) {
  /* One unit in the last place off the line counts as an area; on it, as none. */
  cvtm_quality_figures f = one_triangle(0.1, 0.1, 0.7, 0.7, 0.3, nextafter(0.3, 1));
  assert_int_equal(f.degenerate, 0);
  assert_true(f.min_area > 0 && f.min_angle > 0 && f.min_q > 0);
  f = one_triangle(0.1, 0.1, 0.7, 0.7, 0.3, 0.3);
  assert_int_equal(f.degenerate, 1);
  assert_true(f.min_area == 0 && f.min_angle == 0 && f.min_q == 0);
  assert_true(isfinite(f.max_aspect));
  assert_int_equal(f.angle_histogram[0], 1);
  f = one_triangle(3, 3, 3, 3, 3, 3);
  assert_int_equal(f.degenerate, 1);
}

TEST(test_circumcentres) {
  /* The first triangle's circumcentre is (2, 1.5), the second's (2, 0): the border is inside. */
  double points[] = {0, 0, 4, 0, 0, 3, 2, -2, 4, 3};
  int32_t triangles[] = {0, 2, 1, 0, 1, 3};
  const cvtm_domain domain = {4, 3, 0};
  cvtm_quality q = quality_of(points, 5, triangles, 2, &domain);
  assert_int_equal(q.all.triangles, 2);
  assert_int_equal(q.inner.triangles, 2);
  points[7] = -0.5; /* now its circumcentre is (2, 3.75) */
  q = quality_of(points, 5, triangles, 2, &domain);
  assert_int_equal(q.inner.triangles, 1);
  assert_near(q.inner.max_area, 6, 0);
  assert_int_equal(q.vertices, 5);
}

/* A patch of the triangular lattice: all inner vertices have six neighbours. */
TEST(test_lattice_degrees) {
  enum { SIDE = 12 };
  double points[2 * SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; ++k) {
    const int i = k % SIDE, j = k / SIDE;
    points[2 * k] = i - 3 + 0.5 * (j % 2);
    points[2 * k + 1] = j * sqrt(0.75) - 3;
  }
  cvtm_mesh mesh = {0};
  assert_ok(cvtm_delaunay(points, SIDE * SIDE, &mesh, NULL));
  cvtm_quality q;
  assert_ok(cvtm_quality_compute(&mesh, NULL, &q, NULL));
  assert_int_equal(q.vertices, SIDE * SIDE);
  /* The border's notches are closed by flat triangles, so its notched vertices are inner. */
  assert_true(q.interior_vertices >= (SIDE - 2) * (SIDE - 2));
  assert_true(q.degree_histogram[6] >= (SIDE - 2) * (SIDE - 2) - 2 * SIDE);
  int64_t sum = 0;
  for (int k = 0; k < 16; ++k) sum += q.degree_histogram[k];
  assert_int_equal(sum, q.interior_vertices);
  /* A domain that holds the circumcentres around some vertices only. */
  const cvtm_domain domain = {5, 4, 0};
  cvtm_quality inner;
  assert_ok(cvtm_quality_compute(&mesh, &domain, &inner, NULL));
  assert_true(inner.interior_vertices > 0 && inner.interior_vertices < q.interior_vertices);
  assert_near(inner.degree6_share,
              (double)inner.degree_histogram[6] / (double)inner.interior_vertices, 0);
  assert_true(inner.inner.triangles < inner.all.triangles);
  assert_int_equal(inner.all.triangles, mesh.triangle_count);
  assert_near(inner.inner.min_angle, 60, 1e-5);
  assert_near(inner.inner.mean_q, 1, 1e-7);
  cvtm_mesh_free(&mesh);
}

/* A wheel: one inner vertex whose degree is the number of spokes. */
TEST(test_wheels) {
  double points[2 * 31];
  int32_t triangles[3 * 30];
  for (int spokes = 3; spokes <= 30; ++spokes) {
    points[0] = points[1] = 0;
    for (int k = 0; k < spokes; ++k) {
      points[2 * k + 2] = cos(2 * acos(-1.0) * k / spokes);
      points[2 * k + 3] = sin(2 * acos(-1.0) * k / spokes);
      /* Every other triangle the other way round: orientation does not matter. */
      triangles[3 * k] = 0;
      triangles[3 * k + 1 + k % 2] = k + 1;
      triangles[3 * k + 2 - k % 2] = (k + 1) % spokes + 1;
    }
    cvtm_quality q = quality_of(points, spokes + 1, triangles, spokes, NULL);
    assert_int_equal(q.interior_vertices, 1);
    assert_int_equal(q.degree_histogram[spokes < 15 ? spokes : 15], 1);
    assert_near(q.degree6_share, spokes == 6, 0);
    /* Without one triangle the vertex is on the border. */
    q = quality_of(points, spokes + 1, triangles, spokes - 1, NULL);
    assert_int_equal(q.interior_vertices, 0);
    assert_near(q.degree6_share, 0, 0);
  }
}

TEST(test_empty_and_bad) {
  double points[] = {0, 0, 1, 0, 0, 1};
  int32_t triangles[] = {0, 1, 3};
  cvtm_quality q = quality_of(points, 3, triangles, 0, NULL);
  assert_int_equal(q.all.triangles, 0);
  assert_int_equal(q.inner.triangles, 0);
  assert_true(q.all.mean_q == 0 && q.degree6_share == 0);
  cvtm_mesh mesh = {
      .vertex_count = 3, .triangle_count = 1, .points = points, .triangles = triangles};
  cvtm_error error = {CVTM_OK, ""};
  assert_refused(cvtm_quality_compute(&mesh, NULL, &q, &error));
  triangles[2] = -1;
  assert_refused(cvtm_quality_compute(&mesh, NULL, &q, &error));
  triangles[2] = 2;
  points[5] = 1e300;
  points[2] = -1e300;
  assert_int_equal(cvtm_quality_compute(&mesh, NULL, &q, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "triangle 0"));
}

/* The figures of one triangle of a mesh; none if it is too large to measure. */
static cvtm_quality_figures figures_of(const double *points, const int32_t *corners) {
  double xy[6];
  int32_t triangle[] = {0, 1, 2};
  for (int k = 0; k < 6; ++k) xy[k] = points[2 * corners[k / 2] + k % 2];
  const cvtm_mesh mesh = {
      .vertex_count = 3, .triangle_count = 1, .points = xy, .triangles = triangle};
  cvtm_quality quality = {.vertices = 0};
  (void)cvtm_quality_compute(&mesh, NULL, &quality, NULL);
  return quality.all;
}

/* A mesh of several blocks: the figures are those of its triangles one by one, and the same bits
 * for any number of threads. */
TEST(test_many_triangles) {
  enum { COLUMNS = 201, ROWS = 121, VERTICES = COLUMNS * ROWS };
  enum { TRIANGLES = 2 * (COLUMNS - 1) * (ROWS - 1) };
  double *points = doubles(2 * VERTICES);
  int32_t *triangles = allocated(3 * TRIANGLES, sizeof *triangles), *next = triangles;
  uint64_t random_state = 1;
  for (int v = 0; v < VERTICES; ++v) {
    points[2 * v] = v % COLUMNS + 0.4 * random_unit(&random_state);
    points[2 * v + 1] = v / COLUMNS + 0.4 * random_unit(&random_state);
  }
  for (int v = 0; v < VERTICES - COLUMNS; ++v) {
    const int32_t corners[6] = {v, v + COLUMNS, v + 1, v + 1, v + COLUMNS, v + COLUMNS + 1};
    if (v % COLUMNS == COLUMNS - 1) continue;
    memcpy(next, corners, sizeof corners);
    next += 6;
  }
  const int most = omp_get_max_threads();
  omp_set_num_threads(1);
  const cvtm_quality one = quality_of(points, VERTICES, triangles, TRIANGLES, NULL);
  omp_set_num_threads(5);
  const cvtm_quality five = quality_of(points, VERTICES, triangles, TRIANGLES, NULL);
  omp_set_num_threads(most);
  assert_memory_equal(&one, &five, sizeof one);
  cvtm_quality_figures sum = {.min_angle = 60, .min_q = 1, .min_area = 1};
  for (int t = 0; t < TRIANGLES; ++t) {
    const cvtm_quality_figures f = figures_of(points, triangles + 3 * t);
    sum.min_angle = fmin(sum.min_angle, f.min_angle);
    sum.mean_min_angle += f.mean_min_angle / TRIANGLES;
    sum.min_q = fmin(sum.min_q, f.min_q);
    sum.mean_q += f.mean_q / TRIANGLES;
    sum.min_area = fmin(sum.min_area, f.min_area);
    sum.max_area = fmax(sum.max_area, f.max_area);
    sum.mean_area += f.mean_area / TRIANGLES;
    sum.max_aspect = fmax(sum.max_aspect, f.max_aspect);
    for (int bin = 0; bin < CVTM_ANGLE_BINS; ++bin)
      sum.angle_histogram[bin] += f.angle_histogram[bin];
  }
  assert_int_equal(one.all.triangles, TRIANGLES);
  assert_near(one.all.min_angle, sum.min_angle, 0);
  assert_near(one.all.min_q, sum.min_q, 0);
  assert_near(one.all.min_area, sum.min_area, 0);
  assert_near(one.all.max_area, sum.max_area, 0);
  assert_near(one.all.max_aspect, sum.max_aspect, 0);
  assert_near(one.all.mean_min_angle, sum.mean_min_angle, 1e-9);
  assert_near(one.all.mean_q, sum.mean_q, 1e-11);
  assert_near(one.all.mean_area, sum.mean_area, 1e-11);
  assert_memory_equal(one.all.angle_histogram, sum.angle_histogram, sizeof sum.angle_histogram);
  assert_int_equal(one.interior_vertices, (COLUMNS - 2) * (ROWS - 2));
  assert_int_equal(one.degree_histogram[6], one.interior_vertices);

  /* An error names the first triangle, wherever the blocks begin. */
  const cvtm_mesh mesh = {.vertex_count = VERTICES,
                          .triangle_count = TRIANGLES,
                          .points = points,
                          .triangles = triangles};
  cvtm_quality quality;
  cvtm_error error = {CVTM_OK, ""};
  for (int v = VERTICES / 2; v + 1 < VERTICES; v += COLUMNS / 2)
    points[2 * v] = points[2 * v + 3] = 1e300;
  assert_int_equal(cvtm_quality_compute(&mesh, NULL, &quality, &error), CVTM_ERROR_INPUT);
  int first = 0;
  while (figures_of(points, triangles + 3 * first).triangles == 1) ++first;
  char expected[40];
  snprintf(expected, sizeof expected, "triangle %d is", first);
  assert_non_null(strstr(error.message, expected));
  free_all(points, triangles);
}

TEST_MAIN()
