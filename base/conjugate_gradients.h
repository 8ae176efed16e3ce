/* Preconditioned conjugate gradients: the scalars of an iteration for both devices, and the
 * iteration on the host. r is the residual, z the preconditioned residual, d the direction, A the
 * matrix. */
#pragma once

#include "base/api.h"
#include "base/portable.h"

#include <stdint.h>

typedef struct cvtm_cg {
  double square;      /* r'z */
  double target;      /* the iteration ends when r'z is at most this */
  double alpha, beta; /* x += alpha d; d = z + beta d */
  int32_t iteration, max_iterations;
  int32_t running;
} cvtm_cg;

/* square: r'z of the first residual. The iteration ends at tolerance^2 times this value. */
CVTM_HD cvtm_cg cvtm_cg_begin(double square, double tolerance, int32_t max_iterations) {
  cvtm_cg cg;
  cg.square = square;
  cg.target = tolerance * tolerance * square;
  cg.alpha = cg.beta = 0;
  cg.iteration = 0;
  cg.max_iterations = max_iterations;
  cg.running = square > 0;
  return cg;
}

/* curvature: d'Ad. If the curvature is not positive, the iteration ends without a step. */
CVTM_HD void cvtm_cg_set_alpha(cvtm_cg *cg, double curvature) {
  cg->running = curvature > 0;
  cg->alpha = curvature > 0 ? cg->square / curvature : 0;
  ++cg->iteration;
}

/* Called after a step. square: the new r'z. */
CVTM_HD void cvtm_cg_set_beta(cvtm_cg *cg, double square) {
  cg->beta = square / cg->square;
  cg->square = square;
  cg->running = cg->running && square > cg->target && cg->iteration < cg->max_iterations;
}

CVTM_C_BEGIN

/* A system A x = b on the host. The functions get `context`. */
typedef struct cvtm_cg_system {
  int64_t count; /* unknowns */
  int threads;
  const void *context;
  /* Sets y = A x. */
  void (*multiply)(const void *context, const double *x, double *y);
  /* Sets z to the preconditioned r. NULL: z = r, and cvtm_cg_vectors.z is not used. */
  void (*precondition)(const void *context, const double *r, double *z);
  /* a'b; NULL: the terms are added in their order. */
  double (*dot)(const void *context, const double *a, const double *b);
} cvtm_cg_system;

/* The vectors of a solve, `count` numbers each. */
typedef struct cvtm_cg_vectors {
  double *x;
  double *r; /* at first b */
  double *z, *d;
  double *product; /* A d; `precondition` may overwrite it */
} cvtm_cg_vectors;

/* Solves from x = 0. Returns the scalars at the end. */
cvtm_cg cvtm_cg_solve(const cvtm_cg_system *system, const cvtm_cg_vectors *vectors,
                      double tolerance, int32_t max_iterations);

CVTM_C_END
