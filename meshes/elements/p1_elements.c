#include "meshes/elements/p1_elements.h"

#include "base/host.h"
#include "base/geometry.h"
#include "meshes/elements/twins.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 /* number of boundary edges with a common bounding box */ };

typedef struct builder {
  const cvtm_mesh *mesh;
  cvtm_p1 *p1;
  cvtm_error *error;
  cvtm_scratch memory;     /* owns the next arrays */
  double scale;            /* length 1 in the mesh's coordinates becomes this length */
  int64_t *twin, *leaving; /* as set by cvtm_find_twins */
  int32_t *unknown;        /* per vertex: its unknown; -1: on the boundary or in no triangle */
  int64_t edge_count;      /* number of boundary edges */
  double *edges;           /* 4 * edge_count: the ends */
  cvtm_box *blocks;
} builder;

void cvtm_p1_free(cvtm_p1 *p1) {
  free(p1->vertex);
  free(p1->row_start);
  free(p1->column);
  free(p1->value);
  free(p1->load);
  free(p1->distance);
  *p1 = (cvtm_p1){0};
}

/* --- the boundary --------------------------------------------------------------------------- */

/* Lists the half-edges without a twin. In meshes of this library, neighbours on the boundary are
 * mostly close in the list, so blocks have small bounding boxes. */
static void list_boundary(builder *b) {
  const int32_t *corner = b->mesh->triangles;
  double *edge = b->edges;
  for (int64_t h = 0; h < 3 * b->mesh->triangle_count; ++h) {
    if (b->twin[h] >= 0) continue;
    const int32_t ends[2] = {corner[h], corner[cvtm_half_after(h)]};
    for (int k = 0; k < 2; ++k) {
      *edge++ = b->mesh->points[2 * (int64_t)ends[k]] * b->scale;
      *edge++ = b->mesh->points[2 * (int64_t)ends[k] + 1] * b->scale;
      b->unknown[ends[k]] = -1;
    }
  }
}

static void box_blocks(builder *b) {
  for (int64_t k = 0; k < b->edge_count; ++k) {
    if (k % BLOCK == 0) b->blocks[k / BLOCK] = cvtm_empty_box();
    for (int end = 0; end < 2; ++end)
      cvtm_box_add(&b->blocks[k / BLOCK], b->edges + 4 * k + 2 * end);
  }
}

static double distance_to_box(const cvtm_box *block, double x, double y) {
  const double dx = fmax(fmax(block->low[0] - x, x - block->high[0]), 0);
  const double dy = fmax(fmax(block->low[1] - y, y - block->high[1]), 0);
  return hypot(dx, dy);
}

static double distance_to_boundary(const builder *b, double x, double y) {
  double least = HUGE_VAL;
  for (int64_t first = 0; first < b->edge_count; first += BLOCK) {
    if (distance_to_box(&b->blocks[first / BLOCK], x, y) >= least) continue;
    for (int64_t k = first; k < first + BLOCK && k < b->edge_count; ++k)
      least = fmin(least, cvtm_segment_distance(b->edges + 4 * k, b->edges + 4 * k + 2, x, y));
  }
  return least;
}

static void measure_distances(const builder *b) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < b->p1->count; ++i) {
    const double *point = b->mesh->points + 2 * (int64_t)b->p1->vertex[i];
    b->p1->distance[i] = distance_to_boundary(b, point[0] * b->scale, point[1] * b->scale);
  }
}

static cvtm_status find_boundary(builder *b) {
  for (int64_t h = 0; h < 3 * b->mesh->triangle_count; ++h) b->edge_count += b->twin[h] < 0;
  b->edges = cvtm_scratch_take(&b->memory, (size_t)b->edge_count, 4 * sizeof *b->edges);
  b->blocks = cvtm_scratch_take(&b->memory, (size_t)b->edge_count / BLOCK + 1, sizeof *b->blocks);
  if (b->memory.failed) return cvtm_no_memory(b->error, "the elements");
  list_boundary(b);
  box_blocks(b);
  return CVTM_OK;
}

/* --- the system ----------------------------------------------------------------------------- */

/* Numbers the inner vertices in their order. */
static cvtm_status number_unknowns(builder *b) {
  const int64_t vertices = b->mesh->vertex_count;
  int64_t count = 0;
  for (int64_t v = 0; v < vertices; ++v) count += b->unknown[v] >= 0;
  if (count == 0) return cvtm_fail(b->error, CVTM_ERROR_INPUT, "the mesh has no inner vertex");
  cvtm_p1 *p1 = b->p1;
  p1->count = count;
  p1->vertex = malloc((size_t)count * sizeof *p1->vertex);
  p1->row_start = calloc((size_t)count + 1, sizeof *p1->row_start);
  p1->load = calloc((size_t)count, sizeof *p1->load);
  p1->distance = malloc((size_t)count * sizeof *p1->distance);
  if (p1->vertex == NULL || p1->row_start == NULL || p1->load == NULL || p1->distance == NULL)
    return cvtm_no_memory(b->error, "the elements");
  count = 0;
  for (int64_t v = 0; v < vertices; ++v) {
    if (b->unknown[v] < 0) continue;
    p1->vertex[count] = (int32_t)v;
    b->unknown[v] = (int32_t)count++;
  }
  return CVTM_OK;
}

/* Sets row_start and the columns, ascending: the neighbours and, between them, the diagonal. Vertex
 * v is an end of the edges ends[start[v]] .. ends[start[v + 1] - 1], in which its neighbours
 * ascend. */
