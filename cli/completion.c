/* cvtmesh completion: what bash, zsh and fish read to complete the program's arguments. */
#include "lbfgsb/problems/minpack2.h"
#include "cli/option_table.h"

#include <string.h>

/* --- what completes a value --- */

typedef struct value_kind {
  char words[160]; /* with blanks between; empty: none */
  int is_file;     /* names of files complete it too */
} value_kind;

/* Words that options take whose values are free text. */
static const struct {
  const char *option, *words;
} known_words[] = {{"device", "auto cpu cuda"},
                   {"page", "A0 A1 A2 A3 A4 A5 A6 letter legal tabloid"},
                   {"gcode", "grbl-servo grbl-z marlin-servo"},
                   {"pixel-size", "file"},
                   {"shard", "slurm"},
                   {"initial", "grow image"},
                   {"within", "alpha"},
                   {"obstacle", "alpha"},
                   {"omega", "ratio"}};

static int takes_value(const cli_option_row *row) {
  return row->type != CLI_FLAG && row->type != CLI_SWITCH;
}

static value_kind kind_of(const cli_option_row *row) {
  value_kind kind = {"", row->file != CLI_NO_FILE};
  if (row->choices != NULL) {
    cli_choice_names(row->choices, ' ', kind.words, sizeof kind.words);
    return kind;
  }
  const int is_text = row->type == CLI_TEXT || row->type == CLI_LIST;
  for (size_t k = 0; is_text && k < sizeof known_words / sizeof known_words[0]; ++k)
    if (strcmp(known_words[k].option, row->name) == 0)
      snprintf(kind.words, sizeof kind.words, "%s", known_words[k].words);
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
    kind.is_file = *cli_operand_name(command) != '\0';
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

/* A case of the word before the one to complete. */
static void print_bash_row(FILE *stream, const cli_option_row *row, cli_command command) {
  if (row->offset == CLI_FIELD(help)) {
    fputs("        --help | -h) words='", stream);
    cli_visit_help_topics(command, print_word, stream);
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
  fprintf(stream, "    %s)\n      case \"$previous\" in\n", cli_command_name(command));
  print_rows(stream, command, print_bash_row);
  fputs("        *)\n          if [[ $word == -* ]]; then words='", stream);
  print_rows(stream, command, print_bash_name);
  fprintf(stream, "'; else words='%s'%s; fi ;;\n      esac ;;\n", operand.words,
          operand.is_file ? " files=1" : "");
}

static void print_command_names(FILE *stream) {
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    fprintf(stream, "%s ", cli_command_name((cli_command)command));
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
      "completion help --help --version'; files=''; fi\n"
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
    cli_visit_help_topics(command, print_word, stream);
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
  fprintf(stream, "    %s)\n      _arguments -s -S \\\n", cli_command_name(command));
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
    fprintf(stream, "    '%s:", cli_command_name((cli_command)command));
    print_clause(stream, cli_command_summary((cli_command)command), ":\\", "'\\''");
    fputs("'\n", stream);
  }
  fputs(
      "    'completion:what a shell completes' 'help:help about a command'\n"
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
          cli_command_name(command), row->name);
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
          cli_command_name(command));
  cli_visit_help_topics(command, print_word, stream);
  fputs("'\n", stream);
}

static void print_fish_command(FILE *stream, cli_command command) {
  const value_kind operand = operand_kind(command);
  fprintf(stream, "complete -c cvtmesh -n __fish_use_subcommand -f -a %s -d '",
          cli_command_name(command));
  print_clause(stream, cli_command_summary(command), "\\", "\\'");
  fputs("'\n", stream);
  if (!operand.is_file)
    fprintf(stream, "complete -c cvtmesh -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
            cli_command_name(command), operand.words);
  print_rows(stream, command, print_fish_row);
}

static void print_fish(FILE *stream) {
  fputs("# fish completion for cvtmesh: cvtmesh completion fish | source\n", stream);
  for (int command = 0; command < CLI_COMMAND_COUNT; ++command)
    print_fish_command(stream, (cli_command)command);
  fputs(
      "complete -c cvtmesh -n __fish_use_subcommand -f -a completion -d 'what a shell completes'\n"
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
