/* The mesh of an outline, as the command `mesh` makes it. */
#include "python/src/core.h"

extern "C" {
#include "run/outline_parts.h"
}

namespace {

class Outline {
 public:
  Outline(nb::handle operand, const std::vector<Value> &values, const Inputs &inputs)
      : arguments("mesh", operand, values, inputs, {}) {}
  ~Outline() { cvtm_outline_destroy(made); }
  Outline(const Outline &) = delete;

  void run() {
    cli_progress_attach(&progress_, &arguments.options);
    arguments.stage([&] { return cli_outline_make(&arguments.options, &made); });
    got = cvtm_outline_get(made);
    if (got->points == nullptr) throw std::bad_alloc();
  }

  Arguments arguments;
  cvtm_outline *made = nullptr;
  const cvtm_outline_result *got = nullptr;

 private:
  cli_progress progress_ = {};
};

std::shared_ptr<Outline> outline(nb::object operand, const std::vector<Value> &values,
                                 const Inputs &inputs) {
  auto made = std::make_shared<Outline>(operand, values, inputs);
  solve(made);
  return made;
}

void save(const std::shared_ptr<Outline> &o, const std::vector<Value> &values) {
  perform([o, asked = o->arguments.ask(o->made->options, values)]() mutable {
    o->arguments.save(&asked, [&](cvtm_error *error) {
      return cvtm_outline_write(o->made, nullptr, &asked.run, error);
    });
  });
}

/* Returns points, triangles, the region of each triangle, edges, the curve and the group of each
 * edge, named points and the tags of their groups, names of the groups, report. */
nb::tuple arrays(const Outline &o) {
  const Language language;
  const cvtm_mesh &m = *o.got->mesh;
  const cvtm_regions &r = *o.got->regions;
  const size_t points = static_cast<size_t>(m.vertex_count),
               triangles = static_cast<size_t>(m.triangle_count),
               edges = static_cast<size_t>(r.edge_count),
               named = static_cast<size_t>(r.point_count);
  return nb::make_tuple(copy_array(o.got->points, {points, 2}),
                        copy_array(m.triangles, {triangles, 3}), copy_array(r.region, {triangles}),
                        copy_array(r.edges, {edges, 2}), copy_array(r.curve, {edges}),
                        copy_array(r.group, {edges}), copy_array(r.points, {named, 2}), names_of(r),
                        report_text(cvtm_outline_report(o.made)));
}

}  // namespace

void bind_outline(nb::module_ &module) {
  nb::class_<Outline>(module, "Outline", "The mesh of an outline.")
      .def("arrays", &arrays,
           nb::sig("def arrays(self) -> tuple[typing.Any, typing.Any, typing.Any, typing.Any, "
                   "typing.Any, typing.Any, typing.Any, list[tuple[str, int, int]], str]"))
      .def("save", &save, nb::arg("values"))
      .def("__deepcopy__", [](nb::handle_t<Outline> self, nb::handle) { return nb::borrow(self); });
  module.def("outline", &outline, nb::arg("operand"), nb::arg("values"), nb::arg("inputs"));
}
