/* Grading and bias: the conditions of optimality, computed here from their definitions, with
 * masks; p = 1/2 against the linear system, p -> 0 against grading, p and 1 - p as mirror images,
 * and every method against every other. */
#include "density/condition.h"
#include "test_devices.h"

enum { WIDTH = 41, HEIGHT = 30, PIXELS = WIDTH * HEIGHT };

/* Edges and noise, 0 outside the mask. */
static void make_density(const uint8_t *mask, double *rho) {
  uint32_t seed = 7;
  for (int p = 0; p < PIXELS; ++p) {
    const double x = p % WIDTH - 17, y = (double)(p / WIDTH) - 12;
    seed = seed * 1664525U + 1013904223U;
    rho[p] = (hypot(x, y) < 8 ? 0.9 : 0.1) + 0.05 * (double)(seed >> 8) * 0x1p-24;
    if (mask != NULL && !mask[p]) rho[p] = 0;
  }
}

/* A ring, an island of one pixel, and parts that touch the border. */
static void make_mask(uint8_t *mask) {
  for (int p = 0; p < PIXELS; ++p) {
    const double r = hypot(p % WIDTH - 17, (double)(p / WIDTH) - 12);
    mask[p] = (r > 4 && r < 14) || p == 5 * WIDTH + 17 || p % WIDTH > 36;
  }
  mask[12 * WIDTH + 17] = 1;
}

/* lambda L v at a pixel of the domain. */
static double smoothness(const uint8_t *mask, double lambda, const double *v, int p) {
  static const int steps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  double sum = 0;
  for (int k = 0; k < 4; ++k) {
    const int i = p % WIDTH + steps[k][0], j = p / WIDTH + steps[k][1], q = j * WIDTH + i;
    if (i < 0 || j < 0 || i >= WIDTH || j >= HEIGHT || (mask != NULL && !mask[q])) continue;
    sum += lambda * (v[p] - v[q]);
  }
  return sum;
}

typedef struct field {
  cvtm_device *device;
  double *rho, *bound, *u;
} field;

static field open_field(const double *rho) {
  field f = {test_device_open(), NULL, NULL, NULL};
  double **const arrays[3] = {&f.rho, &f.bound, &f.u};
  for (int k = 0; k < 3; ++k) *arrays[k] = device_array(f.device, PIXELS, sizeof **arrays[k]);
  assert_copy_in(f.device, f.rho, rho, PIXELS * sizeof *rho);
  return f;
}

static void close_field(field *f) {
  device_free_all(f->device, f->rho, f->bound, f->u);
  cvtm_device_destroy(f->device);
}

static void grade(const field *f, const uint8_t *mask, double lambda, const double *upper,
                  double *u) {
  cvtm_grade *made = NULL;
  cvtm_lcp_result result;
  if (upper != NULL) assert_copy_in(f->device, f->bound, upper, PIXELS * sizeof *upper);
  assert_device_ok(f->device,
                   cvtm_grade_create(f->device, WIDTH, HEIGHT, mask, lambda, 1e-10, &made));
  assert_device_ok(f->device,
                   cvtm_grade_solve(made, f->rho, upper != NULL ? f->bound : NULL, f->u, &result));
  cvtm_grade_destroy(made);
  assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
  assert_copy_out(f->device, u, f->u, PIXELS * sizeof *u);
}

static void bias(const field *f, const uint8_t *mask, double p, double lambda, double *u) {
  const cvtm_bias_options options = {.p = p, .lambda = lambda, .tolerance = 1e-10};
  cvtm_bias *made = NULL;
  cvtm_hlcp_result result;
  assert_device_ok(f->device, cvtm_bias_create(f->device, WIDTH, HEIGHT, mask, &options, &made));
  assert_device_ok(f->device, cvtm_bias_solve(made, f->rho, f->u, &result));
  cvtm_bias_destroy(made);
  assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
  assert_copy_out(f->device, u, f->u, PIXELS * sizeof *u);
}

/* Solved to 1e-10 in the 2-norm; a tenth of the 1e-8 that is promised covers the rounding. */
TEST(grading_is_optimal) {
  static double rho[PIXELS], u[PIXELS], upper[PIXELS];
  uint8_t mask[PIXELS];
  make_mask(mask);
  for (int variant = 0; variant < 4; ++variant) {
    const uint8_t *domain = variant & 1 ? mask : NULL;
    const int boxed = variant & 2;
    make_density(domain, rho);
    for (int p = 0; p < PIXELS; ++p) upper[p] = fmax(0.3, rho[p]);
    field f = open_field(rho);
    const double lambdas[2] = {1, 16};
    for (int k = 0; k < 2; ++k) {
      grade(&f, domain, lambdas[k], boxed ? upper : NULL, u);
      double squares = 0;
      for (int p = 0; p < PIXELS; ++p) {
        if (domain != NULL && !domain[p]) {
          assert_true(u[p] == 0);
          continue;
        }
        assert_true(u[p] >= rho[p] && (!boxed || u[p] <= upper[p]));
        const double step = u[p] - (u[p] - rho[p] + smoothness(domain, lambdas[k], u, p));
        const double r = u[p] - fmin(fmax(step, rho[p]), boxed ? upper[p] : (double)INFINITY);
        squares += r * r;
      }
      assert_true(sqrt(squares) < 1e-9);
    }
    close_field(&f);
  }
}

