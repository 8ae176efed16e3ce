/* Inside the library: the weights and centroids of the power cells of equal mass of given sites, in
 * double precision on the host, and their derivatives with respect to sites and density.
 *
 * The weights w, of mean 0, solve m(x, w, rho) = M / n, where m are the masses of the cells and M
 * is the mass of the density. By the implicit function theorem K dw = dM / n - dm, where dm is the
 * change of m with sites and density at fixed w. K = dm/dw is the graph Laplacian of the power
 * diagram (Kitagawa, Merigot & Thibert 2019). So the derivative of a function of w and the
 * centroids takes one solution of K lambda = g, where g is the derivative of the function with
 * respect to w. lambda is then subtracted from the constants of the phi_i of cvt/pull.h. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

typedef struct cvtm_equal_mass_derivative cvtm_equal_mass_derivative;

/* density: width * height, copied; sites: 2 * count, copied, inside the domain, which is not
 * periodic. CVTM_ERROR_INPUT: two sites are at the same position, or the density does not determine
 * the weights, for example because it is zero between two of its parts. */
cvtm_status cvtm_equal_mass_derivative_create(cvtm_domain domain, const double *density,
                                              const double *sites, int64_t count,
                                              cvtm_equal_mass_derivative **made, cvtm_error *error);
void cvtm_equal_mass_derivative_destroy(cvtm_equal_mass_derivative *e);

/* Return the weights (count) and the centroids (2 * count), which *e owns. */
const double *cvtm_equal_mass_derivative_weights(const cvtm_equal_mass_derivative *e);
const double *cvtm_equal_mass_derivative_centroids(const cvtm_equal_mass_derivative *e);

/* Computes the derivatives of a function with respect to sites (2 * count) and density
 * (width * height) from those with respect to weights (count) and centroids (2 * count). Either
 * result may be NULL. */
cvtm_status cvtm_equal_mass_derivative_pull_back(const cvtm_equal_mass_derivative *e,
                                                 const double *by_weights,
                                                 const double *by_centroids, double *by_sites,
                                                 double *by_density, cvtm_error *error);
