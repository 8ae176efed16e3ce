#include "cli/page.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/report.h"
#include "cli/stipples.h"
#include "meshes/mesh_file.h"
#include "plot/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  double width, height; /* mm */
} page_sizes[] = {{"A0", 841, 1189},        {"A1", 594, 841},         {"A2", 420, 594},
                  {"A3", 297, 420},         {"A4", 210, 297},         {"A5", 148, 210},
                  {"A6", 105, 148},         {"letter", 215.9, 279.4}, {"legal", 215.9, 355.6},
                  {"tabloid", 279.4, 431.8}};

int cli_page_extension_known(const char *extension) {
  return strcmp(extension, "hpgl") == 0 || strcmp(extension, "plt") == 0 ||
         strcmp(extension, "gcode") == 0 || strcmp(extension, "nc") == 0;
}

static int is_gcode(const char *extension) {
  return strcmp(extension, "gcode") == 0 || strcmp(extension, "nc") == 0;
}

/* Returns 0 if the text is neither a name nor WIDTHxHEIGHT. */
static int parse_page(const char *text, double *width, double *height) {
  for (size_t k = 0; k < sizeof page_sizes / sizeof page_sizes[0]; ++k) {
    if (strcmp(page_sizes[k].name, text) != 0) continue;
    *width = page_sizes[k].width;
    *height = page_sizes[k].height;
    return 1;
  }
  const double most = 10000;
  char separator, rest;
  return sscanf(text, "%lf%c%lf%c", width, &separator, height, &rest) == 3 && separator == 'x' &&
         *width > 0 && *height > 0 && *width <= most && *height <= most;
}

static cvtm_status place_on_page(const cli_options *options, double width, double height,
                                 cvtm_page *page, cvtm_error *error) {
  double page_width, page_height;
  if (!parse_page(options->page.size, &page_width, &page_height))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--page: '%s' is neither a size nor WIDTHxHEIGHT",
                     options->page.size);
  const int is_landscape = options->page.orientation == CLI_PAGE_LANDSCAPE ||
                           (options->page.orientation == CLI_PAGE_AUTO && width > height);
  const int is_square = options->page.orientation == CLI_PAGE_AUTO && width == height;
  if (!is_square && is_landscape != (page_width > page_height)) {
    const double kept = page_width;
    page_width = page_height;
    page_height = kept;
  }
  return cvtm_page_place(page_width, page_height, options->page.margin, options->page.fill, width,
                         height, page, error);
}

