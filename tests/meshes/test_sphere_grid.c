/* Triangulations of the sphere against every point and every triangle, and the C-grid on their dual
 * against its identities: areas, orthogonality, orders, and those of the weights (Thuburn et al.
 * 2009). */
#include "testing.h"

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
  double *raised = doubles(3 * count);
  memcpy(raised, mesh.points, 3 * (size_t)count * sizeof *raised);
  cvtm_sphere_mesh_free(&mesh);
  check_delaunay(raised, count);
  free_all(points, raised);
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
  double *raised = doubles(3 * count);
  memcpy(raised, mesh.points, 3 * (size_t)count * sizeof *raised);
  cvtm_sphere_mesh_free(&mesh);
  check_delaunay(raised, count);
  free_all(points, more, raised);
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

/* --- the grid --------------------------------------------------------------------------------- */

typedef struct sphere {
  cvtm_sphere_mesh mesh;
  cvtm_sphere_grid grid;
} sphere;

static sphere new_sphere(double *points, int64_t count, const unsigned char *keep) {
  sphere s;
  assert_ok(cvtm_sphere_delaunay(points, count, &s.mesh, NULL));
  assert_ok(cvtm_sphere_grid_create(&s.mesh, keep, 1, &s.grid, NULL));
  free(points);
  return s;
}

static void free_sphere(sphere *s) {
  cvtm_sphere_grid_free(&s->grid);
  cvtm_sphere_mesh_free(&s->mesh);
}

/* Random points, where kites may have negative areas, and even ones. */
static sphere spheres[2];

static int open_spheres(void **state) {
  (void)state;
  int64_t count;
  double *points = icosahedral_points(3, 0.05, &count);
  spheres[0] = new_sphere(random_sphere(500, 4), 500, NULL);
  spheres[1] = new_sphere(points, count, NULL);
  return 0;
}

static int close_spheres(void **state) {
  (void)state;
  CALL_EACH(free_sphere, sphere, &spheres[0], &spheres[1]);
  return 0;
}

static double relative(double found, double expected) { return fabs(found / expected - 1); }

TEST(areas_are_those_of_the_sphere) {
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    double cells = 0, triangles = 0, kites = 0;
    for (int64_t c = 0; c < g->cells; ++c) cells += g->cell_area[c];
    for (int64_t v = 0; v < g->vertices; ++v) {
      const cvtm_vector p = cvtm_vector_load(g->cell_point, g->cells_on_vertex[3 * v]);
      const cvtm_vector q = cvtm_vector_load(g->cell_point, g->cells_on_vertex[3 * v + 1]);
      const cvtm_vector r = cvtm_vector_load(g->cell_point, g->cells_on_vertex[3 * v + 2]);
      assert_true(fabs(cvtm_triangle_area(p, q, r) - g->triangle_area[v]) <= 1e-14);
      triangles += g->triangle_area[v];
      for (int i = 0; i < 3; ++i) kites += g->kite_area[3 * v + i];
    }
    assert_true(relative(cells, 4 * pi) <= 1e-13);
    assert_true(relative(triangles, 4 * pi) <= 1e-13);
    assert_true(relative(kites, 4 * pi) <= 1e-13);
    /* The area of a cell is that of the triangles between its corners, too. */
    for (int64_t c = 0; c < g->cells; ++c) {
      const int32_t n = g->edge_count_on_cell[c], *v = g->vertices_on_cell + c * g->max_edges;
      double area = 0;
      for (int32_t i = 1; i + 1 < n; ++i)
        area += cvtm_triangle_area(cvtm_vector_load(g->vertex_point, v[0]),
                                   cvtm_vector_load(g->vertex_point, v[i]),
                                   cvtm_vector_load(g->vertex_point, v[i + 1]));
      assert_true(fabs(area - g->cell_area[c]) <= 1e-14);
    }
  }
}

TEST(numbers_have_eulers_sums) {
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    int64_t degrees = 0;
    for (int64_t c = 0; c < g->cells; ++c) degrees += 6 - g->edge_count_on_cell[c];
    assert_int_equal(g->cells - g->edges + g->vertices, 2);
    assert_int_equal(degrees, 12);
  }
}

