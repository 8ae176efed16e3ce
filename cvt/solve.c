/* From a density to a tessellation: the start, the descent, and the search beyond it. */
#include "base/clock.h"
#include "base/point_order.h"
#include "base/primitives.h"
#include "cvt/sample.h"
#include "cvt/descent.h"
#include "cvt/site_updates.h"
#include "cvt/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  LEVELS_NORMAL = 2,
  LEVELS_HIGH = 3,
  COARSE_ITERATIONS_NORMAL = 50,
  COARSE_ITERATIONS_HIGH = 300,
  BALANCE_ROUNDS = 5,
  BALANCE_STEPS = 2, /* of Lloyd's method, between two transfers */
  SEARCH_ROUNDS = 24,
  SEARCH_ITERATIONS = 60,
  RESEED_ROUNDS = 5,
  SEPARATE_ROUNDS = 5,
  TRANSFERS = 4,         /* on the way of the full set's descent */
  FIRST_TRANSFER = 40,   /* at the latest after so many iterations, */
  BETWEEN_TRANSFERS = 30 /* the next after so many more */
};

/* A site moves from a cell to one whose energy is this many times larger: many times while the
 * energies are those of a rough start. */
static const double contrast_of_balance = 3, contrast_of_search = 1.3;

/* Of those on the way: the share of the sites in the last one; each before is larger by as much. */
static const double share_of_transfer = 0.005;

/* On the way a transfer comes when the energy decreases no faster than this, relatively, per
 * iteration: the energies of the cells tell then where sites are too many, and few iterations have
 * gone into a minimum that is left. */
static const double slow_decrease = 2e-4;

/* Of a coarse level at normal effort, in tolerances: the finer levels go on from there. */
static const double coarse_tolerance = 10;

typedef struct solve {
  cvtm_cvt *cvt;
  const float *density;
  const cvtm_cvt_options *options;
  int64_t count;
  int sampled;     /* no site that may move was given */
  double deadline; /* of cvtm_clock(); infinity for none, 0 after a wish to stop */
  double *spare;   /* on the host, 2 * count: coarse sites */
  /* In device memory, if sites may be transferred: */
  double *kept; /* 2 * count: the best sites of the search */
  uint64_t *keys, *keys_alt;
  int32_t *order, *order_alt;
  int64_t *moved;
  void *workspace; /* of the sort */
  size_t workspace_bytes;
  uint64_t draws; /* transfers so far; each draws its own random numbers */
  double pace;    /* seconds per iteration, of the full set's last */
  cvtm_cvt_result result;
} solve;

static cvtm_cvt_task task_of(const solve *s, int64_t count) {
  const cvtm_cvt_options *o = s->options;
  return (cvtm_cvt_task){s->cvt, count, o->fixed, o->energy, o->voronoi};
}

/* One descent of the plan's sites; its effort is added to the result's. */
static cvtm_status descend(solve *s, const cvtm_cvt_options *options, int64_t count,
                           double deadline, cvtm_cvt_result *found) {
  const cvtm_cvt_task task = task_of(s, count);
  const cvtm_status status = cvtm_cvt_descend(&task, options, deadline, found);
  if (status != CVTM_OK) return status;
  if (found->stop == CVTM_STOP_REQUEST) {
    s->result.stop = CVTM_STOP_REQUEST;
    s->deadline = 0;
  }
  s->result.evaluations += found->evaluations;
  s->result.seconds_evaluation += found->seconds_evaluation;
  s->result.seconds_optimizer += found->seconds_optimizer;
  return CVTM_OK;
}

static cvtm_status copy_sites(const solve *s, double *to, const double *from) {
  return cvtm_device_copy(s->cvt->device, to, from, 2 * (size_t)s->count * sizeof *to);
}

/* --- transfers --------------------------------------------------------------------- */

/* In an optimal tessellation all cells have nearly the same energy (Gersho 1979), and one site
 * more or less changes the total by about as much. So up to `most` sites of the poorest
 * cells move beside those of the richest. The sums are those of the sites. How many moved. */
