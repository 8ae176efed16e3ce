/* L-BFGS-B by reverse communication: Python evaluates the objective between two calls. */
#include "python/src/core.h"

extern "C" {
#include "cli/solvers.h"
}

namespace {

using HostVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/* In the memory of the solver's device, of any framework. */
using DeviceArray = nb::ndarray<const double, nb::c_contig>;

class Minimizer {
 public:
  Minimizer(int64_t n, const std::vector<Value> &values, const std::optional<HostVector> &lower,
            const std::optional<HostVector> &upper)
      : arguments_("minimize", "objective", values, {}, {}), n_(n) {
    try {
      create(lower ? lower->data() : nullptr, upper ? upper->data() : nullptr);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Minimizer() { release(); }
  Minimizer(const Minimizer &) = delete;

  void start(const HostVector &x) {
    require(cvtm_device_copy_in(device_, x_, x.data(), bytes()));
    begin();
  }
  void start_on_device(const DeviceArray &x) {
    require(cvtm_device_copy(device_, x_, x.data(), bytes()));
    begin();
  }

  bool advance(double f, const HostVector &g) {
    require(cvtm_device_copy_in(device_, at_.f, &f, sizeof f));
    require(cvtm_device_copy_in(device_, at_.g, g.data(), bytes()));
    return next();
  }
  /* Enqueued behind the objective's work if that is on `stream`. */
  bool advance_on_device(const DeviceArray &f, const DeviceArray &g) {
    require(cvtm_device_copy(device_, at_.f, f.data(), sizeof(double)));
    require(cvtm_device_copy(device_, at_.g, g.data(), bytes()));
    return next();
  }

  nb::typed<nb::dict, nb::str, nb::any> finish() {
    cvtm_lbfgsb_result r;
    require(cvtm_lbfgsb_finish(solver_, x_, &r));
    nb::dict result;
    result["fun"] = r.f;
    result["success"] = cli_minimize_converged(&arguments_.options, &r) != 0;
    result["status"] = static_cast<int>(r.stop);
    result["message"] = cvtm_stop_name(r.stop);
    result["nit"] = r.iterations;
    result["nfev"] = r.evaluations;
    result["njev"] = r.evaluations;
    result["projected_gradient"] = r.projected_gradient;
    result["active"] = r.active;
    result["restarts"] = r.restarts;
    return nb::typed<nb::dict, nb::str, nb::any>(result);
  }

  /* x of the evaluation that is wanted, or the result after finish; borrowed from the solver. */
  const double *x(bool wanted) const { return wanted ? at_.x : x_; }
  size_t size() const { return static_cast<size_t>(n_); }
  bool on_cuda() const { return cvtm_device_get_kind(device_) == CVTM_DEVICE_CUDA; }
  int ordinal() const {
    const char *colon = strchr(cvtm_device_name(device_), ':');
    return colon != nullptr ? atoi(colon + 1) : 0;
  }
  uintptr_t stream() const { return reinterpret_cast<uintptr_t>(cvtm_device_stream(device_)); }

  Array<double> host(bool wanted) {
    double *copy = new double[size() + 1];
    nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<double *>(p); });
    require(cvtm_device_copy_out(device_, copy, x(wanted), bytes()));
    return Array<double>(copy, {size()}, owner);
  }

  /* The records of the iterations since the last call. */
  std::vector<nb::typed<nb::dict, nb::str, nb::any>> take_records() {
    std::vector<nb::typed<nb::dict, nb::str, nb::any>> taken;
    for (const cvtm_lbfgsb_progress &r : records_) {
      nb::dict record;
      record["iteration"] = r.iteration;
      record["evaluations"] = r.evaluations;
      record["fun"] = r.f;
      record["projected_gradient"] = r.projected_gradient;
      record["step"] = r.step;
      record["active"] = r.active;
      taken.emplace_back(record);
    }
    records_.clear();
    return taken;
  }

 private:
  static int watch(void *context, const cvtm_lbfgsb_progress *progress) {
    static_cast<Minimizer *>(context)->records_.push_back(*progress);
    return 0;
  }

