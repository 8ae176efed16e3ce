/* What every test in C includes: cmocka and the headers that it needs, and tests that enter
 * themselves into the list that main runs. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TESTING_MOST = 100 };
/* In the order of the file; cmocka skips the empty rest. */
__attribute__((unused)) static struct CMUnitTest testing_tests[TESTING_MOST];

static inline void testing_add(const char *name, CMUnitTestFunction function) {
  size_t k = 0;
  while (k < TESTING_MOST && testing_tests[k].name) ++k;
  if (k == TESTING_MOST) abort();
  testing_tests[k].name = name;
  testing_tests[k].test_func = function;
}

static inline void testing_set_state(void *common) {
  for (size_t k = 0; k < TESTING_MOST && testing_tests[k].name; ++k)
    testing_tests[k].initial_state = common;
}

/* TEST(name) { ... } */
#define TEST(name)                                                                               \
  static void name(void);                                                                        \
  static void name##_with(void **testing_state) {                                                \
    (void)testing_state;                                                                         \
    name();                                                                                      \
  }                                                                                              \
  __attribute__((constructor)) static void name##_add(void) { testing_add(#name, name##_with); } \
  static void name(void)

#define TEST_MAIN() \
  int main(void) { return cmocka_run_group_tests(testing_tests, NULL, NULL); }

/* set_up and tear_down run before and after each test. */
#define TEST_MAIN_EACH(set_up, tear_down)                                \
  int main(void) {                                                       \
    for (size_t k = 0; k < TESTING_MOST && testing_tests[k].name; ++k) { \
      testing_tests[k].setup_func = set_up;                              \
      testing_tests[k].teardown_func = tear_down;                        \
    }                                                                    \
    return cmocka_run_group_tests(testing_tests, NULL, NULL);            \
  }

/* function of each of several objects of a type. */
#define CALL_EACH(function, type, ...)                                          \
  do {                                                                          \
    type *const each_[] = {__VA_ARGS__};                                        \
    for (size_t each_k_ = 0; each_k_ < sizeof each_ / sizeof *each_; ++each_k_) \
      function(each_[each_k_]);                                                 \
  } while (0)

#define assert_ok(status) assert_int_equal(status, CVTM_OK)
#define assert_refused(status) assert_int_equal(status, CVTM_ERROR_ARGUMENT)

/* The options of a type, as DEFAULT_OPTIONS(cvtm_cvt, options). */
/* NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared takes none. */
#define DEFAULT_OPTIONS(type, name) \
  type##_options name;              \
  type##_defaults(&name)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Bytes of 0xff, NaN as numbers, so that a test sees what is not written; free with free. */
static inline void *allocated(int64_t count, size_t size) {
  const size_t bytes = (size_t)count * size;
  void *memory = malloc(bytes + (bytes == 0));
  assert_non_null(memory);
  return memset(memory, 0xff, bytes);
}

static inline double *doubles(int64_t count) { return allocated(count, sizeof(double)); }

static inline void testing_free(void *const *memory, size_t count) {
  for (size_t k = 0; k < count; ++k) free(memory[k]);
}

#define free_all(...) \
  testing_free((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

/* CVTMESH_TEST_FILTER: only the tests whose names match, with * and ? (cmocka_set_test_filter).
 * Under compute-sanitizer a test program can take minutes, and one of its tests seconds. */
__attribute__((constructor)) static void testing_filter(void) {
  const char *pattern = getenv("CVTMESH_TEST_FILTER");
  if (pattern && *pattern) cmocka_set_test_filter(pattern);
}