static cvtm_vector difference(const double *points, const int32_t pair[2]) {
  return cvtm_vector_add(cvtm_vector_load(points, pair[1]), -1, cvtm_vector_load(points, pair[0]));
}

/* The normal of an edge goes from its first cell to its second, the tangent 90 degrees to the left
 * of it from its first vertex to its second. */
TEST(edges_are_orthogonal) {
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    for (int64_t e = 0; e < g->edges; ++e) {
      const cvtm_vector normal = difference(g->cell_point, g->cells_on_edge + 2 * e);
      const cvtm_vector tangent = difference(g->vertex_point, g->vertices_on_edge + 2 * e);
      const cvtm_vector at = cvtm_vector_load(g->edge_point, e);
      const double dc = cvtm_vector_length(normal), dv = cvtm_vector_length(tangent);
      assert_true(fabs(2 * asin(0.5 * dc) - g->dc[e]) <= 1e-14);
      assert_true(fabs(2 * asin(0.5 * dv) - g->dv[e]) <= 1e-14);
      if (dv < 1e-3) continue; /* a short edge has no exact direction */
      assert_true(fabs(cvtm_vector_dot(normal, tangent)) <= 1e-12 * dc * dv / fmin(1, 100 * dv));
      assert_true(cvtm_vector_dot(cvtm_vector_cross(at, normal), tangent) > 0);
      /* Cosine and sine of the angle are the parts to the east and to the north. */
      const cvtm_vector east = cvtm_vector_unit(cvtm_vector_of(-at.y, at.x, 0));
      const cvtm_vector north = cvtm_vector_cross(at, east);
      assert_true(fabs(cvtm_vector_dot(normal, east) / dc - cos(g->angle[e])) <= 1e-12);
      assert_true(fabs(cvtm_vector_dot(normal, north) / dc - sin(g->angle[e])) <= 1e-12);
    }
  }
}

/* Around a cell counterclockwise: cell i is beyond edge i, vertex i lies between edges i and i + 1.
 * Around a vertex counterclockwise: cell i lies between edges i and i + 1. */
TEST(orders_are_those_of_mpas) {
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    for (int64_t c = 0; c < g->cells; ++c) {
      const int64_t at = c * g->max_edges;
      const int32_t n = g->edge_count_on_cell[c];
      double turned = 0;
      for (int32_t i = 0; i < n; ++i) {
        const int32_t e = g->edges_on_cell[at + i], next = g->edges_on_cell[at + (i + 1) % n];
        const int32_t *cells = g->cells_on_edge + 2 * (int64_t)e;
        const int first = cells[0] == c;
        assert_int_equal(cells[first ? 0 : 1], c);
        assert_int_equal(cells[first ? 1 : 0], g->cells_on_cell[at + i]);
        const int32_t v = g->vertices_on_cell[at + i];
        /* The vertex to the left of the way out of the cell, which the next edge has, too. */
        assert_int_equal(v, g->vertices_on_edge[2 * (int64_t)e + first]);
        assert_int_equal(
            v, g->vertices_on_edge[2 * (int64_t)next + (g->cells_on_edge[2 * (int64_t)next] != c)]);
        turned += cvtm_triangle_area(
            cvtm_vector_load(g->cell_point, c), cvtm_vector_load(g->vertex_point, v),
            cvtm_vector_load(g->vertex_point, g->vertices_on_cell[at + (i + 1) % n]));
      }
      assert_true(fabs(turned - g->cell_area[c]) <= 1e-13); /* counterclockwise, once around */
      for (int32_t i = n; i < g->max_edges; ++i) assert_int_equal(g->edges_on_cell[at + i], -1);
    }
    for (int64_t v = 0; v < g->vertices; ++v) {
      for (int i = 0; i < 3; ++i) {
        const int64_t e = g->edges_on_vertex[3 * v + i];
        const int second = g->vertices_on_edge[2 * e + 1] == v;
        assert_int_equal(g->vertices_on_edge[2 * e + second], v);
        assert_int_equal(g->cells_on_vertex[3 * v + i], g->cells_on_edge[2 * e + second]);
        const int64_t next = g->edges_on_vertex[3 * v + (i + 1) % 3];
        const int32_t *cells = g->cells_on_edge + 2 * next;
        const int32_t shared = g->cells_on_vertex[3 * v + i];
        assert_true(cells[0] == shared || cells[1] == shared);
      }
    }
  }
}

