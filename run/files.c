#include "run/files.h"

#include "base/file.h"
#include "base/host.h"
#include "draw/plotter.h"
#include "run/condition.h"

#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

batch_key batch_key_start(void) {
  const batch_key key = {{UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)}};
  return key;
}

/* Updates two hashes of 64 bits: FNV-1a, and a rotating hash with another multiplier. */
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

/* For tsearch. */
static int compare_keys(const void *left, const void *right) {
  return memcmp(left, right, sizeof(batch_key));
}

int batch_key_set_add(batch_key_set *set, batch_key key) {
  batch_key *own = malloc(sizeof *own);
  if (own == NULL) return -1;
  *own = key;
  batch_key **found = tsearch(own, &set->tree, compare_keys);
  if (found != NULL && *found == own) return 1;
  free(own);
  return found != NULL ? 0 : -1;
}

int batch_key_set_has(const batch_key_set *set, batch_key key) {
  return tfind(&key, &set->tree, compare_keys) != NULL;
}

void batch_key_set_free(batch_key_set *set) {
  tdestroy(set->tree, free);
  set->tree = NULL;
}

/* --- one file --------------------------------------------------------------------------- */

static batch_key inode_key(const struct stat *found) {
  const uint64_t number[2] = {(uint64_t)found->st_dev, (uint64_t)found->st_ino};
  batch_key key = batch_key_start();
  batch_key_add(&key, number, sizeof number);
  return key;
}

/* Identifies a file by its folder's inode and its name or, without the folder, by its path. */
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

run_file_id run_file_id_of(const char *path) {
  struct stat found;
  run_file_id id = {.is_file = 0};
  if (cvtm_memory_file_find(path) != NULL || cvtm_memory_output_find(path) != NULL) return id;
  id.exists = stat(path, &found) == 0;
  if (id.exists && !S_ISREG(found.st_mode)) return id;
  char *place = cvtm_follow_links(path);
  if (place == NULL) return id;
  id.is_file = 1;
  id.name = name_key(place);
  free(place);
  if (!id.exists) return id;
  id.is_linked = found.st_nlink > 1;
  id.inode = inode_key(&found);
  return id;
}

