#include "lbfgsb/divided.h"

#include "base/ranks.h"
#include "base/select.h"
#include "lbfgsb/lists.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE = 2 /* t and row of a breakpoint, before its row of W */ };

/* What the host decides with, in memory that the device sees. */
typedef struct decisions {
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_model model;
  cvtm_lbfgsb_work work;
  cvtm_lbfgsb_walk walk;
  cvtm_lbfgsb_requests requests; /* of the host to itself */
  double sums[CVTM_DIVIDED_STRIDE], reduced[CVTM_DIVIDED_STRIDE];
  double total[CVTM_DIVIDED_STRIDE]; /* the record of all blocks of the last pass */
} decisions;

struct cvtm_divided {
  const cvtm_divided_table *table;
  cvtm_lbfgsb_share share;
  int64_t blocks, first_block, own_blocks;
  int64_t *rank_blocks, *counts; /* [ranks] */
  decisions *decided;
  double *records;        /* [CVTM_DIVIDED_BLOCKS][stride]: of all blocks, in device memory */
  double *staging;        /* as large, on the host */
  cvtm_lbfgsb_list list;  /* exact Cauchy point */
  double *breakpoints;    /* [ranks][CVTM_DIVIDED_BATCH][PLACE + 2m + 1], on the host */
  double *times, *rows_w; /* of this rank's batch, on the host */
  int32_t *rows;
  cvtm_status status; /* of the first pass that failed in this round */
};

typedef struct executor {
  const cvtm_lbfgsb_arrays *arrays;
  cvtm_device *device;
} executor;

#include "lbfgsb/rounds_host.h"

/* --- passes ----------------------------------------------------------------------------------- */

/* Ends the round after a pass that failed. */
static void check_pass(executor on, cvtm_status status) {
  cvtm_lbfgsb_state *state = on.arrays->state;
  if (status == CVTM_OK) return;
  if (on.arrays->divided->status == CVTM_OK) on.arrays->divided->status = status;
  state->running = state->due_breakpoints = state->due_restrict = state->due_step = 0;
}

static int rank_count(cvtm_device *device) {
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  return ranks ? ranks->size : 1;
}

static int own_rank(cvtm_device *device) {
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  return ranks ? ranks->rank : 0;
}

static void commit(executor on) {
  cvtm_lbfgsb_state *state = on.arrays->state;
  if (!state->due_commit) return;
  check_pass(on, on.arrays->divided->table->commit(on.device, on.arrays));
  state->due_commit = 0;
}

static cvtm_divided_pass describe_pass(const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_pass pass,
                                       int entries) {
  const cvtm_divided *d = arrays->divided;
  const int has_row = pass == CVTM_PASS_A && arrays->state->bounded;
  return (cvtm_divided_pass){.pass = pass,
                             .entries = entries,
                             .has_row = has_row,
                             .stride = entries + 2 + (has_row ? 2 * arrays->state->history + 1 : 0),
                             .commit = pass == CVTM_PASS_B && arrays->state->due_commit,
                             .block = arrays->block,
                             .blocks = d->blocks,
                             .first = d->share.first,
                             .own_blocks = d->own_blocks};
}

/* The only way by which sums reach the decisions: those of this rank's blocks, then those of all.
 * result: the entries and the row of the pass. */
static void exchange(executor on, const cvtm_lbfgsb_arrays *seen, const cvtm_divided_pass *pass,
                     double *result) {
  cvtm_divided *d = on.arrays->divided;
  double *own = d->records + d->first_block * pass->stride;
  const double *total = d->decided->total;
  cvtm_status status = d->table->pass(on.device, seen, pass, own);
  for (int r = 0; r < rank_count(on.device); ++r) d->counts[r] = d->rank_blocks[r] * pass->stride;
  if (status == CVTM_OK)
    status = cvtm_ranks_gather_on_device(on.device, d->records, d->counts, d->staging);
  if (status == CVTM_OK) status = d->table->combine(on.device, pass, d->records, d->decided->total);
  check_pass(on, status);
  if (status != CVTM_OK) return;
  memcpy(result, total, (size_t)pass->entries * sizeof *result);
  memcpy(result + pass->entries, total + pass->entries + 2,
         (size_t)(pass->stride - pass->entries - 2) * sizeof *result);
}

