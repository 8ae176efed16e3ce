/* Adds the sides of an image as arcs of a contour. Arcs on a torus are cut at the sides, and the
 * sides are divided where arcs meet them. */
#include "base/host.h"
#include "meshes/domain/contour_steps.h"

#include <stdlib.h>
#include <string.h>

/* Points of arcs that are closer to a side than this (pixels) are moved onto the side, so that no
 * sliver remains. snap_between: arcs between two regions; snap: arcs beside the outside. */
static const double snap_between = 0.45;
static const double snap = 0.25;

enum { X_AXIS, Y_AXIS };
enum { LEFT_SIDE, RIGHT_SIDE, UPPER_SIDE, LOWER_SIDE, SIDES };

/* A point of an arc on a torus. cut: nonzero if the point lies on a side. */
typedef struct step {
  double place[2];
  int cut;
} step;

/* A point on a side. If an arc ends there: its slope (along the side per step inwards), and the
 * regions before and behind the point in increasing coordinates. */
typedef struct side_point {
  double at, slope;
  int32_t before, behind;
  int has_arc;
} side_point;

typedef struct side {
  side_point *points;
  int64_t count, capacity;
  int32_t label; /* region along all of the side, if no arc meets it */
} side;

typedef struct cutter {
  const cvtm_contour_picture *picture;
  double size[2];
  cvtm_contour_builder builder;
  step *steps;
  int64_t step_count, step_capacity;
  side sides[SIDES];
  cvtm_error *error;
} cutter;

/* ---- Points near a side of a torus ---- */

/* The periodic copy, closest to a coordinate, of a side perpendicular to `axis`. */
static double nearest_line(const cutter *c, int axis, double v) {
  return rint(v / c->size[axis]) * c->size[axis];
}

static int is_on_line(const cutter *c, int axis, double v) { return v == nearest_line(c, axis, v); }

/* If an arc between a region and the outside runs along the line, from `before` to `after`: the
 * direction along `axis` in which the region lies, -1 or 1; else 0. */
static int region_side(int axis, const double *before, const double *after, int32_t left,
                       int32_t right) {
  const double across = after[axis] - before[axis], along = after[!axis] - before[!axis];
  if ((left != 0 && right != 0) || !(fabs(along) > fabs(across))) return 0;
  /* With y down, the left of (dx, dy) is (dy, -dx). */
  const double to_left = axis == X_AXIS ? along : -along;
  return (to_left > 0) == (left != 0) ? 1 : -1;
}

/* Counts, of the pixels around a junction, those in regions, on both sides along each axis. */
static void count_filled(const cutter *c, const double *junction, int filled[2][2]) {
  const int w = c->picture->width, h = c->picture->height;
  const int i = (int)floor(junction[0] - 0.5), j = (int)floor(junction[1] - 0.5);
  memset(filled, 0, 4 * sizeof(int));
  for (int k = 0; k < 4; ++k) {
    const int column = ((i + k % 2) % w + w) % w, row = ((j + k / 2) % h + h) % h;
    const int in_region = cvtm_contour_label(c->picture, column, row) != 0;
    filled[X_AXIS][k % 2] += in_region;
    filled[Y_AXIS][k / 2] += in_region;
  }
}

/* Moves a junction close to a side onto the side. But moves it away from a side beyond which all
 * pixels are outside, and from a corner of the image if some pixels there are outside. */
static void snap_junction(const cutter *c, double *place) {
  int filled[2][2];
  count_filled(c, place, filled);
  const int porous = filled[X_AXIS][0] + filled[X_AXIS][1] < 4;
  int snapped = 0;
  for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
    const double line = nearest_line(c, axis, place[axis]);
    const int *own = filled[axis];
    if (!(fabs(place[axis] - line) < (porous ? snap : snap_between))) continue;
    const int away = own[0] == 0 || own[1] == 0 || (porous && snapped);
    place[axis] = line + (!away ? 0 : own[1] > own[0] ? snap : -snap);
    snapped |= !away;
  }
}

/* Moves a point of an arc that is close to a side onto the side or, if one side of the arc is
 * outside, into the region, because an edge on the side of a torus needs a region on both sides.
 * before, after: the neighbouring points on the arc. */
static void snap_point(const cutter *c, const double *before, const double *after, int32_t left,
                       int32_t right, double *place) {
  const int between = left != 0 && right != 0;
  for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
    const double line = nearest_line(c, axis, place[axis]);
    if (!(fabs(place[axis] - line) < (between ? snap_between : snap))) continue;
    place[axis] = line + region_side(axis, before, after, left, right) * snap;
  }
}

