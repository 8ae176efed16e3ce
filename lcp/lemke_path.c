/* Lemke's method for variables with bounds (Cottle, Pang & Stone, The Linear Complementarity
 * Problem, 1992, section 4.4; Dirkse & Ferris 1995), on the host with a dense matrix.
 *
 * Pair k consists of the variables x_k and F_k. The dictionary expresses the basic variables by the
 * nonbasic variables: it has a row for each basic variable and a column for each nonbasic variable.
 * An artificial variable t is added to F at lower bounds and subtracted at upper bounds. The path
 * begins at a large t, for which all pairs are complementary. Each step of the path moves one
 * nonbasic variable until a basic variable meets a bound. The two exchange their roles, and the
 * other variable in the pair of the new nonbasic variable moves next. The path ends at t = 0.
 *
 * Ties are resolved as if eps^(k + 1) were subtracted from F_k for a small eps, so that the path
 * does not cycle. A path may end in a ray. Then paths with other weights of t, in other units or
 * from another basis may still end at a solution, unless there is no feasible x: no x within the
 * bounds for which every F has the sign that it needs. Whether there is a feasible x is a linear
 * program, whose optimality conditions are a complementarity problem with a skew matrix. The path
 * of that problem ends in a ray if and only if there is no feasible x (Cottle, Pang & Stone,
 * theorem 4.4.13). If the matrix is positive semidefinite, a ray always means that there is no
 * feasible x. */
#include "lcp/lemke_path.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

enum { NO_ROW = -1, OWN_BOUND = -2 };
static const double least_pivot = 1e-10; /* relative to the largest entry of the column */

/* --- the dictionary --------------------------------------------------------------------------- */

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

/* Changes the nonbasic variable of a column by `by`. */
static void move(lemke *p, int32_t column, double by) {
  for (int64_t i = 0; i < p->pairs; ++i) p->value[i] += by * row_of(p, i)[column];
}

/* Exchanges the roles of the basic variable of a row and the nonbasic variable of a column. value:
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

/* --- the start -------------------------------------------------------------------------------- */

