/* The exact mass of Voronoi cells that are given as polygons. */
#pragma once

#include "base/domain.h"
#include "base/status.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* Computes on the CPU mass[i], the integral of the density (width * height, constant on each pixel)
 * over cell i, for cells->count cells. cells: the result of cvtm_cells_create for the points
 * (2 * cells->count) and the domain. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_cells_mass(const cvtm_cells *cells, const double *points, cvtm_domain domain,
                            const float *density, double *mass, cvtm_error *error);

CVTM_API_END
