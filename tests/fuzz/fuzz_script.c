/* A script of the viewer, with controls that work and a solver that only counts. */
#include "viewer/control.h"

#include "fuzz.h"

#include <math.h>

static uint64_t commands;

uint64_t cvtm_solver_send(cvtm_solver *solver, const cvtm_solver_command *command) {
  (void)solver;
  if (!isfinite(command->x) || !isfinite(command->y)) abort();
  return ++commands;
}

static cvtm_status resize(cvtm_surface *surface, int width, int height, cvtm_error *error) {
  (void)error;
  surface->width = width;
  surface->height = height;
  return CVTM_OK;
}

/* Each wait is over at once. */
static void play(cvtm_script *script, cvtm_control *control, cvtm_surface *surface,
                 cvtm_view_frame *frame) {
  cvtm_error error;
  for (int turn = 0; turn < 1000 && !cvtm_script_over(script); ++turn) {
    int waits = 0;
    if (cvtm_script_play(script, control, surface, &waits, &error) != CVTM_OK) return;
    frame->state.iteration =
        script->until > frame->state.iteration ? script->until : frame->state.iteration + 1;
    frame->state.phase = CVTM_VIEW_CONVERGED;
    frame->state.commands = commands;
    script->shot[0] = '\0';
    control->save = 0;
    if (control->quit) return;
  }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  double sites[] = {10, 10, 50, 20, 30, 40};
  cvtm_view_frame frame = {
      .state = {.domain = {.width = 64, .height = 48}, .count = 3, .capacity = 3, .sites = sites}};
  cvtm_surface surface = {.width = 320, .height = 240, .scale = 1, .resize = resize};
  cvtm_control control = {0};
  cvtm_script script;
  commands = 0;
  control.view.width = 320;
  control.view.height = 240;
  control.view.scale = 1;
  cvtm_control_init(&control, NULL, frame.state.domain);
  cvtm_view_fit(&control.view, frame.state.domain);
  control.frame = &frame;
  cvtm_script_init(&script, "fuzz", text);
  play(&script, &control, &surface, &frame);
  free(text);
  return 0;
}
