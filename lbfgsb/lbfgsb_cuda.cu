#include "base/cuda_utils.h"
#include "lbfgsb/decisions_cuda.h"
#include "lbfgsb/lbfgsb_private.h"
#include "lbfgsb/passes_cuda.h"

/* The executor of iteration.h for the thread blocks that share a problem. COLUMN_BLOCKS: the number
 * of groups of 8 columns of Y. WARPS: the number of warps of a thread block. */
template <int COLUMN_BLOCKS, int WARPS>
struct round_executor : block_group {
  explicit __device__ round_executor(block_group on) : block_group(on) {}
  static __device__ void pass_a(block_group on, int speculative) {
    ::pass_a<COLUMN_BLOCKS, WARPS>(on, speculative);
  }
  static __device__ void pass_restrict(block_group on) {
    ::pass_restrict<COLUMN_BLOCKS, WARPS>(on);
  }
};

static __device__ cvtm_lbfgsb_layout current_layout() {
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  return cvtm_lbfgsb_get_layout(state->history, state->bounded);
}

/* --- the passes of iteration.h ---------------------------------------------------------------- */

/* Runs pass A together with the test of the trial point. */
template <typename executor>
static __device__ void test_speculatively(executor on) {
  shared_memory *shared = block_memory();
  const cvtm_lbfgsb_state *state = &shared->state;
  if (threadIdx.x == 0) {
    shared->if_accepted = shared->state;
    shared->if_accepted.store_pair = 1;
    cvtm_lbfgsb_allocate_column(&shared->if_accepted);
  }
  __syncthreads();
  executor::pass_a(on, 1);
  decide_in_block_0(on, current_layout().entries, [] { decide_speculatively(); });
  if (state->needs_commit && !(state->running && state->needs_step)) {
    pass_commit(on);
    sync_blocks(on);
    if (threadIdx.x == 0) shared->state.needs_commit = 0;
    __syncthreads();
  }
}

template <typename executor>
static __device__ void pass_test(executor on) {
  shared_memory *shared = block_memory();
  if (cvtm_lbfgsb_may_speculate(&shared->state)) {
    test_speculatively(on);
    return;
  }
  pass_search(on);
  decide_in_block_0(on, CVTM_SUM_COLUMNS, [&] {
    if (threadIdx.x == 0) thread_decide_search(shared->reduced[CVTM_SUM_SLOPE]);
  });
}

template <typename executor>
static __device__ void find_coefficients(executor on) {
  const int needs_update = block_memory()->state.needs_update;
  if (needs_update) executor::pass_a(on, 0);
  decide_in_block_0(on, needs_update ? current_layout().entries : 0,
                    [] { cvtm_lbfgsb_coefficients_from_sums(deciding_block()); });
}

template <typename executor>
static __device__ void walk_breakpoints(executor on) {
  walk_window(on);
}

template <typename executor>
static __device__ void restrict_rows(executor on) {
  const cvtm_lbfgsb_layout layout = current_layout();
  executor::pass_restrict(on);
  decide_in_block_0(on, layout.entries, [&] {
    shared_memory *shared = block_memory();
    if (threadIdx.x >= WARP) return;
    const cvtm_lane_group lanes = {static_cast<int>(threadIdx.x), WARP};
    cvtm_lbfgsb_restrict_sums(lanes, &shared->state, &layout, shared->sums, shared->reduced);
    solve_subspace(deciding_block(), 1);
  });
}

template <typename executor>
static __device__ void compute_direction(executor on) {
  shared_memory *shared = block_memory();
  pass_b(on, shared->state.needs_commit);
  decide_in_every_block(on, [&] {
    shared->state.needs_commit = 0;
    cvtm_lbfgsb_decide_step(&shared->state, shared->reduced);
  });
}

template <typename executor>
static __device__ void truncate_direction(executor on) {
  shared_memory *shared = block_memory();
  sync_blocks(on); /* until all blocks have read the sums of the first pass B */
  pass_b(on, 0);
  decide_in_every_block(on, [&] { cvtm_lbfgsb_decide_fallback(&shared->state, shared->reduced); });
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Fills shared memory. first: the problem of block 0 of this launch, in a batch. first_state: the
 * state at the start of a run, else NULL. */
static __device__ block_group load_problem(const cvtm_lbfgsb_arrays &all, int64_t first, int m,
                                           const cvtm_lbfgsb_state *first_state) {
  const int batch = all.problems > 1, thread = static_cast<int>(threadIdx.x);
  const int64_t problem = batch ? first + blockIdx.x : 0;
  shared_memory *shared = block_memory();
  const block_group on = {batch ? 0 : blockIdx.x, batch ? 1 : gridDim.x};
  copy_words(&shared->arrays, &all);
  copy_words(&shared->state, first_state ? first_state : all.state + problem);
  if (thread == 0) {
    shared->epochs = all.barrier->epochs;
    shared->solved = 1;
  }
  __syncthreads();
  if (on.block == 0 && shared->state.running) {
    copy_words(&shared->model, all.model + problem);
    copy_doubles(shared->sums, all.sums + problem * all.entries, static_cast<int>(all.entries));
  }
  if (batch && thread == 0) {
    shared->arrays = cvtm_lbfgsb_problem_arrays(&all, problem, m);
  }
  if (batch) __syncthreads();
  return on;
}

/* Stores the data from which the next kernel continues. */
static __device__ void store_problem(block_group on) {
  __syncthreads();
  if (on.block != 0) return;
  copy_words(block_memory()->arrays.state, &block_memory()->state);
  copy_words(block_memory()->arrays.model, &block_memory()->model);
  copy_doubles(block_memory()->arrays.sums, block_memory()->sums,
               static_cast<int>(block_memory()->arrays.entries));
  if (threadIdx.x == 0 && on.blocks > 1) {
    block_memory()->arrays.barrier->epochs = block_memory()->epochs;
  }
}

template <int BLOCKS, int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    round_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all, int64_t first, int m, int claimed,
                 cudaGraphConditionalHandle handle) {
  const block_group on = load_problem(all, first, m, nullptr);
  const int was_running = block_memory()->state.running;
  if (was_running) {
    cvtm_lbfgsb_round(round_executor<BLOCKS, WARPS>(on));
    store_problem(on);
  }
  if (on.block == 0 && threadIdx.x == 0)
    signal_loop(&block_memory()->state, all, was_running, claimed, handle);
}

