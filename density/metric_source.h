/* Metrics from pictures and from fields on meshes. */
#ifndef CVTMESH_DENSITY_METRIC_SOURCE_H
#define CVTMESH_DENSITY_METRIC_SOURCE_H

#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

/* The metric (cvtm_metric_of_hessians) of the values of pixels, whose Hessians are those of the
 * picture smoothed by a Gaussian, and then smoothed as logarithms by the same one; sigma in
 * pixels. Fills field->width * height logarithms of `field`, whose place the caller sets. */
cvtm_status cvtm_metric_of_picture(const float *value, double sigma, double ratio,
                                   cvtm_metric_field *field, cvtm_error *error);
/* The metric of a solution on a mesh, whose points are in cells of the field. */
cvtm_status cvtm_metric_of_solution(const cvtm_mesh *mesh, const double *values, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);
/* The metric that is given at the vertices of a mesh: 1 per vertex, overwritten. */
cvtm_status cvtm_metric_of_vertices(const cvtm_mesh *mesh, cvtm_metric *given, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);

#endif
