/* Several processes of this program on this machine, started by mpirun. */
#ifndef CVTMESH_CLI_LAUNCH_H
#define CVTMESH_CLI_LAUNCH_H

#include <stdint.h>

/* Replaces this process by `mpirun -n RANKS` with the same command line and --distributed. Returns
 * an exit code after a message if that failed. */
int cli_launch_ranks(int64_t ranks);

#endif
