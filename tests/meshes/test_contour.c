/* Contours, polygons and boundary samples against closed forms. */

#include "testing.h"

#include "base/portable.h"
#include "meshes/contour.h"
#include "meshes/domain_plan.h"

static const double pi = 3.14159265358979323846;

enum { W = 64, H = 48 };

static cvtm_contour trace(const float *mask) {
  DEFAULT_OPTIONS(cvtm_contour, how);
  cvtm_contour c = {0};
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = cvtm_contour_of_mask(mask, W, H, &how, &c, &error);
  if (status != CVTM_OK) fail_msg("%s", error.message);
  return c;
}

static void fill(float *mask, int x0, int y0, int x1, int y1, float value) {
  for (int j = y0; j < y1; ++j)
    for (int i = x0; i < x1; ++i) mask[j * W + i] = value;
}

static int has_corner(const cvtm_contour *c, double x, double y) {
  for (int64_t k = 0; k < c->start[c->arc_count]; ++k)
    if (c->corner[k] && hypot(c->points[2 * k] - x, c->points[2 * k + 1] - y) < 1e-9) return 1;
  return 0;
}

static int64_t count_corners(const cvtm_contour *c) {
  int64_t corners = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc)
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1]; ++k) corners += c->corner[k];
  return corners;
}

/* A rectangle of whole pixels gets its blunt corners back, at the image's border too. */
TEST(rectangles_have_their_corners) {
  static const int box[3][4] = {{10, 12, 40, 30}, {0, 0, 20, 20}, {0, 0, W, H}};
  for (int n = 0; n < 3; ++n) {
    float mask[W * H] = {0};
    const int *b = box[n];
    fill(mask, b[0], b[1], b[2], b[3], 1);
    cvtm_contour c = trace(mask);
    assert_int_equal(c.arc_count, 1);
    assert_int_equal(count_corners(&c), 4);
    for (int k = 0; k < 4; ++k) assert_true(has_corner(&c, b[k & 1 ? 2 : 0], b[k & 2 ? 3 : 1]));
    /* Marching squares cut an eighth of a pixel off each corner. */
    assert_true(fabs(c.area - ((b[2] - b[0]) * (b[3] - b[1]) - 0.5)) < 1e-9);
    assert_true(c.corner_shift <= 0.5);
    cvtm_contour_free(&c);
  }
}

TEST(discs_are_smooth) {
  float mask[W * H];
  for (int j = 0; j < H; ++j) {
    for (int i = 0; i < W; ++i) {
      const double d = 15.3 - hypot(i + 0.5 - 30.2, j + 0.5 - 24.7);
      mask[j * W + i] = (float)fmin(fmax(d + 0.5, 0), 1);
    }
  }
  cvtm_contour c = trace(mask);
  assert_int_equal(c.arc_count, 1);
  assert_int_equal(count_corners(&c), 0);
  for (int64_t k = 0; k < c.start[1]; ++k) {
    const double r = hypot(c.points[2 * k] - 30.2, c.points[2 * k + 1] - 24.7);
    assert_true(fabs(r - 15.3) < 0.1); /* the mask itself is only near to coverage */
  }
  assert_true(fabs(c.area / (pi * 15.3 * 15.3) - 1) < 2e-3);
  assert_int_equal(c.left[0] + c.right[0], 1);
  cvtm_contour_free(&c);
}

TEST(holes_islands_and_specks) {
  float mask[W * H] = {0};
  fill(mask, 4, 4, 44, 44, 1);
  fill(mask, 14, 14, 34, 34, 0);
  fill(mask, 20, 20, 28, 28, 1);
  fill(mask, 50, 10, 51, 11, 1); /* one pixel */
  fill(mask, 54, 10, 56, 11, 1); /* two */
  cvtm_contour c = trace(mask);
  assert_int_equal(c.arc_count, 4);
  assert_int_equal(c.dropped, 1);
  assert_true(fabs(c.area - (1600 - 0.5 - (400 - 0.5) + 64 - 0.5 + 1.5)) < 1e-9);
  cvtm_contour_free(&c);
}

