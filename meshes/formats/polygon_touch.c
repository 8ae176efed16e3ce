/* Rings that are meant to touch, as tangent circles are, but miss each other by rounding: their
 * coordinates are made to agree, so that they neither cross nor leave a gap that no mesh fits in.
 */
#include "base/grow.h"
#include "meshes/formats/polygon_rings.h"
#include "meshes/delaunay/snap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Grid steps. Rounding to the grid moves a corner and an edge apart by up to sqrt (2). */
static const double reach = 1.5;

/* A corner of one ring that nearly lies on an edge of another. */
typedef struct touch {
  int64_t edge; /* begins at this corner */
  double along; /* steps from there */
  int64_t corner;
} touch;

typedef struct finder {
  const cvtm_grid_point *grid;
  const int64_t *next; /* the corner after each in its ring */
  const int32_t *ring; /* of each corner */
  int with_exact;      /* touches that are exact count, too */
  touch *found;
  int64_t count, capacity;
} finder;

static double grid_distance(cvtm_grid_point p, cvtm_grid_point q) {
  return hypot((double)q.x - p.x, (double)q.y - p.y);
}

static int is_same(cvtm_grid_point p, cvtm_grid_point q) { return p.x == q.x && p.y == q.y; }

/* Adds the touch of an edge and a corner, if there is one. */
static int test_pair(finder *f, int64_t edge, int64_t corner) {
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
  f->found[f->count++] = (touch){edge, along, corner};
  return 1;
}

typedef struct box {
  double low[2], high[2];
} box;

static box box_of(const finder *f, const int64_t *corner, int64_t count) {
  box b = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}};
  for (int64_t k = 0; k < count; ++k) {
    const double place[2] = {f->grid[corner[k]].x, f->grid[corner[k]].y};
    for (int axis = 0; axis < 2; ++axis) {
      b.low[axis] = fmin(b.low[axis], place[axis]);
      b.high[axis] = fmax(b.high[axis], place[axis]);
    }
  }
  return b;
}

/* Whether an edge may come within reach of a box. */
static int is_near(const finder *f, int64_t edge, const box *b) {
  const cvtm_grid_point p = f->grid[edge], q = f->grid[f->next[edge]];
  const double px = p.x, py = p.y, qx = q.x, qy = q.y;
  if (fmax(px, qx) < b->low[0] - reach || fmin(px, qx) > b->high[0] + reach ||
      fmax(py, qy) < b->low[1] - reach || fmin(py, qy) > b->high[1] + reach)
    return 0;
  /* The distance of the box's centre from the line, against the box's extent across it. */
  const double nx = py - qy, ny = qx - px;
  const double side =
      nx * (0.5 * (b->low[0] + b->high[0]) - px) + ny * (0.5 * (b->low[1] + b->high[1]) - py);
  const double extent =
      fabs(nx) * 0.5 * (b->high[0] - b->low[0]) + fabs(ny) * 0.5 * (b->high[1] - b->low[1]);
  return fabs(side) <= extent + 2 * reach * (fabs(nx) + fabs(ny));
}

