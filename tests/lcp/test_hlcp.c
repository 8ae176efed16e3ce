/* The multisplitting methods against a literal reference of equations (8) to (13) and against
 * published counts; Newton against known solutions. */
#include "test_devices.h"

#include "base/portable.h"
#include "lcp/problems/complementarity.h"
#include "lcp/hlcp.h"
#include "splitmix64.h"

typedef struct outcome {
  cvtm_hlcp_result result;
  double *x, *z, *w; /* host memory */
} outcome;

static void outcome_free(outcome *o) { free_all(o->x, o->z, o->w); }

static double *to_host(cvtm_device *device, double *from, int64_t n) {
  double *to = malloc((size_t)n * sizeof *to);
  assert_non_null(to);
  assert_device_ok(device, cvtm_device_copy_out(device, to, from, (size_t)n * sizeof *to));
  cvtm_device_free(device, from);
  return to;
}

static outcome solve(cvtm_device *device, const cvtm_hlcp_problem *p,
                     const cvtm_hlcp_options *options) {
  const int64_t n = p->a.rows;
  cvtm_hlcp *hlcp = NULL;
  double *v[4];
  outcome o;
  for (int k = 0; k < 4; ++k)
    assert_device_ok(device, cvtm_device_allocate(device, n, CVTM_TYPED(v[k])));
  assert_device_ok(device, cvtm_device_copy_in(device, v[0], p->q, (size_t)n * sizeof(double)));
  assert_device_ok(device, cvtm_hlcp_create(device, &p->a, &p->b, options, &hlcp));
  assert_device_ok(device, cvtm_hlcp_solve(hlcp, v[0], v[1], 0, v[2], v[3], &o.result));
  cvtm_hlcp_destroy(hlcp);
  cvtm_device_free(device, v[0]);
  o.x = to_host(device, v[1], n);
  o.z = to_host(device, v[2], n);
  o.w = to_host(device, v[3], n);
  for (int64_t i = 0; i < n; ++i) {
    assert_true(o.z[i] >= 0 && o.w[i] >= 0);
    assert_true(o.z[i] == 0 || o.w[i] == 0);
  }
  assert_true(o.result.max_complementarity == 0);
  return o;
}

static cvtm_hlcp_problem example(int number, int64_t size) {
  cvtm_hlcp_problem p;
  assert_ok(cvtm_hlcp_example(number, size, &p, NULL));
  return p;
}

static cvtm_hlcp_options options_of(int number, cvtm_hlcp_method method, int64_t splits) {
  DEFAULT_OPTIONS(cvtm_hlcp, o);
  o.method = method;
  o.splits = splits;
  o.scaling = CVTM_HLCP_OMEGA_NUMBER;
  o.omega = cvtm_hlcp_example_omega(number);
  return o;
}

/* --- the literal reference ------------------------------------------------------------ */

static double at(const cvtm_csr *m, int64_t i, int64_t j) {
  for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; ++k)
    if (m->column[k] == j) return m->value[k];
  return 0;
}

typedef struct reference {
  int64_t n, splits;
  double *a, *b, *omega, *e; /* dense; e: splits x n */
  double alpha, beta, gamma;
  int block, a_only;
  const double *q;
  double *x;
} reference;

/* Is entry ij in L_k? */
static int in_lower(const reference *r, int64_t k, int64_t i, int64_t j) {
  if (j >= i || r->e[k * r->n + i] == 0) return 0;
  return !r->block || r->e[k * r->n + j] != 0;
}

