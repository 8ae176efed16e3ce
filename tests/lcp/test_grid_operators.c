/* Varying coefficients, masks, Neumann boundaries and boxes against a dense active-set method;
 * larger problems by their natural residual alone. */
#include "grid_problems.h"
#include "test_devices.h"

static cvtm_device *device;

/* --- the independent solver: primal-dual active set with dense elimination -------------- */

/* Solves the n x n system in place (partial pivoting); the solution replaces right. */
static void eliminate(int64_t n, double *a, double *right) {
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (fabs(a[r * n + c]) > fabs(a[pivot * n + c])) pivot = r;
    }
    for (int64_t k = 0; k < n; ++k) {
      const double swap = a[c * n + k];
      a[c * n + k] = a[pivot * n + k];
      a[pivot * n + k] = swap;
    }
    const double swap = right[c];
    right[c] = right[pivot];
    right[pivot] = swap;
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = a[r * n + c] / a[c * n + c];
      if (factor == 0) continue;
      for (int64_t k = c; k < n; ++k) a[r * n + k] -= factor * a[c * n + k];
      right[r] -= factor * right[c];
    }
  }
  for (int64_t r = n - 1; r >= 0; --r) {
    for (int64_t k = r + 1; k < n; ++k) right[r] -= a[r * n + k] * right[k];
    right[r] /= a[r * n + r];
  }
}

/* Column by column: unit vectors through the definition. */
static void dense_matrix(const grid_case *g, double *a) {
  const int64_t n = g->width * g->height;
  double *unit = grid_doubles(n, 0);
  for (int64_t c = 0; c < n; ++c) {
    unit[c] = 1;
    for (int64_t r = 0; r < n; ++r) {
      a[r * n + c] = (double)grid_apply(g, unit, r % g->width, r / g->width);
    }
    unit[c] = 0;
  }
  free(unit);
}

static void reference(const grid_case *g, double *x) {
  const int64_t n = g->width * g->height;
  double *a = grid_doubles(n * n, 0), *work = grid_doubles(n * n, 0);
  signed char *held = calloc((size_t)n, 1), *before = calloc((size_t)n, 1);
  assert_non_null(held);
  assert_non_null(before);
  dense_matrix(g, a);
  for (int round = 0; round < 100; ++round) {
    for (int64_t r = 0; r < n; ++r) {
      const int masked = grid_is_masked(g, r % g->width, r / g->width);
      const int fixed = held[r] != 0 || masked;
      for (int64_t c = 0; c < n; ++c) {
        work[r * n + c] = fixed ? (double)(r == c) : a[r * n + c];
      }
      x[r] = masked ? 0 : held[r] < 0 ? g->lower[r] : held[r] > 0 ? g->upper[r] : g->b[r];
    }
    eliminate(n, work, x);
    memcpy(before, held, (size_t)n);
    for (int64_t r = 0; r < n; ++r) {
      if (grid_is_masked(g, r % g->width, r / g->width)) continue;
      const double f = (double)grid_apply(g, x, r % g->width, r / g->width) - g->b[r];
      const double scale = a[r * n + r];
      const int low = g->lower && (held[r] < 0 ? f > 0 : scale * (x[r] - g->lower[r]) < 0);
      const int high = g->upper && (held[r] > 0 ? f < 0 : scale * (x[r] - g->upper[r]) > 0);
      held[r] = (signed char)(low ? -1 : high ? 1 : 0);
    }
    if (memcmp(before, held, (size_t)n) == 0) break;
  }
  free_all(a, work, held, before);
}

/* --- random problems
 * ------------------------------------------------------------------------------ */

typedef enum feature {
  JUMPS = 1,
  HOLES = 2,
  DIAGONAL = 4,
  UPPER = 8,
  NEUMANN = 16,
  FREE = 32
} feature;

/* Conductivity with jumps of 1e3 and 1e-2: a half-plane and scattered pixels. */
static double patch(int64_t i, int64_t j) {
  if ((i + 2 * j) % 61 == 9) return 1e-2;
  return 3 * i + j > 200 ? 1e3 : 1;
}

