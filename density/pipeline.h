/* All steps from a picture to a density, in this order: tone, weights of regions, mask (the density
 * becomes 0 outside it), asymmetric smoothing, grading, and the bound on the gradation of sizes. */
#pragma once

#include "density/condition.h"
#include "density/density.h"
#include "density/region.h"

CVTM_API_BEGIN

/* A region is a source for cvtm_region_open, or has the name "alpha": the opaque pixels of the
 * picture itself. */
typedef struct cvtm_region_weight {
  cvtm_input region;
  double factor; /* >= 0, multiplies the density in the region */
} cvtm_region_weight;

/* The arrays and strings must outlive the call. A comment ends with the default if that is not 0 or
 * NULL. The defaults of `tone` and `condition` are those of cvtm_density_defaults and
 * cvtm_condition_defaults. */
typedef struct cvtm_pipeline_options {
  cvtm_density_options tone;
  const cvtm_region_weight *weights;
  int weight_count;
  const cvtm_input *within;    /* the regions whose intersection is the mask, ... */
  const cvtm_input *obstacles; /* ... without the regions of these obstacles */
  int within_count, obstacle_count;
  cvtm_condition_options condition;
  int precise; /* nonzero: result->precise is set */
  int threads; /* number of threads if no device is given; 0: OpenMP's default */
  CVTM_RESERVED(8);
} cvtm_pipeline_options;

void cvtm_pipeline_defaults(cvtm_pipeline_options *options);

typedef struct cvtm_pipeline_result {
  int width, height;
  float *density;  /* width * height */
  double *precise; /* the density before it was rounded to float; NULL unless options->precise */
  uint8_t *mask;   /* 1 on pixels where sites may be; NULL: all */
  cvtm_region *regions; /* the regions of the mask, then the obstacles */
  int region_count, first_obstacle;
  cvtm_condition_result condition;
  CVTM_RESERVED(8);
} cvtm_pipeline_result;

/* Runs all steps. name: name of the picture for messages. device NULL: opens the CPU during the
 * call. On failure *result is empty and the message is in *error. */
cvtm_status cvtm_pipeline_run(cvtm_device *device, const cvtm_image *image, const char *name,
                              const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                              cvtm_error *error);
void cvtm_pipeline_free(cvtm_pipeline_result *result);

/* Moves sites (2 * count, inside the picture) that lie outside the mask to a nearby point inside
 * it, and returns the number of sites moved. There are such sites because the centroid of a cell
 * around an obstacle may lie in the obstacle. A region of polygons is tested by its polygons, not
 * its pixels. */
int64_t cvtm_pipeline_move_sites(const cvtm_pipeline_result *result, double *sites, int64_t count);

CVTM_API_END