/* Row i of (13) or of Remark 3: solves for x_i given the earlier ones of this system. */
static double reference_row(const reference *r, int64_t k, int64_t i, const double *solved) {
  double right = r->alpha * r->gamma * r->q[i], diagonal = 0;
  for (int64_t j = 0; j < r->n; ++j) {
    const double a = r->a[i * r->n + j], b = r->b[i * r->n + j] * r->omega[j];
    right += r->alpha * (b - a) * fabs(r->x[j]);
    const double split = r->a_only ? a : a + b; /* what is split; B alone is on the left else */
    if (i == j) {
      diagonal = a + (r->a_only ? r->alpha * b : b);
      right += (1 - r->alpha) * split * r->x[j];
    } else if (in_lower(r, k, i, j)) {
      right -= (r->alpha - r->beta) * split * r->x[j];
      right -= r->beta * split * solved[j];
    } else {
      right -= r->alpha * split * r->x[j];
    }
  }
  return right / diagonal;
}

static void reference_sweep(reference *r) {
  double *next = calloc((size_t)r->n, sizeof *next), *solved = malloc((size_t)r->n * sizeof *next);
  assert_true(next != NULL && solved != NULL);
  for (int64_t k = 0; k < r->splits; ++k) {
    for (int64_t i = 0; i < r->n; ++i) {
      solved[i] = reference_row(r, k, i, solved);
      next[i] += r->e[k * r->n + i] * solved[i];
    }
  }
  memcpy(r->x, next, (size_t)r->n * sizeof *next);
  free_all(next, solved);
}

static double reference_residual(const reference *r) {
  double squares = 0;
  for (int64_t i = 0; i < r->n; ++i) {
    double sum = -r->q[i];
    for (int64_t j = 0; j < r->n; ++j) {
      const double x = r->x[j];
      sum += r->a[i * r->n + j] * (fabs(x) + x) / r->gamma;
      sum -= r->b[i * r->n + j] * r->omega[j] * (fabs(x) - x) / r->gamma;
    }
    squares += sum * sum;
  }
  return sqrt(squares);
}

/* Even blocks. */
static void fill_weights(reference *r) {
  int64_t row = 0;
  for (int64_t k = 0; k < r->splits; ++k) {
    const int64_t size = r->n / r->splits + (k < r->n % r->splits);
    for (int64_t t = 0; t < size; ++t) r->e[k * r->n + row++] = 1;
  }
}

static reference reference_create(const cvtm_hlcp_problem *p, const cvtm_hlcp_options *o) {
  const int64_t n = p->a.rows;
  reference r = {.n = n, .splits = o->splits};
  r.alpha = o->method == CVTM_HLCP_MMJ || o->method == CVTM_HLCP_MMGS ? 1 : o->alpha;
  r.beta = o->method == CVTM_HLCP_MMJ ? 0 : o->method == CVTM_HLCP_MMGS ? 1 : o->beta;
  r.gamma = o->gamma;
  r.block = o->rule == CVTM_HLCP_BLOCK;
  r.a_only = o->split == CVTM_HLCP_SPLIT_A_ONLY;
  r.q = p->q;
  r.a = malloc((size_t)(n * n) * sizeof *r.a);
  r.b = malloc((size_t)(n * n) * sizeof *r.b);
  r.omega = malloc((size_t)n * sizeof *r.omega);
  r.x = malloc((size_t)n * sizeof *r.x);
  r.e = calloc((size_t)(r.splits * n), sizeof *r.e);
  assert_true(r.a && r.b && r.omega && r.x && r.e);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      r.a[i * n + j] = at(&p->a, i, j);
      r.b[i * n + j] = at(&p->b, i, j);
    }
    r.omega[i] = o->scaling == CVTM_HLCP_OMEGA_VECTOR ? o->omega_vector[i]
                 : o->scaling == CVTM_HLCP_OMEGA_RATIO
                     ? o->omega * at(&p->a, i, i) / at(&p->b, i, i)
                     : o->omega;
    r.x[i] = o->start;
  }
  fill_weights(&r);
  return r;
}

static void reference_free(reference *r) { free_all(r->a, r->b, r->omega, r->e, r->x); }

