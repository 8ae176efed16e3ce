#include "draw/tour.h"

#include "base/geometry.h"
#include "base/host.h"
#include "base/random.h"
#include "draw/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEGREE = 8 }; /* neighbours of a point in the lists */

static double squared_distance(const double *points, int32_t i, int32_t j) {
  const double dx = points[2 * (int64_t)i] - points[2 * (int64_t)j];
  const double dy = points[2 * (int64_t)i + 1] - points[2 * (int64_t)j + 1];
  return dx * dx + dy * dy;
}

/* --- Greedy edges ----------------------------------------------------------------------------- */

/* An edge between two points. Greedy edges are first taken from the lists of nearest neighbours,
 * then repeatedly from lists of the nearest ends of fragments. */
typedef struct edge {
  double length; /* squared */
  int32_t from, to;
} edge;

typedef struct fragments {
  const double *points;
  int32_t count;
  int32_t *link;   /* 2 * count: the neighbours of each point along its fragment; -1: none */
  int32_t *parent; /* parents in the union-find forest */
  int32_t open;    /* number of edges still missing for a single path */
} fragments;

/* Shorter edges come first; of edges with equal lengths those with smaller points. */
static int compare_lengths(const void *left, const void *right) {
  const edge *a = left, *b = right;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static void add_greedy_edge(fragments *f, const edge *e) {
  if (f->link[2 * e->from + 1] >= 0 || f->link[2 * e->to + 1] >= 0) return;
  if (!cvtm_join_trees(f->parent, e->from, e->to)) return;
  f->link[2 * e->from + (f->link[2 * e->from] >= 0)] = e->to;
  f->link[2 * e->to + (f->link[2 * e->to] >= 0)] = e->from;
  --f->open;
}

/* Takes greedy edges from the neighbour lists of `count` points. ends: the indices of these points
 * among all points; NULL: 0, 1, ... edges: a buffer of degree * count. */
static void add_listed_edges(fragments *f, const int32_t *nearest, int degree, int32_t count,
                             const int32_t *ends, edge *edges) {
  int64_t found = 0;
  for (int32_t k = 0; k < count; ++k) {
    for (int j = 0; j < degree; ++j) {
      const int32_t other = nearest[(int64_t)k * degree + j];
      const int32_t a = ends ? ends[k] : k, b = ends ? ends[other] : other;
      edges[found++] = (edge){squared_distance(f->points, a, b), a < b ? a : b, a < b ? b : a};
    }
  }
  qsort(edges, (size_t)found, sizeof *edges, compare_lengths);
  for (int64_t k = 0; k < found; ++k) add_greedy_edge(f, &edges[k]);
}

/* Lists the points with fewer than two edges; returns their number. */
static int32_t list_ends(const fragments *f, int32_t *ends, double *places) {
  int32_t count = 0;
  for (int32_t i = 0; i < f->count; ++i) {
    if (f->link[2 * (int64_t)i + 1] >= 0) continue;
    places[2 * (int64_t)count] = f->points[2 * (int64_t)i];
    places[2 * (int64_t)count + 1] = f->points[2 * (int64_t)i + 1];
    ends[count++] = i;
  }
  return count;
}

/* Joins fragments until there is one. Each round joins at least the two nearest ends of different
 * fragments, and usually most fragments. Lists of two neighbours suffice, because at most one of
 * them is the other end of the same fragment. */
static cvtm_status join_fragments(fragments *f, int threads, int32_t *ends, double *places,
                                  int32_t *nearest, edge *edges, cvtm_error *error) {
  while (f->open > 0) {
    const int32_t count = list_ends(f, ends, places);
    const int degree = count > DEGREE ? DEGREE : (int)count - 1;
    cvtm_status status = cvtm_nearest_lists(places, count, degree, threads, nearest, error);
    if (status != CVTM_OK) return status;
    add_listed_edges(f, nearest, degree, count, ends, edges);
  }
  return CVTM_OK;
}

static void follow_path(const fragments *f, int32_t *order) {
  int32_t at = 0;
  while (f->link[2 * (int64_t)at + 1] >= 0) ++at;
  for (int32_t k = 0, before = -1; k < f->count; ++k) {
    order[k] = at;
    const int32_t *link = f->link + 2 * (int64_t)at;
    const int32_t next = link[0] != before ? link[0] : link[1];
    before = at;
    at = next;
  }
}

/* Sets order[0 .. count) to a tour of greedy edges: takes the shortest edge that neither closes a
 * cycle nor gives a point a third edge. nearest: degree * count, from cvtm_nearest_lists. */
static cvtm_status find_greedy_tour(const double *points, int32_t count, const int32_t *nearest,
                                    int degree, int threads, int32_t *order, cvtm_error *error) {
  const size_t n = (size_t)count;
  fragments f = {points, count, malloc(2 * n * sizeof *f.link), malloc(n * sizeof *f.parent),
                 count - 1};
  edge *edges = malloc(n * (size_t)degree * sizeof *edges);
  int32_t *ends = malloc(n * sizeof *ends);
  int32_t *lists = malloc(n * (size_t)degree * sizeof *lists);
  double *places = malloc(2 * n * sizeof *places);
  cvtm_status status = CVTM_OK;
  if (!f.link || !f.parent || !edges || !ends || !lists || !places) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %ld points", (long)count);
  } else {
    for (int32_t i = 0; i < count; ++i) {
      f.link[2 * (int64_t)i] = f.link[2 * (int64_t)i + 1] = -1;
      f.parent[i] = i;
    }
    add_listed_edges(&f, nearest, degree, count, NULL, edges);
    status = join_fragments(&f, threads, ends, places, lists, edges, error);
    if (status == CVTM_OK) follow_path(&f, order);
  }
  free(f.link);
  free(f.parent);
  free(edges);
  free(ends);
  free(lists);
  free(places);
  return status;
}

