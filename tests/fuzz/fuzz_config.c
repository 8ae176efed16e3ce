/* A config file; the first byte chooses the subcommand. */
#include "cli/cli.h"

#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  if (size < 1) return 0;
  const cli_command command = (cli_command)(data[0] % CLI_COMMAND_COUNT);
  const char *path = fuzz_write_file("config", data + 1, size - 1);
  cvtm_error message = {CVTM_OK, ""};
  char words[5][128] = {"cvtmesh", "--config", "", "a.png", ""};
  snprintf(words[2], sizeof words[2], "%s", path);
  char *argv[] = {words[0], words[1], words[2], words[3], NULL};
  cli_options options;
  int code = -1;
  cli_capture_messages(&message);
  const cli_parsed parsed = cli_options_parse(command, 4, argv, &options, &code);
  cli_capture_messages(NULL);
  if (parsed == CLI_PARSE_FAILED && (message.message[0] == '\0' || code == CLI_EXIT_OK)) abort();
  cli_options_free(&options);
  return 0;
}
