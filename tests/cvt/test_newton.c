/* Newton's method for the exact energy: its Hessian beside differences of gradients, and what it
 * ends at. */
#include <math.h>
#include <string.h>

#include "base/table_select.h"
#include "cvt/newton.h"
#include "tests/splitmix64.h"
#include "tests/test_devices.h"

enum { W = 61, H = 47, MOST = 200 };

static uint64_t state = 5;
static double uniform(void) { return random_unit(&state); }

/* Densities differ by a factor of 10 from pixel to pixel. */
static void fill_density(float *rho) {
  for (int p = 0; p < W * H; ++p) rho[p] = (float)(0.1 + 0.9 * uniform());
}

static void gradient_at(cvtm_cvt *cvt, const double *sites, int64_t n, double *gradient) {
  static double mass[MOST], centroid[2 * MOST];
  const cvtm_cvt_moments moments = {mass, centroid, NULL};
  double energy;
  assert_device_ok(cvt->device, cvtm_cvt_evaluate(cvt, sites, n, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT,
                                                  &energy, &moments));
  for (int64_t k = 0; k < 2 * n; ++k) gradient[k] = 2 * mass[k / 2] * (sites[k] - centroid[k]);
}

/* The Hessian of the plan's cells times v, for sites (host). */
static void multiply(cvtm_cvt *cvt, const double *sites, int64_t n, const double *v,
                     double *product) {
  cvtm_device *device = cvt->device;
  const cvtm_cvt_task task = {cvt, n, 0, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT};
  cvtm_newton newton = {.cvt = cvt, .count = n, .hessian = {.count = n}};
  const cvtm_hessian *h = &newton.hessian;
  static int32_t first[MOST], degree[MOST], neighbor[8 * MOST + 64];
  static double block[4 * (8 * MOST + 64)], diagonal[3 * MOST];
  assert_device_ok(device, cvtm_newton_create(&newton));
  assert_device_ok(device, cvtm_cvt_put_sites(cvt, sites, n));
  assert_device_ok(device, cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL));
  assert_device_ok(device, cvtm_site_tree_build(cvt->tree, cvt->sites, n));
  assert_device_ok(device, cvtm_device_fill(device, h->used, 0, 2 * sizeof *h->used));
  assert_device_ok(device, CVTM_TABLE(device, cvtm_newton)->assemble(&newton));
  int32_t used[2];
  assert_device_ok(device, cvtm_device_copy_out(device, used, h->used, sizeof used));
  assert_true(used[0] <= h->capacity && used[1] == 0);
  const size_t rows = (size_t)n, blocks = (size_t)used[0];
  assert_device_ok(device, cvtm_device_copy_out(device, first, h->first, rows * sizeof *first));
  assert_device_ok(device, cvtm_device_copy_out(device, degree, h->degree, rows * sizeof *degree));
  assert_device_ok(device,
                   cvtm_device_copy_out(device, neighbor, h->neighbor, blocks * sizeof *neighbor));
  assert_device_ok(device, cvtm_device_copy_out(device, block, h->block, 4 * blocks * 8));
  assert_device_ok(device, cvtm_device_copy_out(device, diagonal, h->diagonal, 3 * rows * 8));
  for (int64_t i = 0; i < n; ++i) {
    const double *d = diagonal + 3 * i, x = v[2 * i], y = v[2 * i + 1];
    product[2 * i] = d[0] * x + d[1] * y;
    product[2 * i + 1] = d[1] * x + d[2] * y;
    for (int32_t e = first[i]; e < first[i] + degree[i]; ++e) {
      const double *b = block + 4 * (int64_t)e, *w = v + 2 * (int64_t)neighbor[e];
      product[2 * i] += b[0] * w[0] + b[1] * w[1];
      product[2 * i + 1] += b[2] * w[0] + b[3] * w[1];
    }
  }
  cvtm_newton_destroy(&newton);
}

/* Scattered sites; the last third inside a small square, so that there are cells of many sides. */
static void scatter(double *sites, int64_t n) {
  for (int64_t k = 0; k < 2 * n; ++k) {
    const double size = k % 2 ? H : W;
    sites[k] = k < 4 * n / 3 ? size * uniform() : 0.4 * size + 0.1 * size * uniform();
  }
}

/* A step of 1e-6 makes differences of gradients right to about 1e-8 of the largest entry: the third
 * derivatives are of the order of density over spacing. */