/* The same number of sweeps, and the same iterate but for rounding. */
static void compare(cvtm_device *device, const cvtm_hlcp_problem *p, const cvtm_hlcp_options *o) {
  reference r = reference_create(p, o);
  int64_t sweeps = 0;
  while (reference_residual(&r) >= o->tolerance && sweeps < o->max_iterations) {
    reference_sweep(&r);
    ++sweeps;
  }
  outcome got = solve(device, p, o);
  assert_int_equal(got.result.iterations, sweeps);
  const double expected = reference_residual(&r);
  /* Residuals of 1e-6 come from numbers near 1 whose last digits differ. */
  assert_true(fabs(got.result.residual - expected) <= 1e-6 * expected + 1e-13);
  for (int64_t i = 0; i < r.n; ++i) assert_true(fabs(got.x[i] - r.x[i]) <= 1e-12);
  outcome_free(&got);
  reference_free(&r);
}

TEST_ON_DEVICE(family_follows_the_equations) {
  const int64_t splits[] = {1, 3, 7, 50, 81};
  for (int number = 1; number <= 3; ++number) {
    cvtm_hlcp_problem p = example(number, 9);
    for (size_t k = 0; k < sizeof splits / sizeof *splits; ++k) {
      for (int rule = 0; rule < 2; ++rule) {
        cvtm_hlcp_options o = options_of(number, CVTM_HLCP_MMAOR, splits[k]);
        o.rule = (cvtm_hlcp_rule)rule;
        o.alpha = 1.05;
        o.beta = 0.9;
        compare(device, &p, &o);
        o.method = CVTM_HLCP_MMGS;
        o.gamma = 0.7;
        compare(device, &p, &o);
      }
    }
    cvtm_hlcp_options o = options_of(number, CVTM_HLCP_MMJ, 4);
    compare(device, &p, &o);
    o = options_of(number, CVTM_HLCP_MMSOR, 20);
    o.scaling = CVTM_HLCP_OMEGA_RATIO;
    compare(device, &p, &o);
    cvtm_hlcp_problem_free(&p);
  }
}

static void put_identity(cvtm_csr *m, int64_t n, double value) {
  assert_ok(cvtm_csr_create(n, n, n, m, NULL));
  for (int64_t i = 0; i < n; ++i) {
    m->row_start[i + 1] = i + 1;
    m->column[i] = (int32_t)i;
    m->value[i] = value;
  }
}

/* B = I, split as in Remark 3 and unsplit as in Remark 1, with an Omega of its own. */
TEST_ON_DEVICE(lcp_in_both_forms) {
  cvtm_hlcp_problem p = example(2, 7);
  cvtm_csr_free(&p.b);
  put_identity(&p.b, 49, 1);
  double omega[49];
  for (int i = 0; i < 49; ++i) {
    omega[i] = 4 + 0.01 * i;
    p.q[i] = i % 3 == 0 ? -1 : 0.5;
  }
  cvtm_hlcp_options o = options_of(2, CVTM_HLCP_MMAOR, 5);
  o.scaling = CVTM_HLCP_OMEGA_VECTOR;
  o.omega_vector = omega;
  o.alpha = 1.2;
  o.beta = 1.1;
  compare(device, &p, &o);
  o.split = CVTM_HLCP_SPLIT_A_ONLY;
  compare(device, &p, &o);
  cvtm_hlcp_problem_free(&p);
}

/* --- known figures -------------------------------------------------------------------- */

/* Mezzadri 2020, Table 2; the residuals were computed independently. On CUDA, a thread for each
 * splitting makes the same sweeps. */
TEST_ON_DEVICE(published_counts) {
  static const struct {
    cvtm_hlcp_method method;
    int64_t splits, sweeps;
  } rows[] = {{CVTM_HLCP_MMJ, 8, 54},    {CVTM_HLCP_MMGS, 1, 27},  {CVTM_HLCP_MMGS, 64, 28},
              {CVTM_HLCP_MMGS, 256, 31}, {CVTM_HLCP_MMSOR, 4, 24}, {CVTM_HLCP_MMSOR, 128, 27},
              {CVTM_HLCP_MMSOR, 256, 29}};
  cvtm_hlcp_problem p = example(3, 256);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
    cvtm_hlcp_options o = options_of(3, rows[k].method, rows[k].splits);
    const int64_t most = rows[k].splits >= 64 ? 32 : 0;
    for (o.block_threads = 0; o.block_threads <= most; o.block_threads += 8) {
      outcome got = solve(device, &p, &o);
      assert_int_equal(got.result.stop, CVTM_LCP_CONVERGED);
      assert_int_equal(got.result.iterations, rows[k].sweeps);
      outcome_free(&got);
    }
  }
  cvtm_hlcp_problem_free(&p);
}

