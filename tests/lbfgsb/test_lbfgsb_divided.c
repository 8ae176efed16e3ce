/* Variables divided among ranks that are threads: 1, 2, 3 and 4 ranks give the same bits, on the
 * CPU those of a solver that has all variables, and the minimum. */
#include "testing.h"

#include "base/device_kernels.h"
#include "lbfgsb/lbfgsb_ranks.h"
#include "problems.h"
#include "tests/thread_ranks.h"

enum { MOST_RECORDS = 400 };

/* What a rank found, and where it writes its part of x. */
typedef struct outcome {
  double *x;
  cvtm_lbfgsb_result result;
  cvtm_lbfgsb_progress record[MOST_RECORDS];
  int64_t records;
  cvtm_status status;
} outcome;

/* A run of one problem by all ranks. */
typedef struct run {
  const fixture *made;
  outcome *of_rank;     /* [rank_count] */
  int64_t leg;          /* iterations between a stop and a resumption; 0: none */
  unsigned char **file; /* if not NULL: the leg's end is saved there, or restored if it exists */
  int64_t asks_at;      /* iteration at which rank 0's monitor asks to stop; 0: none */
} run;

/* What a rank's objective and monitor need. */
typedef struct part {
  cvtm_device *device;
  const run *of;
  cvtm_lbfgsb_share share;
  outcome *found;
  double *all_x, *g; /* on the host */
  int64_t counts[MOST_RANKS];
} part;

static cvtm_lbfgsb_share share_of(int64_t n, int rank) {
  const int64_t block = cvtm_lbfgsb_block(n), blocks = (n - 1) / block + 1;
  const int64_t first = blocks * rank / rank_count * block;
  const int64_t end = blocks * (rank + 1) / rank_count * block;
  return (cvtm_lbfgsb_share){first, (end < n ? end : n) - first, n};
}

/* The values of rows first .. end - 1 by blocks, and their gradients. */
static void evaluate_rows(const problem *p, const double *x, int64_t first, int64_t end, double *f,
                          double *g) {
  const int64_t block = cvtm_lbfgsb_block(p->n);
  for (int64_t begin = first; begin < end; begin += block, f += 2) {
    f[0] = f[1] = 0.0;
    for (int64_t i = begin; i < end && i < begin + block; ++i) {
      f[0] += problem_row(p, x, i, g + i - first);
      f[1] = fmax(f[1], fabs(x[i]));
    }
  }
}

static cvtm_status evaluate_part(void *context, const double *x, double *f, double *g,
                                 void *stream) {
  part *own = context;
  const cvtm_lbfgsb_share *share = &own->share;
  const size_t bytes = (size_t)share->count * sizeof(double);
  const int64_t block = cvtm_lbfgsb_block(share->total);
  double values[512];
  (void)stream;
  cvtm_status status = cvtm_device_copy_out(own->device, own->all_x + share->first, x, bytes);
  if (status == CVTM_OK) status = cvtm_ranks_gather(own->device, own->all_x, own->counts);
  evaluate_rows(&own->of->made->p, own->all_x, share->first, share->first + share->count, values,
                own->g);
  const size_t blocks = (size_t)((share->count + block - 1) / block);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(own->device, f, values, 2 * blocks * sizeof *f);
  return status == CVTM_OK ? cvtm_device_copy_in(own->device, g, own->g, bytes) : status;
}

static int watch(void *context, const cvtm_lbfgsb_progress *progress) {
  const part *own = context;
  outcome *found = own->found;
  if (found->records < MOST_RECORDS) found->record[found->records++] = *progress;
  return own->of->asks_at > 0 && own_rank == 0 && progress->iteration >= own->of->asks_at;
}

/* A rank's part of an array on the device; NULL for NULL. */
static double *send_part(const part *own, const double *array) {
  return array ? (double *)(uintptr_t)fixture_send(own->device, array + own->share.first,
                                                   own->share.count)
               : NULL;
}

