#include "base/host.h"
#include "tests/test_devices.h"

static int is_cuda(const cvtm_device *device) {
  return cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
}

static int set_up(void **state) {
  *state = test_device_open_threads(2);
  return 0;
}

static int tear_down(void **state) {
  cvtm_device_destroy(*state);
  return 0;
}

TEST_ON_DEVICE(a_device_describes_itself) {
  const int on_cuda = is_cuda(device);
  assert_int_equal(cvtm_device_threads(device), 2);
  if (on_cuda) {
    assert_memory_equal(cvtm_device_name(device), "cuda:", 5);
    assert_non_null(cvtm_device_stream(device));
    assert_true(strlen(cvtm_device_description(device)) > 0);
  } else {
    assert_string_equal(cvtm_device_name(device), "cpu");
    assert_null(cvtm_device_stream(device));
    assert_string_equal(cvtm_device_description(device), "2 threads");
  }
  assert_device_ok(device, cvtm_device_activate(device));
}

TEST(bad_names_are_refused) {
  static const char *const names[] = {
      "",       "gpu",     "CPU",     "cpu:0", "cuda:",
      "cuda:x", "cuda:-1", "cuda:1x", "cuda0", "cuda:99999999999999999999"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    cvtm_device *device = NULL;
    cvtm_error error = {CVTM_OK, ""};
    assert_refused(cvtm_device_create(names[i], 0, &device, &error));
    assert_refused(error.status);
    assert_non_null(strstr(error.message, names[i]));
    assert_null(device);
  }
  cvtm_device *device = NULL;
  assert_refused(cvtm_device_create(NULL, 0, &device, NULL));
  assert_refused(cvtm_device_create("cpu", -1, &device, NULL));
  assert_refused(cvtm_device_create("cpu", 1000000, &device, NULL));
  assert_null(device);
}

/* One beyond the last CUDA device, which is device 0 on a machine without any. */
TEST(a_missing_cuda_device_is_unavailable) {
  const char *reason = NULL;
  const int count = cvtm_cuda_count(&reason);
  assert_int_equal(cvtm_cuda_count(NULL), count);
  char name[32];
  snprintf(name, sizeof name, "cuda:%d", count);
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  assert_int_equal(cvtm_device_create(name, 0, &device, &error), CVTM_ERROR_DEVICE_UNAVAILABLE);
  assert_int_equal(error.status, CVTM_ERROR_DEVICE_UNAVAILABLE);
  assert_null(device);
  assert_memory_equal(error.message, "cuda", 4);
  if (count == 0) {
    assert_true(strlen(reason) > 0);
    assert_non_null(strstr(error.message, reason));
    assert_int_equal(cvtm_device_create("cuda", 0, &device, NULL), CVTM_ERROR_DEVICE_UNAVAILABLE);
    assert_null(device);
  }
}

TEST(auto_takes_cuda_where_there_is_one) {
  cvtm_device *device = NULL;
  assert_ok(cvtm_device_create("auto", 0, &device, NULL));
  assert_true(cvtm_device_threads(device) >= 1);
  if (cvtm_cuda_count(NULL) == 0) assert_false(is_cuda(device));
  cvtm_device_destroy(device);
  cvtm_device_destroy(NULL);
}

TEST_ON_DEVICE(allocations_are_aligned_and_bounded) {
  const uintptr_t alignment = is_cuda(device) ? 256 : 64;
  static const int64_t counts[] = {0, 1, 63, 64, 65, 100003};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    void *memory = device_array(device, counts[i], 3);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % alignment, 0);
    cvtm_device_free(device, memory);
  }
  cvtm_device_free(device, NULL);
  void *memory = NULL;
  assert_refused(cvtm_device_allocate(device, -1, 8, &memory));
  assert_int_equal(cvtm_device_allocate(device, INT64_MAX, 8, &memory), CVTM_ERROR_MEMORY);
  assert_int_equal(cvtm_device_allocate(device, INT64_MAX / 4, 8, &memory), CVTM_ERROR_MEMORY);
  assert_int_equal(cvtm_device_error(device)->status, CVTM_ERROR_MEMORY);
  assert_true(strlen(cvtm_device_error(device)->message) > 0);
  assert_null(memory);
  if (is_cuda(device)) { /* more than any GPU has */
    assert_int_equal(cvtm_device_allocate(device, INT64_C(1) << 50, 1, &memory), CVTM_ERROR_MEMORY);
    const char *message = cvtm_device_error(device)->message;
    assert_non_null(strstr(message, "cuda:0: out of memory: 1125899906842624 bytes; "));
    assert_non_null(strstr(message, " are free"));
    assert_null(memory);
  }
  /* The failure leaves the device usable. */
  memory = device_array(device, 10, 8);
  cvtm_device_free(device, memory);
  assert_device_ok(device, cvtm_device_synchronize(device));
}

