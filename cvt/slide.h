/* Tessellations of a domain whose boundary is meshed: sites on the boundary slide along it. */
#ifndef CVTMESH_CVT_SLIDE_H
#define CVTMESH_CVT_SLIDE_H

#include "cvt/cvt.h"
#include "meshes/contour.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_cvt_slides {
  int64_t count;       /* times that the sites of the boundary have moved */
  double start_energy; /* the objective before the first */
} cvtm_cvt_slides;

/* Goes on from a descent of the sites (host, 2 * count), the first of which are the vertices of
 * the boundary and fixed: constrained Lloyd steps (Du, Gunzburger & Ju 2003) for these, towards the
 * places on the contour nearest to their centroids, in turns with descents of the others, as long
 * as both lower the energy. The options are those of that descent, whose limits hold for all; the
 * monitor is called for every turn. result: of that descent; goes on counting. */
cvtm_status cvtm_cvt_slide(cvtm_cvt *cvt, const cvtm_contour *contour,
                           const cvtm_cvt_options *options, cvtm_boundary *boundary, double *sites,
                           int64_t count, cvtm_cvt_result *result, cvtm_cvt_slides *slides);

#ifdef __cplusplus
}
#endif
#endif
