/* Inside lcp only: restriction and prolongation between two levels, row by row, for both devices.
 */
#ifndef CVTMESH_LCP_SPARSE_TRANSFER_H
#define CVTMESH_LCP_SPARSE_TRANSFER_H

#include "lcp/sparse/level.h"

/* The coarse problem for a correction of the fine x: right side P'r, start 0. */
CVTM_HD void cvtm_restrict_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t from) {
  const int64_t row = coarse->place[from];
  coarse->b[row] = cvtm_sell_row_times(&fine->restriction, from, fine->r);
  coarse->x[row] = 0;
}

/* Row of P times the coarse x; 0 in active rows if masked. */
CVTM_HD double cvtm_prolonged_correction(const cvtm_level *fine, const cvtm_level *coarse,
                                         int masked, int64_t row) {
  if (masked && cvtm_is_active(fine, row)) return 0;
  return cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
}

CVTM_HD void cvtm_prolong_row(const cvtm_level *fine, const cvtm_level *coarse, int masked,
                              int64_t row) {
  fine->x[row] += cvtm_prolonged_correction(fine, coarse, masked, row);
}

/* direction = clip(x + prolonged correction) - x. */
CVTM_HD void cvtm_direction_row(const cvtm_level *fine, const cvtm_level *coarse, double *direction,
                                int64_t row) {
  const double x = fine->x[row];
  direction[row] = cvtm_clip_at(fine, row, x + cvtm_prolonged_correction(fine, coarse, 1, row)) - x;
}

/* For a nested start: the problem on the coarse level, b by P' and bounds by injection at the
 * centres of the basis functions; start clip(0). */
CVTM_HD void cvtm_coarsen_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t from) {
  const int64_t row = coarse->place[from];
  coarse->b[row] = cvtm_sell_row_times(&fine->restriction, from, fine->b);
  const double lower = cvtm_lower_at(fine, coarse->centre[row]);
  const double upper = cvtm_upper_at(fine, coarse->centre[row]);
  if (coarse->has_bounds[0]) coarse->lower[row] = lower;
  if (coarse->has_bounds[1]) coarse->upper[row] = upper;
  coarse->x[row] = cvtm_lcp_clip(0, lower, upper);
}

/* The fine start clip(P x) from the solution on the coarse level. */
CVTM_HD void cvtm_refine_row(const cvtm_level *fine, const cvtm_level *coarse, int64_t row) {
  const double x = cvtm_sell_row_times(&fine->prolongation, row, coarse->x);
  fine->x[row] = cvtm_clip_at(fine, row, x);
}

#endif