/* Where an arc beside the outside would run along a side, moves its points into the region. The
 * last point of an arc without ends is a periodic copy of the first. */
static void leave_lines(cutter *c, int32_t left, int32_t right, int joined) {
  const int64_t last = c->step_count - 1;
  if (left != 0 && right != 0) return;
  for (int64_t k = 0; k < last; ++k) {
    double *a = c->steps[k].place, *b = c->steps[k + 1].place;
    for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
      if (a[axis] != b[axis] || !is_on_line(c, axis, a[axis])) continue;
      const int direction = region_side(axis, a, b, left, right);
      const int first = k + 1 == last && !joined; /* b is a junction */
      (first ? a : b)[axis] += direction * snap;
      if (k + 1 == last && joined) c->steps[0].place[axis] += direction * snap;
    }
  }
}

/* Converts an arc to steps, with points snapped to sides. */
static cvtm_status snap_arc(cutter *c, const cvtm_contour *traced, int64_t arc, int joined) {
  const double *p = traced->points + 2 * traced->start[arc];
  const int64_t count = traced->start[arc + 1] - traced->start[arc];
  const double turn[2] = {p[2 * count - 2] - p[0], p[2 * count - 1] - p[1]};
  if (!cvtm_grow(&c->steps, sizeof *c->steps, &c->step_capacity, count))
    return cvtm_no_memory(c->error, "the contour");
  c->step_count = count;
  for (int64_t k = 0; k < count; ++k) {
    const int end = k == 0 || k == count - 1;
    double before[2], after[2];
    for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
      before[axis] = k > 0 ? p[2 * k - 2 + axis] : p[2 * (count - 2) + axis] - turn[axis];
      after[axis] = k < count - 1 ? p[2 * k + 2 + axis] : p[2 + axis] + turn[axis];
    }
    memcpy(c->steps[k].place, p + 2 * k, 2 * sizeof *p);
    if (end && !joined)
      snap_junction(c, c->steps[k].place);
    else
      snap_point(c, before, after, traced->left[arc], traced->right[arc], c->steps[k].place);
  }
  leave_lines(c, traced->left[arc], traced->right[arc], joined);
  return CVTM_OK;
}

/* ---- Points on the sides ---- */

static int compare_side_points(const void *first, const void *second) {
  const side_point *a = first, *b = second;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->slope > b->slope) - (a->slope < b->slope);
}

static int axis_across(int s) { return s <= RIGHT_SIDE ? X_AXIS : Y_AXIS; }
static double side_coordinate(const cutter *c, int s) {
  return s % 2 == 0 ? 0 : c->size[axis_across(s)];
}

static cvtm_status add_side_point(const cutter *c, side *s, side_point p) {
  if (!cvtm_grow(&s->points, sizeof *s->points, &s->capacity, s->count + 1))
    return cvtm_no_memory(c->error, "the contour");
  s->points[s->count++] = p;
  return CVTM_OK;
}

/* Adds the end p of an arc, whose next point is q, to all sides that contain p; q NULL: a point
 * without an arc. left, right: as seen from p. */
static cvtm_status add_end(cutter *c, const double *p, const double *q, int32_t left,
                           int32_t right) {
  for (int s = 0; s < SIDES; ++s) {
    const int across = axis_across(s);
    if (p[across] != side_coordinate(c, s)) continue;
    side_point made = {p[!across], 0, 0, 0, q != NULL};
    if (q != NULL) {
      const double inwards = fabs(q[across] - p[across]);
      made.slope = (q[!across] - p[!across]) / inwards;
      /* inwards from the left or the lower side, with y down, `left` comes before `right` */
      const int left_before = s == LEFT_SIDE || s == LOWER_SIDE;
      made.before = left_before ? left : right;
      made.behind = left_before ? right : left;
    }
    CVTM_TRY(add_side_point(c, &c->sides[s], made));
  }
  return CVTM_OK;
}

/* ---- Cutting ---- */

/* Finds the first line of `axis` strictly between two coordinates; returns 0 if there is none. */
static int line_between(const cutter *c, int axis, double from, double to, double *line) {
  *line = nearest_line(c, axis, 0.5 * (from + to));
  return (from < *line && *line < to) || (to < *line && *line < from);
}

/* Finds the first point where the segment from a to b meets a line; returns 0 if there is none. An
 * arc between two regions that passes near a corner of the image is cut at the corner. */
