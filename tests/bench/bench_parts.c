/* Exact evaluations whose sites are divided among ranks (cvt/decomposition.h), and the same by rank
 * 0 alone. The checksums do not depend on the number of ranks. Usage: bench_parts [--device
 * cpu|cuda]
 * [--side PIXELS] [--sites N] [--rounds N]
 */
#include "base/random.h"
#include "tests/bench/ranks.h"
#include "cvt/decomposition.h"

enum { MOST_BLOCKS = 256 };

typedef struct problem {
  bench_ranks r;
  cvtm_device *device; /* of r */
  cvtm_domain domain;
  int64_t count, rounds;
  float *density; /* these two in the device's memory */
  double *sites;
} problem;

static void put(const problem *p, void **memory, const void *from, int64_t count, size_t size) {
  bench_check(p->device, cvtm_device_allocate(p->device, count, size, memory));
  bench_check(p->device, cvtm_device_copy_in(p->device, *memory, from, (size_t)count * size));
}

static void *host_memory(int64_t count, size_t size) {
  void *memory = malloc((size_t)count * size);
  if (memory) return memory;
  fprintf(stderr, "bench_parts: out of memory\n");
  exit(1);
}

/* Sites of a square lattice, each moved by up to 0.3 spacings, in the order of the curve. */
static void make_sites(problem *p) {
  const int64_t across = (int64_t)ceil(sqrt((double)p->count));
  const double spacing = (double)p->domain.width / (double)across;
  double *sites = host_memory(2 * p->count, sizeof *sites);
  cvtm_site_tree *tree = NULL;
#pragma omp parallel for
  for (int64_t i = 0; i < p->count; ++i) {
    double u[2];
    cvtm_random_uniform2(1, 0, (uint64_t)i, u);
    sites[2 * i] = ((double)(i % across) + 0.2 + 0.6 * u[0]) * spacing;
    sites[2 * i + 1] = ((double)(i / across) + 0.2 + 0.6 * u[1]) * spacing;
  }
  put(p, (void **)&p->sites, sites, 2 * p->count, sizeof *sites);
  bench_check(p->device, cvtm_site_tree_create(p->device, p->domain, p->count, &tree));
  bench_check(p->device, cvtm_site_tree_sort(tree, p->sites, p->count));
  bench_check(p->device,
              cvtm_device_copy(p->device, p->sites, cvtm_site_tree_get_view(tree).position,
                               2 * (size_t)p->count * sizeof *sites));
  bench_check(p->device, cvtm_device_synchronize(p->device));
  cvtm_site_tree_destroy(tree);
  free(sites);
}

static void make_problem(problem *p) {
  const int64_t area = (int64_t)p->domain.width * p->domain.height;
  float *density = host_memory(area, sizeof *density);
#pragma omp parallel for
  for (int64_t k = 0; k < area; ++k)
    density[k] = 0.5F + (float)((uint32_t)k * UINT32_C(2654435761) >> 24) / 512.0F;
  put(p, (void **)&p->density, density, area, sizeof *density);
  free(density);
  make_sites(p);
}

typedef struct timed {
  double least, mean;
} timed;

static void add_time(timed *t, double seconds, int64_t rounds) {
  t->least = fmin(t->least, 1e3 * seconds);
  t->mean += 1e3 * seconds / (double)rounds;
}

static void print_row(const problem *p, const char *name, timed t, const double value[2],
                      int64_t sum, const cvtm_subdomain *parts) {
  int64_t near = parts ? parts->local : p->count;
  bench_check(p->device, cvtm_ranks_sum(p->device, &sum, 1));
  bench_check(p->device, cvtm_ranks_sum(p->device, &near, 1));
  if (p->r.ranks.rank != 0) return;
  printf("| %d | %lld | %d | %s | %.3f | %.3f | %.2f %% | %a | %a | %08llx |\n", p->domain.width,
         (long long)p->count, p->r.ranks.size, name, t.least, t.mean,
         100 * (double)(near - p->count) / (double)p->count, value[0], value[1],
         (unsigned long long)sum);
  fflush(stdout);
}

