/* Vertices and edges on opposite sides of a periodic image that are the same but for one
 * coordinate. */
#include "meshes/mesh.h"

#include <stdlib.h>
#include <string.h>

typedef struct pairing {
  const cvtm_mesh *mesh;
  cvtm_regions *regions;
  const double *sides; /* left, upper, right, lower */
  int32_t *copy_of[2]; /* per axis and vertex on the right or upper side: the vertex on the other
                          side, -1: none */
  int32_t *edge_from;  /* per vertex: the edge on a side that begins there, -1: none */
} pairing;

/* Along y files count from below: the lower side comes first, whose y is the height. */
static double near_side(const pairing *p, int axis) { return p->sides[axis == 0 ? 0 : 3]; }
static double far_side(const pairing *p, int axis) { return p->sides[axis == 0 ? 2 : 1]; }

/* ---- Vertices ---- */

typedef struct side_vertex {
  double at; /* along the side, upwards or to the right */
  int32_t vertex;
} side_vertex;

static int compare_along(const void *first, const void *second) {
  const side_vertex *a = first, *b = second;
  return (a->at > b->at) - (a->at < b->at);
}

static int64_t list_side(const pairing *p, int axis, double side, side_vertex *list) {
  int64_t count = 0;
  for (int64_t v = 0; v < p->mesh->vertex_count; ++v) {
    const double *place = p->mesh->points + 2 * v;
    const double at = axis == 0 ? -place[1] : place[0];
    if (place[axis] == side) list[count++] = (side_vertex){at, (int32_t)v};
  }
  qsort(list, (size_t)count, sizeof *list, compare_along);
  return count;
}

/* The pairs along one axis, behind those that are there; list: 2 * vertex_count. */
static void pair_vertices(pairing *p, int axis, side_vertex *list) {
  cvtm_regions *r = p->regions;
  side_vertex *other = list + p->mesh->vertex_count;
  const int64_t near = list_side(p, axis, near_side(p, axis), list);
  const int64_t far = list_side(p, axis, far_side(p, axis), other);
  int64_t i = 0, j = 0, paired = 0;
  while (i < near && j < far) {
    const int order = compare_along(&list[i], &other[j]);
    if (order == 0) {
      const int32_t pair[3] = {list[i].vertex, other[j].vertex, axis};
      memcpy(r->pairs + 3 * r->pair_count++, pair, sizeof pair);
      p->copy_of[axis][pair[1]] = pair[0];
      ++paired;
    }
    i += order <= 0;
    j += order >= 0;
  }
  r->unpaired += near + far - 2 * paired;
}

/* ---- Edges ---- */

static int lies_on(const pairing *p, int64_t edge, int axis, double side) {
  const int32_t *v = p->regions->edges + 2 * edge;
  return p->mesh->points[2 * (int64_t)v[0] + axis] == side &&
         p->mesh->points[2 * (int64_t)v[1] + axis] == side;
}

/* Edges of the border have their region on the left, so that copies run the other way. */
static void pair_edges(pairing *p) {
  cvtm_regions *r = p->regions;
  for (int64_t e = 0; e < r->edge_count; ++e) r->edge_copy[e] = -1;
  for (int axis = 0; axis < 2; ++axis) {
    for (int64_t v = 0; v < p->mesh->vertex_count; ++v) p->edge_from[v] = -1;
    for (int64_t e = 0; e < r->edge_count; ++e) {
      if (lies_on(p, e, axis, near_side(p, axis))) p->edge_from[r->edges[2 * e]] = (int32_t)e;
    }
    for (int64_t e = 0; e < r->edge_count; ++e) {
      if (!lies_on(p, e, axis, far_side(p, axis))) continue;
      const int32_t from = p->copy_of[axis][r->edges[2 * e + 1]];
      const int32_t to = p->copy_of[axis][r->edges[2 * e]];
      const int32_t found = from >= 0 && to >= 0 ? p->edge_from[from] : -1;
      if (found >= 0 && r->edges[2 * (int64_t)found + 1] == to) r->edge_copy[e] = found;
    }
  }
}

