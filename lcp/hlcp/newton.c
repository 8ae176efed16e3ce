/* The semismooth Newton method on H(x) = A max(x, 0) + B min(x, 0) - q, z = max(x, 0) and
 * w = -min(x, 0): column j of the generalised Jacobian is A's where x_j > 0, else B's. Full
 * steps, with a line search on ||H|| once they stop to help. */
#include "lcp/hlcp/newton.h"

#include "lcp/hlcp/hlcp_solver.h"
#include "lcp/sparse/csr.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  PATIENCE = 8,  /* full steps without progress before the line search */
  HALVINGS = 30, /* of a step */
  MOST_BAND = 96,
  LINEAR_LIMIT = 2000
};
static const double band_memory = 4e9; /* bytes */
/* Of a linear residual: little while the signs of x are still guesses (Eisenstat & Walker 1996,
 * "Choosing the forcing terms in an inexact Newton method"). */
static const double most_linear_decrease = 1e-5, least_linear_decrease = 0.1;

struct cvtm_hlcp_newton {
  int is_banded;
  cvtm_band band;
  cvtm_csr a, b; /* of a banded problem, on the host */
  double *host;  /* n */
  double *step, *best;
  cvtm_krylov krylov;
  double *inverse;
  double norm_before; /* of the step before; 0: there is none */
  cvtm_loop *loop;
};

/* --- banded systems ------------------------------------------------------------------- */

static double *band_at(const cvtm_band *band, int64_t i, int64_t j) {
  const int64_t height = 2 * band->lower + band->upper + 1;
  return band->value + j * height + band->lower + band->upper + (i - j);
}

int cvtm_band_factor(cvtm_band *band) {
  const int64_t n = band->n, reach = band->lower + band->upper;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t last_row = k + band->lower < n ? k + band->lower : n - 1;
    const int64_t last_column = k + reach < n ? k + reach : n - 1;
    int64_t pivot = k;
    for (int64_t i = k + 1; i <= last_row; ++i) {
      if (fabs(*band_at(band, i, k)) > fabs(*band_at(band, pivot, k))) pivot = i;
    }
    band->pivot[k] = pivot;
    if (*band_at(band, pivot, k) == 0) return 0;
    for (int64_t j = k; j <= last_column && pivot != k; ++j) {
      const double swapped = *band_at(band, k, j);
      *band_at(band, k, j) = *band_at(band, pivot, j);
      *band_at(band, pivot, j) = swapped;
    }
    for (int64_t i = k + 1; i <= last_row; ++i) *band_at(band, i, k) /= *band_at(band, k, k);
    for (int64_t j = k + 1; j <= last_column; ++j) {
      const double above = *band_at(band, k, j);
      if (above == 0) continue;
      for (int64_t i = k + 1; i <= last_row; ++i) {
        *band_at(band, i, j) -= *band_at(band, i, k) * above;
      }
    }
  }
  return 1;
}

void cvtm_band_solve(const cvtm_band *band, double *x) {
  const int64_t n = band->n, reach = band->lower + band->upper;
  for (int64_t k = 0; k < n; ++k) {
    const double value = x[band->pivot[k]];
    x[band->pivot[k]] = x[k];
    x[k] = value;
    for (int64_t i = k + 1; i <= k + band->lower && i < n; ++i) {
      x[i] -= *band_at(band, i, k) * value;
    }
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    x[k] /= *band_at(band, k, k);
    for (int64_t i = k - reach > 0 ? k - reach : 0; i < k; ++i) {
      x[i] -= *band_at(band, i, k) * x[k];
    }
  }
}

static void widen(const cvtm_csr *m, cvtm_band *band) {
  for (int64_t i = 0; i < m->rows; ++i) {
    if (m->row_start[i] == m->row_start[i + 1]) continue;
    const int64_t first = m->column[m->row_start[i]], last = m->column[m->row_start[i + 1] - 1];
    if (i - first > band->lower) band->lower = i - first;
    if (last - i > band->upper) band->upper = last - i;
  }
}

static int64_t band_height(const cvtm_band *band) { return 2 * band->lower + band->upper + 1; }

