/* Geometry, history, mailbox, typeface, scripts and the page: all that needs no OpenGL. */

#include "testing.h"

#include "base/random.h"
#include "draw/raster.h"
#include "viewer/canvas.h"
#include "viewer/frame.h"
#include "viewer/mailbox.h"
#include "viewer/page.h"
#include "viewer/control.h"

#include <unistd.h>

static void make_frame(cvtm_view_frame *frame, cvtm_domain domain, int64_t count) {
  memset(frame, 0, sizeof *frame);
  frame->state.domain = domain;
  assert_ok(cvtm_view_state_reserve(&frame->state, count, NULL));
  frame->state.count = count;
  for (int64_t i = 0; i < count; ++i) {
    double u[2];
    cvtm_random_uniform2(7, 0, (uint64_t)i, u);
    frame->state.sites[2 * i] = u[0] * domain.width;
    frame->state.sites[2 * i + 1] = u[1] * domain.height;
  }
  assert_ok(cvtm_view_frame_build(frame, NULL));
}

TEST(test_cells_tile_the_domain) {
  cvtm_view_frame frame;
  const cvtm_domain domain = {200, 120, 0};
  make_frame(&frame, domain, 700);
  double area = 0;
  for (int64_t i = 0; i < frame.cell_count; ++i) area += (double)frame.cells[i].area;
  /* Areas are floats: 700 roundings of half a unit in the last place each. */
  assert_true(fabs(area - 200.0 * 120.0) < 700 * 200 * 120 * 6e-8);
  /* The triangles cover every cell: the shoelace formula over all of them. */
  double covered = 0;
  for (int64_t k = 0; k < frame.index_count; k += 3) {
    const cvtm_view_vertex *a = &frame.vertices[frame.indices[k]];
    const cvtm_view_vertex *b = &frame.vertices[frame.indices[k + 1]];
    const cvtm_view_vertex *c = &frame.vertices[frame.indices[k + 2]];
    assert_int_equal(a->across, CVTM_VIEW_CENTRE);
    assert_int_equal(a->cell, c->cell);
    covered += 0.5 * fabs((double)(b->x - a->x) * (double)(c->y - a->y) -
                          (double)(b->y - a->y) * (double)(c->x - a->x));
  }
  assert_true(fabs(covered - 200.0 * 120.0) < 0.5);
  cvtm_view_frame_free(&frame);
}

TEST(test_edges_know_both_cells) {
  cvtm_view_frame frame;
  make_frame(&frame, (cvtm_domain){64, 64, 0}, 150);
  int64_t borders = 0;
  for (int64_t k = 2; k < frame.index_count; k += 3) {
    const cvtm_view_vertex *corner = &frame.vertices[frame.indices[k]];
    if (corner->across == CVTM_VIEW_BORDER) {
      ++borders;
      continue;
    }
    int found = 0;
    for (int64_t j = 2; j < frame.index_count && !found; j += 3) {
      const cvtm_view_vertex *other = &frame.vertices[frame.indices[j]];
      found = other->cell == corner->across && other->across == corner->cell;
    }
    assert_true(found);
  }
  assert_true(borders >= 4);
  cvtm_view_frame_free(&frame);
}

/* Euler: inner cells have six sides on average; a hexagonal lattice has no defect. */
TEST(test_defects_of_a_lattice) {
  enum { COLUMNS = 12, ROWS = 10 };
  cvtm_view_frame frame = {.state = {.domain = {120, 90, 0}}};
  assert_ok(cvtm_view_state_reserve(&frame.state, COLUMNS * ROWS, NULL));
  for (int j = 0; j < ROWS; ++j) {
    for (int i = 0; i < COLUMNS; ++i) {
      double *site = frame.state.sites + 2 * frame.state.count++;
      site[0] = 10 * i + (j % 2 ? 7.5 : 2.5);
      site[1] = 9 * j + 4.5;
    }
  }
  assert_ok(cvtm_view_frame_build(&frame, NULL));
  assert_int_equal(frame.defect_count, 0);
  /* One site out of its place gives defects in pairs: their charges add up to zero. */
  const int64_t middle = COLUMNS * (ROWS / 2) + COLUMNS / 2;
  frame.state.sites[2 * middle] += 8;
  frame.state.sites[2 * middle + 1] += 3;
  assert_ok(cvtm_view_frame_build(&frame, NULL));
  double charge = 0;
  for (int64_t k = 0; k < frame.defect_count; ++k) charge += 6 - (double)frame.defects[3 * k + 2];
  assert_true(frame.defect_count >= 2);
  assert_true(charge == 0);
  cvtm_view_frame_free(&frame);
}

TEST(test_few_sites) {
  for (int64_t count = 0; count < 4; ++count) {
    cvtm_view_frame frame;
    make_frame(&frame, (cvtm_domain){10, 10, 0}, count);
    assert_int_equal(frame.cell_count, count);
    cvtm_view_frame_free(&frame);
  }
}

TEST(test_history_thins) {
  cvtm_view_history history = {0};
  for (int k = 0; k < 5 * CVTM_VIEW_HISTORY; ++k)
    cvtm_view_history_add(&history, k, 1.0 + k, 0.5 * k);
  assert_true(history.count > CVTM_VIEW_HISTORY / 4 && history.count <= CVTM_VIEW_HISTORY);
  for (int k = 0; k < history.count; ++k) {
    assert_true(history.iteration[k] == (float)(k * history.stride));
    assert_true(history.ratio[k] == 1 + history.iteration[k]);
  }
}

