/* The MINPACK-2 problems: values at the start and minima against the collection's Fortran code
 * and the TAO examples of PETSc, gradients against central differences, both devices alike. */
#include "lbfgsb/problems/minpack2.h"
#include "test_devices.h"
#include "splitmix64.h"

static cvtm_device *device;

/* A problem on a device, and x, g on the host. */
typedef struct subject {
  cvtm_device *device;
  cvtm_minpack2 *problem;
  int64_t n;
  void *x, *f, *g; /* device memory */
  double *host_x, *host_g;
} subject;

static subject make(cvtm_device *on, cvtm_minpack2_kind kind,
                    const cvtm_minpack2_options *options) {
  subject s;
  memset(&s, 0, sizeof s);
  s.device = on;
  assert_device_ok(on, cvtm_minpack2_create(on, kind, options, &s.problem));
  s.n = cvtm_minpack2_variables(s.problem);
  assert_device_ok(on, cvtm_device_allocate(on, s.n, sizeof(double), &s.x));
  assert_device_ok(on, cvtm_device_allocate(on, s.n, sizeof(double), &s.g));
  assert_device_ok(on, cvtm_device_allocate(on, 2, sizeof(double), &s.f));
  s.host_x = doubles(s.n);
  s.host_g = doubles(s.n);
  assert_device_ok(on, cvtm_minpack2_start(s.problem, s.x));
  assert_device_ok(on, cvtm_device_copy_out(on, s.host_x, s.x, (size_t)s.n * sizeof(double)));
  return s;
}

static void discard(subject *s) {
  device_free_all(s->device, s->x, s->f, s->g);
  cvtm_minpack2_destroy(s->problem);
  free_all(s->host_x, s->host_g);
}

/* f at host_x; the gradient in host_g. */
static double evaluate(subject *s) {
  const size_t bytes = (size_t)s->n * sizeof(double);
  double f = NAN;
  assert_device_ok(s->device, cvtm_device_copy_in(s->device, s->x, s->host_x, bytes));
  assert_device_ok(s->device, cvtm_minpack2_evaluate(s->problem, s->x, s->f, s->g,
                                                     cvtm_device_stream(s->device)));
  assert_device_ok(s->device, cvtm_device_copy_out(s->device, &f, s->f, sizeof f));
  assert_device_ok(s->device, cvtm_device_copy_out(s->device, s->host_g, s->g, bytes));
  return f;
}

/* In (-1, 1), the same for the same k. */
static double noise(int64_t k) {
  uint64_t state = (uint64_t)k * SPLITMIX64_STEP;
  return 2 * random_unit(&state) - 1;
}

/* Away from the symmetries of the start. */
static void perturb(subject *s, double size) {
  for (int64_t k = 0; k < s->n; ++k) s->host_x[k] += size * noise(k);
}

static cvtm_minpack2_options sized(cvtm_minpack2_kind kind, int64_t nx, int64_t ny) {
  cvtm_minpack2_options options;
  cvtm_minpack2_defaults(kind, &options);
  options.nx = options.variables = options.atoms = nx;
  options.ny = ny;
  if (kind == CVTM_MINPACK2_LJ) options.dimension = (int)ny;
  return options;
}

/* nx: also unknowns or atoms; ny: also the dimension of lj. */
typedef struct start_row {
  cvtm_minpack2_kind kind;
  int64_t nx, ny;
  double parameter; /* 0: the default */
  double f;
} start_row;