static void run_pass(executor on, cvtm_lbfgsb_pass pass, int entries, double *result) {
  if (pass == CVTM_PASS_RESTRICT) commit(on);
  const cvtm_divided_pass described = describe_pass(on.arrays, pass, entries);
  exchange(on, on.arrays, &described, result);
  if (pass == CVTM_PASS_B) on.arrays->state->due_commit = 0;
}

/* --- phases of a round, see iteration.h --------------------------------------------------------
 */

/* Pass A together with the test of the trial point. Returns g'd. */
static double pass_speculatively(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  cvtm_lbfgsb_arrays seen = *arrays;
  cvtm_lbfgsb_state if_accepted = *arrays->state;
  cvtm_divided_pass pass = describe_pass(arrays, CVTM_PASS_A, layout_of(on).entries);
  if_accepted.store_pair = 1;
  cvtm_lbfgsb_allocate_column(&if_accepted);
  seen.state = &if_accepted;
  pass.speculative = 1;
  exchange(on, &seen, &pass, arrays->reduced);
  return arrays->reduced[CVTM_SUM_TRIAL];
}

static void test_trial_point(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_divided *d = arrays->divided;
  cvtm_lbfgsb_state *state = arrays->state;
  const int speculates = d->table->commit && cvtm_lbfgsb_may_speculate(state);
  const int entries = speculates ? layout_of(on).entries : (int)CVTM_SUM_COLUMNS;
  double slope = 0.0;
  if (speculates) {
    slope = pass_speculatively(on);
  } else if (state->phase != (int)CVTM_PHASE_RESUME) {
    run_pass(on, CVTM_PASS_SEARCH, CVTM_SUM_COLUMNS, arrays->reduced);
    slope = arrays->reduced[CVTM_SUM_SLOPE];
  }
  if (!state->running) return;
  cvtm_lbfgsb_decide_search(state, d->decided->total + entries, slope, arrays->requests->stop);
  state->due_commit = speculates && state->due_update && state->store_pair;
  if (state->due_commit) memcpy(arrays->sums, arrays->reduced, sizeof d->decided->sums);
}

static void restrict_row(executor on) { restrict_to(on, on.arrays->sums + layout_of(on).entries); }

static void move_trial_point(executor on) {
  check_pass(on, on.arrays->divided->table->move(on.device, on.arrays));
}

/* --- the exact Cauchy point --------------------------------------------------------------------
 */

/* This rank's breakpoints first .. of the `count` of the window, as many as fit a batch; infinite
 * ones fill the rest. Then those of all ranks. */
static void exchange_breakpoints(executor on, int64_t first, int64_t count) {
  const cvtm_divided *d = on.arrays->divided;
  const int row = 2 * on.arrays->state->history + 1, size = PLACE + row;
  const int64_t batch = (int64_t)CVTM_DIVIDED_BATCH * size, left = count - first;
  const int own = left < CVTM_DIVIDED_BATCH ? (int)left : CVTM_DIVIDED_BATCH;
  double *to = d->breakpoints + own_rank(on.device) * batch;
  cvtm_status status = CVTM_OK;
  if (own > 0) {
    status = cvtm_device_copy_out(on.device, d->times, on.arrays->breakpoints + first,
                                  (size_t)own * sizeof *d->times);
    if (status == CVTM_OK)
      status = cvtm_device_copy_out(on.device, d->rows, d->list.rows + first,
                                    (size_t)own * sizeof *d->rows);
    if (status == CVTM_OK)
      status = d->table->read_rows(on.device, on.arrays, d->list.rows + first, own, d->rows_w);
  }
  for (int b = 0; b < CVTM_DIVIDED_BATCH; ++b, to += size) {
    to[0] = b < own ? d->times[b] : HUGE_VAL;
    to[1] = b < own ? (double)(d->share.first + d->rows[b]) : 0.0;
    if (b < own) memcpy(to + PLACE, d->rows_w + (int64_t)b * row, (size_t)row * sizeof *to);
  }
  for (int r = 0; r < rank_count(on.device); ++r) d->counts[r] = batch;
  if (status == CVTM_OK) status = cvtm_ranks_gather(on.device, d->breakpoints, d->counts);
  check_pass(on, status);
}

