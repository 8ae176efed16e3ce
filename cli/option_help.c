/* --help and the overview of all commands. */
#include "cli/nearest.h"
#include "cli/option_table.h"
#include "density/density.h"

#include <string.h>

/* "[300]"; "" if the default tells nothing, as the default of a flag. */
static void default_text(const cli_option_row *row, const cli_options *defaults, char *text,
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
      snprintf(text, size, "[%s]", cli_choice_name(row->choices, *(const int *)field));
      break;
    case CLI_TEXT:
      if (*(const char *const *)field != NULL)
        snprintf(text, size, "[%s]", *(const char *const *)field);
      break;
    case CLI_FLAG:
    case CLI_LIST:
      break;
  }
}

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

/* Prints each word after a blank or on a new line, starting at `column`; returns the last column.
 */
static int print_words(FILE *stream, const char *text, int column) {
  while (*text != '\0') {
    const int length = (int)strcspn(text, " \n");
    if (column + 1 + length > HELP_WIDTH) {
      fprintf(stream, "\n%*s", HELP_COLUMN, "");
      column = HELP_COLUMN;
    }
    fprintf(stream, " %.*s", length, text);
    column += 1 + length;
    text += length;
    text += strspn(text, " \n");
  }
  return column;
}

/* "-n, --points N", with the help and the default to its right or below. */
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
  default_text(row, defaults, text, sizeof text);
  print_words(stream, text, print_words(stream, row->help, HELP_COLUMN));
  fputc('\n', stream);
}

/* --- which options --- */

enum { SHORT_ENOUGH = 26 }; /* a command of no more options has one --help */

typedef enum extent { CHIEF_OPTIONS, ONE_GROUP, ALL_OPTIONS } extent;

static int count_options(cli_command command) {
  int count = 0;
  for (int row = 0; row < cli_option_row_count; ++row) count += cli_option_applies(row, command);
  return count;
}

/* The options of a group under its title; nothing where it has none. */
static void print_group(FILE *stream, cli_command command, const cli_option_group *group,
                        extent what, const cli_options *defaults) {
  int printed = 0;
  for (int row = 0; row < cli_option_row_count; ++row) {
    int is_chief;
    if (!cli_option_applies(row, command)) continue;
    if (cli_option_group_of(cli_option_rows[row].name, command, &is_chief) != group) continue;
    if (what == CHIEF_OPTIONS && !is_chief) continue;
    if (printed++ == 0) fprintf(stream, "\n%s:\n", group->title);
    print_option(stream, &cli_option_rows[row], defaults);
  }
}

/* True if an option of the command is in the group. */
static int has_options(cli_command command, const cli_option_group *group) {
  int is_chief;
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command) &&
        cli_option_group_of(cli_option_rows[row].name, command, &is_chief) == group)
      return 1;
  return 0;
}

void cli_visit_help_topics(cli_command command, cli_name_visitor visitor, void *context) {
  visitor(context, "all");
  for (int k = 0; cli_option_group_at(k) != NULL; ++k)
    if (has_options(command, cli_option_group_at(k)))
      visitor(context, cli_option_group_at(k)->name);
}

static const cli_option_group *find_group(cli_command command, const char *name) {
  for (int k = 0; cli_option_group_at(k) != NULL; ++k)
    if (strcmp(cli_option_group_at(k)->name, name) == 0 &&
        has_options(command, cli_option_group_at(k)))
      return cli_option_group_at(k);
  return NULL;
}

/* A cli_name_visitor: context is a cli_nearest. */
static void offer_topic(void *context, const char *name) { cli_nearest_offer(context, name); }

const char *cli_help_topic_near(cli_command command, const char *word) {
  cli_nearest nearest = cli_nearest_start(word);
  cli_visit_help_topics(command, offer_topic, &nearest);
  return nearest.best;
}

/* --- the whole --- */

