/* Kicks: the sites of many small patches are displaced at random, all sites descend, and each patch
 * whose surroundings did not gain goes back to the sites before. So one descent tries many local
 * changes at once, of which each is judged alone: dislocations glide, climb, meet and vanish where
 * that lowers the energy. (Lu, Sun, Pan & Wang 2012, "Global optimization of centroidal Voronoi
 * tessellation with Monte Carlo approach", displace all sites and judge them together.) */
#include "base/random.h"
#include "cvt/solve.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  KICK_PATIENCE = 30,   /* rounds without a gain that end the search */
  KICK_ITERATIONS = 60, /* of each of the two descents of a round */
  SURROUNDINGS = 112,   /* sites that are judged together: consecutive ones in Morton order */
  PATCH = 16            /* the sites in the middle of these, which are displaced */
};

/* The largest displacement along an axis, in root mean square radii of the site's cell: 0.6 of the
 * spacing of hexagons. */
static const double kick_reach = 1.6;

/* Kicks draw from a separate stream of random numbers. */
static const uint64_t kick_stream = UINT64_C(0x6B69636B) << 32;

/* All on the host. */
typedef struct kicks {
  double *best, *trial;     /* 2 * count: sites */
  cvtm_cell_moments *sums;  /* of `best` */
  cvtm_cell_moments *found; /* of the last descent */
  int32_t *order;           /* the sites along the Morton curve */
  int64_t offset;           /* the first surroundings have this many sites fewer */
} kicks;

static int allocate_kicks(kicks *k, int64_t count) {
  const size_t n = (size_t)count;
  k->best = malloc(2 * n * sizeof *k->best);
  k->trial = malloc(2 * n * sizeof *k->trial);
  k->order = malloc(n * sizeof *k->order);
  return k->best && k->trial && k->order;
}

static void free_kicks(kicks *k) {
  free(k->best);
  free(k->trial);
  free(k->order);
  free(k->sums);
  free(k->found);
}

/* Surroundings `number` are the places from *first to the result - 1; the last ones end at `count`.
 */
static int64_t surroundings(const kicks *k, int64_t count, int64_t number, int64_t *first) {
  const int64_t end = (number + 1) * SURROUNDINGS - k->offset;
  *first = number == 0 ? 0 : end - SURROUNDINGS;
  return end + SURROUNDINGS / 2 < count ? end : count;
}

static cvtm_status read_order(const cvtm_solve *s, kicks *k) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_status status = cvtm_site_tree_sort(cvt->tree, cvt->sites, s->count);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(cvt->device, k->order, cvtm_site_tree_get_view(cvt->tree).index,
                              (size_t)s->count * sizeof *k->order);
}

/* Displaces the sites in the middle of all surroundings, from k->best to k->trial. */
static void displace_middles(const cvtm_solve *s, uint64_t round, kicks *k) {
  const cvtm_domain domain = s->cvt->domain;
  int64_t first, last = 0;
  k->offset = (int64_t)(SURROUNDINGS / 2 *
                        cvtm_random_uniform(s->options->seed, kick_stream + round, UINT64_MAX));
  memcpy(k->trial, k->best, 2 * (size_t)s->count * sizeof *k->trial);
  for (int64_t number = 0; last < s->count; ++number) {
    last = surroundings(k, s->count, number, &first);
    const int64_t middle = (first + last - PATCH) / 2, from = middle > first ? middle : first;
    for (int64_t place = from; place < from + PATCH && place < last; ++place) {
      const int32_t i = k->order[place];
      const cvtm_cell_moments *cell = &k->sums[i];
      double random[2];
      if (i < s->options->fixed || !(cell->mass > 0)) continue;
      const double reach = kick_reach * sqrt(cell->second / cell->mass);
      cvtm_random_uniform2(s->options->seed, kick_stream + round, (uint64_t)i, random);
      double *site = k->trial + 2 * (int64_t)i;
      site[0] =
          cvtm_cvt_inside(site[0] + reach * (2 * random[0] - 1), domain.width, domain.periodic);
      site[1] =
          cvtm_cvt_inside(site[1] + reach * (2 * random[1] - 1), domain.height, domain.periodic);
    }
  }
}