TEST(empty_domains_are_refused) {
  DEFAULT_OPTIONS(cvtm_contour, how);
  cvtm_contour c = {0};
  cvtm_error error = {CVTM_OK, ""};
  float mask[W * H] = {0};
  assert_int_equal(cvtm_contour_of_mask(mask, W, H, &how, &c, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "empty"));
  mask[5 * W + 5] = 1;
  assert_int_equal(cvtm_contour_of_mask(mask, W, H, &how, &c, &error), CVTM_ERROR_INPUT);
  mask[7] = NAN;
  assert_int_equal(cvtm_contour_of_mask(mask, W, H, &how, &c, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "(7, 0)"));
  assert_null(c.points);
  /* Kept if asked for: a diamond of half a pixel. */
  mask[7] = 0;
  how.smallest = 0;
  assert_ok(cvtm_contour_of_mask(mask, W, H, &how, &c, &error));
  assert_true(fabs(c.area - 0.5) < 1e-12);
  cvtm_contour_free(&c);
}

/* Three labels around a point: three arcs to the outside, and interfaces between them. */
TEST(labels_meet_in_junctions) {
  int32_t labels[W * H] = {0};
  for (int j = 4; j < 44; ++j)
    for (int i = 4; i < 60; ++i) labels[j * W + i] = i < 30 ? 1 : j < 20 ? 2 : 7;
  DEFAULT_OPTIONS(cvtm_contour, how);
  cvtm_contour c = {0};
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(cvtm_contour_of_labels(labels, W, H, &how, &c, &error));
  assert_int_equal(c.arc_count, 6);
  int seen[8][8] = {{0}};
  for (int64_t arc = 0; arc < 6; ++arc) {
    ++seen[c.left[arc]][c.right[arc]];
    ++seen[c.right[arc]][c.left[arc]];
    assert_true(c.corner[c.start[arc]] && c.corner[c.start[arc + 1] - 1]);
  }
  const int32_t names[4] = {0, 1, 2, 7};
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < a; ++b) assert_int_equal(seen[names[a]][names[b]], 1);
  cvtm_contour_free(&c);
  labels[9] = -1;
  assert_int_equal(cvtm_contour_of_labels(labels, W, H, &how, &c, &error), CVTM_ERROR_INPUT);
}

/* ---- Polygons ---- */

static cvtm_status read_text(const char *extension, const char *text, cvtm_polygons *p,
                             cvtm_error *error) {
  return cvtm_polygons_read_bytes(extension, (const unsigned char *)text, strlen(text), "it", p,
                                  error);
}

static double total_area(const cvtm_polygons *p) {
  double area = 0;
  for (int64_t r = 0; r < p->ring_count; ++r)
    area += cvtm_ring_area(p->points + 2 * p->start[r], p->start[r + 1] - p->start[r]);
  return area;
}

/* The same square with a square hole in every format; directions and repeated ends do not
 * matter. */
TEST(formats_agree) {
  static const char *const text[][2] = {
      {"csv", "x,y\n2,2\n2,42\n42,42\n42,2\n\n# a hole\n10 10\n10;20\n20,20\n20\t10\n10,10\n"},
      {"svg",
       "<?xml version='1.0'?><svg><!-- <path d='A'/> --><defs><path d='A'/></defs>"
       "<path d='M2 2h40v40H2zm8 8V20h10l0-10Z'/></svg>"},
      {"svg",
       "<svg><polygon points='2,2 42,2 42,42 2,42'/><polygon points='10 10 20 10 20 20 10 "
       "20'/></svg>"},
      {"geojson",
       "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"geometry\":"
       "{\"type\":\"Polygon\",\"coordinates\":[[[2,2],[42,2],[42,42],[2,42],[2,2]],"
       "[[10,10],[20,10],[20,20],[10,20],[10,10]]]}}]}"},
  };
  for (size_t k = 0; k < sizeof text / sizeof text[0]; ++k) {
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    if (read_text(text[k][0], text[k][1], &p, &error) != CVTM_OK) fail_msg("%s", error.message);
    assert_int_equal(p.ring_count, 2);
    assert_int_equal(p.start[2], 8);
    assert_true(total_area(&p) == 1500);
    assert_true(cvtm_ring_area(p.points, 4) == 1600);
    cvtm_polygons_free(&p);
  }
}

