/* The first byte chooses the format. */
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const char *const extensions[] = {"csv", "xyz", "npy"};
  const size_t formats = sizeof extensions / sizeof extensions[0];
  if (size < 1) return 0;
  double *points;
  int64_t count;
  cvtm_error error;
  const char *extension = extensions[(size_t)(data[0] - 'a') % formats];
  if (cvtm_points_read_bytes(extension, data + 1, size - 1, "fuzz", &points, &count, &error) !=
      CVTM_OK) {
    return 0;
  }
  for (int64_t k = 0; k < 2 * count; ++k) {
    if (!isfinite(points[k])) abort();
  }
  free(points);
  return 0;
}