/* Walks past the breakpoints of all ranks in the order of (t, row), as far as the batches go.
 * *past: those of this rank. Returns 0 if the minimiser comes before the next, or there is none. */
static int walk_batches(executor on, int64_t *past) {
  const cvtm_divided *d = on.arrays->divided;
  const cvtm_lbfgsb_state *state = on.arrays->state;
  const int ranks = rank_count(on.device), size = PLACE + 2 * state->history + 1;
  const int64_t batch = (int64_t)CVTM_DIVIDED_BATCH * size;
  memset(d->counts, 0, (size_t)ranks * sizeof *d->counts); /* now those walked past */
  for (;;) {
    const double *next = NULL;
    int of = 0;
    for (int r = 0; r < ranks; ++r) {
      const double *head = d->breakpoints + r * batch + d->counts[r] * size;
      if (next && !(head[0] < next[0] || (head[0] == next[0] && head[1] < next[1]))) continue;
      next = head;
      of = r;
    }
    if (!(next[0] < HUGE_VAL)) return 0;
    if (cvtm_lbfgsb_walk_minimum(single_lane, state, on.arrays->walk) <= next[0]) return 0;
    walk_past(on, next[0], next + PLACE);
    if (of == own_rank(on.device)) ++*past;
    if (++d->counts[of] == CVTM_DIVIDED_BATCH) return 1;
  }
}

static void walk_breakpoints(executor on) {
  const cvtm_lbfgsb_arrays *arrays = on.arrays;
  const cvtm_divided *d = arrays->divided;
  int64_t count = 0, first = 0;
  int more = 1;
  cvtm_lbfgsb_list_columns(single_lane, arrays->state, arrays->work);
  check_pass(on, cvtm_lbfgsb_list_breakpoints(on.device, &d->list, arrays, &count));
  while (more && arrays->state->running) {
    exchange_breakpoints(on, first, count);
    if (arrays->state->running) more = walk_batches(on, &first);
  }
  if (arrays->state->running) end_window(on);
}

/* --- the functions of the table ----------------------------------------------------------------
 */

cvtm_status cvtm_divided_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const executor on = {arrays, device};
  (void)m;
  arrays->divided->status = cvtm_device_synchronize(device); /* the state has been written */
  if (arrays->divided->status != CVTM_OK) return arrays->divided->status;
  run_pass(on, CVTM_PASS_START, CVTM_SUM_COLUMNS, arrays->sums);
  if (arrays->divided->status == CVTM_OK) cvtm_lbfgsb_init_state(arrays->state, arrays->sums);
  return arrays->divided->status;
}

cvtm_status cvtm_divided_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  const executor on = {arrays, device};
  (void)m;
  arrays->divided->status = CVTM_OK;
  if (!arrays->state->running) return CVTM_OK;
  cvtm_lbfgsb_round(on);
  commit(on);
  return arrays->divided->status;
}

/* --- memory and shares -------------------------------------------------------------------------
 */

static void point_to_decisions(cvtm_lbfgsb_arrays *arrays, decisions *decided, int exact) {
  arrays->state = &decided->state;
  arrays->model = &decided->model;
  arrays->work = &decided->work;
  arrays->walk = exact ? &decided->walk : NULL;
  arrays->requests = &decided->requests;
  arrays->sums = decided->sums;
  arrays->reduced = decided->reduced;
}

