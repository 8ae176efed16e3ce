/* Inside noise/ only: the phases of Gaussian blue noise that differ between devices. */
#ifndef CVTMESH_CVT_NOISE_NOISE_KERNELS_H
#define CVTMESH_CVT_NOISE_NOISE_KERNELS_H

#include "cvt/noise/kernel_sum.h"
#include "cvt/noise/target_value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The points of an evaluation. Arrays are in device memory and have `count` elements. */
typedef struct cvtm_noise_points {
  int64_t count;
  cvtm_target target;         /* its arrays are in device memory, too */
  cvtm_target_value *local;   /* the target at each point */
  cvtm_kernel_source *source; /* the point's kernel */
  cvtm_kernel_sum *sum;       /* over all kernels */
  double *term;               /* the point's share of the energy */
  void *workspace;            /* of cvtm_reduce */
  size_t workspace_bytes;
} cvtm_noise_points;

/* Everything is enqueued. */
typedef struct cvtm_noise_table {
  /* Sorts `count` sources into cells. Sources of a cell keep their order. */
  cvtm_status (*sort)(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *source, int64_t count);
  /* sum[i] at place[i], i = order[k] or k without `order`, k = 0 .. count - 1. */
  cvtm_status (*sums)(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *place, const int32_t *order, int64_t count,
                      cvtm_kernel_sum *sum);
  /* Kernels of the points where x has them, of the widths that the target has there. */
  cvtm_status (*place)(cvtm_device *device, const cvtm_noise_points *points, const double *x);
  /* The energy f[0] and its gradient. Each kernel with itself adds 1/2 and no force. */
  cvtm_status (*gradient)(cvtm_device *device, const cvtm_noise_points *points, double *f,
                          double *g);
} cvtm_noise_table;

extern const cvtm_noise_table cvtm_noise_table_cpu, cvtm_noise_table_cuda;

#ifdef __cplusplus
}
#endif

/* --- what happens at a point --------------------------------------------------------------- */

CVTM_HD void cvtm_noise_place(const cvtm_noise_points *p, const double *x, int64_t i) {
  const cvtm_domain domain = p->target.domain;
  const double px = cvtm_into_domain(x[2 * i], domain.width, domain.periodic);
  const double py = cvtm_into_domain(x[2 * i + 1], domain.height, domain.periodic);
  p->local[i] = cvtm_target_at(&p->target, px, py);
  cvtm_kernel_source *source = &p->source[i];
  source->x = px;
  source->y = py;
  source->width = exp(p->local[i].log_width);
  source->variance = source->width * source->width;
  source->mass = 1;
}

CVTM_HD void cvtm_noise_gradient(const cvtm_noise_points *p, int64_t i, double *g) {
  const cvtm_target_value *at = &p->local[i];
  const cvtm_kernel_sum *sum = &p->sum[i];
  p->term[i] = 0.5 * (sum->value - 1) - at->potential;
  g[2 * i] = sum->by_x + sum->by_log_width * at->width_by[0] - at->potential_by[0];
  g[2 * i + 1] = sum->by_y + sum->by_log_width * at->width_by[1] - at->potential_by[1];
}

#endif
