/* Every specialised kernel beside the plain one (base/plain.h): milliseconds of both, medians of
 * several runs that alternate, and by how much the results differ.
 *
 *   bench_plain [--device NAME] [--name NAME] [--size N]
 *
 * march         V-cycles on grids: marches down strips; plain: a kernel for each operation
 * tiles         phases of a coarse level in shared memory; plain: a kernel for each operation
 * tail          the small levels in one block; plain: tiles on all levels
 * bilinear      P'AP by flags in shared memory and closed forms; plain: galerkin_kernel
 * pdl           kernels that start before the ones ahead have ended; plain: ordinary launches
 * small_levels  V-cycles on stored matrices: the small levels in one block; plain: many launches
 * small_blocks  multisplitting: blocks of at most 32 rows by shuffles; plain: by level lists
 * stages        deferred cells: the stages of finish_kernel in one kernel; plain: one kernel each
 * sort          the tree of sites, alone and in evaluations: sorted by counting; plain: by CUB
 * flooding      jump flooding: chains of pixels; plain: one pixel per thread */
#include "base/random.h"
#include "bench/lcp_problems.h"
#include "cvt/evaluate_kernels.h"
#include "jfa/jfa.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"

enum { RUNS = 5, CYCLES = 12, ROUNDS = 10, BUFFERS = 4, SIZES = 5 };

typedef struct job {
  cvtm_device *device;
  int64_t size;
  int kind;
  double *buffer[BUFFERS], *left; /* left: of bench_end_round */
  double *result;
  int64_t results;
  cvtm_lcp *lcp;
  cvtm_hlcp *hlcp;
  cvtm_cvt *cvt;
  cvtm_voronoi *voronoi;
  cvtm_site_tree *tree;
  cvtm_loop *loop;
} job;

/* A family of problems; `kinds` is a list of names, ended by NULL. */
typedef struct family {
  const char *kinds[6];
  void (*open)(job *j);
  double (*run)(job *j); /* milliseconds of a cycle, sweep or round */
} family;

/* --- grids --- */

enum { GRID_MONOTONE, GRID_TRUNCATED, GRID_TNNMG, GRID_DIAGONAL, GRID_VARYING };

static const cvtm_lcp_method methods[] = {CVTM_LCP_MONOTONE, CVTM_LCP_TRUNCATED, CVTM_LCP_TNNMG,
                                          CVTM_LCP_TNNMG, CVTM_LCP_TNNMG};

static void set_links(job *j, cvtm_lcp_grid *grid) {
  const int64_t m = j->size;
  double *host = malloc((size_t)((m + 1) * m) * sizeof *host);
  if (!host) exit(1);
  for (int64_t k = 0; k < (m + 1) * m; ++k) {
    const double x = (double)(k % m) / (double)m - 0.5, y = (double)(k / m) / (double)m - 0.5;
    host[k] = 5e-3 / (1 + 1000 * x * x * y * y);
  }
  grid->horizontal = j->buffer[2] = bench_copied(j->device, host, (m + 1) * m);
  grid->vertical = j->buffer[3] = bench_copied(j->device, host, (m + 1) * m);
  grid->mass = 1.0 / (double)(m * m);
  free(host);
}

/* Links 16 within a Neumann boundary and a varying diagonal, as in a time step. */
static void set_diagonal(job *j, cvtm_lcp_grid *grid) {
  const int64_t m = j->size;
  double *host = malloc((size_t)(m * m) * sizeof *host);
  if (!host) exit(1);
  for (int64_t k = 0; k < m * m; ++k) host[k] = 1 + (double)(k % 1009) / 1009;
  grid->diagonal = j->buffer[2] = bench_copied(j->device, host, m * m);
  grid->neumann = 1;
  grid->constant = 16;
  grid->mass = 1;
  free(host);
}

