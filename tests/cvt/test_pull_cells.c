/* Derivatives of integrals over polygons: Voronoi and power cells, a density in double precision.
 */
#include "testing.h"

#include "cvt/pull_cells.h"

#include "cvt/cell_host.h"
#include "cvt/cvt.h"
#include "cvt/equal_mass.h"
#include "cvt/equal_mass/power_cpu.h"
#include "splitmix64.h"

enum { WIDTH = 23, HEIGHT = 17, PIXELS = WIDTH * HEIGHT, SITES = 40 };

static const cvtm_domain domain = {WIDTH, HEIGHT, 0};

typedef struct problem {
  double sites[2 * SITES], weights[SITES], density[PIXELS], phi[4 * SITES];
} problem;

/* The cells of the problem, and the density as a sum. */
typedef struct diagram {
  cvtm_cells cells;
  float density[PIXELS], rest[PIXELS];
  cvtm_pull_cells view;
} diagram;

static problem random_problem(int weighted) {
  problem p;
  uint64_t state = 7;
  for (int i = 0; i < SITES; ++i) {
    p.sites[2 * i] = WIDTH * random_unit(&state);
    p.sites[2 * i + 1] = HEIGHT * random_unit(&state);
    p.weights[i] = weighted ? 3 * random_unit(&state) : 0;
  }
  for (int k = 0; k < PIXELS; ++k) p.density[k] = 0.1 + random_unit(&state);
  for (int k = 0; k < 4 * SITES; ++k) p.phi[k] = random_unit(&state) - 0.5;
  return p;
}

static void open_diagram(const problem *p, diagram *d) {
  for (int k = 0; k < PIXELS; ++k) {
    d->density[k] = (float)p->density[k];
    d->rest[k] = (float)(p->density[k] - (double)d->density[k]);
  }
  assert_ok(cvtm_power_diagram(domain, p->sites, p->weights, SITES, 0, &d->cells, NULL, NULL));
  d->view = (cvtm_pull_cells){domain, &d->cells, p->sites, d->density, d->rest};
}

static void get_moments(const diagram *d, cvtm_cell_moments moments[SITES]) {
  memset(moments, 0, SITES * sizeof *moments);
  assert_ok(cvtm_cells_add_moments(&d->cells, d->view.sites, domain, d->density, moments, NULL));
  assert_ok(cvtm_cells_add_moments(&d->cells, d->view.sites, domain, d->rest, moments, NULL));
}

/* L for the phi of `p` as functions of x: at the sites of `at` their coefficients differ. */
static double value_of(const problem *p, const problem *at) {
  diagram d;
  cvtm_cell_moments m[SITES];
  double sum = 0;
  open_diagram(at, &d);
  get_moments(&d, m);
  cvtm_cells_free(&d.cells);
  for (int i = 0; i < SITES; ++i) {
    const double *phi = p->phi + 4 * i;
    const double sx = at->sites[2 * i] - p->sites[2 * i];
    const double sy = at->sites[2 * i + 1] - p->sites[2 * i + 1];
    const double a = phi[0] + phi[1] * sx + phi[2] * sy + phi[3] * (sx * sx + sy * sy);
    const double bx = phi[1] + 2 * phi[3] * sx, by = phi[2] + 2 * phi[3] * sy;
    sum += a * m[i].mass + bx * m[i].x + by * m[i].y + phi[3] * m[i].second;
  }
  return sum;
}

