/* Inside lcp only: BiCGStab (van der Vorst 1992, "Bi-CGSTAB: a fast and smoothly converging variant
 * of Bi-CG for the solution of nonsymmetric linear systems") with right preconditioning. The
 * scalars of an iteration stay in device memory, so the host waits once per solve. */
#pragma once

#include "base/device.h"
#include "base/portable.h"
#include "base/select.h"

#include <math.h>

CVTM_C_BEGIN

typedef struct cvtm_krylov cvtm_krylov;

/* Sets preconditioned = M^-1 direction, unless the diagonal preconditioner has done so, and image =
 * A preconditioned. The vectors are in device memory. Enqueues its work. */
typedef cvtm_status (*cvtm_krylov_operator)(void *context, double *direction,
                                            double *preconditioned, double *image);

/* The problem of a solve. Pointers are to device memory and borrowed. */
typedef struct cvtm_krylov_setup {
  int64_t n;
  double *solution, *residual; /* n each */
  const double *inverse;       /* n: the diagonal of M^-1; NULL: the operator preconditions */
  cvtm_krylov_operator apply;
  void *context;
  int keeps_best; /* nonzero: returns the iterate with the smallest residual, not the last */
} cvtm_krylov_setup;

cvtm_status cvtm_krylov_create(cvtm_device *device, const cvtm_krylov_setup *setup,
                               cvtm_krylov **krylov);
void cvtm_krylov_destroy(cvtm_krylov *krylov);

/* Solves from the start `solution`. residual: scale times the residual of the start; overwritten.
 * scale: a power of two. Stops when the 2-norm of the scaled residual is at most `goal` or
 * relative_goal times its first value, or after `limit` iterations. Waits for the device. */
cvtm_status cvtm_krylov_solve(cvtm_krylov *krylov, double goal, double relative_goal, double scale,
                              int64_t limit, int64_t *iterations);

/* --- kernels ----------------------------------------------------------------------------- */

/* The scalars of a solve, in device memory. */
typedef struct cvtm_krylov_state {
  double rho, rho_before, alpha, beta, omega;
  double shadow_v, ts, tt; /* the dot products (shadow, v), (t, s), (t, t) */
  double squares;          /* (r, r) */
  double shadow_squares;   /* (shadow, shadow) */
  double least;            /* smallest (r, r) so far */
  double goal, relative_goal, scale;
  double target; /* the solve ends when `squares` is at most this */
  int64_t iteration, limit;
  int32_t go_on;   /* nonzero: the loop continues */
  int32_t restart; /* nonzero: the next iteration takes r as its shadow and its search direction */
  int32_t improved;
} cvtm_krylov_state;

/* The vectors of a solve, n numbers each, in device memory. r is also used for s. */
typedef struct cvtm_krylov_view {
  int64_t n;
  const double *inverse;
  double *solution, *r, *shadow, *p, *v, *t;
  double *p_hat, *s_hat; /* M^-1 p, M^-1 s; the same array unless `inverse` is given */
  double *best;          /* NULL: the best iterate is not kept */
  cvtm_krylov_state *state;
} cvtm_krylov_view;

/* The parts of an iteration between the applications of the operator and the dot products. */
typedef enum cvtm_krylov_pass {
  CVTM_KRYLOV_BEGIN,     /* sets the state before the first iteration */
  CVTM_KRYLOV_DIRECTION, /* p = r + beta (p - omega v), p_hat = M^-1 p */
  CVTM_KRYLOV_ALPHA,     /* alpha = rho / (shadow, v) */
  CVTM_KRYLOV_HALF,      /* s = r - alpha v, s_hat = M^-1 s */
  CVTM_KRYLOV_OMEGA,     /* omega = (t, s) / (t, t) */
  CVTM_KRYLOV_FULL,      /* solution += alpha p_hat + omega s_hat, r = s - omega t */
  CVTM_KRYLOV_END,       /* computes beta; decides whether to continue */
  CVTM_KRYLOV_KEEP       /* best = solution, if the residual is the smallest so far */
} cvtm_krylov_pass;

typedef struct cvtm_krylov_table {
  cvtm_status (*pass)(cvtm_device *device, const cvtm_krylov_view *view, cvtm_krylov_pass pass);
} cvtm_krylov_table;

