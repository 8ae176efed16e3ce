/* The start of the sites: sampled, coarse to fine, or a lattice. */
#include "base/clock.h"
#include "base/ranks.h"
#include "cvt/lattice.h"
#include "cvt/refine.h"
#include "cvt/site_updates.h"
#include "cvt/solve.h"

#include <math.h>
#include <stdlib.h>

enum {
  MOST_LEVELS = 12,
  COARSE_ITERATIONS_NORMAL = 30,
  COARSE_ITERATIONS_HIGH = 300,
  SEARCHED_LEVEL = 2, /* at normal effort: a search costs little on a sixteenth of the sites, */
  NORMAL_ROUNDS = 8,  /* whose defects become those of the full set */
  NORMAL_ITERATIONS = 15,
  BALANCE_ROUNDS = 5,
  BALANCE_STEPS = 2,       /* of Lloyd's method, between two transfers */
  LATTICE_ITERATIONS = 10, /* of each lattice that is tried */
  WORTH_THREADS = 1 << 17, /* sites */
};

/* The tolerance of a coarse level at normal effort is this many times that of the full set, up to a
 * largest one: the finer levels continue from there. */
static const double coarse_tolerance = 5, largest_coarse_tolerance = 1e-4;

/* sites *= 2^order */
static void scale_sites(double *sites, int64_t count, int order) {
  const double factor = ldexp(1, order);
  if (order == 0) return;
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (int64_t k = 0; k < 2 * count; ++k) sites[k] *= factor;
}

/* Puts sites into the plan, of which the first ones are given; sites: scratch for them. Of
 * several ranks rank 0 samples. */
static cvtm_status put_samples(const cvtm_solve *s, int64_t given, double *sites) {
  cvtm_cvt *cvt = s->cvt;
  const int64_t count = s->count;
  cvtm_device *device = cvt->device;
  const cvtm_domain whole = cvt->pyramid ? s->pyramid.domain : cvt->domain;
  cvtm_status status = CVTM_OK;
  if (cvtm_ranks_lead(device)) {
    status = cvtm_cvt_sample_scanned(whole, s->density, cvt->square_roots, count - given,
                                     s->options->seed, s->options->start, sites + 2 * given,
                                     cvtm_device_error(device));
    if (status == CVTM_OK) status = cvtm_cvt_check_sites(cvt, sites, count);
    scale_sites(sites, count, -s->pyramid.order);
    if (status == CVTM_OK) status = cvtm_cvt_put_sites(cvt, sites, count);
  }
  return status == CVTM_OK
             ? cvtm_ranks_broadcast_on_device(device, cvt->sites, 2 * (size_t)count * sizeof *sites)
             : status;
}

/* counts[0] is the full number of sites. */
static cvtm_status plan_levels(const cvtm_solve *s, int64_t counts[MOST_LEVELS + 1], int *levels) {
  const cvtm_cvt *cvt = s->cvt;
  double share = s->density ? cvtm_cvt_border_share(cvt->domain, s->density, cvt->root) : 0;
  const cvtm_status status = cvtm_ranks_broadcast(cvt->device, &share, sizeof share);
  *levels = 0;
  counts[0] = s->count;
  while (*levels < MOST_LEVELS) {
    const int64_t coarser = cvtm_cvt_coarse_count(share, counts[*levels]);
    if (coarser < CVTM_CVT_MIN_COARSE_SITES || coarser >= counts[*levels]) break;
    counts[++*levels] = coarser;
  }
  return status;
}

/* The time at which a level must end: a level has as long as all coarser levels together. */
static double deadline_of(const cvtm_solve *s, int level) {
  const double most = s->options->max_seconds;
  return most > 0 ? s->deadline - most * (1 - ldexp(1, -level)) : s->deadline;
}

