/* Evaluations whose sites are divided among ranks, which are threads of this program: each cell has
 * the bits that it has where one process has all sites, and the sums do not depend on the number of
 * ranks, however uneven the sites lie. */
#include "base/device_kernels.h"
#include "base/random.h"
#include "cvt/decomposition.h"
#include "tests/test_devices.h"
#include "tests/thread_ranks.h"

enum { SIDE = 128, MOST_SITES = 120000 };

static float density[SIDE * SIDE];

typedef struct problem {
  cvtm_domain domain;
  int64_t count, block;
  const double *sites;
  cvtm_cell_moments *moments; /* of all, from one process */
  double value[2], *gradient; /* of all, from the first number of ranks */
  int known;                  /* the value is */
  int tree_clipping;
  int64_t repeats; /* of all ranks together */
} problem;

/* What one process computes. */
static void evaluate_alone(problem *p) {
  cvtm_device *device = test_device_open_threads(1);
  NEW_CVT(cvt, device, p->domain, density, p->count);
  cvt->tree_clipping = p->tree_clipping;
  evaluate_cvt(device, cvt, p->sites, p->count, NULL, NULL);
  assert_copy_out(device, p->moments, cvt->moments, (size_t)p->count * sizeof *p->moments);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
}

static void compare_rank(cvtm_device *device, const problem *p, cvtm_subdomain *parts,
                         const double *gradient) {
  const size_t bytes = (size_t)parts->own * sizeof *p->moments;
  void *moments = copied_out(device, cvtm_subdomain_moments(parts), (int64_t)bytes, 1);
  double *own = copied_out(device, gradient, 2 * parts->own, sizeof *own);
  assert_memory_equal(moments, p->moments + parts->first, bytes);
  for (int64_t i = 0; i < parts->own; ++i) {
    assert_true(own[2 * i] == -2 * p->moments[parts->first + i].x);
    assert_true(own[2 * i + 1] == -2 * p->moments[parts->first + i].y);
  }
  free_all(moments, own);
}

/* A rank's plan; its density and its own sites on the device, to be freed after the plan. */
static cvtm_subdomain *open_parts(cvtm_device *device, const problem *p, void *memory[2]) {
  cvtm_subdomain *parts = NULL;
  memory[0] = copied_in(device, density, SIDE * SIDE, sizeof *density);
  assert_device_ok(device, cvtm_subdomain_create(device, p->domain, memory[0], &parts));
  assert_device_ok(device, cvtm_subdomain_divide(parts, p->count, p->block));
  memory[1] = copied_in(device, p->sites + 2 * parts->first, 2 * parts->own, sizeof(double));
  return parts;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void evaluate_part(cvtm_device *device, int rank, void *context) {
  problem *p = context;
  double found[2];
  void *memory[2];
  (void)rank;
  cvtm_subdomain *parts = open_parts(device, p, memory);
  parts->tree_clipping = p->tree_clipping;
  double *gradient = device_array(device, 2 * parts->own, sizeof *gradient);
  double *value = device_array(device, 2, sizeof *value);
  for (int k = 0; k < 2; ++k) {
    const int64_t before = parts->repeats;
    assert_device_ok(device, cvtm_subdomain_evaluate(parts, memory[1]));
    assert_device_ok(device, cvtm_subdomain_total(parts, 0, value, gradient));
    assert_copy_out(device, found, value, sizeof found);
    compare_rank(device, p, parts, gradient);
    assert_true(k == 0 || parts->repeats == before); /* what was lacking is kept */
    pthread_mutex_lock(&lock);
    if (!p->known) memcpy(p->value, found, sizeof found);
    p->known = 1;
    p->repeats += parts->repeats;
    assert_memory_equal(found, p->value, sizeof found);
    pthread_mutex_unlock(&lock);
  }
  cvtm_subdomain_destroy(parts);
  device_free_all(device, memory[0], memory[1], gradient, value);
}

/* Compares 1 .. MOST_RANKS ranks with one process. Returns how often ranks evaluated again. */
static int64_t compare_ranks(problem p) {
  p.moments = calloc((size_t)p.count, sizeof *p.moments);
  assert_non_null(p.moments);
  evaluate_alone(&p);
  for (int ranks = 1; ranks <= MOST_RANKS; ++ranks) run_ranks(ranks, evaluate_part, &p);
  double energy = 0;
  for (int64_t i = 0; i < p.count; ++i) energy += p.moments[i].second;
  assert_true(fabs(p.value[0] - energy) <= 1e-12 * energy);
  free(p.moments);
  return p.repeats;
}

/* --- sites ---------------------------------------------------------------------------------- */

static uint64_t code_of(const double *site) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  return cvtm_morton_code(domain, site[0], site[1]);
}

static int compare_codes(const void *a, const void *b) {
  const uint64_t x = code_of(a), y = code_of(b);
  return x < y ? -1 : x > y;
}

enum { EVEN, CROWDED, SPARSE, LONELY, COINCIDENT, ROWS, KINDS };

