/* From a density to a tessellation: the start, the descent, and the search beyond it. */
#include "base/random.h"
#include "cvt/cvt_kernels.h"
#include "cvt/multilevel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  LEVELS_NORMAL = 2,
  LEVELS_HIGH = 3,
  COARSE_ITERATIONS_NORMAL = 100,
  COARSE_ITERATIONS_HIGH = 300,
  BALANCE_ROUNDS = 5,
  BALANCE_STEPS = 2, /* of Lloyd's method, between two transfers */
  SEARCH_ROUNDS = 24,
  SEARCH_ITERATIONS = 60,
  RESEED_ROUNDS = 5
};

/* A site moves from a cell to one whose energy is this many times larger: many times while the
 * energies are those of a rough start. */
static const double contrast_of_balance = 3, contrast_of_search = 1.3;

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct ranked {
  double energy;
  int64_t site;
} ranked;

typedef struct solve {
  cvtm_cvt *cvt;
  const float *density;
  const cvtm_cvt_options *options;
  int64_t count;
  double deadline;               /* of now(); infinity for none */
  double *mass, *second, *spare; /* count, count, 2 * count */
  ranked *order;                 /* count */
  uint32_t draws;                /* transfers so far; each draws its own random numbers */
  cvtm_cvt_result result;
} solve;

static cvtm_cvt_options limited(const solve *s) {
  cvtm_cvt_options options = *s->options;
  if (options.max_seconds > 0) options.max_seconds = fmax(s->deadline - now(), 1e-9);
  return options;
}

/* One descent; its effort is added to the result's. */
static cvtm_status descend(solve *s, const cvtm_cvt_options *options, double *sites, int64_t count,
                           cvtm_cvt_result *found) {
  const cvtm_status status = cvtm_cvt_optimize(s->cvt, options, sites, count, found);
  if (status != CVTM_OK) return status;
  s->result.evaluations += found->evaluations;
  s->result.seconds_evaluation += found->seconds_evaluation;
  s->result.seconds_optimizer += found->seconds_optimizer;
  return CVTM_OK;
}

/* --- transfers --------------------------------------------------------------------- */

static int compare_ranked(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  if (a->energy != b->energy) return a->energy < b->energy ? -1 : 1;
  return (a->site > b->site) - (a->site < b->site);
}

/* In an optimal tessellation all cells have nearly the same energy (Gersho 1979), and one site
 * more or less changes the total by about as much. So up to `most` sites of the poorest
 * cells of `sites` move beside those of the richest, in `moved` (may be the same). How many. */
static cvtm_status transfer(solve *s, int64_t most, double contrast, const double *sites,
                            int64_t count, double *moved, int64_t *transfers) {
  const cvtm_cvt_options *o = s->options;
  const cvtm_cvt_moments moments = {s->mass, NULL, s->second};
  const cvtm_status status =
      cvtm_cvt_evaluate(s->cvt, sites, count, o->energy, o->voronoi, NULL, &moments);
  *transfers = 0;
  if (status != CVTM_OK) return status;
  const int64_t movable = count - o->fixed;
  for (int64_t i = 0; i < movable; ++i)
    s->order[i] = (ranked){s->second[o->fixed + i], o->fixed + i};
  qsort(s->order, (size_t)movable, sizeof *s->order, compare_ranked);
  if (moved != sites) memcpy(moved, sites, 2 * (size_t)count * sizeof *moved);
  ++s->draws;
  int64_t k = 0;
  for (; k < most && k < movable / 2; ++k) {
    const ranked poor = s->order[k], rich = s->order[movable - 1 - k];
    if (!(rich.energy > contrast * poor.energy) || !(s->mass[rich.site] > 0)) break;
    const double turn = cvtm_random_uniform(o->seed, s->draws, (uint64_t)rich.site);
    const double radius = 0.7 * sqrt(rich.energy / s->mass[rich.site]);
    const double dx = radius * cos(6.283185307179586 * turn);
    const double dy = radius * sin(6.283185307179586 * turn);
    double *from = moved + 2 * poor.site, *to = moved + 2 * rich.site;
    from[0] = to[0] + dx;
    from[1] = to[1] + dy;
    to[0] -= dx;
    to[1] -= dy;
  }
  *transfers = k;
  return CVTM_OK;
}

