/* SVG: writes pictures, y down like the image. Coordinates are rounded to about a thousandth of the
 * mean spacing, with at least two decimals. */
#include "base/file.h"
#include "base/host.h"
#include "base/portable.h"
#include "meshes/formats/formats.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mean_spacing(cvtm_domain domain, int64_t count) {
  return sqrt((double)domain.width * domain.height / (double)(count > 0 ? count : 1));
}

static int choose_decimals(double spacing) {
  int decimals = (int)ceil(log10(1000 / spacing));
  return decimals < 2 ? 2 : decimals > 12 ? 12 : decimals;
}

static void put_number(FILE *file, double value, int decimals) {
  char text[CVTM_TEXT_FIXED];
  fwrite(text, 1, (size_t)(cvtm_text_fixed(text, value, decimals) - text), file);
}

enum { POINT_BYTES = 2 * CVTM_TEXT_FIXED + 2 };

static char *put_path_point(char *to, char command, const double *p, int decimals) {
  *to++ = command;
  to = cvtm_text_fixed(to, p[0], decimals);
  *to++ = p[1] < 0 ? ' ' : ',';
  return cvtm_text_fixed(to, p[1], decimals);
}

typedef struct stipples {
  const cvtm_mesh *mesh;
  const double *radius; /* one per site; NULL: one_radius for all */
  double one_radius;
  int decimals;
} stipples;

static char *put_stipple(char *to, const void *context, int64_t i) {
  const stipples *s = context;
  to = cvtm_text_word(to, "<circle cx=\"");
  to = cvtm_text_fixed(to, s->mesh->points[2 * i], s->decimals);
  to = cvtm_text_word(to, "\" cy=\"");
  to = cvtm_text_fixed(to, s->mesh->points[2 * i + 1], s->decimals);
  to = cvtm_text_word(to, "\" r=\"");
  to = cvtm_text_fixed(to, s->radius != NULL ? s->radius[i] : s->one_radius, s->decimals + 1);
  return cvtm_text_word(to, "\"/>\n");
}

static void write_stipples(FILE *file, const cvtm_mesh *mesh, const double *radius, int light,
                           double spacing) {
  const double share =
      0.3; /* radius as a fraction of the mean spacing, such that neighbours do not touch */
  const stipples s = {mesh, radius, share * spacing, choose_decimals(spacing)};
  fprintf(file, "<g fill=\"%s\">\n", light ? "#fff" : "#000");
  cvtm_write_items(file, mesh->vertex_count, 3 * CVTM_TEXT_FIXED + 40, put_stipple, &s);
  fputs("</g>\n", file);
}

static void begin_lines(FILE *file, double spacing) {
  fputs("<g fill=\"none\" stroke=\"#000\" stroke-linejoin=\"round\" stroke-width=\"", file);
  put_number(file, 0.05 * spacing, 4);
  fputs("\">\n", file);
}

static void write_cells(FILE *file, const cvtm_cells *cells, double spacing) {
  const int decimals = choose_decimals(spacing);
  char text[POINT_BYTES];
  begin_lines(file, spacing);
  for (int64_t i = 0; i < cells->count; ++i) {
    if (cells->start[i] == cells->start[i + 1]) continue;
    fputs("<path d=\"", file);
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k) {
      const char command = k == cells->start[i] ? 'M' : 'L';
      const char *end = put_path_point(text, command, cells->corners + 2 * k, decimals);
      fwrite(text, 1, (size_t)(end - text), file);
    }
    fputs("Z\"/>\n", file);
  }
  fputs("</g>\n", file);
}

/* The text of a vertex, stored because about six edges share it. */
typedef struct vertex_text {
  char length; /* 0: the text does not fit */
  char text[47];
} vertex_text;

typedef struct edge_path {
  const cvtm_mesh *mesh;
  const int32_t *edges;
  int64_t count;
  int decimals;
  const vertex_text *vertices; /* or NULL */
} edge_path;

/* malloc'd. NULL if memory runs out; then each edge formats its ends again. */
static vertex_text *format_vertices(const cvtm_mesh *mesh, int decimals) {
  const size_t bytes = ((size_t)mesh->vertex_count + 1) * sizeof(vertex_text);
  vertex_text *made = malloc(bytes);
  if (made == NULL) return NULL;
  cvtm_prefer_large_pages(made, bytes);
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    char text[POINT_BYTES];
    memset(made[v].text, 0, sizeof made[v].text);
    const size_t length =
        (size_t)(put_path_point(text, 'M', mesh->points + 2 * v, decimals) - text) - 1;
    made[v].length = length <= sizeof made[v].text ? (char)length : 0;
    memcpy(made[v].text, text + 1, length <= sizeof made[v].text ? length : 0);
  }
  return made;
}

