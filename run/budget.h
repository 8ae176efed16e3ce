/* How many dots a machine draws in a time, and the tones that a limited number of dots of one size
 * can show: -n and --tone. */
#ifndef CVTMESH_RUN_BUDGET_H
#define CVTMESH_RUN_BUDGET_H

#include "base/status.h"
#include "density/density.h"
#include "run/options.h"

#include <cjson/cJSON.h>

/* For a time of -n (options->points below 0), sets the number of touches, or of points of a line,
 * that the machine draws in it. Where -n dots of one size are to show a picture whose levels and
 * gamma are not given, sets both such that the dots have the ink of the tones, and that the drawing
 * resembles the picture most. */
cvtm_status run_budget_choose(cvtm_run_options *options, const cvtm_image *image,
                              cvtm_error *error);
/* The same in several colours, whose inks the chosen tones thin; so black, which has most contrast,
 * stays where it is dark. light: the luminance of the picture; coverage: by each of the `pens` pens
 * for the picture's own tones, then for the chosen ones; areas: of their dots, in square pixels. */
cvtm_status run_budget_choose_colours(cvtm_run_options *options, cvtm_domain domain,
                                      const float *light, float *const *coverage, int pens,
                                      const double *areas, cvtm_error *error);
/* Checks a time of -n. CVTM_ERROR_USAGE. */
cvtm_status run_budget_check(const cvtm_run_options *options, cvtm_error *error);
/* Touches of a pen show the rows of a regular tessellation in even places. After few iterations
 * there are none, and edges are as sharp: so where nothing is said of the descent, it is short. So
 * it is for a frame of a film after the first, whose sites start near their places. */
void run_touches_choose(cvtm_run_options *options);
void run_budget_report(const cvtm_run_options *options, cJSON *report);

#endif