/* --- Improvement ------------------------------------------------------------------------------ */

/* 2-opt and Or-opt on a tour stored as an array: a move reverses ranges of the array. */
enum {
  SEGMENT_MAX = 3,          /* largest number of points in an Or-opt move */
  REVERSAL_MAX = 50000,     /* moves that reverse more points take too long and are skipped */
  KICK_SEGMENT_MAX = 50,    /* largest number of points of a segment that a kick exchanges */
  KICK_REVERSAL_MAX = 1000, /* REVERSAL_MAX after a kick, which needs only local repairs */
  KICKS_PER_POINT = 10,
  KICKED_MIN = 8,         /* least number of points of a tour that is kicked */
  POINTS_PER_LOOK = 1024, /* points between two calls of `stop` */
};

/* A move is made if it shortens the tour in the unit square by more than this bound, which exceeds
 * rounding errors. */
static const double least_gain = 1e-12;

typedef struct reversal {
  int32_t first, length;
} reversal;

typedef struct tour_state {
  const double *points;
  const int32_t *nearest;
  int32_t count;
  int degree;
  int32_t *tour;         /* count: the point at each position */
  int32_t *place;        /* count: the position of each point */
  int32_t *queue;        /* ring buffer of `count` points whose moves have to be tried */
  unsigned char *queued; /* nonzero for points in the queue; the opposite of don't-look bits */
  int32_t queue_first, queue_count;
  int32_t reversal_max;
  reversal *journal; /* reversals since the last kick; NULL before the first */
  int64_t journal_count, journal_capacity;
  double gain; /* decrease of the length by the moves since the last kick */
  cvtm_tour_stop stop;
  void *context;
  int is_stopped, points_until_look;
} tour_state;

static double point_distance(const tour_state *t, int32_t a, int32_t b) {
  return sqrt(squared_distance(t->points, a, b));
}