/* Puts the corners below the middle of an axis first; returns how many they are. */
static int64_t partition(const finder *f, int64_t *corner, int64_t count, int axis, double middle) {
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

/* All touches between some corners and some edges: halves the corners' box until few are left.
 * Returns 0 without memory. */
static int find_touches(finder *f, int64_t *corner, int64_t count, const int64_t *edge,
                        int64_t edge_count) {
  enum { FEW = 12 };
  const box b = box_of(f, corner, count);
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

/* ---- Corners that agree ---- */

/* For qsort. */
static int compare_touches(const void *left, const void *right) {
  const touch *a = left, *b = right;
  if (a->edge != b->edge) return a->edge < b->edge ? -1 : 1;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return (a->corner > b->corner) - (a->corner < b->corner);
}

/* Corners at an end of an edge move there. Returns how many moved. */
static int64_t merge_corners(const finder *f, cvtm_polygons *rings) {
  int64_t moved = 0;
  for (int64_t k = 0; k < f->count; ++k) {
    const touch *t = &f->found[k];
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

/* Edges get the corners that touch them. */
static int insert_corners(const finder *f, cvtm_polygons *rings) {
  const int64_t count = rings->start[rings->ring_count];
  double *points = malloc(2 * (size_t)(count + f->count) * sizeof *points);
  int64_t made = 0, used = 0;
  if (points == NULL) return 0;
  for (int64_t r = 0, v = 0; r < rings->ring_count; ++r) {
    const int64_t end = rings->start[r + 1];
    rings->start[r] = made;
    for (; v < end; ++v) {
      memcpy(points + 2 * made++, rings->points + 2 * v, 2 * sizeof *points);
      for (; used < f->count && f->found[used].edge == v; ++used) {
        const double *place = rings->points + 2 * f->found[used].corner;
        if (memcmp(points + 2 * (made - 1), place, 2 * sizeof *points) != 0)
          memcpy(points + 2 * made++, place, 2 * sizeof *points);
      }
    }
  }
  rings->start[rings->ring_count] = made;
  free(rings->points);
  rings->points = points;
  return 1;
}

/* Memory per corner. */
typedef struct corners {
  double *places;
  cvtm_grid_point *grid;
  int64_t *next, *corner, *edge;
  int32_t *ring;
} corners;

static int describe_corners(const cvtm_polygons *rings, corners *c) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  *c = (corners){malloc(2 * n * sizeof *c->places), malloc(n * sizeof *c->grid),
                 malloc(n * sizeof *c->next),       malloc(n * sizeof *c->corner),
                 malloc(n * sizeof *c->edge),       malloc(n * sizeof *c->ring)};
  if (!c->places || !c->grid || !c->next || !c->corner || !c->edge || !c->ring) return 0;
  memcpy(c->places, rings->points, 2 * n * sizeof *c->places);
  for (int64_t r = 0; r < rings->ring_count; ++r) {
    for (int64_t v = rings->start[r]; v < rings->start[r + 1]; ++v) {
      c->next[v] = v + 1 < rings->start[r + 1] ? v + 1 : rings->start[r];
      c->ring[v] = (int32_t)r;
      c->corner[v] = c->edge[v] = v;
    }
  }
  return 1;
}

/* *changed: whether corners moved or were added. */
static cvtm_status join_once(cvtm_polygons *rings, int with_exact, int *changed,
                             cvtm_error *error) {
  const int64_t count = rings->start[rings->ring_count];
  corners c;
  finder f = {0};
  int good = describe_corners(rings, &c);
  cvtm_status status = good ? cvtm_snap_points(c.places, count, c.grid, error) : CVTM_OK;
  *changed = 0;
  if (good && status == CVTM_OK) {
    f = (finder){.grid = c.grid, .next = c.next, .ring = c.ring, .with_exact = with_exact};
    good = find_touches(&f, c.corner, count, c.edge, count);
  }
  if (good && f.count > 0) {
    qsort(f.found, (size_t)f.count, sizeof *f.found, compare_touches);
    if (merge_corners(&f, rings) == 0) good = insert_corners(&f, rings);
    *changed = 1;
  }
  free(c.places);
  free(c.grid);
  free(c.next);
  free(c.corner);
  free(c.edge);
  free(c.ring);
  free(f.found);
  return good ? status : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the rings");
}

/* Without `divide` rings that meet themselves stay whole, and edges get all corners on them. */
static cvtm_status join_all(cvtm_polygons *rings, int divide, cvtm_error *error) {
  enum { ROUNDS = 8 }; /* an edge that bends may come within reach of another corner */
  int changed = 1;
  for (int round = 0; round < ROUNDS && changed && rings->ring_count > 0; ++round) {
    cvtm_status status = divide ? cvtm_rings_divide(rings, error) : CVTM_OK;
    changed = 0;
    if (status == CVTM_OK && rings->ring_count > 1)
      status = join_once(rings, !divide, &changed, error);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

cvtm_status cvtm_rings_join(cvtm_polygons *rings, cvtm_error *error) {
  return join_all(rings, 1, error);
}

cvtm_status cvtm_rings_touch(cvtm_polygons *rings, cvtm_error *error) {
  return join_all(rings, 0, error);
}
