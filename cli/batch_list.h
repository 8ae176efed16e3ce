/* The jobs of a batch, one after another: from a list in JSON lines or CSV, or from a glob
 * whose file names fill the templates among the options. */
#ifndef CVTMESH_CLI_BATCH_LIST_H
#define CVTMESH_CLI_BATCH_LIST_H

#include "base/status.h"
#include "cli/options.h"

typedef struct batch_list batch_list;

/* Options of `run`, checked; their strings live as long as the job or the batch's options. */
typedef struct batch_job {
  int64_t index; /* from 0 */
  cli_options options;
  struct batch_text *texts;
} batch_job;

/* options: of the batch, borrowed until the list is closed. A list from stdin is spooled
 * to a temporary file. CVTM_ERROR_ARGUMENT for wrong options in a list, CVTM_ERROR_INPUT for
 * one that cannot be read. */
cvtm_status batch_list_open(const cli_options *options, batch_list **list, cvtm_error *error);
/* Job number `index`; indices of successive calls rise, unless the list is rewound.
 * *job is NULL behind the last one. The caller frees. */
cvtm_status batch_list_get(batch_list *list, int64_t index, batch_job **job, cvtm_error *error);
cvtm_status batch_list_rewind(batch_list *list, cvtm_error *error);
void batch_list_close(batch_list *list);
void batch_job_free(batch_job *job);

#endif