static cvtm_status allocate_on_host(cvtm_device *device, cvtm_divided *d) {
  const size_t ranks = (size_t)rank_count(device), batch = CVTM_DIVIDED_BATCH;
  const size_t number = sizeof(double), row = CVTM_DIVIDED_ROW;
  d->rank_blocks = calloc(ranks, sizeof *d->rank_blocks);
  d->counts = calloc(ranks, sizeof *d->counts);
  d->staging = calloc((size_t)CVTM_DIVIDED_BLOCKS * CVTM_DIVIDED_STRIDE, number);
  d->breakpoints = calloc(ranks * batch * (PLACE + row), number);
  d->times = calloc(batch, number);
  d->rows_w = calloc(batch * row, number);
  d->rows = calloc(batch, sizeof *d->rows);
  if (d->rank_blocks && d->counts && d->staging && d->breakpoints && d->times && d->rows_w &&
      d->rows)
    return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

cvtm_status cvtm_divided_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int64_t capacity,
                                int exact, cvtm_divided **divided) {
  cvtm_divided *d = calloc(1, sizeof *d);
  void *host = NULL, *mapped = NULL, *records = NULL;
  if (!d) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  d->table = CVTM_TABLE(device, cvtm_divided_table);
  cvtm_status status = allocate_on_host(device, d);
  if (status == CVTM_OK)
    status = cvtm_device_allocate_mapped(device, sizeof(decisions), &host, &mapped);
  d->decided = host;
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, (int64_t)CVTM_DIVIDED_BLOCKS * CVTM_DIVIDED_STRIDE,
                                  sizeof(double), &records);
  d->records = records;
  if (status == CVTM_OK && exact) status = cvtm_lbfgsb_list_create(device, capacity, 1, &d->list);
  if (status != CVTM_OK) {
    cvtm_divided_destroy(device, d);
    return status;
  }
  point_to_decisions(arrays, d->decided, exact);
  *divided = d;
  return CVTM_OK;
}

void cvtm_divided_destroy(cvtm_device *device, cvtm_divided *d) {
  if (!d) return;
  cvtm_lbfgsb_list_destroy(device, &d->list);
  cvtm_device_free(device, d->records);
  cvtm_device_free_mapped(device, d->decided);
  void *const on_host[] = {d->rank_blocks, d->counts, d->staging, d->breakpoints,
                           d->times,       d->rows_w, d->rows};
  for (size_t k = 0; k < sizeof on_host / sizeof *on_host; ++k) free(on_host[k]);
  free(d);
}

int64_t cvtm_divided_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)problems;
  return CVTM_TABLE(device, cvtm_divided_table)->parts(n);
}

const cvtm_lbfgsb_share *cvtm_divided_share(const cvtm_divided *divided) { return &divided->share; }

int64_t cvtm_divided_own_blocks(const cvtm_divided *divided) { return divided->own_blocks; }

/* What the ranks tell each other of their shares. */
enum { FIRST, COUNT, TOTAL, FITS, FACTS };

static cvtm_status check_shares(cvtm_device *device, const double *facts, int ranks) {
  const int64_t block = cvtm_lbfgsb_block((int64_t)facts[TOTAL]);
  double next = 0.0;
  for (int r = 0; r < ranks; ++r, facts += FACTS) {
    const int64_t first = (int64_t)facts[FIRST];
    const int aligned = first % block == 0 || facts[FIRST] == facts[TOTAL];
    if (facts[FIRST] != next || facts[COUNT] < 0.0 || !aligned || facts[FITS] == 0.0 ||
        facts[TOTAL] != facts[TOTAL - FACTS * r])
      return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                       "rank %d has %.0f of %.0f variables from number %.0f on: the shares must "
                       "follow each other in blocks of %lld and fit what was allocated",
                       r, facts[COUNT], facts[TOTAL], facts[FIRST], (long long)block);
    next += facts[COUNT];
  }
  if (next == facts[TOTAL - FACTS]) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                   "the ranks have %.0f of %.0f variables", next, facts[TOTAL - FACTS]);
}

