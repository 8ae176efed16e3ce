/* Inside lcp/grid only: the problem on a level, the coarse operator of a level, the planes that a
 * stencil is stored in, and the phases of a solve that differ between devices. C11 and CUDA C++.
 *
 * Level 0 is the given grid. Every level holds a five-point problem; the nested start solves those
 * of the coarser levels. Levels from 1 on also hold a nine-point Galerkin operator, by which a
 * cycle corrects the level above: its five-point problem at the top of the V, else its Galerkin
 * operator. */
#ifndef CVTMESH_LCP_GRID_GRID_KERNELS_H
#define CVTMESH_LCP_GRID_GRID_KERNELS_H

#include "base/portable.h"
#include "lcp/lcp_solver.h"
#include "lcp/relax.h"
#include "lcp/stop.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* For loops of few rounds whose indices must be constants when they are compiled. */
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
/* Planes of stored interpolation weights. A block holds the fine nodes (2 X, 2 Y) .. (2 X + 1,
 * 2 Y + 1). Planes 0-3: weights of the node amid four coarse nodes, at 2 ky + kx; planes 4-5: of
 * the node between two coarse nodes in x; planes 6-7: between two in y. */
enum { CVTM_GRID_WEIGHTS = 8 };

/* The five-point problem of a level. Arrays hold width * height numbers unless cvtm_lcp_grid says
 * otherwise. */
typedef struct cvtm_grid_problem {
  int64_t width, height;
  const double *diagonal, *horizontal, *vertical; /* as in cvtm_lcp_grid */
  double constant, mass;                          /* as in cvtm_lcp_grid */
  int neumann;
  const uint8_t *mask;
  const double *b, *lower, *upper;
  double *x;
  double *d;       /* the correction before its line search */
  uint8_t *active; /* 1: masked, or at a bound and truncated from the coarse bases */
} cvtm_grid_problem;

/* What is known of a coarse stencil without reading its coefficients. */
enum cvtm_grid_stencil_kind {
  CVTM_GRID_VARYING,  /* nothing */
  CVTM_GRID_CONSTANT, /* it is the stencil of the level's constant operator */
  CVTM_GRID_EMPTY     /* its basis function is truncated altogether: the diagonal is 0 */
};

/* A coarse level. Arrays hold width * height elements unless said otherwise. */
typedef struct cvtm_grid_level {
  int64_t width, height;
  int halved_x, halved_y; /* against the finer level */
  int neumann;            /* closed-form weights are constant beyond the boundary */
  double *coefficient;    /* CVTM_GRID_PLANES planes */
  double *e, *r, *lower, *upper;
  double *scratch; /* CUDA: e between the down and the up phase; CPU: lines of residuals */
  /* 1: active nodes changed in the support; used right below a five-point problem only. */
  uint8_t *support_changed;
  uint8_t *stencil_changed; /* 1: the stencil may have changed in this cycle */
  uint8_t *kind;            /* cvtm_grid_stencil_kind of each stencil */
  float *weight;            /* CVTM_GRID_WEIGHTS planes of blocks_x * blocks_y; NULL: closed form */
  int64_t blocks_x, blocks_y;
} cvtm_grid_level;

/* The level above a coarse one: a five-point problem, or a coarse level. */
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

/* The value moved into the bounds of node k; 0 where that is masked. */
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

/* Flags of the nodes truncated from the coarse bases; NULL: no node is. */
CVTM_HD const uint8_t *cvtm_grid_finer_flags(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->active : NULL;
}

CVTM_HD int cvtm_grid_finer_active(const cvtm_grid_finer *f, int64_t i, int64_t j) {
  return f->problem && f->problem->active[j * f->problem->width + i];
}

