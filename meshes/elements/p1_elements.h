/* Linear (P1) elements on a triangulation, for -div grad u = f with u = 0 on the boundary. */
#pragma once

#include "meshes/mesh.h"

CVTM_C_BEGIN

/* The linear system. The unknowns are the vertices of triangles that are not on a boundary edge.
 * Lengths are scaled so that the longer side of the bounding box is 1. The matrix is symmetric and
 * positive definite, in compressed rows with ascending columns. For a Delaunay mesh off-diagonal
 * entries are not positive, except for edges of triangles with an obtuse angle opposite a boundary
 * edge. All arrays are malloc'd and owned. */
typedef struct cvtm_p1 {
  int64_t count;      /* unknowns, at least 1 */
  int32_t *vertex;    /* count: the vertex of each unknown, ascending */
  int64_t *row_start; /* count + 1 */
  int32_t *column;    /* row_start[count] */
  double *value;      /* stiffness: the integral of grad phi_i . grad phi_j */
  double *load;       /* count: the integral of phi_i */
  double *distance;   /* count: distance of each unknown's vertex to the boundary */
} cvtm_p1;

/* Makes the system. Fails with CVTM_ERROR_INPUT if the mesh has no inner vertex or a triangle
 * without area, and with CVTM_ERROR_MEMORY; then *p1 is empty. */
cvtm_status cvtm_p1_create(const cvtm_mesh *mesh, cvtm_p1 *p1, cvtm_error *error);
void cvtm_p1_free(cvtm_p1 *p1);

CVTM_C_END
