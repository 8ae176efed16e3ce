/* L-BFGS-B on CUDA for problems of at most 32 variables, one or a batch. Each problem is solved by
 * a group of lanes of a warp, with one variable per lane. B is a dense matrix, with one row in the
 * registers of a lane, made from the stored pairs by BFGS updates of theta I (Byrd, Nocedal &
 * Schnabel 1994); so neither the products of pass A (iteration.h) nor the small matrices of
 * limited_memory.h are needed, and any history is possible. Sums go over the lanes of a group in a
 * fixed order, so the result of a problem is bit for bit independent of the other problems. If
 * groups have 10 lanes, a warp has three groups, and its last two lanes are idle. The pairs of a
 * problem are stored as [2m][n]. */
#include "base/cuda_utils.h"
#include "lbfgsb/blocks_cuda.h"
#include "lbfgsb/iteration.h"
#include "lbfgsb/lbfgsb_private.h"

enum { SMALL_THREADS = 128, GATHERED = CVTM_SUM_COLUMNS };

static_assert(static_cast<int>(CVTM_LBFGSB_SMALL) <= static_cast<int>(WARP),
              "a lane for each variable");

extern __shared__ __align__(16) cvtm_lbfgsb_state small_states[];

/* A group, the executor of iteration.h. */
template <int LANES>
struct lane_group {
  const cvtm_lbfgsb_arrays &all;
  cvtm_lbfgsb_state *state; /* in shared memory */
  int64_t problem;
  int lane, n;
  int first;             /* the lane of the warp at which the group begins */
  unsigned mask;         /* the lanes of the group */
  double *exchange;      /* in shared memory: GATHERED rows of values for the other lanes */
  double *subspace_step; /* of the variable of this lane */

  __device__ int is_problem() const { return problem < all.problems; }
  __device__ int has_row() const { return lane < n; }
  __device__ int64_t at() const { return problem * n + lane; }
  __device__ double &pair_entry(int column) const {
    return all.w[(problem * 2 * state->history + column) * n + lane];
  }
  __device__ cvtm_lbfgsb_variable row() const {
    if (has_row()) return cvtm_lbfgsb_get_variable(&all, at(), all.x[at()], all.g[at()]);
    return {0.0, -HUGE_VAL, HUGE_VAL, 1.0, 0.0};
  }
  __device__ double get(double value, int of) const { return __shfl_sync(mask, value, first + of); }
  /* Writes each lane's values to `exchange`, a row for each value, from which all lanes read them
   * in pairs. This takes fewer instructions than shuffles, each of which moves half a number. */
  template <typename... Values>
  __device__ const double2 *gather(Values... values) const {
    double *row = exchange + lane;
    __syncwarp(mask);
    ((*row = values, row += LANES), ...);
    __syncwarp(mask);
    return reinterpret_cast<const double2 *>(exchange);
  }
  /* Joins the values of all lanes; every lane gets the result. */
  template <typename Join>
  __device__ double join(double value, Join join_two) const {
    if constexpr ((LANES & (LANES - 1)) == 0) {
#pragma unroll
      for (int offset = LANES / 2; offset > 0; offset /= 2)
        value = join_two(value, __shfl_xor_sync(mask, value, offset));
      return value;
    }
    const double2 *gathered = gather(value);
    double joined = join_two(gathered[0].x, gathered[0].y);
#pragma unroll
    for (int k = 1; k < LANES / 2; ++k)
      joined = join_two(join_two(joined, gathered[k].x), gathered[k].y);
    return joined;
  }
  __device__ double sum(double value) const {
    return join(value, [](double a, double b) { return a + b; });
  }
  __device__ double least(double value) const {
    return join(value, [](double a, double b) { return fmin(a, b); });
  }
  /* Returns the lane's element of a matrix times a vector. row, element: the lane's row of the
   * matrix and its element of the vector. */
  __device__ double multiply(const double (&row)[LANES], double element) const {
    const double2 *gathered = gather(element);
    double product = 0.0;
#pragma unroll
    for (int j = 0; j < LANES; j += 2) {
      const double2 two = gathered[j / 2];
      if (j < n) product += row[j] * two.x;
      if (j + 1 < n) product += row[j + 1] * two.y;
    }
    return product;
  }
  /* One lane decides; then all see the new state. */
  template <typename Decide>
  __device__ void decide(Decide decide) const {
    __syncwarp(mask);
    if (lane == 0) decide();
    __syncwarp(mask);
  }
};

