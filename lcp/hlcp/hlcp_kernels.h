/* Inside lcp/hlcp only: the arrays and the state of an HLCP solve, the formulas of a row, an
 * unknown or a pixel for both devices, and the kernels. Each kernel enqueues its work; its results
 * remain on the device. */
#pragma once

#include "base/phases.h"
#include "base/portable.h"
#include "lcp/lcp_solver.h"
#include "lcp/hlcp.h"
#include "lcp/sparse/sell_kernels.h"
#include "lcp/stop.h"

#include <math.h>

CVTM_C_BEGIN

enum {
  CVTM_HLCP_RING = 1024,     /* number of residuals kept between two polls by the host */
  CVTM_HLCP_SMALL_BLOCK = 32 /* rows of the largest block with a thread per row on CUDA */
};

/* The state of a solve, in device memory. */
typedef struct cvtm_hlcp_state {
  double target, residual, first;
  int64_t iteration, limit;
  int64_t pause_at;                 /* the loop ends for a poll at this iteration */
  int32_t go_on;                    /* nonzero: the loop continues */
  int32_t apply;                    /* nonzero: the current sweep changes x */
  int32_t stop;                     /* cvtm_lcp_stop, or CVTM_UNDECIDED */
  double residuals[CVTM_HLCP_RING]; /* iteration k is at index k % CVTM_HLCP_RING */
} cvtm_hlcp_state;

/* The triangular systems of one sweep. Block k begins at row cvtm_hlcp_block_start. Row e gives
 *
 *     d_e = change[e] - sum over row e of `lower`: entry times change[column],  x_e += d_e.
 *
 * A column below n means the change of a row (the Jacobi prediction); column n + e means d_e of an
 * earlier row of the same block. */
typedef struct cvtm_hlcp_systems {
  int64_t blocks, largest; /* largest: rows of the largest block */
  int chained;             /* nonzero: a d_e depends on another */
  cvtm_sell lower;         /* n x 2 n */
  int64_t block_threads;   /* as in cvtm_hlcp_options */
} cvtm_hlcp_systems;

/* All pointers are to device memory, borrowed. */
typedef struct cvtm_hlcp_arrays {
  int64_t n;
  cvtm_sell a, b; /* A and B Omega */
  double gamma;
  double alpha; /* change_i = -alpha r_i / (a_ii + share b_ii omega_i); 0: change_i = -r_i */
  double share;
  const double *q;
  const double *omega; /* n; NULL: omega_number */
  double omega_number;
  double *x;
  double *change; /* 2 n: change, and d of cvtm_hlcp_systems; n for Newton's method */
  double *partial;
  cvtm_hlcp_state *state;
  cvtm_hlcp_systems systems;
} cvtm_hlcp_arrays;

/* A Newton step on a grid of pixels. All pointers are to device memory, borrowed. */
typedef struct cvtm_hlcp_pixels {
  cvtm_lcp_grid links;
  double a, b;
  const double *q, *x;
  double *diagonal; /* a where x > 0, else b; NULL if a = b */
  uint8_t *changed; /* set to CVTM_GRID_CHANGED where the diagonal changes */
  double *squares;  /* twice the number of parts: the sum over each part of the squares of the
                       residual; then the sum over each part of the squared sizes of its terms */
} cvtm_hlcp_pixels;

/* The first unknown of block k, for n unknowns divided into blocks whose sizes differ by at most
 * one (section 4 of the paper). */
CVTM_HD int64_t cvtm_hlcp_block_start(int64_t n, int64_t blocks, int64_t k) {
  const int64_t remainder = n % blocks;
  return n / blocks * k + (k < remainder ? k : remainder);
}

/* max(x, 0), by which A is multiplied, and min(x, 0), by which B Omega is; NaN for NaN. */
CVTM_HD double cvtm_hlcp_plus(double x) { return x < 0 ? 0 : x; }
CVTM_HD double cvtm_hlcp_minus(double x) { return x > 0 ? 0 : x; }

/* r = A (|x| + x) - B Omega (|x| - x) - gamma q; half: A max(x, 0) + B Omega min(x, 0). */
CVTM_HD double cvtm_hlcp_residual(double half, double gamma, double q) {
  return 2 * half - gamma * q;
}

