/* Delaunay refinement: constrained Delaunay triangulations without small angles or large
 * triangles. */
#ifndef CVTMESH_MESHES_REFINE_H
#define CVTMESH_MESHES_REFINE_H

#include "base/domain.h"
#include "meshes/constrained.h"

CVTM_API_BEGIN

/* The largest area, > 0, of a triangle of `region` whose centroid is at (x, y); INFINITY: any. */
typedef double (*cvtm_area_cap)(const void *context, int32_t region, double x, double y);

typedef struct cvtm_refine_options {
  double min_angle;   /* degrees, 0 .. 40; above 30 it may not be reached */
  double headroom;    /* degrees: a bound that is larger by this, but at most 33, is worked for, and
                         kept if it is reached, and the smallest angle is raised further where moves
                         do that; 1.5 */
  double growth;      /* a bound above 33 may take this many times the points of 33; 8 */
  cvtm_area_cap area; /* NULL: no cap */
  const void *area_context;
  int fewest; /* nonzero: then removes vertices and moves others as long as that succeeds */
  double paired_sides[4]; /* edges along the sides of this rectangle (left, upper, right, lower; y
                             down) are divided in pairs with the same edge of the opposite side. An
                             edge without one is not divided, unless no edges of these two sides are
                             equal; zeros: none */
  int64_t wanted; /* points; if fewer are left, others are put into the largest triangles, as far as
                     no angle gets below the bound; 0: any number */
  int64_t most_points; /* fails with CVTM_ERROR_INPUT rather than have more; 0: 100 million */
  int (*stop)(const void *context); /* asked now and then; nonzero ends the refinement, and the
                                       result is what has been reached; NULL: nothing does */
  const void *stop_context;
  CVTM_RESERVED(8);
} cvtm_refine_options;

void cvtm_refine_defaults(cvtm_refine_options *options); /* 30 degrees, no cap, fewest */

/* A vertex of the boundary where two of its edges meet at so small an angle that triangles there
 * stay below the bound. */
typedef struct cvtm_small_corner {
  double x, y;
  double angle;      /* degrees, between the two edges */
  int64_t triangles; /* below the bound, in that corner */
} cvtm_small_corner;

/* A triangle below the bound where pieces of the boundary are nearer to each other than 32 grid
 * steps, or where they force a side shorter than 16: vertices, which are points of the grid, cannot
 * keep the angles there. */
typedef struct cvtm_narrow_triangle {
  double x, y;     /* its centroid */
  double angle;    /* degrees, its smallest */
  double distance; /* of the pieces of the boundary around it */
} cvtm_narrow_triangle;

typedef struct cvtm_refine_figures {
  double bound;          /* degrees; that was worked for in the end */
  int stopped;           /* nonzero: options->stop ended the refinement */
  double min_angle;      /* degrees; of all triangles */
  double min_angle_free; /* of those that the boundary does not force below the bound: neither by a
                            small angle nor by pieces that are too near to each other */
  int64_t below;         /* triangles below the bound */
  int64_t below_free;    /* of these, those that the boundary does not force there */
  int64_t oversized;     /* triangles above their cap, where the grid or a small angle ended it */
  /* Vertices; those for the wanted number count as for areas. */
  int64_t added_on_boundary, added_for_angles, added_for_areas;
  int64_t removed, moved; /* of all vertices */
  int64_t paired[2]; /* pairs of edges on the left and right, and on the upper and lower side */
  int64_t unpaired;  /* edges without a copy that are not divided */
  int64_t corner_count;
  cvtm_small_corner *corners; /* malloc'd and owned */
  int64_t narrow_count;
  cvtm_narrow_triangle *narrow; /* malloc'd and owned */
} cvtm_refine_figures;

void cvtm_refine_figures_free(cvtm_refine_figures *figures);

/* Vertices for a constrained Delaunay triangulation (cvtm_constrained_delaunay) of the regions
 * that the boundary bounds, such that no angle is below the bound and no area above its cap, where
 * the boundary's angles allow. points: count; the first are the boundary's vertices and stay, the
 * others are inside (those outside are left out) and may be moved or removed. The result has the
 * vertices of the boundary, those that were added on it, and the others. refined: the boundary's
 * edges, divided where vertices were added: there vertices lie exactly on the edge if it passes
 * through a point of the grid near by, else within one grid step of it (2^-30 of the longer side
 * of the bounding box). source[v]: the point that vertex v was, or -1. Arrays are malloc'd.
 *
 * Chew's second algorithm (Chew 1993; Shewchuk 1997) with off-centres (Uengoer 2004). Edges that
 * meet at less than 60 degrees are divided at distances of powers of two from their common end,
 * and a triangle whose shortest edge connects two such edges at one of these distances is left
 * (Miller, Pav & Walkington 2003). It ends for every input: no triangle is split whose shortest
 * edge is far shorter than the distances in the input around it, or shorter than two grid
 * steps. For bounds above 33 degrees
 * a corner of a bad triangle is moved rather than a vertex inserted, where that makes all triangles
 * around it good (Erten & Uengoer 2009); and where the bound takes more points than `growth`
 * allows, a bound that is lower by up to 2 degrees is worked for. */
cvtm_status cvtm_refine(const double *points, int64_t count, const cvtm_boundary *boundary,
                        const cvtm_refine_options *options, double **refined_points,
                        int64_t *refined_count, cvtm_boundary *refined, int32_t **source,
                        cvtm_refine_figures *figures, cvtm_error *error);

/* Moves points inside, as cvtm_refine returned them with their boundary, towards their wishes
 * (2 * count): all the way, half or a quarter of it, as far as no triangle becomes worse than was
 * asked for. *moved: how many moved. Points on the boundary stay. */
cvtm_status cvtm_refine_move(double *points, int64_t count, const cvtm_boundary *boundary,
                             const cvtm_refine_options *options, const double *wish, int64_t *moved,
                             cvtm_error *error);

/* The smallest angles of triangles, degrees. */
typedef struct cvtm_smallest_angles {
  int64_t triangles;
  double least, fifth, median; /* fifth: the 5th percentile */
} cvtm_smallest_angles;

/* Of triangles within two elements of the boundary: with a corner on it, or joined to it by an
 * edge. */
typedef struct cvtm_boundary_angles {
  cvtm_smallest_angles before, after, inside; /* inside: of the other triangles, after the moves */
  double least_kept; /* of all triangles that are not below the bound; 0 if there are none */
  int64_t moved;
} cvtm_boundary_angles;

/* Moves points inside, as cvtm_refine returned them with their boundary, so that the smallest
 * angles of triangles within two elements of the boundary grow, up to 48 degrees. Vertices on
 * straight edges of the boundary that are no corners and have no copy on an opposite side move
 * along them. No move makes the worst triangle around a point worse, and none exceeds a cap of
 * areas. */
cvtm_status cvtm_refine_boundary_angles(double *points, int64_t count, cvtm_boundary *boundary,
                                        const cvtm_refine_options *options,
                                        cvtm_boundary_angles *figures, cvtm_error *error);

CVTM_API_END
#endif
