#include "meshes/second_order.h"

#include "base/geometry.h"
#include "base/host.h"
#include "meshes/elements/twins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_jacobian = 0.05; /* relative to the Jacobian of the straight triangle */

void cvtm_second_order_free(cvtm_second_order *second) {
  free(second->points);
  free(second->triangle);
  free(second->edge);
  *second = (cvtm_second_order){0};
}

/* ---- Pieces of the contour, by cells of a grid ---- */

enum { CELL = 4 }; /* pixels */

/* A piece of the contour, at most as large as a cell. */
typedef struct piece {
  double a[2], b[2];
  int32_t left, right;
} piece;

typedef struct piece_grid {
  double origin[2];
  int64_t size[2];
  int64_t count;
  piece *pieces;
  int64_t *start; /* number of cells + 1 */
  int32_t *list;  /* pieces, sorted by the cell of their midpoint */
} piece_grid;

static int64_t parts_of(const double *a, const double *b) {
  return 1 + (int64_t)(hypot(b[0] - a[0], b[1] - a[1]) / CELL);
}

static int64_t count_pieces(const cvtm_contour *c) {
  int64_t count = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc)
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1]; ++k)
      count += parts_of(c->points + 2 * k, c->points + 2 * k + 2);
  return count;
}

static void cut_pieces(const cvtm_contour *c, piece_grid *g) {
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1]; ++k) {
      const double *a = c->points + 2 * k, *b = a + 2;
      const int64_t parts = parts_of(a, b);
      for (int64_t i = 0; i < parts; ++i) {
        piece *p = &g->pieces[g->count++];
        const double s = (double)i / (double)parts, e = (double)(i + 1) / (double)parts;
        for (int axis = 0; axis < 2; ++axis) {
          p->a[axis] = a[axis] + s * (b[axis] - a[axis]);
          p->b[axis] = i + 1 < parts ? a[axis] + e * (b[axis] - a[axis]) : b[axis];
        }
        p->left = c->left[arc];
        p->right = c->right[arc];
      }
    }
  }
}

static int64_t cell_along(const piece_grid *g, int axis, double x) {
  const double cell = floor((x - g->origin[axis]) / CELL);
  return (int64_t)fmin(fmax(cell, 0), (double)(g->size[axis] - 1));
}

static int64_t cell_of_piece(const piece_grid *g, const piece *p) {
  return cell_along(g, 1, (p->a[1] + p->b[1]) / 2) * g->size[0] +
         cell_along(g, 0, (p->a[0] + p->b[0]) / 2);
}

static void measure_grid(const cvtm_contour *c, piece_grid *g) {
  cvtm_box box = cvtm_empty_box();
  for (int64_t k = 0; k < c->start[c->arc_count]; ++k) cvtm_box_add(&box, c->points + 2 * k);
  memcpy(g->origin, box.low, sizeof box.low);
  for (int axis = 0; axis < 2; ++axis)
    g->size[axis] = 1 + (int64_t)((box.high[axis] - box.low[axis]) / CELL);
}

static cvtm_status make_grid(const cvtm_contour *c, cvtm_scratch *memory, piece_grid *g,
                             cvtm_error *error) {
  const size_t pieces = (size_t)count_pieces(c);
  measure_grid(c, g);
  const int64_t cells = g->size[0] * g->size[1];
  g->pieces = cvtm_scratch_take(memory, pieces, sizeof *g->pieces);
  g->start = cvtm_scratch_zeros(memory, (size_t)cells + 2, sizeof *g->start);
  g->list = cvtm_scratch_take(memory, pieces, sizeof *g->list);
  if (memory->failed) return cvtm_no_memory(error, "nodes of second order");
  cut_pieces(c, g);
  for (int64_t k = 0; k < g->count; ++k) ++g->start[cell_of_piece(g, &g->pieces[k]) + 2];
  for (int64_t k = 0; k < cells; ++k) g->start[k + 2] += g->start[k + 1];
  for (int64_t k = 0; k < g->count; ++k)
    g->list[g->start[cell_of_piece(g, &g->pieces[k]) + 1]++] = (int32_t)k;
  return CVTM_OK;
}

/* The line through `middle` in the direction of the unit vector `normal`. */
typedef struct bisector {
  double middle[2], normal[2];
  int32_t left, right;
} bisector;

/* Sets *best to the distance at which the bisector meets a piece between the same regions, if this
 * distance is smaller. */