/* On a GPU of less than 256 GB such an array is in unified memory. */
TEST_ON_DEVICE(a_large_array_may_exceed_the_device) {
  const int64_t bytes = is_cuda(device) ? INT64_C(1) << 38 : 1 << 20, half = bytes / 2;
  const int64_t places[] = {0, half, bytes - 8};
  char *memory = NULL;
  assert_device_ok(device, cvtm_device_allocate_large(device, bytes, CVTM_TYPED(memory)));
  for (int64_t k = 0; k < 3; ++k) {
    const int64_t number = 12345 + k;
    assert_copy_in(device, memory + places[k], &number, 8);
  }
  for (int64_t k = 0; k < 3; ++k) {
    int64_t number = 0;
    assert_copy_out(device, &number, memory + places[k], 8);
    assert_int_equal(number, 12345 + k);
  }
  cvtm_device_free(device, memory);
}

TEST_ON_DEVICE(bytes_survive_the_round_trip) {
  static const size_t sizes[] = {0, 1, 1023, 1024, 1025, 1000000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    const size_t size = sizes[i];
    unsigned char *host = malloc(size + 1);
    unsigned char *back = malloc(size + 1);
    void *a = NULL, *b = NULL;
    assert_non_null(host);
    assert_non_null(back);
    for (size_t k = 0; k <= size; ++k) host[k] = (unsigned char)(k * 31 + k / 256);
    memset(back, 0xAA, size + 1);
    a = device_array(device, (int64_t)size, 1);
    b = device_array(device, (int64_t)size, 1);
    assert_copy_in(device, a, host, size);
    assert_device_ok(device, cvtm_device_fill(device, b, 0x5C, size));
    assert_device_ok(device, cvtm_device_copy(device, b, a, size / 2));
    assert_copy_out(device, back, b, size);
    assert_memory_equal(back, host, size / 2);
    for (size_t k = size / 2; k < size; ++k) assert_int_equal(back[k], 0x5C);
    assert_int_equal(back[size], 0xAA);
    device_free_all(device, a, b);
    free_all(host, back);
  }
}

/* To a GPU it goes in stages. */
TEST_ON_DEVICE(a_large_copy_is_whole) {
  enum { COUNT = (5 << 26) / 8 + 3 };
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CPU) skip();
  uint64_t *host = malloc(COUNT * sizeof *host), *back = calloc(COUNT, sizeof *back);
  assert_non_null(host);
  assert_non_null(back);
  for (uint64_t k = 0; k < COUNT; ++k) host[k] = k * UINT64_C(0x9E3779B97F4A7C15);
  void *memory = device_array(device, COUNT, sizeof *host);
  assert_copy_in(device, memory, host, COUNT * sizeof *host);
  assert_copy_out(device, back, memory, COUNT * sizeof *host);
  assert_int_equal(memcmp(back, host, COUNT * sizeof *host), 0);
  cvtm_device_free(device, memory);
  free_all(host, back);
}

/* A copy may fail after the pages were touched: what the caller has there stays. */
TEST(touched_pages_keep_their_contents) {
  enum { COUNT = (9 << 20) + 17 };
  unsigned char *memory = malloc(COUNT);
  assert_non_null(memory);
  memset(memory, 0x5A, COUNT);
  cvtm_touch_pages(memory, COUNT);
  for (int k = 0; k < COUNT; ++k) assert_true(memory[k] == 0x5A);
  free(memory);
}

TEST_ON_DEVICE(scratch_grows_and_is_kept) {
  void *first = NULL, *again = NULL, *larger = NULL;
  assert_device_ok(device, cvtm_device_scratch(device, 0, &first));
  assert_non_null(first);
  assert_device_ok(device, cvtm_device_scratch(device, 1000, &first));
  assert_device_ok(device, cvtm_device_scratch(device, 10, &again));
  assert_ptr_equal(first, again);
  assert_device_ok(device, cvtm_device_scratch(device, 1000000, &larger));
  assert_device_ok(device, cvtm_device_fill(device, larger, 1, 1000000));
  assert_device_ok(device, cvtm_device_synchronize(device));
  /* A request that cannot be met leaves the old buffer in place. */
  void *none = NULL;
  assert_int_equal(cvtm_device_scratch(device, SIZE_MAX, &none), CVTM_ERROR_MEMORY);
  assert_null(none);
  assert_device_ok(device, cvtm_device_scratch(device, 1000000, &again));
  assert_ptr_equal(again, larger);
}

