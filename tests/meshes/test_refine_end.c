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

TEST_MAIN()
