/* Writes files that are either complete or absent, and reads whole files up to a limit. */
#ifndef CVTMESH_BASE_FILE_H
#define CVTMESH_BASE_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

CVTM_API_BEGIN

/* A file that is written as .cvtmesh-*.tmp in the folder of its final path; `-` is standard output.
 * A file in memory (below) has precedence over one on the disk. */
typedef struct cvtm_output cvtm_output;

/* Also removes temporary files of ended processes from the folder, once in a process. */
cvtm_status cvtm_output_open(const char *path, cvtm_output **output, cvtm_error *error);
/* Borrowed; write to it, do not close it. */
FILE *cvtm_output_stream(cvtm_output *output);
/* Flushes, checks, renames over `path`, syncs the folder and frees: after CVTM_OK a power failure
 * cannot lose the file, if the file system can sync folders. On failure (a full disk, say) the
 * temporary file is removed and an earlier file at `path` is untouched; if only the sync of the
 * folder failed, the new file stands in its place. */
cvtm_status cvtm_output_commit(cvtm_output *output, cvtm_error *error);
/* Removes the temporary file and frees; NULL is allowed. */
void cvtm_output_abort(cvtm_output *output);

/* Syncs the folder of `path`, so that files created, renamed and removed in it stay so. File
 * systems that cannot sync and folders that may not be read are skipped. */
cvtm_status cvtm_folder_sync(const char *path, cvtm_error *error);

/* The limit for files that only the memory limits: 512 GiB; 2 GiB where addresses have 32 bits. */
#define CVTM_FILE_MOST (SIZE_MAX >> (SIZE_MAX > UINT32_MAX ? 25 : 1))

/* Reads a whole file (`-`: standard input) of at most `limit` bytes into malloc'd memory that the
 * caller frees; one extra zero byte follows the data. A file in memory (below) has precedence over
 * one on the disk. */
cvtm_status cvtm_file_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error);

/* Refuses a file of `size` bytes that takes `needed` bytes in memory, if that is more than 128
 * times its size and more than the environment variable CVTMESH_READ_LIMIT (default: 1 GiB; a
 * number, perhaps with K, M, G or T). Called before this memory is allocated. */
cvtm_status cvtm_check_expansion(const char *name, size_t size, uint64_t needed, cvtm_error *error);

/* The extension in lower case without the dot ("" if none), borrowed from a
 * buffer given by the caller. */
const char *cvtm_file_extension(const char *path, char *buffer, size_t capacity);

/* cvtm_file_read for a text: drops a UTF-8 byte order mark at its start. */
cvtm_status cvtm_text_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error);

/* --- files in memory -------------------------------------------------------------------------- */

/* While a thread uses a list of files in memory, cvtm_file_read and cvtm_output_open look up paths
 * in it before they look on the disk. So every reader of the library takes the contents of a file
 * in memory, and every writer gives them. Arrays need no file: cvtm_input (base/npy.h). */

/* All pointers are borrowed. */
typedef struct cvtm_memory_file {
  const char *path;
  const void *bytes;
  size_t size;
} cvtm_memory_file;

struct cvtm_npy;

/* path: "-" is standard output. bytes: NULL until the file is complete, then malloc'd; freed by the
 * owner of the list. array: NULL, or zeros: cvtm_npy_write and cvtm_png_write (uint8, 0 to 255)
 * copy their elements there and make no file; freed by cvtm_npy_free. */
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
/* The calling thread's file of that path; NULL if there is none. */
const cvtm_memory_file *cvtm_memory_file_find(const char *path);
cvtm_memory_output *cvtm_memory_output_find(const char *path);

CVTM_API_END

#endif
