/* Triangulations with Triangle's switches. */
#include "python/src/core.h"

extern "C" {
#include "meshes/refine/triangulate.h"
}

#include <algorithm>

namespace {

using Reals = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/* The given arrays, by their names in Python, and those that are made. */
struct Triangulation {
  Triangulation() = default;
  Triangulation(const Triangulation &) = delete;
  ~Triangulation() { cvtm_triangulated_free(&made); }

  const double *reals(const char *name, int64_t *rows, int64_t *columns = nullptr) {
    if (!given.contains(name)) return nullptr;
    const Reals &array = held_reals.emplace_back(nb::cast<Reals>(given[name]));
    *rows = static_cast<int64_t>(array.shape(0));
    if (columns != nullptr) *columns = static_cast<int64_t>(array.shape(1));
    return array.data();
  }
  const int32_t *numbers(const char *name, int64_t *rows) {
    if (!given.contains(name)) return nullptr;
    const Numbers &array = held_numbers.emplace_back(nb::cast<Numbers>(given[name]));
    *rows = static_cast<int64_t>(array.shape(0));
    return array.data();
  }

  nb::dict given;
  std::deque<Reals> held_reals;
  std::deque<Numbers> held_numbers;
  cvtm_triangulate_input input = {};
  cvtm_triangulate_options options = {};
  cvtm_triangulated made = {};
};

void take_input(Triangulation *t) {
  cvtm_triangulate_input *in = &t->input;
  int64_t rows;
  in->vertices = t->reals("vertices", &in->vertex_count);
  in->attributes = t->reals("vertex_attributes", &rows, &in->attribute_count);
  in->markers = t->numbers("vertex_markers", &rows);
  in->segments = t->numbers("segments", &in->segment_count);
  in->segment_markers = t->numbers("segment_markers", &rows);
  in->holes = t->reals("holes", &in->hole_count);
  in->regions = t->reals("regions", &in->region_count);
  in->triangles = t->numbers("triangles", &in->triangle_count);
  in->triangle_attributes = t->reals("triangle_attributes", &rows, &in->triangle_attribute_count);
  in->triangle_areas = t->reals("triangle_max_area", &rows);
}

nb::dict results(const cvtm_triangulated &made) {
  nb::dict found;
  const size_t vertices = static_cast<size_t>(made.vertex_count),
               triangles = static_cast<size_t>(made.triangle_count),
               edges = static_cast<size_t>(made.edge_count),
               width = static_cast<size_t>(made.triangle_attribute_count);
  found["vertices"] = copy_array(made.vertices, {vertices, 2});
  found["vertex_markers"] = copy_array(made.markers, {vertices, 1});
  found["triangles"] = copy_array(made.triangles, {triangles, 3});
  found["neighbors"] = copy_array(made.neighbors, {triangles, 3});
  found["triangle_attributes"] = copy_array(made.triangle_attributes, {triangles, width});
  found["edges"] = copy_array(made.edges, {edges, 2});
  found["edge_markers"] = copy_array(made.edge_markers, {edges, 1});
  found["is_segment"] = copy_array(made.is_segment, {edges});
  return found;
}

/* switches: letters, each at most once, and Y twice for YY. */
nb::dict triangulate(const nb::dict &given, const std::string &switches, double min_angle,
                     double max_area, int64_t most_added) {
  const auto has = [&](char letter) {
    return static_cast<int>(std::count(switches.begin(), switches.end(), letter));
  };
  auto work = std::make_shared<Triangulation>();
  Triangulation *t = work.get();
  t->given = given;
  take_input(t);
  t->options.takes_segments = has('p');
  t->options.refines = has('r');
  t->options.keeps_hull = has('c');
  t->options.min_angle = min_angle;
  t->options.max_area = max_area;
  t->options.has_areas = has('a');
  t->options.marks_regions = has('A');
  t->options.is_conforming = has('D');
  t->options.keeps_segments = has('Y');
  t->options.most_added = most_added;
  t->options.stop = [](const void *) { return interrupted(nullptr); };
  perform(
      work,
      [t] {
        cvtm_error error = {CVTM_OK, ""};
        check(cvtm_triangulate(&t->input, &t->options, &t->made, &error), &error);
      },
      nb::none(), 0);
  nb::dict found = results(t->made);
  const size_t width = static_cast<size_t>(t->input.attribute_count);
  if (width > 0)
    found["vertex_attributes"] =
        copy_array(t->made.attributes, {static_cast<size_t>(t->made.vertex_count), width});
  return found;
}

}  // namespace

void bind_triangulate(nb::module_ &module) {
  module.def(
      "triangulate", &triangulate, nb::arg("given"), nb::arg("switches"), nb::arg("min_angle"),
      nb::arg("max_area"), nb::arg("most_added"),
      nb::sig("def triangulate(given: dict[str, typing.Any], switches: str, min_angle: float, "
              "max_area: float, most_added: int) -> dict[str, typing.Any]"),
      "The arrays of a triangulation, from arrays of rows by their names.");
}
