/* The state of a run, in device memory. Functions of line_search.h, stopping.h, limited_memory.h,
 * cauchy_point.h and subspace.h change it, on the CPU and in the CUDA kernel. The host reads
 * copies. */
#pragma once

#include "lbfgsb/lbfgsb.h"
#include "lbfgsb/more_thuente.h"

/* The longest history of lbfgsb_cpu.c and lbfgsb_cuda.cu; panels.c handles longer histories. */
enum { CVTM_LBFGSB_SHORT = 20 };

/* The largest number of variables of small_cuda.cu. */
enum { CVTM_LBFGSB_SMALL = 32 };

/* The largest order of the small matrices in a translation unit. It differs in panels.c, so
 * cvtm_lbfgsb_model, _walk and _work have another size there. */
#ifndef CVTM_LBFGSB_ORDER
#define CVTM_LBFGSB_ORDER CVTM_LBFGSB_SHORT
#endif

enum {
  CVTM_LBFGSB_RING = 1024, /* records in the mailbox; when it is full the device waits */
  CVTM_LBFGSB_WINDOW = 10, /* iterations over which the decrease of f is averaged */
  CVTM_LBFGSB_TILE = 32    /* rows of a tile of W */
};

/* The purpose of the next evaluation. */
typedef enum cvtm_lbfgsb_phase {
  CVTM_PHASE_START,  /* the first point */
  CVTM_PHASE_SEARCH, /* a trial of the line search */
  CVTM_PHASE_AGAIN,  /* the current point again, before a steepest descent step */
  CVTM_PHASE_RESUME  /* no evaluation: a stopped run continues with a new direction */
} cvtm_lbfgsb_phase;

typedef struct cvtm_lbfgsb_state {
  /* options and kinds, set by the host */
  int64_t max_iterations, max_evaluations;
  double gradient_tolerance, decrease_tolerance, measure_tolerance;
  cvtm_search_options search_options;
  int history; /* m */
  int bounded; /* nonzero: a bound is finite */
  int boxed;   /* nonzero: all bounds are finite */
  int exact;   /* nonzero: the exact Cauchy point */
  int monitored;

  /* progress of the run */
  int running;
  int stop; /* cvtm_stop */
  int phase;
  int64_t iteration, evaluations, restarts;
  int64_t start_projected; /* number of start values that were moved into the box */
  double f, measure;
  double trial_f, trial_measure;
  double projected_gradient, least_gradient;
  int64_t least_gradient_iteration;
  int64_t active;
  double decrease[CVTM_LBFGSB_WINDOW]; /* iteration k is at k modulo CVTM_LBFGSB_WINDOW */

  /* the phases of this round; a phase whose flag is 0 is skipped */
  int needs_update; /* pass A: the trial point was accepted */
  int needs_commit; /* CUDA: pass A ran before the trial point was accepted; x, g and the new pair
                       are not yet written */
  int store_pair;   /* pass A also stores the new pair s and y */
  int needs_direction;   /* a new direction from the current point, without pass A */
  int needs_breakpoints; /* the breakpoints of the window, for the exact Cauchy point */
  int needs_restriction; /* rows with 0 < t_i <= t^c leave the free set */
  int needs_step;        /* pass B: the direction d */
  int needs_fallback;    /* pass B with the truncated step */
  int needs_trial;       /* another trial point than x + d, which pass B has written */

  /* The limited-memory matrix. The stored pairs are in columns 0 .. count - 1, the oldest pair in
   * column `oldest`. */
  int count, oldest, newest;
  double theta;
  double free_gg;          /* g'g over the rows with t_i > 0 */
  double first_breakpoint; /* t^1, the smallest positive t_i */
  int64_t nearest_row;     /* the row with t_i = t^1; negative if there are several */
  double cauchy;           /* t^c */
  double gradient_factor;  /* d_i = xc_i + gradient_factor g_i + (W q)_i - x_i */
  double truncation;       /* factor of the truncated subspace step */

  /* The search for the exact Cauchy point, which has reached t = walk_t. The current
   * window, cvtm_lbfgsb_arrays.breakpoints, has the breakpoints in (window_start, window_end]. */
  double walk_t;
  double walk_dd;     /* d'd on the segment that begins at walk_t */
  double walk_second; /* f'' on the first segment */
  double window_start, window_end;

  /* The line search. */
  cvtm_search search;
  double step, slope; /* the trial step; g'd at the current point */
  double step_cap;    /* the smallest step known to give a value that is not finite */
  int search_evaluations;
  int search_forced; /* nonzero: the limit is reached, so the search takes its best point */
  int search_not_finite;
  int speculative; /* nonzero: the last search accepted its first trial, so on CUDA pass A may run
                      together with the test of the next first trial */

  int64_t recorded; /* number of records written to the mailbox */
} cvtm_lbfgsb_state;

