#include "cli/batch.h"

#include "base/text.h"
#include "base/file.h"
#include "base/host.h"
#include "cli/cli.h"
#include "run/output.h"
#include "run/json.h"
#include "cli/run.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

struct batch_list {
  const cli_options *options;
  const char *name; /* for messages */
  /* for a list file: */
  FILE *file; /* NULL: the jobs are the files of a glob */
  char *text; /* the last line that was read, by getline */
  size_t text_capacity;
  int64_t line; /* number of this line, from 1 */
  /* for a glob: */
  glob_t found;
  int64_t next; /* index of the next job */
};

void batch_job_free(batch_job *job) {
  if (job == NULL) return;
  cli_options_free(&job->options);
  free(job);
}

/* --- templates ------------------------------------------------------------------------ */

/* The placeholders and their values: parts of the path of the image. */
typedef struct placeholder {
  const char *name;
  const char *value;
  size_t length;
} placeholder;

enum { PLACEHOLDERS = 5 };

typedef struct template_context {
  batch_job *job;
  placeholder known[PLACEHOLDERS];
} template_context;

static void fill_placeholders(const char *path, const char *number, placeholder *known) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  if (dot == NULL || dot == name) dot = name + strlen(name);
  const placeholder values[PLACEHOLDERS] = {
      {"stem", name, (size_t)(dot - name)},
      {"name", name, strlen(name)},
      {"ext", *dot != '\0' ? dot + 1 : dot, *dot != '\0' ? strlen(dot + 1) : 0},
      {"dir", slash != NULL ? path : ".", slash > path ? (size_t)(slash - path) : 1},
      {"index", number, strlen(number)}};
  memcpy(known, values, sizeof values);
}

/* Reads a piece of a template at *text: a placeholder's value, a doubled brace, or one
 * character. */
static cvtm_status next_piece(const placeholder *known, const char *template, const char **text,
                              placeholder *piece, cvtm_error *error) {
  const char *at = *text;
  piece->value = at;
  piece->length = 1;
  *text = at + 1;
  if (*at != '{' && *at != '}') return CVTM_OK;
  if (at[1] == *at) {
    ++*text;
    return CVTM_OK;
  }
  const size_t length = strcspn(at + 1, "}");
  for (int k = 0; k < PLACEHOLDERS && *at == '{' && at[1 + length] == '}'; ++k) {
    if (strlen(known[k].name) != length || strncmp(known[k].name, at + 1, length) != 0) continue;
    *piece = known[k];
    *text = at + length + 2;
    return CVTM_OK;
  }
  return cvtm_fail(
      error, CVTM_ERROR_ARGUMENT,
      "%s: the names in braces are stem, name, ext, dir and index; write {{ and }} for braces",
      template);
}

/* A cli_text_map that replaces placeholders. The first pass measures, the second pass writes. */
static cvtm_status expand(void *context, const char *template, const char **result,
                          cvtm_error *error) {
  const template_context *c = context;
  char *made = NULL;
  for (int writing = 0; writing < 2; ++writing) {
    size_t size = 0;
    for (const char *text = template; *text != '\0';) {
      placeholder piece;
      CVTM_TRY(next_piece(c->known, template, &text, &piece, error));
      if (writing) memcpy(made + size, piece.value, piece.length);
      size += piece.length;
    }
    if (!writing) made = cli_options_keep(&c->job->options, size + 1);
    if (made == NULL) return cvtm_no_memory(error, "a job");
    made[writing ? size : 0] = '\0';
  }
  *result = made;
  return CVTM_OK;
}

/* A cli_text_map that keeps the text, because with a list file the options of the command line are
 * not templates. */
static cvtm_status keep_text(void *context, const char *text, const char **result,
                             cvtm_error *error) {
  (void)context;
  (void)error;
  *result = text;
  return CVTM_OK;
}

/* --- lists ------------------------------------------------------------------------------ */

/* Reads the next line that is not blank. *more: 0 at the end of the file. */
static cvtm_status read_record(batch_list *list, int *more, cvtm_error *error) {
  do {
    *more = getline(&list->text, &list->text_capacity, list->file) >= 0;
    if (!*more && ferror(list->file))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", list->name, strerror(errno));
    if (!*more && !feof(list->file)) return cvtm_no_memory(error, "a job");
    if (!*more) return CVTM_OK;
    list->text[strcspn(list->text, "\r\n")] =
        '\0'; /* a zero byte also ends the line: nothing valid follows it */
    const size_t length = strlen(list->text);
    const size_t mark = list->line == 0 ? cvtm_csv_byte_order_mark(list->text, length) : 0;
    memmove(list->text, list->text + mark, length + 1 - mark);
    ++list->line;
  } while (list->text[strspn(list->text, " \t")] == '\0');
  return CVTM_OK;
}

