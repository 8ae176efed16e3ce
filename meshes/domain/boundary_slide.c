/* Vertices of a boundary slide along the contour. */
#include "base/grow.h"
#include "base/host_memory.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/domain/stretch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct slider {
  cvtm_stretch stretch;
  cvtm_boundary *made;
  const double *wish;
  double share;
  uint8_t *held;    /* per vertex: stays */
  double *wanted;   /* ways of a piece's vertices */
  cvtm_track spare; /* swapped with that of the stretch */
} slider;

/* The last of the track's points that is not behind `way`. */
static int64_t point_before(const cvtm_track *t, double way) {
  int64_t low = 0, high = t->count - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (t->way[middle] <= way) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/* The way along the track, from `low` to `high`, of the place nearest to a point. */
static double nearest_way(const cvtm_track *t, double low, double high, const double *point) {
  double best = low, least = INFINITY;
  for (int64_t k = point_before(t, low); k + 1 < t->count && t->way[k] <= high; ++k) {
    const double length = t->way[k + 1] - t->way[k];
    if (!(length > 0)) continue;
    const double *a = t->points + 2 * k, *b = a + 2;
    const double ux = (b[0] - a[0]) / length, uy = (b[1] - a[1]) / length;
    const double along = (point[0] - a[0]) * ux + (point[1] - a[1]) * uy;
    const double from = fmax(low - t->way[k], 0), to = fmin(high - t->way[k], length);
    const double way = fmin(fmax(along, from), to);
    const double off = hypot(a[0] + way * ux - point[0], a[1] + way * uy - point[1]);
    if (off >= least) continue;
    least = off;
    best = t->way[k] + way;
  }
  return best;
}

/* Sets `wanted` for the vertices of a piece that lie between its two ends. */
static void find_wanted(slider *s, int64_t first, int64_t parts) {
  const double reach = 1.0 / 3;
  const cvtm_boundary *b = s->made;
  const cvtm_track *t = &s->stretch.track;
  double before = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const int32_t v = b->edges[2 * (first + i)], next = b->edges[2 * (first + i) + 1];
    const double home = b->home[v], after = i + 1 < parts ? b->home[next] : t->way[t->count - 1];
    const double low = home - reach * (home - before), high = home + reach * (after - home);
    const double nearest = nearest_way(t, low, high, s->wish + 2 * (int64_t)v);
    const double wanted = b->along[v] + s->share * (nearest - b->along[v]);
    s->wanted[i] = s->held[v] ? b->along[v] : fmin(fmax(wanted, low), high);
    before = home;
  }
}

/* Lays the track anew with a point at every wanted place, and cuts it there. */
static cvtm_status cut_at_wanted(slider *s, int64_t parts) {
  cvtm_stretch *to = &s->stretch;
  const cvtm_track sampled = to->track;
  to->track = s->spare;
  s->spare = sampled;
  to->track.count = 0;
  if (!cvtm_grow(&to->cuts, sizeof *to->cuts, &to->cut_capacity, parts + 1))
    return cvtm_no_memory(to->error, "the boundary");
  cvtm_status status = CVTM_OK;
  int64_t next = 1;
  for (int64_t k = 0; k < sampled.count && status == CVTM_OK; ++k) {
    for (; k > 0 && next < parts && s->wanted[next] < sampled.way[k] && status == CVTM_OK; ++next) {
      const double *a = sampled.points + 2 * (k - 1), *b = a + 2;
      const double t =
          (s->wanted[next] - sampled.way[k - 1]) / (sampled.way[k] - sampled.way[k - 1]);
      to->cuts[next] = to->track.count;
      status = cvtm_stretch_add_point(to, a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), 0);
    }
    if (status == CVTM_OK)
      status = cvtm_stretch_add_point(to, sampled.points[2 * k], sampled.points[2 * k + 1], 0);
  }
  if (status != CVTM_OK) return status;
  to->cuts[0] = 0;
  to->cuts[parts] = to->track.count - 1;
  return CVTM_OK;
}

/* The piece of `parts` edges from `first` on, whose stretch of the contour is given. */
static cvtm_status slide_piece(slider *s, const double *p, int64_t count, int64_t first,
                               int64_t parts) {
  cvtm_boundary *b = s->made;
  const int32_t begin = b->edges[2 * first], end = b->edges[2 * (first + parts) - 1];
  const int closed = begin == end && !b->corner[begin];
  cvtm_status status = cvtm_stretch_lay(&s->stretch, p, count);
  if (status != CVTM_OK) return status;
  find_wanted(s, first, parts);
  status = cut_at_wanted(s, parts);
  for (int64_t i = closed ? 0 : 1; i < parts && status == CVTM_OK; ++i) {
    const int32_t v = b->edges[2 * (first + i)];
    cvtm_stretch_place_cut(&s->stretch, i, parts, closed, b->points + 2 * (int64_t)v);
    b->along[v] = i > 0 ? s->wanted[i] : 0;
  }
  for (int64_t i = 0; i < parts && status == CVTM_OK; ++i) {
    const int32_t *edge = b->edges + 2 * (first + i);
    b->deviation[first + i] = cvtm_stretch_deviation(
        &s->stretch, i, b->points + 2 * (int64_t)edge[0], b->points + 2 * (int64_t)edge[1]);
  }
  return status;
}

