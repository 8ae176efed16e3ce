/* The time of an iteration of L-BFGS-B without its evaluations, its variables divided among the
 * ranks of mpirun, one GPU for each. The problem is 32 strips of elastic-plastic torsion that know
 * nothing of each other, so that only the optimiser communicates. --whole: by the solver that has
 * all variables, on one rank.
 *
 *   mpirun -n K bench_lbfgsb_ranks [--device cpu|cuda] [--threads N] [--scale J] [--history M]
 *                                  [--iterations K] [--whole 1]
 */
#include "base/ranks.h"
#include "bench/harness.h"
#include "bench/problems/minpack2.h"
#include "lbfgsb/lbfgsb_ranks.h"

#include <mpi.h>

enum { STRIPS = 32, SIDE = 2048, BLOCKS_OF_STRIP = 8, RUNS = 3 };

/* The strips of this rank. */
typedef struct job {
  cvtm_device *device;
  cvtm_minpack2 *strip;
  int64_t first, count, size; /* size: variables of a strip, a whole number of blocks */
  double *all_f;              /* --whole: f of the blocks, in device memory */
  void *workspace;
  size_t workspace_bytes;
} job;

static int own_rank, rank_count;

/* MPI counts by int: the numbers that are exchanged are those of at most 256 blocks. */
static int gather_by_mpi(double *all, const int64_t *counts) {
  int *places = malloc(2 * (size_t)rank_count * sizeof *places), *sizes = places + rank_count;
  int next = 0;
  if (!places) return -1;
  for (int r = 0; r < rank_count; ++r) {
    places[r] = next;
    sizes[r] = (int)counts[r];
    next += sizes[r];
  }
  const int code =
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, all, sizes, places, MPI_DOUBLE, MPI_COMM_WORLD);
  free(places);
  return code != MPI_SUCCESS;
}

