/* Polygons, and polygon files except SVG and .poly. */
#include "base/text.h"
#include "base/file.h"
#include "base/geometry.h"
#include "base/host.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/delaunay/grid.h"
#include "meshes/formats/formats.h"
#include "meshes/polygon_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cvtm_polygons_free(cvtm_polygons *polygons) {
  free(polygons->start);
  free(polygons->points);
  *polygons = (cvtm_polygons){0};
}

/* The coordinates are taken relative to the first point, so that the area of a small ring far from
 * the origin is accurate. */
double cvtm_ring_area(const double *points, int64_t count) {
  double twice = 0;
  for (int64_t k = 2; k < count; ++k) {
    const double ax = points[2 * k - 2] - points[0], ay = points[2 * k - 1] - points[1];
    const double bx = points[2 * k] - points[0], by = points[2 * k + 1] - points[1];
    twice += bx * ay - ax * by;
  }
  return 0.5 * twice;
}

/* ---- Collecting rings ---- */

void cvtm_ring_collector_free(cvtm_ring_collector *c) {
  cvtm_polygons_free(&c->rings);
  free(c->shape);
  for (int64_t k = 0; k < c->shape_count; ++k) free(c->name[k]);
  free(c->name);
  free(c->curve);
  free(c->lines);
  *c = (cvtm_ring_collector){0};
}

cvtm_status cvtm_ring_begin_shape(cvtm_ring_collector *c, const char *name) {
  char *copy = NULL;
  if (!cvtm_grow(&c->name, sizeof *c->name, &c->name_capacity, c->shape_count + 1))
    return cvtm_source_no_memory(c->source);
  if (name != NULL && *name != 0) {
    const size_t size = strlen(name) + 1;
    copy = malloc(size);
    if (copy == NULL) return cvtm_source_no_memory(c->source);
    memcpy(copy, name, size);
  }
  c->name[c->shape_count++] = copy;
  return CVTM_OK;
}

static int64_t finished_points(const cvtm_ring_collector *c) {
  return c->rings.ring_count > 0 ? c->rings.start[c->rings.ring_count] : 0;
}

cvtm_status cvtm_ring_add_point(cvtm_ring_collector *c, double x, double y) {
  const double furthest = 1e15; /* thousandths of a millimetre between points on the earth */
  if (!(fabs(x) <= furthest) || !(fabs(y) <= furthest))
    return cvtm_source_fail(c->source, "the point (%g, %g) is too far away", x, y);
  const int64_t at = finished_points(c) + c->open;
  if (++c->read > CVTM_POLYGON_CORNERS_MAX)
    return cvtm_source_fail(c->source, "more than %d corners, counting the chords of curves",
                            CVTM_POLYGON_CORNERS_MAX);
  if (!cvtm_grow(&c->rings.points, 2 * sizeof *c->rings.points, &c->point_capacity, at + 1))
    return cvtm_source_no_memory(c->source);
  double *p = c->rings.points + 2 * at;
  if (c->open > 0 && p[-2] == x && p[-1] == y) return CVTM_OK;
  p[0] = x;
  p[1] = y;
  ++c->open;
  return CVTM_OK;
}

cvtm_status cvtm_ring_add_curve_point(cvtm_ring_collector *c, double x, double y) {
  CVTM_TRY(cvtm_ring_add_point(c, x, y));
  if (!cvtm_grow(&c->curve, 2 * sizeof *c->curve, &c->curve_capacity, c->curve_count + 1))
    return cvtm_source_no_memory(c->source);
  c->curve[2 * c->curve_count] = x;
  c->curve[2 * c->curve_count++ + 1] = y;
  return CVTM_OK;
}

/* Nonzero unless all corners are on one line. */
static int ring_has_area(const double *points, int64_t count) {
  for (int64_t k = 2; k < count; ++k) {
    const double *a = points + 2 * (k - 2), *b = a + 2, *c = b + 2;
    if ((b[0] - a[0]) * (c[1] - a[1]) != (b[1] - a[1]) * (c[0] - a[0])) return 1;
  }
  return 0;
}

cvtm_status cvtm_ring_close(cvtm_ring_collector *c) {
  const int64_t first = finished_points(c);
  const double *p = c->rings.points == NULL ? NULL : c->rings.points + 2 * first;
  int64_t count = c->open;
  c->open = 0;
  while (count > 1 && p[0] == p[2 * count - 2] && p[1] == p[2 * count - 1]) --count;
  if (!ring_has_area(p, count)) return CVTM_OK;
  if (!cvtm_grow(&c->rings.start, sizeof *c->rings.start, &c->ring_capacity,
                 c->rings.ring_count + 2) ||
      !cvtm_grow(&c->shape, sizeof *c->shape, &c->shape_capacity, c->rings.ring_count + 1))
    return cvtm_source_no_memory(c->source);
  c->shape[c->rings.ring_count] = (int32_t)(c->shape_count - 1);
  c->rings.start[c->rings.ring_count++] = first;
  c->rings.start[c->rings.ring_count] = first + count;
  return CVTM_OK;
}

