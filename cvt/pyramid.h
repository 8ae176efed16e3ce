/* Inside cvt only: the density in larger pixels, for coarse levels whose cells hold many pixels.
 *
 * A pixel of order k has the mean of 2^k x 2^k pixels of the picture, and is one unit long: while a
 * plan has the density of order k, its sites, masses and integrals of sqrt(rho) are in these units.
 * Beyond the right and the lower side of the picture the density is 0. */
#ifndef CVTMESH_CVT_PYRAMID_H
#define CVTMESH_CVT_PYRAMID_H

#include "cvt/evaluate_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_PYRAMID_ORDERS = 8 };

typedef struct cvtm_pyramid {
  cvtm_cvt *cvt;
  int order; /* of the density that the plan has */
  /* Of order 0: */
  cvtm_domain domain;
  double mass, root;
  const float *density[CVTM_PYRAMID_ORDERS + 1]; /* in device memory, of each order; or NULL */
  float *made;                                   /* the memory of those from order 1 on */
  double *shown; /* in device memory: room for cvtm_pyramid_show; or NULL */
  int64_t count; /* of the sites that the plan has */
} cvtm_pyramid;

/* The order for a descent of `count` sites in a domain. */
int cvtm_pyramid_order(cvtm_domain domain, int64_t count);
/* Makes the densities up to an order. shown: cvtm_pyramid_show is wanted, for this many sites; 0:
 * it is not. The plan points to the pyramid until cvtm_pyramid_end. */
cvtm_status cvtm_pyramid_begin(cvtm_cvt *cvt, int order, int64_t shown, cvtm_pyramid *pyramid);
/* Gives the plan, which has `count` sites, the density of an order. */
void cvtm_pyramid_use(cvtm_pyramid *pyramid, int order, int64_t count);
/* The plan's sites in the picture's units. */
const double *cvtm_pyramid_show(cvtm_pyramid *pyramid, const double *sites);
/* Gives the plan its own density back. */
void cvtm_pyramid_end(cvtm_pyramid *pyramid);

#ifdef __cplusplus
}
#endif

/* Pixel (i, j) of half the resolution. */
CVTM_HD float cvtm_pyramid_pixel(const cvtm_density_view *density, int32_t i, int32_t j) {
  const int32_t width = density->width;
  const int right = 2 * i + 1 < width, below = 2 * j + 1 < density->height;
  const float *upper = density->value + (int64_t)(2 * j) * width + 2 * (int64_t)i;
  const float *lower = upper + width;
  const double first = (double)upper[0] + (right ? (double)upper[1] : 0);
  const double second = below ? (double)lower[0] + (right ? (double)lower[1] : 0) : 0;
  return (float)((first + second) / 4);
}

#endif
