/* Inside lcp/grid only: the solver's levels, and how grid_setup.c (levels, memory, coefficients),
 * grid_cycle.c (V-cycles, nested start) and grid_solver.c (create, solve) share them. */
#ifndef CVTMESH_LCP_GRID_GRID_HIERARCHY_H
#define CVTMESH_LCP_GRID_GRID_HIERARCHY_H

#include "lcp/grid/grid_kernels.h"

typedef struct cvtm_grid_solver {
  cvtm_lcp head;
  const cvtm_grid_table *table;
  int levels; /* coarse levels: level[1] .. level[levels] */
  int bottom; /* the coarsest level that cycles use */
  cvtm_grid_level level[CVTM_GRID_MAX_LEVELS];
  cvtm_grid_problem shape[CVTM_GRID_MAX_LEVELS]; /* host copies of `problem` */
  cvtm_grid_problem *problem;                    /* device memory, levels + 1 */
  cvtm_grid_level *coarse;                       /* device memory: copies of `level` */
  cvtm_grid_top top[CVTM_GRID_MAX_LEVELS];
  cvtm_loop *loop[CVTM_GRID_MAX_LEVELS]; /* the iteration on each level's problem */
  struct cvtm_grid_body {
    struct cvtm_grid_solver *solver;
    int at;
  } body[CVTM_GRID_MAX_LEVELS]; /* context of each loop */
  void *arena, *extra;          /* device memory of all grids; of those with coefficients */
  int ready;                    /* the coefficients are set */
  int linked;                   /* the levels are laid out for links of their own */
  int kind;                     /* which coefficients the loops were made for; 0: none */
  double constant, mass;        /* their values */
} cvtm_grid_solver;

/* --- grid_setup.c --- */

/* Lays out levels and their memory in place of those before, with their loops. aspect: links along
 * x over links along y. On failure the solver has no memory, and may be laid out again. */
cvtm_status cvtm_grid_lay_out(cvtm_grid_solver *s, int64_t width, int64_t height, double aspect);
/* The coefficients of all levels. */
cvtm_status cvtm_grid_set_coefficients(cvtm_grid_solver *s, const cvtm_lcp_grid *grid);

/* --- grid_cycle.c --- */

/* The loops of the iterations, in place of those before. */
cvtm_status cvtm_grid_make_loops(cvtm_grid_solver *s);
void cvtm_grid_drop_loops(cvtm_grid_solver *s);
/* Puts the problem to solve on all levels. The arrays are borrowed for the solve. */
cvtm_status cvtm_grid_set_problem(cvtm_grid_solver *s, const double *b, const double *lower,
                                  const double *upper, double *x);
/* x from the solutions of the coarser problems. */
cvtm_status cvtm_grid_nested_start(const cvtm_grid_solver *s);
/* Iterates on the problem of level `at` from its x until it converges or `limit` is reached. */
cvtm_status cvtm_grid_iterate(const cvtm_grid_solver *s, int at, int64_t limit);

#endif