static void open_grid(job *j) {
  const int64_t m = j->size;
  cvtm_lcp_options options;
  cvtm_lcp_grid grid = {.width = m, .height = m, .constant = 1};
  bench_torsion(j->device, m, &j->buffer[0], &j->buffer[1]);
  j->results = m * m;
  j->result = bench_doubles(j->device, m * m);
  if (j->kind == GRID_DIAGONAL) set_diagonal(j, &grid);
  if (j->kind == GRID_VARYING) set_links(j, &grid);
  cvtm_lcp_defaults(&options);
  options.method = methods[j->kind];
  options.nested = 0;
  options.tolerance = 0;
  options.max_iterations = CYCLES;
  bench_check(j->device, cvtm_lcp_create_grid(j->device, m, m, &options, &j->lcp));
  bench_check(j->device, cvtm_lcp_set_grid(j->lcp, &grid));
}

static double run_lcp(job *j) {
  cvtm_lcp_result result;
  bench_check(j->device,
              cvtm_lcp_solve(j->lcp, j->buffer[0], j->buffer[1], NULL, j->result, 0, &result));
  return 1e3 * result.seconds / (double)result.iterations;
}

/* --- stored matrices --- */

static void open_matrix(job *j) {
  const int64_t m = j->size;
  static const double entries[5] = {-1, -1, 4, -1, -1};
  cvtm_lcp_options options;
  cvtm_csr matrix = bench_five_points(j->device, m, entries);
  bench_torsion(j->device, m, &j->buffer[0], &j->buffer[1]);
  j->results = m * m;
  j->result = bench_doubles(j->device, m * m);
  cvtm_lcp_defaults(&options);
  options.method = methods[j->kind];
  options.nested = 0;
  options.tolerance = 0;
  options.max_iterations = CYCLES;
  bench_check(j->device, cvtm_lcp_create(j->device, &matrix, m, m, &options, &j->lcp));
  cvtm_csr_free(&matrix);
}

static const int block_rows[] = {2, 4, 16, 32};

static void open_splitting(job *j) {
  bench_hlcp p = bench_hlcp_create(j->device, j->size);
  cvtm_hlcp_options options;
  j->results = p.a.rows;
  cvtm_hlcp_defaults(&options);
  options.method = CVTM_HLCP_MMSOR;
  options.scaling = CVTM_HLCP_OMEGA_NUMBER;
  options.omega = bench_hlcp_omega;
  options.splits = p.a.rows / block_rows[j->kind];
  j->buffer[0] = bench_copied(j->device, p.q, j->results);
  j->result = bench_doubles(j->device, j->results);
  j->buffer[1] = bench_doubles(j->device, j->results);
  bench_check(j->device, cvtm_hlcp_create(j->device, &p.a, &p.b, &options, &j->hlcp));
  bench_hlcp_free(&p);
}

static double run_splitting(job *j) {
  cvtm_hlcp_result result;
  bench_check(j->device,
              cvtm_hlcp_solve(j->hlcp, j->buffer[0], NULL, 0, j->result, j->buffer[1], &result));
  return 1e3 * result.seconds / (double)result.iterations;
}

/* --- sites --- */

static double run_loop(job *j) {
  const double start_values[2] = {ROUNDS, 1};
  bench_check(j->device,
              cvtm_device_copy_in(j->device, j->left, start_values, sizeof start_values));
  const double start = cvtm_clock();
  bench_check(j->device, cvtm_loop_run(j->loop));
  bench_check(j->device, cvtm_device_synchronize(j->device));
  return 1e3 * (cvtm_clock() - start) / ROUNDS;
}

static void make_loop(job *j, cvtm_status (*round)(void *context)) {
  j->left = bench_doubles(j->device, 2);
  bench_check(j->device, cvtm_loop_create(j->device, round, j, (const int *)j->left + 1, &j->loop));
}

/* Sites of a square: in random order, row by row of a grid (an order as that of a start), or half
 * of them in a thousandth of the side. */
enum { SITES_RANDOM, SITES_ROWS, SITES_CROWDED };

static int side_of(int64_t count) { return count > 3000000 ? 16384 : count > 100000 ? 8192 : 2048; }

static void set_sites(job *j) {
  double *host = malloc(2 * (size_t)j->size * sizeof *host);
  const int64_t across = (int64_t)ceil(sqrt((double)j->size));
  const double side = side_of(j->size);
  if (!host) exit(1);
  const int kind = j->kind;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < j->size; ++i) {
    double *site = host + 2 * i;
    cvtm_random_uniform2(1, 1, (uint64_t)i, site);
    if (kind == SITES_ROWS) {
      site[0] = ((double)(i % across) + site[0]) / (double)across;
      site[1] = ((double)(i / across) + site[1]) / (double)across;
    } else if (kind == SITES_CROWDED && i % 2 == 0) {
      site[0] = 0.3 + 1e-3 * site[0];
      site[1] = 0.6 + 1e-3 * site[1];
    }
    site[0] *= side;
    site[1] *= side;
  }
  j->buffer[0] = bench_copied(j->device, host, 2 * j->size);
  free(host);
}

