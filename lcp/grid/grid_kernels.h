/* Inside lcp/grid only: the problem on a level, the Galerkin operator of a level, the planes that
 * store stencils, and the phases of a solve that differ between devices. C11 and CUDA C++.
 *
 * Every level has a five-point problem: level 0 the given problem, coarser levels the problems that
 * the nested start solves. Levels from 1 on also have a nine-point Galerkin operator, with which a
 * cycle corrects the next finer level. At the top of the V-cycle this finer level is given by its
 * five-point problem, elsewhere by its Galerkin operator. */
#pragma once

#include "base/phases.h"
#include "base/portable.h"
#include "lcp/lcp_solver.h"
#include "lcp/relax.h"
#include "lcp/stop.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* For short loops whose indices must be compile-time constants. */
#if defined(__CUDACC__)
#ifdef __CUDA_ARCH__
#define CVTM_UNROLL _Pragma("unroll")
#else
#define CVTM_UNROLL
#endif
#elif defined(__clang__)
#define CVTM_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__OPTIMIZE__) /* gcc warns of annotations that it ignores */
#define CVTM_UNROLL _Pragma("GCC unroll 8")
#else
#define CVTM_UNROLL
#endif

/* Planes of a coarse operator: the diagonal, and the links (negated off-diagonal entries) to the
 * east, south, south-east and south-west. The operator is symmetric: the other four links of a node
 * are stored at its neighbours. */
enum {
  CVTM_GRID_DIAGONAL,
  CVTM_GRID_EAST,
  CVTM_GRID_SOUTH,
  CVTM_GRID_SOUTH_EAST,
  CVTM_GRID_SOUTH_WEST,
  CVTM_GRID_PLANES
};
/* Planes of stored interpolation weights. Block (X, Y) has the fine nodes (2 X, 2 Y) .. (2 X + 1, 2
 * Y + 1), and only one column or row of nodes in a direction that is not halved. Planes 0-3, at 2
 * ky + kx, have the weights of the node amid four coarse nodes; planes 4-5 those of the node
 * between two coarse nodes in x; planes 6-7 those of the node between two in y. */
enum { CVTM_GRID_WEIGHTS = 8 };

/* The five-point problem of a level. Arrays have width * height elements unless cvtm_lcp_grid says
 * otherwise. */
typedef struct cvtm_grid_problem {
  int64_t width, height;
  const double *diagonal, *horizontal, *vertical; /* as in cvtm_lcp_grid */
  double constant, mass;                          /* as in cvtm_lcp_grid */
  int neumann;
  const uint8_t *mask;
  const double *b, *lower, *upper;
  double *x;
  double *d;       /* the correction before its line search; at other times a workspace */
  uint8_t *active; /* 1: masked, or at a bound and truncated from the coarse bases */
} cvtm_grid_problem;

/* What is known of a coarse stencil before its coefficients are read. */
enum cvtm_grid_stencil_kind {
  CVTM_GRID_VARYING,  /* nothing */
  CVTM_GRID_CONSTANT, /* the stencil of the level's constant operator */
  CVTM_GRID_EMPTY     /* the basis function is truncated entirely; the diagonal is 0 */
};

/* A coarse level. Arrays have width * height elements unless a comment says otherwise. */
typedef struct cvtm_grid_level {
  int64_t width, height;
  int halved_x, halved_y; /* nonzero: half as many nodes along this axis as the finer level */
  int neumann;         /* nonzero: closed-form weights extend e as a constant beyond the boundary */
  double *coefficient; /* CVTM_GRID_PLANES planes */
  /* e: the correction of the finer level, which solves A e = r. lower, upper: the bounds of this
   * level's problem in the nested start. */
  double *e, *r, *lower, *upper;
  double *scratch; /* CUDA: e after the down phase; CPU: lines of residuals */
  /* 1: active nodes changed in the support. Only for the level next to a five-point problem. */
  uint8_t *support_changed;
  uint8_t *stencil_changed; /* 1: the stencil may have changed in this cycle */
  uint8_t *kind;            /* cvtm_grid_stencil_kind of each stencil */
  float *weight;            /* CVTM_GRID_WEIGHTS planes of blocks_x * blocks_y; NULL: closed form */
  int64_t blocks_x, blocks_y;
} cvtm_grid_level;

/* The level above a coarse level: a five-point problem or another coarse level. */
typedef struct cvtm_grid_finer {
  const cvtm_grid_problem *problem; /* NULL: the finer level is `level` */
  const cvtm_grid_level *level;
} cvtm_grid_finer;

/* --- bounds and active nodes of a five-point problem --- */

CVTM_HD double cvtm_grid_lower(const cvtm_grid_problem *p, int64_t k) {
  return p->lower ? p->lower[k] : -(double)INFINITY;
}

CVTM_HD double cvtm_grid_upper(const cvtm_grid_problem *p, int64_t k) {
  return p->upper ? p->upper[k] : (double)INFINITY;
}

CVTM_HD int cvtm_grid_masked(const cvtm_grid_problem *p, int64_t k) {
  return p->mask && !p->mask[k];
}

