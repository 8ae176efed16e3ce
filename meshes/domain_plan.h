/* How a number of sites is shared between a domain's boundary and its inside. */
#ifndef CVTMESH_MESHES_DOMAIN_PLAN_H
#define CVTMESH_MESHES_DOMAIN_PLAN_H

#include "meshes/contour.h"

CVTM_API_BEGIN

typedef struct cvtm_domain_plan_figures {
  int64_t sites;   /* as given, or as the sizes ask for */
  double spacing;  /* between sites where the density has its mean root */
  int64_t limited; /* places where the shape asked for finer edges than the density */
} cvtm_domain_plan_figures;

/* Vertices on the contour for a tessellation of the domain by `sites` sites, those vertices
 * included, that follows the density (width * height, >= 0, finite): its spacing is that of
 * hexagons with local density sqrt(rho). Where the shape is narrower than that, or edges would
 * leave the contour by more than `tolerance` pixels, spacing shrinks, and grows back by 0.3 per
 * pixel of distance. The density is
 * changed to match: zero outside the domain, in proportion on pixels that the contour cuts,
 * higher where spacing shrank, nowhere below 1/625 of its mean (in roots: 1/25), so that every part
 * gets sites. CVTM_ERROR_INPUT if the boundary, or its finest places, need more sites, or the
 * density is zero all over the domain. sites = 0: rho^(-1/4) is the spacing in pixels, and the
 * number of sites follows from it. */
cvtm_status cvtm_domain_plan(const cvtm_contour *contour, int width, int height, int64_t sites,
                             double tolerance, float *density, cvtm_boundary *boundary,
                             cvtm_domain_plan_figures *figures, cvtm_error *error);

CVTM_API_END
#endif
