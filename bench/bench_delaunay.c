/* The Delaunay triangulation of points by a device's stars, and by the host: milliseconds from
 * points in device memory to triangles there, of both copies, of the whole call with its memory,
 * and of the host alone; and whether both meshes are the same. Random points, points like sites of
 * an even density, lattices, and degenerate sets; with --weights W the regular triangulation, of
 * random weights up to W mean squared distances. Each figure is the best of --rounds N (3). Usage:
 * bench_delaunay [--device NAME] [--points N] [--kind NAME|all] [--weights W] [--host 0]
 * [--threads N] */
#include "base/random.h"
#include "bench/harness.h"
#include "meshes/device_delaunay.h"

#include <omp.h>
#include <string.h>

enum {
  RANDOM,
  EVEN,
  LATTICE,
  RAGGED,
  CIRCLE,
  CIRCLES,
  PARABOLA,
  LINE,
  CLUSTERS,
  COINCIDENT,
  KINDS,
  FEW_KINDS = RAGGED /* without --kind */
};

static const char *const kind_names[KINDS] = {"random",   "even",      "lattice",  "ragged",
                                              "circle",   "circles",   "parabola", "line",
                                              "clusters", "coincident"};

static double uniform(int64_t k) { return cvtm_random_uniform(1, 0, (uint64_t)k); }

/* Point k of `count`. */
static void place_point(int kind, int64_t k, int64_t count, double *p) {
  const double pi = acos(-1.0), x = uniform(2 * k), y = uniform(2 * k + 1);
  const int64_t side = (int64_t)ceil(sqrt((double)count)) + (kind == RAGGED);
  const double i = (double)(k % side), j = (double)(k / side), share = (double)k / (double)count;
  const double turn = 2 * pi * (kind == CIRCLES ? (double)(k % 1000) / 1000 : share);
  const double radius = kind == CIRCLES ? (double)(k / 1000 + 1) : 1e6;
  switch (kind) {
    case RANDOM:
      p[0] = 8192 * x, p[1] = 8192 * y;
      break;
    /* Rows of hexagons, moved by up to a fifth of their distance. */
    case EVEN:
      p[0] = i + 0.5 * (double)(k / side % 2) + 0.2 * x, p[1] = sqrt(0.75) * j + 0.2 * y;
      break;
    case LATTICE:
    case RAGGED:
      p[0] = i, p[1] = j;
      break;
    case CIRCLE:
    case CIRCLES:
      p[0] = radius * cos(turn), p[1] = radius * sin(turn);
      break;
    case PARABOLA:
      p[0] = share, p[1] = share * share;
      break;
    case LINE:
      p[0] = share, p[1] = k == 0 ? 0.5 : 0;
      break; /* and one point beside it */
    case CLUSTERS:
      p[0] = (double)(k % 7) + 1e-9 * x, p[1] = (double)(k % 5) + 1e-9 * y;
      break;
    default:
      p[0] = p[1] = 12.25;
      break;
  }
}

static double *make_points(int kind, int64_t count) {
  double *points = malloc((size_t)count * 2 * sizeof *points);
  if (points == NULL) exit(1);
  for (int64_t k = 0; k < count; ++k) place_point(kind, k, count, points + 2 * k);
  return points;
}

typedef struct figures {
  double copy_in, build, copy_out, whole, host;
  int64_t undecided;
} figures;

static void measure_parts(cvtm_device *device, const double *points, int64_t count, figures *best) {
  const size_t bytes = (size_t)(2 * count) * sizeof *points;
  cvtm_device_delaunay *d = NULL;
  bench_check(device, cvtm_device_delaunay_create(device, count, &d));
  for (int k = 0; k < 2; ++k) { /* the first to warm up */
    cvtm_mesh mesh = {0};
    const double start = cvtm_clock();
    bench_check(device, cvtm_device_copy_in(device, cvtm_device_delaunay_points(d), points, bytes));
    const double there = cvtm_clock();
    bench_check(device, cvtm_device_delaunay_build(d, &best->undecided));
    const double built = cvtm_clock();
    if (best->undecided == 0) bench_check(device, cvtm_device_delaunay_copy_out(d, &mesh));
    best->copy_in = fmin(best->copy_in, there - start);
    best->build = fmin(best->build, built - there);
    best->copy_out = fmin(best->copy_out, cvtm_clock() - built);
    cvtm_mesh_free(&mesh);
  }
  cvtm_device_delaunay_destroy(d);
}

