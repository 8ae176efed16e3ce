#include "cvt/checkpoint.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a decision was based on. */
typedef struct note {
  int64_t kind; /* of note_kind */
  int64_t number[3];
  double real[4];
} note;

typedef enum note_kind { NOTE_NUMBER = 1, NOTE_DESCENT } note_kind;

/* The fields of cvtm_descent that a checkpoint holds. */
typedef struct saved_descent {
  int64_t iterations, evaluations, enqueued, evaluated, count;
  double last[2], best, seconds;
  double decrease[CVTM_CVT_WINDOW];
} saved_descent;

/* What identifies a run: each field, by the name that messages give it. */
static const char *const field_names[] = {"kind of device",
                                          "width",
                                          "height",
                                          "kind of border",
                                          "density",
                                          "number of sites",
                                          "number of given sites",
                                          "given sites",
                                          "number of fixed sites",
                                          "method",
                                          "energy",
                                          "diagram",
                                          "limit of iterations",
                                          "tolerance",
                                          "gradient tolerance",
                                          "history",
                                          "steps of Lloyd's method",
                                          "effort",
                                          "start",
                                          "seed",
                                          "choice of reseeding",
                                          "limit of rounds of kicks"};

enum { FIELDS = sizeof field_names / sizeof *field_names, VERSION = 1 };

typedef struct saved_head {
  char magic[8];
  int32_t version, byte_order;
  uint64_t field[FIELDS];
  double elapsed; /* seconds */
  int64_t notes;
  int64_t in_lbfgsb, lbfgsb_iterations, lbfgsb_bytes;
  int64_t device_bytes, host_bytes; /* of the arrays of `keep` */
  saved_descent descent;
} saved_head;

struct cvtm_checkpoint {
  cvtm_checkpoint_run run;
  const cvtm_cvt_checkpoint *user;
  saved_head head; /* of this run; while `replays`, of the checkpoint */
  double start;    /* of this process, by cvtm_clock */
  double last;     /* the time of the last save */
  note *notes;
  int64_t count, capacity; /* of notes */
  int64_t next;            /* while it replays: the next to be used */
  double pace;             /* seconds of an iteration for a site; 0: not known */
  int replays, closed;     /* closed: nothing is saved any more */
  cvtm_array device_array; /* count 0: none */
  cvtm_array host[CVTM_CHECKPOINT_HOST];
  int host_count;
  const unsigned char *at; /* while restoring: the next byte of user->saved */
};

static cvtm_error *error_of(const cvtm_checkpoint *c) {
  return cvtm_device_error(c->run.cvt->device);
}

static cvtm_status fail_damaged(const cvtm_checkpoint *c) {
  return cvtm_fail(error_of(c), CVTM_ERROR_INPUT, "the checkpoint is damaged");
}

/* --- what identifies a run ----------------------------------------------------------------------
 */

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* On CUDA the bits depend on the kind of GPU. */
static uint64_t device_field(const cvtm_device *device) {
  const char *name =
      cvtm_device_get_kind(device) == CVTM_DEVICE_CPU ? "cpu" : cvtm_device_description(device);
  return cvtm_checksum(name, strlen(name));
}

static void set_fields(const cvtm_checkpoint_run *run, uint64_t field[FIELDS]) {
  const cvtm_domain d = run->cvt->domain;
  const cvtm_cvt_options *o = run->options;
  const size_t area = (size_t)d.width * (size_t)d.height;
  const uint64_t all[FIELDS] = {device_field(run->cvt->device),
                                (uint64_t)d.width,
                                (uint64_t)d.height,
                                d.periodic != 0,
                                cvtm_checksum(run->density, area * sizeof *run->density),
                                (uint64_t)run->count,
                                (uint64_t)run->given,
                                cvtm_checksum(run->sites, 2 * (size_t)run->given * sizeof(double)),
                                (uint64_t)o->fixed,
                                (uint64_t)o->method,
                                (uint64_t)o->energy,
                                (uint64_t)o->voronoi,
                                (uint64_t)o->max_iterations,
                                bits_of(o->tolerance),
                                bits_of(o->gradient_tolerance),
                                (uint64_t)o->history,
                                (uint64_t)o->lloyd_steps,
                                (uint64_t)o->effort,
                                (uint64_t)o->start,
                                o->seed,
                                o->reseed != 0,
                                (uint64_t)o->kick_rounds};
  memcpy(field, all, sizeof all);
}

