/* Inside equal_mass only: the power diagram of a plan's sites on a device, the linear systems of
 * Newton's method for the weights, and the phases that differ between devices. */
#pragma once

#include "base/conjugate_gradients.h"
#include "base/phases.h"
#include "cvt/evaluate_kernels.h"
#include "cvt/equal_mass/hierarchy.h"
#include "cvt/equal_mass/power_cell.h"

CVTM_C_BEGIN

/* Sums over the cells of a diagram, in the order of cvtm_power.figures. */
typedef struct cvtm_power_figures {
  double dual;      /* the value of the dual problem */
  double energy;    /* the transport cost: the sum of integrals of rho |x - x_i|^2 */
  double deviation; /* the largest |target - mass| */
  double square;    /* the sum of (target - mass)^2 */
  double empty;     /* the number of cells without corners */
  double edges;     /* the number of entries that the matrix of couplings needs */
} cvtm_power_figures;
enum { CVTM_POWER_FIGURES = 6 };

typedef struct cvtm_power_table cvtm_power_table;

/* Pointers are to device memory. An array has one entry per site, in the caller's order, unless
 * stated otherwise. */
typedef struct cvtm_power {
  cvtm_cvt *cvt;
  const cvtm_power_table *table;
  int64_t count;
  double target;         /* the mass of a cell */
  double regularisation; /* argument of cvtm_power_coupling */
  double *weight, *trial;
  double *sorted_weight, *max_weight; /* as in cvtm_power_view */
  double *deficit;                    /* target - mass: the gradient of the dual */
  double *dual;                       /* the term of each cell in the value of the dual */
  double *empty;                      /* 1 if the cell has no corners, else 0 */
  double *figures;                    /* CVTM_POWER_FIGURES */
  /* The matrix of couplings. Row i has the entries first[i] .. first[i] + degree[i] - 1, in the
   * order of the cell's corners; first[i] may differ from run to run. */
  int32_t *first, *degree;
  int32_t *neighbor; /* CUDA stores the site itself for an edge on the border; a CPU no entry */
  double *coupling, *diagonal;
  double *edge_offset;                      /* per entry: the 4 offsets of cvtm_power_edge */
  int32_t *hint_first, *hint_degree, *hint; /* first, degree, neighbor of the last diagram */
  int32_t *slot_of;
  int32_t *edges; /* the number of entries in use, of edge_capacity */
  int64_t edge_capacity;
  /* The vectors of conjugate gradients: */
  double *step, *residual, *preconditioned, *direction, *next_direction, *product;
  int32_t *iterations;            /* the number of iterations for the last system */
  cvtm_power_hierarchy hierarchy; /* of the matrix of couplings, or of an earlier similar matrix */
  double fresh_rate; /* the largest number of iterations per decimal digit with a new hierarchy */
  double excess;     /* iterations beyond fresh_rate since the hierarchy was made */
  double worth_hierarchy; /* the number of iterations that take as long as making a hierarchy on the
                           * host */
  int fresh;              /* nonzero: the hierarchy has not been used yet */
  double *sites;          /* 2 * count: the sites of the couplings */
  int has_sites;          /* nonzero: `sites` is set */
  void *state;            /* made by create_state of the table */
} cvtm_power;

/* A list of phases (base/phases.h). */
#define CVTM_POWER_PHASES(X)                                                                    \
  /* Changes the deficit to its value for other sites, to first order. */                       \
  X(predict, (cvtm_power * power, const double *sites), power->cvt->device, power->count,       \
    cvtm_power_predict_row, CVTM_HOST_STRUCT(power), sites)                                     \
  /* Changes the gradient (2 * count) of the transport cost to its value at weights + step, to  \
   * first order, and the plan's distances accordingly, except for the first `fixed` sites. */  \
  X(correct, (cvtm_power * power, int64_t fixed, double *gradient), power->cvt->device,         \
    power->count, cvtm_power_correct_row, CVTM_HOST_STRUCT(power), fixed, power->cvt->distance, \
    gradient)