/* NULL if W is 0. */
static double *make_weights(const double *points, int64_t count, double w) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  double *weights = w > 0 ? malloc((size_t)count * sizeof *weights) : NULL;
  if (w > 0 && weights == NULL) exit(1);
  for (int64_t k = 0; weights && k < 2 * count; ++k) {
    low[k % 2] = fmin(low[k % 2], points[k]);
    high[k % 2] = fmax(high[k % 2], points[k]);
  }
  const double area = (high[0] - low[0]) * (high[1] - low[1]) / (double)count;
  for (int64_t k = 0; weights && k < count; ++k) weights[k] = w * area * uniform(2 * count + k);
  return weights;
}

static double time_call(cvtm_device *device, const double *points, const double *weights,
                        int64_t count, cvtm_mesh *made, figures *best) {
  cvtm_mesh mesh = {0};
  cvtm_delaunay_report report = {0};
  cvtm_error error;
  const double start = cvtm_clock();
  const cvtm_status status =
      weights  ? cvtm_regular_triangulation(device, points, weights, count, &mesh, &report, &error)
      : device ? cvtm_delaunay_on(device, points, count, &mesh, &report, &error)
               : cvtm_delaunay(points, count, &mesh, &error);
  const double seconds = cvtm_clock() - start;
  if (status != CVTM_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  cvtm_mesh_free(made);
  *made = mesh;
  if (weights && report.on_device) {
    best->build = fmin(best->build, report.build);
    best->copy_in = fmin(best->copy_in, report.copy_in);
    best->copy_out = fmin(best->copy_out, report.copy_out);
  }
  if (weights) best->undecided = report.undecided;
  return seconds;
}

static int same_mesh(const cvtm_mesh *a, const cvtm_mesh *b) {
  return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
         a->coincident_count == b->coincident_count &&
         (a->triangle_count == 0 ||
          memcmp(a->triangles, b->triangles,
                 3 * (size_t)a->triangle_count * sizeof *a->triangles) == 0);
}

static void measure_triangulation(cvtm_device *device, int kind, int64_t count, double w,
                                  int rounds, int host) {
  double *points = make_points(kind, count), *weights = make_weights(points, count, w);
  cvtm_mesh mesh = {0}, expected = {0};
  figures best = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 0};
  for (int k = 0; k < rounds; ++k) {
    if (!weights) measure_parts(device, points, count, &best);
    best.whole = fmin(best.whole, time_call(device, points, weights, count, &mesh, &best));
    if (host)
      best.host = fmin(best.host, time_call(NULL, points, weights, count, &expected, &best));
  }
  printf("| %s | %lld | %.2f | %.2f | %.2f | %.1f | %.0f | %lld | %lld | %s |\n", kind_names[kind],
         (long long)count, 1e3 * best.build, 1e3 * best.copy_in, 1e3 * best.copy_out,
         1e3 * best.whole, 1e3 * best.host, (long long)mesh.triangle_count,
         (long long)best.undecided,
         !host                         ? ""
         : same_mesh(&mesh, &expected) ? "yes"
                                       : "NO");
  fflush(stdout);
  cvtm_mesh_free(&mesh);
  cvtm_mesh_free(&expected);
  free(points);
  free(weights);
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "cpu");
  const int64_t points = bench_integer(argc, argv, "--points");
  const int64_t asked = bench_integer(argc, argv, "--rounds");
  const double w = strtod(bench_text(argc, argv, "--weights", "0"), NULL);
  const int host = strcmp(bench_text(argc, argv, "--host", "1"), "0") != 0;
  omp_set_num_threads(cvtm_device_threads(device));
  printf("%s, %d threads\n", cvtm_device_description(device), omp_get_max_threads());
  printf(
      "| points | number | kernels | copy in | copy out | whole call | host | triangles | "
      "undecided | same |\n|---|---|---|---|---|---|---|---|---|---|\n");
  const char *only = bench_text(argc, argv, "--kind", "");
  for (int kind = 0; kind < KINDS; ++kind) {
    if (*only ? strcmp(only, kind_names[kind]) != 0 && strcmp(only, "all") != 0 : kind >= FEW_KINDS)
      continue;
    const int rounds = asked > 0 ? (int)asked : 3;
    measure_triangulation(device, kind, points > 0 ? points : 1000000, w, rounds, host);
    if (points == 0) measure_triangulation(device, kind, 10000000, w, rounds, host);
  }
  cvtm_device_destroy(device);
  return 0;
}
