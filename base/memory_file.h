/* Files that lie in memory: while a thread uses a list of them, cvtm_file_read and cvtm_output_open
 * find them by their paths before they look on the disk. A caller that has arrays instead of files,
 * such as a binding for another language, thereby passes them to every reader of the library, and
 * takes them from every writer. */
#ifndef CVTMESH_BASE_MEMORY_FILE_H
#define CVTMESH_BASE_MEMORY_FILE_H

#include "base/api.h"

#include <stddef.h>

CVTM_API_BEGIN

/* The contents in two parts, so that a header can stand before an array that lies elsewhere. All is
 * borrowed. */
typedef struct cvtm_memory_file {
  const char *path;
  const void *head, *body;
  size_t head_size, body_size;
} cvtm_memory_file;

/* path: "-" is standard output. bytes: NULL until the file is whole, then malloc'd; freed by the
 * owner of the list. */
typedef struct cvtm_memory_output {
  const char *path;
  char *bytes;
  size_t size;
} cvtm_memory_output;

/* The lists are borrowed. */
typedef struct cvtm_memory_files {
  const cvtm_memory_file *inputs;
  cvtm_memory_output *outputs;
  size_t input_count, output_count;
} cvtm_memory_files;

/* The files of the calling thread from now on, borrowed until the next call; NULL: none. */
void cvtm_memory_files_use(const cvtm_memory_files *files);
/* The calling thread's file of that path; NULL if there is none. */
const cvtm_memory_file *cvtm_memory_file_find(const char *path);
cvtm_memory_output *cvtm_memory_output_find(const char *path);

CVTM_API_END
#endif
