/* Meshes of a wanted edge length: bounds on their angles and lengths, exact coordinates, and exact
 * tests of the triangulation by integer arithmetic of the test's own. */

#include "testing.h"

#include "meshes/elements/twins.h"
#include "meshes/sized_mesh.h"
#include "splitmix64.h"

#include <omp.h>

__extension__ typedef __int128 int128;

enum { MOST = 4096 };
static const double pi = 3.14159265358979323846;

typedef struct input {
  double points[2 * MOST];
  int32_t edges[2 * MOST], left[MOST], right[MOST];
  cvtm_boundary boundary;
  cvtm_sized_options options;
} input;

static input in;

static void begin(double length) {
  memset(&in, 0, sizeof in);
  in.boundary.points = in.points;
  in.boundary.edges = in.edges;
  in.boundary.left = in.left;
  in.boundary.right = in.right;
  cvtm_sized_defaults(&in.options);
  in.options.length = length;
}

static int32_t add_point(double x, double y) {
  const int64_t v = in.boundary.vertex_count++;
  assert_true(v < MOST);
  in.points[2 * v] = x;
  in.points[2 * v + 1] = -y;
  return (int32_t)v;
}

static void add_edge(int32_t a, int32_t b, int32_t left, int32_t right) {
  const int64_t e = in.boundary.edge_count++;
  in.edges[2 * e] = a;
  in.edges[2 * e + 1] = b;
  in.left[e] = left;
  in.right[e] = right;
}

/* Closes a ring of the last points, from `first` on, with `left` on its left. */
static void close_ring(int32_t first, int32_t left, int32_t right) {
  const int32_t end = (int32_t)in.boundary.vertex_count;
  for (int32_t v = first; v < end; ++v) add_edge(v, v + 1 < end ? v + 1 : first, left, right);
}

static void add_rectangle(double x, double y, double width, double height) {
  const int32_t first = add_point(x, y);
  (void)add_point(x + width, y);
  (void)add_point(x + width, y + height);
  (void)add_point(x, y + height);
  close_ring(first, 1, 0);
}

static void add_circle(double x, double y, double radius, int count, int32_t left, int32_t right) {
  const int32_t first = (int32_t)in.boundary.vertex_count;
  for (int k = 0; k < count; ++k)
    (void)add_point(x + radius * cos(2 * pi * k / count), y + radius * sin(2 * pi * k / count));
  close_ring(first, left, right);
}

typedef struct output {
  cvtm_mesh mesh;
  cvtm_regions regions;
  int32_t *source;
  cvtm_sized_figures figures;
  cvtm_error error;
  double least, first, mean; /* angles: the least, 1st percentile and mean of the smallest ones */
  double low, high;          /* 5th and 95th percentile of the lengths of edges */
} output;

static void discard(output *out) {
  cvtm_mesh_free(&out->mesh);
  cvtm_regions_free(&out->regions);
  free(out->source);
}

static int order(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double distance(const double *a, const double *b) { return hypot(a[0] - b[0], a[1] - b[1]); }

static double angle_at(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
  return fabs(atan2(ux * vy - uy * vx, ux * vx + uy * vy)) * 180 / pi;
}

static void measure(output *out) {
  const int64_t n = out->mesh.triangle_count;
  double *angle = malloc((size_t)n * sizeof *angle),
         *length = malloc(3 * (size_t)n * sizeof *angle);
  assert_non_null(angle);
  assert_non_null(length);
  out->mean = 0;
  for (int64_t t = 0; t < n; ++t) {
    const double *p[3];
    angle[t] = 180;
    for (int k = 0; k < 3; ++k)
      p[k] = out->mesh.points + 2 * (int64_t)out->mesh.triangles[3 * t + k];
    for (int k = 0; k < 3; ++k) {
      angle[t] = fmin(angle[t], angle_at(p[k], p[(k + 1) % 3], p[(k + 2) % 3]));
      length[3 * t + k] = distance(p[k], p[(k + 1) % 3]);
    }
    out->mean += angle[t] / (double)n;
  }
  qsort(angle, (size_t)n, sizeof *angle, order);
  qsort(length, 3 * (size_t)n, sizeof *length, order);
  out->least = angle[0];
  out->first = angle[n / 100];
  out->low = length[3 * n / 20];
  out->high = length[3 * n - 1 - 3 * n / 20];
  free(angle);
  free(length);
}

/* ---- Exact tests on the grid: coordinates are rounded to multiples of a power of two, such that
 * the longer side of the bounding box has 2^29 to 2^30 of them ---- */

typedef struct place {
  int64_t x, y; /* y up */
} place;

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

static place *round_points(const cvtm_mesh *m) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int64_t i = 0; i < 2 * m->vertex_count; ++i) {
    low[i % 2] = fmin(low[i % 2], m->points[i]);
    high[i % 2] = fmax(high[i % 2], m->points[i]);
  }
  int exponent;
  if (frexp(fmax(high[0] - low[0], high[1] - low[1]), &exponent) == 0.5) --exponent;
  place *places = malloc((size_t)m->vertex_count * sizeof *places);
  assert_non_null(places);
  for (int64_t v = 0; v < m->vertex_count; ++v)
    places[v] = (place){(int64_t)rint(ldexp(m->points[2 * v] - low[0], 30 - exponent)),
                        -(int64_t)rint(ldexp(m->points[2 * v + 1] - low[1], 30 - exponent))};
  return places;
}

