/* The conditions of the convergence theorems, and parameters suggested by trial sweeps. */
#include "lcp/hlcp/hlcp_solver.h"
#include "base/host_memory.h"
#include "base/options.h"
#include "lcp/sparse/csr.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double slack = 1e-12; /* relative: the paper's examples meet bounds with equality */
enum { CERTIFICATE_SWEEPS = 100, BOUND_ROUNDS = 4 };

/* Sum over j != i of |a_ij| u_j. */
static double off_diagonal(const cvtm_csr *m, int64_t i, const double *u, double *diagonal) {
  double sum = 0;
  *diagonal = 0;
  for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; ++k) {
    const int64_t j = m->column[k];
    if (j == i) {
      *diagonal = m->value[k];
    } else {
      sum += fabs(m->value[k]) * (u != NULL ? u[j] : 1);
    }
  }
  return sum;
}

/* --- H+ ------------------------------------------------------------------------------- */

/* A matrix with weakly diagonally dominant rows is an H-matrix if a path of nonzeros leads from
 * each row to a strictly dominant one; then grounded[i] = 1. Passes over the rows in alternating
 * directions until nothing changes. Returns the first row without such a path, or -1. */
static int64_t find_ungrounded(const cvtm_csr *m, unsigned char *grounded) {
  for (int64_t i = 0; i < m->rows; ++i) {
    double diagonal = 0;
    const double sum = off_diagonal(m, i, NULL, &diagonal);
    if (sum > diagonal * (1 + slack)) return i;
    grounded[i] = sum < diagonal * (1 - slack);
  }
  int changed = 1;
  for (int pass = 0; changed && pass < CERTIFICATE_SWEEPS; ++pass) {
    changed = 0;
    for (int64_t t = 0; t < m->rows; ++t) {
      const int64_t i = pass % 2 == 0 ? t : m->rows - 1 - t;
      for (int64_t k = m->row_start[i]; k < m->row_start[i + 1] && !grounded[i]; ++k) {
        if (grounded[m->column[k]] && m->value[k] != 0) grounded[i] = 1;
        changed |= grounded[i];
      }
    }
  }
  for (int64_t i = 0; i < m->rows; ++i) {
    if (!grounded[i]) return i;
  }
  return -1;
}

/* Gauss-Seidel on <M> u = e from u = 0 until <M> u > 0, which certifies an H-matrix. Returns the
 * row where it fails most, or -1. */
static int64_t find_uncertified(const cvtm_csr *m, double *u) {
  int64_t worst = 0;
  memset(u, 0, (size_t)m->rows * sizeof *u);
  for (int sweep = 0; sweep < CERTIFICATE_SWEEPS; ++sweep) {
    for (int64_t t = 0; t < m->rows; ++t) {
      const int64_t i = sweep % 2 == 0 ? t : m->rows - 1 - t;
      double diagonal = 0;
      const double sum = off_diagonal(m, i, u, &diagonal);
      u[i] = (1 + sum) / diagonal;
    }
    double least = HUGE_VAL;
    for (int64_t i = 0; i < m->rows; ++i) {
      double diagonal = 0;
      const double sum = off_diagonal(m, i, u, &diagonal);
      const double share = (diagonal * u[i] - sum) / (diagonal * u[i]);
      if (!(share > least)) {
        least = share;
        worst = i;
      }
    }
    if (least > slack) return -1;
    if (!isfinite(least)) return worst;
  }
  return worst;
}

static cvtm_status check_h_plus(const cvtm_csr *m, int64_t *row, cvtm_error *error) {
  for (int64_t i = 0; i < m->rows; ++i) {
    if (cvtm_csr_entry(m, i, i) > 0) continue;
    *row = i;
    return CVTM_OK;
  }
  unsigned char *grounded = malloc((size_t)m->rows + 1);
  if (grounded == NULL) return cvtm_no_memory(error, "checks of the matrices");
  *row = find_ungrounded(m, grounded);
  free(grounded);
  if (*row < 0) return CVTM_OK;
  double *u = malloc(((size_t)m->rows + 1) * sizeof *u);
  if (u == NULL) return cvtm_no_memory(error, "checks of the matrices");
  *row = find_uncertified(m, u);
  free(u);
  return CVTM_OK;
}

/* --- Theorem 2 ------------------------------------------------------------------------ */

static void compare_row(const cvtm_csr *a, const cvtm_csr *b, const double *omega, int64_t i,
                        cvtm_hlcp_check *check) {
  int64_t at = a->row_start[i];
  const int64_t end = a->row_start[i + 1];
  for (int64_t k = b->row_start[i]; k < b->row_start[i + 1]; ++k) {
    const int64_t j = b->column[k];
    while (at < end && a->column[at] < j) ++at;
    const double in_a = at < end && a->column[at] == j ? a->value[at] : 0;
    const double in_b = b->value[k];
    if (in_b != 0 && !(in_a * in_b > 0) && check->signs_differ < 0) check->signs_differ = i;
    if (i == j) {
      const int is_small = omega[i] * in_b < in_a * (1 - slack);
      if (is_small && check->omega_too_small < 0) check->omega_too_small = i;
    } else if (fabs(in_b) * omega[j] > fabs(in_a) * (1 + slack) && check->b_dominates < 0) {
      check->b_dominates = i;
    }
  }
}

