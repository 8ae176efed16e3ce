/* Marching squares over a mask or labels, the arcs of their segments, and the arcs' corners. */
#include "base/host.h"
#include "base/portable.h"
#include "base/geometry.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/domain/contour_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Segments ---- */

typedef struct tracer {
  const cvtm_contour_picture *picture;
  double *points;
  int64_t point_count, point_capacity;
  /* Segments between points, which are crossings or junctions; the regions on both sides, looking
   * from the first end to the second. */
  int32_t *ends, *left, *right; /* ends: 2 per segment */
  int64_t segment_count, segment_capacity;
  int64_t *above, *below, *between; /* crossings of a row of squares: width + 2 each, -1: none */
  cvtm_error *error;
} tracer;

/* The pixel for (i, j), which may lie beyond the image; -1 if there is no such pixel. */
static int64_t pixel_at(const tracer *t, int i, int j) {
  const int w = t->picture->width, h = t->picture->height;
  const int outside = i < 0 || j < 0 || i >= w || j >= h;
  if (outside && t->picture->border == CVTM_BORDER_EMPTY) return -1;
  if (outside && t->picture->border == CVTM_BORDER_PERIODIC) {
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
  return pixel < 0 ? 0 : (double)t->picture->coverage[pixel];
}

static int32_t label_at(const tracer *t, int i, int j) {
  if (t->picture->coverage != NULL) return coverage_at(t, i, j) >= 0.5;
  const int64_t pixel = pixel_at(t, i, j);
  return pixel < 0 ? 0 : t->picture->labels[pixel];
}

/* A coordinate of a corner of squares: a pixel's centre or, beyond a flat border, the border. */
static double node_at(const tracer *t, int i, int size) {
  if (t->picture->border != CVTM_BORDER_FLAT) return i + 0.5;
  return fmin(fmax(i + 0.5, 0), size);
}

static int64_t add_point(tracer *t, double x, double y) {
  if (t->picture->border == CVTM_BORDER_PERIODIC) {
    x = cvtm_round_on_torus(x);
    y = cvtm_round_on_torus(y);
  }
  if (t->point_count == INT32_MAX ||
      !cvtm_grow(&t->points, 2 * sizeof *t->points, &t->point_capacity, t->point_count + 1))
    return -1;
  t->points[2 * t->point_count] = x;
  t->points[2 * t->point_count + 1] = y;
  return t->point_count++;
}

static cvtm_status add_segment(tracer *t, int64_t a, int64_t b, int32_t left, int32_t right) {
  const cvtm_growing arrays[] = {
      {&t->ends, 2 * sizeof *t->ends}, {&t->left, sizeof *t->left}, {&t->right, sizeof *t->right}};
  if (!cvtm_grow_all(arrays, 3, &t->segment_capacity, t->segment_count + 1))
    return cvtm_no_memory(t->error, "the contour");
  t->ends[2 * t->segment_count] = (int32_t)a;
  t->ends[2 * t->segment_count + 1] = (int32_t)b;
  t->left[t->segment_count] = left;
  t->right[t->segment_count++] = right;
  return CVTM_OK;
}

/* Sets *point to the crossing between the centres of two neighbouring pixels; -1: no crossing. */
static cvtm_status find_crossing(tracer *t, int i, int j, int di, int dj, int64_t *point) {
  *point = -1;
  if (label_at(t, i, j) == label_at(t, i + di, j + dj)) return CVTM_OK;
  double share = 0.5;
  if (t->picture->coverage != NULL) {
    const double here = coverage_at(t, i, j), there = coverage_at(t, i + di, j + dj);
    share = (0.5 - here) / (there - here);
    /* Keeps away from centres, where up to four crossings would coincide. A line of single pixels,
     * however faint, becomes half a pixel wide. */
    const double least = here >= 0.5 && !label_at(t, i - di, j - dj) ? 0.25 : 0.001;
    const double most = there >= 0.5 && !label_at(t, i + 2 * di, j + 2 * dj) ? 0.75 : 0.999;
    share = fmin(fmax(share, least), most);
  }
  const double x = node_at(t, i, t->picture->width), y = node_at(t, j, t->picture->height);
  *point = add_point(t, x + share * (node_at(t, i + di, t->picture->width) - x),
                     y + share * (node_at(t, j + dj, t->picture->height) - y));
  return *point < 0 ? cvtm_no_memory(t->error, "the contour") : CVTM_OK;
}

/* Joins the crossings on the sides p < q of a square. label: the labels of its corners. */
static cvtm_status join_crossings(tracer *t, const int64_t *crossing, const int32_t *label, int p,
                                  int q) {
  return add_segment(t, crossing[p], crossing[q], label[p + 1], label[p]);
}

/* The position of a crossing on a side of the square (i, j); on a torus, of its copy there. */
static void take_crossing(const tracer *t, int i, int j, int64_t crossing, double place[2]) {
  memcpy(place, t->points + 2 * crossing, 2 * sizeof *place);
  if (t->picture->border != CVTM_BORDER_PERIODIC) return;
  place[0] += rint((i + 1 - place[0]) / t->picture->width) * t->picture->width;
  place[1] += rint((j + 1 - place[1]) / t->picture->height) * t->picture->height;
}

/* If opposite corners of the square (i, j) are cut off (the second and fourth if `falling`, else
 * the first and third), a bridge remains. Nonzero if the bridge is narrower than half a pixel. */
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

/* Side k lies between corners k and k + 1: upper left, upper right, lower right, lower left. */
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
    const double mean = t->picture->coverage == NULL
                            ? 0
                            : coverage_at(t, i, j) + coverage_at(t, i + 1, j) +
                                  coverage_at(t, i, j + 1) + coverage_at(t, i + 1, j + 1);
    const int32_t wins =
        t->picture->coverage == NULL ? (label[0] > label[1] ? label[0] : label[1]) : (mean >= 2);
    falling = wins == label[0];
    rising = !falling;
  }
  if (t->picture->coverage != NULL && falling == (label[0] != 0) &&
      is_narrow(t, i, j, crossing, falling)) {
    falling = !falling;
    rising = !rising;
  }
  if (count == 4 && (falling || rising)) {
    /* Two corners are cut off: the second and fourth, or the first and third. */
    const int p = falling ? 0 : 1, q = falling ? 1 : 2;
    CVTM_TRY(join_crossings(t, crossing, label, p, q));
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
  const int64_t junction = add_point(t, x, y);
  if (junction < 0) return cvtm_no_memory(t->error, "the contour");
  for (int k = 0; k < count; ++k) {
    const int side = sides[k];
    CVTM_TRY(add_segment(t, crossing[side], junction, label[(side + 1) % 4], label[side]));
  }
  return CVTM_OK;
}