/* Two half pixels in series; half a pixel to a Dirichlet boundary, nothing to a Neumann one. */
static double between(const grid_case *g, const double *k, int64_t i0, int64_t j0, int64_t i1,
                      int64_t j1) {
  const int first = i0 >= 0 && j0 >= 0, second = i1 < g->width && j1 < g->height;
  const double a = first ? k[j0 * g->width + i0] : 0, b = second ? k[j1 * g->width + i1] : 0;
  if (first && second) return 2 * a * b / (a + b);
  return g->neumann ? 0 : 2 * (a + b);
}

/* b and bounds of size 1 in the units of x. */
static grid_case make(int64_t width, int64_t height, int features, uint64_t seed) {
  grid_case g = grid_case_make(width, height);
  const int64_t count = width * height;
  g.neumann = (features & NEUMANN) != 0;
  if (features & JUMPS) {
    double *k = grid_doubles(count, 1);
    for (int64_t n = 0; n < count; ++n)
      k[n] = patch(n % width, n / width) * (0.5 + random_unit(&seed));
    g.horizontal = grid_doubles((width + 1) * height, 0);
    g.vertical = grid_doubles(width * (height + 1), 0);
    for (int64_t j = 0; j <= height; ++j) {
      for (int64_t i = 0; i <= width; ++i) {
        if (j < height) g.horizontal[j * (width + 1) + i] = between(&g, k, i - 1, j, i, j);
        if (i < width) g.vertical[j * width + i] = between(&g, k, i, j - 1, i, j);
      }
    }
    free(k);
  }
  if (features & HOLES) {
    g.mask = malloc((size_t)count);
    assert_non_null(g.mask);
    for (int64_t k = 0; k < count; ++k) {
      g.mask[k] = !(k % width % 7 == 3 && k / width % 5 != 4) && random_unit(&seed) > 0.05;
    }
  }
  if (features & DIAGONAL) {
    g.diagonal = grid_doubles(count, 0);
    for (int64_t k = 0; k < count; ++k) g.diagonal[k] = 0.01 + 0.1 * random_unit(&seed);
  }
  const double load = features & DIAGONAL ? 0.2 : 10.0 / (double)count;
  for (int64_t k = 0; k < count; ++k) g.b[k] = load * (random_unit(&seed) - 0.6);
  if (features & FREE) return g;
  g.lower = grid_doubles(count, 0);
  if (features & UPPER) g.upper = grid_doubles(count, 0);
  for (int64_t k = 0; k < count; ++k) {
    g.lower[k] = random_unit(&seed) < 0.1 ? -(double)INFINITY : -0.3 * random_unit(&seed);
    if (!g.upper) continue;
    g.upper[k] = random_unit(&seed) < 0.1 ? (double)INFINITY : 0.2 * random_unit(&seed);
    if (random_unit(&seed) < 0.02) g.lower[k] = g.upper[k] = 0.1;
  }
  return g;
}

static void check_converged(const grid_case *g, int features, int64_t most) {
  if (g->result.stop != CVTM_LCP_CONVERGED || g->result.iterations > most) {
    fail_msg("%s, %lld x %lld, features %d: %s after %lld (at most %lld), residual %g",
             cvtm_lcp_method_name(g->options.method), (long long)g->width, (long long)g->height,
             features, cvtm_lcp_stop_name(g->result.stop), (long long)g->result.iterations,
             (long long)most, g->result.natural_residual);
  }
  const double residual = grid_natural_residual(g, g->x);
  if (!(fabs(residual - g->result.natural_residual) <= 1e-10 + 1e-6 * residual)) {
    fail_msg("residual %g, reported %g", residual, g->result.natural_residual);
  }
}

