/* The Delaunay triangulation of cvtm_delaunay (mesh.h) on a GPU, and the regular triangulation on
 * the CPU or a GPU. A thread finds the triangles around each point independently of other points,
 * in exact arithmetic (star.h), so no step repairs an approximate result. A Delaunay triangulation
 * has the same triangles as that of cvtm_delaunay. */
#pragma once

#include "base/device.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* Where a triangulation was made, and its times in seconds. */
typedef struct cvtm_delaunay_report {
  int on_device;                   /* 0: the host */
  double seconds;                  /* total */
  double copy_in, build, copy_out; /* parts of `seconds` on the device: allocation and copy of the
                                      points; kernels; copy of the mesh */
  int64_t undecided; /* number of points whose triangles the device did not find; if not 0, the host
                        has triangulated */
} cvtm_delaunay_report;

/* As cvtm_delaunay, on a CUDA device. The host triangulates if the device is the CPU or NULL, if
 * the device lacks memory (136 bytes per point), or if the search would take too long because many
 * circumcircles pass close to many points (for example, if all points lie on one circle). points:
 * host memory. report may be NULL. Errors as for cvtm_delaunay, and of the device. */
cvtm_status cvtm_delaunay_on(cvtm_device *device, const double *points, int64_t count,
                             cvtm_mesh *mesh, cvtm_delaunay_report *report, cvtm_error *error);
/* cvtm_delaunay_on for points that the device already has at `resident` (2 * count; NULL: `points`
 * are copied). If the host triangulates, it uses `points`. */
cvtm_status cvtm_delaunay_resident(cvtm_device *device, const double *points,
                                   const double *resident, int64_t count, cvtm_mesh *mesh,
                                   cvtm_delaunay_report *report, cvtm_error *error);

/* Makes the regular triangulation of weighted points: the dual of their power diagram. If all
 * weights are equal, it is the triangulation of cvtm_delaunay. It differs from cvtm_delaunay as
 * follows. A point whose power cell is empty has no triangles and counts as coincident. Of
 * coincident points the heaviest has the triangles; of equal weights the first. The grid has at
 * most 2^30 steps along the longer side of the bounding box, and the step is at least 2^-30.5 times
 * the square root of the range of the weights. Weights are rounded to multiples of the squared
 * step; the triangulation is exact for the rounded points and weights. Where powers are equal the
 * triangles are those of the Delaunay triangulation. The CUDA device needs 44 bytes per point more
 * than for cvtm_delaunay_on; in the cases named there the host triangulates with its threads.
 * weights: host memory; finite, up to 1e300. Errors as for cvtm_delaunay_on. */
cvtm_status cvtm_regular_triangulation(cvtm_device *device, const double *points,
                                       const double *weights, int64_t count, cvtm_mesh *mesh,
                                       cvtm_delaunay_report *report, cvtm_error *error);

/* The triangulation of cvtm_delaunay_on in single steps, on any device. */
typedef struct cvtm_device_delaunay cvtm_device_delaunay;

/* Allocates memory for 1 <= count <= 715827882 points. */
cvtm_status cvtm_device_delaunay_create(cvtm_device *device, int64_t count,
                                        cvtm_device_delaunay **result);
void cvtm_device_delaunay_destroy(cvtm_device_delaunay *d);
/* The array of points (2 * count doubles in device memory) for the caller to fill before every
 * build, which rounds the points to the grid. */
double *cvtm_device_delaunay_points(const cvtm_device_delaunay *d);
/* Triangulates. *undecided: number of points whose triangles were not found; there is a mesh only
 * if it is 0. CVTM_ERROR_INPUT if a coordinate is not finite or its magnitude exceeds 1e300. */
cvtm_status cvtm_device_delaunay_build(cvtm_device_delaunay *d, int64_t *undecided);
/* The triangles after a build: 3 * *count indices of points in device memory, valid until the next
 * build or destroy. */
const int32_t *cvtm_device_delaunay_triangles(const cvtm_device_delaunay *d, int64_t *count);
/* Copies the mesh to the host. Fails with CVTM_ERROR_MEMORY; then *mesh is unchanged. */
cvtm_status cvtm_device_delaunay_copy_out(const cvtm_device_delaunay *d, cvtm_mesh *mesh);

CVTM_API_END
