/* Mass, centroid and energy of exact cells against cells cut and integrated in another way. And
 * the sums over pixel centres against every centre compared with every site. */
#include "cvt/evaluate_kernels.h"
#include "tests/cvt/reference_cells.h"
#include "tests/test_devices.h"

/* The moments of a cell and its centroid beside the reference's sums. */
static void check_cell(cvtm_domain d, const real sums[6], const double *site, int i, double mass,
                       double second, const double *centroid) {
  /* Beside 1e-10 of the value: the rounding of corners, where the density jumps. */
  const real rounding = 1e-14L * sums[4] * sums[5];
  if (!(fabsl(mass - sums[0]) <= 1e-10L * sums[0] + rounding))
    fail_msg("site %d: mass %.17g, expected %.17Lg", i, mass, sums[0]);
  if (!(fabsl(second - sums[3]) <= 1e-10L * sums[3] + rounding * sums[4]))
    fail_msg("site %d: second moment %.17g, expected %.17Lg", i, second, sums[3]);
  if (sums[0] > 1e3L * rounding) {
    const real reach = sqrtl(sums[3] / sums[0]);
    const real ex = centroid[0] - (site[0] + sums[1] / sums[0]);
    const real ey = centroid[1] - (site[1] + sums[2] / sums[0]);
    /* 1e-10 of the cell's own size, and the rounding of the coordinate itself. */
    const real allowed =
        1e-10L * reach + rounding / sums[0] * sqrtl(sums[4]) + 3e-16L * (d.width + d.height);
    if (!(fabsl(ex) <= allowed && fabsl(ey) <= allowed))
      fail_msg("site %d: centroid off by %.3Lg, %.3Lg", i, ex, ey);
  } else if (mass == 0) {
    assert_true(centroid[0] == site[0] && centroid[1] == site[1]);
  }
}

