/* The files that the options of a command name. */
#include "base/file.h"
#include "base/host.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/option_table.h"
#include "run/files.h"
#include "run/options.h"
#include "run/outline_parts.h"
#include "run/output.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- the files of a command --------------------------------------------------------------- */

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

/* Adds FOLDER/NAME or PREFIX.NAME, unless the path has PATH_MAX bytes or more, with which no file
 * can be opened. */
static void add_joined(run_file_list *list, const char *option, const char *start, char between,
                       const char *name) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s%c%s", start, between, name);
  if (length > 0 && length < PATH_MAX) run_files_add(list, 1, option, path);
}

static int is_frame(const char *name) {
  static const char start[] = "frame-";
  if (strncmp(name, start, sizeof start - 1) != 0) return 0;
  name += sizeof start - 1;
  const size_t digits = strspn(name, "0123456789");
  return digits >= 6 && strcmp(name + digits, ".png") == 0;
}

/* Adds the frames in the folder, and frames whose paths other files of the list have. */
static void add_frames(run_file_list *list, const char *option, const char *folder) {
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
  run_file_list *list = context;
  switch (use) {
    case CLI_FILE_READ:
    case CLI_FILE_WRITTEN:
      run_files_add(list, use == CLI_FILE_WRITTEN, option, path);
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

int cli_files_check(const cli_options *options) {
  cvtm_error error = {CVTM_OK, ""};
  run_file_list list = {0};
  cli_options_visit_files(options, collect, &list);
  const int named = list.count; /* frames of a folder are compared only with these */
  cli_options_visit_files(options, collect_frames, &list);
  (void)run_files_check(&list, named, cli_commands[options->command].operand, &error);
  run_files_free(&list);
  return cli_result(options->command, CLI_WORKING, error.status, &error);
}

/* --- the files that the values of options name ---------------------------------------------- */

/* A cli_file_visitor for files of one use. */
typedef struct use_visit {
  void *context;
  cli_file_visitor visitor;
  cli_file_use use;
} use_visit;

/* A cvtm_path_visitor. */
static void visit_use(void *context, const char *option, const char *path) {
  const use_visit *visit = context;
  visit->visitor(visit->context, visit->use, option, path);
}

/* Visits a file of --output, and the files written beside a mesh. */
static void visit_output(const cli_options *options, const char *path, void *context,
                         cli_file_visitor visitor) {
  const int grouped =
      options->run.domain.kind != CVTM_RUN_DOMAIN_NONE || run_outline_wanted(&options->run);
  use_visit visit = {context, visitor, CLI_FILE_WRITTEN};
  cvtm_visit_written(path, "output", options->run.ascii, grouped, visit_use, &visit);
}

static void visit_value(const cli_option_row *row, const char *text, void *context,
                        cli_file_visitor visitor) {
  double number;
  switch (row->file) {
    case CLI_WRITES:
      visitor(context, CLI_FILE_WRITTEN, row->name, text);
      return;
    case CLI_WRITES_NAMES:
      visitor(context, CLI_FILE_NAMES, row->name, text);
      return;
    case CLI_WRITES_FRAMES:
      visitor(context, CLI_FILE_FRAMES, row->name, text);
      return;
    case CLI_READS_OMEGA:
      if (strcmp(text, "ratio") == 0 || run_numbers_parse(text, 1, &number)) return;
      break;
    default:
      break;
  }
  use_visit visit = {context, visitor, CLI_FILE_READ};
  cvtm_visit_read(text, row->name, visit_use, &visit);
}

static int is_of_run(const cli_option_row *row) {
  return row->set != NULL || (row->offset >= offsetof(cli_options, run) &&
                              row->offset < offsetof(cli_options, run) + sizeof(cvtm_run_options));
}

/* True if other functions visit the files of the row: run_visit_read those that a run reads, each
 * job of `batch` its own, for which the options of the batch are templates. */
static int is_left_out(cli_command command, const cli_option_row *row) {
  if (is_of_run(row) && row->file < CLI_WRITES) return 1;
  return command == CLI_BATCH && row->commands != CLI_EVERY_COMMAND &&
         cli_option_find_field(CLI_RUN, row->offset) >= 0;
}

static int is_array(const cli_option_row *row, const void *field) {
  return row->type == CLI_SOURCE && ((const cvtm_input *)field)->array != NULL;
}

void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context) {
  use_visit visit = {context, visitor, CLI_FILE_READ};
  if (options->command == CLI_BATCH && options->run.input.name != NULL)
    visitor(context, CLI_FILE_READ, NULL, options->run.input.name);
  else if (options->command != CLI_MINIMIZE) /* the operand is a problem */
    run_visit_read(&options->run, visit_use, &visit);
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file == CLI_NO_FILE || !cli_option_applies(index, options->command)) continue;
    if (is_left_out(options->command, row)) continue;
    const void *field = cli_option_field_const(row, options);
    if (row->offset == CLI_FIELD(run.output)) {
      for (int k = 0; k < options->run.output.count; ++k)
        visit_output(options, options->run.output.item[k], context, visitor);
    } else if (*(const char *const *)field != NULL && !is_array(row, field)) {
      visit_value(row, *(const char *const *)field, context, visitor);
    }
  }
}

void cli_options_clear_written(cli_options *options) {
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file < CLI_WRITES || !cli_option_applies(index, options->command)) continue;
    void *field = cli_option_field(row, options);
    if (row->type == CLI_LIST)
      ((cvtm_run_list *)field)->count = 0;
    else
      *(const char **)field = NULL;
  }
}

/* --- outputs -------------------------------------------------------------------------------- */

/* Checks that `path` can be written, by creating its temporary file and removing it again. */
static cvtm_status probe(const char *path, cvtm_error *error) {
  struct stat found;
  if (is_stream(path)) return CVTM_OK;
  /* opening a pipe or a device may have effects, so they are opened only to be written */
  if (lstat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
    return CVTM_OK;
  cvtm_output *output;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  cvtm_output_abort(output);
  return CVTM_OK;
}

/* A cli_file_visitor; the context is a cvtm_error. */
static void probe_written(void *context, cli_file_use use, const char *option, const char *path) {
  cvtm_error *error = context;
  (void)option;
  if (use == CLI_FILE_WRITTEN && error->status == CVTM_OK) (void)probe(path, error);
}

/* Creates and removes the temporary file of each output, if there is no error yet. */
static int probe_outputs(const cli_options *options, cvtm_error *error) {
  if (error->status == CVTM_OK) cli_options_visit_files(options, probe_written, error);
  return cli_result(options->command, CLI_WRITING, error->status, error);
}

int cli_outputs_check(const cli_options *options) {
  cvtm_error error = {CVTM_OK, ""};
  (void)run_outputs_check(&options->run, &error);
  return probe_outputs(options, &error);
}

int cli_outputs_check_known(const cli_options *options, const char *known, const char *what) {
  for (int k = 0; k < options->run.output.count; ++k) {
    char buffer[RUN_EXTENSION_MAX];
    const char *path = options->run.output.item[k];
    const char *extension = run_output_extension(&options->run, path, buffer);
    if (!cvtm_text_has_word(known, extension))
      return cli_usage_error(options->command, "%s: formats of %s: %s", path, what, known);
  }
  cvtm_error error = {CVTM_OK, ""};
  return probe_outputs(options, &error);
}