/* `value` projected onto the bounds of node k; 0 if the node is masked. */
CVTM_HD double cvtm_grid_clipped(const cvtm_grid_problem *p, int64_t k, double value) {
  if (cvtm_grid_masked(p, k)) return 0.0;
  return cvtm_lcp_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
}

/* True if node k is excluded from the coarse bases: masked, or at a bound. */
CVTM_HD int cvtm_grid_is_active(const cvtm_grid_problem *p, int64_t k) {
  if (cvtm_grid_masked(p, k)) return 1;
  return p->x[k] <= cvtm_grid_lower(p, k) || p->x[k] >= cvtm_grid_upper(p, k);
}

CVTM_HD int64_t cvtm_grid_finer_width(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->width : f->level->width;
}

CVTM_HD int64_t cvtm_grid_finer_height(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->height : f->level->height;
}

/* Flags of the nodes that are truncated from the coarse bases; NULL without such nodes. */
CVTM_HD const uint8_t *cvtm_grid_finer_flags(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->active : NULL;
}

CVTM_HD int cvtm_grid_finer_active(const cvtm_grid_finer *f, int64_t i, int64_t j) {
  return f->problem && f->problem->active[j * f->problem->width + i];
}

CVTM_C_BEGIN

/* --- the state, and the phases: each phase (a member of the table that returns a cvtm_status)
 * enqueues work on the device's stream; its decisions are stored in the state --- */

enum { CVTM_GRID_MAX_LEVELS = 40 };
/* The largest number of nodes of the first level in the tail of a V-cycle, the small levels that
 * CUDA keeps in shared memory. */
enum { CVTM_GRID_TAIL_NODES = 34 * 34 };
/* The largest number of sums that one pass over a grid forms. */
enum { CVTM_GRID_SUMS = 3 };

/* The state of an iteration, in device memory. */
typedef struct cvtm_grid_state {
  cvtm_iteration_state loop;
  double cold_norm;        /* 2-norm of the natural residual at clip(0) */
  double slope, curvature; /* r'd and d'Ad of the correction d */
  int32_t line_search_due; /* 0: the next correction may use the last step length again */
  double energy;
  int64_t active_lower, active_upper;
  uint32_t blocks_arrived; /* CUDA: number of thread blocks that have stored their partial sums */
} cvtm_grid_state;

/* The level at the top of a V-cycle, whose five-point problem the cycle corrects. */
typedef struct cvtm_grid_top {
  cvtm_device *device;
  double omega;                   /* relaxation of the sweeps on x */
  cvtm_grid_problem *problem;     /* device memory */
  const cvtm_grid_problem *shape; /* host copy: sizes, constants, which arrays exist */
  cvtm_grid_state *state;         /* device memory */
  double *partial;                /* device memory: table->partial_doubles doubles */
  double *history;  /* device memory: 2-norm and maximum of each natural residual; NULL: none */
  int number;       /* index of the level */
  uint8_t *changed; /* device memory; 0 there: no operator changes in this cycle; NULL: unknown */
} cvtm_grid_top;

/* When an iteration stops. */
typedef struct cvtm_grid_stop_rule {
  double relative, absolute; /* target of the 2-norm: max(relative * cold_norm, absolute) */
  int64_t limit, window;     /* see cvtm_iteration_state */
} cvtm_grid_stop_rule;

/* X(name, parameters, width, height, function, arguments): the phases that call function(arguments,
 * i, j), a function of grid_node.h, for every node of a width x height grid. The other macros of
 * base/phases.h apply to this list, too. */
#define CVTM_GRID_NODE_PHASES(X)                                                                   \
  /* Sets x (d if into_d) to clip(warm ? x : 0). */                                                \
  X(clip_start, (const cvtm_grid_top *top, int warm, int into_d), top->shape->width,               \
    top->shape->height, cvtm_grid_clip_start, top->problem, warm, into_d)                          \
  /* Setup: makes only the masked nodes active. */                                                 \
  X(mark_masked, (const cvtm_grid_top *top), top->shape->width, top->shape->height,                \
    cvtm_grid_mark_active, top->problem, 1)                                                        \
  /* Setup: computes the interpolation weights of `coarse` from the operator of `finer`, or of the \
   * problem if `finer` is NULL. */                                                                \
  X(interpolation_weights,                                                                         \
    (const cvtm_grid_top *top, const cvtm_grid_level *finer, const cvtm_grid_level *coarse),       \
    coarse->blocks_x, coarse->blocks_y, cvtm_grid_compute_weights, top->problem,                   \
    finer ? finer : coarse, !finer, coarse)                                                        \
  /* Nested start, from the problem: coarsen_data computes b and bounds of the coarse problem,     \
   * coarsen_links its links, diagonal and mask. */                                                \
  X(coarsen_data,                                                                                  \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),         \
    level->width, level->height, cvtm_grid_coarsen_data, top->problem, coarse->problem, level)     \
  X(coarsen_links,                                                                                 \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),         \
    level->width + 1, level->height + 1, cvtm_grid_coarsen_links, top->problem, coarse->problem,   \
    level)                                                                                         \
  /* Nested start: sets x to the interpolated solution of the coarse problem, clipped. */          \
  X(prolong_solution,                                                                              \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),         \
    top->shape->width, top->shape->height, cvtm_grid_prolong_solution, top->problem,               \
    coarse->problem, level)

