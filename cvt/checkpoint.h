/* Inside cvt only: checkpoints of cvtm_cvt_solve.
 *
 * cvtm_cvt_solve is a sequence of descents, with steps between them that depend on what the
 * descents found. A checkpoint is made inside a descent. It holds the numbers that decisions were
 * based on so far (the notes), and the arrays at that moment. A run that continues goes through the
 * same functions again: up to the descent of the checkpoint it takes the numbers from the notes and
 * skips the work on arrays (it replays); there it restores the arrays, and continues. */
#ifndef CVTMESH_CVT_CHECKPOINT_H
#define CVTMESH_CVT_CHECKPOINT_H

#include "cvt/descent.h"

struct cvtm_checkpoint;
typedef struct cvtm_checkpoint cvtm_checkpoint;

/* What identifies a run: all on which its sites depend. */
typedef struct cvtm_checkpoint_run {
  cvtm_cvt *cvt;
  const cvtm_cvt_options *options;
  const float *density;
  const double *sites; /* on the host: the given ones */
  int64_t given, count;
} cvtm_checkpoint_run;

/* With options->checkpoint. Reads the state of a run to be continued; CVTM_ERROR_INPUT if it is
 * damaged or that of another run. The caller destroys. */
cvtm_status cvtm_checkpoint_create(const cvtm_checkpoint_run *run, cvtm_checkpoint **checkpoint);
void cvtm_checkpoint_destroy(cvtm_checkpoint *checkpoint);
/* Seconds that the run had been at work when its state was saved; 0 of a new run. */
double cvtm_checkpoint_elapsed(const cvtm_checkpoint *checkpoint);

/* --- for the steps between descents; NULL: there are no checkpoints ----------------------------
 */

/* The run is on the way to the descent of its checkpoint: work on arrays is to be skipped. */
int cvtm_checkpoint_replays(const cvtm_checkpoint *checkpoint);
/* A number on which a decision depends: noted, or replaced by the number of the notes. */
cvtm_status cvtm_checkpoint_note(cvtm_checkpoint *checkpoint, int64_t *value);
/* An array, on the device or on the host, that is saved from now on; memory: the address of its
 * pointer. NULL: no longer. */
void cvtm_checkpoint_keep_device(cvtm_checkpoint *checkpoint, const cvtm_array *array);
void cvtm_checkpoint_keep_host(cvtm_checkpoint *checkpoint, const cvtm_array *array);

/* The result of a descent: noted. */
cvtm_status cvtm_checkpoint_note_descent(cvtm_checkpoint *checkpoint, const cvtm_cvt_result *found);
/* Returns 1 and the noted result if the notes have this descent; 0 if it must be done. */
int cvtm_checkpoint_recall_descent(cvtm_checkpoint *checkpoint, cvtm_cvt_result *found);

/* --- for descents, of the plan's checkpoint, which may be NULL ---------------------------------
 */

/* The descent that begins is that of the checkpoint. */
int cvtm_checkpoint_continues(const cvtm_cvt *cvt);
/* Restores the plan's arrays and the fields of `descent`. *in_lbfgsb: it had left Lloyd's method;
 * then cvtm_checkpoint_restore_solver must follow, once the plan's solver is prepared. */
cvtm_status cvtm_checkpoint_restore(cvtm_descent *descent, int *in_lbfgsb);
/* *iterations: of L-BFGS-B so far. */
cvtm_status cvtm_checkpoint_restore_solver(cvtm_descent *descent, int64_t *iterations);
/* Saves the state if it is time for it. iterations: of L-BFGS-B so far; negative: the descent is in
 * Lloyd's method. */
cvtm_status cvtm_checkpoint_visit(cvtm_descent *descent, int64_t iterations);
/* The iterations of L-BFGS-B on `sites` sites up to the next visit. iterations, seconds: of those
 * since the last; 0 if the descent begins. A leg costs a few milliseconds on CUDA, where it is a
 * separate graph, so the first one follows the time that the descent before took. */
int64_t cvtm_checkpoint_leg(const cvtm_cvt *cvt, int64_t sites, int64_t iterations, double seconds);

#endif
