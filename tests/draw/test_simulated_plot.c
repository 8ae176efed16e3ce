/* Simulated plots: the ink of strokes as wide as the pen against areas by formula. */
#include "testing.h"

#include "base/portable.h"
#include "draw/drawing.h"

enum { SIDE = 60 };

static const cvtm_page page = {
    .width = 140, .height = 140, .scale = 2, .left = 10, .top = 10, .clip = {10, 10, 130, 130}};

/* The area that a drawing covers, in square pixels of the picture. */
static double ink_of(cvtm_drawing *drawing) {
  static float coverage[SIDE * SIDE];
  assert_ok(cvtm_drawing_coverage(drawing, SIDE, SIDE, coverage, NULL));
  double sum = 0;
  for (int p = 0; p < SIDE * SIDE; ++p) {
    assert_true(coverage[p] >= 0 && coverage[p] <= 1);
    sum += (double)coverage[p];
  }
  cvtm_drawing_free(drawing);
  return sum;
}

TEST(a_dot_no_wider_than_the_pen_is_one_touch) {
  const double points[] = {10, 10, 30.4, 20.7, 50, 50}, radius[] = {0.5, 1, 0};
  cvtm_drawing drawing;
  assert_ok(cvtm_drawing_of_touches(&page, points, radius, 3, 2, &drawing, NULL));
  assert_int_equal(drawing.stroke_count, 3);
  for (int k = 0; k <= 3; ++k) assert_int_equal(drawing.start[k], k);
  assert_null(drawing.radius);
  assert_true(drawing.line_width == 4); /* mm */
  assert_true(fabs(ink_of(&drawing) / (3 * CVTM_PI) - 1) < 0.005);
}

/* Every point of the disc is covered, and hardly any other. */
TEST(spirals_fill_wider_dots) {
  for (double radius = 1.05; radius < 9; radius *= 1.3) {
    const double points[] = {30.3, 29.6}, whole = CVTM_PI * radius * radius;
    cvtm_drawing drawing;
    assert_ok(cvtm_drawing_of_touches(&page, points, &radius, 1, 2, &drawing, NULL));
    assert_int_equal(drawing.stroke_count, 1);
    assert_true(drawing.start[1] > 12);
    const double *p = drawing.points;
    double length = 0;
    for (int64_t k = 0; k + 1 < drawing.start[1]; ++k)
      length += hypot(p[2 * k + 2] - p[2 * k], p[2 * k + 3] - p[2 * k + 1]) / page.scale;
    assert_true(length * 2 < 2 * whole + 20); /* the pen passes any place about once */
    assert_true(fabs(ink_of(&drawing) / whole - 1) < 0.02);
  }
}

TEST(lines_are_as_wide_as_the_pen) {
  const double bend[] = {10, 20, 34, 13, 41, 37}, slant[] = {5, 50, 25, 20};
  const double width = 3, caps = CVTM_PI * 0.25 * width * width;
  cvtm_drawing drawing;
  assert_ok(cvtm_drawing_of_path(&page, bend, 3, 0, width, &drawing, NULL));
  /* At the corner both lines cover a square of half the width, and the cap covers a quarter. */
  const double corner = 0.25 * width * width * (1 - 0.25 * CVTM_PI);
  const double expected = 50 * width + caps - corner;
  assert_true(fabs(ink_of(&drawing) / expected - 1) < 0.005);
  assert_ok(cvtm_drawing_of_path(&page, slant, 2, 0, width, &drawing, NULL));
  assert_true(fabs(ink_of(&drawing) / (hypot(20, 30) * width + caps) - 1) < 0.005);
}

/* Each layer is as wide as its own pen, and ink over ink counts once. */
TEST(pens_of_several_widths) {
  const double points[] = {20, 20, 40, 40}, radius[] = {0, 0};
  const cvtm_pen pens[] = {{"fine", {0, 0, 0}}, {"broad", {255, 0, 0}}};
  cvtm_drawing layer[2], drawing;
  assert_ok(cvtm_drawing_of_touches(&page, points, radius, 2, 2, &layer[0], NULL));
  assert_ok(cvtm_drawing_of_touches(&page, points, radius, 1, 4, &layer[1], NULL));
  assert_ok(cvtm_drawing_join(layer, pens, 2, &drawing, NULL));
  for (int k = 0; k < 2; ++k) {
    assert_true(cvtm_drawing_width_of(&drawing, k) == (k == 0 ? 4 : 8));
    cvtm_drawing_free(&layer[k]);
  }
  assert_true(fabs(ink_of(&drawing) / (5 * CVTM_PI) - 1) < 0.005);
}

TEST_MAIN()
