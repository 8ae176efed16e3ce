#include "meshes/constrained.h"

#include "base/host.h"
#include "base/geometry.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/delaunay/half_edges.h"
#include "meshes/delaunay/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The segment of a half-edge is the edge of the boundary that it lies on. */
typedef struct triangulation {
  cvtm_half_edges m;
  const double *points; /* for messages */
  const cvtm_boundary *boundary;
  cvtm_constraints *crossing; /* NULL: constraints that cross are an error */
  int64_t *stack;             /* triangles, or pairs of vertices */
  int64_t depth, capacity;
  int32_t *goals; /* the vertices that a constraint has still to reach; the next is the last in the
                     list */
  int64_t goal_count, goal_capacity;
  cvtm_error *error;
} triangulation;

static int64_t orient(const triangulation *t, int32_t a, int32_t b, int32_t c) {
  return cvtm_orient_of(&t->m, a, b, c);
}

static cvtm_status push(triangulation *t, int64_t value) {
  if (!cvtm_grow(&t->stack, sizeof *t->stack, &t->capacity, t->depth + 1))
    return cvtm_no_memory(t->error, "the constrained triangulation");
  t->stack[t->depth++] = value;
  return CVTM_OK;
}

/* ---- Constraints ---- */

/* Nonzero if c lies on the ray from a through b and is not a. */
static int is_ahead(const triangulation *t, int32_t a, int32_t b, int32_t c) {
  return orient(t, a, b, c) == 0 && cvtm_dot_at(t->m.grid[a], t->m.grid[b], t->m.grid[c]) > 0;
}

/* Looks from a towards b: sets *along to the half-edge that leaves a exactly in that direction, or
 * *across to the half-edge opposite to a that the line crosses. */
static void look(const triangulation *t, int32_t a, int32_t b, int64_t *along, int64_t *across) {
  const int64_t begin = cvtm_first_of_fan(&t->m, t->m.at[a]);
  *along = *across = -1;
  for (int64_t h = begin; h >= 0; h = cvtm_next_in_fan(&t->m, h, begin)) {
    const int32_t right = cvtm_end_of(&t->m, h), left = cvtm_apex_of(&t->m, h);
    if (is_ahead(t, a, b, right)) {
      *along = h;
      return;
    }
    if (is_ahead(t, a, b, left)) {
      *along = cvtm_half_before(
          h); /* the half-edge that ends at a, since there may be none that begins there */
      return;
    }
    if (orient(t, a, b, right) < 0 && orient(t, a, b, left) > 0) {
      *across = cvtm_half_after(h);
      return;
    }
  }
}

static cvtm_status fail_crossing(const triangulation *t, int32_t a, int32_t b) {
  const double *p = t->points + 2 * (int64_t)a, *q = t->points + 2 * (int64_t)b;
  return cvtm_fail(t->error, CVTM_ERROR_INPUT,
                   "the boundary crosses itself between (%g, %g) and (%g, %g)", p[0], p[1], q[0],
                   q[1]);
}

static cvtm_status fail_lost(const triangulation *t, int32_t a, int32_t b) {
  return cvtm_fail(t->error, CVTM_ERROR_INTERNAL,
                   "the edge from point %" PRId32 " to %" PRId32 " was lost", a, b);
}

/* Nonzero if vertex v lies between a and b within the rounding of coordinates to the grid. Exact
 * constraints, which may not cross, have no such vertices. */
static int is_between(const triangulation *t, int32_t a, int32_t b, int32_t v) {
  const cvtm_grid_point *p = t->m.grid;
  const double length2 = cvtm_length2(p[a], p[b]), along = cvtm_dot_at(p[a], p[b], p[v]);
  const double side = (double)orient(t, a, b, v);
  return t->crossing != NULL && side * side <= 4 * length2 && along > 0 && along < length2;
}

/* Returns a neighbour of a that lies between a and b; -1: none. */
static int32_t beside_between(const triangulation *t, int32_t a, int32_t b) {
  const int64_t first = t->m.at[a];
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(&t->m, h, first)) {
    const int32_t ends[2] = {cvtm_end_of(&t->m, h), cvtm_apex_of(&t->m, h)};
    for (int k = 0; k < 2; ++k)
      if (ends[k] != b && is_between(t, a, b, ends[k])) return ends[k];
  }
  return -1;
}

