/* Discrete Voronoi diagrams: which site is nearest to each pixel centre.
 * Jump flooding and its variants (Rong & Tan 2006, 2007) and an exact diagram. */
#ifndef CVTMESH_JFA_JFA_H
#define CVTMESH_JFA_JFA_H

#include "base/device.h"
#include "base/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* code, name on the command line */
#define CVTM_VORONOI_LIST(X)            \
  X(CVTM_VORONOI_JFA, "jfa")            \
  X(CVTM_VORONOI_ONE_PLUS_JFA, "1+jfa") \
  X(CVTM_VORONOI_JFA_PLUS_1, "jfa+1")   \
  X(CVTM_VORONOI_JFA_PLUS_2, "jfa+2")   \
  X(CVTM_VORONOI_JFA_SQUARED, "jfa2")   \
  X(CVTM_VORONOI_EXACT, "exact")

typedef enum cvtm_voronoi_method {
#define CVTM_VORONOI_CODE(code, name) code,
  CVTM_VORONOI_LIST(CVTM_VORONOI_CODE)
#undef CVTM_VORONOI_CODE
} cvtm_voronoi_method;

/* A plan: buffers for one domain and up to `capacity` sites. */
typedef struct cvtm_voronoi cvtm_voronoi;

cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **voronoi);
void cvtm_voronoi_destroy(cvtm_voronoi *voronoi);

/* labels[j * width + i] = index of the site nearest to the centre of pixel (i, j),
 * the lowest index among equally near ones in exact mode. sites: 2 * count doubles
 * x, y in pixels; labels: width * height; both in device memory. Sites outside
 * the domain are allowed (wrapped when periodic); count = 0 labels everything -1.
 * Enqueued; allocates nothing. */
cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels);

#ifdef __cplusplus
}
#endif
#endif
