/* The frames of a film (`batch --follow`). */
#ifndef CVTMESH_RUN_FOLLOW_H
#define CVTMESH_RUN_FOLLOW_H

#include "base/domain.h"
#include "base/status.h"
#include "run/options.h"

#include <stdint.h>

/* A frame with its sites. */
typedef struct run_film_frame {
  cvtm_domain domain;
  float *density;
  double *points; /* 2 * count */
  int64_t *id;    /* count; a site keeps its number from frame to frame */
  int64_t count, next_id;
} run_film_frame;

/* Numbers the sites of the first frame. */
cvtm_status run_frame_number(run_film_frame *frame, cvtm_error *error);
/* Starts a frame, whose first `fixed` sites are set, from the one before, which has as many sites:
 * they move with the scene and adapt to the density of this frame. Sites go from places where it
 * has too many to places where it has too few, and have new numbers there. */
cvtm_status run_frame_follow(const run_film_frame *before, int64_t fixed, run_film_frame *frame,
                             cvtm_error *error);
/* Replaces *copy, which is empty or such a copy. On failure it is empty. */
cvtm_status run_frame_keep(const run_film_frame *frame, run_film_frame *copy, cvtm_error *error);
void run_frame_free(run_film_frame *copy);

/* Checks the options of a frame. CVTM_ERROR_USAGE: they do not go with a film. */
cvtm_status run_follow_check(const cvtm_run_options *options, cvtm_error *error);

#endif
