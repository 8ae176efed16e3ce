/* Pictures: what the state says is where it should be, layer by layer, and events do what they
 * should. Drawn in memory by EGL; skipped where there is none. */

#include "testing.h"

#include "draw/raster.h"
#include "viewer/control.h"
#include "viewer/render.h"
#include "viewer/surface.h"

enum { WIDTH = 400, HEIGHT = 300, SIDE = 40 };

static cvtm_surface *surface;
static cvtm_render *render;
static cvtm_view_frame frame;
static cvtm_view view;
static unsigned char pixels[3 * WIDTH * HEIGHT];
static float density[SIDE * SIDE];

/* Four cells, the quarters of a square of 40 x 40, drawn 6 to 1. */
static int set_up(void **state) {
  static const double sites[] = {10, 10, 30, 10, 10, 30, 30, 30};
  cvtm_error error = {CVTM_OK, ""};
  (void)state;
  frame.state.domain = (cvtm_domain){SIDE, SIDE, 0};
  if (cvtm_view_state_reserve(&frame.state, 4, &error) != CVTM_OK) return 1;
  memcpy(frame.state.sites, sites, sizeof sites);
  frame.state.count = 4;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = p % SIDE < SIDE / 2 ? 1 : 0;
  if (cvtm_view_frame_build(&frame, &error) != CVTM_OK) return 1;
  cvtm_render_set_frame(render, &frame);
  return cvtm_render_set_sites(render, &error) != CVTM_OK ||
         cvtm_render_set_density(render, density, frame.state.domain, &error) != CVTM_OK;
}

static int tear_down(void **state) {
  (void)state;
  cvtm_view_frame_free(&frame);
  return 0;
}

static void draw(unsigned layers) {
  cvtm_error error = {CVTM_OK, ""};
  view = (cvtm_view){.width = WIDTH,
                     .height = HEIGHT,
                     .scale = 1,
                     .x = 20,
                     .y = 20,
                     .zoom = 6,
                     .layers = layers,
                     .fill = CVTM_FILL_SITE,
                     .device = "",
                     .tool = "",
                     .note = ""};
  if (cvtm_render_draw(render, &view, &error) != CVTM_OK) fail_msg("%s", error.message);
  if (cvtm_render_read(WIDTH, HEIGHT, pixels, &error) != CVTM_OK) fail_msg("%s", error.message);
}

/* The colour at a place of the domain. */
static const unsigned char *at(double x, double y) {
  const double place[2] = {x, y};
  double screen[2];
  cvtm_view_to_screen(&view, place, screen);
  return pixels + 3 * ((int)screen[1] * WIDTH + (int)screen[0]);
}

static int differs(const unsigned char *a, const unsigned char *b) {
  return abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]) > 24;
}

static void assert_colour(const unsigned char *pixel, const float colour[3]) {
  for (int c = 0; c < 3; ++c) {
    /* Both round to 8 bits. */
    if (abs(pixel[c] - (int)(255 * colour[c] + 0.5f)) > 1)
      fail_msg("channel %d is %d, not %g", c, pixel[c], 255 * (double)colour[c]);
  }
}

TEST(test_ground) {
  const cvtm_theme *theme = cvtm_theme_of(0);
  draw(0);
  assert_colour(at(20, 20), theme->paper);
  assert_colour(at(39.5, 0.5), theme->paper);
  assert_colour(at(-2, 20), theme->ground);
  assert_colour(at(20, 42), theme->ground);
}

TEST(test_density) {
  draw(CVTM_LAYER_DENSITY);
  assert_true(at(10, 20)[0] < 100); /* ink on the left */
  assert_colour(at(30, 20), cvtm_theme_of(0)->paper);
}

TEST(test_cells) {
  draw(CVTM_LAYER_CELLS);
  const unsigned char *quarters[4] = {at(4, 4), at(36, 4), at(4, 36), at(36, 36)};
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < a; ++b) assert_true(differs(quarters[a], quarters[b]));
  assert_false(differs(at(4, 4), at(18, 18)));
  assert_true(differs(at(18, 18), at(22, 18)));
  assert_colour(at(41.5, 20), cvtm_theme_of(0)->ground);
}

