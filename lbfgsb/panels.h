/* Inside lbfgsb only: histories of more than CVTM_LBFGSB_SHORT pairs. The columns of W = [Y S] form
 * panels, which cuBLAS multiplies on CUDA. The host makes the decisions of iteration.h and waits
 * for each pass. */
#pragma once

#include "lbfgsb/rows.h"

CVTM_C_BEGIN

enum { CVTM_PANELS_BATCH = 256 /* number of rows of W that the host reads at once */ };

/* The functions that differ between devices. Each waits for its result, except `move`, which
 * enqueues its work. arrays: those of one problem, except that arrays->state is on the host. In
 * `pass` and `gram` arrays->state->bounded is 0. own: the result of open. */
typedef struct cvtm_panels_table {
  /* Creates the device's data for n variables and m pairs. */
  cvtm_status (*open)(cvtm_device *device, int64_t n, int m, void **own);
  void (*close)(cvtm_device *device, void *own);
  /* Runs a pass over all rows, except CVTM_PASS_RESTRICT. q (on the host): for pass B. result (on
   * the host): the entries; for pass A those of cvtm_lbfgsb_get_layout(m, 0). */
  cvtm_status (*pass)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                      cvtm_lbfgsb_pass pass, const double *q, int entries, double *result);
  /* Sets the trial point to x + step d, projected onto the box. */
  cvtm_status (*move)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays);
  /* Computes products over `count` listed rows; results are on the host. gram[a * 2k + b], a >= b:
   * the product of columns a and b of [Y S], which has the k stored pairs in the order of their
   * columns. wg[2k]: the products of the columns and g. */
  cvtm_status (*gram)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                      const int32_t *rows, int64_t count, double *gram, double *wg);
  /* For r < count (at most CVTM_PANELS_BATCH), sets w[r * (2m + 1) ..] to row rows[r]: the 2m
   * entries of [Y S], then g_i of the scaled variable. `rows` and w are on the host. */
  cvtm_status (*read_rows)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                           const int32_t *rows, int count, double *w);
} cvtm_panels_table;

extern const cvtm_panels_table cvtm_panels_table_cpu, cvtm_panels_table_cuda;

/* Allocates the arrays whose size depends on CVTM_LBFGSB_MAX_HISTORY, for n, problems, entries and
 * history of `arrays`: state, model, walk, work, sums and reduced; and requests. The host and the
 * device access each of these at one address. */
cvtm_status cvtm_panels_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int m, int exact,
                               cvtm_panels **panels);
void cvtm_panels_destroy(cvtm_device *device, cvtm_panels *panels);
/* Functions of cvtm_lbfgsb_table. */
cvtm_status cvtm_panels_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              const cvtm_lbfgsb_state *first);
cvtm_status cvtm_panels_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
/* The size in bytes of the model of one problem. */
size_t cvtm_panels_model_bytes(void);

CVTM_C_END
