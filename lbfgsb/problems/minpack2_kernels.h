/* Inside lbfgsb/problems only: the evaluations of minpack2.h on both devices. */
#ifndef CVTMESH_LBFGSB_PROBLEMS_MINPACK2_KERNELS_H
#define CVTMESH_LBFGSB_PROBLEMS_MINPACK2_KERNELS_H

#include "lbfgsb/problems/minpack2_nodes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_minpack2_table {
  /* Parts into which an evaluation is cut: the sizes alone decide, never the machine. */
  int64_t (*parts)(const cvtm_minpack2_data *data);
  /* f[0] and g[n] at x[n]; data->partial has room for all parts, data->blocks_ended is 0. */
  cvtm_status (*evaluate)(cvtm_device *device, const cvtm_minpack2_data *data, const double *x,
                          double *f, double *g, void *stream);
} cvtm_minpack2_table;

extern const cvtm_minpack2_table cvtm_minpack2_table_cpu, cvtm_minpack2_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
