#define _XOPEN_SOURCE 700

#include "base/file.h"

#include "base/text.h"
#include "base/host.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct cvtm_output {
  FILE *stream;
  char *path;                 /* final path, symbolic links resolved; NULL: no temporary file */
  char *temporary;            /* path of the temporary file; NULL: none */
  int lock;                   /* a descriptor of the temporary file, locked; -1: none */
  char *name;                 /* for messages */
  cvtm_memory_output *memory; /* NULL: not in memory */
  char *bytes;                /* contents of a file in memory */
  size_t size;
};

static void free_output(cvtm_output *output) {
  if (output->lock >= 0) close(output->lock);
  free(output->path);
  free(output->temporary);
  free(output->name);
  free(output->bytes);
  free(output);
}

/* --- names of temporary files ----------------------------------------------------------------- */

/* Names begin with .cvtmesh-MACHINE-PROCESS-, where MACHINE has 8 and PROCESS 16 hexadecimal
 * digits. PROCESS is random, and so differs between processes of all hosts and PID namespaces. */
enum { OWN_START = 36, MACHINE_START = 18 };
static char own_start[OWN_START];
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* A hash of the kernel's boot identifier, which containers share, or else of the host's name. */
static uint32_t number_of_machine(void) {
  char text[256] = "";
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == NULL || fgets(text, sizeof text, file) == NULL)
    (void)gethostname(text, sizeof text - 1);
  if (file != NULL) fclose(file);
  uint32_t hash = 2166136261U; /* FNV-1a */
  for (const char *c = text; *c != '\0'; ++c) hash = (hash ^ (unsigned char)*c) * 16777619U;
  return hash;
}

static void choose_start(void) {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bits = (uint64_t)getpid() << 40 ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
  }
  snprintf(own_start, sizeof own_start, ".cvtmesh-%08" PRIx32 "-%016" PRIx64 "-",
           number_of_machine(), bits);
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Opens the folder of `path`. Returns its descriptor, or -1 with errno. */
static int open_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  char *folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  if (folder == NULL) return -1;
  const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int reason = errno;
  free(folder);
  errno = reason;
  return file;
}

/* Syncs a file or folder. Returns 0 or an errno; 0 also where file system or device cannot sync. */
static int sync_descriptor(int file) {
  while (fsync(file) != 0) {
    if (errno == EINVAL || errno == EOPNOTSUPP || errno == EROFS) return 0;
    if (errno != EINTR) return errno;
  }
  return 0;
}

cvtm_status cvtm_folder_sync(const char *path, cvtm_error *error) {
  const int folder = open_folder(path);
  if (folder < 0 && errno == EACCES) return CVTM_OK;
  const int reason = folder < 0 ? errno : sync_descriptor(folder);
  if (folder >= 0) close(folder);
  if (reason == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: its folder cannot be synced: %s", path,
                   strerror(reason));
}

/* --- temporary files of processes that have ended ---------------------------------------------
 * A process locks its temporary file until the file has its final name. The lock ends with the
 * process; a process number would not do, because another process can get it. */

static int is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void remove_if_dead(int folder, const char *name) {
  const time_t day = 86400;
  struct stat opened, named;
  const int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 || fstat(file, &opened) != 0 || !S_ISREG(opened.st_mode)) {
    if (file >= 0) close(file);
    return;
  }
  /* Some network file systems do not show the locks of other machines. */
  const int is_local = strncmp(name, own_start, MACHINE_START) == 0;
  if ((is_local || time(NULL) - opened.st_mtime > day) && flock(file, LOCK_EX | LOCK_NB) == 0) {
    /* The writer may have renamed the opened file since, and another file may have its name. */
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same_file(&opened, &named))
      (void)unlinkat(folder, name, 0);
  }
  close(file);
}

/* True unless the folder is among the last 256 folders that this process cleaned. Adds it to
 * them. */
