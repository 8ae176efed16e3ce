#include "base/primitives.h"

#include "base/random.h"
#include "tests/test_devices.h"

static const int64_t sizes[] = {0, 1, 2, 1023, 1024, 1025, 4096, 4097, 100000, 1000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static cvtm_device *common;

static void *host_array(int64_t count, size_t size) {
  void *memory = calloc((size_t)count + 1, size);
  assert_non_null(memory);
  return memory;
}

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The reference of the sort: merging is stable and shares nothing with counting digits. */
static void merge_sort(uint64_t *keys, int32_t *values, uint64_t *keys_to, int32_t *values_to,
                       int64_t count, uint64_t mask) {
  if (count < 2) return;
  const int64_t half = count / 2;
  merge_sort(keys, values, keys_to, values_to, half, mask);
  merge_sort(keys + half, values + half, keys_to, values_to, count - half, mask);
  int64_t a = 0, b = half;
  for (int64_t k = 0; k < count; ++k) {
    const int first = b == count || (a < half && (keys[a] & mask) <= (keys[b] & mask));
    const int64_t from = first ? a++ : b++;
    keys_to[k] = keys[from];
    values_to[k] = values[from];
  }
  memcpy(keys, keys_to, (size_t)count * sizeof *keys);
  memcpy(values, values_to, (size_t)count * sizeof *values);
}

/* spread: bits of the keys that vary, so that few of them make many equal keys. */
static void check_sort(cvtm_device *device, int64_t count, int bits, uint64_t spread) {
  uint64_t *keys = host_array(count, sizeof *keys);
  uint64_t *keys_back = host_array(count, sizeof *keys);
  int32_t *values = host_array(count, sizeof *values);
  int32_t *values_back = host_array(count, sizeof *values);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word[2];
    cvtm_random_bits(11, (uint64_t)bits, (uint64_t)i, word);
    keys[i] = word[0] & spread;
    values[i] = (int32_t)i;
  }
  uint64_t *d_keys = copied_in(device, keys, count, sizeof *keys);
  int32_t *d_values = copied_in(device, values, count, sizeof *values);
  uint64_t *d_keys_alt = device_array(device, count, sizeof *keys);
  int32_t *d_values_alt = device_array(device, count, sizeof *values);
  assert_device_ok(
      device, cvtm_sort_pairs(device, d_keys, d_values, d_keys_alt, d_values_alt, count, bits));
  const size_t n = (size_t)count;
  assert_copy_out(device, keys_back, d_keys, n * sizeof *keys);
  assert_copy_out(device, values_back, d_values, n * sizeof *values);

  uint64_t *keys_alt = host_array(count, sizeof *keys);
  int32_t *values_alt = host_array(count, sizeof *values);
  const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  merge_sort(keys, values, keys_alt, values_alt, count, mask);
  assert_memory_equal(keys_back, keys, n * sizeof *keys);
  assert_memory_equal(values_back, values, n * sizeof *values);
  free_all(keys, keys_back, keys_alt, values, values_back, values_alt);
  device_free_all(device, d_keys, d_values, d_keys_alt, d_values_alt);
}

TEST_ON_DEVICE(sorting_is_right_and_stable) {
  for (int s = 0; s < SIZES; ++s) check_sort(device, sizes[s], 64, UINT64_MAX);
  static const int bits[] = {1, 7, 8, 9, 17, 30, 32, 33, 63};
  for (size_t b = 0; b < sizeof bits / sizeof bits[0]; ++b) {
    check_sort(device, 70001, bits[b], UINT64_MAX);
    check_sort(device, 50, bits[b], UINT64_MAX);
  }
  check_sort(device, 100000, 64, UINT64_C(0x8000000000000101)); /* many equal keys */
  check_sort(device, 100000, 64, UINT64_C(0xFF0000));           /* one digit of eight varies */
  check_sort(device, 100000, 64, 0);                            /* all equal */
}

static void check_scan(cvtm_device *device, int64_t count, int32_t largest) {
  int32_t *counts = host_array(count, sizeof *counts);
  int64_t *sums = host_array(count + 1, sizeof *sums);
  for (int64_t i = 0; i < count; ++i)
    counts[i] = (int32_t)(cvtm_random_uniform(3, 0, (uint64_t)i) * largest);
  int32_t *d_counts = copied_in(device, counts, count, sizeof *counts);
  int64_t *d_sums = device_array(device, count + 1, sizeof *sums);
  assert_device_ok(device, cvtm_scan_64(device, d_counts, count, d_sums));
  const size_t n = (size_t)count + 1;
  assert_copy_out(device, sums, d_sums, n * sizeof *sums);
  int64_t sum = 0;
  for (int64_t i = 0; i <= count; ++i) {
    assert_true(sums[i] == sum);
    if (i < count) sum += counts[i];
  }
  free_all(counts, sums);
  device_free_all(device, d_counts, d_sums);
}

