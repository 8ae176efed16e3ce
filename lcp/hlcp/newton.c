/* The semismooth Newton method on H(x) = A max(x, 0) + B min(x, 0) - q, where z = max(x, 0) and w =
 * -min(x, 0). Column j of the generalised Jacobian is that of A where x_j > 0, else that of B. The
 * method takes full steps; once they make no progress, it adds a line search on ||H||. */
#include "base/primitives.h"
#include "lcp/hlcp/hlcp_solver.h"
#include "lcp/krylov.h"
#include "lcp/sparse/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- banded linear systems -------------------------------------------------------------- */

/* A matrix with `lower` diagonals below the main diagonal and `upper` above. Entry (i, j) is
 * value[j * height + lower + upper + i - j]. The height of a column includes `lower` entries for
 * the fill-in of pivoting. */
typedef struct banded_matrix {
  int64_t n, lower, upper;
  double *value; /* n * height */
} banded_matrix;

static int64_t band_height(const banded_matrix *band) { return 2 * band->lower + band->upper + 1; }
static double *band_at(const banded_matrix *band, int64_t i, int64_t j) {
  return band->value + j * band_height(band) + band->lower + band->upper + (i - j);
}

static void swap(double *a, double *b) {
  const double value = *a;
  *a = *b;
  *b = value;
}

/* Solves a system by Gaussian elimination with partial pivoting, which overwrites the matrix. x: n
 * entries, first the right-hand side, then the solution. Returns 0 if the matrix is singular. */
static int band_solve(banded_matrix *band, double *x) {
  const int64_t n = band->n, reach = band->lower + band->upper;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t last_row = k + band->lower < n ? k + band->lower : n - 1;
    const int64_t last_column = k + reach < n ? k + reach : n - 1;
    int64_t pivot = k;
    for (int64_t i = k + 1; i <= last_row; ++i) {
      if (fabs(*band_at(band, i, k)) > fabs(*band_at(band, pivot, k))) pivot = i;
    }
    if (*band_at(band, pivot, k) == 0) return 0;
    for (int64_t j = k; j <= last_column && pivot != k; ++j)
      swap(band_at(band, k, j), band_at(band, pivot, j));
    swap(&x[k], &x[pivot]);
    for (int64_t i = k + 1; i <= last_row; ++i) {
      *band_at(band, i, k) /= *band_at(band, k, k);
      x[i] -= *band_at(band, i, k) * x[k];
    }
    for (int64_t j = k + 1; j <= last_column; ++j) {
      const double above = *band_at(band, k, j);
      if (above == 0) continue;
      for (int64_t i = k + 1; i <= last_row; ++i)
        *band_at(band, i, j) -= *band_at(band, i, k) * above;
    }
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    x[k] /= *band_at(band, k, k);
    for (int64_t i = k - reach > 0 ? k - reach : 0; i < k; ++i) x[i] -= *band_at(band, i, k) * x[k];
  }
  return 1;
}

/* --- the solver ------------------------------------------------------------------------ */

enum {
  PATIENCE = 8,       /* full steps without progress before the line search */
  HALVINGS = 30,      /* largest number of halvings of a step in the line search */
  MOST_BAND = 96,     /* largest number of entries in a column of a banded matrix */
  LINEAR_LIMIT = 2000 /* largest number of iterations of BiCGStab in a step */
};
static const double band_memory = 4e9; /* largest size of a banded matrix in bytes */
/* The range of the forcing terms, that is, the relative tolerances of the linear systems. Weak
 * tolerances suffice while the signs of x still change (Eisenstat & Walker 1996, "Choosing the
 * forcing terms in an inexact Newton method"). */
static const double least_forcing = 1e-5, most_forcing = 0.1;

struct cvtm_hlcp_newton {
  int is_banded;
  banded_matrix band;
  cvtm_csr a, b; /* copies on the host, for a banded problem */
  double *host;  /* n */
  double *step, *best;
  cvtm_krylov *krylov;
  double *right, *inverse; /* right-hand side and diagonal preconditioner of the linear system */
  double norm_before;      /* ||H|| at the previous step; 0: none */
};

/* --- banded systems ------------------------------------------------------------------- */

/* Widens the band so that it contains all entries of m. */
static void widen_band(const cvtm_csr *m, banded_matrix *band) {
  for (int64_t i = 0; i < m->rows; ++i) {
    if (m->row_start[i] == m->row_start[i + 1]) continue;
    const int64_t first = m->column[m->row_start[i]], last = m->column[m->row_start[i + 1] - 1];
    if (i - first > band->lower) band->lower = i - first;
    if (last - i > band->upper) band->upper = last - i;
  }
}