CVTM_HD double cvtm_hlcp_change(double r, double a, double b, double alpha, double share) {
  return alpha == 0 ? -r : -(alpha * r) / (a + share * b);
}

/* Equation (10) of the paper. */
CVTM_HD double cvtm_hlcp_z(double x, double gamma) { return x > 0 ? 2 * x / gamma : 0; }
CVTM_HD double cvtm_hlcp_w(double x, double omega, double gamma) {
  return x < 0 ? omega * (-2 * x) / gamma : 0;
}

/* Records the residual of an iterate and decides whether to carry out its sweep. squares: the sum
 * of the squares r_i^2. */
CVTM_HD void cvtm_hlcp_check(cvtm_hlcp_state *state, double squares, double gamma) {
  const double residual = sqrt(squares) / gamma;
  state->residual = residual;
  state->residuals[state->iteration % CVTM_HLCP_RING] = residual;
  if (state->iteration == 0) state->first = residual;
  const double largest = 1e12 * (1 + state->first);
  state->stop = cvtm_stop_of(residual, state->target, largest, state->iteration >= state->limit);
  state->apply = state->stop == CVTM_UNDECIDED;
  state->iteration += state->apply;
  state->go_on = state->apply && state->iteration < state->pause_at;
}

/* A list of phases (base/phases.h) for all rows. */
#define CVTM_HLCP_ROW_PHASES(X)                                                                   \
  /* Computes z and w from x, and change[i] = z_i w_i for i < n. */                               \
  X(finish, (cvtm_device * device, const cvtm_hlcp_arrays *arrays, double *z, double *w), device, \
    arrays->n, cvtm_hlcp_finish_row, CVTM_HOST_STRUCT(arrays), z, w)                              \
  /* Newton: sets out = J v, where column j of the generalised Jacobian J is that of A where      \
   * x_j > 0, else that of B. */                                                                  \
  X(apply, (cvtm_device * device, const cvtm_hlcp_arrays *arrays, const double *v, double *out),  \
    device, arrays->n, cvtm_hlcp_apply_row, CVTM_HOST_STRUCT(arrays), v, out)                     \
  /* Newton: sets inverse_i = 1 / J_ii, or 1 if J_ii is 0. */                                     \
  X(diagonal, (cvtm_device * device, const cvtm_hlcp_arrays *arrays, double *inverse), device,    \
    arrays->n, cvtm_hlcp_diagonal_row, CVTM_HOST_STRUCT(arrays), inverse)

typedef struct cvtm_hlcp_table {
  /* If the caller leaves l to the device: automatic_block is the number of rows of a block; if it
   * is 0, automatic_blocks is the number of blocks. */
  int64_t automatic_block, automatic_blocks;
  /* The number of parts over which the squares of n residuals are summed. It depends only on n, so
   * that sums do not depend on the number of threads. */
  int64_t (*parts)(int64_t n);
  /* Computes the residual r of x; from it sets change[i], i < n, and partial[p], the sum of r_i^2
   * over part p. */
  cvtm_status (*residual)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* Adds the partial sums in order, and calls cvtm_hlcp_check. */
  cvtm_status (*check)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* If state.apply, solves the triangular systems and adds d to x. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_hlcp_arrays *arrays);
  /* Newton on a grid. pixel_parts returns the number of parts of the grid. pixels sets the diagonal
   * by the signs of x, and fills in cvtm_hlcp_pixels.squares. */
  int64_t (*pixel_parts)(int64_t width, int64_t height);
  cvtm_status (*pixels)(cvtm_device *device, const cvtm_hlcp_pixels *pixels);
  CVTM_HLCP_ROW_PHASES(CVTM_PHASE_FIELD)
} cvtm_hlcp_table;

extern const cvtm_hlcp_table cvtm_hlcp_table_cpu, cvtm_hlcp_table_cuda;

/* --- a row, an unknown, a pixel --- */

/* Solves for d_e and adds it to x. */
CVTM_HD void cvtm_hlcp_solve_unknown(const cvtm_hlcp_arrays *s, int64_t e) {
  const double d = s->change[e] - cvtm_sell_row_times(&s->systems.lower, e, s->change);
  s->change[s->n + e] = d;
  s->x[e] += d;
}