static cvtm_status sort_sites(void *context) {
  const job *j = context;
  const cvtm_status status = cvtm_site_tree_sort(j->tree, j->buffer[0], j->size);
  return status == CVTM_OK ? bench_end_round(j->device, j->left) : status;
}

static void open_tree(job *j) {
  const cvtm_domain domain = {side_of(j->size), side_of(j->size), 0};
  set_sites(j);
  bench_check(j->device, cvtm_site_tree_create(j->device, domain, j->size, &j->tree));
  make_loop(j, sort_sites);
  bench_check(j->device, cvtm_site_tree_sort(j->tree, j->buffer[0], j->size));
  j->result = (double *)cvtm_site_tree_get_view(j->tree).position;
  j->results = 2 * j->size;
}

static cvtm_status evaluate_cells(void *context) {
  job *j = context;
  cvtm_status status = cvtm_site_tree_sort(j->cvt->tree, j->buffer[0], j->size);
  if (!status) status = j->cvt->table->cell_moments(j->cvt, j->size, CVTM_CVT_EXACT);
  if (!status) status = j->cvt->table->finish(j->cvt, j->size, 0, j->cvt->value, j->result);
  return status ? status : bench_end_round(j->device, j->left);
}

static void open_evaluation(job *j) {
  const int side = side_of(j->size);
  const cvtm_domain domain = {side, side, 0};
  float *density = malloc((size_t)side * (size_t)side * sizeof *density);
  if (!density) exit(1);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < (int64_t)side * side; ++p) density[p] = 1.0F + (float)(p % 7);
  set_sites(j);
  bench_check(j->device, cvtm_cvt_create(j->device, domain, density, j->size, &j->cvt));
  free(density);
  j->results = 2 * j->size;
  j->result = bench_doubles(j->device, j->results);
  make_loop(j, evaluate_cells);
}

static cvtm_status flood(void *context) {
  const job *j = context;
  const cvtm_status status = cvtm_voronoi_compute(j->voronoi, j->buffer[0], j->size,
                                                  CVTM_VORONOI_JFA, (int32_t *)j->result);
  return status == CVTM_OK ? bench_end_round(j->device, j->left) : status;
}

/* Labels are compared two at a time, as if they were doubles. */
static void open_flooding(job *j) {
  const int side = side_of(j->size);
  const cvtm_domain domain = {side, side, 0};
  set_sites(j);
  j->results = (int64_t)side * side / 2;
  j->result = bench_doubles(j->device, j->results);
  bench_check(j->device, cvtm_voronoi_create(j->device, domain, j->size, &j->voronoi));
  make_loop(j, flood);
}

static void close_job(job *j) {
  cvtm_loop_destroy(j->loop);
  cvtm_lcp_destroy(j->lcp);
  cvtm_hlcp_destroy(j->hlcp);
  cvtm_voronoi_destroy(j->voronoi);
  cvtm_cvt_destroy(j->cvt);
  if (j->tree)
    cvtm_site_tree_destroy(j->tree);
  else
    cvtm_device_free(j->device, j->result);
  cvtm_device_free(j->device, j->left);
  for (int k = 0; k < BUFFERS; ++k) cvtm_device_free(j->device, j->buffer[k]);
}

/* --- all --- */

static const family grids = {
    {"monotone", "truncated", "tnnmg", "varying diagonal", "varying links"}, open_grid, run_lcp};
static const family matrices = {{"monotone", "truncated", "tnnmg"}, open_matrix, run_lcp};
static const family splittings = {
    {"2 rows", "4 rows", "16 rows", "32 rows"}, open_splitting, run_splitting};
static const family trees = {{"random", "in rows", "crowded"}, open_tree, run_loop};
static const family evaluations = {{"random", "in rows", "crowded"}, open_evaluation, run_loop};
static const family floodings = {{"random"}, open_flooding, run_loop};