/* Records 0 .. recorded - 1 of the iterations; record k is at k modulo CVTM_LBFGSB_RING. The
 * mailbox is in host memory, and the device writes it. */
typedef struct cvtm_lbfgsb_mailbox {
  int64_t recorded;
  cvtm_lbfgsb_progress ring[CVTM_LBFGSB_RING];
} cvtm_lbfgsb_mailbox;

/* Data that the host sends to the device during a run. */
typedef struct cvtm_lbfgsb_requests {
  int64_t records_read; /* number of records that the host has read */
  int stop;             /* requested cvtm_stop, or CVTM_STOP_NONE */
} cvtm_lbfgsb_requests;

enum {
  CVTM_LBFGSB_SQUARE = CVTM_LBFGSB_ORDER * CVTM_LBFGSB_ORDER,
  CVTM_LBFGSB_PAIR = 2 * CVTM_LBFGSB_ORDER
};

/* Products of the stored pairs, and vectors that the directions need. Entry (p, q), p and q columns
 * in memory, is at p * CVTM_LBFGSB_ORDER + q. */
typedef struct cvtm_lbfgsb_model {
  /* S'S, S'Y and Y'Y over all rows. Y'Y, and s_p'y_q with p older than q, are set only without
   * bounds. */
  double ss[CVTM_LBFGSB_SQUARE], sy[CVTM_LBFGSB_SQUARE], yy[CVTM_LBFGSB_SQUARE];
  double wg[CVTM_LBFGSB_PAIR]; /* W'g over the rows with t_i > 0, Y before S */
  double q[CVTM_LBFGSB_PAIR];  /* coefficients of the subspace step, for pass B */
  double wc[CVTM_LBFGSB_PAIR]; /* W'(x^c - x) */
} cvtm_lbfgsb_model;

/* The search for the exact Cauchy point, in order of age. P has rows of 2 * count entries. */
typedef struct cvtm_lbfgsb_walk {
  double p[CVTM_LBFGSB_PAIR * CVTM_LBFGSB_PAIR];
  double wd[CVTM_LBFGSB_PAIR], pwd[CVTM_LBFGSB_PAIR]; /* W'd, P W'd */
  double wc[CVTM_LBFGSB_PAIR], pwc[CVTM_LBFGSB_PAIR]; /* W'(x(t) - x), P W'(x(t) - x) */
} cvtm_lbfgsb_walk;

/* Workspace for the small matrices, which have rows of `count` entries in order of age. */
typedef struct cvtm_lbfgsb_work {
  double a[CVTM_LBFGSB_SQUARE], c[CVTM_LBFGSB_SQUARE];
  double b[CVTM_LBFGSB_SQUARE + CVTM_LBFGSB_ORDER];
  double u[CVTM_LBFGSB_PAIR];
  double inverse_d[CVTM_LBFGSB_ORDER]; /* 1 / s_i'y_i */
  double curvature;                    /* CPU: f'' of cvtm_lbfgsb_model_curvature */
  int column[CVTM_LBFGSB_ORDER];       /* columns in order of age */
} cvtm_lbfgsb_work;

/* The reductions of a pass over the rows. Entry 0 is a maximum, entries 1 and 2 are minima, the
 * others are sums. In pass A, entry 2 is the row of entry 1, and the entries from CVTM_SUM_COLUMNS
 * on are those of cvtm_lbfgsb_layout. */
