/* The live viewer: an optimisation in a window, or in pictures without one. */
#ifndef CVTMESH_VIEWER_VIEWER_H
#define CVTMESH_VIEWER_VIEWER_H

#include "cvt/cvt.h"
#include "viewer/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are borrowed. NULL and zero mean the default. */
typedef struct cvtm_viewer_options {
  cvtm_device *device; /* used by a thread of the viewer until the viewer returns */
  cvtm_domain domain;
  const float *density;
  double *sites; /* 2 * count */
  int64_t count;
  cvtm_cvt_options cvt; /* without a monitor */
  cvtm_cvt_start start;
  uint64_t seed;

  const char *title;
  int width, height;
  unsigned layers; /* 0: the usual ones */
  cvtm_fill fill;
  int dark, paused;
  int pinned; /* nonzero: no CUDA-OpenGL interop */

  int offscreen;      /* no window: pictures in memory, by EGL */
  const char *script; /* text of a script, and its name for messages */
  const char *script_name;
  int64_t frames;           /* draw this many, then end; 0: until the user or the script ends it, or
                               offscreen without a script until the optimisation has converged */
  const char *shot;         /* write the last frame here (PNG) */
  const char *record;       /* write every frame into this folder, which exists */
  const char *save;         /* S writes this plus .png, .csv and .obj; NULL: cvtmesh-view */
  int (*interrupted)(void); /* nonzero: end soon */
  void (*say)(void *context, const char *line);
  void *say_context;
} cvtm_viewer_options;

typedef struct cvtm_viewer_result {
  double *sites; /* 2 * count, malloc'd, of the last frame; the caller frees */
  int64_t count, iterations;
  double ratio, gradient_norm;
  int64_t frames; /* drawn */
  double seconds; /* from the first frame on */
} cvtm_viewer_result;

/* Returns when the window is closed or the script has ended. CVTM_ERROR_DEVICE_UNAVAILABLE if there
 * is no display, or no OpenGL 3.3. */
cvtm_status cvtm_viewer_run(const cvtm_viewer_options *options, cvtm_viewer_result *result,
                            cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
