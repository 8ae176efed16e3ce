/* What follows from the table of options: --help, the overview of all commands, and what shells
 * read to complete arguments. */
#include "cli/cli.h"
#include "cli/option_table.h"

#include "run/options.h"
#include "lbfgsb/problems/minpack2.h"

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
  cli_default_text(row, defaults, text, sizeof text);
  cli_print_words(stream, text, cli_print_words(stream, row->help, HELP_COLUMN, HELP_COLUMN),
                  HELP_COLUMN);
  fputc('\n', stream);
}

/* --- which options --- */

enum { SHORT_ENOUGH = 26 }; /* a command with no more options has one --help */

typedef enum extent { CHIEF_OPTIONS, ONE_GROUP, ONLY_FORMATS, ALL_OPTIONS } extent;

static int count_options(cli_command command) {
  int count = 0;
  for (int row = 0; row < cli_option_row_count; ++row) count += cli_option_applies(row, command);
  return count;
}

/* The options of a group under its title; nothing if it has none. */
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

static void visit_topics(cli_command command, cli_name_visitor visitor, void *context) {
  visitor(context, "all");
  if (cli_format_lists(command)) visitor(context, formats_topic);
  for (int k = 0; k < CLI_GROUP_COUNT; ++k)
    if (has_options(command, k)) visitor(context, cli_group_name((cli_option_group)k));
}

/* CLI_GROUP_COUNT if the command has no such group. */
static int find_group(cli_command command, const char *name) {
  for (int k = 0; k < CLI_GROUP_COUNT; ++k)
    if (strcmp(cli_group_name((cli_option_group)k), name) == 0 && has_options(command, k)) return k;
  return CLI_GROUP_COUNT;
}

/* A cli_name_visitor: context is a run_nearest. */
static void offer_topic(void *context, const char *name) { run_nearest_offer(context, name); }

const char *cli_help_topic_near(cli_command command, const char *word) {
  run_nearest nearest = run_nearest_start(word);
  visit_topics(command, offer_topic, &nearest);
  return nearest.best;
}

/* --- the whole --- */

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
  visit_topics(command, print_topic, stream);
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

void cli_print_overview(FILE *stream) {
  fputs(
      "usage: cvtmesh COMMAND [arguments]\n\n"
      "    cvtmesh run photo.png -n 5000 -o dots.svg       a picture as dots\n"
      "    cvtmesh run photo.png -n 5000 -o mesh.vtu       a mesh that is fine where it is dark\n",
      stream);
  print_commands(stream, "Commands", 0);
  fprintf(stream, "  %-12s %s\n", "page",
          "drop pictures, move sliders and save files in a browser");
  fprintf(stream, "  %-12s %s\n", "completion", "the completions for bash, zsh or fish");
  fprintf(stream, "  %-12s %s\n", "help", "help about a command: cvtmesh help run");
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

/* --- completion in bash, zsh and fish ------------------------------------------------------- */

/* --- what completes a value --- */

typedef struct value_kind {
  char words[160]; /* with blanks between; empty: none */
  int is_file;     /* names of files complete it too */
} value_kind;

static int takes_value(const cli_option_row *row) {
  return row->type != CLI_FLAG && row->type != CLI_SWITCH;
}

static value_kind kind_of(const cli_option_row *row) {
  value_kind kind = {"", row->file != CLI_NO_FILE};
  if (row->choices != NULL)
    cli_choice_names(row->choices, ' ', kind.words, sizeof kind.words);
  else if (row->words != NULL)
    snprintf(kind.words, sizeof kind.words, "%s", row->words);
  return kind;
}

static value_kind operand_kind(cli_command command) {
#define PROBLEM_WORD(code, name, title) name " "
  static const char problems[] = CVTM_MINPACK2_LIST(PROBLEM_WORD);
#undef PROBLEM_WORD
  value_kind kind = {"", 0};
  if (command == CLI_MINIMIZE)
    snprintf(kind.words, sizeof kind.words, "%s", problems);
  else
    kind.is_file = *cli_commands[command].operand != '\0';
  return kind;
}

typedef void (*row_printer)(FILE *stream, const cli_option_row *row, cli_command command);

static void print_rows(FILE *stream, cli_command command, row_printer print) {
  for (int row = 0; row < cli_option_row_count; ++row)
    if (cli_option_applies(row, command)) print(stream, &cli_option_rows[row], command);
}

static void print_word(void *context, const char *name) { fprintf(context, "%s ", name); }

/* Prints the first clause of a help text; `quoted` are the characters that need a backslash, and
 * an apostrophe becomes `apostrophe`. */
static void print_clause(FILE *stream, const char *help, const char *quoted,
                         const char *apostrophe) {
  const size_t length = strcspn(help, ";");
  for (size_t k = 0; k < length; ++k) {
    if (help[k] == '\'') {
      fputs(apostrophe, stream);
      continue;
    }
    if (strchr(quoted, help[k]) != NULL) fputc('\\', stream);
    fputc(help[k] == '\n' ? ' ' : help[k], stream);
  }
}

/* --- bash --- */

static void print_bash_name(FILE *stream, const cli_option_row *row, cli_command command) {
  (void)command;
  fprintf(stream, "--%s ", row->name);
}

/* The case in which this option is the word before the one to complete. */
static void print_bash_row(FILE *stream, const cli_option_row *row, cli_command command) {
  if (row->offset == CLI_FIELD(help)) {
    fputs("        --help | -h) words='", stream);
    visit_topics(command, print_word, stream);
    fputs("' ;;\n", stream);
    return;
  }
  const value_kind kind = kind_of(row);
  if (!takes_value(row) && *kind.words == '\0') return;
  fprintf(stream, "        --%s", row->name);
  if (row->letter != 0) fprintf(stream, " | -%c", row->letter);
  fprintf(stream, ") words='%s'%s ;;\n", kind.words, kind.is_file ? " files=1" : "");
}

static void print_bash_command(FILE *stream, cli_command command) {
  const value_kind operand = operand_kind(command);
  fprintf(stream, "    %s)\n      case \"$previous\" in\n", cli_commands[command].name);
  print_rows(stream, command, print_bash_row);
  fputs("        *)\n          if [[ $word == -* ]]; then words='", stream);
  print_rows(stream, command, print_bash_name);
  fprintf(stream, "'; else words='%s'%s; fi ;;\n      esac ;;\n", operand.words,
          operand.is_file ? " files=1" : "");
}

static void print_command_names(FILE *stream) {
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "%s ", cli_commands[command].name);
}

