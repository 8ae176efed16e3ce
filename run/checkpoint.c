/* The state of a run in a file, from which another process continues it. */
#include "run/checkpoint.h"

#include "base/text.h"
#include "base/file.h"
#include "base/version.h"
#include "run/colours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct file_head {
  char magic[8];
  int32_t version, byte_order;
  char program[32];      /* version of the program that wrote the file */
  uint64_t checksums[3]; /* of the records, of the state, of this head with this checksum zero */
  int64_t records, state_bytes;
} file_head;

enum { VERSION = 1, OF_RECORDS = 0, OF_STATE, OF_HEAD };

static file_head make_head(void) {
  file_head head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, "cvtmrun", sizeof head.magic);
  head.version = VERSION;
  head.byte_order = 0x01020304;
  strncpy(head.program, cvtmesh_version(), sizeof head.program - 1);
  return head;
}

cvtm_status run_checkpoint_check(const cvtm_run_options *options, cvtm_error *error) {
  if (options->checkpoint.file == NULL && (options->given & CVTM_RUN_GIVEN_CHECKPOINT_EVERY))
    return run_usage_error(error, "--checkpoint-every needs --checkpoint");
  if (options->checkpoint.file == NULL) return CVTM_OK;
  if (strcmp(options->checkpoint.file, "-") == 0)
    return run_usage_error(error, "--checkpoint needs a regular file, not a standard stream");
  if (options->iterations == 0)
    return run_usage_error(error, "--checkpoint: with --iterations 0 there is nothing to continue");
  if (options->equal_mass.on || options->noise == CVTM_RUN_NOISE_BLUE ||
      run_colours_wanted(options))
    return cvtm_fail(error, CVTM_ERROR_USAGE,
                     "--checkpoint does not go with --equal-mass, --noise blue or --colours");
  return CVTM_OK;
}

/* --- writing -------------------------------------------------------------------------------- */

static cvtm_status write_file(const char *path, const file_head *head, const void *records,
                              const void *state, cvtm_error *error) {
  cvtm_output *output = NULL;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  FILE *stream = cvtm_output_stream(output);
  /* a failure of these writes is reported when the file is committed */
  (void)fwrite(head, sizeof *head, 1, stream);
  if (head->records > 0)
    (void)fwrite(records, sizeof(cvtm_cvt_record), (size_t)head->records, stream);
  (void)fwrite(state, 1, (size_t)head->state_bytes, stream);
  return cvtm_output_commit(output, error);
}

static cvtm_status save_file(void *context, const void *bytes, size_t count, cvtm_error *error) {
  const run_checkpoint *c = context;
  const run_history *history = c->history;
  file_head head = make_head();
  head.records = history->count;
  head.state_bytes = (int64_t)count;
  head.checksums[OF_RECORDS] =
      cvtm_checksum(history->records, (size_t)history->count * sizeof(cvtm_cvt_record));
  head.checksums[OF_STATE] = cvtm_checksum(bytes, count);
  head.checksums[OF_HEAD] = cvtm_checksum(&head, sizeof head);
  return write_file(c->path, &head, history->records, bytes, error);
}

/* --- reading -------------------------------------------------------------------------------- */

static int is_damaged(const file_head *head, const unsigned char *rest, size_t left) {
  file_head zeroed = *head;
  zeroed.checksums[OF_HEAD] = 0;
  if (cvtm_checksum(&zeroed, sizeof zeroed) != head->checksums[OF_HEAD]) return 1;
  if (head->records < 0 || (uint64_t)head->records > left / sizeof(cvtm_cvt_record)) return 1;
  const size_t records = (size_t)head->records * sizeof(cvtm_cvt_record);
  if (head->state_bytes < 0 || (uint64_t)head->state_bytes != left - records) return 1;
  return cvtm_checksum(rest, records) != head->checksums[OF_RECORDS] ||
         cvtm_checksum(rest + records, left - records) != head->checksums[OF_STATE];
}

cvtm_status run_checkpoint_find_parts(const char *path, const unsigned char *bytes, size_t size,
                                      run_checkpoint_parts *parts, cvtm_error *error) {
  const file_head wanted = make_head();
  file_head head;
  if (size < sizeof head || memcmp(bytes, wanted.magic, sizeof wanted.magic) != 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: not a checkpoint of cvtmesh", path);
  memcpy(&head, bytes, sizeof head);
  if (head.version != wanted.version || head.byte_order != wanted.byte_order ||
      memcmp(head.program, wanted.program, sizeof head.program) != 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: written by another version of cvtmesh (%.31s), or on another kind of "
                     "machine",
                     path, head.program);
  if (is_damaged(&head, bytes + sizeof head, size - sizeof head))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the checkpoint is damaged or incomplete", path);
  parts->records = bytes + sizeof head;
  parts->count = head.records;
  parts->state = parts->records + (size_t)head.records * sizeof(cvtm_cvt_record);
  parts->state_bytes = (size_t)head.state_bytes;
  return CVTM_OK;
}

cvtm_status run_checkpoint_open(const cvtm_run_options *options, run_checkpoint *c,
                                cvtm_error *error) {
  memset(c, 0, sizeof *c);
  c->path = options->checkpoint.file;
  c->solve.seconds = options->checkpoint.every;
  if (c->path != NULL) c->solve.save = save_file;
  /* thus the same command starts a run and, when repeated, continues it */
  if (c->path == NULL || access(c->path, F_OK) != 0) return CVTM_OK;
  c->resumed = c->path;
  size_t size = 0;
  run_checkpoint_parts parts;
  CVTM_TRY(cvtm_file_read(c->resumed, SIZE_MAX / 2, &c->bytes, &size, error));
  CVTM_TRY(run_checkpoint_find_parts(c->resumed, c->bytes, size, &parts, error));
  c->solve.saved = parts.state;
  c->solve.saved_bytes = parts.state_bytes;
  return CVTM_OK;
}

cvtm_status run_checkpoint_attach(run_checkpoint *c, run_history *history, cvtm_error *error) {
  c->history = history;
  c->solve.context = c;
  if (c->resumed == NULL) return CVTM_OK;
  file_head head;
  memcpy(&head, c->bytes, sizeof head);
  const unsigned char *from = c->bytes + sizeof head;
  for (int64_t k = 0; k < head.records; ++k, from += sizeof(cvtm_cvt_record)) {
    void *record = run_history_add(history, sizeof(cvtm_cvt_record));
    if (record == NULL) return run_history_check(history, error);
    memcpy(record, from, sizeof(cvtm_cvt_record));
  }
  return CVTM_OK;
}

void run_checkpoint_explain(const run_checkpoint *c, cvtm_error *error) {
  char message[sizeof error->message];
  if (c->resumed == NULL || error->status != CVTM_ERROR_INPUT) return;
  memcpy(message, error->message, sizeof message);
  cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %.400s", c->resumed, message);
}

void run_checkpoint_close(run_checkpoint *c) {
  free(c->bytes);
  c->bytes = NULL;
  c->solve.saved = NULL;
}