/* Two cubics that make nearly a circle, smooth continuation and a parabola: areas by calculus. */
TEST(curves_become_chords) {
  cvtm_polygons p = {0};
  /* A quadratic with its control 20 above a chord of 30 bounds 2/3 * 30 * 10. */
  assert_ok(read_text("svg", "<svg><path d='M10 30Q25 10 40 30'/></svg>", &p, NULL));
  assert_true(fabs(total_area(&p) - 200) < 30 * 0.02);
  cvtm_polygons_free(&p);
  /* Symmetric cubic: 3/5 of width times the height of its controls, above and, by S, below. */
  assert_ok(
      read_text("svg", "<svg><path d='M10 30C10 20 40 20 40 30S10 40 10 30'/></svg>", &p, NULL));
  assert_true(fabs(total_area(&p) - 2 * 180) < 60 * 0.02);
  cvtm_polygons_free(&p);
}

/* Circles, ellipses, rectangles and arcs of paths: their areas and the lowest and highest x and y,
 * which chords within 0.02 px change by at most so much. */
TEST(round_shapes_become_chords) {
  static const struct {
    const char *element;
    double area, box[4], perimeter; /* at most */
  } cases[] = {
      {"<circle cx='50' cy='40' r='30px'/>", 900 * CVTM_PI, {20, 10, 80, 70}, 190},
      {"<ellipse cx='9' rx='4' ry='3' transform='scale(2 10)'/>",
       240 * CVTM_PI,
       {10, -30, 26, 30},
       140},
      {"<rect x='1' y='2' width='8' height='5'/>", 40, {1, 2, 9, 7}, 26},
      {"<rect width='60' height='40' rx='10'/>", 2400 - (4 - CVTM_PI) * 100, {0, 0, 60, 40}, 200},
      {"<rect width='60' height='40' rx='99' ry='10'/>",
       2400 - (4 - CVTM_PI) * 300,
       {0, 0, 60, 40},
       200},
      /* Half and three quarters of a circle in both directions, and half of a turned ellipse. */
      {"<path d='M10 0a40 40 0 1080 0z'/>", 800 * CVTM_PI, {10, 0, 90, 40}, 210},
      {"<path d='M90 0A1 1 0 0 0 10 0z'/>", 800 * CVTM_PI, {10, -40, 90, 0}, 210},
      {"<path d='M0 0A50 50 0 1 1 50 50H0z'/>", 1875 * CVTM_PI + 2500, {0, -50, 100, 50}, 350},
      {"<path d='M0 0A50 50 0 1 0 50 50V0z'/>", 1875 * CVTM_PI + 2500, {-50, 0, 50, 100}, 350},
      {"<path d='M0 0A50 50 0 0 1 50 50H0z'/>", 625 * CVTM_PI, {0, 0, 50, 50}, 180},
      {"<path d='M0 10A40 20 90 0 1 0 90z'/>", 400 * CVTM_PI, {0, 10, 20, 90}, 190},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    char text[200];
    snprintf(text, sizeof text, "<svg>%s</svg>", cases[k].element);
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    if (read_text("svg", text, &p, &error) != CVTM_OK) fail_msg("%zu: %s", k, error.message);
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < 2 * p.start[p.ring_count]; ++i) {
      box[i % 2] = fmin(box[i % 2], p.points[i]);
      box[i % 2 + 2] = fmax(box[i % 2 + 2], p.points[i]);
    }
    for (int i = 0; i < 4; ++i) assert_true(fabs(box[i] - cases[k].box[i]) < 0.0201);
    assert_int_equal(p.ring_count, 1);
    assert_true(fabs(total_area(&p) - cases[k].area) < 0.02 * cases[k].perimeter);
    cvtm_polygons_free(&p);
  }
}

/* A rectangle of 4 x 2 at (1, 1), and where SVG says that its transform puts it: the corners that
 * (1, 1) and (5, 3) become. */