static void put_band(cvtm_hlcp_newton *s, const cvtm_csr *m, const double *x, int positive) {
  for (int64_t i = 0; i < m->rows; ++i) {
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; ++k) {
      const int64_t j = m->column[k];
      if ((x[j] > 0) == positive) *band_at(&s->band, i, j) = m->value[k];
    }
  }
}

/* step = the solution of a banded system for change / 2. A singular one is no error: the step
 * is then 0 and the method stalls. */
static cvtm_status banded_step(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  cvtm_status status = cvtm_device_copy_out(h->device, s->host, h->own_x, bytes);
  if (status != CVTM_OK) return status;
  memset(s->band.value, 0, (size_t)(band_height(&s->band) * s->band.n) * sizeof(double));
  put_band(s, &s->a, s->host, 1);
  put_band(s, &s->b, s->host, 0);
  status = cvtm_device_copy_out(h->device, s->host, h->arrays.change, bytes);
  if (status != CVTM_OK) return status;
  const int is_regular = cvtm_band_factor(&s->band);
  for (int64_t i = 0; i < s->band.n; ++i) s->host[i] = is_regular ? s->host[i] / 2 : 0;
  if (is_regular) cvtm_band_solve(&s->band, s->host);
  return cvtm_device_copy_in(h->device, s->step, s->host, bytes);
}

/* --- BiCGSTAB ------------------------------------------------------------------------- */

static cvtm_status dot(cvtm_hlcp *h, const double *x, const double *y, double *result) {
  return cvtm_dot(h->device, x, y, h->arrays.n, result, h->workspace, h->workspace_bytes);
}

static cvtm_status pass(cvtm_hlcp *h, cvtm_krylov_pass which) {
  return h->table->krylov(h->device, &h->newton->krylov, which);
}

static cvtm_status krylov_iteration(void *context) {
  cvtm_hlcp *h = context;
  const cvtm_krylov *k = &h->newton->krylov;
  cvtm_krylov_state *state = k->state;
  cvtm_status status = pass(h, CVTM_KRYLOV_DIRECTION);
  if (status == CVTM_OK) status = h->table->apply(h->device, &h->arrays, k->p_hat, k->v);
  if (status == CVTM_OK) status = dot(h, k->shadow, k->v, &state->shadow_v);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_ALPHA);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_HALF);
  if (status == CVTM_OK) status = h->table->apply(h->device, &h->arrays, k->s_hat, k->t);
  if (status == CVTM_OK) status = dot(h, k->t, k->r, &state->ts);
  if (status == CVTM_OK) status = dot(h, k->t, k->t, &state->tt);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_OMEGA);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_FULL);
  if (status == CVTM_OK) status = dot(h, k->r, k->r, &state->squares);
  if (status == CVTM_OK) status = dot(h, k->shadow, k->r, &state->rho);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_CLOSE);
  return status;
}

static cvtm_status krylov_step(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  cvtm_hlcp_newton *s = h->newton;
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  const double norm = h->seen->residual; /* of the right side */
  cvtm_krylov_state state;
  memset(&state, 0, sizeof state);
  const double progress = norm / s->norm_before;
  double decrease = s->norm_before > 0 ? progress * progress : least_linear_decrease;
  decrease = fmin(fmax(decrease, most_linear_decrease), least_linear_decrease);
  s->norm_before = norm;
  double target = decrease * norm;
  if (0.1 * h->options.tolerance > target) target = 0.1 * h->options.tolerance;
  state.target = target * target;
  state.limit = LINEAR_LIMIT;
  cvtm_status status = h->table->diagonal(h->device, &h->arrays, s->inverse);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_in(h->device, s->krylov.state, &state, sizeof state);
  }
  /* The right side is half of change. */
  if (status == CVTM_OK) status = cvtm_device_fill(h->device, s->krylov.r, 0, bytes);
  if (status == CVTM_OK) {
    status = cvtm_vector_axpy(h->device, 0.5, h->arrays.change, s->krylov.r, h->arrays.n);
  }
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_BEGIN);
  if (status == CVTM_OK) status = dot(h, s->krylov.r, s->krylov.r, &s->krylov.state->rho);
  if (status == CVTM_OK) status = pass(h, CVTM_KRYLOV_OPEN);
  if (status == CVTM_OK) status = cvtm_loop_run(s->loop);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(h->device, &state, s->krylov.state, sizeof state);
  }
  result->linear_iterations += state.iteration;
  return status;
}

