/* Sides of a periodic outline that are translated copies, and exact places on the edges. */
#include "run/outline_parts.h"

#include "base/geometry.h"
#include "base/host.h"
#include "meshes/elements/chains.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Translated sides ---- */

/* An edge with the outside on its right. */
typedef struct outer_edge {
  double key; /* orders the edges by their first ends */
  int32_t edge;
  const double *from, *to;
} outer_edge;

/* Two sides of the convex hull that are copies. */
typedef struct side_pair {
  double length, way[2];  /* the translation from the original to the copy, y down */
  double side[2];         /* from the beginning of the first to its end, the mean of both */
  int64_t corner[2];      /* of the hull, where the sides begin */
  int is_used, is_paired; /* nonzero: has been tried, and with success */
} side_pair;

typedef struct finder {
  cvtm_boundary *b;
  outer_edge *outer;
  int64_t count;
  cvtm_placed *hull; /* corners, and room for as many points */
  int64_t hull_count;
  side_pair *sides;
  int64_t side_count;
  double slack, area;
  double paired, error; /* length of all edges with twins, and the largest error of their places */
  int way_count, first_way; /* the translations and the number of the first */
  double way[RUN_PERIODS_MOST][2];
} finder;

static double cross_product(const double *u, const double *v) { return u[0] * v[1] - u[1] * v[0]; }

/* No side is likely to be perpendicular to this direction. */
static double key_of(const double *p) { return p[0] + 0.618 * p[1]; }

static void list_outer(finder *f) {
  const cvtm_boundary *b = f->b;
  f->count = 0;
  f->area = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const int is_turned = b->left[e] == 0;
    if ((b->left[e] == 0) == (b->right[e] == 0)) continue;
    const double *from = b->points + 2 * (int64_t)b->edges[2 * e + is_turned];
    const double *to = b->points + 2 * (int64_t)b->edges[2 * e + !is_turned];
    f->outer[f->count++] = (outer_edge){key_of(from), (int32_t)e, from, to};
    const double u[2] = {from[0] - b->points[0], from[1] - b->points[1]};
    const double v[2] = {to[0] - b->points[0], to[1] - b->points[1]};
    f->area -= 0.5 * cross_product(u, v);
  }
  qsort(f->outer, (size_t)f->count, sizeof *f->outer, cvtm_compare_keyed);
}

/* Nonzero if the path a, b, c turns by a positive angle, and b is not within the slack of the line
 * from a to c. */
static int turns(const cvtm_placed *a, const cvtm_placed *b, const cvtm_placed *c, double slack) {
  const double u[2] = {b->x - a->x, b->y - a->y}, v[2] = {c->x - a->x, c->y - a->y};
  return cross_product(u, v) > slack * hypot(v[0], v[1]);
}

/* Makes the convex hull (Andrew 1979), without corners on straight sides. */
static void make_hull(finder *f) {
  cvtm_placed *h = f->hull, *from = f->hull + f->count + 3;
  int64_t n = 0, kept = 0;
  for (int64_t k = 0; k < f->count; ++k)
    from[k] = (cvtm_placed){f->outer[k].from[0], f->outer[k].from[1], 0};
  qsort(from, (size_t)f->count, sizeof *from, cvtm_compare_placed);
  for (int pass = 0; pass < 2; ++pass) {
    const int64_t least = n + 1;
    for (int64_t k = 0; k < f->count; ++k) {
      const cvtm_placed *p = &from[pass == 0 ? k : f->count - 1 - k];
      while (n > least && !turns(&h[n - 2], &h[n - 1], p, 0)) --n;
      h[n++] = *p;
    }
    --n; /* the last corner begins the other half */
  }
  for (int64_t k = 0; k < n; ++k) {
    while (kept > 1 && !turns(&h[kept - 2], &h[kept - 1], &h[k], f->slack)) --kept;
    h[kept++] = h[k];
  }
  while (kept > 3 && !turns(&h[kept - 2], &h[kept - 1], &h[0], f->slack)) --kept;
  const int is_flat = kept > 3 && !turns(&h[kept - 1], &h[0], &h[1], f->slack);
  f->hull_count = kept - is_flat;
  if (is_flat) memmove(h, h + 1, (size_t)f->hull_count * sizeof *h);
}

