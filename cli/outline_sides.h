/* Opposite sides of a periodic outline. */
#ifndef CVTMESH_CLI_OUTLINE_SIDES_H
#define CVTMESH_CLI_OUTLINE_SIDES_H

#include "meshes/contour.h"

/* The bounding box: left, upper, right, lower. */
void cli_outline_box(const double *points, int64_t count, double sides[4]);

/* Moves corners that are within a rounding error (10^-9 of the longer side) of a side of the
 * bounding box onto it, and those on opposite sides that differ by no more to equal places. */
cvtm_status cli_outline_align(cvtm_boundary *boundary, cvtm_error *error);

/* Sets *twin (malloc'd) to the copy of each edge on the opposite side, or -1. */
cvtm_status cli_outline_twins(const cvtm_boundary *boundary, const double sides[4], int32_t **twin,
                              cvtm_error *error);

#endif
