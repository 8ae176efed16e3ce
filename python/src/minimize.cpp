/* L-BFGS-B by reverse communication: Python evaluates the objective between two calls. */
#include "python/src/on_device.h"

extern "C" {
#include "cli/solvers.h"
#include "lbfgsb/lbfgsb_state.h"
}

namespace {

using HostVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DeviceArray = Numbers; /* in the memory of the solver's device */

class Minimizer {
 public:
  /* problems: number of problems in a batch, of n variables each; 0: one problem, not a batch.
   * search: limit on the evaluations of one line search; 0: the library's limit. stream: a stream
   * of the caller on the device, for all work. */
  Minimizer(int64_t problems, int64_t n, const std::vector<Value> &values, int search,
            std::optional<uintptr_t> stream)
      : arguments_("minimize", nb::str("objective"), values, {}, {}),
        problems_(problems),
        n_(problems > 0 ? problems * n : n) {
    cvtm_lbfgsb_options settings;
    cvtm_lbfgsb *made = nullptr;
    on_.open(arguments_);
    if (stream) cvtm_device_set_stream(on_.device, reinterpret_cast<void *>(*stream));
    cli_minimize_settings(&arguments_.options, &settings);
    if (search > 0) settings.search_evaluations = search;
    settings.monitor = watch;
    settings.monitor_context = this;
    long_history_ = settings.history > CVTM_LBFGSB_SHORT;
    on_.require(problems > 0 ? cvtm_lbfgsb_create_batch(on_.device, problems, n, &settings, &made)
                             : cvtm_lbfgsb_create(on_.device, n, &settings, &made));
    solver_.reset(made);
    x_ = on_.vector(n_);
  }
  Minimizer(const Minimizer &) = delete;

  void bound(const std::optional<HostVector> &lower, const std::optional<HostVector> &upper) {
    double *low = lower ? on_.vector(n_, lower->data()) : nullptr;
    double *high = upper ? on_.vector(n_, upper->data()) : nullptr;
    set_bounds(low, high);
    on_.drop(low);
    on_.drop(high);
  }
  void bound_on_device(const std::optional<DeviceArray> &lower,
                       const std::optional<DeviceArray> &upper) {
    set_bounds(lower ? lower->data() : nullptr, upper ? upper->data() : nullptr);
  }

  void start(const HostVector &x) {
    on_.require(cvtm_device_copy_in(on_.device, x_, x.data(), bytes()));
    begin();
  }
  void start_on_device(const DeviceArray &x) {
    on_.require(cvtm_device_copy(on_.device, x_, x.data(), bytes()));
    begin();
  }

  /* f: the value; for a batch, per problem the value and an unused number. */
  void advance(const HostVector &f, const HostVector &g) {
    on_.require(cvtm_device_copy_in(on_.device, at_.f, f.data(), f.size() * sizeof(double)));
    on_.require(cvtm_device_copy_in(on_.device, at_.g, g.data(), bytes()));
    next();
  }
  /* Continues with the value and the gradient in the solver's memory. Waits for the work of the
   * objective if the solver's stream does. wait false: does not wait, and returns true. */
  bool advance_on_device(bool wait) {
    on_.require(cvtm_lbfgsb_advance(solver_.get(), wait ? &running_ : nullptr));
    return is_running();
  }
  bool poll() {
    on_.require(cvtm_lbfgsb_poll(solver_.get(), &running_));
    return is_running();
  }
  bool is_running() const { return running_ != 0; }

  /* True if `finish` may run on the device, which has the states of a large batch. */
  bool is_large() const { return on_cuda() && problems_ >= 4096 && !long_history_; }
  void finish_on_device() {
    const cvtm_status status = cvtm_lbfgsb_finish(solver_.get(), x_, nullptr);
    if (status != CVTM_ERROR_EVALUATION) on_.require(status);
    on_.require(cvtm_device_synchronize(on_.device));
  }
  /* The states of all problems, on the solver's device. */
  const char *states() const {
    int64_t stride;
    return reinterpret_cast<const char *>(running(&stride)) - offsetof(cvtm_lbfgsb_state, running);
  }
  bool has_converged(int stop) const {
    cvtm_lbfgsb_result result = {};
    result.stop = static_cast<cvtm_stop>(stop);
    return cli_minimize_converged(&arguments_.options, &result) != 0;
  }

