/* Complementarity problems given by sparse matrices: published figures, random problems against
 * an independent solver, cycle counts, stops and refusals. */
#include "grid_problems.h"

#include "base/random.h"
#include "lcp/problems/complementarity.h"
#include "lcp/stop.h"

/* --- one solve, from host memory to host memory -------------------------------------------- */

typedef struct setting {
  cvtm_lcp_method method;
  double tolerance;
  int has_grid, nested;
  int64_t limit;
} setting;

typedef struct vectors {
  const double *b, *lower, *upper;
} vectors;

static cvtm_lcp_options options_of(const setting *s) {
  DEFAULT_OPTIONS(cvtm_lcp, options);
  options.method = s->method;
  options.tolerance = s->tolerance;
  options.nested = s->nested;
  options.max_iterations = s->limit;
  return options;
}

static cvtm_lcp_result solve_on(cvtm_device *device, const cvtm_csr *a, int64_t width,
                                int64_t height, const setting *s, vectors v, double *x) {
  const cvtm_lcp_options options = options_of(s);
  const int64_t n = a->rows;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_result result;
  assert_device_ok(device, cvtm_lcp_create(device, a, s->has_grid ? width : 0,
                                           s->has_grid ? height : 0, &options, &lcp));
  double *b = copied_in(device, v.b, n, sizeof(double)),
         *lower = copied_in(device, v.lower, n, sizeof(double));
  double *upper = copied_in(device, v.upper, n, sizeof(double)),
         *to = copied_in(device, x, n, sizeof(double));
  assert_device_ok(device, cvtm_lcp_solve(lcp, b, lower, upper, to, 0, &result));
  assert_device_ok(device, cvtm_device_copy_out(device, x, to, (size_t)n * sizeof *x));
  device_free_all(device, b, lower, upper, to);
  cvtm_lcp_destroy(lcp);
  return result;
}

typedef struct solved {
  cvtm_model_problem problem;
  cvtm_lcp_result result;
  double *x;
} solved;

/* An unloaded membrane over a hemisphere (Bueler, "PETSc for Partial Differential Equations"):
 * -2 < x, y < 2, the exact solution is known. Squares. */
enum { SPHERE = CVTM_MODEL_TORSION + 1 };

static void fill_hemisphere(cvtm_model_problem *p) {
  grid_case g = obstacle_make(HEMISPHERE, p->width);
  const size_t bytes = (size_t)(p->width * p->height) * sizeof(double);
  memcpy(p->b, g.b, bytes);
  memcpy(p->lower, g.lower, bytes);
  grid_case_free(&g);
}

static solved solve_model(cvtm_device *device, int model, int64_t width, int64_t height,
                          const setting *s) {
  solved out;
  assert_ok(cvtm_model_problem_create((cvtm_model)model, width, height, 1, &out.problem, NULL));
  if (model == SPHERE) fill_hemisphere(&out.problem);
  out.x = calloc((size_t)(width * height), sizeof *out.x);
  assert_non_null(out.x);
  const vectors v = {out.problem.b, out.problem.lower, NULL};
  out.result = solve_on(device, &out.problem.matrix, width, height, s, v, out.x);
  return out;
}

static void solved_free(solved *s) {
  cvtm_model_problem_free(&s->problem);
  free(s->x);
}

/* 2-norm of x - clip(x - (A x - b)), computed here. */
static double natural_residual(const cvtm_csr *a, vectors v, const double *x) {
  double sum = 0;
  for (int64_t i = 0; i < a->rows; ++i) {
    double f = -v.b[i];
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k)
      f += a->value[k] * x[a->column[k]];
    double to = x[i] - f;
    if (v.lower != NULL && to < v.lower[i]) to = v.lower[i];
    if (v.upper != NULL && to > v.upper[i]) to = v.upper[i];
    sum += (x[i] - to) * (x[i] - to);
  }
  return sqrt(sum);
}

/* --- published figures ---------------------------------------------------------------------- */

/* Energies to 13 digits of the largest terms: their sum rounds at 1e-16 times 65025 rows. */
TEST_ON_DEVICE(figures_of_membrane_and_torsion) {
  const setting s = {CVTM_LCP_TNNMG, 1e-12, 1, 1, 0};
  solved membrane = solve_model(device, CVTM_MODEL_MEMBRANE, 255, 255, &s);
  assert_int_equal(membrane.result.stop, CVTM_LCP_CONVERGED);
  assert_int_equal(membrane.result.active_lower, 5985);
  assert_int_equal(membrane.result.active_upper, 0);
  assert_true(fabs(membrane.result.energy - -0.016671165377016) < 1e-14);
  solved_free(&membrane);
  solved torsion = solve_model(device, CVTM_MODEL_TORSION, 255, 255, &s);
  assert_int_equal(torsion.result.active_lower, 19304);
  assert_true(fabs(torsion.result.energy - -0.418478722239221) < 1e-13);
  solved_free(&torsion);
}

