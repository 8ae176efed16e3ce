/* Triangulations and files of meshes.
 *
 * Without --folder: the Delaunay triangulation of points by a device's stars, and by the host:
 * milliseconds from points in device memory to triangles there, of both copies, of the whole call
 * with its memory, and of the host alone; and whether both meshes are the same. --weights W: the
 * regular triangulation, of random weights up to W mean squared distances; --kind NAME|all: the
 * points; --host 0: not by the host.
 * With --folder DIR: the triangulation of --points N random sites on the host (a square lattice
 * with --kind lattice), and the mesh written in every format to the folder and read from it; what
 * passed in that time. --only EXTENSION: one format; --binary 1: binary MSH; --processor 1:
 * processor times, which alone mean something on a busy machine.
 *
 * Each figure is the best of --rounds N (3). Usage: bench_mesh [--device NAME] [--threads N]
 * [--points N] ... */
#include "base/random.h"
#include "tests/bench/harness.h"
#include "density/density.h"
#include "meshes/device_delaunay.h"
#include "meshes/mesh.h"
#include "meshes/mesh_file.h"

#include <omp.h>
#include <sys/stat.h>
#include <time.h>

static int rounds = 3, by_processor, binary;

static double seconds_now(void) {
  struct timespec now;
  if (!by_processor) return cvtm_clock();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void end_if_failed(cvtm_status status, const cvtm_error *error) {
  if (status == CVTM_OK) return;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, error->message);
  exit(1);
}

/* --- points ----------------------------------------------------------------------------------- */

enum {
  RANDOM,
  EVEN,
  LATTICE,
  CIRCLE,
  LINE,
  CLUSTERS,
  KINDS,
  FEW_KINDS = CIRCLE /* without --kind */
};

static const char *const kind_names[KINDS] = {"random", "even", "lattice",
                                              "circle", "line", "clusters"};

static double uniform(int64_t k) { return cvtm_random_uniform(1, 0, (uint64_t)k); }

/* Point k of `count`. */
static void place_point(int kind, int64_t k, int64_t count, double *p) {
  const double x = uniform(2 * k), y = uniform(2 * k + 1), share = (double)k / (double)count;
  const int64_t side = (int64_t)ceil(sqrt((double)count));
  const double i = (double)(k % side), j = (double)(k / side), turn = 2 * acos(-1.0) * share;
  switch (kind) {
    case RANDOM:
      p[0] = 8192 * x, p[1] = 8192 * y;
      break;
    case EVEN: /* rows of hexagons, moved by up to a fifth of their distance */
      p[0] = i + 0.5 * (double)(k / side % 2) + 0.2 * x, p[1] = sqrt(0.75) * j + 0.2 * y;
      break;
    case LATTICE:
      p[0] = i + 0.5, p[1] = j + 0.5;
      break;
    case CIRCLE:
      p[0] = 1e6 * cos(turn), p[1] = 1e6 * sin(turn);
      break;
    case LINE: /* and one point beside it */
      p[0] = share, p[1] = k == 0 ? 0.5 : 0;
      break;
    default:
      p[0] = (double)(k % 7) + 1e-9 * x, p[1] = (double)(k % 5) + 1e-9 * y;
      break;
  }
}