TEST_ON_DEVICE(scans_add_up) {
  for (int s = 0; s < SIZES; ++s) check_scan(device, sizes[s], 100);
}

TEST_ON_DEVICE(sums_exceed_32_bits) {
  const int64_t count = 100000;
  int32_t *counts = host_array(count, sizeof *counts);
  for (int64_t i = 0; i < count; ++i) counts[i] = INT32_MAX - (int32_t)i;
  int32_t *d_counts = copied_in(device, counts, count, sizeof *counts);
  int64_t *d_sums = device_array(device, count + 1, sizeof *d_sums);
  int64_t *sums = host_array(count + 1, sizeof *sums);
  assert_device_ok(device, cvtm_scan_64(device, d_counts, count, d_sums));
  assert_copy_out(device, sums, d_sums, (size_t)(count + 1) * sizeof *sums);
  for (int64_t i = 0; i <= count; ++i) assert_true(sums[i] == i * INT32_MAX - i * (i - 1) / 2);
  free_all(counts, sums);
  device_free_all(device, d_counts, d_sums);
}

/* The documented tree, written as plainly as it is described. */
static double join(cvtm_reduction reduction, double a, double b) {
  switch (reduction) {
    case CVTM_REDUCE_SUM:
      return a + b;
    case CVTM_REDUCE_MIN:
      return isnan(a) || a < b ? a : b;
    default:
      return isnan(a) || a > b ? a : b;
  }
}

static double of_nothing(cvtm_reduction reduction) {
  return reduction == CVTM_REDUCE_MIN   ? (double)INFINITY
         : reduction == CVTM_REDUCE_MAX ? -(double)INFINITY
                                        : 0.0;
}

static double reference_block(cvtm_reduction reduction, const double *x, int64_t count) {
  double lanes[256];
  for (int k = 0; k < 256; ++k) {
    lanes[k] = of_nothing(reduction);
    for (int64_t i = k; i < count; i += 256) lanes[k] = join(reduction, lanes[k], x[i]);
  }
  for (int half = 128; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] = join(reduction, lanes[k], lanes[k + half]);
  return lanes[0];
}

/* Consumes x. */
static double reference_reduction(cvtm_reduction reduction, double *x, int64_t count) {
  do {
    int64_t blocks = 0;
    for (int64_t start = 0; start < count || blocks == 0; start += 4096) {
      const int64_t size = count - start < 4096 ? count - start : 4096;
      x[blocks++] = reference_block(reduction, x + start, size);
    }
    count = blocks;
  } while (count > 1);
  return x[0];
}

static double device_reduction(cvtm_device *device, cvtm_reduction reduction, const double *x,
                               const double *y, int64_t count) {
  double *d_x = copied_in(device, x, count, sizeof *x);
  double *d_y = y ? copied_in(device, y, count, sizeof *y) : NULL;
  double *d_result = device_array(device, 1, sizeof *d_result);
  if (y) {
    assert_device_ok(device, cvtm_dot(device, d_x, d_y, count, d_result));
  } else {
    assert_device_ok(device, cvtm_reduce(device, reduction, d_x, count, d_result));
  }
  double result = NAN;
  assert_copy_out(device, &result, d_result, sizeof result);
  device_free_all(device, d_x, d_y, d_result);
  return result;
}

/* Numbers of mixed sign and magnitude, so that another order of additions shows. */
static void rough_numbers(double *x, int64_t count, uint64_t stream) {
  for (int64_t i = 0; i < count; ++i) {
    double u[2];
    cvtm_random_uniform2(77, stream, (uint64_t)i, u);
    x[i] = (u[0] - 0.5) * exp(20 * u[1]);
  }
}

