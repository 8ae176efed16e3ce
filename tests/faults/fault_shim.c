/* For LD_PRELOAD: makes one call of the C library fail, as a machine without memory or with a full
 * disk does. CVTMESH_FAULT=KIND:K fails the K-th call of a kind, K from 1; KIND:K+ fails that call
 * and all that follow. CVTMESH_FAULT_CALLS names a file that gets a line `KIND STACK` for every
 * call, in their order: STACK is a hash of the program's calls that led there, the same in every
 * run.
 *
 * Calls count where the program, an image library, cJSON or the C library itself makes them. Those
 * of other libraries do not: libgomp ends the process where it finds no memory, and what OpenGL
 * drivers do is not ours. CVTMESH_FAULT_OWN=1 leaves out the C library, too: where drivers are
 * loaded it often calls for them. AddressSanitizer is such a library.
 *
 * Streams opened by fopen and fdopen, and standard output, read and write through this file, so
 * that a call that fails leaves the stream in the state that the C library gives it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum kind { ALLOC, OPEN, READ, WRITE, CLOSE, SYNC, RENAME, KINDS } kind;

static const char *const names[KINDS] = {"alloc", "open", "read",  "write",
                                         "close", "sync", "rename"};
static const int reasons[KINDS] = {ENOMEM, EMFILE, EIO, ENOSPC, EIO, EIO, EACCES};

static atomic_int ready;
static atomic_long counts[KINDS];
static kind failing = KINDS;
static long at;
static int forever;
static int calls = -1; /* a file, or none */

/* --- who calls -------------------------------------------------------------------------- */

enum { RANGES = 64 };
static struct { uintptr_t first, end; } ranges[RANGES];
static int range_count;

static int counts_calls_of(const char *path) {
  static const char *const libraries[] = {"/libcjson.", "/libpng",  "/libjpeg.",
                                          "/libtiff.",  "/libc.so", "/libcvtmesh.",
                                          "/liblcms2.", "/libgif.", "/libwebp"};
  if (*path == '\0') return 1; /* the program */
  const int own = getenv("CVTMESH_FAULT_OWN") != NULL || dlsym(RTLD_DEFAULT, "__asan_init") != NULL;
  if (own && strstr(path, "/libc.so") != NULL) return 0;
  for (size_t k = 0; k < sizeof libraries / sizeof libraries[0]; ++k)
    if (strstr(path, libraries[k]) != NULL) return 1;
  return 0;
}

static int add_ranges(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  if (!counts_calls_of(object->dlpi_name)) return 0;
  for (int k = 0; k < object->dlpi_phnum && range_count < RANGES; ++k) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    ranges[range_count].first = object->dlpi_addr + segment->p_vaddr;
    ranges[range_count].end = ranges[range_count].first + segment->p_memsz;
    ++range_count;
  }
  return 0;
}

static int counts_calls_from(const void *caller) {
  const uintptr_t place = (uintptr_t)caller;
  int k = 0;
  while (k < range_count && !(place >= ranges[k].first && place < ranges[k].end)) ++k;
  return k < range_count;
}

/* Nonzero while write_call runs: the calls that it makes do not count. */
static _Thread_local int writing;

static void write_call(kind what) {
  enum { MOST = 128 };
  void *stack[MOST];
  uint64_t hash = 14695981039346656037U; /* FNV-1a */
  writing = 1;
  const int depth = backtrace(stack, MOST);
  for (int k = 0; k < depth; ++k) {
    const uintptr_t call = (uintptr_t)stack[k];
    if (call >= ranges[0].first && call < ranges[0].end)
      hash = (hash ^ (call - ranges[0].first)) * 1099511628211U;
  }
  dprintf(calls, "%s %016" PRIx64 "\n", names[what], hash);
  writing = 0;
}

/* Nonzero if this call must fail; errno is set then. */
static int fails(kind what, const void *caller) {
  if (!atomic_load(&ready) || writing || !counts_calls_from(caller)) return 0;
  if (calls >= 0) write_call(what);
  const long number = atomic_fetch_add(&counts[what], 1) + 1;
  if (what != failing || !(number == at || (forever && number > at))) return 0;
  errno = reasons[what];
  return 1;
}

#define FAILS(what) fails(what, __builtin_return_address(0))

/* --- memory ------------------------------------------------------------------------------- */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);

/* dlsym asks for memory before the real functions are known. */
static _Alignas(16) char early[1 << 16];
static size_t early_used;

static void *early_allocate(size_t size) {
  const size_t rounded = (size + 31) / 16 * 16;
  if (rounded > sizeof early - early_used) abort();
  char *memory = early + early_used;
  early_used += rounded;
  return memory;
}

