/* Inside lcp/grid only: the problem on a level, the coarse operator of a level, and the planes that
 * a stencil is stored in. C11 and CUDA C++.
 *
 * Level 0 is the given grid. Every level holds a five-point problem (the nested start solves those
 * of the coarser levels); levels from 1 on also hold a nine-point Galerkin operator, which corrects
 * the five-point problem of the level above or the Galerkin operator of the level above. */
#ifndef CVTMESH_LCP_GRID_GRID_TYPES_H
#define CVTMESH_LCP_GRID_GRID_TYPES_H

#include "base/portable.h"
#include "lcp/stop.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* For loops of few rounds whose indices must be constants when they are compiled. */
#if defined(__CUDACC__)
#ifdef __CUDA_ARCH__
#define CVTM_UNROLL _Pragma("unroll")
#else
#define CVTM_UNROLL
#endif
#elif defined(__clang__)
#define CVTM_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__OPTIMIZE__) /* gcc warns of annotations that it ignores */
#define CVTM_UNROLL _Pragma("GCC unroll 8")
#else
#define CVTM_UNROLL
#endif

/* Planes of a coarse operator: the diagonal, and the links (negated off-diagonal entries) to the
 * east, south, south-east and south-west. The operator is symmetric: the other four links of a node
 * are stored at its neighbours. */
enum {
  CVTM_GRID_DIAGONAL,
  CVTM_GRID_EAST,
  CVTM_GRID_SOUTH,
  CVTM_GRID_SOUTH_EAST,
  CVTM_GRID_SOUTH_WEST,
  CVTM_GRID_PLANES
};
/* Planes of stored interpolation weights. A block holds the fine nodes (2 X, 2 Y) .. (2 X + 1,
 * 2 Y + 1). Planes 0-3: weights of the node amid four coarse nodes, at 2 ky + kx; planes 4-5: of
 * the node between two coarse nodes in x; planes 6-7: between two in y. */
enum { CVTM_GRID_WEIGHTS = 8 };

/* The five-point problem of a level. Arrays hold width * height numbers unless cvtm_lcp_grid says
 * otherwise. */
typedef struct cvtm_grid_problem {
  int64_t width, height;
  const double *diagonal, *horizontal, *vertical; /* as in cvtm_lcp_grid */
  double constant, mass;                          /* as in cvtm_lcp_grid */
  int neumann;
  const uint8_t *mask;
  const double *b, *lower, *upper;
  double *x;
  double *d;       /* the correction before its line search */
  uint8_t *active; /* 1: masked, or at a bound and truncated from the coarse bases */
} cvtm_grid_problem;

/* What is known of a coarse stencil without reading its coefficients. */
enum cvtm_grid_stencil_kind {
  CVTM_GRID_VARYING,  /* nothing */
  CVTM_GRID_CONSTANT, /* it is the stencil of the level's constant operator */
  CVTM_GRID_EMPTY     /* its basis function is truncated altogether: the diagonal is 0 */
};

/* A coarse level. Arrays hold width * height elements unless said otherwise. */
typedef struct cvtm_grid_level {
  int64_t width, height;
  int halved_x, halved_y; /* against the finer level */
  int neumann;            /* closed-form weights are constant beyond the boundary */
  double *coefficient;    /* CVTM_GRID_PLANES planes */
  double *e, *r, *lower, *upper;
  double *scratch; /* e between down and up phases, or lines of residuals: the device chooses */
  /* 1: active nodes changed in the support; used right below a five-point problem only. */
  uint8_t *support_changed;
  uint8_t *stencil_changed; /* 1: the stencil may have changed in this cycle */
  uint8_t *kind;            /* cvtm_grid_stencil_kind of each stencil */
  float *weight;            /* CVTM_GRID_WEIGHTS planes of blocks_x * blocks_y; NULL: closed form */
  int64_t blocks_x, blocks_y;
} cvtm_grid_level;

/* The level above a coarse one: a five-point problem, or a coarse level. */
typedef struct cvtm_grid_finer {
  const cvtm_grid_problem *problem; /* NULL: the finer level is `level` */
  const cvtm_grid_level *level;
} cvtm_grid_finer;

/* --- bounds and active nodes of a five-point problem --- */

CVTM_HD double cvtm_grid_lower(const cvtm_grid_problem *p, int64_t k) {
  return p->lower ? p->lower[k] : -(double)INFINITY;
}

CVTM_HD double cvtm_grid_upper(const cvtm_grid_problem *p, int64_t k) {
  return p->upper ? p->upper[k] : (double)INFINITY;
}

CVTM_HD int cvtm_grid_masked(const cvtm_grid_problem *p, int64_t k) {
  return p->mask && !p->mask[k];
}

/* True if node k is excluded from the coarse bases: masked, or at a bound. */
CVTM_HD int cvtm_grid_is_active(const cvtm_grid_problem *p, int64_t k) {
  if (cvtm_grid_masked(p, k)) return 1;
  return p->x[k] <= cvtm_grid_lower(p, k) || p->x[k] >= cvtm_grid_upper(p, k);
}

CVTM_HD int64_t cvtm_grid_finer_width(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->width : f->level->width;
}

CVTM_HD int64_t cvtm_grid_finer_height(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->height : f->level->height;
}

/* Flags of the nodes truncated from the coarse bases; NULL: no node is. */
CVTM_HD const uint8_t *cvtm_grid_finer_flags(const cvtm_grid_finer *f) {
  return f->problem ? f->problem->active : NULL;
}

CVTM_HD int cvtm_grid_finer_active(const cvtm_grid_finer *f, int64_t i, int64_t j) {
  return f->problem && f->problem->active[j * f->problem->width + i];
}

#endif