static cvtm_status descend_coarse(cvtm_solve *s, int level) {
  cvtm_cvt_options options = *s->options;
  cvtm_cvt_result found;
  const int high = options.effort >= CVTM_CVT_EFFORT_HIGH;
  options.max_iterations = high ? COARSE_ITERATIONS_HIGH : COARSE_ITERATIONS_NORMAL;
  if (!high)
    options.tolerance = fmin(coarse_tolerance * options.tolerance, largest_coarse_tolerance);
  cvtm_status status = cvtm_solve_descend(s, &options, deadline_of(s, level), &found);
  if (status != CVTM_OK) return status;
  s->result.coarse_iterations += found.iterations;
  if (!high && level != SEARCHED_LEVEL) return CVTM_OK;
  const cvtm_search search = {.rounds = high ? CVTM_SEARCH_ROUNDS : NORMAL_ROUNDS,
                              .iterations = high ? CVTM_SEARCH_ITERATIONS : NORMAL_ITERATIONS,
                              .deadline = deadline_of(s, level)};
  status = cvtm_solve_keep(s, &found);
  return status == CVTM_OK ? cvtm_solve_search(s, &search) : status;
}

/* Refines the sites of the plan to `to`; on the host, in `sites`, if the device cannot do it, or
 * not for every cell. */
static cvtm_status refine(cvtm_solve *s, int64_t to, double *sites, int32_t *on_host) {
  cvtm_cvt *cvt = s->cvt;
  const int64_t from = s->count;
  cvtm_status status = CVTM_OK;
  s->count = to;
  *on_host = 1;
  if (cvtm_checkpoint_replays(s->checkpoint)) return CVTM_OK;
  if (cvt->updates->edge_midpoints) status = cvtm_cvt_refine_on_device(cvt, from, to, on_host);
  if (status != CVTM_OK || !*on_host) return status;
  status = cvtm_cvt_get_sites(cvt, s->spare, from);
  return status == CVTM_OK
             ? cvtm_cvt_refine(cvt->domain, cvtm_device_threads(cvt->device), s->spare, from, sites,
                               to, cvtm_device_error(cvt->device))
             : status;
}

/* Alternates steps of Lloyd's method with transfers: after refinement there are too many sites
 * where the density falls within a coarse cell, and too few where it rises. Leaves half of the
 * level's time to its descent. */
static cvtm_status balance(cvtm_solve *s, int level) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  const double deadline = 0.5 * (deadline_of(s, level + 1) + deadline_of(s, level));
  for (int round = 0; round < BALANCE_ROUNDS && !cvtm_solve_is_late(s, deadline); ++round) {
    int64_t transfers = 0;
    cvtm_status status = cvtm_checkpoint_replays(s->checkpoint)
                             ? CVTM_OK
                             : cvtm_cvt_enqueue_lloyd(&task, BALANCE_STEPS);
    if (status == CVTM_OK)
      status = cvtm_solve_transfer(s, s->count / 10 + 1, contrast_of_balance, &transfers);
    s->result.evaluations += BALANCE_STEPS + 1;
    if (status != CVTM_OK || transfers == 0) return status;
  }
  return CVTM_OK;
}

/* The order of the density for a level of `count` sites. The pixel energy needs all pixels. */
static int order_for(const cvtm_solve *s, cvtm_domain domain, int64_t count) {
  return s->options->energy == CVTM_CVT_EXACT ? cvtm_pyramid_order(domain, count) : 0;
}

/* Goes to the next finer level, of `to` sites. Only coarse levels have a density of larger pixels.
 */
static cvtm_status enter_level(cvtm_solve *s, int level, int64_t to, double *sites) {
  const int before = s->pyramid.order;
  const int order = level > 0 ? order_for(s, s->pyramid.domain, to) : 0;
  int32_t on_host = 1;
  const cvtm_status status = refine(s, to, sites, &on_host);
  cvtm_pyramid_use(&s->pyramid, order, to);
  if (status != CVTM_OK || cvtm_checkpoint_replays(s->checkpoint)) return status;
  if (!on_host) return s->cvt->updates->rescale(s->cvt, ldexp(1, before - order), to);
  scale_sites(sites, to, before - order);
  return cvtm_cvt_put_sites(s->cvt, sites, to);
}

static cvtm_status descend_levels(cvtm_solve *s, int levels, const int64_t *counts, double *sites) {
  cvtm_status status = CVTM_OK;
  if (!cvtm_checkpoint_replays(s->checkpoint)) status = put_samples(s, 0, sites);
  for (int level = levels; status == CVTM_OK && level > 0; --level) {
    status = descend_coarse(s, level);
    if (status == CVTM_OK) status = enter_level(s, level - 1, counts[level - 1], sites);
    if (status == CVTM_OK) status = balance(s, level - 1);
  }
  return status;
}

