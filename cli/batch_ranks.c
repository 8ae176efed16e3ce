#include "cli/batch_ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct batch_ranks {
  const batch_mpi *mpi; /* NULL: this process alone */
  int rank, size, local_rank, local_size;
  int usable, allowed; /* cores: of this process, and of the launcher */
  int bound;           /* cores to which the launcher had bound it; 0: no binding was undone */
  int64_t next;        /* of a process alone */
  pthread_mutex_t lock;
};

static const int64_t beyond = INT64_MAX / 4;

/* The number of processes that a known launcher started; 0 without one, -1: not known. */
static int launched_size(void) {
  static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k)
    if (getenv(sizes[k]) != NULL) return atoi(getenv(sizes[k]));
  const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
  return getenv("PMIX_RANK") != NULL ? tasks != NULL ? atoi(tasks) : -1 : 0;
}

/* Looks for the module beside the program, as in a build folder, and where it is installed. */
static const batch_mpi *load_module(char *reason, size_t capacity) {
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
    const batch_mpi_module *found = module != NULL ? dlsym(module, "cvtmesh_batch_mpi") : NULL;
    if (found != NULL && found->version == BATCH_MPI_VERSION) return &found->table;
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

static cvtm_status mpi_failed(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_INTERNAL, "MPI failed");
}

static cvtm_status join_mpi(batch_ranks *ranks, cvtm_error *error) {
  const int size = launched_size();
  char reason[256] = "";
  if (size == 0 || size == 1) return CVTM_OK;
  ranks->mpi = load_module(reason, sizeof reason);
  if (ranks->mpi == NULL && size < 0) return CVTM_OK;
  if (ranks->mpi == NULL)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "one of %d ranks, but %s", size, reason);
  if (ranks->mpi->start(&ranks->rank, &ranks->size, &ranks->local_rank, &ranks->local_size) != 0) {
    ranks->mpi = NULL;
    return mpi_failed(error);
  }
  return CVTM_OK;
}

/* --- cores --------------------------------------------------------------------------------- */

/* True if Open MPI binds by its own choice. */
static int is_bound_unasked(void) {
  static const char *const wishes[] = {
      "OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
      "PRTE_MCA_hwloc_default_binding_policy", "PRTE_MCA_rmaps_default_mapping_policy"};
  for (size_t k = 0; k < sizeof wishes / sizeof wishes[0]; ++k)
    if (getenv(wishes[k]) != NULL) return 0;
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

/* The launcher has the cores that the user, a queue and the system allow. */
static void find_cores(batch_ranks *ranks) {
  cpu_set_t own, launcher;
  ranks->usable = ranks->allowed = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (sched_getaffinity(0, sizeof own, &own) != 0) return;
  ranks->usable = ranks->allowed = CPU_COUNT(&own);
  if (!batch_ranks_launched() || sched_getaffinity(getppid(), sizeof launcher, &launcher) != 0 ||
      CPU_COUNT(&launcher) <= ranks->usable)
    return;
  ranks->allowed = CPU_COUNT(&launcher);
  if (!is_bound_unasked() || sched_setaffinity(0, sizeof launcher, &launcher) != 0) return;
  ranks->bound = ranks->usable;
  ranks->usable = ranks->allowed;
}

static int at_most(int cores, int most) { return cores < most ? cores : most; }

int batch_ranks_cores(const batch_ranks *ranks) {
  const int share = ranks->allowed / ranks->local_size;
  return at_most(share > 0 ? share : 1, ranks->usable);
}

int batch_ranks_cores_alone(const batch_ranks *ranks) {
  const int share = batch_ranks_cores(ranks), others = ranks->local_size - 1;
  const int left = at_most(ranks->allowed - others, ranks->usable); /* others wait actively */
  return left > share ? left : share;
}

void batch_ranks_print_note(const batch_ranks *ranks) {
  if (ranks->rank > 0 || ranks->bound == 0) return;
  fprintf(stderr,
          "cvtmesh: note: Open MPI had bound this rank to %d of %d cores; ranks now share them all "
          "(mpirun --bind-to core keeps a binding)\n",
          ranks->bound, ranks->allowed);
}

/* --- start ---------------------------------------------------------------------------------- */

cvtm_status batch_ranks_start(batch_ranks **result, cvtm_error *error) {
  batch_ranks *ranks = calloc(1, sizeof *ranks);
  if (ranks == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  ranks->size = ranks->local_size = 1;
  pthread_mutex_init(&ranks->lock, NULL);
  find_cores(ranks);
  const cvtm_status status = join_mpi(ranks, error);
  if (status == CVTM_OK)
    *result = ranks;
  else
    batch_ranks_finish(ranks);
  return status;
}

int batch_ranks_launched(void) { return launched_size() != 0; }
int batch_ranks_rank(const batch_ranks *ranks) { return ranks->rank; }
int batch_ranks_size(const batch_ranks *ranks) { return ranks->size; }
int batch_ranks_local_rank(const batch_ranks *ranks) { return ranks->local_rank; }
int batch_ranks_local_size(const batch_ranks *ranks) { return ranks->local_size; }

static cvtm_status add(batch_ranks *ranks, int64_t amount, int64_t *before, cvtm_error *error) {
  int failed = 0;
  pthread_mutex_lock(&ranks->lock);
  if (ranks->mpi != NULL) {
    failed = ranks->mpi->fetch_and_add(amount, before);
  } else {
    *before = ranks->next;
    ranks->next += amount;
  }
  pthread_mutex_unlock(&ranks->lock);
  return failed ? mpi_failed(error) : CVTM_OK;
}

cvtm_status batch_ranks_next(batch_ranks *ranks, int64_t *number, cvtm_error *error) {
  return add(ranks, 1, number, error);
}

void batch_ranks_cancel(batch_ranks *ranks) {
  int64_t before = 0;
  (void)add(ranks, beyond, &before, NULL);
}

void batch_ranks_progress(batch_ranks *ranks) {
  if (ranks->mpi == NULL) return;
  pthread_mutex_lock(&ranks->lock);
  (void)ranks->mpi->progress();
  pthread_mutex_unlock(&ranks->lock);
}

cvtm_status batch_ranks_broadcast(batch_ranks *ranks, int64_t *value, cvtm_error *error) {
  if (ranks->mpi == NULL || ranks->mpi->broadcast(value) == 0) return CVTM_OK;
  return mpi_failed(error);
}

cvtm_status batch_ranks_sum(batch_ranks *ranks, int64_t *values, int count, cvtm_error *error) {
  if (ranks->mpi == NULL || ranks->mpi->sum(values, count) == 0) return CVTM_OK;
  return mpi_failed(error);
}

static int gather_nothing(double *all, const int64_t *counts) {
  (void)all;
  (void)counts;
  return 0;
}

static int agree_alone(int64_t *value) {
  (void)value;
  return 0;
}

cvtm_ranks batch_ranks_collective(const batch_ranks *ranks) {
  const batch_mpi *mpi = ranks->mpi;
  return (cvtm_ranks){ranks->rank, ranks->size, mpi != NULL ? mpi->gather : gather_nothing,
                      mpi != NULL ? mpi->agree : agree_alone, NULL};
}

void batch_ranks_end_all(batch_ranks *ranks, int code) {
  if (ranks->mpi != NULL && ranks->size > 1) ranks->mpi->end_all(code);
}

void batch_ranks_finish(batch_ranks *ranks) {
  if (ranks == NULL) return;
  if (ranks->mpi != NULL) ranks->mpi->finish();
  pthread_mutex_destroy(&ranks->lock);
  free(ranks);
}
