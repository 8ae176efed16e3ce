/* Greedy edges: first those of the lists of nearest neighbours, then, again and again, those
 * between near ends of the fragments. */
#include "draw/nearest.h"
#include "draw/tour_steps.h"

#include <stdlib.h>

typedef struct edge {
  double length; /* squared */
  int32_t from, to;
} edge;

typedef struct fragments {
  const double *points;
  int32_t count;
  int32_t *link;   /* 2 * count: the points that an edge joins to this one; -1: none */
  int32_t *parent; /* of the union-find forest */
  int32_t open;    /* edges that are missing to one path */
} fragments;

static int32_t find_root(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Shorter edges first, ties by their points. */
static int compare_lengths(const void *left, const void *right) {
  const edge *a = left, *b = right;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static void add_greedy_edge(fragments *f, const edge *e) {
  if (f->link[2 * e->from + 1] >= 0 || f->link[2 * e->to + 1] >= 0) return;
  const int32_t a = find_root(f->parent, e->from), b = find_root(f->parent, e->to);
  if (a == b) return;
  f->parent[a > b ? a : b] = a > b ? b : a;
  f->link[2 * e->from + (f->link[2 * e->from] >= 0)] = e->to;
  f->link[2 * e->to + (f->link[2 * e->to] >= 0)] = e->from;
  --f->open;
}

/* Takes greedy edges from the lists of `count` points, whose numbers among all are ends[], or the
 * same if ends is NULL. edges: degree * count. */
static void add_listed_edges(fragments *f, const int32_t *nearest, int degree, int32_t count,
                             const int32_t *ends, edge *edges) {
  int64_t found = 0;
  for (int32_t k = 0; k < count; ++k) {
    for (int j = 0; j < degree; ++j) {
      const int32_t other = nearest[(int64_t)k * degree + j];
      const int32_t a = ends ? ends[k] : k, b = ends ? ends[other] : other;
      const double dx = f->points[2 * (int64_t)a] - f->points[2 * (int64_t)b];
      const double dy = f->points[2 * (int64_t)a + 1] - f->points[2 * (int64_t)b + 1];
      edges[found++] = (edge){dx * dx + dy * dy, a < b ? a : b, a < b ? b : a};
    }
  }
  qsort(edges, (size_t)found, sizeof *edges, compare_lengths);
  for (int64_t k = 0; k < found; ++k) add_greedy_edge(f, &edges[k]);
}

/* Points with fewer than two edges. */
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

/* Each round joins at least the two nearest ends of different fragments, and usually most of the
 * fragments. Two neighbours of an end always suffice, since just one can be the other end of its
 * own fragment. */
static cvtm_status join_fragments(fragments *f, int threads, int32_t *ends, double *places,
                                  int32_t *nearest, edge *edges, cvtm_error *error) {
  while (f->open > 0) {
    const int32_t count = list_ends(f, ends, places);
    const int degree = count > CVTM_TOUR_DEGREE ? CVTM_TOUR_DEGREE : (int)count - 1;
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

cvtm_status cvtm_tour_greedy(const double *points, int32_t count, const int32_t *nearest,
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
