#include "run/page.h"

#include "base/file.h"
#include "base/host.h"
#include "run/colours.h"
#include "run/input.h"
#include "run/output.h"
#include "run/json.h"
#include "run/stipples.h"
#include "meshes/mesh.h"
#include "meshes/mesh_file.h"
#include "draw/formats.h"
#include "draw/plotter.h"
#include "draw/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* --- the content of drawings ------------------------------------------------------------------ */

static const struct {
  const char *name;
  double width, height; /* mm */
} page_sizes[] = {{"A0", 841, 1189},        {"A1", 594, 841},         {"A2", 420, 594},
                  {"A3", 297, 420},         {"A4", 210, 297},         {"A5", 148, 210},
                  {"A6", 105, 148},         {"letter", 215.9, 279.4}, {"legal", 215.9, 355.6},
                  {"tabloid", 279.4, 431.8}};

static const cvtm_format *find_drawing(const char *extension) {
  return cvtm_format_find(cvtm_drawing_formats, extension, CVTM_WRITES_DRAWING);
}

/* Returns what a drawing in this format shows. Without --svg, machines draw the closed path of
 * --order tsp; without that path, pens draw dots. */
static cvtm_svg_kind choose_shown(const cvtm_run_options *options, const cvtm_format *f) {
  if (!cvtm_format_has(f, CVTM_FOR_MACHINES) || (options->given & CVTM_RUN_GIVEN_SVG))
    return options->svg;
  if (options->order == CVTM_RUN_ORDER_TSP) return CVTM_SVG_PATH;
  const int has_dots = cvtm_format_has(f, CVTM_NEEDS_PAGE) && options->purpose != CVTM_RUN_OUTLINE;
  return has_dots ? CVTM_SVG_STIPPLES : options->svg;
}

/* True if a file of this format is for the machine of --plotter. */
static int is_for_plotter(const cvtm_run_options *options, const cvtm_format *f) {
  const char *name = options->page.plotter;
  const cvtm_plotter *plotter = name != NULL ? cvtm_plotter_find(name) : NULL;
  return plotter != NULL && strcmp(plotter->format, f->extension) == 0;
}

/* Returns what a drawing in this format shows: the result of choose_shown, but touches of the pen
 * instead of dots for formats that need a page, and, without --svg, if there is a --pen or the
 * format is that of the --plotter. */
static cvtm_svg_kind run_page_shows(const cvtm_run_options *options, const cvtm_format *f) {
  const cvtm_svg_kind shown = choose_shown(options, f);
  if (shown != CVTM_SVG_STIPPLES) return shown;
  const int has_pen = options->pen.count > 0 && !options->pen_is_chosen;
  const int by_pen =
      !(options->given & CVTM_RUN_GIVEN_SVG) && (has_pen || is_for_plotter(options, f));
  return by_pen || cvtm_format_has(f, CVTM_NEEDS_PAGE) ? CVTM_SVG_TOUCHES : shown;
}

int run_page_shows_plot(const cvtm_run_options *options, const char *path) {
  return options->pen.count > 0 && options->purpose == CVTM_RUN_ALL && options->layers == 0 &&
         run_output_kind_of(options, path) == RUN_OUTPUT_PICTURE;
}

/* Returns what the drawing `path`, or the picture of a drawing, shows; -1: `path` is neither. */
static int shown_by(const cvtm_run_options *options, const char *path) {
  const cvtm_format *f = run_output_format(options, path);
  if (run_page_shows_plot(options, path)) f = find_drawing("svg");
  const int is_drawing = f != NULL && cvtm_format_has(f, CVTM_WRITES_DRAWING);
  return is_drawing ? (int)run_page_shows(options, f) : -1;
}

int run_page_shows_touches(const cvtm_run_options *options, const char *path) {
  return shown_by(options, path) == CVTM_SVG_TOUCHES;
}

int run_page_shows_sizes(const cvtm_run_options *options, const char *path) {
  const int shown = shown_by(options, path);
  return shown == CVTM_SVG_STIPPLES || shown == CVTM_SVG_TOUCHES;
}