static int find_cut(const cutter *c, const double *a, const double *b, int between, double cut[2]) {
  double first = 2;
  for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
    double line;
    if (!line_between(c, axis, a[axis], b[axis], &line)) continue;
    const double t = (line - a[axis]) / (b[axis] - a[axis]);
    if (!(t < first)) continue;
    first = t;
    const double v = a[!axis] + t * (b[!axis] - a[!axis]);
    const double other = nearest_line(c, !axis, v);
    cut[axis] = line;
    cut[!axis] = between && fabs(v - other) < snap ? other : cvtm_round_on_torus(v);
  }
  return first < 2;
}

/* Adds the points where the arc meets lines, and marks all points on lines. */
static cvtm_status refine_arc(cutter *c, int between) {
  const int64_t count = c->step_count;
  if (!cvtm_grow(&c->steps, sizeof *c->steps, &c->step_capacity, 4 * count))
    return cvtm_no_memory(c->error, "the contour");
  /* The refined arc is written after the arc itself; each segment has at most two cuts. */
  step *from = c->steps, *to = c->steps + count;
  int64_t n = 0;
  for (int64_t k = 0; k < count; ++k) {
    to[n++] = from[k];
    step cut = {{0, 0}, 1};
    while (k + 1 < count && n < 3 * count &&
           find_cut(c, to[n - 1].place, from[k + 1].place, between, cut.place))
      to[n++] = cut;
  }
  memmove(from, to, (size_t)n * sizeof *to);
  c->step_count = n;
  for (int64_t k = 0; k < n; ++k) {
    const double *p = c->steps[k].place;
    c->steps[k].cut = is_on_line(c, X_AXIS, p[0]) || is_on_line(c, Y_AXIS, p[1]);
  }
  return CVTM_OK;
}

/* Rotates a closed arc so that it begins at a cut, if it has any. It ends at its first point, or at
 * a periodic copy of that point. */
static cvtm_status rotate_to_cut(cutter *c) {
  const int64_t n = c->step_count - 1;
  int64_t first = 0;
  while (first < n && !c->steps[first].cut) ++first;
  if (first == 0 || first == n) return CVTM_OK;
  if (!cvtm_grow(&c->steps, sizeof *c->steps, &c->step_capacity, 2 * n + 2))
    return cvtm_no_memory(c->error, "the contour");
  step *s = c->steps;
  const double turn[2] = {s[n].place[0] - s[0].place[0], s[n].place[1] - s[0].place[1]};
  for (int64_t k = 1; k <= first; ++k) {
    s[n + k] = s[k];
    s[n + k].place[0] += turn[0];
    s[n + k].place[1] += turn[1];
  }
  memmove(s, s + first, (size_t)(n + 1) * sizeof *s);
  return CVTM_OK;
}

/* Adds the steps first .. last, which lie in one periodic copy of the picture, as an arc. Steps
 * along a side become part of the side instead, which is divided at their ends. */
static cvtm_status emit_piece(cutter *c, int64_t first, int64_t last, int corner, int32_t left,
                              int32_t right) {
  const double *a = c->steps[first].place, *b = c->steps[first + 1].place;
  double origin[2];
  int along = 0;
  for (int axis = X_AXIS; axis <= Y_AXIS; ++axis) {
    const double middle = 0.5 * (a[axis] + b[axis]);
    along |= last == first + 1 && a[axis] == b[axis] && is_on_line(c, axis, a[axis]);
    origin[axis] = floor(middle / c->size[axis]) * c->size[axis];
  }
  if (!along) cvtm_contour_begin_arc(&c->builder, left, right);
  for (int64_t k = first; k <= last; ++k) {
    const double *p = c->steps[k].place, q[2] = {p[0] - origin[0], p[1] - origin[1]};
    if (along)
      CVTM_TRY(add_end(c, q, NULL, 0, 0));
    else
      cvtm_contour_add_point(&c->builder, q, corner && (k == first || k == last));
  }
  return CVTM_OK;
}

static cvtm_status cut_arc(cutter *c, const cvtm_contour *traced, int64_t arc) {
  const int joined = !traced->corner[traced->start[arc]];
  CVTM_TRY(snap_arc(c, traced, arc, joined));
  CVTM_TRY(refine_arc(c, traced->left[arc] != 0 && traced->right[arc] != 0));
  if (joined) CVTM_TRY(rotate_to_cut(c));
  int64_t first = 0;
  for (int64_t k = 1; k < c->step_count; ++k) {
    if (k + 1 < c->step_count && !c->steps[k].cut) continue;
    CVTM_TRY(
        emit_piece(c, first, k, !joined || c->steps[0].cut, traced->left[arc], traced->right[arc]));
    first = k;
  }
  return CVTM_OK;
}