struct cvtm_power_table {
  cvtm_status (*create_state)(cvtm_power *power);
  void (*destroy_state)(cvtm_power *power);
  /* Sets sorted_weight, max_weight and slot_of for the plan's tree. */
  cvtm_status (*set_weights)(cvtm_power *power, const double *weight);
  /* Sets the plan's moments to those of the power cells, and sets `empty` and the couplings. *edges
   * must be 0. */
  cvtm_status (*cells)(cvtm_power *power);
  /* Sets deficit, dual and figures from the plan's moments. */
  cvtm_status (*figures)(cvtm_power *power, const double *weight);
  /* Solves the system of the couplings for `step`. The right side is the deficit minus its mean:
   * the system is singular, so the right side must have the mean 0, and the mean of the deficit is
   * a rounding error. Conjugate gradients, preconditioned by a V-cycle of the hierarchy, stop at
   * tolerance^2 times the first r'z or after max_iterations. */
  cvtm_status (*solve)(cvtm_power *power, double tolerance, int32_t max_iterations);
  CVTM_POWER_PHASES(CVTM_PHASE_FIELD)
};

extern const cvtm_power_table cvtm_power_table_cpu, cvtm_power_table_cuda;

CVTM_C_END

static inline cvtm_power_view cvtm_power_view_of(const cvtm_power *power) {
  cvtm_power_view view;
  view.tree = cvtm_site_tree_get_view(power->cvt->tree);
  view.weight = power->sorted_weight;
  view.max_weight = power->max_weight;
  view.slot_of = power->slot_of;
  view.hint_first = power->hint_first;
  view.hint_degree = power->hint_degree;
  view.hint = power->hint;
  return view;
}

/* Row i of the matrix of couplings, a graph Laplacian, times x. */
CVTM_HD double cvtm_power_apply_row(const cvtm_power *power, const double *x, int64_t i) {
  const int32_t first = power->first[i], last = first + power->degree[i];
  double sum = 0;
  for (int32_t e = first; e < last; ++e) sum += power->coupling[e] * (x[i] - x[power->neighbor[e]]);
  return sum;
}

/* Subtracts from the deficit of cell i the mass that it gains, to first order, when the sites move
 * to `to`. */
CVTM_HD void cvtm_power_predict_row(const cvtm_power *power, const double *to, int64_t i) {
  const double *from = power->sites;
  const double vx = to[2 * i] - from[2 * i], vy = to[2 * i + 1] - from[2 * i + 1];
  const int32_t first = power->first[i], last = first + power->degree[i];
  double sum = 0;
  for (int32_t e = first; e < last; ++e) {
    const int64_t j = power->neighbor[e];
    const double ux = to[2 * j] - from[2 * j], uy = to[2 * j + 1] - from[2 * j + 1];
    const double *d = power->edge_offset + 4 * (int64_t)e;
    sum += 2 * power->coupling[e] * ((vx * d[0] + vy * d[1]) - (ux * d[2] + uy * d[3]));
  }
  power->deficit[i] -= sum;
}

/* Changes the gradient with respect to site i to its value at weights + step, to first order: the
 * mixed derivatives of the dual are those of the masses with respect to the sites, as in
 * cvtm_power_predict_row. Sets the distance from a site that is not fixed to the centroid of a cell
 * of the target mass. */
CVTM_HD void cvtm_power_correct_row(const cvtm_power *power, int64_t fixed, double *distance,
                                    double *gradient, int64_t i) {
  const int32_t first = power->first[i], last = first + power->degree[i];
  double gx = gradient[2 * i], gy = gradient[2 * i + 1];
  for (int32_t e = first; e < last; ++e) {
    const double *d = power->edge_offset + 4 * (int64_t)e;
    const double flow = 2 * power->coupling[e] * (power->step[i] - power->step[power->neighbor[e]]);
    gx -= flow * d[0];
    gy -= flow * d[1];
  }
  gradient[2 * i] = gx;
  gradient[2 * i + 1] = gy;
  if (i >= fixed) distance[i] = sqrt(gx * gx + gy * gy) / (2 * power->target);
}
