/* A picture on its way to a density: segmentation, weights, domain, smoothing and grading, for
 * the subcommands that have these options. */
#ifndef CVTMESH_CLI_CONDITION_H
#define CVTMESH_CLI_CONDITION_H

#include "base/device.h"
#include "base/domain.h"
#include "cli/options.h"
#include "density/condition.h"
#include "density/region.h"
#include "density/seeds.h"
#include "density/segment.h"

#include <cjson/cJSON.h>

/* A segmentation by the options; `shades` and `seeds` are its input. */
typedef struct cli_segmentation {
  double *shades, *u; /* width * height; u < 0 inside */
  uint8_t *inside;    /* what is kept: the parts with a seed */
  cvtm_seeds seeds;
  cvtm_segment_result result;
  cvtm_segment_progress *history; /* result.steps + 1 */
  int64_t count;
  int verbose;
} cli_segmentation;

/* What the options ask of each other; CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_segment_check(const cli_options *options);
int cli_condition_check(const cli_options *options);

/* Device NULL: the CPU. The message is in *error. */
cvtm_status cli_segment_image(cvtm_device *device, const cli_options *options,
                              const cvtm_image *image, cli_segmentation *made, cvtm_error *error);
void cli_segmentation_free(cli_segmentation *made);
/* Half where u is 0 between the pixels' centres, around the parts that are kept; width * height. */
void cli_segment_coverage(const cli_segmentation *made, float *coverage);
void cli_segment_report(const cli_segmentation *made, cJSON *report);

typedef struct cli_conditioned {
  cvtm_domain domain;
  float *density;
  double *precise;      /* the same before rounding */
  uint8_t *inside;      /* the domain; NULL: everything */
  cvtm_region *regions; /* that the domain is made of; the obstacles come last */
  int region_count, obstacles_from;
  cvtm_condition_result result;
  cli_segmentation segmentation; /* empty without --segment */
} cli_conditioned;

/* Reads the picture and does all that the options ask for. An automatic density_from becomes
 * what was chosen. */
cvtm_status cli_read_conditioned(cvtm_device *device, const char *path, cli_options *options,
                                 cli_conditioned *made, cvtm_error *error);
/* The centroid of a cell that reaches around an obstacle may lie in it: sites that are outside the
 * domain, decided exactly for polygons however thin, go to a place inside that is near. How
 * many there were. */
int64_t cli_condition_move_sites(const cli_conditioned *made, double *sites, int64_t count);
void cli_conditioned_free(cli_conditioned *made);
void cli_condition_report(const cli_options *options, const cli_conditioned *made, cJSON *report);

#endif