/* As many digits as the reference values have. */
TEST(test_starts) {
  const start_row rows[] = {
      {CVTM_MINPACK2_EPT, 200, 200, 0, -0.3333250827},
      {CVTM_MINPACK2_PJB, 200, 200, 0, 28.70245761},
      {CVTM_MINPACK2_MSA, 100, 100, 0, 1.53243706},
      {CVTM_MINPACK2_MSA, 200, 200, 0, 1.540960436},
      {CVTM_MINPACK2_ODC, 100, 100, 0, 0.04823420296},
      {CVTM_MINPACK2_ODC, 200, 200, 0, 0.04828230452},
      {CVTM_MINPACK2_GL1, 100, 0, 0, -1.661857779e-4},
      {CVTM_MINPACK2_GL1, 1024, 0, 0, -1.661857779e-4},
      {CVTM_MINPACK2_SSC, 200, 200, 0, -0.2622723334},
      {CVTM_MINPACK2_SSC, 200, 200, 5.0, -4.267576},
      {CVTM_MINPACK2_GL2, 20, 20, 0, 20.21974942},
      {CVTM_MINPACK2_GL2, 40, 40, 0, 22.19099711},
      {CVTM_MINPACK2_GL2, 100, 100, 0, 25.53169307},
      {CVTM_MINPACK2_LJ, 13, 2, 0, -21.68726466},
      {CVTM_MINPACK2_LJ, 38, 2, 0, -78.79947483},
      {CVTM_MINPACK2_LJ, 400, 2, 0, -983.5368058},
      {CVTM_MINPACK2_LJ, 13, 3, 0, -27.64814108},
      {CVTM_MINPACK2_LJ, 38, 3, 0, -111.8327723},
      {CVTM_MINPACK2_LJ, 400, 3, 0, -1650.856982},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    cvtm_minpack2_options options = sized(rows[r].kind, rows[r].nx, rows[r].ny);
    if (rows[r].parameter != 0.0) options.parameter[0] = rows[r].parameter;
    subject s = make(device, rows[r].kind, &options);
    const double f = evaluate(&s), tolerance = rows[r].parameter != 0.0 ? 2e-7 : 6e-10;
    if (!(fabs(f - rows[r].f) <= tolerance * fabs(rows[r].f))) {
      fail_msg("%s %lld x %lld: f = %.12g, not %.12g", cvtm_minpack2_name(rows[r].kind),
               (long long)rows[r].nx, (long long)rows[r].ny, f, rows[r].f);
    }
    discard(&s);
  }
}

/* Sizes with every kind of edge: single rows and columns, odd and unequal sides. */
typedef struct shape {
  int64_t nx, ny;
} shape;

static const shape grids[] = {{1, 1}, {1, 5}, {6, 1}, {2, 2}, {7, 4}, {3, 9}, {33, 5}};
static const shape rings[] = {{4, 0}, {5, 0}, {11, 0}, {300, 0}};
static const shape clusters[] = {{1, 2}, {2, 2}, {2, 3}, {9, 2}, {30, 3}, {300, 2}};

static const shape *shapes_of(cvtm_minpack2_kind kind, int *count) {
  const int chain = kind == CVTM_MINPACK2_GL1, atoms = kind == CVTM_MINPACK2_LJ;
  *count = chain   ? (int)(sizeof rings / sizeof *rings)
           : atoms ? (int)(sizeof clusters / sizeof *clusters)
                   : (int)(sizeof grids / sizeof *grids);
  return chain ? rings : atoms ? clusters : grids;
}

/* Differences at h have an error of h^2 times third derivatives and of 1e-16 f / h: 1e-7 of the
 * largest component is far above both, and far below any mistake. */
static void check_gradient(cvtm_minpack2_kind kind, shape size) {
  const cvtm_minpack2_options options = sized(kind, size.nx, size.ny);
  subject s = make(device, kind, &options);
  perturb(&s, 0.1);
  const double f = evaluate(&s), h = 1e-5;
  double *g = doubles(s.n), largest = 0.0;
  memcpy(g, s.host_g, (size_t)s.n * sizeof *g);
  for (int64_t k = 0; k < s.n; ++k) largest = fmax(largest, fabs(g[k]));
  const int64_t step = s.n > 150 ? s.n / 50 : 1;
  for (int64_t k = 0; k < s.n; k += step) {
    const double x = s.host_x[k];
    s.host_x[k] = x + h;
    const double after = evaluate(&s);
    s.host_x[k] = x - h;
    const double before = evaluate(&s);
    s.host_x[k] = x;
    const double difference = (after - before) / (2.0 * h);
    if (!(fabs(g[k] - difference) <= 1e-7 * largest + 1e-9 * fabs(f) + 1e-12)) {
      fail_msg("%s %lld x %lld: g[%lld] = %.10g, difference %.10g", cvtm_minpack2_name(kind),
               (long long)size.nx, (long long)size.ny, (long long)k, g[k], difference);
    }
  }
  free(g);
  discard(&s);
}

TEST(test_gradients) {
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind) {
    int count;
    const shape *shapes = shapes_of((cvtm_minpack2_kind)kind, &count);
    for (int k = 0; k < count; ++k) check_gradient((cvtm_minpack2_kind)kind, shapes[k]);
  }
}