TEST(transforms_move_polygons) {
  static const struct {
    const char *before, *transform, *after;
    double corners[4], area;
  } cases[] = {
      {"", "translate(3)", "", {4, 1, 8, 3}, 8},
      {"", "translate(3,-4)", "", {4, -3, 8, -1}, 8},
      {"", "scale(2)", "", {2, 2, 10, 6}, 32},
      {"", "scale(2 3)", "", {2, 3, 10, 9}, 48},
      {"", "scale(-1 1)", "", {-1, 1, -5, 3}, 8},
      {"", "rotate(90)", "", {-1, 1, -3, 5}, 8},
      {"", "rotate(180 3 2)", "", {5, 3, 1, 1}, 8},
      {"", "skewX(45)", "", {2, 1, 8, 3}, 8},
      {"", "skewY(-45)", "", {1, 0, 5, -2}, 8},
      {"", "matrix(0 2 -3 0 7 8)", "", {4, 10, -2, 18}, 48},
      {"", "translate(3 4)scale(2) , rotate ( -90 )", "", {5, 2, 9, -6}, 32},
      {"<g transform='translate(10 20)'><g>", "scale(2)", "</g></g>", {12, 22, 20, 26}, 32},
      {"<g transform='translate(10 20)'><path transform='scale(9)' d=''/></g>",
       "scale(2)",
       "",
       {2, 2, 10, 6},
       32},
      {"<defs><path transform='none'/></defs><svg>", " ", "</svg>", {1, 1, 5, 3}, 8},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    static const char *const shapes[] = {"path transform='%s' d='m1 1h4v2H1z'",
                                         "polygon points='1,1 5,1 5,3 1,3' transform='%s'",
                                         "path d='M1 1C2 1 4 1 5 1Q5 2 5 3L1 3' transform='%s'"};
    for (int shape = 0; shape < 3; ++shape) {
      char element[200], text[500];
      snprintf(element, sizeof element, shapes[shape], cases[k].transform);
      snprintf(text, sizeof text, "<svg>%s<%s/>%s</svg>", cases[k].before, element, cases[k].after);
      cvtm_polygons p = {0};
      cvtm_error error = {CVTM_OK, ""};
      if (read_text("svg", text, &p, &error) != CVTM_OK) fail_msg("%s: %s", text, error.message);
      assert_int_equal(p.ring_count, 1);
      assert_true(fabs(total_area(&p) - cases[k].area) < 1e-9);
      int found = 0;
      for (int64_t i = 0; i < p.start[1]; ++i) {
        for (int c = 0; c < 2; ++c) {
          const double *at = cases[k].corners + 2 * c;
          found |= hypot(p.points[2 * i] - at[0], p.points[2 * i + 1] - at[1]) < 1e-12 ? 1 << c : 0;
        }
      }
      assert_int_equal(found, 3);
      cvtm_polygons_free(&p);
    }
  }
}

/* Drawing programs write a byte order mark, a DTD with short entities, and other encodings. */
TEST(svg_preambles_are_read) {
  static const char *const text[] = {
      "\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>",
      "\n <?xml version='1.0' encoding='windows-1252'?><!-- \xe4 -->",
      ("<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/svg11.dtd' [\n"
       "<!ENTITY ns_svg 'http://www.w3.org/2000/svg'>\n]>"),
  };
  for (size_t k = 0; k < sizeof text / sizeof text[0]; ++k) {
    char whole[500];
    snprintf(whole, sizeof whole, "%s<svg><path d=\"M0 0h9&#32;v9\n\"/></svg>\n", text[k]);
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    if (read_text("svg", whole, &p, &error) != CVTM_OK) fail_msg("%s: %s", whole, error.message);
    assert_true(total_area(&p) == 40.5);
    cvtm_polygons_free(&p);
  }
}

/* A ring that comes back to one of its corners bounds what its loops bound. */
TEST(rings_may_meet_themselves_in_corners) {
  static const struct {
    const char *text;
    int rings;
    double area;
  } cases[] = {
      {"0,0\n4,2\n4,-2\n0,0\n-4,-2\n-4,2\n", 2, 16},
      /* A hole that hangs on a corner, and one at the end of a bridge. */
      {"0,0\n8,0\n8,8\n0,8\n0,0\n1,3\n3,3\n3,1\n", 2, 64 - 6},
      {"0,0\n8,0\n8,8\n0,8\n0,0\n2,2\n2,4\n4,4\n4,2\n2,2\n0,0\n", 2, 64 - 4},
      /* The last corner is the first one but for rounding. */
      {"0,0\n8,0\n8,8\n0,8\n1e-15,-1e-15\n", 1, 64},
      /* Nothing but a way back. */
      {"0,0\n8,0\n8,8\n9,9\n8,8\n0,8\n", 1, 64},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    if (read_text("csv", cases[k].text, &p, &error) != CVTM_OK)
      fail_msg("%zu: %s", k, error.message);
    assert_int_equal(p.ring_count, cases[k].rings);
    assert_true(fabs(total_area(&p) - cases[k].area) < 1e-9);
    cvtm_polygons_free(&p);
  }
}

