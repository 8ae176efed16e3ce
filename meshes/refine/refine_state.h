/* Inside meshes only: data and functions that the files refine*.c share. */
#pragma once

#include "meshes/delaunay/half_edges.h"
#include "meshes/refine.h"
#include "meshes/delaunay/grid.h"

typedef enum cvtm_vertex_kind {
  CVTM_VERTEX_GIVEN,      /* vertex of the given boundary: does not move */
  CVTM_VERTEX_ON_SEGMENT, /* added between the ends of a segment */
  CVTM_VERTEX_SITE,       /* given inside */
  CVTM_VERTEX_FREE        /* added inside */
} cvtm_vertex_kind;

typedef struct cvtm_refine_vertex {
  double scale;    /* grid steps: smallest distances in the input around the vertex, or around its
                      parents */
  int32_t segment; /* the segment on which it lies, or -1 */
  int32_t copy;    /* on a segment with a twin: the copy of the vertex on the twin */
  uint8_t kind;    /* cvtm_vertex_kind */
  uint8_t cause;   /* why it was added: CVTM_CAUSE_... */
} cvtm_refine_vertex;

enum { CVTM_CAUSE_NONE, CVTM_CAUSE_ANGLE, CVTM_CAUSE_AREA };

/* A triangle with a side shorter than this fraction of the distances in the input around it is not
 * split for its angle; else refinement would not end where the bound cannot be reached. */
static const double cvtm_least_share = 1.0 / 8;
static const double cvtm_fewest_steps =
    2; /* least length of a part that may be split, or of a side */
/* Grid steps. Where parts of the input are closer than this, or sides are shorter than half of it,
 * rounding to the grid changes angles by degrees, so angles may be below the bound. */
static const double cvtm_narrow_steps = 32;

/* A triangle to split or to test again. */
typedef struct cvtm_bad_triangle {
  double priority; /* larger ones first */
  int64_t number;  /* earlier ones first */
  int64_t triangle;
  int32_t corner[3];
  int tries;
} cvtm_bad_triangle;

/* A part of a segment (a subsegment) to split, given by its ends. */
typedef struct cvtm_bad_part {
  int64_t half;
  int32_t from, to;
  double scale; /* scale of the vertex that encroaches on the part */
} cvtm_bad_part;

typedef struct cvtm_refiner {
  cvtm_half_edges m;
  const cvtm_refine_options *options;
  cvtm_grid_frame frame;
  cvtm_refine_vertex *vertex; /* per vertex of m */
  int64_t vertex_capacity;
  int32_t *ends; /* 2 per segment: its ends; the outside is never on the left of a segment */
  uint8_t *borders_outside; /* per segment: nonzero if the outside is on its right */
  int64_t *meeting; /* given_count + 1: where the segments of each given vertex begin in `met` */
  int32_t *met;     /* the segments of all given vertices, one vertex after another */
  int32_t *twin; /* per segment on a periodic side: the segment that is its copy and is divided in
                    the same way, with opposite direction; -1: none */
  uint8_t
      *is_acute; /* per given vertex: nonzero if two segments meet there at less than 60 degrees */
  uint8_t *touches; /* per given vertex: nonzero if the boundary touches itself there, so that the
                       triangles around the vertex form several fans */
  int touch_count;  /* number of such vertices */
  int64_t given_count; /* number of vertices of the boundary, which come first */
  int64_t segment_count;
  int keeps_inside;   /* nonzero: new vertices on the border are never outside, so that parts of the
                         border that are a grid step apart do not cross */
  int keeps_segments; /* 1: segments on the border are not divided; 2: no segment is divided */
  int64_t most_added; /* number of added vertices at which insertion ends */
  double cotangent;   /* cotangent of the bound */
  int relocates;      /* nonzero: try to move corners before vertices are inserted */
  int64_t most;       /* number of vertices at which insertion for angles ends */
  int64_t polls;      /* number of opportunities to call options->stop */
  int stopped;
  double lens; /* a vertex encroaches on a part if it sees the part at an angle whose cosine is at
                  most this */
  double off_centre;
  cvtm_bad_triangle *heap;
  int64_t heap_count, heap_capacity, numbers;
  cvtm_bad_part *parts;
  int64_t part_count, part_capacity;
  int64_t *changed; /* triangles */
  int64_t changed_count, changed_capacity;
  int64_t *stamp; /* per triangle: the round in which it was last listed as changed */
  int64_t stamp_capacity, round;
  uint8_t *near; /* per vertex: nonzero close to a triangle that insertion changed; set when
                    vertices first approach their targets */
  cvtm_refine_figures *figures;
  cvtm_error *error;
} cvtm_refiner;

