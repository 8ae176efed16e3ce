#include "cli/domain_refine.h"

#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

static void choose(const cli_options *options, cvtm_domain image, const cli_domain *domain,
                   cvtm_refine_options *refine) {
  cli_refine_choose(options, &domain->caps, &domain->deadline, refine);
  refine->headroom = 0; /* sites have places of less energy */
  if (!options->periodic) return;
  refine->paired_sides[2] = image.width;
  refine->paired_sides[3] = image.height;
}

int cli_domain_refines(const cli_options *options) {
  const int is_zero = cli_option_given(options, "min-angle") && options->refine.min_angle == 0;
  return !is_zero || options->refine.max_area.count > 0;
}

/* The best of some bounds that all triangles reach, if none was asked for: 30, 28 or 26 degrees. */
static int may_ask_less(const cli_options *options, const cvtm_refine_options *refine,
                        const cvtm_refine_figures *figures) {
  return !cli_option_given(options, "min-angle") && figures->below_free > 0 && !figures->stopped &&
         refine->min_angle > 26;
}

cvtm_status cli_domain_refine(const cli_options *options, cvtm_domain image, cli_domain *domain,
                              double **sites, int64_t *count, cvtm_error *error) {
  cvtm_refine_options *refine = &domain->refine;
  cvtm_boundary boundary = {0};
  double *made = NULL;
  int32_t *source = NULL;
  int64_t made_count = 0;
  choose(options, image, domain, refine);
  refine->wanted = *count;
  domain->refined = cli_domain_refines(options);
  if (!domain->refined) return CVTM_OK;
  domain->deviation = cvtm_boundary_deviation(&domain->boundary);
  for (;;) {
    const cvtm_status status =
        cvtm_refine(*sites, *count, &domain->boundary, refine, &made, &made_count, &boundary,
                    &source, &domain->refinement, error);
    if (status != CVTM_OK) return status;
    free(source);
    if (!may_ask_less(options, refine, &domain->refinement)) break;
    refine->min_angle -= 2;
    free(made);
    cvtm_boundary_free(&boundary);
    cvtm_refine_figures_free(&domain->refinement);
  }
  cvtm_boundary_free(&domain->boundary);
  domain->boundary = boundary;
  free(*sites);
  *sites = made;
  *count = made_count;
  return CVTM_OK;
}

/* The options of moves that keep the bound which was reached. */
static cvtm_refine_options keep_bound(const cli_options *options, cvtm_domain image,
                                      const cli_domain *domain) {
  cvtm_refine_options refine;
  choose(options, image, domain, &refine);
  refine.min_angle = domain->refine.min_angle;
  return refine;
}

cvtm_status cli_domain_raise_angles(const cli_options *options, cvtm_domain image,
                                    cli_domain *domain, double *sites, int64_t count,
                                    cvtm_error *error) {
  const cvtm_refine_options refine = keep_bound(options, image, domain);
  cvtm_refine_figures *reached = &domain->refinement;
  const cvtm_boundary_angles *angles = &domain->angles;
  const cvtm_status status =
      cvtm_refine_boundary_angles(sites, count, &domain->boundary, &refine, &domain->angles, error);
  if (status != CVTM_OK) return status;
  reached->min_angle = angles->after.least;
  if (angles->inside.triangles > 0)
    reached->min_angle = fmin(reached->min_angle, angles->inside.least);
  if (reached->below_free == 0 && angles->least_kept > 0)
    reached->min_angle_free = angles->least_kept;
  return CVTM_OK;
}

cvtm_status cli_domain_relax(const cli_options *options, cvtm_domain image, cli_domain *domain,
                             double *sites, int64_t count, const double *centroid, int64_t *moved,
                             cvtm_error *error) {
  const cvtm_refine_options refine = keep_bound(options, image, domain);
  return cvtm_refine_move(sites, count, &domain->boundary, &refine, centroid, moved, error);
}