static void append_entry(cvtm_csr *csr, int64_t row, int64_t column, double value) {
  csr->column[csr->row_start[row + 1]] = (int32_t)column;
  csr->value[csr->row_start[row + 1]++] = value;
}

/* Mass-conserving cavitation (Jakobsson, Floberg, Olsson) in a journal bearing of eccentricity 0.5
 * with `size` nodes around it: z is the pressure, w the void fraction, and the gap is open to a
 * pressure of 0.1 at both ends. */
static cvtm_hlcp_problem bearing(int64_t size) {
  const int64_t n = size - 1; /* p(0) and p(2 pi) are given */
  const double step = 2 * CVTM_PI / (double)size;
  cvtm_hlcp_problem p = {.q = calloc((size_t)n, sizeof(double))};
  assert_non_null(p.q);
  assert_ok(cvtm_csr_create(n, n, 3 * n - 2, &p.a, NULL));
  assert_ok(cvtm_csr_create(n, n, 2 * n - 1, &p.b, NULL));
  for (int64_t i = 0; i < n; ++i) {
    const double left = 1 + 0.5 * cos(((double)i + 0.5) * step);
    const double right = 1 + 0.5 * cos(((double)i + 1.5) * step);
    const double left_cubed = left * left * left / step, right_cubed = right * right * right / step;
    p.a.row_start[i + 1] = p.a.row_start[i];
    p.b.row_start[i + 1] = p.b.row_start[i];
    if (i > 0) append_entry(&p.a, i, i - 1, -left_cubed);
    append_entry(&p.a, i, i, left_cubed + right_cubed);
    if (i + 1 < n) append_entry(&p.a, i, i + 1, -right_cubed);
    if (i > 0) append_entry(&p.b, i, i - 1, -left);
    append_entry(&p.b, i, i, right);
    p.q[i] = left - right;
    if (i == 0) p.q[i] += 0.1 * left_cubed;
    if (i + 1 == n) p.q[i] += 0.1 * right_cubed;
  }
  return p;
}

TEST_ON_DEVICE(newton_on_the_bearing) {
  cvtm_hlcp_problem p = bearing(1024);
  DEFAULT_OPTIONS(cvtm_hlcp, o);
  o.method = CVTM_HLCP_NEWTON;
  outcome got = solve(device, &p, &o);
  assert_int_equal(got.result.stop, CVTM_LCP_CONVERGED);
  assert_in_range(got.result.iterations, 4, 7);
  int64_t cavitated = 0;
  double largest = 0;
  for (int64_t i = 0; i < p.a.rows; ++i) {
    cavitated += got.w[i] > 0;
    largest = fmax(largest, got.z[i]);
  }
  assert_int_equal(cavitated, 333);
  assert_true(fabs(largest - 0.823256328328082) < 1e-11);
  outcome_free(&got);
  cvtm_hlcp_problem_free(&p);
}

/* Outside the theory the sweeps are slow: from x = 0 to 1e-8. */
TEST_ON_DEVICE(sweeps_on_the_bearing) {
  static const int64_t counts[][2] = {{32, 132}, {64, 722}, {128, 3074}};
  for (int k = 0; k < 3; ++k) {
    cvtm_hlcp_problem p = bearing(counts[k][0]);
    DEFAULT_OPTIONS(cvtm_hlcp, o);
    o.method = CVTM_HLCP_MMGS;
    o.splits = 1;
    o.start = 0;
    o.tolerance = 1e-8;
    outcome got = solve(device, &p, &o);
    assert_int_equal(got.result.iterations, counts[k][1]);
    outcome_free(&got);
    cvtm_hlcp_problem_free(&p);
  }
}

