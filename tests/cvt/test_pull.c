/* Derivatives of integrals over Voronoi cells, on a device and in double precision, against cells
 * that are cut, and edges that are integrated, in another way. */
#include "base/device_kernels.h"
#include "cvt/cvt.h"
#include "tests/test_devices.h"

#include "tests/cvt/reference_cells.h"

/* --- the reference ---------------------------------------------------------------------------- */

/* Adds the integral of phi_i (cvt/pull.h; a, b, c of a Voronoi cell) over its part in each pixel.
 */
static void reference_pull_to_density(cvtm_domain d, const double *sites, int n, int i,
                                      const double *phi, double *by_density) {
  static shape cell, part;
  const real sx = sites[2 * i], sy = sites[2 * i + 1];
  reference_cell(d, sites, NULL, n, i, &cell);
  if (cell.count < 3) return;
  const extent e = extent_of(&cell, sx, sy);
  for (int j = e.y0; j <= e.y1 && j < d.height; ++j)
    for (int c = e.x0; c <= e.x1 && c < d.width; ++c) {
      real sums[4] = {0, 0, 0, 0};
      cut_pixel(&cell, sx, sy, c, j, &part);
      add_moments(&part, 1, sums);
      for (int k = 0; k < 4; ++k) by_density[j * d.width + c] += (double)(phi[k] * sums[k]);
    }
}

/* The site of the cell that shares an edge with cell i, whose middle is at (x, y); -1: the border.
 * Of sites in one place the first has the cell. */
static int neighbor_at(const double *sites, int n, int i, double x, double y) {
  const double dx = sites[2 * i] - x, dy = sites[2 * i + 1] - y;
  double least = (dx * dx + dy * dy) * (1 + 1e-9) + 1e-12;
  int best = -1;
  for (int j = 0; j < n; ++j) {
    const double ex = sites[2 * j] - x, ey = sites[2 * j + 1] - y, distance2 = ex * ex + ey * ey;
    if (distance2 >= least || (ex == dx && ey == dy)) continue;
    least = distance2;
    best = j;
  }
  return best;
}

static real quadratic(const double *phi, real x, real y) {
  return phi[0] + phi[1] * x + phi[2] * y + phi[3] * (x * x + y * y);
}

static int ascending(const void *a, const void *b) {
  const real s = *(const real *)a, t = *(const real *)b;
  return (s > t) - (s < t);
}

/* The derivative of the sum of the integrals of rho phi by site i, where the phi stay as functions
 * of x: over the edges of its Voronoi cell, the integral of rho (phi_i - phi_j) (x - x_i) over
 * |x_j - x_i|, by Gauss's two points between two lines of pixels. */
static void reference_pull_to_site(cvtm_domain d, const float *rho, const double *sites, int n,
                                   int i, const double *phi, double by_site[2]) {
  static shape cell;
  static real at[1 << 16];
  const real sx = sites[2 * i], sy = sites[2 * i + 1];
  real sum[2] = {0, 0};
  reference_cell(d, sites, NULL, n, i, &cell);
  for (int k = 0; k < cell.count; ++k) {
    const int next = (k + 1) % cell.count;
    const real ax = cell.x[k], ay = cell.y[k], dx = cell.x[next] - ax, dy = cell.y[next] - ay;
    const int j = neighbor_at(sites, n, i, (double)(sx + ax + dx / 2), (double)(sy + ay + dy / 2));
    if (j < 0) continue;
    const real ox = sites[2 * j] - sx, oy = sites[2 * j + 1] - sy;
    const real scale = hypotl(dx, dy) / hypotl(ox, oy);
    int pieces = 0;
    at[pieces++] = 0;
    at[pieces++] = 1;
    for (int line = 1; line < d.width || line < d.height; ++line) {
      const real t = (line - sx - ax) / dx, u = (line - sy - ay) / dy;
      if (t > 0 && t < 1) at[pieces++] = t;
      if (u > 0 && u < 1) at[pieces++] = u;
    }
    qsort(at, (size_t)pieces, sizeof *at, ascending);
    for (int piece = 0; piece + 1 < pieces; ++piece) {
      const real middle = (at[piece] + at[piece + 1]) / 2, half = (at[piece + 1] - at[piece]) / 2;
      const int column = (int)fminl(fmaxl(sx + ax + middle * dx, 0), d.width - 1);
      const int row = (int)fminl(fmaxl(sy + ay + middle * dy, 0), d.height - 1);
      for (int point = -1; point <= 1; point += 2) {
        const real t = middle + point * half / sqrtl(3), x = ax + t * dx, y = ay + t * dy;
        const real jump = quadratic(phi + 4 * i, x, y) - quadratic(phi + 4 * j, x - ox, y - oy);
        sum[0] += scale * half * rho[row * d.width + column] * jump * x;
        sum[1] += scale * half * rho[row * d.width + column] * jump * y;
      }
    }
  }
  by_site[0] = (double)sum[0];
  by_site[1] = (double)sum[1];
}