int run_page_shows_points(const cvtm_run_options *options, const char *path) {
  return run_page_shows_sizes(options, path) || shown_by(options, path) == CVTM_SVG_PATH;
}

int run_page_shows_edges(const cvtm_run_options *options) {
  int drawings = 0;
  for (int k = 0; k < options->output.count; ++k) {
    const int shown = shown_by(options, options->output.item[k]);
    drawings += shown >= 0;
    if (shown >= 0 && shown != CVTM_SVG_CELLS && shown != CVTM_SVG_MESH) return 0;
  }
  return drawings > 0;
}

int run_page_shows_line(const cvtm_run_options *options) {
  if (options->pen.count == 0) return 0;
  for (int k = 0; k < options->output.count; ++k)
    if (run_page_shows_points(options, options->output.item[k]))
      return shown_by(options, options->output.item[k]) == CVTM_SVG_PATH;
  return options->svg == CVTM_SVG_PATH; /* of `stats` */
}

int cvtm_run_page_format(const char *name, double *width, double *height) {
  for (size_t k = 0; k < sizeof page_sizes / sizeof page_sizes[0]; ++k) {
    if (strcasecmp(page_sizes[k].name, name) != 0) continue;
    *width = page_sizes[k].width;
    *height = page_sizes[k].height;
    return 1;
  }
  return 0;
}

/* --- machines ------------------------------------------------------------------------------- */

/* The machine of --plotter; NULL: no machine, or a file. */
static const cvtm_plotter *given_plotter(const cvtm_run_options *options) {
  return options->page.plotter != NULL ? cvtm_plotter_find(options->page.plotter) : NULL;
}

int run_has_page(const cvtm_run_options *options) {
  const cvtm_plotter *plotter = given_plotter(options);
  return options->page.width != 0 || options->page.height != 0 ||
         (plotter != NULL && plotter->paper[0] > 0);
}

static int is_hpgl(const cvtm_format *f) {
  return f != NULL && cvtm_format_has(f, CVTM_NEEDS_PAGE) &&
         !cvtm_format_has(f, CVTM_NEEDS_PROFILE);
}

/* The machine for a file of this format on a page: that of --plotter. Without this option, HPGL is
 * for an HP 7475A if the page is one of its papers, else for any plotter. NULL: the format is for
 * no machine. */
static const cvtm_plotter *choose_plotter(const cvtm_run_options *options, const cvtm_format *f,
                                          double width, double height) {
  const cvtm_plotter *given = given_plotter(options);
  const int is_other = f != NULL && cvtm_format_has(f, CVTM_NEEDS_PAGE) && given != NULL &&
                       strcmp(given->format, f->extension) != 0;
  if (given != NULL && !is_other) {
    const cvtm_plotter *fits = cvtm_plotter_for_page(given, width, height);
    /* a name such as axidraw-a4 is that of a machine, which does not grow with the page */
    const int is_named = strchr(options->page.plotter, '-') != NULL;
    return is_named && fits->paper[0] > given->paper[0] ? given : fits;
  }
  if (!is_hpgl(f)) return NULL;
  const cvtm_plotter *common = cvtm_plotter_for_page(cvtm_plotter_find("hp7475a"), width, height);
  const int is_its_paper = fabs(common->paper[0] - fmax(width, height)) < 0.5 &&
                           fabs(common->paper[1] - fmin(width, height)) < 0.5;
  return is_its_paper ? common : cvtm_plotter_find("hpgl");
}

/* The machine whose speeds give the time to plot. */
static const cvtm_plotter *timed_plotter(const cvtm_run_options *options, const cvtm_format *f,
                                         const cvtm_page *page) {
  const cvtm_plotter *chosen = choose_plotter(options, f, page->width, page->height);
  if (chosen != NULL) return chosen;
  if (cvtm_format_has(f, CVTM_NEEDS_PROFILE)) return cvtm_plotter_find("grbl-servo");
  return cvtm_plotter_for_page(cvtm_plotter_find("axidraw-a4"), page->width, page->height);
}

/* --- pages ---------------------------------------------------------------------------------- */

static int is_page_side(double mm) { return mm > 0 && mm <= 10000; }

