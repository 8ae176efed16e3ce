/* Pens, separation, the numbers of dots, their places and their order; colours_draw.c sizes the
 * dots. */
#include "cli/colours.h"

#include "base/file.h"
#include "base/host_memory.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_colours_wanted(const cli_options *o) {
  return o->colours.cmyk || o->colours.pens != NULL || o->colours.palette > 0;
}

/* --- checks --- */

/* The option that keeps a drawing from several colours; NULL: none. */
static const char *option_against(const cli_options *o) {
  const struct {
    int is_set;
    const char *name;
  } table[] = {
      {o->invert, "--invert"},
      {o->view.dark, "--dark"},
      {o->domain.kind != 0, "--domain"},
      {o->equal_mass.on, "--equal-mass"},
      {o->init != NULL, "--init"},
      {o->fixed != NULL, "--fixed"},
      {o->noise != CLI_NOISE_HEXAGONAL, "--noise blue"},
      {o->size.from != NULL, "--size-from"},
      {o->dots == CLI_DOTS_TONE, "--dots tone"},
      {cli_option_given(o, "density-from"), "--density-from"},
      {o->energy != (int)CVTM_CVT_EXACT, "--energy pixel"},
      {o->preset != (int)CLI_PRESET_NONE, "--preset"},
      {o->view.watch != NULL, "--watch"},
      {o->floor > 0, "--floor"},
      {o->condition.smooth > 0, "--smooth"},
      {o->condition.grade > 0, "--grade"},
      {o->condition.grade_size > 0, "--grade-size"},
      {o->condition.weight.count > 0, "--weight"},
      {o->density_out != NULL, "--density-out"},
      {o->layers != NULL, "--layers"},
      {o->iterations == 0, "--iterations 0"},
  };
  for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
    if (table[k].is_set) return table[k].name;
  return NULL;
}

static int shows_colours(const cli_options *o, const char *path) {
  char buffer[8];
  const char *extension =
      strcmp(path, "-") == 0 ? o->format : cvtm_file_extension(path, buffer, sizeof buffer);
  switch (cli_output_kind_of(o, path)) {
    case CLI_OUTPUT_MESH:
      return 0;
    case CLI_OUTPUT_POINTS:
      return strcmp(extension, "xyz") != 0;
    case CLI_OUTPUT_SVG:
      return o->svg == CVTM_SVG_STIPPLES || o->svg == CVTM_SVG_PATH;
    default:
      return 1;
  }
}

int cli_colours_check(const cli_options *o) {
  const int sources = o->colours.cmyk + (o->colours.pens != NULL) + (o->colours.palette > 0);
  if (sources == 0) return CLI_EXIT_OK;
  if (sources > 1)
    return cli_usage_error(o->command, "--colours, --pens and --palette exclude each other");
  const char *against = option_against(o);
  if (against != NULL)
    return cli_usage_error(o->command, "%s is not for a drawing in several colours", against);
  for (int k = 0; k < o->output.count; ++k)
    if (!shows_colours(o, o->output.item[k]))
      return cli_usage_error(
          o->command,
          "%s: several colours go to csv, npy, png, svg of stipples or paths, and"
          " pens",
          o->output.item[k]);
  return CLI_EXIT_OK;
}

/* --- reading --- */

static int64_t count_canvas_pixels(const cli_colours *c) {
  return (int64_t)c->domain.width * c->domain.height;
}

static cvtm_status find_pens(const cli_options *o, cli_colours *c, cvtm_error *error) {
  if (o->colours.pens != NULL) return cli_pens_read(o->colours.pens, &c->pens, error);
  if (o->colours.cmyk) {
    cli_pens_cmyk(&c->pens);
    return CVTM_OK;
  }
  const cvtm_status status =
      cli_pens_choose(c->rgb, count_canvas_pixels(c), (int)o->colours.palette, &c->pens, error);
  return cli_name_file(o->input, status, error);
}