static int32_t next_point(const tour_state *t, int32_t a) {
  const int32_t place = t->place[a] + 1;
  return t->tour[place == t->count ? 0 : place];
}

static int32_t previous_point(const tour_state *t, int32_t a) {
  const int32_t place = t->place[a];
  return t->tour[place == 0 ? t->count - 1 : place - 1];
}

/* The number of points on the path from a to b, both included. */
static int32_t path_points(const tour_state *t, int32_t a, int32_t b) {
  const int32_t steps = t->place[b] - t->place[a];
  return (steps < 0 ? steps + t->count : steps) + 1;
}

static void push_point(tour_state *t, int32_t a) {
  if (t->queued[a]) return;
  t->queued[a] = 1;
  const int64_t at = (int64_t)t->queue_first + t->queue_count++;
  t->queue[at < t->count ? at : at - t->count] = a;
}

static int32_t pop_point(tour_state *t) {
  const int32_t a = t->queue[t->queue_first];
  if (++t->queue_first == t->count) t->queue_first = 0;
  --t->queue_count;
  t->queued[a] = 0;
  return a;
}

/* Reverses `length` positions from `first` on; the range may wrap around the end of the array. */
static void reverse_places(tour_state *t, int32_t first, int32_t length) {
  int64_t last = (int64_t)first + length - 1;
  int32_t i = first, j = (int32_t)(last < t->count ? last : last - t->count);
  for (int32_t swaps = length / 2; swaps > 0; --swaps) {
    const int32_t a = t->tour[i], b = t->tour[j];
    t->tour[i] = b;
    t->place[b] = i;
    t->tour[j] = a;
    t->place[a] = j;
    if (++i == t->count) i = 0;
    if (--j < 0) j = t->count - 1;
  }
}

static void reverse_and_record(tour_state *t, int32_t first, int32_t length) {
  if (length < 2) return;
  if (t->journal != NULL) t->journal[t->journal_count++] = (reversal){first, length};
  reverse_places(t, first, length);
}

/* Nonzero if a move of `reversals` reversals can be recorded. */
static int has_journal_space(const tour_state *t, int reversals) {
  return t->journal == NULL || t->journal_count + reversals <= t->journal_capacity;
}

/* Replaces the edges a-b and c-d, where b follows a and d follows c, by a-c and b-d: reverses the
 * shorter of the paths b to c and d to a. */
static int exchange_edges(tour_state *t, int32_t a, int32_t b, int32_t c, int32_t d) {
  const int32_t inner = path_points(t, b, c), outer = t->count - inner;
  if ((inner < outer ? inner : outer) > t->reversal_max || !has_journal_space(t, 1)) return 0;
  if (inner <= outer) {
    reverse_and_record(t, t->place[b], inner);
  } else {
    reverse_and_record(t, t->place[d], outer);
  }
  push_point(t, a);
  push_point(t, b);
  push_point(t, c);
  push_point(t, d);
  return 1;
}

/* 2-opt: tries to replace an edge at a by an edge from a to a neighbour that is nearer than the
 * other end of the old edge. */
static int try_two_opt(tour_state *t, int32_t a) {
  const int32_t *neighbor = t->nearest + (int64_t)a * t->degree;
  for (int backward = 0; backward < 2; ++backward) {
    const int32_t b = backward ? previous_point(t, a) : next_point(t, a);
    const double old = point_distance(t, a, b);
    for (int k = 0; k < t->degree; ++k) {
      const int32_t c = neighbor[k];
      const double gain = old - point_distance(t, a, c);
      if (gain <= least_gain) break;
      const int32_t d = backward ? previous_point(t, c) : next_point(t, c);
      const double total = gain + point_distance(t, c, d) - point_distance(t, b, d);
      if (total <= least_gain) continue;
      if (backward ? exchange_edges(t, b, a, d, c) : exchange_edges(t, a, b, c, d)) {
        t->gain += total;
        return 1;
      }
    }
  }
  return 0;
}