static void fill_columns(const builder *b, const int32_t *edges, const int64_t *start,
                         const int64_t *ends) {
  cvtm_p1 *p1 = b->p1;
  int64_t entries = 0;
  for (int32_t i = 0; i < p1->count; ++i) {
    const int32_t v = p1->vertex[i];
    int64_t k = start[v];
    for (int above = 0; above < 2; ++above) {
      for (; k < start[v + 1] && (above || edges[ends[k] ^ 1] < v); ++k) {
        const int32_t column = b->unknown[edges[ends[k] ^ 1]];
        if (column >= 0) p1->column[entries++] = column;
      }
      if (!above) p1->column[entries++] = i;
    }
    p1->row_start[i + 1] = entries;
  }
}

static cvtm_status lay_out_rows(builder *b) {
  cvtm_p1 *p1 = b->p1;
  int32_t *edges = NULL;
  int64_t count = 0;
  CVTM_TRY(cvtm_mesh_edges(b->mesh, &edges, &count, b->error));
  int64_t *start = cvtm_scratch_zeros(&b->memory, (size_t)b->mesh->vertex_count + 2, sizeof *start);
  int64_t *ends = cvtm_scratch_take(&b->memory, 2 * (size_t)count, sizeof *ends);
  p1->column = malloc((size_t)(p1->count + 2 * count) * sizeof *p1->column);
  if (!b->memory.failed && p1->column != NULL) {
    cvtm_list_by_key(edges, 2 * count, b->mesh->vertex_count, start, ends);
    fill_columns(b, edges, start, ends);
    p1->value = calloc((size_t)p1->row_start[p1->count], sizeof *p1->value);
  }
  free(edges);
  return p1->value != NULL ? CVTM_OK : cvtm_no_memory(b->error, "the elements");
}

static void add_entry(cvtm_p1 *p1, int32_t row, int32_t column, double value) {
  const int64_t start = p1->row_start[row], end = p1->row_start[row + 1];
  p1->value[cvtm_lower_bound_32(p1->column, start, end, column)] += value;
}

/* Adds a triangle to the system. The gradient of phi at corner k is the opposite edge, rotated by a
 * right angle, divided by twice the area. */
static cvtm_status add_triangle(builder *b, int64_t t) {
  const int32_t *corner = b->mesh->triangles + 3 * t;
  double side[3][2];
  for (int k = 0; k < 3; ++k) {
    const double *p = b->mesh->points + 2 * (int64_t)corner[(k + 1) % 3];
    const double *q = b->mesh->points + 2 * (int64_t)corner[(k + 2) % 3];
    side[k][0] = (q[0] - p[0]) * b->scale;
    side[k][1] = (q[1] - p[1]) * b->scale;
  }
  const double area = 0.5 * fabs(side[0][0] * side[1][1] - side[0][1] * side[1][0]);
  if (!(area > 0))
    return cvtm_fail(b->error, CVTM_ERROR_INPUT, "triangle %" PRId64 " has no area", t);
  for (int k = 0; k < 3; ++k) {
    const int32_t row = b->unknown[corner[k]];
    if (row < 0) continue;
    b->p1->load[row] += area / 3;
    for (int l = 0; l < 3; ++l) {
      const int32_t column = b->unknown[corner[l]];
      const double product = side[k][0] * side[l][0] + side[k][1] * side[l][1];
      if (column >= 0) add_entry(b->p1, row, column, product / (4 * area));
    }
  }
  return CVTM_OK;
}

static double longer_side(const cvtm_mesh *mesh) {
  cvtm_box box = cvtm_empty_box();
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h)
    cvtm_box_add(&box, mesh->points + 2 * (int64_t)mesh->triangles[h]);
  return fmax(box.high[0] - box.low[0], box.high[1] - box.low[1]);
}

static cvtm_status build_elements(builder *b) {
  const cvtm_mesh *mesh = b->mesh;
  if (mesh->triangle_count == 0)
    return cvtm_fail(b->error, CVTM_ERROR_INPUT, "the mesh has no triangle");
  b->scale = 1 / longer_side(mesh);
  b->twin = cvtm_scratch_take(&b->memory, (size_t)mesh->triangle_count, 3 * sizeof *b->twin);
  b->leaving = cvtm_scratch_take(&b->memory, (size_t)mesh->vertex_count, sizeof *b->leaving);
  b->unknown = cvtm_scratch_take(&b->memory, (size_t)mesh->vertex_count, sizeof *b->unknown);
  if (b->memory.failed) return cvtm_no_memory(b->error, "the elements");
  CVTM_TRY(cvtm_find_twins(mesh->triangles, mesh->triangle_count, mesh->vertex_count, b->twin,
                           b->leaving, b->error));
  for (int64_t v = 0; v < mesh->vertex_count; ++v) b->unknown[v] = b->leaving[v] >= 0 ? 0 : -1;
  CVTM_TRY(find_boundary(b));
  CVTM_TRY(number_unknowns(b));
  CVTM_TRY(lay_out_rows(b));
  for (int64_t t = 0; t < mesh->triangle_count; ++t) CVTM_TRY(add_triangle(b, t));
  measure_distances(b);
  return CVTM_OK;
}

cvtm_status cvtm_p1_create(const cvtm_mesh *mesh, cvtm_p1 *p1, cvtm_error *error) {
  *p1 = (cvtm_p1){0};
  builder b = {.mesh = mesh, .p1 = p1, .error = error};
  const cvtm_status status = build_elements(&b);
  cvtm_scratch_free(&b.memory);
  if (status != CVTM_OK) cvtm_p1_free(p1);
  return status;
}
