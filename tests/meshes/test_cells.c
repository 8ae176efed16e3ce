/* Voronoi cells, and the polygons that they are cut from. */

#include "testing.h"

#include "base/geometry.h"
#include "meshes/mesh.h"
#include "splitmix64.h"

static uint64_t random_state;

/* ---- Polygons ---- */

enum { POLYGON_CAPACITY = 32 };

typedef struct small_polygon {
  int32_t count; /* 0: empty, else at least 3 */
  double x[POLYGON_CAPACITY], y[POLYGON_CAPACITY];
  int32_t neighbor[POLYGON_CAPACITY];
} small_polygon;

/* The largest squared distance of a corner from the origin, 0 if empty. A site farther
 * than twice its root cannot cut. */
static double corners_radius2(int32_t count, const double *x, const double *y) {
  double largest = 0;
  for (int32_t k = 0; k < count; ++k) {
    const double r2 = x[k] * x[k] + y[k] * y[k];
    if (r2 > largest) largest = r2;
  }
  return largest;
}

/* Area; positive in the order of corners described above. */
static double corners_area(int32_t count, const double *x, const double *y) {
  double twice = 0;
  for (int32_t k = 1; k + 1 < count; ++k) {
    const double ax = x[k] - x[0], ay = y[k] - y[0];
    const double bx = x[k + 1] - x[0], by = y[k + 1] - y[0];
    twice += bx * ay - ax * by;
  }
  return 0.5 * twice;
}

static void polygon_rectangle(small_polygon *polygon, double x0, double y0, double x1, double y1) {
  cvtm_corners_rectangle(x0, y0, x1, y1, &polygon->count, polygon->x, polygon->y,
                         polygon->neighbor);
}

static cvtm_clip polygon_clip(small_polygon *polygon, double nx, double ny, double offset,
                              int32_t id) {
  cvtm_corners corners = {polygon->count, POLYGON_CAPACITY, 1,
                          polygon->x,     polygon->y,       polygon->neighbor};
  int32_t at = 0;
  const cvtm_clip clip = cvtm_corners_clip(&corners, nx, ny, offset, id, &at);
  polygon->count = corners.count;
  return clip;
}

static cvtm_clip polygon_clip_bisector(small_polygon *polygon, double dx, double dy, int32_t id) {
  return polygon_clip(polygon, dx, dy, 0.5 * (dx * dx + dy * dy), id);
}

static double polygon_radius2(const small_polygon *polygon) {
  return corners_radius2(polygon->count, polygon->x, polygon->y);
}

static double polygon_area(const small_polygon *polygon) {
  return corners_area(polygon->count, polygon->x, polygon->y);
}

/* Every corner within all bisectors, and every edge on the bisector that it names. */
static void check_polygon(const small_polygon *polygon, const double *dx, const double *dy,
                          int sites) {
  for (int k = 0; k < polygon->count; ++k) {
    const int ends[2] = {k, (k + 1) % polygon->count};
    for (int s = 0; s < sites; ++s) {
      const double h = 0.5 * (dx[s] * dx[s] + dy[s] * dy[s]);
      assert_true(dx[s] * polygon->x[k] + dy[s] * polygon->y[k] - h < 1e-12);
    }
    const int s = polygon->neighbor[k];
    for (int e = 0; e < 2; ++e) {
      const double x = polygon->x[ends[e]], y = polygon->y[ends[e]];
      const double off = s < 0 ? 1 - fmax(fabs(x), fabs(y))
                               : dx[s] * x + dy[s] * y - 0.5 * (dx[s] * dx[s] + dy[s] * dy[s]);
      assert_true(fabs(off) < 1e-12);
    }
  }
}

TEST(test_polygon_random_cuts) {
  random_state = 1;
  for (int round = 0; round < 5000; ++round) {
    double dx[24], dy[24];
    const int sites = (int)(25 * random_unit(&random_state));
    small_polygon polygon;
    polygon_rectangle(&polygon, -1, -1, 1, 1);
    double area = polygon_area(&polygon);
    assert_true(area == 4);
    for (int s = 0; s < sites; ++s) {
      dx[s] = 4 * random_unit(&random_state) - 2;
      dy[s] = 4 * random_unit(&random_state) - 2;
      const double radius2 = polygon_radius2(&polygon);
      const cvtm_clip clip = polygon_clip_bisector(&polygon, dx[s], dy[s], s);
      const double left = polygon_area(&polygon);
      if (dx[s] * dx[s] + dy[s] * dy[s] > 4 * radius2) assert_int_equal(clip, CVTM_CLIP_NONE);
      assert_true(clip == CVTM_CLIP_CUT ? left < area : clip == CVTM_CLIP_NONE && left == area);
      area = left;
    }
    check_polygon(&polygon, dx, dy, sites);
  }
}

