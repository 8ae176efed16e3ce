/* Inside cvt only: Newton's method for the exact energy, truncated (Dembo & Steihaug 1983): the
 * Newton system is solved roughly, by conjugate gradients with the masses as preconditioner, which
 * end where they meet negative curvature. */
#ifndef CVTMESH_CVT_NEWTON_H
#define CVTMESH_CVT_NEWTON_H

#include "base/conjugate_gradients.h"
#include "cvt/descent.h"
#include "cvt/hessian.h"

enum {
  CVTM_NEWTON_PARTS = 256, /* blocks of a sum on CUDA, at most */
  CVTM_NEWTON_CORNERS = CVTM_PULL_BLOCKS * 4 * CVTM_PULL_CORNERS
};

/* Figures of a step p, in device memory. */
enum {
  CVTM_NEWTON_SLOPE,   /* g'p */
  CVTM_NEWTON_LONGEST, /* the largest number of table->lengths */
  CVTM_NEWTON_PRODUCTS,
  CVTM_NEWTON_FIGURES
};

/* Vectors have 2 * count entries. Pointers are to device memory. */
typedef struct cvtm_newton {
  cvtm_cvt *cvt;
  int64_t count;
  cvtm_hessian hessian;
  double *gradient, *trial;
  double *step, *residual, *direction, *next_direction, *product;
  double *row;     /* count: a number of each row, to be summed */
  double *figures; /* CVTM_NEWTON_FIGURES */
  void *workspace; /* of reductions */
  size_t workspace_bytes;
  double *part;      /* CUDA: 2 * CVTM_NEWTON_PARTS */
  int32_t *deferred; /* CUDA: their number, and the places of cells for tree clipping */
  double *corners;   /* CUDA: CVTM_NEWTON_CORNERS, of such cells */
} cvtm_newton;

typedef struct cvtm_newton_table {
  /* Sets the Hessian at the sites in the plan's tree, with its boxes, from the plan's moments;
   * used[0] and used[1] are 0 before. */
  cvtm_status (*assemble)(cvtm_newton *newton);
  /* Sets step and figures[CVTM_NEWTON_PRODUCTS]; ends where the squared norm of the residual is
   * tolerance^2 of its first value, after max_products, or at negative curvature. */
  cvtm_status (*solve)(cvtm_newton *newton, double tolerance, int32_t max_products);
  /* row[i] = |p_i| over the root mean square radius of cell i. */
  cvtm_status (*lengths)(cvtm_newton *newton);
  /* trial = sites + length * step, inside the domain. */
  cvtm_status (*advance)(cvtm_newton *newton, double length);
} cvtm_newton_table;

#ifdef __cplusplus
extern "C" {
#endif
extern const cvtm_newton_table cvtm_newton_cpu, cvtm_newton_cuda;
#ifdef __cplusplus
}
#endif

/* For newton->cvt, count, hessian.count and hessian.fixed: allocates the rest. On failure nothing
 * is kept. */
cvtm_status cvtm_newton_create(cvtm_newton *newton);
void cvtm_newton_destroy(cvtm_newton *newton);

/* Moves cvt->sites, which a descent has ended at, until no site is farther from its centroid than
 * the gradient tolerance (1e-8 if that is 0), and changes *result accordingly. max_iterations
 * limits these iterations alone. */
cvtm_status cvtm_newton_run(const cvtm_cvt_task *task, const cvtm_cvt_options *options,
                            double deadline, cvtm_cvt_result *result);

/* --- conjugate gradients, for both devices
 * --------------------------------------------------------- */

/* The first direction leads to the centroids: it is taken whole if its curvature d'Hd is not
 * positive. */
CVTM_HD void cvtm_newton_set_alpha(cvtm_cg *cg, double curvature) {
  cvtm_cg_set_alpha(cg, curvature);
  if (!cg->running && cg->iteration == 1) cg->alpha = 1;
}

/* Begins with row i. Returns its part of the squared norm. */
CVTM_HD double cvtm_newton_begin_row(const cvtm_newton *n, int64_t i) {
  const double inverse = n->hessian.inverse[i];
  double square = 0;
  for (int64_t k = 2 * i; k < 2 * i + 2; ++k) {
    n->step[k] = n->direction[k] = 0;
    n->residual[k] = inverse > 0 ? -n->gradient[k] : 0;
    square += inverse * n->residual[k] * n->residual[k];
  }
  return square;
}

/* Coordinate k of the next direction. */
CVTM_HD double cvtm_newton_direction(const cvtm_newton *n, const double *last, double beta,
                                     int64_t k) {
  return n->hessian.inverse[k / 2] * n->residual[k] + beta * last[k];
}

/* Sets row i of the next direction and of its product with the Hessian. Returns its part of their
 * product. The directions of the neighbours are computed anew, since other threads set them. */
CVTM_HD double cvtm_newton_multiply_row(const cvtm_newton *n, const double *last, double beta,
                                        double *next, int64_t i) {
  const cvtm_hessian *h = &n->hessian;
  const double *d = h->diagonal + 3 * i;
  const double x = cvtm_newton_direction(n, last, beta, 2 * i);
  const double y = cvtm_newton_direction(n, last, beta, 2 * i + 1);
  double px = d[0] * x + d[1] * y, py = d[1] * x + d[2] * y;
  for (int32_t e = h->first[i]; e < h->first[i] + h->degree[i]; ++e) {
    const double *block = h->block + 4 * (int64_t)e;
    const int64_t j = h->neighbor[e];
    const double vx = cvtm_newton_direction(n, last, beta, 2 * j);
    const double vy = cvtm_newton_direction(n, last, beta, 2 * j + 1);
    px += block[0] * vx + block[1] * vy;
    py += block[2] * vx + block[3] * vy;
  }
  next[2 * i] = x;
  next[2 * i + 1] = y;
  n->product[2 * i] = px;
  n->product[2 * i + 1] = py;
  return x * px + y * py; /* x = y = 0 in the rows that stay */
}

/* Returns row i's part of the new squared norm. */
CVTM_HD double cvtm_newton_move_row(const cvtm_newton *n, const double *direction, double alpha,
                                    int64_t i) {
  double square = 0;
  for (int64_t k = 2 * i; k < 2 * i + 2; ++k) {
    n->step[k] += alpha * direction[k];
    n->residual[k] -= alpha * n->product[k];
    square += n->residual[k] * n->residual[k];
  }
  return n->hessian.inverse[i] * square;
}

CVTM_HD double cvtm_newton_row_length(const cvtm_newton *n, const cvtm_cell_moments *cell,
                                      int64_t i) {
  const double x = n->step[2 * i], y = n->step[2 * i + 1];
  return cell->second > 0 ? sqrt((x * x + y * y) * cell->mass / cell->second) : 0;
}

CVTM_HD void cvtm_newton_advance_row(const cvtm_newton *n, cvtm_domain domain, const double *sites,
                                     double length, int64_t i) {
  const double *from = sites + 2 * i, *step = n->step + 2 * i;
  n->trial[2 * i] = cvtm_cvt_inside(from[0] + length * step[0], domain.width, domain.periodic);
  n->trial[2 * i + 1] = cvtm_cvt_inside(from[1] + length * step[1], domain.height, domain.periodic);
}

#endif
