/* HLCPs on a grid of pixels against the same problems as sparse matrices. */
#include "test_devices.h"

#include "lcp/hlcp/grid.h"

enum { WIDTH = 24, HEIGHT = 17, PIXELS = WIDTH * HEIGHT };

/* lambda times the Neumann Laplacian plus a constant diagonal. */
static cvtm_csr laplacian(double lambda, double diagonal) {
  cvtm_csr m;
  assert_ok(cvtm_csr_create(PIXELS, PIXELS, 5 * PIXELS, &m, NULL));
  int64_t count = 0;
  for (int64_t p = 0; p < PIXELS; ++p) {
    const int64_t shifts[] = {-WIDTH, -1, 0, 1, WIDTH};
    int64_t centre = 0;
    int links = 0;
    for (int k = 0; k < 5; ++k) {
      const int64_t q = p + shifts[k];
      if (q < 0 || q >= PIXELS) continue;
      if ((k == 1 && p % WIDTH == 0) || (k == 3 && q % WIDTH == 0)) continue;
      if (k == 2) centre = count;
      links += k != 2;
      m.column[count] = (int32_t)q;
      m.value[count++] = -lambda;
    }
    m.value[centre] = links * lambda + diagonal;
    m.row_start[p + 1] = count;
  }
  return m;
}

static void download(cvtm_device *device, double *values, const double *memory) {
  assert_device_ok(device, cvtm_device_copy_out(device, values, memory, PIXELS * sizeof *values));
}

/* Expectile smoothing of an uneven signal, weights 1 above it and (1 - p) / p below. */
TEST_ON_DEVICE(equals_the_sparse_solution) {
  const double lambdas[] = {1, 10}, expectiles[] = {0.5, 0.1};
  for (int k = 0; k < 2; ++k) {
    const double lambda = lambdas[k], below = (1 - expectiles[k]) / expectiles[k];
    cvtm_csr a = laplacian(lambda, 1), b = laplacian(lambda, below), l = laplacian(lambda, 0);
    double rho[PIXELS], q[PIXELS], z[PIXELS], w[PIXELS];
    for (int p = 0; p < PIXELS; ++p) rho[p] = 1 + sin(0.9 * p) + (p % 7 == 0 ? 3 : 0);
    for (int p = 0; p < PIXELS; ++p) {
      q[p] = 0;
      for (int64_t e = l.row_start[p]; e < l.row_start[p + 1]; ++e)
        q[p] -= l.value[e] * rho[l.column[e]];
    }
    double *memory[4]; /* q, x, z, w */
    for (int v = 0; v < 4; ++v) memory[v] = copied_in(device, q, PIXELS, sizeof(double));
    cvtm_hlcp_grid *grid = NULL;
    cvtm_hlcp_result result;
    const cvtm_lcp_grid links = {
        .width = WIDTH, .height = HEIGHT, .constant = lambda, .neumann = 1};
    assert_device_ok(device, cvtm_hlcp_grid_create(device, WIDTH, HEIGHT, 1e-9, 50, &grid));
    assert_device_ok(device, cvtm_hlcp_grid_solve(grid, &links, 1, below, memory[0], memory[1], 0,
                                                  memory[2], memory[3], &result));
    cvtm_hlcp_grid_destroy(grid);
    assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
    double got_z[PIXELS], got_w[PIXELS];
    download(device, got_z, memory[2]);
    download(device, got_w, memory[3]);

    cvtm_hlcp *hlcp = NULL;
    DEFAULT_OPTIONS(cvtm_hlcp, options);
    options.method = CVTM_HLCP_NEWTON;
    options.tolerance = 1e-10;
    assert_device_ok(device, cvtm_hlcp_create(device, &a, &b, &options, &hlcp));
    assert_device_ok(device,
                     cvtm_hlcp_solve(hlcp, memory[0], NULL, 0, memory[2], memory[3], &result));
    cvtm_hlcp_destroy(hlcp);
    download(device, z, memory[2]);
    download(device, w, memory[3]);
    for (int p = 0; p < PIXELS; ++p) {
      assert_true(got_z[p] >= 0 && got_w[p] >= 0 && got_z[p] * got_w[p] == 0);
      /* Both residuals are below 1e-9, and no eigenvalue is below 1. */
      assert_true(fabs(got_z[p] - z[p]) < 3e-9 && fabs(got_w[p] - w[p]) < 3e-9);
    }
    for (int v = 0; v < 4; ++v) cvtm_device_free(device, memory[v]);
    CALL_EACH(cvtm_csr_free, cvtm_csr, &a, &b, &l);
  }
}

/* With tolerance 0 the residual falls to its rounding errors: 16 roundings of the terms of a row,
 * which are q, the diagonal term and two for each link. */
