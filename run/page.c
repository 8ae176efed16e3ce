#include "run/page.h"

#include "base/clock.h"
#include "base/file.h"
#include "run/colours.h"
#include "run/input.h"
#include "run/output.h"
#include "run/json.h"
#include "run/stipples.h"
#include "meshes/mesh.h"
#include "meshes/mesh_file.h"
#include "draw/formats.h"
#include "draw/tour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the lines of cells and of meshes ------------------------------------------------------- */

/* The line width of all SVG files of cells and meshes. */
static double line_width(cvtm_domain domain, int64_t count) {
  return 0.05 * sqrt((double)domain.width * domain.height / (double)(count > 0 ? count : 1));
}

/* Lines that are appended to arrays of sufficient size. */
typedef struct line_list {
  double *points;
  int64_t *start;
  int64_t count, point_count;
} line_list;

static cvtm_status allocate_lines(int64_t points, int64_t lines, line_list *list,
                                  cvtm_error *error) {
  *list = (line_list){.points = malloc((2 * (size_t)points + 1) * sizeof *list->points),
                      .start = malloc(((size_t)lines + 1) * sizeof *list->start)};
  if (list->points == NULL || list->start == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the lines of a drawing");
  list->start[0] = 0;
  return CVTM_OK;
}

static void add_line_point(line_list *list, const double *point) {
  memcpy(list->points + 2 * list->point_count++, point, 2 * sizeof *point);
}

static void end_line(line_list *list) { list->start[++list->count] = list->point_count; }

static cvtm_status draw_list(line_list *list, cvtm_status status, double width,
                             const cvtm_page *page, cvtm_drawing *drawing, cvtm_error *error) {
  if (status == CVTM_OK)
    status =
        cvtm_drawing_of_lines(page, list->points, list->start, list->count, width, drawing, error);
  if (status == CVTM_OK) {
    status = cvtm_drawing_order(drawing, error);
    if (status != CVTM_OK) cvtm_drawing_free(drawing);
  }
  free(list->points);
  free(list->start);
  return status;
}

/* An edge between two cells belongs to the first of them. On a torus each cell draws all its edges,
 * because the edges of a neighbour across the border lie elsewhere. */
static int is_own_edge(const cvtm_cells *cells, cvtm_domain domain, int64_t i, int64_t edge) {
  const int32_t other = cells->neighbors[edge];
  return other < 0 || other > i || domain.periodic;
}

/* Adds the edges that belong to the cell, each run of consecutive ones as one line. */
static void add_cell(const cvtm_cells *cells, cvtm_domain domain, int64_t i, line_list *list) {
  const int64_t first = cells->start[i], count = cells->start[i + 1] - first;
  int64_t begin = 0; /* the first edge after one that does not belong to the cell; 0 if all do */
  for (int64_t k = 0; k < count; ++k)
    if (!is_own_edge(cells, domain, i, first + k)) begin = k + 1;
  int is_drawing = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = (begin + k) % count, next = (at + 1) % count;
    const int is_own = is_own_edge(cells, domain, i, first + at);
    if (is_drawing && !is_own) end_line(list);
    if (is_own && !is_drawing) add_line_point(list, cells->corners + 2 * (first + at));
    if (is_own) add_line_point(list, cells->corners + 2 * (first + next));
    is_drawing = is_own;
  }
  if (is_drawing) end_line(list);
}

/* Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
static cvtm_status run_draw_cells(const cvtm_cells *cells, cvtm_domain domain,
                                  const cvtm_page *page, cvtm_drawing *drawing, cvtm_error *error) {
  line_list list;
  const int64_t corners = cells->start[cells->count];
  const cvtm_status status = allocate_lines(2 * corners, corners, &list, error);
  for (int64_t i = 0; status == CVTM_OK && i < cells->count; ++i) add_cell(cells, domain, i, &list);
  return draw_list(&list, status, line_width(domain, cells->count), page, drawing, error);
}

/* Draws a mesh in few strokes of many edges. Fails with CVTM_ERROR_MEMORY; then *drawing is
 * empty. */