/* --- Theorem 3 ------------------------------------------------------------------------ */

/* V = D_A^-1 |D_A - A| in coordinates exp(potential), which keep its spectrum: entry ij times
 * exp(potential_j - potential_i). */
typedef struct scaled_matrix {
  const cvtm_csr *a;
  double *value; /* by entry of a; 0 on the diagonal */
} scaled_matrix;

/* A breadth-first search through pairs a_ij, a_ji that are both nonzero: potentials that make them
 * equal along the search tree, and the number part[i] of the connected part. Returns how many parts
 * there are. */
static int32_t spread_potentials(const cvtm_csr *a, double *potential, int32_t *queue,
                                 int32_t *part) {
  int32_t parts = 0;
  for (int64_t i = 0; i < a->rows; ++i) part[i] = -1;
  for (int64_t seed = 0; seed < a->rows; ++seed) {
    if (part[seed] >= 0) continue;
    int64_t head = 0, tail = 0;
    part[seed] = parts;
    potential[seed] = 0;
    queue[tail++] = (int32_t)seed;
    while (head < tail) {
      const int64_t i = queue[head++];
      for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
        const int64_t j = a->column[k];
        const double forward = fabs(a->value[k]) / cvtm_csr_entry(a, i, i);
        if (part[j] >= 0 || forward == 0) continue;
        const double backward = fabs(cvtm_csr_entry(a, j, i)) / cvtm_csr_entry(a, j, j);
        if (backward == 0) continue;
        part[j] = parts;
        potential[j] = potential[i] + 0.5 * log(backward / forward);
        queue[tail++] = (int32_t)j;
      }
    }
    ++parts;
  }
  return parts;
}

/* Lowers the potential of parts on which other parts depend, so that entries between parts become
 * small. */
static void lower_parts(const cvtm_csr *a, const int32_t *part, int32_t parts, int32_t *depth,
                        double *potential) {
  const double drop = 20;
  for (int32_t p = 0; p < parts; ++p) depth[p] = 0;
  int changed = 1;
  for (int pass = 0; changed && pass < CERTIFICATE_SWEEPS; ++pass) {
    changed = 0;
    for (int64_t t = 0; t < a->rows; ++t) {
      const int64_t i = pass % 2 == 0 ? t : a->rows - 1 - t;
      for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
        const int32_t from = part[i], to = part[a->column[k]];
        if (from == to || a->value[k] == 0 || depth[to] > depth[from]) continue;
        depth[to] = depth[from] + 1;
        changed = 1;
      }
    }
  }
  for (int64_t i = 0; i < a->rows; ++i) potential[i] -= drop * depth[part[i]];
}

static void scale_entries(const cvtm_csr *a, const double *potential, double *value) {
  for (int64_t i = 0; i < a->rows; ++i) {
    const double diagonal = cvtm_csr_entry(a, i, i);
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
      const int64_t j = a->column[k];
      const double share = fabs(a->value[k]) / diagonal;
      value[k] = j == i ? 0 : share * exp(potential[j] - potential[i]);
    }
  }
}

static double times_row(const scaled_matrix *v, int64_t i, const double *x) {
  double sum = 0;
  for (int64_t k = v->a->row_start[i]; k < v->a->row_start[i + 1]; ++k) {
    sum += v->value[k] * x[v->a->column[k]];
  }
  return sum;
}

/* max_i (V x)_i / x_i bounds the spectral radius of V >= 0 for any x > 0 (Collatz, Wielandt). */
static double ratio_bound(const scaled_matrix *v, const double *x) {
  double largest = 0;
  for (int64_t i = 0; i < v->a->rows; ++i) {
    const double ratio = x[i] > 0 ? times_row(v, i, x) / x[i] : HUGE_VAL;
    if (!(ratio <= largest)) largest = ratio;
  }
  return largest;
}

/* Conjugate gradients on (sigma I - V) x = e, at most `most` steps; the solution is near the Perron
 * vector. r, p, t: workspace. The bound holds for any result. */