static char *put_vertex(char *to, char command, const edge_path *path, int32_t v) {
  if (path->vertices == NULL || path->vertices[v].length == 0)
    return put_path_point(to, command, path->mesh->points + 2 * (ptrdiff_t)v, path->decimals);
  const vertex_text *made = &path->vertices[v];
  *to++ = command;
  memcpy(to, made->text, sizeof made->text); /* a fixed size, which compilers copy without a call */
  return to + made->length;
}

static char *put_edge(char *to, const void *context, int64_t k) {
  enum {
    PER_LINE = 8,
    AHEAD = 16 /* edges to prefetch, because their second ends are scattered in memory */
  };
  const edge_path *path = context;
  if (path->vertices != NULL && k + AHEAD < path->count)
    __builtin_prefetch(path->vertices + path->edges[2 * (k + AHEAD) + 1]);
  if (k > 0 && k % PER_LINE == 0) *to++ = '\n';
  to = put_vertex(to, 'M', path, path->edges[2 * k]);
  return put_vertex(to, 'L', path, path->edges[2 * k + 1]);
}

/* Writes all edges as one path, which keeps the file small. */
static void write_edges(FILE *file, const cvtm_mesh *mesh, const int32_t *edges, int64_t count,
                        double spacing) {
  const int decimals = choose_decimals(spacing);
  vertex_text *vertices = format_vertices(mesh, decimals);
  const edge_path path = {mesh, edges, count, decimals, vertices};
  begin_lines(file, spacing);
  fputs("<path d=\"", file);
  cvtm_write_items(file, count, 2 * POINT_BYTES + 1, put_edge, &path);
  fputs("\"/>\n</g>\n", file);
  free(vertices);
}

static char *put_step(char *to, const void *context, int64_t i) {
  enum { PER_LINE = 16 };
  const stipples *s = context;
  if (i > 0 && i % PER_LINE == 0) *to++ = '\n';
  return put_path_point(to, i == 0 ? 'M' : 'L', s->mesh->points + 2 * i, s->decimals);
}

static void write_path(FILE *file, const cvtm_mesh *mesh, int closed, double spacing) {
  const double share = 0.25; /* width of the line as a fraction of the mean spacing */
  const stipples s = {.mesh = mesh, .decimals = choose_decimals(spacing)};
  fputs(
      "<path fill=\"none\" stroke=\"#000\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
      "stroke-width=\"",
      file);
  put_number(file, share * spacing, s.decimals + 1);
  fputs("\" d=\"", file);
  cvtm_write_items(file, mesh->vertex_count, POINT_BYTES + 1, put_step, &s);
  fputs(closed ? "Z\"/>\n" : "\"/>\n", file);
}

/* Writes the size of the picture, in mm if the size of a pixel is known. */
static void write_head(FILE *file, cvtm_domain domain, double mm) {
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" ",
        file);
  if (mm > 0) {
    fputs("width=\"", file);
    cvtm_put_number(file, mm * domain.width);
    fputs("mm\" height=\"", file);
    cvtm_put_number(file, mm * domain.height);
    fputs("mm\" ", file);
  } else {
    fprintf(file, "width=\"%d\" height=\"%d\" ", domain.width, domain.height);
  }
  fprintf(file, "viewBox=\"0 0 %d %d\">\n", domain.width, domain.height);
}

cvtm_status cvtm_svg_write(const char *path, cvtm_svg_kind kind, const cvtm_mesh *mesh,
                           const cvtm_cells *cells, const double *radius, int light, double mm,
                           cvtm_domain domain, cvtm_error *error) {
  int32_t *edges = NULL;
  int64_t edge_count = 0;
  cvtm_output *output = NULL;
  if (kind == CVTM_SVG_TOUCHES) kind = CVTM_SVG_STIPPLES;
  cvtm_status status =
      kind == CVTM_SVG_MESH ? cvtm_mesh_edges(mesh, &edges, &edge_count, error) : CVTM_OK;
  if (status == CVTM_OK) status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    FILE *file = cvtm_output_stream(output);
    const int64_t sites = kind == CVTM_SVG_CELLS ? cells->count : mesh->vertex_count;
    const double spacing = mean_spacing(domain, sites);
    write_head(file, domain, mm);
    fprintf(file, "<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", domain.width, domain.height,
            light && kind == CVTM_SVG_STIPPLES ? "#000" : "#fff");
    if (kind == CVTM_SVG_STIPPLES) write_stipples(file, mesh, radius, light, spacing);
    if (kind == CVTM_SVG_CELLS) write_cells(file, cells, spacing);
    if (kind == CVTM_SVG_MESH) write_edges(file, mesh, edges, edge_count, spacing);
    if (kind == CVTM_SVG_PATH || kind == CVTM_SVG_TOUR)
      write_path(file, mesh, kind == CVTM_SVG_TOUR, spacing);
    fputs("</svg>\n", file);
    status = cvtm_output_commit(output, error);
  }
  free(edges);
  return status;
}
