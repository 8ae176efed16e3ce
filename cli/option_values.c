/* Values of options: from text, from the options of another command, and to a visitor; their
 * defaults. */
#include "cli/option_table.h"

#include "run/options.h"
#include "cvt/classes.h"
#include "density/condition.h"
#include "density/density.h"
#include "density/segmentation.h"
#include "draw/inks.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 5k, 1.5M and 2e4: *number becomes the whole number meant. Returns 0 if the text is not of this
 * form, or no whole number. */
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

static cvtm_status parse_integer(const cli_option_row *row, const char *value, int64_t *number,
                                 cvtm_error *error) {
  char *end;
  double rounded = 0;
  errno = 0;
  long long parsed = strtoll(value, &end, 10);
  const int is_short = *end != '\0' && parse_short_count(value, &rounded);
  if (end == value || (*end != '\0' && !is_short))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a whole number, as 5000 or 5k",
                     row->name, value);
  if (!is_short) rounded = (double)parsed;
  if (errno == ERANGE || rounded < row->least || rounded > row->most)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %.0f and %.0f", row->name,
                     value, row->least, row->most);
  *number = is_short ? (int64_t)rounded : parsed;
  return CVTM_OK;
}

static cvtm_status parse_real(const cli_option_row *row, const char *value, double *number,
                              cvtm_error *error) {
  char *end;
  double parsed = strtod(value, &end);
  if (end == value || *end != '\0' || !isfinite(parsed))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not a number", row->name, value);
  if (parsed < row->least || parsed > row->most) {
    if (isinf(row->most))
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is less than %g", row->name, value,
                       row->least);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %s is not between %g and %g", row->name,
                     value, row->least, row->most);
  }
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

/* Only config files and jobs of a batch give a value to a flag. */
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

cvtm_status cli_option_set_row(cli_options *options, int index, const char *value,
                               cvtm_error *error) {
  const cli_option_row *row = &cli_option_rows[index];
  void *field = cli_option_field(row, options);
  if (row->type == CLI_LIST && options->given[index] == CLI_INHERITED)
    ((cvtm_run_list *)field)->count = 0;
  options->given[index] = CLI_GIVEN;
  options->run.given |= run_given_bit(cli_option_rows[index].name);
  switch (row->type) {
    case CLI_FLAG:
      return parse_flag(row, value, (int *)field, error);
    case CLI_INTEGER:
      return parse_integer(row, value, (int64_t *)field, error);
    case CLI_REAL:
      return parse_real(row, value, (double *)field, error);
    case CLI_CHOICE:
      return parse_choice(row, value, (int *)field, error);
    case CLI_SWITCH:
      return parse_switch(row, value, (int *)field, error);
    case CLI_TEXT:
    case CLI_LIST:
      break;
  }
  if (*value == '\0')
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: the value is empty", row->name);
  if (row->type == CLI_TEXT) {
    *(const char **)field = value;
    return row->set == NULL ? CVTM_OK : row->set(options, value, error);
  }
  cvtm_run_list *list = field;
  if (list->count == CVTM_RUN_LIST_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: more than %d of them", row->name,
                     CVTM_RUN_LIST_MAX);
  list->item[list->count++] = value;
  return row->set == NULL ? CVTM_OK : row->set(options, value, error);
}

cvtm_input *cli_option_source(const cli_option_row *row, cli_options *options) {
  if (row->source == 0) return NULL;
  cvtm_input *first = (cvtm_input *)((char *)options + row->source);
  if (row->type != CLI_LIST) return first->name != NULL ? first : NULL;
  const int last = ((const cvtm_run_list *)cli_option_field_const(row, options))->count - 1;
  if (last < 0) return NULL;
  return row->set == cli_set_weight ? &options->run.condition.weight.item[last].region
                                    : first + last;
}

