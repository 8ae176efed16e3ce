/* Triangle meshes of a wanted edge length. */
#ifndef CVTMESH_MESHES_SIZED_MESH_H
#define CVTMESH_MESHES_SIZED_MESH_H

#include "meshes/constrained.h"

CVTM_API_BEGIN

/* The wanted length of edges, > 0, in `region` at (x, y). Several threads may call it at once. */
typedef double (*cvtm_size_function)(const void *context, int32_t region, double x, double y);

/* A comment ends with the default; where it names none, the default is 0 or NULL. */
typedef struct cvtm_sized_options {
  cvtm_size_function size; /* NULL: `length` everywhere */
  const void *size_context;
  double length;           /* > 0, if there is no function; 1 */
  const double *edge_size; /* per edge of the boundary: the wanted length on it; INFINITY: as
                              elsewhere; NULL: all as elsewhere */
  double growth; /* increase, per unit of distance, of sizes around edges and gaps of the boundary
                    with smaller sizes; > 0; 0.13 */
  double narrow; /* greatest length of edges at a narrow part of the boundary, in widths of that
                    part; > 0; 1.15 */
  int sweeps;    /* number of sweeps, in which all vertices move; 0: keeps the lattice; 16 */
  int (*stop)(const void *context); /* called between sweeps; if it returns nonzero, moves end, and
                                       the result is the mesh so far; NULL: never called */
  const void *stop_context;
  int only_estimates; /* nonzero: makes no mesh, but finds figures->expected */
  double number; /* wanted number of vertices: up to 8 % are added or removed to come within one
                    percent; 0: as many as the sizes ask for */
  double off;   /* if figures->expected differs from `number` by more than this, relative to it, the
                   vertices inside do not move; INFINITY */
  int64_t y_up; /* nonzero: messages have -y, because y is up in the caller's file */
  CVTM_RESERVED(4);
} cvtm_sized_options;

void cvtm_sized_defaults(cvtm_sized_options *options);

typedef struct cvtm_sized_figures {
  int64_t on_boundary; /* vertices added on edges of the boundary */
  int64_t inside;      /* vertices added inside */
  int64_t narrowed;    /* number of points where the boundary demanded shorter edges */
  int sweeps;          /* number of sweeps made */
  int stopped;         /* nonzero: options->stop ended the moves */
  double expected;     /* number of vertices expected after the moves, by the integral of 1 / size^2
                          and, unless only_estimates, by the number before the moves */
} cvtm_sized_figures;

/* Meshes the regions inside a boundary by triangles whose edges have the wanted length. The result
 * depends on the arguments alone. Vertices of the boundary, even those without edges, keep their
 * exact coordinates. Edges are divided into parts of about the wanted length; where no other part
 * of the boundary is near, except one that meets the edge at 40 degrees or more, the division
 * depends only on the ends and the sizes along the edge. An edge and its twin are divided at the
 * same fractions of their lengths. Sizes are reduced where edges are shorter or the boundary is
 * narrower; in narrow parts vertices move along the edges, are added and removed there, too. The
 * inside is filled from the boundary by a lattice of equilateral triangles. Its vertices then move
 * to the centroids of their Voronoi cells by the density size^-4 (Du, Faber & Gunzburger 1999),
 * with flips that keep the triangulation constrained Delaunay; vertices are added and removed where
 * edges are too long or too short. Where a vertex has too few triangles or too many, edges are
 * flipped and vertices added or removed if that improves the angles and lengths around it. Finally
 * single vertices move to raise the smallest angles. mesh, regions: as of
 * cvtm_constrained_delaunay. *source (malloc'd, may be NULL): the vertex of the boundary that a
 * vertex of the mesh was, or -1. Fails as cvtm_constrained_delaunay, and with CVTM_ERROR_INPUT if a
 * size is not positive. */
cvtm_status cvtm_sized_mesh(const cvtm_boundary *boundary, const cvtm_sized_options *options,
                            cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source,
                            cvtm_sized_figures *figures, cvtm_error *error);

CVTM_API_END
#endif