/* The way along side k of the hull. */
static void go_along(const finder *f, int64_t k, double way[2]) {
  const cvtm_placed *a = &f->hull[k % f->hull_count], *b = &f->hull[(k + 1) % f->hull_count];
  way[0] = b->x - a->x;
  way[1] = b->y - a->y;
}

static double largest(double x, double y) { return fmax(fabs(x), fabs(y)); }

/* The largest difference of coordinates that counts as a rounding error on an edge. */
static double slack_of(const finder *f, double length) { return fmin(f->slack, length / 8); }

/* Takes two sides of the hull if they are copies. */
static void take_sides(finder *f, int64_t i, int64_t j) {
  const cvtm_placed *a = &f->hull[i], *c = &f->hull[j];
  double u[2], v[2];
  go_along(f, i, u);
  go_along(f, j, v);
  const double length = hypot(u[0], u[1]);
  if (largest(u[0] + v[0], u[1] + v[1]) > slack_of(f, length)) return;
  f->sides[f->side_count++] =
      (side_pair){.length = length,
                  .way = {c->x - a->x + 0.5 * (v[0] - u[0]), c->y - a->y + 0.5 * (v[1] - u[1])},
                  .side = {0.5 * (u[0] - v[0]), 0.5 * (u[1] - v[1])},
                  .corner = {i, j}};
}

static int is_steep(const double way[2]) { return fabs(way[1]) > fabs(way[0]) * (1 + 1e-9); }

/* Turns a translation so that it goes to the right or, if it is steep, upwards. */
static void turn_forward(double way[2]) {
  if (is_steep(way) ? way[1] < 0 : way[0] > 0) return;
  for (int axis = 0; axis < 2; ++axis) way[axis] = 0 - way[axis];
}

/* Lists pairs of sides of the hull, which goes around once: sides of opposite direction follow each
 * other at the same pace. */
static void list_sides(finder *f) {
  const int64_t n = f->hull_count;
  f->side_count = 0;
  for (int64_t i = 0, j = 1; i < n && n > 2; ++i) {
    double u[2], v[2];
    go_along(f, i, u);
    for (; j + 1 < i + n; ++j) {
      go_along(f, j + 1, v);
      if (cross_product(u, v) <= 0) break;
    }
    for (int64_t k = j; k <= j + 1; ++k)
      if (k > i && k < n) take_sides(f, i, k);
  }
  for (int64_t k = 0; k < f->side_count; ++k) turn_forward(f->sides[k].way);
}

static double length_of(const outer_edge *e) {
  return hypot(e->to[0] - e->from[0], e->to[1] - e->from[1]);
}

/* The edge that is the copy of an edge; NULL: none. *least: the largest error of its coordinates.
 */
static const outer_edge *find_copy(const finder *f, const outer_edge *e, const double way[2],
                                   double *least) {
  const double from[2] = {e->to[0] + way[0], e->to[1] + way[1]};
  const double to[2] = {e->from[0] + way[0], e->from[1] + way[1]};
  const double slack = slack_of(f, length_of(e));
  const outer_edge *best = NULL;
  *least = slack;
  int64_t low = 0, high = f->count;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (f->outer[middle].key < key_of(from) - 2 * slack)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < f->count && f->outer[low].key <= key_of(from) + 2 * slack; ++low) {
    const outer_edge *other = &f->outer[low];
    const double off = fmax(largest(other->from[0] - from[0], other->from[1] - from[1]),
                            largest(other->to[0] - to[0], other->to[1] - to[1]));
    if (f->b->twin[other->edge] >= 0 || other == e || off > *least) continue;
    best = other;
    *least = off;
  }
  return best;
}

/* Pairs the edges that the translation connects. Returns their number. */
static int64_t pair_edges(finder *f, const double way[2]) {
  int64_t found = 0;
  for (int64_t k = 0; k < f->count; ++k) {
    const outer_edge *e = &f->outer[k];
    double off;
    const outer_edge *copy = f->b->twin[e->edge] < 0 ? find_copy(f, e, way, &off) : NULL;
    if (copy == NULL) continue;
    f->error = fmax(f->error, off);
    f->paired += 2 * length_of(e);
    f->b->twin[e->edge] = copy->edge;
    f->b->twin[copy->edge] = e->edge;
    f->b->period[e->edge] = f->first_way + f->way_count;
    f->b->period[copy->edge] = ~f->b->period[e->edge];
    found += 2;
  }
  if (found > 0) memcpy(f->way[f->way_count++], way, sizeof f->way[0]);
  return found;
}

