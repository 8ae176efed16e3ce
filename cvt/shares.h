/* Inside cvt only: the cells of an evaluation divided among ranks (base/ranks.h). Each rank has
 * consecutive places of the site tree, which lie together in the plane. Who computes a cell does
 * not change its bits, so the division follows the measured times. */
#ifndef CVTMESH_CVT_SHARES_H
#define CVTMESH_CVT_SHARES_H

#include "cvt/evaluate_kernels.h"

typedef struct cvtm_shares {
  double *bound;   /* size + 1: from 0 to 1; rank r has the places from bound[r] to bound[r + 1] */
  double *seconds; /* size: of the last evaluation */
  int64_t *counts; /* size */
  double *packed;  /* 4 * capacity: moments by place */
  double *old;     /* size: scratch */
} cvtm_shares;

/* For a device with ranks. */
cvtm_status cvtm_shares_create(cvtm_device *device, int64_t capacity, cvtm_shares *shares);
void cvtm_shares_free(cvtm_shares *shares);
/* The places *first .. *end - 1 of `count` that are this rank's; *first is a multiple of
 * CVTM_SHARES_BLOCK. Without ranks all. */
enum { CVTM_SHARES_BLOCK = 64 };
void cvtm_shares_own(const cvtm_shares *shares, const cvtm_ranks *ranks, int64_t count,
                     int64_t *first, int64_t *end);
/* Collective, after a rank has set the moments of its own cells, which took `seconds`: sets those
 * of all cells. index: the site of each place. Then divides the next evaluation by the times. */
cvtm_status cvtm_shares_exchange(cvtm_shares *shares, cvtm_device *device, const int32_t *index,
                                 int64_t count, double seconds, cvtm_cell_moments *moments);
/* New bounds from the old ones and the time of each part, as if the time were spread evenly over a
 * part. old: scratch of `size` numbers. */
void cvtm_shares_balance(double *bound, const double *seconds, int size, double *old);

#endif
