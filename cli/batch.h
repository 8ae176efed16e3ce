/* The jobs of a batch, and the journal of their results. Jobs come from a list in JSON lines, or
 * from a glob; for a glob parts of each file name replace the placeholders in the options. */
#pragma once

#include "base/status.h"
#include "run/files.h"
#include "cli/options.h"

#include <cjson/cJSON.h>

typedef struct batch_list batch_list;

/* One run. Its options are checked. Their strings belong to the options, to the list or to the
 * options of the batch. */
typedef struct batch_job {
  int64_t index; /* from 0 */
  cli_options options;
} batch_job;

/* Opens the list of jobs. options: those of the batch, borrowed until the list is closed. A list
 * from stdin is copied to a temporary file. Fails with CVTM_ERROR_ARGUMENT for wrong options in the
 * list, with CVTM_ERROR_INPUT if the list cannot be read. */
cvtm_status batch_list_open(const cli_options *options, batch_list **list, cvtm_error *error);
/* Reads job number `index`, which must be larger than in the previous call unless the list was
 * rewound. *job, which the caller frees, is NULL after the last job. */
cvtm_status batch_list_get(batch_list *list, int64_t index, batch_job **job, cvtm_error *error);
cvtm_status batch_list_rewind(batch_list *list, cvtm_error *error);
void batch_list_close(batch_list *list);
void batch_job_free(batch_job *job);

/* The journal of a batch: one JSON object per line. A line is on the disk before its job counts as
 * done. The lines are {"session", "version", "host", "pid"} when a process begins, {"job", "index",
 * "input", "status": "done" | "failed", "seconds", "code", "reason"} when a job ends (`code` if it
 * is not 0). Readers skip an incomplete line. */

typedef struct batch_journal batch_journal;

/* A hash of the program's version, of the options that affect the result, and of the size and
 * modification time of every file that the job reads. */
batch_key batch_job_key(const batch_job *job);

/* Opens `path`, a new or empty file or a journal, for this process alone. base: the journal of the
 * entire batch; its shards have the journals base.shardN. resume: reads all of these; else this
 * journal starts empty, and those of its shards are removed. session: a number of this process.
 *
 * The process locks its journal (flock), and keeps the lock until it closes the journal or dies. A
 * journal that is locked by another process is refused before anything changes. Any other error of
 * locking is a failure, except on a file system without locks: then the batch continues without a
 * lock, after a note on stderr. */
cvtm_status batch_journal_open(const char *path, const char *base, int resume, int64_t session,
                               batch_journal **journal, cvtm_error *error);
/* The exit code, 0 or 4, of the job in an earlier session, if its outputs still exist; else -1. */
int batch_journal_code(const batch_journal *journal, const batch_job *job, batch_key key);
/* Appends the entry of a job. code: the exit code of the job; reason: why it failed; NULL if it is
 * done. Thread-safe. */
cvtm_status batch_journal_add(batch_journal *journal, const batch_job *job, batch_key key,
                              double seconds, int code, const char *reason, cvtm_error *error);
/* Lists the first `most` failures of this session. */
cvtm_status batch_journal_failures(const batch_journal *journal, int most, cJSON *failures,
                                   cvtm_error *error);
void batch_journal_close(batch_journal *journal);