typedef struct path {
  const char *name;
  const family *family;
  int64_t size[SIZES];
} path;

static const path paths[] = {
    {"march", &grids, {255, 1023, 1024, 4095, 4096}},
    {"tiles", &grids, {255, 1024, 4096}},
    {"tail", &grids, {255, 1024}},
    {"bilinear", &grids, {1024, 4096}},
    {"pdl", &grids, {255, 1024, 4096}},
    {"small_levels", &matrices, {127, 255, 511}},
    {"small_blocks", &splittings, {128, 512}},
    {"stages", &evaluations, {4000, 60000, 600000}},
    {"sort", &trees, {4000, 60000, 250000, 1000000, 10000000}},
    {"sort", &evaluations, {60000, 1000000, 3000000}},
    {"flooding", &floodings, {40000, 671088}},
};
enum { PATHS = sizeof paths / sizeof *paths };

static void use_plain(const char *name) {
  if (name)
    setenv("CVTMESH_PLAIN", name, 1);
  else
    unsetenv("CVTMESH_PLAIN");
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The largest difference of two results, divided by the largest number. */
static double difference_of(const job *a, const job *b) {
  const size_t bytes = (size_t)a->results * sizeof(double);
  double *x = malloc(bytes), *y = malloc(bytes), most = 0, largest = 0;
  if (!x || !y) exit(1);
  bench_check(a->device, cvtm_device_copy_out(a->device, x, a->result, bytes));
  bench_check(b->device, cvtm_device_copy_out(b->device, y, b->result, bytes));
  if (memcmp(x, y, bytes) != 0) {
#pragma omp parallel for schedule(static) reduction(max : most, largest)
    for (int64_t k = 0; k < a->results; ++k) {
      most = fmax(most, fabs(x[k] - y[k]));
      largest = fmax(largest, fabs(x[k]));
    }
  }
  free(x);
  free(y);
  return largest > 0 ? most / largest : 0;
}

static void measure_path(cvtm_device *device, const path *p, int64_t size, int kind) {
  job jobs[2];
  double times[2][RUNS];
  for (int plain = 0; plain < 2; ++plain) {
    jobs[plain] = (job){.device = device, .size = size, .kind = kind};
    use_plain(plain ? p->name : NULL);
    p->family->open(&jobs[plain]);
    (void)p->family->run(&jobs[plain]); /* warms the device */
  }
  for (int run = 0; run < RUNS; ++run) {
    for (int plain = 0; plain < 2; ++plain) {
      use_plain(plain ? p->name : NULL);
      times[plain][run] = p->family->run(&jobs[plain]);
    }
  }
  use_plain(NULL);
  for (int plain = 0; plain < 2; ++plain)
    qsort(times[plain], RUNS, sizeof(double), compare_doubles);
  const double special = times[0][RUNS / 2], plain = times[1][RUNS / 2];
  printf("| %s | %s | %lld | %.4f | %.4f | %.2f | %.1e |\n", p->name, p->family->kinds[kind],
         (long long)size, plain, special, plain / special, difference_of(&jobs[0], &jobs[1]));
  fflush(stdout);
  close_job(&jobs[0]);
  close_job(&jobs[1]);
}

int main(int argc, char **argv) {
  const char *only = bench_text(argc, argv, "--name", "");
  const int64_t size = bench_integer(argc, argv, "--size");
  cvtm_device *device = bench_device(argc, argv, "auto");
  printf(
      "Device: %s (%s); milliseconds\n\n| name | problem | size | plain | specialised | ratio "
      "| difference |\n|---|---|---|---|---|---|---|\n",
      cvtm_device_name(device), cvtm_device_description(device));
  fflush(stdout);
  for (int k = 0; k < PATHS; ++k) {
    const path *p = &paths[k];
    if (*only && strcmp(only, p->name) != 0) continue;
    for (int s = 0; s < SIZES && p->size[s] > 0; ++s) {
      if (size > 0 && p->size[s] != size) continue;
      for (int kind = 0; p->family->kinds[kind]; ++kind) measure_path(device, p, p->size[s], kind);
    }
  }
  cvtm_device_destroy(device);
  return 0;
}