static cvtm_status check_head(const cvtm_checkpoint *c, const saved_head *found) {
  const saved_head *own = &c->head;
  if (memcmp(found->magic, own->magic, sizeof own->magic) != 0 ||
      found->byte_order != own->byte_order)
    return cvtm_fail(error_of(c), CVTM_ERROR_INPUT, "not a checkpoint");
  if (found->version != own->version)
    return cvtm_fail(error_of(c), CVTM_ERROR_INPUT, "a checkpoint of version %d; this is %d",
                     (int)found->version, (int)own->version);
  for (int k = 0; k < FIELDS; ++k) {
    if (found->field[k] != own->field[k])
      return cvtm_fail(error_of(c), CVTM_ERROR_INPUT,
                       "the checkpoint belongs to another run, which differs in: %s",
                       field_names[k]);
  }
  return CVTM_OK;
}

/* Reads the head and the notes. */
static cvtm_status read_saved(cvtm_checkpoint *c) {
  const size_t bytes = c->user->saved_bytes;
  saved_head found;
  if (bytes < sizeof found)
    return cvtm_fail(error_of(c), CVTM_ERROR_INPUT, "a checkpoint of %zu bytes is too short",
                     bytes);
  memcpy(&found, c->user->saved, sizeof found);
  const cvtm_status status = check_head(c, &found);
  if (status != CVTM_OK) return status;
  const size_t left = bytes - sizeof found;
  if (found.notes < 0 || (uint64_t)found.notes > left / sizeof(note) || !(found.elapsed >= 0))
    return fail_damaged(c);
  if (!cvtm_grow(&c->notes, sizeof *c->notes, &c->capacity, found.notes + 1))
    return cvtm_fail(error_of(c), CVTM_ERROR_MEMORY, "no memory for the checkpoint");
  c->at = (const unsigned char *)c->user->saved + sizeof found;
  memcpy(c->notes, c->at, (size_t)found.notes * sizeof *c->notes);
  c->at += (size_t)found.notes * sizeof *c->notes;
  c->head = found;
  c->count = found.notes;
  c->replays = 1;
  return CVTM_OK;
}

cvtm_status cvtm_checkpoint_create(const cvtm_checkpoint_run *run, cvtm_checkpoint **checkpoint) {
  cvtm_checkpoint *c = calloc(1, sizeof *c);
  if (!c)
    return cvtm_fail(cvtm_device_error(run->cvt->device), CVTM_ERROR_MEMORY,
                     "no memory for checkpoints");
  c->run = *run;
  c->user = run->options->checkpoint;
  c->start = c->last = cvtm_clock();
  c->head = (saved_head){.magic = "cvtmchk", .version = VERSION, .byte_order = 0x01020304};
  set_fields(run, c->head.field);
  const cvtm_status status = c->user->saved ? read_saved(c) : CVTM_OK;
  if (status != CVTM_OK) {
    cvtm_checkpoint_destroy(c);
    return status;
  }
  *checkpoint = c;
  return CVTM_OK;
}

void cvtm_checkpoint_destroy(cvtm_checkpoint *c) {
  if (!c) return;
  free(c->notes);
  free(c);
}

double cvtm_checkpoint_elapsed(const cvtm_checkpoint *c) { return c ? c->head.elapsed : 0; }

/* --- notes --------------------------------------------------------------------------------------
 */

int cvtm_checkpoint_replays(const cvtm_checkpoint *c) { return c && c->replays; }

