/* The jobs of a batch, one after another: from a list in JSON lines or CSV, or from a glob
 * whose file names fill the templates among the options. */
#ifndef CVTMESH_CLI_BATCH_LIST_H
#define CVTMESH_CLI_BATCH_LIST_H

#include "base/status.h"
#include "cli/options.h"

typedef struct batch_list batch_list;

/* One run. Its options are checked; their strings belong to the job or to the options of the
 * batch. */
typedef struct batch_job {
  int64_t index; /* from 0 */
  cli_options options;
  struct batch_text *texts;
} batch_job;

/* options: of the batch, borrowed until the list is closed. A list from stdin is copied to a
 * temporary file. Fails with CVTM_ERROR_ARGUMENT if options in the list are wrong, with
 * CVTM_ERROR_INPUT if the list cannot be read. */
cvtm_status batch_list_open(const cli_options *options, batch_list **list, cvtm_error *error);
/* Reads job number `index`, which must be larger than in the call before unless the list was
 * rewound. *job is NULL after the last job. The caller frees it. */
cvtm_status batch_list_get(batch_list *list, int64_t index, batch_job **job, cvtm_error *error);
cvtm_status batch_list_rewind(batch_list *list, cvtm_error *error);
void batch_list_close(batch_list *list);
void batch_job_free(batch_job *job);

#endif
