/* For lbfgsb_cuda.cu only: the decisions of block 0 between two passes, and the exact Cauchy point,
 * one window of breakpoints (window_start, window_end] at a time.
 *
 * If a history has at most SYSTEM_PAIRS pairs, one warp solves the subspace problem and another
 * warp computes the curvature. Each eliminates in a symmetric matrix. No interchanges are needed,
 * since the leading half of the matrix is negative definite and its Schur complement is positive
 * definite. Longer histories use the Cholesky factorisations in subspace.h and limited_memory.h;
 * the pivots here are the squares of the pivots there. With these factorisations for short
 * histories, too, an iteration would take 1.15 times as long at n = 10^4 and at 10^5 (H200). */
#pragma once

#include "lbfgsb/blocks_cuda.h"
#include "lbfgsb/iteration.h"
#include "lbfgsb/passes_cuda.h"
#include "lbfgsb/subspace.h"

enum { SYSTEM_PAIRS = 8 };

/* A linear system in the registers of a warp. Rows and columns 0 .. 7 belong to Y, 8 .. 15 to S,
 * both in order of age. Lane r has columns 0 .. 7 of row r, lane r + 16 has columns 8 .. 15. */
struct warp_system {
  double a[SYSTEM_PAIRS];
  double diagonal, b; /* entries of the row, in both of its lanes; b: the right-hand side */
  double inverse;     /* 1 / pivot of the row, after its elimination */
};

/* The entries of a system. Y and Y: of_yy yy_pq, minus d_p on the diagonal. S and S: of_ss ss_pq.
 * s_p and y_q: of_younger sy_pq if p is younger than q, else of_older sy_pq. A value with the
 * factor 0 may be NaN. */
struct system_entries {
  const double *yy, *ss, *sy; /* sy: row length `row` */
  const double *d;            /* a square matrix with d on its diagonal */
  int packed, row;            /* packed: yy and ss are packed triangles, else square matrices */
  double of_yy, of_ss, of_younger, of_older;
};

/* Loads the matrix. Rows and columns without a pair are those of the identity or, in the first
 * half, of minus the identity. */
static __device__ __forceinline__ void load_system(const cvtm_lbfgsb_state *state,
                                                   const system_entries &from,
                                                   warp_system &system) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, k = state->count;
  const int i = lane % SYSTEM_PAIRS, of_s = lane / SYSTEM_PAIRS % 2,
            right = lane / (2 * SYSTEM_PAIRS);
  const int mixed = of_s != right, p = cvtm_lbfgsb_column(state, i);
  const double *const block = mixed ? from.sy : of_s ? from.ss : from.yy;
  const double rest = mixed ? from.of_older : of_s ? from.of_ss : from.of_yy;
  const double added = i >= k ? (of_s ? 1.0 : -1.0)
                       : of_s ? 0.0
                              : -from.d[p * CVTM_LBFGSB_ORDER + p];
  double diagonal = 0.0;
#pragma unroll
  for (int j = 0; j < SYSTEM_PAIRS; ++j) {
    const int q = cvtm_lbfgsb_column(state, j), is_pair = i < k && j < k;
    const int younger = of_s ? i > j : j > i; /* s is younger than y */
    const int at = mixed         ? (of_s ? p * from.row + q : q * from.row + p)
                   : from.packed ? cvtm_lbfgsb_triangle(p, q)
                                 : p * CVTM_LBFGSB_ORDER + q;
    const double factor = mixed && younger ? from.of_younger : rest;
    double value = is_pair && factor != 0.0 ? factor * block[at] : 0.0;
    if (!mixed && i == j) diagonal = value += added;
    system.a[j] = value;
  }
  system.diagonal = __shfl_sync(0xffffffffu, diagonal, lane % 16 + 16 * of_s);
}

/* 1/x. The hardware computes 20 bits; a step of third order adds the rest. */
static __device__ double reciprocal(double x) {
  double inverse;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));
  const double error = fma(-x, inverse, 1.0);
  return fma(inverse, fma(error, error, error), inverse);
}

/* Eliminates the entries below the diagonal. Returns 0 if a pivot has the wrong sign or consists of
 * rounding errors, as in cvtm_small_factor. The diagonal is also stored separately, so that the
 * inverse of the next pivot is computed while the other columns are eliminated. The registers
 * rotate by one column per step instead of the loop being unrolled: a single warp waits longer for
 * instructions than for operands, and short code stays in the cache. */