/* Triangles are positive; an edge that is not listed in the regions is locally Delaunay. Returns
 * the area. */
static double check_triangulation(const output *out) {
  const cvtm_mesh *m = &out->mesh;
  const cvtm_regions *r = &out->regions;
  cvtm_error error;
  place *places = round_points(m);
  int64_t *twin = malloc(3 * (size_t)m->triangle_count * sizeof *twin);
  int64_t *face = malloc(((size_t)r->edge_count + 1) * sizeof *face);
  uint8_t *is_edge = calloc(3 * (size_t)m->triangle_count, 1);
  double twice = 0;
  assert_non_null(twin);
  assert_non_null(face);
  assert_non_null(is_edge);
  assert_ok(cvtm_find_twins(m->triangles, m->triangle_count, m->vertex_count, twin, NULL, &error));
  assert_true(cvtm_find_edge_faces(m->triangles, m->triangle_count, m->vertex_count, r, face));
  for (int64_t e = 0; e < r->edge_count; ++e) {
    is_edge[face[e]] = 1;
    if (twin[face[e]] >= 0) is_edge[twin[face[e]]] = 1;
  }
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t a = m->triangles[h], b = m->triangles[cvtm_half_after(h)],
                  c = m->triangles[cvtm_half_before(h)];
    if (h % 3 == 0) {
      assert_true(orient(places[a], places[b], places[c]) > 0);
      const double *p = m->points + 2 * (int64_t)a, *q = m->points + 2 * (int64_t)b,
                   *s = m->points + 2 * (int64_t)c;
      twice += (s[0] - p[0]) * (q[1] - p[1]) - (q[0] - p[0]) * (s[1] - p[1]);
    }
    if (is_edge[h]) continue;
    assert_true(twin[h] >= 0);
    const int32_t d = m->triangles[cvtm_half_before(twin[h])];
    assert_false(inside_circle(places[a], places[b], places[c], places[d]));
  }
  free(places);
  free(twin);
  free(face);
  free(is_edge);
  return 0.5 * twice;
}

/* Corners of the input are there, with the same bits; every edge of the regions lies on one of the
 * input's to the last bits. */
static void check_places(const output *out) {
  int64_t found = 0;
  for (int64_t v = 0; v < out->mesh.vertex_count; ++v) {
    if (out->source[v] < 0) continue;
    ++found;
    assert_memory_equal(out->mesh.points + 2 * v, in.points + 2 * (int64_t)out->source[v],
                        2 * sizeof(double));
  }
  assert_int_equal(found, in.boundary.vertex_count);
  for (int64_t k = 0; k < 2 * out->regions.edge_count; ++k) {
    const double *p = out->mesh.points + 2 * (int64_t)out->regions.edges[k];
    double least = INFINITY;
    for (int64_t e = 0; e < in.boundary.edge_count; ++e) {
      const double *a = in.points + 2 * (int64_t)in.edges[2 * e],
                   *b = in.points + 2 * (int64_t)in.edges[2 * e + 1];
      const double length = distance(a, b);
      if (distance(a, p) + distance(p, b) > length * (1 + 1e-9)) continue;
      const double cross = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
      least = fmin(least, fabs(cross) / length);
    }
    assert_true(least <= 4e-16 * (fabs(p[0]) + fabs(p[1])));
  }
}