TEST(bad_polygons_are_refused) {
  static const char *const text[][3] = {
      {"csv", "0,0\n10,10\n10,0\n0,10\n", "meets itself"},
      {"csv", "0,0\n10,0\n10,10\n0,10\n\n5,5\n15,5\n15,8\n", " cross"},
      {"csv", "0,0\n10,0\n10,10\n0,10\n\n0,2\n0,8\n-5,5\n", " cross"},
      {"csv", "0,4\n4,0\n8,4\n4,8\n\n-2,2\n2,2\n2,6\n-2,6\n", " cross"}, /* in two corners */
      {"csv", "0,0\n1,x\n", "line 2"},
      {"csv", "0;0\n1,5;2,5\n", "line 2"}, /* a decimal comma is no separator */
      {"csv", "0,0\n1-2\n", "line 2"},
      {"csv", "0,0\n1,1\n2,2\n", "no polygon"},
      {"csv", "", "no polygon"},
      {"csv", "1e30,0\n1,1\n2,2\n", "too far away"},
      {"svg", "<svg><path d='M0 0A1 1 0 2 0 5 5'/></svg>", "`A` needs 7"},
      {"svg", "<svg><path d='M0 0B1 1'/></svg>", "`B`"},
      {"svg", "<svg>\n<rect width='50%' height='9'/></svg>", "line 2: width=\"50%\""},
      {"svg", "<svg><circle r='0'/></svg>", "no polygon"},
      {"svg", "<svg><path d='L1 1'/></svg>", "must begin with M"},
      {"svg", "<svg>\n<path d='M1'/></svg>", "line 2"},
      {"svg", "<svg>\n<g transform='turn(2)'/></svg>", "line 2: the transform `turn`"},
      {"svg", "<svg><g transform='scale(2'/></svg>", "the transform `scale` has wrong arguments"},
      {"svg", "<svg><g transform='rotate(1 2)'/></svg>", "`rotate` has wrong arguments"},
      {"svg", "<svg><g transform='matrix(1 2 3)'/></svg>", "`matrix` has wrong arguments"},
      {"svg", "<svg><g transform='scale(1e300)'><path d='M1 1h9v9'/></g></svg>", "too far away"},
      {"svg", "<svg><g transform='scale(2)'/></svg>", "no polygon"},
      {"svg", "<svg><path d='M0 0L1", "malformed XML"},
      {"svg", "<svg>\n<path d='M0 0h9v9'></svg>", "line 2: malformed XML: mismatched tag"},
      {"svg", "<!DOCTYPE s [<!ENTITY a 'M0'>\n<!ENTITY b '&a;&a;'>]><s/>", "line 2: a long entity"},
      {"json", "{\"type\":\"Polygon\",\"coordinates\":[[[1],[2]]]}", "two numbers"},
      {"json", "{\"type\":\"Polygon\",\"coord", "not valid JSON"},
      {"json", "[1]", "type"},
      {"txt", "", "unknown"},
  };
  for (size_t k = 0; k < sizeof text / sizeof text[0]; ++k) {
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    assert_int_not_equal(read_text(text[k][0], text[k][1], &p, &error), CVTM_OK);
    if (strstr(error.message, text[k][2]) == NULL) fail_msg("%zu: %s", k, error.message);
    assert_null(p.points);
  }
  assert_false(cvtm_polygon_format_known("a.txt"));
  assert_true(cvtm_polygon_format_known("a.GeoJSON"));
}

/* The middle of the longest side of the triangle is a corner of the hole. */
TEST(a_hole_may_touch_the_middle_of_a_side) {
  cvtm_polygons p = {0};
  assert_ok(read_text("csv", "0,0\n0,20\n8,10\n\n0,10\n2,11\n2,9\n", &p, NULL));
  assert_true(total_area(&p) == 80 - 2);
  cvtm_polygons_free(&p);
}