/* A segment of the tour from `first` to `last`, with the points before and after it. */
typedef struct segment {
  int32_t before, first, last, after;
  int32_t length;
} segment;

/* Moves the segment between c and the point d after c. The new edges are c-first and last-d or, if
 * `turned`, c-last and first-d. This takes two reversals: of the path from the segment to its new
 * position including the segment, and then of the path alone. */
static int carry_segment(tour_state *t, segment s, int32_t c, int32_t d, int turned) {
  const int32_t ahead = path_points(t, s.after, c), behind = t->count - s.length - ahead;
  const int32_t path = ahead < behind ? ahead : behind;
  if (path > t->reversal_max || !has_journal_space(t, 3)) return 0;
  if (ahead <= behind) {
    const int32_t first = t->place[s.first];
    reverse_and_record(t, first, s.length + ahead);
    reverse_and_record(t, first, ahead);
  } else {
    const int32_t first = t->place[d];
    reverse_and_record(t, first, behind + s.length);
    reverse_and_record(t, t->place[s.before], behind);
  }
  if (!turned) reverse_and_record(t, t->place[s.last], s.length);
  const int32_t changed[] = {s.before, s.first, s.last, s.after, c, d};
  for (size_t k = 0; k < sizeof changed / sizeof changed[0]; ++k) push_point(t, changed[k]);
  return 1;
}

/* Tries to move the segment, of which a is an end, next to a neighbour of a, on either side. */
static int try_places(tour_state *t, segment s, int32_t a) {
  const int32_t other = a == s.first ? s.last : s.first;
  const int32_t *neighbor = t->nearest + (int64_t)a * t->degree;
  const double freed = point_distance(t, s.before, s.first) + point_distance(t, s.last, s.after) -
                       point_distance(t, s.before, s.after);
  for (int k = 0; k < t->degree; ++k) {
    const int32_t c = neighbor[k];
    const double gain = freed - point_distance(t, a, c);
    if (gain <= least_gain) break;
    if (path_points(t, s.first, c) <= s.length) continue;
    for (int side = 0; side < 2; ++side) {
      const int32_t d = side ? previous_point(t, c) : next_point(t, c);
      if (c == (side ? s.after : s.before)) continue; /* the segment itself is at this side of c */
      const double total = gain + point_distance(t, c, d) - point_distance(t, other, d);
      if (total <= least_gain) continue;
      const int turned = (a == s.last) != side;
      if (side ? carry_segment(t, s, d, c, turned) : carry_segment(t, s, c, d, turned)) {
        t->gain += total;
        return 1;
      }
    }
  }
  return 0;
}

/* Or-opt: moves one to three points, from a on in either direction, to another position. */
static int try_or_opt(tour_state *t, int32_t a) {
  for (int backward = 0; backward < 2; ++backward) {
    int32_t end = a;
    for (int length = 1; length <= SEGMENT_MAX && length + 2 <= t->count; ++length) {
      segment s = {0, backward ? end : a, backward ? a : end, 0, length};
      s.before = previous_point(t, s.first);
      s.after = next_point(t, s.last);
      if (try_places(t, s, a)) return 1;
      end = backward ? s.before : s.after;
    }
  }
  return 0;
}

static int is_stopped(tour_state *t) {
  if (t->stop == NULL || t->is_stopped || --t->points_until_look > 0) return t->is_stopped;
  t->points_until_look = POINTS_PER_LOOK;
  t->is_stopped = t->stop(t->context) != 0;
  return t->is_stopped;
}

static void search_queue(tour_state *t) {
  while (t->queue_count > 0 && !is_stopped(t)) {
    const int32_t a = pop_point(t);
    while (try_two_opt(t, a) || try_or_opt(t, a)) continue;
  }
}