cvtm_status cvtm_divided_set_share(cvtm_device *device, cvtm_lbfgsb_arrays *arrays,
                                   int64_t capacity, const cvtm_lbfgsb_share *share) {
  cvtm_divided *d = arrays->divided;
  const int ranks = rank_count(device), rank = own_rank(device);
  double *facts = d->breakpoints; /* room enough */
  double *own = facts + (int64_t)rank * FACTS;
  own[FIRST] = (double)share->first;
  own[COUNT] = (double)share->count;
  own[TOTAL] = (double)share->total;
  own[FITS] = share->count <= capacity;
  for (int r = 0; r < ranks; ++r) d->counts[r] = FACTS;
  cvtm_status status = cvtm_ranks_gather(device, facts, d->counts);
  if (status == CVTM_OK) status = check_shares(device, facts, ranks);
  if (status != CVTM_OK) return status;
  d->share = *share;
  arrays->n = share->count;
  arrays->block = cvtm_lbfgsb_block(share->total);
  d->blocks = 0;
  for (int r = 0; r < ranks; ++r) {
    const int64_t count = (int64_t)facts[r * FACTS + COUNT];
    d->rank_blocks[r] = (count + arrays->block - 1) / arrays->block;
    if (share->total == 0 && r == 0) d->rank_blocks[r] = 1;
    if (r == rank) d->first_block = d->blocks;
    d->blocks += d->rank_blocks[r];
  }
  d->own_blocks = d->rank_blocks[rank];
  return CVTM_OK;
}

/* --- the passes on the CPU --------------------------------------------------------------- */

/* The row of W with the block's nearest breakpoint, whose number is then that over all ranks. */
static void add_row(const cvtm_lbfgsb_arrays *arrays, const cvtm_divided_pass *pass,
                    double *record) {
  double *row = record + pass->entries + 2;
  const double nearest = record[CVTM_NEAREST_ROW];
  if (nearest >= 0.0 && nearest < HUGE_VAL) {
    cvtm_lbfgsb_cpu_read_row(arrays, (int64_t)nearest, row);
    record[CVTM_NEAREST_ROW] += (double)pass->first;
  } else {
    memset(row, 0, (size_t)(2 * arrays->state->history + 1) * sizeof *row);
  }
}

static cvtm_status cpu_pass(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                            const cvtm_divided_pass *pass, double *records) {
  const int64_t of_block = pass->block / CVTM_LBFGSB_CPU_PART;
  double all[CVTM_LBFGSB_MAX_ENTRIES];
  cvtm_lbfgsb_cpu_pass(cvtm_device_threads(device), arrays, pass->pass, arrays->model->q,
                       pass->entries, all);
  for (int64_t b = 0; b < pass->own_blocks; ++b, records += pass->stride) {
    memcpy(records, arrays->partial + b * of_block * pass->entries,
           (size_t)pass->entries * sizeof *records);
    memcpy(records + pass->entries, arrays->values + 2 * b, 2 * sizeof *records);
    if (pass->has_row) add_row(arrays, pass, records);
  }
  return CVTM_OK;
}

static cvtm_status cpu_combine(cvtm_device *device, const cvtm_divided_pass *pass,
                               const double *records, double *total) {
  (void)device;
  memcpy(total, records, (size_t)pass->stride * sizeof *total);
  for (int64_t b = 1; b < pass->blocks; ++b) {
    const double *record = records + b * pass->stride;
    cvtm_lbfgsb_combine_entries(total, record, pass->entries, pass->pass == CVTM_PASS_A);
    cvtm_divided_combine_values(total + pass->entries, record + pass->entries);
  }
  const double nearest = total[CVTM_NEAREST_ROW];
  if (!pass->has_row || !(nearest >= 0.0 && nearest < HUGE_VAL)) return CVTM_OK;
  const int row = pass->entries + 2;
  memcpy(total + row, records + (int64_t)nearest / pass->block * pass->stride + row,
         (size_t)(pass->stride - row) * sizeof *total);
  return CVTM_OK;
}

static cvtm_status cpu_move(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays) {
  cvtm_lbfgsb_cpu_move(cvtm_device_threads(device), arrays);
  return CVTM_OK;
}

static cvtm_status cpu_read_rows(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                                 const int32_t *rows, int count, double *w) {
  (void)device;
  for (int r = 0; r < count; ++r, w += 2 * arrays->state->history + 1)
    cvtm_lbfgsb_cpu_read_row(arrays, rows[r], w);
  return CVTM_OK;
}

const cvtm_divided_table cvtm_divided_table_cpu = {
    .parts = cvtm_lbfgsb_cpu_parts,
    .pass = cpu_pass,
    .combine = cpu_combine,
    .move = cpu_move,
    .read_rows = cpu_read_rows,
};
