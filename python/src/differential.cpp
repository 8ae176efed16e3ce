/* Moments of Voronoi cells and their derivatives. Work can be interrupted, so that it shares what
 * it uses. */
#include "python/src/core.h"

extern "C" {
#include "cvt/differential.h"
#include "cvt/equal_mass/equal_mass_derivative.h"
}

namespace {

using Sites = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Density = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Phi = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Numbers = std::shared_ptr<std::vector<double>>;

Numbers numbers(size_t count) { return std::make_shared<std::vector<double>>(count); }

/* The cells of sites, made by a function of the library, and the sizes of a density. */
template <typename T, void (*destroy)(T *)>
struct Cells {
  Cells(const Density &density, const Sites &sites)
      : width(density.shape(1)), height(density.shape(0)), count(sites.shape(0)) {}
  ~Cells() { destroy(made); }
  Cells(const Cells &) = delete;

  cvtm_domain domain() const { return {static_cast<int>(width), static_cast<int>(height), 0}; }

  size_t width, height, count;
  T *made = nullptr;
};

class Differential {
 public:
  Differential(const Density &density, const Sites &sites)
      : cells_(std::make_shared<Made>(density, sites)),
        density_(std::make_shared<std::vector<double>>(density.data(),
                                                       density.data() + density.size())) {
    perform([c = cells_, sites] {
      cvtm_error error = {CVTM_OK, ""};
      check(cvtm_differential_create(c->domain(), sites.data(), static_cast<int64_t>(c->count),
                                     &c->made, &error),
            &error);
    });
  }

  /* mass, first and second moments. */
  std::tuple<Array<double>, Array<double>, Array<double>> moments() const {
    const size_t n = cells_->count;
    Numbers mass = numbers(n), first = numbers(2 * n), second = numbers(n);
    perform([c = cells_, rho = density_, mass, first, second] {
      cvtm_differential_moments(c->made, rho->data(), mass->data(), first->data(), second->data());
    });
    return {copy_array(mass->data(), {n}), copy_array(first->data(), {n, 2}),
            copy_array(second->data(), {n})};
  }

  Array<double> by_density(const Phi &phi) const {
    Numbers out = numbers(cells_->width * cells_->height);
    perform([c = cells_, rho = density_, phi, out] {
      cvtm_differential_pull_back(c->made, rho->data(), phi.data(), out->data(), nullptr);
    });
    return copy_array(out->data(), {cells_->height, cells_->width});
  }
  Array<double> by_sites(const Phi &phi) const {
    Numbers out = numbers(2 * cells_->count);
    perform([c = cells_, rho = density_, phi, out] {
      cvtm_differential_pull_back(c->made, rho->data(), phi.data(), nullptr, out->data());
    });
    return copy_array(out->data(), {cells_->count, 2});
  }

 private:
  using Made = Cells<cvtm_differential, cvtm_differential_destroy>;
  std::shared_ptr<Made> cells_;
  Numbers density_;
};

using Vectors = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Scalars = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class EqualMass {
 public:
  EqualMass(const Density &density, const Sites &sites)
      : cells_(std::make_shared<Made>(density, sites)) {
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
  /* The derivatives by sites and density. */
  std::tuple<Array<double>, Array<double>> pull_back(const Scalars &by_weights,
                                                     const Vectors &by_centroids) const {
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
  using Made = Cells<cvtm_equal_mass_derivative, cvtm_equal_mass_derivative_destroy>;
  std::shared_ptr<Made> cells_;
};

}  // namespace

void bind_differential(nb::module_ &module) {
  nb::class_<Differential>(module, "Differential", "The cells of sites, and their integrals.")
      .def(nb::init<const Density &, const Sites &>(), nb::arg("density"), nb::arg("sites"))
      .def("moments", &Differential::moments)
      .def("by_density", &Differential::by_density, nb::arg("phi"))
      .def("by_sites", &Differential::by_sites, nb::arg("phi"));
  nb::class_<EqualMass>(module, "EqualMass", "The cells of equal mass of sites.")
      .def(nb::init<const Density &, const Sites &>(), nb::arg("density"), nb::arg("sites"))
      .def("weights", &EqualMass::weights)
      .def("centroids", &EqualMass::centroids)
      .def("pull_back", &EqualMass::pull_back, nb::arg("by_weights"), nb::arg("by_centroids"));
}