/* The first point of the longest edge that has not been tried; -1 if there is none. */
static int32_t find_long_edge(const tour_state *t, const unsigned char *tried) {
  int32_t found = -1;
  double longest = 0;
  for (int32_t k = 0; k < t->count; ++k) {
    const int32_t a = t->tour[k], b = t->tour[k + 1 < t->count ? k + 1 : 0];
    const double square = squared_distance(t->points, a, b);
    if (tried[a] && tried[b]) continue;
    if (square > longest) {
      longest = square;
      found = a;
    }
  }
  return found;
}

/* Exchanges the edge after a with the edge for which the exchange shortens the tour the most. */
static int exchange_long_edge(tour_state *t, int32_t a) {
  const int32_t b = next_point(t, a);
  const double old = point_distance(t, a, b);
  double best = least_gain;
  int32_t c = -1;
  for (int32_t k = 0; k < t->count; ++k) {
    const int32_t p = t->tour[k], q = t->tour[k + 1 < t->count ? k + 1 : 0];
    if (p == a || p == b || q == a) continue;
    const double gain =
        old + point_distance(t, p, q) - point_distance(t, a, p) - point_distance(t, b, q);
    if (gain <= best) continue;
    best = gain;
    c = p;
  }
  return c >= 0 && exchange_edges(t, a, b, c, next_point(t, c));
}

/* Compares the longest edges with all others: the lists of neighbours do not show that a long edge,
 * such as the last of the greedy ones, crosses short edges far from its ends. */