/* Follows the line from a to b, and lists the edges that cross it as pairs of vertices. Ends at the
 * first vertex on the line, *reached, or before at the first half-edge *met of a constraint, or at
 * the first vertex *near that is_between. -1: none. */
static cvtm_status collect_crossed(triangulation *t, int32_t a, int32_t b, int64_t across,
                                   int32_t *reached, int64_t *met, int32_t *near) {
  t->depth = 0;
  *met = -1;
  *near = -1;
  for (int64_t h = across;;) {
    if (t->m.segment[h] >= 0) {
      *met = h;
      return t->crossing != NULL ? CVTM_OK : fail_crossing(t, a, b);
    }
    CVTM_TRY(push(t, t->m.corner[h]));
    CVTM_TRY(push(t, t->m.corner[cvtm_half_after(h)]));
    const int64_t g = t->m.twin[h];
    if (g < 0) return fail_lost(t, a, b);
    const int32_t opposite = t->m.corner[cvtm_half_before(g)];
    const int64_t side = orient(t, a, b, opposite);
    if (side != 0 && opposite != b && is_between(t, a, b, opposite)) {
      *near = opposite;
      return CVTM_OK;
    }
    if (side == 0) {
      *reached = opposite;
      return CVTM_OK;
    }
    /* g crosses the line from left to right; continue with the side where the line leaves */
    h = side > 0 ? cvtm_half_after(g) : cvtm_half_before(g);
    if (orient(t, a, b, t->m.corner[h]) > 0) return fail_lost(t, a, b);
  }
}

/* Flips the listed edges until none crosses the line from a to b (Sloan 1993). */
static cvtm_status clear_way(triangulation *t, int32_t a, int32_t b) {
  int64_t count = t->depth / 2;
  /* an edge that cannot be flipped yet goes to the end of the queue */
  int64_t patience = 4 * (count + 4) * (count + 4);
  while (count > 0 && patience-- > 0) {
    int64_t kept = 0;
    for (int64_t k = 0; k < count; ++k) {
      const int32_t u = (int32_t)t->stack[2 * k], v = (int32_t)t->stack[2 * k + 1];
      const int64_t h = cvtm_half_edges_find(&t->m, u, v);
      if (h < 0 || t->m.twin[h] < 0) return fail_lost(t, u, v);
      const int32_t c = t->m.corner[cvtm_half_before(h)],
                    d = t->m.corner[cvtm_half_before(t->m.twin[h])];
      const int32_t from = t->m.corner[h], to = t->m.corner[cvtm_half_after(h)];
      int32_t p = u, q = v;
      if (orient(t, d, c, from) > 0 && orient(t, d, c, to) < 0) {
        cvtm_half_edges_flip(&t->m, h);
        cvtm_half_edges_push(&t->m, h);
        p = c;
        q = d;
      }
      const int64_t side_p = orient(t, a, b, p), side_q = orient(t, a, b, q);
      const int crosses = (side_p > 0 && side_q < 0) || (side_p < 0 && side_q > 0);
      if (!crosses) continue;
      t->stack[2 * kept] = p;
      t->stack[2 * kept++ + 1] = q;
    }
    count = kept;
  }
  return count == 0 ? CVTM_OK : fail_lost(t, a, b);
}

/* Nonzero if two points are equal except for rounding. */
static int same_place(cvtm_grid_point p, cvtm_grid_point q) { return cvtm_length2(p, q) <= 8; }

static cvtm_status add_goal(triangulation *t, int32_t goal) {
  if (!cvtm_grow(&t->goals, sizeof *t->goals, &t->goal_capacity, t->goal_count + 1))
    return cvtm_no_memory(t->error, "the constrained triangulation");
  t->goals[t->goal_count++] = goal;
  return CVTM_OK;
}

/* The line from a to b crosses the constraint of half-edge h. The next goal becomes a new vertex at
 * the crossing or, if the grid has no point between, an end of h. */
