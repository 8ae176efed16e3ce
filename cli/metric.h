/* --metric of `mesh`: meshes whose triangles are stretched along a field. */
#ifndef CVTMESH_CLI_METRIC_H
#define CVTMESH_CLI_METRIC_H

#include "base/domain.h"
#include "cli/options.h"
#include "meshes/refine/adapt.h"

#include <cjson/cJSON.h>

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_metric_check(const cli_options *options);
/* Nonzero if the operand of `mesh` is the picture whose frame is to be meshed. */
int cli_metric_is_of_picture(const cli_options *options);
/* The size of that picture. */
cvtm_status cli_metric_picture_size(const cli_options *options, cvtm_domain *domain,
                                    cvtm_error *error);
/* The metric, up to a factor, over a rectangle (left, upper, right, lower) in pixels, y down. */
cvtm_status cli_metric_read(const cli_options *options, cvtm_domain domain,
                            const double rectangle[4], cvtm_metric_field *field, cvtm_error *error);
void cli_metric_report(const cvtm_adapt_figures *figures, cJSON *report);
void cli_metric_print_summary(const cvtm_adapt_figures *figures);

#endif