static void approximate_perron(const scaled_matrix *v, double sigma, int64_t most, double *x,
                               double *r, double *p, double *t) {
  const int64_t n = v->a->rows;
  double squares = (double)n;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = 0;
    r[i] = p[i] = 1;
  }
  const double goal = 1e-16 * squares;
  const int64_t wanted = 50 + 3 * (int64_t)sqrt((double)n), limit = wanted < most ? wanted : most;
  for (int64_t step = 0; step < limit && squares > goal; ++step) {
    double curvature = 0, next = 0;
    for (int64_t i = 0; i < n; ++i) {
      t[i] = sigma * p[i] - times_row(v, i, p);
      curvature += p[i] * t[i];
    }
    if (!(curvature > 0)) return;
    for (int64_t i = 0; i < n; ++i) {
      x[i] += squares / curvature * p[i];
      r[i] -= squares / curvature * t[i];
      next += r[i] * r[i];
    }
    for (int64_t i = 0; i < n; ++i) p[i] = r[i] + next / squares * p[i];
    squares = next;
  }
}

static double radius_in(const cvtm_csr *a, int64_t visits, double *value, double *work,
                        int32_t *indices) {
  const int64_t n = a->rows, most = visits / BOUND_ROUNDS / n;
  const scaled_matrix v = {a, value};
  double *x = work;
  for (int64_t i = 0; i < n; ++i) x[i] = 0;
  scale_entries(a, x, value);
  for (int64_t i = 0; i < n; ++i) x[i] = 1;
  const double unscaled = ratio_bound(&v, x);
  const int32_t parts = spread_potentials(a, x, indices, indices + n);
  lower_parts(a, indices + n, parts, indices, x);
  scale_entries(a, x, value);
  for (int64_t i = 0; i < n; ++i) x[i] = 1;
  double bound = ratio_bound(&v, x);
  for (int round = 0; round < BOUND_ROUNDS && bound > 0; ++round) {
    approximate_perron(&v, bound, most, x, work + n, work + 2 * n, work + 3 * n);
    const double now = ratio_bound(&v, x);
    if (!(now < bound)) break;
    bound = now;
  }
  return fmin(bound, unscaled) * (1 + slack);
}

static cvtm_status bound_radius(const cvtm_csr *a, int64_t visits, double *bound,
                                cvtm_error *error) {
  const size_t n = (size_t)a->rows;
  double *work = calloc(4 * n, sizeof *work);
  double *value = malloc(((size_t)a->row_start[a->rows] + 1) * sizeof *value);
  int32_t *indices = malloc(2 * n * sizeof *indices);
  cvtm_status status = CVTM_OK;
  if (work == NULL || value == NULL || indices == NULL) {
    status = cvtm_no_memory(error, "checks of the matrices");
  } else {
    *bound = radius_in(a, visits, value, work, indices);
  }
  free(work);
  free(value);
  free(indices);
  return status;
}

/* Equation (16) of the paper. */
static double limit_of_alpha(const cvtm_csr *a, const cvtm_csr *b, const double *omega,
                             double radius) {
  double limit = HUGE_VAL;
  for (int64_t i = 0; i < a->rows; ++i) {
    const double in_a = cvtm_csr_entry(a, i, i), in_b = cvtm_csr_entry(b, i, i) * omega[i];
    limit = fmin(limit, (in_a + in_b) / (in_a * radius + in_b));
  }
  return limit;
}

cvtm_status cvtm_hlcp_check_theory_within(const cvtm_csr *a, const cvtm_csr *b,
                                          const cvtm_hlcp_options *options, int64_t work,
                                          cvtm_hlcp_check *check, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_hlcp, options)
  cvtm_hlcp_options splitting = *options;
  if (splitting.method == CVTM_HLCP_NEWTON) splitting.method = CVTM_HLCP_MMAOR;
  cvtm_status status = cvtm_hlcp_check_input(a, b, &splitting, error);
  if (status != CVTM_OK) return status;
  double *omega = NULL;
  status = cvtm_hlcp_omega(a, b, options, &omega, error);
  if (status != CVTM_OK) return status;
  memset(check, 0, sizeof *check);
  check->omega_too_small = check->b_dominates = check->signs_differ = -1;
  status = check_h_plus(a, &check->a_not_h_plus, error);
  if (status == CVTM_OK) status = check_h_plus(b, &check->b_not_h_plus, error);
  if (status == CVTM_OK) status = bound_radius(a, work, &check->spectral_bound, error);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < a->rows; ++i) compare_row(a, b, omega, i, check);
    check->alpha_limit = limit_of_alpha(a, b, omega, check->spectral_bound);
  }
  free(omega);
  return status;
}

cvtm_status cvtm_hlcp_check_theory(const cvtm_csr *a, const cvtm_csr *b,
                                   const cvtm_hlcp_options *options, cvtm_hlcp_check *check,
                                   cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_hlcp, options)
  return cvtm_hlcp_check_theory_within(a, b, options, INT64_MAX, check, error);
}

