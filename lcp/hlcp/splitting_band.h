/* Inside lcp/hlcp only: multisplittings by matrices that are not triangular, whose systems the host
 * solves by banded LU factors. */
#ifndef CVTMESH_LCP_HLCP_SPLITTING_BAND_H
#define CVTMESH_LCP_HLCP_SPLITTING_BAND_H

#include "lcp/hlcp.h"

typedef struct cvtm_hlcp_bands cvtm_hlcp_bands;

/* True if all M_Ak and M_Bk are lower triangular, or given without matrices. */
int cvtm_hlcp_are_triangular(const cvtm_hlcp_multisplitting *given);
/* Factors all M_Ak + M_Bk Omega of order n. omega: n. Refuses matrices of another size, singular
 * ones, and bands of more than 4 GB together. On failure *bands is NULL. */
cvtm_status cvtm_hlcp_bands_create(cvtm_device *device, const cvtm_hlcp_multisplitting *given,
                                   int64_t n, const double *omega, cvtm_hlcp_bands **bands);
void cvtm_hlcp_bands_destroy(cvtm_hlcp_bands *bands);
/* A cvtm_hlcp_solver; context: the bands. */
cvtm_status cvtm_hlcp_bands_solve(void *context, int64_t k, const double *right, double *solution);

#endif
