/* Complementarity problems: lcp and hlcp. */
#include "python/src/core.h"

extern "C" {
#include "cli/solvers.h"
}

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = std::tuple<Vector<int64_t>, Vector<int32_t>, Vector<double>, int64_t>;

/* Borrows the arrays: row starts, columns, values, number of columns. */
cvtm_csr csr_of(const Matrix &m) {
  cvtm_csr csr = {};
  csr.rows = static_cast<int64_t>(std::get<0>(m).shape(0)) - 1;
  csr.columns = std::get<3>(m);
  csr.row_start = const_cast<int64_t *>(std::get<0>(m).data());
  csr.column = const_cast<int32_t *>(std::get<1>(m).data());
  csr.value = const_cast<double *>(std::get<2>(m).data());
  return csr;
}

/* What a solve of either kind holds. Vectors of the device: NULL until they are needed. */
struct Solve {
  Solve(const char *command, const std::vector<Value> &values, const Inputs &inputs)
      : arguments(command, std::nullopt, values, inputs, {}) {}
  ~Solve() {
    cvtm_lcp_destroy(lcp);
    cvtm_hlcp_destroy(hlcp);
    for (void *vector : vectors) cvtm_device_free(device, vector);
    cvtm_device_destroy(device);
    cli_hlcp_memory_free(&memory);
  }

  void open() {
    arguments.stage([this] { return cli_open_device(&arguments.options, &device); });
  }
  void require(cvtm_status status) { check(status, cvtm_device_error(device)); }
  /* A vector of n numbers on the device; from NULL: uninitialised. */
  double *vector(int64_t n, const double *from) {
    void *to = nullptr;
    require(cvtm_device_allocate(device, n, sizeof(double), &to));
    vectors.push_back(to);
    const size_t bytes = static_cast<size_t>(n) * sizeof(double);
    if (from != nullptr) require(cvtm_device_copy_in(device, to, from, bytes));
    return static_cast<double *>(to);
  }
  std::vector<double> host(const double *from, int64_t n) {
    std::vector<double> to(static_cast<size_t>(n));
    require(cvtm_device_copy_out(device, to.data(), from, to.size() * sizeof(double)));
    return to;
  }

  Arguments arguments;
  cvtm_device *device = nullptr;
  cvtm_lcp *lcp = nullptr;
  cvtm_hlcp *hlcp = nullptr;
  cli_hlcp_memory memory = {};
  std::vector<void *> vectors;
};

Array<double> array_of(const std::vector<double> &from) {
  return copy_array(from.data(), {from.size()});
}

/* --- lcp ----------------------------------------------------------------------------------------
 */

struct Lcp : Solve {
  Lcp(const std::vector<Value> &values, const Inputs &inputs) : Solve("lcp", values, inputs) {}

  void run() {
    const cvtm_csr csr = csr_of(*a);
    cvtm_lcp_options settings;
    cli_lcp_settings(&arguments.options, &settings);
    settings.monitor = [](void *, const cvtm_lcp_progress *) { return interrupted(nullptr); };
    arguments.stage([&](cvtm_error *e) { return cvtm_csr_check_diagonal(&csr, "A", e); });
    open();
    const auto &grid = arguments.options.lcp;
    require(cvtm_lcp_create(device, &csr, grid.width, grid.height, &settings, &lcp));
    double *on_x = vector(csr.rows, nullptr);
    const double *on_q = vector(csr.rows, q->data());
    const double *on_lower = lower ? vector(csr.rows, lower->data()) : nullptr;
    const double *on_upper = upper ? vector(csr.rows, upper->data()) : nullptr;
    require(cvtm_lcp_solve(lcp, on_q, on_lower, on_upper, on_x, 0, &result));
    x = host(on_x, csr.rows);
  }

  std::optional<Matrix> a;
  std::optional<Vector<double>> q, lower, upper;
  std::vector<double> x;
  cvtm_lcp_result result = {};
};