/* Finds the crossings between the rows j and j + 1 of centres, and those within row j + 1 unless
 * `below` already has them. A torus has only the columns 0 .. width - 1. */
static cvtm_status cross_rows(tracer *t, int j, int has_below) {
  const int torus = t->picture->border == CVTM_BORDER_PERIODIC;
  for (int i = torus ? 0 : -1; i <= t->picture->width - torus; ++i) {
    CVTM_TRY(find_crossing(t, i, j, 0, 1, &t->between[i + 1]));
    if (!has_below) CVTM_TRY(find_crossing(t, i, j + 1, 1, 0, &t->below[i + 1]));
  }
  if (torus) t->between[t->picture->width + 1] = t->between[1];
  return CVTM_OK;
}

/* Traces the squares between the rows j and j + 1 of centres; `above` is set already. */
static cvtm_status trace_row(tracer *t, int j, int has_below) {
  CVTM_TRY(cross_rows(t, j, has_below));
  for (int i = t->picture->border == CVTM_BORDER_PERIODIC ? 0 : -1; i < t->picture->width; ++i) {
    const int64_t crossing[4] = {t->above[i + 1], t->between[i + 2], t->below[i + 1],
                                 t->between[i + 1]};
    if (crossing[0] < 0 && crossing[1] < 0 && crossing[2] < 0 && crossing[3] < 0) continue;
    const int32_t label[5] = {label_at(t, i, j), label_at(t, i + 1, j), label_at(t, i + 1, j + 1),
                              label_at(t, i, j + 1), label_at(t, i, j)};
    CVTM_TRY(trace_square(t, i, j, crossing, label));
  }
  int64_t *swap = t->above;
  t->above = t->below;
  t->below = swap;
  return CVTM_OK;
}

static cvtm_status trace_squares(tracer *t) {
  const size_t row = (size_t)t->picture->width + 2;
  const int torus = t->picture->border == CVTM_BORDER_PERIODIC;
  int64_t *rows = malloc(4 * row * sizeof *rows);
  if (rows == NULL) return cvtm_no_memory(t->error, "the contour");
  t->above = rows;
  t->below = rows + row;
  t->between = rows + 2 * row;
  int64_t *first = rows + 3 * row;
  for (size_t k = 0; k < 4 * row; ++k) rows[k] = -1;
  cvtm_status status = CVTM_OK;
  if (t->picture->border != CVTM_BORDER_EMPTY) {
    for (int i = torus ? 0 : -1; i <= t->picture->width - torus && status == CVTM_OK; ++i)
      status = find_crossing(t, i, torus ? 0 : -1, 1, 0, &t->above[i + 1]);
  }
  if (torus) memcpy(first, t->above, row * sizeof *first);
  for (int j = torus ? 0 : -1; j < t->picture->height && status == CVTM_OK; ++j) {
    const int last = torus && j == t->picture->height - 1;
    if (last) memcpy(t->below, first, row * sizeof *first);
    status = trace_row(t, j, last);
  }
  free(rows);
  return status;
}

