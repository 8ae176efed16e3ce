/* The program cvtmesh: its exit codes and what its subcommands share. */
#ifndef CVTMESH_CLI_CLI_H
#define CVTMESH_CLI_CLI_H

#include "base/device.h"
#include "cli/options.h"

#include <stddef.h>

#ifndef CVTMESH_VERSION
#define CVTMESH_VERSION "0.1.0"
#endif

typedef enum cli_exit {
  CLI_EXIT_OK = 0,
  CLI_EXIT_FAILURE = 1,
  CLI_EXIT_USAGE = 2,
  CLI_EXIT_INPUT = 3,
  CLI_EXIT_NOT_CONVERGED = 4,
  CLI_EXIT_DEVICE = 5,
  CLI_EXIT_INTERRUPTED = 130
} cli_exit;

/* What was being done when a library call failed: a file that cannot be read is
 * bad input, one that cannot be written is a failure. */
typedef enum cli_phase { CLI_READING, CLI_WORKING, CLI_WRITING } cli_phase;

/* Prints "cvtmesh: <message>" on stderr and returns the exit code. */
int cli_failed(cli_phase phase, cvtm_status status, const cvtm_error *error);
/* The same for a wrong command line; returns CLI_EXIT_USAGE. */
CVTM_PRINTF(2, 3)
int cli_usage_error(cli_command command, const char *format, ...);

/* Opens the device that the options name; the name becomes the one in effect. CLI_EXIT_OK, or the
 * exit code after a message. */
int cli_open_device(cli_options *options, cvtm_device **device);

/* From now on the messages of the calling thread go to `text` instead of stderr, without
 * the program's name; the last one stays. NULL: stderr again. */
void cli_capture_messages(char *text, size_t capacity);

/* The subcommands: options are parsed and within their ranges. */
#define CLI_COMMAND_FUNCTION(code, function, name, operand, usage, summary) \
  int function(const cli_options *options);
CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION

#endif
