/* Parses the command line and config files into cli_options. */
#include "cli/options.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/option_table.h"

#include "run/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- config files ------------------------------------------------------------------------ */

/* True if any command has the option. */
static int option_exists(const char *name) {
  for (int row = 0; row < cli_option_row_count; ++row)
    if (strcmp(cli_option_rows[row].name, name) == 0) return 1;
  return 0;
}

static cvtm_status config_line(cli_options *options, const cvtm_pairs *line, cvtm_error *error) {
  const char *path = line->file, *name = line->name;
  const int number = line->line;
  if (line->value == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: line %d: not of the form name = value", path,
                     number);
  int row = cli_option_find(options->command, name);
  const char *instead = row < 0 ? cli_former_option_instead(options->command, name) : NULL;
  if (instead != NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: line %d: '%s' is no option; instead: %s",
                     path, number, name, instead);
  if (row < 0 && option_exists(name)) return CVTM_OK; /* one file may serve all commands */
  if (row < 0 || cli_option_rows[row].offset == CLI_FIELD(config) ||
      cli_option_rows[row].offset == CLI_FIELD(help) ||
      cli_option_rows[row].offset == CLI_FIELD(version))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: line %d: unknown option '%s'", path, number,
                     name);
  cvtm_error detail;
  cvtm_status status = cli_option_set_row(options, row, line->value, &detail);
  if (status == CVTM_OK) return CVTM_OK;
  return cvtm_fail(error, status, "%s: line %d: %.300s", path, number, detail.message);
}

static cvtm_status read_config(cli_options *options, const char *path, cvtm_error *error) {
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_text_read(path, 1 << 20, &bytes, &size, error));
  options->config_text = (char *)bytes;
  cvtm_pairs lines = {.next = options->config_text, .file = path, .error = error};
  while (cvtm_pairs_take(&lines)) CVTM_TRY(config_line(options, &lines, error));
  return CVTM_OK;
}

/* --- the command line -------------------------------------------------------------------- */

/* An option of the command line. Options are collected first and applied last, so that they
 * override a config file whose name comes after them. */
typedef struct found_option {
  int row;
  const char *value;
} found_option;

/* getopt_long returns FIRST_CODE + row for --NAME, FIRST_CODE + CLI_OPTIONS_MAX + row for
 * --no-NAME, FORMER_CODE + row for a former name, and the letter itself for a short option. */
enum { FIRST_CODE = 256, FORMER_CODE = FIRST_CODE + 2 * CLI_OPTIONS_MAX, FORMER_MAX = 64 };

typedef struct getopt_tables {
  char letters[2 * CLI_OPTIONS_MAX + 2];
  struct option names[2 * CLI_OPTIONS_MAX + FORMER_MAX + 1];
  char negated[CLI_OPTIONS_MAX][32]; /* "no-" and the name of each flag */
} getopt_tables;

static void build_tables(cli_command command, getopt_tables *tables) {
  size_t letters = 0;
  int names = 0;
  memset(tables, 0, sizeof *tables);
  tables->letters[letters++] = ':';
  for (int row = 0; row < cli_option_row_count; ++row) {
    if (!cli_option_applies(row, command)) continue;
    const int is_switch = cli_option_rows[row].type == CLI_SWITCH;
    const int has_value = cli_option_rows[row].type != CLI_FLAG && !is_switch;
    struct option *entry = &tables->names[names++];
    entry->name = cli_option_rows[row].name;
    entry->has_arg = has_value ? required_argument : is_switch ? optional_argument : no_argument;
    entry->val = FIRST_CODE + row;
    if (cli_option_rows[row].letter != 0) {
      tables->letters[letters++] = cli_option_rows[row].letter;
      if (has_value) tables->letters[letters++] = ':';
    }
    if (has_value) continue;
    snprintf(tables->negated[row], sizeof tables->negated[row], "no-%s", cli_option_rows[row].name);
    entry = &tables->names[names++];
    entry->name = tables->negated[row];
    entry->has_arg = no_argument;
    entry->val = FIRST_CODE + CLI_OPTIONS_MAX + row;
  }
  /* former names are listed, so that getopt_long takes none for an abbreviation of another name */
  for (int k = 0; k < FORMER_MAX && cli_former_options[k].name != NULL; ++k)
    if ((cli_former_options[k].commands & 1u << command) != 0)
      tables->names[names++] =
          (struct option){cli_former_options[k].name, optional_argument, NULL, FORMER_CODE + k};
}

