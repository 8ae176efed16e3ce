/* From a density to a tessellation in phases: a phase is a descent, and the steps after it. */
#include "cvt/solve.h"

#include "base/clock.h"
#include "base/select.h"
#include "base/ranks.h"

#include <math.h>
#include <stdlib.h>

enum {
  LATTICE_ITERATIONS = 10, /* iterations on each lattice */
  COARSE_ITERATIONS_NORMAL = 30,
  COARSE_ITERATIONS_HIGH = 300,
  SEARCHED_LEVEL = 2, /* at normal effort, since finer levels inherit the defects of a level */
  NORMAL_ROUNDS = 8,  /* rounds of a search at normal effort */
  NORMAL_ITERATIONS = 15,
  SEARCH_ROUNDS = 24, /* rounds of a search from effort high on */
  SEARCH_ITERATIONS = 60,
  BALANCE_ROUNDS = 5,
  BALANCE_STEPS = 2,      /* steps of Lloyd's method between two transfers */
  TRANSFERS = 4,          /* number of transfers during the descent of the full set */
  FIRST_TRANSFER = 40,    /* iterations before the first transfer, at most */
  BETWEEN_TRANSFERS = 30, /* iterations between transfers, at most */
  ANNEAL_ROUNDS = 200,
  ANNEAL_PATIENCE = 15, /* rounds without a gain after which annealing ends */
  ANNEAL_ITERATIONS = 60
};

/* At normal effort the tolerance of a coarse level is coarse_tolerance times that of the full set,
 * but at most largest_coarse_tolerance, since the finer levels continue from the result. */
static const double coarse_tolerance = 5, largest_coarse_tolerance = 1e-4;

/* The fraction of the sites that the last of the TRANSFERS transfers moves. The first moves 4 times
 * as many, the second 3 times, the third twice. */
static const double share_of_transfer = 0.0035;

/* A transfer during the descent of the full set comes early if the relative decrease of the energy
 * per iteration falls below this. Then the energies of the cells show where there are too many
 * sites, and few iterations have been spent on a minimum that the transfer leaves. */
static const double slow_decrease = 2e-4;

cvtm_cvt_task cvtm_solve_task(const cvtm_solve *s) {
  const cvtm_cvt_options *o = s->options;
  return (cvtm_cvt_task){s->cvt, s->count, o->fixed, o->energy, o->voronoi};
}

int cvtm_solve_is_late(const cvtm_solve *s, double deadline) {
  int64_t late = cvtm_clock() >= deadline;
  return cvtm_ranks_agree(s->cvt->device, &late) != CVTM_OK || late;
}

/* Returns the time at which a level must end. A level may take as long as all coarser levels
 * together. */
static double deadline_of(const cvtm_solve *s, int64_t level) {
  const double most = s->options->max_seconds;
  return most > 0 ? s->deadline - most * (1 - ldexp(1, (int)-level)) : s->deadline;
}

static int has_effort(const cvtm_solve *s, cvtm_cvt_effort effort) {
  return s->options->effort >= effort;
}

/* --- the full set ----------------------------------------------------------------------------- */

/* The largest number of iterations before the next transfer; 0 if no transfer follows, or no time
 * is left for a descent after the transfer. */
static int64_t iterations_to_transfer(const cvtm_solve *s) {
  const cvtm_solve_state *st = &s->state;
  const int64_t most = s->options->max_iterations;
  const int64_t own = st->round == 0 ? FIRST_TRANSFER : BETWEEN_TRANSFERS;
  if (s->options->method == CVTM_CVT_LLOYD || !s->transfers_help || st->round == TRANSFERS)
    return 0;
  if (cvtm_solve_is_late(s, s->deadline - BETWEEN_TRANSFERS * st->pace)) return 0;
  return most > 0 && st->result.iterations + own + BETWEEN_TRANSFERS > most ? 0 : own;
}