/* Exchanges the pieces of a rank's saved bytes with the bytes of all. */
static void move_pieces(const part *own, const cvtm_lbfgsb *solver, unsigned char *bytes,
                        int save) {
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  (void)cvtm_lbfgsb_save_pieces(solver, pieces);
  for (int k = 0; k < CVTM_LBFGSB_PIECES; bytes += pieces[k++].bytes) {
    unsigned char *at = *own->of->file + pieces[k].at;
    if (k == 0 && save && own_rank > 0) continue;
    memcpy(save ? at : bytes, save ? bytes : at, pieces[k].bytes);
  }
}

static void save_part(const part *own, cvtm_lbfgsb *solver) {
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  unsigned char *bytes = malloc(cvtm_lbfgsb_save_bytes(solver));
  int64_t meet = 0;
  assert_non_null(bytes);
  if (own_rank == 0) *own->of->file = malloc((size_t)cvtm_lbfgsb_save_pieces(solver, pieces));
  assert_device_ok(own->device, cvtm_ranks_agree(own->device, &meet));
  assert_device_ok(own->device, cvtm_lbfgsb_save(solver, bytes));
  move_pieces(own, solver, bytes, 1);
  free(bytes);
}

static void restore_part(const part *own, cvtm_lbfgsb *solver) {
  const size_t count = cvtm_lbfgsb_save_bytes(solver);
  unsigned char *bytes = malloc(count);
  assert_non_null(bytes);
  move_pieces(own, solver, bytes, 0);
  assert_device_ok(own->device, cvtm_lbfgsb_restore(solver, bytes, count, NULL));
  free(bytes);
}

static void solve_part(cvtm_device *device, int rank, void *context) {
  const run *of = context;
  const fixture *made = of->made;
  const int64_t n = made->p.n;
  part own = {.device = device, .of = of, .share = share_of(n, rank), .found = of->of_rank + rank};
  double *const x = send_part(&own, made->x), *const lower = send_part(&own, made->lower);
  double *const upper = send_part(&own, made->upper), *const scale = send_part(&own, made->scale);
  cvtm_lbfgsb_options options = made->options;
  cvtm_lbfgsb *solver = NULL;
  outcome *found = own.found;
  own.all_x = fixture_doubles(n, 0.0);
  own.g = fixture_doubles(own.share.count, 0.0);
  for (int r = 0; r < rank_count; ++r) own.counts[r] = share_of(n, r).count;
  options.monitor = watch;
  options.monitor_context = &own;
  if (of->leg > 0) options.max_iterations = of->leg;
  found->records = 0;
  found->status = cvtm_lbfgsb_create_divided(device, &own.share, &options, &solver);
  assert_device_ok(device, found->status);
  assert_device_ok(device, cvtm_lbfgsb_set_scaling(solver, scale));
  found->status = cvtm_lbfgsb_set_bounds(solver, lower, upper);
  const int restores = of->file && *of->file, resumes = of->leg > 0 && (!of->file || restores);
  int64_t meet = 0;
  assert_device_ok(device, cvtm_ranks_agree(device, &meet)); /* all have looked at the file */
  if (restores)
    restore_part(&own, solver);
  else if (found->status == CVTM_OK)
    found->status = cvtm_lbfgsb_minimize(solver, x, evaluate_part, &own, &found->result);
  if (of->file && !restores) save_part(&own, solver);
  if (found->status == CVTM_OK && resumes) {
    options.max_iterations = made->options.max_iterations;
    assert_device_ok(device, cvtm_lbfgsb_set_options(solver, &options));
    found->status = cvtm_lbfgsb_resume(solver, x, evaluate_part, &own, &found->result);
  }
  assert_device_ok(device, cvtm_device_copy_out(device, found->x + own.share.first, x,
                                                (size_t)own.share.count * sizeof *x));
  cvtm_lbfgsb_destroy(solver);
  device_free_all(device, x, lower, upper, scale);
  free_all(own.all_x, own.g);
}

/* --- comparisons ------------------------------------------------------------------------------ */

