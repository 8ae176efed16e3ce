/* Meshes that keep the boundary of a domain: where run takes the domain from, and what it
 * does with it before and after the tessellation. */
#ifndef CVTMESH_CLI_DOMAIN_H
#define CVTMESH_CLI_DOMAIN_H

#include "base/domain.h"
#include "cli/options.h"
#include "cvt/slide.h"
#include "meshes/domain_mesh.h"
#include "meshes/domain_plan.h"

#include <cjson/cJSON.h>

typedef enum cli_domain_kind {
  CLI_DOMAIN_NONE,
  CLI_DOMAIN_IMAGE,
  CLI_DOMAIN_MASK,
  CLI_DOMAIN_POLYGON,
  CLI_DOMAIN_LABELS,
  CLI_DOMAIN_SEGMENT
} cli_domain_kind;

typedef struct cli_domain {
  cvtm_contour contour;
  cvtm_boundary boundary; /* its vertices are the first sites, and fixed for every descent */
  cvtm_domain_plan_figures figures;
  cvtm_regions regions;       /* of the mesh */
  cvtm_cvt_slides slides;     /* of --boundary sliding */
  int64_t dropped;            /* sites that have no place in the mesh */
  double mesh_area, smallest; /* of parts of the domain that are not left out */
} cli_domain;

/* What the options ask of each other; CLI_EXIT_OK or CLI_EXIT_USAGE after a message. */
int cli_domain_check(const cli_options *options);
/* Reads the domain, plans its boundary and changes the density to match. segmented: the
 * coverage of what --segment has found, else NULL. */
cvtm_status cli_domain_read(const cli_options *options, cvtm_domain image, const float *segmented,
                            float *density, cli_domain *domain, cvtm_error *error);
/* Sites (2 * count) that cli_domain_triangulate would leave out go to the triangles that the
 * density asks most sites for; *moved: how many. */
cvtm_status cli_domain_move_dropped(const cli_domain *domain, cvtm_domain image,
                                    const float *density, double *sites, int64_t count,
                                    int64_t *moved, cvtm_error *error);
/* The constrained triangulation of the sites. Those that have no triangle, or lie so close to an
 * edge of the boundary that a triangle there is flat, leave all three lists (2, 1 and 2 numbers
 * each). */
cvtm_status cli_domain_triangulate(cli_domain *domain, double *sites, double *mass,
                                   double *centroid, int64_t *count, cvtm_mesh *mesh,
                                   cvtm_error *error);
void cli_domain_report(const cli_domain *domain, cJSON *report);
void cli_domain_print_summary(const cli_domain *domain);
void cli_domain_free(cli_domain *domain);

#endif
