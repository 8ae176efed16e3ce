/* Inside lcp/hlcp only: the kernels of the HLCP solvers. Each enqueues its work and returns no
 * number. */
#ifndef CVTMESH_LCP_HLCP_HLCP_KERNELS_H
#define CVTMESH_LCP_HLCP_HLCP_KERNELS_H

#include "lcp/hlcp/hlcp_state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_hlcp_table {
  /* If l is chosen for the device: rows of a block, or if that is 0 the number of blocks. */
  int64_t automatic_block, automatic_blocks;
  /* Number of parts in which the squares of n residuals are summed. Depends on n alone, so that
   * sums do not depend on the number of threads. */
  int64_t (*parts)(int64_t n);
  /* change[i], i < n, from the residual r of x; partial[p] = sum of r_i^2 over part p. */
  cvtm_status (*residual)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* Adds the partial sums in order and judges: cvtm_hlcp_judge. */
  cvtm_status (*judge)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* If state.apply: solves the triangular systems, x += d. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* z and w from x, and change[i] = z_i w_i for i < n. */
  cvtm_status (*finish)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, double *z, double *w);

  /* --- newton --- */
  /* out = J v with the generalised Jacobian J: column j is that of A where x_j > 0, else that of B.
   */
  cvtm_status (*apply)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, const double *v,
                       double *out);
  /* inverse_i = 1 / J_ii, or 1 if J_ii is 0. */
  cvtm_status (*diagonal)(cvtm_device *device, const cvtm_hlcp_arrays *arrays, double *inverse);
  /* On a grid: the diagonal by the signs of x, and the sums of squares of the residual over the
   * parts.
   */
  int64_t (*pixel_parts)(int64_t width, int64_t height);
  cvtm_status (*pixels)(cvtm_device *device, const cvtm_hlcp_pixels *pixels);
} cvtm_hlcp_table;

extern const cvtm_hlcp_table cvtm_hlcp_table_cpu, cvtm_hlcp_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
