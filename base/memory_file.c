#include "base/memory_file.h"

#include <string.h>

static _Thread_local const cvtm_memory_files *used;

void cvtm_memory_files_use(const cvtm_memory_files *files) { used = files; }

const cvtm_memory_file *cvtm_memory_file_find(const char *path) {
  for (size_t k = 0; used != NULL && k < used->input_count; ++k)
    if (strcmp(used->inputs[k].path, path) == 0) return &used->inputs[k];
  return NULL;
}

cvtm_memory_output *cvtm_memory_output_find(const char *path) {
  for (size_t k = 0; used != NULL && k < used->output_count; ++k)
    if (strcmp(used->outputs[k].path, path) == 0) return &used->outputs[k];
  return NULL;
}