/* ---- Arcs ---- */

typedef struct incidence {
  int64_t *start; /* point_count + 1: where the ends of segments at each point begin in `at` */
  int64_t *at;    /* twice the segment, plus 1 for its second end */
  uint8_t *used;  /* per segment */
} incidence;

static cvtm_status find_incidence(const tracer *t, cvtm_scratch *memory, incidence *n) {
  n->start = cvtm_scratch_zeros(memory, (size_t)t->point_count + 2, sizeof *n->start);
  n->at = cvtm_scratch_take(memory, (size_t)t->segment_count, 2 * sizeof *n->at);
  n->used = cvtm_scratch_zeros(memory, (size_t)t->segment_count, 1);
  if (memory->failed) return cvtm_no_memory(t->error, "the contour");
  cvtm_list_by_key(t->ends, 2 * t->segment_count, t->point_count, n->start, n->at);
  return CVTM_OK;
}

static int is_junction(const incidence *n, int64_t point) {
  return n->start[point + 1] - n->start[point] != 2;
}

/* Appends a point to the last arc; on a torus, the copy that is closest to the end of the arc. */
static void append_point(const tracer *t, int64_t point, cvtm_contour_builder *builder) {
  const cvtm_contour *made = &builder->made;
  double p[2] = {t->points[2 * point], t->points[2 * point + 1]};
  if (t->picture->border == CVTM_BORDER_PERIODIC && !builder->failed &&
      builder->points > made->start[made->arc_count - 1]) {
    const double *last = made->points + 2 * (builder->points - 1);
    p[0] += rint((last[0] - p[0]) / t->picture->width) * t->picture->width;
    p[1] += rint((last[1] - p[1]) / t->picture->height) * t->picture->height;
  }
  cvtm_contour_add_point(builder, p, 0);
}

/* Follows unused segments from `point` along `first` to the next junction or back to `point`. */
static void follow_arc(const tracer *t, incidence *n, int64_t point, int64_t first,
                       cvtm_contour_builder *builder) {
  const int64_t begin = point, first_point = builder->points;
  const int32_t left = t->left[first], right = t->right[first];
  const int is_turned = t->ends[2 * first] != point;
  cvtm_contour_begin_arc(builder, is_turned ? right : left, is_turned ? left : right);
  append_point(t, point, builder);
  for (int64_t s = first; s >= 0;) {
    n->used[s] = 1;
    point = t->ends[2 * s + (t->ends[2 * s] == point)];
    append_point(t, point, builder);
    s = -1;
    if (is_junction(n, point) || point == begin) break;
    for (int64_t k = n->start[point]; k < n->start[point + 1]; ++k) {
      if (!n->used[n->at[k] / 2]) s = n->at[k] / 2;
    }
  }
  if (t->picture->border != CVTM_BORDER_EMPTY && is_junction(n, begin) && !builder->failed)
    builder->made.corner[first_point] = builder->made.corner[builder->points - 1] = 1;
}

/* First follows the arcs between junctions, then closed curves. */
static cvtm_status collect_arcs(const tracer *t, double smallest, cvtm_contour *made) {
  cvtm_scratch memory = {0};
  incidence n = {0};
  cvtm_contour_builder builder = {0};
  cvtm_status status = find_incidence(t, &memory, &n);
  for (int closed = 0; closed < 2 && status == CVTM_OK; ++closed) {
    for (int64_t s = 0; s < t->segment_count; ++s) {
      const int64_t a = t->ends[2 * s], b = t->ends[2 * s + 1];
      if (n.used[s] || !(closed || is_junction(&n, a) || is_junction(&n, b))) continue;
      follow_arc(t, &n, closed || is_junction(&n, a) ? a : b, s, &builder);
      cvtm_contour_drop_small(&builder, smallest);
    }
  }
  cvtm_scratch_free(&memory);
  *made = builder.made;
  return builder.failed ? cvtm_no_memory(t->error, "the contour") : status;
}

/* ---- Specks of labels ---- */

/* Nonzero for a closed curve around an area below `smallest`. */
static int is_speck(const cvtm_contour *c, int64_t arc, double smallest, int32_t *inside,
                    int32_t *outside) {
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  if (!cvtm_contour_is_closed(c, arc)) return 0;
  const double area = cvtm_ring_area(c->points + 2 * first, count);
  *inside = area > 0 ? c->left[arc] : c->right[arc];
  *outside = area > 0 ? c->right[arc] : c->left[arc];
  return fabs(area) < smallest;
}

