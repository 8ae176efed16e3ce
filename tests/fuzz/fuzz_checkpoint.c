/* A checkpoint that a run continues from: first the file, whose checksums refuse nearly every
 * input, then the state behind them. An input is a list of changes to a good state: two bytes for
 * the place and one to be added there. */
#include "base/device.h"
#include "run/checkpoint.h"
#include "cvt/cvt.h"

#include "fuzz.h"

enum { SIDE = 8, COUNT = 12 };

static unsigned char *state;
static size_t state_size;

/* Keeps a state in the middle of the run. */
static cvtm_status keep(void *context, const void *bytes, size_t count, cvtm_error *error) {
  int *calls = context;
  (void)error;
  if (++*calls > 6) return CVTM_OK;
  free(state);
  state = malloc(count);
  if (!state) abort();
  memcpy(state, bytes, count);
  state_size = count;
  return CVTM_OK;
}

static cvtm_status solve(const cvtm_cvt_checkpoint *checkpoint) {
  static cvtm_device *device;
  const cvtm_domain domain = {SIDE, SIDE, 0};
  float density[SIDE * SIDE];
  double sites[2 * COUNT];
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_error error;
  if (!device && cvtm_device_create("cpu", 1, &device, &error) != CVTM_OK) abort();
  for (int k = 0; k < SIDE * SIDE; ++k) density[k] = 1.0F + (float)(k % 5);
  cvtm_cvt_defaults(&options);
  options.max_iterations = 12;
  options.checkpoint = checkpoint;
  if (cvtm_cvt_create(device, domain, density, COUNT, &cvt) != CVTM_OK) abort();
  const cvtm_status status = cvtm_cvt_solve(cvt, &options, 0, sites, COUNT, NULL);
  cvtm_cvt_destroy(cvt);
  return status;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  run_checkpoint_parts parts;
  cvtm_error error;
  if (run_checkpoint_find_parts("file", data, size, &parts, &error) == CVTM_OK &&
      parts.state + parts.state_bytes != data + size)
    abort();
  int calls = 0;
  const cvtm_cvt_checkpoint saving = {.save = keep, .context = &calls};
  if (!state && solve(&saving) != CVTM_OK) abort();
  unsigned char *changed = malloc(state_size);
  if (!changed) abort();
  memcpy(changed, state, state_size);
  for (size_t at = 0; at + 3 <= size; at += 3)
    changed[(data[at] * 256U + data[at + 1]) % state_size] += data[at + 2];
  const cvtm_cvt_checkpoint resume = {.saved = changed,
                                      .saved_bytes = size % 7 == 6 ? state_size / 2 : state_size};
  const cvtm_status status = solve(&resume);
  if (size == 0 && status != CVTM_OK) abort();
  free(changed);
  return 0;
}
