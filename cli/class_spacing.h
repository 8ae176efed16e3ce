/* `stats` of points of several classes: how those of each class are spaced. */
#ifndef CVTMESH_CLI_CLASS_SPACING_H
#define CVTMESH_CLI_CLASS_SPACING_H

#include "cvt/nearest.h"

#include <cjson/cJSON.h>
#include <stdio.h>

typedef struct cli_class_spacing {
  int64_t classes;
  int32_t *number; /* of each class, ascending */
  cvtm_nearest_distances *distances;
} cli_class_spacing;

/* class_of: count, or NULL; then there are no classes. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cli_class_spacing_measure(cvtm_domain domain, const double *points,
                                      const int32_t *class_of, int64_t count,
                                      cli_class_spacing *made, cvtm_error *error);
void cli_class_spacing_free(cli_class_spacing *made);
/* Adds the list `classes` if there are any. */
void cli_class_spacing_report(const cli_class_spacing *made, cJSON *report);
void cli_class_spacing_print(const cli_class_spacing *made, FILE *stream);

#endif
