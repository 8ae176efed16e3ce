/* --min-angle and --max-area: Delaunay refinement of an outline or of a domain's mesh. */
#ifndef CVTMESH_CLI_REFINE_H
#define CVTMESH_CLI_REFINE_H

#include "cli/options.h"
#include "cli/size_from.h"
#include "meshes/refine.h"

#include <cjson/cJSON.h>

/* The largest area of triangles of a region, or, if that is 0, of all. */
typedef struct cli_area_cap {
  int32_t region;
  double area; /* square units of the outline, or pixels */
  int unit;    /* the area is in squares of this unit still; -1 for none */
} cli_area_cap;

typedef struct cli_area_caps {
  int count;
  cli_area_cap cap[CLI_LIST_MAX];
  cli_size_raster sizes; /* of --size-from of an outline: no triangle is larger than an equilateral
                            one with the size at its centroid as its side */
} cli_area_caps;

/* Checks and reads --max-area. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_area_caps_read(const cli_options *options, cli_area_caps *caps);
/* Converts areas in squares of units of length, by --page or the size of pixels. */
cvtm_status cli_area_caps_convert(const cli_options *options, cvtm_domain domain,
                                  cli_area_caps *caps, cvtm_error *error);

/* The options of a refinement, which a signal ends, or the deadline (0: none; by cvtm_clock). caps
 * and deadline are borrowed. */
void cli_refine_choose(const cli_options *options, const cli_area_caps *caps,
                       const double *deadline, cvtm_refine_options *refine);

/* Nonzero if triangles are worse than was asked for without a small angle of the input as reason:
 * the exit code is then CLI_EXIT_NOT_CONVERGED. */
int cli_refine_fell_short(const cvtm_refine_figures *figures);

/* Adds the member `refinement`. height: the corners are reported at height - y; 0: as they are. */
void cli_refine_report(const cvtm_refine_options *refine, const cvtm_refine_figures *figures,
                       double height, cJSON *report);
void cli_refine_print_summary(const cvtm_refine_options *refine,
                              const cvtm_refine_figures *figures);

#endif