static void begin_fine(cvtm_solve *s) {
  s->state.phase = CVTM_SOLVE_FINE;
  s->state.round = s->state.transferred = 0;
  s->state.limit = iterations_to_transfer(s);
}

static double set_fine(const cvtm_solve *s, cvtm_cvt_options *o) {
  if (s->state.round > 0) o->lloyd_steps = 0;
  if (o->max_iterations > 0) o->max_iterations -= s->state.result.iterations;
  if (s->state.limit > 0) {
    o->max_iterations = s->state.limit;
    o->tolerance = fmax(o->tolerance, slow_decrease);
  }
  return s->deadline;
}

static cvtm_status begin_search(cvtm_solve *s);

/* Stores why the descent of the full set stopped; then begins the search, or ends the run. */
static cvtm_status end_fine(cvtm_solve *s, const cvtm_cvt_result *found) {
  const int stopped = s->state.result.stop == CVTM_STOP_REQUEST;
  if (!stopped) s->state.result.stop = found->stop;
  if (!stopped && has_effort(s, CVTM_CVT_EFFORT_HIGH)) return begin_search(s);
  s->state.phase = CVTM_SOLVE_END;
  return CVTM_OK;
}

/* Undoes the last transfer if the energy has not decreased since; then no transfer follows. */
static cvtm_status after_fine(cvtm_solve *s, const cvtm_cvt_result *found) {
  cvtm_solve_state *st = &s->state;
  const int undone = st->round > 0 && !(found->objective < st->result.objective);
  cvtm_status status = CVTM_OK;
  st->result.iterations += found->iterations;
  if (found->iterations > 0) st->pace = found->seconds / (double)found->iterations;
  if (undone) {
    status = cvtm_solve_restore(s);
  } else {
    st->result.rounds += st->transferred > 0;
    st->result.transfers += st->transferred;
    status = cvtm_solve_keep(s, found);
  }
  if (cvtm_solve_is_late(s, s->deadline) || st->limit == 0)
    return status == CVTM_OK ? end_fine(s, found) : status;
  const double share = (TRANSFERS - (int)st->round) * share_of_transfer;
  st->transferred = 0;
  if (status == CVTM_OK && !undone)
    status = cvtm_solve_transfer(s, (int64_t)(share * (double)s->count) + 1, contrast_of_search);
  ++st->round;
  st->limit = undone ? 0 : iterations_to_transfer(s);
  return status;
}

/* --- annealing ---------------------------------------------------------------------------------
 *
 * In each round every site moves away from its nearest neighbour by less than half of their
 * distance, and all sites descend. The next round starts from the result, also if its energy is
 * higher; the best sites are kept (Gonzalez, Choksi & Nave 2021, "A simple geometric method for
 * navigating the energy landscape of centroidal Voronoi tessellations", with a few steps of Lloyd's
 * method in between). */

static cvtm_status next_anneal(cvtm_solve *s) {
  cvtm_solve_state *st = &s->state;
  if (st->round < ANNEAL_ROUNDS && st->idle < ANNEAL_PATIENCE &&
      !cvtm_solve_is_late(s, s->deadline)) {
    ++st->result.anneal_rounds;
    return cvtm_solve_displace(s);
  }
  st->phase = CVTM_SOLVE_END;
  return cvtm_solve_restore(s);
}

static cvtm_status begin_anneal(cvtm_solve *s) {
  s->state.phase = CVTM_SOLVE_ANNEAL;
  s->state.round = s->state.idle = 0;
  return next_anneal(s);
}

static double set_anneal(const cvtm_solve *s, cvtm_cvt_options *o) {
  o->max_iterations = ANNEAL_ITERATIONS;
  return s->deadline;
}

static cvtm_status after_anneal(cvtm_solve *s, const cvtm_cvt_result *found) {
  const int lower = found->objective < s->state.result.objective;
  const cvtm_status status = lower ? cvtm_solve_keep(s, found) : CVTM_OK;
  s->state.idle = lower ? 0 : s->state.idle + 1;
  ++s->state.round;
  return status == CVTM_OK ? next_anneal(s) : status;
}