static int row_of_letter(cli_command command, int letter) {
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command) && cli_option_rows[row].letter == letter) return row;
  return -1;
}

/* The value of --NAME; for a switch the next word, if this names a choice. */
static const char *value_of_option(int argc, char **argv, int row) {
  if (optarg != NULL) return optarg;
  if (cli_option_rows[row].type == CLI_SWITCH && optind < argc &&
      cli_choice_find(cli_option_rows[row].choices, argv[optind]) != NULL)
    return argv[optind++];
  return "true";
}

/* --- options that the command does not have --- */

/* Writes the names of the commands that have the option, separated by ", ". */
static void list_commands_with(const char *name, char *text, size_t capacity) {
  size_t used = 0;
  *text = '\0';
  for (int command = 0; command < CLI_COMMAND_COUNT && used < capacity; ++command)
    if (cli_option_find((cli_command)command, name) >= 0)
      used += (size_t)snprintf(text + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                               cli_commands[command].name);
}

/* Writes the command's options that begin with `start`, between blanks; returns their number. */
static int list_options_from(cli_command command, const char *start, char *text, size_t capacity) {
  size_t used = 0;
  int count = 0;
  *text = '\0';
  for (int row = 0; row < cli_option_row_count; ++row) {
    const char *name = cli_option_rows[row].name;
    if (!cli_option_applies(row, command) || strncmp(name, start, strlen(start)) != 0) continue;
    ++count;
    if (used < capacity) used += (size_t)snprintf(text + used, capacity - used, " --%s", name);
  }
  return count;
}

/* word: as on the command line, perhaps --NAME=VALUE. */
static void refuse_name(cli_command command, const char *word) {
  char name[64], list[256];
  const char *dashes = strncmp(word, "--no-", 5) == 0 ? "--no-" : "--";
  const char *start = word + strspn(word, "-");
  if (strncmp(word, "--no-", 5) == 0) start = word + 5;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
  if (list_options_from(command, name, list, sizeof list) > 1) {
    cli_usage_error(command, "option '%s' may mean%s", word, list);
    return;
  }
  list_commands_with(name, list, sizeof list);
  if (*list != '\0') {
    cli_usage_error(command, "unknown option '%s': it is one of %s", word, list);
    return;
  }
  run_nearest nearest = run_nearest_start(name);
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command)) run_nearest_offer(&nearest, cli_option_rows[row].name);
  if (nearest.best != NULL)
    cli_usage_error(command, "unknown option '%s'; did you mean '%s%s'?", word, dashes,
                    nearest.best);
  else
    cli_usage_error(command, "unknown option '%s'", word);
}

/* Fills `found` (at most one option per character of argv), sets optind to the first operand, and
 * returns the number of options; -1 after a message. */
static int collect_options(cli_command command, int argc, char **argv, found_option *found) {
  getopt_tables tables;
  build_tables(command, &tables);
  int count = 0;
  opterr = 0;
  optind = 0; /* 0, unlike 1, also resets glibc's position within a word of short options */
  for (;;) {
    int code = getopt_long(argc, argv, tables.letters, tables.names, NULL);
    if (code == -1) return count;
    if (code == ':') {
      cli_usage_error(command, "option '%s' needs a value", argv[optind - 1]);
      return -1;
    }
    if (code == '?') {
      if (optopt != 0 && optopt < FIRST_CODE)
        cli_usage_error(command, "unknown option '-%c'", optopt);
      else if (optopt != 0)
        cli_usage_error(command, "option '%s' takes no value", argv[optind - 1]);
      else
        refuse_name(command, argv[optind - 1]);
      return -1;
    }
    if (code >= FORMER_CODE) {
      const cli_former_option *former = &cli_former_options[code - FORMER_CODE];
      cli_usage_error(command, "'--%s' is no option; instead: %s", former->name, former->instead);
      return -1;
    }
    int row;
    const char *value = optarg;
    if (code < FIRST_CODE) {
      row = row_of_letter(command, code);
      value = value_of_option(argc, argv, row);
    } else if (code < FIRST_CODE + CLI_OPTIONS_MAX) {
      row = code - FIRST_CODE;
      value = value_of_option(argc, argv, row);
    } else {
      row = code - FIRST_CODE - CLI_OPTIONS_MAX;
      value = "false";
    }
    found[count].row = row;
    found[count].value = value;
    ++count;
  }
}

