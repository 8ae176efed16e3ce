/* Inside lcp only: the phases of a solve on a grid that differ between devices. Each enqueues
 * its work on the device's stream and returns no number; what it decides goes into the state. */
#ifndef CVTMESH_LCP_GRID_GRID_KERNELS_H
#define CVTMESH_LCP_GRID_GRID_KERNELS_H

#include "lcp/grid/grid_rows.h"
#include "lcp/lcp_solver.h"
#include "lcp/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_GRID_MAX_LEVELS = 40 };
/* Figures that a part of a grid leaves for a reduction, at most. */
enum { CVTM_GRID_SUMS = 6 };

/* In device memory. */
typedef struct cvtm_grid_state {
  cvtm_iteration_state loop;
  double cold;        /* natural residual of clip(0) */
  double slope, bend; /* r'd and d'Ad of the correction */
  int32_t search;     /* 0: the next correction may do without a line search */
  double energy;
  int64_t active_lower, active_upper;
  uint32_t arrived; /* blocks that have left their partial sums */
} cvtm_grid_state;

/* What the cycles of one method do. */
typedef struct cvtm_grid_rules {
  int truncated; /* active nodes leave the coarse bases */
  int bounded;   /* coarse corrections have bounds */
  int averaged;  /* and these are averages: Algorithm 1 as published */
  int searched;  /* corrections are scaled by a line search */
  int pre, post; /* smoothing sweeps */
  double omega;
} cvtm_grid_rules;

/* One level's five-point problem and the coarse level below it. */
typedef struct cvtm_grid_top {
  cvtm_device *device;
  cvtm_grid_rules rules;
  cvtm_grid_problem *problem;     /* device memory */
  const cvtm_grid_problem *shape; /* the same in host memory: sizes, which arrays exist */
  cvtm_grid_state *state;         /* device memory */
  double *partial;                /* device memory: CVTM_GRID_SUMS * parts */
  double *history; /* device memory: norm and maximum per iteration; NULL: not wanted */
  const cvtm_grid_level *levels; /* all of them, in device memory */
  int number;                    /* the problem's level */
  uint8_t *changed; /* device memory: 0: no operator changes in this cycle; NULL: unknown */
} cvtm_grid_top;

/* How an iteration ends. */
typedef struct cvtm_grid_course {
  double relative, absolute; /* target: the larger of relative * cold and absolute */
  int64_t limit, window;
} cvtm_grid_course;

typedef struct cvtm_grid_table {
  /* Doubles that `partial` must hold for a grid of that size. */
  int64_t (*partials)(int64_t width, int64_t height);
  /* x (or d) = clip(warm ? x : 0). */
  cvtm_status (*start)(const cvtm_grid_top *top, int warm, int into_d);
  /* state.cold = the norm at d. */
  cvtm_status (*measure_cold)(const cvtm_grid_top *top);
  /* The course of a new iteration; a new limit for one that has reached its own. */
  cvtm_status (*begin)(const cvtm_grid_top *top, const cvtm_grid_course *course);
  cvtm_status (*resume)(const cvtm_grid_top *top, int64_t limit);
  /* Norms at x and the verdict; the iteration is counted if `counted`. */
  cvtm_status (*measure)(const cvtm_grid_top *top, int counted);
  /* Sweeps of projected SOR. */
  cvtm_status (*smooth)(const cvtm_grid_top *top, int sweeps);
  /* Only masked nodes are active. */
  cvtm_status (*free_active)(const cvtm_grid_top *top);
  /* Pre-smoothing, active nodes, residual and bounds for the level below. */
  cvtm_status (*descend)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* The operators of levels first .. last, where they may have changed (all: everywhere). */
  cvtm_status (*operators)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                           int last, int all);
  cvtm_status (*weights)(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                         const cvtm_grid_level *coarse);
  /* e = 0, pre-smoothing, residual and bounds for the next level. */
  cvtm_status (*down)(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse);
  /* e += interpolated correction, post-smoothing. */
  cvtm_status (*up)(const cvtm_grid_top *top, const cvtm_grid_level *level,
                    const cvtm_grid_level *coarse);
  /* Levels of at most this many nodes, and at least the last one, are the tail's. */
  int64_t tail_nodes;
  /* The V-cycle of levels first .. last, all small, the last one by sweeps; and where levels are
   * truncated, their operators below the first one. */
  cvtm_status (*tail)(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first, int last);
  /* The correction of x: applied, or left in d with its slope and bend. */
  cvtm_status (*correct)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* The step along d if any, post-smoothing, norms and verdict. */
  cvtm_status (*ascend)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* Cycles may be chained: `turn` does what `ascend` does and then `descend`, for the next cycle,
   * and leaves no iterate; `settle` makes the last one. */
  int (*chains)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  cvtm_status (*turn)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  cvtm_status (*settle)(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
  /* For the nested start: data of the next coarser problem; links; its solution as a start. */
  cvtm_status (*coarsen_data)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                              const cvtm_grid_level *level);
  cvtm_status (*coarsen_links)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level);
  cvtm_status (*prolong_start)(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                               const cvtm_grid_level *level);
  /* Where the last iterate improved (or `back` and it is not the best): d = x (x = d). */
  cvtm_status (*keep_best)(const cvtm_grid_top *top, int back);
  /* Energy and active nodes. */
  cvtm_status (*finish)(const cvtm_grid_top *top);
} cvtm_grid_table;

extern const cvtm_grid_table cvtm_grid_table_cpu, cvtm_grid_table_cuda;

/* Step along the correction: the energy's minimum on the line, which may lie a little beyond the
 * end of the correction. What then leaves the bounds is moved back. */
CVTM_HD double cvtm_grid_step(const cvtm_grid_state *state) {
  if (!(state->slope > 0)) return 0.0;
  return state->slope < 2 * state->bend ? state->slope / state->bend : 2.0;
}

/* Has a cycle left less than a tenth of the residual, with a step of about 1? Then the next one may
 * have a step of the same length. */
CVTM_HD int cvtm_grid_is_fast(double norm, double before, const cvtm_grid_state *state) {
  const double step = cvtm_grid_step(state);
  return norm < 0.1 * before && step > 0.8 && step < 1.25;
}

/* The verdict on the iterate whose sums of squares, maximum and squared size of rounding
 * errors these are. */
CVTM_HD void cvtm_grid_judge(cvtm_grid_state *state, double *history, double squares,
                             double maximum, double rounding, int counted) {
  cvtm_iteration_state *loop = &state->loop;
  if (counted) loop->iteration++;
  state->search = !(counted && cvtm_grid_is_fast(sqrt(squares), loop->norm, state));
  cvtm_iteration_judge(loop, sqrt(squares), maximum, 0x1p-53 * sqrt(rounding));
  if (history) {
    history[2 * loop->iteration] = loop->norm;
    history[2 * loop->iteration + 1] = maximum;
  }
}

CVTM_HD void cvtm_grid_begin(cvtm_grid_state *state, const cvtm_grid_course *course) {
  const double relative = course->relative * state->cold;
  state->loop.target = relative > course->absolute ? relative : course->absolute;
  state->loop.limit = course->limit;
  state->loop.window = course->window;
  state->loop.iteration = 0;
  state->loop.go_on = 1;
  state->search = 1;
}

#ifdef __cplusplus
}
#endif
#endif