static cvtm_status transfer(solve *s, int64_t count, int64_t most, double contrast,
                            int64_t *transfers) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_transfer transfer = {.domain = cvt->domain,
                                      .sites = cvt->sites,
                                      .moments = cvt->moments,
                                      .order = s->order,
                                      .movable = count - s->options->fixed,
                                      .most = most,
                                      .contrast = contrast,
                                      .seed = s->options->seed,
                                      .draw = ++s->draws};
  *transfers = 0;
  if (transfer.movable < 2) return CVTM_OK;
  cvtm_status status = cvt->updates->energy_keys(cvt->device, cvt->moments, s->options->fixed,
                                                 transfer.movable, s->keys, s->order);
  if (status == CVTM_OK)
    status = cvtm_sort_pairs(cvt->device, s->keys, s->order, s->keys_alt, s->order_alt,
                             transfer.movable, 64, s->workspace, s->workspace_bytes);
  if (status == CVTM_OK) status = cvtm_device_fill(cvt->device, s->moved, 0, sizeof *s->moved);
  if (status == CVTM_OK) status = cvt->updates->transfer(cvt->device, &transfer, s->moved);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, transfers, s->moved, sizeof *transfers);
  return status;
}

static cvtm_status sample(const solve *s, int64_t count, double *sites) {
  const cvtm_cvt *cvt = s->cvt;
  return cvtm_cvt_sample_scanned(cvt->domain, s->density, cvt->square_roots, count,
                                 s->options->seed, s->options->start, sites,
                                 cvtm_device_error(cvt->device));
}

/* --- coarse to fine ---------------------------------------------------------------- */

/* counts[0] is the full number of sites. */
static int plan_levels(const solve *s, int64_t counts[LEVELS_HIGH + 1]) {
  const int most = s->options->effort == CVTM_CVT_EFFORT_HIGH ? LEVELS_HIGH : LEVELS_NORMAL;
  const double share = cvtm_cvt_border_share(s->cvt->domain, s->density, s->cvt->root);
  int levels = 0;
  counts[0] = s->count;
  while (levels < most) {
    const int64_t coarser = cvtm_cvt_coarse_count(share, counts[levels]);
    if (coarser < CVTM_CVT_MIN_COARSE_SITES || coarser >= counts[levels]) break;
    counts[++levels] = coarser;
  }
  return levels;
}

/* When level `level` ends at the latest: a finer level has as long as all that are coarser. */
static double deadline_of(const solve *s, int level) {
  const double most = s->options->max_seconds;
  return most > 0 ? s->deadline - most * (1 - ldexp(1, -level)) : s->deadline;
}

static cvtm_status descend_coarse(solve *s, int level, int64_t count) {
  cvtm_cvt_options options = *s->options;
  cvtm_cvt_result found;
  const int high = options.effort == CVTM_CVT_EFFORT_HIGH;
  options.max_iterations = high ? COARSE_ITERATIONS_HIGH : COARSE_ITERATIONS_NORMAL;
  if (!high) options.tolerance *= coarse_tolerance;
  const cvtm_status status = descend(s, &options, count, deadline_of(s, level), &found);
  if (status == CVTM_OK) s->result.coarse_iterations += found.iterations;
  return status;
}

/* The midpoints of the `from` sites of the plan, on the device, to the host; *left: how many sites
 * have none because their cells are unusual. */
static cvtm_status find_midpoints(cvtm_cvt *cvt, int64_t from, cvtm_edge_midpoints *midpoints,
                                  int32_t *left) {
  const size_t bytes = (size_t)from * sizeof *midpoints;
  void *memory = NULL;
  cvtm_status status = cvtm_device_scratch(cvt->device, bytes + sizeof *left, &memory);
  if (status == CVTM_OK) status = cvtm_site_tree_sort(cvt->tree, cvt->sites, from);
  if (status != CVTM_OK) return status;
  cvtm_edge_midpoints *found = memory;
  int32_t *count = (int32_t *)(void *)(found + from);
  status = cvtm_device_fill(cvt->device, count, 0, sizeof *count);
  if (status == CVTM_OK) status = cvt->updates->edge_midpoints(cvt, found, count);
  if (status == CVTM_OK) status = cvtm_device_copy_out(cvt->device, left, count, sizeof *left);
  if (status == CVTM_OK && *left == 0)
    status = cvtm_device_copy_out(cvt->device, midpoints, found, bytes);
  return status;
}