static cvtm_status run_draw_mesh(const cvtm_mesh *mesh, cvtm_domain domain, const cvtm_page *page,
                                 cvtm_drawing *drawing, cvtm_error *error) {
  line_list list = {0};
  cvtm_trails trails = {0};
  int32_t *edges = NULL;
  int64_t count = 0;
  cvtm_status status = cvtm_mesh_edges(mesh, &edges, &count, error);
  if (status == CVTM_OK)
    status = cvtm_trails_create(edges, count, mesh->vertex_count, &trails, error);
  if (status == CVTM_OK)
    status = allocate_lines(trails.start[trails.count], trails.count, &list, error);
  for (int64_t k = 0; status == CVTM_OK && k < trails.count; ++k) {
    for (int64_t i = trails.start[k]; i < trails.start[k + 1]; ++i)
      add_line_point(&list, mesh->points + 2 * (int64_t)trails.vertex[i]);
    end_line(&list);
  }
  free(edges);
  cvtm_trails_free(&trails);
  return draw_list(&list, status, line_width(domain, mesh->vertex_count), page, drawing, error);
}

/* --- pages ---------------------------------------------------------------------------------- */

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

/* What a drawing of this format shows. Without --svg, machines follow the closed path of --order
 * tsp, and pens draw dots if there is no such path. */
static cvtm_svg_kind run_page_shows(const cvtm_run_options *options, const cvtm_format *f) {
  if (!cvtm_format_has(f, CVTM_FOR_MACHINES) || (options->given & CVTM_RUN_GIVEN_SVG))
    return options->svg;
  if (options->order == CVTM_RUN_ORDER_TSP) return CVTM_SVG_PATH;
  const int has_dots = cvtm_format_has(f, CVTM_NEEDS_PAGE) && options->purpose != CVTM_RUN_OUTLINE;
  return has_dots ? CVTM_SVG_STIPPLES : options->svg;
}

int run_page_shows_sizes(const cvtm_run_options *options, const char *path) {
  const cvtm_format *f = run_output_format(options, path);
  return f != NULL && cvtm_format_has(f, CVTM_WRITES_DRAWING) &&
         !cvtm_format_has(f, CVTM_NEEDS_PAGE) && run_page_shows(options, f) == CVTM_SVG_STIPPLES;
}

