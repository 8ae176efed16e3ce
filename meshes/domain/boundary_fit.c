/* The areas of the regions of a sampled boundary. */
#include "base/host_memory.h"
#include "base/portable.h"
#include "meshes/domain/area_fit.h"
#include "meshes/contour.h"
#include "meshes/delaunay/crossings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  PASSES = 3, /* in each the vertices move as far as the edges of the last pass allow */
  ROUNDS = 8  /* the most attempts to make crossing edges disappear */
};

static const double largest_shift = 0.5; /* pixels */
/* The share of a vertex's shortest edge that it may move; half as much for a corner. */
static const double largest_share = 0.2;

static int is_on_side(const cvtm_contour *c, const double *p) {
  return p[0] == 0 || p[1] == 0 || p[0] == c->size[0] || p[1] == c->size[1];
}

/* Turns reach, the length of each vertex's shortest edge, into the distance that the vertex may
 * move. */
static void find_reach(const cvtm_contour *c, const cvtm_boundary *b, int move_corners,
                       double *reach) {
  for (int64_t v = 0; v < b->vertex_count; ++v) reach[v] = INFINITY;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const int64_t u = b->edges[2 * e], v = b->edges[2 * e + 1];
    const double *p = b->points + 2 * u, *q = b->points + 2 * v;
    const double length = hypot(q[0] - p[0], q[1] - p[1]);
    reach[u] = fmin(reach[u], length);
    reach[v] = fmin(reach[v], length);
  }
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const double share = b->corner[v] ? 0.5 * move_corners * largest_share : largest_share;
    reach[v] = is_on_side(c, b->points + 2 * v) ? 0 : fmin(share * reach[v], largest_shift);
  }
}

/* Vertices of edges that cross stay; returns how many of these still moved. */
static cvtm_status hold_crossed(const cvtm_boundary *b, double *reach, int64_t *held,
                                cvtm_error *error) {
  int64_t found;
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_no_memory(error, "the boundary");
  const cvtm_status status = cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count,
                                               crossed, &found, error);
  *held = 0;
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    if (!crossed[e]) continue;
    for (int end = 0; end < 2; ++end) {
      double *own = &reach[b->edges[2 * e + end]];
      *held += *own > 0;
      *own = 0;
    }
  }
  free(crossed);
  return status;
}

enum { MOST_EDGES = 8 }; /* at a vertex: pixels have four corners, and two sides may pass */

/* The edges at a vertex, by the vertices at their other ends. */
typedef struct fan {
  int64_t end[MOST_EDGES];
  int count;
} fan;

/* Sorts the ends by their directions from v, the first one first. */
static void sort_fan(const double *points, int64_t v, fan *f) {
  double turn[MOST_EDGES];
  for (int k = 0; k < f->count; ++k) {
    const double *p = points + 2 * f->end[k], *at = points + 2 * v;
    const double angle = atan2(p[1] - at[1], p[0] - at[0]);
    turn[k] = k == 0 ? angle : angle < turn[0] ? angle + 2 * CVTM_PI : angle;
    const int64_t end = f->end[k];
    const double own = turn[k];
    int i = k;
    for (; i > 1 && turn[i - 1] > own; --i) {
      turn[i] = turn[i - 1];
      f->end[i] = f->end[i - 1];
    }
    turn[i] = own;
    f->end[i] = end;
  }
}

/* Nonzero if the edges at v follow each other otherwise than before. */
static int is_turned(const double *before, const double *after, int64_t v, const fan *f) {
  fan then = *f, now = *f;
  sort_fan(before, v, &then);
  sort_fan(after, v, &now);
  return memcmp(then.end, now.end, (size_t)f->count * sizeof *f->end) != 0;
}

/* A thin region may turn inside out between two junctions although no edges cross. Such junctions
 * and their neighbours stay; adds to *held how many of these still moved. */
