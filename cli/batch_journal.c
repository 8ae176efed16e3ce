#include "cli/batch.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/option_table.h"
#include "run/output.h"
#include "run/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct batch_journal {
  char *path;
  char *base; /* path of the journal of the entire batch */
  int file;
  int resume;
  int64_t session;
  batch_key_set done, unconverged; /* jobs of earlier sessions; empty unless resuming */
  int is_torn;                     /* nonzero: the last line is incomplete */
  pthread_mutex_t lock;
};

/* --- keys of jobs ----------------------------------------------------------------------- */

/* A cli_option_visitor: adds an option that changes what a run writes, or where. */
static void key_option(void *context, const cli_option_row *row, const void *field) {
  const size_t size = cli_option_size(row);
  if (row->effect != CLI_ON_RESULT) return;
  if (row->type == CLI_LIST) {
    const cvtm_run_list *list = field;
    for (int k = 0; k < list->count; ++k) {
      batch_key_add_text(context, row->name);
      batch_key_add_text(context, list->item[k]);
    }
    return;
  }
  batch_key_add_text(context, row->name);
  if (size > 0)
    batch_key_add(context, field, size);
  else
    batch_key_add_text(
        context, *(const char *const *)field); /* the path, which is the first member of a source */
}

/* A cli_file_visitor: adds size and modification time of a file that is read to the job's key. */
static void key_file(void *context, cli_file_use use, const char *option, const char *path) {
  struct stat found;
  (void)option;
  if (use != CLI_FILE_READ || stat(path, &found) != 0 || !S_ISREG(found.st_mode)) return;
  const int64_t state[3] = {(int64_t)found.st_size, (int64_t)found.st_mtim.tv_sec,
                            (int64_t)found.st_mtim.tv_nsec};
  batch_key_add_text(context, path);
  batch_key_add(context, state, sizeof state);
}

batch_key batch_job_key(const batch_job *job) {
  batch_key key = batch_key_start();
  batch_key_add_text(&key, CVTMESH_VERSION);
  batch_key_add_text(&key, job->options.run.input.name);
  cli_options_visit(&job->options, key_option, &key);
  cli_options_visit_files(&job->options, key_file, &key);
  return key;
}

/* --- reading ------------------------------------------------------------------------------ */

typedef cvtm_status (*entry_reader)(void *context, const cJSON *entry);

static cvtm_status read_journal(const char *path, entry_reader reader, void *context,
                                cvtm_error *error) {
  FILE *file = fopen(path, "rbe");
  if (file == NULL)
    return errno == ENOENT ? CVTM_OK
                           : cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(errno));
  struct stat found;
  if (fstat(fileno(file), &found) != 0 || !S_ISREG(found.st_mode)) {
    fclose(file);
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: not a regular file", path);
  }
  char *line = NULL;
  size_t capacity = 0;
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && (errno = 0, getline(&line, &capacity, file) >= 0)) {
    cJSON *entry = cJSON_Parse(line);
    if (run_json_starved()) status = CVTM_ERROR_MEMORY;
    if (cJSON_IsObject(entry)) status = reader(context, entry);
    cJSON_Delete(entry);
  }
  if (status == CVTM_OK && errno == ENOMEM) status = CVTM_ERROR_MEMORY;
  if (status != CVTM_OK)
    (void)cvtm_fail(error, status, "%s: out of memory", path);
  else if (!feof(file))
    status = cvtm_fail(error, CVTM_ERROR_IO, "%s: cannot be read", path);
  free(line);
  fclose(file);
  return status;
}

/* True for an ending .shardN. */
static int is_sibling(const char *ending) {
  static const char shard[] = ".shard";
  const size_t length = sizeof shard - 1;
  if (strncmp(ending, shard, length) != 0) return 0;
  const size_t digits = strspn(ending + length, "0123456789");
  return digits > 0 && ending[length + digits] == '\0';
}

typedef cvtm_status (*path_visitor)(void *context, const char *path, cvtm_error *error);

