/* Constrained triangulations, checked by exact integer arithmetic of the test's own. */

#include "testing.h"

#include "meshes/constrained.h"
#include "meshes/domain_plan.h"
#include "splitmix64.h"

__extension__ typedef __int128 int128;

static uint64_t random_state = 1;

enum { MOST_EDGES = 4096 };

/* A boundary in fixed arrays, and the points that follow its vertices. */
typedef struct input {
  double points[2 * 8192];
  int64_t count;
  int32_t edges[2 * MOST_EDGES], left[MOST_EDGES], right[MOST_EDGES];
  cvtm_boundary boundary;
} input;

static void begin(input *in) {
  memset(in, 0, sizeof *in);
  in->boundary.edges = in->edges;
  in->boundary.left = in->left;
  in->boundary.right = in->right;
}

static int32_t add_point(input *in, double x, double y) {
  in->points[2 * in->count] = x;
  in->points[2 * in->count + 1] = y;
  return (int32_t)in->count++;
}

static void add_edge(input *in, int32_t a, int32_t b, int32_t left, int32_t right) {
  const int64_t e = in->boundary.edge_count++;
  in->edges[2 * e] = a;
  in->edges[2 * e + 1] = b;
  in->left[e] = left;
  in->right[e] = right;
}

/* A ring of count corners, given counterclockwise as seen with y up (clockwise in a list with y
 * down), around `left`. */
static void add_ring(input *in, const double *corners, int count, int32_t left, int32_t right) {
  const int32_t first = (int32_t)in->count;
  for (int k = 0; k < count; ++k) (void)add_point(in, corners[2 * k], corners[2 * k + 1]);
  for (int k = 0; k < count; ++k) add_edge(in, first + k, first + (k + 1) % count, left, right);
}

typedef struct output {
  cvtm_mesh mesh;
  cvtm_regions regions;
  int32_t *source;
  cvtm_error error;
} output;

static cvtm_status triangulate(const input *in, output *out) {
  memset(out, 0, sizeof *out);
  return cvtm_constrained_delaunay(in->points, in->count, &in->boundary, &out->mesh, &out->regions,
                                   &out->source, &out->error);
}

static void discard(output *out) {
  cvtm_mesh_free(&out->mesh);
  cvtm_regions_free(&out->regions);
  free(out->source);
}

/* ---- The checks: all coordinates are integers ---- */

typedef struct place {
  int64_t x, y; /* y up */
} place;

static place place_of(const cvtm_mesh *m, int32_t v) {
  return (place){(int64_t)m->points[2 * v], -(int64_t)m->points[2 * v + 1]};
}

static int64_t orient(place a, place b, place c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static int inside_circle(place a, place b, place c, place d) {
  const place p = {a.x - d.x, a.y - d.y}, q = {b.x - d.x, b.y - d.y}, r = {c.x - d.x, c.y - d.y};
  const int128 p2 = p.x * p.x + p.y * p.y, q2 = q.x * q.x + q.y * q.y, r2 = r.x * r.x + r.y * r.y;
  return p2 * (q.x * r.y - q.y * r.x) - q2 * (p.x * r.y - p.y * r.x) +
             r2 * (p.x * q.y - p.y * q.x) >
         0;
}

static int find_edge(const cvtm_regions *r, int32_t a, int32_t b) {
  for (int64_t e = 0; e < r->edge_count; ++e) {
    const int32_t *v = r->edges + 2 * e;
    if ((v[0] == a && v[1] == b) || (v[0] == b && v[1] == a)) return (int)e;
  }
  return -1;
}

/* Every edge without a twin, or between two regions, is one of the boundary's with the right
 * sides; all others are locally Delaunay, which makes the whole constrained Delaunay (Chew
 * 1989). Returns twice the area. */
static int64_t check(const output *out) {
  const cvtm_mesh *m = &out->mesh;
  const cvtm_regions *r = &out->regions;
  int64_t twice = 0, found = 0;
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    const int32_t *v = m->triangles + 3 * t;
    const int64_t area = orient(place_of(m, v[0]), place_of(m, v[1]), place_of(m, v[2]));
    assert_true(area > 0);
    twice += area;
    for (int k = 0; k < 3; ++k) {
      const int32_t a = v[k], b = v[(k + 1) % 3], c = v[(k + 2) % 3];
      int64_t across = -1;
      int32_t apex = -1;
      for (int64_t u = 0; u < m->triangle_count; ++u) {
        for (int j = 0; j < 3; ++j) {
          if (m->triangles[3 * u + j] != b || m->triangles[3 * u + (j + 1) % 3] != a) continue;
          assert_int_equal(across, -1);
          across = u;
          apex = m->triangles[3 * u + (j + 2) % 3];
        }
      }
      const int32_t here = r->region[t], there = across >= 0 ? r->region[across] : 0;
      const int e = find_edge(r, a, b);
      if (e >= 0) {
        ++found;
        const int same = r->edges[2 * e] == a;
        assert_int_equal(same ? r->left[e] : r->right[e], here);
        assert_int_equal(same ? r->right[e] : r->left[e], there);
      } else {
        assert_int_equal(here, there);
        assert_false(
            inside_circle(place_of(m, a), place_of(m, b), place_of(m, c), place_of(m, apex)));
      }
    }
  }
  int64_t sides = 0;
  for (int64_t e = 0; e < r->edge_count; ++e) sides += (r->left[e] > 0) + (r->right[e] > 0);
  assert_int_equal(found, sides);
  return twice;
}

