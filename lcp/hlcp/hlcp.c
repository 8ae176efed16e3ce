#include "lcp/hlcp.h"

#include "base/select.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/primitives.h"
#include "lcp/hlcp/hlcp_solver.h"
#include "lcp/sparse/csr.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

CVTM_DEFINE_NAMES(cvtm_hlcp_method_name, cvtm_hlcp_method, CVTM_HLCP_METHOD_LIST)

void cvtm_hlcp_defaults(cvtm_hlcp_options *options) {
  memset(options, 0, sizeof *options);
  options->method = CVTM_HLCP_MMSOR;
  options->alpha = 1;
  options->beta = 1.1;
  options->gamma = 2;
  options->scaling = CVTM_HLCP_OMEGA_RATIO;
  options->omega = 1;
  options->start = 2;
  options->tolerance = 1e-6;
  options->max_iterations = 10000;
}

/* --- arguments ------------------------------------------------------------------------ */

static cvtm_status check_numbers(const cvtm_hlcp_options *o, cvtm_error *error) {
  if (!(o->gamma > 0) || !isfinite(o->gamma))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "gamma must be positive, not %g", o->gamma);
  if (o->scaling == CVTM_HLCP_OMEGA_VECTOR ? o->omega_vector == NULL
                                           : !(o->omega > 0) || !isfinite(o->omega))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "omega must be positive, not %g", o->omega);
  if (!(o->alpha > 0) || !isfinite(o->alpha) || !(o->beta >= 0) || !isfinite(o->beta))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "alpha must be positive and beta not negative, not %g and %g", o->alpha,
                     o->beta);
  if (o->block_threads < 0 || o->block_threads > 1024)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "blocks have 1 to 1024 threads, not %lld",
                     (long long)o->block_threads);
  if (!(o->tolerance >= 0) || o->max_iterations < 0 || !isfinite(o->start))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the tolerance, the limit of iterations or the start is out of range");
  return CVTM_OK;
}

static cvtm_status check_splitting(const cvtm_hlcp_options *o, const cvtm_csr *b, int64_t n,
                                   cvtm_error *error) {
  if (o->splits < 0 || o->splits > n)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the number of splits must be 1 to %lld, not %lld",
                     (long long)n, (long long)o->splits);
  if (o->split == CVTM_HLCP_SPLIT_A_ONLY) {
    for (int64_t i = 0; i < n; ++i) {
      if (b->row_start[i + 1] - b->row_start[i] == 1) continue;
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                       "B: row %lld: B is not diagonal, so it cannot stay unsplit",
                       (long long)i + 1);
    }
  }
  return CVTM_OK;
}

static cvtm_status check_matrices(const cvtm_csr *a, const cvtm_csr *b, int needs_diagonals,
                                  cvtm_error *error) {
  CVTM_TRY(needs_diagonals ? cvtm_csr_check_diagonal(a, "A", error)
                           : cvtm_csr_check(a, "A", error));
  CVTM_TRY(needs_diagonals ? cvtm_csr_check_diagonal(b, "B", error)
                           : cvtm_csr_check(b, "B", error));
  if (a->rows != a->columns || b->rows != a->rows || b->columns != a->rows)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "A is %lld x %lld and B is %lld x %lld: both must be square and of one size",
                     (long long)a->rows, (long long)a->columns, (long long)b->rows,
                     (long long)b->columns);
  if (a->rows == 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "A: no rows");
  return CVTM_OK;
}

static cvtm_status check_input(const cvtm_csr *a, const cvtm_csr *b,
                               const cvtm_hlcp_options *options, cvtm_error *error) {
  const int is_newton = options->method == CVTM_HLCP_NEWTON;
  CVTM_TRY(check_numbers(options, error));
  CVTM_TRY(check_matrices(a, b, !is_newton, error));
  return !is_newton ? check_splitting(options, b, a->rows, error) : CVTM_OK;
}

/* ------ setup: the triangular systems of a sweep, from the strictly lower parts of the blocks
 * times beta ------ */

/* --- Omega -------------------------------------------------------------------------------- */

