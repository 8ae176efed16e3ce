/* The files that a command writes: their formats, checks before the work begins, and the output of
 * meshes. */
#ifndef CVTMESH_CLI_OUTPUT_H
#define CVTMESH_CLI_OUTPUT_H

#include "base/status.h"
#include "cli/options.h"
#include "draw/picture.h"
#include "meshes/second_order.h"

typedef enum cli_output_kind {
  CLI_OUTPUT_UNKNOWN,
  CLI_OUTPUT_MESH,
  CLI_OUTPUT_POINTS,
  CLI_OUTPUT_SVG,
  CLI_OUTPUT_DRAWING, /* pdf, dxf, hpgl, gcode */
  CLI_OUTPUT_PICTURE,
  CLI_OUTPUT_LABELS,
  CLI_OUTPUT_PPM
} cli_output_kind;

enum { CLI_EXTENSION_MAX = 64 };
/* The extension of the output `path`, or --format if it is `-`; buffer: CLI_EXTENSION_MAX bytes. */
const char *cli_output_extension(const cli_options *options, const char *path, char *buffer);
/* The kind of the output `path` for this command, by its extension, or by --format if it is `-`. */
cli_output_kind cli_output_kind_of(const cli_options *options, const char *path);

/* Refuses unknown extensions. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_outputs_check_names(const cli_options *options);
/* Also refuses files that cannot be created; then it returns CLI_EXIT_FAILURE. */
int cli_outputs_check(const cli_options *options);

/* True if an output is a mesh. */
int cli_outputs_have_mesh(const cli_options *options);
/* True if an output shows more than points and a mesh: a drawing or a picture. */
int cli_outputs_draw(const cli_options *options);

/* As cli_outputs_check, for commands whose outputs are .npy. */
int cli_outputs_check_npy(const cli_options *options);

/* Writes one output. extension: of the path, in lower case; --format if the path is `-`. */
typedef cvtm_status (*cli_writer)(void *context, const char *path, const char *extension,
                                  cvtm_error *error);
/* Calls `writer` for every -o, until one fails. */
cvtm_status cli_outputs_write(const cli_options *options, cli_writer writer, void *context,
                              cvtm_error *error);

/* What the outputs of a command show. What the command does not have is NULL. */
typedef struct cli_scene {
  const cli_options *options;
  cvtm_domain domain;
  const double
      *sites; /* 2 * count, for point formats; unlike the points of the mesh they are not snapped */
  int64_t count;
  const float *density;
  const double *mass;
  const double *original; /* of each vertex, in place of the mass: the point that it is a copy of */
  const cvtm_mesh *mesh;
  const cvtm_cells *cells;
  const cvtm_regions *regions;
  const double *radius; /* of the dots of an SVG */
  const cvtm_second_order *second;
  const struct cli_colours *colours; /* of a drawing in several colours */
  const struct cli_scene *drawn; /* the same moved into the domain, for files that show the domain;
                                    NULL: the scene lies there */
} cli_scene;

/* Writes every -o. */
cvtm_status cli_scene_write(const cli_scene *scene, cvtm_error *error);

#endif
