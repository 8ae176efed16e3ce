/* Inside lcp only: a sparse matrix on several levels, in device memory, every level ordered by
 * colour. Coarse grids come from the grid where there is one, else from aggregation. */
#ifndef CVTMESH_LCP_SPARSE_SPARSE_HIERARCHY_H
#define CVTMESH_LCP_SPARSE_SPARSE_HIERARCHY_H

#include "lcp/sparse/sparse_phases.h"

typedef struct cvtm_hierarchy_options {
  int64_t width, height; /* 0, 0: no grid */
  int levels;            /* at most; CVTM_LEVELS_MAX for no limit */
  int truncates;         /* corrections have values of their own */
  int is_symmetric;      /* in pattern; else zeros are added where that takes them */
  int bounded;           /* coarse problems have bounds: interpolation may not overshoot */
} cvtm_hierarchy_options;

typedef struct cvtm_hierarchy {
  cvtm_device *device;
  const cvtm_sparse_phases *phases;
  int truncates;
  int count;
  cvtm_level level[CVTM_LEVELS_MAX];
  cvtm_level *level_device; /* the same in device memory */
  uint8_t *has_bounds;      /* of the levels; device memory */
  int32_t *order;           /* the user's row of each row of level 0; device memory */
  void *owned[16 * CVTM_LEVELS_MAX];
  int owned_count;
} cvtm_hierarchy;

/* The matrix has been checked (square, positive diagonal). */
cvtm_status cvtm_hierarchy_create(cvtm_device *device, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options, cvtm_hierarchy *hierarchy);
void cvtm_hierarchy_destroy(cvtm_hierarchy *hierarchy);

/* Device memory that lives as long as the hierarchy. */
cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *hierarchy, int64_t count, size_t size,
                                    void **memory);

/* Corrections of the problem on level `top` begin with nothing active. Enqueued. */
cvtm_status cvtm_hierarchy_reset(cvtm_hierarchy *hierarchy, int top);

/* Gauss-Seidel on the first `colours` colours; sweeps over all. Enqueued, as is what follows. */
cvtm_status cvtm_hierarchy_relax(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_passage how, double omega, int64_t colours);
cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *hierarchy, const cvtm_level *level,
                                 cvtm_passage how, double omega, int sweeps);
/* Brings the products below `top` up to date with its active rows. */
cvtm_status cvtm_hierarchy_products(const cvtm_hierarchy *hierarchy, int top);
/* V-cycle for the corrections on level `first` and coarser ones. */
cvtm_status cvtm_hierarchy_correct(const cvtm_hierarchy *hierarchy, int first,
                                   cvtm_restrict_bounds bounds, int pre, int post);

#endif
