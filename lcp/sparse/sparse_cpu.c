#include "lcp/sparse/sparse_kernels.h"

/* Loops over fewer rows take less time than starting threads. */
enum { PARALLEL_ROWS = 8192 };

static int threads_for(const cvtm_device *device, int64_t rows) {
  return rows < PARALLEL_ROWS ? 1 : cvtm_device_threads(device);
}

/* Runs the statement for every row of first .. end - 1 in parallel, and returns from the function.
 */
#define FOR_ROWS(device, first, end, statement)                                                    \
  do {                                                                                             \
    const int64_t end_ = (end);                                                                    \
    const int threads_ = threads_for(device, end_ - (first));                                      \
    _Pragma("omp parallel for num_threads(threads_) schedule(static)") for (int64_t row = (first); \
                                                                            row < end_; ++row) {   \
      statement;                                                                                   \
    }                                                                                              \
    (void)threads_;                                                                                \
    return CVTM_OK;                                                                                \
  } while (0)

static cvtm_status relax_cpu(cvtm_device *device, const cvtm_level *level, cvtm_kernel_flags flags,
                             double omega, int64_t colour) {
  FOR_ROWS(device, level->colour_start[colour], level->colour_start[colour + 1],
           cvtm_relax_row(level, flags, omega, row));
}

static cvtm_status relax_along_cpu(cvtm_device *device, const cvtm_level *level,
                                   const double *direction, const cvtm_sparse_state *state,
                                   int64_t colour) {
  const int64_t end = level->colour_start[colour + 1];
  FOR_ROWS(device, level->colour_start[colour], end,
           cvtm_relax_along_row(level, direction, state->step, end, row));
}

static cvtm_status residual_cpu(cvtm_device *device, const cvtm_level *level,
                                cvtm_kernel_flags flags, int64_t end) {
  FOR_ROWS(device, 0, end, cvtm_residual_row(level, flags, row));
}

static cvtm_status apply_cpu(cvtm_device *device, const cvtm_level *level, const double *x,
                             double *y) {
  FOR_ROWS(device, 0, level->rows, cvtm_apply_row(level, x, y, row));
}

static cvtm_status galerkin_cpu(cvtm_device *device, const cvtm_level *fine,
                                const cvtm_level *coarse, int is_top) {
  FOR_ROWS(device, 0, coarse->rows, cvtm_galerkin_row(fine, coarse, is_top, row));
}

static cvtm_status restrict_problem_cpu(cvtm_device *device, const cvtm_level *fine,
                                        const cvtm_level *coarse) {
  FOR_ROWS(device, 0, coarse->rows, cvtm_restrict_row(fine, coarse, row));
}

static cvtm_status prolong_cpu(cvtm_device *device, const cvtm_level *fine,
                               const cvtm_level *coarse, int masked) {
  FOR_ROWS(device, 0, fine->rows, cvtm_prolong_row(fine, coarse, masked, row));
}

static cvtm_status direction_cpu(cvtm_device *device, const cvtm_level *fine,
                                 const cvtm_level *coarse, double *direction) {
  FOR_ROWS(device, 0, fine->rows, cvtm_direction_row(fine, coarse, direction, row));
}

static cvtm_status coarsen_cpu(cvtm_device *device, const cvtm_level *fine,
                               const cvtm_level *coarse) {
  FOR_ROWS(device, 0, coarse->rows, cvtm_coarsen_row(fine, coarse, row));
}

static cvtm_status refine_cpu(cvtm_device *device, const cvtm_level *fine,
                              const cvtm_level *coarse) {
  FOR_ROWS(device, 0, fine->rows, cvtm_refine_row(fine, coarse, row));
}

static cvtm_status gather_cpu(cvtm_device *device, const double *from, const int32_t *order,
                              int64_t count, double *to) {
  FOR_ROWS(device, 0, count, to[row] = from[order[row]]);
}

static cvtm_status scatter_cpu(cvtm_device *device, const double *from, const int32_t *order,
                               int64_t count, double *to) {
  FOR_ROWS(device, 0, count, to[order[row]] = from[row]);
}

