#include "base/npy.h"

#include "mutate_npy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  cvtm_npy array;
  cvtm_error error;
  if (cvtm_npy_parse(data, size, "fuzz", &array, &error) != CVTM_OK) return 0;
  double sum = 0;
  for (int64_t i = 0; i < array.count; ++i) sum += cvtm_npy_get(&array, i);
  cvtm_npy_free(&array);
  return sum == 0.12345 ? -1 : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = fuzz_seed(seed);
  const size_t made = fuzz_random(&state) % 2 ? fuzz_mutate_npy(data, size, most, &state) : 0;
  return made > 0 ? made : LLVMFuzzerMutate(data, size, most);
}
