#include "cli/commands.h"

#include "cli/cli.h"
#include "cli/files.h"

#include <string.h>

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