static void make(output *out) {
  memset(out, 0, sizeof *out);
  const cvtm_status status = cvtm_sized_mesh(&in.boundary, &in.options, &out->mesh, &out->regions,
                                             &out->source, &out->figures, &out->error);
  if (status != CVTM_OK) fail_msg("%s", out->error.message);
  measure(out);
}

static void make_and_check(output *out, double area) {
  make(out);
  assert_true(fabs(check_triangulation(out) - area) < 1e-9 * area);
  check_places(out);
}

/* ---- Outlines ---- */

TEST(test_plate_with_a_hole) {
  output out;
  begin(1);
  add_rectangle(0.3, -7.7, 40, 40);
  add_circle(20.3, 12.3, 8, 50, 0, 1);
  make_and_check(&out, 1600 - 25 * 64 * sin(2 * pi / 50));
  assert_true(out.least > 38 && out.first > 45 && out.mean > 56.5);
  assert_true(out.low > 0.9 && out.high < 1.12);
  assert_in_range(out.mesh.vertex_count, 1600, 1800);
  discard(&out);
}

static void add_koch(double x, double y, double dx, double dy, int depth) {
  if (depth == 0) {
    (void)add_point(x, y);
    return;
  }
  dx /= 3;
  dy /= 3;
  const double s = sqrt(3) / 2, ux = 0.5 * dx + s * dy, uy = 0.5 * dy - s * dx;
  add_koch(x, y, dx, dy, depth - 1);
  add_koch(x + dx, y + dy, ux, uy, depth - 1);
  add_koch(x + dx + ux, y + dy + uy, dx - ux, dy - uy, depth - 1);
  add_koch(x + 2 * dx, y + 2 * dy, dx, dy, depth - 1);
}

TEST(test_koch_curve_ends_in_the_lattice) {
  output out;
  begin(1);
  add_koch(0, 0, 54, 0, 3);
  add_koch(54, 0, -27, 27 * sqrt(3), 3);
  add_koch(27, 27 * sqrt(3), -27, -27 * sqrt(3), 3);
  close_ring(0, 1, 0);
  make(&out);
  (void)check_triangulation(&out);
  assert_true(out.least > 59.99 && out.mean > 59.999);
  assert_true(out.low > 0.999 && out.high < 1.001);
  discard(&out);
}

TEST(test_rectangle) {
  output out;
  begin(0.5);
  add_rectangle(5e5, 5e6, 30, 20);
  make_and_check(&out, 600);
  assert_true(out.least > 38 && out.first > 44 && out.mean > 57);
  assert_true(out.low > 0.45 && out.high < 0.56);
  discard(&out);
}

TEST(test_small_unit) {
  output out;
  begin(2e-8);
  add_rectangle(-3e-7, 1e-7, 1e-6, 5e-7);
  make_and_check(&out, 5e-13);
  assert_true(out.least > 38 && out.mean > 56.5);
  discard(&out);
}

TEST(test_sharp_spike) {
  output out;
  begin(1);
  (void)add_point(0, 0);
  (void)add_point(20, 0);
  (void)add_point(20, 9);
  (void)add_point(60, 10);
  (void)add_point(20, 11);
  (void)add_point(20, 20);
  (void)add_point(0, 20);
  close_ring(0, 1, 0);
  make_and_check(&out, 440);
  int below = 0;
  for (int64_t t = 0; t < out.mesh.triangle_count; ++t) {
    const double *p[3];
    double least = 180;
    for (int k = 0; k < 3; ++k) p[k] = out.mesh.points + 2 * (int64_t)out.mesh.triangles[3 * t + k];
    for (int k = 0; k < 3; ++k) least = fmin(least, angle_at(p[k], p[(k + 1) % 3], p[(k + 2) % 3]));
    below += least < 30;
  }
  assert_in_range(below, 1, 4); /* in the tip */
  discard(&out);
}

