/* The table of all options, for the files option_*.c and options.c alone. A row says which commands
 * have the option, where its value lies in cli_options, and what --help prints. */
#ifndef CVTMESH_CLI_OPTION_TABLE_H
#define CVTMESH_CLI_OPTION_TABLE_H

#include "cli/options.h"

#include <stddef.h>

/* The types of the fields: int, int64_t, double, int, int, const char *, cvtm_run_list. A switch is
 * a choice that can stand without its value, as a flag: --NAME is the choice `most` of the row,
 * --no-NAME is `least`. */
typedef enum cli_option_type {
  CLI_FLAG,
  CLI_INTEGER,
  CLI_REAL,
  CLI_CHOICE,
  CLI_SWITCH,
  CLI_TEXT,
  CLI_LIST
} cli_option_type;

/* How the value of an option names a file. Of a CLI_LIST this holds for each item. */
typedef enum cli_file_role {
  CLI_NO_FILE,
  CLI_READS,
  CLI_READS_REGION,  /* a file or `alpha` */
  CLI_READS_WEIGHT,  /* FILE=FACTOR, FILE a file or `alpha` */
  CLI_READS_CURVE,   /* a file, `grow`, `image` or X,Y,R */
  CLI_READS_OMEGA,   /* a file, `ratio` or a number */
  CLI_READS_PROFILE, /* a file or the name of a profile of G-code */
  CLI_WRITES,        /* this and what follows: files that are written */
  CLI_WRITES_NAMES,  /* see CLI_FILE_NAMES */
  CLI_WRITES_FRAMES  /* see CLI_FILE_FRAMES */
} cli_file_role;

/* Whether the option changes what a command writes, or where. */
typedef enum cli_option_effect { CLI_ON_RESULT, CLI_NO_EFFECT } cli_option_effect;

/* One value of a CLI_CHOICE; a list of choices ends with a NULL name. */
typedef struct cli_choice {
  const char *name;
  int value; /* usually an enumerator of the library */
} cli_choice;

typedef struct cli_option_row {
  const char *name;
  char letter;       /* 0: none */
  unsigned commands; /* bits, 1u << cli_command */
  cli_option_type type;
  size_t offset;             /* of the value in cli_options */
  const char *argument;      /* its name in --help; NULL for flags and choices */
  const cli_choice *choices; /* of CLI_CHOICE and CLI_SWITCH; else NULL */
  double least, most;        /* of CLI_INTEGER, CLI_REAL and CLI_SWITCH */
  const char *help;
  cli_file_role file;
  cli_option_effect effect;
} cli_option_row;

#define CLI_FIELD(field) offsetof(cli_options, field)
#define CLI_EVERY_COMMAND (~0u)

extern const cli_option_row cli_option_rows[];
extern const int cli_option_row_count; /* at most CLI_OPTIONS_MAX */

int cli_option_applies(int row, cli_command command);
/* The row of this command's option `name`; -1 if it has none. */
int cli_option_find(cli_command command, const char *name);
/* The row of this command's option whose value lies at `offset`; -1 if it has none. */
int cli_option_find_field(cli_command command, size_t offset);

/* The field of `options` that holds the row's value; its type follows row->type. */
void *cli_option_field(const cli_option_row *row, cli_options *options);
const void *cli_option_field_const(const cli_option_row *row, const cli_options *options);

/* The choice of this name, and the name of a value; NULL if the list lacks it. */
const cli_choice *cli_choice_find(const cli_choice *choices, const char *name);
const char *cli_choice_name(const cli_choice *choices, int value);
/* Writes the names with `separator` between them; returns the length, as snprintf does. */
int cli_choice_names(const cli_choice *choices, char separator, char *text, size_t capacity);

/* A group of options that --help lists together. */
typedef struct cli_option_group {
  const char *name, *title;   /* "tone", which --help takes, and its heading */
  unsigned commands;          /* as in cli_option_row */
  const char *chief, *others; /* names with blanks between; the short --help lists the chief ones */
} cli_option_group;

/* The groups in the order of --help; NULL behind the last. */
const cli_option_group *cli_option_group_at(int index);
/* The group of a command's option. */
const cli_option_group *cli_option_group_of(const char *option, cli_command command, int *is_chief);

void cli_options_set_defaults(cli_command command, cli_options *options);

enum { CLI_GIVEN = 1, CLI_INHERITED = 2 }; /* of cli_options.given */

/* Parses `value` into the row's field and marks the option as given. */
cvtm_status cli_option_set_row(cli_options *options, int row, const char *value, cvtm_error *error);

#endif