/* --- coarse levels ---------------------------------------------------------------------------- */

/* Alternates steps of Lloyd's method with transfers, since after refinement there are too many
 * sites in the part of a coarse cell with low density, and too few in the part with high density.
 * Leaves half of the level's time for its descent. */
static cvtm_status balance(cvtm_solve *s) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  const int64_t level = s->state.level;
  const double deadline = 0.5 * (deadline_of(s, level + 1) + deadline_of(s, level));
  for (int round = 0; round < BALANCE_ROUNDS && !cvtm_solve_is_late(s, deadline); ++round) {
    cvtm_status status = cvtm_cvt_enqueue_lloyd(&task, BALANCE_STEPS);
    if (status == CVTM_OK) status = cvtm_solve_transfer(s, s->count / 10 + 1, contrast_of_balance);
    s->state.result.evaluations += BALANCE_STEPS + 1;
    if (status != CVTM_OK || s->state.transferred == 0) return status;
  }
  return CVTM_OK;
}

static cvtm_status next_level(cvtm_solve *s) {
  cvtm_status status = cvtm_solve_refine(s);
  if (status == CVTM_OK) status = balance(s);
  s->state.phase = CVTM_SOLVE_COARSE;
  if (status == CVTM_OK && s->state.level == 0) begin_fine(s);
  return status;
}

static double set_coarse(const cvtm_solve *s, cvtm_cvt_options *o) {
  const int high = has_effort(s, CVTM_CVT_EFFORT_HIGH);
  o->max_iterations = high ? COARSE_ITERATIONS_HIGH : COARSE_ITERATIONS_NORMAL;
  if (!high) o->tolerance = fmin(coarse_tolerance * o->tolerance, largest_coarse_tolerance);
  return deadline_of(s, s->state.level);
}

static cvtm_status after_coarse(cvtm_solve *s, const cvtm_cvt_result *found) {
  s->state.result.coarse_iterations += found->iterations;
  if (!has_effort(s, CVTM_CVT_EFFORT_HIGH) && s->state.level != SEARCHED_LEVEL)
    return next_level(s);
  CVTM_TRY(cvtm_solve_keep(s, found));
  return begin_search(s);
}

/* --- search ----------------------------------------------------------------------------------- */

static cvtm_status next_search(cvtm_solve *s) {
  cvtm_solve_state *st = &s->state;
  const int rounds = has_effort(s, CVTM_CVT_EFFORT_HIGH) ? SEARCH_ROUNDS : NORMAL_ROUNDS;
  if (st->round < rounds && st->most > 0 && !cvtm_solve_is_late(s, deadline_of(s, st->level))) {
    const cvtm_status status = cvtm_solve_transfer(s, st->most, contrast_of_search);
    if (status != CVTM_OK || st->transferred > 0) return status;
  }
  if (st->level > 0) return next_level(s);
  if (has_effort(s, CVTM_CVT_EFFORT_BEST)) return begin_anneal(s);
  st->phase = CVTM_SOLVE_END;
  return CVTM_OK;
}

static cvtm_status begin_search(cvtm_solve *s) {
  s->state.phase = CVTM_SOLVE_SEARCH;
  s->state.round = 0;
  s->state.most = s->count / 50 + 1;
  return next_search(s);
}

static double set_search(const cvtm_solve *s, cvtm_cvt_options *o) {
  o->max_iterations = has_effort(s, CVTM_CVT_EFFORT_HIGH) ? SEARCH_ITERATIONS : NORMAL_ITERATIONS;
  return deadline_of(s, s->state.level);
}

/* Undoes the last transfer if the energy has not decreased since; then the next transfer is half as
 * large. */
