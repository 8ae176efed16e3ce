/* From a density to a tessellation: the start, the descent with transfers of sites, the search
 * beyond it, and sites at one place. */
#include "cvt/solve.h"

#include "base/clock.h"
#include "base/select.h"
#include "base/ranks.h"

#include <math.h>
#include <stdlib.h>

enum {
  TRANSFERS = 4,         /* during the descent of the full set: */
  FIRST_TRANSFER = 40,   /* the first after this many iterations at the latest, */
  BETWEEN_TRANSFERS = 30 /* each other after this many more */
};

/* The fraction of the sites that the last of these transfers moves; it grows linearly for earlier
 * ones. */
static const double share_of_transfer = 0.0035;

/* A transfer happens early when the relative decrease of the energy per iteration is below this:
 * the energies of the cells then tell where there are too many sites, and few iterations have been
 * spent on a minimum that is given up. */
static const double slow_decrease = 2e-4;

cvtm_cvt_task cvtm_solve_task(const cvtm_solve *s) {
  const cvtm_cvt_options *o = s->options;
  return (cvtm_cvt_task){s->cvt, s->count, o->fixed, o->energy, o->voronoi};
}

/* If the note cannot be read, the run counts as in time; the next descent reports the damaged note.
 */
int cvtm_solve_is_late(cvtm_solve *s, double deadline) {
  int64_t late = cvtm_clock() >= deadline;
  if (cvtm_ranks_agree(s->cvt->device, &late) != CVTM_OK) return 1;
  return cvtm_checkpoint_note(s->checkpoint, &late) == CVTM_OK && late;
}

cvtm_status cvtm_solve_count_empty(cvtm_solve *s, int64_t *empty) {
  cvtm_status status = CVTM_OK;
  if (!cvtm_checkpoint_replays(s->checkpoint))
    status = cvtm_cvt_count_empty(s->cvt, s->count, empty);
  return status == CVTM_OK ? cvtm_checkpoint_note(s->checkpoint, empty) : status;
}

/* Of a descent in larger pixels. */
typedef struct descent_units {
  const cvtm_cvt_options *options;
  int order;
} descent_units;

static int report_in_pixels(void *context, const cvtm_cvt_record *record) {
  const descent_units *u = context;
  cvtm_cvt_record whole = *record;
  whole.energy = ldexp(whole.energy, 4 * u->order);
  whole.gradient_norm = ldexp(whole.gradient_norm, u->order);
  return u->options->monitor(u->options->monitor_context, &whole);
}

cvtm_status cvtm_solve_descend(cvtm_solve *s, const cvtm_cvt_options *options, double deadline,
                               cvtm_cvt_result *found) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  descent_units units = {options, s->pyramid.order};
  cvtm_cvt_options own = *options;
  if (options->monitor) own.monitor = report_in_pixels;
  own.monitor_context = &units;
  own.gradient_tolerance = ldexp(options->gradient_tolerance, -units.order);
  if (!cvtm_checkpoint_recall_descent(s->checkpoint, found)) {
    cvtm_status status = cvtm_cvt_descend(&task, &own, deadline, found);
    if (status == CVTM_OK) status = cvtm_checkpoint_note_descent(s->checkpoint, found);
    if (status != CVTM_OK) return status;
  }
  if (found->stop == CVTM_STOP_REQUEST) {
    s->result.stop = CVTM_STOP_REQUEST;
    s->deadline = 0;
  }
  s->result.evaluations += found->evaluations;
  s->result.seconds_evaluation += found->seconds_evaluation;
  s->result.seconds_optimizer += found->seconds_optimizer;
  return CVTM_OK;
}

/* Numbers the iterations of several descents in sequence, for the monitor. */
typedef struct iteration_offset {
  const cvtm_cvt_options *options;
  int64_t before; /* iterations of the descents before */
  int continues;  /* the start of this one has been reported as the end of the last */
} iteration_offset;

static int report_shifted(void *context, const cvtm_cvt_record *record) {
  const iteration_offset *a = context;
  cvtm_cvt_record whole = *record;
  if (a->continues && record->iteration == 0) return 0;
  whole.iteration += a->before;
  return a->options->monitor(a->options->monitor_context, &whole);
}

/* The number of iterations to the next transfer, at most; 0 if there is none, or no time to descend
 * after it. */
static int64_t iterations_to_transfer(cvtm_solve *s, int round) {
  const int64_t most = s->options->max_iterations;
  const int64_t own = round == 0 ? FIRST_TRANSFER : BETWEEN_TRANSFERS;
  if (s->options->method == CVTM_CVT_LLOYD || !s->sampled || round == TRANSFERS) return 0;
  if (cvtm_solve_is_late(s, s->deadline - BETWEEN_TRANSFERS * s->pace)) return 0;
  return most > 0 && s->result.iterations + own + BETWEEN_TRANSFERS > most ? 0 : own;
}

/* Descends for at most `iterations`, up to a transfer; 0: to the end. */
static cvtm_status continue_descent(cvtm_solve *s, int round, int64_t iterations,
                                    cvtm_cvt_result *found) {
  const double start = cvtm_clock();
  cvtm_cvt_options options = *s->options;
  iteration_offset a = {s->options, s->result.iterations, round > 0};
  if (options.monitor) options.monitor = report_shifted;
  options.monitor_context = &a;
  if (round > 0) options.lloyd_steps = 0;
  if (options.max_iterations > 0) options.max_iterations -= s->result.iterations;
  if (iterations > 0) {
    options.max_iterations = iterations;
    options.tolerance = fmax(options.tolerance, slow_decrease);
  }
  const cvtm_status status = cvtm_solve_descend(s, &options, s->deadline, found);
  if (status != CVTM_OK) return status;
  s->result.iterations += found->iterations;
  if (found->iterations > 0) s->pace = (cvtm_clock() - start) / (double)found->iterations;
  return CVTM_OK;
}