#ifdef __cplusplus
extern "C" {
#endif

/* --- the state, and the phases: each enqueues work on the device's stream and returns no number;
 * what it decides goes into the state --- */

enum { CVTM_GRID_MAX_LEVELS = 40 };
/* The most nodes of the first of the small levels that CUDA's tail of a V-cycle holds in shared
 * memory. */
enum { CVTM_GRID_TAIL_NODES = 34 * 34 };
/* The most numbers that one part of a grid adds to a sum over all. */
enum { CVTM_GRID_SUMS = 3 };

/* In device memory. */
typedef struct cvtm_grid_state {
  cvtm_iteration_state loop;
  double cold_norm;        /* 2-norm of the natural residual at clip(0) */
  double slope, curvature; /* r'd and d'Ad of the correction d */
  int32_t line_search_due; /* 0: the next correction may reuse the last step length */
  double energy;
  int64_t active_lower, active_upper;
  uint32_t blocks_arrived; /* CUDA: blocks that have stored their partial sums */
} cvtm_grid_state;

/* The level whose five-point problem a V-cycle corrects: the top of the V. */
typedef struct cvtm_grid_top {
  cvtm_device *device;
  double omega;                   /* relaxation of the sweeps on x */
  cvtm_grid_problem *problem;     /* device memory */
  const cvtm_grid_problem *shape; /* its host copy: sizes, constants, which arrays there are */
  cvtm_grid_state *state;         /* device memory */
  double *partial;                /* device memory: table->partial_doubles numbers */
  double *history;  /* device memory: 2-norm and maximum of every iterate; NULL: not wanted */
  int number;       /* of the problem's level */
  uint8_t *changed; /* device memory: 0: this cycle changes no operator; NULL: not known */
} cvtm_grid_top;

/* How an iteration ends. */
typedef struct cvtm_grid_stop_rule {
  double relative, absolute; /* target of the 2-norm: max(relative * cold_norm, absolute) */
  int64_t limit, window;     /* see cvtm_iteration_state */
} cvtm_grid_stop_rule;

/* X(name, parameters, width, height, function, arguments): the phases that call a function of
 * grid_node.h, function(arguments, i, j), for every node of a grid of width x height. Both tables
 * and their phases are made of this list. */
#define CVTM_GRID_NODE_PHASES(X)                                                                 \
  /* x (d if into_d) = clip(warm ? x : 0). */                                                    \
  X(clip_start, (const cvtm_grid_top *top, int warm, int into_d), top->shape->width,             \
    top->shape->height, cvtm_grid_clip_start, top->problem, warm, into_d)                        \
  /* Setup: only masked nodes are active. */                                                     \
  X(mark_masked, (const cvtm_grid_top *top), top->shape->width, top->shape->height,              \
    cvtm_grid_mark_active, top->problem, 1)                                                      \
  /* Setup: interpolation weights of `coarse` from the operator of `finer` (NULL: of the         \
   * problem). */                                                                                \
  X(interpolation_weights,                                                                       \
    (const cvtm_grid_top *top, const cvtm_grid_level *finer, const cvtm_grid_level *coarse),     \
    coarse->blocks_x, coarse->blocks_y, cvtm_grid_compute_weights, top->problem,                 \
    finer ? finer : coarse, !finer, coarse)                                                      \
  /* The nested start: b and bounds, or links, of the problem of `coarse` from that of top. */   \
  X(coarsen_data,                                                                                \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),       \
    level->width, level->height, cvtm_grid_coarsen_data, top->problem, coarse->problem, level)   \
  X(coarsen_links,                                                                               \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),       \
    level->width + 1, level->height + 1, cvtm_grid_coarsen_links, top->problem, coarse->problem, \
    level)                                                                                       \
  /* The nested start: x = the interpolated solution of the problem of `coarse`, clipped. */     \
  X(prolong_solution,                                                                            \
    (const cvtm_grid_top *top, const cvtm_grid_top *coarse, const cvtm_grid_level *level),       \
    top->shape->width, top->shape->height, cvtm_grid_prolong_solution, top->problem,             \
    coarse->problem, level)

