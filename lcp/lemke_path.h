/* Inside lcp only: a path of Lemke's method, in a dictionary. */
#pragma once

#include "base/host.h"
#include "lcp/lemke.h"

typedef struct lemke_solver {
  cvtm_lcp head;
  cvtm_csr matrix;
  int is_symmetric;
} lemke_solver;

/* A problem in host memory. The variables are numbered: x_k has number k, F_k has pairs + k. */
typedef struct lemke {
  const lemke_solver *solver;
  const cvtm_csr *matrix;
  const double *b, *given_lower, *given_upper; /* n doubles; NULL: infinite bounds */
  int threads;
  int64_t n, pairs;      /* n: unknowns; pairs: n, plus one for each variable without a bound */
  int32_t t;             /* the number of the artificial variable */
  double *entry;         /* pairs x (pairs + 1): the dictionary */
  double *value;         /* pairs: the values of the basic variables */
  double *lower, *upper; /* pairs: bounds of x_k */
  double *unit;          /* pairs: the unit of x_k, a power of two */
  int32_t *side;         /* pairs: the last bound that x_k met: -1: lower; 1: upper; 0: none */
  int32_t *positive;     /* pairs; k >= n: the unknown whose negative part is x_k; -1: none */
  int32_t *basic;        /* pairs: the variable of each row */
  int32_t *nonbasic;     /* pairs + 1: the variable of each column */
  int32_t *column_of;    /* 2 pairs + 1: the column of a variable; -1: it is basic */
  int64_t pivots;
  int32_t ray; /* at a ray: the column of the moving variable ... */
  int ray_way; /* ... and the direction of its motion, 1 or -1 */
} lemke;

typedef struct cvtm_lemke_residual {
  double norm, maximum; /* 2-norm and maximum of the natural residual */
  double rounding;      /* size of the rounding errors in `norm` */
  double energy;
  int64_t active_lower, active_upper;
} cvtm_lemke_residual;

/* Takes the memory of a path from `memory`; the vectors of the problem must be set. */
cvtm_status cvtm_lemke_open(lemke *p, cvtm_scratch *memory);
/* Follows a path from its start to t = 0 (CVTM_LCP_CONVERGED), to a ray, or until the monitor or
 * the limit of pivots stops it. Attempt 0 is Lemke's path. Two of three later attempts measure F
 * and x in units that give the entries of the matrix similar sizes, and most of these begin at
 * another basis. From attempt 3 on the weights of t differ. scratch: n doubles. */
cvtm_lcp_stop cvtm_lemke_follow(lemke *p, int attempt, double *scratch);
/* Sets x to the unknowns at the end of the path. */
void cvtm_lemke_read(const lemke *p, double *x);
/* Sets x to the direction of the ray at which the path has ended. */
void cvtm_lemke_read_ray(const lemke *p, double *x);
cvtm_lemke_residual cvtm_lemke_measure(const lemke *p, const double *x);
