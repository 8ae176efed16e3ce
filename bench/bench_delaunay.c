/* The Delaunay triangulation of points by a device's stars, and by the host: milliseconds from
 * points in device memory to triangles there, of both copies, of the whole call with its memory,
 * and of the host alone. Random points, points like sites of an even density, and a square lattice.
 * Each figure is the best of --rounds N (3). Usage: bench_delaunay [--device NAME] [--points N]
 * [--host 0] [--threads N] */
#include "base/random.h"
#include "bench/harness.h"
#include "meshes/device_delaunay.h"

#include <omp.h>

enum { RANDOM, EVEN, LATTICE, KINDS };

static const char *const kind_names[KINDS] = {"random", "even", "lattice"};

static double uniform(int64_t k) { return cvtm_random_uniform(1, 0, (uint64_t)k); }

static double *make_points(int kind, int64_t count) {
  double *points = malloc((size_t)count * 2 * sizeof *points);
  if (points == NULL) exit(1);
  const int64_t side = (int64_t)ceil(sqrt((double)count));
  for (int64_t k = 0; k < count; ++k) {
    const double i = (double)(k % side), j = (double)(k / side);
    const double x = uniform(2 * k), y = uniform(2 * k + 1);
    points[2 * k] = kind == RANDOM ? 8192 * x : i;
    points[2 * k + 1] = kind == RANDOM ? 8192 * y : j;
    if (kind != EVEN) continue;
    /* Rows of hexagons, moved by up to a fifth of their distance. */
    points[2 * k] = i + 0.5 * (double)(k / side % 2) + 0.2 * x;
    points[2 * k + 1] = sqrt(0.75) * j + 0.2 * y;
  }
  return points;
}

typedef struct figures {
  double copy_in, build, copy_out, whole, host;
  int64_t undecided, triangles;
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
    best->triangles = mesh.triangle_count;
    cvtm_mesh_free(&mesh);
  }
  cvtm_device_delaunay_destroy(d);
}

static double time_call(cvtm_device *device, const double *points, int64_t count) {
  cvtm_mesh mesh = {0};
  cvtm_error error;
  const double start = cvtm_clock();
  const cvtm_status status = device ? cvtm_delaunay_on(device, points, count, &mesh, NULL, &error)
                                    : cvtm_delaunay(points, count, &mesh, &error);
  const double seconds = cvtm_clock() - start;
  if (status != CVTM_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  cvtm_mesh_free(&mesh);
  return seconds;
}

static void measure(cvtm_device *device, int kind, int64_t count, int rounds, int host) {
  double *points = make_points(kind, count);
  figures best = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, 0, 0};
  for (int k = 0; k < rounds; ++k) {
    measure_parts(device, points, count, &best);
    best.whole = fmin(best.whole, time_call(device, points, count));
    if (host) best.host = fmin(best.host, time_call(NULL, points, count));
  }
  printf("| %s | %lld | %.2f | %.2f | %.2f | %.1f | %.0f | %lld | %lld |\n", kind_names[kind],
         (long long)count, 1e3 * best.build, 1e3 * best.copy_in, 1e3 * best.copy_out,
         1e3 * best.whole, 1e3 * best.host, (long long)best.triangles, (long long)best.undecided);
  fflush(stdout);
  free(points);
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "cpu");
  const int64_t points = bench_integer(argc, argv, "--points");
  const int64_t asked = bench_integer(argc, argv, "--rounds");
  const int host = strcmp(bench_text(argc, argv, "--host", "1"), "0") != 0;
  omp_set_num_threads(cvtm_device_threads(device));
  printf("%s, %d threads\n", cvtm_device_description(device), omp_get_max_threads());
  printf(
      "| points | number | kernels | copy in | copy out | whole call | host | triangles | "
      "undecided |\n|---|---|---|---|---|---|---|---|---|\n");
  for (int kind = 0; kind < KINDS; ++kind) {
    const int rounds = asked > 0 ? (int)asked : 3;
    measure(device, kind, points > 0 ? points : 1000000, rounds, host);
    if (points == 0) measure(device, kind, 10000000, rounds, host);
  }
  cvtm_device_destroy(device);
  return 0;
}