TEST_ON_DEVICE(errors_of_the_hemisphere) {
  static const struct {
    int64_t size, active;
    double error;
  } rows[] = {{63, 421, 5.991417e-4}, {255, 6377, 9.339532e-5}};
  for (size_t k = 0; k < 2; ++k) {
    const setting s = {CVTM_LCP_TNNMG, 1e-11, 1, 1, 0};
    solved h = solve_model(device, SPHERE, rows[k].size, rows[k].size, &s);
    assert_int_equal(h.result.active_lower, rows[k].active);
    const double error = hemisphere_error(h.x, rows[k].size);
    assert_true(fabs(error / rows[k].error - 1) < 1e-6); /* the digits printed */
    solved_free(&h);
  }
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Cycles on the finest grid to 1e-8 with nested start at 1023 x 1023, and a fifth more. They do
 * not depend on the size: the same limits hold here. */
TEST_ON_DEVICE(cycle_counts) {
  static const int64_t published[] = {6, 8, 7};
  static const int models[] = {CVTM_MODEL_MEMBRANE, CVTM_MODEL_TORSION, SPHERE};
  for (size_t k = 0; k < 3; ++k) {
    const setting s = {CVTM_LCP_TNNMG, 1e-8, 1, 1, 0};
    solved p = solve_model(device, models[k], 127, 127, &s);
    assert_int_equal(p.result.stop, CVTM_LCP_CONVERGED);
    assert_true(5 * p.result.iterations <= 6 * published[k]);
    assert_true(p.result.rate > 0 && p.result.rate < 1);
    solved_free(&p);
  }
}

/* Sides that are no power of two, long strips, single lines, single nodes; every method finds
 * the solution of the first one. The residual is computed here. */
TEST_ON_DEVICE(grids_of_any_shape) {
  static const int64_t sizes[][2] = {{100, 37}, {37, 100}, {64, 64}, {200, 3},
                                     {1, 50},   {2, 2},    {1, 1},   {5, 4}};
  static const cvtm_lcp_method methods[] = {CVTM_LCP_TNNMG, CVTM_LCP_PDAS};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    double *first = NULL;
    const int64_t n = sizes[k][0] * sizes[k][1];
    for (size_t m = 0; m < 2; ++m) {
      const setting s = {methods[m], 1e-10, 1, 1, 0};
      solved p = solve_model(device, CVTM_MODEL_TORSION, sizes[k][0], sizes[k][1], &s);
      const vectors v = {p.problem.b, p.problem.lower, NULL};
      assert_int_equal(p.result.stop, CVTM_LCP_CONVERGED);
      const double residual = natural_residual(&p.problem.matrix, v, p.x);
      assert_true(residual <= p.result.natural_residual * (1 + 1e-6) + 1e-15);
      if (first == NULL) {
        first = malloc((size_t)n * sizeof *first);
        assert_non_null(first);
        memcpy(first, p.x, (size_t)n * sizeof *first);
      }
      /* 1e-10 of the residual times the condition of the matrix, at most (2 / pi * 100)^2. */
      for (int64_t i = 0; i < n; ++i) assert_true(fabs(first[i] - p.x[i]) < 1e-8);
      solved_free(&p);
    }
    free(first);
  }
}

/* --- random problems -------------------------------------------------------------------- */

typedef struct random_problem {
  cvtm_csr a;
  double *b, *lower, *upper;
} random_problem;

static double uniform(uint64_t seed, uint64_t stream, int64_t k) {
  return cvtm_random_uniform(seed, stream, (uint64_t)k);
}

/* A strictly diagonally dominant matrix on a random graph that holds a line of all rows (or is
 * that line): an M-matrix, or with links of both signs an H-matrix; a third of all bounds
 * infinite. */