static cvtm_status meet_constraint(triangulation *t, int32_t a, int32_t b, int64_t h,
                                   int32_t constraint) {
  cvtm_constraints *c = t->crossing;
  const int32_t u = t->m.corner[h], w = cvtm_end_of(&t->m, h), other = t->m.segment[h];
  const cvtm_grid_point p = t->m.grid[u], q = t->m.grid[w];
  const double of_p = (double)orient(t, a, b, u), of_q = (double)orient(t, a, b, w);
  const double s = of_p / (of_p - of_q);
  const cvtm_grid_point place = {(int32_t)(p.x + llround(s * (double)((int64_t)q.x - p.x))),
                                 (int32_t)(p.y + llround(s * (double)((int64_t)q.y - p.y)))};
  if (same_place(place, p)) return add_goal(t, u);
  if (same_place(place, q)) return add_goal(t, w);
  const int32_t v = cvtm_half_edges_insert_on(&t->m, h, place);
  if (t->m.out_of_memory ||
      !cvtm_grow(&c->crossed, 2 * sizeof *c->crossed, &c->crossed_capacity, c->crossed_count + 1))
    return cvtm_no_memory(t->error, "the constrained triangulation");
  if (v < 0) return add_goal(t, s < 0.5 ? u : w);
  c->crossed[2 * c->crossed_count] = constraint;
  c->crossed[2 * c->crossed_count++ + 1] = other;
  return add_goal(t, v);
}

/* Makes half-edge h a part of a constraint. If h already belongs to one, the new constraint
 * replaces it only if the new one has a marker and the old one has none. */
static cvtm_status mark_constraint(triangulation *t, int64_t h, int32_t a, int32_t next,
                                   int32_t constraint) {
  const int32_t old = t->m.segment[h];
  if (old >= 0 && t->crossing == NULL) return fail_crossing(t, a, next);
  const int32_t *marker = t->crossing != NULL ? t->crossing->marker : NULL;
  if (old < 0 || (marker != NULL && marker[old] == 0 && marker[constraint] != 0))
    cvtm_half_edges_mark(&t->m, h, constraint);
  return CVTM_OK;
}

static cvtm_status insert_constraint(triangulation *t, int32_t a, int32_t b, int32_t constraint) {
  t->goal_count = 0;
  cvtm_status status = add_goal(t, b);
  for (int64_t patience = 8 * (t->m.vertex_count + 100); t->goal_count > 0 && status == CVTM_OK;) {
    int64_t along, across, met = -1;
    b = t->goals[t->goal_count - 1];
    if (a == b) {
      --t->goal_count;
      continue;
    }
    if (t->m.at[a] < 0 || patience-- == 0) return fail_lost(t, a, b);
    int32_t near = beside_between(t, a, b);
    if (near >= 0) {
      status = add_goal(t, near);
      continue;
    }
    look(t, a, b, &along, &across);
    if (along < 0) {
      if (across < 0) return fail_lost(t, a, b);
      int32_t reached = a;
      status = collect_crossed(t, a, b, across, &reached, &met, &near);
      if (status == CVTM_OK && near >= 0) {
        status = add_goal(t, near);
        continue;
      }
      if (status == CVTM_OK && met >= 0) {
        status = meet_constraint(t, a, b, met, constraint);
        continue;
      }
      if (status == CVTM_OK) status = clear_way(t, a, reached);
      if (status != CVTM_OK) return status;
      along = cvtm_half_edges_find(&t->m, a, reached);
      if (along < 0) return fail_lost(t, a, reached);
    }
    const int32_t next =
        t->m.corner[along] == a ? t->m.corner[cvtm_half_after(along)] : t->m.corner[along];
    status = mark_constraint(t, along, a, next, constraint);
    a = next;
  }
  return status;
}

/* ---- Regions ---- */

/* The region of the triangle of h, from the constraint on h. */
static int32_t region_beside(const triangulation *t, int64_t h) {
  const int32_t constraint = t->m.segment[h];
  const int32_t *edge = t->boundary->edges + 2 * (int64_t)constraint;
  const cvtm_grid_point a = t->m.grid[edge[0]], b = t->m.grid[edge[1]];
  const cvtm_grid_point p = t->m.grid[t->m.corner[h]],
                        q = t->m.grid[t->m.corner[cvtm_half_after(h)]];
  const int64_t way =
      ((int64_t)b.x - a.x) * ((int64_t)q.x - p.x) + ((int64_t)b.y - a.y) * ((int64_t)q.y - p.y);
  return way > 0 ? t->boundary->left[constraint] : t->boundary->right[constraint];
}

