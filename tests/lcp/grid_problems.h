/* Problems on grids for tests: host arrays, their copies on a device, and the residual computed
 * from the definition alone. */
#pragma once

#include "lcp/lcp.h"
#include "test_devices.h"
#include "splitmix64.h"

typedef struct grid_case {
  int64_t width, height;
  double constant, mass;
  int neumann;
  double *diagonal, *horizontal, *vertical, *b, *lower, *upper, *x; /* NULL where not wanted */
  uint8_t *mask;
  cvtm_lcp_options options;
  cvtm_lcp_result result;
} grid_case;

static inline double *grid_doubles(int64_t count, double value) {
  double *made = malloc((size_t)count * sizeof *made);
  assert_non_null(made);
  for (int64_t k = 0; k < count; ++k) made[k] = value;
  return made;
}

static inline grid_case grid_case_make(int64_t width, int64_t height) {
  grid_case g;
  memset(&g, 0, sizeof g);
  g.width = width;
  g.height = height;
  g.constant = 1;
  g.b = grid_doubles(width * height, 0);
  g.x = grid_doubles(width * height, 0);
  cvtm_lcp_defaults(&g.options);
  return g;
}

static inline void grid_case_free(grid_case *g) {
  free_all(g->diagonal, g->horizontal, g->vertical, g->b, g->lower, g->upper, g->x, g->mask);
}

/* A solver and the arrays it borrows. */
typedef struct grid_run {
  cvtm_lcp *lcp;
  cvtm_lcp_grid grid;
  double *b, *lower, *upper, *x;
} grid_run;

static inline grid_run grid_run_open(cvtm_device *device, const grid_case *g) {
  const int64_t count = g->width * g->height;
  grid_run run;
  memset(&run, 0, sizeof run);
  run.grid.width = g->width;
  run.grid.height = g->height;
  run.grid.constant = g->constant;
  run.grid.mass = g->mass;
  run.grid.neumann = g->neumann;
  run.grid.diagonal = copied_in(device, g->diagonal, count, sizeof(double));
  run.grid.horizontal =
      copied_in(device, g->horizontal, (g->width + 1) * g->height, sizeof(double));
  run.grid.vertical = copied_in(device, g->vertical, g->width * (g->height + 1), sizeof(double));
  run.grid.mask = copied_in(device, g->mask, count, 1);
  run.b = copied_in(device, g->b, count, sizeof(double));
  run.lower = copied_in(device, g->lower, count, sizeof(double));
  run.upper = copied_in(device, g->upper, count, sizeof(double));
  run.x = copied_in(device, g->x, count, sizeof(double));
  assert_device_ok(device,
                   cvtm_lcp_create_grid(device, g->width, g->height, &g->options, &run.lcp));
  assert_device_ok(device, cvtm_lcp_set_grid(run.lcp, &run.grid));
  return run;
}

static inline void grid_run_solve(cvtm_device *device, grid_run *run, grid_case *g, int warm) {
  assert_device_ok(
      device, cvtm_lcp_solve(run->lcp, run->b, run->lower, run->upper, run->x, warm, &g->result));
  assert_device_ok(device, cvtm_device_copy_out(device, g->x, run->x,
                                                (size_t)(g->width * g->height) * sizeof(double)));
}

static inline void grid_run_close(cvtm_device *device, grid_run *run) {
  cvtm_lcp_destroy(run->lcp);
  device_free_all(device, (void *)run->grid.diagonal, (void *)run->grid.horizontal,
                  (void *)run->grid.vertical, (void *)run->grid.mask, run->b, run->lower,
                  run->upper, run->x);
}

static inline void grid_case_solve(cvtm_device *device, grid_case *g) {
  grid_run run = grid_run_open(device, g);
  grid_run_solve(device, &run, g, 0);
  grid_run_close(device, &run);
}

/* --- the definition ------------------------------------------------------------------------- */

static inline int grid_is_masked(const grid_case *g, int64_t i, int64_t j) {
  return g->mask && !g->mask[j * g->width + i];
}

/* Link of (i, j) to side 0 .. 3: west, east, north, south. */
static inline double grid_link(const grid_case *g, int64_t i, int64_t j, int side) {
  if (g->horizontal) {
    return side < 2 ? g->horizontal[j * (g->width + 1) + i + side]
                    : g->vertical[(j + side - 2) * g->width + i];
  }
  const int leaves = (side == 0 && i == 0) || (side == 1 && i == g->width - 1) ||
                     (side == 2 && j == 0) || (side == 3 && j == g->height - 1);
  return leaves && g->neumann ? 0 : g->constant;
}

