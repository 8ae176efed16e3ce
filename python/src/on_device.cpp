/* Work on arrays that are already in the memory of a device, and remain there. The caller makes the
 * stream of the object wait for the stream on which the arrays were made. */
#include "python/src/on_device.h"

extern "C" {
#include "run/condition.h"
#include "cvt/cvt.h"
#include "jfa/jfa.h"
#include "meshes/device_delaunay.h"
}

#include <atomic>
#include <mutex>

namespace {

using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig>;
using Sites = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig>;
using Phi = nb::ndarray<const double, nb::c_contig>;

/* --- energy and moments of cells ---------------------------------------------------------------
 */

/* A plan for densities of one size and up to `capacity` sites. On a CPU a call can be interrupted,
 * so its work shares ownership of the plan and the arrays. */
class Evaluator {
 public:
  Evaluator(const std::string &name, const Floats &density, int64_t capacity)
      : height_(static_cast<int64_t>(density.shape(0))),
        width_(static_cast<int64_t>(density.shape(1))),
        capacity_(capacity),
        plan_(std::make_shared<Plan>()) {
    const int limit = CVTM_MAX_SIDE + 1;
    const cvtm_domain domain = {static_cast<int>(std::min<int64_t>(width_, limit)),
                                static_cast<int>(std::min<int64_t>(height_, limit)), 0};
    cvtm_error error = {CVTM_OK, ""};
    cvtm_cvt *made = nullptr;
    OnDevice &on = plan_->on;
    check(cvtm_device_create(name.c_str(), 0, &on.device, &error), &error);
    on.require(cvtm_cvt_create_view(on.device, domain, density.data(), capacity, &made));
    plan_->cvt.reset(made);
  }
  uintptr_t stream() const { return plan_->on.stream(); }

  bool fits(int64_t height, int64_t width, int64_t count) const {
    return height == height_ && width == width_ && count <= capacity_;
  }

  /* On CUDA only enqueues: the arrays must live until the work is done. value: 1; moments: 4 per
   * site. Returns a number for these cells, which the plan keeps until the next call. */
  int64_t evaluate(const Floats &density, const Sites &sites, const nb::ndarray<double> &value,
                   const nb::ndarray<double> &moments) {
    run([density, sites, value, moments](Plan *plan) {
      cvtm_cvt *cvt = plan->cvt.get();
      plan->on.require(cvtm_cvt_view_density(cvt, density.data()));
      plan->on.require(cvtm_cvt_evaluate_on_device(
          cvt, sites.data(), static_cast<int64_t>(sites.shape(0)), CVTM_CVT_EXACT,
          CVTM_VORONOI_EXACT, value.data(), moments.data()));
    });
    return kept_ = ++evaluations;
  }

  /* cells: the number from evaluate. phi: 4 per site. by_density: (height, width), by_sites: 2 per
   * site, or none. Waits. Returns false if too many sites are close to a pixel, or a cell has too
   * many corners. */
  bool pull_back(int64_t cells, const Floats &density, const Sites &sites, const Phi &phi,
                 const std::optional<nb::ndarray<float>> &by_density,
                 const std::optional<nb::ndarray<double>> &by_density_double,
                 const std::optional<nb::ndarray<double>> &by_sites) {
    const bool kept = cells == kept_;
    const auto status = std::make_shared<cvtm_status>(CVTM_OK);
    kept_ = cells;
    run([=](Plan *plan) {
      plan->on.require(cvtm_cvt_view_density(plan->cvt.get(), density.data()));
      *status = cvtm_cvt_pull_back(plan->cvt.get(), kept ? nullptr : sites.data(),
                                   static_cast<int64_t>(sites.shape(0)), phi.data(),
                                   by_density ? by_density->data() : nullptr,
                                   by_density_double ? by_density_double->data() : nullptr,
                                   by_sites ? by_sites->data() : nullptr);
      if (*status != CVTM_ERROR_UNSUPPORTED) plan->on.require(*status);
    });
    return *status == CVTM_OK;
  }

 private:
  struct Plan {
    std::mutex used; /* the work of an interrupted call may continue */
    OnDevice on;
    Owner<cvtm_cvt, cvtm_cvt_destroy> cvt;
  };

  template <typename Work>
  void run(Work work) {
    if (plan_->on.is_cuda()) return work(plan_.get());
    perform([plan = plan_, work] {
      std::lock_guard<std::mutex> lock(plan->used);
      work(plan.get());
    });
  }

  static std::atomic<int64_t> evaluations; /* of all plans */

  int64_t height_, width_, capacity_, kept_ = 0;
  std::shared_ptr<Plan> plan_;
};

std::atomic<int64_t> Evaluator::evaluations{0};

/* --- densities ---------------------------------------------------------------------------------
 */

using Density = nb::ndarray<double, nb::ndim<2>, nb::c_contig>;

/* The command `density` without files, for a density in the memory of its device. */
struct Condition {
  Condition(const std::vector<Value> &values, const Density &given)
      : arguments("density", nb::str("density"), values, {}, {}), density(given) {}

  void run() {
    const cvtm_condition_options options = arguments.options.run.condition.how;
    cvtm_condition_result result;
    arguments.stage([&] {
      cvtm_error error = {CVTM_OK, ""};
      return cli_result(CLI_DENSITY, CLI_READING,
                        run_condition_check(&arguments.options.run, &error), &error);
    });
    on.open(arguments);
    on.require(cvtm_density_condition_on_device(on.device, static_cast<int>(density.shape(1)),
                                                static_cast<int>(density.shape(0)), nullptr,
                                                &options, density.data(), &result));
  }

