/* Inside cvt only: power diagrams of the sites of a plan, the weights that give all cells one
 * mass, and the phases that differ between devices. */
#ifndef CVTMESH_POWER_POWER_KERNELS_H
#define CVTMESH_POWER_POWER_KERNELS_H

#include "cvt/cvt_kernels.h"
#include "power/power_cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a diagram; the order of the array of the same length. */
typedef struct cvtm_power_figures {
  double dual;      /* the value of the dual problem */
  double energy;    /* the transport cost: integrals of rho |x - x_i|^2 */
  double deviation; /* largest |target - mass| */
  double square;    /* sum of its squares */
  double hidden;    /* not 0: some cell has no corners */
  double edges;     /* entries of the couplings that were asked for */
} cvtm_power_figures;
enum { CVTM_POWER_FIGURES = 6 };

/* Conjugate gradients. */
typedef struct cvtm_power_cg {
  double square; /* of the residual and the preconditioned one */
  double enough; /* square at which it ends */
  double length; /* of the step */
  double turn;   /* the next direction has this much of the last */
  int32_t iteration, most;
  int32_t running;
} cvtm_power_cg;

typedef struct cvtm_power_table cvtm_power_table;

/* Pointers are to device memory; arrays by site, in the caller's order, unless said otherwise. */
typedef struct cvtm_power {
  cvtm_cvt *cvt;
  const cvtm_power_table *table;
  int64_t count;
  double target; /* mass of a cell */
  double bridge; /* of cvtm_power_coupling */
  double *weight, *trial;
  double *sorted_weight, *heaviest; /* of cvtm_power_view */
  double *missing;                  /* target - mass: the gradient of the dual */
  double *dual;                     /* each cell's share of it */
  double *hidden;                   /* 1: the cell has no corners */
  double *figures;
  /* Row i of the couplings: edges first[i] .. first[i] + degree[i] - 1. A row's order is that of
   * the cell's corners; where it begins may differ from run to run. */
  int32_t *first, *degree;
  int32_t *neighbor; /* a site itself where there is none */
  double *coupling, *diagonal;
  double *arm;                              /* of cvtm_power_link */
  int32_t *hint_first, *hint_degree, *hint; /* first, degree and neighbor of the diagram before */
  int32_t *place_of;
  int32_t *edges; /* how many are taken of edge_capacity */
  int64_t edge_capacity;
  /* Conjugate gradients. */
  double *step, *residual, *preconditioned, *direction, *turned, *image;
  int32_t *iterations; /* of the last system */
  double *sites;       /* 2 * count: of the couplings, */
  int has_sites;       /* if there are any */
  void *state;         /* of the table */
} cvtm_power;

struct cvtm_power_table {
  cvtm_status (*create_state)(cvtm_power *power);
  void (*destroy_state)(cvtm_power *power);
  /* sorted_weight, heaviest and place_of of the plan's tree. */
  cvtm_status (*weigh)(cvtm_power *power, const double *weight);
  /* The plan's sums over the power cells; hidden; the couplings. *edges is 0 before. */
  cvtm_status (*cells)(cvtm_power *power);
  /* missing, dual and figures from the sums. */
  cvtm_status (*figures)(cvtm_power *power, const double *weight);
  /* missing, as it will be at other sites; to first order. */
  cvtm_status (*predict)(cvtm_power *power, const double *sites);
  /* step = the solution of the couplings' system for what is missing, less its mean, which is
   * rounding: the system is singular. By conjugate gradients,
   * until the residual's square in the preconditioner's norm is tolerance^2 of the first one, or
   * after `most` iterations. */
  cvtm_status (*solve)(cvtm_power *power, double tolerance, int32_t most);
};

extern const cvtm_power_table cvtm_power_table_cpu, cvtm_power_table_cuda;

#ifdef __cplusplus
}
#endif

static inline cvtm_power_view cvtm_power_view_of(const cvtm_power *power) {
  cvtm_power_view view;
  view.tree = cvtm_site_tree_get_view(power->cvt->tree);
  view.weight = power->sorted_weight;
  view.heaviest = power->heaviest;
  view.place_of = power->place_of;
  view.hint_first = power->hint_first;
  view.hint_degree = power->hint_degree;
  view.hint = power->hint;
  return view;
}

/* Row i of the couplings times x. */
CVTM_HD double cvtm_power_apply_row(const cvtm_power *power, const double *x, int64_t i) {
  const int32_t first = power->first[i], last = first + power->degree[i];
  double sum = 0;
  for (int32_t e = first; e < last; ++e) sum += power->coupling[e] * (x[i] - x[power->neighbor[e]]);
  return sum;
}

/* The mass that cell i gains when the sites move to `to`: each edge moves with both its sites. */
CVTM_HD double cvtm_power_gain_row(const cvtm_power *power, const double *to, int64_t i) {
  const double *from = power->sites;
  const double vx = to[2 * i] - from[2 * i], vy = to[2 * i + 1] - from[2 * i + 1];
  const int32_t first = power->first[i], last = first + power->degree[i];
  double sum = 0;
  for (int32_t e = first; e < last; ++e) {
    const int64_t j = power->neighbor[e];
    const double ux = to[2 * j] - from[2 * j], uy = to[2 * j + 1] - from[2 * j + 1];
    const double *arm = power->arm + 4 * (int64_t)e;
    sum += 2 * power->coupling[e] * ((vx * arm[0] + vy * arm[1]) - (ux * arm[2] + uy * arm[3]));
  }
  return sum;
}

CVTM_HD double cvtm_power_precondition(const cvtm_power *power, int64_t i) {
  return power->diagonal[i] > 0 ? power->residual[i] / power->diagonal[i] : 0;
}

CVTM_HD cvtm_power_cg cvtm_power_cg_begin(double square, double tolerance, int32_t most) {
  cvtm_power_cg cg;
  cg.square = square;
  cg.enough = tolerance * tolerance * square;
  cg.length = cg.turn = 0;
  cg.iteration = 0;
  cg.most = most;
  cg.running = square > 0;
  return cg;
}

/* product: of the direction and its image. */
CVTM_HD void cvtm_power_cg_measure(cvtm_power_cg *cg, double product) {
  cg->length = product > 0 ? cg->square / product : 0;
}

/* After a step; square: of the new residual. */
CVTM_HD void cvtm_power_cg_decide(cvtm_power_cg *cg, double square) {
  cg->turn = square / cg->square;
  cg->square = square;
  ++cg->iteration;
  cg->running = cg->length > 0 && square > cg->enough && cg->iteration < cg->most;
}

#endif
