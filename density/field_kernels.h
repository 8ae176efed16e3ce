/* Inside density only: the phases on fields that differ between devices. Each enqueues its work
 * on the device's stream. */
#ifndef CVTMESH_DENSITY_FIELD_KERNELS_H
#define CVTMESH_DENSITY_FIELD_KERNELS_H

#include "density/field_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_field_table {
  /* out = sign L v. */
  cvtm_status (*laplacian)(cvtm_device *device, const cvtm_lcp_grid *grid, double sign,
                           const double *v, double *out);
  /* out = v + up - down. */
  cvtm_status (*displace)(cvtm_device *device, int64_t count, const double *v, const double *up,
                          const double *down, double *out);
  /* out = v, or `least` where v is smaller. */
  cvtm_status (*at_least)(cvtm_device *device, int64_t count, double least, const double *v,
                          double *out);
  /* g at all edges of the image. */
  cvtm_status (*detector)(cvtm_device *device, const cvtm_level_set *set);
  /* Sets the LCP of the next step, and the sums of the last one over all pixels, in a fixed order.
   * Then u becomes `before`. */
  cvtm_status (*advance)(cvtm_device *device, const cvtm_level_set *set);
} cvtm_field_table;

extern const cvtm_field_table cvtm_field_table_cpu, cvtm_field_table_cuda;

#ifdef __cplusplus
}
#endif
#endif