/* --- derivatives ------------------------------------------------------------------------------ */

/* A plan that views a density, with room for N sites and arrays of a pull back. */
typedef struct pull {
  cvtm_device *device;
  cvtm_cvt *cvt;
  void *density, *sites, *phi, *single, *result; /* of each pixel: float, double */
  int64_t count, pixels;
} pull;

static pull open_pull(cvtm_domain d, int64_t count) {
  pull p = {.device = test_device_open(), .count = count, .pixels = (int64_t)d.width * d.height};
  p.density = device_array(p.device, p.pixels, 4);
  p.sites = device_array(p.device, 2 * count, 8);
  p.phi = device_array(p.device, 4 * count, 8);
  p.single = device_array(p.device, p.pixels, 4);
  p.result = device_array(p.device, p.pixels, 8);
  assert_device_ok(p.device, cvtm_cvt_create_view(p.device, d, p.density, count, &p.cvt));
  return p;
}

static void close_pull(pull *p) {
  cvtm_cvt_destroy(p->cvt);
  device_free_all(p->device, p->density, p->sites, p->phi, p->single, p->result);
  cvtm_device_destroy(p->device);
}

static void put_sites(pull *p, const double *sites, const double *phi) {
  const size_t bytes = 2 * (size_t)p->count * sizeof *sites;
  assert_copy_in(p->device, p->sites, sites, bytes);
  assert_copy_in(p->device, p->phi, phi, 2 * bytes);
}

/* Some outside 61 x 47 pixels, two at one place; and their polynomials. */
static double *scattered_sites(int64_t n, double **phi) {
  double *sites = doubles(2 * n);
  *phi = allocated(4 * n, sizeof **phi);
  for (int64_t i = 0; i < n; ++i) {
    sites[2 * i] = 70 * uniform() - 5;
    sites[2 * i + 1] = 55 * uniform() - 4;
    for (int c = 0; c < 4; ++c) (*phi)[4 * i + c] = uniform() - 0.3;
  }
  if (n > 2) memcpy(sites + 2, sites, 2 * sizeof *sites);
  return sites;
}

/* Of sites far apart and close together, outside the domain, and at one place; and of lattices, of
 * which corners belong to four cells, within pixels and on their corners. In double precision
 * rounding leaves 1e-11, in single precision another 1e-7. */
