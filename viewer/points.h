/* Copies the newest sites from the solver's device to an OpenGL buffer. The copy stays in device
 * memory if OpenGL runs on the same GPU, else passes through pinned host memory or, on the CPU,
 * ordinary memory. The solver's thread publishes and the drawing thread reads; neither waits for
 * the other. */
#pragma once

#include "base/device.h"

typedef struct cvtm_points cvtm_points;

/* Creates the copier; the OpenGL context must be current. Uses CUDA-OpenGL interop if the context
 * and the solver have the same GPU; pinned: nonzero: never use interop. */
cvtm_status cvtm_points_create(cvtm_device *device, int pinned, cvtm_points **points,
                               cvtm_error *error);
/* Called after the solver's thread has ended, with the context current. */
void cvtm_points_destroy(cvtm_points *points);
/* The kind of copy: "host memory", "pinned copies" or "CUDA-OpenGL interop". */
const char *cvtm_points_path(const cvtm_points *points);

/* Solver: nonzero if the drawing thread has taken the last published sites. */
int cvtm_points_wanted(cvtm_points *points);
/* Solver: publishes sites (2 * count, in its device's memory). Waits only for the copy. */
cvtm_status cvtm_points_publish(cvtm_points *points, const double *sites, int64_t count);

/* Drawing: takes the newest sites and sets *count to their number, or to 0 if none are newer. */
int cvtm_points_take(cvtm_points *points, int64_t *count);
/* Drawing: copies the sites taken last, as float x, y, to the start of an OpenGL buffer that is
 * large enough. renewed: nonzero if `buffer` is not the buffer of the last call. */
cvtm_status cvtm_points_copy(cvtm_points *points, unsigned buffer, int renewed, cvtm_error *error);
