/* From a picture to the density of a run, in this order: tone, segmentation, weights of regions,
 * the mask (the density outside becomes 0), asymmetric smoothing, grading, and the bound on the
 * gradation of sizes. */
#ifndef CVTMESH_DENSITY_PIPELINE_H
#define CVTMESH_DENSITY_PIPELINE_H

#include "density/condition.h"
#include "density/density.h"
#include "density/region.h"
#include "density/segmentation.h"

CVTM_API_BEGIN

/* A region of the picture is the path of a file for cvtm_region_read, or "alpha": the opaque
 * pixels of the picture itself. */
typedef struct cvtm_region_weight {
  const char *region;
  double factor; /* >= 0, on the density in the region */
} cvtm_region_weight;

/* The arrays and strings must outlive the call. */
typedef struct cvtm_pipeline_options {
  cvtm_density_options tone;
  int segments; /* segment the picture; 0 */
  cvtm_segmentation_options segmentation;
  const cvtm_region_weight *weights;
  int weight_count;
  const char *const *within;    /* regions that the mask is the intersection of; */
  const char *const *obstacles; /* regions that are cut out of it */
  int within_count, obstacle_count;
  cvtm_condition_options condition;
  int precise; /* result->precise is wanted; 0 */
  int threads; /* where no device is given; 0: all */
  CVTM_RESERVED(8);
} cvtm_pipeline_options;

void cvtm_pipeline_defaults(cvtm_pipeline_options *options);

typedef struct cvtm_pipeline_result {
  int width, height;
  float *density;       /* width * height */
  double *precise;      /* the same before rounding; NULL unless it was wanted */
  uint8_t *mask;        /* 1 where sites may be; NULL: everywhere */
  cvtm_region *regions; /* that the mask is made of; the obstacles come last */
  int region_count, first_obstacle;
  cvtm_condition_result condition;
  cvtm_segmentation segmentation; /* empty without `segments` */
  CVTM_RESERVED(8);
} cvtm_pipeline_result;

/* name: of the picture, for messages. Device NULL: the CPU, opened for as long as it is needed.
 * *result is empty on failure; else cvtm_pipeline_free frees it. The message is in *error. */
cvtm_status cvtm_pipeline_run(cvtm_device *device, const cvtm_image *image, const char *name,
                              const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                              cvtm_error *error);
void cvtm_pipeline_free(cvtm_pipeline_result *result);

/* Moves sites (2 * count, inside the picture) that lie outside the mask to a place inside that is
 * near, and returns their number: the centroid of a cell that reaches around an obstacle may lie in
 * it. Polygons, however thin, decide by themselves and not by their pixels. */
int64_t cvtm_pipeline_move_sites(const cvtm_pipeline_result *result, double *sites, int64_t count);

CVTM_API_END
#endif