TEST(test_edges) {
  draw(CVTM_LAYER_CELL_EDGES);
  assert_true(differs(at(20, 5), at(16, 5)));
  assert_true(differs(at(5, 20), at(5, 16)));
  assert_colour(at(16, 5), cvtm_theme_of(0)->paper);
}

TEST(test_sites) {
  draw(CVTM_LAYER_SITES);
  for (int i = 0; i < 4; ++i)
    assert_true(differs(at(frame.state.sites[2 * i], frame.state.sites[2 * i + 1]), at(20, 20)));
  assert_colour(at(20, 20), cvtm_theme_of(0)->paper);
}

TEST(test_mesh_edges) {
  draw(CVTM_LAYER_MESH_EDGES);
  assert_true(differs(at(20, 10), at(20, 14))); /* between the upper two sites */
  assert_true(differs(at(10, 20), at(14, 20)));
  assert_colour(at(5, 5), cvtm_theme_of(0)->paper);
}

TEST(test_boundary) {
  draw(CVTM_LAYER_BOUNDARY);
  assert_true(differs(at(0.1, 20), at(3, 20)));
  assert_true(differs(at(20, 39.9), at(20, 36)));
  assert_colour(at(20, 20), cvtm_theme_of(0)->paper);
}

TEST(test_defects) {
  /* No inner cell here: nothing to see, and nothing fails. */
  draw(CVTM_LAYER_DEFECTS);
  assert_colour(at(10, 10), cvtm_theme_of(0)->paper);
  frame.defects[0] = 20;
  frame.defects[1] = 20;
  frame.defects[2] = 5;
  frame.defect_count = 1;
  cvtm_render_set_frame(render, &frame);
  draw(CVTM_LAYER_DEFECTS);
  assert_true(differs(at(20, 20), at(10, 10)));
}

TEST(test_figures_and_help) {
  cvtm_error error = {CVTM_OK, ""};
  draw(CVTM_LAYER_FIGURES);
  int inked = 0;
  for (int x = 0; x < WIDTH; ++x) inked += pixels[3 * ((HEIGHT - 21) * WIDTH + x)] < 120;
  assert_true(inked > 20);
  view.layers = CVTM_LAYER_PLOT | CVTM_LAYER_FIGURES;
  view.help = 1;
  view.dark = 1;
  view.note = "saved";
  view.brush = 5;
  view.scale = 2;
  if (cvtm_render_draw(render, &view, &error) != CVTM_OK) fail_msg("%s", error.message);
}

/* ---- Events ---- */

static void key(cvtm_control *control, int letter) {
  const cvtm_event event = {.kind = CVTM_EVENT_KEY, .key = letter};
  cvtm_control_event(control, &event);
}

static void mouse(cvtm_control *control, cvtm_event_kind kind, double x, double y, double time) {
  const cvtm_event event = {.kind = kind, .x = x, .y = y, .time = time, .amount = 2};
  cvtm_control_event(control, &event);
}

static void start_control(cvtm_control *control) {
  const cvtm_event size = {.kind = CVTM_EVENT_RESIZE, .width = WIDTH, .height = HEIGHT, .scale = 1};
  cvtm_control_init(control, NULL, frame.state.domain);
  cvtm_control_event(control, &size);
}

TEST(test_keys) {
  cvtm_control control;
  start_control(&control);
  const unsigned before = control.view.layers;
  for (int digit = '1'; digit <= '9'; ++digit) key(&control, digit);
  assert_int_equal(control.view.layers, ~before & 0x1ff);
  key(&control, 't');
  assert_true(control.view.dark);
  key(&control, 'c');
  assert_int_equal(control.view.fill, CVTM_FILL_SITE);
  key(&control, 'h');
  assert_true(control.view.help);
  key(&control, CVTM_KEY_ESCAPE);
  assert_false(control.view.help || control.quit);
  key(&control, 'q');
  assert_true(control.quit);
}

/* The place under the cursor stays there while zooming; panning moves it along; a double click
 * shows everything again. */
