/* How far a drawing has the local contrasts of a picture, as seen from several distances. */
#pragma once

#include "base/host.h"
#include "base/status.h"

#include <stdint.h>

/* A picture at one distance: blurred, and its local means and variances. */
typedef struct run_sight {
  int width, height;
  float *blurred, *mean, *variance;
} run_sight;

enum { RUN_DISTANCES = 3 };

/* A picture at several distances, each twice the one before. */
typedef struct run_sights {
  run_sight at[RUN_DISTANCES];
  float *plane[4]; /* work arrays */
  cvtm_scratch memory;
} run_sights;

/* picture: levels in [0, 1] of cells about as wide as a dot's spacing. *sights must be freed also
 * on failure. */
cvtm_status run_sights_make(const float *picture, int width, int height, run_sights *sights,
                            cvtm_error *error);
void run_sights_free(run_sights *sights);

/* *score: at most 1, for the picture itself. At each distance it is the structural similarity of
 * contrasts (Wang, Bovik, Sheikh & Simoncelli 2004, without the factor of the means), weighted by
 * the local contrast of the picture, so that even areas do not count. The eye is assumed to adapt a
 * little to the contrast of the drawing. The mean over the distances is multiplied by a power of
 * the correlation of drawing and picture, so that dark areas remain darker than bright ones.
 * drawing: levels as those of the picture; is overwritten. */
cvtm_status run_sights_score(run_sights *sights, float *drawing, double *score, cvtm_error *error);