static void copy_arc(cutter *c, const cvtm_contour *traced, int64_t arc) {
  cvtm_contour_begin_arc(&c->builder, traced->left[arc], traced->right[arc]);
  for (int64_t k = traced->start[arc]; k < traced->start[arc + 1]; ++k)
    cvtm_contour_add_point(&c->builder, traced->points + 2 * k, traced->corner[k]);
}

/* ---- The sides ---- */

/* An arc may cross a side between the centres of the first pixel inside and of the pixel beyond it.
 * Nonzero if an arc crosses there inside the image, next to side s. */
static int crosses_inside(const cutter *c, int s) {
  const int across = axis_across(s);
  const double coordinate = side_coordinate(c, s);
  for (int64_t k = 0; k < c->builder.points; ++k) {
    const double *p = c->builder.made.points + 2 * k;
    if (p[!across] == 0.5 && p[across] != coordinate && fabs(p[across] - coordinate) < 0.5)
      return 1;
  }
  return 0;
}

/* The region along a side that no arc meets: the label of the first pixel of the side, or of the
 * opposite pixel beyond the side. */
static int32_t label_without_arcs(const cutter *c, int s) {
  const int w = c->picture->width, h = c->picture->height;
  static const int last[SIDES][2] = {{0, 0}, {1, 0}, {0, 0}, {0, 1}};
  static const int opposite[SIDES][2] = {{1, 0}, {0, 0}, {0, 1}, {0, 0}};
  const int *at =
      c->picture->border == CVTM_BORDER_PERIODIC && crosses_inside(c, s) ? opposite[s] : last[s];
  return cvtm_contour_label(c->picture, at[0] * (w - 1), at[1] * (h - 1));
}

/* The region beside each interval of a side: label[k] for the interval after cuts[k]. */
static void find_labels(const side *s, const double *cuts, int64_t count, int32_t *label) {
  int32_t now = s->label;
  int64_t next = 0;
  while (next < s->count && !s->points[next].has_arc) ++next;
  if (next < s->count) now = s->points[next].before;
  next = 0;
  for (int64_t k = 0; k < count; ++k) {
    for (; next < s->count && s->points[next].at <= cuts[k]; ++next) {
      if (s->points[next].has_arc) now = s->points[next].behind;
    }
    label[k] = now;
  }
}

/* Lists the points that divide a side, including those of the opposite side if `other` is not NULL.
 * *cuts is malloc'd. */
static cvtm_status list_cuts(const cutter *c, int s, const side *own, const side *other,
                             double **cuts, int64_t *count) {
  const int64_t most = own->count + (other != NULL ? other->count : 0) + 2;
  side_point *all = malloc((size_t)most * sizeof *all);
  *cuts = malloc((size_t)most * sizeof **cuts);
  if (all == NULL || *cuts == NULL) {
    free(all);
    return cvtm_no_memory(c->error, "the contour");
  }
  int64_t n = 0;
  all[n++] = (side_point){.at = 0};
  all[n++] = (side_point){.at = c->size[!axis_across(s)]};
  for (int64_t k = 0; k < own->count; ++k) all[n++] = own->points[k];
  for (int64_t k = 0; other != NULL && k < other->count; ++k) all[n++] = other->points[k];
  qsort(all, (size_t)n, sizeof *all, compare_side_points);
  *count = 0;
  for (int64_t k = 0; k < n; ++k) {
    if (k == 0 || all[k].at != all[k - 1].at) (*cuts)[(*count)++] = all[k].at;
  }
  free(all);
  return CVTM_OK;
}

/* Adds an interval of a side as an arc in the direction of increasing coordinates. */
static void add_interval(cutter *c, int s, double from, double to, int32_t label, int64_t twin) {
  const int across = axis_across(s), inside_left = s == LEFT_SIDE || s == LOWER_SIDE;
  cvtm_contour_builder *builder = &c->builder;
  double ends[2][2];
  ends[0][across] = ends[1][across] = side_coordinate(c, s);
  ends[0][!across] = from;
  ends[1][!across] = to;
  cvtm_contour_begin_arc(builder, inside_left ? label : 0, inside_left ? 0 : label);
  for (int k = 0; k < 2; ++k) cvtm_contour_add_point(builder, ends[k], 1);
  if (builder->has_twins && !builder->failed)
    builder->made.twin[builder->made.arc_count - 1] = twin;
}

