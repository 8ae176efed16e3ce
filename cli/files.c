#define _XOPEN_SOURCE 700

#include "cli/files.h"

#include "base/grow.h"
#include "base/memory_file.h"
#include "cli/cli.h"
#include "cli/domain.h"
#include "cli/option_table.h"
#include "meshes/formats/formats.h"
#include "draw/drawing.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

batch_key batch_key_start(void) {
  const batch_key key = {{UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)}};
  return key;
}

/* Two hashes of 64 bits: FNV-1a, and a rotating hash with another multiplier. */
void batch_key_add(batch_key *key, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  uint64_t a = key->word[0], b = key->word[1];
  for (size_t k = 0; k < size; ++k) {
    a = (a ^ byte[k]) * UINT64_C(0x100000001b3);
    b = (b + byte[k] + 1) * UINT64_C(0xd6e8feb86659fd93);
    b ^= b >> 32;
  }
  key->word[0] = a;
  key->word[1] = b;
}

void batch_key_add_text(batch_key *key, const char *text) {
  const char given = text != NULL;
  batch_key_add(key, &given, 1);
  if (text != NULL) batch_key_add(key, text, strlen(text) + 1);
}

void batch_key_print(const batch_key *key, char text[BATCH_KEY_TEXT]) {
  snprintf(text, BATCH_KEY_TEXT, "%016llx%016llx", (unsigned long long)key->word[0],
           (unsigned long long)key->word[1]);
}

int batch_key_parse(const char *text, batch_key *key) {
  if (strlen(text) != BATCH_KEY_TEXT - 1) return 0;
  if (strspn(text, "0123456789abcdef") != BATCH_KEY_TEXT - 1) return 0;
  char half[17];
  memcpy(half, text, 16);
  half[16] = '\0';
  key->word[0] = strtoull(half, NULL, 16);
  key->word[1] = strtoull(text + 16, NULL, 16);
  return 1;
}

static int is_free(const batch_key *slot) { return slot->word[0] == 0 && slot->word[1] == 0; }

/* The slot that holds the key, or else the free slot where it belongs. */
static batch_key *find(const batch_key_set *set, batch_key key) {
  size_t place = (size_t)key.word[1] & (set->capacity - 1);
  while (!is_free(&set->slot[place]) && memcmp(&set->slot[place], &key, sizeof key) != 0)
    place = (place + 1) & (set->capacity - 1);
  return &set->slot[place];
}

static int grow(batch_key_set *set) {
  batch_key_set larger = {NULL, set->count, set->capacity > 0 ? 2 * set->capacity : 64};
  larger.slot = calloc(larger.capacity, sizeof *larger.slot);
  if (larger.slot == NULL) return 0;
  for (size_t k = 0; k < set->capacity; ++k)
    if (!is_free(&set->slot[k])) *find(&larger, set->slot[k]) = set->slot[k];
  free(set->slot);
  *set = larger;
  return 1;
}

int batch_key_set_add(batch_key_set *set, batch_key key) {
  if (is_free(&key)) key.word[0] = 1;
  if (2 * (set->count + 1) > set->capacity && !grow(set)) return -1;
  batch_key *slot = find(set, key);
  if (!is_free(slot)) return 0;
  *slot = key;
  ++set->count;
  return 1;
}

int batch_key_set_has(const batch_key_set *set, batch_key key) {
  if (is_free(&key)) key.word[0] = 1;
  return set->capacity > 0 && !is_free(find(set, key));
}

void batch_key_set_free(batch_key_set *set) {
  free(set->slot);
  memset(set, 0, sizeof *set);
}

/* --- one file --------------------------------------------------------------------------- */

/* Replaces the last component of the path by its target while it is a symbolic link. `place`
 * becomes the name at which the file exists or would be created. Returns 0 if there is no such
 * name. */
