/* Marching squares over a mask or labels, and the arcs that their segments form. */
#include "base/grow.h"
#include "base/segment.h"
#include "meshes/domain/contour_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Segments ---- */

/* Between the places `a` and `b` (crossings, and junctions of squares) of the plane, with the
 * regions beside it on the way from a to b. */
typedef struct segment {
  int64_t a, b;
  int32_t left, right;
} segment;

typedef struct tracer {
  const float *coverage; /* or */
  const int32_t *labels;
  int width, height;
  cvtm_border border;
  double *points;
  int64_t point_count, point_capacity;
  segment *segments;
  int64_t segment_count, segment_capacity;
  int64_t *above, *below, *between; /* crossings of a row of squares: width + 2 each, -1: none */
  cvtm_error *error;
} tracer;

/* The pixel that stands for (i, j), which may lie beyond the image; -1: there is nothing. */
static int64_t pixel_at(const tracer *t, int i, int j) {
  const int w = t->width, h = t->height;
  const int outside = i < 0 || j < 0 || i >= w || j >= h;
  if (outside && t->border == CVTM_BORDER_EMPTY) return -1;
  if (outside && t->border == CVTM_BORDER_PERIODIC) {
    i = (i % w + w) % w;
    j = (j % h + h) % h;
  } else if (outside) {
    i = i < 0 ? 0 : i >= w ? w - 1 : i;
    j = j < 0 ? 0 : j >= h ? h - 1 : j;
  }
  return (int64_t)j * w + i;
}

static double coverage_at(const tracer *t, int i, int j) {
  const int64_t pixel = pixel_at(t, i, j);
  return pixel < 0 ? 0 : (double)t->coverage[pixel];
}

static int32_t label_at(const tracer *t, int i, int j) {
  if (t->coverage != NULL) return coverage_at(t, i, j) >= 0.5;
  const int64_t pixel = pixel_at(t, i, j);
  return pixel < 0 ? 0 : t->labels[pixel];
}

/* Where the squares have a corner: at the pixel's centre or, for pixels beyond a flat border, on
 * the border. */
static double node_at(const tracer *t, int i, int size) {
  if (t->border != CVTM_BORDER_FLAT) return i + 0.5;
  return fmin(fmax(i + 0.5, 0), size);
}

/* Places on a torus are multiples of this, so that a shift by the image's sides is exact. */
static const double torus_step = 0x1p-30;

static int64_t add_place(tracer *t, double x, double y) {
  if (t->border == CVTM_BORDER_PERIODIC) {
    x = rint(x / torus_step) * torus_step;
    y = rint(y / torus_step) * torus_step;
  }
  if (!cvtm_grow(&t->points, 2 * sizeof *t->points, &t->point_capacity, t->point_count + 1))
    return -1;
  t->points[2 * t->point_count] = x;
  t->points[2 * t->point_count + 1] = y;
  return t->point_count++;
}

static cvtm_status add_segment(tracer *t, int64_t a, int64_t b, int32_t left, int32_t right) {
  if (!cvtm_grow(&t->segments, sizeof *t->segments, &t->segment_capacity, t->segment_count + 1))
    return cvtm_contour_no_memory(t->error);
  t->segments[t->segment_count++] = (segment){a, b, left, right};
  return CVTM_OK;
}

/* The crossing between the centres of two neighbouring pixels into *place, -1 if there is none. */
static cvtm_status place_crossing(tracer *t, int i, int j, int di, int dj, int64_t *place) {
  *place = -1;
  if (label_at(t, i, j) == label_at(t, i + di, j + dj)) return CVTM_OK;
  double share = 0.5;
  if (t->coverage != NULL) {
    const double here = coverage_at(t, i, j), there = coverage_at(t, i + di, j + dj);
    share = (0.5 - here) / (there - here);
    /* Not on a centre, where up to four crossings would coincide; and a line of single pixels,
     * however faint, is half a pixel wide. */
    const double least = here >= 0.5 && !label_at(t, i - di, j - dj) ? 0.25 : 0.001;
    const double most = there >= 0.5 && !label_at(t, i + 2 * di, j + 2 * dj) ? 0.75 : 0.999;
    share = fmin(fmax(share, least), most);
  }
  const double x = node_at(t, i, t->width), y = node_at(t, j, t->height);
  *place = add_place(t, x + share * (node_at(t, i + di, t->width) - x),
                     y + share * (node_at(t, j + dj, t->height) - y));
  return *place < 0 ? cvtm_contour_no_memory(t->error) : CVTM_OK;
}

/* Joins the crossings on the sides p < q of a square whose corners have these labels. */
static cvtm_status join_crossings(tracer *t, const int64_t *crossing, const int32_t *label, int p,
                                  int q) {
  return add_segment(t, crossing[p], crossing[q], label[p + 1], label[p]);
}

