#include "meshes/delaunay/crossings.h"

#include "base/host.h"
#include "meshes/delaunay/grid.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- Edges on the grid ---- */

/* An edge from its end a to its end b, where a precedes b in the order of x, then y. */
typedef struct side {
  cvtm_grid_point a, b;
  struct side *below, *above; /* neighbours in the sweep's order */
  uint8_t turned;             /* nonzero: a is the second vertex of the edge */
  uint8_t present;            /* nonzero: in the order of the sweep */
  uint8_t crossed;
} side;

static int compare_points(cvtm_grid_point p, cvtm_grid_point q) {
  return p.x != q.x ? (p.x > q.x) - (p.x < q.x) : (p.y > q.y) - (p.y < q.y);
}

static int same_point(cvtm_grid_point p, cvtm_grid_point q) { return p.x == q.x && p.y == q.y; }

static int sign(int64_t value) { return (value > 0) - (value < 0); }

static side make_side(cvtm_grid_point from, cvtm_grid_point to) {
  const int turned = compare_points(from, to) > 0;
  return (side){.a = turned ? to : from, .b = turned ? from : to, .turned = (uint8_t)turned};
}

/* True if two sides share a point that is an end of neither, or more than one point. */
static int sides_cross(const side *p, const side *q) {
  const int pa = sign(cvtm_orient(p->a, p->b, q->a)), pb = sign(cvtm_orient(p->a, p->b, q->b));
  const int qa = sign(cvtm_orient(q->a, q->b, p->a)), qb = sign(cvtm_orient(q->a, q->b, p->b));
  if (pa != 0 || pb != 0) return pa * pb < 0 && qa * qb < 0;
  if (qa != 0 || qb != 0) return 0; /* p is a point */
  const cvtm_grid_point low = compare_points(p->a, q->a) > 0 ? p->a : q->a;
  const cvtm_grid_point high = compare_points(p->b, q->b) < 0 ? p->b : q->b;
  return compare_points(low, high) < 0;
}

/* ---- The sweep (Shamos & Hoey 1976) ----
 *
 * A vertical line sweeps over the ends of all sides, in the order of x, then y. The sides that meet
 * the line are kept in their order along it, in a search tree and a linked list. Sides that become
 * neighbours are tested. Just before the first point where two sides cross, only sides that end in
 * this point lie between them, so the two become neighbours once the sides between them are
 * removed. A side that crosses another is removed, so that the order of the others stays valid. */

typedef struct event {
  cvtm_grid_point at;
  int64_t code; /* 2 * side, + 1 at its upper end */
} event;

struct ring_check;

typedef struct sweeper {
  side *sides;
  int64_t count;
  event *events;
  int64_t event_count;
  void *tree;
  side *through;            /* the side with the current point strictly between its ends, or NULL */
  struct ring_check *rings; /* NULL: edges of any kind */
  int64_t pair[2];          /* the first two sides that cross by more than `depth` */
  int first_only;           /* nonzero: stop at the first pair */
  double depth;             /* grid steps; 0: any crossing counts */
} sweeper;

static int compare_events(const void *first, const void *second) {
  const event *p = first, *q = second;
  const int places = compare_points(p->at, q->at);
  return places != 0 ? places : (p->code > q->code) - (p->code < q->code);
}

/* For p that begins after q: 1 if p begins on the left of q, -1 on the right; if p begins on q, the
 * same for the end of p. */
static int later_against(const side *p, const side *q) {
  const int begin = sign(cvtm_orient(q->a, q->b, p->a));
  return begin != 0 ? begin : sign(cvtm_orient(q->a, q->b, p->b));
}

/* Orders two sides along the line. The search for a new side's position also finds its
 * neighbours. */
static int compare_sides(const void *first, const void *second) {
  side *p = (side *)(uintptr_t)first, *q = (side *)(uintptr_t)second;
  if (p == q) return 0;
  const int order = compare_points(p->a, q->a) >= 0 ? later_against(p, q) : -later_against(q, p);
  if (!p->present) {
    if (order < 0) p->above = q;
    if (order > 0) p->below = q;
  }
  return order;
}

static void note_through(sweeper *s, side *neighbour, cvtm_grid_point at) {
  if (neighbour == NULL || same_point(neighbour->a, at) || same_point(neighbour->b, at)) return;
  if (cvtm_orient(neighbour->a, neighbour->b, at) == 0) s->through = neighbour;
}

