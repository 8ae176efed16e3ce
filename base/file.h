/* Writes files that are either complete or absent, and reads whole files up to a limit. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

CVTM_API_BEGIN

/* A file that is written as .cvtmesh-*.tmp in the folder of its final path, and then renamed. The
 * path `-` is standard output. A file in memory (below) has precedence over a file on the disk. */
typedef struct cvtm_output cvtm_output;

/* Opens a file for writing. The first call of a process for a folder also removes from it the
 * temporary files of processes that have ended. */
cvtm_status cvtm_output_open(const char *path, cvtm_output **output, cvtm_error *error);
/* The stream to write to; borrowed, not to be closed. */
FILE *cvtm_output_stream(cvtm_output *output);
/* Flushes and syncs the file, renames it to its final path, syncs the folder and frees the handle.
 * After CVTM_OK a power failure cannot lose the file, if the file system can sync folders. On
 * failure, as with a full disk, the temporary file is removed and an earlier file at the path is
 * unchanged; if only the sync of the folder failed, the new file is at the path. */
cvtm_status cvtm_output_commit(cvtm_output *output, cvtm_error *error);
/* Removes the temporary file and frees the handle; NULL is allowed. */
void cvtm_output_abort(cvtm_output *output);

/* Syncs the folder of `path`, so that a power failure does not revert files that were created,
 * renamed or removed in it. Does nothing where the file system cannot sync or the folder may not be
 * read. */
cvtm_status cvtm_folder_sync(const char *path, cvtm_error *error);

/* The limit for readers without a limit of their own: 512 GiB; 2 GiB with 32-bit addresses. */
#define CVTM_FILE_MOST (SIZE_MAX >> (SIZE_MAX > UINT32_MAX ? 25 : 1))

/* Reads a file (`-`: standard input) of at most `limit` bytes into malloc'd memory that the caller
 * frees; a zero byte follows the data. A file in memory (below) has precedence over a file on the
 * disk. */
cvtm_status cvtm_file_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error);

/* Fails with CVTM_ERROR_INPUT for a file of `size` bytes that needs `needed` bytes in memory, if
 * `needed` is more than 128 times `size` and more than a limit. The limit is the environment
 * variable CVTMESH_READ_LIMIT (a number, perhaps followed by K, M, G or T), or 1 GiB if the
 * variable is not set. Also fails if the variable is not such a size. Called before the memory is
 * allocated. */
cvtm_status cvtm_check_expansion(const char *name, size_t size, uint64_t needed, cvtm_error *error);

/* The extension of a path, in lower case without the dot ("" if none), in `buffer`. */
const char *cvtm_file_extension(const char *path, char *buffer, size_t capacity);

/* cvtm_file_read for a text: drops a UTF-8 byte order mark at its start. */
cvtm_status cvtm_text_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error);

/* --- files in memory -------------------------------------------------------------------------- */

/* While a thread uses a list of files in memory, cvtm_file_read and cvtm_output_open look up paths
 * in that list before they look on the disk. So every reader and writer of the library works with
 * files in memory. Arrays need no file: cvtm_input (base/npy.h). */

/* All pointers are borrowed. */
typedef struct cvtm_memory_file {
  const char *path;
  const void *bytes;
  size_t size;
} cvtm_memory_file;

struct cvtm_npy;

/* path: "-" is standard output. bytes: NULL until the file is complete, then malloc'd; freed by the
 * owner of the list. array: NULL, or a struct of zeros, which cvtm_npy_write and cvtm_png_write
 * (uint8, 0 to 255) set to a copy of the elements in place of a file; freed by cvtm_npy_free. */
typedef struct cvtm_memory_output {
  const char *path;
  char *bytes;
  size_t size;
  struct cvtm_npy *array;
} cvtm_memory_output;

/* The lists are borrowed. */
typedef struct cvtm_memory_files {
  const cvtm_memory_file *inputs;
  cvtm_memory_output *outputs;
  size_t input_count, output_count;
} cvtm_memory_files;

/* Sets the files of the calling thread, borrowed until the next call; NULL: none. */
void cvtm_memory_files_use(const cvtm_memory_files *files);
/* The calling thread's file with that path; NULL if there is none. */
const cvtm_memory_file *cvtm_memory_file_find(const char *path);
cvtm_memory_output *cvtm_memory_output_find(const char *path);

CVTM_API_END
