/* Inside lcp only: the kernels of the solvers for stored matrices. Each enqueues its work on the
 * device's stream and returns no number. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_KERNELS_H
#define CVTMESH_LCP_SPARSE_SPARSE_KERNELS_H

#include "base/select.h"
#include "lcp/sparse/row_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A V-cycle on the levels first .. last, whose b and start are given. Before it the products of all
 * levels after `first` are updated. */
typedef struct cvtm_vcycle {
  int first, last;
  int coarsest; /* sweeps on the last one */
} cvtm_vcycle;

/* A tridiagonal matrix in the user's order; device memory, as many entries as level 0 has rows. */
typedef struct cvtm_tridiagonal {
  const double *below, *diagonal, *above;
  const int32_t *place;  /* row of level 0 by the user's row */
  double *ratio, *value; /* workspace of the elimination */
} cvtm_tridiagonal;

typedef struct cvtm_sparse_table {
  /* Gauss-Seidel on one colour. */
  cvtm_status (*relax)(cvtm_device *device, const cvtm_level *level, cvtm_kernel_flags flags,
                       double omega, int64_t colour);
  /* Projected, from x + state.step * direction. */
  cvtm_status (*relax_along)(cvtm_device *device, const cvtm_level *level, const double *direction,
                             const cvtm_sparse_state *state, int64_t colour);
  /* r = b - A x in the rows below `end`. */
  cvtm_status (*residual)(cvtm_device *device, const cvtm_level *level, cvtm_kernel_flags flags,
                          int64_t end);
  /* y = A x, 0 in active rows. */
  cvtm_status (*apply)(cvtm_device *device, const cvtm_level *level, const double *x, double *y);
  /* The stale rows of P'AP. */
  cvtm_status (*galerkin)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                          int is_top);
  /* The coarse problem of a correction: P'r, start 0. */
  cvtm_status (*restrict_problem)(cvtm_device *device, const cvtm_level *fine,
                                  const cvtm_level *coarse);
  /* x += P times the coarse x, but for active rows if masked. */
  cvtm_status (*prolong)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                         int masked);
  /* direction = clip(x + P times the coarse x) - x, 0 in active rows. */
  cvtm_status (*direction)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse,
                           double *direction);
  /* For a nested start: the problem on the coarse level; the fine start from its solution. */
  cvtm_status (*coarsen)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse);
  cvtm_status (*refine)(cvtm_device *device, const cvtm_level *fine, const cvtm_level *coarse);
  /* state.sums = the sums of `kind`, and then `use`. next: the coarser level, NULL if there is
   * none. partial: cvtm_sum_blocks(rows) + 1 entries of workspace. last_omega > 0, with sums of the
   * natural residual: the rows of the last colour are relaxed first, projected, in the same pass.
   * vector: the direction of a line search; else NULL or two copies of x, of which the one that
   * state.kept does not name is written. */
  cvtm_status (*sum)(cvtm_device *device, const cvtm_level *level, const cvtm_level *next,
                     double *vector, cvtm_sum_kind kind, double last_omega, cvtm_sum_use use,
                     cvtm_sums *partial, cvtm_sparse_state *state);
  /* to[k] = from[order[k]]; to[order[k]] = from[k]. */
  cvtm_status (*gather)(cvtm_device *device, const double *from, const int32_t *order,
                        int64_t count, double *to);
  cvtm_status (*scatter)(cvtm_device *device, const double *from, const int32_t *order,
                         int64_t count, double *to);
  /* Clips every row; or, if masked, sets active rows to their bound. */
  cvtm_status (*clip)(cvtm_device *device, const cvtm_level *level, int masked);
  /* y = a x + c y. */
  cvtm_status (*combine)(cvtm_device *device, double a, const double *x, double c, double *y,
                         int64_t count);
  /* y_i /= x_i. */
  cvtm_status (*divide)(cvtm_device *device, const double *x, double *y, int64_t count);
  /* Solves for the inactive rows of a tridiagonal system; b and x of the active rows are given. */
  cvtm_status (*tridiagonal)(cvtm_device *device, const cvtm_level *level,
                             const cvtm_tridiagonal *matrix);
  /* verdict[0]: the first index where b or a bound is not a number; verdict[1]: the first where
   * lower > upper; count if there is none. */
  cvtm_status (*check)(cvtm_device *device, const double *b, const double *lower,
                       const double *upper, int64_t count, int64_t *verdict);
  /* A V-cycle on levels of at most small_rows rows in one launch, which saves the launches of
   * kernels that cannot fill the device. levels: device memory. NULL: one kernel per operation. */
  cvtm_status (*small_cycle)(cvtm_device *device, const cvtm_level *levels,
                             const cvtm_vcycle *cycle);
  int64_t small_rows;
} cvtm_sparse_table;

extern const cvtm_sparse_table cvtm_sparse_table_cpu, cvtm_sparse_table_cuda;

#ifdef __cplusplus
}
#endif

/* Gaussian elimination without pivoting, from the first row to the last and back (Thomas). */
CVTM_HD void cvtm_solve_tridiagonal(const cvtm_level *level, const cvtm_tridiagonal *a) {
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

/* 1: b or a bound is not a number, or b is infinite; 2: no x is feasible; 0: neither. */
CVTM_HD int cvtm_check_entry(const double *b, const double *lower, const double *upper, int64_t i) {
  const double low = lower != NULL ? lower[i] : -(double)INFINITY;
  const double high = upper != NULL ? upper[i] : (double)INFINITY;
  if (!(b[i] - b[i] == 0) || low != low || high != high) return 1;
  return low > high || low == (double)INFINITY || high == -(double)INFINITY ? 2 : 0;
}

#endif