/* Lists, in ascending order, 0 and the labels that do not occur only in specks. */
static int64_t list_kept(const cvtm_contour *c, double smallest, int32_t *kept) {
  int64_t count = 0;
  kept[count++] = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    int32_t inside = 0, outside = 0;
    const int speck = is_speck(c, arc, smallest, &inside, &outside);
    kept[count++] = speck ? outside : c->left[arc];
    kept[count++] = speck ? outside : c->right[arc];
  }
  qsort(kept, (size_t)count, sizeof *kept, cvtm_compare_int32);
  return count;
}

/* Moves an arc to the end of the *arcs arcs that are kept, and counts it. */
static void keep_arc(cvtm_contour *c, int64_t arc, int64_t *arcs) {
  const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
  const int64_t to = (*arcs)++, points = c->start[to];
  memmove(c->points + 2 * points, c->points + 2 * first, 2 * (size_t)count * sizeof *c->points);
  memmove(c->corner + points, c->corner + first, (size_t)count);
  c->left[to] = c->left[arc];
  c->right[to] = c->right[arc];
  c->start[to + 1] = points + count;
}

/* Drops specks, unless their label would vanish. */
static cvtm_status drop_label_specks(cvtm_contour *c, double smallest, cvtm_error *error) {
  int32_t *kept = malloc((2 * (size_t)c->arc_count + 1) * sizeof *kept);
  if (kept == NULL) return cvtm_no_memory(error, "the contour");
  const int64_t count = list_kept(c, smallest, kept);
  int64_t arcs = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    int32_t inside = 0, outside = 0;
    if (is_speck(c, arc, smallest, &inside, &outside) &&
        bsearch(&inside, kept, (size_t)count, sizeof *kept, cvtm_compare_int32) != NULL)
      ++c->dropped;
    else
      keep_arc(c, arc, &arcs);
  }
  c->arc_count = arcs;
  free(kept);
  return CVTM_OK;
}

cvtm_status cvtm_contour_trace(const cvtm_contour_picture *picture, double smallest,
                               cvtm_contour *contour, cvtm_error *error) {
  tracer t = {.picture = picture, .error = error};
  cvtm_status status = trace_squares(&t);
  if (status == CVTM_OK) status = collect_arcs(&t, picture->labels != NULL ? 0 : smallest, contour);
  if (status == CVTM_OK && picture->labels != NULL)
    status = drop_label_specks(contour, smallest, error);
  free(t.points);
  free(t.ends);
  free(t.left);
  free(t.right);
  return status;
}

/* ---- Areas of labels ---- */

/* Pixels in a row with the same label. */
typedef struct run_of_pixels {
  int32_t label, count;
} run_of_pixels;

/* Lists the runs of all labels but 0; runs: NULL: only counts them. */
static int64_t list_runs(const cvtm_contour_picture *picture, run_of_pixels *runs) {
  int64_t count = 0;
  for (int64_t j = 0; j < picture->height; ++j) {
    if (picture->labels == NULL) { /* a frame */
      if (runs != NULL) runs[count] = (run_of_pixels){1, picture->width};
      ++count;
      continue;
    }
    const int32_t *row = picture->labels + j * picture->width;
    for (int32_t i = 0, first = 0; i < picture->width; ++i) {
      if (i + 1 < picture->width && row[i + 1] == row[i]) continue;
      if (runs != NULL && row[i] != 0) runs[count] = (run_of_pixels){row[i], i + 1 - first};
      count += row[i] != 0;
      first = i + 1;
    }
  }
  return count;
}

cvtm_status cvtm_contour_count_areas(const cvtm_contour_picture *picture, cvtm_contour *contour,
                                     cvtm_error *error) {
  const int64_t count = list_runs(picture, NULL);
  run_of_pixels *runs = malloc(((size_t)count + 1) * sizeof *runs);
  if (runs == NULL) return cvtm_no_memory(error, "the contour");
  list_runs(picture, runs);
  qsort(runs, (size_t)count, sizeof *runs, cvtm_compare_int32); /* by the first member */
  int64_t regions = 0;
  for (int64_t k = 0; k < count; ++k) regions += k == 0 || runs[k].label != runs[k - 1].label;
  contour->size[0] = picture->width;
  contour->size[1] = picture->height;
  contour->region = malloc(((size_t)regions + 1) * sizeof *contour->region);
  contour->region_area = malloc(((size_t)regions + 1) * sizeof *contour->region_area);
  if (contour->region != NULL && contour->region_area != NULL) {
    for (int64_t k = 0; k < count; ++k) {
      if (k == 0 || runs[k].label != runs[k - 1].label) {
        contour->region[contour->region_count] = runs[k].label;
        contour->region_area[contour->region_count++] = 0;
      }
      contour->region_area[contour->region_count - 1] += runs[k].count;
    }
  }
  free(runs);
  return contour->region_area != NULL && contour->region != NULL
             ? CVTM_OK
             : cvtm_no_memory(error, "the contour");
}