static cvtm_status inherit_field(const cli_option_row *row, const cli_options *from,
                                 cli_text_map map, void *context, cli_options *options,
                                 cvtm_error *error) {
  const void *source = cli_option_field_const(row, from);
  void *field = cli_option_field(row, options);
  cvtm_status status = CVTM_OK;
  switch (row->type) {
    case CLI_FLAG:
    case CLI_CHOICE:
    case CLI_SWITCH:
      *(int *)field = *(const int *)source;
      return CVTM_OK;
    case CLI_INTEGER:
      *(int64_t *)field = *(const int64_t *)source;
      return CVTM_OK;
    case CLI_REAL:
      *(double *)field = *(const double *)source;
      return CVTM_OK;
    case CLI_TEXT:
      status = map(context, *(const char *const *)source, field, error);
      if (status != CVTM_OK || row->set == NULL) return status;
      return row->set(options, *(const char *const *)field, error);
    case CLI_LIST:
      break;
  }
  const cvtm_run_list *list = source;
  cvtm_run_list *mapped = field;
  mapped->count = 0;
  for (int k = 0; k < list->count && status == CVTM_OK; ++k) {
    status = map(context, list->item[k], &mapped->item[k], error);
    mapped->count = k + 1;
    if (status == CVTM_OK && row->set != NULL) status = row->set(options, mapped->item[k], error);
  }
  return status;
}

cvtm_status cli_options_inherit(const cli_options *from, cli_text_map map, void *context,
                                cli_options *options, cvtm_error *error) {
  cli_options_set_defaults(CLI_RUN, options);
  cvtm_status status = CVTM_OK;
  for (int row = 0; row < cli_option_row_count && status == CVTM_OK; ++row) {
    if (!from->given[row] || cli_option_rows[row].commands == CLI_EVERY_COMMAND) continue;
    const int own = cli_option_find_field(CLI_RUN, cli_option_rows[row].offset);
    if (own < 0) continue;
    options->given[own] = CLI_INHERITED;
    options->run.given |= run_given_bit(cli_option_rows[own].name);
    status = inherit_field(&cli_option_rows[row], from, map, context, options, error);
  }
  return status;
}

/* As cli_option_find, of a name that may have _ for -. */
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

int cli_option_affects_result(const char *name) {
  const int row = cli_option_find(CLI_RUN, name);
  return row >= 0 && cli_option_rows[row].effect == CLI_ON_RESULT;
}

cvtm_status cli_options_set(cli_options *options, const char *name, const char *value,
                            cvtm_error *error) {
  const int row = find_spelled(options->command, name);
  if (row < 0) {
    const char *instead = cli_former_option_instead(options->command, name);
    if (instead != NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "'%s' went; instead: %s", name, instead);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown option '%s'", name);
  }
  return cli_option_set_row(options, row, value, error);
}

int cli_option_given(const cli_options *options, const char *name) {
  int row = cli_option_find(options->command, name);
  return row >= 0 && options->given[row];
}

void cli_options_visit(const cli_options *options, const cli_option_visitor *visitor) {
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (!cli_option_applies(index, options->command)) continue;
    if (row->offset == CLI_FIELD(help) || row->offset == CLI_FIELD(version)) continue;
    const void *field = cli_option_field_const(row, options);
    switch (row->type) {
      case CLI_FLAG:
        visitor->flag(visitor->context, row->name, *(const int *)field);
        break;
      case CLI_INTEGER:
        visitor->integer(visitor->context, row->name, *(const int64_t *)field);
        break;
      case CLI_REAL:
        visitor->real(visitor->context, row->name, *(const double *)field);
        break;
      case CLI_CHOICE:
      case CLI_SWITCH:
        visitor->text(visitor->context, row->name,
                      cli_choice_name(row->choices, *(const int *)field));
        break;
      case CLI_TEXT:
        visitor->text(visitor->context, row->name, *(const char *const *)field);
        break;
      case CLI_LIST:
        visitor->list(visitor->context, row->name, field);
        break;
    }
  }
}

static const char *default_extension(cli_command command) {
  if (command == CLI_MESH) return "obj";
  return command == CLI_RUN || command == CLI_BATCH || command == CLI_VIEW ? "csv" : "npy";
}

/* --- values with parts ----------------------------------------------------------------------- */

