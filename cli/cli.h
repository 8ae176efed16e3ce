/* Exit codes of the program, and what all commands share: messages, the device, progress and
 * signals. */
#ifndef CVTMESH_CLI_CLI_H
#define CVTMESH_CLI_CLI_H

#include "base/device.h"
#include "cli/options.h"
#include "cvt/cvt.h"

#include <stddef.h>

typedef enum cli_exit {
  CLI_EXIT_OK = 0,
  CLI_EXIT_FAILURE = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_INPUT = 3,
  CLI_EXIT_NOT_CONVERGED = 4,
  CLI_EXIT_DEVICE = 5,
  CLI_EXIT_INTERRUPTED = 130
} cli_exit;

/* What the command was doing when a library call failed. It decides the exit code: an error of
 * reading is bad input, an error of writing is a failure. */
typedef enum cli_phase { CLI_READING, CLI_WORKING, CLI_WRITING } cli_phase;

/* Prints "cvtmesh: <message>" on stderr and returns the exit code. */
int cli_failed(cli_phase phase, cvtm_status status, const cvtm_error *error);
/* Prints a message about a wrong command line and returns CLI_EXIT_USAGE. */
CVTM_PRINTF(2, 3)
int cli_usage_error(cli_command command, const char *format, ...);
/* The same for an operand or an option that is missing, with the usage of the command. */
int cli_missing(cli_command command, const char *name);

/* The bytes of the UTF-8 character at `text`, which is not ""; 0: it begins with none. */
size_t cli_character_length(const char *text);
/* The text as messages show it: control characters and bytes that are not UTF-8 as \xHH. Borrowed;
 * from a buffer of the thread, the text cut to it and good until the second call from now. */
const char *cli_visible(const char *text);

/* Opens the device that the options name, and replaces the name by that of the open device. Returns
 * CLI_EXIT_OK, or the exit code after a message. */
int cli_open_device(cli_options *options, cvtm_device **device);

/* Messages of the calling thread go to *message, without the program's name and with the status
 * that they tell of; each overwrites the one before. NULL: back to stderr. Returns where they went
 * before. */
cvtm_error *cli_capture_messages(cvtm_error *message);

/* The word that goes with a count. */
static inline const char *cli_word(int64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* The word of a list that a mistyped word probably means. */
typedef struct cli_nearest {
  const char *word;
  const char *best; /* borrowed; NULL: no candidate is near enough */
  int distance;     /* of `best`; without one, the least that is too far */
} cli_nearest;

/* word: borrowed. A candidate is near if at most a third of the word's characters must be
 * inserted, deleted, replaced or exchanged with their neighbours, and one at least. */
cli_nearest cli_nearest_start(const char *word);
/* Of candidates at the same distance the first stays. */
void cli_nearest_offer(cli_nearest *nearest, const char *candidate);

/* The optimiser's monitor: the history, the progress line, and Ctrl-C. */

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

/* `mesh` of a polygon: Delaunay refinement of its inside. */
/* Nonzero if the options ask for the mesh of an outline rather than of points. */
int cli_outline_wanted(const cli_options *options);
/* Returns an exit code. */
int cli_outline_mesh(const cli_options *options);

/* The functions of the commands. Options are parsed and within their ranges. Each returns the exit
 * code. */
#define CLI_COMMAND_FUNCTION(code, function, name, operand, usage, summary) \
  int function(const cli_options *options);
CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION
/* Runs the command, unless it would overwrite a file that it reads (run/files.h). */
int cli_command_run(const cli_options *options);

#endif
