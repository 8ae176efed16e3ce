/* cvtmesh lcp --mesh: model problems on the triangles of a mesh file. */
#ifndef CVTMESH_CLI_LCP_MESH_H
#define CVTMESH_CLI_LCP_MESH_H

#include "cli/options.h"
#include "lcp/problems/complementarity.h"
#include "meshes/elements/p1_elements.h"

/* Lengths are such that the longer side of the mesh is 1; x = 0 on its boundary. */
typedef struct cli_lcp_mesh {
  cvtm_mesh mesh;
  cvtm_p1 p1;
  double *b, *lower; /* p1.count */
} cli_lcp_mesh;

/* -div grad x >= -load; membrane: x >= -0.05, torsion: x >= -distance to the boundary. load 0: 1 of
 * membrane, 5 of torsion. On failure *made is empty. */
cvtm_status cli_lcp_mesh_read(const char *path, cvtm_model model, double load, cli_lcp_mesh *made,
                              cvtm_error *error);
void cli_lcp_mesh_free(cli_lcp_mesh *made);

/* Refuses outputs of other formats. Returns CLI_EXIT_OK, or the exit code after a message. */
int cli_lcp_mesh_check_outputs(const cli_options *options);
/* npy: x at all vertices; png: the triangles coloured by x, those in contact outlined; else a mesh
 * file with the vertex data `solution`. */
cvtm_status cli_lcp_mesh_write(const cli_lcp_mesh *made, const cli_options *options,
                               const double *x, const char *path, const char *extension,
                               cvtm_error *error);
/* The integral of x over the mesh. */
double cli_lcp_mesh_integral(const cli_lcp_mesh *made, const double *x);

#endif
