#include "lbfgsb/divided.h"

#include "base/host.h"
#include "base/ranks.h"
#include "base/select.h"
#include "lbfgsb/host_rounds.h"
#include "lbfgsb/rows.h"

#include <stdlib.h>
#include <string.h>

enum { PLACE = 2 /* t and row of a breakpoint, stored before the row of W */ };

/* The data of the host's decisions, in memory that the device can access. */
typedef struct decisions {
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_model model;
  cvtm_lbfgsb_work work;
  cvtm_lbfgsb_walk walk;
  cvtm_lbfgsb_requests requests; /* from the host to itself */
  double sums[CVTM_DIVIDED_STRIDE], reduced[CVTM_DIVIDED_STRIDE];
  double total[CVTM_DIVIDED_STRIDE]; /* the sums over all blocks of the last pass */
} decisions;

struct cvtm_divided {
  const cvtm_divided_table *table;
  cvtm_lbfgsb_share share;
  int64_t blocks, first_block, own_blocks;
  int64_t *rank_blocks, *counts; /* [ranks] */
  decisions *decided;
  double *records; /* [CVTM_DIVIDED_BLOCKS][stride]: the records of all blocks, in device memory */
  double *staging; /* the records of all blocks on the host */
  cvtm_scratch on_host;   /* owns the arrays on the host */
  cvtm_lbfgsb_list list;  /* for the exact Cauchy point */
  double *breakpoints;    /* [ranks][CVTM_DIVIDED_BATCH][PLACE + 2m + 1], on the host */
  double *times, *rows_w; /* the batch of this rank, on the host */
  int32_t *rows;
};

/* --- passes ----------------------------------------------------------------------------------- */

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
  if (!state->needs_commit) return;
  check_pass(on, on.arrays->divided->table->commit(on.device, on.arrays));
  state->needs_commit = 0;
}

static cvtm_divided_pass describe_pass(const cvtm_lbfgsb_arrays *arrays, cvtm_lbfgsb_pass pass,
                                       int entries) {
  const cvtm_divided *d = arrays->divided;
  const int has_row = pass == CVTM_PASS_A && arrays->state->bounded;
  return (cvtm_divided_pass){.pass = pass,
                             .entries = entries,
                             .has_row = has_row,
                             .stride = entries + 2 + (has_row ? 2 * arrays->state->history + 1 : 0),
                             .commit = pass == CVTM_PASS_B && arrays->state->needs_commit,
                             .block = arrays->block,
                             .blocks = d->blocks,
                             .first = d->share.first,
                             .own_blocks = d->own_blocks};
}

/* Sums this rank's blocks, then all blocks; all sums reach the decisions through this function.
 * result: the entries of the pass and, if pass->has_row, the row. */
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
  if (pass == CVTM_PASS_B) on.arrays->state->needs_commit = 0;
}

/* --- phases of a round, see iteration.h ------------------------------------------------------- */

/* Runs pass A together with the test of the trial point. Returns g'd. */
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
  if (speculates)
    slope = pass_speculatively(on);
  else
    slope = search_slope(on);
  if (has_failed(on)) return;
  cvtm_lbfgsb_decide_search(state, d->decided->total + entries, slope, requested_stop(on));
  state->needs_commit = speculates && state->needs_update && state->store_pair;
  if (state->needs_commit) memcpy(arrays->sums, arrays->reduced, sizeof d->decided->sums);
}

static void update_matrices(executor on) { update_from_sums(on); }

/* The record of pass A contains the row with the nearest breakpoint. */
static void read_nearest_row(executor on, double *w) {
  const double *row = on.arrays->sums + layout_of(on).entries;
  memcpy(w, row, (size_t)(2 * on.arrays->state->history + 1) * sizeof *w);
}

static void move_trial_point(executor on) {
  check_pass(on, on.arrays->divided->table->move(on.device, on.arrays));
}

/* --- the exact Cauchy point ------------------------------------------------------------------- */

