/* Inside lbfgsb only: the solver, a run, and functions for several files of the host side. */
#pragma once

#include "lbfgsb/divided.h"
#include "lbfgsb/panels.h"
#include "lbfgsb/rows.h"

CVTM_C_BEGIN

/* The functions that differ between devices. `start` and `round` enqueue their work on the device's
 * stream. */
typedef struct cvtm_lbfgsb_table {
  /* The number of parts of a pass over n rows, which fixes the order of sums. It depends only on n,
   * on `problems` and on the device. */
  int64_t (*parts)(cvtm_device *device, int64_t n, int64_t problems);
  /* Sets x = trial_x = x projected onto the box, and g = d = 0. Sets the states to `first`, with
   * the members that follow from the bounds, as before the first evaluation. */
  cvtm_status (*start)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                       const cvtm_lbfgsb_state *first);
  /* Runs the phases of iteration.h for every running problem. *arrays->flag becomes 0 when the loop
   * must end. */
  cvtm_status (*round)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
} cvtm_lbfgsb_table;

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cpu, cvtm_lbfgsb_table_cuda;
/* The table on CUDA for at most CVTM_LBFGSB_SMALL variables (small_cuda.cu). */
extern const cvtm_lbfgsb_table cvtm_lbfgsb_small_cuda;

/* A call of minimize or resume, or a run in reverse communication (objective NULL). */
typedef struct cvtm_lbfgsb_run {
  cvtm_lbfgsb *solver;
  cvtm_objective objective;
  void *context;
  double start_time;
  double evaluation_seconds;
  int64_t reported;     /* number of records passed to the monitor */
  int64_t records_read; /* the last value of `reported` sent to the device */
  int requested;        /* nonzero: a stop has been requested */
  int captured;         /* nonzero: the loop runs as a graph */
} cvtm_lbfgsb_run;

struct cvtm_lbfgsb {
  cvtm_device *device;
  const cvtm_lbfgsb_table *table;
  const cvtm_lbfgsb_rows_table *rows;
  cvtm_lbfgsb_options options;
  int64_t n, problems;
  int64_t capacity;      /* the n for which memory was allocated */
  int64_t total;         /* n * problems */
  int64_t everywhere;    /* n * problems over all ranks */
  int64_t finite_bounds; /* number of finite bounds among the 2 * everywhere */
  cvtm_lbfgsb_arrays arrays;
  void *block;                   /* the memory of `arrays`, without bounds and scale */
  size_t taken;                  /* number of bytes of the block in use */
  size_t model_bytes;            /* size of the model of one problem */
  int is_small;                  /* the table is cvtm_lbfgsb_small_cuda */
  double *lower, *upper, *scale; /* in `arrays` only if they are used */
  cvtm_lbfgsb_inputs *found;
  cvtm_lbfgsb_mailbox *mailbox; /* address on the host; NULL in a batch */
  cvtm_lbfgsb_state *states;    /* [problems]: copies on the host, as last read. history is 0 while
                                   there is no run to resume. */
  cvtm_lbfgsb_run reverse_run;  /* the run in reverse communication */
};

/* lbfgsb_setup.c */

/* The size of W for all problems in bytes. */
size_t cvtm_lbfgsb_w_bytes(const cvtm_lbfgsb *solver);
/* The size in bytes of arrays.values, the function values that the objective writes. */
size_t cvtm_lbfgsb_values_bytes(const cvtm_lbfgsb *solver);
/* Forgets the run: then there is no run to resume, advance or save. */
void cvtm_lbfgsb_forget_run(cvtm_lbfgsb *solver);

/* lbfgsb.c */

/* Sets the members of a state that follow from options and bounds. */
void cvtm_lbfgsb_apply_options(const cvtm_lbfgsb *solver, cvtm_lbfgsb_state *state);
cvtm_status cvtm_lbfgsb_write_states(cvtm_lbfgsb *solver);
cvtm_status cvtm_lbfgsb_read_states(cvtm_lbfgsb *solver);
/* The number of running problems, according to the copies of the states on the host. */
int64_t cvtm_lbfgsb_count_running(const cvtm_lbfgsb *solver);
/* Clears requests and mailbox, and sets the flag of the loop to the number of running problems. */
cvtm_status cvtm_lbfgsb_clear_signals(cvtm_lbfgsb *solver, int64_t running);
/* Begins reverse communication. *at: the arrays of the evaluations; at may be NULL. */
void cvtm_lbfgsb_start_reverse_run(cvtm_lbfgsb *solver, cvtm_lbfgsb_evaluation *at);

/* Nonzero if the host makes the decisions of a round and waits for its passes. */
static inline int cvtm_lbfgsb_host_decides(const cvtm_lbfgsb *solver) {
  return solver->arrays.panels != NULL || solver->arrays.divided != NULL;
}

static inline int cvtm_lbfgsb_on_cpu(const cvtm_lbfgsb *solver) {
  return cvtm_device_get_kind(solver->device) == CVTM_DEVICE_CPU;
}

CVTM_C_END
