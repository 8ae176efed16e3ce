/* Inside cvt only: evaluations and descents of the sites that are in device memory, cvt->sites. */
#ifndef CVTMESH_CVT_DESCENT_H
#define CVTMESH_CVT_DESCENT_H

#include "cvt/cvt_kernels.h"

/* What is evaluated; the same for all evaluations of a run. */
typedef struct cvtm_cvt_task {
  cvtm_cvt *cvt;
  int64_t count, fixed;
  cvtm_cvt_energy energy;
  cvtm_voronoi_method voronoi;
} cvtm_cvt_task;

/* Checks the task and allocates what its evaluations need. */
cvtm_status cvtm_cvt_prepare(const cvtm_cvt_task *task);
/* cvt->sums of the sites; value[0] = the energy, value[1] = the largest distance of a movable
 * site to its centroid; gradient may be NULL. All in device memory. */
cvtm_status cvtm_cvt_enqueue(const cvtm_cvt_task *task, const double *sites, double *value,
                             double *gradient);
/* The sums of the last evaluation, in memory that the caller frees. */
cvtm_status cvtm_cvt_read_sums(cvtm_cvt *cvt, int64_t count, cvtm_cell_sums **sums);
/* The same as moments of the sites (host). */
cvtm_status cvtm_cvt_read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  const cvtm_cvt_moments *moments);
/* How many of their masses are zero. */
cvtm_status cvtm_cvt_count_empty(cvtm_cvt *cvt, int64_t count, int64_t *empty);

/* On the host; 1 <= count <= capacity, and all finite. */
cvtm_status cvtm_cvt_check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count);
/* Sites (host) to cvt->sites, and back; moved inside the domain on either way. */
cvtm_status cvtm_cvt_put_sites(cvtm_cvt *cvt, const double *sites, int64_t count);
cvtm_status cvtm_cvt_get_sites(cvtm_cvt *cvt, double *sites, int64_t count);

cvtm_status cvtm_cvt_check_options(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t count);
/* Enqueues `steps` of Lloyd's method, without a look at the energy, and an evaluation. */
cvtm_status cvtm_cvt_enqueue_lloyd(const cvtm_cvt_task *task, int steps);
/* cvt->solver, its variables scaled by the masses of the last evaluation if they are to be equal,
 * else by those that the cells will have. */
cvtm_status cvtm_cvt_prepare_solver(const cvtm_cvt_task *task, const cvtm_lbfgsb_options *options,
                                    int equal_mass);
/* A monitor for iterations that do not belong to the run's own descent; its context is the run's
 * options. Calls the monitor of these options with a record of 0 sites, so that it can stop them.
 */
int cvtm_cvt_relay(void *options, const cvtm_cvt_record *record);
/* When max_seconds from `start` are over, in seconds of cvtm_clock; infinity without a limit. */
double cvtm_cvt_deadline(const cvtm_cvt_options *options, double start);
/* From cvt->sites to lower energy, there again; the last evaluation is of them. Options are
 * checked, the task prepared; the deadline is in place of max_seconds. Leaves empty_cells alone,
 * and all figures of cvtm_cvt_solve. */
cvtm_status cvtm_cvt_descend(const cvtm_cvt_task *task, const cvtm_cvt_options *options,
                             double deadline, cvtm_cvt_result *result);

#endif
