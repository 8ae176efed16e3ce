/* A model of an evaluation by several GPUs, from parts that one GPU measures: the cells of each
 * rank, and the work that every rank repeats (the tree of sites, unpacking moments, the sums). Only
 * the exchange is computed, from its bytes and an assumed bandwidth. Usage: bench_ranks [--device
 * NAME] [--side PIXELS] [--sites N] [--bandwidth GB/s] */
#include "base/clock.h"
#include "base/random.h"
#include "base/table_select.h"
#include "bench/harness.h"
#include "cvt/shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 5, MOST_RANKS = 8 };

typedef struct problem {
  cvtm_device *device;
  cvtm_domain domain;
  int64_t count;
  float *density; /* these two in the device's memory */
  double *sites;
} problem;

static int rank_count, own_rank;
static double own_seconds; /* the last number that a rank told the others */

/* Stands for ranks that all tell the number of this one, so that the shares stay equal; the moments
 * of others are not needed. */
static int gather_alike(double *all, const int64_t *counts) {
  if (counts[0] != 1 || counts[rank_count - 1] != 1) return 0;
  own_seconds = all[own_rank];
  for (int r = 0; r < rank_count; ++r) all[r] = own_seconds;
  return 0;
}

static void upload(problem *p, const void *from, int64_t count, size_t size, void **memory) {
  bench_check(p->device, cvtm_device_allocate(p->device, count, size, memory));
  bench_check(p->device, cvtm_device_copy_in(p->device, *memory, from, (size_t)count * size));
}

/* Sites of a square lattice, each moved by up to a third of the spacing; a density of noise. */
static int create_problem(problem *p) {
  const int64_t area = (int64_t)p->domain.width * p->domain.height;
  const int64_t across = (int64_t)ceil(sqrt((double)p->count));
  const double spacing = (double)p->domain.width / (double)across;
  float *density = malloc((size_t)area * sizeof *density);
  double *sites = malloc(2 * (size_t)p->count * sizeof *sites);
  if (density && sites) {
#pragma omp parallel for
    for (int64_t k = 0; k < area; ++k)
      density[k] = 0.5F + (float)((uint32_t)k * UINT32_C(2654435761) >> 24) / 512.0F;
#pragma omp parallel for
    for (int64_t i = 0; i < p->count; ++i) {
      double u[2];
      cvtm_random_uniform2(1, 0, (uint64_t)i, u);
      sites[2 * i] = ((double)(i % across) + 0.2 + 0.6 * u[0]) * spacing;
      sites[2 * i + 1] = ((double)(i / across) + 0.2 + 0.6 * u[1]) * spacing;
    }
    upload(p, density, area, CVTM_TYPED(p->density));
    upload(p, sites, 2 * p->count, CVTM_TYPED(p->sites));
  }
  const int made = density && sites;
  free(density);
  free(sites);
  return made;
}

static cvtm_cvt *create_plan(const problem *p) {
  cvtm_cvt *cvt = NULL;
  bench_check(p->device, cvtm_cvt_create_view(p->device, p->domain, p->density, p->count, &cvt));
  return cvt;
}

/* The parts of an evaluation by one process. */
enum { SORT, CELLS, FINISH, UNPACK, PARTS };

static void do_part(const problem *p, cvtm_cvt *cvt, int part, const double *packed) {
  cvtm_status status = CVTM_OK;
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  if (part == SORT) status = cvtm_site_tree_sort(cvt->tree, p->sites, p->count);
  if (part == CELLS) status = cvt->table->cell_moments(cvt, p->count, CVTM_CVT_EXACT);
  if (part == FINISH) status = cvt->table->finish(cvt, p->count, 0, cvt->value, cvt->best);
  if (part == UNPACK)
    status = CVTM_TABLE(p->device, cvtm_shares)
                 ->unpack(p->device, packed, tree.index, 0, 0, p->count, cvt->moments);
  bench_check(p->device, status);
}

