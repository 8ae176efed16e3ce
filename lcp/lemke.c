/* Lemke's method as a solver: paths until one ends at a solution, or at a proof of
 * infeasibility. */
#include "lcp/lemke_path.h"

#include "lcp/sparse/csr.h"
#include "lcp/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  ATTEMPTS = 30,   /* largest number of paths in a solve */
  TRIALS = 1 << 16 /* largest number of combinations that try_all_bases tries */
};

/* --- the solution ----------------------------------------------------------------------------- */

/* Returns F_i = (A x - b)_i. *size: the sum of the absolute values of its terms, plus |x_i|.
 * (cvtm_natural_size would be too small: it estimates the terms by a_ii x_i, but here a_ii may be
 * 0.) */
static double f_of(const lemke *p, const double *x, int64_t i, double *size) {
  const cvtm_csr *a = p->matrix;
  double sum = -p->b[i];
  *size = fabs(p->b[i]) + fabs(x[i]);
  for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
    const double term = a->value[k] * x[a->column[k]];
    sum += term;
    *size += fabs(term);
  }
  return sum;
}

static double clip(const lemke *p, double x, int64_t i) {
  if (p->given_upper) x = fmin(x, p->given_upper[i]);
  return p->given_lower ? fmax(x, p->given_lower[i]) : x;
}

cvtm_lemke_residual cvtm_lemke_measure(const lemke *p, const double *x) {
  cvtm_lemke_residual r = {0};
  for (int64_t i = 0; i < p->n; ++i) {
    double size;
    const double lower = p->given_lower ? p->given_lower[i] : -(double)INFINITY;
    const double upper = p->given_upper ? p->given_upper[i] : (double)INFINITY;
    const double f = f_of(p, x, i, &size);
    const double distance = fabs(cvtm_natural_residual(f, x[i], lower, upper));
    r.norm += distance * distance;
    r.maximum = fmax(r.maximum, distance);
    r.rounding += size * size;
    r.energy += 0.5 * x[i] * (f - p->b[i]);
    r.active_lower += x[i] <= lower;
    r.active_upper += x[i] >= upper;
  }
  r.norm = sqrt(r.norm);
  r.rounding = cvtm_natural_rounding(r.rounding);
  if (!p->solver->is_symmetric) r.energy = (double)NAN;
  return r;
}

/* Solves the dense system of order m by elimination with row interchanges; the solution replaces
 * `right`. Returns 0 if the matrix is singular. */
static int solve_dense(double *a, double *right, int64_t m) {
  for (int64_t k = 0; k < m; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < m; ++i)
      if (fabs(a[i * m + k]) > fabs(a[best * m + k])) best = i;
    if (a[best * m + k] == 0) return 0;
    for (int64_t j = k; j < m && best != k; ++j) {
      const double kept = a[k * m + j];
      a[k * m + j] = a[best * m + j];
      a[best * m + j] = kept;
    }
    const double kept = right[k];
    right[k] = right[best];
    right[best] = kept;
    for (int64_t i = k + 1; i < m; ++i) {
      const double by = a[i * m + k] / a[k * m + k];
      if (by == 0) continue;
      for (int64_t j = k + 1; j < m; ++j) a[i * m + j] -= by * a[k * m + j];
      right[i] -= by * right[k];
    }
  }
  for (int64_t k = m - 1; k >= 0; --k) {
    for (int64_t j = k + 1; j < m; ++j) right[k] -= a[k * m + j] * right[j];
    right[k] /= a[k * m + k];
  }
  return 1;
}

/* The dictionary has accumulated the rounding errors of all pivots. So this solves F = 0 again for
 * the variables between their bounds, in the memory of the dictionary, and takes the result if its
 * residual is smaller. scratch: n doubles. */
