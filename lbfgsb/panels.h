/* Inside lbfgsb only: histories of more than CVTM_LBFGSB_SHORT pairs. The columns of W = [Y S] are
 * panels, which cuBLAS multiplies on CUDA. The host makes the decisions of iteration.h and waits
 * for each pass. */
#ifndef CVTMESH_LBFGSB_PANELS_H
#define CVTMESH_LBFGSB_PANELS_H

#include "lbfgsb/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_PANELS_BATCH = 256 /* rows of W that the host reads at once */ };

/* What differs between devices. Every function waits for its result. `arrays` are those of one
 * problem, except that arrays->state is on the host and its `bounded` is 0; `own` is what open
 * made. */
typedef struct cvtm_panels_table {
  /* Makes what the device keeps for n variables and m pairs. */
  cvtm_status (*open)(cvtm_device *device, int64_t n, int m, void **own);
  void (*close)(cvtm_device *device, void *own);
  /* A pass over all rows, not CVTM_PASS_RESTRICT. q: on the host, for pass B. result: on the host,
   * the entries of the pass; those of pass A as cvtm_lbfgsb_get_layout(m, 0) places them. */
  cvtm_status (*pass)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                      cvtm_lbfgsb_pass pass, const double *q, int entries, double *result);
  /* Sets the trial point to x + step d, projected. */
  cvtm_status (*move)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays);
  /* Products over `count` listed rows, on the host: gram[a * 2k + b], a >= b, of columns a and b
   * of [Y S] (k stored pairs, in the order of their columns), and wg[2k], the columns times g. */
  cvtm_status (*gram)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                      const int32_t *rows, int64_t count, double *gram, double *wg);
  /* w[r * (2m + 1) ..]: for each of at most CVTM_PANELS_BATCH rows the 2m columns of [Y S] and g,
   * scaled. rows and w: on the host. */
  cvtm_status (*read_rows)(cvtm_device *device, void *own, const cvtm_lbfgsb_arrays *arrays,
                           const int32_t *rows, int count, double *w);
} cvtm_panels_table;

extern const cvtm_panels_table cvtm_panels_table_cpu, cvtm_panels_table_cuda;

/* Allocates for the arrays' n, problems, entries and history what needs room for
 * CVTM_LBFGSB_MAX_HISTORY columns: state, model, walk, work, sums and reduced; and requests. The
 * host and the device see all of these at one address. */
cvtm_status cvtm_panels_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int m, int exact,
                               cvtm_panels **panels);
void cvtm_panels_destroy(cvtm_device *device, cvtm_panels *panels);
/* The functions of cvtm_lbfgsb_table. */
cvtm_status cvtm_panels_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
cvtm_status cvtm_panels_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
/* Bytes of the model of one problem. */
size_t cvtm_panels_model_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
