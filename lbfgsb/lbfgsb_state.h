/* Inside lbfgsb only: everything a run decides upon. It lives in device memory;
 * the functions of lbfgsb_decide.h change it, on the CPU or in a controller kernel,
 * and the host looks at a copy now and then. */
#ifndef CVTMESH_LBFGSB_STATE_H
#define CVTMESH_LBFGSB_STATE_H

#include "lbfgsb/lbfgsb.h"
#include "lbfgsb/lbfgsb_search.h"

enum {
  CVTM_LBFGSB_RING = 1024, /* records that wait for the host; then the device does */
  CVTM_LBFGSB_WINDOW = 10, /* iterations over which the decrease of f is averaged */
  CVTM_LBFGSB_TILE = 32    /* rows of a tile of the history matrix */
};

/* What the evaluation that comes next is for. */
typedef enum cvtm_lbfgsb_phase {
  CVTM_PHASE_START,  /* the first point */
  CVTM_PHASE_SEARCH, /* a trial of the line search */
  CVTM_PHASE_AGAIN,  /* the current point once more, then steepest descent */
  CVTM_PHASE_RESUME  /* none: the run goes on behind the stop of an iteration */
} cvtm_lbfgsb_phase;

typedef struct cvtm_lbfgsb_state {
  /* Given. */
  int64_t max_iterations, max_evaluations;
  double gradient_tolerance, decrease_tolerance;
  cvtm_search_options search_options;
  int history; /* m */
  int bounded; /* some bound is finite */
  int boxed;   /* all bounds are finite */
  int exact;   /* the exact Cauchy point */
  int single;  /* the history is kept in single precision */
  int monitored;

  /* Where the run stands. */
  int running;
  int stop; /* cvtm_stop */
  int phase;
  int64_t iteration, evaluations, restarts;
  int64_t start_projected; /* values of the start that were moved into the box */
  double f, measure;
  double trial_f, trial_measure;
  double projected_gradient, least_gradient;
  int64_t least_gradient_iteration;
  int64_t active;
  double decrease[CVTM_LBFGSB_WINDOW]; /* relative, of iteration k at k modulo the window */

  /* What is due in this round; a phase that is not due does nothing. */
  int due_update;      /* pass A: take the trial point over */
  int due_commit;      /* CUDA: pass A has seen the trial point and left it to the next pass to
                          write x, g and the new pair */
  int store_pair;      /* pass A also writes s and y */
  int due_direction;   /* a new Cauchy point is wanted without pass A */
  int due_breakpoints; /* a window of breakpoints is wanted for the exact Cauchy point */
  int due_restrict;    /* rows with 0 < t_i <= t^c leave the free set */
  int due_step;        /* pass B */
  int due_fallback;    /* pass B again, truncated */
  int due_trial;       /* the trial point is not the full step that pass B wrote */

  /* The history: physical columns 0 .. count - 1, the oldest in column `oldest`. */
  int count, oldest, newest;
  double theta;
  double free_gg;          /* g'g over the rows with t_i > 0 */
  double first_breakpoint; /* the smallest positive t_i */
  int64_t first_row;       /* whose it is; negative: of several rows */
  double cauchy;           /* t^c */
  double gradient_factor;  /* d_i = xc_i + gradient_factor g_i + (W q)_i - x_i */
  double truncation;       /* factor of the subspace step in the fallback */

  /* The walk to the exact Cauchy point has come to walk_t; the breakpoints in
   * (window_start, window_end] are listed. dd: d'd behind walk_t, second: f'' at the start. */
  double walk_t, walk_dd, walk_second, window_start, window_end;

  /* The line search. */
  cvtm_search search;
  double step, slope; /* the trial step, g'd at the current point */
  double step_cap;    /* the smallest step known to give no finite value */
  int search_evaluations;
  int search_forced; /* the limit is reached: take the best point of the search */
  int search_not_finite;
  int eager; /* the last search took its first trial, and so may the next: on CUDA pass A runs
                together with its test */

  int64_t recorded; /* records written, the oldest ones taken by the host */
} cvtm_lbfgsb_state;

/* Records 0 .. recorded - 1, each at its index modulo the ring; written by the device. */
typedef struct cvtm_lbfgsb_mailbox {
  int64_t recorded;
  cvtm_lbfgsb_progress ring[CVTM_LBFGSB_RING];
} cvtm_lbfgsb_mailbox;

/* What the host tells the device while it runs. */
typedef struct cvtm_lbfgsb_orders {
  int64_t taken; /* records that the host has read */
  int stop;      /* a cvtm_stop that is asked for */
} cvtm_lbfgsb_orders;

enum {
  CVTM_LBFGSB_SQUARE = CVTM_LBFGSB_MAX_HISTORY * CVTM_LBFGSB_MAX_HISTORY,
  CVTM_LBFGSB_PAIR = 2 * CVTM_LBFGSB_MAX_HISTORY
};

/* Small dense matrices; [p][q] of physical columns is at p * CVTM_LBFGSB_MAX_HISTORY + q. */
typedef struct cvtm_lbfgsb_dense {
  /* Kept over iterations: s_p's_q, s_p'y_q, y_p'y_q over all rows (the last one, and
   * s_p'y_q of p older than q, only without bounds). */
  double ss[CVTM_LBFGSB_SQUARE], sy[CVTM_LBFGSB_SQUARE], yy[CVTM_LBFGSB_SQUARE];
  double wg[CVTM_LBFGSB_PAIR]; /* W'g over the rows with t_i > 0, Y before S */
  double q[CVTM_LBFGSB_PAIR];  /* coefficients of pass B */
  double wc[CVTM_LBFGSB_PAIR]; /* W'(x^c - x) */
} cvtm_lbfgsb_dense;

