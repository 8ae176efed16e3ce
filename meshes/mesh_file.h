/* Mesh and point files; the format goes by the extension. */
#ifndef CVTMESH_MESHES_MESH_FILE_H
#define CVTMESH_MESHES_MESH_FILE_H

#include "meshes/mesh.h"
#include "meshes/second_order.h"

#include <stddef.h>

CVTM_API_BEGIN

typedef enum cvtm_msh_version { CVTM_MSH_4_1, CVTM_MSH_2_2 } cvtm_msh_version;

typedef enum cvtm_compression {
  CVTM_COMPRESS_NONE,
  CVTM_COMPRESS_ZLIB,
  CVTM_COMPRESS_LZ4
} cvtm_compression;
/* 1 if this build has it. */
int cvtm_compression_known(cvtm_compression kind);
/* 1 if this build writes XDMF with HDF5; with options->ascii every build writes it. */
int cvtm_hdf5_known(void);

typedef struct cvtm_mesh_file_options {
  cvtm_domain domain; /* y up is domain.height - y */
  int unit;           /* nonzero: coordinates divided by the domain's width */
  int ascii;          /* nonzero: text where a format is binary by default */
  int binary;         /* nonzero: binary where a format is text by default (MSH) */
  cvtm_msh_version msh_version;
  cvtm_compression compression; /* of binary VTU; one that this build has */
  const double *vertex_data;    /* vertex_count values for formats with vertex data, or NULL */
  const char *vertex_data_name; /* NULL: "mass", of the vertex's cell */
  const cvtm_regions *regions;  /* of the mesh, or NULL */
  /* Of the mesh, for triangles of second order, or NULL. OBJ, OFF, PLY, STL and SVG have straight
   * triangles alone. */
  const cvtm_second_order *second;
  const char *format;  /* the extension that is taken in place of the path's, or NULL */
  double scale;        /* without `unit`: units of the file per pixel; 0: 1 */
  double left, bottom; /* of the domain in the file, with `scale` */
  CVTM_RESERVED(8);
} cvtm_mesh_file_options; /* all 0 by default */

/* obj off ply stl vtk vtu msh inp node ele poly xdmf (meshes, y up), svg (edges, y down). 1 if the
 * extension of `path` names a mesh format that can be written. PLY, STL, VTK and VTU are
 * binary unless options->ascii is set; MSH is text unless options->binary is set; the others are
 * always text. vertex_data
 * is written to PLY, VTK, VTU, MSH and NODE. The groups of regions (cvtm_regions_group) become
 * physical groups of MSH, where each curve and each region is an entity; a mesh without regions is
 * one physical group. In VTU lines follow the triangles, with the cell data `region` (0 of a line)
 * and `curve` (0 of a triangle). Pairs (cvtm_regions_pair) become the section Periodic of MSH and
 * the field data `periodic_pairs` of VTU, the table with three columns. INP (Abaqus, CalculiX) has
 * an element set for each region, and for each group of edges a set of nodes and a surface. NODE,
 * ELE and POLY are Triangle's: the tags of groups are boundary markers, regions attributes; POLY,
 * of a mesh with groups alone, holds the boundary. NAME.xdmf comes with NAME.h5 (not with
 * options->ascii) and, of a mesh with groups, NAME_boundary.xdmf with their edges. STL and SVG keep
 * what triangles and edges show: STL has single precision, SVG what a picture needs (and ignores
 * `unit`). */
int cvtm_mesh_format_known(const char *path);
cvtm_status cvtm_mesh_write(const char *path, const cvtm_mesh *mesh,
                            const cvtm_mesh_file_options *options, cvtm_error *error);
/* Reads the triangles of obj, vtu, msh and ele (with the node file beside it, in memory before it);
 * y is flipped to y down as max(y) - y (the mesh keeps max(y) as file_top), polygons are refused. z
 * must be constant. Vertices and lines beside the triangles are skipped, clockwise triangles are
 * turned; a file without any vertex is refused. Another extension is CVTM_ERROR_ARGUMENT, a
 * malformed file CVTM_ERROR_INPUT with the line or the byte. */
cvtm_status cvtm_mesh_read(const char *path, cvtm_mesh *mesh, cvtm_error *error);
/* The same with a field, one number for each vertex: the point data `field` of VTU or the node data
 * of MSH, which must be scalar; NULL: the first scalar there. *values is malloc'd: vertex_count. A
 * file without it is CVTM_ERROR_INPUT, another format CVTM_ERROR_ARGUMENT. */
