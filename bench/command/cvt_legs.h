/* A CVT by L-BFGS-B in two ways, its two legs: all on the device, as `cvtmesh run` does it; and the
 * optimiser on the CPU, which exchanges sites and gradients with the device. Start, bounds, scaling
 * of the variables, options and limits are the same. */
#ifndef CVTMESH_BENCH_COMMAND_CVT_LEGS_H
#define CVTMESH_BENCH_COMMAND_CVT_LEGS_H

#include "cli/options.h"
#include "cvt/descent.h"

enum { CLI_LEG_ITERATIONS = 1000 };

/* A run, up to the first iteration in which the energy did not fall. */
typedef struct cli_leg {
  int64_t iterations;
  int64_t evaluations; /* of the run */
  int64_t ran;         /* iterations of the run; the device may be ahead of the host's decision */
  int at_limit;        /* ended by a limit of iterations or time */
  double evaluation, io, optimizer; /* seconds of the run */
  double energy[CLI_LEG_ITERATIONS + 1];
} cli_leg;

/* Random sites in a square, see cvt_start.h. */
typedef struct cli_legs cli_legs;

cvtm_status cli_legs_open(cvtm_device *device, const cli_options *options, int side, int64_t sites,
                          cli_legs **legs);
void cli_legs_close(cli_legs *legs);
/* cvtm_cvt_energy_bound of the density and the sites. */
double cli_legs_bound(const cli_legs *legs);
/* Times are of the second of two runs on CUDA, since the first also loads the kernels. An
 * evaluation there is timed in a loop on the device, at the final sites. */
cvtm_status cli_legs_on_device(cli_legs *legs, cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                               cli_leg *leg);
/* I/O is the copying of sites, energies and gradients. */
cvtm_status cli_legs_on_cpu(cli_legs *legs, cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                            cli_leg *leg);

/* Seconds of an evaluation of value and gradient at the plan's sites, in a loop on the device that
 * the host takes no part in. A host that waits for each evaluation takes longer than the device. */
cvtm_status cli_time_evaluation(const cvtm_cvt_task *task, double *seconds);

#endif