int run_page_shows_points(const cvtm_run_options *options, const char *path) {
  const cvtm_svg_kind shown = run_page_shows(options, run_output_format(options, path));
  return shown == CVTM_SVG_STIPPLES || shown == CVTM_SVG_PATH;
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

static int is_page_side(double mm) { return mm > 0 && mm <= 10000; }

static cvtm_status place_on_page(const cvtm_run_options *options, double width, double height,
                                 cvtm_page *page, cvtm_error *error) {
  double page_width = options->page.width, page_height = options->page.height;
  if (!is_page_side(page_width) || !is_page_side(page_height))
    return cvtm_fail(
        error, CVTM_ERROR_ARGUMENT,
        "--page: '%gx%g' is neither A0 to A6, letter, legal, tabloid nor WIDTHxHEIGHT in mm",
        page_width, page_height);
  const int is_auto = options->page.orientation == CVTM_RUN_PAGE_AUTO;
  const int is_landscape =
      options->page.orientation == CVTM_RUN_PAGE_LANDSCAPE || (is_auto && width > height);
  const int stays = is_auto && (!options->page.is_format || width == height);
  if (!stays && is_landscape != (page_width > page_height)) {
    const double kept = page_width;
    page_width = page_height;
    page_height = kept;
  }
  return cvtm_page_place(page_width, page_height, options->page.margin, options->page.fill, width,
                         height, page, error);
}

/* The page that the picture fills without margins, with `scale` mm per pixel. */
static cvtm_page page_of_picture(double width, double height, double scale) {
  return (cvtm_page){.width = scale * width,
                     .height = scale * height,
                     .scale = scale,
                     .clip = {0, 0, scale * width, scale * height}};
}

/* The page of a drawing. Without --page the picture has its physical size; if that is unknown, a
 * pixel of a PDF is a CSS pixel. */
static cvtm_status find_page(const cvtm_run_options *options, const cvtm_format *f, double width,
                             double height, cvtm_page *page, cvtm_error *error) {
  const double mm_per_browser_pixel = 25.4 / 96;
  if (run_has_page(options)) return place_on_page(options, width, height, page, error);
  if (cvtm_format_has(f, CVTM_NEEDS_PAGE) && !(options->world.mm > 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the file does not name the unit of its pixels; give --page",
                     options->input.name);
  *page = page_of_picture(width, height,
                          options->world.mm > 0                    ? options->world.mm
                          : cvtm_format_has(f, CVTM_HAS_REAL_SIZE) ? mm_per_browser_pixel
                                                                   : 1);
  page->in_pixels = 1;
  return CVTM_OK;
}

/* Reads the profile of --gcode: a built-in one, or a file. */
static cvtm_status read_profile(const char *name, cvtm_gcode_profile *profile, cvtm_error *error) {
  enum { LIMIT = 1 << 20 };
  const char *builtin = cvtm_gcode_builtin(name);
  if (builtin != NULL) return cvtm_gcode_profile_parse(builtin, name, profile, error);
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_text_read(name, LIMIT, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_gcode_profile_parse((const char *)bytes, name, profile, error);
  free(bytes);
  return status;
}

/* Reads the profile of G-code, if there is one, before the work begins. */
static cvtm_status check_page_output(const cvtm_run_options *options, const char *path,
                                     cvtm_error *error) {
  cvtm_gcode_profile profile;
  if (run_output_kind_of(options, path) != RUN_OUTPUT_DRAWING) return CVTM_OK;
  const cvtm_format *f = run_output_format(options, path);
  if (cvtm_format_has(f, CVTM_NEEDS_PAGE) && !run_has_page(options) &&
      !run_world_may_have_unit(options))
    return run_usage_error(error, "%s: --page is missing, as in --page A4", path);
  if (!cvtm_format_has(f, CVTM_NEEDS_PROFILE)) return CVTM_OK;
  const cvtm_status status = read_profile(options->page.gcode, &profile, error);
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
  const cvtm_status status = place_on_page(options, domain.width, domain.height, &page, error);
  if (status == CVTM_OK) *scale = page.scale;
  return status;
}

cvtm_status run_frame_find(const cvtm_run_options *options, cvtm_domain domain, run_frame *frame,
                           cvtm_error *error) {
  const double mm = run_unit_mm(options->unit);
  cvtm_page page;
  *frame = (run_frame){.scale = 1,
                       .height = domain.height,
                       .is_up = options->purpose == CVTM_RUN_OUTLINE && domain.height == 0};
  if (options->world.scale > 0) {
    frame->is_up = 1;
    frame->scale = options->world.scale;
    frame->left = options->world.left;
    frame->bottom = options->world.bottom;
  }
  if (!(mm > 0) || options->world.scale > 0) return CVTM_OK;
  const cvtm_status status = place_on_page(options, domain.width, domain.height, &page, error);
  if (status != CVTM_OK) return status;
  frame->scale = page.scale / mm;
  frame->left = page.left / mm;
  frame->top = page.top / mm;
  frame->height = page.height / mm;
  frame->bottom = frame->height - (frame->top + frame->scale * domain.height);
  return CVTM_OK;
}

cvtm_status run_page_check_size(const cvtm_run_options *options, cvtm_error *error) {
  cvtm_page page;
  cvtm_error reason = {CVTM_OK, ""};
  if (run_has_page(options) && place_on_page(options, 1, 1, &page, &reason) != CVTM_OK)
    return run_usage_error(error, "%s", reason.message);
  if (run_unit_mm(options->unit) > 0 && !run_has_page(options) && !run_has_world(options))
    return run_usage_error(error, "--unit %s: --page is missing, as in --page A4, or --pixel-size",
                           run_unit_name(options->unit));
  return run_world_check(options, error);
}

cvtm_status run_page_check(const cvtm_run_options *options, cvtm_error *error) {
  cvtm_status status = run_page_check_size(options, error);
  for (int k = 0; status == CVTM_OK && k < options->output.count; ++k)
    status = check_page_output(options, options->output.item[k], error);
  return status;
}

static cvtm_status make_dots(const run_scene *scene, const cvtm_page *page, double spacing,
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

/* Splits the drawing by --split. Frees the drawing on failure. */
static cvtm_status split_lines(const cvtm_run_options *options, cvtm_drawing *drawing,
                               cvtm_error *error) {
  if (!(options->page.split > 0)) return CVTM_OK;
  const cvtm_status status = cvtm_drawing_split(drawing, options->page.split, error);
  if (status != CVTM_OK) cvtm_drawing_free(drawing);
  return status;
}

/* Makes the drawing of one pen. */
static cvtm_status make_layer(const run_scene *scene, const cvtm_format *f, const cvtm_page *page,
                              cvtm_drawing *drawing, cvtm_error *error) {
  const double line_share = 0.25; /* of the mean spacing: the width of a path */
  const cvtm_domain domain = scene->domain;
  const double spacing = sqrt((double)domain.width * domain.height / fmax((double)scene->count, 1));
  const int is_closed = scene->options->order == CVTM_RUN_ORDER_TSP;
  cvtm_status status;
  switch (run_page_shows(scene->options, f)) {
    case CVTM_SVG_CELLS:
      return run_draw_cells(scene->cells, domain, page, drawing, error);
    case CVTM_SVG_MESH:
      return run_draw_mesh(scene->mesh, domain, page, drawing, error);
    case CVTM_SVG_PATH:
      status = cvtm_drawing_of_path(page, scene->sites, scene->count, is_closed,
                                    line_share * spacing, drawing, error);
      return status == CVTM_OK ? split_lines(scene->options, drawing, error) : status;
    default:
      return make_dots(scene, page, spacing, drawing, error);
  }
}

/* Makes a layer for each pen. */
static cvtm_status make_layers(const run_scene *scene, const cvtm_format *f, const cvtm_page *page,
                               cvtm_drawing *drawing, cvtm_error *error) {
  const run_colours *colours = scene->colours;
  cvtm_drawing layer[CVTM_INKS_MAX] = {{.page = *page}};
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < colours->count; ++k) {
    run_scene own = *scene;
    own.sites = scene->sites + 2 * colours->start[k];
    own.radius = scene->radius + colours->start[k];
    own.count = colours->start[k + 1] - colours->start[k];
    status = make_layer(&own, f, page, &layer[k], error);
  }
  if (status == CVTM_OK)
    status = cvtm_drawing_join(layer, colours->pens.pen, colours->count, drawing, error);
  for (int k = 0; k < colours->count; ++k) cvtm_drawing_free(&layer[k]);
  return status;
}

static cvtm_status write_drawing(const cvtm_run_options *options, const char *path,
                                 const cvtm_format *f, const cvtm_drawing *drawing,
                                 cvtm_error *error) {
  cvtm_gcode_profile profile = {.text = NULL};
  const cvtm_drawing_settings settings = {.in_mm = run_has_page(options) || options->world.mm > 0,
                                          .profile = &profile};
  cvtm_status status = CVTM_OK;
  if (cvtm_format_has(f, CVTM_NEEDS_PROFILE))
    status = read_profile(options->page.gcode, &profile, error);
  if (status == CVTM_OK) status = cvtm_drawing_write(path, f->extension, drawing, &settings, error);
  cvtm_gcode_profile_free(&profile);
  return status;
}

cvtm_status run_page_write(const run_scene *scene, const char *path, const char *extension,
                           cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  const cvtm_format *f = find_drawing(extension);
  cvtm_page page;
  cvtm_drawing drawing;
  cvtm_status status =
      find_page(options, f, scene->domain.width, scene->domain.height, &page, error);
  if (status == CVTM_OK)
    status = (scene->colours != NULL ? make_layers : make_layer)(scene, f, &page, &drawing, error);
  if (status != CVTM_OK) return status;
  drawing.light = drawing.radius != NULL && run_stipples_are_light(options);
  status = write_drawing(options, path, f, &drawing, error);
  cvtm_drawing_free(&drawing);
  return status;
}

void run_page_report(const cvtm_run_options *options, cvtm_domain domain, cJSON *report) {
  cvtm_page page;
  if (!run_has_page(options) ||
      place_on_page(options, domain.width, domain.height, &page, NULL) != CVTM_OK)
    return;
  cJSON *part = cJSON_AddObjectToObject(report, "page");
  run_json_real(part, "width", page.width);
  run_json_real(part, "height", page.height);
  run_json_real(part, "mm_per_pixel", page.scale);
}

/* --- the order of points -------------------------------------------------------------------- */

static int has_order(const cvtm_run_options *options, const char *path) {
  const run_output_kind kind = run_output_kind_of(options, path);
  return kind == RUN_OUTPUT_DRAWING ? run_page_shows_points(options, path)
                                    : kind != RUN_OUTPUT_MESH;
}

cvtm_status run_order_check(const cvtm_run_options *options, cvtm_error *error) {
  if (options->order == CVTM_RUN_ORDER_NONE) {
    if (options->purpose == CVTM_RUN_ALL && options->svg == CVTM_SVG_PATH)
      return run_usage_error(error, "--svg path: --order is missing: tsp or plot");
    return CVTM_OK;
  }
  if (options->domain.kind != CVTM_RUN_DOMAIN_NONE)
    return run_usage_error(error,
                           "--order does not go with --domain, whose sites are vertices of a mesh");
  for (int k = 0; k < options->output.count; ++k)
    if (!has_order(options, options->output.item[k]))
      return run_usage_error(error, "--order: %s: cells and meshes have no order",
                             options->output.item[k]);
  return CVTM_OK;
}

/* The area of the rectangle of the points. */
static double rectangle_area(const double *points, int64_t count) {
  double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < 2 * count; ++k) {
    least[k % 2] = fmin(least[k % 2], points[k]);
    most[k % 2] = fmax(most[k % 2], points[k]);
  }
  return (most[0] - least[0]) * (most[1] - least[1]);
}

typedef struct order_watch {
  run_limit limit;
  int is_stopped;
} order_watch;

/* A cvtm_tour_stop. */
static int has_ended(void *context) {
  order_watch *watch = context;
  watch->is_stopped |= run_is_over(&watch->limit);
  return watch->is_stopped;
}

cvtm_status run_order_find(const cvtm_run_options *options, const double *points, int64_t count,
                           double deadline, run_point_order *order, cvtm_error *error) {
  memset(order, 0, sizeof *order);
  if (options->order == CVTM_RUN_ORDER_NONE) return CVTM_OK;
  const double start = cvtm_clock();
  order->order = malloc((size_t)count * sizeof *order->order);
  if (order->order == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
  order_watch watch = {{options, deadline}, 0};
  cvtm_status status = cvtm_tour_create_until(points, count, (int)options->threads, has_ended,
                                              &watch, order->order, error);
  order->is_stopped = watch.is_stopped;
  if (status == CVTM_OK)
    status = cvtm_tour_bound(points, count, (int)options->threads, &order->bound, error);
  if (status != CVTM_OK) return status;
  const int is_closed = options->order == CVTM_RUN_ORDER_TSP;
  if (!is_closed) cvtm_tour_open(points, count, order->order);
  order->length = cvtm_tour_length(points, count, order->order, is_closed);
  order->estimate = cvtm_tour_estimate(count, rectangle_area(points, count));
  order->seconds = cvtm_clock() - start;
  return CVTM_OK;
}

cvtm_status run_order_apply(const run_point_order *order, int64_t count, int columns,
                            double *values, cvtm_error *error) {
  if (order->order == NULL || values == NULL) return CVTM_OK;
  const size_t row = (size_t)columns * sizeof *values;
  double *sorted = malloc((size_t)count * row);
  if (sorted == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
  for (int64_t k = 0; k < count; ++k)
    memcpy(sorted + columns * k, values + columns * (int64_t)order->order[k], row);
  memcpy(values, sorted, (size_t)count * row);
  free(sorted);
  return CVTM_OK;
}

void run_order_free(run_point_order *order) {
  free(order->order);
  order->order = NULL;
}

void run_order_report(const run_point_order *order, const cvtm_run_options *options,
                      cJSON *report) {
  if (order->order == NULL) return;
  cJSON *part = cJSON_AddObjectToObject(report, "order");
  run_json_text(part, "kind", options->order == CVTM_RUN_ORDER_TSP ? "tsp" : "plot");
  run_json_real(part, "length", order->length);
  run_json_real(part, "bound", order->bound);
  run_json_real(part, "uniform_estimate", order->estimate);
  run_json_real(part, "seconds", order->seconds);
  cJSON_AddBoolToObject(part, "stopped", order->is_stopped);
}