static void print_bash(FILE *stream) {
  fputs(
      "# bash completion for cvtmesh: source <(cvtmesh completion bash)\n"
      "_cvtmesh() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local words='' files=''\n"
      "  # bash cuts --NAME=VALUE at the sign.\n"
      "  if [[ $word == = ]]; then\n"
      "    word=''\n"
      "  elif [[ $previous == = && $COMP_CWORD -gt 1 ]]; then\n"
      "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]}\" in\n",
      stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_bash_command(stream, (cli_command)command);
  fputs("    completion) words='bash zsh fish' ;;\n    help) words='", stream);
  print_command_names(stream);
  fputs("' ;;\n  esac\n  if [[ $COMP_CWORD -le 1 ]]; then words='", stream);
  print_command_names(stream);
  fputs(
      "page completion help --help --version'; files=''; fi\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "  if [[ $files ]]; then\n"
      "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
      "    compopt -o filenames 2> /dev/null\n"
      "  fi\n"
      "}\n"
      "complete -F _cvtmesh cvtmesh\n",
      stream);
}

/* --- zsh --- */

/* ":message:action" of _arguments. */
static void print_zsh_action(FILE *stream, const char *message, const value_kind *kind) {
  fprintf(stream, ":%s:", message);
  if (*kind->words != '\0' && kind->is_file)
    fprintf(stream, " _cvtmesh_words_or_files %s", kind->words);
  else if (*kind->words != '\0')
    fprintf(stream, "(%s)", kind->words);
  else
    fputs(kind->is_file ? "_files" : " ", stream);
}

static void print_zsh_spec(FILE *stream, const cli_option_row *row, cli_command command,
                           const char *name, const char *joint) {
  const value_kind kind = kind_of(row);
  fprintf(stream, "        '%s%s%s[", row->type == CLI_LIST ? "*" : "", name, joint);
  print_clause(stream, row->help, "[]\\", "'\\''");
  fputc(']', stream);
  if (row->type == CLI_SWITCH) fputc(':', stream); /* the value may be left out */
  if (row->offset == CLI_FIELD(help)) {
    fputs("::topic:(", stream);
    visit_topics(command, print_word, stream);
    fputc(')', stream);
  }
  if (row->type != CLI_FLAG)
    print_zsh_action(stream, row->argument != NULL ? row->argument : "value", &kind);
  fputs("' \\\n", stream);
}

static void print_zsh_row(FILE *stream, const cli_option_row *row, cli_command command) {
  char name[64];
  if (row->letter != 0) {
    snprintf(name, sizeof name, "-%c", row->letter);
    print_zsh_spec(stream, row, command, name, takes_value(row) ? "+" : "");
  }
  snprintf(name, sizeof name, "--%s", row->name);
  print_zsh_spec(stream, row, command, name,
                 row->type == CLI_SWITCH ? "=-"
                 : takes_value(row)      ? "="
                                         : "");
}

static void print_zsh_command(FILE *stream, cli_command command) {
  const value_kind operand = operand_kind(command);
  fprintf(stream, "    %s)\n      _arguments -s -S \\\n", cli_commands[command].name);
  print_rows(stream, command, print_zsh_row);
  fputs("        '1", stream);
  print_zsh_action(stream, operand.is_file ? "file" : "name", &operand);
  fputs("' ;;\n", stream);
}

static void print_zsh(FILE *stream) {
  fputs(
      "#compdef cvtmesh\n"
      "# zsh completion for cvtmesh: source <(cvtmesh completion zsh)\n"
      "_cvtmesh_words_or_files() {\n"
      "  compadd -- $@\n"
      "  _files\n"
      "}\n"
      "_cvtmesh() {\n"
      "  local -a commands=(\n",
      stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command) {
    fprintf(stream, "    '%s:", cli_commands[command].name);
    print_clause(stream, cli_commands[command].summary, ":\\", "'\\''");
    fputs("'\n", stream);
  }
  fputs(
      "    'page:a page in a browser' 'completion:what a shell completes' 'help:help about a "
      "command'\n"
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local name=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $name in\n",
      stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_zsh_command(stream, (cli_command)command);
  fputs(
      "    completion) _values shell bash zsh fish ;;\n"
      "    help) _describe command commands ;;\n"
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _cvtmesh ]; then _cvtmesh \"$@\"; else compdef _cvtmesh cvtmesh; "
      "fi\n",
      stream);
}

/* --- fish --- */

static void print_fish_row(FILE *stream, const cli_option_row *row, cli_command command) {
  const value_kind kind = kind_of(row);
  fprintf(stream, "complete -c cvtmesh -n '__fish_seen_subcommand_from %s' -l %s",
          cli_commands[command].name, row->name);
  if (row->letter != 0) fprintf(stream, " -s %c", row->letter);
  if (takes_value(row)) fputs(kind.is_file ? " -r -F" : " -x", stream);
  if (*kind.words != '\0') fprintf(stream, " -a '%s'", kind.words);
  fputs(" -d '", stream);
  print_clause(stream, row->help, "\\", "\\'");
  fputs("'\n", stream);
  if (row->offset != CLI_FIELD(help)) return;
  fprintf(stream,
          "complete -c cvtmesh -n '__fish_seen_subcommand_from %s; and __fish_prev_arg_in -h "
          "--help' -f -a '",
          cli_commands[command].name);
  visit_topics(command, print_word, stream);
  fputs("'\n", stream);
}

static void print_fish_command(FILE *stream, cli_command command) {
  const value_kind operand = operand_kind(command);
  fprintf(stream, "complete -c cvtmesh -n __fish_use_subcommand -f -a %s -d '",
          cli_commands[command].name);
  print_clause(stream, cli_commands[command].summary, "\\", "\\'");
  fputs("'\n", stream);
  if (!operand.is_file)
    fprintf(stream, "complete -c cvtmesh -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
            cli_commands[command].name, operand.words);
  print_rows(stream, command, print_fish_row);
}

static void print_fish(FILE *stream) {
  fputs("# fish completion for cvtmesh: cvtmesh completion fish | source\n", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_fish_command(stream, (cli_command)command);
  fputs(
      "complete -c cvtmesh -n __fish_use_subcommand -f -a completion -d 'what a shell completes'\n"
      "complete -c cvtmesh -n __fish_use_subcommand -f -a page -d 'a page in a browser'\n"
      "complete -c cvtmesh -n __fish_use_subcommand -f -a help -d 'help about a command'\n"
      "complete -c cvtmesh -n __fish_use_subcommand -l help -l version\n"
      "complete -c cvtmesh -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
      "complete -c cvtmesh -n '__fish_seen_subcommand_from help' -f -a '",
      stream);
  print_command_names(stream);
  fputs("'\n", stream);
}

int cli_print_completion(FILE *stream, const char *shell) {
  static const struct {
    const char *name;
    void (*print)(FILE *stream);
  } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
  for (size_t k = 0; k < sizeof shells / sizeof shells[0]; ++k) {
    if (strcmp(shells[k].name, shell) != 0) continue;
    shells[k].print(stream);
    return 1;
  }
  return 0;
}