TEST(test_polygon_ends) {
  small_polygon polygon;
  /* Through two corners: a triangle, without doubled corners. */
  polygon_rectangle(&polygon, 0, 0, 1, 1);
  assert_int_equal(polygon_clip(&polygon, 1, 1, 1, 5), CVTM_CLIP_CUT);
  assert_int_equal(polygon.count, 3);
  assert_true(polygon_area(&polygon) == 0.5);
  /* Touching a side or a corner cuts nothing. */
  polygon_rectangle(&polygon, 0, 0, 1, 1);
  assert_int_equal(polygon_clip(&polygon, 1, 0, 1, 5), CVTM_CLIP_NONE);
  assert_int_equal(polygon_clip(&polygon, 1, 1, 2, 5), CVTM_CLIP_NONE);
  /* A coincident site cuts nothing. */
  assert_int_equal(polygon_clip_bisector(&polygon, 0, 0, 5), CVTM_CLIP_NONE);
  /* All of it, or all but an edge. */
  assert_int_equal(polygon_clip(&polygon, -1, 0, -1, 5), CVTM_CLIP_EMPTY);
  assert_int_equal(polygon.count, 0);
  assert_int_equal(polygon_clip(&polygon, -1, 0, 0, 5), CVTM_CLIP_EMPTY);
  polygon_rectangle(&polygon, 0, 0, 1, 1);
  assert_int_equal(polygon_clip(&polygon, 0, 1, -3, 5), CVTM_CLIP_EMPTY);
}

TEST(test_polygon_overflow) {
  small_polygon polygon;
  polygon_rectangle(&polygon, -2, -2, 2, 2);
  /* The first four cuts replace the rectangle's corners by eight, the rest add one each. */
  const double turn = 2 * acos(-1.0) / 64;
  cvtm_clip clip = CVTM_CLIP_CUT;
  for (int k = 0; k < 64 && clip != CVTM_CLIP_OVERFLOW; ++k) {
    const small_polygon before = polygon;
    clip = polygon_clip_bisector(&polygon, 2 * cos(k * turn), 2 * sin(k * turn), k);
    if (clip == CVTM_CLIP_OVERFLOW) {
      assert_int_equal(polygon.count, POLYGON_CAPACITY);
      assert_memory_equal(polygon.x, before.x, sizeof before.x);
      assert_memory_equal(polygon.y, before.y, sizeof before.y);
      assert_memory_equal(polygon.neighbor, before.neighbor, sizeof before.neighbor);
    }
  }
  assert_int_equal(clip, CVTM_CLIP_OVERFLOW);
}

/* ---- Cells ---- */

typedef struct diagram {
  cvtm_mesh mesh;
  cvtm_cells cells;
  cvtm_domain domain;
} diagram;

static double cell_area(const cvtm_cells *cells, int64_t i) {
  const double *p = cells->corners + 2 * cells->start[i];
  const int64_t count = cells->start[i + 1] - cells->start[i];
  double twice = 0;
  for (int64_t k = 1; k + 1 < count; ++k) {
    /* Counterclockwise with y up is positive. */
    twice -=
        (p[2 * k] - p[0]) * (p[2 * k + 3] - p[1]) - (p[2 * k + 1] - p[1]) * (p[2 * k + 2] - p[0]);
  }
  return twice / 2;
}

static double distance(const double *a, const double *b) { return hypot(a[0] - b[0], a[1] - b[1]); }

static int on_border(const double *p, cvtm_domain domain) {
  return p[0] == 0 || p[1] == 0 || p[0] == domain.width || p[1] == domain.height;
}

/* Edge from corner k of cell i: on the domain's border, or on the bisector with its neighbour. */
static void check_edge(const diagram *d, int64_t i, int64_t k) {
  const cvtm_cells *cells = &d->cells;
  const int64_t then = k + 1 < cells->start[i + 1] ? k + 1 : cells->start[i];
  const double *a = cells->corners + 2 * k, *b = cells->corners + 2 * then;
  const double *site = d->mesh.points + 2 * i;
  assert_true(a[0] >= 0 && a[0] <= d->domain.width && a[1] >= 0 && a[1] <= d->domain.height);
  const int32_t other = cells->neighbors[k];
  if (other < 0) {
    assert_int_equal(other, -1);
    assert_true(on_border(a, d->domain) && on_border(b, d->domain));
    return;
  }
  const double *neighbor = d->mesh.points + (ptrdiff_t)2 * other;
  const double size = d->domain.width + d->domain.height;
  assert_true(fabs(distance(a, site) - distance(a, neighbor)) <= 1e-12 * size);
  assert_true(fabs(distance(b, site) - distance(b, neighbor)) <= 1e-12 * size);
  /* A long edge is an edge of the neighbour, too. */
  if (distance(a, b) < 1e-6 * size) return;
  int shared = 0;
  for (int64_t m = cells->start[other]; m < cells->start[other + 1]; ++m)
    shared |= cells->neighbors[m] == i;
  assert_true(shared);
}