TEST_ON_DEVICE(mapped_memory_is_seen_by_the_host) {
  const int64_t posted[4] = {3, -1, 4, 1};
  void *host = NULL, *mapped = NULL, *memory = NULL;
  int idle = 0;
  memory = device_array(device, 4, sizeof(int64_t));
  assert_device_ok(device, cvtm_device_allocate_mapped(device, sizeof posted, &host, &mapped));
  for (int k = 0; k < 4; ++k) assert_int_equal(((const int64_t *)host)[k], 0);
  assert_device_ok(device, cvtm_device_post(device, memory, posted, sizeof posted));
  assert_device_ok(device, cvtm_device_copy(device, mapped, memory, sizeof posted));
  while (!idle) assert_device_ok(device, cvtm_device_query(device, &idle));
  assert_memory_equal(host, posted, sizeof posted);
  uint64_t handle = 1;
  assert_int_equal(cvtm_loop_claim(device, &handle), 0); /* no body is being captured */
  cvtm_device_free_mapped(device, host);
  cvtm_device_free_mapped(device, NULL);
  cvtm_device_free(device, memory);
}

/* A countdown made of copies alone, so that it runs on any device: the flags ahead are
 * shifted down by one place per round, and the rounds are counted by the same means. */
enum { TAPE = 64 };

typedef struct countdown {
  cvtm_device *device;
  int *tape;  /* TAPE ints, tape[0] is the flag */
  int *spare; /* TAPE ints */
  int calls;
  cvtm_status result;
} countdown;

static cvtm_status shift_tape(void *context) {
  countdown *c = context;
  ++c->calls;
  if (c->result != CVTM_OK)
    return cvtm_fail(cvtm_device_error(c->device), c->result, "the body says no");
  const size_t bytes = (TAPE - 1) * sizeof(int);
  cvtm_status status = cvtm_device_copy(c->device, c->spare, c->tape + 1, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy(c->device, c->tape, c->spare, bytes);
  return status;
}

static void write_tape(countdown *c, int rounds) {
  int tape[TAPE];
  for (int i = 0; i < TAPE; ++i) tape[i] = i < rounds ? 1000 + i : i == rounds ? 0 : 5000 + i;
  assert_copy_in(c->device, c->tape, tape, sizeof tape);
}

static void check_tape(countdown *c, int rounds) {
  int tape[TAPE];
  assert_copy_out(c->device, tape, c->tape, sizeof tape);
  assert_int_equal(tape[0], 0);
  if (rounds + 1 < TAPE) assert_int_equal(tape[1], 5000 + rounds + 1);
}

static countdown new_countdown(cvtm_device *device) {
  countdown c = {device, NULL, NULL, 0, CVTM_OK};
  void *memory = device_array(device, 2 * TAPE, sizeof(int));
  c.tape = memory;
  c.spare = c.tape + TAPE;
  return c;
}

TEST_ON_DEVICE(a_loop_runs_while_its_flag_is_set) {
  countdown c = new_countdown(device);
  cvtm_loop *loop = NULL;
  write_tape(&c, 0);
  assert_device_ok(device, cvtm_loop_create(device, shift_tape, &c, c.tape, &loop));
  const int captured = c.calls;
  static const int rounds[] = {0, 1, 2, 50, 0, 3};
  int total = 0;
  for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; ++i) {
    write_tape(&c, rounds[i]);
    assert_device_ok(device, cvtm_loop_run(loop));
    check_tape(&c, rounds[i]);
    total += rounds[i];
  }
  /* A graph calls the body once, to capture it; the host once per round. */
  assert_int_equal(captured, test_device_captures(device) ? 1 : 0);
  assert_int_equal(c.calls, test_device_captures(device) ? 1 : total);
  cvtm_loop_destroy(loop);
  cvtm_loop_destroy(NULL);
  cvtm_device_free(device, c.tape);
}

/* A body of more operations than shift_tape. */
static cvtm_status shift_tape_after_fill(void *context) {
  const countdown *c = context;
  const cvtm_status status = cvtm_device_fill(c->device, c->spare, 0, TAPE * sizeof(int));
  return status == CVTM_OK ? shift_tape(context) : status;
}