TEST_ON_DEVICE(reductions_follow_the_documented_tree) {
  for (int s = 0; s < SIZES; ++s) {
    const int64_t count = sizes[s];
    const size_t bytes = (size_t)count * sizeof(double);
    double *x = host_array(count, sizeof *x);
    double *y = host_array(count, sizeof *y);
    double *work = host_array(count, sizeof *work);
    rough_numbers(x, count, 0);
    rough_numbers(y, count, 1);
    static const cvtm_reduction plain[] = {CVTM_REDUCE_SUM, CVTM_REDUCE_MIN, CVTM_REDUCE_MAX};
    for (int r = 0; r < 3; ++r) {
      memcpy(work, x, bytes);
      const double expected = reference_reduction(plain[r], work, count);
      assert_true(same_bits(device_reduction(device, plain[r], x, NULL, count), expected));
    }
    for (int64_t i = 0; i < count; ++i) work[i] = fabs(x[i]);
    const double largest = reference_reduction(CVTM_REDUCE_MAX_ABS, work, count);
    assert_true(same_bits(device_reduction(device, CVTM_REDUCE_MAX_ABS, x, NULL, count), largest));
    for (int64_t i = 0; i < count; ++i) work[i] = x[i] * y[i];
    const double dot = reference_reduction(CVTM_REDUCE_SUM, work, count);
    assert_true(same_bits(device_reduction(device, CVTM_REDUCE_SUM, x, y, count), dot));
    free_all(x, y, work);
  }
}

/* The reference above shares the tree; this one is independent of any order. */
TEST_ON_DEVICE(reductions_have_the_right_value) {
  const int64_t count = 1000003;
  double *x = host_array(count, sizeof *x);
  double *y = host_array(count, sizeof *y);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = (double)(i - 400000); /* sums of integers are exact in any order */
    y[i] = (double)(i % 3);
  }
  int64_t sum = 0, dot = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += i - 400000;
    dot += (i - 400000) * (i % 3);
  }
  assert_true(device_reduction(device, CVTM_REDUCE_SUM, x, NULL, count) == (double)sum);
  assert_true(device_reduction(device, CVTM_REDUCE_SUM, x, y, count) == (double)dot);
  assert_true(device_reduction(device, CVTM_REDUCE_MIN, x, NULL, count) == -400000);
  assert_true(device_reduction(device, CVTM_REDUCE_MAX, x, NULL, count) == 600002);
  x[count - 1] = 0;
  x[123456] = -700000;
  assert_true(device_reduction(device, CVTM_REDUCE_MAX_ABS, x, NULL, count) == 700000);
  /* A NaN anywhere is not lost. */
  static const int64_t places[] = {0, 255, 4095, 4096, 777777, 1000002};
  for (size_t p = 0; p < sizeof places / sizeof places[0]; ++p) {
    const double kept = x[places[p]];
    x[places[p]] = NAN;
    for (int r = CVTM_REDUCE_SUM; r <= CVTM_REDUCE_MAX_ABS; ++r)
      assert_true(isnan(device_reduction(device, (cvtm_reduction)r, x, NULL, count)));
    x[places[p]] = kept;
  }
  free_all(x, y);
}

TEST(thread_counts_do_not_change_bits) {
  const int64_t count = 300001;
  double *x = host_array(count, sizeof *x);
  rough_numbers(x, count, 4);
  double first = 0;
  for (int threads = 1; threads <= 7; threads += 2) {
    cvtm_device *device = test_device_open_threads(threads);
    const double sum = device_reduction(device, CVTM_REDUCE_SUM, x, NULL, count);
    if (threads == 1) first = sum;
    assert_true(same_bits(sum, first));
    check_sort(device, 70000, 40, UINT64_C(0xFFFF00FFFF));
    check_scan(device, 70000, 1000);
    cvtm_device_destroy(device);
  }
  free(x);
}

TEST_ON_DEVICE(vectors_fill_and_add) {
  for (int s = 0; s < SIZES; ++s) {
    const int64_t count = sizes[s];
    const size_t bytes = (size_t)count * sizeof(double);
    double *x = host_array(count, sizeof *x);
    double *back = host_array(count, sizeof *back);
    rough_numbers(x, count, 2);
    double *d_x = copied_in(device, x, count, sizeof *x);
    double *d_y = device_array(device, count + 1, sizeof *x);
    assert_device_ok(device, cvtm_vector_fill(device, d_y, -7, count + 1));
    assert_device_ok(device, cvtm_vector_fill(device, d_y, 0.1, count));
    assert_device_ok(device, cvtm_vector_axpy(device, 1.0 / 3, d_x, d_y, count));
    assert_copy_out(device, back, d_y, bytes + sizeof *back);
    for (int64_t i = 0; i < count; ++i) {
      const double product = 1.0 / 3 * x[i];
      assert_true(same_bits(back[i], 0.1 + product));
    }
    assert_true(back[count] == -7);
    free_all(x, back);
    device_free_all(device, d_x, d_y);
  }
}