/* psi of the design problem has three branches; each must be met. */
TEST(test_design_branches) {
  const double sizes[] = {1e-3, 0.02, 0.5};
  for (int k = 0; k < 3; ++k) {
    const cvtm_minpack2_options options = sized(CVTM_MINPACK2_ODC, 5, 4);
    subject s = make(device, CVTM_MINPACK2_ODC, &options);
    for (int64_t i = 0; i < s.n; ++i) s.host_x[i] = sizes[k] * noise(i);
    (void)evaluate(&s);
    double *g = doubles(s.n);
    memcpy(g, s.host_g, (size_t)s.n * sizeof *g);
    for (int64_t i = 0; i < s.n; ++i) {
      const double x = s.host_x[i], h = 1e-3 * sizes[k];
      s.host_x[i] = x + h;
      const double after = evaluate(&s);
      s.host_x[i] = x - h;
      const double difference = (after - evaluate(&s)) / (2.0 * h);
      s.host_x[i] = x;
      /* psi'' jumps where h happens to cross from one branch into another. */
      if (!(fabs(g[i] - difference) <= 1e-3 * sizes[k])) {
        fail_msg("size %g: g[%lld] = %.10g, difference %.10g", sizes[k], (long long)i, g[i],
                 difference);
      }
    }
    free(g);
    discard(&s);
  }
}

/* The order of the sums differs between devices, not what is added: 1e-13 of the largest term
 * is some hundred roundings, and the sums have at most some thousand terms of either sign. */
TEST(test_devices_agree) {
  cvtm_device *cpu = test_cpu_open(2);
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind) {
    const shape more[] = {{150, 70}, {300, 3}};
    for (int k = 0; k < 2; ++k) {
      const shape size = kind == (int)CVTM_MINPACK2_LJ ? (shape){300, 2 + k} : more[k];
      const cvtm_minpack2_options options = sized((cvtm_minpack2_kind)kind, size.nx, size.ny);
      subject a = make(device, (cvtm_minpack2_kind)kind, &options);
      subject b = make(cpu, (cvtm_minpack2_kind)kind, &options);
      assert_memory_equal(a.host_x, b.host_x, (size_t)a.n * sizeof(double));
      perturb(&a, 0.05);
      perturb(&b, 0.05);
      const double f = evaluate(&a), same = evaluate(&b);
      double largest = 0.0;
      for (int64_t i = 0; i < a.n; ++i) largest = fmax(largest, fabs(b.host_g[i]));
      if (!(fabs(f - same) <= 1e-12 * fabs(same))) {
        fail_msg("%s: %.17g, on the CPU %.17g", cvtm_minpack2_name((cvtm_minpack2_kind)kind), f,
                 same);
      }
      for (int64_t i = 0; i < a.n; ++i) {
        if (fabs(a.host_g[i] - b.host_g[i]) <= 1e-13 * largest) continue;
        fail_msg("%s: g[%lld] = %.17g, on the CPU %.17g",
                 cvtm_minpack2_name((cvtm_minpack2_kind)kind), (long long)i, a.host_g[i],
                 b.host_g[i]);
      }
      discard(&a);
      discard(&b);
    }
  }
  cvtm_device_destroy(cpu);
}

/* Again, and with another number of threads: the same bits. */
TEST(test_same_bits) {
  cvtm_device *one = test_device_open_threads(1);
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind) {
    const int atoms = kind == (int)CVTM_MINPACK2_LJ;
    const cvtm_minpack2_options options =
        sized((cvtm_minpack2_kind)kind, atoms ? 200 : 130, atoms ? 3 : 120);
    subject a = make(device, (cvtm_minpack2_kind)kind, &options);
    subject b = make(one, (cvtm_minpack2_kind)kind, &options);
    perturb(&a, 0.05);
    perturb(&b, 0.05);
    const double f = evaluate(&b);
    for (int again = 0; again < 3; ++again) {
      const double value = evaluate(&a);
      assert_memory_equal(&value, &f, sizeof f);
      assert_memory_equal(a.host_g, b.host_g, (size_t)a.n * sizeof(double));
    }
    discard(&a);
    discard(&b);
  }
  cvtm_device_destroy(one);
}

typedef enum box { NATURAL, UNIT, NONE } box;

typedef struct minimum_row {
  cvtm_minpack2_kind kind;
  int64_t nx, ny;
  double parameter[2]; /* 0: the default */
  box bounds;
  double f, tolerance; /* relative: the digits that are known */
  int64_t active;      /* -1: not known */
  int slow;            /* on CUDA alone */
} minimum_row;