/* Cells fill the mesh; edges between two cells belong to both. */
static void check_cells(const output *out, int64_t twice) {
  cvtm_cells cells = {0};
  assert_ok(cvtm_cells_of_domain(&out->mesh, &cells, NULL));
  double sum = 0;
  int64_t between = 0;
  for (int64_t v = 0; v < cells.count; ++v) {
    for (int64_t k = cells.start[v]; k < cells.start[v + 1]; ++k) {
      const double *a = cells.corners + 2 * k;
      const double *b = cells.corners + 2 * (k + 1 < cells.start[v + 1] ? k + 1 : cells.start[v]);
      sum += (b[0] - a[0]) * (a[1] + b[1]); /* counterclockwise, y up: positive */
      if (cells.neighbors[k] < 0) continue;
      assert_int_not_equal(cells.neighbors[k], v);
      between += cells.neighbors[k] > v ? 1 : -1;
    }
  }
  assert_int_equal(between, 0);
  /* Centres of flat triangles are far away and large: most digits cancel. */
  assert_true(fabs(sum - (double)twice) < 1e-6 * (double)twice);
  cvtm_cells_free(&cells);
}

static int64_t run(const input *in) {
  output out;
  if (triangulate(in, &out) != CVTM_OK) fail_msg("%s", out.error.message);
  const int64_t twice = check(&out);
  check_cells(&out, twice);
  discard(&out);
  return twice;
}

/* ---- The cases ---- */

/* A comb whose teeth the unconstrained Delaunay triangulation would bridge, with points around it.
 */
TEST(combs_are_not_bridged) {
  static input in;
  for (int trial = 0; trial < 6; ++trial) {
    begin(&in);
    double corner[2 * 64];
    int n = 0;
    corner[2 * n] = 0, corner[2 * n++ + 1] = 1000;
    corner[2 * n] = 2100, corner[2 * n++ + 1] = 1000;
    int64_t twice = 2 * 2100 * 200;
    for (int tooth = 10; tooth >= 0; --tooth) { /* from the right */
      const int top = 100 + random_below(&random_state, 300);
      corner[2 * n] = 200 * tooth + 100, corner[2 * n++ + 1] = 800;
      corner[2 * n] = 200 * tooth + 95, corner[2 * n++ + 1] = top;
      corner[2 * n] = 200 * tooth + 5, corner[2 * n++ + 1] = top;
      corner[2 * n] = 200 * tooth, corner[2 * n++ + 1] = 800;
      twice += (100 + 90) * (800 - top);
    }
    add_ring(&in, corner, n, 1, 0);
    for (int k = 0; k < 150; ++k) {
      (void)add_point(&in, random_below(&random_state, 2300) - 100,
                      random_below(&random_state, 1100));
    }
    assert_true(run(&in) == twice);
  }
}

