/* `run --checkpoint` and `--resume`: the state of a run in a file. */
#ifndef CVTMESH_CLI_CHECKPOINT_H
#define CVTMESH_CLI_CHECKPOINT_H

#include "cli/cli.h"

/* The checkpoints of one run. */
typedef struct cli_checkpoint {
  cvtm_cvt_checkpoint solve; /* for cvtm_cvt_options; its context is this struct */
  const char *path;          /* of --checkpoint; NULL: none is written */
  const char *resumed;       /* of --resume; NULL: a new run */
  cli_progress *progress;    /* its history is part of a checkpoint */
  unsigned char *bytes;      /* the file of --resume */
} cli_checkpoint;

/* Checks the options against each other. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_checkpoint_check(const cli_options *options);
/* Checks the bytes of a file: where its records of iterations and its state are in it.
 * CVTM_ERROR_INPUT if it is no checkpoint, damaged, or of another version of the program. */
typedef struct cli_checkpoint_parts {
  const unsigned char *records; /* of cvtm_cvt_record, perhaps not aligned */
  int64_t count;
  const unsigned char *state;
  size_t state_bytes;
} cli_checkpoint_parts;
cvtm_status cli_checkpoint_find_parts(const char *path, const unsigned char *bytes, size_t size,
                                      cli_checkpoint_parts *parts, cvtm_error *error);
/* Reads the file of --resume, if there is one; its state is then in checkpoint->solve. Without
 * either option checkpoint->solve has neither `save` nor `saved`. */
cvtm_status cli_checkpoint_open(const cli_options *options, cli_checkpoint *checkpoint,
                                cvtm_error *error);
/* Gives a progress that has started the history of the run that is resumed. */
cvtm_status cli_checkpoint_attach(cli_checkpoint *checkpoint, cli_progress *progress,
                                  cvtm_error *error);
/* The message of a solver that refused the state names the file. */
void cli_checkpoint_explain(const cli_checkpoint *checkpoint, cvtm_error *error);
void cli_checkpoint_close(cli_checkpoint *checkpoint);

#endif
