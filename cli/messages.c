/* Messages and their exit codes, the list of commands, progress and signals. */
#define _XOPEN_SOURCE 700

#include "cli/cli.h"

#include "base/clock.h"
#include "base/host.h"
#include "run/files.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* --- progress, signals and listeners -------------------------------------------------------- */

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
