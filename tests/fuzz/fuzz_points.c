/* The first byte chooses the format. */
#include "meshes/mesh_file.h"

#include "mutate_npy.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const char *const extensions[] = {"csv", "xyz", "npy", "node", "svg"};
  const size_t formats = sizeof extensions / sizeof extensions[0];
  if (size < 1) return 0;
  double *points;
  int32_t *classes;
  int64_t count;
  cvtm_error error;
  const char *extension = extensions[(size_t)(data[0] - 'a') % formats];
  if (cvtm_points_read_bytes(extension, data + 1, size - 1, "fuzz", &points, &classes, &count,
                             &error) != CVTM_OK)
    return 0;
  for (int64_t k = 0; classes != NULL && k < count; ++k)
    if (classes[k] < 0) abort();
  for (int64_t k = 0; k < 2 * count; ++k)
    if (!isfinite(points[k])) abort();
  free(points);
  free(classes);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = fuzz_seed(seed);
  size_t made = 0;
  if (size > 1 && fuzz_random(&state) % 2)
    made = fuzz_mutate_npy(data + 1, size - 1, most - 1, &state);
  return made > 0 ? made + 1 : LLVMFuzzerMutate(data, size, most);
}
