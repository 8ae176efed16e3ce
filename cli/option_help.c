/* Texts from the table of options: --help, and the overview of all commands. */
#include "cli/option_table.h"

#include "run/options.h"

#include <string.h>

void cli_default_text(const cli_option_row *row, const cli_options *defaults, char *text,
                      size_t size) {
  const void *field = cli_option_field_const(row, defaults);
  *text = '\0';
  switch (row->type) {
    case CLI_INTEGER:
      if (*(const int64_t *)field != 0 || row->least == 0)
        snprintf(text, size, "[%lld]", (long long)*(const int64_t *)field);
      break;
    case CLI_REAL:
      snprintf(text, size, "[%g]", *(const double *)field);
      break;
    case CLI_CHOICE:
    case CLI_SWITCH:
      if (cli_choice_name(row->choices, *(const int *)field) != NULL)
        snprintf(text, size, "[%s]", cli_choice_name(row->choices, *(const int *)field));
      break;
    case CLI_TEXT:
      if (*(const char *const *)field != NULL)
        snprintf(text, size, "[%s]", *(const char *const *)field);
      break;
    case CLI_SOURCE:
    case CLI_FLAG:
    case CLI_LIST:
      break;
  }
}

enum { HELP_COLUMN = CLI_HELP_COLUMN, HELP_WIDTH = 100 };

int cli_print_words(FILE *stream, const char *text, int column, int indent) {
  while (*text != '\0') {
    const int length = (int)strcspn(text, " \n");
    if (column + 1 + length > HELP_WIDTH) {
      fprintf(stream, "\n%*s", indent > 0 ? indent : 0, "");
      column = indent > 0 ? indent : -1;
    }
    fprintf(stream, "%s%.*s", column < 0 ? "" : " ", length, text);
    column += 1 + length;
    text += length;
    text += strspn(text, " \n");
  }
  return column;
}

/* Prints "-n, --points N", with the help and the default to its right or below. */
static void print_option(FILE *stream, const cli_option_row *row, const cli_options *defaults) {
  char letter[8] = "   ", argument[96] = "", left[128], text[64];
  const int is_switch = row->type == CLI_SWITCH;
  if (row->letter != 0) snprintf(letter, sizeof letter, "-%c,", row->letter);
  if (row->choices != NULL)
    cli_choice_names(row->choices, '|', argument, sizeof argument);
  else if (row->argument != NULL)
    snprintf(argument, sizeof argument, "%s", row->argument);
  snprintf(left, sizeof left, "%s --%s%s%s%s", letter, row->name,
           is_switch   ? "[="
           : *argument ? " "
                       : "",
           argument, is_switch ? "]" : "");
  fprintf(stream, "  %-*s", HELP_COLUMN - 2, left);
  if (strlen(left) > HELP_COLUMN - 2) fprintf(stream, "\n%*s", HELP_COLUMN, "");
  cli_default_text(row, defaults, text, sizeof text);
  cli_print_words(stream, text, cli_print_words(stream, row->help, HELP_COLUMN, HELP_COLUMN),
                  HELP_COLUMN);
  fputc('\n', stream);
}

/* --- which options --- */

enum { SHORT_ENOUGH = 26 }; /* a command with at most this number of options has only one --help */

typedef enum extent { CHIEF_OPTIONS, ONE_GROUP, ONLY_FORMATS, ALL_OPTIONS } extent;

static int count_options(cli_command command) {
  int count = 0;
  for (int row = 0; row < cli_option_row_count; ++row) count += cli_option_applies(row, command);
  return count;
}

/* Prints the options of a group under its title; nothing if it has none. */
static void print_group(FILE *stream, cli_command command, int group, extent what,
                        const cli_options *defaults) {
  int printed = 0;
  for (int k = 0; k < cli_option_row_count; ++k) {
    const cli_option_row *row = &cli_option_rows[k];
    if (!cli_option_applies(k, command) || (int)row->group != group) continue;
    if (what == CHIEF_OPTIONS && !row->is_chief) continue;
    if (printed++ == 0) fprintf(stream, "\n%s:\n", cli_group_title(row->group));
    print_option(stream, row, defaults);
  }
}

/* True if an option of the command is in the group. */
static int has_options(cli_command command, int group) {
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command) && (int)cli_option_rows[row].group == group) return 1;
  return 0;
}

static const char formats_topic[] = "formats";

void cli_visit_topics(cli_command command, cli_name_visitor visitor, void *context) {
  visitor(context, "all");
  if (cli_format_lists(command)) visitor(context, formats_topic);
  for (int k = 0; k < CLI_GROUP_COUNT; ++k)
    if (has_options(command, k)) visitor(context, cli_group_name((cli_option_group)k));
}

/* Finds a group by its topic; CLI_GROUP_COUNT if the command has no such group. */
static int find_group(cli_command command, const char *name) {
  for (int k = 0; k < CLI_GROUP_COUNT; ++k)
    if (strcmp(cli_group_name((cli_option_group)k), name) == 0 && has_options(command, k)) return k;
  return CLI_GROUP_COUNT;
}