static random_problem make_problem(int64_t n, int is_m, int is_symmetric, int is_line,
                                   uint64_t seed) {
  random_problem p;
  double *dense = calloc((size_t)(n * n), sizeof *dense);
  assert_non_null(dense);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      if ((is_line || uniform(seed, 1, i * n + j) > 6.0 / (double)n) && i != j + 1) continue;
      const double link = 0.1 + uniform(seed, 2, i * n + j);
      const double sign = is_m || uniform(seed, 3, i * n + j) < 0.5 ? -1 : 1;
      dense[i * n + j] = sign * link;
      dense[j * n + i] = sign * (is_symmetric ? link : link * uniform(seed, 4, i * n + j));
    }
  }
  assert_ok(cvtm_csr_create(n, n, n * n, &p.a, NULL));
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += fabs(dense[i * n + j]);
    dense[i * n + i] = sum * (1 + 0.05 * uniform(seed, 5, i)) + 0.01;
    for (int64_t j = 0; j < n; ++j) {
      if (dense[i * n + j] == 0) continue;
      p.a.column[count] = (int32_t)j;
      p.a.value[count++] = dense[i * n + j];
    }
    p.a.row_start[i + 1] = count;
  }
  free(dense);
  const size_t bytes = (size_t)n * sizeof(double);
  p.b = malloc(bytes);
  p.lower = malloc(bytes);
  p.upper = malloc(bytes);
  assert_true(p.b != NULL && p.lower != NULL && p.upper != NULL);
  for (int64_t i = 0; i < n; ++i) {
    p.b[i] = 4 * uniform(seed, 6, i) - 2;
    p.lower[i] = uniform(seed, 7, i) < 1.0 / 3 ? -(double)INFINITY : -uniform(seed, 8, i);
    p.upper[i] = uniform(seed, 9, i) < 1.0 / 3 ? (double)INFINITY : uniform(seed, 10, i);
  }
  return p;
}

static void problem_free(random_problem *p) {
  cvtm_csr_free(&p->a);
  free_all(p->b, p->lower, p->upper);
}

/* Projected Gauss-Seidel until x no longer changes, which converges for H-matrices. */
static void relax_to_the_end(const random_problem *p, double *x) {
  const int64_t n = p->a.rows;
  for (int64_t i = 0; i < n; ++i) x[i] = 0;
  for (int sweep = 0; sweep < 20000; ++sweep) {
    double moved = 0;
    for (int64_t i = 0; i < n; ++i) {
      double sum = p->b[i], diagonal = 0;
      for (int64_t k = p->a.row_start[i]; k < p->a.row_start[i + 1]; ++k) {
        if (p->a.column[k] == i)
          diagonal = p->a.value[k];
        else
          sum -= p->a.value[k] * x[p->a.column[k]];
      }
      const double to = fmin(fmax(sum / diagonal, p->lower[i]), p->upper[i]);
      moved = fmax(moved, fabs(to - x[i]));
      x[i] = to;
    }
    if (moved < 1e-15) return;
  }
}

TEST_ON_DEVICE(random_problems_have_the_right_solution) {
  enum { ROWS = 120 };
  static const cvtm_lcp_method symmetric[] = {CVTM_LCP_TNNMG, CVTM_LCP_PDAS, CVTM_LCP_PSOR};
  static const cvtm_lcp_method other[] = {CVTM_LCP_AUTO, CVTM_LCP_PSOR};
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const int is_symmetric = seed % 2 == 0, is_m = seed % 4 < 2;
    random_problem p = make_problem(ROWS, is_m, is_symmetric, seed > 8, seed);
    double right[ROWS], x[ROWS] = {0};
    relax_to_the_end(&p, right);
    const vectors v = {p.b, p.lower, p.upper};
    const int count = is_symmetric ? 3 : 2;
    for (int m = 0; m < count; ++m) {
      const setting s = {is_symmetric ? symmetric[m] : other[m], 1e-11, 0, 1, 5000};
      const cvtm_lcp_result result = solve_on(device, &p.a, 0, 0, &s, v, x);
      assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
      assert_true(natural_residual(&p.a, v, x) < 1e-9);
      int64_t lower = 0, upper = 0;
      for (int i = 0; i < ROWS; ++i) {
        lower += x[i] == p.lower[i];
        upper += x[i] == p.upper[i];
        /* Dominance of 0.01 turns a residual of 1e-11 * |b| into 1e-7 at worst. */
        assert_true(fabs(x[i] - right[i]) < 1e-7);
        assert_true(x[i] >= p.lower[i] && x[i] <= p.upper[i]);
      }
      assert_int_equal(result.active_lower, lower);
      assert_int_equal(result.active_upper, upper);
      assert_true(isnan(result.energy) == !is_symmetric);
    }
    problem_free(&p);
  }
}

/* Rows and right sides times factors of 1e-6 to 1e6: the same problem to solve. */
static void scale_rows(random_problem *p, uint64_t seed) {
  for (int64_t i = 0; i < p->a.rows; ++i) {
    const double factor = pow(10, 12 * uniform(seed, 11, i) - 6);
    for (int64_t k = p->a.row_start[i]; k < p->a.row_start[i + 1]; ++k) p->a.value[k] *= factor;
    p->b[i] *= factor;
  }
}

/* Dominance of 0.01 turns 1e-8 of the largest terms of rows that weigh the same, about 10 each,
 * into 1e-4 at worst. The natural residual's norm alone would not see rows of small factors. */
