#include "viewer/builder.h"

#include "viewer/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct cvtm_builder {
  cvtm_solver *solver;
  pthread_t thread;
  atomic_int quit;
  atomic_int status; /* set after error */
  cvtm_error error;
  cvtm_mailbox box;
  cvtm_view_frame frames[CVTM_MAILBOX_SLOTS];
};

static void *build_states(void *context) {
  cvtm_builder *b = context;
  const cvtm_view_state *state = NULL;
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && !atomic_load(&b->quit)) {
    if (!cvtm_mailbox_wanted(&b->box)) { /* the reader has not taken the last frame */
      nanosleep(&(struct timespec){0, 2000000}, NULL);
      continue;
    }
    if (!cvtm_solver_take(b->solver, &state)) {
      cvtm_solver_wait(b->solver, 0.05);
      continue;
    }
    cvtm_view_frame *frame = &b->frames[b->box.back];
    status = cvtm_view_state_copy(&frame->state, state, &b->error);
    if (status == CVTM_OK) status = cvtm_view_frame_build(frame, &b->error);
    if (status == CVTM_OK) cvtm_mailbox_publish(&b->box);
  }
  atomic_store(&b->status, (int)status);
  return NULL;
}

cvtm_status cvtm_builder_start(cvtm_solver *solver, cvtm_builder **builder, cvtm_error *error) {
  cvtm_builder *b = calloc(1, sizeof *b);
  if (!b) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  b->solver = solver;
  atomic_init(&b->quit, 0);
  atomic_init(&b->status, CVTM_OK);
  cvtm_mailbox_open(&b->box);
  if (pthread_create(&b->thread, NULL, build_states, b) != 0) {
    free(b);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no thread for the geometry");
  }
  *builder = b;
  return CVTM_OK;
}

void cvtm_builder_stop(cvtm_builder *b) {
  if (!b) return;
  atomic_store(&b->quit, 1);
  pthread_join(b->thread, NULL);
  for (int k = 0; k < CVTM_MAILBOX_SLOTS; ++k) cvtm_view_frame_free(&b->frames[k]);
  free(b);
}

int cvtm_builder_take(cvtm_builder *b, const cvtm_view_frame **frame) {
  if (!cvtm_mailbox_take(&b->box)) return 0;
  *frame = &b->frames[b->box.front];
  return 1;
}

cvtm_status cvtm_builder_error(cvtm_builder *b, cvtm_error *error) {
  const cvtm_status status = (cvtm_status)atomic_load(&b->status);
  if (status != CVTM_OK) *error = b->error;
  return status;
}