extern const cvtm_krylov_table cvtm_krylov_table_cpu, cvtm_krylov_table_cuda;

CVTM_C_END

/* True for passes that change only the state. */
CVTM_HD int cvtm_krylov_is_scalar(cvtm_krylov_pass pass) {
  return pass == CVTM_KRYLOV_BEGIN || pass == CVTM_KRYLOV_ALPHA || pass == CVTM_KRYLOV_OMEGA ||
         pass == CVTM_KRYLOV_END;
}

CVTM_HD void cvtm_krylov_restart(cvtm_krylov_state *state) {
  state->restart = 1;
  state->rho = state->shadow_squares = state->squares;
}

CVTM_HD void cvtm_krylov_note_residual(cvtm_krylov_state *state) {
  state->improved = state->squares <= state->least;
  if (state->improved) state->least = state->squares;
  state->go_on = state->squares > state->target && state->iteration < state->limit;
}

CVTM_HD void cvtm_krylov_end_iteration(cvtm_krylov_state *state) {
  /* if r is almost orthogonal to the shadow residual, beta consists of rounding errors */
  const double least_cosine = 1e-8;
  const double beta = state->rho / state->rho_before * (state->alpha / state->omega);
  const double cosine2 = least_cosine * least_cosine * state->shadow_squares * state->squares;
  ++state->iteration;
  if (isfinite(beta) && state->alpha != 0 && state->rho * state->rho > cosine2) {
    state->restart = 0;
    state->beta = beta;
  } else {
    cvtm_krylov_restart(state);
  }
  cvtm_krylov_note_residual(state);
}

CVTM_HD void cvtm_krylov_decide(cvtm_krylov_state *state, cvtm_krylov_pass pass) {
  switch (pass) {
    case CVTM_KRYLOV_BEGIN: {
      const double goal = fmax(state->goal, state->relative_goal * sqrt(state->squares));
      state->target = goal * goal;
      state->least = (double)INFINITY;
      state->iteration = 0;
      cvtm_krylov_restart(state);
      cvtm_krylov_note_residual(state);
      break;
    }
    case CVTM_KRYLOV_ALPHA: {
      const double alpha = state->rho / state->shadow_v;
      state->alpha = isfinite(alpha) ? alpha : 0; /* breakdown */
      state->rho_before = state->rho;
      break;
    }
    case CVTM_KRYLOV_OMEGA:
      state->omega = state->tt > 0 ? state->ts / state->tt : 0;
      break;
    case CVTM_KRYLOV_END:
      cvtm_krylov_end_iteration(state);
      break;
    default:
      break;
  }
}

/* Runs a pass for element i. After a breakdown alpha or omega is 0 and v or t may be infinite, so
 * terms with a factor 0 are left out. */
CVTM_HD void cvtm_krylov_element(const cvtm_krylov_view *k, cvtm_krylov_pass pass, int64_t i) {
  const cvtm_krylov_state *state = k->state;
  /* if p_hat and s_hat share an array, the half step is added before s_hat overwrites p_hat */
  const int is_shared = k->s_hat == k->p_hat;
  switch (pass) {
    case CVTM_KRYLOV_DIRECTION:
      if (state->restart) {
        k->shadow[i] = k->p[i] = k->r[i];
      } else {
        k->p[i] = k->r[i] + state->beta * (k->p[i] - state->omega * k->v[i]);
      }
      if (k->inverse != NULL) k->p_hat[i] = k->inverse[i] * k->p[i];
      break;
    case CVTM_KRYLOV_HALF:
      if (state->alpha != 0) {
        if (is_shared) k->solution[i] += state->alpha / state->scale * k->p_hat[i];
        k->r[i] -= state->alpha * k->v[i];
      }
      if (k->inverse != NULL) k->s_hat[i] = k->inverse[i] * k->r[i];
      break;
    case CVTM_KRYLOV_FULL:
      if (!is_shared)
        k->solution[i] += (state->alpha * k->p_hat[i] + state->omega * k->s_hat[i]) / state->scale;
      if (state->omega != 0) {
        if (is_shared) k->solution[i] += state->omega / state->scale * k->s_hat[i];
        k->r[i] -= state->omega * k->t[i];
      }
      break;
    case CVTM_KRYLOV_KEEP:
      if (state->improved) k->best[i] = k->solution[i];
      break;
    default:
      break;
  }
}