static int is_early(const void *memory) {
  return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

static void find_memory(void) {
  static int finding;
  if (finding) return;
  finding = 1;
  *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
  *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
  *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
  *(void **)&real_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
  *(void **)&real_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
  *(void **)&real_free = dlsym(RTLD_NEXT, "free");
}

void *malloc(size_t size) {
  if (FAILS(ALLOC)) return NULL;
  if (real_malloc == NULL) find_memory();
  return real_malloc != NULL ? real_malloc(size) : early_allocate(size);
}

void *calloc(size_t count, size_t size) {
  if (FAILS(ALLOC)) return NULL;
  if (real_calloc == NULL) find_memory();
  return real_calloc != NULL ? real_calloc(count, size) : early_allocate(count * size);
}

void *realloc(void *memory, size_t size) {
  if (FAILS(ALLOC)) return NULL;
  if (is_early(memory)) abort();
  if (real_realloc == NULL) find_memory();
  return real_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  if (FAILS(ALLOC)) return NULL;
  return real_aligned_alloc(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (FAILS(ALLOC)) return ENOMEM;
  return real_posix_memalign(memory, alignment, size);
}

void free(void *memory) {
  if (memory == NULL || is_early(memory)) return;
  if (real_free == NULL) find_memory();
  real_free(memory);
}

/* Defined here because a sanitizer's own strdup would not call malloc. */
char *strdup(const char *text) {
  if (FAILS(ALLOC)) return NULL;
  const size_t size = strlen(text) + 1;
  if (real_malloc == NULL) find_memory();
  char *copy = real_malloc(size);
  return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* --- files -------------------------------------------------------------------------------- */

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_close)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_mkdir)(const char *, mode_t);
static int (*real_fileno)(FILE *);
static FILE *(*real_fopen)(const char *, const char *);
static FILE *(*real_fdopen)(int, const char *);
static FILE *(*real_tmpfile)(void);

/* A library that is loaded may open files before begin() is called. */
static void find_files(void) {
  if (real_open != NULL) return;
  *(void **)&real_open = dlsym(RTLD_NEXT, "open");
  *(void **)&real_openat = dlsym(RTLD_NEXT, "openat");
  *(void **)&real_read = dlsym(RTLD_NEXT, "read");
  *(void **)&real_pread = dlsym(RTLD_NEXT, "pread");
  *(void **)&real_write = dlsym(RTLD_NEXT, "write");
  *(void **)&real_close = dlsym(RTLD_NEXT, "close");
  *(void **)&real_rename = dlsym(RTLD_NEXT, "rename");
  *(void **)&real_mkdir = dlsym(RTLD_NEXT, "mkdir");
  *(void **)&real_fileno = dlsym(RTLD_NEXT, "fileno");
  *(void **)&real_fopen = dlsym(RTLD_NEXT, "fopen");
  *(void **)&real_fdopen = dlsym(RTLD_NEXT, "fdopen");
  *(void **)&real_tmpfile = dlsym(RTLD_NEXT, "tmpfile");
}

static mode_t mode_of(int flags, va_list *arguments) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(*arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, &arguments);
  va_end(arguments);
  find_files();
  if (FAILS(OPEN)) return -1;
  return real_open(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, &arguments);
  va_end(arguments);
  find_files();
  if (FAILS(OPEN)) return -1;
  return real_openat(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

ssize_t read(int file, void *bytes, size_t size) {
  find_files();
  return FAILS(READ) ? -1 : real_read(file, bytes, size);
}

ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
  return FAILS(READ) ? -1 : real_pread(file, bytes, size, offset);
}

ssize_t write(int file, const void *bytes, size_t size) {
  return FAILS(WRITE) ? -1 : real_write(file, bytes, size);
}

/* As on Linux, the file is closed even so. */
int close(int file) {
  find_files();
  const int failed = FAILS(CLOSE), reason = errno;
  const int result = real_close(file);
  if (failed) errno = reason;
  return failed ? -1 : result;
}

/* The disk is not waited for. */
int fsync(int file) {
  (void)file;
  return FAILS(SYNC) ? -1 : 0;
}

int fdatasync(int file) {
  (void)file;
  return FAILS(SYNC) ? -1 : 0;
}

int rename(const char *from, const char *to) { return FAILS(RENAME) ? -1 : real_rename(from, to); }

int mkdir(const char *path, mode_t mode) { return FAILS(RENAME) ? -1 : real_mkdir(path, mode); }

/* --- streams -------------------------------------------------------------------------------- */

enum { STREAMS = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  FILE *stream;
  int file;
} streams[STREAMS];

/* A caller that counts: the streams are opened by such ones alone. */
static int stream_fails(kind what) { return fails(what, (const void *)ranges[0].first); }

static ssize_t stream_read(void *cookie, char *bytes, size_t size) {
  return stream_fails(READ) ? -1 : real_read((int)(intptr_t)cookie, bytes, size);
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t size) {
  size_t written = 0;
  while (written < size) {
    if (stream_fails(WRITE)) return 0;
    const ssize_t now = real_write((int)(intptr_t)cookie, bytes + written, size - written);
    if (now <= 0) return 0;
    written += (size_t)now;
  }
  return (ssize_t)size;
}

static int stream_seek(void *cookie, off64_t *offset, int origin) {
  const off64_t place = lseek64((int)(intptr_t)cookie, *offset, origin);
  if (place >= 0) *offset = place;
  return place >= 0 ? 0 : -1;
}

static int stream_close(void *cookie) {
  const int file = (int)(intptr_t)cookie;
  pthread_mutex_lock(&lock);
  for (int k = 0; k < STREAMS; ++k)
    if (streams[k].stream != NULL && streams[k].file == file) streams[k].stream = NULL;
  pthread_mutex_unlock(&lock);
  const int failed = stream_fails(CLOSE), reason = errno;
  const int result = real_close(file);
  if (failed) errno = reason;
  return failed ? -1 : result;
}

static FILE *open_stream(int file, const char *mode) {
  const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
  char plain[3] = {mode[0], strchr(mode, '+') != NULL ? '+' : '\0', '\0'};
  FILE *stream = fopencookie((void *)(intptr_t)file, plain, functions);
  if (stream == NULL) return NULL;
  pthread_mutex_lock(&lock);
  int k = 0;
  while (k < STREAMS && streams[k].stream != NULL) ++k;
  if (k == STREAMS) abort();
  streams[k].stream = stream;
  streams[k].file = file;
  pthread_mutex_unlock(&lock);
  return stream;
}

FILE *fdopen(int file, const char *mode) {
  const int counted = counts_calls_from(__builtin_return_address(0));
  return counted ? open_stream(file, mode) : real_fdopen(file, mode);
}

FILE *fopen(const char *path, const char *mode) {
  find_files();
  const int both = strchr(mode, '+') != NULL;
  int flags = mode[0] == 'r' ? (both ? O_RDWR : O_RDONLY) : (both ? O_RDWR : O_WRONLY) | O_CREAT;
  if (mode[0] == 'w') flags |= O_TRUNC;
  if (mode[0] == 'a') flags |= O_APPEND;
  if (!counts_calls_from(__builtin_return_address(0))) return real_fopen(path, mode);
  if (FAILS(OPEN)) return NULL;
  const int file = real_open(path, flags | O_CLOEXEC, 0666);
  if (file < 0) return NULL;
  FILE *stream = open_stream(file, mode);
  const int reason = errno;
  if (stream == NULL) real_close(file);
  errno = reason;
  return stream;
}

FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

FILE *tmpfile(void) { return FAILS(OPEN) ? NULL : real_tmpfile(); }

FILE *tmpfile64(void) __attribute__((alias("tmpfile")));

int fileno(FILE *stream) {
  int file = -1;
  pthread_mutex_lock(&lock);
  for (int k = 0; k < STREAMS; ++k)
    if (streams[k].stream == stream) file = streams[k].file;
  pthread_mutex_unlock(&lock);
  return file >= 0 ? file : real_fileno(stream);
}

/* --- beginning and end ---------------------------------------------------------------------- */

static void read_wish(const char *wish) {
  for (int k = 0; k < KINDS; ++k) {
    const size_t length = strlen(names[k]);
    if (strncmp(wish, names[k], length) != 0 || wish[length] != ':') continue;
    char *end = NULL;
    failing = (kind)k;
    at = strtol(wish + length + 1, &end, 10);
    forever = *end == '+';
  }
}

__attribute__((constructor)) static void begin(void) {
  if (real_malloc == NULL) find_memory();
  find_files();
  dl_iterate_phdr(add_ranges, NULL);
  stdout = open_stream(STDOUT_FILENO, "w");
  const char *wish = getenv("CVTMESH_FAULT");
  if (wish != NULL) read_wish(wish);
  const char *path = getenv("CVTMESH_FAULT_CALLS");
  if (path != NULL) {
    void *first[1];
    backtrace(first, 1); /* it loads a library the first time */
    calls = real_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  atomic_store(&ready, 1);
}

__attribute__((destructor)) static void end(void) { atomic_store(&ready, 0); }