nb::typed<nb::dict, nb::str, nb::any> solve_lcp(const Matrix &a, const Vector<double> &q,
                                                const std::optional<Vector<double>> &lower,
                                                const std::optional<Vector<double>> &upper,
                                                const std::vector<Value> &values,
                                                const Inputs &inputs) {
  auto work = std::make_shared<Lcp>(values, inputs);
  work->a = a;
  work->q = q;
  work->lower = lower;
  work->upper = upper;
  Lcp *w = work.get();
  perform(
      work, [w] { w->run(); }, nb::none(), w->arguments.options.threads, true);
  const cvtm_lcp_result &r = w->result;
  nb::dict result;
  result["x"] = array_of(w->x);
  result["success"] = r.stop == CVTM_LCP_CONVERGED || r.stop == CVTM_LCP_ROUNDING;
  result["message"] = cvtm_lcp_stop_name(r.stop);
  result["method"] = cvtm_lcp_method_name(r.method);
  result["nit"] = r.iterations;
  result["natural_residual"] = r.natural_residual;
  result["natural_residual_max"] = r.natural_residual_max;
  result["active_lower"] = r.active_lower;
  result["active_upper"] = r.active_upper;
  result["energy"] = r.energy;
  return nb::typed<nb::dict, nb::str, nb::any>(result);
}

/* --- hlcp ---------------------------------------------------------------------------------------
 */

struct Hlcp : Solve {
  Hlcp(const std::vector<Value> &values, const Inputs &inputs) : Solve("hlcp", values, inputs) {}

  void run() {
    constexpr int64_t SWEEPS = 10; /* of each trial of `suggest` */
    const cvtm_csr on_a = csr_of(*a), on_b = csr_of(*b);
    cvtm_hlcp_options settings;
    arguments.stage([&] { return cli_hlcp_check(&arguments.options); });
    arguments.stage([&](cvtm_error *e) {
      return cli_hlcp_settings(&arguments.options, on_a.rows, &memory, &settings, e);
    });
    settings.monitor = [](void *, const cvtm_hlcp_progress *) { return interrupted(nullptr); };
    open();
    const double *on_q = vector(on_a.rows, q->data());
    double *on_z = vector(on_a.rows, nullptr), *on_w = vector(on_a.rows, nullptr);
    if (arguments.options.hlcp.suggest)
      require(cvtm_hlcp_suggest(device, &on_a, &on_b, on_q, SWEEPS, &settings));
    require(cvtm_hlcp_create(device, &on_a, &on_b, &settings, &hlcp));
    require(cvtm_hlcp_solve(hlcp, on_q, nullptr, 0, on_z, on_w, &result));
    z = host(on_z, on_a.rows);
    w = host(on_w, on_a.rows);
  }

  std::optional<Matrix> a, b;
  std::optional<Vector<double>> q;
  std::vector<double> z, w;
  cvtm_hlcp_result result = {};
};

nb::typed<nb::dict, nb::str, nb::any> solve_hlcp(const Matrix &a, const Matrix &b,
                                                 const Vector<double> &q,
                                                 const std::vector<Value> &values,
                                                 const Inputs &inputs) {
  auto work = std::make_shared<Hlcp>(values, inputs);
  work->a = a;
  work->b = b;
  work->q = q;
  Hlcp *h = work.get();
  perform(
      work, [h] { h->run(); }, nb::none(), h->arguments.options.threads, true);
  const cvtm_hlcp_result &r = h->result;
  nb::dict result;
  result["z"] = array_of(h->z);
  result["w"] = array_of(h->w);
  result["success"] = r.stop == CVTM_LCP_CONVERGED;
  result["message"] = cvtm_lcp_stop_name(r.stop);
  result["nit"] = r.iterations;
  result["splits"] = r.splits;
  result["residual"] = r.residual;
  result["max_complementarity"] = r.max_complementarity;
  return nb::typed<nb::dict, nb::str, nb::any>(result);
}

}  // namespace

void bind_lcp(nb::module_ &module) {
  module.def("lcp", &solve_lcp, nb::arg("a"), nb::arg("q"), nb::arg("lower").none(),
             nb::arg("upper").none(), nb::arg("values"), nb::arg("inputs"));
  module.def("hlcp", &solve_hlcp, nb::arg("a"), nb::arg("b"), nb::arg("q"), nb::arg("values"),
             nb::arg("inputs"));
}