static void take_out(sweeper *s, side *p) {
  (void)tdelete(p, &s->tree, compare_sides);
  if (p->below != NULL) p->below->above = p->above;
  if (p->above != NULL) p->above->below = p->below;
  p->present = 0;
}

/* The distance of the nearer end of q from the line through p, in grid steps. */
static double distance_of_ends(const side *p, const side *q) {
  const double length = hypot((double)p->b.x - p->a.x, (double)p->b.y - p->a.y);
  const double a = (double)cvtm_orient(p->a, p->b, q->a), b = (double)cvtm_orient(p->a, p->b, q->b);
  return fmin(fabs(a), fabs(b)) / length;
}

static int is_deep(const sweeper *s, const side *p, const side *q) {
  return s->depth == 0 || fmin(distance_of_ends(p, q), distance_of_ends(q, p)) > s->depth;
}

static void mark_pair(sweeper *s, side *p, side *q) {
  if (s->pair[0] < 0 && is_deep(s, p, q)) {
    s->pair[0] = p - s->sides;
    s->pair[1] = q - s->sides;
  }
  p->crossed = q->crossed = 1;
}

static int is_over(const sweeper *s) { return s->first_only && s->pair[0] >= 0; }

/* Removes neighbours that cross, and tests the sides that become neighbours by that. */
static void test_neighbours(sweeper *s, side *below, side *above) {
  while (below != NULL && above != NULL && sides_cross(below, above)) {
    mark_pair(s, below, above);
    if (is_over(s)) return;
    side *next_below = below->below, *next_above = above->above;
    take_out(s, below);
    take_out(s, above);
    below = next_below;
    above = next_above;
  }
}

static void end_side(sweeper *s, side *p) {
  if (!p->present) return;
  side *below = p->below, *above = p->above;
  take_out(s, p);
  test_neighbours(s, below, above);
  if (below != NULL && below->present) note_through(s, below, p->b);
  if (above != NULL && above->present) note_through(s, above, p->b);
}

static cvtm_status no_memory_for_edges(int64_t edges, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to compare %lld edges", (long long)edges);
}

static cvtm_status begin_side(sweeper *s, side *p, cvtm_error *error) {
  p->below = p->above = NULL;
  side *const *node = tsearch(p, &s->tree, compare_sides);
  if (node == NULL) return no_memory_for_edges(s->count, error);
  if (*node != p) { /* they overlap */
    side *other = *node, *below = other->below, *above = other->above;
    mark_pair(s, p, other);
    if (is_over(s)) return CVTM_OK;
    take_out(s, other);
    test_neighbours(s, below, above);
    return CVTM_OK;
  }
  p->present = 1;
  if (p->below != NULL) p->below->above = p;
  if (p->above != NULL) p->above->below = p;
  note_through(s, p->below, p->a);
  note_through(s, p->above, p->a);
  test_neighbours(s, p->below, p);
  if (p->present) test_neighbours(s, p, p->above);
  return CVTM_OK;
}

static cvtm_status begin_rings(sweeper *s, cvtm_error *error);
static void leave_point(struct ring_check *c, const event *events, int64_t count);
static void enter_point(struct ring_check *c, sweeper *s, const event *events, int64_t count);

/* Handles all events at one point: first removes the sides that end there, then inserts the sides
 * that begin there. */
static cvtm_status pass_point(sweeper *s, const event *events, int64_t count, cvtm_error *error) {
  s->through = NULL;
  if (s->rings != NULL) leave_point(s->rings, events, count);
  for (int64_t k = 0; k < count && !is_over(s); ++k) {
    if (events[k].code % 2 == 1) end_side(s, &s->sides[events[k].code / 2]);
  }
  for (int64_t k = 0; k < count && !is_over(s); ++k) {
    if (events[k].code % 2 == 1) continue;
    CVTM_TRY(begin_side(s, &s->sides[events[k].code / 2], error));
  }
  if (s->rings != NULL && !is_over(s)) enter_point(s->rings, s, events, count);
  return CVTM_OK;
}

static int64_t end_of_point(const sweeper *s, int64_t first) {
  int64_t end = first + 1;
  while (end < s->event_count && same_point(s->events[end].at, s->events[first].at)) ++end;
  return end;
}

