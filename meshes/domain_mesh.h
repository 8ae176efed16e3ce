/* Meshes a domain with a given boundary. */
#pragma once

#include "meshes/constrained.h"

CVTM_API_BEGIN

/* cvtm_constrained_delaunay for meshes that cvtm_refine does not process. Near corners of the
 * boundary sites may be so close to each other that a triangle has an angle below 20 degrees; then
 * the later end of the triangle's shortest edge is dropped, unless both ends are on the boundary.
 * source: ascending. */
cvtm_status cvtm_domain_mesh(const double *sites, int64_t count, const cvtm_boundary *boundary,
                             cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source,
                             cvtm_error *error);

CVTM_API_END