/* The first entries of a pass. */
struct row_sums {
  double value[CVTM_SUM_COLUMNS];

  __device__ row_sums() {
    for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) value[e] = cvtm_lbfgsb_identity(e);
  }
  /* Combines the first ENTRIES entries of all lanes; every lane gets the result. nearest: nonzero
   * in pass A. */
  template <int ENTRIES, int LANES>
  __device__ void combine(const lane_group<LANES> &on, int nearest) {
    double other[ENTRIES];
    if constexpr ((LANES & (LANES - 1)) == 0) {
#pragma unroll
      for (int offset = LANES / 2; offset > 0; offset /= 2) {
        for (int e = 0; e < ENTRIES; ++e) other[e] = __shfl_xor_sync(on.mask, value[e], offset);
        cvtm_lbfgsb_combine_entries(value, other, ENTRIES, nearest);
      }
    } else {
      double next[ENTRIES];
      const double2 *gathered =
          on.gather(value[0], value[1], value[2], value[3], value[4], value[5], value[6]);
      static_assert(static_cast<int>(GATHERED) == 7, "all entries are gathered");
#pragma unroll
      for (int k = 0; k < LANES / 2; ++k) {
        for (int e = 0; e < ENTRIES; ++e) {
          const double2 two = gathered[e * LANES / 2 + k];
          (k == 0 ? value : other)[e] = two.x;
          next[e] = two.y;
        }
        if (k > 0) cvtm_lbfgsb_combine_entries(value, other, ENTRIES, nearest);
        cvtm_lbfgsb_combine_entries(value, next, ENTRIES, nearest);
      }
    }
  }
};

/* --- the direction ---------------------------------------------------------------------------- */

/* Sets b to the lane's row of B. Returns 0 if B is not positive definite up to rounding. */
template <int LANES>
static __device__ int make_matrix(const lane_group<LANES> &on, double (&b)[LANES]) {
  const cvtm_lbfgsb_state *state = on.state;
  const double theta = state->theta;
  int good = 1;
#pragma unroll
  for (int j = 0; j < LANES; ++j) b[j] = on.lane == j ? theta : 0.0;
  for (int age = 0; age < state->count; ++age) {
    const int column = cvtm_lbfgsb_column(state, age);
    const double y = on.has_row() ? on.pair_entry(column) : 0.0;
    const double s = on.has_row() ? on.pair_entry(state->history + column) : 0.0;
    const double v = on.multiply(b, s), sv = on.sum(s * v), sy = on.sum(s * y);
    const double of_y = y / sy, of_v = v / sv;
    const double2 *gathered = on.gather(y, v);
    good = good && sv > 0.0 && sy > 0.0;
#pragma unroll
    for (int j = 0; j < LANES; j += 2) {
      const double2 ys = gathered[j / 2], vs = gathered[(LANES + j) / 2];
      if (j < on.n) b[j] += of_y * ys.x - of_v * vs.x;
      if (j + 1 < on.n) b[j + 1] += of_y * ys.y - of_v * vs.y;
    }
  }
  return good;
}

/* Finds the exact Cauchy point: t of the first local minimiser of the model along the projected
 * gradient path. */
template <int LANES>
static __device__ double walk_path(const lane_group<LANES> &on, const cvtm_lbfgsb_variable &row,
                                   int is_free, const double (&b)[LANES]) {
  double d = is_free ? -row.g : 0.0, moved = 0.0, t = 0.0;
  for (;;) {
    const double bd = on.multiply(b, d), dd = on.sum(d * d);
    const double first = on.sum(row.g * d + moved * bd), second = on.sum(d * bd);
    const double minimum = cvtm_lbfgsb_ray_minimum(on.state, t, dd, first, second);
    const double own = d != 0.0 ? cvtm_lbfgsb_breakpoint(&row) : HUGE_VAL, next = on.least(own);
    if (!(minimum > next)) return minimum;
    moved += (next - t) * d;
    if (own <= next) d = 0.0;
    t = next;
  }
}

