/* Inside lcp/hlcp only: the arrays and the state of an HLCP solve, its formulas for both devices,
 * and the kernels. Each kernel enqueues its work and returns no number. */
#ifndef CVTMESH_LCP_HLCP_HLCP_KERNELS_H
#define CVTMESH_LCP_HLCP_HLCP_KERNELS_H

#include "base/portable.h"
#include "lcp/hlcp.h"
#include "lcp/stop.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CVTM_HLCP_RING = 1024,     /* residuals that the state keeps between two polls */
  CVTM_HLCP_SMALL_BLOCK = 32 /* rows of blocks that CUDA solves by a thread for each row */
};

/* In device memory. */
typedef struct cvtm_hlcp_state {
  double target, residual, first;
  int64_t iteration, limit;
  int64_t pause_at;                 /* the loop ends for a poll at this iteration */
  int32_t go_on;                    /* the flag of the loop */
  int32_t apply;                    /* the current sweep changes x */
  int32_t stop;                     /* cvtm_lcp_stop, or CVTM_UNDECIDED */
  double residuals[CVTM_HLCP_RING]; /* residuals[k % CVTM_HLCP_RING]: of iteration k */
} cvtm_hlcp_state;

/* The triangular systems of one sweep. The rows of block k are those from cvtm_hlcp_block_start on:
 *
 *     d_e = change[e] - sum of the entries of row e of `lower` times change[column],  x_e += d_e.
 *
 * Columns below n mean change of a row (the Jacobi prediction), column n + e means d_e of an
 * earlier row of the same block. */
typedef struct cvtm_hlcp_systems {
  int64_t blocks, largest; /* largest: rows of the largest block */
  int chained;             /* some d depends on another */
  cvtm_sell lower;         /* n x 2 n */
  int64_t block_threads;   /* of the options */
} cvtm_hlcp_systems;

/* All pointers are to device memory, borrowed. */
typedef struct cvtm_hlcp_arrays {
  int64_t n;
  cvtm_sell a, b; /* A and B Omega */
  double gamma;
  double alpha; /* change_i = -alpha r_i / (a_ii + share b_ii omega_i); 0: change_i = -r_i */
  double share;
  const double *q;
  const double *omega; /* n; NULL: omega_number */
  double omega_number;
  double *x;
  double *change; /* 2 n */
  double *partial;
  cvtm_hlcp_state *state;
  cvtm_hlcp_systems systems;
} cvtm_hlcp_arrays;

/* A Newton step on a grid of pixels. All pointers are to device memory, borrowed. */
typedef struct cvtm_hlcp_pixels {
  cvtm_lcp_grid links;
  double a, b;
  const double *q, *x;
  double *diagonal; /* a where x > 0, else b; NULL: they are the same */
  uint8_t *changed; /* set to CVTM_GRID_CHANGED where the diagonal changes */
  double *squares;  /* sums of squares of the residual, by part */
} cvtm_hlcp_pixels;

/* First unknown of block k of n unknowns in blocks that differ by at most one in size (section 4 of
 * the paper). */
CVTM_HD int64_t cvtm_hlcp_block_start(int64_t n, int64_t blocks, int64_t k) {
  const int64_t remainder = n % blocks;
  return n / blocks * k + (k < remainder ? k : remainder);
}

/* max(x, 0), the factor of A, and min(x, 0), that of B Omega. A NaN stays NaN. */
CVTM_HD double cvtm_hlcp_plus(double x) { return x < 0 ? 0 : x; }
CVTM_HD double cvtm_hlcp_minus(double x) { return x > 0 ? 0 : x; }

/* r = A (|x| + x) - B Omega (|x| - x) - gamma q; half: A max(x, 0) + B Omega min(x, 0). */
CVTM_HD double cvtm_hlcp_residual(double half, double gamma, double q) {
  return 2 * half - gamma * q;
}

CVTM_HD double cvtm_hlcp_change(double r, double a, double b, double alpha, double share) {
  return alpha == 0 ? -r : -(alpha * r) / (a + share * b);
}

/* Equation (10) of the paper. */
CVTM_HD double cvtm_hlcp_z(double x, double gamma) { return x > 0 ? 2 * x / gamma : 0; }
CVTM_HD double cvtm_hlcp_w(double x, double omega, double gamma) {
  return x < 0 ? omega * (-2 * x) / gamma : 0;
}

/* Enters the residual of an iterate and decides whether its sweep is carried out. squares: the sum
 * of the r_i^2. */
CVTM_HD void cvtm_hlcp_judge(cvtm_hlcp_state *state, double squares, double gamma) {
  const double residual = sqrt(squares) / gamma;
  state->residual = residual;
  state->residuals[state->iteration % CVTM_HLCP_RING] = residual;
  if (state->iteration == 0) state->first = residual;
  const double largest = 1e12 * (1 + state->first);
  state->stop = cvtm_stop_of(residual, state->target, largest, state->iteration >= state->limit);
  state->apply = state->stop == CVTM_UNDECIDED;
  state->iteration += state->apply;
  state->go_on = state->apply && state->iteration < state->pause_at;
}

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