/* Bands too wide for the direct solver. At h = 256 the residual of BiCGSTAB comes to be at right
 * angles to its shadow. Errors are of the size of the residual. */
TEST_ON_DEVICE(newton_with_krylov) {
  static const int64_t sizes[] = {40, 256};
  for (int k = 0; k < 2; ++k) {
    cvtm_hlcp_problem p = example(3, sizes[k]);
    cvtm_hlcp_options o = options_of(3, CVTM_HLCP_NEWTON, 0);
    o.tolerance = 1e-9;
    outcome got = solve(device, &p, &o);
    assert_int_equal(got.result.stop, CVTM_LCP_CONVERGED);
    assert_true(got.result.linear_iterations > 0 && got.result.linear_iterations < 600);
    for (int64_t i = 0; i < p.a.rows; ++i) {
      assert_true(fabs(got.z[i] - (double)(i % 2)) < 2e-9);
      assert_true(fabs(got.w[i] - (double)(1 - i % 2)) < 2e-9);
    }
    outcome_free(&got);
    cvtm_hlcp_problem_free(&p);
  }
}

/* --- random pairs --------------------------------------------------------------------- */

enum { RANDOM_ROWS = 150 };

/* A strictly dominant, B inside A's pattern with the same signs and, with Omega = D_A / D_B, not
 * larger: Theorem 2 holds. z and w are planted. */
static cvtm_hlcp_problem random_pair(uint64_t seed, double *z, double *w) {
  const int64_t n = RANDOM_ROWS;
  cvtm_hlcp_problem p = {.q = calloc((size_t)n, sizeof(double))};
  assert_non_null(p.q);
  assert_ok(cvtm_csr_create(n, n, n * n, &p.a, NULL));
  assert_ok(cvtm_csr_create(n, n, n * n, &p.b, NULL));
  for (int64_t i = 0; i < n; ++i) {
    const double value = congruential_unit(&seed);
    z[i] = i % 2 == 0 ? value : 0;
    w[i] = i % 2 == 0 ? 0 : value;
  }
  int64_t entries = 0;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    int64_t diagonal = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (i != j && congruential_unit(&seed) > 0.04) continue;
      const double a = i == j ? 0 : 2 * congruential_unit(&seed) - 1;
      if (i == j) diagonal = entries;
      sum += fabs(a);
      p.a.column[entries] = p.b.column[entries] = (int32_t)j;
      p.a.value[entries] = a;
      p.b.value[entries++] = a * congruential_unit(&seed); /* D_A = D_B below, so Omega = I */
    }
    p.a.value[diagonal] = 1.2 * sum + 0.1;
    p.b.value[diagonal] = p.a.value[diagonal];
    p.a.row_start[i + 1] = p.b.row_start[i + 1] = entries;
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = p.a.row_start[i]; k < p.a.row_start[i + 1]; ++k)
      p.q[i] += p.a.value[k] * z[p.a.column[k]] - p.b.value[k] * w[p.b.column[k]];
  }
  return p;
}

TEST_ON_DEVICE(random_pairs_converge) {
  double z[RANDOM_ROWS], w[RANDOM_ROWS];
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    cvtm_hlcp_problem p = random_pair(seed, z, w);
    DEFAULT_OPTIONS(cvtm_hlcp, o);
    o.tolerance = 1e-10;
    const cvtm_hlcp_method methods[] = {CVTM_HLCP_MMJ, CVTM_HLCP_MMGS, CVTM_HLCP_NEWTON};
    for (int k = 0; k < 3; ++k) {
      o.method = methods[k];
      o.splits = k == 0 ? 0 : 13;
      outcome got = solve(device, &p, &o);
      assert_int_equal(got.result.stop, CVTM_LCP_CONVERGED);
      for (int i = 0; i < RANDOM_ROWS; ++i) {
        assert_true(fabs(got.z[i] - z[i]) < 1e-8);
        assert_true(fabs(got.w[i] - w[i]) < 1e-8);
      }
      outcome_free(&got);
    }
    cvtm_hlcp_problem_free(&p);
  }
}

