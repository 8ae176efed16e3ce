/* The CUDA table of phases: the specialised kernels for the cycles that they know, the reference
 * kernels for all others. */
#include "base/select.h"
#include "lcp/grid/grid_cuda.h"

namespace {

bool marches(const cvtm_grid_top *top) {
  return cvtm_grid_can_march(top->shape) && !cvtm_uses_plain("march");
}

bool marches(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top) && is_specialised(coarse);
}

bool has_tiles(const cvtm_grid_level *coarse) {
  return is_specialised(coarse) && !cvtm_uses_plain("tiles");
}

cvtm_status measure_cold_start_cuda(const cvtm_grid_top *top) {
  return marches(top) ? cvtm_grid_measure_march(top, MEASURE_COLD_START)
                      : cvtm_grid_reference_table_cuda.measure_cold_start(top);
}

cvtm_status measure_cuda(const cvtm_grid_top *top, int counted) {
  return marches(top) ? cvtm_grid_measure_march(top, counted ? MEASURE_ITERATION : MEASURE_START)
                      : cvtm_grid_reference_table_cuda.measure(top, counted);
}

cvtm_status pre_smooth_and_restrict_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top, coarse) ? cvtm_grid_pre_smooth_and_restrict_march(top, coarse)
                              : cvtm_grid_reference_table_cuda.pre_smooth_and_restrict(top, coarse);
}

cvtm_status coarse_pre_smooth_and_restrict_cuda(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse) {
  return has_tiles(coarse)
             ? cvtm_grid_pre_smooth_and_restrict_tiles(top, level, coarse)
             : cvtm_grid_reference_table_cuda.coarse_pre_smooth_and_restrict(top, level, coarse);
}

cvtm_status coarse_prolong_and_post_smooth_cuda(const cvtm_grid_top *top,
                                                const cvtm_grid_level *level,
                                                const cvtm_grid_level *coarse) {
  return has_tiles(coarse)
             ? cvtm_grid_prolong_and_post_smooth_tiles(top, level, coarse)
             : cvtm_grid_reference_table_cuda.coarse_prolong_and_post_smooth(top, level, coarse);
}

/* The march of post_smooth_and_measure prolongs and corrects. */
cvtm_status prolong_and_correct_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  return marches(top, coarse) ? cvtm_grid_line_search_march(top, coarse)
                              : cvtm_grid_reference_table_cuda.prolong_and_correct(top, coarse);
}

cvtm_status post_smooth_and_measure_cuda(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  if (marches(top, coarse)) {
    return cvtm_grid_post_smooth_and_measure_march(top, coarse);
  }
  const cvtm_status status = cvtm_grid_step_and_smooth_reference(top);
  return status == CVTM_OK ? measure_cuda(top, 1) : status;
}

} /* namespace */

const cvtm_grid_table cvtm_grid_table_cuda = {
    cvtm_grid_partial_doubles_cuda,
    cvtm_grid_clip_start_reference,
    measure_cold_start_cuda,
    cvtm_grid_begin_iteration_reference,
    cvtm_grid_raise_limit_reference,
    measure_cuda,
    cvtm_grid_smooth_reference,
    cvtm_grid_measure_energy_reference,
    pre_smooth_and_restrict_cuda,
    cvtm_grid_galerkin_cuda,
    coarse_pre_smooth_and_restrict_cuda,
    cvtm_grid_is_tail_cuda,
    cvtm_grid_tail_cycle_cuda,
    coarse_prolong_and_post_smooth_cuda,
    prolong_and_correct_cuda,
    post_smooth_and_measure_cuda,
    cvtm_grid_mark_masked_reference,
    cvtm_grid_interpolation_weights_reference,
    cvtm_grid_coarsen_data_reference,
    cvtm_grid_coarsen_links_reference,
    cvtm_grid_prolong_solution_reference,
};
