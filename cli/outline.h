/* `mesh` of a polygon: Delaunay refinement of its inside. */
#ifndef CVTMESH_CLI_OUTLINE_H
#define CVTMESH_CLI_OUTLINE_H

#include "cli/options.h"

/* Nonzero if the options ask for the mesh of an outline rather than of points. */
int cli_outline_wanted(const cli_options *options);
/* Returns an exit code. */
int cli_outline_mesh(const cli_options *options);

#endif
