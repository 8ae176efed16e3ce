/* The tone of a line through many points. */
#pragma once

#include "base/domain.h"
#include "run/stipples.h"

/* The length of a tour depends on how evenly the points lie, and a tour crosses white places
 * between grey ones, so no formula gives the tone of a line. This function places points by a short
 * descent, plots a tour through them, and compares the blurred plot with the blurred tone. Where
 * the line has too little ink, it changes the density to ask for more. If the number of points
 * was found for the ink, dots->count > 0, it finds it again. Else, if the tones were chosen for -n,
 * it changes their gamma, though not in several colours. tone: the wanted ink, width * height;
 * density: its square. A deadline or a signal ends the tour early. */
cvtm_status run_line_correct(cvtm_run_options *options, cvtm_domain domain, run_dot_count *dots,
                             float *tone, float *density, cvtm_error *error);
