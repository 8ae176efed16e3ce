#include "meshes/crossings.h"

#include "meshes/snap.h"

#include <stdlib.h>
#include <string.h>

typedef struct side {
  cvtm_grid_point a, b;
  int64_t index;
  int32_t left, right, low, high; /* bounding box */
} side;

static int compare_sides(const void *first, const void *second) {
  const side *a = first, *b = second;
  if (a->left != b->left) return a->left < b->left ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static int sign(int64_t value) { return (value > 0) - (value < 0); }

/* How two sides meet: 0 not at all, 1 in a point without crossing, 2 crossing or along. */
static int meeting(const side *p, const side *q) {
  const int pa = sign(cvtm_orient(p->a, p->b, q->a)), pb = sign(cvtm_orient(p->a, p->b, q->b));
  const int qa = sign(cvtm_orient(q->a, q->b, p->a)), qb = sign(cvtm_orient(q->a, q->b, p->b));
  if (pa * pb > 0 || qa * qb > 0) return 0;
  if (pa != 0 || pb != 0) return pa * pb < 0 && qa * qb < 0 ? 2 : 1;
  /* On one line: what the boxes share is a point or a stretch. */
  const int32_t width =
      (p->right < q->right ? p->right : q->right) - (p->left > q->left ? p->left : q->left);
  const int32_t height =
      (p->high < q->high ? p->high : q->high) - (p->low > q->low ? p->low : q->low);
  if (width < 0 || height < 0) return 0;
  return width == 0 && height == 0 ? 1 : 2;
}

static void make_sides(const cvtm_grid_point *grid, const int32_t *edges, int64_t count,
                       side *sides) {
  for (int64_t e = 0; e < count; ++e) {
    const cvtm_grid_point a = grid[edges[2 * e]], b = grid[edges[2 * e + 1]];
    sides[e] = (side){a,
                      b,
                      e,
                      a.x < b.x ? a.x : b.x,
                      a.x < b.x ? b.x : a.x,
                      a.y < b.y ? a.y : b.y,
                      a.y < b.y ? b.y : a.y};
  }
}

/* A sweep from left to right over the sides that the line meets. */
static void sweep(const side *sides, int64_t count, int64_t *active, cvtm_meeting_visitor visit,
                  void *context) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    const side *p = &sides[i];
    int64_t still = 0;
    for (int64_t k = 0; k < kept; ++k) {
      const side *q = &sides[active[k]];
      if (q->right < p->left) continue;
      active[still++] = active[k];
      if (q->low > p->high || q->high < p->low) continue;
      const int how = meeting(p, q);
      if (how > 0 && visit(context, p->index, q->index, how == 2)) return;
    }
    kept = still;
    active[kept++] = i;
  }
}

cvtm_status cvtm_visit_meetings(const double *points, int64_t count, const int32_t *edges,
                                int64_t edge_count, cvtm_meeting_visitor visit, void *context,
                                cvtm_error *error) {
  double *places = malloc((size_t)count * 2 * sizeof *places);
  cvtm_grid_point *grid = malloc((size_t)count * sizeof *grid);
  side *sides = malloc(((size_t)edge_count + 1) * sizeof *sides);
  int64_t *active = malloc(((size_t)edge_count + 1) * sizeof *active);
  cvtm_status status = CVTM_OK;
  if (places == NULL || grid == NULL || sides == NULL || active == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to compare %lld edges",
                       (long long)edge_count);
  } else {
    memcpy(places, points, (size_t)count * 2 * sizeof *places);
    status = cvtm_snap_points(places, count, grid, error);
  }
  if (status == CVTM_OK) {
    make_sides(grid, edges, edge_count, sides);
    qsort(sides, (size_t)edge_count, sizeof *sides, compare_sides);
    sweep(sides, edge_count, active, visit, context);
  }
  free(places);
  free(grid);
  free(sides);
  free(active);
  return status;
}

static int mark_crossed(void *context, int64_t e, int64_t f, int crossing) {
  uint8_t *crossed = context;
  if (crossing) crossed[e] = crossed[f] = 1;
  return 0;
}

cvtm_status cvtm_find_crossed(const double *points, int64_t count, const int32_t *edges,
                              int64_t edge_count, uint8_t *crossed, int64_t *found,
                              cvtm_error *error) {
  memset(crossed, 0, (size_t)edge_count);
  const cvtm_status status =
      cvtm_visit_meetings(points, count, edges, edge_count, mark_crossed, crossed, error);
  *found = 0;
  for (int64_t e = 0; e < edge_count; ++e) *found += crossed[e];
  return status;
}
