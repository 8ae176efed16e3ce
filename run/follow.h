/* The frames of a film (`batch --follow`). */
#ifndef CVTMESH_RUN_FOLLOW_H
#define CVTMESH_RUN_FOLLOW_H

#include "base/domain.h"
#include "base/status.h"
#include "run/options.h"

#include <stdint.h>

/* The sites of a frame. */
typedef struct run_frame_sites {
  double *points; /* 2 * count */
  int64_t *id;    /* count; a site keeps its number from frame to frame */
  int64_t count, next_id;
} run_frame_sites;

/* Adapts the sites of the previous frame to the density of this frame. Sites move from places with
 * too many to places with too few, and get new numbers. All others stay, as do the first `fixed`
 * sites. */
cvtm_status run_follow(cvtm_domain domain, const float *density, int64_t fixed,
                       run_frame_sites *frame, cvtm_error *error);

/* Checks the options of a frame. CVTM_ERROR_USAGE: they do not go with a film. */
cvtm_status run_follow_check(const cvtm_run_options *options, cvtm_error *error);

#endif