  /* Returns the results; for a batch, arrays with one element per problem. */
  Figures finish() {
    std::vector<cvtm_lbfgsb_result> results(problems_ > 0 ? static_cast<size_t>(problems_) : 1);
    {
      nb::gil_scoped_release release;
      const cvtm_status status = cvtm_lbfgsb_finish(solver_.get(), x_, results.data());
      /* a problem of a batch that is not finite at its start has this as its stop reason */
      if (problems_ == 0 || status != CVTM_ERROR_EVALUATION) on_.require(status);
      on_.require(cvtm_device_synchronize(on_.device));
    }
    nb::dict result;
    const auto add = [&](const char *name, auto of) {
      using T = decltype(of(results[0]));
      if (problems_ == 0) {
        result[name] = of(results[0]);
        return;
      }
      std::vector<char> bytes(results.size() * sizeof(T));
      T *values = reinterpret_cast<T *>(bytes.data());
      for (size_t p = 0; p < results.size(); ++p) values[p] = of(results[p]);
      result[name] = copy_array<T>(values, {results.size()});
    };
    using R = const cvtm_lbfgsb_result &;
    add("fun", [](R r) { return r.f; });
    add("success", [&](R r) { return cli_minimize_converged(&arguments_.options, &r) != 0; });
    add("status", [](R r) { return static_cast<int>(r.stop); });
    add("nit", [](R r) { return r.iterations; });
    add("nfev", [](R r) { return r.evaluations; });
    add("njev", [](R r) { return r.evaluations; });
    add("projected_gradient", [](R r) { return r.projected_gradient; });
    add("active", [](R r) { return r.active; });
    add("restarts", [](R r) { return r.restarts; });
    return Figures(result);
  }

  /* Numbers of the solver on its device, by name: `x` and `g` for the next evaluation, its value
   * `f` or values, the best `point` so far, or the `result` after finish. */
  struct Place {
    const double *data;
    size_t count;
    int64_t stride;
  };
  Place place(const std::string &name) const {
    if (name == "f") return {at_.f, problems_ > 0 ? problems() : 1, 2};
    const double *of = name == "x"       ? at_.x
                       : name == "g"     ? at_.g
                       : name == "point" ? cvtm_lbfgsb_point(solver_.get())
                                         : x_;
    return {of, size(), 1};
  }
  /* Per problem: nonzero while it runs; on the solver's device. */
  const int *running(int64_t *stride) const { return cvtm_lbfgsb_running(solver_.get(), stride); }
  /* `running`, copied to the host. */
  Array<int> host_running() {
    int64_t stride = 1;
    const int *first = running(&stride);
    std::vector<int> states((problems() - 1) * static_cast<size_t>(stride) + 1), picked;
    on_.require(
        cvtm_device_copy_out(on_.device, states.data(), first, states.size() * sizeof(int)));
    for (size_t p = 0; p < problems(); ++p)
      picked.push_back(states[p * static_cast<size_t>(stride)]);
    return copy_array<int>(picked.data(), {problems()});
  }
  size_t problems() const { return static_cast<size_t>(problems_); }
  size_t size() const { return static_cast<size_t>(n_); }
  int64_t threads() const { return arguments_.options.run.threads; }
  bool on_cuda() const { return on_.is_cuda(); }
  int ordinal() const { return on_.ordinal(); }
  uintptr_t stream() const { return on_.stream(); }

  Array<double> host(const std::string &name) {
    double *copy = new double[size() + 1];
    nb::capsule owner(copy, [](void *p) noexcept { delete[] static_cast<double *>(p); });
    on_.require(cvtm_device_copy_out(on_.device, copy, place(name).data, bytes()));
    return Array<double>(copy, {size()}, owner);
  }