static void make_site(int kind, int64_t i, int64_t count, double *site) {
  double u[2];
  cvtm_random_uniform2(7, (uint64_t)kind, (uint64_t)i, u);
  site[0] = SIDE * u[0];
  site[1] = SIDE * u[1];
  switch (kind) {
    case CROWDED: /* half of them in a millionth of the area */
      if (2 * i < count) break;
      site[0] = 20 + 0.1 * u[0];
      site[1] = 90 + 0.1 * u[1];
      break;
    case SPARSE: /* most of them in a square; the others reach across many fine bins */
      if (i % 25 == 0) break;
      site[0] = 70 + 20 * u[0];
      site[1] = 40 + 20 * u[1];
      break;
    case LONELY: /* all but three in a strip; the others far from it */
      if (i < 3) break;
      site[0] = 0.05 * SIDE * u[0];
      break;
    case COINCIDENT: /* pairs, some of which ranks divide, and a pile */
      cvtm_random_uniform2(7, (uint64_t)kind, (uint64_t)(i / 2), u);
      site[0] = i % 3 == 0 ? 33 : SIDE * u[0];
      site[1] = i % 3 == 0 ? 44 : SIDE * u[1];
      break;
    case ROWS: { /* a grid, whose cells have no more than four true corners */
      const int64_t across = (int64_t)ceil(sqrt((double)count));
      site[0] = ((double)(i % across) + 0.5) * SIDE / (double)across;
      site[1] = ((double)(i / across) + 0.5) * SIDE / (double)across;
      break;
    }
    default:
      break;
  }
}

/* In the order of the curve, as in a descent. */
static double *make_sites(int kind, int64_t count) {
  double *sites = doubles(2 * count);
  for (int64_t i = 0; i < count; ++i) make_site(kind, i, count, sites + 2 * i);
  qsort(sites, (size_t)count, 2 * sizeof *sites, compare_codes);
  return sites;
}

static void compare_kind(int kind, int64_t count, int64_t block) {
  double *sites = make_sites(kind, count);
  problem p = {.domain = {SIDE, SIDE, 0}, .count = count, .block = block, .sites = sites};
  const int64_t repeats = compare_ranks(p);
  if (kind == LONELY && count >= 700) assert_true(repeats > 0);
  p.domain.periodic = 1;
  (void)compare_ranks(p);
  p.tree_clipping = 1;
  p.domain.periodic = 0;
  if (count <= 3000) (void)compare_ranks(p);
  free(sites);
}

static void fill_density(void) {
  for (int p = 0; p < SIDE * SIDE; ++p)
    density[p] = 0.1F + (float)cvtm_random_uniform(3, 0, (uint64_t)p);
}

TEST(test_ranks_have_the_bits_of_one_process) {
  fill_density();
  for (int kind = 0; kind < KINDS; ++kind) {
    compare_kind(kind, 5, 1);
    compare_kind(kind, 700, 16);
    compare_kind(kind, 2200, 1024);
  }
}

/* As many as the kernels for chunks of cells need; with a block that is several pieces. */
TEST(test_large) {
  if (strcmp(test_device_name(), "cpu") == 0) skip();
  fill_density();
  for (int kind = 0; kind < KINDS; ++kind) compare_kind(kind, 12000, 2048);
  compare_kind(EVEN, MOST_SITES, 4096);
  compare_kind(CROWDED, MOST_SITES, 4096);
}

/* In any order every rank has sites everywhere: it gets all others. */
TEST(test_in_any_order) {
  double sites[2 * 500];
  fill_density();
  for (int64_t i = 0; i < 500; ++i) make_site(EVEN, i, 500, sites + 2 * i);
  (void)compare_ranks(
      (problem){.domain = {SIDE, SIDE, 0}, .count = 500, .block = 10, .sites = sites});
}

/* Even sites in order: a rank of four has few more than its own. */
static void measure_near(cvtm_device *device, int rank, void *context) {
  const problem *p = context;
  void *memory[2];
  (void)rank;
  cvtm_subdomain *parts = open_parts(device, p, memory);
  assert_device_ok(device, cvtm_subdomain_evaluate(parts, memory[1]));
  assert_true(4 * parts->own >= p->count - 4 * p->block);
  assert_true(parts->local < parts->own + p->count / 8);
  cvtm_subdomain_destroy(parts);
  device_free_all(device, memory[0], memory[1]);
}

TEST(test_a_rank_has_few_sites_of_others) {
  double *sites = make_sites(ROWS, 160000);
  problem p = {.domain = {SIDE, SIDE, 0}, .count = 160000, .block = 1024, .sites = sites};
  fill_density();
  run_ranks(4, measure_near, &p);
  free(sites);
}

/* A rank whose plan cannot be made does not leave the others waiting. */
static void fail_on_rank_1(cvtm_device *device, int rank, void *context) {
  const problem *p = context;
  void *memory[2];
  cvtm_subdomain *parts = open_parts(device, p, memory);
  const cvtm_device_table *own_table = device->table;
  cvtm_device_table faulty = *own_table;
  faulty.allocate = no_memory;
  if (rank == 1) device->table = &faulty;
  for (int again = 0; again < 2; ++again)
    assert_int_equal(cvtm_subdomain_evaluate(parts, memory[1]), CVTM_ERROR_MEMORY);
  device->table = own_table;
  assert_device_ok(device, cvtm_subdomain_evaluate(parts, memory[1]));
  cvtm_subdomain_destroy(parts);
  device_free_all(device, memory[0], memory[1]);
}

TEST(test_all_ranks_fail_with_one) {
  double *sites = make_sites(ROWS, 5000);
  problem p = {.domain = {SIDE, SIDE, 0}, .count = 5000, .block = 64, .sites = sites};
  fill_density();
  run_ranks(3, fail_on_rank_1, &p);
  free(sites);
}

TEST_MAIN()