TEST_ON_DEVICE(ends_at_rounding_errors) {
  const double below = 9.7;
  double q[PIXELS], x[PIXELS];
  for (int p = 0; p < PIXELS; ++p) q[p] = sin(0.9 * p) + 0.3 * cos(p * p);
  double *memory[4]; /* q, x, z, w */
  for (int v = 0; v < 4; ++v) memory[v] = copied_in(device, q, PIXELS, sizeof(double));
  cvtm_hlcp_grid *grid = NULL;
  cvtm_hlcp_result result;
  const cvtm_lcp_grid links = {.width = WIDTH, .height = HEIGHT, .constant = 3, .neumann = 1};
  assert_device_ok(device, cvtm_hlcp_grid_create(device, WIDTH, HEIGHT, 0, 200, &grid));
  assert_device_ok(device, cvtm_hlcp_grid_solve(grid, &links, 1, below, memory[0], memory[1], 0,
                                                memory[2], memory[3], &result));
  cvtm_hlcp_grid_destroy(grid);
  assert_int_equal(result.stop, CVTM_LCP_ROUNDING);
  assert_true(cvtm_lcp_is_solved(result.stop) && !cvtm_lcp_is_solved(CVTM_LCP_STALLED));
  download(device, x, memory[1]);
  cvtm_csr a = laplacian(3, 1), b = laplacian(3, below);
  long double squares = 0;
  double largest = 0;
  for (int p = 0; p < PIXELS; ++p) {
    long double r = -q[p];
    for (int64_t e = a.row_start[p]; e < a.row_start[p + 1]; ++e) {
      const double at = x[a.column[e]];
      r += (long double)(at > 0 ? a.value[e] : b.value[e]) * at;
    }
    squares += r * r;
    largest = fmax(largest, fabs(x[p]));
  }
  const double rounding = 0x1p-49 * sqrt(PIXELS) * (1.3 + (8 * 3 + below) * largest);
  assert_true((double)sqrtl(squares) <= rounding && result.residual <= rounding);
  cvtm_csr_free(&a);
  cvtm_csr_free(&b);
  device_free_all(device, memory[0], memory[1], memory[2], memory[3]);
}

TEST_ON_DEVICE(refuses_what_is_not_finite) {
  const double wrong[] = {(double)NAN, (double)INFINITY, 1e300};
  const cvtm_lcp_grid links = {.width = WIDTH, .height = HEIGHT, .constant = 1, .neumann = 1};
  cvtm_hlcp_grid *grid = NULL;
  assert_device_ok(device, cvtm_hlcp_grid_create(device, WIDTH, HEIGHT, 1e-9, 50, &grid));
  for (int k = 0; k < 3; ++k) {
    double q[PIXELS] = {0};
    q[PIXELS / 2] = wrong[k];
    double *memory[4];
    for (int v = 0; v < 4; ++v) memory[v] = copied_in(device, q, PIXELS, sizeof(double));
    cvtm_hlcp_result result;
    assert_int_equal(cvtm_hlcp_grid_solve(grid, &links, 1, 9, memory[0], memory[1], 0, memory[2],
                                          memory[3], &result),
                     CVTM_ERROR_INPUT);
    for (int v = 0; v < 4; ++v) cvtm_device_free(device, memory[v]);
  }
  cvtm_hlcp_grid_destroy(grid);
}

/* Links across a hundred times as strong as those down make for another layout of the levels, be it
 * in a solver that is new or in one that has solved a problem with constant links. */
TEST_ON_DEVICE(stretched_links_in_a_used_solver) {
  enum { ACROSS = (WIDTH + 1) * HEIGHT, DOWN = WIDTH * (HEIGHT + 1) };
  double across[ACROSS], down[DOWN], q[PIXELS], found[2][PIXELS];
  for (int k = 0; k < ACROSS; ++k)
    across[k] = k % (WIDTH + 1) == 0 || k % (WIDTH + 1) == WIDTH ? 0 : 100;
  for (int k = 0; k < DOWN; ++k) down[k] = k < WIDTH || k >= DOWN - WIDTH ? 0 : 1;
  for (int p = 0; p < PIXELS; ++p) q[p] = sin(0.9 * p) + (p % 7 == 0 ? 3 : 0);
  double *horizontal = NULL, *vertical = NULL, *memory[4];
  assert_device_ok(device, cvtm_device_allocate(device, ACROSS, CVTM_TYPED(horizontal)));
  assert_device_ok(device, cvtm_device_allocate(device, DOWN, CVTM_TYPED(vertical)));
  assert_device_ok(device, cvtm_device_copy_in(device, horizontal, across, sizeof across));
  assert_device_ok(device, cvtm_device_copy_in(device, vertical, down, sizeof down));
  for (int v = 0; v < 4; ++v) memory[v] = copied_in(device, q, PIXELS, sizeof(double));
  const cvtm_lcp_grid constant = {.width = WIDTH, .height = HEIGHT, .constant = 1, .neumann = 1};
  const cvtm_lcp_grid stretched = {
      .width = WIDTH, .height = HEIGHT, .horizontal = horizontal, .vertical = vertical};
  for (int used = 0; used < 2; ++used) {
    cvtm_hlcp_grid *grid = NULL;
    cvtm_hlcp_result result;
    assert_device_ok(device, cvtm_hlcp_grid_create(device, WIDTH, HEIGHT, 1e-9, 50, &grid));
    for (int k = used ? 0 : 1; k < 2; ++k)
      assert_device_ok(
          device, cvtm_hlcp_grid_solve(grid, k ? &stretched : &constant, 1, 9, memory[0], memory[1],
                                       0, memory[2], memory[3], &result));
    cvtm_hlcp_grid_destroy(grid);
    assert_int_equal(result.stop, CVTM_LCP_CONVERGED);
    download(device, found[used], memory[1]);
  }
  assert_memory_equal(found[0], found[1], sizeof found[0]);
  for (int v = 0; v < 4; ++v) cvtm_device_free(device, memory[v]);
  device_free_all(device, horizontal, vertical);
}

TEST_DEVICE_MAIN()
