#include "viewer/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 8, MAX_LINE = 640 };

void cvtm_script_init(cvtm_script *script, const char *name, const char *text) {
  memset(script, 0, sizeof *script);
  script->name = name;
  script->next = text;
  script->until = -1;
}

cvtm_status cvtm_layers_parse(const char *list, unsigned *layers, cvtm_error *error) {
  static const struct {
    const char *name;
    unsigned layer;
  } known[] = {
#define LAYER_NAME(code, bit, name, title, key) {name, code},
      CVTM_LAYER_LIST(LAYER_NAME)
#undef LAYER_NAME
  };
  enum { KNOWN = sizeof known / sizeof known[0] };
  unsigned found = 0;
  while (*list) {
    const size_t length = strcspn(list, ",");
    int k = 0;
    while (k < KNOWN &&
           (strlen(known[k].name) != length || strncmp(known[k].name, list, length) != 0))
      ++k;
    if (k == KNOWN)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "there is no layer '%.*s'", (int)length, list);
    found |= known[k].layer;
    list += length + (list[length] == ',');
  }
  *layers = found;
  return CVTM_OK;
}

/* ---- One line ---- */

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

/* Two coordinates, of the framebuffer or, with an i, of the image. */
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
    const cvtm_status status = read_number(a, word + c, &screen[c]);
    if (status != CVTM_OK) return status;
  }
  if (of_image == 0) return CVTM_OK;
  if (of_image != 3) return complain(a, "one coordinate is of the image, the other is not");
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
  if (key == 0) return complain(a, "there is no such key");
  send_event(a, (cvtm_event){.kind = CVTM_EVENT_KEY, .key = key});
  return CVTM_OK;
}

static cvtm_status do_mouse(const action *a) {
  const char *what = a->words[0];
  double at[2];
  const cvtm_status status = read_place(a, 1, at);
  if (status != CVTM_OK) return status;
  if (strcmp(what, "move") == 0 || strcmp(what, "press") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_MOVE, at, 3);
  if (strcmp(what, "press") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_PRESS, at, 3);
  if (strcmp(what, "release") == 0) send_mouse(a, CVTM_EVENT_MOVE, at, 3);
  if (strcmp(what, "release") == 0 || strcmp(what, "click") == 0)
    send_mouse(a, CVTM_EVENT_RELEASE, at, 3);
  return CVTM_OK;
}

/* Moves the cursor in steps, as a mouse does. */
static cvtm_status do_drag(const action *a) {
  enum { STEPS = 8 };
  double from[2], to[2];
  cvtm_status status = read_place(a, 1, from);
  if (status == CVTM_OK) status = read_place(a, 3, to);
  if (status != CVTM_OK) return status;
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
  cvtm_status status = read_place(a, 1, at);
  if (status == CVTM_OK) status = read_number(a, 3, &notches);
  if (status == CVTM_OK)
    send_event(a,
               (cvtm_event){.kind = CVTM_EVENT_SCROLL, .x = at[0], .y = at[1], .amount = notches});
  return status;
}

static cvtm_status do_size(const action *a) {
  double width = 0, height = 0;
  cvtm_status status = read_number(a, 1, &width);
  if (status == CVTM_OK) status = read_number(a, 2, &height);
  if (status != CVTM_OK) return status;
  if (!(width >= 16 && height >= 16 && width <= 16384 && height <= 16384))
    return complain(a, "a side is not between 16 and 16384");
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
  const cvtm_status status = read_number(a, 1, &count);
  const cvtm_view_frame *frame = a->control->frame;
  if (status == CVTM_OK)
    a->script->until = (frame ? frame->state.iteration : 0) + (int64_t)(count > 0 ? count : 0);
  return status;
}

static cvtm_status do_frames(const action *a) {
  double count = 0;
  const cvtm_status status = read_number(a, 1, &count);
  if (status == CVTM_OK) a->script->frames = count > 0 ? (int64_t)count : 0;
  return status;
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
  return complain(a, "there is no such action");
}

/* ---- The whole ---- */

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

/* True if the frame is the one that the script waits for. */
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
    const cvtm_status status = play_line(script, control, surface, error);
    if (status != CVTM_OK) return status;
  }
}

int cvtm_script_over(const cvtm_script *script) {
  return *script->next == '\0' && script->frames == 0 && script->until < 0 && !script->converging &&
         !script->settling;
}
