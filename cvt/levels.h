/* Inside cvt only: coarse levels, their numbers of sites, their density, and refinement to the next
 * finer level.
 *
 * If cells contain many pixels, a level uses the density in larger pixels. A pixel of order k has
 * the mean of 2^k x 2^k pixels of the picture (0 outside), and its side is the unit of length:
 * while a plan has the density of order k, its sites, masses and integrals of sqrt(rho) are in
 * these units. */
#pragma once

#include "cvt/evaluate_kernels.h"

CVTM_C_BEGIN

/* --- the density in larger pixels ------------------------------------------------------------- */

enum { CVTM_PYRAMID_ORDERS = 8 };

typedef struct cvtm_pyramid {
  cvtm_cvt *cvt;
  int order; /* order of the plan's current density */
  /* Values of the plan at order 0: */
  cvtm_domain domain;
  double mass, sqrt_integral;
  const float *density[CVTM_PYRAMID_ORDERS + 1]; /* per order, in device memory; or NULL */
  float *made;                                   /* memory of the densities of orders >= 1 */
  double *shown;                                 /* device memory for cvtm_pyramid_show; or NULL */
  int64_t count;                                 /* number of the plan's sites */
} cvtm_pyramid;

/* The order for a descent of `count` sites in a domain. */
int cvtm_pyramid_order(cvtm_domain domain, int64_t count);
/* Computes the densities up to an order. shown: the largest number of sites for cvtm_pyramid_show,
 * or 0 if that is not called. The plan points to the pyramid until cvtm_pyramid_end. */
cvtm_status cvtm_pyramid_begin(cvtm_cvt *cvt, int order, int64_t shown, cvtm_pyramid *pyramid);
/* Makes the plan, which has `count` sites, use the density of an order. */
void cvtm_pyramid_use(cvtm_pyramid *pyramid, int order, int64_t count);
/* Returns the plan's sites in pixels of the picture. Returns `sites` itself at order 0, if
 * pyramid->shown is NULL, or if the device fails. */
const double *cvtm_pyramid_show(cvtm_pyramid *pyramid, const double *sites);
/* Restores the plan's own density. */
void cvtm_pyramid_end(cvtm_pyramid *pyramid);

/* --- refinement ------------------------------------------------------------------------------- */

/* The smallest number of sites of a level. */
enum { CVTM_CVT_MIN_COARSE_SITES = 64 };

/* The number of cells along the border, divided by the square root of the number of sites; 0 on a
 * torus. sqrt_integral: the integral of sqrt(rho). */
double cvtm_cvt_border_share(cvtm_domain domain, const float *density, double sqrt_integral);
/* The number of sites, about count / 4, that refinement turns into `count` sites. */
int64_t cvtm_cvt_coarse_count(double border_share, int64_t count);

/* Refines a tessellation on the host: fine (2 * count) = its sites and the midpoints between
 * neighbours, without some evenly distributed midpoints or with additional sites, so that there are
 * `count`. threads: the largest number of threads; 0: the default of OpenMP. The result does not
 * depend on the number of threads. */
cvtm_status cvtm_cvt_refine(cvtm_domain domain, int threads, const double *coarse,
                            int64_t coarse_count, double *fine, int64_t count, cvtm_error *error);
/* Refines the first `from` sites of a plan to `to` sites. *failed: the number of sites whose cells
 * the device cannot make (edge_midpoints in site_updates.h); unless it is 0, no site has changed.
 */
cvtm_status cvtm_cvt_refine_on_device(cvtm_cvt *cvt, int64_t from, int64_t to, int32_t *failed);
CVTM_C_END

/* Sets pixel p of the density at half the resolution. */
CVTM_HD void cvtm_pyramid_set_pixel(const cvtm_density_view *density, float *half, int64_t p) {
  const int32_t width = density->width, across = (width + 1) / 2;
  const int32_t i = (int32_t)(p % across), j = (int32_t)(p / across);
  const int right = 2 * i + 1 < width, below = 2 * j + 1 < density->height;
  const float *upper = density->value + (int64_t)(2 * j) * width + 2 * (int64_t)i;
  const float *lower = upper + width;
  const double first = (double)upper[0] + (right ? (double)upper[1] : 0);
  const double second = below ? (double)lower[0] + (right ? (double)lower[1] : 0) : 0;
  half[p] = (float)((first + second) / 4);
}
