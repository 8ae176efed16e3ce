/* Areas of regions by moving the boundary's vertices: what may not happen on the way. */

#include "testing.h"

#include "meshes/contour.h"

enum { LENS_A = 6, LENS_B = 7, SOUTH = 8, NORTH = 9 };

/* An image of 20 x 20 pixels, divided by the line x = 10 into regions 1 and 2. Region 3 is a lens
 * on the line, 0.2 pixels wide, and a square in region 2. */
static double points[] = {0,    0,  10, 0, 20, 0,  20, 20, 10, 20, 0,  20, 9.9, 10,
                          10.1, 10, 10, 8, 10, 12, 14, 14, 18, 14, 18, 18, 14,  18};
static int32_t edges[] = {0, 1, 1, 2, 2, 3, 3, 4, 4,  5,  5,  0,  1,  8,  8,  6,
                          6, 9, 8, 7, 7, 9, 9, 4, 10, 11, 11, 12, 12, 13, 13, 10};
/* As seen with y up along the edge; y is down here. */
static int32_t left[] = {0, 0, 0, 0, 0, 0, 2, 3, 3, 2, 2, 2, 2, 2, 2, 2};
static int32_t right[] = {1, 2, 2, 2, 1, 1, 1, 1, 1, 3, 3, 1, 3, 3, 3, 3};

static double twice_area(const double *p, int a, int b, int c) {
  return (p[2 * b] - p[2 * a]) * (p[2 * c + 1] - p[2 * a + 1]) -
         (p[2 * b + 1] - p[2 * a + 1]) * (p[2 * c] - p[2 * a]);
}

/* Region 3 is to become far smaller than its square can: the lens gets thin, but does not turn
 * inside out, which no crossing of edges would tell. */
TEST(thin_regions_keep_their_sides) {
  enum { VERTICES = 14, EDGES = 16 };
  uint8_t corner[VERTICES] = {0};
  double deviation[EDGES] = {0};
  int32_t region[] = {1, 2, 3};
  double area[] = {200, 195, 5};
  cvtm_contour contour = {
      .region_count = 3, .region = region, .region_area = area, .size = {20, 20}};
  cvtm_boundary b = {.vertex_count = VERTICES,
                     .points = points,
                     .corner = corner,
                     .edge_count = EDGES,
                     .edges = edges,
                     .left = left,
                     .right = right,
                     .deviation = deviation};
  const double before = twice_area(points, SOUTH, LENS_B, LENS_A);
  const double square = points[2 * 12] - points[2 * 13];
  assert_ok(cvtm_boundary_fit(&contour, 1, &b, NULL));
  assert_true(before > 0);
  assert_true(twice_area(points, SOUTH, LENS_B, LENS_A) > 0);
  assert_true(twice_area(points, NORTH, LENS_A, LENS_B) > 0);
  assert_true(points[2 * 12] - points[2 * 13] < square - 0.5);
}

TEST_MAIN()