/* Finds the sides of the page of --page, or of the machine's paper, turned as the picture is. */
static cvtm_status find_sides(const cvtm_run_options *options, double width, double height,
                              double sides[2], cvtm_error *error) {
  const cvtm_plotter *plotter = given_plotter(options);
  int is_format = options->page.is_format;
  sides[0] = options->page.width;
  sides[1] = options->page.height;
  if (sides[0] == 0 && sides[1] == 0 && plotter != NULL) {
    sides[0] = plotter->paper[1];
    sides[1] = plotter->paper[0];
    is_format = 1;
  }
  if (!is_page_side(sides[0]) || !is_page_side(sides[1]))
    return cvtm_fail(
        error, CVTM_ERROR_ARGUMENT,
        "--page: '%gx%g' is neither A0 to A6, letter, legal, tabloid nor WIDTHxHEIGHT in mm",
        sides[0], sides[1]);
  const int is_auto = options->page.orientation == CVTM_RUN_PAGE_AUTO;
  const int is_landscape =
      options->page.orientation == CVTM_RUN_PAGE_LANDSCAPE || (is_auto && width > height);
  const int stays = is_auto && (!is_format || width == height);
  if (!stays && is_landscape != (sides[0] > sides[1])) {
    const double kept = sides[0];
    sides[0] = sides[1];
    sides[1] = kept;
  }
  return CVTM_OK;
}

/* Places the picture inside the margins and inside the area that the machine reaches. f: the format
 * of the file; NULL: a file for which only --plotter names a machine. */
static cvtm_status place_on_page(const cvtm_run_options *options, const cvtm_format *f,
                                 double width, double height, cvtm_page *page, cvtm_error *error) {
  double sides[2], area[4];
  const double margin = options->page.margin;
  cvtm_status status = find_sides(options, width, height, sides, error);
  if (status == CVTM_OK)
    status =
        cvtm_page_place(sides[0], sides[1], margin, options->page.fill, width, height, page, error);
  const cvtm_plotter *plotter =
      status == CVTM_OK ? choose_plotter(options, f, sides[0], sides[1]) : NULL;
  if (plotter == NULL) return status;
  if (!cvtm_plotter_area(plotter, sides[0], sides[1], area))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "--plotter %s reaches %.1f x %.1f mm, and the page is %g x %g mm",
                     plotter->name, plotter->area[2] - plotter->area[0],
                     plotter->area[3] - plotter->area[1], sides[0], sides[1]);
  for (int k = 0; k < 2; ++k) {
    area[k] = fmax(area[k], margin);
    area[k + 2] = fmin(area[k + 2], sides[k] - margin);
  }
  return cvtm_page_place_in(sides[0], sides[1], area, options->page.fill, width, height, page,
                            error);
}

/* The page that the picture fills without margins, with `scale` mm per pixel. */
static cvtm_page page_of_picture(double width, double height, double scale) {
  return (cvtm_page){.width = scale * width,
                     .height = scale * height,
                     .scale = scale,
                     .clip = {0, 0, scale * width, scale * height}};
}

/* Finds the page of a drawing. Without --page the picture has its physical size; if that is
 * unknown, a pixel of a PDF is a CSS pixel. */
