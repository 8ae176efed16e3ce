/* Inside lcp/grid, CPU only: phases on one line of a grid (the nodes of one y), in a form that
 * compilers vectorise. Compiled twice (base/host.h), for the machine's baseline and for AVX2; both
 * give the same bits. */
#pragma once

#include "lcp/grid/grid_node.h"

/* X(name, parameters, arguments): phases on line j of a five-point problem p without a mask, or on
 * line y of a level c (below level f, if given). The values are those of the function for one node,
 * except where the diagonal is constant or belongs to a coarse level: there a phase multiplies by
 * the inverse. */
#define CVTM_GRID_LINE_PHASES(X)                                                                   \
  /* Relaxes one colour. shared: another thread relaxes the same colour on a neighbouring line at  \
   * the same time. */                                                                             \
  X(relax, (const cvtm_grid_problem *p, int64_t j, int colour, double omega, int shared),          \
    (p, j, colour, omega, shared))                                                                 \
  /* Sets out = b - A x. */                                                                        \
  X(residual, (const cvtm_grid_problem *p, int64_t j, double *out), (p, j, out))                   \
  /* Measures the norms at x. */                                                                   \
  X(measure, (const cvtm_grid_problem *p, const double *x, int64_t j, cvtm_grid_norms *sum),       \
    (p, x, j, sum))                                                                                \
  /* Computes the terms of slope and curvature. */                                                 \
  X(line_search, (const cvtm_grid_problem *p, int64_t j, double *slope, double *curvature),        \
    (p, j, slope, curvature))                                                                      \
  /* Sets the residuals of active nodes to 0, and changed[i] = 1 where p->active[i] is out of      \
   * date. If `store` is nonzero, updates p->active. */                                            \
  X(truncate,                                                                                      \
    (const cvtm_grid_problem *p, int64_t j, int store, double *residual, uint8_t *changed),        \
    (p, j, store, residual, changed))                                                              \
  /* Computes d from the interpolated correction. */                                               \
  X(correct, (const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t j), (p, c, j))         \
  /* Moves x along d. */                                                                           \
  X(step, (const cvtm_grid_problem *p, int64_t j, double step), (p, j, step))                      \
  /* Coarse levels: relax_coarse relaxes both colours of line y, residual_coarse sets out = r - A  \
   * e. */                                                                                         \
  X(relax_coarse, (const cvtm_grid_level *c, int64_t y), (c, y))                                   \
  X(residual_coarse, (const cvtm_grid_level *c, int64_t y, double *out), (c, y, out))              \
  /* Bilinear transfers. lines: the fine lines 2 y .. 2 y + 2 (NULL outside the grid).             \
   * restrict_line sets c->r from their residuals, mark_changes sets c->support_changed from their \
   * changes. prolong adds the interpolated c->e to f->e. */                                       \
  X(restrict_line,                                                                                 \
    (const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height, int64_t y,                 \
     const double *const lines[3]),                                                                \
    (c, fine_width, fine_height, y, lines))                                                        \
  X(mark_changes,                                                                                  \
    (const cvtm_grid_level *c, int64_t fine_width, int64_t y, const uint8_t *const lines[3]),      \
    (c, fine_width, y, lines))                                                                     \
  X(prolong, (const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y), (f, c, y))           \
  /* Set due[x] = 1 where the stencil of (x, y) may have changed: due_below_problem for a level    \
   * next to a five-point problem, due_below_level for a level below a coarse level with both      \
   * directions halved. */                                                                         \
  X(due_below_problem, (const cvtm_grid_level *c, int64_t y, uint8_t *due), (c, y, due))           \
  X(due_below_level,                                                                               \
    (const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y, uint8_t *due), (f, c, y, due)) \
  /* P'AP: computes the stencils of the nodes x with due[x] = 1. */                                \
  X(galerkin, (const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y, const uint8_t *due), \
    (f, c, y, due))

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes no parentheses. */
typedef struct cvtm_grid_lines {
#define CVTM_GRID_LINE_PHASE(name, parameters, arguments) void(*name) parameters;
  CVTM_GRID_LINE_PHASES(CVTM_GRID_LINE_PHASE)
#undef CVTM_GRID_LINE_PHASE
} cvtm_grid_lines;
/* NOLINTEND(bugprone-macro-parentheses) */

/* The version with the widest vectors that this machine supports. */
const cvtm_grid_lines *cvtm_grid_lines_of_machine(void);
