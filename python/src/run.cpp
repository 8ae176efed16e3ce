/* The job of the command `run`, in its stages. */
#include "python/src/core.h"

extern "C" {
#include "cli/processes.h"
#include "cli/run.h"
#include "cli/watch.h"
#include "run/job.h"
}

namespace {

/* The image in the memory of the device, if it is the density. */
using Lent = nb::ndarray<const float, nb::ndim<2>, nb::c_contig>;

class Run {
 public:
  Run(nb::handle image, const std::vector<Value> &values, const Inputs &inputs,
      const std::optional<Lent> &lent)
      : arguments("run", image, values, inputs, {"<picture>.png", "<drawing>.svg"}), lent_(lent) {}
  ~Run() {
    cli_watch_destroy(progress_.watch);
    cvtm_run_destroy(job);
    cvtm_device_destroy(device);
  }
  Run(const Run &) = delete;

  void solve() {
    cli_options *options = &arguments.options;
    if (cli_distributed_count(options) > 1 || options->distributed)
      throw Failure(CVTM_ERROR_UNSUPPORTED,
                    "ranks: a call in Python is one process; use the program");
    options->run.keep = 1;
    cli_run_choose_domain(options);
    cli_progress_attach(&progress_, options);
    arguments.stage([&] { return cli_run_check_values(options); });
    arguments.stage([&] { return cli_files_check(options); });
    arguments.stage([&] { return cli_outputs_check(options); });
    arguments.stage([&] { return cli_open_device(options, &device); });
    arguments.stage([&] { return cli_run_create(options, &progress_, &job); });
    arguments.stage([&](cvtm_error *e) { return run_read(job, device, e); });
    if (lent_) lend();
    arguments.stage([&] { return cli_run_place(&progress_, job, device); });
    arguments.stage([&](cvtm_error *e) { return run_order(job, e); });
    arguments.stage([&](cvtm_error *e) { return run_mesh(job, device, e); });
    made_ = job->options;
    arguments.stage([&] { return cli_run_write(&progress_, job); });
  }

  cli_options ask(const std::vector<Value> &values) { return arguments.ask(made_, values); }

  void save(cli_options asked) {
    arguments.save(&asked, [&](cvtm_error *error) { return run_save(job, &asked.run, error); });
  }

  Arguments arguments;
  cvtm_device *device = nullptr;
  cvtm_run *job = nullptr;

  /* Returns the array to its owner; the solve must have ended. Needs the GIL. */
  void give_back() { lent_.reset(); }

 private:
  void lend() {
    const cvtm_npy *image = arguments.options.run.input.array;
    if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA && image != nullptr &&
        image->kind == 'f' && image->item == 4 &&
        image->count == static_cast<int64_t>(lent_->size()))
      run_lend(job, static_cast<const float *>(image->data), image->count, lent_->data());
  }

  std::optional<Lent> lent_;
  cvtm_run_options made_ = {}; /* options of the run, with the chosen values */
  cli_progress progress_ = {};
};

std::shared_ptr<Run> run(nb::object image, const std::vector<Value> &values, const Inputs &inputs,
                         nb::object callback, const std::optional<Lent> &lent) {
  auto made = std::make_shared<Run>(image, values, inputs, lent);
  Run *r = made.get();
  perform(
      made, [r] { r->solve(); }, callback, r->arguments.options.run.threads);
  r->give_back();
  return made;
}

/* Writes outputs; <picture>.png and <drawing>.svg remain in memory. */
void save(const std::shared_ptr<Run> &run, const std::vector<Value> &values) {
  perform([run, asked = run->ask(values)] { run->save(asked); });
}

size_t sites_of(const Run &r) { return static_cast<size_t>(r.job->count); }

std::optional<Array<double>> weights(const Run &r) {
  if (r.job->equal.weights == nullptr) return std::nullopt;
  return copy_array(r.job->equal.weights, {sites_of(r)});
}

nb::str report(const Run &r) {
  const Language language;
  return report_text(cvtm_run_report(r.job));
}