/* The weight of edge `other` for the tangential velocity on e, times dc / dv: 0 if there is none.
 */
static double scaled_weight(const cvtm_sphere_grid *g, int64_t e, int32_t other) {
  for (int32_t k = 0; k < g->edge_count_on_edge[e]; ++k)
    if (g->edges_on_edge[2 * e * g->max_edges + k] == other)
      return g->weights_on_edge[2 * e * g->max_edges + k] * g->dc[e] / g->dv[other];
  return 0;
}

/* w(e, e') = -w(e', e): the Coriolis force does no work (Thuburn et al. 2009). */
TEST(weights_are_antisymmetric) {
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    for (int64_t e = 0; e < g->edges; ++e) {
      const int32_t *cells = g->cells_on_edge + 2 * e;
      assert_int_equal(g->edge_count_on_edge[e],
                       g->edge_count_on_cell[cells[0]] + g->edge_count_on_cell[cells[1]] - 2);
      for (int32_t i = 0; i < g->edge_count_on_edge[e]; ++i) {
        const int32_t other = g->edges_on_edge[2 * e * g->max_edges + i];
        const double w = scaled_weight(g, e, other);
        assert_true(fabs(w) > 0 || g->cell_area[cells[0]] > 0);
        assert_true(fabs(w + scaled_weight(g, other, (int32_t)e)) <= 1e-12);
      }
    }
  }
}

static void set_divergence(const cvtm_sphere_grid *g, const double *u, double *divergence) {
  for (int64_t c = 0; c < g->cells; ++c) {
    divergence[c] = 0;
    for (int32_t k = 0; k < g->edge_count_on_cell[c]; ++k) {
      const int64_t e = g->edges_on_cell[c * g->max_edges + k];
      const double out = g->cells_on_edge[2 * e] == c ? u[e] : -u[e];
      divergence[c] += out * g->dv[e] / g->cell_area[c];
    }
  }
}

static double tangential(const cvtm_sphere_grid *g, const double *u, int64_t e) {
  double sum = 0;
  for (int32_t k = 0; k < g->edge_count_on_edge[e]; ++k)
    sum += g->weights_on_edge[2 * e * g->max_edges + k] *
           u[g->edges_on_edge[2 * e * g->max_edges + k]];
  return sum;
}

/* For any velocities: divergences add to nothing, and the tangential velocities flow out of a
 * triangle as the normal ones do out of its kites, so that geostrophic modes stay (Thuburn et al.
 * 2009, section 3). */
TEST(divergence_and_geostrophic_modes) {
  uint64_t seed = 6;
  for (int k = 0; k < 2; ++k) {
    const cvtm_sphere_grid *g = &spheres[k].grid;
    double *u = doubles(g->edges), *divergence = doubles(g->cells), sum = 0, most = 0;
    for (int64_t e = 0; e < g->edges; ++e) u[e] = 2 * random_unit(&seed) - 1;
    set_divergence(g, u, divergence);
    for (int64_t c = 0; c < g->cells; ++c) {
      sum += g->cell_area[c] * divergence[c];
      most = fmax(most, fabs(g->cell_area[c] * divergence[c]));
    }
    assert_true(fabs(sum) <= 1e-12);
    for (int64_t v = 0; v < g->vertices; ++v) {
      double out = 0, inside = 0;
      for (int i = 0; i < 3; ++i) {
        const int64_t e = g->edges_on_vertex[3 * v + i];
        const double sign = g->vertices_on_edge[2 * e + 1] == v ? -1 : 1;
        out += sign * tangential(g, u, e) * g->dc[e];
        inside += g->kite_area[3 * v + i] * divergence[g->cells_on_vertex[3 * v + i]];
      }
      assert_true(fabs(out - inside) <= 1e-12 * fmax(1, most));
    }
    free_all(u, divergence);
  }
}