static void put_band(cvtm_hlcp_newton *s, const cvtm_csr *m, const double *x, int positive) {
  for (int64_t i = 0; i < m->rows; ++i) {
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; ++k) {
      const int64_t j = m->column[k];
      if ((x[j] > 0) == positive) *band_at(&s->band, i, j) = m->value[k];
    }
  }
}

/* Solves a banded system with the right-hand side change / 2. A singular matrix is no error: the
 * step is then 0 and the method stalls. */
static cvtm_status banded_step(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  CVTM_TRY(cvtm_device_copy_out(h->device, s->host, h->own_x, bytes));
  memset(s->band.value, 0, (size_t)(band_height(&s->band) * s->band.n) * sizeof(double));
  put_band(s, &s->a, s->host, 1);
  put_band(s, &s->b, s->host, 0);
  CVTM_TRY(cvtm_device_copy_out(h->device, s->host, h->arrays.change, bytes));
  for (int64_t i = 0; i < s->band.n; ++i) s->host[i] /= 2;
  if (!band_solve(&s->band, s->host)) memset(s->host, 0, bytes);
  return cvtm_device_copy_in(h->device, s->step, s->host, bytes);
}

/* --- systems without a small band ------------------------------------------------------ */

/* Applies the generalised Jacobian, as a cvtm_krylov_operator; the solver applies the
 * preconditioner. */
static cvtm_status apply_jacobian(void *context, double *direction, double *preconditioned,
                                  double *image) {
  const cvtm_hlcp *h = context;
  (void)direction;
  return h->table->apply(h->device, &h->arrays, preconditioned, image);
}

static cvtm_status krylov_step(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  cvtm_hlcp_newton *s = h->newton;
  const size_t bytes = (size_t)h->arrays.n * sizeof(double);
  const double norm = h->host_state->residual; /* norm of the right-hand side */
  const double progress = norm / s->norm_before;
  double forcing = s->norm_before > 0 ? progress * progress : most_forcing;
  forcing = fmin(fmax(forcing, least_forcing), most_forcing);
  s->norm_before = norm;
  const double goal = fmax(forcing * norm, 0.1 * h->options.tolerance);
  int64_t iterations = 0;
  CVTM_TRY(h->table->diagonal(h->device, &h->arrays, s->inverse));
  CVTM_TRY(cvtm_device_fill(h->device, s->step, 0, bytes));
  /* the right-hand side is half of `change` */
  CVTM_TRY(cvtm_device_fill(h->device, s->right, 0, bytes));
  CVTM_TRY(cvtm_vector_axpy(h->device, 0.5, h->arrays.change, s->right, h->arrays.n));
  CVTM_TRY(cvtm_krylov_solve(s->krylov, goal, 0, 1, LINEAR_LIMIT, &iterations));
  result->linear_iterations += iterations;
  return CVTM_OK;
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
  if (status == CVTM_OK && (!s->host || !s->band.value))
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a banded matrix");
  return status;
}

static cvtm_arrays newton_arrays(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  const int64_t n = h->arrays.n, krylov_rows = s->is_banded ? 0 : n;
  return (cvtm_arrays){{CVTM_ARRAY(s->step, n), CVTM_ARRAY(s->best, n),
                        CVTM_ARRAY(s->inverse, krylov_rows), CVTM_ARRAY(s->right, krylov_rows)}};
}

cvtm_status cvtm_hlcp_newton_set_up(cvtm_hlcp *h, const cvtm_csr *a, const cvtm_csr *b) {
  cvtm_error *error = cvtm_device_error(h->device);
  cvtm_hlcp_newton *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  h->newton = s;
  /* x is z - w itself, so change = -2 H(x) */
  h->arrays.gamma = 2;
  h->arrays.omega_number = 1;
  h->arrays.alpha = 0;
  s->band.n = a->rows;
  widen_band(a, &s->band);
  widen_band(b, &s->band);
  s->is_banded = band_height(&s->band) <= MOST_BAND &&
                 (double)band_height(&s->band) * (double)a->rows * sizeof(double) <= band_memory;
  CVTM_TRY(cvtm_sell_create(h->device, b, &h->arrays.b));
  CVTM_TRY(cvtm_device_allocate_arrays(h->device, newton_arrays(h)));
  return s->is_banded ? set_up_band(h, a, b) : CVTM_OK;
}

cvtm_status cvtm_hlcp_newton_create_krylov(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  if (s->is_banded) return CVTM_OK;
  const cvtm_krylov_setup setup = {.n = h->arrays.n,
                                   .solution = s->step,
                                   .residual = s->right,
                                   .inverse = s->inverse,
                                   .apply = apply_jacobian,
                                   .context = h};
  return cvtm_krylov_create(h->device, &setup, &s->krylov);
}

