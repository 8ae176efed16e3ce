/* Inside noise/: distances between points. */
#ifndef CVTMESH_NOISE_PAIRS_H
#define CVTMESH_NOISE_PAIRS_H

#include "noise/spectrum.h"

/* Sets the pair correlation, the distances and the dispersion of *spectrum, whose count and spacing
 * are set. On failure (CVTM_ERROR_MEMORY) cvtm_spectrum_free frees what was made. */
cvtm_status cvtm_pairs_measure(cvtm_domain domain, const double *points, int threads,
                               cvtm_spectrum *spectrum, cvtm_error *error);

#endif
