/* Sweeps of red-black projected Gauss-Seidel on a pentadiagonal matrix in the format RgCSR: slices
 * of 32 rows, entry k of row r at (r / 32) 160 + 32 k + r % 32. Klement & Oberhuber 2015, section
 * IV, measure what the position of the diagonal among the entries of a row costs. */
#ifndef CVTMESH_BENCH_PROBLEMS_RGCSR_H
#define CVTMESH_BENCH_PROBLEMS_RGCSR_H

#include "base/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_RGCSR_WIDTH = 5, CVTM_RGCSR_SLICE = 32 };

/* How the diagonal entry is found. */
typedef enum cvtm_rgcsr_kind {
  CVTM_RGCSR_BRANCH, /* by a branch on the column, as in the paper's kernel */
  CVTM_RGCSR_SELECT, /* by a selection, without a branch, as in lcp/sparse/smoother.h */
  CVTM_RGCSR_FIRST,  /* it is entry 0 of every row */
  CVTM_RGCSR_KINDS
} cvtm_rgcsr_kind;

/* A grid of side x side nodes, side even; all in device memory. */
typedef struct cvtm_rgcsr {
  int64_t side;
  int32_t *column; /* [padded rows x 5]; unused entries have another column than the row, value 0 */
  double *value;
  double *b, *lower, *x; /* [rows] */
} cvtm_rgcsr;

/* x_i = max(lower_i, (b_i - sum of a_ij x_j over j != i) / a_ii) in the nodes of one colour, then
 * in those of the other. Enqueued. */
cvtm_status cvtm_rgcsr_sweep(cvtm_device *device, const cvtm_rgcsr *matrix, cvtm_rgcsr_kind kind);

#ifdef __cplusplus
}
#endif
#endif
