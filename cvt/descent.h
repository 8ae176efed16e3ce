/* Inside cvt, power and bench: descents of the sites in device memory, cvt->sites: some steps of
 * Lloyd's method, then L-BFGS-B. */
#ifndef CVTMESH_CVT_DESCENT_H
#define CVTMESH_CVT_DESCENT_H

#include "cvt/evaluate_kernels.h"

/* The sites and the energy that are evaluated; the same for all evaluations of a run. */
typedef struct cvtm_cvt_task {
  cvtm_cvt *cvt;
  int64_t count, fixed;
  cvtm_cvt_energy energy;
  cvtm_voronoi_method voronoi;
} cvtm_cvt_task;

/* The sites that this process moves, first .. first + count - 1: all of them, or those of its rank
 * (decomposition.h). The arrays are in device memory. */
typedef struct cvtm_own_sites {
  int64_t first, count;
  int64_t fixed;                /* so many of them, the first ones, do not move */
  double *sites, *best, *scale; /* 2 * count: the sites now; the best of Lloyd's method; the scale
                                   of the variables of L-BFGS-B */
} cvtm_own_sites;

/* How a plan evaluates and moves sites: on its device alone (evaluate.c), or divided among ranks
 * (decomposition.c), where all functions are collective but `own`, `moments`, `array_bytes`,
 * `restore` and `restore_solver`. Between descents and evaluations cvt->sites and cvt->moments
 * hold all sites. */
typedef struct cvtm_evaluator {
  int waits;          /* nonzero: an evaluation has ended when its function returns */
  int solver_resizes; /* nonzero: one solver serves any number of sites */
  /* Allocates what evaluations of the task need; CVTM_ERROR_UNSUPPORTED if they cannot be done. */
  cvtm_status (*prepare)(const cvtm_cvt_task *task);
  /* cvtm_cvt_enqueue. */
  cvtm_status (*evaluate_all)(const cvtm_cvt_task *task, const double *sites, double *value,
                              double *gradient);
  /* Starts a descent from cvt->sites; if `restored`, from the sites that `restore` brings. */
  cvtm_status (*begin)(const cvtm_cvt_task *task, int restored);
  cvtm_own_sites (*own)(const cvtm_cvt_task *task);
  /* The same for the own sites. With a gradient, `value` is what a solver of `create_solver` asks
   * for: on ranks that of each own block, which the solver adds up. */
  cvtm_status (*evaluate)(const cvtm_cvt_task *task, const double *sites, double *value,
                          double *gradient);
  /* The moments of the own sites in the last evaluation. */
  cvtm_cell_moments *(*moments)(const cvtm_cvt *cvt);
  /* Ends a descent: brings the sites and moments of all ranks to cvt->sites and cvt->moments. */
  cvtm_status (*end)(const cvtm_cvt_task *task);
  cvtm_status (*create_solver)(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver);
  /* All processes take the decision of rank 0, by the clock or by a monitor. */
  cvtm_status (*agree)(const cvtm_cvt *cvt, int64_t *decision);
  /* The number of bytes of a descent's arrays: the sites and the best of all ranks, and the scale
   * if the descent is in L-BFGS-B. */
  size_t (*array_bytes)(const cvtm_cvt_task *task, int in_solver);
  /* Writes these arrays, and, if in_solver, the state of cvt->solver after them. to: on the host;
   * NULL on other ranks than 0. */
  cvtm_status (*save)(const cvtm_cvt_task *task, int in_solver, unsigned char *to);
  cvtm_status (*restore)(const cvtm_cvt_task *task, int in_solver, const unsigned char *from);
  cvtm_status (*restore_solver)(const cvtm_cvt *cvt, const unsigned char *from);
} cvtm_evaluator;

extern const cvtm_evaluator cvtm_evaluator_of_device, cvtm_evaluator_of_ranks;

/* Checks the task and allocates what its evaluations need. */
cvtm_status cvtm_cvt_prepare(const cvtm_cvt_task *task);
/* Enqueues an evaluation: sets cvt->moments, value[0] = the energy, value[1] = the largest distance
 * of a movable site to its centroid, and the gradient unless that is NULL, as it must be on a
 * device with ranks (CVTM_ERROR_UNSUPPORTED), where the call is collective and waits. All in device
 * memory. */
cvtm_status cvtm_cvt_enqueue(const cvtm_cvt_task *task, const double *sites, double *value,
                             double *gradient);
/* Reads the moments of the last evaluation into memory that the caller frees. */
cvtm_status cvtm_cvt_read_cell_moments(cvtm_cvt *cvt, int64_t count, cvtm_cell_moments **sums);
/* The same, as masses, centroids and second moments of the sites (host). */
cvtm_status cvtm_cvt_read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  const cvtm_cvt_moments *moments);
/* The number of cells without mass in the last evaluation. */
cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty);

