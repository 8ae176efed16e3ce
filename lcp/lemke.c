/* Lemke's method for variables with bounds (Cottle, Pang & Stone, The Linear Complementarity
 * Problem, 1992, section 4.4; Dirkse & Ferris 1995), on the host with a dense matrix.
 *
 * Pair k consists of the variables x_k and F_k. The dictionary expresses the basic variables by the
 * nonbasic variables: it has a row for each basic variable and a column for each nonbasic one. An
 * artificial variable t is added to F at lower bounds and subtracted at upper bounds. For a large t
 * all pairs are complementary, and there the path begins. Each step of the path moves one nonbasic
 * variable until a basic variable meets a bound. The two exchange their roles, and the other
 * variable of the new nonbasic variable's pair moves next. The path ends at t = 0.
 *
 * Ties are resolved as if eps^(k + 1) were subtracted from F_k for a small eps, so that the path
 * does not cycle. A path may end in a ray. If the matrix is positive semidefinite, the problem then
 * has no solution (Cottle, Pang & Stone, theorem 4.4.13). For other matrices, a path with other
 * weights of t may still end at a solution. */
#include "lcp/lemke.h"

#include "base/host.h"
#include "base/random.h"
#include "lcp/sparse/csr.h"
#include "lcp/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct lemke_solver {
  cvtm_lcp head;
  cvtm_csr matrix;
  int is_symmetric;
} lemke_solver;

/* A problem in host memory. The variables are numbered: x_k is k, F_k is pairs + k. */
typedef struct lemke {
  const lemke_solver *solver;
  const cvtm_csr *matrix;
  const double *b, *given_lower, *given_upper; /* n; a bound that is NULL is infinite */
  int threads;
  int64_t n, pairs;      /* n: unknowns; pairs: n, and one for each variable without a bound */
  int32_t t;             /* the number of the artificial variable */
  double *entry;         /* pairs x (pairs + 1): the dictionary */
  double *value;         /* pairs: the basic variables */
  double *lower, *upper; /* pairs: bounds of x_k */
  int32_t *side;         /* pairs: the last bound of x_k: -1: lower; 1: upper; 0: none */
  int32_t *positive;     /* pairs from n on: the unknown whose negative part x_k is; -1: unused */
  int32_t *basic;        /* pairs: the variable of each row */
  int32_t *nonbasic;     /* pairs + 1: the variable of each column */
  int32_t *column_of;    /* 2 pairs + 1: the column of a variable; -1: it is basic */
  int64_t pivots;
} lemke;

typedef struct residual {
  double norm, maximum; /* 2-norm and maximum of the natural residual */
  double rounding;      /* size of the rounding errors in norm */
  double energy;
  int64_t active_lower, active_upper;
} residual;

enum { NO_ROW = -1, OWN_BOUND = -2 };
enum { ATTEMPTS = 20 };                  /* paths with other weights of t, if the first is a ray */
static const double least_pivot = 1e-10; /* relative to the largest entry of the column */

/* --- the dictionary ----------------------------------------------------------------------------
 */

static double *row_of(const lemke *p, int64_t row) { return p->entry + row * (p->pairs + 1); }

static int is_f(const lemke *p, int32_t variable) {
  return variable >= p->pairs && variable != p->t;
}

static int32_t other_of_pair(const lemke *p, int32_t variable) {
  return is_f(p, variable) ? variable - (int32_t)p->pairs : variable + (int32_t)p->pairs;
}

static double nonbasic_value(const lemke *p, int32_t variable) {
  if (variable >= p->pairs || p->side[variable] == 0) return 0;
  return p->side[variable] < 0 ? p->lower[variable] : p->upper[variable];
}

/* Changes a nonbasic variable. */
static void move(lemke *p, int32_t column, double by) {
  for (int64_t i = 0; i < p->pairs; ++i) p->value[i] += by * row_of(p, i)[column];
}

/* The basic variable of a row and the nonbasic variable of a column exchange their roles. value:
 * the value of the new basic variable. */
