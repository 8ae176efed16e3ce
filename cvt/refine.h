/* Inside cvt only: starts that come from coarser tessellations. */
#ifndef CVTMESH_CVT_REFINE_H
#define CVTMESH_CVT_REFINE_H

#include "cvt/cvt.h"
#include "cvt/edge_midpoints.h"

/* The coarsest level of a start has at least this many sites. */
enum { CVTM_CVT_MIN_COARSE_SITES = 64 };

/* Cells along the border per root of the number of sites; a torus has none. root: the integral of
 * sqrt(rho). */
double cvtm_cvt_border_share(cvtm_domain domain, const float *density, double root);
/* Sites of a tessellation of about count / 4 sites that refine to `count`. */
int64_t cvtm_cvt_coarse_count(double border_share, int64_t count);

/* fine (2 * count): the sites of a tessellation and the midpoints between its neighbours;
 * some midpoints are left out, or some sites added, where that is not `count`. threads: of the
 * host, where this is done, at most; 0 for OpenMP's default. The result is the same for any number
 * of them. */
cvtm_status cvtm_cvt_refine(cvtm_domain domain, int threads, const double *coarse,
                            int64_t coarse_count, double *fine, int64_t count, cvtm_error *error);
/* The same where the midpoints are known, of each site in the order of a tree over them. */
void cvtm_cvt_place_midpoints(const double *coarse, int64_t coarse_count,
                              const cvtm_edge_midpoints *midpoints, double *fine, int64_t count);

#endif