/* Adds `change` to the area of a region; removes a region whose area becomes 0. */
static void change_area(cvtm_contour *c, int32_t region, double change) {
  for (int64_t r = 0; r < c->region_count; ++r) {
    if (c->region[r] != region) continue;
    c->region_area[r] += change;
    if (c->region_area[r] > 0.5) return;
    --c->region_count;
    const size_t rest = (size_t)(c->region_count - r);
    memmove(c->region + r, c->region + r + 1, rest * sizeof *c->region);
    memmove(c->region_area + r, c->region_area + r + 1, rest * sizeof *c->region_area);
    return;
  }
}

/* A curve that cuts off the corners of pixels encloses half a pixel less than the outline of the
 * pixels, which has four more convex than concave corners. */
void cvtm_contour_drop_specks(cvtm_contour *c, double smallest) {
  int64_t arcs = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], count = c->start[arc + 1] - first;
    const double *p = c->points + 2 * first;
    const double area = cvtm_ring_area(p, count), pixels = rint(fabs(area) + 0.5);
    if (!c->corner[first] && cvtm_contour_is_closed(c, arc) && pixels < smallest) {
      change_area(c, area > 0 ? c->left[arc] : c->right[arc], -pixels);
      change_area(c, area > 0 ? c->right[arc] : c->left[arc], pixels);
      ++c->dropped;
    } else {
      keep_arc(c, arc, &arcs);
    }
  }
  c->arc_count = arcs;
}

/* ---- Corners ---- */

/* Corners of traced arcs. Pixels blunt a corner, so it is moved to the point where the lines fitted
 * on its two sides meet. */

/* Lengths in pixels. */
static const double line_tolerance =
    0.6; /* largest distance of a line from the curve; a blunt corner is off by 0.5 */
static const double largest_shift = 0.5; /* largest distance of a corner from the traced curve */
static const double farthest_meeting =
    1; /* largest distance of a corner from the point that it replaces */
static const double least_distance =
    1.25; /* least distance between corners: the least length of an edge */
static const double wide_reach = 4; /* over this distance the steps of pixels cause no turn */
/* Between points wide_reach away, a corner must turn by at least this share of `angle`. */
static const double wide_share = 0.75;
/* How far the cosine of the turn of the curve may be below the cosine of the turn of its lines. */
static const double turn_slack = 0.3;
/* Lines with at least LONG_LINE points are fitted without END_POINTS points at each end, which may
 * lie on a blunt corner. */
enum { END_POINTS = 2, LONG_LINE = 8 };

typedef struct line {
  double x, y, dx, dy; /* through (x, y) along the unit vector (dx, dy) */
} line;