static cvtm_status after_search(cvtm_solve *s, const cvtm_cvt_result *found) {
  cvtm_solve_state *st = &s->state;
  cvtm_status status = CVTM_OK;
  if (found->objective < st->result.objective) {
    ++st->result.rounds;
    st->result.transfers += st->transferred;
    status = cvtm_solve_keep(s, found);
  } else {
    st->most = st->transferred / 2;
    status = cvtm_solve_restore(s);
  }
  ++st->round;
  return status == CVTM_OK ? next_search(s) : status;
}

/* --- lattices --------------------------------------------------------------------------------- */

static double set_lattice(const cvtm_solve *s, cvtm_cvt_options *o) {
  o->max_iterations = LATTICE_ITERATIONS;
  return deadline_of(s, 1);
}

/* Keeps the lattice whose descent ended with the lowest energy so far. Then places the next
 * lattice, or starts the full set from the kept one. */
static cvtm_status after_lattice(cvtm_solve *s, const cvtm_cvt_result *found) {
  cvtm_solve_state *st = &s->state;
  cvtm_status status = CVTM_OK;
  if (st->round == 0 || found->objective < st->result.objective) status = cvtm_solve_keep(s, found);
  ++st->result.lattices;
  if (status != CVTM_OK) return status;
  if (++st->round < s->lattices && !cvtm_solve_is_late(s, deadline_of(s, 1)))
    return cvtm_solve_place_lattice(s, &s->lattice[st->round]);
  status = cvtm_device_copy(s->cvt->device, s->cvt->sites, s->kept,
                            2 * (size_t)s->count * sizeof *s->kept);
  if (status == CVTM_OK) /* wraps the sites of a torus */
    status = s->cvt->updates->rescale(s->cvt->device, s->cvt->domain, 1, s->count, s->cvt->sites);
  if (status == CVTM_OK) begin_fine(s);
  return status;
}

/* --- all phases ------------------------------------------------------------------------------- */

typedef struct phase {
  /* Adapts the run's options to the descent, and returns its deadline. */
  double (*set_options)(const cvtm_solve *s, cvtm_cvt_options *options);
  /* Sets sites and state for the next descent. */
  cvtm_status (*proceed)(cvtm_solve *s, const cvtm_cvt_result *found);
} phase;

static const phase phases[CVTM_SOLVE_END] = {[CVTM_SOLVE_LATTICE] = {set_lattice, after_lattice},
                                             [CVTM_SOLVE_COARSE] = {set_coarse, after_coarse},
                                             [CVTM_SOLVE_SEARCH] = {set_search, after_search},
                                             [CVTM_SOLVE_FINE] = {set_fine, after_fine},
                                             [CVTM_SOLVE_ANNEAL] = {set_anneal, after_anneal}};

/* Passes a record to the caller's monitor, in pixels of the picture. The iterations of all descents
 * of the full set are numbered consecutively. */
static int report(void *context, const cvtm_cvt_record *record) {
  const cvtm_solve *s = context;
  const cvtm_solve_state *st = &s->state;
  cvtm_cvt_record seen = *record;
  seen.energy = ldexp(record->energy, 4 * s->pyramid.order);
  seen.gradient_norm = ldexp(record->gradient_norm, s->pyramid.order);
  if (st->phase == CVTM_SOLVE_FINE) {
    if (st->round > 0 && record->iteration == 0) return 0; /* the end of the previous descent */
    seen.iteration += st->result.iterations;
  } else if (st->phase != CVTM_SOLVE_COARSE) {
    seen.sites = 0;
  }
  return s->options->monitor(s->options->monitor_context, &seen);
}

static cvtm_status descend(cvtm_solve *s, cvtm_cvt_result *found) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  cvtm_solve_state *st = &s->state;
  cvtm_cvt_options options = *s->options;
  cvtm_descent descent = {.task = &task, .options = &options};
  descent.deadline = phases[st->phase].set_options(s, &options);
  if (options.monitor) options.monitor = report;
  options.monitor_context = s;
  options.gradient_tolerance = ldexp(options.gradient_tolerance, -s->pyramid.order);
  cvtm_checkpoint_attach(s, &descent);
  CVTM_TRY(cvtm_cvt_descend(&descent, found));
  if (found->stop == CVTM_STOP_REQUEST) {
    st->result.stop = CVTM_STOP_REQUEST;
    s->deadline = 0;
  }
  st->result.evaluations += found->evaluations;
  st->result.seconds_evaluation += found->seconds_evaluation;
  st->result.seconds_optimizer += found->seconds_optimizer;
  return CVTM_OK;
}

