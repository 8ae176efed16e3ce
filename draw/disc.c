#include "draw/disc.h"

#include "base/host.h"
#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_disc_grid cvtm_disc_grid_make(cvtm_domain domain, int side) {
  return (cvtm_disc_grid){domain, side, (domain.width + side - 1) / side,
                          (domain.height + side - 1) / side};
}

typedef struct interval {
  double begin, end;
} interval;

/* Strokes with round ends: stroke i contains the points within radii[i] of the segment from from[i]
 * to to[i]. For discs `from` and `to` are the same array. */
typedef struct strokes {
  const double *from, *to, *radii;
  int64_t count;
} strokes;

/* The strokes that overlap row j are disc[start[j] .. start[j + 1]), from left to right. */
typedef struct rows {
  int64_t *start;
  int32_t *disc;
} rows;

/* --- lists ----------------------------------------------------------------------------------- */

typedef struct placed {
  double x;
  int32_t disc;
} placed;

static int clamp_row(const cvtm_disc_grid *grid, double y) {
  return (int)fmin(fmax(floor(y / grid->side), 0), grid->height - 1);
}

/* Sets the first and last row of stroke i; returns 0 if the stroke has no area in the domain. */
static int find_rows(const cvtm_disc_grid *grid, const strokes *s, int64_t i, int *first,
                     int *last) {
  const double a = s->from[2 * i + 1], b = s->to[2 * i + 1], radius = s->radii[i];
  const double top = fmin(a, b) - radius, bottom = fmax(a, b) + radius;
  if (!(radius > 0) || !(bottom > 0) || !(top < grid->domain.height)) return 0;
  *first = clamp_row(grid, top);
  *last = clamp_row(grid, bottom);
  return 1;
}

/* Sets start[j + 1] to the number of strokes in the rows up to j. */
static void count_rows(const cvtm_disc_grid *grid, const strokes *s, int64_t *start) {
  int first, last;
  for (int64_t i = 0; i < s->count; ++i) {
    if (!find_rows(grid, s, i, &first, &last)) continue;
    for (int j = first; j <= last; ++j) ++start[j + 1];
  }
  for (int j = 0; j < grid->height; ++j) start[j + 1] += start[j];
}

/* Fills the lists. In the loop start[j] advances to the end of row j; then start is restored. */
static void fill_rows(const cvtm_disc_grid *grid, const strokes *s, const placed *order,
                      rows *lists) {
  int first, last;
  for (int64_t k = 0; k < s->count; ++k) {
    const int32_t i = order[k].disc;
    if (!find_rows(grid, s, i, &first, &last)) continue;
    for (int j = first; j <= last; ++j) lists->disc[lists->start[j]++] = i;
  }
  memmove(lists->start + 1, lists->start, (size_t)grid->height * sizeof *lists->start);
  lists->start[0] = 0;
}