static int agree_by_mpi(int64_t *value) {
  return MPI_Bcast(value, 1, MPI_INT64_T, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* The value of a strip is that of its first block. */
static cvtm_status evaluate_strips(void *context, const double *x, double *f, double *g,
                                   void *stream) {
  const job *own = context;
  cvtm_status status =
      cvtm_device_fill(own->device, f, 0, 2 * BLOCKS_OF_STRIP * (size_t)own->count * sizeof *f);
  for (int64_t s = 0; s < own->count && status == CVTM_OK; ++s)
    status = cvtm_minpack2_evaluate(own->strip, x + s * own->size, f + 2 * BLOCKS_OF_STRIP * s,
                                    g + s * own->size, stream);
  return status;
}

static cvtm_status evaluate_whole(void *context, const double *x, double *f, double *g,
                                  void *stream) {
  const job *own = context;
  const cvtm_status status = evaluate_strips(context, x, own->all_f, g, stream);
  if (status != CVTM_OK) return status;
  return cvtm_reduce(own->device, CVTM_REDUCE_SUM, own->all_f, 2 * BLOCKS_OF_STRIP * own->count, f,
                     own->workspace, own->workspace_bytes);
}

/* A sum of hashes of the numbers, exact in a double: the same for any number of ranks. */
static int64_t sum_bits(const job *own, const double *x) {
  const int64_t n = own->count * own->size;
  uint64_t *bits = malloc((size_t)n * sizeof *bits), sum = 0;
  if (!bits) exit(1);
  bench_check(own->device, cvtm_device_copy_out(own->device, bits, x, (size_t)n * sizeof *bits));
  for (int64_t i = 0; i < n; ++i)
    sum += (bits[i] ^ (uint64_t)(own->first * own->size + i)) * UINT64_C(0x9E3779B97F4A7C15) >> 44;
  free(bits);
  int64_t all = (int64_t)sum;
  bench_check(own->device, cvtm_ranks_sum(own->device, &all, 1));
  return all;
}

static void start_strips(const job *own, double *x) {
  for (int64_t s = 0; s < own->count; ++s)
    bench_check(own->device, cvtm_minpack2_start(own->strip, x + s * own->size));
}

static cvtm_lbfgsb *make_solver(const job *own, const cvtm_lbfgsb_options *options, int whole) {
  const int64_t n = own->count * own->size;
  const cvtm_lbfgsb_share share = {own->first * own->size, n, STRIPS * own->size};
  double *lower = bench_doubles(own->device, n), *upper = bench_doubles(own->device, n);
  cvtm_lbfgsb *solver = NULL;
  for (int64_t s = 0; s < own->count; ++s)
    bench_check(own->device,
                cvtm_minpack2_bounds(own->strip, lower + s * own->size, upper + s * own->size));
  bench_check(own->device, whole
                               ? cvtm_lbfgsb_create(own->device, n, options, &solver)
                               : cvtm_lbfgsb_create_divided(own->device, &share, options, &solver));
  bench_check(own->device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  cvtm_device_free(own->device, lower);
  cvtm_device_free(own->device, upper);
  return solver;
}

static void measure(job *own, const cvtm_lbfgsb_options *options, int whole,
                    const char *transport) {
  double *x = bench_doubles(own->device, own->count * own->size), best = 0;
  cvtm_lbfgsb *solver = make_solver(own, options, whole);
  cvtm_lbfgsb_result found;
  for (int k = 0; k < RUNS; ++k) {
    start_strips(own, x);
    MPI_Barrier(MPI_COMM_WORLD);
    bench_check(own->device, cvtm_lbfgsb_minimize(
                                 solver, x, whole ? evaluate_whole : evaluate_strips, own, &found));
    const double each = (found.seconds - found.evaluation_seconds) / (double)found.iterations;
    if (k == 0 || each < best) best = each;
  }
  const int64_t bits = sum_bits(own, x);
  if (own_rank == 0)
    printf("%5d %-8s %10lld %6lld %6lld %7lld %22a %18llx %10.4f %10.4f %10.4f\n", rank_count,
           transport, (long long)(STRIPS * own->size), (long long)found.iterations,
           (long long)found.evaluations, (long long)found.active, found.f, (unsigned long long)bits,
           1e3 * found.seconds / (double)found.iterations,
           1e3 * found.evaluation_seconds / (double)found.iterations, 1e3 * best);
  cvtm_lbfgsb_destroy(solver);
  cvtm_device_free(own->device, x);
}

/* The device of this rank: with `cuda` the GPU of its number, if there are so many. */
static cvtm_device *open_rank_device(int argc, char **argv) {
  const char *name = bench_text(argc, argv, "--device", "cpu");
  char numbered[24];
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  const int gpus = strcmp(name, "cuda") == 0 ? cvtm_cuda_count(NULL) : 0;
  if (gpus > 0) {
    snprintf(numbered, sizeof numbered, "cuda:%d", own_rank % gpus);
    name = numbered;
  }
  if (cvtm_device_create(name, (int)bench_integer(argc, argv, "--threads"), &device, &error) ==
      CVTM_OK)
    return device;
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
  exit(5);
}

static void make_job(job *own, cvtm_device *device, int64_t scale) {
  cvtm_minpack2_options size;
  cvtm_minpack2_defaults(CVTM_MINPACK2_EPT, &size);
  size.nx = SIDE;
  size.ny = BLOCKS_OF_STRIP * scale; /* a block is 2048 * scale variables */
  own->device = device;
  own->size = size.nx * size.ny;
  own->first = (int64_t)STRIPS * own_rank / rank_count;
  own->count = (int64_t)STRIPS * (own_rank + 1) / rank_count - own->first;
  const int64_t values = 2 * BLOCKS_OF_STRIP * own->count;
  bench_check(device, cvtm_minpack2_create(device, CVTM_MINPACK2_EPT, &size, &own->strip));
  own->all_f = bench_doubles(device, values);
  bench_check(device, cvtm_reduce_workspace(device, values, &own->workspace_bytes));
  bench_check(device,
              cvtm_device_allocate(device, (int64_t)own->workspace_bytes, 1, &own->workspace));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  const int64_t scale = bench_integer(argc, argv, "--scale");
  const int whole = bench_integer(argc, argv, "--whole") != 0;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.time_evaluations = 1;
  options.max_iterations = bench_integer(argc, argv, "--iterations");
  if (options.max_iterations == 0) options.max_iterations = 100;
  if (bench_integer(argc, argv, "--history") > 0)
    options.history = (int)bench_integer(argc, argv, "--history");
  cvtm_device *device = open_rank_device(argc, argv);
  cvtm_ranks ranks = {own_rank, rank_count, gather_by_mpi, agree_by_mpi, NULL};
  job own = {0};
  cvtm_device_set_ranks(device, &ranks);
  bench_check(device, cvtm_ranks_connect(device, &ranks));
  make_job(&own, device, scale > 0 ? scale : 2);
  if (own_rank == 0)
    printf(
        "%s (%s), m = %d; milliseconds an iteration: all, evaluation, optimiser (best of %d)\n"
        "%5s %-8s %10s %6s %6s %7s %22s %18s %10s %10s %10s\n",
        cvtm_device_name(device), cvtm_device_description(device), options.history, (int)RUNS,
        "ranks", "by", "n", "iter", "eval", "active", "f", "bits of x", "all", "evaluation",
        "optimiser");
  measure(&own, &options, whole, whole ? "whole" : ranks.nccl ? "NCCL" : "host");
  cvtm_minpack2_destroy(own.strip);
  cvtm_device_free(device, own.all_f);
  cvtm_device_free(device, own.workspace);
  cvtm_nccl_close(ranks.nccl);
  cvtm_device_destroy(device);
  MPI_Finalize();
  return 0;
}
