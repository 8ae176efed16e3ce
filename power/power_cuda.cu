#include "power/power_cuda.h"

#include <new>

namespace {

template <typename T>
cvtm_status allocate(cvtm_power *power, int64_t count, T **array) {
  void *memory = nullptr;
  const cvtm_status status = cvtm_device_allocate(power->cvt->device, count, sizeof(T), &memory);
  *array = static_cast<T *>(memory);
  return status;
}

void destroy_state_cuda(cvtm_power *power) {
  cvtm_power_state_cuda *state = static_cast<cvtm_power_state_cuda *>(power->state);
  if (!state) return;
  void *arrays[] = {state->counter, state->large,         state->giant,       state->corners,
                    state->other,   state->giant_corners, state->giant_other, state->part};
  for (void *array : arrays) cvtm_device_free(power->cvt->device, array);
  delete state;
  power->state = nullptr;
}

cvtm_status create_state_cuda(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  cvtm_power_state_cuda *state = new (std::nothrow) cvtm_power_state_cuda();
  if (!state) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  power->state = state;
  const int64_t n = power->count, blocks = CVTM_POWER_SCRATCH_BLOCKS,
                corners = CVTM_POWER_SCRATCH_CORNERS;
  const int64_t few = n < corners ? n : corners; /* several images of a site cut where few are */
  state->giant_capacity = 4 + n + 8 * few;
  cvtm_status status = allocate(power, CVTM_POWER_COUNTERS, &state->counter);
  if (status == CVTM_OK)
    status =
        cvtm_device_fill(device, state->counter, 0, CVTM_POWER_COUNTERS * sizeof *state->counter);
  if (status == CVTM_OK) status = allocate(power, n, &state->large);
  if (status == CVTM_OK) status = allocate(power, n, &state->giant);
  if (status == CVTM_OK) status = allocate(power, blocks * corners * 4, &state->corners);
  if (status == CVTM_OK) status = allocate(power, blocks * corners, &state->other);
  if (status == CVTM_OK) status = allocate(power, 4 * state->giant_capacity, &state->giant_corners);
  if (status == CVTM_OK) status = allocate(power, state->giant_capacity, &state->giant_other);
  if (status == CVTM_OK)
    status = allocate(power, CVTM_POWER_FIGURES * CVTM_POWER_PARTS, &state->part);
  if (status != CVTM_OK) destroy_state_cuda(power);
  return status;
}

}  // namespace

extern "C" const cvtm_power_table cvtm_power_table_cuda = {
    create_state_cuda,     destroy_state_cuda,      cvtm_power_set_weights_cuda,
    cvtm_power_cells_cuda, cvtm_power_figures_cuda, cvtm_power_predict_cuda,
    cvtm_power_solve_cuda,
};
