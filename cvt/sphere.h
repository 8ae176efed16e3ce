/* Centroidal Voronoi tessellations of the unit sphere. */
#ifndef CVTMESH_CVT_SPHERE_H
#define CVTMESH_CVT_SPHERE_H

#include "base/device.h"
#include "meshes/sphere.h"

CVTM_API_BEGIN

/* Widths of cells on a grid of latitudes and longitudes, in radians of arc. Row j is at latitude
 * south + j * row_step, column i at longitude west + i * column_step; columns cover 360 degrees
 * once. Rows end at the poles, or up to a step before them. Between the points the width is
 * interpolated bilinearly, across the date line and the poles too. */
typedef struct cvtm_sphere_widths {
  int32_t rows, columns; /* 0: the widths are even, `value` is NULL */
  double south, west, row_step, column_step;
  float *value; /* malloc'd, rows * columns; positive */
} cvtm_sphere_widths;

void cvtm_sphere_widths_free(cvtm_sphere_widths *widths);
/* Reduces widths until they grow by at most `growth` per unit of length. growth > 0. */
void cvtm_sphere_widths_grade(cvtm_sphere_widths *widths, double growth);
/* The number of hexagons of the given widths that cover the sphere: the integral of
 * 2 / (sqrt(3) width^2). */
double cvtm_sphere_widths_count(const cvtm_sphere_widths *widths);
/* The width at a point. */
double cvtm_sphere_widths_at(const cvtm_sphere_widths *widths, const double point[3]);

typedef struct cvtm_sphere_options {
  int64_t count;      /* sites, at least 12; 0: as many as a map of widths asks for */
  int64_t fixed;      /* the first sites of `start` that do not move; 0 */
  int any_count;      /* nonzero: `count` may change a little, to one that suits the method; 1 */
  int iterations;     /* of L-BFGS-B on all sites; 25 */
  uint64_t seed;      /* 1 */
  double max_seconds; /* 0: no limit */
  int64_t shape_iterations; /* then, on each level, to make triangles equilateral; 0 */
  CVTM_RESERVED(7);
} cvtm_sphere_options;

void cvtm_sphere_defaults(cvtm_sphere_options *options);

typedef struct cvtm_sphere_result {
  double energy;      /* the integral of density times squared chord; density: width^-4, or 1 */
  int64_t iterations; /* on all sites */
  int64_t evaluations;
  int even; /* nonzero: an even mesh from an icosahedral grid */
  double seconds;
  CVTM_RESERVED(8);
} cvtm_sphere_result;

/* *mesh = the sites and their Delaunay triangulation; unchanged on failure. fixed_sites: 3 *
 * options->fixed, or NULL; they are the first sites. options: NULL for the defaults. Equal options
 * give equal bits on one device. */
cvtm_status cvtm_sphere_solve(cvtm_device *device, const cvtm_sphere_widths *widths,
                              const double *fixed_sites, const cvtm_sphere_options *options,
                              cvtm_sphere_mesh *mesh, cvtm_sphere_result *result);

/* The energy and, unless they are NULL, the gradient (3 * count, tangential) and the masses of the
 * cells, at sites on the host. Widths are interpolated from a map of the six faces of a cube around
 * the sphere, bilinearly in the central projection, with as many points along a side as `widths`
 * has rows (at most 4096), where it has the width of cvtm_sphere_widths_at. Cells are cut along the
 * lines of this map and their parts into triangles of at most 0.025, so that the density is smooth
 * in each; there the rule has degree 5, and its error falls with the sixth power of their size. */
cvtm_status cvtm_sphere_energy(cvtm_device *device, const cvtm_sphere_widths *widths,
                               const double *sites, int64_t count, double *energy, double *gradient,
                               double *masses);

CVTM_API_END
#endif