/* --- refusals, monitors --------------------------------------------------------- */

static void refuse(cvtm_device *device, const cvtm_hlcp_problem *p, const cvtm_hlcp_options *o,
                   cvtm_status expected, const char *text) {
  cvtm_hlcp *hlcp = NULL;
  assert_int_equal(cvtm_hlcp_create(device, &p->a, &p->b, o, &hlcp), expected);
  assert_null(hlcp);
  if (strstr(cvtm_device_error(device)->message, text) == NULL)
    fail_msg("'%s' lacks '%s'", cvtm_device_error(device)->message, text);
}

TEST_ON_DEVICE(bad_input_is_refused) {
  cvtm_hlcp_problem p = example(3, 4);
  const cvtm_hlcp_options good = options_of(3, CVTM_HLCP_MMGS, 2);
  cvtm_hlcp_options o = good;
  o.splits = 17;
  refuse(device, &p, &o, CVTM_ERROR_ARGUMENT, "splits");
  o.splits = -1;
  refuse(device, &p, &o, CVTM_ERROR_ARGUMENT, "splits");
  o = good;
  o.gamma = 0;
  refuse(device, &p, &o, CVTM_ERROR_ARGUMENT, "gamma");
  o = good;
  o.omega = -1;
  refuse(device, &p, &o, CVTM_ERROR_ARGUMENT, "omega");
  double omega[16];
  for (int i = 0; i < 16; ++i) omega[i] = i == 5 ? 0 : 1;
  o.scaling = CVTM_HLCP_OMEGA_VECTOR;
  o.omega_vector = omega;
  refuse(device, &p, &o, CVTM_ERROR_INPUT, "Omega: row 6");
  o = good;
  o.split = CVTM_HLCP_SPLIT_A_ONLY;
  refuse(device, &p, &o, CVTM_ERROR_ARGUMENT, "B: row 1");
  const int64_t first = p.b.row_start[2];
  const double kept = p.b.value[first];
  p.b.value[first] = (double)NAN;
  refuse(device, &p, &good, CVTM_ERROR_INPUT, "B: row 3");
  p.b.value[first] = kept;
  p.a.rows = 15;
  refuse(device, &p, &good, CVTM_ERROR_INPUT, "A");
  p.a.rows = 16;
  for (int64_t k = p.a.row_start[4]; k < p.a.row_start[5]; ++k)
    if (p.a.column[k] == 4) p.a.value[k] = 0;
  refuse(device, &p, &good, CVTM_ERROR_INPUT, "A: row 5");
  cvtm_hlcp_problem_free(&p);

  cvtm_hlcp_problem whole = example(3, 4);
  whole.q[7] = (double)INFINITY;
  double *q = NULL, *z = NULL, *w = NULL;
  cvtm_hlcp *hlcp = NULL;
  cvtm_hlcp_result result;
  assert_device_ok(device, cvtm_device_allocate(device, 16, CVTM_TYPED(q)));
  assert_device_ok(device, cvtm_device_allocate(device, 16, CVTM_TYPED(z)));
  assert_device_ok(device, cvtm_device_allocate(device, 16, CVTM_TYPED(w)));
  assert_device_ok(device, cvtm_device_copy_in(device, q, whole.q, 16 * sizeof *q));
  assert_device_ok(device, cvtm_hlcp_create(device, &whole.a, &whole.b, &good, &hlcp));
  assert_int_equal(cvtm_hlcp_solve(hlcp, q, NULL, 0, z, w, &result), CVTM_ERROR_INPUT);
  assert_non_null(strstr(cvtm_device_error(device)->message, "q: row 8"));
  cvtm_hlcp_destroy(hlcp);
  device_free_all(device, q, z, w);
  cvtm_hlcp_problem_free(&whole);
}