/* Solves a system by elimination below and above the diagonal. The matrix of the system equals b in
 * the rows and columns of `members`, and the identity elsewhere. Returns 0 if a pivot is not
 * positive or consists of rounding errors. The registers shift by one column per step. */
template <int LANES>
static __device__ int solve(const lane_group<LANES> &on, const double (&b)[LANES], unsigned members,
                            double right, double *x) {
  const int is_member = members >> on.lane & 1;
  double a[LANES], before = 1.0, inverse = 1.0;
  int good = 1;
#pragma unroll
  for (int j = 0; j < LANES; ++j) {
    /* `before` is set from `entry`, not from a[j]: else nvcc would move `a` from registers to local
     * memory and index it by the lane. */
    const double entry = is_member && (members >> j & 1) ? b[j] : on.lane == j ? 1.0 : 0.0;
    a[j] = entry;
    if (on.lane == j) before = entry;
  }
#pragma unroll 1
  for (int j = 0; j < on.n; ++j) {
    const double pivot = on.get(a[0], j), top = on.get(right, j);
    good = good && cvtm_pivot_is_good(pivot, on.get(before, j));
    const double by = 1.0 / pivot, own = a[0];
    const double factor = on.lane == j ? 0.0 : own * by;
    if (on.lane == j) inverse = by;
    right -= factor * top;
#pragma unroll
    for (int c = 1; c < LANES; ++c) {
      if (c >= on.n - j) break; /* no columns are left */
      a[c - 1] = a[c] - factor * on.get(a[c], j);
    }
  }
  *x = right * inverse;
  return good && cvtm_is_finite(on.sum(*x * 0.0));
}

/* Finds the Cauchy point and the step in the subspace of the variables that are free there. */
template <int LANES>
static __device__ void find_step(const lane_group<LANES> &on) {
  cvtm_lbfgsb_state *state = on.state;
  const cvtm_lbfgsb_variable row = on.row();
  const int is_free = on.has_row() && cvtm_lbfgsb_is_free(&row);
  double b[LANES], step = 0.0;
  const int good = make_matrix(on, b);
  const double d = is_free ? -row.g : 0.0, second = on.sum(d * on.multiply(b, d));
  on.decide([&] { cvtm_lbfgsb_choose_cauchy(state, good ? second : -1.0); });
  if (state->count == 0) {
    on.decide([&] { cvtm_lbfgsb_ask_for_step(state, 1); });
    *on.subspace_step = 0.0;
    return;
  }
  if (state->exact && state->needs_restriction) {
    const double t = walk_path(on, row, is_free, b);
    on.decide([&] { state->cauchy = t; });
  }
  const double t = state->cauchy;
  const int leaves = is_free && t >= state->first_breakpoint && cvtm_lbfgsb_breakpoint(&row) <= t;
  const double to_bound = (row.g < 0.0 ? row.upper : row.lower) - row.x;
  const double moved = leaves ? to_bound / row.scale : t * d;
  const int stays = is_free && !leaves;
  const unsigned members = __ballot_sync(on.mask, stays) >> on.first;
  const double gradient = row.g + on.multiply(b, moved); /* of the model at the Cauchy point */
  const int solved = solve(on, b, members, stays ? -gradient : 0.0, &step);
  on.decide([&] {
    cvtm_lbfgsb_ask_for_step(state, solved);
    if (state->count > 0) state->gradient_factor = 0.0; /* subspace_step is the complete step */
  });
  *on.subspace_step = state->count > 0 ? step : 0.0;
}

/* --- the phases of iteration.h ---------------------------------------------------------------- */

template <typename executor>
static __device__ cvtm_lbfgsb_state *executor_state(executor on) {
  return on.state;
}

static __device__ int small_request(const cvtm_lbfgsb_arrays &all) {
  return *static_cast<const volatile int *>(&all.requests->stop);
}

template <int LANES>
static __device__ void pass_test(const lane_group<LANES> &on) {
  row_sums sums;
  if (on.has_row()) cvtm_lbfgsb_search_row(&on.all, on.at(), sums.value);
  const double slope = on.sum(sums.value[CVTM_SUM_SLOPE]);
  on.decide([&] {
    cvtm_lbfgsb_decide_search(on.state, on.all.values + 2 * on.problem, slope,
                              small_request(on.all));
  });
}