/* `level` is a coarse level, `coarse` the one below it, or below the problem. */
typedef struct cvtm_grid_table {
  /* Doubles that cvtm_grid_top.partial needs for a grid of that size. */
  int64_t (*partial_doubles)(int64_t width, int64_t height);

  /* --- the iteration --- */

  /* state->cold_norm = 2-norm of the natural residual at d. */
  cvtm_status (*measure_cold_start)(const cvtm_grid_top *top);
  cvtm_status (*begin_iteration)(const cvtm_grid_top *top, const cvtm_grid_stop_rule *rule);
  /* Sets a new limit of iterations after the last limit was reached. */
  cvtm_status (*raise_limit)(const cvtm_grid_top *top, int64_t limit);
  /* Norms at x, and the stop rule. counted: x ends an iteration. */
  cvtm_status (*measure)(const cvtm_grid_top *top, int counted);
  /* Sweeps of projected SOR. */
  cvtm_status (*smooth)(const cvtm_grid_top *top, int sweeps);
  /* Energy and numbers of active nodes at x. */
  cvtm_status (*measure_energy)(const cvtm_grid_top *top);

  /* --- the V-cycle, in order --- */

  /* A sweep on x, active nodes, residual for `coarse`. */
  cvtm_status (*pre_smooth_and_restrict)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* P'AP on levels first .. last, where it may have changed (all: everywhere). */
  cvtm_status (*galerkin)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                          int last, int all);
  /* e = 0, a sweep on e, residual for `coarse`. */
  cvtm_status (*coarse_pre_smooth_and_restrict)(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse);
  /* True if the levels first .. last are the tail of the V-cycle, which tail_cycle takes. NULL: the
   * last level alone is the tail. */
  int (*is_tail)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first, int last);
  /* The V-cycle of levels first .. last; the last one by sweeps. */
  cvtm_status (*tail_cycle)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                            int last);
  /* e += interpolated e of `coarse`, a sweep on e. */
  cvtm_status (*coarse_prolong_and_post_smooth)(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse);
  /* Leaves the move of x by the interpolated e in d, with slope and curvature in the state. A
   * device may put the move off to post_smooth_and_measure. */
  cvtm_status (*prolong_and_correct)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* The step along d, a sweep on x, then as measure(counted). */
  cvtm_status (*post_smooth_and_measure)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none. */
#define CVTM_GRID_NODE_PHASE(name, parameters, ...) cvtm_status(*name) parameters;
  CVTM_GRID_NODE_PHASES(CVTM_GRID_NODE_PHASE)
#undef CVTM_GRID_NODE_PHASE
  /* NOLINTEND(bugprone-macro-parentheses) */
} cvtm_grid_table;

extern const cvtm_grid_table cvtm_grid_table_cpu, cvtm_grid_table_cuda;

/* Step length along d: the energy's minimum on the line, at most 2. A node that the step takes out
 * of its bounds is moved back. */
CVTM_HD double cvtm_grid_line_search_step(const cvtm_grid_state *state) {
  if (!(state->slope > 0)) return 0.0;
  return state->slope < 2 * state->curvature ? state->slope / state->curvature : 2.0;
}

/* True if the cycle left less than a tenth of the norm before it, with a step length of about 1.
 * Then the next cycle may use the same step length. */
CVTM_HD int cvtm_grid_is_fast(double norm, double before, const cvtm_grid_state *state) {
  const double step = cvtm_grid_line_search_step(state);
  return norm < 0.1 * before && step > 0.8 && step < 1.25;
}

/* Enters the norms of an iterate and decides whether to continue. squares: of the 2-norm of the
 * natural residual; maximum: its maximum norm; rounding: sum of squares of the terms' sizes. */
CVTM_HD void cvtm_grid_judge(cvtm_grid_state *state, double *history, double squares,
                             double maximum, double rounding, int counted) {
  cvtm_iteration_state *loop = &state->loop;
  if (counted) loop->iteration++;
  state->line_search_due = !(counted && cvtm_grid_is_fast(sqrt(squares), loop->norm, state));
  cvtm_iteration_judge(loop, sqrt(squares), maximum, 0x1p-53 * sqrt(rounding));
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

#ifdef __cplusplus
}
#endif
#endif
