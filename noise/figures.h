/* Inside noise/: figures of a power spectrum. */
#ifndef CVTMESH_NOISE_FIGURES_H
#define CVTMESH_NOISE_FIGURES_H

#include "noise/spectrum.h"

/* Sets effective_nyquist, oscillation and peak_power from the rings. number: of frequencies in each
 * ring; scatter: of its mean, squared (NaN: unknown, the ring counts for no oscillation). */
void cvtm_spectrum_find_figures(cvtm_spectrum *spectrum, const int64_t *number,
                                const double *scatter);

#endif