/* Spreads the region of triangle `first` up to the constraints. Region -1: unknown. */
static cvtm_status spread(triangulation *t, int64_t first) {
  int32_t *region = t->m.region;
  t->depth = 0;
  CVTM_TRY(push(t, first));
  while (t->depth > 0) {
    const int64_t triangle = t->stack[--t->depth];
    for (int k = 0; k < 3; ++k) {
      const int64_t h = 3 * triangle + k;
      if (t->m.segment[h] >= 0) {
        if (region_beside(t, h) == region[triangle]) continue;
        const double *p = t->points + 2 * (int64_t)t->m.corner[h];
        return cvtm_fail(t->error, CVTM_ERROR_INPUT,
                         "the boundary is open or crosses itself near (%g, %g)", p[0], p[1]);
      }
      const int64_t g = t->m.twin[h];
      if (g < 0 || region[g / 3] >= 0) continue;
      region[g / 3] = region[triangle];
      CVTM_TRY(push(t, g / 3));
    }
  }
  return CVTM_OK;
}

static cvtm_status find_regions(triangulation *t) {
  for (int64_t h = 0; h < 3 * t->m.triangle_count; ++h) {
    if (t->m.segment[h] < 0 || t->m.region[h / 3] >= 0) continue;
    t->m.region[h / 3] = region_beside(t, h);
    CVTM_TRY(spread(t, h / 3));
  }
  return CVTM_OK;
}

/* ---- All steps ---- */

/* first[i]: the first of the points that coincide with point i; only this point has triangles. */
static cvtm_status find_first(const cvtm_grid_point *grid, int64_t count, int32_t *first,
                              cvtm_error *error) {
  cvtm_placed *list = malloc((size_t)count * sizeof *list);
  if (list == NULL) return cvtm_no_memory(error, "the constrained triangulation");
  for (int64_t i = 0; i < count; ++i) list[i] = (cvtm_placed){grid[i].x, grid[i].y, i};
  qsort(list, (size_t)count, sizeof *list, cvtm_compare_placed);
  for (int64_t i = 0; i < count; ++i) {
    const int same = i > 0 && list[i].x == list[i - 1].x && list[i].y == list[i - 1].y;
    first[list[i].index] = same ? first[list[i - 1].index] : (int32_t)list[i].index;
  }
  free(list);
  return CVTM_OK;
}

static cvtm_status constrain(triangulation *t, const int32_t *first) {
  cvtm_status status = CVTM_OK;
  const cvtm_boundary *b = t->boundary;
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    const int32_t from = b->edges[2 * e], to = b->edges[2 * e + 1];
    status = insert_constraint(t, first ? first[from] : from, first ? first[to] : to, (int32_t)e);
  }
  if (status == CVTM_OK) cvtm_half_edges_restore(&t->m);
  return t->m.out_of_memory ? cvtm_no_memory(t->error, "the constrained triangulation") : status;
}

/* The number of points with triangles. */
static int64_t count_used(const cvtm_half_edges *m) {
  int64_t used = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v) used += m->at[v] >= 0;
  return used;
}

static cvtm_status constrain_all(triangulation *t) {
  const int64_t n = t->m.vertex_count;
  if (count_used(&t->m) == n) return constrain(t, NULL);
  int32_t *first = malloc(((size_t)n + 1) * sizeof *first);
  cvtm_status status = first != NULL ? find_first(t->m.grid, n, first, t->error)
                                     : cvtm_no_memory(t->error, "the constrained triangulation");
  if (status == CVTM_OK) status = constrain(t, first);
  free(first);
  return status;
}

cvtm_status cvtm_constrain(cvtm_half_edges *m, cvtm_boundary *segments, cvtm_constraints *c,
                           cvtm_error *error) {
  triangulation t = {
      .m = *m, .points = segments->points, .boundary = segments, .crossing = c, .error = error};
  cvtm_half_edges_push_all(&t.m); /* the caller's triangles need not be Delaunay */
  const cvtm_status status = constrain_all(&t);
  *m = t.m;
  free(t.stack);
  free(t.goals);
  return status;
}

