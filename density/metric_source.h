/* Metrics from pictures and from fields on meshes. */
#ifndef CVTMESH_DENSITY_METRIC_SOURCE_H
#define CVTMESH_DENSITY_METRIC_SOURCE_H

#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

/* The metric (cvtm_metric_of_hessians) of a picture. The Hessians are those of the picture smoothed
 * by a Gaussian of standard deviation sigma, in pixels; the logarithms of the metric are smoothed
 * by the same Gaussian. Fills the field->width * field->height logarithms of `field`, whose
 * position the caller sets. */
cvtm_status cvtm_metric_of_picture(const float *value, double sigma, double ratio,
                                   cvtm_metric_field *field, cvtm_error *error);
/* The metric of a solution on a mesh, whose points are in units of the field's cells. */
cvtm_status cvtm_metric_of_solution(const cvtm_mesh *mesh, const double *values, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);
/* A metric given at the vertices of a mesh; `given` has one per vertex and is overwritten. */
cvtm_status cvtm_metric_of_vertices(const cvtm_mesh *mesh, cvtm_metric *given, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);

#endif
