/* The layers over the picture: the border of the domain, the line of figures, the plot, the help.
 */
#ifndef CVTMESH_VIEWER_OVERLAY_H
#define CVTMESH_VIEWER_OVERLAY_H

#include "viewer/canvas.h"
#include "viewer/frame.h"
#include "viewer/view.h"

void cvtm_overlay_draw(cvtm_canvas *canvas, const cvtm_view_state *state, const cvtm_view *view);

#endif