void cvtm_hlcp_newton_destroy(cvtm_hlcp *h) {
  cvtm_hlcp_newton *s = h->newton;
  if (s == NULL) return;
  cvtm_krylov_destroy(s->krylov);
  cvtm_device_free_arrays(h->device, newton_arrays(h));
  cvtm_csr_free(&s->a);
  cvtm_csr_free(&s->b);
  free(s->host);
  free(s->band.value);
  free(s);
  h->newton = NULL;
}

/* --- the method ----------------------------------------------------------------------- */

/* Sets host_state->residual to ||H(own_x)||. cvtm_hlcp_check counts the iterations. */
static cvtm_status evaluate_h(cvtm_hlcp *h) {
  CVTM_TRY(h->table->residual(h->device, &h->arrays));
  CVTM_TRY(h->table->check(h->device, &h->arrays));
  return cvtm_device_copy_out(h->device, h->host_state, h->arrays.state, sizeof *h->host_state);
}

static cvtm_status send_state(cvtm_hlcp *h) {
  return cvtm_device_copy_in(h->device, h->arrays.state, h->host_state, sizeof *h->host_state);
}

static cvtm_status copy_x(cvtm_hlcp *h, double *to, const double *from) {
  return cvtm_device_copy(h->device, to, from, (size_t)h->arrays.n * sizeof *to);
}

/* Halves the step from the best iterate until ||H|| decreases. If it does not, *found = 0 and own_x
 * is the best iterate. */
static cvtm_status line_search(cvtm_hlcp *h, double best, int *found) {
  const cvtm_hlcp_state before = *h->host_state;
  double length = 1;
  *found = 0;
  for (int k = 0; k < HALVINGS && !*found; ++k, length /= 2) {
    *h->host_state = before;
    CVTM_TRY(send_state(h));
    CVTM_TRY(copy_x(h, h->own_x, h->newton->best));
    CVTM_TRY(cvtm_vector_axpy(h->device, length, h->newton->step, h->own_x, h->arrays.n));
    CVTM_TRY(evaluate_h(h));
    *found = h->host_state->residual <= (1 - 1e-4 * length) * best;
  }
  if (!*found) CVTM_TRY(copy_x(h, h->own_x, h->newton->best));
  return CVTM_OK;
}

static int call_monitor(cvtm_hlcp *h, int64_t iteration) {
  const cvtm_hlcp_progress progress = {iteration, h->host_state->residual};
  return h->options.monitor != NULL && h->options.monitor(h->options.monitor_context, &progress);
}

static cvtm_status newton_step(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  return h->newton->is_banded ? banded_step(h) : krylov_step(h, result);
}

/* Takes a step from the best iterate. */
static cvtm_status step_from_best(cvtm_hlcp *h, double best, cvtm_hlcp_result *result) {
  CVTM_TRY(copy_x(h, h->own_x, h->newton->best));
  CVTM_TRY(h->table->residual(h->device, &h->arrays));
  h->host_state->residual = best;
  return newton_step(h, result);
}

cvtm_status cvtm_hlcp_newton_solve(cvtm_hlcp *h, cvtm_hlcp_result *result) {
  cvtm_hlcp_newton *s = h->newton;
  cvtm_hlcp_state *host_state = h->host_state;
  cvtm_hlcp_reset_state(h);
  host_state->pause_at = INT64_MAX;
  cvtm_status status = send_state(h);
  if (status == CVTM_OK) status = evaluate_h(h);
  double best = (double)INFINITY;
  s->norm_before = 0;
  int idle = 0, searches = 0;
  int64_t steps = 0;
  while (status == CVTM_OK) {
    const int stop_asked = call_monitor(h, steps);
    idle = host_state->residual < 0.999 * best ? 0 : idle + 1;
    if (host_state->residual < best) {
      best = host_state->residual;
      status = copy_x(h, s->best, h->own_x);
    }
    if (status != CVTM_OK || host_state->stop != CVTM_UNDECIDED) break;
    if (stop_asked) {
      host_state->stop = CVTM_LCP_INTERRUPTED;
      break;
    }
    searches = searches || idle >= PATIENCE;
    if (!searches || idle == 0)
      status = newton_step(h, result);
    else
      status = step_from_best(h, best, result);
    ++steps;
    if (status != CVTM_OK) break;
    if (searches) {
      int found = 0;
      status = line_search(h, best, &found);
      if (status != CVTM_OK || found) continue;
      host_state->stop = CVTM_LCP_STALLED;
      break;
    }
    status = cvtm_vector_axpy(h->device, 1, s->step, h->own_x, h->arrays.n);
    if (status == CVTM_OK) status = evaluate_h(h);
  }
  if (status == CVTM_OK && best < host_state->residual) {
    host_state->residual = best;
    status = copy_x(h, h->own_x, s->best);
  }
  result->stop = (cvtm_lcp_stop)host_state->stop;
  result->iterations = steps;
  result->residual = host_state->residual;
  return status;
}