cvtm_status cvtm_ring_end_line(cvtm_ring_collector *c) {
  const double *p = c->rings.points == NULL ? NULL : c->rings.points + 2 * finished_points(c);
  const int64_t count = c->open > 1 ? c->open - 1 : c->open;
  if (!cvtm_grow(&c->lines, sizeof *c->lines, &c->line_capacity, c->line_count + count))
    return cvtm_source_no_memory(c->source);
  for (int64_t k = 0; k < count; ++k) {
    cvtm_kept_line *line = &c->lines[c->line_count++];
    line->shape = (int32_t)(c->shape_count - 1);
    memcpy(line->from, p + 2 * k, sizeof line->from);
    memcpy(line->to, p + 2 * (k + 1 < c->open ? k + 1 : k), sizeof line->to);
  }
  c->open = 0;
  return CVTM_OK;
}

/* The largest error of a place that is a sum of rounded relative coordinates, relative to the size
 * of the drawing: editors write 8 digits. */
static const double rounding = 1e-7;

static double error_in(const cvtm_box *box) {
  return rounding * fmax(box->high[0] - box->low[0], box->high[1] - box->low[1]);
}

cvtm_status cvtm_ring_end_path(cvtm_ring_collector *c, int is_filled) {
  double *p = c->rings.points == NULL ? NULL : c->rings.points + 2 * finished_points(c);
  const int64_t count = c->open;
  if (count > 2) {
    double *end = p + 2 * count - 2;
    cvtm_box box = cvtm_empty_box();
    for (int64_t k = 0; k < count; ++k) cvtm_box_add(&box, p + 2 * k);
    const double gap = fmax(fabs(end[0] - p[0]), fabs(end[1] - p[1]));
    const int is_closed = gap <= error_in(&box);
    if (is_closed) memcpy(end, p, 2 * sizeof *p);
    if ((is_closed || is_filled) && ring_has_area(p, count)) return cvtm_ring_close(c);
  }
  if (count < 2) c->open = 0; /* a pen that moves and does not draw */
  return count < 2 ? CVTM_OK : cvtm_ring_end_line(c);
}

/* ---- Rings of lines ---- */

static double *end_of(const cvtm_ring_collector *c, int64_t k) {
  return k % 2 == 0 ? c->lines[k / 2].from : c->lines[k / 2].to;
}

/* Sets mate, per end of a line, to the only other end at its place, and makes their coordinates
 * equal; -1: none, or several. Line k has the ends 2 k and 2 k + 1. Ends are at one place if their
 * coordinates differ by at most `near`; shorter lines have no mates. */
static void pair_ends(const cvtm_ring_collector *c, double near, cvtm_placed *ends, int64_t *mate) {
  int64_t count = 0;
  for (int64_t k = 0; k < 2 * c->line_count; ++k) {
    const double *p = end_of(c, k), *q = end_of(c, k ^ 1);
    mate[k] = -1;
    if (fmax(fabs(p[0] - q[0]), fabs(p[1] - q[1])) > near)
      ends[count++] = (cvtm_placed){p[0], p[1], k};
  }
  qsort(ends, (size_t)count, sizeof *ends, cvtm_compare_placed);
  for (int64_t k = 1; k < count; ++k)
    if (ends[k].x - ends[k - 1].x <= near) ends[k].x = ends[k - 1].x;
  qsort(ends, (size_t)count, sizeof *ends, cvtm_compare_placed);
  for (int64_t k = 0, next; k < count; k = next) {
    for (next = k + 1;
         next < count && ends[next].x == ends[k].x && ends[next].y - ends[next - 1].y <= near;)
      ++next;
    if (next != k + 2) continue;
    mate[ends[k].index] = ends[k + 1].index;
    mate[ends[k + 1].index] = ends[k].index;
    memcpy(end_of(c, ends[k + 1].index), end_of(c, ends[k].index), 2 * sizeof(double));
  }
}

/* If the lines that follow the end `first` return there, makes a ring of them, and sets their mates
 * to -2. The ring belongs to the first of their shapes without a name. */
static cvtm_status close_lines(cvtm_ring_collector *c, int64_t *mate, int64_t first) {
  int64_t end = first, lines = 0;
  int32_t shape = INT32_MAX;
  do {
    const int32_t of_line = c->lines[end / 2].shape;
    if (c->name[of_line] == NULL && of_line < shape) shape = of_line;
    end = mate[end ^ 1];
    ++lines;
  } while (end >= 0 && end != first);
  if (end < 0 || lines < 3) return CVTM_OK;
  if (shape == INT32_MAX) CVTM_TRY(cvtm_ring_begin_shape(c, NULL));
  do {
    const double *p = end_of(c, end);
    const int64_t next = mate[end ^ 1];
    mate[end ^ 1] = mate[end] = -2;
    CVTM_TRY(cvtm_ring_add_point(c, p[0], p[1]));
    end = next;
  } while (end != first);
  CVTM_TRY(cvtm_ring_close(c));
  if (shape < INT32_MAX) c->shape[c->rings.ring_count - 1] = shape;
  return CVTM_OK;
}

static cvtm_box box_of_lines(const cvtm_ring_collector *c) {
  cvtm_box box = cvtm_empty_box();
  for (int64_t k = 0; k < 2 * c->line_count; ++k) cvtm_box_add(&box, end_of(c, k));
  return box;
}

/* Nonzero if the lines in this box reach at least as far as the rings on all sides, and farther on
 * one. */
static int are_around(const cvtm_ring_collector *c, const cvtm_box *lines) {
  cvtm_box rings = cvtm_empty_box();
  for (int64_t v = 0; v < finished_points(c); ++v) cvtm_box_add(&rings, c->rings.points + 2 * v);
  const double wide = lines->high[0] - lines->low[0] + lines->high[1] - lines->low[1];
  return lines->low[0] <= rings.low[0] && lines->low[1] <= rings.low[1] &&
         lines->high[0] >= rings.high[0] && lines->high[1] >= rings.high[1] &&
         wide > rings.high[0] - rings.low[0] + rings.high[1] - rings.low[1];
}