static cvtm_status omega_row(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                             int64_t row, double *omega, cvtm_error *error) {
  double value = options->omega;
  if (options->scaling == CVTM_HLCP_OMEGA_VECTOR) value = options->omega_vector[row];
  if (options->scaling == CVTM_HLCP_OMEGA_RATIO)
    value *= cvtm_csr_entry(a, row, row) / cvtm_csr_entry(b, row, row);
  *omega = value;
  if (value > 0 && isfinite(value)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "Omega: row %lld: %g is not positive",
                   (long long)row + 1, value);
}

/* Finds the diagonal Omega of the options, n doubles on the host, which the caller frees. */
static cvtm_status find_omega(const cvtm_csr *a, const cvtm_csr *b,
                              const cvtm_hlcp_options *options, double **omega, cvtm_error *error) {
  double *values = malloc(((size_t)a->rows + 1) * sizeof *values);
  if (values == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to set up a multisplitting");
  cvtm_status status = CVTM_OK;
  for (int64_t row = 0; row < a->rows && status == CVTM_OK; ++row)
    status = omega_row(a, b, options, row, &values[row], error);
  if (status != CVTM_OK) free(values);
  if (status == CVTM_OK) *omega = values;
  return status;
}

/* Makes B Omega: each entry times the omega of its column. The caller frees it. */
static cvtm_status scale_columns(const cvtm_csr *b, const double *omega, cvtm_csr *scaled,
                                 cvtm_error *error) {
  CVTM_TRY(cvtm_csr_copy(b, scaled, error));
  for (int64_t k = 0; k < b->row_start[b->rows]; ++k) scaled->value[k] *= omega[b->column[k]];
  return CVTM_OK;
}

/* --- the systems in host memory ------------------------------------------------------------ */

/* Row i of a triangular system: beta / M_ii times the strictly lower part of its block. Writes it
 * to csr from entry `at` on, unless csr is NULL. first: the first row of the block. Returns the
 * number of entries. */
static int64_t put_lower_row(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *o,
                             int64_t i, int64_t first, int64_t at, cvtm_csr *csr) {
  const int a_only = o->split == CVTM_HLCP_SPLIT_A_ONLY;
  const double diagonal =
      cvtm_csr_entry(a, i, i) + (a_only ? o->alpha : 1) * cvtm_csr_entry(b, i, i);
  int64_t at_a = a->row_start[i], at_b = b->row_start[i], place[2], count = 0;
  if (o->beta == 0) return 0;
  for (;;) {
    const int64_t j = cvtm_csr_next_column(a, b, i, &at_a, &at_b, place);
    if (j < 0 || j >= i) break;
    const double of_a = place[0] >= 0 ? a->value[place[0]] : 0;
    const double of_b = place[1] >= 0 && !a_only ? b->value[place[1]] : 0;
    const double value = of_a + of_b;
    if (value == 0 || (j < first && o->rule == CVTM_HLCP_BLOCK)) continue;
    if (csr != NULL) {
      csr->column[at + count] = (int32_t)(j < first ? j : a->rows + j);
      csr->value[at + count] = o->beta * value / diagonal;
    }
    ++count;
  }
  return count;
}

static cvtm_status build_lower(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *o,
                               int64_t splits, cvtm_csr *lower, cvtm_error *error) {
  const int64_t n = a->rows;
  if (n > INT32_MAX / 2)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld unknowns are too many", (long long)n);
  int64_t entries = 0;
  /* the first pass counts, the second fills */
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      CVTM_TRY(cvtm_csr_create(n, 2 * n, entries, lower, error));
    }
    for (int64_t k = 0; k < splits; ++k) {
      const int64_t first = cvtm_hlcp_block_start(n, splits, k);
      const int64_t end = cvtm_hlcp_block_start(n, splits, k + 1);
      for (int64_t i = first; i < end; ++i) {
        const int64_t start = pass == 1 ? lower->row_start[i] : 0;
        const int64_t count = put_lower_row(a, b, o, i, first, start, pass == 1 ? lower : NULL);
        if (pass == 1) lower->row_start[i + 1] = start + count;
        entries += count;
      }
    }
  }
  return CVTM_OK;
}