/* --- triangulations on a device --- */

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
  end_if_failed(status, &error);
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
                                  int host) {
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

/* --- files --- */

static double file_bytes(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 ? (double)found.st_size : 0;
}

static void measure_mesh(int kind, int64_t count, cvtm_mesh *mesh) {
  double *points = make_points(kind, count);
  double best = INFINITY;
  for (int k = 0; k < rounds; ++k) {
    cvtm_error error;
    cvtm_mesh_free(mesh);
    const double start = seconds_now();
    end_if_failed(cvtm_delaunay(points, count, mesh, &error), &error);
    best = fmin(best, seconds_now() - start);
  }
  printf("  triangulate %8.3f s  %8.2f million points a second, %lld triangles\n", best,
         1e-6 * (double)count / best, (long long)mesh->triangle_count);
  free(points);
}

static cvtm_status write_file(const char *path, const cvtm_mesh *mesh, cvtm_domain domain,
                              cvtm_error *error) {
  if (cvtm_points_format_known(path))
    return cvtm_points_write(path, mesh->points, mesh->vertex_count, error);
  const cvtm_mesh_file_options options = {.domain = domain, .binary = binary};
  return cvtm_mesh_write(path, mesh, &options, error);
}

/* Returns 0 if the format is one that is written alone. */
static int read_file(const char *extension, const char *path, cvtm_error *error) {
  static const char *const alone[] = {"off", "ply", "stl", "vtk"};
  for (size_t k = 0; k < sizeof alone / sizeof alone[0]; ++k)
    if (strcmp(extension, alone[k]) == 0) return 0;
  if (cvtm_points_format_known(path)) {
    double *points = NULL;
    int64_t count = 0;
    end_if_failed(cvtm_points_read(path, &points, &count, error), error);
    free(points);
  } else {
    cvtm_mesh mesh = {0};
    end_if_failed(cvtm_mesh_read(path, &mesh, error), error);
    cvtm_mesh_free(&mesh);
  }
  return 1;
}

static void measure_file(const char *extension, const char *path, const cvtm_mesh *mesh) {
  const cvtm_domain domain = {8192, 8192, 0};
  double written = INFINITY, read = INFINITY;
  for (int k = 0; k < rounds; ++k) {
    cvtm_error error;
    double start = seconds_now();
    end_if_failed(write_file(path, mesh, domain, &error), &error);
    written = fmin(written, seconds_now() - start);
    start = seconds_now();
    if (read_file(extension, path, &error)) read = fmin(read, seconds_now() - start);
  }
  const double megabytes = 1e-6 * file_bytes(path);
  printf("  %-11s %8.3f s  %8.0f MB/s  %8.1f MB", extension, written, megabytes / written,
         megabytes);
  if (read < INFINITY) printf("  read %8.3f s  %8.0f MB/s", read, megabytes / read);
  printf("\n");
}

/* Files of one format, `only`, are kept. */
static void measure_files(const char *folder, const char *only, const cvtm_mesh *mesh) {
  static const char *const extensions[] = {"csv", "xyz", "npy", "obj", "off",
                                           "ply", "stl", "vtk", "vtu", "msh"};
  for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; ++e) {
    if (only != NULL && strcmp(only, extensions[e]) != 0) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/bench_mesh.%s", folder, extensions[e]);
    measure_file(extensions[e], path, mesh);
    if (only == NULL) remove(path);
  }
}

static void measure_kinds(cvtm_device *device, int argc, char **argv, int64_t points) {
  const double w = strtod(bench_text(argc, argv, "--weights", "0"), NULL);
  const int host = strcmp(bench_text(argc, argv, "--host", "1"), "0") != 0;
  const char *only = bench_text(argc, argv, "--kind", "");
  printf(
      "| points | number | kernels | copy in | copy out | whole call | host | triangles | "
      "undecided | same |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (int kind = 0; kind < KINDS; ++kind) {
    if (*only ? strcmp(only, kind_names[kind]) != 0 && strcmp(only, "all") != 0 : kind >= FEW_KINDS)
      continue;
    measure_triangulation(device, kind, points > 0 ? points : 1000000, w, host);
    if (points == 0) measure_triangulation(device, kind, 10000000, w, host);
  }
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "cpu");
  const int64_t points = bench_integer(argc, argv, "--points");
  const char *folder = bench_text(argc, argv, "--folder", NULL);
  by_processor = (int)bench_integer(argc, argv, "--processor");
  binary = (int)bench_integer(argc, argv, "--binary");
  if (bench_integer(argc, argv, "--rounds") > 0)
    rounds = (int)bench_integer(argc, argv, "--rounds");
  omp_set_num_threads(cvtm_device_threads(device));
  printf("%s, %d threads\n", cvtm_device_description(device), omp_get_max_threads());
  if (folder) {
    const int lattice = strcmp(bench_text(argc, argv, "--kind", ""), "lattice") == 0;
    cvtm_mesh mesh = {0};
    measure_mesh(lattice ? LATTICE : RANDOM, points > 0 ? points : 1000000, &mesh);
    measure_files(folder, bench_text(argc, argv, "--only", NULL), &mesh);
    cvtm_mesh_free(&mesh);
  } else {
    measure_kinds(device, argc, argv, points);
  }
  cvtm_device_destroy(device);
  return 0;
}