/* In a drawing of lines, closed chains of lines are rings: CAD programs draw each side of an
 * outline by itself. Lines with names stay. */
static cvtm_status make_rings_of_lines(cvtm_ring_collector *c) {
  const cvtm_box box = box_of_lines(c);
  if (c->line_count == 0 || !are_around(c, &box)) return CVTM_OK;
  cvtm_scratch memory = {0};
  cvtm_placed *ends = cvtm_scratch_take(&memory, 2 * (size_t)c->line_count, sizeof *ends);
  int64_t *mate = cvtm_scratch_take(&memory, 2 * (size_t)c->line_count, sizeof *mate), kept = 0;
  cvtm_status status = memory.failed ? cvtm_source_no_memory(c->source) : CVTM_OK;
  if (status == CVTM_OK) pair_ends(c, error_in(&box), ends, mate);
  for (int64_t k = 0; k < 2 * c->line_count && status == CVTM_OK; k += 2)
    if (mate[k] >= 0) status = close_lines(c, mate, k);
  for (int64_t k = 0; k < c->line_count && status == CVTM_OK; ++k)
    if (mate[2 * k] != -2 || c->name[c->lines[k].shape] != NULL) c->lines[kept++] = c->lines[k];
  if (status == CVTM_OK) c->line_count = kept;
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Dividing rings that touch themselves in corners into loops ---- */

/* Memory per corner of all rings. */
typedef struct loop_finder {
  const cvtm_polygons *rings;
  cvtm_grid_point *grid;
  cvtm_placed *sorted; /* per ring, sorted by place, then along the ring */
  int64_t *first;      /* per corner: the first corner of its ring at the same point */
  int64_t *path;       /* corners of the current path, all at distinct points */
  int64_t *at;         /* per first corner: its index in the path; -1: not in it */
  cvtm_polygons loops;
} loop_finder;

/* Sets `first`. Returns the number of corners that are not the first at their point. */
static int64_t find_first(loop_finder *f) {
  int64_t repeated = 0;
  for (int64_t r = 0; r < f->rings->ring_count; ++r) {
    const int64_t begin = f->rings->start[r], end = f->rings->start[r + 1];
    for (int64_t v = begin; v < end; ++v)
      f->sorted[v] = (cvtm_placed){f->grid[v].x, f->grid[v].y, v};
    qsort(f->sorted + begin, (size_t)(end - begin), sizeof *f->sorted, cvtm_compare_placed);
    for (int64_t k = begin; k < end; ++k) {
      const cvtm_placed *p = &f->sorted[k];
      const int same = k > begin && p[-1].x == p->x && p[-1].y == p->y;
      f->first[p->index] = same ? f->first[p[-1].index] : p->index;
      repeated += same;
    }
  }
  return repeated;
}

/* Makes a loop of the path from `begin` to its end. */
static void take_loop(loop_finder *f, int64_t begin, int64_t length) {
  cvtm_polygons *loops = &f->loops;
  const int64_t made = loops->start[loops->ring_count];
  for (int64_t k = begin; k < length; ++k) {
    memcpy(loops->points + 2 * (made + k - begin), f->rings->points + 2 * f->path[k],
           2 * sizeof(double));
    f->at[f->path[k]] = -1;
  }
  if (ring_has_area(loops->points + 2 * made, length - begin))
    loops->start[++loops->ring_count] = made + length - begin;
}

/* When the path returns to a point, the part since the first visit is a loop. */
static void find_loops(loop_finder *f) {
  const cvtm_polygons *rings = f->rings;
  for (int64_t v = 0; v < rings->start[rings->ring_count]; ++v) f->at[v] = -1;
  for (int64_t r = 0; r < rings->ring_count; ++r) {
    int64_t length = 0;
    for (int64_t v = rings->start[r]; v < rings->start[r + 1]; ++v) {
      const int64_t corner = f->first[v];
      if (f->at[corner] >= 0) {
        const int64_t begin = f->at[corner];
        take_loop(f, begin, length);
        length = begin;
      }
      f->at[corner] = length;
      f->path[length++] = corner;
    }
    take_loop(f, 0, length);
  }
}

/* Corners of a ring that coincide on the grid of the predicates are one corner. There the ring is
 * divided into loops, which become rings; loops without area are dropped. */
static cvtm_status rings_divide(cvtm_polygons *rings, cvtm_error *error) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  cvtm_scratch memory = {0};
  loop_finder f = {.rings = rings,
                   .grid = cvtm_scratch_take(&memory, n, sizeof *f.grid),
                   .sorted = cvtm_scratch_take(&memory, n, sizeof *f.sorted),
                   .first = cvtm_scratch_take(&memory, n, sizeof *f.first),
                   .path = cvtm_scratch_take(&memory, n, sizeof *f.path),
                   .at = cvtm_scratch_take(&memory, n, sizeof *f.at),
                   .loops = {.start = calloc(n + 1, sizeof *f.loops.start),
                             .points = malloc(2 * n * sizeof *f.loops.points)}};
  const int good = !memory.failed && f.loops.start != NULL && f.loops.points != NULL;
  const cvtm_status status = good ? cvtm_grid_of_points(rings->points, (int64_t)n, f.grid, error)
                                  : cvtm_no_memory(error, "the rings");
  if (status == CVTM_OK && find_first(&f) > 0) {
    find_loops(&f);
    const cvtm_polygons given = *rings;
    *rings = f.loops;
    f.loops = given;
  }
  cvtm_polygons_free(&f.loops);
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Rings that touch ---- */

/* Rings that should touch, such as tangent circles, may miss each other by rounding. Equal
 * coordinates prevent crossings and gaps that are too narrow for a mesh. */

/* Grid steps. Rounding to the grid moves a corner and an edge apart by up to sqrt (2). */
static const double reach = 1.5;

typedef struct touch_finder {
  const cvtm_polygons *rings;
  const cvtm_grid_point *grid;
  const int64_t *next;    /* per corner: the next corner of its ring */
  const int32_t *ring;    /* per corner */
  int with_exact;         /* nonzero: also find exact touches */
  cvtm_new_corner *found; /* corners that nearly lie on edges of other rings; along: grid steps */
  int64_t count, capacity;
} touch_finder;

static double grid_distance(cvtm_grid_point p, cvtm_grid_point q) {
  return hypot((double)q.x - p.x, (double)q.y - p.y);
}

static int is_same(cvtm_grid_point p, cvtm_grid_point q) { return p.x == q.x && p.y == q.y; }

/* Adds the touch of an edge and a corner, if they touch. Returns 0 if memory runs out. */
static int test_pair(touch_finder *f, int64_t edge, int64_t corner) {
  if (f->ring[edge] == f->ring[corner]) return 1;
  const cvtm_grid_point a = f->grid[edge], b = f->grid[f->next[edge]], p = f->grid[corner];
  const double length = grid_distance(a, b), ux = (double)b.x - a.x, uy = (double)b.y - a.y;
  if (length == 0 || is_same(a, p) || is_same(b, p)) return 1;
  const int64_t side = cvtm_orient(a, b, p);
  const double along = (((double)p.x - a.x) * ux + ((double)p.y - a.y) * uy) / length;
  const double beyond = fmax(fmax(-along, along - length), 0);
  if (hypot(beyond, (double)side / length) > reach) return 1;
  if (side == 0 && beyond == 0 && !f->with_exact) return 1;
  if (!cvtm_grow(&f->found, sizeof *f->found, &f->capacity, f->count + 1)) return 0;
  const double *place = f->rings->points + 2 * corner;
  f->found[f->count++] = (cvtm_new_corner){edge, along, {place[0], place[1]}, corner};
  return 1;
}

static cvtm_box box_of(const touch_finder *f, const int64_t *corner, int64_t count) {
  cvtm_box box = cvtm_empty_box();
  for (int64_t k = 0; k < count; ++k) {
    const double place[2] = {f->grid[corner[k]].x, f->grid[corner[k]].y};
    cvtm_box_add(&box, place);
  }
  return box;
}

/* Nonzero if an edge may be within reach of a box. */
static int is_near(const touch_finder *f, int64_t edge, const cvtm_box *b) {
  const cvtm_grid_point p = f->grid[edge], q = f->grid[f->next[edge]];
  const double px = p.x, py = p.y, qx = q.x, qy = q.y;
  if (fmax(px, qx) < b->low[0] - reach || fmin(px, qx) > b->high[0] + reach ||
      fmax(py, qy) < b->low[1] - reach || fmin(py, qy) > b->high[1] + reach)
    return 0;
  /* compares the distance of the centre from the line with the extent of the box across it */
  const double nx = py - qy, ny = qx - px;
  const double side =
      nx * (0.5 * (b->low[0] + b->high[0]) - px) + ny * (0.5 * (b->low[1] + b->high[1]) - py);
  const double extent =
      fabs(nx) * 0.5 * (b->high[0] - b->low[0]) + fabs(ny) * 0.5 * (b->high[1] - b->low[1]);
  return fabs(side) <= extent + 2 * reach * (fabs(nx) + fabs(ny));
}

/* Moves the corners below the middle of an axis to the front, and returns their number. */
static int64_t partition(const touch_finder *f, int64_t *corner, int64_t count, int axis,
                         double middle) {
  int64_t low = 0;
  for (int64_t k = 0; k < count; ++k) {
    const cvtm_grid_point p = f->grid[corner[k]];
    if ((axis == 0 ? p.x : p.y) > middle) continue;
    const int64_t swap = corner[low];
    corner[low++] = corner[k];
    corner[k] = swap;
  }
  return low;
}

/* Finds all touches between some corners and some edges by halving the bounding box of the corners
 * until few are left. Returns 0 if memory runs out. */
static int find_touches(touch_finder *f, int64_t *corner, int64_t count, const int64_t *edge,
                        int64_t edge_count) {
  enum { FEW = 12 };
  const cvtm_box b = box_of(f, corner, count);
  const int axis = b.high[1] - b.low[1] > b.high[0] - b.low[0];
  int64_t *near = malloc(((size_t)edge_count + 1) * sizeof *near), near_count = 0;
  if (near == NULL) return 0;
  for (int64_t k = 0; k < edge_count; ++k)
    if (is_near(f, edge[k], &b)) near[near_count++] = edge[k];
  int good = 1;
  if (count <= FEW || b.high[axis] == b.low[axis]) {
    for (int64_t k = 0; k < near_count && good; ++k)
      for (int64_t i = 0; i < count && good; ++i) good = test_pair(f, near[k], corner[i]);
  } else if (near_count > 0) {
    const int64_t low = partition(f, corner, count, axis, 0.5 * (b.low[axis] + b.high[axis]));
    good = find_touches(f, corner, low, near, near_count) &&
           find_touches(f, corner + low, count - low, near, near_count);
  }
  free(near);
  return good;
}

/* ---- Joining corners and edges ---- */

/* For qsort. */
static int compare_new(const void *left, const void *right) {
  const cvtm_new_corner *a = left, *b = right;
  if (a->edge != b->edge) return a->edge < b->edge ? -1 : 1;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return (a->corner > b->corner) - (a->corner < b->corner);
}

/* Moves corners close to an end of an edge to that end. Returns the number of corners moved. */
static int64_t merge_corners(const touch_finder *f, cvtm_polygons *rings) {
  int64_t moved = 0;
  for (int64_t k = 0; k < f->count; ++k) {
    const cvtm_new_corner *t = &f->found[k];
    const int64_t ends[2] = {t->edge, f->next[t->edge]};
    for (int i = 0; i < 2; ++i) {
      const int64_t to = ends[i] < t->corner ? ends[i] : t->corner;
      const int64_t from = ends[i] < t->corner ? t->corner : ends[i];
      if (grid_distance(f->grid[ends[i]], f->grid[t->corner]) > reach) continue;
      moved += memcmp(rings->points + 2 * from, rings->points + 2 * to, 2 * sizeof(double)) != 0;
      memcpy(rings->points + 2 * from, rings->points + 2 * to, 2 * sizeof(double));
    }
  }
  return moved;
}

int cvtm_rings_insert(cvtm_polygons *rings, cvtm_new_corner *list, int64_t count) {
  double *points = malloc(2 * (size_t)(rings->start[rings->ring_count] + count) * sizeof *points);
  int64_t made = 0, used = 0;
  if (points == NULL) return 0;
  qsort(list, (size_t)count, sizeof *list, compare_new);
  for (int64_t r = 0, v = 0; r < rings->ring_count; ++r) {
    const int64_t end = rings->start[r + 1];
    rings->start[r] = made;
    for (; v < end; ++v) {
      memcpy(points + 2 * made++, rings->points + 2 * v, 2 * sizeof *points);
      for (; used < count && list[used].edge == v; ++used)
        if (memcmp(points + 2 * (made - 1), list[used].place, 2 * sizeof *points) != 0)
          memcpy(points + 2 * made++, list[used].place, 2 * sizeof *points);
    }
  }
  rings->start[rings->ring_count] = made;
  free(rings->points);
  rings->points = points;
  return 1;
}

/* Memory per corner. */
typedef struct corners {
  cvtm_grid_point *grid;
  int64_t *next, *corner, *edge;
  int32_t *ring;
} corners;

static int describe_corners(const cvtm_polygons *rings, cvtm_scratch *memory, corners *c) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  *c = (corners){
      cvtm_scratch_take(memory, n, sizeof *c->grid), cvtm_scratch_take(memory, n, sizeof *c->next),
      cvtm_scratch_take(memory, n, sizeof *c->corner),
      cvtm_scratch_take(memory, n, sizeof *c->edge), cvtm_scratch_take(memory, n, sizeof *c->ring)};
  if (memory->failed) return 0;
  for (int64_t r = 0; r < rings->ring_count; ++r) {
    for (int64_t v = rings->start[r]; v < rings->start[r + 1]; ++v) {
      c->next[v] = v + 1 < rings->start[r + 1] ? v + 1 : rings->start[r];
      c->ring[v] = (int32_t)r;
      c->corner[v] = c->edge[v] = v;
    }
  }
  return 1;
}

