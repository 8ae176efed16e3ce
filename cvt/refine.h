/* Inside cvt only: refinement of a coarse tessellation. */
#ifndef CVTMESH_CVT_REFINE_H
#define CVTMESH_CVT_REFINE_H

#include "cvt/cvt.h"

/* The least number of sites of a level. */
enum { CVTM_CVT_MIN_COARSE_SITES = 64 };

/* The number of cells along the border, divided by the square root of the number of sites; 0 on a
 * torus. root: the integral of sqrt(rho). */
double cvtm_cvt_border_share(cvtm_domain domain, const float *density, double root);
/* The number of sites, about count / 4, whose refinement has `count` sites. */
int64_t cvtm_cvt_coarse_count(double border_share, int64_t count);

/* Refines a tessellation on the host: fine (2 * count) = its sites and the midpoints of neighbours;
 * evenly chosen midpoints are left out, or sites added, to make `count`. threads: at most; 0: the
 * default of OpenMP. The result does not depend on the number of threads. */
cvtm_status cvtm_cvt_refine(cvtm_domain domain, int threads, const double *coarse,
                            int64_t coarse_count, double *fine, int64_t count, cvtm_error *error);
/* The same with the first `from` sites of a plan on a device that can do it (edge_midpoints in
 * site_updates.h). *failed: the number of sites whose cells the hull construction cannot do; then
 * nothing has changed. */
cvtm_status cvtm_cvt_refine_on_device(cvtm_cvt *cvt, int64_t from, int64_t to, int32_t *failed);

#endif
