/* The processes of one batch: those that mpirun or srun started, or this one alone. Jobs are
 * handed out by a counter that lives with rank 0. */
#ifndef CVTMESH_CLI_BATCH_RANKS_H
#define CVTMESH_CLI_BATCH_RANKS_H

#include "base/status.h"

#include <stdint.h>

/* What MPI does for a batch; it lies in a module of its own that is loaded under mpirun
 * alone, so that the program neither needs nor waits for an MPI library elsewhere. */
typedef struct batch_mpi {
  /* Nonzero: MPI failed. */
  int (*start)(int *rank, int *size, int *local_rank, int *local_size);
  int (*fetch_and_add)(int64_t amount, int64_t *before); /* on the counter of rank 0 */
  int (*progress)(void);            /* lets others reach the counter of a busy rank 0 */
  int (*broadcast)(int64_t *value); /* from rank 0; also a barrier */
  int (*sum)(int64_t *values, int count);
  void (*finish)(void);
} batch_mpi;

enum { BATCH_MPI_VERSION = 1 };
/* What the module exports, under the name cvtmesh_batch_mpi. */
typedef struct batch_mpi_module {
  int version;
  batch_mpi table;
} batch_mpi_module;

typedef struct batch_ranks batch_ranks;

/* Fails under mpirun with several ranks if this build has no MPI: each would do every job. */
cvtm_status batch_ranks_start(batch_ranks **ranks, cvtm_error *error);
int batch_ranks_rank(const batch_ranks *ranks);
int batch_ranks_size(const batch_ranks *ranks);
/* Among the ranks of this machine. */
int batch_ranks_local_rank(const batch_ranks *ranks);
int batch_ranks_local_size(const batch_ranks *ranks);
/* The next number, from 0, that no other rank gets. Any thread may call it. */
cvtm_status batch_ranks_next(batch_ranks *ranks, int64_t *number, cvtm_error *error);
/* From now on the numbers are beyond every list. */
void batch_ranks_cancel(batch_ranks *ranks);
/* To be called every few milliseconds while other threads work. */
void batch_ranks_progress(batch_ranks *ranks);
/* Collective: rank 0's value for all. */
cvtm_status batch_ranks_broadcast(batch_ranks *ranks, int64_t *value, cvtm_error *error);
/* Collective: sums over the ranks. */
cvtm_status batch_ranks_sum(batch_ranks *ranks, int64_t *values, int count, cvtm_error *error);
void batch_ranks_finish(batch_ranks *ranks);

#endif
