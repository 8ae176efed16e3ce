/* Files and triangulations: a density from --image FILE, the triangulation of --points N random
 * sites (a square lattice with --lattice 1), and the mesh written in every format to the folder
 * --folder DIR and read from it. Each row has the best time of --rounds N (3) and what passed in
 * that time. Also --threads N, --only EXTENSION for one format, --binary 1 for binary MSH, and
 * --processor 1 for processor times, which alone mean something on a busy machine. */
#include "base/clock.h"
#include "base/random.h"
#include "bench/harness.h"
#include "density/density.h"
#include "density/pipeline.h"
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

static double file_bytes(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 ? (double)found.st_size : 0;
}

static void measure_image(const char *path) {
  double read = INFINITY, shape = INFINITY;
  for (int k = 0; k < rounds; ++k) {
    cvtm_image image;
    cvtm_pipeline_options options;
    cvtm_pipeline_result made;
    cvtm_error error;
    cvtm_pipeline_defaults(&options);
    double start = seconds_now();
    end_if_failed(cvtm_image_read(path, &image, &error), &error);
    read = fmin(read, seconds_now() - start);
    start = seconds_now();
    end_if_failed(cvtm_pipeline_run(NULL, &image, path, &options, &made, &error), &error);
    shape = fmin(shape, seconds_now() - start);
    cvtm_pipeline_free(&made);
    cvtm_image_free(&image);
  }
  const double megabytes = file_bytes(path) * 1e-6;
  printf("  read        %8.3f s  %8.0f MB/s\n  density     %8.3f s  %8.0f MB/s\n", read,
         megabytes / read, shape, megabytes / shape);
}

static double *make_points(int64_t count, int lattice) {
  double *points = malloc((size_t)count * 2 * sizeof *points);
  if (points == NULL) exit(1);
  const int64_t side = (int64_t)ceil(sqrt((double)count));
  for (int64_t k = 0; k < 2 * count; ++k) {
    const int64_t place = k % 2 == 0 ? k / 2 % side : k / 2 / side;
    points[k] = lattice ? (double)place + 0.5 : 8192 * cvtm_random_uniform(1, 0, (uint64_t)k);
  }
  return points;
}

static void measure_mesh(int64_t count, int lattice, cvtm_mesh *mesh) {
  double *points = make_points(count, lattice);
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

static cvtm_status write_file(const char *extension, const char *path, const cvtm_mesh *mesh,
                              cvtm_domain domain, cvtm_error *error) {
  if (strcmp(extension, "svg") == 0)
    return cvtm_svg_write(path, CVTM_SVG_STIPPLES, mesh, NULL, NULL, 0, 0, domain, error);
  if (strcmp(extension, "edges.svg") == 0)
    return cvtm_svg_write(path, CVTM_SVG_MESH, mesh, NULL, NULL, 0, 0, domain, error);
  if (cvtm_points_format_known(path))
    return cvtm_points_write(path, mesh->points, mesh->vertex_count, error);
  const cvtm_mesh_file_options options = {.domain = domain, .binary = binary};
  return cvtm_mesh_write(path, mesh, &options, error);
}

/* Returns 0 if the format is one that is written alone. */
static int read_file(const char *extension, const char *path, cvtm_error *error) {
  static const char *const alone[] = {"svg", "edges.svg", "off", "ply", "stl", "vtk"};
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
    end_if_failed(write_file(extension, path, mesh, domain, &error), &error);
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
  static const char *const extensions[] = {"svg", "edges.svg", "csv", "xyz", "npy", "obj",
                                           "off", "ply",       "stl", "vtk", "vtu", "msh"};
  for (size_t e = 0; e < sizeof extensions / sizeof extensions[0]; ++e) {
    if (only != NULL && strcmp(only, extensions[e]) != 0) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/bench_mesh.%s", folder, extensions[e]);
    measure_file(extensions[e], path, mesh);
    if (only == NULL) remove(path);
  }
}

int main(int argc, char **argv) {
  const int64_t points = bench_integer(argc, argv, "--points");
  const int threads = (int)bench_integer(argc, argv, "--threads");
  by_processor = (int)bench_integer(argc, argv, "--processor");
  binary = (int)bench_integer(argc, argv, "--binary");
  const char *image = bench_text(argc, argv, "--image", NULL);
  const char *folder = bench_text(argc, argv, "--folder", NULL);
  if (bench_integer(argc, argv, "--rounds") > 0)
    rounds = (int)bench_integer(argc, argv, "--rounds");
  if (threads > 0) omp_set_num_threads(threads);
  printf("%d threads\n", omp_get_max_threads());
  if (image != NULL) measure_image(image);
  cvtm_mesh mesh = {0};
  if (points > 0) measure_mesh(points, bench_integer(argc, argv, "--lattice") != 0, &mesh);
  if (points > 0 && folder != NULL)
    measure_files(folder, bench_text(argc, argv, "--only", NULL), &mesh);
  cvtm_mesh_free(&mesh);
  return 0;
}