static void meet_piece(const bisector *line, const piece *p, double *best) {
  if (!(p->left == line->left && p->right == line->right) &&
      !(p->left == line->right && p->right == line->left))
    return;
  const double ax = p->a[0] - line->middle[0], ay = p->a[1] - line->middle[1];
  const double bx = p->b[0] - line->middle[0], by = p->b[1] - line->middle[1];
  const double s = ax * line->normal[1] - ay * line->normal[0];
  const double e = bx * line->normal[1] - by * line->normal[0];
  if ((s <= 0) == (e <= 0)) return;
  const double share = s / (s - e);
  const double offset =
      (ax + share * (bx - ax)) * line->normal[0] + (ay + share * (by - ay)) * line->normal[1];
  if (fabs(offset) < fabs(*best)) *best = offset;
}

/* Searches the cells around the point at the distance `offset` along the bisector. */
static void search_around(const piece_grid *g, const bisector *line, double offset, double *best) {
  int64_t low[2], high[2];
  for (int axis = 0; axis < 2; ++axis) {
    const double x = line->middle[axis] + offset * line->normal[axis];
    low[axis] = cell_along(g, axis, x - CELL);
    high[axis] = cell_along(g, axis, x + CELL);
  }
  for (int64_t j = low[1]; j <= high[1]; ++j) {
    for (int64_t k = g->start[j * g->size[0] + low[0]]; k < g->start[j * g->size[0] + high[0] + 1];
         ++k)
      meet_piece(line, &g->pieces[g->list[k]], best);
  }
}

/* The distance along the bisector to the contour; HUGE_VAL if it is more than about `limit`. */
static double find_contour(const piece_grid *g, const bisector *line, double limit) {
  double best = HUGE_VAL;
  for (double offset = 0; offset <= limit + CELL && fabs(best) > offset - CELL; offset += CELL) {
    search_around(g, line, offset, &best);
    if (offset > 0) search_around(g, line, -offset, &best);
  }
  return fabs(best) <= limit ? best : HUGE_VAL;
}

/* ---- nodes ---- */

static void place_in_middle(const cvtm_mesh *mesh, int32_t a, int32_t b, double *place) {
  for (int axis = 0; axis < 2; ++axis)
    place[axis] = 0.5 * (mesh->points[2 * (int64_t)a + axis] + mesh->points[2 * (int64_t)b + axis]);
}

/* Numbers the nodes. twin: memory for cvtm_find_twins. */
static cvtm_status number_nodes(const cvtm_mesh *mesh, cvtm_second_order *made, int64_t *twin,
                                cvtm_error *error) {
  const int64_t halves = 3 * mesh->triangle_count;
  CVTM_TRY(cvtm_find_twins(mesh->triangles, mesh->triangle_count, mesh->vertex_count, twin, NULL,
                           error));
  for (int64_t h = 0; h < halves; ++h) {
    if (twin[h] >= 0 && twin[h] < h) {
      made->triangle[h] = made->triangle[twin[h]];
      continue;
    }
    if (mesh->vertex_count + made->count >= INT32_MAX)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "too many nodes of second order");
    place_in_middle(mesh, mesh->triangles[h], mesh->triangles[cvtm_half_after(h)],
                    made->points + 2 * made->count);
    made->triangle[h] = (int32_t)(mesh->vertex_count + made->count++);
  }
  return CVTM_OK;
}

static cvtm_status find_edge_nodes(const cvtm_mesh *mesh, const cvtm_regions *r,
                                   cvtm_second_order *made, cvtm_error *error) {
  int64_t *face = malloc(((size_t)r->edge_count + 1) * sizeof *face);
  const int found = face != NULL && cvtm_find_edge_faces(mesh->triangles, mesh->triangle_count,
                                                         mesh->vertex_count, r, face);
  for (int64_t e = 0; found && e < r->edge_count; ++e) made->edge[e] = made->triangle[face[e]];
  free(face);
  return found ? CVTM_OK : cvtm_no_memory(error, "nodes of second order");
}

/* ---- curves ---- */

static double cross_product(const double *u, const double *v) { return u[0] * v[1] - u[1] * v[0]; }

/* Tests the Bernstein coefficients of the Jacobian of a quadratic triangle. Its control points are
 * its corners and 2 m - (a + b) / 2 for the node m between the corners a and b. */