/* Nonzero if translations by both tile the plane without overlaps of the outline. */
static int fit(const finder *f, const double *u, const double *v) {
  return fabs(cross_product(u, v)) >= 0.9 * f->area;
}

/* Nonzero if copies of the outline by this translation do not overlap those by the earlier ones. A
 * third translation is the sum or the difference of two. length: of the sides. */
static int is_possible(const finder *f, const double way[2], double length) {
  const double *u = f->way[0], *v = f->way[1];
  if (f->way_count == 0) return 1;
  if (f->way_count == 1) return fit(f, u, way);
  double off = INFINITY;
  for (int k = 0; k < 4; ++k) {
    const double a = k % 2 ? -1 : 1, b = k / 2 ? -1 : 1;
    off = fmin(off, largest(way[0] + a * u[0] + b * v[0], way[1] + a * u[1] + b * v[1]));
  }
  return off <= fmin(2 * f->slack, length / 4) && fit(f, u, way) && fit(f, v, way);
}

/* Nonzero if `a` is to be paired before `b`: longer sides or, of equal ones, first those to the
 * left and right, then those across the first translation. */
static int comes_first(const finder *f, const side_pair *a, const side_pair *b) {
  if (fabs(a->length - b->length) > 1e-6 * a->length) return a->length > b->length;
  if (f->way_count > 0)
    return fabs(cross_product(f->way[0], a->way)) >
           fabs(cross_product(f->way[0], b->way)) * (1 + 1e-9);
  return fabs(a->way[1] * b->way[0]) * (1 + 1e-9) < fabs(b->way[1] * a->way[0]);
}

/* Pairs no edges by translations from this one on. */
static void forget_ways(finder *f, int from) {
  f->way_count = from;
  for (int64_t e = 0; e < f->b->edge_count; ++e) {
    const int32_t period = f->b->period[e];
    if ((period < 0 ? ~period : period) >= f->first_way + from) f->b->twin[e] = -1;
  }
}

/* Pairs all edges beside two sides that are paired by a translation along these, or none: they may
 * bend. Returns the number of edges. */
static int64_t pair_between(finder *f, const side_pair *sides, int64_t found) {
  double way[2] = {sides->side[0], sides->side[1]};
  turn_forward(way);
  const int64_t more = is_possible(f, way, sides->length) ? pair_edges(f, way) : 0;
  if (more == 0 || found + more == f->count) return more;
  forget_ways(f, 1);
  return 0;
}

/* For qsort: flat translations first, and of equal slopes those upwards. */
static int compare_ways(const void *left, const void *right) {
  const double *u = left, *v = right;
  const double a = fabs(u[1] * v[0]), b = fabs(v[1] * u[0]);
  if (fabs(a - b) > 1e-9 * fmax(a, b)) return a < b ? -1 : 1;
  return (u[1] > v[1]) - (u[1] < v[1]);
}

/* Pairs the edges again, with translations in the order of their slopes. The number of a steep one
 * is at least 1. */
static void number_ways(finder *f) {
  double way[RUN_PERIODS_MOST][2];
  const int count = f->way_count;
  memcpy(way, f->way, sizeof way);
  qsort(way, (size_t)count, sizeof *way, compare_ways);
  forget_ways(f, 0);
  f->error = f->paired = 0;
  f->first_way = count > 0 && is_steep(way[0]);
  for (int k = 0; k < count; ++k) (void)pair_edges(f, way[k]);
}