static int make_rows(const cvtm_disc_grid *grid, const strokes *s, rows *lists) {
  const int64_t count = s->count;
  placed *order = malloc(((size_t)count + 1) * sizeof *order);
  lists->start = calloc((size_t)grid->height + 1, sizeof *lists->start);
  if (order != NULL && lists->start != NULL) {
    count_rows(grid, s, lists->start);
    lists->disc = malloc(((size_t)lists->start[grid->height] + 1) * sizeof *lists->disc);
  }
  if (lists->disc != NULL) {
    for (int64_t i = 0; i < count; ++i)
      order[i] = (placed){fmin(s->from[2 * i], s->to[2 * i]), (int32_t)i};
    qsort(order, (size_t)count, sizeof *order, cvtm_compare_keyed);
    fill_rows(grid, s, order, lists);
  }
  free(order);
  return lists->disc != NULL;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Sorts intervals by their begin. The centres are already sorted, so insertion sort is fastest if
 * the discs are hardly larger than their spacing. */
static void sort_intervals(interval *list, int64_t count) {
  int64_t moves = 0;
  for (int64_t k = 1; k < count; ++k) {
    const interval moved = list[k];
    int64_t at = k;
    for (; at > 0 && list[at - 1].begin > moved.begin; --at) list[at] = list[at - 1];
    list[at] = moved;
    moves += k - at;
    if (moves > 16 * count) {
      qsort(list, (size_t)count, sizeof *list, cvtm_compare_doubles);
      return;
    }
  }
}

/* Adds an interval to a row: each column gets the length of its part of the interval, in widths of
 * a column. */
static void add_interval(double *row, int width, double begin, double end) {
  const int first = (int)begin, last = (int)fmin(end, width - 1);
  if (first >= last) {
    row[last] += end - begin;
    return;
  }
  row[first] += first + 1 - begin;
  for (int i = first + 1; i < last; ++i) row[i] += 1;
  row[last] += end - last;
}

/* Instead of fmin and fmax, which are function calls and would take a third of the time here. */
static double lesser(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

static void widen(interval *cut, double begin, double end) {
  cut->begin = lesser(cut->begin, begin);
  cut->end = larger(cut->end, end);
}

/* The part of the line at y that lies in stroke i; empty if begin > end. The stroke is bounded by
 * the circles about its ends and by its two sides, parallel to its axis. */
static interval cut_stroke(const strokes *s, int64_t i, double y) {
  const double *a = s->from + 2 * i, *b = s->to + 2 * i, radius = s->radii[i];
  interval cut = {INFINITY, -INFINITY};
  const double *const ends[2] = {a, b};
  for (int k = 0; k < 1 + (a != b); ++k) {
    const double dy = y - ends[k][1], square = radius * radius - dy * dy;
    if (square > 0) widen(&cut, ends[k][0] - sqrt(square), ends[k][0] + sqrt(square));
  }
  const double dx = b[0] - a[0], dy = b[1] - a[1], length = sqrt(dx * dx + dy * dy);
  for (int sign = -1; sign <= 1 && dy != 0; sign += 2) {
    const double move = sign * radius / length, t = (y - a[1] - move * dx) / dy;
    const double x = a[0] - move * dy + t * dx;
    if (t >= 0 && t <= 1) widen(&cut, x, x);
  }
  return cut;
}

/* Adds the union of the strokes of a row along the line at y to `row`, with `list` as a buffer. */
static void add_line(const cvtm_disc_grid *grid, const strokes *s, const int32_t *disc,
                     int64_t count, double y, interval *list, double *row) {
  const double scale = 1.0 / grid->side, right = grid->domain.width;
  int64_t kept = 0;
  for (int64_t k = 0; k < count; ++k) {
    const interval cut = cut_stroke(s, disc[k], y);
    const double begin = larger(cut.begin, 0), end = lesser(cut.end, right);
    if (begin < end) list[kept++] = (interval){begin * scale, end * scale};
  }
  sort_intervals(list, kept);
  for (int64_t k = 0; k < kept;) {
    const double begin = list[k].begin;
    double end = list[k].end;
    for (++k; k < kept && list[k].begin <= end; ++k) end = larger(end, list[k].end);
    add_interval(row, grid->width, begin, end);
  }
}

/* row: a buffer of grid->width numbers; list: a buffer of `count` intervals. */
static void cover_row(const cvtm_disc_grid *grid, const strokes *s, const int32_t *disc,
                      int64_t count, int j, int lines, interval *list, double *row,
                      float *coverage) {
  const double top = (double)j * grid->side, side = grid->side;
  const double height = fmin(side, grid->domain.height - top);
  memset(row, 0, (size_t)grid->width * sizeof *row);
  for (int k = 0; k < lines && count > 0; ++k)
    add_line(grid, s, disc, count, top + (k + 0.5) / lines * height, list, row);
  for (int i = 0; i < grid->width; ++i) {
    const double width = fmin(side, grid->domain.width - i * side);
    coverage[i] = (float)fmin(row[i] * side / (width * lines), 1);
  }
}

/* The number of lines per row of the grid, 8 to 64: about 32 lines cross a stroke of mean width. */
static int choose_lines(const cvtm_disc_grid *grid, const double *radii, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += radii[i];
  const double mean = sum / ((double)count * grid->side);
  return (int)fmin(fmax(ceil(16 / mean), 8), 64);
}

/* Covers all rows. Returns 0 if memory runs out. */
static int cover_rows(const cvtm_disc_grid *grid, const strokes *s, const rows *lists, int lines,
                      float *coverage) {
  int64_t longest = 0;
  for (int j = 0; j < grid->height; ++j) {
    const int64_t length = lists->start[j + 1] - lists->start[j];
    if (length > longest) longest = length;
  }
  int failed = 0;
#pragma omp parallel reduction(| : failed)
  {
    interval *list = malloc(((size_t)longest + 1) * sizeof *list);
    double *row = malloc((size_t)grid->width * sizeof *row);
    failed |= list == NULL || row == NULL;
#pragma omp for schedule(dynamic, 4)
    for (int j = 0; j < grid->height; ++j) {
      if (failed) continue;
      cover_row(grid, s, lists->disc + lists->start[j], lists->start[j + 1] - lists->start[j], j,
                lines, list, row, coverage + (size_t)j * (size_t)grid->width);
    }
    free(list);
    free(row);
  }
  return !failed;
}

cvtm_status cvtm_stroke_coverage(const cvtm_disc_grid *grid, const double *from, const double *to,
                                 const double *radii, int64_t count, float *coverage,
                                 cvtm_error *error) {
  const strokes all = {from, to, radii, count};
  rows lists = {NULL, NULL};
  int good = make_rows(grid, &all, &lists);
  if (good) {
    const int lines = choose_lines(grid, radii, count);
    good = cover_rows(grid, &all, &lists, lines, coverage);
  }
  free(lists.start);
  free(lists.disc);
  if (good) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a picture of %lld dots",
                   (long long)count);
}

cvtm_status cvtm_disc_coverage(const cvtm_disc_grid *grid, const double *centres,
                               const double *radii, int64_t count, float *coverage,
                               cvtm_error *error) {
  return cvtm_stroke_coverage(grid, centres, centres, radii, count, coverage, error);
}

/* --- A disc in a polygon ---------------------------------------------------------------------- */

static double cross(const double *p, const double *q) { return p[0] * q[1] - p[1] * q[0]; }
static double dot(const double *p, const double *q) { return p[0] * q[0] + p[1] * q[1]; }

/* The signed area of the disc's sector from the direction of p to that of q. */
static double sector_area(const double *p, const double *q, double radius, double *arc) {
  const double angle = atan2(cross(p, q), dot(p, q));
  *arc += angle;
  return 0.5 * radius * radius * angle;
}

/* The signed area of the triangle (0, p, q) within the disc about 0. */
static double triangle_area(const double *p, const double *q, double radius, double *arc) {
  const double d[2] = {q[0] - p[0], q[1] - p[1]};
  const double a = dot(d, d), b = dot(p, d), c = dot(p, p) - radius * radius;
  const double discriminant = b * b - a * c;
  if (!(a > 0)) return 0;
  if (discriminant <= 0) return sector_area(p, q, radius, arc);
  const double root = sqrt(discriminant);
  const double enter = fmax((-b - root) / a, 0), leave = fmin((-b + root) / a, 1);
  if (enter >= leave) return sector_area(p, q, radius, arc);
  const double in[2] = {p[0] + enter * d[0], p[1] + enter * d[1]};
  const double out[2] = {p[0] + leave * d[0], p[1] + leave * d[1]};
  double area = 0.5 * cross(in, out);
  if (enter > 0) area += sector_area(p, in, radius, arc);
  if (leave < 1) area += sector_area(out, q, radius, arc);
  return area;
}

double cvtm_disc_polygon_area(const double *corners, int64_t count, const double *centre,
                              double radius, double *arc) {
  double area = 0, angle = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double *a = corners + 2 * k, *b = corners + 2 * (k + 1 < count ? k + 1 : 0);
    const double p[2] = {a[0] - centre[0], a[1] - centre[1]};
    const double q[2] = {b[0] - centre[0], b[1] - centre[1]};
    area += triangle_area(p, q, radius, &angle);
  }
  *arc = fabs(angle);
  return fabs(area);
}

static double farthest_corner(const double *corners, int64_t count, const double *centre) {
  double farthest = 0;
  for (int64_t k = 0; k < count; ++k)
    farthest = fmax(farthest, hypot(corners[2 * k] - centre[0], corners[2 * k + 1] - centre[1]));
  return farthest;
}

double cvtm_disc_radius_for(const double *corners, int64_t count, const double *centre,
                            double area) {
  enum { STEPS = 60 };
  const double far = farthest_corner(corners, count, centre), exact = 1e-12 * area;
  if (!(area > 0)) return 0;
  /* Newton's method between bounds; a full disc of this area is a lower bound of the radius. */
  double low = sqrt(area / CVTM_PI), high = far, radius = low;
  for (int k = 0; k < STEPS && low < high; ++k) {
    double arc;
    const double excess = cvtm_disc_polygon_area(corners, count, centre, radius, &arc) - area;
    if (fabs(excess) <= exact) return radius;
    if (excess < 0)
      low = radius;
    else
      high = radius;
    radius -= excess / (radius * arc);
    if (!(radius > low && radius < high)) radius = 0.5 * (low + high);
  }
  return fmin(radius, far);
}
