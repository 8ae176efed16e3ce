/* What the tables of tessellations start from: a square, its density, and random sites. */
#ifndef CVTMESH_BENCH_COMMAND_CVT_START_H
#define CVTMESH_BENCH_COMMAND_CVT_START_H

#include "cli/options.h"
#include "cvt/cvt.h"

/* A plan of `sites` sites in side x side pixels. The density is even, or that of the picture of
 * --density, stretched over the square. start: 2 * sites, random sites. *bound:
 * cvtm_cvt_energy_bound, or NULL. On failure *cvt is NULL and the message is in the device. */
cvtm_status cli_cvt_start(cvtm_device *device, const cli_options *options, int side, int64_t sites,
                          double *start, double *bound, cvtm_cvt **cvt);

/* For the text below a table. */
void cli_cvt_start_print(const cli_options *options);

#endif