static void pivot(lemke *p, int64_t row, int32_t column, double value) {
  const int64_t columns = p->pairs + 1;
  double *pivot_row = row_of(p, row);
  const double inverse = 1 / pivot_row[column];
  for (int64_t j = 0; j < columns; ++j) pivot_row[j] *= -inverse;
  pivot_row[column] = inverse;
#pragma omp parallel for num_threads(p->threads) schedule(static) if (p->pairs > 200)
  for (int64_t i = 0; i < p->pairs; ++i) {
    double *to = row_of(p, i);
    const double by = to[column];
    if (i == row || by == 0) continue;
    to[column] = 0;
    for (int64_t j = 0; j < columns; ++j) to[j] += by * pivot_row[j];
  }
  const int32_t leaving = p->basic[row], entering = p->nonbasic[column];
  p->basic[row] = entering;
  p->nonbasic[column] = leaving;
  p->column_of[leaving] = column;
  p->column_of[entering] = -1;
  p->value[row] = value;
  ++p->pivots;
}

/* --- the start ---------------------------------------------------------------------------------
 */

static void fill_dictionary(lemke *p) {
  const cvtm_csr *a = p->matrix;
  memset(p->entry, 0, (size_t)(p->pairs * (p->pairs + 1)) * sizeof *p->entry);
  memset(p->value, 0, (size_t)p->pairs * sizeof *p->value);
  for (int32_t k = 0; k < (int32_t)p->pairs; ++k) {
    const int is_unknown = k < p->n;
    p->lower[k] = is_unknown ? (p->given_lower ? p->given_lower[k] : -(double)INFINITY) : 0;
    p->upper[k] = is_unknown && p->given_upper ? p->given_upper[k] : (double)INFINITY;
    p->side[k] = isfinite(p->lower[k]) ? -1 : isfinite(p->upper[k]) ? 1 : 0;
    p->positive[k] = -1;
    p->basic[k] = (int32_t)p->pairs + k;
    p->nonbasic[k] = p->column_of[k] = k;
    p->column_of[p->pairs + k] = -1;
  }
  p->nonbasic[p->pairs] = p->t;
  p->column_of[p->t] = (int32_t)p->pairs;
  for (int64_t i = 0; i < p->n; ++i) {
    p->value[i] = -p->b[i];
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k) {
      row_of(p, i)[a->column[k]] = a->value[k];
      p->value[i] += a->value[k] * nonbasic_value(p, a->column[k]);
    }
  }
}

/* Finds the largest entry whose pivot makes a variable without a bound basic. Returns 0 if the
 * remaining entries are rounding errors. */
static int find_free_pivot(const lemke *p, int64_t *row, int32_t *column) {
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < p->n; ++i) {
    if (!is_f(p, p->basic[i]) || p->side[p->basic[i] - p->pairs] != 0) continue;
    for (int64_t j = 0; j < p->n; ++j) {
      const double size = fabs(row_of(p, i)[j]);
      scale = fmax(scale, size);
      if (p->nonbasic[j] >= p->pairs || p->side[p->nonbasic[j]] != 0 || size <= largest) continue;
      largest = size;
      *row = i;
      *column = (int32_t)j;
    }
  }
  return largest > 1e-9 * scale;
}

/* The variable of a column becomes basic in the row. The variable that was basic there becomes 0.
 */
static void exchange(lemke *p, int64_t row, int32_t column) {
  const double step = -p->value[row] / row_of(p, row)[column];
  const double value = nonbasic_value(p, p->nonbasic[column]) + step;
  move(p, column, step);
  pivot(p, row, column, value);
}

/* Makes variables without a bound basic, so that their F is 0. All these F are 0 in the end, so it
 * does not matter which F belongs to which variable: if a pivot does not exchange the two variables
 * of a pair, two F exchange their numbers. */
static void pivot_free_variables(lemke *p) {
  int64_t row = 0;
  int32_t column = 0;
  while (find_free_pivot(p, &row, &column)) {
    const int32_t wanted = other_of_pair(p, p->nonbasic[column]);
    for (int64_t i = 0; i < p->n; ++i)
      if (p->basic[i] == wanted) p->basic[i] = p->basic[row];
    p->basic[row] = wanted;
    exchange(p, row, column);
  }
}