/* The host cuts all cells out anew where there is no device for it, or unusual ones. */
static cvtm_status refine(solve *s, int64_t from, int64_t to, double *sites) {
  cvtm_cvt *cvt = s->cvt;
  int32_t left = 1;
  cvtm_edge_midpoints *midpoints = NULL;
  cvtm_status status = cvtm_cvt_get_sites(cvt, s->spare, from);
  if (cvt->updates->edge_midpoints) {
    midpoints = malloc((size_t)from * sizeof *midpoints);
    if (status == CVTM_OK && midpoints) status = find_midpoints(cvt, from, midpoints, &left);
  }
  if (status == CVTM_OK && left == 0)
    cvtm_cvt_place_midpoints(s->spare, from, midpoints, sites, to);
  else if (status == CVTM_OK)
    status = cvtm_cvt_refine(cvt->domain, cvtm_device_threads(cvt->device), s->spare, from, sites,
                             to, cvtm_device_error(cvt->device));
  free(midpoints);
  return status == CVTM_OK ? cvtm_cvt_put_sites(cvt, sites, to) : status;
}

/* Refined sites are too many where the density falls within a coarse cell and too few where it
 * rises: a few steps of Lloyd's method and transfers in turn. They leave the level's descent half
 * of its time. */
static cvtm_status balance(solve *s, int level, int64_t count) {
  const cvtm_cvt_task task = task_of(s, count);
  const double deadline = 0.5 * (deadline_of(s, level + 1) + deadline_of(s, level));
  for (int round = 0; round < BALANCE_ROUNDS && cvtm_clock() < deadline; ++round) {
    int64_t transfers = 0;
    cvtm_status status = cvtm_cvt_enqueue_lloyd(&task, BALANCE_STEPS);
    if (status == CVTM_OK)
      status = transfer(s, count, count / 10 + 1, contrast_of_balance, &transfers);
    s->result.evaluations += BALANCE_STEPS + 1;
    if (status != CVTM_OK || transfers == 0) return status;
  }
  return CVTM_OK;
}

static cvtm_status place_coarse_to_fine(solve *s, double *sites) {
  int64_t counts[LEVELS_HIGH + 1];
  int level = plan_levels(s, counts);
  s->result.levels = level;
  cvtm_status status = sample(s, counts[level], sites);
  if (status == CVTM_OK) status = cvtm_cvt_put_sites(s->cvt, sites, counts[level]);
  for (; status == CVTM_OK && level > 0; --level) {
    status = descend_coarse(s, level, counts[level]);
    if (status == CVTM_OK) status = refine(s, counts[level], counts[level - 1], sites);
    if (status == CVTM_OK) status = balance(s, level - 1, counts[level - 1]);
  }
  return status;
}

static cvtm_status place(solve *s, int64_t given, double *sites) {
  const cvtm_cvt_options *o = s->options;
  if (given == 0 && o->effort != CVTM_CVT_EFFORT_LOW) return place_coarse_to_fine(s, sites);
  cvtm_status status = sample(s, s->count - given, sites + 2 * given);
  if (status == CVTM_OK) status = cvtm_cvt_check_sites(s->cvt, sites, s->count);
  return status == CVTM_OK ? cvtm_cvt_put_sites(s->cvt, sites, s->count) : status;
}

/* --- beyond descent ---------------------------------------------------------------- */

/* Keeps the sites, and their figures; or takes the ones kept before. */
static cvtm_status keep(solve *s, const cvtm_cvt_result *found) {
  s->result.objective = found->objective;
  s->result.gradient_norm = found->gradient_norm;
  return s->kept ? copy_sites(s, s->kept, s->cvt->sites) : CVTM_OK;
}

static cvtm_status restore(solve *s) {
  const cvtm_cvt_task task = task_of(s, s->count);
  const cvtm_status status = copy_sites(s, s->cvt->sites, s->kept);
  ++s->result.evaluations;
  return status == CVTM_OK ? cvtm_cvt_enqueue(&task, s->cvt->sites, s->cvt->value, NULL) : status;
}

/* Transfers up to `most` sites and descends. */
static cvtm_status try_transfers(solve *s, int64_t most, double contrast, int64_t iterations,
                                 int64_t *transfers, cvtm_cvt_result *found) {
  cvtm_cvt_options options = *s->options;
  const cvtm_status status = transfer(s, s->count, most, contrast, transfers);
  if (status != CVTM_OK || *transfers == 0) return status;
  options.max_iterations = iterations;
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)s->options;
  return descend(s, &options, s->count, s->deadline, found);
}

