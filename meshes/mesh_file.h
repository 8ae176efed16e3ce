/* Mesh and point files; the format goes by the extension. */
#ifndef CVTMESH_MESHES_MESH_FILE_H
#define CVTMESH_MESHES_MESH_FILE_H

#include "meshes/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_mesh_file_options {
  cvtm_domain domain; /* y up is domain.height - y */
  int unit;           /* nonzero: coordinates divided by the domain's width */
  int ascii;          /* nonzero: text instead of binary where a format has both */
  const double *cell_mass;  /* vertex_count masses for formats with vertex data, or NULL */
} cvtm_mesh_file_options;

/* obj off ply stl vtk vtu msh (meshes, y up), svg (edges, y down). 1 if the
 * extension of `path` names a mesh format that can be written. */
int cvtm_mesh_format_known(const char *path);
cvtm_status cvtm_mesh_write(const char *path, const cvtm_mesh *mesh,
                            const cvtm_mesh_file_options *options, cvtm_error *error);
/* Reads triangles back (all of the above but svg); y is flipped to y down as
 * max(y) - y, polygons are refused. z must be constant. STL vertices are merged when equal. */
cvtm_status cvtm_mesh_read(const char *path, cvtm_mesh *mesh, cvtm_error *error);

/* csv (header x,y), npy (n x 2, float32 or float64), xyz: pixels, y down. Text is written
 * with 17 significant digits so that it reads back to the same bits. Columns after
 * the second are ignored on reading; NaN and Inf are refused with the line or row. */
int cvtm_points_format_known(const char *path);
cvtm_status cvtm_points_write(const char *path, const double *points, int64_t count,
                              cvtm_error *error);
/* points is malloc'd: 2 * count. An empty list is an error. */
cvtm_status cvtm_points_read(const char *path, double **points, int64_t *count,
                             cvtm_error *error);

/* SVG pictures, y down, viewBox of the domain in pixels. */
typedef enum cvtm_svg_kind { CVTM_SVG_STIPPLES, CVTM_SVG_CELLS, CVTM_SVG_MESH } cvtm_svg_kind;
/* radius: per-site stipple radii in pixels, or NULL for one radius chosen from the mean spacing. */
cvtm_status cvtm_svg_write(const char *path, cvtm_svg_kind kind, const cvtm_mesh *mesh,
                           const cvtm_cells *cells, const double *radius, cvtm_domain domain,
                           cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif
