/* Completion of words in shells, whose scripts call `cvtmesh completion -- WORD...`. */
#include "cli/option_table.h"

#include "lbfgsb/problems/minpack2.h"

#include <string.h>

/* The word that is being completed. */
typedef struct completion {
  FILE *stream;
  const char *typed;
  int before; /* length of --NAME= before `typed`, which shells count as a part of the word */
} completion;

static void offer(const completion *c, const char *name, const char *help) {
  const char *typed = c->typed + c->before;
  if (strncmp(name, typed, strlen(typed)) != 0) return;
  fprintf(c->stream, "%.*s%s\t%.*s\n", c->before, c->typed, name, (int)strcspn(help, ";\n"), help);
}

/* A cli_name_visitor. */
static void offer_name(void *context, const char *name) { offer(context, name, ""); }

/* words: separated by blanks. */
static void offer_words(const completion *c, const char *words) {
  char word[64];
  for (size_t length; *(words += strspn(words, " ")) != '\0'; words += length) {
    length = strcspn(words, " ");
    snprintf(word, sizeof word, "%.*s", (int)length, words);
    offer(c, word, "");
  }
}

static void offer_commands(const completion *c, int with_others) {
  for (int k = 0; k < CLI_COMMAND_COUNT; ++k)
    offer(c, cli_commands[k].name, cli_commands[k].summary);
  for (int k = 0; with_others && cli_other_commands[k][0] != NULL; ++k)
    offer(c, cli_other_commands[k][0], cli_other_commands[k][1]);
}

static void offer_files(const completion *c) { fputs("/\n", c->stream); }

/* Offers the values of an option. Returns 0 if no value follows the option. */
static int offer_values(const completion *c, cli_command command, const cli_option_row *row) {
  const int is_help = row->offset == CLI_FIELD(help);
  if (row->type == CLI_FLAG && !is_help) return 0;
  if (is_help) cli_visit_topics(command, offer_name, (void *)c);
  if (row->file != CLI_NO_FILE) offer_files(c);
  for (const cli_choice *choice = row->choices; choice != NULL && choice->name != NULL; ++choice)
    offer(c, choice->name, "");
  if (row->words != NULL) offer_words(c, row->words);
  return 1;
}

static void offer_options(const completion *c, cli_command command) {
  char name[64];
  for (int k = 0; k < cli_option_row_count; ++k) {
    if (!cli_option_applies(k, command)) continue;
    snprintf(name, sizeof name, "--%s", cli_option_rows[k].name);
    offer(c, name, cli_option_rows[k].help);
  }
}

/* The option of the command that is given as --NAME, --NAME=VALUE or -N; NULL: none. */
static const cli_option_row *row_named(cli_command command, const char *word) {
  char name[64];
  if (word[0] != '-') return NULL;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  const int row = name[1] == '-' ? cli_option_find(command, name + 2) : -1;
  if (row >= 0) return &cli_option_rows[row];
  for (int k = 0; k < cli_option_row_count && name[1] != '\0' && name[2] == '\0'; ++k)
    if (cli_option_applies(k, command) && cli_option_rows[k].letter == name[1])
      return &cli_option_rows[k];
  return NULL;
}

static void offer_operands(const completion *c, cli_command command) {
#define PROBLEM_WORD(code, name, title) name " "
  static const char problems[] = CVTM_MINPACK2_LIST(PROBLEM_WORD);
#undef PROBLEM_WORD
  if (command == CLI_MINIMIZE)
    offer_words(c, problems);
  else if (*cli_commands[command].operand != '\0')
    offer_files(c);
}

void cli_complete(FILE *stream, int count, char **words) {
  completion c = {.stream = stream, .typed = words[count - 1]};
  const char *option = count > 1 ? words[count - 2] : "";
  const cli_command command = cli_command_find(words[0]);
  if (count == 1) {
    offer_commands(&c, 1);
    offer_words(&c, "--help --version");
  } else if (strcmp(words[0], "completion") == 0) {
    offer_words(&c, "bash zsh fish");
  } else if (strcmp(words[0], "help") == 0) {
    offer_commands(&c, 0);
  }
  if (count == 1 || command == CLI_COMMAND_COUNT) return;
  /* bash splits --NAME=VALUE at the equals sign */
  if (strcmp(c.typed, "=") == 0) {
    c.typed = "";
  } else if (strcmp(option, "=") == 0 && count > 2) {
    option = words[count - 3];
  } else if (c.typed[0] == '-' && strchr(c.typed, '=') != NULL) {
    option = c.typed;
    c.before = (int)strcspn(c.typed, "=") + 1;
  }
  const cli_option_row *row = row_named(command, option);
  if (row != NULL && offer_values(&c, command, row)) return;
  if (c.typed[0] == '-')
    offer_options(&c, command);
  else
    offer_operands(&c, command);
}

int cli_print_completion(FILE *stream, const char *shell) {
  static const struct {
    const char *name, *script;
  } shells[] = {
      {"bash",
       "# bash completion for cvtmesh: source <(cvtmesh completion bash)\n"
       "_cvtmesh() {\n"
       "  local word=${COMP_WORDS[COMP_CWORD]#=}\n"
       "  mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" completion -- "
       "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2> /dev/null | cut -f 1)\n"
       "  if [[ ${COMPREPLY[0]} == / ]]; then\n"
       "    COMPREPLY=(\"${COMPREPLY[@]:1}\")\n"
       "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
       "    compopt -o filenames 2> /dev/null\n"
       "  fi\n"
       "}\n"
       "complete -F _cvtmesh cvtmesh\n"},
      {"zsh",
       "#compdef cvtmesh\n"
       "# zsh completion for cvtmesh: source <(cvtmesh completion zsh)\n"
       "_cvtmesh() {\n"
       "  local line files tab=$'\\t'\n"
       "  local -a found\n"
       "  for line in ${(f)\"$(${(Q)words[1]} completion -- \"${(@Q)words[2,CURRENT]}\" 2> "
       "/dev/null)\"}; do\n"
       "    if [[ $line == / ]]; then files=1; continue; fi\n"
       "    found+=(\"${${line%%$tab*}//:/\\\\:}:${line#*$tab}\")\n"
       "  done\n"
       "  (( ! $#found )) || _describe cvtmesh found\n"
       "  if [[ $files ]]; then compset -P '--*='; _files; fi\n"
       "}\n"
       "if [ \"$funcstack[1]\" = _cvtmesh ]; then _cvtmesh \"$@\"; else compdef _cvtmesh cvtmesh; "
       "fi\n"},
      {"fish",
       "# fish completion for cvtmesh: cvtmesh completion fish | source\n"
       "function __cvtmesh_complete\n"
       "  set -l words (commandline -opc) (commandline -ct)\n"
       "  for line in ($words[1] completion -- $words[2..-1] 2> /dev/null)\n"
       "    if test \"$line\" = /\n"
       "      __fish_complete_path (commandline -ct)\n"
       "    else\n"
       "      printf '%s\\n' $line\n"
       "    end\n"
       "  end\n"
       "end\n"
       "complete -c cvtmesh -f -a '(__cvtmesh_complete)'\n"}};
  for (size_t k = 0; k < sizeof shells / sizeof shells[0]; ++k) {
    if (strcmp(shells[k].name, shell) != 0) continue;
    fputs(shells[k].script, stream);
    return 1;
  }
  return 0;
}