enum {
  CVTM_MAX_GRADIENT = 0,   /* A: projected gradient */
  CVTM_MIN_BREAKPOINT = 1, /* A: smallest positive t_i */
  CVTM_MIN_STEP = 1,       /* B: largest step along d within the box */
  CVTM_NEAREST_ROW = 2,    /* A: the row with the smallest positive t_i; -1: several rows */
  CVTM_MIN_TRUNCATION = 2, /* B: largest factor of the unprojected subspace step within the box */
  CVTM_SUM_FREE_GG = 3,    /* A: g'g over the rows with t_i > 0 */
  CVTM_SUM_SLOPE = 3,      /* B and line search: g'd */
  CVTM_SUM_FINITE = 3,     /* start: number of finite bounds */
  CVTM_SUM_YY = 4,         /* A: y'y of the new pair */
  CVTM_SUM_DD = 4,         /* B: d'd */
  CVTM_SUM_BOUNDS = 4,     /* start: number of bounds, finite or not */
  CVTM_SUM_ACTIVE = 5,     /* A: number of variables at a bound */
  CVTM_SUM_TRIAL = 6,      /* A together with the test of the trial point: g'd */
  CVTM_SUM_COLUMNS = 7
};

/* The first entry of each group of products of pass A; m is the history. */
typedef struct cvtm_lbfgsb_layout {
  int y_s, s_s; /* [m]: products of each y_p and each s_p with the new s */
  int wg;       /* [2m]: W'g over free rows */
  int y_y, s_y; /* without bounds, [m]: products of each y_p and each s_p with the new y */
  /* With bounds. yy, ss: triangles (p >= q) of Y'Y over free and of S'S over fixed rows. sy: S'Y
   * [m x m], over free rows if p is not younger than q, else over fixed rows. */
  int yy, ss, sy;
  int entries;
} cvtm_lbfgsb_layout;

CVTM_HD cvtm_lbfgsb_layout cvtm_lbfgsb_get_layout(int m, int bounded) {
  cvtm_lbfgsb_layout layout;
  const int triangle = m * (m + 1) / 2;
  layout.y_s = CVTM_SUM_COLUMNS;
  layout.s_s = layout.y_s + m;
  layout.wg = layout.s_s + m;
  layout.y_y = layout.wg + 2 * m;
  layout.s_y = layout.y_y + m;
  layout.yy = layout.wg + 2 * m;
  layout.ss = layout.yy + triangle;
  layout.sy = layout.ss + triangle;
  layout.entries = bounded ? layout.sy + m * m : layout.s_y + m;
  return layout;
}

/* The index of (p, q) in a packed triangle. */
CVTM_HD int cvtm_lbfgsb_triangle(int p, int q) {
  return p >= q ? p * (p + 1) / 2 + q : q * (q + 1) / 2 + p;
}

/* The age of a column: 0 for the oldest. */
CVTM_HD int cvtm_lbfgsb_age(const cvtm_lbfgsb_state *state, int column) {
  return column - state->oldest + (column < state->oldest ? state->history : 0);
}

/* The column of a given age. */
CVTM_HD int cvtm_lbfgsb_column(const cvtm_lbfgsb_state *state, int age) {
  const int column = state->oldest + age;
  return column < state->history ? column : column - state->history;
}

/* The number of entries of the largest layout: m = CVTM_LBFGSB_SHORT, with bounds. */
enum {
  CVTM_LBFGSB_MAX_ENTRIES = CVTM_SUM_COLUMNS + 4 * CVTM_LBFGSB_SHORT +
                            CVTM_LBFGSB_SHORT * (CVTM_LBFGSB_SHORT + 1) +
                            CVTM_LBFGSB_SHORT * CVTM_LBFGSB_SHORT
};

/* Combines entry `entry` of a pass over two parts of the rows. */
CVTM_HD double cvtm_lbfgsb_combine(int entry, double a, double b) {
  if (entry == 0) return a > b ? a : b;
  if (entry <= 2) return a < b ? a : b;
  return a + b;
}

/* The identity of an entry: its value over no rows. */
CVTM_HD double cvtm_lbfgsb_identity(int entry) { return entry == 1 || entry == 2 ? HUGE_VAL : 0.0; }

/* The smallest positive breakpoint of pass A, and its row; row -1: several rows. */
typedef struct cvtm_lbfgsb_nearest {
  double t, row;
} cvtm_lbfgsb_nearest;