/* No site is nearer to a corner of cell i than its own. */
static void check_nearest(const diagram *d, int64_t i) {
  for (int64_t k = d->cells.start[i]; k < d->cells.start[i + 1]; ++k) {
    const double *corner = d->cells.corners + 2 * k;
    const double own = distance(corner, d->mesh.points + 2 * i);
    for (int64_t s = 0; s < d->mesh.vertex_count; ++s)
      assert_true(distance(corner, d->mesh.points + 2 * s) >= own - 1e-9);
  }
}

static int in_domain(const double *p, cvtm_domain domain) {
  return p[0] >= 0 && p[0] <= domain.width && p[1] >= 0 && p[1] <= domain.height;
}

/* The cell is convex, and its site is inside of every edge. */
static void check_contains(const diagram *d, int64_t i) {
  const int64_t first = d->cells.start[i], last = d->cells.start[i + 1];
  const double *s = d->mesh.points + 2 * i;
  for (int64_t k = first; k < last; ++k) {
    const double *a = d->cells.corners + 2 * k;
    const double *b = d->cells.corners + 2 * (k + 1 < last ? k + 1 : first);
    const double side = (b[0] - a[0]) * (s[1] - a[1]) - (b[1] - a[1]) * (s[0] - a[0]);
    assert_true(side <= 1e-12 * d->domain.width * d->domain.height);
  }
}

static int has_twin_before(const cvtm_mesh *mesh, int64_t i) {
  for (int64_t k = 0; k < i; ++k)
    if (memcmp(mesh->points + 2 * k, mesh->points + 2 * i, 2 * sizeof(double)) == 0) return 1;
  return 0;
}

static diagram checked_cells(const double *points, int64_t count, cvtm_domain domain) {
  diagram d = {.domain = domain};
  assert_ok(cvtm_delaunay(points, count, &d.mesh, NULL));
  assert_ok(cvtm_cells_create(&d.mesh, domain, &d.cells, NULL));
  assert_int_equal(d.cells.count, count);
  assert_int_equal(d.cells.start[0], 0);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t corners = d.cells.start[i + 1] - d.cells.start[i];
    assert_true(corners == 0 || corners >= 3);
    const double area = cell_area(&d.cells, i);
    assert_true(area >= 0);
    sum += area;
    for (int64_t k = d.cells.start[i]; k < d.cells.start[i + 1]; ++k) check_edge(&d, i, k);
    if (corners > 0 && in_domain(d.mesh.points + 2 * i, domain)) check_contains(&d, i);
    if (count > 500) continue;
    check_nearest(&d, i);
    if (has_twin_before(&d.mesh, i))
      assert_int_equal(corners, 0);
    else if (in_domain(d.mesh.points + 2 * i, domain))
      assert_true(corners >= 3);
  }
  const double whole = (double)domain.width * domain.height;
  assert_true(fabs(sum - whole) <= 1e-12 * whole);
  return d;
}

static void check_cells(const double *points, int64_t count, cvtm_domain domain) {
  diagram d = checked_cells(points, count, domain);
  cvtm_cells_free(&d.cells);
  cvtm_mesh_free(&d.mesh);
}

TEST(test_random_sites) {
  random_state = 2;
  static const cvtm_domain domains[] = {{640, 480, 0}, {1, 1, 0}, {262144, 1, 0}, {7, 900, 0}};
  double points[2 * 200];
  for (int round = 0; round < 40; ++round) {
    const cvtm_domain domain = domains[round % 4];
    for (int n = 1; n <= 200; n = 2 * n + 1) {
      for (int k = 0; k < n; ++k) {
        points[2 * k] = domain.width * random_unit(&random_state);
        points[2 * k + 1] = domain.height * random_unit(&random_state);
      }
      check_cells(points, n, domain);
    }
  }
}

TEST(test_sites_outside) {
  random_state = 3;
  const cvtm_domain domain = {64, 48, 0};
  double points[2 * 150];
  for (int round = 0; round < 40; ++round) {
    for (int k = 0; k < 300; ++k) points[k] = 400 * random_unit(&random_state) - 200;
    check_cells(points, round < 20 ? 150 : 3, domain);
  }
  const double far[] = {1e6, 2e6, -1e6, 3e5};
  check_cells(far, 1, domain);
  check_cells(far, 2, domain);
}

TEST(test_lattice) {
  enum { SIDE = 20 };
  double points[2 * SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; ++k) {
    points[2 * k] = k % SIDE + 0.5;
    points[2 * k + 1] = k / SIDE + 0.5;
  }
  diagram d = checked_cells(points, SIDE * SIDE, (cvtm_domain){SIDE, SIDE, 0});
  for (int k = 0; k < SIDE * SIDE; ++k) assert_true(fabs(cell_area(&d.cells, k) - 1) < 1e-12);
  cvtm_cells_free(&d.cells);
  cvtm_mesh_free(&d.mesh);
}