/* The least-squares line through count points, directed from the first point to the last. */
static line fit_line(const double *p, int64_t count) {
  line l = {0, 0, 1, 0};
  double xx = 0, xy = 0, yy = 0;
  for (int64_t k = 0; k < count; ++k) {
    l.x += p[2 * k] / (double)count;
    l.y += p[2 * k + 1] / (double)count;
  }
  for (int64_t k = 0; k < count; ++k) {
    const double x = p[2 * k] - l.x, y = p[2 * k + 1] - l.y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double angle = 0.5 * atan2(2 * xy, xx - yy);
  l.dx = cos(angle);
  l.dy = sin(angle);
  const double ex = p[2 * count - 2] - p[0], ey = p[2 * count - 1] - p[1];
  if (l.dx * ex + l.dy * ey < 0) {
    l.dx = -l.dx;
    l.dy = -l.dy;
  }
  return l;
}

/* Marks the points of first .. last with which the polyline keeps `tolerance` (Douglas & Peucker
 * 1973); the ends are marked already. stack: one entry per point. */
static void simplify(const double *p, int64_t first, int64_t last, double tolerance, uint8_t *mark,
                     int64_t *stack) {
  int64_t depth = 0;
  stack[depth++] = last;
  while (depth > 0) {
    const int64_t end = stack[depth - 1];
    int64_t farthest = -1;
    double largest = tolerance;
    for (int64_t k = first + 1; k < end; ++k) {
      const double d = cvtm_segment_distance(p + 2 * first, p + 2 * end, p[2 * k], p[2 * k + 1]);
      if (d <= largest) continue;
      largest = d;
      farthest = k;
    }
    if (farthest >= 0) {
      mark[farthest] = 1;
      stack[depth++] = farthest;
    } else {
      first = end;
      --depth;
    }
  }
}

static int64_t farthest_from(const double *p, int64_t count, double x, double y) {
  int64_t best = 0;
  double largest = -1;
  for (int64_t k = 0; k < count; ++k) {
    const double d = hypot(p[2 * k] - x, p[2 * k + 1] - y);
    if (d <= largest) continue;
    largest = d;
    best = k;
  }
  return best;
}

/* Rotates the points or flags of a closed arc, whose last point repeats the first, so that it
 * begins at `first`. copy: memory for all items. */
static void rotate_arc(void *items, size_t size, int64_t count, int64_t first, void *copy) {
  const size_t behind = (size_t)(count - 1 - first) * size, before = (size_t)first * size;
  char *to = items;
  memcpy(copy, items, before);
  memmove(to, to + before, behind);
  memcpy(to + behind, copy, before);
  memcpy(to + behind + before, to, size);
}

/* Finds the intersection of two lines. Returns 0 if it is more than half a pixel from the curve
 * around point k or too far from k, or if the curve would turn back there. */
static int meet(line l, line m, const double *p, int64_t before, int64_t k, int64_t after,
                double place[2], double *shift) {
  const double sine = l.dx * m.dy - l.dy * m.dx;
  const double t = ((m.x - l.x) * m.dy - (m.y - l.y) * m.dx) / sine;
  place[0] = l.x + t * l.dx;
  place[1] = l.y + t * l.dy;
  *shift = fmin(cvtm_segment_distance(p + 2 * before, p + 2 * k, place[0], place[1]),
                cvtm_segment_distance(p + 2 * k, p + 2 * after, place[0], place[1]));
  const int turns_back = cvtm_turn_cosine(p + 2 * before, place, p + 2 * after) <
                         l.dx * m.dx + l.dy * m.dy - turn_slack;
  return !turns_back && *shift <= largest_shift &&
         hypot(place[0] - p[2 * k], place[1] - p[2 * k + 1]) <= farthest_meeting;
}

/* Moves a point of the blunt corner between `corner` and `beyond` if the curve would turn back
 * there. */
static void straighten(const double *corner, double *point, const double *beyond) {
  if (!(cvtm_turn_cosine(corner, point, beyond) < 0)) return;
  point[0] = 0.5 * (corner[0] + beyond[0]);
  point[1] = 0.5 * (corner[1] + beyond[1]);
}

/* Cosine of the turn at point k between the points about four pixels before and after it (closer at
 * the ends of an open arc), so that the steps of pixels do not matter. */
static double wide_turn(const double *p, int64_t count, int closed, int64_t k) {
  double chord[2][2] = {{0, 0}, {0, 0}};
  for (int side = 0; side < 2; ++side) {
    int64_t at = k;
    for (int64_t step = 1; step < count / 3; ++step) {
      at += side == 0 ? -1 : 1;
      if (closed) at = (at + count - 1) % (count - 1);
      if (at < 0 || at >= count) break;
      chord[side][0] = p[2 * at] - p[2 * k];
      chord[side][1] = p[2 * at + 1] - p[2 * k + 1];
      if (hypot(chord[side][0], chord[side][1]) >= wide_reach) break;
    }
  }
  const double lengths = hypot(chord[0][0], chord[0][1]) * hypot(chord[1][0], chord[1][1]);
  return lengths > 0 ? -(chord[0][0] * chord[1][0] + chord[0][1] * chord[1][1]) / lengths : -1;
}

typedef struct corner_workspace {
  uint8_t *mark;
  int64_t *stack, *kept;
  double *copy;   /* 2 per point */
  double *cosine; /* per point: of the turn, at a corner */
  line *lines;
} corner_workspace;

/* Of two corners that are too close for an edge, drops the less sharp one (if equal, the second).
 * The ends of an open arc, which have a cosine of -2, are never dropped. On a closed arc the last
 * corner is next to the first. */
static void thin_corners(const double *p, const double *cosine, int64_t count, int closed,
                         uint8_t *corner) {
  int64_t last = -1;
  for (int64_t step = 0; step < count + (closed ? count : 0); ++step) {
    const int64_t k = step % count;
    if (!corner[k] || k == last) continue;
    if (last >= 0 && fmax(cosine[k], cosine[last]) > -2 &&
        hypot(p[2 * k] - p[2 * last], p[2 * k + 1] - p[2 * last + 1]) < least_distance) {
      const int64_t blunter = cosine[k] >= cosine[last] ? k : last;
      corner[blunter] = 0;
      if (blunter == k) continue;
    }
    last = k;
  }
}

/* Divides the points of an arc into nearly straight pieces: piece s has the points kept[s] ..
 * kept[s + 1] and the line lines[s]. Returns the number of pieces. */
static int64_t fit_lines(const double *p, int64_t count, int closed, corner_workspace *work) {
  memset(work->mark, 0, (size_t)count);
  const int64_t middle = closed ? farthest_from(p, count, p[0], p[1]) : 0;
  work->mark[0] = work->mark[middle] = work->mark[count - 1] = 1;
  if (middle > 0) simplify(p, 0, middle, line_tolerance, work->mark, work->stack);
  simplify(p, middle, count - 1, line_tolerance, work->mark, work->stack);
  int64_t kept = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (work->mark[k]) work->kept[kept++] = k;
  }
  for (int64_t s = 0; s + 1 < kept; ++s) {
    const int64_t off = work->kept[s + 1] - work->kept[s] >= LONG_LINE ? END_POINTS : 0;
    const int64_t begin = work->kept[s] + off, end = work->kept[s + 1] - off;
    work->lines[s] = fit_line(p + 2 * begin, end - begin + 1);
  }
  return kept - 1;
}

