/* Descents whose sites are divided among ranks, which are threads of this program: the bits do not
 * depend on the number of ranks, nor on a break that another number of ranks continues. */
#include "testing.h"

#include "base/device_kernels.h"
#include "base/random.h"
#include "cvt/cvt.h"
#include "cvt/decomposition.h"
#include "tests/thread_ranks.h"

/* Sites in three blocks of sums, so that three of four ranks have some. */
enum { SIDE = 96, AREA = SIDE * SIDE, COUNT = 2100, FIXED = 300, MOST_STATES = 64 };

/* The states that rank 0 saved. */
typedef struct states {
  void *bytes[MOST_STATES];
  size_t size[MOST_STATES];
  int count;
} states;

typedef struct problem {
  cvtm_domain domain;
  float density[AREA];
  cvtm_cvt_options options;
  int64_t given;
  int solves; /* by cvtm_cvt_solve; else by cvtm_cvt_optimize */
  double first[2 * COUNT];
} problem;

typedef struct outcome {
  double sites[2 * COUNT];
  cvtm_cvt_result result;
} outcome;

/* A run by some ranks. */
typedef struct run {
  const problem *problem;
  states *saved; /* NULL: none is saved */
  const void *resumed;
  size_t resumed_bytes;
  outcome *found; /* of each rank */
} run;

static cvtm_status keep_state(void *context, const void *bytes, size_t size, cvtm_error *error) {
  states *s = context;
  (void)error;
  if (s->count == MOST_STATES) return CVTM_OK;
  assert_non_null(s->bytes[s->count] = malloc(size));
  memcpy(s->bytes[s->count], bytes, size);
  s->size[s->count++] = size;
  return CVTM_OK;
}

static void work_at(cvtm_device *device, int rank, void *context) {
  const run *r = context;
  const problem *p = r->problem;
  outcome *found = &r->found[rank];
  const cvtm_cvt_checkpoint checkpoint = {.save = r->saved ? keep_state : NULL,
                                          .context = r->saved,
                                          .saved = r->resumed,
                                          .saved_bytes = r->resumed_bytes};
  cvtm_cvt_options options = p->options;
  if (r->saved || r->resumed) options.checkpoint = &checkpoint;
  memset(found, 0, sizeof *found);
  memcpy(found->sites, p->first, sizeof found->sites);
  /* Rank 0 alone has the density. */
  const float *density = rank == 0 ? p->density : NULL;
  NEW_CVT(cvt, device, p->domain, density, COUNT);
  if (p->solves)
    assert_device_ok(device,
                     cvtm_cvt_solve(cvt, &options, p->given, found->sites, COUNT, &found->result));
  else
    assert_device_ok(device, cvtm_cvt_optimize(cvt, &options, found->sites, COUNT, &found->result));
  cvtm_cvt_destroy(cvt);
}

static void assert_same_outcome(const outcome *a, const outcome *b) {
  assert_memory_equal(a->sites, b->sites, sizeof a->sites);
  assert_memory_equal(&a->result.objective, &b->result.objective, sizeof(double));
  assert_memory_equal(&a->result.gradient_norm, &b->result.gradient_norm, sizeof(double));
  assert_int_equal(a->result.stop, b->result.stop);
  assert_int_equal(a->result.iterations, b->result.iterations);
  assert_int_equal(a->result.evaluations, b->result.evaluations);
  assert_int_equal(a->result.coarse_iterations, b->result.coarse_iterations);
  assert_int_equal(a->result.transfers, b->result.transfers);
  assert_int_equal(a->result.empty_cells, b->result.empty_cells);
}

/* The outcome of rank 0, which that of the others must be. */
static void run_by(int ranks, run r, outcome *outcomes) {
  r.found = outcomes;
  run_ranks(ranks, work_at, &r);
  for (int k = 1; k < ranks; ++k) assert_same_outcome(&outcomes[0], &outcomes[k]);
}

/* 1 .. 4 ranks; then two that save, and other numbers that continue from states of theirs. */
static void compare_ranks(const problem *p) {
  outcome *whole = allocated(MOST_RANKS + 1, sizeof *whole), *other = whole + 1;
  states saved = {.count = 0};
  cvtm_device *device = test_device_open_threads(1);
  run plain = {.problem = p, .found = whole};
  work_at(device, 0, &plain);
  cvtm_device_destroy(device);
  const double energy = whole[0].result.objective;
  run_by(1, (run){.problem = p}, whole);
  /* Sums in another order lead to another minimum, about as good. */
  assert_true(fabs(whole[0].result.objective - energy) < 0.01 * energy);
  for (int ranks = 2; ranks <= MOST_RANKS; ++ranks) {
    run_by(ranks, (run){.problem = p, .saved = ranks == 2 ? &saved : NULL}, other);
    assert_same_outcome(whole, other);
  }
  for (int ranks = 1; p->solves && ranks <= MOST_RANKS; ++ranks) {
    const int from = (saved.count - 1) * ranks / MOST_RANKS;
    assert_true(saved.count >= MOST_RANKS);
    run_by(ranks,
           (run){.problem = p, .resumed = saved.bytes[from], .resumed_bytes = saved.size[from]},
           other);
    assert_same_outcome(whole, other);
  }
  for (int k = 0; k < saved.count; ++k) free(saved.bytes[k]);
  free(whole);
}