enum { ROUNDS = 5 };

/* All primitives in the body of a loop: nothing in them allocates or waits. */
typedef struct rounds {
  cvtm_device *device;
  int64_t count;
  uint64_t *keys, *keys_alt;
  int32_t *values, *values_alt;
  int64_t *sums;
  int *flags; /* ROUNDS + 1, the first of which is the loop's; room for a copy of ROUNDS */
  double *ones, *minus, *total;
} rounds;

static cvtm_status one_round(void *context) {
  rounds *r = context;
  cvtm_device *d = r->device;
  int *copy = r->flags + ROUNDS + 1;
  cvtm_status status =
      cvtm_sort_pairs(d, r->keys, r->values, r->keys_alt, r->values_alt, r->count, 20);
  if (status == CVTM_OK) status = cvtm_scan_64(d, r->values, r->count, r->sums);
  if (status == CVTM_OK) status = cvtm_vector_axpy(d, 1, r->minus, r->ones, r->count);
  if (status == CVTM_OK) status = cvtm_reduce(d, CVTM_REDUCE_SUM, r->ones, r->count, r->total);
  /* All flags move down by one place; the last one is 0. */
  if (status == CVTM_OK) status = cvtm_device_copy(d, copy, r->flags + 1, ROUNDS * sizeof *copy);
  if (status == CVTM_OK) status = cvtm_device_copy(d, r->flags, copy, ROUNDS * sizeof *copy);
  return status;
}

TEST_ON_DEVICE(primitives_run_inside_a_loop) {
  enum { COUNT = 20000 };
  rounds r = {0};
  r.device = device;
  r.count = COUNT;
  assert_device_ok(device, cvtm_sort_reserve(device, COUNT));
  assert_device_ok(device, cvtm_scan_reserve(device, COUNT));
  assert_device_ok(device, cvtm_reduce_reserve(device, COUNT));
  uint64_t *keys = host_array(COUNT, sizeof *keys);
  int32_t *values = host_array(COUNT, sizeof *values);
  const int flags[2 * ROUNDS + 1] = {1, 1, 1, 1, 1};
  for (int i = 0; i < COUNT; ++i) {
    keys[i] = (uint64_t)((i * 7919LL) % COUNT); /* a permutation: 7919 is prime */
    values[i] = (int32_t)keys[i];
  }
  r.keys = copied_in(device, keys, COUNT, sizeof *keys);
  r.values = copied_in(device, values, COUNT, sizeof *values);
  r.flags = copied_in(device, flags, 2 * ROUNDS + 1, sizeof *flags);
  r.keys_alt = device_array(device, COUNT, sizeof *keys);
  r.values_alt = device_array(device, COUNT, sizeof *values);
  r.sums = device_array(device, COUNT + 1, sizeof *r.sums);
  r.ones = device_array(device, COUNT, sizeof *r.ones);
  r.minus = device_array(device, COUNT, sizeof *r.minus);
  r.total = device_array(device, 1, sizeof *r.total);
  assert_device_ok(device, cvtm_vector_fill(device, r.ones, 1, COUNT));
  assert_device_ok(device, cvtm_vector_fill(device, r.minus, -0.25, COUNT));

  cvtm_loop *loop = NULL;
  assert_device_ok(device, cvtm_loop_create(device, one_round, &r, r.flags, &loop));
  assert_device_ok(device, cvtm_loop_run(loop));

  double total = NAN;
  int flag = -1;
  int64_t *sums = host_array(COUNT + 1, sizeof *sums);
  assert_copy_out(device, &total, r.total, sizeof total);
  assert_copy_out(device, &flag, r.flags, sizeof flag);
  assert_copy_out(device, sums, r.sums, (COUNT + 1) * sizeof *sums);
  assert_true(flag == 0);
  assert_true(total == COUNT * (1 - 0.25 * ROUNDS)); /* exactly representable */
  for (int64_t i = 0; i <= COUNT; ++i) assert_true(sums[i] == i * (i - 1) / 2);

  cvtm_loop_destroy(loop);
  free_all(keys, values, sums);
  void *const memory[] = {r.keys,  r.keys_alt, r.values, r.values_alt, r.sums,
                          r.flags, r.ones,     r.minus,  r.total};
  for (size_t k = 0; k < sizeof memory / sizeof memory[0]; ++k) cvtm_device_free(device, memory[k]);
}

TEST_DEVICE_MAIN_AS(common, 3)