/* *changed: nonzero if corners were moved or added. */
static cvtm_status join_once(cvtm_polygons *rings, int with_exact, int *changed,
                             cvtm_error *error) {
  const int64_t count = rings->start[rings->ring_count];
  cvtm_scratch memory = {0};
  corners c;
  touch_finder f = {0};
  int good = describe_corners(rings, &memory, &c);
  cvtm_status status = good ? cvtm_grid_of_points(rings->points, count, c.grid, error) : CVTM_OK;
  *changed = 0;
  if (good && status == CVTM_OK) {
    f = (touch_finder){rings, c.grid, c.next, c.ring, with_exact, NULL, 0, 0};
    good = find_touches(&f, c.corner, count, c.edge, count);
  }
  if (good && f.count > 0) {
    qsort(f.found, (size_t)f.count, sizeof *f.found, compare_new); /* the order of merges */
    if (merge_corners(&f, rings) == 0) good = cvtm_rings_insert(rings, f.found, f.count);
    *changed = 1;
  }
  cvtm_scratch_free(&memory);
  free(f.found);
  return good ? status : cvtm_no_memory(error, "the rings");
}

/* Divides rings, then joins them: a corner within 1.5 grid steps (2^-30 of the longer side of the
 * bounding box) of a corner of another ring moves onto that corner; a corner this close to an edge
 * of another ring also becomes a corner of that edge. Rings that touch except for rounding then
 * touch exactly. Without `divide`, rings that touch themselves are not divided, and edges get all
 * corners on them. */
