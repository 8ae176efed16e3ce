/* Inside lcp only: the linear systems of the semismooth Newton method for HLCPs, and the
 * scalar decisions of BiCGSTAB (van der Vorst 1992) that both devices share. */
#ifndef CVTMESH_LCP_HLCP_NEWTON_H
#define CVTMESH_LCP_HLCP_NEWTON_H

#include "base/portable.h"
#include "lcp/hlcp/hlcp_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In device memory. */
typedef struct cvtm_krylov_state {
  double rho, rho_before, alpha, beta, omega;
  double shadow_v, ts, tt; /* (shadow, v), (t, s), (t, t) */
  double squares;          /* (r, r) */
  double shadow_squares;   /* (shadow, shadow) */
  double target;           /* for squares */
  int64_t iteration, limit;
  int32_t go_on;
  int32_t renew; /* the next iteration takes r as its shadow and begins anew */
} cvtm_krylov_state;

/* One iteration; apply and the dot products lie between the passes. Pointers are to device memory;
 * r holds s between HALF and FULL. */
typedef struct cvtm_krylov {
  int64_t n;
  const double *inverse; /* Jacobi preconditioner */
  double *solution;
  double *r, *shadow, *p, *v, *t, *p_hat, *s_hat;
  cvtm_krylov_state *state;
} cvtm_krylov;

typedef enum cvtm_krylov_pass {
  CVTM_KRYLOV_BEGIN,     /* solution = p = v = 0, shadow = r */
  CVTM_KRYLOV_OPEN,      /* the state of a first iteration */
  CVTM_KRYLOV_DIRECTION, /* p = r + beta (p - omega v), p_hat = inverse p */
  CVTM_KRYLOV_ALPHA,     /* of (shadow, v) */
  CVTM_KRYLOV_HALF,      /* r -= alpha v, s_hat = inverse r */
  CVTM_KRYLOV_OMEGA,     /* of (t, s) and (t, t) */
  CVTM_KRYLOV_FULL,      /* solution += alpha p_hat + omega s_hat, r -= omega t */
  CVTM_KRYLOV_CLOSE      /* beta; stop or go on */
} cvtm_krylov_pass;

/* The passes that only touch the state. */
CVTM_HD void cvtm_krylov_decide(cvtm_krylov_state *state, cvtm_krylov_pass pass) {
  switch (pass) {
    case CVTM_KRYLOV_OPEN: /* rho holds (shadow, r) = (r, r) */
      state->squares = state->shadow_squares = state->rho;
      state->renew = 0;
      state->rho_before = state->alpha = state->omega = 1;
      state->beta = 0;
      state->iteration = 0;
      state->go_on = state->squares > state->target && state->limit > 0;
      break;
    case CVTM_KRYLOV_ALPHA:
      state->alpha = state->shadow_v != 0 ? state->rho / state->shadow_v : 0;
      state->rho_before = state->rho;
      break;
    case CVTM_KRYLOV_OMEGA:
      state->omega = state->tt > 0 ? state->ts / state->tt : 0;
      break;
    case CVTM_KRYLOV_CLOSE: {
      const double divisor = state->rho_before * state->omega;
      /* Nearly at right angles to its shadow, r says nothing: rounding would take over. */
      const double right_angle = 1e-8;
      state->renew = state->rho * state->rho <=
                     right_angle * right_angle * state->shadow_squares * state->squares;
      state->renew |= divisor == 0 || state->alpha == 0;
      state->beta = state->renew ? 0 : state->rho * state->alpha / divisor;
      if (state->renew) state->rho = state->shadow_squares = state->squares;
      ++state->iteration;
      state->go_on = state->squares > state->target && state->iteration < state->limit;
      break;
    }
    default:
      break;
  }
}

CVTM_HD int cvtm_krylov_is_scalar(cvtm_krylov_pass pass) {
  return pass == CVTM_KRYLOV_OPEN || pass == CVTM_KRYLOV_ALPHA || pass == CVTM_KRYLOV_OMEGA ||
         pass == CVTM_KRYLOV_CLOSE;
}

CVTM_HD void cvtm_krylov_element(const cvtm_krylov *k, cvtm_krylov_pass pass, int64_t i) {
  const cvtm_krylov_state *state = k->state;
  switch (pass) {
    case CVTM_KRYLOV_BEGIN:
      k->solution[i] = k->p[i] = k->v[i] = 0;
      k->shadow[i] = k->r[i];
      break;
    case CVTM_KRYLOV_DIRECTION:
      if (state->renew) k->shadow[i] = k->r[i];
      k->p[i] = k->r[i] + state->beta * (k->p[i] - state->omega * k->v[i]);
      k->p_hat[i] = k->inverse[i] * k->p[i];
      break;
    case CVTM_KRYLOV_HALF:
      k->r[i] -= state->alpha * k->v[i];
      k->s_hat[i] = k->inverse[i] * k->r[i];
      break;
    case CVTM_KRYLOV_FULL:
      k->solution[i] += state->alpha * k->p_hat[i] + state->omega * k->s_hat[i];
      k->r[i] -= state->omega * k->t[i];
      break;
    default:
      break;
  }
}

/* A banded matrix and its LU factors with partial pivoting, on the host; column j of row i
 * lies at (i - j + lower + upper) of column j, each column 2 lower + upper + 1 long. */
typedef struct cvtm_band {
  int64_t n, lower, upper;
  double *value;
  int64_t *pivot;
} cvtm_band;

/* 0 if the matrix is singular. */
int cvtm_band_factor(cvtm_band *band);
void cvtm_band_solve(const cvtm_band *band, double *x);

#ifdef __cplusplus
}
#endif
#endif