/* The tangential velocity of a rotation of the sphere, on even cells. */
TEST(weights_reconstruct_a_rotation) {
  const cvtm_sphere_grid *g = &spheres[1].grid;
  const cvtm_vector axis = {0.3, -0.5, 0.8};
  double *u = doubles(g->edges), *expected = doubles(g->edges), sum = 0;
  for (int64_t e = 0; e < g->edges; ++e) {
    const cvtm_vector at = cvtm_vector_load(g->edge_point, e), speed = cvtm_vector_cross(axis, at);
    const cvtm_vector n = cvtm_vector_unit(difference(g->cell_point, g->cells_on_edge + 2 * e));
    u[e] = cvtm_vector_dot(speed, n);
    expected[e] = cvtm_vector_dot(speed, cvtm_vector_cross(at, n));
  }
  for (int64_t e = 0; e < g->edges; ++e) {
    const double off = tangential(g, u, e) - expected[e];
    sum += off * off / (double)g->edges;
  }
  assert_true(sqrt(sum) < 0.06);
  free_all(u, expected);
}

/* A grid with a hole is the whole grid without what has no cell. */
TEST(left_out_cells_are_left_out_alone) {
  const cvtm_sphere_grid *whole = &spheres[0].grid;
  enum { N = 500 };
  unsigned char keep[N];
  int64_t kept = 0;
  for (int i = 0; i < N; ++i) kept += keep[i] = whole->cell_point[3 * i + 2] < 0.3;
  double *points = doubles(3 * N);
  memcpy(points, spheres[0].mesh.points, 3 * N * sizeof *points);
  sphere part = new_sphere(points, N, keep);
  const cvtm_sphere_grid *g = &part.grid;
  assert_int_equal(g->cells, kept);
  int64_t boundary = 0;
  for (int64_t c = 0; c < g->cells; ++c) {
    const int64_t old = g->cell_parent[c];
    assert_true(keep[old] && (c == 0 || g->cell_parent[c - 1] < old));
    assert_true(g->cell_area[c] == whole->cell_area[old]);
    assert_int_equal(g->edge_count_on_cell[c], whole->edge_count_on_cell[old]);
    for (int32_t k = 0; k < g->edge_count_on_cell[c]; ++k) {
      const int32_t beyond = g->cells_on_cell[c * g->max_edges + k];
      const int32_t old_beyond = whole->cells_on_cell[old * whole->max_edges + k];
      assert_int_equal(beyond >= 0, keep[old_beyond]);
      if (beyond >= 0) assert_int_equal(g->cell_parent[beyond], old_beyond);
      const int64_t e = g->edges_on_cell[c * g->max_edges + k];
      const int64_t old_e = whole->edges_on_cell[old * whole->max_edges + k];
      assert_memory_equal(g->edge_point + 3 * e, whole->edge_point + 3 * old_e, 3 * sizeof(double));
      assert_true(g->cells_on_edge[2 * e] >= 0);
      const int first = g->cells_on_edge[2 * e] == c;
      assert_int_equal(g->cells_on_edge[2 * e + first], beyond);
      /* The tangent stays to the left. */
      assert_memory_equal(
          g->vertex_point + 3 * (int64_t)g->vertices_on_edge[2 * e + first],
          whole->vertex_point + 3 * (int64_t)whole->vertices_on_cell[old * whole->max_edges + k],
          3 * sizeof(double));
    }
  }
  for (int64_t e = 0; e < g->edges; ++e) boundary += g->cells_on_edge[2 * e + 1] < 0;
  assert_true(boundary > 20 && boundary < kept);
  for (int64_t v = 0; v < g->vertices; ++v) {
    double area = 0;
    for (int i = 0; i < 3; ++i) {
      const int64_t at = 3 * v + i;
      assert_true(g->cells_on_vertex[at] >= 0 || g->kite_area[at] == 0);
      area += g->kite_area[at];
    }
    assert_true(fabs(area - g->triangle_area[v]) <= 1e-16); /* as MPAS counts it */
  }
  free_sphere(&part);
  cvtm_error error;
  cvtm_sphere_grid none = {0};
  memset(keep, 0, sizeof keep);
  assert_int_equal(cvtm_sphere_grid_create(&spheres[0].mesh, keep, 1, &none, &error),
                   CVTM_ERROR_INPUT);
  assert_null(none.cell_point);
}

int main(void) { return cmocka_run_group_tests(testing_tests, open_spheres, close_spheres); }
