/* Delaunay triangulations of given points. */
#include "python/src/core.h"

extern "C" {
#include "meshes/mesh.h"
}

namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

Array<int32_t> delaunay(const Points &points) {
  struct Work {
    Points points;
    cvtm_mesh mesh = {};
    explicit Work(const Points &p) : points(p) {}
    ~Work() { cvtm_mesh_free(&mesh); }
  };
  auto work = std::make_shared<Work>(points);
  Work *w = work.get();
  perform(
      work,
      [w] {
        cvtm_error error = {CVTM_OK, ""};
        check(cvtm_delaunay(w->points.data(), static_cast<int64_t>(w->points.shape(0)), &w->mesh,
                            &error),
              &error);
      },
      nb::none(), 0, true);
  return copy_array(w->mesh.triangles, {static_cast<size_t>(w->mesh.triangle_count), 3});
}

}  // namespace

void bind_mesh(nb::module_ &module) {
  module.def("delaunay", &delaunay, nb::arg("points"),
             "The triangles of the Delaunay triangulation of points (n, 2), float64.");
}
