/* The motion between two frames of a film. */
#ifndef CVTMESH_RUN_MOTION_H
#define CVTMESH_RUN_MOTION_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

/* Moves points by the motion of the pictures around them. before, now: the values of all pixels.
 * The motion is found on pixels whose width is about 0.4 times the spacing of the points. A point
 * that would leave the domain does not move. */
cvtm_status run_motion_follow(cvtm_domain domain, const float *before, const float *now,
                              double *points, int64_t count, cvtm_error *error);

#endif
