/* `stats --spectrum`: what kind of noise a set of points is. */
#ifndef CVTMESH_CLI_SPECTRUM_H
#define CVTMESH_CLI_SPECTRUM_H

#include "cli/options.h"
#include "meshes/mesh.h"
#include "noise/spectrum.h"

#include <cjson/cJSON.h>
#include <stdio.h>

typedef struct cli_spectrum {
  int is_measured;
  cvtm_spectrum spectrum;
  double bond_order;
} cli_spectrum;

/* Checks --spectrum. Returns CLI_EXIT_OK, or an exit code after a message. */
int cli_spectrum_check(const cli_options *options);
/* Measures the points (2 * mesh->vertex_count) if --spectrum is given. density: that of --density,
 * whose root the points follow; NULL: they are uniform. *made is empty on failure;
 * else cli_spectrum_free frees it. */
cvtm_status cli_spectrum_measure(const cli_options *options, cvtm_domain domain,
                                 const float *density, const double *points, const cvtm_mesh *mesh,
                                 cli_spectrum *made, cvtm_error *error);
void cli_spectrum_free(cli_spectrum *made);
/* Writes every file of --spectrum. */
cvtm_status cli_spectrum_write(const cli_options *options, const cli_spectrum *made,
                               cvtm_error *error);
/* Adds `noise`, or prints the figures, if they were measured. */
void cli_spectrum_report(const cli_spectrum *made, cJSON *report);
void cli_spectrum_print(const cli_spectrum *made, FILE *stream);

/* spectrum_svg.c */
cvtm_status cli_spectrum_draw(const char *path, const cvtm_spectrum *spectrum, cvtm_error *error);

#endif