static cvtm_status add_note(cvtm_checkpoint *c, const note *added) {
  if (!cvtm_grow(&c->notes, sizeof *c->notes, &c->capacity, c->count + 1))
    return cvtm_fail(error_of(c), CVTM_ERROR_MEMORY, "no memory for checkpoints");
  c->notes[c->count++] = *added;
  return CVTM_OK;
}

cvtm_status cvtm_checkpoint_note(cvtm_checkpoint *c, int64_t *value) {
  if (!c) return CVTM_OK;
  if (!c->replays) {
    const note added = {NOTE_NUMBER, {*value, 0, 0}, {0, 0, 0, 0}};
    return add_note(c, &added);
  }
  if (c->next == c->count || c->notes[c->next].kind != NOTE_NUMBER) return fail_damaged(c);
  *value = c->notes[c->next++].number[0];
  return CVTM_OK;
}

cvtm_status cvtm_checkpoint_note_descent(cvtm_checkpoint *c, const cvtm_cvt_result *found) {
  if (!c) return CVTM_OK;
  if (found->stop == CVTM_STOP_REQUEST) c->closed = 1;
  const note added = {NOTE_DESCENT,
                      {(int64_t)found->stop, found->iterations, found->evaluations},
                      {found->objective, found->gradient_norm, found->seconds_evaluation,
                       found->seconds_optimizer}};
  return add_note(c, &added);
}

int cvtm_checkpoint_recall_descent(cvtm_checkpoint *c, cvtm_cvt_result *found) {
  if (!cvtm_checkpoint_replays(c) || c->next == c->count || c->notes[c->next].kind != NOTE_DESCENT)
    return 0;
  const note *n = &c->notes[c->next++];
  *found = (cvtm_cvt_result){.stop = (cvtm_stop)n->number[0],
                             .iterations = n->number[1],
                             .evaluations = n->number[2],
                             .objective = n->real[0],
                             .gradient_norm = n->real[1],
                             .seconds_evaluation = n->real[2],
                             .seconds_optimizer = n->real[3]};
  return 1;
}

void cvtm_checkpoint_keep_device(cvtm_checkpoint *c, const cvtm_array *array) {
  if (c) c->device_array = array ? *array : (cvtm_array){NULL, 0, 0};
}

void cvtm_checkpoint_keep_host(cvtm_checkpoint *c, const cvtm_array *arrays, int count) {
  if (!c) return;
  c->host_count = count;
  if (count > 0) memcpy(c->host, arrays, (size_t)count * sizeof *arrays);
}

/* --- arrays -------------------------------------------------------------------------------------
 */

static size_t array_bytes(const cvtm_array *array) { return (size_t)array->count * array->size; }

static size_t host_bytes_of(const cvtm_checkpoint *c) {
  size_t bytes = 0;
  for (int k = 0; k < c->host_count; ++k) bytes += array_bytes(&c->host[k]);
  return bytes;
}

enum { PLAN_ARRAYS = 3 };

/* The plan's arrays that a descent of `count` sites needs; returns their number. */
static int list_plan(cvtm_cvt *cvt, int64_t count, int in_lbfgsb, cvtm_array arrays[PLAN_ARRAYS]) {
  arrays[0] = (cvtm_array)CVTM_ARRAY(cvt->sites, 2 * count);
  arrays[1] = (cvtm_array)CVTM_ARRAY(cvt->best, 2 * count);
  arrays[2] = (cvtm_array)CVTM_ARRAY(cvt->scale, 2 * count);
  return in_lbfgsb ? 3 : 2;
}

static size_t plan_bytes(cvtm_cvt *cvt, int64_t count, int in_lbfgsb) {
  cvtm_array arrays[PLAN_ARRAYS];
  size_t bytes = 0;
  const int listed = list_plan(cvt, count, in_lbfgsb, arrays);
  for (int k = 0; k < listed; ++k) bytes += array_bytes(&arrays[k]);
  return bytes;
}

/* --- saving -------------------------------------------------------------------------------------
 */

