/* `--checkpoint`: the state of a run in a file. */
#pragma once

#include "run/json.h"
#include "run/options.h"

/* The checkpoints of one run. */
typedef struct run_checkpoint {
  cvtm_cvt_checkpoint solve; /* for cvtm_cvt_options; its context is this struct */
  const char *path;          /* of --checkpoint; NULL: none is written */
  const char *resumed;       /* the file from which the run continues; NULL: a new run */
  run_history *history;      /* saved with the state */
  unsigned char *bytes;      /* contents of `resumed` */
} run_checkpoint;

/* CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_checkpoint_check(const cvtm_run_options *options, cvtm_error *error);
/* Checks the bytes of a file, and finds its records of iterations and its state. CVTM_ERROR_INPUT
 * if the file is no checkpoint, damaged, or from another version of the program. */
typedef struct run_checkpoint_parts {
  const unsigned char *records; /* array of cvtm_cvt_record, perhaps not aligned */
  int64_t count;
  const unsigned char *state;
  size_t state_bytes;
} run_checkpoint_parts;
cvtm_status run_checkpoint_find_parts(const char *path, const unsigned char *bytes, size_t size,
                                      run_checkpoint_parts *parts, cvtm_error *error);
/* Reads the file of --checkpoint, if it exists, into checkpoint->solve. Without the option,
 * checkpoint->solve has neither `save` nor `saved`. */
cvtm_status run_checkpoint_open(const cvtm_run_options *options, run_checkpoint *checkpoint,
                                cvtm_error *error);
/* Fills an empty history, which is borrowed, with the history of the run that is resumed. */
cvtm_status run_checkpoint_attach(run_checkpoint *checkpoint, run_history *history,
                                  cvtm_error *error);
/* Adds the name of the file to the message of a solver that refused the state. */
void run_checkpoint_explain(const run_checkpoint *checkpoint, cvtm_error *error);
void run_checkpoint_close(run_checkpoint *checkpoint);