/* A few bytes of a curve can stand for many corners, also in rings without area. */
TEST(corners_are_limited) {
  static const char *const curves[] = {"C9e8 0 -9e8 9e8 0 9e8C-9e8 9e8 9e8 0 0 0",
                                       "M0 0C9e8 9e8 -9e8 -9e8 1 1"};
  for (int k = 0; k < 2; ++k) {
    char text[8192] = "<svg><path d='M0 0";
    for (int repeat = 0; repeat < 64; ++repeat) strcat(text, curves[k]);
    strcat(text, "'/></svg>");
    cvtm_polygons p = {0};
    cvtm_error error = {CVTM_OK, ""};
    assert_int_equal(read_text("svg", text, &p, &error), CVTM_ERROR_INPUT);
    assert_string_equal(error.message,
                        "it: line 1: more than 10000000 corners, counting the "
                        "chords of curves");
    assert_null(p.points);
  }
}

TEST(long_curves_have_enough_chords) {
  cvtm_polygons p = {0};
  assert_ok(read_text("svg", "<svg><path d='M0 0Q1e6 2e6 2e6 0'/></svg>", &p, NULL));
  for (int64_t k = 0; k + 1 < p.start[1]; ++k) {
    const double *a = p.points + 2 * k, *b = a + 2;
    const double x = 0.5 * (a[0] + b[0]), t = x / 2e6;
    assert_true(fabs(0.5 * (a[1] + b[1]) - 4e6 * t * (1 - t)) < 0.021);
  }
  cvtm_polygons_free(&p);
}

static cvtm_contour contour_of(const char *csv) {
  DEFAULT_OPTIONS(cvtm_contour, how);
  cvtm_polygons p = {0};
  cvtm_contour c = {0};
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(read_text("csv", csv, &p, &error));
  const cvtm_status status = cvtm_contour_of_polygons(&p, W, H, &how, &c, &error);
  cvtm_polygons_free(&p);
  if (status != CVTM_OK) fail_msg("%s", error.message);
  return c;
}

/* Coverage against the areas of a triangle clipped to pixels, by sampling 64 x 64 places. */
TEST(coverage_is_exact) {
  cvtm_contour c = contour_of("3.3,2.1\n60.7,11.9\n20.25,47.5\n\n20,14\n30,14\n30,22.5\n20,20\n");
  float coverage[W * H];
  assert_ok(cvtm_contour_coverage(&c, W, H, coverage, NULL));
  double sum = 0;
  for (int k = 0; k < W * H; ++k) {
    assert_true(coverage[k] >= 0 && coverage[k] <= 1);
    sum += (double)coverage[k];
  }
  assert_true(fabs(sum - c.area) < 1e-3); /* floats */
  enum { FINE = 64 };
  for (int pixel = 0; pixel < W * H; pixel += 37) {
    int inside = 0;
    for (int s = 0; s < FINE * FINE; ++s) {
      const double x = pixel % W + (s % FINE + 0.5) / FINE, y = pixel / W + (s / FINE + 0.5) / FINE;
      int odd = 0;
      for (int64_t arc = 0; arc < c.arc_count; ++arc) {
        for (int64_t k = c.start[arc]; k + 1 < c.start[arc + 1]; ++k) {
          const double *a = c.points + 2 * k, *b = a + 2;
          if ((a[1] > y) == (b[1] > y)) continue;
          odd ^= x < a[0] + (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]);
        }
      }
      inside += odd;
    }
    /* An edge through the pixel is off by at most half a sample in each row. */
    assert_true(fabs((double)inside / (FINE * FINE) - (double)coverage[pixel]) < 2.0 / FINE);
  }
  cvtm_contour_free(&c);
}

/* ---- Samples ---- */

static double constant(const void *context, double x, double y) {
  (void)x;
  (void)y;
  return *(const double *)context;
}

static double boundary_area(const cvtm_boundary *b) {
  double twice = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const double *p = b->points + 2 * (int64_t)b->edges[2 * e];
    const double *q = b->points + 2 * (int64_t)b->edges[2 * e + 1];
    twice += ((b->left[e] != 0) - (b->right[e] != 0)) * (q[0] - p[0]) * (p[1] + q[1]);
  }
  return 0.5 * twice;
}

