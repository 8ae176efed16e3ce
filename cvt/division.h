/* Inside cvt and power: the work of a plan on a device with ranks (base/ranks.h), divided among
 * them.
 *
 * Between descents and evaluations every rank has all sites, in the caller's order, and their
 * moments. For these the sites get new numbers: the fixed ones come first, and both follow the
 * order of the site tree, so that consecutive ones lie together in the plane. Each rank has the
 * blocks of sites of parts.h, and of these alone the state of a descent. Sums are formed by blocks,
 * so the bits do not depend on the number of ranks. */
#ifndef CVTMESH_CVT_DIVISION_H
#define CVTMESH_CVT_DIVISION_H

#include "cvt/descent.h"
#include "cvt/parts.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cvtm_division_table;

/* In device memory, but for `parts`. */
typedef struct cvtm_division {
  const struct cvtm_division_table *table;
  cvtm_parts *parts;            /* of the last descent or evaluation; or NULL */
  int32_t *order;               /* capacity: the caller's index of each number */
  double *sites, *best, *scale; /* 2 * own: the arrays of that name of the plan */
} cvtm_division;

/* The sites that this process moves: all, or those of its rank, first .. first + count - 1 in the
 * new order. The arrays are in device memory. */
typedef struct cvtm_own_sites {
  int64_t first, count;
  int64_t fixed;                /* the first of them that do not move */
  double *sites, *best, *scale; /* 2 * count: now; best of Lloyd's method; of the variables */
} cvtm_own_sites;

/* Sets cvt->division of a plan on a device with ranks. */
cvtm_status cvtm_division_create(cvtm_cvt *cvt);
void cvtm_division_destroy(cvtm_cvt *cvt);

/* These are collective on a device with ranks; else begin and end do nothing. */

/* Divides the task's sites, whose positions are `sites` (device memory). */
cvtm_status cvtm_division_begin(const cvtm_cvt_task *task, const double *sites);
/* The same for a descent that is restored: without order and positions. */
cvtm_status cvtm_division_reserve(const cvtm_cvt_task *task);
/* Brings the sites of all ranks to cvt->sites, and the moments of the last evaluation to
 * cvt->moments. */
cvtm_status cvtm_division_end(const cvtm_cvt_task *task);
/* The second of these alone. */
cvtm_status cvtm_division_share_moments(const cvtm_cvt_task *task);
/* An evaluation at the own sites: their moments, and unless it is NULL, their gradient. value[0],
 * [1] as cvtm_cvt_enqueue sets them; with a gradient, on a device with ranks, for each own block
 * one after the other, as cvtm_lbfgsb_create_divided asks for. */
cvtm_status cvtm_division_evaluate(const cvtm_cvt_task *task, const double *sites, double *value,
                                   double *gradient);

cvtm_own_sites cvtm_division_own(const cvtm_cvt_task *task);
/* Of the last evaluation. */
cvtm_cell_moments *cvtm_division_moments(const cvtm_cvt *cvt);

/* What differs between devices. */
typedef struct cvtm_division_table {
  /* Item k of `to` = item order[k] of `from`, of `width` numbers each; spread: the reverse. */
  cvtm_status (*collect)(cvtm_device *device, const double *from, const int32_t *order,
                         int64_t count, int width, double *to);
  cvtm_status (*spread)(cvtm_device *device, const double *from, const int32_t *order,
                        int64_t count, int width, double *to);
  /* flags[k] = 1 if index[k] < fixed, else 0. */
  cvtm_status (*flag_fixed)(cvtm_device *device, const int32_t *index, int64_t count, int64_t fixed,
                            int32_t *flags);
  /* order = index with the `fixed` ones first; before[k]: of these, those before k. */
  cvtm_status (*put_fixed_first)(cvtm_device *device, const int32_t *index, const int64_t *before,
                                 int64_t count, int64_t fixed, int32_t *order);
} cvtm_division_table;

extern const cvtm_division_table cvtm_division_cpu, cvtm_division_cuda;

#ifdef __cplusplus
}
#endif

/* The place in the new order of item k of the old one. */
CVTM_HD int64_t cvtm_division_place(const int64_t *before, int64_t fixed, int64_t k) {
  return before[k + 1] > before[k] ? before[k] : fixed + k - before[k];
}

#endif