int64_t cvtm_checkpoint_leg(const cvtm_cvt *cvt, int64_t sites, int64_t iterations,
                            double seconds) {
  cvtm_checkpoint *c = cvt->checkpoint;
  const double wanted = fmin(c->user->seconds / 4, 1),
               most = iterations > 0 ? 8.0 * (double)iterations : 1e6;
  if (iterations > 0) c->pace = seconds / ((double)iterations * (double)sites);
  const double leg = c->pace > 0 ? wanted / (c->pace * (double)sites) : 1;
  return leg < 1 ? 1 : (int64_t)fmin(leg, most);
}

static saved_head make_head(const cvtm_descent *d, int64_t iterations) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_checkpoint *c = cvt->checkpoint;
  saved_head head = c->head;
  head.elapsed += cvtm_clock() - c->start;
  head.notes = c->count;
  head.in_lbfgsb = iterations >= 0;
  head.lbfgsb_iterations = iterations >= 0 ? iterations : 0;
  head.lbfgsb_bytes = iterations >= 0 ? (int64_t)cvtm_lbfgsb_save_bytes(cvt->solver) : 0;
  head.device_bytes = (int64_t)array_bytes(&c->device_array);
  head.host_bytes = (int64_t)host_bytes_of(c);
  head.descent = (saved_descent){.iterations = d->iterations,
                                 .evaluations = d->evaluations,
                                 .enqueued = d->enqueued,
                                 .evaluated = d->evaluated,
                                 .count = d->task->count,
                                 .best = d->best,
                                 .seconds = d->seconds};
  memcpy(head.descent.last, d->last, sizeof d->last);
  memcpy(head.descent.decrease, d->decrease, sizeof d->decrease);
  return head;
}

static void *append_bytes(unsigned char **at, const void *from, size_t bytes) {
  void *place = *at;
  if (from && bytes > 0) memcpy(place, from, bytes);
  *at += bytes;
  return place;
}

static cvtm_status fill_checkpoint(const cvtm_descent *d, const saved_head *head,
                                   unsigned char *at) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_checkpoint *c = cvt->checkpoint;
  cvtm_array arrays[PLAN_ARRAYS + 1];
  int listed = list_plan(cvt, d->task->count, (int)head->in_lbfgsb, arrays);
  if (c->device_array.count > 0) arrays[listed++] = c->device_array;
  cvtm_status status = CVTM_OK;
  append_bytes(&at, head, sizeof *head);
  append_bytes(&at, c->notes, (size_t)c->count * sizeof *c->notes);
  for (int k = 0; k < listed && status == CVTM_OK; ++k) {
    const size_t bytes = array_bytes(&arrays[k]);
    status =
        cvtm_device_copy_out(cvt->device, append_bytes(&at, NULL, bytes), *arrays[k].memory, bytes);
  }
  for (int k = 0; k < c->host_count; ++k)
    append_bytes(&at, *c->host[k].memory, array_bytes(&c->host[k]));
  if (status == CVTM_OK && head->in_lbfgsb) status = cvtm_lbfgsb_save(cvt->solver, at);
  return status;
}

static cvtm_status save_descent(cvtm_descent *d, int64_t iterations) {
  cvtm_cvt *cvt = d->task->cvt;
  cvtm_checkpoint *c = cvt->checkpoint;
  const cvtm_ranks *ranks = cvtm_device_ranks(cvt->device);
  if (ranks && ranks->rank > 0) return CVTM_OK; /* every rank has the whole state */
  const saved_head head = make_head(d, iterations);
  const size_t bytes = sizeof head + (size_t)head.notes * sizeof(note) +
                       plan_bytes(cvt, d->task->count, (int)head.in_lbfgsb) +
                       (size_t)(head.device_bytes + head.host_bytes + head.lbfgsb_bytes);
  unsigned char *memory = malloc(bytes);
  if (!memory)
    return cvtm_fail(error_of(c), CVTM_ERROR_MEMORY, "no memory for a checkpoint of %zu bytes",
                     bytes);
  cvtm_status status = fill_checkpoint(d, &head, memory);
  if (status == CVTM_OK) status = c->user->save(c->user->context, memory, bytes, error_of(c));
  free(memory);
  c->last = cvtm_clock();
  return status;
}

