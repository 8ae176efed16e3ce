/* --size-from of `run`: sizes from a field on a mesh take the place of the picture. */
#ifndef CVTMESH_CLI_SIZE_FROM_H
#define CVTMESH_CLI_SIZE_FROM_H

#include "cli/options.h"
#include "density/density.h"

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_size_from_check(const cli_options *options);
/* With --size-from, replaces the values of the image by sizes in pixels and sets
 * options->density_from. The coordinates of files must be known (cli_world_set). */
cvtm_status cli_size_from_apply(cli_options *options, cvtm_image *image, cvtm_error *error);

#endif
