#include "base/shared_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const char *load(const char *files, const char *names, void **place) {
  void *library = NULL;
  for (; *files != '\0' && library == NULL; files += strlen(files) + 1)
    library = dlopen(files, RTLD_NOW | RTLD_LOCAL);
  for (int k = 1; library != NULL && *names != '\0'; ++k, names += strlen(names) + 1) {
    place[k] = dlsym(library, names);
    if (place[k] == NULL) library = NULL;
  }
  place[0] = library;
  return library == NULL ? dlerror() : NULL;
}

const char *cvtm_library_load(const char *files, const char *names, void *place) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const char *reason = *(void **)place == NULL ? load(files, names, place) : NULL;
  pthread_mutex_unlock(&lock);
  return reason;
}