template <int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    start_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all, int64_t first, int m,
                 const __grid_constant__ cvtm_lbfgsb_state state) {
  const block_group on = load_problem(all, first, m, &state);
  pass_start(on);
  decide_in_every_block(
      on, [&] { cvtm_lbfgsb_init_state(&block_memory()->state, block_memory()->reduced); });
  store_problem(on);
}

/* --- launching ------------------------------------------------------------------------------- */

template <int BLOCKS>
static const void *pick_round(int batch) {
  return batch ? reinterpret_cast<const void *>(round_kernel<BLOCKS, BATCH_WARPS>)
               : reinterpret_cast<const void *>(round_kernel<BLOCKS, warps_for(BLOCKS)>);
}

static const void *find_round(int m, int batch) {
  const int blocks = column_blocks(m);
  return blocks == 1   ? pick_round<1>(batch)
         : blocks == 2 ? pick_round<2>(batch)
                       : pick_round<3>(batch);
}

static const void *find_start(int warps) {
  typedef void (*kernel)(cvtm_lbfgsb_arrays, int64_t, int, cvtm_lbfgsb_state);
  const kernel found = warps == BATCH_WARPS    ? start_kernel<BATCH_WARPS>
                       : warps == warps_for(1) ? start_kernel<warps_for(1)>
                                               : start_kernel<warps_for(2)>;
  return reinterpret_cast<const void *>(found);
}

static int find_warps(const cvtm_lbfgsb_arrays *arrays, int m) {
  return arrays->problems > 1 ? BATCH_WARPS : warps_for(column_blocks(m));
}

/* Launches the kernel. `first` points to one of the arguments, the index of the first problem; the
 * caller has set it to 0. A batch with more problems than a launch can have blocks takes several
 * launches, before each of which *first is set. */
static cvtm_status launch(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                          const void *kernel, void **arguments, int64_t *first) {
  const int batch = arrays->problems > 1, warps = find_warps(arrays, m);
  int stages = 1;
  CVTM_CUDA_TRY(device, find_stages(warps, &stages));
  const dim3 block(static_cast<unsigned>(warps) * WARP);
  const size_t bytes = shared_bytes(arrays, warps, stages, m);
  CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  if (!batch) {
    const dim3 grid(static_cast<unsigned>(arrays->parts));
    return CVTM_CUDA_CALL(device, cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes,
                                                              cvtm_cuda_stream(device)));
  }
  for (*first = 0; *first < arrays->problems;) {
    const dim3 grid(cvtm_cuda_cap(arrays->problems - *first));
    CVTM_CUDA_TRY(
        device, cudaLaunchKernel(kernel, grid, block, arguments, bytes, cvtm_cuda_stream(device)));
    *first += grid.x;
  }
  return CVTM_OK;
}

extern "C" {

static int64_t cuda_parts(cvtm_device *device, int64_t n, int64_t problems) {
  int current = 0, multiprocessors = 1;
  const int64_t tiles = n / TILE + 1, wanted = (tiles - 1) / MAX_WARPS + 1;
  if (problems > 1 || cvtm_device_activate(device) != CVTM_OK) return 1;
  if (cudaGetDevice(&current) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, current) !=
          cudaSuccess) {
    (void)cudaGetLastError();
    return 1;
  }
  return cvtm_cuda_cap(wanted < multiprocessors ? wanted : multiprocessors);
}

static cvtm_status cuda_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              const cvtm_lbfgsb_state *state) {
  cvtm_lbfgsb_arrays all = *arrays;
  int64_t first = 0;
  cvtm_lbfgsb_state first_state = *state;
  void *arguments[] = {&all, &first, &m, &first_state};
  return launch(device, arrays, m, find_start(find_warps(arrays, m)), arguments, &first);
}

static cvtm_status cuda_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  cvtm_lbfgsb_arrays all = *arrays;
  uint64_t claim = 0;
  int claimed = arrays->problems == 1 && cvtm_loop_claim(device, &claim);
  cudaGraphConditionalHandle handle = claim;
  int64_t first = 0;
  void *arguments[] = {&all, &first, &m, &claimed, &handle};
  return launch(device, arrays, m, find_round(m, arrays->problems > 1), arguments, &first);
}

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cuda = {cuda_parts, cuda_start, cuda_round};

}  // extern "C"