static void refine(lemke *p, double *x, double *scratch) {
  const cvtm_csr *a = p->matrix;
  int32_t *between = p->basic, *position = p->column_of;
  int64_t m = 0;
  for (int32_t i = 0; i < (int32_t)p->n; ++i) {
    x[i] = clip(p, x[i], i);
    const int is_between = (!p->given_lower || x[i] > p->given_lower[i]) &&
                           (!p->given_upper || x[i] < p->given_upper[i]);
    position[i] = is_between ? (int32_t)m : -1;
    if (is_between) between[m++] = i;
  }
  const cvtm_lemke_residual before = cvtm_lemke_measure(p, x);
  memset(p->entry, 0, (size_t)(m * m) * sizeof *p->entry);
  for (int64_t r = 0; r < m; ++r) {
    double size;
    p->value[r] = -f_of(p, x, between[r], &size);
    for (int64_t k = a->row_start[between[r]]; k < a->row_start[between[r] + 1]; ++k)
      if (position[a->column[k]] >= 0) p->entry[r * m + position[a->column[k]]] = a->value[k];
  }
  if (!solve_dense(p->entry, p->value, m)) return;
  memcpy(scratch, x, (size_t)p->n * sizeof *x);
  for (int64_t r = 0; r < m; ++r)
    scratch[between[r]] = clip(p, x[between[r]] + p->value[r], between[r]);
  if (cvtm_lemke_measure(p, scratch).norm < before.norm)
    memcpy(x, scratch, (size_t)p->n * sizeof *x);
}

/* Returns the number of states of x_i: at a finite lower bound, at a finite upper bound, between
 * the bounds; 1 if the bounds are equal. */
static int count_states(const lemke *p, int64_t i) {
  const double lower = p->given_lower ? p->given_lower[i] : -(double)INFINITY;
  const double upper = p->given_upper ? p->given_upper[i] : (double)INFINITY;
  return lower == upper ? 1 : 1 + (lower > -(double)INFINITY) + (upper < (double)INFINITY);
}

/* Returns a value of x_i in one of its states; the last state is the one between the bounds. */
static double value_in(const lemke *p, int64_t i, int state) {
  const double lower = p->given_lower ? p->given_lower[i] : -(double)INFINITY;
  const double upper = p->given_upper ? p->given_upper[i] : (double)INFINITY;
  const int has_lower = lower > -(double)INFINITY, has_upper = upper < (double)INFINITY;
  if (lower == upper) return lower;
  if (state < has_lower + has_upper) return has_lower && state == 0 ? lower : upper;
  if (has_lower && has_upper) return 0.5 * lower + 0.5 * upper;
  return has_lower ? lower + fabs(lower) + 1 : has_upper ? upper - fabs(upper) - 1 : 0;
}

/* Tries every combination of the states of all variables, if there are at most TRIALS. If a
 * combination gives a smaller residual, replaces `best` and *end by the x and the residual of this
 * combination. x and scratch: n doubles each. */
static void try_all_bases(lemke *p, double target, double *best, cvtm_lemke_residual *end,
                          double *x, double *scratch) {
  int64_t choices = 1;
  for (int64_t i = 0; i < p->n && choices <= TRIALS; ++i) choices *= count_states(p, i);
  if (choices > TRIALS) return;
  for (int64_t choice = 0; choice < choices && end->norm > target; ++choice) {
    int64_t left = choice;
    for (int64_t i = 0; i < p->n; ++i) {
      const int states = count_states(p, i);
      x[i] = value_in(p, i, (int)(left % states));
      left /= states;
    }
    refine(p, x, scratch);
    const cvtm_lemke_residual now = cvtm_lemke_measure(p, x);
    if (!(now.norm < end->norm)) continue;
    *end = now;
    memcpy(best, x, (size_t)p->n * sizeof *x);
  }
}

/* --- the solver ------------------------------------------------------------------------------- */

static int is_open(const cvtm_lcp_result *result) {
  return result->stop == CVTM_LCP_RAY || result->stop == CVTM_LCP_STALLED;
}

/* Makes the matrix [0 -A'; A 0]. */
static cvtm_status skew_matrix(const cvtm_csr *a, cvtm_csr *skew, cvtm_error *error) {
  const int64_t n = a->rows, entries = a->row_start[n];
  cvtm_csr transpose;
  *skew = (cvtm_csr){0};
  CVTM_TRY(cvtm_csr_transpose(a, 1, &transpose, error));
  cvtm_status status = cvtm_csr_create(2 * n, 2 * n, 2 * entries, skew, error);
  for (int64_t i = 0; i <= n && status == CVTM_OK; ++i) {
    skew->row_start[i] = transpose.row_start[i];
    skew->row_start[n + i] = entries + a->row_start[i];
  }
  for (int64_t k = 0; k < entries && status == CVTM_OK; ++k) {
    skew->column[k] = transpose.column[k] + (int32_t)n;
    skew->value[k] = -transpose.value[k];
    skew->column[entries + k] = a->column[k];
    skew->value[entries + k] = a->value[k];
  }
  cvtm_csr_free(&transpose);
  return status;
}

