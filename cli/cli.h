/* Exit codes of the program, and functions of all commands: messages, device, progress, signals. */
#pragma once

#include "base/device.h"
#include "cli/options.h"
#include "cvt/cvt.h"

#include <cjson/cJSON.h>

typedef enum cli_exit {
  CLI_EXIT_OK = 0,
  CLI_EXIT_FAILURE = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_INPUT = 3,
  CLI_EXIT_NOT_CONVERGED = 4,
  CLI_EXIT_DEVICE = 5,
  CLI_EXIT_INTERRUPTED = 130
} cli_exit;

/* Makes a call; if it does not return CLI_EXIT_OK, the function with this macro returns its code.
 */
#define CLI_TRY(...)                                \
  do {                                              \
    const int cli_tried = (__VA_ARGS__);            \
    if (cli_tried != CLI_EXIT_OK) return cli_tried; \
  } while (0)

/* The work of the command when a library call failed. It decides the exit code: an error while
 * reading is bad input, an error while writing is a failure. */
typedef enum cli_phase { CLI_READING, CLI_WORKING, CLI_WRITING } cli_phase;

/* Prints "cvtmesh: <message>" on stderr, and returns the exit code. */
int cli_failed(cli_phase phase, cvtm_status status, const cvtm_error *error);
/* Prints a message about a wrong command line, and returns CLI_EXIT_USAGE. */
CVTM_PRINTF(2, 3)
int cli_usage_error(cli_command command, const char *format, ...);
/* cli_usage_error for a missing operand or option, with the usage of the command. */
int cli_missing(cli_command command, const char *name);
/* If a function of run/ failed, prints its message. Returns the exit code for its status. */
int cli_result(cli_command command, cli_phase phase, cvtm_status status, const cvtm_error *error);

/* The text for messages: control characters and bytes that are not UTF-8 become \xHH. May be in a
 * buffer of the thread, cut to the buffer's size, and valid until the second call from now. */
const char *cli_visible(const char *text);

/* Opens the device that the options name, and replaces this name by that of the open device.
 * Returns CLI_EXIT_OK, or the exit code after a message. */
int cli_open_device(cli_options *options, cvtm_device **device);

/* From now on messages of the calling thread go to *message, without the program's name and with
 * the status of the failure; each message overwrites the previous one. NULL: messages go to stderr
 * again. Returns the former target. */
cvtm_error *cli_capture_messages(cvtm_error *message);

/* The word for a count: `one` for 1, else `many`. */
static inline const char *cli_word(int64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* A count with its word, as in "2 sites"; in a buffer of the thread, valid for three more calls. */
const char *cli_count(int64_t count, const char *one, const char *many);

/* Prints the page's address and opens it in a browser, or prints why not; returns an exit code. */
int cli_open_page(void);

/* The progress of a run on stderr and in the pictures of --watch. */
typedef struct cli_progress {
  const cli_options *options; /* borrowed */
  double start, first;        /* cvtm_clock at the start and at the first record of all sites */
  double shown;               /* when the line was last drawn */
  int drawn;                  /* true while the terminal shows a line */
  struct cli_watch *watch;    /* with --watch; freed by cli_watch_destroy */
} cli_progress;

/* Sets the callbacks of options->run, and what a run measures. Neither struct may move while the
 * callbacks can be called. */
void cli_progress_attach(cli_progress *progress, cli_options *options);

/* A caller, other than a person at a terminal, that waits for a command. Both functions are called
 * in the thread of the command, or in the threads of a batch. */
typedef struct cli_listener {
  void *context;
  /* After each iteration of `run` on all sites. bound: reference energy. Nonzero: stops the run. */
  int (*iteration)(void *context, const cvtm_cvt_record *record, double bound);
  int (*interrupted)(void *context); /* returns nonzero to stop every solver */
} cli_listener;

/* Sets the listener of the calling thread, borrowed; NULL: none. */
void cli_listen(const cli_listener *listener);
/* The listener of the calling thread. */
const cli_listener *cli_listening(void);

/* From now on SIGINT, SIGTERM, SIGHUP and SIGXCPU ask to stop; a second SIGINT or SIGTERM ends the
 * process. Ignored signals remain ignored, as nohup and shells require. Does nothing if the thread
 * has a listener, which has its own means to stop. */
void cli_catch_signals(void);
/* True after such a signal, or if the thread's listener asks to stop. */
int cli_interrupted(void);

/* Reads and meshes an outline by the options of `mesh`, after cli_progress_attach. Stores the
 * chosen sides in the options, for the report. Returns an exit code. */
struct cvtm_outline;
int cli_outline_make(cli_options *own, struct cvtm_outline **made);

/* Makes a report with its first members: `version`, the device (NULL: none), `options`. */
cJSON *cli_report_begin(const cvtm_device *device, const cli_options *options);
/* Adds every option of the command, with the value that was used. */
void cli_report_options(const cli_options *options, cJSON *entry);

/* Refuses a file that is written and also read, or written twice, and two outputs to standard
 * output. Changes no files. Returns an exit code. */
int cli_files_check(const cli_options *options);
/* Refuses outputs of wrong formats, and files that cannot be created. Returns an exit code. */
int cli_outputs_check(const cli_options *options);
/* cli_outputs_check for few formats. known: extensions between blanks; what: as in messages. */
int cli_outputs_check_known(const cli_options *options, const char *known, const char *what);

/* The functions of the commands. Options are parsed and within their ranges. Each function returns
 * the exit code. */
#define CLI_COMMAND_FUNCTION(code, function, ...) int function(const cli_options *options);
CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION
/* Runs the command, unless it would overwrite a file that it reads (run/files.h). */
int cli_command_run(const cli_options *options);