static int64_t row_with(const lemke *p, int32_t variable) {
  for (int64_t i = 0; i < p->pairs; ++i)
    if (p->basic[i] == variable) return i;
  return NO_ROW;
}

/* For a singular block of the variables without a bound: makes x_k basic together with a variable
 * x_c that has one bound, by a pivot on both pairs. */
static void pivot_with_bounded_variable(lemke *p, int32_t k) {
  const int64_t row_k = row_with(p, (int32_t)p->pairs + k);
  int64_t row_c = NO_ROW;
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < p->n; ++i) {
    const int32_t f = p->basic[i], c = f - (int32_t)p->pairs;
    if (!is_f(p, f) || c >= p->n || p->side[c] == 0) continue;
    const double size =
        fmin(fabs(row_of(p, row_k)[p->column_of[c]]), fabs(row_of(p, i)[p->column_of[k]]));
    scale = fmax(scale, fabs(row_of(p, i)[p->column_of[k]]));
    if (size <= largest || (isfinite(p->lower[c]) && isfinite(p->upper[c]))) continue;
    largest = size;
    row_c = i;
  }
  if (row_c == NO_ROW || largest <= 1e-9 * scale) return;
  const int32_t c = p->basic[row_c] - (int32_t)p->pairs;
  exchange(p, row_c, p->column_of[k]);
  exchange(p, row_k, p->column_of[c]);
}

/* Splits each variable without a bound that could not become basic into the difference of two
 * variables >= 0. The F of the second is minus the F of the first. */
static void split_free_variables(lemke *p) {
  const int64_t columns = p->pairs + 1;
  int32_t copy = (int32_t)p->n;
  for (int32_t k = 0; k < (int32_t)p->n; ++k) {
    if (p->side[k] != 0 || p->column_of[k] < 0) continue;
    p->side[k] = -1;
    p->lower[k] = 0;
    p->positive[copy] = k;
    const int32_t column = p->column_of[k];
    for (int64_t i = 0; i < p->n; ++i) row_of(p, i)[copy] = -row_of(p, i)[column];
    ++copy;
  }
  for (copy = (int32_t)p->n; copy < (int32_t)p->pairs && p->positive[copy] >= 0; ++copy) {
    const int32_t wanted = (int32_t)p->pairs + p->positive[copy];
    for (int64_t i = 0; i < p->n; ++i) {
      if (p->basic[i] != wanted) continue;
      for (int64_t j = 0; j < columns; ++j) row_of(p, copy)[j] = -row_of(p, i)[j];
      p->value[copy] = -p->value[i];
    }
  }
}

/* Adds t to basic variables with a lower bound, and subtracts it from those with an upper bound.
 * Later attempts use weights of t from 10^-1 to 10. Returns the least t that makes all pairs
 * complementary, or a number below 0 if all pairs are complementary without t. */
static double add_artificial_variable(lemke *p, int attempt) {
  double least = -1;
  for (int64_t i = 0; i < p->pairs; ++i) {
    const int32_t variable = p->basic[i], k = variable % (int32_t)p->pairs;
    const int side = p->side[k];
    if (side == 0) continue;
    const double bound = is_f(p, variable) ? 0 : side < 0 ? p->lower[k] : p->upper[k];
    const double exponent = 2 * cvtm_random_uniform(1, (uint64_t)attempt, (uint64_t)i) - 1;
    const double weight = attempt == 0 ? 1 : pow(10, exponent);
    const double violation = side * (p->value[i] - bound);
    row_of(p, i)[p->column_of[p->t]] = -side * weight;
    if (violation > 0) least = fmax(least, violation / weight);
  }
  return least;
}

/* --- the path ----------------------------------------------------------------------------------
 */