TEST(samples_keep_corners_spacing_and_area) {
  cvtm_contour c = contour_of("4,4\n60,4\n60,44\n4,44\n\n20,14\n30,14\n30,22.5\n");
  const double spacing = 3;
  cvtm_boundary b = {0};
  assert_ok(cvtm_boundary_sample(&c, constant, &spacing, &b, NULL));
  assert_int_equal(b.vertex_count, b.edge_count);
  int corners = 0;
  for (int64_t v = 0; v < b.vertex_count; ++v) corners += b.corner[v];
  assert_int_equal(corners, 7);
  assert_true(fabs(boundary_area(&b) - c.area) < 1e-9);
  for (int64_t e = 0; e < b.edge_count; ++e) {
    const double *p = b.points + 2 * (int64_t)b.edges[2 * e];
    const double *q = b.points + 2 * (int64_t)b.edges[2 * e + 1];
    const double length = hypot(q[0] - p[0], q[1] - p[1]);
    assert_true(length > 0.6 * spacing && length < 1.4 * spacing);
    assert_true(b.deviation[e] < 1e-9);
  }
  cvtm_boundary_free(&b);
  cvtm_contour_free(&c);
}

/* Far fewer vertices than the curve has points, and still its area. */
TEST(coarse_samples_keep_the_area) {
  float mask[W * H];
  for (int k = 0; k < W * H; ++k) {
    const double d = 20 - hypot(k % W + 0.5 - 32, k / W + 0.5 - 24);
    mask[k] = (float)fmin(fmax(d + 0.5, 0), 1);
  }
  cvtm_contour c = trace(mask);
  const double spacing = 6;
  cvtm_boundary b = {0};
  assert_ok(cvtm_boundary_sample(&c, constant, &spacing, &b, NULL));
  assert_true(b.vertex_count > 18 && b.vertex_count < 24);
  assert_true(fabs(boundary_area(&b) / c.area - 1) < 1e-3);
  for (int64_t e = 0; e < b.edge_count; ++e) assert_true(b.deviation[e] < 0.3);
  cvtm_boundary_free(&b);
  cvtm_contour_free(&c);
}

/* A strip 2 pixels wide takes edges of about that length, whatever the sites would like. */
TEST(narrow_places_get_short_edges) {
  cvtm_contour c = contour_of("2,2\n30,2\n30,20\n62,20\n62,23\n30,23\n30,46\n2,46\n");
  float density[W * H], coverage[W * H];
  for (int k = 0; k < W * H; ++k) density[k] = 1;
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(cvtm_contour_coverage(&c, W, H, coverage, &error));
  cvtm_boundary b = {0};
  cvtm_domain_plan_figures figures;
  assert_ok(cvtm_domain_plan(&c, W, H, 200, 0.3, density, &b, &figures, &error));
  double longest = 0;
  for (int64_t e = 0; e < b.edge_count; ++e) {
    const double *p = b.points + 2 * (int64_t)b.edges[2 * e];
    const double *q = b.points + 2 * (int64_t)b.edges[2 * e + 1];
    if (p[0] > 34 && q[0] > 34) longest = fmax(longest, hypot(q[0] - p[0], q[1] - p[1]));
  }
  assert_true(longest > 1 && longest < 4.2);
  assert_true(cvtm_boundary_deviation(&b) < 1e-9);
  for (int k = 0; k < W * H; ++k) assert_true((coverage[k] > 0) == (density[k] > 0));
  cvtm_boundary_free(&b);
  for (int k = 0; k < W * H; ++k) density[k] = 1;
  assert_int_equal(cvtm_domain_plan(&c, W, H, 10, 0.3, density, &b, &figures, &error),
                   CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "too few"));
  for (int k = 0; k < W * H; ++k) density[k] = 0;
  assert_int_equal(cvtm_domain_plan(&c, W, H, 200, 0.3, density, &b, &figures, &error),
                   CVTM_ERROR_INPUT);
  cvtm_contour_free(&c);
}

