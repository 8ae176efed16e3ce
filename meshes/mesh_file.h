/* Reads and writes mesh and point files; the extension names the format. */
#pragma once

#include "base/npy.h"
#include "meshes/mesh.h"
#include "meshes/second_order.h"

#include <stddef.h>

CVTM_API_BEGIN

typedef enum cvtm_msh_version { CVTM_MSH_4_1, CVTM_MSH_2_2 } cvtm_msh_version;

/* The elements of INP files: plane stress, plane strain, shells. */
typedef enum cvtm_inp_elements { CVTM_INP_CPS, CVTM_INP_CPE, CVTM_INP_SHELL } cvtm_inp_elements;

typedef enum cvtm_compression {
  CVTM_COMPRESS_NONE,
  CVTM_COMPRESS_ZLIB,
  CVTM_COMPRESS_LZ4
} cvtm_compression;
/* 1 if this build supports the compression. */
int cvtm_compression_known(cvtm_compression kind);
/* 1 if this build writes XDMF with HDF5. Every build writes XDMF with options->ascii. */
int cvtm_hdf5_known(void);

/* What files of Triangle have instead of numbers of regions and tags of groups. */
typedef struct cvtm_triangle_labels {
  const double *attribute; /* per triangle; NULL: the number of the region */
  const int32_t *group;    /* markers per line group of the regions; NULL: tags are markers */
  const int32_t *vertex;   /* markers per vertex; set if `group` is */
  int from_zero; /* nonzero: vertices, triangles and so on are counted from 0, not from 1 */
  int64_t vertex_attribute_count;
  /* vertex_attribute_count values for each vertex, then for each node of second order; or NULL */
  const double *vertex_attribute;
} cvtm_triangle_labels;

typedef struct cvtm_mesh_file_options {
  cvtm_domain domain; /* y in the file is the domain's height - y */
  int unit;           /* nonzero: coordinates are divided by the width of the domain */
  int ascii;          /* nonzero: write text if the format is binary by default */
  int binary;         /* nonzero: write binary if the format is text by default (MSH) */
  cvtm_msh_version msh_version;
  cvtm_compression compression; /* of binary VTU; must be supported by this build */
  const double *vertex_data;    /* vertex_count values for formats with vertex data, or NULL */
  const char *vertex_data_name; /* NULL: "mass" */
  const cvtm_regions *regions;  /* of the mesh, or NULL */
  /* The nodes of second order of the mesh, or NULL. OBJ, OFF, PLY, STL and SVG files have only
   * straight triangles. */
  const cvtm_second_order *second;
  const char *format; /* an extension that replaces that of the path, or NULL */
  double scale;       /* if `unit` is 0: units of the file per pixel; 0 means 1 */
  double left,
      bottom; /* position of the domain's lower left corner in the file, in units of the file */
  cvtm_inp_elements inp_elements;
  const cvtm_triangle_labels *labels; /* or NULL */
  CVTM_RESERVED(6);
} cvtm_mesh_file_options; /* all 0 by default */

/* Returns 1 if the extension of `path` names a mesh format that can be written: obj off ply stl vtk
 * vtu msh inp node ele poly xdmf (triangles, y up) or svg (edges, y down). PLY, STL, VTK and VTU
 * are binary unless options->ascii is set; MSH is text unless options->binary is set; the others
 * are always text. vertex_data is written to PLY, VTK, VTU, MSH and NODE. In MSH each curve and
 * each region is an entity, and the groups of cvtm_regions_group become physical groups; a mesh
 * without regions is one physical group. In VTU lines follow triangles, with the cell data `region`
 * (0 for a line) and `curve` (0 for a triangle). The pairs of cvtm_regions_pair become the section
 * Periodic of MSH and the field data `periodic_pairs` of VTU, with three columns. INP (Abaqus,
 * CalculiX) has an element set for each region, a node set and a surface for each group of edges,
 * and a node set for each group of points, whose tags are the point data `point` of VTU and XDMF.
 * NODE, ELE and POLY are Triangle's formats: the tags of groups are boundary markers, and regions
 * are attributes. POLY holds the boundary of a mesh with groups. The arrays of NAME.xdmf are in
 * NAME.h5, except with options->ascii; for a mesh with groups NAME_boundary.xdmf has the boundary
 * edges. STL has single precision. SVG has a picture's precision, and ignores `unit`. */
int cvtm_mesh_format_known(const char *path);
cvtm_status cvtm_mesh_write(const char *path, const cvtm_mesh *mesh,
                            const cvtm_mesh_file_options *options, cvtm_error *error);
/* The vertices, then the nodes of second order, in the coordinates of a file with these options:
 * malloc'd; NULL if memory runs out. options NULL: y changes its sign. */