static cvtm_status place_coarse_to_fine(cvtm_solve *s, double *sites) {
  int64_t counts[MOST_LEVELS + 1] = {0};
  int levels = 0;
  cvtm_status status = plan_levels(s, counts, &levels);
  if (status != CVTM_OK) return status;
  const int order = levels > 0 ? order_for(s, s->cvt->domain, counts[levels]) : 0;
  s->result.levels = levels;
  s->count = counts[levels];
  status = cvtm_pyramid_begin(s->cvt, order, s->options->live ? counts[1] : 0, &s->pyramid);
  if (status == CVTM_OK) {
    cvtm_pyramid_use(&s->pyramid, order, s->count);
    status = descend_levels(s, levels, counts, sites);
  }
  cvtm_pyramid_end(&s->pyramid);
  return status;
}

/* Descends from each lattice for some iterations, and leaves the sites of least energy in the
 * plan. */
static cvtm_status try_lattices(cvtm_solve *s, const cvtm_lattice *lattice, int lattices,
                                double *sites) {
  cvtm_cvt_options options = *s->options;
  options.max_iterations = LATTICE_ITERATIONS;
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)s->options;
  const cvtm_array best = CVTM_ARRAY(sites, 2 * s->count);
  double least = INFINITY;
  cvtm_checkpoint_keep_host(s->checkpoint, &best);
  for (int k = 0; k < lattices; ++k) {
    const double deadline = deadline_of(s, 1); /* a request to stop changes it */
    if (k > 0 && cvtm_solve_is_late(s, deadline)) break;
    cvtm_cvt_result found;
    cvtm_lattice_place(s->cvt->domain, &lattice[k], s->count, s->spare);
    cvtm_status status = cvtm_cvt_put_sites(s->cvt, s->spare, s->count);
    if (status == CVTM_OK) status = cvtm_solve_descend(s, &options, deadline, &found);
    if (status == CVTM_OK && (k == 0 || found.objective < least)) {
      least = found.objective;
      status = cvtm_cvt_get_sites(s->cvt, sites, s->count);
    }
    if (status != CVTM_OK) return status;
    ++s->result.lattices;
  }
  cvtm_checkpoint_keep_host(s->checkpoint, NULL);
  s->sampled = 0; /* transfers do not improve a lattice */
  return cvtm_cvt_put_sites(s->cvt, sites, s->count);
}

static int density_is_even(const cvtm_solve *s) {
  const int64_t pixels = (int64_t)s->cvt->domain.width * s->cvt->domain.height;
  for (int64_t p = 1; p < pixels; ++p)
    if (s->density[p] != s->density[0]) return 0;
  return 1;
}

/* *found: the number of lattices to start from; 0: none. */
static cvtm_status find_lattices(const cvtm_solve *s, cvtm_lattice lattice[CVTM_LATTICE_MAX],
                                 int *found) {
  int64_t even = s->options->start == CVTM_CVT_START_AUTO && s->density && density_is_even(s);
  const cvtm_status status = cvtm_ranks_agree(s->cvt->device, &even);
  *found = even ? cvtm_lattice_find(s->cvt->domain, s->count, lattice) : 0;
  return status;
}

cvtm_status cvtm_solve_place(cvtm_solve *s, int64_t given, double *sites) {
  const cvtm_cvt_options *o = s->options;
  if (given == 0 && o->effort != CVTM_CVT_EFFORT_LOW) {
    cvtm_lattice lattice[CVTM_LATTICE_MAX];
    int lattices = 0;
    const cvtm_status status = find_lattices(s, lattice, &lattices);
    if (status != CVTM_OK) return status;
    return lattices > 0 ? try_lattices(s, lattice, lattices, sites)
                        : place_coarse_to_fine(s, sites);
  }
  if (cvtm_checkpoint_replays(s->checkpoint)) return CVTM_OK;
  return put_samples(s, given, sites);
}
