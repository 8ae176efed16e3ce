/* The weights of equal masses: the linear systems against their own residuals, and the estimate of
 * cost and gradient against differences of costs at balanced masses. */
#include "cvt/equal_mass/balance.h"
#include "cvt/equal_mass.h"
#include "tests/test_devices.h"
#include "tests/splitmix64.h"

enum { SIDE = 96 };

static uint64_t state;

/* Uniform in 0 .. 1, by a linear congruence (Knuth's MMIX). */
static double uniform(void) { return congruential_unit(&state); }

/* From 1 to `steep`, in waves; without density in a corner. */
static void paint(float *rho, double steep) {
  for (int y = 0; y < SIDE; ++y)
    for (int x = 0; x < SIDE; ++x)
      rho[y * SIDE + x] =
          x + y < SIDE / 3 ? 0 : (float)pow(steep, 0.5 + 0.5 * sin(0.17 * x) * cos(0.11 * y));
}

/* A device, a plan, and the power diagram of sites on it. */
typedef struct fixture {
  cvtm_device *device;
  cvtm_cvt *cvt;
  cvtm_power *power;
  double *sites; /* host */
  int64_t count;
} fixture;

static fixture open_fixture(double steep, int64_t count) {
  static float rho[SIDE * SIDE];
  const cvtm_domain d = {SIDE, SIDE, 0};
  fixture f = {.device = test_device_open_threads(0), .count = count};
  f.sites = allocated(2 * count, sizeof *f.sites);
  for (int64_t k = 0; k < 2 * count; ++k) f.sites[k] = SIDE * uniform();
  paint(rho, steep);
  assert_device_ok(f.device, cvtm_cvt_create(f.device, d, rho, count, &f.cvt));
  assert_device_ok(f.device, cvtm_power_create(f.cvt, count, &f.power));
  return f;
}

static void close_fixture(fixture *f) {
  cvtm_power_destroy(f->power);
  cvtm_cvt_destroy(f->cvt);
  cvtm_device_destroy(f->device);
  free(f->sites);
}

static void put_sites(const fixture *f, const double *sites) {
  assert_copy_in(f->device, f->cvt->sites, sites, 2 * (size_t)f->count * sizeof *sites);
}

/* The largest component of matrix * step - (deficit - its mean), relative to the largest of the
 * deficit. */
static double residual(const fixture *f) {
  const cvtm_power *p = f->power;
  const int64_t n = f->count;
  int32_t *first = copied_out(f->device, p->first, n, 4),
          *degree = copied_out(f->device, p->degree, n, 4);
  int32_t *neighbor = copied_out(f->device, p->neighbor, p->edge_capacity, 4);
  double *coupling = copied_out(f->device, p->coupling, p->edge_capacity, 8);
  double *step = copied_out(f->device, p->step, n, 8),
         *deficit = copied_out(f->device, p->deficit, n, 8);
  double mean = 0, most = 0, scale = 0;
  for (int64_t i = 0; i < n; ++i) mean += deficit[i] / (double)n;
  for (int64_t i = 0; i < n; ++i) {
    double sum = mean - deficit[i];
    for (int32_t e = first[i]; e < first[i] + degree[i]; ++e)
      sum += coupling[e] * (step[i] - step[neighbor[e]]);
    most = fmax(most, fabs(sum));
    scale = fmax(scale, fabs(deficit[i]));
  }
  free_all(first, degree, neighbor, coupling, step, deficit);
  return most / scale;
}

/* Iterations of conjugate gradients to 1e-10 for sites in disorder, on an even and on a steep
 * density. With the diagonal alone as preconditioner 5,000 sites take more than 500. */
TEST(test_systems) {
  static const int64_t counts[] = {1, 2, 3, 9, 300, 5000};
  state = 7;
  for (int k = 0; k < 12; ++k) {
    fixture f = open_fixture(k % 2 ? 1e4 : 1, counts[k / 2]);
    int32_t iterations = -1;
    put_sites(&f, f.sites);
    assert_device_ok(f.device, cvtm_site_tree_build(f.cvt->tree, f.cvt->sites, f.count));
    assert_device_ok(f.device, cvtm_power_enqueue(f.power, f.power->weight));
    for (int round = 0; round < 2; ++round) { /* the second time with the hierarchy of the first */
      assert_device_ok(f.device, cvtm_power_solve(f.power, 1e-10, 2000, &iterations));
      assert_in_range(iterations, 0, 100);
      assert_true(f.count == 1 || residual(&f) <= 1e-7);
    }
    close_fixture(&f);
  }
}

/* The largest difference of two arrays of the device. */
static double difference(const fixture *f, const double *a, const double *b) {
  double *x = copied_out(f->device, a, f->count, 8), *y = copied_out(f->device, b, f->count, 8),
         most = 0;
  for (int64_t i = 0; i < f->count; ++i) most = fmax(most, fabs(x[i] - y[i]));
  free_all(x, y);
  return most;
}

/* The diagram of a power that has none before it. */
static cvtm_power *fresh_diagram(const fixture *f, const double *weight) {
  cvtm_power *p = NULL;
  assert_device_ok(f->device, cvtm_power_create(f->cvt, f->count, &p));
  assert_device_ok(f->device, cvtm_power_enqueue(p, weight));
  return p;
}

