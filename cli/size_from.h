/* --size-from: sizes from a field on a mesh. In `run` they take the place of the picture, in `mesh`
 * they bound the triangles of an outline. */
#ifndef CVTMESH_CLI_SIZE_FROM_H
#define CVTMESH_CLI_SIZE_FROM_H

#include "cli/options.h"
#include "density/density.h"
#include "meshes/mesh.h"
#include "meshes/refine/adapt.h"

/* A field on a mesh or at points, which are triangulated; in pixels, y down. */
typedef struct cli_field {
  cvtm_mesh mesh;
  double *values;      /* per vertex; NULL: it is a metric */
  cvtm_metric *metric; /* per vertex; NULL: it is one number */
  double scale;        /* pixels times this are the unit of the file; values are in that */
} cli_field;

/* Nonzero if files of this extension hold fields on meshes or at points: vtu, msh and npy. */
int cli_field_file_known(const char *path);
/* Reads the field that --size-field names, or rows of x, y and the value, or of x, y and the
 * components xx, xy and yy of a metric. The caller frees, on failure too. */
cvtm_status cli_field_read(const cli_options *options, const char *path, cvtm_domain domain,
                           cli_field *field, cvtm_error *error);
void cli_field_free(cli_field *field);

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_size_from_check(const cli_options *options);
/* With --size-from, replaces the values of the image by sizes in pixels and sets
 * options->density_from. The coordinates of files must be known (cli_world_set). */
cvtm_status cli_size_from_apply(cli_options *options, cvtm_image *image, cvtm_error *error);

/* Sizes on a raster over a rectangle. */
typedef struct cli_size_raster {
  double left, upper, step; /* of the rectangle; step: the side of a cell */
  int width, height;
  double *size; /* malloc'd: width * height, in the unit of the rectangle; NULL: none */
} cli_size_raster;

/* The sizes of --size-from over the rectangle (left, upper, right, lower; y down, in pixels of the
 * domain), lowered so that they grow by at most 0.3 per unit of distance. */
cvtm_status cli_size_raster_read(const cli_options *options, cvtm_domain domain,
                                 const double rectangle[4], cli_size_raster *raster,
                                 cvtm_error *error);
double cli_size_at(const cli_size_raster *raster, double x, double y);

#endif
