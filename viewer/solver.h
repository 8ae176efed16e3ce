/* The optimiser in a thread of its own. It takes commands at any time and publishes states;
 * the drawing thread takes the newest one and never waits. */
#ifndef CVTMESH_VIEWER_SOLVER_H
#define CVTMESH_VIEWER_SOLVER_H

#include "cvt/cvt.h"
#include "viewer/frame.h"
#include "viewer/points.h"

typedef enum cvtm_solver_command_kind {
  CVTM_SOLVE_PAUSE,   /* or continue */
  CVTM_SOLVE_STEP,    /* one iteration, then pause */
  CVTM_SOLVE_RESEED,  /* new random sites; the fixed ones stay */
  CVTM_SOLVE_METHOD,  /* Lloyd or L-BFGS-B */
  CVTM_SOLVE_SCATTER, /* `site` more sites by samples of the density; negative: fewer */
  CVTM_SOLVE_ADD,     /* a site at x, y */
  CVTM_SOLVE_DELETE,  /* the site */
  CVTM_SOLVE_HOLD,    /* the site stays at x, y until it is released */
  CVTM_SOLVE_LET_GO,
  CVTM_SOLVE_PAINT, /* a dab of the brush at x, y */
} cvtm_solver_command_kind;

/* A dab raises or lowers the density, or makes an obstacle: density zero. */
typedef enum cvtm_brush {
  CVTM_BRUSH_NONE,
  CVTM_BRUSH_DENSE,
  CVTM_BRUSH_SPARSE,
  CVTM_BRUSH_OBSTACLE,
  CVTM_BRUSH_COUNT
} cvtm_brush;

typedef struct cvtm_solver_command {
  cvtm_solver_command_kind kind;
  int64_t site;
  double x, y, radius; /* pixels of the density */
  cvtm_brush brush;
} cvtm_solver_command;

typedef struct cvtm_solver cvtm_solver;

typedef struct cvtm_solver_options {
  cvtm_device *device; /* used by the solver's thread alone from start to stop */
  cvtm_domain domain;
  const float *density; /* copied */
  const double *sites;  /* copied */
  int64_t count;
  cvtm_cvt_options cvt; /* without a monitor; cvt.fixed sites come first */
  cvtm_cvt_start start;
  uint64_t seed;
  int paused;
} cvtm_solver_options;

/* Starts the thread. points: also receives the newest sites; may be NULL. Both are borrowed. */
cvtm_status cvtm_solver_start(const cvtm_solver_options *options, cvtm_points *points,
                              cvtm_solver **solver, cvtm_error *error);
/* Ends the thread, which frees the device's memory. */
void cvtm_solver_stop(cvtm_solver *solver);

/* Never waits for an iteration. Returns the number of commands sent so far: a state whose
 * `commands` is not smaller includes this one. Returns 0 if there was no memory. */
uint64_t cvtm_solver_send(cvtm_solver *solver, const cvtm_solver_command *command);

/* The reader's side, one thread: nonzero if there is a newer state, then in *state until the next
 * call. */
int cvtm_solver_take(cvtm_solver *solver, const cvtm_view_state **state);
/* Waits until there may be a newer state, at most the given time. */
void cvtm_solver_wait(cvtm_solver *solver, double seconds);

/* Calls visit with the current density under a lock, which visit should hold for a short time only,
 * and sets *version to the current one; does nothing if *version is current. */
typedef void (*cvtm_density_visit)(void *context, const float *density, cvtm_domain domain);
void cvtm_solver_visit_density(cvtm_solver *solver, uint64_t *version, cvtm_density_visit visit,
                               void *context);
/* CVTM_OK, or the failure that ended the optimisation; the message is copied. */
cvtm_status cvtm_solver_error(cvtm_solver *solver, cvtm_error *error);

#endif