int cvtm_hlcp_warnings(const cvtm_hlcp_check *check, const cvtm_hlcp_options *options,
                       char text[CVTM_HLCP_WARNINGS][CVTM_HLCP_WARNING_LENGTH]) {
  CVTM_DEFAULT_OPTIONS(cvtm_hlcp, options)
  const struct {
    int64_t row;
    const char *what;
  } rows[] = {
      {check->a_not_h_plus, "A is not seen to be an H+ matrix"},
      {check->b_not_h_plus, "B is not seen to be an H+ matrix"},
      {check->omega_too_small, "Theorem 2: omega is less than a_ii / b_ii"},
      {check->b_dominates, "Theorem 2: |b_ij| omega_j is greater than |a_ij|"},
      {check->signs_differ, "Theorem 2: a_ij and b_ij differ in sign"},
  };
  int count = 0;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    if (rows[k].row < 0) continue;
    snprintf(text[count++], CVTM_HLCP_WARNING_LENGTH, "row %lld: %s", (long long)rows[k].row + 1,
             rows[k].what);
  }
  const int has_alpha = options->method == CVTM_HLCP_MMSOR || options->method == CVTM_HLCP_MMAOR;
  if (!has_alpha) return count;
  if (options->beta > options->alpha) {
    snprintf(text[count++], CVTM_HLCP_WARNING_LENGTH,
             "Theorem 3: beta = %g is greater than alpha = %g", options->beta, options->alpha);
  }
  const double largest = fmax(options->alpha, options->beta);
  if (largest > 1 && !(largest < check->alpha_limit)) {
    snprintf(text[count++], CVTM_HLCP_WARNING_LENGTH,
             "Theorem 3: %s = %g is not below the limit %.6f that could be shown",
             options->beta > options->alpha ? "beta" : "alpha", largest, check->alpha_limit);
  }
  return count;
}

/* --- suggestions ---------------------------------------------------------------------- */

/* The mean factor of the residual per sweep over the second half of the sweeps, which depends
 * little on the start. */
typedef struct trial {
  int64_t half, count;
  double middle, last;
} trial;

static int record_residual(void *context, const cvtm_hlcp_progress *progress) {
  trial *t = context;
  if (progress->iteration <= t->half) {
    t->middle = progress->residual;
  } else {
    ++t->count;
  }
  t->last = progress->residual;
  return 0;
}

static cvtm_status try_parameters(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                  const double *q, const cvtm_hlcp_options *options, double *z,
                                  double *w, double *score) {
  trial t = {options->max_iterations / 2, 0, HUGE_VAL, HUGE_VAL};
  cvtm_hlcp_options local = *options;
  local.monitor = record_residual;
  local.monitor_context = &t;
  cvtm_hlcp *hlcp = NULL;
  cvtm_hlcp_result result;
  cvtm_status status = cvtm_hlcp_create(device, a, b, &local, &hlcp);
  if (status == CVTM_OK) status = cvtm_hlcp_solve(hlcp, q, NULL, 0, z, w, &result);
  /* Solved within the first half: nothing is faster. */
  if (status == CVTM_OK) *score = t.count > 0 ? pow(t.last / t.middle, 1 / (double)t.count) : 0;
  if (status == CVTM_OK && (result.stop == CVTM_LCP_DIVERGED || !isfinite(*score))) {
    *score = HUGE_VAL;
  }
  cvtm_hlcp_destroy(hlcp);
  return status;
}

cvtm_status cvtm_hlcp_suggest(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                              const double *q, int64_t sweeps, cvtm_hlcp_options *options) {
  static const double alphas[] = {1, 1.1, 1.2, 1.3, 1.4}, ratios[] = {0.5, 0.75, 1, 1.5};
  cvtm_hlcp_options trial_options = *options;
  trial_options.method = CVTM_HLCP_MMAOR;
  trial_options.scaling = CVTM_HLCP_OMEGA_RATIO;
  trial_options.max_iterations = sweeps > 4 ? sweeps : 4;
  double *z = NULL, *w = NULL, best = HUGE_VAL;
  cvtm_status status = cvtm_device_allocate(device, a->rows, CVTM_TYPED(z));
  if (status == CVTM_OK) status = cvtm_device_allocate(device, a->rows, CVTM_TYPED(w));
  for (size_t r = 0; r < sizeof ratios / sizeof *ratios; ++r) {
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas && status == CVTM_OK; ++k) {
      double score = HUGE_VAL;
      trial_options.omega = ratios[r];
      trial_options.alpha = trial_options.beta = alphas[k];
      status = try_parameters(device, a, b, q, &trial_options, z, w, &score);
      if (status != CVTM_OK || !(score < best)) continue;
      best = score;
      options->method = trial_options.method;
      options->scaling = trial_options.scaling;
      options->omega = ratios[r];
      options->alpha = options->beta = alphas[k];
    }
  }
  cvtm_device_free(device, z);
  cvtm_device_free(device, w);
  return status;
}