static cvtm_status find_page(const cvtm_run_options *options, const cvtm_format *f, double width,
                             double height, cvtm_page *page, cvtm_error *error) {
  const double mm_per_browser_pixel = 25.4 / 96;
  if (run_has_page(options)) return place_on_page(options, f, width, height, page, error);
  if (cvtm_format_has(f, CVTM_NEEDS_PAGE) && !(options->world.mm > 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the file does not name the unit of its pixels; give --page",
                     options->input.name);
  *page = page_of_picture(width, height,
                          options->world.mm > 0                    ? options->world.mm
                          : cvtm_format_has(f, CVTM_HAS_REAL_SIZE) ? mm_per_browser_pixel
                                                                   : 1);
  page->in_pixels = !(options->world.mm > 0);
  return CVTM_OK;
}

/* The format of the first output in which a pen draws the points; NULL: none. */
static const cvtm_format *find_pen_drawing(const cvtm_run_options *options) {
  for (int k = 0; options->pen.count > 0 && k < options->output.count; ++k) {
    const int shown = shown_by(options, options->output.item[k]);
    if (shown == CVTM_SVG_TOUCHES || shown == CVTM_SVG_PATH)
      return run_output_format(options, options->output.item[k]);
  }
  return NULL;
}

int run_page_has_machine(const cvtm_run_options *options) {
  return find_pen_drawing(options) != NULL &&
         (run_has_page(options) || run_world_may_have_unit(options));
}

cvtm_status run_page_machine(const cvtm_run_options *options, cvtm_domain domain,
                             run_machine *machine, cvtm_error *error) {
  const cvtm_format *f = find_pen_drawing(options);
  cvtm_page page;
  const cvtm_status status = find_page(options, f, domain.width, domain.height, &page, error);
  if (status == CVTM_OK) *machine = (run_machine){timed_plotter(options, f, &page), page.scale};
  return status;
}

/* Reads the G-code profile of a machine, or a file. */
static cvtm_status read_profile(const cvtm_run_options *options, cvtm_gcode_profile *profile,
                                cvtm_error *error) {
  enum { LIMIT = 1 << 20 };
  const char *name = options->page.plotter != NULL ? options->page.plotter : "grbl-servo";
  const cvtm_plotter *plotter = cvtm_plotter_find(name);
  if (plotter != NULL && plotter->gcode == NULL) plotter = cvtm_plotter_find("grbl-servo");
  if (plotter != NULL) return cvtm_gcode_profile_parse(plotter->gcode, name, profile, error);
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_text_read(name, LIMIT, &bytes, &size, error));
  cvtm_status status = cvtm_gcode_profile_parse((const char *)bytes, name, profile, error);
  free(bytes);
  return status;
}

/* Refuses machine files if none of them is for the machine of --plotter. */
static cvtm_status check_machine_files(const cvtm_run_options *options, cvtm_error *error) {
  const cvtm_plotter *plotter = given_plotter(options);
  const char *other = NULL;
  for (int k = 0; plotter != NULL && k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    const cvtm_format *f = run_output_format(options, path);
    if (f == NULL || run_output_kind_of(options, path) != RUN_OUTPUT_DRAWING) continue;
    if (strcmp(plotter->format, f->extension) == 0) return CVTM_OK;
    if (cvtm_format_has(f, CVTM_NEEDS_PAGE)) other = path;
  }
  if (other == NULL) return CVTM_OK;
  return run_usage_error(error, "%s: --plotter %s is a machine for .%s files", other,
                         options->page.plotter, plotter->format);
}

/* Refuses a --plotter that is neither a machine nor an existing file. */
static cvtm_status check_plotter(const cvtm_run_options *options, cvtm_error *error) {
  const char *name = options->page.plotter;
  if (name == NULL || given_plotter(options) != NULL || strpbrk(name, "./") != NULL ||
      access(name, F_OK) == 0)
    return CVTM_OK;
  run_nearest nearest = run_nearest_start(name);
  for (int k = 0; cvtm_plotter_at(k) != NULL; ++k)
    run_nearest_offer(&nearest, cvtm_plotter_at(k)->name);
  if (nearest.best != NULL)
    return run_usage_error(error, "--plotter: '%s' is not known; did you mean '%s'?", name,
                           nearest.best);
  return run_usage_error(
      error, "--plotter: '%s' is neither a machine (--plotter list) nor a file with a profile",
      name);
}

/* Reads the profile of G-code, if one is needed, before the work begins. */
static cvtm_status check_page_output(const cvtm_run_options *options, const char *path,
                                     cvtm_error *error) {
  cvtm_gcode_profile profile;
  if (run_output_kind_of(options, path) != RUN_OUTPUT_DRAWING) return CVTM_OK;
  const cvtm_format *f = run_output_format(options, path);
  if (cvtm_format_has(f, CVTM_NEEDS_PAGE) && !run_has_page(options) &&
      !run_world_may_have_unit(options))
    return run_usage_error(error, "%s: --page is missing, as in --page A4", path);
  if (!cvtm_format_has(f, CVTM_NEEDS_PROFILE)) return CVTM_OK;
  const cvtm_status status = read_profile(options, &profile, error);
  if (status == CVTM_OK) cvtm_gcode_profile_free(&profile);
  return status;
}

