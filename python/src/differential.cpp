/* Moments of Voronoi cells and their derivatives. */
#include "python/src/core.h"

extern "C" {
#include "cvt/differential.h"
#include "power/equal_mass_derivative.h"
}

namespace {

using Sites = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Density = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Phi = nb::ndarray<const double, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;

class Differential {
 public:
  Differential(const Density &density, const Sites &sites)
      : density_(density.data(), density.data() + density.size()),
        width_(density.shape(1)),
        height_(density.shape(0)),
        count_(sites.shape(0)) {
    const cvtm_domain domain = {static_cast<int>(width_), static_cast<int>(height_), 0};
    cvtm_error error = {CVTM_OK, ""};
    check(cvtm_differential_create(domain, sites.data(), static_cast<int64_t>(count_), &made_,
                                   &error),
          &error);
  }
  ~Differential() { cvtm_differential_destroy(made_); }
  Differential(const Differential &) = delete;

  /* mass, first and second moments. */
  std::tuple<Array<double>, Array<double>, Array<double>> moments() const {
    std::vector<double> mass(count_), first(2 * count_), second(count_);
    {
      nb::gil_scoped_release release;
      cvtm_differential_moments(made_, density_.data(), mass.data(), first.data(), second.data());
    }
    return {copy_array(mass.data(), {count_}), copy_array(first.data(), {count_, 2}),
            copy_array(second.data(), {count_})};
  }

  Array<double> by_density(const Phi &phi) const {
    std::vector<double> out(width_ * height_);
    {
      nb::gil_scoped_release release;
      cvtm_differential_pull_back(made_, density_.data(), phi.data(), out.data(), nullptr);
    }
    return copy_array(out.data(), {height_, width_});
  }
  Array<double> by_sites(const Phi &phi) const {
    std::vector<double> out(2 * count_);
    {
      nb::gil_scoped_release release;
      cvtm_differential_pull_back(made_, density_.data(), phi.data(), nullptr, out.data());
    }
    return copy_array(out.data(), {count_, 2});
  }

 private:
  std::vector<double> density_;
  size_t width_, height_, count_;
  cvtm_differential *made_ = nullptr;
};

using Vectors = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using Scalars = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class EqualMass {
 public:
  EqualMass(const Density &density, const Sites &sites)
      : width_(density.shape(1)), height_(density.shape(0)), count_(sites.shape(0)) {
    const cvtm_domain domain = {static_cast<int>(width_), static_cast<int>(height_), 0};
    cvtm_error error = {CVTM_OK, ""};
    cvtm_status status;
    {
      nb::gil_scoped_release release;
      status = cvtm_equal_mass_derivative_create(domain, density.data(), sites.data(),
                                                 static_cast<int64_t>(count_), &made_, &error);
    }
    check(status, &error);
  }
  ~EqualMass() { cvtm_equal_mass_derivative_destroy(made_); }
  EqualMass(const EqualMass &) = delete;

  Array<double> weights() const {
    return copy_array(cvtm_equal_mass_derivative_weights(made_), {count_});
  }
  Array<double> centroids() const {
    return copy_array(cvtm_equal_mass_derivative_centroids(made_), {count_, 2});
  }
  /* The derivatives by sites and density. */
  std::tuple<Array<double>, Array<double>> pull_back(const Scalars &by_weights,
                                                     const Vectors &by_centroids) const {
    std::vector<double> by_sites(2 * count_), by_density(width_ * height_);
    cvtm_error error = {CVTM_OK, ""};
    cvtm_status status;
    {
      nb::gil_scoped_release release;
      status = cvtm_equal_mass_derivative_pull_back(made_, by_weights.data(), by_centroids.data(),
                                                    by_sites.data(), by_density.data(), &error);
    }
    check(status, &error);
    return {copy_array(by_sites.data(), {count_, 2}),
            copy_array(by_density.data(), {height_, width_})};
  }

 private:
  size_t width_, height_, count_;
  cvtm_equal_mass_derivative *made_ = nullptr;
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