/* The distance of a row's variable from the bound that it meets by changing at that rate. */
static double distance_to_bound(const lemke *p, int64_t row, double rate) {
  const int32_t variable = p->basic[row];
  const double value = p->value[row];
  if (variable == p->t) return rate < 0 ? value : (double)INFINITY;
  if (!is_f(p, variable)) return rate < 0 ? value - p->lower[variable] : p->upper[variable] - value;
  const int side = p->side[variable - p->pairs];
  return side * rate > 0 ? -side * value : (double)INFINITY;
}

/* The coefficient of eps^(k + 1) in the basic variable of a row. */
static double perturbation(const lemke *p, int64_t row, int64_t k) {
  const int32_t f = (int32_t)(p->pairs + k), column = p->column_of[f];
  return column >= 0 ? row_of(p, row)[column] : -(p->basic[row] == f);
}

/* True if the variable of row a meets its bound before that of row b, at equal distances. */
static int is_before(const lemke *p, int32_t column, int way, int64_t a, int64_t b) {
  const double rate_a = way * row_of(p, a)[column], rate_b = way * row_of(p, b)[column];
  for (int64_t k = 0; k < p->pairs; ++k) {
    const double by_a = perturbation(p, a, k) / -rate_a, by_b = perturbation(p, b, k) / -rate_b;
    if (fabs(by_a - by_b) > 1e-12 * (fabs(by_a) + fabs(by_b))) return by_a < by_b;
  }
  return fabs(rate_a) > fabs(rate_b);
}

/* The row whose variable first meets a bound when the variable of `column` moves by *step in
 * direction `way`. OWN_BOUND: the moving variable meets its other bound; NO_ROW: none does. */
static int64_t find_blocking(const lemke *p, int32_t column, int way, double *step) {
  const int32_t moving = p->nonbasic[column];
  const double own = moving < p->pairs ? p->upper[moving] - p->lower[moving] : (double)INFINITY;
  double largest = 0, least = own;
  for (int64_t i = 0; i < p->pairs; ++i) largest = fmax(largest, fabs(row_of(p, i)[column]));
  for (int pass = 0;; ++pass) {
    const double tie = least + 1e-13 * (1 + fabs(least));
    int64_t found = NO_ROW;
    for (int64_t i = 0; i < p->pairs; ++i) {
      const double rate = way * row_of(p, i)[column];
      if (fabs(rate) <= least_pivot * largest) continue;
      const double ratio = fmax(distance_to_bound(p, i, rate), 0) / fabs(rate);
      if (pass == 0) {
        least = fmin(least, ratio);
      } else if (ratio <= tie) {
        if (p->basic[i] == p->t) return i;
        if (found == NO_ROW || is_before(p, column, way, i, found)) found = i;
      }
    }
    if (pass == 0) {
      *step = least;
      if (!isfinite(least)) return NO_ROW;
    } else {
      return own <= tie ? OWN_BOUND : found;
    }
  }
}

static void read_unknowns(const lemke *p, double *x);
static residual measure(const lemke *p, const double *x);

/* Reports the progress; true if the monitor stops the path. x: n numbers of scratch memory. */
static int is_interrupted(const lemke *p, double *x) {
  const cvtm_lcp_options *o = &p->solver->head.options;
  if (o->monitor == NULL) return 0;
  read_unknowns(p, x);
  const residual now = measure(p, x);
  const cvtm_lcp_progress progress = {p->pivots, now.norm, now.maximum};
  return o->monitor(o->monitor_context, &progress) != 0;
}

