// The column CDT of tests/bench/compare_meshers.py. Reads an outline from standard input (the
// numbers of points and edges, then these), refines its triangulation until no angle is smaller
// than a bound in degrees, and writes the processor seconds, the points and the triangles inside.
#include <CDT.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

int main(int argc, char **argv) {
  std::size_t points = 0, edges = 0;
  if (argc != 2 || std::scanf("%zu %zu", &points, &edges) != 2) return 2;
  std::vector<CDT::V2d<double>> vertices(points);
  std::vector<CDT::Edge> segments;
  for (auto &v : vertices)
    if (std::scanf("%lf %lf", &v.x, &v.y) != 2) return 2;
  for (std::size_t k = 0; k < edges; ++k) {
    unsigned a = 0, b = 0;
    if (std::scanf("%u %u", &a, &b) != 2) return 2;
    segments.emplace_back(a, b);
  }
  const std::clock_t start = std::clock();
  CDT::Triangulation<double> t;
  t.insertVertices(vertices);
  t.conformToEdges(segments);
  t.refineTriangles(1000000, CDT::RefinementCriterion::SmallestAngle,
                    std::atof(argv[1]) * std::acos(-1.0) / 180);
  t.eraseOuterTrianglesAndHoles();
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%.6f %zu %zu\n", seconds, t.vertices.size(), t.triangles.size());
  for (const auto &v : t.vertices) std::printf("%.17g %.17g\n", v.x, v.y);
  for (const auto &f : t.triangles)
    std::printf("%u %u %u\n", f.vertices[0], f.vertices[1], f.vertices[2]);
}
