/* Inside lcp only: the kernels of the solvers for stored matrices. Each enqueues work on the
 * device's stream; the results remain on the device. */
#pragma once

#include "base/phases.h"
#include "base/select.h"
#include "lcp/sparse/row_functions.h"

CVTM_C_BEGIN

/* A tridiagonal matrix in the user's order. The arrays are in device memory and have a number for
 * each row. */
typedef struct cvtm_tridiagonal {
  const double *below, *diagonal, *above;
  const int32_t *place;  /* the row of level 0 for each row of the user */
  double *ratio, *value; /* workspace of the elimination */
} cvtm_tridiagonal;

/* A list of phases (base/phases.h). */
#define CVTM_SPARSE_ROW_PHASES(X)                                                                  \
  /* Gauss-Seidel on one colour. */                                                                \
  X(relax,                                                                                         \
    (cvtm_device * device, const cvtm_level *level, cvtm_kernel_flags flags, double omega,         \
     int64_t colour),                                                                              \
    device, cvtm_colour_rows(level, colour), cvtm_relax_colour_row, CVTM_HOST_STRUCT(level),       \
    flags, omega, level->colour_start[colour])                                                     \
  /* Projected Gauss-Seidel on one colour, from x + state.step * direction. */                     \
  X(relax_along,                                                                                   \
    (cvtm_device * device, const cvtm_level *level, const double *direction,                       \
     const cvtm_sparse_state *state, int64_t colour),                                              \
    device, cvtm_colour_rows(level, colour), cvtm_relax_along_row, CVTM_HOST_STRUCT(level),        \
    direction, state, level->colour_start[colour], level->colour_start[colour + 1])                \
  /* Sets r = b - A x in the rows below `end`. */                                                  \
  X(residual,                                                                                      \
    (cvtm_device * device, const cvtm_level *level, cvtm_kernel_flags flags, int64_t end), device, \
    end, cvtm_residual_row, CVTM_HOST_STRUCT(level), flags)                                        \
  /* Sets y = A x, or 0 in active rows. */                                                         \
  X(apply, (cvtm_device * device, const cvtm_level *level, const double *x, double *y), device,    \
    level->rows, cvtm_apply_row, CVTM_HOST_STRUCT(level), x, y)                                    \
  /* Recomputes the rows of P'AP that are out of date. */                                          \
  X(galerkin,                                                                                      \
    (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse, int is_top), device,  \
    coarse->rows, cvtm_galerkin_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse), is_top)     \
  /* Sets the coarse problem of a correction: right side P'r, initial x = 0. */                    \
  X(restrict_problem, (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse),    \
    device, coarse->rows, cvtm_restrict_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse))     \
  /* Adds P times the coarse x to x. If masked, active rows are unchanged. */                      \
  X(prolong, (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse, int masked), \
    device, fine->rows, cvtm_prolong_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse),        \
    masked)                                                                                        \
  /* Sets direction = clip(x + P times the coarse x) - x, or 0 in active rows. */                  \
  X(direction,                                                                                     \
    (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse, double *direction),   \
    device, fine->rows, cvtm_direction_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse),      \
    direction)                                                                                     \
  /* Nested start: coarsen makes the coarse problem, refine the fine start from its solution. */   \
  X(coarsen, (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse), device,     \
    coarse->rows, cvtm_coarsen_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse))              \
  X(refine, (cvtm_device * device, const cvtm_level *fine, const cvtm_level *coarse), device,      \
    fine->rows, cvtm_refine_row, CVTM_HOST_STRUCT(fine), CVTM_HOST_STRUCT(coarse))                 \
  /* gather sets to[k] = from[order[k]], scatter sets to[order[k]] = from[k]. */                   \
  X(gather,                                                                                        \
    (cvtm_device * device, const double *from, const int32_t *order, int64_t count, double *to),   \
    device, count, cvtm_gather_row, from, order, to)                                               \
  X(scatter,                                                                                       \
    (cvtm_device * device, const double *from, const int32_t *order, int64_t count, double *to),   \
    device, count, cvtm_scatter_row, from, order, to)                                              \
  /* Clips every row or, if masked, sets active rows to their bound. */                            \
  X(clip, (cvtm_device * device, const cvtm_level *level, int masked), device, level->rows,        \
    cvtm_clip_row, CVTM_HOST_STRUCT(level), masked)                                                \
  /* Sets y = a x + c y. */                                                                        \
  X(combine,                                                                                       \
    (cvtm_device * device, double a, const double *x, double c, double *y, int64_t count), device, \
    count, cvtm_combine_row, a, x, c, y)                                                           \
  /* Solves the tridiagonal system of the inactive rows, with the given x in the active rows. One  \
   * thread does so, since each row depends on the previous row. */                                \
  X(tridiagonal, (cvtm_device * device, const cvtm_level *level, const cvtm_tridiagonal *matrix),  \
    device, 1, cvtm_solve_tridiagonal, CVTM_HOST_STRUCT(level), CVTM_HOST_STRUCT(matrix))          \
  /* Divides y_i by x_i. */                                                                        \
  X(divide, (cvtm_device * device, const double *x, double *y, int64_t count), device, count,      \
    cvtm_divide_row, x, y)

