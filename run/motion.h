/* The motion between two frames of a film. */
#pragma once

#include "base/domain.h"
#include "base/host.h"
#include "base/status.h"

#include <stdint.h>

/* The motion of squares of `side` pixels. */
typedef struct run_motion {
  cvtm_domain domain;
  int side, width, height;
  float *along[2]; /* of each square, in squares */
  cvtm_scratch memory;
} run_motion;

/* Finds the motion of squares as wide as about 0.4 of the spacing of `count` points. before, now:
 * values of all pixels. On failure *motion is empty, which is a scene at rest. */
cvtm_status run_motion_find(cvtm_domain domain, const float *before, const float *now,
                            int64_t count, run_motion *motion, cvtm_error *error);
/* Moves points with the scene. A point whose motion ends outside the domain stays where it is. */
void run_motion_move(const run_motion *motion, double *points, int64_t count);
void run_motion_free(run_motion *motion);