/* A diagram that follows another is that of the sites and weights alone, however far they have
 * moved: not at all, by parts of a cell, anywhere; all sites, or one in a hundred. */
TEST(test_following_diagrams) {
  enum { COUNT = 700, ROUNDS = 48 };
  static const double moves[] = {0, 0.01, 0.3, 2, 30, 0.05}, weights[] = {0, 0.5, 30};
  double weight[COUNT] = {0};
  state = 11;
  fixture f = open_fixture(100, COUNT);
  for (int round = 0; round < ROUNDS; ++round) {
    const double move = moves[round % 6], change = weights[round / 6 % 3];
    const int all = round / 18 % 2 == 0;
    for (int64_t i = 0; i < COUNT; ++i) {
      if (!all && uniform() > 0.01) continue;
      for (int64_t k = 2 * i; k < 2 * i + 2; ++k)
        f.sites[k] = fmin(fmax(f.sites[k] + move * (uniform() - 0.5), 0), SIDE);
      weight[i] = change * uniform();
    }
    put_sites(&f, f.sites);
    assert_device_ok(f.device, cvtm_site_tree_build(f.cvt->tree, f.cvt->sites, COUNT));
    assert_copy_in(f.device, f.power->weight, weight, sizeof weight);
    assert_device_ok(f.device, cvtm_power_enqueue(f.power, f.power->weight));
    cvtm_power *fresh = fresh_diagram(&f, f.power->weight);
    const double scale = f.power->target;
    assert_true(difference(&f, f.power->deficit, fresh->deficit) < 1e-10 * scale);
    assert_true(difference(&f, f.power->diagonal, fresh->diagonal) < 1e-6 * scale);
    assert_true(difference(&f, f.power->empty, fresh->empty) == 0);
    cvtm_power_destroy(fresh);
  }
  close_fixture(&f);
}

/* The transport cost at exact masses. */
static double balanced_cost(fixture *f, const double *sites) {
  cvtm_power_figures figures;
  cvtm_power_effort effort = {0};
  int converged = 0;
  put_sites(f, sites);
  assert_device_ok(
      f->device, cvtm_power_balance(f->power, f->cvt->sites, 1e-11, &figures, &converged, &effort));
  assert_true(converged);
  return figures.energy;
}

/* After a move of the sites the estimate leaves masses unequal, by a few per cent. Its cost is that
 * of exact masses up to the cube of that; its gradient is compared with central differences, whose
 * own error is below 1e-5, in the norm over some components. Without the correction the gradient is
 * off by more than ten times as much. */
TEST(test_estimate) {
  enum { N = 400, CHECKED = 24 };
  state = 19;
  fixture f = open_fixture(20, N);
  cvtm_power_figures figures;
  cvtm_power_effort effort = {0};
  double moved[2 * N], square = 0, error = 0, raw_error = 0;
  int known = 0;
  for (int k = 0; k < N; ++k) { /* a lattice in disorder */
    f.sites[2 * k] = (k % 20 + 0.25 + 0.5 * uniform()) * SIDE / 20;
    f.sites[2 * k + 1] = (k / 20 + 0.25 + 0.5 * uniform()) * SIDE / 20;
  }
  (void)balanced_cost(&f, f.sites);
  for (int k = 0; k < 2 * N; ++k) moved[k] = f.sites[k] + 0.05 * (uniform() - 0.5);
  put_sites(&f, moved);
  assert_device_ok(f.device, cvtm_power_estimate(f.power, f.cvt->sites, &figures, &known, &effort));
  assert_true(known && figures.deviation > 1e-5 * f.power->target);
  assert_int_equal(effort.evaluations, 1);
  void *memory = device_array(f.device, 2 * N, sizeof(double));
  assert_device_ok(f.device, f.cvt->table->finish(f.cvt, N, 0, f.cvt->value, memory));
  double *raw = copied_out(f.device, memory, 2 * N, sizeof *raw);
  assert_device_ok(f.device, f.power->table->correct(f.power, 0, memory));
  double *gradient = copied_out(f.device, memory, 2 * N, sizeof *gradient);
  const double cost = balanced_cost(&f, moved);
  assert_true(fabs(figures.dual - cost) <= 1e-6 * cost);
  for (int c = 0; c < CHECKED; ++c) {
    const int k = (int)(2 * N * uniform());
    const double kept = moved[k], h = 1e-3;
    moved[k] = kept + h;
    const double above = balanced_cost(&f, moved);
    moved[k] = kept - h;
    const double below = balanced_cost(&f, moved);
    moved[k] = kept;
    const double slope = (above - below) / (2 * h);
    square += slope * slope;
    error += (slope - gradient[k]) * (slope - gradient[k]);
    raw_error += (slope - raw[k]) * (slope - raw[k]);
  }
  assert_true(error <= 1e-8 * square && raw_error >= 100 * error);
  free_all(gradient, raw);
  cvtm_device_free(f.device, memory);
  close_fixture(&f);
}

TEST_MAIN()
