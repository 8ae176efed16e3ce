#include "cvt/equal_mass/equal_mass_derivative.h"

#include "base/conjugate_gradients.h"
#include "base/host.h"
#include "cvt/cell_host.h"
#include "cvt/equal_mass.h"
#include "cvt/pull_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cvtm_equal_mass_derivative {
  cvtm_scratch memory; /* the arrays of fixed size */
  cvtm_domain domain;
  int64_t count;
  double target; /* the mass of a cell */
  /* The density is the sum of the arrays `density` and `rest`. `rest` is NULL if single precision
   * represents the density. */
  float *density, *rest;
  double *sites, *weights, *centroids;
  double *scratch; /* 2 * count */
  cvtm_cell_moments *moments;
  cvtm_cells cells;
  double *coupling; /* the coupling of each edge of the cells (pull_cells.h) */
};

static cvtm_pull_cells cells_of(const cvtm_equal_mass_derivative *e) {
  return (cvtm_pull_cells){e->domain, &e->cells, e->sites, e->density, e->rest};
}

/* The tolerance of the masses before Newton's method in double precision. */
static const double start_tolerance = 1e-5;
static const double rounding = 1e-14; /* relative error of a mass that rounding leaves */
enum { MOST_NEWTON_STEPS = 10, MOST_SOLVER_SWEEPS = 20 };
/* The reduction of the residual, and how much larger it may be. */
static const double solver_tolerance = 1e-14, accepted = 1e6;

/* --- K x = b by conjugate gradients ----------------------------------------------------------- */

static void subtract_mean(double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  for (int64_t i = 0; i < n; ++i) x[i] -= sum / (double)n;
}

static void multiply_laplacian(const void *context, const double *x, double *y) {
  const cvtm_equal_mass_derivative *e = context;
  const cvtm_cells *cells = &e->cells;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < e->count; ++i) {
    double sum = 0;
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k)
      if (cells->neighbors[k] >= 0) sum += e->coupling[k] * (x[i] - x[cells->neighbors[k]]);
    y[i] = sum;
  }
}

/* Divides by the diagonal of K. */
static void divide_by_diagonal(const void *context, const double *r, double *z) {
  const cvtm_equal_mass_derivative *e = context;
  for (int64_t i = 0; i < e->count; ++i) {
    double diagonal = 0;
    for (int64_t k = e->cells.start[i]; k < e->cells.start[i + 1]; ++k) diagonal += e->coupling[k];
    z[i] = diagonal > 0 ? r[i] / diagonal : 0;
  }
}

/* Solves K x = b - mean(b) for x of mean 0. Overwrites b. */
static cvtm_status solve_laplacian(const cvtm_equal_mass_derivative *e, double *b, double *x,
                                   cvtm_error *error) {
  const int64_t n = e->count, most = MOST_SOLVER_SWEEPS * n + 100;
  const cvtm_cg_system system = {.count = n,
                                 .threads = 1,
                                 .context = e,
                                 .multiply = multiply_laplacian,
                                 .precondition = divide_by_diagonal};
  double *memory = malloc(3 * (size_t)n * sizeof *memory);
  if (memory == NULL) return cvtm_no_memory(error, "cells of equal mass");
  const cvtm_cg_vectors vectors = {x, b, memory, memory + n, memory + 2 * n};
  subtract_mean(b, n);
  const cvtm_cg cg = cvtm_cg_solve(&system, &vectors, solver_tolerance,
                                   most < INT32_MAX ? (int32_t)most : INT32_MAX);
  free(memory);
  subtract_mean(x, n);
  if (cg.square <= accepted * accepted * cg.target) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "the density does not determine the weights of equal masses; is it zero between"
                   " parts of it?");
}

/* --- the weights ------------------------------------------------------------------------------ */

/* Computes the power cells with the weights e->weights, and their masses, centroids and couplings.
 * *deviation: the largest deviation of a mass from the target. */