static const minimum_row minima[] = {
    {CVTM_MINPACK2_EPT, 50, 50, {0, 0}, NATURAL, -0.418087632020, 1e-10, -1, 0},
    {CVTM_MINPACK2_EPT, 50, 25, {0, 0}, NATURAL, -0.417511, 2e-6, -1, 0},
    {CVTM_MINPACK2_EPT, 50, 75, {0, 0}, NATURAL, -0.418199, 2e-6, -1, 0},
    {CVTM_MINPACK2_EPT, 50, 100, {0, 0}, NATURAL, -0.418239, 2e-6, -1, 0},
    {CVTM_MINPACK2_EPT, 100, 100, {0, 0}, NATURAL, -0.418391026664, 1e-10, -1, 0},
    {CVTM_MINPACK2_EPT, 200, 200, {0, 0}, NATURAL, -0.418468664331, 1e-10, 11888, 0},
    {CVTM_MINPACK2_EPT, 400, 400, {0, 0}, NATURAL, -0.418488303983, 1e-10, -1, 1},
    {CVTM_MINPACK2_EPT, 10, 10, {0, 0}, NONE, -0.427745, 2e-6, 0, 0},
    {CVTM_MINPACK2_EPT, 16, 16, {0, 0}, NONE, -0.434409, 2e-6, 0, 0},
    {CVTM_MINPACK2_PJB, 8, 12, {0, 0}, NATURAL, -0.183437, 5e-6, -1, 0},
    {CVTM_MINPACK2_PJB, 10, 16, {0.9, 0}, NATURAL, -15.607, 5e-6, -1, 0},
    {CVTM_MINPACK2_PJB, 50, 50, {0, 0}, NATURAL, -0.180488, 5e-6, -1, 0},
    {CVTM_MINPACK2_PJB, 200, 200, {0, 0}, NATURAL, -0.180597544848, 1e-10, 12918, 1},
    {CVTM_MINPACK2_MSA, 100, 100, {0, 0}, NATURAL, 1.4213276121, 1e-10, 0, 0},
    {CVTM_MINPACK2_MSA, 200, 200, {0, 0}, NATURAL, 1.42135322244, 1e-10, 0, 1},
    {CVTM_MINPACK2_ODC, 100, 100, {0, 0}, NATURAL, -0.0113772454342, 1e-8, 0, 0},
    {CVTM_MINPACK2_ODC, 200, 200, {0, 0}, NATURAL, -0.0113812990272, 1e-8, 0, 1},
    {CVTM_MINPACK2_GL1, 100, 0, {0, 0}, NATURAL, -8456.18825551, 1e-10, 0, 0},
    {CVTM_MINPACK2_GL1, 100, 0, {0, 0}, UNIT, -2.85087402488, 1e-10, -1, 0},
    {CVTM_MINPACK2_GL1, 1024, 0, {0, 0}, UNIT, -2.85087491236, 1e-10, -1, 1},
    {CVTM_MINPACK2_SSC, 200, 200, {0, 0}, NATURAL, -1.0184855874, 1e-9, 0, 0},
    {CVTM_MINPACK2_SSC, 200, 200, {5.0, 0}, NATURAL, -5.6114485119, 1e-9, 0, 1},
    {CVTM_MINPACK2_GL2, 20, 20, {0, 0}, NATURAL, 16.2274152557, 1e-8, 0, 0},
    {CVTM_MINPACK2_GL2, 20, 20, {0, 0}, UNIT, 114.557516, 1e-7, -1, 0},
};

static void set_bounds(subject *s, cvtm_lbfgsb *solver, box bounds) {
  void *lower = NULL, *upper = NULL;
  if (bounds == NONE) return;
  assert_device_ok(s->device, cvtm_device_allocate(s->device, s->n, sizeof(double), &lower));
  assert_device_ok(s->device, cvtm_device_allocate(s->device, s->n, sizeof(double), &upper));
  if (bounds == NATURAL) {
    assert_device_ok(s->device, cvtm_minpack2_bounds(s->problem, lower, upper));
  } else {
    double *ones = doubles(s->n);
    const size_t bytes = (size_t)s->n * sizeof *ones;
    for (int64_t k = 0; k < s->n; ++k) ones[k] = 1.0;
    assert_device_ok(s->device, cvtm_device_copy_in(s->device, upper, ones, bytes));
    for (int64_t k = 0; k < s->n; ++k) ones[k] = -1.0;
    assert_device_ok(s->device, cvtm_device_copy_in(s->device, lower, ones, bytes));
    free(ones);
  }
  assert_device_ok(s->device, cvtm_lbfgsb_set_bounds(solver, lower, upper));
  device_free_all(s->device, lower, upper);
}

