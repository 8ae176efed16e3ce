/* One run in several processes.
 *
 * `mpirun -n K cvtmesh run ... --ranks mpi`: K ranks, on CPUs or on GPUs, share the work of one
 * run. Every rank reads the picture and makes the same decisions; descents and evaluations are
 * divided among them (cvt/decomposition.h). Rank 0 makes mesh and files. */
#pragma once

#include "cli/mpi_ranks.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdint.h>

typedef struct cli_distributed {
  mpi_ranks *processes; /* NULL: the run is of this process alone */
  cvtm_ranks ranks;
  cvtm_error message; /* of a rank other than 0, which prints nothing */
  char device[24];    /* the name of this rank's GPU */
} cli_distributed;

/* Checks the options against each other. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_distributed_check(const cli_options *options);
/* The number of processes for --ranks or --device cuda:all, each with this command line and --ranks
 * mpi; 1: no other process. Sets device and `distributed` in *options. */
int64_t cli_distributed_count(cli_options *options);
/* The number of these processes with which the run is faster, or fits into memory. Prints a note if
 * it is smaller. */
int64_t cli_distributed_useful(const cli_options *options, int64_t asked);
/* With --ranks mpi: joins the other ranks, and chooses device and threads in *options. Ranks other
 * than 0 become quiet. Returns CLI_EXIT_OK, or an exit code after a message. */
int cli_distributed_join(cli_options *options, cli_distributed *distributed);
/* Lets the ranks share the device's work. Returns CLI_EXIT_OK, or an exit code after a message. */
int cli_distributed_attach(cli_distributed *distributed, cvtm_device *device);
/* To be called before the device is destroyed. */
void cli_distributed_detach(cli_distributed *distributed, cvtm_device *device);
/* True on the rank that writes the files; without ranks always true. */
int cli_distributed_writes(const cli_distributed *distributed);
/* Ends this rank's part. code: CLI_EXIT_OK, or of a failure that other ranks may not have found:
 * then all ranks end immediately, and the reason is printed with this rank and its host. */
void cli_distributed_leave(cli_distributed *distributed, int code);

/* Several processes of this program on this machine, started by mpirun. */

/* Replaces this process by `mpirun -n RANKS` with this command line and --ranks mpi. Returns an
 * exit code after a message if that fails. */
int cli_launch_ranks(int64_t ranks);
