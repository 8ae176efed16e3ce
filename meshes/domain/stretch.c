#include "meshes/domain/stretch.h"

#include "base/grow.h"
#include "base/host_memory.h"
#include "base/segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_stretch_add_point(cvtm_stretch *s, double x, double y, double measure) {
  cvtm_track *t = &s->track;
  const cvtm_growing arrays[] = {{&t->points, 2 * sizeof *t->points},
                                 {&t->way, sizeof *t->way},
                                 {&t->measure, sizeof *t->measure}};
  if (!cvtm_grow_all(arrays, 3, &t->capacity, t->count + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const double *last = t->points + 2 * (t->count - 1);
  t->way[t->count] = t->count > 0 ? t->way[t->count - 1] + hypot(x - last[0], y - last[1]) : 0;
  t->points[2 * t->count] = x;
  t->points[2 * t->count + 1] = y;
  t->measure[t->count++] = measure;
  return CVTM_OK;
}

cvtm_status cvtm_stretch_lay(cvtm_stretch *s, const double *p, int64_t count) {
  s->track.count = 0;
  cvtm_status status = cvtm_stretch_add_point(s, p[0], p[1], 0);
  double measure = 0;
  for (int64_t k = 0; k + 1 < count; ++k) {
    const double *a = p + 2 * k, *b = a + 2;
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    const int64_t parts = (int64_t)ceil(2 * length) + (length == 0);
    for (int64_t i = 1; i <= parts && status == CVTM_OK; ++i) {
      const double to = (double)i / (double)parts, half = ((double)i - 0.5) / (double)parts;
      if (s->spacing != NULL)
        measure += length / (double)parts /
                   s->spacing(s->context, a[0] + half * (b[0] - a[0]), a[1] + half * (b[1] - a[1]));
      status = cvtm_stretch_add_point(s, i == parts ? b[0] : a[0] + to * (b[0] - a[0]),
                                      i == parts ? b[1] : a[1] + to * (b[1] - a[1]), measure);
    }
  }
  return status;
}

cvtm_status cvtm_stretch_choose_cuts(cvtm_stretch *s, int64_t parts) {
  if (!cvtm_grow(&s->cuts, sizeof *s->cuts, &s->cut_capacity, parts + 1))
    return cvtm_no_memory(s->error, "the boundary");
  const cvtm_track *t = &s->track;
  const double total = t->measure[t->count - 1];
  int64_t k = 0;
  s->cuts[0] = 0;
  for (int64_t i = 1; i < parts; ++i) {
    const double wanted = total * (double)i / (double)parts;
    while (k + 1 < t->count && t->measure[k + 1] < wanted) ++k;
    /* The nearer of both, apart from the last cut and early enough for those that follow. */
    int64_t best = wanted - t->measure[k] < t->measure[k + 1] - wanted ? k : k + 1;
    if (best <= s->cuts[i - 1]) best = s->cuts[i - 1] + 1;
    if (best > t->count - 1 - (parts - i)) best = t->count - 1 - (parts - i);
    s->cuts[i] = best;
  }
  s->cuts[parts] = t->count - 1;
  return CVTM_OK;
}

void cvtm_track_free(cvtm_track *t) {
  free(t->points);
  free(t->way);
  free(t->measure);
}

void cvtm_stretch_free(cvtm_stretch *s) {
  cvtm_track_free(&s->track);
  free(s->cuts);
}

/* Area between the chord of cuts i, i + 1 and its stretch of the curve, to the chord's left as
 * seen with y up. */
static double area_beside(const cvtm_stretch *s, int64_t i) {
  const int64_t first = s->cuts[i], last = s->cuts[i + 1];
  return -cvtm_ring_area(s->track.points + 2 * first, last - first + 1);
}

static double chord(const cvtm_stretch *s, int64_t i) {
  const double *a = s->track.points + 2 * s->cuts[i], *b = s->track.points + 2 * s->cuts[i + 1];
  return hypot(b[0] - a[0], b[1] - a[1]);
}

void cvtm_stretch_place_cut(const cvtm_stretch *s, int64_t i, int64_t parts, int closed,
                            double place[2]) {
  const double *points = s->track.points;
  const int64_t before = i > 0 ? i - 1 : parts - 1;
  memcpy(place, points + 2 * s->cuts[i], 2 * sizeof *place);
  if (s->keep_on_curve || (!closed && (i == 0 || i == parts))) return;
  const double *a = points + 2 * s->cuts[before];
  const double *b = points + 2 * s->cuts[i + 1 <= parts ? i + 1 : 1];
  const int64_t after = i < parts ? i : 0;
  const double weight_before = !closed && before == 0 ? 2 : 1;
  const double weight_after = !closed && after == parts - 1 ? 2 : 1;
  const double span = hypot(b[0] - a[0], b[1] - a[1]);
  if (!(span > 0)) return;
  double shift = (weight_before * area_beside(s, before) + weight_after * area_beside(s, after)) /
                 (chord(s, before) + chord(s, after));
  const double most = fmin(cvtm_largest_shift, 0.2 * fmin(chord(s, before), chord(s, after)));
  shift = fmin(fmax(shift, -most), most);
  /* The left of (dx, dy), y down, is (dy, -dx). */
  place[0] += shift * (b[1] - a[1]) / span;
  place[1] -= shift * (b[0] - a[0]) / span;
}

/* A point in the coordinates of an edge: its share of the way from a to b, and the distance from
 * the edge, in edge lengths. */
static void measure_from_edge(const double *a, const double *b, const double *p, double *share,
                              double *height) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], square = ux * ux + uy * uy;
  *share = ((p[0] - a[0]) * ux + (p[1] - a[1]) * uy) / square;
  *height = ((p[0] - a[0]) * uy - (p[1] - a[1]) * ux) / square;
}

