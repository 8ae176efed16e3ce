/* A triple buffer between one writer and one reader: the writer always has a slot to fill, the
 * reader can always take the newest filled slot, and neither waits. */
#pragma once

#include <stdatomic.h>

enum { CVTM_MAILBOX_SLOTS = 3, CVTM_MAILBOX_FRESH = 4 };

typedef struct cvtm_mailbox {
  atomic_uint middle; /* the third slot, or-ed with FRESH until the reader takes it */
  unsigned back;      /* the writer's slot */
  unsigned front;     /* the reader's slot */
} cvtm_mailbox;

static inline void cvtm_mailbox_open(cvtm_mailbox *box) {
  atomic_init(&box->middle, 1u);
  box->back = 0;
  box->front = 2;
}

/* Writer: publishes the slot `back`, and gets another slot as `back`. */
static inline void cvtm_mailbox_publish(cvtm_mailbox *box) {
  box->back = atomic_exchange(&box->middle, box->back | CVTM_MAILBOX_FRESH) & 3u;
}

/* Writer: nonzero if the reader has taken the last published slot. */
static inline int cvtm_mailbox_wanted(cvtm_mailbox *box) {
  return (atomic_load(&box->middle) & CVTM_MAILBOX_FRESH) == 0;
}

/* Reader: makes the newest slot `front`; returns 0 if there is no newer slot. */
static inline int cvtm_mailbox_take(cvtm_mailbox *box) {
  if ((atomic_load(&box->middle) & CVTM_MAILBOX_FRESH) == 0) return 0;
  box->front = atomic_exchange(&box->middle, box->front) & 3u;
  return 1;
}
