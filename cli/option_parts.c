/* Values with several parts, which set the fields of a run. run/ checks the values. */
#include "cli/option_table.h"

#include "run/options.h"
#include "density/size_field.h"
#include "draw/inks.h"
#include "draw/picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the parts of a value, in its text or given separately; 0: not of this form --- */

static int is_number(const cli_value *value, int k) {
  return value->parts[k].word == NULL && isfinite(value->parts[k].number);
}

/* Reads exactly `count` numbers. */
static int numbers_of(const cli_value *value, int count, double *numbers) {
  if (value->parts == NULL) return run_numbers_parse(value->text, count, numbers);
  int found = 0;
  for (; found < value->count && found < count && is_number(value, found); ++found)
    numbers[found] = value->parts[found].number;
  return found == count && value->count == count;
}

/* Reads one or two numbers, and perhaps a unit. */
static int lengths_of(const cli_value *value, cvtm_run_lengths *lengths) {
  if (value->parts == NULL) return run_lengths_parse(value->text, lengths);
  *lengths = (cvtm_run_lengths){.unit = CVTM_RUN_UNIT_NONE};
  int *count = &lengths->count;
  for (; *count < value->count && *count < 2 && is_number(value, *count); ++*count)
    lengths->value[*count] = value->parts[*count].number;
  if (*count == 0 || *count == value->count) return *count;
  const char *unit = value->parts[*count].word;
  if (unit != NULL) lengths->unit = run_unit_find(unit);
  return lengths->unit != CVTM_RUN_UNIT_NONE && *count + 1 == value->count;
}

/* Reads a source without further parts. */
static cvtm_input source_of(const cli_value *value) {
  return (cvtm_input){value->text, value->parts != NULL ? value->parts[0].array : NULL};
}

cvtm_status cli_set_domain(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const struct {
    const char *name;
    cvtm_run_domain_kind kind;
    int has_file;
  } kinds[] = {{"auto", CVTM_RUN_DOMAIN_NONE, 0},      {"none", CVTM_RUN_DOMAIN_NONE, 0},
               {"frame", CVTM_RUN_DOMAIN_FRAME, 0},    {"image", CVTM_RUN_DOMAIN_IMAGE, 0},
               {"mask", CVTM_RUN_DOMAIN_MASK, 1},      {"labels", CVTM_RUN_DOMAIN_LABELS, 1},
               {"polygon", CVTM_RUN_DOMAIN_POLYGON, 1}};
  const char *text = value->text;
  const size_t length = strcspn(text, "=");
  cvtm_input source = {NULL, NULL};
  if (value->count == 2)
    source = (cvtm_input){value->parts[1].word, value->parts[1].array};
  else if (text[length] == '=' && text[length + 1] != '\0')
    source.name = text + length + 1;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    if (strlen(kinds[k].name) != length || strncmp(kinds[k].name, text, length) != 0) continue;
    if (kinds[k].has_file && source.name == NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--domain: '%s' needs a file: %s=FILE", text,
                       kinds[k].name);
    if (!kinds[k].has_file && text[length] == '=') break;
    options->run.domain.kind = kinds[k].kind;
    options->run.domain.source = source;
    return CVTM_OK;
  }
  return cvtm_fail(
      error, CVTM_ERROR_ARGUMENT,
      "--domain: '%s' is not one of auto, none, frame, image, mask=FILE, polygon=FILE, "
      "labels=FILE%s",
      text,
      strcmp(text, "segment") == 0
          ? "; cvtmesh segment IMAGE -o object.svg makes a file for polygon"
          : "");
}