static int is_valid(const double corner[3][2], const double middle[3][2]) {
  double control[3][2], first[3][2], second[3][2], straight[2][2];
  for (int axis = 0; axis < 2; ++axis) {
    for (int k = 0; k < 3; ++k)
      control[k][axis] = 2 * middle[k][axis] - 0.5 * (corner[k][axis] + corner[(k + 1) % 3][axis]);
    first[0][axis] = 2 * (control[0][axis] - corner[0][axis]);
    first[1][axis] = 2 * (corner[1][axis] - control[0][axis]);
    first[2][axis] = 2 * (control[1][axis] - control[2][axis]);
    second[0][axis] = 2 * (control[2][axis] - corner[0][axis]);
    second[1][axis] = 2 * (control[1][axis] - control[0][axis]);
    second[2][axis] = 2 * (corner[2][axis] - control[2][axis]);
    straight[0][axis] = corner[1][axis] - corner[0][axis];
    straight[1][axis] = corner[2][axis] - corner[0][axis];
  }
  const double scale = cross_product(straight[0], straight[1]); /* negative with y down */
  for (int i = 0; i < 3; ++i) {
    for (int j = i; j < 3; ++j) {
      const double value =
          0.5 * (cross_product(first[i], second[j]) + cross_product(first[j], second[i]));
      if (!(value / scale >= least_jacobian)) return 0;
    }
  }
  return 1;
}

static int triangle_is_valid(const cvtm_mesh *mesh, const cvtm_second_order *made, int64_t t) {
  double corner[3][2], middle[3][2];
  for (int k = 0; k < 3; ++k) {
    const int64_t v = mesh->triangles[3 * t + k];
    const int64_t m = made->triangle[3 * t + k] - mesh->vertex_count;
    memcpy(corner[k], mesh->points + 2 * v, sizeof corner[k]);
    memcpy(middle[k], made->points + 2 * m, sizeof middle[k]);
  }
  return is_valid((const double(*)[2])corner, (const double(*)[2])middle);
}

/* Moves the nodes of boundary edges to the contour, and sets their entries of `curved` to 1. */
static void curve_edges(const cvtm_mesh *mesh, const cvtm_regions *r, const piece_grid *g,
                        cvtm_second_order *made, char *curved) {
  for (int64_t e = 0; e < r->edge_count; ++e) {
    const int64_t node = made->edge[e] - mesh->vertex_count;
    const double *a = mesh->points + 2 * (int64_t)r->edges[2 * e];
    const double *b = mesh->points + 2 * (int64_t)r->edges[2 * e + 1];
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    double *place = made->points + 2 * node;
    if (!(length > 0)) continue;
    const bisector line = {{place[0], place[1]},
                           {(b[1] - a[1]) / length, -(b[0] - a[0]) / length},
                           r->left[e],
                           r->right[e]};
    const double offset = find_contour(g, &line, 0.5 * length);
    if (!(fabs(offset) > 1e-9 * length) || offset == HUGE_VAL) continue;
    place[0] += offset * line.normal[0];
    place[1] += offset * line.normal[1];
    curved[node] = 1;
    ++made->curved;
  }
}

/* Straightens the edges of invalid triangles until all triangles are valid. */
static void straighten(const cvtm_mesh *mesh, cvtm_second_order *made, char *curved) {
  for (int changed = 1; changed;) {
    changed = 0;
    for (int64_t t = 0; t < mesh->triangle_count; ++t) {
      int any = 0;
      for (int k = 0; k < 3; ++k) any |= curved[made->triangle[3 * t + k] - mesh->vertex_count];
      if (!any || triangle_is_valid(mesh, made, t)) continue;
      changed = 1;
      for (int k = 0; k < 3; ++k) {
        const int64_t node = made->triangle[3 * t + k] - mesh->vertex_count;
        if (!curved[node]) continue;
        place_in_middle(mesh, mesh->triangles[3 * t + k], mesh->triangles[3 * t + (k + 1) % 3],
                        made->points + 2 * node);
        curved[node] = 0;
        --made->curved;
        ++made->straightened;
      }
    }
  }
}

/* A curved edge; its node is at the distance `offset` from the midpoint, towards the region with
 * the larger number. */
typedef struct bent_edge {
  int32_t low, high, edge; /* low, high: the regions on both sides. Sorted by these three. */
  double length, offset;
  double normal[2]; /* towards `high` */
} bent_edge;

static int64_t list_bent(const cvtm_mesh *mesh, const cvtm_regions *r,
                         const cvtm_second_order *made, const char *curved, bent_edge *list) {
  int64_t count = 0;
  for (int64_t e = 0; e < r->edge_count; ++e) {
    const int64_t node = made->edge[e] - mesh->vertex_count;
    const double *a = mesh->points + 2 * (int64_t)r->edges[2 * e];
    const double *b = mesh->points + 2 * (int64_t)r->edges[2 * e + 1];
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    const double to_high = r->left[e] > r->right[e] ? 1 : -1; /* normals point to the left */
    if (!curved[node]) continue;
    bent_edge bent = {
        .low = r->left[e] < r->right[e] ? r->left[e] : r->right[e],
        .high = r->left[e] < r->right[e] ? r->right[e] : r->left[e],
        .length = length,
        .normal = {to_high * (b[1] - a[1]) / length, -to_high * (b[0] - a[0]) / length},
        .edge = (int32_t)e};
    for (int axis = 0; axis < 2; ++axis)
      bent.offset +=
          (made->points[2 * node + axis] - 0.5 * (a[axis] + b[axis])) * bent.normal[axis];
    list[count++] = bent;
  }
  qsort(list, (size_t)count, sizeof *list, cvtm_compare_three);
  return count;
}