static void fill_dictionary(lemke *p) {
  const cvtm_csr *a = p->matrix;
  memset(p->entry, 0, (size_t)(p->pairs * (p->pairs + 1)) * sizeof *p->entry);
  memset(p->value, 0, (size_t)p->pairs * sizeof *p->value);
  for (int32_t k = 0; k < (int32_t)p->pairs; ++k) {
    const int is_unknown = k < p->n;
    p->lower[k] = is_unknown ? (p->given_lower ? p->given_lower[k] : -(double)INFINITY) : 0;
    p->upper[k] = is_unknown && p->given_upper ? p->given_upper[k] : (double)INFINITY;
    p->side[k] = isfinite(p->lower[k]) ? -1 : isfinite(p->upper[k]) ? 1 : 0;
    p->unit[k] = 1;
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

/* The power of two that, applied twice, brings a number near 1. */
static double half_scale(double largest) {
  return largest > 0 ? exp2(-round(log2(largest) / 2)) : 1;
}

/* Measures F and x in units in which the largest entry of each row and column is near 1. */
static void scale_dictionary(lemke *p) {
  enum { SWEEPS = 6 };
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    for (int64_t i = 0; i < p->n; ++i) {
      double largest = 0;
      for (int64_t j = 0; j < p->n; ++j) largest = fmax(largest, fabs(row_of(p, i)[j]));
      const double by = half_scale(largest);
      for (int64_t j = 0; j < p->n; ++j) row_of(p, i)[j] *= by;
      p->value[i] *= by;
    }
    for (int64_t j = 0; j < p->n; ++j) {
      double largest = 0;
      for (int64_t i = 0; i < p->n; ++i) largest = fmax(largest, fabs(row_of(p, i)[j]));
      const double by = half_scale(largest);
      for (int64_t i = 0; i < p->n; ++i) row_of(p, i)[j] *= by;
      p->unit[j] *= by;
    }
  }
  for (int64_t k = 0; k < p->n; ++k) {
    p->lower[k] /= p->unit[k];
    p->upper[k] /= p->unit[k];
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

/* Makes the variable of a column basic in the row. The variable that was basic there becomes 0. */
static void exchange(lemke *p, int64_t row, int32_t column) {
  const double step = -p->value[row] / row_of(p, row)[column];
  const double value = nonbasic_value(p, p->nonbasic[column]) + step;
  move(p, column, step);
  pivot(p, row, column, value);
}

/* Makes variables without a bound basic, so that their F is 0. At the end all these F are 0, so it
 * does not matter which F belongs to which variable: if a pivot does not exchange the two variables
 * of a pair, two F exchange their indices. */
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

/* Makes x_k basic where it cannot be exchanged with F_k alone: exchanges x_k with F_c, and then x_c
 * with F_k, where x_c is a variable with one bound. Takes the c for which the smaller of the two
 * pivots is largest; attempts after 0 first multiply this smaller pivot by a random factor. */
static void pivot_with_bounded_variable(lemke *p, int32_t k, int attempt) {
  const int64_t row_k = row_with(p, (int32_t)p->pairs + k);
  int64_t row_c = NO_ROW;
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < p->n; ++i) {
    const int32_t f = p->basic[i], c = f - (int32_t)p->pairs;
    if (!is_f(p, f) || c >= p->n || c == k || p->side[c] == 0) continue;
    const double chance =
        attempt == 0 ? 1 : cvtm_random_uniform(3, (uint64_t)attempt, (uint64_t)(k * p->n + c));
    const double size =
        chance * fmin(fabs(row_of(p, row_k)[p->column_of[c]]), fabs(row_of(p, i)[p->column_of[k]]));
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

/* Makes randomly chosen variables with one bound basic, each alone or together with another
 * variable. */
static void pivot_at_random(lemke *p, int attempt) {
  const double share = cvtm_random_uniform(2, (uint64_t)attempt, (uint64_t)p->n);
  for (int32_t k = 0; k < (int32_t)p->n; ++k) {
    const int64_t row = row_with(p, (int32_t)p->pairs + k);
    const int32_t column = p->column_of[k];
    if (row == NO_ROW || column < 0 || (isfinite(p->lower[k]) && isfinite(p->upper[k])) ||
        cvtm_random_uniform(2, (uint64_t)attempt, (uint64_t)k) > share)
      continue;
    double largest = 0;
    for (int64_t i = 0; i < p->n; ++i) largest = fmax(largest, fabs(row_of(p, i)[column]));
    if (fabs(row_of(p, row)[column]) > 1e-3 * largest)
      exchange(p, row, column);
    else
      pivot_with_bounded_variable(p, k, attempt);
  }
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
    p->unit[copy] = p->unit[k];
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

/* Adds t to basic variables with a lower bound, and subtracts t from those with an upper bound.
 * From attempt 3 on the weights of t are random, from 10^-1 to 10. Returns the least t that makes
 * all pairs complementary, or a number below 0 if all pairs are complementary without t. */
static double add_artificial_variable(lemke *p, int attempt) {
  double least = -1;
  for (int64_t i = 0; i < p->pairs; ++i) {
    const int32_t variable = p->basic[i], k = variable % (int32_t)p->pairs;
    const int side = p->side[k];
    if (side == 0) continue;
    const double bound = is_f(p, variable) ? 0 : side < 0 ? p->lower[k] : p->upper[k];
    const double exponent = 2 * cvtm_random_uniform(1, (uint64_t)attempt, (uint64_t)i) - 1;
    const double weight = attempt / 3 == 0 ? 1 : pow(10, exponent);
    const double violation = side * (p->value[i] - bound);
    row_of(p, i)[p->column_of[p->t]] = -side * weight;
    if (violation > 0) least = fmax(least, violation / weight);
  }
  return least;
}

/* --- the path --------------------------------------------------------------------------------- */

/* The distance of a row's variable from the bound that it meets if it changes at this rate. */
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

/* Breaks a tie: true if the variable of row a meets its bound before the variable of row b. */
static int is_before(const lemke *p, int32_t column, int way, int64_t a, int64_t b) {
  const double rate_a = way * row_of(p, a)[column], rate_b = way * row_of(p, b)[column];
  for (int64_t k = 0; k < p->pairs; ++k) {
    const double by_a = perturbation(p, a, k) / -rate_a, by_b = perturbation(p, b, k) / -rate_b;
    if (fabs(by_a - by_b) > 1e-12 * (fabs(by_a) + fabs(by_b))) return by_a < by_b;
  }
  return fabs(rate_a) > fabs(rate_b);
}

/* Finds the row whose variable is the first to meet a bound when the variable of `column` moves in
 * direction `way`. *step: how far that variable moves. Returns OWN_BOUND if it meets its other
 * bound before, NO_ROW if nothing stops it. */
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

/* Adds a value of variable k to the unknown of which variable k is a part. */
static void add_part(const lemke *p, int32_t k, double value, double *x) {
  if (k < p->n)
    x[k] += p->unit[k] * value;
  else if (k < p->pairs && p->positive[k] >= 0)
    x[p->positive[k]] -= p->unit[k] * value;
}

void cvtm_lemke_read(const lemke *p, double *x) {
  for (int32_t k = 0; k < (int32_t)p->n; ++k)
    x[k] = p->column_of[k] < 0 ? 0 : p->unit[k] * nonbasic_value(p, k);
  for (int64_t i = 0; i < p->pairs; ++i) add_part(p, p->basic[i], p->value[i], x);
}

void cvtm_lemke_read_ray(const lemke *p, double *x) {
  double largest = 0;
  for (int64_t i = 0; i < p->pairs; ++i) largest = fmax(largest, fabs(row_of(p, i)[p->ray]));
  memset(x, 0, (size_t)p->n * sizeof *x);
  add_part(p, p->nonbasic[p->ray], p->ray_way, x);
  for (int64_t i = 0; i < p->pairs; ++i) {
    const double rate = row_of(p, i)[p->ray];
    if (fabs(rate) > least_pivot * largest) add_part(p, p->basic[i], p->ray_way * rate, x);
  }
}

/* Reports the progress; true if the monitor stops the path. x: a buffer of n doubles. */
static int is_interrupted(const lemke *p, double *x) {
  const cvtm_lcp_options *o = &p->solver->head.options;
  if (o->monitor == NULL) return 0;
  cvtm_lemke_read(p, x);
  const cvtm_lemke_residual now = cvtm_lemke_measure(p, x);
  const cvtm_lcp_progress progress = {p->pivots, now.norm, now.maximum};
  return o->monitor(o->monitor_context, &progress) != 0;
}

/* Follows the path of cvtm_lemke_follow from its start. x: a buffer of n doubles. */
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
    if (row == NO_ROW) {
      p->ray = column;
      p->ray_way = way;
      return CVTM_LCP_RAY;
    }
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

cvtm_status cvtm_lemke_open(lemke *p, cvtm_scratch *memory) {
  p->pairs = p->n;
  for (int64_t i = 0; i < p->n; ++i)
    p->pairs += (!p->given_lower || isinf(p->given_lower[i])) &&
                (!p->given_upper || isinf(p->given_upper[i]));
  const size_t pairs = (size_t)p->pairs;
  p->t = (int32_t)(2 * pairs);
  p->entry = cvtm_scratch_take(memory, pairs * (pairs + 1), sizeof *p->entry);
  p->value = cvtm_scratch_take(memory, 4 * pairs, sizeof *p->value);
  p->side = cvtm_scratch_take(memory, 6 * pairs + 2, sizeof *p->side);
  if (memory->failed)
    return cvtm_fail(cvtm_device_error(p->solver->head.device), CVTM_ERROR_MEMORY,
                     "no memory for a dense matrix of %lld rows", (long long)p->pairs);
  p->lower = p->value + pairs;
  p->upper = p->lower + pairs;
  p->unit = p->upper + pairs;
  p->positive = p->side + pairs;
  p->basic = p->positive + pairs;
  p->nonbasic = p->basic + pairs;
  p->column_of = p->nonbasic + pairs + 1;
  return CVTM_OK;
}

cvtm_lcp_stop cvtm_lemke_follow(lemke *p, int attempt, double *scratch) {
  fill_dictionary(p);
  if (attempt % 3 != 0) scale_dictionary(p);
  pivot_free_variables(p);
  for (int32_t k = 0; k < (int32_t)p->n; ++k)
    if (p->side[k] == 0 && p->column_of[k] >= 0) pivot_with_bounded_variable(p, k, 0);
  pivot_free_variables(p);
  if (attempt > 1 && attempt % 3 != 0) pivot_at_random(p, attempt);
  split_free_variables(p);
  return follow_path(p, attempt, scratch);
}
