/* Complementarity problems: lcp and hlcp. */
#include "python/src/on_device.h"

extern "C" {
#include "cli/solvers.h"
}

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<double, nb::ndim<1>, nb::c_contig>;
using Matrix = std::tuple<Vector<int64_t>, Vector<int32_t>, Vector<double>, int64_t>;

/* Makes a matrix that borrows the arrays: row starts, columns, values, number of columns. */
cvtm_csr csr_of(const Matrix &m) {
  cvtm_csr csr = {};
  csr.rows = static_cast<int64_t>(std::get<0>(m).shape(0)) - 1;
  csr.columns = std::get<3>(m);
  csr.row_start = const_cast<int64_t *>(std::get<0>(m).data());
  csr.column = const_cast<int32_t *>(std::get<1>(m).data());
  csr.value = const_cast<double *>(std::get<2>(m).data());
  return csr;
}

/* A vector of the solution: in an array of the caller on the device, or on the host. */
struct Solution {
  std::optional<Result> given;
  std::vector<double> host;
  double *memory = nullptr;

  double *open(OnDevice *on, int64_t n) { return memory = given ? given->data() : on->vector(n); }
  void close(OnDevice *on, int64_t n) {
    if (given)
      on->require(cvtm_device_synchronize(on->device));
    else
      host = on->host(memory, n);
  }
  nb::object object() const {
    return given ? nb::none() : nb::cast(copy_array(host.data(), {host.size()}));
  }
};

/* --- lcp ----------------------------------------------------------------------------------------
 */

struct Lcp {
  Lcp(const std::vector<Value> &values, const Inputs &inputs)
      : arguments("lcp", nb::none(), values, inputs, {}) {}

  void run() {
    const cvtm_csr csr = csr_of(*a);
    cvtm_lcp_options settings;
    cli_lcp_settings(&arguments.options, &settings);
    settings.monitor = [](void *, const cvtm_lcp_progress *) { return interrupted(nullptr); };
    arguments.stage([&](cvtm_error *e) { return cvtm_csr_check(&csr, "A", e); });
    on.open(arguments);
    const auto &grid = arguments.options.lcp;
    cvtm_lcp *made = nullptr;
    on.require(cvtm_lcp_create(on.device, &csr, grid.width, grid.height, &settings, &made));
    const Owner<cvtm_lcp, cvtm_lcp_destroy> solver(made);
    double *on_x = x.open(&on, csr.rows);
    const double *on_q = on.numbers(*q);
    const double *on_lower = lower ? on.numbers(*lower) : nullptr;
    const double *on_upper = upper ? on.numbers(*upper) : nullptr;
    on.require(cvtm_lcp_solve(made, on_q, on_lower, on_upper, on_x, 0, &result));
    x.close(&on, csr.rows);
  }

  Arguments arguments;
  OnDevice on;
  std::optional<Matrix> a;
  std::optional<Numbers> q, lower, upper;
  Solution x;
  cvtm_lcp_result result = {};
};

Figures solve_lcp(const Matrix &a, const Numbers &q, const std::optional<Numbers> &lower,
                  const std::optional<Numbers> &upper, const std::optional<Result> &x,
                  const std::vector<Value> &values, const Inputs &inputs) {
  auto work = std::make_shared<Lcp>(values, inputs);
  work->a = a;
  work->q = q;
  work->lower = lower;
  work->upper = upper;
  work->x.given = x;
  solve(work);
  const cvtm_lcp_result &r = work->result;
  nb::dict result;
  result["x"] = work->x.object();
  result["success"] = cvtm_lcp_is_solved(r.stop) != 0;
  result["message"] = cvtm_lcp_stop_name(r.stop);
  result["method"] = cvtm_lcp_method_name(r.method);
  result["nit"] = r.iterations;
  result["natural_residual"] = r.natural_residual;
  result["natural_residual_max"] = r.natural_residual_max;
  result["active_lower"] = r.active_lower;
  result["active_upper"] = r.active_upper;
  result["energy"] = r.energy;
  return Figures(result);
}

/* --- hlcp ---------------------------------------------------------------------------------------
 */

struct Hlcp {
  Hlcp(const std::vector<Value> &values, const Inputs &inputs)
      : arguments("hlcp", nb::none(), values, inputs, {}) {}
  ~Hlcp() { free(omega); }
  Hlcp(const Hlcp &) = delete;

  void run() {
    const cvtm_csr on_a = csr_of(*a), on_b = csr_of(*b);
    cvtm_hlcp_options settings;
    arguments.stage([&] { return cli_hlcp_check(&arguments.options); });
    arguments.stage([&](cvtm_error *e) {
      return cli_hlcp_settings(&arguments.options, on_a.rows, &omega, &settings, e);
    });
    settings.monitor = [](void *, const cvtm_hlcp_progress *) { return interrupted(nullptr); };
    on.open(arguments);
    const double *on_q = on.numbers(*q);
    double *on_z = z.open(&on, on_a.rows), *on_w = w.open(&on, on_a.rows);
    cvtm_hlcp *made = nullptr;
    on.require(cvtm_hlcp_create(on.device, &on_a, &on_b, &settings, &made));
    const Owner<cvtm_hlcp, cvtm_hlcp_destroy> solver(made);
    on.require(cvtm_hlcp_solve(made, on_q, nullptr, 0, on_z, on_w, &result));
    z.close(&on, on_a.rows);
    w.close(&on, on_a.rows);
  }

  Arguments arguments;
  OnDevice on;
  double *omega = nullptr;
  std::optional<Matrix> a, b;
  std::optional<Numbers> q;
  Solution z, w;
  cvtm_hlcp_result result = {};
};

Figures solve_hlcp(const Matrix &a, const Matrix &b, const Numbers &q,
                   const std::optional<Result> &z, const std::optional<Result> &w,
                   const std::vector<Value> &values, const Inputs &inputs) {
  auto work = std::make_shared<Hlcp>(values, inputs);
  work->a = a;
  work->b = b;
  work->q = q;
  work->z.given = z;
  work->w.given = w;
  solve(work);
  const cvtm_hlcp_result &r = work->result;
  nb::dict result;
  result["z"] = work->z.object();
  result["w"] = work->w.object();
  result["success"] = r.stop == CVTM_LCP_CONVERGED;
  result["message"] = cvtm_lcp_stop_name(r.stop);
  result["nit"] = r.iterations;
  result["splits"] = r.splits;
  result["residual"] = r.residual;
  result["max_complementarity"] = r.max_complementarity;
  return Figures(result);
}

}  // namespace

void bind_lcp(nb::module_ &module) {
  module.def("lcp", &solve_lcp, nb::arg("a"), nb::arg("q"), nb::arg("lower").none(),
             nb::arg("upper").none(), nb::arg("x").none(), nb::arg("values"), nb::arg("inputs"),
             "x: an array on the device that gets the solution.");
  module.def("hlcp", &solve_hlcp, nb::arg("a"), nb::arg("b"), nb::arg("q"), nb::arg("z").none(),
             nb::arg("w").none(), nb::arg("values"), nb::arg("inputs"),
             "z, w: arrays on the device that get the solution.");
}