cvtm_status run_page_scale(const cvtm_run_options *options, cvtm_domain domain, double *scale,
                           cvtm_error *error) {
  cvtm_page page;
  *scale = options->world.mm;
  if (!run_has_page(options) && *scale > 0) return CVTM_OK;
  if (!run_has_page(options))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: a length needs --page, or a --pixel-size with a unit",
                     options->input.name);
  const cvtm_status status =
      place_on_page(options, NULL, domain.width, domain.height, &page, error);
  if (status == CVTM_OK) *scale = page.scale;
  return status;
}

cvtm_status run_frame_find(const cvtm_run_options *options, cvtm_domain domain, run_frame *frame,
                           cvtm_error *error) {
  const double mm = run_unit_mm(options->unit);
  cvtm_page page;
  *frame = (run_frame){.scale = 1, .height = domain.height, .is_up = domain.height == 0};
  if (options->world.scale > 0) {
    frame->is_up = 1;
    frame->scale = options->world.scale;
    frame->left = options->world.left;
    frame->bottom = options->world.bottom;
  }
  if (!(mm > 0) || options->world.scale > 0) return CVTM_OK;
  CVTM_TRY(place_on_page(options, NULL, domain.width, domain.height, &page, error));
  frame->scale = page.scale / mm;
  frame->left = page.left / mm;
  frame->top = page.top / mm;
  frame->height = page.height / mm;
  frame->bottom = frame->height - (frame->top + frame->scale * domain.height);
  return CVTM_OK;
}

cvtm_status run_page_part(const cvtm_run_options *options, cvtm_domain domain, int part[4],
                          cvtm_error *error) {
  const double rounding = 1e-6;
  cvtm_page page;
  memcpy(part, (int[4]){0, 0, domain.width, domain.height}, 4 * sizeof *part);
  if (!run_has_page(options)) return CVTM_OK;
  CVTM_TRY(place_on_page(options, NULL, domain.width, domain.height, &page, error));
  const double corner[2] = {page.left, page.top};
  for (int axis = 0; axis < 2; ++axis) {
    const double low = (page.clip[axis] - corner[axis]) / page.scale;
    const double high = (page.clip[axis + 2] - corner[axis]) / page.scale;
    part[axis] = (int)fmax(floor(low + rounding), 0);
    part[axis + 2] = (int)fmin(ceil(high - rounding), part[axis + 2]);
  }
  return CVTM_OK;
}

void run_crop_planes(float *planes, int count, cvtm_domain whole, const int part[4]) {
  float *to = planes;
  for (int64_t row = 0; planes != NULL && row < (int64_t)count * whole.height; ++row) {
    const int64_t y = row % whole.height, columns = part[2] - part[0];
    if (y < part[1] || y >= part[3]) continue;
    memmove(to, planes + row * whole.width + part[0], (size_t)columns * sizeof *to);
    to += columns;
  }
}

cvtm_status run_page_check_size(const cvtm_run_options *options, cvtm_error *error) {
  cvtm_page page;
  cvtm_error reason = {CVTM_OK, ""};
  if (run_has_page(options) && place_on_page(options, NULL, 1, 1, &page, &reason) != CVTM_OK)
    return run_usage_error(error, "%s", reason.message);
  if (run_unit_mm(options->unit) > 0 && !run_has_page(options) && !run_has_world(options))
    return run_usage_error(error, "--unit %s: --page is missing, as in --page A4, or --pixel-size",
                           run_unit_name(options->unit));
  return run_world_check(options, error);
}

cvtm_status run_page_check(const cvtm_run_options *options, cvtm_error *error) {
  cvtm_status status = check_plotter(options, error);
  if (status == CVTM_OK) status = check_machine_files(options, error);
  if (status == CVTM_OK) status = run_page_check_size(options, error);
  for (int k = 0; status == CVTM_OK && k < options->output.count; ++k)
    status = check_page_output(options, options->output.item[k], error);
  return status;
}