TEST(test_narrow_channel) {
  const double corner[][2] = {{0, 0},   {10, 0},  {10, 4.7}, {20, 4.7}, {20, 0},  {30, 0},
                              {30, 10}, {20, 10}, {20, 5.3}, {10, 5.3}, {10, 10}, {0, 10}};
  output out;
  begin(1);
  for (int k = 0; k < 12; ++k) (void)add_point(corner[k][0], corner[k][1]);
  close_ring(0, 1, 0);
  make_and_check(&out, 206);
  assert_true(out.least > 35);
  discard(&out);
}

/* Vertices on one side of a channel stand opposite to the middles of the parts on the other side.
 */
TEST(test_vertices_alternate_across_a_channel) {
  const double corner[2][6][2] = {{{0, 0}, {30, 0}, {60, 0}, {60, 0.6}, {30, 0.6}, {0, 0.6}},
                                  {{0, 0}, {40, 0}, {40, 8}, {39.5, 8}, {39.5, 0.5}, {0, 0.5}}};
  const double area[2] = {36, 23.75};
  for (int k = 0; k < 2; ++k) {
    output out;
    begin(1);
    for (int i = 0; i < 6; ++i) (void)add_point(corner[k][i][0], corner[k][i][1]);
    close_ring(0, 1, 0);
    make_and_check(&out, area[k]);
    assert_true(out.least > 38 && out.mean > 56);
    discard(&out);
  }
}

/* Channels open into another one: a vertex on its straight side moves opposite to the middle of
 * each mouth, and the number of vertices there changes. */
TEST(test_mouths_of_channels) {
  output out;
  begin(5);
  add_rectangle(0, 0, 200, 100);
  for (int k = 0; k < 9; ++k) {
    const int32_t first = add_point(10 + 20 * k, 3 + k % 3);
    (void)add_point(10 + 20 * k, 97 - k % 2);
    (void)add_point(28 + 20 * k, 97);
    (void)add_point(28 + 20 * k, 3);
    close_ring(first, 1, 0);
  }
  make(&out);
  (void)check_triangulation(&out);
  check_places(&out);
  assert_true(out.least > 36 && out.first > 41.5 && out.mean > 54.5);
  discard(&out);
}

/* Vertices on the edges of a thin layer move, are added and removed for the regions on both sides.
 */
TEST(test_thin_layer_between_regions) {
  const double y[4] = {0, 10, 10.6, 21};
  output out;
  int32_t corner[2][4];
  begin(1);
  for (int k = 0; k < 4; ++k)
    for (int side = 0; side < 2; ++side) corner[side][k] = add_point(20 * side, y[k] + 0.1 * side);
  for (int k = 0; k < 4; ++k)
    add_edge(corner[0][k], corner[1][k], k < 3 ? k + 1 : 0, k > 0 ? k : 0);
  for (int k = 0; k < 3; ++k) {
    add_edge(corner[1][k], corner[1][k + 1], k + 1, 0);
    add_edge(corner[0][k + 1], corner[0][k], k + 1, 0);
  }
  make_and_check(&out, 420);
  assert_true(out.least > 38 && out.mean > 54);
  discard(&out);
}

static double size_by_radius(const void *context, int32_t region, double x, double y) {
  (void)region;
  return *(const double *)context * hypot(x, y);
}

/* The logarithm of these sizes is harmonic, so a lattice of geodesics closes around the ring. */
TEST(test_lattice_follows_sizes) {
  const double rate = 0.1;
  output out;
  begin(0);
  add_circle(0, 0, 60, 63, 1, 0);
  add_circle(0, 0, 8, 63, 0, 1);
  in.options.size = size_by_radius;
  in.options.size_context = &rate;
  make(&out);
  assert_true(out.least > 44 && out.mean > 57);
  discard(&out);
}

/* Along the spikes, which point in all directions, the vertices on the two sides alternate. */
TEST(test_spikes) {
  output out;
  begin(5);
  for (int k = 0; k < 36; ++k) {
    const double r = k % 3 == 1 ? 100 : 30, angle = pi * (k / 3) / 6 + 0.08 * (k % 3 - 1);
    (void)add_point(r * cos(angle), r * sin(angle));
  }
  close_ring(0, 1, 0);
  make(&out);
  (void)check_triangulation(&out);
  check_places(&out);
  assert_true(out.first > 40 && out.mean > 55.5);
  discard(&out);
}