/* A crossing on a side of the square (i, j); on a torus the one of its images that lies there. */
static void take_crossing(const tracer *t, int i, int j, int64_t crossing, double place[2]) {
  memcpy(place, t->points + 2 * crossing, 2 * sizeof *place);
  if (t->border != CVTM_BORDER_PERIODIC) return;
  place[0] += rint((i + 1 - place[0]) / t->width) * t->width;
  place[1] += rint((j + 1 - place[1]) / t->height) * t->height;
}

/* Is the bridge narrower than half a pixel that is left of the square (i, j) when its second and
 * fourth corners are cut off (`falling`), or its first and third? */
static int is_narrow(const tracer *t, int i, int j, const int64_t *crossing, int falling) {
  double end[4][2];
  for (int k = 0; k < 4; ++k) take_crossing(t, i, j, crossing[(k + !falling) % 4], end[k]);
  double width = INFINITY;
  for (int k = 0; k < 2; ++k) {
    width = fmin(width, cvtm_segment_distance(end[0], end[1], end[2 + k][0], end[2 + k][1]));
    width = fmin(width, cvtm_segment_distance(end[2], end[3], end[k][0], end[k][1]));
  }
  return width < 0.5;
}

/* Side k of a square lies between its corners k and k + 1: upper left, upper right, lower right,
 * lower left. */