static cvtm_status exchange_long_edges(tour_state *t, cvtm_error *error) {
  enum { ROUNDS = 512, FAILURES = 32 };
  unsigned char *tried = calloc((size_t)t->count, 1);
  if (tried == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %ld points", (long)t->count);
  t->reversal_max = t->count;
  for (int round = 0, failures = 0; round < ROUNDS && failures < FAILURES && !t->is_stopped;
       ++round) {
    const int32_t a = find_long_edge(t, tried);
    if (a < 0) break;
    tried[a] = tried[next_point(t, a)] = 1;
    if (!exchange_long_edge(t, a)) {
      ++failures;
      continue;
    }
    failures = 0;
    while (t->queue_count > 0) tried[pop_point(t)] = 0;
    is_stopped(t);
  }
  free(tried);
  for (int32_t i = 0; i < t->count; ++i) push_point(t, i);
  return CVTM_OK;
}

/* Exchanges two consecutive segments, which begin after position `start`. */
static void exchange_segments(tour_state *t, int32_t start, int32_t length_a, int32_t length_b) {
  int32_t at[4] = {start, start + 1, start + 1 + length_a, start + 1 + length_a + length_b};
  int32_t end[6];
  for (int k = 0; k < 4; ++k) at[k] = at[k] < t->count ? at[k] : at[k] - t->count;
  end[0] = t->tour[at[0]];
  for (int k = 1; k < 3; ++k) {
    end[2 * k - 1] = t->tour[at[k]];
    end[2 * k] = t->tour[at[k + 1] == 0 ? t->count - 1 : at[k + 1] - 1];
  }
  end[5] = t->tour[at[3]];
  reverse_and_record(t, at[1], length_a);
  reverse_and_record(t, at[2], length_b);
  reverse_and_record(t, at[1], length_a + length_b);
  t->gain = point_distance(t, end[0], end[1]) + point_distance(t, end[2], end[3]) +
            point_distance(t, end[4], end[5]) - point_distance(t, end[0], end[3]) -
            point_distance(t, end[4], end[1]) - point_distance(t, end[2], end[5]);
  for (int k = 0; k < 6; ++k) push_point(t, end[k]);
}

static void undo_reversals(tour_state *t) {
  while (t->journal_count > 0) {
    const reversal r = t->journal[--t->journal_count];
    reverse_places(t, r.first, r.length);
  }
}

/* Kicks the tour at one position after another; each kick has its own random numbers. */
static void kick_tour(tour_state *t) {
  const uint64_t longest =
      (uint64_t)(t->count / 4 < KICK_SEGMENT_MAX ? t->count / 4 : KICK_SEGMENT_MAX);
  t->reversal_max = KICK_REVERSAL_MAX;
  const uint64_t kicks = (uint64_t)KICKS_PER_POINT * (uint64_t)t->count;
  for (uint64_t kick = 0; kick < kicks && !t->is_stopped; ++kick) {
    uint64_t bits[2];
    cvtm_random_bits(0, 0, kick, bits);
    t->journal_count = 0;
    exchange_segments(t, (int32_t)(kick % (uint64_t)t->count), 1 + (int32_t)(bits[0] % longest),
                      1 + (int32_t)(bits[1] % longest));
    search_queue(t);
    if (t->gain < 0) undo_reversals(t);
  }
}

static cvtm_status shorten_tour(tour_state *t, cvtm_error *error) {
  enum { JOURNAL = 4096 };
  if (t->count < 4) return CVTM_OK; /* there is only one tour */
  t->reversal_max = REVERSAL_MAX;
  for (int32_t i = 0; i < t->count; ++i) push_point(t, i);
  search_queue(t);
  const cvtm_status status = exchange_long_edges(t, error);
  if (status != CVTM_OK) return status;
  t->reversal_max = REVERSAL_MAX;
  search_queue(t);
  if (t->count < KICKED_MIN) return CVTM_OK;
  t->journal_capacity = JOURNAL;
  t->journal = malloc(JOURNAL * sizeof *t->journal);
  if (t->journal == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %ld points", (long)t->count);
  kick_tour(t);
  free(t->journal);
  return CVTM_OK;
}

/* Shortens the tour 0, 1, .. count - 1 and sets order[] to the result. */
static cvtm_status improve_tour(const double *points, int32_t count, const int32_t *nearest,
                                int degree, cvtm_tour_stop stop, void *context, int32_t *order,
                                cvtm_error *error) {
  const size_t n = (size_t)count;
  tour_state t = {.points = points,
                  .nearest = nearest,
                  .count = count,
                  .degree = degree,
                  .tour = order,
                  .place = malloc(n * sizeof *t.place),
                  .queue = malloc(n * sizeof *t.queue),
                  .queued = calloc(n, 1),
                  .stop = stop,
                  .context = context};
  cvtm_status status = CVTM_OK;
  if (t.place == NULL || t.queue == NULL || t.queued == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %ld points", (long)count);
  } else {
    for (int32_t i = 0; i < count; ++i) order[i] = t.place[i] = i;
    status = shorten_tour(&t, error);
  }
  free(t.place);
  free(t.queue);
  free(t.queued);
  return status;
}

/* --- All steps -------------------------------------------------------------------------------- */

/* Finds the bounding box of the points, as a square. */
static cvtm_status measure_points(const double *points, int64_t count, double *left, double *top,
                                  double *side, cvtm_error *error) {
  const double largest = 1e150; /* has a finite square */
  double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < 2 * count; ++k) {
    if (!(fabs(points[k]) <= largest))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld has a coordinate that is not finite",
                       (long long)(k / 2));
    least[k % 2] = fmin(least[k % 2], points[k]);
    most[k % 2] = fmax(most[k % 2], points[k]);
  }
  *left = least[0];
  *top = least[1];
  *side = fmax(most[0] - least[0], most[1] - least[1]);
  return CVTM_OK;
}

/* The squared distance of point i from (0, 0). */
static double origin_distance(const double *points, int32_t i) {
  const double *p = points + 2 * (int64_t)i;
  return p[0] * p[0] + p[1] * p[1];
}