static cvtm_status set_cells(cvtm_equal_mass_derivative *e, double *deviation, cvtm_error *error) {
  const int64_t n = e->count;
  const cvtm_pull_cells cells = cells_of(e);
  cvtm_cells_free(&e->cells);
  free(e->coupling);
  e->coupling = NULL;
  CVTM_TRY(cvtm_power_diagram(e->domain, e->sites, e->weights, n, 0, &e->cells, NULL, error));
  e->coupling = malloc(((size_t)e->cells.start[n] + 1) * sizeof *e->coupling);
  if (e->coupling == NULL) return cvtm_no_memory(error, "cells of equal mass");
  cvtm_pull_cells_couplings(&cells, e->coupling);
  memset(e->moments, 0, (size_t)n * sizeof *e->moments);
  cvtm_status status =
      cvtm_cells_add_moments(&e->cells, e->sites, e->domain, e->density, e->moments, error);
  if (status == CVTM_OK && e->rest != NULL)
    status = cvtm_cells_add_moments(&e->cells, e->sites, e->domain, e->rest, e->moments, error);
  *deviation = 0;
  for (int64_t i = 0; i < n; ++i) {
    const cvtm_cell_moments *m = &e->moments[i];
    *deviation = fmax(*deviation, fabs(m->mass - e->target));
    e->centroids[2 * i] = e->sites[2 * i] + m->x / m->mass;
    e->centroids[2 * i + 1] = e->sites[2 * i + 1] + m->y / m->mass;
  }
  return status;
}

/* Improves weights that are nearly right by Newton's method, until rounding errors prevent further
 * progress. */
static cvtm_status improve(cvtm_equal_mass_derivative *e, cvtm_error *error) {
  const int64_t n = e->count;
  double deviation, before = INFINITY;
  cvtm_status status = set_cells(e, &deviation, error);
  for (int step = 0; status == CVTM_OK && step < MOST_NEWTON_STEPS; ++step) {
    if (!(deviation > rounding * e->target) || !(deviation < 0.5 * before)) break;
    double *change = e->scratch + n;
    for (int64_t i = 0; i < n; ++i) e->scratch[i] = e->target - e->moments[i].mass;
    status = solve_laplacian(e, e->scratch, change, error);
    if (status != CVTM_OK) break;
    for (int64_t i = 0; i < n; ++i) e->weights[i] += change[i];
    before = deviation;
    status = set_cells(e, &deviation, error);
  }
  if (status == CVTM_OK && !(deviation <= 1e-6 * e->target))
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the masses of the cells cannot be made equal");
  if (status == CVTM_OK) subtract_mean(e->weights, n);
  return status;
}

/* Finds the weights for the density in single precision. */
static cvtm_status find_weights(cvtm_equal_mass_derivative *e, cvtm_error *error) {
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  cvtm_status status = cvtm_device_create("cpu", 0, &device, error);
  if (status == CVTM_OK) {
    status = cvtm_cvt_create(device, e->domain, e->density, e->count, &cvt);
    if (status == CVTM_OK)
      status =
          cvtm_equal_mass_weights(cvt, e->sites, e->count, start_tolerance, e->weights, NULL, NULL);
    if (status != CVTM_OK && error != NULL) *error = *cvtm_device_error(device);
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  return status;
}

static cvtm_status allocate_derivative(cvtm_equal_mass_derivative *e, const double *density,
                                       const double *sites, cvtm_error *error) {
  const size_t n = (size_t)e->count;
  const size_t pixels = (size_t)e->domain.width * (size_t)e->domain.height;
  e->density = cvtm_scratch_take(&e->memory, pixels, sizeof *e->density);
  e->rest = cvtm_scratch_take(&e->memory, pixels, sizeof *e->rest);
  e->sites = cvtm_scratch_take(&e->memory, 2 * n, sizeof *e->sites);
  e->weights = cvtm_scratch_zeros(&e->memory, n, sizeof *e->weights);
  e->centroids = cvtm_scratch_take(&e->memory, 2 * n, sizeof *e->centroids);
  e->scratch = cvtm_scratch_take(&e->memory, 2 * n, sizeof *e->scratch);
  e->moments = cvtm_scratch_take(&e->memory, n, sizeof *e->moments);
  if (e->memory.failed) return cvtm_no_memory(error, "cells of equal mass");
  memcpy(e->sites, sites, 2 * n * sizeof *sites);
  double total = 0;
  int exact = 1;
  for (size_t p = 0; p < pixels; ++p) {
    e->density[p] = (float)density[p];
    e->rest[p] = (float)(density[p] - (double)e->density[p]);
    exact &= e->rest[p] == 0;
    total += density[p];
  }
  e->target = total / (double)n;
  if (exact) e->rest = NULL;
  return CVTM_OK;
}

cvtm_status cvtm_equal_mass_derivative_create(cvtm_domain domain, const double *density,
                                              const double *sites, int64_t count,
                                              cvtm_equal_mass_derivative **made,
                                              cvtm_error *error) {
  if (domain.periodic)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "derivatives on a torus are not supported");
  cvtm_equal_mass_derivative *e = calloc(1, sizeof *e);
  if (e == NULL) return cvtm_no_memory(error, "cells of equal mass");
  e->domain = domain;
  e->count = count;
  cvtm_status status = allocate_derivative(e, density, sites, error);
  if (status == CVTM_OK) status = find_weights(e, error);
  if (status == CVTM_OK) status = improve(e, error);
  if (status == CVTM_OK)
    *made = e;
  else
    cvtm_equal_mass_derivative_destroy(e);
  return status;
}

