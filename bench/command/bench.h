/* cvtmesh bench: tables that compare this machine with published figures. */
#ifndef CVTMESH_BENCH_COMMAND_BENCH_H
#define CVTMESH_BENCH_COMMAND_BENCH_H

#include "base/device.h"
#include "cli/options.h"
#include "draw/chart.h"

/* function, name, whether it is a figure that can be drawn, whether it has tessellations,
 * summary; "Fei et al." are Fei, Rong,
 * Wang & Wang 2014 */
#define CLI_BENCH_LIST(X)                                                                          \
  X(cli_bench_table1, "table1", 0, 0,                                                              \
    "Cauchy points of the MINPACK-2 problems (Fei et al., Table 1)")                               \
  X(cli_bench_table2, "table2", 0, 1, "Iterations of CVTs (Fei et al., Table 2)")                  \
  X(cli_bench_table3, "table3", 0, 1, "Cauchy points of CVTs (Fei et al., Table 3)")               \
  X(cli_bench_table4, "table4", 0, 0, "Elastic-plastic torsion (Fei et al., Table 4)")             \
  X(cli_bench_figure3, "figure3", 1, 0,                                                            \
    "Products of an 8 x M and an M x 8 matrix (Fei et al., Figure 3)")                             \
  X(cli_bench_figure6, "figure6", 1, 1, "L-BFGS-B in an iteration of CVTs (Fei et al., Figure 6)") \
  X(cli_bench_figure7, "figure7", 1, 1, "Energies of a CVT (Fei et al., Figure 7)")                \
  X(cli_bench_figure8, "figure8", 1, 1, "Time of an iteration of CVTs (Fei et al., Figure 8)")     \
  X(cli_bench_figure9, "figure9", 1, 0,                                                            \
    "L-BFGS-B in an iteration of elastic-plastic torsion (Fei et al., Figure 9)")                  \
  X(cli_bench_histories, "histories", 0, 1,                                                        \
    "Histories of 5 to 100 pairs on the MINPACK-2 problems and a CVT")                             \
  X(cli_bench_segment, "segment", 0, 0,                                                            \
    "Segmentation by Algorithm 1 and by ours (Klement & Oberhuber, Tables I and II)")              \
  X(cli_bench_rgcsr, "rgcsr", 0, 0,                                                                \
    "Position of the diagonal in RgCSR (Klement & Oberhuber, section IV)")                         \
  X(cli_bench_hlcp, "hlcp", 0, 0,                                                                  \
    "HLCPs by multisplitting (Mezzadri 2020, Tables 1 to 3, Figure 2)")                            \
  X(cli_bench_hlcp_figure1, "hlcp-figure1", 1, 0,                                                  \
    "Shapes of CUDA grids (Mezzadri 2020, Figure 1)")                                              \
  X(cli_bench_hlcp_figure2, "hlcp-figure2", 1, 0, "Parallel efficiency (Mezzadri 2020, Figure 2)")

/* Each prints a table in Markdown on stdout, and draws options->figure if that is given; on failure
 * the message is in the device. */
#define CLI_BENCH_FUNCTION(function, name, draws, tessellates, summary) \
  cvtm_status function(cvtm_device *device, const cli_options *options);
CLI_BENCH_LIST(CLI_BENCH_FUNCTION)
#undef CLI_BENCH_FUNCTION

#endif
