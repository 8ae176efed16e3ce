/* The options of segmentation and of the density's pipeline (density/pipeline.h), for the
 * subcommands that have them: their checks, their values, and what the report says. */
#ifndef CVTMESH_CLI_CONDITION_H
#define CVTMESH_CLI_CONDITION_H

#include "base/device.h"
#include "cli/options.h"
#include "density/pipeline.h"

#include <cjson/cJSON.h>

/* Check options that depend on each other. Return CLI_EXIT_OK, or CLI_EXIT_USAGE after a message.
 */
int cli_segment_check(const cli_options *options);
int cli_condition_check(const cli_options *options);

/* Segments a picture by the options; cvtm_segmentation_free. The message is in *error. */
cvtm_status cli_segment_image(cvtm_device *device, const cli_options *options,
                              const cvtm_image *image, cvtm_segmentation *made, cvtm_error *error);
void cli_segment_report(const cvtm_segmentation *made, cJSON *report);

cvtm_condition_options cli_condition_settings(const cli_options *options);

/* Reads a picture and makes its density by the options; cvtm_pipeline_free. Device NULL: the CPU.
 * The choice replaces an automatic density_from. *tone: the ink that a drawing needs in each pixel,
 * malloc'd, 0 where the density is 0; NULL of data. *rgb: cvtm_colours_from_image. `tone` and `rgb`
 * may be NULL. */
cvtm_status cli_read_conditioned(cvtm_device *device, const char *path, cli_options *options,
                                 cvtm_pipeline_result *made, float **tone, float **rgb,
                                 cvtm_error *error);
void cli_condition_report(const cli_options *options, const cvtm_pipeline_result *made,
                          cJSON *report);

#endif
