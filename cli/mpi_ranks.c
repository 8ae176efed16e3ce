#include "cli/mpi_ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mpi_ranks {
  const ranks_mpi *mpi; /* NULL: only this process */
  int rank, size, local_rank, local_size;
  int usable,
      allowed; /* numbers of cores that this process may use, and that the launcher may use */
  int bound;   /* number of cores to which the launcher had bound this process; 0: no binding was
                  undone */
};

int mpi_ranks_launched(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
    if (getenv(sizes[k]) != NULL) return atoi(getenv(sizes[k]));
  const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
  return getenv("PMIX_RANK") != NULL ? tasks != NULL ? atoi(tasks) : -1 : 0;
}

/* Looks for the module beside the program, as in a build folder, and at its installed path. */
static const ranks_mpi *load_module(char *reason, size_t capacity) {
#ifdef CVTMESH_MPI_MODULE
  static const char *const places[] = {"cvtmesh_mpi.so", CVTMESH_MPI_MODULE};
  char path[PATH_MAX + 64], program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return NULL;
  program[length] = '\0';
  *(strrchr(program, '/') + 1) = '\0';
  for (size_t k = 0; k < sizeof places / sizeof places[0]; ++k) {
    const int size = snprintf(path, sizeof path, "%s%s", program, places[k]);
    if (size < 0 || (size_t)size >= sizeof path || access(path, R_OK) != 0) continue;
    void *module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const ranks_mpi_module *found = module != NULL ? dlsym(module, "cvtmesh_ranks_mpi") : NULL;
    if (found != NULL && found->version == RANKS_MPI_VERSION) return &found->table;
    snprintf(reason, capacity, "%s",
             module == NULL ? dlerror() : "cvtmesh_mpi.so is of another build");
    return NULL;
  }
  snprintf(reason, capacity, "cvtmesh_mpi.so is not installed");
#else
  snprintf(reason, capacity, "this build has no MPI");
#endif
  return NULL;
}

static cvtm_status join_mpi(mpi_ranks *ranks, cvtm_error *error) {
  const int size = mpi_ranks_launched();
  char reason[256] = "";
  if (size == 0 || size == 1) return CVTM_OK;
  ranks->mpi = load_module(reason, sizeof reason);
  if (ranks->mpi == NULL && size < 0) return CVTM_OK;
  if (ranks->mpi == NULL)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "this is one of %d ranks, but %s", size,
                     reason);
  if (ranks->mpi->start(&ranks->rank, &ranks->size, &ranks->local_rank, &ranks->local_size) != 0) {
    ranks->mpi = NULL;
    return cvtm_fail(error, CVTM_ERROR_INTERNAL, "MPI failed");
  }
  return CVTM_OK;
}

/* --- cores --------------------------------------------------------------------------------- */

/* True if Open MPI binds ranks by default, without a request of the user. */
static int is_bound_unasked(void) {
  static const char *const wishes[] = {
      "OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
      "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_rmaps_default_mapping_policy"};
  for (size_t k = 0; k < sizeof wishes / sizeof wishes[0]; ++k)
    if (getenv(wishes[k]) != NULL) return 0;
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

/* Finds the cores. Those of the launcher are allowed by the user, a queue and the system. */
static void find_cores(mpi_ranks *ranks) {
  cpu_set_t own, launcher;
  ranks->usable = ranks->allowed = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (sched_getaffinity(0, sizeof own, &own) != 0) return;
  ranks->usable = ranks->allowed = CPU_COUNT(&own);
  if (mpi_ranks_launched() == 0 || sched_getaffinity(getppid(), sizeof launcher, &launcher) != 0 ||
      CPU_COUNT(&launcher) <= ranks->usable)
    return;
  ranks->allowed = CPU_COUNT(&launcher);
  if (!is_bound_unasked() || sched_setaffinity(0, sizeof launcher, &launcher) != 0) return;
  ranks->bound = ranks->usable;
  ranks->usable = ranks->allowed;
}

static int at_most(int cores, int most) { return cores < most ? cores : most; }

int mpi_ranks_cores(const mpi_ranks *ranks) {
  const int share = ranks->allowed / ranks->local_size;
  return at_most(share > 0 ? share : 1, ranks->usable);
}

int mpi_ranks_cores_alone(const mpi_ranks *ranks) {
  const int share = mpi_ranks_cores(ranks), others = ranks->local_size - 1;
  const int left =
      at_most(ranks->allowed - others, ranks->usable); /* the other ranks wait actively */
  return left > share ? left : share;
}

void mpi_ranks_print_note(const mpi_ranks *ranks) {
  if (ranks->rank > 0 || ranks->bound == 0) return;
  fprintf(stderr,
          "cvtmesh: note: Open MPI had bound this rank to %d of %d cores; ranks now share them all "
          "(mpirun --bind-to core keeps a binding)\n",
          ranks->bound, ranks->allowed);
}

/* --- start ---------------------------------------------------------------------------------- */

cvtm_status mpi_ranks_start(mpi_ranks **result, cvtm_error *error) {
  mpi_ranks *ranks = calloc(1, sizeof *ranks);
  if (ranks == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  ranks->size = ranks->local_size = 1;
  find_cores(ranks);
  const cvtm_status status = join_mpi(ranks, error);
  if (status == CVTM_OK)
    *result = ranks;
  else
    mpi_ranks_finish(ranks);
  return status;
}

int mpi_ranks_local_rank(const mpi_ranks *ranks) { return ranks->local_rank; }

static int gather_nothing(double *all, const int64_t *counts) {
  (void)all;
  (void)counts;
  return 0;
}

static int agree_alone(int64_t *value) {
  (void)value;
  return 0;
}

cvtm_ranks mpi_ranks_collective(const mpi_ranks *ranks) {
  const ranks_mpi *mpi = ranks->mpi;
  return (cvtm_ranks){ranks->rank, ranks->size, mpi != NULL ? mpi->gather : gather_nothing,
                      mpi != NULL ? mpi->agree : agree_alone, NULL};
}

void mpi_ranks_end_all(mpi_ranks *ranks, int code) {
  if (ranks->mpi != NULL && ranks->size > 1) ranks->mpi->end_all(code);
}

void mpi_ranks_finish(mpi_ranks *ranks) {
  if (ranks == NULL) return;
  if (ranks->mpi != NULL) ranks->mpi->finish();
  free(ranks);
}
