#include "meshes/pslg.h"

#include "base/file.h"
#include "base/host_memory.h"
#include "base/numeric_locale.h"
#include "meshes/constrained.h"
#include "meshes/edge_faces.h"
#include "meshes/triangle_text.h"
#include "meshes/twins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_pslg_free(cvtm_pslg *pslg) {
  cvtm_boundary_free(&pslg->boundary);
  free(pslg->areas);
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

/* The constrained triangulation of the convex hull, and the parts that its segments bound. */
typedef struct parts {
  cvtm_mesh mesh;
  cvtm_regions edges;
  int32_t *source;
  int64_t *twin, *at, *face, *stack;
  uint8_t *is_segment; /* per half-edge */
  int32_t *part;       /* per triangle: from 0 on */
  int32_t *region;     /* per part: 0 outside; -1: not known */
  int32_t part_count;
} parts;

static void free_parts(parts *p) {
  cvtm_mesh_free(&p->mesh);
  cvtm_regions_free(&p->edges);
  free(p->source);
  free(p->twin);
  free(p->at);
  free(p->face);
  free(p->stack);
  free(p->is_segment);
  free(p->part);
  free(p->region);
}

/* Both sides of all segments are region 1, so that every triangle stays. y is up, so that this is
 * the triangulation in a mirror. */
static cvtm_status triangulate_graph(const graph *g, parts *p, cvtm_error *error) {
  const size_t n = (size_t)g->vertices.count, edges = (size_t)g->segment_count;
  int32_t *ones = malloc((edges + 1) * sizeof *ones);
  if (ones == NULL) return cvtm_no_memory(error, "the segments");
  for (size_t e = 0; e < edges; ++e) ones[e] = 1;
  const cvtm_boundary all = {.vertex_count = (int64_t)n,
                             .points = g->vertices.points,
                             .edge_count = (int64_t)edges,
                             .edges = g->ends,
                             .left = ones,
                             .right = ones};
  const cvtm_status status = cvtm_constrained_delaunay(all.points, (int64_t)n, &all, &p->mesh,
                                                       &p->edges, &p->source, error);
  free(ones);
  return status;
}

static cvtm_status find_neighbours(parts *p, cvtm_error *error) {
  const size_t halves = 3 * (size_t)p->mesh.triangle_count;
  p->twin = malloc(halves * sizeof *p->twin);
  p->at = malloc((size_t)p->mesh.vertex_count * sizeof *p->at);
  p->face = malloc(((size_t)p->edges.edge_count + 1) * sizeof *p->face);
  p->stack = malloc(halves * sizeof *p->stack);
  p->is_segment = calloc(halves, 1);
  p->part = malloc(halves * sizeof *p->part);
  p->region = malloc(halves * sizeof *p->region);
  if (!p->twin || !p->at || !p->face || !p->stack || !p->is_segment || !p->part || !p->region ||
      !cvtm_find_edge_faces(p->mesh.triangles, p->mesh.triangle_count, p->mesh.vertex_count,
                            &p->edges, p->face))
    return cvtm_no_memory(error, "the segments");
  const cvtm_status status = cvtm_find_twins(p->mesh.triangles, p->mesh.triangle_count,
                                             p->mesh.vertex_count, p->twin, p->at, error);
  for (int64_t e = 0; e < p->edges.edge_count && status == CVTM_OK; ++e) {
    p->is_segment[p->face[e]] = 1;
    if (p->twin[p->face[e]] >= 0) p->is_segment[p->twin[p->face[e]]] = 1;
  }
  return status;
}

/* Numbers the parts; one that reaches the hull without a segment between is outside. */
static void find_parts(parts *p) {
  for (int64_t t = 0; t < p->mesh.triangle_count; ++t) p->part[t] = -1;
  for (int64_t t = 0; t < p->mesh.triangle_count; ++t) {
    if (p->part[t] >= 0) continue;
    const int32_t number = p->part_count++;
    int64_t depth = 0;
    p->region[number] = -1;
    p->part[t] = number;
    p->stack[depth++] = t;
    while (depth > 0) {
      const int64_t here = p->stack[--depth];
      for (int64_t h = 3 * here; h < 3 * here + 3; ++h) {
        if (p->is_segment[h]) continue;
        const int64_t beside = p->twin[h] < 0 ? -1 : p->twin[h] / 3;
        if (beside < 0) p->region[number] = 0;
        if (beside < 0 || p->part[beside] >= 0) continue;
        p->part[beside] = number;
        p->stack[depth++] = beside;
      }
    }
  }
}