static void find_pairs(finder *f, double slack) {
  enum { TRIES = 64 }; /* a polygon of many short sides is no cell */
  int64_t found = 0;
  f->slack = slack;
  f->first_way = 0;
  for (int64_t e = 0; e < f->b->edge_count; ++e) f->b->period[e] = 0;
  forget_ways(f, 0);
  make_hull(f);
  list_sides(f);
  for (int tries = 0; tries < TRIES && f->way_count < RUN_PERIODS_MOST; ++tries) {
    side_pair *best = NULL;
    for (side_pair *s = f->sides; s < f->sides + f->side_count; ++s)
      if (!s->is_used && is_possible(f, s->way, s->length) &&
          (best == NULL || comes_first(f, s, best)))
        best = s;
    if (best == NULL) break;
    best->is_used = 1;
    const int64_t more = pair_edges(f, best->way);
    best->is_paired = more > 0;
    found += more;
    if (more > 0 && f->way_count == 1) found += pair_between(f, best, found);
  }
  number_ways(f);
}

/* The end of an edge on one of two sides that are copies. */
typedef struct side_end {
  double key; /* where it is along the first side, or its translated copy is */
  int32_t edge, vertex;
  int corner; /* of the edge: 0 or 1 */
  int side;   /* 0: the first */
  int begins; /* 1: the edge lies beyond the end, along the first side; -1: before it */
} side_end;

/* Nonzero if an edge lies on a side (0 or 1). key: where its ends are, as in a side_end. */
static int lies_on(const finder *f, const side_pair *s, int side, const outer_edge *e,
                   double key[2]) {
  const cvtm_placed *c = &f->hull[s->corner[side]];
  const double u[2] = {e->from[0] - c->x, e->from[1] - c->y},
               v[2] = {e->to[0] - c->x, e->to[1] - c->y};
  key[0] = (u[0] * s->side[0] + u[1] * s->side[1]) / s->length + side * s->length;
  key[1] = (v[0] * s->side[0] + v[1] * s->side[1]) / s->length + side * s->length;
  return fabs(cross_product(s->side, u)) <= f->slack * s->length &&
         fabs(cross_product(s->side, v)) <= f->slack * s->length;
}

/* The number of edges without twins on sides of the hull that have a copy. */
static int64_t count_alone(const finder *f) {
  int64_t alone = 0;
  for (int64_t k = 0; k < f->count; ++k) {
    const outer_edge *e = &f->outer[k];
    int is_alone = 0;
    double key[2];
    for (int64_t i = 0; i < 2 * f->side_count && f->b->twin[e->edge] < 0; ++i)
      is_alone |= f->sides[i / 2].is_paired && lies_on(f, &f->sides[i / 2], (int)(i % 2), e, key);
    alone += is_alone;
  }
  return alone;
}

/* ---- Partners of corners on sides ---- */

/* Lists the ends of the edges on two sides. *slack: the largest distance of ends at one place. */
static int64_t list_ends(const finder *f, const side_pair *s, side_end *ends, double *slack) {
  int64_t count = 0;
  *slack = f->slack;
  for (int64_t k = 0; k < 2 * f->count; ++k) {
    const outer_edge *e = &f->outer[k / 2];
    const int side = (int)(k % 2), is_turned = f->b->left[e->edge] == 0;
    double key[2];
    if (!lies_on(f, s, side, e, key)) continue;
    *slack = fmin(*slack, slack_of(f, length_of(e)));
    for (int i = 0; i < 2; ++i) {
      const int corner = i ^ is_turned;
      ends[count++] = (side_end){key[i], e->edge, f->b->edges[2 * (int64_t)e->edge + corner],
                                 corner, side,    key[i] < key[1 - i] ? 1 : -1};
    }
  }
  qsort(ends, (size_t)count, sizeof *ends, cvtm_compare_keyed);
  return count;
}

/* Divides the edge of `last`, which is its end on a side, at the translated copy of vertex v; its
 * second part becomes the edge of `last`. */
static void divide_at(cvtm_boundary *b, side_end *last, int32_t v, const double way[2],
                      double slack) {
  const int32_t made = (int32_t)b->edge_count++, added = (int32_t)b->vertex_count++;
  const int32_t *const old = b->edges + 2 * (int64_t)last->edge;
  const double *p = b->points + 2 * (int64_t)old[0], *q = b->points + 2 * (int64_t)old[1];
  for (int axis = 0; axis < 2; ++axis) {
    const double at = b->points[2 * (int64_t)v + axis];
    const double moved = fabs(way[axis]) <= slack ? at : at + way[axis];
    b->points[2 * (int64_t)added + axis] = p[axis] == q[axis] ? p[axis] : moved;
  }
  b->corner[added] = 1;
  b->left[made] = b->left[last->edge];
  b->right[made] = b->right[last->edge];
  b->edges[2 * (int64_t)made + last->corner] = old[last->corner];
  b->edges[2 * (int64_t)made + !last->corner] = added;
  b->edges[2 * (int64_t)last->edge + last->corner] = added;
  last->edge = made;
}

