/* Inside density only: the five-point operators of planes whose pixels may be masked out. */
#ifndef CVTMESH_DENSITY_LINKS_H
#define CVTMESH_DENSITY_LINKS_H

#include "lcp/lcp.h"

/* Links of one weight between neighbouring pixels of the mask, and none elsewhere: a Neumann
 * boundary around it. Without a mask nothing is stored. */
typedef struct cvtm_links {
  cvtm_device *device;
  cvtm_lcp_grid grid; /* its arrays are device memory; no diagonal */
  void *memory;
} cvtm_links;

/* mask: width * height in host memory, 0 outside; NULL: all inside. */
cvtm_status cvtm_links_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double weight, cvtm_links *links);
void cvtm_links_destroy(cvtm_links *links);

#endif
