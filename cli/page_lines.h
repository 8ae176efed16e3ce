/* The lines of cells and of meshes on a page; every edge is drawn once. */
#ifndef CVTMESH_CLI_PAGE_LINES_H
#define CVTMESH_CLI_PAGE_LINES_H

#include "meshes/mesh.h"
#include "draw/drawing.h"

/* Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
cvtm_status cli_draw_cells(const cvtm_cells *cells, cvtm_domain domain, const cvtm_page *page,
                           cvtm_drawing *drawing, cvtm_error *error);
/* In few strokes, of many edges each. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
cvtm_status cli_draw_mesh(const cvtm_mesh *mesh, cvtm_domain domain, const cvtm_page *page,
                          cvtm_drawing *drawing, cvtm_error *error);

#endif