/* The area between a parabola and its chord is 2/3 of the length of the chord times the distance of
 * the node. With straight edges every region has its area, so the parabolas between two regions
 * must enclose a total area of 0. So their weighted mean is subtracted from all distances. */
static cvtm_status balance_areas(const cvtm_mesh *mesh, const cvtm_regions *r, const char *curved,
                                 cvtm_second_order *made, cvtm_error *error) {
  bent_edge *list = malloc(((size_t)r->edge_count + 1) * sizeof *list);
  if (list == NULL) return cvtm_no_memory(error, "nodes of second order");
  const int64_t count = list_bent(mesh, r, made, curved, list);
  for (int64_t first = 0, end; first < count; first = end) {
    double area = 0, length = 0;
    for (end = first;
         end < count && list[end].low == list[first].low && list[end].high == list[first].high;
         ++end) {
      area += list[end].length * list[end].offset;
      length += list[end].length;
    }
    for (int64_t k = first; k < end; ++k) {
      double *place = made->points + 2 * (made->edge[list[k].edge] - mesh->vertex_count);
      for (int axis = 0; axis < 2; ++axis) place[axis] -= area / length * list[k].normal[axis];
    }
  }
  free(list);
  return CVTM_OK;
}

static cvtm_status follow_contour(const cvtm_mesh *mesh, const cvtm_regions *regions,
                                  const cvtm_contour *contour, cvtm_second_order *made,
                                  cvtm_error *error) {
  enum { ROUNDS = 4 };
  cvtm_scratch memory = {0};
  piece_grid grid = {0};
  char *curved = cvtm_scratch_zeros(&memory, (size_t)made->count, 1);
  cvtm_status status = make_grid(contour, &memory, &grid, error);
  if (status == CVTM_OK) curve_edges(mesh, regions, &grid, made, curved);
  int64_t before = -1;
  for (int round = 0; round < ROUNDS && status == CVTM_OK && before != made->straightened;
       ++round) {
    before = made->straightened;
    if (contour->region_count > 0) status = balance_areas(mesh, regions, curved, made, error);
    if (status == CVTM_OK) straighten(mesh, made, curved);
  }
  cvtm_scratch_free(&memory);
  return status;
}

static cvtm_status allocate_nodes(const cvtm_mesh *mesh, const cvtm_regions *regions,
                                  cvtm_second_order *made, cvtm_error *error) {
  const size_t halves = 3 * (size_t)mesh->triangle_count + 1;
  made->points = malloc(2 * halves * sizeof *made->points);
  made->triangle = malloc(halves * sizeof *made->triangle);
  if (regions != NULL) made->edge = malloc(((size_t)regions->edge_count + 1) * sizeof *made->edge);
  if (!made->points || !made->triangle || (regions != NULL && !made->edge))
    return cvtm_no_memory(error, "nodes of second order");
  return CVTM_OK;
}

cvtm_status cvtm_second_order_create(const cvtm_mesh *mesh, const cvtm_regions *regions,
                                     const cvtm_contour *contour, cvtm_second_order *second,
                                     cvtm_error *error) {
  const size_t halves = 3 * (size_t)mesh->triangle_count + 1;
  cvtm_second_order made = {0};
  int64_t *twin = malloc(halves * sizeof *twin);
  cvtm_status status = twin != NULL ? allocate_nodes(mesh, regions, &made, error)
                                    : cvtm_no_memory(error, "nodes of second order");
  if (status == CVTM_OK) status = number_nodes(mesh, &made, twin, error);
  if (status == CVTM_OK && regions != NULL) status = find_edge_nodes(mesh, regions, &made, error);
  if (status == CVTM_OK && regions != NULL && contour != NULL && contour->arc_count > 0)
    status = follow_contour(mesh, regions, contour, &made, error);
  free(twin);
  if (status != CVTM_OK) {
    cvtm_second_order_free(&made);
    return status;
  }
  *second = made;
  return CVTM_OK;
}