double *cvtm_mesh_file_points(const cvtm_mesh *mesh, const cvtm_mesh_file_options *options);
/* Reads the triangles of obj, vtu, msh and ele files. An ele file needs its node file in the same
 * folder; in memory the node file comes first. y becomes max(y) - y, and max(y) is stored as
 * file_top. z must be constant. Lines and single vertices are skipped, clockwise triangles are
 * reversed, other polygons are refused, and so is a file without vertices. CVTM_ERROR_ARGUMENT for
 * another extension, CVTM_ERROR_INPUT with the line or the byte for a malformed file. */
cvtm_status cvtm_mesh_read(const char *path, cvtm_mesh *mesh, cvtm_error *error);
/* cvtm_mesh_read with a scalar field on the vertices: the point data of VTU or the node data of MSH
 * with the name `field`; NULL: the first scalar field. *values: vertex_count numbers, malloc'd.
 * CVTM_ERROR_INPUT if the file has no such field, CVTM_ERROR_ARGUMENT for another format. */
cvtm_status cvtm_mesh_read_field(const char *path, const char *field, cvtm_mesh *mesh,
                                 double **values, cvtm_error *error);
/* cvtm_mesh_read from memory; `name` is used in messages. */
cvtm_status cvtm_mesh_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_mesh *mesh, cvtm_error *error);

/* Point files: csv, npy (n x 2, any kind of number; float64 is written) and xyz, in pixels, y down.
 * `-` is CSV. Text has as many digits as are needed to read back the same bits. CSV: columns are
 * separated by commas, semicolons, tabs or blanks; `#` starts a comment. A first line that is not
 * numeric is a header; the columns named x and y are read, or else the first two. XYZ: lines `x y
 * z`, where z is ignored; if the first line is a single integer, it must be the number of points.
 * Further columns are ignored. NaN and Inf are refused; the message names the line, or the row
 * counted from 0. Two formats are only read: Triangle's .node files, with y flipped as for meshes,
 * and SVG, from which the centres of circles and of touches of a pen are read. */
int cvtm_points_format_known(const char *path);
cvtm_status cvtm_points_write(const char *path, const double *points, int64_t count,
                              cvtm_error *error);
/* cvtm_points_write with the format named by `extension` instead of the path's extension. */
cvtm_status cvtm_points_write_as(const char *extension, const char *path, const double *points,
                                 int64_t count, cvtm_error *error);
/* cvtm_points_write_as with a third column `id` in CSV and NPY; id: count; NULL: no such column. */
cvtm_status cvtm_points_write_ids(const char *extension, const char *path, const double *points,
                                  const int64_t *id, int64_t count, cvtm_error *error);
/* Writes points sorted by class: class k has the points start[k] .. start[k + 1] - 1. A third
 * column holds k + 1. For CSV (header x,y,class) and NPY (n x 3). */
cvtm_status cvtm_points_write_classes(const char *extension, const char *path, const double *points,
                                      const int64_t *start, int classes, cvtm_error *error);
/* Reads points (malloc'd: 2 * count). A file without points is an error. */
cvtm_status cvtm_points_read(const char *path, double **points, int64_t *count, cvtm_error *error);
/* cvtm_points_read for a file, or for an array of shape n x 2. */
cvtm_status cvtm_points_open(const cvtm_input *source, double **points, int64_t *count,
                             cvtm_error *error);
/* cvtm_points_read, which also reads the column `class` of a CSV file, integers >= 0. *classes:
 * count numbers, malloc'd; NULL without such a column. */
cvtm_status cvtm_points_read_classes(const char *path, double **points, int32_t **classes,
                                     int64_t *count, cvtm_error *error);
/* cvtm_points_read_classes from memory; classes may be NULL. `name` is used in messages. */
cvtm_status cvtm_points_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                   const char *name, double **points, int32_t **classes,
                                   int64_t *count, cvtm_error *error);

/* The dots and strokes of an SVG file, in the order of the file, with the transforms of their
 * elements applied. Dots are circles, and touches of a pen: strokes of hardly any length. Strokes
 * are paths, lines, polylines and polygons with a stroke-width, their own or inherited; other
 * shapes are skipped. Arrays are malloc'd and owned. */
typedef struct cvtm_dots {
  int64_t count;
  double *points, *radius; /* 2 * count, count: user units */
  double box[4];   /* left, top, width, height of the picture, or the viewBox; zeros: neither */
  int has_picture; /* nonzero: the box is that of the picture, in drawings of this library */
  int64_t stroke_count;
  int64_t *stroke_start;                 /* stroke_count + 1: stroke k has points stroke_start[k] to
                                            stroke_start[k + 1] - 1; NULL without strokes */
  double *stroke_points, *stroke_radius; /* x, y; half the width of each stroke */
} cvtm_dots;
/* Fails with CVTM_ERROR_INPUT and the line, also without a dot or a stroke; then *dots is empty. */
cvtm_status cvtm_dots_read(const char *path, cvtm_dots *dots, cvtm_error *error);
void cvtm_dots_free(cvtm_dots *dots);

CVTM_API_END
