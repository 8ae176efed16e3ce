/* Inside lbfgsb only: the kinds of passes over the rows, and the passes on the CPU; the check of
 * bounds and scale; lists of the rows that a phase selects. */
#pragma once

#include "base/device.h"
#include "lbfgsb/variables.h"

CVTM_C_BEGIN

/* --- passes ----------------------------------------------------------------------------------- */

enum { CVTM_LBFGSB_CPU_PART = 2048 /* rows in a part of a pass */ };

typedef enum cvtm_lbfgsb_pass {
  CVTM_PASS_START,    /* projects x onto the box */
  CVTM_PASS_SEARCH,   /* g'd at the trial point */
  CVTM_PASS_A,        /* accepts the trial point; the sums of cvtm_lbfgsb_layout */
  CVTM_PASS_RESTRICT, /* the sums over the rows with 0 < t_i <= t^c */
  CVTM_PASS_B         /* d and the trial point of step 1 */
} cvtm_lbfgsb_pass;

/* The number of parts of n rows. */
int64_t cvtm_lbfgsb_cpu_parts(int64_t n);
/* Runs a pass. q: coefficients of the subspace step, Y before S, for pass B. result[0 .. entries -
 * 1]: the reductions of the pass. */
void cvtm_lbfgsb_cpu_pass(int threads, const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_pass pass,
                          const double *q, int entries, double *result);
/* Sets the trial point to x + step d, projected onto the box. */
void cvtm_lbfgsb_cpu_move(int threads, const cvtm_lbfgsb_arrays *arrays);
/* Sets w[0 .. 2m - 1] to row i of W = [Y S], and w[2m] to g_i of the scaled variable
 * (variables.h). */
void cvtm_lbfgsb_cpu_read_row(const cvtm_lbfgsb_arrays *arrays, int64_t i, double *w);
/* cvtm_lbfgsb_cpu_read_row for the listed rows; their results are consecutive. */
cvtm_status cvtm_lbfgsb_cpu_read_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                      const int32_t *rows, int count, double *w);

/* --- checks and lists ------------------------------------------------------------------------- */

/* A list of rows and what making it needs, in device memory for n rows. */
typedef struct cvtm_lbfgsb_list {
  int32_t *rows;
  int32_t *flags;  /* CUDA */
  int64_t *places; /* CUDA */
  int32_t *other_rows;
  uint64_t *other_keys;
} cvtm_lbfgsb_list;

/* The result of a check. Zero it before the check. */
typedef struct cvtm_lbfgsb_inputs {
  int64_t bad;    /* n - i for the first invalid variable i; 0: all variables are valid */
  int64_t finite; /* number of finite bounds */
} cvtm_lbfgsb_inputs;

/* The functions that differ between devices. */
typedef struct cvtm_lbfgsb_rows_table {
  /* Enqueues the check of n variables. lower, upper, scale: n doubles in device memory, or NULL. */
  cvtm_status (*check)(cvtm_device *device, const double *lower, const double *upper,
                       const double *scale, int64_t n, cvtm_lbfgsb_inputs *found);
  /* Lists rows in ascending order, and waits for their number. CVTM_ROWS_WINDOW also writes their
   * t_i to arrays->breakpoints. arrays->state is on the host. */
  cvtm_status (*list)(cvtm_device *device, const cvtm_lbfgsb_list *list,
                      const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which, int64_t *count);
} cvtm_lbfgsb_rows_table;

extern const cvtm_lbfgsb_rows_table cvtm_lbfgsb_rows_table_cpu, cvtm_lbfgsb_rows_table_cuda;

/* sorts: nonzero: also allocates what cvtm_lbfgsb_list_breakpoints needs. */
cvtm_status cvtm_lbfgsb_list_create(cvtm_device *device, int64_t n, int sorts,
                                    cvtm_lbfgsb_list *list);
void cvtm_lbfgsb_list_destroy(cvtm_device *device, cvtm_lbfgsb_list *list);
/* Lists the rows with window_start < t_i <= window_end (CVTM_ROWS_WINDOW) in the order of
 * (t_i, row), and writes their t_i to arrays->breakpoints. */
cvtm_status cvtm_lbfgsb_list_breakpoints(cvtm_device *device, const cvtm_lbfgsb_list *list,
                                         const cvtm_lbfgsb_arrays *arrays, int64_t *count);

CVTM_C_END

/* Nonzero if a finite value lies between the bounds of variable i, and the scale of the variable is
 * positive and finite. Adds the number of finite bounds of the variable to *finite. */
CVTM_HD int cvtm_lbfgsb_input_is_valid(const double *lower, const double *upper,
                                       const double *scale, int64_t i, int64_t *finite) {
  const double low = lower ? lower[i] : -HUGE_VAL, high = upper ? upper[i] : HUGE_VAL;
  *finite += cvtm_is_finite(low) + cvtm_is_finite(high);
  const int has_scale = !scale || (scale[i] > 0.0 && cvtm_is_finite(scale[i]));
  return low <= high && low < HUGE_VAL && high > -HUGE_VAL && has_scale;
}