/* ---- Curves ---- */

/* An edge on its way to its new place. */
typedef struct moving_edge {
  int32_t curve, edge;
  int64_t opposite; /* the curve of the edge on the other side, and which side, 0: none */
} moving_edge;

static int compare_moving(const void *first, const void *second) {
  const moving_edge *a = first, *b = second;
  if (a->curve != b->curve) return a->curve < b->curve ? -1 : 1;
  if (a->opposite != b->opposite) return a->opposite < b->opposite ? -1 : 1;
  return (a->edge > b->edge) - (a->edge < b->edge);
}

/* Rows of `width` integers in a new order; copy: as many. */
static void reorder(int32_t *rows, int width, const moving_edge *order, int64_t count,
                    int32_t *copy) {
  const size_t bytes = (size_t)width * sizeof *rows;
  if (rows == NULL) return;
  memcpy(copy, rows, (size_t)count * bytes);
  for (int64_t k = 0; k < count; ++k)
    memcpy(rows + width * k, copy + width * (int64_t)order[k].edge, bytes);
}

/* Divides curves on the sides where those on the opposite side end, so that each is the copy of
 * one. order: edge_count; copy: 2 * edge_count. */
static void divide_curves(const pairing *p, moving_edge *order, int32_t *copy) {
  cvtm_regions *r = p->regions;
  const int64_t n = r->edge_count;
  for (int64_t e = 0; e < n; ++e) order[e] = (moving_edge){r->curve[e], (int32_t)e, 0};
  for (int64_t e = 0; e < n; ++e) {
    if (r->edge_copy[e] < 0) continue;
    const int axis = !lies_on(p, e, 0, far_side(p, 0));
    order[e].opposite = 4 * (int64_t)r->curve[r->edge_copy[e]] + axis;
    order[r->edge_copy[e]].opposite = 4 * (int64_t)r->curve[e] + 2 + axis;
  }
  qsort(order, (size_t)n, sizeof *order, compare_moving);
  reorder(r->edges, 2, order, n, copy);
  reorder(r->left, 1, order, n, copy);
  reorder(r->right, 1, order, n, copy);
  reorder(r->group, 1, order, n, copy);
  r->curve_count = 0;
  for (int64_t k = 0; k < n; ++k) {
    r->curve_count += k == 0 || order[k].curve != order[k - 1].curve ||
                      order[k].opposite != order[k - 1].opposite;
    r->curve[k] = r->curve_count;
  }
}

cvtm_status cvtm_regions_pair(const cvtm_mesh *mesh, const double sides[4], cvtm_regions *regions,
                              cvtm_error *error) {
  const size_t n = (size_t)mesh->vertex_count + 1, edges = (size_t)regions->edge_count + 1;
  int32_t *memory = malloc(3 * n * sizeof *memory), *copy = malloc(2 * edges * sizeof *copy);
  side_vertex *list = malloc(2 * n * sizeof *list);
  moving_edge *order = malloc(edges * sizeof *order);
  int32_t *pairs = malloc(6 * n * sizeof *pairs), *edge_copy = malloc(edges * sizeof *edge_copy);
  const int ready = memory && copy && list && order && pairs && edge_copy;
  if (ready) {
    pairing p = {mesh, regions, sides, {memory, memory + n}, memory + 2 * n};
    free(regions->pairs);
    free(regions->edge_copy);
    regions->pairs = pairs;
    regions->edge_copy = edge_copy;
    regions->pair_count = regions->unpaired = 0;
    for (size_t k = 0; k < 2 * n; ++k) memory[k] = -1;
    for (int axis = 0; axis < 2; ++axis) pair_vertices(&p, axis, list);
    pair_edges(&p);
    divide_curves(&p, order, copy);
    pair_edges(&p);
  } else {
    free(pairs);
    free(edge_copy);
  }
  free(memory);
  free(copy);
  free(list);
  free(order);
  return ready ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for periodic pairs");
}
