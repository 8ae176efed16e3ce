#include "meshes/mesh.h"

#include <stdlib.h>

void cvtm_mesh_free(cvtm_mesh *mesh) {
  if (!mesh) return;
  free(mesh->points);
  free(mesh->triangles);
  *mesh = (cvtm_mesh){0};
}

void cvtm_regions_free(cvtm_regions *regions) {
  free(regions->region);
  free(regions->edges);
  free(regions->left);
  free(regions->right);
  free(regions->curve);
  free(regions->area_groups);
  free(regions->line_groups);
  free(regions->group);
  free(regions->pairs);
  free(regions->edge_copy);
  *regions = (cvtm_regions){0};
}
