#define _XOPEN_SOURCE 700

#include "cli/progress.h"

#include "base/clock.h"
#include "base/grow.h"
#include "cli/cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written by a signal handler, read by every thread. */
static atomic_int stop_requested;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler needs a lock-free atomic");

static void request_stop(int number) {
  (void)number;
  atomic_store(&stop_requested, 1);
}

static _Thread_local const cli_listener *listening;

void cli_listen(const cli_listener *listener) { listening = listener; }

const cli_listener *cli_listening(void) { return listening; }

void cli_catch_signals(void) {
  /* A terminal that closes sends several SIGHUP, a limit on processor time SIGXCPU every second. */
  static const struct {
    int number, flags;
  } caught[] = {
      {SIGINT, (int)SA_RESETHAND}, {SIGTERM, (int)SA_RESETHAND}, {SIGHUP, 0}, {SIGXCPU, 0}};
  if (listening != NULL) return;
  for (size_t k = 0; k < sizeof caught / sizeof caught[0]; ++k) {
    struct sigaction action;
    if (sigaction(caught[k].number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    memset(&action, 0, sizeof action);
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART | caught[k].flags;
    sigemptyset(&action.sa_mask);
    sigaction(caught[k].number, &action, NULL);
  }
}

int cli_interrupted(void) {
  return atomic_load(&stop_requested) ||
         (listening != NULL && listening->interrupted(listening->context));
}

void cli_progress_start(cli_progress *progress, const cli_options *options, int64_t sites,
                        double bound) {
  memset(progress, 0, sizeof *progress);
  progress->verbose = options->verbose && !options->quiet;
  progress->line = !options->quiet && !options->verbose && isatty(STDERR_FILENO);
  progress->sites = sites;
  progress->bound = bound;
  progress->max_iterations = options->iterations;
  progress->max_seconds = options->time_limit;
  progress->start = cvtm_clock();
}

void *cli_history_add(cli_history *history, size_t size) {
  if (!cvtm_grow(&history->records, size, &history->capacity, history->count + 1)) {
    history->lost = 1;
    return NULL;
  }
  return (char *)history->records + (size_t)history->count++ * size;
}

cvtm_status cli_history_check(const cli_history *history, cvtm_error *error) {
  if (!history->lost) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the history of the iterations");
}

/* Seconds until the first limit is reached, extrapolated from the pace with all sites; -1 if
 * unknown. */
static double time_left(const cli_progress *progress, int64_t iteration, double now) {
  double left = -1;
  if (progress->max_iterations > 0 && iteration > 0)
    left = (now - progress->first) / (double)iteration *
           (double)(progress->max_iterations - iteration);
  if (progress->max_seconds > 0) {
    double by_time = progress->max_seconds - (now - progress->start);
    if (by_time < 0) by_time = 0;
    if (left < 0 || by_time < left) left = by_time;
  }
  return left;
}

static void print_progress(const cli_progress *progress, const cvtm_cvt_record *record,
                           double now) {
  double left = time_left(progress, record->iteration, now);
  fprintf(stderr, "\riteration %lld  ratio %.6f  gradient %.2e px", (long long)record->iteration,
          record->energy / progress->bound, record->gradient_norm);
  if (left >= 0) {
    long long seconds = (long long)(left + 0.5);
    fprintf(stderr, "  at most %lld:%02lld left", seconds / 60, seconds % 60);
  }
  fputs("\033[K", stderr);
}

static void print_coarse(const cvtm_cvt_record *record) {
  fprintf(stderr, "\rcoarse level: %lld sites, iteration %lld\033[K", (long long)record->sites,
          (long long)record->iteration);
}

/* Rewrites the line on the terminal, at most ten times a second. */
static void draw_line(cli_progress *progress, const cvtm_cvt_record *record) {
  const double now = cvtm_clock();
  if (!progress->line || now - progress->shown <= 0.1) return;
  if (record->sites == progress->sites)
    print_progress(progress, record, now);
  else
    print_coarse(record);
  fflush(stderr);
  progress->drawn = 1;
  progress->shown = now;
}

void cli_progress_segment(const cli_options *options, int64_t step, double change) {
  if (options->quiet || options->verbose || !isatty(STDERR_FILENO)) return;
  if (step >= 0)
    fprintf(stderr, "\rsegmentation: step %lld, change %.1e, ends at %.1e", (long long)step, change,
            options->segment.tolerance);
  else
    fputc('\r', stderr);
  fputs("\033[K", stderr);
  fflush(stderr);
}

int cli_progress_monitor(void *context, const cvtm_cvt_record *record) {
  cli_progress *progress = context;
  if (record->sites != progress->sites) {
    draw_line(progress, record);
    return cli_interrupted();
  }
  if (progress->first == 0) progress->first = cvtm_clock();
  cvtm_cvt_record *copy = cli_history_add(&progress->history, sizeof *copy);
  if (copy == NULL) return 1;
  *copy = *record;
  if (progress->verbose)
    fprintf(stderr, "iteration %lld  ratio %.9f  gradient %.3e px  step %.3g\n",
            (long long)record->iteration, record->energy / progress->bound, record->gradient_norm,
            record->step);
  draw_line(progress, record);
  if (listening != NULL && listening->iteration(listening->context, record, progress->bound))
    return 1;
  return cli_interrupted();
}

void cli_progress_finish(cli_progress *progress) {
  if (progress->drawn) fputs("\r\033[K", stderr);
  progress->drawn = 0;
}

void cli_progress_free(cli_progress *progress) {
  free(progress->history.records);
  memset(&progress->history, 0, sizeof progress->history);
}
