/* Inside lbfgsb only: lists of the rows that a phase picks out, ascending or in the order of their
 * breakpoints. */
#ifndef CVTMESH_LBFGSB_LISTS_H
#define CVTMESH_LBFGSB_LISTS_H

#include "lbfgsb/variables.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cvtm_lbfgsb_rows {
  CVTM_ROWS_FIXED,   /* t_i = 0 */
  CVTM_ROWS_LEAVING, /* 0 < t_i <= t^c */
  CVTM_ROWS_WINDOW   /* window_start < t_i <= window_end */
} cvtm_lbfgsb_rows;

/* True if row i is to be listed; *t = t_i. */
CVTM_HD int cvtm_lbfgsb_selects(const cvtm_lbfgsb_arrays *arrays, const cvtm_lbfgsb_state *state,
                                cvtm_lbfgsb_rows which, int64_t i, double *t) {
  const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(arrays, i, arrays->x[i], arrays->g[i]);
  if (which == CVTM_ROWS_FIXED) return !cvtm_lbfgsb_is_free(&row);
  const double least = which == CVTM_ROWS_WINDOW ? state->window_start : 0.0;
  const double most = which == CVTM_ROWS_WINDOW ? state->window_end : state->cauchy;
  *t = cvtm_lbfgsb_breakpoint(&row);
  return *t > least && *t <= most;
}

/* A list and what making it needs, in device memory for n rows. */
typedef struct cvtm_lbfgsb_list {
  int32_t *rows;
  int32_t *flags;  /* CUDA */
  int64_t *places; /* CUDA */
  int32_t *other_rows;
  uint64_t *other_keys;
  void *workspace;
  size_t workspace_bytes;
} cvtm_lbfgsb_list;

/* What differs between devices. Lists rows, ascending, and waits for their number. CVTM_ROWS_WINDOW
 * also writes their t_i to arrays->breakpoints. arrays->state is on the host. */
typedef struct cvtm_lbfgsb_list_table {
  cvtm_status (*make)(cvtm_device *device, const cvtm_lbfgsb_list *list,
                      const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which, int64_t *count);
} cvtm_lbfgsb_list_table;

extern const cvtm_lbfgsb_list_table cvtm_lbfgsb_list_table_cpu, cvtm_lbfgsb_list_table_cuda;

/* sorts: room for cvtm_lbfgsb_list_breakpoints. After a failure: destroy. */
cvtm_status cvtm_lbfgsb_list_create(cvtm_device *device, int64_t n, int sorts,
                                    cvtm_lbfgsb_list *list);
void cvtm_lbfgsb_list_destroy(cvtm_device *device, cvtm_lbfgsb_list *list);
cvtm_status cvtm_lbfgsb_list_make(cvtm_device *device, const cvtm_lbfgsb_list *list,
                                  const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_rows which,
                                  int64_t *count);
/* The rows of the window in the order of (t, row); arrays->breakpoints has their t_i. */
cvtm_status cvtm_lbfgsb_list_breakpoints(cvtm_device *device, const cvtm_lbfgsb_list *list,
                                         const cvtm_lbfgsb_arrays *arrays, int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
