/* Nodes of second order on a contour, and edges that are straight where a bend would turn their
 * triangle over. */

#include "testing.h"

#include "meshes/second_order.h"

/* A triangle of height 4 (y down: its apex is at y = -4) on an edge from (0, 0) to (10, 0), whose
 * contour is a roof with its top at (5, top). Returns the middle node's y, -1000 if it failed. */
static double middle_over(double top, int32_t side, int64_t *curved, int64_t *straightened) {
  double points[] = {0, 0, 10, 0, 5, -4};
  int32_t triangles[] = {0, 1, 2}, region[] = {1}, edges[] = {0, 1}, left[] = {1}, right[] = {0};
  int32_t curve[] = {1};
  double roof[] = {0, 0, 5, top, 10, 0};
  uint8_t corner[] = {1, 0, 1};
  int64_t start[] = {0, 3};
  int32_t beside = side, outside = 0;
  const cvtm_mesh mesh = {
      .vertex_count = 3, .triangle_count = 1, .points = points, .triangles = triangles};
  const cvtm_regions regions = {.edge_count = 1,
                                .curve_count = 1,
                                .region = region,
                                .edges = edges,
                                .left = left,
                                .right = right,
                                .curve = curve};
  const cvtm_contour contour = {.arc_count = 1,
                                .start = start,
                                .points = roof,
                                .corner = corner,
                                .left = &beside,
                                .right = &outside};
  cvtm_second_order second = {0};
  cvtm_error error;
  if (cvtm_second_order_create(&mesh, &regions, &contour, &second, &error) != CVTM_OK) return -1000;
  const int64_t node = second.edge[0] - mesh.vertex_count;
  const double y = second.points[2 * node + 1];
  assert_int_equal(second.count, 3);
  assert_int_equal(second.edge[0], second.triangle[0]);
  assert_true(second.points[2 * node] == 5);
  *curved = second.curved;
  *straightened = second.straightened;
  cvtm_second_order_free(&second);
  return y;
}

TEST(edges_follow_the_contour_unless_the_triangle_would_turn_over) {
  const struct {
    double top, middle;
    int32_t side;
    int64_t curved, straightened;
  } cases[] = {
      {2, 2, 1, 1, 0},       /* away from the apex */
      {-0.5, -0.5, 1, 1, 0}, /* a little towards it */
      {-2.5, 0, 1, 0, 1},    /* beyond half its height */
      {4.9, 4.9, 1, 1, 0},   /* just within half the edge */
      {5.1, 0, 1, 0, 0},     /* too far to be its contour */
      {2, 0, 7, 0, 0},       /* between other regions */
      {0, 0, 1, 0, 0},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    int64_t curved, straightened;
    const double y = middle_over(cases[k].top, cases[k].side, &curved, &straightened);
    assert_true(y == cases[k].middle);
    assert_int_equal(curved, cases[k].curved);
    assert_int_equal(straightened, cases[k].straightened);
  }
}

TEST_MAIN()
