/* Inside lcp only: the phases of the HLCP solvers that differ between devices. Each
 * enqueues its work and returns no number. */
#ifndef CVTMESH_LCP_HLCP_HLCP_KERNELS_H
#define CVTMESH_LCP_HLCP_HLCP_KERNELS_H

#include "lcp/hlcp/newton.h"
#include "lcp/hlcp/hlcp_state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_hlcp_table {
  int takes_levels;         /* needs the level lists of the systems */
  int64_t automatic_block;  /* rows of a block where l is chosen; 0: a fixed number of blocks */
  int64_t automatic_blocks; /* that number */
  /* Parts into which n rows are cut for the residual: n alone decides, never the machine. */
  int64_t (*parts)(int64_t n);
  /* r of x: change[i] for i < n, and partial[p] = the sum of squares of part p. */
  cvtm_status (*residual)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* The partial sums in order, and cvtm_hlcp_judge. */
  cvtm_status (*judge)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* If the state says apply: the triangular systems, and without weights x += d. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* If the state says apply: x += weights times change. */
  cvtm_status (*combine)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* z, w of x, and change[i] = z_i w_i for i < n. */
  cvtm_status (*finish)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, double *z, double *w);

  /* --- newton --- */
  /* out_i = sum of v_j times a_ij where x_j > 0, else b_ij. */
  cvtm_status (*apply)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, const double *v,
                       double *out);
  /* inverse_i = 1 / the diagonal of that matrix (1 where it is 0). */
  cvtm_status (*diagonal)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, double *inverse);
  /* The vector operations of one BiCGSTAB iteration, cvtm_krylov_pass after pass. */
  cvtm_status (*krylov)(cvtm_device *device, const cvtm_krylov *krylov, cvtm_krylov_pass pass);
  /* On a grid: the diagonal that the signs of x choose, and the squares of the residual, summed up
   * in that many parts. */
  int64_t (*pixel_parts)(int64_t width, int64_t height);
  cvtm_status (*pixels)(cvtm_device *device, const cvtm_hlcp_pixels *pixels);
} cvtm_hlcp_table;

extern const cvtm_hlcp_table cvtm_hlcp_table_cpu, cvtm_hlcp_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