static cvtm_status rings_join(cvtm_polygons *rings, int divide, cvtm_error *error) {
  enum {
    ROUNDS = 8
  }; /* inserting a corner bends an edge, which may then be close to another corner */
  int changed = 1;
  for (int round = 0; round < ROUNDS && changed && rings->ring_count > 0; ++round) {
    if (divide) CVTM_TRY(rings_divide(rings, error));
    changed = 0;
    if (rings->ring_count > 1) CVTM_TRY(join_once(rings, !divide, &changed, error));
  }
  return CVTM_OK;
}

cvtm_status cvtm_rings_touch(cvtm_polygons *rings, cvtm_error *error) {
  return rings_join(rings, 0, error);
}

/* ---- CSV ---- */

static int is_header(cvtm_csv_line line) {
  return *line.at == '"' || cvtm_is_letter((unsigned char)*line.at);
}

static int take_coordinate(cvtm_csv_line *line, double *value) {
  cvtm_csv_field field;
  return cvtm_csv_next_field(line, &field) &&
         cvtm_token_number((cvtm_token){field.text, field.length}, value);
}

/* Reads rings. An empty line ends a ring; a line with only a comment does not. */
cvtm_status cvtm_read_polygons_csv(cvtm_source *s, cvtm_ring_collector *c) {
  cvtm_status status = CVTM_OK;
  int may_be_header = 1;
  for (; s->at < s->size && status == CVTM_OK; ++s->line) {
    cvtm_csv_line line = cvtm_csv_take_line(s->data, s->size, &s->at);
    double x, y;
    if (line.at == line.end) {
      if (!line.has_comment) status = cvtm_ring_close(c);
      continue;
    }
    const int header = may_be_header && is_header(line);
    may_be_header = 0;
    if (header) continue;
    if (c->open == 0) status = cvtm_ring_begin_shape(c, NULL);
    if (status != CVTM_OK) break;
    if (take_coordinate(&line, &x) && take_coordinate(&line, &y))
      status = cvtm_ring_add_point(c, x, y);
    else
      status = cvtm_source_fail(s, "a corner needs two numbers");
  }
  return status == CVTM_OK ? cvtm_ring_close(c) : status;
}