/* With hull construction, then by tree clipping alone. */
static void check(cvtm_domain d, const float *rho, const double *sites, int n) {
  cvtm_device *device = test_device_open();
  double *mass = doubles(n), *second = doubles(n), *centroid = doubles(2 * n);
  real(*sums)[6] = allocated(n, sizeof *sums);
  const cvtm_cvt_moments moments = {mass, centroid, second};
  real total = 0, expected_mass = 0;
  for (int i = 0; i < n; ++i) {
    reference_sums(d, rho, sites, NULL, n, i, sums[i]);
    total += sums[i][3];
  }
  for (int p = 0; p < d.width * d.height; ++p) expected_mass += rho[p];
  NEW_CVT(cvt, device, d, rho, n);
  for (cvt->tree_clipping = 0; cvt->tree_clipping < 2; ++cvt->tree_clipping) {
    double energy = -1;
    real total_mass = 0;
    evaluate_cvt(device, cvt, sites, n, &energy, &moments);
    for (int i = 0; i < n; ++i) {
      total_mass += mass[i];
      check_cell(d, sums[i], sites + 2 * i, i, mass[i], second[i], centroid + 2 * i);
    }
    assert_true(fabsl(energy - total) <= 1e-12L * total);
    assert_true(fabsl(total_mass - expected_mass) <= 1e-12L * expected_mass);
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  free_all(mass, second, centroid, sums);
}

static double axis_distance(double p, double s, int size, int periodic) {
  double d = fabs(p - s);
  if (periodic) d = fmin(d, fmin(fabs(p - size - s), fabs(p + size - s)));
  return d;
}

/* The site that owns a pixel: the nearest to its centre, the lowest index of several. */
static int owner(cvtm_domain d, const double *sites, int n, int column, int row) {
  int best = -1;
  double least = INFINITY;
  for (int i = 0; i < n; ++i) {
    const double x = axis_distance(column + 0.5, sites[2 * i], d.width, d.periodic);
    const double y = axis_distance(row + 0.5, sites[2 * i + 1], d.height, d.periodic);
    if (x * x + y * y < least) {
      least = x * x + y * y;
      best = i;
    }
  }
  return best;
}

/* Every centre is counted where it belongs: masses agree to the rounding of a sum. */
static void check_pixels(cvtm_domain d, const float *rho, const double *sites, int n) {
  cvtm_device *device = test_device_open();
  double *mass = doubles(n), *second = doubles(n);
  double *expected = calloc(2 * (size_t)n, sizeof *expected);
  const cvtm_cvt_moments moments = {mass, NULL, second};
  double energy = -1, total = 0;
  for (int row = 0; row < d.height; ++row) {
    for (int column = 0; column < d.width; ++column) {
      const int i = owner(d, sites, n, column, row);
      const double x = axis_distance(column + 0.5, sites[2 * i], d.width, d.periodic);
      const double y = axis_distance(row + 0.5, sites[2 * i + 1], d.height, d.periodic);
      const double weight = rho[row * d.width + column];
      expected[2 * i] += weight;
      expected[2 * i + 1] += weight * (x * x + y * y);
      total += weight * (x * x + y * y);
    }
  }
  NEW_CVT(cvt, device, d, rho, n);
  assert_device_ok(device, cvtm_cvt_evaluate(cvt, sites, n, CVTM_CVT_PIXEL, CVTM_VORONOI_EXACT,
                                             &energy, &moments));
  for (int i = 0; i < n; ++i) {
    if (!(fabs(mass[i] - expected[2 * i]) <= 1e-12 * expected[2 * i]))
      fail_msg("site %d: pixels of mass %.17g, expected %.17g", i, mass[i], expected[2 * i]);
    if (!(fabs(second[i] - expected[2 * i + 1]) <= 1e-11 * expected[2 * i + 1]))
      fail_msg("site %d: second moment %.17g, expected %.17g", i, second[i], expected[2 * i + 1]);
  }
  assert_true(fabs(energy - total) <= 1e-12 * total);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  free_all(mass, second, expected);
}

typedef void (*scatter)(cvtm_domain d, double *sites, int n);

static void scatter_random(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width * uniform();
    sites[2 * i + 1] = d.height * uniform();
  }
}

/* Knots of very different sizes, down to 1e-7 pixels. */
static void scatter_clustered(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    const int knot = i % 7;
    const double r = pow(0.1, knot + 1) * 10;
    sites[2 * i] = fmin(fmax(d.width * (0.1 + 0.12 * knot) + r * (uniform() - 0.5), 0), d.width);
    sites[2 * i + 1] =
        fmin(fmax(d.height * (0.9 - 0.13 * knot) + r * (uniform() - 0.5), 0), d.height);
  }
}

/* On pixel corners, so that bisectors run along pixel edges and many are cocircular. */
static void scatter_lattice(cvtm_domain d, double *sites, int n) {
  int i = 0;
  for (int y = 0; i < n; ++y) {
    for (int x = 0; x * 3 < d.width && i < n; ++x, ++i) {
      sites[2 * i] = x * 3;
      sites[2 * i + 1] = (y * 3) % d.height;
    }
  }
}

static void scatter_half(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) { /* pixel corners, centres, edges; coincident ones among them */
    sites[2 * i] = floor(2 * d.width * uniform()) / 2;
    sites[2 * i + 1] = floor(2 * d.height * uniform()) / 2;
  }
}

static void scatter_horizontal(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width * (i + 0.5) / n;
    sites[2 * i + 1] = d.height * 0.5;
  }
}

static void scatter_vertical(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width / 3;
    sites[2 * i + 1] = d.height * (i + 0.25) / n;
  }
}

static void scatter_slanted(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width * (i + 0.5) / n;
    sites[2 * i + 1] = d.height * (i + 0.5) / n;
  }
}

/* All nearly one direction: sides that are almost, but not quite, level. */
static void scatter_shallow(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = d.width * (0.5 + 0.003 * uniform());
    sites[2 * i + 1] = d.height * (i + uniform()) / n;
  }
}