/* Applies the options. A list on the command line replaces the list of the config file. */
static cvtm_status apply_options(cli_options *options, const found_option *found, int count,
                                 cvtm_error *error) {
  for (int k = 0; k < count; ++k)
    if (cli_option_rows[found[k].row].type == CLI_LIST)
      ((cvtm_run_list *)cli_option_field(&cli_option_rows[found[k].row], options))->count = 0;
  for (int k = 0; k < count; ++k)
    CVTM_TRY(cli_option_set_row(options, found[k].row, found[k].value, error));
  return CVTM_OK;
}

/* Takes the operand, if the command has one, from argv[optind], and refuses further words. */
static cli_parsed parse_operand(int argc, char **argv, cli_options *options) {
  const char *operand = cli_commands[options->command].operand;
  const int wanted = *operand != '\0';
  const int operands = argc - optind;
  if (operands < wanted) {
    cli_missing(options->command, operand);
    return CLI_PARSE_FAILED;
  }
  if (options->command == CLI_BATCH) {
    options->batch.more = argv + optind + 1;
    options->batch.more_count = operands - 1;
  } else if (operands > wanted) {
    cli_usage_error(options->command, "'%s' is one argument too many", argv[optind + wanted]);
    return CLI_PARSE_FAILED;
  }
  if (wanted && *argv[optind] == '\0') {
    cli_usage_error(options->command, "%s: the name is empty", operand);
    return CLI_PARSE_FAILED;
  }
  if (wanted) options->run.input.name = argv[optind];
  return CLI_PARSED;
}

static cli_parsed parse_found(int argc, char **argv, cli_options *options,
                              const found_option *found, int count, int *exit_code) {
  const cli_command command = options->command;
  const char *config = NULL;
  for (int k = 0; k < count; ++k) {
    if (cli_option_rows[found[k].row].offset == CLI_FIELD(help)) return CLI_PARSED_HELP;
    if (cli_option_rows[found[k].row].offset == CLI_FIELD(version)) return CLI_PARSED_VERSION;
    if (cli_option_rows[found[k].row].offset == CLI_FIELD(run.page.plotter) &&
        strcmp(found[k].value, "list") == 0)
      return CLI_PARSED_PLOTTERS;
    if (cli_option_rows[found[k].row].offset == CLI_FIELD(config)) config = found[k].value;
  }
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = CVTM_OK;
  if (config != NULL) status = read_config(options, config, &error);
  if (status == CVTM_OK) status = apply_options(options, found, count, &error);
  if (status == CVTM_OK) return parse_operand(argc, argv, options);
  *exit_code = status == CVTM_ERROR_ARGUMENT ? cli_usage_error(command, "%s", error.message)
                                             : cli_failed(CLI_READING, status, &error);
  return CLI_PARSE_FAILED;
}

cli_parsed cli_options_parse(cli_command command, int argc, char **argv, cli_options *options,
                             int *exit_code) {
  cli_options_set_defaults(command, options);
  *exit_code = CLI_EXIT_USAGE;
  /* a word may have several short options, but no more than its number of characters */
  size_t most = 1;
  for (int k = 0; k < argc; ++k) most += strlen(argv[k]);
  found_option *found = calloc(most, sizeof *found);
  if (found == NULL) {
    cvtm_error error;
    cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory");
    *exit_code = cli_failed(CLI_WORKING, error.status, &error);
    return CLI_PARSE_FAILED;
  }
  int count = collect_options(command, argc, argv, found);
  cli_parsed parsed = CLI_PARSE_FAILED;
  if (count >= 0) parsed = parse_found(argc, argv, options, found, count, exit_code);
  free(found);
  return parsed;
}
