/* The processes of one batch or of one distributed run: those that mpirun or srun started, or this
 * one alone. Jobs are handed out by a counter that lives with rank 0. */
#ifndef CVTMESH_CLI_BATCH_RANKS_H
#define CVTMESH_CLI_BATCH_RANKS_H

#include "base/ranks.h"

#include <stdint.h>

/* What a batch needs of MPI. It is a module that is loaded under mpirun alone, so that the program
 * does not depend on an MPI library. */
typedef struct batch_mpi {
  /* All functions return nonzero if MPI failed. */
  int (*start)(int *rank, int *size, int *local_rank, int *local_size);
  int (*fetch_and_add)(int64_t amount, int64_t *before); /* rank 0 holds the counter */
  int (*progress)(void);            /* lets MPI serve the counter while rank 0 computes */
  int (*broadcast)(int64_t *value); /* from rank 0 to all; also a barrier */
  int (*sum)(int64_t *values, int count);
  int (*gather)(double *all, const int64_t *counts); /* these two as in cvtm_ranks */
  int (*agree)(int64_t *value);
  void (*end_all)(int code); /* ends every rank at once; the launcher returns the code */
  void (*finish)(void);
} batch_mpi;

enum { BATCH_MPI_VERSION = 2 };
/* The symbol that the module exports: cvtmesh_batch_mpi. */
typedef struct batch_mpi_module {
  int version;
  batch_mpi table;
} batch_mpi_module;

typedef struct batch_ranks batch_ranks;

/* Fails under mpirun with several ranks if this build has no MPI, since each rank would do every
 * job. Call it before any thread starts: unless it is asked to bind, Open MPI binds a rank to one
 * core, or to a socket, which leaves a rank's threads few cores; that is undone. */
cvtm_status batch_ranks_start(batch_ranks **ranks, cvtm_error *error);
/* True if a launcher started this process; then batch_ranks_start joins the others. */
int batch_ranks_launched(void);
int batch_ranks_rank(const batch_ranks *ranks);
int batch_ranks_size(const batch_ranks *ranks);
/* The rank among the processes of this machine. */
int batch_ranks_local_rank(const batch_ranks *ranks);
int batch_ranks_local_size(const batch_ranks *ranks);
/* The cores that are this rank's share, and the most that it may use while the other ranks of this
 * machine wait. */
int batch_ranks_cores(const batch_ranks *ranks);
int batch_ranks_cores_alone(const batch_ranks *ranks);
/* On rank 0, if batch_ranks_start has undone a binding: a note on stderr says so. */
void batch_ranks_print_note(const batch_ranks *ranks);
/* Takes the next number, from 0; no other rank gets the same. Thread-safe. */
cvtm_status batch_ranks_next(batch_ranks *ranks, int64_t *number, cvtm_error *error);
/* All further numbers are larger than any index, so that no rank starts another job. */
void batch_ranks_cancel(batch_ranks *ranks);
/* Serves requests of other ranks; to be called every few milliseconds while other threads
 * compute. */
void batch_ranks_progress(batch_ranks *ranks);
/* Collective: all ranks get the value of rank 0. */
cvtm_status batch_ranks_broadcast(batch_ranks *ranks, int64_t *value, cvtm_error *error);
/* Collective: sums over all ranks. */
cvtm_status batch_ranks_sum(batch_ranks *ranks, int64_t *values, int count, cvtm_error *error);
/* For a device whose work the ranks share; rank, size 1 and functions that do nothing without MPI.
 */
cvtm_ranks batch_ranks_collective(const batch_ranks *ranks);
/* Ends every rank at once, if there are several. */
void batch_ranks_end_all(batch_ranks *ranks, int code);
void batch_ranks_finish(batch_ranks *ranks);

#endif