/* Teeth are two or three edges wide. */
TEST(test_gear) {
  output out;
  const double turn[4] = {0, 0.06, 0.16, 0.22};
  begin(5);
  in.options.growth = 0.1;
  for (int k = 0; k < 96; ++k) {
    const double r = k % 4 == 1 || k % 4 == 2 ? 100 : 80, angle = pi * (k / 4) / 12 + turn[k % 4];
    (void)add_point(r * cos(angle), r * sin(angle));
  }
  close_ring(0, 1, 0);
  add_circle(0, 0, 30, 32, 0, 1);
  make(&out);
  (void)check_triangulation(&out);
  check_places(&out);
  assert_true(out.least > 40 && out.first > 44 && out.mean > 54.9);
  discard(&out);
}

/* A star of random radii whose corners are not sharp. */
TEST(test_random_stars) {
  uint64_t state = 7;
  for (int k = 0; k < 20; ++k) {
    output out;
    const int count = 6 + random_below(&state, 12);
    double area = 0;
    begin(0.05);
    for (int i = 0; i < count; ++i) {
      const double r = 0.8 + 0.4 * random_unit(&state);
      (void)add_point(r * cos(2 * pi * i / count), r * sin(2 * pi * i / count));
    }
    close_ring(0, 1, 0);
    for (int i = 0; i < count; ++i) {
      const double *p = in.points + 2 * i, *q = in.points + 2 * ((i + 1) % count);
      area -= 0.5 * (p[0] * q[1] - p[1] * q[0]);
    }
    make_and_check(&out, area);
    assert_true(out.least > 34 && out.mean > 55.5);
    discard(&out);
  }
}

/* ---- Sizes ---- */

static double size_of_region(const void *context, int32_t region, double x, double y) {
  (void)context;
  (void)x;
  (void)y;
  return region == 1 ? 0.2 : 1;
}

/* Two squares side by side; the right one is coarser far from the common side. */
TEST(test_regions_of_different_sizes) {
  output out;
  begin(0);
  in.options.size = size_of_region;
  const int32_t corner[6] = {add_point(0, 0),   add_point(10, 0),  add_point(30, 0),
                             add_point(30, 10), add_point(10, 10), add_point(0, 10)};
  add_edge(corner[0], corner[1], 1, 0);
  add_edge(corner[1], corner[2], 2, 0);
  add_edge(corner[2], corner[3], 2, 0);
  add_edge(corner[3], corner[4], 2, 0);
  add_edge(corner[4], corner[5], 1, 0);
  add_edge(corner[5], corner[0], 1, 0);
  add_edge(corner[1], corner[4], 1, 2);
  make_and_check(&out, 300);
  assert_true(out.least > 34);
  double fine = 0, coarse = 0;
  int64_t many = 0, few = 0;
  for (int64_t t = 0; t < out.mesh.triangle_count; ++t) {
    const double *p = out.mesh.points + 2 * (int64_t)out.mesh.triangles[3 * t],
                 *q = out.mesh.points + 2 * (int64_t)out.mesh.triangles[3 * t + 1];
    if (out.regions.region[t] == 1) {
      fine += distance(p, q);
      ++many;
    } else if (p[0] > 16) {
      coarse += distance(p, q);
      ++few;
    }
  }
  assert_true(fabs(fine / (double)many - 0.2) < 0.01);
  assert_true(fabs(coarse / (double)few - 1) < 0.05);
  discard(&out);
}

TEST(test_size_of_an_edge_grows_inward) {
  output out;
  double size[4] = {0.1, INFINITY, INFINITY, INFINITY};
  begin(2);
  add_rectangle(0, 0, 10, 10);
  in.options.edge_size = size;
  in.options.growth = 0.3;
  make_and_check(&out, 100);
  for (int64_t t = 0; t < out.mesh.triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      const double *p = out.mesh.points + 2 * (int64_t)out.mesh.triangles[3 * t + k],
                   *q = out.mesh.points + 2 * (int64_t)out.mesh.triangles[3 * t + (k + 1) % 3];
      const double wanted = fmin(2, 0.1 - 0.3 * 0.5 * (p[1] + q[1])); /* y is down */
      assert_true(distance(p, q) < 1.7 * wanted && distance(p, q) > 0.5 * wanted);
    }
  }
  discard(&out);
}

