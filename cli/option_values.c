/* Sets values of options from text or from the options of another command, passes them to a
 * visitor, and sets defaults. option_parts.c parses values that have parts. */
#include "cli/option_table.h"

#include "run/options.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parses 5k, 1.5M and 2e4: *number is the integer meant. Returns 0 if the text does not have this
 * form or is not an integer. */
static int parse_short_count(const char *value, double *number) {
  char *end;
  if (value[strspn(value, "0123456789.e+kM")] != '\0') return 0;
  *number = strtod(value, &end);
  if (end == value) return 0;
  if (*end == 'k') *number *= 1e3;
  if (*end == 'M') *number *= 1e6;
  if (*end == 'k' || *end == 'M') ++end;
  return *end == '\0' && *number == floor(*number);
}

/* text: the value as given. */
static cvtm_status check_range(const cli_option_row *row, double value, const char *text,
                               cvtm_error *error) {
  if (value >= row->least && value <= row->most) return CVTM_OK;
  if (row->type == CLI_INTEGER)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %.0f and %.0f", row->name,
                     text, row->least, row->most);
  if (isinf(row->most))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is less than %g", row->name, text,
                     row->least);
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %g and %g", row->name, text,
                   row->least, row->most);
}

static cvtm_status parse_integer(const cli_option_row *row, const char *value, int64_t *number,
                                 cvtm_error *error) {
  char *end;
  double rounded = 0;
  errno = 0;
  long long parsed = strtoll(value, &end, 10);
  const int is_short = *end != '\0' && parse_short_count(value, &rounded);
  if (end == value || (*end != '\0' && !is_short))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a whole number like 5000 or 5k",
                     row->name, value);
  if (!is_short) rounded = errno == ERANGE ? (double)INFINITY : (double)parsed;
  CVTM_TRY(check_range(row, rounded, value, error));
  *number = is_short ? (int64_t)rounded : parsed;
  return CVTM_OK;
}

static cvtm_status parse_real(const cli_option_row *row, const char *value, double *number,
                              cvtm_error *error) {
  char *end;
  double parsed = strtod(value, &end);
  if (end == value || *end != '\0' || !isfinite(parsed))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a number", row->name, value);
  CVTM_TRY(check_range(row, parsed, value, error));
  *number = parsed;
  return CVTM_OK;
}

static cvtm_status parse_choice(const cli_option_row *row, const char *value, int *number,
                                cvtm_error *error) {
  const cli_choice *choice = cli_choice_find(row->choices, value);
  if (choice == NULL) {
    char names[128];
    cli_choice_names(row->choices, '|', names, sizeof names);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not one of %s", row->name, value,
                     names);
  }
  *number = choice->value;
  return CVTM_OK;
}

static const cli_choice flag_words[] = {{"false", 0}, {"no", 0}, {"off", 0}, {"0", 0}, {"true", 1},
                                        {"yes", 1},   {"on", 1}, {"1", 1},   {NULL, 0}};

/* Parses the value of a flag, which only config files and jobs of a batch give. */
static cvtm_status parse_flag(const cli_option_row *row, const char *value, int *flag,
                              cvtm_error *error) {
  const cli_choice *word = cli_choice_find(flag_words, value);
  if (word == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: '%s' is neither true nor false", row->name,
                     value);
  *flag = word->value;
  return CVTM_OK;
}

static cvtm_status parse_switch(const cli_option_row *row, const char *value, int *number,
                                cvtm_error *error) {
  const cli_choice *word = cli_choice_find(flag_words, value);
  if (word == NULL) return parse_choice(row, value, number, error);
  *number = (int)(word->value ? row->most : row->least);
  return CVTM_OK;
}

/* Marks an option as given. The first value of a list replaces an inherited list. */
static void mark_given(cli_options *options, int index) {
  const cli_option_row *row = &cli_option_rows[index];
  if (row->type == CLI_LIST && options->given[index] == CLI_INHERITED)
    ((cvtm_run_list *)cli_option_field(row, options))->count = 0;
  options->given[index] = CLI_GIVEN;
  options->run.given |= run_given_bit(row->name);
}

cvtm_status cli_option_set_integer(cli_options *options, int index, int64_t value,
                                   cvtm_error *error) {
  const cli_option_row *row = &cli_option_rows[index];
  void *field = cli_option_field(row, options);
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)value);
  mark_given(options, index);
  if (row->type == CLI_FLAG)
    *(int *)field = value != 0;
  else if (row->type == CLI_SWITCH)
    *(int *)field = (int)(value != 0 ? row->most : row->least);
  else
    CVTM_TRY(check_range(row, (double)value, text, error));
  if (row->type == CLI_INTEGER) *(int64_t *)field = value;
  return CVTM_OK;
}

cvtm_status cli_option_set_real(cli_options *options, int index, double value, cvtm_error *error) {
  const cli_option_row *row = &cli_option_rows[index];
  char text[32];
  snprintf(text, sizeof text, "%.15g", value);
  mark_given(options, index);
  if (!isfinite(value))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a number", row->name, text);
  CVTM_TRY(check_range(row, value, text, error));
  *(double *)cli_option_field(row, options) = value;
  return CVTM_OK;
}

