/* Inside noise/: widths of kernels from a density. */
#ifndef CVTMESH_CVT_NOISE_LOCAL_WIDTH_H
#define CVTMESH_CVT_NOISE_LOCAL_WIDTH_H

#include "base/status.h"

/* mass: of cells[0] x cells[1] cells of step[0] x step[1] pixels, >= 0, not all 0. Sets log_width
 * of each cell to the logarithm of the s for which s^2 times the mean density, with Gaussian
 * weights of the standard deviation s, is width^2. The mean is over the grid, in a torus over all
 * images. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_local_width(const int cells[2], const double step[2], int periodic,
                             const double *mass, double width, int threads, double *log_width,
                             cvtm_error *error);

#endif