static void expect_right(cvtm_device *device, const random_problem *p, const double *right) {
  const int64_t n = p->a.rows;
  double *x = calloc((size_t)n, sizeof *x);
  assert_non_null(x);
  const vectors v = {p->b, p->lower, p->upper};
  const setting s = {CVTM_LCP_AUTO, 1e-8, 0, 1, 0};
  const double cold = natural_residual(&p->a, v, x); /* 0 is in all boxes */
  const cvtm_lcp_result result = solve_on(device, &p->a, 0, 0, &s, v, x);
  assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
  assert_int_equal(result.method, CVTM_LCP_PDAS);
  assert_true(natural_residual(&p->a, v, x) <= 1.001e-8 * cold);
  for (int64_t i = 0; i < n; ++i) assert_true(fabs(x[i] - right[i]) < 1e-4);
  free(x);
}

TEST_ON_DEVICE(rows_may_differ_in_scale) {
  for (uint64_t seed = 21; seed <= 26; ++seed) {
    const int64_t n = seed % 3 == 0 ? 500 : 60;
    random_problem p = make_problem(n, seed % 2 == 0, 0, seed > 24, seed);
    double right[500];
    relax_to_the_end(&p, right);
    scale_rows(&p, seed);
    expect_right(device, &p, right);
    problem_free(&p);
  }
}

/* Transport across a square, upwind, `speed` times as strong as diffusion. */
static random_problem make_transport(int64_t side, double speed, uint64_t seed) {
  random_problem p = make_problem(side * side, 1, 0, 1, seed);
  cvtm_csr_free(&p.a);
  assert_ok(cvtm_csr_create(side * side, side * side, 5 * side * side, &p.a, NULL));
  int64_t to = 0;
  for (int64_t k = 0; k < side * side; ++k) {
    const int64_t i = k % side, j = k / side, step[5] = {-side, -1, 0, 1, side};
    const int is_inside[5] = {j > 0, i > 0, 1, i + 1 < side, j + 1 < side};
    const double value[5] = {-1 - speed, -1 - speed, 0, -1, -1};
    double sum = 0.05;
    for (int q = 0; q < 5; ++q) sum -= is_inside[q] ? value[q] : 0;
    for (int q = 0; q < 5; ++q) {
      if (!is_inside[q]) continue;
      p.a.column[to] = (int32_t)(k + step[q]);
      p.a.value[to++] = q == 2 ? 1.01 * sum : value[q];
    }
    p.a.row_start[k + 1] = to;
  }
  return p;
}

TEST_ON_DEVICE(transport_may_prevail) {
  enum { SIDE = 20 };
  static const double speeds[] = {0.01, 1, 50, 1000, 1e6};
  for (size_t k = 0; k < sizeof speeds / sizeof speeds[0]; ++k) {
    random_problem p = make_transport(SIDE, speeds[k], 31 + k);
    double right[SIDE * SIDE];
    relax_to_the_end(&p, right);
    expect_right(device, &p, right);
    scale_rows(&p, k);
    expect_right(device, &p, right);
    problem_free(&p);
  }
}

/* An obstacle problem without its grid: aggregation. */
TEST_ON_DEVICE(grids_may_be_unknown) {
  const setting known = {CVTM_LCP_TNNMG, 1e-10, 1, 1, 0},
                unknown = {CVTM_LCP_TNNMG, 1e-10, 0, 1, 0};
  solved with = solve_model(device, CVTM_MODEL_TORSION, 60, 40, &known);
  solved without = solve_model(device, CVTM_MODEL_TORSION, 60, 40, &unknown);
  assert_int_equal(without.result.stop, CVTM_LCP_CONVERGED);
  assert_true(without.result.iterations < 60);
  assert_int_equal(with.result.active_lower, without.result.active_lower);
  CALL_EACH(solved_free, solved, &with, &without);
}