cvtm_status cvtm_mesh_read_field(const char *path, const char *field, cvtm_mesh *mesh,
                                 double **values, cvtm_error *error);
/* As cvtm_mesh_read from memory; `name` is used in messages. */
cvtm_status cvtm_mesh_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_mesh *mesh, cvtm_error *error);

/* csv, npy (n x 2, any kind of number; float64 is written), xyz: pixels, y down. `-` is CSV.
 * Text is written with as many digits as it takes to read back to the same bits.
 * CSV: columns separated by commas, semicolons, tabs or blanks, `#` starts a comment. A
 * first line that is no number is a header; columns named x and y are taken wherever they
 * stand, else the first two. XYZ: lines `x y z`, z is ignored; a first line with one
 * integer is taken as the number of points and must agree. Further columns are ignored;
 * NaN and Inf are refused with the line, or the row from 0. Triangle's .node files are read, not
 * written, here; y is flipped as that of meshes is. Of an SVG the centres of its circles are read.
 */
int cvtm_points_format_known(const char *path);
cvtm_status cvtm_points_write(const char *path, const double *points, int64_t count,
                              cvtm_error *error);
/* The same; `extension` names the format, whatever that of the path. */
cvtm_status cvtm_points_write_as(const char *extension, const char *path, const double *points,
                                 int64_t count, cvtm_error *error);
/* Points of which those of class k are start[k] .. start[k + 1) - 1, with a third column, the
 * number k + 1 of the class. CSV (header x,y,class) and NPY (n x 3). */
cvtm_status cvtm_points_write_classes(const char *extension, const char *path, const double *points,
                                      const int64_t *start, int classes, cvtm_error *error);
/* points is malloc'd: 2 * count. An empty list is an error. */
cvtm_status cvtm_points_read(const char *path, double **points, int64_t *count, cvtm_error *error);
/* The same, with the whole numbers >= 0 of the column `class` of a CSV file: *classes is malloc'd:
 * count; NULL if there is no such column. */
cvtm_status cvtm_points_read_classes(const char *path, double **points, int32_t **classes,
                                     int64_t *count, cvtm_error *error);
/* The same from memory; classes may be NULL. `name` is used in messages. */
cvtm_status cvtm_points_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                   const char *name, double **points, int32_t **classes,
                                   int64_t *count, cvtm_error *error);

/* The circles of an SVG, in the order of the file, moved by the transforms of their elements;
 * shapes of other kinds are skipped. Arrays are malloc'd and owned. */
typedef struct cvtm_dots {
  int64_t count;
  double *points, *radius; /* 2 * count, count: user units */
  double box[4];           /* the viewBox: left, top, width, height; zeros: there is none */
} cvtm_dots;
/* Fails with CVTM_ERROR_INPUT, with the line, also if there is no circle; then *dots is empty. */
cvtm_status cvtm_dots_read(const char *path, cvtm_dots *dots, cvtm_error *error);
/* The same from memory; `name` is used in messages. */
cvtm_status cvtm_dots_read_bytes(const unsigned char *bytes, size_t size, const char *name,
                                 cvtm_dots *dots, cvtm_error *error);
void cvtm_dots_free(cvtm_dots *dots);

/* SVG pictures, y down, viewBox of the domain in pixels. */
typedef enum cvtm_svg_kind {
  CVTM_SVG_STIPPLES,
  CVTM_SVG_CELLS,
  CVTM_SVG_MESH,
  CVTM_SVG_PATH, /* one line through the vertices of the mesh, in their order */
  CVTM_SVG_TOUR  /* the same, and back to the first */
} cvtm_svg_kind;
/* Stipples (a circle per site), edges (each once) and paths are drawn of the mesh, cells (a path
 * per cell) of the cells; the other one may be NULL. radius: per-site stipple radii in
 * pixels, or NULL for one radius chosen from the mean spacing. light: stipples are white on
 * black. mm: of a pixel, so that the picture has its real size; 0: a pixel is one of CSS. */
cvtm_status cvtm_svg_write(const char *path, cvtm_svg_kind kind, const cvtm_mesh *mesh,
                           const cvtm_cells *cells, const double *radius, int light, double mm,
                           cvtm_domain domain, cvtm_error *error);

CVTM_API_END
#endif