/* True if y proves that there is no solution: y'F < 0 for every x within the bounds. Each y_i is 0
 * or has the sign that F_i needs, so y'F >= 0 would hold for a solution. factor: A'y; most: the
 * largest value of y'F. sums: a buffer of 2n doubles. */
static int is_proof(const lemke *p, const double *y, double *sums) {
  const cvtm_csr *a = p->matrix;
  double *factor = sums, *rounding = sums + p->n, most = 0, size = 0;
  memset(sums, 0, 2 * (size_t)p->n * sizeof *sums);
  for (int64_t i = 0; i < p->n; ++i) {
    most -= y[i] * p->b[i];
    size += fabs(y[i] * p->b[i]);
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
      factor[a->column[k]] += y[i] * a->value[k];
      rounding[a->column[k]] += 1e-11 * fabs(y[i] * a->value[k]);
    }
  }
  for (int64_t j = 0; j < p->n; ++j) {
    const double *side = factor[j] > 0 ? p->given_upper : p->given_lower;
    const int is_bound = side && isfinite(side[j]);
    if (!is_bound && fabs(factor[j]) > rounding[j]) return 0;
    most += is_bound ? factor[j] * side[j] : 0;
    size += is_bound ? fabs(factor[j] * side[j]) : 0;
  }
  return most < -1e-9 * size;
}

/* Sets *stop to CVTM_LCP_INFEASIBLE if it is proved that no x within the bounds gives every F the
 * sign that it needs. F of a variable with two bounds may have any sign. */
static cvtm_status look_for_proof(const lemke *p, cvtm_lcp_stop *stop) {
  const int64_t n = p->n;
  lemke_solver solver = *p->solver;
  cvtm_scratch memory = {0};
  double *b = cvtm_scratch_take(&memory, 10 * (size_t)n, sizeof *b);
  cvtm_error *error = cvtm_device_error(solver.head.device);
  if (memory.failed) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a linear program");
  double *lower = b + 2 * n, *upper = lower + 2 * n, *ray = upper + 2 * n, *scratch = ray + 2 * n;
  for (int64_t i = 0; i < n; ++i) {
    b[i] = 0;
    b[n + i] = p->b[i];
    lower[i] = p->given_lower ? p->given_lower[i] : -(double)INFINITY;
    upper[i] = p->given_upper ? p->given_upper[i] : (double)INFINITY;
    lower[n + i] = isfinite(lower[i]) ? 0 : -(double)INFINITY;
    upper[n + i] = isfinite(upper[i]) ? 0 : (double)INFINITY;
  }
  lemke program = {.solver = &solver, .matrix = &solver.matrix, .threads = p->threads, .n = 2 * n};
  program.b = b;
  program.given_lower = lower;
  program.given_upper = upper;
  solver.head.options.max_iterations = 200 * n;
  cvtm_status status = skew_matrix(p->matrix, &solver.matrix, error);
  if (status == CVTM_OK) status = cvtm_lemke_open(&program, &memory);
  if (status == CVTM_OK && cvtm_lemke_follow(&program, 1, scratch) == CVTM_LCP_RAY) {
    cvtm_lemke_read_ray(&program, ray);
    double *y = ray + n;
    for (int64_t i = 0; i < n; ++i) y[i] = fmin(fmax(y[i], lower[n + i]), upper[n + i]);
    if (is_proof(p, y, scratch)) *stop = CVTM_LCP_INFEASIBLE;
  }
  cvtm_csr_free(&solver.matrix);
  cvtm_scratch_free(&memory);
  return status;
}

