/* Checkpoints: a solve that continues from any state that it saved ends with the same bits, and a
 * state that is damaged or of another run is refused. */
#include "cvt/cvt.h"
#include "tests/test_devices.h"

enum { SIDE = 32, AREA = SIDE * SIDE, COUNT = 300, STATES = 4000, TRIED = 6 };

/* The states that a solve saved. */
typedef struct states {
  unsigned char *bytes[STATES];
  size_t size[STATES];
  int count, limit; /* limit: ask for an error at this one; 0: never */
} states;

static cvtm_status keep_state(void *context, const void *bytes, size_t count, cvtm_error *error) {
  states *s = context;
  if (s->limit > 0 && s->count == s->limit)
    return cvtm_fail(error, CVTM_ERROR_IO, "no room for state %d", s->count);
  if (s->count == STATES) return CVTM_OK;
  s->bytes[s->count] = malloc(count);
  memcpy(s->bytes[s->count], bytes, count);
  s->size[s->count++] = count;
  return CVTM_OK;
}

static void free_states(states *s) {
  for (int k = 0; k < s->count; ++k) free(s->bytes[k]);
  s->count = 0;
}

typedef struct problem {
  cvtm_domain domain;
  float density[AREA];
  int64_t count, given;
  double first[2 * COUNT];
  cvtm_cvt_options options;
} problem;

static problem make_problem(void) {
  problem p = {0};
  p.domain = (cvtm_domain){SIDE, SIDE, 0};
  for (int k = 0; k < AREA; ++k) p.density[k] = 0.05F + (float)(k % SIDE * (k / SIDE)) / AREA;
  cvtm_cvt_defaults(&p.options);
  p.options.max_iterations = 60;
  p.count = COUNT;
  for (int k = 0; k < COUNT; ++k) {
    p.first[2 * k] = 1 + (37 * k % (SIDE - 2)) + 0.01 * k / COUNT;
    p.first[2 * k + 1] = 1 + (double)(53 * k % (SIDE - 3)) + 0.02 * k / COUNT;
  }
  return p;
}

typedef struct outcome {
  cvtm_status status;
  double sites[2 * COUNT];
  cvtm_cvt_result result;
  char message[512];
} outcome;

/* Solves in a plan of its own, with `checkpoint` or without (NULL). */
static outcome solve(const problem *p, const cvtm_cvt_checkpoint *checkpoint) {
  cvtm_device *device = test_device_open_threads(1);
  cvtm_cvt_options options = p->options;
  outcome o;
  memset(&o, 0, sizeof o);
  options.checkpoint = checkpoint;
  memcpy(o.sites, p->first, 2 * (size_t)p->given * sizeof(double));
  NEW_CVT(cvt, device, p->domain, p->density, COUNT);
  o.status = cvtm_cvt_solve(cvt, &options, p->given, o.sites, p->count, &o.result);
  memcpy(o.message, cvtm_device_error(device)->message, sizeof o.message);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  return o;
}

static void assert_same(const outcome *a, const outcome *b) {
  assert_ok(a->status);
  assert_ok(b->status);
  assert_memory_equal(a->sites, b->sites, sizeof a->sites);
  assert_memory_equal(&a->result.objective, &b->result.objective, sizeof(double));
  assert_int_equal(a->result.stop, b->result.stop);
  assert_int_equal(a->result.iterations, b->result.iterations);
  assert_int_equal(a->result.evaluations, b->result.evaluations);
  assert_int_equal(a->result.coarse_iterations, b->result.coarse_iterations);
  assert_int_equal(a->result.transfers, b->result.transfers);
  assert_int_equal(a->result.anneal_rounds, b->result.anneal_rounds);
}

/* Saves as often as possible, then continues from TRIED of the states. */
static void check_problem(const problem *p, int least_states) {
  states all = {.count = 0};
  cvtm_cvt_checkpoint checkpoint = {.save = keep_state, .context = &all};
  const outcome plain = solve(p, NULL), saving = solve(p, &checkpoint);
  assert_same(&plain, &saving);
  if (all.count < least_states) fail_msg("%d states, not %d", all.count, least_states);
  for (int k = 0; k < TRIED; ++k) {
    const int from = k * (all.count - 1) / (TRIED - 1);
    cvtm_cvt_checkpoint resume = {.saved = all.bytes[from], .saved_bytes = all.size[from]};
    const outcome resumed = solve(p, &resume);
    assert_same(&plain, &resumed);
  }
  free_states(&all);
}