/* Two pictures of the same cells differ in few pixels, those that the middle of a seam meets. */
static void compare_pictures(const unsigned char *a, const unsigned char *b) {
  int differing = 0;
  for (int k = 0; k < WIDTH * HEIGHT; ++k) {
    int most = 0;
    for (int c = 0; c < 3; ++c) most = (int)fmax(most, abs(a[3 * k + c] - b[3 * k + c]));
    differing += most > 24;
  }
  if (differing > WIDTH * HEIGHT / 200) fail_msg("%d pixels of %d", differing, WIDTH * HEIGHT);
}

/* Labels give the picture of the cells' geometry; also where discs of sites leave holes. */
TEST(test_labels_look_like_cells) {
  enum { SITES = 150 };
  static unsigned char geometry[3 * WIDTH * HEIGHT];
  cvtm_view_frame many = {.state.domain = {SIDE, SIDE, 0}};
  assert_ok(cvtm_view_state_reserve(&many.state, SITES, NULL));
  many.state.count = SITES;
  for (int k = 0; k < 2 * SITES; ++k) {
    const double place = fmod(0.5 + (k + 1) * (k % 2 ? 0.7548776662 : 0.5698402910), 1);
    many.state.sites[k] = SIDE * place * place; /* cells of very different size */
  }
  assert_ok(cvtm_view_frame_build(&many, NULL));
  for (int edges = 0; edges <= 1; ++edges) {
    const unsigned layers = CVTM_LAYER_CELLS | (edges ? CVTM_LAYER_CELL_EDGES : 0u);
    cvtm_render_set_frame(render, &many);
    assert_ok(cvtm_render_set_sites(render, NULL));
    draw(layers);
    memcpy(geometry, pixels, sizeof geometry);
    cvtm_render_set_fewest_labels(render, 1);
    draw(layers);
    cvtm_render_set_fewest_labels(render, 200000);
    compare_pictures(geometry, pixels);
  }
  cvtm_view_frame_free(&many);
  cvtm_render_set_frame(render, &frame);
  assert_ok(cvtm_render_set_sites(render, NULL));
}

TEST(test_zoom_pan_fit) {
  cvtm_control control;
  const double cursor[2] = {130, 70}, moved[2] = {160, 50};
  double before[2], after[2];
  start_control(&control);
  const cvtm_view fitted = control.view;
  cvtm_view_to_domain(&control.view, cursor, before);
  mouse(&control, CVTM_EVENT_SCROLL, cursor[0], cursor[1], 0);
  cvtm_view_to_domain(&control.view, cursor, after);
  assert_true(control.view.zoom > fitted.zoom);
  assert_true(hypot(after[0] - before[0], after[1] - before[1]) < 1e-9);
  mouse(&control, CVTM_EVENT_PRESS, cursor[0], cursor[1], 1);
  mouse(&control, CVTM_EVENT_MOVE, moved[0], moved[1], 1.1);
  mouse(&control, CVTM_EVENT_RELEASE, moved[0], moved[1], 1.2);
  cvtm_view_to_domain(&control.view, moved, after);
  assert_true(hypot(after[0] - before[0], after[1] - before[1]) < 1e-9);
  for (int click = 0; click < 2; ++click) {
    mouse(&control, CVTM_EVENT_PRESS, 10, 10, 2 + 0.2 * click);
    mouse(&control, CVTM_EVENT_RELEASE, 10, 10, 2.05 + 0.2 * click);
  }
  assert_true(control.view.zoom == fitted.zoom && control.view.x == fitted.x);
}

int main(void) {
  cvtm_error error = {CVTM_OK, ""};
  if (cvtm_headless_create(WIDTH, HEIGHT, -1, &surface, &error) != CVTM_OK) {
    fprintf(stderr, "skipped: %s\n", error.message);
    return 77;
  }
  if (cvtm_render_create(&render, &error) != CVTM_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const int failed = cmocka_run_group_tests(testing_tests, set_up, tear_down);
  cvtm_render_destroy(render);
  surface->destroy(surface);
  return failed;
}