/* Nonzero for a vertex that was given on the boundary or added there. */
static inline int cvtm_is_on_boundary(const cvtm_refiner *r, int64_t v) {
  return r->vertex[v].kind == CVTM_VERTEX_GIVEN || r->vertex[v].kind == CVTM_VERTEX_ON_SEGMENT;
}

static inline int64_t cvtm_most_points(const cvtm_refine_options *options) {
  return options->most_points > 0 ? options->most_points : 100000000;
}

double cvtm_triangle_cotangent(const cvtm_refiner *r, int64_t t);
/* The half-edge of a triangle's shortest side. */
int64_t cvtm_shortest_side(const cvtm_refiner *r, int64_t t);
/* The area of a triangle divided by its cap. */
double cvtm_triangle_excess(const cvtm_refiner *r, int64_t t);
/* The given vertex whose small angle forces a triangle below the bound; -1: none. *cotangent: the
 * cotangent of this angle. */
int32_t cvtm_small_corner_of(const cvtm_refiner *r, int64_t t, double *cotangent);

/* Lists in r->changed the triangles changed after the first `mark` changes, each once. */
cvtm_status cvtm_list_changed(cvtm_refiner *r, int64_t mark);

/* The grid point for parameter s of a segment (0: its first end, 1: the second): a grid point
 * exactly on the segment if there is one within the tolerance of s, else the closest grid point.
 * With r->keeps_inside and a segment on the border, the point is not outside. */
cvtm_grid_point cvtm_segment_place(const cvtm_refiner *r, int32_t segment, double s,
                                   double tolerance);
double cvtm_segment_parameter(const cvtm_refiner *r, int32_t segment, cvtm_grid_point p);

void cvtm_refine_set_bound(cvtm_refiner *r, double degrees);
/* Makes a segment of each part of a constraint between two vertices. *edge_of (malloc'd): the
 * constraint of each segment. */
cvtm_status cvtm_refine_number_segments(cvtm_refiner *r, int32_t **edge_of);
/* Describes all vertices as given, and finds scales and acute corners. The caller has set the
 * triangulation and the segments. boundary, edge_of: as for cvtm_refine_pair_segments. */
cvtm_status cvtm_refine_begin(cvtm_refiner *r, const cvtm_boundary *boundary,
                              const int32_t *edge_of);
void cvtm_refine_destroy(cvtm_refiner *r);

/* Finds the twins of segments. edge_of: the edge of each segment; NULL: no edge has a twin. */
cvtm_status cvtm_refine_pair_segments(cvtm_refiner *r, const cvtm_boundary *boundary,
                                      const int32_t *edge_of);
/* Gives vertices at corresponding ends of twins the smaller of their scales, and makes both acute
 * if one is acute. */
void cvtm_refine_share_corners(cvtm_refiner *r);

/* Finds the vertices at which the boundary touches itself. */
cvtm_status cvtm_refine_find_touches(cvtm_refiner *r);
/* Divides segments between two such vertices, because refine_find_part may not find them. */
cvtm_status cvtm_refine_divide_between_touches(cvtm_refiner *r);

/* Nonzero once options->stop has ended the refinement. */
int cvtm_refine_is_over(cvtm_refiner *r);
/* Splits triangles until all are good, or no further split is allowed. */
cvtm_status cvtm_refine_insert(cvtm_refiner *r);
/* Moves or removes vertices of bad triangles; no triangle becomes worse than before. */
cvtm_status cvtm_refine_repair(cvtm_refiner *r);
/* Moves a corner of a bad triangle so that all triangles around it are good. *done: nonzero if a
 * corner was moved. */
cvtm_status cvtm_refine_relocate(cvtm_refiner *r, int64_t t, int *done);
/* Moves the vertices around changes towards their targets (2 per vertex, in grid steps), as far as
 * no triangle becomes worse. */
cvtm_status cvtm_refine_approach(cvtm_refiner *r, const double *target, int64_t *moved);
/* Joins segments that are parts of one straight edge, so that the vertices between them can move
 * along the edge. corner: per vertex: nonzero if the vertex must not move. */
cvtm_status cvtm_refine_join_segments(cvtm_refiner *r, const uint8_t *corner);
/* cvtm_refinement_boundary_angles, after cvtm_refine_join_segments. */
cvtm_status cvtm_refine_raise_at_boundary(cvtm_refiner *r, cvtm_boundary_angles *figures);
/* Raises the bound, which must hold, in steps of a quarter of a degree, as long as moves of
 * vertices can reach it. */
cvtm_status cvtm_refine_raise(cvtm_refiner *r, double bound);
/* Removes vertices as long as all triangles are good. */
cvtm_status cvtm_refine_simplify(cvtm_refiner *r);
/* While there are fewer than `wanted` vertices, inserts the circumcentres of the largest triangles,
 * if no triangle becomes bad and no segment is too close. */
cvtm_status cvtm_refine_fill(cvtm_refiner *r, int64_t wanted);
