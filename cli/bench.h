/* cvtmesh bench: tables that compare this machine with published figures. */
#ifndef CVTMESH_CLI_BENCH_H
#define CVTMESH_CLI_BENCH_H

#include "base/device.h"
#include "cli/options.h"

/* function, name, summary */
#define CLI_BENCH_LIST(X) \
  X(cli_bench_figure3, "figure3", "Products of an 8 x M and an M x 8 matrix (Fei et al., Figure 3)")

/* Each prints a table in Markdown on stdout; on failure the message is in the device. */
#define CLI_BENCH_FUNCTION(function, name, summary) \
  cvtm_status function(cvtm_device *device, const cli_options *options);
CLI_BENCH_LIST(CLI_BENCH_FUNCTION)
#undef CLI_BENCH_FUNCTION

#endif
