/* Inside the library: a density whose sites follow the mean of the ink over a cell. */
#ifndef CVTMESH_CVT_LOCAL_MEAN_H
#define CVTMESH_CVT_LOCAL_MEAN_H

#include "base/device.h"
#include "base/domain.h"

/* The density of many sites follows sqrt(q^2) = q for an even ink q. Where the ink varies within a
 * cell, as in a dithered picture, q^2 averaged over the cell is larger than the square of the mean
 * ink. So this replaces rho = q^2 by q times the mean of q over about a cell of `count` sites
 * there: the mean over a square of the means over squares, which regular patterns of dither do not
 * bias. Even areas do not change. On failure rho is untouched.
 *
 * Dots of the size dot_area, in square pixels, overlap where the ink is dense; the density there is
 * that of the dots which cover the mean of q. If `count` dots cover more or less than all ink, each
 * place gets the same multiple of its ink. dot_area 0: the dots overlap nowhere; below 0: they have
 * the size at which `count` dots cover the ink. */
cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, double dot_area,
                                       float *rho, cvtm_error *error);

/* The area of equal discs on a triangular lattice, overlaps counted twice, that cover this share of
 * the plane, per area: the share itself up to 0.907, where the discs meet, and 1.209 for all. */
double cvtm_discs_for(double coverage);

#endif
