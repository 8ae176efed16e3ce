#include "meshes/domain/pslg.h"

#include "base/file.h"
#include "base/host_memory.h"
#include "meshes/domain/plane_parts.h"
#include "meshes/formats/polygon_rings.h"
#include "meshes/formats/triangle_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_pslg_free(cvtm_pslg *pslg) {
  cvtm_boundary_free(&pslg->boundary);
  free(pslg->areas);
  for (int64_t k = 0; k < pslg->name_count; ++k) free(pslg->text[k]);
  free(pslg->text);
  free(pslg->names);
  *pslg = (cvtm_pslg){0};
}

/* ---- Reading ---- */

/* A point in a hole or a region. */
typedef struct place {
  double x, y, attribute, area; /* NAN: there is none */
} place;

typedef struct graph {
  cvtm_source *source;
  cvtm_triangle_vertices vertices;
  int32_t *ends; /* 2 per segment */
  int64_t segment_count, hole_count, region_count;
  place *holes, *regions;
} graph;

static void free_graph(graph *g) {
  free(g->vertices.points);
  free(g->ends);
  free(g->holes);
  free(g->regions);
}

/* What follows the coordinates on their line. */
static cvtm_status read_attributes(cvtm_source *s, place *p) {
  double *const values[2] = {&p->attribute, &p->area};
  cvtm_token token;
  for (int k = 0; k < 2 && cvtm_source_line_token(s, &token); ++k)
    if (!cvtm_token_number(token, values[k]))
      return cvtm_source_fail(s, "a region's attribute or area is no number");
  return CVTM_OK;
}

/* A list of points; at the end of the file there is none. */
static cvtm_status read_places(cvtm_source *s, const char *what, int have_attributes, place **list,
                               int64_t *count) {
  cvtm_source ahead = *s;
  cvtm_token token;
  *count = 0;
  if (!cvtm_source_token(&ahead, &token)) return CVTM_OK;
  cvtm_status status = cvtm_source_integer(s, CVTM_I64, 0, INT32_MAX / 2, what, count);
  if (status == CVTM_OK && (uint64_t)*count > s->size)
    status = cvtm_source_fail(s, "more points are claimed than the file can hold");
  if (status != CVTM_OK) return status;
  *list = malloc(((size_t)*count + 1) * sizeof **list);
  if (*list == NULL) return cvtm_source_no_memory(s);
  for (int64_t k = 0; k < *count && status == CVTM_OK; ++k) {
    place *p = &(*list)[k];
    double number;
    *p = (place){0, 0, NAN, NAN};
    status = cvtm_source_value(s, CVTM_F64, &number);
    if (status == CVTM_OK) status = cvtm_source_value(s, CVTM_F64, &p->x);
    if (status == CVTM_OK) status = cvtm_source_value(s, CVTM_F64, &p->y);
    if (status == CVTM_OK && have_attributes) status = read_attributes(s, p);
  }
  return status;
}

static cvtm_status read_graph(graph *g) {
  cvtm_status status =
      cvtm_triangle_read_graph(g->source, &g->vertices, &g->ends, &g->segment_count);
  if (status == CVTM_OK)
    status = read_places(g->source, "number of holes", 0, &g->holes, &g->hole_count);
  if (status == CVTM_OK)
    status = read_places(g->source, "number of regions", 1, &g->regions, &g->region_count);
  return status;
}

/* Every vertex has an even number of segments, and there is one region. */
static int find_rings(const graph *g) {
  uint8_t *odd = calloc((size_t)g->vertices.count + 1, 1);
  int rings = odd != NULL && g->region_count <= 1;
  for (int64_t k = 0; k < 2 * g->segment_count && odd != NULL; ++k) odd[g->ends[k]] ^= 1;
  for (int64_t v = 0; v < g->vertices.count && rings; ++v) rings = !odd[v];
  free(odd);
  return rings;
}

/* ---- Parts of the plane ---- */

