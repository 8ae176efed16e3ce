/* Input for readers that take a path: a file in a folder of the process' own. */
#pragma once

#include "fuzz.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_folder[64], fuzz_path[96];

static inline void fuzz_remove_folder(void) {
  (void)unlink(fuzz_path);
  (void)rmdir(fuzz_folder);
}

/* The file's path; the last one is overwritten. */
static inline const char *fuzz_write_file(const char *name, const unsigned char *data,
                                          size_t size) {
  if (fuzz_folder[0] == '\0') {
    const int memory = access("/dev/shm", W_OK) == 0;
    snprintf(fuzz_folder, sizeof fuzz_folder, "%s/cvtmesh-fuzz-XXXXXX",
             memory ? "/dev/shm" : "/tmp");
    if (mkdtemp(fuzz_folder) == NULL) abort();
    (void)atexit(fuzz_remove_folder);
  }
  if (fuzz_path[0] != '\0') (void)unlink(fuzz_path);
  snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
  FILE *file = fopen(fuzz_path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
  return fuzz_path;
}