/* Returns CVTM_LCP_CONVERGED at t = 0. */
static cvtm_lcp_stop follow_path(lemke *p, int attempt, double *x) {
  double at = add_artificial_variable(p, attempt), step = 0;
  if (at < 0) return CVTM_LCP_CONVERGED;
  int32_t column = p->column_of[p->t];
  int way = -1;
  at = 2 * at + 1;
  for (move(p, column, at);; at = nonbasic_value(p, p->nonbasic[column])) {
    if (is_interrupted(p, x)) return CVTM_LCP_INTERRUPTED;
    if (p->pivots >= p->solver->head.options.max_iterations) return CVTM_LCP_ITERATIONS;
    const int64_t row = find_blocking(p, column, way, &step);
    if (row == NO_ROW) return CVTM_LCP_RAY;
    const double rate = row >= 0 ? way * row_of(p, row)[column] : 0;
    const int32_t stopped = row == OWN_BOUND ? p->nonbasic[column] : p->basic[row];
    move(p, column, way * step);
    if (row == OWN_BOUND) {
      p->side[stopped] = -p->side[stopped];
    } else {
      if (stopped < p->pairs) p->side[stopped] = rate < 0 ? -1 : 1;
      pivot(p, row, column, at + way * step);
    }
    if (stopped == p->t) return CVTM_LCP_CONVERGED;
    const int32_t next = other_of_pair(p, stopped);
    column = p->column_of[next];
    way = -p->side[next % p->pairs];
  }
}

/* --- the solution ------------------------------------------------------------------------------
 */

static void read_unknowns(const lemke *p, double *x) {
  for (int32_t k = 0; k < (int32_t)p->n; ++k) x[k] = p->column_of[k] < 0 ? 0 : nonbasic_value(p, k);
  for (int64_t i = 0; i < p->pairs; ++i) {
    const int32_t k = p->basic[i];
    if (k < p->n)
      x[k] += p->value[i];
    else if (k < p->pairs && p->positive[k] >= 0)
      x[p->positive[k]] -= p->value[i];
  }
}

/* F_i = (A x - b)_i; *size: the sum of the absolute values of its terms, plus |x_i|. */
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

static residual measure(const lemke *p, const double *x) {
  residual r = {0};
  for (int64_t i = 0; i < p->n; ++i) {
    double size;
    const double f = f_of(p, x, i, &size), distance = fabs(x[i] - clip(p, x[i] - f, i));
    r.norm += distance * distance;
    r.maximum = fmax(r.maximum, distance);
    r.rounding += size * size;
    r.energy += 0.5 * x[i] * (f - p->b[i]);
    r.active_lower += p->given_lower && x[i] <= p->given_lower[i];
    r.active_upper += p->given_upper && x[i] >= p->given_upper[i];
  }
  r.norm = sqrt(r.norm);
  r.rounding = 0x1p-53 * sqrt(r.rounding);
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
 * the variables between their bounds, in the memory of the dictionary, and takes the result if the
 * result has a smaller residual. scratch: n numbers. */
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
  const residual before = measure(p, x);
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
  if (measure(p, scratch).norm < before.norm) memcpy(x, scratch, (size_t)p->n * sizeof *x);
}

/* --- the solver --------------------------------------------------------------------------------
 */

/* Follows one path from its start, and computes the solution from the basis at its end. */
static cvtm_lcp_stop attempt_path(lemke *p, int attempt, double *x, double *scratch) {
  fill_dictionary(p);
  pivot_free_variables(p);
  for (int32_t k = 0; k < (int32_t)p->n; ++k)
    if (p->side[k] == 0 && p->column_of[k] >= 0) pivot_with_bounded_variable(p, k);
  pivot_free_variables(p);
  split_free_variables(p);
  const cvtm_lcp_stop stop = follow_path(p, attempt, scratch);
  read_unknowns(p, x);
  refine(p, x, scratch);
  return stop;
}

/* Solves the problem in host memory. best receives the solution; x and scratch are work arrays.
 * Each of the three has n numbers. */
