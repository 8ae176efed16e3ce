/* Inside cvt and bench: descents of the sites cvt->sites (device memory). A descent is some steps
 * of Lloyd's method, then L-BFGS-B. */
#pragma once

#include "cvt/evaluate_kernels.h"
#include "lbfgsb/lbfgsb_state.h"

/* What to evaluate: the energy of `count` sites, of which the first `fixed` do not move. All
 * evaluations of a run have the same task. */
typedef struct cvtm_cvt_task {
  cvtm_cvt *cvt;
  int64_t count, fixed;
  cvtm_cvt_energy energy;
  cvtm_voronoi_method voronoi;
} cvtm_cvt_task;

/* The sites that this process moves, first .. first + count - 1: all sites, or those of its rank
 * (decomposition.h). The arrays are in device memory. */
typedef struct cvtm_own_sites {
  int64_t first, count;
  int64_t fixed;                /* the first `fixed` of these sites do not move */
  double *sites, *best, *scale; /* 2 * count: the current sites; the best sites of Lloyd's method;
                                   the scale of the variables of L-BFGS-B */
} cvtm_own_sites;

/* The functions by which a plan evaluates and moves sites: on its device alone (evaluate.c), or
 * divided among ranks (decomposition.c). On ranks all functions are collective except `own`,
 * `moments`, `array_bytes`, `restore` and `restore_solver`. Between descents and evaluations,
 * cvt->sites and cvt->moments have all sites. */
typedef struct cvtm_evaluator {
  int waits;          /* nonzero: `evaluate` returns only when the evaluation has ended */
  int solver_resizes; /* nonzero: a solver can be changed to another number of sites */
  /* Allocates memory for evaluations. CVTM_ERROR_UNSUPPORTED: the task cannot be evaluated. */
  cvtm_status (*prepare)(const cvtm_cvt_task *task);
  /* As cvtm_cvt_enqueue. */
  cvtm_status (*evaluate_all)(const cvtm_cvt_task *task, const double *sites, double *value,
                              double *gradient);
  /* Begins a descent from cvt->sites or, if `restored`, from the sites that `restore` will read. */
  cvtm_status (*begin)(const cvtm_cvt_task *task, int restored);
  cvtm_own_sites (*own)(const cvtm_cvt_task *task);
  /* Evaluates this process's sites. Without a gradient, `value` has the energy and the largest
   * distance of all sites. With a gradient, `value` has what a solver of `create_solver` takes: on
   * ranks the values of this rank's blocks of variables (lbfgsb_ranks.h), which the solver adds. */
  cvtm_status (*evaluate)(const cvtm_cvt_task *task, const double *sites, double *value,
                          double *gradient);
  /* The moments of this process's sites in the last evaluation. */
  cvtm_cell_moments *(*moments)(const cvtm_cvt *cvt);
  /* Ends a descent: copies the sites and moments of all ranks to cvt->sites and cvt->moments. */
  cvtm_status (*end)(const cvtm_cvt_task *task);
  cvtm_status (*create_solver)(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options,
                               cvtm_lbfgsb **solver);
  /* The size of a descent's arrays in bytes: the current and the best sites of all ranks, and the
   * scale if the descent has reached L-BFGS-B. */
  size_t (*array_bytes)(const cvtm_cvt_task *task, int in_solver);
  /* save: writes the arrays of a descent and, if in_solver, the state of cvt->solver. to: on the
   * host; NULL on ranks other than 0. restore: reads the arrays. restore_solver: reads the state of
   * the solver; from: where this state begins. */
  cvtm_status (*save)(const cvtm_cvt_task *task, int in_solver, unsigned char *to);
  cvtm_status (*restore)(const cvtm_cvt_task *task, int in_solver, const unsigned char *from);
  cvtm_status (*restore_solver)(const cvtm_cvt *cvt, const unsigned char *from);
} cvtm_evaluator;

extern const cvtm_evaluator cvtm_evaluator_of_device, cvtm_evaluator_of_ranks;

/* Checks the task and allocates memory for its evaluations. */
cvtm_status cvtm_cvt_prepare(const cvtm_cvt_task *task);
/* Enqueues an evaluation. It sets, in device memory, cvt->moments, value[0] = the energy, value[1]
 * = the largest distance of a movable site to its centroid, and the gradient unless it is NULL. On
 * a device with ranks the call is collective and waits; there it fails with CVTM_ERROR_UNSUPPORTED
 * if a gradient is wanted. */
cvtm_status cvtm_cvt_enqueue(const cvtm_cvt_task *task, const double *sites, double *value,
                             double *gradient);
/* Copies the moments of the last evaluation to *sums (count), which the caller frees. */
cvtm_status cvtm_cvt_read_cell_moments(cvtm_cvt *cvt, int64_t count, cvtm_cell_moments **sums);
/* Sets masses, centroids and second moments of the sites (host) from the last evaluation. */
cvtm_status cvtm_cvt_read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  const cvtm_cvt_moments *moments);
/* Counts the cells without mass in the last evaluation. Overwrites cvt->distance. */
cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty);

