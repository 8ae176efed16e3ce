/* Metrics from pictures and from fields on meshes. */
#pragma once

#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

/* Computes the metric (cvtm_metric_of_hessians) of a picture. The Hessians are those of the picture
 * smoothed by a Gaussian of standard deviation sigma, in pixels; this Gaussian also smooths the
 * logarithms of the metric. Allocates field->log and sets it; the caller sets the size and position
 * of the field. */
cvtm_status cvtm_metric_of_picture(const float *value, double sigma, double ratio,
                                   cvtm_metric_field *field, cvtm_error *error);
/* Computes the metric of a solution on a mesh, whose points are in units of the field's cells.
 * Allocates field->log. */
cvtm_status cvtm_metric_of_solution(const cvtm_mesh *mesh, const double *values, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);
/* Computes the field from a metric at each vertex of a mesh (`given`, which is overwritten).
 * Allocates field->log. */
cvtm_status cvtm_metric_of_vertices(const cvtm_mesh *mesh, cvtm_metric *given, double ratio,
                                    cvtm_metric_field *field, cvtm_error *error);