static __device__ __forceinline__ int eliminate(warp_system &system) {
  const unsigned all = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % WARP, r = lane % 16, right = lane / 16;
  double diagonal = system.diagonal, b = system.b, least = DBL_EPSILON * diagonal;
  double inverse = reciprocal(__shfl_sync(all, diagonal, 0));
  int good = 1;
#pragma unroll 1
  for (int j = 0; j < 2 * SYSTEM_PAIRS; ++j) {
    const double own = __shfl_sync(all, system.a[0], j < SYSTEM_PAIRS ? r : r + 16);
    const double factor = r > j ? own * inverse : 0.0, top = __shfl_sync(all, b, j);
    if (r == j) {
      system.inverse = inverse;
      good = j < SYSTEM_PAIRS ? diagonal < least : diagonal > least;
    }
    diagonal = fma(-own, factor, diagonal);
    if (j == SYSTEM_PAIRS - 1) least = DBL_EPSILON * diagonal;      /* for the Schur complement */
    inverse = reciprocal(__shfl_sync(all, diagonal, (j + 1) % 16)); /* for the next pivot */
    b = fma(-top, factor, b);
    const double last =
        fma(-__shfl_sync(all, own, j % SYSTEM_PAIRS + SYSTEM_PAIRS * right), factor, system.a[0]);
#pragma unroll
    for (int c = 1; c < SYSTEM_PAIRS; ++c) {
      const double by = __shfl_sync(all, own, (j + c) % SYSTEM_PAIRS + SYSTEM_PAIRS * right);
      system.a[c - 1] = fma(-by, factor, system.a[c]);
    }
    system.a[SYSTEM_PAIRS - 1] = last;
  }
  system.b = b;
  return __all_sync(all, good);
}

/* Substitutes after the elimination. Lane r < 16 gets entry r of the solution. */
static __device__ __forceinline__ double substitute(const warp_system &system) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, r = lane % 16;
  double x = system.b * system.inverse, scaled[SYSTEM_PAIRS];
#pragma unroll
  for (int c = 0; c < SYSTEM_PAIRS; ++c) scaled[c] = system.a[c] * system.inverse;
#pragma unroll
  for (int j = 2 * SYSTEM_PAIRS - 1; j >= 0; --j) {
    if (j == SYSTEM_PAIRS - 1) x = __shfl_sync(0xffffffffu, x, r + 16);
    const double solved = __shfl_sync(0xffffffffu, x, j < SYSTEM_PAIRS ? j : j + 16);
    if (r < j) x = fma(-scaled[j % SYSTEM_PAIRS], solved, x);
  }
  return x;
}

/* The index of lane r < 16 in W'g and q; negative if its row has no pair. */
static __device__ __forceinline__ int find_entry(const cvtm_lbfgsb_state *state) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, i = lane % SYSTEM_PAIRS;
  const int column = cvtm_lbfgsb_column(state, i);
  return i < state->count ? lane / SYSTEM_PAIRS % 2 * state->history + column : -1;
}

/* cvtm_lbfgsb_solve_subspace (subspace.h) for a history of at most SYSTEM_PAIRS pairs. */
static __device__ __forceinline__ int eliminate_subspace(const cvtm_lbfgsb_state *state,
                                                         cvtm_lbfgsb_model *model,
                                                         const cvtm_lbfgsb_layout &layout,
                                                         const double *sums, int first_segment) {
  const int bounded = state->bounded, entry = find_entry(state);
  const double inverse = 1.0 / state->theta;
  system_entries from = {model->yy,         model->ss, model->sy, model->sy, 0,
                         CVTM_LBFGSB_ORDER, -inverse,  0.0,       0.0,       -inverse};
  if (bounded) {
    from = {sums + layout.yy, sums + layout.ss, sums + layout.sy, model->sy, 1,
            state->history,   -inverse,         inverse,          inverse,   -inverse};
  }
  warp_system system;
  load_system(state, from, system);
  system.b = 0.0;
  if (entry >= 0) {
    const double g = sums[layout.wg + entry];
    const double moved = first_segment ? 0.0 : state->cauchy * g + model->wc[entry];
    system.b = -(g * inverse - moved) * inverse;
  }
  int good = eliminate(system);
  const double x = substitute(system);
  if (entry >= 0 && threadIdx.x % WARP < 16) {
    model->q[entry] = x;
    good = good && isfinite(x);
  }
  return __all_sync(0xffffffffu, good);
}