/* Visits the journals of shards: PATH.shardN. */
static cvtm_status visit_siblings(const char *path, path_visitor visitor, void *context,
                                  cvtm_error *error) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  const size_t folder = (size_t)(name - path), length = strlen(name);
  char *place = strndup(path, folder);
  DIR *entries = place != NULL ? opendir(folder > 0 ? place : ".") : NULL;
  free(place);
  if (entries == NULL) return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(errno));
  cvtm_status status = CVTM_OK;
  const struct dirent *entry;
  while (status == CVTM_OK && (entry = readdir(entries)) != NULL) {
    if (strncmp(entry->d_name, name, length) != 0 || !is_sibling(entry->d_name + length)) continue;
    char *sibling = malloc(folder + strlen(entry->d_name) + 1);
    if (sibling == NULL) {
      status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
    } else {
      memcpy(sibling, path, folder);
      strcpy(sibling + folder, entry->d_name);
      status = visitor(context, sibling, error);
    }
    free(sibling);
  }
  closedir(entries);
  return status;
}

static const char *text_of(const cJSON *entry, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, name));
  return text != NULL ? text : "";
}

/* An entry_reader: collects the jobs that are done. */
static cvtm_status read_past_entry(void *context, const cJSON *entry) {
  batch_journal *journal = context;
  const cJSON *code = cJSON_GetObjectItemCaseSensitive(entry, "code");
  batch_key key;
  if (strcmp(text_of(entry, "status"), "done") != 0 ||
      !batch_key_parse(text_of(entry, "job"), &key))
    return CVTM_OK;
  int added = batch_key_set_add(&journal->done, key);
  if (added >= 0 && cJSON_IsNumber(code) && code->valuedouble == CLI_EXIT_NOT_CONVERGED)
    added = batch_key_set_add(&journal->unconverged, key);
  return added < 0 ? CVTM_ERROR_MEMORY : CVTM_OK;
}

/* A path_visitor: reads a journal of an earlier session, or of a shard that may still run. */
static cvtm_status read_past(void *context, const char *path, cvtm_error *error) {
  return read_journal(path, read_past_entry, context, error);
}

/* --- locks ------------------------------------------------------------------------------------ A
 * process keeps its journal locked as long as it lives. Only the lock shows whether a process
 * lives: a process number has no meaning in another PID namespace or on another host. */

typedef enum lock_state { LOCK_TAKEN, LOCK_HELD, LOCK_UNSUPPORTED } lock_state;

static cvtm_status try_lock(int file, const char *path, lock_state *state, cvtm_error *error) {
  int result = 0;
  do {
    result = flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  *state = LOCK_TAKEN;
  if (result == 0) return CVTM_OK;
  *state = errno == EWOULDBLOCK ? LOCK_HELD : LOCK_UNSUPPORTED;
  if (errno == EWOULDBLOCK || errno == EOPNOTSUPP || errno == ENOSYS) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: the journal cannot be locked: %s", path,
                   strerror(errno));
}

static cvtm_status fail_held(const char *path, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: another batch is writing it", path);
}

/* True if `path` still refers to the open file. */
static int has_name(int file, const char *path) {
  struct stat opened, named;
  return fstat(file, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/* Refuses a file that is not a journal, since a batch would clear the file or append to it. A
 * process that died may have left only the beginning of a first line. */
static cvtm_status check_content(int file, const char *path, cvtm_error *error) {
  static const char first[] = "{\"session\":";
  char found[sizeof first - 1];
  const ssize_t size = pread(file, found, sizeof found, 0);
  if (size >= 0 && memcmp(found, first, (size_t)size) == 0) return CVTM_OK;
  if (size < 0) return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(errno));
  return cvtm_fail(error, CVTM_ERROR_IO,
                   "%s: this file is not a journal of a batch; it was not changed", path);
}

/* Opens and locks this process's journal. Another batch without `resume` may remove the file
 * between opening and locking. Then the lock protects nothing, and the file is opened again. */
static cvtm_status open_locked(batch_journal *journal, cvtm_error *error) {
  lock_state state = LOCK_TAKEN;
  for (;;) {
    journal->file = open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal->file < 0)
      return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", journal->path, strerror(errno));
    CVTM_TRY(try_lock(journal->file, journal->path, &state, error));
    if (state == LOCK_HELD) return fail_held(journal->path, error);
    if (has_name(journal->file, journal->path)) break;
    close(journal->file);
  }
  if (state != LOCK_TAKEN)
    fprintf(stderr,
            "cvtmesh: note: %s: the file system has no locks, so nothing prevents a second batch "
            "with this journal, and temporary files of a killed batch remain\n",
            cli_visible(journal->path));
  return check_content(journal->file, journal->path, error);
}

