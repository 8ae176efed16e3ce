/* Messages and their exit codes. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local cvtm_error *captured; /* NULL: stderr */

cvtm_error *cli_capture_messages(cvtm_error *message) {
  cvtm_error *before = captured;
  captured = message;
  return before;
}

size_t cli_character_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x80) return 1;
  if (c[0] < 0xC2 || c[0] > 0xF4) return 0;
  const size_t length = c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
  for (size_t k = 1; k < length; ++k)
    if ((c[k] & 0xC0) != 0x80) return 0;
  /* Overlong forms, surrogates, and what is beyond U+10FFFF. */
  if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F) ||
      (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F))
    return 0;
  return length;
}

/* The bytes of the character; 0: the next byte is one of no character, or of a control character.
 */
static size_t visible_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x20 || c[0] == 0x7F || (c[0] == 0xC2 && c[1] < 0xA0)) return 0;
  return cli_character_length(text);
}

const char *cli_visible(const char *text) {
  enum { SIZE = 4096, ESCAPE = 4 };
  static _Thread_local char buffers[2][SIZE];
  static _Thread_local int last;
  const char *plain = text;
  for (size_t length; *plain != '\0' && (length = visible_length(plain)) > 0;) plain += length;
  if (*plain == '\0') return text;
  char *buffer = buffers[last = !last];
  size_t made = 0;
  while (*text != '\0' && made + ESCAPE < SIZE) {
    const size_t length = visible_length(text);
    if (length > 0)
      memcpy(buffer + made, text, length);
    else
      snprintf(buffer + made, ESCAPE + 1, "\\x%02x", (unsigned char)*text);
    made += length > 0 ? length : ESCAPE;
    text += length > 0 ? length : 1;
  }
  buffer[made] = '\0';
  return buffer;
}

int cli_failed(cli_phase phase, cvtm_status status, const cvtm_error *error) {
  const char *message = error->message[0] != '\0' ? error->message : cvtm_status_text(status);
  if (captured != NULL)
    cvtm_fail(captured, status, "%s", message);
  else
    fprintf(stderr, "cvtmesh: %s\n", cli_visible(message));
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
    char message[4096];
    const char *name = cli_command_name(command);
    vsnprintf(message, sizeof message, format, arguments);
    fprintf(stderr, "cvtmesh %s: %s (see cvtmesh %s --help)\n", name, cli_visible(message), name);
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
