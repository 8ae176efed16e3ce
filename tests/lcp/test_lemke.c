/* Lemke's method: matrices that no other method takes. A solution is recognised by its natural
 * residual, computed here; that there is none, by what the problem is. */
#include "grid_problems.h"

#include "base/random.h"

enum { MOST = 60 };

typedef struct problem {
  int n;
  double a[MOST][MOST], b[MOST], lower[MOST], upper[MOST], x[MOST];
  uint64_t drawn;
} problem;

/* Uniform in [-1, 1). */
static double draw(problem *p) { return 2 * cvtm_random_uniform(77, 5, p->drawn++) - 1; }

static cvtm_csr csr_of(const problem *p) {
  cvtm_csr m;
  assert_ok(cvtm_csr_create(p->n, p->n, (int64_t)p->n * p->n, &m, NULL));
  int64_t at = 0;
  m.row_start[0] = 0;
  for (int i = 0; i < p->n; ++i) {
    for (int j = 0; j < p->n; ++j) {
      if (p->a[i][j] == 0) continue;
      m.column[at] = j;
      m.value[at++] = p->a[i][j];
    }
    m.row_start[i + 1] = at;
  }
  return m;
}

static cvtm_lcp_result solve_within(cvtm_device *device, problem *p, cvtm_lcp_method method,
                                    int64_t limit) {
  cvtm_csr matrix = csr_of(p);
  DEFAULT_OPTIONS(cvtm_lcp, options);
  options.method = method;
  options.max_iterations = limit;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_result result;
  assert_device_ok(device, cvtm_lcp_create(device, &matrix, 0, 0, &options, &lcp));
  double *b = copied_in(device, p->b, p->n, sizeof(double)),
         *lower = copied_in(device, p->lower, p->n, sizeof(double)),
         *upper = copied_in(device, p->upper, p->n, sizeof(double)),
         *x = copied_in(device, p->b, p->n, sizeof(double));
  assert_device_ok(device, cvtm_lcp_solve(lcp, b, lower, upper, x, 0, &result));
  assert_device_ok(device, cvtm_device_copy_out(device, p->x, x, (size_t)p->n * sizeof *x));
  device_free_all(device, b, lower, upper, x);
  cvtm_lcp_destroy(lcp);
  cvtm_csr_free(&matrix);
  return result;
}

static cvtm_lcp_result solve(cvtm_device *device, problem *p, cvtm_lcp_method method) {
  return solve_within(device, p, method, 0);
}

/* The largest natural residual of p->x. */
static double residual_of(const problem *p) {
  double largest = 0;
  for (int i = 0; i < p->n; ++i) {
    double f = -p->b[i];
    for (int j = 0; j < p->n; ++j) f += p->a[i][j] * p->x[j];
    const double to = fmin(fmax(p->x[i] - f, p->lower[i]), p->upper[i]);
    largest = fmax(largest, fabs(p->x[i] - to));
  }
  return largest;
}

static void set_bounds(problem *p, int kind, int i) {
  p->lower[i] = kind & 1 ? draw(p) : -(double)INFINITY;
  p->upper[i] = kind & 2 ? fmax(p->lower[i], -1) + fabs(draw(p)) : (double)INFINITY;
}

/* P-matrices: positive definite ones that are not symmetric, and triangular ones. Any bounds. */
TEST_ON_DEVICE(p_matrices_with_all_kinds_of_bounds) {
  problem p = {0};
  for (int round = 0; round < 60; ++round) {
    p.n = 1 + round % 30;
    for (int i = 0; i < p.n; ++i) {
      for (int j = 0; j < p.n; ++j) p.a[i][j] = round % 2 && j > i ? 0 : 0.3 * draw(&p);
      p.a[i][i] = round % 2 ? 0.2 + fabs(draw(&p)) : 0.3 * p.n;
      p.b[i] = 3 * draw(&p);
      set_bounds(&p, (int)(p.drawn % 4), i);
    }
    const cvtm_lcp_result result = solve(device, &p, CVTM_LCP_LEMKE);
    assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
    assert_true(residual_of(&p) < 1e-7);
  }
}

/* Positive semidefinite matrices with a zero diagonal: the optimality conditions of
 *     minimise c'y  for  B y >= d, y >= 0;  or, with is_equation, B y = d,
 * where d = B y0 for some y0 >= 0, and c = B'v + s for some v (>= 0) and s >= 0. */
static void make_program(problem *p, int rows, int columns, int is_equation) {
  double y0[MOST], v[MOST];
  p->n = rows + columns;
  memset(p->a, 0, sizeof p->a);
  memset(p->b, 0, sizeof p->b);
  for (int j = 0; j < columns; ++j) y0[j] = fmax(draw(p), 0);
  for (int i = 0; i < rows; ++i) v[i] = is_equation ? draw(p) : fmax(draw(p), 0);
  for (int i = 0; i < rows; ++i) {
    const int row = columns + i;
    for (int j = 0; j < columns; ++j) {
      const double entry = floor(5 * draw(p)); /* many ties */
      p->a[row][j] = entry;
      p->a[j][row] = -entry;
      p->b[row] += entry * y0[j];
      p->b[j] -= entry * v[i];
    }
  }
  for (int i = 0; i < p->n; ++i) {
    p->lower[i] = i >= columns && is_equation ? -(double)INFINITY : 0;
    p->upper[i] = (double)INFINITY;
    if (i < columns) p->b[i] -= fmax(draw(p), 0);
  }
}

