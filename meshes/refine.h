/* Delaunay refinement: constrained triangulations without small angles or large triangles. */
#pragma once

#include "base/domain.h"
#include "meshes/constrained.h"

CVTM_API_BEGIN

/* The largest area, > 0, of a triangle of `region` whose centroid is at (x, y); INFINITY: any. */
typedef double (*cvtm_area_cap)(const void *context, int32_t region, double x, double y);

/* A comment ends with the default; where it names none, the default is 0 or NULL. */
typedef struct cvtm_refine_options {
  double min_angle; /* degrees, 0 .. 40; above 30 it may not be reached; 30 */
  double headroom;  /* degrees: refinement first tries a bound larger by this, but at most 33, and
                       keeps the result if the bound is reached; moves then raise the smallest angle
                       further; 1.5 */
  double
      growth; /* largest number of points for a bound above 33, as a multiple of those for 33; 8 */
  cvtm_area_cap area; /* NULL: no cap */
  const void *area_context;
  int fewest; /* nonzero: finally removes vertices, and moves others, as long as the bounds hold; 1
               */
  int64_t wanted;      /* wanted number of points: if there are fewer, points are inserted into the
                          largest triangles as long as no angle falls below the bound; 0: any number */
  int64_t most_points; /* limit on the number of points, beyond which the call fails with
                          CVTM_ERROR_INPUT; 0: 100 million */
  int (*stop)(
      const void *context); /* called from time to time; if it returns nonzero, refinement ends, and
                               the result is the mesh so far; NULL: never called */
  const void *stop_context;
  CVTM_RESERVED(8);
} cvtm_refine_options;

void cvtm_refine_defaults(cvtm_refine_options *options);

/* A vertex of the boundary where two edges meet at so small an angle that triangles in this corner
 * remain below the bound. */
typedef struct cvtm_small_corner {
  double x, y;
  double angle;      /* degrees, between the two edges */
  int64_t triangles; /* number of triangles below the bound in that corner */
} cvtm_small_corner;

/* A triangle below the bound between parts of the boundary that are less than 32 grid steps apart
 * or force a side shorter than 16 steps. Since vertices are grid points, larger angles are
 * impossible. */
typedef struct cvtm_narrow_triangle {
  double x, y;     /* its centroid */
  double angle;    /* degrees, its smallest */
  double distance; /* distance of the parts of the boundary around it */
} cvtm_narrow_triangle;

typedef struct cvtm_refine_figures {
  double bound;          /* bound of the last attempt, degrees */
  int stopped;           /* nonzero: options->stop ended the refinement */
  double min_angle;      /* degrees; of all triangles */
  double min_angle_free; /* of the triangles that the boundary does not force below the bound, by a
                            small angle or by parts that are too close to each other */
  int64_t below;         /* triangles below the bound */
  int64_t below_free; /* of these, the triangles that the boundary does not force below the bound */
  int64_t oversized;  /* triangles above their largest area, because of the grid or a small angle */
  /* Numbers of vertices; those inserted to reach the wanted number count as added for areas. */
  int64_t added_on_boundary, added_for_angles, added_for_areas;
  int64_t removed, moved;
  int64_t corner_count;
  cvtm_small_corner *corners; /* malloc'd and owned */
  int64_t narrow_count;
  cvtm_narrow_triangle *narrow; /* malloc'd and owned */
} cvtm_refine_figures;

void cvtm_refine_figures_free(cvtm_refine_figures *figures);

/* A refined triangulation, whose vertices can still move. */
typedef struct cvtm_refinement cvtm_refinement;

/* Makes a constrained Delaunay triangulation (cvtm_constrained_delaunay) of the regions inside the
 * boundary, such that no angle is below the bound and no area above its cap, as far as the angles
 * of the boundary allow. points: count points; the first are the vertices of the boundary and do
 * not move; the others may be moved or removed, and are dropped if they lie outside. An added
 * vertex of the boundary lies exactly on the edge if the edge passes through a nearby grid point,
 * else within one grid step of the edge (2^-30 of the longer side of the bounding box). An edge is
 * divided together with its twin.
 * options->area_context and stop_context are borrowed. The caller destroys *made.
 *
 * Chew's second algorithm (Chew 1993; Shewchuk 1997) with off-centres (Uengoer 2004). Edges that
 * meet at less than 60 degrees are divided at distances from their common end that are powers of
 * two, and a triangle whose shortest edge connects two such edges at one of these distances is not
 * split (Miller, Pav & Walkington 2003). The algorithm terminates for every input, because no
 * triangle is split whose shortest edge is much shorter than the distances in the input around it,
 * or shorter than two grid steps. For bounds above 33 degrees a corner of a bad triangle is moved,
 * instead of inserting a vertex, if this makes all triangles around it good (Erten & Uengoer 2009).
 * If such a bound takes more points than `growth` allows, it is reduced by up to 2 degrees. */
cvtm_status cvtm_refine(const double *points, int64_t count, const cvtm_boundary *boundary,
                        const cvtm_refine_options *options, cvtm_refinement **made,
                        cvtm_refine_figures *figures, cvtm_error *error);
void cvtm_refinement_destroy(cvtm_refinement *refinement);

/* Returns the number of vertices. First come those of the boundary (*on_boundary, which may be
 * NULL), the given ones before those added on it; then the vertices inside. */
int64_t cvtm_refinement_count(const cvtm_refinement *refinement, int64_t *on_boundary);
/* points: 2 for each vertex. */
void cvtm_refinement_points(const cvtm_refinement *refinement, double *points);
/* mesh, regions: as of cvtm_constrained_delaunay. *source (malloc'd): per vertex the index of the
 * point that it was, or -1. */
cvtm_status cvtm_refinement_mesh(const cvtm_refinement *refinement, cvtm_mesh *mesh,
                                 cvtm_regions *regions, int32_t **source, cvtm_error *error);

/* Moves the vertices inside that are within four edges of a triangle changed by refinement towards
 * their targets (2 for each vertex): to the target, half as far or a quarter, such that no triangle
 * becomes worse with respect to the bounds. *moved: number of vertices moved. */
cvtm_status cvtm_refinement_move(cvtm_refinement *refinement, const double *target, int64_t *moved,
                                 cvtm_error *error);

/* The smallest angles of triangles, degrees. */
typedef struct cvtm_smallest_angles {
  int64_t triangles;
  double least, fifth, median; /* fifth: the 5th percentile */
} cvtm_smallest_angles;

/* Angles of the triangles within two elements of the boundary: triangles with a corner on it, or
 * with a corner that an edge connects to the boundary. */
typedef struct cvtm_boundary_angles {
  cvtm_smallest_angles before, after, inside; /* inside: the other triangles, after the moves */
  double least_kept; /* smallest angle of the triangles that are not below the bound; 0: no such
                        triangle */
  int64_t moved;
} cvtm_boundary_angles;

/* Moves the vertices inside so that the smallest angles of triangles within two elements of the
 * boundary grow, up to 48 degrees. Vertices on straight edges of the boundary also move, along the
 * edge, unless they are corners or have a copy on the opposite side. No move makes the worst
 * triangle around a vertex worse, or exceeds the cap of an area. */
cvtm_status cvtm_refinement_boundary_angles(cvtm_refinement *refinement,
                                            cvtm_boundary_angles *figures, cvtm_error *error);

CVTM_API_END
