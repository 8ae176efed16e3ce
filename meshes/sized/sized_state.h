/* Inside meshes/sized only: what the files share. Lengths are in steps of the predicates' grid, y
 * up, except where a comment names another unit. */
#ifndef CVTMESH_MESHES_SIZED_SIZED_STATE_H
#define CVTMESH_MESHES_SIZED_SIZED_STATE_H

#include "meshes/delaunay/half_edges.h"
#include "meshes/sized/size_tree.h"
#include "meshes/sized_mesh.h"

typedef struct cvtm_sized_vertex {
  double size; /* wanted length of edges at `at` */
  cvtm_grid_point at;
  int32_t place;    /* of a vertex on an edge of the boundary: its index in `places`; else -1 */
  uint8_t is_still; /* nonzero: the last move was short, or no better position was found */
  uint8_t colour;   /* CVTM_SIZED_COLOURS: none yet */
  uint8_t degree;   /* number of triangles that it should have */
  uint8_t in_patch; /* nonzero for vertices near a change that is tried */
} cvtm_sized_vertex;

/* Vertices inside, by colours. Vertices of one colour have no edge in common, so threads can
 * move them together with the result of moving them one after another. */
enum { CVTM_SIZED_COLOURS = 33 };
typedef struct cvtm_sized_colours {
  int32_t *free; /* the vertices inside that are not still, or were not when these were listed */
  int32_t *list; /* those of colour k: from first[k] to first[k + 1] - 1 */
  int64_t capacity, first[CVTM_SIZED_COLOURS + 1];
  uint8_t *has_moved; /* per vertex: nonzero if it has moved since the vertices were coloured */
} cvtm_sized_colours;

/* A vertex added on an edge of the boundary, at the fraction t from its lower to its upper end, in
 * the order of their coordinates. */
typedef struct cvtm_sized_place {
  int32_t edge;
  double t;
} cvtm_sized_place;

typedef struct cvtm_sizer {
  const cvtm_boundary *given;
  const cvtm_sized_options *options;
  cvtm_error *error;
  double corner[2], step; /* of the grid: x = corner[0] + step * grid x, y = corner[1] - step * grid
                             y */
  cvtm_grid_point *place; /* per given vertex */
  double scale;           /* factor of the wanted sizes: 1, or the ratio found by match_parts */
  cvtm_size_tree tree;    /* sizes that the boundary demands */
  double *least;          /* per given vertex: length of its shortest edge */
  uint8_t *is_acute;      /* per given vertex: two edges meet at less than 40 degrees */
  uint8_t *is_narrow;     /* per given edge: nonzero if another part of the boundary is near it */

  /* The divided boundary: the given vertices, then the added ones. */
  int64_t added;
  cvtm_sized_place *places; /* of vertices inserted while moving, too */
  int64_t place_count, place_capacity;
  cvtm_boundary parts; /* points: on the grid, y down; edges, left, right */
  int32_t *part_edge;  /* per part: the edge of the given boundary */

  cvtm_half_edges m;
  cvtm_sized_vertex *vertex; /* per vertex of m; the first are those of the divided boundary */
  int64_t vertex_capacity;
  int64_t fixed_count; /* number of vertices of the divided boundary */
  cvtm_sized_colours colours;
  cvtm_sized_figures *figures;
  double demand;    /* number of triangles by the integral of 1 / size^2 */
  double sharpness; /* 0, or that of smooth minima, which moves then raise in place of angles */
} cvtm_sizer;

/* The wanted size in a region; cvtm_sizer_given ignores the demands of the boundary, cvtm_sizer_at
 * includes them. */
double cvtm_sizer_given(const cvtm_sizer *z, int32_t region, double x, double y);
/* Fails, with a message about the size at (x, y). */
cvtm_status cvtm_sizer_refuse(const cvtm_sizer *z, double size, double x, double y);

static inline double cvtm_sizer_at(const cvtm_sizer *z, int32_t region, double x, double y) {
  return cvtm_size_tree_find(&z->tree, z->options->growth, x, y, cvtm_sizer_given(z, region, x, y),
                             NULL);
}

static inline double cvtm_sized_distance(cvtm_grid_point a, cvtm_grid_point b) {
  const double x = (double)a.x - b.x, y = (double)a.y - b.y;
  return sqrt(x * x + y * y);
}

/* The angle at a vertex between the directions to two others. */
static inline double cvtm_sized_angle(cvtm_grid_point at, cvtm_grid_point a, cvtm_grid_point b) {
  const double dot =
      ((double)a.x - at.x) * ((double)b.x - at.x) + ((double)a.y - at.y) * ((double)b.y - at.y);
  return atan2(fabs((double)cvtm_orient(at, a, b)), dot);
}

/* ---- The star of a vertex ---- */

enum { CVTM_SIZED_LINKS = 32 };

/* The links of a vertex (edges to neighbours), counterclockwise. x, y: relative to the vertex. */
typedef struct cvtm_sized_star {
  int count;
  int triangles; /* one less than the links on the border; triangle k is between links k and k + 1
                  */
  int64_t half[CVTM_SIZED_LINKS]; /* half-edges that leave the vertex */
  int32_t vertex[CVTM_SIZED_LINKS];
  double x[CVTM_SIZED_LINKS], y[CVTM_SIZED_LINKS];
  double scale[CVTM_SIZED_LINKS]; /* set by raise.c: 1 / the squares of wanted lengths */
  double sharpness;               /* set by raise.c: that of the sizer */
} cvtm_sized_star;

static inline void cvtm_sized_add_link(const cvtm_half_edges *m, int32_t v, int64_t h, int32_t w,
                                       cvtm_sized_star *s) {
  s->half[s->count] = h;
  s->vertex[s->count] = w;
  s->x[s->count] = (double)m->grid[w].x - m->grid[v].x;
  s->y[s->count++] = (double)m->grid[w].y - m->grid[v].y;
}