cvtm_status cli_set_format(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const char *const words[] = {"ascii", "binary", "zlib",  "lz4",
                                      "msh2",  "cpe",    "shell", "cps"};
  enum { WORDS = sizeof words / sizeof words[0] };
  int given[WORDS] = {0};
  const cli_command command = options->command;
  options->run.format = cli_commands[command].format;
  for (const char *word = value->text;; ++word) {
    const size_t length = strcspn(word, ",");
    size_t k = 0;
    while (k < WORDS && (strlen(words[k]) != length || strncmp(words[k], word, length) != 0)) ++k;
    if (k < WORDS)
      given[k] = 1;
    else if (word[length] == ',' || length == 0)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                       "--format: '%.*s' is not one of ascii, binary, zlib, lz4, msh2, cps, cpe, "
                       "shell; an extension comes last",
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
  options->run.inp_elements = given[5] ? CVTM_INP_CPE : given[6] ? CVTM_INP_SHELL : CVTM_INP_CPS;
  return CVTM_OK;
}

cvtm_status cli_set_colours(cli_options *options, const cli_value *value, cvtm_error *error) {
  double count = 0;
  options->run.colours.cmyk = strcmp(value->text, "cmyk") == 0;
  options->run.colours.pens = NULL;
  options->run.colours.palette = 0;
  if (options->run.colours.cmyk || strcmp(value->text, "none") == 0) return CVTM_OK;
  if (source_of(value).array != NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--colours takes no array");
  if (!numbers_of(value, 1, &count)) {
    options->run.colours.pens = value->text;
    return CVTM_OK;
  }
  if (count != floor(count) || count < 0 || count > CVTM_INKS_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--colours: %s is not between 0 and %d",
                     value->text, CVTM_INKS_MAX);
  options->run.colours.palette = (int64_t)count;
  return CVTM_OK;
}

cvtm_status cli_set_size_from(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const cli_choice kinds[] = {{"solution=", CVTM_SIZE_FROM_SOLUTION},
                                     {"indicator=", CVTM_SIZE_FROM_INDICATOR},
                                     {"size=", CVTM_SIZE_GIVEN},
                                     {NULL, 0}};
  const cli_choice *kind = kinds;
  while (kind->name != NULL && strncmp(value->text, kind->name, strlen(kind->name)) != 0) ++kind;
  const char *name = value->text + (kind->name != NULL ? strlen(kind->name) : 0);
  const int has_kind = kind->name != NULL || value->count == 2;
  options->run.size.as = (cvtm_size_source)(has_kind ? kind->value : (int)CVTM_SIZE_FROM_SOLUTION);
  options->run.size.from = (cvtm_input){name, NULL};
  if (value->count > 0) options->run.size.from.array = value->parts[value->count - 1].array;
  if (value->count == 2 && kind->name == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "--size-from: '%s' is not one of solution, indicator, size",
                     value->parts[0].word);
  if (*name != '\0') return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--size-from: '%s' needs a file", value->text);
}

static cvtm_status add_region(const cli_value *value, int count, cvtm_run_inputs *regions) {
  regions->count = count;
  regions->item[count - 1] = source_of(value);
  return CVTM_OK;
}

cvtm_status cli_set_within(cli_options *options, const cli_value *value, cvtm_error *error) {
  (void)error;
  return add_region(value, options->text.within.count, &options->run.condition.within);
}

cvtm_status cli_set_obstacle(cli_options *options, const cli_value *value, cvtm_error *error) {
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

/* Parses FILE=FACTOR; the name of the region ends before the last `=`. */
static cvtm_status parse_weight(cli_options *options, const char *text, cvtm_region_weight *weight,
                                cvtm_error *error) {
  const char *equals = strrchr(text, '=');
  if (equals == NULL || equals == text || !run_numbers_parse(equals + 1, 1, &weight->factor))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--weight: '%s' is not FILE=FACTOR", text);
  const size_t length = (size_t)(equals - text);
  char *name = cli_options_keep(options, length + 1);
  if (name == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  memcpy(name, text, length);
  name[length] = '\0';
  weight->region = (cvtm_input){name, NULL};
  return CVTM_OK;
}

cvtm_status cli_set_weight(cli_options *options, const cli_value *value, cvtm_error *error) {
  cvtm_run_weights *weights = &options->run.condition.weight;
  const cli_part *parts = value->parts;
  weights->count = options->text.weight.count;
  cvtm_region_weight *last = &weights->item[weights->count - 1];
  if (value->count != 2 || parts[0].word == NULL || parts[1].word != NULL)
    return parse_weight(options, value->text, last, error);
  *last = (cvtm_region_weight){{parts[0].word, parts[0].array}, parts[1].number};
  return CVTM_OK;
}

static int disc_of(const cli_value *value, cvtm_disc *disc) {
  double numbers[3];
  if (!numbers_of(value, 3, numbers)) return 0;
  *disc = (cvtm_disc){numbers[0], numbers[1], numbers[2]};
  return 1;
}

static cvtm_status add_disc(const char *name, const cli_value *value, int count,
                            cvtm_run_discs *discs, cvtm_error *error) {
  discs->count = count;
  if (disc_of(value, &discs->item[count - 1])) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not X,Y,RADIUS", name, value->text);
}

cvtm_status cli_set_inside(cli_options *options, const cli_value *value, cvtm_error *error) {
  return add_disc("inside", value, options->text.inside.count, &options->run.segment.inside, error);
}

cvtm_status cli_set_outside(cli_options *options, const cli_value *value, cvtm_error *error) {
  return add_disc("outside", value, options->text.outside.count, &options->run.segment.outside,
                  error);
}

cvtm_status cli_set_initial(cli_options *options, const cli_value *value, cvtm_error *error) {
  (void)error;
  options->run.segment.how.first_region = (cvtm_input){NULL, NULL};
  if (strcmp(value->text, "grow") == 0) {
    options->run.segment.how.first = CVTM_FIRST_CURVE_GROW;
  } else if (strcmp(value->text, "image") == 0) {
    options->run.segment.how.first = CVTM_FIRST_CURVE_IMAGE;
  } else if (disc_of(value, &options->run.segment.how.first_disc)) {
    options->run.segment.how.first = CVTM_FIRST_CURVE_DISC;
  } else {
    options->run.segment.how.first = CVTM_FIRST_CURVE_REGION;
    options->run.segment.how.first_region = source_of(value);
  }
  return CVTM_OK;
}

cvtm_status cli_set_layers(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const cli_choice layers[] = {
      {"density", CVTM_PICTURE_DENSITY},       {"cells", CVTM_PICTURE_CELLS},
      {"cell-edges", CVTM_PICTURE_CELL_EDGES}, {"triangles", CVTM_PICTURE_TRIANGLES},
      {"mesh-edges", CVTM_PICTURE_MESH_EDGES}, {"sites", CVTM_PICTURE_SITES},
      {"stipples", CVTM_PICTURE_STIPPLES},     {NULL, 0}};
  options->run.layers = 0;
  for (const char *name = value->text;; ++name) {
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

cvtm_status cli_set_dot_size(cli_options *options, const cli_value *value, cvtm_error *error) {
  if (lengths_of(value, &options->run.dot_size)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--dot-size: '%s' is neither a diameter above 0 nor MIN,MAX", value->text);
}

/* Parses WIDTHxHEIGHT, perhaps followed by mm. */
static int parse_sides(const char *text, double *sides) {
  int end = 0;
  char by;
  return sscanf(text, "%lf%c%lf%n", &sides[0], &by, &sides[1], &end) == 3 && by == 'x' &&
         (text[end] == '\0' || strcmp(text + end, "mm") == 0);
}

/* Applies one word of --page. */
static int set_page_word(cli_options *options, const char *word) {
  const struct {
    const char *name;
    int *field, value;
  } words[] = {
      {"portrait", (int *)&options->run.page.orientation, CVTM_RUN_PAGE_PORTRAIT},
      {"landscape", (int *)&options->run.page.orientation, CVTM_RUN_PAGE_LANDSCAPE},
      {"fill", &options->run.page.fill, 1},
  };
  double *width = &options->run.page.width, *height = &options->run.page.height, sides[2];
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    if (strcmp(words[k].name, word) != 0) continue;
    *words[k].field = words[k].value;
    return 1;
  }
  options->run.page.is_format = cvtm_run_page_format(word, width, height);
  if (options->run.page.is_format) return 1;
  if (!parse_sides(word, sides) || !(sides[0] > 0 && sides[1] > 0)) return 0;
  *width = sides[0];
  *height = sides[1];
  return 1;
}

cvtm_status cli_set_page(cli_options *options, const cli_value *value, cvtm_error *error) {
  double sides[2];
  char word[64];
  options->run.page.fill = 0;
  options->run.page.orientation = CVTM_RUN_PAGE_AUTO;
  if (value->parts != NULL && numbers_of(value, 2, sides) && sides[0] > 0 && sides[1] > 0) {
    options->run.page.width = sides[0];
    options->run.page.height = sides[1];
    return CVTM_OK;
  }
  for (const char *text = value->text;; ++text) {
    const size_t length = strcspn(text, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    if (length >= sizeof word || !set_page_word(options, word))
      return cvtm_fail(
          error, CVTM_ERROR_ARGUMENT,
          "--page: '%s' is neither A0 to A6, letter, legal, tabloid nor WIDTHxHEIGHT in mm, with "
          "portrait, landscape or fill after a comma",
          value->text);
    text += length;
    if (*text == '\0') return CVTM_OK;
  }
}

cvtm_status cli_set_pen(cli_options *options, const cli_value *value, cvtm_error *error) {
  if (lengths_of(value, &options->run.pen) && options->run.pen.count == 1) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--pen: '%s' is not a width above 0", value->text);
}

cvtm_status cli_set_pixel_size(cli_options *options, const cli_value *value, cvtm_error *error) {
  cvtm_run_lengths *size = &options->run.world.pixel_size;
  options->run.world.from_file = strcmp(value->text, "file") == 0;
  size->count = 0;
  if (options->run.world.from_file || lengths_of(value, size)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--pixel-size: '%s' is neither a length nor `file`",
                   value->text);
}

cvtm_status cli_set_origin(cli_options *options, const cli_value *value, cvtm_error *error) {
  if (lengths_of(value, &options->run.world.origin)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--origin: '%s' is not X,Y", value->text);
}

/* Parses N=REST: returns N, from 1 to `most`, and sets *rest to REST. 0: another form. */
static int32_t parse_region(const char *value, long most, const char **rest) {
  char *end;
  if (!(*value >= '1' && *value <= '9')) return 0;
  errno = 0;
  const long region = strtol(value, &end, 10);
  *rest = end + 1;
  return errno == 0 && *end == '=' && region <= most ? (int32_t)region : 0;
}

/* The region given by the first of two parts; 0 if it is none. */
static int32_t region_of(const cli_value *value, int32_t most) {
  const double number = value->parts[0].number;
  const int is_region = value->count == 2 && is_number(value, 0) && number == floor(number) &&
                        number >= 1 && number <= most;
  return is_region ? (int32_t)number : 0;
}

cvtm_status cli_set_region_name(cli_options *options, const cli_value *value, cvtm_error *error) {
  cvtm_run_region_names *names = &options->run.domain.region_names;
  const char *name = NULL;
  const int32_t region =
      value->parts != NULL ? region_of(value, 1 << 24) : parse_region(value->text, 1 << 24, &name);
  names->count = options->text.region_names.count;
  if (value->count == 2) name = value->parts[1].word;
  names->item[names->count - 1] = (cvtm_region_name){region, name};
  if (region > 0 && name != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--region-name: '%s' is not N=NAME, with a name of letters, digits, _ and -",
                   value->text);
}

/* Parses a number, perhaps followed by the square of a unit of length: 4mm2, 4mm^2. */
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

cvtm_status cli_set_max_area(cli_options *options, const cli_value *value, cvtm_error *error) {
  cvtm_run_areas *areas = &options->run.refine.max_area;
  const char *area = value->text;
  int has_region = strchr(area, '=') != NULL, has_area;
  areas->count = options->text.max_area.count;
  cvtm_run_area *last = &areas->item[areas->count - 1];
  *last = (cvtm_run_area){.unit = CVTM_RUN_UNIT_NONE};
  if (value->parts != NULL) {
    has_region = value->count > 1;
    last->region = region_of(value, INT32_MAX);
    const cli_part *part = &value->parts[value->count - 1];
    last->area = part->number;
    has_area = part->word != NULL ? parse_area(part->word, last) : last->area > 0;
  } else {
    last->region = has_region ? parse_region(area, INT32_MAX, &area) : 0;
    has_area = parse_area(area, last);
  }
  if ((!has_region || last->region > 0) && has_area) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--max-area: '%s' is neither AREA nor REGION=AREA",
                   value->text);
}

/* Sets A,B or, if the second number is optional, A. form: as in "LAMBDA[,P]". */
static cvtm_status set_pair(const char *name, const char *form, const cli_value *value,
                            const double (*range)[2], double *first, double *second,
                            cvtm_error *error) {
  double found[2] = {*first, *second};
  const int alone = strchr(form, '[') != NULL && numbers_of(value, 1, found);
  if (!alone && !numbers_of(value, 2, found))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: '%s' is not %s", name, value->text, form);
  for (int k = 0; k < 2 - alone; ++k)
    if (found[k] < range[k][0] || found[k] > range[k][1])
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--%s: %g is not between %g and %g", name,
                       found[k], range[k][0], range[k][1]);
  *first = found[0];
  *second = found[1];
  return CVTM_OK;
}

cvtm_status cli_set_levels(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const double range[][2] = {{-2, 1}, {0, 1}};
  return set_pair("levels", "BLACK,WHITE", value, range, &options->run.black, &options->run.white,
                  error);
}

cvtm_status cli_set_picture_widths(cli_options *options, const cli_value *value,
                                   cvtm_error *error) {
  static const double range[][2] = {{1e-9, 1e9}, {1e-9, 1e9}};
  double *widths = options->sphere.picture_widths;
  return set_pair("picture-widths", "BLACK,WHITE", value, range, widths, widths + 1, error);
}

cvtm_status cli_set_globe_view(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const double range[][2] = {{-360, 360}, {-90, 90}};
  double *view = options->sphere.view;
  return set_pair("view", "LON,LAT", value, range, view, view + 1, error);
}

cvtm_status cli_set_smooth(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const double range[][2] = {{0, 1e12}, {1e-9, 1 - 1e-9}};
  return set_pair("smooth", "LAMBDA[,P]", value, range, &options->run.condition.how.smooth,
                  &options->run.condition.how.bias, error);
}

cvtm_status cli_set_grade(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const double range[][2] = {{0, 1e12}, {0, HUGE_VAL}};
  return set_pair("grade", "LAMBDA[,MAX]", value, range, &options->run.condition.how.grade,
                  &options->run.condition.how.grade_max, error);
}

cvtm_status cli_set_ranks(cli_options *options, const cli_value *value, cvtm_error *error) {
  double count = 0;
  const int is_mpi = strcmp(value->text, "mpi") == 0;
  if (!is_mpi &&
      (!numbers_of(value, 1, &count) || count != floor(count) || count < 0 || count > 4096))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "--ranks: '%s' is neither mpi nor a number between 0 and 4096", value->text);
  /* A process started by `--ranks N` has `--ranks mpi` before that option. */
  options->distributed |= is_mpi;
  options->ranks = options->distributed ? 0 : (int64_t)count;
  return CVTM_OK;
}

cvtm_status cli_set_plot_time(cli_options *options, const cli_value *value, cvtm_error *error) {
  static const struct {
    const char *name;
    double seconds;
  } units[] = {{"h", 3600}, {"min", 60}, {"s", 1}};
  const double most = 1e9;
  const char *at = value->text;
  double seconds = 0;
  for (size_t k = 0; k < sizeof units / sizeof units[0]; ++k) {
    const size_t length = strlen(units[k].name);
    char *unit;
    const double number = strtod(at, &unit);
    if (unit == at || !(number >= 0) || strncmp(unit, units[k].name, length) != 0) continue;
    seconds += number * units[k].seconds;
    at = unit + length;
  }
  seconds = round(seconds);
  if (*at == '\0' && seconds >= 1 && seconds <= most) {
    options->run.points = -(int64_t)seconds; /* see cvtm_run_options.points */
    return CVTM_OK;
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "--points: '%s' is neither a whole number like 5000 or 5k nor a time like 2h or "
                   "1h30min",
                   value->text);
}