static void assert_same_result(const outcome *a, const outcome *b) {
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->result.stop, b->result.stop);
  assert_int_equal(a->result.iterations, b->result.iterations);
  assert_int_equal(a->result.evaluations, b->result.evaluations);
  assert_int_equal(a->result.active, b->result.active);
  assert_int_equal(a->result.start_projected, b->result.start_projected);
  assert_int_equal(a->result.restarts, b->result.restarts);
  assert_memory_equal(&a->result.f, &b->result.f, sizeof a->result.f);
  assert_memory_equal(&a->result.projected_gradient, &b->result.projected_gradient,
                      sizeof a->result.f);
  assert_int_equal(a->records, b->records);
  assert_memory_equal(a->record, b->record, (size_t)a->records * sizeof *a->record);
}

/* The problem by `ranks` ranks, which all must report the same; the outcome of rank 0. */
static outcome *solve_by(const run *wanted, int ranks) {
  const int64_t n = wanted->made->p.n;
  outcome *found = calloc((size_t)ranks, sizeof *found);
  double *x = fixture_doubles(n, 0.0);
  assert_non_null(found);
  for (int r = 0; r < ranks; ++r) found[r].x = x;
  run by = *wanted;
  by.of_rank = found;
  run_ranks(ranks, solve_part, &by);
  for (int r = 1; r < ranks; ++r) assert_same_result(&found[0], &found[r]);
  return found;
}

static void free_outcome(outcome *found) { free_all(found->x, found); }

static cvtm_status evaluate_whole(void *context, const double *x, double *f, double *g,
                                  void *stream) {
  const fixture *made = context;
  const int64_t n = made->p.n, block = cvtm_lbfgsb_block(n);
  const size_t bytes = (size_t)n * sizeof(double);
  double *host_x = fixture_doubles(n, 0.0), *host_g = fixture_doubles(n, 0.0), values[512];
  (void)stream;
  cvtm_status status = cvtm_device_copy_out(made->device, host_x, x, bytes);
  evaluate_rows(&made->p, host_x, 0, n, values, host_g);
  for (int64_t b = 1; b * block < n; ++b) {
    values[0] += values[2 * b];
    values[1] = fmax(values[1], values[2 * b + 1]);
  }
  if (status == CVTM_OK) status = cvtm_device_copy_in(made->device, f, values, 2 * sizeof *f);
  if (status == CVTM_OK) status = cvtm_device_copy_in(made->device, g, host_g, bytes);
  free_all(host_x, host_g);
  return status;
}

/* By the solver that has all variables. */
static void solve_whole(fixture *made) {
  opened open;
  made->options.host_rounds = 1; /* the objective waits */
  fixture_open(made, &open);
  assert_device_ok(made->device,
                   cvtm_lbfgsb_minimize(open.solver, open.x, evaluate_whole, made, &made->result));
  fixture_close(made, &open);
}

/* tolerance: of x against the undivided solver on CUDA, whose sums have another order. */
static void compare(fixture made, int history, cvtm_lbfgsb_cauchy cauchy, double tolerance) {
  made.options.history = history;
  made.options.cauchy = cauchy;
  made.p.diagonal = made.diagonal; /* the objective runs on the host */
  made.p.linear = made.linear;
  const run wanted = {.made = &made};
  outcome *one = solve_by(&wanted, 1);
  assert_ok(one->status);
  const size_t bytes = (size_t)made.p.n * sizeof(double);
  for (int ranks = 2; ranks <= MOST_RANKS; ++ranks) {
    outcome *several = solve_by(&wanted, ranks);
    assert_same_result(one, several);
    assert_memory_equal(one->x, several->x, bytes);
    free_outcome(several);
  }
  const run in_legs = {.made = &made, .leg = 3};
  outcome *resumed = solve_by(&in_legs, 3);
  assert_memory_equal(one->x, resumed->x, bytes);
  free_outcome(resumed);
  unsigned char *file = NULL;
  const run saved = {.made = &made, .leg = 4, .file = &file};
  free_outcome(solve_by(&saved, 3));
  for (int ranks = 2; ranks <= MOST_RANKS; ranks += 2) {
    outcome *restored = solve_by(&saved, ranks);
    assert_memory_equal(one->x, restored->x, bytes);
    free_outcome(restored);
  }
  free(file);
  solve_whole(&made);
  if (cvtm_device_get_kind(made.device) == CVTM_DEVICE_CPU) {
    assert_memory_equal(one->x, made.x, bytes);
    assert_int_equal(one->result.evaluations, made.result.evaluations);
    assert_memory_equal(&one->result.f, &made.result.f, sizeof made.result.f);
  }
  for (int64_t i = 0; i < made.p.n; ++i) assert_near(one->x[i], made.x[i], tolerance);
  free_outcome(one);
  fixture_free(&made);
}

