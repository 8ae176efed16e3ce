/* Timed runs on the examples of Mezzadri 2020. */
#ifndef CVTMESH_BENCH_COMMAND_HLCP_RUNS_H
#define CVTMESH_BENCH_COMMAND_HLCP_RUNS_H

#include "bench/problems/complementarity.h"
#include "lcp/hlcp.h"

/* An example and its vectors on the device. */
typedef struct cli_hlcp_runs {
  cvtm_device *device;
  cvtm_hlcp_problem problem;
  double *q, *z, *w;
  int example;
} cli_hlcp_runs;

/* mu and nu as in the paper. On failure nothing is left to close. */
cvtm_status cli_hlcp_runs_open(cvtm_device *device, int example, int size, cli_hlcp_runs *runs);
void cli_hlcp_runs_close(cli_hlcp_runs *runs);
/* Solves twice, with the paper's Omega; result->seconds is that of the faster run. splits 0: chosen
 * for the device. block_threads: of cvtm_hlcp_options. */
cvtm_status cli_hlcp_runs_solve(cli_hlcp_runs *runs, cvtm_hlcp_method method, int64_t splits,
                                int64_t block_threads, cvtm_hlcp_result *result);

enum { CLI_HLCP_SHAPES = 10, CLI_HLCP_SHAPE_THREADS = 512 };
/* Table 1 and Figure 1: example 1, h = 1024, MMGS, l = 512 = ng x nb. Seconds of the paper for
 * ng = 1, 2, 4, ... */
extern const double cli_hlcp_table_1[CLI_HLCP_SHAPES];
/* Our seconds for these shapes on a CUDA device, and the result of the last run. */
cvtm_status cli_hlcp_shapes(cli_hlcp_runs *runs, double *seconds, cvtm_hlcp_result *result);

#endif