/* Where only one of two sides has corners, divides edges of the other: a hole or a line may touch a
 * side. Does nothing unless edges cover the same parts of both sides. room: for edges; ends:
 * scratch memory. */
static void add_partners(const finder *f, const side_pair *s, size_t room, side_end *ends) {
  cvtm_boundary *b = f->b;
  const cvtm_placed *a = &f->hull[s->corner[0]], *c = &f->hull[s->corner[1]];
  const double way[2] = {c->x - a->x - s->side[0], c->y - a->y - s->side[1]};
  const double back[2] = {-way[0], -way[1]};
  double slack;
  const int64_t count = list_ends(f, s, ends, &slack);
  if ((size_t)(b->edge_count + count / 2) > room) return;
  for (int pass = 0; pass < 2; ++pass) {
    side_end last[2] = {{.edge = 0},
                        {.edge = 0}}; /* the second ends of the edges beyond the place */
    for (int64_t k = 0, next; k < count; k = next) {
      int found[2] = {0, 0}, covered = 0;
      for (next = k; next < count && ends[next].key - ends[k].key <= slack; ++next) {
        const side_end *e = &ends[next];
        ++found[e->side];
        covered += e->side == 0 ? e->begins : -e->begins;
      }
      if (covered != 0) return;
      for (int side = 0; side < 2 && pass == 1; ++side)
        if (found[side] == 0)
          divide_at(b, &last[side], ends[k].vertex, side == 1 ? way : back, slack);
      for (int64_t i = k; i < next; ++i) {
        if (ends[i].begins < 0) continue;
        last[ends[i].side] = ends[i];
        last[ends[i].side].corner ^= 1;
      }
    }
  }
}

/* The unit of the last decimal of all coordinates; 0: they have more than 12 decimals. */
static double last_unit(const cvtm_boundary *b) {
  double scale = 1;
  for (int decimals = 0; decimals <= 12; ++decimals, scale *= 10) {
    int64_t k = 0;
    while (k < 2 * b->vertex_count && fabs(rint(b->points[k] * scale) / scale - b->points[k]) <=
                                          4 * DBL_EPSILON * fabs(b->points[k]))
      ++k;
    if (k == 2 * b->vertex_count) return 1 / scale;
  }
  return 0;
}

static cvtm_status check_pairs(const finder *f, cvtm_error *error) {
  if (f->way_count == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "--periodic: no side of the outline is a translated copy of another side");
  const int64_t alone = count_alone(f);
  if (alone == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %lld %s on sides with a translated copy, but without one",
                   (long long)alone, alone == 1 ? "edge lies" : "edges lie");
}

/* Grows the arrays of a boundary. Returns 0 if memory runs out. */
static int make_room(cvtm_boundary *b, size_t vertices, size_t edges) {
  double *points = realloc(b->points, 2 * vertices * sizeof *points);
  if (points != NULL) b->points = points;
  uint8_t *corner = realloc(b->corner, vertices);
  if (corner != NULL) b->corner = corner;
  int32_t **const lists[] = {&b->edges, &b->left, &b->right, &b->twin, &b->period};
  int good = points != NULL && corner != NULL;
  for (int k = 0; k < 5; ++k) {
    int32_t *list = realloc(*lists[k], (k == 0 ? 2 : 1) * edges * sizeof *list);
    if (list != NULL) *lists[k] = list;
    good &= list != NULL;
  }
  return good;
}

