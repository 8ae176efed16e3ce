/* The module cvtmesh_mpi.so: the ranks of a distributed run by MPI. Only one thread of a process
 * may call it at a time. */
#include "cli/mpi_ranks.h"

#include <mpi.h>

#include <limits.h>
#include <stdlib.h>

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
  return 0;
}

/* MPI counts in int, so larger parts are sent in pieces. */
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

/* Waits actively, as is best for ranks that share no core. */
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

static void finish_mpi(void) { MPI_Finalize(); }

extern const ranks_mpi_module cvtmesh_ranks_mpi;
const ranks_mpi_module cvtmesh_ranks_mpi = {RANKS_MPI_VERSION,
                                            {start, gather_counts, agree, end_all, finish_mpi}};