/* The least seconds of each part. */
static void time_parts(const problem *p, double seconds[PARTS]) {
  cvtm_cvt *cvt = create_plan(p);
  double *packed = bench_doubles(p->device, 4 * p->count);
  for (int part = 0; part < PARTS; ++part) seconds[part] = INFINITY;
  for (int k = 0; k <= REPEATS; ++k) {
    for (int part = 0; part < PARTS; ++part) {
      bench_check(p->device, cvtm_device_synchronize(p->device));
      const double start = cvtm_clock();
      do_part(p, cvt, part, packed);
      bench_check(p->device, cvtm_device_synchronize(p->device));
      if (k > 0) seconds[part] = fmin(seconds[part], cvtm_clock() - start);
    }
  }
  cvtm_device_free(p->device, packed);
  cvtm_cvt_destroy(cvt);
}

/* The least seconds for the cells of the slowest of `size` ranks. */
static double time_slowest(const problem *p, int size) {
  double slowest = 0;
  rank_count = size;
  for (int r = 0; r < size; ++r) {
    const cvtm_ranks ranks = {r, size, gather_alike, NULL, NULL};
    double least = INFINITY;
    own_rank = r;
    cvtm_device_set_ranks(p->device, &ranks);
    cvtm_cvt *cvt = create_plan(p);
    bench_check(p->device, cvtm_site_tree_sort(cvt->tree, p->sites, p->count));
    for (int k = 0; k < 2; ++k) {
      do_part(p, cvt, CELLS, NULL); /* tells its seconds last */
      least = fmin(least, own_seconds);
      do_part(p, cvt, FINISH, NULL); /* empties the list of deferred cells */
    }
    cvtm_cvt_destroy(cvt);
    cvtm_device_set_ranks(p->device, NULL);
    slowest = fmax(slowest, least);
  }
  return slowest;
}

static void print_model(const problem *p, double bandwidth) {
  double alone[PARTS];
  time_parts(p, alone);
  const double whole = alone[SORT] + alone[CELLS] + alone[FINISH];
  printf("| %d | %lld | 1 | %.2f | %.2f | 0 | 0 | %.2f | %.2f | 1 |\n", p->domain.width,
         (long long)p->count, 1e3 * alone[CELLS], 1e3 * alone[SORT], 1e3 * alone[FINISH],
         1e3 * whole);
  for (int size = 2; size <= MOST_RANKS; size *= 2) {
    const double cells = time_slowest(p, size);
    const double others = 32.0 * (double)p->count * (size - 1) / size;
    const double exchange = others / (bandwidth * 1e9);
    const double sum = cells + alone[SORT] + alone[UNPACK] + exchange + alone[FINISH];
    printf("| %d | %lld | %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", p->domain.width,
           (long long)p->count, size, 1e3 * cells, 1e3 * alone[SORT], 1e3 * alone[UNPACK],
           1e3 * exchange, 1e3 * alone[FINISH], 1e3 * sum, whole / sum);
  }
}

int main(int argc, char **argv) {
  const int side = (int)bench_integer(argc, argv, "--side");
  const int64_t sites = bench_integer(argc, argv, "--sites");
  const double given = strtod(bench_text(argc, argv, "--bandwidth", "0"), NULL);
  const double bandwidth = given > 0 ? given : 300;
  problem p = {.device = bench_device(argc, argv, "auto"),
               .domain = {side > 0 ? side : 2048, side > 0 ? side : 2048, 0},
               .count = sites > 0 ? sites : 60000};
  printf("Device: %s; milliseconds; exchange at %.0f GB/s\n\n", cvtm_device_description(p.device),
         bandwidth);
  printf(
      "| side | sites | ranks | cells | tree | unpack | exchange | sums | evaluation | speedup |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  if (create_problem(&p))
    print_model(&p, bandwidth);
  else
    fprintf(stderr, "bench_ranks: out of memory\n");
  cvtm_device_free(p.device, p.density);
  cvtm_device_free(p.device, p.sites);
  cvtm_device_destroy(p.device);
  return 0;
}