/* cvtm_lbfgsb_model_curvature (limited_memory.h) for at most SYSTEM_PAIRS pairs, not for the exact
 * Cauchy point: P^-1 = L diag(pivots) L', so v'Pv is the sum of (L^-1 v)_r^2 / pivot_r. */
static __device__ __forceinline__ double eliminate_curvature(const cvtm_lbfgsb_state *state,
                                                             const cvtm_lbfgsb_model *model) {
  const int entry = find_entry(state);
  const double inverse = 1.0 / state->theta;
  const system_entries from = {model->ss,         model->ss, model->sy, model->sy, 0,
                               CVTM_LBFGSB_ORDER, 0.0,       inverse,   inverse,   0.0};
  warp_system system;
  load_system(state, from, system);
  system.b = entry >= 0 ? model->wg[entry] : 0.0;
  if (!eliminate(system)) return -1.0;
  const int counts = threadIdx.x % WARP < 16;
  const double square = counts ? system.b * system.b * system.inverse : 0.0;
  return state->theta * state->free_gg - cvtm_lanes_sum(square);
}

/* The data from which a decision is made. */
enum source {
  NOW,        /* the state and the sums of pass A */
  RESTRICTED, /* the state and `reduced`, the sums of pass A restricted to the free rows */
  IF_ACCEPTED /* the state if the trial point is accepted, and `reduced` of a speculative pass A */
};

static __device__ __forceinline__ cvtm_lbfgsb_state *state_of(source from) {
  return from == IF_ACCEPTED ? &block_memory()->if_accepted : &block_memory()->state;
}

/* Computes the coefficients of the subspace step; called by one warp. */
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

/* The stop that the host has requested, or CVTM_STOP_NONE. */
static __device__ int requested_stop() {
  return *static_cast<const volatile int *>(&block_memory()->arrays.requests->stop);
}

/* Removes the only row with 0 < t_i <= t^c from the sums; called by one warp. After a speculative
 * pass A, the row is taken at the trial point, and its new pair is not yet in W. */
static __device__ __noinline__ void warp_restrict_nearest() {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  const int64_t i = state->nearest_row;
  const int m = state->history, pending = state->needs_commit;
  for (int c = lanes.lane; c < 2 * m; c += lanes.lanes)
    shared->w[c] = read_row(arrays, *state, i, c, pending);
  cvtm_lanes_sync();
  cvtm_lbfgsb_restrict_row(lanes, state, &layout, shared->sums, shared->reduced, shared->w,
                           read_row(arrays, *state, i, 2 * m, pending));
}

/* Computes f'' along the projected gradient; called by one warp. */
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

/* Stores the products of pass A in the model; called by one warp. */
static __device__ __noinline__ void warp_update_model(source from) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  cvtm_lbfgsb_update_model(lanes, state, &shared->model, &layout,
                           from == NOW ? shared->sums : shared->reduced);
}

/* Records the new point and applies the stopping tests; called by one thread. */
static __device__ __noinline__ void thread_decide_point(source from) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_decide_point(&shared->state, from == NOW ? shared->sums : shared->reduced,
                           shared->arrays.mailbox, requested_stop());
}

/* Tests the trial point; called by one thread. */
static __device__ __noinline__ void thread_decide_search(double slope) {
  shared_memory *shared = block_memory();
  cvtm_lbfgsb_decide_search(&shared->state, shared->arrays.values, slope, requested_stop());
}

/* --- the decisions of iteration.h ------------------------------------------------------------ */

/* Block 0, which decides. Warp 0 makes the serial decisions. */
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
  if (state->needs_update) {
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
  if (threadIdx.x < WARP && block_memory()->state.needs_update) warp_update_model(NOW);
  __syncthreads();
}

/* Warp 0 assumes that t^c is on the first segment of the path, and so needs no result of warp 1. */
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

/* Makes all decisions after a speculative pass A. Warp 2 tests the trial point, while warps 0 and 1
 * assume that it is accepted. The results of warps 0 and 1 are dropped if the point is not
 * accepted, or the pair of the point is not stored. */
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
    state->needs_commit = state->needs_update && state->store_pair;
    if (state->needs_commit) thread_decide_point(IF_ACCEPTED);
  }
  __syncthreads();
  if (!state->needs_commit) {
    copy_words(&shared->model, shared->arrays.model);
    return;
  }
  copy_doubles(shared->sums, shared->reduced, static_cast<int>(shared->arrays.entries));
  if (thread == 0) {
    state->theta = shared->if_accepted.theta;
    state->free_gg = shared->if_accepted.free_gg;
    state->needs_update = 0; /* pass A has run */
  }
  __syncthreads();
  if (state->running && warp == 0) cvtm_lbfgsb_cauchy_and_subspace(deciding_block());
}