/* Runs until the decrease of f is rounding. */
TEST(test_minima) {
  const int quick = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  for (size_t r = 0; r < sizeof minima / sizeof *minima; ++r) {
    const minimum_row *row = &minima[r];
    if (row->slow && !quick) continue;
    cvtm_minpack2_options options = sized(row->kind, row->nx, row->ny);
    for (int k = 0; k < 2; ++k) {
      if (row->parameter[k] != 0.0) options.parameter[k] = row->parameter[k];
    }
    subject s = make(device, row->kind, &options);
    DEFAULT_OPTIONS(cvtm_lbfgsb, how);
    how.max_iterations = 20000;
    cvtm_lbfgsb *solver = NULL;
    cvtm_lbfgsb_result result;
    assert_device_ok(device, cvtm_lbfgsb_create(device, s.n, &how, &solver));
    set_bounds(&s, solver, row->bounds);
    assert_device_ok(device,
                     cvtm_lbfgsb_minimize(solver, s.x, cvtm_minpack2_evaluate, s.problem, &result));
    cvtm_lbfgsb_destroy(solver);
    if (!(fabs(result.f - row->f) <= row->tolerance * fabs(row->f))) {
      fail_msg("%s %lld x %lld: f = %.15g, not %.15g (%s after %lld iterations)",
               cvtm_minpack2_name(row->kind), (long long)row->nx, (long long)row->ny, result.f,
               row->f, cvtm_stop_name(result.stop), (long long)result.iterations);
    }
    if (row->active >= 0) assert_int_equal(result.active, row->active);
    discard(&s);
  }
}

static void refused(cvtm_minpack2_kind kind, const cvtm_minpack2_options *options,
                    const char *says) {
  cvtm_minpack2 *problem = NULL;
  assert_int_equal(cvtm_minpack2_create(device, kind, options, &problem), CVTM_ERROR_ARGUMENT);
  assert_null(problem);
  assert_non_null(strstr(cvtm_device_error(device)->message, says));
}

TEST(test_refused) {
  const int64_t huge = INT64_C(1) << 40;
  const int64_t sides[][2] = {{0, 5}, {5, 0}, {-1, 5}, {huge, huge}, {INT64_MAX, 1}};
  for (int k = 0; k < 5; ++k) {
    cvtm_minpack2_options options = sized(CVTM_MINPACK2_EPT, sides[k][0], sides[k][1]);
    refused(CVTM_MINPACK2_EPT, &options, "ept: a grid cannot have");
    refused(CVTM_MINPACK2_GL2, &options, "gl2: a grid cannot have");
  }
  cvtm_minpack2_options options = sized(CVTM_MINPACK2_GL1, 3, 0);
  refused(CVTM_MINPACK2_GL1, &options, "3 variables");
  options = sized(CVTM_MINPACK2_LJ, 10, 4);
  refused(CVTM_MINPACK2_LJ, &options, "dimension 4");
  options = sized(CVTM_MINPACK2_LJ, 0, 2);
  refused(CVTM_MINPACK2_LJ, &options, "0 atoms");
  const struct {
    cvtm_minpack2_kind kind;
    int index;
    double value;
  } wrong[] = {
      {CVTM_MINPACK2_EPT, 0, NAN},  {CVTM_MINPACK2_EPT, 0, INFINITY}, {CVTM_MINPACK2_PJB, 0, 1.0},
      {CVTM_MINPACK2_PJB, 1, 0.0},  {CVTM_MINPACK2_ODC, 0, 0.0},      {CVTM_MINPACK2_GL1, 0, 7.32},
      {CVTM_MINPACK2_SSC, 0, -1.0}, {CVTM_MINPACK2_GL2, 0, 1.5},      {CVTM_MINPACK2_GL2, 1, -5.0}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
    options = sized(wrong[k].kind, 5, 5);
    options.parameter[wrong[k].index] = wrong[k].value;
    refused(wrong[k].kind, &options, cvtm_minpack2_parameter_name(wrong[k].kind, wrong[k].index));
  }
}

TEST(test_names) {
  for (int kind = 0; kind < (int)CVTM_MINPACK2_COUNT; ++kind) {
    assert_int_equal(cvtm_minpack2_find(cvtm_minpack2_name((cvtm_minpack2_kind)kind)), kind);
  }
  assert_int_equal(cvtm_minpack2_find("gl3"), CVTM_MINPACK2_COUNT);
  assert_null(cvtm_minpack2_parameter_name(CVTM_MINPACK2_MSA, 0));
  assert_string_equal(cvtm_minpack2_parameter_name(CVTM_MINPACK2_PJB, 1), "b");
}

TEST_DEVICE_MAIN_AS(device, 0)
