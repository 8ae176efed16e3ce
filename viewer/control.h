/* Keys and mouse: they change the view, or send commands to the solver. Events come from a window
 * or from a script. */
#ifndef CVTMESH_VIEWER_CONTROL_H
#define CVTMESH_VIEWER_CONTROL_H

#include "viewer/frame.h"
#include "viewer/solver.h"
#include "viewer/surface.h"
#include "viewer/view.h"

typedef struct cvtm_control {
  cvtm_view view;
  cvtm_solver *solver;
  const cvtm_view_frame *frame; /* the newest, for finding sites; NULL: none yet */
  cvtm_domain domain;
  cvtm_brush brush;
  double brush_radius; /* pixels of the domain */
  int fitted;          /* the view follows the size of the window */
  int dragging, painting;
  int64_t grabbed; /* the site that the mouse moves, -1: none */
  double last[2], pressed[2], pressed_time, released_time;
  uint64_t sent; /* the last command's number */
  int changed;   /* nonzero: draw another frame */
  int save, quit;
} cvtm_control;

/* view.device, tool and note are set by the caller or empty. */
void cvtm_control_init(cvtm_control *control, cvtm_solver *solver, cvtm_domain domain);
void cvtm_control_event(cvtm_control *control, const cvtm_event *event);

#endif
