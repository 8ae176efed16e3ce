#include "viewer/control.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double nearest_click = 9;   /* design pixels within which a click grabs a site */
static const double double_click = 0.35; /* longest time between the clicks, seconds */
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

/* The site nearest to a point of the screen; -1 if there is none within reach. The reach is at most
 * a fraction of the spacing, so that a drag that starts between sites moves the view. */
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

static const double brush_step = 1.25; /* factor by which a key changes the radius */

const cvtm_layer_row cvtm_layer_rows[CVTM_LAYERS] = {CVTM_LAYER_LIST(CVTM_LAYER_ROW)};

static unsigned layer_of_key(int key) {
  for (int k = 0; k < CVTM_LAYERS; ++k)
    if (cvtm_layer_rows[k].key == key) return cvtm_layer_rows[k].layer;
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

/* Adds or removes a tenth of the sites, but at least one. */
static void scatter_tenth(cvtm_control *c, int sign) {
  const int64_t count = c->frame ? c->frame->state.count : 10;
  const int64_t tenth = count / 10 > 0 ? count / 10 : 1;
  send_command(c, (cvtm_solver_command){.kind = CVTM_SOLVE_SCATTER, .site = sign * tenth});
}

/* Handles keys that send commands to the solver; returns 0 for other keys. */
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
  if (layer && c->fitted) fit(c); /* the status line needs space */
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

/* ---- Scripts: one line ---- */

enum { MAX_WORDS = 8, MAX_LINE = 640 };

void cvtm_script_init(cvtm_script *script, const char *name, const char *text) {
  memset(script, 0, sizeof *script);
  script->name = name;
  script->next = text;
  script->until = -1;
}

cvtm_status cvtm_layers_parse(const char *list, unsigned *layers, cvtm_error *error) {
  const cvtm_layer_row *known = cvtm_layer_rows;
  unsigned found = 0;
  while (*list) {
    const size_t length = strcspn(list, ",");
    int k = 0;
    while (k < CVTM_LAYERS &&
           (strlen(known[k].name) != length || strncmp(known[k].name, list, length) != 0))
      ++k;
    if (k == CVTM_LAYERS)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "there is no layer '%.*s'", (int)length, list);
    found |= known[k].layer;
    list += length + (list[length] == ',');
  }
  *layers = found;
  return CVTM_OK;
}

typedef struct action {
  cvtm_script *script;
  cvtm_control *control;
  cvtm_surface *surface;
  char *words[MAX_WORDS];
  int count;
  cvtm_error *error;
} action;

static cvtm_status complain(const action *a, const char *what) {
  return cvtm_fail(a->error, CVTM_ERROR_INPUT, "%s: line %d: %s", a->script->name, a->script->line,
                   what);
}

static cvtm_status read_number(const action *a, int word, double *number) {
  if (word >= a->count) return complain(a, "a number is missing");
  char *end;
  *number = strtod(a->words[word], &end);
  if (end == a->words[word] || *end != '\0' || !(*number > -1e9 && *number < 1e9))
    return complain(a, "a word is not a number");
  return CVTM_OK;
}

/* Reads two coordinates: in pixels of the framebuffer or, with the suffix i, of the image. */
static cvtm_status read_place(const action *a, int word, double screen[2]) {
  double domain[2];
  int of_image = 0;
  for (int c = 0; c < 2; ++c) {
    if (word + c >= a->count) return complain(a, "a coordinate is missing");
    char *text = a->words[word + c];
    const size_t length = strlen(text);
    if (length > 1 && text[length - 1] == 'i') {
      text[length - 1] = '\0';
      of_image |= 1 << c;
    }
    CVTM_TRY(read_number(a, word + c, &screen[c]));
  }
  if (of_image == 0) return CVTM_OK;
  if (of_image != 3) return complain(a, "x and y must both have the suffix i, or neither");
  memcpy(domain, screen, sizeof domain);
  cvtm_view_to_screen(&a->control->view, domain, screen);
  return CVTM_OK;
}

static void send_event(const action *a, cvtm_event event) {
  a->script->clock += 0.05;
  event.time = a->script->clock;
  cvtm_control_event(a->control, &event);
}