static int same_key(batch_key a, batch_key b) {
  return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

int run_same_file(const run_file_id *a, const run_file_id *b) {
  if (!a->is_file || !b->is_file) return 0;
  return same_key(a->name, b->name) || (a->exists && b->exists && same_key(a->inode, b->inode));
}

/* --- the files that a run reads --------------------------------------------------------------- */

/* Visits a file, unless the name has PATH_MAX bytes or more, with which no file can be opened. */
static void visit_name(const char *option, const char *path, void *context,
                       cvtm_path_visitor visitor) {
  if (strlen(path) >= PATH_MAX) return;
  cvtm_visit_read(path, option, visitor, context);
}

static void visit_source(const char *option, const cvtm_input *source, void *context,
                         cvtm_path_visitor visitor) {
  if (source->name != NULL && source->array == NULL)
    visit_name(option, source->name, context, visitor);
}

/* region: a source, or `alpha`. */
static void visit_region(const char *option, const cvtm_input *region, void *context,
                         cvtm_path_visitor visitor) {
  if (strcmp(region->name, "alpha") != 0) visit_source(option, region, context, visitor);
}

void run_visit_read(const cvtm_run_options *o, cvtm_path_visitor visitor, void *context) {
  const cvtm_input pens = {o->colours.pens, NULL};
  const int has_profile = o->page.plotter != NULL && cvtm_plotter_find(o->page.plotter) == NULL;
  const cvtm_input profile = {has_profile ? o->page.plotter : NULL, NULL};
  const char *metric = o->outline.metric;
  const cvtm_input field = {metric != NULL && strcmp(metric, "hessian") != 0 ? metric : NULL, NULL};
  const struct {
    const char *option;
    const cvtm_input *source;
  } files[] = {{NULL, &o->input},
               {"init", &o->init},
               {"fixed", &o->fixed},
               {"colours", &pens},
               {"plotter", &profile},
               {"size-from", &o->size.from},
               {"domain", &o->domain.source},
               {"seeds", &o->segment.how.seeds},
               {"initial", &o->segment.how.first_region},
               {"metric", &field}};
  for (size_t k = 0; k < sizeof files / sizeof files[0]; ++k)
    visit_source(files[k].option, files[k].source, context, visitor);
  for (int k = 0; k < o->outline.size.count; ++k) {
    const char *text = o->outline.size.item[k], *equals = strchr(text, '=');
    const cvtm_input size = {equals != NULL ? equals + 1 : text, NULL};
    if (run_field_file_known(size.name)) visit_source("size", &size, context, visitor);
  }
  for (int k = 0; k < o->condition.within.count; ++k)
    visit_region("within", &o->condition.within.item[k], context, visitor);
  for (int k = 0; k < o->condition.obstacle.count; ++k)
    visit_region("obstacle", &o->condition.obstacle.item[k], context, visitor);
  for (int k = 0; k < o->condition.weight.count; ++k)
    visit_region("weight", &o->condition.weight.item[k].region, context, visitor);
}

/* --- no file is written over another -------------------------------------------------------- */

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

void run_files_add(run_file_list *list, int is_written, const char *option, const char *path) {
  if (!cvtm_grow(&list->file, sizeof *list->file, &list->capacity, list->count + 1)) {
    list->failed = 1;
    return;
  }
  run_file *file = &list->file[list->count];
  *file = (run_file){.is_written = is_written, .option = option, .path = strdup(path)};
  if (file->path == NULL) {
    list->failed = 1;
    return;
  }
  const char *stream = is_written ? "/dev/stdout" : "/dev/stdin";
  file->id = run_file_id_of(is_stream(path) ? stream : path);
  ++list->count;
}

void run_files_free(run_file_list *list) {
  for (int k = 0; k < list->count; ++k) free(list->file[k].path);
  free(list->file);
}

static int clash(const run_file *a, const run_file *b) {
  if (!a->is_written && !b->is_written) return 0;
  if (a->is_written && b->is_written && is_stream(a->path) && is_stream(b->path)) return 1;
  return run_same_file(&a->id, &b->id);
}

static cvtm_status refuse_overwrite(const run_file *a, const run_file *b, const char *operand,
                                    cvtm_error *error) {
  const run_file *written = b->is_written ? b : a, *other = written == b ? a : b;
  if (is_stream(written->path) && is_stream(other->path) && other->is_written)
    return run_usage_error(error, "two outputs go to standard output: --%s and --%s", other->option,
                           written->option);
  const char *does = other->is_written ? "writes" : "reads";
  if (other->option == NULL)
    return run_usage_error(error, "%s: --%s would overwrite %s, which %s %s", written->path,
                           written->option, other->path, operand, does);
  return run_usage_error(error, "%s: --%s would overwrite %s, which --%s %s", written->path,
                         written->option, other->path, other->option, does);
}

cvtm_status run_files_check(const run_file_list *list, int named, const char *operand,
                            cvtm_error *error) {
  if (list->failed) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for file names");
  for (int b = 0; b < list->count; ++b)
    for (int a = 0; a < b && a < named; ++a)
      if (clash(&list->file[a], &list->file[b]))
        return refuse_overwrite(&list->file[a], &list->file[b], operand, error);
  return CVTM_OK;
}

static void add_read(void *context, const char *option, const char *path) {
  run_files_add(context, 0, option, path);
}

static void add_written(void *context, const char *option, const char *path) {
  run_files_add(context, 1, option, path);
}

cvtm_status run_refuse_overwriting(const cvtm_run_options *o, cvtm_error *error) {
  const struct {
    const char *option, *path;
  } others[] = {{"density-out", o->density_out},
                {"report", o->report},
                {"weights-out", o->equal_mass.weights_out},
                {"pairs-out", o->domain.pairs_out},
                {"checkpoint", o->checkpoint.file}};
  const int grouped = o->domain.kind != CVTM_RUN_DOMAIN_NONE || o->purpose == CVTM_RUN_OUTLINE;
  run_file_list list = {0};
  run_visit_read(o, add_read, &list);
  for (int k = 0; k < o->output.count; ++k)
    cvtm_visit_written(o->output.item[k], "output", o->ascii, grouped, add_written, &list);
  for (size_t k = 0; k < sizeof others / sizeof others[0]; ++k)
    if (others[k].path != NULL) run_files_add(&list, 1, others[k].option, others[k].path);
  const cvtm_status status = run_files_check(&list, list.count, "the run", error);
  run_files_free(&list);
  return status;
}
