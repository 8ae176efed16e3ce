#include "base/cuda_utils.h"
#include "cvt/equal_mass/power_cuda.h"

#include <string.h>

#include <new>

namespace {

enum { ARRAYS = 14 };

void list_arrays(const cvtm_power *power, cvtm_power_state_cuda *s, cvtm_array arrays[ARRAYS]) {
  const int64_t corners = int64_t{CVTM_POWER_SCRATCH_BLOCKS} * CVTM_POWER_SCRATCH_CORNERS;
  const int64_t of_polygons = CVTM_POWER_CORNERS * power->count;
  const cvtm_array list[ARRAYS] = {
      cvtm_array_of(&s->counter, CVTM_POWER_COUNTERS),
      cvtm_array_of(&s->large, power->count),
      cvtm_array_of(&s->giant, power->count),
      cvtm_array_of(&s->corners, 4 * corners),
      cvtm_array_of(&s->other, corners),
      cvtm_array_of(&s->giant_corners, 4 * s->giant_capacity),
      cvtm_array_of(&s->giant_other, s->giant_capacity),
      cvtm_array_of(&s->polygons.x, of_polygons),
      cvtm_array_of(&s->polygons.y, of_polygons),
      cvtm_array_of(&s->polygons.other, of_polygons),
      cvtm_array_of(&s->polygons.corners, power->count),
      cvtm_array_of(&s->polygons.round, power->count),
      cvtm_array_of(&s->plain, power->count),
      cvtm_array_of(&s->part, CVTM_POWER_FIGURES * CVTM_POWER_PARTS),
  };
  memcpy(arrays, list, sizeof list);
}

void destroy_state_cuda(cvtm_power *power) {
  cvtm_power_state_cuda *state = static_cast<cvtm_power_state_cuda *>(power->state);
  if (!state) return;
  cvtm_array arrays[ARRAYS];
  list_arrays(power, state, arrays);
  cvtm_device_free_all(power->cvt->device, arrays, ARRAYS);
  delete state;
  power->state = nullptr;
}

cvtm_status create_state_cuda(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  cvtm_power_state_cuda *state = new (std::nothrow) cvtm_power_state_cuda();
  if (!state) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  power->state = state;
  /* A site adds at most one corner to a cell; several of its images add one each only where there
   * are few sites. */
  const int64_t n = power->count, most = CVTM_POWER_SCRATCH_CORNERS;
  state->giant_capacity = 4 + n + 8 * (n < most ? n : most);
  cvtm_array arrays[ARRAYS];
  list_arrays(power, state, arrays);
  cvtm_status status = cvtm_device_allocate_all(device, arrays, ARRAYS);
  if (status == CVTM_OK)
    status =
        cvtm_device_fill(device, state->counter, 0, CVTM_POWER_COUNTERS * sizeof *state->counter);
  if (status != CVTM_OK) destroy_state_cuda(power);
  return status;
}

}  // namespace

extern "C" const cvtm_power_table cvtm_power_table_cuda = {
    create_state_cuda,       destroy_state_cuda,      cvtm_power_set_weights_cuda,
    cvtm_power_cells_cuda,   cvtm_power_figures_cuda, cvtm_power_predict_cuda,
    cvtm_power_correct_cuda, cvtm_power_solve_cuda,
};
