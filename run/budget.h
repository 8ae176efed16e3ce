/* The tones that a limited number of dots of one size can show: --tone. */
#ifndef CVTMESH_RUN_BUDGET_H
#define CVTMESH_RUN_BUDGET_H

#include "base/status.h"
#include "density/density.h"
#include "run/options.h"

#include <cjson/cJSON.h>

/* Where -n dots of one size are to show a picture whose levels and gamma are not given: sets both
 * such that the dots have the ink of the tones, and that the drawing resembles the picture most. */
cvtm_status run_budget_choose(cvtm_run_options *options, const cvtm_image *image,
                              cvtm_error *error);
/* Touches of a pen show the rows of a regular tessellation in even places. After few iterations
 * there are none, and edges are as sharp: so where nothing is said of the descent, it is short. */
void run_touches_choose(cvtm_run_options *options);
void run_budget_report(const cvtm_run_options *options, cJSON *report);

#endif