TEST(hessian_is_the_derivative_of_the_gradient) {
  static float rho[W * H];
  static double sites[2 * MOST], moved[2 * MOST], v[2 * MOST], found[2 * MOST];
  static double ahead[2 * MOST], behind[2 * MOST];
  const int64_t counts[] = {1, 2, 30, MOST};
  const double step = 1e-6;
  for (int k = 0; k < 8; ++k) {
    const cvtm_domain domain = {W, H, k >= 4};
    const int64_t n = counts[k % 4];
    cvtm_device *device = test_device_open();
    cvtm_cvt *cvt = NULL;
    double largest = 0, worst = 0;
    fill_density(rho);
    scatter(sites, n);
    assert_device_ok(device, cvtm_cvt_create(device, domain, rho, n, &cvt));
    for (int64_t j = 0; j < 2 * n; ++j) v[j] = 2 * uniform() - 1;
    for (int64_t j = 0; j < 2 * n; ++j) moved[j] = sites[j] + step * v[j];
    gradient_at(cvt, moved, n, ahead);
    for (int64_t j = 0; j < 2 * n; ++j) moved[j] = sites[j] - step * v[j];
    gradient_at(cvt, moved, n, behind);
    multiply(cvt, sites, n, v, found);
    for (int64_t j = 0; j < 2 * n; ++j) {
      const double wanted = (ahead[j] - behind[j]) / (2 * step);
      largest = fmax(largest, fabs(wanted));
      worst = fmax(worst, fabs(found[j] - wanted));
    }
    assert_true(worst <= 1e-5 * largest);
    cvtm_cvt_destroy(cvt);
    cvtm_device_destroy(device);
  }
}

typedef struct outcome {
  double sites[2 * MOST];
  cvtm_cvt_result result;
} outcome;

static void solve(int threads, int periodic, const float *rho, cvtm_cvt_method method,
                  int64_t fixed, int64_t n, outcome *o) {
  cvtm_device *device = test_device_open_threads(threads);
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.method = method;
  options.fixed = fixed;
  assert_device_ok(device, cvtm_cvt_create(device, (cvtm_domain){W, H, periodic}, rho, n, &cvt));
  assert_device_ok(device, cvtm_cvt_solve(cvt, &options, fixed, o->sites, n, &o->result));
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
}

/* At the end every site is at its centroid; the energy is not above that of L-BFGS-B, at whose end
 * the method starts. */
TEST(sites_end_at_their_centroids) {
  static float rho[W * H];
  static outcome before, after;
  for (int k = 0; k < 4; ++k) {
    const int64_t n = k == 3 ? 2 : MOST, fixed = k == 2 ? 40 : 0;
    fill_density(rho);
    for (int p = 0; p < W * H; ++p)
      if (k == 2 && p % W < W / 3) rho[p] = 0;
    for (int64_t j = 0; j < fixed; ++j) {
      before.sites[2 * j] = after.sites[2 * j] = (double)j + 0.5;
      before.sites[2 * j + 1] = after.sites[2 * j + 1] = 20 + 3 * sin((double)j);
    }
    solve(0, k == 1, rho, CVTM_CVT_LBFGSB, fixed, n, &before);
    solve(0, k == 1, rho, CVTM_CVT_NEWTON, fixed, n, &after);
    assert_int_equal(before.result.newton_iterations, 0);
    assert_int_equal(after.result.stop, CVTM_STOP_GRADIENT);
    assert_true(after.result.gradient_norm <= 1e-8);
    assert_true(after.result.objective <= before.result.objective * (1 + 1e-12));
    assert_memory_equal(before.sites, after.sites, 2 * (size_t)fixed * sizeof(double));
    assert_true(after.result.newton_iterations > 0 || n == 2);
    assert_true(after.result.hessian_products >= after.result.newton_iterations);
  }
}

TEST(threads_do_not_change_the_result) {
  static float rho[W * H];
  static outcome one, three;
  fill_density(rho);
  solve(1, 0, rho, CVTM_CVT_NEWTON, 0, MOST, &one);
  solve(3, 0, rho, CVTM_CVT_NEWTON, 0, MOST, &three);
  assert_memory_equal(one.sites, three.sites, sizeof one.sites);
  assert_int_equal(one.result.hessian_products, three.result.hessian_products);
}

TEST(other_energies_are_refused) {
  static float rho[W * H];
  cvtm_device *device = test_device_open();
  cvtm_cvt *cvt = NULL;
  double sites[2] = {3, 3};
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  fill_density(rho);
  options.method = CVTM_CVT_NEWTON;
  options.energy = CVTM_CVT_PIXEL;
  assert_device_ok(device, cvtm_cvt_create(device, (cvtm_domain){W, H, 0}, rho, 1, &cvt));
  assert_int_equal(cvtm_cvt_optimize(cvt, &options, sites, 1, NULL), CVTM_ERROR_ARGUMENT);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
}

TEST_MAIN()
