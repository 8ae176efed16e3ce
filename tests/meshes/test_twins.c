/* Twins of half-edges against the comparison of every edge with every other. */
#include "testing.h"

#include "meshes/elements/twins.h"

enum { TRIANGLES_MAX = 30, VERTICES_MAX = 15 };

static int random_below(int limit) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (int)((uint64_t)(state >> 8) * (uint64_t)limit >> 24);
}

/* Of several reverses the last one is the twin. */
TEST(twins_are_those_of_every_pair) {
  for (int trial = 0; trial < 5000; ++trial) {
    const int vertices = 3 + random_below(VERTICES_MAX - 3);
    const int triangles = random_below(TRIANGLES_MAX);
    int32_t corners[3 * TRIANGLES_MAX];
    int64_t twin[3 * TRIANGLES_MAX], at[VERTICES_MAX];
    for (int h = 0; h < 3 * triangles; ++h) corners[h] = random_below(vertices);
    assert_ok(cvtm_find_twins(corners, triangles, vertices, twin, at, NULL));
    for (int h = 0; h < 3 * triangles; ++h) {
      int64_t expected = -1;
      for (int k = 0; k < 3 * triangles; ++k)
        if (corners[k] == corners[cvtm_half_after(h)] && corners[cvtm_half_after(k)] == corners[h])
          expected = k;
      assert_int_equal(twin[h], expected);
    }
    for (int v = 0; v < vertices; ++v) {
      int64_t expected = -1;
      for (int h = 3 * triangles - 1; h >= 0; --h)
        if (corners[h] == v) expected = h;
      assert_int_equal(at[v], expected);
    }
  }
}

/* A vertex of a million triangles. */
TEST(a_wheel_has_no_border_inside) {
  const int32_t n = 1000000;
  int32_t *corners = allocated(3 * n, sizeof *corners);
  int64_t *twin = allocated(3 * n, sizeof *twin);
  int64_t *at = allocated(n + 1, sizeof *at);
  for (int32_t k = 0; k < n; ++k) {
    corners[3 * k] = 0;
    corners[3 * k + 1] = 1 + k;
    corners[3 * k + 2] = 1 + (k + 1) % n;
  }
  assert_ok(cvtm_find_twins(corners, n, n + 1, twin, at, NULL));
  for (int32_t k = 0; k < n; ++k) {
    assert_int_equal(twin[3 * k], 3 * ((k + n - 1) % n) + 2);
    assert_int_equal(twin[3 * k + 1], -1);
    assert_int_equal(twin[3 * k + 2], 3 * ((k + 1) % n));
  }
  free_all(corners, twin, at);
}

TEST_MAIN()
