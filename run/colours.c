/* Pens, separation, and the number, positions and order of dots; colours_draw.c sizes the dots. */
#include "run/colours.h"

#include "base/file.h"
#include "base/host.h"
#include "base/srgb.h"
#include "base/text.h"
#include "run/budget.h"
#include "run/input.h"
#include "run/line.h"
#include "run/options.h"
#include "run/output.h"
#include "run/stages.h"
#include "run/json.h"
#include "meshes/mesh_file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- pens ----------------------------------------------------------------------------------- */

static void run_pens_cmyk(run_pens *pens) {
  static const char *const names[] = {"cyan", "magenta", "yellow", "black"};
  memset(pens, 0, sizeof *pens);
  cvtm_inks_cmyk(&pens->inks);
  for (int k = 0; k < pens->inks.count; ++k) {
    snprintf(pens->pen[k].name, CVTM_PEN_NAME, "%s", names[k]);
    for (int c = 0; c < 3; ++c)
      pens->pen[k].colour[c] =
          (unsigned char)lround(255 * cvtm_linear_to_srgb(pens->inks.colour[k][c]));
  }
}

/* --- the file of --colours --- */

static int is_printable(const char *text) {
  size_t length = 1;
  for (; *text != '\0' && length > 0; text += length) {
    const int is_control = (unsigned char)*text < 0x20 || *text == 0x7f;
    length = is_control ? 0 : run_character_length(text);
  }
  return length > 0;
}

static cvtm_status set_colour(run_pens *pens, int k, const cvtm_pairs *line) {
  for (int c = 0; c < 3; ++c) {
    const char pair[3] = {line->value[2 * c + 1], line->value[2 * c + 2], '\0'};
    const int byte = (int)strtol(pair, NULL, 16);
    pens->pen[k].colour[c] = (unsigned char)byte;
    pens->inks.colour[k][c] = cvtm_srgb_to_linear(byte / 255.0);
  }
  if (pens->pen[k].colour[0] + pens->pen[k].colour[1] + pens->pen[k].colour[2] == 3 * 255)
    return cvtm_pairs_fail(line, "a white ink does not show on white paper");
  return CVTM_OK;
}

/* The number of hexadecimal digits at the start. */
static size_t count_digits(const char *text) {
  size_t count = 0;
  while (isxdigit((unsigned char)text[count])) ++count;
  return count;
}

static cvtm_status set_size(run_pens *pens, int k, const char *text, const cvtm_pairs *line) {
  cvtm_run_lengths *size = &pens->size[k];
  if (!run_lengths_parse(text, size) || !run_dot_size_is_valid(size))
    return cvtm_pairs_fail(line, "the size of dots must be a diameter or MIN,MAX");
  pens->width[k] = (cvtm_run_lengths){{size->value[0], 0}, 1, size->unit};
  return CVTM_OK;
}

static cvtm_status read_pen(run_pens *pens, const cvtm_pairs *line) {
  char *name = line->name, *value = line->value;
  if (value == NULL) return cvtm_pairs_fail(line, "this is not of the form name = #rrggbb");
  const int k = pens->inks.count;
  if (k == CVTM_INKS_MAX) return cvtm_pairs_fail(line, "more than 16 pens");
  if (*name == '\0' || strlen(name) >= CVTM_PEN_NAME || !is_printable(name))
    return cvtm_pairs_fail(line, "the name of a pen must be UTF-8 text of 1 to 63 bytes");
  for (int j = 0; j < k; ++j)
    if (strcmp(pens->pen[j].name, name) == 0)
      return cvtm_pairs_fail(line, "an earlier pen has this name");
  if (value[0] != '#' || count_digits(value + 1) != 6 || strchr(" \t", value[7]) == NULL)
    return cvtm_pairs_fail(line, "a colour must have the form #rrggbb");
  snprintf(pens->pen[k].name, CVTM_PEN_NAME, "%s", name);
  cvtm_status status = set_colour(pens, k, line);
  const char *size = cvtm_trim(value + 7);
  if (status == CVTM_OK && *size != '\0') status = set_size(pens, k, size, line);
  pens->inks.count = k + 1;
  return status;
}