/* A line of faint pixels is no thinner than half a pixel, and a bridge that would be is cut. */
TEST(nothing_is_thinner_than_half_a_pixel) {
  float mask[W * H] = {0};
  for (int i = 10; i < 30; ++i) mask[20 * W + i] = 0.51F;
  for (int k = 0; k < 100; ++k) mask[(32 + k / 10) * W + 10 + k % 10] = 1;
  for (int k = 0; k < 100; ++k) mask[(42 + k / 10 % 4) * W + 20 + k % 10] = 1;
  mask[41 * W + 20] = mask[42 * W + 19] = 0.02F; /* beside the corner that they share */
  cvtm_contour c = trace(mask);
  assert_int_equal(c.arc_count, 2);
  cvtm_contour_free(&c);
  mask[41 * W + 19] = mask[42 * W + 20] = 0.501F; /* the bridge is 0.02 wide and more */
  mask[41 * W + 20] = mask[42 * W + 19] = 0.498F;
  c = trace(mask);
  assert_int_equal(c.arc_count, 3);
  double low = H, high = 0;
  for (int64_t k = 0; k < c.start[c.arc_count]; ++k) {
    const double x = c.points[2 * k], y = c.points[2 * k + 1];
    if (y > 22 || x < 12 || x > 28) continue;
    low = fmin(low, y);
    high = fmax(high, y);
  }
  assert_true(high - low > 0.499 && high - low < 0.501);
  cvtm_contour_free(&c);
}

/* Of a disc with a notch; wishes are the vertices' own places, turned by an angle. */
static void turn_wishes(const cvtm_boundary *b, double angle, double *wish) {
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    const double x = b->points[2 * v] - 32, y = b->points[2 * v + 1] - 24;
    wish[2 * v] = 32 + x * cos(angle) - y * sin(angle);
    wish[2 * v + 1] = 24 + x * sin(angle) + y * cos(angle);
  }
}

/* Sliding keeps corners, order, area and the distance to the contour, and does nothing where it
 * is not wished for. */
TEST(slides_along_the_contour) {
  float mask[W * H];
  for (int k = 0; k < W * H; ++k) {
    const double x = k % W + 0.5 - 32, y = k / W + 0.5 - 24;
    const double d = fmin(20 - hypot(x, y), fmax(-x - 4, fabs(y) - 3));
    mask[k] = (float)fmin(fmax(d + 0.5, 0), 1);
  }
  cvtm_contour c = trace(mask);
  const double spacing = 3;
  cvtm_boundary b = {0};
  assert_ok(cvtm_boundary_sample(&c, constant, &spacing, &b, NULL));
  double wish[2 * W * H], old[2 * W * H];
  memcpy(old, b.points, (size_t)(2 * b.vertex_count) * sizeof *old);
  turn_wishes(&b, 0, wish);
  const int64_t n = b.vertex_count;
  assert_ok(cvtm_boundary_slide(&c, wish, 0, &b, NULL));
  for (int64_t k = 0; k < 2 * n; ++k) assert_true(fabs(b.points[k] - old[k]) < 1e-9);
  /* By more than a third of the spacing, and back: as far as that and no farther. */
  for (int way = -1; way <= 1; way += 2) {
    turn_wishes(&b, way * 0.2, wish);
    assert_ok(cvtm_boundary_slide(&c, wish, 1, &b, NULL));
    assert_true(fabs(boundary_area(&b) / c.area - 1) < 1e-3);
    double farthest = 0;
    for (int64_t v = 0; v < n; ++v) {
      const double moved =
          hypot(b.points[2 * v] - old[2 * v], b.points[2 * v + 1] - old[2 * v + 1]);
      if (b.corner[v]) assert_true(moved == 0);
      farthest = fmax(farthest, moved);
    }
    assert_true(farthest > 0.25 * spacing && farthest < 0.45 * spacing);
    for (int64_t e = 0; e < b.edge_count; ++e) {
      const int32_t from = b.edges[2 * e], to = b.edges[2 * e + 1];
      assert_true(b.deviation[e] < 0.5);
      if (!b.corner[from] && !b.corner[to] && b.along[from] > 0 && b.along[to] > 0)
        assert_true(b.along[to] - b.along[from] > 0.3 * (b.home[to] - b.home[from]));
    }
  }
  cvtm_boundary_free(&b);
  cvtm_contour_free(&c);
}

TEST_MAIN()