/* Sets a value of CLI_TEXT, CLI_SOURCE or CLI_LIST. */
static cvtm_status set_value(const cli_option_row *row, const cli_value *value,
                             cli_options *options, cvtm_error *error) {
  void *field = cli_option_field(row, options);
  cvtm_run_list *list = field;
  if (row->type == CLI_TEXT) {
    *(const char **)field = value->text;
  } else if (row->type == CLI_SOURCE) {
    *(cvtm_input *)field = (cvtm_input){value->text, value->parts ? value->parts[0].array : NULL};
  } else if (list->count == CVTM_RUN_LIST_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: given more than %d times", row->name,
                     CVTM_RUN_LIST_MAX);
  } else {
    list->item[list->count++] = value->text;
  }
  return row->set == NULL ? CVTM_OK : row->set(options, value, error);
}

cvtm_status cli_option_set_row(cli_options *options, int index, const char *value,
                               cvtm_error *error) {
  const cli_option_row *row = &cli_option_rows[index];
  void *field = cli_option_field(row, options);
  mark_given(options, index);
  switch (row->type) {
    case CLI_FLAG:
      return parse_flag(row, value, (int *)field, error);
    case CLI_INTEGER:
      if (row->set != NULL && strpbrk(value, "hins") != NULL)
        return row->set(options, &(cli_value){value, NULL, 0}, error);
      return parse_integer(row, value, (int64_t *)field, error);
    case CLI_REAL:
      return parse_real(row, value, (double *)field, error);
    case CLI_CHOICE:
      return parse_choice(row, value, (int *)field, error);
    case CLI_SWITCH:
      return parse_switch(row, value, (int *)field, error);
    case CLI_TEXT:
    case CLI_SOURCE:
    case CLI_LIST:
      break;
  }
  if (*value == '\0')
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: the value is empty", row->name);
  const cli_value whole = {value, NULL, 0};
  return set_value(row, &whole, options, error);
}

/* The character that separates the parts of a row's values in text: the separator in its argument,
 * as in MIN,MAX or KIND=FILE. */
static char separator_of(const cli_option_row *row) {
  const char *found = row->argument != NULL ? strpbrk(row->argument, "=,x/") : NULL;
  return found != NULL ? *found : ',';
}

/* Writes the parts as text. A unit follows its number without a separator. */
static int write_parts(char separator, const cli_part *parts, int count, char *text, size_t size) {
  size_t length = 0;
  text[0] = '\0';
  for (int k = 0; k < count; ++k) {
    const int is_unit = k > 0 && parts[k].word != NULL && parts[k - 1].word == NULL;
    char number[RUN_NUMBER_TEXT];
    const char between[2] = {k == 0 || (is_unit && separator == ',') ? '\0' : separator, '\0'};
    const char *word = parts[k].word;
    if (word == NULL) word = run_number_text(parts[k].number, number);
    length +=
        (size_t)snprintf(text + length, size > length ? size - length : 0, "%s%s", between, word);
    if (length >= size) return 0;
  }
  return 1;
}

cvtm_status cli_option_set_parts(cli_options *options, int index, const cli_part *parts, int count,
                                 cvtm_error *error) {
  const cli_option_row *row = &cli_option_rows[index];
  size_t size = 1;
  for (int k = 0; k < count; ++k)
    size += 1 + (parts[k].word != NULL ? strlen(parts[k].word) : RUN_NUMBER_TEXT);
  char *text = cli_options_keep(options, size);
  if (text == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  if (count == 0 || row->type < CLI_TEXT ||
      !write_parts(separator_of(row), parts, count, text, size))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s takes no value of %d parts", row->name,
                     count);
  for (int k = 0; k < count; ++k)
    if (parts[k].array != NULL && row->type == CLI_TEXT && row->set == NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s takes no array", row->name);
  mark_given(options, index);
  const cli_value value = {text, parts, count};
  return set_value(row, &value, options, error);
}

static cvtm_status inherit_field(const cli_option_row *row, const cli_options *from,
                                 cli_text_map map, void *context, cli_options *options,
                                 cvtm_error *error) {
  const void *source = cli_option_field_const(row, from);
  void *field = cli_option_field(row, options);
  const size_t size = cli_option_size(row);
  cvtm_status status = CVTM_OK;
  if (size > 0) {
    memcpy(field, source, size);
    return CVTM_OK;
  }
  if (row->type != CLI_LIST) { /* the name is the first member of a source */
    status = map(context, *(const char *const *)source, field, error);
    if (status != CVTM_OK || row->set == NULL) return status;
    const cli_value value = {*(const char *const *)field, NULL, 0};
    return row->set(options, &value, error);
  }
  const cvtm_run_list *list = source;
  cvtm_run_list *mapped = field;
  mapped->count = 0;
  for (int k = 0; k < list->count && status == CVTM_OK; ++k) {
    status = map(context, list->item[k], &mapped->item[k], error);
    mapped->count = k + 1;
    const cli_value value = {mapped->item[k], NULL, 0};
    if (status == CVTM_OK && row->set != NULL) status = row->set(options, &value, error);
  }
  return status;
}

cvtm_status cli_options_inherit(const cli_options *from, cli_text_map map, void *context,
                                cli_options *options, cvtm_error *error) {
  cli_options_set_defaults(CLI_RUN, options);
  for (int row = 0; row < cli_option_row_count; ++row) {
    if (!from->given[row] || cli_option_rows[row].commands == CLI_EVERY_COMMAND) continue;
    const int own = cli_option_find_field(CLI_RUN, cli_option_rows[row].offset);
    if (own < 0) continue;
    options->given[own] = CLI_INHERITED;
    options->run.given |= run_given_bit(cli_option_rows[own].name);
    CVTM_TRY(inherit_field(&cli_option_rows[row], from, map, context, options, error));
  }
  return CVTM_OK;
}

/* cli_option_find for a name that may have _ instead of -. */
static int find_spelled(cli_command command, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "%s", name);
  for (char *c = key; *c != '\0'; ++c)
    if (*c == '_') *c = '-';
  return strlen(name) < sizeof key ? cli_option_find(command, key) : -1;
}

