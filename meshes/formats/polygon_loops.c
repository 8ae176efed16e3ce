/* Rings that meet themselves in corners become the loops between these. */
#include "meshes/formats/polygon_rings.h"
#include "meshes/delaunay/snap.h"

#include <stdlib.h>
#include <string.h>

typedef struct placed_corner {
  int64_t ring, corner;
  cvtm_grid_point place;
} placed_corner;

/* For qsort: by ring, then by place, then along the ring. */
static int compare_placed(const void *left, const void *right) {
  const placed_corner *a = left, *b = right;
  if (a->ring != b->ring) return a->ring < b->ring ? -1 : 1;
  if (a->place.x != b->place.x) return a->place.x < b->place.x ? -1 : 1;
  if (a->place.y != b->place.y) return a->place.y < b->place.y ? -1 : 1;
  return (a->corner > b->corner) - (a->corner < b->corner);
}

/* Memory per corner of all rings. */
typedef struct loop_finder {
  const cvtm_polygons *rings;
  double *places;
  cvtm_grid_point *grid;
  placed_corner *sorted;
  int64_t *first; /* the first corner of its ring at its place */
  int64_t *path;  /* corners on the way, each at another place */
  int64_t *at;    /* per first corner: where the path has it; -1: not */
  cvtm_polygons loops;
} loop_finder;

static int create_finder(const cvtm_polygons *rings, loop_finder *f) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  *f = (loop_finder){.rings = rings,
                     .places = malloc(2 * n * sizeof *f->places),
                     .grid = malloc(n * sizeof *f->grid),
                     .sorted = malloc(n * sizeof *f->sorted),
                     .first = malloc(n * sizeof *f->first),
                     .path = malloc(n * sizeof *f->path),
                     .at = malloc(n * sizeof *f->at)};
  f->loops.start = calloc(n + 1, sizeof *f->loops.start);
  f->loops.points = malloc(2 * n * sizeof *f->loops.points);
  if (!f->places || !f->grid || !f->sorted || !f->first || !f->path || !f->at || !f->loops.start ||
      !f->loops.points)
    return 0;
  memcpy(f->places, rings->points, 2 * n * sizeof *f->places);
  return 1;
}

static void free_finder(loop_finder *f) {
  free(f->places);
  free(f->grid);
  free(f->sorted);
  free(f->first);
  free(f->path);
  free(f->at);
  cvtm_polygons_free(&f->loops);
}

/* Fills `first`. Returns how many corners are not the first at their place. */
static int64_t find_first(loop_finder *f) {
  const int64_t count = f->rings->start[f->rings->ring_count];
  int64_t repeated = 0;
  for (int64_t r = 0; r < f->rings->ring_count; ++r)
    for (int64_t v = f->rings->start[r]; v < f->rings->start[r + 1]; ++v)
      f->sorted[v] = (placed_corner){r, v, f->grid[v]};
  qsort(f->sorted, (size_t)count, sizeof *f->sorted, compare_placed);
  for (int64_t k = 0; k < count; ++k) {
    const placed_corner *p = &f->sorted[k];
    const int same = k > 0 && p[-1].ring == p->ring && p[-1].place.x == p->place.x &&
                     p[-1].place.y == p->place.y;
    f->first[p->corner] = same ? f->first[p[-1].corner] : p->corner;
    repeated += same;
  }
  return repeated;
}

/* The end of the path, from `begin` on, is a loop. */
static void take_loop(loop_finder *f, int64_t begin, int64_t length) {
  cvtm_polygons *loops = &f->loops;
  const int64_t made = loops->start[loops->ring_count];
  for (int64_t k = begin; k < length; ++k) {
    memcpy(loops->points + 2 * (made + k - begin), f->rings->points + 2 * f->path[k],
           2 * sizeof(double));
    f->at[f->path[k]] = -1;
  }
  if (cvtm_ring_has_area(loops->points + 2 * made, length - begin))
    loops->start[++loops->ring_count] = made + length - begin;
}

/* A corner that is met again ends the loop that began there. */
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

cvtm_status cvtm_rings_divide(cvtm_polygons *rings, cvtm_error *error) {
  loop_finder f;
  const int good = create_finder(rings, &f);
  cvtm_status status =
      good ? cvtm_snap_points(f.places, rings->start[rings->ring_count], f.grid, error)
           : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the rings");
  if (status == CVTM_OK && find_first(&f) > 0) {
    find_loops(&f);
    const cvtm_polygons given = *rings;
    *rings = f.loops;
    f.loops = given;
  }
  free_finder(&f);
  return status;
}