/* Opens and locks the journal of a process that must have ended; *file is -1 without one. */
static cvtm_status open_sibling(const char *path, int *file, cvtm_error *error) {
  lock_state state = LOCK_TAKEN;
  *file = open(path, O_RDWR | O_CLOEXEC);
  if (*file < 0 && errno == ENOENT) return CVTM_OK;
  if (*file < 0) return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(errno));
  cvtm_status status = try_lock(*file, path, &state, error);
  if (status == CVTM_OK && state == LOCK_HELD) status = fail_held(path, error);
  if (status == CVTM_OK) status = check_content(*file, path, error);
  if (status != CVTM_OK) close(*file);
  return status;
}

/* A path_visitor. */
static cvtm_status check_sibling(void *context, const char *path, cvtm_error *error) {
  (void)context;
  int file = -1;
  CVTM_TRY(open_sibling(path, &file, error));
  if (file >= 0) close(file);
  return CVTM_OK;
}

/* A path_visitor. */
static cvtm_status remove_sibling(void *context, const char *path, cvtm_error *error) {
  (void)context;
  int file = -1;
  cvtm_status status = open_sibling(path, &file, error);
  if (status != CVTM_OK || file < 0) return status;
  if (unlink(path) != 0 && errno != ENOENT)
    status = cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", path, strerror(errno));
  close(file);
  return status;
}

/* --- writing ------------------------------------------------------------------------------ */

/* Returns 0 or an errno. */
static int write_all(int file, const char *bytes, size_t size) {
  for (size_t written = 0; written < size;) {
    const ssize_t got = write(file, bytes + written, size - written);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    written += (size_t)got;
  }
  return 0;
}

/* Appends an entry. If the last line is incomplete, ends this line first. */
static cvtm_status append_line(batch_journal *journal, const cJSON *entry, cvtm_error *error) {
  char *text = run_json_print(entry, 0);
  const size_t length = text != NULL ? strlen(text) : 0;
  char *line = text != NULL ? malloc(length + 2) : NULL;
  if (line == NULL) {
    cJSON_free(text);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", journal->path);
  }
  line[0] = '\n';
  memcpy(line + 1, text, length);
  line[length + 1] = '\n';
  cJSON_free(text);
  pthread_mutex_lock(&journal->lock);
  const int skipped = !journal->is_torn;
  const int reason = write_all(journal->file, line + skipped, length + 2 - (size_t)skipped);
  journal->is_torn = reason != 0;
  pthread_mutex_unlock(&journal->lock);
  free(line);
  if (reason != 0)
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", journal->path, strerror(reason));
  /* the lock is released here, so that several threads can wait for the disk at the same time */
  if (fdatasync(journal->file) != 0 && errno != EINVAL && errno != EOPNOTSUPP && errno != EROFS)
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", journal->path, strerror(errno));
  return CVTM_OK;
}

/* Finds out whether a killed process has left an incomplete line. */
static void find_torn_line(batch_journal *journal) {
  const off_t size = lseek(journal->file, 0, SEEK_END);
  char last = '\n';
  journal->is_torn = size > 0 && pread(journal->file, &last, 1, size - 1) == 1 && last != '\n';
}

static cvtm_status begin_session(batch_journal *journal, cvtm_error *error) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  cJSON *entry = cJSON_CreateObject();
  run_json_integer(entry, "session", journal->session);
  run_json_text(entry, "version", CVTMESH_VERSION);
  run_json_text(entry, "host", host);
  run_json_integer(entry, "pid", (int64_t)getpid());
  const cvtm_status status = append_line(journal, entry, error);
  cJSON_Delete(entry);
  return status;
}

static cvtm_status read_or_empty(batch_journal *journal, cvtm_error *error) {
  if (journal->resume) {
    cvtm_status status = read_past(journal, journal->base, error);
    if (status == CVTM_OK) status = visit_siblings(journal->base, read_past, journal, error);
    find_torn_line(journal);
    return status;
  }
  const cvtm_status status = visit_siblings(journal->path, remove_sibling, NULL, error);
  if (status != CVTM_OK || ftruncate(journal->file, 0) == 0) return status;
  return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", journal->path, strerror(errno));
}

