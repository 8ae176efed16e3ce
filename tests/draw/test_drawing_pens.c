/* Drawings in several colours: their layers, and what the files say about pens. */
#include "testing.h"

#include "base/file.h"
#include "draw/plotter.h"

#include "decimal_comma.h"

static const cvtm_pen pens[] = {
    {"sky & <sea>", {0, 128, 255}}, {"unused", {1, 2, 3}}, {"red; (old)", {255, 0, 0}}};
enum { PENS = 3 };

/* Two dots of the first pen, none of the second, one of the third. */
static void make_dots(cvtm_drawing *drawing) {
  const double points[] = {1, 1, 2, 2, 3, 3}, radius[] = {0.1, 0.2, 0.3};
  const int64_t first[] = {0, 2, 2}, count[] = {2, 0, 1};
  cvtm_page page;
  cvtm_drawing layer[PENS];
  assert_ok(cvtm_page_place(10, 10, 0, 0, 10, 10, &page, NULL));
  for (int k = 0; k < PENS; ++k)
    assert_ok(cvtm_drawing_of_dots(&page, points + 2 * first[k], radius + first[k], count[k],
                                   &layer[k], NULL));
  assert_ok(cvtm_drawing_join(layer, pens, PENS, drawing, NULL));
  for (int k = 0; k < PENS; ++k) cvtm_drawing_free(&layer[k]);
}

static char *read_text(const char *path) {
  unsigned char *bytes;
  size_t size;
  assert_ok(cvtm_file_read(path, 1 << 20, &bytes, &size, NULL));
  char *text = calloc(size + 1, 1);
  assert_non_null(text);
  memcpy(text, bytes, size);
  free(bytes);
  remove(path);
  return text;
}

TEST(test_join_keeps_every_stroke) {
  cvtm_drawing drawing;
  make_dots(&drawing);
  assert_int_equal(drawing.stroke_count, 3);
  assert_int_equal(cvtm_drawing_parts(&drawing), PENS);
  const int64_t ends[] = {2, 2, 3};
  for (int k = 0; k < PENS; ++k) {
    int64_t first, end;
    cvtm_drawing_part(&drawing, k, &first, &end);
    assert_int_equal(first, k == 0 ? 0 : ends[k - 1]);
    assert_int_equal(end, ends[k]);
    assert_int_equal(cvtm_drawing_pen_of(&drawing, k), k);
  }
  for (int k = 0; k < 3; ++k) {
    assert_true(fabs(drawing.points[2 * k] - (k + 1)) < 1e-12);
    assert_true(fabs(drawing.radius[k] - 0.1 * (k + 1)) < 1e-12);
  }
  cvtm_drawing_free(&drawing);
}

TEST(test_join_keeps_parts_of_paths) {
  const double points[] = {1, 1, 9, 1, 9, 9, 1, 9};
  cvtm_page page;
  cvtm_drawing layer[2], drawing;
  assert_ok(cvtm_page_place(10, 10, 0, 0, 10, 10, &page, NULL));
  for (int k = 0; k < 2; ++k)
    assert_ok(cvtm_drawing_of_path(&page, points, 4, 1, 1, &layer[k], NULL));
  assert_ok(cvtm_drawing_split(&layer[0], 10, NULL));
  assert_ok(cvtm_drawing_join(layer, pens, 2, &drawing, NULL));
  assert_int_equal(cvtm_drawing_parts(&drawing), cvtm_drawing_parts(&layer[0]) + 1);
  double length = 0;
  for (int64_t k = 0; k < drawing.stroke_count; ++k)
    for (const double *p = drawing.points + 2 * drawing.start[k];
         p + 2 < drawing.points + 2 * drawing.start[k + 1]; p += 2)
      length += hypot(p[2] - p[0], p[3] - p[1]);
  assert_true(fabs(length - 64) < 1e-12);
  assert_null(drawing.radius);
  for (int k = 0; k < 2; ++k) cvtm_drawing_free(&layer[k]);
  cvtm_drawing_free(&drawing);
}

TEST(test_svg_has_a_layer_for_each_pen) {
  cvtm_drawing drawing;
  make_dots(&drawing);
  assert_ok(cvtm_drawing_write("pens.svg", "svg", &drawing, NULL, NULL));
  char *text = read_text("pens.svg");
  assert_non_null(strstr(text, "inkscape:label=\"1 sky &#38; &#60;sea&#62;\""));
  assert_non_null(strstr(text, "inkscape:label=\"2 unused\""));
  assert_non_null(strstr(text, "fill=\"#0080ff\""));
  assert_non_null(strstr(text, "r=\"0.1\""));
  assert_non_null(strstr(text, "fill=\"#ff0000\""));
  free(text);
  cvtm_drawing_free(&drawing);
}

TEST(test_machines_change_pens) {
  cvtm_drawing drawing;
  cvtm_gcode_profile profile;
  const cvtm_drawing_settings settings = {.profile = &profile};
  make_dots(&drawing);
  assert_ok(cvtm_drawing_write("pens.hpgl", "plt", &drawing, NULL, NULL));
  char *text = read_text("pens.hpgl");
  assert_string_equal(text,
                      "IN;PA;SP1;\nPU40,360;PD;PU;\nPU80,320;PD;PU;\n"
                      "SP0;SP3;\nPU120,280;PD;PU;\nPU0,0;SP0;\n");
  free(text);
  assert_ok(
      cvtm_gcode_profile_parse("up = U\ndown = D\npause = M0\npen = T{pen} ({name})\n"
                               "travel = G0 X{x} Y{y}\ndraw = G1 X{x} Y{y}\n",
                               "test", &profile, NULL));
  assert_ok(cvtm_drawing_write("pens.gcode", "gcode", &drawing, &settings, NULL));
  text = read_text("pens.gcode");
  assert_string_equal(text,
                      "U\nT1 (sky & <sea>)\nG0 X1.000 Y9.000\nD\nU\nG0 X2.000 Y8.000\nD\nU\n"
                      "M0\nT3 (red   old )\nG0 X3.000 Y7.000\nD\nU\n");
  free(text);
  cvtm_gcode_profile_free(&profile);
  cvtm_drawing_free(&drawing);
}

/* Files have a decimal point in every locale. */
static int use_comma(void **state) {
  (void)state;
  use_decimal_comma();
  return 0;
}

int main(void) { return cmocka_run_group_tests(testing_tests, use_comma, NULL); }