static cvtm_status clip_cpu(cvtm_device *device, const cvtm_level *level, int masked) {
  FOR_ROWS(device, 0, level->rows, cvtm_clip_row(level, masked, row));
}

static cvtm_status combine_cpu(cvtm_device *device, double a, const double *x, double c, double *y,
                               int64_t count) {
  FOR_ROWS(device, 0, count, y[row] = a * x[row] + c * y[row]);
}

static cvtm_status divide_cpu(cvtm_device *device, const double *x, double *y, int64_t count) {
  FOR_ROWS(device, 0, count, y[row] /= x[row]);
}

/* Adds the lanes by halving. */
static cvtm_sums join_lanes(cvtm_sums *lanes) {
  for (int half = CVTM_SUM_LANES / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) cvtm_sums_join(&lanes[lane], &lanes[lane + half]);
  return lanes[0];
}

static cvtm_status sum_cpu(cvtm_device *device, const cvtm_level *level, const cvtm_level *next,
                           double *vector, cvtm_sum_kind kind, double last_omega, cvtm_sum_use use,
                           cvtm_sums *partial, cvtm_sparse_state *state) {
  double *const at = cvtm_sum_vector(level, state, kind, vector);
  const double scale = state->scale;
  int64_t blocks = 0;
  for (int part = 0; part < 2; ++part) {
    int64_t first;
    const int64_t last = cvtm_sum_part(level, last_omega, part, &first);
    const double omega = part == 0 ? last_omega : 0;
    const int64_t before = blocks;
    const int threads = threads_for(device, last - first);
    (void)threads; /* without OpenMP */
    blocks += cvtm_sum_blocks(last - first);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t block = before; block < blocks; ++block) {
      cvtm_sums lanes[CVTM_SUM_LANES] = {{{0}}};
      const int64_t start = first + (block - before) * CVTM_SUM_BLOCK;
      const int64_t end = start + CVTM_SUM_BLOCK < last ? start + CVTM_SUM_BLOCK : last;
      for (int64_t row = start; row < end; ++row) {
        const cvtm_sums sums = cvtm_sum_row(level, next, at, kind, omega, scale, row);
        cvtm_sums_join(&lanes[(row - start) % CVTM_SUM_LANES], &sums);
      }
      partial[block] = join_lanes(lanes);
    }
  }
  cvtm_sums lanes[CVTM_SUM_LANES] = {{{0}}};
  for (int64_t block = 0; block < blocks; ++block)
    cvtm_sums_join(&lanes[block % CVTM_SUM_LANES], &partial[block]);
  state->sums = join_lanes(lanes);
  cvtm_use_sums(state, use);
  return CVTM_OK;
}

static cvtm_status tridiagonal_cpu(cvtm_device *device, const cvtm_level *level,
                                   const cvtm_tridiagonal *matrix) {
  (void)device;
  cvtm_solve_tridiagonal(level, matrix);
  return CVTM_OK;
}

static cvtm_status check_cpu(cvtm_device *device, const double *b, const double *lower,
                             const double *upper, int64_t count, int64_t *verdict) {
  int64_t unreal = count, crossed = count;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static) \
    reduction(min                                                                  \
              : unreal, crossed)
  for (int64_t i = 0; i < count; ++i) {
    const int found = cvtm_check_entry(b, lower, upper, i);
    if (found == 1 && i < unreal) unreal = i;
    if (found == 2 && i < crossed) crossed = i;
  }
  verdict[0] = unreal;
  verdict[1] = crossed;
  return CVTM_OK;
}

const cvtm_sparse_table cvtm_sparse_table_cpu = {
    relax_cpu,
    relax_along_cpu,
    residual_cpu,
    apply_cpu,
    galerkin_cpu,
    restrict_problem_cpu,
    prolong_cpu,
    direction_cpu,
    coarsen_cpu,
    refine_cpu,
    sum_cpu,
    gather_cpu,
    scatter_cpu,
    clip_cpu,
    combine_cpu,
    divide_cpu,
    tridiagonal_cpu,
    check_cpu,
    NULL,
    0,
};
