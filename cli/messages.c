/* Messages and their exit codes, the list of commands, progress and signals. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "cli/watch.h"
#include "run/job.h"

#include <math.h>
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

/* The number of bytes of the next character; 0: a control character, or not UTF-8. */
static size_t visible_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x20 || c[0] == 0x7F || (c[0] == 0xC2 && c[1] < 0xA0)) return 0;
  return run_character_length(text);
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

const char *cli_count(int64_t count, const char *one, const char *many) {
  enum { BUFFERS = 4, SIZE = 96 };
  static _Thread_local char buffers[BUFFERS][SIZE];
  static _Thread_local int last;
  char *buffer = buffers[last = (last + 1) % BUFFERS];
  snprintf(buffer, SIZE, "%lld %s", (long long)count, cli_word(count, one, many));
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
    cvtm_fail_list(captured, CVTM_ERROR_ARGUMENT, format, arguments);
  } else {
    char message[4096];
    const char *name = cli_commands[command].name;
    vsnprintf(message, sizeof message, format, arguments);
    fprintf(stderr, "cvtmesh %s: %s (see cvtmesh %s --help)\n", name, cli_visible(message), name);
  }
  va_end(arguments);
  return CLI_EXIT_USAGE;
}

int cli_result(cli_command command, cli_phase phase, cvtm_status status, const cvtm_error *error) {
  static const char missing[] = " is missing";
  char name[64];
  const size_t length = strcspn(error->message, " ");
  if (status == CVTM_OK) return CLI_EXIT_OK;
  if (status != CVTM_ERROR_USAGE) return cli_failed(phase, status, error);
  if (length >= sizeof name || strcmp(error->message + length, missing) != 0)
    return cli_usage_error(command, "%s", error->message);
  snprintf(name, sizeof name, "%.*s", (int)length, error->message);
  return cli_missing(command, name);
}

int cli_missing(cli_command command, const char *name) {
  if (captured != NULL && strncmp(name, "--", 2) == 0)
    return cli_usage_error(command, "--%s is missing", name + 2);
  if (captured != NULL) return cli_usage_error(command, "%s is missing", name);
  const char *operand = cli_commands[command].operand;
  return cli_usage_error(command, "%s is missing; usage: cvtmesh %s%s%s%s", name,
                         cli_commands[command].name, *operand != '\0' ? " " : "", operand,
                         cli_commands[command].usage);
}

