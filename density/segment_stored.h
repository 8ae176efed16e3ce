/* Inside density only: a step of the level set on a stored matrix, by any method for such matrices.
 */
#ifndef CVTMESH_DENSITY_SEGMENT_STORED_H
#define CVTMESH_DENSITY_SEGMENT_STORED_H

#include "density/field_rows.h"

/* Solves the LCP of the step, as cvtm_lcp_solve with a warm start. The matrix is assembled on the
 * host, and the solver's hierarchy is made anew. x: the start and the result. */
cvtm_status cvtm_segment_solve_stored(cvtm_device *device, const cvtm_level_set *set,
                                      const cvtm_lcp_options *options, const double *lower,
                                      const double *upper, double *x, cvtm_lcp_result *result);

#endif
