/* Parses values that have parts into the fields of a run. run/ checks the values. */
#include "cli/option_table.h"

#include "run/options.h"
#include "density/size_field.h"
#include "draw/inks.h"
#include "draw/picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--domain: '%s' needs a file: %s=FILE", value,
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
  options->run.format = cli_commands[command].format;
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
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--size-from: '%s' needs a file", value);
}

static cvtm_status add_region(const char *value, int count, cvtm_run_inputs *regions) {
  regions->count = count;
  regions->item[count - 1] = (cvtm_input){value, NULL};
  return CVTM_OK;
}

cvtm_status cli_set_within(cli_options *options, const char *value, cvtm_error *error) {
  (void)error;
  return add_region(value, options->text.within.count, &options->run.condition.within);
}

cvtm_status cli_set_obstacle(cli_options *options, const char *value, cvtm_error *error) {
  (void)error;
  return add_region(value, options->text.obstacle.count, &options->run.condition.obstacle);
}

struct cli_text {
  cli_text *next;
  char text[];
};

char *cli_options_keep(cli_options *options, size_t size) {
  cli_text *kept = malloc(sizeof *kept + size);
  if (kept == NULL) return NULL;
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
  const size_t length = (size_t)(equals - value);
  char *name = cli_options_keep(options, length + 1);
  if (name == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  memcpy(name, value, length);
  name[length] = '\0';
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

cvtm_status cli_set_layers(cli_options *options, const char *value, cvtm_error *error) {
  static const cli_choice layers[] = {
      {"density", CVTM_PICTURE_DENSITY},       {"cells", CVTM_PICTURE_CELLS},
      {"cell-edges", CVTM_PICTURE_CELL_EDGES}, {"triangles", CVTM_PICTURE_TRIANGLES},
      {"mesh-edges", CVTM_PICTURE_MESH_EDGES}, {"sites", CVTM_PICTURE_SITES},
      {"stipples", CVTM_PICTURE_STIPPLES},     {NULL, 0}};
  options->run.layers = 0;
  for (const char *name = value;; ++name) {
    const size_t length = strcspn(name, ",");
    const cli_choice *layer = layers;
    while (layer->name != NULL &&
           (strlen(layer->name) != length || strncmp(layer->name, name, length) != 0))
      ++layer;
    if (layer->name == NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--layers: there is no layer '%.*s'",
                       (int)length, name);
    options->run.layers |= (unsigned)layer->value;
    name += length;
    if (*name == '\0') return CVTM_OK;
  }
}

cvtm_status cli_set_dot_size(cli_options *options, const char *value, cvtm_error *error) {
  if (run_lengths_parse(value, &options->run.dot_size)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--dot-size: '%s' is neither a diameter above 0 nor MIN,MAX", value);
}

cvtm_status cli_set_page(cli_options *options, const char *value, cvtm_error *error) {
  double *width = &options->run.page.width, *height = &options->run.page.height;
  int end = 0;
  char by;
  options->run.page.is_format = cvtm_run_page_format(value, width, height);
  if (options->run.page.is_format ||
      (sscanf(value, "%lf%c%lf%n", width, &by, height, &end) == 3 && by == 'x' &&
       (value[end] == '\0' || strcmp(value + end, "mm") == 0) && *width > 0 && *height > 0))
    return CVTM_OK;
  return cvtm_fail(
      error, CVTM_ERROR_ARGUMENT,
      "--page: '%s' is neither A0 to A6, letter, legal, tabloid nor WIDTHxHEIGHT in mm", value);
}

cvtm_status cli_set_pixel_size(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_lengths *size = &options->run.world.pixel_size;
  options->run.world.from_file = strcmp(value, "file") == 0;
  size->count = 0;
  if (options->run.world.from_file || run_lengths_parse(value, size)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--pixel-size: '%s' is neither a length nor `file`",
                   value);
}

cvtm_status cli_set_origin(cli_options *options, const char *value, cvtm_error *error) {
  if (run_lengths_parse(value, &options->run.world.origin)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--origin: '%s' is not X,Y", value);
}

/* N of N=REST, from 1 to `most`; *rest is REST. 0: the text is not of this form. */
static int32_t parse_region(const char *value, long most, const char **rest) {
  char *end;
  if (!(*value >= '1' && *value <= '9')) return 0;
  errno = 0;
  const long region = strtol(value, &end, 10);
  *rest = end + 1;
  return errno == 0 && *end == '=' && region <= most ? (int32_t)region : 0;
}

cvtm_status cli_set_region_name(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_region_names *names = &options->run.domain.region_names;
  const char *name;
  const int32_t region = parse_region(value, 1 << 24, &name);
  names->count = options->text.region_names.count;
  if (region > 0) names->item[names->count - 1] = (cvtm_region_name){region, name};
  if (region > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--region-name: '%s' is not N=NAME, with a name of letters, digits, _ and -",
                   value);
}

/* A number, perhaps with the square of a unit of length: 4mm2, 4mm^2. */
static int parse_area(const char *text, cvtm_run_area *area) {
  static const char *const squares[] = {"^2", "\xc2\xb2", "2"};
  char length[64];
  cvtm_run_lengths found;
  const size_t size = strlen(text);
  area->unit = CVTM_RUN_UNIT_NONE;
  if (run_numbers_parse(text, 1, &area->area)) return area->area > 0;
  for (int k = 0; k < 3; ++k) {
    const size_t end = strlen(squares[k]);
    if (size <= end || size >= sizeof length || strcmp(text + size - end, squares[k]) != 0)
      continue;
    memcpy(length, text, size - end);
    length[size - end] = '\0';
    if (!run_lengths_parse(length, &found) || found.count != 1) return 0;
    area->area = found.value[0];
    area->unit = found.unit;
    return found.unit != CVTM_RUN_UNIT_NONE && area->area > 0;
  }
  return 0;
}

cvtm_status cli_set_max_area(cli_options *options, const char *value, cvtm_error *error) {
  cvtm_run_areas *areas = &options->run.refine.max_area;
  const char *area = value;
  const int has_region = strchr(value, '=') != NULL;
  const int32_t region = has_region ? parse_region(value, INT32_MAX, &area) : 0;
  areas->count = options->text.max_area.count;
  cvtm_run_area *last = &areas->item[areas->count - 1];
  last->region = region;
  if ((!has_region || region > 0) && parse_area(area, last)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--max-area: '%s' is neither AREA nor REGION=AREA",
                   value);
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
  /* A process that `--ranks N` has started has `--ranks mpi` before that option. */
  options->distributed |= is_mpi;
  options->ranks = options->distributed ? 0 : (int64_t)count;
  return CVTM_OK;
}