static void scatter_one_point(cvtm_domain d, double *sites, int n) {
  for (int i = 0; i < n; ++i) {
    sites[2 * i] = 0.375 * d.width;
    sites[2 * i + 1] = 0.625 * d.height;
  }
}

/* A cell of very many corners: one site in the middle of a circle. */
static void scatter_circle(cvtm_domain d, double *sites, int n) {
  const double r = 0.45 * (d.width < d.height ? d.width : d.height);
  for (int i = 0; i < n; ++i) {
    const double angle = 6.283185307179586 * i / n;
    sites[2 * i] = 0.5 * d.width + (i > 0) * r * cos(angle);
    sites[2 * i + 1] = 0.5 * d.height + (i > 0) * r * sin(angle);
  }
}

typedef void (*paint)(cvtm_domain d, float *rho);

static void paint_uniform(cvtm_domain d, float *rho) {
  for (int p = 0; p < d.width * d.height; ++p) rho[p] = 1;
}

static void paint_random(cvtm_domain d, float *rho) {
  for (int p = 0; p < d.width * d.height; ++p) rho[p] = (float)uniform();
}

/* From 1 to 1e8. */
static void paint_graded(cvtm_domain d, float *rho) {
  for (int p = 0; p < d.width * d.height; ++p)
    rho[p] = (float)pow(10, 8 * uniform() * (p % 5 == 0));
}

static void paint_holes(cvtm_domain d, float *rho) {
  for (int p = 0; p < d.width * d.height; ++p)
    rho[p] = p % d.width < d.width / 2 ? 0 : (float)(1 + uniform());
  rho[d.width * d.height - 1] = 1;
}

static const scatter scatters[] = {
    scatter_random,   scatter_clustered, scatter_lattice, scatter_half,      scatter_horizontal,
    scatter_vertical, scatter_slanted,   scatter_shallow, scatter_one_point, scatter_circle,
};
static const paint paints[] = {paint_uniform, paint_random, paint_graded, paint_holes};

static void check_all(cvtm_domain d, int n) {
  double *sites = doubles(2 * n);
  float *rho = allocated(d.width * d.height, sizeof *rho);
  for (size_t s = 0; s < sizeof scatters / sizeof scatters[0]; ++s) {
    for (size_t p = 0; p < sizeof paints / sizeof paints[0]; ++p) {
      state = 7 * s + p;
      scatters[s](d, sites, n);
      paints[p](d, rho);
      check(d, rho, sites, n);
      check_pixels(d, rho, sites, n);
    }
  }
  free_all(sites, rho);
}

TEST(test_rectangle) { check_all((cvtm_domain){37, 23, 0}, 60); }
TEST(test_torus) { check_all((cvtm_domain){29, 17, 1}, 40); }
TEST(test_one_site) {
  check_all((cvtm_domain){19, 31, 0}, 1);
  check_all((cvtm_domain){19, 31, 1}, 1);
}
TEST(test_few_sites_on_a_torus) {
  check_all((cvtm_domain){8, 9, 1}, 2);
  check_all((cvtm_domain){8, 9, 1}, 3);
  check_all((cvtm_domain){40, 2, 1}, 9);
}
TEST(test_more_sites_than_pixels) {
  check_all((cvtm_domain){5, 4, 0}, 150);
  check_all((cvtm_domain){1, 1, 0}, 50);
  check_all((cvtm_domain){1, 1, 1}, 20);
  check_all((cvtm_domain){1, 64, 0}, 100);
  check_all((cvtm_domain){64, 1, 0}, 100);
}