TEST(test_against_dense) {
  static const int64_t sizes[][2] = {{12, 9}, {1, 40}, {7, 15}, {20, 5}, {2, 2}, {1, 1}};
  for (int s = 0; s < 6; ++s) {
    for (int features = 0; features < 64; ++features) {
      /* Without a diagonal a Neumann problem is singular, unless holes happen to fix its value. */
      if ((features & NEUMANN) && !(features & DIAGONAL)) continue;
      grid_case g = make(sizes[s][0], sizes[s][1], features, (uint64_t)(64 * s + features));
      double *expected = grid_doubles(g.width * g.height, 0);
      reference(&g, expected);
      for (int method = CVTM_LCP_PSOR; method <= CVTM_LCP_TNNMG; ++method) {
        g.options.method = (cvtm_lcp_method)method;
        g.options.max_iterations = method == CVTM_LCP_PSOR ? 100000 : 200;
        g.options.tolerance = 1e-11;
        grid_case_solve(device, &g);
        check_converged(&g, features, g.options.max_iterations);
        for (int64_t k = 0; k < g.width * g.height; ++k) {
          /* The smallest eigenvalue is above 1e-3: links down to 1e-4 lie among others. */
          if (!(fabs(g.x[k] - expected[k]) <= 1e-7)) {
            fail_msg("%s, case %d of features %d: x[%lld] = %.12g, not %.12g",
                     cvtm_lcp_method_name(g.options.method), s, features, (long long)k, g.x[k],
                     expected[k]);
          }
        }
      }
      free(expected);
      grid_case_free(&g);
    }
  }
}

/* Holes, boxes, boundary conditions and sizes hardly change the rate of convergence; coefficients
 * that jump by 1e5 within a coarse cell cost some cycles. Any two features meet on both grids. */
TEST(test_large) {
  static const int64_t sizes[][2] = {{255, 255}, {301, 110}};
  for (int s = 0; s < 2; ++s) {
    for (int features = 0; features < 64; ++features) {
      if ((features & NEUMANN) && !(features & DIAGONAL)) continue;
      if (__builtin_parity((unsigned)features) != s) continue;
      grid_case g = make(sizes[s][0], sizes[s][1], features, (uint64_t)(99 + features));
      grid_case_solve(device, &g);
      check_converged(&g, features, features & JUMPS ? 60 : 13);
      grid_case_free(&g);
    }
  }
}

/* One number for the whole diagonal: small against the links, and so large that few coarse levels
 * have anything to do. */
TEST(test_mass) {
  static const int64_t sizes[][2] = {{255, 255}, {301, 110}, {12, 9}, {1, 40}, {2, 2}};
  for (int s = 0; s < 5; ++s) {
    for (int neumann = 0; neumann < 2; ++neumann) {
      const int features = DIAGONAL | UPPER | (neumann ? NEUMANN : 0);
      grid_case g = make(sizes[s][0], sizes[s][1], features, (uint64_t)(7 + s));
      free(g.diagonal);
      g.diagonal = NULL;
      g.mass = s & 1 ? 6 : 0.06;
      grid_case_solve(device, &g);
      check_converged(&g, features, 13);
      grid_case_free(&g);
    }
  }
}

/* A second set of coefficients in the same solver, from the solution for the first. */
TEST(test_new_coefficients) {
  grid_case g = make(120, 90, JUMPS | DIAGONAL | UPPER | NEUMANN, 5);
  grid_case h = make(120, 90, JUMPS | DIAGONAL | UPPER | NEUMANN, 6);
  grid_run run = grid_run_open(device, &g), other = grid_run_open(device, &h);
  grid_run_solve(device, &run, &g, 0);
  check_converged(&g, 0, 30);
  assert_device_ok(device, cvtm_lcp_set_grid(run.lcp, &other.grid));
  memcpy(g.horizontal, h.horizontal, (size_t)(121 * 90) * sizeof(double));
  memcpy(g.vertical, h.vertical, (size_t)(120 * 91) * sizeof(double));
  memcpy(g.diagonal, h.diagonal, (size_t)(120 * 90) * sizeof(double));
  grid_run_solve(device, &run, &g, 1);
  check_converged(&g, 0, 30);
  grid_run_close(device, &run);
  grid_run_close(device, &other);
  CALL_EACH(grid_case_free, grid_case, &g, &h);
}

TEST_DEVICE_MAIN_AS(device, 0)