static problem make_problem(int iterations) {
  problem p = {0};
  p.domain = (cvtm_domain){SIDE, SIDE, 0};
  for (int k = 0; k < AREA; ++k) p.density[k] = 0.05F + (float)(k % SIDE * (k / SIDE)) / AREA;
  for (uint64_t k = 0; k < 2 * COUNT; ++k) p.first[k] = SIDE * cvtm_random_uniform(5, 0, k);
  cvtm_cvt_defaults(&p.options);
  p.options.max_iterations = iterations;
  p.given = COUNT;
  return p;
}

/* Sites on the border have active bounds. */
TEST(test_bounds_and_fixed_sites) {
  problem p = make_problem(12);
  for (int k = 0; k < COUNT; k += 9) p.first[2 * k] = k % 2 ? 0 : SIDE;
  compare_ranks(&p);
  p.options.fixed = FIXED;
  compare_ranks(&p);
}

TEST(test_fixed_sites_stay) {
  outcome found[MOST_RANKS];
  problem p = make_problem(5);
  p.options.fixed = FIXED;
  run_by(3, (run){.problem = &p}, found);
  assert_memory_equal(found[0].sites, p.first, 2 * FIXED * sizeof(double));
}

TEST(test_torus_by_lloyd) {
  problem p = make_problem(12);
  p.domain.periodic = 1;
  p.options.method = CVTM_CVT_LLOYD;
  p.solves = 1;
  compare_ranks(&p);
}

TEST(test_coarse_to_fine) {
  problem p = make_problem(42);
  p.solves = 1;
  p.given = 0;
  p.options.seed = 3;
  compare_ranks(&p);
}

static int count_records(void *context, const cvtm_cvt_record *record) {
  return record->iteration >= *(const int *)context;
}

/* The monitor is asked on every rank; the answer of rank 0 counts. */
TEST(test_a_request_to_stop) {
  outcome found[MOST_RANKS];
  problem p = make_problem(50);
  int last = 9;
  p.options.monitor = count_records;
  p.options.monitor_context = &last;
  run_by(2, (run){.problem = &p}, found);
  assert_int_equal(found[0].result.stop, CVTM_STOP_REQUEST);
  assert_true(found[0].result.iterations >= last && found[0].result.iterations < 50);
}

static void refuse(cvtm_device *device, int rank, void *context) {
  problem *p = context;
  outcome *found = malloc(sizeof *found);
  cvtm_cvt_options options = p->options;
  (void)rank;
  assert_non_null(found);
  memcpy(found->sites, p->first, sizeof found->sites);
  NEW_CVT(cvt, device, p->domain, p->density, COUNT);
  options.energy = CVTM_CVT_PIXEL;
  assert_int_equal(cvtm_cvt_optimize(cvt, &options, found->sites, COUNT, NULL),
                   CVTM_ERROR_UNSUPPORTED);
  cvtm_cvt_destroy(cvt);
  free(found);
}

/* An evaluation by ranks has no gradient of all sites. */
static void refuse_gradient(cvtm_device *device, int rank, void *context) {
  const problem *p = context;
  void *gradient = device_array(device, 2 * COUNT, sizeof(double));
  NEW_CVT(cvt, device, p->domain, rank == 0 ? p->density : NULL, COUNT);
  const cvtm_cvt_task task = {cvt, COUNT, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT};
  assert_int_equal(cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, gradient),
                   CVTM_ERROR_UNSUPPORTED);
  cvtm_cvt_destroy(cvt);
  cvtm_device_free(device, gradient);
}

static int no_gather(double *all, const int64_t *counts) {
  (void)all;
  (void)counts;
  return 1;
}

/* Rank 0 has summed the density when the ranks lose each other. */
TEST(test_a_lost_rank_leaves_no_memory) {
  problem p = make_problem(5);
  cvtm_cvt *cvt = NULL;
  const cvtm_ranks ranks = {0, 2, no_gather, thread_agree, NULL};
  cvtm_device *device = test_device_open_threads(1);
  cvtm_device_set_ranks(device, &ranks);
  assert_int_equal(cvtm_cvt_create(device, p.domain, p.density, COUNT, &cvt), CVTM_ERROR_INTERNAL);
  assert_null(cvt);
  cvtm_device_destroy(device);
}

static void fail_on_rank_1(cvtm_device *device, int rank, void *context) {
  const problem *p = context;
  cvtm_cvt *cvt = NULL;
  double *sites = malloc(sizeof p->first);
  assert_non_null(sites);
  memcpy(sites, p->first, sizeof p->first);
  assert_device_ok(device,
                   cvtm_cvt_create(device, p->domain, rank == 0 ? p->density : NULL, COUNT, &cvt));
  const cvtm_device_table *own_table = device->table;
  cvtm_device_table faulty = *own_table;
  faulty.allocate = no_memory;
  if (rank == 1) device->table = &faulty;
  assert_int_equal(cvtm_cvt_optimize(cvt, &p->options, sites, COUNT, NULL), CVTM_ERROR_MEMORY);
  device->table = own_table;
  assert_device_ok(device, cvtm_cvt_optimize(cvt, &p->options, sites, COUNT, NULL));
  cvtm_cvt_destroy(cvt);
  free(sites);
}

/* A rank that has no memory for its sites does not leave the others waiting. */
TEST(test_all_ranks_fail_with_one) {
  problem p = make_problem(3);
  run_ranks(3, fail_on_rank_1, &p);
}

TEST(test_what_is_not_divided_is_refused) {
  problem p = make_problem(5);
  run_ranks(2, refuse, &p);
  run_ranks(2, refuse_gradient, &p);
}

TEST_MAIN()