static void print_formats(FILE *stream, cli_command command) {
  if (command == CLI_BATCH)
    fputs(
        "\n\nJOBS is a list, .jsonl (one object of run's options in a line, with `input` for the\n"
        "image); - reads it from stdin. Otherwise it is a glob of images, and file names among "
        "the\n"
        "options may hold {stem}, {name}, {ext}, {dir} and {index}: cvtmesh batch 'in/*.png' -n "
        "5000\n"
        "-o 'out/{stem}.msh'",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH || command == CLI_MESH)
    fputs(
        "\n\nOutputs: meshes obj off ply stl vtk vtu msh inp node ele poly xdmf (y up); points "
        "csv\n"
        "npy xyz (pixels, y down); drawings svg pdf dxf, and with --page hpgl plt gcode nc (see\n"
        "--svg); png (a picture, see --layers).",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH)
    fprintf(stream, "\nInputs: %s.", cvtm_image_formats());
  if (command == CLI_VORONOI)
    fputs("\n\nOutputs: npy (int32, height x width), png and ppm (a colour for each site).",
          stream);
  fputc('\n', stream);
}

/* A cli_name_visitor: context is the stream. */
static void print_topic(void *context, const char *name) { fprintf(context, " %s", name); }

static void print_more(FILE *stream, cli_command command) {
  fprintf(stream, "\nMore: cvtmesh %s --help TOPIC, with one of these:\n",
          cli_command_name(command));
  fputs("     ", stream);
  cli_visit_help_topics(command, print_topic, stream);
}

int cli_print_help(FILE *stream, cli_command command, const char *topic) {
  cli_options defaults;
  const cli_option_group *only = NULL;
  extent what = count_options(command) <= SHORT_ENOUGH ? ALL_OPTIONS : CHIEF_OPTIONS;
  if (topic != NULL && strcmp(topic, "all") == 0) {
    what = ALL_OPTIONS;
  } else if (topic != NULL) {
    only = find_group(command, topic);
    what = ONE_GROUP;
    if (only == NULL) return 0;
  }
  cli_options_set_defaults(command, &defaults);
  const char *operand = cli_operand_name(command);
  fprintf(stream, "usage: cvtmesh %s%s%s%s [options]\n\n%s\n", cli_command_name(command),
          *operand ? " " : "", operand, cli_command_usage(command), cli_command_summary(command));
  for (int k = 0; cli_option_group_at(k) != NULL; ++k)
    if (only == NULL || only == cli_option_group_at(k))
      print_group(stream, command, cli_option_group_at(k), what, &defaults);
  if (what == CHIEF_OPTIONS) print_more(stream, command);
  if (what == ALL_OPTIONS) fputs("\n--no-NAME undoes the flag --NAME.", stream);
  if (what == ONE_GROUP) return 1;
  print_formats(stream, command);
  return 1;
}

static void print_commands(FILE *stream, const char *title, int is_research) {
  fprintf(stream, "\n%s:\n", title);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    if (cli_command_is_research((cli_command)command) == is_research)
      fprintf(stream, "  %-12s %s\n", cli_command_name((cli_command)command),
              cli_command_summary((cli_command)command));
}

void cli_print_overview(FILE *stream) {
  fputs(
      "usage: cvtmesh COMMAND [arguments]\n\n"
      "    cvtmesh run photo.png -n 5000 -o dots.svg       a picture as dots\n"
      "    cvtmesh run photo.png -n 5000 -o mesh.vtu       a mesh that is fine where it is dark\n",
      stream);
  print_commands(stream, "Commands", 0);
  fprintf(stream, "  %-12s %s\n", "completion", "the completions for bash, zsh or fish");
  fprintf(stream, "  %-12s %s\n", "help", "help about a command: cvtmesh help run");
  print_commands(stream, "Research", 1);
  fputs(
      "\n`cvtmesh COMMAND --help` lists a command's chief options, `--help all` every one;\n"
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
