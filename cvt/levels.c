/* The start of the sites: sampled, coarse to fine, or a lattice; and refinement to a finer level.
 */
#include "base/ranks.h"
#include "cvt/refine.h"
#include "cvt/solve.h"

#include <math.h>

enum { WORTH_THREADS = 1 << 17 /* sites */ };

/* sites *= 2^order */
static void scale_sites(double *sites, int64_t count, int order) {
  const double factor = ldexp(1, order);
  if (order == 0) return;
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (int64_t k = 0; k < 2 * count; ++k) sites[k] *= factor;
}

/* Of several ranks rank 0 samples. */
cvtm_status cvtm_solve_sample(cvtm_solve *s) {
  cvtm_cvt *cvt = s->cvt;
  cvtm_device *device = cvt->device;
  const int64_t count = s->count, given = s->given;
  const cvtm_domain picture = cvt->pyramid ? s->pyramid.domain : cvt->domain;
  cvtm_status status = CVTM_OK;
  if (cvtm_ranks_lead(device)) {
    status = cvtm_cvt_sample_scanned(picture, s->density, cvt->square_roots, count - given,
                                     s->options->seed, s->options->start, s->sites + 2 * given,
                                     cvtm_device_error(device));
    if (status == CVTM_OK) status = cvtm_cvt_check_sites(cvt, s->sites, count);
    scale_sites(s->sites, count, -s->pyramid.order);
    if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, s->sites, count);
  }
  return status == CVTM_OK ? cvtm_ranks_broadcast_on_device(device, cvt->sites,
                                                            2 * (size_t)count * sizeof(double))
                           : status;
}

cvtm_status cvtm_solve_place_lattice(cvtm_solve *s, const cvtm_lattice *lattice) {
  cvtm_lattice_place(s->cvt->domain, lattice, s->count, s->spare);
  return cvtm_cvt_put_sites(s->cvt, s->spare, s->count);
}

/* --- the plan of the start ---------------------------------------------------------------------
 */

static int density_is_even(const cvtm_solve *s) {
  const int64_t pixels = (int64_t)s->cvt->domain.width * s->cvt->domain.height;
  for (int64_t p = 1; p < pixels; ++p)
    if (s->density[p] != s->density[0]) return 0;
  return 1;
}

static cvtm_status find_lattices(cvtm_solve *s) {
  int64_t even = s->options->start == CVTM_CVT_START_AUTO && s->density && density_is_even(s);
  const cvtm_status status = cvtm_ranks_agree(s->cvt->device, &even);
  s->lattices = even ? cvtm_lattice_find(s->cvt->domain, s->count, s->lattice) : 0;
  if (s->lattices > 0) s->transfers_help = 0;
  return status;
}

static cvtm_status plan_levels(cvtm_solve *s) {
  const cvtm_cvt *cvt = s->cvt;
  double share = s->density ? cvtm_cvt_border_share(cvt->domain, s->density, cvt->root) : 0;
  const cvtm_status status = cvtm_ranks_broadcast(cvt->device, &share, sizeof share);
  while (s->levels < CVTM_SOLVE_LEVELS) {
    const int64_t coarser = cvtm_cvt_coarse_count(share, s->counts[s->levels]);
    if (coarser < CVTM_CVT_MIN_COARSE_SITES || coarser >= s->counts[s->levels]) break;
    s->counts[++s->levels] = coarser;
  }
  return status;
}

cvtm_status cvtm_solve_plan_start(cvtm_solve *s) {
  if (s->given > 0 || s->options->effort == CVTM_CVT_EFFORT_LOW) return CVTM_OK;
  const cvtm_status status = find_lattices(s);
  return status == CVTM_OK && s->lattices == 0 ? plan_levels(s) : status;
}

/* --- levels ------------------------------------------------------------------------------------
 *
 * Only coarse levels have a density of larger pixels. */

/* The order of the density for a level. The pixel energy needs all pixels. */
static int order_for(const cvtm_solve *s, cvtm_domain picture, int64_t level) {
  const int coarse = level > 0 && s->options->energy == CVTM_CVT_EXACT;
  return coarse ? cvtm_pyramid_order(picture, s->counts[level]) : 0;
}

cvtm_status cvtm_solve_enter(cvtm_solve *s) {
  const int64_t level = s->state.level;
  const int order = order_for(s, s->cvt->domain, level);
  s->count = s->counts[level];
  if (level == 0) return CVTM_OK;
  const cvtm_status status =
      cvtm_pyramid_begin(s->cvt, order, s->options->live ? s->counts[1] : 0, &s->pyramid);
  if (status == CVTM_OK) cvtm_pyramid_use(&s->pyramid, order, s->count);
  return status;
}

/* Refines the sites of the plan to `to`; on the host, in s->sites, if the device cannot do it, or
 * not for every cell. */
static cvtm_status refine(cvtm_solve *s, int64_t to, int32_t *on_host) {
  cvtm_cvt *cvt = s->cvt;
  const int64_t from = s->count;
  cvtm_status status = CVTM_OK;
  *on_host = 1;
  if (cvt->updates->edge_midpoints) status = cvtm_cvt_refine_on_device(cvt, from, to, on_host);
  if (status != CVTM_OK || !*on_host) return status;
  status = cvtm_cvt_get_sites(cvt, s->spare, from);
  return status == CVTM_OK
             ? cvtm_cvt_refine(cvt->domain, cvtm_device_threads(cvt->device), s->spare, from,
                               s->sites, to, cvtm_device_error(cvt->device))
             : status;
}

cvtm_status cvtm_solve_refine(cvtm_solve *s) {
  const int64_t level = s->state.level - 1, to = s->counts[level];
  const int before = s->pyramid.order, order = order_for(s, s->pyramid.domain, level);
  int32_t on_host = 1;
  cvtm_status status = refine(s, to, &on_host);
  if (status != CVTM_OK) return status;
  s->count = to;
  s->state.level = level;
  s->state.kept = 0;
  cvtm_pyramid_use(&s->pyramid, order, to);
  if (on_host) scale_sites(s->sites, to, before - order);
  status = on_host ? cvtm_cvt_put_sites(s->cvt, s->sites, to)
                   : s->cvt->updates->rescale(s->cvt, ldexp(1, before - order), to);
  if (level == 0) cvtm_pyramid_end(&s->pyramid);
  return status;
}
