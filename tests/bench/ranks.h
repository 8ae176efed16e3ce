/* What the timing programs under mpirun share; without mpirun there is one rank. Each rank has the
 * GPU of its number on its machine. */
#pragma once

#include "tests/bench/harness.h"
#include "cli/mpi_ranks.h"

typedef struct bench_ranks {
  mpi_ranks *processes;
  cvtm_ranks ranks;
  cvtm_device *device;
} bench_ranks;

/* Without the ranks or the device the program ends with exit code 1 or 5. `r` stays where it is. */
static inline void bench_ranks_open(int argc, char **argv, bench_ranks *r) {
  const char *kind = bench_text(argc, argv, "--device", "cpu");
  const int gpus = strcmp(kind, "cuda") == 0 ? cvtm_cuda_count(NULL) : 0;
  cvtm_error error = {CVTM_OK, ""};
  char name[32];
  if (mpi_ranks_start(&r->processes, &error) != CVTM_OK) {
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.message);
    exit(1);
  }
  snprintf(name, sizeof name, "cuda:%d", gpus > 0 ? mpi_ranks_local_rank(r->processes) % gpus : 0);
  const char *words[] = {argv[0], "--threads", bench_text(argc, argv, "--threads", "0"), "--device",
                         gpus > 0 ? name : kind};
  r->device = bench_device(5, (char **)words, "cpu");
  r->ranks = mpi_ranks_collective(r->processes);
  cvtm_device_set_ranks(r->device, &r->ranks);
  bench_check(r->device, cvtm_ranks_connect(r->device, &r->ranks));
}

static inline void bench_ranks_close(bench_ranks *r) {
  cvtm_nccl_close(r->ranks.nccl);
  cvtm_device_destroy(r->device);
  mpi_ranks_finish(r->processes);
}

/* Waits until every rank is there. */
static inline void bench_ranks_meet(const bench_ranks *r) {
  int64_t one = 1;
  bench_check(r->device, cvtm_device_synchronize(r->device));
  bench_check(r->device, cvtm_ranks_sum(r->device, &one, 1));
}

/* A checksum of the bits of `count` doubles of this rank in device memory, numbered from `first`
 * on. The sum over the ranks does not depend on their number. */
static inline int64_t bench_ranks_bits(const bench_ranks *r, const double *from, int64_t first,
                                       int64_t count) {
  double *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
  uint64_t sum = 0;
  if (!numbers) exit(1);
  bench_check(r->device,
              cvtm_device_copy_out(r->device, numbers, from, (size_t)count * sizeof *numbers));
  _Pragma("omp parallel for reduction(+ : sum)") for (int64_t k = 0; k < count; ++k) {
    uint64_t bits;
    memcpy(&bits, numbers + k, sizeof bits);
    bits = (bits ^ (uint64_t)(first + k)) * UINT64_C(0x9E3779B97F4A7C15);
    sum += (bits ^ bits >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 40;
  }
  free(numbers);
  return (int64_t)sum;
}
