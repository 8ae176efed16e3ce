/* What every test that runs on devices includes: testing.h, and a device chosen by
 * the environment. CTest runs such a test once with CVTMESH_TEST_DEVICE unset (the
 * CPU) and once with `cuda`, where a machine without a GPU makes it skip (exit 77). */
#pragma once

#include "base/device.h"
#include "testing.h"

enum { TEST_SKIPPED = 77 };

static inline const char *test_device_name(void) {
  const char *name = getenv("CVTMESH_TEST_DEVICE");
  return name && *name ? name : "cpu";
}

/* threads as in cvtm_device_create. Never returns NULL. */
static inline cvtm_device *test_device_open_threads(int threads) {
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = cvtm_device_create(test_device_name(), threads, &device, &error);
  if (status == CVTM_ERROR_DEVICE_UNAVAILABLE) {
    fprintf(stderr, "skipped: %s\n", error.message);
    exit(TEST_SKIPPED);
  }
  if (status != CVTM_OK) {
    fprintf(stderr, "%s: %s\n", test_device_name(), error.message);
    exit(EXIT_FAILURE);
  }
  return device;
}

static inline cvtm_device *test_device_open(void) { return test_device_open_threads(0); }

/* A CPU beside the device under test. */
static inline cvtm_device *test_cpu_open(int threads) {
  cvtm_device *cpu = NULL;
  assert_int_equal(cvtm_device_create("cpu", threads, &cpu, NULL), CVTM_OK);
  return cpu;
}

/* TEST_ON_DEVICE(name) { ... }: a test with the parameter cvtm_device *device. */
#define TEST_ON_DEVICE(name)                                                                     \
  static void name(cvtm_device *device);                                                         \
  static void name##_with(void **testing_state) { name(*testing_state); }                        \
  __attribute__((constructor)) static void name##_add(void) { testing_add(#name, name##_with); } \
  static void name(cvtm_device *device)

/* All tests on one device, which is also a variable of the file. */
#define TEST_DEVICE_MAIN_AS(device, threads)                              \
  int main(void) {                                                        \
    (device) = test_device_open_threads(threads);                         \
    testing_set_state(device);                                            \
    const int failed = cmocka_run_group_tests(testing_tests, NULL, NULL); \
    cvtm_device_destroy(device);                                          \
    return failed;                                                        \
  }

#define TEST_DEVICE_MAIN()            \
  static cvtm_device *testing_device; \
  TEST_DEVICE_MAIN_AS(testing_device, 0)

/* Fails the test with the device's message unless status is CVTM_OK. */
#define assert_device_ok(device, expression)                                \
  do {                                                                      \
    const cvtm_status assert_status_ = (expression);                        \
    if (assert_status_ != CVTM_OK)                                          \
      fail_msg("%s: %s: %s", #expression, cvtm_status_text(assert_status_), \
               cvtm_device_error(device)->message);                         \
  } while (0)

#define assert_copy_in(device, ...) \
  assert_device_ok(device, cvtm_device_copy_in(device, __VA_ARGS__))
#define assert_copy_out(device, ...) \
  assert_device_ok(device, cvtm_device_copy_out(device, __VA_ARGS__))
/* Declares and creates: NEW_CVT(name, device, domain, density, capacity). */
/* NOLINTBEGIN(bugprone-macro-parentheses): as of DEFAULT_OPTIONS */
#define NEW_CVT(name, device, ...) \
  cvtm_cvt *name = NULL;           \
  assert_device_ok(device, cvtm_cvt_create(device, __VA_ARGS__, &name))
/* NOLINTEND(bugprone-macro-parentheses) */
/* Of exact cells; value and moments as in cvtm_cvt_evaluate. */
#define evaluate_cvt(device, cvt, sites, count, value, moments)                 \
  assert_device_ok(device, cvtm_cvt_evaluate(cvt, sites, count, CVTM_CVT_EXACT, \
                                             CVTM_VORONOI_EXACT, value, moments))

static inline void *device_array(cvtm_device *device, int64_t count, size_t size) {
  void *memory = NULL;
  assert_device_ok(device, cvtm_device_allocate(device, count, size, &memory));
  return memory;
}

/* NULL for NULL. */
static inline void *copied_in(cvtm_device *device, const void *host, int64_t count, size_t size) {
  if (host == NULL) return NULL;
  void *memory = device_array(device, count, size);
  assert_device_ok(device, cvtm_device_copy_in(device, memory, host, (size_t)count * size));
  return memory;
}

/* Free with free. */
static inline void *copied_out(cvtm_device *device, const void *from, int64_t count, size_t size) {
  void *host = allocated(count, size);
  assert_device_ok(device, cvtm_device_copy_out(device, host, from, (size_t)count * size));
  return host;
}

static inline void test_device_free(cvtm_device *device, void *const *memory, size_t count) {
  for (size_t k = 0; k < count; ++k) cvtm_device_free(device, memory[k]);
}

#define device_free_all(device, ...)                \
  test_device_free(device, (void *[]){__VA_ARGS__}, \
                   sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* Takes the place of a function of a device's table. */
static inline cvtm_status no_memory(cvtm_device *device, size_t bytes, void **memory) {
  (void)bytes, (void)memory;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
}

/* Whether loops become graphs: on CUDA, unless the environment has the host drive them. */
static inline int test_device_captures(const cvtm_device *device) {
  const char *host = getenv("CVTMESH_HOST_LOOPS");
  return cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA && !(host && strcmp(host, "1") == 0);
}
