/* The environment chooses the version of loops that are compiled twice. */
#include "base/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The answer of a process of its own, as the first call keeps it. */
static int answer_for(const char *wish) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (wish == NULL)
      unsetenv("CVTMESH_VECTORS");
    else
      setenv("CVTMESH_VECTORS", wish, 1);
    const int first = cvtm_has_wide_vectors();
    setenv("CVTMESH_VECTORS", "baseline", 1);
    _exit(first == cvtm_has_wide_vectors() ? first : 99);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void test_baseline_is_chosen(void **state) {
  (void)state;
  assert_int_equal(answer_for("baseline"), 0);
}

static void test_processor_decides_otherwise(void **state) {
  (void)state;
#if defined(__x86_64__)
  const int wide = __builtin_cpu_supports("avx2") != 0;
#else
  const int wide = 0;
#endif
  assert_int_equal(answer_for(NULL), wide);
  assert_int_equal(answer_for("widest"), wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_baseline_is_chosen),
                                     cmocka_unit_test(test_processor_decides_otherwise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