/* Loops of one handle, in turn and at the same time: each runs its own body by its own flag. */
TEST_ON_DEVICE(loops_do_not_share_bodies) {
  static const cvtm_loop_body bodies[] = {shift_tape, shift_tape, shift_tape_after_fill,
                                          shift_tape};
  enum { TAPES = 2, LOOPS = sizeof bodies / sizeof bodies[0] };
  countdown c[TAPES] = {new_countdown(device), new_countdown(device)};
  for (int k = 0; k + 1 < LOOPS; ++k) {
    cvtm_loop *loop[TAPES] = {NULL, NULL};
    for (int t = 0; t < TAPES; ++t) {
      write_tape(&c[t], 3 + k + 2 * t);
      assert_device_ok(device, cvtm_loop_create(device, bodies[k + t], &c[t], c[t].tape, &loop[t]));
    }
    assert_device_ok(device, cvtm_loop_run(loop[1]));
    check_tape(&c[1], 5 + k);
    assert_device_ok(device, cvtm_loop_run(loop[0]));
    check_tape(&c[0], 3 + k);
    cvtm_loop_destroy(loop[k % TAPES]);
    write_tape(&c[!(k % TAPES)], 7);
    assert_device_ok(device, cvtm_loop_run(loop[!(k % TAPES)]));
    check_tape(&c[!(k % TAPES)], 7);
    cvtm_loop_destroy(loop[!(k % TAPES)]);
  }
  for (int t = 0; t < TAPES; ++t) cvtm_device_free(device, c[t].tape);
}

TEST_ON_DEVICE(a_loop_reports_the_failure_of_its_body) {
  countdown c = new_countdown(device);
  c.result = CVTM_ERROR_EVALUATION;
  cvtm_loop *loop = NULL;
  write_tape(&c, 3);
  cvtm_status status = cvtm_loop_create(device, shift_tape, &c, c.tape, &loop);
  if (status == CVTM_OK) status = cvtm_loop_run(loop);
  assert_int_equal(status, CVTM_ERROR_EVALUATION);
  assert_string_equal(cvtm_device_error(device)->message, "the body says no");
  assert_int_equal(c.calls, 1);
  cvtm_loop_destroy(loop);
  /* The device is usable afterwards. */
  c.result = CVTM_OK;
  loop = NULL;
  assert_device_ok(device, cvtm_loop_create(device, shift_tape, &c, c.tape, &loop));
  assert_device_ok(device, cvtm_loop_run(loop));
  check_tape(&c, 3);
  cvtm_loop_destroy(loop);
  assert_refused(cvtm_loop_create(device, NULL, &c, c.tape, &loop));
  assert_refused(cvtm_loop_create(device, shift_tape, &c, NULL, &loop));
  cvtm_device_free(device, c.tape);
}

static cvtm_status wait_in_body(void *context) {
  countdown *c = context;
  ++c->calls;
  return cvtm_device_synchronize(c->device);
}

/* Only a body that cannot be captured is unsupported; every other failure keeps its status. */
TEST_ON_DEVICE(a_trial_tells_failures_from_what_cannot_be_captured) {
  const int captures = test_device_captures(device), on_cuda = is_cuda(device);
  static const cvtm_status failures[] = {CVTM_ERROR_MEMORY, CVTM_ERROR_DEVICE,
                                         CVTM_ERROR_EVALUATION};
  countdown c = new_countdown(device);
  write_tape(&c, 0);
  for (size_t k = 0; captures && k < sizeof failures / sizeof failures[0]; ++k) {
    c.result = failures[k];
    assert_int_equal(cvtm_loop_try(device, shift_tape, &c), failures[k]);
    assert_string_equal(cvtm_device_error(device)->message, "the body says no");
  }
  c.result = CVTM_OK;
  c.calls = 0;
  const cvtm_status possible = on_cuda && !captures ? CVTM_ERROR_UNSUPPORTED : CVTM_OK;
  assert_int_equal(cvtm_loop_try(device, shift_tape, &c), possible);
  assert_int_equal(c.calls, captures ? 1 : 0);
  assert_int_equal(cvtm_loop_try(device, wait_in_body, &c),
                   on_cuda ? CVTM_ERROR_UNSUPPORTED : CVTM_OK);
  assert_int_equal(c.calls, captures ? 2 : 0);
  /* The device is usable afterwards. */
  assert_device_ok(device, cvtm_device_synchronize(device));
  check_tape(&c, 0);
  cvtm_device_free(device, c.tape);
}

TEST_ON_DEVICE(devices_do_not_share_state) {
  cvtm_device *other = test_device_open_threads(1);
  void *scratch = NULL, *other_scratch = NULL;
  assert_device_ok(device, cvtm_device_scratch(device, 100, &scratch));
  assert_device_ok(other, cvtm_device_scratch(other, 100, &other_scratch));
  assert_ptr_not_equal(scratch, other_scratch);
  cvtm_fail(cvtm_device_error(other), CVTM_ERROR_INTERNAL, "other");
  assert_true(strcmp(cvtm_device_error(device)->message, "other") != 0);
  cvtm_device_destroy(other);
}

TEST_MAIN_EACH(set_up, tear_down)