TEST(test_coarse_to_fine) {
  problem p = make_problem();
  check_problem(&p, 50);
}

/* A state saved by a run that was itself continued. */
TEST(test_twice) {
  problem p = make_problem();
  states first = {.count = 0}, second = {.count = 0};
  const cvtm_cvt_checkpoint saving = {.save = keep_state, .context = &first};
  const outcome plain = solve(&p, &saving);
  const cvtm_cvt_checkpoint again = {.save = keep_state,
                                     .context = &second,
                                     .saved = first.bytes[first.count / 3],
                                     .saved_bytes = first.size[first.count / 3]};
  const outcome once = solve(&p, &again);
  assert_same(&plain, &once);
  const int from = second.count / 2;
  const cvtm_cvt_checkpoint last = {.saved = second.bytes[from], .saved_bytes = second.size[from]};
  const outcome twice = solve(&p, &last);
  assert_same(&plain, &twice);
  free_states(&first);
  free_states(&second);
}

TEST(test_lloyd) {
  problem p = make_problem();
  p.options.method = CVTM_CVT_LLOYD;
  check_problem(&p, 5);
}

TEST(test_transfers_and_annealing) {
  problem p = make_problem();
  p.options.effort = CVTM_CVT_EFFORT_BEST;
  p.options.tolerance = 0.02;
  check_problem(&p, 100);
}

TEST(test_lattices) {
  problem p = make_problem();
  for (int k = 0; k < AREA; ++k) p.density[k] = 1;
  check_problem(&p, 20);
  p.domain.periodic = 1; /* has one lattice at most */
  check_problem(&p, 10);
}

TEST(test_given_sites_on_a_torus) {
  problem p = make_problem();
  p.domain.periodic = 1;
  p.given = COUNT;
  p.options.fixed = 10;
  check_problem(&p, 20);
}

TEST(test_pixel_energy) {
  problem p = make_problem();
  p.options.energy = CVTM_CVT_PIXEL;
  p.options.effort = CVTM_CVT_EFFORT_LOW;
  /* The pixel energy jumps where a pixel changes its cell, so that the line search of L-BFGS-B ends
   * a descent sooner or later by the roundings of a device (an H200: at its first iteration). The
   * steps of Lloyd's method are certain: saved after each on the CPU, after each ten on a GPU. */
  p.options.lloyd_steps = 40;
  p.options.tolerance = 0;
  check_problem(&p, 3);
}

static void assert_state_refused(const problem *p, const void *bytes, size_t size,
                                 const char *text) {
  const cvtm_cvt_checkpoint resume = {.saved = bytes, .saved_bytes = size};
  const outcome o = solve(p, &resume);
  assert_int_equal(o.status, CVTM_ERROR_INPUT);
  if (!strstr(o.message, text)) fail_msg("\"%s\" lacks \"%s\"", o.message, text);
}

TEST(test_other_runs_are_refused) {
  problem p = make_problem(), other;
  states all = {.count = 0};
  const cvtm_cvt_checkpoint saving = {.save = keep_state, .context = &all};
  (void)solve(&p, &saving);
  const unsigned char *state = all.bytes[all.count / 2];
  const size_t size = all.size[all.count / 2];
  other = p;
  other.density[7] *= 2;
  assert_state_refused(&other, state, size, "density");
  other = p;
  other.options.seed = 2;
  assert_state_refused(&other, state, size, "seed");
  other = p;
  other.options.tolerance *= 2;
  assert_state_refused(&other, state, size, ": tolerance");
  other = p;
  other.domain.periodic = 1;
  assert_state_refused(&other, state, size, "border");
  for (size_t cut = 0; cut < size; cut += size / 40 + 1)
    assert_state_refused(&p, state, cut, "checkpoint");
  free_states(&all);
}

TEST(test_a_failing_save_ends_the_run) {
  problem p = make_problem();
  states all = {.limit = 5};
  const cvtm_cvt_checkpoint saving = {.save = keep_state, .context = &all};
  const outcome o = solve(&p, &saving);
  assert_int_equal(o.status, CVTM_ERROR_IO);
  assert_string_equal(o.message, "no room for state 5");
  assert_int_equal(all.count, 5);
  free_states(&all);
}

TEST_MAIN()