/* ---- GeoJSON ---- */

/* A geometry of GeoJSON. depth: of its nested arrays of positions; `end` is called after each array
 * of depth ends_at. */
typedef struct json_geometry {
  const char *type;
  int depth, ends_at;
  cvtm_status (*end)(cvtm_ring_collector *collector);
} json_geometry;

static const json_geometry geometries[] = {
    {"Polygon", 2, 1, cvtm_ring_close},       {"MultiPolygon", 3, 1, cvtm_ring_close},
    {"LineString", 1, 1, cvtm_ring_end_line}, {"MultiLineString", 2, 1, cvtm_ring_end_line},
    {"Point", 0, 0, cvtm_ring_end_line},      {"MultiPoint", 1, 0, cvtm_ring_end_line}};

static cvtm_status read_json_position(const cJSON *position, cvtm_ring_collector *c) {
  const cJSON *x = cJSON_IsArray(position) ? position->child : NULL;
  const cJSON *y = x != NULL ? x->next : NULL;
  if (!cJSON_IsNumber(x) || !cJSON_IsNumber(y))
    return cvtm_source_fail(c->source, "ring %" PRId64 ": a position needs two numbers",
                            c->rings.ring_count);
  return cvtm_ring_add_point(c, x->valuedouble, y->valuedouble);
}

static cvtm_status read_json_arrays(const cJSON *array, int depth, const json_geometry *geometry,
                                    cvtm_ring_collector *c) {
  const cJSON *item;
  if (!cJSON_IsArray(array)) return cvtm_source_fail(c->source, "the coordinates are not an array");
  if (depth == 0) {
    if (array->child != NULL || geometry->depth > 0) CVTM_TRY(read_json_position(array, c));
  } else {
    cJSON_ArrayForEach(item, array) {
      CVTM_TRY(depth > 1 || geometry->ends_at == 0 ? read_json_arrays(item, depth - 1, geometry, c)
                                                   : read_json_position(item, c));
    }
  }
  return depth == geometry->ends_at ? geometry->end(c) : CVTM_OK;
}

/* The name of a feature: a property, or the id; NULL: none. number: memory for a number as text. */
static const char *name_of_feature(const cJSON *feature, char number[32]) {
  static const char *const keys[] = {"name", "material", "label", "region", "class"};
  enum { KEYS = sizeof keys / sizeof keys[0] };
  const cJSON *properties = cJSON_GetObjectItemCaseSensitive(feature, "properties");
  for (int k = 0; k <= KEYS; ++k) {
    const cJSON *value = k < KEYS ? cJSON_GetObjectItem(properties, keys[k])
                                  : cJSON_GetObjectItemCaseSensitive(feature, "id");
    if (cJSON_IsString(value) && *value->valuestring != 0) return value->valuestring;
    if (!cJSON_IsNumber(value)) continue;
    snprintf(number, 32, "%.9g", value->valuedouble);
    return number;
  }
  return NULL;
}

static cvtm_status begin_feature(const cJSON *feature, cvtm_ring_collector *c) {
  char number[32];
  return cvtm_ring_begin_shape(c, name_of_feature(feature, number));
}

/* Reads an object; the parser limits the depth of recursion. in_feature: nonzero if the shape of
 * the geometry has begun. */