/* The gradient of the energy, pixel by pixel. */
TEST(bias_is_optimal) {
  static double rho[PIXELS], u[PIXELS];
  uint8_t mask[PIXELS];
  make_mask(mask);
  for (int masked = 0; masked < 2; ++masked) {
    const uint8_t *domain = masked ? mask : NULL;
    make_density(domain, rho);
    field f = open_field(rho);
    const double ps[4] = {0.01, 0.1, 0.5, 0.9};
    for (int k = 0; k < 4; ++k) {
      const double p = ps[k], above = p > 0.5 ? p / (1 - p) : 1, below = p > 0.5 ? 1 : (1 - p) / p;
      bias(&f, domain, p, 16, u);
      double squares = 0;
      for (int q = 0; q < PIXELS; ++q) {
        if (masked && !mask[q]) {
          assert_true(u[q] == 0);
          continue;
        }
        const double d = u[q] - rho[q];
        const double r = (d > 0 ? above : below) * d + smoothness(domain, 16, u, q);
        squares += r * r;
      }
      assert_true(sqrt(squares) < 1e-9);
    }
    close_field(&f);
  }
}

/* (lambda L + I) u = rho by conjugate gradients. */
static void solve_linear(double lambda, const double *rho, double *u) {
  static double r[PIXELS], d[PIXELS], ad[PIXELS];
  double rr = 0;
  for (int p = 0; p < PIXELS; ++p) {
    u[p] = 0;
    r[p] = d[p] = rho[p];
    rr += r[p] * r[p];
  }
  for (int step = 0; step < 1000 && rr > 1e-28; ++step) {
    double dad = 0, next = 0;
    for (int p = 0; p < PIXELS; ++p) {
      ad[p] = d[p] + smoothness(NULL, lambda, d, p);
      dad += d[p] * ad[p];
    }
    for (int p = 0; p < PIXELS; ++p) {
      u[p] += rr / dad * d[p];
      r[p] -= rr / dad * ad[p];
      next += r[p] * r[p];
    }
    for (int p = 0; p < PIXELS; ++p) d[p] = r[p] + next / rr * d[p];
    rr = next;
  }
}

static double distance(const double *a, const double *b) {
  double largest = 0;
  for (int p = 0; p < PIXELS; ++p) largest = fmax(largest, fabs(a[p] - b[p]));
  return largest;
}

/* The smallest eigenvalue of every matrix is 1: errors are no larger than residuals. */
TEST(limits) {
  static double rho[PIXELS], u[PIXELS], v[PIXELS];
  make_density(NULL, rho);
  field f = open_field(rho);
  bias(&f, NULL, 0.5, 16, u);
  solve_linear(16, rho, v);
  assert_true(distance(u, v) < 1e-9);
  /* A pixel below rho pays (1 - p)/p for it: the limit is met to about p. */
  grade(&f, NULL, 16, NULL, v);
  bias(&f, NULL, 1e-6, 16, u);
  assert_true(distance(u, v) < 1e-4);
  bias(&f, NULL, 1e-3, 16, u);
  assert_true(distance(u, v) > 1e-4 && distance(u, v) < 2e-2);
  /* 1 - rho biased by 1 - p is 1 - (rho biased by p). */
  bias(&f, NULL, 0.2, 16, u);
  for (int p = 0; p < PIXELS; ++p) rho[p] = 1 - rho[p];
  assert_copy_in(f.device, f.rho, rho, sizeof rho);
  bias(&f, NULL, 0.8, 16, v);
  for (int p = 0; p < PIXELS; ++p) v[p] = 1 - v[p];
  assert_true(distance(u, v) < 1e-9);
  close_field(&f);
}

TEST_ON_DEVICE(refusals) {
  cvtm_grade *made = NULL;
  cvtm_bias *biased = NULL;
  assert_refused(cvtm_grade_create(device, 4, 4, NULL, -1, 1e-8, &made));
  assert_refused(cvtm_grade_create(device, 4, 4, NULL, (double)NAN, 1e-8, &made));
  cvtm_bias_options options = {.p = 0, .lambda = 1, .tolerance = 1e-8};
  assert_refused(cvtm_bias_create(device, 4, 4, NULL, &options, &biased));
  options.p = 0.5;
  options.lambda = (double)INFINITY;
  assert_refused(cvtm_bias_create(device, 4, 4, NULL, &options, &biased));
  assert_null(made);
  assert_null(biased);
}

TEST_DEVICE_MAIN()
