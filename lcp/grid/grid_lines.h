/* Inside lcp/grid, CPU only: phases on one line of a grid (the nodes of one y) at a time, in a form
 * that compilers turn into vector code. Compiled twice (base/host.h), for the machine's baseline
 * and for AVX2, with the same bits. */
#ifndef CVTMESH_LCP_GRID_GRID_LINES_H
#define CVTMESH_LCP_GRID_GRID_LINES_H

#include "lcp/grid/grid_types.h"

/* Norms of the natural residual over some nodes. */
typedef struct cvtm_grid_norms {
  double squares, maximum;
  double rounding; /* sum of squares of the terms' sizes */
} cvtm_grid_norms;

/* Phases on line j of a five-point problem, which must have no mask, or on line y of level c (or of
 * the coarser one of two). Every value is that of the function for one node, but for diagonals that
 * are constant or of a coarse level: there lines multiply by the inverse. */
typedef struct cvtm_grid_lines {
  /* --- the five-point problem --- */

  /* One colour. shared: another thread relaxes the same colour of a line next to this one at the
   * same time. */
  void (*relax)(const cvtm_grid_problem *p, int64_t j, int colour, double omega, int shared);
  /* out = b - A x. */
  void (*residual)(const cvtm_grid_problem *p, int64_t j, double *out);
  cvtm_grid_norms (*measure)(const cvtm_grid_problem *p, const double *x, int64_t j);
  void (*line_search)(const cvtm_grid_problem *p, int64_t j, double *slope, double *curvature);
  /* Sets the residuals of active nodes to 0; changed[i]: p->active[i] is no longer true, which
   * `store` brings up to date. */
  void (*truncate)(const cvtm_grid_problem *p, int64_t j, int store, double *residual,
                   uint8_t *changed);
  /* d from the interpolated correction. */
  void (*correct)(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t j);
  /* x moved along d. */
  void (*step)(const cvtm_grid_problem *p, int64_t j, double step);

  /* --- coarse levels --- */

  /* Both colours of line y. */
  void (*relax_coarse)(const cvtm_grid_level *c, int64_t y);
  /* out = r - A e. */
  void (*residual_coarse)(const cvtm_grid_level *c, int64_t y, double *out);

  /* --- transfers, bilinear --- */

  /* c->r from the residuals of the three fine lines 2 y .. 2 y + 2 (NULL: outside the grid). */
  void (*restrict_line)(const cvtm_grid_level *c, int64_t fine_width, int64_t fine_height,
                        int64_t y, const double *const residual[3]);
  /* c->support_changed from the changes of the three fine lines. */
  void (*mark_changes)(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
                       const uint8_t *const changed[3]);
  /* f->e += interpolated c->e. */
  void (*prolong)(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y);

  /* --- P'AP --- */

  /* due[x] = 1: the stencil of (x, y) may have changed. Right below a five-point problem, and below
   * a coarse level with both directions halved. */
  void (*due_below_problem)(const cvtm_grid_level *c, int64_t y, uint8_t *due);
  void (*due_below_level)(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y,
                          uint8_t *due);
  /* The stencils of the nodes x with due[x] = 1. */
  void (*galerkin)(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
                   const uint8_t *due);
} cvtm_grid_lines;

/* The widest version that this machine runs. */
const cvtm_grid_lines *cvtm_grid_lines_of_machine(void);

#endif