static int is_new_folder(int folder) {
  enum { REMEMBERED = 256 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct stat cleaned[REMEMBERED];
  static size_t count;
  struct stat found;
  if (fstat(folder, &found) != 0) return 0;
  pthread_mutex_lock(&lock);
  int is_new = 1;
  for (size_t k = 0; k < count && k < REMEMBERED && is_new; ++k)
    is_new = !is_same_file(&cleaned[k], &found);
  if (is_new) cleaned[count++ % REMEMBERED] = found;
  pthread_mutex_unlock(&lock);
  return is_new;
}

static void clean_folder_of(const char *path) {
  static const char start[] = ".cvtmesh-", end[] = ".tmp";
  const int folder = open_folder(path);
  DIR *entries = folder >= 0 && is_new_folder(folder) ? fdopendir(folder) : NULL;
  if (entries == NULL) {
    if (folder >= 0) close(folder);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    const size_t length = strlen(entry->d_name);
    if (strncmp(entry->d_name, start, sizeof start - 1) == 0 && length > sizeof end &&
        strcmp(entry->d_name + length - (sizeof end - 1), end) == 0)
      remove_if_dead(folder, entry->d_name);
  }
  closedir(entries);
}

/* Locks a new file. Returns 0 if that is too late, because another process has removed or is
 * removing the file. */
static int lock_temporary(int file) {
  struct stat found;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK; /* locks do not work */
  return fstat(file, &found) != 0 || found.st_nlink > 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Fails for the reason in errno. */
static cvtm_status fail_by_errno(const char *name, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", name, strerror(errno));
}

/* Makes the stream of an open file, or closes the file. */
static cvtm_status open_stream(cvtm_output *output, int file, cvtm_error *error) {
  output->stream = fdopen(file, "wb");
  if (output->stream != NULL) return CVTM_OK;
  const cvtm_status status = fail_by_errno(output->name, error);
  close(file);
  return status;
}

/* Opens a device or a pipe, which a renamed file must not replace, to be written directly. */
static cvtm_status open_in_place(cvtm_output *output, const char *path, cvtm_error *error) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return file >= 0 ? open_stream(output, file, error) : fail_by_errno(path, error);
}

/* Creates a temporary file in the directory of output->path, with the permissions `mode`; 0: those
 * of a new file. */
static cvtm_status open_temporary(cvtm_output *output, mode_t mode, cvtm_error *error) {
  enum { TRIES = 1000, NAME_SIZE = 64 };
  const char *slash = strrchr(output->path, '/');
  size_t directory = slash != NULL ? (size_t)(slash - output->path) + 1 : 0;
  output->temporary = malloc(directory + NAME_SIZE);
  if (output->temporary == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", output->name);
  memcpy(output->temporary, output->path, directory);
  pthread_once(&own_once, choose_start);
  clean_folder_of(output->path);
  int file = -1;
  for (int attempt = 0; attempt < TRIES && file < 0; ++attempt) {
    snprintf(output->temporary + directory, NAME_SIZE, "%s%d.tmp", own_start, attempt);
    file = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
    if (file >= 0 && !lock_temporary(file)) {
      close(file);
      file = -1;
    }
  }
  if (file < 0) return fail_by_errno(output->name, error);
  output->lock = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (mode != 0) (void)fchmod(file, mode);
  const cvtm_status status = open_stream(output, file, error);
  if (status != CVTM_OK) unlink(output->temporary);
  return status;
}

char *cvtm_follow_links(const char *path) {
  enum { MOST_LINKS = 40, TARGET_SIZE = 4096 };
  char target[TARGET_SIZE];
  char *name = strdup(path);
  for (int links = 0; name != NULL; ++links) {
    const ssize_t length = readlink(name, target, sizeof target);
    if (length < 0) return name;
    if (links == MOST_LINKS || length == TARGET_SIZE) {
      free(name);
      errno = links == MOST_LINKS ? ELOOP : ENAMETOOLONG;
      return NULL;
    }
    const char *slash = strrchr(name, '/');
    const int folder = target[0] == '/' || slash == NULL ? 0 : (int)(slash - name) + 1;
    const size_t size = (size_t)folder + (size_t)length + 1;
    char *next = malloc(size);
    if (next != NULL) snprintf(next, size, "%.*s%.*s", folder, name, (int)length, target);
    free(name);
    name = next;
  }
  return NULL;
}

static cvtm_status open_memory(cvtm_output *output, const char *path, cvtm_error *error) {
  output->stream = open_memstream(&output->bytes, &output->size);
  if (output->stream != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
}

static cvtm_status open_path(cvtm_output *output, const char *path, cvtm_error *error) {
  output->memory = cvtm_memory_output_find(path);
  if (output->memory != NULL) return open_memory(output, path, error);
  struct stat found;
  if (stat(path, &found) == 0) {
    if (S_ISDIR(found.st_mode))
      return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(EISDIR));
    if (!S_ISREG(found.st_mode)) return open_in_place(output, path, error);
    /* A rename ignores the permissions of the file that it replaces. This check protects a
     * read-only file. */
    if (access(path, W_OK) != 0) return fail_by_errno(path, error);
    output->path = realpath(path, NULL);
    if (output->path == NULL) return fail_by_errno(path, error);
    return open_temporary(output, found.st_mode & 07777, error);
  }
  if (errno != ENOENT) return fail_by_errno(path, error);
  size_t length = strlen(path);
  if (length == 0 || path[length - 1] == '/')
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: not a file name", path);
  output->path = cvtm_follow_links(path);
  if (output->path == NULL)
    return cvtm_fail(error, errno == ENOMEM ? CVTM_ERROR_MEMORY : CVTM_ERROR_IO, "%s: %s", path,
                     strerror(errno));
  return open_temporary(output, 0, error);
}

cvtm_status cvtm_output_open(const char *path, cvtm_output **output, cvtm_error *error) {
  *output = NULL;
  cvtm_output *opened = calloc(1, sizeof *opened);
  if (opened == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  const int standard = strcmp(path, "-") == 0 && cvtm_memory_output_find(path) == NULL;
  cvtm_status status = CVTM_OK;
  opened->lock = -1;
  opened->name = strdup(standard ? "standard output" : path);
  if (opened->name == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  else if (standard)
    opened->stream = stdout;
  else
    status = open_path(opened, path, error);
  if (status == CVTM_OK)
    *output = opened;
  else
    free_output(opened);
  return status;
}

FILE *cvtm_output_stream(cvtm_output *output) { return output->stream; }

/* Returns `reason` (errno after a failed write) if a write can fail with it. Else returns -1: errno
 * was set by a later call. */
static int reason_of_write(int reason) {
  const int full = reason == ENOSPC || reason == EFBIG || reason == EDQUOT;
  return full || reason == EIO || reason == EPIPE || reason == EBADF ? reason : -1;
}

/* Flushes, syncs and closes the stream. Returns 0 or an errno, or -1 if an earlier write failed
 * for an unknown reason. */
static int finish_stream(cvtm_output *output) {
  FILE *stream = output->stream;
  int failed = 0;
  if (ferror(stream)) failed = reason_of_write(errno);
  errno = 0;
  if (fflush(stream) != 0) failed = errno;
  if (stream == stdout) {
    if (failed) clearerr(stream);
    return failed;
  }
  if (!failed && output->temporary != NULL) failed = sync_descriptor(fileno(stream));
  if (fclose(stream) != 0 && !failed) failed = errno;
  output->stream = NULL;
  return failed;
}

/* Renames the file to its final path and syncs the folder; returns 0 or an errno. The folder is
 * opened first, so that the earlier file is kept if descriptors run out. A folder that may be
 * written but not read cannot be synced. */
static int put_in_place(cvtm_output *output) {
  const int folder = open_folder(output->path);
  if (folder < 0 && errno != EACCES) return errno;
  int failed = 0;
  if (rename(output->temporary, output->path) != 0) {
    failed = errno;
  } else {
    free(output->temporary);
    output->temporary = NULL;
    if (folder >= 0) failed = sync_descriptor(folder);
  }
  if (folder >= 0) close(folder);
  return failed;
}

cvtm_status cvtm_output_commit(cvtm_output *output, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  int failed = finish_stream(output);
  if (!failed && output->temporary != NULL) failed = put_in_place(output);
  if (!failed && output->memory != NULL) {
    free(output->memory->bytes);
    output->memory->bytes = output->bytes;
    output->memory->size = output->size;
    output->bytes = NULL;
  }
  if (failed) {
    status = cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", output->name,
                       failed > 0 ? strerror(failed) : "writing failed");
    if (output->temporary != NULL) unlink(output->temporary);
  }
  free_output(output);
  return status;
}

void cvtm_output_abort(cvtm_output *output) {
  if (output == NULL) return;
  if (output->stream != NULL && output->stream != stdout) fclose(output->stream);
  if (output->temporary != NULL) unlink(output->temporary);
  free_output(output);
}

static cvtm_status open_input(const char *path, int *file, size_t *expected, cvtm_error *error) {
  *file = open(path, O_RDONLY | O_CLOEXEC);
  if (*file < 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", path, strerror(errno));
  struct stat found;
  cvtm_status status = CVTM_OK;
  if (fstat(*file, &found) != 0)
    status = fail_by_errno(path, error);
  else if (S_ISDIR(found.st_mode))
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", path, strerror(EISDIR));
  else if (S_ISREG(found.st_mode) && found.st_size > 0)
    *expected = (size_t)found.st_size;
  if (status != CVTM_OK) close(*file);
  return status;
}

/* Reads the first `size` bytes of a regular file in parallel, up to the first block that cannot be
 * read in full. Returns the number of bytes before that block, and sets the file's position there,
 * so that the caller's next read reports the reason. */
static size_t read_blocks(int file, unsigned char *bytes, size_t size) {
  const int64_t block = (int64_t)4 << 20, blocks = ((int64_t)size + block - 1) / block;
  if (blocks < 4) return 0;
  int64_t done = blocks;
#pragma omp parallel for schedule(dynamic) reduction(min : done)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t start = b * block;
    const int64_t length = b + 1 < blocks ? block : (int64_t)size - start;
    if (pread(file, bytes + start, (size_t)length, start) != length && b < done) done = b;
  }
  const size_t got = done < blocks ? (size_t)(done * block) : size;
  return lseek(file, (off_t)got, SEEK_SET) >= 0 ? got : 0;
}

/* Reads to the end of `file`. expected: the size of a regular file, else 0. The buffer grows by
 * doubling, and always has room for one byte after the bytes that were read. */
static cvtm_status read_all(int file, const char *name, size_t expected, size_t limit,
                            unsigned char **bytes, size_t *size, cvtm_error *error) {
  enum { SMALLEST = 65536 };
  const size_t chunk = (size_t)1 << 30, unknown = (size_t)4 << 30;
  if (expected == 0 && limit > unknown) limit = unknown; /* a pipe may have no end */
  if (expected > limit)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %zu bytes are more than the limit of %zu", name,
                     expected, limit);
  int64_t capacity = 0;
  size_t used = 0;
  unsigned char *buffer = NULL;
  cvtm_status status = CVTM_OK;
  ssize_t got = 1;
  const size_t first = expected < SMALLEST ? SMALLEST : expected + 1;
  while (status == CVTM_OK && got != 0) {
    if (!cvtm_grow(&buffer, 1, &capacity, (int64_t)(used < first ? first : used + 1))) {
      status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
      break;
    }
    if (used == 0) cvtm_prefer_large_pages(buffer, (size_t)capacity);
    if (used == 0 && expected > 0) used = read_blocks(file, buffer, expected);
    const size_t left = (size_t)capacity - used;
    got = read(file, buffer + used, left < chunk ? left : chunk);
    if (got < 0 && errno != EINTR) status = fail_by_errno(name, error);
    if (got > 0) used += (size_t)got;
    if (used > limit)
      status =
          cvtm_fail(error, CVTM_ERROR_INPUT, "%s: more than the limit of %zu bytes", name, limit);
  }
  if (status != CVTM_OK) {
    free(buffer);
    return status;
  }
  buffer[used] = 0;
  *bytes = buffer;
  *size = used;
  return CVTM_OK;
}

static cvtm_status read_memory(const cvtm_memory_file *file, size_t limit, unsigned char **bytes,
                               size_t *size, cvtm_error *error) {
  if (file->size > limit)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: more than %zu bytes", file->path, limit);
  unsigned char *copy = malloc(file->size + 1);
  if (copy == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", file->path);
  cvtm_prefer_large_pages(copy, file->size + 1);
  if (file->size > 0) memcpy(copy, file->bytes, file->size);
  copy[file->size] = 0;
  *bytes = copy;
  *size = file->size;
  return CVTM_OK;
}

cvtm_status cvtm_file_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error) {
  *bytes = NULL;
  *size = 0;
  if (strcmp(path, "-") == 0)
    return read_all(STDIN_FILENO, "standard input", 0, limit, bytes, size, error);
  const cvtm_memory_file *in_memory = cvtm_memory_file_find(path);
  if (in_memory != NULL) return read_memory(in_memory, limit, bytes, size, error);
  int file = -1;
  size_t expected = 0;
  CVTM_TRY(open_input(path, &file, &expected, error));
  cvtm_status status = read_all(file, path, expected, limit, bytes, size, error);
  close(file);
  return status;
}

/* Reads a size in bytes, such as 8G. Returns 0 if the text is not a size. */
static int parse_size(const char *text, uint64_t *size) {
  static const char units[] = "KMGT";
  char *end = NULL;
  errno = 0;
  *size = strtoull(text, &end, 10);
  if (!isdigit((unsigned char)*text) || errno != 0) return 0;
  const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (unit == NULL) return *end == '\0';
  const int shift = 10 * (int)(unit - units + 1);
  if (end[1] != '\0' || *size > UINT64_MAX >> shift) return 0;
  *size <<= shift;
  return 1;
}

cvtm_status cvtm_check_expansion(const char *name, size_t size, uint64_t needed,
                                 cvtm_error *error) {
  static const char variable[] = "CVTMESH_READ_LIMIT";
  const uint64_t ratio = 128; /* photographs expand less, in every format */
  uint64_t limit = (uint64_t)1 << 30;
  const char *text = getenv(variable);
  if (text != NULL && !parse_size(text, &limit))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: '%s' is not a size such as 8G", variable, text);
  if (needed <= limit || needed / ratio <= size) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: %zu bytes become %.3g GiB in memory, and the limit is %.3g GiB; %s=%" PRIu64
                   "G would allow it",
                   name, size, ldexp((double)needed, -30), ldexp((double)limit, -30), variable,
                   (needed >> 30) + 1);
}

cvtm_status cvtm_text_read(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                           cvtm_error *error) {
  CVTM_TRY(cvtm_file_read(path, limit, bytes, size, error));
  const size_t mark = cvtm_csv_byte_order_mark(*bytes, *size);
  *size -= mark;
  if (mark > 0) memmove(*bytes, *bytes + mark, *size + 1);
  return CVTM_OK;
}

const char *cvtm_file_extension(const char *path, char *buffer, size_t capacity) {
  if (capacity == 0) return "";
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  size_t length = 0;
  /* The first character of a hidden file's name is a dot, which starts no extension. No caller
   * looks for an extension that is too long for the buffer. */
  if (dot != NULL && dot != name && strlen(dot + 1) < capacity) {
    for (const char *c = dot + 1; *c != 0; ++c) buffer[length++] = (char)tolower((unsigned char)*c);
  }
  buffer[length] = 0;
  return buffer;
}

/* --- files in memory -------------------------------------------------------------------------- */

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
