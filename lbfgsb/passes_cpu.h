/* Inside lbfgsb only: the passes over the rows on the CPU. */
#ifndef CVTMESH_LBFGSB_PASSES_CPU_H
#define CVTMESH_LBFGSB_PASSES_CPU_H

#include "lbfgsb/lbfgsb_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_LBFGSB_CPU_PART = 2048 /* rows of a part of a pass */ };

typedef enum cvtm_lbfgsb_pass {
  CVTM_PASS_START,    /* projects x onto the box */
  CVTM_PASS_SEARCH,   /* g'd at the trial point */
  CVTM_PASS_A,        /* the trial point becomes the current one; the sums of cvtm_lbfgsb_layout */
  CVTM_PASS_RESTRICT, /* the same sums over the rows with 0 < t_i <= t^c */
  CVTM_PASS_B         /* d and the trial point of step 1 */
} cvtm_lbfgsb_pass;

/* The parts of n rows. */
int64_t cvtm_lbfgsb_cpu_parts(int64_t n);
/* q: coefficients of the subspace step, Y before S, for pass B. result[0 .. entries - 1]: what the
 * pass reduces to. */
void cvtm_lbfgsb_cpu_pass(int threads, const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_pass pass,
                          const double *q, int entries, double *result);
/* Sets the trial point to x + step d, projected. */
void cvtm_lbfgsb_cpu_move(int threads, const cvtm_lbfgsb_arrays *arrays);
/* w[0 .. 2m]: row i of the 2m columns of W = [Y S], and g_i, scaled. */
void cvtm_lbfgsb_cpu_read_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double *w);

#ifdef __cplusplus
}
#endif
#endif