static cvtm_status sweep_edges(sweeper *s, cvtm_error *error) {
  s->pair[0] = s->pair[1] = -1;
  s->events = malloc(((size_t)s->count + 1) * 2 * sizeof *s->events);
  if (s->events == NULL) return no_memory_for_edges(s->count, error);
  for (int64_t e = 0; e < s->count; ++e) {
    if (same_point(s->sides[e].a, s->sides[e].b)) continue;
    s->events[s->event_count++] = (event){s->sides[e].a, 2 * e};
    s->events[s->event_count++] = (event){s->sides[e].b, 2 * e + 1};
  }
  qsort(s->events, (size_t)s->event_count, sizeof *s->events, compare_events);
  cvtm_status status = s->rings != NULL ? begin_rings(s, error) : CVTM_OK;
  for (int64_t first = 0, end; first < s->event_count && status == CVTM_OK; first = end) {
    end = end_of_point(s, first);
    status = pass_point(s, s->events + first, end - first, error);
    if (is_over(s)) break;
  }
  while (s->tree != NULL) (void)tdelete(*(side **)s->tree, &s->tree, compare_sides);
  free(s->events);
  return status;
}

/* ---- All edges that cross ---- */

static cvtm_status make_grid(const double *points, int64_t count, cvtm_grid_point **grid,
                             cvtm_error *error) {
  *grid = malloc(((size_t)count + 1) * sizeof **grid);
  if (*grid == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to compare the edges between %lld points",
                     (long long)count);
  return count > 0 ? cvtm_grid_of_points(points, count, *grid, error) : CVTM_OK;
}

typedef struct active_list {
  side **item;
  int64_t count;
} active_list;

/* Marks p and each side in the list that p crosses; removes sides to the left of p. */
static void compare_with(active_list *list, side *p, uint8_t *crossed, const side *sides) {
  int64_t kept = 0;
  for (int64_t k = 0; k < list->count; ++k) {
    side *q = list->item[k];
    if (q->b.x < p->a.x) continue;
    list->item[kept++] = q;
    if (sides_cross(p, q)) crossed[p - sides] = crossed[q - sides] = 1;
  }
  list->count = kept;
}

static int compare_lefts(const void *first, const void *second) {
  const side *p = *(side *const *)first, *q = *(side *const *)second;
  return compare_points(p->a, q->a);
}

/* For each crossing the sweep marks at least one of the two sides. This function finds the others
 * by testing each side against the marked ones. */
static cvtm_status mark_others(side *sides, int64_t count, uint8_t *crossed, cvtm_error *error) {
  side **memory = malloc(((size_t)count + 1) * 3 * sizeof *memory);
  if (memory == NULL) return no_memory_for_edges(count, error);
  active_list marked = {memory + count, 0}, others = {memory + 2 * count, 0};
  for (int64_t e = 0; e < count; ++e) memory[e] = &sides[e];
  qsort(memory, (size_t)count, sizeof *memory, compare_lefts);
  for (int64_t k = 0; k < count; ++k) {
    side *p = memory[k];
    active_list *own = p->crossed ? &marked : &others;
    compare_with(p->crossed ? &others : &marked, p, crossed, sides);
    own->item[own->count++] = p;
  }
  free(memory);
  return CVTM_OK;
}

cvtm_status cvtm_find_crossed(const double *points, int64_t count, const int32_t *edges,
                              int64_t edge_count, uint8_t *crossed, int64_t *found,
                              cvtm_error *error) {
  memset(crossed, 0, (size_t)edge_count);
  *found = 0;
  cvtm_grid_point *grid;
  sweeper s = {.count = edge_count, .sides = malloc(((size_t)edge_count + 1) * sizeof *s.sides)};
  cvtm_status status = make_grid(points, count, &grid, error);
  if (status == CVTM_OK && s.sides == NULL) status = no_memory_for_edges(edge_count, error);
  if (status == CVTM_OK) {
    for (int64_t e = 0; e < edge_count; ++e)
      s.sides[e] = make_side(grid[edges[2 * e]], grid[edges[2 * e + 1]]);
    status = sweep_edges(&s, error);
  }
  if (status == CVTM_OK && s.pair[0] >= 0) {
    for (int64_t e = 0; e < edge_count; ++e) crossed[e] = s.sides[e].crossed;
    status = mark_others(s.sides, edge_count, crossed, error);
  }
  for (int64_t e = 0; e < edge_count && status == CVTM_OK; ++e) *found += crossed[e];
  free(s.sides);
  free(grid);
  return status;
}

/* ---- Rings ---- */

enum { RING_NEW, RING_OUTER, RING_HOLE };

