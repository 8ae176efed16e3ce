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

/* Sets cvt->division, for cvtm_evaluator_of_ranks. */
cvtm_status cvtm_division_create(cvtm_cvt *cvt);
void cvtm_division_destroy(cvtm_cvt *cvt);

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