cvtm_status run_outline_pair(cvtm_outline *o, cvtm_error *error) {
  cvtm_boundary *b = &o->boundary;
  /* A place with corners on one side is the end of two edges, each of which lies on a side. */
  const int64_t given = b->edge_count;
  const size_t n = 2 * (size_t)given + 1;
  cvtm_scratch memory = {0};
  finder f = {.b = b,
              .outer = cvtm_scratch_take(&memory, n, sizeof *f.outer),
              .hull = cvtm_scratch_take(&memory, 2 * n + 3, sizeof *f.hull),
              .sides = cvtm_scratch_take(&memory, 2 * n, sizeof *f.sides)};
  side_end *ends = cvtm_scratch_take(&memory, 4 * n, sizeof *ends);
  cvtm_status status = CVTM_OK;
  if (memory.failed || !make_room(b, (size_t)b->vertex_count + n, n)) {
    status = cvtm_no_memory(error, "the sides");
  } else {
    list_outer(&f);
    const double *s = o->sides, size = largest(s[2] - s[0], s[3] - s[1]);
    const double exact =
        1e-9 * size + 8 * DBL_EPSILON * fmax(largest(s[0], s[1]), largest(s[2], s[3]));
    find_pairs(&f, exact);
    const double paired = f.paired;
    const double rounded = fmax(2.001 * last_unit(b), exact);
    find_pairs(&f, rounded);
    if (!(f.paired > paired * (1 + 1e-9))) find_pairs(&f, exact);
    for (int64_t k = 0; k < f.side_count; ++k) add_partners(&f, &f.sides[k], n, ends);
    if (b->edge_count > given) {
      list_outer(&f);
      find_pairs(&f, f.slack);
    }
    status = check_pairs(&f, error);
    o->first_period = f.first_way;
    o->period_count = f.way_count;
    memcpy(o->period, f.way, sizeof f.way);
    o->period_error = f.error > exact ? f.error : 0;
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Exact places ---- */

/* The place at a fraction of an edge from p to q. */
static void put_between(const double *p, const double *q, double t, double *place) {
  for (int axis = 0; axis < 2; ++axis) place[axis] = fma(t, q[axis] - p[axis], p[axis]);
}

/* Puts the vertices inside a chain on the edge, if it is horizontal or vertical, and vertices of
 * twins at the same fractions of both. */
static void place_chain(cvtm_outline *o, const cvtm_chains *c, int64_t e) {
  const cvtm_boundary *b = &o->boundary;
  const int64_t count = c->start[e + 1] - c->start[e], twin = b->twin != NULL ? b->twin[e] : -1;
  const double *p = b->points + 2 * (int64_t)b->edges[2 * e],
               *q = b->points + 2 * (int64_t)b->edges[2 * e + 1];
  const double u[2] = {q[0] - p[0], q[1] - p[1]}, square = u[0] * u[0] + u[1] * u[1];
  if (twin >= 0 && (twin < e || c->start[twin + 1] - c->start[twin] != count)) return;
  for (int64_t k = 1; k + 1 < count; ++k) {
    double *own = o->mesh.points + 2 * (int64_t)c->vertex[c->start[e] + k];
    for (int axis = 0; axis < 2; ++axis)
      if (u[axis] == 0) own[axis] = p[axis];
    if (twin < 0) continue;
    const int is_turned = cvtm_twin_is_turned(b, e);
    const int64_t at = c->start[twin] + (is_turned ? count - 1 - k : k);
    const double t = ((own[0] - p[0]) * u[0] + (own[1] - p[1]) * u[1]) / square;
    put_between(p, q, t, own);
    put_between(b->points + 2 * (int64_t)b->edges[2 * twin + is_turned],
                b->points + 2 * (int64_t)b->edges[2 * twin + !is_turned], t,
                o->mesh.points + 2 * (int64_t)c->vertex[at]);
  }
}

cvtm_status run_outline_place(cvtm_outline *o, cvtm_error *error) {
  cvtm_chains chains;
  CVTM_TRY(cvtm_chains_find(&o->boundary, &o->mesh, &o->regions, o->origin, &chains, error));
  for (int64_t v = 0; v < o->mesh.vertex_count; ++v)
    if (o->origin[v] >= 0)
      memcpy(o->mesh.points + 2 * v, o->boundary.points + 2 * (int64_t)o->origin[v],
             2 * sizeof(double));
  for (int64_t e = 0; e < o->boundary.edge_count; ++e) place_chain(o, &chains, e);
  cvtm_chains_free(&chains);
  return CVTM_OK;
}
