/* Tessellations of a domain whose boundary is meshed: sites on the boundary slide along it. */
#pragma once

#include "cvt/cvt.h"
#include "meshes/contour.h"

CVTM_API_BEGIN

typedef struct cvtm_cvt_slides {
  int64_t count;       /* steps of the sites on the boundary */
  double start_energy; /* the objective before the first step */
} cvtm_cvt_slides;

/* Continues after a descent of the sites (host, 2 * count). The first options->fixed sites must be
 * the vertices of the boundary, else CVTM_ERROR_ARGUMENT. Two steps alternate as long as both lower
 * the energy: constrained Lloyd steps of the boundary sites (Du, Gunzburger & Ju 2003), towards the
 * points of the contour nearest to their centroids, and descents of the other sites. options: those
 * of the first descent; the limits hold for that descent and this function together, and the
 * monitor is called in every round. result: that of the first descent; updated. */
cvtm_status cvtm_cvt_slide(cvtm_cvt *cvt, const cvtm_contour *contour,
                           const cvtm_cvt_options *options, cvtm_boundary *boundary, double *sites,
                           int64_t count, cvtm_cvt_result *result, cvtm_cvt_slides *slides);

CVTM_API_END