/* Refuses a drawing with more pens than the machine has. */
static cvtm_status check_pens(const cvtm_plotter *plotter, const cvtm_drawing *drawing,
                              const char *path, cvtm_error *error) {
  int pens = 0;
  for (int64_t k = 0; k < cvtm_drawing_parts(drawing); ++k)
    pens = cvtm_drawing_pen_of(drawing, k) >= pens ? cvtm_drawing_pen_of(drawing, k) + 1 : pens;
  if (strcmp(plotter->format, "hpgl") != 0 || plotter->pens == 0 || pens <= plotter->pens)
    return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the drawing has %d pens, but --plotter %s has %d",
                   path, pens, plotter->name, plotter->pens);
}

static cvtm_status write_drawing(const cvtm_run_options *options, const char *path,
                                 const cvtm_format *f, const cvtm_drawing *drawing,
                                 const cvtm_plotter *plotter, cvtm_error *error) {
  cvtm_gcode_profile profile = {.text = NULL};
  const cvtm_drawing_settings settings = {.in_mm = run_has_page(options) || options->world.mm > 0,
                                          .profile = &profile,
                                          .plotter = plotter};
  cvtm_status status = CVTM_OK;
  if (is_hpgl(f)) status = check_pens(plotter, drawing, path, error);
  if (cvtm_format_has(f, CVTM_NEEDS_PROFILE)) status = read_profile(options, &profile, error);
  if (status == CVTM_OK) status = cvtm_drawing_write(path, f->extension, drawing, &settings, error);
  cvtm_gcode_profile_free(&profile);
  return status;
}

/* Finds the page of a scene. An SVG that is for no page and by no pen is in pixels. */
static cvtm_status find_page_of(const run_scene *scene, const cvtm_format *f, cvtm_page *page,
                                cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  const int is_screen = strcmp(f->extension, "svg") == 0 && !run_has_page(options) &&
                        scene->colours == NULL && options->pen.count == 0;
  if (!is_screen)
    return find_page(options, f, scene->domain.width, scene->domain.height, page, error);
  *page = page_of_picture(scene->domain.width, scene->domain.height, 1);
  page->in_pixels = 1;
  page->pixel = options->world.mm;
  return CVTM_OK;
}

cvtm_status run_page_write(const run_scene *scene, const char *path, const char *extension,
                           cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  const cvtm_format *f = find_drawing(extension);
  cvtm_page page;
  cvtm_drawing drawing;
  CVTM_TRY(find_page_of(scene, f, &page, error));
  CVTM_TRY(run_page_draw(scene, run_page_shows(options, f), &page, &drawing, error));
  const cvtm_plotter *plotter = timed_plotter(options, f, &page);
  drawing.light = run_page_shows_sizes(options, path) && run_stipples_are_light(options);
  cvtm_status status = write_drawing(options, path, f, &drawing, plotter, error);
  if (scene->plot != NULL && scene->plot->plotter == NULL && run_has_page(options)) {
    scene->plot->plotter = plotter;
    cvtm_plotter_measure(plotter, &drawing, &scene->plot->figures);
  }
  cvtm_drawing_free(&drawing);
  return status;
}

cvtm_status run_page_simulate(const run_scene *scene, cvtm_svg_kind shown, double scale,
                              cvtm_domain canvas, float **drawn, cvtm_error *error) {
  cvtm_page page = page_of_picture(scene->domain.width, scene->domain.height, 1);
  cvtm_drawing drawing;
  run_scene simulated = *scene;
  simulated.is_simulated = 1;
  page.in_pixels = 1;
  *drawn = malloc((size_t)canvas.width * (size_t)canvas.height * sizeof **drawn);
  if (*drawn == NULL) return cvtm_no_memory(error, "a simulated plot");
  CVTM_TRY(run_page_draw(&simulated, shown, &page, &drawing, error));
  drawing.page.scale = 1 / scale;
  cvtm_status status = cvtm_drawing_coverage(&drawing, canvas.width, canvas.height, *drawn, error);
  cvtm_drawing_free(&drawing);
  return status;
}