/* --- setup ---------------------------------------------------------------------------- */

static cvtm_status set_up_band(cvtm_hlcp *h, const cvtm_csr *a, const cvtm_csr *b) {
  cvtm_hlcp_newton *s = h->newton;
  cvtm_error *error = cvtm_device_error(h->device);
  const size_t n = (size_t)h->arrays.n;
  cvtm_status status = cvtm_csr_copy(a, &s->a, error);
  if (status == CVTM_OK) status = cvtm_csr_copy(b, &s->b, error);
  s->host = malloc(n * sizeof *s->host);
  s->band.value = malloc((size_t)band_height(&s->band) * n * sizeof(double));
  s->band.pivot = malloc(n * sizeof *s->band.pivot);
  if (status == CVTM_OK && (!s->host || !s->band.value || !s->band.pivot)) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a banded matrix");
  }
  return status;
}

static cvtm_status set_up_krylov(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  cvtm_krylov *k = &s->krylov;
  const int64_t n = h->arrays.n;
  double **const vectors[] = {&s->inverse, &k->r, &k->shadow, &k->p,
                              &k->v,       &k->t, &k->p_hat,  &k->s_hat};
  cvtm_status status = CVTM_OK;
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors && status == CVTM_OK; ++v) {
    status = cvtm_hlcp_vector(h, n, vectors[v]);
  }
  if (status == CVTM_OK) {
    status = cvtm_device_allocate(h->device, 1, sizeof *k->state, (void **)&k->state);
  }
  k->n = n;
  k->inverse = s->inverse;
  k->solution = s->step;
  return status;
}

cvtm_status cvtm_hlcp_newton_set_up(cvtm_hlcp *h, const cvtm_csr *a, const cvtm_csr *b) {
  cvtm_error *error = cvtm_device_error(h->device);
  cvtm_hlcp_newton *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  h->newton = s;
  /* x is z - w itself, and change = -2 H(x). */
  h->arrays.gamma = 2;
  h->arrays.omega_number = 1;
  h->arrays.alpha = 0;
  s->band.n = a->rows;
  widen(a, &s->band);
  widen(b, &s->band);
  s->is_banded = band_height(&s->band) <= MOST_BAND &&
                 (double)band_height(&s->band) * (double)a->rows * sizeof(double) <= band_memory;
  cvtm_status status = cvtm_sell_create(h->device, b, &h->arrays.b);
  if (status == CVTM_OK) status = cvtm_hlcp_vector(h, a->rows, &s->step);
  if (status == CVTM_OK) status = cvtm_hlcp_vector(h, a->rows, &s->best);
  if (status == CVTM_OK) status = s->is_banded ? set_up_band(h, a, b) : set_up_krylov(h);
  return status;
}

cvtm_status cvtm_hlcp_newton_open_loop(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  if (s->is_banded) return CVTM_OK;
  return cvtm_loop_create(h->device, krylov_iteration, h, &s->krylov.state->go_on, &s->loop);
}

void cvtm_hlcp_newton_tear_down(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  if (s == NULL) return;
  cvtm_loop_destroy(s->loop);
  double *const vectors[] = {s->step,     s->best,         s->inverse,      s->krylov.r,
                             s->krylov.p, s->krylov.v,     s->krylov.p_hat, s->krylov.s_hat,
                             s->krylov.t, s->krylov.shadow};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; ++v) {
    cvtm_device_free(h->device, vectors[v]);
  }
  cvtm_device_free(h->device, s->krylov.state);
  cvtm_csr_free(&s->a);
  cvtm_csr_free(&s->b);
  free(s->host);
  free(s->band.value);
  free(s->band.pivot);
  free(s);
  h->newton = NULL;
}

/* --- the method ----------------------------------------------------------------------- */

/* ||H|| of own_x into seen->residual; iterations are counted by `judge`. */
static cvtm_status evaluate(cvtm_hlcp *h) {
  cvtm_status status = h->table->residual(h->device, &h->arrays);
  if (status == CVTM_OK) status = h->table->judge(h->device, &h->arrays);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(h->device, h->seen, h->arrays.state, sizeof *h->seen);
}

