/* The state of a run as bytes: the state of the solve, the numbers of the current descent, and
 * arrays of sites. The state is saved between two descents, or in a pause of a descent. */
#include "base/text.h"
#include "base/clock.h"
#include "base/ranks.h"
#include "cvt/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* X(name in messages, value): the values that identify a run. `bytes`: the size of the density. */
#define RUN_FIELDS(X)                                                  \
  X("kind of device", device_field(cvt->device))                       \
  X("width", (uint64_t)d.width)                                        \
  X("height", (uint64_t)d.height)                                      \
  X("kind of border", d.periodic != 0)                                 \
  X("density", s->density ? cvtm_checksum(s->density, bytes) : 0)      \
  X("number of sites", (uint64_t)s->count)                             \
  X("number of given sites", (uint64_t)s->given)                       \
  X("given sites", cvtm_checksum(s->sites, cvtm_site_bytes(s->given))) \
  X("number of fixed sites", (uint64_t)o->fixed)                       \
  X("method", (uint64_t)o->method)                                     \
  X("energy", (uint64_t)o->energy)                                     \
  X("diagram", (uint64_t)o->voronoi)                                   \
  X("limit of iterations", (uint64_t)o->max_iterations)                \
  X("tolerance", bits_of(o->tolerance))                                \
  X("gradient tolerance", bits_of(o->gradient_tolerance))              \
  X("history", (uint64_t)o->history)                                   \
  X("steps of Lloyd's method", (uint64_t)o->lloyd_steps)               \
  X("effort", (uint64_t)o->effort)                                     \
  X("start", (uint64_t)o->start)                                       \
  X("seed", o->seed)                                                   \
  X("division among ranks", cvt->decomposition != NULL)

#define FIELD_NAME(name, value) name,
#define FIELD_VALUE(name, value) value,

static const char *const field_names[] = {RUN_FIELDS(FIELD_NAME)};

enum { FIELDS = sizeof field_names / sizeof *field_names, VERSION = 7 };

/* The head of the bytes. The sites of cvtm_solve.kept follow, and then the current sites or, in a
 * pause of a descent, what cvtm_evaluator.save writes. */
typedef struct saved_head {
  char magic[8];
  int32_t version, byte_order;
  uint64_t field[FIELDS];
  double elapsed; /* seconds */
  cvtm_solve_state solve;
  cvtm_descent_state descent;
} saved_head;

typedef struct cvtm_checkpoint {
  const cvtm_cvt_checkpoint *user;
  cvtm_solve *solve;
  cvtm_descent_pauses pauses;
  saved_head head; /* the head that was read; in a new run only what identifies the run is set */
  double start;    /* start of this process, by cvtm_clock */
  double last;     /* the time of the last save */
  int continues;   /* nonzero: the next descent continues that of the head */
  const unsigned char *saved_descent; /* the sites or the state of the descent, after the head */
  size_t descent_bytes;
} cvtm_checkpoint;

static cvtm_error *error_of(const cvtm_solve *s) { return cvtm_device_error(s->cvt->device); }

static cvtm_status fail_damaged(const cvtm_solve *s) {
  return cvtm_fail(error_of(s), CVTM_ERROR_INPUT, "the checkpoint is damaged");
}

/* --- what identifies a run -------------------------------------------------------------------- */

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Identifies the CPU, or the kind of GPU, on which the bits of a run depend. */
static uint64_t device_field(const cvtm_device *device) {
  const char *name =
      cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? "cpu" : cvtm_device_description(device);
  return cvtm_checksum(name, strlen(name));
}

/* Sets the fields on all ranks to those of rank 0, since only rank 0 has the density. */
static cvtm_status set_fields(const cvtm_solve *s, uint64_t field[FIELDS]) {
  const cvtm_cvt *cvt = s->cvt;
  const cvtm_domain d = cvt->domain;
  const cvtm_cvt_options *o = s->options;
  const size_t bytes = (size_t)d.width * (size_t)d.height * sizeof *s->density;
  const uint64_t all[FIELDS] = {RUN_FIELDS(FIELD_VALUE)};
  memcpy(field, all, sizeof all);
  return cvtm_ranks_broadcast(cvt->device, field, sizeof all);
}

