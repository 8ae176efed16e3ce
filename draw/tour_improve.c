/* 2-opt and Or-opt on a tour that is an array: a move reverses ranges of it. */
#include "base/random.h"
#include "draw/tour_steps.h"

#include <math.h>
#include <stdlib.h>

enum {
  SEGMENT_MAX = 3,       /* points that an Or-opt move carries */
  REVERSAL_MAX = 50000,  /* moves that reverse more are left out; that is half of 100,000 points */
  KICK_SEGMENT_MAX = 50, /* points of a segment that a kick exchanges */
  KICK_REVERSAL_MAX = 1000, /* REVERSAL_MAX after a kick, whose repair is nearby */
  KICKS_PER_POINT = 10,
  KICKED_MIN = 8,         /* points of the smallest tour that is kicked */
  POINTS_PER_LOOK = 1024, /* after this many points, the improvement may be stopped */
};

/* A move is made if it shortens the tour of the unit square by more than this, which rounding
 * cannot turn round. */
static const double least_gain = 1e-12;

typedef struct reversal {
  int32_t first, length;
} reversal;

typedef struct tour_state {
  const double *points;
  const int32_t *nearest;
  int32_t count;
  int degree;
  int32_t *tour;         /* count: the point at each place */
  int32_t *place;        /* count: the place of each point */
  int32_t *queue;        /* a ring of `count`: points whose moves have to be looked at */
  unsigned char *queued; /* of each point; the opposite of its don't-look bit */
  int32_t queue_first, queue_count;
  int32_t reversal_max;
  reversal *journal; /* reversals since the last kick; NULL before the first */
  int64_t journal_count, journal_capacity;
  double gain; /* by which the moves since the last kick shortened the tour */
  cvtm_tour_stop stop;
  void *context;
  int is_stopped, points_until_look;
} tour_state;

static double point_distance(const tour_state *t, int32_t a, int32_t b) {
  const double dx = t->points[2 * (int64_t)a] - t->points[2 * (int64_t)b];
  const double dy = t->points[2 * (int64_t)a + 1] - t->points[2 * (int64_t)b + 1];
  return sqrt(dx * dx + dy * dy);
}

static int32_t next_point(const tour_state *t, int32_t a) {
  const int32_t place = t->place[a] + 1;
  return t->tour[place == t->count ? 0 : place];
}

static int32_t previous_point(const tour_state *t, int32_t a) {
  const int32_t place = t->place[a];
  return t->tour[place == 0 ? t->count - 1 : place - 1];
}

/* The number of points from a on to b, both included. */
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

/* Reverses `length` places from `first` on, around the end of the array if need be. */
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

/* True if a move of `reversals` reversals can be recorded. */
static int has_journal_space(const tour_state *t, int reversals) {
  return t->journal == NULL || t->journal_count + reversals <= t->journal_capacity;
}

/* Replaces the edges a-b and c-d, b after a and d after c, by a-c and b-d: reverses the path from b
 * to c, or that from d to a, whichever is shorter. */
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

/* 2-opt: an edge from a is replaced by one to a neighbour that is nearer than its other end. */
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
      const double whole = gain + point_distance(t, c, d) - point_distance(t, b, d);
      if (whole <= least_gain) continue;
      if (backward ? exchange_edges(t, b, a, d, c) : exchange_edges(t, a, b, c, d)) {
        t->gain += whole;
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

/* Carries the segment between c and d, the point after c: c-first, last-d, or if `turned` c-last,
 * first-d. The path between the segment and its new place is reversed together with the segment and
 * once more alone. */
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

/* Carries the segment, one end of which is a, next to a neighbour of a, on either side of it. */
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
      if (c == (side ? s.after : s.before)) continue; /* the edge to the segment itself */
      const double whole = gain + point_distance(t, c, d) - point_distance(t, other, d);
      if (whole <= least_gain) continue;
      const int turned = (a == s.last) != side;
      if (side ? carry_segment(t, s, d, c, turned) : carry_segment(t, s, c, d, turned)) {
        t->gain += whole;
        return 1;
      }
    }
  }
  return 0;
}

/* Or-opt: one to three points from a on, forward or backward, are carried elsewhere. */
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

/* Exchanges two segments that follow each other, from the place after `start` on. */
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

/* Kicks one place of the tour after the other; every kick has its own random numbers. */
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
  if (t->count < 4) return CVTM_OK; /* there is one tour */
  t->reversal_max = REVERSAL_MAX;
  for (int32_t i = 0; i < t->count; ++i) push_point(t, i);
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

cvtm_status cvtm_tour_improve(const double *points, int32_t count, const int32_t *nearest,
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