static cvtm_device *device;

static fixture stop_at(fixture made, int64_t iterations) {
  made.options.max_iterations = iterations;
  return made;
}

TEST(test_same_bits) {
  for (int exact = 0; exact <= 1; ++exact) {
    const cvtm_lbfgsb_cauchy cauchy =
        exact ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
    compare(stop_at(fixture_torsion(device, 110, 100), 12), 5, cauchy, 1e-9);
    compare(stop_at(fixture_bearing(device, 100, 90, 0.1, 10.0), 12), 8, cauchy, 1e-9);
    for (int mix = FREE; mix <= FIXED_SOME; ++mix)
      compare(
          stop_at(fixture_random_quadratic(device, 8500, (bounds_mix)mix, 5 + (uint64_t)mix), 12),
          mix == MIXED ? 20 : 9, cauchy, 1e-9);
    compare(stop_at(fixture_random_quadratic(device, 2100, BOTH, 3), 10), 4, cauchy, 1e-9);
    compare(stop_at(fixture_random_quadratic(device, 20, BOTH, 4), 10), 4, cauchy, 1e-9);
  }
}

/* More than 256 parts of 2048 rows, so that a block has several. */
TEST(test_large_blocks) {
  fixture made = fixture_random_quadratic(device, 600000, MIXED, 11);
  assert_int_equal(cvtm_lbfgsb_block(made.p.n), 4096);
  compare(stop_at(made, 4), 3, CVTM_LBFGSB_CAUCHY_APPROXIMATE, 1e-9);
}

TEST(test_scaled) {
  fixture made = fixture_random_quadratic(device, 8500, MIXED, 13);
  made.scale = fixture_doubles(8500, 1.0);
  for (int64_t i = 0; i < 8500; ++i) made.scale[i] = 0.5 + 0.25 * (double)(i % 5);
  compare(stop_at(made, 12), 9, CVTM_LBFGSB_CAUCHY_EXACT, 1e-9);
}

/* The minimum, by the conditions that it fulfils. */
TEST(test_minimum) {
  for (int exact = 0; exact <= 1; ++exact) {
    fixture made = fixture_random_quadratic(device, 8500, BOTH, 14);
    made.p.diagonal = made.diagonal;
    made.p.linear = made.linear;
    made.options.gradient_tolerance = 1e-7;
    made.options.cauchy = exact ? CVTM_LBFGSB_CAUCHY_EXACT : CVTM_LBFGSB_CAUCHY_APPROXIMATE;
    const run wanted = {.made = &made};
    outcome *found = solve_by(&wanted, 3);
    assert_int_equal(found->result.stop, CVTM_STOP_GRADIENT);
    assert_true(found->result.active > 1000);
    memcpy(made.x, found->x, (size_t)made.p.n * sizeof *made.x);
    fixture_check_conditions(&made, 1e-5);
    free_outcome(found);
    fixture_free(&made);
  }
}

