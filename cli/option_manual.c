/* Prints the manual page: the text of a template, and a paragraph for each row of the table. */
#include "cli/option_table.h"

#include <ctype.h>
#include <string.h>

/* Prints text for roff, which allows breaking a word at a hyphen without a backslash. */
static void print_literal(FILE *stream, const char *text, size_t length) {
  for (size_t k = 0; k < length; ++k) {
    if (text[k] == '\\')
      fputs("\\e", stream);
    else
      fprintf(stream, text[k] == '-' ? "\\%c" : "%c", text[k]);
  }
}

static void print_bold(FILE *stream, const char *text, size_t length) {
  fputs("\\fB", stream);
  print_literal(stream, text, length);
  fputs("\\fR", stream);
}

/* The length of --name or -n at the start of the text; 0 if there is neither. */
static size_t length_of_name(const char *text, char before) {
  if (text[0] != '-' || (before != ' ' && before != '(')) return 0;
  size_t length = text[1] == '-' ? 2 : 1;
  const size_t start = length;
  while (islower((unsigned char)text[length]) || (start == 2 && text[length] == '-')) ++length;
  return start == 2 || length == 2 ? length : 0;
}

/* Prints marked text (cli_option_row.manual), each sentence on its own line. */
static void print_text(FILE *stream, const char *text) {
  char before = ' ';
  while (*text != '\0') {
    size_t length = length_of_name(text, before);
    if (length > 0) {
      print_bold(stream, text, length);
    } else if (*text == '`') {
      length = strcspn(text + 1, "`") + 2;
      print_bold(stream, text + 1, length - 2);
    } else if (*text == '\n') {
      fputs("\n.IP\n", stream);
      length = 1;
    } else if (*text == ' ' && before == '.') {
      fputc('\n', stream);
      length = 1;
    } else {
      if (*text == '\'' && before == ' ') fputs("\\&", stream); /* roff: a command begins with ' */
      print_literal(stream, text, length = 1);
    }
    before = text[length - 1] == '\n' ? ' ' : text[length - 1];
    text += length;
  }
}

/* Prints ".BR \-n ", " \-\-points " \fIN\fR"". */
static void print_head(FILE *stream, const cli_option_row *row, const cli_options *defaults) {
  fputs(".TP\n.BR ", stream);
  if (row->letter != 0) fprintf(stream, "\\-%c \", \" ", row->letter);
  fputs("\\-\\-", stream);
  print_literal(stream, row->name, strlen(row->name));
  if (row->type == CLI_FLAG && *(const int *)cli_option_field_const(row, defaults)) {
    fputs(" \", \" \\-\\-no\\-", stream);
    print_literal(stream, row->name, strlen(row->name));
  }
  if (row->choices != NULL) {
    fputs(" \" ", stream);
    for (const cli_choice *choice = row->choices; choice->name != NULL; ++choice)
      fprintf(stream, "%s%s", choice == row->choices ? "" : " | ", choice->name);
    fputc('"', stream);
  } else if (row->argument != NULL) {
    fprintf(stream, " \" \\fI%s\\fR\"", row->argument);
  }
  fputc('\n', stream);
}

/* The first command that has the row, whose section has the row's paragraph. */
static int owner_of(const cli_option_row *row) {
  int command = 0;
  if (row->commands == CLI_EVERY_COMMAND) return CLI_COMMAND_COUNT;
  while ((row->commands & 1u << command) == 0) ++command;
  return command;
}

/* Prints "[stipples; mesh: mesh]": the default, and differing defaults of other commands. */
static void print_default(FILE *stream, const cli_option_row *row, const cli_options *defaults) {
  char text[64], other[64];
  cli_options others;
  cli_default_text(row, defaults, text, sizeof text);
  if (*text == '\0') return;
  fputc(' ', stream);
  print_literal(stream, text, strlen(text) - 1);
  for (int command = owner_of(row) + 1; command < CLI_COMMAND_COUNT; ++command) {
    if ((row->commands & 1u << command) == 0) continue;
    cli_options_set_defaults((cli_command)command, &others);
    cli_default_text(row, &others, other, sizeof other);
    if (strcmp(other, text) == 0) continue;
    fprintf(stream, "; %s: ", cli_commands[command].name);
    print_literal(stream, other + 1, strlen(other) - 2);
  }
  fputc(']', stream);
}

static void print_paragraph(FILE *stream, const cli_option_row *row, const cli_options *defaults) {
  print_head(stream, row, defaults);
  fputc(toupper((unsigned char)row->help[0]), stream);
  print_text(stream, row->help + 1);
  print_default(stream, row, defaults);
  fputs(".\n", stream);
  if (row->manual == NULL) return;
  print_text(stream, row->manual);
  fputc('\n', stream);
}