static void list_window(executor on) {
  host_window *window = on.window;
  window->first = 0; /* index of the first breakpoint of this rank that the walk has not passed */
  window->next = 0;  /* 0: no batch has been exchanged yet */
  check_pass(on, cvtm_lbfgsb_list_breakpoints(on.device, &on.arrays->divided->list, on.arrays,
                                              &window->count));
}

/* Reads this rank's next breakpoints, up to one batch, padded with infinite values. Then gathers
 * the batches of all ranks. */
static void exchange_breakpoints(executor on) {
  const cvtm_divided *d = on.arrays->divided;
  const host_window *window = on.window;
  const int row = 2 * on.arrays->state->history + 1, size = PLACE + row;
  const int64_t batch = (int64_t)CVTM_DIVIDED_BATCH * size, left = window->count - window->first;
  const int own = left < CVTM_DIVIDED_BATCH ? (int)left : CVTM_DIVIDED_BATCH;
  double *to = d->breakpoints + own_rank(on.device) * batch;
  cvtm_status status = CVTM_OK;
  if (own > 0) {
    status = cvtm_device_copy_out(on.device, d->times, on.arrays->breakpoints + window->first,
                                  (size_t)own * sizeof *d->times);
    if (status == CVTM_OK)
      status = cvtm_device_copy_out(on.device, d->rows, d->list.rows + window->first,
                                    (size_t)own * sizeof *d->rows);
    if (status == CVTM_OK)
      status =
          d->table->read_rows(on.device, on.arrays, d->list.rows + window->first, own, d->rows_w);
  }
  for (int b = 0; b < CVTM_DIVIDED_BATCH; ++b, to += size) {
    to[0] = b < own ? d->times[b] : HUGE_VAL;
    to[1] = b < own ? (double)(d->share.first + d->rows[b]) : 0.0;
    if (b < own) memcpy(to + PLACE, d->rows_w + (int64_t)b * row, (size_t)row * sizeof *to);
  }
  for (int r = 0; r < rank_count(on.device); ++r) d->counts[r] = batch;
  if (status == CVTM_OK) status = cvtm_ranks_gather(on.device, d->breakpoints, d->counts);
  check_pass(on, status);
  /* from here on counts[r] is the number of breakpoints of rank r that the walk has passed */
  memset(d->counts, 0, (size_t)rank_count(on.device) * sizeof *d->counts);
}

/* Finds the rank whose batch has the nearest remaining breakpoint, by (t, row). */
static int find_nearest_rank(executor on, const double **nearest) {
  const cvtm_divided *d = on.arrays->divided;
  const int size = PLACE + 2 * on.arrays->state->history + 1;
  int of = 0;
  *nearest = NULL;
  for (int r = 0; r < rank_count(on.device); ++r) {
    const double *head = d->breakpoints + (r * (int64_t)CVTM_DIVIDED_BATCH + d->counts[r]) * size;
    const double *next = *nearest;
    if (next && !(head[0] < next[0] || (head[0] == next[0] && head[1] < next[1]))) continue;
    *nearest = head;
    of = r;
  }
  return of;
}

/* When the walk has passed a batch of some rank, the ranks exchange their next batches. */
static int next_breakpoint(executor on, double *t) {
  const cvtm_divided *d = on.arrays->divided;
  host_window *window = on.window;
  const double *nearest;
  if (window->next == 0) exchange_breakpoints(on);
  if (has_failed(on)) return 0;
  const int of = find_nearest_rank(on, &nearest);
  if (!(nearest[0] < HUGE_VAL)) return 0;
  if (of == own_rank(on.device)) ++window->first;
  window->next = ++d->counts[of] < CVTM_DIVIDED_BATCH;
  window->row = nearest + PLACE;
  *t = nearest[0];
  return 1;
}

/* --- the functions of the table --------------------------------------------------------------- */

cvtm_status cvtm_divided_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                               const cvtm_lbfgsb_state *first) {
  /* waits until the device has zeroed `model`, which the host uses from here on */
  cvtm_status status = cvtm_device_synchronize(device);
  const executor on = {arrays, device, 0, &status, NULL};
  (void)m;
  *arrays->state = *first;
  if (status == CVTM_OK) run_pass(on, CVTM_PASS_START, CVTM_SUM_COLUMNS, arrays->sums);
  if (status == CVTM_OK) cvtm_lbfgsb_init_state(arrays->state, arrays->sums);
  return status;
}