/* --- to the device ------------------------------------------------------------------------- */

/* True if the equation of an unknown contains another unknown. */
static int is_chained(const cvtm_csr *lower) {
  for (int64_t t = 0; t < lower->row_start[lower->rows]; ++t) {
    if (lower->column[t] >= lower->rows) return 1;
  }
  return 0;
}

/* Builds on the host the systems that a sweep solves with l splits, and copies them to the device.
 * b: B Omega. On failure nothing is left to free. */
static cvtm_status create_systems(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                  const cvtm_hlcp_options *options, int64_t splits,
                                  cvtm_hlcp_systems *systems) {
  cvtm_csr lower = {0, 0, NULL, NULL, NULL};
  memset(systems, 0, sizeof *systems);
  cvtm_status status = build_lower(a, b, options, splits, &lower, cvtm_device_error(device));
  if (status == CVTM_OK) {
    systems->blocks = splits;
    systems->chained = is_chained(&lower);
    systems->largest = cvtm_hlcp_block_start(a->rows, splits, 1); /* block 0 is the largest */
    systems->block_threads = options->block_threads;
    status = cvtm_sell_create(device, &lower, &systems->lower);
  }
  cvtm_csr_free(&lower);
  return status;
}

/* --- setup ---------------------------------------------------------------------------- */

/* Sets alpha and beta of mmj and mmgs, special cases of the AOR family. */
static void set_aor_parameters(cvtm_hlcp_options *options) {
  if (options->method == CVTM_HLCP_MMJ) {
    options->alpha = 1;
    options->beta = 0;
  }
  if (options->method == CVTM_HLCP_MMGS) options->alpha = options->beta = 1;
}

static int64_t number_of_splits(const cvtm_hlcp *h) {
  const cvtm_hlcp_options *o = &h->options;
  const int64_t n = h->arrays.n;
  if (o->splits > 0) return o->splits;
  if (h->table->automatic_block > 0)
    return (n + h->table->automatic_block - 1) / h->table->automatic_block;
  return n < h->table->automatic_blocks ? n : h->table->automatic_blocks;
}

static cvtm_status hlcp_sweep(void *context) {
  cvtm_hlcp *h = context;
  CVTM_TRY(h->table->residual(h->device, &h->arrays));
  CVTM_TRY(h->table->check(h->device, &h->arrays));
  return h->table->correct(h->device, &h->arrays);
}

static cvtm_status set_up_sweeps(cvtm_hlcp *h, const cvtm_csr *a, const cvtm_csr *b) {
  cvtm_error *error = cvtm_device_error(h->device);
  cvtm_hlcp_arrays *arrays = &h->arrays;
  double *omega = NULL;
  cvtm_csr scaled = {0, 0, NULL, NULL, NULL};
  cvtm_status status = find_omega(a, b, &h->options, &omega, error);
  if (status == CVTM_OK) status = scale_columns(b, omega, &scaled, error);
  if (status == CVTM_OK) {
    h->splits = number_of_splits(h);
    status = create_systems(h->device, a, &scaled, &h->options, h->splits, &arrays->systems);
  }
  if (status == CVTM_OK) status = cvtm_sell_create(h->device, &scaled, &arrays->b);
  if (status == CVTM_OK && h->options.scaling != CVTM_HLCP_OMEGA_NUMBER) {
    status = cvtm_device_allocate(h->device, arrays->n, CVTM_TYPED(h->omega));
    if (status == CVTM_OK)
      status = cvtm_device_copy_in(h->device, h->omega, omega, (size_t)arrays->n * sizeof *omega);
  }
  arrays->omega = h->omega;
  arrays->omega_number = h->options.omega;
  arrays->alpha = h->options.alpha;
  arrays->share = h->options.split == CVTM_HLCP_SPLIT_A_ONLY ? h->options.alpha : 1;
  cvtm_csr_free(&scaled);
  free(omega);
  return status;
}

