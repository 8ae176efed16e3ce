/* Triangle sizes from a field on a mesh: a solution (the sizes make its interpolation error equal
 * everywhere), an error indicator, or the sizes themselves. */
#pragma once

#include "meshes/mesh.h"

CVTM_API_BEGIN

typedef enum cvtm_size_source {
  CVTM_SIZE_FROM_SOLUTION, /* h ~ |H|^(-1/2), |H|: the largest absolute eigenvalue of the Hessian */
  CVTM_SIZE_FROM_INDICATOR, /* h ~ h_old / sqrt(eta): the error of a triangle is of order h^2 */
  CVTM_SIZE_GIVEN           /* h in pixels */
} cvtm_size_source;

/* Computes sizes at width * height pixels (`size`), up to a common factor except with
 * CVTM_SIZE_GIVEN. The points of the mesh are in pixels, y down; values: one per vertex. With h ~
 * |H|^(-1/2) the interpolation error of a linear element in the energy norm, of order h^2 |H|, is
 * the same in all triangles, and so is the largest error in each. The Hessian at a vertex is that
 * of the quadratic polynomial that best fits the values at the vertices around it (Zhang & Naga
 * 2005). log h is linear between vertices; sizes from a solution or an indicator are at most 32
 * times their mean. A pixel outside the mesh gets the size of a nearby pixel. Fails with
 * CVTM_ERROR_INPUT if a value is not finite, a given size is not positive, an indicator is
 * negative, the mesh has no triangle in the image, or the solution is linear. */
cvtm_status cvtm_size_field(const cvtm_mesh *mesh, const double *values, cvtm_size_source source,
                            int width, int height, float *size, cvtm_error *error);

CVTM_API_END
