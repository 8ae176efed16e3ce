/* The frames of a film (`batch --follow`). */
#pragma once

#include "base/domain.h"
#include "base/status.h"
#include "run/motion.h"
#include "run/options.h"

#include <stdint.h>

/* A frame with its sites. */
typedef struct run_film_frame {
  cvtm_domain domain;
  const float *density; /* borrowed */
  double *points;       /* 2 * count */
  int64_t *id;          /* count; a site keeps its number from frame to frame */
  int64_t count, next_id;
} run_film_frame;

/* Numbers the sites of the first frame. */
cvtm_status run_frame_number(run_film_frame *frame, cvtm_error *error);
/* Sets the sites of a frame, but for the first `fixed`, from those of the previous frame, which has
 * equally many. The sites move with the scene and adapt to the new density: sites of cells where
 * the density asks for few go to cells where it asks for many, and get new numbers there. */
cvtm_status run_frame_follow(const run_film_frame *before, const run_motion *motion, int64_t fixed,
                             run_film_frame *frame, cvtm_error *error);
/* Copies the sites of a frame to *copy, which is empty or an earlier copy. On failure *copy is
 * empty. */
cvtm_status run_frame_keep(const run_film_frame *frame, run_film_frame *copy, cvtm_error *error);
void run_frame_free(run_film_frame *copy);

/* Checks the options of a frame. CVTM_ERROR_USAGE for options that films do not support. */
cvtm_status run_follow_check(const cvtm_run_options *options, cvtm_error *error);
