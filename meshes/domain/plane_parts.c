#include "meshes/domain/plane_parts.h"

#include "meshes/constrained.h"
#include "meshes/elements/twins.h"

#include <stdlib.h>
#include <string.h>

void cvtm_plane_parts_free(cvtm_plane_parts *p) {
  cvtm_mesh_free(&p->mesh);
  cvtm_regions_free(&p->edges);
  free(p->source);
  cvtm_scratch_free(&p->memory);
  *p = (cvtm_plane_parts){0};
}

/* Triangulates with region 1 on both sides of all segments, so that no triangle is dropped. The
 * triangulation is mirrored, because y is up. */
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
  p->twin = cvtm_scratch_take(&p->memory, halves, sizeof *p->twin);
  p->face = cvtm_scratch_take(&p->memory, (size_t)p->edges.edge_count, sizeof *p->face);
  p->stack = cvtm_scratch_take(&p->memory, halves, sizeof *p->stack);
  p->segment = cvtm_scratch_take(&p->memory, halves, sizeof *p->segment);
  p->part = cvtm_scratch_take(&p->memory, halves, sizeof *p->part);
  p->region = cvtm_scratch_take(&p->memory, halves, sizeof *p->region);
  if (p->memory.failed || !cvtm_find_edge_faces(p->mesh.triangles, p->mesh.triangle_count,
                                                p->mesh.vertex_count, &p->edges, p->face))
    return cvtm_no_memory(error, "the segments");
  const cvtm_status status = cvtm_find_twins(p->mesh.triangles, p->mesh.triangle_count,
                                             p->mesh.vertex_count, p->twin, NULL, error);
  for (size_t h = 0; h < halves; ++h) p->segment[h] = -1;
  for (int64_t e = 0; e < p->edges.edge_count && status == CVTM_OK; ++e) {
    p->segment[p->face[e]] = (int32_t)e;
    if (p->twin[p->face[e]] >= 0) p->segment[p->twin[p->face[e]]] = (int32_t)e;
  }
  return status;
}

/* Numbers the parts; a part that extends to the hull without crossing a segment is outside. */
static cvtm_status find_parts(cvtm_plane_parts *p, cvtm_error *error) {
  const int64_t triangles = p->mesh.triangle_count;
  uint8_t *is_open = cvtm_scratch_take(&p->memory, (size_t)triangles, 1);
  if (p->memory.failed) return cvtm_no_memory(error, "the segments");
  p->part_count = cvtm_find_parts(triangles, p->twin, p->segment, p->part, is_open, p->stack);
  for (int32_t k = 0; k < p->part_count; ++k) p->region[k] = is_open[k] ? 0 : -1;
  return CVTM_OK;
}

static int32_t region_of(const cvtm_plane_parts *p, int64_t half) {
  return half < 0 ? 0 : p->region[p->part[half / 3]];
}

cvtm_status cvtm_plane_parts_boundary(const double *points, const cvtm_plane_parts *p,
                                      cvtm_crack_test is_crack, const void *context,
                                      cvtm_boundary *b, cvtm_error *error) {
  const size_t n = (size_t)p->mesh.vertex_count, edges = (size_t)p->edges.edge_count + 1;
  int32_t *number = calloc(n + 1, sizeof *number);
  *b = (cvtm_boundary){.points = malloc(2 * n * sizeof *b->points),
                       .corner = malloc(n),
                       .edges = malloc(2 * edges * sizeof *b->edges),
                       .left = malloc(edges * sizeof *b->left),
                       .right = malloc(edges * sizeof *b->right)};
  if (!number || !b->points || !b->corner || !b->edges || !b->left || !b->right) {
    free(number);
    return cvtm_no_memory(error, "the segments");
  }
  for (int64_t e = 0; e < p->edges.edge_count; ++e) {
    const int32_t *ends = p->edges.edges + 2 * e;
    /* Exchanges left and right to undo the mirroring. */
    const int32_t right = region_of(p, p->face[e]), left = region_of(p, p->twin[p->face[e]]);
    if (left == right && (left == 0 || is_crack == NULL ||
                          !is_crack(context, p->source[ends[0]], p->source[ends[1]])))
      continue;
    for (int i = 0; i < 2; ++i) {
      number[ends[i]] = 1;
      b->edges[2 * b->edge_count + i] = ends[i];
    }
    b->left[b->edge_count] = left;
    b->right[b->edge_count++] = right;
  }
  for (int64_t h = 0; h < 3 * p->mesh.triangle_count && is_crack != NULL; ++h)
    if (region_of(p, h) != 0) number[p->mesh.triangles[h]] = 1;
  for (size_t v = 0; v < n; ++v) {
    if (number[v] == 0) continue;
    memcpy(b->points + 2 * b->vertex_count, points + 2 * (int64_t)p->source[v],
           2 * sizeof *b->points);
    b->corner[b->vertex_count] = 1;
    number[v] = (int32_t)b->vertex_count++;
  }
  for (int64_t k = 0; k < 2 * b->edge_count; ++k) b->edges[k] = number[b->edges[k]];
  free(number);
  return CVTM_OK;
}

cvtm_status cvtm_plane_parts_create(double *points, int64_t count, int32_t *segments,
                                    int64_t segment_count, cvtm_plane_parts *p, cvtm_error *error) {
  *p = (cvtm_plane_parts){0};
  CVTM_TRY(triangulate(points, count, segments, segment_count, p, error));
  CVTM_TRY(find_neighbours(p, error));
  return find_parts(p, error);
}
