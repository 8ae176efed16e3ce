/* The environment chooses the version of loops that are compiled twice. */
#include "testing.h"

#include "base/host.h"

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

TEST(test_baseline_is_chosen) { assert_int_equal(answer_for("baseline"), 0); }

TEST(test_processor_decides_otherwise) {
#if defined(__x86_64__)
  const int wide = __builtin_cpu_supports("avx2") != 0;
#else
  const int wide = 0;
#endif
  assert_int_equal(answer_for(NULL), wide);
  assert_int_equal(answer_for("widest"), wide);
}

TEST_MAIN()