cvtm_status cli_set_domain(cli_options *options, const char *value, cvtm_error *error) {
  static const struct {
    const char *name;
    cvtm_run_domain_kind kind;
    int has_file;
  } kinds[] = {{"none", CVTM_RUN_DOMAIN_NONE, 0},     {"image", CVTM_RUN_DOMAIN_IMAGE, 0},
               {"frame", CVTM_RUN_DOMAIN_FRAME, 0},   {"mask", CVTM_RUN_DOMAIN_MASK, 1},
               {"labels", CVTM_RUN_DOMAIN_LABELS, 1}, {"polygon", CVTM_RUN_DOMAIN_POLYGON, 1}};
  const size_t length = strcspn(value, "=");
  const char *file = value[length] == '=' && value[length + 1] != '\0' ? value + length + 1 : NULL;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    if (strlen(kinds[k].name) != length || strncmp(kinds[k].name, value, length) != 0) continue;
    if (kinds[k].has_file && file == NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--domain: '%s' has no file, as %s=FILE", value,
                       kinds[k].name);
    if (!kinds[k].has_file && value[length] == '=') break;
    options->run.domain.kind = kinds[k].kind;
    options->run.domain.source = (cvtm_input){file, NULL};
    return CVTM_OK;
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--domain: '%s' is not one of none, image, frame, mask=FILE, polygon=FILE, "
                   "labels=FILE%s",
                   value,
                   strcmp(value, "segment") == 0
                       ? "; cvtmesh segment IMAGE -o object.svg makes a file for polygon"
                       : "");
}

cvtm_status cli_set_format(cli_options *options, const char *value, cvtm_error *error) {
  static const char *const words[] = {"ascii", "binary", "zlib", "lz4", "msh2"};
  int given[] = {0, 0, 0, 0, 0};
  const cli_command command = options->command;
  options->run.format = default_extension(command);
  for (const char *word = value;; ++word) {
    const size_t length = strcspn(word, ",");
    size_t k = 0;
    while (k < 5 && (strlen(words[k]) != length || strncmp(words[k], word, length) != 0)) ++k;
    if (k < 5)
      given[k] = 1;
    else if (word[length] == ',' || length == 0)
      return cvtm_fail(
          error, CVTM_ERROR_ARGUMENT,
          "--format: '%.*s' is not one of ascii, binary, zlib, lz4, msh2; an extension "
          "comes last",
          (int)length, word);
    else
      options->run.format = word;
    word += length;
    if (*word == '\0') break;
  }
  options->run.ascii = given[0];
  options->run.binary = given[1];
  options->run.compression = (given[2]   ? CVTM_COMPRESS_ZLIB
                              : given[3] ? CVTM_COMPRESS_LZ4
                                         : CVTM_COMPRESS_NONE);
  options->run.msh_version = given[4] ? CVTM_MSH_2_2 : CVTM_MSH_4_1;
  return CVTM_OK;
}

cvtm_status cli_set_colours(cli_options *options, const char *value, cvtm_error *error) {
  double count = 0;
  options->run.colours.cmyk = strcmp(value, "cmyk") == 0;
  options->run.colours.pens = NULL;
  options->run.colours.palette = 0;
  if (options->run.colours.cmyk || strcmp(value, "none") == 0) return CVTM_OK;
  if (!run_numbers_parse(value, 1, &count)) {
    options->run.colours.pens = value;
    return CVTM_OK;
  }
  if (count != floor(count) || count < 0 || count > CVTM_INKS_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--colours: %s is not between 0 and %d", value,
                     CVTM_INKS_MAX);
  options->run.colours.palette = (int64_t)count;
  return CVTM_OK;
}

static const char *size_file(const char *text, int *as) {
  static const cli_choice kinds[] = {{"solution=", CVTM_SIZE_FROM_SOLUTION},
                                     {"indicator=", CVTM_SIZE_FROM_INDICATOR},
                                     {"size=", CVTM_SIZE_GIVEN},
                                     {NULL, 0}};
  *as = (int)CVTM_SIZE_FROM_SOLUTION;
  for (const cli_choice *kind = kinds; kind->name != NULL; ++kind) {
    if (strncmp(text, kind->name, strlen(kind->name)) != 0) continue;
    *as = kind->value;
    return text + strlen(kind->name);
  }
  return text;
}

