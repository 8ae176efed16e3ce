/* Shows a running optimisation in a window, or writes pictures of it. */
#pragma once

#include "cvt/cvt.h"
#include "viewer/view.h"

CVTM_C_BEGIN

/* All pointers are borrowed. NULL and zero give the default. */
typedef struct cvtm_viewer_options {
  cvtm_device *device; /* used by a thread of the viewer until cvtm_viewer_run returns */
  cvtm_domain domain;
  const float *density;
  double *sites; /* 2 * count */
  int64_t count;
  cvtm_cvt_options cvt; /* monitor must be NULL */
  cvtm_cvt_start start;
  uint64_t seed;

  const char *title;
  int width, height;
  unsigned layers; /* 0: the default layers */
  cvtm_fill fill;
  int dark, paused;
  int pinned; /* nonzero: no CUDA-OpenGL interop */

  int offscreen;           /* nonzero: draw into memory by EGL, without a window */
  const char *script;      /* text of a script */
  const char *script_name; /* for messages */
  int64_t frames;   /* number of frames to draw; 0: until the user or the script ends the viewer or,
                       offscreen without a script, until the optimisation has converged */
  const char *shot; /* file for the last frame (PNG) */
  const char *record; /* existing folder for all frames */
  const char *save;   /* key S writes this name plus .png, .csv and .obj; NULL: cvtmesh-view */
  int (*interrupted)(void); /* called often; a nonzero result ends the viewer */
  void (*say)(void *context, const char *line);
  void *say_context;
} cvtm_viewer_options;

typedef struct cvtm_viewer_result {
  double *sites; /* sites of the last frame, 2 * count, malloc'd; freed by the caller */
  int64_t count, iterations;
  double ratio, gradient_norm;
  int64_t frames; /* number of frames drawn */
  double seconds; /* time since the first frame */
} cvtm_viewer_result;

/* Runs until the window is closed or the script has ended. Fails with CVTM_ERROR_DEVICE_UNAVAILABLE
 * if there is no display or no OpenGL 3.3. */
cvtm_status cvtm_viewer_run(const cvtm_viewer_options *options, cvtm_viewer_result *result,
                            cvtm_error *error);

CVTM_C_END