static cvtm_status separate(cli_colours *c, cvtm_error *error) {
  for (int k = 0; k < c->count; ++k) {
    c->coverage[k] = malloc((size_t)count_canvas_pixels(c) * sizeof *c->coverage[k]);
    if (c->coverage[k] == NULL) return cvtm_no_memory(error, "the colours of a drawing");
  }
  return cvtm_inks_separate(&c->pens.inks, c->rgb, count_canvas_pixels(c), c->coverage, error);
}

/* The dots of all pens, if each had the number that its ink needs; their sum becomes the number of
 * points unless that is given. */
static cvtm_status share_dots(cli_options *o, cli_colours *c, cli_dot_count *dots,
                              cvtm_error *error) {
  const double most = 1e9;
  double amount[CVTM_INKS_MAX], total = 0;
  cli_dot_count all = {.smallest = INFINITY};
  for (int k = 0; k < c->count; ++k) {
    cli_options own = *o;
    cli_dot_count found;
    if (c->pens.size[k][0] != '\0') own.dot_size = c->pens.size[k];
    const cvtm_status status = cli_stipples_count(&own, c->domain, c->coverage[k], &found, error);
    if (status != CVTM_OK) return status;
    amount[k] = found.ink > 0 ? found.count : 0;
    total += amount[k];
    all.smallest = fmin(all.smallest, found.smallest);
    all.largest = fmax(all.largest, found.largest);
    all.ink += found.ink;
    all.mm_per_pixel = found.mm_per_pixel;
    all.is_default = own.dot_size == NULL;
  }
  all.count = total;
  if (total > most && o->points == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the inks need %.3g dots of these sizes; at most %g", o->input, total,
                     most);
  if (!(total > 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pen draws any colour of the picture",
                     o->input);
  if (o->points == 0) {
    *dots = all;
    o->points = (int64_t)total;
  }
  return cvtm_classes_share(amount, c->count, o->points, c->start, error);
}

cvtm_status cli_colours_read(cli_options *o, cvtm_domain domain, float *rgb, cli_colours *c,
                             cli_dot_count *dots, cvtm_error *error) {
  *c = (cli_colours){.domain = domain, .rgb = rgb};
  cvtm_status status = find_pens(o, c, error);
  if (status != CVTM_OK) return status;
  c->count = c->pens.inks.count;
  status = separate(c, error);
  return status == CVTM_OK ? share_dots(o, c, dots, error) : status;
}

/* --- places and order --- */

cvtm_status cli_colours_solve(const cli_options *o, cvtm_device *device,
                              const cvtm_cvt_options *descent, cli_colours *c, double *sites) {
  const cvtm_classes_options options = {.union_weight = o->colours.coupling, .cvt = *descent};
  return cvtm_classes_solve(device, c->domain, (const float *const *)c->coverage, c->count,
                            c->start, &options, sites, &c->solved);
}

cvtm_status cli_colours_order(const cli_options *options, const cli_colours *c, double deadline,
                              double *sites, cli_point_order *order, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  *order = (cli_point_order){0};
  if (options->order == CLI_ORDER_NONE) return CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < c->count; ++k) {
    cli_point_order own = {0};
    const int64_t count = c->start[k + 1] - c->start[k];
    double *first = sites + 2 * c->start[k];
    if (count == 0) continue;
    status = cli_order_find(options, first, count, deadline, &own, error);
    if (status == CVTM_OK) status = cli_order_apply(&own, count, 2, first, error);
    order->length += own.length;
    order->bound += own.bound;
    order->estimate += own.estimate;
    order->seconds += own.seconds;
    order->is_stopped |= own.is_stopped;
    cli_order_free(order);
    order->order = own.order;
  }
  return status;
}

void cli_colours_free(cli_colours *c) {
  for (int k = 0; k < CVTM_INKS_MAX; ++k) free(c->coverage[k]);
  free(c->rgb);
  free(c->radius);
  *c = (cli_colours){0};
}