TEST(moments_of_weight_0_are_those_of_the_evaluation) {
  problem p = random_problem(0);
  for (int k = 0; k < PIXELS; ++k) p.density[k] = (double)(float)p.density[k];
  diagram d;
  cvtm_cell_moments m[SITES];
  double mass[SITES], centroid[2 * SITES], second[SITES], energy;
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  open_diagram(&p, &d);
  get_moments(&d, m);
  assert_ok(cvtm_device_create("cpu", 0, &device, NULL));
  assert_ok(cvtm_cvt_create(device, domain, d.density, SITES, &cvt));
  const cvtm_cvt_moments wanted = {mass, centroid, second};
  assert_ok(
      cvtm_cvt_evaluate(cvt, p.sites, SITES, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &energy, &wanted));
  for (int i = 0; i < SITES; ++i) {
    assert_true(fabs(m[i].mass - mass[i]) <= 1e-12 * mass[i]);
    assert_true(fabs(m[i].second - second[i]) <= 1e-11 * second[i]);
    assert_true(fabs(m[i].x / m[i].mass + p.sites[2 * i] - centroid[2 * i]) < 1e-11);
    assert_true(fabs(m[i].y / m[i].mass + p.sites[2 * i + 1] - centroid[2 * i + 1]) < 1e-11);
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  cvtm_cells_free(&d.cells);
}

/* L is linear in the density: a difference is exact up to rounding, and so is the derivative. */
TEST(derivative_by_density) {
  for (int weighted = 0; weighted < 2; ++weighted) {
    const problem p = random_problem(weighted);
    double by_density[PIXELS], sum = 0;
    diagram d;
    open_diagram(&p, &d);
    assert_true(cvtm_pull_cells_to_density(&d.view, p.phi, 0, by_density));
    cvtm_cells_free(&d.cells);
    for (int k = 0; k < PIXELS; ++k) sum += by_density[k] * p.density[k];
    const double value = value_of(&p, &p);
    assert_true(fabs(sum - value) < 1e-11);
    for (int k = 0; k < PIXELS; k += 7) {
      problem other = p;
      other.density[k] += 1;
      assert_true(fabs(value_of(&p, &other) - value - by_density[k]) < 1e-11);
    }
  }
}

/* Central differences with steps of 1e-5 err by 1e-9 where the derivative is smooth; it has kinks
 * where a corner of a cell crosses the border of a pixel, which costs up to 1e-5. */
TEST(derivatives_by_sites_and_weights) {
  for (int weighted = 0; weighted < 2; ++weighted) {
    const problem p = random_problem(weighted);
    double by_sites[2 * SITES], by_weights[SITES];
    diagram d;
    open_diagram(&p, &d);
    cvtm_pull_cells_to_sites(&d.view, p.phi, by_sites, by_weights);
    cvtm_cells_free(&d.cells);
    const double h = 1e-5;
    for (int k = 0; k < 3 * SITES; ++k) {
      double value[2];
      for (int side = 0; side < 2; ++side) {
        problem moved = p;
        *(k < 2 * SITES ? moved.sites + k : moved.weights + k - 2 * SITES) += side ? h : -h;
        value[side] = value_of(&p, &moved);
      }
      const double found = k < 2 * SITES ? by_sites[k] : by_weights[k - 2 * SITES];
      assert_true(fabs((value[1] - value[0]) / (2 * h) - found) < 1e-5);
    }
  }
}

/* The sum of the couplings of a cell is the derivative of its mass by its weight, and a coupling is
 * the same from both sides. */
TEST(couplings_are_derivatives_of_masses) {
  const problem p = random_problem(1);
  diagram d;
  open_diagram(&p, &d);
  double *coupling = allocated(d.cells.start[SITES], sizeof *coupling);
  cvtm_pull_cells_couplings(&d.view, coupling);
  for (int i = 0; i < SITES; ++i) {
    double phi[4 * SITES] = {0}, by_weights[SITES], sum = 0;
    phi[4 * i] = 1; /* L is the mass of cell i */
    cvtm_pull_cells_to_sites(&d.view, phi, NULL, by_weights);
    for (int64_t k = d.cells.start[i]; k < d.cells.start[i + 1]; ++k) {
      const int32_t j = d.cells.neighbors[k];
      sum += coupling[k];
      assert_true(j >= 0 ? fabs(by_weights[j] + coupling[k]) < 1e-12 : coupling[k] == 0);
    }
    assert_true(fabs(by_weights[i] - sum) < 1e-12);
  }
  free(coupling);
  cvtm_cells_free(&d.cells);
}

TEST(coincident_and_outer_sites_have_empty_cells) {
  problem p = random_problem(0);
  p.sites[2] = p.sites[0];
  p.sites[3] = p.sites[1];
  p.sites[4] = -300;
  double by_density[PIXELS], by_sites[2 * SITES], total = 0;
  cvtm_device *device = NULL;
  cvtm_site_tree *tree = NULL;
  cvtm_cells cells = {0};
  float density[PIXELS];
  cvtm_cell_moments m[SITES];
  for (int k = 0; k < PIXELS; ++k) density[k] = (float)p.density[k];
  assert_ok(cvtm_device_create("cpu", 0, &device, NULL));
  assert_ok(cvtm_site_tree_create(device, domain, SITES, &tree));
  assert_ok(cvtm_site_tree_build(tree, p.sites, SITES));
  const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
  assert_ok(cvtm_power_cells(device, &view, domain, NULL, &cells));
  const cvtm_pull_cells c = {domain, &cells, p.sites, density, NULL};
  memset(m, 0, sizeof m);
  assert_ok(cvtm_cells_add_moments(&cells, p.sites, domain, density, m, NULL));
  for (int i = 0; i < SITES; ++i) total += m[i].mass;
  for (int k = 0; k < PIXELS; ++k) total -= (double)density[k];
  assert_true(fabs(total) < 1e-10);
  assert_true(m[0].mass > 0 && m[1].mass == 0 && m[2].mass == 0);
  assert_true(cvtm_pull_cells_to_density(&c, p.phi, 0, by_density));
  cvtm_pull_cells_to_sites(&c, p.phi, by_sites, NULL);
  for (int k = 2; k < 6; ++k) assert_true(by_sites[k] == 0);
  for (int i = 0; i < 2 * SITES; ++i) assert_true(isfinite(by_sites[i]));
  cvtm_cells_free(&cells);
  cvtm_site_tree_destroy(tree);
  cvtm_device_destroy(device);
}

TEST_MAIN()