static int follow_links(const char *path, char place[PATH_MAX]) {
  enum { LINKS_MAX = 40 };
  char target[PATH_MAX];
  if (strlen(path) >= PATH_MAX) return 0;
  strcpy(place, path);
  for (int k = 0; k < LINKS_MAX; ++k) {
    const ssize_t length = readlink(place, target, sizeof target - 1);
    if (length < 0) return 1;
    target[length] = '\0';
    char *slash = strrchr(place, '/');
    char *name = target[0] == '/' || slash == NULL ? place : slash + 1;
    if (name - place + length >= PATH_MAX) return 0;
    strcpy(name, target);
  }
  return 0;
}

static batch_key inode_key(const struct stat *found) {
  const uint64_t number[2] = {(uint64_t)found->st_dev, (uint64_t)found->st_ino};
  batch_key key = batch_key_start();
  batch_key_add(&key, number, sizeof number);
  return key;
}

/* Identifies a file by its folder's inode and its name; if the folder is missing, by its path. */
static batch_key name_key(char *place) {
  char *slash = strrchr(place, '/');
  char *name = slash != NULL ? slash + 1 : place;
  const char first = *name;
  struct stat folder;
  *name = '\0';
  const int found = stat(slash != NULL ? place : ".", &folder) == 0;
  *name = first;
  batch_key key = found ? inode_key(&folder) : batch_key_start();
  batch_key_add_text(&key, found ? name : place);
  return key;
}

cli_file_id cli_file_id_of(const char *path) {
  char place[PATH_MAX];
  struct stat found;
  cli_file_id id = {.is_file = 0};
  if (cvtm_memory_file_find(path) != NULL || cvtm_memory_output_find(path) != NULL) return id;
  id.exists = stat(path, &found) == 0;
  if (id.exists && !S_ISREG(found.st_mode)) return id;
  if (!follow_links(path, place)) return id;
  id.is_file = 1;
  id.name = name_key(place);
  if (!id.exists) return id;
  id.is_linked = found.st_nlink > 1;
  id.inode = inode_key(&found);
  return id;
}

static int same_key(batch_key a, batch_key b) {
  return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

static int same_file(const cli_file_id *a, const cli_file_id *b) {
  if (!a->is_file || !b->is_file) return 0;
  return same_key(a->name, b->name) || (a->exists && b->exists && same_key(a->inode, b->inode));
}

/* --- the files of a command --------------------------------------------------------------- */

typedef struct named_file {
  cli_file_use use;
  const char *option; /* NULL: the operand */
  char *path;
  cli_file_id id;
} named_file;

typedef struct file_list {
  named_file *file;
  int count;
  int64_t capacity;
  int failed; /* no memory */
} file_list;

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

static void add_file(file_list *list, cli_file_use use, const char *option, const char *path) {
  if (!cvtm_grow(&list->file, sizeof *list->file, &list->capacity, list->count + 1)) {
    list->failed = 1;
    return;
  }
  named_file *file = &list->file[list->count];
  *file = (named_file){.use = use, .option = option, .path = strdup(path)};
  if (file->path == NULL) {
    list->failed = 1;
    return;
  }
  const char *stream = use == CLI_FILE_READ ? "/dev/stdin" : "/dev/stdout";
  file->id = cli_file_id_of(is_stream(path) ? stream : path);
  ++list->count;
}

/* Adds FOLDER/NAME or PREFIX.NAME. A path of PATH_MAX bytes or more is skipped: no file can be
 * opened by it. */
static void add_joined(file_list *list, const char *option, const char *start, char between,
                       const char *name) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s%c%s", start, between, name);
  if (length > 0 && length < PATH_MAX) add_file(list, CLI_FILE_WRITTEN, option, path);
}

static int is_frame(const char *name) {
  static const char start[] = "frame-";
  if (strncmp(name, start, sizeof start - 1) != 0) return 0;
  name += sizeof start - 1;
  const size_t digits = strspn(name, "0123456789");
  return digits >= 6 && strcmp(name + digits, ".png") == 0;
}

/* Adds the frames that the folder holds, and those that other files of the list would be. */
static void add_frames(file_list *list, const char *option, const char *folder) {
  const int others = list->count;
  for (int k = 0; k < others; ++k) {
    const char *slash = strrchr(list->file[k].path, '/');
    const char *name = slash != NULL ? slash + 1 : list->file[k].path;
    if (is_frame(name)) add_joined(list, option, folder, '/', name);
  }
  add_joined(list, option, folder, '/', "index.html");
  DIR *entries = opendir(folder);
  if (entries == NULL) return;
  for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
    if (is_frame(entry->d_name)) add_joined(list, option, folder, '/', entry->d_name);
  closedir(entries);
}

