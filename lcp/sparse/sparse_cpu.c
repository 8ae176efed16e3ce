/* Replaces the default of base/phases.h: with fewer rows, one thread. */
#define CVTM_PHASE_FEW 8192
#include "lcp/sparse/sparse_kernels.h"

CVTM_SPARSE_ROW_PHASES(CVTM_PHASE_CPU)

static int threads_for(const cvtm_device *device, int64_t rows) {
  return rows < CVTM_PHASE_FEW ? 1 : cvtm_device_threads(device);
}

/* Adds the lanes pairwise. */
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
    .sum = sum_cpu, .check = check_cpu, CVTM_SPARSE_ROW_PHASES(CVTM_PHASE_CPU_NAME)};