/* Marks and moves the corners between pieces. Returns the largest distance from the curve. */
static double place_corners(double *p, int64_t count, int closed, int64_t pieces, double angle,
                            uint8_t *corner, corner_workspace *work) {
  const double sharp = cos(angle * CVTM_PI / 180);
  const double wide_sharp = cos(wide_share * angle * CVTM_PI / 180);
  double largest = 0;
  memcpy(work->copy, p, (size_t)count * 2 * sizeof *p);
  for (int64_t s = 0; s < pieces; ++s) {
    if (s == 0 && !closed) continue;
    const int64_t k = work->kept[s];
    const line before = work->lines[s > 0 ? s - 1 : pieces - 1], after = work->lines[s];
    work->cosine[k] = before.dx * after.dx + before.dy * after.dy;
    if (work->cosine[k] > sharp || wide_turn(work->copy, count, closed, k) > wide_sharp) continue;
    corner[k] = 1;
    double place[2], shift;
    const int64_t one_before = k > 0 ? k - 1 : count - 2;
    if (!meet(before, after, work->copy, one_before, k, k + 1, place, &shift)) continue;
    p[2 * k] = place[0];
    p[2 * k + 1] = place[1];
    largest = fmax(largest, shift);
    if (k > 1) straighten(p + 2 * k, p + 2 * k - 2, p + 2 * k - 4);
    if (k + 2 < count) straighten(p + 2 * k, p + 2 * k + 2, p + 2 * k + 4);
  }
  return largest;
}

/* Finds the corners of an arc. A closed arc with corners is rotated to begin at one of them. */
static void find_corners(cvtm_contour *c, double *traced, int64_t arc, double angle,
                         corner_workspace *work) {
  double *p = c->points + 2 * c->start[arc], *raw = traced + 2 * c->start[arc];
  uint8_t *corner = c->corner + c->start[arc];
  const int64_t count = c->start[arc + 1] - c->start[arc];
  const int closed = cvtm_contour_is_closed(c, arc) && !corner[0];
  if (!closed && count < LONG_LINE &&
      c->region_count > 0) { /* too short for fitting lines: no corners */
    corner[0] = corner[count - 1] = 1;
    return;
  }
  if (closed) {
    rotate_arc(p, 2 * sizeof *p, count, farthest_from(p, count - 1, p[0], p[1]), work->copy);
    memcpy(raw, p, (size_t)count * 2 * sizeof *p);
  }
  const int64_t pieces = fit_lines(p, count, closed, work);
  const double shift = place_corners(p, count, closed, pieces, angle, corner, work);
  c->corner_shift = fmax(c->corner_shift, shift);
  if (!closed) {
    corner[0] = corner[count - 1] = 1;
    work->cosine[0] = work->cosine[count - 1] = -2;
  }
  thin_corners(p, work->cosine, count - closed, closed, corner);
  if (!closed) return;
  memcpy(p + 2 * (count - 1), p, 2 * sizeof *p);
  corner[count - 1] = corner[0];
  int64_t first = 0;
  while (first < count - 1 && !corner[first]) ++first;
  if (first == 0 || first == count - 1) return;
  rotate_arc(p, 2 * sizeof *p, count, first, work->copy);
  rotate_arc(raw, 2 * sizeof *raw, count, first, work->copy);
  rotate_arc(corner, sizeof *corner, count, first, work->copy);
}

