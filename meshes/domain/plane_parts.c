#include "meshes/domain/plane_parts.h"

#include "base/host_memory.h"
#include "meshes/constrained.h"
#include "meshes/elements/edge_faces.h"
#include "meshes/elements/twins.h"

#include <stdlib.h>
#include <string.h>

void cvtm_plane_parts_free(cvtm_plane_parts *p) {
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
  *p = (cvtm_plane_parts){0};
}

/* Both sides of all segments are region 1, so that every triangle stays. y is up, so that this is
 * the triangulation in a mirror. */
static cvtm_status triangulate(double *points, int64_t count, int32_t *segments,
                               int64_t segment_count, cvtm_plane_parts *p, cvtm_error *error) {
  const size_t edges = (size_t)segment_count;
  int32_t *ones = malloc((edges + 1) * sizeof *ones);
  if (ones == NULL) return cvtm_no_memory(error, "the segments");
  for (size_t e = 0; e < edges; ++e) ones[e] = 1;
  const cvtm_boundary all = {.vertex_count = count,
                             .points = points,
                             .edge_count = segment_count,
                             .edges = segments,
                             .left = ones,
                             .right = ones};
  const cvtm_status status =
      cvtm_constrained_delaunay(points, count, &all, &p->mesh, &p->edges, &p->source, error);
  free(ones);
  return status;
}

static cvtm_status find_neighbours(cvtm_plane_parts *p, cvtm_error *error) {
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
static void find_parts(cvtm_plane_parts *p) {
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

static int32_t region_of(const cvtm_plane_parts *p, int64_t half) {
  return half < 0 ? 0 : p->region[p->part[half / 3]];
}

cvtm_status cvtm_plane_parts_boundary(const double *points, const cvtm_plane_parts *p,
                                      int with_cracks, cvtm_boundary *b, cvtm_error *error) {
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
    if (left == right && (left == 0 || !with_cracks)) continue;
    for (int i = 0; i < 2; ++i) {
      const int32_t v = p->edges.edges[2 * e + i];
      if (number[v] < 0) {
        number[v] = (int32_t)b->vertex_count;
        memcpy(b->points + 2 * b->vertex_count, points + 2 * (int64_t)p->source[v],
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

cvtm_status cvtm_plane_parts_create(double *points, int64_t count, int32_t *segments,
                                    int64_t segment_count, cvtm_plane_parts *p, cvtm_error *error) {
  *p = (cvtm_plane_parts){0};
  cvtm_status status = triangulate(points, count, segments, segment_count, p, error);
  if (status == CVTM_OK) status = find_neighbours(p, error);
  if (status == CVTM_OK) find_parts(p);
  return status;
}
