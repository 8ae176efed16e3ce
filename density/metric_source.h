/* Metrics from pictures and from fields on meshes; fields on meshes at the centres of pixels. */
#ifndef CVTMESH_DENSITY_METRIC_SOURCE_H
#define CVTMESH_DENSITY_METRIC_SOURCE_H

#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

/* The Hessian at each vertex: that of the quadratic polynomial that fits the values at the vertices
 * around it best (Zhang & Naga 2005). CVTM_ERROR_INPUT if a value is not finite. */
cvtm_status cvtm_mesh_hessians(const cvtm_mesh *mesh, const double *values, cvtm_metric *hessian,
                               cvtm_error *error);
/* Interpolates values at vertices, linearly, at the centres of width * height pixels; points in
 * pixels, y down. A pixel beside the mesh has the value of a pixel near to it. CVTM_ERROR_INPUT if
 * the mesh covers no pixel. */
cvtm_status cvtm_mesh_raster(const cvtm_mesh *mesh, const double *values, int width, int height,
                             double *pixel, cvtm_error *error);

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