static void reverse_order(int32_t *order, int64_t count) {
  for (int64_t i = 0, j = count - 1; i < j; ++i, --j) {
    const int32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
}

/* Rotates order[] so that order[first] becomes the first element. */
static void rotate_order(int32_t *order, int64_t count, int64_t first) {
  reverse_order(order, first);
  reverse_order(order + first, count - first);
  reverse_order(order, count);
}

static void start_at_origin(const double *points, int64_t count, int32_t *order) {
  int64_t first = 0;
  for (int64_t k = 1; k < count; ++k)
    if (origin_distance(points, order[k]) < origin_distance(points, order[first])) first = k;
  rotate_order(order, count, first);
  if (count > 2 && squared_distance(points, order[0], order[count - 1]) <
                       squared_distance(points, order[0], order[1]))
    reverse_order(order + 1, count - 1);
}

/* The arrays of the steps, for distinct points. Points are renumbered along the greedy tour, so
 * that neighbours are close in memory. */
typedef struct tour_arrays {
  cvtm_placed *placed;   /* all points; coincident points are consecutive */
  int32_t *group;        /* distinct + 1: the first index in placed[] of each distinct point */
  double *unit, *sorted; /* 2 * distinct: scaled to the unit square; the same in greedy order */
  int32_t *nearest, *renumbered; /* degree * distinct */
  int32_t *greedy, *rank;        /* distinct: the greedy order, and its inverse */
  int32_t *tour;                 /* distinct */
} tour_arrays;

static void free_arrays(tour_arrays *a) {
  free(a->placed);
  free(a->group);
  free(a->unit);
  free(a->sorted);
  free(a->nearest);
  free(a->renumbered);
  free(a->greedy);
  free(a->rank);
  free(a->tour);
}

static cvtm_status allocate_arrays(tour_arrays *a, int64_t count, cvtm_error *error) {
  const size_t n = (size_t)count;
  *a = (tour_arrays){.placed = malloc(n * sizeof *a->placed),
                     .group = malloc((n + 1) * sizeof *a->group),
                     .unit = malloc(2 * n * sizeof *a->unit),
                     .sorted = malloc(2 * n * sizeof *a->sorted),
                     .nearest = malloc(DEGREE * n * sizeof *a->nearest),
                     .renumbered = malloc(DEGREE * n * sizeof *a->renumbered),
                     .greedy = malloc(n * sizeof *a->greedy),
                     .rank = malloc(n * sizeof *a->rank),
                     .tour = malloc(n * sizeof *a->tour)};
  if (a->placed && a->group && a->unit && a->sorted && a->nearest && a->renumbered && a->greedy &&
      a->rank && a->tour)
    return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
}

/* Groups coincident points. Returns the number of distinct points. */
static int32_t group_points(tour_arrays *a, const double *points, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    a->placed[i] = (cvtm_placed){points[2 * i], points[2 * i + 1], i};
  qsort(a->placed, (size_t)count, sizeof *a->placed, cvtm_compare_placed);
  int32_t distinct = 0;
  for (int64_t i = 0; i < count; ++i)
    if (i == 0 || a->placed[i].x != a->placed[i - 1].x || a->placed[i].y != a->placed[i - 1].y)
      a->group[distinct++] = (int32_t)i;
  a->group[distinct] = (int32_t)count;
  return distinct;
}

static void renumber_points(const tour_arrays *a, int64_t count, int degree) {
  for (int64_t k = 0; k < count; ++k) a->rank[a->greedy[k]] = (int32_t)k;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t i = a->greedy[k];
    memcpy(a->sorted + 2 * k, a->unit + 2 * i, 2 * sizeof *a->sorted);
    for (int j = 0; j < degree; ++j)
      a->renumbered[k * degree + j] = a->rank[a->nearest[i * degree + j]];
  }
}

static cvtm_status find_tour(const tour_arrays *a, int32_t count, int threads, cvtm_tour_stop stop,
                             void *context, cvtm_error *error) {
  const int degree = count > DEGREE ? DEGREE : (int)count - 1;
  cvtm_status status = cvtm_nearest_lists(a->unit, count, degree, threads, a->nearest, error);
  if (status == CVTM_OK)
    status = find_greedy_tour(a->unit, count, a->nearest, degree, threads, a->greedy, error);
  if (status != CVTM_OK) return status;
  renumber_points(a, count, degree);
  status = improve_tour(a->sorted, count, a->renumbered, degree, stop, context, a->tour, error);
  if (status != CVTM_OK) return status;
  for (int32_t k = 0; k < count; ++k) a->tour[k] = a->greedy[a->tour[k]];
  return CVTM_OK;
}

