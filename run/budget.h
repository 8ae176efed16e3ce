/* How many dots a machine draws in a time, and the tones that a limited number of dots of one size
 * can show: -n and --tone. */
#pragma once

#include "base/status.h"
#include "density/density.h"
#include "run/colours.h"
#include "run/options.h"

#include <cjson/cJSON.h>

/* Smooths a dithered picture that dots or a line show: overlaps, chosen tones and the separation
 * into inks are not proportional to its ink. A descent of low effort is too short to move sites
 * from where a dither puts too many of them, so it has a smooth picture, too. */
cvtm_status run_smooth_dither(const cvtm_run_options *options, cvtm_image *image,
                              cvtm_error *error);
/* If -n gives a time (options->points is below 0), sets the number of touches, or of points of a
 * line, that the machine draws in this time. If dots of one size have to show a picture whose
 * levels and gamma are not given, sets levels and gamma such that the dots have as much ink as the
 * tones, and the drawing has the local contrasts of the picture as far as possible. If
 * options->flatten is 0, chooses this, too, and flattens the image. */
cvtm_status run_budget_choose(cvtm_run_options *options, cvtm_image *image, cvtm_error *error);
/* run_budget_choose in several colours. light: the luminance of the picture; coverage: for each
 * pen, for the picture's own tones. Sizes of *pens become one size where -n dots have too much ink
 * or too little. */
cvtm_status run_budget_choose_colours(cvtm_run_options *options, cvtm_domain domain,
                                      const float *light, float *const *coverage, run_pens *pens,
                                      cvtm_error *error);
/* Nonzero if levels and gamma do not change the colours of the picture but reduce the inks. Then
 * black, which has the most contrast, remains where the picture is dark. */
int run_tones_thin_inks(const cvtm_run_options *options);
/* Reduces the inks by levels and gamma, given or chosen. Returns 0 if nothing changes. */
int run_tones_thin(cvtm_run_options *options, cvtm_domain domain, const float *light,
                   float *const *coverage, int pens);
/* Checks -n if it is a time; fails with CVTM_ERROR_USAGE. */
cvtm_status run_budget_check(const cvtm_run_options *options, cvtm_error *error);
/* Chooses a short descent for touches and lines unless options of the descent are given. In areas
 * of even tone strokes of a pen show the rows of a regular tessellation; after few iterations there
 * are no rows yet, while edges are already sharp. The descent is also short for the frames of a
 * film after the first, whose sites start close to their final positions. */
void run_touches_choose(cvtm_run_options *options);
void run_budget_report(const cvtm_run_options *options, cJSON *report);