static cvtm_status read_json_object(const cJSON *object, int in_feature, cvtm_ring_collector *c) {
  const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));
  if (type == NULL) return cvtm_source_fail(c->source, "an object has no type");
  const cJSON *coordinates = cJSON_GetObjectItemCaseSensitive(object, "coordinates");
  for (size_t k = 0; k < sizeof geometries / sizeof geometries[0]; ++k) {
    const json_geometry *g = &geometries[k];
    if (strcmp(type, g->type) != 0) continue;
    if (!in_feature) CVTM_TRY(cvtm_ring_begin_shape(c, NULL));
    if (g->end == cvtm_ring_close && c->name[c->shape_count - 1] != NULL) c->names_divide = 1;
    return read_json_arrays(coordinates, g->depth, g, c);
  }
  if (strcmp(type, "Feature") == 0) {
    const cJSON *geometry = cJSON_GetObjectItemCaseSensitive(object, "geometry");
    if (!cJSON_IsObject(geometry)) return CVTM_OK;
    const cvtm_status status = begin_feature(object, c);
    return status == CVTM_OK ? read_json_object(geometry, 1, c) : status;
  }
  const char *list = strcmp(type, "FeatureCollection") == 0    ? "features"
                     : strcmp(type, "GeometryCollection") == 0 ? "geometries"
                                                               : NULL;
  if (list == NULL) return CVTM_OK;
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, list)) {
    CVTM_TRY(read_json_object(item, in_feature, c));
  }
  return CVTM_OK;
}

/* Moves s->at to the next value; returns 0 at the end. Values of a text sequence (RFC 8142) begin
 * with a record separator. */
static int find_value(cvtm_source *s) {
  while (s->at < s->size && strchr(" \t\r\n\x1e", s->data[s->at]) != NULL && s->data[s->at] != 0)
    ++s->at;
  return s->at < s->size;
}

/* Reads one value, or several, each on its own line. */
static cvtm_status read_geojson(cvtm_source *s, cvtm_ring_collector *c) {
  cvtm_status status = CVTM_OK;
  s->offsets = 1;
  for (int first = 1; status == CVTM_OK && (find_value(s) || first); first = 0) {
    const char *const text = (const char *)s->data, *end = NULL;
    if (!first && s->data[s->at] != '{')
      return cvtm_source_fail(s, "text after the end of the value");
    errno = 0;
    cJSON *root = cJSON_ParseWithLengthOpts(text + s->at, s->size - s->at, &end, 0);
    /* cJSON does not report a failed allocation, but sets errno */
    if (root == NULL && errno == ENOMEM) return cvtm_source_no_memory(s);
    if (end != NULL) s->at = (size_t)(end - text);
    if (root == NULL) return cvtm_source_fail(s, "not valid JSON");
    status = read_json_object(root, 0, c);
    cJSON_Delete(root);
  }
  return status;
}

/* ---- Crossings, and the direction of rings ---- */

static int64_t ring_of(const cvtm_polygons *rings, int64_t point) {
  return cvtm_lower_bound_64((const uint64_t *)rings->start, 0, rings->ring_count,
                             (uint64_t)point + 1) -
         1;
}

/* The point where two edges meet: their crossing, or the first corner if they are parallel. */
static void find_meeting(const cvtm_polygons *rings, const int64_t pair[2], double place[2]) {
  const double *p[4];
  for (int k = 0; k < 2; ++k) {
    const int64_t ring = ring_of(rings, pair[k]);
    const int64_t next = pair[k] + 1 < rings->start[ring + 1] ? pair[k] + 1 : rings->start[ring];
    p[2 * k] = rings->points + 2 * pair[k];
    p[2 * k + 1] = rings->points + 2 * next;
  }
  const double ux = p[1][0] - p[0][0], uy = p[1][1] - p[0][1], vx = p[3][0] - p[2][0],
               vy = p[3][1] - p[2][1], turn = ux * vy - uy * vx;
  const double s = ((p[2][0] - p[0][0]) * vy - (p[2][1] - p[0][1]) * vx) / turn;
  const double along = turn != 0 && s > 0 ? fmin(s, 1) : 0;
  place[0] = p[0][0] + along * ux;
  place[1] = p[0][1] + along * uy;
}

/* Names a ring by its shape, as far as the format has shapes. c: NULL if the rings are not those of
 * the collector any more. */
static void describe_ring(const cvtm_ring_collector *c, int64_t ring, char *text, size_t size) {
  const int32_t shape = c != NULL && c->shape_count > 0 ? c->shape[ring] : -1;
  const char *name = shape >= 0 && c->name != NULL ? c->name[shape] : NULL;
  if (shape < 0)
    snprintf(text, size, "ring %" PRId64, ring);
  else if (name != NULL)
    snprintf(text, size, "ring %" PRId64 " (shape %" PRId32 ", %s)", ring, shape + 1, name);
  else
    snprintf(text, size, "ring %" PRId64 " (shape %" PRId32 ")", ring, shape + 1);
}