/* Prints the paragraphs of the rows whose owner is `command`, many in groups with titles. */
static void print_own(FILE *stream, int command, const cli_options *defaults) {
  int count = 0;
  for (int row = 0; row < cli_option_row_count; ++row)
    count += owner_of(&cli_option_rows[row]) == command;
  for (int group = 0; group < CLI_GROUP_COUNT; ++group) {
    int printed = 0;
    for (int k = 0; k < cli_option_row_count; ++k) {
      const cli_option_row *row = &cli_option_rows[k];
      if ((int)row->group != group || owner_of(row) != command) continue;
      if (printed++ == 0 && count > 30)
        fprintf(stream, ".SS %s\n", cli_group_title((cli_option_group)group));
      print_paragraph(stream, row, defaults);
    }
  }
}

/* Prints the names of the options whose paragraphs are in the sections of other commands. */
static void print_others(FILE *stream, cli_command command) {
  for (int owner = 0; owner < (int)command; ++owner) {
    int printed = 0;
    for (int row = 0; row < cli_option_row_count; ++row) {
      if (!cli_option_applies(row, command) || owner_of(&cli_option_rows[row]) != owner) continue;
      fputs(printed++ == 0 ? ".PP\nAlso " : ", ", stream);
      fputs("\\fB\\-\\-", stream);
      print_literal(stream, cli_option_rows[row].name, strlen(cli_option_rows[row].name));
      fputs("\\fR", stream);
    }
    if (printed > 0) fprintf(stream, ",\nas with \\fB%s\\fR.\n", cli_commands[owner].name);
  }
}

static void print_format_names(FILE *stream, const char *before, unsigned role) {
  char names[CVTM_FORMAT_NAMES];
  fprintf(stream, "%s%s", before, cvtm_format_names(cvtm_formats, role, ", ", names, sizeof names));
}

/* A run_format_visitor: prints the paragraph of a format. */
static void print_format(void *context, run_output_kind kind, const cvtm_format *f) {
  static const struct {
    unsigned bit;
    const char *name;
  } facts[] = {{CVTM_HOLDS_REGIONS, "regions and groups"},
               {CVTM_HOLDS_SECOND_ORDER, "nodes of second order"},
               {CVTM_HOLDS_VALUES, "values of vertices"},
               {CVTM_HOLDS_CLASSES, "classes of points"},
               {CVTM_TEXT_OR_BINARY, "numbers as text or binary"},
               {CVTM_COMPRESSED, "compressed numbers"}};
  FILE *stream = context;
  const char *name = cli_format_kind(kind);
  fprintf(stream, ".TP\n\\fB%s\\fR%s%s (%.*s)\n", f->extension, f->alias != NULL ? " or " : "",
          f->alias != NULL ? f->alias : "", (int)strcspn(name, " "), name);
  fputc(toupper((unsigned char)f->help[0]), stream);
  print_text(stream, f->help + 1);
  fputs(".\n", stream);
  if (f->manual != NULL) print_text(stream, f->manual);
  if (f->manual != NULL) fputc('\n', stream);
  const char *before = "It holds ";
  for (size_t k = 0; k < sizeof facts / sizeof facts[0]; ++k) {
    if (!cvtm_format_has(f, facts[k].bit)) continue;
    fprintf(stream, "%s%s", before, facts[k].name);
    before = ", ";
  }
  if (*before == ',') fputs(".\n", stream);
  if (cvtm_format_has(f, CVTM_NEEDS_GROUPS)) fputs("It needs a \\fB\\-\\-domain\\fR.\n", stream);
  if (cvtm_format_has(f, CVTM_NEEDS_PAGE)) fputs("It needs a \\fB\\-\\-page\\fR.\n", stream);
}

/* Prints a paragraph for each format that is written, and lists the formats that are read. */
static void print_formats(FILE *stream) {
  const cvtm_run_options of_run = {.purpose = CVTM_RUN_ALL};
  run_output_visit(&of_run, print_format, stream);
  print_format_names(stream, ".PP\nPoints are read from ", CVTM_READS_POINTS);
  print_format_names(stream, ";\npolygons from ", CVTM_READS_POLYGONS);
  print_format_names(stream, ";\nmeshes from ", CVTM_READS_MESH);
  print_format_names(stream, ";\nfields on meshes from ", CVTM_READS_FIELDS);
  fputs(".\n", stream);
}

int cli_print_manual(FILE *template_page, FILE *stream) {
  char line[1024], name[32];
  while (fgets(line, sizeof line, template_page) != NULL) {
    if (strcmp(line, ".FORMATS\n") == 0) {
      print_formats(stream);
      continue;
    }
    if (sscanf(line, ".OPTIONS %31s", name) != 1) {
      fputs(line, stream);
      continue;
    }
    const cli_command command = cli_command_find(name);
    if (command == CLI_COMMAND_COUNT && strcmp(name, "all") != 0) return 0;
    cli_options defaults;
    cli_options_set_defaults(command == CLI_COMMAND_COUNT ? CLI_RUN : command, &defaults);
    print_own(stream, (int)command, &defaults);
    if (command != CLI_COMMAND_COUNT && command != CLI_BATCH) print_others(stream, command);
  }
  return !ferror(template_page);
}
