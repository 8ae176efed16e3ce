/* The mesh of an outline in the coordinates of drawings. */
#ifndef CVTMESH_CLI_OUTLINE_DRAWING_H
#define CVTMESH_CLI_OUTLINE_DRAWING_H

#include "base/domain.h"
#include "meshes/mesh.h"

typedef struct cli_outline_drawing {
  cvtm_domain domain;
  cvtm_mesh mesh;   /* shares all but the points */
  cvtm_cells cells; /* of the domain */
} cli_outline_drawing;

/* frame: the pixels of an outline that lies in a picture of this size; then the drawing is that
 * picture. An outline elsewhere, or one that is very small or large, is moved and scaled to fill
 * its drawing. is_fixed: nonzero: always the frame. sides: left, upper, right, lower, y down.
 * is_up: y in the file is -y. */
cvtm_status cli_outline_draw(const cvtm_mesh *mesh, const double sides[4], cvtm_domain frame,
                             int is_fixed, int is_up, cli_outline_drawing *drawing,
                             cvtm_error *error);
void cli_outline_drawing_free(cli_outline_drawing *drawing);

#endif
