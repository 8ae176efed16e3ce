/* The options of a run: their defaults, the parsing of their texts, presets and previews. */
#include "run/options.h"

#include "base/clock.h"
#include "cvt/classes.h"
#include "density/condition.h"
#include "density/segmentation.h"
#include "run/budget.h"
#include "run/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cvtm_run_defaults(cvtm_run_options *options) {
  cvtm_cvt_options cvt;
  cvtm_cvt_defaults(&cvt);
  cvtm_density_options density;
  cvtm_density_defaults(&density);
  cvtm_classes_options classes;
  cvtm_classes_defaults(&classes);
  *options = (cvtm_run_options){
      .format = "csv",
      .keep = 1,
      .measure = 1,
      .element_order = 1,
      .svg = CVTM_SVG_STIPPLES,
      .dot_size.unit = CVTM_RUN_UNIT_NONE,
      .pen.unit = CVTM_RUN_UNIT_NONE,
      .world = {.pixel_size.unit = CVTM_RUN_UNIT_NONE, .origin.unit = CVTM_RUN_UNIT_NONE},
      .overlap = 1,
      .colours.coupling = classes.union_weight,
      .page = {.margin = 10},
      .method = cvt.method,
      .energy = cvt.energy,
      .voronoi = CVTM_VORONOI_EXACT,
      .start = cvt.start,
      .effort = cvt.effort,
      .iterations = cvt.max_iterations,
      .seed = 1,
      .tolerance = cvt.tolerance,
      .gradient_tolerance = cvt.gradient_tolerance,
      .time_limit = cvt.max_seconds,
      .checkpoint.every = 600,
      .equal_mass.tolerance = 1e-6,
      .density_from = density.from,
      .gamma = density.gamma,
      .floor = density.floor,
      .black = density.black,
      .white = density.white,
      .contrast = density.contrast,
      .domain = {.smallest = 1, .tolerance = 0.3},
      .refine.min_angle = 30,
      .outline = {.metric_ratio = 100},
  };
  cvtm_condition_defaults(&options->condition.how);
  cvtm_segmentation_defaults(&options->segment.how);
  options->segment.how.sigma = 1;
}

unsigned run_given_bit(const char *option) {
  static const char *const names[] = {
#define RUN_GIVEN_NAME(code, bit, name) [bit] = (name),
      CVTM_RUN_GIVEN_LIST(RUN_GIVEN_NAME)
#undef RUN_GIVEN_NAME
  };
  for (unsigned k = 0; k < sizeof names / sizeof names[0]; ++k)
    if (strcmp(names[k], option) == 0) return 1U << k;
  return 0;
}

unsigned run_given(const cvtm_run_options *o) {
  cvtm_run_options d;
  cvtm_run_defaults(&d);
  const struct {
    int differs;
    unsigned bit;
  } values[] = {{o->checkpoint.every != d.checkpoint.every, CVTM_RUN_GIVEN_CHECKPOINT_EVERY},
                {o->density_from != d.density_from, CVTM_RUN_GIVEN_DENSITY_FROM},
                {o->effort != d.effort, CVTM_RUN_GIVEN_EFFORT},
                {o->gradient_tolerance != d.gradient_tolerance, CVTM_RUN_GIVEN_GRADIENT_TOLERANCE},
                {o->iterations != d.iterations, CVTM_RUN_GIVEN_ITERATIONS},
                {o->equal_mass.tolerance != d.equal_mass.tolerance, CVTM_RUN_GIVEN_MASS_TOLERANCE},
                {o->method != d.method, CVTM_RUN_GIVEN_METHOD},
                {o->refine.min_angle != d.refine.min_angle, CVTM_RUN_GIVEN_MIN_ANGLE},
                {o->preset != d.preset, CVTM_RUN_GIVEN_PRESET},
                {o->svg != d.svg, CVTM_RUN_GIVEN_SVG},
                {o->time_limit != d.time_limit, CVTM_RUN_GIVEN_TIME_LIMIT},
                {o->tolerance != d.tolerance, CVTM_RUN_GIVEN_TOLERANCE},
                {o->outline.simplify != d.outline.simplify, CVTM_RUN_GIVEN_SIMPLIFY},
                {o->outline.metric_ratio != d.outline.metric_ratio, CVTM_RUN_GIVEN_METRIC_RATIO},
                {o->order != d.order, CVTM_RUN_GIVEN_ORDER}};
  unsigned given = o->given;
  for (size_t k = 0; k < sizeof values / sizeof values[0]; ++k)
    if (values[k].differs) given |= values[k].bit;
  return given;
}

cvtm_run_options run_options_of_file(const cvtm_run_options *options, const char *path,
                                     const cvtm_run_options *kind) {
  cvtm_run_options made = *options;
  made.format = kind->format;
  made.layers = kind->layers;
  made.picture_size = kind->picture_size;
  made.ascii = kind->ascii;
  made.binary = kind->binary;
  made.msh_version = kind->msh_version;
  made.inp_elements = kind->inp_elements;
  made.compression = kind->compression;
  made.element_order = kind->element_order;
  made.unit = kind->unit;
  made.given = kind == options ? kind->given : run_given(kind);
  made.svg = kind->svg;
  if (kind->dots != CVTM_RUN_DOTS_AUTO) made.dots = kind->dots;
  made.dot_size = kind->dot_size;
  made.pen = kind->pen;
  made.pen_is_chosen = 0;
  made.overlap = kind->overlap;
  made.dark = kind->dark;
  made.page = kind->page;
  made.output = (cvtm_run_list){{path}, 1};
  made.density_out = made.report = NULL;
  made.equal_mass.weights_out = made.domain.pairs_out = NULL;
  return made;
}

