/* Divides a number of sites between the boundary of a domain and its inside. */
#pragma once

#include "meshes/contour.h"

CVTM_API_BEGIN

typedef struct cvtm_domain_plan_figures {
  int64_t sites;   /* as given, or as computed from the sizes */
  double spacing;  /* spacing of sites where the square root of the density has its mean */
  int64_t limited; /* number of points where the shape needs shorter edges than the density */
} cvtm_domain_plan_figures;

/* Places vertices on the contour for a tessellation of the domain by `sites` sites, including these
 * vertices. density: width * height, finite, >= 0. The spacing is that of hexagons whose number per
 * area is proportional to sqrt(density). It is reduced where the shape is narrower, or where edges
 * would deviate from the contour by more than `tolerance` pixels; with the distance from such a
 * part it grows by 0.3 per pixel. Also changes the density to match: it becomes zero outside the
 * domain, is multiplied by the covered share on pixels that the contour crosses, and is raised
 * where the spacing was reduced, and to at least 1/625 of its mean, so that every part gets sites.
 * With sites = 0 the spacing is density^(-1/4) pixels and determines the number of sites.
 * CVTM_ERROR_INPUT if the boundary or its narrow parts need more sites, or the density is zero
 * everywhere in the domain. */
cvtm_status cvtm_domain_plan(const cvtm_contour *contour, int width, int height, int64_t sites,
                             double tolerance, float *density, cvtm_boundary *boundary,
                             cvtm_domain_plan_figures *figures, cvtm_error *error);

CVTM_API_END