cvtm_status cvtm_divided_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m) {
  cvtm_status status = CVTM_OK;
  host_window window;
  const executor on = {arrays, device, 0, &status, &window};
  (void)m;
  if (!arrays->state->running) return CVTM_OK;
  cvtm_lbfgsb_round(on);
  commit(on);
  return status;
}

/* --- memory and shares ------------------------------------------------------------------------ */

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
  cvtm_scratch *on_host = &d->on_host;
  d->rank_blocks = cvtm_scratch_zeros(on_host, ranks, sizeof *d->rank_blocks);
  d->counts = cvtm_scratch_zeros(on_host, ranks, sizeof *d->counts);
  d->staging = cvtm_scratch_zeros(on_host, CVTM_DIVIDED_BLOCKS * CVTM_DIVIDED_STRIDE, number);
  d->breakpoints = cvtm_scratch_zeros(on_host, ranks * batch * (PLACE + row), number);
  d->times = cvtm_scratch_zeros(on_host, batch, number);
  d->rows_w = cvtm_scratch_zeros(on_host, batch * row, number);
  d->rows = cvtm_scratch_zeros(on_host, batch, sizeof *d->rows);
  if (!on_host->failed) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
}

cvtm_status cvtm_divided_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int64_t capacity,
                                int exact, cvtm_divided **divided) {
  cvtm_divided *d = calloc(1, sizeof *d);
  void *host = NULL, *mapped = NULL;
  if (!d) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  d->table = CVTM_TABLE(device, cvtm_divided_table);
  cvtm_status status = allocate_on_host(device, d);
  if (status == CVTM_OK)
    status = cvtm_device_allocate_mapped(device, sizeof(decisions), &host, &mapped);
  d->decided = host;
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, (int64_t)CVTM_DIVIDED_BLOCKS * CVTM_DIVIDED_STRIDE,
                                  CVTM_TYPED(d->records));
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
  cvtm_scratch_free(&d->on_host);
  free(d);
}

int64_t cvtm_divided_parts(cvtm_device *device, int64_t n, int64_t problems) {
  (void)problems;
  return CVTM_TABLE(device, cvtm_divided_table)->parts(n);
}

const cvtm_lbfgsb_share *cvtm_divided_share(const cvtm_divided *divided) { return &divided->share; }

int64_t cvtm_divided_own_blocks(const cvtm_divided *divided) { return divided->own_blocks; }

/* What each rank sends about its share: a cvtm_lbfgsb_share, and whether the rank has memory for
 * it. FACTS is the number of these values. */
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
  double *facts = d->breakpoints; /* a buffer that is large enough */
  double *own = facts + (int64_t)rank * FACTS;
  own[FIRST] = (double)share->first;
  own[COUNT] = (double)share->count;
  own[TOTAL] = (double)share->total;
  own[FITS] = share->count <= capacity;
  for (int r = 0; r < ranks; ++r) d->counts[r] = FACTS;
  CVTM_TRY(cvtm_ranks_gather(device, facts, d->counts));
  CVTM_TRY(check_shares(device, facts, ranks));
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

/* Appends the row of W with the block's nearest breakpoint to the record, and numbers this row
 * among the rows of all ranks. */
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
  const int64_t block_parts = pass->block / CVTM_LBFGSB_CPU_PART;
  double all[CVTM_LBFGSB_MAX_ENTRIES];
  cvtm_lbfgsb_cpu_pass(cvtm_device_threads(device), arrays, pass->pass, arrays->model->q,
                       pass->entries, all);
  for (int64_t b = 0; b < pass->own_blocks; ++b, records += pass->stride) {
    memcpy(records, arrays->partial + b * block_parts * pass->entries,
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

const cvtm_divided_table cvtm_divided_table_cpu = {
    .parts = cvtm_lbfgsb_cpu_parts,
    .pass = cpu_pass,
    .combine = cpu_combine,
    .move = cpu_move,
    .read_rows = cvtm_lbfgsb_cpu_read_rows,
};