static double bad_size(const void *context, int32_t region, double x, double y) {
  (void)region;
  (void)y;
  return *(const double *)context * (5.5 - x);
}

TEST(test_refusals) {
  output out = {0};
  static double factor = 1;
  begin(0);
  add_rectangle(0, 0, 10, 10);
  assert_int_equal(
      cvtm_sized_mesh(&in.boundary, &in.options, &out.mesh, &out.regions, NULL, NULL, &out.error),
      CVTM_ERROR_ARGUMENT);
  in.options.size = bad_size;
  in.options.size_context = &factor;
  for (int k = 0; k < 3; ++k) { /* negative, not a number, and far too small */
    factor = k == 0 ? 1 : k == 1 ? NAN : 1e-12;
    assert_int_equal(
        cvtm_sized_mesh(&in.boundary, &in.options, &out.mesh, &out.regions, NULL, NULL, &out.error),
        CVTM_ERROR_INPUT);
    assert_non_null(strstr(out.error.message, "size"));
  }
}

/* ---- Common properties ---- */

/* Lone points and lines that end inside are kept. */
TEST(test_lone_points_and_cracks) {
  output out;
  begin(0.7);
  add_rectangle(0, 0, 10, 6);
  (void)add_point(3.1, 2.2);
  const int32_t a = add_point(5, 3), b = add_point(8, 4.5);
  add_edge(a, b, 1, 1);
  make_and_check(&out, 60);
  assert_true(out.least > 30);
  discard(&out);
}

/* Rectangles that are meshed alone have the same vertices on their common side. */
TEST(test_common_sides) {
  double side[2][200];
  int64_t count[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    output out;
    begin(0.37);
    if (k == 0)
      add_rectangle(0.1, 0.2, 7, 9.3);
    else
      add_rectangle(7.1, 0.2, 3.3, 9.3);
    make_and_check(&out, k == 0 ? 7 * 9.3 : 3.3 * 9.3);
    for (int64_t v = 0; v < out.mesh.vertex_count; ++v)
      if (out.mesh.points[2 * v] == 0.1 + 7) side[k][count[k]++] = out.mesh.points[2 * v + 1];
    qsort(side[k], (size_t)count[k], sizeof(double), order);
    discard(&out);
  }
  assert_int_equal(count[0], 26);
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(side[0], side[1], (size_t)count[0] * sizeof(double));
}

/* The left side is near to a hole, which makes its parts shorter, and those of its copy. */
TEST(test_twins_are_divided_alike) {
  output out;
  int32_t twin[8] = {-1, 3, -1, 1, -1, -1, -1, -1};
  double side[2][200];
  int64_t count[2] = {0, 0};
  begin(1);
  add_rectangle(0, 0, 10, 10);
  const int32_t first = add_point(0.2, 4);
  (void)add_point(0.2, 5);
  (void)add_point(3, 5);
  (void)add_point(3, 4);
  close_ring(first, 1, 0);
  in.boundary.twin = twin;
  make_and_check(&out, 100 - 2.8);
  for (int64_t v = 0; v < out.mesh.vertex_count; ++v) {
    const double *p = out.mesh.points + 2 * v;
    if (p[0] == 0) side[0][count[0]++] = p[1];
    if (p[0] == 10) side[1][count[1]++] = p[1];
  }
  for (int k = 0; k < 2; ++k) qsort(side[k], (size_t)count[k], sizeof(double), order);
  assert_true(count[0] > 12);
  assert_int_equal(count[0], count[1]);
  assert_memory_equal(side[0], side[1], (size_t)count[0] * sizeof(double));
  discard(&out);
}

static void compare_threads(void) {
  output one, two;
  make(&one);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(threads > 1 ? 1 : 3);
  make(&two);
  omp_set_num_threads(threads);
  assert_int_equal(one.mesh.vertex_count, two.mesh.vertex_count);
  assert_int_equal(one.mesh.triangle_count, two.mesh.triangle_count);
  assert_memory_equal(one.mesh.points, two.mesh.points,
                      2 * (size_t)one.mesh.vertex_count * sizeof(double));
  assert_memory_equal(one.mesh.triangles, two.mesh.triangles,
                      3 * (size_t)one.mesh.triangle_count * sizeof(int32_t));
  discard(&one);
  discard(&two);
}