/* --- what is said --- */

static void report_likeness(const cvtm_colour_likeness *likeness, cJSON *part) {
  cli_json_real(part, "mean", likeness->mean);
  cli_json_real(part, "rms", likeness->rms);
  cli_json_real(part, "contrast", likeness->luminance.contrast);
  cli_json_real(part, "correlation", likeness->luminance.correlation);
  cli_json_real(part, "ssim", likeness->luminance.ssim);
}

static void report_pen(const cli_colours *c, int k, cJSON *list) {
  const cli_pen_figures *f = &c->figures[k];
  char colour[8];
  snprintf(colour, sizeof colour, "#%02x%02x%02x", c->pens.pen[k].colour[0],
           c->pens.pen[k].colour[1], c->pens.pen[k].colour[2]);
  cJSON *part = cJSON_CreateObject();
  cli_json_text(part, "name", c->pens.pen[k].name);
  cli_json_text(part, "colour", colour);
  cli_json_integer(part, "sites", c->start[k + 1] - c->start[k]);
  cli_json_real(part, "energy_ratio", c->solved.ratio[k]);
  cli_json_real(part, "coverage_asked", f->asked);
  cli_json_real(part, "coverage", f->drawn);
  if (c->is_measured) {
    cli_json_real(part, "contrast", f->likeness.contrast);
    cli_json_real(part, "correlation", f->likeness.correlation);
  }
  cli_json_real(part, "nearest_least", f->nearest.least);
  cli_json_real(part, "nearest_mean", f->nearest.mean);
  cli_json_real(part, "smallest_dot", f->smallest);
  cli_json_real(part, "largest_dot", f->largest);
  cli_json_append(list, part);
}

void cli_colours_report(const cli_colours *c, cJSON *report) {
  if (c->count == 0) return;
  cJSON *list = cJSON_AddArrayToObject(report, "pens");
  for (int k = 0; k < c->count; ++k) report_pen(c, k, list);
  if (!c->is_measured) return;
  cJSON *part = cJSON_AddObjectToObject(report, "colour_error");
  report_likeness(&c->reached, part);
  cli_json_real(part, "blur", c->blur);
  report_likeness(&c->possible, cJSON_AddObjectToObject(part, "of_inks"));
}

static void print_pen(const cli_colours *c, int k) {
  const int64_t dots = c->start[k + 1] - c->start[k];
  const cli_pen_figures *f = &c->figures[k];
  fprintf(stderr, "  %-10s %-16s %lld %s", k == 0 ? "pens" : "", c->pens.pen[k].name,
          (long long)dots, cli_word(dots, "dot", "dots"));
  if (dots > 1)
    fprintf(stderr, ", the nearest at %.3g px (%.3g at least)", f->nearest.mean, f->nearest.least);
  fprintf(stderr, "; ink %.2f %%, asked %.2f %%", 100 * f->drawn, 100 * f->asked);
  if (dots > 0) fprintf(stderr, "; energy %.4f of the reference", c->solved.ratio[k]);
  fputc('\n', stderr);
}

void cli_colours_print(const cli_options *o, const cli_colours *c) {
  for (int k = 0; k < c->count; ++k) print_pen(c, k);
  if (c->count > 0 && o->colours.palette > c->count)
    fprintf(stderr, "  note       the picture has the colours of %d %s, not of %lld\n", c->count,
            cli_word(c->count, "ink", "inks"), (long long)o->colours.palette);
  if (!c->is_measured) return;
  fprintf(stderr, "  colour     error %.4f in OKLab (rms %.4f), %.4f is the inks'", c->reached.mean,
          c->reached.rms, c->possible.mean);
  /* An even picture has no contrast to compare with. */
  if (isfinite(c->reached.luminance.contrast))
    fprintf(stderr, "; contrast %.3f of the picture's, correlation %.4f",
            c->reached.luminance.contrast, c->reached.luminance.correlation);
  fputc('\n', stderr);
}
