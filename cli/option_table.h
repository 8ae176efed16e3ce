/* The table of all options, and functions for its rows. A row has all about an option except the
 * default: parsing, both helps, the manual page, completion, config files, the report's `options`
 * and the keywords of Python follow from it. */
#pragma once

#include "cli/options.h"
#include "run/output.h"

#include <stddef.h>

/* The C types of the fields, in this order: int, int64_t, double, int, int, const char *,
 * cvtm_input, cvtm_run_list. A switch is a choice that can be given without its value, as a flag:
 * --NAME is the choice `most` of the row, --no-NAME is `least`. */
typedef enum cli_option_type {
  CLI_FLAG,
  CLI_INTEGER,
  CLI_REAL,
  CLI_CHOICE,
  CLI_SWITCH,
  CLI_TEXT,
  CLI_SOURCE,
  CLI_LIST
} cli_option_type;

/* How the value of an option names a file; for a CLI_LIST, how each item does. */
typedef enum cli_file_role {
  CLI_NO_FILE,
  CLI_READS,
  CLI_READS_OMEGA,  /* a file, `ratio` or a number */
  CLI_WRITES,       /* this role and those below: files that are written */
  CLI_WRITES_NAMES, /* see CLI_FILE_NAMES */
  CLI_WRITES_FRAMES /* see CLI_FILE_FRAMES */
} cli_file_role;

/* Whether the option changes what a command writes, or where. */
typedef enum cli_option_effect { CLI_ON_RESULT, CLI_NO_EFFECT } cli_option_effect;

/* The groups in which --help and the manual page list the options, in this order: code, name of
 * the topic of --help, title. */
#define CLI_GROUP_LIST(X)                         \
  X(PROBLEM, "problem", "Problem")                \
  X(BASIC, "basic", "Basic")                      \
  X(BATCH, "batch", "Batch")                      \
  X(TONE, "tone", "Tone")                         \
  X(DENSITY, "density", "Density")                \
  X(DRAWING, "drawing", "Drawing")                \
  X(PAGE, "page", "Page")                         \
  X(DOMAIN, "domain", "Domain")                   \
  X(FILES, "files", "Mesh files")                 \
  X(SEGMENTATION, "segmentation", "Segmentation") \
  X(SOLVER, "solver", "Solver")                   \
  X(VIEW, "view", "View")                         \
  X(GENERAL, "general", "General")

typedef enum cli_option_group {
#define CLI_GROUP_CODE(code, name, title) CLI_GROUP_##code,
  CLI_GROUP_LIST(CLI_GROUP_CODE)
#undef CLI_GROUP_CODE
      CLI_GROUP_COUNT
} cli_option_group;

/* One value of a CLI_CHOICE. A list of choices ends with a NULL name. */
typedef struct cli_choice {
  const char *name;
  int value; /* usually an enumerator of the library */
} cli_choice;

/* A part of a value: a number, a word, or a source, which is a file or an array. */
typedef struct cli_part {
  const char *word;      /* the word, or the name of the source; NULL: a number */
  const cvtm_npy *array; /* of a source; NULL: a word or the file of this name */
  double number;
} cli_part;

/* A value with parts. */
typedef struct cli_value {
  const char *text;      /* as on the command line */
  const cli_part *parts; /* as Python gives them; NULL: the parts are in the text */
  int count;
} cli_value;

/* Sets other fields by the parts of a value. */
typedef cvtm_status cli_setter(cli_options *options, const cli_value *value, cvtm_error *error);

typedef struct cli_option_row {
  const char *name;
  char letter;       /* 0: none */
  unsigned commands; /* bits, 1u << cli_command */
  cli_option_type type;
  size_t offset;             /* offset of the value in cli_options */
  const char *argument;      /* name of the value in --help; NULL for flags and choices */
  const cli_choice *choices; /* of CLI_CHOICE and CLI_SWITCH; else NULL */
  double least, most;        /* of CLI_INTEGER, CLI_REAL and CLI_SWITCH */
  cli_option_group group;
  int is_chief; /* nonzero: listed in the short --help */
  const char *help;
  /* Text of the manual page after the help; NULL: none. `word` is printed in bold, as is every
   * --name; a newline begins a paragraph. */
  const char *manual;
  const char *words; /* completions of free text, separated by blanks; NULL: none */
  cli_file_role file;
  cli_option_effect effect;
  /* For CLI_TEXT and CLI_LIST whose values have parts: sets other fields by the value, or by the
   * last item of a list; NULL: the text is the value. For CLI_INTEGER: parses text that is not an
   * integer; NULL: such text is refused. */
  cli_setter *set;
} cli_option_row;