static cvtm_status trace_square(tracer *t, int i, int j, const int64_t *crossing,
                                const int32_t *label) {
  int sides[4], count = 0;
  for (int k = 0; k < 4; ++k) {
    if (crossing[k] >= 0) sides[count++] = k;
  }
  if (count == 0) return CVTM_OK;
  if (count == 2) return join_crossings(t, crossing, label, sides[0], sides[1]);
  int falling = label[0] == label[2], rising = label[1] == label[3];
  if (falling && rising) {
    const double mean = t->coverage == NULL
                            ? 0
                            : coverage_at(t, i, j) + coverage_at(t, i + 1, j) +
                                  coverage_at(t, i, j + 1) + coverage_at(t, i + 1, j + 1);
    const int32_t wins =
        t->coverage == NULL ? (label[0] > label[1] ? label[0] : label[1]) : (mean >= 2);
    falling = wins == label[0];
    rising = !falling;
  }
  if (t->coverage != NULL && falling == (label[0] != 0) && is_narrow(t, i, j, crossing, falling)) {
    falling = !falling;
    rising = !rising;
  }
  if (count == 4 && (falling || rising)) {
    /* Two corners are cut off: the second and fourth, or the first and third. */
    const int p = falling ? 0 : 1, q = falling ? 1 : 2;
    const cvtm_status status = join_crossings(t, crossing, label, p, q);
    if (status != CVTM_OK) return status;
    if (falling) return join_crossings(t, crossing, label, 2, 3);
    return add_segment(t, crossing[3], crossing[0], label[0], label[3]);
  }
  double x = 0, y = 0;
  for (int k = 0; k < count; ++k) {
    double place[2];
    take_crossing(t, i, j, crossing[sides[k]], place);
    x += place[0] / count;
    y += place[1] / count;
  }
  const int64_t junction = add_place(t, x, y);
  if (junction < 0) return cvtm_contour_no_memory(t->error);
  for (int k = 0; k < count; ++k) {
    const int side = sides[k];
    const cvtm_status status =
        add_segment(t, crossing[side], junction, label[(side + 1) % 4], label[side]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* The crossings between the centres of row j, into a row of the tracer. */
static cvtm_status cross_row(tracer *t, int j, int64_t *row) {
  cvtm_status status = CVTM_OK;
  for (int i = -1; i <= t->width && status == CVTM_OK; ++i)
    status = place_crossing(t, i, j, 1, 0, &row[i + 1]);
  return status;
}

/* The crossings between the rows j and j + 1 of centres, and those of row j + 1 unless `below` has
 * them. A torus has the columns 0 .. width - 1 alone. */
static cvtm_status cross_rows(tracer *t, int j, int has_below) {
  const int torus = t->border == CVTM_BORDER_PERIODIC;
  cvtm_status status = CVTM_OK;
  for (int i = torus ? 0 : -1; i <= t->width - torus && status == CVTM_OK; ++i) {
    status = place_crossing(t, i, j, 0, 1, &t->between[i + 1]);
    if (status == CVTM_OK && !has_below)
      status = place_crossing(t, i, j + 1, 1, 0, &t->below[i + 1]);
  }
  if (torus) t->between[t->width + 1] = t->between[1];
  return status;
}

/* The squares between the rows j and j + 1 of centres. `above` is known. */
static cvtm_status trace_row(tracer *t, int j, int has_below) {
  cvtm_status status = cross_rows(t, j, has_below);
  for (int i = t->border == CVTM_BORDER_PERIODIC ? 0 : -1; i < t->width && status == CVTM_OK; ++i) {
    const int64_t crossing[4] = {t->above[i + 1], t->between[i + 2], t->below[i + 1],
                                 t->between[i + 1]};
    if (crossing[0] < 0 && crossing[1] < 0 && crossing[2] < 0 && crossing[3] < 0) continue;
    const int32_t label[5] = {label_at(t, i, j), label_at(t, i + 1, j), label_at(t, i + 1, j + 1),
                              label_at(t, i, j + 1), label_at(t, i, j)};
    status = trace_square(t, i, j, crossing, label);
  }
  int64_t *swap = t->above;
  t->above = t->below;
  t->below = swap;
  return status;
}

static cvtm_status trace_squares(tracer *t) {
  const size_t row = (size_t)t->width + 2;
  const int torus = t->border == CVTM_BORDER_PERIODIC;
  int64_t *rows = malloc(4 * row * sizeof *rows);
  if (rows == NULL) return cvtm_contour_no_memory(t->error);
  t->above = rows;
  t->below = rows + row;
  t->between = rows + 2 * row;
  int64_t *first = rows + 3 * row;
  for (size_t k = 0; k < 4 * row; ++k) rows[k] = -1;
  cvtm_status status = CVTM_OK;
  if (t->border == CVTM_BORDER_FLAT) status = cross_row(t, -1, t->above);
  if (torus) {
    for (int i = 0; i < t->width && status == CVTM_OK; ++i)
      status = place_crossing(t, i, 0, 1, 0, &t->above[i + 1]);
    memcpy(first, t->above, row * sizeof *first);
  }
  for (int j = torus ? 0 : -1; j < t->height && status == CVTM_OK; ++j) {
    const int last = torus && j == t->height - 1;
    if (last) memcpy(t->below, first, row * sizeof *first);
    status = trace_row(t, j, last);
  }
  free(rows);
  return status;
}

/* ---- Arcs ---- */

/* The segments at each place: `at` lists them place by place. */
typedef struct incidence {
  int64_t *start, *at;
  uint8_t *used; /* per segment */
} incidence;

static void free_incidence(incidence *n) {
  free(n->start);
  free(n->at);
  free(n->used);
}

static cvtm_status find_incidence(const tracer *t, incidence *n) {
  n->start = calloc((size_t)t->point_count + 2, sizeof *n->start);
  n->at = malloc((2 * (size_t)t->segment_count + 1) * sizeof *n->at);
  n->used = calloc((size_t)t->segment_count + 1, 1);
  if (n->start == NULL || n->at == NULL || n->used == NULL) return cvtm_contour_no_memory(t->error);
  for (int64_t s = 0; s < t->segment_count; ++s) {
    ++n->start[t->segments[s].a + 2];
    ++n->start[t->segments[s].b + 2];
  }
  for (int64_t p = 0; p < t->point_count; ++p) n->start[p + 2] += n->start[p + 1];
  for (int64_t s = 0; s < t->segment_count; ++s) {
    n->at[n->start[t->segments[s].a + 1]++] = s;
    n->at[n->start[t->segments[s].b + 1]++] = s;
  }
  return CVTM_OK;
}

static int is_junction(const incidence *n, int64_t place) {
  return n->start[place + 1] - n->start[place] != 2;
}

/* Appends a place to the last arc; on a torus the image that is nearest to the arc's last point. */
static void append_place(const tracer *t, cvtm_contour *made, int64_t place, int64_t *points) {
  double *p = made->points + 2 * *points;
  memcpy(p, t->points + 2 * place, 2 * sizeof *p);
  if (t->border == CVTM_BORDER_PERIODIC && *points > made->start[made->arc_count - 1]) {
    p[0] += rint((p[-2] - p[0]) / t->width) * t->width;
    p[1] += rint((p[-1] - p[1]) / t->height) * t->height;
  }
  ++*points;
}

/* Follows unused segments from `place` along `first` to the next junction or back. */
static void follow_arc(const tracer *t, incidence *n, int64_t place, int64_t first,
                       cvtm_contour *made, int64_t *points) {
  const int64_t arc = made->arc_count++, begin = place;
  made->start[arc] = *points;
  made->left[arc] =
      t->segments[first].a == place ? t->segments[first].left : t->segments[first].right;
  made->right[arc] =
      t->segments[first].a == place ? t->segments[first].right : t->segments[first].left;
  append_place(t, made, place, points);
  for (int64_t s = first; s >= 0;) {
    n->used[s] = 1;
    place = t->segments[s].a == place ? t->segments[s].b : t->segments[s].a;
    append_place(t, made, place, points);
    s = -1;
    if (is_junction(n, place) || place == begin) break;
    for (int64_t k = n->start[place]; k < n->start[place + 1]; ++k) {
      if (!n->used[n->at[k]]) s = n->at[k];
    }
  }
  made->start[made->arc_count] = *points;
  if (t->border != CVTM_BORDER_EMPTY && is_junction(n, begin))
    made->corner[made->start[arc]] = made->corner[*points - 1] = 1;
}

/* From junction to junction first, then the closed curves. */
static cvtm_status collect_arcs(const tracer *t, double smallest, cvtm_contour *made) {
  incidence n = {0};
  cvtm_status status = find_incidence(t, &n);
  if (status == CVTM_OK) {
    status = cvtm_contour_allocate(t->segment_count, 2 * t->segment_count, made, t->error);
  }
  int64_t points = 0;
  for (int closed = 0; closed < 2 && status == CVTM_OK; ++closed) {
    for (int64_t s = 0; s < t->segment_count; ++s) {
      const int64_t a = t->segments[s].a, b = t->segments[s].b;
      if (n.used[s] || !(closed || is_junction(&n, a) || is_junction(&n, b))) continue;
      follow_arc(t, &n, closed || is_junction(&n, a) ? a : b, s, made, &points);
      cvtm_contour_drop_small(made, smallest, &points);
    }
  }
  free_incidence(&n);
  return status;
}

/* ---- Specks of labels ---- */

/* A closed curve around less than the smallest area. */
static int is_speck(const cvtm_contour *c, int64_t arc, double smallest, int32_t *inside,
                    int32_t *outside) {
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  if (!cvtm_contour_is_closed(c, arc)) return 0;
  const double area = cvtm_ring_area(c->points + 2 * first, count);
  *inside = area > 0 ? c->left[arc] : c->right[arc];
  *outside = area > 0 ? c->right[arc] : c->left[arc];
  return fabs(area) < smallest;
}

static int compare_labels(const void *first, const void *second) {
  const int32_t a = *(const int32_t *)first, b = *(const int32_t *)second;
  return (a > b) - (a < b);
}

/* The labels that are not in specks alone, sorted; 0 is one of them. */
static int64_t list_kept(const cvtm_contour *c, double smallest, int32_t *kept) {
  int64_t count = 0;
  kept[count++] = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    int32_t inside = 0, outside = 0;
    const int speck = is_speck(c, arc, smallest, &inside, &outside);
    kept[count++] = speck ? outside : c->left[arc];
    kept[count++] = speck ? outside : c->right[arc];
  }
  qsort(kept, (size_t)count, sizeof *kept, compare_labels);
  return count;
}

static void move_arc(cvtm_contour *c, int64_t arc, int64_t to, int64_t points) {
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  memmove(c->points + 2 * points, c->points + 2 * first, 2 * (size_t)count * sizeof *c->points);
  memmove(c->corner + points, c->corner + first, (size_t)count);
  c->left[to] = c->left[arc];
  c->right[to] = c->right[arc];
  c->start[to] = points;
}

/* Drops specks, but those of labels that would vanish with them. */
static cvtm_status drop_label_specks(cvtm_contour *c, double smallest, cvtm_error *error) {
  int32_t *kept = malloc((2 * (size_t)c->arc_count + 1) * sizeof *kept);
  if (kept == NULL) return cvtm_contour_no_memory(error);
  const int64_t count = list_kept(c, smallest, kept);
  int64_t arcs = 0, points = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t length = c->start[arc + 1] - c->start[arc];
    int32_t inside = 0, outside = 0;
    if (is_speck(c, arc, smallest, &inside, &outside) &&
        bsearch(&inside, kept, (size_t)count, sizeof *kept, compare_labels) != NULL) {
      ++c->dropped;
      continue;
    }
    move_arc(c, arc, arcs++, points);
    points += length;
  }
  c->start[arcs] = points;
  c->arc_count = arcs;
  free(kept);
  return CVTM_OK;
}

cvtm_status cvtm_contour_trace(const cvtm_contour_picture *picture, double smallest,
                               cvtm_contour *contour, cvtm_error *error) {
  tracer t = {.coverage = picture->coverage,
              .labels = picture->labels,
              .width = picture->width,
              .height = picture->height,
              .border = picture->border,
              .error = error};
  cvtm_status status = trace_squares(&t);
  if (status == CVTM_OK) status = collect_arcs(&t, t.labels != NULL ? 0 : smallest, contour);
  if (status == CVTM_OK && t.labels != NULL) status = drop_label_specks(contour, smallest, error);
  free(t.points);
  free(t.segments);
  return status;
}
