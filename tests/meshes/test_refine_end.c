/* Refinement where its options end it. tests/cli/test_refine.py has the promises. */
#include "testing.h"

#include "meshes/refine.h"

#include "base/portable.h"

enum { CORNERS = 600 };

/* A star-shaped polygon with long and short radii by turns, so that many angles are small. */
static void make_star(double *points, cvtm_boundary *b) {
  *b = (cvtm_boundary){.vertex_count = CORNERS,
                       .edge_count = CORNERS,
                       .points = malloc(2 * CORNERS * sizeof *b->points),
                       .corner = malloc(CORNERS),
                       .edges = malloc(2 * CORNERS * sizeof *b->edges),
                       .left = malloc(CORNERS * sizeof *b->left),
                       .right = calloc(CORNERS, sizeof *b->right)};
  for (int32_t k = 0; k < CORNERS; ++k) {
    const double angle = 2 * CVTM_PI * k / CORNERS, radius = 100 - 0.4 * (k * 7 % 5);
    points[2 * (int64_t)k] = b->points[2 * (int64_t)k] = radius * cos(angle);
    points[2 * (int64_t)k + 1] = b->points[2 * (int64_t)k + 1] = -radius * sin(angle);
    b->corner[k] = 1;
    b->edges[2 * (int64_t)k] = k;
    b->edges[2 * (int64_t)k + 1] = (k + 1) % CORNERS;
    b->left[k] = 1;
  }
}

static cvtm_refine_figures refine_star(const cvtm_refine_options *options, int64_t *count) {
  double points[2 * CORNERS];
  cvtm_boundary star;
  cvtm_refinement *made = NULL;
  cvtm_refine_figures figures;
  make_star(points, &star);
  assert_ok(cvtm_refine(points, CORNERS, &star, options, &made, &figures, NULL));
  *count = cvtm_refinement_count(made, NULL);
  cvtm_refinement_destroy(made);
  cvtm_boundary_free(&star);
  return figures;
}

TEST(test_growth_lowers_the_bound) {
  DEFAULT_OPTIONS(cvtm_refine, options);
  int64_t most = 0, fewer = 0;
  options.min_angle = 39;
  cvtm_refine_figures figures = refine_star(&options, &most);
  assert_true(figures.bound == 39 && figures.min_angle_free >= 39 && figures.below_free == 0);
  cvtm_refine_figures_free(&figures);
  options.growth = 0;
  figures = refine_star(&options, &fewer);
  assert_true(figures.bound == 33 && figures.min_angle_free >= 33 && figures.below_free > 0);
  assert_true(fewer < most);
  cvtm_refine_figures_free(&figures);
}

/* Stops at the question whose number the context is. */
static int countdown(const void *context) { return --**(int *const *)context == 0; }

TEST(test_stop_ends_it) {
  DEFAULT_OPTIONS(cvtm_refine, options);
  int64_t before = CORNERS, count = 0;
  for (int questions = 1; questions < 40; questions += 6) {
    int left = questions, *pointer = &left;
    options.stop = countdown;
    options.stop_context = &pointer;
    cvtm_refine_figures figures = refine_star(&options, &count);
    assert_true(figures.stopped);
    assert_int_equal(left, 0);
    if (questions < 10) assert_true(count >= before && figures.below_free > 0);
    before = count;
    cvtm_refine_figures_free(&figures);
  }
}

/* A square of 100 with a lattice of sites, two of which are so close to each other that a triangle
 * becomes bad. */
TEST(test_only_vertices_near_changes_move_to_targets) {
  enum { SIDE = 20, BORDER = 4 * SIDE, COUNT = BORDER + (SIDE - 1) * (SIDE - 1) + 1 };
  static double points[2 * COUNT], corners[2 * BORDER], before[8 * COUNT], after[8 * COUNT];
  static int32_t edges[2 * BORDER], left[BORDER], right[BORDER];
  static uint8_t corner[BORDER];
  const double step = 100.0 / SIDE, shift = 0.01;
  int64_t n = 0;
  for (int side = 0; side < 4; ++side) {
    for (int k = 0; k < SIDE; ++k, ++n) {
      const double a = k * step, place[4][2] = {{a, 0}, {100, a}, {100 - a, 100}, {0, 100 - a}};
      memcpy(points + 2 * n, place[side], sizeof place[side]);
      points[2 * n + 1] = 100 - points[2 * n + 1];
      corner[n] = k == 0;
      edges[2 * n] = (int32_t)n;
      edges[2 * n + 1] = (int32_t)((n + 1) % BORDER);
      left[n] = 1;
    }
  }
  memcpy(corners, points, sizeof corners);
  const cvtm_boundary square = {.vertex_count = BORDER,
                                .edge_count = BORDER,
                                .points = corners,
                                .corner = corner,
                                .edges = edges,
                                .left = left,
                                .right = right};
  for (int i = 1; i < SIDE; ++i)
    for (int k = 1; k < SIDE; ++k, ++n) {
      points[2 * n] = i * step;
      points[2 * n + 1] = k * step;
    }
  points[2 * n] = 52.5;
  points[2 * n + 1] = 50.02;
  DEFAULT_OPTIONS(cvtm_refine, options);
  cvtm_refinement *made = NULL;
  cvtm_refine_figures figures;
  int64_t moved = 0;
  assert_ok(cvtm_refine(points, COUNT, &square, &options, &made, &figures, NULL));
  assert_in_range(figures.removed + figures.added_for_angles + figures.moved, 1, 30);
  const int64_t count = cvtm_refinement_count(made, NULL);
  assert_in_range(count, COUNT - 4, 4 * COUNT);
  cvtm_refinement_points(made, before);
  memcpy(after, before, sizeof after);
  for (int64_t i = 0; i < 2 * count; ++i) after[i] += shift;
  assert_ok(cvtm_refinement_move(made, after, &moved, NULL));
  cvtm_refinement_points(made, after);
  int64_t near = 0;
  for (int64_t v = 0; v < count; ++v) {
    const double *p = before + 2 * v, *q = after + 2 * v;
    const double way = hypot(p[0] - 50, p[1] - 50);
    near += way < 0.9 * step && q[0] - p[0] > 0.2 * shift && q[1] - p[1] > 0.2 * shift;
    if (way > 8 * step) assert_memory_equal(p, q, 2 * sizeof *p);
  }
  assert_true(near > 0);
  cvtm_refine_figures_free(&figures);
  cvtm_refinement_destroy(made);
}

TEST_MAIN()