cvtm_status cvtm_checkpoint_visit(cvtm_descent *d, int64_t iterations) {
  const cvtm_checkpoint *c = d->task->cvt->checkpoint;
  if (!c || c->closed || !c->user->save || d->stop != CVTM_STOP_NONE) return CVTM_OK;
  int64_t due = cvtm_clock() - c->last >= c->user->seconds;
  const cvtm_status status = cvtm_ranks_agree(c->run.cvt->device, &due);
  return status == CVTM_OK && due ? save_descent(d, iterations) : status;
}

/* --- restoring ----------------------------------------------------------------------------------
 */

int cvtm_checkpoint_continues(const cvtm_cvt *cvt) {
  return cvtm_checkpoint_replays(cvt->checkpoint);
}

/* The sizes of a checkpoint must be those that this descent would save. */
static int sizes_match(const cvtm_descent *d, const saved_head *head) {
  cvtm_cvt *cvt = d->task->cvt;
  const cvtm_checkpoint *c = cvt->checkpoint;
  const size_t used = (size_t)(c->at - (const unsigned char *)c->user->saved);
  const size_t rest = c->user->saved_bytes - used, kept = host_bytes_of(c);
  const size_t plan = plan_bytes(cvt, d->task->count, head->in_lbfgsb != 0);
  if (head->descent.count != d->task->count || head->descent.iterations < 0 ||
      head->descent.evaluations < 0 || head->lbfgsb_iterations < 0 || head->lbfgsb_bytes < 0)
    return 0;
  if (head->device_bytes != (int64_t)array_bytes(&c->device_array) ||
      head->host_bytes != (int64_t)kept || (uint64_t)head->lbfgsb_bytes > rest)
    return 0;
  return rest == plan + array_bytes(&c->device_array) + kept + (size_t)head->lbfgsb_bytes;
}

static void restore_fields(cvtm_descent *d, const saved_descent *from) {
  d->iterations = from->iterations;
  d->evaluations = from->evaluations;
  d->enqueued = from->enqueued;
  d->evaluated = from->evaluated != 0;
  d->best = from->best;
  d->seconds = from->seconds;
  memcpy(d->last, from->last, sizeof d->last);
  memcpy(d->decrease, from->decrease, sizeof d->decrease);
}

cvtm_status cvtm_checkpoint_restore(cvtm_descent *d, int *in_lbfgsb) {
  cvtm_cvt *cvt = d->task->cvt;
  cvtm_checkpoint *c = cvt->checkpoint;
  const saved_head *head = &c->head;
  cvtm_array arrays[PLAN_ARRAYS + 1];
  cvtm_status status = CVTM_OK;
  if (c->next != c->count || !sizes_match(d, head)) return fail_damaged(c);
  int listed = list_plan(cvt, d->task->count, head->in_lbfgsb != 0, arrays);
  if (c->device_array.count > 0) arrays[listed++] = c->device_array;
  for (int k = 0; k < listed && status == CVTM_OK; ++k) {
    status = cvtm_device_copy_in(cvt->device, *arrays[k].memory, c->at, array_bytes(&arrays[k]));
    c->at += array_bytes(&arrays[k]);
  }
  for (int k = 0; k < c->host_count; ++k) {
    memcpy(*c->host[k].memory, c->at, array_bytes(&c->host[k]));
    c->at += array_bytes(&c->host[k]);
  }
  restore_fields(d, &head->descent);
  *in_lbfgsb = head->in_lbfgsb != 0;
  c->replays = 0;
  return status;
}

cvtm_status cvtm_checkpoint_restore_solver(cvtm_descent *d, int64_t *iterations) {
  const cvtm_checkpoint *c = d->task->cvt->checkpoint;
  *iterations = c->head.lbfgsb_iterations;
  return cvtm_lbfgsb_restore(d->task->cvt->solver, c->at, (size_t)c->head.lbfgsb_bytes, NULL);
}