static cvtm_status hold_turned(const cvtm_boundary *b, const double *before, double *reach,
                               int64_t *held, cvtm_error *error) {
  fan *fans = calloc((size_t)b->vertex_count + 1, sizeof *fans);
  if (fans == NULL) return cvtm_no_memory(error, "the boundary");
  for (int64_t k = 0; k < 2 * b->edge_count; ++k) {
    fan *f = &fans[b->edges[k]];
    if (f->count < MOST_EDGES) f->end[f->count++] = b->edges[k ^ 1];
  }
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const fan *f = &fans[v];
    if (f->count < 3 || !is_turned(before, b->points, v, f)) continue;
    *held += reach[v] > 0;
    reach[v] = 0;
    for (int k = 0; k < f->count; ++k) {
      *held += reach[f->end[k]] > 0;
      reach[f->end[k]] = 0;
    }
  }
  free(fans);
  return CVTM_OK;
}

/* The edges' deviation from the contour grows by no more than their ends move. */
static void widen_deviations(cvtm_boundary *b, const double *before) {
  for (int64_t e = 0; e < b->edge_count; ++e) {
    double most = 0;
    for (int end = 0; end < 2; ++end) {
      const int64_t v = b->edges[2 * e + end];
      most = fmax(
          most, hypot(b->points[2 * v] - before[2 * v], b->points[2 * v + 1] - before[2 * v + 1]));
    }
    b->deviation[e] += most;
  }
}

/* Memory of a fit: per vertex its reach, per coordinate its start and its bounds. */
typedef struct fit_memory {
  double *reach, *start, *low, *high;
} fit_memory;

/* Moves the vertices within the reach that their edges give them, without new crossings. *worst:
 * the largest relative error of an area. */
static cvtm_status fit_within_reach(const cvtm_contour *contour, int move_corners, cvtm_boundary *b,
                                    const fit_memory *m, double *worst, cvtm_error *error) {
  const size_t numbers = 2 * (size_t)b->vertex_count;
  int64_t held = 1;
  cvtm_status status = CVTM_OK;
  memcpy(m->start, b->points, numbers * sizeof *m->start);
  find_reach(contour, b, move_corners, m->reach);
  for (int round = 0; round < ROUNDS && held > 0 && status == CVTM_OK; ++round) {
    memcpy(b->points, m->start, numbers * sizeof *m->start);
    for (size_t k = 0; k < numbers; ++k) {
      m->low[k] = m->start[k] - m->reach[k / 2];
      m->high[k] = m->start[k] + m->reach[k / 2];
    }
    const cvtm_area_map map = {b->points, b->vertex_count, m->low,   m->high,
                               b->edges,  b->left,         b->right, b->edge_count};
    status = cvtm_fit_areas(&map, contour->region, contour->region_area, contour->region_count,
                            worst, error);
    if (status == CVTM_OK) status = hold_crossed(b, m->reach, &held, error);
    if (status == CVTM_OK) status = hold_turned(b, m->start, m->reach, &held, error);
  }
  if (held > 0 || status != CVTM_OK) memcpy(b->points, m->start, numbers * sizeof *m->start);
  if (status == CVTM_OK) widen_deviations(b, m->start);
  return status;
}

cvtm_status cvtm_boundary_fit(const cvtm_contour *contour, int move_corners,
                              cvtm_boundary *boundary, cvtm_error *error) {
  const double good_enough = 1e-6;
  const size_t n = (size_t)boundary->vertex_count;
  if (contour->region_count == 0) return CVTM_OK;
  double *memory = malloc((7 * n + 1) * sizeof *memory);
  if (memory == NULL) return cvtm_no_memory(error, "the boundary");
  const fit_memory parts = {memory, memory + n, memory + 3 * n, memory + 5 * n};
  double worst = INFINITY;
  cvtm_status status = CVTM_OK;
  for (int pass = 0; pass < PASSES && worst > good_enough && status == CVTM_OK; ++pass)
    status = fit_within_reach(contour, move_corners, boundary, &parts, &worst, error);
  free(memory);
  return status;
}