TEST(test_pull_to_density) {
  enum { PIXELS = 61 * 47, SHAPES = 8 };
  const cvtm_domain d = {61, 47, 0};
  const int64_t counts[SHAPES] = {1, 2, 30, 600, 2500, 9000, 600, 900};
  static double wanted[PIXELS], found[PIXELS];
  static float single[PIXELS];
  for (int k = 0; k < SHAPES; ++k) {
    const int64_t n = counts[k];
    double *phi, *sites = scattered_sites(n, &phi);
    for (int64_t i = 0; i < n && k > 5; ++i) {
      sites[2 * i] = (k > 6 ? 2 : 2.25) * (double)(i % 30);
      sites[2 * i + 1] = (k > 6 ? 2 : 2.25) * (double)(i / 30);
    }
    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < n; ++i) reference_pull_to_density(d, sites, (int)n, i, phi + 4 * i, wanted);
    pull p = open_pull(d, n);
    put_sites(&p, sites, phi);
    assert_device_ok(p.device, cvtm_cvt_pull_back(p.cvt, p.sites, n, p.phi, p.single, NULL, NULL));
    assert_device_ok(p.device, cvtm_cvt_pull_back(p.cvt, NULL, n, p.phi, NULL, p.result, NULL));
    assert_copy_out(p.device, single, p.single, sizeof single);
    assert_copy_out(p.device, found, p.result, sizeof found);
    for (int q = 0; q < PIXELS; ++q) {
      assert_true(fabs(found[q] - wanted[q]) <= 1e-11 * (1 + fabs(wanted[q])));
      assert_true(single[q] == (float)found[q]);
    }
    close_pull(&p);
    free_all(sites, phi);
  }
}

/* Of sites as above, of a lattice, of which corners belong to four cells, and of a cell of many
 * corners. */
TEST(test_pull_to_sites) {
  enum { PIXELS = 61 * 47, SHAPES = 7 };
  const cvtm_domain d = {61, 47, 0};
  const int64_t counts[SHAPES] = {1, 2, 30, 600, 9000, 600, 200};
  static float rho[PIXELS];
  for (int q = 0; q < PIXELS; ++q) rho[q] = (float)uniform();
  for (int k = 0; k < SHAPES; ++k) {
    const int64_t n = counts[k];
    double *phi, *sites = scattered_sites(n, &phi);
    for (int64_t i = 0; i < n && k == 5; ++i) {
      sites[2 * i] = 2.25 * (double)(i % 30);
      sites[2 * i + 1] = 2.25 * (double)(i / 30);
    }
    for (int64_t i = 1; i < n && k == 6; ++i) {
      sites[2 * i] = sites[0] + 12 * cos(0.03 * (double)i);
      sites[2 * i + 1] = sites[1] + 12 * sin(0.03 * (double)i);
    }
    double *found = doubles(2 * n);
    pull p = open_pull(d, n);
    void *result = device_array(p.device, 2 * n, 8);
    assert_copy_in(p.device, p.density, rho, sizeof rho);
    put_sites(&p, sites, phi);
    assert_refused(cvtm_cvt_pull_back(p.cvt, NULL, n, p.phi, NULL, NULL, result));
    /* Derivatives by the density have a limit of cells in a pixel, which 9000 sites may exceed. */
    const int both = n < 9000;
    if (both)
      assert_device_ok(p.device,
                       cvtm_cvt_pull_back(p.cvt, p.sites, n, p.phi, p.single, NULL, NULL));
    assert_device_ok(
        p.device, cvtm_cvt_pull_back(p.cvt, both ? NULL : p.sites, n, p.phi, NULL, NULL, result));
    assert_copy_out(p.device, found, result, 2 * (size_t)n * sizeof *found);
    for (int i = 0; i < n; ++i) {
      double wanted[2];
      reference_pull_to_site(d, rho, sites, (int)n, i, phi, wanted);
      for (int c = 0; c < 2; ++c)
        assert_true(fabs(found[2 * i + c] - wanted[c]) <= 1e-9 * (1 + fabs(wanted[c])));
    }
    cvtm_device_free(p.device, result);
    close_pull(&p);
    free_all(sites, phi, found);
  }
}