static cvtm_status send_state(cvtm_hlcp *h) {
  return cvtm_device_copy_in(h->device, h->arrays.state, h->seen, sizeof *h->seen);
}

static cvtm_status copy_x(cvtm_hlcp *h, double *to, const double *from) {
  return cvtm_device_copy(h->device, to, from, (size_t)h->arrays.n * sizeof *to);
}

/* From the best iterate along the step, halved until ||H|| falls. Leaves *found = 0 and the
 * best iterate in own_x where it does not. */
static cvtm_status line_search(cvtm_hlcp *h, double best, int *found) {
  const cvtm_hlcp_state before = *h->seen;
  double length = 1;
  *found = 0;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < HALVINGS && status == CVTM_OK && !*found; ++k, length /= 2) {
    *h->seen = before;
    status = send_state(h);
    if (status == CVTM_OK) status = copy_x(h, h->own_x, h->newton->best);
    if (status == CVTM_OK) {
      status = cvtm_vector_axpy(h->device, length, h->newton->step, h->own_x, h->arrays.n);
    }
    if (status == CVTM_OK) status = evaluate(h);
    *found = h->seen->residual <= (1 - 1e-4 * length) * best;
  }
  if (status == CVTM_OK && !*found) status = copy_x(h, h->own_x, h->newton->best);
  return status;
}

static int tell(cvtm_hlcp *h, int64_t iteration) {
  const cvtm_hlcp_progress progress = {iteration, h->seen->residual};
  return h->options.monitor != NULL && h->options.monitor(h->options.monitor_context, &progress);
}

static cvtm_status linear_step(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  return h->newton->is_banded ? banded_step(h) : krylov_step(h, result);
}

/* Back to the best iterate and its linear system. */
static cvtm_status back_to_best(cvtm_hlcp *h, double best, cvtm_hlcp_result *result) {
  cvtm_status status = copy_x(h, h->own_x, h->newton->best);
  if (status == CVTM_OK) status = h->table->residual(h->device, &h->arrays);
  h->seen->residual = best;
  if (status == CVTM_OK) status = linear_step(h, result);
  return status;
}

cvtm_status cvtm_hlcp_newton_solve(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  cvtm_hlcp_newton *s = h->newton;
  cvtm_hlcp_state *seen = h->seen;
  memset(seen, 0, sizeof *seen);
  seen->target = fmin(h->options.tolerance, DBL_MAX);
  seen->limit = h->options.max_iterations;
  seen->stop = CVTM_UNDECIDED;
  seen->pause_at = INT64_MAX;
  cvtm_status status = send_state(h);
  if (status == CVTM_OK) status = evaluate(h);
  double best = (double)INFINITY;
  s->norm_before = 0;
  int useless = 0, searches = 0;
  int64_t steps = 0;
  while (status == CVTM_OK) {
    const int asked = tell(h, steps);
    useless = seen->residual < 0.999 * best ? 0 : useless + 1;
    if (seen->residual < best) {
      best = seen->residual;
      status = copy_x(h, s->best, h->own_x);
    }
    if (status != CVTM_OK || seen->stop != CVTM_UNDECIDED) break;
    if (asked) {
      seen->stop = CVTM_LCP_INTERRUPTED;
      break;
    }
    searches = searches || useless >= PATIENCE;
    if (!searches || useless == 0) {
      status = linear_step(h, result);
    } else {
      status = back_to_best(h, best, result);
    }
    ++steps;
    if (status != CVTM_OK) break;
    if (searches) {
      int found = 0;
      status = line_search(h, best, &found);
      if (status != CVTM_OK || found) continue;
      seen->stop = CVTM_LCP_STALLED;
      break;
    }
    status = cvtm_vector_axpy(h->device, 1, s->step, h->own_x, h->arrays.n);
    if (status == CVTM_OK) status = evaluate(h);
  }
  if (status == CVTM_OK && best < seen->residual) {
    seen->residual = best;
    status = copy_x(h, h->own_x, s->best);
  }
  result->stop = (cvtm_lcp_stop)seen->stop;
  result->iterations = steps;
  result->residual = seen->residual;
  return status;
}