/* A cli_file_visitor. */
static void collect(void *context, cli_file_use use, const char *option, const char *path) {
  static const char *const extensions[] = {"png", "csv", "obj"};
  file_list *list = context;
  switch (use) {
    case CLI_FILE_READ:
    case CLI_FILE_WRITTEN:
      add_file(list, use, option, path);
      break;
    case CLI_FILE_NAMES:
      for (int k = 0; k < 3; ++k) add_joined(list, option, path, '.', extensions[k]);
      break;
    case CLI_FILE_FRAMES:
      break;
  }
}

/* A cli_file_visitor that runs after `collect`: the names of frames depend on all other files. */
static void collect_frames(void *context, cli_file_use use, const char *option, const char *path) {
  if (use == CLI_FILE_FRAMES) add_frames(context, option, path);
}

static int clash(const named_file *a, const named_file *b) {
  if (a->use == CLI_FILE_READ && b->use == CLI_FILE_READ) return 0;
  if (a->use == b->use && is_stream(a->path) && is_stream(b->path)) return 1;
  return same_file(&a->id, &b->id);
}

static int refuse_overwrite(cli_command command, const named_file *a, const named_file *b) {
  const named_file *written = b->use == CLI_FILE_WRITTEN ? b : a;
  const named_file *other = written == b ? a : b;
  if (is_stream(written->path) && is_stream(other->path) && other->use == CLI_FILE_WRITTEN)
    return cli_usage_error(command, "two outputs go to standard output: --%s and --%s",
                           other->option, written->option);
  return cli_usage_error(command, "%s: --%s would overwrite %s, which %s%s %s", written->path,
                         written->option, other->path, other->option != NULL ? "--" : "",
                         other->option != NULL ? other->option : cli_operand_name(command),
                         other->use == CLI_FILE_READ ? "reads" : "writes");
}

int cli_files_check(const cli_options *options) {
  file_list list = {NULL, 0, 0, 0};
  int code = CLI_EXIT_OK;
  cli_options_visit_files(options, collect, &list);
  const int named = list.count; /* frames of a folder are compared with these only */
  cli_options_visit_files(options, collect_frames, &list);
  if (list.failed) {
    cvtm_error error;
    (void)cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory for file names");
    code = cli_failed(CLI_WORKING, error.status, &error);
  }
  for (int b = 0; b < list.count && code == CLI_EXIT_OK; ++b)
    for (int a = 0; a < b && a < named && code == CLI_EXIT_OK; ++a)
      if (clash(&list.file[a], &list.file[b]))
        code = refuse_overwrite(options->command, &list.file[a], &list.file[b]);
  for (int k = 0; k < list.count; ++k) free(list.file[k].path);
  free(list.file);
  return code;
}

/* --- the files that the values of options name ---------------------------------------------- */

/* The length of the file name that begins `text` (ends it: CLI_READS_KIND and _SIZES); 0 if the
 * text names no file. */
static size_t length_of_name(cli_file_role role, const char *text) {
  size_t length = strlen(text);
  double numbers[3];
  int as;
  switch (role) {
    case CLI_READS_WEIGHT:
      if (!cli_weight_parse(text, &length, numbers)) return 0;
      return length == 5 && strncmp(text, "alpha", 5) == 0 ? 0 : length;
    case CLI_READS_REGION:
      return strcmp(text, "alpha") == 0 ? 0 : length;
    case CLI_READS_CURVE:
      if (strcmp(text, "grow") == 0 || strcmp(text, "image") == 0) return 0;
      return cli_numbers_parse(text, 3, numbers) ? 0 : length;
    case CLI_READS_KIND:
      return text[strcspn(text, "=")] == '=' ? strlen(strchr(text, '=') + 1) : 0;
    case CLI_READS_SIZES:
      return strlen(cli_size_file(text, &as));
    case CLI_READS_PENS:
      if (strcmp(text, "none") == 0 || strcmp(text, "cmyk") == 0) return 0;
      return cli_numbers_parse(text, 1, numbers) ? 0 : length;
    case CLI_READS_PROFILE:
      return cvtm_gcode_builtin(text) != NULL ? 0 : length;
    case CLI_READS_OMEGA:
      if (strcmp(text, "ratio") == 0) return 0;
      return cli_numbers_parse(text, 1, numbers) ? 0 : length;
    default:
      return length;
  }
}