cvtm_status cvtm_tour_create(const double *points, int64_t count, int threads, int32_t *order,
                             cvtm_error *error) {
  return cvtm_tour_create_until(points, count, threads, NULL, NULL, order, error);
}

cvtm_status cvtm_tour_create_until(const double *points, int64_t count, int threads,
                                   cvtm_tour_stop stop, void *context, int32_t *order,
                                   cvtm_error *error) {
  if (count < 1 || count > 1 << 30)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a tour cannot have %lld points",
                     (long long)count);
  double left = 0, top = 0, side = 0;
  cvtm_status status = measure_points(points, count, &left, &top, &side, error);
  if (status != CVTM_OK) return status;
  tour_arrays a;
  status = allocate_arrays(&a, count, error);
  if (status == CVTM_OK) {
    const int32_t distinct = group_points(&a, points, count);
    for (int32_t i = 0; i < distinct; ++i) {
      a.unit[2 * (int64_t)i] = side > 0 ? (a.placed[a.group[i]].x - left) / side : 0;
      a.unit[2 * (int64_t)i + 1] = side > 0 ? (a.placed[a.group[i]].y - top) / side : 0;
    }
    a.tour[0] = 0;
    if (distinct > 1) status = find_tour(&a, distinct, threads, stop, context, error);
    int64_t at = 0;
    for (int32_t k = 0; status == CVTM_OK && k < distinct; ++k)
      for (int32_t i = a.group[a.tour[k]]; i < a.group[a.tour[k] + 1]; ++i)
        order[at++] = (int32_t)a.placed[i].index;
  }
  if (status == CVTM_OK) start_at_origin(points, count, order);
  free_arrays(&a);
  return status;
}

void cvtm_tour_open(const double *points, int64_t count, int32_t *order) {
  int64_t longest = count - 1; /* the edge before order[0] */
  double length = squared_distance(points, order[count - 1], order[0]);
  for (int64_t k = 0; k + 1 < count; ++k) {
    const double here = squared_distance(points, order[k], order[k + 1]);
    if (here <= length) continue;
    length = here;
    longest = k;
  }
  if (longest + 1 < count) rotate_order(order, count, longest + 1);
  if (origin_distance(points, order[count - 1]) < origin_distance(points, order[0]))
    reverse_order(order, count);
}

double cvtm_tour_length(const double *points, int64_t count, const int32_t *order, int closed) {
  double sum = closed ? sqrt(squared_distance(points, order[count - 1], order[0])) : 0;
  for (int64_t k = 0; k + 1 < count; ++k)
    sum += sqrt(squared_distance(points, order[k], order[k + 1]));
  return sum;
}

cvtm_status cvtm_tour_bound(const double *points, int64_t count, int threads, double *bound,
                            cvtm_error *error) {
  *bound = 0;
  if (count < 3) {
    if (count == 2) *bound = 2 * sqrt(squared_distance(points, 0, 1));
    return CVTM_OK;
  }
  int32_t *nearest = malloc(2 * (size_t)count * sizeof *nearest);
  if (nearest == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the neighbours of %lld points",
                     (long long)count);
  cvtm_status status = cvtm_nearest_lists(points, (int32_t)count, 2, threads, nearest, error);
  for (int64_t k = 0; status == CVTM_OK && k < 2 * count; ++k)
    *bound += 0.5 * sqrt(squared_distance(points, (int32_t)(k / 2), nearest[k]));
  free(nearest);
  return status;
}

double cvtm_tour_estimate(int64_t count, double area) {
  return 0.7124 * sqrt((double)count * area);
}
