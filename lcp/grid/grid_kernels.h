/* Inside lcp/grid only: the phases of a solve that differ between devices. Each enqueues work on
 * the device's stream and returns no number: what it decides goes into the state. */
#ifndef CVTMESH_LCP_GRID_GRID_KERNELS_H
#define CVTMESH_LCP_GRID_GRID_KERNELS_H

#include "lcp/grid/grid_types.h"
#include "lcp/lcp_solver.h"
#include "lcp/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_GRID_MAX_LEVELS = 40 };
/* The most nodes of the first of the small levels that CUDA's tail of a V-cycle holds in shared
 * memory. */
enum { CVTM_GRID_TAIL_NODES = 34 * 34 };
/* The most numbers that one part of a grid adds to a sum over all. */
enum { CVTM_GRID_SUMS = 6 };

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
  double *history; /* device memory: 2-norm and maximum of every iterate; NULL: not wanted */
  const cvtm_grid_level *levels; /* device memory: all levels; 0 is unused */
  int number;                    /* of the problem's level */
  uint8_t *changed; /* device memory: 0: this cycle changes no operator; NULL: not known */
} cvtm_grid_top;

/* How an iteration ends. */
typedef struct cvtm_grid_stop_rule {
  double relative, absolute; /* target of the 2-norm: max(relative * cold_norm, absolute) */
  int64_t limit, window;     /* see cvtm_iteration_state */
} cvtm_grid_stop_rule;

/* `level` is a coarse level, `coarse` the one below it, or below the problem. */
typedef struct cvtm_grid_table {
  /* Doubles that cvtm_grid_top.partial needs for a grid of that size. */
  int64_t (*partial_doubles)(int64_t width, int64_t height);

  /* --- the iteration --- */

  /* x (d if into_d) = clip(warm ? x : 0). */
  cvtm_status (*clip_start)(const cvtm_grid_top *top, int warm, int into_d);
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
  /* True if the levels first .. last are the tail of the V-cycle; the last one alone always is. */
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

  /* --- setup and the nested start --- */

  /* Only masked nodes are active. */
  cvtm_status (*mark_masked)(const cvtm_grid_top *top);
  /* Interpolation weights of `coarse` from the operator of `finer` (NULL: of the problem). */
  cvtm_status (*interpolation_weights)(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                                       const cvtm_grid_level *coarse);
  /* b and bounds, or links, of the problem of `coarse` from that of top. */
  cvtm_status (*coarsen_data)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                              const cvtm_grid_level *level);
  cvtm_status (*coarsen_links)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level);
  /* x = the interpolated solution of the problem of `coarse`, clipped. */
  cvtm_status (*prolong_solution)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                  const cvtm_grid_level *level);
} cvtm_grid_table;

extern const cvtm_grid_table cvtm_grid_table_cpu, cvtm_grid_table_cuda;
/* The node functions of lcp/grid, one kernel after the other: the reference of
 * cvtm_grid_table_cuda. */
extern const cvtm_grid_table cvtm_grid_reference_table_cuda;

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
