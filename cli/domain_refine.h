/* --min-angle and --max-area with --domain. */
#ifndef CVTMESH_CLI_DOMAIN_REFINE_H
#define CVTMESH_CLI_DOMAIN_REFINE_H

#include "cli/domain.h"

/* Nonzero unless --min-angle 0 without --max-area leaves the mesh as it is. */
int cli_domain_refines(const cli_options *options);
/* Refines the mesh of the sites: they move, vanish or get company, and the edges of the boundary
 * may be divided. *sites: 2 * *count, malloc'd; the vertices of the boundary come first, before and
 * after. Does nothing unless cli_domain_refines. */
cvtm_status cli_domain_refine(const cli_options *options, cvtm_domain image, cli_domain *domain,
                              double **sites, int64_t *count, cvtm_error *error);
/* Moves the sites inside towards the centroids of their cells (2 * count) where that keeps what
 * cli_domain_refine has reached. */
cvtm_status cli_domain_relax(const cli_options *options, cvtm_domain image, cli_domain *domain,
                             double *sites, int64_t count, const double *centroid, int64_t *moved,
                             cvtm_error *error);
/* Then moves sites near the boundary so that the smallest angles there grow. */
cvtm_status cli_domain_raise_angles(const cli_options *options, cvtm_domain image,
                                    cli_domain *domain, double *sites, int64_t count,
                                    cvtm_error *error);

#endif
