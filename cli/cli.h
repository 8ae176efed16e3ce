/* Exit codes of the program, and what all commands share: messages and the device. */
#ifndef CVTMESH_CLI_CLI_H
#define CVTMESH_CLI_CLI_H

#include "base/device.h"
#include "cli/options.h"

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

/* The functions of the commands. Options are parsed and within their ranges. Each returns the exit
 * code. */
#define CLI_COMMAND_FUNCTION(code, function, name, operand, usage, summary) \
  int function(const cli_options *options);
CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION
/* Runs the command, unless it would overwrite a file that it reads (cli/files.h). */
int cli_command_run(const cli_options *options);

#endif