/* Returns start, corners and neighbors of the cells. */
std::tuple<Array<int64_t>, Array<double>, std::optional<Array<int32_t>>> cells(const Run &r) {
  const cvtm_cells &c = r.job->cells;
  const size_t count = static_cast<size_t>(c.count), corners = static_cast<size_t>(c.start[count]);
  std::optional<Array<int32_t>> neighbors;
  if (c.neighbors != nullptr) neighbors = copy_array(c.neighbors, {corners});
  return {copy_array(c.start, {count + 1}), copy_array(c.corners, {corners, 2}), neighbors};
}

using Integers = Array<int32_t>;

/* Returns the region of each triangle; ends, curve and group of each edge between regions; names of
 * the groups. None without a domain. */
std::optional<std::tuple<Integers, Integers, Integers, Integers, Names>> groups(const Run &r) {
  if (r.job->options.domain.kind == CVTM_RUN_DOMAIN_NONE) return std::nullopt;
  const cvtm_regions &g = r.job->shape.regions;
  const size_t edges = static_cast<size_t>(g.edge_count);
  return std::make_tuple(copy_array(g.region, {static_cast<size_t>(r.job->mesh.triangle_count)}),
                         copy_array(g.edges, {edges, 2}), copy_array(g.curve, {edges}),
                         copy_array(g.group, {edges}), names_of(g));
}

}  // namespace

Names names_of(const cvtm_regions &g) {
  Names names;
  for (int32_t k = 0; k < g.point_group_count; ++k)
    names.emplace_back(g.point_groups[k].name, g.point_groups[k].tag, 0);
  for (int32_t k = 0; k < g.line_group_count; ++k)
    names.emplace_back(g.line_groups[k].name, g.line_groups[k].tag, 1);
  for (int32_t k = 0; k < g.area_group_count; ++k)
    names.emplace_back(g.area_groups[k].name, g.area_groups[k].tag, 2);
  return names;
}

nb::str report_text(char *text) {
  if (text == nullptr) throw std::bad_alloc();
  nb::str result(text);
  cJSON_free(text);
  return result;
}

void bind_run(nb::module_ &module) {
  constexpr auto OWN = nb::rv_policy::move; /* arrays own their memory */
  nb::class_<Run>(module, "Run", "A finished run of the program.")
      .def_prop_ro(
          "size",
          [](const Run &r) { return std::make_pair(r.job->domain.width, r.job->domain.height); })
      .def_prop_ro(
          "points",
          [](const Run &r) {
            return copy_array(r.job->sites, {sites_of(r), 2});
          },
          OWN)
      .def_prop_ro(
          "triangles",
          [](const Run &r) {
            const cvtm_mesh &m = r.job->mesh;
            return copy_array(m.triangles, {static_cast<size_t>(m.triangle_count), 3});
          },
          OWN)
      .def_prop_ro(
          "mass", [](const Run &r) { return copy_array(r.job->mass, {sites_of(r)}); }, OWN)
      .def_prop_ro(
          "centroids",
          [](const Run &r) {
            return copy_array(r.job->centroid, {sites_of(r), 2});
          },
          OWN)
      .def_prop_ro("weights", &weights, OWN)
      .def_prop_ro(
          "density",
          [](const Run &r) {
            const cvtm_domain &d = r.job->domain;
            return copy_array(r.job->density,
                              {static_cast<size_t>(d.height), static_cast<size_t>(d.width)});
          },
          OWN)
      .def_prop_ro("cells", &cells, OWN)
      .def_prop_ro("groups", &groups, OWN)
      .def_prop_ro("report", &report)
      .def_prop_ro("interrupted",
                   [](const Run &r) { return r.job->result.stop == CVTM_STOP_REQUEST; })
      .def("save", &save, nb::arg("values"))
      .def("__deepcopy__", [](nb::handle_t<Run> self, nb::handle) { return nb::borrow(self); })
      .def("picture", [](const Run &r) { return r.arguments.output(0); })
      .def("drawing", [](const Run &r) { return r.arguments.output(1); });
  module.def("run", &run, nb::arg("image"), nb::arg("values"), nb::arg("inputs"),
             nb::arg("callback").none(), nb::arg("lent").none());
}
