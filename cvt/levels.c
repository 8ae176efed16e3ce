/* Coarse levels: the density in larger pixels, the numbers of sites, and refinement; and the start
 * of a solve: sampled, coarse to fine, or a lattice. */
#include "cvt/levels.h"

#include "base/primitives.h"
#include "base/ranks.h"
#include "cvt/local_mean.h"
#include "cvt/site_updates.h"
#include "cvt/solve.h"
#include "jfa/site_tree_kernels.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- the density in larger pixels ------------------------------------------------------------- */

/* The least number of pixels per site; with it the final energy is as low as with all pixels. */
static const double least_pixels = 16;

/* Both sides of a torus must be multiples of 2^order. */
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
  *p = (cvtm_pyramid){
      .cvt = cvt, .domain = cvt->domain, .mass = cvt->mass, .sqrt_integral = cvt->sqrt_integral};
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
  cvt->sqrt_integral = ldexp(p->sqrt_integral, -2 * order);
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

/* --- numbers of sites ------------------------------------------------------------------------- */

double cvtm_cvt_border_share(cvtm_domain domain, const float *density, double sqrt_integral) {
  if (domain.periodic) return 0;
  const int64_t width = domain.width, height = domain.height;
  double border = 0;
  for (int64_t j = 0; j < height; ++j) {
    border += sqrt(sqrt((double)density[j * width]));
    border += sqrt(sqrt((double)density[j * width + width - 1]));
  }
  for (int64_t i = 0; i < width; ++i) {
    border += sqrt(sqrt((double)density[i]));
    border += sqrt(sqrt((double)density[(height - 1) * width + i]));
  }
  return 1.07 * border /
         sqrt(sqrt_integral); /* 1.07: rows per unit of length of hexagons with area 1 */
}

/* By Euler's formula, the solution v of 4 v - c sqrt(v) - 3 = count. */
int64_t cvtm_cvt_coarse_count(double border_share, int64_t count) {
  const double c = border_share;
  const double root = (c + sqrt(c * c + 16 * ((double)count + 3))) / 8;
  return (int64_t)fmin(ceil(root * root), (double)count);
}

/* --- refinement --------------------------------------------------------------------------------
 *
 * A site is placed between each pair of neighbours of a coarse tessellation. Hexagons of the coarse
 * level become hexagons of the fine level; the number of defects does not change, so they become
 * rare. */

cvtm_status cvtm_cvt_refine_on_device(cvtm_cvt *cvt, int64_t from, int64_t to, int32_t *failed) {
  cvtm_device *device = cvt->device;
  const cvtm_site_updates_table *updates = cvt->updates;
  void *memory = NULL;
  const size_t midpoints = (size_t)from * sizeof(cvtm_edge_midpoints);
  const size_t counts = (size_t)(from + 1) * (sizeof(int64_t) + sizeof(int32_t));
  CVTM_TRY(cvtm_device_scratch(device, midpoints + counts, &memory));
  CVTM_TRY(cvtm_site_tree_sort(cvt->tree, cvt->sites, from));
  cvtm_edge_midpoints *found = memory;
  int64_t *before = (int64_t *)(void *)(found + from);
  int32_t *count = (int32_t *)(void *)(before + from + 1), *undone = count + from;
  CVTM_TRY(cvtm_device_fill(device, undone, 0, sizeof *undone));
  CVTM_TRY(updates->edge_midpoints(cvt, found, count, undone));
  CVTM_TRY(cvtm_device_copy_out(device, failed, undone, sizeof *failed));
  if (*failed > 0) return CVTM_OK;
  CVTM_TRY(cvtm_scan_64(device, count, from, before));
  CVTM_TRY(updates->place(device, cvt->domain, found, before, from, to, cvt->sites));
  return updates->fill_up(device, before, from, to, cvt->sites);
}

enum { CELLS_OF_THREAD = 1000 /* one more thread for each 1000 cells */ };

cvtm_status cvtm_cvt_refine(cvtm_domain domain, int threads, const double *coarse,
                            int64_t coarse_count, double *fine, int64_t count, cvtm_error *error) {
  cvtm_device *cpu = NULL;
  cvtm_cvt *cvt = NULL;
  int32_t failed;
  const int most = threads > 0 ? threads : omp_get_max_threads();
  const int64_t worth = coarse_count / CELLS_OF_THREAD + 1;
  CVTM_TRY(cvtm_device_create("cpu", worth < most ? (int)worth : most, &cpu, error));
  cvtm_status status = cvtm_cvt_create_part(cpu, domain, NULL, count, 0, &cvt);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, coarse, coarse_count);
  if (status == CVTM_OK) status = cvtm_cvt_refine_on_device(cvt, coarse_count, count, &failed);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, fine, count);
  cvtm_cvt_destroy(cvt);
  if (status != CVTM_OK && error) *error = *cvtm_device_error(cpu);
  cvtm_device_destroy(cpu);
  return status;
}