int cli_option_of_job(const char *name) {
  const int row = find_spelled(CLI_RUN, name);
  if (row < 0) return cli_former_option_instead(CLI_RUN, name) != NULL; /* refused when it is set */
  return cli_option_rows[row].effect == CLI_ON_RESULT &&
         cli_option_find_field(CLI_BATCH, cli_option_rows[row].offset) >= 0;
}

cvtm_status cli_options_set(cli_options *options, const char *name, const char *value,
                            cvtm_error *error) {
  const int row = find_spelled(options->command, name);
  if (row < 0) {
    const char *instead = cli_former_option_instead(options->command, name);
    if (instead != NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "'%s' is no option; instead: %s", name, instead);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown option '%s'", name);
  }
  return cli_option_set_row(options, row, value, error);
}

int cli_option_given(const cli_options *options, const char *name) {
  int row = cli_option_find(options->command, name);
  return row >= 0 && options->given[row];
}

void cli_options_visit(const cli_options *options, cli_option_visitor visitor, void *context) {
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (!cli_option_applies(index, options->command)) continue;
    if (row->offset == CLI_FIELD(help) || row->offset == CLI_FIELD(version)) continue;
    visitor(context, row, cli_option_field_const(row, options));
  }
}

/* --- defaults ------------------------------------------------------------------------------- */

/* By default `minimize` stops only if the objective decreases by no more than rounding errors. */
static void set_minimize_defaults(cli_options *options) {
  cvtm_lbfgsb_options lbfgsb;
  cvtm_lbfgsb_defaults(&lbfgsb);
  options->run.iterations = 20000;
  options->run.tolerance = lbfgsb.decrease_tolerance;
  options->run.gradient_tolerance = lbfgsb.gradient_tolerance;
  options->minimize.memory = lbfgsb.history;
  options->minimize.cauchy = (int)lbfgsb.cauchy;
  options->minimize.dimension = 2;
}

static void set_hlcp_defaults(cli_options *options) {
  cvtm_hlcp_defaults(&options->hlcp.solver);
  options->run.iterations = options->hlcp.solver.max_iterations;
  options->run.tolerance = options->hlcp.solver.tolerance;
  options->hlcp.size = 256;
}

static void set_lcp_defaults(cli_options *options) {
  cvtm_lcp_defaults(&options->lcp.solver);
  options->run.iterations = options->lcp.solver.max_iterations;
  options->run.tolerance = options->lcp.solver.tolerance;
  options->lcp.size = 255;
  options->lcp.problem = -1;
}

void cli_options_set_defaults(cli_command command, cli_options *options) {
  memset(options, 0, sizeof *options);
  cvtm_run_defaults(&options->run);
  options->run.keep = 0; /* every file is known before the run */
  options->run.purpose = cli_commands[command].purpose;
  options->command = command;
  options->text.format = options->run.format = cli_commands[command].format;
  options->text.ranks = "0";
  options->text.colours = "none";
  options->text.domain = "auto";
  options->text.initial = "grow";
  if (command == CLI_MESH) options->run.svg = CVTM_SVG_MESH;
  options->sphere.grade = 0.2;
  options->sphere.radius = 6371.229;
  options->sphere.view[0] = -60;
  options->sphere.view[1] = 20;
  if (command == CLI_SPHERE) options->run.iterations = 25;
  options->device = "auto";
  options->view.save = "cvtmesh-view";
  options->view.every = 10;
  if (command == CLI_VIEW) options->run.iterations = 1000000;
  if (command == CLI_MINIMIZE) set_minimize_defaults(options);
  if (command == CLI_HLCP) set_hlcp_defaults(options);
  if (command == CLI_LCP) set_lcp_defaults(options);
}
