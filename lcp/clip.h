#ifndef CVTMESH_LCP_CLIP_H
#define CVTMESH_LCP_CLIP_H

#include "base/portable.h"

/* Projects x onto [lower, upper]. A NaN stays NaN. */
CVTM_HD double cvtm_lcp_clip(double x, double lower, double upper) {
  const double raised = x < lower ? lower : x;
  return raised > upper ? upper : raised;
}

#endif