static void send_mouse(const action *a, cvtm_event_kind kind, const double at[2], int word) {
  cvtm_event event = {.kind = kind, .x = at[0], .y = at[1]};
  for (; word < a->count; ++word) {
    const char *text = a->words[word];
    if (strcmp(text, "right") == 0) event.button = 1;
    if (strcmp(text, "middle") == 0) event.button = 2;
    if (strcmp(text, "shift") == 0) event.modifiers |= CVTM_SHIFT;
    if (strcmp(text, "ctrl") == 0) event.modifiers |= CVTM_CONTROL;
  }
  send_event(a, event);
}

static cvtm_status do_key(const action *a) {
  static const struct {
    const char *name;
    int key;
  } named[] = {{"space", ' '}, {"plus", '+'}, {"minus", '-'}, {"escape", CVTM_KEY_ESCAPE}};
  if (a->count < 2) return complain(a, "which key?");
  int key = strlen(a->words[1]) == 1 ? a->words[1][0] : 0;
  if (key >= 'A' && key <= 'Z') key += 'a' - 'A';
  for (size_t k = 0; k < sizeof named / sizeof named[0]; ++k)
    if (strcmp(named[k].name, a->words[1]) == 0) key = named[k].key;
  if (key == 0) return complain(a, "unknown key");
  send_event(a, (cvtm_event){.kind = CVTM_EVENT_KEY, .key = key});
  return CVTM_OK;
}

static cvtm_status do_mouse(const action *a) {
  const char *what = a->words[0];
  double at[2];
  CVTM_TRY(read_place(a, 1, at));
  if (strcmp(what, "move") == 0 || strcmp(what, "press") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_MOVE, at, 3);
  if (strcmp(what, "press") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_PRESS, at, 3);
  if (strcmp(what, "release") == 0) send_mouse(a, CVTM_EVENT_MOVE, at, 3);
  if (strcmp(what, "release") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_RELEASE, at, 3);
  return CVTM_OK;
}

/* Drags, moving the cursor in steps as a mouse does. */
static cvtm_status do_drag(const action *a) {
  enum { STEPS = 8 };
  double from[2], to[2];
  CVTM_TRY(read_place(a, 1, from));
  CVTM_TRY(read_place(a, 3, to));
  send_mouse(a, CVTM_EVENT_MOVE, from, 5);
  send_mouse(a, CVTM_EVENT_PRESS, from, 5);
  for (int k = 1; k <= STEPS; ++k) {
    const double t = (double)k / STEPS;
    const double at[2] = {from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])};
    send_mouse(a, CVTM_EVENT_MOVE, at, 5);
  }
  send_mouse(a, CVTM_EVENT_RELEASE, to, 5);
  return CVTM_OK;
}

static cvtm_status do_scroll(const action *a) {
  double at[2], notches = 0;
  CVTM_TRY(read_place(a, 1, at));
  CVTM_TRY(read_number(a, 3, &notches));
  send_event(a, (cvtm_event){.kind = CVTM_EVENT_SCROLL, .x = at[0], .y = at[1], .amount = notches});
  return CVTM_OK;
}

static cvtm_status do_size(const action *a) {
  double width = 0, height = 0;
  CVTM_TRY(read_number(a, 1, &width));
  CVTM_TRY(read_number(a, 2, &height));
  if (!(width >= 16 && height >= 16 && width <= 16384 && height <= 16384))
    return complain(a, "width and height must be between 16 and 16384");
  return a->surface->resize(a->surface, (int)width, (int)height, a->error);
}

static cvtm_status do_layers(const action *a) {
  cvtm_error detail;
  if (a->count < 2) return complain(a, "which layers?");
  if (cvtm_layers_parse(a->words[1], &a->control->view.layers, &detail) != CVTM_OK)
    return complain(a, detail.message);
  if (a->control->fitted) cvtm_view_fit(&a->control->view, a->control->domain);
  a->control->changed = 1;
  return CVTM_OK;
}

