/* Files that are either whole or absent, and whole-file reading with a limit. */
#ifndef CVTMESH_BASE_FILE_H
#define CVTMESH_BASE_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A file being written beside its final place; `-` is standard output. */
typedef struct cvtm_output cvtm_output;

cvtm_status cvtm_output_open(const char *path, cvtm_output **output, cvtm_error *error);
/* Borrowed; write to it, do not close it. */
FILE *cvtm_output_stream(cvtm_output *output);
/* Flushes, checks, renames over `path` and frees. On failure (a full disk, say)
 * the temporary file is removed and an earlier file at `path` is untouched. */
cvtm_status cvtm_output_commit(cvtm_output *output, cvtm_error *error);
/* Removes the temporary file and frees; NULL is allowed. */
void cvtm_output_abort(cvtm_output *output);

/* Reads a whole file (`-`: standard input) of at most `limit` bytes into malloc'd memory
 * that the caller frees; one extra zero byte follows the data. */
cvtm_status cvtm_file_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error);

/* The extension in lower case without the dot ("" if none), borrowed from a
 * buffer given by the caller. */
const char *cvtm_file_extension(const char *path, char *buffer, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
