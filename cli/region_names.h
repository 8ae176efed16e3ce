/* --region-name of `run`: names of the regions of a domain. */
#ifndef CVTMESH_CLI_REGION_NAMES_H
#define CVTMESH_CLI_REGION_NAMES_H

#include "cli/options.h"
#include "meshes/domain/pslg.h"

/* Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_region_names_check(const cli_options *options);
/* cvtm_regions_group with the names that the options give, else those of the graph. */
cvtm_status cli_region_names_group(const cli_options *options, const cvtm_pslg *graph,
                                   const cvtm_mesh *mesh, cvtm_domain image, cvtm_regions *regions,
                                   cvtm_error *error);

#endif
