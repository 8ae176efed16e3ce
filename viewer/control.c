#include "viewer/control.h"

#include <math.h>
#include <string.h>

static const double nearest_click = 9;   /* design pixels about a site that grab it */
static const double double_click = 0.35; /* seconds */
static const double smallest_drag = 4;   /* design pixels */

static const char *const brush_names[] = {"", "denser", "sparser", "obstacle"};

void cvtm_control_init(cvtm_control *control, cvtm_solver *solver, cvtm_domain domain) {
  memset(control, 0, sizeof *control);
  control->solver = solver;
  control->domain = domain;
  control->grabbed = -1;
  control->fitted = 1;
  control->changed = 1;
  control->released_time = -1;
  control->brush_radius = 0.04 * fmax(domain.width, domain.height);
  control->view.layers = CVTM_LAYER_CELLS | CVTM_LAYER_CELL_EDGES | CVTM_LAYER_SITES |
                         CVTM_LAYER_PLOT | CVTM_LAYER_FIGURES;
  control->view.scale = 1;
  control->view.width = control->view.height = 1;
  control->view.device = control->view.tool = control->view.note = "";
}

static void send_command(cvtm_control *c, cvtm_solver_command command) {
  const uint64_t number = cvtm_solver_send(c->solver, &command);
  if (number > 0) c->sent = number;
}

/* ---- Sites under the cursor ---- */

/* The site nearest to a place of the screen if it is within reach: the click's, but no more than
 * a part of the spacing, so that a drag that starts between sites pans. -1: none. */
static int64_t site_at(const cvtm_control *c, const double screen[2]) {
  if (!c->frame) return -1;
  double at[2], best = INFINITY;
  int64_t found = -1;
  const cvtm_view_state *state = &c->frame->state;
  cvtm_view_to_domain(&c->view, screen, at);
  for (int64_t i = 0; i < state->count; ++i) {
    const double dx = state->sites[2 * i] - at[0], dy = state->sites[2 * i + 1] - at[1];
    const double d2 = dx * dx + dy * dy;
    if (d2 < best) {
      best = d2;
      found = i;
    }
  }
  if (found < 0 || found >= c->frame->cell_count) return -1;
  const double spacing = sqrt((double)c->frame->cells[found].area) * c->view.zoom;
  const double reach = fmin(nearest_click * c->view.scale, 0.4 * spacing);
  return sqrt(best) * c->view.zoom <= reach ? found : -1;
}

static void hold(cvtm_control *c, int64_t site, const double screen[2]) {
  double at[2];
  cvtm_view_to_domain(&c->view, screen, at);
  send_command(
      c, (cvtm_solver_command){.kind = CVTM_SOLVE_HOLD, .site = site, .x = at[0], .y = at[1]});
}

static void paint(cvtm_control *c, const double screen[2]) {
  double at[2];
  cvtm_view_to_domain(&c->view, screen, at);
  send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_PAINT,
                                        .x = at[0],
                                        .y = at[1],
                                        .radius = c->brush_radius,
                                        .brush = c->brush});
}

/* ---- Keys ---- */

static const double brush_step = 1.25; /* factor of the radius */

static unsigned layer_of_key(int key) {
  static const struct {
    int key;
    unsigned layer;
  } keys[] = {
#define LAYER_KEY(code, bit, name, title, key) {key, code},
      CVTM_LAYER_LIST(LAYER_KEY)
#undef LAYER_KEY
  };
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; ++k)
    if (keys[k].key == key) return keys[k].layer;
  return 0;
}

static void fit(cvtm_control *c) {
  c->fitted = 1;
  cvtm_view_fit(&c->view, c->domain);
}

static void set_brush(cvtm_control *c, cvtm_brush brush) {
  c->brush = brush;
  c->view.tool = brush_names[brush];
  c->view.brush = brush == CVTM_BRUSH_NONE ? 0 : c->brush_radius;
}

static void size_brush(cvtm_control *c, double factor) {
  const double most = 0.5 * fmax(c->domain.width, c->domain.height);
  c->brush_radius = fmin(fmax(c->brush_radius * factor, 0.5), fmax(most, 0.5));
  set_brush(c, c->brush);
}

/* A tenth more or fewer, at least one. */
static void scatter_tenth(cvtm_control *c, int sign) {
  const int64_t count = c->frame ? c->frame->state.count : 10;
  const int64_t tenth = count / 10 > 0 ? count / 10 : 1;
  send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_SCATTER, .site = sign * tenth});
}

/* Nonzero if the key is one that the solver answers to. */
static int press_solver_key(cvtm_control *c, int key) {
  static const struct {
    int key;
    cvtm_solver_command_kind kind;
  } keys[] = {{' ', CVTM_SOLVE_PAUSE},
              {'n', CVTM_SOLVE_STEP},
              {'r', CVTM_SOLVE_RESEED},
              {'l', CVTM_SOLVE_METHOD}};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; ++k) {
    if (keys[k].key != key) continue;
    send_command(c, (cvtm_solver_command){.kind = keys[k].kind});
    return 1;
  }
  if (key != '+' && key != '=' && key != '-') return 0;
  scatter_tenth(c, key == '-' ? -1 : 1);
  return 1;
}