/* level: a coarse level. coarse: the next coarser level than `level`, or than the problem. */
typedef struct cvtm_grid_table {
  /* The number of doubles of cvtm_grid_top.partial for a grid of this size. */
  int64_t (*partial_doubles)(int64_t width, int64_t height);

  /* --- the iteration --- */

  /* Sets state->cold_norm to the 2-norm of the natural residual at d. */
  cvtm_status (*measure_cold_start)(const cvtm_grid_top *top);
  cvtm_status (*begin_iteration)(const cvtm_grid_top *top, const cvtm_grid_stop_rule *rule);
  /* Sets a new limit after the last limit of iterations has been reached. */
  cvtm_status (*raise_limit)(const cvtm_grid_top *top, int64_t limit);
  /* Computes the norms at x and applies the stop rule. counted: nonzero if x is the result of an
   * iteration. */
  cvtm_status (*measure)(const cvtm_grid_top *top, int counted);
  /* Runs `sweeps` sweeps of projected SOR. */
  cvtm_status (*smooth)(const cvtm_grid_top *top, int sweeps);
  /* Computes the energy and the counts of active nodes at x. */
  cvtm_status (*measure_energy)(const cvtm_grid_top *top);

  /* --- the V-cycle, in order --- */

  /* Makes a sweep on x, then marks the active nodes, then restricts the residual to `coarse`. */
  cvtm_status (*pre_smooth_and_restrict)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* Computes P'AP on levels first .. last, where it may have changed (all: everywhere). */
  cvtm_status (*galerkin)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                          int last, int all);
  /* Makes a sweep on e from e = 0, then restricts the residual to `coarse`. */
  cvtm_status (*coarse_pre_smooth_and_restrict)(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse);
  /* True if tail_cycle handles the levels first .. last, the tail of the V-cycle. NULL: the tail is
   * the last level alone. */
  int (*is_tail)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first, int last);
  /* Runs the V-cycle of levels first .. last. On the last level it only runs sweeps. */
  cvtm_status (*tail_cycle)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                            int last);
  /* Adds the interpolated e of `coarse` to e, then makes a sweep on e. */
  cvtm_status (*coarse_prolong_and_post_smooth)(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse);
  /* Stores in d the move of x by the interpolated e, and slope and curvature in the state. A device
   * may leave d to post_smooth_and_measure. */
  cvtm_status (*prolong_and_correct)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* Moves x along d, makes sweeps on x, then does the same as measure(counted). */
  cvtm_status (*post_smooth_and_measure)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  CVTM_GRID_NODE_PHASES(CVTM_PHASE_FIELD)
} cvtm_grid_table;

extern const cvtm_grid_table cvtm_grid_table_cpu, cvtm_grid_table_cuda;

/* The step length along d: the minimum of the energy on the line, at most 2. A node that leaves its
 * bounds is projected later. */
CVTM_HD double cvtm_grid_line_search_step(const cvtm_grid_state *state) {
  if (!(state->slope > 0)) return 0.0;
  return state->slope < 2 * state->curvature ? state->slope / state->curvature : 2.0;
}

/* True if the cycle reduced the norm to less than a tenth, with a step length of about 1. Then the
 * next cycle may use this step length again. */
CVTM_HD int cvtm_grid_is_fast(double norm, double before, const cvtm_grid_state *state) {
  const double step = cvtm_grid_line_search_step(state);
  return norm < 0.1 * before && step > 0.8 && step < 1.25;
}

/* Records the norms of an iterate and decides whether to continue. squares, maximum: the squared
 * 2-norm and the maximum norm of the natural residual; rounding: the sum of the squared sizes of
 * the terms of the residual. */
CVTM_HD void cvtm_grid_check(cvtm_grid_state *state, double *history, double squares,
                             double maximum, double rounding, int counted) {
  cvtm_iteration_state *loop = &state->loop;
  if (counted) loop->iteration++;
  state->line_search_due = !(counted && cvtm_grid_is_fast(sqrt(squares), loop->norm, state));
  cvtm_iteration_check(loop, sqrt(squares), maximum, cvtm_natural_rounding(rounding));
  if (history) {
    history[2 * loop->iteration] = loop->norm;
    history[2 * loop->iteration + 1] = maximum;
  }
}

CVTM_HD void cvtm_grid_begin(cvtm_grid_state *state, const cvtm_grid_stop_rule *rule) {
  const double relative = rule->relative * state->cold_norm;
  state->loop.target = relative > rule->absolute ? relative : rule->absolute;
  state->loop.limit = rule->limit;
  state->loop.window = rule->window;
  state->loop.iteration = 0;
  state->loop.go_on = 1;
  state->line_search_due = 1;
}

CVTM_C_END
