// geogram's centroidal Voronoi tessellation of the even unit square, on one thread: random sites,
// steps of Lloyd's method, iterations of L-BFGS. Prints processor seconds and writes the sites as
// CSV, scaled to 512. Compiled by compare_geogram.py.
//   compare_geogram SITES LLOYD_STEPS ITERATIONS FILE
#include <geogram/basic/command_line.h>
#include <geogram/basic/command_line_args.h>
#include <geogram/basic/common.h>
#include <geogram/mesh/mesh.h>
#include <geogram/voronoi/CVT.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  GEO::initialize();
  GEO::CmdLine::import_arg_group("standard");
  GEO::CmdLine::import_arg_group("algo");
  GEO::CmdLine::import_arg_group("opt");
  GEO::CmdLine::set_arg("sys:multithread", "false");
  GEO::Mesh square;
  const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  for (const double *corner : corners) square.vertices.create_vertex(corner);
  square.facets.create_triangle(0, 1, 2);
  square.facets.create_triangle(0, 2, 3);
  square.facets.connect();
  GEO::CentroidalVoronoiTesselation cvt(&square);
  const std::clock_t start = std::clock();
  cvt.compute_initial_sampling(static_cast<GEO::index_t>(std::atol(argv[1])));
  cvt.Lloyd_iterations(static_cast<GEO::index_t>(std::atol(argv[2])));
  cvt.Newton_iterations(static_cast<GEO::index_t>(std::atol(argv[3])));
  std::printf("\n%.2f\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  std::FILE *out = std::fopen(argv[4], "w");
  if (out == nullptr) return 1;
  std::fprintf(out, "x,y\n");
  for (GEO::index_t v = 0; v < cvt.nb_points(); ++v)
    std::fprintf(out, "%.17g,%.17g\n", 512 * cvt.embedding(v)[0], 512 * cvt.embedding(v)[1]);
  return std::fclose(out) != 0;
}