static void press_key(cvtm_control *c, int key) {
  const unsigned layer = layer_of_key(key);
  c->view.layers ^= layer;
  if (layer && c->fitted) fit(c); /* the line of figures needs space */
  if (press_solver_key(c, key)) return;
  switch (key) {
    case 'f':
      fit(c);
      break;
    case 'b':
      set_brush(c, (cvtm_brush)((c->brush + 1) % CVTM_BRUSH_COUNT));
      break;
    case '[':
    case ']':
      size_brush(c, key == ']' ? brush_step : 1 / brush_step);
      break;
    case 'c':
      c->view.fill = (cvtm_fill)((c->view.fill + 1) % CVTM_FILL_COUNT);
      break;
    case 't':
      c->view.dark = !c->view.dark;
      break;
    case 's':
      c->save = 1;
      break;
    case 'h':
    case '?':
      c->view.help = !c->view.help;
      break;
    case CVTM_KEY_ESCAPE:
      if (!c->view.help) c->quit = 1;
      c->view.help = 0;
      break;
    case 'q':
      c->quit = 1;
      break;
    default:
      break;
  }
}

/* ---- Mouse ---- */

static void zoom_at(cvtm_control *c, const double screen[2], double factor) {
  double before[2], after[2];
  const double smallest = 0.2 * fmin((double)c->view.width / c->domain.width,
                                     (double)c->view.height / c->domain.height);
  cvtm_view_to_domain(&c->view, screen, before);
  c->view.zoom = fmin(fmax(c->view.zoom * factor, smallest), 4000);
  cvtm_view_to_domain(&c->view, screen, after);
  c->view.x += before[0] - after[0];
  c->view.y += before[1] - after[1];
  c->fitted = 0;
}

static void press(cvtm_control *c, const cvtm_event *event) {
  const double at[2] = {event->x, event->y};
  memcpy(c->last, at, sizeof at);
  memcpy(c->pressed, at, sizeof at);
  c->pressed_time = event->time;
  if (event->button != 0) {
    c->dragging = 1;
    return;
  }
  if (c->brush != CVTM_BRUSH_NONE) {
    c->painting = 1;
    paint(c, at);
  } else if (event->modifiers & CVTM_SHIFT) {
    double place[2];
    cvtm_view_to_domain(&c->view, at, place);
    send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_ADD, .x = place[0], .y = place[1]});
  } else if (event->modifiers & CVTM_CONTROL) {
    const int64_t site = site_at(c, at);
    if (site >= 0) send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_DELETE, .site = site});
  } else {
    c->grabbed = site_at(c, at);
    c->dragging = c->grabbed < 0;
  }
}

static void release_button(cvtm_control *c, const cvtm_event *event) {
  const double way = hypot(event->x - c->pressed[0], event->y - c->pressed[1]);
  const int click = c->dragging && event->button == 0 && way < smallest_drag * c->view.scale;
  if (c->grabbed >= 0) send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_LET_GO});
  if (click && c->released_time >= 0 && event->time - c->released_time < double_click) {
    fit(c);
    c->released_time = -1;
  } else {
    c->released_time = click ? event->time : -1;
  }
  c->grabbed = -1;
  c->dragging = c->painting = 0;
}

static void move(cvtm_control *c, const cvtm_event *event) {
  const double at[2] = {event->x, event->y};
  memcpy(c->view.cursor, at, sizeof at);
  if (c->grabbed >= 0) hold(c, c->grabbed, at);
  if (c->painting) paint(c, at);
  if (c->dragging) {
    c->view.x -= (at[0] - c->last[0]) / c->view.zoom;
    c->view.y -= (at[1] - c->last[1]) / c->view.zoom;
    c->fitted = 0;
  }
  memcpy(c->last, at, sizeof at);
  c->changed |= c->dragging || c->brush != CVTM_BRUSH_NONE;
}

static void resize_view(cvtm_control *c, const cvtm_event *event) {
  c->view.width = event->width > 0 ? event->width : 1;
  c->view.height = event->height > 0 ? event->height : 1;
  c->view.scale = event->scale > 0 ? event->scale : 1;
  if (c->fitted) fit(c);
}

void cvtm_control_event(cvtm_control *c, const cvtm_event *event) {
  c->changed |= event->kind != CVTM_EVENT_MOVE;
  switch (event->kind) {
    case CVTM_EVENT_KEY:
      press_key(c, event->key);
      break;
    case CVTM_EVENT_PRESS:
      press(c, event);
      break;
    case CVTM_EVENT_RELEASE:
      release_button(c, event);
      break;
    case CVTM_EVENT_MOVE:
      move(c, event);
      break;
    case CVTM_EVENT_SCROLL: {
      const double at[2] = {event->x, event->y};
      zoom_at(c, at, pow(1.15, event->amount));
      break;
    }
    case CVTM_EVENT_RESIZE:
      resize_view(c, event);
      break;
    case CVTM_EVENT_REDRAW:
      break;
    case CVTM_EVENT_CLOSE:
      c->quit = 1;
      break;
  }
}
