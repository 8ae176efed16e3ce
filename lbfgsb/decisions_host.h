/* iteration.h where the host decides, and those phases of it that every kind of history does alike.
 * The includer defines `executor` before, with a member `arrays`: those of the problem. */
#ifndef CVTMESH_LBFGSB_DECISIONS_HOST_H
#define CVTMESH_LBFGSB_DECISIONS_HOST_H

#include "lbfgsb/iteration.h"

static const cvtm_lane_group single_lane = {0, 1};

static cvtm_lbfgsb_state *executor_state(executor on) { return on.arrays->state; }

static int is_decider(executor on) {
  (void)on;
  return 1;
}

static void find_curvature(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_lbfgsb_state *state = arrays->state;
  cvtm_lbfgsb_work *work = arrays->work;
  cvtm_lbfgsb_list_columns(single_lane, state, work);
  work->curvature = state->count > 0
                        ? cvtm_lbfgsb_model_curvature(single_lane, state, arrays->model, work)
                        : state->free_gg;
}

static void find_cauchy_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_decide_cauchy(single_lane, arrays->state, arrays->model, arrays->work, arrays->walk,
                            arrays->work->curvature);
}

#endif