/* A name that an option had before the last release, and its replacement. */
typedef struct cli_former_option {
  const char *name;
  unsigned commands;
  const char *instead;
} cli_former_option;

#define CLI_FIELD(field) offsetof(cli_options, field)
#define CLI_EVERY_COMMAND (~0u)

/* Visits the options of the command except --help and --version, in the order of the table. field:
 * see cli_option_field. */
typedef void (*cli_option_visitor)(void *context, const cli_option_row *row, const void *field);
void cli_options_visit(const cli_options *options, cli_option_visitor visitor, void *context);

extern const cli_option_row cli_option_rows[];
extern const int cli_option_row_count; /* at most CLI_OPTIONS_MAX */

/* The list ends with a NULL name. */
extern const cli_former_option cli_former_options[];
/* The replacement of a former option of the command; NULL: the command never had this option. */
const char *cli_former_option_instead(cli_command command, const char *name);

int cli_option_applies(int row, cli_command command);
/* The row of this command's option `name`; -1: none. */
int cli_option_find(cli_command command, const char *name);
/* The row of this command's option with the value at `offset`; -1: none. */
int cli_option_find_field(cli_command command, size_t offset);

/* The field of `options` with the row's value; its type follows from row->type. */
void *cli_option_field(const cli_option_row *row, cli_options *options);
const void *cli_option_field_const(const cli_option_row *row, const cli_options *options);
/* The size of this field in bytes; 0 for text, a source or a list. */
size_t cli_option_size(const cli_option_row *row);

/* The choice with this name, and the name of a value; NULL if the list lacks it. */
const cli_choice *cli_choice_find(const cli_choice *choices, const char *name);
const char *cli_choice_name(const cli_choice *choices, int value);
/* Writes the names, separated by `separator`. Returns the length, as snprintf does. */
int cli_choice_names(const cli_choice *choices, char separator, char *text, size_t capacity);

const char *cli_group_name(cli_option_group group);
const char *cli_group_title(cli_option_group group);

/* Writes the default of a row, as in "[300]"; "" if none is shown, as for a flag. */
void cli_default_text(const cli_option_row *row, const cli_options *defaults, char *text,
                      size_t size);

/* Prints words, each after a blank or on a new line that begins at column `indent`. The text begins
 * at `column`; -1: on a new line. Returns the last column. */
enum { CLI_HELP_COLUMN = 30 };
int cli_print_words(FILE *stream, const char *text, int column, int indent);

/* The name of a kind of formats, as in "meshes". */
const char *cli_format_kind(run_output_kind kind);
/* True if --help lists the formats that the command writes. */
int cli_format_lists(cli_command command);
/* Prints a line for each of these formats. */
void cli_print_format_table(FILE *stream, cli_command command);
/* Prints only their extensions, and those of the formats that the command reads. */
void cli_print_formats(FILE *stream, cli_command command);

void cli_options_set_defaults(cli_command command, cli_options *options);

enum { CLI_GIVEN = 1, CLI_INHERITED = 2 }; /* values of cli_options.given */

/* Parses `value` into the row's field, and marks the option as given. */
cvtm_status cli_option_set_row(cli_options *options, int row, const char *value, cvtm_error *error);
/* Set a value that needs no parsing, and mark the option as given. integer: for CLI_INTEGER, and
 * for CLI_FLAG or CLI_SWITCH (0 or 1); real: for CLI_REAL; parts: for CLI_TEXT, CLI_SOURCE or
 * CLI_LIST. The parts' words, sources and arrays are borrowed; reports show a text made of the
 * parts. */
cvtm_status cli_option_set_integer(cli_options *options, int row, int64_t value, cvtm_error *error);
cvtm_status cli_option_set_real(cli_options *options, int row, double value, cvtm_error *error);
cvtm_status cli_option_set_parts(cli_options *options, int row, const cli_part *parts, int count,
                                 cvtm_error *error);

/* The `set` functions of the rows whose values have parts. */
cli_setter cli_set_domain, cli_set_format, cli_set_colours, cli_set_size_from, cli_set_within,
    cli_set_obstacle, cli_set_weight, cli_set_inside, cli_set_outside, cli_set_initial,
    cli_set_layers, cli_set_dot_size, cli_set_pen, cli_set_page, cli_set_pixel_size, cli_set_origin,
    cli_set_region_name, cli_set_max_area, cli_set_levels, cli_set_picture_widths,
    cli_set_globe_view, cli_set_smooth, cli_set_grade, cli_set_ranks, cli_set_plot_time;