/* A membrane whose stiffness jumps between discs, tiles or from node to node. */
static cvtm_csr jumping_matrix(int64_t side, double jump, int kind) {
  cvtm_csr a;
  double *stiff = malloc((size_t)(side * side) * sizeof *stiff);
  assert_non_null(stiff);
  for (int64_t k = 0; k < side * side; ++k) {
    const int64_t i = k % side, j = k / side;
    stiff[k] = 1;
    if (kind == 0 && (i * 7 / side + j * 7 / side) % 2 == 1) stiff[k] = jump;
    if (kind == 1) stiff[k] = pow(jump, cvtm_random_uniform(11, 0, (uint64_t)k));
    for (uint64_t disc = 0; kind == 2 && disc < 20; ++disc) {
      const double s = (double)side, r = s * (0.01 + 0.09 * cvtm_random_uniform(3, 0, 3 * disc));
      const double x = (double)i - s * cvtm_random_uniform(3, 0, 3 * disc + 1);
      const double y = (double)j - s * cvtm_random_uniform(3, 0, 3 * disc + 2);
      if (x * x + y * y < r * r) stiff[k] = disc % 2 == 1 ? jump : 1 / jump;
    }
  }
  assert_ok(cvtm_csr_create(side * side, side * side, 5 * side * side - 4 * side, &a, NULL));
  int64_t to = 0;
  for (int64_t k = 0; k < side * side; ++k) {
    const int64_t i = k % side, j = k / side, next[4] = {k - side, k - 1, k + 1, k + side};
    const int is_inside[4] = {j > 0, i > 0, i + 1 < side, j + 1 < side};
    double link[4], sum = 0;
    for (int q = 0; q < 4; ++q) {
      const double other = is_inside[q] ? stiff[next[q]] : stiff[k];
      link[q] = 2 * stiff[k] * other / (stiff[k] + other);
      sum += link[q];
    }
    for (int q = 0; q < 5; ++q) {
      const int side_of = q < 2 ? q : q - 1;
      if (q != 2 && !is_inside[side_of]) continue;
      a.column[to] = (int32_t)(q == 2 ? k : next[side_of]);
      a.value[to++] = q == 2 ? sum : -link[side_of];
    }
    a.row_start[k + 1] = to;
  }
  free(stiff);
  return a;
}

/* The active set method on one level of the hierarchy is the oracle: another method, with Krylov
 * iterations. Without interpolation that follows the coefficients these need hundreds of cycles or
 * stall. The energy norm bounds errors by the residual; x itself only where the membrane is soft.
 */
TEST_ON_DEVICE(coefficients_may_jump) {
  enum { SIDE = 47 };
  static const struct {
    int kind;
    double jump;
  } cases[] = {{0, 1e2}, {0, 1e4}, {1, 1e2}, {1, 1e4}, {2, 1e2}, {2, 1e4}};
  static double b[SIDE * SIDE], lower[SIDE * SIDE], x[SIDE * SIDE], other[SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; ++k) {
    b[k] = -5.0 / (SIDE + 1) / (SIDE + 1);
    lower[k] = -0.02 - 0.01 * sin(0.2 * (k % SIDE)) * sin(0.15 * k / SIDE);
  }
  const vectors v = {b, lower, NULL};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    cvtm_csr a = jumping_matrix(SIDE, cases[k].jump, cases[k].kind);
    const setting pdas = {CVTM_LCP_PDAS, 1e-9, 1, 1, 0};
    const cvtm_lcp_result oracle = solve_on(device, &a, SIDE, SIDE, &pdas, v, other);
    assert_int_equal(oracle.stop, CVTM_LCP_CONVERGED);
    for (int has_grid = 0; has_grid < 2; ++has_grid) {
      const setting s = {CVTM_LCP_TNNMG, 1e-9, has_grid, 1, 0};
      const cvtm_lcp_result result = solve_on(device, &a, SIDE, SIDE, &s, v, x);
      assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
      assert_true(result.iterations <= 50); /* 11 to 32 */
      assert_int_equal(result.active_lower, oracle.active_lower);
      for (int i = 0; i < SIDE * SIDE; ++i) assert_true(fabs(x[i] - other[i]) < 1e-6);
    }
    cvtm_csr_free(&a);
  }
}

/* --- devices, stops, refusals ----------------------------------------------------------- */

/* The CPU's iterate is the oracle: sums and rows are the same on every device, so that even the
 * last bit agrees; and again on a second run. */
TEST_ON_DEVICE(same_bits_everywhere) {
  cvtm_device *cpu = test_cpu_open(1);
  for (int method = CVTM_LCP_PSOR; method <= CVTM_LCP_PDAS; ++method) {
    const setting s = {(cvtm_lcp_method)method, 1e-8, 1, 1, method == CVTM_LCP_PSOR ? 50 : 20};
    solved one = solve_model(device, SPHERE, 80, 80, &s);
    solved again = solve_model(device, SPHERE, 80, 80, &s);
    solved plain = solve_model(cpu, SPHERE, 80, 80, &s);
    assert_int_equal(one.result.iterations, plain.result.iterations);
    for (int64_t i = 0; i < 80 * 80; ++i) {
      assert_true(one.x[i] == again.x[i]);
      assert_true(fabs(one.x[i] - plain.x[i]) <= 1e-13);
    }
    CALL_EACH(solved_free, solved, &one, &again, &plain);
  }
  cvtm_device_destroy(cpu);
}

