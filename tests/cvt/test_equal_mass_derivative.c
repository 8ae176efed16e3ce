#include "testing.h"

#include "cvt/equal_mass/equal_mass_derivative.h"

#include "splitmix64.h"

enum { WIDTH = 11, HEIGHT = 9, PIXELS = WIDTH * HEIGHT, SITES = 12 };

static const cvtm_domain domain = {WIDTH, HEIGHT, 0};

/* Sites, density, and a linear function of weights and centroids. */
typedef struct problem {
  double sites[2 * SITES], density[PIXELS], by_weights[SITES], by_centroids[2 * SITES];
} problem;

static problem random_problem(void) {
  problem p;
  uint64_t state = 5;
  for (int i = 0; i < SITES; ++i) {
    p.sites[2 * i] = WIDTH * random_unit(&state);
    p.sites[2 * i + 1] = HEIGHT * random_unit(&state);
  }
  for (int k = 0; k < PIXELS; ++k) p.density[k] = 0.1 + random_unit(&state);
  for (int i = 0; i < SITES; ++i) p.by_weights[i] = random_unit(&state) - 0.5;
  for (int i = 0; i < 2 * SITES; ++i) p.by_centroids[i] = random_unit(&state) - 0.5;
  return p;
}

static cvtm_equal_mass_derivative *solve(const problem *p) {
  cvtm_equal_mass_derivative *e = NULL;
  assert_ok(cvtm_equal_mass_derivative_create(domain, p->density, p->sites, SITES, &e, NULL));
  return e;
}

static double value_of(const problem *p) {
  cvtm_equal_mass_derivative *e = solve(p);
  double sum = 0;
  for (int i = 0; i < SITES; ++i)
    sum += p->by_weights[i] * cvtm_equal_mass_derivative_weights(e)[i];
  for (int i = 0; i < 2 * SITES; ++i)
    sum += p->by_centroids[i] * cvtm_equal_mass_derivative_centroids(e)[i];
  cvtm_equal_mass_derivative_destroy(e);
  return sum;
}

/* The centroids of cells of equal mass have the mean of the density. */
TEST(centroids_have_the_mean_of_the_density) {
  const problem p = random_problem();
  cvtm_equal_mass_derivative *e = solve(&p);
  double mass = 0, wanted[2] = {0, 0}, found[2] = {0, 0}, weight = 0;
  for (int k = 0; k < PIXELS; ++k) {
    mass += p.density[k];
    wanted[0] += p.density[k] * (k % WIDTH + 0.5);
    wanted[1] += p.density[k] * (k / WIDTH + 0.5);
  }
  for (int i = 0; i < 2 * SITES; ++i) {
    found[i % 2] += cvtm_equal_mass_derivative_centroids(e)[i];
    weight += i < SITES ? cvtm_equal_mass_derivative_weights(e)[i] : 0;
  }
  for (int k = 0; k < 2; ++k) assert_true(fabs(found[k] / SITES - wanted[k] / mass) < 1e-12);
  assert_true(fabs(weight) < 1e-12);
  cvtm_equal_mass_derivative_destroy(e);
}

/* Central differences, which err by 1e-7 where no corner of a cell crosses the border of a pixel.
 */
TEST(derivatives_are_those_of_differences) {
  const problem p = random_problem();
  double by_sites[2 * SITES], by_density[PIXELS];
  cvtm_equal_mass_derivative *e = solve(&p);
  assert_ok(cvtm_equal_mass_derivative_pull_back(e, p.by_weights, p.by_centroids, by_sites,
                                                 by_density, NULL));
  cvtm_equal_mass_derivative_destroy(e);
  const double h = 1e-5;
  for (int k = 0; k < 2 * SITES + PIXELS; k += k < 2 * SITES ? 5 : 19) {
    const int of_sites = k < 2 * SITES;
    double value[2];
    for (int side = 0; side < 2; ++side) {
      problem other = p;
      *(of_sites ? other.sites + k : other.density + k - 2 * SITES) += side ? h : -h;
      value[side] = value_of(&other);
    }
    const double found = of_sites ? by_sites[k] : by_density[k - 2 * SITES];
    assert_true(fabs((value[1] - value[0]) / (2 * h) - found) < 1e-5 * (1 + fabs(found)));
  }
}

static cvtm_status create(const problem *p, const char *message) {
  cvtm_equal_mass_derivative *e = NULL;
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status =
      cvtm_equal_mass_derivative_create(domain, p->density, p->sites, SITES, &e, &error);
  cvtm_equal_mass_derivative_destroy(e);
  if (status != CVTM_OK) assert_non_null(strstr(error.message, message));
  return status;
}

TEST(what_has_no_derivative_is_refused) {
  problem p = random_problem();
  memcpy(p.sites + 2, p.sites, 2 * sizeof *p.sites);
  assert_int_equal(create(&p, "sites 0 and 1 coincide"), CVTM_ERROR_INPUT);
  p = random_problem();
  p.density[7] = -1;
  assert_refused(create(&p, "pixel"));
}

/* Two parts of the density that share no cell: the difference of their weights is free. */
TEST(undetermined_weights_are_refused) {
  problem p = random_problem();
  for (int k = 0; k < PIXELS; ++k) p.density[k] = k % WIDTH < 3 || k % WIDTH > 7;
  for (int i = 0; i < SITES; ++i) {
    p.sites[2 * i] = 0.3 + 0.2 * i + (i % 2 ? 7.7 : 0);
    p.sites[2 * i + 1] = 0.4 + 0.7 * i;
  }
  assert_int_equal(create(&p, "does not determine"), CVTM_ERROR_INPUT);
}

TEST_MAIN()
