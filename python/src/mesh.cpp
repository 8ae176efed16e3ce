/* Delaunay triangulations of given points. */
#include "python/src/core.h"

extern "C" {
#include "meshes/mesh.h"
}

namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

Array<int32_t> delaunay(const Points &points) {
  struct Mesh : cvtm_mesh {
    Mesh() : cvtm_mesh{} {}
    ~Mesh() { cvtm_mesh_free(this); }
  };
  auto mesh = std::make_shared<Mesh>();
  perform([mesh, points] {
    cvtm_error error = {CVTM_OK, ""};
    const int64_t count = static_cast<int64_t>(points.shape(0));
    check(cvtm_delaunay(points.data(), count, mesh.get(), &error), &error);
  });
  return copy_array(mesh->triangles, {static_cast<size_t>(mesh->triangle_count), 3});
}

}  // namespace

void bind_mesh(nb::module_ &module) {
  module.def("delaunay", &delaunay, nb::arg("points"),
             "The triangles of the Delaunay triangulation of points (n, 2), float64.");
}
