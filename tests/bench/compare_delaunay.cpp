// One rival of tests/bench/compare_delaunay.py: triangulates the points of a file of doubles (x, y,
// ...), prints the processor seconds until the corners of its triangles are in an array, and writes
// these as int32. Compiled with one of -DUSE_CGAL, -DUSE_DELAUNATOR, -DUSE_GEOGRAM and
// -DUSE_CVTMESH.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#ifdef USE_CGAL
#include <CGAL/Delaunay_triangulation_2.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Triangulation_vertex_base_with_info_2.h>
#elif defined USE_DELAUNATOR
#include <delaunator.hpp>
#elif defined USE_GEOGRAM
#include <geogram/basic/command_line.h>
#include <geogram/basic/command_line_args.h>
#include <geogram/basic/common.h>
#include <geogram/delaunay/delaunay.h>
#else
#include "meshes/mesh.h"
#endif

namespace {

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

std::vector<double> read_points(const char *path) {
  std::vector<double> xy;
  double two[2];
  std::FILE *file = std::fopen(path, "rb");
  while (file && std::fread(two, sizeof two, 1, file) == 1) xy.insert(xy.end(), two, two + 2);
  if (file) std::fclose(file);
  return xy;
}

// Returns the seconds.
double triangulate(const std::vector<double> &xy, std::vector<std::int32_t> &corners) {
#ifdef USE_CGAL
  using kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
  using vertex = CGAL::Triangulation_vertex_base_with_info_2<std::int32_t, kernel>;
  using data = CGAL::Triangulation_data_structure_2<vertex>;
  std::vector<std::pair<kernel::Point_2, std::int32_t>> points;
  for (std::size_t k = 0; k < xy.size() / 2; ++k)
    points.emplace_back(kernel::Point_2(xy[2 * k], xy[2 * k + 1]), std::int32_t(k));
  const double start = processor_seconds();
  CGAL::Delaunay_triangulation_2<kernel, data> t(points.begin(), points.end());
  for (auto f = t.finite_faces_begin(); f != t.finite_faces_end(); ++f)
    for (int k = 0; k < 3; ++k) corners.push_back(f->vertex(k)->info());
  const double seconds = processor_seconds() - start;
#elif defined USE_DELAUNATOR
  const double start = processor_seconds();
  delaunator::Delaunator t(xy);
  const double seconds = processor_seconds() - start;
  for (const std::size_t corner : t.triangles) corners.push_back(std::int32_t(corner));
#elif defined USE_GEOGRAM
  GEO::initialize();
  GEO::CmdLine::import_arg_group("standard");
  GEO::CmdLine::import_arg_group("algo");
  GEO::CmdLine::set_arg("sys:multithread", "false");
  const double start = processor_seconds();
  GEO::Delaunay_var t = GEO::Delaunay::create(2, "BDEL2d");
  t->set_vertices(GEO::index_t(xy.size() / 2), xy.data());
  const double seconds = processor_seconds() - start;
  for (GEO::index_t c = 0; c < t->nb_cells(); ++c)
    for (GEO::index_t k = 0; k < 3; ++k) corners.push_back(std::int32_t(t->cell_vertex(c, k)));
#else
  cvtm_mesh t = {};
  cvtm_error error = {};
  const double start = processor_seconds();
  if (cvtm_delaunay(xy.data(), std::int64_t(xy.size() / 2), &t, &error) != CVTM_OK)
    std::fprintf(stderr, "%s\n", error.message);
  const double seconds = processor_seconds() - start;
  corners.assign(t.triangles, t.triangles + 3 * t.triangle_count);
  cvtm_mesh_free(&t);
#endif
  return seconds;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const std::vector<double> xy = read_points(argv[1]);
  std::vector<std::int32_t> corners;
  std::printf("%.3f\n", triangulate(xy, corners));
  std::FILE *file = std::fopen(argv[2], "wb");
  if (!file) return 1;
  const bool good =
      std::fwrite(corners.data(), sizeof corners[0], corners.size(), file) == corners.size();
  return std::fclose(file) != 0 || !good;
}