cvtm_status cli_set_size_from(cli_options *options, const char *value, cvtm_error *error) {
  int as;
  options->run.size.from = (cvtm_input){size_file(value, &as), NULL};
  options->run.size.as = (cvtm_size_source)as;
  if (*options->run.size.from.name != '\0') return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--size-from: '%s' has no file", value);
}

cvtm_status cli_set_within(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_inputs *regions = &options->run.condition.within;
  (void)error;
  regions->count = options->text.within.count;
  regions->item[regions->count - 1] = (cvtm_input){value, NULL};
  return CVTM_OK;
}

cvtm_status cli_set_obstacle(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_inputs *regions = &options->run.condition.obstacle;
  (void)error;
  regions->count = options->text.obstacle.count;
  regions->item[regions->count - 1] = (cvtm_input){value, NULL};
  return CVTM_OK;
}

struct cli_text {
  cli_text *next;
  char text[];
};

/* The first `length` characters; they live as long as the options. NULL: no memory. */
static const char *keep_text(cli_options *options, const char *text, size_t length) {
  cli_text *kept = malloc(sizeof *kept + length + 1);
  if (kept == NULL) return NULL;
  memcpy(kept->text, text, length);
  kept->text[length] = '\0';
  kept->next = options->kept;
  options->kept = kept;
  return kept->text;
}

void cli_options_free(cli_options *options) {
  while (options->kept != NULL) {
    cli_text *next = options->kept->next;
    free(options->kept);
    options->kept = next;
  }
  free(options->config_text);
  options->config_text = NULL;
}

cvtm_status cli_set_weight(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_weights *weights = &options->run.condition.weight;
  const char *equals = strrchr(value, '=');
  double factor;
  if (equals == NULL || equals == value || !run_numbers_parse(equals + 1, 1, &factor))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--weight: '%s' is not FILE=FACTOR", value);
  const char *name = keep_text(options, value, (size_t)(equals - value));
  if (name == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  weights->count = options->text.weight.count;
  weights->item[weights->count - 1] = (cvtm_region_weight){{name, NULL}, factor};
  return CVTM_OK;
}

static int parse_disc(const char *value, cvtm_disc *disc) {
  double numbers[3];
  if (!run_numbers_parse(value, 3, numbers)) return 0;
  *disc = (cvtm_disc){numbers[0], numbers[1], numbers[2]};
  return 1;
}

static cvtm_status add_disc(const char *name, const char *value, int count, cvtm_run_discs *discs,
                            cvtm_error *error) {
  discs->count = count;
  if (parse_disc(value, &discs->item[count - 1])) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not X,Y,RADIUS", name, value);
}

cvtm_status cli_set_inside(cli_options *options, const char *value, cvtm_error *error) {
  return add_disc("inside", value, options->text.inside.count, &options->run.segment.inside, error);
}

cvtm_status cli_set_outside(cli_options *options, const char *value, cvtm_error *error) {
  return add_disc("outside", value, options->text.outside.count, &options->run.segment.outside,
                  error);
}

cvtm_status cli_set_initial(cli_options *options, const char *value, cvtm_error *error) {
  (void)error;
  options->run.segment.first_region = (cvtm_input){NULL, NULL};
  if (strcmp(value, "grow") == 0) {
    options->run.segment.first = CVTM_FIRST_CURVE_GROW;
  } else if (strcmp(value, "image") == 0) {
    options->run.segment.first = CVTM_FIRST_CURVE_IMAGE;
  } else if (parse_disc(value, &options->run.segment.first_disc)) {
    options->run.segment.first = CVTM_FIRST_CURVE_DISC;
  } else {
    options->run.segment.first = CVTM_FIRST_CURVE_REGION;
    options->run.segment.first_region.name = value;
  }
  return CVTM_OK;
}

/* A,B or, if the second number may be left out, A. form: as in "LAMBDA[,P]". */
static cvtm_status parse_pair(const char *name, const char *form, const char *value,
                              const double (*range)[2], double *first, double *second,
                              cvtm_error *error) {
  double found[2] = {*first, *second};
  const int alone = strchr(form, '[') != NULL && run_numbers_parse(value, 1, found);
  if (!alone && !run_numbers_parse(value, 2, found))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not %s", name, value, form);
  for (int k = 0; k < 2 - alone; ++k)
    if (found[k] < range[k][0] || found[k] > range[k][1])
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %g is not between %g and %g", name,
                       found[k], range[k][0], range[k][1]);
  *first = found[0];
  *second = found[1];
  return CVTM_OK;
}

