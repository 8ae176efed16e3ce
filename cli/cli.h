/* Exit codes of the program, and what all commands share: messages, the device, progress and
 * signals. */
#pragma once

#include "base/device.h"
#include "cli/options.h"
#include "cvt/cvt.h"

#include <cjson/cJSON.h>

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
/* Prints the message if a function of run/ failed, and returns the exit code for its status. */
int cli_result(cli_command command, cli_phase phase, cvtm_status status, const cvtm_error *error);

/* The text as messages show it: control characters and bytes that are not UTF-8 become \xHH. May be
 * in a buffer of the thread, cut to its size, and valid until the second call from now. */
const char *cli_visible(const char *text);

/* Opens the device that the options name, and replaces the name by that of the open device. Returns
 * CLI_EXIT_OK, or the exit code after a message. */
int cli_open_device(cli_options *options, cvtm_device **device);

/* From now on messages of the calling thread go to *message, without the program's name and with
 * the status of the failure; each overwrites the one before. NULL: messages go to stderr again.
 * Returns the former target. */
cvtm_error *cli_capture_messages(cvtm_error *message);

/* The word that goes with a count. */
static inline const char *cli_word(int64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* A count with its word, as in "2 sites"; from a buffer of the thread, good until the fourth call
 * from now. */
const char *cli_count(int64_t count, const char *one, const char *many);

/* Prints where the page is and opens it in a browser, or prints why not; returns an exit code. */
int cli_open_page(void);

/* What a run shows on stderr and in the pictures of --watch. */
typedef struct cli_progress {
  const cli_options *options; /* borrowed */
  double start, first;        /* cvtm_clock at the start and at the first record of all sites */
  double shown;               /* when the line was drawn */
  int drawn;                  /* true while the terminal shows a line */
  struct cli_watch *watch;    /* with --watch; freed by cli_watch_destroy */
} cli_progress;

/* Sets the callbacks of options->run, and what a run measures. Neither struct may move as long as
 * the callbacks are called. */
void cli_progress_attach(cli_progress *progress, cli_options *options);

/* A caller that waits for a command in place of a person at a terminal. Both functions are called
 * in the thread of the command, or in the threads of a batch. */
typedef struct cli_listener {
  void *context;
  /* After each iteration of `run` on all sites; bound: reference energy. Nonzero asks to stop. */
  int (*iteration)(void *context, const cvtm_cvt_record *record, double bound);
  int (*interrupted)(void *context); /* nonzero asks every solver to stop */
} cli_listener;

/* The listener of the calling thread from now on, borrowed; NULL: none. */
void cli_listen(const cli_listener *listener);
/* The listener of the calling thread. */
const cli_listener *cli_listening(void);

/* From now on SIGINT, SIGTERM, SIGHUP and SIGXCPU ask to stop; a second SIGINT or SIGTERM ends the
 * process. Signals that were ignored stay ignored, as nohup and shells want it. Does nothing if the
 * thread has a listener, which has its own way to stop. */
void cli_catch_signals(void);
/* True after such a signal, or if the thread's listener says so. */
int cli_interrupted(void);

/* Reads and meshes an outline by the options of `mesh`, to which cli_progress_attach was applied,
 * and which get the chosen sides for the report. Returns an exit code. */
struct cvtm_outline;
int cli_outline_make(cli_options *own, struct cvtm_outline **made);

/* A new report with its first members: `version`, the device (NULL: none), `options`. */
cJSON *cli_report_begin(const cvtm_device *device, const cli_options *options);
/* Adds every option of the command, with the value that was in effect. */
void cli_report_options(const cli_options *options, cJSON *entry);

/* Refuses a file that is written and also read, or written twice, and two outputs to standard
 * output. Changes no file. Returns an exit code. */
int cli_files_check(const cli_options *options);
/* Refuses outputs of wrong formats, and files that cannot be created. Returns an exit code. */
int cli_outputs_check(const cli_options *options);
/* The same with few formats. known: extensions with blanks between; what: as messages call it. */
int cli_outputs_check_known(const cli_options *options, const char *known, const char *what);

/* The functions of the commands. Options are parsed and within their ranges. Each returns the exit
 * code. */
#define CLI_COMMAND_FUNCTION(code, function, ...) int function(const cli_options *options);
CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION
/* Runs the command, unless it would overwrite a file that it reads (run/files.h). */
int cli_command_run(const cli_options *options);