cvtm_status run_page_measure(const run_scene *scene, const float *tone, run_stipples *stipples,
                             cvtm_error *error) {
  const cvtm_svg_kind shown =
      run_page_shows_line(scene->options) ? CVTM_SVG_PATH : CVTM_SVG_TOUCHES;
  float *drawn;
  cvtm_status status = run_page_simulate(scene, shown, 1, scene->domain, &drawn, error);
  if (status == CVTM_OK)
    status = run_stipples_measure(scene->options, scene->domain, tone, scene->count, drawn,
                                  stipples, error);
  free(drawn);
  return status;
}

void run_plot_lay(const float *drawn, double ink, int64_t pixels, float *light) {
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) light[p] *= (float)(1 - (double)drawn[p] * (1 - ink));
}

cvtm_status run_page_picture(const run_scene *scene, const char *path, cvtm_pixels_writer write,
                             cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  const run_colours *colours = scene->colours;
  const cvtm_domain domain = scene->domain;
  const double longer = fmax(domain.width, domain.height);
  const double scale = cvtm_picture_side(domain, scene->count, options->picture_size) / longer;
  const cvtm_domain canvas = cvtm_canvas_of(domain, scale);
  const int64_t pixels = (int64_t)canvas.width * canvas.height;
  const cvtm_svg_kind shown = run_page_shows(options, find_drawing("svg"));
  const int light = run_page_shows_sizes(options, path) && run_stipples_are_light(options);
  const int channels = colours != NULL ? 3 : 1, pens = colours != NULL ? colours->count : 1;
  float *plane = malloc((size_t)channels * (size_t)pixels * sizeof *plane);
  unsigned char *bytes = malloc((size_t)channels * (size_t)pixels);
  cvtm_status status =
      plane != NULL && bytes != NULL ? CVTM_OK : cvtm_no_memory(error, "a simulated plot");
  for (int64_t p = 0; status == CVTM_OK && p < channels * pixels; ++p) plane[p] = 1;
  for (int k = 0; status == CVTM_OK && k < pens; ++k) {
    cvtm_run_options of_pen;
    const run_scene own = run_scene_of_pen(scene, k, &of_pen);
    float *drawn = NULL;
    status = run_page_simulate(&own, shown, scale, canvas, &drawn, error);
    for (int c = 0; status == CVTM_OK && c < channels; ++c)
      run_plot_lay(drawn, colours != NULL ? colours->pens.inks.colour[k][c] : 0, pixels,
                   plane + c * pixels);
    free(drawn);
  }
  if (status == CVTM_OK) {
    for (int64_t p = 0; light && p < channels * pixels; ++p) plane[p] = 1 - plane[p];
    for (int c = 0; c < channels; ++c)
      cvtm_light_encode(plane + c * pixels, pixels, channels, bytes + c);
    status = write(path, canvas.width, canvas.height, channels, bytes, error);
  }
  free(plane);
  free(bytes);
  return status;
}

void run_plot_report(const run_plot *plot, cJSON *report) {
  const cvtm_plot_figures *f = &plot->figures;
  if (plot->plotter == NULL) return;
  cJSON *part = cJSON_AddObjectToObject(report, "plot");
  run_json_text(part, "plotter", plot->plotter->name);
  run_json_real(part, "strokes", (double)f->strokes);
  run_json_real(part, "drawn_mm", f->drawn);
  run_json_real(part, "travelled_mm", f->travelled);
  run_json_real(part, "seconds_drawing", f->seconds_drawing);
  run_json_real(part, "seconds_lifting", f->seconds_lifting);
  run_json_real(part, "seconds_travelling", f->seconds_travelling);
}

void run_page_report(const cvtm_run_options *options, cvtm_domain domain, cJSON *report) {
  cvtm_page page;
  if (!run_has_page(options) ||
      place_on_page(options, NULL, domain.width, domain.height, &page, NULL) != CVTM_OK)
    return;
  cJSON *part = cJSON_AddObjectToObject(report, "page");
  run_json_real(part, "width", page.width);
  run_json_real(part, "height", page.height);
  run_json_real(part, "mm_per_pixel", page.scale);
}