/* CVTM_ERROR_ARGUMENT: a site (host) is not finite or is too far outside the domain, or `count` is
 * not in 1 .. capacity. */
cvtm_status cvtm_cvt_check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count);
cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t count);
/* Copy sites (host) to and from cvt->sites; both clamp or wrap cvt->sites into the domain. */
cvtm_status cvtm_cvt_put_sites(cvtm_cvt *cvt, const double *sites, int64_t count);
cvtm_status cvtm_cvt_get_sites(cvtm_cvt *cvt, double *sites, int64_t count);
/* *density = the plan's density on the host; *copied = memory that the caller frees. */
cvtm_status cvtm_cvt_find_density(cvtm_cvt *cvt, const float **density, float **copied);

/* A function of the sites that a descent minimises. */
typedef struct cvtm_cvt_objective {
  /* Evaluates this process's sites (2 * count), as cvtm_evaluator.evaluate. Sets cvt->moments,
   * value[0] = the function, value[1] = the largest distance of a movable site to its centroid,
   * and, unless it is NULL, the gradient; all in device memory. */
  cvtm_status (*evaluate)(void *context, const double *sites, double *value, double *gradient);
  void *context;
  int synchronous;  /* nonzero: `evaluate` waits for the device, so no CUDA graph can hold it */
  int keeps_masses; /* nonzero: the masses of cells do not change in the descent */
  const char *undefined; /* the message if the function is not finite */
} cvtm_cvt_objective;

typedef enum cvtm_descent_stage {
  CVTM_DESCENT_START, /* before the first evaluation */
  CVTM_DESCENT_LLOYD,
  CVTM_DESCENT_LBFGSB
} cvtm_descent_stage;

/* The progress of a descent, without its arrays (which cvtm_evaluator.save writes). The caller sets
 * all members to zero for a new descent. */
typedef struct cvtm_descent_state {
  int64_t stage; /* a cvtm_descent_stage */
  int64_t iterations, evaluations;
  int64_t solver_iterations; /* iterations of L-BFGS-B up to its last pause */
  /* Lloyd's method: */
  double last[2], best; /* values of the last evaluation; lowest function value so far */
  double decrease[CVTM_LBFGSB_WINDOW]; /* cvtm_relative_decrease of the last steps */
  int64_t evaluated;                   /* nonzero: `last` is the value at the current sites */
  /* All evaluations: */
  double seconds;   /* time of all evaluations, if they are timed */
  int64_t enqueued; /* number of evaluations */
} cvtm_descent_state;

struct cvtm_descent;

/* The pauses of a long descent, in which its state can be saved: after steps of Lloyd's method, and
 * after legs of L-BFGS-B. A leg is a number of iterations between two pauses. */
typedef struct cvtm_descent_pauses {
  double seconds; /* wanted time of a leg, approximately */
  double pace;    /* seconds per iteration and site in the last leg; 0: unknown */
  cvtm_status (*pause)(void *context, const struct cvtm_descent *descent);
  void *context;
} cvtm_descent_pauses;

/* A descent. The caller sets the members before `stop`; cvtm_cvt_descend sets `objective` and
 * `timed` itself. `state` is zero for a new descent. To resume a descent, `state`, `saved` and
 * `saved_bytes` are those of the pause. */
typedef struct cvtm_descent {
  const cvtm_cvt_task *task;
  const cvtm_cvt_objective *objective;
  const cvtm_cvt_options *options;
  double deadline;             /* by cvtm_clock; infinite if there is none */
  cvtm_descent_pauses *pauses; /* NULL: none */
  int timed; /* nonzero: `evaluate` returns when the evaluation has ended; its time is measured */
  cvtm_descent_state state;
  const unsigned char *saved; /* output of cvtm_evaluator.save in the pause of `state` */
  size_t saved_bytes;
  cvtm_stop stop;
} cvtm_descent;

/* Descends from cvt->sites to cvtm_own_sites.sites. cvtm_own_sites.best gets the best sites of
 * Lloyd's method, whose function value is state.best. */
cvtm_status cvtm_descent_run(cvtm_descent *descent);
/* The number of bytes that cvtm_evaluator.save writes in a pause. */
size_t cvtm_descent_save_bytes(const cvtm_cvt_task *task, int in_solver);

/* Minimises the energy of descent->task; the options must be checked and the task prepared. Sets
 * descent->objective and descent->timed. descent->deadline replaces options->max_seconds. The last
 * evaluation is that of the resulting sites. Sets *result, except empty_cells and the members that
 * only cvtm_cvt_solve sets. */
cvtm_status cvtm_cvt_descend(cvtm_descent *descent, cvtm_cvt_result *result);
/* Enqueues `steps` steps of Lloyd's method, then an evaluation; does not read the energy. */
cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps);
/* A monitor for descents that only prepare a run. It calls the run's monitor with a record of 0
 * sites, so that the run's monitor can still stop the run. options: the run's cvtm_cvt_options, as
 * the context of this monitor. */
int cvtm_cvt_relay(void *options, const cvtm_cvt_record *record);
/* start + max_seconds; infinite without a limit. start: by cvtm_clock. */
double cvtm_cvt_deadline(const cvtm_cvt_options *options, double start);