cvtm_status run_pens_parse(const char *text, size_t size, const char *name, run_pens *pens,
                           cvtm_error *error) {
  memset(pens, 0, sizeof *pens);
  char *copy = malloc(size + 1);
  if (copy == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  memcpy(copy, text, size);
  copy[size] = '\0';
  cvtm_status status = CVTM_OK;
  if (strlen(copy) != size) status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: not text", name);
  cvtm_pairs lines = {.next = copy, .file = name, .error = error};
  while (status == CVTM_OK && cvtm_pairs_take(&lines)) status = read_pen(pens, &lines);
  free(copy);
  if (status == CVTM_OK && pens->inks.count == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the file has no pens", name);
  return status;
}

cvtm_status run_pens_open(const cvtm_run_options *o, run_pens *pens, cvtm_error *error) {
  enum { LIMIT = 1 << 20 };
  const char *path = o->colours.pens;
  unsigned char *bytes;
  size_t size;
  if (path == NULL) return CVTM_OK;
  cvtm_status status = cvtm_text_read(path, LIMIT, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  status = run_pens_parse((const char *)bytes, size, name, pens, error);
  free(bytes);
  return status;
}

void run_pens_use(const run_pens *pens, cvtm_run_options *o) {
  if (o->pen.count > 0 || o->colours.pens == NULL) return;
  for (int k = 0; k < pens->inks.count; ++k)
    if (pens->size[k].count == 0) return;
  o->pen = pens->width[0];
}

cvtm_run_options run_options_of_pen(const cvtm_run_options *options, const run_pens *pens, int k) {
  cvtm_run_options own = *options;
  if (pens->size[k].count == 0) return own;
  own.dot_size = pens->size[k];
  if (own.pen.count > 0) own.pen = pens->width[k];
  return own;
}

/* --- choice of inks --- */

/* Chooses at most `count` inks for a picture (cvtm_inks_choose). */
static cvtm_status run_pens_choose(const float *rgb, int64_t pixels, int count, run_pens *pens,
                                   cvtm_error *error) {
  memset(pens, 0, sizeof *pens);
  const cvtm_status status = cvtm_inks_choose(rgb, pixels, count, &pens->inks, error);
  if (status != CVTM_OK) return status;
  for (int k = 0; k < pens->inks.count; ++k) {
    cvtm_pen *pen = &pens->pen[k];
    for (int c = 0; c < 3; ++c) {
      pen->colour[c] = (unsigned char)lround(255 * cvtm_linear_to_srgb(pens->inks.colour[k][c]));
      pens->inks.colour[k][c] = cvtm_srgb_to_linear(pen->colour[c] / 255.0);
    }
    snprintf(pen->name, CVTM_PEN_NAME, "#%02x%02x%02x", pen->colour[0], pen->colour[1],
             pen->colour[2]);
  }
  return CVTM_OK;
}

int run_colours_wanted(const cvtm_run_options *o) {
  return o->colours.cmyk || o->colours.pens != NULL || o->colours.palette > 0;
}

/* --- checks --- */

/* The first given option that drawings in several colours do not support; NULL: none. */
static const char *option_against(const cvtm_run_options *o) {
  const struct {
    int is_set;
    const char *name;
  } table[] = {
      {o->invert, "invert"},
      {o->dark, "dark"},
      {o->domain.kind != 0, "domain"},
      {o->equal_mass.on, "equal-mass"},
      {o->init.name != NULL, "init"},
      {o->fixed.name != NULL, "fixed"},
      {o->noise != CVTM_RUN_NOISE_HEXAGONAL, "noise blue"},
      {o->size.from.name != NULL, "size-from"},
      {o->dots == CVTM_RUN_DOTS_TONE, "dots tone"},
      {(o->given & CVTM_RUN_GIVEN_DENSITY_FROM), "density-from"},
      {o->preset != (int)CVTM_RUN_PRESET_NONE, "preset"},
      {o->live, "watch"},
      {o->floor > 0, "floor"},
      {o->condition.how.smooth > 0, "smooth"},
      {o->condition.how.grade > 0, "grade"},
      {o->condition.how.grade_size > 0, "grade-size"},
      {o->condition.weight.count > 0, "weight"},
      {o->density_out != NULL, "density-out"},
      {o->layers != 0, "layers"},
      {o->iterations == 0, "iterations 0"},
  };
  for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
    if (table[k].is_set) return table[k].name;
  return NULL;
}

static int shows_colours(const cvtm_run_options *o, const char *path) {
  switch (run_output_kind_of(o, path)) {
    case RUN_OUTPUT_MESH:
      return 0;
    case RUN_OUTPUT_POINTS:
      return cvtm_format_has(run_output_format(o, path), CVTM_HOLDS_CLASSES);
    case RUN_OUTPUT_DRAWING:
      return run_page_shows_points(o, path);
    default:
      return 1;
  }
}

cvtm_status run_colours_check(const cvtm_run_options *o, cvtm_error *error) {
  if (!run_colours_wanted(o)) return CVTM_OK;
  const char *against = option_against(o);
  if (against != NULL)
    return run_usage_error(error, "--%s cannot be used for a drawing in several colours", against);
  for (int k = 0; k < o->output.count; ++k)
    if (!shows_colours(o, o->output.item[k]))
      return run_usage_error(
          error,
          "%s: several colours can be written as csv, npy, png, svg of stipples or paths, or for"
          " a pen machine",
          o->output.item[k]);
  return CVTM_OK;
}

/* --- reading --- */

static int64_t count_canvas_pixels(const run_colours *c) {
  return (int64_t)c->domain.width * c->domain.height;
}

static cvtm_status find_pens(const cvtm_run_options *o, run_colours *c, cvtm_error *error) {
  if (o->colours.pens != NULL) return CVTM_OK; /* see run_pens_open */
  if (o->colours.cmyk) {
    run_pens_cmyk(&c->pens);
    return CVTM_OK;
  }
  const cvtm_status status =
      run_pens_choose(c->rgb, count_canvas_pixels(c), (int)o->colours.palette, &c->pens, error);
  return run_name_file(o->input.name, status, error);
}

static cvtm_status separate(run_colours *c, cvtm_error *error) {
  for (int k = 0; k < c->count; ++k) {
    c->coverage[k] = malloc((size_t)count_canvas_pixels(c) * sizeof *c->coverage[k]);
    if (c->coverage[k] == NULL) return cvtm_no_memory(error, "the colours of a drawing");
  }
  return cvtm_inks_separate(&c->pens.inks, c->rgb, count_canvas_pixels(c), c->coverage, error);
}

/* Counts the dots that the inks need. amount[k]: the number for pen k; *all: the sum. */
static cvtm_status count_dots(const cvtm_run_options *o, const run_colours *c, double *amount,
                              run_dot_count *all, cvtm_error *error) {
  const double most = 1e9;
  *all = (run_dot_count){.smallest = INFINITY};
  for (int k = 0; k < c->count; ++k) {
    const cvtm_run_options own = run_options_of_pen(o, &c->pens, k);
    run_dot_count found;
    const cvtm_status status = run_stipples_count(&own, c->domain, c->coverage[k], &found, error);
    if (status != CVTM_OK) return status;
    amount[k] = found.ink > 0 ? found.count : 0;
    all->count += amount[k];
    all->smallest = fmin(all->smallest, found.smallest);
    all->largest = fmax(all->largest, found.largest);
    all->ink += found.ink;
    all->mm_per_pixel = found.mm_per_pixel;
    all->is_default = own.dot_size.count == 0;
  }
  if (all->count > most && o->points == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the inks need %.3g dots of these sizes; at most %g are possible",
                     o->input.name, all->count, most);
  if (!(all->count > 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pen draws any colour of the picture",
                     o->input.name);
  return CVTM_OK;
}

int run_colours_have_sizes(const cvtm_run_options *options, const run_colours *c) {
  for (int k = 0; k < c->count; ++k) {
    const cvtm_run_options own = run_options_of_pen(options, &c->pens, k);
    if (own.dot_size.count == 0 || run_dot_ratio(&own) < 1) return 0;
  }
  return 1;
}

/* Chooses the tones that -n dots of one size can show, and reduces the inks by these or by given
 * tones. Replaces the picture by the colours of the remaining inks. */
static cvtm_status choose_tones(cvtm_run_options *o, run_colours *c, double *amount,
                                run_dot_count *all, cvtm_error *error) {
  const int64_t pixels = count_canvas_pixels(c);
  if (!run_tones_thin_inks(o)) return CVTM_OK;
  float *light = malloc((size_t)pixels * sizeof *light);
  if (light == NULL) return cvtm_no_memory(error, "the tones of a drawing");
  for (int64_t p = 0; p < pixels; ++p)
    light[p] =
        0.2126F * c->rgb[p] + 0.7152F * c->rgb[pixels + p] + 0.0722F * c->rgb[2 * pixels + p];
  cvtm_status status = run_budget_choose_colours(o, c->domain, light, c->coverage, &c->pens, error);
  if (status == CVTM_OK && run_tones_thin(o, c->domain, light, c->coverage, c->count))
    run_colours_mix(c, c->rgb);
  if (status == CVTM_OK) status = count_dots(o, c, amount, all, error);
  free(light);
  return status;
}

/* Sets c->points of pen k: of dots of one size, which overlap in dark places, and of a line. found:
 * as for run_line_correct. */
static cvtm_status place_by_ink(cvtm_run_options *own, run_colours *c, int k, run_dot_count *found,
                                cvtm_error *error) {
  const int64_t pixels = count_canvas_pixels(c);
  cvtm_ink piece;
  int is_even;
  CVTM_TRY(run_ink_find(own, c->domain, &piece, &is_even, error));
  if (!is_even || own->points < 1) return CVTM_OK;
  float *rho = c->points[k] = malloc((size_t)pixels * sizeof *rho);
  if (rho == NULL) return cvtm_no_memory(error, "the colours of a drawing");
  for (int64_t p = 0; p < pixels; ++p) rho[p] = c->coverage[k][p] * c->coverage[k][p];
  CVTM_TRY(run_line_correct(own, c->domain, found, c->coverage[k], rho, error));
  CVTM_TRY(cvtm_density_of_local_mean(c->domain, (double)own->points, &piece, rho, error));
  for (int64_t p = 0; p < pixels; ++p) rho[p] = sqrtf(rho[p]);
  return CVTM_OK;
}

/* Sets c->points, and the numbers of points of lines if these follow the inks. */
static cvtm_status place_pens(cvtm_run_options *o, run_colours *c, double *amount,
                              run_dot_count *all, cvtm_error *error) {
  const double share = (double)o->points / all->count; /* of the points that the inks need */
  const int64_t asked = o->preview.asked > 0 ? o->preview.asked : o->points;
  const double ink = (double)asked / all->count * all->ink; /* larger dots of a preview keep it */
  const double most_ink = 0.5;
  const int is_line = run_page_shows_line(o);
  const int counts = is_line && share == 1 && o->preview.asked == 0;
  /* The inks of dots that keep a distance overlap less than in the model of cvtm_inks_mix. Where
   * they cover much of the paper and their sizes are given, the picture would become dark. */
  if ((is_line || run_colours_have_sizes(o, c)) && ink > most_ink) o->colours.coupling = 0;
  for (int k = 0; k < c->count; ++k) {
    cvtm_run_options own = run_options_of_pen(o, &c->pens, k);
    run_dot_count found = {.count = counts ? amount[k] : 0};
    own.points = (int64_t)round(share * amount[k]);
    own.preview.asked = (int64_t)round((double)o->preview.asked * amount[k] / all->count);
    own.time_limit = o->time_limit / c->count;
    CVTM_TRY(place_by_ink(&own, c, k, &found, error));
    if (counts) all->count += found.count - amount[k];
    if (counts) amount[k] = found.count;
  }
  if (counts) o->points = (int64_t)fmax(round(all->count), 1);
  return CVTM_OK;
}

cvtm_status run_colours_read(cvtm_run_options *o, cvtm_domain domain, float *rgb, run_colours *c,
                             run_dot_count *dots, cvtm_error *error) {
  double amount[CVTM_INKS_MAX];
  run_dot_count all;
  const int counts = o->points == 0;
  *c = (run_colours){.pens = c->pens, .domain = domain, .rgb = rgb};
  cvtm_status status = find_pens(o, c, error);
  if (status != CVTM_OK) return status;
  c->count = c->pens.inks.count;
  status = separate(c, error);
  if (status == CVTM_OK) status = count_dots(o, c, amount, &all, error);
  if (status == CVTM_OK) status = choose_tones(o, c, amount, &all, error);
  if (status == CVTM_OK && counts) {
    o->points = (int64_t)all.count;
    run_preview_limit(o);
  }
  if (status == CVTM_OK) status = place_pens(o, c, amount, &all, error);
  if (status == CVTM_OK && counts) *dots = all;
  /* The points are distributed in the ratio of the dots that the inks need. */
  return status == CVTM_OK ? cvtm_classes_share(amount, c->count, o->points, c->start, error)
                           : status;
}

/* --- positions and order --- */

cvtm_status run_colours_solve(const cvtm_run_options *o, cvtm_device *device,
                              const cvtm_cvt_options *descent, cvtm_cvt **plan, run_colours *c,
                              double *sites) {
  const cvtm_classes_options options = {
      .union_weight = o->colours.coupling, .cvt = *descent, .plan = plan};
  const float *density[CVTM_INKS_MAX];
  for (int k = 0; k < c->count; ++k)
    density[k] = c->points[k] != NULL ? c->points[k] : c->coverage[k];
  return cvtm_classes_solve(device, c->domain, density, c->count, c->start, &options, sites,
                            &c->solved);
}

cvtm_status run_colours_order(const cvtm_run_options *options, const run_colours *c,
                              double deadline, double *sites, run_point_order *order,
                              cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  *order = (run_point_order){0};
  if (options->order == CVTM_RUN_ORDER_NONE) return CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < c->count; ++k) {
    run_point_order own = {0};
    const int64_t count = c->start[k + 1] - c->start[k];
    double *first = sites + 2 * c->start[k];
    if (count == 0) continue;
    status = run_order_find(options, first, count, deadline, &own, error);
    if (status == CVTM_OK) status = run_order_apply(&own, count, 2, first, error);
    order->length += own.length;
    order->bound += own.bound;
    order->estimate += own.estimate;
    order->seconds += own.seconds;
    order->is_stopped |= own.is_stopped;
    run_order_free(order);
    order->order = own.order;
  }
  return status;
}

void run_colours_free(run_colours *c) {
  for (int k = 0; k < CVTM_INKS_MAX; ++k) {
    free(c->coverage[k]);
    free(c->points[k]);
  }
  free(c->rgb);
  free(c->radius);
  *c = (run_colours){0};
}

/* --- report --- */

static void report_likeness(const cvtm_colour_likeness *likeness, cJSON *part) {
  run_json_real(part, "mean", likeness->mean);
  run_json_real(part, "rms", likeness->rms);
  run_json_real(part, "contrast", likeness->luminance.contrast);
  run_json_real(part, "correlation", likeness->luminance.correlation);
  run_json_real(part, "ssim", likeness->luminance.ssim);
}

static void report_pen(const run_colours *c, int k, cJSON *list) {
  const run_pen_figures *f = &c->figures[k];
  char colour[8];
  snprintf(colour, sizeof colour, "#%02x%02x%02x", c->pens.pen[k].colour[0],
           c->pens.pen[k].colour[1], c->pens.pen[k].colour[2]);
  cJSON *part = run_json_item(list);
  run_json_text(part, "name", c->pens.pen[k].name);
  run_json_text(part, "colour", colour);
  run_json_integer(part, "sites", c->start[k + 1] - c->start[k]);
  run_json_real(part, "energy_ratio", c->solved.ratio[k]);
  run_json_real(part, "coverage_asked", f->asked);
  run_json_real(part, "coverage", f->drawn);
  if (c->is_measured) {
    run_json_real(part, "contrast", f->likeness.contrast);
    run_json_real(part, "correlation", f->likeness.correlation);
  }
  run_json_real(part, "nearest_least", f->nearest.least);
  run_json_real(part, "nearest_mean", f->nearest.mean);
  run_json_real(part, "smallest_dot", f->smallest);
  run_json_real(part, "largest_dot", f->largest);
}

void run_colours_report(const run_colours *c, cJSON *report) {
  if (c->count == 0) return;
  cJSON *list = cJSON_AddArrayToObject(report, "pens");
  for (int k = 0; k < c->count; ++k) report_pen(c, k, list);
  if (!c->is_measured) return;
  cJSON *part = cJSON_AddObjectToObject(report, "colour_error");
  report_likeness(&c->reached, part);
  run_json_real(part, "blur", c->blur);
  report_likeness(&c->possible, cJSON_AddObjectToObject(part, "of_inks"));
}