/* A cli_name_visitor: context is a run_nearest. */
static void offer_topic(void *context, const char *name) { run_nearest_offer(context, name); }

const char *cli_help_topic_near(cli_command command, const char *word) {
  run_nearest nearest = run_nearest_start(word);
  cli_visit_topics(command, offer_topic, &nearest);
  return nearest.best;
}

/* --- all of --help --- */

static void print_jobs(FILE *stream) {
  fputs(
      "\nJOBS is a .jsonl list (each line is a JSON object with options of run, and `input` for "
      "the\n"
      "image); - reads the list from stdin. Or JOBS is images or a glob, and file names among the\n"
      "options may hold {stem}, {name}, {ext}, {dir} and {index}: cvtmesh batch 'in/*.png' -n "
      "5000\n"
      "-o 'out/{stem}.msh'\n",
      stream);
}

/* A cli_name_visitor: context is the stream. */
static void print_topic(void *context, const char *name) { fprintf(context, " %s", name); }

static void print_more(FILE *stream, cli_command command) {
  fprintf(stream, "\nMore: cvtmesh %s --help TOPIC, with one of these:\n",
          cli_commands[command].name);
  fputs("     ", stream);
  cli_visit_topics(command, print_topic, stream);
  fputc('\n', stream);
}

int cli_print_help(FILE *stream, cli_command command, const char *topic) {
  cli_options defaults;
  int only = CLI_GROUP_COUNT;
  extent what = count_options(command) <= SHORT_ENOUGH ? ALL_OPTIONS : CHIEF_OPTIONS;
  if (topic != NULL && strcmp(topic, "all") == 0) {
    what = ALL_OPTIONS;
  } else if (topic != NULL && strcmp(topic, formats_topic) == 0 && cli_format_lists(command)) {
    what = ONLY_FORMATS;
  } else if (topic != NULL) {
    only = find_group(command, topic);
    what = ONE_GROUP;
    if (only == CLI_GROUP_COUNT) return 0;
  }
  cli_options_set_defaults(command, &defaults);
  const char *operand = cli_commands[command].operand;
  fprintf(stream, "usage: cvtmesh %s%s%s%s [options]\n\n%s\n", cli_commands[command].name,
          *operand ? " " : "", operand, cli_commands[command].usage, cli_commands[command].summary);
  for (int k = 0; k < CLI_GROUP_COUNT; ++k)
    if (what != ONLY_FORMATS && (only == CLI_GROUP_COUNT || only == k))
      print_group(stream, command, k, what, &defaults);
  if (what >= ONLY_FORMATS && cli_format_lists(command)) cli_print_format_table(stream, command);
  if (what == CHIEF_OPTIONS) print_more(stream, command);
  if (what == ALL_OPTIONS) fputs("\n--no-NAME undoes the flag --NAME.\n", stream);
  if (what == ONE_GROUP) return 1;
  if (command == CLI_BATCH) print_jobs(stream);
  cli_print_formats(stream, command);
  return 1;
}

static void print_commands(FILE *stream, const char *title, int is_research) {
  fprintf(stream, "\n%s:\n", title);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    if (cli_commands[command].is_research == is_research)
      fprintf(stream, "  %-12s %s\n", cli_commands[command].name, cli_commands[command].summary);
}

const char *const cli_other_commands[][2] = {
    {"page", "drop pictures, move sliders and save files in a browser"},
    {"completion", "the completions for bash, zsh or fish"},
    {"help", "help about a command: cvtmesh help run"},
    {NULL, NULL}};

void cli_print_overview(FILE *stream) {
  fputs(
      "usage: cvtmesh COMMAND [arguments]\n\n"
      "    cvtmesh run photo.png -n 5000 -o dots.svg       a picture as dots\n"
      "    cvtmesh run photo.png -n 5000 -o mesh.vtu       a mesh that is fine where it is dark\n"
      "    cvtmesh mesh plate.geojson --size 5 -o out.msh  the mesh of an outline\n"
      "    cvtmesh sphere 120 -o grid.nc                   the globe, cells of 120 km\n",
      stream);
  print_commands(stream, "Commands", 0);
  for (const char *const(*other)[2] = cli_other_commands; (*other)[0] != NULL; ++other)
    fprintf(stream, "  %-12s %s\n", (*other)[0], (*other)[1]);
  print_commands(stream, "Research", 1);
  fputs(
      "\n`cvtmesh COMMAND --help` lists the main options of a command, `--help all` every option;\n"
      "`cvtmesh --help all` does that for all commands. `man cvtmesh` explains them.\n",
      stream);
}

void cli_print_all_help(FILE *stream) {
  cli_print_overview(stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command) {
    fputs("\n----\n\n", stream);
    cli_print_help(stream, (cli_command)command, "all");
  }
}