int cli_open_device(cli_options *options, cvtm_device **device) {
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status =
      cvtm_device_create(options->device, (int)options->run.threads, device, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(options->command, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  options->device = cvtm_device_name(*device);
  return CLI_EXIT_OK;
}

/* --- commands ------------------------------------------------------------------------------- */

const cli_command_row cli_commands[] = {
#define CLI_COMMAND_ROW(code, function, ...) {__VA_ARGS__},
    CLI_COMMAND_LIST(CLI_COMMAND_ROW)
#undef CLI_COMMAND_ROW
};

cli_command cli_command_find(const char *name) {
  int command = 0;
  while (command < CLI_COMMAND_COUNT && strcmp(name, cli_commands[command].name) != 0) ++command;
  return (cli_command)command;
}

int cli_command_run(const cli_options *options) {
  /* not in the rows, so that a linker can drop the commands if nothing calls this function */
  static int (*const functions[])(const cli_options *) = {
#define CLI_COMMAND_FUNCTION(code, function, ...) function,
      CLI_COMMAND_LIST(CLI_COMMAND_FUNCTION)
#undef CLI_COMMAND_FUNCTION
  };
  cli_options own = *options;
  cli_progress progress = {0};
  cli_progress_attach(&progress, &own);
  CLI_TRY(cli_files_check(&own));
  return functions[own.command](&own);
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
  /* No SA_RESETHAND for repeated signals: a closing terminal sends several SIGHUP, and a limit on
   * processor time sends SIGXCPU every second. */
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

/* Seconds until the first limit, extrapolated from the speed with all sites; -1: unknown. */
static double time_left(const cli_progress *progress, const cvtm_run_progress *run, double now) {
  const cvtm_run_options *o = &run->run->options;
  const int64_t iteration = run->record->iteration;
  double left = -1;
  if (o->iterations > 0 && iteration > 0)
    left = (now - progress->first) / (double)iteration * (double)(o->iterations - iteration);
  if (o->time_limit > 0) {
    const double by_time = fmax(o->time_limit - (now - progress->start), 0);
    if (left < 0 || by_time < left) left = by_time;
  }
  return left;
}

static void print_progress(const cli_progress *progress, const cvtm_run_progress *run, double now) {
  const cvtm_cvt_record *record = run->record;
  const double left = time_left(progress, run, now);
  if (record->sites != run->sites) {
    fprintf(stderr, "\rcoarse level: %lld sites, iteration %lld\033[K", (long long)record->sites,
            (long long)record->iteration);
    return;
  }
  fprintf(stderr, "\riteration %lld  ratio %.6f  gradient %.2e px", (long long)record->iteration,
          record->energy / run->bound, record->gradient_norm);
  if (left >= 0) {
    const long long seconds = (long long)(left + 0.5);
    fprintf(stderr, "  at most %lld:%02lld left", seconds / 60, seconds % 60);
  }
  fputs("\033[K", stderr);
}

/* Rewrites the line on the terminal, at most ten times a second. */
static void draw_line(cli_progress *progress, const cvtm_run_progress *run) {
  const cli_options *o = progress->options;
  const double now = cvtm_clock();
  if (o->quiet || o->verbose || !isatty(STDERR_FILENO) || now - progress->shown <= 0.1) return;
  print_progress(progress, run, now);
  fflush(stderr);
  progress->drawn = 1;
  progress->shown = now;
}

static void print_iteration(cli_progress *progress, const cvtm_run_progress *run) {
  const cvtm_cvt_record *record = run->record;
  const cli_options *o = progress->options;
  if (record->sites == run->sites && progress->first == 0) progress->first = cvtm_clock();
  if (record->sites == run->sites && o->verbose && !o->quiet)
    fprintf(stderr, "iteration %lld  ratio %.9f  gradient %.3e px  step %.3g\n",
            (long long)record->iteration, record->energy / run->bound, record->gradient_norm,
            record->step);
  draw_line(progress, run);
}

static int show_run(void *context, const cvtm_run_progress *now) {
  cli_progress *progress = context;
  int stop = 0;
  if (now->event == CVTM_RUN_BEGINS) progress->start = cvtm_clock();
  if (now->event == CVTM_RUN_ITERATION) {
    print_iteration(progress, now);
    stop = listening != NULL && now->record->sites == now->sites &&
           listening->iteration(listening->context, now->record, now->bound);
  }
  if (now->event == CVTM_RUN_ENDS && progress->drawn) {
    fputs("\r\033[K", stderr);
    progress->drawn = 0;
  }
  if (progress->options->view.watch != NULL)
    stop |= cli_watch_event(progress->options, now, &progress->watch);
  return stop;
}

static void show_segmentation(void *context, const cvtm_segment_progress *step) {
  const cli_options *o = ((const cli_progress *)context)->options;
  if (o->quiet) return;
  if (step != NULL && o->verbose)
    fprintf(stderr, "step %lld  energy %.8g  area %.6f  change %.3e  %s\n", (long long)step->step,
            step->energy, step->area, step->change, cli_count(step->cycles, "cycle", "cycles"));
  if (o->verbose || !isatty(STDERR_FILENO)) return;
  fputc('\r', stderr);
  if (step != NULL)
    fprintf(stderr, "segmentation: step %lld, change %.1e, ends at %.1e", (long long)step->step,
            step->change, o->run.segment.how.segment.tolerance);
  fputs("\033[K", stderr);
  fflush(stderr);
}

static int is_interrupted(void *context) {
  (void)context;
  return cli_interrupted();
}

static void print_note(void *context, const char *text) {
  (void)context;
  fprintf(stderr, "%s\n", text);
}

static void describe_options(void *context, const cvtm_run_options *chosen,
                             const cvtm_device *device, cJSON *member) {
  const cli_progress *progress = context;
  cli_options options = *progress->options;
  options.run = *chosen;
  if (device != NULL) options.device = cvtm_device_name(device);
  cli_report_options(&options, member);
}

void cli_progress_attach(cli_progress *progress, cli_options *options) {
  progress->options = options;
  options->run.context = progress;
  options->run.progress = show_run;
  options->run.interrupted = is_interrupted;
  options->run.segmented = show_segmentation;
  options->run.note = options->quiet ? NULL : print_note;
  options->run.describe = describe_options;
  options->run.live = options->view.watch != NULL;
  options->run.measure =
      !options->quiet || options->json || options->run.report != NULL || options->run.live;
}
