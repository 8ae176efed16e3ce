/* Inside lcp only: from matrices to the triangular systems of a sweep. */
#ifndef CVTMESH_LCP_HLCP_SPLITTING_H
#define CVTMESH_LCP_HLCP_SPLITTING_H

#include "lcp/hlcp/hlcp_state.h"

/* The diagonal Omega of the options, n doubles on the host; the caller frees. */
cvtm_status cvtm_hlcp_omega(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                            double **omega, cvtm_error *error);
/* B Omega: entries times their column's omega. The caller frees. */
cvtm_status cvtm_hlcp_scale_columns(const cvtm_csr *b, const double *omega, cvtm_csr *scaled,
                                    cvtm_error *error);

/* What a sweep of the options' method with l splits solves, built on the host and copied to
 * the device. b is B Omega. On failure nothing is left to free. */
cvtm_status cvtm_hlcp_systems_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                     const cvtm_hlcp_options *options, int64_t splits,
                                     cvtm_hlcp_systems *systems);
void cvtm_hlcp_systems_free(cvtm_device *device, cvtm_hlcp_systems *systems);

#endif