typedef struct ring_check {
  cvtm_scratch *memory;
  side *sides;
  const int64_t *start;
  int32_t *ring; /* per edge */
  uint8_t *kind; /* per ring */
  uint8_t
      *open; /* per ring: nonzero if met an odd number of times so far around the current point */
  uint8_t *reversed;
  side **around; /* the sides at the current point: those from the left, then those to the right */
  int64_t left_count;
  side **stack;
} ring_check;

static int64_t edge_after(const ring_check *c, int64_t e) {
  const int32_t r = c->ring[e];
  return e + 1 < c->start[r + 1] ? e + 1 : c->start[r];
}

static int64_t edge_before(const ring_check *c, int64_t e) {
  const int32_t r = c->ring[e];
  return e > c->start[r] ? e - 1 : c->start[r + 1] - 1;
}

static int are_consecutive(const ring_check *c, int64_t e, int64_t f) {
  return edge_after(c, e) == f || edge_after(c, f) == e;
}

/* Finds two corners of one ring, or a corner and an edge, at the current point. */
static void find_self_touch(const ring_check *c, sweeper *s, const event *events, int64_t count) {
  const int64_t through = s->through != NULL ? s->through - s->sides : -1;
  int64_t last = -1; /* the edge that begins here */
  for (int64_t k = 0; k < count && s->pair[0] < 0; ++k) {
    const int64_t e = events[k].code / 2;
    int64_t other = -1;
    if (through >= 0 && c->ring[e] == c->ring[through] && !are_consecutive(c, e, through))
      other = through;
    if ((events[k].code % 2 == 1) == s->sides[e].turned) {
      if (last >= 0 && c->ring[last] == c->ring[e]) other = last;
      last = e;
    }
    if (other < 0) continue;
    s->pair[0] = e;
    s->pair[1] = other;
  }
}

/* Two rings that touch at a point cross there if their sides alternate around the point. Each ring
 * has two sides at the point. */
static void find_crossing_at_corner(const ring_check *c, sweeper *s, int64_t around) {
  int64_t depth = 0;
  for (int64_t k = 0; k < around; ++k) {
    side *p = c->around[k];
    const int32_t r = c->ring[p - s->sides];
    if (depth > 0 && c->ring[c->stack[depth - 1] - s->sides] == r) {
      --depth;
    } else if (c->open[r]) {
      mark_pair(s, p, c->stack[depth - 1]);
      return;
    } else {
      c->stack[depth++] = p;
    }
    c->open[r] ^= 1;
  }
}

/* Nonzero if the area above a side is inside. The direction of the ring is known: the inside lies
 * on its left unless it is reversed. */
static int bounded_above(const ring_check *c, const sweeper *s, const side *p) {
  return p->turned == c->reversed[c->ring[p - s->sides]];
}

/* The sweep meets a ring first at its lowest corner, where two of its sides begin. The side below
 * them tells whether the ring is a hole. */
static void classify_ring(const ring_check *c, const sweeper *s, const side *lower) {
  const int64_t e = lower - s->sides;
  const int32_t r = c->ring[e];
  if (c->kind[r] != RING_NEW) return;
  const int hole = lower->below != NULL && bounded_above(c, s, lower->below);
  c->kind[r] = hole ? RING_HOLE : RING_OUTER;
  /* The inside of the ring is on the left of the lower side unless the side is turned. */
  c->reversed[r] = lower->turned != hole;
}

static int is_on(const side *p, cvtm_grid_point at) {
  return p != NULL && cvtm_orient(p->a, p->b, at) == 0;
}

/* Called before sides are removed: lists the sides that come from the left, from top to bottom. */
static void leave_point(ring_check *c, const event *events, int64_t count) {
  const cvtm_grid_point at = events->at;
  side *p = NULL;
  c->left_count = 0;
  for (int64_t k = 0; k < count && p == NULL; ++k) {
    if (events[k].code % 2 == 1) p = &c->sides[events[k].code / 2];
  }
  if (p == NULL) return;
  while (is_on(p->above, at)) p = p->above;
  for (; is_on(p, at); p = p->below) c->around[c->left_count++] = p;
}