  void create(const double *lower, const double *upper) {
    cvtm_lbfgsb_options settings;
    arguments_.stage([this] { return cli_open_device(&arguments_.options, &device_); });
    cli_minimize_settings(&arguments_.options, &settings);
    settings.monitor = watch;
    settings.monitor_context = this;
    require(cvtm_lbfgsb_create(device_, n_, &settings, &solver_));
    require(cvtm_device_allocate(device_, n_, sizeof(double), reinterpret_cast<void **>(&x_)));
    void *bounds[2] = {nullptr, nullptr};
    const double *from[2] = {lower, upper};
    cvtm_status status = CVTM_OK;
    for (int k = 0; k < 2 && status == CVTM_OK; ++k) {
      if (from[k] == nullptr) continue;
      status = cvtm_device_allocate(device_, n_, sizeof(double), &bounds[k]);
      if (status == CVTM_OK) status = cvtm_device_copy_in(device_, bounds[k], from[k], bytes());
    }
    if (status == CVTM_OK)
      status = cvtm_lbfgsb_set_bounds(solver_, static_cast<double *>(bounds[0]),
                                      static_cast<double *>(bounds[1]));
    for (void *memory : bounds)
      if (memory != nullptr) cvtm_device_free(device_, memory);
    require(status);
  }

  void release() {
    cvtm_lbfgsb_destroy(solver_);
    if (x_ != nullptr) cvtm_device_free(device_, x_);
    cvtm_device_destroy(device_);
  }

  void begin() { require(cvtm_lbfgsb_start(solver_, x_, &at_)); }

  bool next() {
    int running = 0;
    require(cvtm_lbfgsb_advance(solver_, &running));
    return running != 0;
  }

  size_t bytes() const { return size() * sizeof(double); }
  void require(cvtm_status status) { check(status, cvtm_device_error(device_)); }

  Arguments arguments_;
  int64_t n_;
  cvtm_device *device_ = nullptr;
  cvtm_lbfgsb *solver_ = nullptr;
  double *x_ = nullptr;
  cvtm_lbfgsb_evaluation at_ = {};
  std::vector<cvtm_lbfgsb_progress> records_;
};

/* x without a copy, on the solver's device, alive as long as the solver. */
nb::object view(nb::handle self, bool wanted) {
  const Minimizer &m = *nb::inst_ptr<Minimizer>(self);
  const size_t shape[1] = {m.size()};
  if (!m.on_cuda())
    return nb::cast(nb::ndarray<nb::numpy, const double>(m.x(wanted), 1, shape, self));
  /* Frameworks refuse DLPack arrays that are read-only. */
  return nb::cast(nb::ndarray<double>(const_cast<double *>(m.x(wanted)), 1, shape, self, nullptr,
                                      nb::dtype<double>(), nb::device::cuda::value, m.ordinal()));
}

}  // namespace

void bind_minimize(nb::module_ &module) {
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<Minimizer>(module, "Minimizer", "L-BFGS-B, evaluated by the caller.")
      .def(nb::init<int64_t, const std::vector<Value> &, const std::optional<HostVector> &,
                    const std::optional<HostVector> &>(),
           nb::arg("n"), nb::arg("values"), nb::arg("lower").none(), nb::arg("upper").none())
      .def("start", &Minimizer::start, nb::arg("x"), unlocked)
      .def("start_on_device", &Minimizer::start_on_device, nb::arg("x"), unlocked)
      .def("advance", &Minimizer::advance, nb::arg("f"), nb::arg("g"), unlocked,
           "Uses the value and the gradient at x; false when the run has ended.")
      .def("advance_on_device", &Minimizer::advance_on_device, nb::arg("f"), nb::arg("g"), unlocked)
      .def("finish", &Minimizer::finish)
      .def(
          "view", [](nb::handle_t<Minimizer> self, bool wanted) { return view(self, wanted); },
          nb::arg("wanted"), "x of the wanted evaluation, or the result; not copied.")
      .def("host", &Minimizer::host, nb::arg("wanted"), "The same, copied to the host.")
      .def("take_records", &Minimizer::take_records)
      .def_prop_ro("on_cuda", &Minimizer::on_cuda)
      .def_prop_ro("ordinal", &Minimizer::ordinal)
      .def_prop_ro("stream", &Minimizer::stream);
}