/* Where many sites are near a pixel, CUDA refuses, and a CPU computes cell by cell. */
TEST(test_crowded_pull) {
  enum { N = 3000, PIXELS = 1200 };
  const cvtm_domain d = {40, 30, 0};
  static double sites[2 * N], phi[4 * N], wanted[PIXELS], found[PIXELS];
  static float single[PIXELS];
  for (int k = 0; k < 2 * N; ++k) sites[k] = 3 + 0.4 * uniform();
  for (int k = 0; k < 4 * N; ++k) phi[k] = uniform() - 0.3;
  sites[0] = sites[2];
  sites[1] = sites[3];
  sites[4] = -7;
  pull p = open_pull(d, N);
  put_sites(&p, sites, phi);
  const cvtm_status status = cvtm_cvt_pull_back(p.cvt, p.sites, N, p.phi, p.single, NULL, NULL);
  if (cvtm_device_get_kind(p.device) == CVTM_DEVICE_CUDA) {
    assert_int_equal(status, CVTM_ERROR_UNSUPPORTED);
  } else {
    assert_ok(status);
    assert_ok(cvtm_cvt_pull_back(p.cvt, NULL, N, p.phi, NULL, p.result, NULL));
    assert_copy_out(p.device, single, p.single, sizeof single);
    assert_copy_out(p.device, found, p.result, sizeof found);
    for (int i = 0; i < N; ++i) reference_pull_to_density(d, sites, N, i, phi + 4 * i, wanted);
    for (int q = 0; q < PIXELS; ++q) {
      assert_true(fabs(found[q] - wanted[q]) <= 1e-10 * (1 + fabs(wanted[q])));
      assert_true(single[q] == (float)found[q]);
    }
  }
  close_pull(&p);
}

/* L and its derivatives are linear in the density: of one in double precision they are the sums of
 * those of two in single, the second of which has both signs. */
TEST(test_density_in_double) {
  enum { N = 300, PIXELS = 61 * 47 };
  const cvtm_domain d = {61, 47, 0};
  static float part[2][PIXELS];
  double *phi, *sites = scattered_sites(N, &phi), sum[4 * N] = {0}, found[4 * N];
  double by_density[PIXELS], value = 0, wanted = 0;
  pull p = open_pull(d, N);
  void *moments = device_array(p.device, 4 * N, 8);
  put_sites(&p, sites, phi);
  for (int q = 0; q < PIXELS; ++q) {
    const double rho = uniform();
    part[0][q] = (float)rho;
    part[1][q] = (float)(rho - (double)part[0][q]);
  }
  for (int k = 0; k < 2; ++k) {
    assert_copy_in(p.device, p.density, part[k], sizeof part[k]);
    assert_device_ok(p.device, cvtm_cvt_evaluate_on_device(p.cvt, p.sites, N, CVTM_CVT_EXACT,
                                                           CVTM_VORONOI_EXACT, p.result, moments));
    assert_copy_out(p.device, found, moments, sizeof found);
    for (int i = 0; i < 4 * N; ++i) sum[i] += found[i];
  }
  assert_device_ok(p.device, cvtm_cvt_pull_back(p.cvt, NULL, N, p.phi, NULL, p.result, NULL));
  assert_copy_out(p.device, by_density, p.result, sizeof by_density);
  for (int i = 0; i < 4 * N; ++i) value += phi[i] * sum[i];
  for (int q = 0; q < PIXELS; ++q)
    wanted += by_density[q] * ((double)part[0][q] + (double)part[1][q]);
  assert_true(fabs(value - wanted) <= 1e-12 * fabs(wanted));
  cvtm_device_free(p.device, moments);
  close_pull(&p);
  free_all(sites, phi);
}

TEST(test_pull_refuses_a_torus) {
  pull p = open_pull((cvtm_domain){8, 8, 1}, 4);
  assert_int_equal(cvtm_cvt_pull_back(p.cvt, p.sites, 4, p.phi, p.single, NULL, NULL),
                   CVTM_ERROR_UNSUPPORTED);
  close_pull(&p);
}

TEST_MAIN()
