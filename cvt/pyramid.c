#include "cvt/pyramid.h"

#include "cvt/site_updates.h"
#include "jfa/site_tree_kernels.h"

#include <math.h>

/* A site has at least so many pixels: enough that the sites of the finer levels, which continue
 * from there, end as low as with all pixels. */
static const double least_pixels = 16;

/* A torus has whole pixels of every order. */
int cvtm_pyramid_order(cvtm_domain domain, int64_t count) {
  const double pixels = (double)domain.width * (double)domain.height / (double)count;
  const int32_t sides = domain.periodic ? domain.width | domain.height : 0;
  int order = 0;
  while (order < CVTM_PYRAMID_ORDERS && ldexp(pixels, -2 * (order + 1)) >= least_pixels &&
         (sides & ((1 << (order + 1)) - 1)) == 0)
    ++order;
  return order;
}

static cvtm_density_view view_of(const cvtm_pyramid *p, int order) {
  const int32_t side = 1 << order;
  return (cvtm_density_view){p->density[order], (p->domain.width + side - 1) / side,
                             (p->domain.height + side - 1) / side, p->domain.periodic != 0};
}

static int64_t pixels_of(const cvtm_pyramid *p, int order) {
  const cvtm_density_view view = view_of(p, order);
  return (int64_t)view.width * view.height;
}

cvtm_status cvtm_pyramid_begin(cvtm_cvt *cvt, int order, int64_t shown, cvtm_pyramid *p) {
  *p = (cvtm_pyramid){.cvt = cvt, .domain = cvt->domain, .mass = cvt->mass, .root = cvt->root};
  p->density[0] = cvt->density.value;
  cvt->pyramid = p;
  int64_t pixels = 0;
  for (int k = 1; k <= order; ++k) pixels += pixels_of(p, k);
  if (order == 0) return CVTM_OK;
  cvtm_status status = cvtm_device_allocate_large(cvt->device, pixels, CVTM_TYPED(p->made));
  if (status == CVTM_OK && shown > 0)
    status = cvtm_device_allocate(cvt->device, 2 * shown, CVTM_TYPED(p->shown));
  float *next = p->made;
  for (int k = 1; status == CVTM_OK && k <= order; next += pixels_of(p, k++)) {
    const cvtm_density_view finer = view_of(p, k - 1);
    p->density[k] = next;
    status = cvt->updates->halve(cvt->device, &finer, next);
  }
  return status;
}

void cvtm_pyramid_use(cvtm_pyramid *p, int order, int64_t count) {
  cvtm_cvt *cvt = p->cvt;
  cvt->density = view_of(p, order);
  cvt->domain = (cvtm_domain){cvt->density.width, cvt->density.height, p->domain.periodic};
  cvt->mass = ldexp(p->mass, -2 * order);
  cvt->root = ldexp(p->root, -2 * order);
  cvtm_site_tree_set_domain(cvt->tree, cvt->domain);
  p->order = order;
  p->count = count;
}

const double *cvtm_pyramid_show(cvtm_pyramid *p, const double *sites) {
  if (p->order == 0 || !p->shown) return sites;
  return p->cvt->updates->enlarge(p->cvt->device, sites, 2 * p->count, ldexp(1, p->order),
                                  p->shown) == CVTM_OK
             ? p->shown
             : sites;
}

void cvtm_pyramid_end(cvtm_pyramid *p) {
  cvtm_pyramid_use(p, 0, 0);
  p->cvt->pyramid = NULL;
  cvtm_device_free(p->cvt->device, p->made);
  cvtm_device_free(p->cvt->device, p->shown);
}