static cvtm_status set_pair(batch_job *job, const char *name, const char *value,
                            cvtm_error *error) {
  const int is_input = strcmp(name, "input") == 0;
  if (!is_input && !cli_option_of_job(name))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "'%s' is not an option of a run in a batch", name);
  char *copy = cli_options_keep(&job->options, strlen(value) + 1);
  if (copy == NULL) return cvtm_no_memory(error, "a job");
  strcpy(copy, value);
  if (!is_input) return cli_options_set(&job->options, name, copy, error);
  job->options.run.input.name = copy;
  return CVTM_OK;
}

static cvtm_status set_json(batch_job *job, const cJSON *item, cvtm_error *error) {
  if (cJSON_IsString(item)) return set_pair(job, item->string, item->valuestring, error);
  if (cJSON_IsBool(item))
    return set_pair(job, item->string, cJSON_IsTrue(item) ? "true" : "false", error);
  if (cJSON_IsNumber(item)) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", item->valuedouble);
    return set_pair(job, item->string, text, error);
  }
  cvtm_status status = CVTM_OK;
  const cJSON *element = NULL;
  if (cJSON_IsArray(item)) {
    cJSON_ArrayForEach(element, item) {
      if (!cJSON_IsString(element)) break;
      status = set_pair(job, item->string, element->valuestring, error);
      if (status != CVTM_OK) return status;
    }
    if (element == NULL) return CVTM_OK;
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "%s: not a string, number, true, false or list of strings", item->string);
}

static cvtm_status set_json_record(batch_list *list, batch_job *job, cvtm_error *error) {
  errno = 0;
  cJSON *record = cJSON_ParseWithOpts(list->text, NULL, 1);
  if (record == NULL && errno == ENOMEM) return cvtm_no_memory(error, "a job");
  cvtm_status status = CVTM_OK;
  if (run_json_starved())
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  else if (!cJSON_IsObject(record))
    status = cvtm_fail(error, CVTM_ERROR_ARGUMENT, "not a JSON object");
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, record) {
    if (status == CVTM_OK && !cJSON_IsNull(item)) status = set_json(job, item, error);
  }
  cJSON_Delete(record);
  return status;
}

/* --- jobs --------------------------------------------------------------------------------- */

/* A cli_file_visitor. */
static void count_streams(void *context, cli_file_use use, const char *option, const char *path) {
  (void)use, (void)option;
  *(int *)context += strcmp(path, "-") == 0;
}