void cvtm_equal_mass_derivative_destroy(cvtm_equal_mass_derivative *e) {
  if (e == NULL) return;
  cvtm_cells_free(&e->cells);
  free(e->coupling);
  cvtm_scratch_free(&e->memory);
  free(e);
}

const double *cvtm_equal_mass_derivative_weights(const cvtm_equal_mass_derivative *e) {
  return e->weights;
}

const double *cvtm_equal_mass_derivative_centroids(const cvtm_equal_mass_derivative *e) {
  return e->centroids;
}

/* --- derivatives ------------------------------------------------------------------------------ */

/* Sets phi for the function sum_i by_centroids_i . centroid_i. The change of centroid_i is that of
 * the integral over cell i of rho (x - centroid_i), with centroid_i held fixed under the integral,
 * divided by mass_i. So phi_i(x) = by_centroids_i . (x - centroid_i) / mass_i. */
static void set_phi(const cvtm_equal_mass_derivative *e, const double *by_centroids, double *phi) {
  for (int64_t i = 0; i < e->count; ++i) {
    const double mass = e->moments[i].mass;
    const double bx = by_centroids[2 * i] / mass, by = by_centroids[2 * i + 1] / mass;
    phi[4 * i] = -bx * (e->centroids[2 * i] - e->sites[2 * i]) -
                 by * (e->centroids[2 * i + 1] - e->sites[2 * i + 1]);
    phi[4 * i + 1] = bx;
    phi[4 * i + 2] = by;
    phi[4 * i + 3] = 0;
  }
}

cvtm_status cvtm_equal_mass_derivative_pull_back(const cvtm_equal_mass_derivative *e,
                                                 const double *by_weights,
                                                 const double *by_centroids, double *by_sites,
                                                 double *by_density, cvtm_error *error) {
  const int64_t n = e->count;
  const cvtm_pull_cells cells = cells_of(e);
  double *phi = calloc(6 * (size_t)n, sizeof *phi);
  if (phi == NULL) return cvtm_no_memory(error, "cells of equal mass");
  double *right = phi + 4 * n, *lambda = right + n;
  set_phi(e, by_centroids, phi);
  cvtm_pull_cells_to_sites(&cells, phi, NULL, right);
  for (int64_t i = 0; i < n; ++i) right[i] += by_weights[i];
  cvtm_status status = solve_laplacian(e, right, lambda, error);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < n; ++i) phi[4 * i] -= lambda[i];
    if (by_sites) cvtm_pull_cells_to_sites(&cells, phi, by_sites, NULL);
    if (by_density && !cvtm_pull_cells_to_density(&cells, phi, 0, by_density))
      status = cvtm_no_memory(error, "cells of equal mass");
  }
  free(phi);
  return status;
}