/* Sites whose cells have no mass, where nothing moves them, go to the richest cells. */
static cvtm_status reseed(solve *s) {
  for (int round = 0; round < RESEED_ROUNDS && s->result.empty_cells > 0; ++round) {
    if (cvtm_clock() >= s->deadline) break;
    cvtm_cvt_result found;
    int64_t transfers = 0, empty = 0;
    cvtm_status status = try_transfers(s, s->result.empty_cells, contrast_of_balance,
                                       s->options->max_iterations, &transfers, &found);
    if (status != CVTM_OK || transfers == 0) return status;
    status = cvtm_cvt_count_empty(s->cvt, s->count, &empty);
    if (status != CVTM_OK) return status;
    if (empty >= s->result.empty_cells) return restore(s);
    s->result.empty_cells = empty;
    s->result.transfers += transfers;
    status = keep(s, &found);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* Transfers and short descents; what does not lower the energy is undone and half as much
 * tried, so the energy never rises. */
static cvtm_status search(solve *s) {
  int64_t most = s->count / 50 + 1;
  for (int round = 0; round < SEARCH_ROUNDS && most > 0 && cvtm_clock() < s->deadline; ++round) {
    cvtm_cvt_result found;
    int64_t transfers = 0;
    cvtm_status status =
        try_transfers(s, most, contrast_of_search, SEARCH_ITERATIONS, &transfers, &found);
    if (status != CVTM_OK || transfers == 0) return status;
    if (found.objective < s->result.objective) {
      ++s->result.rounds;
      s->result.transfers += transfers;
      status = keep(s, &found);
    } else {
      most = transfers / 2;
      status = restore(s);
    }
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* --- the descent of the full set --------------------------------------------------- */

/* A descent that goes on where another stopped, for monitors: one course of iterations. */
typedef struct account {
  const cvtm_cvt_options *options;
  int64_t before; /* iterations */
  int goes_on;    /* its start has been told */
} account;

static int tell(void *context, const cvtm_cvt_record *record) {
  const account *a = context;
  cvtm_cvt_record whole = *record;
  if (a->goes_on && record->iteration == 0) return 0;
  whole.iteration += a->before;
  return a->options->monitor(a->options->monitor_context, &whole);
}

/* The most iterations up to the next transfer; 0: there is none, or no time to profit by it. */
static int64_t iterations_to_transfer(const solve *s, int round) {
  const int64_t most = s->options->max_iterations;
  const int64_t own = round == 0 ? FIRST_TRANSFER : BETWEEN_TRANSFERS;
  const int lbfgsb = s->options->method == CVTM_CVT_LBFGSB;
  if (!lbfgsb || !s->sampled || round == TRANSFERS) return 0;
  if (s->deadline < INFINITY && cvtm_clock() + BETWEEN_TRANSFERS * s->pace > s->deadline) return 0;
  return most > 0 && s->result.iterations + own + BETWEEN_TRANSFERS > most ? 0 : own;
}

/* Up to a transfer, after at most `iterations`; 0: to the end. */
static cvtm_status go_on(solve *s, int round, int64_t iterations, cvtm_cvt_result *found) {
  const double start = cvtm_clock();
  cvtm_cvt_options options = *s->options;
  account a = {s->options, s->result.iterations, round > 0};
  if (options.monitor) options.monitor = tell;
  options.monitor_context = &a;
  if (round > 0) options.lloyd_steps = 0;
  if (options.max_iterations > 0) options.max_iterations -= s->result.iterations;
  if (iterations > 0) {
    options.max_iterations = iterations;
    options.tolerance = fmax(options.tolerance, slow_decrease);
  }
  const cvtm_status status = descend(s, &options, s->count, s->deadline, found);
  if (status != CVTM_OK) return status;
  s->result.iterations += found->iterations;
  if (found->iterations > 0) s->pace = (cvtm_clock() - start) / (double)found->iterations;
  return CVTM_OK;
}

/* With transfers on the way. One is undone if the descent after it does not end lower, and
 * then there are no more. */
static cvtm_status descend_with_transfers(solve *s) {
  cvtm_cvt_result found = {0};
  cvtm_status status = CVTM_OK;
  int64_t iterations = 1, transfers = 0;
  int undone = 0;
  for (int round = 0; status == CVTM_OK && iterations > 0; ++round) {
    iterations = undone ? 0 : iterations_to_transfer(s, round);
    status = go_on(s, round, iterations, &found);
    if (status != CVTM_OK) return status;
    undone = round > 0 && !(found.objective < s->result.objective);
    if (undone) {
      transfers = 0;
      status = restore(s);
    } else {
      s->result.rounds += transfers > 0;
      s->result.transfers += transfers;
      status = keep(s, &found);
    }
    if (cvtm_clock() >= s->deadline) break;
    const double share = (TRANSFERS - round) * share_of_transfer;
    if (status == CVTM_OK && iterations > 0 && !undone)
      status = transfer(s, s->count, (int64_t)(share * (double)s->count) + 1, contrast_of_search,
                        &transfers);
  }
  if (s->result.stop != CVTM_STOP_REQUEST) s->result.stop = found.stop;
  return status;
}

/* The full set's own descent gives the result's iterations and reason to stop. */
static cvtm_status descend_fine(solve *s) {
  cvtm_status status = descend_with_transfers(s);
  if (status == CVTM_OK) status = cvtm_cvt_count_empty(s->cvt, s->count, &s->result.empty_cells);
  if (status != CVTM_OK || s->result.stop == CVTM_STOP_REQUEST) return status;
  if (s->options->reseed) status = reseed(s);
  if (status != CVTM_OK || s->options->effort != CVTM_CVT_EFFORT_HIGH) return status;
  status = search(s);
  return status == CVTM_OK ? cvtm_cvt_count_empty(s->cvt, s->count, &s->result.empty_cells)
                           : status;
}

/* --- sites at one place ------------------------------------------------------------ */

/* In place of a step that would leave 0 .. size, one to the other side. */
static double step_inside(double x, double step, double size) {
  return x + step >= 0 && x + step <= size ? x + step : x - step;
}

/* Moves `site` off a place that it shares with the site `owner`, whose cell has the mass, to a
 * random place in a disc about as wide as the cell. Many sites of one place fill the disc: on a
 * circle each of their cells would be cut by all others. */
static void move_off(const solve *s, const cvtm_cell_moments *sums, int64_t owner, int64_t site,
                     double *sites) {
  const cvtm_domain domain = s->cvt->domain;
  const double width = domain.width, height = domain.height;
  const cvtm_cell_moments *cell = &sums[owner];
  double draw[2];
  cvtm_random_uniform2(s->options->seed, s->draws, (uint64_t)site, draw);
  const double mean = 0.1 * sqrt(width * height / (double)s->count);
  const double widest = cell->second > 0 ? sqrt(cell->second / cell->mass) : mean;
  const double turn = 6.283185307179586 * draw[0], radius = widest * sqrt(draw[1]);
  double *place = sites + 2 * site;
  place[0] = step_inside(place[0], radius * cos(turn), width);
  place[1] = step_inside(place[1], radius * sin(turn), height);
}

/* Of the sites (host) at one place the first, or a fixed one, stays. How many moved; -1: no memory.
 */
static int64_t move_apart(const solve *s, const cvtm_cell_moments *sums, double *sites) {
  cvtm_placed *order = malloc((size_t)s->count * sizeof *order);
  int64_t moved = 0, owner = 0;
  if (!order) return -1;
  for (int64_t i = 0; i < s->count; ++i)
    order[i] = (cvtm_placed){sites[2 * i], sites[2 * i + 1], i};
  qsort(order, (size_t)s->count, sizeof *order, cvtm_compare_placed);
  for (int64_t k = 1; k < s->count; ++k) {
    const int64_t site = order[k].index;
    if (order[k].x != order[owner].x || order[k].y != order[owner].y) owner = k;
    if (k == owner || site < s->options->fixed) continue;
    move_off(s, sums, order[owner].index, site, sites);
    ++moved;
  }
  free(order);
  return moved;
}

/* A coarse level refined in a hurry, bounds and transfers may put sites at one place, of which all
 * but one have no mass. The sites (host) are those of the last evaluation, and are so again. */
static cvtm_status separate(solve *s, double *sites) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_task task = task_of(s, s->count);
  for (int round = 0; round < SEPARATE_ROUNDS && s->result.empty_cells > 0; ++round) {
    cvtm_cell_moments *sums = NULL;
    double value[2];
    cvtm_status status = cvtm_cvt_read_cell_moments(cvt, s->count, &sums);
    if (status != CVTM_OK) return status;
    ++s->draws;
    const int64_t moved = move_apart(s, sums, sites);
    free(sums);
    if (moved == 0) break;
    if (moved < 0)
      return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for sites");
    status = cvtm_cvt_put_sites(cvt, sites, s->count);
    if (status == CVTM_OK) status = cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL);
    if (status == CVTM_OK)
      status = cvtm_device_copy_out(cvt->device, value, cvt->value, sizeof value);
    if (status == CVTM_OK) status = cvtm_cvt_count_empty(cvt, s->count, &s->result.empty_cells);
    if (status != CVTM_OK) return status;
    ++s->result.evaluations;
    s->result.objective = value[0];
    s->result.gradient_norm = value[1];
  }
  return CVTM_OK;
}

/* --- from start to end ------------------------------------------------------------- */

enum { TRANSFER_ARRAYS = 7 };

static void list_transfers(solve *s, cvtm_array arrays[TRANSFER_ARRAYS]) {
  const cvtm_array list[TRANSFER_ARRAYS] = {
      {(void **)&s->kept, 2 * s->count, sizeof *s->kept},
      {(void **)&s->keys, s->count, sizeof *s->keys},
      {(void **)&s->keys_alt, s->count, sizeof *s->keys_alt},
      {(void **)&s->order, s->count, sizeof *s->order},
      {(void **)&s->order_alt, s->count, sizeof *s->order_alt},
      {(void **)&s->moved, 1, sizeof *s->moved},
      {&s->workspace, (int64_t)s->workspace_bytes, 1},
  };
  memcpy(arrays, list, sizeof list);
}

static cvtm_status allocate_transfers(solve *s) {
  cvtm_device *device = s->cvt->device;
  cvtm_status status = cvtm_sort_workspace(device, s->count, &s->workspace_bytes);
  cvtm_array arrays[TRANSFER_ARRAYS];
  list_transfers(s, arrays);
  return status == CVTM_OK ? cvtm_device_allocate_all(device, arrays, TRANSFER_ARRAYS) : status;
}

static void release(solve *s) {
  cvtm_array arrays[TRANSFER_ARRAYS];
  list_transfers(s, arrays);
  cvtm_device_free_all(s->cvt->device, arrays, TRANSFER_ARRAYS);
  free(s->spare);
}

static cvtm_status prepare(solve *s) {
  const cvtm_cvt_options *o = s->options;
  const cvtm_cvt_task task = task_of(s, s->count);
  cvtm_status status = cvtm_cvt_check_options(s->cvt, o, s->count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK && !s->spare)
    status = cvtm_fail(cvtm_device_error(s->cvt->device), CVTM_ERROR_MEMORY,
                       "no memory for %lld sites", (long long)s->count);
  if (status != CVTM_OK || (o->effort == CVTM_CVT_EFFORT_LOW && !o->reseed && !s->sampled))
    return status;
  return allocate_transfers(s);
}

cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const float *density, const cvtm_cvt_options *options,
                           int64_t given, double *sites, int64_t count, cvtm_cvt_result *result) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count < 1 || count > cvt->capacity || given < options->fixed || given > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites, %lld given and %lld fixed",
                     (long long)count, (long long)given, (long long)options->fixed);
  if (!density) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no density");
  const double start = cvtm_clock();
  solve s = {.cvt = cvt,
             .density = density,
             .options = options,
             .count = count,
             .sampled = given == options->fixed,
             .deadline = cvtm_cvt_deadline(options, start),
             .spare = malloc(2 * (size_t)count * sizeof(double))};
  cvtm_status status = prepare(&s);
  if (status == CVTM_OK) status = place(&s, given, sites);
  if (status == CVTM_OK) status = descend_fine(&s);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  if (status == CVTM_OK) status = separate(&s, sites);
  release(&s);
  s.result.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = s.result;
  return status;
}