static cvtm_status check_job(const batch_list *list, batch_job *job, cvtm_error *error) {
  cli_options *options = &job->options;
  if (options->run.input.name == NULL) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no input");
  int streams = 0;
  cli_run_choose_domain(options);
  cli_options_visit_files(options, count_streams, &streams);
  if (streams > 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a run of a batch cannot use standard input or standard output");
  cvtm_error *before = cli_capture_messages(error);
  options->run.follow.on = list->options->batch.follow;
  const int code = cli_run_check(options);
  (void)cli_capture_messages(before);
  return code == CLI_EXIT_OK ? CVTM_OK : CVTM_ERROR_ARGUMENT;
}

static cvtm_status make_from_record(batch_list *list, batch_job *job, cvtm_error *error) {
  cvtm_error detail = {CVTM_OK, ""};
  cvtm_status status = cli_options_inherit(list->options, keep_text, NULL, &job->options, &detail);
  if (status == CVTM_OK) status = set_json_record(list, job, &detail);
  if (status == CVTM_OK) status = check_job(list, job, &detail);
  if (status == CVTM_OK) return CVTM_OK;
  return cvtm_fail(error, status, "%s: line %lld: %.400s", list->name, (long long)list->line,
                   detail.message);
}

static cvtm_status make_from_file(const batch_list *list, batch_job *job, cvtm_error *error) {
  char number[24];
  template_context context = {job, {{NULL, NULL, 0}}};
  const char *path = list->found.gl_pathv[job->index];
  snprintf(number, sizeof number, "%lld", (long long)job->index + 1);
  fill_placeholders(path, number, context.known);
  CVTM_TRY(cli_options_inherit(list->options, expand, &context, &job->options, error));
  job->options.run.input.name = path;
  return check_job(list, job, error);
}

cvtm_status batch_list_get(batch_list *list, int64_t index, batch_job **result, cvtm_error *error) {
  *result = NULL;
  if (list->file == NULL) {
    if (index >= (int64_t)list->found.gl_pathc) return CVTM_OK;
  } else {
    int more = 1;
    for (; list->next <= index && more; ++list->next) CVTM_TRY(read_record(list, &more, error));
    if (!more) return CVTM_OK;
  }
  batch_job *job = calloc(1, sizeof *job);
  if (job == NULL) return cvtm_no_memory(error, "a job");
  job->index = index;
  const cvtm_status status =
      list->file != NULL ? make_from_record(list, job, error) : make_from_file(list, job, error);
  job->options.quiet = 1;
  job->options.verbose = 0;
  if (status == CVTM_OK)
    *result = job;
  else
    batch_job_free(job);
  return status;
}

cvtm_status batch_list_rewind(batch_list *list, cvtm_error *error) {
  list->next = list->line = 0;
  if (list->file == NULL || fseek(list->file, 0, SEEK_SET) == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", list->name, strerror(errno));
}

/* Adds the files of a pattern. */
static cvtm_status find_files(batch_list *list, const char *pattern, int appends,
                              cvtm_error *error) {
  errno = 0;
  const int code = glob(pattern, GLOB_ERR | (appends ? GLOB_APPEND : 0), NULL, &list->found);
  if (code == GLOB_NOSPACE || (code == GLOB_ABORTED && errno == ENOMEM))
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", pattern);
  if (code == GLOB_NOMATCH) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no such file", pattern);
  if (code != 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a folder cannot be read", pattern);
  return CVTM_OK;
}

/* Copies a pipe to a temporary file, since a list is read twice. */
static cvtm_status spool(FILE *from, FILE **file, cvtm_error *error) {
  char block[1 << 14];
  size_t size = 0;
  *file = tmpfile();
  while (*file != NULL && (size = fread(block, 1, sizeof block, from)) > 0)
    if (fwrite(block, 1, size, *file) != size) break;
  if (ferror(from))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "standard input: %s", strerror(errno));
  if (*file != NULL && !ferror(*file) && fflush(*file) == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_IO, "standard input: cannot be copied: %s", strerror(errno));
}

static cvtm_status open_file(batch_list *list, const char *path, cvtm_error *error) {
  if (strcmp(path, "-") == 0) return spool(stdin, &list->file, error);
  list->file = fopen(path, "rbe");
  if (list->file == NULL)
    return cvtm_fail(error, errno == ENOMEM ? CVTM_ERROR_MEMORY : CVTM_ERROR_INPUT, "%s: %s", path,
                     strerror(errno));
  if (fseek(list->file, 0, SEEK_SET) != 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the program reads the list twice; write - for a pipe", path);
  return CVTM_OK;
}

cvtm_status batch_list_open(const cli_options *options, batch_list **result, cvtm_error *error) {
  const char *path = options->run.input.name;
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  if (strcmp(extension, "csv") == 0)
    return cvtm_fail(
        error, CVTM_ERROR_ARGUMENT,
        "%s: a list of jobs is a file of JSON lines (.jsonl), each an object of options", path);
  batch_list *list = calloc(1, sizeof *list);
  if (list == NULL) return cvtm_no_memory(error, "a job");
  list->options = options;
  list->name = strcmp(path, "-") == 0 ? "standard input" : path;
  const int is_pattern = strpbrk(path, "*?[") != NULL;
  const int is_json = strcmp(extension, "jsonl") == 0 || strcmp(extension, "ndjson") == 0;
  const int is_list = !is_pattern && (is_json || strcmp(path, "-") == 0);
  cvtm_status status = is_list ? open_file(list, path, error) : find_files(list, path, 0, error);
  if (status == CVTM_OK && is_list && options->batch.more_count > 0)
    status = cvtm_fail(error, CVTM_ERROR_ARGUMENT, "'%s' is one argument too many",
                       options->batch.more[0]);
  for (int k = 0; status == CVTM_OK && k < options->batch.more_count; ++k)
    status = find_files(list, options->batch.more[k], 1, error);
  if (status == CVTM_OK) status = batch_list_rewind(list, error);
  if (status == CVTM_OK)
    *result = list;
  else
    batch_list_close(list);
  return status;
}

void batch_list_close(batch_list *list) {
  if (list == NULL) return;
  if (list->file != NULL)
    fclose(list->file);
  else
    globfree(&list->found);
  free(list->text);
  free(list);
}