static inline double grid_value(const grid_case *g, const double *x, int64_t i, int64_t j) {
  const int inside = i >= 0 && j >= 0 && i < g->width && j < g->height;
  return inside && !grid_is_masked(g, i, j) ? x[j * g->width + i] : 0;
}

/* (A x)_(i, j) */
static inline long double grid_apply(const grid_case *g, const double *x, int64_t i, int64_t j) {
  static const int dx[4] = {-1, 1, 0, 0}, dy[4] = {0, 0, -1, 1};
  const int64_t k = j * g->width + i;
  long double sum = (long double)(g->diagonal ? g->diagonal[k] : g->mass) * x[k];
  for (int side = 0; side < 4; ++side) {
    sum += grid_link(g, i, j, side) *
           ((long double)x[k] - grid_value(g, x, i + dx[side], j + dy[side]));
  }
  return sum;
}

static inline double grid_natural_residual(const grid_case *g, const double *x) {
  long double squares = 0;
  for (int64_t j = 0; j < g->height; ++j) {
    for (int64_t i = 0; i < g->width; ++i) {
      if (grid_is_masked(g, i, j)) continue;
      const int64_t k = j * g->width + i;
      long double residual = grid_apply(g, x, i, j) - g->b[k];
      if (g->lower && residual > x[k] - (long double)g->lower[k]) residual = x[k] - g->lower[k];
      if (g->upper && residual < x[k] - (long double)g->upper[k]) residual = x[k] - g->upper[k];
      squares += residual * residual;
    }
  }
  return (double)sqrtl(squares);
}

static inline double grid_energy(const grid_case *g) {
  long double sum = 0;
  for (int64_t j = 0; j < g->height; ++j) {
    for (int64_t i = 0; i < g->width; ++i) {
      const int64_t k = j * g->width + i;
      if (!grid_is_masked(g, i, j)) sum += (0.5L * grid_apply(g, g->x, i, j) - g->b[k]) * g->x[k];
    }
  }
  return (double)sum;
}

/* --- obstacle problems with known answers ----------------------------------------------------- */

typedef enum obstacle { MEMBRANE, TORSION, HEMISPHERE } obstacle;

static inline double hemisphere_exact(double x, double y) {
  const double a = 0.6979651482233735, scale = a * a / sqrt(1 - a * a), r = hypot(x, y);
  return r <= a ? sqrt(1 - r * r) : scale * (log(2.0) - log(r));
}

static inline double hemisphere_obstacle(double x, double y) {
  const double r = hypot(x, y), edge = sqrt(0.19);
  return r <= 0.9 ? sqrt(1 - r * r) : edge - (0.9 / edge) * (r - 0.9);
}

/* Spacing between nodes: the unit square, or (-2, 2)^2. */
static inline grid_case obstacle_make(obstacle kind, int64_t m) {
  grid_case g = grid_case_make(m, m);
  g.lower = grid_doubles(m * m, 0);
  const double h = (kind == HEMISPHERE ? 4.0 : 1.0) / (double)(m + 1);
  for (int64_t j = 0; j < m; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      const int64_t k = j * m + i;
      const double x = (double)(i + 1) * h, y = (double)(j + 1) * h;
      if (kind == MEMBRANE) {
        g.b[k] = -h * h;
        g.lower[k] = -0.05;
      } else if (kind == TORSION) {
        g.b[k] = -5 * h * h;
        g.lower[k] = -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
      } else {
        g.lower[k] = hemisphere_obstacle(x - 2, y - 2);
        if (i == 0) g.b[k] += hemisphere_exact(-2, y - 2);
        if (i == m - 1) g.b[k] += hemisphere_exact(2, y - 2);
        if (j == 0) g.b[k] += hemisphere_exact(x - 2, -2);
        if (j == m - 1) g.b[k] += hemisphere_exact(x - 2, 2);
      }
    }
  }
  return g;
}

/* The largest error of a solution on m x m nodes. */
static inline double hemisphere_error(const double *solution, int64_t m) {
  const double h = 4.0 / (double)(m + 1);
  double error = 0;
  for (int64_t n = 0; n < m * m; ++n) {
    const double x = (double)(n % m + 1) * h - 2, y = (double)(n / m + 1) * h - 2;
    error = fmax(error, fabs(solution[n] - hemisphere_exact(x, y)));
  }
  return error;
}
