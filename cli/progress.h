/* The optimiser's monitor: the history, the progress line, and Ctrl-C. */
#ifndef CVTMESH_CLI_PROGRESS_H
#define CVTMESH_CLI_PROGRESS_H

#include "cli/options.h"
#include "cvt/cvt.h"

/* The records of all iterations of a run, for its report. */
typedef struct cli_history {
  void *records; /* freed by its owner */
  int64_t count, capacity;
  int lost; /* true if there was no memory for a record */
} cli_history;

/* Adds a record of `size` bytes and returns it; NULL without memory. Then the monitor asks to stop,
 * and the command fails by cli_history_check: it was not interrupted. */
void *cli_history_add(cli_history *history, size_t size);
/* CVTM_ERROR_MEMORY if a record was lost. */
cvtm_status cli_history_check(const cli_history *history, cvtm_error *error);

typedef struct cli_progress {
  int line;    /* nonzero: one line on stderr, rewritten */
  int verbose; /* nonzero: a line for every iteration */
  int64_t sites;
  double bound;
  int64_t max_iterations; /* 0: none */
  double max_seconds;     /* 0: none */
  double start, shown;    /* by cvtm_clock */
  double first;           /* the time of the first record of all sites; 0: none yet */
  int drawn;              /* true while the terminal shows a progress line */
  cli_history history;    /* of cvtm_cvt_record */
} cli_progress;

/* sites: records of coarser levels are left out. bound: energies are shown as ratios to it.
 * The line needs a terminal on stderr. */
void cli_progress_start(cli_progress *progress, const cli_options *options, int64_t sites,
                        double bound);
/* A cvtm_cvt_monitor; context is the cli_progress. Asks to stop after a signal, and without memory
 * for the record; cli_history_check tells them apart. */
int cli_progress_monitor(void *context, const cvtm_cvt_record *record);
/* Erases the line on the terminal; the history stays. */
void cli_progress_finish(cli_progress *progress);
/* A line of the segmentation on a terminal, which the next line replaces; `step` -1 erases it. */
void cli_progress_segment(const cli_options *options, int64_t step, double change);
void cli_progress_free(cli_progress *progress);

/* Who waits for a command in place of a person at a terminal. Both functions are called in the
 * thread of the command, or in those of a batch. */
typedef struct cli_listener {
  void *context;
  /* After each iteration of `run` on all its sites; bound: of the energy. Nonzero asks to stop. */
  int (*iteration)(void *context, const cvtm_cvt_record *record, double bound);
  int (*interrupted)(void *context); /* nonzero asks every solver to stop */
} cli_listener;

/* The listener of the calling thread from now on, borrowed; NULL: none. */
void cli_listen(const cli_listener *listener);
/* The listener of the calling thread. */
const cli_listener *cli_listening(void);

/* From now on SIGINT, SIGTERM, SIGHUP and SIGXCPU ask to stop; a second SIGINT or SIGTERM ends the
 * process. Those that were ignored stay ignored, as nohup and shells want it. A listener has its
 * own way to stop: then signals stay as they are. */
void cli_catch_signals(void);
/* True after such a signal, or if the thread's listener says so. */
int cli_interrupted(void);

#endif