void cvtm_place_crossing(const double *points, const int32_t *ends, const int32_t crossed[2],
                         const cvtm_grid_frame *frame, cvtm_grid_point at, double place[2]) {
  const int32_t *one = ends + 2 * (int64_t)crossed[0], *other = ends + 2 * (int64_t)crossed[1];
  const double *a = points + 2 * (int64_t)one[0], *b = points + 2 * (int64_t)one[1],
               *c = points + 2 * (int64_t)other[0], *d = points + 2 * (int64_t)other[1];
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = d[0] - c[0], vy = d[1] - c[1];
  const double s = ((c[0] - a[0]) * vy - (c[1] - a[1]) * vx) / (ux * vy - uy * vx);
  const double x = a[0] + s * ux, y = a[1] + s * uy;
  cvtm_grid_place(frame, at, place);
  if (!(fabs(x - place[0]) <= frame->step && fabs(y - place[1]) <= frame->step)) return;
  place[0] = x;
  place[1] = y;
}

cvtm_status cvtm_constrained_half_edges(const double *points, int64_t count,
                                        const cvtm_boundary *boundary, cvtm_half_edges *m,
                                        cvtm_grid_frame *frame, cvtm_error *error) {
  if (!points || !boundary || boundary->edge_count < 3)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points or no boundary");
  if (boundary->edge_count > INT32_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%" PRId64 " edges; at most %" PRId32 " are possible", boundary->edge_count,
                     INT32_MAX);
  for (int64_t k = 0; k < 2 * boundary->edge_count; ++k) {
    if (boundary->edges[k] >= 0 && boundary->edges[k] < count) continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "edge %" PRId64 " has no point %" PRId32, k / 2,
                     boundary->edges[k]);
  }
  triangulation t = {.points = points, .boundary = boundary, .error = error};
  cvtm_status status = cvtm_delaunay_half_edges(points, count, &t.m, frame, error);
  if (status == CVTM_OK) status = constrain_all(&t);
  if (status == CVTM_OK) status = find_regions(&t);
  if (status == CVTM_OK) status = cvtm_half_edges_drop_outside(&t.m, error);
  if (status == CVTM_OK && count_used(&t.m) == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "no triangle lies inside the boundary");
  free(t.stack);
  free(t.goals);
  t.m.records_changes = 1;
  if (status == CVTM_OK)
    *m = t.m;
  else
    cvtm_half_edges_free(&t.m);
  return status;
}

/* Numbers the vertices that have triangles; returns their number. source: their old numbers. */
static int64_t number_vertices(const cvtm_half_edges *m, int32_t *number, int32_t *source) {
  int64_t count = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v) {
    if (m->at[v] < 0) continue;
    source[count] = (int32_t)v;
    number[v] = (int32_t)count++;
  }
  return count;
}

cvtm_status cvtm_constrained_delaunay(const double *points, int64_t count,
                                      const cvtm_boundary *boundary, cvtm_mesh *mesh,
                                      cvtm_regions *regions, int32_t **source, cvtm_error *error) {
  if (!mesh || !regions || !source)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no mesh, no regions or no source");
  cvtm_half_edges m = {0};
  cvtm_grid_frame frame;
  CVTM_TRY(cvtm_constrained_half_edges(points, count, boundary, &m, &frame, error));
  const size_t n = (size_t)m.vertex_count;
  int32_t *number = malloc(n * sizeof *number), *from = malloc(n * sizeof *from);
  int64_t kept = 0;
  cvtm_status status =
      number && from ? CVTM_OK : cvtm_no_memory(error, "the constrained triangulation");
  if (status == CVTM_OK) kept = number_vertices(&m, number, from);
  if (status == CVTM_OK) status = cvtm_half_edges_extract(&m, number, kept, mesh, regions, error);
  if (status == CVTM_OK) {
    for (int64_t k = 0; k < kept; ++k)
      cvtm_grid_place(&frame, m.grid[from[k]], mesh->points + 2 * k);
    *source = from;
    from = NULL;
  }
  free(number);
  free(from);
  cvtm_half_edges_free(&m);
  return status;
}
