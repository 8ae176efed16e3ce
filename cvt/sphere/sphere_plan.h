/* Inside cvt/sphere only: evaluations of the energy on a device, and descents. */
#ifndef CVTMESH_CVT_SPHERE_SPHERE_PLAN_H
#define CVTMESH_CVT_SPHERE_SPHERE_PLAN_H

#include "cvt/sphere.h"
#include "cvt/sphere/sphere_phases.h"
#include "lbfgsb/lbfgsb.h"

enum { CVTM_SPHERE_MAP_MOST = 4096 };

/* The map of a cube for the widths, with as many points along a side as these have rows, at most
 * CVTM_SPHERE_MAP_MOST. map->value: in host memory, malloc'd; NULL for even widths. */
cvtm_status cvtm_sphere_map_create(const cvtm_sphere_widths *widths, cvtm_sphere_map *map,
                                   cvtm_error *error);

/* Memory for evaluations of `count` sites. */
typedef struct cvtm_sphere_plan {
  cvtm_device *device;
  const cvtm_sphere_table *table;
  int64_t count;
  cvtm_sphere_work work;
  float *map;
  unsigned char *fixed;
  int shapes; /* nonzero: evaluations are those of shapes, and the neighbours stay */
  double *x, *gradient, *value, *scale; /* 3 * count, but value: 4 */
  int32_t *order;                       /* count: the caller's number of each place */
  void *workspace;
  size_t workspace_bytes;
} cvtm_sphere_plan;

cvtm_status cvtm_sphere_plan_create(cvtm_device *device, const cvtm_sphere_map *map, int64_t count,
                                    cvtm_sphere_plan *plan);
void cvtm_sphere_plan_destroy(cvtm_sphere_plan *plan);
/* Sorts the sites (host, the caller's order) into the plan's order. fixed: the number of the first
 * sites, which do not move. */
cvtm_status cvtm_sphere_plan_put(cvtm_sphere_plan *plan, const double *sites, int64_t fixed);
cvtm_status cvtm_sphere_plan_get(cvtm_sphere_plan *plan, double *sites);
/* The triangulation of the sites of the last evaluation: in the plan's order or, if sites are
 * fixed, in the caller's. */
cvtm_status cvtm_sphere_plan_mesh(cvtm_sphere_plan *plan, cvtm_sphere_mesh *mesh);
/* Enqueues an evaluation at x: value[0] = the energy, value[1] = the number of cells that could not
 * be cut; gradient. */
cvtm_status cvtm_sphere_plan_evaluate(cvtm_sphere_plan *plan, const double *x, double *value,
                                      double *gradient);
/* Steps of Lloyd's method. */
cvtm_status cvtm_sphere_plan_lloyd(cvtm_sphere_plan *plan, int steps);
/* L-BFGS-B, of the energy or of the shapes of the triangles between neighbours at the start. */
cvtm_status cvtm_sphere_plan_descend(cvtm_sphere_plan *plan, int shapes, int iterations,
                                     double max_seconds, cvtm_lbfgsb_result *result);

#endif