/* Symmetric with a positive diagonal, but indefinite: relaxation diverges, and is stopped. */
TEST_ON_DEVICE(divergence_is_noticed) {
  int64_t start[] = {0, 2, 4};
  int32_t column[] = {0, 1, 0, 1};
  double value[] = {1, 3, 3, 1}, b[] = {1, 2}, x[] = {0, 0};
  const cvtm_csr a = {2, 2, start, column, value};
  const setting s = {CVTM_LCP_PSOR, 1e-8, 0, 1, 0};
  const vectors v = {b, NULL, NULL};
  const cvtm_lcp_result result = solve_on(device, &a, 0, 0, &s, v, x);
  assert_int_equal(result.stop, CVTM_LCP_DIVERGED);
  assert_true(isfinite(x[0]) && isfinite(x[1])); /* the best iterate */
}

/* auto takes tnnmg for it, as it is symmetric, and lemke where tnnmg finds no solution. */
TEST_ON_DEVICE(an_indefinite_matrix_is_solved_by_auto) {
  int64_t start[] = {0, 2, 4};
  int32_t column[] = {0, 1, 0, 1};
  double value[] = {1, 3, 3, 1}, b[] = {1, 2}, low[] = {0, 0};
  const cvtm_csr a = {2, 2, start, column, value};
  const setting s = {CVTM_LCP_AUTO, 1e-8, 0, 1, 0};
  for (int bounded = 0; bounded < 2; ++bounded) {
    double x[] = {0, 0}, residual = 0;
    const vectors v = {b, bounded ? low : NULL, NULL};
    const cvtm_lcp_result result = solve_on(device, &a, 0, 0, &s, v, x);
    for (int i = 0; i < 2; ++i) {
      const double to = x[i] - (x[i] + x[1 - i] * 3 - b[i]);
      residual = fmax(residual, fabs(x[i] - (bounded ? fmax(to, 0) : to)));
    }
    assert_true(result.method == CVTM_LCP_TNNMG || result.method == CVTM_LCP_LEMKE);
    assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
    assert_true(residual <= 1e-7);
  }
}

/* Near the ends of the range of numbers squares of residuals would vanish, and nothing seem left to
 * do, or overflow. */
TEST_ON_DEVICE(units_do_not_matter) {
  enum { SIDE = 20 };
  static const cvtm_lcp_method methods[] = {CVTM_LCP_PSOR, CVTM_LCP_TNNMG, CVTM_LCP_PDAS};
  static const double unit_of_a[] = {1e-200, 1, 1, 1e200}, unit_of_x[] = {1, 1e200, 1e-200, 1};
  const setting plain = {CVTM_LCP_TNNMG, 1e-12, 1, 1, 0};
  solved right = solve_model(device, CVTM_MODEL_TORSION, SIDE, SIDE, &plain);
  for (int k = 0; k < 24; ++k) {
    const double of_a = unit_of_a[k / 6], of_x = unit_of_x[k / 6];
    cvtm_error error = {CVTM_OK, ""};
    cvtm_model_problem p;
    assert_ok(cvtm_model_problem_create(CVTM_MODEL_TORSION, SIDE, SIDE, 1, &p, &error));
    for (int64_t e = 0; e < p.matrix.row_start[SIDE * SIDE]; ++e) p.matrix.value[e] *= of_a;
    for (int i = 0; i < SIDE * SIDE; ++i) p.b[i] *= of_a * of_x;
    for (int i = 0; i < SIDE * SIDE; ++i) p.lower[i] *= of_x;
    double x[SIDE * SIDE] = {0};
    const setting s = {methods[k % 6 / 2], 1e-11, k % 2, 1, 0};
    const vectors v = {p.b, p.lower, NULL};
    const cvtm_lcp_result result = solve_on(device, &p.matrix, SIDE, SIDE, &s, v, x);
    cvtm_model_problem_free(&p);
    if (of_a > 1) { /* F has larger rounding errors than x can have errors: no claim */
      assert_int_equal(result.stop, CVTM_LCP_STALLED);
      continue;
    }
    assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
    assert_true(result.iterations > 0 && result.natural_residual > 0);
    /* The tolerance is 1e-11 of |b|, about 0.2, and the condition number some 200. */
    for (int i = 0; i < SIDE * SIDE; ++i) assert_true(fabs(x[i] / of_x - right.x[i]) < 1e-9);
  }
  solved_free(&right);
}

/* The natural residual of an iterate is the number that the solver reports, but for rounding errors
 * of F. Returns these: 16 roundings of the terms of each row. */
static double check_residual(const grid_case *g, const double *x, double reported) {
  const double exact = grid_natural_residual(g, x);
  double squares = 0;
  for (int64_t k = 0; k < g->width * g->height; ++k) {
    const double size = fabs(g->b[k]) + 2 * fabs((4 * g->constant + g->mass) * x[k]);
    squares += size * size;
  }
  const double rounding = 0x1p-49 * sqrt(squares);
  assert_true(fabs(reported - exact) <= 1e-6 * exact + rounding);
  return rounding;
}

