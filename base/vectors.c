#include "base/vectors.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int find_wide_vectors(void) {
#if defined(__x86_64__)
  const char *wish = getenv("CVTMESH_VECTORS");
  if (wish != NULL && strcmp(wish, "baseline") == 0) return 0;
  return __builtin_cpu_supports("avx2") != 0;
#else
  return 0;
#endif
}

int cvtm_has_wide_vectors(void) {
  static atomic_int known; /* 0: not yet, 1: no, 2: yes */
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == 0) {
    state = 1 + find_wide_vectors();
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  return state == 2;
}