static cvtm_status check_head(const cvtm_solve *s, const saved_head *own, const saved_head *found) {
  if (memcmp(found->magic, own->magic, sizeof own->magic) != 0 ||
      found->byte_order != own->byte_order)
    return cvtm_fail(error_of(s), CVTM_ERROR_INPUT, "the bytes are no checkpoint");
  if (found->version != own->version)
    return cvtm_fail(error_of(s), CVTM_ERROR_INPUT, "the checkpoint's version is %d, not %d",
                     (int)found->version, (int)own->version);
  for (int k = 0; k < FIELDS; ++k) {
    if (found->field[k] != own->field[k])
      return cvtm_fail(error_of(s), CVTM_ERROR_INPUT,
                       "the checkpoint belongs to another run, which differs in: %s",
                       field_names[k]);
  }
  return CVTM_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* True if all values are counts that can be added without overflow. */
static int are_counts(const int64_t *value, int count) {
  for (int k = 0; k < count; ++k)
    if (value[k] < 0 || value[k] > INT64_C(1) << 50) return 0;
  return 1;
}

/* True if the phase can run on this level, and the state has the kept sites that it needs. */
static int phase_is_possible(const cvtm_solve *s, const cvtm_solve_state *st, int64_t count) {
  switch (st->phase) {
    case CVTM_SOLVE_LATTICE:
      return st->round < s->lattices && st->kept == (st->round > 0 ? count : 0);
    case CVTM_SOLVE_COARSE:
      return st->level > 0;
    case CVTM_SOLVE_SEARCH:
      return st->kept == count;
    case CVTM_SOLVE_FINE:
      return st->level == 0 && (st->round == 0 || !s->kept || st->kept == count);
    case CVTM_SOLVE_ANNEAL:
      return st->level == 0 && st->kept == count;
    default:
      return 0;
  }
}

static int state_is_possible(const cvtm_solve *s, const saved_head *head) {
  const cvtm_solve_state *st = &head->solve;
  const cvtm_descent_state *d = &head->descent;
  const cvtm_cvt_result *r = &st->result;
  const int64_t counts[] = {st->round,
                            st->limit,
                            st->transferred,
                            st->most,
                            st->idle,
                            r->iterations,
                            r->evaluations,
                            r->levels,
                            r->coarse_iterations,
                            r->lattices,
                            r->rounds,
                            r->transfers,
                            r->anneal_rounds,
                            d->iterations,
                            d->evaluations,
                            d->solver_iterations,
                            d->enqueued};
  if (!are_counts(counts, sizeof counts / sizeof *counts) || !(head->elapsed >= 0)) return 0;
  if (st->level < 0 || st->level > s->levels) return 0;
  const int64_t count = s->counts[st->level];
  if (st->kept != 0 && (st->kept != count || !s->kept)) return 0;
  return phase_is_possible(s, st, count) && d->stage >= CVTM_DESCENT_START &&
         d->stage <= CVTM_DESCENT_LBFGSB;
}

static cvtm_status read_head(cvtm_checkpoint *c) {
  cvtm_solve *s = c->solve;
  saved_head found;
  if (c->user->saved_bytes < sizeof found)
    return cvtm_fail(error_of(s), CVTM_ERROR_INPUT, "the checkpoint of %zu bytes is too short",
                     c->user->saved_bytes);
  memcpy(&found, c->user->saved, sizeof found);
  CVTM_TRY(check_head(s, &c->head, &found));
  if (!state_is_possible(s, &found)) return fail_damaged(s);
  c->head = found;
  c->continues = 1;
  s->state = found.solve;
  s->deadline -= found.elapsed; /* the limit counts the time of all processes of the run */
  return CVTM_OK;
}

cvtm_status cvtm_checkpoint_restore(cvtm_solve *s) {
  cvtm_checkpoint *c = s->checkpoint;
  cvtm_cvt *cvt = s->cvt;
  const unsigned char *at = (const unsigned char *)c->user->saved + sizeof c->head;
  const size_t rest = c->user->saved_bytes - sizeof c->head, kept = cvtm_site_bytes(s->state.kept);
  const int64_t stage = c->head.descent.stage;
  cvtm_status status = CVTM_OK;
  if (rest < kept) return fail_damaged(s);
  if (kept > 0) status = cvtm_device_copy_in(cvt->device, s->kept, at, kept);
  c->saved_descent = at + kept;
  c->descent_bytes = rest - kept;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  const size_t least = stage == CVTM_DESCENT_START
                           ? cvtm_site_bytes(s->count)
                           : cvt->evaluator->array_bytes(&task, stage == CVTM_DESCENT_LBFGSB);
  if (stage == CVTM_DESCENT_LBFGSB ? c->descent_bytes < least : c->descent_bytes != least)
    return fail_damaged(s);
  if (status == CVTM_OK && stage == CVTM_DESCENT_START)
    status = cvtm_device_copy_in(cvt->device, cvt->sites, c->saved_descent, least);
  return status;
}

/* --- saving ----------------------------------------------------------------------------------- */

/* Writes the state to `memory`, which is NULL on ranks other than 0. */
static cvtm_status fill_state(const cvtm_checkpoint *c, const saved_head *head,
                              const cvtm_cvt_task *task, unsigned char *memory) {
  const cvtm_cvt *cvt = task->cvt;
  const size_t kept = cvtm_site_bytes(head->solve.kept);
  const int64_t stage = head->descent.stage;
  unsigned char *at = memory;
  cvtm_status status = CVTM_OK;
  if (memory) {
    memcpy(at, head, sizeof *head);
    at += sizeof *head;
    if (kept > 0) status = cvtm_device_copy_out(cvt->device, at, c->solve->kept, kept);
    at += kept;
  }
  if (status != CVTM_OK) return status;
  if (stage != CVTM_DESCENT_START)
    return cvt->evaluator->save(task, stage == CVTM_DESCENT_LBFGSB, at);
  return memory ? cvtm_device_copy_out(cvt->device, at, cvt->sites, cvtm_site_bytes(task->count))
                : CVTM_OK;
}

static cvtm_status save_state(cvtm_checkpoint *c, const cvtm_descent_state *descent) {
  const cvtm_solve *s = c->solve;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  const int saves = cvtm_ranks_lead(s->cvt->device);
  saved_head head = c->head;
  head.elapsed += cvtm_clock() - c->start;
  head.solve = s->state;
  head.descent = *descent;
  const size_t descent_bytes =
      descent->stage == CVTM_DESCENT_START
          ? cvtm_site_bytes(s->count)
          : cvtm_descent_save_bytes(&task, descent->stage == CVTM_DESCENT_LBFGSB);
  const size_t bytes = sizeof head + cvtm_site_bytes(s->state.kept) + descent_bytes;
  unsigned char *memory = saves ? malloc(bytes) : NULL;
  if (saves && !memory)
    return cvtm_fail(error_of(s), CVTM_ERROR_MEMORY, "no memory for a checkpoint of %zu bytes",
                     bytes);
  cvtm_status status = fill_state(c, &head, &task, memory);
  if (status == CVTM_OK && saves)
    status = c->user->save(c->user->context, memory, bytes, error_of(s));
  free(memory);
  c->last = cvtm_clock();
  return status;
}

static cvtm_status save_if_due(cvtm_checkpoint *c, const cvtm_descent_state *descent) {
  const cvtm_solve *s = c->solve;
  if (!c->user->save || s->state.result.stop == CVTM_STOP_REQUEST) return CVTM_OK;
  int64_t due = cvtm_clock() - c->last >= c->user->seconds;
  CVTM_TRY(cvtm_ranks_agree(s->cvt->device, &due));
  return due ? save_state(c, descent) : CVTM_OK;
}

static cvtm_status pause_descent(void *context, const cvtm_descent *descent) {
  return save_if_due(context, &descent->state);
}

cvtm_status cvtm_checkpoint_visit(cvtm_solve *s) {
  const cvtm_descent_state start = {.stage = CVTM_DESCENT_START};
  if (!s->checkpoint || s->state.phase == CVTM_SOLVE_END) return CVTM_OK;
  return save_if_due(s->checkpoint, &start);
}

/* --- opening, closing and attaching ----------------------------------------------------------- */

cvtm_status cvtm_checkpoint_open(cvtm_solve *s) {
  cvtm_checkpoint *c = calloc(1, sizeof *c);
  if (!c) return cvtm_fail(error_of(s), CVTM_ERROR_MEMORY, "no memory for checkpoints");
  s->checkpoint = c;
  c->solve = s;
  c->user = s->options->checkpoint;
  c->start = c->last = cvtm_clock();
  c->pauses = (cvtm_descent_pauses){
      .seconds = fmin(c->user->seconds / 4, 1), .pause = pause_descent, .context = c};
  memcpy(c->head.magic, "cvtmchk", sizeof c->head.magic);
  c->head.version = VERSION;
  c->head.byte_order = 0x01020304;
  CVTM_TRY(set_fields(s, c->head.field));
  return c->user->saved ? read_head(c) : CVTM_OK;
}

void cvtm_checkpoint_close(cvtm_solve *s) {
  free(s->checkpoint);
  s->checkpoint = NULL;
}

int cvtm_checkpoint_continues(const cvtm_solve *s) {
  return s->checkpoint && s->checkpoint->continues;
}

void cvtm_checkpoint_attach(const cvtm_solve *s, cvtm_descent *d) {
  cvtm_checkpoint *c = s->checkpoint;
  if (!c) return;
  d->pauses = &c->pauses;
  if (!c->continues) return;
  c->continues = 0;
  d->state = c->head.descent;
  d->saved = c->saved_descent;
  d->saved_bytes = c->descent_bytes;
}