cvtm_status cli_set_levels(cli_options *options, const char *value, cvtm_error *error) {
  static const double range[][2] = {{0, 1}, {0, 1}};
  return parse_pair("levels", "BLACK,WHITE", value, range, &options->run.black, &options->run.white,
                    error);
}

cvtm_status cli_set_smooth(cli_options *options, const char *value, cvtm_error *error) {
  static const double range[][2] = {{0, 1e12}, {1e-9, 1 - 1e-9}};
  return parse_pair("smooth", "LAMBDA[,P]", value, range, &options->run.condition.smooth,
                    &options->run.condition.bias, error);
}

cvtm_status cli_set_grade(cli_options *options, const char *value, cvtm_error *error) {
  static const double range[][2] = {{0, 1e12}, {0, HUGE_VAL}};
  return parse_pair("grade", "LAMBDA[,MAX]", value, range, &options->run.condition.grade,
                    &options->run.condition.grade_max, error);
}

cvtm_status cli_set_ranks(cli_options *options, const char *value, cvtm_error *error) {
  double count = 0;
  const int is_mpi = strcmp(value, "mpi") == 0;
  if (!is_mpi &&
      (!run_numbers_parse(value, 1, &count) || count != floor(count) || count < 0 || count > 4096))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "--ranks: '%s' is neither mpi nor a number between 0 and 4096", value);
  /* A process that was started for `--ranks N` has `--ranks mpi` before it. */
  options->distributed |= is_mpi;
  options->ranks = options->distributed ? 0 : (int64_t)count;
  return CVTM_OK;
}

/* --- defaults ------------------------------------------------------------------------------- */

/* By default `minimize` stops only where the decrease of the objective is rounding. */
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
  cvtm_hlcp_options hlcp;
  cvtm_hlcp_defaults(&hlcp);
  options->run.iterations = hlcp.max_iterations;
  options->run.tolerance = hlcp.tolerance;
  options->hlcp.method = (int)hlcp.method;
  options->hlcp.alpha = hlcp.alpha;
  options->hlcp.beta = hlcp.beta;
  options->hlcp.gamma = hlcp.gamma;
  options->hlcp.start = hlcp.start;
  options->hlcp.size = 256;
}

static void set_lcp_defaults(cli_options *options) {
  cvtm_lcp_options lcp;
  cvtm_lcp_defaults(&lcp);
  options->run.tolerance = lcp.tolerance;
  options->run.iterations = lcp.max_iterations;
  options->lcp.size = 255;
  options->lcp.omega = lcp.omega;
  options->lcp.nested = lcp.nested;
}

void cli_options_set_defaults(cli_command command, cli_options *options) {
  memset(options, 0, sizeof *options);
  cvtm_run_defaults(&options->run);
  options->run.keep = 0; /* the files are named before the run */
  options->run.purpose = cli_command_purpose(command);
  options->command = command;
  options->text.format = options->run.format = default_extension(command);
  options->text.ranks = "0";
  options->text.colours = options->text.domain = "none";
  options->text.initial = "grow";
  if (command == CLI_MESH) options->run.svg = CVTM_SVG_MESH;
  options->metric.ratio = 100;
  options->device = "auto";
  options->view.save = "cvtmesh-view";
  options->view.every = 10;
  if (command == CLI_VIEW) options->run.iterations = 1000000;
  if (command == CLI_MINIMIZE) set_minimize_defaults(options);
  if (command == CLI_HLCP) set_hlcp_defaults(options);
  if (command == CLI_LCP) set_lcp_defaults(options);
}