/* Chords of a circle that do not cross, with as many regions as they cut it into. */
TEST(chords_divide_a_disc) {
  static input in;
  begin(&in);
  double corner[2 * 40];
  for (int k = 0; k < 40; ++k) {
    const double angle = -2 * 3.14159265358979323846 * k / 40; /* counterclockwise with y up */
    corner[2 * k] = rint(5000 + 4000 * cos(angle));
    corner[2 * k + 1] = rint(5000 + 4000 * sin(angle));
  }
  for (int k = 0; k < 40; ++k) (void)add_point(&in, corner[2 * k], corner[2 * k + 1]);
  /* Chords k - (40 - k) are parallel: strips 1 to 5. */
  static const int cut[6] = {0, 4, 8, 12, 16, 20};
  for (int s = 0; s < 5; ++s) {
    for (int k = cut[s]; k < cut[s + 1]; ++k) {
      add_edge(&in, k, k + 1, s + 1, 0);
      add_edge(&in, 39 - k, (40 - k) % 40, s + 1, 0);
    }
    if (s < 4) add_edge(&in, cut[s + 1], 40 - cut[s + 1], s + 1, s + 2);
  }
  for (int k = 0; k < 400; ++k)
    (void)add_point(&in, random_below(&random_state, 10000), random_below(&random_state, 10000));
  output out;
  if (triangulate(&in, &out) != CVTM_OK) fail_msg("%s", out.error.message);
  int64_t twice = 0;
  for (int k = 1; k + 1 < 40; ++k) {
    const double *a = corner, *b = corner + 2 * k, *c = b + 2;
    twice += llabs((int64_t)((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])));
  }
  assert_true(check(&out) == twice);
  /* Of each strip its outline, in two parts but for the first and last, and four chords. */
  assert_int_equal(out.regions.curve_count, 12);
  for (int64_t t = 1; t < out.mesh.triangle_count; ++t)
    assert_true(out.regions.region[t] >= out.regions.region[t - 1]);
  for (int64_t v = 0; v < out.mesh.vertex_count; ++v)
    assert_memory_equal(out.mesh.points + 2 * v, in.points + 2 * out.source[v], 2 * sizeof(double));
  discard(&out);
}

/* On a lattice edges run through other points, and four points in every circle. */
TEST(edges_through_points_are_divided) {
  static input in;
  begin(&in);
  static const double outline[8] = {0, 12, 12, 12, 12, 0, 0, 0};
  static const double hole[8] = {3, 3, 9, 3, 9, 9, 3, 9};
  add_ring(&in, outline, 4, 1, 0);
  add_ring(&in, hole, 4, 1, 0);
  for (int k = 0; k < 169; ++k) (void)add_point(&in, k % 13, k / 13);
  assert_int_equal(run(&in), 2 * (144 - 36));
}

/* Rings that touch in a vertex and in a side. */
TEST(rings_may_touch) {
  static input in;
  begin(&in);
  static const double outline[8] = {0, 140, 180, 140, 180, 0, 0, 0};
  static const double first[6] = {40, 40, 90, 70, 40, 100}, second[6] = {140, 40, 140, 100, 90, 70};
  static const double third[6] = {90, 0, 110, 20, 70, 20};
  add_ring(&in, outline, 4, 1, 0);
  add_ring(&in, first, 3, 1, 0);
  add_ring(&in, second, 3, 1, 0);
  add_ring(&in, third, 3, 1, 0);
  for (int k = 0; k < 200; ++k)
    (void)add_point(&in, random_below(&random_state, 181), random_below(&random_state, 141));
  assert_int_equal(run(&in), 2 * (180 * 140 - 2 * 1500 - 400));
}

