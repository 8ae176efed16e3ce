/* Preloaded into the program by test_batch_journal.py. SHIM_FLOCK_ERROR: flock fails with that
 * errno; SHIM_FLOCK_ONCE: only the first time. SHIM_SYNC_ERROR: fsync of a folder fails with that
 * errno. SHIM_RECORD: a file that names each fsync, fdatasync, rename and unlink, in order.
 * SHIM_KILL: the process dies before the call of that number, from 1, among these.
 * SHIM_SHORT_WRITE: of the write of that number, from 1, to the file SHIM_SHORT_NAME half is
 * written, and the next one finds the disk full. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int wanted(const char *variable) {
  const char *text = getenv(variable);
  return text != NULL ? atoi(text) : 0;
}

static void record(const char *call, const char *path) {
  static atomic_int calls;
  if (atomic_fetch_add(&calls, 1) + 1 == wanted("SHIM_KILL")) (void)raise(SIGKILL);
  const char *name = getenv("SHIM_RECORD");
  if (name == NULL) return;
  char line[9000];
  const int length = snprintf(line, sizeof line, "%s %s\n", call, path);
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || length < 0 || write(file, line, (size_t)length) != length) abort();
  close(file);
}

int flock(int file, int operation) {
  static int calls = 0;
  if (wanted("SHIM_FLOCK_ERROR") != 0 && !(wanted("SHIM_FLOCK_ONCE") != 0 && calls++ > 0)) {
    errno = wanted("SHIM_FLOCK_ERROR");
    return -1;
  }
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  return next(file, operation);
}

static void path_of(int file, char path[4096]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, 4095);
  path[length > 0 ? length : 0] = '\0';
}

ssize_t write(int file, const void *bytes, size_t size) {
  static atomic_int calls;
  ssize_t (*next)(int, const void *, size_t) =
      (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  char path[4096];
  const char *name = getenv("SHIM_SHORT_NAME");
  if (name != NULL) path_of(file, path);
  if (name == NULL || strcmp(path, name) != 0) return next(file, bytes, size);
  const int call = atomic_fetch_add(&calls, 1) + 1, wanted_call = wanted("SHIM_SHORT_WRITE");
  if (call == wanted_call) return next(file, bytes, size / 2);
  if (call != wanted_call + 1) return next(file, bytes, size);
  errno = ENOSPC;
  return -1;
}

static int sync_recorded(const char *call, int file) {
  char path[4096];
  path_of(file, path);
  record(call, path);
  struct stat found;
  if (wanted("SHIM_SYNC_ERROR") != 0 && fstat(file, &found) == 0 && S_ISDIR(found.st_mode)) {
    errno = wanted("SHIM_SYNC_ERROR");
    return -1;
  }
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, call);
  return next(file);
}

int fsync(int file) { return sync_recorded("fsync", file); }

int fdatasync(int file) { return sync_recorded("fdatasync", file); }

int rename(const char *from, const char *to) {
  char both[8300];
  snprintf(both, sizeof both, "%s %s", from, to);
  record("rename", both);
  int (*next)(const char *, const char *) =
      (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  return next(from, to);
}

int unlink(const char *path) {
  record("unlink", path);
  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
  return next(path);
}
