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
  double last[2], pressed[2], released_time;
  uint64_t sent; /* the last command's number */
  int changed;   /* nonzero: draw another frame */
  int save, quit;
} cvtm_control;

/* view.device, tool and note are set by the caller or empty. */
void cvtm_control_init(cvtm_control *control, cvtm_solver *solver, cvtm_domain domain);
void cvtm_control_event(cvtm_control *control, const cvtm_event *event);

/* Scripts: every action of keys and mouse, one a line. Numbers are framebuffer pixels; with the
 * suffix i, pixels of the image.
 *
 *   key K              a character, or: space plus minus escape
 *   move X Y           press X Y [BUTTON [shift|ctrl]]           release X Y [BUTTON]
 *   click X Y [BUTTON [shift|ctrl]]        drag X Y X Y [BUTTON]
 *   scroll X Y NOTCHES size W H            layers LIST (as --layers)
 *   wait N             until N more iterations are done or it has converged
 *   converge           until it has converged
 *   settle             until the picture includes all commands sent so far
 *   frames N           draw N frames
 *   shot FILE          write the picture
 *   # comment */

/* A position in a text. */
typedef struct cvtm_script {
  const char *name; /* for messages */
  const char *next; /* the rest of the text */
  int line;
  int64_t frames; /* to draw before going on */
  int64_t until;  /* wait: for this iteration; -1: not waiting */
  int converging, settling;
  uint64_t settled; /* settle: for the state with this many commands */
  char shot[640];   /* to be written after the next frame; "" */
  double clock;     /* scripted events have a time of their own */
} cvtm_script;

/* text is borrowed. */
void cvtm_script_init(cvtm_script *script, const char *name, const char *text);
/* Carries out actions until a frame has to be drawn or waited for. *waits: nonzero if the frame is
 * not yet the one that the script waits for. CVTM_ERROR_INPUT names the line. */
cvtm_status cvtm_script_play(cvtm_script *script, cvtm_control *control, cvtm_surface *surface,
                             int *waits, cvtm_error *error);
int cvtm_script_over(const cvtm_script *script);

/* "cells,sites,...": the message of CVTM_ERROR_ARGUMENT names the unknown word. */
cvtm_status cvtm_layers_parse(const char *list, unsigned *layers, cvtm_error *error);

#endif
