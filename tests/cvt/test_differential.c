#include "testing.h"

#include "cvt/differential.h"

#include "cvt/cvt.h"
#include "splitmix64.h"

enum { WIDTH = 23, HEIGHT = 17, PIXELS = WIDTH * HEIGHT, SITES = 40 };

static const cvtm_domain domain = {WIDTH, HEIGHT, 0};

typedef struct problem {
  double sites[2 * SITES], density[PIXELS], phi[4 * SITES];
} problem;

static problem random_problem(void) {
  problem p;
  uint64_t state = 7;
  for (int i = 0; i < SITES; ++i) {
    p.sites[2 * i] = WIDTH * random_unit(&state);
    p.sites[2 * i + 1] = HEIGHT * random_unit(&state);
  }
  for (int k = 0; k < PIXELS; ++k) p.density[k] = (double)(float)(0.1 + random_unit(&state));
  for (int k = 0; k < 4 * SITES; ++k) p.phi[k] = random_unit(&state) - 0.5;
  return p;
}

typedef struct moments {
  double mass[SITES], first[2 * SITES], second[SITES];
} moments;

static moments moments_of(const double *sites, const double *density) {
  moments m;
  cvtm_differential *d = NULL;
  assert_ok(cvtm_differential_create(domain, sites, SITES, &d, NULL));
  cvtm_differential_moments(d, density, m.mass, m.first, m.second);
  cvtm_differential_destroy(d);
  return m;
}

/* L for phi that are the given functions of x: at other sites their coefficients differ. */
static double value_of(const problem *p, const double *sites, const double *density) {
  const moments m = moments_of(sites, density);
  double sum = 0;
  for (int i = 0; i < SITES; ++i) {
    const double *phi = p->phi + 4 * i;
    const double sx = sites[2 * i] - p->sites[2 * i], sy = sites[2 * i + 1] - p->sites[2 * i + 1];
    const double a = phi[0] + phi[1] * sx + phi[2] * sy + phi[3] * (sx * sx + sy * sy);
    const double bx = phi[1] + 2 * phi[3] * sx, by = phi[2] + 2 * phi[3] * sy;
    sum += a * m.mass[i] + bx * m.first[2 * i] + by * m.first[2 * i + 1] + phi[3] * m.second[i];
  }
  return sum;
}

TEST(moments_are_those_of_the_evaluation) {
  const problem p = random_problem();
  const moments m = moments_of(p.sites, p.density);
  float density[PIXELS];
  double mass[SITES], centroid[2 * SITES], second[SITES], energy;
  for (int k = 0; k < PIXELS; ++k) density[k] = (float)p.density[k];
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  assert_ok(cvtm_device_create("cpu", 0, &device, NULL));
  assert_ok(cvtm_cvt_create(device, domain, density, SITES, &cvt));
  const cvtm_cvt_moments wanted = {mass, centroid, second};
  assert_ok(
      cvtm_cvt_evaluate(cvt, p.sites, SITES, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &energy, &wanted));
  for (int i = 0; i < SITES; ++i) {
    assert_true(fabs(m.mass[i] - mass[i]) <= 1e-12 * mass[i]);
    assert_true(fabs(m.second[i] - second[i]) <= 1e-11 * second[i]);
    for (int k = 0; k < 2; ++k)
      assert_true(fabs(m.first[2 * i + k] / m.mass[i] + p.sites[2 * i + k] - centroid[2 * i + k]) <
                  1e-11);
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
}

/* L is linear in the density: a difference is exact up to rounding, and so is the derivative. */
TEST(derivative_by_density) {
  problem p = random_problem();
  double by_density[PIXELS];
  cvtm_differential *d = NULL;
  assert_ok(cvtm_differential_create(domain, p.sites, SITES, &d, NULL));
  cvtm_differential_pull_back(d, p.density, p.phi, by_density, NULL);
  cvtm_differential_destroy(d);
  double sum = 0;
  for (int k = 0; k < PIXELS; ++k) sum += by_density[k] * p.density[k];
  const double value = value_of(&p, p.sites, p.density);
  assert_true(fabs(sum - value) < 1e-10);
  for (int k = 0; k < PIXELS; k += 7) {
    problem other = p;
    other.density[k] += 1;
    assert_true(fabs(value_of(&other, p.sites, other.density) - value - by_density[k]) < 1e-10);
  }
}

/* Central differences with steps of 1e-5 err by 1e-9 where the derivative is smooth; it has kinks
 * where a corner of a cell crosses the border of a pixel, which costs up to 1e-5. */
TEST(derivative_by_sites) {
  const problem p = random_problem();
  double by_sites[2 * SITES];
  cvtm_differential *d = NULL;
  assert_ok(cvtm_differential_create(domain, p.sites, SITES, &d, NULL));
  cvtm_differential_pull_back(d, p.density, p.phi, NULL, by_sites);
  cvtm_differential_destroy(d);
  const double h = 1e-5;
  for (int k = 0; k < 2 * SITES; ++k) {
    double moved[2 * SITES], value[2];
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 2 * SITES; ++i) moved[i] = p.sites[i];
      moved[k] += side ? h : -h;
      value[side] = value_of(&p, moved, p.density);
    }
    assert_true(fabs((value[1] - value[0]) / (2 * h) - by_sites[k]) < 1e-4);
  }
}

TEST(coincident_and_outer_sites_have_empty_cells) {
  problem p = random_problem();
  p.sites[2] = p.sites[0];
  p.sites[3] = p.sites[1];
  p.sites[4] = -300;
  double by_density[PIXELS], by_sites[2 * SITES], total = 0;
  const moments m = moments_of(p.sites, p.density);
  for (int i = 0; i < SITES; ++i) total += m.mass[i];
  for (int k = 0; k < PIXELS; ++k) total -= p.density[k];
  assert_true(fabs(total) < 1e-10);
  assert_true(m.mass[0] > 0 && m.mass[1] == 0 && m.mass[2] == 0);
  cvtm_differential *d = NULL;
  assert_ok(cvtm_differential_create(domain, p.sites, SITES, &d, NULL));
  cvtm_differential_pull_back(d, p.density, p.phi, by_density, by_sites);
  assert_true(by_sites[2] == 0 && by_sites[3] == 0);
  for (int i = 0; i < 2 * SITES; ++i) assert_true(isfinite(by_sites[i]));
  cvtm_differential_destroy(d);
  const cvtm_domain torus = {WIDTH, HEIGHT, 1};
  assert_int_equal(cvtm_differential_create(torus, p.sites, SITES, &d, NULL),
                   CVTM_ERROR_UNSUPPORTED);
}

TEST_MAIN()
