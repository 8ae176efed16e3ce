#include "meshes/mesh.h"

#include <stdlib.h>

void cvtm_mesh_free(cvtm_mesh *mesh) {
  if (!mesh) return;
  free(mesh->points);
  free(mesh->triangles);
  *mesh = (cvtm_mesh){0};
}