TEST(test_sites_on_a_line) {
  const double row[] = {5, 5, 1, 5, 3, 5, 3, 5}, slope[] = {1, 2, 3, 6, 2, 4, 4.5, 9};
  diagram d = checked_cells(row, 4, (cvtm_domain){10, 10, 0});
  assert_true(fabs(cell_area(&d.cells, 0) - 60) < 1e-12);
  assert_true(fabs(cell_area(&d.cells, 1) - 20) < 1e-12);
  assert_true(fabs(cell_area(&d.cells, 2) - 20) < 1e-12);
  assert_true(cell_area(&d.cells, 3) == 0);
  cvtm_cells_free(&d.cells);
  cvtm_mesh_free(&d.mesh);
  for (int n = 1; n <= 4; ++n) check_cells(slope, n, (cvtm_domain){10, 10, 0});
}

TEST(test_coincident_sites) {
  const double points[] = {1, 1, 1, 1, 4, 2, 2, 4, 4, 2, 1, 1};
  check_cells(points, 2, (cvtm_domain){5, 5, 0});
  check_cells(points, 6, (cvtm_domain){5, 5, 0});
}

/* A hub of more and more neighbours, in the middle of the domain and outside of it. */
TEST(test_hubs) {
  random_state = 4;
  static const int sizes[] = {40, 63, 64, 65, 66, 80, 400, 10000};
  double *points = doubles(2 * 10001);
  for (int round = 0; round < 32; ++round) {
    const int n = sizes[round % 8];
    const double noise = round < 16 ? 0.0 : 1e-3 / n;
    const double x = round % 16 < 8 ? 50 : -5, y = 47;
    for (int k = 1; k <= n; ++k) {
      const double angle = 2 * acos(-1.0) * k / n,
                   r = 40 * (1 + noise * random_unit(&random_state));
      points[2 * k] = x + r * cos(angle);
      points[2 * k + 1] = y + r * sin(angle);
    }
    points[0] = x;
    points[1] = y;
    diagram d = checked_cells(points, n + 1, (cvtm_domain){100, 90, 0});
    if (x > 0) assert_true(fabs(cell_area(&d.cells, 0) - acos(-1.0) * 400) < 8000.0 / n);
    cvtm_cells_free(&d.cells);
    cvtm_mesh_free(&d.mesh);
  }
  free(points);
}

/* A hub on the hull, its neighbours on one side of it. */
TEST(test_hubs_on_the_hull) {
  double points[2 * 201];
  for (int round = 0; round < 64; ++round) {
    const double start = 2 * acos(-1.0) * round / 64, arc = round % 2 ? 0.9 : 0.5;
    points[0] = round % 3 == 0 ? -3 : 50;
    points[1] = round % 5 == 0 ? 95 : 40;
    for (int k = 1; k <= 200; ++k) {
      points[2 * k] = points[0] + 40 * cos(start + arc * acos(-1.0) * k / 200);
      points[2 * k + 1] = points[1] + 40 * sin(start + arc * acos(-1.0) * k / 200);
    }
    check_cells(points, 201, (cvtm_domain){100, 90, 0});
  }
}

TEST(test_many_sites) {
  random_state = 5;
  enum { COUNT = 50000 };
  double *points = doubles(2 * COUNT);
  for (int k = 0; k < 2 * COUNT; ++k) points[k] = 2048 * random_unit(&random_state);
  check_cells(points, COUNT, (cvtm_domain){2048, 2048, 0});
  free(points);
}

TEST(test_bad_input) {
  double points[] = {1, 1, 4, 2, 2, 4};
  int32_t triangles[] = {0, 1, 3};
  cvtm_mesh mesh = {.vertex_count = 3, .points = points, .triangles = triangles};
  cvtm_cells cells = {.count = 77};
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_domain domain = {5, 5, 0};
  /* No triangles though the points are not on a line. */
  assert_refused(cvtm_cells_create(&mesh, domain, &cells, &error));
  mesh.triangle_count = 1;
  assert_refused(cvtm_cells_create(&mesh, domain, &cells, &error));
  triangles[2] = 2;
  assert_refused(cvtm_cells_create(&mesh, (cvtm_domain){0, 5, 0}, &cells, &error));
  assert_refused(cvtm_cells_create(NULL, domain, &cells, &error));
  assert_int_equal(cells.count, 77);
  assert_ok(cvtm_cells_create(&mesh, domain, &cells, NULL));
  cvtm_cells_free(&cells);
  assert_null(cells.start);
  cvtm_cells_free(NULL);
}

TEST_MAIN()