TEST(contradictions_are_refused) {
  static input in;
  output out;
  static const double square[8] = {0, 100, 100, 100, 100, 0, 0, 0};
  begin(&in);
  add_ring(&in, square, 4, 1, 0);
  (void)add_point(&in, 50, 50);
  (void)add_point(&in, 150, 60);
  add_edge(&in, 4, 5, 1, 1); /* through the right side */
  assert_int_equal(triangulate(&in, &out), CVTM_ERROR_INPUT);
  assert_non_null(strstr(out.error.message, "crosses itself"));
  begin(&in);
  add_ring(&in, square, 4, 1, 0);
  in.left[2] = 2; /* the same square is two regions */
  assert_int_equal(triangulate(&in, &out), CVTM_ERROR_INPUT);
  assert_non_null(strstr(out.error.message, "is open or"));
  begin(&in);
  add_ring(&in, square, 4, 0, 0);
  assert_int_equal(triangulate(&in, &out), CVTM_ERROR_INPUT);
  assert_non_null(strstr(out.error.message, "no triangle"));
  in.edges[3] = 99;
  assert_refused(triangulate(&in, &out));
  assert_null(out.mesh.points);
}

/* Refused by the counts alone: edges and sites have numbers of 32 bits. */
TEST(more_than_numbers_of_32_bits_are_refused) {
  const double site[2] = {0, 0};
  int32_t edge[2] = {0, 99};
  cvtm_boundary boundary = {.edge_count = (int64_t)INT32_MAX + 1, .edges = edge};
  cvtm_mesh mesh = {.vertex_count = (int64_t)INT32_MAX + 1};
  cvtm_regions regions;
  cvtm_cells cells;
  int32_t *source = NULL;
  cvtm_error error;
  assert_refused(cvtm_constrained_delaunay(site, 1, &boundary, &mesh, &regions, &source, &error));
  assert_non_null(strstr(error.message, "2147483648 edges"));
  assert_refused(cvtm_cells_of_domain(&mesh, &cells, &error));
  assert_non_null(strstr(error.message, "2147483648 sites"));
}

/* Masks of noise have curves within fractions of a pixel of each other: still every edge of the
 * boundary is an edge of the mesh, and the mesh has the boundary's area. */
TEST(noise_can_be_meshed) {
  enum { W = 24, H = 20 };
  for (int trial = 0; trial < 12; ++trial) {
    float mask[W * H], density[W * H];
    for (int k = 0; k < W * H; ++k) {
      mask[k] = (float)random_below(&random_state, trial % 3 == 0 ? 2 : 256) /
                (trial % 3 == 0 ? 1.0F : 255.0F);
      density[k] = 1;
    }
    DEFAULT_OPTIONS(cvtm_contour, how);
    cvtm_contour contour = {0};
    cvtm_boundary boundary = {0};
    cvtm_domain_plan_figures figures;
    output out = {0};
    cvtm_status status = cvtm_contour_of_mask(mask, W, H, &how, &contour, &out.error);
    if (status == CVTM_OK) {
      status =
          cvtm_domain_plan(&contour, W, H, 20000, 0.3, density, &boundary, &figures, &out.error);
    }
    if (status == CVTM_OK) {
      status = cvtm_constrained_delaunay(boundary.points, boundary.vertex_count, &boundary,
                                         &out.mesh, &out.regions, &out.source, &out.error);
    }
    if (status != CVTM_OK) fail_msg("%d: %s", trial, out.error.message);
    double inside = 0, outline = 0;
    for (int64_t t = 0; t < out.mesh.triangle_count; ++t) {
      double p[3][2];
      for (int k = 0; k < 3; ++k)
        memcpy(p[k], out.mesh.points + 2 * out.mesh.triangles[3 * t + k], sizeof p[k]);
      inside +=
          (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]) - (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]);
    }
    for (int64_t e = 0; e < boundary.edge_count; ++e) {
      const double *a = boundary.points + 2 * (int64_t)boundary.edges[2 * e];
      const double *b = boundary.points + 2 * (int64_t)boundary.edges[2 * e + 1];
      outline += (boundary.left[e] - boundary.right[e]) * (b[0] - a[0]) * (a[1] + b[1]);
    }
    assert_true(fabs(inside - outline) < 1e-5); /* the grid has steps of 2e-8 */
    discard(&out);
    cvtm_boundary_free(&boundary);
    cvtm_contour_free(&contour);
  }
}

TEST_MAIN()