/* Finds the star of a vertex inside, or of a vertex on an edge of the boundary, where half-edge
 * `first` begins the fan. Returns 0 if the vertex has too many neighbours. */
static inline int cvtm_sized_find_star(const cvtm_half_edges *m, int32_t v, int64_t first,
                                       cvtm_sized_star *s) {
  int64_t h = first, last;
  s->count = 0;
  do {
    if (s->count + 1 >= CVTM_SIZED_LINKS) return 0;
    cvtm_sized_add_link(m, v, h, cvtm_end_of(m, h), s);
    last = h;
    h = cvtm_turn_left(m, h);
  } while (h != first && h >= 0);
  s->triangles = s->count;
  if (h < 0) cvtm_sized_add_link(m, v, -1, cvtm_apex_of(m, last), s);
  return 1;
}

/* Lets the neighbours of a vertex move again. Several threads may do so at once. */
static inline void cvtm_sizer_wake(cvtm_sizer *z, const cvtm_sized_star *s) {
  for (int k = 0; k < s->count; ++k) {
    uint8_t *is_still = &z->vertex[s->vertex[k]].is_still;
#pragma omp atomic write
    *is_still = 0;
  }
}

/* Nonzero if all triangles of the star are positive with the vertex at `to`. */
static inline int cvtm_sized_is_inside(const cvtm_half_edges *m, const cvtm_sized_star *s,
                                       cvtm_grid_point to) {
  for (int k = 0; k < s->triangles; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    if (cvtm_orient(to, m->grid[s->vertex[k]], m->grid[s->vertex[next]]) <= 0) return 0;
  }
  return 1;
}

/* ---- The steps ---- */

/* Divides the boundary and triangulates it, repeatedly while narrow parts ask for smaller sizes. */
cvtm_status cvtm_sizer_divide(cvtm_sizer *z);
/* Asks for the size `size` at (x, y), and for sizes that grow from there. */
cvtm_status cvtm_sizer_add_source(cvtm_sizer *z, double x, double y, double size);
/* Asks for smaller sizes where the boundary is narrower than its parts are long: at gaps between
 * vertices that an edge joins, and between vertices and the parts opposite to them. *found: the
 * number of such gaps. */
cvtm_status cvtm_sizer_find_gaps(cvtm_sizer *z, int64_t *found);
/* Places the vertices on one side of a narrow part opposite to the middles of the parts on the
 * other side. first: per given edge, and after the last, its first place; changed. */
cvtm_status cvtm_sizer_alternate(cvtm_sizer *z, int64_t *first);
/* The coordinates of a vertex of the divided boundary: the doubles of the input or, on an edge, as
 * close to the edge as doubles allow. */
void cvtm_sizer_place(const cvtm_sizer *z, int64_t v, double place[2]);
/* The point at the fraction t of an edge, and the fraction of the point of the edge closest to (x,
 * y) on the grid. */
void cvtm_sizer_point_on(const cvtm_sizer *z, int32_t edge, double t, double point[2]);
double cvtm_sizer_fraction(const cvtm_sizer *z, int32_t edge, double x, double y);
cvtm_grid_point cvtm_sizer_round(const cvtm_sizer *z, const double place[2]);
/* The vector along an edge, from its lower to its upper end. */
void cvtm_sizer_way(const cvtm_sizer *z, int32_t edge, double way[2]);
/* Moves vertices along narrow edges where that raises the mean of the smallest angles or, unless
 * for_mean, the least ones; before vertices are inserted inside, only in channels. Returns the
 * number of moves. */
int64_t cvtm_sizer_slide(cvtm_sizer *z, int rounds, int for_mean);
/* Estimates the number of vertices from the wanted sizes. Refuses sizes that need many more than
 * memory can hold. */
cvtm_status cvtm_sizer_estimate(cvtm_sizer *z);
/* The number of vertices that belong to triangles. */
int64_t cvtm_sizer_count(const cvtm_sizer *z);
/* Estimates it again after cvtm_sizer_fill. */
void cvtm_sizer_estimate_again(cvtm_sizer *z);
/* Fills the triangulation with vertices. */
cvtm_status cvtm_sizer_fill(cvtm_sizer *z);
/* Fills a large part of the domain where sizes hardly differ with a lattice that continues over a
 * part of the boundary. rim: the vertices beside which it ends, which the caller frees; direction:
 * the angle of its edges. Does nothing if there is no such place. */
cvtm_status cvtm_sizer_lay(cvtm_sizer *z, int64_t part, int32_t **rim, int64_t *count,
                           double *direction);
/* The triangle that contains a point; -1 if the boundary is between vertex p and the point. */
int64_t cvtm_sizer_see(const cvtm_sizer *z, int32_t p, cvtm_grid_point to);
/* Lists the vertices inside that are not still by colours. Returns 0 if memory runs out. */
int cvtm_sizer_colour(cvtm_sizer *z);
/* Moves, adds and removes vertices. */
cvtm_status cvtm_sizer_relax(cvtm_sizer *z);
/* Flips edges, removes and adds vertices where that is better. A vertex is tried again only if a
 * change near it has been kept. Returns the number of changes. */
int64_t cvtm_sizer_mend(cvtm_sizer *z);
/* The same at triangles with small angles alone. */
int64_t cvtm_sizer_mend_triangles(cvtm_sizer *z);
/* Raises the smallest angles. */
cvtm_status cvtm_sizer_raise(cvtm_sizer *z);
/* Makes room for the data of a new vertex of m, and sets them. */
cvtm_status cvtm_sizer_take_vertex(cvtm_sizer *z, int32_t v, double size);

#endif