/* --- the start of a solve --------------------------------------------------------------------- */

/* Multiplies the plan's sites by 2^order. */
static cvtm_status scale_sites(const cvtm_solve *s, int order) {
  return s->cvt->updates->rescale(s->cvt->device, s->cvt->domain, ldexp(1, order), s->count,
                                  s->cvt->sites);
}

static cvtm_status sample_sites(const cvtm_solve *s, int64_t count, double *sites,
                                cvtm_error *error) {
  const cvtm_cvt *cvt = s->cvt;
  const cvtm_domain picture = cvt->pyramid ? s->pyramid.domain : cvt->domain;
  return cvtm_cvt_sample_scanned(picture, s->density, cvt->square_roots, count, s->options->seed,
                                 s->options->start, sites, error);
}

/* With several ranks, rank 0 samples, and the others get its sites. */
cvtm_status cvtm_solve_sample(cvtm_solve *s) {
  cvtm_cvt *cvt = s->cvt;
  cvtm_device *device = cvt->device;
  const int64_t count = s->count, given = s->given;
  const size_t bytes = 2 * (size_t)count * sizeof(double);
  cvtm_status status = CVTM_OK;
  if (cvtm_ranks_lead(device)) {
    status = sample_sites(s, count - given, s->sites + 2 * given, cvtm_device_error(device));
    if (status == CVTM_OK) status = cvtm_cvt_check_sites(cvt, s->sites, count);
    if (status == CVTM_OK) status = cvtm_device_copy_in(device, cvt->sites, s->sites, bytes);
    if (status == CVTM_OK) status = scale_sites(s, -s->pyramid.order);
  }
  return status == CVTM_OK ? cvtm_ranks_broadcast_on_device(device, cvt->sites, bytes) : status;
}

cvtm_status cvtm_solve_place_lattice(cvtm_solve *s, const cvtm_lattice *lattice) {
  cvtm_lattice_place(s->cvt->domain, lattice, s->count, s->spare);
  return cvtm_cvt_put_sites(s->cvt, s->spare, s->count);
}

/* --- the plan of the start -------------------------------------------------------------------- */

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
  double share =
      s->density ? cvtm_cvt_border_share(cvt->domain, s->density, cvt->sqrt_integral) : 0;
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
  CVTM_TRY(find_lattices(s));
  return s->lattices == 0 ? plan_levels(s) : CVTM_OK;
}

/* --- the levels of a solve ---------------------------------------------------------------------
 *
 * Only coarse levels use a density with larger pixels. */

/* The order of the density of a level: 0 with the pixel energy, which needs all pixels. */
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

/* Refines the plan's sites to `to` sites; on the host if the device cannot make every cell. */
static cvtm_status refine(cvtm_solve *s, int64_t to) {
  cvtm_cvt *cvt = s->cvt;
  int32_t failed = 0;
  CVTM_TRY(cvtm_cvt_refine_on_device(cvt, s->count, to, &failed));
  if (failed == 0) return CVTM_OK;
  CVTM_TRY(cvtm_cvt_get_sites(cvt, s->spare, s->count));
  CVTM_TRY(cvtm_cvt_refine(cvt->domain, cvtm_device_threads(cvt->device), s->spare, s->count,
                           s->sites, to, cvtm_device_error(cvt->device)));
  return cvtm_cvt_put_sites(cvt, s->sites, to);
}

cvtm_status cvtm_solve_refine(cvtm_solve *s) {
  const int64_t level = s->state.level - 1, to = s->counts[level];
  const int before = s->pyramid.order, order = order_for(s, s->pyramid.domain, level);
  CVTM_TRY(refine(s, to));
  s->count = to;
  s->state.level = level;
  s->state.kept = 0;
  cvtm_pyramid_use(&s->pyramid, order, to);
  cvtm_status status = scale_sites(s, before - order);
  if (level == 0) cvtm_pyramid_end(&s->pyramid);
  return status;
}
