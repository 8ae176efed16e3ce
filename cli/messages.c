/* Messages and their exit codes. */
#include "cli/cli.h"

#include "cli/commands.h"
#include "cli/files.h"

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

/* --- the word that was meant ---------------------------------------------------------------- */

enum { LENGTH_MAX = 40 }; /* longer words are like no name */

static int least(int a, int b) { return a < b ? a : b; }

/* The number of insertions, deletions, replacements and exchanges of neighbours that make b of a,
 * no part of the word being edited twice (Damerau 1964). */
static int edit_distance(const char *a, const char *b) {
  const int m = (int)strlen(a), n = (int)strlen(b);
  int table[3][LENGTH_MAX + 1]; /* rows i - 2, i - 1 and i, modulo 3 */
  for (int j = 0; j <= n; ++j) table[0][j] = j;
  for (int i = 1; i <= m; ++i) {
    int *row = table[i % 3];
    const int *above = table[(i + 2) % 3], *above2 = table[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= n; ++j) {
      row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(row[j], 1 + least(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], above2[j - 2] + 1);
    }
  }
  return table[m % 3][n];
}

cli_nearest cli_nearest_start(const char *word) {
  const int length = (int)strnlen(word, LENGTH_MAX + 1);
  return (cli_nearest){word, NULL, (length < 3 ? 1 : length / 3) + 1};
}

void cli_nearest_offer(cli_nearest *nearest, const char *candidate) {
  if (strlen(nearest->word) > LENGTH_MAX || strlen(candidate) > LENGTH_MAX) return;
  const int found = edit_distance(nearest->word, candidate);
  if (found >= nearest->distance) return;
  nearest->best = candidate;
  nearest->distance = found;
}

/* --- commands ------------------------------------------------------------------------------- */

static const struct {
  const char *name, *operand, *usage, *summary;
  int (*run)(const cli_options *options);
} commands[] = {
#define CLI_COMMAND_ROW(code, function, name, operand, usage, summary) \
  {name, operand, usage, summary, function},
    CLI_COMMAND_LIST(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

const char *cli_command_name(cli_command command) { return commands[command].name; }

cli_command cli_command_find(const char *name) {
  int command = 0;
  while (command < CLI_COMMAND_COUNT && strcmp(name, commands[command].name) != 0) ++command;
  return (cli_command)command;
}

const char *cli_operand_name(cli_command command) { return commands[command].operand; }

const char *cli_command_usage(cli_command command) { return commands[command].usage; }

const char *cli_command_summary(cli_command command) { return commands[command].summary; }

int cli_command_run(const cli_options *options) {
  const int code = cli_files_check(options);
  return code == CLI_EXIT_OK ? commands[options->command].run(options) : code;
}

int cli_command_is_research(cli_command command) {
  return command == CLI_MINIMIZE || command == CLI_HLCP || command == CLI_LCP;
}