TEST_ON_DEVICE(linear_programs_are_solved) {
  problem p = {0};
  for (int round = 0; round < 60; ++round) {
    make_program(&p, 2 + round % 10, 3 + round % 17, round % 2);
    const cvtm_lcp_result result = solve(device, &p, CVTM_LCP_AUTO);
    assert_int_equal(result.method, CVTM_LCP_LEMKE);
    assert_true(result.stop == CVTM_LCP_CONVERGED || result.stop == CVTM_LCP_ROUNDING);
    assert_true(residual_of(&p) < 1e-7);
  }
}

/* y >= 0 with y1 + y2 <= -1 has no point; a second program has no least value. */
TEST_ON_DEVICE(a_program_without_a_solution_is_infeasible) {
  problem p = {.n = 3,
               .a = {{0, 0, 1}, {0, 0, 1}, {-1, -1, 0}},
               .b = {-1, -1, 1},
               .upper = {(double)INFINITY, (double)INFINITY, (double)INFINITY}};
  assert_int_equal(solve(device, &p, CVTM_LCP_AUTO).stop, CVTM_LCP_INFEASIBLE);
  problem q = {
      .n = 2, .a = {{0, -1}, {1, 0}}, .b = {1, -1}, .upper = {(double)INFINITY, (double)INFINITY}};
  assert_int_equal(solve(device, &q, CVTM_LCP_AUTO).stop, CVTM_LCP_INFEASIBLE);
  /* x'Ax = -4 x1 x2 + 2 x1^2 + 2 x2^2 = 2 (x1 - x2)^2, and 0 where x1 = x2. */
  problem r = {
      .n = 2, .a = {{2, -4}, {0, 2}}, .b = {1, 1}, .upper = {(double)INFINITY, (double)INFINITY}};
  assert_int_equal(solve(device, &r, CVTM_LCP_LEMKE).stop, CVTM_LCP_CONVERGED);
  r.a[0][1] = -2;
  r.a[1][0] = -2; /* x1 - x2 >= 1/2 and x2 - x1 >= 1/2 */
  assert_int_equal(solve(device, &r, CVTM_LCP_LEMKE).stop, CVTM_LCP_INFEASIBLE);
}

/* -x - 1 >= 0 has no point x >= 0. With x2 >= 1 both F are >= 0, but F2 = 1 wants x2 = 0. */
TEST_ON_DEVICE(a_ray_of_an_indefinite_matrix_says_nothing_unless_no_point_has_the_signs) {
  problem p = {.n = 1, .a = {{-1}}, .b = {1}, .upper = {(double)INFINITY}};
  assert_int_equal(solve(device, &p, CVTM_LCP_AUTO).stop, CVTM_LCP_INFEASIBLE);
  problem r = {.n = 2, .a = {{0, 1}}, .b = {1, -1}, .upper = {(double)INFINITY, (double)INFINITY}};
  assert_int_equal(solve(device, &r, CVTM_LCP_LEMKE).stop, CVTM_LCP_RAY);
  problem q = {.n = 2,
               .a = {{1, -2.001}, {-2, 1}},
               .b = {1, 1},
               .upper = {(double)INFINITY, (double)INFINITY}};
  assert_int_equal(solve(device, &q, CVTM_LCP_LEMKE).stop, CVTM_LCP_INFEASIBLE);
}

/* Prices of a game of two players: from x = 0 every path of Lemke ends in a ray, as the diagonal is
 * 0 and no entry is negative. */
/* v v' of rank 1: F_i = v_i s - b_i with s = v'x. Iterates grow, and F disappears in rounding. */
TEST_ON_DEVICE(semidefinite_problems_without_a_solution_are_infeasible) {
  problem p = {0};
  int infeasible = 0;
  for (int round = 0; round < 40; ++round) {
    double v[MOST], least = -(double)INFINITY, most = (double)INFINITY;
    p.n = 2 + round % 12;
    for (int i = 0; i < p.n; ++i) v[i] = draw(&p);
    for (int i = 0; i < p.n; ++i) {
      p.b[i] = draw(&p);
      p.lower[i] = 0;
      p.upper[i] = (double)INFINITY;
      for (int j = 0; j < p.n; ++j) p.a[i][j] = v[i] * v[j];
      if (v[i] > 0) least = fmax(least, p.b[i] / v[i]);
      if (v[i] < 0) most = fmin(most, p.b[i] / v[i]);
    }
    const cvtm_lcp_result result = solve(device, &p, CVTM_LCP_AUTO);
    if (least > most) { /* no s makes all F_i >= 0 */
      ++infeasible;
      assert_int_equal(result.stop, CVTM_LCP_INFEASIBLE);
    } else if (least < most && !(least > 0 && most < (double)INFINITY)) {
      assert_true(result.stop == CVTM_LCP_CONVERGED || result.stop == CVTM_LCP_INFEASIBLE);
    }
  }
  assert_true(infeasible > 10);
}

