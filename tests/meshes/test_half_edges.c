/* Half-edges under random insertions, removals and moves: the triangulation stays whole,
 * constrained Delaunay and of one area, and undone changes leave no trace. */
#include "testing.h"

#include "meshes/delaunay/half_edges.h"

enum { SIDE = 1 << 20, STEPS = 4000 };

/* A square with one diagonal, which is segment 4 between the regions 1 and 2. */
static void make_square(cvtm_half_edges *m) {
  static const cvtm_grid_point corners[] = {{0, 0}, {SIDE, 0}, {SIDE, SIDE}, {0, SIDE}};
  static const int32_t triangles[] = {0, 1, 2, 0, 2, 3}, regions[] = {1, 2};
  assert_ok(cvtm_half_edges_create(corners, 4, triangles, regions, 2, m, NULL));
  cvtm_half_edges_mark(m, 0, 0);
  cvtm_half_edges_mark(m, 1, 1);
  cvtm_half_edges_mark(m, 4, 2);
  cvtm_half_edges_mark(m, 5, 3);
  cvtm_half_edges_mark(m, 2, 4);
}

static void check_half(const cvtm_half_edges *m, int64_t h) {
  const int64_t g = m->twin[h];
  if (g < 0) {
    assert_in_range(m->segment[h], 0, 3);
    return;
  }
  assert_int_equal(m->twin[g], h);
  assert_int_equal(m->corner[g], cvtm_end_of(m, h));
  assert_int_equal(cvtm_end_of(m, g), m->corner[h]);
  assert_int_equal(m->segment[g], m->segment[h]);
  assert_int_equal(m->region[g / 3] != m->region[h / 3], m->segment[h] == 4);
  if (m->segment[h] < 0)
    assert_false(cvtm_in_circle(m->grid[m->corner[h]], m->grid[m->corner[g]],
                                m->grid[cvtm_apex_of(m, h)], m->grid[cvtm_apex_of(m, g)]));
}

static void check_whole(const cvtm_half_edges *m) {
  int64_t area = 0;
  assert_false(m->out_of_memory);
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    if (m->corner[3 * t] < 0) continue;
    const int64_t twice =
        cvtm_orient_of(m, m->corner[3 * t], m->corner[3 * t + 1], m->corner[3 * t + 2]);
    assert_true(twice > 0);
    area += twice;
    for (int64_t h = 3 * t; h < 3 * t + 3; ++h) check_half(m, h);
  }
  assert_true(area == 2 * (int64_t)SIDE * SIDE);
  for (int64_t v = 0; v < m->vertex_count; ++v)
    if (m->at[v] >= 0) assert_int_equal(m->corner[m->at[v]], v);
}

static uint32_t draw(uint32_t *state) {
  *state = *state * 1664525U + 1013904223U;
  return *state >> 8;
}

static int64_t any_triangle(const cvtm_half_edges *m, uint32_t *state) {
  for (;;) {
    const int64_t t = draw(state) % (uint32_t)m->triangle_count;
    if (m->corner[3 * t] >= 0) return t;
  }
}

static void insert_somewhere(cvtm_half_edges *m, uint32_t *state) {
  const int64_t t = any_triangle(m, state);
  const cvtm_grid_point a = m->grid[m->corner[3 * t]], b = m->grid[m->corner[3 * t + 1]],
                        c = m->grid[m->corner[3 * t + 2]];
  if (draw(state) % 3 == 0) {
    const cvtm_grid_point middle = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    if (cvtm_orient(a, b, middle) == 0) (void)cvtm_half_edges_insert_on(m, 3 * t, middle);
  } else {
    (void)cvtm_half_edges_insert_inside(
        m, t, (cvtm_grid_point){(a.x + b.x + c.x) / 3, (a.y + b.y + c.y) / 3});
  }
}

static int on_segment(const cvtm_half_edges *m, int32_t v) {
  const cvtm_grid_point p = m->grid[v];
  return p.x == 0 || p.y == 0 || p.x == SIDE || p.y == SIDE || p.x == p.y;
}

/* Returns 0 if it failed. */
static int change_something(cvtm_half_edges *m, uint32_t *state) {
  const int32_t v = (int32_t)(draw(state) % (uint32_t)m->vertex_count);
  const uint32_t kind = draw(state) % 8;
  if (kind < 4 || v < 4 || m->at[v] < 0) {
    insert_somewhere(m, state);
    return 1;
  }
  if (kind < 6) return cvtm_half_edges_remove(m, v);
  if (on_segment(m, v)) return 1;
  const cvtm_grid_point to = m->grid[cvtm_end_of(m, m->at[v])];
  return cvtm_half_edges_move(
      m, v, (cvtm_grid_point){(3 * m->grid[v].x + to.x) / 4, (3 * m->grid[v].y + to.y) / 4});
}

static uint64_t digest(const cvtm_half_edges *m) {
  uint64_t sum = (uint64_t)m->vertex_count;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h - h % 3] < 0) continue;
    sum = sum * 31 + (uint64_t)m->corner[h];
    sum = sum * 31 + (uint64_t)m->twin[h];
    sum = sum * 31 + (uint64_t)m->segment[h];
  }
  for (int64_t v = 0; v < m->vertex_count; ++v)
    sum = sum * 31 + (uint64_t)m->at[v] + (uint64_t)m->grid[v].x * 7 + (uint64_t)m->grid[v].y;
  return sum;
}

TEST(test_random_changes) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    cvtm_half_edges m;
    uint32_t state = seed;
    make_square(&m);
    for (int step = 0; step < STEPS; ++step) {
      const uint64_t before = digest(&m);
      const int done = change_something(&m, &state);
      if (done) cvtm_half_edges_restore(&m);
      if (done && draw(&state) % 3 != 0) {
        cvtm_half_edges_commit(&m);
        if (step % 16 == 0) check_whole(&m);
        continue;
      }
      cvtm_half_edges_undo(&m, 0);
      assert_true(digest(&m) == before);
    }
    check_whole(&m);
    cvtm_half_edges_free(&m);
  }
}

/* All vertices but the corners can be removed again. */
TEST(test_remove_all) {
  cvtm_half_edges m;
  uint32_t state = 9;
  make_square(&m);
  for (int k = 0; k < 300; ++k) {
    insert_somewhere(&m, &state);
    cvtm_half_edges_restore(&m);
    cvtm_half_edges_commit(&m);
  }
  for (int32_t v = 4; v < m.vertex_count; ++v) {
    assert_true(cvtm_half_edges_remove(&m, v));
    cvtm_half_edges_restore(&m);
    cvtm_half_edges_commit(&m);
    check_whole(&m);
  }
  int64_t left = 0;
  for (int64_t t = 0; t < m.triangle_count; ++t) left += m.corner[3 * t] >= 0;
  assert_int_equal(left, 2);
  cvtm_half_edges_free(&m);
}

TEST_MAIN()