/* Sides beyond 2^16; the pixels of such domains have no labels. */
TEST_ON_DEVICE(test_long_sides) {
  enum { LONG = 66000, SHORT = 3, N = 40 };
  static double sites[2 * N];
  static float rho[LONG * SHORT];
  for (int k = 0; k < 4; ++k) {
    const cvtm_domain d = {k % 2 ? SHORT : LONG, k % 2 ? LONG : SHORT, k / 2};
    state = 13 + (uint64_t)k;
    scatter_random(d, sites, N);
    paint_random(d, rho);
    check(d, rho, sites, N);
  }
  const cvtm_domain labelled = {LONG, SHORT, 0};
  cvtm_voronoi *voronoi = NULL;
  assert_refused(cvtm_voronoi_create(device, labelled, N, &voronoi));
  assert_null(voronoi);
}

/* Half of the sites in one pixel, a quarter of them in a millionth of it, a few of these at one
 * point: bins of the site tree that hold far more sites than others. */
TEST(test_crowded_bins) {
  enum { N = 600 };
  static double sites[2 * N];
  static float rho[64 * 48];
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain d = {64, 48, periodic};
    state = 11;
    scatter_random(d, sites, N);
    for (int i = 0; i < N; i += 2) {
      const double spread = i % 4 == 0 ? 0.8 : i % 100 == 2 ? 0 : 1e-3;
      sites[2 * i] = 20.6 + spread * (uniform() - 0.5);
      sites[2 * i + 1] = 13.4 + spread * (uniform() - 0.5);
    }
    paint_random(d, rho);
    check(d, rho, sites, N);
    check_pixels(d, rho, sites, N);
  }
}

TEST(test_many_corners) {
  enum { N = 500 };
  const cvtm_domain d = {64, 64, 0};
  static double sites[2 * N];
  static float rho[64 * 64];
  state = 3;
  scatter_circle(d, sites, N);
  paint_random(d, rho);
  check(d, rho, sites, N);
}

/* The site in the middle of very many: its cell is a regular polygon. */
TEST_ON_DEVICE(test_very_many_corners) {
  enum { N = 5001, SIDE = 64 };
  const cvtm_domain d = {SIDE, SIDE, 0};
  static double sites[2 * N], mass[N], centroid[2 * N], second[N];
  static float rho[SIDE * SIDE];
  const cvtm_cvt_moments moments = {mass, centroid, second};
  const double middle = 0.5 * SIDE, inner = 0.2 * SIDE, angle = acos(-1) / (N - 1);
  for (int i = 0; i < N; ++i) {
    sites[2 * i] = middle + (i > 0) * 2 * inner * cos(2 * angle * i);
    sites[2 * i + 1] = middle + (i > 0) * 2 * inner * sin(2 * angle * i);
  }
  paint_uniform(d, rho);
  double energy = -1, total = 0;
  NEW_CVT(cvt, device, d, rho, N);
  evaluate_cvt(device, cvt, sites, N, &energy, &moments);
  for (int i = 0; i < N; ++i) total += mass[i];
  const double t = tan(angle), expected = (N - 1) * inner * inner * t;
  const double polar = (N - 1) * pow(inner, 4) / 2 * (t + t * t * t / 3);
  assert_true(fabs(mass[0] - expected) <= 1e-10 * expected);
  assert_true(fabs(second[0] - polar) <= 1e-10 * polar);
  assert_true(fabs(centroid[0] - middle) <= 1e-9 && fabs(centroid[1] - middle) <= 1e-9);
  assert_true(fabs(total - SIDE * SIDE) <= 1e-10 * SIDE * SIDE);
  cvtm_cvt_destroy(cvt);
}

/* A site far outside gets the part of the domain that is nearest to it, or none. */
TEST(test_sites_outside) {
  const cvtm_domain d = {24, 24, 0};
  static float rho[24 * 24];
  double sites[] = {-10, 5, 12, 12, 40, 40, 500, -3000, 12, 30, -1e5, -1e5};
  state = 11;
  paint_random(d, rho);
  check(d, rho, sites, 6);
  check_pixels(d, rho, sites, 6);
}

TEST_DEVICE_MAIN()