static cvtm_status do_wait(const action *a) {
  double count = 0;
  CVTM_TRY(read_number(a, 1, &count));
  const cvtm_view_frame *frame = a->control->frame;
  a->script->until = (frame ? frame->state.iteration : 0) + (int64_t)(count > 0 ? count : 0);
  return CVTM_OK;
}

static cvtm_status do_frames(const action *a) {
  double count = 0;
  CVTM_TRY(read_number(a, 1, &count));
  a->script->frames = count > 0 ? (int64_t)count : 0;
  return CVTM_OK;
}

static cvtm_status do_converge(const action *a) {
  a->script->converging = 1;
  return CVTM_OK;
}

static cvtm_status do_settle(const action *a) {
  a->script->settling = 1;
  a->script->settled = a->control->sent;
  return CVTM_OK;
}

static cvtm_status do_shot(const action *a) {
  if (a->count < 2) return complain(a, "which file?");
  if (strlen(a->words[1]) >= sizeof a->script->shot) return complain(a, "the path is too long");
  strcpy(a->script->shot, a->words[1]);
  return CVTM_OK;
}

static cvtm_status act(const action *a) {
  static const struct {
    const char *name;
    cvtm_status (*function)(const action *);
  } actions[] = {{"key", do_key},       {"move", do_mouse},    {"press", do_mouse},
                 {"release", do_mouse}, {"click", do_mouse},   {"drag", do_drag},
                 {"scroll", do_scroll}, {"size", do_size},     {"layers", do_layers},
                 {"wait", do_wait},     {"frames", do_frames}, {"converge", do_converge},
                 {"settle", do_settle}, {"shot", do_shot}};
  for (size_t k = 0; k < sizeof actions / sizeof actions[0]; ++k)
    if (strcmp(a->words[0], actions[k].name) == 0) return actions[k].function(a);
  return complain(a, "unknown action");
}

/* ---- Scripts: all lines ---- */

static cvtm_status play_line(cvtm_script *script, cvtm_control *control, cvtm_surface *surface,
                             cvtm_error *error) {
  action a = {.script = script, .control = control, .surface = surface, .error = error};
  char line[MAX_LINE];
  const size_t length = strcspn(script->next, "\n");
  ++script->line;
  if (length >= sizeof line) return complain(&a, "the line is too long");
  memcpy(line, script->next, length);
  line[length] = '\0';
  script->next += length + (script->next[length] == '\n');
  char *rest = NULL;
  for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
    if (word[0] == '#') break;
    if (a.count == MAX_WORDS) return complain(&a, "too many words");
    a.words[a.count++] = word;
  }
  return a.count > 0 ? act(&a) : CVTM_OK;
}

/* Nonzero if the state is what the script waits for, or the script does not wait. */
static int satisfied(cvtm_script *script, const cvtm_control *control) {
  const cvtm_view_state *state = control->frame ? &control->frame->state : NULL;
  const int waiting = script->until >= 0 || script->converging || script->settling;
  if (!waiting) return 1;
  if (!state) return 0;
  const int ended = state->phase == CVTM_VIEW_CONVERGED || state->phase == CVTM_VIEW_FAILED;
  const int current = state->commands >= control->sent;
  if (script->until >= 0 && state->iteration < script->until && !(ended && current)) return 0;
  if (script->converging && !(ended && current)) return 0;
  if (script->settling && state->commands < script->settled) return 0;
  script->until = -1;
  script->converging = script->settling = 0;
  return 1;
}

cvtm_status cvtm_script_play(cvtm_script *script, cvtm_control *control, cvtm_surface *surface,
                             int *waits, cvtm_error *error) {
  *waits = 0;
  if (script->frames > 0) {
    --script->frames;
    return CVTM_OK;
  }
  for (;;) {
    if (!satisfied(script, control)) {
      *waits = 1;
      return CVTM_OK;
    }
    if (script->frames > 0 || script->shot[0] || *script->next == '\0' || control->save ||
        control->quit)
      return CVTM_OK;
    CVTM_TRY(play_line(script, control, surface, error));
  }
}

int cvtm_script_over(const cvtm_script *script) {
  return *script->next == '\0' && script->frames == 0 && script->until < 0 && !script->converging &&
         !script->settling;
}
