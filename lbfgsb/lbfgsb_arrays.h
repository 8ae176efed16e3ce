/* The arrays of a solver, as the passes on both devices see them. */
#ifndef CVTMESH_LBFGSB_LBFGSB_ARRAYS_H
#define CVTMESH_LBFGSB_LBFGSB_ARRAYS_H

#include "lbfgsb/lbfgsb_state.h"

/* The barrier between the blocks that share a problem; no two counters share a cache line. */
typedef struct cvtm_lbfgsb_barrier {
  unsigned arrived, unused_a[31]; /* arrivals since the solver was made */
  unsigned ended, unused_b[31];   /* the latest epoch that block 0 has ended */
  unsigned epochs, unused_c[31];  /* epochs before this kernel */
} cvtm_lbfgsb_barrier;

/* What a history of more than CVTM_LBFGSB_SHORT pairs needs (panels.h). */
typedef struct cvtm_panels cvtm_panels;
/* What variables that are divided among ranks need (divided.h). */
typedef struct cvtm_divided cvtm_divided;

/* All in device memory; in a batch each array holds its problems one after the other. */
typedef struct cvtm_lbfgsb_arrays {
  int64_t n, problems;
  int64_t block;                       /* rows whose sums are formed first; cvtm_lbfgsb_block */
  double *x, *g;                       /* the current point and its gradient */
  double *trial_x, *trial_g;           /* what the objective reads and writes */
  double *values;                      /* f[0..1] */
  double *d;                           /* the direction of the line search */
  double *w;                           /* W = [Y S]; see cvtm_lbfgsb_at */
  const double *lower, *upper, *scale; /* NULL: none */
  double *partial;                     /* [parts][entries]: what the parts of a pass reduce to */
  int64_t parts, entries;              /* of one problem */
  double *sums;                        /* [entries]: result of pass A at the current point */
  double *reduced;                     /* [entries]: result of the latest other pass */
  double *breakpoints;                 /* exact Cauchy point: t_i of the window, */
  int64_t *breakpoint_rows;            /* and their rows i; NULL otherwise */
  int64_t *breakpoint_count;
  cvtm_lbfgsb_state *state;
  cvtm_lbfgsb_model *model;
  cvtm_lbfgsb_walk *walk; /* exact Cauchy point, else NULL */
  cvtm_lbfgsb_work *work; /* CPU, else NULL */
  cvtm_lbfgsb_mailbox *mailbox;
  cvtm_lbfgsb_requests *requests;
  int *flag;                    /* of the loop: problems that need another round */
  cvtm_lbfgsb_barrier *barrier; /* CUDA */
  cvtm_panels *panels;          /* on the host; NULL for short histories */
  cvtm_divided *divided;        /* on the host; NULL: this process has all rows */
} cvtm_lbfgsb_arrays;

/* The number of elements of W for n variables, the last tile padded. */
CVTM_HD int64_t cvtm_lbfgsb_w_count(int64_t n, int m) {
  return (n + CVTM_LBFGSB_TILE - 1) / CVTM_LBFGSB_TILE * CVTM_LBFGSB_TILE * 2 * m;
}

/* The arrays of problem p of a batch. */
CVTM_HD cvtm_lbfgsb_arrays cvtm_lbfgsb_problem_arrays(const cvtm_lbfgsb_arrays *arrays, int64_t p,
                                                      int m) {
  cvtm_lbfgsb_arrays one = *arrays;
  const int64_t n = arrays->n;
  one.problems = 1;
  one.x += p * n;
  one.g += p * n;
  one.trial_x += p * n;
  one.trial_g += p * n;
  one.values += 2 * p;
  one.d += p * n;
  one.w += p * cvtm_lbfgsb_w_count(n, m);
  if (one.lower) one.lower += p * n;
  if (one.upper) one.upper += p * n;
  if (one.scale) one.scale += p * n;
  one.partial += p * arrays->parts * arrays->entries;
  one.sums += p * arrays->entries;
  one.reduced += p * arrays->entries;
  if (one.breakpoints) {
    one.breakpoints += p * n;
    one.breakpoint_rows += p * n;
    one.breakpoint_count += p;
  }
  one.state += p;
  one.model += p;
  if (one.walk) one.walk += p;
  if (one.work) one.work += p;
  return one;
}

#endif
