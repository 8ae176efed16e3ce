/* A command line, a word in each line; the first byte chooses the subcommand. What the options of
 * run ask of each other is checked, seeds (X,Y,RADIUS) and weights (FILE=FACTOR) among them. */
#include "cli/cli.h"
#include "run/condition.h"
#include "cli/run.h"

#include "fuzz.h"

enum { WORDS_MAX = 96 };

static int split_words(char *text, char **argv) {
  int argc = 0;
  ++argc; /* the program */
  while (*text != '\0' && argc < WORDS_MAX) {
    argv[argc++] = text;
    text += strcspn(text, "\n");
    if (*text == '\n') *text++ = '\0';
  }
  argv[argc] = NULL;
  return argc;
}

static int reads_a_file(int argc, char **argv) {
  for (int k = 0; k < argc; ++k)
    if (strncmp(argv[k], "--c", 3) == 0) return 1; /* --config, abbreviated too */
  return 0;
}

static void check(const cli_options *options) {
  if (options->command == CLI_RUN)
    (void)cli_run_check(options);
  else if (options->command == CLI_SEGMENT)
    (void)run_segment_check(&options->run, NULL);
  else if (options->command == CLI_DENSITY)
    (void)run_condition_check(&options->run, NULL);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  if (size < 1) return 0;
  char *text = malloc(size), *argv[WORDS_MAX + 1];
  cvtm_error message = {CVTM_OK, ""};
  if (text == NULL) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = '\0';
  char program[] = "cvtmesh";
  const int argc = split_words(text, argv);
  argv[0] = program;
  if (!reads_a_file(argc, argv)) {
    cli_options options;
    int code = -1;
    cli_capture_messages(&message);
    const cli_parsed parsed =
        cli_options_parse((cli_command)(data[0] % CLI_COMMAND_COUNT), argc, argv, &options, &code);
    if (parsed == CLI_PARSE_FAILED && (message.message[0] == '\0' || code == CLI_EXIT_OK)) abort();
    if (parsed == CLI_PARSED) check(&options);
    cli_capture_messages(NULL);
    cli_options_free(&options);
  }
  free(text);
  return 0;
}