/* traced: a copy of the points as traced, rotated like the points. */
static cvtm_status find_all_corners(cvtm_contour *c, double *traced, double angle,
                                    cvtm_error *error) {
  const size_t n = (size_t)cvtm_contour_longest(c) + 1;
  cvtm_scratch memory = {0};
  corner_workspace work = {cvtm_scratch_take(&memory, n, sizeof *work.mark),
                           cvtm_scratch_take(&memory, n, sizeof *work.stack),
                           cvtm_scratch_take(&memory, n, sizeof *work.kept),
                           cvtm_scratch_take(&memory, n, 2 * sizeof *work.copy),
                           cvtm_scratch_take(&memory, n, sizeof *work.cosine),
                           cvtm_scratch_take(&memory, n, sizeof *work.lines)};
  const cvtm_status status = memory.failed ? cvtm_no_memory(error, "the contour") : CVTM_OK;
  for (int64_t arc = 0; arc < c->arc_count && status == CVTM_OK; ++arc)
    find_corners(c, traced, arc, angle, &work);
  cvtm_scratch_free(&memory);
  return status;
}

/* Curves that are less than a pixel apart may cross when corners move. Returns the ends of crossing
 * segments to their traced positions; returns the number of points moved. */
static int64_t move_back(cvtm_contour *c, const double *traced, const uint8_t *crossed) {
  int64_t moved = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int64_t first = c->start[arc], last = c->start[arc + 1] - 1;
    const int around = cvtm_contour_is_closed(c, arc) && (crossed[first] || crossed[last - 1]);
    for (int64_t k = first; k <= last; ++k) {
      const int end = around && (k == first || k == last);
      if (!end && !(k > first && crossed[k - 1]) && !(k < last && crossed[k])) continue;
      double *p = c->points + 2 * k;
      moved += p[0] != traced[2 * k] || p[1] != traced[2 * k + 1];
      memcpy(p, traced + 2 * k, 2 * sizeof *p);
    }
  }
  return moved;
}

static cvtm_status untangle_corners(cvtm_contour *c, const double *traced, cvtm_error *error) {
  const int64_t points = c->start[c->arc_count];
  if (points > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the contour has %lld points; at most %ld are possible", (long long)points,
                     (long)INT32_MAX);
  }
  int32_t *edges = malloc((size_t)points * 2 * sizeof *edges);
  uint8_t *crossed = calloc((size_t)points + 1, 1);
  cvtm_status status =
      edges != NULL && crossed != NULL ? CVTM_OK : cvtm_no_memory(error, "the contour");
  if (status == CVTM_OK) {
    /* Edge k begins at point k; no edge begins at the last point of an arc. */
    for (int64_t k = 0; k < points; ++k) edges[2 * k] = edges[2 * k + 1] = (int32_t)k;
    for (int64_t arc = 0; arc < c->arc_count; ++arc) {
      for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1]; ++k) ++edges[2 * k + 1];
    }
  }
  int64_t found = 1, moved = 1;
  while (status == CVTM_OK && found > 0 && moved > 0) {
    status = cvtm_find_crossed(c->points, points, edges, points, crossed, &found, error);
    if (status == CVTM_OK && found > 0) moved = move_back(c, traced, crossed);
  }
  free(edges);
  free(crossed);
  return status;
}

/* Returns corners that are too close to a side of the image, where vertices of the side are, to
 * their traced positions. */
static void leave_sides(cvtm_contour *c, const double *traced,
                        const cvtm_contour_picture *picture) {
  const double margin = 0.2; /* pixels */
  for (int64_t k = 0; k < c->start[c->arc_count]; ++k) {
    double *p = c->points + 2 * k;
    const double depth =
        fmin(fmin(p[0], picture->width - p[0]), fmin(p[1], picture->height - p[1]));
    if (depth < margin) memcpy(p, traced + 2 * k, 2 * sizeof *p);
  }
}

cvtm_status cvtm_contour_find_corners(cvtm_contour *c, const cvtm_contour_picture *picture,
                                      double angle, cvtm_error *error) {
  const int64_t points = c->start[c->arc_count];
  double *traced = malloc(2 * (size_t)points * sizeof *traced);
  if (traced == NULL) return cvtm_no_memory(error, "the contour");
  memcpy(traced, c->points, 2 * (size_t)points * sizeof *traced);
  cvtm_status status = find_all_corners(c, traced, angle, error);
  if (status == CVTM_OK && picture->border != CVTM_BORDER_EMPTY) leave_sides(c, traced, picture);
  /* A moved corner may lie outside the image. */
  for (int64_t k = 0; status == CVTM_OK && k < points; ++k) {
    c->points[2 * k] = fmin(fmax(c->points[2 * k], 0), picture->width);
    c->points[2 * k + 1] = fmin(fmax(c->points[2 * k + 1], 0), picture->height);
  }
  if (status == CVTM_OK) status = untangle_corners(c, traced, error);
  free(traced);
  return status;
}
