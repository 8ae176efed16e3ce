/* --help, the overview of all commands, and shell completion. */
#include "cli/option_table.h"
#include "density/density.h"

#include <string.h>

/* "[300]"; "" if the default tells nothing, as that of a flag. */
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

void cli_print_help(FILE *stream, cli_command command) {
  cli_options defaults;
  cli_options_set_defaults(command, &defaults);
  const char *operand = cli_operand_name(command);
  fprintf(stream, "usage: cvtmesh %s%s%s%s [options]\n\n%s\n\noptions:\n",
          cli_command_name(command), *operand ? " " : "", operand, cli_command_usage(command),
          cli_command_summary(command));
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command)) print_option(stream, &cli_option_rows[row], &defaults);
  fputs("\n--no-NAME undoes the flag --NAME.", stream);
  if (command == CLI_BATCH)
    fputs(
        "\n\nJOBS is a list, .jsonl (one object of run's options in a line) or .csv (a header "
        "that\n"
        "names them), with `input` for the image; - reads JSON lines from stdin. Otherwise it is\n"
        "a glob of images, and file names among the options may hold {stem}, {name}, {ext},\n"
        "{dir} and {index}: cvtmesh batch 'in/*.png' -n 5000 -o 'out/{stem}.msh'",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH || command == CLI_MESH)
    fputs(
        "\n\nOutputs: meshes obj off ply stl vtk vtu msh (y up); points csv npy xyz (pixels, y "
        "down);\n"
        "drawings svg pdf dxf, and with --page hpgl plt gcode nc (see --svg); png (a picture, see\n"
        "--layers).",
        stream);
  if (command == CLI_RUN || command == CLI_BATCH)
    fprintf(stream, "\nInputs: %s.", cvtm_image_formats());
  if (command == CLI_VORONOI)
    fputs("\n\nOutputs: npy (int32, height x width), png and ppm (a colour for each site).",
          stream);
  fputc('\n', stream);
}

void cli_print_overview(FILE *stream) {
  fputs("usage: cvtmesh COMMAND [arguments]\n\ncommands:\n", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "  %-12s %s\n", cli_command_name((cli_command)command),
            cli_command_summary((cli_command)command));
  fprintf(stream, "  %-12s %s\n", "completion", "print shell completion: cvtmesh completion bash");
  fputs(
      "\n`cvtmesh COMMAND --help` lists a command's options; `cvtmesh --version` prints the "
      "version.\n",
      stream);
}

static void print_command_case(FILE *stream, cli_command command) {
  fprintf(stream, "    %s)\n      case \"$previous\" in\n", cli_command_name((cli_command)command));
  for (int row = 0; row < cli_option_row_count; ++row) {
    if (!cli_option_applies(row, command) || cli_option_rows[row].choices == NULL) continue;
    char names[128];
    cli_choice_names(cli_option_rows[row].choices, ' ', names, sizeof names);
    fprintf(stream, "        --%s) words=\"%s\" ;;\n", cli_option_rows[row].name, names);
  }
  fputs("        --device) words=\"auto cpu cuda\" ;;\n        *) words=\"", stream);
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command)) fprintf(stream, "--%s ", cli_option_rows[row].name);
  fputs("\" ;;\n      esac ;;\n", stream);
}

void cli_print_bash_completion(FILE *stream) {
  fputs(
      "# bash completion for cvtmesh: source <(cvtmesh completion bash)\n"
      "_cvtmesh() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\n"
      "  case \"${COMP_WORDS[1]}\" in\n",
      stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_command_case(stream, (cli_command)command);
  fputs("    completion) words=bash ;;\n  esac\n  [ \"$COMP_CWORD\" -gt 1 ] || words=\"", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "%s ", cli_command_name((cli_command)command));
  fputs(
      "completion --help --version\"\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _cvtmesh cvtmesh\n",
      stream);
}