/* The part that a place is in; -1: none. */
static int32_t part_at(const parts *p, const place *at) {
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

static cvtm_status number_parts(const graph *g, parts *p, cvtm_pslg *made, cvtm_error *error) {
  const int32_t most = 1 << 30;
  int32_t last = 0, inside = 0;
  made->areas = malloc(((size_t)g->region_count + 1) * sizeof *made->areas);
  if (made->areas == NULL) return cvtm_no_memory(error, "the segments");
  for (int64_t k = 0; k < g->hole_count; ++k) {
    const int32_t part = part_at(p, &g->holes[k]);
    if (part >= 0) p->region[part] = 0;
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
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the segments bound nothing", g->source->name);
}

static int32_t region_of(const parts *p, int64_t half) {
  return half < 0 ? 0 : p->region[p->part[half / 3]];
}

/* The segments with a region beside them, between the vertices of the file. */
static cvtm_status extract_boundary(const graph *g, const parts *p, cvtm_boundary *b,
                                    cvtm_error *error) {
  const size_t n = (size_t)p->mesh.vertex_count, edges = (size_t)p->edges.edge_count + 1;
  int32_t *number = malloc(n * sizeof *number);
  *b = (cvtm_boundary){.points = malloc(2 * n * sizeof *b->points),
                       .corner = malloc(n),
                       .edges = malloc(2 * edges * sizeof *b->edges),
                       .left = malloc(edges * sizeof *b->left),
                       .right = malloc(edges * sizeof *b->right)};
  if (!number || !b->points || !b->corner || !b->edges || !b->left || !b->right) {
    free(number);
    return cvtm_no_memory(error, "the segments");
  }
  for (size_t v = 0; v < n; ++v) number[v] = -1;
  for (int64_t e = 0; e < p->edges.edge_count; ++e) {
    /* Left and right as without the mirror. */
    const int32_t right = region_of(p, p->face[e]), left = region_of(p, p->twin[p->face[e]]);
    if (left == 0 && right == 0) continue;
    for (int i = 0; i < 2; ++i) {
      const int32_t v = p->edges.edges[2 * e + i];
      if (number[v] < 0) {
        number[v] = (int32_t)b->vertex_count;
        memcpy(b->points + 2 * b->vertex_count, g->vertices.points + 2 * (int64_t)p->source[v],
               2 * sizeof *b->points);
        b->corner[b->vertex_count++] = 1;
      }
      b->edges[2 * b->edge_count + i] = number[v];
    }
    b->left[b->edge_count] = left;
    b->right[b->edge_count++] = right;
  }
  free(number);
  return CVTM_OK;
}

static cvtm_status divide_plane(const graph *g, cvtm_pslg *made, cvtm_error *error) {
  parts p = {0};
  cvtm_status status = triangulate_graph(g, &p, error);
  if (status == CVTM_OK) status = find_neighbours(&p, error);
  if (status == CVTM_OK) find_parts(&p);
  if (status == CVTM_OK) status = number_parts(g, &p, made, error);
  if (status == CVTM_OK) status = extract_boundary(g, &p, &made->boundary, error);
  free_parts(&p);
  return status;
}

cvtm_status cvtm_pslg_read_bytes(const unsigned char *bytes, size_t size, const char *name,
                                 cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  cvtm_source source = {.name = name, .data = bytes, .size = size, .line = 1, .error = error};
  graph g = {.source = &source};
  cvtm_pslg made = {0};
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  cvtm_status status = read_graph(&g);
  cvtm_numeric_locale_leave(locale);
  *is_rings = status == CVTM_OK && (find_rings(&g) || g.segment_count < 3);
  if (status == CVTM_OK && !*is_rings) status = divide_plane(&g, &made, error);
  free_graph(&g);
  if (status != CVTM_OK) {
    cvtm_pslg_free(&made);
    return status;
  }
  *pslg = made;
  return CVTM_OK;
}

cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_triangle_load_poly(path, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_pslg_read_bytes(bytes, size, path, pslg, is_rings, error);
  free(bytes);
  return status;
}
