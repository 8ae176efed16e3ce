/* The processes of one distributed run: started by mpirun or srun, or only this process. */
#pragma once

#include "base/ranks.h"

#include <stdint.h>

/* The functions of MPI that a run needs. Their module is loaded only under mpirun, so that the
 * program does not depend on an MPI library. */
typedef struct ranks_mpi {
  /* All functions return nonzero if MPI failed. */
  int (*start)(int *rank, int *size, int *local_rank, int *local_size);
  int (*gather)(double *all, const int64_t *counts); /* gather and agree are as in cvtm_ranks */
  int (*agree)(int64_t *value);
  void (*end_all)(int code); /* ends every rank immediately; the launcher returns the code */
  void (*finish)(void);
} ranks_mpi;

enum { RANKS_MPI_VERSION = 3 };
/* The symbol that the module exports: cvtmesh_ranks_mpi. */
typedef struct ranks_mpi_module {
  int version;
  ranks_mpi table;
} ranks_mpi_module;

typedef struct mpi_ranks mpi_ranks;

/* Fails under mpirun with several ranks if this build has no MPI, since each rank would do the
 * entire run. To be called before any thread starts: Open MPI by default binds a rank to a core or
 * a socket, which leaves few cores for the rank's threads, and this call undoes the binding. */
cvtm_status mpi_ranks_start(mpi_ranks **ranks, cvtm_error *error);
/* The number of processes that a known launcher has started; 0 without a launcher, -1: unknown. */
int mpi_ranks_launched(void);
/* The rank among the processes of this machine. */
int mpi_ranks_local_rank(const mpi_ranks *ranks);
/* The number of cores for this rank, and the largest number that it may use while the other ranks
 * of this machine wait. */
int mpi_ranks_cores(const mpi_ranks *ranks);
int mpi_ranks_cores_alone(const mpi_ranks *ranks);
/* Prints a note on stderr if this is rank 0 and mpi_ranks_start has undone a binding. */
void mpi_ranks_print_note(const mpi_ranks *ranks);
/* How a device shares its work with the ranks. Without MPI: one rank, functions without effect. */
cvtm_ranks mpi_ranks_collective(const mpi_ranks *ranks);
/* If there are several ranks, ends all of them immediately. */
void mpi_ranks_end_all(mpi_ranks *ranks, int code);
void mpi_ranks_finish(mpi_ranks *ranks);