/* Descends from k->trial, and reads the sites and moments that this leads to. */
static cvtm_status descend_from_trial(cvtm_solve *s, kicks *k, cvtm_cvt_result *found) {
  cvtm_cvt_options options = *s->options;
  options.max_iterations = KICK_ITERATIONS;
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)s->options;
  free(k->found);
  k->found = NULL;
  cvtm_status status = cvtm_cvt_put_sites(s->cvt, k->trial, s->count);
  if (status == CVTM_OK) status = cvtm_solve_descend(s, &options, s->deadline, found);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(s->cvt, k->trial, s->count);
  return status == CVTM_OK ? cvtm_cvt_read_cell_moments(s->cvt, s->count, &k->found) : status;
}

/* Puts the sites back whose surroundings have not gained; returns the number that have. */
static int64_t judge(const cvtm_solve *s, kicks *k) {
  int64_t first, last = 0, gained = 0;
  if (cvtm_checkpoint_replays(s->checkpoint)) return 0;
  for (int64_t number = 0; last < s->count; ++number) {
    last = surroundings(k, s->count, number, &first);
    double gain = 0;
    for (int64_t place = first; place < last; ++place)
      gain += k->sums[k->order[place]].second - k->found[k->order[place]].second;
    gained += gain > 0;
    for (int64_t place = first; place < last && !(gain > 0); ++place) {
      const int64_t i = k->order[place];
      k->trial[2 * i] = k->best[2 * i];
      k->trial[2 * i + 1] = k->best[2 * i + 1];
    }
  }
  return gained;
}

/* Takes the result of the last descent if it is lower. */
static cvtm_status accept(cvtm_solve *s, kicks *k, const cvtm_cvt_result *found, int64_t gained,
                          int *lower) {
  if (!(found->objective < s->result.objective)) return CVTM_OK;
  *lower = 1;
  s->result.kicks_kept += gained;
  cvtm_cell_moments *sums = k->sums;
  k->sums = k->found;
  k->found = sums;
  const cvtm_status status = cvtm_solve_keep(s, found);
  return status == CVTM_OK ? cvtm_cvt_get_sites(s->cvt, k->best, s->count) : status;
}

/* Surroundings that gained beside others that lost may lose what they gained there: the descent
 * from the mixed sites decides. */
static cvtm_status try_round(cvtm_solve *s, uint64_t round, kicks *k, int *lower) {
  cvtm_cvt_result found;
  if (!cvtm_checkpoint_replays(s->checkpoint)) {
    cvtm_status read = cvtm_cvt_put_sites(s->cvt, k->best, s->count);
    if (read == CVTM_OK) read = read_order(s, k);
    if (read != CVTM_OK) return read;
    displace_middles(s, round, k);
  }
  ++s->result.kick_rounds;
  *lower = 0;
  cvtm_status status = descend_from_trial(s, k, &found);
  if (status != CVTM_OK || s->deadline == 0) return status;
  int64_t gained = judge(s, k);
  status = cvtm_checkpoint_note(s->checkpoint, &gained);
  if (status != CVTM_OK || gained == 0) return status;
  status = descend_from_trial(s, k, &found);
  return status == CVTM_OK ? accept(s, k, &found, gained, lower) : status;
}

cvtm_status cvtm_solve_kick(cvtm_solve *s) {
  const int most = s->options->kick_rounds > 0 ? s->options->kick_rounds : INT_MAX;
  kicks k = {0};
  int idle = 0;
  int64_t *offset = &k.offset;
  const cvtm_array kept[] = {CVTM_ARRAY(k.best, 2 * s->count), CVTM_ARRAY(k.sums, s->count),
                             CVTM_ARRAY(k.order, s->count), CVTM_ARRAY(offset, 1)};
  cvtm_status status =
      allocate_kicks(&k, s->count)
          ? CVTM_OK
          : cvtm_fail(cvtm_device_error(s->cvt->device), CVTM_ERROR_MEMORY, "no memory for kicks");
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(s->cvt, k.best, s->count);
  if (status == CVTM_OK) status = cvtm_cvt_read_cell_moments(s->cvt, s->count, &k.sums);
  cvtm_checkpoint_keep_host(s->checkpoint, kept, sizeof kept / sizeof *kept);
  for (int round = 0; status == CVTM_OK && round < most && idle < KICK_PATIENCE; ++round) {
    int lower = 0;
    if (cvtm_solve_is_late(s, s->deadline)) break;
    status = try_round(s, (uint64_t)round, &k, &lower);
    idle = lower ? 0 : idle + 1;
  }
  cvtm_checkpoint_keep_host(s->checkpoint, NULL, 0);
  free_kicks(&k);
  return status == CVTM_OK ? cvtm_solve_restore(s) : status;
}