int run_is_over(const void *limit) {
  const run_limit *l = limit;
  return run_interrupted(l->options) || (l->deadline > 0 && cvtm_clock() >= l->deadline);
}

/* --- numbers in text --- */

const char *run_number_text(double value, char text[RUN_NUMBER_TEXT]) {
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, RUN_NUMBER_TEXT, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

int run_numbers_parse(const char *text, int count, double *numbers) {
  for (int k = 0; k < count; ++k) {
    char *end;
    numbers[k] = strtod(text, &end);
    if (end == text || !isfinite(numbers[k]) || *end != (k + 1 < count ? ',' : '\0')) return 0;
    text = end + 1;
  }
  return 1;
}

/* --- lengths --- */

static const struct {
  const char *name;
  double mm;
} units[] = {[CVTM_RUN_UNIT_PIXEL] = {"px", 0},
             [CVTM_RUN_UNIT_WIDTH] = {"width", 0},
#define UNIT_ROW(code, name, mm) [code] = {name, mm},
             CVTM_RUN_LENGTH_LIST(UNIT_ROW)};

double run_unit_mm(int unit) { return units[unit].mm; }

const char *run_unit_name(int unit) { return units[unit].name; }

cvtm_run_unit run_unit_find(const char *name) {
  if (strcmp(name, "\xc2\xb5m") == 0 || strcmp(name, "\xce\xbcm") == 0) name = "um";
  for (int k = 0; k < CVTM_RUN_UNIT_COUNT; ++k)
    if (k != CVTM_RUN_UNIT_WIDTH && strcmp(units[k].name, name) == 0) return (cvtm_run_unit)k;
  return CVTM_RUN_UNIT_NONE;
}

int run_lengths_parse(const char *text, cvtm_run_lengths *lengths) {
  *lengths = (cvtm_run_lengths){.unit = CVTM_RUN_UNIT_NONE};
  do {
    char *end;
    const double value = strtod(text, &end);
    if (end == text || !isfinite(value)) return 0;
    lengths->value[lengths->count++] = value;
    text = end;
  } while (lengths->count < 2 && *text == ',' && *++text != '\0');
  if (*text == '\0') return text[-1] != ',';
  lengths->unit = run_unit_find(text);
  return lengths->unit != CVTM_RUN_UNIT_NONE;
}

const char *run_lengths_text(const cvtm_run_lengths *lengths, char text[RUN_LENGTHS_TEXT]) {
  const char *unit = lengths->unit >= 0 ? run_unit_name(lengths->unit) : "";
  if (lengths->count == 2)
    snprintf(text, RUN_LENGTHS_TEXT, "%g,%g%s", lengths->value[0], lengths->value[1], unit);
  else
    snprintf(text, RUN_LENGTHS_TEXT, "%g%s", lengths->value[0], unit);
  return text;
}

int run_lengths_are_sizes(const cvtm_run_lengths *lengths) {
  const int is_known = lengths->unit >= CVTM_RUN_UNIT_NONE && lengths->unit < CVTM_RUN_UNIT_COUNT &&
                       lengths->unit != CVTM_RUN_UNIT_WIDTH;
  int positive = lengths->count == 1 || lengths->count == 2;
  for (int k = 0; positive && k < lengths->count; ++k)
    positive = isfinite(lengths->value[k]) && lengths->value[k] > 0;
  return is_known && positive;
}

/* --- the word that was meant ---------------------------------------------------------------- */

enum { LENGTH_MAX = 40 }; /* longer words resemble no name */

static int least(int a, int b) { return a < b ? a : b; }

/* The number of insertions, deletions, replacements and exchanges of neighbours that turn a into b,
 * with no part of the word edited twice (Damerau 1964). */
static int edit_distance(const char *a, const char *b) {
  const int m = (int)strlen(a), n = (int)strlen(b);
  int table[3][LENGTH_MAX + 1]; /* rows i - 2, i - 1 and i, modulo 3 */
  for (int j = 0; j <= n; ++j) table[0][j] = j;
  for (int i = 1; i <= m; ++i) {
    int *row = table[i % 3];
    const int *above = table[(i + 2) % 3], *above2 = table[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= n; ++j) {
      row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(row[j], 1 + least(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], above2[j - 2] + 1);
    }
  }
  return table[m % 3][n];
}

run_nearest run_nearest_start(const char *word) {
  const int length = (int)strnlen(word, LENGTH_MAX + 1);
  return (run_nearest){word, NULL, (length < 3 ? 1 : length / 3) + 1};
}

void run_nearest_offer(run_nearest *nearest, const char *candidate) {
  if (strlen(nearest->word) > LENGTH_MAX || strlen(candidate) > LENGTH_MAX) return;
  const int found = edit_distance(nearest->word, candidate);
  if (found >= nearest->distance) return;
  nearest->best = candidate;
  nearest->distance = found;
}

/* --- presets --- */

void run_preset_apply(cvtm_run_options *o) {
  run_preview_apply(o);
  run_touches_choose(o);
  if (o->preset != CVTM_RUN_PRESET_PAPER) return;
  o->energy = CVTM_CVT_PIXEL;
  o->voronoi = CVTM_VORONOI_JFA;
  o->start = CVTM_CVT_START_RANDOM;
  if (!(o->given & CVTM_RUN_GIVEN_EFFORT)) o->effort = CVTM_CVT_EFFORT_LOW;
  if (!(o->given & CVTM_RUN_GIVEN_TOLERANCE)) o->tolerance = 0;
}

void run_preset_descent(const cvtm_run_options *options, cvtm_cvt_options *settings) {
  if (options->preset != CVTM_RUN_PRESET_PAPER) return;
  settings->history = 8;
  settings->lloyd_steps = 0;
}
