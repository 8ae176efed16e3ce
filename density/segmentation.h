/* Segments the object in a picture that seeds mark, in these steps: shades, seeds, the first curve,
 * the level set (density/segment.h), and the choice of those parts of its inside that have a seed.
 */
#ifndef CVTMESH_DENSITY_SEGMENTATION_H
#define CVTMESH_DENSITY_SEGMENTATION_H

#include "base/device.h"
#include "density/seeds.h"
#include "density/segment.h"

CVTM_API_BEGIN

typedef struct cvtm_disc {
  double x, y, radius; /* pixels */
} cvtm_disc;

typedef enum cvtm_first_curve {
  CVTM_FIRST_CURVE_GROW,  /* grown from the seeds: cvtm_seeds_grow */
  CVTM_FIRST_CURVE_IMAGE, /* a pixel inside the border of the image */
  CVTM_FIRST_CURVE_DISC,
  CVTM_FIRST_CURVE_FILE /* the boundary of a region: cvtm_region_read */
} cvtm_first_curve;

/* The arrays and strings must outlive the call. */
typedef struct cvtm_segmentation_options {
  const cvtm_disc *inside, *outside; /* seeds */
  int inside_count, outside_count;
  const char *seeds_file; /* for cvtm_seeds_add_image; NULL: none */
  double seed_value;      /* > 0: the level set is at most -seed_value on inside seeds and at least
                             seed_value on outside ones; 0.05 */
  cvtm_first_curve first; /* grow */
  cvtm_disc first_disc;
  const char *first_file;
  double sigma;                 /* of the Gaussian smoothing before, pixels; 0 */
  cvtm_segment_options segment; /* cvtm_segment_defaults */
  CVTM_RESERVED(8);
} cvtm_segmentation_options;

void cvtm_segmentation_defaults(cvtm_segmentation_options *options);

typedef struct cvtm_segmentation {
  double *shades, *u; /* width * height; u < 0 inside */
  uint8_t *inside;    /* width * height; 1 in the parts of the inside that have a seed */
  cvtm_seeds seeds;
  cvtm_segment_result result;
  cvtm_segment_progress *history; /* of the start and each step */
  int64_t history_count;
} cvtm_segmentation;

/* name: of the picture; begins the messages that name no other file. *made is empty on failure;
 * else cvtm_segmentation_free frees it. The message is in *error. */
cvtm_status cvtm_segmentation_run(cvtm_device *device, const cvtm_image *image, const char *name,
                                  const cvtm_segmentation_options *options, cvtm_segmentation *made,
                                  cvtm_error *error);
void cvtm_segmentation_free(cvtm_segmentation *made);
/* coverage: width * height values. Interpolated between pixel centres they are 1/2 on the boundary
 * of the parts with a seed, and larger inside. */
void cvtm_segmentation_coverage(const cvtm_segmentation *made, float *coverage);

CVTM_API_END
#endif