/* Refuses sites (host) that are not finite, and a count outside 1 .. capacity. */
cvtm_status cvtm_cvt_check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count);
cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t count);
/* Copy sites (host) to cvt->sites, and back; clamped or wrapped into the domain either way. */
cvtm_status cvtm_cvt_put_sites(cvtm_cvt *cvt, const double *sites, int64_t count);
cvtm_status cvtm_cvt_get_sites(cvtm_cvt *cvt, double *sites, int64_t count);
/* *density: the plan's density on the host. *copied: what the caller frees. */
cvtm_status cvtm_cvt_find_density(cvtm_cvt *cvt, const float **density, float **copied);

/* A function of the sites to be minimised. */
typedef struct cvtm_cvt_objective {
  /* Evaluates at `sites` (2 * count): sets cvt->moments, value[0] = the function, value[1] = the
   * largest distance of a movable site to its centroid, and the gradient unless that is NULL. All
   * in device memory. For the own sites, as cvtm_evaluator.evaluate does. */
  cvtm_status (*evaluate)(void *context, const double *sites, double *value, double *gradient);
  void *context;
  int synchronous;       /* nonzero: `evaluate` waits for the device, so no graph can contain it */
  int keeps_masses;      /* nonzero: cells keep the masses that they have at the start */
  const char *undefined; /* the message if the function is not finite */
} cvtm_cvt_objective;

typedef enum cvtm_descent_stage {
  CVTM_DESCENT_START, /* nothing is evaluated yet */
  CVTM_DESCENT_LLOYD,
  CVTM_DESCENT_LBFGSB
} cvtm_descent_stage;

/* What a descent has found so far, without its arrays (cvtm_evaluator.save). All zero at the
 * start. */
typedef struct cvtm_descent_state {
  int64_t stage; /* of cvtm_descent_stage */
  int64_t iterations, evaluations;
  int64_t of_solver; /* further iterations, those of L-BFGS-B up to its last pause */
  /* Lloyd's method: */
  double last[2], best;             /* the last value of `evaluate`; the least function value */
  double decrease[CVTM_CVT_WINDOW]; /* cvtm_relative_decrease of the last steps */
  int64_t evaluated;                /* nonzero: `last` belongs to the own sites */
  /* All evaluations: */
  double seconds;   /* that they took, if they are timed */
  int64_t enqueued; /* how many */
} cvtm_descent_state;

struct cvtm_descent;

/* Pauses of long descents, in which their state can be saved: after steps of Lloyd's method, and
 * after legs of L-BFGS-B. */
typedef struct cvtm_descent_pauses {
  double seconds; /* about how long a leg takes */
  double pace;    /* seconds of an iteration per site in the last leg; 0: unknown */
  cvtm_status (*pause)(void *context, const struct cvtm_descent *descent);
  void *context;
} cvtm_descent_pauses;

/* One descent. The caller sets the fields up to `saved_bytes`; `state` is zero, or that of a pause.
 */
typedef struct cvtm_descent {
  const cvtm_cvt_task *task;
  const cvtm_cvt_objective *objective;
  const cvtm_cvt_options *options;
  double deadline;             /* of cvtm_clock; infinity: none */
  cvtm_descent_pauses *pauses; /* NULL: none */
  int timed; /* nonzero: evaluations have ended when `evaluate` returns, so their time is measured
              */
  cvtm_descent_state state;
  const unsigned char *saved; /* what cvtm_evaluator.save wrote in that pause */
  size_t saved_bytes;
  cvtm_stop stop;
} cvtm_descent;

/* Descends from cvt->sites, and leaves the result in the own sites. Their `best` holds the best
 * sites of Lloyd's method, of function value state.best. */
cvtm_status cvtm_descent_run(cvtm_descent *descent);
/* The bytes that cvtm_evaluator.save writes in a pause. */
size_t cvtm_descent_save_bytes(const cvtm_cvt_task *task, int in_solver);

/* Minimises the energy of descent->task, for options that are checked and a task that is prepared;
 * sets the descent's objective and `timed`. The deadline replaces max_seconds. The last evaluation
 * is that of the sites found. Sets all of *result that does not belong to cvtm_cvt_solve alone,
 * except empty_cells. */
cvtm_status cvtm_cvt_descend(cvtm_descent *descent, cvtm_cvt_result *result);
/* Enqueues `steps` steps of Lloyd's method and an evaluation; reads no energy. */
cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps);
/* A monitor for iterations that the run does not report as its own. The context is the run's
 * options; it calls their monitor with a record of 0 sites, which can still ask to stop. */
int cvtm_cvt_relay(void *options, const cvtm_cvt_record *record);
/* The time of cvtm_clock at which max_seconds from `start` are over; infinity without a limit. */
double cvtm_cvt_deadline(const cvtm_cvt_options *options, double start);

#endif
