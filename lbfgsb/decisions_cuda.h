/* For lbfgsb_cuda.cu only: the decisions between two passes, by block 0. */
#ifndef CVTMESH_LBFGSB_DECISIONS_CUDA_H
#define CVTMESH_LBFGSB_DECISIONS_CUDA_H

#include "lbfgsb/blocks_cuda.h"
#include "lbfgsb/iteration.h"
#include "lbfgsb/pass_a_cuda.h"
#include "lbfgsb/systems_cuda.h"

/* The data of a decision. */
enum source {
  NOW,        /* the state and the sums of pass A */
  RESTRICTED, /* the state and `reduced`, the sums of pass A restricted to the free rows */
  IF_ACCEPTED /* the state if the trial point is accepted and `reduced`, of a speculative pass A */
};

static __device__ __forceinline__ cvtm_lbfgsb_state *state_of(source from) {
  return from == IF_ACCEPTED ? &block_memory()->if_accepted : &block_memory()->state;
}

/* The coefficients of the subspace step, by one warp. */
static __device__ __noinline__ void warp_solve_subspace(source from, int first_segment) {
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  const double *sums = from == NOW ? shared->sums : shared->reduced;
  int solved;
  if (state->count <= SYSTEM_PAIRS) {
    solved = eliminate_subspace(state, &shared->model, layout, sums, first_segment);
  } else {
    cvtm_lbfgsb_list_columns(lanes, state, warp_work(0));
    solved = cvtm_lbfgsb_solve_subspace(lanes, state, &shared->model, warp_work(0), &layout, sums,
                                        first_segment);
  }
  if (lanes.lane == 0) shared->solved = solved;
  __syncwarp();
}

/* The stop that the host has asked for. */
static __device__ int requested_stop() {
  return *static_cast<const volatile int *>(&block_memory()->arrays.requests->stop);
}

/* Takes the only row with 0 < t_i <= t^c out of the sums, by one warp. After a speculative pass A
 * the row is that of the trial point, and its new pair is not yet in W. */
static __device__ __noinline__ void warp_restrict_nearest() {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  const int64_t i = state->nearest_row;
  const int m = state->history, pending = state->due_commit;
  for (int c = lanes.lane; c < 2 * m; c += lanes.lanes)
    shared->w[c] = read_row(arrays, *state, i, c, pending);
  cvtm_lanes_sync();
  cvtm_lbfgsb_restrict_row(lanes, state, &layout, shared->sums, shared->reduced, shared->w,
                           read_row(arrays, *state, i, 2 * m, pending));
}

/* f'' along the projected gradient, by one warp. */
static __device__ __noinline__ void warp_find_curvature(source from) {
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  double second = state->free_gg;
  if (state->count > 0 && state->count <= SYSTEM_PAIRS && !state->exact) {
    second = eliminate_curvature(state, &shared->model);
  } else if (state->count > 0) {
    cvtm_lbfgsb_list_columns(lanes, state, warp_work(1));
    second = cvtm_lbfgsb_model_curvature(lanes, state, &shared->model, warp_work(1));
  }
  if (lanes.lane == 0) shared->curvature = second;
}

/* Takes the products of pass A into the model, by one warp. */
static __device__ __noinline__ void warp_update_model(source from) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  cvtm_lbfgsb_update_model(lanes, state, &shared->model, &layout,
                           from == NOW ? shared->sums : shared->reduced);
}

/* The new point and the stopping tests, by one thread. */
static __device__ __noinline__ void thread_decide_point(source from) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_decide_point(&shared->state, from == NOW ? shared->sums : shared->reduced,
                           shared->arrays.mailbox, requested_stop());
}

/* The test of the trial point, by one thread. */
static __device__ __noinline__ void thread_decide_search(double slope) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_decide_search(&shared->state, shared->arrays.values, slope, requested_stop());
}

/* --- the decisions of iteration.h ------------------------------------------------------------ */

/* Block 0, which decides; warp 0 decides alone. */
struct deciding_block {};

template <typename executor>
static __device__ cvtm_lbfgsb_state *executor_state(executor) {
  return &block_memory()->state;
}

template <typename executor>
static __device__ int is_decider(executor) {
  return threadIdx.x < WARP;
}

template <typename executor>
static __device__ void take_point(executor) {
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = &shared->state;
  if (state->due_update) {
    const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
    copy_doubles(shared->sums, shared->reduced, layout.entries);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    thread_decide_point(NOW);
    if (shared->arrays.breakpoint_count) *shared->arrays.breakpoint_count = 0;
  }
  __syncthreads();
}

template <typename executor>
static __device__ void update_matrices(executor) {
  if (threadIdx.x < WARP && block_memory()->state.due_update) warp_update_model(NOW);
  __syncthreads();
}

/* The two small problems are independent if t^c is on the first segment of the path. */
template <typename executor>
static __device__ void find_curvature(executor) {
  const int warp = static_cast<int>(threadIdx.x) / WARP;
  if (warp == 0) {
    warp_solve_subspace(NOW, 1);
  } else if (warp == 1) {
    warp_find_curvature(NOW);
  }
  __syncthreads();
}

template <typename executor>
static __device__ void find_cauchy_point(executor) {
  shared_memory *shared = block_memory();
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x), WARP};
  cvtm_lbfgsb_decide_cauchy(lanes, &shared->state, &shared->model, warp_work(1),
                            shared->arrays.walk, shared->curvature);
}

template <typename executor>
static __device__ void restrict_row(executor) {
  warp_restrict_nearest();
}

template <typename executor>
static __device__ void solve_subspace(executor, int restricted) {
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x), WARP};
  if (restricted) warp_solve_subspace(RESTRICTED, 0);
  cvtm_lbfgsb_decide_subspace(lanes, &block_memory()->state, block_memory()->solved);
}

/* Everything that follows from a speculative pass A: warp 2 tests the trial point while warps 0 and
 * 1 assume that it is accepted. If it is not, or its pair is not stored, their results are dropped.
 */
static __device__ void decide_speculatively() {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_state *state = &shared->state;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / WARP;
  if (warp == 0) warp_update_model(IF_ACCEPTED);
  __syncthreads();
  if (warp == 0) {
    warp_solve_subspace(IF_ACCEPTED, 1);
  } else if (warp == 1) {
    warp_find_curvature(IF_ACCEPTED);
  } else if (thread == 2 * WARP) {
    thread_decide_search(shared->reduced[CVTM_SUM_TRIAL]);
    state->due_commit = state->due_update && state->store_pair;
    if (state->due_commit) thread_decide_point(IF_ACCEPTED);
  }
  __syncthreads();
  if (!state->due_commit) {
    copy_words(&shared->model, shared->arrays.model);
    return;
  }
  copy_doubles(shared->sums, shared->reduced, static_cast<int>(shared->arrays.entries));
  if (thread == 0) {
    state->theta = shared->if_accepted.theta;
    state->free_gg = shared->if_accepted.free_gg;
    state->due_update = 0; /* done */
  }
  __syncthreads();
  if (state->running && warp == 0) cvtm_lbfgsb_cauchy_and_subspace(deciding_block());
}

#endif