/* Reads the profile of --gcode: one that the program knows, or a file. */
static cvtm_status read_profile(const char *name, cvtm_gcode_profile *profile, cvtm_error *error) {
  enum { LIMIT = 1 << 20 };
  const char *builtin = cvtm_gcode_builtin(name);
  if (builtin != NULL) return cvtm_gcode_profile_parse(builtin, name, profile, error);
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_file_read(name, LIMIT, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_gcode_profile_parse((const char *)bytes, name, profile, error);
  free(bytes);
  return status;
}

static int is_gcode_output(const cli_options *options, const char *path) {
  char buffer[64];
  const char *extension =
      strcmp(path, "-") == 0 ? options->format : cvtm_file_extension(path, buffer, sizeof buffer);
  return is_gcode(extension);
}

/* Reads the profile of G-code before the work begins. */
static int check_profile(const cli_options *options) {
  cvtm_gcode_profile profile;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = read_profile(options->page.gcode, &profile, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  cvtm_gcode_profile_free(&profile);
  return CLI_EXIT_OK;
}

static int check_page_output(const cli_options *options, const char *path) {
  const cli_output_kind kind = cli_output_kind_of(options, path);
  if (kind != CLI_OUTPUT_PENS && kind != CLI_OUTPUT_SVG) return CLI_EXIT_OK;
  const int is_drawn = options->svg == CVTM_SVG_STIPPLES || options->svg == CVTM_SVG_PATH;
  if (options->page.size == NULL)
    return kind == CLI_OUTPUT_SVG
               ? CLI_EXIT_OK
               : cli_usage_error(options->command, "%s: --page is missing, its size in mm", path);
  if (!is_drawn && (kind == CLI_OUTPUT_SVG || cli_option_given(options, "svg")))
    return cli_usage_error(
        options->command, "%s: --page shows stipples or a path (--svg), not cells or meshes", path);
  return is_gcode_output(options, path) ? check_profile(options) : CLI_EXIT_OK;
}

cvtm_status cli_page_scale(const cli_options *options, cvtm_domain domain, double *scale,
                           cvtm_error *error) {
  cvtm_page page;
  if (options->page.size == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a length in mm needs --page");
  const cvtm_status status = place_on_page(options, domain.width, domain.height, &page, error);
  if (status == CVTM_OK) *scale = page.scale;
  return status;
}

cvtm_status cli_frame_find(const cli_options *options, cvtm_domain domain, cli_frame *frame,
                           cvtm_error *error) {
  const double mm = cli_unit_mm(options->unit);
  cvtm_page page;
  *frame = (cli_frame){1, 0, 0, domain.height};
  if (!(mm > 0)) return CVTM_OK;
  const cvtm_status status = place_on_page(options, domain.width, domain.height, &page, error);
  if (status == CVTM_OK)
    *frame = (cli_frame){page.scale / mm, page.left / mm, page.top / mm, page.height / mm};
  return status;
}

int cli_page_check_size(const cli_options *options) {
  cvtm_page page;
  cvtm_error error = {CVTM_OK, ""};
  if (options->page.size != NULL && place_on_page(options, 1, 1, &page, &error) != CVTM_OK)
    return cli_usage_error(options->command, "%s", error.message);
  if (cli_unit_mm(options->unit) > 0 && options->page.size == NULL)
    return cli_usage_error(options->command, "--unit %s: --page is missing, its size in mm",
                           cli_unit_name(options->unit));
  return CLI_EXIT_OK;
}

int cli_page_check(const cli_options *options) {
  int code = cli_page_check_size(options);
  for (int k = 0; code == CLI_EXIT_OK && k < options->output.count; ++k)
    code = check_page_output(options, options->output.item[k]);
  return code;
}

/* Machines draw the closed path of --order tsp, unless --svg says what is drawn. */
static int draws_path(const cli_options *options, const char *extension) {
  if (options->svg == CVTM_SVG_PATH) return 1;
  return options->order == CLI_ORDER_TSP && strcmp(extension, "svg") != 0 &&
         !cli_option_given(options, "svg");
}

static cvtm_status make_dots(const cli_scene *scene, const cvtm_page *page, double spacing,
                             cvtm_drawing *drawing, cvtm_error *error) {
  const double share = 0.3; /* of the mean spacing: neighbours do not touch */
  if (scene->radius != NULL)
    return cvtm_drawing_of_dots(page, scene->sites, scene->radius, scene->count, drawing, error);
  double *equal = malloc((size_t)scene->count * sizeof *equal);
  if (equal == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the radii of dots");
  for (int64_t i = 0; i < scene->count; ++i) equal[i] = share * spacing;
  cvtm_status status =
      cvtm_drawing_of_dots(page, scene->sites, equal, scene->count, drawing, error);
  free(equal);
  return status;
}

static cvtm_status write_gcode(const cli_options *options, const char *path,
                               const cvtm_drawing *drawing, cvtm_error *error) {
  cvtm_gcode_profile profile;
  cvtm_status status = read_profile(options->page.gcode, &profile, error);
  if (status != CVTM_OK) return status;
  status = cvtm_drawing_write_gcode(path, drawing, &profile, error);
  cvtm_gcode_profile_free(&profile);
  return status;
}

cvtm_status cli_page_write(const cli_scene *scene, const char *path, const char *extension,
                           cvtm_error *error) {
  const double line_share = 0.25; /* of the mean spacing: the width of a line */
  const cli_options *options = scene->options;
  const double width = scene->domain.width, height = scene->domain.height;
  const double spacing = sqrt(width * height / (double)scene->count);
  cvtm_page page;
  cvtm_drawing drawing;
  cvtm_status status = place_on_page(options, width, height, &page, error);
  if (status == CVTM_OK)
    status = draws_path(options, extension)
                 ? cvtm_drawing_of_path(&page, scene->sites, scene->count,
                                        options->order == CLI_ORDER_TSP, line_share * spacing,
                                        &drawing, error)
                 : make_dots(scene, &page, spacing, &drawing, error);
  if (status != CVTM_OK) return status;
  if (options->page.split > 0) status = cvtm_drawing_split(&drawing, options->page.split, error);
  drawing.light = drawing.radius != NULL && cli_stipples_are_light(options);
  if (status == CVTM_OK)
    status = strcmp(extension, "svg") == 0 ? cvtm_drawing_write_svg(path, &drawing, error)
             : is_gcode(extension)         ? write_gcode(options, path, &drawing, error)
                                           : cvtm_drawing_write_hpgl(path, &drawing, error);
  cvtm_drawing_free(&drawing);
  return status;
}

void cli_page_report(const cli_options *options, cvtm_domain domain, cJSON *report) {
  cvtm_page page;
  if (options->page.size == NULL ||
      place_on_page(options, domain.width, domain.height, &page, NULL) != CVTM_OK)
    return;
  cJSON *part = cJSON_AddObjectToObject(report, "page");
  cli_json_real(part, "width", page.width);
  cli_json_real(part, "height", page.height);
  cli_json_real(part, "mm_per_pixel", page.scale);
}
