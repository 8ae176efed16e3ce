/* Inside lcp only: the smoother's update of one unknown, and the residual after it. Only this file
 * has these formulas. All loops call them, on both devices: over nodes, lines, strips, tiles and
 * rows of grids and stored matrices, on the given problem and on coarse levels. The loops differ in
 * how they compute `sum`: the right-hand side minus the terms of all other unknowns. */
#pragma once

#include "base/portable.h"

/* Projects x onto [lower, upper]; NaN for NaN. */
CVTM_HD double cvtm_lcp_clip(double x, double lower, double upper) {
  const double raised = x < lower ? lower : x;
  return raised > upper ? upper : raised;
}

/* Gauss-Seidel: the solution of diagonal * x = sum; `otherwise` if the diagonal entry is not
 * positive. */
CVTM_HD double cvtm_relax(double sum, double diagonal, double otherwise) {
  return diagonal > 0 ? sum / diagonal : otherwise;
}

/* The inverse of a diagonal entry, for loops that divide more than once; 0 for an entry that is not
 * positive. */
CVTM_HD double cvtm_relax_inverse(double diagonal) { return diagonal > 0 ? 1 / diagonal : 0.0; }
CVTM_HD double cvtm_relax_by_inverse(double sum, double inverse) { return sum * inverse; }

/* Overrelaxation: moves from x towards the Gauss-Seidel value `relaxed`, and beyond it. */
CVTM_HD double cvtm_overrelax(double x, double relaxed, double omega) {
  if (omega != 1.0) relaxed = x + omega * (relaxed - x);
  return relaxed;
}

/* Projected SOR, the smoother of problems with bounds. */
CVTM_HD double cvtm_relax_projected(double x, double relaxed, double omega, double lower,
                                    double upper) {
  return cvtm_lcp_clip(cvtm_overrelax(x, relaxed, omega), lower, upper);
}

/* b - A x in the row. */
CVTM_HD double cvtm_residual(double sum, double diagonal, double x) { return sum - diagonal * x; }
