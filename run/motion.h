/* The motion between two frames of a film. */
#ifndef CVTMESH_RUN_MOTION_H
#define CVTMESH_RUN_MOTION_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

/* Moves points by the motion of the pictures around them. before, now: values of all pixels. The
 * motion is that of pixels of about 0.4 of the points' spacing. A point whose motion ends outside
 * the domain stays where it is. */
cvtm_status run_motion_follow(cvtm_domain domain, const float *before, const float *now,
                              double *points, int64_t count, cvtm_error *error);

#endif
