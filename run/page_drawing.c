/* The strokes and dots of a scene on a page. */
#include "run/colours.h"
#include "run/output.h"
#include "run/page.h"
#include "run/stipples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the lines of cells and of meshes ------------------------------------------------------- */

/* The width of lines in all SVG files of cells and meshes that no pen draws. */
static double line_width(cvtm_domain domain, int64_t count, double pen) {
  if (pen > 0) return pen;
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

/* Nonzero if a cell draws an edge: of two cells the first does. */
static int is_own_edge(const cvtm_cells *cells, int64_t i, int64_t edge) {
  const int32_t other = cells->neighbors[edge];
  return other < 0 || other > i;
}

/* Adds the edges that belong to the cell; each run of consecutive edges becomes one line. */
static void add_cell(const cvtm_cells *cells, int64_t i, line_list *list) {
  const int64_t first = cells->start[i], count = cells->start[i + 1] - first;
  int64_t begin =
      0; /* the edge after the last edge that does not belong to the cell; 0 if all do */
  for (int64_t k = 0; k < count; ++k)
    if (!is_own_edge(cells, i, first + k)) begin = k + 1;
  int is_drawing = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t at = (begin + k) % count, next = (at + 1) % count;
    const int is_own = is_own_edge(cells, i, first + at);
    if (is_drawing && !is_own) end_line(list);
    if (is_own && !is_drawing) add_line_point(list, cells->corners + 2 * (first + at));
    if (is_own) add_line_point(list, cells->corners + 2 * (first + next));
    is_drawing = is_own;
  }
  if (is_drawing) end_line(list);
}

/* Draws cells. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
static cvtm_status run_draw_cells(const cvtm_cells *cells, cvtm_domain domain,
                                  const cvtm_page *page, double pen, cvtm_drawing *drawing,
                                  cvtm_error *error) {
  line_list list;
  const int64_t corners = cells->start[cells->count];
  const cvtm_status status = allocate_lines(2 * corners, corners, &list, error);
  for (int64_t i = 0; status == CVTM_OK && i < cells->count; ++i) add_cell(cells, i, &list);
  return draw_list(&list, status, line_width(domain, cells->count, pen), page, drawing, error);
}

/* Draws a mesh in few long strokes. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
static cvtm_status run_draw_mesh(const cvtm_mesh *mesh, cvtm_domain domain, const cvtm_page *page,
                                 double pen, cvtm_drawing *drawing, cvtm_error *error) {
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
  return draw_list(&list, status, line_width(domain, mesh->vertex_count, pen), page, drawing,
                   error);
}

/* --- dots, touches and paths ------------------------------------------------------------------ */

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

/* Draws one touch for each point, or spirals if dots have sizes. The strokes are ordered for short
 * travel, unless --order or the file of the points gives an order. */
static cvtm_status make_touches(const run_scene *scene, const cvtm_page *page, double pen,
                                cvtm_drawing *drawing, cvtm_error *error) {
  double *touch = NULL;
  if (scene->radius == NULL) {
    touch = calloc((size_t)scene->count + 1, sizeof *touch);
    if (touch == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for touches of a pen");
  }
  cvtm_status status = cvtm_drawing_of_touches(
      page, scene->sites, touch != NULL ? touch : scene->radius, scene->count, pen, drawing, error);
  free(touch);
  const int has_order = scene->is_simulated || scene->options->order != CVTM_RUN_ORDER_NONE ||
                        scene->options->purpose == CVTM_RUN_POINTS;
  if (status != CVTM_OK || has_order) return status;
  status = cvtm_drawing_order(drawing, error);
  if (status != CVTM_OK) cvtm_drawing_free(drawing);
  return status;
}

/* Makes the drawing of one pen. */
static cvtm_status make_layer(const run_scene *scene, cvtm_svg_kind shown, const cvtm_page *page,
                              cvtm_drawing *drawing, cvtm_error *error) {
  const double line_share = 0.25; /* of the mean spacing: the width of a path */
  const cvtm_domain domain = scene->domain;
  const double spacing = sqrt((double)domain.width * domain.height / fmax((double)scene->count, 1));
  const int is_closed = scene->options->order == CVTM_RUN_ORDER_TSP;
  double pen;
  cvtm_status status = run_pen_width(scene->options, domain, &pen, error);
  if (status != CVTM_OK) return status;
  switch (shown) {
    case CVTM_SVG_CELLS:
      return run_draw_cells(scene->cells, domain, page, pen, drawing, error);
    case CVTM_SVG_MESH:
      return run_draw_mesh(scene->mesh, domain, page, pen, drawing, error);
    case CVTM_SVG_PATH:
      status = cvtm_drawing_of_path(page, scene->sites, scene->count, is_closed,
                                    pen > 0 ? pen : line_share * spacing, drawing, error);
      return status == CVTM_OK ? split_lines(scene->options, drawing, error) : status;
    case CVTM_SVG_TOUCHES:
      return make_touches(scene, page, pen, drawing, error);
    default:
      return make_dots(scene, page, spacing, drawing, error);
  }
}

run_scene run_scene_of_pen(const run_scene *scene, int k, cvtm_run_options *of_pen) {
  const run_colours *colours = scene->colours;
  run_scene own = *scene;
  if (colours == NULL) return own;
  *of_pen = run_options_of_pen(scene->options, &colours->pens, k);
  own.options = of_pen;
  own.colours = NULL;
  own.sites = scene->sites + 2 * colours->start[k];
  own.radius = scene->radius + colours->start[k];
  own.count = colours->start[k + 1] - colours->start[k];
  return own;
}

/* Makes a layer for each pen. */
static cvtm_status make_layers(const run_scene *scene, cvtm_svg_kind shown, const cvtm_page *page,
                               cvtm_drawing *drawing, cvtm_error *error) {
  const run_colours *colours = scene->colours;
  cvtm_drawing layer[CVTM_INKS_MAX] = {{.page = *page}};
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < colours->count; ++k) {
    cvtm_run_options of_pen;
    const run_scene own = run_scene_of_pen(scene, k, &of_pen);
    status = make_layer(&own, shown, page, &layer[k], error);
  }
  if (status == CVTM_OK)
    status = cvtm_drawing_join(layer, colours->pens.pen, colours->count, drawing, error);
  for (int k = 0; k < colours->count; ++k) cvtm_drawing_free(&layer[k]);
  return status;
}

cvtm_status run_page_draw(const run_scene *scene, cvtm_svg_kind shown, const cvtm_page *page,
                          cvtm_drawing *drawing, cvtm_error *error) {
  return (scene->colours != NULL ? make_layers : make_layer)(scene, shown, page, drawing, error);
}
