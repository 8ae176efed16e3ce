/* Handles events of keys and mouse, from a window or a script: changes the view, or sends commands
 * to the solver. */
#pragma once

#include "viewer/frame.h"
#include "viewer/solver.h"
#include "viewer/surface.h"
#include "viewer/view.h"

typedef struct cvtm_control {
  cvtm_view view;
  cvtm_solver *solver;
  const cvtm_view_frame
      *frame; /* newest frame, to find the site under the cursor; NULL: none yet */
  cvtm_domain domain;
  cvtm_brush brush;
  double brush_radius; /* pixels of the domain */
  int fitted;          /* nonzero: the view is fitted again whenever the window changes its size */
  int dragging, painting;
  int64_t grabbed; /* the site that the mouse drags; -1: none */
  double last[2], pressed[2], released_time;
  uint64_t sent; /* the number of commands sent */
  int changed;   /* nonzero: the view has changed, so another frame is needed */
  int save, quit;
} cvtm_control;

/* Initialises the control; view.device, tool and note are empty until the caller sets them. */
void cvtm_control_init(cvtm_control *control, cvtm_solver *solver, cvtm_domain domain);
void cvtm_control_event(cvtm_control *control, const cvtm_event *event);

/* Scripts: one action per line. X Y: framebuffer pixels or, with the suffix i, pixels of the image.
 *   key K              a character, or: space plus minus escape
 *   move X Y           press X Y [BUTTON [shift|ctrl]]           release X Y [BUTTON]
 *   click X Y [BUTTON [shift|ctrl]]        drag X Y X Y [BUTTON]
 *   scroll X Y NOTCHES size W H            layers LIST (as --layers)
 *   wait N             until N more iterations are done or the optimisation has converged
 *   converge           until the optimisation has converged
 *   settle             until the picture includes all commands sent so far
 *   frames N           draw N frames
 *   shot FILE          write the picture
 *   # comment */

/* A script and its state. */
typedef struct cvtm_script {
  const char *name; /* for messages */
  const char *next; /* the remaining text */
  int line;
  int64_t frames; /* frames to draw before the next action */
  int64_t until;  /* wait: the iteration that the script waits for; -1: none */
  int converging, settling;
  uint64_t settled; /* settle: the number of commands that the state must include */
  char shot[640];   /* file to be written after the next frame; "": none */
  double clock;     /* time of scripted events, seconds */
} cvtm_script;

/* Initialises the script; text is borrowed. */
void cvtm_script_init(cvtm_script *script, const char *name, const char *text);
/* Runs actions until the next frame is needed. *waits: nonzero if the script waits for a later
 * state. The message of CVTM_ERROR_INPUT names the line. */
cvtm_status cvtm_script_play(cvtm_script *script, cvtm_control *control, cvtm_surface *surface,
                             int *waits, cvtm_error *error);
int cvtm_script_over(const cvtm_script *script);

/* Parses a list such as "cells,sites". The message of CVTM_ERROR_ARGUMENT names the unknown
 * word. */
cvtm_status cvtm_layers_parse(const char *list, unsigned *layers, cvtm_error *error);