/* --- coarse to fine ---------------------------------------------------------------- */

/* counts[0] is the full number of sites. */
static int plan_levels(const solve *s, int64_t counts[LEVELS_HIGH + 1]) {
  const int most = s->options->effort == CVTM_CVT_EFFORT_HIGH ? LEVELS_HIGH : LEVELS_NORMAL;
  int levels = 0;
  counts[0] = s->count;
  while (levels < most) {
    const int64_t coarser = cvtm_cvt_coarse_count(s->cvt->domain, s->density, counts[levels]);
    if (coarser < CVTM_CVT_COARSEST || coarser >= counts[levels]) break;
    counts[++levels] = coarser;
  }
  return levels;
}

static cvtm_status descend_coarse(solve *s, double *sites, int64_t count) {
  cvtm_cvt_options options = limited(s);
  cvtm_cvt_result found;
  options.max_iterations =
      options.effort == CVTM_CVT_EFFORT_HIGH ? COARSE_ITERATIONS_HIGH : COARSE_ITERATIONS_NORMAL;
  const cvtm_status status = descend(s, &options, sites, count, &found);
  if (status == CVTM_OK) s->result.coarse_iterations += found.iterations;
  return status;
}

/* Refined sites are too many where the density falls within a coarse cell and too few where it
 * rises: a few steps of Lloyd's method and transfers in turn. */
static cvtm_status balance(solve *s, double *sites, int64_t count) {
  for (int round = 0; round < BALANCE_ROUNDS; ++round) {
    cvtm_cvt_options options = limited(s);
    cvtm_cvt_result found;
    int64_t transfers = 0;
    options.method = CVTM_CVT_LLOYD;
    options.max_iterations = BALANCE_STEPS;
    options.monitor = NULL;
    cvtm_status status = descend(s, &options, sites, count, &found);
    if (status == CVTM_OK)
      status = transfer(s, count / 10 + 1, contrast_of_balance, sites, count, sites, &transfers);
    if (status != CVTM_OK || transfers == 0) return status;
  }
  return CVTM_OK;
}

static cvtm_status place_coarse_to_fine(solve *s, double *sites) {
  cvtm_error *error = cvtm_device_error(s->cvt->device);
  const cvtm_domain domain = s->cvt->domain;
  int64_t counts[LEVELS_HIGH + 1];
  int level = plan_levels(s, counts);
  s->result.levels = level;
  cvtm_status status = cvtm_cvt_sample(domain, s->density, counts[level], s->options->seed,
                                       s->options->start, sites, error);
  for (; status == CVTM_OK && level > 0; --level) {
    status = descend_coarse(s, sites, counts[level]);
    if (status != CVTM_OK) break;
    memcpy(s->spare, sites, 2 * (size_t)counts[level] * sizeof *sites);
    status = cvtm_cvt_refine(domain, s->spare, counts[level], sites, counts[level - 1], error);
    if (status == CVTM_OK) status = balance(s, sites, counts[level - 1]);
  }
  return status;
}

static cvtm_status place(solve *s, int64_t given, double *sites) {
  const cvtm_cvt_options *o = s->options;
  if (given == 0 && o->effort != CVTM_CVT_EFFORT_LOW) return place_coarse_to_fine(s, sites);
  return cvtm_cvt_sample(s->cvt->domain, s->density, s->count - given, o->seed, o->start,
                         sites + 2 * given, cvtm_device_error(s->cvt->device));
}

/* --- beyond descent ---------------------------------------------------------------- */

/* Keeps the figures of the sites that are kept. */
static void keep(solve *s, const cvtm_cvt_result *found) {
  s->result.objective = found->objective;
  s->result.gradient_norm = found->gradient_norm;
  s->result.empty_cells = found->empty_cells;
}