/* A grid stops as its stored matrix does. F is far smaller than x, so that x - (x - F) would not be
 * F, and the solver would claim residuals that x does not have. */
TEST_ON_DEVICE(grids_and_matrices_stop_alike) {
  enum { SIDE = 30, COUNT = SIDE * SIDE };
  static const double units[] = {1, 1e-6, 1e-12}, tolerances[] = {1e-10, 1e-30};
  for (int k = 0; k < 6; ++k) {
    grid_case g = obstacle_make(TORSION, SIDE);
    cvtm_model_problem p;
    cvtm_error error = {CVTM_OK, ""};
    assert_ok(cvtm_model_problem_create(CVTM_MODEL_TORSION, SIDE, SIDE, 1, &p, &error));
    g.constant = units[k / 2];
    g.mass = 0.3 * g.constant;
    g.options.tolerance = tolerances[k % 2];
    for (int64_t e = 0; e < p.matrix.row_start[COUNT]; ++e)
      p.matrix.value[e] = p.matrix.value[e] > 0 ? 4 * g.constant + g.mass : -g.constant;
    for (int i = 0; i < COUNT; ++i) g.b[i] *= g.constant;
    grid_case_solve(device, &g);
    double x[COUNT] = {0};
    const setting s = {CVTM_LCP_TNNMG, g.options.tolerance, 1, 1, 0};
    const vectors v = {g.b, g.lower, NULL};
    const cvtm_lcp_result result = solve_on(device, &p.matrix, SIDE, SIDE, &s, v, x);
    cvtm_model_problem_free(&p);
    assert_int_equal(g.result.stop, k % 2 ? CVTM_LCP_ROUNDING : CVTM_LCP_CONVERGED);
    assert_int_equal(result.stop, g.result.stop);
    const double most = check_residual(&g, g.x, g.result.natural_residual);
    check_residual(&g, x, result.natural_residual);
    assert_true(g.result.natural_residual > 0 && result.natural_residual > 0);
    if (k % 2) assert_true(g.result.natural_residual <= most && result.natural_residual <= most);
    grid_case_free(&g);
  }
}

/* A residual that is NaN does not count as small. */
TEST_ON_DEVICE(undefined_residuals_are_not_small) {
  static const cvtm_lcp_method methods[] = {CVTM_LCP_PSOR, CVTM_LCP_TNNMG, CVTM_LCP_PDAS};
  int64_t start[] = {0, 2, 4};
  int32_t column[] = {0, 1, 0, 1};
  double value[] = {1e308, -1e308, -1e308, 1.5e308}, b[] = {1, 1}, lower[] = {1e5, 1e5};
  const cvtm_csr a = {2, 2, start, column, value};
  for (int k = 0; k < 3; ++k) {
    double x[] = {0, 0};
    const setting s = {methods[k], 1e-8, 0, 1, 0};
    const vectors v = {b, lower, NULL};
    const cvtm_lcp_result result = solve_on(device, &a, 0, 0, &s, v, x);
    assert_int_equal(result.stop, CVTM_LCP_DIVERGED);
    assert_true(isfinite(x[0]) && isfinite(x[1]));
  }
}

/* The stop rule that all iterations share. */
TEST(iterations_end_for_a_reason) {
  cvtm_iteration_state still = {.limit = 20, .window = 20};
  for (int k = 0; k <= 20; ++k, ++still.iteration) cvtm_iteration_check(&still, 1, 1, 1e-9);
  assert_int_equal(still.stop, CVTM_LCP_STALLED); /* also at the limit of iterations */

  cvtm_iteration_state climbing = {.limit = 200, .window = 40};
  for (int k = 0; k < 100; ++k, ++climbing.iteration)
    cvtm_iteration_check(&climbing, k == 0 ? 1 : 6 * pow(0.997, k), 1, 1e-9);
  assert_int_equal(climbing.go_on, 1); /* above its start, but falling */

  cvtm_iteration_state fine = {.limit = 200, .window = 20};
  for (int k = 0; k <= 40; ++k, ++fine.iteration)
    cvtm_iteration_check(&fine, k < 10 ? pow(0.01, k) : 1e-18 * pow(0.99, k), 1, 1e-16);
  assert_int_equal(fine.stop, CVTM_LCP_ROUNDING); /* chance still lowers it a little */

  cvtm_iteration_state lost = {.limit = 200, .window = 20, .may_grow = 1};
  for (int k = 0; k <= 20; ++k, ++lost.iteration)
    cvtm_iteration_check(&lost, k == 0 ? 1 : 1e3, 1, k == 0 ? 1e-9 : 1e5);
  assert_int_equal(lost.stop, CVTM_LCP_STALLED); /* rounding errors of far iterates prove nothing */
  assert_int_equal(lost.improved, 0);
}

