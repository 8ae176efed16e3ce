/* The first byte chooses the format. */
#include "meshes/mesh_file.h"

#include "mutate_base64.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const char *const extensions[] = {"obj", "vtu", "msh", "ele"};
  const size_t count = sizeof extensions / sizeof extensions[0];
  if (size < 1) return 0;
  cvtm_mesh mesh;
  cvtm_error error;
  const char *extension = extensions[(size_t)(data[0] - 'a') % count];
  if (cvtm_mesh_read_bytes(extension, data + 1, size - 1, "fuzz", &mesh, &error) != CVTM_OK)
    return 0;
  for (int64_t k = 0; k < 3 * mesh.triangle_count; ++k)
    if (mesh.triangles[k] < 0 || mesh.triangles[k] >= mesh.vertex_count) abort();
  for (int64_t k = 0; k < mesh.vertex_count; ++k)
    if (isnan(mesh.points[2 * k]) || isnan(mesh.points[2 * k + 1])) abort();
  cvtm_mesh_free(&mesh);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = fuzz_seed(seed);
  const size_t made = fuzz_random(&state) % 2 ? fuzz_mutate_base64(data, size, most, &state) : 0;
  return made > 0 ? made : LLVMFuzzerMutate(data, size, most);
}