/* Called after sides are inserted: lists the sides that go to the right, from bottom to top. */
static void enter_point(ring_check *c, sweeper *s, const event *events, int64_t count) {
  find_self_touch(c, s, events, count);
  if (s->pair[0] >= 0) return;
  const cvtm_grid_point at = events->at;
  int64_t around = c->left_count;
  if (around == 0 && s->through != NULL) c->around[around++] = s->through;
  side *p = s->through;
  for (int64_t k = 0; k < count && p == NULL; ++k) {
    if (events[k].code % 2 == 0) p = &s->sides[events[k].code / 2];
  }
  while (p != NULL && is_on(p->below, at)) p = p->below;
  for (; is_on(p, at); p = p->above) {
    c->around[around++] = p;
    classify_ring(c, s, p);
  }
  find_crossing_at_corner(c, s, around);
}

/* Finds consecutive corners at one point. A ring with at least four points must have none, and no
 * side between such corners would show them. */
static int find_short_edge(const ring_check *c, const sweeper *s, int64_t pair[2]) {
  for (int64_t e = 0; e < s->count; ++e) {
    const int32_t r = c->ring[e];
    if (c->start[r + 1] - c->start[r] < 4 || !same_point(s->sides[e].a, s->sides[e].b)) continue;
    pair[0] = edge_before(c, e);
    pair[1] = edge_after(c, e);
    return 1;
  }
  return 0;
}

/* Allocates memory for the sides at a point, where one that passes through counts twice. */
static cvtm_status begin_rings(sweeper *s, cvtm_error *error) {
  int64_t most = 0;
  for (int64_t first = 0, end; first < s->event_count; first = end) {
    end = end_of_point(s, first);
    if (end - first > most) most = end - first;
  }
  s->rings->around = cvtm_scratch_take(s->rings->memory, (size_t)most + 2, sizeof(side *));
  s->rings->stack = cvtm_scratch_take(s->rings->memory, (size_t)most + 2, sizeof(side *));
  return s->rings->memory->failed ? no_memory_for_edges(s->count, error) : CVTM_OK;
}

static cvtm_status sweep_rings(sweeper *s, ring_check *c, const double *points, int64_t ring_count,
                               int64_t pair[2], cvtm_error *error) {
  cvtm_grid_point *grid;
  cvtm_status status = make_grid(points, s->count, &grid, error);
  if (status == CVTM_OK) {
    for (int64_t r = 0; r < ring_count; ++r) {
      for (int64_t e = c->start[r]; e < c->start[r + 1]; ++e) c->ring[e] = (int32_t)r;
    }
    for (int64_t e = 0; e < s->count; ++e) s->sides[e] = make_side(grid[e], grid[edge_after(c, e)]);
  }
  free(grid);
  if (status != CVTM_OK || (s->rings != NULL && find_short_edge(c, s, pair))) return status;
  status = sweep_edges(s, error);
  memcpy(pair, s->pair, sizeof s->pair);
  return status;
}

/* depth: see sweeper; 0: also checks the rules of rings. */
static cvtm_status check_rings(const double *points, const int64_t *start, int64_t ring_count,
                               double depth, uint8_t *reversed, int64_t pair[2],
                               cvtm_error *error) {
  const int64_t count = ring_count > 0 ? start[ring_count] : 0;
  cvtm_scratch memory = {0};
  ring_check c = {.memory = &memory,
                  .sides = cvtm_scratch_take(&memory, (size_t)count, sizeof *c.sides),
                  .start = start,
                  .ring = cvtm_scratch_take(&memory, (size_t)count, sizeof *c.ring),
                  .kind = cvtm_scratch_zeros(&memory, (size_t)ring_count, 1),
                  .open = cvtm_scratch_zeros(&memory, (size_t)ring_count, 1),
                  .reversed = reversed};
  sweeper s = {.sides = c.sides,
               .count = count,
               .rings = depth == 0 ? &c : NULL,
               .first_only = 1,
               .depth = depth};
  pair[0] = pair[1] = -1;
  const cvtm_status status = memory.failed ? no_memory_for_edges(count, error)
                                           : sweep_rings(&s, &c, points, ring_count, pair, error);
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status cvtm_check_rings(const double *points, const int64_t *start, int64_t ring_count,
                             uint8_t *reversed, int64_t pair[2], cvtm_error *error) {
  memset(reversed, 0, (size_t)ring_count);
  return check_rings(points, start, ring_count, 0, reversed, pair, error);
}

cvtm_status cvtm_find_deep_crossing(const double *points, const int64_t *start, int64_t ring_count,
                                    double depth, int64_t pair[2], cvtm_error *error) {
  return check_rings(points, start, ring_count, depth, NULL, pair, error);
}