  /* The records of the iterations since the last call. */
  std::vector<Figures> take_records() {
    std::vector<Figures> taken;
    for (const cvtm_lbfgsb_progress &r : records_) {
      nb::dict record;
      record["iteration"] = r.iteration;
      record["evaluations"] = r.evaluations;
      record["fun"] = r.f;
      record["projected_gradient"] = r.projected_gradient;
      record["step"] = r.step;
      record["active"] = r.active;
      record["cauchy"] = r.cauchy;
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

  void set_bounds(const double *lower, const double *upper) {
    on_.require(cvtm_lbfgsb_set_bounds(solver_.get(), lower, upper));
  }

  /* Waits, so that x is then ready for any stream. */
  void begin() {
    on_.require(cvtm_lbfgsb_start(solver_.get(), x_, &at_));
    on_.require(cvtm_device_synchronize(on_.device));
  }

  void next() { on_.require(cvtm_lbfgsb_advance(solver_.get(), &running_)); }

  size_t bytes() const { return OnDevice::bytes_of(n_); }

  Arguments arguments_;
  int64_t problems_, n_; /* n_: number of variables of all problems */
  OnDevice on_;
  Owner<cvtm_lbfgsb, cvtm_lbfgsb_destroy> solver_;
  double *x_ = nullptr;
  cvtm_lbfgsb_evaluation at_ = {};
  int running_ = 1;
  bool long_history_ = false;
  std::vector<cvtm_lbfgsb_progress> records_;
};

/* A solver and the work on it. */
struct Held {
  nb::object solver;
  std::function<void(Minimizer &)> work;
};

/* Does the work without the GIL; for many variables in a separate thread, for which Ctrl-C does not
 * wait. `work` holds the arrays that it reads. */
void work_on(nb::handle solver, std::function<void(Minimizer &)> work) {
  constexpr size_t MANY = 1 << 18; /* a thread takes about 20 microseconds */
  Minimizer *m = nb::inst_ptr<Minimizer>(solver);
  auto held = std::make_shared<Held>(Held{nb::borrow(solver), std::move(work)});
  Held *h = held.get();
  if (m->size() >= MANY) {
    perform(
        held, [h, m] { h->work(*m); }, nb::none(), m->threads());
  } else {
    nb::gil_scoped_release release;
    h->work(*m);
  }
}

/* An array of numbers of the solver without a copy, on its device, alive as long as the solver. */
template <typename T>
nb::object show(nb::handle self, const Minimizer &m, const T *data, size_t count, int64_t stride) {
  const size_t shape[1] = {count};
  const int64_t strides[1] = {stride};
  if (!m.on_cuda()) return nb::cast(nb::ndarray<nb::numpy, const T>(data, 1, shape, self, strides));
  /* frameworks refuse DLPack arrays that are read-only */
  return nb::cast(nb::ndarray<T>(const_cast<T *>(data), 1, shape, self, strides, nb::dtype<T>(),
                                 nb::device::cuda::value, m.ordinal()));
}

nb::object view(nb::handle self, const std::string &name) {
  const Minimizer &m = *nb::inst_ptr<Minimizer>(self);
  const Minimizer::Place at = m.place(name);
  return show(self, m, at.data, at.count, at.stride);
}

/* A figure of each problem of a large batch, on its device. */
nb::object figure(nb::handle self, const std::string &name) {
  const Minimizer &m = *nb::inst_ptr<Minimizer>(self);
  const auto at = [&](auto example, size_t offset) {
    using T = decltype(example);
    return show(self, m, reinterpret_cast<const T *>(m.states() + offset), m.problems(),
                static_cast<int64_t>(sizeof(cvtm_lbfgsb_state) / sizeof(T)));
  };
  if (name == "fun") return at(0.0, offsetof(cvtm_lbfgsb_state, f));
  if (name == "status") return at(0, offsetof(cvtm_lbfgsb_state, stop));
  if (name == "nit") return at(int64_t{0}, offsetof(cvtm_lbfgsb_state, iteration));
  if (name == "nfev") return at(int64_t{0}, offsetof(cvtm_lbfgsb_state, evaluations));
  if (name == "active") return at(int64_t{0}, offsetof(cvtm_lbfgsb_state, active));
  if (name == "restarts") return at(int64_t{0}, offsetof(cvtm_lbfgsb_state, restarts));
  return at(0.0, offsetof(cvtm_lbfgsb_state, projected_gradient));
}

nb::object running(nb::handle self) {
  const Minimizer &m = *nb::inst_ptr<Minimizer>(self);
  int64_t stride = 1;
  const int *first = m.running(&stride);
  return show(self, m, first, m.problems(), stride);
}

}  // namespace

void bind_minimize(nb::module_ &module) {
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  module.def("stop_reasons", [] {
    std::vector<std::string> names;
    for (int stop = 0; stop <= static_cast<int>(CVTM_STOP_NOT_FINITE); ++stop)
      names.emplace_back(cvtm_stop_name(static_cast<cvtm_stop>(stop)));
    return names;
  });
  nb::class_<Minimizer>(module, "Minimizer", "L-BFGS-B, evaluated by the caller.")
      .def(nb::init<int64_t, int64_t, const std::vector<Value> &, int, std::optional<uintptr_t>>(),
           nb::arg("problems"), nb::arg("n"), nb::arg("values"), nb::arg("search") = 0,
           nb::arg("stream").none() = nb::none())
      .def(
          "bound",
          [](nb::handle_t<Minimizer> self, const std::optional<HostVector> &lower,
             const std::optional<HostVector> &upper) {
            work_on(self, [lower, upper](Minimizer &m) { m.bound(lower, upper); });
          },
          nb::arg("lower").none(), nb::arg("upper").none())
      .def("bound_on_device", &Minimizer::bound_on_device, nb::arg("lower").none(),
           nb::arg("upper").none(), unlocked)
      .def(
          "start",
          [](nb::handle_t<Minimizer> self, const HostVector &x) {
            work_on(self, [x](Minimizer &m) { m.start(x); });
          },
          nb::arg("x"))
      .def("start_on_device", &Minimizer::start_on_device, nb::arg("x"), unlocked)
      .def(
          "advance",
          [](nb::handle_t<Minimizer> self, const HostVector &f, const HostVector &g) {
            work_on(self, [f, g](Minimizer &m) { m.advance(f, g); });
            return nb::inst_ptr<Minimizer>(self)->is_running();
          },
          nb::arg("f"), nb::arg("g"),
          "Uses the value and the gradient at x; false when the run has ended.")
      .def("advance_on_device", &Minimizer::advance_on_device, nb::arg("wait"), unlocked,
           "The same with f and g of `view`.")
      .def("poll", &Minimizer::poll, unlocked, "Waits; false when the run has ended.")
      .def("finish", &Minimizer::finish)
      .def("finish_on_device", &Minimizer::finish_on_device, unlocked)
      .def("has_converged", &Minimizer::has_converged, nb::arg("stop"))
      .def(
          "figure",
          [](nb::handle_t<Minimizer> self, const std::string &name) { return figure(self, name); },
          nb::arg("name"), "Of each problem of a large batch; not copied.")
      .def_prop_ro("is_large", &Minimizer::is_large)
      .def(
          "view",
          [](nb::handle_t<Minimizer> self, const std::string &name) { return view(self, name); },
          nb::arg("name"),
          "x, f and g of the wanted evaluation, the best point so far, or the result; not copied.")
      .def(
          "running", [](nb::handle_t<Minimizer> self) { return running(self); },
          "Of each problem of a batch: not 0 while it runs; not copied.")
      .def("host_running", &Minimizer::host_running, "The same, copied to the host.")
      .def("host", &Minimizer::host, nb::arg("name"),
           "x, the point or the result, copied to the host.")
      .def("take_records", &Minimizer::take_records)
      .def_prop_ro("on_cuda", &Minimizer::on_cuda)
      .def_prop_ro("ordinal", &Minimizer::ordinal)
      .def_prop_ro("stream", &Minimizer::stream);
}
