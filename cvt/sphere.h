/* Centroidal Voronoi tessellations of the unit sphere. */
#pragma once

#include "base/device.h"
#include "meshes/sphere.h"

CVTM_API_BEGIN

/* Widths of cells on a grid of latitudes and longitudes, in radians of arc. Row j is at latitude
 * south + j * row_step, column i at longitude west + i * column_step; columns cover 360 degrees
 * once. Rows end at the poles, or up to a step before the poles. Between the points the width is
 * interpolated bilinearly, also across the date line and the poles. */
typedef struct cvtm_sphere_widths {
  int32_t rows, columns; /* 0: the width is constant, and `value` is NULL */
  double south, west, row_step, column_step;
  float *value; /* malloc'd, rows * columns; positive */
} cvtm_sphere_widths;

void cvtm_sphere_widths_free(cvtm_sphere_widths *widths);
/* Reduces the widths so that the width grows by at most `growth` > 0 per radian of arc. */
void cvtm_sphere_widths_grade(cvtm_sphere_widths *widths, double growth);
/* The number of hexagons of the given widths that cover the sphere: the integral of
 * 2 / (sqrt(3) width^2). */
double cvtm_sphere_widths_count(const cvtm_sphere_widths *widths);
/* The width, in radians of arc, at a point of the unit sphere; 0 if `value` is NULL. */
double cvtm_sphere_widths_at(const cvtm_sphere_widths *widths, const double point[3]);

/* Comments end with the default value. */
typedef struct cvtm_sphere_options {
  int64_t count;              /* sites, at least 12; 0: cvtm_sphere_widths_count of the widths; 0 */
  int64_t fixed;              /* the number of fixed_sites, which do not move; 0 */
  int any_count;              /* nonzero: the number of sites may differ a little from `count`; 1 */
  int iterations;             /* iterations of L-BFGS-B on all sites; 25 */
  uint64_t seed;              /* 1 */
  double max_seconds;         /* 0: no limit; 0 */
  int (*stop)(void *context); /* asked between iterations: nonzero ends the descent; NULL */
  void *stop_context;
  CVTM_RESERVED(8);
} cvtm_sphere_options;

void cvtm_sphere_defaults(cvtm_sphere_options *options);

typedef struct cvtm_sphere_result {
  double energy;      /* integral of density times squared chord; density: width^-4, or 1 */
  int64_t iterations; /* iterations of L-BFGS-B on all sites */
  int64_t evaluations;
  int even; /* nonzero: the width is constant, and the sites started from an icosahedral
               grid */
  double seconds;
  CVTM_RESERVED(8);
} cvtm_sphere_result;

/* Computes sites and their Delaunay triangulation, *mesh, which is unchanged on failure.
 * fixed_sites: 3 * options->fixed, or NULL; the first sites of the mesh. options: NULL: the
 * defaults. On one device equal arguments give equal bits. */
cvtm_status cvtm_sphere_solve(cvtm_device *device, const cvtm_sphere_widths *widths,
                              const double *fixed_sites, const cvtm_sphere_options *options,
                              cvtm_sphere_mesh *mesh, cvtm_sphere_result *result);

/* Computes the energy, the gradient (3 * count, tangential; or NULL) and the masses of the cells
 * (or NULL) at sites on the host. The widths of cvtm_sphere_widths_at are taken on the six faces of
 * a cube around the sphere, at as many points along a side as `widths` has rows (at most 4096), and
 * interpolated bilinearly in the central projection. Cells are divided along the lines of these
 * points, and further into triangles of sides of at most 0.025. In a triangle the density is
 * smooth; the rule has degree 5, so its error falls with the sixth power of the size. */
cvtm_status cvtm_sphere_energy(cvtm_device *device, const cvtm_sphere_widths *widths,
                               const double *sites, int64_t count, double *energy, double *gradient,
                               double *masses);

CVTM_API_END
