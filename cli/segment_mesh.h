/* cvtmesh segment --mesh: the level set on the vertices of a mesh file. */
#ifndef CVTMESH_CLI_SEGMENT_MESH_H
#define CVTMESH_CLI_SEGMENT_MESH_H

#include "cli/options.h"
#include "density/segmentation.h"
#include "meshes/mesh.h"

typedef struct cli_segment_mesh {
  cvtm_mesh mesh; /* in pixels of the image, y down */
  double *u;      /* a number for each vertex */
} cli_segment_mesh;

/* pixels: the same segmentation on the pixels before the first step; its result and history become
 * those on the mesh, and its `inside` goes. */
cvtm_status cli_segment_mesh_run(cvtm_device *device, const cli_options *options,
                                 cvtm_segmentation *pixels, cli_segment_mesh *made,
                                 cvtm_error *error);
void cli_segment_mesh_free(cli_segment_mesh *made);
/* npy: u; else the mesh with u as vertex data `level_set`. */
cvtm_status cli_segment_mesh_write(const cli_segment_mesh *made, const cvtm_segmentation *pixels,
                                   const char *path, const char *extension, cvtm_error *error);

#endif