/* All paths end in rays; x = (0, 6, 0, 1) is a solution. */
TEST_ON_DEVICE(all_bases_of_a_small_problem_are_tried) {
  problem p = {.n = 4,
               .a = {{-3, 1, 2, 0}, {-2, 0, -1, 1}, {-1, 2, -1, 2}, {0, 1, 3, -3}},
               .b = {1, 1, 3, 3}};
  for (int i = 0; i < p.n; ++i) p.upper[i] = (double)INFINITY;
  assert_int_equal(solve(device, &p, CVTM_LCP_AUTO).stop, CVTM_LCP_CONVERGED);
  assert_true(residual_of(&p) < 1e-12);
}

TEST_ON_DEVICE(games_of_two_players_are_solved_from_another_basis) {
  problem p = {.n = 6};
  for (int i = 0; i < p.n; ++i) {
    for (int j = 0; j < p.n; ++j) p.a[i][j] = (i < p.n / 2) == (j < p.n / 2) ? 0 : 2 + draw(&p);
    p.b[i] = 1;
    p.upper[i] = (double)INFINITY;
  }
  assert_int_equal(solve(device, &p, CVTM_LCP_LEMKE).stop, CVTM_LCP_CONVERGED);
  assert_true(residual_of(&p) < 1e-12);
}

/* Units that differ by 10^8 do not hide a solution or a proof. */
TEST_ON_DEVICE(the_units_of_rows_and_columns_do_not_matter) {
  problem p = {.n = 4,
               .a = {{0, 0, 1e-4, 1e4}, {0, 0, 1, 1e8}, {-1e-4, -1, 0, 0}, {-1e4, -1e8, 0, 0}},
               .b = {1e-4, 1, -1, -1e4}};
  for (int i = 0; i < p.n; ++i) p.upper[i] = (double)INFINITY;
  assert_int_equal(solve(device, &p, CVTM_LCP_LEMKE).stop, CVTM_LCP_CONVERGED);
  p.b[0] = -1;
  p.b[2] = 1; /* -1e-4 x1 - x2 >= 1 */
  assert_int_equal(solve(device, &p, CVTM_LCP_LEMKE).stop, CVTM_LCP_INFEASIBLE);
}

/* Symmetric with a positive diagonal, but indefinite: cycles of tnnmg find no solution. */
static problem indefinite_problem(void) {
  return (problem){.n = 2,
                   .a = {{1, 3}, {3, 1}},
                   .b = {1, 2},
                   .lower = {-(double)INFINITY, -(double)INFINITY},
                   .upper = {(double)INFINITY, (double)INFINITY}};
}

TEST_ON_DEVICE(auto_solves_what_its_first_method_does_not) {
  problem p = indefinite_problem();
  const cvtm_lcp_result result = solve(device, &p, CVTM_LCP_AUTO);
  assert_int_equal(result.method, CVTM_LCP_LEMKE);
  assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
  assert_true(residual_of(&p) < 1e-12);
}

/* A limit of the caller ends the solve, whatever another method could do. */
TEST_ON_DEVICE(the_callers_limit_holds_for_all_methods) {
  problem p = indefinite_problem();
  const cvtm_lcp_result result = solve_within(device, &p, CVTM_LCP_AUTO, 1);
  assert_int_equal(result.method, CVTM_LCP_TNNMG);
  assert_int_equal(result.stop, CVTM_LCP_ITERATIONS);
}

/* A triangular P-matrix is solved row by row. */
TEST_ON_DEVICE(triangular_matrices_have_the_solution_of_substitution) {
  problem p = {.n = MOST};
  for (int i = 0; i < p.n; ++i) {
    for (int j = 0; j < i; ++j) p.a[i][j] = draw(&p);
    p.a[i][i] = 1;
    p.b[i] = draw(&p);
    p.upper[i] = (double)INFINITY;
  }
  assert_int_equal(solve(device, &p, CVTM_LCP_LEMKE).stop, CVTM_LCP_CONVERGED);
  double x[MOST];
  for (int i = 0; i < p.n; ++i) {
    double sum = p.b[i], size = fabs(sum);
    for (int j = 0; j < i; ++j) {
      sum -= p.a[i][j] * x[j];
      size += fabs(x[j]);
    }
    x[i] = fmax(sum, 0);
    assert_true(fabs(p.x[i] - x[i]) <= 1e-9 * fmax(size, 1));
  }
}

TEST_DEVICE_MAIN()
