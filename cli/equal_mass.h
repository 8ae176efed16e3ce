/* --equal-mass of `run`: cells of equal mass, by a power diagram. */
#ifndef CVTMESH_CLI_EQUAL_MASS_H
#define CVTMESH_CLI_EQUAL_MASS_H

#include "cli/options.h"
#include "cvt/equal_mass.h"

#include <cjson/cJSON.h>

typedef struct cli_equal_mass {
  double *weights;    /* of the sites */
  float *drawn;       /* density for pictures, whose square root the sites follow */
  double least, most; /* masses of cells, relative to the target */
  double tolerance;
  cvtm_equal_mass_result result;
} cli_equal_mass;

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_equal_mass_check(const cli_options *options);
/* As cvtm_equal_mass_solve. hold: sites that are given or sampled do not move. The moments must
 * have masses. Free *equal whatever is returned. */
cvtm_status cli_equal_mass_solve(const cli_options *options, cvtm_cvt *cvt, cvtm_domain domain,
                                 const float *density, const cvtm_cvt_options *settings,
                                 int64_t given, int hold, double *sites, int64_t count,
                                 const cvtm_cvt_moments *moments, cli_equal_mass *made,
                                 cvtm_error *error);
void cli_equal_mass_free(cli_equal_mass *made);
void cli_equal_mass_report(const cli_equal_mass *made, cJSON *report);
void cli_equal_mass_print_summary(const cli_equal_mass *made);

#endif