typedef struct listener {
  int64_t next, stop_at;
  double last;
} listener;

static int listen(void *context, const cvtm_hlcp_progress *progress) {
  listener *l = context;
  assert_int_equal(progress->iteration, l->next++);
  l->last = progress->residual;
  return progress->iteration >= l->stop_at;
}

TEST_ON_DEVICE(the_monitor_hears_everything) {
  cvtm_hlcp_problem p = example(3, 40);
  cvtm_hlcp_options o = options_of(3, CVTM_HLCP_MMJ, 10);
  listener l = {0, INT64_MAX, 0};
  o.monitor = listen;
  o.monitor_context = &l;
  outcome got = solve(device, &p, &o);
  assert_int_equal(l.next, got.result.iterations + 1);
  assert_true(l.last == got.result.residual);
  outcome_free(&got);
  /* The tolerance is never met; the monitor may be called some sweeps late. */
  o.tolerance = 0;
  l.next = 0;
  l.stop_at = 3;
  got = solve(device, &p, &o);
  assert_int_equal(got.result.stop, CVTM_LCP_INTERRUPTED);
  assert_in_range(got.result.iterations, 3, 200);
  outcome_free(&got);
  l.next = 0;
  l.stop_at = INT64_MAX;
  o.max_iterations = 100;
  got = solve(device, &p, &o);
  assert_int_equal(got.result.stop, CVTM_LCP_ITERATIONS);
  assert_int_equal(got.result.iterations, 100);
  assert_int_equal(l.next, 101);
  outcome_free(&got);
  cvtm_hlcp_problem_free(&p);
}

TEST(reruns_are_bit_identical) {
  cvtm_hlcp_problem p = example(2, 60);
  outcome got[2];
  for (int k = 0; k < 2; ++k) {
    cvtm_device *device = test_device_open_threads(k + 1);
    const cvtm_hlcp_options o = options_of(2, CVTM_HLCP_MMSOR, 0);
    got[k] = solve(device, &p, &o);
    cvtm_device_destroy(device);
  }
  assert_int_equal(got[0].result.splits, got[1].result.splits);
  assert_memory_equal(got[0].x, got[1].x, 3600 * sizeof(double));
  assert_true(got[0].result.residual == got[1].result.residual);
  CALL_EACH(outcome_free, outcome, &got[0], &got[1]);
  cvtm_hlcp_problem_free(&p);
}

TEST_ON_DEVICE(a_solution_is_a_start) {
  cvtm_hlcp_problem p = example(1, 12);
  cvtm_hlcp_options o = options_of(1, CVTM_HLCP_MMGS, 9);
  outcome first = solve(device, &p, &o);
  double *v[4];
  cvtm_hlcp *hlcp = NULL;
  cvtm_hlcp_result result;
  for (int k = 0; k < 4; ++k)
    assert_device_ok(device, cvtm_device_allocate(device, 144, CVTM_TYPED(v[k])));
  assert_device_ok(device, cvtm_device_copy_in(device, v[0], p.q, 144 * sizeof(double)));
  assert_device_ok(device, cvtm_device_copy_in(device, v[1], first.x, 144 * sizeof(double)));
  assert_device_ok(device, cvtm_hlcp_create(device, &p.a, &p.b, &o, &hlcp));
  assert_device_ok(device, cvtm_hlcp_solve(hlcp, v[0], v[1], 1, v[2], v[3], &result));
  assert_int_equal(result.iterations, 0);
  assert_true(result.residual == first.result.residual);
  cvtm_hlcp_destroy(hlcp);
  for (int k = 0; k < 4; ++k) cvtm_device_free(device, v[k]);
  outcome_free(&first);
  cvtm_hlcp_problem_free(&p);
}

TEST_DEVICE_MAIN()