TEST(test_floor_is_below_every_ratio) {
  cvtm_view_history history = {0};
  cvtm_view_history_add(&history, 0, 1.5, 1);
  assert_true(cvtm_view_history_floor(&history) == 1);
  cvtm_view_history_add(&history, 1, 0.96, 1);
  const double low = cvtm_view_history_floor(&history);
  assert_true(low < 0.96 && low > 0.95);
}

TEST(test_mailbox_gives_the_newest) {
  cvtm_mailbox box;
  int slots[CVTM_MAILBOX_SLOTS] = {0};
  cvtm_mailbox_open(&box);
  assert_false(cvtm_mailbox_take(&box));
  for (int value = 1; value <= 5; ++value) {
    slots[box.back] = value;
    cvtm_mailbox_publish(&box);
    assert_false(cvtm_mailbox_wanted(&box));
  }
  assert_true(cvtm_mailbox_take(&box));
  assert_int_equal(slots[box.front], 5);
  assert_true(cvtm_mailbox_wanted(&box));
  assert_false(cvtm_mailbox_take(&box));
  assert_int_not_equal(box.front, box.back);
}

TEST(test_every_glyph) {
  enum { WIDTH = 12, HEIGHT = 20 };
  for (int glyph = 1; glyph < CVTM_FONT_GLYPHS; ++glyph) {
    unsigned char pixels[WIDTH * HEIGHT] = {0};
    int sum = 0;
    assert_int_equal(strlen(cvtm_font_strokes[glyph]) > 0, 1);
    cvtm_font_draw(glyph, WIDTH, HEIGHT, 11, 1.5, pixels, WIDTH);
    for (int k = 0; k < WIDTH * HEIGHT; ++k) sum += pixels[k];
    assert_true(sum > 255 && sum < 255 * WIDTH * HEIGHT / 2);
    for (const char *c = cvtm_font_strokes[glyph]; *c; ++c)
      assert_non_null(strchr("012345678 9abo~", *c));
  }
}

/* Lightness falls, or in the dark rises, from large cells to small ones without a step back. */
TEST(test_ramps_are_monotonic) {
  static unsigned char pixels[CVTM_PALETTE_ROWS][CVTM_PALETTE_WIDTH][4];
  for (int dark = 0; dark < 2; ++dark) {
    cvtm_palette_fill(dark, pixels);
    double last = dark ? -1 : 256;
    for (int k = 0; k < CVTM_PALETTE_WIDTH; k += 5) {
      const unsigned char *p = pixels[0][k];
      const double light = 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2];
      assert_true(dark ? light > last : light < last);
      last = light;
    }
  }
}

TEST(test_layers) {
  unsigned layers = 0;
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(cvtm_layers_parse("sites,cell-edges", &layers, &error));
  assert_int_equal(layers, CVTM_LAYER_SITES | CVTM_LAYER_CELL_EDGES);
  assert_refused(cvtm_layers_parse("site", &layers, &error));
  assert_non_null(strstr(error.message, "'site'"));
  assert_int_equal(layers, CVTM_LAYER_SITES | CVTM_LAYER_CELL_EDGES);
}

/* Wrong scripts are refused with the line, before anything is sent. */
TEST(test_wrong_scripts) {
  static const char *const texts[] = {
      "\nfly 1 2\n",   "# x\nkey\n", "\nkey nowhere", "\nmove 3",    "\nmove 1 2x",
      "\nmove 1i 2",   "\nsize 4 4", "\nscroll 1 2",  "\nshot",      "\nlayers cells,x",
      "\nclick nan 2", "\nwait",     "\nframes many", "\ndrag 1 2 3"};
  for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
    cvtm_script script;
    cvtm_surface surface = {0};
    cvtm_control control = {.view = {.zoom = 1, .width = 100, .height = 100}};
    cvtm_error error = {CVTM_OK, ""};
    int waits;
    cvtm_script_init(&script, "test", texts[k]);
    assert_int_equal(cvtm_script_play(&script, &control, &surface, &waits, &error),
                     CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, "test: line 2: "));
  }
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

TEST(test_page_is_safe_and_whole) {
  char folder[] = "/tmp/cvtmesh-page-XXXXXX", picture[64], path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(picture, sizeof picture, "%s/p.png", folder);
  snprintf(path, sizeof path, "%s/index.html", folder);
  FILE *file = fopen(picture, "wb");
  assert_non_null(file);
  fputs("Man", file); /* TWFu in base 64 */
  fclose(file);
  cvtm_view_history history = {0};
  cvtm_view_history_add(&history, 0, 1.5, 2);
  cvtm_view_history_add(&history, 1, 1.25, (double)NAN);
  const cvtm_page_picture pictures[] = {{picture, 3, 10, 1.25}};
  cvtm_html_page page = {"<b>&\"", 1, pictures, 1, &history, "{\"a\": \"</pre>\"}"};
  cvtm_error error = {CVTM_OK, ""};
  assert_ok(cvtm_page_write(path, &page, &error));
  char *text = read_text(path);
  assert_non_null(strstr(text, "\"png\":\"TWFu\""));
  assert_non_null(strstr(text, "<title>&#60;b&#62;&#38;&#34;</title>"));
  assert_null(strstr(text, "\"</pre>"));
  assert_null(strstr(text, "http"));
  assert_null(strstr(text, "nan"));
  free(text);
  /* Without a picture there is no page, and the old one stays. */
  unlink(picture);
  assert_int_not_equal(cvtm_page_write(path, &page, &error), CVTM_OK);
  assert_int_equal(access(path, R_OK), 0);
  unlink(path);
  rmdir(folder);
}

TEST_MAIN()
