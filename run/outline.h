/* The mesh of an outline, as the program `cvtmesh mesh OUTLINE` makes it: by edges of a wanted
 * length, by few triangles, or stretched along a field. Set the options, then
 *
 *     cvtm_outline_create(&options, &outline, &error);       checks the options
 *     cvtm_outline_solve(outline, &error);                   reads the outline, meshes it
 *     cvtm_outline_write(outline, "plate.msh", NULL, &error);  as often as there are files
 *     cvtm_outline_destroy(outline);
 */
#pragma once

#include "meshes/mesh.h"
#include "run/run.h"

CVTM_API_BEGIN

typedef struct cvtm_outline cvtm_outline;

/* The results; borrowed until the outline is destroyed. */
typedef struct cvtm_outline_result {
  const double *points;        /* 2 * mesh->vertex_count: as in mesh files, y up */
  const cvtm_mesh *mesh;       /* its points are in the unit of the outline, y down */
  const cvtm_regions *regions; /* with the groups of edges */
  const cvtm_quality *quality;
  cvtm_domain domain; /* the frame of the outline */
  double seconds;
  int converged; /* 0: angles or areas miss their bounds */
  CVTM_RESERVED(16);
} cvtm_outline_result;

/* Checks the options against each other, and copies them; NULL: the defaults, which lack an
 * outline. `options.input` is the outline or, with the metric `hessian`, a picture. The options
 * `outline`, `points`, `refine`, `size`, `periodic` and `time_limit` determine the mesh. Options of
 * files, drawings, pages and world units are as for cvtm_run_create, but a drawing shows the mesh
 * by default. All others have no effect. CVTM_ERROR_USAGE: options contradict each other, or a file
 * would be written over another one. */
cvtm_status cvtm_outline_create(const cvtm_run_options *options, cvtm_outline **outline,
                                cvtm_error *error);
/* Reads and meshes the outline; called once for each outline. If it is interrupted or late, it
 * still makes the mesh, with less work on its quality. */
cvtm_status cvtm_outline_solve(cvtm_outline *outline, cvtm_error *error);
/* See cvtm_run_write. */
cvtm_status cvtm_outline_write(cvtm_outline *outline, const char *path,
                               const cvtm_run_options *options, cvtm_error *error);
/* See cvtm_run_report. */
char *cvtm_outline_report(const cvtm_outline *outline);
/* To be called after cvtm_outline_solve. */
const cvtm_outline_result *cvtm_outline_get(cvtm_outline *outline);
/* NULL is allowed. */
void cvtm_outline_destroy(cvtm_outline *outline);

CVTM_API_END