/* Sites whose cells have no mass, where nothing moves them, go to the richest cells. */
static cvtm_status reseed(solve *s, double *sites) {
  for (int round = 0; round < RESEED_ROUNDS && s->result.empty_cells > 0; ++round) {
    cvtm_cvt_options options = limited(s);
    cvtm_cvt_result found;
    int64_t transfers = 0;
    cvtm_status status = transfer(s, s->result.empty_cells, contrast_of_balance, sites, s->count,
                                  s->spare, &transfers);
    if (status != CVTM_OK || transfers == 0) return status;
    options.monitor = NULL;
    status = descend(s, &options, s->spare, s->count, &found);
    if (status != CVTM_OK) return status;
    if (found.empty_cells >= s->result.empty_cells) return CVTM_OK;
    memcpy(sites, s->spare, 2 * (size_t)s->count * sizeof *sites);
    keep(s, &found);
    s->result.transfers += transfers;
  }
  return CVTM_OK;
}

/* Transfers and short descents; what does not lower the energy is undone and half as much
 * tried, so the energy never rises. */
static cvtm_status search(solve *s, double *sites) {
  int64_t most = s->count / 50 + 1;
  for (int round = 0; round < SEARCH_ROUNDS && most > 0 && now() < s->deadline; ++round) {
    cvtm_cvt_options options = limited(s);
    cvtm_cvt_result found;
    int64_t transfers = 0;
    cvtm_status status =
        transfer(s, most, contrast_of_search, sites, s->count, s->spare, &transfers);
    if (status != CVTM_OK || transfers == 0) return status;
    options.max_iterations = SEARCH_ITERATIONS;
    options.monitor = NULL;
    status = descend(s, &options, s->spare, s->count, &found);
    if (status != CVTM_OK) return status;
    if (found.objective < s->result.objective) {
      memcpy(sites, s->spare, 2 * (size_t)s->count * sizeof *sites);
      keep(s, &found);
      ++s->result.rounds;
      s->result.transfers += transfers;
    } else {
      most = transfers / 2;
    }
  }
  return CVTM_OK;
}

/* The full set's own descent gives the result's iterations and reason to stop. */
static cvtm_status descend_fine(solve *s, double *sites) {
  const cvtm_cvt_options options = limited(s);
  cvtm_cvt_result found;
  cvtm_status status = descend(s, &options, sites, s->count, &found);
  if (status != CVTM_OK) return status;
  keep(s, &found);
  s->result.stop = found.stop;
  s->result.iterations = found.iterations;
  if (found.stop == CVTM_STOP_REQUEST) return CVTM_OK;
  if (options.reseed) status = reseed(s, sites);
  if (status == CVTM_OK && options.effort == CVTM_CVT_EFFORT_HIGH) status = search(s, sites);
  return status;
}

cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const float *density, const cvtm_cvt_options *options,
                           int64_t given, double *sites, int64_t count, cvtm_cvt_result *result) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count < 1 || count > cvt->capacity || given < options->fixed || given > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites, %lld given and %lld fixed",
                     (long long)count, (long long)given, (long long)options->fixed);
  const double start = now();
  solve s = {.cvt = cvt,
             .density = density,
             .options = options,
             .count = count,
             .deadline = options->max_seconds > 0 ? start + options->max_seconds : INFINITY,
             .mass = malloc((size_t)count * sizeof(double)),
             .second = malloc((size_t)count * sizeof(double)),
             .spare = malloc(2 * (size_t)count * sizeof(double)),
             .order = malloc((size_t)count * sizeof(ranked))};
  cvtm_status status = CVTM_OK;
  if (!s.mass || !s.second || !s.spare || !s.order)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld sites", (long long)count);
  if (status == CVTM_OK) status = place(&s, given, sites);
  if (status == CVTM_OK) status = descend_fine(&s, sites);
  free(s.mass);
  free(s.second);
  free(s.spare);
  free(s.order);
  s.result.seconds = now() - start;
  if (status == CVTM_OK && result) *result = s.result;
  return status;
}