static int stop_at_3(void *context, const cvtm_lcp_progress *progress) {
  int64_t *seen = context;
  assert_int_equal(progress->iteration, *seen);
  ++*seen;
  return progress->iteration >= 3;
}

TEST_ON_DEVICE(monitors_see_every_iteration_and_may_stop) {
  cvtm_model_problem p;
  assert_ok(cvtm_model_problem_create(CVTM_MODEL_TORSION, 20, 20, 1, &p, NULL));
  int64_t seen = 0;
  setting s = {CVTM_LCP_PSOR, 1e-12, 0, 0, 1000};
  cvtm_lcp_options options = options_of(&s);
  options.monitor = stop_at_3;
  options.monitor_context = &seen;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_result result;
  assert_device_ok(device, cvtm_lcp_create(device, &p.matrix, 0, 0, &options, &lcp));
  double *b = copied_in(device, p.b, 400, sizeof(double)),
         *lower = copied_in(device, p.lower, 400, sizeof(double));
  double *x = copied_in(device, p.b, 400, sizeof(double));
  assert_device_ok(device, cvtm_lcp_solve(lcp, b, lower, NULL, x, 0, &result));
  assert_int_equal(result.stop, CVTM_LCP_INTERRUPTED);
  assert_true(seen >= 4 && seen == result.iterations + 1 && seen < 40);
  cvtm_lcp_destroy(lcp);
  device_free_all(device, b, lower, x);
  cvtm_model_problem_free(&p);
}

static void expect_refusal(cvtm_device *device, cvtm_status status, const char *reason) {
  assert_int_equal(status, CVTM_ERROR_INPUT);
  if (strstr(cvtm_device_error(device)->message, reason) == NULL)
    fail_msg("'%s' does not say '%s'", cvtm_device_error(device)->message, reason);
}

TEST_ON_DEVICE(refusals) {
  int64_t start[] = {0, 2, 4};
  int32_t column[] = {0, 1, 0, 1};
  double value[] = {2, -1, -0.5, 2};
  const cvtm_csr a = {2, 2, start, column, value};
  setting s = {CVTM_LCP_TNNMG, 1e-8, 0, 1, 0};
  cvtm_lcp_options options = options_of(&s);
  cvtm_lcp *lcp = NULL;
  expect_refusal(device, cvtm_lcp_create(device, &a, 0, 0, &options, &lcp),
                 "tnnmg needs a symmetric matrix, but row 1 differs from column 1");
  options.method = CVTM_LCP_PSOR;
  expect_refusal(device, cvtm_lcp_create(device, &a, 3, 1, &options, &lcp),
                 "2 rows are not a grid of 3 x 1");
  options.omega = 2;
  expect_refusal(device, cvtm_lcp_create(device, &a, 0, 0, &options, &lcp), "omega is 2");
  options.omega = 1;
  options.tolerance = (double)NAN;
  expect_refusal(device, cvtm_lcp_create(device, &a, 0, 0, &options, &lcp), "a tolerance of");
  options.tolerance = 1e-8;
  value[3] = 0;
  expect_refusal(device, cvtm_lcp_create(device, &a, 0, 0, &options, &lcp),
                 "row 2: the diagonal entry is zero");
  value[3] = 2;
  assert_null(lcp);
  assert_device_ok(device, cvtm_lcp_create(device, &a, 0, 0, &options, &lcp));
  const double fine[] = {0, 0}, above[] = {0, 1}, odd[] = {0, (double)NAN};
  double *zero = copied_in(device, fine, 2, sizeof(double)),
         *one = copied_in(device, above, 2, sizeof(double));
  double *nan = copied_in(device, odd, 2, sizeof(double)),
         *x = copied_in(device, fine, 2, sizeof(double));
  cvtm_lcp_result result;
  expect_refusal(device, cvtm_lcp_solve(lcp, zero, one, zero, x, 0, &result),
                 "row 2: the lower bound is above the upper one");
  expect_refusal(device, cvtm_lcp_solve(lcp, nan, NULL, NULL, x, 0, &result),
                 "row 2: b or a bound is not a number");
  expect_refusal(device, cvtm_lcp_solve(lcp, zero, NULL, nan, x, 0, &result),
                 "row 2: b or a bound is not a number");
  assert_device_ok(device, cvtm_lcp_solve(lcp, zero, zero, zero, x, 0, &result));
  assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
  cvtm_lcp_destroy(lcp);
  device_free_all(device, zero, one, nan, x);
}

TEST_DEVICE_MAIN()