/* Solves the problem in host memory. best: the solution; x, scratch: buffers; n doubles each. */
static cvtm_status solve_on_host(lemke *p, double *best, double *x, double *scratch,
                                 cvtm_lcp_result *result) {
  const cvtm_lcp_options *o = &p->solver->head.options;
  for (int64_t i = 0; i < p->n; ++i) best[i] = clip(p, 0, i);
  cvtm_lemke_residual end = cvtm_lemke_measure(p, best);
  const double cold = end.norm, target = fmax(o->tolerance * cold, o->absolute_tolerance);
  result->stop = CVTM_LCP_RAY;
  for (int k = 0; k < ATTEMPTS && is_open(result); ++k) {
    const cvtm_lcp_stop stop = cvtm_lemke_follow(p, k, scratch);
    cvtm_lemke_read(p, x);
    refine(p, x, scratch);
    const cvtm_lemke_residual now = cvtm_lemke_measure(p, x);
    if (now.norm < end.norm || k == 0) {
      end = now;
      memcpy(best, x, (size_t)p->n * sizeof *x);
    }
    if (end.norm <= target)
      result->stop = CVTM_LCP_CONVERGED;
    else if (end.norm <= end.rounding && end.rounding <= 1e4 * cold)
      result->stop = CVTM_LCP_ROUNDING;
    else
      result->stop = stop == CVTM_LCP_CONVERGED ? CVTM_LCP_STALLED : stop;
    /* Large rounding errors can make a problem without a solution look solved; so a proof is also
     * sought then. */
    if (k == 0 && (is_open(result) || end.rounding > 1e-2 * cold))
      CVTM_TRY(look_for_proof(p, &result->stop));
  }
  if (is_open(result)) {
    try_all_bases(p, target, best, &end, x, scratch);
    if (end.norm <= target) result->stop = CVTM_LCP_CONVERGED;
  }
  result->iterations = p->pivots;
  result->natural_residual = end.norm;
  result->natural_residual_max = end.maximum;
  result->active_lower = end.active_lower;
  result->active_upper = end.active_upper;
  result->energy = end.energy;
  result->rate = (double)NAN;
  return CVTM_OK;
}

/* Copies a vector from the device to `memory`, if there is one. *to: the copy, or NULL. */
static cvtm_status copy_vector(cvtm_device *device, const double *from, int64_t n, double *memory,
                               const double **to) {
  *to = from ? memory : NULL;
  return from ? cvtm_device_copy_out(device, memory, from, (size_t)n * sizeof *from) : CVTM_OK;
}

static cvtm_status lemke_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                               const double *upper, double *x, int warm, cvtm_lcp_result *result) {
  (void)warm; /* Lemke's method does not start from the caller's x */
  const lemke_solver *s = (const lemke_solver *)lcp;
  const int64_t n = lcp->rows;
  cvtm_scratch memory = {0};
  double *v = cvtm_scratch_take(&memory, 6 * (size_t)n, sizeof *v);
  lemke p = {
      .solver = s, .matrix = &s->matrix, .threads = cvtm_device_threads(lcp->device), .n = n};
  cvtm_status status = CVTM_OK;
  if (memory.failed)
    return cvtm_fail(cvtm_device_error(lcp->device), CVTM_ERROR_MEMORY, "no memory for a problem");
  status = copy_vector(lcp->device, b, n, v, &p.b);
  if (status == CVTM_OK) status = copy_vector(lcp->device, lower, n, v + n, &p.given_lower);
  if (status == CVTM_OK) status = copy_vector(lcp->device, upper, n, v + 2 * n, &p.given_upper);
  if (status == CVTM_OK) status = cvtm_lemke_open(&p, &memory);
  if (status == CVTM_OK) status = solve_on_host(&p, v + 3 * n, v + 4 * n, v + 5 * n, result);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(lcp->device, x, v + 3 * n, (size_t)n * sizeof *x);
  cvtm_scratch_free(&memory);
  return status;
}

static void lemke_destroy(cvtm_lcp *lcp) {
  cvtm_csr_free(&((lemke_solver *)lcp)->matrix);
  cvtm_lcp_close(lcp);
  free(lcp);
}

cvtm_status cvtm_lemke_create(cvtm_device *device, const cvtm_csr *matrix, int is_symmetric,
                              const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  static const cvtm_lcp_table table = {lemke_solve, lemke_destroy};
  cvtm_error *error = cvtm_device_error(device);
  lemke_solver *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a solver");
  *lcp = &s->head;
  s->is_symmetric = is_symmetric;
  CVTM_TRY(cvtm_lcp_open(&s->head, &table, device, matrix->rows, options));
  return cvtm_csr_copy(matrix, &s->matrix, error);
}