static void solve_on_host(lemke *p, double *best, double *x, double *scratch,
                          cvtm_lcp_result *result) {
  const cvtm_lcp_options *o = &p->solver->head.options;
  for (int64_t i = 0; i < p->n; ++i) best[i] = clip(p, 0, i);
  residual end = measure(p, best);
  const double cold = end.norm, target = fmax(o->tolerance * cold, o->absolute_tolerance);
  result->stop = CVTM_LCP_RAY;
  for (int k = 0; k < ATTEMPTS && result->stop == CVTM_LCP_RAY; ++k) {
    const cvtm_lcp_stop stop = attempt_path(p, k, x, scratch);
    const residual now = measure(p, x);
    if (now.norm < end.norm || k == 0) {
      end = now;
      memcpy(best, x, (size_t)p->n * sizeof *x);
    }
    if (end.norm <= target)
      result->stop = CVTM_LCP_CONVERGED;
    else if (end.norm <= 4 * end.rounding && end.rounding <= 1e4 * cold)
      result->stop = CVTM_LCP_ROUNDING;
    else
      result->stop = stop == CVTM_LCP_CONVERGED ? CVTM_LCP_STALLED : stop;
  }
  if (result->stop == CVTM_LCP_RAY && cvtm_csr_is_semidefinite(p->matrix, p->entry))
    result->stop = CVTM_LCP_INFEASIBLE;
  result->iterations = p->pivots;
  result->natural_residual = end.norm;
  result->natural_residual_max = end.maximum;
  result->active_lower = end.active_lower;
  result->active_upper = end.active_upper;
  result->energy = end.energy;
  result->rate = (double)NAN;
}

/* Copies a vector from the device; NULL stays NULL. */
static cvtm_status copy_vector(cvtm_device *device, const double *from, int64_t n, double *memory,
                               const double **to) {
  *to = from ? memory : NULL;
  return from ? cvtm_device_copy_out(device, memory, from, (size_t)n * sizeof *from) : CVTM_OK;
}

static cvtm_status lemke_solve(cvtm_lcp *lcp, const double *b, const double *lower,
                               const double *upper, double *x, int warm, cvtm_lcp_result *result) {
  (void)warm; /* a path has no use for a start */
  const lemke_solver *s = (const lemke_solver *)lcp;
  const int64_t n = lcp->rows;
  cvtm_scratch memory = {0};
  double *vectors = cvtm_scratch_take(&memory, 6 * (size_t)n, sizeof *vectors);
  lemke p = {
      .solver = s, .matrix = &s->matrix, .threads = cvtm_device_threads(lcp->device), .n = n};
  cvtm_status status = CVTM_OK;
  if (!memory.failed) {
    status = copy_vector(lcp->device, b, n, vectors, &p.b);
    if (status == CVTM_OK) status = copy_vector(lcp->device, lower, n, vectors + n, &p.given_lower);
    if (status == CVTM_OK)
      status = copy_vector(lcp->device, upper, n, vectors + 2 * n, &p.given_upper);
    p.pairs = n;
    for (int64_t i = 0; i < n && status == CVTM_OK; ++i)
      p.pairs += (!lower || isinf(p.given_lower[i])) && (!upper || isinf(p.given_upper[i]));
    const size_t pairs = (size_t)p.pairs;
    p.t = (int32_t)(2 * pairs);
    p.entry = cvtm_scratch_take(&memory, pairs * (pairs + 1), sizeof *p.entry);
    p.value = cvtm_scratch_take(&memory, 3 * pairs, sizeof *p.value);
    p.side = cvtm_scratch_take(&memory, 6 * pairs + 2, sizeof *p.side);
  }
  if (status == CVTM_OK && memory.failed)
    status = cvtm_fail(cvtm_device_error(lcp->device), CVTM_ERROR_MEMORY,
                       "no memory for a dense matrix of %lld rows", (long long)p.pairs);
  if (status == CVTM_OK) {
    p.lower = p.value + p.pairs;
    p.upper = p.lower + p.pairs;
    p.positive = p.side + p.pairs;
    p.basic = p.positive + p.pairs;
    p.nonbasic = p.basic + p.pairs;
    p.column_of = p.nonbasic + p.pairs + 1;
    solve_on_host(&p, vectors + 3 * n, vectors + 4 * n, vectors + 5 * n, result);
    status = cvtm_device_copy_in(lcp->device, x, vectors + 3 * n, (size_t)n * sizeof *x);
  }
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
  cvtm_status status = cvtm_lcp_open(&s->head, &table, device, matrix->rows, options);
  if (status == CVTM_OK) status = cvtm_csr_copy(matrix, &s->matrix, error);
  return status;
}
