/* The module cvtmesh_mpi.so: the ranks of a batch or of a distributed run by MPI. Only one thread
 * of a process calls it at a time. It sleeps while it waits, since the ranks of one machine share
 * its cores. */
#include "cli/batch_ranks.h"

#include <mpi.h>

#include <limits.h>
#include <stdlib.h>
#include <time.h>

static int64_t *counter; /* on rank 0 */
static MPI_Win window;

static int finished(MPI_Request *request) {
  int done = 0;
  const struct timespec pause = {0, 1000000};
  while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
    if (done) return 0;
    nanosleep(&pause, NULL);
  }
  return -1;
}

static int start_counter(int rank) {
  const MPI_Aint bytes = rank == 0 ? (MPI_Aint)sizeof *counter : 0;
  if (MPI_Win_allocate(bytes, (int)sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
                       &window) != MPI_SUCCESS)
    return -1;
  if (MPI_Win_lock_all(0, window) != MPI_SUCCESS) return -1;
  if (rank == 0) {
    const int64_t zero = 0;
    int64_t before = 0;
    if (MPI_Fetch_and_op(&zero, &before, MPI_INT64_T, 0, 0, MPI_REPLACE, window) != MPI_SUCCESS ||
        MPI_Win_flush(0, window) != MPI_SUCCESS)
      return -1;
  }
  return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int start(int *rank, int *size, int *local_rank, int *local_size) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return -1;
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return -1;
  }
  MPI_Comm machine;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &machine) !=
      MPI_SUCCESS)
    return -1;
  MPI_Comm_rank(machine, local_rank);
  MPI_Comm_size(machine, local_size);
  MPI_Comm_free(&machine);
  return start_counter(*rank);
}

static int fetch_and_add(int64_t amount, int64_t *before) {
  if (MPI_Fetch_and_op(&amount, before, MPI_INT64_T, 0, 0, MPI_SUM, window) != MPI_SUCCESS)
    return -1;
  return MPI_Win_flush(0, window) == MPI_SUCCESS ? 0 : -1;
}

static int progress(void) {
  int waits = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waits, MPI_STATUS_IGNORE) ==
                 MPI_SUCCESS
             ? 0
             : -1;
}

static int broadcast(int64_t *value) {
  MPI_Request request;
  if (MPI_Ibcast(value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS ||
      finished(&request) != 0)
    return -1;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return -1;
  return finished(&request);
}

static int sum(int64_t *values, int count) {
  MPI_Request request;
  if (MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request) !=
      MPI_SUCCESS)
    return -1;
  return finished(&request);
}

/* MPI counts in int: larger parts go in pieces. */
static int gather_in_pieces(double *all, const int64_t *counts, int size) {
  const int64_t most = 1 << 28;
  for (int r = 0; r < size; ++r) {
    for (int64_t at = 0; at < counts[r]; at += most) {
      const int count = (int)(counts[r] - at < most ? counts[r] - at : most);
      if (MPI_Bcast(all + at, count, MPI_DOUBLE, r, MPI_COMM_WORLD) != MPI_SUCCESS) return -1;
    }
    all += counts[r];
  }
  return 0;
}

/* Waits actively, which suits ranks that share no core. */
static int gather_counts(double *all, const int64_t *counts) {
  int size = 0;
  int64_t total = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int r = 0; r < size; ++r) total += counts[r];
  if (total > INT_MAX || total == counts[0]) return gather_in_pieces(all, counts, size);
  int *part = malloc(2 * (size_t)size * sizeof *part);
  if (part == NULL) return -1;
  int64_t before = 0;
  for (int r = 0; r < size; ++r) {
    part[r] = (int)counts[r];
    part[size + r] = (int)before;
    before += counts[r];
  }
  const int code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, part, part + size,
                                  MPI_DOUBLE, MPI_COMM_WORLD);
  free(part);
  return code == MPI_SUCCESS ? 0 : -1;
}

static int agree(int64_t *value) {
  return MPI_Bcast(value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static void end_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void finish_mpi(void) {
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}

extern const batch_mpi_module cvtmesh_batch_mpi;
const batch_mpi_module cvtmesh_batch_mpi = {
    BATCH_MPI_VERSION,
    {start, fetch_and_add, progress, broadcast, sum, gather_counts, agree, end_all, finish_mpi}};