static cvtm_arrays hlcp_arrays(cvtm_hlcp *h) {
  cvtm_hlcp_arrays *arrays = &h->arrays;
  const int64_t n = arrays->n;
  return (cvtm_arrays){{CVTM_ARRAY(h->own_x, n), CVTM_ARRAY(h->q, n),
                        CVTM_ARRAY(arrays->partial, h->table->parts(n)),
                        CVTM_ARRAY(arrays->change, h->newton != NULL ? n : 2 * n),
                        CVTM_ARRAY(arrays->state, 1), CVTM_ARRAY(h->reduced, 1)}};
}

static cvtm_status allocate_hlcp(cvtm_hlcp *h) {
  CVTM_TRY(cvtm_reduce_reserve(h->device, h->arrays.n));
  CVTM_TRY(cvtm_device_allocate_arrays(h->device, hlcp_arrays(h)));
  h->host_state = malloc(sizeof *h->host_state);
  if (h->host_state == NULL)
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "out of memory");
  h->arrays.q = h->q;
  h->arrays.x = h->own_x;
  return CVTM_OK;
}

cvtm_status cvtm_hlcp_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                             const cvtm_hlcp_options *options, cvtm_hlcp **hlcp) {
  CVTM_DEFAULT_OPTIONS(cvtm_hlcp, options)
  const double start = cvtm_clock();
  cvtm_error *error = cvtm_device_error(device);
  CVTM_TRY(check_input(a, b, options, error));
  cvtm_hlcp *h = calloc(1, sizeof *h);
  if (h == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  h->device = device;
  h->table = CVTM_TABLE(device, cvtm_hlcp_table);
  h->options = *options;
  set_aor_parameters(&h->options);
  h->arrays.n = a->rows;
  h->arrays.gamma = h->options.gamma;
  cvtm_status status = cvtm_sell_create(device, a, &h->arrays.a);
  if (status == CVTM_OK)
    status = options->method == CVTM_HLCP_NEWTON ? cvtm_hlcp_newton_set_up(h, a, b)
                                                 : set_up_sweeps(h, a, b);
  if (status == CVTM_OK) status = allocate_hlcp(h);
  h->options.omega_vector = NULL;
  if (status == CVTM_OK && h->newton != NULL)
    status = cvtm_hlcp_newton_create_krylov(h);
  else if (status == CVTM_OK)
    status = cvtm_loop_create(device, hlcp_sweep, h, &h->arrays.state->go_on, &h->loop);
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  if (status != CVTM_OK) {
    cvtm_hlcp_destroy(h);
    return status;
  }
  h->setup_seconds = cvtm_clock() - start;
  *hlcp = h;
  return CVTM_OK;
}

void cvtm_hlcp_destroy(cvtm_hlcp *h) {
  if (h == NULL) return;
  cvtm_loop_destroy(h->loop);
  cvtm_hlcp_newton_destroy(h);
  cvtm_sell_free(h->device, &h->arrays.systems.lower);
  cvtm_sell_free(h->device, &h->arrays.a);
  cvtm_sell_free(h->device, &h->arrays.b);
  cvtm_device_free(h->device, h->omega);
  cvtm_device_free_arrays(h->device, hlcp_arrays(h));
  free(h->host_state);
  free(h);
}

/* --- solving -------------------------------------------------------------------------- */

/* Reduces n doubles in device memory to one double in host memory. */
static cvtm_status reduce_to_host(cvtm_hlcp *h, cvtm_reduction reduction, const double *values,
                                  double *result) {
  CVTM_TRY(cvtm_reduce(h->device, reduction, values, h->arrays.n, h->reduced));
  return cvtm_device_copy_out(h->device, result, h->reduced, sizeof *result);
}

/* Fails for a q that is not finite. */
static cvtm_status check_right_side(cvtm_hlcp *h) {
  double largest = 0;
  cvtm_status status = reduce_to_host(h, CVTM_REDUCE_MAX_ABS, h->q, &largest);
  if (status != CVTM_OK || isfinite(largest)) return status;
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  cvtm_error *error = cvtm_device_error(h->device);
  double *q = malloc(bytes);
  if (q == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  status = cvtm_device_copy_out(h->device, q, h->q, bytes);
  for (int64_t i = 0; i < h->arrays.n && status == CVTM_OK; ++i) {
    if (!isfinite(q[i]))
      status = cvtm_fail(error, CVTM_ERROR_INPUT, "q: row %lld: the value is %g", (long long)i + 1,
                         q[i]);
  }
  free(q);
  return status;
}

static cvtm_status poll_state(cvtm_hlcp *h) {
  return cvtm_device_copy_out(h->device, h->host_state, h->arrays.state, sizeof *h->host_state);
}

/* Calls the monitor for iterations *next and later. Returns nonzero if the monitor asks to stop. */
static int call_monitor(cvtm_hlcp *h, int64_t *next) {
  const int64_t last =
      h->host_state->apply ? h->host_state->iteration - 1 : h->host_state->iteration;
  int asked = 0;
  for (; *next <= last; ++*next) {
    const cvtm_hlcp_progress progress = {*next, h->host_state->residuals[*next % CVTM_HLCP_RING]};
    if (h->options.monitor == NULL) continue;
    if (h->options.monitor(h->options.monitor_context, &progress)) asked = 1;
  }
  return asked;
}

void cvtm_hlcp_reset_state(cvtm_hlcp *h) {
  memset(h->host_state, 0, sizeof *h->host_state);
  h->host_state->target = fmin(h->options.tolerance, DBL_MAX);
  h->host_state->limit = h->options.max_iterations;
  h->host_state->stop = CVTM_UNDECIDED;
}

static cvtm_status solve_by_sweeps(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  cvtm_hlcp_state *state = h->host_state;
  cvtm_hlcp_reset_state(h);
  const int64_t poll_interval = h->options.monitor != NULL ? 64 : CVTM_HLCP_RING / 2;
  int64_t next = 0;
  int interrupted = 0;
  while (state->stop == CVTM_UNDECIDED) {
    state->go_on = 1;
    state->pause_at = state->iteration + poll_interval;
    CVTM_TRY(cvtm_device_copy_in(h->device, h->arrays.state, state, sizeof *state));
    CVTM_TRY(cvtm_loop_run(h->loop));
    CVTM_TRY(poll_state(h));
    if (call_monitor(h, &next) && state->stop == CVTM_UNDECIDED) {
      interrupted = 1;
      state->limit = state->iteration; /* one more residual follows, that of the last iterate */
    }
  }
  const int limited = state->stop == (int32_t)CVTM_LCP_ITERATIONS;
  result->stop = interrupted && limited ? CVTM_LCP_INTERRUPTED : (cvtm_lcp_stop)state->stop;
  result->iterations = state->iteration;
  result->residual = state->residual;
  return CVTM_OK;
}

cvtm_status cvtm_hlcp_solve(cvtm_hlcp *h, const double *q, double *x, int warm, double *z,
                            double *w, cvtm_hlcp_result *result) {
  memset(result, 0, sizeof *result);
  CVTM_TRY(cvtm_device_copy(h->device, h->q, q, (size_t)h->arrays.n * sizeof *h->q));
  CVTM_TRY(check_right_side(h));
  const double start = cvtm_clock();
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  if (warm && x != NULL)
    CVTM_TRY(cvtm_device_copy(h->device, h->own_x, x, bytes));
  else
    CVTM_TRY(cvtm_vector_fill(h->device, h->own_x, h->options.start, h->arrays.n));
  CVTM_TRY(h->newton != NULL ? cvtm_hlcp_newton_solve(h, result) : solve_by_sweeps(h, result));
  result->seconds = cvtm_clock() - start;
  CVTM_TRY(h->table->finish(h->device, &h->arrays, z, w));
  CVTM_TRY(reduce_to_host(h, CVTM_REDUCE_MAX, h->arrays.change, &result->max_complementarity));
  if (x != NULL) CVTM_TRY(cvtm_device_copy(h->device, x, h->own_x, bytes));
  result->splits = h->splits;
  result->setup_seconds = h->setup_seconds;
  return CVTM_OK;
}
