/* Runs the optimiser in a thread, which accepts commands at any time and publishes states; the
 * drawing thread takes the newest state and never waits. */
#pragma once

#include "cvt/cvt.h"
#include "viewer/frame.h"
#include "viewer/points.h"

typedef enum cvtm_solver_command_kind {
  CVTM_SOLVE_PAUSE,   /* pause or continue */
  CVTM_SOLVE_STEP,    /* run one iteration, then pause */
  CVTM_SOLVE_RESEED,  /* draw new random sites, except fixed sites */
  CVTM_SOLVE_METHOD,  /* switch between Lloyd and L-BFGS-B */
  CVTM_SOLVE_SCATTER, /* add `site` random sites, drawn from the density; negative: remove sites */
  CVTM_SOLVE_ADD,     /* add a site at x, y */
  CVTM_SOLVE_DELETE,  /* remove `site` */
  CVTM_SOLVE_HOLD,    /* keep `site` at x, y until CVTM_SOLVE_LET_GO */
  CVTM_SOLVE_LET_GO,
  CVTM_SOLVE_PAINT, /* paint a dab of the brush at x, y */
} cvtm_solver_command_kind;

/* The kinds of dabs: raise the density, lower it, or set it to zero (an obstacle). */
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
  cvtm_device *device; /* used only by the solver's thread from start to stop */
  cvtm_domain domain;
  const float *density; /* copied */
  const double *sites;  /* copied */
  int64_t count;
  cvtm_cvt_options cvt; /* monitor must be NULL; the first cvt.fixed sites are fixed */
  cvtm_cvt_start start;
  uint64_t seed;
  int paused;
} cvtm_solver_options;

/* Starts the thread. points: also gets the newest sites; may be NULL. options and points are
 * borrowed. */
cvtm_status cvtm_solver_start(const cvtm_solver_options *options, cvtm_points *points,
                              cvtm_solver **solver, cvtm_error *error);
/* Ends the thread, which frees its device memory. */
void cvtm_solver_stop(cvtm_solver *solver);

/* Sends a command without waiting for an iteration. Returns the number of commands sent so far; a
 * state includes this command if its `commands` is at least this number. Returns 0 if memory runs
 * out. */
uint64_t cvtm_solver_send(cvtm_solver *solver, const cvtm_solver_command *command);

/* Takes the newest state, for one reading thread. Returns 0 if there is no newer state; else *state
 * is valid until the next call. */
int cvtm_solver_take(cvtm_solver *solver, const cvtm_view_state **state);
/* Waits until there may be a newer state, but at most the given time. */
void cvtm_solver_wait(cvtm_solver *solver, double seconds);

/* Calls visit with the density, and updates *version, if *version is not the current version of the
 * density. visit runs under a lock, so it should be short. */
typedef void (*cvtm_density_visit)(void *context, const float *density, cvtm_domain domain);
void cvtm_solver_visit_density(cvtm_solver *solver, uint64_t *version, cvtm_density_visit visit,
                               void *context);
/* Returns CVTM_OK, or the error that ended the optimisation, with a copy of its message. */
cvtm_status cvtm_solver_error(cvtm_solver *solver, cvtm_error *error);