template <typename executor>
static __device__ void find_coefficients(executor on) {
  cvtm_lbfgsb_state *state = on.state;
  row_sums sums;
  double sy = 0.0;
  if (state->needs_update) {
    cvtm_lbfgsb_pair pair = {0.0, 0.0};
    if (on.has_row()) {
      cvtm_lbfgsb_variable row;
      pair = cvtm_lbfgsb_accept_row(&on.all, on.at(), &row);
      cvtm_lbfgsb_add_point(&on.all, &row, on.lane, cvtm_lbfgsb_is_free(&row), sums.value);
      sums.value[CVTM_SUM_YY] += pair.y * pair.y;
      if (state->store_pair) {
        on.pair_entry(state->newest) = pair.y;
        on.pair_entry(state->history + state->newest) = pair.s;
      }
    }
    sums.combine<CVTM_SUM_ACTIVE + 1>(on, 1);
    sy = on.sum(pair.s * pair.y);
  }
  on.decide([&] {
    cvtm_lbfgsb_decide_point(state, sums.value, on.all.mailbox, small_request(on.all));
    if (!state->needs_update) return;
    if (state->store_pair) state->theta = sums.value[CVTM_SUM_YY] / sy;
    state->free_gg = sums.value[CVTM_SUM_FREE_GG];
  });
  if (state->running) find_step(on);
}

/* Nothing is left to do: find_step has found the Cauchy point and restricted the rows. */
template <typename executor>
static __device__ void walk_breakpoints(executor) {}
template <typename executor>
static __device__ void restrict_rows(executor) {}

/* Runs pass B. */
template <int LANES>
static __device__ row_sums step_rows(const lane_group<LANES> &on) {
  const double factor = on.state->needs_fallback ? on.state->truncation : 1.0;
  row_sums sums;
  if (on.has_row()) {
    const cvtm_lbfgsb_variable row = on.row();
    cvtm_lbfgsb_step_row(&on.all, on.state, &row, on.at(), on.all.g[on.at()], *on.subspace_step,
                         factor, sums.value);
  }
  sums.combine<CVTM_SUM_DD + 1>(on, 0);
  return sums;
}

template <typename executor>
static __device__ void compute_direction(executor on) {
  const row_sums sums = step_rows(on);
  on.decide([&] { cvtm_lbfgsb_decide_step(on.state, sums.value); });
}

template <typename executor>
static __device__ void truncate_direction(executor on) {
  const row_sums sums = step_rows(on);
  on.decide([&] { cvtm_lbfgsb_decide_fallback(on.state, sums.value); });
}

template <int LANES>
static __device__ void pass_trial(const lane_group<LANES> &on) {
  if (on.has_row()) cvtm_lbfgsb_move_row(&on.all, on.at(), on.state->step);
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* The number of groups of a block. */
constexpr int problems_of(int lanes) { return SMALL_THREADS / WARP * (WARP / lanes); }

template <int LANES>
static __device__ lane_group<LANES> find_group(const cvtm_lbfgsb_arrays &all, double *step) {
  constexpr int groups = WARP / LANES;
  const int lane = static_cast<int>(threadIdx.x) % WARP, group = lane / LANES,
            own = static_cast<int>(threadIdx.x) / WARP * groups + group;
  const unsigned lanes = 0xffffffffu >> (WARP - LANES) << group * LANES;
  const int64_t problem = static_cast<int64_t>(blockIdx.x) * problems_of(LANES) + own;
  return {all,
          small_states + own,
          group < groups ? problem : INT64_MAX,
          lane % LANES,
          static_cast<int>(all.n),
          group * LANES,
          lanes,
          reinterpret_cast<double *>(small_states + problems_of(LANES)) + own * GATHERED * LANES,
          step};
}

/* Copies the states of the block's problems between shared and device memory. */
template <int LANES>
static __device__ void copy_states(const cvtm_lbfgsb_arrays &all, int store) {
  constexpr int64_t problems = problems_of(LANES);
  const int64_t first = blockIdx.x * problems, left = all.problems - first;
  const int words = static_cast<int>((left < problems ? left : problems) *
                                     sizeof(cvtm_lbfgsb_state) / sizeof(int64_t));
  int64_t *own = reinterpret_cast<int64_t *>(small_states);
  int64_t *stored = reinterpret_cast<int64_t *>(all.state + first);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < words; i += SMALL_THREADS)
    (store ? stored : own)[i] = (store ? own : stored)[i];
  __syncthreads();
}

