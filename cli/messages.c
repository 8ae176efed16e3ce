/* Messages and their exit codes. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local cvtm_error *captured; /* NULL: stderr */

cvtm_error *cli_capture_messages(cvtm_error *message) {
  cvtm_error *before = captured;
  captured = message;
  return before;
}

int cli_failed(cli_phase phase, cvtm_status status, const cvtm_error *error) {
  const char *message = error->message[0] != '\0' ? error->message : cvtm_status_text(status);
  if (captured != NULL)
    cvtm_fail(captured, status, "%s", message);
  else
    fprintf(stderr, "cvtmesh: %s\n", message);
  if (status == CVTM_ERROR_DEVICE_UNAVAILABLE) return CLI_EXIT_DEVICE;
  if (status == CVTM_ERROR_INPUT) return CLI_EXIT_INPUT;
  if (phase == CLI_READING && (status == CVTM_ERROR_IO || status == CVTM_ERROR_UNSUPPORTED ||
                               status == CVTM_ERROR_ARGUMENT))
    return CLI_EXIT_INPUT;
  return CLI_EXIT_FAILURE;
}

int cli_usage_error(cli_command command, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (captured != NULL) {
    captured->status = CVTM_ERROR_ARGUMENT;
    vsnprintf(captured->message, sizeof captured->message, format, arguments);
  } else {
    fprintf(stderr, "cvtmesh %s: ", cli_command_name(command));
    vfprintf(stderr, format, arguments);
    fprintf(stderr, " (see cvtmesh %s --help)\n", cli_command_name(command));
  }
  va_end(arguments);
  return CLI_EXIT_USAGE;
}

int cli_missing(cli_command command, const char *name) {
  if (captured != NULL) return cli_usage_error(command, "%s is missing", name);
  const char *operand = cli_operand_name(command);
  return cli_usage_error(command, "%s is missing; usage: cvtmesh %s%s%s%s", name,
                         cli_command_name(command), *operand != '\0' ? " " : "", operand,
                         cli_command_usage(command));
}

int cli_open_device(cli_options *options, cvtm_device **device) {
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status =
      cvtm_device_create(options->device, (int)options->threads, device, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(options->command, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  options->device = cvtm_device_name(*device);
  return CLI_EXIT_OK;
}