static cvtm_status refuse_pair(const cvtm_polygons *rings, const cvtm_ring_collector *c,
                               const int64_t pair[2], const char *name, cvtm_error *error) {
  const int64_t ring = ring_of(rings, pair[0]), other = ring_of(rings, pair[1]);
  const double *a = rings->points + 2 * pair[0], *b = rings->points + 2 * pair[1];
  char first[128], second[128];
  double place[2];
  describe_ring(c, ring < other ? ring : other, first, sizeof first);
  describe_ring(c, ring < other ? other : ring, second, sizeof second);
  find_meeting(rings, pair, place);
  if (ring == other)
    return cvtm_fail(
        error, CVTM_ERROR_INPUT,
        "%s: %s meets itself at (%.9g, %.9g): the edges that begin at (%.9g, %.9g) and at "
        "(%.9g, %.9g)",
        name, first, place[0], place[1], a[0], a[1], b[0], b[1]);
  return cvtm_fail(
      error, CVTM_ERROR_INPUT,
      "%s: %s and %s cross at (%.9g, %.9g): the edges that begin at (%.9g, %.9g) and at "
      "(%.9g, %.9g)",
      name, first, second, place[0], place[1], a[0], a[1], b[0], b[1]);
}

static void reverse(double *points, int64_t count) {
  for (int64_t i = 0, k = count - 1; i < k; ++i, --k) {
    for (int axis = 0; axis < 2; ++axis) {
      const double swap = points[2 * i + axis];
      points[2 * i + axis] = points[2 * k + axis];
      points[2 * k + axis] = swap;
    }
  }
}

void cvtm_polygons_turn(cvtm_polygons *polygons, int height) {
  if (!polygons->y_up) return;
  for (int64_t r = 0; r < polygons->ring_count; ++r) {
    const int64_t first = polygons->start[r], end = polygons->start[r + 1];
    for (int64_t k = first; k < end; ++k)
      polygons->points[2 * k + 1] = height - polygons->points[2 * k + 1];
    reverse(polygons->points + 2 * first, end - first);
  }
  polygons->y_up = 0;
}

cvtm_status cvtm_rings_refuse_crossings(const cvtm_ring_collector *c, const char *name,
                                        cvtm_error *error) {
  const cvtm_polygons *rings = &c->rings;
  const double depth = 32; /* grid steps; joining moves edges by less than this */
  int64_t pair[2];
  const cvtm_status status =
      cvtm_find_deep_crossing(rings->points, rings->start, rings->ring_count, depth, pair, error);
  return status == CVTM_OK && pair[0] >= 0 ? refuse_pair(rings, c, pair, name, error) : status;
}

static cvtm_status check_rings(cvtm_polygons *rings, const char *name, cvtm_error *error) {
  uint8_t *reversed = malloc((size_t)rings->ring_count);
  if (reversed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  int64_t pair[2];
  cvtm_status status =
      cvtm_check_rings(rings->points, rings->start, rings->ring_count, reversed, pair, error);
  if (status == CVTM_OK && pair[0] >= 0) status = refuse_pair(rings, NULL, pair, name, error);
  for (int64_t r = 0; r < rings->ring_count && status == CVTM_OK; ++r) {
    const int64_t first = rings->start[r];
    if (reversed[r]) reverse(rings->points + 2 * first, rings->start[r + 1] - first);
  }
  free(reversed);
  return status;
}

/* ---- Reading ---- */

const cvtm_format cvtm_format_geojson = {.extension = "geojson",
                                         .alias = "json ndjson geojsonl geojsons",
                                         .help = "GeoJSON: polygons, lines and points to keep",
                                         .read_polygons = read_geojson};

int cvtm_polygon_format_known(const char *path) {
  return cvtm_format_of(path, CVTM_READS_POLYGONS) != NULL;
}

cvtm_status cvtm_rings_read(const char *extension, cvtm_source *source, cvtm_ring_collector *c) {
  const cvtm_format *f = cvtm_format_find(cvtm_formats, extension, CVTM_READS_POLYGONS);
  *c = (cvtm_ring_collector){.source = source};
  if (f == NULL)
    return cvtm_format_unknown(source->name, "polygon", CVTM_READS_POLYGONS, source->error);
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  cvtm_status status = f->read_polygons(source, c);
  if (status == CVTM_OK) status = make_rings_of_lines(c);
  cvtm_numeric_locale_leave(locale);
  return status;
}

cvtm_status cvtm_polygons_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                     const char *name, cvtm_polygons *polygons, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_ring_collector c;
  cvtm_status status = cvtm_rings_read(extension, &source, &c);
  if (status == CVTM_OK) status = cvtm_rings_refuse_crossings(&c, name, error);
  if (status == CVTM_OK) status = rings_join(&c.rings, 1, error);
  if (status == CVTM_OK && c.rings.ring_count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no polygon with an area", name);
  if (status == CVTM_OK) status = check_rings(&c.rings, name, error);
  if (status == CVTM_OK) {
    *polygons = c.rings;
    polygons->y_up = strcmp(extension, "poly") == 0;
    c.rings = (cvtm_polygons){0};
  }
  cvtm_ring_collector_free(&c);
  return status;
}

cvtm_status cvtm_polygons_load(const char *path, unsigned char **bytes, size_t *size,
                               cvtm_error *error) {
  const cvtm_format *f = cvtm_format_of(path, CVTM_READS_POLYGONS);
  return f != NULL ? cvtm_format_load(f, path, (size_t)1 << 31, bytes, size, error)
                   : cvtm_format_unknown(path, "polygon", CVTM_READS_POLYGONS, error);
}

cvtm_status cvtm_polygons_read(const char *path, cvtm_polygons *polygons, cvtm_error *error) {
  char buffer[16];
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_polygons_load(path, &bytes, &size, error));
  cvtm_status status = cvtm_polygons_read_bytes(cvtm_file_extension(path, buffer, sizeof buffer),
                                                bytes, size, path, polygons, error);
  free(bytes);
  return status;
}
