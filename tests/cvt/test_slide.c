/* Sites of a boundary that slide along it, and the mesh of such a domain: a disc and a square, side
 * by side, so that there are curves with corners and without. */
#include "cvt/slide.h"
#include "meshes/domain_mesh.h"
#include "meshes/domain_plan.h"
#include "tests/test_devices.h"

enum { W = 96, H = 48, SITES = 220 };

static const double centre = 24, radius = 18; /* of the disc; the square is [54, 90] x [6, 42] */

typedef struct shape {
  cvtm_contour contour;
  cvtm_boundary boundary;
  float density[W * H];
} shape;

static void plan_shape(shape *s) {
  enum { TURN = 180 };
  double points[2 * (TURN + 4)] = {0};
  int64_t start[3] = {0, TURN, TURN + 4};
  const cvtm_polygons polygons = {2, start, points, 0};
  for (int k = 0; k < TURN; ++k) {
    points[2 * k] = centre + radius * cos(2 * 3.14159265358979323846 * k / TURN);
    points[2 * k + 1] = centre - radius * sin(2 * 3.14159265358979323846 * k / TURN);
  }
  const double square[8] = {54, 6, 54, 42, 90, 42, 90, 6};
  memcpy(points + (size_t)2 * TURN, square, sizeof square);
  for (int k = 0; k < W * H; ++k) s->density[k] = 1;
  DEFAULT_OPTIONS(cvtm_contour, how);
  cvtm_domain_plan_figures figures;
  assert_ok(cvtm_contour_of_polygons(&polygons, W, H, &how, &s->contour, NULL));
  assert_ok(
      cvtm_domain_plan(&s->contour, W, H, SITES, 0.3, s->density, &s->boundary, &figures, NULL));
}

static void free_shape(shape *s) {
  cvtm_contour_free(&s->contour);
  cvtm_boundary_free(&s->boundary);
}

static int stop_at_once(void *context, const cvtm_cvt_record *record) {
  (void)record;
  ++*(int *)context;
  return 1;
}

/* Half a pixel is what a vertex may be off its curve. */
static void check_boundary(const cvtm_boundary *b, const double *before, const double *sites) {
  int64_t moved = 0;
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const double x = sites[2 * v], y = sites[2 * v + 1];
    const int same = x == before[2 * v] && y == before[2 * v + 1];
    assert_true(x == b->points[2 * v] && y == b->points[2 * v + 1]);
    assert_true(same || !b->corner[v]);
    moved += !same;
    const double off =
        x < 48 ? hypot(x - centre, y - centre) - radius : fmax(fabs(x - 72), fabs(y - 24)) - 18;
    assert_true(fabs(off) <= 0.5);
  }
  assert_true(moved > 0);
}

static void check_mesh(const cvtm_boundary *b, const double *sites) {
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  int32_t *source = NULL;
  double area = 0;
  assert_ok(cvtm_domain_mesh(sites, SITES, b, &mesh, &regions, &source, NULL));
  for (int64_t t = 0; t < mesh.triangle_count; ++t) {
    const double *p = mesh.points + 2 * (int64_t)mesh.triangles[3 * t];
    const double *q = mesh.points + 2 * (int64_t)mesh.triangles[3 * t + 1];
    const double *r = mesh.points + 2 * (int64_t)mesh.triangles[3 * t + 2];
    area += fabs((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])) / 2;
  }
  /* Vertices stand off the curve so that areas are kept: 1e-3 is what the program promises. */
  const double exact = 3.14159265358979323846 * radius * radius + 36.0 * 36.0;
  assert_true(fabs(area / exact - 1) < 1e-3);
  for (int64_t v = 0; v < mesh.vertex_count; ++v) {
    assert_true(v == 0 || source[v] > source[v - 1]);
    for (int k = 0; k < 2; ++k) /* steps of the exact grid */
      assert_true(fabs(mesh.points[2 * v + k] - sites[2 * source[v] + k]) < 1e-6);
  }
  cvtm_mesh_free(&mesh);
  cvtm_regions_free(&regions);
  free(source);
}

TEST_ON_DEVICE(sliding_lowers_the_energy) {
  const cvtm_domain domain = {W, H, 0};
  shape s = {0};
  plan_shape(&s);
  const int64_t n = s.boundary.vertex_count;
  double sites[2 * SITES], before[2 * SITES], energy = 0;
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  cvtm_cvt_slides slides;
  int monitor_calls = 0;
  options.fixed = n;
  options.max_iterations = 120;
  memcpy(sites, s.boundary.points, 2 * (size_t)n * sizeof *sites);
  NEW_CVT(cvt, device, domain, s.density, SITES);
  options.tolerance = 1e-5;
  assert_device_ok(device, cvtm_cvt_solve(cvt, &options, n, sites, SITES, &result));
  memcpy(before, sites, sizeof sites);
  const double locked = result.objective;

  options.monitor = stop_at_once;
  options.monitor_context = &monitor_calls;
  assert_device_ok(device, cvtm_cvt_slide(cvt, &s.contour, &options, &s.boundary, sites, SITES,
                                          &result, &slides));
  assert_true(monitor_calls == 1 && result.stop == CVTM_STOP_REQUEST);
  assert_true(slides.count > 0 && slides.start_energy == locked);
  /* A run that was told to stop does not go on. */
  assert_device_ok(device, cvtm_cvt_slide(cvt, &s.contour, &options, &s.boundary, sites, SITES,
                                          &result, &slides));
  assert_true(monitor_calls == 1 && slides.count == 0);

  result.stop = CVTM_STOP_DECREASE;
  options.monitor = NULL;
  assert_device_ok(device, cvtm_cvt_slide(cvt, &s.contour, &options, &s.boundary, sites, SITES,
                                          &result, &slides));
  assert_true(result.iterations <= options.max_iterations);
  evaluate_cvt(device, cvt, sites, SITES, &energy, NULL);
  /* What is reported belongs to the sites returned; sums may round. */
  assert_true(energy < locked && fabs(energy - result.objective) <= 1e-12 * energy);
  check_boundary(&s.boundary, before, sites);
  check_mesh(&s.boundary, sites);

  options.fixed = n - 1;
  assert_refused(
      cvtm_cvt_slide(cvt, &s.contour, &options, &s.boundary, sites, SITES, &result, &slides));
  cvtm_cvt_destroy(cvt);
  free_shape(&s);
}

TEST_DEVICE_MAIN()
