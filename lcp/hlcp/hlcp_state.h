/* Inside lcp only: what an HLCP solve works on, and what both devices do alike. */
#ifndef CVTMESH_LCP_HLCP_HLCP_STATE_H
#define CVTMESH_LCP_HLCP_HLCP_STATE_H

#include "base/portable.h"
#include "lcp/hlcp.h"
#include "lcp/stop.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CVTM_HLCP_RING = 1024,     /* residuals kept on the device between two polls */
  CVTM_HLCP_SMALL_BLOCK = 32 /* rows of blocks that need no level lists on any device */
};

/* In device memory. */
typedef struct cvtm_hlcp_state {
  double target, residual, first;
  int64_t iteration, limit;
  int64_t pause_at;                 /* the loop ends for a poll when this iteration is reached */
  int32_t go_on;                    /* the loop's flag */
  int32_t apply;                    /* the sweep whose residual was judged is carried out */
  int32_t stop;                     /* cvtm_lcp_stop, or CVTM_UNDECIDED */
  double residuals[CVTM_HLCP_RING]; /* by iteration modulo the ring */
} cvtm_hlcp_state;

/* The triangular systems of one sweep. The unknowns of block k are e = first(k) .. first(k+1) - 1:
 *
 *     d_e = scale_e change[row_e] - sum of the entries of row e of `lower` times change[column].
 *
 * Columns below n mean change of a row (the Jacobi prediction), column n + e means d_e of an
 * earlier unknown of the same block. Then x += `weights` times change, or x_e += d_e without it. */
typedef struct cvtm_hlcp_systems {
  int64_t unknowns, blocks, largest; /* largest: unknowns of the largest block */
  int chained;                       /* some d depends on another */
  cvtm_sell lower;
  cvtm_sell weights;    /* n x (n + unknowns); rows = 0: unknown e belongs to row e with weight 1 */
  int64_t *block_first; /* blocks + 1; NULL: as even as possible, the larger ones first */
  int32_t *row;         /* NULL: row_e = e */
  double *scale;        /* NULL: 1 */
  /* For devices that take the unknowns of a block level by level; NULL elsewhere. */
  int32_t *order;       /* unknowns, block by block, by level within */
  int64_t *level_first; /* into order, all levels of all blocks one after the other, and the end */
  int64_t *block_level; /* blocks + 1: into level_first */
  int64_t widest;       /* unknowns of the widest level */
} cvtm_hlcp_systems;

/* A view; all in device memory. */
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
  double *change; /* n + unknowns */
  double *partial;
  cvtm_hlcp_state *state;
  cvtm_hlcp_systems systems;
} cvtm_hlcp_arrays;

/* A Newton step on a grid of pixels; a view, all in device memory. */
typedef struct cvtm_hlcp_pixels {
  cvtm_lcp_grid links;
  double a, b;
  const double *q, *x;
  double *diagonal; /* a where x > 0, else b; NULL: they are the same */
  uint8_t *changed; /* CVTM_GRID_CHANGED goes where the diagonal has changed */
  double *squares;  /* of the residual, in parts */
} cvtm_hlcp_pixels;

/* First unknown of block k where n unknowns are cut into that many blocks (section 4). */
CVTM_HD int64_t cvtm_hlcp_block_start(int64_t n, int64_t blocks, int64_t k) {
  const int64_t rest = n % blocks;
  return n / blocks * k + (k < rest ? k : rest);
}

/* The shares of x that A and B Omega see; a NaN stays one. */
CVTM_HD double cvtm_hlcp_plus(double x) { return x < 0 ? 0 : x; }
CVTM_HD double cvtm_hlcp_minus(double x) { return x > 0 ? 0 : x; }

/* r = A (|x| + x) - B Omega (|x| - x) - gamma q from half of the matrices' part. */
CVTM_HD double cvtm_hlcp_residual(double half, double gamma, double q) {
  return 2 * half - gamma * q;
}

CVTM_HD double cvtm_hlcp_change(double r, double a, double b, double alpha, double share) {
  return alpha == 0 ? -r : -(alpha * r) / (a + share * b);
}

/* (10) of the paper. */
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

#ifdef __cplusplus
}
#endif
#endif