/* The part that a place is in; -1: none. */
static int32_t part_at(const cvtm_plane_parts *p, const place *at) {
  const double x = at->x, y = at->y;
  for (int64_t t = 0; t < p->mesh.triangle_count; ++t) {
    int inside = 1;
    for (int k = 0; k < 3 && inside; ++k) {
      const double *a = p->mesh.points + 2 * (int64_t)p->mesh.triangles[3 * t + k];
      const double *b = p->mesh.points + 2 * (int64_t)p->mesh.triangles[3 * t + (k + 1) % 3];
      /* Clockwise, in the mirror counterclockwise. */
      inside = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) <= 0;
    }
    if (inside) return p->part[t];
  }
  return -1;
}

static cvtm_status number_parts(const graph *g, cvtm_plane_parts *p, cvtm_pslg *made,
                                cvtm_error *error) {
  const int32_t most = 1 << 30;
  int32_t last = 0, inside = 0, holes = 0;
  made->areas = malloc(((size_t)g->region_count + 1) * sizeof *made->areas);
  if (made->areas == NULL) return cvtm_no_memory(error, "the segments");
  for (int64_t k = 0; k < g->hole_count; ++k) {
    const int32_t part = part_at(p, &g->holes[k]);
    if (part < 0) continue;
    holes += p->region[part] < 0;
    p->region[part] = 0;
  }
  for (int64_t k = 0; k < g->region_count; ++k) {
    const place *at = &g->regions[k];
    const int32_t part = part_at(p, at);
    const int named =
        at->attribute >= 1 && at->attribute <= most && at->attribute == floor(at->attribute);
    if (part < 0 || p->region[part] == 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the point (%g, %g) of a region is outside",
                       g->source->name, at->x, at->y);
    const int32_t region = named ? (int32_t)at->attribute : (int32_t)(k + 1);
    p->region[part] = region;
    last = region > last ? region : last;
    if (at->area > 0) made->areas[made->area_count++] = (cvtm_region_area){region, at->area};
  }
  for (int32_t k = 0; k < p->part_count; ++k) {
    if (p->region[k] < 0) p->region[k] = ++last;
    inside += p->region[k] > 0;
  }
  if (inside > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the segments bound nothing: %s", g->source->name,
                   holes > 0 ? "all that they enclose is a hole" : "they make no closed ring");
}

static cvtm_status divide_plane(const graph *g, cvtm_pslg *made, cvtm_error *error) {
  double *points = g->vertices.points;
  cvtm_plane_parts p;
  cvtm_status status =
      cvtm_plane_parts_create(points, g->vertices.count, g->ends, g->segment_count, &p, error);
  if (status == CVTM_OK) status = number_parts(g, &p, made, error);
  if (status == CVTM_OK) status = cvtm_plane_parts_boundary(points, &p, 1, &made->boundary, error);
  cvtm_plane_parts_free(&p);
  return status;
}

static cvtm_status read_poly(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  graph g = {.source = &source};
  cvtm_pslg made = {0};
  cvtm_status status = read_graph(&g);
  *is_rings = status == CVTM_OK && (find_rings(&g) || g.segment_count < 3);
  if (status == CVTM_OK && !*is_rings) status = divide_plane(&g, &made, error);
  free_graph(&g);
  if (status != CVTM_OK) {
    cvtm_pslg_free(&made);
    return status;
  }
  made.skipped = source.skipped;
  *pslg = made;
  return CVTM_OK;
}

cvtm_status cvtm_pslg_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_pslg *pslg, int *is_rings,
                                 cvtm_error *error) {
  const int is_poly = strcmp(extension, "poly") == 0;
  if (is_poly) return read_poly(bytes, size, name, pslg, is_rings, error);
  return cvtm_pslg_read_shapes(extension, bytes, size, name, pslg, is_rings, error);
}

cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_polygons_load(path, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_pslg_read_bytes(extension, bytes, size, path, pslg, is_rings, error);
  free(bytes);
  return status;
}

void cvtm_pslg_turn(cvtm_pslg *pslg, int y_up, int height) {
  cvtm_boundary *b = &pslg->boundary;
  for (int64_t v = 0; v < b->vertex_count && y_up; ++v)
    b->points[2 * v + 1] = height - b->points[2 * v + 1];
  if (y_up) return;
  int32_t *const left = b->left;
  b->left = b->right;
  b->right = left;
}
