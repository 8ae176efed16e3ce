/* Inside lcp only: a hierarchy of sparse matrices in device memory and its V-cycle. Coarse levels
 * come from the grid of the unknowns if there is one, else from aggregation. */
#ifndef CVTMESH_LCP_SPARSE_HIERARCHY_H
#define CVTMESH_LCP_SPARSE_HIERARCHY_H

#include "lcp/sparse/sparse_kernels.h"

typedef struct cvtm_hierarchy_options {
  int64_t width, height; /* 0, 0: no grid */
  int levels;            /* at most; CVTM_LEVELS_MAX for no limit */
  int is_symmetric;      /* else zeros are added to the pattern until it is, and interpolation from
                            aggregates is piecewise constant, so that it does not overshoot */
} cvtm_hierarchy_options;

typedef struct cvtm_hierarchy {
  cvtm_device *device;
  const cvtm_sparse_table *table;
  int count;
  cvtm_level level[CVTM_LEVELS_MAX];
  cvtm_level *level_device; /* the same in device memory */
  uint8_t *has_bounds;      /* cvtm_level.has_bounds of all levels */
  int32_t *order;           /* the user's row of each row of level 0; device memory */
  void *owned[16 * CVTM_LEVELS_MAX];
  int owned_count;
} cvtm_hierarchy;

/* The matrix has been checked: square, positive diagonal. */
cvtm_status cvtm_hierarchy_create(cvtm_device *device, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options, cvtm_hierarchy *hierarchy);
void cvtm_hierarchy_destroy(cvtm_hierarchy *hierarchy);

/* Device memory that the hierarchy frees. */
cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *hierarchy, int64_t count, size_t size,
                                    void **memory);

/* All that follows is enqueued. */

/* Makes all rows of level `top` inactive, and the matrices of corrections below it those of that.
 */
cvtm_status cvtm_hierarchy_reset(cvtm_hierarchy *hierarchy, int top);
/* Gauss-Seidel on the first `colours` colours. */
cvtm_status cvtm_hierarchy_relax(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int64_t colours);
/* Gauss-Seidel on all colours, `sweeps` times. */
cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int sweeps);
/* Updates the Galerkin products below `top` where its active rows have changed. */
cvtm_status cvtm_hierarchy_update_galerkin(const cvtm_hierarchy *hierarchy, int top);
/* A V-cycle for the correction on level `first`, with a sweep before and after. */
cvtm_status cvtm_hierarchy_cycle(const cvtm_hierarchy *hierarchy, int first);

#endif
