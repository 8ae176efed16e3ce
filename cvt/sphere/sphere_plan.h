/* Inside cvt/sphere only: evaluations of the energy on a device, and descents. */
#pragma once

#include "cvt/sphere.h"
#include "cvt/sphere/sphere_phases.h"
#include "lbfgsb/lbfgsb.h"

enum { CVTM_SPHERE_MAP_MOST = 4096 };

/* Makes the map of the widths on a cube, with as many points along a side as `widths` has rows, at
 * most CVTM_SPHERE_MAP_MOST. map->value: malloc'd; NULL for constant widths. */
cvtm_status cvtm_sphere_map_create(const cvtm_sphere_widths *widths, cvtm_sphere_map *map,
                                   cvtm_error *error);

/* Device memory for evaluations of `count` sites. */
typedef struct cvtm_sphere_plan {
  cvtm_device *device;
  const cvtm_sphere_table *table;
  int64_t count;
  cvtm_sphere_work work;
  float *map;
  unsigned char *fixed;
  double *x, *gradient, *value, *scale; /* 3 * count; value: 4 */
  int32_t *order;                       /* count: the caller's index of each site */
} cvtm_sphere_plan;

cvtm_status cvtm_sphere_plan_create(cvtm_device *device, const cvtm_sphere_map *map, int64_t count,
                                    cvtm_sphere_plan *plan);
void cvtm_sphere_plan_destroy(cvtm_sphere_plan *plan);
/* Sorts the sites (host, the caller's order) into the plan's order. The first `fixed` are fixed. */
cvtm_status cvtm_sphere_plan_put(cvtm_sphere_plan *plan, const double *sites, int64_t fixed);
cvtm_status cvtm_sphere_plan_get(cvtm_sphere_plan *plan, double *sites);
/* Makes the triangulation of the sites of the last evaluation, in the plan's order or, if sites are
 * fixed, in the caller's order. */
cvtm_status cvtm_sphere_plan_mesh(cvtm_sphere_plan *plan, cvtm_sphere_mesh *mesh);
/* Enqueues an evaluation at x, which sets value[0] = the energy, value[1] = the number of cells
 * that are CVTM_SPHERE_OPEN, and the gradient. */
cvtm_status cvtm_sphere_plan_evaluate(cvtm_sphere_plan *plan, const double *x, double *value,
                                      double *gradient);
/* Does steps of Lloyd's method. */
cvtm_status cvtm_sphere_plan_lloyd(cvtm_sphere_plan *plan, int steps);
/* Minimises the energy by L-BFGS-B. Of the options only `stop` and `stop_context` are used. */
cvtm_status cvtm_sphere_plan_descend(cvtm_sphere_plan *plan, const cvtm_sphere_options *options,
                                     int iterations, double max_seconds,
                                     cvtm_lbfgsb_result *result);