/* Adds a side divided at `cuts`. arc[i]: on input the arc of interval i on the opposite side, or
 * -1; on output the arc on side s. */
static cvtm_status add_side(cutter *c, int s, const double *cuts, int64_t count, int64_t *arc) {
  int32_t *label = malloc((size_t)(count + 1) * sizeof *label);
  if (label == NULL) return cvtm_no_memory(c->error, "the contour");
  find_labels(&c->sides[s], cuts, count, label);
  for (int64_t i = 0; i + 1 < count; ++i) {
    const int64_t twin = arc[i];
    arc[i] = label[i] != 0 ? c->builder.made.arc_count : -1;
    if (label[i] != 0) add_interval(c, s, cuts[i], cuts[i + 1], label[i], twin);
  }
  free(label);
  return CVTM_OK;
}

/* Adds two opposite sides; on a torus both are divided at the same positions. */
static cvtm_status add_opposite_sides(cutter *c, int s) {
  const int torus = c->picture->border == CVTM_BORDER_PERIODIC;
  cvtm_status status = CVTM_OK;
  double *cuts = NULL;
  int64_t *arc = NULL, count = 0;
  for (int k = 0; k < 2 && status == CVTM_OK; ++k) {
    if (k == 0 || !torus) {
      free(cuts);
      free(arc);
      arc = NULL;
      status = list_cuts(c, s, &c->sides[s + k], torus ? &c->sides[s + 1] : NULL, &cuts, &count);
      if (status == CVTM_OK) arc = malloc((size_t)(count + 1) * sizeof *arc);
      if (status == CVTM_OK && arc == NULL) status = cvtm_no_memory(c->error, "the contour");
      for (int64_t i = 0; i < count && status == CVTM_OK; ++i) arc[i] = -1;
    }
    if (status == CVTM_OK) status = add_side(c, s + k, cuts, count, arc);
  }
  free(cuts);
  free(arc);
  return status;
}

static cvtm_status add_sides(cutter *c) {
  const cvtm_contour *m = &c->builder.made;
  for (int64_t arc = 0; arc < m->arc_count && !c->builder.failed; ++arc) {
    const double *p = m->points + 2 * m->start[arc], *q = m->points + 2 * (m->start[arc + 1] - 1);
    if (!m->corner[m->start[arc]]) continue;
    CVTM_TRY(add_end(c, p, p + 2, m->left[arc], m->right[arc]));
    CVTM_TRY(add_end(c, q, q - 2, m->right[arc], m->left[arc]));
  }
  for (int s = 0; s < SIDES; ++s) {
    side *own = &c->sides[s];
    if (own->count > 0)
      qsort(own->points, (size_t)own->count, sizeof *own->points, compare_side_points);
    own->label = label_without_arcs(c, s);
  }
  CVTM_TRY(add_opposite_sides(c, LEFT_SIDE));
  return add_opposite_sides(c, UPPER_SIDE);
}

cvtm_status cvtm_contour_add_sides(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                   cvtm_error *error) {
  const int torus = picture->border == CVTM_BORDER_PERIODIC;
  cutter c = {.picture = picture,
              .size = {picture->width, picture->height},
              .builder.has_twins = torus,
              .error = error};
  cvtm_contour *made = &c.builder.made;
  cvtm_status status = CVTM_OK;
  for (int64_t arc = 0; arc < contour->arc_count && status == CVTM_OK; ++arc) {
    if (torus)
      status = cut_arc(&c, contour, arc);
    else
      copy_arc(&c, contour, arc);
  }
  if (status == CVTM_OK) status = add_sides(&c);
  if (status == CVTM_OK && c.builder.failed) status = cvtm_no_memory(error, "the contour");
  for (int s = 0; s < SIDES; ++s) free(c.sides[s].points);
  free(c.steps);
  if (status != CVTM_OK || made->arc_count == 0) {
    cvtm_contour_free(made);
    return status;
  }
  made->dropped = contour->dropped;
  made->region_count = contour->region_count;
  made->region = contour->region;
  made->region_area = contour->region_area;
  memcpy(made->size, contour->size, sizeof made->size);
  contour->region = NULL;
  contour->region_area = NULL;
  cvtm_contour_free(contour);
  *contour = *made;
  return CVTM_OK;
}
