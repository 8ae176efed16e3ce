/* Inside cvt only: initial sites on a density that has been scanned. */
#ifndef CVTMESH_CVT_SAMPLE_H
#define CVTMESH_CVT_SAMPLE_H

#include "cvt/cvt.h"

/* cvtm_cvt_sample for a density that cvtm_density_scan has accepted; root: its integrals of
 * sqrt(rho) over squares. */
cvtm_status cvtm_cvt_sample_scanned(cvtm_domain domain, const float *density, const double *root,
                                    int64_t count, uint64_t seed, cvtm_cvt_start start,
                                    double *sites, cvtm_error *error);

#endif
