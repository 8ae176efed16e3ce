#include "cli/page_lines.h"

#include "draw/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As wide as the lines of other SVG files of cells and meshes. */
static double line_width(cvtm_domain domain, int64_t count) {
  return 0.05 * sqrt((double)domain.width * domain.height / (double)(count > 0 ? count : 1));
}

/* Lines that grow in arrays that are large enough. */
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
  free(list->points);
  free(list->start);
  return status;
}

/* An edge between two cells belongs to the first of them. Of a torus each cell draws its own edges:
 * those of neighbours across the border lie elsewhere. */
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

cvtm_status cli_draw_cells(const cvtm_cells *cells, cvtm_domain domain, const cvtm_page *page,
                           cvtm_drawing *drawing, cvtm_error *error) {
  line_list list;
  const int64_t corners = cells->start[cells->count];
  const cvtm_status status = allocate_lines(2 * corners, corners, &list, error);
  for (int64_t i = 0; status == CVTM_OK && i < cells->count; ++i) add_cell(cells, domain, i, &list);
  return draw_list(&list, status, line_width(domain, cells->count), page, drawing, error);
}

cvtm_status cli_draw_mesh(const cvtm_mesh *mesh, cvtm_domain domain, const cvtm_page *page,
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