typedef struct cvtm_sparse_table {
  /* Computes state.sums, the sums of `kind`, and then does what `use` says. next: the coarser
   * level, or NULL. partial: a workspace of cvtm_sum_blocks(rows) + 1 entries. last_omega: if
   * positive (only with CVTM_SUM_NORM and CVTM_SUM_RESIDUAL), the pass first relaxes the last
   * colour by projected SOR with this factor. vector: with CVTM_SUM_LINE_SEARCH the direction. With
   * the other sums it is NULL, or two copies of x, of which the pass overwrites the one whose
   * number is not state.kept. */
  cvtm_status (*sum)(cvtm_device *device, const cvtm_level *level, const cvtm_level *next,
                     double *vector, cvtm_sum_kind kind, double last_omega, cvtm_sum_use use,
                     cvtm_sums *partial, cvtm_sparse_state *state);
  /* Sets verdict[0] to the first index where b or a bound is not a number or b is infinite,
   * verdict[1] to the first where no x is within the bounds; to `count` if there is none. */
  cvtm_status (*check)(cvtm_device *device, const double *b, const double *lower,
                       const double *upper, int64_t count, int64_t *verdict);
  CVTM_SPARSE_ROW_PHASES(CVTM_PHASE_FIELD)
} cvtm_sparse_table;

extern const cvtm_sparse_table cvtm_sparse_table_cpu, cvtm_sparse_table_cuda;

CVTM_C_END

/* Gaussian elimination without pivoting, from the first row to the last and back (Thomas). */
CVTM_HD void cvtm_solve_tridiagonal(const cvtm_level *level, const cvtm_tridiagonal *a,
                                    int64_t only) {
  (void)only;
  double ratio = 0, value = 0;
  for (int64_t i = 0; i < level->rows; ++i) {
    const int32_t row = a->place[i];
    if (cvtm_is_active(level, row)) {
      ratio = 0;
      value = level->x[row];
    } else {
      const double pivot = a->diagonal[i] - a->below[i] * ratio;
      value = (level->b[row] - a->below[i] * value) / pivot;
      ratio = a->above[i] / pivot;
    }
    a->ratio[i] = ratio;
    a->value[i] = value;
  }
  double x = 0;
  for (int64_t i = level->rows - 1; i >= 0; --i) {
    x = a->value[i] - a->ratio[i] * x;
    level->x[a->place[i]] = x;
  }
}

/* Returns 1 if b or a bound is not a number, or b is infinite; 2 if no x is feasible; else 0. */
CVTM_HD int cvtm_check_entry(const double *b, const double *lower, const double *upper, int64_t i) {
  const double low = lower != NULL ? lower[i] : -(double)INFINITY;
  const double high = upper != NULL ? upper[i] : (double)INFINITY;
  if (!(b[i] - b[i] == 0) || low != low || high != high) return 1;
  return low > high || low == (double)INFINITY || high == -(double)INFINITY ? 2 : 0;
}