/* The largest distance of the curve, across the edge, from the parabola through the ends of the
 * edge and the point of the curve between them. HUGE_VAL: the curve turns back along the edge. */
static double bent_deviation(const cvtm_stretch *s, int64_t i, const double *a, const double *b) {
  const int64_t first = s->cuts[i], last = s->cuts[i + 1];
  double middle = HUGE_VAL, largest = 0, before = 0, before_height = 0;
  for (int64_t k = first; k <= last; ++k) {
    double share, height;
    measure_from_edge(a, b, s->track.points + 2 * k, &share, &height);
    if (k > first && share < before) return HUGE_VAL;
    if (k > first && before <= 0.5 && share > 0.5)
      middle = before_height + (0.5 - before) / (share - before) * (height - before_height);
    before = share;
    before_height = height;
  }
  for (int64_t k = first; k <= last && middle < HUGE_VAL; ++k) {
    double share, height;
    measure_from_edge(a, b, s->track.points + 2 * k, &share, &height);
    largest = fmax(largest, fabs(height - 4 * share * (1 - share) * middle));
  }
  return middle < HUGE_VAL ? largest * hypot(b[0] - a[0], b[1] - a[1]) : HUGE_VAL;
}

double cvtm_stretch_deviation(const cvtm_stretch *s, int64_t i, const double *a, const double *b) {
  const double bent = s->keep_on_curve ? bent_deviation(s, i, a, b) : HUGE_VAL;
  if (bent < HUGE_VAL) return bent;
  const double *from = s->track.points + 2 * s->cuts[i], *to = s->track.points + 2 * s->cuts[i + 1];
  /* The ends of the edge may be off the curve. */
  double largest = fmax(hypot(a[0] - from[0], a[1] - from[1]), hypot(b[0] - to[0], b[1] - to[1]));
  for (int64_t k = s->cuts[i]; k <= s->cuts[i + 1]; ++k) {
    const double *q = s->track.points + 2 * k;
    largest = fmax(largest, cvtm_segment_distance(a, b, q[0], q[1]));
  }
  return largest;
}
