/* Cells of equal mass and their derivatives. A call can be interrupted, so its work shares
 * ownership of the objects that it uses. */
#include "python/src/core.h"

extern "C" {
#include "cvt/equal_mass/equal_mass_derivative.h"
}

namespace {

using Sites = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Density = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = std::shared_ptr<std::vector<double>>;

Numbers numbers(size_t count) { return std::make_shared<std::vector<double>>(count); }

/* The cells, and the size of the density. */
struct Cells {
  Cells(const Density &density, const Sites &sites)
      : width(density.shape(1)), height(density.shape(0)), count(sites.shape(0)) {}
  ~Cells() { cvtm_equal_mass_derivative_destroy(made); }
  Cells(const Cells &) = delete;

  cvtm_domain domain() const { return {static_cast<int>(width), static_cast<int>(height), 0}; }

  size_t width, height, count;
  cvtm_equal_mass_derivative *made = nullptr;
};

using Scalars = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class EqualMass {
 public:
  EqualMass(const Density &density, const Sites &sites)
      : cells_(std::make_shared<Cells>(density, sites)) {
    perform([c = cells_, density, sites] {
      cvtm_error error = {CVTM_OK, ""};
      check(cvtm_equal_mass_derivative_create(c->domain(), density.data(), sites.data(),
                                              static_cast<int64_t>(c->count), &c->made, &error),
            &error);
    });
  }

  Array<double> weights() const {
    return copy_array(cvtm_equal_mass_derivative_weights(cells_->made), {cells_->count});
  }
  Array<double> centroids() const {
    return copy_array(cvtm_equal_mass_derivative_centroids(cells_->made), {cells_->count, 2});
  }
  /* Computes the derivatives by sites and density. */
  std::tuple<Array<double>, Array<double>> pull_back(const Scalars &by_weights,
                                                     const Sites &by_centroids) const {
    Numbers by_sites = numbers(2 * cells_->count);
    Numbers by_density = numbers(cells_->width * cells_->height);
    perform([c = cells_, by_weights, by_centroids, by_sites, by_density] {
      cvtm_error error = {CVTM_OK, ""};
      check(cvtm_equal_mass_derivative_pull_back(c->made, by_weights.data(), by_centroids.data(),
                                                 by_sites->data(), by_density->data(), &error),
            &error);
    });
    return {copy_array(by_sites->data(), {cells_->count, 2}),
            copy_array(by_density->data(), {cells_->height, cells_->width})};
  }

 private:
  std::shared_ptr<Cells> cells_;
};

}  // namespace

void bind_equal_mass(nb::module_ &module) {
  nb::class_<EqualMass>(module, "EqualMass", "The cells of equal mass of sites.")
      .def(nb::init<const Density &, const Sites &>(), nb::arg("density"), nb::arg("sites"))
      .def("weights", &EqualMass::weights)
      .def("centroids", &EqualMass::centroids)
      .def("pull_back", &EqualMass::pull_back, nb::arg("by_weights"), nb::arg("by_centroids"));
}