  Arguments arguments;
  OnDevice on;
  Density density;
};

void condition(const std::vector<Value> &values, const Density &density) {
  solve(std::make_shared<Condition>(values, density));
}

/* --- labels ------------------------------------------------------------------------------------
 */

/* The command `voronoi` without files. */
class Labels {
 public:
  Labels(const std::vector<Value> &values, int64_t capacity)
      : arguments_("voronoi", nb::str("points"), values, {}, {}) {
    const cli_options &o = arguments_.options;
    const cvtm_domain domain = {static_cast<int>(o.width), static_cast<int>(o.height),
                                o.run.periodic};
    cvtm_voronoi *made = nullptr;
    on_.open(arguments_);
    on_.require(cvtm_voronoi_create(on_.device, domain, capacity, &made));
    plan_.reset(made);
  }

  /* Only enqueues. labels: (height, width); for a warm start on input those of the earlier
   * diagram. */
  void compute(const Sites &sites, const nb::ndarray<int32_t> &labels) {
    const cli_options &o = arguments_.options;
    on_.require(
        cvtm_voronoi_compute(plan_.get(), sites.data(), static_cast<int64_t>(sites.shape(0)),
                             static_cast<cvtm_voronoi_method>(o.run.voronoi), labels.data()));
  }
  void update(const Sites &sites, const nb::ndarray<int32_t> &labels) {
    int64_t wrong = 0;
    on_.require(cvtm_voronoi_update(plan_.get(), sites.data(), static_cast<int64_t>(sites.shape(0)),
                                    static_cast<int>(arguments_.options.warm.first_step),
                                    labels.data()));
    on_.require(cvtm_voronoi_correct(plan_.get(), labels.data(), &wrong));
  }
  void wait() { on_.require(cvtm_device_synchronize(on_.device)); }
  uintptr_t stream() const { return on_.stream(); }

 private:
  Arguments arguments_;
  OnDevice on_;
  Owner<cvtm_voronoi, cvtm_voronoi_destroy> plan_;
};

/* --- triangulations ----------------------------------------------------------------------------
 */

class Triangulation {
 public:
  Triangulation(const std::string &device, int64_t count) {
    cvtm_error error = {CVTM_OK, ""};
    cvtm_device_delaunay *made = nullptr;
    check(cvtm_device_create(device.c_str(), 0, &on_.device, &error), &error);
    on_.require(cvtm_device_delaunay_create(on_.device, count, &made));
    made_.reset(made);
  }
  uintptr_t stream() const { return on_.stream(); }

  /* Returns the number of triangles; -1 if the host must triangulate. Waits. */
  int64_t build(const Sites &points) {
    int64_t undecided = 0, count = 0;
    on_.require(cvtm_device_copy(on_.device, cvtm_device_delaunay_points(made_.get()),
                                 points.data(), points.nbytes()));
    on_.require(cvtm_device_delaunay_build(made_.get(), &undecided));
    if (undecided > 0) return -1;
    (void)cvtm_device_delaunay_triangles(made_.get(), &count);
    return count;
  }
  /* triangles: 3 per triangle. Waits. */
  void copy(const nb::ndarray<int32_t> &triangles) {
    int64_t count = 0;
    const int32_t *from = cvtm_device_delaunay_triangles(made_.get(), &count);
    on_.require(cvtm_device_copy(on_.device, triangles.data(), from,
                                 static_cast<size_t>(count) * 3 * sizeof *from));
    on_.require(cvtm_device_synchronize(on_.device));
  }

 private:
  OnDevice on_;
  Owner<cvtm_device_delaunay, cvtm_device_delaunay_destroy> made_;
};

}  // namespace

void bind_on_device(nb::module_ &module) {
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<Evaluator>(module, "Evaluator", "Energy and moments of the cells of sites.")
      .def(nb::init<const std::string &, const Floats &, int64_t>(), nb::arg("device"),
           nb::arg("density"), nb::arg("capacity"))
      .def("fits", &Evaluator::fits, nb::arg("height"), nb::arg("width"), nb::arg("count"))
      .def("evaluate", &Evaluator::evaluate, nb::arg("density"), nb::arg("sites"), nb::arg("value"),
           nb::arg("moments"))
      .def("pull_back", &Evaluator::pull_back, nb::arg("cells"), nb::arg("density"),
           nb::arg("sites"), nb::arg("phi"), nb::arg("by_density").none(),
           nb::arg("by_density_double").none(), nb::arg("by_sites").none())
      .def_prop_ro("stream", &Evaluator::stream);
  module.def("condition", &condition, nb::arg("values"), nb::arg("density"),
             "Changes a density on the device in place.");
  nb::class_<Triangulation>(module, "Triangulation", "The Delaunay triangulation of points.")
      .def(nb::init<const std::string &, int64_t>(), nb::arg("device"), nb::arg("count"))
      .def("build", &Triangulation::build, nb::arg("points"), unlocked)
      .def("copy", &Triangulation::copy, nb::arg("triangles"), unlocked)
      .def_prop_ro("stream", &Triangulation::stream);
  nb::class_<Labels>(module, "Labels", "The discrete Voronoi diagram of sites.")
      .def(nb::init<const std::vector<Value> &, int64_t>(), nb::arg("values"), nb::arg("capacity"))
      .def("compute", &Labels::compute, nb::arg("sites"), nb::arg("labels"), unlocked)
      .def("update", &Labels::update, nb::arg("sites"), nb::arg("labels"), unlocked)
      .def("wait", &Labels::wait, unlocked)
      .def_prop_ro("stream", &Labels::stream);
}