/* Lists the breakpoints of the window, in an order that varies from run to run. */
static __device__ void list_breakpoints(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], arrays.g[i]);
    double t;
    if (!cvtm_lbfgsb_selects(state, CVTM_ROWS_WINDOW, &row, &t)) continue;
    const unsigned long long at =
        atomicAdd(reinterpret_cast<unsigned long long *>(arrays.breakpoint_count), 1ull);
    arrays.breakpoints[at] = t;
    arrays.breakpoint_rows[at] = i;
  }
}

/* A stage of Batcher's odd-even merge sort by (t, row). The result does not depend on the order of
 * the list. A thread compares the positions first, first + stride, .. */
static __device__ void sort_stage(double *t, int64_t *rows, int64_t count, int64_t p, int64_t k,
                                  int64_t first, int64_t stride) {
  const int64_t begin = k % p;
  for (int64_t a = first; a + k < count; a += stride) {
    const int64_t b = a + k;
    if (a < begin || (a - begin) % (2 * k) >= k || a / (2 * p) != b / (2 * p)) continue;
    const double ta = t[a], tb = t[b];
    const int64_t ra = rows[a], rb = rows[b];
    if (ta < tb || (ta == tb && ra < rb)) continue;
    t[a] = tb;
    t[b] = ta;
    rows[a] = rb;
    rows[b] = ra;
  }
}

/* The sorted breakpoints of the window and their rows, for cvtm_lbfgsb_walk_window by one warp. */
struct sorted_window {
  const double *t;
  const int64_t *rows;
  int64_t count, *walked;
};

template <typename executor>
static __device__ int next_breakpoint(executor on, double *t) {
  if (*on.walked == on.count) return 0;
  *t = on.t[(*on.walked)++];
  return 1;
}

template <typename executor>
static __device__ double breakpoint_column(executor on, int column) {
  return read_row(block_memory()->arrays, block_memory()->state, on.rows[*on.walked - 1], column,
                  0);
}

/* walk_breakpoints of iteration.h. Block 0 sorts a short list in its shared memory; all blocks sort
 * a longer list in device memory. */
static __device__ __noinline__ void walk_window(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  shared_memory *shared = block_memory();
  list_breakpoints(on);
  sync_blocks(on);
  const int64_t count = *static_cast<volatile int64_t *>(arrays.breakpoint_count);
  const int in_shared = count <= sort_capacity(&arrays);
  if (!in_shared) {
    for (int64_t p = 1; p < count; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        sort_stage(arrays.breakpoints, arrays.breakpoint_rows, count, p, k, first_index(on),
                   index_stride(on));
        sync_blocks(on);
      }
    }
  }
  decide_in_block_0(on, 0, [&] {
    double *t = arrays.breakpoints;
    int64_t *rows = arrays.breakpoint_rows;
    if (in_shared) {
      t = reinterpret_cast<double *>(warp_work(2));
      rows = reinterpret_cast<int64_t *>(t + count);
      for (int64_t e = threadIdx.x; e < count; e += blockDim.x) {
        t[e] = arrays.breakpoints[e];
        rows[e] = arrays.breakpoint_rows[e];
      }
      for (int64_t p = 1; p < count; p *= 2) {
        for (int64_t k = p; k >= 1; k /= 2) {
          __syncthreads();
          sort_stage(t, rows, count, p, k, threadIdx.x, blockDim.x);
        }
      }
    }
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x), WARP};
    int64_t walked = 0;
    cvtm_lbfgsb_walk_window(sorted_window{t, rows, count, &walked}, lanes, warp_work(0),
                            arrays.walk, shared->w);
    cvtm_lbfgsb_end_window(lanes, &shared->state, &shared->model, warp_work(0), arrays.walk);
    if (!shared->state.needs_breakpoints && !shared->state.needs_restriction) {
      warp_solve_subspace(NOW, 0);
      cvtm_lbfgsb_decide_subspace(lanes, &shared->state, shared->solved);
    }
    if (lanes.lane == 0) *arrays.breakpoint_count = 0;
  });
}