static cvtm_status slide_all(slider *s, const cvtm_contour *c) {
  const cvtm_boundary *b = s->made;
  int64_t first = 0;
  cvtm_status status = CVTM_OK;
  for (int64_t arc = 0; arc < c->arc_count && status == CVTM_OK; ++arc) {
    const int64_t last = c->start[arc + 1] - 1;
    for (int64_t begin = c->start[arc], end; begin < last && status == CVTM_OK; begin = end) {
      end = begin + 1;
      while (end < last && !c->corner[end]) ++end;
      int64_t parts = 1;
      for (int32_t to = b->edges[2 * first + 1]; !b->corner[to] && to != b->edges[2 * first];)
        to = b->edges[2 * (first + parts++) + 1];
      status = slide_piece(s, c->points + 2 * begin, end - begin + 1, first, parts);
      first += parts;
    }
  }
  return status;
}

/* Holds the ends of edges that must not be as they are now; `found` of them, `held` new ones. */
static cvtm_status hold_bad_edges(slider *s, const double *deviation, int64_t *found,
                                  int64_t *held) {
  const cvtm_boundary *b = s->made;
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_no_memory(s->stretch.error, "the boundary");
  const cvtm_status status = cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count,
                                               crossed, found, s->stretch.error);
  *held = 0;
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    const int bent = b->deviation[e] > fmax(deviation[e], cvtm_largest_shift);
    if (!bent && !crossed[e]) continue;
    *found += bent && !crossed[e];
    for (int end = 0; end < 2; ++end) {
      uint8_t *stays = &s->held[b->edges[2 * e + end]];
      *held += !*stays;
      *stays = 1;
    }
  }
  free(crossed);
  for (int64_t k = 0; k < b->pair_count; ++k) {
    uint8_t *first = &s->held[b->pairs[2 * k]], *second = &s->held[b->pairs[2 * k + 1]];
    *held += *first != *second;
    *first = *second = *first | *second;
  }
  return status;
}

/* Two vertices on opposite sides of a periodic image have one wish, the mean of both; where it lies
 * across the side does not matter. */
static void share_wishes(const cvtm_boundary *b, double *wish) {
  for (int64_t k = 0; k < b->pair_count; ++k) {
    const int64_t u = b->pairs[2 * k], v = b->pairs[2 * k + 1];
    const double *p = b->points + 2 * u, *q = b->points + 2 * v;
    const int across = p[0] != q[0] ? 0 : 1;
    wish[2 * u + !across] = wish[2 * v + !across] =
        0.5 * (wish[2 * u + !across] + wish[2 * v + !across]);
    wish[2 * u + across] = p[across];
    wish[2 * v + across] = q[across];
  }
}

typedef struct boundary_state {
  double *points, *along, *deviation;
} boundary_state;

static void copy_state(const cvtm_boundary *b, const boundary_state *from,
                       const boundary_state *to) {
  const size_t vertices = (size_t)b->vertex_count * sizeof(double);
  memcpy(to->points, from->points, 2 * vertices);
  memcpy(to->along, from->along, vertices);
  memcpy(to->deviation, from->deviation, (size_t)b->edge_count * sizeof(double));
}

cvtm_status cvtm_boundary_slide(const cvtm_contour *contour, const double *wish, double share,
                                cvtm_boundary *boundary, cvtm_error *error) {
  const size_t n = (size_t)boundary->vertex_count, edges = (size_t)boundary->edge_count;
  const boundary_state now = {boundary->points, boundary->along, boundary->deviation};
  boundary_state old = {malloc((3 * n + edges + 1) * sizeof(double)), NULL, NULL};
  double *shared = malloc((2 * n + 1) * sizeof *shared);
  slider s = {.stretch = {.keep_on_curve = contour->keep_on_curve, .error = error},
              .made = boundary,
              .wish = shared,
              .share = share,
              .held = calloc(n + 1, 1),
              .wanted = malloc((edges + 1) * sizeof(double))};
  cvtm_status status =
      old.points && shared && s.held && s.wanted ? CVTM_OK : cvtm_no_memory(error, "the boundary");
  if (status == CVTM_OK) {
    old.along = old.points + 2 * n;
    old.deviation = old.along + n;
    memcpy(shared, wish, 2 * n * sizeof *shared);
    share_wishes(boundary, shared);
    copy_state(boundary, &now, &old);
  }
  for (int64_t found = 1, held = 1; status == CVTM_OK && found > 0;) {
    status = slide_all(&s, contour);
    if (status == CVTM_OK) status = cvtm_boundary_fit(contour, 0, boundary, error);
    if (status == CVTM_OK) status = hold_bad_edges(&s, old.deviation, &found, &held);
    if (status != CVTM_OK || found > 0) copy_state(boundary, &old, &now);
    if (held == 0) break;
  }
  cvtm_stretch_free(&s.stretch);
  cvtm_track_free(&s.spare);
  free(old.points);
  free(shared);
  free(s.held);
  free(s.wanted);
  return status;
}
