/* The Delaunay triangulation of cvtm_delaunay (mesh.h) on a device, and the regular triangulation
 * on both: every point finds its triangles without those of other points, in exact arithmetic
 * (star.h). Nothing is approximated or repaired. A Delaunay triangulation is that of cvtm_delaunay,
 * triangle for triangle. */
#ifndef CVTMESH_MESHES_DEVICE_DELAUNAY_H
#define CVTMESH_MESHES_DEVICE_DELAUNAY_H

#include "base/device.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* Who triangulated, and the seconds it took. */
typedef struct cvtm_delaunay_report {
  int on_device;                   /* 0: the host */
  double seconds;                  /* all */
  double copy_in, build, copy_out; /* of these on the device: points to it, with memory; kernels;
                                      the mesh back */
  int64_t undecided; /* points whose triangles the device did not find; the host did all then */
} cvtm_delaunay_report;

/* cvtm_delaunay, by a CUDA device's kernels. The host triangulates if the device is the CPU or
 * NULL, if the device has no memory for it (136 bytes a point), or if many points have circles that
 * pass by too many others, so that their search would take too long (all points on one circle,
 * say). points: host memory. report may be NULL. Errors as of cvtm_delaunay, and those of the
 * device. */
cvtm_status cvtm_delaunay_on(cvtm_device *device, const double *points, int64_t count,
                             cvtm_mesh *mesh, cvtm_delaunay_report *report, cvtm_error *error);

/* The regular triangulation of weighted points: the dual of their power diagram in the plane. As
 * cvtm_delaunay, which it equals if all weights are equal, but for these: a point whose cell is
 * empty has no triangles and counts as coincident; of points that share a place the heaviest has
 * the triangles, of equally heavy ones the first. The grid has at most 2^30 steps along the longer
 * side of the points' box, and steps of at least 2^-30.5 times the root of the difference of the
 * weights; weights are rounded to multiples of its square, and the triangulation is exact for the
 * rounded places and weights. Points whose powers tie have the triangles of their Delaunay
 * triangulation. Made by a CUDA device, or on the host by its threads (device a CPU or NULL, or as
 * above; 44 bytes a point more). weights: host memory; finite, up to 1e300. Errors as of
 * cvtm_delaunay_on. */
cvtm_status cvtm_regular_triangulation(cvtm_device *device, const double *points,
                                       const double *weights, int64_t count, cvtm_mesh *mesh,
                                       cvtm_delaunay_report *report, cvtm_error *error);

/* The parts of cvtm_delaunay_on, on any device. */
typedef struct cvtm_device_delaunay cvtm_device_delaunay;

/* Memory for 1 <= count <= 715827882 points. */
cvtm_status cvtm_device_delaunay_create(cvtm_device *device, int64_t count,
                                        cvtm_device_delaunay **result);
void cvtm_device_delaunay_destroy(cvtm_device_delaunay *d);
/* Where the points are to be put (2 * count doubles in device memory) before every build, which
 * snaps them to their grid. */
double *cvtm_device_delaunay_points(const cvtm_device_delaunay *d);
/* Triangulates. *undecided: points whose triangles were not found; unless it is 0 there is no mesh.
 * CVTM_ERROR_INPUT if a coordinate is not finite or beyond 1e300. */
cvtm_status cvtm_device_delaunay_build(cvtm_device_delaunay *d, int64_t *undecided);
/* The triangles after a build: 3 * *count indices of points in device memory, which live until the
 * next build or destroy. */
const int32_t *cvtm_device_delaunay_triangles(const cvtm_device_delaunay *d, int64_t *count);
/* The mesh, on the host. Fails with CVTM_ERROR_MEMORY; then *mesh is untouched. */
cvtm_status cvtm_device_delaunay_copy_out(const cvtm_device_delaunay *d, cvtm_mesh *mesh);

CVTM_API_END
#endif