CVTM_HD cvtm_lbfgsb_nearest cvtm_lbfgsb_combine_nearest(cvtm_lbfgsb_nearest a,
                                                        cvtm_lbfgsb_nearest b) {
  if (b.t < a.t) return b;
  if (b.t == a.t && b.t < HUGE_VAL) a.row = -1.0;
  return a;
}

/* Combines the first `entries` entries of a pass. nearest: nonzero in pass A. */
CVTM_HD void cvtm_lbfgsb_combine_entries(double *own, const double *other, int entries,
                                         int nearest) {
  const cvtm_lbfgsb_nearest a = {own[CVTM_MIN_BREAKPOINT], own[CVTM_NEAREST_ROW]},
                            b = {other[CVTM_MIN_BREAKPOINT], other[CVTM_NEAREST_ROW]};
  for (int e = 0; e < entries; ++e) own[e] = cvtm_lbfgsb_combine(e, own[e], other[e]);
  if (!nearest) return;
  const cvtm_lbfgsb_nearest first = cvtm_lbfgsb_combine_nearest(a, b);
  own[CVTM_MIN_BREAKPOINT] = first.t;
  own[CVTM_NEAREST_ROW] = first.row;
}

/* The index in W of row i of column c. W consists of tiles of 32 rows x 2m columns, Y before S. */
CVTM_HD int64_t cvtm_lbfgsb_at(int64_t i, int c, int m) {
  return (i / CVTM_LBFGSB_TILE * 2 * m + c) * CVTM_LBFGSB_TILE + i % CVTM_LBFGSB_TILE;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* The arrays of a solver, for the passes on both devices. */

/* The barrier between the thread blocks that share a problem. An epoch is one use of the barrier;
 * epochs are numbered from 1. Two counters never share a cache line. */
typedef struct cvtm_lbfgsb_barrier {
  unsigned arrived, unused_a[31]; /* number of arrivals since the solver was created */
  unsigned ended, unused_b[31];   /* the last epoch after which block 0 published a decision */
  unsigned epochs, unused_c[31];  /* number of epochs before this kernel */
} cvtm_lbfgsb_barrier;

/* The data of a history with more than CVTM_LBFGSB_SHORT pairs (panels.h). */
typedef struct cvtm_panels cvtm_panels;
/* The data of variables that are divided among ranks (divided.h). */
typedef struct cvtm_divided cvtm_divided;

/* All arrays are in device memory. In a batch each array has the problems consecutively. */
typedef struct cvtm_lbfgsb_arrays {
  int64_t n, problems;
  int64_t block;                       /* number of rows of a block of sums; cvtm_lbfgsb_block */
  double *x, *g;                       /* the current point and its gradient */
  double *trial_x, *trial_g;           /* input and output of the objective */
  double *values;                      /* f[0..1] */
  double *d;                           /* the direction of the line search */
  double *w;                           /* W = [Y S]; see cvtm_lbfgsb_at */
  const double *lower, *upper, *scale; /* NULL: none */
  double *partial;                     /* [parts][entries]: the reductions of the parts of a pass */
  int64_t parts, entries;              /* counts for one problem */
  double *sums;                        /* [entries]: result of pass A at the current point */
  double *reduced;                     /* [entries]: result of the latest other pass */
  double *breakpoints;                 /* exact Cauchy point: t_i of the window ... */
  int64_t *breakpoint_rows;            /* ... and the rows i; NULL otherwise */
  int64_t *breakpoint_count;
  cvtm_lbfgsb_state *state;
  cvtm_lbfgsb_model *model;
  cvtm_lbfgsb_walk *walk; /* exact Cauchy point, else NULL */
  cvtm_lbfgsb_work *work; /* CPU, else NULL */
  cvtm_lbfgsb_mailbox *mailbox;
  cvtm_lbfgsb_requests *requests;
  int *flag; /* the number of problems that need another round; 0 ends the loop */
  cvtm_lbfgsb_barrier *barrier; /* CUDA */
  cvtm_panels *panels;          /* on the host; NULL for short histories */
  cvtm_divided *divided;        /* on the host; NULL if this process has all rows */
} cvtm_lbfgsb_arrays;

/* The number of elements of W for n variables, with the last tile padded. */
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
