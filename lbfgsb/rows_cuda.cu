#include "base/cuda_utils.h"
#include "base/primitives.h"
#include "lbfgsb/rows.h"

enum { THREADS = 256 };

static constexpr unsigned MAX_BLOCKS = 1024;

/* Sums only integers, so the order of threads and blocks does not matter. */
static __global__ void check_inputs_kernel(const double *lower, const double *upper,
                                           const double *scale, int64_t n,
                                           cvtm_lbfgsb_inputs *found) {
  int64_t bad = 0, finite = 0;
  for (int64_t i = cvtm_first_thread(); i < n; i += cvtm_thread_count()) {
    if (!cvtm_lbfgsb_input_is_valid(lower, upper, scale, i, &finite) && bad == 0) bad = n - i;
  }
  if (bad != 0) atomicMax(reinterpret_cast<long long *>(&found->bad), static_cast<long long>(bad));
  const unsigned sum = __reduce_add_sync(0xffffffffu, static_cast<unsigned>(finite));
  if (threadIdx.x % 32 == 0 && sum > 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(&found->finite),
              static_cast<unsigned long long>(sum));
}

static __global__ void __launch_bounds__(THREADS)
    select_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays,
                  const __grid_constant__ cvtm_lbfgsb_state state, cvtm_lbfgsb_rows which,
                  int32_t *flags) {
  double t;
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], arrays.g[i]);
    flags[i] = cvtm_lbfgsb_selects(&state, which, &row, &t);
  }
}

/* Writes the selected rows to their places, and their breakpoints to `times` if given. */
static __global__ void __launch_bounds__(THREADS)
    list_kernel(const __grid_constant__ cvtm_lbfgsb_arrays arrays, const int32_t *flags,
                const int64_t *places, int32_t *rows, double *times) {
  for (int64_t i = cvtm_first_thread(); i < arrays.n; i += cvtm_thread_count()) {
    if (!flags[i]) continue;
    rows[places[i]] = static_cast<int32_t>(i);
    if (!times) continue;
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], arrays.g[i]);
    times[places[i]] = cvtm_lbfgsb_breakpoint(&row);
  }
}

extern "C" {

static cvtm_status check_inputs_cuda(cvtm_device *device, const double *lower, const double *upper,
                                     const double *scale, int64_t n, cvtm_lbfgsb_inputs *found) {
  const unsigned needed = cvtm_cuda_blocks(n, THREADS);
  const unsigned blocks = needed < MAX_BLOCKS ? needed : MAX_BLOCKS;
  check_inputs_kernel<<<blocks, THREADS, 0, cvtm_cuda_stream(device)>>>(lower, upper, scale, n,
                                                                        found);
  return cvtm_cuda_launched(device, "check_inputs_kernel");
}

static cvtm_status list_rows_cuda(cvtm_device *device, const cvtm_lbfgsb_list *list,
                                  const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which,
                                  int64_t *count) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const unsigned blocks = cvtm_cuda_blocks(arrays->n, THREADS);
  select_kernel<<<blocks, THREADS, 0, stream>>>(*arrays, *arrays->state, which, list->flags);
  CVTM_TRY(cvtm_cuda_launched(device, "select_kernel"));
  CVTM_TRY(cvtm_scan_64(device, list->flags, arrays->n, list->places));
  list_kernel<<<blocks, THREADS, 0, stream>>>(
      *arrays, list->flags, list->places, list->rows,
      which == CVTM_ROWS_WINDOW ? arrays->breakpoints : nullptr);
  CVTM_TRY(cvtm_cuda_launched(device, "list_kernel"));
  return cvtm_device_copy_out(device, count, list->places + arrays->n, sizeof *count);
}

extern const cvtm_lbfgsb_rows_table cvtm_lbfgsb_rows_table_cuda = {check_inputs_cuda,
                                                                   list_rows_cuda};

}  // extern "C"