template <int LANES>
static __global__ void __launch_bounds__(SMALL_THREADS)
    small_round_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all, int claimed,
                       cudaGraphConditionalHandle handle) {
  double step = 0.0;
  const lane_group<LANES> on = find_group<LANES>(all, &step);
  const int was_running = on.is_problem() && all.state[on.problem].running;
  if (!__syncthreads_or(was_running) && all.problems > 1) return;
  copy_states<LANES>(all, 0);
  if (was_running) cvtm_lbfgsb_round(on);
  copy_states<LANES>(all, 1);
  if (on.is_problem() && on.lane == 0) signal_loop(on.state, all, was_running, claimed, handle);
}

/* Sets the state of every problem to `first`, and starts the problems. */
template <int LANES>
static __global__ void __launch_bounds__(SMALL_THREADS)
    small_start_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all,
                       const __grid_constant__ cvtm_lbfgsb_state first) {
  const lane_group<LANES> on = find_group<LANES>(all, nullptr);
  if (on.is_problem()) {
    row_sums sums;
    if (on.has_row()) cvtm_lbfgsb_start_row(&all, on.at(), sums.value);
    sums.combine<CVTM_SUM_COLUMNS>(on, 0);
    on.decide([&] {
      *on.state = first;
      cvtm_lbfgsb_init_state(on.state, sums.value);
    });
  }
  copy_states<LANES>(all, 1);
}

/* --- launching -------------------------------------------------------------------------------- */

struct small_launch {
  int lanes;
  const void *round, *start;
};

static small_launch find_launch(int64_t n) {
#define CVTM_SMALL(lanes)                                                     \
  if (n <= (lanes))                                                           \
    return {lanes, reinterpret_cast<const void *>(small_round_kernel<lanes>), \
            reinterpret_cast<const void *>(small_start_kernel<lanes>)};
  CVTM_SMALL(2)
  CVTM_SMALL(4)
  CVTM_SMALL(8)
  CVTM_SMALL(10)
  CVTM_SMALL(16)
  CVTM_SMALL(32)
#undef CVTM_SMALL
  return {};
}

static cvtm_status launch_small(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                const void *kernel, int lanes, void **arguments) {
  const int64_t each = problems_of(lanes);
  const size_t bytes =
      static_cast<size_t>(each) *
      (sizeof(cvtm_lbfgsb_state) + GATHERED * static_cast<size_t>(lanes) * sizeof(double));
  const dim3 grid(static_cast<unsigned>((arrays->problems + each - 1) / each));
  CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  return CVTM_CUDA_CALL(device, cudaLaunchKernel(kernel, grid, dim3(SMALL_THREADS), arguments,
                                                 bytes, cvtm_cuda_stream(device)));
}

extern "C" {

static int64_t small_parts(cvtm_device *, int64_t, int64_t) { return 1; }

static cvtm_status small_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int,
                               const cvtm_lbfgsb_state *first) {
  const small_launch kernels = find_launch(arrays->n);
  cvtm_lbfgsb_arrays all = *arrays;
  cvtm_lbfgsb_state state = *first;
  void *arguments[] = {&all, &state};
  return launch_small(device, arrays, kernels.start, kernels.lanes, arguments);
}

static cvtm_status small_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int) {
  const small_launch kernels = find_launch(arrays->n);
  cvtm_lbfgsb_arrays all = *arrays;
  uint64_t claim = 0;
  int claimed = arrays->problems == 1 && cvtm_loop_claim(device, &claim);
  cudaGraphConditionalHandle handle = claim;
  void *arguments[] = {&all, &claimed, &handle};
  return launch_small(device, arrays, kernels.round, kernels.lanes, arguments);
}

extern const cvtm_lbfgsb_table cvtm_lbfgsb_small_cuda = {small_parts, small_start, small_round};

}  // extern "C"
