#include "cvt/checkpoint.h"

#include "base/text.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/ranks.h"
#include "cvt/division.h"
#include "lbfgsb/lbfgsb_ranks.h"

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
                                          "division among ranks"};

enum { FIELDS = sizeof field_names / sizeof *field_names, VERSION = 5 };

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
  int64_t count, capacity;             /* of notes */
  int64_t next;                        /* while it replays: the next to be used */
  double pace;                         /* seconds of an iteration for a site; 0: not known */
  int replays, closed;                 /* closed: nothing is saved any more */
  cvtm_array device_array, host_array; /* count 0: none */
  const unsigned char *at;             /* while restoring: the next byte of user->saved */
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

/* Of several ranks rank 0 has the density. */
static cvtm_status set_fields(const cvtm_checkpoint_run *run, uint64_t field[FIELDS]) {
  const cvtm_domain d = run->cvt->domain;
  const cvtm_cvt_options *o = run->options;
  const float *rho = run->density;
  const size_t area = (size_t)d.width * (size_t)d.height;
  const uint64_t all[FIELDS] = {device_field(run->cvt->device),
                                (uint64_t)d.width,
                                (uint64_t)d.height,
                                d.periodic != 0,
                                rho ? cvtm_checksum(rho, area * sizeof *rho) : 0,
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
                                run->cvt->division != NULL};
  memcpy(field, all, sizeof all);
  return cvtm_ranks_broadcast(run->cvt->device, field, sizeof all);
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
  cvtm_status status = set_fields(run, c->head.field);
  if (status == CVTM_OK && c->user->saved) status = read_saved(c);
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

void cvtm_checkpoint_keep_host(cvtm_checkpoint *c, const cvtm_array *array) {
  if (c) c->host_array = array ? *array : (cvtm_array){NULL, 0, 0};
}

/* --- arrays -------------------------------------------------------------------------------------
 */

static size_t array_bytes(const cvtm_array *array) { return (size_t)array->count * array->size; }

enum { OWN_ARRAYS = 3 };

/* The arrays of the own sites that a descent needs, each 2 * own.count; returns their number. */
static int list_own(const cvtm_own_sites *own, int in_lbfgsb, double *arrays[OWN_ARRAYS]) {
  arrays[0] = own->sites;
  arrays[1] = own->best;
  arrays[2] = own->scale;
  return in_lbfgsb ? 3 : 2;
}

/* Of all ranks. */
static size_t bytes_of_sites(const cvtm_cvt *cvt, int64_t count, int in_lbfgsb) {
  const size_t pair = 2 * sizeof(double), arrays = in_lbfgsb ? 3 : 2;
  return (size_t)count * (arrays * pair + (cvt->division ? sizeof(int32_t) : 0));
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
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  saved_head head = c->head;
  head.elapsed += cvtm_clock() - c->start;
  head.notes = c->count;
  head.in_lbfgsb = iterations >= 0;
  head.lbfgsb_iterations = iterations >= 0 ? iterations : 0;
  head.lbfgsb_bytes = iterations >= 0 ? cvtm_lbfgsb_save_pieces(cvt->solver, pieces) : 0;
  head.device_bytes = (int64_t)array_bytes(&c->device_array);
  head.host_bytes = (int64_t)array_bytes(&c->host_array);
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

/* Where rank 0 puts the next bytes together; NULL on the other ranks. */
typedef struct writer {
  cvtm_device *device;
  unsigned char *at;
} writer;

static void append_host(writer *w, const void *from, size_t bytes) {
  if (!w->at) return;
  if (bytes > 0) memcpy(w->at, from, bytes);
  w->at += bytes;
}

/* What every rank has. */
static cvtm_status append_device(writer *w, const void *from, size_t bytes) {
  if (!w->at) return CVTM_OK;
  w->at += bytes;
  return cvtm_device_copy_out(w->device, w->at - bytes, from, bytes);
}

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

enum { SLAB = 1 << 20 /* numbers that the ranks exchange at once */ };

/* A slab of an array, from `at` on; start: where the part of each rank starts. */
static cvtm_status append_slab(writer *w, const double *own, const double *start, int64_t at,
                               int64_t *counts, double *slab) {
  const cvtm_ranks *ranks = cvtm_device_ranks(w->device);
  const int64_t end = clamp(at + SLAB, 0, (int64_t)start[ranks->size]);
  for (int r = 0; r < ranks->size; ++r) {
    const int64_t from = clamp((int64_t)start[r], at, end),
                  to = clamp((int64_t)start[r + 1], at, end);
    counts[r] = to - from;
    if (r == ranks->rank && to > from)
      memcpy(slab + (from - at), own + (from - (int64_t)start[r]),
             (size_t)(to - from) * sizeof *slab);
  }
  const cvtm_status status = cvtm_ranks_gather(w->device, slab, counts);
  append_host(w, slab, (size_t)(end - at) * sizeof *slab);
  return status;
}

/* Collective: `own` (on the host) of all ranks, one after the other. */
static cvtm_status append_parts(writer *w, const double *own, int64_t count) {
  const cvtm_ranks *ranks = cvtm_device_ranks(w->device);
  const size_t size = (size_t)ranks->size;
  double *slab = malloc((SLAB + size + 1) * sizeof *slab), *start = slab + SLAB;
  int64_t *counts = malloc(size * sizeof *counts);
  cvtm_status status =
      slab && counts ? CVTM_OK
                     : cvtm_fail(cvtm_device_error(w->device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) {
    for (size_t r = 0; r < size; ++r) counts[r] = 1;
    start[0] = 0;
    start[ranks->rank + 1] = (double)count;
    status = cvtm_ranks_gather(w->device, start + 1, counts);
    for (size_t r = 0; r < size; ++r) start[r + 1] += start[r];
  }
  for (int64_t at = 0; status == CVTM_OK && (double)at < start[size]; at += SLAB)
    status = append_slab(w, own, start, at, counts, slab);
  free(slab);
  free(counts);
  return status;
}

static cvtm_status append_sites(writer *w, const cvtm_cvt *cvt, const double *own, int64_t count) {
  const size_t bytes = 2 * (size_t)count * sizeof *own;
  if (!cvt->division) return append_device(w, own, bytes);
  double *copy = malloc(bytes + 1);
  cvtm_status status =
      copy ? cvtm_device_copy_out(w->device, copy, own, bytes)
           : cvtm_fail(cvtm_device_error(w->device), CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = append_parts(w, copy, 2 * count);
  free(copy);
  return status;
}

static cvtm_status append_solver(writer *w, const cvtm_cvt *cvt) {
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  if (!cvt->division) return cvtm_lbfgsb_save(cvt->solver, w->at);
  unsigned char *own = malloc(cvtm_lbfgsb_save_bytes(cvt->solver));
  cvtm_status status =
      own ? cvtm_lbfgsb_save(cvt->solver, own)
          : cvtm_fail(cvtm_device_error(w->device), CVTM_ERROR_MEMORY, "out of memory");
  (void)cvtm_lbfgsb_save_pieces(cvt->solver, pieces);
  if (status == CVTM_OK) append_host(w, own, pieces[0].bytes);
  size_t before = pieces[0].bytes; /* a whole number of doubles, as each piece */
  for (int k = 1; status == CVTM_OK && k < CVTM_LBFGSB_PIECES; before += pieces[k++].bytes)
    status = append_parts(w, (const double *)(const void *)(own + before),
                          (int64_t)(pieces[k].bytes / sizeof(double)));
  free(own);
  return status;
}

/* Collective. memory: NULL on ranks other than 0. */
static cvtm_status fill_checkpoint(const cvtm_descent *d, const saved_head *head,
                                   unsigned char *memory) {
  const cvtm_cvt *cvt = d->task->cvt;
  const cvtm_checkpoint *c = cvt->checkpoint;
  const cvtm_own_sites own = cvtm_division_own(d->task);
  writer w = {cvt->device, memory};
  double *arrays[OWN_ARRAYS];
  const int listed = list_own(&own, (int)head->in_lbfgsb, arrays);
  cvtm_status status = CVTM_OK;
  append_host(&w, head, sizeof *head);
  append_host(&w, c->notes, (size_t)c->count * sizeof *c->notes);
  if (cvt->division)
    status = append_device(&w, cvt->division->order, (size_t)d->task->count * sizeof(int32_t));
  for (int k = 0; k < listed && status == CVTM_OK; ++k)
    status = append_sites(&w, cvt, arrays[k], own.count);
  if (status == CVTM_OK && c->device_array.count > 0)
    status = append_device(&w, *c->device_array.memory, array_bytes(&c->device_array));
  if (c->host_array.count > 0) append_host(&w, *c->host_array.memory, array_bytes(&c->host_array));
  return status == CVTM_OK && head->in_lbfgsb ? append_solver(&w, cvt) : status;
}

static cvtm_status save_descent(cvtm_descent *d, int64_t iterations) {
  const cvtm_cvt *cvt = d->task->cvt;
  cvtm_checkpoint *c = cvt->checkpoint;
  const cvtm_ranks *ranks = cvtm_device_ranks(cvt->device);
  const int saves = !ranks || ranks->rank == 0;
  const saved_head head = make_head(d, iterations);
  const size_t bytes = sizeof head + (size_t)head.notes * sizeof(note) +
                       bytes_of_sites(cvt, d->task->count, (int)head.in_lbfgsb) +
                       (size_t)(head.device_bytes + head.host_bytes + head.lbfgsb_bytes);
  unsigned char *memory = saves ? malloc(bytes) : NULL;
  if (saves && !memory)
    return cvtm_fail(error_of(c), CVTM_ERROR_MEMORY, "no memory for a checkpoint of %zu bytes",
                     bytes);
  cvtm_status status = fill_checkpoint(d, &head, memory);
  if (status == CVTM_OK && saves)
    status = c->user->save(c->user->context, memory, bytes, error_of(c));
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
  const size_t rest = c->user->saved_bytes - used, kept = array_bytes(&c->host_array);
  const size_t sites = bytes_of_sites(cvt, d->task->count, head->in_lbfgsb != 0);
  if (head->descent.count != d->task->count || head->descent.iterations < 0 ||
      head->descent.evaluations < 0 || head->lbfgsb_iterations < 0 || head->lbfgsb_bytes < 0)
    return 0;
  if (head->device_bytes != (int64_t)array_bytes(&c->device_array) ||
      head->host_bytes != (int64_t)kept || (uint64_t)head->lbfgsb_bytes > rest)
    return 0;
  return rest == sites + array_bytes(&c->device_array) + kept + (size_t)head->lbfgsb_bytes;
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

static cvtm_status restore_device(cvtm_checkpoint *c, void *to, size_t bytes) {
  c->at += bytes;
  return cvtm_device_copy_in(c->run.cvt->device, to, c->at - bytes, bytes);
}

cvtm_status cvtm_checkpoint_restore(cvtm_descent *d, int *in_lbfgsb) {
  const cvtm_cvt *cvt = d->task->cvt;
  cvtm_checkpoint *c = cvt->checkpoint;
  const saved_head *head = &c->head;
  const cvtm_own_sites own = cvtm_division_own(d->task);
  const size_t pair = 2 * sizeof(double), count = (size_t)d->task->count;
  double *arrays[OWN_ARRAYS];
  cvtm_status status = CVTM_OK;
  if (c->next != c->count || !sizes_match(d, head)) return fail_damaged(c);
  const int listed = list_own(&own, head->in_lbfgsb != 0, arrays);
  if (cvt->division) status = restore_device(c, cvt->division->order, count * sizeof(int32_t));
  for (int k = 0; k < listed && status == CVTM_OK; ++k, c->at += count * pair)
    status = cvtm_device_copy_in(cvt->device, arrays[k], c->at + (size_t)own.first * pair,
                                 (size_t)own.count * pair);
  if (status == CVTM_OK && c->device_array.count > 0)
    status = restore_device(c, *c->device_array.memory, array_bytes(&c->device_array));
  if (c->host_array.count > 0) {
    memcpy(*c->host_array.memory, c->at, array_bytes(&c->host_array));
    c->at += array_bytes(&c->host_array);
  }
  restore_fields(d, &head->descent);
  *in_lbfgsb = head->in_lbfgsb != 0;
  c->replays = 0;
  return status;
}

cvtm_status cvtm_checkpoint_restore_solver(cvtm_descent *d, int64_t *iterations) {
  const cvtm_checkpoint *c = d->task->cvt->checkpoint;
  cvtm_lbfgsb *solver = d->task->cvt->solver;
  const size_t bytes = cvtm_lbfgsb_save_bytes(solver);
  cvtm_lbfgsb_piece pieces[CVTM_LBFGSB_PIECES];
  *iterations = c->head.lbfgsb_iterations;
  if (cvtm_lbfgsb_save_pieces(solver, pieces) != c->head.lbfgsb_bytes) return fail_damaged(c);
  if (!d->task->cvt->division) return cvtm_lbfgsb_restore(solver, c->at, bytes, NULL);
  unsigned char *own = malloc(bytes);
  if (!own) return cvtm_fail(error_of(c), CVTM_ERROR_MEMORY, "out of memory");
  size_t before = 0;
  for (int k = 0; k < CVTM_LBFGSB_PIECES; before += pieces[k++].bytes)
    memcpy(own + before, c->at + pieces[k].at, pieces[k].bytes);
  const cvtm_status status = cvtm_lbfgsb_restore(solver, own, bytes, NULL);
  free(own);
  return status;
}