TEST(test_result_is_a_function_of_the_input) {
  begin(0.15);
  add_rectangle(0, 0, 20, 17);
  add_circle(9, 8, 3.3, 40, 0, 1);
  compare_threads();
}

TEST(test_long_rows) {
  output out;
  begin(1);
  add_rectangle(0, 0, 700, 12);
  compare_threads();
  make_and_check(&out, 700 * 12);
  assert_true(out.least > 42 && out.mean > 58.5);
  discard(&out);
}

/* Two rooms with a passage of three sizes between them, a hole, a lone point and a crack. The
 * lattice of the first room does not leave it. */
TEST(test_large_lattice) {
  const double x[] = {0, 160, 160, 163, 163, 190, 190, 163, 163, 160, 160, 0},
               y[] = {0, 0, 60, 60, 0, 0, 130, 130, 63, 63, 130, 130};
  output out;
  begin(1);
  for (int k = 0; k < 12; ++k) (void)add_point(x[k], y[k]);
  close_ring(0, 1, 0);
  add_circle(70, 50, 9, 56, 0, 1);
  (void)add_point(120.3, 40.1);
  const int32_t a = add_point(30, 90), b = add_point(100, 101);
  add_edge(a, b, 1, 1);
  compare_threads();
  make_and_check(&out, 160 * 130 + 27 * 130 + 9 - 28 * 81 * sin(2 * pi / 56));
  assert_true(out.mesh.vertex_count > 24000);
  assert_true(out.least > 38 && out.mean > 58.5);
  assert_true(out.low > 0.95 && out.high < 1.05);
  discard(&out);
}

/* Sizes grow from a hole with short edges. There rows end, and threads change the mesh in tiles. */
TEST(test_changes_in_tiles) {
  output out;
  begin(1);
  add_rectangle(0, 0, 130, 110);
  add_circle(60, 50, 9, 400, 0, 1);
  compare_threads();
  make_and_check(&out, 130 * 110 - 200 * 81 * sin(2 * pi / 400));
  assert_true(out.least > 38 && out.first > 44 && out.mean > 57);
  discard(&out);
}

static int stop_at_once(const void *context) {
  (void)context;
  return 1;
}

TEST(test_expected_number) {
  output estimate, lattice, moved;
  begin(0.7);
  add_rectangle(0, 0, 40, 30);
  add_circle(20, 15, 4, 60, 0, 1); /* short edges, from which sizes grow */
  make(&moved);
  const double count = (double)moved.mesh.vertex_count;
  assert_true(fabs(moved.figures.expected / count - 1) < 0.03);
  in.options.only_estimates = 1;
  memset(&estimate, 0, sizeof estimate);
  assert_int_equal(cvtm_sized_mesh(&in.boundary, &in.options, NULL, NULL, NULL, &estimate.figures,
                                   &estimate.error),
                   CVTM_OK);
  assert_true(fabs(estimate.figures.expected / count - 1) < 0.05);
  in.options.only_estimates = 0;
  in.options.number = 1.15 * count;
  in.options.off = 0.05;
  make(&lattice);
  assert_true(lattice.figures.sweeps == 0 && lattice.figures.stopped == 0);
  assert_true(lattice.figures.expected == moved.figures.expected);
  discard(&moved);
  discard(&lattice);
}

/* Vertices are added to a lattice, or removed, to have the wanted number. */
TEST(test_wanted_number) {
  const double wanted[] = {1390, 1490};
  for (int k = 0; k < 2; ++k) {
    output out;
    begin(1);
    add_rectangle(0, 0, 40, 30);
    in.options.number = wanted[k];
    make_and_check(&out, 1200);
    assert_true(fabs((double)out.mesh.vertex_count / wanted[k] - 1) < 0.015);
    assert_true(out.least > 38 && out.mean > 55);
    discard(&out);
  }
}

TEST(test_stopped) {
  output out;
  begin(1);
  add_rectangle(0, 0, 20, 20);
  in.options.stop = stop_at_once;
  make_and_check(&out, 400);
  assert_true(out.figures.stopped && out.figures.sweeps == 0);
  discard(&out);
}

TEST_MAIN()