/* A transfer is undone if the descent after it does not end lower; then there are no more. */
static cvtm_status descend_with_transfers(cvtm_solve *s) {
  cvtm_cvt_result found = {0};
  cvtm_status status = CVTM_OK;
  int64_t iterations = 1, transfers = 0;
  int undone = 0;
  for (int round = 0; status == CVTM_OK && iterations > 0; ++round) {
    iterations = undone ? 0 : iterations_to_transfer(s, round);
    status = continue_descent(s, round, iterations, &found);
    if (status != CVTM_OK) return status;
    undone = round > 0 && !(found.objective < s->result.objective);
    if (undone) {
      transfers = 0;
      status = cvtm_solve_restore(s);
    } else {
      s->result.rounds += transfers > 0;
      s->result.transfers += transfers;
      status = cvtm_solve_keep(s, &found);
    }
    if (cvtm_solve_is_late(s, s->deadline)) break;
    const double share = (TRANSFERS - round) * share_of_transfer;
    if (status == CVTM_OK && iterations > 0 && !undone)
      status = cvtm_solve_transfer(s, (int64_t)(share * (double)s->count) + 1, contrast_of_search,
                                   &transfers);
  }
  if (s->result.stop != CVTM_STOP_REQUEST) s->result.stop = found.stop;
  return status;
}

/* The iterations and the stop of the result are those of the descent of the full set. */
static cvtm_status descend_fine(cvtm_solve *s) {
  cvtm_status status = descend_with_transfers(s);
  if (status == CVTM_OK) status = cvtm_solve_count_empty(s, &s->result.empty_cells);
  if (status != CVTM_OK || s->result.stop == CVTM_STOP_REQUEST) return status;
  if (status != CVTM_OK || s->options->effort < CVTM_CVT_EFFORT_HIGH) return status;
  const cvtm_search search = {CVTM_SEARCH_ROUNDS, CVTM_SEARCH_ITERATIONS, s->deadline};
  status = cvtm_solve_search(s, &search);
  if (status == CVTM_OK && s->options->effort == CVTM_CVT_EFFORT_BEST)
    status = cvtm_solve_anneal(s);
  return status == CVTM_OK ? cvtm_solve_count_empty(s, &s->result.empty_cells) : status;
}

static cvtm_status prepare_solve(cvtm_solve *s) {
  const cvtm_cvt_options *o = s->options;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  cvtm_status status = cvtm_cvt_check_options(s->cvt, o, s->count);
  if (status == CVTM_OK) status = cvtm_cvt_prepare(&task);
  if (status == CVTM_OK && cvtm_ranks_lead(s->cvt->device))
    status = cvtm_cvt_find_density(s->cvt, &s->density, &s->copied);
  if (status == CVTM_OK && !s->spare)
    status = cvtm_fail(cvtm_device_error(s->cvt->device), CVTM_ERROR_MEMORY,
                       "no memory for %lld sites", (long long)s->count);
  if (status != CVTM_OK || (o->effort == CVTM_CVT_EFFORT_LOW && !s->sampled)) return status;
  return cvtm_solve_allocate_transfers(s);
}

/* The time limit is for all processes that have worked at the run. */
static cvtm_status start_checkpoints(cvtm_solve *s, int64_t given, const double *sites) {
  const cvtm_checkpoint_run run = {s->cvt, s->options, s->density, sites, given, s->count};
  if (!s->options->checkpoint) return CVTM_OK;
  const cvtm_status status = cvtm_checkpoint_create(&run, &s->checkpoint);
  if (status != CVTM_OK) return status;
  s->deadline -= cvtm_checkpoint_elapsed(s->checkpoint);
  s->cvt->checkpoint = s->checkpoint;
  return CVTM_OK;
}

static void end_checkpoints(cvtm_solve *s) {
  s->cvt->checkpoint = NULL;
  cvtm_checkpoint_destroy(s->checkpoint);
}

cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t given,
                           double *sites, int64_t count, cvtm_cvt_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_cvt, options)
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count < 1 || count > cvt->capacity || given < options->fixed || given > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites, %lld given and %lld fixed",
                     (long long)count, (long long)given, (long long)options->fixed);
  const double start = cvtm_clock();
  cvtm_solve s = {.cvt = cvt,
                  .options = options,
                  .count = count,
                  .sampled = given == options->fixed,
                  .deadline = cvtm_cvt_deadline(options, start),
                  .spare = malloc(2 * (size_t)count * sizeof(double))};
  cvtm_status status = prepare_solve(&s);
  if (status == CVTM_OK) status = start_checkpoints(&s, given, sites);
  if (status == CVTM_OK) status = cvtm_solve_place(&s, given, sites);
  if (status == CVTM_OK) status = descend_fine(&s);
  if (status == CVTM_OK && cvtm_checkpoint_replays(s.checkpoint))
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the checkpoint is damaged");
  if (status == CVTM_OK) status = cvtm_cvt_get_sites(cvt, sites, count);
  if (status == CVTM_OK) status = cvtm_solve_separate(&s, sites);
  end_checkpoints(&s);
  cvtm_solve_free_transfers(&s);
  free(s.copied);
  free(s.spare);
  s.result.seconds = cvtm_clock() - start;
  if (status == CVTM_OK && result) *result = s.result;
  return status;
}