/* Of the walk to the exact Cauchy point, in order of age: P with row length 2 * count, W'd, P W'd,
 * W'(x(t) - x), P times that. */
typedef struct cvtm_lbfgsb_walk {
  double p[CVTM_LBFGSB_PAIR * CVTM_LBFGSB_PAIR];
  double wd[CVTM_LBFGSB_PAIR], pwd[CVTM_LBFGSB_PAIR];
  double wc[CVTM_LBFGSB_PAIR], pwc[CVTM_LBFGSB_PAIR];
} cvtm_lbfgsb_walk;

/* Work space of one decision, in order of age, packed with row length `count`. */
typedef struct cvtm_lbfgsb_work {
  double a[CVTM_LBFGSB_SQUARE], c[CVTM_LBFGSB_SQUARE];
  double b[CVTM_LBFGSB_SQUARE + CVTM_LBFGSB_MAX_HISTORY];
  double u[CVTM_LBFGSB_PAIR];
  double inverse_d[CVTM_LBFGSB_MAX_HISTORY]; /* 1 / s_i'y_i */
  int column[CVTM_LBFGSB_MAX_HISTORY];       /* by age */
  int good;
} cvtm_lbfgsb_work;

/* A pass reduces a list of figures: entry 0 is a maximum, 1 and 2 are minima, the
 * rest are sums. Pass A's sums follow CVTM_SUM_COLUMNS in the order of cvtm_lbfgsb_layout. */
enum {
  CVTM_MAX_GRADIENT = 0,   /* A: projected gradient */
  CVTM_MIN_BREAKPOINT = 1, /* A: smallest positive t_i */
  CVTM_MIN_STEP = 1,       /* B: largest step along d */
  CVTM_FIRST_ROW = 2,      /* A: whose t_i it is; -1: several rows' */
  CVTM_MIN_TRUNCATION = 2, /* B: largest step along the unprojected subspace step */
  CVTM_SUM_FREE_GG = 3,    /* A */
  CVTM_SUM_SLOPE = 3,      /* B and search: g'd */
  CVTM_SUM_YY = 4,         /* A: y'y of the new pair */
  CVTM_SUM_DD = 4,         /* B: d'd */
  CVTM_SUM_ACTIVE = 5,     /* A: variables at a bound */
  CVTM_SUM_TRIAL = 6,      /* A together with the search: g'd */
  CVTM_SUM_COLUMNS = 7
};

/* Where pass A's column sums start. */
typedef struct cvtm_lbfgsb_layout {
  int y_s, s_s;   /* [m]: y_p's and s_p's of the new s */
  int wg;         /* [2m]: W'g over free rows */
  int y_y, s_y;   /* without bounds, [m]: y_p'y and s_p'y of the new y */
  int yy, ss, sy; /* with bounds: triangles (p >= q) of Y'Y over free and S'S over fixed rows, and
                     S'Y [m x m], over free rows where p is not younger than q, else over fixed */
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

/* 0 for the oldest column. */
CVTM_HD int cvtm_lbfgsb_age(const cvtm_lbfgsb_state *state, int column) {
  return column - state->oldest + (column < state->oldest ? state->history : 0);
}

CVTM_HD int cvtm_lbfgsb_column(const cvtm_lbfgsb_state *state, int age) {
  const int column = state->oldest + age;
  return column < state->history ? column : column - state->history;
}

/* Of m = CVTM_LBFGSB_MAX_HISTORY with bounds. */
enum {
  CVTM_LBFGSB_MAX_ENTRIES = CVTM_SUM_COLUMNS + 2 * CVTM_LBFGSB_PAIR +
                            CVTM_LBFGSB_MAX_HISTORY * (CVTM_LBFGSB_MAX_HISTORY + 1) +
                            CVTM_LBFGSB_SQUARE
};

/* How a figure of a pass is combined, and what none of it is. */
CVTM_HD double cvtm_lbfgsb_combine(int entry, double a, double b) {
  if (entry == 0) return a > b ? a : b;
  if (entry <= 2) return a < b ? a : b;
  return a + b;
}

/* Pass A's smallest positive t_i and the row that has it, of which one says nothing without the
 * other. */
typedef struct cvtm_lbfgsb_first {
  double t, row;
} cvtm_lbfgsb_first;

CVTM_HD cvtm_lbfgsb_first cvtm_lbfgsb_combine_first(cvtm_lbfgsb_first a, cvtm_lbfgsb_first b) {
  if (b.t < a.t) return b;
  if (b.t == a.t && b.t < HUGE_VAL) a.row = -1.0;
  return a;
}

CVTM_HD double cvtm_lbfgsb_neutral(int entry) { return entry == 1 || entry == 2 ? HUGE_VAL : 0.0; }

/* Where row i of column c lies: tiles of 32 rows x 2m columns, Y before S. */
CVTM_HD int64_t cvtm_lbfgsb_at(int64_t i, int c, int m) {
  return (i / CVTM_LBFGSB_TILE * 2 * m + c) * CVTM_LBFGSB_TILE + i % CVTM_LBFGSB_TILE;
}

#endif