CVTM_HD void cvtm_hlcp_finish_row(const cvtm_hlcp_arrays *s, double *z, double *w, int64_t i) {
  const double omega = s->omega != NULL ? s->omega[i] : s->omega_number;
  z[i] = cvtm_hlcp_z(s->x[i], s->gamma);
  w[i] = cvtm_hlcp_w(s->x[i], omega, s->gamma);
  s->change[i] = z[i] * w[i];
}

CVTM_HD void cvtm_hlcp_apply_row(const cvtm_hlcp_arrays *s, const double *v, double *out,
                                 int64_t row) {
  double sum = 0;
  for (int positive = 1; positive >= 0; --positive) {
    const cvtm_sell *m = positive ? &s->a : &s->b;
    const int64_t end = cvtm_sell_end(m, row);
    for (int64_t k = cvtm_sell_first(m, row); k < end; k += CVTM_SLICE_ROWS) {
      const int32_t j = m->column[k];
      if ((s->x[j] > 0) == positive) sum += m->value[k] * v[j];
    }
  }
  out[row] = sum;
}

CVTM_HD void cvtm_hlcp_diagonal_row(const cvtm_hlcp_arrays *s, double *inverse, int64_t row) {
  const cvtm_sell *m = s->x[row] > 0 ? &s->a : &s->b;
  const int64_t end = cvtm_sell_end(m, row);
  double sum = 0;
  for (int64_t k = cvtm_sell_first(m, row); k < end; k += CVTM_SLICE_ROWS) {
    if (m->column[k] == row) sum += m->value[k];
  }
  inverse[row] = sum != 0 ? 1 / sum : 1;
}

/* The term link * (x_p - x_q) of neighbour q, where x_q is 0 beyond the boundary; adds its size to
 * *size. */
CVTM_HD double cvtm_hlcp_link(const cvtm_hlcp_pixels *s, const double *links, int64_t place,
                              int inside, int64_t p, int64_t neighbour, double *size) {
  const cvtm_lcp_grid *grid = &s->links;
  const double constant = grid->neumann && !inside ? 0 : grid->constant;
  const double link = links != NULL ? links[place] : constant;
  const int has_unknown = inside && (grid->mask == NULL || grid->mask[neighbour] != 0);
  const double other = has_unknown ? s->x[neighbour] : 0;
  *size += link * (fabs(s->x[p]) + fabs(other));
  return link * (s->x[p] - other);
}

/* Adds r^2 to sums[0], where r is the residual of pixel (i, j), and size^2 to sums[1], where size
 * is the sum of the absolute values of the terms of r. Returns nonzero if the pixel's diagonal must
 * change. */
CVTM_HD int cvtm_hlcp_add_pixel(const cvtm_hlcp_pixels *s, int64_t i, int64_t j, double sums[2]) {
  const cvtm_lcp_grid *grid = &s->links;
  const int64_t width = grid->width, p = j * width + i;
  const double diagonal = s->x[p] > 0 ? s->a : s->b;
  const int changes = s->diagonal != NULL && s->diagonal[p] != diagonal;
  if (grid->mask != NULL && grid->mask[p] == 0) return changes;
  double size = fabs(s->q[p]) + fabs(diagonal * s->x[p]);
  double r = diagonal * s->x[p] - s->q[p];
  r += cvtm_hlcp_link(s, grid->horizontal, j * (width + 1) + i, i > 0, p, p - 1, &size);
  r += cvtm_hlcp_link(s, grid->horizontal, j * (width + 1) + i + 1, i + 1 < width, p, p + 1, &size);
  r += cvtm_hlcp_link(s, grid->vertical, p, j > 0, p, p - width, &size);
  r += cvtm_hlcp_link(s, grid->vertical, p + width, j + 1 < grid->height, p, p + width, &size);
  sums[0] += r * r;
  sums[1] += size * size;
  return changes;
}

/* Sets the diagonal by the sign of x. */
CVTM_HD void cvtm_hlcp_set_diagonal(const cvtm_hlcp_pixels *s, int64_t p) {
  s->diagonal[p] = s->x[p] > 0 ? s->a : s->b;
  s->changed[p] = CVTM_GRID_CHANGED;
}

CVTM_C_END