static cvtm_status run_phases(cvtm_solve *s) {
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && s->state.phase != CVTM_SOLVE_END) {
    cvtm_cvt_result found;
    status = descend(s, &found);
    if (status == CVTM_OK) status = phases[s->state.phase].proceed(s, &found);
    if (status == CVTM_OK) status = cvtm_checkpoint_visit(s);
  }
  return status;
}

/* Places the sites of the first phase. */
static cvtm_status place(cvtm_solve *s) {
  s->state.level = s->levels;
  s->state.result.levels = s->levels;
  CVTM_TRY(cvtm_solve_enter(s));
  if (s->lattices > 0) return cvtm_solve_place_lattice(s, &s->lattice[0]); /* the first phase */
  cvtm_status status = cvtm_solve_sample(s);
  s->state.phase = CVTM_SOLVE_COARSE;
  if (status == CVTM_OK && s->levels == 0) begin_fine(s);
  return status;
}

static cvtm_status continue_from_checkpoint(cvtm_solve *s) {
  CVTM_TRY(cvtm_solve_enter(s));
  return cvtm_checkpoint_restore(s);
}

static cvtm_status prepare_solve(cvtm_solve *s) {
  const cvtm_cvt_options *o = s->options;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  CVTM_TRY(cvtm_cvt_check_options(s->cvt, o, s->count));
  CVTM_TRY(cvtm_cvt_prepare(&task));
  if (cvtm_ranks_lead(s->cvt->device))
    CVTM_TRY(cvtm_cvt_find_density(s->cvt, &s->density, &s->copied));
  if (!s->spare)
    CVTM_TRY(cvtm_fail(cvtm_device_error(s->cvt->device), CVTM_ERROR_MEMORY,
                       "no memory for %lld sites", (long long)s->count));
  if (o->effort != CVTM_CVT_EFFORT_LOW || s->transfers_help)
    CVTM_TRY(cvtm_solve_allocate_transfers(s));
  return cvtm_solve_plan_start(s);
}

cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t given,
                           double *sites, int64_t count, cvtm_cvt_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_cvt, options)
  if (count < 1 || count > cvt->capacity || given < options->fixed || given > count)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_ARGUMENT,
                     "%lld sites cannot have %lld given and %lld fixed ones", (long long)count,
                     (long long)given, (long long)options->fixed);
  const double start = cvtm_clock();
  cvtm_solve s = {.cvt = cvt,
                  .options = options,
                  .given = given,
                  .sites = sites,
                  .spare = malloc(2 * (size_t)count * sizeof(double)),
                  .deadline = cvtm_cvt_deadline(options, start),
                  .counts = {count},
                  .count = count,
                  .transfers_help = given == options->fixed};
  cvtm_status status = prepare_solve(&s);
  if (status == CVTM_OK && options->checkpoint) status = cvtm_checkpoint_open(&s);
  if (status == CVTM_OK)
    status = cvtm_checkpoint_continues(&s) ? continue_from_checkpoint(&s) : place(&s);
  if (status == CVTM_OK) status = run_phases(&s);
  if (cvt->pyramid) cvtm_pyramid_end(&s.pyramid);
  if (status == CVTM_OK) status = cvtm_cvt_count_empty(cvt, count, &s.state.result.empty_cells);
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_solve_separate(&s);
  cvtm_checkpoint_close(&s);
  cvtm_solve_free_transfers(&s);
  free(s.copied);
  free(s.spare);
  s.state.result.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = s.state.result;
  return status;
}
