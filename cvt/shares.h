/* Inside cvt only: the cells of an evaluation divided among ranks (base/ranks.h). Each rank has
 * consecutive places of the site tree, which lie together in the plane. Who computes a cell does
 * not change its bits, so the division follows the measured times. */
#ifndef CVTMESH_CVT_SHARES_H
#define CVTMESH_CVT_SHARES_H

#include "base/ranks.h"
#include "cvt/evaluate_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_shares {
  double *bound;   /* size + 1: from 0 to 1; rank r has the places from bound[r] to bound[r + 1] */
  double *seconds; /* size: of the last evaluation */
  int64_t *counts; /* size */
  double *old;     /* size: scratch */
  double *packed;  /* 4 * capacity, in the device's memory: moments by place */
  double *staging; /* 4 * capacity, in the host's memory; NULL if that is the device's */
} cvtm_shares;

/* For a device with ranks. */
cvtm_status cvtm_shares_create(cvtm_device *device, int64_t capacity, cvtm_shares *shares);
void cvtm_shares_free(cvtm_device *device, cvtm_shares *shares);
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

/* What differs between devices. pack: the moments of places first .. end - 1; unpack: those of all
 * other places of `count`. */
typedef struct cvtm_shares_table {
  cvtm_status (*pack)(cvtm_device *device, const cvtm_cell_moments *moments, const int32_t *index,
                      int64_t first, int64_t end, double *packed);
  cvtm_status (*unpack)(cvtm_device *device, const double *packed, const int32_t *index,
                        int64_t first, int64_t end, int64_t count, cvtm_cell_moments *moments);
} cvtm_shares_table;

extern const cvtm_shares_table cvtm_shares_cpu, cvtm_shares_cuda;

#ifdef __cplusplus
}
#endif

CVTM_HD void cvtm_shares_pack(const cvtm_cell_moments *moments, double packed[4]) {
  packed[0] = moments->mass;
  packed[1] = moments->x;
  packed[2] = moments->y;
  packed[3] = moments->second;
}

CVTM_HD void cvtm_shares_unpack(const double packed[4], cvtm_cell_moments *moments) {
  moments->mass = packed[0];
  moments->x = packed[1];
  moments->y = packed[2];
  moments->second = packed[3];
}

#endif