static void visit_beside(cli_file_use use, const char *option, const char *path, const char *ending,
                         void *context, cli_file_visitor visitor) {
  char *beside = cvtm_path_beside(path, ending);
  if (beside != NULL) visitor(context, use, option, beside);
  free(beside);
}

/* A name of PATH_MAX bytes or more is skipped: no file can be opened by it. */
static void visit_read(cli_file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  char path[PATH_MAX];
  const size_t length = length_of_name(role, text);
  if (length == 0 || length >= sizeof path) return;
  const int is_last = role == CLI_READS_KIND || role == CLI_READS_SIZES;
  memcpy(path, is_last ? text + strlen(text) - length : text, length);
  path[length] = '\0';
  visitor(context, CLI_FILE_READ, option, path);
  const char *ending = cvtm_mesh_read_beside(path);
  if (ending != NULL) visit_beside(CLI_FILE_READ, option, path, ending, context, visitor);
}

/* A file of --output, and those that come with a mesh. */
static void visit_output(const cli_options *options, const char *path, void *context,
                         cli_file_visitor visitor) {
  const char *ending[CVTM_FILES_BESIDE];
  const int grouped = options->domain.kind != CLI_DOMAIN_NONE || cli_outline_wanted(options);
  const int count = cvtm_mesh_written_beside(path, options->ascii, grouped, ending);
  visitor(context, CLI_FILE_WRITTEN, "output", path);
  for (int k = 0; k < count; ++k)
    visit_beside(CLI_FILE_WRITTEN, "output", path, ending[k], context, visitor);
}

static void visit_file(cli_file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  switch (role) {
    case CLI_NO_FILE:
      return;
    case CLI_WRITES:
      visitor(context, CLI_FILE_WRITTEN, option, text);
      return;
    case CLI_WRITES_NAMES:
      visitor(context, CLI_FILE_NAMES, option, text);
      return;
    case CLI_WRITES_FRAMES:
      visitor(context, CLI_FILE_FRAMES, option, text);
      return;
    default:
      visit_read(role, option, text, context, visitor);
  }
}

/* True if the option of `batch` is passed on to the jobs: it names their files, or is a template of
 * their names.
 */
static int names_files_of_jobs(cli_command command, const cli_option_row *row) {
  return command == CLI_BATCH && row->commands != CLI_EVERY_COMMAND &&
         cli_option_find_field(CLI_RUN, row->offset) >= 0;
}

void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context) {
  const int operand_is_file = options->command != CLI_MINIMIZE;
  if (operand_is_file && options->input != NULL)
    visit_read(CLI_READS, NULL, options->input, context, visitor);
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file == CLI_NO_FILE || !cli_option_applies(index, options->command)) continue;
    if (names_files_of_jobs(options->command, row)) continue;
    const void *field = cli_option_field_const(row, options);
    if (row->offset == CLI_FIELD(output)) {
      for (int k = 0; k < options->output.count; ++k)
        visit_output(options, options->output.item[k], context, visitor);
    } else if (row->type == CLI_LIST) {
      const cli_list *list = field;
      for (int k = 0; k < list->count; ++k)
        visit_file(row->file, row->name, list->item[k], context, visitor);
    } else if (*(const char *const *)field != NULL) {
      visit_file(row->file, row->name, *(const char *const *)field, context, visitor);
    }
  }
}

void cli_options_clear_written(cli_options *options) {
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file < CLI_WRITES || !cli_option_applies(index, options->command)) continue;
    void *field = cli_option_field(row, options);
    if (row->type == CLI_LIST)
      ((cli_list *)field)->count = 0;
    else
      *(const char **)field = NULL;
  }
}