static void measure_parts(const problem *p) {
  cvtm_subdomain *parts = NULL;
  double value[2], *own = NULL;
  timed t = {INFINITY, 0};
  const int64_t block =
      CVTM_SUBDOMAIN_PIECE *
      ((p->count + MOST_BLOCKS * CVTM_SUBDOMAIN_PIECE - 1) / (MOST_BLOCKS * CVTM_SUBDOMAIN_PIECE));
  bench_check(p->device, cvtm_subdomain_create(p->device, p->domain, p->density, &parts));
  bench_check(p->device, cvtm_subdomain_divide(parts, p->count, block));
  double *gradient = bench_doubles(p->device, 2 * parts->own), *sum = bench_doubles(p->device, 2);
  own = bench_doubles(p->device, 2 * parts->own);
  bench_check(p->device, cvtm_device_copy(p->device, own, p->sites + 2 * parts->first,
                                          2 * (size_t)parts->own * sizeof *own));
  for (int64_t k = -2; k < p->rounds; ++k) {
    bench_ranks_meet(&p->r);
    const double start = cvtm_clock();
    bench_check(p->device, cvtm_subdomain_evaluate(parts, own));
    bench_check(p->device, cvtm_subdomain_total(parts, 0, sum, gradient));
    bench_ranks_meet(&p->r);
    if (k >= 0) add_time(&t, cvtm_clock() - start, p->rounds);
  }
  bench_check(p->device, cvtm_device_copy_out(p->device, value, sum, sizeof value));
  print_row(p, "sites divided", t, value,
            bench_ranks_bits(&p->r, gradient, 2 * parts->first, 2 * parts->own), parts);
  if (p->r.ranks.rank == 0)
    printf("seconds of rank 0's cells: %.3f ms; %lld sites own, %lld around; %lld repeats\n",
           1e3 * parts->seconds, (long long)parts->own, (long long)(parts->local - parts->own),
           (long long)parts->repeats);
  cvtm_device_free(p->device, gradient);
  cvtm_device_free(p->device, own);
  cvtm_device_free(p->device, sum);
  cvtm_subdomain_destroy(parts);
}

static void measure_alone(const problem *p) {
  const cvtm_cvt_table *table;
  cvtm_cvt *cvt = NULL;
  double value[2];
  timed t = {INFINITY, 0};
  bench_check(p->device, cvtm_cvt_create_view(p->device, p->domain, p->density, p->count, &cvt));
  table = cvt->table;
  for (int64_t k = -2; k < p->rounds; ++k) {
    bench_check(p->device, cvtm_device_synchronize(p->device));
    const double start = cvtm_clock();
    bench_check(p->device, cvtm_site_tree_sort(cvt->tree, p->sites, p->count));
    bench_check(p->device, table->cell_moments(cvt, p->count));
    bench_check(p->device, table->finish(cvt, p->count, 0, cvt->value, cvt->best));
    bench_check(p->device, cvtm_device_synchronize(p->device));
    if (k >= 0) add_time(&t, cvtm_clock() - start, p->rounds);
  }
  bench_check(p->device, cvtm_device_copy_out(p->device, value, cvt->value, sizeof value));
  print_row(p, "alone", t, value, bench_ranks_bits(&p->r, cvt->best, 0, 2 * p->count), NULL);
  cvtm_cvt_destroy(cvt);
}

int main(int argc, char **argv) {
  const int side = (int)bench_integer(argc, argv, "--side");
  const int64_t sites = bench_integer(argc, argv, "--sites");
  const int64_t rounds = bench_integer(argc, argv, "--rounds");
  problem p = {.domain = {side > 0 ? side : 2048, side > 0 ? side : 2048, 0},
               .count = sites > 0 ? sites : 60000,
               .rounds = rounds > 0 ? rounds : 5};
  bench_ranks_open(argc, argv, &p.r);
  p.device = p.r.device;
  make_problem(&p);
  if (p.r.ranks.rank == 0)
    printf(
        "Device: %s; %s\n| side | sites | ranks | what | least ms | mean ms | sites around | "
        "energy | distance | checksum |\n|---|---|---|---|---|---|---|---|---|---|\n",
        cvtm_device_description(p.device), p.r.ranks.nccl ? "NCCL" : "through the host");
  measure_parts(&p);
  cvtm_device_set_ranks(p.device, NULL);
  if (p.r.ranks.rank == 0) measure_alone(&p);
  cvtm_device_free(p.device, p.density);
  cvtm_device_free(p.device, p.sites);
  bench_ranks_close(&p.r);
  return 0;
}
