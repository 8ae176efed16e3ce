/* --pixel-size and --origin: the picture's place in the world, x to the right and y up. */
#ifndef CVTMESH_CLI_WORLD_H
#define CVTMESH_CLI_WORLD_H

#include "base/domain.h"
#include "cli/options.h"
#include "density/density.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

/* Checks --pixel-size, --origin and --unit with them. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after
 * a message. */
int cli_world_check(const cli_options *options);

/* True if --pixel-size has a unit of length, or its file may have one. */
int cli_world_may_have_unit(const cli_options *options);

/* Sets the numbers of options->world. place: what the picture `path` of `height` pixels says of its
 * place; NULL where there is no picture. Does nothing without --pixel-size. */
cvtm_status cli_world_set(cli_options *options, const cvtm_image_place *place, const char *path,
                          int height, cvtm_error *error);

/* Adds `world` to the report: sizes, lengths and areas in its unit. Does nothing without
 * --pixel-size. */
void cli_world_report(const cli_options *options, cvtm_domain domain, const cvtm_mesh *mesh,
                      cJSON *report);
void cli_world_print(const cli_options *options, cvtm_domain domain, FILE *stream);

#endif