cvtm_status batch_journal_open(const char *path, const char *base, int resume, int64_t session,
                               batch_journal **result, cvtm_error *error) {
  batch_journal *journal = calloc(1, sizeof *journal);
  if (journal == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  journal->file = -1;
  journal->resume = resume;
  journal->session = session;
  journal->path = strdup(path);
  journal->base = strdup(base);
  pthread_mutex_init(&journal->lock, NULL);
  cvtm_status status = CVTM_OK;
  if (journal->path == NULL || journal->base == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  /* this check comes first, so that a refused batch changes nothing */
  if (status == CVTM_OK && !resume) status = visit_siblings(path, check_sibling, NULL, error);
  if (status == CVTM_OK) status = open_locked(journal, error);
  if (status == CVTM_OK) status = read_or_empty(journal, error);
  if (status == CVTM_OK) status = cvtm_folder_sync(path, error);
  if (status == CVTM_OK) status = begin_session(journal, error);
  if (status == CVTM_OK)
    *result = journal;
  else
    batch_journal_close(journal);
  return status;
}

void batch_journal_close(batch_journal *journal) {
  if (journal == NULL) return;
  if (journal->file >= 0) close(journal->file);
  pthread_mutex_destroy(&journal->lock);
  batch_key_set_free(&journal->done);
  batch_key_set_free(&journal->unconverged);
  free(journal->path);
  free(journal->base);
  free(journal);
}

cvtm_status batch_journal_add(batch_journal *journal, const batch_job *job, batch_key key,
                              double seconds, int code, const char *reason, cvtm_error *error) {
  char text[BATCH_KEY_TEXT];
  batch_key_print(&key, text);
  cJSON *entry = cJSON_CreateObject();
  run_json_text(entry, "job", text);
  run_json_integer(entry, "index", job->index);
  run_json_text(entry, "input", job->options.run.input.name);
  run_json_text(entry, "status", reason == NULL ? "done" : "failed");
  run_json_real(entry, "seconds", seconds);
  if (code != CLI_EXIT_OK) run_json_integer(entry, "code", code);
  if (reason != NULL) {
    run_json_integer(entry, "session", journal->session);
    run_json_text(entry, "reason", reason);
  }
  const cvtm_status status = append_line(journal, entry, error);
  cJSON_Delete(entry);
  return status;
}

/* --- results of earlier jobs --- */

static int exists(const char *path) {
  struct stat found;
  return stat(path, &found) == 0;
}

/* A cli_file_visitor. The context is 1 until an output is missing. */
static void check_written(void *context, cli_file_use use, const char *option, const char *path) {
  int *all = context;
  (void)option;
  if (use == CLI_FILE_WRITTEN) *all = *all && exists(path);
}

int batch_journal_code(const batch_journal *journal, const batch_job *job, batch_key key) {
  if (!batch_key_set_has(&journal->done, key)) return -1;
  int all = 1;
  cli_options_visit_files(&job->options, check_written, &all);
  if (!all) return -1;
  return batch_key_set_has(&journal->unconverged, key) ? CLI_EXIT_NOT_CONVERGED : CLI_EXIT_OK;
}

typedef struct failure_context {
  const batch_journal *journal;
  int most;
  cJSON *failures;
} failure_context;

/* An entry_reader. */
static cvtm_status read_failure(void *context, const cJSON *entry) {
  const failure_context *c = context;
  const cJSON *session = cJSON_GetObjectItemCaseSensitive(entry, "session");
  if (strcmp(text_of(entry, "status"), "failed") != 0 || !cJSON_IsNumber(session) ||
      session->valuedouble != (double)c->journal->session ||
      cJSON_GetArraySize(c->failures) >= c->most)
    return CVTM_OK;
  static const char *const names[] = {"index", "input", "code", "reason"};
  cJSON *failure = cJSON_CreateObject();
  for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
    cJSON *copy = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(entry, names[k]), 1);
    if (!cJSON_AddItemToObject(failure, names[k], copy)) cJSON_Delete(copy);
  }
  run_json_append(c->failures, failure);
  return CVTM_OK;
}

cvtm_status batch_journal_failures(const batch_journal *journal, int most, cJSON *failures,
                                   cvtm_error *error) {
  failure_context context = {journal, most, failures};
  return read_journal(journal->path, read_failure, &context, error);
}
