/* Curves of an outline, which sizes divide, not the chords of the file. */
#ifndef CVTMESH_CLI_OUTLINE_CURVES_H
#define CVTMESH_CLI_OUTLINE_CURVES_H

#include "meshes/contour.h"

/* The wanted length on edge e of the boundary at (x, y). */
typedef double (*cli_edge_size)(const void *context, int64_t e, double x, double y);

/* Sets is_smooth (per vertex) for the vertices that are listed points (2 * count, sorted here), or,
 * with a tolerance >= 0, for those at which the boundary turns by less than 30 degrees. */
cvtm_status cli_outline_find_smooth(const cvtm_boundary *boundary, double *points, int64_t count,
                                    double tolerance, uint8_t *is_smooth, cvtm_error *error);

/* Divides chains of edges between vertices that are not smooth into parts of about the wanted
 * length, whose ends lie on the chains. tolerance: the largest distance between a chain and its
 * parts; < 0: a tenth of the length of the part. Chains of short parts stay. source: malloc'd, of
 * each new edge the old one where it begins. */
cvtm_status cli_outline_divide_curves(const cvtm_boundary *boundary, const uint8_t *is_smooth,
                                      double tolerance, cli_edge_size size, const void *context,
                                      cvtm_boundary *made, int64_t **source, cvtm_error *error);

#endif