/* Only rank 0 asks, and all stop; only rank 0's clock counts. */
TEST(test_stops) {
  fixture made = fixture_torsion(device, 110, 100);
  const run asked = {.made = &made, .asks_at = 5};
  outcome *found = solve_by(&asked, 3);
  assert_int_equal(found->result.stop, CVTM_STOP_REQUEST);
  assert_true(found->result.iterations >= 5 && found->result.iterations <= 6);
  free_outcome(found);
  made.options.max_seconds = 1e-9;
  const run late = {.made = &made};
  found = solve_by(&late, 4);
  assert_int_equal(found->result.stop, CVTM_STOP_TIME);
  free_outcome(found);
  fixture_free(&made);
}

/* Bounds of one rank that are wrong end the call on all ranks. */
TEST(test_bad_bounds) {
  fixture made = fixture_torsion(device, 110, 100);
  made.lower[10000] = 2.0;
  const run wanted = {.made = &made};
  outcome *found = solve_by(&wanted, 3);
  assert_int_equal(found->status, CVTM_ERROR_ARGUMENT);
  free_outcome(found);
  fixture_free(&made);
}

static void refuse_shares(cvtm_device *own, int rank, void *context) {
  const cvtm_lbfgsb_share(*shares)[2] = context;
  cvtm_lbfgsb *solver = NULL;
  for (int k = 0; k < 4; ++k)
    assert_int_equal(cvtm_lbfgsb_create_divided(own, &shares[k][rank], NULL, &solver),
                     CVTM_ERROR_ARGUMENT);
}

TEST(test_bad_shares) {
  cvtm_lbfgsb_share shares[4][2] = {{{0, 2048, 5000}, {2049, 2951, 5000}},
                                    {{0, 1000, 5000}, {1000, 4000, 5000}},
                                    {{0, 2048, 5000}, {2048, 2048, 5000}},
                                    {{0, 2048, 5000}, {2048, 2952, 5001}}};
  run_ranks(2, refuse_shares, shares);
  DEFAULT_OPTIONS(cvtm_lbfgsb, options);
  cvtm_lbfgsb *solver = NULL;
  options.history = CVTM_LBFGSB_MAX_HISTORY;
  const cvtm_lbfgsb_share whole = {0, 100, 100};
  assert_int_equal(cvtm_lbfgsb_create_divided(device, &whole, &options, &solver),
                   CVTM_ERROR_ARGUMENT);
}

/* A solver goes on with other shares of fewer variables. */
static void change_share(cvtm_device *own, int rank, void *context) {
  const cvtm_lbfgsb_share first = share_of(9000, rank), second = share_of(5000, rank);
  cvtm_lbfgsb *solver = NULL;
  (void)context;
  assert_device_ok(own, cvtm_lbfgsb_create_divided(own, &first, NULL, &solver));
  assert_device_ok(own, cvtm_lbfgsb_set_share(solver, &second));
  assert_int_equal(cvtm_lbfgsb_set_size(solver, 10), CVTM_ERROR_ARGUMENT);
  cvtm_lbfgsb_destroy(solver);
}

TEST(test_other_shares) { run_ranks(3, change_share, NULL); }

static void fail_on_rank_1(cvtm_device *own, int rank, void *context) {
  const cvtm_lbfgsb_share share = share_of(9000, rank);
  const cvtm_device_table *own_table = own->table;
  cvtm_device_table faulty = *own_table;
  cvtm_lbfgsb *solver = NULL;
  (void)context;
  faulty.allocate = no_memory;
  if (rank == 1) own->table = &faulty;
  assert_int_equal(cvtm_lbfgsb_create_divided(own, &share, NULL, &solver), CVTM_ERROR_MEMORY);
  own->table = own_table;
  assert_device_ok(own, cvtm_lbfgsb_create_divided(own, &share, NULL, &solver));
  cvtm_lbfgsb_destroy(solver);
}

/* A rank that has no memory for its variables does not leave the others waiting. */
TEST(test_all_ranks_fail_with_one) { run_ranks(3, fail_on_rank_1, NULL); }

TEST_DEVICE_MAIN_AS(device, 1)
